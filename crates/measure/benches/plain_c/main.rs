//! Whether the measurement agrees with a plain loop in C, which the system's compiler makes and which
//! is run in turns with it, on the same CPU: `cargo bench -p clocksmith-measure --bench plain_c`.
#![allow(missing_docs)]

use clocksmith_measure::bench::shape::Shape;
use clocksmith_measure::bench::{Plan, run, stats::median};
use clocksmith_measure::pin;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Turns.
const TURNS: usize = 9;
/// Reads of each loop in C.
const READS: u32 = 2_000;
/// The difference, as a share, above which the two do not agree.
const LIMIT: f64 = 0.05;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // `cargo test --benches` only wants to know that it runs.
    let turns = if std::env::args().any(|arg| arg == "--test") { 1 } else { TURNS };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/plain_c/loop.c");
    let directory = tempfile::tempdir()?;
    let program = directory.path().join("loop");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    match Command::new(&compiler).args(["-O2", "-o"]).args([&program, &source]).status() {
        Ok(status) if status.success() => {}
        other => {
            println!("skipped: {compiler} made no program of {}: {other:?}", source.display());
            return Ok(());
        }
    }
    let Some(cpu) = pin::allowed().last().copied() else { return Err("no CPU to run on".into()) };
    let plan = Plan {
        cpu: Some(cpu),
        costs: Duration::from_millis(400),
        shares: Duration::ZERO,
        singles: 0,
        ..Plan::few()
    };
    let mut figures: BTreeMap<String, [Vec<f64>; 2]> = BTreeMap::new();
    for _ in 0..turns {
        let out = Command::new(&program).args([cpu.to_string(), READS.to_string()]).output()?;
        for line in String::from_utf8(out.stdout)?.lines() {
            let Some((name, ns)) = line.rsplit_once(' ') else { continue };
            figures.entry(name.to_owned()).or_default()[0].push(ns.parse()?);
        }
        let measured = run(&plan, &|_, _| true);
        // The loop in C is timed with the cost of the loop itself.
        let turn = measured.loops_ns[Shape::Throughput as usize].map_or(0.0, |turn| turn.ns);
        for row in &measured.rows {
            if let Some(cost) = row.cost(Shape::Throughput)
                && let Some(both) = figures.get_mut(&row.row.name())
            {
                both[1].push(cost.ns + turn);
            }
        }
    }
    println!(
        "{:<30}{:>10}{:>10}{:>8}   medians of {turns} turns on CPU {cpu}",
        "", "C", "ours", "ratio"
    );
    let mut apart = Vec::new();
    for (name, [c, ours]) in &figures {
        let (Some(c), Some(ours)) = (median(c), median(ours)) else { continue };
        let ratio = ours / c;
        println!("{name:<30}{c:>7.2} ns{ours:>7.2} ns{ratio:>8.3}");
        if (ratio - 1.0).abs() > LIMIT {
            apart.push(name.as_str());
        }
    }
    match apart.as_slice() {
        [] => println!("all within {:.0} %", LIMIT * 100.0),
        // Reported, not failed: the machine may be busy.
        apart => println!("more than {:.0} % apart: {}", LIMIT * 100.0, apart.join(", ")),
    }
    Ok(())
}
