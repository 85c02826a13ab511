//! The unit of the shares of a profile: time, or events of another kind.

use crate::paste::Page;
use serde::Serialize;

/// The events that a profile counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counted {
    /// Time, or events proportional to it: cycles, samples of the CPU clock. Also if the profile does not show it.
    #[default]
    Time,
    /// Other events, by their name: `cache-misses`, `alloc_space`.
    Events(String),
    /// Two recordings, side by side.
    Difference,
}

/// Lines above the first row that contain the head of a profile.
const HEAD: usize = 14;
/// Events of perf that are proportional to time, without their modifiers.
const OF_TIME: [&str; 8] = [
    "cycles",
    "cpu-cycles",
    "ref-cycles",
    "bus-cycles",
    "cpu-clock",
    "task-clock",
    "cpu_clk_unhalted.thread",
    "cpu_clk_unhalted.ref_tsc",
];
/// Values of `Type:` in pprof that are CPU time or wall time.
const TYPES_OF_TIME: [&str; 5] = ["cpu", "samples", "wall", "time", "fgprof"];
/// Values of `Type:` in pprof that are not time: `runtime/pprof`, profiles of the heap, of locks and of goroutines.
const OTHER_TYPES: [&str; 8] = [
    "alloc_space",
    "alloc_objects",
    "inuse_space",
    "inuse_objects",
    "delay",
    "contentions",
    "goroutine",
    "threadcreate",
];

impl Counted {
    /// The unit in the head of perf's table above a row.
    pub(super) fn above_perf(page: &Page<'_>, at: usize) -> Self {
        for number in (at.saturating_sub(HEAD)..at).rev() {
            let line = page.line(number);
            if line.contains("Baseline") && line.contains("Delta") {
                return Self::Difference;
            }
            if let Some(event) = event(line) {
                return if is_of_time(event) { Self::Time } else { Self::Events(short(event)) };
            }
        }
        Self::Time
    }

    /// The unit in the head of a sample of `perf script`: `app 42 [001] 12.345678:  250000 cycles:u:`.
    pub(super) fn above_sample(page: &Page<'_>, at: usize) -> Self {
        let head = page.line(at.saturating_sub(1)).trim_end();
        let mut words = head.split_ascii_whitespace().rev();
        let event = words.next().and_then(|word| word.strip_suffix(':'));
        let is_time = |word: &str| word.bytes().all(|b| b.is_ascii_digit() || b".:".contains(&b));
        match event {
            // A time precedes the event, with or without a number between them.
            Some(event)
                if at > 0
                    && !is_time(event)
                    && words.take(2).any(|word| word.ends_with(':') && is_time(word)) =>
            {
                if is_of_time(event) {
                    Self::Time
                } else {
                    Self::Events(short(event))
                }
            }
            _ => Self::Time,
        }
    }

    /// The unit in the names of the columns of async-profiler's flat output: `bytes  percent  samples  top`.
    pub(super) fn above_flat(page: &Page<'_>, at: usize) -> Self {
        let of_bytes = (at.saturating_sub(3)..at).any(|number| {
            let mut words = page.line(number).split_ascii_whitespace();
            words.next() == Some("bytes") && words.next() == Some("percent")
        });
        if of_bytes { Self::Events("bytes".to_owned()) } else { Self::Time }
    }

    /// The unit in the head of pprof's table above a row.
    pub(super) fn above_pprof(page: &Page<'_>, at: usize) -> Self {
        let kinds = (at.saturating_sub(HEAD)..at).rev().filter_map(|number| {
            let kind = page.line(number).trim().strip_prefix("Type: ")?.trim();
            (TYPES_OF_TIME.contains(&kind) || OTHER_TYPES.contains(&kind)).then_some(kind)
        });
        match kinds.into_iter().next() {
            Some(kind) if OTHER_TYPES.contains(&kind) => Self::Events(short(kind)),
            _ => Self::Time,
        }
    }
}

/// The event in the head of a table: `# Samples: 10K of event 'cycles:u'`, `of events 'anon group { cycles, faults }'`.
pub(super) fn event(line: &str) -> Option<&str> {
    if !line.contains("amples") {
        return None;
    }
    let (_, rest) = line.split_once(" of event")?;
    let rest = rest.strip_prefix('s').unwrap_or(rest).strip_prefix(" '")?;
    let (event, _) = rest.split_once('\'')?;
    Some(event)
}

/// Whether an event is proportional to time. Of a group the first one counts.
fn is_of_time(event: &str) -> bool {
    let event = event.split_once('{').map_or(event, |(_, group)| group);
    let event = event.split([',', '}']).next().unwrap_or_default().trim();
    // `cpu_core/cycles/P`, `cpu/cpu-cycles,freq=99/`, `cycles:ppp`.
    let event = match event.split_once('/') {
        Some((unit, inside)) if unit.starts_with("cpu") => inside,
        _ => event,
    };
    let end = event.find(['/', ':', ',']).unwrap_or(event.len());
    let event = event[..end].to_ascii_lowercase();
    OF_TIME.contains(&event.as_str())
}

fn short(name: &str) -> String {
    name.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_that_run_with_the_time_are_distinguished_from_others() {
        for event in [
            "cycles",
            "cycles:ppp",
            "cpu-clock:u",
            "task-clock",
            "cpu_core/cycles/P",
            "cpu/cycles/",
            "anon group { cycles, cache-misses }",
        ] {
            assert!(is_of_time(event), "{event}");
        }
        for event in [
            "cache-misses",
            "page-faults",
            "raw_syscalls:sys_enter",
            "lock:contention_begin",
            "stalled-cycles-frontend",
            "instructions:u",
            "anon group { instructions, cycles }",
        ] {
            assert!(!is_of_time(event), "{event}");
        }
    }

    #[test]
    fn head_of_a_table_names_its_event() {
        for (line, expected) in [
            ("# Samples: 10K of event 'cycles:u'", Some("cycles:u")),
            ("Samples: 2K of event 'page-faults', 4000 Hz, Event count", Some("page-faults")),
            (
                "# Samples: 5  of events 'anon group { cycles, faults }'",
                Some("anon group { cycles, faults }"),
            ),
            ("a list of event 'names'", None),
        ] {
            assert_eq!(event(line), expected, "{line}");
        }
    }
}
