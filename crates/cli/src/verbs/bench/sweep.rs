//! `--every-clocksource`: chooses each one in turn, measures, and puts the present one back.

use super::progress::Progress;
use crate::args::{Bench as Wanted, GuardClocksource};
use crate::exit::{Code, NotTakenBack};
use crate::report::bench::{self, BenchReport, SourceReport};
use crate::ui::{err, out};
use anyhow::{Context, Result, bail};
use clocksmith_change::known::known;
use clocksmith_change::{Guardian, Known, Sysfs, Watched, guardian, refuse};
use clocksmith_facts::Facts;
use clocksmith_measure::bench::row::{ClockId, Row, Via};
use clocksmith_measure::bench::{Plan, run};
use clocksmith_measure::interrupt;
use std::ffi::OsString;
use std::io::stdin;
use std::time::Duration;

/// The pause after a switch: the kernel updates the vDSO's page at the next tick.
const SETTLE: Duration = Duration::from_millis(50);
/// The read that is compared between clocksources.
const MAIN: Row = Row::clock(ClockId::Monotonic, Via::Libc);

/// The kernel's clocksource files.
pub(super) fn sysfs(wanted: &Wanted) -> Sysfs {
    wanted.clocksource_directory.as_deref().map_or_else(Sysfs::live, Sysfs::at)
}

/// A sweep that may begin.
pub(super) struct Sweep {
    sysfs: Sysfs,
    original: String,
    available: Vec<String>,
}

impl Sweep {
    /// Checks whether it may begin.
    pub(super) fn prepare(wanted: &Wanted) -> Result<Self> {
        let sysfs = sysfs(wanted);
        let (original, available) = (sysfs.current()?, sysfs.available()?);
        let file = sysfs.directory().join("current_clocksource");
        std::fs::OpenOptions::new().write(true).open(&file).with_context(|| {
            format!(
                "cannot write {}: --every-clocksource needs root, and most containers forbid it. \
                 Without it, bench measures only {original}",
                file.display()
            )
        })?;
        // A clocksource that cannot be chosen cannot be restored either.
        if original == "tsc-early" {
            bail!(
                "the kernel is still calibrating: {original} is in use for the first seconds of the boot only. Try \
                 again a few seconds later"
            );
        }
        if original.ends_with("jiffies") {
            bail!(
                "{original} is in use, and the kernel does not return to it after a switch. Without \
                 --every-clocksource, bench measures {original} only"
            );
        }
        Ok(Self { sysfs, original, available })
    }

    /// Measures with each clocksource. `also` runs in addition with each one that is not the original.
    pub(super) fn run(
        self,
        report: &mut BenchReport,
        wanted: &Wanted,
        facts: &Facts,
        progress: &Progress,
        also: impl Fn(&mut BenchReport),
    ) -> Result<()> {
        let known = known(facts, self.available.clone());
        let arguments =
            ["guard-clocksource".into(), "--directory".into(), self.sysfs.directory().into()];
        let guardian = Guardian::start(&self.sysfs, &arguments.map(|part: OsString| part))?;
        let mut names = vec![self.original.clone()];
        names.extend(self.available.iter().filter(|name| **name != self.original).cloned());
        for name in &names {
            if interrupt::wished() {
                report.complete = false;
                break;
            }
            let source = self.one(name, &known, wanted, progress);
            let measured = source.not_measured_because.is_none();
            report.clocksources.push(source);
            if measured && *name != self.original {
                also(report);
            }
        }
        let original = guardian.original().to_owned();
        guardian.restore().with_context(|| {
            NotTakenBack(format!(
                "the clocksource {original} could not be restored. Run: echo {original} | sudo tee {}",
                self.sysfs.directory().join("current_clocksource").display()
            ))
        })?;
        compare(report);
        Ok(())
    }

    fn one(&self, name: &str, known: &Known, wanted: &Wanted, progress: &Progress) -> SourceReport {
        let mut source = SourceReport {
            name: name.to_owned(),
            not_measured_because: None,
            rows: Vec::new(),
            ratio_to_original: None,
        };
        if name != self.original {
            let chosen = match refuse(name, known) {
                Some(refusal) => Err(format!("not chosen: {refusal}")),
                None => self.sysfs.choose(name).map_err(|error| error.to_string()),
            };
            if let Err(why) = chosen {
                source.not_measured_because = Some(why);
                return source;
            }
            std::thread::sleep(SETTLE);
        }
        let plan = Plan { cpu: wanted.cpu, ..Plan::few() };
        let measured = run(&plan, &|stage, done| {
            progress.show(Some(name), stage, done);
            !interrupt::wished()
        });
        match self.sysfs.current() {
            Ok(current) if current == name => source.rows = bench::rows(&measured),
            Ok(current) => {
                source.not_measured_because =
                    Some(format!("the kernel switched to {current} meanwhile (dmesg shows why)"));
            }
            Err(error) => source.not_measured_because = Some(error.to_string()),
        }
        source
    }
}

/// Fills in how each clocksource compares with the original one, in this run.
fn compare(report: &mut BenchReport) {
    let cost = |source: &SourceReport| {
        source.rows.iter().find(|row| row.name == MAIN.name())?.costs.throughput
    };
    let Some(original) = report.clocksources.first().and_then(cost) else { return };
    for source in &mut report.clocksources {
        source.ratio_to_original = cost(source).and_then(|cost| cost.ratio_to(&original));
    }
}

/// The guardian's life: see [`guardian`].
pub(in crate::verbs) fn guard(wanted: &GuardClocksource) -> Code {
    guardian::harden();
    let sysfs = Sysfs::at(&wanted.directory);
    match guardian::watch(&sysfs, &wanted.original, stdin().lock(), out::pipe()) {
        Ok(Watched::Dismissed | Watched::Untouched) => Code::Done,
        Ok(Watched::Restored) => {
            let original = &wanted.original;
            err::line(&format!("clocksmith: the run was killed; {original} is in use again"));
            Code::Done
        }
        Err(error) => {
            err::line(&format!("clocksmith: {error}"));
            Code::Undetermined
        }
    }
}
