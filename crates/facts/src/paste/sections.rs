//! Separates the machines of one text: by the hosts in prompts, and by readings that contradict each other
//! without a write between them, as before and after a reboot.

use super::consoles::{consoles, is_of_another_time};
use super::{identity, machines, owner, prompt};
use crate::names;

/// The part of a text about one machine, in one state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// The host in its prompts, or the kernel's name for the machine.
    pub host: Option<String>,
    /// Its lines, numbered from 0: the first one, and the one after the last.
    pub lines: Vec<(usize, usize)>,
}

/// Maximum number of sections; a text with more is [`crowded`].
pub(super) const SECTIONS: usize = 24;

impl Section {
    /// The whole text with the lines of other sections blank, so that lines keep their numbers.
    #[must_use]
    pub fn text(&self, lines: &[String]) -> Vec<String> {
        let mut out = vec![String::new(); lines.len()];
        for (from, to) in &self.lines {
            for number in *from..(*to).min(lines.len()) {
                out[number].clone_from(&lines[number]);
            }
        }
        out
    }

    /// Its lines as text, numbered from 1: `12-40, 51-60`.
    #[must_use]
    pub fn shown(&self) -> String {
        let mut shown: Vec<String> =
            self.lines.iter().take(3).map(|(from, to)| format!("{}-{to}", from + 1)).collect();
        if self.lines.len() > 3 {
            shown.push("...".to_owned());
        }
        shown.join(", ")
    }

    pub(super) fn add(&mut self, from: usize, to: usize) {
        match self.lines.last_mut() {
            Some((_, end)) if *end == from => *end = to,
            _ => self.lines.push((from, to)),
        }
    }
}

/// The state of a machine in a paragraph.
#[derive(Clone, Debug, Default)]
struct State {
    current: Option<String>,
    available: Option<Vec<String>>,
    release: Option<String>,
    written: Option<String>,
}

impl State {
    /// Whether another reading of the same machine contradicts this one.
    fn contradicts(&self, later: &Self) -> bool {
        let differ =
            |a: &Option<String>, b: &Option<String>| matches!((a, b), (Some(a), Some(b)) if a != b);
        let chosen = self.written.is_some() || later.written.is_some();
        let set = |list: &Option<Vec<String>>| {
            list.clone().map(|mut list| {
                list.sort();
                list
            })
        };
        let lists = match (set(&self.available), set(&later.available)) {
            (Some(a), Some(b)) => a != b,
            _ => false,
        };
        !chosen && differ(&self.current, &later.current)
            || lists
            || differ(&self.release, &later.release)
    }

    /// Whether the paragraph contains no state.
    fn is_empty(&self) -> bool {
        self.current.is_none() && self.available.is_none() && self.release.is_none()
    }

    fn take(&mut self, later: Self) {
        self.current = later.current.or_else(|| self.current.take());
        self.available = later.available.or_else(|| self.available.take());
        self.release = later.release.or_else(|| self.release.take());
        self.written = later.written;
    }
}

/// Separates the machines of a text. One section for a text of one machine, and for one of more than are separated.
#[must_use]
pub fn sections(lines: &[String]) -> Vec<Section> {
    let whole = || vec![Section { host: None, lines: vec![(0, lines.len())] }];
    separated(lines).unwrap_or_else(whole)
}

/// The reason why a text is of no single machine, if it has more of them than are separated.
#[must_use]
pub fn crowded(lines: &[String], depths: &[usize]) -> Option<String> {
    let crowded = separated(lines).is_none() || machines::separated(lines, depths).is_none();
    crowded.then(|| {
        format!("this text has more than {SECTIONS} machines, or states of them: give each of them separately")
    })
}

/// The sections; `None` if they are too many.
fn separated(lines: &[String]) -> Option<Vec<Section>> {
    let consoles = consoles(lines);
    if consoles.len() > 1 {
        return Some(consoles);
    }
    let mut found: Vec<(Section, State)> = vec![(Section::default(), State::default())];
    let mut active = 0;
    for (from, to) in paragraphs(lines) {
        let host =
            lines[from..to].iter().find_map(|line| prompt::read(line)?.host).map(str::to_owned);
        let state = state(&lines[..to], from);
        if let Some(host) = &host {
            if found[active].0.host.is_none() {
                // The lines before the first prompt are of its host.
                if !found[active].1.contradicts(&state) {
                    found[active].0.host = Some(host.clone());
                }
            } else if found[active].0.host.as_ref() != Some(host) {
                let known =
                    found.iter().rposition(|(section, _)| section.host.as_ref() == Some(host));
                active = known.unwrap_or_else(|| {
                    found.push((
                        Section { host: Some(host.clone()), ..Section::default() },
                        State::default(),
                    ));
                    found.len() - 1
                });
            }
        }
        // A trace before such a heading ran on another machine.
        let apart = names_place(&lines[from])
            && found[active].1.is_empty()
            && found[active]
                .0
                .lines
                .iter()
                .any(|(from, to)| lines[*from..*to].iter().any(|line| is_trace(line)));
        if apart || found[active].1.contradicts(&state) {
            let host = host.or_else(|| found[active].0.host.clone());
            found.push((Section { host, ..Section::default() }, State::default()));
            active = found.len() - 1;
        }
        found[active].0.add(from, to);
        found[active].1.take(state);
        if found.len() > SECTIONS {
            return None;
        }
    }
    let sections = found.into_iter().map(|(section, _)| section);
    Some(sections.filter(|section| !section.lines.is_empty()).collect())
}

/// Which sections are older than others: a quoted part of a mail is older than the part that quotes it, and a log of another
/// boot, or of a file, than the readings of the session that prints it. Hosts in prompts are different machines, none of
/// which is older.
#[must_use]
pub fn older(found: &[Section], lines: &[String], depths: &[usize]) -> Vec<bool> {
    let depth = |section: &Section| {
        let numbers = section.lines.iter().flat_map(|(from, to)| *from..(*to).min(lines.len()));
        let telling = numbers.filter(|number| super::has(&lines[*number], "clocksource"));
        telling.filter_map(|number| depths.get(number).copied()).min()
    };
    let of: Vec<Option<usize>> = found.iter().map(depth).collect();
    let least = of.iter().flatten().min().copied();
    let named = found.iter().any(|section| section.host.is_some());
    let before = owner::before_change(lines);
    // The first line about the clocksource shows which state a section is of.
    let first = |section: &Section| {
        let mut numbers = section.lines.iter().flat_map(|(from, to)| *from..(*to).min(lines.len()));
        numbers.find(|number| super::has(&lines[*number], "clocksource"))
    };
    let since = |range: &std::ops::Range<usize>| {
        found.iter().filter_map(first).any(|number| number >= range.end)
    };
    let before = before.filter(since);
    let was = |section: &Section| {
        first(section).is_some_and(|at| before.as_ref().is_some_and(|range| range.contains(&at)))
    };
    let quoted = |depth: Option<usize>| depth > least && depth.is_some();
    let kept = |at: usize| at > 0 && is_of_another_time(lines, &found[at]);
    // A heading that names an earlier state, in a text with one that names a later one.
    let named_as = |section: &Section, words: &[&str]| {
        let name = section.host.as_deref().unwrap_or_default().to_lowercase();
        let first = name.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
        first.is_some_and(|first| words.contains(&first))
    };
    let later = found.iter().any(|section| named_as(section, &LATER));
    let earlier = |section: &Section| later && named_as(section, &EARLIER);
    of.into_iter()
        .zip(found)
        .enumerate()
        .map(|(at, (depth, section))| {
            kept(at) || earlier(section) || !named && (quoted(depth) || was(section))
        })
        .collect()
}

/// First words of headings that name a later state of one machine, and an earlier one.
const LATER: [&str; 6] = ["new", "now", "after", "current", "currently", "today"];
/// See `LATER`.
const EARLIER: [&str; 6] = ["old", "before", "previous", "previously", "former", "earlier"];

/// Files that a machine has only once.
const FILES: [&str; 2] = ["available_clocksource", "current_clocksource"];

/// Runs of lines without a blank one, separated also if a prompt names a different host, or reads a file of the
/// clocksource that the run has already read. Blank lines belong to the run before them.
fn paragraphs(lines: &[String]) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    let mut begin = 0;
    let mut host: Option<&str> = None;
    let mut blank = false;
    let mut files: Vec<&str> = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let is_blank = line.trim().is_empty();
        let prompt = prompt::read(line);
        let file = prompt.as_ref().and_then(|_| FILES.iter().find(|file| line.contains(**file)));
        let again = file.is_some_and(|file| files.contains(file));
        let named = prompt.and_then(|prompt| prompt.host);
        let other = named.is_some() && host.is_some() && named != host;
        let place = names_place(line);
        if number > begin && (blank && !is_blank || other || again || place) {
            out.push((begin, number));
            begin = number;
            host = None;
            files.clear();
        }
        files.extend(file);
        host = named.or(host);
        blank = is_blank;
    }
    if begin < lines.len() {
        out.push((begin, lines.len()));
    }
    out
}

/// Whether a line is a heading that names the machine of the following lines: `# ubuntu running in a container`.
fn names_place(line: &str) -> bool {
    const PLACES: [&str; 8] = [
        "docker",
        "container",
        "virtualbox",
        "virtual box",
        "virtual machine",
        "vmware",
        "bare metal",
        "on the host",
    ];
    let line = line.trim();
    let lower = line.to_ascii_lowercase();
    line.starts_with('#')
        && line.len() < 80
        && prompt::read(line).is_none()
        && PLACES.iter().any(|place| lower.contains(place))
        && [" in ", " on ", " under "].iter().any(|word| lower.contains(word))
}

/// Whether a line is one of a trace: a call with its result.
fn is_trace(line: &str) -> bool {
    line.contains(") = 0") && (line.contains("gettimeofday(") || line.contains("clock_gettime"))
}

/// The state in the lines from this one on. The earlier lines show whether a reading is a real one.
fn state(lines: &[String], from: usize) -> State {
    let mut state = State::default();
    let mut page = super::Page {
        name: "",
        lines,
        told: super::Told::default(),
        symptoms: Vec::new(),
        under: None,
    };
    let mut at = from;
    while at < lines.len() {
        let line = lines[at].trim();
        if let Some((release, _)) = identity::answer(line) {
            state.release = Some(release.to_owned());
        }
        let wrote = line.contains("echo ") && line.contains("current_clocksource");
        let taken = if line.contains("_clocksource") || line.contains("echo ") {
            (super::sysfs::READER.read)(&mut page, at)
        } else {
            0
        };
        if wrote {
            state.written = line
                .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'))
                .find(|word| names::is_known(word))
                .map(str::to_owned)
                .or(state.written);
        } else if taken > 1 && line.contains("echo ") {
            // A wrapped command.
            state.written = page.under.as_ref().map(|(name, _)| name.clone());
        }
        at += taken.max(1);
    }
    state.current = page.told.current.value().cloned();
    state.available = page.told.available.value().cloned();
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_more_machines_than_are_separated_is_crowded() {
        let of = |machines: usize| -> Vec<String> {
            let read = |n: usize| {
                format!(
                    "root@h{n}:~# cat /sys/devices/system/clocksource/clocksource0/current_clocksource\n{}\n",
                    ["tsc", "hpet"][n % 2]
                )
            };
            (0..machines).map(read).collect::<String>().lines().map(str::to_owned).collect()
        };
        assert_eq!((sections(&of(SECTIONS)).len(), crowded(&of(SECTIONS), &[])), (SECTIONS, None));
        let lines = of(SECTIONS + 1);
        assert_eq!(sections(&lines).len(), 1);
        assert!(crowded(&lines, &[]).is_some());
    }

    #[test]
    fn sections_of_two_guests_without_a_blank_line_are_two() {
        let text = "On the first guest:\n$ cat /sys/devices/system/clocksource/clocksource0/available_clocksource\nkvm-clock acpi_pm\n\
                    $ dmesg | grep clocksource\n[    2.600920] Switched to clocksource kvm-clock\nOn the other one:\n\
                    $ cat /sys/devices/system/clocksource/clocksource0/available_clocksource\nxen tsc hpet acpi_pm\n\
                    $ dmesg | grep clocksource\n[    0.607022] Switched to clocksource xen\n";
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let found = sections(&lines);
        assert_eq!(found.iter().map(Section::shown).collect::<Vec<_>>(), ["1-6", "7-10"]);
        // The same list again is the same machine.
        let again: Vec<String> = text
            .replace("xen tsc hpet acpi_pm", "acpi_pm kvm-clock")
            .lines()
            .map(str::to_owned)
            .collect();
        assert_eq!(sections(&again).len(), 1);
    }

    #[test]
    fn console_of_a_guest_is_a_section_of_its_own() {
        let read = "root@kvm1:~# cat /sys/devices/system/clocksource/clocksource0/current_clocksource\ntsc\n";
        let text = format!(
            "{read}root@kvm1:~# virsh console web3\n[    0.512377] clocksource: Switched to clocksource hpet\n{read}"
        );
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let found: Vec<String> = sections(&lines).iter().map(Section::shown).collect();
        assert_eq!(found, ["1-3, 5-6", "4-4"]);
    }

    #[test]
    fn output_of_a_command_on_another_machine_is_of_that_machine() {
        let file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        let text = format!("root@db1:~# cat {file}\ntsc\nroot@db1:~# ssh db2 cat {file}\nhpet\n");
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let found = sections(&lines);
        let hosts: Vec<Option<&str>> = found.iter().map(|one| one.host.as_deref()).collect();
        assert_eq!(hosts, [Some("db1"), Some("db2")]);
    }

    #[test]
    fn trace_in_front_of_a_heading_of_another_place_is_a_section_of_its_own() {
        let trace = "$ strace ./a\ngettimeofday({tv_sec=1, tv_usec=2}, NULL) = 0\n";
        let reading =
            "$ cat /sys/devices/system/clocksource/clocksource0/current_clocksource\ntsc\n";
        for (heading, expected) in [
            ("# ubuntu in virtual box", 2),
            ("# the same in a container", 2),
            ("# which clocksource is in use", 1),
        ] {
            let text = format!("{trace}{heading}\n{reading}");
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            assert_eq!(sections(&lines).len(), expected, "{heading}");
            // The reading is of the traced machine.
            let text = format!("{reading}{trace}{heading}\n");
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            assert_eq!(sections(&lines).len(), 1, "{heading}");
        }
    }

    #[test]
    fn quoted_section_is_older_than_the_one_that_quotes_it() {
        let read = |name: &str| {
            format!(
                "$ cat /sys/devices/system/clocksource/clocksource0/current_clocksource\n{name}\n"
            )
        };
        let quoted = format!("Somebody wrote:\n{}", read("hpet")).replace('\n', "\n> ");
        let is = |text: &str| {
            let (lines, depths) =
                crate::paste::quoted_lines(text.as_bytes(), "text").unwrap_or_default();
            older(&sections(&lines), &lines, &depths)
        };
        assert_eq!(is(&format!("{quoted}\n\nNow:\n{}", read("tsc"))), [true, false]);
        assert_eq!(is(&format!("Now:\n{}\n{quoted}", read("tsc"))), [false, true]);
        assert_eq!(is(&format!("{}\nNow:\n{}", read("hpet"), read("tsc"))), [false, false]);
        let prompts = format!("{quoted}\n\n{}", read("tsc")).replace("> $", "> root@a:~$");
        assert_eq!(is(&prompts.replace("\n$", "\nroot@b:~$")), [false, false]);
    }
}
