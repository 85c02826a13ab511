//! The paravirtual clock in use.

use super::Case;
use crate::cause::{Evidence, Severity};

/// A clock that a hypervisor publishes, in use.
pub(super) struct Paravirt<'a> {
    /// Its name.
    pub(super) name: &'a str,
    /// The severity of a cause that prevents the use of the TSC: harmless while this clock is fast.
    pub(super) severity: Severity,
    /// The command line chooses it.
    pub(super) chosen: bool,
}

impl<'a> Paravirt<'a> {
    pub(super) fn of(case: &Case<'a>) -> Option<Self> {
        let name = case.current.name.as_deref()?;
        let paravirt =
            matches!(name, "kvm-clock" | "xen") || name.starts_with("hyperv_clocksource");
        let slow = case.slow == Some(true);
        paravirt.then(|| Self {
            name,
            severity: if slow { Severity::Warning } else { Severity::Info },
            chosen: case.machine.cmdline.value.clocksource_override().as_deref() == Some(name),
        })
    }

    pub(super) fn evidence(&self, case: &Case<'_>) -> Evidence {
        Evidence::new(case.current.source.clone(), format!("current: {}", self.name))
    }
}
