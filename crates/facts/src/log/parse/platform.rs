//! Messages about the machine: banner, command line, CPUs, firmware tables, hypervisors, Arm's
//! architected timer, tick mode, suspend.

use super::super::banner;
use super::super::event::Event;
use super::{
    after, arch, body, find, hex, is_megahertz, number, recent, thousandths, ticks, whole_hex,
    whole_number, width,
};
use crate::hypervisor::HypervisorKind;
use crate::version::Version;

/// The words without which no message of this module exists.
pub(super) const KEYWORDS: &[&str] = &[
    "Unstable clock",
    "hpet",
    "HPET",
    "PM-Timer",
    "ACPI: RSDP ",
    "ACPI: FACP ",
    "high-res timesource",
    "time.c: Using",
    "vsyscall due to",
    "PMTMR",
    "Linux version",
    "ommand line:",
    "Hypervisor detected",
    "virtualized system",
    "Hyper-V: ",
    "HyperV: ",
    "kvm-clock",
    "Booting ",
    "DMI: ",
    "arch_timer: ",
    "Architected ",
    " CPUs, ",
    "CPU topo: ",
    "setup_percpu: ",
    "logical packages",
    "(family:",
    "(fam: ",
    "resolution mode",
    "NOHz mode",
    "PM: suspend e",
    "system sleep state",
    "virtual machine fork",
    "setting system clock to",
    "rtc device (",
    "hctosys: ",
    "ing leap second ",
    "PM: hibernation",
    "gVisor",
    "pvclock",
    "PVCLOCK",
    "drift greater",
    "Calibrating delay",
    "Time went backwards",
    "Xen P",
    "xen: registering gsi",
    "rought up ",
    "SLUB: ",
    "Booted up ",
    "OpenSBI v",
    " HART ",
    "via sstc",
    "stealtime",
    "async PF",
    "Freeing unused kernel",
    "Freeing init memory",
    "Run /",
    "Mounted root (",
    " for elfcore",
];

/// `m` is the whole message, `b` the part after the kernel's prefixes.
pub(super) fn parse(m: &str, b: &str) -> Option<Event> {
    identity(m, b)
        .or_else(|| hypervisor(m, b))
        .or_else(|| timers(m, b))
        .or_else(|| ticks::parse(b))
        .or_else(|| cpus(m, b))
        .or_else(|| recent::parse(m, b))
        .or_else(|| arm(m, b))
        .or_else(|| harts(m))
        .or_else(|| brought_up(m))
        .or_else(|| tick_and_sleep(m, b))
        .or_else(|| arch::parse(m))
        .or_else(|| width::parse(m, b))
}

fn identity(m: &str, b: &str) -> Option<Event> {
    if let Some(rest) = banner::behind(m) {
        return Some(Event::Banner(clip(rest, 512)));
    }
    for key in ["Kernel command line: ", "Command line: "] {
        if let Some(rest) = m.strip_prefix(key) {
            return Some(Event::CommandLine(without_emphasis(clip(rest, 4096))));
        }
    }
    if let Some(rest) = m.strip_prefix("DMI: ") {
        return Some(Event::Dmi(clip(rest, 200)));
    }
    if let Some(rest) = b.strip_prefix("Calibrating delay ") {
        return Some(Event::DelayLoop { measured: rest.starts_with("loop...") });
    }
    if let Some(event) = backwards(m) {
        return Some(event);
    }
    // reserve_elfcorehdr() in arch/arm64/mm/init.c and arch/riscv/mm/init.c, up to 5.15; fdt_reserve_elfcorehdr() in
    // drivers/of/fdt.c.
    if b.starts_with("Reserving ")
        && (b.ends_with(" for elfcorehdr") || b.ends_with(" for elfcore header"))
    {
        return Some(Event::ElfCoreHeader);
    }
    // tracing_set_default_clock() in kernel/trace/trace.c; further lines of the record give advice.
    if b.starts_with("Unstable clock detected, switching default tracing clock to") {
        return Some(Event::TraceClockGlobal);
    }
    m.starts_with("Starting gVisor").then_some(Event::Gvisor)
}

/// A command line without the emphasis that Markdown puts around single words: `**clocksource=tsc**`.
fn without_emphasis(line: String) -> String {
    if !line.contains("**") {
        return line;
    }
    let word = |word: &str| {
        let inner = word.strip_prefix("**").and_then(|rest| rest.strip_suffix("**"));
        inner.filter(|inner| !inner.is_empty()).unwrap_or(word).to_owned()
    };
    line.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// `Timer ISR/0: Time went backwards: delta=-118088543 delta_cpu=25911457 ...` and `clocksource/0: Time went backwards:
/// ret=2c0f1a delta=-15037998212724 shadow=...`, the latter without `ret=` at first: `timer_interrupt()` and
/// `xen_clocksource_read()` in arch/i386/kernel/time-xen.c and arch/x86/kernel/time-xen.c, which only kernels with
/// Xen's patches for guests have (2.6.18 and before to 3.12 and later). No other words precede the message.
fn backwards(m: &str) -> Option<Event> {
    let (head, rest) = m.split_at(find(m, "Time went backwards")?);
    let rest = rest["Time went backwards".len()..].trim();
    let figures = rest.trim_start_matches(':').trim_start();
    let shows = ["delta=", "ret=", "..."].iter().any(|name| figures.starts_with(name));
    // A line that is truncated after the words, or before the first figure.
    if !shows && !figures.is_empty() {
        return None;
    }
    let head = head.trim_end().strip_suffix(':')?;
    let is_cpu = |cpu: &str| !cpu.is_empty() && cpu.bytes().all(|byte| byte.is_ascii_digit());
    match head.split_once('/')? {
        ("Timer ISR", cpu) if is_cpu(cpu) => Some(Event::TimeWentBackwards),
        ("clocksource", cpu) if is_cpu(cpu) => Some(Event::XenReadBackwards),
        _ => None,
    }
}

/// The kernel's name for a machine with an unknown hypervisor.
pub(crate) const VIRTUALIZED: &str = "virtualized system";

fn hypervisor(m: &str, b: &str) -> Option<Event> {
    if let Some(name) = b.strip_prefix("Hypervisor detected: ") {
        return HypervisorKind::from_log_name(name).map(Event::Hypervisor);
    }
    if let Some(name) = b.strip_prefix("Booting paravirtualized kernel on ") {
        return Some(Event::Paravirt(clip(name.trim(), 40)));
    }
    // mtrr_bp_init() in arch/x86/kernel/cpu/mtrr: the registers are blank, as hypervisors leave them.
    if b.starts_with("CPU MTRRs all blank - virtualized system") {
        return Some(Event::Paravirt(VIRTUALIZED.to_owned()));
    }
    if let Some(rest) = m.strip_prefix("Hyper-V: ").or_else(|| m.strip_prefix("HyperV: ")) {
        let flags =
            rest.strip_prefix("privilege flags low ").or_else(|| rest.strip_prefix("features "))?;
        // At least four digits, in all versions: fewer are truncated.
        let digits = flags.trim_start_matches("0x").bytes().take_while(u8::is_ascii_hexdigit);
        if digits.count() < 4 {
            return None;
        }
        let flags = hex(flags).and_then(|n| u32::try_from(n).ok())?;
        return Some(Event::HypervPrivileges(flags));
    }
    // kvm_register_clock() in arch/x86/kernel/kvmclock.c; kvm_register_steal_time() and kvm_guest_cpu_init() in
    // arch/x86/kernel/kvm.c: only guests.
    let of_guests = m.starts_with("kvm-clock: cpu ")
        || m.starts_with("kvm-stealtime: cpu ")
        || m.starts_with("kvm-guest: stealtime: cpu ")
        || m.starts_with("kvm-guest: setup async PF")
        || m.starts_with("KVM setup async PF");
    if of_guests || m.starts_with("kvm-clock: Using msrs") {
        return Some(Event::KvmClock);
    }
    if m.starts_with("kvm-clock: using sched offset of") {
        return Some(Event::KvmSchedOffset);
    }
    let xen = (m.starts_with("xen:") && b.contains("PVCLOCK not supported"))
        || b.starts_with("Xen doesn't support pvclock on HVM");
    if xen {
        return Some(Event::XenClockNotice(clip(m, 160)));
    }
    // pci_xen_init() in arch/x86/pci/xen.c returns early unless this is a PV guest and not dom0.
    if m.starts_with("PCI: setting up Xen PCI frontend stub") {
        return Some(Event::Hypervisor(HypervisorKind::XenPv));
    }
    // xen_unplug_emulated_devices() in arch/x86/xen/platform-pci-unplug.c: only HVM guests.
    if m.starts_with("Xen Platform PCI: ") {
        return Some(Event::Hypervisor(HypervisorKind::XenHvm));
    }
    // xen_register_gsi() in arch/x86/pci/xen.c: only dom0.
    if m.starts_with("xen: registering gsi ") {
        return Some(Event::XenDom0);
    }
    let drift = m.starts_with("virtio_vmmci: ") && m.contains("drift greater");
    drift.then(|| Event::DriftReport(clip(m, 160)))
}

/// `init_timer()` in arch/i386/kernel/timers (up to 2.6.17), `time_init_gtod()` in arch/x86_64/kernel/time.c (up to
/// 2.6.20): chosen once, during boot.
fn time_source(m: &str) -> Option<Event> {
    let source = |name: &str, bits| Some(Event::TimeSource { name: name.to_owned(), bits });
    if let Some(rest) = m.strip_prefix("Using ") {
        return match rest.strip_suffix(" for high-res timesource")?.trim() {
            name @ ("tsc" | "hpet" | "pit" | "cyclone") => source(name, 32),
            "pmtmr" => source("acpi_pm", 32),
            _ => None,
        };
    }
    if m.starts_with(body::VSYSCALL_OFF) {
        return source("acpi_pm", 64);
    }
    let rest = m.strip_prefix("time.c: Using ")?;
    let kind = match after(rest, " GTOD ") {
        Some(kind) => kind.strip_suffix(" timer.")?,
        None => rest.strip_suffix(" based timekeeping.")?,
    };
    match kind {
        "PM" => source("acpi_pm", 64),
        "HPET" | "PIT/HPET" => source("hpet", 64),
        // RHEL 5's kernels say `TSC Timekeeping` in a guest of VMware, and `KVM` in a KVM guest.
        "HPET/TSC" | "PIT/TSC" | "TSC" | "TSC Timekeeping" => source("tsc", 64),
        "KVM" => source("kvm-clock", 64),
        _ => None,
    }
}

fn timers(m: &str, b: &str) -> Option<Event> {
    if let Some(rest) = b.strip_prefix("PM-Timer IO Port: ") {
        return hex(rest).map(Event::PmTimer);
    }
    if let Some(rest) = b.strip_prefix("PMTMR IOPort override: ") {
        return hex(after(rest, "-> ")?).map(Event::PmTimerOverride);
    }
    if let Some(rest) = b.strip_prefix("APIC calibration not consistent with PM-Timer: ") {
        return Some(Event::ApicCalibration { ms: u64::try_from(whole_number(rest)?).ok()? });
    }
    if let Some(event) = time_source(m) {
        return Some(event);
    }
    if let Some(rest) = b.strip_prefix("PM-Timer running at invalid rate: ") {
        let percent = number(rest).filter(|_| rest.contains('%'))?;
        return Some(Event::PmTimerRate { percent: u64::try_from(percent).ok()? });
    }
    if b.starts_with("PM-Timer ") && (b.contains("aborting") || b.contains("inconsistent results"))
    {
        return Some(Event::PmTimerBad);
    }
    if b.trim_start_matches(['*', ' ']).starts_with("The chipset may have PM-Timer Bug") {
        return Some(Event::PmTimerChipsetBug);
    }
    // acpi_parse_hpet() in arch/x86/kernel/acpi/boot.c: no HPET registers.
    if b.starts_with("HPET timers must be located in memory")
        || b.starts_with("HPET id: ") && b.trim_end().ends_with(" is invalid")
    {
        return Some(Event::HpetDisabled(clip(m, 120)));
    }
    if let Some(rest) = b.strip_prefix("HPET id: ") {
        return Some(Event::HpetTable { base: after(rest, "base: ").and_then(hex) });
    }
    if let Some(rest) = m.strip_prefix("ACPI: HPET ") {
        return hex(rest).map(|_| Event::HpetTable { base: None });
    }
    // acpi_tb_print_table_header() in drivers/acpi/acpica/tbprint.c; up to 2.6.2x `ACPI: RSDP (v000 NAME ) @ 0x...`.
    if let Some(rest) = m.strip_prefix("ACPI: RSDP ").or_else(|| m.strip_prefix("ACPI: FACP ")) {
        return (hex(rest).is_some() || rest.starts_with("(v")).then_some(Event::AcpiTables);
    }
    if m.starts_with("hpet")
        && let Some(at) = find(m, "comparators, ")
    {
        let rest = after(&m[at..], "-bit ")?;
        if !is_megahertz(rest) {
            return None;
        }
        return Some(Event::HpetCounter { hz: thousandths(rest)?.checked_mul(1000)? });
    }
    let disabled = b.starts_with("HPET dysfunctional in PC10. Force disabled")
        || b.starts_with("Config register invalid. Disabling HPET")
        || b.starts_with("Disabling HPET")
        || b.starts_with("Counter not counting")
        || b.starts_with("HPET: Counter not counting")
        || b.starts_with("Will disable the HPET");
    disabled.then(|| Event::HpetDisabled(clip(m, 120)))
}

fn cpus(m: &str, b: &str) -> Option<Event> {
    if let Some(rest) = b.strip_prefix("Allowing ") {
        // `smpboot: Allowing 2 CPUs, 0 hotplug CPUs`: the first number counts the slots too;
        // 6.9+: `CPU topo: Allowing 2 present CPUs plus 0 hotplug CPUs`: to be added.
        let first = u32::try_from(number(rest)?).ok()?;
        if let Some(plus) = after(rest, " present CPUs plus ") {
            let more = u32::try_from(number(plus)?).ok()?;
            return Some(Event::PossibleCpus(first.saturating_add(more)));
        }
        return rest.contains(" CPUs, ").then_some(Event::PossibleCpus(first));
    }
    // All versions and architectures: the highest possible CPU number plus one.
    if let Some(rest) = m.strip_prefix("setup_percpu: ").and_then(|m| after(m, "nr_cpu_ids:")) {
        return Some(Event::PossibleCpus(u32::try_from(whole_number(rest)?).ok()?));
    }
    if let Some(rest) = b.strip_prefix("Max") {
        let rest = rest.strip_prefix('.').unwrap_or(rest).strip_prefix(" logical packages: ")?;
        return Some(Event::Packages(u32::try_from(number(rest)?).ok()?));
    }
    let rest = b.strip_prefix("CPU0: ").or_else(|| b.strip_prefix("CPU: "))?;
    // `(fam: 06, model: 17, ` in 3.6 to 4.3: also hexadecimal.
    let family_at = find(rest, "(family: 0x").or_else(|| find(rest, "(fam: "))?;
    Some(Event::CpuModel {
        name: clip(rest[..family_at].trim(), 80),
        family: hex(after(&rest[family_at..], ": ")?).and_then(|n| u32::try_from(n).ok())?,
        model: after(rest, "model: ").and_then(whole_hex).and_then(|n| u32::try_from(n).ok())?,
    })
}

fn arm(m: &str, b: &str) -> Option<Event> {
    // `arch_timer: cp15 timer(s) running at 24.00MHz (virt).`, and before 4.11 without the prefix:
    // `Architected cp15 timer(s) running at 24.00MHz (virt).`
    let own = m.starts_with("arch_timer: ") || m.starts_with("Architected ");
    if own && let Some(rest) = after(m, "timer(s) running at ").filter(|rest| is_megahertz(rest)) {
        // arch_timer_banner(): the timers of the processor come first, `(phys/virt)`.
        let mode = after(rest, "MHz (").and_then(|mode| mode.get(..mode.find(['/', ')'])?));
        let virtual_timer = match mode {
            Some("virt") => Some(true),
            Some("phys" | "hyp-phys") => Some(false),
            _ => None,
        };
        return Some(Event::ArchTimer {
            hz: thousandths(rest)?.checked_mul(1000)?,
            virtual_timer: virtual_timer.filter(|_| find(m, "cp15").is_some()),
        });
    }
    // arch_timer_enable_workaround() in drivers/clocksource/arm_arch_timer.c.
    if own && b.starts_with("Enabling ") {
        return Some(Event::ArchTimerErratum(clip(after(b, "workaround for ")?, 120)));
    }
    let trapped = b.starts_with("CPU") && b.contains("Trapping CNTVCT access");
    trapped.then_some(Event::CounterTrapped)
}

/// `Boot HART ISA Extensions  : time,sstc` of OpenSBI (sbi_boot_print_hart() in lib/sbi/sbi_init.c; 0.8: `BOOT HART
/// Features`), and the kernel's message about the extension that needs the time CSR (riscv_timer_init_common() in
/// drivers/clocksource/timer-riscv.c, 6.1 and later).
fn harts(m: &str) -> Option<Event> {
    if m.starts_with("riscv-timer: Timer interrupt in S-mode is available via sstc extension") {
        return Some(Event::HartExtensions { time: true, complete: false });
    }
    if let Some(rest) = m.strip_prefix("OpenSBI v") {
        return Version::parse(rest.split_whitespace().next()?).map(Event::OpenSbi);
    }
    let rest = m.strip_prefix("Boot HART ").or_else(|| m.strip_prefix("BOOT HART "))?;
    let (name, list) = rest.split_once(':')?;
    let complete = match name.trim() {
        "Features" => true,
        "ISA Extensions" => false,
        _ => return None,
    };
    let mut words = list.trim().split(',').map(str::trim);
    // The specification calls time and similar CSRs Zicntr; Sstc depends on it.
    let time = words.any(|word| matches!(word, "time" | "zicntr" | "sstc"));
    Some(Event::HartExtensions { time, complete })
}

/// `smp: Brought up 1 node, 32 CPUs` (smp_init() in kernel/smp.c; `Brought up 4 CPUs` in old kernels), `x86: Booted up 1 node, 8
/// CPUs` (announce_cpu() in arch/x86/kernel/smpboot.c, 3.9 to 4.9).
fn brought_up(m: &str) -> Option<Event> {
    // kmem_cache_init() in mm/slub.c.
    if m.starts_with("SLUB: ") {
        let cpus = after(m, ", CPUs=").and_then(whole_number)?;
        return u32::try_from(cpus).ok().filter(|cpus| *cpus > 0).map(Event::CpuIds);
    }
    let m = ["smp: ", "x86: ", "smpboot: "].iter().find_map(|p| m.strip_prefix(p)).unwrap_or(m);
    let rest = m.strip_prefix("Brought up ").or_else(|| m.strip_prefix("Booted up "))?;
    fn count(text: &str) -> Option<(u32, &str)> {
        let (figure, unit) = text.trim().split_once(' ')?;
        Some((figure.parse().ok().filter(|n| (1..65_536).contains(n))?, unit.trim()))
    }
    let (nodes, rest) = match rest.split_once(", ") {
        Some((nodes, rest)) => match count(nodes)? {
            (nodes, "node" | "nodes") => (Some(nodes), rest),
            _ => return None,
        },
        None => (None, rest),
    };
    match count(rest)? {
        (cpus, "CPU" | "CPUs") => Some(Event::BroughtUp { nodes, cpus }),
        _ => None,
    }
}

fn tick_and_sleep(m: &str, b: &str) -> Option<Event> {
    if b.starts_with("Could not switch to high resolution mode") {
        return Some(Event::TickNotOneshot);
    }
    if b.starts_with("Switched to high resolution mode") || b.starts_with("Switched to NOHz mode") {
        return Some(Event::TickOneshot);
    }
    // free_initmem() and kernel_init() in init/main.c; mount_block_root() in init/do_mounts.c.
    let user_space = m.starts_with("Freeing unused kernel ")
        || m.starts_with("Freeing init memory")
        || m.starts_with("Run /") && m.ends_with(" as init process")
        || m.starts_with("VFS: Mounted root (");
    if user_space {
        return Some(Event::UserSpace);
    }
    let b = b.strip_prefix("PM: ").unwrap_or(b);
    if m.starts_with("PM: suspend entry") || m.starts_with("PM: hibernation entry") {
        return Some(Event::Suspend);
    }
    // add_vmfork_randomness() in drivers/char/random.c.
    if m.starts_with("random: crng reseeded due to virtual machine fork") {
        return Some(Event::VmFork);
    }
    if let Some(event) = wall(m) {
        return Some(event);
    }
    let resumed = m.starts_with("PM: suspend exit")
        || m.starts_with("PM: hibernation exit")
        || b.starts_with("Waking up from system sleep state");
    resumed.then_some(Event::Resume)
}

/// Events that set the wall clock without a request of a program.
fn wall(m: &str) -> Option<Event> {
    // rtc_hctosys() in drivers/rtc/class.c (until 4.18 hctosys.c): `rtc_cmos 00:03: setting system clock to
    // 2026-06-01T10:00:00 UTC (1780308000)`. The driver and the device precede it: `rpi-rtc soc:rpi_rtc`.
    if let Some(rest) = after(m, ": setting system clock to ")
        && let Some(device) = m.split(": setting system clock to ").next()
        && device.split_ascii_whitespace().count() <= 2
        && rest.contains(" UTC (")
        && rest.bytes().take(10).filter(|byte| *byte == b'-' || byte.is_ascii_digit()).count() == 10
    {
        let epoch = rest.trim_end().strip_suffix(')').and_then(|text| text.rsplit('(').next());
        return Some(Event::SetByRtc(epoch?.parse().ok()?));
    }
    // The same functions, if there is no such clock, or it lost its power.
    let none = m.contains("hctosys: unable to read the hardware clock")
        || m.contains("unable to open rtc device (rtc")
            && (m.starts_with("hctosys") || m.starts_with("drivers/rtc/hctosys.c"));
    if none {
        return Some(Event::NoRtc);
    }
    // second_overflow() in kernel/time/ntp.c, also before 2.6.18 in kernel/timer.c.
    match m.trim_end() {
        "Clock: inserting leap second 23:59:60 UTC" => Some(Event::LeapSecond(true)),
        "Clock: deleting leap second 23:59:59 UTC" => Some(Event::LeapSecond(false)),
        _ => None,
    }
}

fn clip(text: &str, chars: usize) -> String {
    text.trim().chars().take(chars).collect()
}
