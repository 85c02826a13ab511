//! Shell transcripts around a log: readings of sysfs, writes to it, the flags of a processor. A word is
//! the name of a clocksource only if a kernel has one of that name: any text may follow a
//! command.

use super::event::Event;
use super::parse::{after, find, word};
use crate::names;
use crate::ntp::NtpState;
use crate::paste::prints_first;

const COMMANDS: [&str; 15] = [
    "cat ",
    "zcat ",
    "zgrep ",
    "tail ",
    "echo ",
    "dmesg",
    "sudo ",
    "grep ",
    "head ",
    "journalctl",
    "uname",
    "more ",
    "bpftrace ",
    "tee ",
    "clocksmith ",
];

/// Whether a line is a shell prompt with a command: `$ cat ...`, `# cat ...`, `root@host:~# ...`,
/// `[root@host ~]# ...`, `sh-4.2# dmesg`.
pub(super) fn is_prompt(line: &str) -> bool {
    let line = line.trim_start();
    let command = |rest: &str| COMMANDS.iter().any(|name| rest.trim_start().starts_with(name));
    if let Some(rest) = line.strip_prefix(['$', '#']) {
        return command(rest);
    }
    let Some(at) = line.find(['$', '#']).filter(|at| *at < 120) else { return false };
    let (head, rest) = (&line[..at], &line[at + 1..]);
    let own = match head.strip_prefix('[') {
        Some(inside) => inside.ends_with(']') && inside.split_whitespace().count() <= 2,
        None => !head.trim_end().contains(char::is_whitespace),
    };
    let user = head.trim_start_matches('[').split('@').next().unwrap_or_default();
    let named = head.contains('@')
        && !user.is_empty()
        && user.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b));
    // A message that the kernel prints on a console while a prompt waits.
    if super::prefix::printk_stamp(rest.trim_start()).is_some() {
        return false;
    }
    own && (named || command(rest)) && (rest.is_empty() || rest.starts_with(' ') || command(rest))
}

/// The host in a prompt: `user@host:~$ ...`, `[user@host ~]# ...`.
pub(super) fn host_of_prompt(line: &str) -> Option<&str> {
    let (_, rest) = line.trim_start().split_once('@').filter(|_| is_prompt(line))?;
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-._".contains(c)))?;
    (end > 0).then(|| &rest[..end])
}

/// A reading with its value on the next line: `cat .../current_clocksource` and then `hpet`.
pub(super) fn reading<'a>(
    raw: &str,
    next: impl FnOnce() -> Option<(std::borrow::Cow<'a, str>, usize)>,
) -> Option<(Event, usize)> {
    let at = find(raw, "_clocksource")?;
    let head = &raw[..at];
    let current = head.ends_with("current");
    if !current && !head.ends_with("available") {
        return None;
    }
    let tail = raw[at + 12..].trim();
    let command = head.contains("cat ")
        || head.contains("more ")
        || head.contains("head ")
        || is_of_talos(head);
    let label = head.trim_start().starts_with('/') && (tail.is_empty() || tail == ":");
    if !(command && tail.is_empty() || label) || prints_first(raw) {
        return None;
    }
    let (line, end) = next()?;
    Some((reads(current, &line, is_prompt(raw))?, end))
}

/// `talosctl -n NODE read FILE`.
pub(crate) fn is_of_talos(head: &str) -> bool {
    find(head, "talosctl ").is_some_and(|at| head[at..].contains(" read "))
}

/// The event of a value from a file of sysfs. `printed`: the text is only the file's content, as after a prompt that
/// reads it.
fn reads(current: bool, value: &str, printed: bool) -> Option<Event> {
    let value = value.trim().trim_matches(['\'', '"', '`']);
    if current {
        let named = names::is_known(value)
            || names::may_be_of_a_board(value)
            || printed && names::is_bare_word(value);
        return named.then(|| Event::ReadCurrent(value.to_owned()));
    }
    let list: Vec<String> = value.split_whitespace().map(str::to_owned).collect();
    // Boards add names from their device trees to the list.
    let plausible = list.len() <= 16
        && (list.iter().any(|name| names::is_known(name)) || printed && !list.is_empty())
        && list.iter().all(|name| names::may_be_listed(name));
    plausible.then_some(Event::ReadAvailable(list))
}

/// A reading, or a write, on one line: `SYSFS current_clocksource=hpet`,
/// `.../current_clocksource:tsc`, `echo tsc > .../current_clocksource`, `flags : fpu vme ...`.
pub(super) fn told(line: &str) -> Option<Event> {
    // `clocksource: tsc` alone: a script that prints the reading.
    if let Some(name) = line.strip_prefix("clocksource: ")
        && names::is_known(name.trim())
    {
        return Some(Event::ReadCurrent(name.trim().to_owned()));
    }
    if let Some(read) = written_down(line) {
        return Some(read);
    }
    if let Some((current, _)) = inxi(line) {
        return Some(Event::ReadCurrent(current.to_owned()));
    }
    if let Ok(state) = NtpState::told(line) {
        return Some(Event::ReadSynchronized(state.synchronized));
    }
    if let Some(width) = super::parse::uname(line) {
        return Some(width);
    }
    let flags = line.strip_prefix("CPUFLAGS ").or_else(|| {
        line.strip_prefix("flags").and_then(|rest| rest.trim_start().strip_prefix(':'))
    });
    if let Some(flags) = flags {
        return Some(Event::ReadFlags(flags.trim().chars().take(4000).collect()));
    }
    if let Some(next_boot) = next_boot(line) {
        return Some(next_boot);
    }
    let at = find(line, "_clocksource")?;
    let head = &line[..at];
    let tail = &line[at + 12..];
    if let Some(name) = unbound(head) {
        return Some(Event::Unbound(name.to_owned()));
    }
    let current = head.ends_with("current");
    if !current && !head.ends_with("available") {
        return None;
    }
    if let Some(echo) = after(head, "echo ")
        && (head.contains('>') || head.contains("tee "))
        && current
    {
        let name = word(echo.trim_start_matches("-n "))?;
        return names::is_known(name).then(|| Event::WroteCurrent(name.to_owned()));
    }
    let printed = line.trim_start().starts_with('/');
    // A row of a table means what its head says (`paste`).
    let value = tail.trim_start().strip_prefix(['=', ':'])?;
    (!is_setting(line)).then(|| reads(current, value, printed))?
}

/// Maximum number of lines of a wrapped command.
const BROKEN_OVER: usize = 3;

/// A write whose command was wrapped to these lines, as mailers and terminals wrap before or inside the
/// path: the name, and the original command.
pub(crate) fn broken_write(lines: &[&str]) -> Option<(String, String)> {
    let (first, last) = (lines.first()?, lines.last()?);
    let begins = find(first, "echo ").is_some() && find(first, "_clocksource").is_none();
    if !begins || !(2..=BROKEN_OVER).contains(&lines.len()) || last.trim().is_empty() {
        return None;
    }
    // If only some of them begin with the character, it is that of a redirection, not of a quotation.
    let quoted = lines.iter().all(|line| line.trim_start().starts_with('>'));
    let bare: Vec<&str> = lines
        .iter()
        .map(|line| if quoted { line.trim_start_matches(['>', ' ']) } else { line }.trim())
        .collect();
    // The lines in between are parts of the command.
    if bare[1..].iter().any(|line| is_prompt(line)) {
        return None;
    }
    [" ", ""].into_iter().map(|between| bare.join(between)).find_map(|command| {
        match told(&command) {
            // The path ends the command, so the last line has nothing else.
            Some(Event::WroteCurrent(name)) => Some((name, command)),
            _ => None,
        }
    })
}

/// Whether a line is a command, and not a sentence that names one.
pub(crate) fn is_command(line: &str) -> bool {
    let line = line.trim_start_matches([' ', '\t', '>']);
    is_prompt(line) || line.starts_with("echo ") || line.starts_with("sudo ")
}

/// Number of lines above a reading that are searched for a sentence that describes it.
const SAID_WITHIN: usize = 12;

/// Whether the sentence above a reading announces an expected value, in which case the value was not read: `you
/// should see:`, `the output will be`. A sentence that names another clocksource states the expected one. `above`
/// has the lines above, the nearest first.
pub(crate) fn is_expected<'a>(
    above: impl Iterator<Item = std::borrow::Cow<'a, str>>,
    value: &str,
) -> bool {
    let Some(line) = sentence_above(above) else { return false };
    let sentence = last_sentence(&line);
    let names_other = sentence
        .split(|c: char| !(c.is_ascii_alphanumeric() || "_-".contains(c)))
        .any(|word| names::is_known(word) && !value.split_ascii_whitespace().any(|is| is == word));
    let leads = !sentence.ends_with(['.', '!', '?']) || sentence.contains("following");
    leads && !names_other && expects(sentence)
}

/// Whether the sentence above a command, or above its output, only suggests the command: `you could try`, `switch by
/// something like:`. Its writer has not run it on the machine of the log.
pub(crate) fn is_suggested<'a>(above: impl Iterator<Item = std::borrow::Cow<'a, str>>) -> bool {
    const PHRASES: [&str; 9] = [
        "something like",
        "you can ",
        "you could ",
        "you may ",
        "you might ",
        "you should be able",
        "could you ",
        "please ",
        "try ",
    ];
    // A report of what its writer did or saw.
    const REPORTS: [&str; 16] = [
        "i", "i've", "i'm", "we", "my", "our", "see", "did", "find", "below", "attached", "log",
        "output", "dmesg", "says", "shows",
    ];
    let Some(line) = sentence_above(above) else { return false };
    let sentence = last_sentence(&line);
    let mut words = sentence.split(|c: char| !(c.is_alphanumeric() || c == '\''));
    !sentence.ends_with(['.', '!', '?'])
        && PHRASES.iter().any(|phrase| find(sentence, phrase).is_some())
        && !words.any(|word| REPORTS.contains(&word))
}

/// The nearest line of these, the nearest one first, that is neither a command nor the output of one, in lower case.
fn sentence_above<'a>(above: impl Iterator<Item = std::borrow::Cow<'a, str>>) -> Option<String> {
    let of_output = |line: &str| {
        line.is_empty()
            || line.starts_with("```")
            || line.starts_with("~~~")
            || is_prompt(line)
            || line.starts_with("cat ")
            || line.starts_with('/') && !line.contains(' ')
            || line.split_ascii_whitespace().all(names::is_known)
    };
    let mut above = above.take(SAID_WITHIN);
    let line = above.find(|line| !of_output(line.trim_matches(['>', ' ', '\t'])))?;
    let line = line.trim_matches(['>', ' ', '\t', '*', '_', '#']);
    (!super::strip_prefix(line).1 && line.len() <= 400).then(|| line.to_ascii_lowercase())
}

/// The last sentence of a line.
fn last_sentence(line: &str) -> &str {
    let begin = line.rfind(". ").map_or(0, |at| at + 2);
    line[begin..].trim()
}

/// Whether a sentence announces an expected value, and does not continue with the real one.
fn expects(sentence: &str) -> bool {
    const PHRASES: [&str; 24] = [
        "should see",
        "should say",
        "should show",
        "should print",
        "should read",
        "should output",
        "should give",
        "should return",
        "should look",
        "should have",
        "should be",
        "would see",
        "will see",
        "you'll see",
        "will be",
        "will say",
        "will show",
        "will print",
        "will look",
        "expect",
        "supposed to",
        "ought to",
        "desired",
        "example output",
    ];
    const BUT: [&str; 14] = [
        "as expected",
        "unexpected",
        "than expected",
        "not expect",
        "n't expect",
        " but ",
        "instead",
        "however",
        "actual",
        " yet ",
        " got ",
        "i see",
        "it is",
        "shows",
    ];
    let Some(at) = PHRASES.iter().filter_map(|phrase| find(sentence, phrase)).max() else {
        return false;
    };
    let behind = sentence.get(at..).unwrap_or_default();
    let front = sentence.get(at.saturating_sub(4)..).unwrap_or_default();
    !BUT.iter().any(|word| behind.contains(word) || front.contains(word))
}

/// The clocksource that a command unregisters, from the text before the end of the path.
fn unbound(head: &str) -> Option<&str> {
    let echo = after(head.strip_suffix("unbind")?, "echo ")?;
    let name = word(echo.trim_start_matches("-n "))?;
    ((echo.contains('>') || echo.contains("tee ")) && names::is_known(name)).then_some(name)
}

/// Whether a line that begins like a comment is a command of root that [`next_boot`] reads.
pub(super) fn is_of_next_boot(line: &str) -> bool {
    line.trim_start().starts_with("# ") && next_boot(line).is_some()
}

/// A command after a prompt that sets a clocksource for the next boot, or that restarts the machine.
fn next_boot(line: &str) -> Option<Event> {
    const EDITS: [&str; 4] = ["grubby ", "GRUB_CMDLINE_LINUX", "kargs ", "kernelstub "];
    // Commands that write or edit the configuration of a boot loader.
    const OTHERS: [&str; 4] =
        ["update-grub", "grub-mkconfig", "grub2-mkconfig", "update-bootloader"];
    const TOOLS: [&str; 3] = ["grubby ", "rpm-ostree kargs ", "kernelstub "];
    const EDITORS: [&str; 6] = ["vi ", "vim ", "nano ", "emacs ", "sed -i", "sudoedit "];
    const CHANGES: [&str; 6] =
        ["--args", "--remove-args", "--append", "--delete", "--add-options", "--delete-options"];
    const RESTARTS: [&str; 8] = [
        "reboot",
        "systemctl reboot",
        "shutdown -r now",
        "shutdown -r",
        "reboot -f",
        "/sbin/reboot",
        "init 6",
        "systemctl kexec",
    ];
    let prompt = line.find(['#', '$']).filter(|at| *at < 120)?;
    let command = line[prompt + 1..].trim();
    let command = command.strip_prefix("sudo ").unwrap_or(command).trim_end_matches(';');
    if RESTARTS.contains(&command) {
        return Some(Event::Restarted);
    }
    let asks = EDITS.iter().any(|edit| command.contains(edit)) && !command.contains("remove-args");
    if asks && let Some(name) = after(command, "clocksource=").and_then(word) {
        return names::is_known(name).then(|| Event::SetForNextBoot(name.to_owned()));
    }
    let begins = |words: &[&str]| words.iter().any(|word| command.starts_with(word.trim_end()));
    let configures =
        begins(&OTHERS) || begins(&TOOLS) && CHANGES.iter().any(|word| command.contains(word));
    // A comment continues with words.
    let comment = prompt == 0
        && command
            .split(' ')
            .nth(1)
            .is_some_and(|word| word.starts_with(|c: char| c.is_ascii_alphabetic()));
    let configures = configures && !comment;
    let edits = begins(&EDITORS) && command.contains("/etc/default/grub");
    (configures || edits).then(|| Event::SetForNextBoot(String::new()))
}

/// Whether a line states a value that the file should have, and not the one it has. Settings and checks of programs
/// contain the whole path: `PATH = tsc` (sysfsutils, tuned, tests of KVM).
pub(crate) fn is_setting(line: &str) -> bool {
    let Some(at) = find(line, "_clocksource") else { return false };
    let (head, tail) = (&line[..at], &line[at + 12..]);
    tail.trim_start().starts_with('=') && head.contains('/') || wants(head)
}

/// The output of inxi: `Kernel: 6.1.0 arch: x86_64 ... clocksource: tsc avail: hpet,acpi_pm`, wrapped before any of its
/// labels. Returns the name, and the text after it.
pub(crate) fn inxi(line: &str) -> Option<(&str, &str)> {
    const LABEL: &str = "clocksource: ";
    const OTHERS: [&str; 5] = ["Kernel: ", "arch: ", "bits: ", "compiler: ", "v: "];
    let at = find(line, LABEL)?;
    let (head, rest) = (line[..at].trim(), line[at + LABEL.len()..].trim());
    let (name, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let rest = rest.trim_start();
    let labelled = match head {
        "" => rest.starts_with("avail: "),
        // A sentence has none of the labels before it.
        _ => {
            OTHERS.iter().filter(|label| find(head, label).is_some()).count() >= 2
                || head.starts_with("compiler: ")
        }
    };
    let goes_on = rest.is_empty() || rest.split(' ').next().is_some_and(|word| word.ends_with(':'));
    (labelled && goes_on && names::is_known(name)).then_some((name, rest))
}

/// `Current clocksource: TSC` alone, possibly in a list: a note of the user.
fn written_down(line: &str) -> Option<Event> {
    const LABEL: &str = "current clocksource: ";
    let rest = line.trim_start_matches([' ', '-', '*', '+']);
    let label = rest.get(..LABEL.len())?;
    let name = rest[LABEL.len()..].trim().trim_matches(['\'', '"', '`']).to_ascii_lowercase();
    (label.eq_ignore_ascii_case(LABEL) && names::is_known(&name))
        .then_some(Event::ReadCurrent(name))
}

/// Words that announce a desired value, not a real one.
fn wants(head: &str) -> bool {
    const WORDS: [&str; 12] = [
        "expect",
        "expected",
        "expects",
        "should",
        "must",
        "want",
        "wanted",
        "require",
        "required",
        "requires",
        "desired",
        "recommended",
    ];
    head.split(|c: char| !c.is_ascii_alphabetic())
        .any(|word| WORDS.iter().any(|wants| word.eq_ignore_ascii_case(wants)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_are_told_from_banners() {
        for prompt in [
            "root@x:/# cat /proc/cpuinfo | grep tsc",
            "[root@web-1 ~]# dmesg | grep tsc",
            "user@web:~$ something",
            "$ cat /proc/cmdline",
            "# dmesg",
            "sh-4.2# cat /x",
            "/ # cat /x",
        ] {
            assert!(is_prompt(prompt), "{prompt}");
        }
        for other in [
            "Linux version 6.1.0 (builder@example) (gcc 12) #1 SMP",
            "# case: x",
            "timer@f0001000: x #1",
            "[    0.000000] Linux version 6.1.0 (a@b) #1 SMP",
        ] {
            assert!(!is_prompt(other), "{other}");
        }
    }

    #[test]
    fn words_of_scripts_are_no_names() {
        let after = |line: &'static str| move || Some((line.into(), 1));
        let cat = "cat /sys/devices/system/clocksource/clocksource0/current_clocksource";
        assert_eq!(reading(cat, after("fi")), None);
        assert_eq!(reading(cat, after("tsc")), Some((Event::ReadCurrent("tsc".into()), 1)));
        assert_eq!(reading(&format!("$ {cat}"), after("fi")), None);
        assert_eq!(reading(&format!("$ {cat}"), after("cat: no such file")), None);
        for name in ["timer0", "timer@fcfec000", "c3tsc", "dmtimer0"] {
            let read = Some(Event::ReadCurrent(name.into()));
            assert_eq!(reading(cat, after(name)).map(|(event, _)| event), read);
            assert_eq!(told(&format!("/sys/x/current_clocksource:{name}")), read);
        }
        assert_eq!(reading(cat, after("ostimer")), None);
        assert_eq!(
            reading(&format!("$ {cat}"), after("ostimer")),
            Some((Event::ReadCurrent("ostimer".into()), 1))
        );
        assert_eq!(told("echo fi > /sys/x/current_clocksource"), None);
        assert_eq!(told("current_clocksource=fi"), None);
        for line in [
            "check = /sys/devices/system/clocksource/clocksource0/current_clocksource=tsc",
            "/sys/devices/system/clocksource/clocksource0/current_clocksource=tsc",
            "devices/system/clocksource/clocksource0/current_clocksource = tsc",
            "Expected value of /sys/x/current_clocksource: tsc",
            "current_clocksource should be: tsc",
            "must have current_clocksource: tsc",
            "Expected current clocksource: tsc",
            "Current clocksource: tsc or hpet",
            "In Kernel: x, arch: y, clocksource: tsc is best",
            "clocksource: tsc available: hpet",
        ] {
            assert_eq!(told(line), None, "{line}");
        }
        let hpet = Some(Event::SetForNextBoot("hpet".into()));
        assert_eq!(told("[root@h]# grubby --args=clocksource=hpet --update-kernel=DEFAULT"), hpet);
        assert_eq!(told("$ sudo grubby --update-kernel=ALL --args=\"clocksource=hpet\""), hpet);
        let changed = Some(Event::SetForNextBoot(String::new()));
        for line in [
            "# grubby --remove-args=clocksource=hpet --update-kernel=ALL",
            "root@h:~# update-grub",
            "[root@h ~]# grub2-mkconfig -o /boot/grub2/grub.cfg",
            "$ sudo vim /etc/default/grub",
            "# sed -i s/quiet/notsc/ /etc/default/grub",
        ] {
            assert_eq!(told(line), changed, "{line}");
        }
        assert_eq!(told("# grub-mkconfig helper script."), None);
        assert_eq!(told("# grubby --info=ALL"), None);
        assert_eq!(told("$ cat /etc/default/grub"), None);
        let unbound = Some(Event::Unbound("tsc".into()));
        assert_eq!(told("# echo tsc > /sys/x/clocksource0/unbind_clocksource"), unbound);
        assert_eq!(told("$ echo tsc | sudo tee /sys/x/clocksource0/unbind_clocksource"), unbound);
        assert_eq!(told("see unbind_clocksource"), None);
        assert_eq!(told("[root@h ~]# reboot"), Some(Event::Restarted));
        assert_eq!(told("# reboot to see it"), None);
        let tsc = Some(Event::ReadCurrent("tsc".into()));
        for line in [
            "SYSFS current_clocksource=tsc",
            "/sys/x/current_clocksource:tsc",
            "Current clocksource: TSC",
            "Kernel: 6.1.0 arch: x86_64 bits: 64 compiler: gcc v: 12.2.0 clocksource: tsc",
            "  clocksource: tsc avail: hpet,acpi_pm parameters: BOOT_IMAGE=/vmlinuz ro",
            "  compiler: gcc v: 13.2.1 clocksource: tsc avail: hpet",
            "- current clocksource: `tsc`",
        ] {
            assert_eq!(told(line), tsc, "{line}");
        }
        assert_eq!(
            told("available_clocksource: arch_sys_counter timer@f0001000"),
            Some(Event::ReadAvailable(vec!["arch_sys_counter".into(), "timer@f0001000".into()]))
        );
    }
}
