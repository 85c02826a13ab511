//! Remedies: the advice for each cause, in order of preference, and common advice that is
//! wrong here.
//!
//! The texts, risks and sources are in [`table`]; each advice has its conditions as code, in the module of
//! its layer, and is offered only if they hold. The cause lists the advice that answers it.
//! This module applies nothing: another crate does.

mod boot;
mod hardware;
mod hypervisor;
mod next;
mod offer;
mod refuse;
mod runtime;
pub mod table;
pub mod wall;
pub(crate) mod watchdog;

pub use next::NextStep;
pub(crate) use next::next_steps;

use crate::causes::{Case, against_tsc, vdso_bypassed};
use crate::{Cause, CauseId, Confidence, Severity, Verdict};
use clocksmith_facts::Arch;
use clocksmith_facts::hypervisor::Cloud;
use clocksmith_facts::log::Event;
use offer::Offer;
use serde::{Deserialize, Serialize};

/// Where a remedy acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// In the program that reads the time.
    Program,
    /// In the running kernel.
    Runtime,
    /// In the boot configuration.
    Boot,
    /// In the hypervisor's configuration of this guest, or in the host.
    Hypervisor,
    /// In firmware or hardware.
    Firmware,
}

/// Words to add to the kernel command line, or to remove from it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parameters {
    /// Words to add.
    #[serde(default)]
    pub add: Vec<String>,
    /// Words to remove.
    #[serde(default)]
    pub remove: Vec<String>,
}

/// Configuration that a person writes into a file or a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Setting {
    /// The file or command.
    pub r#where: String,
    /// The text.
    pub text: String,
}

impl Layer {
    /// The layer as text: `program`, `runtime`, `boot`, `hypervisor`, `firmware`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Runtime => "runtime",
            Self::Boot => "boot",
            Self::Hypervisor => "hypervisor",
            Self::Firmware => "firmware",
        }
    }
}

/// Something that can be done, with its risk; or something that should not be done, with the reason.
/// `Id` is as in [`Cause`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Remedy"))]
pub struct Remedy<Id = CauseId> {
    /// Stable id.
    pub id: String,
    /// Where the remedy acts.
    pub layer: Layer,
    /// What the remedy does.
    #[serde(default)]
    pub summary: String,
    /// The risk of the remedy.
    #[serde(default)]
    pub risk: String,
    /// Shell commands that run as they are.
    #[serde(default)]
    pub commands: Vec<String>,
    /// Configuration files and the text for them.
    #[serde(default)]
    pub settings: Vec<Setting>,
    /// Instructions for a person.
    #[serde(default)]
    pub instructions: Vec<String>,
    /// Changes of the kernel command line of later boots.
    #[serde(default)]
    pub parameters: Parameters,
    /// Why the remedy is refused here; `null` if it is advised.
    #[serde(default)]
    pub refused_because: Option<String>,
    /// The causes that it answers.
    #[serde(rename = "for")]
    pub causes: Vec<Id>,
    /// The page that documents the remedy; null where this project documents it.
    #[serde(default)]
    pub source: String,
}

/// A list of remedies, and the queries of their conditions.
pub(crate) struct Plan<'a> {
    pub(crate) case: &'a Case<'a>,
    pub(crate) causes: &'a [Cause],
    pub(crate) remedies: Vec<Remedy>,
}

impl Plan<'_> {
    /// Whether the cause was found, with at least medium confidence.
    pub(crate) fn likely(&self, id: CauseId) -> bool {
        self.causes.iter().any(|c| c.id == id && c.confidence >= Confidence::Medium)
    }

    /// Whether the cause was found as a warning or worse.
    pub(crate) fn warns(&self, id: CauseId) -> bool {
        self.causes.iter().any(|c| c.id == id && c.severity >= Severity::Warning)
    }

    /// Whether the cause was found at all.
    pub(crate) fn has(&self, id: CauseId) -> bool {
        self.causes.iter().any(|c| c.id == id)
    }

    /// The first cause that is evidence against the TSC.
    pub(crate) fn against_tsc(&self) -> Option<&Cause> {
        against_tsc(self.causes)
    }

    /// Whether the machine is a guest, or the evidence does not show it.
    pub(crate) fn may_be_guest(&self) -> bool {
        let case = self.case;
        // Firmware that names a vendor of hardware, in a text that shows no hypervisor.
        let hardware = case.facts.dmi.is_known() && !case.in_guest();
        !case.is_bare_metal() && !hardware
    }

    /// Whether the machine is Xen's initial domain.
    pub(crate) fn is_dom0(&self) -> bool {
        let hypervisor = self.case.facts.hypervisor.value().and_then(Option::as_ref);
        hypervisor.is_some_and(|h| h.xen_dom0)
    }

    /// Whether the guest is rented: its user cannot change the host.
    pub(crate) fn is_tenant(&self) -> bool {
        let facts = self.case.facts;
        let rented = facts
            .cloud
            .value()
            .is_some_and(|cloud| !matches!(cloud, Cloud::None | Cloud::OpenStack));
        let dmi = facts.dmi.value().map(|text| text.to_lowercase()).unwrap_or_default();
        let kernel = facts.kernel.value().map(|k| k.release.to_lowercase()).unwrap_or_default();
        rented
            || ["amazon", "google compute", "alibaba cloud"].iter().any(|name| dmi.contains(name))
            || ["amzn", "-aws", "-azure", "-gcp", "-gke", "-oracle"]
                .iter()
                .any(|name| kernel.contains(name))
    }

    /// Whether the user of the guest may also administer the host.
    pub(crate) fn owns_host(&self) -> bool {
        !self.is_tenant() && !self.is_dom0()
    }

    /// Whether the kernel is older than the vDSO path of the paravirtual clock in use.
    pub(crate) fn old_pvclock(&self) -> bool {
        let name = self.case.current_name().unwrap_or_default();
        self.is_32_bit_kvm() || vdso_bypassed::lacks_path(self.case.machine, name)
    }

    /// Whether the kernel is a 32-bit kernel with kvm-clock, for which no version has a vDSO path.
    pub(crate) fn is_32_bit_kvm(&self) -> bool {
        let arch = &self.case.machine.arch;
        arch.value == Arch::X86
            && !arch.is_assumed()
            && self.case.current_name() == Some("kvm-clock")
    }

    /// Adds an advice.
    fn advise(&mut self, advice: &table::Advice, causes: Vec<CauseId>, offer: Offer) {
        if self.remedies.iter().any(|r| r.id == advice.id) {
            return;
        }
        self.remedies.push(Remedy {
            id: advice.id.to_owned(),
            layer: advice.layer,
            summary: offer.summary.unwrap_or_else(|| advice.summary.to_owned()),
            risk: offer.risk.unwrap_or_else(|| advice.risk.to_owned()),
            commands: offer.commands,
            settings: offer.settings,
            instructions: offer.instructions,
            parameters: offer.parameters,
            refused_because: None,
            causes,
            source: offer.source.unwrap_or(advice.source).to_owned(),
        });
    }

    /// Adds a refused advice.
    fn refuse(&mut self, advice: &table::Advice, causes: Vec<CauseId>, because: &str) {
        let before = self.remedies.len();
        self.advise(advice, causes, Offer::default());
        if let Some(remedy) = self.remedies.get_mut(before) {
            remedy.refused_because = Some(because.to_owned());
        }
    }
}

/// Chooses the advice and the warnings.
pub(crate) fn choose(case: &Case<'_>, causes: &[Cause], verdict: Verdict) -> Vec<Remedy> {
    let mut plan = Plan { case, causes, remedies: Vec::new() };
    let trouble = causes.iter().any(|c| c.severity >= Severity::Warning);
    if verdict != Verdict::Ok || trouble {
        for advice in table::ADVICE {
            let answers =
                |id: CauseId| id.definition().remedies.iter().any(|answer| answer.id == advice.id);
            let causes: Vec<CauseId> =
                causes.iter().map(|c| c.id).filter(|id| answers(*id)).collect();
            if !causes.is_empty()
                && (case.may_be_x86() || is_for_every_architecture(advice))
                && let Some(offer) = (advice.offer)(&plan)
            {
                plan.advise(advice, causes, elsewhere(case, advice, offer));
            }
        }
    }
    // Without evidence of a guest, remedies in the hypervisor come after those that help on hardware; they come last if
    // the kernel reports that it runs on hardware.
    if !case.in_guest() {
        let on_hardware = |event: &Event| matches!(event, Event::Paravirt(name) if name == BARE);
        let bare = case.log().is_some_and(|log| log.any(on_hardware));
        plan.remedies.sort_by_key(|remedy| match remedy.layer {
            Layer::Hypervisor if bare => 3,
            Layer::Program => 2,
            Layer::Hypervisor => 1,
            Layer::Runtime | Layer::Boot | Layer::Firmware => 0,
        });
    }
    refuse::refuse(&mut plan);
    plan.remedies
}

/// Chooses the remedies for the wall clock, best first, whatever the verdict on the clocksource is.
pub(crate) fn for_wall_clock(case: &Case<'_>, causes: &[Cause]) -> Vec<Remedy> {
    let mut plan = Plan { case, causes, remedies: Vec::new() };
    for advice in table::ADVICE {
        let answers =
            |id: CauseId| id.definition().remedies.iter().any(|answer| answer.id == advice.id);
        // Other causes that the figures of a wall clock prove are answered by the remedies for the clocksource.
        let answered: Vec<CauseId> = causes
            .iter()
            .map(|c| c.id)
            .filter(|id| id.concerns_wall_clock() && answers(*id))
            .collect();
        if !answered.is_empty()
            && let Some(offer) = (advice.offer)(&plan)
        {
            plan.advise(advice, answered, elsewhere(case, advice, offer));
        }
    }
    plan.remedies
}

/// The kernel's name for hardware, and for a hypervisor without a paravirtual interface.
const BARE: &str = "bare hardware";

/// Whether an advice is for kernels of every architecture; the others concern the TSC or hypervisors of x86.
fn is_for_every_architecture(advice: &table::Advice) -> bool {
    let ids = [
        table::REMOVE_PARAMETER.id,
        table::CLEAR_OVERRIDE.id,
        table::SWITCH_TO_COUNTER.id,
        table::NEWER_KERNEL.id,
        table::CHEAPER_READS.id,
    ];
    ids.contains(&advice.id)
}

/// In a container, WSL or gVisor another administrator controls the kernel: no command inside helps.
fn elsewhere(case: &Case<'_>, advice: &table::Advice, offer: Offer) -> Offer {
    let environment = &case.facts.environment;
    let place = if matches!(environment.container.value(), Some(Some(_))) {
        "the kernel belongs to the host of this container: do it there"
    } else if environment.wsl.value() == Some(&true) {
        "Windows starts this kernel: its command line is kernelCommandLine= in %UserProfile%\\.wslconfig"
    } else if environment.gvisor.value() == Some(&true) {
        "there is no Linux kernel under this program: do it on the host"
    } else {
        return offer;
    };
    if !matches!(advice.layer, Layer::Runtime | Layer::Boot) {
        return offer;
    }
    let mut offer = Offer { commands: Vec::new(), ..offer };
    offer.instructions.insert(0, place.to_owned());
    offer
}
