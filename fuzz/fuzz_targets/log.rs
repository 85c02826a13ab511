//! Kernel logs: any bytes, plain or compressed, end in a diagnosis or in an error; and the entries
//! of a log do not depend on its position in the input.

#![no_main]

use clocksmith_facts::Facts;
use clocksmith_facts::collect::open_log;
use clocksmith_facts::log::KernelLog;
use clocksmith_facts::tree::decode::Compression;
use libfuzzer_sys::fuzz_target;
use std::io::Read;
use std::sync::LazyLock;

/// The scanner looks at this many bytes together.
const WINDOW: usize = 1 << 20;
/// Decoded bytes of one input: a small file may hold gigabytes, which is slow and teaches nothing.
const DECODED: u64 = 4 << 20;

/// Lines without a keyword, a little more than a window of them.
static PADDING: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let line = [&[b'.'; 61][..], b"..\n"].concat();
    line.repeat(WINDOW / line.len() + 1)
});

fuzz_target!(|data: &[u8]| {
    let Ok(reader) = open_log(data) else { return };
    let Ok(log) = KernelLog::scan(reader.take(DECODED), "log") else { return };
    assert!(log.entries.iter().is_sorted_by_key(|entry| entry.line), "entries out of order");
    if Compression::sniff(data) == Compression::Plain {
        let newlines = data.iter().filter(|byte| **byte == b'\n').count() as u64;
        assert!(log.entries.iter().all(|entry| (1..=newlines + 1).contains(&entry.line)));
        // Padding costs milliseconds, so not every input gets it.
        if data.len() % 16 == 3 {
            behind_padding(data, &log);
        }
    }
    for entry in &log.entries {
        assert!(entry.text.chars().count() <= 400);
        let _ = KernelLog::message(&entry.text);
    }
    clocksmith_fuzz::judge(&Facts::from_log(log));
});

/// The same log after neutral lines, so that the border between two windows falls into it.
fn behind_padding(data: &[u8], log: &KernelLog) {
    let border = data.iter().fold(7usize, |sum, byte| sum * 31 % 65_521 + usize::from(*byte));
    let wanted = WINDOW - border % data.len().min(WINDOW);
    let start = PADDING.len().saturating_sub(wanted);
    let padding = &PADDING[start..];
    let shift = padding.iter().filter(|byte| **byte == b'\n').count() as u64;
    let Ok(padded) = KernelLog::scan(padding.chain(data), "log") else {
        panic!("refused behind padding");
    };
    assert_eq!(padded.boots, log.boots, "boots");
    assert_eq!(padded.lines, log.lines + shift, "lines");
    let moved: Vec<_> =
        padded.entries.iter().map(|entry| (entry.line - shift, &entry.event)).collect();
    let alone: Vec<_> = log.entries.iter().map(|entry| (entry.line, &entry.event)).collect();
    assert_eq!(moved, alone, "events behind {} bytes of padding", padding.len());
}
