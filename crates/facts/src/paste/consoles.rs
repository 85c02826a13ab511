//! Separates what a host's session shows of other systems: the console of a guest, a log that was fetched over the
//! network. Their lines follow the command that shows them, up to the host's next prompt.

use super::kept::{Kept, kept};
use super::others::{Other, Until, opened};
use super::{Section, foreign, prompt};
use crate::log::{plain, strip_prefix};
use crate::names;
use std::collections::HashSet;

/// Maximum number of other systems in one session.
const CONSOLES: usize = 16;

/// A command of the host that shows another system, and the lines after it.
struct Console<'a> {
    /// The other system, if the command names it.
    guest: Option<String>,
    until: Until,
    /// The prompt before the command.
    shell: Shell<'a>,
    begin: usize,
}

/// The prompt of a command.
#[derive(Clone, Copy)]
struct Shell<'a> {
    host: Option<&'a str>,
    /// The prompt as it is printed, without blanks around it; empty for a command without one.
    sign: &'a str,
    command: &'a str,
}

impl Shell<'_> {
    /// Whether a line is a prompt of the same shell, as far as a prompt shows it.
    fn prints(&self, line: &str) -> bool {
        if let Some(named) = prompt::own(line).and_then(|found| found.host) {
            return self.host == Some(named);
        }
        let rest = line.trim_start().strip_prefix(self.sign).filter(|_| !self.sign.is_empty());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    }
}

/// The session of a host and the other systems in it. Empty if none of them shows kernel messages, if the text has
/// nothing about the host, or has the sessions of several hosts.
pub(super) fn consoles(lines: &[String]) -> Vec<Section> {
    let mut host: Option<&str> = None;
    let mut session = Section::default();
    let mut guests: Vec<Section> = Vec::new();
    // Lines after a prompt that may be of the host or of its guest.
    let mut unclear = Section::default();
    let mut open: Option<Console<'_>> = None;
    let mut openers: Vec<usize> = Vec::new();
    let mut begin = 0;
    let mut told: Option<Vec<Told>> = None;
    for number in 0..lines.len() {
        if let Some(console) = &open {
            match ends(console, lines, number) {
                None => continue,
                Some(is_clear) => {
                    close(console, number, lines, &mut session, &mut guests);
                    open = None;
                    begin = number;
                    if !is_clear {
                        unclear.add(number, lines.len());
                        begin = lines.len();
                        break;
                    }
                }
            }
        }
        let Some((shell, opened)) = read(lines, number) else { continue };
        if let Some(named) = shell.host {
            // Which of several hosts runs the guest is another question.
            if host.is_some_and(|host| host != named) || guests.len() > CONSOLES {
                return Vec::new();
            }
            host = Some(named);
        }
        let opened = opened.filter(|other| other.name.as_deref() != shell.host.or(Some("")));
        let Some(other) = opened.or_else(|| log_of_another_time(lines, number, shell, &mut told))
        else {
            continue;
        };
        let from = match other.until {
            // The command is one of the other system.
            Until::Prompt => number,
            Until::Left => number + 1,
        };
        if begin < from {
            session.add(begin, from);
        }
        openers.push(number);
        open = Some(Console { guest: other.name, until: other.until, shell, begin: from });
    }
    match open {
        Some(console) => close(&console, lines.len(), lines, &mut session, &mut guests),
        None if begin < lines.len() => session.add(begin, lines.len()),
        None => {}
    }
    let any = |section: &Section, is: &dyn Fn(&String) -> bool| {
        let mut numbers = section.lines.iter().flat_map(|(from, to)| *from..*to);
        numbers.any(|number| !openers.contains(&number) && is(&lines[number]))
    };
    let logged = guests.iter().any(|guest| any(guest, &|line| is_logged(line)));
    if !logged || !any(&session, &|line| is_told(line)) || repeats(lines, &session, &guests) {
        return Vec::new();
    }
    session.host = host.map(str::to_owned);
    guests.insert(0, session);
    if any(&unclear, &|line| is_told(line)) {
        guests.push(unclear);
    }
    guests
}

/// The prompt and the command of a line, and what the command shows of another system.
fn read(lines: &[String], at: usize) -> Option<(Shell<'_>, Option<Other>)> {
    let line = lines[at].trim();
    if line.len() > 2000 {
        return None;
    }
    if let Some(found) = prompt::own(line) {
        let sign = line[..line.len() - found.command.len()].trim_end();
        let shell = Shell { host: found.host, sign, command: found.command };
        return Some((shell, opened(found.command)));
    }
    // A prompt that is known as one only by the command after it: `# ssh ...`, `web$ virsh ...`; or none.
    let end = line.bytes().take(80).position(|b| matches!(b, b'$' | b'#' | b'%'));
    let end = end.filter(|end| line[end + 1..].starts_with(' '));
    let sign = end.map_or("", |end| &line[..=end]);
    let name = sign.trim_end_matches(['$', '#', '%']);
    if !name.is_empty() && !prompt::is_name(name) {
        return None;
    }
    let command = line[sign.len()..].trim();
    let other = opened(command)?;
    // A sentence ends in other signs than a command.
    let is_bare = || {
        other.until == Until::Prompt
            && !command.ends_with(['.', ':', ';', ','])
            && lines.get(at + 1).is_some_and(|line| is_logged(line))
    };
    if sign.is_empty() && !is_bare() {
        return None;
    }
    let host = Some(name).filter(|name| !name.is_empty() && !prompt::is_of_a_user(name));
    Some((Shell { host, sign, command }, Some(other)))
}

/// A line that says which clocksource is in use, and its name.
type Told = (usize, String);

/// The output of a command that prints the log of another boot, or one that was kept in a file, as of another system; `None`
/// if the text has no other evidence of the clocksource, and for a log without a date that agrees with it.
fn log_of_another_time(
    lines: &[String],
    at: usize,
    shell: Shell<'_>,
    told: &mut Option<Vec<Told>>,
) -> Option<Other> {
    let kind = kept(shell.command)?;
    let ends = |at: &usize| prompt::own(&lines[*at]).is_some() || shell.prints(&lines[*at]);
    let end = (at + 1..lines.len()).find(ends).unwrap_or(lines.len());
    if !lines[at + 1..end].iter().any(|line| is_logged(line)) {
        return None;
    }
    let told = told.get_or_insert_with(|| in_use(lines));
    let (from, to) = (
        told.partition_point(|(line, _)| *line <= at),
        told.partition_point(|(line, _)| *line < end),
    );
    let (_, name) = told[..from].last().or_else(|| told.get(to))?;
    let contradicts = || {
        let last = told[from..to].last();
        let demotes = |line: &String| {
            super::has(line, "Marking TSC unstable")
                || super::has(line, "Marking clocksource 'tsc'")
        };
        last.is_some_and(|(_, other)| other != name)
            || name == "tsc" && lines[at + 1..end].iter().any(demotes)
    };
    let apart = kind == Kept::Other || contradicts();
    apart.then_some(Other { name: None, until: Until::Prompt })
}

/// The lines that say which clocksource is in use: the content of the file, a label, a switch that was not one of the first.
fn in_use(lines: &[String]) -> Vec<Told> {
    const EARLY: [&str; 3] = ["tsc-early", "refined-jiffies", "jiffies"];
    let mut found = Vec::new();
    let mut asked = false;
    for (at, line) in lines.iter().enumerate() {
        let content =
            std::mem::take(&mut asked).then(|| line.trim()).filter(|name| names::is_known(name));
        if let Some(prompt) = prompt::read(line) {
            asked = prompt.command.contains("current_clocksource");
            continue;
        }
        let switch = || {
            let (message, _) = strip_prefix(line);
            let message = message.strip_prefix("clocksource: ").unwrap_or(message);
            let rest = message.strip_prefix("Switch")?;
            rest.split_once("to clocksource ").map(|(_, name)| name.trim())
        };
        let name = content.map(str::to_owned).or_else(|| foreign::label_of_current(line));
        let name = name.or_else(|| switch().map(str::to_owned));
        found.extend(name.filter(|name| !EARLY.contains(&name.as_str())).map(|name| (at, name)));
    }
    found
}

/// Whether a section is the log of another boot, or one that was kept in a file.
pub(super) fn is_of_another_time(lines: &[String], section: &Section) -> bool {
    let first = section.lines.first().and_then(|(from, _)| lines.get(*from));
    let command = first.and_then(|line| prompt::own(line)).map(|found| found.command);
    section.host.is_none() && command.is_some_and(|command| kept(command).is_some())
}

/// Whether a line ends what a command shows; `Some(false)` if it may also be a prompt of the other system.
fn ends(console: &Console<'_>, lines: &[String], at: usize) -> Option<bool> {
    let line = &lines[at];
    let found = prompt::own(line);
    let same = console.shell.prints(line);
    if console.until == Until::Prompt {
        return (found.is_some() || same).then_some(true);
    }
    if !same {
        return None;
    }
    if console.shell.host.is_some() || is_left(&lines[console.begin..at]) {
        return Some(true);
    }
    // Without a name, a prompt may be the guest's.
    found.is_some().then_some(false)
}

/// Whether a session ends with the sign by which a user leaves it, or with the words of the program that ran it.
fn is_left(lines: &[String]) -> bool {
    let last = lines.iter().rev().find(|line| !line.trim().is_empty());
    last.is_some_and(|line| {
        line.trim_end().ends_with("^]")
            || ["Connection closed", "Terminated", "terminating on signal"]
                .iter()
                .any(|words| line.contains(words))
    })
}

/// Whether the other systems show no line of the kernel that the host does not show too: it is the same system then.
fn repeats(lines: &[String], session: &Section, guests: &[Section]) -> bool {
    let of = |section: &Section| {
        let numbers = section.lines.clone().into_iter().flat_map(|(from, to)| from..to);
        numbers.map(|number| lines[number].trim()).filter(|line| is_logged(line))
    };
    let known: HashSet<&str> = of(session).collect();
    guests.iter().flat_map(of).all(|line| known.contains(line))
}

/// Ends a console: without a kernel message in it, its lines are the host's, unless they are the output of a command
/// on a machine with a name.
fn close(
    console: &Console<'_>,
    end: usize,
    lines: &[String],
    session: &mut Section,
    guests: &mut Vec<Section>,
) {
    let is_apart =
        console.until == Until::Prompt && prompt::remote(console.shell.command).is_some();
    if !is_apart && !lines[console.begin..end].iter().any(|line| is_logged(line)) {
        session.add(console.begin, end);
        return;
    }
    let known = guests.iter_mut().find(|one| one.host.is_some() && one.host == console.guest);
    match known {
        Some(section) => section.add(console.begin, end),
        None => {
            let host = console.guest.clone();
            guests.push(Section { host, lines: vec![(console.begin, end)] });
        }
    }
}

/// Whether a line is a message of a kernel, which may print it without its time.
fn is_logged(line: &str) -> bool {
    plain::is_of_the_kernel(line)
}

/// Whether a line shows something of a machine's clocksource: a kernel message, or the output of a command about it.
fn is_told(line: &str) -> bool {
    strip_prefix(line).1 || super::has(line, "clocksource")
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: &str =
        "root@kvm1:~# cat /sys/devices/system/clocksource/clocksource0/current_clocksource\n";
    const BOOT: &str = "[    0.041223] tsc: Marking TSC unstable due to TSCs unsynchronized\n\
                        [    0.512377] clocksource: Switched to clocksource hpet\n";

    fn found(text: &str) -> Vec<(Option<String>, String)> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        consoles(&lines).into_iter().map(|one| (one.host.clone(), one.shown())).collect()
    }

    fn is(text: &str, wanted: &[(Option<&str>, &str)]) {
        let wanted: Vec<(Option<String>, String)> = wanted
            .iter()
            .map(|(host, lines)| (host.map(str::to_owned), (*lines).to_owned()))
            .collect();
        assert_eq!(found(text), wanted, "{text}");
    }

    #[test]
    fn console_of_a_guest_ends_at_the_next_prompt_of_the_host() {
        for (command, guest) in [
            ("virsh console web3", Some("web3")),
            ("virsh -c qemu:///system console --force web3", Some("web3")),
            ("sudo virsh start web3 --console", Some("web3")),
            ("xl console web3", Some("web3")),
            ("qm terminal 104", Some("104")),
            ("incus console web3", Some("web3")),
            ("xl create -c web3.cfg", None),
            ("/usr/bin/qemu-system-x86_64 -nographic -kernel bzImage", None),
            ("picocom -b 115200 /dev/ttyUSB0", None),
            ("screen /dev/ttyUSB0 115200", None),
        ] {
            let console = format!("root@kvm1:~# {command}\n{BOOT}web3 login:\n");
            is(
                &format!("{READ}tsc\n{console}{READ}tsc\n"),
                &[(Some("kvm1"), "1-3, 7-8"), (guest, "4-6")],
            );
            is(&format!("{READ}tsc\n{console}"), &[(Some("kvm1"), "1-3"), (guest, "4-6")]);
        }
        // A shell of the guest is also in its console.
        let shell = "root@web3:~# cat /proc/cmdline\nquiet\n";
        is(
            &format!("{READ}tsc\nroot@kvm1:~# virsh console web3\n{BOOT}{shell}{READ}tsc\n"),
            &[(Some("kvm1"), "1-3, 8-9"), (Some("web3"), "4-7")],
        );
        // The same guest again is the same machine.
        let console = format!("root@kvm1:~# virsh console web3\n{BOOT}");
        is(
            &format!("{console}{READ}tsc\n{console}"),
            &[(Some("kvm1"), "1-1, 4-6"), (Some("web3"), "2-3, 7-8")],
        );
    }

    /// The lines of a host on the TSC before its first command.
    const OWN: &str = "[    0.407882] clocksource: Switched to clocksource tsc-early\n\
                       [    1.444393] clocksource: Switched to clocksource tsc\n";

    #[test]
    fn log_of_another_system_ends_at_the_next_prompt() {
        for (sign, host) in [
            ("root@kvm1:~#", Some("kvm1")),
            ("[me@kvm1 ~]$", Some("kvm1")),
            ("kvm1#", Some("kvm1")),
            ("#", None),
            ("$", None),
        ] {
            for (command, guest) in [
                ("ssh root@web3 dmesg", Some("web3")),
                ("ssh web3 'dmesg | grep -i clock'", Some("web3")),
                ("journalctl -M web3 -k", Some("web3")),
                ("cat /var/log/libvirt/qemu/web3-console.log", None),
                ("kubectl logs web3", Some("web3")),
            ] {
                let text =
                    format!("{OWN}{sign} {command}\n{BOOT}{sign} uptime\n 22:41 up 2 days\n");
                is(&text, &[(host, "1-2, 6-7"), (guest, "3-5")]);
                is(&format!("{OWN}{sign} {command}\n{BOOT}"), &[(host, "1-2"), (guest, "3-5")]);
            }
        }
        // A command without a prompt before it.
        is(&format!("{OWN}ssh web3 dmesg\n{BOOT}"), &[(None, "1-2"), (Some("web3"), "3-5")]);
        // What the machine shows later is not the host's.
        let later = "root@kvm1:~# ssh web3 cat /sys/x/current_clocksource\nhpet\n";
        is(
            &format!("{OWN}root@kvm1:~# ssh web3 dmesg\n{BOOT}{later}"),
            &[(Some("kvm1"), "1-2"), (Some("web3"), "3-7")],
        );
    }

    #[test]
    fn console_behind_a_prompt_without_a_name_ends_where_the_user_leaves_it() {
        let console = format!("{OWN}# virsh console web3\n{BOOT}");
        let uptime = "# uptime\n 22:41 up 2 days\n";
        is(&console, &[(None, "1-3"), (Some("web3"), "4-5")]);
        is(
            &format!("{console}web3 login: ^]\n{uptime}"),
            &[(None, "1-3, 7-8"), (Some("web3"), "4-6")],
        );
        is(
            &format!("{console}# cat /sys/x/current_clocksource\ntsc\n"),
            &[(None, "1-3"), (Some("web3"), "4-5"), (None, "6-7")],
        );
        is(
            &format!("{OWN}kvm1# socat - UNIX-CONNECT:/run/a.sock\n{BOOT}kvm1# uptime\n"),
            &[(Some("kvm1"), "1-3, 6-6"), (None, "4-5")],
        );
    }

    #[test]
    fn log_of_the_same_system_is_not_separated() {
        let last = "[    1.444393] clocksource: Switched to clocksource tsc\n";
        for text in [
            format!("{OWN}me@laptop:~$ ssh kvm1 'dmesg | tail -1'\n{last}"),
            format!("{OWN}root@kvm1:~# ssh localhost dmesg\n{BOOT}"),
            format!("{OWN}root@kvm1:~# ssh kvm1 dmesg\n{BOOT}"),
            format!("{OWN}me@laptop:~$ ssh kvm1 cat /sys/x/current_clocksource\ntsc\n"),
            format!("me@laptop:~$ ssh kvm1 dmesg\n{OWN}"),
            format!("{OWN}ssh kvm1 dmesg, as of today:\n{BOOT}"),
            format!("{OWN}console output\n{BOOT}"),
        ] {
            is(&text, &[]);
        }
    }

    #[test]
    fn text_without_a_console_or_without_the_host_is_not_separated() {
        for text in [
            // Nothing of the host.
            format!("root@kvm1:~# virsh console web3\n{BOOT}"),
            // No kernel messages of a guest.
            format!("{READ}tsc\nroot@kvm1:~# virsh console web3\nweb3 login:\n{READ}tsc\n"),
            // Without a name, a prompt may be the guest's.
            format!("# cat /proc/cmdline\nquiet\n# virsh console web3\n{BOOT}# dmesg\n"),
            // Other commands.
            format!("{READ}tsc\nroot@kvm1:~# virsh list\n{BOOT}{READ}tsc\n"),
            format!("{READ}tsc\nroot@kvm1:~# dmesg\n{BOOT}"),
            // The sessions of two hosts.
            format!("{READ}tsc\nroot@kvm2:~# virsh console web3\n{BOOT}"),
        ] {
            is(&text, &[]);
        }
    }

    #[test]
    fn log_of_another_boot_or_of_a_file_is_apart_from_the_session_that_prints_it() {
        let wanted = [(Some("kvm1"), "1-2, 6-7"), (None, "3-5")];
        let of = |command: &str, name: &str| {
            format!(
                "{READ}{name}\nroot@kvm1:~# {command}\n{BOOT}root@kvm1:~# uptime\n 22:41 up 2 days\n"
            )
        };
        for command in
            ["journalctl -k -b -1", "cat /mnt/var/log/dmesg", "cat /sys/fs/pstore/dmesg-1"]
        {
            // Whether it agrees with the file or not: it is of another boot.
            is(&of(command, "tsc"), &wanted);
            is(&of(command, "hpet"), &wanted);
        }
        for command in ["zcat /var/log/kern.log.2.gz", "cat old.txt", "docker logs a", "cat <<E"] {
            is(&of(command, "tsc"), &wanted);
            // It may be the reason.
            is(&of(command, "hpet"), &[]);
        }
        for command in ["dmesg", "journalctl -k -b", "journalctl -b 0", "cat /var/log/kern.log"] {
            is(&of(command, "tsc"), &[]);
        }
        // One line of it is enough, and so is the log of now in place of the file.
        let line = BOOT.split_inclusive('\n').next().unwrap_or_default();
        let old = format!("root@kvm1:~# zgrep -i tsc old.gz\n{line}");
        is(&format!("{READ}tsc\n{old}"), &[(Some("kvm1"), "1-2"), (None, "3-4")]);
        is(&format!("root@kvm1:~# dmesg\n{OWN}{old}"), &[(Some("kvm1"), "1-3"), (None, "4-5")]);
        // Without another reading it is all that is known.
        is(&format!("root@kvm1:~# uptime\n 22:41 up 2 days\n{old}"), &[]);
    }

    #[test]
    fn log_of_another_boot_is_older_than_the_reading() {
        let older = |text: &str| {
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            super::super::older(&consoles(&lines), &lines, &vec![0; lines.len()])
        };
        let log = format!("root@kvm1:~# journalctl -k -b -1\n{BOOT}");
        assert_eq!(older(&format!("{READ}tsc\n{log}")), [false, true]);
        let other = log.replace("journalctl -k -b -1", "ssh web3 dmesg");
        assert_eq!(older(&format!("{READ}tsc\n{other}")), [false, false]);
    }
}
