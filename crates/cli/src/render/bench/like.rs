//! The loops of known benchmarks, in their own format, with the figures of `bench` next to them.

use super::{duration, median};
use crate::report::bench::{BenchReport, LikeReport, LoopReport};
use clocksmith_measure::bench::row::Via;

/// Elapsed time from which on others must have run, as a multiple of CPU time.
const WAITED: f64 = 1.15;

/// All loops.
pub(super) fn text(like: &LikeReport, report: &BenchReport) -> String {
    let mut out = String::new();
    let mut source = None;
    for one in &like.loops {
        if like.loops.iter().any(|other| other.clocksource != one.clocksource)
            && source != Some(&one.clocksource)
        {
            let name = one.clocksource.as_deref().unwrap_or("not known");
            out.push_str(&format!("clocksource: {name}\n"));
            source = Some(&one.clocksource);
        }
        out.push_str(&original(like.code, one));
    }
    let beside = format!(
        "The original does {} reads. Beside it, without the loop (clocksource {}):",
        like.original_count,
        report.clocksource.current.as_deref().unwrap_or("not known")
    );
    out.push('\n');
    out.push_str(&super::super::wrap(&beside, "", ""));
    let mut clocks: Vec<&str> = like.loops.iter().map(|one| one.clock).collect();
    clocks.dedup();
    clocks.sort_unstable();
    clocks.dedup();
    let mut busy = false;
    for clock in clocks {
        let row = super::by_way(report, clock, Via::Libc);
        let loops: Vec<&LoopReport> = like.loops.iter().filter(|one| one.clock == clock).collect();
        let mean = |of: fn(&LoopReport) -> f64| {
            loops.iter().map(|one| of(one)).sum::<f64>() / loops.len().max(1) as f64
        };
        let (wall, cpu) = (
            mean(|one| one.wall_ns_per_read),
            mean(|one| one.cpu_ns_per_read.unwrap_or(one.wall_ns_per_read)),
        );
        busy |= wall > cpu * WAITED;
        out.push_str(&format!(
            "{clock:<24}wall {:>9}  CPU {:>9}  ours {:>9}  {}\n",
            duration(wall),
            duration(cpu),
            median(row.and_then(|row| row.costs.throughput)),
            row.map_or("", |row| row.path.name())
        ));
    }
    if busy {
        let text = "Other programs ran meanwhile: the wall time includes them. The CPU time is that of the reads.";
        out.push_str(&super::super::wrap(text, "", ""));
    }
    out
}

/// One loop in its own form; the spelling is the originals'.
fn original(code: &str, one: &LoopReport) -> String {
    let nanoseconds = |seconds: f64| (seconds * 1e9).round();
    match code {
        "P1" => {
            let total = nanoseconds(one.user_s + one.system_s);
            format!(
                "{}:\n\t run {} times,  total {total} nanoseconds, avarage {} nanoseconds\n\n",
                one.clock,
                one.count,
                (total / (one.count.max(1) as f64)).floor()
            )
        }
        "P2" => format!("Elapsed time is {:.4} seconds\n", one.real_s),
        "P3" => {
            let time =
                |seconds: f64| format!("{}m{:.3}s", (seconds / 60.0).floor(), seconds % 60.0);
            format!(
                "\nreal    {}\nuser    {}\nsys     {}\n",
                time(one.real_s),
                time(one.user_s),
                time(one.system_s)
            )
        }
        _ => {
            let name = if one.clock == "gettimeofday" { one.clock } else { "clock_gettime" };
            format!(
                "{name} , times : {}\nthread {} consume {} us\n",
                one.count,
                one.thread,
                (one.real_s * 1e6).round()
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one() -> LoopReport {
        LoopReport {
            clocksource: Some("tsc".to_owned()),
            clock: "CLOCK_MONOTONIC",
            thread: 3,
            count: 20_000_000,
            real_s: 65.25,
            user_s: 29.8,
            system_s: 0.003_374_697,
            ns_per_read: 1490.0,
            cpu_ns_per_read: Some(1490.0),
            wall_ns_per_read: 1490.0,
        }
    }

    #[test]
    fn each_prints_in_its_own_form() {
        let text = original("P1", &one());
        assert_eq!(
            text,
            "CLOCK_MONOTONIC:\n\t run 20000000 times,  total 29803374697 nanoseconds, avarage 1490 \
             nanoseconds\n\n"
        );
        assert_eq!(original("P2", &one()), "Elapsed time is 65.2500 seconds\n");
        assert_eq!(
            original("P3", &one()),
            "\nreal    1m5.250s\nuser    0m29.800s\nsys     0m0.003s\n"
        );
        assert!(original("P4", &one()).contains("thread 3 consume 65250000 us"));
    }
}
