//! Texts of several machines, or of several states of one, that cannot be separated line by line: a conclusion from all
//! lines together is valid for none of them.

use super::{
    Section, columns, compared, contradicted, headings, hosts, prompt, reprinted, samples, sysfs,
    uml,
};
use crate::log::{family_of, is_setting, strip_prefix};
use crate::names;

/// Lines after a command that are searched for its output.
const OUTPUT: usize = 64;

/// Lines above a note that are searched for its heading.
const HEADING_WITHIN: usize = 4;

/// Lines above a reading that are searched for the section of a file.
const SECTION_WITHIN: usize = 12;

/// Words with which a command begins that reads a file, here or on other machines.
const READS: [&str; 12] = [
    "for", "while", "cat", "ssh", "pdsh", "pssh", "clush", "sudo", "parallel", "xargs", "docker",
    "kubectl",
];

/// Why a text is not about a single machine in a single state, as the end of a sentence.
#[must_use]
pub fn mixed(lines: &[String]) -> Option<String> {
    if let [first, second, ..] = hosts(lines).as_slice() {
        let name = |section: &Section| section.host.clone().unwrap_or_default();
        return Some(format!(
            "this text has the lines of several hosts ({}, {}), and an answer holds for one: give the lines of one",
            name(first),
            name(second)
        ));
    }
    (0..lines.len())
        .find_map(|at| readings(lines, at))
        .or_else(|| columns::several(lines))
        .or_else(|| labelled(lines))
        .or_else(|| contradicted::by_label(lines))
        .or_else(|| sysfs::several(lines))
        .or_else(|| samples::several(lines))
        .or_else(|| plays(lines))
        .or_else(|| uml::beside_host(lines))
        .or_else(|| families(lines))
        .or_else(|| boards(lines))
        .or_else(|| calibrations(lines))
        .or_else(|| wordings(lines))
        .or_else(|| headings::several(lines))
        .or_else(|| compared::two_logs(lines))
        .or_else(|| reprinted::open(lines))
}

/// What tasks of a play print of the clocksource on several hosts: `ok: [web1] => {` above `"msg": "..."`.
fn plays(lines: &[String]) -> Option<String> {
    // A label in a message is covered in the lines.
    const COVERED: &str = "xxxxxxxxxxxxxxxxxxxx";
    let mut first: Option<(usize, &str)> = None;
    for (number, pair) in lines.windows(2).enumerate() {
        let head = pair[0].trim();
        let tells = || super::has(&pair[1], "clocksource") || super::has(&pair[1], COVERED);
        if !head.ends_with("=> {") || !super::has(&pair[1], "\"msg\":") || !tells() {
            continue;
        }
        let Some(host) = headings::of_tool(head) else { continue };
        match first {
            Some((place, known)) if known != host => {
                return Some(format!(
                    "the tasks in lines {} and {} ran on several hosts ({known}, {host}), and an answer holds for one",
                    place + 1,
                    number + 1
                ));
            }
            Some(_) => {}
            None => first = Some((number, host)),
        }
    }
    None
}

/// Parts by which two calibrations differ that noise does not explain; NTP corrects half of it.
const CALIBRATIONS_APART: f64 = 1e-3;

/// What `zgrep Detected /var/log/dmesg*` prints: a file and a frequency in each line, of one boot each.
fn calibrations(lines: &[String]) -> Option<String> {
    let mut found: Vec<(&str, f64)> = Vec::new();
    for line in lines {
        let Some((file, rest)) = line.split_once(":[") else { continue };
        let Some((_, rest)) = rest.split_once("Detected ") else { continue };
        let mut words = rest.split_ascii_whitespace();
        let mhz = words.next().and_then(|word| word.parse::<f64>().ok());
        let Some(mhz) = mhz.filter(|mhz| mhz.is_finite() && *mhz > 0.0) else { continue };
        if words.next() == Some("MHz") && !file.is_empty() && !file.contains(' ') {
            found.push((file, mhz));
        }
    }
    let least = found.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let most = found.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let apart = most.1 / least.1 - 1.0;
    (least.0 != most.0 && apart > CALIBRATIONS_APART).then(|| {
        format!(
            "these are lines of several boots, and their kernels used {} MHz ({}) and {} MHz ({}) \
             for the TSC, {:.0} ppm apart: with a wrong figure the clock runs off by as much, and \
             ntpd and systemd-timesyncd correct 500 ppm (clocksmith explain tsc-miscalibrated); give the whole log of one \
             boot",
            least.1,
            least.0,
            most.1,
            most.0,
            apart * 1e6
        )
    })
}

/// Switches in the words of kernels up to 3.10 and in those of later ones, without a banner that separates the boots.
fn wordings(lines: &[String]) -> Option<String> {
    if lines.iter().any(|line| super::has(line, "Linux version ")) {
        return None;
    }
    let of = |words: &str| {
        lines.iter().position(|line| {
            if !super::has(line, words) {
                return false;
            }
            let (message, stamped) = strip_prefix(line);
            let message = message.strip_prefix("clocksource: ").unwrap_or(message);
            stamped && message.starts_with(words)
        })
    };
    let (old, new) = (of("Switching to clocksource ")?, of("Switched to clocksource ")?);
    Some(format!(
        "line {} is of a kernel up to 3.10 and line {} of a later one: these are lines of several boots or machines",
        old + 1,
        new + 1
    ))
}

/// Lines in which kernels name different machines by their DMI tables, where no banner parts them.
fn boards(lines: &[String]) -> Option<String> {
    let mut first: Option<(usize, &str)> = None;
    for (number, line) in lines.iter().enumerate().filter(|(_, line)| super::has(line, "DMI: ")) {
        let (message, stamped) = strip_prefix(line);
        let Some(name) = message.strip_prefix("DMI: ").filter(|_| stamped) else { continue };
        // Other lines of this kind count memory; an update of the firmware leaves the machine the same.
        let Some((name, _)) = name.split_once(", BIOS") else { continue };
        let name = name.trim();
        match first {
            Some((place, known)) if !known.starts_with(name) && !name.starts_with(known) => {
                return Some(format!(
                    "this text has the DMI names of two machines, {known} (line {}) and {name} (line {}), and an answer \
                     holds for one: give the lines of one",
                    place + 1,
                    number + 1
                ));
            }
            Some(_) => {}
            None => first = Some((number, name)),
        }
    }
    None
}

/// Lines of the kernels of two families of processors.
fn families(lines: &[String]) -> Option<String> {
    let mut first: Option<(usize, &str)> = None;
    for (number, line) in lines.iter().enumerate() {
        let (message, stamped) = strip_prefix(line);
        let Some(family) = stamped.then(|| family_of(message)).flatten() else { continue };
        match first {
            Some((place, known)) if known != family => {
                return Some(format!(
                    "this text has lines of kernels for {known} (line {}) and for {family} (line {}), which are of \
                     several machines: give the lines of one",
                    place + 1,
                    number + 1
                ));
            }
            Some(_) => {}
            None => first = Some((number, family)),
        }
    }
    None
}

/// Different readings in lines that have the value in them, under different labels: `web1 current_clocksource=tsc` and `web2
/// current_clocksource=hpet`.
fn labelled(lines: &[String]) -> Option<String> {
    let mut first: Option<(usize, &str, String)> = None;
    for (number, line) in lines.iter().enumerate() {
        let found = reading(line)
            .map(|(label, name)| match label {
                "" => {
                    let heading = decorated(lines, number).or_else(|| bracketed(lines, number));
                    (heading.unwrap_or_default(), name)
                }
                _ => (label, name),
            })
            .or_else(|| note(lines, number));
        let found = found.filter(|_| prompt::read(line).is_none() && !is_setting(line));
        let Some((label, name)) = found.or_else(|| inside(lines, number)) else { continue };
        if label.is_empty() {
            continue;
        }
        match first {
            Some((place, known, ref other)) if known != label && *other != name => {
                return Some(format!(
                    "readings of current_clocksource differ, {other} (line {}) and {name} (line {}), and have different \
                     labels: they are of several machines or moments",
                    place + 1,
                    number + 1
                ));
            }
            Some(_) => {}
            None => first = Some((number, label, name)),
        }
    }
    None
}

/// A reading with its value, and the text before the path, or before the name of the file.
fn reading(line: &str) -> Option<(&str, String)> {
    let (head, tail) = line.split_once("current_clocksource")?;
    let value = tail.trim_start().strip_prefix([':', '=', '|'])?;
    let value = value.trim_matches([' ', '\t', '\r', '\'', '"']);
    let label = head.split('/').next().unwrap_or_default().trim();
    names::is_known(value).then(|| (label, value.to_owned()))
}

/// The name in a heading of signs close above a reading: `== web1 ==`, `--- web1 ---`.
fn decorated(lines: &[String], at: usize) -> Option<&str> {
    lines[..at].iter().rev().take(HEADING_WITHIN).map(|line| line.trim()).find_map(|line| {
        let sign = line.chars().next().filter(|sign| "=-#*".contains(*sign))?;
        let name = line.trim_matches(sign);
        let signs = line.len() - name.len();
        let name = name.trim();
        (signs >= 4 && line.ends_with(sign) && !name.is_empty() && !name.contains(' '))
            .then_some(name)
    })
}

/// The section of a configuration file that a reading is in: `[actual]`.
fn bracketed(lines: &[String], at: usize) -> Option<&str> {
    let above = lines[..at].iter().rev().take(SECTION_WITHIN).map(|line| line.trim());
    let name = |line: &'_ str| {
        let inside = line.strip_prefix('[').and_then(|line| line.strip_suffix(']'));
        inside.is_some_and(|name| {
            prompt::is_name(name) && !name.starts_with(|c: char| c.is_ascii_digit())
        })
    };
    above.take_while(|line| !line.is_empty()).find(|line| name(line))
}

/// What a command prints inside of a container, of which each may be on another machine: the command up to the name of the
/// file.
fn inside(lines: &[String], at: usize) -> Option<(&str, String)> {
    let bare = lines[at].trim_start_matches(['$', '#', '%', ' ']);
    let command = prompt::read(&lines[at]).map_or(bare, |found| found.command);
    let (head, _) = command.split_once("/sys/devices/")?;
    let name = lines.get(at + 1)?.trim();
    (head.contains("kubectl ") && head.contains(" exec ") && names::is_known(name))
        .then(|| (head, name.to_owned()))
}

/// `Current clocksource: tsc` in a list or alone, under a heading such as `Server A:`.
fn note(lines: &[String], at: usize) -> Option<(&str, String)> {
    const LABEL: &str = "current clocksource:";
    let line = lines[at].trim_start_matches([' ', '-', '*', '+']);
    let label = line.get(..LABEL.len())?;
    let name = line[LABEL.len()..].trim().to_ascii_lowercase();
    if !label.eq_ignore_ascii_case(LABEL) || !names::is_known(&name) {
        return None;
    }
    let above = lines[..at].iter().rev().take(HEADING_WITHIN).map(|line| line.trim());
    above.into_iter().find_map(|line| line.strip_suffix(':')).map(|heading| (heading, name))
}

/// Different readings after one command that reads the file once: a loop over machines, or over
/// time.
fn readings(lines: &[String], at: usize) -> Option<String> {
    let line = lines[at].trim();
    if !super::has(line, "current_clocksource") {
        return None;
    }
    let command = prompt::read(line).map(|found| found.command);
    let bare = line.trim_start_matches(['$', '#', ' ']);
    let begins = bare.split([' ', '\t']).next().unwrap_or_default();
    let command = command.or_else(|| READS.contains(&begins).then_some(line))?;
    let once = command.matches("_clocksource").count() == 1
        && !["tee ", "watch ", "*", ">"].iter().any(|word| command.contains(word));
    if !once {
        return None;
    }
    let loops = ["for ", "while ", "ssh ", "xargs", "parallel", "clush "]
        .iter()
        .any(|word| line.contains(word));
    let mut read: Vec<(usize, &str)> = Vec::new();
    for (number, line) in lines.iter().enumerate().skip(at + 1).take(OUTPUT) {
        if line.trim().is_empty() && (loops || read.is_empty()) {
            continue;
        }
        let other = line.trim().is_empty()
            || prompt::read(line).is_some()
            || super::has(line, "_clocksource")
            || strip_prefix(line).1;
        if other {
            break;
        }
        let mut words = line.split_ascii_whitespace();
        let value = words.next_back().filter(|name| names::is_known(name));
        // Alone, or after the name of a machine.
        let labelled = words.next().is_none_or(|label| label.ends_with([':', '|']) || loops);
        match value.filter(|_| labelled && words.next().is_none()) {
            Some(name) => {
                if read.iter().all(|(_, known)| *known != name) {
                    read.push((number + 1, name));
                }
            }
            // A loop may print names between the readings.
            None if loops => {}
            None => break,
        }
    }
    match read.as_slice() {
        [(first, one), (second, other), ..] => Some(format!(
            "one command printed different readings of current_clocksource, {one} (line {first}) and {other} (line \
             {second}), of several machines or moments"
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

    fn is_mixed(text: &str) -> bool {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        mixed(&lines).is_some()
    }

    #[test]
    fn different_readings_behind_one_command_are_of_several_machines() {
        for text in [
            format!("$ for h in a b; do ssh $h cat {FILE}; done\ntsc\nhpet\n"),
            format!("$ for h in a b; do echo $h; ssh $h cat {FILE}; done\na\ntsc\nb\nhpet\n"),
            format!("# for h in a b; do\n  ssh $h cat {FILE}\ndone\n\ntsc\n\ntsc\n\nhpet\n"),
            format!("$ pdsh -w a,b cat {FILE}\na: tsc\nb: hpet\n"),
            format!("ssh $h cat {FILE}\ntsc\nkvm-clock\n"),
        ] {
            assert!(is_mixed(&text), "{text}");
        }
    }

    #[test]
    fn different_readings_under_different_labels_are_of_several_machines() {
        assert!(is_mixed(&format!("web1 {FILE}:tsc\nweb2 {FILE}:hpet\n")));
        assert!(is_mixed(
            "host A: current_clocksource = tsc\nhost B: current_clocksource = hpet\n"
        ));
        assert!(is_mixed("A:\n- Current clocksource: hpet\nB:\n- Current clocksource: TSC\n"));
        assert!(is_mixed(&format!("== web1 ==\n{FILE}:tsc\n== web2 ==\n{FILE}:hpet\n")));
        assert!(!is_mixed(&format!("== web1 ==\n{FILE}:tsc\n{FILE}:hpet\n")));
        let task = |host: &str| {
            format!("ok: [{host}] => {{\n    \"msg\": \"current_clocksource: tsc\"\n}}\n")
        };
        assert!(is_mixed(&(task("web1") + &task("web2"))));
        assert!(!is_mixed(&(task("web1") + &task("web1"))));
        let section =
            |name: &str, value: &str| format!("[{name}]\ncurrent_clocksource = \"{value}\"\n");
        assert!(is_mixed(&(section("is", "hpet") + &section("goal", "tsc"))));
        assert!(!is_mixed(&(section("is", "tsc") + &section("goal", "tsc"))));
        assert!(!is_mixed(&(section("is", "hpet") + "current_clocksource = \"tsc\"\n")));
        let pod = |pod: &str, name| format!("$ kubectl exec {pod} -- cat {FILE}\n{name}\n");
        assert!(is_mixed(&(pod("a", "tsc") + &pod("b", "hpet"))));
        assert!(!is_mixed(&(pod("a", "tsc") + &pod("b", "tsc"))));
        assert!(!is_mixed(&(pod("a", "tsc") + &pod("a", "hpet"))));
        assert!(!is_mixed("A:\ncurrent clocksource: hpet\ncurrent clocksource: tsc\n"));
        assert!(!is_mixed(&format!("web1 {FILE}:tsc\nweb2 {FILE}:tsc\n")));
        assert!(!is_mixed(&format!("{FILE}:tsc\n{FILE}:hpet\n")));
        assert!(!is_mixed("now: current_clocksource=tsc\nexpected: current_clocksource=hpet\n"));
    }

    #[test]
    fn lines_of_kernels_for_different_processors_are_of_several_machines() {
        let arm = "[    1.006707] clocksource: Switched to clocksource arch_sys_counter\n";
        let mips = "[    0.000000] CPU0 revision is: 00019655 (MIPS 24KEc)\n";
        let hyperv = "[    2.196312] clocksource: Switched to clocksource hyperv_clocksource\n";
        let warp = "[    0.593580] tsc: Marking TSC unstable due to check_tsc_sync_source failed\n";
        let tegra = "[    0.900000] clocksource: Switched to clocksource tsc\n";
        for text in [[arm, hyperv], [warp, arm], [mips, hyperv]] {
            assert!(is_mixed(&text.concat()), "{text:?}");
        }
        for text in [[arm, tegra], [warp, hyperv]] {
            assert!(!is_mixed(&text.concat()), "{text:?}");
        }
    }

    #[test]
    fn two_dmi_names_without_a_banner_are_of_two_machines() {
        let one = "[    0.000000] DMI: Acme R1/B1, BIOS 1.0 01/02/2020\n";
        let other = "[    0.000000] DMI: Default string Default string/X, BIOS 5.12 03/02/2020\n";
        let memory = "[    0.000000] DMI: Memory slots populated: 2/2\n";
        assert!(is_mixed(&format!("{one}{memory}{other}")));
        assert!(!is_mixed(&format!("{one}{memory}{}", one.replace("1.0", "1.4"))));
    }

    #[test]
    fn words_of_older_and_of_later_kernels_are_of_several_boots() {
        let new = "[    0.866627] clocksource: Switched to clocksource hpet\n";
        let old = "[507140.636217] Switching to clocksource acpi_pm\n";
        assert!(is_mixed(&format!("{new}{old}")));
        assert!(!is_mixed(&format!("{new}{new}")) && !is_mixed(&format!("{old}{old}")));
        let banner = "[    0.000000] Linux version 3.10.0 (a@b) (gcc 4.8) #1 SMP\n";
        assert!(!is_mixed(&format!("{new}{banner}{old}")));
    }

    #[test]
    fn calibrations_of_several_boots_are_compared() {
        let text = |other: &str| {
            format!(
                "$ zgrep Detected /var/log/dmesg*\n/var/log/dmesg:[    0.004000] Detected 2400.110 MHz processor.\n\
                 /var/log/dmesg.0:[    0.004000] Detected {other} MHz processor.\n"
            )
        };
        let of = |text: &str| mixed(&text.lines().map(str::to_owned).collect::<Vec<_>>());
        let said = of(&text("2383.579")).unwrap_or_default();
        assert!(
            said.contains("2383.579 MHz (/var/log/dmesg.0)") && said.contains("6935 ppm"),
            "{said}"
        );
        assert_eq!(of(&text("2400.036")), None);
        assert_eq!(of(&text("2383.579").replace(".0:", ":")), None);
    }

    #[test]
    fn readings_of_one_machine_are_not_mixed() {
        let available = FILE.replace("current", "available");
        for text in [
            format!("$ for h in a b; do ssh $h cat {FILE}; done\ntsc\ntsc\n"),
            format!("$ cat {FILE}\ntsc\n$ dmesg | grep hpet\nhpet\n"),
            format!("$ cat {FILE}\ntsc\n\nhpet\n"),
            format!("$ cat {FILE} {available}\nhpet\ntsc hpet acpi_pm\n"),
            format!("$ cat {FILE}; echo hpet > {FILE}; cat {FILE}\ntsc\nhpet\n"),
            format!("The file {FILE} has tsc or\nhpet\n"),
        ] {
            assert!(!is_mixed(&text), "{text}");
        }
    }
}
