//! What happens to clocks in a running guest: somebody switches the clocksource, the guest is
//! paused, saved and loaded, moved, or its time is steered.
//!
//! - [`place`]: a guest with a script in it, and what it says while it runs
//! - [`ticks`]: readings of the guest's clocks, and what they show
//! - [`switch`]: the clocksource is changed through sysfs
//! - [`machine`]: pause, snapshot and migration
//! - [`ntp`]: the clock is slewed, and the wall clock is set

pub mod machine;
pub mod ntp;
pub mod place;
pub mod switch;
pub mod ticks;

use anyhow::Result;
use place::Place;
use serde::Serialize;
use serde_json::Value;

/// The scenarios, by name.
pub const NAMES: &[&str] = &["switch", "pause", "snapshot", "migrate", "ntp"];

/// What a scenario saw.
#[derive(Debug, Serialize)]
pub struct Story {
    /// Names and versions this format.
    pub schema: &'static str,
    /// The scenario's name.
    pub scenario: &'static str,
    /// The kernel's name in the catalogue.
    pub kernel: String,
    /// What was seen, in order.
    pub seen: Vec<Value>,
    /// What should not have been seen.
    pub problems: Vec<String>,
}

impl Story {
    fn new(scenario: &'static str, kernel: &str) -> Story {
        Story {
            schema: "clocksmith.testbed.scenario.v1",
            scenario,
            kernel: kernel.into(),
            seen: Vec::new(),
            problems: Vec::new(),
        }
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
    Some(match name {
        "switch" => switch::play(place),
        "pause" => machine::pause(place),
        "snapshot" => machine::snapshot(place),
        "migrate" => machine::migrate(place),
        "ntp" => ntp::play(place),
        _ => return None,
    })
}
