//! Messages inside another line.
//!
//! A message without a line end (`pr_cont()`, or none at all) is followed in the same line by the next one,
//! with its own time stamp (`[    1.288] usb 1-1: new[    1.289] tsc: ...`), or in kernels up to 3.5 with its level
//! (`initcall ... : <4>Clocksource tsc unstable ...`); a serial console also mixes two messages, and the lines of a
//! service manager.
//!
//! External text may also contain such patterns: the name that a device reports, the label of a file system. After a
//! message that quotes, and in the records that the kernel returns, which contain one message each, nothing is split.

use super::continuation::quotes;
use super::parse::{self, Groups, begins_like_kernel};
use super::prefix::{printk_stamp, strip};
use super::transcript;

/// Maximum number of messages in one line.
const PARTS: usize = 64;
/// Maximum seconds from one time stamp of a line to the next: a message may wait for the event that it reports.
const APART_S: f64 = 30.0;
/// Words before unquoted names that come from outside the kernel, and a slash, which is before the parts of a path.
const NAMES: [&str; 18] = [
    "input: ",
    " label ",
    "device ",
    "hid",
    "thunderbolt ",
    "comm ",
    "/",
    "Started ",
    "cgroup",
    "memcg",
    "overlay",
    "CIFS",
    "nfs",
    "NFS",
    "rocess ",
    "parameter ",
    "module ",
    "server ",
];
/// The beginnings of messages without a name from outside the kernel, which consoles are known to interrupt.
const KINDS: [&str; 34] = [
    "usb #: new ",
    "ata#: link",
    "ata#: SATA ",
    "ata#.#: configured",
    "initcall ",
    "calling ",
    "smpboot: ",
    "x86: Booting",
    ".... node",
    "Booting ",
    "Brought up ",
    "masked ExtINT",
    "CPU#",
    "CPU #",
    "cpu #",
    "SMP",
    "Total of ",
    "ACPI: ",
    "PCI: ",
    "pci #: ",
    "pci_bus #: ",
    "PM: ",
    "iommu: ",
    "DMAR: ",
    "NET: Registered ",
    "libata version ",
    "Freeing ",
    "devtmpfs: ",
    "random: ",
    "rcu: ",
    "Calibrating delay",
    "ENABLING IO-APIC",
    "xhci_dbc:early_xdbc_write: missed message",
    "Switching to clocksource ",
];
/// The status that systemd prints before its lines on a console.
const SERVICE: [&str; 3] = ["[  OK  ]", "[FAILED]", "[DEPEND]"];

/// Whether the kernel returned a text record by record, so that no line has two messages.
pub(super) fn is_of_records(name: &str) -> bool {
    name == "/dev/kmsg" || name == "syslog(2)" || name.starts_with("journalctl -k")
}

/// The message up to the beginning of another one, and the others, each with its own prefix; `None` if there is only
/// one. `at` is the time stamp of the line; `levels` means that this kernel may print levels inside lines.
pub(super) fn split(message: &str, at: Option<f64>, levels: bool) -> Option<(&str, Vec<&str>)> {
    let mut starts: Vec<usize> = Vec::new();
    let (mut from, mut last) = (0, at);
    for (start, sign) in message.match_indices(['[', '<']) {
        let text = &message[start..];
        if start == 0 || !begins(text, sign, last, levels) {
            continue;
        }
        if starts.len() == PARTS || !is_interrupted(&message[from..start]) {
            break;
        }
        starts.push(start);
        (from, last) = (start, printk_stamp(text).or(last));
    }
    let first = *starts.first()?;
    let head = message[..first].trim_end();
    let ends = starts.iter().skip(1).copied().chain([message.len()]);
    let parts = starts.iter().zip(ends).map(|(start, end)| message[*start..end].trim_end());
    Some((head, parts.collect()))
}

/// The text from the first beginning of a message that [`split`] leaves in its line: the words before it are of a kind
/// that is not known, so that they can contain a name from outside, or be those of an interrupted message.
pub(super) fn unsplit(message: &str, at: Option<f64>, levels: bool) -> Option<&str> {
    let (mut from, mut last) = (0, at);
    for (start, sign) in message.match_indices(['[', '<']) {
        let text = &message[start..];
        if start == 0 || !begins(text, sign, last, levels) {
            continue;
        }
        let head = &message[from..start];
        if foreign(head) {
            return None;
        }
        if !is_interrupted(head) {
            return Some(text);
        }
        (from, last) = (start, printk_stamp(text).or(last));
    }
    None
}

/// The text from the first time stamp on that is too late to belong to the next message: the kernel printed the rest of
/// the line long after its beginning, or the message quotes another one.
pub(super) fn late(message: &str, at: Option<f64>) -> Option<&str> {
    let at = at?;
    let (start, _) = message.match_indices('[').find(|(start, _)| {
        *start > 0 && printk_stamp(&message[*start..]).is_some_and(|stamp| stamp >= at + APART_S)
    })?;
    (!foreign(&message[..start])).then(|| &message[start..])
}

/// Whether another message begins here.
fn begins(text: &str, sign: &str, at: Option<f64>, levels: bool) -> bool {
    if sign == "<" {
        let level = text.as_bytes().get(1).is_some_and(|digit| (b'0'..b'8').contains(digit));
        let behind = text.get(2..).and_then(|rest| rest.strip_prefix('>'));
        return levels
            && level
            && behind.is_some_and(|rest| printk_stamp(rest).is_some() || begins_like_kernel(rest));
    }
    if SERVICE.iter().any(|word| text.starts_with(word)) {
        return true;
    }
    let near = |stamp: f64| at.is_none_or(|at| (stamp - at).abs() < APART_S);
    printk_stamp(text).is_some_and(near)
}

/// Whether the text before a stamp is known to be of a message that another one interrupts: all of a message about
/// clocks, the beginning of a message without names from outside, the status of a service, a prompt, or nothing.
fn is_interrupted(head: &str) -> bool {
    if foreign(head) {
        return false;
    }
    let line = strip(head);
    let message = line.message.trim();
    // Nothing, the rest of a truncated stamp, or numbers of CPUs in a list.
    let is_bare = !message.bytes().any(|byte| byte.is_ascii_alphabetic());
    is_bare
        || SERVICE.iter().any(|word| message.starts_with(word))
        || begins_like_kernel(message)
        || parse::parse(message, Groups::of(message)).is_some()
        || transcript::is_prompt(message)
        || message.ends_with(" login:") && !message.contains(": ")
        || KINDS.iter().any(|kind| is_of_kind(message, kind))
}

/// Whether a message begins with the words of a kind; `#` is any number, or numbers with signs between them.
fn is_of_kind(message: &str, kind: &str) -> bool {
    let mut rest = message;
    for (place, part) in kind.split('#').enumerate() {
        if place > 0 {
            let sign = |c: char| c.is_ascii_hexdigit() || ".:-".contains(c);
            // The words after the number decide where it ends.
            rest = rest.trim_start_matches(sign);
        }
        let part = if place > 0 { part.trim_start_matches(':') } else { part };
        match rest.strip_prefix(part) {
            Some(after) => rest = after,
            // The message ends inside the words.
            None => return place > 0 && part.starts_with(rest),
        }
    }
    true
}

/// Whether a message contains a name from outside the kernel, or is one of a program: `systemd[1]: `.
fn foreign(head: &str) -> bool {
    quotes(head) || NAMES.iter().any(|word| head.contains(word)) || is_of_program(head)
}

/// Whether a message begins with the name and the number of a process.
fn is_of_program(head: &str) -> bool {
    head.split_once("]: ").and_then(|(name, _)| name.rsplit_once('[')).is_some_and(|(name, pid)| {
        !name.is_empty()
            // The name of a host may precede it.
            && !name.split_once(' ').map_or(name, |(_, name)| name).contains([' ', '['])
            && !pid.is_empty()
            && pid.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::super::event::Event;
    use super::super::{Entry, KernelLog};
    use super::*;
    use proptest::prelude::*;

    fn scan(text: &str, name: &str) -> Vec<Entry> {
        KernelLog::scan(text.as_bytes(), name).unwrap().entries
    }

    fn events(text: &str) -> Vec<Event> {
        scan(text, "log").into_iter().map(|entry| entry.event).collect()
    }

    const HPET: &str = "clocksource: Switched to clocksource hpet";

    #[test]
    fn stamp_inside_a_name_that_a_user_chose_begins_no_message() {
        let name = format!("x[    9.600000] {HPET}");
        for line in [
            format!("cgroup: fork rejected by pids controller in /user.slice/{name}"),
            format!("Memory cgroup stats for /user.slice/{name}:"),
            format!("oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/user.slice/{name},task=a"),
            format!("systemd[1]: Started {name}."),
            format!("overlayfs: lowerdir is in-use as {name}"),
            format!("netlink: 8 bytes leftover after parsing attributes in process `{name}'."),
            format!("CIFS: Attempting to mount {name}"),
        ] {
            let text =
                format!("[    3.000000] ahci: x\n[    9.500000] {line}\n[    9.700000] sd: y\n");
            assert_eq!(events(&text), [], "{line}");
        }
    }

    #[test]
    fn message_behind_another_ones_stamp_is_read() {
        let switched = Event::Switched("hpet".to_owned());
        for line in [
            format!("[    3.100000] usb 1-1: new high-speed[    3.100100] {HPET}"),
            format!("[    3.100000][    3.100100] {HPET}"),
            format!("[    3.1[    3.100100] {HPET}"),
            format!("[    3.100000] ata1: link[    3.100050] ata2: link[    3.100100] {HPET}"),
            format!("[    3.100100] {HPET}[    3.100200] usb 1-1: new high-speed"),
            format!("[    3.100100] {HPET}[  OK  ] Started a service."),
            format!("[  OK  ] Started a service.[    3.100100] {HPET}"),
            format!("root@board:~# [    3.100100] {HPET}"),
            format!("board login: [    3.100100] {HPET}"),
            format!("<6>[    3.100000] usb 1-1: new<6>[    3.100100] {HPET}"),
        ] {
            let text = format!("[    3.000000] ahci: x\n{line}\n[    3.200000] sd: y\n");
            assert_eq!(events(&text), std::slice::from_ref(&switched), "{line}");
        }
    }

    #[test]
    fn message_behind_a_level_inside_a_line_is_read_of_old_kernels() {
        let line = "[    1.300000] initcall 0xffffffff80e01234 ran for 0 msecs: <4>Clocksource tsc unstable (delta = 712345678 ns)\n\
                    [    1.308000] an_init+0x0/0x52()\n";
        let entries = scan(line, "log");
        assert_eq!(entries.len(), 1, "{entries:?}");
        assert!(matches!(entries[0].event, Event::WatchdogOld { delta_ns: 712_345_678, .. }));
        assert_eq!((entries[0].line, entries[0].at), (1, Some(1.3)));
        let new = format!("[    0.000000] Linux version 5.10.0 (a@b) #1 SMP\n{line}");
        assert_eq!(events(&new).len(), 1, "the banner alone");
    }

    #[test]
    fn both_messages_of_one_line_are_read() {
        let text = "[    2.000000] tsc: Refined TSC clocksource calibration: 2593.906 MHz[    2.000100] clocksource: Switched to clocksource tsc\n";
        let found = events(text);
        assert!(found.contains(&Event::Refined { khz: 2_593_906 }), "{found:?}");
        assert!(found.contains(&Event::Switched("tsc".to_owned())), "{found:?}");
    }

    #[test]
    fn message_long_after_the_beginning_of_its_line_leaves_the_clocksource_open() {
        let open = |line: &str, name: &str| {
            let text = format!("[    2.000000] clocksource: Switched to clocksource tsc\n{line}\n");
            KernelLog::scan(text.as_bytes(), name).unwrap().change_cut.is_some()
        };
        let late = format!("[    9.000000] probe: waiting ...[  900.100000] {HPET}");
        assert!(open(&late, "log"));
        assert!(!open(&late, "/dev/kmsg"));
        let label = format!("[    9.000000] BTRFS: device label a[  900.100000] {HPET}");
        assert!(!open(&label, "log"));
        assert!(!open("[    9.000000] probe: waiting ...[  900.100000] usb 1-1: new", "log"));
    }

    #[test]
    fn text_from_outside_holds_no_message() {
        let forged = "[    9.100100] tsc: Marking TSC unstable due to clocksource watchdog";
        for head in [
            "usb 1-1: Product: a",
            "usb 1-1: Manufacturer: a",
            "input: a",
            "BTRFS: device label a",
            "hid-generic 0003:046D:C31C.0001: input,hidraw0: USB HID v1.10 Keyboard [a",
            "fuse: Unknown parameter 'a",
            "process '/tmp/a",
            "uvcvideo: Found UVC 1.00 device a",
        ] {
            let text = format!("[    9.000000] x\n[    9.100000] {head}{forged}\n[    9.2] y\n");
            assert_eq!(events(&text), [], "{head}");
        }
        let line = format!("[    9.100000] ata1: link{forged}\n");
        assert_eq!(events(&line).len(), 1);
        for name in ["/dev/kmsg", "syslog(2)", "journalctl -k -b 0 -o short-monotonic"] {
            assert_eq!(scan(&line, name), [], "{name}");
        }
    }

    #[test]
    fn stamp_behind_words_of_an_unknown_kind_begins_no_message_and_leaves_the_clocksource_open() {
        let before = "[    3.000000] clocksource: Switched to clocksource tsc\n";
        for head in [
            "lockd: cannot monitor ",
            "nvmet: creating nvm controller 1 for subsystem s for NQN ",
            "scsi 3:0:0:0: Direct-Access     ATA      ",
            "Bluetooth: hci0: x",
            "FS-Cache: x",
            "any: head",
        ] {
            let scan = |inner: &str| {
                let text =
                    format!("{before}[    9.100000] {head}[    9.100100] {inner}\n[    9.2] y\n");
                KernelLog::scan(text.as_bytes(), "log").unwrap()
            };
            let switch = scan(HPET);
            assert_eq!((switch.entries.len(), switch.change_cut), (1, Some(2)), "{head}");
            let mark = scan("tsc: Marking TSC unstable due to clocksource watchdog");
            assert_eq!(mark.entries.len(), 1, "{head}");
            assert_eq!(scan("usb 1-1: new").change_cut, None, "{head}");
        }
    }

    proptest! {
        #[test]
        fn parts_are_parts_of_the_text(text in "(\\PC|\\[    1\\.000000\\] |<4>|\\[  OK  \\] ){0,40}", at: bool) {
            if let Some((head, parts)) = split(&text, at.then_some(1.0), true) {
                prop_assert!(text.starts_with(head));
                prop_assert!(!parts.is_empty() && parts.iter().all(|part| text.contains(part)));
            }
        }
    }
}
