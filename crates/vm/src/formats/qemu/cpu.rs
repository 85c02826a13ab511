//! The checks of a `-cpu`, wherever it is: in a script, after libvirt's own, in `args:`.

use super::confidential::{Confidential, leave};
use super::property::{Properties, Property};
use crate::finding::{Finding, Rule, Severity};
use crate::guest::Guest;
use crate::migrate::host::{MAX_HZ, MIN_HZ};
use crate::placed::UNKNOWN;

/// The rules by which findings are reported: a `-cpu` in another file has that file's ids.
pub(crate) struct Names {
    pub(crate) kvm_off: &'static Rule,
    pub(crate) hypervisor_off: &'static Rule,
    pub(crate) kvmclock_off_no_invtsc: &'static Rule,
    pub(crate) kvmclock_off: &'static Rule,
    pub(crate) rdtscp_off: &'static Rule,
    pub(crate) tsc_deadline_off: &'static Rule,
    pub(crate) invtsc_off: &'static Rule,
    pub(crate) no_invtsc: Option<&'static Rule>,
}

/// The ids of QEMU's own command lines.
pub(crate) static NAMES: Names = Names {
    kvm_off: rule!("q-kvm-off"),
    hypervisor_off: rule!("q-hypervisor-hidden"),
    kvmclock_off_no_invtsc: rule!("q-kvmclock-off-no-invtsc"),
    kvmclock_off: rule!("q-kvmclock-off"),
    rdtscp_off: rule!("q-rdtscp-off"),
    tsc_deadline_off: rule!("q-tsc-deadline-off"),
    invtsc_off: rule!("q-invtsc-disabled"),
    no_invtsc: Some(rule!("q-no-invtsc")),
};

/// Facts besides the `-cpu` itself.
pub(crate) struct Context<'a> {
    pub(crate) guest: Guest,
    pub(crate) names: &'a Names,
    /// Whether KVM runs the guest; `Some(false)` for the emulator.
    pub(crate) kvm: Option<bool>,
    /// Whether the emulator runs the guest, which has no CPUID leaves of KVM: no flag can disable them.
    pub(crate) emulated: bool,
    /// Whether the text at an offset applies only under a condition.
    pub(crate) conditional: &'a dyn Fn(usize) -> bool,
    /// Whether the guest cannot migrate anyway, because it has a device of its host.
    pub(crate) stays: bool,
    /// The technology that protects the guest's memory from the host.
    pub(crate) confidential: Option<Confidential>,
    /// Whether Hyper-V flags have no effect: an older Windows, or an emulated processor.
    pub(crate) no_hyperv: bool,
    /// Whether the guest's system uses no clock of a hypervisor, so that it loses none if that is hidden.
    pub(crate) unaware: bool,
    /// Whether the user specifies the guest's system, or that it is not known.
    pub(crate) said: bool,
}

/// The reason why a disabled kvm-clock is left if the guest may be any system.
pub(crate) const ANY_SYSTEM: &str = "the file does not state which system the guest runs: one that \
                                     is not Linux may need it; --guest states it";

/// Whether the model is one for which `migratable` is a property.
fn has_migratable(model: &str) -> bool {
    matches!(model, "host" | "max" | "") || model.contains(UNKNOWN) || model.contains('%')
}

/// Whether the guest has an invariant TSC; `None` if it is not known.
pub(crate) fn invtsc(cpu: &Properties) -> Option<bool> {
    if let Some(said) = cpu.flag("invtsc") {
        return Some(said);
    }
    if passes_all(cpu) == Some(true) {
        return Some(true);
    }
    (!cpu.whole.unknown()).then_some(false)
}

/// Returns whether the guest gets all features of its host, also those that do not migrate: an invariant TSC too, unless
/// the list disables it (target/i386/cpu.c, x86_cpu_get_supported_feature_word(), `unmigratable_flags`). `None` if only
/// a run shows it.
fn passes_all(cpu: &Properties) -> Option<bool> {
    if matches!(cpu.head_name().as_str(), "host" | "max") {
        match cpu.flag("migratable") {
            Some(migratable) => return Some(!migratable),
            None if cpu.get("migratable").is_some() => return None,
            None => {}
        }
    }
    (!cpu.whole.unknown()).then_some(false)
}

/// Returns whether Windows gets Hyper-V's reference TSC page.
fn has_page(cpu: &Properties) -> bool {
    ["hv-time", "hv-passthrough"].iter().any(|name| cpu.flag(name) == Some(true))
}

/// Why it matters little that a list disables an invariant TSC: only `migratable=off` and a request for it give one.
pub(crate) const NOT_THERE: &str =
    "this CPU has none unless it is required, so this changes nothing";
/// The same for Windows.
pub(crate) const HAS_PAGE: &str =
    "Windows reads Hyper-V's reference TSC page, which does not need it";

/// Returns the fixed frequency, if there is one.
pub(crate) fn frequency(cpu: &Properties) -> Option<&Property> {
    cpu.get("tsc-frequency").or_else(|| cpu.get("tsc-freq"))
}

/// Returns whether a frequency is impossible for a processor: `tsc-frequency=` is a whole number, in Hz or hexadecimal;
/// only `tsc-freq=` takes `2.5G`.
fn impossible(property: &Property) -> bool {
    let Some(value) = property.value.as_ref() else { return true };
    if value.unknown() || crate::template::in_plain_value(value.as_str()) {
        return false;
    }
    let text = value.as_str();
    let hertz = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None if property.name == "tsc-freq" => crate::migrate::guest::metric(text),
        None => text.parse().ok(),
    };
    // QEMU treats 0 as unset.
    !hertz.is_some_and(|hertz| hertz == 0 || (MIN_HZ..=MAX_HZ).contains(&hertz))
}

/// The reason why an option is left whose words are not one part of the file.
pub(crate) const PARTS: &str = "the file joins the words of the option from several parts";

/// Returns a finding about a property that can be removed.
fn cut(rule: &'static Rule, property: &Property, can: bool, words: &str) -> Finding {
    let finding = Finding::new(rule, property.span()).fix(words);
    match property.cut().filter(|_| can) {
        None if can => Finding { left: Some(PARTS.to_owned()), ..finding },
        span => finding.edit_at(span, ""),
    }
}

/// Checks a `-cpu`.
pub(crate) fn check(cpu: &Properties, context: &Context<'_>) -> Vec<Finding> {
    let mut out = Vec::new();
    let names = context.names;
    let windows = context.guest == Guest::Windows;
    let linux = matches!(context.guest, Guest::Linux | Guest::Unknown);
    let off = |name: &str| cpu.get(name).filter(|p| p.state() == Some(false));
    let said = invtsc(cpu);
    let invariant = context.confidential.map_or(said, |it| it.invtsc(said));
    let span = cpu.head.as_ref().map_or_else(|| cpu.whole.span(), |head| head.span());

    if let Some(property) = off("kvm").filter(|_| !context.emulated) {
        let words = "remove kvm=off, or give the guest another clock: hv-time for Windows, +invtsc for Linux";
        // Windows has its clock from Hyper-V's page, and with an invariant TSC every guest has a clock.
        let page = has_page(cpu);
        // macOS has no kvm-clock, its clock is the TSC; Windows has none, and its page is of Hyper-V.
        let none = windows || context.unaware;
        // Of a Linux guest with a fixed frequency, the TSC is the clock.
        let fixed = context.guest == Guest::Linux && cpu.get("tsc-frequency").is_some();
        let has = none || (page || fixed) && invariant == Some(true);
        let severity = if has { Severity::Info } else { names.kvm_off.severity };
        out.push(Finding::new(names.kvm_off, property.span()).severity(severity).fix(words));
    }
    if let Some(property) = off("hypervisor") {
        let severity = hidden(context.unaware, invariant);
        let words = match invariant {
            Some(true) => {
                "remove -hypervisor; until then +invtsc, which is there, is the guest's only fast clock"
            }
            _ => {
                "remove -hypervisor; if the guest must not see it, +invtsc is the only fast clock left"
            }
        };
        out.push(Finding::new(names.hypervisor_off, property.span()).severity(severity).fix(words));
    }
    if let Some(property) = off("kvmclock").filter(|_| !context.emulated) {
        if invariant == Some(false) && linux {
            let words = "remove kvmclock=off";
            let mut finding = cut(names.kvmclock_off_no_invtsc, property, true, words);
            if let Some(other) = cpu.list.iter().find(|it| is_leaf(it)) {
                finding.edits.clear();
                finding.left = Some(one_of_several(&other.name));
            } else if context.guest == Guest::Unknown && !context.said {
                finding.edits.clear();
                finding.left = Some(ANY_SYSTEM.to_owned());
            }
            out.push(finding);
        } else {
            out.push(Finding::new(names.kvmclock_off, property.span()).severity(Severity::Info));
        }
    }
    if let Some(property) = off("kvmclock-stable-bit")
        && context.kvm != Some(false)
    {
        let harmless = !linux || invariant != Some(false) || off("kvmclock").is_some();
        let severity = if harmless { Severity::Info } else { Severity::Error };
        let finding = Finding::new(rule!("q-stable-bit-off"), property.span()).severity(severity);
        let cut = property.cut().filter(|_| !harmless);
        out.push(finding.fix("remove it").edit_at(cut, ""));
    }
    if let Some(property) = off("rdtscp") {
        out.push(cut(names.rdtscp_off, property, context.guest == Guest::Linux, "remove -rdtscp"));
    }
    if let Some(property) = off("tsc-deadline").or_else(|| off("tscdeadline")) {
        out.push(cut(names.tsc_deadline_off, property, true, "remove it"));
    }
    let model = cpu.head_name();
    if let Some(property) = cpu.get("migratable")
        && !has_migratable(&model)
    {
        let words = "remove migratable=; for a named model, only +invtsc requests invtsc";
        out.push(cut(rule!("q-migratable-named-model"), property, true, words));
    }
    if let Some(property) = cpu.get("hv-reenlightenment").filter(|p| p.state() == Some(true))
        && frequency(cpu).is_none()
        && !cpu.whole.unknown()
    {
        let words = "fix the frequency: tsc-frequency=HERTZ of the host; or remove hv-reenlightenment. Leave it if \
                     the machine never migrates";
        let mut finding =
            Finding::new(rule!("q-reenlightenment-no-freq"), property.span()).fix(words);
        if unmigratable(cpu) {
            finding = lowered(finding, UNMIGRATABLE);
        } else if context.stays {
            finding.severity = Severity::Info;
        }
        out.push(finding);
    }
    if let Some(property) = frequency(cpu).filter(|property| impossible(property)) {
        let words = "the host's frequency in Hz, such as tsc-frequency=2500000000 (dmesg: \"Detected ... MHz TSC\")";
        out.push(Finding::new(rule!("q-frequency-impossible"), property.span()).fix(words));
    }
    if context.confidential.is_none() {
        let refused = out.iter().any(|it| it.rule.id == rule!("q-frequency-impossible").id);
        let found = invariant_tsc(cpu, context, invariant, &span).into_iter();
        // QEMU does not start with such a frequency.
        out.extend(found.filter(|it| !refused || it.rule.id != "q-invtsc-freq-ok"));
    }
    out.extend(vmware(cpu));
    if windows && !context.no_hyperv && off("hypervisor").is_none() {
        out.extend(hv_time(cpu, &span));
    }
    if context.confidential.is_some() {
        leave(&mut out);
    }
    out
}

/// Returns the severity of a hidden hypervisor. With an invariant TSC, the remaining fast clock is available; some
/// systems use no other one.
pub(crate) fn hidden(unaware: bool, invariant: Option<bool>) -> Severity {
    match invariant {
        _ if unaware => Severity::Info,
        Some(true) => Severity::Warn,
        _ => Severity::Error,
    }
}

/// Returns whether a property disables another KVM paravirtual feature (target/i386/cpu.c,
/// `feature_word_info[FEAT_KVM]`).
fn is_leaf(property: &Property) -> bool {
    let hint = matches!(property.name.as_str(), "kvm-hint-dedicated" | "kvm-pv-enforce-cpuid");
    property.name.starts_with("kvm-") && !hint && property.state() == Some(false)
}

/// Returns the reason why a kvm-clock that is disabled together with other features is left: a hypervisor in the guest,
/// or a test, needs this.
pub(crate) fn one_of_several(other: &str) -> String {
    format!(
        "{other} is also disabled: the file intends to hide what KVM offers, and kvm-clock is a \
         part of that"
    )
}

/// A Windows guest without Hyper-V's page. With `hv-stimer`, QEMU does not start without the page
/// (target/i386/kvm/kvm.c, `kvm_hyperv_properties[]`, dependencies).
fn hv_time(cpu: &Properties, span: &std::ops::Range<usize>) -> Option<Finding> {
    let on = |name: &str| cpu.flag(name) == Some(true);
    if on("hv-time") || on("hv-passthrough") || cpu.whole.unknown() {
        return None;
    }
    let mut finding = Finding::new(rule!("q-hv-time-missing"), span.clone()).fix("add hv-time");
    if let Some(stimer) = cpu.get("hv-stimer").filter(|stimer| stimer.state() == Some(true)) {
        finding.span = stimer.span();
        finding = finding
            .severity(Severity::Error)
            .summary("hv-stimer without hv-time: the machine does not start, and Windows has no reference TSC page");
    }
    if on("vmware-cpuid-freq") {
        finding.left = Some(BESIDE_VMWARE.to_owned());
        return Some(finding);
    }
    // A flag that is switched off was intended to be off.
    let said = cpu.get("hv-time").is_some();
    Some(if said { finding } else { append(finding, cpu, spelled(cpu)) })
}

/// Returns `hv-time` as the list spells its other flags: QEMU accepts both forms.
fn spelled(cpu: &Properties) -> &'static str {
    let mut flags = cpu.list.iter().filter(|it| it.name.starts_with("hv-")).peekable();
    let underscored = |it: &Property| it.whole.as_str().trim_start_matches('+').starts_with("hv_");
    if flags.peek().is_some() && flags.all(underscored) { ",hv_time" } else { ",hv-time" }
}

/// The reason why a machine that cannot be migrated is not a warning.
pub(crate) const UNMIGRATABLE: &str = "migratable=off says that it never will";
/// The same for a machine with a device of its host.
const STAYS: &str = "it has a device of this host, so it would not move anyway";

/// Returns whether only that a machine does not migrate is requested, and not invtsc.
fn unmigratable(cpu: &Properties) -> bool {
    cpu.get("invtsc").is_none()
        && cpu.flag("migratable") == Some(false)
        && has_migratable(&cpu.head_name())
}

/// Returns a finding about the migration of a machine that does not migrate, with the reason.
pub(crate) fn lowered(finding: Finding, why: &str) -> Finding {
    let summary = format!("{}; {why}", finding.rule.summary);
    finding.severity(Severity::Info).summary(summary)
}
/// The reason why no flag of Hyper-V is added.
pub(crate) const BESIDE_VMWARE: &str =
    "together with a Hyper-V flag, vmware-cpuid-freq=on no longer gives the guest a frequency";

/// `vmware-cpuid-freq=on` together with Hyper-V flags.
fn vmware(cpu: &Properties) -> Option<Finding> {
    let asked = cpu.get("vmware-cpuid-freq").filter(|it| it.state() == Some(true))?;
    let hyperv = |p: &&Property| {
        p.name.starts_with("hv-") && p.name != "hv-vendor-id" && p.state() != Some(false)
    };
    cpu.list.iter().find(hyperv)?;
    Some(Finding::new(rule!("q-vmware-frequency-lost"), asked.span()))
}

/// Appends to the list, if that is possible.
pub(crate) fn append(finding: Finding, cpu: &Properties, what: &str) -> Finding {
    let end = cpu.end().filter(|_| !cpu.whole.unknown() || cpu.head.is_some());
    finding.edit_at(end.map(|end| end..end), what)
}

fn invariant_tsc(
    cpu: &Properties,
    context: &Context<'_>,
    invariant: Option<bool>,
    model: &std::ops::Range<usize>,
) -> Vec<Finding> {
    let mut out = Vec::new();
    let asked = cpu.get("invtsc");
    match (invariant, frequency(cpu)) {
        (Some(true), _) if context.kvm == Some(false) => {
            if let Some(property) = asked {
                out.push(cut(
                    rule!("q-invtsc-tcg"),
                    property,
                    false,
                    "add -accel kvm, or remove invtsc",
                ));
            }
        }
        (Some(true), Some(frequency)) => {
            out.push(Finding::new(rule!("q-invtsc-freq-ok"), frequency.span()));
        }
        (Some(true), None) => {
            let property = asked.or_else(|| cpu.get("migratable"));
            let span = property.map_or_else(|| model.clone(), Property::span);
            if (context.conditional)(span.start) {
                out.push(Finding::new(rule!("q-invtsc-conditional-ok"), span));
            } else {
                let words = "fix the frequency: tsc-frequency=HERTZ of the host (dmesg: \"Detected ... MHz TSC\"); \
                             `vm fix --tsc-frequency HERTZ` does it. Leave it if the machine never migrates and \
                             is never saved";
                let mut finding = Finding::new(rule!("q-invtsc-migblock"), span).fix(words);
                if unmigratable(cpu) {
                    finding = lowered(finding, UNMIGRATABLE);
                } else if context.stays {
                    finding = lowered(finding, STAYS);
                }
                out.push(finding);
            }
        }
        (Some(false), frequency) => {
            if let Some(property) = asked {
                let finding = Finding::new(context.names.invtsc_off, property.span());
                let page = context.guest == Guest::Windows && has_page(cpu);
                let words = "remove it, or ask for +invtsc";
                out.push(match passes_all(cpu) {
                    Some(false) => lowered(finding, NOT_THERE)
                        .fix("nothing, or for an invariant TSC ask for +invtsc"),
                    _ if page => lowered(finding, HAS_PAGE),
                    Some(true) => finding.fix(words),
                    None => finding.severity(Severity::Info).fix(words),
                });
            } else if let Some(frequency) = frequency {
                out.push(Finding::new(rule!("q-frequency-without-invtsc"), frequency.span()));
            } else if let Some(rule) = context.names.no_invtsc.filter(|_| {
                // Without any of these the guest does not find kvm-clock.
                let found = ["kvmclock", "kvm", "hypervisor"];
                context.kvm == Some(true)
                    && matches!(context.guest, Guest::Linux | Guest::Unknown)
                    && found.iter().all(|name| cpu.flag(name) != Some(false))
            }) {
                out.push(Finding::new(rule, model.clone()));
            }
        }
        (None, _) => {}
    }
    out
}
