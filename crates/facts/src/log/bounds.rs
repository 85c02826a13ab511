//! placeholder
use super::KernelLog;
use crate::Source;
use crate::version::Version;
/// Bounds.
#[derive(Clone, Debug, Default)]
pub struct VersionBounds {
    /// At least.
    pub at_least: Option<(Version, Source)>,
    /// Below.
    pub below: Option<(Version, Source)>,
}
impl KernelLog {
    /// Bounds.
    #[must_use]
    pub fn version_bounds(&self) -> VersionBounds {
        VersionBounds::default()
    }
}
