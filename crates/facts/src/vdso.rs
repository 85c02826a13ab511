//! The vDSO mapped into this process.

use serde::Serialize;

/// The vDSO of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VdsoImage {
    /// Whether `AT_SYSINFO_EHDR` is in the auxiliary vector.
    pub mapped: bool,
    /// Exported function names, sorted.
    pub symbols: Vec<String>,
}
