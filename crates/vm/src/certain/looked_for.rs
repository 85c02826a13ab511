//! Detects a search, in the rest of a script or of a unit, for the text that an edit would change:
//! `pgrep -f 'kvmclock=off'`, `case $options in *kvmclock*)`, `grep -q '^paravirtprovider="none"$'`.
//!
//! Patterns are not evaluated. The literal parts of a pattern, between blanks, quotes and metacharacters, are compared
//! with the text around the edit: a part that is in it only before or only after the edit distinguishes the two. Pure.

use crate::document::Document;
use crate::edit::Edit;
use crate::shell::name_length;
use crate::words::{base, listed};
use std::ops::Range;

/// The bytes around an edit with which pieces are compared. A longer piece is compared by its start and its end.
const AROUND: usize = 128;
/// The minimal length of a piece in a line that searches, and in any other: `off` is a word of many lines.
const SEARCHING: usize = 2;
const OTHERWISE: usize = 4;

/// Words of a line that searches or compares.
const SEARCH: [&str; 22] = [
    "grep", "pgrep", "pkill", "killall", "pidof", "ps", "sed", "awk", "perl", "case", "test",
    "expr", "diff", "cmp", "find", "jq", "match", "[", "[[", "=", "==", "=~",
];

/// The minimal length of the name of an option that is searched for within other words.
const NAME: usize = 4;
/// Names of options that are also common words.
const COMMON: &str = "none host auto true false default time name type args accel enforce";

/// Returns the reason why an edit is left: the text has, at this place, a piece that the edit changes.
pub(super) fn may_look_for(document: &Document, at: usize, piece: &str) -> String {
    let line = document.text.place(at).line;
    // A piece such as `off` does not name an option.
    let text = document.text.as_str();
    let ends = |c: char| c.is_whitespace() || "\"'`;|&()<>".contains(c);
    let start = text.get(..at).and_then(|it| it.rfind(ends)).map_or(0, |n| n + 1);
    let end = text.get(at..).and_then(|it| it.find(ends)).map_or(text.len(), |n| at + n);
    let word = text.get(start..end).filter(|word| word.contains(piece) && word.len() < 80);
    format!("line {line} also has {}, and may look for it", word.unwrap_or(piece))
}

/// Finds a literal part of other text that distinguishes the edited text from the previous one: its
/// place, and the part.
///
/// `own` is the command or the line with the edit. `left_out` are the ranges that search for nothing: comments, the
/// edited command, and commands that have an option of the same kind themselves. Both are ranges of `text`, in any
/// order.
pub(super) fn looked_for<'t>(
    text: &'t str,
    edit: &Edit,
    own: &Range<usize>,
    left_out: &[Range<usize>],
) -> Option<(usize, &'t str)> {
    let (before, after) = around(text, edit, own);
    let (flat_before, flat_after) = (flat(&before), flat(&after));
    let options = options(text, edit);
    let tells = |piece: &str| {
        let part = |text: &str| text.get(..AROUND.min(text.len())).unwrap_or(text).to_owned();
        let piece = part(piece);
        // `in` belongs to `case` and `for`.
        piece != "in" && before.contains(&piece) != after.contains(&piece)
    };
    let changes_word = |piece: &str| {
        let has = |text: &str| text.split_whitespace().any(|word| word == piece);
        has(&before) != has(&after)
    };
    // A pattern over several words: the shell removes quotes and line continuations.
    let parts_words = |segment: &&str| {
        let segment = flat(segment);
        let long = segment.trim().chars().filter(|c| c.is_alphanumeric()).count() >= SEARCHING;
        long && segment.contains(' ')
            && flat_before.contains(&segment) != flat_after.contains(&segment)
    };
    for range in others(text, left_out) {
        let Some(rest) = text.get(range.clone()) else { continue };
        let mut line = range.start;
        for of_line in rest.split_inclusive('\n') {
            let searches = searches(of_line);
            let least = if searches { SEARCHING } else { OTHERWISE };
            let told = |piece: &&str| {
                piece.len() >= least
                    && match is_option(of_line, piece) || is_number(of_line, piece) {
                        true => changes_word(piece),
                        false => tells(piece),
                    }
            };
            // `host,.* -M` is a pattern with a dot, `2.5` a number: both are tried. So are `NAME=VALUE` and `VALUE`.
            let found = pieces(of_line)
                .filter(|piece| !is_operator(of_line, piece))
                .flat_map(|piece| {
                    let values = behind_equals(piece).filter(move |it| !is_switch(text, piece, it));
                    std::iter::once(piece).chain(values)
                })
                .find(told)
                .or_else(|| {
                    let parts = pieces(of_line).filter(|_| searches);
                    let parts = parts.filter(|piece| {
                        !is_unit(piece) && !is_option(of_line, piece) && !is_number(of_line, piece)
                    });
                    parts.flat_map(|piece| piece.split(['.', '+'])).find(told)
                })
                .or_else(|| segments(of_line).filter(|_| searches).find(parts_words))
                .or_else(|| options.iter().find_map(|option| named(of_line, option)));
            if let Some(piece) = found {
                let start = line + (piece.as_ptr() as usize - of_line.as_ptr() as usize);
                let shown = piece.trim();
                return Some((start + piece.len() - piece.trim_start().len(), shown));
            }
            line += of_line.len();
        }
    }
    None
}

/// The parts of a text that are outside of these ranges, which may be in any order.
pub(super) fn others(text: &str, left_out: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut ranges = left_out.to_vec();
    ranges.sort_by_key(|range| (range.start, range.end));
    ranges.push(text.len()..text.len());
    let mut at = 0;
    let mut found = Vec::new();
    for range in ranges {
        if at < range.start {
            found.push(at..range.start);
        }
        at = at.max(range.end);
    }
    found
}

/// The names of the options that an edit changes, in lower case with `-` for `_`.
pub(super) fn options(text: &str, edit: &Edit) -> Vec<String> {
    let ends = |c: char| c.is_whitespace() || ",\"'`()[]{}<>;|&\\".contains(c);
    let front = text.get(..edit.span.start).unwrap_or_default();
    let back = text.get(edit.span.end..).unwrap_or_default();
    let head = front.rfind(ends).map_or(front, |at| front.get(at..).unwrap_or_default());
    let head = head.trim_start_matches(ends);
    let tail = back.get(..back.find(ends).unwrap_or(back.len())).unwrap_or_default();
    let own = text.get(edit.span.clone()).unwrap_or_default();
    let (before, after) = (format!("{head}{own}{tail}"), format!("{head}{}{tail}", edit.with));
    let parts = |text: &str| {
        text.split(ends).map(ToOwned::to_owned).filter(|it| !it.is_empty()).collect::<Vec<_>>()
    };
    let (before, after) = (parts(&before), parts(&after));
    let changed = before.iter().filter(|part| !after.contains(part));
    let changed = changed.chain(after.iter().filter(|part| !before.contains(part)));
    let mut found: Vec<String> = changed
        .map(|part| {
            let name = part.split(['=', ':']).next().unwrap_or_default();
            let name = name.trim_start_matches(['-', '+']).to_ascii_lowercase().replace('_', "-");
            name.strip_prefix("no-").map(ToOwned::to_owned).unwrap_or(name)
        })
        .filter(|name| name.len() >= NAME && !listed(COMMON, name))
        .collect();
    found.sort();
    found.dedup();
    found
}

/// Returns the place of an option's name in a text, in any spelling.
pub(super) fn named<'t>(text: &'t str, option: &str) -> Option<&'t str> {
    let plain = text.to_ascii_lowercase().replace('_', "-");
    let of_unit = |at: usize| {
        let rest = plain.get(at..).and_then(|rest| pieces(rest).next());
        rest.is_some_and(is_unit)
    };
    let (at, _) = plain.match_indices(option).find(|(at, _)| !of_unit(*at))?;
    text.get(at..at + option.len())
}

/// Whether a piece is the name of a unit or a control group of systemd: `machine.slice` has nothing of `-machine`.
fn is_unit(piece: &str) -> bool {
    [".slice", ".scope", ".service", ".socket"].iter().any(|kind| piece.ends_with(kind))
}

/// Returns the parts of a piece after each `=`.
fn behind_equals(piece: &str) -> impl Iterator<Item = &str> {
    piece.match_indices('=').filter_map(|(at, _)| piece.get(at + 1..))
}

/// Returns whether a value is only that of another switch: `migratable=off` looks for no `hpet=off`, unless the name is a
/// variable that the script uses.
fn is_switch(text: &str, piece: &str, value: &str) -> bool {
    let name = piece.split('=').next().unwrap_or_default().trim_end_matches('+');
    let used = || ["$", "${", "$(", "%"].iter().any(|it| text.contains(&format!("{it}{name}")));
    listed("on off yes no true false", value) && !name.is_empty() && !used()
}

/// Returns whether a piece is an operator of a test: `-n` of `[ -n "$A" ]`.
fn is_operator(line: &str, piece: &str) -> bool {
    let letter = piece
        .strip_prefix('-')
        .is_some_and(|it| it.len() == 1 && it.bytes().all(|byte| byte.is_ascii_alphabetic()));
    let at = (piece.as_ptr() as usize).saturating_sub(line.as_ptr() as usize);
    let before = line.get(..at).unwrap_or_default().trim_end();
    letter
        && before.len() < at
        && before
            .rsplit(char::is_whitespace)
            .next()
            .is_some_and(|it| matches!(it, "[" | "[[" | "test" | "!" | "&&" | "||" | "-a" | "-o"))
}

/// Returns whether a piece is an option of another command, `-f` of `rm -f lock` and of `test -f disk`, and not a pattern: it
/// has few letters and no quotes, and does not follow an option after which a pattern is given. It is a word of its own,
/// and is not compared with a part of a word such as `tsc-frequency`.
fn is_option(line: &str, piece: &str) -> bool {
    let letters = piece.strip_prefix('-').is_some_and(|it| {
        (1..=3).contains(&it.len()) && it.bytes().all(|byte| byte.is_ascii_alphabetic())
    });
    let at = (piece.as_ptr() as usize).saturating_sub(line.as_ptr() as usize);
    let before = line.get(..at).unwrap_or_default();
    let after = line.get(at + piece.len()..).unwrap_or_default();
    letters
        && before.chars().next_back().is_none_or(char::is_whitespace)
        && after.chars().next().is_none_or(|c| c.is_whitespace() || c == ')')
        && !matches!(before.split_whitespace().next_back(), Some("--" | "-e" | "=" | "==" | "=~"))
}

/// Returns whether a piece is a number that a command gets which searches for nothing: `renice -n 19 $(pidof qemu)`. It is a
/// word of its own, and is not compared with digits of a frequency.
fn is_number(line: &str, piece: &str) -> bool {
    let at = (piece.as_ptr() as usize).saturating_sub(line.as_ptr() as usize);
    let before = line.get(..at).unwrap_or_default();
    let after = line.get(at + piece.len()..).unwrap_or_default();
    !piece.is_empty()
        && piece.bytes().all(|byte| byte.is_ascii_digit())
        && before.chars().next_back().is_some_and(char::is_whitespace)
        && after.chars().next().is_none_or(|c| c.is_whitespace() || ")&;".contains(c))
        && !before.contains(['\'', '"', '`', '#', '='])
        && command_before(before).is_some_and(|command| {
            let mut words = command.split_whitespace();
            // A command that only a run shows may search.
            words.clone().next().is_some_and(|first| !first.starts_with('$')) && !words.any(finds)
        })
}

/// Returns whether a word is a command that searches, runs a text, or prints the name of another command.
fn finds(word: &str) -> bool {
    const OTHERS: &str = "rg ag ack which command type eval xargs sh bash ssh";
    let name = base(word);
    let is = |name: &str| SEARCH.contains(&name) && !matches!(name, "ps" | "pidof");
    // egrep, gawk
    is(name) || name.get(1..).is_some_and(is) || listed(OTHERS, name)
}

/// Returns the text of the command that ends a line so far, without the substitutions in it.
fn command_before(before: &str) -> Option<String> {
    let mut open = 0_usize;
    let mut out = Vec::new();
    for c in before.chars().rev() {
        match c {
            ')' => open += 1,
            '(' if open > 0 => open -= 1,
            '|' | ';' | '&' | '(' if open == 0 => break,
            _ if open == 0 => out.push(c),
            // The text of a substitution.
            _ => {}
        }
    }
    (open == 0).then(|| out.into_iter().rev().collect())
}

/// A text with one blank for each sequence of them and for a continued line, and without quotes.
fn flat(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.replace("\\\n", " ").chars().filter(|c| !matches!(c, '"' | '\'')) {
        match c.is_whitespace() {
            true if out.ends_with(' ') => {}
            true => out.push(' '),
            false => out.push(c),
        }
    }
    out
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
        let name = base(word);
        let name = name
            .strip_prefix(['e', 'f', 'z', 'g', 'm'])
            .filter(|rest| matches!(*rest, "grep" | "awk"))
            .unwrap_or(name);
        SEARCH.contains(&name)
    }) || line.trim_end().ends_with(')')
        || assigns(line)
}

/// Returns whether a line assigns a value to a name: another command may search for it.
fn assigns(line: &str) -> bool {
    line.match_indices('=').any(|(at, _)| {
        let front = line.get(..at).unwrap_or_default().trim_end_matches([':', '+']);
        let start = front.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let name = front.get(start.map_or(0, |at| at + 1)..).unwrap_or_default();
        name_length(name) == name.len() && !name.is_empty()
    })
}

/// The plain pieces of a line with their blanks.
fn segments(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| "'\"`\\*?[](){}|^$;&<>!./+".contains(c))
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

    /// Returns the text that distinguishes the script before and after `kvmclock=off` is removed from its first line.
    fn found(rest: &str) -> Option<String> {
        let text = format!("{OWN}{rest}");
        let at = text.find(",kvmclock").unwrap();
        let edit = Edit { span: at..at + ",kvmclock=off".len(), with: String::new() };
        looked_for(&text, &edit, &(0..OWN.len()), std::slice::from_ref(&(0..OWN.len())))
            .map(|(_, piece)| piece.to_owned())
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
            // Words that are not in quotes, and parts of them.
            "PAT=kvmclock=off",
            "export MATCH=host,kvmclock=off",
            "declare -A P=([vm]=kvmclock=off)",
            ": ${MATCH:=kvmclock=off}",
            "K=kvmclock; V=off",
            "RE='kvmclock=o..'",
            "read PAT <<< KVMCLOCK",
            "pkill -f 'cpu host -m'",
            "pgrep -f 'host,kvmclock=off -m'",
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
    fn option_of_another_command_is_no_part_of_a_word() {
        let of = |rest: &str| {
            let own = "qemu-system-x86_64 -enable-kvm -cpu host -m 1G\n";
            let text = format!("{own}{rest}");
            let at = text.find(" -m").unwrap();
            let with = ",+invtsc,tsc-frequency=2500000000,hv-time".to_owned();
            let edit = Edit { span: at..at, with };
            looked_for(&text, &edit, &(0..own.len()), std::slice::from_ref(&(0..own.len())))
                .map(|(_, piece)| piece.to_owned())
        };
        for rest in [
            "if [ ! -f \"$DISK\" ]; then exit 1; fi",
            "[ -f disk.img ] || exit 1",
            "[[ -f $A && ! -f $B ]]",
            "test -f disk.img || exit 1",
            "grep -q x list && rm -f lock",
            "[ -t 0 ] && rm -fr \"$D\"",
            "pgrep -f qemu-system-x86_64 && exit 1",
            "case $1 in -f) shift ;; -t) exit ;; esac",
        ] {
            assert_eq!(of(rest), None, "{rest}");
        }
        for rest in [
            "pgrep -f tsc-frequency",
            "pgrep -f -- '-frequency='",
            "ps ax | grep -- '-f'",
            "ps ax | grep -e -fr",
            "[[ $args == *-f* ]]",
            "ps ax | awk '/tsc-f/'",
        ] {
            assert!(of(rest).is_some(), "{rest}");
        }
    }

    #[test]
    fn number_that_another_command_gets_is_no_part_of_a_frequency() {
        let of = |rest: &str| {
            let own = "qemu-system-x86_64 -enable-kvm -cpu host -m 1G\n";
            let text = format!("{own}{rest}");
            let at = text.find(" -m").unwrap();
            let edit = Edit { span: at..at, with: ",tsc-frequency=2994372000".to_owned() };
            looked_for(&text, &edit, &(0..own.len()), std::slice::from_ref(&(0..own.len())))
                .map(|(_, piece)| piece.to_owned())
        };
        for rest in [
            "renice -n 99 $(pidof qemu-system-x86_64)",
            "renice -n 72 $(pidof qemu); sleep 20",
            "python affinity.py $(pidof qemu-system-x86_64) -k 6 18 72 20 &",
            "(taskset -p 20 $(pgrep -x qemu))",
            "ps ax | grep qemu | head -n 20",
            "if pidof qemu; then sleep 43; fi",
            "sleep 4372",
        ] {
            assert_eq!(of(rest), None, "{rest}");
        }
        for rest in [
            "ps ax | grep 20",
            "ps ax | grep -c -- 99",
            "ps ax | egrep 99",
            "ps ax | awk 20",
            "ps ax | xargs -n 1 echo 99",
            "[ 99 = $X ]",
            "$(which grep) 99 /proc/1/cmdline && ps",
            "$(command -v grep) 20 $(pidof qemu)",
            "N=20; pgrep -f $N",
            "case $args in *99*) ;; esac",
            "ssh host grep 99 list",
            "pgrep -f '20'",
        ] {
            assert!(of(rest).is_some(), "{rest}");
        }
        // A number that the script has now.
        let own = "qemu-system-x86_64 -enable-kvm -cpu host -m 2048 -S\n";
        let text = format!("{own}look $(pidof qemu) 2048");
        let at = text.find("2048").unwrap();
        let edit = Edit { span: at..at + 4, with: "512".to_owned() };
        let own = 0..own.len();
        assert!(looked_for(&text, &edit, &own, std::slice::from_ref(&own)).is_some());
    }

    #[test]
    fn unit_of_systemd_has_no_option() {
        let of = |rest: &str| {
            let own = "qemu-system-x86_64 -enable-kvm -no-hpet -m 1G\n";
            let text = format!("{own}{rest}");
            let at = text.find("-no-hpet").unwrap();
            let edit =
                Edit { span: at..at + "-no-hpet".len(), with: "-machine hpet=off".to_owned() };
            looked_for(&text, &edit, &(0..own.len()), std::slice::from_ref(&(0..own.len())))
                .map(|(_, piece)| piece.to_owned())
        };
        for rest in [
            "echo $$ >/sys/fs/cgroup/machine.slice/tasks",
            "[ -d /machine.slice ]",
            "GROUP=/machine.slice",
        ] {
            assert_eq!(of(rest), None, "{rest}");
        }
        for rest in ["pgrep -f machine", "[[ $a == *-machine* ]]", "M=-machine"] {
            assert!(of(rest).is_some(), "{rest}");
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
        let own = 0..OWN.len();
        let left_out = [own.clone(), other, comment.clone()];
        assert_eq!(looked_for(&text, &edit, &own, &left_out), None);
        let (place, piece) = looked_for(&text, &edit, &own, &[own.clone(), comment]).unwrap();
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
