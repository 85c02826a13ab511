//! The source lines where a function reads the time, and the callers that distinguish functions without a name. Pure.

use super::site::site;
use crate::recording::{Recording, Seen as Process};
use crate::symbols::Frame;
use serde::Serialize;
use std::collections::BTreeMap;

/// A line from which a function reads the time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LineRow {
    /// The file, as the program's makers named it.
    pub file: String,
    /// The line, from 1 on.
    pub line: u32,
    /// Share of the function's samples, 0 to 1.
    pub share: f64,
}

/// A caller of a function without a name.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallerRow {
    /// The function; `FILE+0xBEGIN` if it has no name either.
    pub function: String,
    /// Share of the function's samples, 0 to 1.
    pub share: f64,
}

/// Lines and callers of a function that are kept.
const KEPT: usize = 16;
/// Below this share a caller does not count: stacks may occasionally be wrong.
const SMALL: f64 = 0.02;
/// The depth to which callers are compared.
const DEPTH: usize = 4;

#[derive(Default)]
struct Seen<'a> {
    samples: u64,
    lines: BTreeMap<(&'a str, u32), u64>,
    chains: Vec<(&'a [Frame], u64)>,
}

/// Where functions read the time, by function and file, then by process.
pub(super) struct Sources<'a> {
    seen: BTreeMap<(String, String), BTreeMap<usize, Seen<'a>>>,
    recording: &'a Recording,
}

impl<'a> Sources<'a> {
    /// Of all stacks.
    pub(super) fn of(recording: &'a Recording) -> Self {
        let mut seen: BTreeMap<(String, String), BTreeMap<usize, Seen<'_>>> = BTreeMap::new();
        for stack in &recording.stacks {
            let site = site(&stack.frames);
            let Some(at) = stack.frames.iter().position(|frame| site.is(frame)) else { continue };
            let of_function = seen.entry((site.function, site.module)).or_default();
            let entry = of_function.entry(stack.process).or_default();
            let samples = stack.tally.samples;
            entry.samples += samples;
            let place = stack.frames.get(at).and_then(|frame| frame.place.as_ref());
            if let Some(place) = place.filter(|place| place.line > 0) {
                *entry.lines.entry((&place.file, place.line)).or_default() += samples;
            }
            entry.chains.push((stack.frames.get(at + 1..).unwrap_or_default(), samples));
        }
        Self { seen, recording }
    }

    /// The lines and the callers of a function in the accepted processes.
    pub(super) fn rows(
        &self,
        function: &str,
        module: &str,
        accept: impl Fn(&Process) -> bool,
    ) -> (Vec<LineRow>, Vec<CallerRow>) {
        let of_function = self.seen.get(&(function.to_owned(), module.to_owned()));
        let accepted = of_function
            .into_iter()
            .flatten()
            .filter(|(process, _)| self.recording.processes.get(**process).is_some_and(&accept));
        let mut all = Seen::default();
        for (_, seen) in accepted {
            all.samples += seen.samples;
            for (line, samples) in &seen.lines {
                *all.lines.entry(*line).or_default() += samples;
            }
            all.chains.extend(&seen.chains);
        }
        let share = |samples: u64| samples as f64 / all.samples.max(1) as f64;
        let lines = all.lines.iter().map(|((file, line), samples)| LineRow {
            file: (*file).to_owned(),
            line: *line,
            share: share(*samples),
        });
        let mut lines: Vec<LineRow> = lines.collect();
        lines.sort_by(|a, b| b.share.total_cmp(&a.share));
        lines.truncate(KEPT);
        let mut rows = Vec::new();
        if is_nameless(function, module) {
            let found = callers(&all.chains, all.samples, DEPTH).into_iter();
            rows.extend(found.map(|(name, samples)| CallerRow {
                function: name.to_owned(),
                share: share(samples),
            }));
            rows.sort_by(|a, b| b.share.total_cmp(&a.share));
            rows.truncate(KEPT);
        }
        (lines, rows)
    }
}

/// Returns whether a name is only a file and the offset at which the function begins.
pub(crate) fn is_nameless(function: &str, module: &str) -> bool {
    function.strip_prefix(module).is_some_and(|rest| rest.starts_with("+0x"))
}

/// The nearest callers by which chains differ, each with its samples; empty if they do not differ.
fn callers<'a>(chains: &[(&'a [Frame], u64)], all: u64, depth: usize) -> Vec<(&'a str, u64)> {
    /// Samples, and the frames above.
    type Above<'a> = (u64, Vec<(&'a [Frame], u64)>);
    let mut by_name: BTreeMap<&str, Above<'_>> = BTreeMap::new();
    for (chain, samples) in chains {
        let Some((next, rest)) = chain.split_first() else { continue };
        let (sum, rests) = by_name.entry(&next.name).or_default();
        *sum += samples;
        rests.push((rest, *samples));
    }
    by_name.retain(|_, (sum, _)| *sum as f64 > SMALL * all as f64);
    let one = by_name.len() < 2;
    let mut found = Vec::new();
    for (name, (sum, rests)) in by_name {
        let further = if depth > 1 { callers(&rests, all, depth - 1) } else { Vec::new() };
        match further.is_empty() {
            // A single caller distinguishes nothing.
            true if one => {}
            true => found.push((name, sum)),
            false => found.extend(further),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::FrameKind;

    fn frames(names: &[&str]) -> Vec<Frame> {
        let frame = |name: &&str| Frame {
            name: (*name).into(),
            module: "app".into(),
            kind: FrameKind::Native,
            place: None,
        };
        names.iter().map(frame).collect()
    }

    fn of(list: &[(&[&str], u64)]) -> Vec<(String, u64)> {
        let chains: Vec<(Vec<Frame>, u64)> =
            list.iter().map(|(names, samples)| (frames(names), *samples)).collect();
        let chains: Vec<(&[Frame], u64)> =
            chains.iter().map(|(chain, samples)| (chain.as_slice(), *samples)).collect();
        let all = chains.iter().map(|(_, samples)| samples).sum();
        let found = callers(&chains, all, DEPTH);
        found.into_iter().map(|(name, samples)| (name.to_owned(), samples)).collect()
    }

    #[test]
    fn callers_are_the_nearest_that_differ() {
        let found = of(&[
            (&["now", "a", "main"], 50),
            (&["now", "b", "main"], 30),
            (&["wall", "c", "main"], 19),
            (&["wrong"], 1),
        ]);
        let expected = [("a", 50), ("b", 30), ("wall", 19)];
        assert_eq!(found, expected.map(|(name, samples)| (name.to_owned(), samples)));
        assert_eq!(of(&[(&["main", "start"], 10)]), []);
        assert_eq!(of(&[]), []);
    }

    #[test]
    fn nameless_functions_are_known_by_their_names() {
        assert!(is_nameless("app+0x12", "app"));
        assert!(!is_nameless("hot", "app") && !is_nameless("app", "app"));
    }
}
