//! Headings with the path of a file, whose content follows: of `head` and `tail` (`==> FILE <==`), of reports, of a
//! person. The lines below are of a log of the kernel, or of sysfs, only if the path says so.

use super::logs;

/// Signs around a path.
const SIGNS: &[char] = &['=', '-', '#', '+', '*', '[', ']', '<', '>', ':', '`', ' ', '\t', '_'];
/// Words before a path.
const WORDS: [&str; 6] = ["File:", "FILE:", "file:", "BEGIN ", "Contents of ", "Content of "];

/// What is below a heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heading {
    /// The kernel's lines, or virtual files of the kernel; or no file.
    Kernel,
    /// Another file.
    Other,
}

/// The file that a heading names. A path alone is one only after a blank line: a mailer wraps messages before paths.
pub(super) fn heading(line: &str, after_blank: bool) -> Option<Heading> {
    if !after_blank && line.starts_with(['/', '~']) && !line.ends_with(':') {
        return None;
    }
    let (path, is_of_tail) =
        match line.strip_prefix("==> ").and_then(|rest| rest.strip_suffix(" <==")) {
            Some(path) => (path, true),
            None => (path(line)?, false),
        };
    let is_path = path.len() > 3
        && (is_of_tail || path.starts_with(['/', '~']) && path[1..].contains('/'))
        && !path.contains(|c: char| c.is_whitespace() || "|,;:=()\"'".contains(c));
    is_path.then(|| {
        let is_kernels = logs::is_kernel_log(path)
            || logs::is_virtual(path)
            || path.contains("/sys/devices/") && path.starts_with("/host");
        if is_kernels { Heading::Kernel } else { Heading::Other }
    })
}

fn path(line: &str) -> Option<&str> {
    let bare = line.trim_matches(SIGNS);
    let bare = WORDS.iter().find_map(|word| bare.strip_prefix(word)).unwrap_or(bare);
    let bare = bare.trim_matches(SIGNS);
    bare.starts_with(['/', '~']).then_some(bare)
}

/// Whether a line is a heading of another kind, which ends the content of a file: signs around or before its words.
pub(super) fn is_other_heading(line: &str) -> bool {
    let framed =
        ["==", "--", "##", "**"].iter().any(|sign| line.starts_with(sign) && line.ends_with(sign));
    framed || line.starts_with("## ") || line.starts_with("### ") || line.starts_with("-----BEGIN")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heading_says_whose_lines_follow() {
        for front in [
            "==> {} <==",
            "===== {} =====",
            "--- {} ---",
            "### {}",
            "File: {}",
            "+++ {}",
            "[{}]",
            "**{}**",
            "-----BEGIN {}-----",
            "########## {} ##########",
            "{}:",
            "{}",
        ] {
            for (path, want) in [
                ("/var/log/dmesg", Heading::Kernel),
                ("/var/log/messages", Heading::Kernel),
                ("/proc/cpuinfo", Heading::Kernel),
                (
                    "/sys/devices/system/clocksource/clocksource0/current_clocksource",
                    Heading::Kernel,
                ),
                ("/tmp/app.log", Heading::Other),
                ("/home/bob/notes.txt", Heading::Other),
                (
                    "/tmp/sys/devices/system/clocksource/clocksource0/current_clocksource",
                    Heading::Other,
                ),
            ] {
                let line = front.replace("{}", path);
                assert_eq!(heading(&line, true), Some(want), "{line}");
            }
        }
        assert_eq!(heading("==> bad.txt <==", false), Some(Heading::Other));
        for line in ["", "/", "# a heading", "=====", "/tmp/a /tmp/b", "a/b:", "/x:hpet is"] {
            assert_eq!(heading(line, true), None, "{line}");
        }
        assert_eq!(heading("/devices/platform/i8042/serio0/input/input1", false), None);
        assert!(is_other_heading("===== dmesg =====") && !is_other_heading("current_clocksource"));
    }
}
