//! The files of `/sys/devices/system/clocksource` in transcripts: `cat`, `head` and `tail` with `==> f <==`, `grep -r`,
//! several files at once; and the metric of node_exporter or of `watch`.

mod answers;
mod json;
mod labelled;
mod rows;
mod sequence;
mod value;
mod written;

use super::{COMMAND_WITHIN, Page, Reader, host_rows, prompt, shown};
use crate::{Fact, names};
use answers::{in_a_sentence, of_a_board, of_host, of_two_commands};
pub(super) use json::several;
use labelled::metric;
pub(super) use labelled::{CHOICE, is_sample};
use rows::row;
pub(crate) use sequence::prints_first;
use value::{File, board, files, kind, told};
use written::write_at;

pub(super) const READER: Reader = Reader {
    name: "sysfs",
    words: &[
        "current_clocksource",
        "available_clocksource",
        "*_clocksource",
        "_clocksource_info{",
        "_clocksource",
        "clocksource0/*",
        "\"clocksource\"",
        // A command that continues in the next line.
        "echo ",
        // The heading of a host.
        "rc=0 >>",
        "[SUCCESS] ",
    ],
    read,
};

/// Lines after a command in which its output is looked for.
const OUTPUT: usize = 6;

fn read(page: &mut Page<'_>, at: usize) -> usize {
    let line = page.line(at);
    // Sentences of kernel messages and of scripts have other words around it.
    let metrics = ["node_time_clocksource_", "clocksmith_clocksource_"];
    if let Some(rest) = metrics.iter().find_map(|name| line.trim().strip_prefix(name)) {
        return metric(page, at, rest);
    }
    if let Some(taken) = of_hosts(page, at) {
        return taken;
    }
    if line.trim_start().starts_with('|') {
        return row(page, at);
    }
    if let taken @ 1.. = json::read(page, at) {
        return taken;
    }
    if let Some((name, taken)) = write_at(page, at) {
        // A write that the kernel refuses also succeeds: only a reading shows the clocksource in use, and one before
        // the write is obsolete.
        if page.told.current.value().is_some_and(|current| *current != name) {
            page.told.current = Fact::default();
        }
        page.under = Some((name, at));
        return taken;
    }
    let wanted = files(line);
    if wanted.is_empty() {
        return of_host(page, at);
    }
    // `path:value`, `name=value`.
    if let Some((_, rest)) = line.rsplit_once("_clocksource")
        && let Some(value) = rest.trim_start().strip_prefix([':', '=', '|']).map(str::trim)
        && !value.is_empty()
    {
        if crate::log::is_setting(line) || is_example(page, at) {
            return 0;
        }
        let Some(file) = wanted.last() else { return 0 };
        return usize::from(told(page, at, *file, value));
    }
    // `cat .../current_clocksource  # hpet`.
    if let ([file], Some((_, rest))) = (wanted.as_slice(), line.rsplit_once("_clocksource"))
        && rest.trim_start().starts_with(['#', '/', '=', '-', '\u{2192}'])
        && rest.starts_with(' ')
        && kind(shown(rest)) == Some(*file)
        && shown(rest) != rest.trim()
        && !is_of_a_guide(line, rest)
    {
        return usize::from(told(page, at, *file, shown(rest)));
    }
    if let ([.., file], Some((head, rest))) = (wanted.as_slice(), line.rsplit_once("_clocksource"))
        && let Some(taken) = in_a_sentence(page, at, *file, head, rest)
    {
        return taken;
    }
    let is_label = line.trim().starts_with("==>") || line.trim().ends_with(':');
    let is_command = crate::log::is_of_talos(line)
        || ["cat", "head", "tail", "more", "less", "grep", "sysctl"].iter().any(|name| {
            line.split(['$', '#', '%', ' ', '\t', '|', '(', '&', ';']).any(|word| word == *name)
        });
    let is_path = line.trim().starts_with('/') && !line.trim().contains(' ');
    if !(is_label || is_command || is_path) || line.contains('>') && line.contains("echo") {
        return 0;
    }
    if let Some(taken) = sequence::of_several(page, at) {
        return taken;
    }
    if let Some(taken) = of_two_commands(page, at, &wanted) {
        return taken;
    }
    let mut end = at + 1;
    let mut left = wanted;
    // Boards name their clocksources in device trees and drivers, so that no list has them all.
    if let Some(taken) = of_a_board(page, at, &left) {
        return taken;
    }
    while end < page.len().min(at + 1 + OUTPUT) && !left.is_empty() {
        let value = shown(page.line(end));
        if value.is_empty() {
            // A blank line after the command only.
            if end > at + 1 {
                break;
            }
            end += 1;
            continue;
        }
        if page.is_prompt(end) || !files(value).is_empty() {
            break;
        }
        let Some(kind) = kind(value).or_else(|| board(page, end)) else { break };
        // A comment that is a name, and no value that another one hides.
        if value != page.line(end).trim() && !value.split_ascii_whitespace().all(names::is_known) {
            break;
        }
        if is_of_a_guide(page.line(at), page.line(end)) {
            break;
        }
        // One name is the clocksource in use, several are the available ones; one name may also be the only available
        // one.
        let slot = left.iter().position(|file| *file == kind).or_else(|| {
            left.iter().position(|file| *file == File::Available && kind == File::Current)
        });
        let Some(slot) = slot else { break };
        let file = left.remove(slot);
        let mut value = value.to_owned();
        // A list may be broken.
        while file == File::Available
            && left.is_empty()
            && value::kind(page.line(end + 1)).is_some()
            && value.len() < 300
            && !page.is_prompt(end + 1)
        {
            end += 1;
            value.push(' ');
            value.push_str(page.line(end).trim());
        }
        told(page, end, file, &value);
        end += 1;
    }
    end - at
}

/// A table with a row for each host, from its heading on. Where the clocksources differ, they are of no single machine.
pub(super) fn of_hosts(page: &mut Page<'_>, at: usize) -> Option<usize> {
    if is_example(page, at) {
        return None;
    }
    let rows = host_rows::rows(page.lines(), at);
    let (first, last) = (rows.first()?, rows.last()?);
    if rows.iter().all(|row| row.name == first.name) {
        told(page, first.line, File::Current, &first.name);
    }
    Some(last.line + 1 - at)
}

/// Whether a command without a prompt has its value in a bare comment: a guide, whose author shows what to expect. A
/// terminal prints no comments, and a person who shows their own output copies the prompt, or calls the comment the
/// output. A comment with a double arrow (`# => hpet`) shows the value of an example in documentation, unless the prompt
/// names the machine.
fn is_of_a_guide(command: &str, value: &str) -> bool {
    let value = value.trim();
    let comment = value.strip_prefix("//").or_else(|| value.strip_prefix('#'));
    let prompt = prompt::read(command);
    comment.is_some_and(|text| {
        let is_bare = text.trim() == shown(value);
        let is_of_documentation = text.trim_start().starts_with("=>");
        prompt.is_none_or(|prompt| is_of_documentation && prompt.host.is_none())
            && (is_bare || is_of_documentation)
    })
}

/// Whether a line with the name of a file and a value is announced as an example, in it or in the line above.
fn is_example(page: &Page<'_>, at: usize) -> bool {
    let near = (0..at).rev().take(COMMAND_WITHIN);
    let above = near.map(|number| page.line(number).trim()).find(|line| !line.is_empty());
    let above = above.filter(|line| line.ends_with(':')).unwrap_or_default();
    let head = page.line(at).split_once("_clocksource").map_or("", |(head, _)| head);
    [above, head].into_iter().any(|text| {
        let text = text.to_ascii_lowercase();
        ["for example", "for instance", "e.g.", "such as "].iter().any(|words| text.contains(words))
    })
}

#[cfg(test)]
mod tests {
    use crate::paste::Pasted;

    /// The clocksource in use, and the list, in a text.
    pub(super) fn told(text: &str) -> (Option<String>, Vec<String>) {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let told = Pasted::read(&lines, "text").told;
        (told.current.value().cloned(), told.available.value().cloned().unwrap_or_default())
    }

    #[test]
    fn value_in_a_comment_below_or_behind_the_command_is_read() {
        let path = "/sys/devices/system/clocksource/clocksource0";
        let of_any = ["# Output: ", "# ", "// ", "-> ", "// Output: ", "# output: "];
        let of_a_machine = ["#=> ", "# => "];
        let of_any = of_any.map(|sign| (sign, "$ "));
        let of_a_machine = of_a_machine.map(|sign| (sign, "root@db7:~# "));
        for (sign, prompt) in of_any.into_iter().chain(of_a_machine) {
            let below = format!(
                "{prompt}cat {path}/current_clocksource\n{sign}hpet\n{prompt}cat {path}/available_clocksource\n{sign}tsc hpet\n"
            );
            assert_eq!(
                told(&below),
                (Some("hpet".to_owned()), vec!["tsc".to_owned(), "hpet".to_owned()]),
                "{below}"
            );
            let behind = format!("{prompt}cat {path}/current_clocksource  {sign}hpet\n");
            assert_eq!(told(&behind).0.as_deref(), Some("hpet"), "{behind}");
        }
        for comment in ["# should be tsc", "# tsc is best", "# timer0", "# not hpet"] {
            let text = format!("$ cat {path}/current_clocksource\n{comment}\n$ uname -r\n");
            assert_eq!(told(&text).0, None, "{text}");
        }
    }

    #[test]
    fn comment_behind_a_command_of_a_guide_is_no_reading() {
        let path = "/sys/devices/system/clocksource/clocksource0";
        for text in [
            format!("# the clocksource\ncat {path}/current_clocksource\n# tsc\n"),
            format!("cat {path}/current_clocksource  # tsc\n"),
            format!("cat {path}/current_clocksource\n// tsc\n"),
            format!("sudo cat {path}/current_clocksource\n# tsc\n"),
            format!("$ cat {path}/current_clocksource\n# => tsc\n"),
            format!("$ cat {path}/current_clocksource  #=> tsc\n"),
            format!("cat {path}/current_clocksource\n// => tsc\n"),
        ] {
            assert_eq!(told(&text).0, None, "{text}");
        }
        for text in [
            format!("$ cat {path}/current_clocksource\n# tsc\n"),
            format!("cat {path}/current_clocksource\n# Output: tsc\n"),
            format!("cat {path}/current_clocksource\n-> tsc\n"),
            format!("cat {path}/current_clocksource\ntsc\n"),
        ] {
            assert_eq!(told(&text).0.as_deref(), Some("tsc"), "{text}");
        }
    }

    #[test]
    fn example_is_no_reading() {
        for text in [
            "e.g. current_clocksource=hpet\n",
            "some hosts have a slow one, for example current_clocksource: hpet\n",
            "For example:\n\n  current_clocksource: hpet\n",
        ] {
            assert_eq!(told(text).0, None, "{text}");
        }
        let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        for text in [
            format!("All are slow, for example:\n$ cat {path}\nhpet\n"),
            "My values:\ncurrent_clocksource: hpet\n".to_owned(),
        ] {
            assert_eq!(told(&text).0.as_deref(), Some("hpet"), "{text}");
        }
    }

    #[test]
    fn file_that_talosctl_reads_is_a_reading() {
        let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        let text = format!("$ talosctl -n 10.5.0.2 read {path}\ntsc\n");
        assert_eq!(told(&text).0.as_deref(), Some("tsc"));
    }

    #[test]
    fn number_of_a_line_is_no_name_of_a_list() {
        let path = "/sys/devices/system/clocksource/clocksource0";
        for front in ["4 ", "4:", "2026-09-14T10:11:04.123456789Z "] {
            let text = format!("$ cat {path}/available_clocksource\n{front}tsc hpet\n");
            assert_eq!(told(&text).1, [""; 0], "{text}");
        }
    }
}
