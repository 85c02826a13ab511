//! Separates the machines of one log by the host before each line: the journal of several machines, the
//! file of a server that collects logs, the output of a log store.

use super::table::Column;
use super::{Section, prompt};
use crate::log::{Host, banner, host_of, strip_prefix, times};

/// Maximum number of separated hosts; for a text with more, one name more than this is returned.
pub const HOSTS: usize = 64;
/// Number of lines of a run in which a boot must begin.
const HEAD: usize = 8;
/// Lines before a run that are searched for the line by which systemd reports the name that it sets.
const NAMED_WITHIN: usize = 64;
/// Maximum seconds since boot of a boot's first lines.
const BEGIN: f64 = 0.5;
/// Maximum seconds by which the time stamps of neighbouring lines are out of order.
const DISORDER: f64 = 1.0;
/// Seconds within which a boot continues after a change of its name, if lines have only dates.
const GOES_ON_WITHIN: f64 = 120.0;
/// Seconds of uptime within which the clock is set; later, the moment of the boot (date minus time stamp) does not
/// change by more than `MOVES`.
const SET_BY: f64 = 120.0;
/// Seconds by which the moment of one boot may change; see `SET_BY`.
const MOVES: f64 = 300.0;

/// Words of commands and outputs about the clock of a machine, or about its kernel.
const TELLING: [&str; 8] =
    ["clock", "tsc", "hpet", "dmesg", "journalctl", "/proc/", "/sys/", "uname"];

/// Consecutive lines of one host.
#[derive(Clone, Copy, Debug)]
struct Run {
    host: usize,
    begin: usize,
    end: usize,
    first: (Option<f64>, Option<f64>),
    last: (Option<f64>, Option<f64>),
    /// Whether a boot begins with it.
    boots: bool,
    /// Whether systemd reports right before it that the machine gets this name.
    is_set: bool,
    /// Whether a program of the machine reports there that its name changed to this one.
    is_changed: bool,
    /// Number of kernel lines in it.
    lines: usize,
}

/// The relation of a run to the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The lines continue one boot.
    Smooth,
    /// A boot begins.
    Boot,
    Other,
}

/// Separates the hosts of a text whose lines name them. Empty for a text of one machine, which may change its name when
/// its boot reads it.
#[must_use]
pub fn hosts(lines: &[String]) -> Vec<Section> {
    let mut names: Vec<&str> = Vec::new();
    let column = Column::find(lines);
    let mut found: Vec<Option<Host<'_>>> = lines
        .iter()
        .enumerate()
        .map(|(number, line)| {
            column.and_then(|column| column.host(number, line)).or_else(|| host_of(line))
        })
        .collect();
    leave_out_devices(lines, &mut found);
    let named = |names: &[&str]| {
        let section =
            |name: &&str| Section { host: Some((*name).to_owned()), ..Section::default() };
        names.iter().map(section).collect::<Vec<Section>>()
    };
    for host in found.iter().flatten().filter(|host| host.of_kernel) {
        if !names.contains(&host.name) {
            names.push(host.name);
        }
        if names.len() > HOSTS {
            return named(&names);
        }
    }
    let of_kernel = names.len();
    // The output of another host's shell is not of the host in the log.
    let known = !names.is_empty() && !names.iter().any(|name| is_general(name));
    for (number, line) in lines.iter().enumerate().filter(|_| known) {
        if found[number].is_some() {
            continue;
        }
        let Some(name) = prompt::read(line).and_then(|prompt| prompt.host) else { continue };
        let name = name.split('.').next().unwrap_or(name);
        if is_general(name) || !names.contains(&name) && !tells(lines, &found, number) {
            continue;
        }
        found[number] = Some(Host { name, of_kernel: false });
        if !names.contains(&name) {
            names.push(name);
        }
        if names.len() > HOSTS {
            return named(&names);
        }
    }
    if names.len() < 2 {
        return Vec::new();
    }
    let runs = runs(lines, &found, &names);
    let renamed = |first: usize| is_renamed(&runs, first, names[first]);
    if of_kernel == 2 && names.len() == 2 && (renamed(0) || renamed(1)) {
        return Vec::new();
    }
    let mut sections = named(&names);
    for run in runs {
        sections[run.host].add(run.begin, run.end);
    }
    sections
}

/// Whether a command, or its output, may show something about a machine. Anything else that another machine's shell
/// prints is of no interest, wherever its user ran it, and neither is a sentence after the empty line below it.
fn tells(lines: &[String], found: &[Option<Host<'_>>], prompt: usize) -> bool {
    let has = |line: &str, words: &[&str]| words.iter().any(|word| super::has(line, word));
    let output = (prompt + 1..lines.len())
        .take_while(|number| found[*number].is_none() && prompt::read(&lines[*number]).is_none());
    let mut below = false;
    std::iter::once(prompt).chain(output).any(|number| {
        let line = &lines[number];
        below |= line.trim().is_empty();
        strip_prefix(line).1
            || !below && has(line, &TELLING)
            || super::readers_of(line).next().is_some()
    })
}

/// Removes the text of a console before the time stamp of a line, if most lines begin with their time stamp: a part of
/// another message, such as the name of a device.
fn leave_out_devices(lines: &[String], found: &mut [Option<Host<'_>>]) {
    let is_label = |line: &str, host: &Host<'_>| {
        let rest = line.trim_start().strip_prefix(host.name);
        rest.is_some_and(|rest| rest.starts_with([':', '.', ' ', '\t', '|', '/']))
    };
    let bare = lines
        .iter()
        .zip(found.iter())
        .filter(|(line, host)| host.is_none() && times(line).0.is_some())
        .count();
    let labels = || {
        lines.iter().zip(found.iter()).filter_map(|(line, host)| {
            host.as_ref().filter(|host| is_label(line, host)).map(|host| host.name)
        })
    };
    if labels().count() >= bare {
        return;
    }
    for (line, host) in lines.iter().zip(found.iter_mut()) {
        if host.as_ref().is_some_and(|host| is_label(line, host)) {
            *host = None;
        }
    }
}

/// The runs of the text. A line without a host belongs to the current run.
fn runs(lines: &[String], found: &[Option<Host<'_>>], names: &[&str]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut set: Option<(usize, &str)> = None;
    let mut changed: Option<(usize, &str)> = None;
    for (number, line) in lines.iter().enumerate() {
        set = set_name(line).map(|name| (number, name)).or(set);
        changed = changed_name(line).map(|name| (number, name)).or(changed);
        let host = found[number].and_then(|host| names.iter().position(|name| *name == host.name));
        let of_kernel = found[number].is_some_and(|host| host.of_kernel);
        let now = if of_kernel { times(line) } else { (None, None) };
        match (runs.last_mut(), host) {
            (Some(run), None) => run.end = number + 1,
            (Some(run), Some(host)) if run.host == host => run.end = number + 1,
            (_, Some(host)) => {
                // The lines before the first line with a host belong to it.
                let begin = if runs.is_empty() { 0 } else { number };
                let marked = number.checked_sub(1).is_some_and(|before| {
                    lines[before].starts_with("-- Boot ") || lines[before].starts_with("-- Reboot")
                });
                let none = (None, None);
                let now_at = |report: Option<(usize, &str)>| {
                    let (at, name) = report?;
                    (number - at <= NAMED_WITHIN && name == names[host]).then_some(at)
                };
                // The report of a third machine is of that one.
                let before = runs.last().map_or(host, |run| run.host);
                let is_own = |at: usize| {
                    found[at].is_none_or(|of| [names[host], names[before]].contains(&of.name))
                };
                runs.push(Run {
                    is_set: now_at(set).is_some(),
                    is_changed: now_at(changed).is_some_and(is_own),
                    host,
                    begin,
                    end: number + 1,
                    first: none,
                    last: none,
                    boots: marked,
                    lines: 0,
                });
            }
            (None, None) => {}
        }
        if let Some(run) = runs.last_mut().filter(|_| of_kernel) {
            run.lines += 1;
            run.boots |= run.lines <= HEAD && banner::is(strip_prefix(line).0);
            run.first = (run.first.0.or(now.0), run.first.1.or(now.1));
            run.last = (now.0.or(run.last.0), now.1.or(run.last.1));
        }
    }
    runs
}

/// The name that systemd reports to set: `systemd[1]: Hostname set to <web1>.`
fn set_name(line: &str) -> Option<&str> {
    let (name, _) = line.split_once("Hostname set to <")?.1.split_once('>')?;
    name.split('.').next()
}

/// The name to which the host name of a running machine changed: `systemd-resolved[9]: System hostname changed to 'web1'.`
fn changed_name(line: &str) -> Option<&str> {
    const WORDS: [&str; 6] = [
        "System hostname changed to '",
        "Changed static host name to '",
        "Changed static hostname to '",
        "Changed host name to '",
        "set-hostname: set hostname to '",
        "Setting system hostname to '",
    ];
    // systemd itself reports the name with which a boot begins in these words.
    if let Some((_, rest)) = line.split_once("systemd-hostnamed") {
        let name = rest.split_once("Hostname set to <").and_then(|(_, rest)| rest.split_once('>'));
        if let Some((name, _)) = name {
            return name.split('.').next();
        }
    }
    let rest = WORDS.iter().find_map(|words| line.split_once(words)).map(|(_, rest)| rest)?;
    rest.split_once('\'')?.0.split('.').next()
}

/// General host names, which machines have before they know their own name or without one.
pub(crate) fn is_general(name: &str) -> bool {
    const NAMES: [&str; 26] = [
        "localhost",
        "linux",
        "unknown",
        "initrd",
        "initramfs",
        "dracut",
        "debian",
        "ubuntu",
        "fedora",
        "archlinux",
        "arch",
        "archiso",
        "gentoo",
        "nixos",
        "livecd",
        "buildroot",
        "alpine",
        "opensuse",
        "ubuntu-server",
        "openwrt",
        "void",
        "raspberrypi",
        "host",
        "server",
        "pc",
        "box",
    ];
    NAMES.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Whether each boot begins under the first name and continues under the other one: the name of an initial system, or
/// of the firmware, and then the machine's own. A line shows that a boot begins, or the name is a general one.
fn is_renamed(runs: &[Run], first: usize, name: &str) -> bool {
    let mut of_first = runs.iter().filter(|run| run.host == first);
    if !is_general(name)
        && !of_first.all(|run| run.boots || run.first.0.is_some_and(|at| at < BEGIN))
    {
        return false;
    }
    let steps = || runs.windows(2).map(|pair| (pair[0].host, step(&pair[0], &pair[1])));
    steps().any(|(from, _)| from == first)
        && steps().all(|(from, step)| match from == first {
            true => step == Step::Smooth,
            false => step == Step::Boot,
        })
}

fn step(before: &Run, after: &Run) -> Step {
    let passed = before.last.1.zip(after.first.1).map(|(then, now)| now - then);
    if after.boots {
        return Step::Boot;
    }
    if let Some((then, now)) = before.last.0.zip(after.first.0) {
        if now < BEGIN && now < then {
            return Step::Boot;
        }
        let moved = passed.is_some_and(|passed| (passed - (now - then)).abs() > MOVES);
        return if now + DISORDER < then || now > SET_BY && moved {
            Step::Other
        } else {
            Step::Smooth
        };
    }
    match passed {
        Some(passed) if (0.0..=GOES_ON_WITHIN).contains(&passed) => Step::Smooth,
        Some(passed) if passed >= 0.0 && after.is_changed => Step::Smooth,
        None if after.is_set => Step::Smooth,
        _ => Step::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(String, String)> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let name = |one: &Section| one.host.clone().unwrap_or_default();
        hosts(&lines).iter().map(|one| (name(one), one.shown())).collect()
    }

    #[test]
    fn name_of_a_device_in_front_of_a_stamp_is_no_host() {
        let log = "[    0.600000] clocksource: Switched to clocksource arch_sys_counter\n\
                   [    8.753047] power_supply bat0: uevent: failed\n\
                   bat0: [    8.787799] synth uevent: /devices/x failed to send uevent\n\
                   sc8280xp-crd login: root\n\
                   [root@sc8280xp-crd ~]# echo mem > /sys/power/state\n\
                   [   22.407182] PM: suspend entry (s2idle)\n";
        is(log, &[]);
    }

    fn is(text: &str, wanted: &[(&str, &str)]) {
        let found = found(text);
        let found: Vec<_> = found.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(found, wanted, "{text}");
    }

    #[test]
    fn names_that_alternate_are_two_machines() {
        is(
            "Nov 24 01:09:00 db kernel: [ 1342.886518] clocksource: Switched to clocksource hpet\n\
             Nov 24 01:10:01 web kernel: [    1.430694] clocksource: Switched to clocksource tsc\n\
             Nov 24 01:12:00 db kernel: [ 1721.000000] EXT4-fs (sda1): re-mounted\n",
            &[("db", "1-1, 3-3"), ("web", "2-2")],
        );
        // Each has its own clock, and the dates are those of one server.
        is(
            "Nov 24 01:09:00 db kernel: [   42.886518] x\nNov 24 01:09:01 web kernel: [   43.430694] x\n\
             Nov 24 01:09:01 db kernel: [   43.500000] x\n",
            &[("db", "1-1, 3-3"), ("web", "2-2")],
        );
        is(
            "{host=\"db\"} [   42.886518] x\n{host=\"web\"} [    1.430694] x\n{host=\"db\"} [   43.500000] x\n",
            &[("db", "1-1, 3-3"), ("web", "2-2")],
        );
        is(
            "db: [   42.886518] x\nweb: [   41.430694] x\ndb: [   43.500000] x\n",
            &[("db", "1-1, 3-3"), ("web", "2-2")],
        );
    }

    #[test]
    fn column_and_labels_name_machines() {
        is(
            "time,host,message\n1,db,\"clocksource: Switched to clocksource hpet\"\n\
             2,web,\"clocksource: Switched to clocksource tsc\"\n3,db,\"usb 1-1: x\"\n",
            &[("db", "1-2, 4-4"), ("web", "3-3")],
        );
        is("time,host,message\n1,db,tsc: x\n2,db,tsc: y\n", &[]);
        is(
            "[db] [   42.886518] x\n[web] [   41.430694] x\n[db] [   43.500000] x\n",
            &[("db", "1-1, 3-3"), ("web", "2-2")],
        );
        is(
            "[pod/dmesg-x2/reader] node=db [   42.886518] x\n[pod/dmesg-y7/reader] node=web [    1.430694] x\n",
            &[("db", "1-1"), ("web", "2-2")],
        );
    }

    #[test]
    fn names_of_boots_of_their_own_are_two_machines() {
        is(
            "Nov 24 01:00:03 web kernel: [  400.886518] x\nNov 24 01:05:03 db kernel: [    0.300000] x\n\
             Nov 24 01:05:04 db kernel: [    1.300000] x\n",
            &[("web", "1-1"), ("db", "2-3")],
        );
        is(
            "Nov 24 01:00:03 web kernel: [    1.800000] x\nNov 24 01:00:03 db kernel: [  400.000000] x\n",
            &[("web", "1-1"), ("db", "2-2")],
        );
        is(
            "Nov 24 01:00:03 web kernel: tsc: x\nNov 24 03:00:03 db kernel: tsc: x\n",
            &[("web", "1-1"), ("db", "2-2")],
        );
    }

    #[test]
    fn names_without_the_begin_of_a_boot_are_two_machines() {
        is(
            "Nov 02 10:00:00 web kernel: tsc: x\nNov 02 10:00:01 db kernel: tsc: x\n",
            &[("web", "1-1"), ("db", "2-2")],
        );
        is("Nov 02 10:00:00 localhost kernel: tsc: x\nNov 02 10:00:01 db kernel: tsc: x\n", &[]);
    }

    #[test]
    fn prompts_of_another_host_are_of_another_machine() {
        let log = "Nov 02 10:00:00 web kernel: tsc: x\nNov 02 10:00:01 web kernel: tsc: x\n";
        is(&format!("{log}root@db:~# cat /x\ntsc\n"), &[("web", "1-2"), ("db", "3-4")]);
        is(&format!("{log}root@web:~# cat /x\ntsc\n"), &[]);
        // What its user does elsewhere shows nothing about a machine.
        let output = "me@nb7:~$ curl https://web/version\n{ }\n";
        is(&format!("{log}{output}"), &[]);
        is(&format!("{log}{output}[    1.400000] x: y\n"), &[("web", "1-2"), ("nb7", "3-5")]);
        // A sentence below the output is not of the other machine.
        is(&format!("{log}root@db:~# busctl tree\n- /xyz\n\nIn journalctl there is more.\n"), &[]);
        is(&format!("{log}root@db:~# cat notes\njournalctl\n"), &[("web", "1-2"), ("db", "3-4")]);
        is(&format!("{log}root@localhost:~# cat /x\ntsc\n"), &[]);
    }

    #[test]
    fn name_that_systemd_sets_is_of_the_same_machine_without_dates() {
        let boot = "localhost kernel: Linux version 6.1.0 (a@b) (gcc 12) #1 SMP\n\
                    localhost kernel: clocksource: Switched to clocksource tsc-early\n";
        let set = "web systemd[1]: Hostname set to <web.example.org>.\n";
        let rest = "web kernel: EXT4-fs (sda1): mounted\n";
        is(&format!("{boot}{set}{rest}"), &[]);
        is(&format!("{boot}{rest}"), &[("localhost", "1-2"), ("web", "3-3")]);
        let other = set.replace("web", "db");
        is(&format!("{boot}{other}{rest}"), &[("localhost", "1-3"), ("web", "4-4")]);
    }

    #[test]
    fn name_that_a_program_changes_is_of_the_same_machine_long_afterwards() {
        let boot = "Aug 10 16:34:45 bmc kernel: Linux version 5.4.48 (a@b) (gcc 10) #1\n\
                    Aug 10 16:34:45 bmc kernel: clocksource: Switched to clocksource timer1\n";
        let rest = "Aug 10 16:52:41 rack-7 kernel: eth0: link up\n";
        for report in [
            "rack-7 systemd-resolved[159]: System hostname changed to 'rack-7'.",
            "bmc systemd-hostnamed[259]: Hostname set to <rack-7> (static)",
            "bmc systemd-hostnamed[259]: Changed static host name to 'rack-7'",
            "rack-7 systemd-hostnamed[259]: Changed host name to 'rack-7.example.org'",
            "bmc NetworkManager[7]: <info>  policy: set-hostname: set hostname to 'rack-7' (from DHCPv4)",
        ] {
            is(&format!("{boot}Aug 10 16:35:29 {report}\n{rest}"), &[]);
        }
        let other = [("bmc", "1-2"), ("rack-7", "4-4")];
        for report in [
            "rack-8 systemd-resolved[159]: System hostname changed to 'rack-7'.",
            "rack-7 systemd-resolved[159]: System hostname changed to 'rack-8'.",
        ] {
            let lines = hosts(
                &format!("{boot}Aug 10 16:35:29 {report}\n{rest}")
                    .lines()
                    .map(str::to_owned)
                    .collect::<Vec<String>>(),
            );
            assert_eq!(lines.len(), other.len(), "{report}");
        }
        // The first name again, in the same boot.
        let again = "Aug 10 17:52:41 bmc kernel: eth0: link down\n";
        let report =
            "Aug 10 16:35:29 rack-7 systemd-resolved[1]: System hostname changed to 'rack-7'.\n";
        assert_eq!(found(&format!("{boot}{report}{rest}{again}")).len(), 2);
    }

    #[test]
    fn one_machine_changes_its_name_in_each_boot() {
        let boot = |day: u32| {
            format!(
                "Nov {day} 01:00:00 initrd kernel: Linux version 6.1.0 (a@b) (gcc 12) #1 SMP\n\
                 Nov {day} 01:00:00 initrd kernel: clocksource: Switched to clocksource tsc-early\n\
                 Nov {day} 01:00:02 box kernel: clocksource: Switched to clocksource tsc\n\
                 Nov {day} 01:00:03 box.example.org kernel: EXT4-fs (sda1): mounted\n"
            )
        };
        is(&boot(24), &[]);
        is(&format!("{}{}", boot(24), boot(25)), &[]);
        is(
            "Nov 24 01:00:00 localhost kernel: [    0.300000] x\nNov 24 01:00:00 box kernel: [    4.300000] x\n\
             Nov 25 01:00:00 localhost kernel: [    0.200000] x\nNov 25 01:00:00 box kernel: [    5.300000] x\n",
            &[],
        );
    }
}
