//! `fix`: a plan, its application, its undoing, its state.

mod apply;
mod fleet;
mod status;
mod trial;
mod undo;

use crate::args::{BootLoader, BootWay, Common, Fix};
use crate::exit::Code;
use crate::render;
use crate::report::fix::{Came, FixReport, Mode};
use crate::ui::err;
use anyhow::{Context, Result, bail};
use clocksmith_change::Sysfs;
use clocksmith_change::accept::Accept;
use clocksmith_change::journal::{Journal, JournalError, Phase, Place, Wait};
use clocksmith_change::propose::{Boot, Checked, Proposal, Situation, Wish, propose};
use clocksmith_change::system::{self, System};
use clocksmith_diagnose::{Assessment, Report};
use clocksmith_facts::tree::{DirTree, LiveTree};
use clocksmith_facts::{Facts, Origin, collect};
use clocksmith_measure::{LightMeasurement, interrupt, light};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

pub(super) fn run(common: &Common, args: &Fix) -> Result<Code> {
    if args.status {
        return status::run(common);
    }
    if args.undo {
        return undo::run(common, args);
    }
    if let Some(format) = args.format {
        return fleet::run(common, args, format);
    }
    if args.apply {
        return apply::run(common, args);
    }
    let seen = Seen::look(common)?;
    let proposal = seen.propose(args, &seen.checked());
    let mut report = FixReport::new(Mode::Plan, common.root.as_deref());
    report.clocksource = seen.report.clocksource.current.clone();
    report.propose(&proposal, &seen.system);
    if proposal.verify_first {
        report.notes.push("`verify` runs before the change (5 s), and again after it".to_owned());
    }
    if seen.is_live() && !is_root() && !report.steps.is_empty() {
        report.notes.push(format!("only root can apply it: sudo {} --apply", crate::args::typed()));
    }
    report.notes.extend(unfinished(common));
    if common.json {
        render::json(&report)?
    } else {
        render::fix::print(common, &report)?
    }
    Ok(code(report.result))
}

/// The unfinished change that the next run reverts first, if the journal can be read.
fn unfinished(common: &Common) -> Option<String> {
    let place = place(common).ok()?;
    let entries = match Journal::look(&place) {
        Err(error @ JournalError::Foreign(_)) => {
            return Some(format!("--apply would refuse: {error}"));
        }
        // Others than root see the plan too, and not the journal.
        other => other.ok()?,
    };
    let entry = entries.iter().find(|entry| entry.phase != Phase::Applied)?;
    let id = entry.id;
    (!Journal::is_held(&place)).then(|| {
        format!("change {id} of an earlier run was never finished; --apply reverts it first")
    })
}

/// Where a result is seen whose report cannot be written.
const SHOWN: &str =
    "the exit code is that of the change, and `clocksmith fix --status` shows the changes in force";

/// The exit code of a result.
fn code(came: Came) -> Code {
    match came {
        Came::Refused | Came::RolledBack | Came::NotInForce | Came::PartlyUndone => Code::Bad,
        Came::Undetermined => Code::Undetermined,
        _ => Code::Done,
    }
}

/// Returns whether a signal has come. Prints a message once if a change is half made: then no further signal ends the
/// program until the change is reverted or finished.
fn stop() -> bool {
    static SAID: AtomicBool = AtomicBool::new(false);
    let wished = interrupt::wished();
    if wished && interrupt::is_held() && !SAID.swap(true, Ordering::Relaxed) {
        err::line(
            "clocksmith: interrupted: the unfinished change is reverted first, which takes a few \
             seconds; until then further signals have no effect",
        );
    }
    wished
}

/// Opens the journal, which finishes or reverts an unfinished change of an earlier run: no signal ends that.
fn open(place: &Place, wait: Wait) -> Result<Journal, JournalError> {
    let left =
        Journal::look(place).is_ok_and(|all| all.iter().any(|it| it.phase != Phase::Applied));
    if left {
        interrupt::hold();
    }
    let opened = Journal::open_until(place, wait, stop);
    interrupt::release();
    opened
}

fn is_root() -> bool {
    // SAFETY: takes nothing, and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// The system that is changed.
fn place(common: &Common) -> Result<Place> {
    match &common.root {
        None => Ok(Place::live()?),
        // Such a directory has no running kernel: a write there has no effect.
        Some(root) => {
            Place::at(root, Sysfs::at(&root.join("sys/devices/system/clocksource/clocksource0")))
                .with_context(|| {
                    format!("cannot use {} as a system's root directory", root.display())
                })
        }
    }
}

/// The machine as it is.
struct Seen {
    facts: Facts,
    system: System,
    report: Report,
    measured: Option<LightMeasurement>,
}

impl Seen {
    fn look(common: &Common) -> Result<Self> {
        Self::of(common.root.as_deref())
    }

    /// Does the same in a separate thread: returns `None` as soon as a signal has come, even if a file is very large or
    /// does not respond.
    fn look_unless_stopped(common: &Common) -> Result<Option<Self>> {
        /// How often a request to end is checked.
        const BEAT: Duration = Duration::from_millis(20);
        let root = common.root.clone();
        let (told, seen) = mpsc::channel();
        let look = move || {
            // Nothing receives it after a signal.
            let _ = told.send(Self::of(root.as_deref()));
        };
        let thread = std::thread::Builder::new().stack_size(crate::stack::SIZE).spawn(look);
        if thread.is_err() {
            return Self::look(common).map(Some);
        }
        loop {
            match seen.recv_timeout(BEAT) {
                Ok(seen) => return seen.map(Some),
                Err(mpsc::RecvTimeoutError::Timeout) if interrupt::wished() => return Ok(None),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => bail!("the machine could not be read"),
            }
        }
    }

    fn of(root: Option<&Path>) -> Result<Self> {
        let facts = match root {
            None => collect::collect(&LiveTree::new(), Origin::Live),
            // A directory without facts about clocks may still have files to change.
            Some(dir) => {
                let shown = dir.display();
                let tree = DirTree::new(dir)
                    .with_context(|| format!("cannot read {shown} as a system's root directory"))?;
                collect::collect(&tree, Origin::Root(shown.to_string()))
            }
        };
        let measured = root.is_none().then(|| light(clocksmith_measure::light::BUDGET));
        let Assessment { facts, report, .. } =
            clocksmith_watch::assess::of(facts, measured.as_ref());
        let system = system::read(root.unwrap_or(Path::new("/")));
        Ok(Self { facts, system, report, measured })
    }

    fn is_live(&self) -> bool {
        self.system.live
    }

    /// Returns the cost of a read of CLOCK_MONOTONIC, in nanoseconds.
    fn cost(&self) -> Option<f64> {
        let read = self.measured.as_ref()?.clock(clocksmith_measure::reads::ClockId::Monotonic)?;
        read.ns.filter(|ns| ns.is_finite() && *ns > 0.0)
    }

    fn checked(&self) -> Checked {
        Checked::of(self.facts.verified.value())
    }

    fn propose(&self, args: &Fix, checked: &Checked) -> Proposal {
        let situation = Situation {
            report: &self.report,
            facts: &self.facts,
            system: &self.system,
            checked: checked.clone(),
        };
        propose(&situation, &wish(args))
    }
}

fn wish(args: &Fix) -> Wish {
    let boot = match args.boot {
        _ if args.runtime_only => Boot::None,
        None => Boot::Auto,
        Some(BootWay::Unit) => Boot::Unit,
        Some(BootWay::Cmdline) => Boot::Cmdline,
        Some(BootWay::None) => Boot::None,
    };
    Wish {
        to: args.to.clone(),
        add: args.param.clone(),
        remove: args.remove_param.clone(),
        boot,
        loader: args.loader.map(|BootLoader(loader)| loader),
        accept: Accept {
            backward: args.accept_time_may_go_backward,
            unverified: args.accept_unverified_counter,
        },
        plan_only: !args.apply && args.format.is_none(),
    }
}
