//! Whether the rest of a script or of a unit looks for what an edit would change: `pgrep -f 'kvmclock=off'`,
//! `case $options in *kvmclock*)`, `grep -q '^paravirtprovider="none"$'`.
//!
//! A pattern is not evaluated. Its plain pieces, between blanks, quotes and the marks of patterns, are compared with the
//! text around the edit: a piece that is in it before the edit and not after it, or the other way round, tells the two
//! apart. Pure.

use crate::edit::Edit;
use std::ops::Range;

/// Bytes around an edit with which pieces are compared. A longer piece is compared by its end and its begin.
const AROUND: usize = 128;
/// The least length of a piece in a line that searches, and in any other: `off` is a word of many lines.
const SEARCHING: usize = 2;
const OTHERWISE: usize = 4;

/// Words of a line that searches or compares.
const SEARCH: [&str; 22] = [
    "grep", "pgrep", "pkill", "killall", "pidof", "ps", "sed", "awk", "perl", "case", "test",
    "expr", "diff", "cmp", "find", "jq", "match", "[", "[[", "=", "==", "=~",
];

/// Finds a piece of other text that tells an edited text from the former one: its place, and the piece.
///
/// `own` is the command or the line with the edit, and `left_out` what does not look for anything: comments, and commands
/// that have an option of the same kind themselves. Both are ranges of `text`, in any order.
pub(super) fn looked_for<'t>(
    text: &'t str,
    edit: &Edit,
    own: &Range<usize>,
    left_out: &[Range<usize>],
) -> Option<(usize, &'t str)> {
    let (before, after) = around(text, edit, own);
    let tells = |piece: &str| {
        let part = |text: &str| text.get(..AROUND.min(text.len())).unwrap_or(text).to_owned();
        let piece = part(piece);
        before.contains(&piece) != after.contains(&piece)
    };
    let mut ranges: Vec<Range<usize>> = left_out.to_vec();
    ranges.push(own.clone());
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut at = 0;
    ranges.push(text.len()..text.len());
    for range in ranges {
        let Some(rest) = text.get(at..range.start.max(at)) else { continue };
        let mut line = at;
        for of_line in rest.split_inclusive('\n') {
            let searches = searches(of_line);
            let least = if searches { SEARCHING } else { OTHERWISE };
            let told = |piece: &&str| piece.len() >= least && tells(piece);
            // `host,.* -M` is a pattern with a dot, `2.5` a number: both are tried.
            let found = pieces(of_line).find(told).or_else(|| {
                let parts = pieces(of_line).filter(|_| searches);
                parts.flat_map(|piece| piece.split(['.', '+'])).find(told)
            });
            if let Some(piece) = found {
                return Some((line + (piece.as_ptr() as usize - of_line.as_ptr() as usize), piece));
            }
            line += of_line.len();
        }
        at = at.max(range.end);
    }
    None
}

/// The text around an edit, within its own command, before and after.
fn around(text: &str, edit: &Edit, own: &Range<usize>) -> (String, String) {
    let mut start = edit.span.start.saturating_sub(AROUND).max(own.start.min(edit.span.start));
    let mut end = (edit.span.end + AROUND).min(own.end.max(edit.span.end)).min(text.len());
    while !text.is_char_boundary(start) {
        start += 1;
    }
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let part = |range: Range<usize>| text.get(range).unwrap_or_default();
    let (head, tail) = (part(start..edit.span.start), part(edit.span.end..end));
    (format!("{head}{}{tail}", part(edit.span.clone())), format!("{head}{}{tail}", edit.with))
}

fn searches(line: &str) -> bool {
    let mut words = line.split(|c: char| c.is_whitespace() || "|;&()`\"'".contains(c));
    words.any(|word| {
        let name = word.rsplit('/').next().unwrap_or(word);
        let name = name
            .strip_prefix(['e', 'f', 'z', 'g', 'm'])
            .filter(|rest| matches!(*rest, "grep" | "awk"))
            .unwrap_or(name);
        SEARCH.contains(&name)
    }) || line.trim_end().ends_with(')')
}

/// The plain pieces of a line: between blanks, quotes and the marks of patterns.
fn pieces(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| c.is_whitespace() || "'\"`\\*?[](){}|^$;&<>!/".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OWN: &str = "qemu-system-x86_64 -enable-kvm -cpu host,kvmclock=off -m 1G\n";

    /// What tells the script apart once `kvmclock=off` is taken out of its first line.
    fn found(rest: &str) -> Option<String> {
        let text = format!("{OWN}{rest}");
        let at = text.find(",kvmclock").unwrap();
        let edit = Edit { span: at..at + ",kvmclock=off".len(), with: String::new() };
        looked_for(&text, &edit, &(0..OWN.len()), &[]).map(|(_, piece)| piece.to_owned())
    }

    #[test]
    fn patterns_that_tell_the_two_apart() {
        for rest in [
            "pgrep -f 'kvmclock=off'",
            "pgrep -f 'cpu host,kvm' >/dev/null || exit 1",
            "pkill -f 'qemu-system-x86_64 -enable-kvm -cpu host,'",
            "systemctl status vm | grep -E 'kvmclock=(on|off)' | grep off",
            "case $options in *kvmclock*) exit 1 ;; esac",
            "[[ $extra_args == *kvmclock=off* ]] && ram=1G",
            "ps ax | awk '/host,kvm/ {print $1}'",
            "sed -i 's/kvmclock=off/&,hv_time/' unit",
            "echo host,kvmclock=off",
            "pgrep -f -- '-cpu host,.* -m 1G' >/dev/null || exit 1",
            "grep -q 'kvmclock.off' /proc/1/cmdline",
            "expr \"$line\" : '.*host,.+ -m'",
        ] {
            assert!(found(rest).is_some(), "{rest}");
        }
    }

    #[test]
    fn other_commands_do_not_tell_them_apart() {
        for rest in [
            "grep -q vmx /proc/cpuinfo || exit 1",
            "pgrep -f qemu-system-x86_64",
            "set -o errexit; echo off; xset s off",
            "if [ -e /dev/kvm ]; then echo kvm; fi",
            "test \"$1\" = start && echo 'host is ready'",
        ] {
            assert_eq!(found(rest), None, "{rest}");
        }
    }

    #[test]
    fn comments_and_commands_that_are_left_out_do_not_count() {
        let text =
            format!("{OWN}# kvmclock=off is slow\nqemu-system-x86_64 -cpu host,kvmclock=off\n");
        let at = text.find(",kvmclock").unwrap();
        let edit = Edit { span: at..at + ",kvmclock=off".len(), with: String::new() };
        let comment = OWN.len()..OWN.len() + "# kvmclock=off is slow\n".len();
        let other = comment.end..text.len();
        assert_eq!(looked_for(&text, &edit, &(0..OWN.len()), &[other, comment.clone()]), None);
        let (place, piece) = looked_for(&text, &edit, &(0..OWN.len()), &[comment]).unwrap();
        assert_eq!(&text[place..place + piece.len()], piece);
    }

    proptest! {
        #[test]
        fn any_text_and_ranges_end(text in "\\PC{0,80}", a in 0usize..90, b in 0usize..90, c in 0usize..90, d in 0usize..90) {
            let boundary = |at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap();
            let (a, b, c, d) = (boundary(a), boundary(b), boundary(c), boundary(d));
            let edit = Edit { span: a.min(b)..a.max(b), with: "x".to_owned() };
            let other = vec![edit.span.clone(), c..text.len()];
            let _ = looked_for(&text, &edit, &(c.min(d)..c.max(d)), &other);
        }
    }
}
