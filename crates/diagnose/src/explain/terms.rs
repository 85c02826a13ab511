//! The pages that a text in prose names by one of their words: every word that `explain` accepts is looked for. Words
//! that name a clock count by themselves, others only with words about clocks near them. Not in this module: lists of
//! phrases that people use for a page ([`super::wall_pages`], [`super::read_words`]).

use super::entry::Entry;
use super::knowledge::{CAUSES, MESSAGES, PARAMETERS, TERMS};
use super::wall_words::{has, small};
use super::{resolution, timers};
use std::collections::{BTreeMap, HashSet};

/// Maximum number of pages that are named.
const MOST: usize = 3;
/// Bytes before and after a word in which its context is.
const NEAR: usize = 120;
/// Bytes at the beginning of a text that say what it is about.
const HEAD: usize = 160;
/// The shortest word that is looked for.
const SHORTEST: usize = 3;
/// The shortest word in small letters that is not an ordinary one if it has a part about clocks.
const LONG: usize = 8;
/// The longest acronym, which is looked for in capital letters.
const ACRONYM: usize = 5;
/// Occurrences of a word that count.
const COUNTED: usize = 4;
/// The weight of a word in the beginning of a text.
const IN_HEAD: usize = 3;
/// The weight from which on a text is about a page: a word of clocks at its beginning, or again and again.
const SUBJECT: usize = 8;

/// Parts of words that name a clock or its fault.
const STEMS: [&str; 19] = [
    "clock", "time", "timing", "tsc", "ntp", "rtc", "drift", "skew", "leap", "chrony", "ptp",
    "hpet", "tick", "epoch", "stratum", "slew", "makestep", "1970", "2038",
];

/// Pages of products, of tools and of this program's own words: their names say nothing of a clock.
const OTHERS: [&str; 64] = [
    "layer without a vDSO",
    "Xdebug",
    "container clock",
    "verdict",
    "layer",
    "path",
    "timeline",
    "rating",
    "CPUID",
    "KVM",
    "QEMU",
    "/proc/cmdline",
    "GRUB_CMDLINE_LINUX",
    "perf",
    "strace",
    "entry_SYSCALL_64",
    "el0_svc_common",
    "gdb",
    "systemd-detect-virt",
    "virsh dumpxml",
    "cloud-init",
    "sysbench",
    "bpftrace",
    "folded stacks",
    "UUID",
    "SQLite",
    "Cassandra",
    "ClickHouse",
    "Docker Desktop",
    "EC2 instance families",
    "Erlang",
    "Firecracker",
    "Go",
    "Google Compute Engine",
    "Graviton",
    "Consul, Nomad and Vault",
    "Hyper-V",
    "InfluxDB",
    "Java",
    "KubeVirt",
    "MongoDB",
    "MySQL",
    "Node.js",
    "Proxmox VE",
    "Python",
    "Ruby",
    "Varnish",
    "VirtualBox",
    "WSL",
    "Xen",
    "bhyve",
    ".NET",
    "nginx",
    "podman machine",
    "kubelet",
    "vmware",
    "gVisor",
    "node_exporter",
    "slow-clocksource",
    "guest agent",
    "libvirt timers",
    "token used before issued",
    "KVM_CLOCK_REALTIME",
    "hypervisor leaves",
];

/// Of these, products whose pages say what a wrong wall clock does to them.
const PRODUCTS: [&str; 15] = [
    "MongoDB",
    "Cassandra",
    "Consul, Nomad and Vault",
    "InfluxDB",
    "Firecracker",
    "Hyper-V",
    "VirtualBox",
    "WSL",
    "Docker Desktop",
    "podman machine",
    "KubeVirt",
    "Proxmox VE",
    "Google Compute Engine",
    "kubelet",
    "UUID",
];

/// Words of texts about circuits, whose clocks are others.
const CIRCUITS: [&str; 10] = [
    "fpga",
    "verilog",
    "vhdl",
    "clock domain",
    "clock domains",
    "posedge",
    "flip-flop",
    "place and route",
    "asic",
    "hold violation",
];

/// Pages of a whole field, which the lists of phrases name, and a word of many texts.
const FIELDS: [&str; 4] = ["NTP", "wall clock", "clocksource", "timeline"];

/// Pages of functions that programs call, and of what many texts mention: a word about cost or a fault is near them.
const CALLS: [&str; 33] = [
    "CLOCK_MONOTONIC",
    "CLOCK_REALTIME",
    "CLOCK_BOOTTIME",
    "CLOCK_MONOTONIC_RAW",
    "CLOCK_PROCESS_CPUTIME_ID",
    "CLOCK_TAI",
    "time()",
    "Go",
    "Java",
    "Python",
    "Ruby",
    "Node.js",
    ".NET",
    "std::chrono",
    "Instant::now",
    "pprof",
    "async-profiler",
    "clock_nanosleep",
    "clock_settime",
    "gettimeofday",
    "clock_gettime",
    "TFD_TIMER_CANCEL_ON_SET",
    "ktime_get",
    "getcpu",
    "posix_get_monotonic_timespec",
    "clock event device",
    "high resolution",
    "time zone",
    "suspend",
    "1970-01-19",
    "timekeeping_update",
    "KVM",
    "trace clock",
];

/// Pages about what a wrong clock causes: their names suffice, without other words about clocks.
const FAULTY: [&str; 3] = ["TOTP", "RequestTimeTooSkewed", "GPS week rollover"];

/// Words about clocks.
const CLOCKS: [&str; 17] = [
    "clock",
    "tsc",
    "clock_monotonic",
    "clock_monotonic_coarse",
    "clock_gettime",
    "clocks",
    "clocksource",
    "ntp",
    "ntpd",
    "ntpq",
    "ntpdate",
    "chrony",
    "chronyd",
    "rtc",
    "timestamps",
    "timekeeping",
    "vdso",
];
/// Words about what a read or a measurement costs.
const COSTS: [&str; 14] = [
    "slow",
    "slower",
    "takes",
    "overhead",
    "expensive",
    "latency",
    "ns",
    "\u{b5}s",
    "nanoseconds",
    "microseconds",
    "cost",
    "costs",
    "syscall",
    "syscalls",
];
/// Words about a fault of what a clock shows.
const FAULTS: [&str; 12] = [
    "wrong",
    "behind",
    "ahead",
    "incorrect",
    "differ",
    "differs",
    "backwards",
    "jumps",
    "jumped",
    "hour",
    "hours",
    "mismatch",
];

/// A page that a text names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// The word that `explain` accepts.
    pub page: &'static str,
    /// Whether the text is about it.
    pub is_subject: bool,
    /// Whether it is a product, which only a text about clocks is meant for.
    pub is_product: bool,
}

/// How a word leads to its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Grade {
    /// An ordinary word: next to a word about clocks.
    Plain,
    /// A name or several words: next to a word about clocks, cost or a fault.
    Named,
    /// The word itself is about clocks.
    Own,
}

impl Grade {
    fn of(word: &str, page: &str, is_message: bool) -> Option<Self> {
        let lower = word.to_lowercase();
        let has_stem = STEMS.iter().any(|stem| lower.contains(stem));
        let is_call = CALLS.contains(&page);
        let is_product = PRODUCTS.contains(&page);
        let is_other = OTHERS.contains(&page) && !is_product;
        if FIELDS.contains(&page) || word.len() < SHORTEST || !has_stem && (is_message || is_other)
        {
            return None;
        }
        // `clock_realtime` is a field of a product, and the name of a clock.
        let is_it =
            |entry: &Entry| entry.title() != page && entry.title().eq_ignore_ascii_case(word);
        if is_product && TERMS.iter().any(is_it) {
            return None;
        }
        let is_plain = word.chars().all(|c| c.is_ascii_lowercase());
        let is_long = word.len() >= LONG && has_stem;
        // A product's name is not what a text is about.
        if is_product && !has_stem || is_plain && !is_long {
            return (!is_call && !is_other).then_some(Self::Plain);
        }
        // These are about a wrong clock by themselves.
        let is_fault = FAULTY.contains(&page);
        Some(if is_fault || has_stem && !is_call { Self::Own } else { Self::Named })
    }

    fn weight(self) -> usize {
        match self {
            Self::Plain => 0,
            Self::Named => 2,
            Self::Own => 4,
        }
    }

    /// Whether the text around a word shows that it is about clocks.
    fn fits(self, around: &str) -> bool {
        let any = |words: &[&str]| words.iter().any(|word| is_there(around, word));
        match self {
            Self::Plain => any(&CLOCKS),
            Self::Named => any(&CLOCKS) || any(&COSTS) || any(&FAULTS),
            Self::Own => true,
        }
    }
}

fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_there(text: &str, word: &str) -> bool {
    has(text, word, false, is_part)
}

/// The pages that a text names, those that say most of it first.
pub(super) fn of_text(text: &str) -> Vec<Term> {
    let cased = text.get(..text.len().min(64 << 10)).unwrap_or(text);
    let cased = cased.split_whitespace().collect::<Vec<_>>().join(" ");
    let small = small(&cased);
    if CIRCUITS.iter().any(|word| is_there(&small, word)) {
        return Vec::new();
    }
    let known: HashSet<&str> = small.split(|c: char| !is_part(c)).collect();
    let mut pages: BTreeMap<&'static str, usize> = BTreeMap::new();
    let tables = [(TERMS, false), (PARAMETERS, false), (CAUSES, false), (MESSAGES, true)];
    for (table, is_message) in tables {
        for entry in table {
            let best = weight_of(entry, is_message, &cased, &small, &known);
            if best > 0 {
                let weight = pages.entry(entry.title()).or_default();
                *weight = best.max(*weight);
            }
        }
    }
    // Beside these pages, the names of clocks say nothing more.
    for (tells, page) in
        [(resolution::tells(&small), resolution::PAGE), (timers::tells(&small), timers::PAGE)]
    {
        if tells {
            pages.retain(|other, _| *other == page);
        }
    }
    let mut found: Vec<(&'static str, usize)> = pages.into_iter().collect();
    found.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
    let term = |(page, weight)| Term {
        page,
        is_subject: weight >= SUBJECT,
        is_product: PRODUCTS.contains(&page),
    };
    found.into_iter().take(MOST).map(term).collect()
}

/// The weight of the words of a page in a text; 0 if it has none.
fn weight_of(
    entry: &Entry,
    is_message: bool,
    cased: &str,
    small: &str,
    known: &HashSet<&str>,
) -> usize {
    let weight = |word: &&str| {
        let grade = Grade::of(word, entry.title(), is_message)?;
        let lower = word.to_lowercase();
        // Most words are ruled out by their first part.
        let mut parts = lower.split(|c: char| !is_part(c)).filter(|part| !part.is_empty());
        if !parts.all(|part| known.contains(part)) {
            return None;
        }
        let is_acronym = word.len() <= ACRONYM && word.chars().all(|c| c.is_ascii_uppercase());
        // `Time.now` of one language is `time.Now` of another.
        let is_code = word.contains('.') && lower != **word;
        let (text, wanted) =
            if is_acronym || is_code { (cased, *word) } else { (small, lower.as_str()) };
        let places: Vec<usize> = text
            .match_indices(wanted)
            .map(|(at, _)| at)
            .filter(|at| !text[..*at].chars().next_back().is_some_and(is_part))
            .filter(|at| !text[at + wanted.len()..].chars().next().is_some_and(is_part))
            .filter(|at| grade.fits(around(small, *at, wanted.len())))
            .filter(|at| has_other(&lower, around(small, *at, wanted.len())))
            .take(COUNTED)
            .collect();
        let first = places.first()?;
        let in_head = if *first < HEAD { IN_HEAD } else { 0 };
        Some(grade.weight() + in_head + places.len())
    };
    entry.words.iter().filter_map(weight).max().unwrap_or(0)
}

/// Words of which one alone is said of other things, and what is near them otherwise.
const PAIRED: [(&str, [&str; 4]); 2] = [
    ("shift", ["mult", "cyc2ns", "clocksource", "cycles"]),
    ("mult", ["shift", "cyc2ns", "clocksource", "cycles"]),
];

/// Whether a word is none of those, or has one of the others near it.
fn has_other(word: &str, around: &str) -> bool {
    let others = PAIRED.iter().find(|(name, _)| *name == word);
    others.is_none_or(|(_, others)| others.iter().any(|other| is_there(around, other)))
}

/// The text around a place.
fn around(text: &str, at: usize, len: usize) -> &str {
    let from = (at.saturating_sub(NEAR)..=at).find(|from| text.is_char_boundary(*from));
    let to =
        (at + len..=(at + len + NEAR).min(text.len())).rev().find(|to| text.is_char_boundary(*to));
    from.zip(to).and_then(|(from, to)| text.get(from..to)).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Vec<&'static str> {
        of_text(text).into_iter().map(|term| term.page).collect()
    }

    #[test]
    fn words_of_pages_lead_to_them() {
        for (text, page) in [
            ("With EXPLAIN ANALYZE our query is ten times slower than without", "pg_test_timing"),
            ("track_io_timing adds overhead to every scan", "pg_test_timing"),
            ("the gauge node_timex_sync_status is 0 on all hosts", "node_exporter"),
            ("status shows STA_UNSYNC, and the clock is right", "wall-clock-unsynchronised"),
            ("ntpd gave up: it is in ntpd panic\nmode since Monday", NTPD_PANIC),
            ("a call of std::time::Instant takes 1 us here", "Instant::now"),
            ("we forgot rtcsync, and chronyd runs", "rtcsync"),
            ("the host has the wrong time zone", "time zone"),
            ("our timezone is wrong there by an hour", "time zone"),
            ("codes of Google Authenticator are refused", "TOTP"),
            ("the image preloads libfaketime", "libfaketime"),
            ("a clock of our MongoDB is wrong", "MongoDB"),
            ("the clock is in 2002, a GPS rollover", "GPS week rollover"),
        ] {
            assert!(named(text).contains(&page), "{text}: {:?}", named(text));
        }
    }

    #[test]
    fn a_word_in_the_title_is_the_subject() {
        let subject = |text: &str| of_text(text).first().is_some_and(|term| term.is_subject);
        assert!(subject("# node_timex_sync_status is 0 everywhere"));
        let late =
            format!("{} and node_timex_sync_status is 0", "We look at many gauges. ".repeat(9));
        assert!(!subject(&late));
    }

    /// The page of ntpd's panic.
    const NTPD_PANIC: &str = "time correction of N seconds exceeds sanity limit (1000); set clock manually to the correct \
                              UTC time.";

    #[test]
    fn ordinary_words_do_not() {
        for text in [
            "the boot is slow, and the program has a high load",
            "the path to the layer is unknown; check the runtime",
            "an ok mask of the shift register",
            "docker run --rm nginx: the request fails",
            "we reach the node, then reset it",
            "the timeline of the incident: at 10:00 it began",
            "I moved the user to another time zone list",
            "do_syscall_64+0x5b/0x1a0",
            "the drift of our sprints; time tracking goes to another tool",
            "the FPGA's clock has a skew of 0.4 ns between two registers",
            "if the shift of the clock is large",
            "",
        ] {
            assert_eq!(named(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn every_page_that_is_named_exists() {
        for page in OTHERS.iter().chain(&CALLS).chain(&FIELDS).chain(&PRODUCTS).chain(&FAULTY) {
            assert!(!super::super::explain(page).is_empty(), "{page}");
        }
    }
}
