//! Pasted text: any text is read in bounded memory, and ends in a diagnosis.

#![no_main]

use clocksmith_facts::Facts;
use clocksmith_facts::log::KernelLog;
use clocksmith_facts::paste::{self, Pasted};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(lines) = paste::lines(data, "text") else { return };
    let Ok(log) = KernelLog::scan(data, "text") else { return };
    let mut facts = Facts::from_log(log);
    let pasted = Pasted::read(&lines, "text");
    let read = pasted.recognised();
    assert!(read.kernel_lines + read.unread <= lines.len() as u64);
    pasted.complete(&mut facts);
    assert!(facts.symptoms.len() <= 64);
    clocksmith_fuzz::judge(&facts);
    for section in paste::sections(&lines) {
        assert_eq!(section.text(&lines).len(), lines.len());
    }
});
