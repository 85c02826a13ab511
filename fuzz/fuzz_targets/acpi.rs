//! ACPI tables: any bytes parse or are refused; with the length corrected, more of them parse.

#![no_main]

use clocksmith_facts::acpi::{Fadt, HpetTable};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    parse(data);
    // A fuzzer seldom hits on a length that fits.
    let mut mended = data.to_vec();
    if let (Some(slot), Ok(length)) = (mended.get_mut(4..8), u32::try_from(data.len())) {
        slot.copy_from_slice(&length.to_le_bytes());
        parse(&mended);
    }
});

fn parse(table: &[u8]) {
    if let Ok(hpet) = HpetTable::parse(table) {
        assert!(table.len() >= 56 && hpet.base != Some(0));
    }
    if let Ok(fadt) = Fadt::parse(table) {
        assert!(table.len() >= 116 && fadt.pm_timer.is_none_or(|timer| timer.port != 0));
    }
}
