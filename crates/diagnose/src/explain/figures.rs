//! The figures of one message, decoded.

use clocksmith_facts::cpu::Flags;
use clocksmith_facts::log::Event;
use clocksmith_facts::log::event::{Role, UnstableReason};
use clocksmith_facts::log::incident::reading::{MEASURABLE_S, RATE_ERROR_MAX};
use clocksmith_facts::log::rates::{ACPI_PM_HZ, HPET_HZ, recovered_hz};
use clocksmith_facts::version::Kernel;

/// Length of one full turn of the 24-bit PM timer, in seconds.
const PM_TURN: f64 = 16_777_216.0 / ACPI_PM_HZ;

/// Returns the meaning of an event's figures, one sentence each.
pub(super) fn of(event: &Event) -> Vec<String> {
    match event {
        Event::Registered { name, mask, max_cycles, max_idle_ns } => {
            registered(name, *mask, *max_cycles, *max_idle_ns)
        }
        Event::WatchdogOld { name, delta_ns } => old(name, *delta_ns),
        Event::WatchdogSkewed { name, skew_ns, watchdog, interval_ns } => {
            skewed(name, *skew_ns, watchdog.as_deref(), *interval_ns)
        }
        Event::LongReadout { cs_nsec, wd_nsec } => long_readout(*cs_nsec, *wd_nsec),
        Event::WatchdogDetail { role, name, nsec, now, last, mask } => {
            detail(*role, name, *nsec, now.wrapping_sub(*last) & mask, *mask)
        }
        Event::WatchdogInterval { name, ns, .. } => {
            vec![format!("According to {name}, the interval was {}.", seconds(ns_f(*ns)))]
        }
        Event::ReadbackDelay { name, delay_ns: Some(ns), marks, .. } => readback(name, *ns, *marks),
        Event::WatchdogReadTimeout { ns: Some(ns) } => {
            vec![format!("The read took {}; the limit is 50 us.", seconds(ns_f(*ns)))]
        }
        Event::Warp { cycles } => warp(*cycles),
        Event::CrossCheckSkew { ahead, cpus } => {
            let side = if *ahead { "ahead of" } else { "behind" };
            vec![format!("CPUs {cpus} are {side} the CPU that ran the check.")]
        }
        Event::HypervPrivileges(word) => hyperv(*word),
        Event::ReadFlags(text) => flags(text),
        _ => small(event),
    }
}

/// Events with one figure.
fn small(event: &Event) -> Vec<String> {
    let text = match event {
        Event::Detected { khz, .. } | Event::Refined { khz } | Event::VmwareTscKhz(khz) => {
            format!("{}.{:03} MHz, that is {khz} kHz for tsc_early_khz=.", khz / 1000, khz % 1000)
        }
        Event::HpetCounter { hz } => {
            #[allow(clippy::cast_precision_loss)]
            let turn = 4_294_967_296.0 / (*hz).max(1) as f64;
            format!("{} wraps every {} (32 bits).", mhz(*hz), seconds(turn))
        }
        Event::ArchTimer { hz, .. } => format!("The counter runs at {}.", mhz(*hz)),
        Event::PmTimer(port) => format!("The port is {port:#x}."),
        Event::PmTimerOverride(0) => "The new port is 0: the PM timer is disabled.".to_owned(),
        Event::PmTimerOverride(port) => format!("The new port is {port:#x}."),
        Event::PossibleCpus(n) => format!("Possible CPUs: {n}, hot-plug slots included."),
        Event::Packages(n) => format!("Packages: {n}."),
        Event::Hypervisor(kind) => format!("The hypervisor is {}.", kind.name()),
        Event::WatchdogMarked { name, cpu: Some(cpu) } => {
            format!("{name} was demoted by a check that ran on CPU {cpu}.")
        }
        Event::WatchdogCurrent(Some(name)) => format!("{name} was in use."),
        Event::WatchdogCurrent(None) => "None was selected yet.".to_owned(),
        Event::Banner(text) => match Kernel::parse(text) {
            Some(kernel) => format!("Kernel {} ({}).", kernel.version, kernel.release),
            None => return Vec::new(),
        },
        Event::Release(release) => format!("Kernel {release}."),
        Event::DelayLoop { measured: true } => {
            "This delay loop was measured against the tick.".to_owned()
        }
        Event::DelayLoop { measured: false } => {
            "This delay loop was computed or preset.".to_owned()
        }
        Event::TscUnstable(UnstableReason::Other(text)) => {
            format!("The reason here is: {text}.")
        }
        Event::ArchTimerErratum(text) => return erratum(text),
        _ => return Vec::new(),
    };
    vec![text]
}

fn registered(name: &str, mask: u64, max_cycles: u64, max_idle_ns: u64) -> Vec<String> {
    let mut out = Vec::new();
    let bits = u64::BITS - mask.leading_zeros();
    let Some(hz) = recovered_hz(max_cycles, max_idle_ns) else { return out };
    if name.contains("jiffies") {
        out.push(format!("The tick is {hz:.0} Hz, so the resolution is {}.", seconds(1.0 / hz)));
        return out;
    }
    out.push(format!("The kernel uses {:.3} MHz for {name} (max_cycles / max_idle_ns).", hz / 1e6));
    let turn = ns_f(mask) / hz * 1e9;
    if turn < 86_400.0 {
        out.push(format!("The counter has {bits} bits and wraps every {}.", seconds(turn)));
    } else {
        out.push(format!("The counter has {bits} bits: it does not wrap in practice."));
    }
    out
}

/// `Clocksource tsc unstable (delta = N ns)`: the interval is not printed; nominally half a second.
fn old(name: &str, delta_ns: i64) -> Vec<String> {
    let delta = signed(delta_ns);
    let size = delta.abs();
    let side = if delta < 0.0 { "less" } else { "more" };
    let mut out = vec![format!(
        "{name} counted {} {side} than its reference in one interval; the limit is 62.5 ms.",
        seconds(size)
    )];
    let turns = (delta / PM_TURN).round();
    let wrapped = (delta - turns * PM_TURN).abs() < 0.1;
    if (1.0..=6.0).contains(&turns) && wrapped {
        out.push(format!(
            "That is {} of the PM timer ({PM_TURN:.3} s): if that was the reference, it wrapped while no check \
             ran, and {name} is not at fault.",
            wraps(turns)
        ));
    } else if (turns + 1.0).abs() < 0.5 && wrapped {
        out.push(format!(
            "That is one wrap of the PM timer ({PM_TURN:.3} s) too much: if that was the reference, it \
             read a little less than at the check before, and {name} is not at fault."
        ));
    } else if delta < -0.5 {
        out.push(
            "The difference is larger than the whole interval of half a second: the counter stopped or was set back, \
             or the reference jumped."
                .to_owned(),
        );
    } else if size <= 0.5 {
        out.push(format!(
            "The interval is not stated, so no rate follows: a jump of {name}, a virtual CPU that was \
             stalled between the two reads and a wrong rate of either clock look the same."
        ));
    } else {
        out.push(
            "The difference is larger than the interval itself: a jump of the counter, or a reference that was not \
             read or wrapped for that long."
                .to_owned(),
        );
    }
    out
}

fn skewed(
    name: &str,
    skew_ns: i64,
    watchdog: Option<&str>,
    interval_ns: Option<i64>,
) -> Vec<String> {
    let skew = signed(skew_ns);
    let side = if skew < 0.0 { "less" } else { "more" };
    let watchdog = watchdog.unwrap_or("its reference");
    let Some(interval_ns) = interval_ns else {
        let counted = format!("{name} counted {} {side} than {watchdog}.", seconds(skew.abs()));
        return vec![counted, "The interval is not in this line, so no rate follows.".to_owned()];
    };
    let interval = signed(interval_ns);
    let mut out = vec![format!(
        "{name} counted {} {side} than {watchdog} in {}.",
        seconds(skew.abs()),
        seconds(interval)
    )];
    if interval <= 0.0 {
        out.push(format!("{watchdog} did not move: the reference is at fault."));
        return out;
    }
    if skew_ns == -interval_ns {
        out.push(format!("{name} did not advance at all: one read was wrong, not the rate."));
        return out;
    }
    if skew.abs() < MEASURABLE_S {
        out.push("One delayed read can cause that: neither clock is at fault.".to_owned());
        return out;
    }
    let rate = skew / interval;
    if rate.abs() <= RATE_ERROR_MAX {
        out.push(format!(
            "That is {} of the interval (limit 1000 ppm of 0.5 s). These figures do not show which \
             of the two rates is wrong.",
            ppm(rate * 1e6)
        ));
    } else {
        out.push(
            "That is more than a wrong rate can cause: one of the two jumped or stopped."
                .to_owned(),
        );
    }
    if interval < 0.45 {
        out.push(format!(
            "The clock in use times the check. If that clock is {name}, a short interval according to {watchdog} means \
             that {name} runs fast or that {watchdog} lost time."
        ));
    } else if interval > 1.0 {
        out.push("The interval should be 0.5 s: the machine was stalled.".to_owned());
    }
    if watchdog.contains("jiffies") {
        out.push(format!("{watchdog} loses ticks, so this does not show whether {name} is wrong."));
    }
    out
}

fn long_readout(cs_nsec: i64, wd_nsec: i64) -> Vec<String> {
    let (cs, wd) = (signed(cs_nsec), signed(wd_nsec));
    let difference = cs - wd;
    let first = format!(
        "The interval was {} according to the clocksource and {} according to the reference.",
        seconds(cs),
        seconds(wd)
    );
    let turns = (difference / PM_TURN).round();
    let wrapped =
        (1.0..20.0).contains(&turns) && (difference - turns * PM_TURN).abs() < 0.02 + 0.002 * cs;
    let second = if difference.abs() <= MEASURABLE_S + 1e-3 * wd.abs() {
        format!(
            "Both agree: no check ran for {}. The machine was stalled, and neither clock is at fault.",
            seconds(wd)
        )
    } else if wd_nsec == 0 {
        "The kernel counts the interval of the reference as zero, because it is longer than half the range of the \
         reference. The machine was stalled.".to_owned()
    } else if wrapped {
        format!(
            "The difference is {} of the PM timer: if the PM timer is the reference, it wrapped while the machine was \
             stalled.",
            wraps(turns)
        )
    } else if difference.abs() <= RATE_ERROR_MAX * wd.abs() {
        format!(
            "They differ by {}: the machine was stalled, and one of the two rates is wrong.",
            ppm(difference / wd * 1e6)
        )
    } else if difference > 0.0 {
        format!(
            "They differ by {}: the clocksource jumped ahead, and the kernel's time now includes the jump. A \
             wrong frequency, in the ratio of the two figures, looks the same.",
            seconds(difference)
        )
    } else {
        format!(
            "The reference counted {} more: it jumped, or the clocksource stopped.",
            seconds(-difference)
        )
    };
    vec![first, second]
}

fn detail(role: Role, name: &str, nsec: Option<i64>, cycles: u64, mask: u64) -> Vec<String> {
    let mut out = vec![format!("{name} advanced by {cycles} cycles.")];
    let cycles_f = ns_f(cycles) * 1e9;
    if let Some(nsec) = nsec {
        let mut text = format!("The kernel converted that to {}", seconds(signed(nsec)));
        if nsec > 0 {
            text.push_str(&format!(", at {:.3} MHz", cycles_f / signed(nsec) / 1e6));
        }
        out.push(text + ".");
    } else if name == "acpi_pm" {
        out.push(format!("At 3.579545 MHz that is {}.", seconds(cycles_f / ACPI_PM_HZ)));
    } else if name == "hpet" {
        out.push(format!(
            "At the usual 14.318 MHz that is {}; the log names this HPET's rate.",
            seconds(cycles_f / HPET_HZ)
        ));
    } else if matches!(name, "kvm-clock" | "xen") {
        out.push(format!("This clock counts ns: that is {}.", seconds(cycles_f / 1e9)));
    }
    if role == Role::Watchdog && mask <= u64::from(u32::MAX) && cycles > mask >> 1 {
        out.push(
            "That is more than half the counter's range: kernels since about 4.5 treat it as zero and \
             find the other clock at fault."
                .to_owned(),
        );
    }
    out
}

fn readback(name: &str, ns: u64, marks: bool) -> Vec<String> {
    let mut out = vec![format!(
        "Reading {name} took {}; the limits are 50 us (5.14 to 5.16), 100 us (5.17 and later) and 125 us \
         (6.3 and later).",
        seconds(ns_f(ns))
    )];
    if marks && !name.starts_with("tsc") {
        out.push(format!("{name} is the reference here: that is not evidence against the TSC."));
    }
    out
}

fn warp(cycles: i64) -> Vec<String> {
    let at_3ghz = seconds(signed(cycles) / 3.0);
    let size = cycles.unsigned_abs();
    let reading = if size < 100_000 {
        "small: unequal offsets from a hypervisor, or firmware that set one CPU after the other"
    } else {
        "large: the counter of one CPU was reset or written (firmware, resume, CPU hot-plug)"
    };
    vec![format!("{cycles} cycles are about {at_3ghz} at 3 GHz."), format!("That is {reading}.")]
}

/// Bits of CPUID 0x40000003 EAX that concern clocks (Hyper-V specification).
const HYPERV_BITS: &[(u32, &str)] = &[
    (1, "reference counter MSR"),
    (5, "hypercall MSRs"),
    (6, "VP index"),
    (9, "reference TSC page"),
    (11, "frequency MSRs"),
    (13, "reenlightenment (keeps the clock correct across a migration)"),
    (15, "invariant TSC (AccessTscInvariant)"),
];

fn hyperv(word: u32) -> Vec<String> {
    let list = |set: bool| {
        let names: Vec<String> = HYPERV_BITS
            .iter()
            .filter(|(bit, _)| (word >> bit & 1 == 1) == set)
            .map(|(bit, name)| format!("bit {bit} {name}"))
            .collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    let verdict = if word >> 15 & 1 == 1 {
        "The invariant TSC is granted: Linux uses tsc (5.6 and later)."
    } else {
        "The invariant TSC is withheld: Linux uses Hyper-V's page clock."
    };
    vec![
        format!("{word:#x} has: {}.", list(true)),
        format!("It does not have: {}.", list(false)),
        verdict.to_owned(),
    ]
}

fn flags(text: &str) -> Vec<String> {
    const CLOCK: [&str; 7] = [
        "tsc",
        "constant_tsc",
        "nonstop_tsc",
        "tsc_adjust",
        "tsc_known_freq",
        "tsc_reliable",
        "hypervisor",
    ];
    let flags = Flags::parse(text);
    let list = |set: bool| {
        let names: Vec<&str> = CLOCK.into_iter().filter(|name| flags.has(name) == set).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(" ") }
    };
    let mut out = vec![format!("Of the flags that concern clocks it has: {}.", list(true))];
    if flags.0.len() > 20 {
        out.push(format!("It does not have: {}.", list(false)));
    }
    out
}

fn erratum(text: &str) -> Vec<String> {
    const ALL: [&str; 7] =
        ["a008585", "a005858", "161010101", "161601", "161600", "858921", "UNKNOWN1"];
    let effect = if ALL.iter().any(|name| text.contains(name)) {
        "this one changes reads of the counter: the vDSO clock is off for all programs"
    } else if text.contains("1418040") {
        "this one disables the vDSO clock for 32-bit programs only"
    } else {
        "whether this one changes reads of the counter is not known here; `Trapping CNTVCT access` \
         would say so"
    };
    vec![format!("{text}: {effect}.")]
}

/// `1 wrap`, `2 wraps`.
fn wraps(count: f64) -> String {
    format!("{count:.0} wrap{}", if count.round() == 1.0 { "" } else { "s" })
}

fn mhz(hz: u64) -> String {
    let khz = hz / 1000;
    format!("{}.{:03} MHz", khz / 1000, khz % 1000)
}

/// Nanoseconds as seconds.
#[allow(clippy::cast_precision_loss)]
fn ns_f(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Nanoseconds as seconds.
#[allow(clippy::cast_precision_loss)]
fn signed(ns: i64) -> f64 {
    ns as f64 / 1e9
}

/// A duration with a suitable unit.
pub(super) fn seconds(seconds: f64) -> String {
    let size = seconds.abs();
    if size >= 1.0 {
        format!("{seconds:.2} s")
    } else if size >= 1e-3 {
        format!("{:.2} ms", seconds * 1e3)
    } else if size >= 1e-6 {
        format!("{:.1} us", seconds * 1e6)
    } else {
        format!("{:.0} ns", seconds * 1e9)
    }
}

/// A rate difference in ppm, or in percent when large.
pub(super) fn ppm(ppm: f64) -> String {
    if ppm.abs() >= 10_000.0 { format!("{:.1} %", ppm / 1e4) } else { format!("{ppm:.0} ppm") }
}
