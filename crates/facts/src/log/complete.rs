//! Completes a fact record from the kernel log.

use super::event::Event;
use super::parse::VIRTUALIZED;
use super::{Entry, KernelLog, arch};
use crate::acpi::{HpetTable, PmTimer};
use crate::clockdev::ClocksourceDevice;
use crate::cmdline::CommandLine;
use crate::cpu::{CpuModel, CpuVendor, Flags};
use crate::dmi::cloud_of_line;
use crate::flag_list::{self, Reach};
use crate::hypervisor::{Hypervisor, HypervisorKind, names_guest};
use crate::ntp::NtpState;
use crate::version::Kernel;
use crate::{Arch, Fact, Facts, Missing, Origin, Source, Why};

/// Fills every missing fact that the log shows. Facts from other sources are kept:
/// they are closer to the machine.
pub fn complete(facts: &mut Facts) {
    if !facts.log.is_known() {
        of_virtualbox(facts, None);
        return;
    }
    let Fact::Known { value: log, source } = std::mem::take(&mut facts.log) else { return };
    identity(facts, &log);
    processors(facts, &log);
    timers(facts, &log);
    hypervisor(facts, &log);
    cloud(facts);
    readings(facts, &log);
    of_virtualbox(facts, Some(&log));
    facts.log = Fact::known(log, source);
}

/// The cloud according to the DMI line, if it names one.
fn cloud(facts: &mut Facts) {
    let kind = facts.hypervisor.value().and_then(Option::as_ref).map(|found| found.kind);
    if let Fact::Known { value, source } = &facts.dmi
        && !facts.cloud.is_known()
        && let Some(cloud) = cloud_of_line(value, kind)
    {
        facts.cloud = Fact::known(cloud, source.clone());
    }
}

/// VirtualBox presents the interface of KVM to Linux guests, unless another one is configured; its firmware names the
/// vendor.
fn of_virtualbox(facts: &mut Facts, log: Option<&KernelLog>) {
    let named = facts.dmi.value().is_some_and(|text| text.contains("VirtualBox"));
    let tables = |log: &KernelLog| {
        log.all(|event| matches!(event, Event::AcpiTables | Event::HpetTable { base: None }))
            .any(|entry| entry.text.contains(" VBOX "))
    };
    if (named || log.is_some_and(tables))
        && let Fact::Known { value: Some(found), .. } = &mut facts.hypervisor
    {
        found.virtualbox = true;
    }
}

fn set<T>(slot: &mut Fact<T>, log: &KernelLog, found: Option<(&Entry, T)>) {
    if !slot.is_known()
        && let Some((entry, value)) = found
    {
        *slot = Fact::known(value, log.source(entry));
    }
}

fn identity(facts: &mut Facts, log: &KernelLog) {
    let banner = |event: &Event| match event {
        Event::Banner(text) => Kernel::parse(text),
        _ => None,
    };
    set(&mut facts.kernel, log, log.last(banner));
    if !facts.kernel.is_known() {
        // `BOOT_IMAGE=/boot/vmlinuz-4.9.0-6-amd64` names the release when the banner is truncated.
        let image = |event: &Event| match event {
            Event::CommandLine(text) => kernel_of_boot_image(text),
            _ => None,
        };
        set(&mut facts.kernel, log, log.last(image));
    }
    if !facts.kernel.is_known() {
        set(&mut facts.kernel, log, one_release(log));
    }
    let line = |event: &Event| match event {
        Event::CommandLine(text) => Some(CommandLine::parse(text)),
        _ => None,
    };
    set(&mut facts.cmdline, log, log.last(line));
    let dmi = |event: &Event| match event {
        Event::Dmi(text) => Some(text.clone()),
        _ => None,
    };
    set(&mut facts.dmi, log, log.last(dmi));
    if !facts.arch.is_known() {
        set(&mut facts.arch, log, architecture(log, facts.kernel.value()));
        width(facts, log);
    }
    let gvisor = log.first(|event| matches!(event, Event::Gvisor).then_some(true));
    set(&mut facts.environment.gvisor, log, gvisor);
}

/// The release in fault reports and root hubs, if all of them name the same one.
fn one_release(log: &KernelLog) -> Option<(&Entry, Kernel)> {
    let release = |event: &Event| match event {
        Event::Release(release) => Some(release.clone()),
        _ => None,
    };
    let (entry, found) = log.last(release)?;
    let other = log.any(|event| release(event).is_some_and(|release| release != found));
    (!other).then(|| Kernel::parse(&found)).flatten().map(|kernel| (entry, kernel))
}

/// A message of only one architecture comes first: an arm64 kernel's log may quote an x86 word.
fn architecture<'a>(log: &'a KernelLog, kernel: Option<&Kernel>) -> Option<(&'a Entry, Arch)> {
    let told = log.first(|event| match event {
        Event::Arch(_) | Event::ArmProcessor { .. } | Event::MipsProcessor { .. } => {
            arch::of(event, kernel)
        }
        _ => None,
    });
    // `arch_sys_counter` is a clocksource of 64-bit and 32-bit Arm only, so a log that names it is not of x86.
    let not_x86 = log.any(arch::is_not_x86s);
    let fits = |found: &Arch| !(not_x86 && found.is_x86());
    let first = || log.first(|event| arch::of(event, kernel).filter(fits));
    told.filter(|(_, found)| fits(found)).or_else(first)
}

/// Sets the width that the log shows, or leaves it open, for architectures whose rules depend on it.
fn width(facts: &mut Facts, log: &KernelLog) {
    let Some(found) = facts.arch.value().copied() else { return };
    if found.is_x86() {
        match arch::width(log, facts.kernel.value()) {
            Some((entry, arch)) => facts.arch = Fact::known(arch, log.source(entry)),
            None => facts.width_open = found == Arch::X86_64,
        }
    } else if found.with_32_bits().is_some() {
        match arch::width_of(log, found) {
            Some((entry, arch)) => facts.arch = Fact::known(arch, log.source(entry)),
            None => facts.width_open = true,
        }
    }
}

fn kernel_of_boot_image(line: &str) -> Option<Kernel> {
    let line = CommandLine::parse(line);
    let image = line.last("BOOT_IMAGE")?;
    let file = image.rsplit('/').next()?;
    let at = file.find("vmlinuz-")?;
    Kernel::parse(&file[at + 8..])
}

fn processors(facts: &mut Facts, log: &KernelLog) {
    let possible = |event: &Event| match event {
        Event::PossibleCpus(n) => Some(*n),
        _ => None,
    };
    set(&mut facts.cpu.possible, log, log.last(possible));
    let packages = |event: &Event| match event {
        Event::Packages(n) => Some(*n),
        _ => None,
    };
    // The kernel's rule uses its own count, and not the topology in sysfs or cpuinfo.
    if let Some((entry, n)) = log.last(packages) {
        facts.cpu.packages = Fact::known(n, log.source(entry));
    }
    let nodes = |event: &Event| match event {
        Event::BroughtUp { nodes, .. } => *nodes,
        _ => None,
    };
    set(&mut facts.cpu.nodes, log, log.last(nodes));
    let model = |event: &Event| match event {
        Event::CpuModel { name, family, model } => Some(CpuModel {
            vendor: vendor_of_name(name),
            family: *family,
            model: *model,
            name: name.clone(),
        }),
        _ => None,
    };
    set(&mut facts.cpu.model, log, log.last(model));
    let flags = |event: &Event| match event {
        Event::ReadFlags(text) => match flag_list::reach(text, log.extent.longest) {
            Reach::Short => None,
            reach => Some((Flags::parse(text), reach)),
        },
        _ => None,
    };
    // A list of a few flags in a transcript was filtered by the user: the absence of a flag proves nothing.
    if let Some((entry, (flags, reach))) = log.last(flags)
        && !facts.cpu.flags.is_known()
        && flags.0.len() > 20
    {
        facts.cpu.flags_cut = reach == Reach::Decisive;
        facts.cpu.flags = Fact::known(flags, log.source(entry));
    }
}

fn vendor_of_name(name: &str) -> CpuVendor {
    if name.contains("Intel") {
        CpuVendor::Intel
    } else if name.contains("AMD") {
        CpuVendor::Amd
    } else if name.contains("Hygon") {
        CpuVendor::Hygon
    } else if name.contains("ZHAOXIN") || name.contains("KaiXian") {
        CpuVendor::Zhaoxin
    } else if name.contains("VIA") || name.contains("Centaur") {
        CpuVendor::Centaur
    } else {
        CpuVendor::OtherX86
    }
}

fn timers(facts: &mut Facts, log: &KernelLog) {
    let counter = log.last(|event| match event {
        Event::HpetCounter { hz } => Some(*hz),
        _ => None,
    });
    let table = log.last(|event| match event {
        Event::HpetTable { base } => Some(*base),
        _ => None,
    });
    let registered = |wanted: &'static str| {
        log.last(move |event| match event {
            Event::Registered { name, .. } | Event::Switched(name) if name == wanted => Some(()),
            _ => None,
        })
    };
    if let Fact::Known { value: Some(known), .. } = &mut facts.hpet {
        known.hz = known.hz.or(counter.map(|(_, hz)| hz));
    }
    let hz = counter.map(|(_, hz)| hz);
    let found = table
        .map(|(entry, base)| (entry, Some(HpetTable { base, hz })))
        .or_else(|| {
            counter.map(|(entry, hz)| (entry, Some(HpetTable { base: None, hz: Some(hz) })))
        })
        .or_else(|| {
            registered("hpet").map(|(entry, ())| (entry, Some(HpetTable { base: None, hz })))
        });
    set(&mut facts.hpet, log, found);
    let port = log.last(|event| match event {
        Event::PmTimer(port) => Some(Some(PmTimer { port: *port, bits32: None })),
        _ => None,
    });
    let port = port.or_else(|| {
        registered("acpi_pm").map(|(entry, ())| (entry, Some(PmTimer { port: 0, bits32: None })))
    });
    // The kernel checks the PM timer that firmware describes.
    let checked = log.last(|event| match event {
        Event::PmTimerBad | Event::PmTimerRate { .. } => {
            Some(Some(PmTimer { port: 0, bits32: None }))
        }
        _ => None,
    });
    set(&mut facts.pm_timer, log, port.or(checked));
    // A log from the first line on, beyond ACPI's own lines, would contain them if there were any.
    let conclusive = log.reaches_past_acpi() && log.lists_acpi_tables();
    if facts.cmdline.value().is_some_and(|line| line.last("acpi") == Some("off")) {
        // The absence of a printed table proves nothing.
        unseen(&mut facts.hpet, log);
        unseen(&mut facts.pm_timer, log);
    } else if conclusive {
        let source = format!("{}: no such line in a log from the beginning of the boot", log.name);
        if !facts.hpet.is_known() {
            facts.hpet = Fact::known(None, source.clone());
        }
        if !facts.pm_timer.is_known() {
            facts.pm_timer = Fact::known(None, source);
        }
    }
    set(
        &mut facts.tick_oneshot,
        log,
        log.first(|e| matches!(e, Event::TickOneshot).then_some(true)),
    );
}

/// A table that a parameter makes the kernel ignore.
fn unseen<T>(slot: &mut Fact<T>, log: &KernelLog) {
    if !slot.is_known() {
        let why = Why::NotLookedAt("acpi=off".to_owned());
        let how = Some("boot without acpi=off".to_owned());
        *slot = Fact::Missing(Missing { why, at: Some(Source(log.name.clone())), how });
    }
}

fn hypervisor(facts: &mut Facts, log: &KernelLog) {
    let privileges = log.last(|event| match event {
        Event::HypervPrivileges(flags) => Some(*flags),
        _ => None,
    });
    if !facts.hypervisor.is_known() {
        if let Some((entry, kind)) = kind_of_log(log).or_else(|| xen_by_complaint(facts, log)) {
            let mut found = Hypervisor::named(kind);
            // An unprivileged PV guest has no ACPI tables.
            let tables = |e: &Event| {
                matches!(e, Event::PmTimer(_) | Event::HpetTable { .. })
                    && kind == HypervisorKind::XenPv
            };
            found.xen_dom0 = is_xen(kind)
                && (log.any(|e| matches!(e, Event::XenDom0) || tables(e))
                    || facts.kernel.value().is_some_and(|kernel| is_xenserver(&kernel.release)));
            facts.hypervisor = Fact::known(Some(found), log.source(entry));
        } else if let Some((entry, ())) = log.first(|event| match event {
            Event::Paravirt(name) if name == "bare hardware" => Some(()),
            _ => None,
        }) && log.from_boot
            && !facts.dmi.value().is_some_and(|text| names_guest(text))
            && !log.any(|event| matches!(event, Event::Paravirt(name) if name == VIRTUALIZED))
        {
            // Shows only that no hypervisor with a paravirtual interface is present; the firmware's name is that of
            // hardware, or not in the text.
            facts.hypervisor = Fact::known(None, log.source(entry));
        }
    }
    if let (Fact::Known { value: Some(found), .. }, Some((_, flags))) =
        (&mut facts.hypervisor, privileges)
        && found.presents(HypervisorKind::Hyperv)
    {
        found.hyperv_privileges = found.hyperv_privileges.or(Some(flags));
    }
}

/// Whether XenServer built the kernel for its initial domain: `2.6.32.43-0.4.1.xs1.8.0.835.170778xen`.
fn is_xenserver(release: &str) -> bool {
    release.split('.').any(|part| {
        part.strip_prefix("xs").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    })
}

fn is_xen(kind: HypervisorKind) -> bool {
    use HypervisorKind::{Xen, XenHvm, XenPv, XenPvh};
    matches!(kind, Xen | XenHvm | XenPv | XenPvh)
}

/// The hypervisor that a log names: the kernel's verdict comes before a conclusion from a clock or from the
/// firmware's name. For guests that see two hypervisors (KVM with Hyper-V's interfaces) the
/// verdict decides.
fn kind_of_log(log: &KernelLog) -> Option<(&Entry, HypervisorKind)> {
    let detected = |event: &Event| match event {
        Event::Hypervisor(kind) => Some(*kind),
        _ => None,
    };
    // The kind of Xen: `Xen` is PV in this message, and PV or HVM in `Hypervisor detected: Xen`.
    let booted = |event: &Event| match event {
        Event::Paravirt(name) => match name.trim_end_matches('.') {
            "Xen" => Some(HypervisorKind::XenPv),
            "Xen PVH" => Some(HypervisorKind::XenPvh),
            "Xen HVM" => Some(HypervisorKind::XenHvm),
            "KVM" => Some(HypervisorKind::Kvm),
            _ => None,
        },
        Event::Dmi(text) if text.contains("Xen HVM domU") => Some(HypervisorKind::XenHvm),
        Event::XenDom0 => Some(HypervisorKind::XenPv),
        _ => None,
    };
    let hinted = |event: &Event| match event {
        Event::KvmClock | Event::KvmSchedOffset => Some(HypervisorKind::Kvm),
        Event::VmwareTscKhz(_) => Some(HypervisorKind::Vmware),
        Event::HypervPrivileges(_) | Event::TscUnstable(super::event::UnstableReason::HyperV) => {
            Some(HypervisorKind::Hyperv)
        }
        Event::Registered { name, .. } | Event::Switched(name) => {
            HypervisorKind::from_clocksource(name)
        }
        Event::Dmi(text) => kind_of_dmi(text),
        _ => None,
    };
    let verdict = log.first(detected);
    if let Some((_, kind)) = verdict
        && kind != HypervisorKind::Xen
    {
        return verdict;
    }
    let xen = log.first(booted).filter(|(_, kind)| verdict.is_none() || is_xen(*kind));
    xen.or(verdict).or_else(|| log.first(hinted))
}

/// The kind of Xen from a message that only Xen's guests print, if the log is the only evidence and does not contradict
/// it: a program can also write such a line.
fn xen_by_complaint<'a>(facts: &Facts, log: &'a KernelLog) -> Option<(&'a Entry, HypervisorKind)> {
    let complains = |event: &Event| match event {
        Event::TimeWentBackwards | Event::XenReadBackwards => Some(HypervisorKind::XenPv),
        _ => None,
    };
    let other = |event: &Event| match event {
        Event::Paravirt(_) => true,
        Event::Switched(name) => name != "xen" && !name.contains("jiffies"),
        _ => false,
    };
    let alone = matches!(facts.origin, Origin::Log(_)) && !log.any(other);
    log.first(complains).filter(|_| alone)
}

/// Hypervisors that DMI names and for which the kernel has no code.
fn kind_of_dmi(text: &str) -> Option<HypervisorKind> {
    Some(if text.contains("VirtualBox") {
        HypervisorKind::VirtualBox
    } else if text.contains("VMware") {
        HypervisorKind::Vmware
    } else if text.contains("BHYVE") {
        HypervisorKind::Bhyve
    } else if text.contains("Parallels") {
        HypervisorKind::Parallels
    } else {
        return None;
    })
}

/// Uses the values of sysfs in a transcript in place of sysfs.
fn readings(facts: &mut Facts, log: &KernelLog) {
    let synchronized = |event: &Event| match event {
        Event::ReadSynchronized(yes) => Some(NtpState::only(*yes)),
        _ => None,
    };
    set(&mut facts.ntp, log, log.last(synchronized));
    if facts.clocksources.is_known() {
        return;
    }
    let read = || {
        log.entries.iter().rev().filter(|entry| !may_be_torn(log, entry)).filter_map(|entry| {
            match &entry.event {
                Event::ReadCurrent(name) => Some((entry, name.clone())),
                _ => None,
            }
        })
    };
    // The quotation in a mail is older than the mail itself.
    let depth = |entry: &Entry| super::quoted::depth(&entry.text);
    let least = read().map(|(entry, _)| depth(entry)).min();
    let current = read().find(|(entry, _)| Some(depth(entry)) == least);
    let available = log.last(|event| match event {
        Event::ReadAvailable(names) => Some(names.clone()),
        _ => None,
    });
    // A list alone shows the available clocksources, and not the one in use.
    let alone = || available.as_ref().map(|(entry, _)| (*entry, String::new()));
    let Some((entry, current)) = current.or_else(alone) else { return };
    // A switch after the reading makes it obsolete: the log then shows the clocksource in use, and how certain that is.
    // A switch without any prefix is a quotation: dmesg and the console print time stamps.
    let later = log.last(|event| matches!(event, Event::Switched(_)).then_some(()));
    let current = match later {
        Some((switch, ()))
            if switch.line > entry.line && super::prefix::strip(&switch.text).kernel.is_some() =>
        {
            String::new()
        }
        _ => current,
    };
    // So does a later write of another name; the text does not show whether the kernel accepted it.
    let written = log.last(|event| match event {
        Event::WroteCurrent(name) => Some(name.clone()),
        _ => None,
    });
    let current = match written {
        Some((write, name)) if write.line > entry.line && name != current => String::new(),
        _ => current,
    };
    let current = if restarted_for_another(log, entry.line, &current)
        || log.changed_behind(entry.line, &current).is_some()
    {
        String::new()
    } else {
        current
    };
    if current.is_empty() && available.is_none() {
        return;
    }
    let device = ClocksourceDevice {
        index: 0,
        current,
        available: available.map(|(_, names)| names).unwrap_or_default(),
    };
    facts.clocksources = Fact::known(vec![device], log.source(entry));
}

/// Whether, after a reading on this line, a command requested another clocksource for the next boot and restarted the
/// machine: the reading is of the earlier boot. Or a command unregistered the one that was read, so that the kernel
/// chose another.
pub(crate) fn restarted_for_another(log: &KernelLog, line: u64, read: &str) -> bool {
    let unbound = |event: &Event| matches!(event, Event::Unbound(name) if name == read);
    if log.all(unbound).any(|entry| entry.line > line) {
        return true;
    }
    let asked = log.entries.iter().find(|entry| {
        entry.line > line && matches!(&entry.event, Event::SetForNextBoot(name) if name != read)
    });
    asked.is_some_and(|asked| {
        log.all(|event| matches!(event, Event::Restarted)).any(|entry| entry.line > asked.line)
    })
}

/// Whether `clocksource: hpet` alone, which a script may print, can also be the beginning of the line with which the
/// kernel registers that clocksource, or of a line about it.
fn may_be_torn(log: &KernelLog, reading: &Entry) -> bool {
    let Event::ReadCurrent(read) = &reading.event else { return false };
    let torn = |event: &Event| match event {
        Event::Registered { name, .. } => name == read,
        Event::Switched(_) => true,
        _ => false,
    };
    reading.text.trim().trim_start_matches(['>', ' ']).starts_with("clocksource: ") && log.any(torn)
}

/// A record of facts from a log alone.
impl Facts {
    /// The facts in a kernel log, without other evidence.
    #[must_use]
    pub fn from_log(log: KernelLog) -> Self {
        let mut facts = Self::empty(crate::Origin::Log(log.name.clone()));
        let name = log.name.clone();
        facts.log = Fact::known(log, name);
        complete(&mut facts);
        let absent = || {
            Missing { why: Why::NotAsked, at: None, how: None }
                .how("collect a bundle of the whole machine: sudo clocksmith collect")
        };
        for slot in [&mut facts.clocksources] {
            if !slot.is_known() {
                *slot = Fact::Missing(absent());
            }
        }
        facts
    }
}
