//! What is fixed about a cause, whatever machine it is found on.

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

/// Why `tsc=reliable` is wrong where a cause was found; `None`: it is not.
pub(crate) type AgainstReliable = fn(&Plan<'_>, &Cause) -> Option<String>;

/// What a cause is: how it is found, its words, what it implies, which remedies answer it.
pub(crate) struct Definition {
    /// Its words in the headline; `None`: its summary.
    pub(crate) clause: Option<&'static str>,
    /// Whether the TSC is at fault.
    pub(crate) blame: Blame,
    /// The kernel does not offer the TSC until the next boot.
    pub(crate) gave_up: bool,
    /// The same happens again at each boot.
    pub(crate) returns: bool,
    /// The kernel gave up a clocksource that it had, or would have had.
    pub(crate) demotion: bool,
    /// It follows from another cause, which leads if it was found.
    pub(crate) consequence: bool,
    /// `tsc=reliable` switches off the check that found it.
    pub(crate) checked: bool,
    /// Why `tsc=reliable` is wrong.
    pub(crate) against_reliable: Option<AgainstReliable>,
    /// The remedies that answer it, each where its own conditions hold.
    pub(crate) remedies: &'static [&'static Advice],
    /// Finds it. A detector that finds several causes at once is named by one of them.
    pub(crate) find: fn(&Case<'_>, &mut Causes),
}

fn found_elsewhere(_: &Case<'_>, _: &mut Causes) {}

/// A cause that implies nothing and is found by another cause's detector.
pub(crate) const PLAIN: Definition = Definition {
    clause: None,
    blame: Blame::Never,
    gave_up: false,
    returns: false,
    demotion: false,
    consequence: false,
    checked: false,
    against_reliable: None,
    remedies: &[],
    find: found_elsewhere,
};

impl CauseId {
    /// Its words in a headline, after "because"; `None`: its summary says it.
    #[must_use]
    pub fn clause(self) -> Option<&'static str> {
        self.definition().clause
    }

    /// Whether the TSC itself, as a counter, can be at fault. For a cause that was found ask
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

    /// Whether the same happens again at each boot, so that a reboot restores nothing.
    #[must_use]
    pub fn returns_after_reboot(self) -> bool {
        self.definition().returns
    }

    /// Whether it can mean that the kernel gave up a clocksource that it had, or would have had. For a
    /// cause that was found ask [`Cause::is_demotion`].
    #[must_use]
    pub fn is_demotion(self) -> bool {
        self.definition().demotion
    }

    /// Whether only kernels of x86 can have it: the TSC, its watchdog and the hypervisors of x86.
    #[must_use]
    pub fn is_of_x86(self) -> bool {
        !matches!(
            self,
            Self::CounterTrapped
                | Self::CounterTrappedCompat
                | Self::CounterEmulated
                | Self::CmdlineClocksourceOverride
                | Self::CmdlineClocksourceUnknown
                | Self::CmdlineParameterIgnored
                | Self::ContradictedEvidence
                | Self::CpusDiffer
                | Self::InsufficientEvidence
                | Self::OnlyChoice
                | Self::OverrideRefused
                | Self::RuntimeOverride
                | Self::VdsoBypassed
                | Self::VerifyFoundFault
                | Self::WallClockUnsynchronised
                | Self::WallClockStaleAfterRestore
                | Self::TwoMasters
        )
    }

    /// Whether it follows from another cause.
    #[must_use]
    pub fn is_consequence(self) -> bool {
        self.definition().consequence
    }

    /// Whether `tsc=reliable` switches off the check that found the fault: the parameter would hide it, not fix it.
    #[must_use]
    pub fn is_silenced_by_reliable(self) -> bool {
        self.definition().checked
    }

    /// Whether a tenant of a guest can do something about it inside the guest: one of its remedies acts
    /// in the running kernel or at boot.
    #[must_use]
    pub fn tenant_can_act(self) -> bool {
        use crate::remedies::Layer;
        let remedies = self.definition().remedies;
        remedies.iter().any(|advice| matches!(advice.layer, Layer::Runtime | Layer::Boot))
    }
}

impl Cause {
    /// Whether it is evidence against the TSC as a counter: then nothing advises to choose the TSC.
    #[must_use]
    pub fn blames_tsc(&self) -> bool {
        match self.id.definition().blame {
            Blame::Never => false,
            Blame::Likely => self.confidence >= Confidence::Medium,
            Blame::Warning => self.severity >= Severity::Warning,
            Blame::Always => true,
        }
    }

    /// Whether it means that the kernel gave up a clocksource.
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
