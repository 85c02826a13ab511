//! The properties of a cause that are the same on every machine.

use super::{Case, Causes};
use crate::cause::{Cause, CauseId, Confidence, Severity};
use crate::remedies::Plan;
use crate::remedies::table::Advice;

/// Whether a cause is a fault of the TSC as a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blame {
    /// The TSC is not at fault, or not concerned.
    Never,
    /// The TSC is at fault when the cause is found with medium confidence or more.
    Likely,
    /// The TSC is at fault when the cause is a warning or worse.
    Warning,
    /// The TSC is at fault.
    Always,
}

/// The reason why `tsc=reliable` is wrong for a cause that was found; `None`: it is not wrong.
pub(crate) type AgainstReliable = fn(&Plan<'_>, &Cause) -> Option<String>;

/// The definition of a cause: its detector, its words, its implications and its remedies.
pub(crate) struct Definition {
    /// The words of the cause in the headline; `None`: its summary.
    pub(crate) clause: Option<&'static str>,
    /// Whether the TSC is at fault.
    pub(crate) blame: Blame,
    /// The kernel does not offer the TSC until the next boot.
    pub(crate) gave_up: bool,
    /// Not only x86 kernels can have the cause.
    pub(crate) any_architecture: bool,
    /// The cause recurs at each boot.
    pub(crate) returns: bool,
    /// The kernel demoted a clocksource that it used or would have used.
    pub(crate) demotion: bool,
    /// The cause follows from another cause, which is listed first if it was found.
    pub(crate) consequence: bool,
    /// `tsc=reliable` disables the check that found the cause.
    pub(crate) checked: bool,
    /// The reason why `tsc=reliable` is wrong.
    pub(crate) against_reliable: Option<AgainstReliable>,
    /// The remedies for the cause, each where its conditions hold.
    pub(crate) remedies: &'static [&'static Advice],
    /// The detector. A detector of several causes is listed for one of them.
    pub(crate) find: fn(&Case<'_>, &mut Causes),
}

fn found_elsewhere(_: &Case<'_>, _: &mut Causes) {}

/// A cause that implies nothing and is found by another cause's detector.
pub(crate) const PLAIN: Definition = Definition {
    clause: None,
    blame: Blame::Never,
    gave_up: false,
    any_architecture: false,
    returns: false,
    demotion: false,
    consequence: false,
    checked: false,
    against_reliable: None,
    remedies: &[],
    find: found_elsewhere,
};

impl CauseId {
    /// The words of the cause in a headline, after "because"; `None`: its summary contains them.
    #[must_use]
    pub fn clause(self) -> Option<&'static str> {
        self.definition().clause
    }

    /// Whether the TSC itself, as a counter, can be at fault. For a cause that was found use
    /// [`Cause::blames_tsc`].
    #[must_use]
    pub fn blames_tsc(self) -> bool {
        self.definition().blame != Blame::Never
    }

    /// Whether the kernel does not offer the TSC until the next boot because of it.
    #[must_use]
    pub fn kernel_gave_up_tsc(self) -> bool {
        self.definition().gave_up
    }

    /// Whether the cause recurs at each boot, so that a reboot restores nothing.
    #[must_use]
    pub fn returns_after_reboot(self) -> bool {
        self.definition().returns
    }

    /// Whether the cause can mean that the kernel demoted a clocksource that it used or would have used. For a
    /// cause that was found use [`Cause::is_demotion`].
    #[must_use]
    pub fn is_demotion(self) -> bool {
        self.definition().demotion
    }

    /// Whether only x86 kernels can have the cause: the TSC, its watchdog and the hypervisors of x86.
    #[must_use]
    pub fn is_of_x86(self) -> bool {
        !self.definition().any_architecture
    }

    /// Whether the cause follows from another cause.
    #[must_use]
    pub fn is_consequence(self) -> bool {
        self.definition().consequence
    }

    /// Whether `tsc=reliable` disables the check that found the fault: the parameter would hide the fault, not repair
    /// it.
    #[must_use]
    pub fn is_silenced_by_reliable(self) -> bool {
        self.definition().checked
    }

    /// Whether the tenant of a guest can act on the cause inside the guest: one of its remedies acts
    /// in the running kernel or at boot.
    #[must_use]
    pub fn tenant_can_act(self) -> bool {
        use crate::remedies::Layer;
        let remedies = self.definition().remedies;
        remedies.iter().any(|advice| matches!(advice.layer, Layer::Runtime | Layer::Boot))
    }
}

impl Cause {
    /// Whether the cause is evidence against the TSC as a counter: if so, no remedy may choose the TSC.
    #[must_use]
    pub fn blames_tsc(&self) -> bool {
        match self.id.definition().blame {
            Blame::Never => false,
            Blame::Likely => self.confidence >= Confidence::Medium,
            Blame::Warning => self.severity >= Severity::Warning,
            Blame::Always => true,
        }
    }

    /// Whether the cause means that the kernel demoted a clocksource.
    #[must_use]
    pub fn is_demotion(&self) -> bool {
        self.severity >= Severity::Warning && self.id.is_demotion()
    }
}

/// The first cause that is evidence against the TSC as a counter.
#[must_use]
pub fn against_tsc(causes: &[Cause]) -> Option<&Cause> {
    causes.iter().find(|cause| cause.blames_tsc())
}
