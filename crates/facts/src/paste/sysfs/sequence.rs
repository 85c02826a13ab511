//! Several commands on one line, of which some print other text: `uname -r; cat .../current_clocksource`. The values are the
//! lines that the last commands printed, or the only ones that are names of clocksources.

use super::value::{File, files, kind, told};
use crate::paste::parts::{Command, pipelines};
use crate::paste::{Page, prompt};

/// Lines below the commands that may be their output: `lscpu` prints about 50.
const OUTPUT: usize = 80;
/// Commands and words of a shell that print nothing.
const SILENT: [&str; 28] = [
    "cd", "clear", "export", "set", "unset", "true", ":", "sleep", "sync", "modprobe", "su", "for",
    "do", "done", "if", "then", "else", "fi", "while", "{", "}", "(", ")", "umask", "ulimit",
    "alias", "exit", "wait",
];

/// What a command does to the lines below.
enum Step {
    Silent,
    /// Prints the files.
    Reads(Vec<File>),
    /// Prints this before the next output, on the same line: `echo -n 'clocksource: '`.
    Leads(String),
    /// Prints another text, of one line at least if that is `sure`.
    Prints {
        sure: bool,
    },
}

/// What the commands of a line do.
fn steps(line: &str) -> Vec<Step> {
    let command = prompt::read(line).map_or_else(
        || line.trim().trim_start_matches(['$', '#', '%', '>']).trim_start(),
        |prompt| prompt.command,
    );
    pipelines(command).iter().map(|commands| step(commands)).collect()
}

fn others(steps: &[Step]) -> bool {
    steps.iter().any(|it| matches!(it, Step::Prints { .. } | Step::Leads(_)))
}

/// Whether a command prints something else before the last one of a line that reads the files.
pub(crate) fn prints_first(line: &str) -> bool {
    let steps = steps(line);
    let last = steps.iter().rposition(|step| matches!(step, Step::Reads(_)));
    last.is_some_and(|last| others(&steps[..last]))
}

/// Reads the values; returns the number of lines that were read, `None` if all commands that print read the files.
pub(super) fn of_several(page: &mut Page<'_>, at: usize) -> Option<usize> {
    let steps = steps(page.line(at));
    let last = steps.iter().rposition(|step| matches!(step, Step::Reads(_)))?;
    let (before, after) = steps.split_at(last);
    if !others(before) {
        return None;
    }
    let wanted: Vec<File> = steps
        .iter()
        .filter_map(|it| if let Step::Reads(it) = it { Some(it) } else { None })
        .flatten()
        .copied()
        .collect();
    let leads: Vec<&str> = steps
        .iter()
        .filter_map(|it| if let Step::Leads(it) = it { Some(it.as_str()) } else { None })
        .collect();
    let end = end_of_output(page, at + 1);
    let value = |number: usize| {
        let line = page.line(number).trim();
        let lead = leads.iter().find_map(|lead| line.strip_prefix(lead));
        lead.unwrap_or(line).trim().to_owned()
    };
    let values: Vec<(usize, String)> = (at + 1..end)
        .map(|number| (number, value(number)))
        .filter(|(_, value)| kind(value).is_some())
        .collect();
    // Another command may also print a word that is a name: the values are the last lines, or the only names.
    let Some(first) = values.len().checked_sub(wanted.len()) else { return Some(1) };
    let sure = before.iter().filter(|step| matches!(step, Step::Prints { sure: true })).count();
    let values = if others(after) { &values[..] } else { &values[first..] };
    let at_end = || values.iter().map(|(number, _)| *number).eq(end - wanted.len()..end);
    let are_these = if others(after) { first == 0 } else { at_end() };
    if !are_these || end - at - 1 < sure + wanted.len() {
        return Some(1);
    }
    let fits = |(file, (_, value)): (&File, &(usize, String))| {
        // One name may also be the only available one.
        kind(value).is_some_and(|kind| kind == *file || *file == File::Available)
    };
    if wanted.iter().zip(values).all(fits) {
        for (file, (number, value)) in wanted.iter().zip(values) {
            told(page, *number, *file, value);
        }
        return Some(end - at);
    }
    Some(1)
}

fn step(commands: &[Command]) -> Step {
    let Some(first) = commands.first() else { return Step::Silent };
    let program = first.program();
    if matches!(program, "echo" | "printf") {
        let text: Vec<&str> = first.rest().collect();
        return match text.as_slice() {
            _ if first.is_written => Step::Silent,
            ["-n", text] => Step::Leads((*text).trim().to_owned()),
            [text] if program == "printf" && !text.ends_with("\\n") => {
                Step::Leads(text.trim().to_owned())
            }
            _ => Step::Prints { sure: true },
        };
    }
    let read: Vec<File> =
        commands.iter().flat_map(|command| &command.words).flat_map(|word| files(word)).collect();
    if !read.is_empty() {
        return Step::Reads(read);
    }
    let silent = SILENT.contains(&program)
        || first.is_written
        // `sudo -i` alone.
        || program == "sudo" && first.rest().all(|word| word.starts_with('-'));
    // A filter may leave nothing.
    let sure = commands.len() == 1 && !program.ends_with("grep");
    if silent { Step::Silent } else { Step::Prints { sure } }
}

/// The line behind the output that begins at a line: the next prompt, the next command, or an empty line.
fn end_of_output(page: &Page<'_>, begin: usize) -> usize {
    let ends = |number: &usize| {
        let line = page.line(*number).trim();
        line.is_empty()
            || line.starts_with("```")
            || page.is_prompt(*number)
            || !files(line).is_empty()
    };
    let most = page.len().min(begin + OUTPUT);
    (begin..most).find(ends).unwrap_or(most)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::paste::sysfs::tests::told;

    const DIR: &str = "/sys/devices/system/clocksource/clocksource0";

    #[test]
    fn output_of_other_commands_on_the_line_is_no_value() {
        for (before, output) in [
            ("uname -r; ", "6.1.0-18-amd64\n"),
            ("hostname; ", "db1\n"),
            ("hostname && ", "web1\n"),
            ("sudo hostname; ", "db1\n"),
            ("whoami; ", "tsc\n"),
            ("nproc && ", "8\n"),
            ("lscpu | grep MHz; ", "CPU max MHz: 3500.0\nCPU min MHz: 800.0\n"),
            ("cat /etc/redhat-release; ", "CentOS Stream release 8\n"),
            ("echo clock:; ", "clock:\n"),
            ("echo -n 'cs: '; ", "cs: "),
            ("cd /tmp; hostname; ", "jiffies\n"),
        ] {
            for front in ["$ ", "root@web1:~# ", ""] {
                let text = format!("{front}{before}cat {DIR}/current_clocksource\n{output}hpet\n");
                assert_eq!(told(&text).0.as_deref(), Some("hpet"), "{text}");
                let text = format!("{text}\nThanks\n");
                assert_eq!(told(&text).0.as_deref(), Some("hpet"), "{text}");
            }
        }
        let both = format!(
            "$ uname -r; cat {DIR}/available_clocksource {DIR}/current_clocksource; nproc\n6.1.0\ntsc hpet\nhpet\n8\n"
        );
        assert_eq!(
            told(&both),
            (Some("hpet".to_owned()), ["tsc", "hpet"].map(str::to_owned).to_vec())
        );
    }

    #[test]
    fn first_line_of_the_output_is_no_value_for_the_scan_of_the_log() {
        for name in ["db1", "web1", "acpi_pm"] {
            let text = format!("root@x:~# hostname; cat {DIR}/current_clocksource\n{name}\ntsc\n");
            let log = crate::log::KernelLog::scan(text.as_bytes(), "text").unwrap();
            assert!(log.entries.is_empty(), "{text}: {:?}", log.entries);
            assert_eq!(told(&text).0.as_deref(), Some("tsc"), "{text}");
        }
    }

    #[test]
    fn output_that_is_not_whole_has_no_value() {
        for text in [
            format!("$ hostname; cat {DIR}/current_clocksource\ndb1\n"),
            format!("$ hostname; cat {DIR}/current_clocksource; whoami\nhpet\ntsc\nbob\n"),
            format!(
                "$ hostname; cat {DIR}/current_clocksource\ndb1\ncat: {DIR}/current_clocksource: No such file\n"
            ),
            format!("$ hostname; cat {DIR}/current_clocksource\n\nhpet\n"),
            format!("$ hostname; cat {DIR}/current_clocksource\nhpet\n"),
            format!("$ hostname; cat {DIR}/current_clocksource\nhpet\ncat: no such file\n"),
        ] {
            assert_eq!(told(&text).0, None, "{text}");
        }
    }
}
