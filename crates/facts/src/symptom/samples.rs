//! `perf script`: samples with one frame per line, leaf first: `ffffffff8105e7c9 read_hpet+0x9 ([kernel.kallsyms])`.

use super::folded::Sum;
use super::{Counted, Seen};
use crate::paste::{Page, Reader};

pub(super) const READER: Reader = Reader { name: "perf script", words: &["("], read };

/// Lines between two samples: the header, and a blank line.
const GAP: usize = 4;
/// Most frames of a sample: 127 of the kernel and 127 of the program (`kernel.perf_event_max_stack`). More lines than
/// that are a different text; without this limit each of its lines would be read once for each line before it.
const FRAMES: usize = 256;

fn read(page: &mut Page<'_>, at: usize) -> usize {
    if frame(page.line(at)).is_none() {
        return 0;
    }
    let mut sum = Sum::default();
    let mut stack: Vec<&str> = Vec::new();
    let mut last = at;
    let mut samples = 0;
    let lines = page.lines();
    for (number, line) in lines.iter().enumerate().skip(at) {
        if number - last > GAP {
            break;
        }
        match frame(line) {
            Some(name) => {
                if stack.len() == FRAMES {
                    break;
                }
                last = number;
                stack.push(name);
            }
            None if !stack.is_empty() => {
                sum.add(stack.drain(..), 1);
                samples += 1;
            }
            None => {}
        }
    }
    if !stack.is_empty() {
        sum.add(stack.drain(..), 1);
        samples += 1;
    }
    if samples < 2 {
        return 0;
    }
    if let Some(mut profile) = sum.finish() {
        profile.counted = Counted::above_sample(page, at);
        page.symptom(at, READER.name, Seen::Profile(profile));
    }
    last + 1 - at
}

fn frame(line: &str) -> Option<&str> {
    let (address, rest) = line.trim().split_once(' ')?;
    let is_address =
        (6..=16).contains(&address.len()) && address.bytes().all(|b| b.is_ascii_hexdigit());
    let (name, object) = rest.trim().rsplit_once(" (")?;
    (is_address && object.ends_with(')') && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paste::Pasted;

    fn counted(event: &str) -> Option<Counted> {
        let sample = format!(
            "app 42 [001] 12.345678: {event}\n        ffffffff8105e7c9 read_hpet+0x9 ([kernel.kallsyms])\n\n"
        );
        let lines: Vec<String> = sample.repeat(2).lines().map(str::to_owned).collect();
        match Pasted::read(&lines, "text").symptoms.pop()?.seen {
            Seen::Profile(profile) => Some(profile.counted),
            _ => None,
        }
    }

    #[test]
    fn samples_of_other_events_are_not_time() {
        for event in ["", "250000 cycles:u:", "cycles:", "1 cpu-clock:"] {
            assert_eq!(counted(event), Some(Counted::Time), "{event}");
        }
        for event in ["1 page-faults:", "cache-misses:"] {
            let name = event.trim_start_matches("1 ").trim_end_matches(':').to_owned();
            assert_eq!(counted(event), Some(Counted::Events(name)), "{event}");
        }
    }
}
