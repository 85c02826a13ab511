//! PostgreSQL's `pg_test_timing`: `Per loop time including overhead: 35.96 ns` (`nsec` in 9.2 and 9.3), and since 19
//! `Average loop time including overhead: 32.15 ns` for each source that it tries.

use super::{Cost, Seen};
use crate::paste::{Page, Reader};

pub(super) const READER: Reader = Reader {
    name: "pg_test_timing",
    words: &["loop time including overhead:", "timing overhead for", BACKWARDS],
    read,
};

/// The message when a read returns an earlier time than the read before it; the program then ends (`test_timing`,
/// `src/bin/pg_test_timing/pg_test_timing.c`).
const BACKWARDS: &str = "Detected clock going backwards in time.";
/// Lines around the result that contain the beginnings of its head and its histogram.
const AROUND: usize = 6;

/// Whether a result is of another program with the same sentences.
fn is_of_another(page: &Page<'_>, at: usize) -> bool {
    let head = (at.saturating_sub(AROUND)..at)
        .rev()
        .map(|number| page.line(number).trim())
        .find(|line| line.starts_with("Testing "));
    let histogram = (at..at + AROUND)
        .map(|number| page.line(number).trim())
        .find(|line| line.starts_with("Histogram of "));
    head.is_some_and(|line| !line.contains("timing overhead for"))
        || histogram.is_some_and(|line| !line.contains("timing durations"))
}

fn read(page: &mut Page<'_>, at: usize) -> usize {
    let line = page.line(at);
    if line.trim() == BACKWARDS {
        page.symptom(at, READER.name, Seen::Backwards);
        return 1 + usize::from(page.line(at + 1).trim().starts_with("Time warp: "));
    }
    let Some((_, value)) = line.split_once("loop time including overhead:") else {
        return usize::from(line.contains("timing overhead for"));
    };
    if is_of_another(page, at) {
        return 0;
    }
    let Some(ns) = nanoseconds(value) else { return 1 };
    // Since 19 the source is on one of the lines before.
    let source = (at.saturating_sub(3)..at).rev().find_map(|before| {
        page.line(before).split_once("ource:").map(|(_, name)| name.trim().to_owned())
    });
    let by_instruction = source.as_deref().is_some_and(|name| name.starts_with("RDTSC"));
    let clock = source.unwrap_or_else(|| "clock_gettime".to_owned()).chars().take(60).collect();
    page.symptom(
        at,
        READER.name,
        Seen::Cost(Cost { clock, ns, by_instruction, ..Cost::default() }),
    );
    // The histogram.
    let mut end = at + 1;
    while end < page.len().min(at + 80) {
        let line = page.line(end).trim();
        let figures = !line.is_empty()
            && line.bytes().all(|b| b.is_ascii_digit() || b" .,%<=\t".contains(&b));
        if !(figures
            || line.starts_with("Histogram")
            || line.contains("% of total")
            || line.starts_with("Observed")
            || line.contains("timing durations")
            || line == "...")
        {
            break;
        }
        end += 1;
    }
    end - at
}

/// `35.96`, `35,96` in some languages, `4,620.82`. `4,620` alone is ambiguous, and is rejected.
fn decimal(text: &str) -> Option<f64> {
    let text = text.strip_suffix(',').unwrap_or(text);
    match text.split_once(',') {
        None => text.parse().ok(),
        Some(_) if text.contains('.') => text.replace(',', "").parse().ok(),
        Some((_, part)) if part.len() == 3 || part.contains(',') => None,
        Some(_) => text.replace(',', ".").parse().ok(),
    }
}

/// `35.96 ns`, `35.96 nsec`, `1.2 us`.
pub(super) fn nanoseconds(text: &str) -> Option<f64> {
    let text = text.trim();
    let digits = text.bytes().take_while(|b| b.is_ascii_digit() || b".,".contains(b)).count();
    let number = decimal(&text[..digits])?;
    let unit = text[digits..].trim_start();
    let scale = if unit.starts_with("us") || unit.starts_with("micro") {
        1000.0
    } else if unit.starts_with("ms") || unit.starts_with("milli") {
        1e6
    } else if unit.is_empty() || unit.starts_with("ns") || unit.starts_with("nano") {
        1.0
    } else {
        return None;
    };
    let ns = number * scale;
    (ns > 0.0 && ns < 1e9).then_some(ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paste::Pasted;

    fn seen(text: &str) -> Vec<Seen> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        Pasted::read(&lines, "text").symptoms.into_iter().map(|symptom| symptom.seen).collect()
    }

    #[test]
    fn clock_that_goes_backwards_is_seen() {
        let head = "Testing timing overhead for 3 seconds.\n";
        for warp in ["", "Time warp: -3 ms\n", "Time warp: -1200 ns\n"] {
            let text = format!("{head}Detected clock going backwards in time.\n{warp}");
            assert_eq!(seen(&text), [Seen::Backwards], "{text}");
        }
    }

    #[test]
    fn result_of_another_program_with_its_sentence_is_not_a_read() {
        let result = "Per loop time including overhead: 4620.11 us\n";
        assert!(seen(&format!("Testing fsync latency for 3 seconds.\n{result}")).is_empty());
        assert!(seen(&format!("{result}Histogram of fsync durations:\n")).is_empty());
        assert_eq!(seen(&format!("{result}Histogram of timing durations:\n")).len(), 1);
    }
}
