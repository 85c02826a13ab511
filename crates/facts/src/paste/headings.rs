//! Separates the machines of one text by headings: `Guest:` and `Host:`, `On 6.8:` and `On 6.1:` and the
//! headings of programs that run a command on many machines.

use super::{Section, examples, files, log_heading, prompt};
use crate::log::times;
use crate::names;
use std::collections::HashSet;

/// Maximum number of characters and words in a heading.
const LONGEST: usize = 48;
const WORDS: usize = 6;
/// Maximum number of sections; a text with more has other headings.
const SECTIONS: usize = 8;
/// Maximum number of headings that are compared; a text with more also has other ones.
const HEADINGS: usize = 256;

/// Pairs of heading words: a machine of the first list is not one of the second.
const PAIRS: [[&[&str]; 2]; 5] = [
    [&["host", "hypervisor", "dom0", "metal"], &["guest", "vm", "domu", "virtual"]],
    [&["old", "older"], &["new", "newer"]],
    [&["good", "working", "works"], &["bad", "broken", "failing"]],
    [&["fast"], &["slow"]],
    PATCH_STATES,
];

/// Words for a kernel with a patch and for one without it; see [`patch_state`].
const PATCH_STATES: [&[&str]; 2] = [&["patched"], &["unpatched", "unmodified", "vanilla"]];

/// Words of headings for an earlier and for a later state. If the earlier one comes first, the text is in the order
/// of time and its last state is the one that counts.
const TIMES: [&[&str]; 2] = [
    &["before", "previous", "previously", "earlier", "then", "yesterday"],
    &["after", "afterwards", "now", "today", "current", "currently", "new", "newer"],
];

/// Words in lines that show the clocksource in use.
const TELLING: [&str; 5] = [
    "to clocksource ",
    "clocksource has been installed",
    "current_clocksource",
    "Marking TSC unstable",
    "Marking clocksource",
];

/// The distinguishing parts of a heading: for each pair, which one; a time; a version; a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Of {
    pairs: [Option<usize>; PAIRS.len()],
    /// Which of [`TIMES`].
    time: Option<usize>,
    version: Option<String>,
    host: Option<String>,
    /// A file.
    file: Option<String>,
    /// The author of a part of an issue.
    author: Option<String>,
    /// `Server A`, `host1`: a word for a machine with its number or letter.
    numbered: Option<String>,
    /// `My laptop`, `The Raspberry Pi next to it`.
    kind: Option<&'static str>,
    /// Whether the machine is the writer's (`mine`) or that of another person (`my friend's machine`).
    is_own: Option<bool>,
}

/// Words for machines that are distinguished by a number or a letter.
const NUMBERED: [&str; 11] = [
    "server", "host", "node", "machine", "box", "vm", "guest", "pc", "laptop", "system", "instance",
];

/// Words for kinds of machines, each of which excludes the others.
const KINDS: [&str; 8] =
    ["laptop", "desktop", "workstation", "server", "pi", "router", "phone", "nas"];

impl Of {
    /// Whether a program writes such a heading, even in long texts and around code.
    fn is_of_a_program(&self) -> bool {
        self.host.is_some() || self.file.is_some() || self.author.is_some()
    }

    fn differs(&self, other: &Self) -> bool {
        matches!((self.time, other.time), (Some(a), Some(b)) if a != b) || self.is_of_another(other)
    }

    /// Whether two headings are of different machines or kernels, and not only of different times.
    fn is_of_another(&self, other: &Self) -> bool {
        let pairs = self.pairs.iter().zip(&other.pairs);
        pairs.into_iter().any(|pair| matches!(pair, (Some(a), Some(b)) if a != b))
            || matches!((&self.version, &other.version), (Some(a), Some(b)) if a != b)
            || matches!((&self.host, &other.host), (Some(a), Some(b)) if a != b)
            || matches!((&self.file, &other.file), (Some(a), Some(b)) if a != b)
            || matches!((&self.author, &other.author), (Some(a), Some(b)) if a != b)
            || matches!((&self.numbered, &other.numbered), (Some(a), Some(b)) if a != b)
            || matches!((self.kind, other.kind), (Some(a), Some(b)) if a != b)
            || matches!((self.is_own, other.is_own), (Some(a), Some(b)) if a != b)
    }
}

/// Lines with a time stamp from which on a text is a log, or a mail with several, so that words above some of its lines
/// are of its writer.
const WHOLE_LOG: usize = 150;

/// Separates the parts of a text with headings for different machines or states. Empty if fewer than two parts show a
/// clocksource, if a part without a heading does, and for documents, which show examples.
#[must_use]
pub fn headed(lines: &[String]) -> Vec<Section> {
    let long = lines.iter().filter(|line| line.trim_start().starts_with('[')).count() > WHOLE_LOG;
    parts(lines, !long && !lines.iter().any(|line| line.trim_start().starts_with("```")))
}

/// The two states of a machine, below a heading `Before the update:` and from one with `After` on, if both show a
/// clocksource.
#[must_use]
pub fn in_time(lines: &[String]) -> Vec<Section> {
    let Some(before) = examples::before_change(lines) else { return Vec::new() };
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
    let long = lines.iter().filter(|line| line.trim_start().starts_with('[')).count() > WHOLE_LOG;
    let found = if long { Vec::new() } else { parts(lines, true) };
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
        let short = heading(line).filter(|(_, of)| by_people || of.is_of_a_program());
        let Some((name, of)) = short.or_else(|| of_log(lines, number)) else { continue };
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

/// The host above its output: `web1 | CHANGED | rc=0 >>` (Ansible), `[1] 01:00:00 [SUCCESS] web1` (pssh).
pub(super) fn of_tool(line: &str) -> Option<&str> {
    let ansible = line.strip_suffix(">>").and_then(|head| head.split_once(" | "));
    if let Some((host, rest)) = ansible {
        return rest.contains("rc=").then_some(host);
    }
    let (head, host) = line.strip_prefix('[')?.rsplit_once(' ')?;
    (head.ends_with("[SUCCESS]") || head.ends_with("[FAILURE]")).then_some(host)
}

/// The host that a command runs on: `$ ssh web1 dmesg`.
fn of_ssh(line: &str) -> Option<&str> {
    let at = line.find("ssh ").filter(|at| *at < 64)?;
    let sign = line[..at].trim_end();
    if !(sign.is_empty() || sign.ends_with(['$', '#', '%', '>'])) {
        return None;
    }
    let mut words = line[at..].split_ascii_whitespace().skip(1);
    let mut host = words.next()?;
    while host.starts_with('-') {
        // These options are followed by a value.
        if ["-p", "-i", "-l", "-o", "-J", "-F"].contains(&host) {
            words.next()?;
        }
        host = words.next()?;
    }
    let host = host.split_once('@').map_or(host, |(_, host)| host);
    let is_name = host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    // A command must follow: in prose, other words do.
    const COMMANDS: [&str; 9] =
        ["dmesg", "cat", "journalctl", "sudo", "grep", "egrep", "head", "uname", "lscpu"];
    let command = words.next()?.trim_matches(['\'', '"']);
    (is_name && COMMANDS.contains(&command)).then_some(host)
}

/// A heading right above a log, `dmesg from dom0 which controls the hardware:`, also in long texts.
fn of_log(lines: &[String], number: usize) -> Option<(String, Of)> {
    let name = log_heading::read(lines, number)?;
    let lower = name.to_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    let [host, guest] = PAIRS[0].map(|list| words.clone().any(|word| list.contains(&word)));
    let slot = match (host, guest) {
        (true, false) => 0,
        (false, true) => 1,
        _ => return None,
    };
    let mut of = Of::default();
    of.pairs[0] = Some(slot);
    Some((name.to_owned(), of))
}

fn heading(line: &str) -> Option<(String, Of)> {
    let line = line.trim();
    if let Some(name) = files::begins(line) {
        return Some((name.to_owned(), Of { file: Some(name.to_owned()), ..Of::default() }));
    }
    if let Some(name) = files::author(line) {
        return Some((name.to_owned(), Of { author: Some(name.to_owned()), ..Of::default() }));
    }
    if let Some(host) = of_ssh(line) {
        return Some((host.to_owned(), Of { host: Some(host.to_owned()), ..Of::default() }));
    }
    if let Some(host) = of_tool(line) {
        let host = host.trim().to_owned();
        return Some((host.clone(), Of { host: Some(host), ..Of::default() }));
    }
    let marked = line.starts_with(['#', '=', '*']);
    let bare = line.trim_matches(|c: char| "#=*-_ ".contains(c));
    let alone = bare.trim_matches(['[', ']', '(', ')']);
    let with_colon = bare.ends_with(':');
    let name = bare.strip_suffix(':').or_else(|| marked.then_some(bare));
    let name = name.or_else(|| is_heading_alone(alone).then_some(alone))?;
    let name = name.trim_matches(|c: char| "*_ ".contains(c));
    if name.is_empty()
        || name.len() > LONGEST
        || name.split_whitespace().count() > WORDS
        || prompt::read(line).is_some()
        || times(line).0.is_some()
    {
        return None;
    }
    let lower = name.to_lowercase();
    let words = || {
        lower
            .split(|c: char| !(c.is_ascii_alphanumeric() || c == '.'))
            .map(|word| word.trim_matches('.'))
            .filter(|word| !word.is_empty())
    };
    let mut of = Of {
        time: words().next().and_then(|word| TIMES.iter().position(|list| list.contains(&word))),
        ..Of::default()
    };
    for (slot, pair) in of.pairs.iter_mut().zip(PAIRS) {
        *slot = words().find_map(|word| pair.iter().position(|list| list.contains(&word)));
    }
    if let Some(state) = patch_state(words())
        && let Some(slot) = of.pairs.last_mut()
    {
        *slot = slot.or(Some(state));
    }
    let version = |word: &&str| {
        let word = word.strip_prefix('v').unwrap_or(word);
        word.contains('.') && word.split('.').take(2).all(|n| n.parse::<u16>().is_ok())
    };
    // A number alone is that of a chapter.
    let names_kernel = words().any(|word| ["on", "with", "kernel", "linux"].contains(&word));
    let all: Vec<&str> = words().collect();
    of.numbered = all
        .windows(2)
        .find_map(|pair| numbered(pair[0], Some(pair[1])))
        .or_else(|| all.iter().find_map(|word| numbered(word, None)));
    of.kind = KINDS.into_iter().find(|kind| all.contains(kind));
    of.is_own = owner(&lower).filter(|_| with_colon || marked);
    let of_kernel = names_kernel || is_release(name) || with_colon && is_short_release(name);
    of.version = words().find(version).filter(|_| of_kernel).map(str::to_owned);
    let of_series = words().find(|word| is_of_series(word));
    let of_series = of_series.filter(|_| (with_colon || marked) && all.len() <= SERIES_WORDS);
    of.version = of.version.or(of_series.map(str::to_owned));
    (of != Of::default()).then(|| (name.to_owned(), of))
}

/// Words for what has an owner, besides those for machines.
const OWNED: [&str; 8] =
    ["dmesg", "log", "output", "computer", "hypervisor", "kernel", "setup", "one"];

/// Whether a heading in small letters is of the writer's machine or of another person's: `mine`, `my machine`, `his box`,
/// `bob's dmesg`, `my friend's machine`.
fn owner(heading: &str) -> Option<bool> {
    let words: Vec<&str> = heading.split(' ').filter(|word| !word.is_empty()).collect();
    let (last, front) = words.split_last()?;
    match (front, *last) {
        ([] | ["on" | "here" | "from"], "mine" | "ours") => return Some(true),
        ([] | ["on" | "from"], "his" | "hers" | "theirs" | "yours") => return Some(false),
        _ => {}
    }
    let is_thing = OWNED.contains(last) || NUMBERED.contains(last) || KINDS.contains(last);
    // Not of a person: `what's in the log`, `the kernel's log`.
    const NOBODY: [&str; 10] = [
        "what's",
        "it's",
        "that's",
        "here's",
        "there's",
        "who's",
        "kernel's",
        "machine's",
        "system's",
        "today's",
    ];
    let whose = front.iter().rev().find(|word| {
        ["my", "our", "his", "her", "their", "your"].contains(word)
            || word.ends_with("'s") && !NOBODY.contains(word)
    })?;
    is_thing.then_some(matches!(*whose, "my" | "our"))
}

/// Maximum number of words in a heading that names a version of a series of patches: `dmesg of v2:`.
const SERIES_WORDS: usize = 3;

/// Whether a word is the version of a series of patches: `v2`.
fn is_of_series(word: &str) -> bool {
    let number = word.strip_prefix('v').unwrap_or_default();
    (1..=2).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit())
}

/// Which of [`PATCH_STATES`] a heading names with a word for a patch: `with the patch`, `without that fix`.
fn patch_state<'a>(words: impl Iterator<Item = &'a str>) -> Option<usize> {
    let mut state = None;
    for word in words {
        match word {
            "with" => state = Some(0),
            "without" | "w/o" => state = Some(1),
            "patch" | "patches" | "fix" | "series" | "commit" if state.is_some() => return state,
            _ => {}
        }
    }
    None
}

/// Whether a text is a release of two numbers: `6.8`. Before a colon it is not the number of a chapter, which a title
/// follows.
fn is_short_release(text: &str) -> bool {
    is_release(&format!("v{}", text.trim_start_matches('v')))
}

/// Whether a line is a heading although it has no sign of one: a word of a pair, or the release of a kernel.
fn is_heading_alone(line: &str) -> bool {
    let lower = line.to_lowercase();
    if patch_state(lower.split(' ')).is_some() && lower.split(' ').count() <= SERIES_WORDS {
        return true;
    }
    let mut words = PAIRS.iter().chain([&TIMES]).flatten().flat_map(|list| list.iter());
    words.any(|word| *word == lower) || is_release(line)
}

/// Whether a text is the release of a kernel and nothing else: `6.1.76`, `v6.8`, `5.15.0-91-generic`. Two numbers alone
/// are those of a chapter.
fn is_release(text: &str) -> bool {
    let begin = ["linux-", "Linux-", "linux ", "Linux ", "v"];
    let named = begin.iter().find_map(|begin| text.strip_prefix(begin));
    let release = named.unwrap_or(text);
    let numbers = release.split('-').next().unwrap_or_default();
    let count = numbers.split('.').count();
    !release.contains(char::is_whitespace)
        && release.starts_with(|c: char| ('2'..='9').contains(&c))
        && (count == 3 || count == 2 && (named.is_some() || release.contains("-rc")))
        && numbers.split('.').all(|number| number.len() <= 3 && number.parse::<u16>().is_ok())
}

/// The number or the letter of a machine: `server a`, `host1`.
fn numbered(word: &str, next: Option<&str>) -> Option<String> {
    let stem = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = &word[stem.len()..];
    if !NUMBERED.contains(&stem) {
        return None;
    }
    if !number.is_empty() {
        return Some(number.to_owned());
    }
    let next = next?;
    let is_letter = next.len() == 1 && next.bytes().all(|b| b.is_ascii_alphanumeric());
    let is_number = next.len() <= 3 && next.bytes().all(|b| b.is_ascii_digit());
    (is_letter || is_number).then(|| next.to_owned())
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
