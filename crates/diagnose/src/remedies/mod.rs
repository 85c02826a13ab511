//! Remedies: which advice applies to which cause, in order of preference, and which advice people
//! would reach for and should not.
//!
//! The texts, risks and sources are in [`table`]; the commands for this machine's boot loader in
//! `commands`. Nothing here is applied: applying is another crate's job.

mod commands;
mod refuse;
pub mod table;

use crate::causes::Case;
use crate::{Cause, CauseId, Confidence, Severity, Verdict};
use clocksmith_facts::cpu::CpuVendor;
use clocksmith_facts::hypervisor::HypervisorKind;
use clocksmith_kernel::feature::Feature;
use serde::Serialize;

/// Where a remedy acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
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

/// Something that can be done, with its risk; or something that should not be done, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Remedy {
    /// Stable id.
    pub id: String,
    /// Where it acts.
    pub layer: Layer,
    /// What it does.
    pub summary: String,
    /// What it risks.
    pub risk: String,
    /// The exact commands (or the configuration) for this machine.
    pub commands: Vec<String>,
    /// Why it is refused here; `null` when it is advised.
    pub refused_because: Option<String>,
    /// The causes that it answers.
    #[serde(rename = "for")]
    pub causes: Vec<CauseId>,
    /// Who says so, and as of when.
    pub source: String,
}

/// A growing list of remedies.
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

    /// Whether the cause was found at all.
    pub(crate) fn has(&self, id: CauseId) -> bool {
        self.causes.iter().any(|c| c.id == id)
    }

    /// Adds an advice of the table.
    pub(crate) fn advise(&mut self, id: &str, causes: &[CauseId], commands: Vec<String>) {
        let Some(advice) = table::find(id) else { return };
        if self.remedies.iter().any(|r| r.id == id) {
            return;
        }
        let causes = causes.iter().copied().filter(|c| self.has(*c)).collect();
        self.remedies.push(Remedy {
            id: id.to_owned(),
            layer: advice.layer,
            summary: advice.summary.to_owned(),
            risk: advice.risk.to_owned(),
            commands,
            refused_because: None,
            causes,
            source: advice.source.to_owned(),
        });
    }

    /// Adds an advice of the table as one that is refused.
    pub(crate) fn refuse(&mut self, id: &str, causes: &[CauseId], because: &str) {
        let before = self.remedies.len();
        self.advise(id, causes, Vec::new());
        if let Some(remedy) = self.remedies.get_mut(before) {
            remedy.refused_because = Some(because.to_owned());
        }
    }
}

/// Chooses what to advise, and what to warn of.
pub(crate) fn choose(case: &Case<'_>, causes: &[Cause], verdict: Verdict) -> Vec<Remedy> {
    let mut plan = Plan { case, causes, remedies: Vec::new() };
    let trouble = causes.iter().any(|c| c.severity >= Severity::Warning);
    if verdict != Verdict::Ok || trouble {
        runtime(&mut plan);
        command_line(&mut plan);
        watchdog(&mut plan);
        hypervisor(&mut plan);
        hardware(&mut plan);
        program(&mut plan);
    }
    refuse::refuse(&mut plan);
    plan.remedies
}

fn kind(case: &Case<'_>) -> Option<HypervisorKind> {
    case.facts.hypervisor.value().and_then(Option::as_ref).map(|h| h.kind)
}

/// The TSC is listed, unused, and nothing speaks against it.
fn runtime(plan: &mut Plan<'_>) {
    let case = plan.case;
    let listed =
        case.facts.available_clocksources().is_some_and(|list| list.iter().any(|n| n == "tsc"));
    if !listed || case.tsc_is_current() || case.slow != Some(true) {
        return;
    }
    use CauseId as C;
    let doubtful = [C::TscWarp, C::TscSkew, C::TscJump, C::TscMiscalibrated, C::TscHaltsInIdle]
        .into_iter()
        .any(|id| plan.has(id));
    if doubtful {
        return;
    }
    plan.advise(
        "switch-to-tsc-now",
        &[C::ParavirtClockPreferred, C::RuntimeOverride, C::CmdlineClocksourceOverride],
        vec![
            "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource".to_owned(),
            "cat /sys/devices/system/clocksource/clocksource0/current_clocksource  # a refused write \
             succeeds: read it back"
                .to_owned(),
        ],
    );
    if plan.has(C::ParavirtClockPreferred) {
        let commands = commands::add(case, "clocksource=tsc");
        plan.advise("keep-tsc-at-boot", &[C::ParavirtClockPreferred], commands);
    }
}

fn command_line(plan: &mut Plan<'_>) {
    let case = plan.case;
    use CauseId as C;
    for (cause, word) in [(C::CmdlineNotsc, "notsc"), (C::CmdlineTscUnstable, "tsc=unstable")] {
        if plan.has(cause) {
            plan.advise("remove-parameter", &[cause], commands::remove(case, word));
        }
    }
    let slow_override = plan.has(C::CmdlineClocksourceOverride) && case.slow == Some(true);
    if slow_override || plan.likely(C::CmdlineClocksourceUnknown) {
        let word = case
            .machine
            .cmdline
            .value
            .clocksource_override()
            .map_or_else(|| "clocksource".to_owned(), |name| format!("clocksource={name}"));
        plan.advise(
            "remove-parameter",
            &[C::CmdlineClocksourceOverride, C::CmdlineClocksourceUnknown],
            commands::remove(case, &word),
        );
    }
    let by_hand = plan.has(C::RuntimeOverride) && case.slow == Some(true);
    if by_hand {
        plan.advise(
            "clear-override",
            &[C::RuntimeOverride],
            vec![
                "grep -rs clocksource /etc/systemd /etc/tuned /etc/rc.local /etc/tmpfiles.d \
                 /etc/cron* # who writes it"
                    .to_owned(),
                "echo > /sys/devices/system/clocksource/clocksource0/current_clocksource"
                    .to_owned(),
            ],
        );
    }
}

fn watchdog(plan: &mut Plan<'_>) {
    let case = plan.case;
    let kernel = &case.machine.kernel.value;
    use CauseId as C;
    let demoted =
        plan.causes.iter().any(|c| c.id == C::WatchdogAtFault && c.severity >= Severity::Warning);
    if !demoted {
        return;
    }
    let innocent = plan.likely(C::WatchdogAtFault);
    let against = [C::TscWarp, C::TscJump, C::TscHaltsInIdle, C::TscUnsynchronized]
        .into_iter()
        .any(|id| plan.has(id))
        || plan.likely(C::TscSkew)
        || plan.likely(C::TscMiscalibrated);
    plan.advise("reboot-to-restore", &[C::WatchdogAtFault], vec!["reboot".to_owned()]);
    if innocent && !against {
        let known = !case.machine.kernel.is_assumed();
        if !known || Feature::TscNowatchdog.of(kernel) {
            plan.advise(
                "tsc-nowatchdog",
                &[C::WatchdogAtFault],
                commands::add(case, "tsc=nowatchdog"),
            );
        } else if kind(case) != Some(HypervisorKind::Hyperv) {
            plan.advise("tsc-reliable", &[C::WatchdogAtFault], commands::add(case, "tsc=reliable"));
        }
    }
    if case.in_guest() {
        plan.advise(
            "hide-hpet",
            &[C::WatchdogAtFault],
            vec![
                "libvirt: <clock ...><timer name='hpet' present='no'/></clock>".to_owned(),
                "QEMU: -machine hpet=off   (before 9.0 also -no-hpet)".to_owned(),
            ],
        );
    }
    if !Feature::UnwatchedNodes4.of(kernel) && !Feature::UnwatchedPackages4.of(kernel) {
        plan.advise("newer-kernel-watchdog", &[C::WatchdogAtFault], Vec::new());
    }
}

fn hypervisor(plan: &mut Plan<'_>) {
    let case = plan.case;
    use CauseId as C;
    let kind = kind(case);
    let slow = case.slow != Some(false);
    let wanted = plan.has(C::InvariantTscWithheld) || plan.has(C::TscUnsynchronized);
    match kind {
        Some(HypervisorKind::Kvm | HypervisorKind::Tcg) if wanted && slow => {
            plan.advise(
                "expose-invariant-tsc",
                &[C::InvariantTscWithheld, C::TscUnsynchronized],
                vec![
                    "libvirt: <cpu mode='host-passthrough' migratable='off'/>  or  <feature \
                     policy='require' name='invtsc'/>"
                        .to_owned(),
                    "QEMU: -cpu host,migratable=off,+invtsc".to_owned(),
                    "to keep migration: <timer name='tsc' frequency='HZ'/> (QEMU tsc-frequency=HZ), on \
                     hosts that can give that frequency"
                        .to_owned(),
                ],
            );
        }
        Some(HypervisorKind::XenHvm | HypervisorKind::XenPv)
            if slow && (plan.has(C::ParavirtClockPreferred) || plan.has(C::OnlyChoice)) =>
        {
            plan.advise(
                "xen-native-tsc",
                &[C::ParavirtClockPreferred],
                vec!["xl.cfg: tsc_mode=\"native\"".to_owned()],
            );
        }
        Some(HypervisorKind::VirtualBox) if slow || plan.has(C::TscWarp) => {
            plan.advise(
                "virtualbox-paravirt",
                &[C::TscWarp, C::OnlyChoice, C::TscUnsynchronized],
                vec![
                    "VBoxManage modifyvm VM --paravirtprovider kvm   (5.0 and later)".to_owned(),
                    "VBoxManage modifyvm VM --chipset ich9   (brings an HPET: better than acpi_pm, still \
                     slow)"
                        .to_owned(),
                    "4.x only: VBoxManage setextradata VM VBoxInternal/TM/TSCVirtualized 0".to_owned(),
                ],
            );
        }
        _ => {}
    }
    if may_be_guest(case) && plan.has(C::TscWarp) {
        plan.advise("equal-tsc-offsets", &[C::TscWarp], Vec::new());
    }
    if plan.has(C::VdsoBypassed) && matches!(case.current_name(), Some("kvm-clock" | "xen")) {
        plan.advise("host-on-tsc", &[C::VdsoBypassed], Vec::new());
    }
    if plan.has(C::ParavirtClockBroken) || (may_be_guest(case) && plan.has(C::TscMiscalibrated)) {
        plan.advise(
            "host-clock-interface",
            &[C::ParavirtClockBroken, C::TscMiscalibrated],
            Vec::new(),
        );
    }
}

/// The machine is a guest, or the evidence does not say.
fn may_be_guest(case: &Case<'_>) -> bool {
    case.in_guest() || !case.facts.hypervisor.is_known()
}

fn hardware(plan: &mut Plan<'_>) {
    let case = plan.case;
    use CauseId as C;
    if !case.in_guest()
        && [C::TscWarp, C::TscAdjustChanged, C::TscJump, C::TscMiscalibrated]
            .into_iter()
            .any(|id| plan.has(id))
    {
        plan.advise(
            "update-firmware",
            &[C::TscWarp, C::TscAdjustChanged, C::TscJump, C::TscMiscalibrated],
            Vec::new(),
        );
    }
    if plan.has(C::TscHaltsInIdle) {
        let word = if case.machine.vendor.value == CpuVendor::Intel {
            "intel_idle.max_cstate=1 processor.max_cstate=1"
        } else {
            "processor.max_cstate=1"
        };
        plan.advise("shallow-idle", &[C::TscHaltsInIdle], commands::add(case, word));
    }
    if plan.has(C::NoTsc) && !case.machine.tsc.is_assumed() && case.machine.tsc.value {
        plan.advise("early-khz", &[C::NoTsc], commands::add(case, "tsc_early_khz=KHZ"));
    }
    let xen_old =
        case.current_name() == Some("xen") && !Feature::XenVdso.of(&case.machine.kernel.value);
    let kvm_old = plan.has(C::ParavirtClockPreferred)
        && case.current_name() == Some("kvm-clock")
        && !Feature::KvmClockYields.of(&case.machine.kernel.value);
    let warp_old = plan.has(C::TscUnsynchronized)
        && !Feature::UnsynchronizedByPackages.of(&case.machine.kernel.value)
        && case.machine.packages.value == 1
        && !case.machine.packages.is_assumed();
    if (xen_old || kvm_old || warp_old) && case.slow != Some(false) {
        plan.advise(
            "newer-kernel",
            &[C::ParavirtClockPreferred, C::TscUnsynchronized, C::OnlyChoice],
            Vec::new(),
        );
    }
}

/// What helps whatever the cause: fewer or cheaper reads.
fn program(plan: &mut Plan<'_>) {
    use CauseId as C;
    if plan.case.slow == Some(true) || plan.has(C::CounterTrapped) {
        let all: Vec<C> = plan.causes.iter().map(|c| c.id).collect();
        plan.advise("cheaper-reads", &all, Vec::new());
    }
}
