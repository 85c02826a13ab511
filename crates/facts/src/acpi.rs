//! ACPI tables: HPET, and the PM timer and idle flags of the FADT.

use serde::Serialize;

/// What the ACPI HPET table says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HpetTable {
    /// Physical base address, where known.
    pub base: Option<u64>,
    /// Counter frequency in Hz, where the kernel printed it.
    pub hz: Option<u64>,
}

/// The ACPI PM timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PmTimer {
    /// I/O port.
    pub port: u64,
    /// Whether the FADT says that the counter has 32 bits (Linux uses 24 either way); `None` where
    /// only a log line was seen.
    pub bits32: Option<bool>,
}
