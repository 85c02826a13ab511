//! One heading: the machine, kernel or time that it names.

use super::super::{files, log_heading, prompt};
use crate::log::times;

/// Maximum number of characters and words in a heading.
const LONGEST: usize = 48;
const WORDS: usize = 6;
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

/// The distinguishing parts of a heading: for each pair, which one; a time; a version; a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Of {
    pairs: [Option<usize>; PAIRS.len()],
    /// Which of [`TIMES`].
    pub(super) time: Option<usize>,
    pub(super) version: Option<String>,
    pub(super) host: Option<String>,
    /// A file.
    pub(super) file: Option<String>,
    /// The author of a part of an issue.
    pub(super) author: Option<String>,
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
    pub(super) fn is_of_a_program(&self) -> bool {
        self.host.is_some() || self.file.is_some() || self.author.is_some()
    }

    pub(super) fn differs(&self, other: &Self) -> bool {
        matches!((self.time, other.time), (Some(a), Some(b)) if a != b) || self.is_of_another(other)
    }

    /// Whether two headings are of different machines or kernels, and not only of different times.
    pub(super) fn is_of_another(&self, other: &Self) -> bool {
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

/// States of a task in a play of Ansible.
const STATES: [&str; 4] = ["ok", "changed", "failed", "fatal"];

/// The host above its output: `web1 | CHANGED | rc=0 >>` and `ok: [web1] => {` (Ansible), `[1] 01:00:00 [SUCCESS] web1` (pssh).
pub(in crate::paste) fn of_tool(line: &str) -> Option<&str> {
    let ansible = line.strip_suffix(">>").and_then(|head| head.split_once(" | "));
    if let Some((host, rest)) = ansible {
        return rest.contains("rc=").then_some(host);
    }
    if let Some((state, rest)) = line.split_once(": [") {
        let (host, rest) = rest.split_once(']')?;
        let goes_on = rest.trim().is_empty() || rest.trim_start().starts_with("=>");
        return (STATES.contains(&state) && goes_on && prompt::is_name(host)).then_some(host);
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
pub(super) fn of_log(lines: &[String], number: usize) -> Option<(String, Of)> {
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

/// The name in a heading, and what distinguishes it from others.
pub(super) fn read(line: &str) -> Option<(String, Of)> {
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
