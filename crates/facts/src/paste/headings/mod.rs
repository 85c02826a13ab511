//! Separates the machines of one text by headings: `Guest:` and `Host:`, `On 6.8:` and `On 6.1:` and the
//! headings of programs that run a command on many machines.

mod one;

use super::{Section, is_whole_log, owner};
use crate::names;
use one::Of;
pub(super) use one::of_tool;
use std::collections::HashSet;

/// Maximum number of sections; a text with more has other headings.
const SECTIONS: usize = 8;
/// Maximum number of headings that are compared; a text with more also has other ones.
const HEADINGS: usize = 256;

/// Words in lines that show the clocksource in use.
const TELLING: [&str; 5] = [
    "to clocksource ",
    "clocksource has been installed",
    "current_clocksource",
    "Marking TSC unstable",
    "Marking clocksource",
];

/// Separates the parts of a text with headings for different machines or states. Empty if fewer than two parts show a
/// clocksource, if a part without a heading does, and for documents, which show examples.
#[must_use]
pub fn headed(lines: &[String]) -> Vec<Section> {
    parts(
        lines,
        !is_whole_log(lines) && !lines.iter().any(|line| line.trim_start().starts_with("```")),
    )
}

/// The two states of a machine, below a heading `Before the update:` and from one with `After` on, if both show a
/// clocksource.
#[must_use]
pub fn in_time(lines: &[String]) -> Vec<Section> {
    let Some(before) = owner::before_change(lines) else { return Vec::new() };
    let halves = [(0, before.end), (before.end, lines.len())];
    let tells = |(from, to): (usize, usize)| {
        lines[from..to].iter().any(|line| TELLING.iter().any(|word| super::has(line, word)))
    };
    if !halves.into_iter().all(tells) {
        return Vec::new();
    }
    halves.into_iter().map(|half| Section { host: None, lines: vec![half] }).collect()
}

/// The reason why a document with lines under headings for different machines is not of a single one, as the end of a
/// sentence.
pub(super) fn several(lines: &[String]) -> Option<String> {
    let found = if is_whole_log(lines) { Vec::new() } else { parts(lines, true) };
    let [first, second, ..] = found.as_slice() else { return None };
    let name = |section: &Section| section.host.clone().unwrap_or_default();
    Some(format!(
        "this text has lines under headings for several machines or states ({}, {}), and an answer holds for one: give \
         the lines of one",
        name(first),
        name(second)
    ))
}

/// The parts under headings; `by_people`: also under headings that users write.
fn parts(lines: &[String], by_people: bool) -> Vec<Section> {
    let mut found: Vec<(Section, Of)> = vec![(Section::default(), Of::default())];
    let mut active = 0;
    let mut begin = 0;
    for (number, line) in lines.iter().enumerate() {
        let short = one::read(line).filter(|(_, of)| by_people || of.is_of_a_program());
        let Some((name, of)) = short.or_else(|| one::of_log(lines, number)) else { continue };
        found[active].0.add(begin, number);
        begin = number;
        let known = found.iter().skip(1).position(|(_, known)| !known.differs(&of));
        active = known.map_or_else(
            || {
                found.push((Section { host: Some(name), ..Section::default() }, of));
                found.len() - 1
            },
            |place| place + 1,
        );
        if found.len() > HEADINGS {
            return Vec::new();
        }
    }
    found[active].0.add(begin, lines.len());
    let telling = |section: &Section| {
        let all = section.lines.iter().flat_map(|(from, to)| &lines[*from..*to]);
        let mut below_host = false;
        let telling = all.filter(|line| {
            // A name alone after the heading of a host is the content of a sysfs file on that host; the command that
            // printed it runs on all hosts.
            let is_answer = below_host && names::is_known(line.trim());
            below_host = of_tool(line.trim()).is_some();
            is_answer || !asks_many(line) && TELLING.iter().any(|word| super::has(line, word))
        });
        telling.map(|line| line.trim()).collect::<Vec<&str>>()
    };
    // An author's quotation of another author is not evidence of the first one's machine.
    let mut told: HashSet<&str> = HashSet::new();
    found.retain(|(section, of)| {
        let lines = telling(section);
        let tells = lines.iter().any(|line| of.author.is_none() || !told.contains(line));
        told.extend(lines);
        tells
    });
    let parts = found.iter().filter(|(_, of)| of.file.is_some() || of.author.is_some()).count();
    if parts < 2 && found.first().is_some_and(|(_, of)| *of == Of::default()) {
        return Vec::new();
    }
    if let [(_, first), (_, second)] = found.as_slice()
        && (first.time, second.time) == (Some(0), Some(1))
        && !first.is_of_another(second)
    {
        return Vec::new();
    }
    let sections: Vec<Section> = found.into_iter().map(|(section, _)| section).collect();
    if (2..=SECTIONS).contains(&sections.len()) { sections } else { Vec::new() }
}

/// Whether a line is the command of a program that runs another one on many machines.
fn asks_many(line: &str) -> bool {
    const PROGRAMS: [&str; 6] = ["ansible ", "pssh ", "parallel-ssh ", "pdsh ", "clush ", "salt "];
    PROGRAMS.iter().any(|program| super::has(line, program))
}

#[cfg(test)]
mod tests_of_parts {
    use super::*;

    fn shown(text: &str) -> Vec<(Option<String>, String)> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        headed(&lines).iter().map(|one| (one.host.clone(), one.shown())).collect()
    }

    const TSC: &str = "[    1.910000] clocksource: Switched to clocksource tsc\n";
    const FRONT: &str = "[    0.910000] clocksource: Switched to clocksource tsc-early\n";
    const HPET: &str = "[ 5000.120000] clocksource: Switched to clocksource hpet\n";

    #[test]
    fn writers_machine_and_that_of_another_person_are_two() {
        for (one, two) in [
            ("my machine:", "his machine:"),
            ("mine:", "my friend's box:"),
            ("On mine:", "Bob's dmesg:"),
            ("Our server:", "their server:"),
            ("## My log", "## Her log"),
        ] {
            assert_eq!(shown(&format!("{one}\n{HPET}\n{two}\n{TSC}")).len(), 2, "{one} {two}");
            assert_eq!(shown(&format!("{one}\n{HPET}\n{one}\n{TSC}")).len(), 0, "{one}");
        }
        for one in ["my guess:", "What's in the log:", "mine is slow:", "the kernel's log:"] {
            assert_eq!(shown(&format!("my machine:\n{HPET}\n{one}\n{TSC}")).len(), 0, "{one}");
        }
    }

    #[test]
    fn files_and_authors_are_parts_of_their_own() {
        for (one, two) in [
            ("==> bad/dmesg.txt <==", "==> good/dmesg.txt <=="),
            (
                "Content-Type: text/plain; name=\"dmesg-bad.txt\"",
                "Content-Disposition: attachment; filename=\"dmesg-good.txt\"",
            ),
            ("joe \u{b7} description \u{b7} 2024-01-01\n```", "```\nann \u{b7} comment\n```"),
            ("@joe commented on Jan 1", "@ann commented 2 days ago"),
        ] {
            let text = format!("{one}\n{HPET}\n{two}\n{TSC}");
            assert_eq!(shown(&text).len(), 2, "{text}");
            // The same name again.
            assert_eq!(shown(&format!("{one}\n{HPET}{one}\n{TSC}")).len(), 0, "{text}");
            // Users quote each other.
            let parts = if one.contains("joe") { 0 } else { 2 };
            assert_eq!(shown(&format!("{one}\n{TSC}{two}\n{TSC}")).len(), parts, "{text}");
            // After the beginning of the mail or the issue.
            assert_eq!(shown(&format!("On it:\n{FRONT}{text}")).len(), 3, "{text}");
        }
        let logs = format!("==> /var/log/kern.log.1 <==\n{HPET}==> /var/log/kern.log <==\n{TSC}");
        assert!(shown(&logs).is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(Option<String>, String)> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        headed(&lines).into_iter().map(|one| (one.host.clone(), one.shown())).collect()
    }

    #[test]
    fn parts_under_headings_of_machines_or_kernels_are_told_apart() {
        let line = |at: &str, name: &str| {
            format!("[    {at}] clocksource: Switched to clocksource {name}\n")
        };
        for [first, second] in [
            ["Guest:", "Host:"],
            ["Host dmesg:", "dmesg of the VM:"],
            ["### dom0", "### domU"],
            ["On 6.8:", "On 6.1 it works:"],
            ["**Old server:**", "**New server:**"],
            ["Server A (fast):", "Server B (slow):"],
            ["Bad boot:", "Good boot:"],
            ["### 6.8.4 (slow)", "### 6.1.76 (fast)"],
            ["host1:", "host2:"],
            ["new", "before"],
            ["After:", "Before:"],
            ["Now", "Then"],
            ["good", "bad"],
            ["[old]", "[new]"],
            ["patched", "unpatched"],
            ["6.8.4", "6.1.76"],
            ["5.15.0-91-generic", "5.4.0-100-generic"],
            ["v6.8:", "v6.1:"],
            ["6.8:", "6.9:"],
            ["with patch:", "without patch:"],
            ["Without the patch", "With the patch"],
            ["### With this series applied", "### vanilla"],
            ["v1:", "v2:"],
            ["dmesg of v2:", "dmesg of v3:"],
            ["My laptop:", "The Raspberry Pi next to it:"],
            ["On the host:", "In the guest:"],
            ["$ ssh web1 dmesg | grep clocksource", "$ ssh -p 22 root@db2 'dmesg'"],
            ["web1 | CHANGED | rc=0 >>", "web2 | CHANGED | rc=0 >>"],
            ["[1] 01:00:00 [SUCCESS] web1", "[2] 01:00:01 [SUCCESS] web2"],
        ] {
            let text = format!(
                "{first}\n{}{second}\n{}",
                line("0.200000", "kvm-clock"),
                line("0.600000", "tsc")
            );
            let found = found(&text);
            assert_eq!(found.len(), 2, "{first}");
            assert_eq!(found[0].1, "1-2");
            // A document that shows both.
            let fenced: Vec<String> =
                text.lines().flat_map(|line| [line.to_owned(), "```".to_owned()]).collect();
            assert!(several(&fenced).is_some(), "{first}");
        }
        let again = format!(
            "Host:\n{}Host lscpu:\nx\nGuest:\n{}Host:\ny\n",
            line("0.2", "tsc"),
            line("0.3", "xen")
        );
        assert_eq!(
            found(&again).iter().map(|one| one.1.as_str()).collect::<Vec<_>>(),
            ["1-4, 7-8", "5-6"]
        );
    }

    #[test]
    fn answers_of_many_hosts_are_told_apart() {
        let text = "$ ansible db -m command -a 'cat /sys/devices/system/clocksource/clocksource0/current_clocksource'\n\
                    db1 | CHANGED | rc=0 >>\ntsc\ndb2 | CHANGED | rc=0 >>\nhpet\n";
        let hosts: Vec<Option<String>> = found(text).into_iter().map(|(host, _)| host).collect();
        assert_eq!(hosts, [Some("db1".to_owned()), Some("db2".to_owned())]);
    }

    #[test]
    fn headings_right_above_a_log_are_read_in_long_texts() {
        let log = |name: &str| {
            let lines =
                (0..100).map(|at| format!("[    0.{:06}] pci 0000:00:{at:02x}.0: x\n", at * 9));
            format!(
                "{}[    1.8] clocksource: Switched to clocksource {name}\n",
                lines.collect::<String>()
            )
        };
        let of = |first: &str, second: &str| {
            let text = format!("Hi\n\n{first}\n{}\n{second}\n\n{}", log("tsc"), log("xen"));
            found(&text).into_iter().map(|(_, lines)| lines).collect::<Vec<_>>()
        };
        for (first, second) in [
            (
                "dmesg from dom0, which has the disks (and the network):",
                "dmesg from domU with the file server:",
            ),
            (
                "Here is the dmesg output of the host, with 6.1:",
                "And here is the dmesg from inside the virtual machine:",
            ),
        ] {
            assert_eq!(of(first, second), ["3-105", "106-208"], "{first}");
        }
        for (first, second) in [
            // Of both, and of the same one.
            (
                "Here is the dmesg of the VM on the host:",
                "And here is the dmesg of the host again:",
            ),
            ("I have started the guest on the host:", "The guest then shows this:"),
        ] {
            assert!(of(first, second).is_empty(), "{first}");
        }
    }

    #[test]
    fn states_before_and_after_a_change_are_told_apart() {
        let line = |at: &str, name: &str| {
            format!("[   {at}] clocksource: Switched to clocksource {name}\n")
        };
        let of = |text: &str| {
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            in_time(&lines).iter().map(Section::shown).collect::<Vec<_>>()
        };
        let (old, new) = (line("10.1", "hpet"), line("1.9", "tsc"));
        let text = format!("x\nBefore the BIOS update:\n\n{old}\nAfter the BIOS update:\n\n{new}");
        assert_eq!(of(&text), ["1-5", "6-8"]);
        for other in [
            format!("Before:\n{old}After:\nnothing\n"),
            format!("After:\n{new}Before:\n{old}"),
            format!("{old}{new}"),
        ] {
            assert!(of(&other).is_empty(), "{other}");
        }
    }

    #[test]
    fn other_headings_tell_nothing_apart() {
        let line = "[    0.600000] clocksource: Switched to clocksource tsc\n";
        for text in [
            format!("Before:\n{line}After:\n{line}"),
            format!("Host:\n{line}Guest:\nnothing\n"),
            format!("Before\n{line}Now:\n{line}"),
            format!("6.1\n{line}6.2\n{line}"),
            format!("bad luck\n{line}good\n{line}"),
            format!("with care\n{line}without the noise\n{line}"),
            format!("v1\n{line}v2\n{line}"),
            format!("6.8 or 6.9:\n{line}6.7:\nnothing\n"),
            format!("Linux host: x\n{line}[    1.000000] vm: guest:\n{line}"),
        ] {
            assert!(found(&text).is_empty(), "{text}");
        }
    }
}
