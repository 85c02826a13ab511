//! A label that says something else than the file: `cat .../current_clocksource` printed a name at a prompt, and a line
//! below it has `current_clocksource: NAME` with another one. A person, or a program, may write such a line of anything; so
//! it does not outrank the file, and as it may also be newer, the answer is open.

use super::{foreign, owner, prompt};
use crate::log::is_setting;
use crate::names;

/// Signs before a label.
const MARKS: [char; 7] = [' ', '\t', '>', '-', '*', '+', '`'];

/// Why the clocksource in use is open in a text with such a contradiction, as the end of a sentence.
pub(super) fn by_label(lines: &[String]) -> Option<String> {
    let (content, label) = found(lines)?;
    // What no machine printed contradicts nothing.
    let records = owner::records(lines);
    let of_no_machine = owner::of_no_machine(lines, &records);
    let imagined = owner::imagined(lines, &records);
    let is_real = |at: usize| {
        !of_no_machine.get(at).is_some_and(|none| *none)
            && !imagined.iter().any(|range| range.contains(&at))
    };
    (is_real(content.0) && is_real(label.0)).then(|| {
        format!(
            "the file has {} at the prompt (line {}), and line {} says {} under a label: which of them is so, and when, is \
             open",
            content.1,
            content.0 + 1,
            label.0 + 1,
            label.1
        )
    })
}

/// A line, and the name of a clocksource in it.
type At = (usize, String);

/// The content that a command printed last before a label with another name, and that label.
fn found(lines: &[String]) -> Option<(At, At)> {
    let mut content: Option<At> = None;
    let prompts = foreign::Prompts::of(lines.join("\n").as_bytes());
    for (at, line) in lines.iter().enumerate() {
        let known = prompt::read(line).map(|prompt| prompt.command);
        if let Some(command) = known.or_else(|| prompts.command(line.trim())) {
            // After any other command that may change it, the file may have another content.
            if command.contains("clocksource") || restarts(command) {
                content = printed(lines, at, command);
            }
            continue;
        }
        let Some((place, known)) = &content else { continue };
        if let Some(name) = label(line).filter(|name| name != known)
            && !is_setting(line)
        {
            return Some(((*place, known.clone()), (at, name)));
        }
    }
    None
}

fn restarts(command: &str) -> bool {
    ["reboot", "shutdown", "kexec", "ssh ", "tuned-adm"].iter().any(|word| command.contains(word))
}

/// The content of the file in the line below a command that only prints it.
fn printed(lines: &[String], at: usize, command: &str) -> Option<At> {
    let reads = command.contains("current_clocksource")
        && !command.contains(['>', ';', '&'])
        && !command.contains("tee ");
    let name = lines.get(at + 1)?.trim();
    (reads && names::is_known(name)).then(|| (at + 1, name.to_owned()))
}

/// The name behind a label of the file anywhere in a line, as it would be read, or behind one of a script that begins a line.
fn label(line: &str) -> Option<String> {
    if let Some(name) = foreign::label_of_current(line) {
        return Some(name);
    }
    let line = line.trim_start_matches(MARKS);
    let line = if line.starts_with("/sys/") { line.rsplit('/').next()? } else { line };
    let lower = line.to_ascii_lowercase();
    let labels = ["current_clocksource", "current clocksource", "clocksource:"];
    let rest = labels.iter().find_map(|label| lower.strip_prefix(label))?;
    let rest = rest.trim_start_matches([' ', ':', '=', '\t', '\'', '"', '`']);
    let name = rest.trim_end_matches([' ', '\t', '\'', '"', '`', '.', '\r']);
    names::is_known(name).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

    fn open(text: &str) -> bool {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        by_label(&lines).is_some()
    }

    #[test]
    fn label_below_the_content_of_the_file_leaves_the_answer_open() {
        let cat = format!("root@db1:~# cat {FILE}\ntsc\n");
        for label in [
            "\ncurrent_clocksource: hpet\n".to_owned(),
            "root@db1:~# ./state\ncurrent_clocksource=hpet\n".to_owned(),
            format!("x\n{FILE}:hpet\n"),
            "x\n- Current clocksource: hpet\n".to_owned(),
            "root@db1:~# ./state\nclocksource: hpet\n".to_owned(),
            "db2 current_clocksource: hpet\n".to_owned(),
            "2026-11-02 10:00:01 current_clocksource=hpet\n".to_owned(),
        ] {
            assert!(open(&format!("{cat}{label}")), "{label}");
            assert!(!open(&format!("{cat}{}", label.replace("hpet", "tsc"))), "{label}");
            assert!(!open(&format!("{label}{cat}")), "{label}");
            let write = format!("root@db1:~# echo hpet > {FILE}\n");
            assert!(!open(&format!("{cat}{write}{label}")), "{label}");
        }
        for other in [
            "clocksource: Switched to clocksource hpet\n",
            "clocksource: hpet: mask: 0xffffffff\n",
            "clocksource=hpet\n",
        ] {
            assert!(!open(&format!("{cat}{other}")), "{other}");
        }
    }
}
