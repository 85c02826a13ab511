//! cpuidle: the driver and its deepest state.

use serde::Serialize;

/// The cpuidle driver in use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Idle {
    /// `current_driver` (`intel_idle`, `acpi_idle`, `haltpoll`, `none`).
    pub driver: String,
    /// Name of the deepest enabled state of CPU 0, if states are listed.
    pub deepest: Option<String>,
    /// Its exit latency in microseconds.
    pub latency_us: Option<u64>,
}
