//! Further lines of a record: `dmesg` and `journalctl` print a record with line breaks as several lines, of which all but
//! the first are indented by the width of its prefix. Users can put line breaks, and whatever looks like a prefix after
//! them, into text that the kernel quotes. So such a line is not a message, also with a time stamp of its own.

use super::lines::{line_before, text};
use super::prefix::strip;

/// The narrowest prefix of such a record: `[    0.1] `, `kernel: `.
const NARROWEST: usize = 8;
/// The limit of lines between the first line of a record and one of its further lines.
const LINES: usize = 128;

/// Whether the line from `start` on is a further line of a record: it is indented exactly by the width of the prefix of
/// the last line that is not, and there is nothing but such lines in between. In a text that is indented as a whole the
/// line before is also indented.
pub(super) fn is_of_record(window: &[u8], start: usize) -> bool {
    let width = blanks(window.get(start..).unwrap_or_default());
    if width < NARROWEST {
        return false;
    }
    let mut at = start;
    for _ in 0..LINES {
        let Some(line) = line_before(window, at) else { return false };
        let bytes = &window[line.clone()];
        at = line.start;
        // A line break alone leaves a line that is empty, or has the indentation alone.
        if blanks(bytes) >= width || bytes.trim_ascii().is_empty() {
            continue;
        }
        let first = text(window, line.start, line.end);
        let stripped = strip(&first);
        let prefix = first.rfind(stripped.message).unwrap_or(0);
        return stripped.kernel == Some(true)
            && !first.starts_with(' ')
            && first[..prefix].chars().count() == width;
    }
    false
}

fn blanks(line: &[u8]) -> usize {
    line.iter().take_while(|byte| **byte == b' ').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last_is_of_record(log: &str) -> bool {
        is_of_record(log.as_bytes(), log.rfind('\n').map_or(0, |at| at + 1))
    }

    #[test]
    fn line_that_is_indented_by_the_prefix_is_of_the_record() {
        for prefix in [
            "[ 4000.000001] ",
            "kern  :info  : [ 4000.000001] ",
            "Nov 22 10:00:00 host kernel: ",
            "[Wed Dec 22 08:37:21 2021] ",
        ] {
            let width = " ".repeat(prefix.len());
            for between in ["", "\n", &format!("\n{width}"), &format!("\n{width}a\n{width}b")] {
                for more in ["tsc: x", "[ 5000.000001] tsc: x", "<6>[ 5000.000001] tsc: x"] {
                    let log = format!("{prefix}tmpfs: Unknown 'x{between}\n{width}{more}");
                    assert!(last_is_of_record(&log), "{log}");
                }
            }
        }
    }

    #[test]
    fn lines_of_an_indented_text_are_not() {
        let line = "               [    1.000000] tsc: x";
        assert!(!last_is_of_record(line));
        assert!(!last_is_of_record(&format!("{line}\n{line}")));
        assert!(!last_is_of_record(&format!("My log is this:\n{line}")));
        assert!(!last_is_of_record(&format!("root@x:~# dmesg\n{line}")));
        // Indented by another width.
        assert!(!last_is_of_record("[    0.500000] a\n        [    1.000000] tsc: x"));
        assert!(!last_is_of_record("[    0.500000] a\n[    1.000000] tsc: x"));
    }
}
