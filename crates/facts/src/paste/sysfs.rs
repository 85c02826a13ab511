//! The files of `/sys/devices/system/clocksource` in transcripts: `cat`, `head` and `tail` with `==> f <==`, `grep -r`,
//! several files at once; and the metric of node_exporter.

use super::{Page, Reader, shown};
use crate::log::is_name;
use crate::{Fact, names};

pub(super) const READER: Reader = Reader {
    name: "sysfs",
    words: &[
        "current_clocksource",
        "available_clocksource",
        "*_clocksource",
        "_clocksource_info{",
        "_clocksource",
        "clocksource0/*",
        // A command that goes on in the next line.
        "echo ",
        // The heading of a host.
        "rc=0 >>",
        "[SUCCESS] ",
    ],
    read,
};

/// A name that a script prints: `clocksource: tsc`.
pub(super) const CHOICE: Reader =
    Reader { name: "sysfs", words: &["lock source", "locksource:", "LOCKSOURCE"], read: labelled };

/// What a line names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum File {
    Current,
    Available,
}

/// Lines behind a command in which its output is looked for.
const OUTPUT: usize = 6;

fn read(page: &mut Page<'_>, at: usize) -> usize {
    let line = page.line(at);
    // Sentences of kernel messages and of scripts have other words around it.
    if let Some(rest) = line.trim().strip_prefix("node_time_clocksource_") {
        return metric(page, at, rest);
    }
    if let Some((name, taken)) = write_at(page, at) {
        // A write that the kernel refuses succeeds, too: only a reading tells what is in use, and one before the write
        // no longer does.
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
        if crate::log::is_setting(line) {
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
    {
        return usize::from(told(page, at, *file, shown(rest)));
    }
    if let ([file], Some((head, rest))) = (wanted.as_slice(), line.rsplit_once("_clocksource"))
        && let Some(taken) = in_a_sentence(page, at, *file, head, rest)
    {
        return taken;
    }
    let is_label = line.trim().starts_with("==>") || line.trim().ends_with(':');
    let is_command = ["cat", "head", "tail", "more", "less", "grep", "sysctl"].iter().any(|name| {
        line.split(['$', '#', '%', ' ', '\t', '|', '(', '&', ';']).any(|word| word == *name)
    });
    let is_path = line.trim().starts_with('/') && !line.trim().contains(' ');
    if !(is_label || is_command || is_path) || line.contains('>') && line.contains("echo") {
        return 0;
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
            // A blank line behind the command only.
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
        // One name is what is in use, several are what there is; one name may also be the only one there is.
        let slot = left.iter().position(|file| *file == kind).or_else(|| {
            left.iter().position(|file| *file == File::Available && kind == File::Current)
        });
        let Some(slot) = slot else { break };
        let file = left.remove(slot);
        let mut value = value.to_owned();
        // A list may be broken.
        while file == File::Available
            && left.is_empty()
            && self::kind(page.line(end + 1)).is_some()
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

/// `/sys/.../current_clocksource is tsc.`, with the name perhaps in the next line; not what such a sentence supposes.
fn in_a_sentence(
    page: &mut Page<'_>,
    at: usize,
    file: File,
    head: &str,
    rest: &str,
) -> Option<usize> {
    const SUPPOSE: [&str; 8] =
        ["if", "when", "whether", "unless", "until", "that", "where", "should"];
    let supposes = head.to_ascii_lowercase();
    let mut words = supposes.split(|c: char| !c.is_ascii_alphabetic());
    if file != File::Current || words.any(|word| SUPPOSE.contains(&word)) {
        return None;
    }
    let rest = rest.trim_start_matches(['`', '\'', '"']).trim().strip_prefix("is")?;
    let (value, value_at) = match rest.trim() {
        "" => (page.line(at + 1).trim(), at + 1),
        value if rest.starts_with([' ', '\t']) => (value, at),
        _ => return None,
    };
    let name = value.trim_matches(['`', '\'', '"', '.']);
    (names::is_known(name) && told(page, value_at, file, name)).then_some(value_at + 1 - at)
}

/// A name, or a list of names, alone below the heading of a host: the answer to a command for many hosts. What hosts answer
/// differently is of none of them.
fn of_host(page: &mut Page<'_>, at: usize) -> usize {
    let is_heading = |line: &str| super::headings::of_tool(line.trim()).is_some();
    let value = page.line(at + 1).trim();
    let Some(file) = kind(value).filter(|_| is_heading(page.line(at))) else { return 0 };
    let lines = page.lines();
    let differs = lines.windows(2).any(|pair| {
        is_heading(&pair[0]) && kind(pair[1].trim()) == Some(file) && pair[1].trim() != value
    });
    if !differs {
        told(page, at + 1, file, value);
    }
    2
}

/// The file that a command alone on its line prints, behind a prompt or without one.
fn printed(line: &str) -> Option<File> {
    let command = super::prompt::read(line).map_or(line.trim(), |prompt| prompt.command);
    let command = command.strip_prefix("sudo ").unwrap_or(command);
    if !command.starts_with("cat ") || command.contains(['>', '|', ';', '&']) {
        return None;
    }
    let [file] = files(command)[..] else { return None };
    Some(file)
}

/// Two commands that were pasted one after the other, and both answers below them. The terminal shows the commands first.
/// `None` where it is another text.
fn of_two_commands(page: &mut Page<'_>, at: usize, wanted: &[File]) -> Option<usize> {
    let [first] = wanted else { return None };
    let (one, two) = (printed(page.line(at))?, printed(page.line(at + 1))?);
    if one != *first || one == two {
        return None;
    }
    // A blank line behind the commands.
    let begin = at + 2 + usize::from(page.line(at + 2).trim().is_empty());
    let answers = [begin, begin + 1];
    if answers.iter().any(|at| page.is_prompt(*at) || kind(page.line(*at)).is_none()) {
        return None;
    }
    let (list, current) =
        if one == File::Current { (answers[1], answers[0]) } else { (answers[0], answers[1]) };
    let name = page.line(current).trim();
    // Answers in another order, or of other commands, name nothing.
    if page.line(list).split_ascii_whitespace().any(|listed| listed == name) {
        told(page, list, File::Available, page.line(list));
        told(page, current, File::Current, name);
    }
    Some(begin + 2 - at)
}

/// Lines behind a command of a shell that prints both files: one has a list of names, and the other one name of that list.
/// Which is which follows from the number of names, and from their order where there is one name alone.
fn of_a_board(page: &mut Page<'_>, at: usize, wanted: &[File]) -> Option<usize> {
    let both = wanted.contains(&File::Current) && wanted.contains(&File::Available);
    if !both || super::prompt::read(page.line(at)).is_none() {
        return None;
    }
    let (first, second) = (page.line(at + 1).trim(), page.line(at + 2).trim());
    if page.is_prompt(at + 1) || page.is_prompt(at + 2) {
        return None;
    }
    let of_names = |line: &str| {
        let names = line.split_ascii_whitespace();
        let one = |name: &str| {
            names::may_be_listed(name)
                || is_name(name)
                    && !name.ends_with(':')
                    && name.starts_with(|c: char| c.is_ascii_lowercase())
                    && name.bytes().all(|b| !b.is_ascii_uppercase())
        };
        (1..=8).contains(&names.clone().count()) && names.clone().all(one)
    };
    if !of_names(first) || !of_names(second) {
        return None;
    }
    let (list, current, list_at) = match (first.contains(' '), second.contains(' ')) {
        (true, true) => return None,
        (false, true) => (second, first, 2),
        (_, false) => (first, second, 1),
    };
    if !list.split_ascii_whitespace().any(|name| name == current) {
        return None;
    }
    let current_at = at + 3 - list_at;
    let above = page.lines()[..at].iter().rev();
    if crate::log::is_expected(above.map(|line| line.as_str().into()), current) {
        return Some(3);
    }
    page.under = Some((current.to_owned(), current_at));
    page.told.current = Fact::known(current.to_owned(), page.source(current_at));
    let list = list.split_ascii_whitespace().map(str::to_owned).collect();
    page.told.available = Fact::known(list, page.source(at + list_at));
    Some(3)
}

/// The files that a line names, in the order in which a shell gives them to a command.
fn files(line: &str) -> Vec<File> {
    let mut found = Vec::new();
    if line.contains("*_clocksource") || line.contains("clocksource0/*") {
        return vec![File::Available, File::Current];
    }
    if let Some((_, rest)) = line.split_once('{')
        && let Some((inside, rest)) = rest.split_once('}')
        && rest.starts_with("_clocksource")
    {
        for part in inside.split(',') {
            match part.trim() {
                "current" => found.push(File::Current),
                "available" => found.push(File::Available),
                _ => {}
            }
        }
        return found;
    }
    let mut rest = line;
    while let Some(at) = rest.find("_clocksource") {
        if rest[..at].ends_with("current") {
            found.push(File::Current);
        } else if rest[..at].ends_with("available") {
            found.push(File::Available);
        }
        rest = &rest[at + 12..];
        if found.len() == 4 {
            break;
        }
    }
    found
}

/// Whether a line has the value of one of the files.
fn kind(value: &str) -> Option<File> {
    let mut words = value.split_ascii_whitespace();
    let all = words.clone().all(names::may_be_listed);
    let any = words.clone().any(names::is_known);
    if !all || !any || words.clone().count() > 16 {
        return None;
    }
    words.next()?;
    Some(if words.next().is_some() { File::Available } else { File::Current })
}

/// A line that is one name of a board. In the last line of a text it may be cut.
fn board(page: &Page<'_>, at: usize) -> Option<File> {
    let whole = at + 1 < page.len();
    (whole && names::may_be_of_a_board(page.line(at).trim())).then_some(File::Current)
}

/// Takes a value; `false` where it is none.
fn told(page: &mut Page<'_>, at: usize, file: File, value: &str) -> bool {
    let value = value.trim().trim_matches(['\'', '"', '`']);
    let of_a_board = file == File::Current
        && names::may_be_of_a_board(value)
        && (at + 1 < page.len()
            || page
                .told
                .available
                .value()
                .is_some_and(|list| list.iter().any(|name| name == value)));
    if kind(value).is_none() && !of_a_board {
        return false;
    }
    let above = page.lines()[..at.min(page.len())].iter().rev();
    if crate::log::is_expected(above.map(|line| line.as_str().into()), value) {
        return true;
    }
    let source = page.source(at);
    match file {
        File::Current if !value.contains(' ') => {
            page.under = Some((value.to_owned(), at));
            page.told.current = Fact::known(value.to_owned(), source);
        }
        File::Current => return false,
        File::Available => {
            let list = value.split_ascii_whitespace().map(str::to_owned).collect();
            page.told.available = Fact::known(list, source);
        }
    }
    true
}

/// What a command writes that begins on this line, and the lines that it takes.
fn write_at(page: &Page<'_>, at: usize) -> Option<(String, usize)> {
    let line = page.line(at);
    if let Some(name) = written(line) {
        return Some((name, 1));
    }
    let (next, then) = (page.line(at + 1), page.line(at + 2));
    let two = crate::log::broken_write(&[line, next]).map(|(name, _)| (name, 2));
    two.or_else(|| crate::log::broken_write(&[line, next, then]).map(|(name, _)| (name, 3)))
}

/// `echo tsc > .../current_clocksource`, `echo tsc | sudo tee .../current_clocksource` behind a prompt.
fn written(line: &str) -> Option<String> {
    let command = super::prompt::read(line)?.command;
    let (head, _) = command.split_once("current_clocksource")?;
    let (_, rest) = head.split_once("echo ")?;
    if !rest.contains('>') && !rest.contains("tee ") {
        return None;
    }
    let rest = rest.trim_start().trim_start_matches("-n ").trim_start();
    let name = rest.split([' ', '>', '|']).next()?.trim_matches(['\'', '"']);
    names::is_known(name).then(|| name.to_owned())
}

/// `node_time_clocksource_current_info{clocksource="tsc",device="0"} 1`.
fn metric(page: &mut Page<'_>, at: usize, rest: &str) -> usize {
    let Some((_, name)) = rest.split_once("clocksource=\"") else { return 0 };
    let name = name.split('"').next().unwrap_or_default();
    if rest.starts_with("current_info") && names::is_known(name) {
        told(page, at, File::Current, name);
    }
    1
}

/// `clocksource: tsc avail: hpet,acpi_pm`: what is in use is not in the list that follows.
fn inxi(page: &mut Page<'_>, at: usize, current: &str, rest: &str) -> usize {
    told(page, at, File::Current, current);
    let broken = rest.is_empty();
    let rest = if broken { page.line(at + 1).trim() } else { rest };
    let Some(list) = rest.strip_prefix("avail: ") else { return 1 };
    let list = list.split_ascii_whitespace().next().unwrap_or_default();
    let mut list: Vec<&str> = list.split(',').filter(|name| !name.is_empty()).collect();
    if list.iter().all(|name| names::is_known(name)) {
        list.push(current);
        // In the order of the kernel's own list.
        let rating = |name: &&str| names::find(name).map_or(0, |known| known.rating);
        list.sort_by_key(|name| std::cmp::Reverse(rating(name)));
        told(page, at + usize::from(broken), File::Available, &list.join(" "));
    }
    1 + usize::from(broken)
}

/// `clocksource: tsc`, `Current clocksource : tsc`, `clock source is tsc`.
fn labelled(page: &mut Page<'_>, at: usize) -> usize {
    let line = page.line(at).trim();
    let line = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")).unwrap_or(line);
    if let Some((current, rest)) = crate::log::inxi(line) {
        return inxi(page, at, current, rest);
    }
    let lower = line.to_ascii_lowercase();
    let rest = ["current clocksource", "current clock source", "clocksource", "clock source"]
        .into_iter()
        .find_map(|label| lower.strip_prefix(label));
    let Some(rest) = rest else { return 0 };
    let value = rest.trim_start_matches([' ', ':', '=', '\t', '\'', '"']).trim_start_matches("is ");
    // `Clocksource: tsc (by the vDSO)`
    let name = value.split(" (").next().unwrap_or(value).trim_matches(['\'', '"', '.', ' ']);
    if rest.len() == value.len() || !names::is_known(name) {
        return 0;
    }
    // The begin of the line with which the kernel registers it, of which another copy is whole.
    let registers = format!("clocksource: {name}: mask");
    if lower.starts_with("clocksource: ")
        && page.lines().iter().any(|line| super::has(line, &registers))
    {
        return 0;
    }
    // Names have small letters, but for those of boards.
    if lower.starts_with("clocksource: ") && page.line(at + 1).trim().starts_with("avail: ") {
        return inxi(page, at, name, "");
    }
    usize::from(told(page, at, File::Current, name))
}

#[cfg(test)]
mod tests {
    use crate::paste::Pasted;

    fn told(text: &str) -> (Option<String>, Vec<String>) {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let told = Pasted::read(&lines, "text").told;
        (told.current.value().cloned(), told.available.value().cloned().unwrap_or_default())
    }

    #[test]
    fn value_in_a_comment_below_or_behind_the_command_is_read() {
        let path = "/sys/devices/system/clocksource/clocksource0";
        for sign in ["# Output: ", "# ", "#=> ", "# => ", "// ", "-> ", "// Output: ", "# output: "]
        {
            let below = format!(
                "$ cat {path}/current_clocksource\n{sign}hpet\n$ cat {path}/available_clocksource\n{sign}tsc hpet\n"
            );
            assert_eq!(
                told(&below),
                (Some("hpet".to_owned()), vec!["tsc".to_owned(), "hpet".to_owned()]),
                "{below}"
            );
            let behind = format!("$ cat {path}/current_clocksource  {sign}hpet\n");
            assert_eq!(told(&behind).0.as_deref(), Some("hpet"), "{behind}");
        }
        for comment in ["# should be tsc", "# tsc is best", "# timer0", "# not hpet"] {
            let text = format!("$ cat {path}/current_clocksource\n{comment}\n$ uname -r\n");
            assert_eq!(told(&text).0, None, "{text}");
        }
    }

    #[test]
    fn two_commands_above_both_answers_are_read_in_their_order() {
        let dir = "/sys/devices/system/clocksource/clocksource0";
        let list = ["tsc", "hpet", "acpi_pm"].map(str::to_owned).to_vec();
        for (first, second) in [("$ ", ""), ("$ ", "$ "), ("", ""), ("a@b:~$ ", "a@b:~$ ")] {
            let current = format!("cat {dir}/current_clocksource");
            let available = format!("cat {dir}/available_clocksource");
            for text in [
                format!("{first}{current}\n{second}{available}\nhpet\ntsc hpet acpi_pm\n"),
                format!("{first}{available}\n{second}{current}\n\ntsc hpet acpi_pm\nhpet\n"),
            ] {
                assert_eq!(told(&text), (Some("hpet".to_owned()), list.clone()), "{text}");
            }
            let text = format!("{first}{current}\n{second}{available}\nhpet\ntsc acpi_pm\n");
            assert_eq!(told(&text), (None, Vec::new()), "{text}");
            let text = format!("{first}{current}\n{second}{available}\ntsc hpet acpi_pm\n");
            assert_eq!(told(&text), (None, list.clone()), "{text}");
        }
    }

    #[test]
    fn answers_of_hosts_that_differ_are_of_none_of_them() {
        let answers = |one: &str, two: &str| {
            told(&format!("a | CHANGED | rc=0 >>\n{one}\nb | CHANGED | rc=0 >>\n{two}\n")).0
        };
        assert_eq!(answers("hpet", "hpet").as_deref(), Some("hpet"));
        assert_eq!(answers("hpet", "tsc"), None);
        assert_eq!(answers("ok", "done"), None);
    }

    #[test]
    fn number_of_a_line_is_no_name_of_a_list() {
        let path = "/sys/devices/system/clocksource/clocksource0";
        for front in ["4 ", "4:", "2026-09-14T10:11:04.123456789Z "] {
            let text = format!("$ cat {path}/available_clocksource\n{front}tsc hpet\n");
            assert_eq!(told(&text).1, [""; 0], "{text}");
        }
    }

    #[test]
    fn name_in_a_list_of_what_a_machine_is() {
        for line in ["- Clocksource: tsc (by the vDSO)", "* clocksource: tsc", "Clocksource: tsc"] {
            assert_eq!(told(&format!("{line}\nnext\n")).0.as_deref(), Some("tsc"), "{line}");
        }
        assert_eq!(told("- Clocksource: which one?\n").0, None);
    }

    #[test]
    fn name_in_a_sentence_that_says_what_is() {
        let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        for text in [format!("and {path} is\ntsc.\n"), format!("Now `{path}` is tsc\n")] {
            assert_eq!(told(&text).0.as_deref(), Some("tsc"), "{text}");
        }
        for text in [
            format!("If {path} is tsc\n"),
            format!("{path} is tsc on good machines\n"),
            format!("{path} is\nread by the program\n"),
        ] {
            assert_eq!(told(&text).0, None, "{text}");
        }
    }

    #[test]
    fn inxi_lists_the_others() {
        let read = |text: &str| {
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            let told = Pasted::read(&lines, "text").told;
            (told.current.value().cloned(), told.available.value().cloned().unwrap_or_default())
        };
        let kernel = "  Kernel: 6.1.0 arch: x86_64 bits: 64 compiler: gcc v: 12.2.0";
        for text in [
            format!("{kernel} clocksource: hpet avail: acpi_pm,tsc parameters: quiet\n"),
            format!("{kernel}\n    clocksource: hpet avail: acpi_pm,tsc\n    parameters: quiet\n"),
            format!("{kernel} clocksource: hpet\n    avail: tsc,acpi_pm parameters: quiet\n"),
            format!("{kernel}\n    clocksource: hpet\n    avail: tsc,acpi_pm\n"),
        ] {
            let (current, available) = read(&text);
            assert_eq!(current.as_deref(), Some("hpet"), "{text}");
            assert_eq!(available, ["tsc", "hpet", "acpi_pm"], "{text}");
        }
    }
}
