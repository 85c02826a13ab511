//! Texts in prose: the pages that concern them, and the refusal of a text in which nothing is evidence.

use clocksmith_diagnose::explain::{self, Known, Term};
use clocksmith_facts::wall::Apart;
use std::fmt;

/// Words that only another system prints, with its name.
const OTHERS: [(&str, &str); 11] = [
    ("zephyr/kernel.h", "Zephyr"),
    ("CheriBSD", "CheriBSD"),
    ("_darwin_amd64.s", "macOS"),
    ("_darwin_arm64.s", "macOS"),
    ("libsystem_kernel.dylib", "macOS"),
    ("esp-tls", "an ESP32"),
    ("kern.timecounter.", "FreeBSD or a system derived from it"),
    ("Timecounter \"", "FreeBSD or a system derived from it"),
    ("kern.clockrate", "a BSD or macOS"),
    ("w32tm /query", "Windows"),
    ("NetBSD", "NetBSD"),
];

/// Pages of products on which reads of the clock are known to be slow.
const PRODUCTS: [&str; 3] = ["EC2 instance families", "xen", "seccomp"];

/// Pages of a whole field.
const FIELDS: [&str; 2] = [explain::WALL_CLOCK, "clocksource"];
/// Pages whose advice is for Linux alone.
const OF_LINUX: [&str; 2] = [explain::WALL_CLOCK, explain::RATE];
/// Maximum number of pages that are named.
const MOST: usize = 4;

/// The subjects of a text that have pages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subjects {
    /// Those about wall clocks; empty if the text is not about one.
    pub(crate) wall: Vec<&'static str>,
    /// Those about wall clocks in the sentences beside the lines of a log.
    pub(crate) in_sentences: Vec<&'static str>,
    /// Those about reads of the clock.
    pub(crate) reads: Vec<&'static str>,
    /// Those about products on which reads of the clock are known to be slow.
    pub(crate) products: Vec<&'static str>,
    /// The words of `explain` in it.
    terms: Vec<Term>,
    /// Why nothing in the text is a report of a fault.
    pub(crate) no_claim: Option<&'static str>,
    /// The rate at which a clock goes wrong by the text's figures, as a sentence.
    pub(crate) rate: Option<String>,
    /// Whether the text says that a clock is wrong.
    says_wrong: bool,
    /// Another system that the text is of.
    other: Option<&'static str>,
    /// The messages that it quotes, by their pages.
    pub(crate) quoted: Vec<&'static str>,
    /// The page that answers a text which shows no fault, and the answer.
    pub(crate) harmless: Option<(&'static str, &'static str)>,
    /// Whether it judges a clocksource, and says nothing of a wrong time.
    judges: bool,
    /// Whether it names a sleep or a suspend.
    pub(crate) names_a_sleep: bool,
    /// The commands whose output would show more.
    asked: String,
}

impl Subjects {
    pub(crate) fn of(lines: &[String]) -> Self {
        let text = lines.join("\n");
        let whole = clocksmith_facts::paste::other_system(lines);
        let named = OTHERS.iter().find(|(word, _)| text.contains(word)).map(|(_, name)| *name);
        let other = whole.or(named);
        let reads = if other.is_some() { Vec::new() } else { explain::of_reads(&text) };
        let products =
            reads.iter().copied().filter(|page| PRODUCTS.contains(page)).collect::<Vec<_>>();
        let mut wall = explain::of_wall_clock(&text);
        let rate = (!wall.is_empty()).then(|| explain::stated_rate(&text)).flatten();
        // These pages are about Linux.
        if whole.is_some() || other.is_some() && wall.iter().all(|page| OF_LINUX.contains(page)) {
            wall.clear();
        }
        let terms = if other.is_some() { Vec::new() } else { explain::of_terms(&text) };
        let is_of_log = |line: &&String| {
            line.contains(" kernel: ") || line.trim_start().starts_with(['[', '<'])
        };
        let sentences: Vec<&str> =
            lines.iter().filter(|line| !is_of_log(line)).map(String::as_str).collect();
        // Without a log these are the text.
        let in_sentences = match sentences.len() == lines.len() || other.is_some() {
            true => Vec::new(),
            false => explain::of_wall_clock(&sentences.join("\n")),
        };
        let no_claim = explain::no_claim(&text);
        let says_wrong = !wall.is_empty() && explain::says_wrong(&text);
        let quoted = if other.is_some() { Vec::new() } else { explain::quoted(&text) };
        let harmless = if other.is_some() { None } else { explain::harmless(&text, &quoted) };
        let judges = explain::judges_a_clocksource(&text);
        let names_a_sleep = explain::names_a_sleep(&text);
        let asked = explain::asked_for(&text);
        Self {
            wall,
            in_sentences,
            reads,
            products,
            terms,
            no_claim,
            rate,
            says_wrong,
            other,
            quoted,
            harmless,
            judges,
            names_a_sleep,
            asked,
        }
    }

    /// The same, with the page of the program whose guest has another time.
    pub(crate) fn with(mut self, apart: Option<&Apart>) -> Self {
        let page = apart.and_then(|apart| match apart.with {
            "wsl" | "wsl.exe" => Some("WSL"),
            "podman" => Some("podman machine"),
            "docker" | "colima" | "lima" | "limactl" | "nerdctl" => Some("Docker Desktop"),
            _ => None,
        });
        if let Some(page) = page.filter(|page| !self.wall.contains(page)) {
            self.wall.insert(0, page);
        }
        self
    }

    /// The pages of the subject that the text is about first of all.
    pub(crate) fn first(&self) -> &[&'static str] {
        if self.wall.is_empty() { &self.reads } else { &self.wall }
    }

    /// The same behind the messages that the text quotes.
    pub(crate) fn quoted_first(&self) -> Vec<&'static str> {
        self.quoted.iter().chain(self.first()).copied().collect()
    }

    /// The same in a text without evidence, with the words of `explain` that the text names: first those that it is about, and all
    /// where nothing but the field is known.
    fn pages(&self) -> Vec<&'static str> {
        if let Some((page, _)) = self.harmless {
            return vec![page];
        }
        let mut known = self.first().to_vec();
        if self.judges && !self.reads.is_empty() {
            known = self.reads.iter().chain(&self.wall).copied().collect();
        }
        let known = known.as_slice();
        let is_field = self.is_field();
        // A rate from the text's own figures is the most informative.
        let lead = usize::from(known.first() == Some(&explain::RATE));
        let mut pages = known.to_vec();
        let of = |is_subject: bool| {
            let of_kind = self.terms.iter().filter(move |term| term.is_subject == is_subject);
            let meant = of_kind.filter(|term| !term.is_product || !known.is_empty());
            meant.map(|term| term.page).filter(|page| !known.contains(page))
        };
        let first = if is_field { lead } else { pages.len() };
        let others = of(false).filter(|_| is_field);
        for (at, page) in of(true).chain(others).enumerate() {
            pages.insert(first + at, page);
        }
        // A message that is quoted says more than words of its field, and a page has several names.
        let mut pages: Vec<&'static str> = self.quoted.iter().copied().chain(pages).collect();
        let mut titles = std::collections::HashSet::new();
        pages.retain(|page| {
            let title = explain::explain(page).first().map(|found| found.title.clone());
            titles.insert(title.unwrap_or_else(|| (*page).to_owned()))
        });
        pages.truncate(MOST);
        pages
    }

    /// Whether the curated lists know no more of the text than its field.
    fn is_field(&self) -> bool {
        self.first().iter().all(|page| FIELDS.contains(page))
    }

    /// Whether the text names pages other than those of products.
    fn has_terms(&self) -> bool {
        self.terms.iter().any(|term| !term.is_product)
    }

    /// The pages about wall clocks that say more than the one of the field; without any, those of what the text is about.
    pub(crate) fn special(&self) -> Vec<&'static str> {
        let of_wall = self.wall.iter().copied().filter(|page| *page != explain::WALL_CLOCK);
        let of_wall: Vec<&'static str> = of_wall.collect();
        if of_wall.is_empty() && !self.wall.is_empty() {
            return self
                .terms
                .iter()
                .filter(|term| term.is_subject)
                .map(|term| term.page)
                .collect();
        }
        of_wall
    }

    /// Whether the text says that a clock shows a wrong time.
    pub(crate) fn is_wrong(&self) -> bool {
        self.says_wrong
            && !self.wall.is_empty()
            && (!self.is_field() || !self.has_terms() || self.rate.is_some())
    }
}

/// A text with nothing that can be read as evidence.
#[derive(Debug)]
pub(crate) struct Unread {
    message: String,
    known: Vec<Known>,
}

impl Unread {
    /// `shown`: the name of the text.
    pub(crate) fn of(shown: &str, is_empty: bool, subjects: &Subjects) -> Self {
        let head = format!("{shown} has no line that looks like a Linux kernel message");
        // `A says`, `A and B say`
        let pages = |words: &[&str]| {
            let page = |word: &&str| match word.contains('\'') {
                true => format!("`clocksmith explain \"{word}\"`"),
                false => format!("`clocksmith explain '{word}'`"),
            };
            let pages: Vec<String> = words.iter().map(page).collect();
            match pages.split_last() {
                Some((last, [])) => format!("{last} says"),
                Some((last, others)) => format!("{} and {last} say", others.join(", ")),
                None => String::new(),
            }
        };
        let named = subjects.pages();
        let is_said = |what: &&str| !named.is_empty() || *what == explain::EXAMPLES;
        let message = if let Some(what) = subjects.no_claim.filter(is_said) {
            let words = match named.is_empty() {
                true => String::new(),
                false => format!(
                    ". It mentions words about clocks: {} what is known about them",
                    pages(&named)
                ),
            };
            format!(
                "{head}, and nothing else that clocksmith can read. It looks like {what}: clocksmith finds no fault of \
                 a machine in it{words}"
            )
        } else if subjects.is_wrong() {
            let rate = subjects.rate.as_ref().map_or_else(String::new, |rate| format!(" {rate}."));
            format!(
                "{head}, and nothing else that clocksmith can read. It seems to be about a clock that shows the wrong \
                 time: {} what is known about that.{rate} For a diagnosis, run `clocksmith why` on that machine, or \
                 give this command the output of {} from there",
                pages(&named),
                subjects.asked
            )
        } else if subjects.wall.is_empty() && !subjects.reads.is_empty() {
            format!(
                "{head}, and nothing else that clocksmith can read. It mentions words about reading the clock: {} what \
                 is known about them. For a diagnosis, run `clocksmith why` on that machine, or give this command that \
                 machine's output of `dmesg`, `cat /proc/cmdline` and `cat \
                 /sys/devices/system/clocksource/clocksource0/*_clocksource`",
                pages(&named)
            )
        } else if !named.is_empty() {
            let dmesg = match subjects.wall.is_empty() || !subjects.reads.is_empty() {
                true => "`dmesg`, ",
                false => "",
            };
            format!(
                "{head}, and nothing else that clocksmith can read. It mentions words about clocks: {} what is known \
                 about them. For a diagnosis, run `clocksmith why` on that machine, or give this command that \
                 machine's output of {dmesg}{}",
                pages(&named),
                subjects.asked
            )
        } else {
            let empty = if is_empty { " (it is empty)" } else { "" };
            // Its commands for that are others.
            let rest = subjects.other.map_or_else(
                || ". Give the output of `dmesg` or `journalctl -k -b`".to_owned(),
                |name| {
                    format!(
                        ". It seems to be from {name}, but clocksmith knows only the clocks of \
                         Linux"
                    )
                },
            );
            format!(
                "{head}{empty}, and nothing else that clocksmith can read (profiles, traces of \
                 system calls, readings of /sys and /proc){rest}"
            )
        };
        let known = match subjects.no_claim {
            Some(_) => Vec::new(),
            None => explain::known(&named),
        };
        Self { message, known }
    }

    /// What the pages say of the subject of the text, if an error is of this kind.
    pub(crate) fn known(error: &anyhow::Error) -> &[Known] {
        match error.downcast_ref::<Self>() {
            Some(unread) => &unread.known,
            None => &[],
        }
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Unread {}
