//! Texts in prose: the pages that concern them, and the refusal of a text in which nothing is evidence.

use clocksmith_diagnose::explain::{self, Known};
use clocksmith_facts::wall::Apart;
use std::fmt;

/// Words that only another system prints, with its name.
const OTHERS: [(&str, &str); 5] = [
    ("kern.timecounter.", "FreeBSD or a relative of it"),
    ("Timecounter \"", "FreeBSD or a relative of it"),
    ("kern.clockrate", "a BSD or macOS"),
    ("w32tm /query", "Windows"),
    ("NetBSD", "NetBSD"),
];

/// Pages of products on which reads of the clock are known to be slow.
const PRODUCTS: [&str; 3] = ["EC2 instance families", "xen", "seccomp"];

/// The subjects of a text that have pages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subjects {
    /// Those about wall clocks; empty if the text is not about one.
    pub(crate) wall: Vec<&'static str>,
    /// Those about reads of the clock.
    pub(crate) reads: Vec<&'static str>,
    /// Those about products on which reads of the clock are known to be slow.
    pub(crate) products: Vec<&'static str>,
    /// The rate at which a clock goes wrong by the text's figures, as a sentence.
    pub(crate) rate: Option<String>,
    /// Another system that the text is of.
    other: Option<&'static str>,
}

impl Subjects {
    pub(crate) fn of(lines: &[String]) -> Self {
        let text = lines.join("\n");
        let other = OTHERS.iter().find(|(word, _)| text.contains(word)).map(|(_, name)| *name);
        let reads = if other.is_some() { Vec::new() } else { explain::of_reads(&text) };
        let products =
            reads.iter().copied().filter(|page| PRODUCTS.contains(page)).collect::<Vec<_>>();
        let mut wall = explain::of_wall_clock(&text);
        let rate = (!wall.is_empty()).then(|| explain::stated_rate(&text)).flatten();
        // The general page is about Linux.
        if other.is_some() && wall == [explain::WALL_CLOCK] {
            wall.clear();
        }
        Self { wall, reads, products, rate, other }
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
        let pages = |words: &[&str]| {
            let page = |word: &&str| format!("`clocksmith explain '{word}'`");
            words.iter().map(page).collect::<Vec<_>>().join(", ")
        };
        let message = if !subjects.wall.is_empty() {
            let rate = subjects.rate.as_ref().map_or_else(String::new, |rate| format!(" {rate}."));
            format!(
                "{head}, and nothing else that clocksmith can read. It seems to be about a clock \
                 that shows the wrong time: {} says what is known about that.{rate} To settle it, run \
                 `clocksmith why` on that machine, or give, here, the output of `timedatectl` and \
                 `chronyc tracking` from there",
                pages(&subjects.wall)
            )
        } else if !subjects.reads.is_empty() {
            format!(
                "{head}, and nothing else that clocksmith can read. It mentions words about reading \
                 the clock: {} says what is known about them. To settle it, run `clocksmith why` on \
                 that machine, or give, here, that machine's output of `dmesg`, `cat /proc/cmdline` \
                 and `cat /sys/devices/system/clocksource/clocksource0/*_clocksource`",
                pages(&subjects.reads)
            )
        } else {
            let empty = if is_empty { " (it is empty)" } else { "" };
            let other = subjects.other.map_or_else(String::new, |name| {
                format!(
                    ". It seems to be from {name}, but clocksmith knows only the clocks of \
                         Linux"
                )
            });
            format!(
                "{head}{empty}, and nothing else that clocksmith can read (profiles, traces of \
                 system calls, readings of /sys and /proc){other}. Give the output of `dmesg` or \
                 `journalctl -k -b`"
            )
        };
        Self { message, known: explain::known(subjects.first()) }
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
