//! The name of the host in the header of a kernel's line: `DATE NAME kernel: `.

use std::ops::Range;

/// The kernel's name in a header: of syslog, of journald with a process, of RFC 5424.
const KERNEL: [&str; 4] = [" kernel: ", " kernel[0]: ", " kernel[1]: ", " kernel - "];

/// The word before the kernel's name, unless it is a date or a time stamp.
pub(super) fn any(line: &str) -> Option<Range<usize>> {
    let end = KERNEL.iter().filter_map(|name| line.find(name)).min()?;
    let word = |end: usize| {
        let start = line[..end].rfind(' ').map_or(0, |blank| blank + 1);
        (start < end).then_some(start..end)
    };
    let mut found = word(end)?;
    // `NAME kern.info kernel: ` of busybox.
    if line[found.clone()].starts_with("kern.") {
        found = word(found.start.checked_sub(1)?)?;
    }
    let text = &line[found.clone()];
    // In a line that begins with the time since boot, a name only follows it.
    (!text.ends_with(']') && !is_time(text)).then_some(found)
}

/// The same, if only a date or a time stamp precedes it, so that it cannot be a word of a message.
pub(super) fn host(line: &str) -> Option<Range<usize>> {
    let found = any(line)?;
    let front = line[..found.start].trim_end();
    let stamp = front.rsplit('[').next().unwrap_or_default();
    let only_stamp =
        front.starts_with('[') && front.ends_with(']') && stamp.len() == front.len() - 1;
    let short = !front.contains('[') && front.split_whitespace().count() <= 4;
    let is_dated = front.is_empty() || front.bytes().any(|byte| byte.is_ascii_digit());
    ((only_stamp || short) && is_dated).then_some(found)
}

/// Whether a word has a time of day: digits on both sides of a colon.
fn is_time(word: &str) -> bool {
    let digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let bytes = word.as_bytes();
    let at_colon = |at: usize| {
        bytes.get(at) == Some(&b':')
            && digit(at.checked_sub(2).and_then(|at| bytes.get(at)))
            && digit(at.checked_sub(1).and_then(|at| bytes.get(at)))
            && digit(bytes.get(at + 1))
            && digit(bytes.get(at + 2))
    };
    (0..bytes.len()).any(at_colon) && bytes.first().is_some_and(u8::is_ascii_digit)
}
