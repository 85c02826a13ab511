//! Separates the console of a guest from the session of its host: the lines that follow a command which opens the
//! console, up to the host's next prompt.

use super::{Section, prompt};
use crate::log::strip_prefix;

/// Maximum number of consoles in one session.
const CONSOLES: usize = 16;

/// An open console.
struct Console<'a> {
    /// The guest, if the command names it.
    guest: Option<String>,
    /// The host in the prompt before the command.
    host: &'a str,
    begin: usize,
}

/// The session of a host and the consoles of its guests. Empty if the text has no console with kernel messages, has
/// nothing about the host, or has the sessions of several hosts.
pub(super) fn consoles(lines: &[String]) -> Vec<Section> {
    let mut host: Option<&str> = None;
    let mut session = Section::default();
    let mut guests: Vec<Section> = Vec::new();
    let mut open: Option<Console<'_>> = None;
    let mut begin = 0;
    for (number, line) in lines.iter().enumerate() {
        let Some((command, named)) = prompt::read(line).and_then(|p| Some((p.command, p.host?)))
        else {
            continue;
        };
        if let Some(console) = &open {
            if named != console.host {
                continue;
            }
            close(console, number, lines, &mut session, &mut guests);
            open = None;
            begin = number;
        }
        // Which of several hosts runs the guest is another question.
        if host.is_some_and(|host| host != named) || guests.len() > CONSOLES {
            return Vec::new();
        }
        host = Some(named);
        if let Some(guest) = opened(command) {
            session.add(begin, number + 1);
            open = Some(Console { guest, host: named, begin: number + 1 });
        }
    }
    match open {
        Some(console) => close(&console, lines.len(), lines, &mut session, &mut guests),
        None => session.add(begin, lines.len()),
    }
    let tells = |section: &Section| {
        section.lines.iter().any(|(from, to)| lines[*from..*to].iter().any(|line| is_told(line)))
    };
    if guests.is_empty() || !tells(&session) {
        return Vec::new();
    }
    session.host = host.map(str::to_owned);
    guests.insert(0, session);
    guests
}

/// Ends a console: without a kernel message in it, its lines are the host's.
fn close(
    console: &Console<'_>,
    end: usize,
    lines: &[String],
    session: &mut Section,
    guests: &mut Vec<Section>,
) {
    if !lines[console.begin..end].iter().any(|line| strip_prefix(line).1) {
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

/// Whether a line shows something of a machine's clocksource: a kernel message, or the output of a command about it.
fn is_told(line: &str) -> bool {
    strip_prefix(line).1 || super::has(line, "clocksource")
}

/// The guest, if a command opens its console: `Some(None)` if the command does not name it. The console may also be the
/// serial one of a board.
fn opened(command: &str) -> Option<Option<String>> {
    const QEMU: [&str; 6] =
        ["qemu-system-", "qemu-kvm", "kvm", "firecracker", "cloud-hypervisor", "lkvm"];
    const SERIAL: [&str; 4] = ["minicom", "picocom", "tio", "cu"];
    let command = command.trim();
    let command = command.strip_prefix("sudo ").unwrap_or(command).trim_start();
    let mut words = command.split_ascii_whitespace();
    let program = words.next()?;
    let program = program.rsplit('/').next().unwrap_or(program);
    let words: Vec<&str> = words.collect();
    let has = |wanted: &str| words.contains(&wanted);
    let last = || words.iter().rev().find(|word| !word.starts_with('-'));
    let named = || last().map(|name| (*name).to_owned());
    match program {
        "virsh" if has("console") || has("--console") => {
            let verb = words.iter().position(|word| ["console", "start"].contains(word))?;
            let name = words[verb + 1..].iter().find(|word| !word.starts_with('-'));
            Some(name.map(|name| (*name).to_owned()))
        }
        "xl" | "xm" | "lxc" | "incus" if words.first() == Some(&"console") => Some(named()),
        "xl" | "xm" if words.first() == Some(&"create") && has("-c") => Some(None),
        "qm" if words.first() == Some(&"terminal") => Some(named()),
        "screen" if words.first().is_some_and(|device| device.starts_with("/dev/tty")) => {
            Some(None)
        }
        _ if SERIAL.contains(&program) => Some(None),
        _ if QEMU.iter().any(|name| program.starts_with(name)) => Some(None),
        _ => None,
    }
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
}
