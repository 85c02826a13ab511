//! The inputs of `who`: records of the kernel's ring, unwind tables and Go's table of functions (first byte even), or
//! text: memory maps, maps of code made at run time, the kernel's symbols.

#![no_main]

use clocksmith_who::record;
use clocksmith_who::symbols::kallsyms::KernelSymbols;
use clocksmith_who::symbols::pclntab::Table;
use clocksmith_who::symbols::perf_map::{self, PerfMap};
use clocksmith_who::unwind::Tables;
use clocksmith_who::watched::maps;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else { return };
    if first % 2 == 0 {
        let kind = u32::from(first / 2 % 12);
        let _ = record::parse(kind, u16::from(*first) << 8, rest);
        let address = u64::from(rest.first().copied().unwrap_or(0)) << 4;
        if let Some(tables) = Tables::read(rest) {
            let _ = tables.function(address);
        }
        if let Some(table) = Table::read(rest) {
            let _ = (table.frames(address), table.range(address));
        }
        return;
    }
    let text = String::from_utf8_lossy(rest);
    for mapping in maps::parse(&text) {
        assert!(mapping.range.start < mapping.range.end);
    }
    let map = PerfMap::read(rest).unwrap_or_default();
    let symbols = KernelSymbols::parse(&text);
    for word in
        rest.chunks_exact(8).filter_map(|chunk| chunk.try_into().ok()).map(u64::from_le_bytes)
    {
        let _ = symbols.call(&[word]);
        if let Some(name) = map.name(word) {
            let _ = (perf_map::readable(name), perf_map::place(name));
        }
    }
});
