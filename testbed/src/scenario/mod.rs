//! Events for the clocks of a running guest: the clocksource is switched, the guest is paused, saved and loaded, or
//! moved, its time is steered, or its counter is wrong. During the event a reader in the guest reads a clock in several
//! threads, and reports its observations.
//!
//! - [`place`]: a guest with a script in it, and its output while it runs
//! - [`reader`]: the program that reads across the event, and the allowed observations
//! - [`journal`]: its reports and the events, in order
//! - [`live`]: a guest that obeys commands during an event from outside
//! - [`ticks`]: readings of the guest's clocks, and their evaluation
//! - [`switch`]: the clocksource is changed through sysfs
//! - [`machine`]: pause, snapshot and migration
//! - [`ntp`]: the clock is slewed, and the wall clock is set
//! - [`fault`]: the reader reads a wrong counter
//! - [`wall`]: the wall clock is set, and the guest is paused, restored and cloned
//! - [`page`]: many stories in one table

pub mod fault;
pub mod journal;
pub mod live;
pub mod machine;
pub mod ntp;
pub mod page;
pub mod place;
pub mod reader;
pub mod switch;
pub mod ticks;
pub mod wall;

use anyhow::Result;
use place::Place;
use serde::Serialize;
use serde_json::Value;

/// The scenarios, by name.
pub const NAMES: &[&str] =
    &["switch", "pause", "snapshot", "migrate", "migrate-file", "ntp", "fault", "wall-clock"];

/// Those that a guest with a hypervisor's clock can play: the others need the TSC, or another emulator.
pub const PARAVIRT: &[&str] = &["pause", "snapshot", "ntp"];

/// The kernels that `all` stands for, by their names in the catalogue.
pub const KERNELS: &[&str] = &["5.10", "6.1", "6.12", "7.x"];

/// The observations of a scenario.
#[derive(Debug, Serialize)]
pub struct Story {
    /// Names and versions this format.
    pub schema: &'static str,
    /// The scenario's name.
    pub scenario: &'static str,
    /// The kernel's name in the catalogue.
    pub kernel: String,
    /// The version of its package.
    pub kernel_version: String,
    /// The observations, in order.
    pub seen: Vec<Value>,
    /// The reader's last report before each event, and at the end.
    pub readers: Vec<Value>,
    /// The observations that should not occur.
    pub problems: Vec<String>,
}

impl Story {
    fn new(scenario: &'static str, kernel: &str) -> Story {
        Story {
            schema: "clocksmith.testbed.scenario.v1",
            scenario,
            kernel: kernel.into(),
            kernel_version: String::new(),
            seen: Vec::new(),
            readers: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// The story of a scenario that could not be played to its end.
    pub fn broken(name: &str, place: &Place, error: &anyhow::Error) -> Story {
        let name = NAMES.iter().find(|known| **known == name).unwrap_or(&"");
        let mut story = Story::new(name, place.kernel_name());
        story.kernel_version = place.kernel_version().into();
        story.problems.push(format!("{error:#}"));
        story
    }

    /// A few words about how it went.
    pub fn summary(&self) -> String {
        let numbers = |report: &Value| {
            let number = |name: &str| report.get(name)?.as_u64();
            let (reads, steps) = (number("reads")?, number("back_steps")?);
            let error = number("largest_error_ns")?;
            Some(format!("{reads} reads, {steps} steps back, largest error {error} ns"))
        };
        // Each fault has a separate reader; across an event there is one.
        let from = if self.scenario == "fault" { 0 } else { self.readers.len().saturating_sub(1) };
        let reports = self.readers.iter().skip(from).filter_map(numbers);
        let mut text = reports.collect::<Vec<_>>().join("\n                    ");
        if text.is_empty() {
            text.push_str("no report");
        }
        for problem in &self.problems {
            text.push_str(&format!("\n    PROBLEM {problem}"));
        }
        text
    }

    /// Notes a problem if something that should hold does not.
    fn check(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.problems.push(otherwise());
        }
    }
}

/// Plays a scenario. `None` if there is none of that name.
pub fn play(name: &str, place: &Place) -> Option<Result<Story>> {
    let story = match name {
        "switch" => switch::play(place),
        "pause" => machine::pause(place),
        "snapshot" => machine::snapshot(place),
        "migrate" => machine::migrate(place),
        "migrate-file" => machine::migrate_file(place),
        "ntp" => ntp::play(place),
        "fault" => fault::play(place),
        "wall-clock" => wall::play(place),
        _ => return None,
    };
    Some(story.map(|mut story| {
        story.kernel_version = place.kernel_version().into();
        let not_tsc = place.reader().clocksource != "tsc"
            || place.reader().under_run.as_ref().is_some_and(|source| source != "tsc");
        if not_tsc {
            // An emulator that loads a state may let the counter jump away from the other clocks. With tsc the
            // kernel's clock would jump as well; here the reader must handle the jump.
            story.problems.retain(|problem| !problem.contains(" parted by "));
        }
        story
    }))
}
