//! `bench`: the cost of reading the time.

mod baseline;
mod gain;
mod only;
mod progress;
mod starts;
pub(super) mod sweep;

use crate::args::{Bench as Wanted, Common};
use crate::exit::Code;
use crate::gather::{self, From};
use crate::render;
use crate::report::bench::{BenchReport, LikeReport, LoopReport};
use crate::ui::err;
use anyhow::{Context, Result, bail};
use clocksmith_diagnose::report::MachineReport;
use clocksmith_diagnose::{Measured, assess};
use clocksmith_measure::bench::like::{self, Preset};
use clocksmith_measure::bench::{self, Plan, Stage};
use clocksmith_measure::{interrupt, noise, pin};
use progress::Progress;
use std::path::Path;
use std::time::{Duration, Instant};

/// The duration of the measurement with `--quick`; the work before and after it takes the rest of 1.5 seconds.
const QUICK: Duration = Duration::from_millis(1_150);
/// The largest number of threads in a comparison.
const MOST_THREADS: usize = 4096;

pub(crate) fn run(common: &Common, wanted: &Wanted) -> Result<Code> {
    if let Some(root) = &common.root {
        bail!(
            "bench measures the machine that runs it; {} cannot be measured. Run it there",
            root.display()
        );
    }
    let threads = threads(&wanted.threads)?;
    if let Some(cpu) = wanted.cpu {
        // At once, not after figures of another CPU.
        let allowed = clocksmith_measure::pin::bindable(cpu);
        allowed.map_err(|why| anyhow::anyhow!("--cpu: {why}. Name one of these"))?;
    }
    if let Some(percent) = wanted.fail_over
        && !(percent.is_finite() && percent >= 0.0)
    {
        bail!("--fail-over takes a number of percent, 0 or above");
    }
    let (rows, shown) = only::rows(&wanted.only)?;
    if wanted.one_start {
        return starts::child(wanted, &rows);
    }
    let count = starts::count(wanted)?;
    let preset = wanted.like.as_deref().map(preset).transpose()?;
    if let Some(rate) = wanted.gain
        && !(rate.is_finite() && rate > 0.0)
    {
        bail!("--gain takes the number of reads in a second, above 0");
    }
    // Before the measurement, so that a wrong file costs no time.
    for file in [&wanted.csv, &wanted.markdown, &wanted.html].into_iter().flatten() {
        crate::ui::file::check(file)?;
    }
    let former = wanted.baseline.as_deref().map(baseline::read).transpose()?;
    let sweep = wanted.every_clocksource.then(|| sweep::Sweep::prepare(wanted)).transpose()?;
    interrupt::listen();
    super::say_if_below_run();

    let begun = Instant::now();
    let seen = assess(gather::facts(From::default())?, Measured::default());
    let facts = seen.facts;
    let progress = Progress::new(common);
    // The CPU of the earlier run: a different CPU may be a different kind of core.
    let cpu =
        wanted.cpu.or_else(|| former.as_ref()?.cpu().filter(|cpu| pin::bindable(*cpu).is_ok()));
    let mut plan = Plan { cpu, rows, ..Plan::everything(threads.clone()) };
    let time = if wanted.quick { Some(QUICK) } else { wanted.duration };
    if let Some(time) = time {
        plan = plan.within(time);
    }
    let noise = noise::Watch::begin(cpu);
    let measured = bench::run(&plan, &|stage, done| {
        progress.show(None, stage, done);
        !interrupt::wished()
    });
    if let Some(why) = &measured.unstarted {
        err::line(&format!("clocksmith: {why}"));
    }
    let mut report =
        BenchReport::new(MachineReport::of(&facts), seen.report.clocksource, &measured);
    if count > 0 {
        let each = clocksmith_measure::bench::starts::EACH;
        let told = |done| progress.show(None, Stage::Starts, done);
        let ran = starts::run(wanted, count, report.method.cpu, each, told);
        (report.starts, report.starts_missing) = ran;
    }
    if wanted.timers && !interrupt::wished() {
        report.timers = clocksmith_measure::bench::timers::run(&|done| {
            progress.show(None, Stage::Timers, done);
            !interrupt::wished()
        });
    }
    report.noise = Some(noise.end());
    report.rows.retain(|row| shown.iter().any(|shown| shown.name() == row.name));
    if let Some(preset) = preset {
        report.like = Some(LikeReport::new(preset));
        run_like(&mut report, preset, wanted, &threads);
    }
    if let Some(sweep) = sweep {
        sweep.run(&mut report, wanted, &facts, &progress, |report| {
            if let Some(preset) = preset {
                run_like(report, preset, wanted, &threads);
            }
        })?;
    }
    progress.clear();
    if let Some(rate) = wanted.gain {
        report.gain = gain::gain(rate, &report, &facts);
    }
    if let (Some(former), Some(file)) = (former, &wanted.baseline) {
        report.baseline = Some(baseline::compare(&report, &former, file, wanted.fail_over));
    }
    report.complete &= !interrupt::wished() && report.starts_missing.is_none();
    report.method.elapsed_s = begun.elapsed().as_secs_f64();
    write_files(wanted, &report)?;
    if common.json {
        render::json(&report)?;
    } else {
        render::bench::text::print(common, &report)?;
    }
    Ok(code(&report))
}

fn code(report: &BenchReport) -> Code {
    let baseline = report.baseline.as_ref();
    if baseline.is_some_and(|baseline| !baseline.failed.is_empty()) {
        return Code::Bad;
    }
    // With a limit, "no row is slower" must rest on a comparison.
    let compared = baseline.is_none_or(|baseline| {
        baseline.fail_over_percent.is_none() || baseline.smallest_percent.is_some()
    });
    if report.complete && compared { Code::Done } else { Code::Undetermined }
}

/// The numbers of threads: as given, or 1, 2 and all CPUs.
fn threads(wanted: &[usize]) -> Result<Vec<usize>> {
    let mut threads = wanted.to_vec();
    if threads.is_empty() {
        let cpus = pin::allowed().len().max(1);
        threads = vec![1, 2.min(cpus), cpus];
    }
    if let Some(wrong) = threads.iter().find(|n| !(1..=MOST_THREADS).contains(*n)) {
        bail!("--threads {wrong}: from 1 to {MOST_THREADS}");
    }
    threads.sort_unstable();
    threads.dedup();
    Ok(threads)
}

fn preset(name: &str) -> Result<Preset> {
    Preset::parse(name).with_context(|| {
        let names: Vec<String> =
            Preset::ALL.iter().map(|p| format!("{} ({})", p.code(), p.name())).collect();
        format!("--like {name}: there is no such loop; the loops are {}", names.join(", "))
    })
}

/// Runs the loops of known benchmarks with the clocksource in use.
fn run_like(report: &mut BenchReport, preset: Preset, wanted: &Wanted, threads: &[usize]) {
    if interrupt::wished() {
        return;
    }
    let count = if wanted.full { Some(preset.original_count()) } else { wanted.count };
    let most = threads.last().copied().unwrap_or(1);
    let go_on = || !interrupt::wished();
    let timed = like::run(preset, count, most, wanted.cpu, &go_on).unwrap_or_else(|error| {
        err::line(&format!("clocksmith: --like: cannot start {most} threads: {error}"));
        report.complete = false;
        Vec::new()
    });
    let current = sweep::sysfs(wanted).current().ok();
    report.complete &= timed.iter().all(|one| one.complete);
    if let Some(like) = &mut report.like {
        like.loops.extend(timed.iter().map(|one| LoopReport::new(preset, one, current.as_deref())));
    }
}

/// Writes the requested files.
fn write_files(wanted: &Wanted, report: &BenchReport) -> Result<()> {
    type Render = fn(&BenchReport) -> String;
    let files: [(&Option<_>, Render); 3] = [
        (&wanted.csv, render::bench::csv::page),
        (&wanted.markdown, render::bench::markdown::page),
        (&wanted.html, render::bench::html::page),
    ];
    for (file, page) in files {
        let Some(file) = file else { continue };
        let file: &Path = file;
        crate::ui::file::replace(file, page(report).as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_threads() {
        assert_eq!(threads(&[4, 1, 4]).unwrap(), [1, 4]);
        assert!(threads(&[0]).is_err() && threads(&[1, 5000]).is_err());
        assert_eq!(threads(&[]).unwrap().first(), Some(&1));
    }

    #[test]
    fn a_wrong_loop_names_the_right_ones() {
        assert_eq!(preset("p3").unwrap(), Preset::ClockTiming);
        assert!(preset("p9").unwrap_err().to_string().contains("P4 (threads)"));
    }
}
