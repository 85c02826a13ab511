//! `strace -c`: a table of calls.

use super::{Calls, Seen};
use crate::paste::{Page, Reader};

pub(super) const READER: Reader = Reader { name: "strace -c", words: &["usecs/call"], read };

fn read(page: &mut Page<'_>, at: usize) -> usize {
    if !(page.line(at).contains("% time") && page.line(at).contains("syscall")) {
        return 0;
    }
    let mut end = at + 1;
    while end < page.len().min(at + 400) {
        let line = page.line(end).trim();
        let is_rule = !line.is_empty() && line.bytes().all(|byte| byte == b'-' || byte == b' ');
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<f64>().ok());
        if !is_rule && number(0).is_none() {
            break;
        }
        if let (Some(percent), Some(us), Some(count), Some(name)) =
            (number(0), number(2), number(3), words.last())
            && matches!(*name, "clock_gettime" | "clock_gettime64" | "gettimeofday" | "time")
            && (0.0..=100.0).contains(&percent)
            && (1.0..1e15).contains(&count)
        {
            // In range by the check.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let count = count as u64;
            let us = (us > 0.0).then_some(us);
            let calls = Calls {
                call: (*name).to_owned(),
                count,
                us,
                percent: Some(percent),
                ..Calls::default()
            };
            page.symptom(end, READER.name, Seen::Calls(calls));
        }
        end += 1;
    }
    end - at
}
