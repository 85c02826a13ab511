//! Leaf 0x80000007 of CPUID, as `cpuid` prints it in words and in figures. Bit 8 of EDX is the invariant TSC.

use super::{Page, Reader};
use crate::Fact;

pub(super) const READER: Reader = Reader {
    name: "cpuid",
    words: &["TscInvariant", "invariant TSC", "Invariant TSC"],
    read: words,
};

pub(super) const LEAVES: Reader = Reader { name: "cpuid", words: &["eax=0x"], read: leaves };

fn words(page: &mut Page<'_>, at: usize) -> usize {
    let Some((name, value)) = page.line(at).rsplit_once('=') else { return 0 };
    if !name.trim().to_ascii_lowercase().replace(' ', "").ends_with("tscinvariant")
        && !name.to_ascii_lowercase().contains("invariant tsc")
    {
        return 0;
    }
    let value = match value.trim() {
        "true" | "1" | "yes" => true,
        "false" | "0" | "no" => false,
        _ => return 0,
    };
    page.told.invariant_tsc = Fact::known(value, page.source(at));
    1
}

fn leaves(page: &mut Page<'_>, at: usize) -> usize {
    let line = page.line(at).trim();
    if !line.starts_with("0x") || !line.contains("edx=0x") {
        return 0;
    }
    if line.starts_with("0x80000007 ") || line.starts_with("0x80000007:") {
        let edx = line.split_once("edx=0x").map(|(_, edx)| edx.get(..8).unwrap_or(edx));
        if let Some(Ok(edx)) = edx.map(|edx| u32::from_str_radix(edx, 16)) {
            page.told.invariant_tsc = Fact::known(edx & (1 << 8) != 0, page.source(at));
        }
    }
    1
}
