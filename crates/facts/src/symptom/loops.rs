//! Loops that users write to time a clock: the mean that they print, or the time that the shell measured for a loop
//! whose source precedes it.

use super::pg_test_timing::nanoseconds;
use super::{Cost, Seen};
use crate::paste::{Page, Reader};

pub(super) const READER: Reader = Reader {
    name: "timed loop",
    words: &[
        "nanoseconds",
        "ns per",
        "ns/call",
        "nsec/call",
        "per call",
        " consume ",
        "lapsed time is",
        "real\t",
        "real ",
        " ns/op",
        " per loop",
        " usec",
    ],
    read,
};

/// Lines before a figure that are searched for the source of the loop.
const SOURCE: usize = 120;
/// The smallest number of reads that is a measurement.
const READS: f64 = 10_000.0;

fn read(page: &mut Page<'_>, at: usize) -> usize {
    let line = page.line(at).trim().to_owned();
    let found = printed(page, at, &line)
        .or_else(|| threads(page, at, &line))
        .or_else(|| elapsed(page, at, &line))
        .or_else(|| timeit(page, at, &line))
        .or_else(|| labelled(&line))
        .or_else(|| shell(page, at, &line));
    let Some((cost, lines)) = found else { return 0 };
    if cost.ns > 0.0 && cost.ns < 1e8 {
        page.symptom(at, READER.name, Seen::Cost(cost));
    }
    lines
}

fn cost(clock: &str, ns: f64) -> Cost {
    Cost { clock: clock.to_owned(), ns, ..Cost::default() }
}

/// The clock that a text names; `None` if it names none that is read from the clocksource.
fn clock(text: &str) -> Option<&'static str> {
    const CLOCKS: [&str; 5] = [
        "CLOCK_MONOTONIC_RAW",
        "CLOCK_MONOTONIC",
        "CLOCK_REALTIME",
        "CLOCK_BOOTTIME",
        "gettimeofday",
    ];
    if ["COARSE", "CPUTIME"].iter().any(|other| text.contains(other)) {
        return None;
    }
    CLOCKS.into_iter().find(|name| text.contains(name)).or_else(|| {
        let named = ["clock_gettime", "nanoTime", "time.Now", "currentTimeMillis", "steady_clock"];
        named.into_iter().find(|name| text.contains(name))
    })
}

/// `run 20000000 times, total N nanoseconds, average 1490 nanoseconds` below `CLOCK_REALTIME:`, and
/// `clock_gettime(CLOCK_MONOTONIC): 27.1 ns per call`.
fn printed(page: &Page<'_>, at: usize, line: &str) -> Option<(Cost, usize)> {
    let means = ["average ", "avarage ", "avg ", "mean "];
    let mean = means.into_iter().find_map(|word| line.split_once(word)).map(|(_, value)| value);
    let ns = match mean {
        Some(value) if line.contains("times") => {
            nanoseconds(value.trim_start_matches([':', '=', ' ']))?
        }
        _ => per_call(line)?,
    };
    // The row of a table is of the call that it names.
    let is_row = line.contains("ns/op");
    // The id above the figure belongs to it, and says more than the name of the call.
    let says_call = line.contains("clock_gettime()");
    let above = (0..at).next_back().map(|at| page.line(at)).filter(|_| says_call).and_then(id);
    if above.is_some_and(|name| name.contains("CPUTIME")) {
        return None;
    }
    let named = above.or_else(|| clock(line)).or_else(|| {
        if is_row {
            return None;
        }
        let before = (at.saturating_sub(2)..at).rev().find(|n| !page.line(*n).trim().is_empty())?;
        clock(page.line(before))
    })?;
    Some((cost(named, ns), 1))
}

/// The id of a clock in a heading above its figures: `Clock ID CLOCK_BOOTTIME, resolution 1.000000 ns`.
fn id(text: &str) -> Option<&'static str> {
    // Longer names before those that they begin with.
    const IDS: [&str; 9] = [
        "CLOCK_MONOTONIC_COARSE",
        "CLOCK_REALTIME_COARSE",
        "CLOCK_MONOTONIC_RAW",
        "CLOCK_MONOTONIC",
        "CLOCK_REALTIME",
        "CLOCK_BOOTTIME",
        "CLOCK_TAI",
        "CLOCK_PROCESS_CPUTIME_ID",
        "CLOCK_THREAD_CPUTIME_ID",
    ];
    IDS.into_iter().find(|name| text.contains(name))
}

/// The number before `ns per call`, `ns/call`, `ns/op`.
fn per_call(line: &str) -> Option<f64> {
    for unit in [
        "ns per call",
        "ns/call",
        "nsec/call",
        "ns/op",
        "ns per clock_gettime",
        "nanoseconds per call",
        "ns per read",
    ] {
        if let Some((before, _)) = line.split_once(unit) {
            // The error follows the mean.
            let signs = ["\u{b1}", "+/-", "+-"];
            let mean = signs.into_iter().find_map(|sign| before.split_once(sign));
            let before = mean.map_or(before, |(mean, _)| mean);
            let number = before.trim_end().rsplit([' ', '\t', '=', ':', '(', '|', '~']).next()?;
            return nanoseconds(number);
        }
    }
    None
}

/// `10000000 loops, best of 5: 34.4 nsec per loop` below `python3 -m timeit -s 'import time' 'time.time()'`, and the
/// output of IPython: `34.5 ns ± 0.5 ns per loop (mean ± std. dev. of 7 runs, 10000000 loops each)`.
fn timeit(page: &Page<'_>, at: usize, line: &str) -> Option<(Cost, usize)> {
    // Only the call: the figure also includes any other part of the statement.
    const CALLS: [&str; 6] = [
        "time.time()",
        "time.time_ns()",
        "time.monotonic()",
        "time.monotonic_ns()",
        "time.perf_counter()",
        "time.perf_counter_ns()",
    ];
    let figure = line.split_once(": ").filter(|(head, _)| head.contains("loops, best of "));
    let mut words = figure.map_or(line, |(_, rest)| rest).split_ascii_whitespace();
    let value: f64 = words.next()?.parse().ok().filter(|value: &f64| value.is_finite())?;
    let ns = match words.next()? {
        "nsec" | "ns" => value,
        "usec" | "us" | "\u{b5}s" | "\u{3bc}s" => value * 1e3,
        "msec" | "ms" => value * 1e6,
        _ => return None,
    };
    let mut above = (at.saturating_sub(3)..at).rev().map(|number| page.line(number));
    let asked = above.find_map(|line| line.split_once("timeit").map(|(_, rest)| rest))?;
    let statement = asked.trim().trim_end_matches(['\'', '"']);
    let statement = statement.rsplit(['\'', '"', ' ', ';']).next()?;
    let call = CALLS.into_iter().find(|call| *call == statement)?;
    Some((cost(call, ns), 1))
}

/// `clock_gettime(CLOCK_MONOTONIC): 0.0117 usec`, and nothing else in the line. `CLOCK_MONOTONIC_RAW` is left out, which the vDSO
/// of Linux before 5.3 does not serve.
fn labelled(line: &str) -> Option<(Cost, usize)> {
    let (call, value) = line.trim_matches('`').split_once(": ")?;
    let clock = match call {
        "clock_gettime(CLOCK_MONOTONIC)" => "CLOCK_MONOTONIC",
        "clock_gettime(CLOCK_REALTIME)" => "CLOCK_REALTIME",
        "gettimeofday()" => "gettimeofday",
        _ => return None,
    };
    let us: f64 = value.strip_suffix("usec")?.trim().parse().ok()?;
    us.is_finite().then(|| (cost(clock, us * 1e3), 1))
}

/// `gettimeofday(50035480681901) , times : 100000000` and below it `thread 1105828160 consume 4000225 us`.
fn threads(page: &Page<'_>, at: usize, line: &str) -> Option<(Cost, usize)> {
    let us: f64 = line.split_once(" consume ")?.1.trim().strip_suffix("us")?.trim().parse().ok()?;
    let before = (at.saturating_sub(3)..at)
        .rev()
        .map(|n| page.line(n))
        .find(|line| line.contains("times :"))?;
    let times: f64 = before.split_once("times :")?.1.trim().parse().ok()?;
    (times >= READS)
        .then(|| cost(clock(before).unwrap_or("clock_gettime"), us * 1000.0 / times))
        .map(|c| (c, 1))
}

/// `Elapsed time is 24.6000 seconds` after the source of the loop.
fn elapsed(page: &Page<'_>, at: usize, line: &str) -> Option<(Cost, usize)> {
    let (_, rest) = line.split_once("lapsed time is ")?;
    let seconds: f64 = rest.split_ascii_whitespace().next()?.parse().ok()?;
    let (name, times) = source(page, at)?;
    Some((cost(name, seconds * 1e9 / times), 1))
}

/// `real`, `user` and `sys` of the shell after the source of the loop: the CPU time counts.
fn shell(page: &Page<'_>, at: usize, line: &str) -> Option<(Cost, usize)> {
    line.strip_prefix("real")?;
    let mut cpu = 0.0;
    for (number, name) in [(at + 1, "user"), (at + 2, "sys")] {
        if number >= page.len() {
            return None;
        }
        cpu += minutes(page.line(number).trim().strip_prefix(name)?)?;
    }
    let (name, times) = source(page, at)?;
    Some((cost(name, cpu * 1e9 / times), 3))
}

/// `0m10.858s`.
fn minutes(text: &str) -> Option<f64> {
    let (minutes, seconds) = text.trim().split_once('m')?;
    let seconds: f64 = seconds.strip_suffix('s')?.parse().ok()?;
    Some(minutes.parse::<f64>().ok()? * 60.0 + seconds)
}

/// The call in the last loop before a line, and its number of iterations.
fn source(page: &Page<'_>, at: usize) -> Option<(&'static str, f64)> {
    let from = at.saturating_sub(SOURCE);
    let head = (from..at).rev().find(|number| {
        let line = page.line(*number);
        line.contains("for") && line.contains('<') && line.contains(';')
    })?;
    let line = page.line(head);
    let bound = line.split_once('<')?.1.split(';').next()?.trim();
    let times: f64 = bound
        .replace(['_', '\''], "")
        .parse()
        .ok()
        .filter(|times| (READS..1e13).contains(times))?;
    let calls = |line: &str| line.contains("clock_gettime(") || line.contains("gettimeofday(");
    let body = (head..at.min(head + 6)).map(|number| page.line(number)).find(|line| calls(line))?;
    Some((clock(body)?, times))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_belong_to_the_id_above_them() {
        let text: String = ["CLOCK_REALTIME", "CLOCK_MONOTONIC_COARSE", "CLOCK_MONOTONIC_RAW", "CLOCK_BOOTTIME", "CLOCK_THREAD_CPUTIME_ID"]
            .map(|id| {
                format!(
                    "Clock ID {id}, resolution 1.000000 ns\n24932282 calls of clock_gettime() per second, 40.1 ns per call\n\n"
                )
            })
            .concat();
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let symptoms = crate::paste::Pasted::read(&lines, "text").symptoms;
        let clocks: Vec<&str> = symptoms
            .iter()
            .filter_map(|one| match &one.seen {
                Seen::Cost(cost) => Some(cost.clock.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(
            clocks,
            ["CLOCK_REALTIME", "CLOCK_MONOTONIC_COARSE", "CLOCK_MONOTONIC_RAW", "CLOCK_BOOTTIME"]
        );
    }

    #[test]
    fn row_of_a_table_has_its_mean_and_its_own_call() {
        let costs = |text: &str| {
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            let symptoms = crate::paste::Pasted::read(&lines, "text").symptoms;
            let of = |one: &super::super::Symptom| match &one.seen {
                Seen::Cost(cost) => Some((cost.clock.clone(), cost.ns)),
                _ => None,
            };
            symptoms.iter().filter_map(of).collect::<Vec<_>>()
        };
        let table = "Benchmark     Mode  Cnt     Score     Error  Units\n\
                     Timers.cpuTime   avgt   20   285.009 \u{b1}   2.446  ns/op\n\
                     Timers.nanoTime  avgt   20    17.250 \u{b1}   0.022  ns/op\n\
                     Timers.userTime  avgt   20  4928.495 \u{b1} 211.670  ns/op\n";
        assert_eq!(costs(table), [("nanoTime".to_owned(), 17.25)]);
        let labelled = "rdtsc: 0.003 usec\n\
                        syscall(SYS_clock_gettime, CLOCK_MONOTONIC): 0.125 usec\n\
                        clock_gettime(CLOCK_MONOTONIC): 0.0125 usec\n\
                        clock_gettime(CLOCK_MONOTONIC_RAW): 0.127 usec\n\
                        gettimeofday(): 0.009 usec`\n";
        let names = costs(labelled).into_iter().map(|(clock, _)| clock).collect::<Vec<_>>();
        assert_eq!(names, ["CLOCK_MONOTONIC", "gettimeofday"]);
        let alone = "Timers.nanoTime  avgt   5  25.500  ns/op\n";
        assert_eq!(costs(alone), [("nanoTime".to_owned(), 25.5)]);
    }

    #[test]
    fn timeit_of_python_times_a_call_alone() {
        let ns = |text: &str| {
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            let read = crate::paste::Pasted::read(&lines, "text");
            read.symptoms.first().and_then(|one| match &one.seen {
                Seen::Cost(cost) => Some(cost.ns.round()),
                _ => None,
            })
        };
        for (statement, result, expected) in [
            (
                "-s 'import time' 'time.time()'",
                "1000 loops, best of 5: 34.4 nsec per loop",
                Some(34.0),
            ),
            (
                "-s \"import time\" \"time.monotonic()\"",
                "9 loops, best of 5: 1.31 usec per loop",
                Some(1310.0),
            ),
            (
                "time.perf_counter()",
                "34.5 ns \u{b1} 0.5 ns per loop (mean \u{b1} std. dev.)",
                Some(35.0),
            ),
            ("'pass'", "50000000 loops, best of 5: 5.01 nsec per loop", None),
            ("'f(time.time())'", "50000000 loops, best of 5: 5.01 nsec per loop", None),
        ] {
            let text = format!("$ python3 -m timeit {statement}\n{result}\n");
            assert_eq!(ns(&text), expected, "{statement}");
        }
    }
}
