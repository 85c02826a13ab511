//! Rows of benchmarks whose name says that they read a clock and do nothing else: `BenchmarkTimeNow-8  20000000  45.1 ns/op` of Go,
//! `BM_ChronoNow  25 ns  25 ns  1000000` of Google Benchmark. A figure between the limits shows nothing, nor does one of a debug
//! build that is not small.

use super::{Cost, Seen};
use crate::paste::{Page, Reader};

pub(super) const READER: Reader = Reader { name: "benchmark", words: &["Benchmark", "BM_"], read };

/// Nanoseconds below which a read stays in user space, and above which it does not, whatever the loop around it costs.
const FAST: f64 = 80.0;
const SLOW: f64 = 300.0;

/// Words of which the name of such a benchmark consists.
const WORDS: [&str; 24] = [
    "time",
    "now",
    "clock",
    "get",
    "gettime",
    "gettimeofday",
    "chrono",
    "steady",
    "system",
    "high",
    "resolution",
    "std",
    "wall",
    "timestamp",
    "stamp",
    "nano",
    "nanotime",
    "nanos",
    "monotonic",
    "realtime",
    "mono",
    "unix",
    "gen",
    "read",
];
/// Words of which it has one.
const READS: [&str; 8] =
    ["now", "clock", "gettime", "gettimeofday", "timestamp", "stamp", "nanotime", "nanos"];

fn read(page: &mut Page<'_>, at: usize) -> usize {
    let line = page.line(at).trim();
    let Some((name, ns)) = row(line) else { return 0 };
    let is_debug = (0..page.len().min(at + 60))
        .any(|number| page.line(number).to_ascii_lowercase().contains("debug"));
    if !is_read(&name) || (FAST..=SLOW).contains(&ns) || ns > SLOW && is_debug {
        return 0;
    }
    page.symptom(at, READER.name, Seen::Cost(Cost { clock: name, ns, ..Cost::default() }));
    1
}

/// The name of a benchmark without its prefix, and its nanoseconds.
fn row(line: &str) -> Option<(String, f64)> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let name = words.first()?;
    let ns = if let Some(at) = words.iter().position(|word| *word == "ns/op") {
        // Two columns are two measurements.
        let once = words.iter().filter(|word| **word == "ns/op").count() == 1;
        words.get(at.checked_sub(1)?).filter(|_| once)?.parse().ok()?
    } else {
        let all = &words[1..];
        let rest: Vec<&str> = all.iter().copied().filter(|word| *word != "ns").collect();
        // Of numbers alone, the head of the table names the unit.
        let [time, cpu, iterations] = rest[..] else { return None };
        let counted = iterations.bytes().all(|b| b.is_ascii_digit()) && iterations.len() > 3;
        let (time, cpu): (f64, f64) = (time.parse().ok()?, cpu.parse().ok()?);
        (counted && all.len() == 5 && cpu > 0.0).then_some(time)?
    };
    let bare = name.strip_prefix("Benchmark").or_else(|| name.strip_prefix("BM_"))?;
    let bare = bare.trim_start_matches(['_', '/']);
    let bare = bare.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('-');
    ((0.5..1e6).contains(&ns) && !bare.is_empty() && bare.len() < 60).then(|| (bare.to_owned(), ns))
}

/// Whether every word of a name is one of a read of a clock.
fn is_read(name: &str) -> bool {
    let mut words: Vec<String> = Vec::new();
    let mut last_is_small = false;
    for c in name.chars() {
        if !c.is_ascii_alphanumeric() {
            words.push(String::new());
            last_is_small = false;
            continue;
        }
        if c.is_ascii_uppercase() && last_is_small || words.is_empty() {
            words.push(String::new());
        }
        last_is_small = c.is_ascii_lowercase();
        if let Some(word) = words.last_mut() {
            word.push(c.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    let is_one = |of: &[&str], word: &String| of.contains(&word.as_str());
    words.iter().all(|word| is_one(&WORDS, word)) && words.iter().any(|word| is_one(&READS, word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paste::Pasted;

    fn costs(text: &str) -> Vec<f64> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let cost = |one: crate::symptom::Symptom| match one.seen {
            Seen::Cost(cost) => cost.ns,
            _ => 0.0,
        };
        Pasted::read(&lines, "t").symptoms.into_iter().map(cost).collect()
    }

    #[test]
    fn benchmarks_of_reads_of_a_clock() {
        assert_eq!(costs("BenchmarkGenStdTimeStamp-8   \t19682988\t        60.7 ns/op"), [60.7]);
        assert_eq!(costs("BenchmarkSystemClock-8 2000000 701 ns/op 0 B/op 0 allocs/op"), [701.0]);
        assert_eq!(
            costs("BM_ChronoSteadyNow         25.3 ns         25.2 ns     27000000"),
            [25.3]
        );
    }

    #[test]
    fn other_benchmarks_show_nothing() {
        for text in [
            "BenchmarkTimeNowFormat-8 2000000 701 ns/op",
            "BenchmarkTime-8 2000000 701 ns/op",
            "BenchmarkClock-8 2000000 150 ns/op",
            "BenchmarkCPUClock-8 2000000 450 ns/op",
            "Build Type: DEBUG\nBM_ChronoNow         358 ns         358 ns     2718352",
            "BenchmarkStamp-8 60.1 ns/op 50.1 ns/op",
            "Benchmark",
            "BM_",
        ] {
            assert_eq!(costs(text), [0.0; 0], "{text}");
        }
    }
}
