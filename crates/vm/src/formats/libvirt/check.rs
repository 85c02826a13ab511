//! The checks of a domain of the QEMU driver.

use super::domain::Domain;
use super::features;
use super::timer;
use crate::finding::{Finding, Severity};
use crate::formats::qemu::confidential::{Confidential, leave};
use crate::formats::qemu::cpu::{self, UNMIGRATABLE, lowered};
use crate::formats::qemu::machine;
use crate::formats::qemu::property::Properties;
use crate::guest::Guest;
use crate::migrate::host::{MAX_HZ, MIN_HZ};
use crate::placed::{Placed, UNKNOWN};
use crate::words::listed;
use crate::xml::Element;

/// The ids of a `-cpu` in `<qemu:commandline>`.
static NAMES: cpu::Names = cpu::Names {
    kvm_off: rule!("lv-kvm-hidden"),
    hypervisor_off: rule!("lv-hypervisor-hidden"),
    kvmclock_off_no_invtsc: rule!("lv-kvmclock-off-no-invtsc"),
    kvmclock_off: rule!("lv-kvmclock-off"),
    rdtscp_off: rule!("lv-rdtscp-off"),
    tsc_deadline_off: rule!("lv-tsc-deadline-off"),
    invtsc_off: rule!("lv-invtsc-disabled"),
    no_invtsc: Some(rule!("lv-no-invtsc")),
};

/// Checks a domain.
pub(super) fn check(domain: &Domain<'_>) -> Vec<Finding> {
    let mut out = Vec::new();
    if !domain.x86() {
        // Their counter always exists; libvirt refuses the timers of x86 for them (src/qemu/qemu_validate.c,
        // qemuValidateDomainDefClockTimers()).
        out.extend(no_acpi(domain));
        out.extend(of_guest(domain));
        return out;
    }
    match domain.line.cpu() {
        _ if domain.emulated() => out.extend(emulated(domain)),
        Some(cpu) => out.extend(overridden(domain, cpu)),
        None => out.extend(own_cpu(domain)),
    }
    out.extend(features::unknown(domain));
    out.extend(timer::check(domain));
    out.extend(frequency(domain));
    if let Some(word) = &domain.line.no_hpet {
        let words = "remove it, and write <timer name='hpet' present='no'/>";
        out.push(Finding::new(rule!("q-no-hpet-removed"), word.span()).fix(words));
    }
    out.extend(no_acpi(domain));
    if let Some((element, true)) = domain.switched("hyperv", "reenlightenment")
        && domain.frequency().is_none()
    {
        let words = "write <timer name='tsc' frequency='HERTZ'/> (`vm fix --tsc-frequency HERTZ`), \
                     or remove <reenlightenment>; leave it if the machine never migrates";
        let mut finding =
            Finding::new(rule!("lv-reenlightenment-no-freq"), element.open.clone()).fix(words);
        if unmigratable(domain) {
            finding = lowered(finding, UNMIGRATABLE);
        } else if domain.stays() || domain.emulated() {
            finding.severity = Severity::Info;
        }
        out.push(finding);
    }
    out.extend(of_guest(domain));
    if domain.is_foreign() {
        of_foreign(domain, &mut out);
    } else if domain.is_untyped() {
        out.retain(|finding| !listed(ABSENT, finding.rule.id));
        out.iter_mut().for_each(|finding| finding.leave_edits(UNTYPED));
    }
    if domain.confidential().is_some() {
        leave(&mut out);
    }
    out
}

/// Adapts the findings about a QEMU domain that neither KVM nor the emulator runs: it has no clock of KVM that a
/// setting could take, no page of Hyper-V, and libvirt's own settings of these reach no guest.
fn of_foreign(domain: &Domain<'_>, out: &mut Vec<Finding>) {
    out.retain(|finding| !listed(OF_KVM, finding.rule.id));
    for finding in out {
        if finding.rule.id == "lv-no-invtsc" && domain.kind == "hvf" {
            finding.summary = Some(OF_HVF.to_owned());
        }
        finding.leave_edits(FOREIGN);
    }
}

/// Findings about clocks that only KVM offers.
const OF_KVM: &str = "lv-kvmclock-off lv-kvmclock-off-no-invtsc lv-kvm-hidden lv-hypervisor-hidden lv-hypervclock-missing \
    lv-hypervclock-ok lv-override-loses-clock lv-reenlightenment-no-freq q-stable-bit-off q-hv-time-missing";
/// The reason why nothing of such a domain is changed.
pub(super) const FOREIGN: &str =
    "neither KVM nor the emulator runs the domain, and its hypervisor has other clocks";
/// Findings about what a domain does not have: without its type, it is not known what it gets instead.
const ABSENT: &str =
    "lv-no-invtsc lv-hpet-default-on lv-migratable-default lv-frequency-without-invtsc";
/// The reason why nothing of a domain without a type is changed (src/conf/domain_conf.c, virDomainDefParseXML()).
pub(super) const UNTYPED: &str = "<domain> has no type=, so libvirt refuses it, and which hypervisor's clocks it has is not known";

/// The message about a TSC of macOS's hypervisor, which has no clock of KVM.
const OF_HVF: &str = "no invariant TSC, and type='hvf' offers a Linux guest no kvm-clock";

/// The reason why a domain that cannot be moved is not a warning.
const STAYS: &str = "it has a device of this host, so it would not move anyway";

/// Returns whether only that a domain does not migrate is requested, and not invtsc.
fn unmigratable(domain: &Domain<'_>) -> bool {
    let asked = domain.cpu.and_then(|cpu| cpu.value("migratable"));
    let passes = matches!(domain.cpu_mode(), "host-passthrough" | "maximum");
    passes && matches!(asked, Some("off" | "no")) && domain.feature("invtsc").is_none()
}

/// Checks for `-no-acpi` after libvirt's own arguments.
fn no_acpi(domain: &Domain<'_>) -> Option<Finding> {
    let finding = machine::no_acpi(&domain.line, &|_| false, &|_| false)?;
    let words = "remove it, and remove <acpi/> from <features>";
    Some(Finding { edits: Vec::new(), ..finding }.fix(words))
}

/// Checks the command line of the guest's kernel.
fn of_guest(domain: &Domain<'_>) -> Vec<Finding> {
    let mut out = Vec::new();
    let trust = domain.confidential().map(Confidential::trust).unwrap_or_default();
    if let Some(cmdline) =
        domain.child("os").and_then(|os| domain.tree.children(os, "cmdline").next())
    {
        let span = cmdline.open.end..cmdline.inner_end;
        let text = Placed::new(domain.text.slice(span.clone()), span.start);
        out.extend(machine::guest_command_line(&text, domain.x86(), trust));
    }
    if let Some(append) = &domain.line.append {
        out.extend(machine::guest_command_line(append, domain.x86(), trust));
    }
    out
}

/// Checks a domain without KVM: of its CPU, only these settings matter.
fn emulated(domain: &Domain<'_>) -> Vec<Finding> {
    let mut out = Vec::new();
    let Some(element) = domain.element.filter(|_| domain.pc()) else { return out };
    let kind =
        element.attribute("type").map_or_else(|| element.open.clone(), |it| it.whole.clone());
    let finding = Finding::new(rule!("lv-emulated"), kind);
    if let Some(words) = accelerated(domain) {
        out.push(
            finding
                .summary(words)
                .fix("type='kvm' if the host has KVM, and no accelerator in qemu:commandline"),
        );
        return out;
    }
    out.push(finding.fix("type='kvm', if the host has KVM"));
    if let Some((feature, true)) = domain.feature("invtsc") {
        let words = "remove the feature, or write type='kvm'";
        out.push(Finding::new(rule!("lv-invtsc-emulated"), feature.open.clone()).fix(words));
    }
    out
}

/// Returns the words about an emulated domain whose `<qemu:commandline>` requests another accelerator.
///
/// libvirt passes `-accel tcg`, or `-machine accel=tcg` in its older versions. QEMU tries several `-accel` in their
/// order, and refuses `-accel` together with `-machine accel=` (softmmu/vl.c, configure_accelerators(), since 5.0); of
/// several `-machine` the last one applies.
fn accelerated(domain: &Domain<'_>) -> Option<&'static str> {
    let said = domain.line.accelerators();
    if said.iter().all(|accel| accel.starts_with("tcg")) {
        return None;
    }
    Some(
        "the domain is declared as emulated (type='qemu'), and qemu:commandline requests an accelerator: QEMU refuses \
         both, or takes one of them, by the versions of QEMU and libvirt",
    )
}

/// A frequency that no processor has.
fn frequency(domain: &Domain<'_>) -> Option<Finding> {
    let attribute = domain.timer("tsc")?.attribute("frequency")?;
    if attribute.value.contains(UNKNOWN) {
        return None;
    }
    let hertz = attribute.value.trim().parse::<u64>().ok();
    // libvirt treats 0 as unset.
    let possible = hertz.is_some_and(|hertz| hertz == 0 || possible(hertz));
    (!possible).then(|| {
        Finding::new(rule!("lv-frequency-impossible"), attribute.value_span.clone())
            .summary(format!("no processor has a TSC of {} Hz", shown(&attribute.value)))
            .fix("the host's frequency in Hz, such as 2500000000 (`virsh capabilities`)")
    })
}

/// Whether a processor may have a frequency.
fn possible(hertz: u64) -> bool {
    (MIN_HZ..=MAX_HZ).contains(&hertz)
}

/// Returns a value on one line, truncated.
fn shown(value: &str) -> String {
    clocksmith_facts::visible::line(value).chars().take(40).collect()
}

/// Checks a `-cpu` of `<qemu:commandline>`, which replaces all other settings of the CPU.
fn overridden(domain: &Domain<'_>, cpu: &Properties) -> Vec<Finding> {
    let mut out = Vec::new();
    let lost = lost(domain, cpu);
    let mut finding = Finding::new(rule!("lv-cpu-override"), cpu.whole.span()).fix(
        "remove both arguments and write the same in <cpu>, <features> and <clock>; for +invtsc \
         that is <feature policy='require' name='invtsc'/>, for kvm=off <kvm><hidden \
         state='on'/></kvm>",
    );
    let told = |flag: &&String| !flag.starts_with("hv-") || *flag == "hv-time=on";
    if !lost.iter().any(|flag| told(&flag)) {
        // None of the lost flags is about a clock; but a later change of <cpu> or <clock> has no effect.
        finding.severity = Severity::Warn;
    }
    if !lost.is_empty() {
        finding = finding.summary(format!(
            "a -cpu in qemu:commandline replaces the one that libvirt generates: {} lost",
            lost.join(", ")
        ));
    }
    out.push(finding);
    let clock: Vec<&String> = lost.iter().filter(told).collect();
    // Restores only the flags of the clock: others may have been omitted on purpose. An impossible frequency has a
    // separate finding.
    let carried = |flag: &&&String| {
        let hertz = flag.strip_prefix("tsc-frequency=");
        hertz.is_none_or(|hertz| hertz.trim().parse().is_ok_and(possible))
    };
    let flags: String = clock.iter().filter(carried).map(|flag| format!(",{flag}")).collect();
    if let (false, Some(end)) =
        (flags.is_empty(), cpu.end().filter(|_| cpu.whole.exact().is_some()))
    {
        let hidden = cpu.flag("kvm") == Some(false)
            || matches!(domain.switched("kvm", "hidden"), Some((_, true)));
        let seen = hidden && cpu.get("hv-vendor-id").is_none() && flags.contains(",hv-");
        let mut fix = match seen {
            true => format!("append {flags}, and hv-vendor-id=NAME if the guest must not see KVM"),
            false => format!("append {flags}"),
        };
        if !clock.iter().all(|flag| carried(&flag)) {
            fix.push_str("; by hand also tsc-frequency=HERTZ of the host");
        }
        let others: Vec<&str> =
            lost.iter().filter(|flag| !told(flag)).map(String::as_str).collect();
        if !others.is_empty() {
            fix.push_str(&format!(
                "; {} are lost too, and are appended by hand",
                others.join(", ")
            ));
        }
        let finding = Finding::new(rule!("lv-override-loses-clock"), cpu.whole.span()).fix(fix);
        let vmware = cpu.flag("vmware-cpuid-freq") == Some(true);
        out.push(match domain.guest {
            _ if seen => {
                let why =
                    "the hypervisor is hidden from the guest, and flags of Hyper-V may show it";
                Finding { left: Some(why.to_owned()), ..finding }
            }
            Guest::Windows if !vmware => finding.edit(end..end, flags),
            _ if vmware => Finding { left: Some(cpu::BESIDE_VMWARE.to_owned()), ..finding },
            _ => {
                let why = "the file does not declare that the guest is Windows; --guest states it";
                Finding { left: Some(why.to_owned()), ..finding }
            }
        });
    }
    let kvm = match domain.kind.as_str() {
        "qemu" => Some(false),
        "kvm" => Some(true),
        _ => None,
    };
    let context = cpu::Context {
        guest: domain.guest,
        names: &NAMES,
        kvm,
        emulated: false,
        conditional: &|_| false,
        stays: domain.stays(),
        confidential: domain.confidential(),
        no_hyperv: domain.old,
        unaware: domain.unaware,
        said: domain.said,
    };
    // hv-time was reported above.
    let spoken = lost.iter().any(|flag| flag.starts_with("hv-time"));
    let told = |finding: &Finding| !spoken || finding.rule.id != rule!("q-hv-time-missing").id;
    out.extend(cpu::check(cpu, &context).into_iter().filter(told));
    out
}

/// Returns the flags of the clock that libvirt would have passed, and that the other `-cpu` lacks.
fn lost(domain: &Domain<'_>, cpu: &Properties) -> Vec<String> {
    let own = super::predict::own_cpu(domain);
    // macOS and the BSDs do not use Hyper-V's page, and lose the frequency by it.
    let hyperv = !matches!(domain.guest, Guest::Macos | Guest::Bsd);
    let paravirtual = |flag: &&String| {
        // Without kvmclock=off the guest has an additional clock.
        flag.starts_with("hv-") && hyperv || flag.starts_with("tsc-frequency=")
    };
    let missing = |flag: &&String| {
        let name = flag.split('=').next().unwrap_or(flag);
        cpu.get(name).is_none() && !(name == "hv-spinlocks" && cpu.get("hv-spinlock").is_some())
    };
    if domain.tree.template {
        return Vec::new();
    }
    own.iter().filter(paravirtual).filter(missing).cloned().collect()
}

/// Checks the CPU that libvirt generates.
fn own_cpu(domain: &Domain<'_>) -> Vec<Finding> {
    let mut out = Vec::new();
    let invariant = domain.invtsc();
    let disabled = |name| domain.feature(name).filter(|(_, on)| !on).map(|(element, _)| element);
    let at = |element: &Element| element.open.clone();
    if let Some(element) = disabled("hypervisor") {
        let severity = cpu::hidden(domain.unaware, invariant);
        let words = match invariant {
            Some(true) => {
                "remove the feature; until then invtsc, which the file has, is the guest's only fast clock"
            }
            _ => {
                "remove the feature; if the guest must not see it, invtsc is the only fast clock left"
            }
        };
        let finding = Finding::new(rule!("lv-hypervisor-hidden"), at(element));
        out.push(finding.severity(severity).fix(words));
    } else if let Some((element, true)) = domain.switched("kvm", "hidden") {
        let page = domain.present("hypervclock") == Some(true);
        // Of a Linux guest with a fixed frequency, the TSC is the clock.
        let fixed = domain.guest == Guest::Linux
            && domain.frequency().is_some_and(|hertz| hertz.trim() != "0");
        // Windows has no kvm-clock.
        let has = domain.unaware
            || domain.guest == Guest::Windows
            || ((page || fixed) && invariant == Some(true))
            // A part without a clock: the other clock may be in another part.
            || (domain.element.is_none() && domain.clock.is_none());
        let severity = if has { Severity::Info } else { Severity::Warn };
        out.push(
            Finding::new(rule!("lv-kvm-hidden"), at(element))
                .severity(severity)
                .fix("remove <hidden>, or give the guest another clock: hypervclock for Windows, invtsc for Linux"),
        );
    }
    if let Some(element) = disabled("rdtscp") {
        let finding = Finding::new(rule!("lv-rdtscp-off"), at(element)).fix("remove the feature");
        out.push(removed(domain, finding, element, domain.guest == Guest::Linux));
    }
    if let Some(element) = disabled("tsc-deadline") {
        let finding =
            Finding::new(rule!("lv-tsc-deadline-off"), at(element)).fix("remove the feature");
        out.push(removed(domain, finding, element, true));
    }
    if let Some(element) = disabled("invtsc") {
        let finding = Finding::new(rule!("lv-invtsc-disabled"), at(element));
        let page = domain.guest == Guest::Windows && domain.present("hypervclock") == Some(true);
        let words = "remove the feature, or require it: policy='require'";
        out.push(match domain.passes_all().filter(|_| domain.confidential().is_none()) {
            Some(false) => {
                let words = "nothing, or for an invariant TSC require it: policy='require'";
                lowered(finding, cpu::NOT_THERE).fix(words)
            }
            _ if page => lowered(finding, cpu::HAS_PAGE),
            Some(true) => finding.fix(words),
            None => finding.severity(Severity::Info).fix(words),
        });
    }
    let place = domain.cpu.map_or_else(
        || domain.clock.map_or(0..0, |clock| clock.open.clone()),
        |cpu| cpu.open.clone(),
    );
    match invariant {
        Some(true) if domain.confidential().is_some() => {}
        Some(true) => {
            let (feature, _) = domain.feature("invtsc").unzip();
            let span = feature.map_or_else(|| place.clone(), at);
            if domain.frequency().is_some_and(|hertz| hertz.trim() != "0") {
                out.push(Finding::new(rule!("lv-invtsc-freq-ok"), span));
            } else {
                let words = "write <timer name='tsc' frequency='HERTZ'/> (`virsh capabilities` \
                             shows the host's: <counter name='tsc' frequency=...>); `vm fix \
                             --tsc-frequency HERTZ` does it. Leave it if the machine never migrates \
                             and is never saved";
                let mut finding = Finding::new(rule!("lv-invtsc-no-freq"), span).fix(words);
                if unmigratable(domain) {
                    finding = lowered(finding, UNMIGRATABLE);
                } else if domain.stays() {
                    finding = lowered(finding, STAYS);
                }
                out.push(finding);
            }
        }
        Some(false)
            if domain.pc() && !domain.open_arch() && (domain.cpu.is_some() || domain.whole) =>
        {
            if domain.cpu_mode() == "host-passthrough"
                && domain.cpu.is_some_and(|c| c.attribute("migratable").is_none())
            {
                out.push(Finding::new(rule!("lv-migratable-default"), place.clone()));
            }
            if disabled("invtsc").is_none() {
                match domain.timer("tsc").filter(|timer| timer.attribute("frequency").is_some()) {
                    Some(timer) => out.push(Finding::new(
                        rule!("lv-frequency-without-invtsc"),
                        timer.open.clone(),
                    )),
                    // Other systems do not use kvm-clock.
                    None if !matches!(domain.guest, Guest::Linux | Guest::Unknown) => {}
                    // What replaces a placeholder may be another hypervisor.
                    None if domain.kind.contains(['{', '%', '$', '@', '#', '<', '(', UNKNOWN]) => {}
                    None if domain.pc() && finds_kvmclock(domain) => {
                        out.push(Finding::new(rule!("lv-no-invtsc"), place));
                    }
                    None => {}
                }
            }
        }
        _ => {}
    }
    out
}

/// Returns whether a Linux guest finds kvm-clock: neither KVM nor the clock is hidden from it.
fn finds_kvmclock(domain: &Domain<'_>) -> bool {
    let shown =
        !domain.hides_hypervisor() && !matches!(domain.switched("kvm", "hidden"), Some((_, true)));
    shown && domain.present("kvmclock") != Some(false)
}

fn removed(domain: &Domain<'_>, finding: Finding, element: &Element, can: bool) -> Finding {
    if !can {
        return finding;
    }
    let edit = super::place::remove(domain, element);
    finding.edit(edit.span, edit.with)
}
