//! What stands between this process and the kernel: containers, WSL, gVisor.

use crate::Fact;
use serde::Serialize;

/// Container, WSL, gVisor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Environment {
    /// The container runtime, if this process runs in one; `None` inside means none was found.
    pub container: Fact<Option<String>>,
    /// Windows Subsystem for Linux.
    pub wsl: Fact<bool>,
    /// gVisor's user-space kernel (no Linux clocksource at all).
    pub gvisor: Fact<bool>,
}
