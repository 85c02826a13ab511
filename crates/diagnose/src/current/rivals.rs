//! The clocksources that may replace the one of a switch: by rating, and by the evidence in the log.

use clocksmith_facts::log::{Entry, Event, KernelLog};
use clocksmith_kernel::expectation::TscState;
use clocksmith_kernel::feature::Feature;
use clocksmith_kernel::open::{self, OpenInput};
use clocksmith_kernel::{Machine, predict};

/// A clocksource that registered after the last switch, and may be rated above the one that this
/// switch chose.
///
/// The kernel chooses when a clocksource registers (`clocksource_select()` in `__clocksource_register_scale()`), so that in
/// a log with all its lines this one is not rated higher. Out of tree drivers register clocksources of any rating, late.
pub(super) fn behind(
    machine: &Machine,
    log: &KernelLog,
    entry: &Entry,
    name: &str,
) -> Option<String> {
    let by_hand = log.any(|event| matches!(event, Event::WroteCurrent(wanted) if wanted == name));
    if by_hand || machine.cmdline.value.clocksource_override().as_deref() == Some(name) {
        return None;
    }
    let chosen = crate::names::find(name).map(|known| known.rating);
    let outranks = |other: &str| match (crate::names::find(other), chosen) {
        _ if other == name || other.contains("jiffies") || other.starts_with("wdtest") => false,
        // The TSC may be of rating 0, and the rest of the rules looks at it.
        _ if other.starts_with("tsc") => false,
        (Some(known), Some(chosen)) => known.rating > chosen,
        // Boards name theirs as they like, and rate them below the counter of the architecture.
        (None, _) => machine.arch.value.is_x86(),
        _ => false,
    };
    log.entries.iter().filter(|later| later.line > entry.line).find_map(|later| {
        match &later.event {
            Event::Registered { name: other, .. } if outranks(other) => Some(other.clone()),
            _ => None,
        }
    })
}

/// The clocksources that the boot of this switch had in use before it, the last one first. If stamps go back, or
/// without stamps the same switch occurs again, another boot begins.
pub(super) fn switches_of_this_boot<'a>(
    log: &'a KernelLog,
    entry: &'a Entry,
) -> impl Iterator<Item = &'a str> {
    let mut next = entry.at;
    let name = |entry: &'a Entry| match &entry.event {
        Event::Switched(name) => Some(name.as_str()),
        _ => None,
    };
    log.entries
        .iter()
        .rev()
        .filter(move |former| former.line < entry.line && name(former).is_some())
        .take_while(move |former| {
            let same_boot = match former.at.zip(next) {
                Some((then, next)) => then <= next,
                None => name(former) != name(entry),
            };
            next = former.at.or(next);
            same_boot
        })
        .filter_map(name)
}

/// Seconds after the start of a kernel from which on a choice is not one of the first, unless lines of the boot are
/// near.
const FIRST_CHOICES_BY: f64 = 10.0;

/// Whether the log shows that a choice is of the same boot as the earlier ones. In lines that were selected from the
/// log of several boots, the first choice of the last boot follows the last choice of the previous one.
pub(crate) fn is_of_one_boot(log: &KernelLog, entry: &Entry) -> bool {
    let late =
        || entry.at.is_some_and(|at| at >= FIRST_CHOICES_BY) && !super::is_of_the_boot(log, entry);
    // All lines from the first one of the boot on are present.
    let whole = || log.from_boot && log.extent.is_ordinary();
    let written = |name: &str| {
        let writes = |event: &Event| matches!(event, Event::WroteCurrent(wanted) if wanted == name);
        log.all(writes).any(|write| write.line < entry.line)
    };
    // Kernels with these words lower the TSC without a message.
    let silent = entry.text.contains("clocksource has been installed");
    // `dmesg -T` shows only one boot, with dates in brackets.
    let ring = || {
        let dated =
            entry.at.is_none() && entry.text.trim_start_matches(['>', ' ']).starts_with('[');
        let mut former = log
            .all(|event| matches!(event, Event::Switched(_)))
            .filter(|one| one.line < entry.line);
        dated
            && former
                .next()
                .and_then(|first| log.seconds_between(first, entry))
                .is_some_and(|s| s >= FIRST_CHOICES_BY)
    };
    silent
        || ring()
        || late()
        || whole()
        || matches!(&entry.event, Event::Switched(name) if written(name))
}

/// In every machine that the evidence allows, this paravirtual clock outranks the TSC, or the TSC is not usable.
pub(crate) fn outranks_tsc(machine: &Machine, name: &str) -> bool {
    let yields_since = match name {
        "kvm-clock" => Some(Feature::KvmClockYields),
        "xen" if machine.knows_domain() => Some(Feature::XenSafeTsc),
        "hyperv_clocksource_tsc_page" | "hyperv_clocksource_msr" => Some(Feature::HypervInvariant),
        _ => None,
    };
    let by_version = yields_since.is_some_and(|feature| {
        let yields = |m: &Machine| feature.of(&m.kernel.value);
        open::ask_over(machine, &[OpenInput::KernelVersion], yields).same == Some(false)
    });
    by_version
        || !machine.nonstop_tsc.is_assumed()
            && open::ask(machine, |m| predict(m).current.as_deref() == Some(name)).same
                == Some(true)
        || lacks_tsc(machine)
}

/// Whether a choice of a slow timer shows by itself that the kernel does not use the TSC: since `tsc-early`, the TSC is
/// registered before the first choice, unless it is unstable, and an unstable one never comes later (`tsc_init()` and
/// `init_tsc_clocksource()` in arch/x86/kernel/tsc.c, since 4.16).
pub(super) fn tsc_was_refused(machine: &Machine) -> bool {
    let early = |m: &Machine| Feature::TscEarly.of(&m.kernel.value);
    open::ask_over(machine, &[OpenInput::KernelVersion], early).same == Some(true)
}

/// The kernel cannot use the TSC, in every case that the evidence leaves.
pub(super) fn lacks_tsc(machine: &Machine) -> bool {
    open::ask(machine, |m| {
        matches!(predict(m).tsc, TscState::NotPresent | TscState::NotRegistered)
            || matches!(predict(m).tsc, TscState::Unstable { .. })
    })
    .same
        == Some(true)
}

/// Whether a clocksource is one that a hypervisor offers.
pub(crate) fn is_paravirtual(name: &str) -> bool {
    matches!(name, "kvm-clock" | "xen") || name.starts_with("hyperv_clocksource")
}

/// The line after the switch that shows the registration of the TSC.
pub(super) fn tsc_follows<'a>(log: &'a KernelLog, entry: &Entry) -> Option<&'a Entry> {
    let registers = |event: &Event| match event {
        Event::Registered { name, .. } => name == "tsc",
        Event::Refined { .. } => true,
        _ => false,
    };
    log.all(registers).find(|line| line.line > entry.line)
}

/// A counter that the kernel registered after a line, and its name.
pub(super) fn counter_follows<'a>(
    log: &'a KernelLog,
    entry: &Entry,
) -> Option<(&'a Entry, &'a str)> {
    log.entries.iter().filter(|line| line.line > entry.line).find_map(|line| match &line.event {
        Event::Registered { name, .. } if !name.contains("jiffies") && name != "tsc-early" => {
            Some((line, name.as_str()))
        }
        _ => None,
    })
}
