//! Values that are not in the line below one command: in a sentence, below the heading of a host, below two commands.

use super::value::{File, files, kind, told};
use crate::log::is_name;
use crate::paste::{Page, headings, prompt};
use crate::{Fact, names};

/// `/sys/.../current_clocksource is tsc.`, with the name possibly in the next line; not an assumption in such a
/// sentence.
pub(super) fn in_a_sentence(
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

/// A name, or a list of names, alone after the heading of a host: the output of a command for many hosts. If the
/// outputs differ, they are attributed to no host.
pub(super) fn of_host(page: &mut Page<'_>, at: usize) -> usize {
    let is_heading = |line: &str| headings::of_tool(line.trim()).is_some();
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

/// The file that a command alone on its line prints, after a prompt or without one.
fn printed(line: &str) -> Option<File> {
    let command = prompt::read(line).map_or(line.trim(), |prompt| prompt.command);
    let command = command.strip_prefix("sudo ").unwrap_or(command);
    if !command.starts_with("cat ") || command.contains(['>', '|', ';', '&']) {
        return None;
    }
    let [file] = files(command)[..] else { return None };
    Some(file)
}

/// Two commands that were pasted one after the other, and both answers below them. The terminal shows the commands first.
/// `None` if the text is something else.
pub(super) fn of_two_commands(page: &mut Page<'_>, at: usize, wanted: &[File]) -> Option<usize> {
    let [first] = wanted else { return None };
    let (one, two) = (printed(page.line(at))?, printed(page.line(at + 1))?);
    if one != *first || one == two {
        return None;
    }
    // A blank line after the commands.
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

/// Lines after a shell command that prints both files: one has a list of names, and the other one name
/// of that list. Which is which follows from the number of names, and from their order if there is only one name.
pub(super) fn of_a_board(page: &mut Page<'_>, at: usize, wanted: &[File]) -> Option<usize> {
    let both = wanted.contains(&File::Current) && wanted.contains(&File::Available);
    if !both || prompt::read(page.line(at)).is_none() {
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

#[cfg(test)]
mod tests {
    use crate::paste::sysfs::tests::told;

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
}
