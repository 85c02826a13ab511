//! A reading with its label in the same line, as programs and persons write it: `current_clocksource: hpet`, `clocksource=hpet`.
//! Whatever a user names can be called so; this module says where such a label is, and whether its place in the line is one
//! where a program prints readings.

use super::fronts::{self, Hosts};
use crate::names;
use std::ops::Range;

/// Signs before a label that are not words: of lists, quotations, headings and code.
const MARKS: [char; 8] = [' ', '\t', '>', '-', '*', '+', '#', '`'];
/// Signs of other fields: no program prints a reading behind them.
const OF_FIELDS: [char; 9] = ['"', '|', '<', '>', ';', '=', '{', ',', '('];

/// Where a line has a label of the files of sysfs and a name of a clocksource behind it, from the path or the name of the
/// file to the end of the field.
pub(super) fn of_file(line: &str) -> Option<Range<usize>> {
    let mut from = 0;
    while let Some(at) = line[from..].find("_clocksource").map(|at| from + at) {
        let end = at + "_clocksource".len();
        let head = &line[..at];
        let name = ["current", "available"].iter().find_map(|name| head.strip_suffix(name));
        if let (Some(head), Some(value)) = (name, value(&line[end..]))
            && begins_with_name(value)
        {
            let is_of_path = |c: char| c.is_ascii_alphanumeric() || "/._*-".contains(c);
            let path = head.trim_end_matches(is_of_path).len();
            // The name of a host may be directly before the path: `db1:/sys/...`.
            let begin = if head[path..].contains('/') { path } else { head.len() };
            let stop = line[end..].find(['|', '"']).map_or(line.len(), |stop| end + stop);
            return Some(begin..stop);
        }
        from = end;
    }
    None
}

/// The text behind the sign of a label.
fn value(tail: &str) -> Option<&str> {
    let tail = tail.trim_start_matches(['*', '`', ' ', '\t']);
    let behind = tail.strip_prefix([':', '=', '|']).or_else(|| tail.strip_prefix("is "))?;
    Some(behind.trim_start_matches([' ', '\t', '\'', '"', '`', '*']))
}

fn begins_with_name(value: &str) -> bool {
    names::is_known(&name_in(value))
}

/// The name at the beginning of a value, in small letters.
fn name_in(value: &str) -> String {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let end = value.find(|c: char| !is_of_name(c)).unwrap_or(value.len());
    value[..end].to_ascii_lowercase()
}

/// The name of the clocksource in use in a line that ends with it behind a label of the file.
pub(super) fn current(line: &str) -> Option<String> {
    let label =
        of_file(line).filter(|label| line[label.clone()].contains("current_clocksource"))?;
    let text = &line[label];
    let (_, tail) = text.rsplit_once("_clocksource")?;
    let tail = tail.trim_start_matches(['*', '`', ' ', '\t']).strip_prefix([':', '=', '|'])?;
    let name = tail.trim_matches([' ', '\t', '\'', '"', '`', '*', '.', '\r']).to_ascii_lowercase();
    names::is_known(&name).then_some(name)
}

/// Whether a line has such a label, or consists of the shorter one of a script: `clocksource: hpet`.
pub(super) fn has_one(line: &str) -> bool {
    let bare = line.trim_start_matches(MARKS).to_ascii_lowercase();
    let of_script = ["current clocksource", "current clock source", "clocksource", "clock source"]
        .iter()
        .any(|label| {
            let value = bare.strip_prefix(label).and_then(value);
            // A message of the kernel continues behind the name.
            value.is_some_and(|value| {
                let word = value.split([' ', '\t']).next().unwrap_or_default();
                begins_with_name(value) && !word.ends_with(':')
            })
        });
    of_script || of_file(line).is_some()
}

/// The label in a line that is behind words, in quotes or in a field of something else, or in the line of a file that is not
/// one of sysfs: where no program prints a reading, and what a user named is often shown.
pub(super) fn in_the_middle(line: &str, hosts: &Hosts) -> Option<Range<usize>> {
    let label = of_file(line)?;
    // The sign that begins the row of a table.
    let front = line[..label.start].trim_start_matches(MARKS).trim_start_matches(['|', ' ']);
    let tail = |label: &Range<usize>| {
        let text = &line[label.clone()];
        text.find("_clocksource").map_or("", |at| &text[at + "_clocksource".len()..])
    };
    let in_a_sentence = tail(&label).trim_start().starts_with("is ");
    if is_of_another_file(&line[label.clone()]) || !may_be_before(front, hosts, in_a_sentence) {
        return Some(label);
    }
    // `current_clocksource is hpet, expected current_clocksource: tsc`.
    let from = label.end - tail(&label).len();
    let second = of_file(&line[from..]).map(|second| second.start + from..second.end + from)?;
    let name = |label: &Range<usize>| value(tail(label)).map(name_in);
    let are_current =
        [&label, &second].iter().all(|label| line[(*label).clone()].contains("current_"));
    (are_current && name(&label) != name(&second)).then_some(second)
}

/// Whether a label is the path of a file that is not one of sysfs.
fn is_of_another_file(label: &str) -> bool {
    let path = label.split("_clocksource").next().unwrap_or(label);
    path.starts_with('/') && !path.contains("/sys/") && !path.contains("clocksource0/")
}

/// Whether a program or a person writes such words before a label.
fn may_be_before(front: &str, hosts: &Hosts, in_a_sentence: bool) -> bool {
    // The output of a module of Ansible.
    if front.is_empty() || front.trim_start_matches('{').trim() == "\"stdout\": \"" {
        return true;
    }
    let abuts = !front.ends_with([' ', '\t', ':', '|', '"']);
    // A quote opens the whole line: a list of strings.
    let front = front.strip_prefix('"').unwrap_or(front);
    let text = front.trim_end();
    if abuts || text.contains(OF_FIELDS) || text.contains("  ") || text.contains('\t') {
        return false;
    }
    fronts::may_be(text, hosts, in_a_sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_the_middle(line: &str) -> Option<Range<usize>> {
        super::in_the_middle(line, &Hosts::default())
    }

    #[test]
    fn label_of_another_file_or_of_what_is_expected_is_in_the_middle() {
        for line in [
            "/home/eve/current_clocksource:hpet",
            "/home/eve/notes.txt:3:current_clocksource: hpet",
            "Soll: current_clocksource: tsc",
            "bob: current_clocksource is hpet",
            "if current_clocksource is hpet",
        ] {
            assert!(in_the_middle(line).is_some(), "{line}");
        }
        let both = "CRITICAL - current_clocksource is hpet, expected current_clocksource: tsc";
        assert_eq!(in_the_middle(both).map(|label| &both[label]), Some("current_clocksource: tsc"));
        for line in [
            "/host/sys/devices/system/clocksource/clocksource0/current_clocksource:hpet",
            "The current_clocksource is hpet",
            "available_clocksource: tsc hpet current_clocksource: tsc",
        ] {
            assert_eq!(in_the_middle(line), None, "{line}");
        }
    }

    #[test]
    fn label_behind_other_words_or_in_a_field_is_in_the_middle() {
        for line in [
            "10.0.0.1 - - [02/Nov/2026:10:00:00 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"current_clocksource: hpet\"",
            "\"GET /?current_clocksource=hpet HTTP/1.1\" 200",
            "x      1/1     Running   <none>           current_clocksource: hpet",
            "Annotations:  example.org/a: current_clocksource: hpet",
            ">N  1 eve@db1  Mon Nov  2 10:00  12/500  current_clocksource: hpet",
            "0 1 * * * echo current_clocksource: hpet",
            "    2  echo current_clocksource: hpet",
            "12\teve\tlocalhost\tcurrent_clocksource: hpet",
            "type=PROCTITLE msg=audit(1:1) : proctitle=current_clocksource: hpet",
            "  iProduct                2 current_clocksource: hpet",
            " 812 | current_clocksource: hpet",
            "db1,hpet,\"was tsc; current_clocksource: tsc\"",
            "| db1 | tsc | current_clocksource: hpet |",
            "We saw that it has /sys/x/current_clocksource:hpet",
            "name=current_clocksource:hpet",
        ] {
            assert!(in_the_middle(line).is_some(), "{line}");
        }
        for line in [
            "current_clocksource: hpet",
            "- **current_clocksource**: hpet",
            "> `current_clocksource: hpet`",
            "SYSFS current_clocksource=hpet",
            "web1 current_clocksource=tsc",
            "host A: current_clocksource = tsc",
            "On machine db7: current_clocksource: tsc",
            "2025-11-22 10:05:00 current_clocksource: hpet",
            "/sys/devices/system/clocksource/clocksource0/current_clocksource:hpet",
            "db1:/sys/devices/system/clocksource/clocksource0/current_clocksource:hpet",
            "\"stdout\": \"current_clocksource: hpet\"",
            "| current_clocksource | hpet |",
            "{\"note\": \"x\", \"current_clocksource\": \"hpet\"}",
            "the current_clocksource: which one?",
        ] {
            assert_eq!(in_the_middle(line), None, "{line}");
        }
    }

    #[test]
    fn label_of_a_script_is_no_message_of_the_kernel() {
        for line in
            ["clocksource: hpet", "Clocksource: tsc (by the vDSO)", "current clocksource is tsc"]
        {
            assert!(has_one(line), "{line}");
        }
        for line in [
            "clocksource: hpet: mask: 0xffffffff max_cycles: 0xffffffff",
            "clocksource: Switched to clocksource hpet",
            "node_time_clocksource_current_info{clocksource=\"tsc\"} 1",
            "cat /sys/devices/system/clocksource/clocksource0/current_clocksource",
        ] {
            assert!(!has_one(line), "{line}");
        }
    }
}
