//! The clocksource in use: read, or concluded from the log; and whether a later line may change the conclusion.

mod alone;
mod changed;
pub(crate) mod idle;
mod marked;
mod pending;
mod rivals;
mod silent;

use crate::{Confidence, demotion, symptom};
use alone::{
    never_left_jiffies, only_counter, read_of_xen, read_then_restarted, read_then_unbound,
    read_then_written, two_states,
};
use changed::{read_then_continued, unless_changed};
use clocksmith_facts::log::event::UnstableReason;
use clocksmith_facts::log::{Entry, Event, KernelLog};
use clocksmith_facts::{Facts, Origin};
use clocksmith_kernel::expectation::TscState;
use clocksmith_kernel::feature::Feature;
use clocksmith_kernel::{Machine, predict};
use idle::{may_be_watched, may_halt};
use marked::marked;
use pending::{has_figures_of_nobody, is_pending};
use rivals::{counter_follows, switches_of_this_boot, tsc_follows, tsc_was_refused};
pub(crate) use rivals::{is_of_one_boot, is_paravirtual, outranks_tsc};
pub(crate) use silent::perhaps_silent;
use silent::{is_silent, says_nothing, unread};

/// The clocksource in use, the confidence in it, and its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Current {
    /// Name, where known.
    pub name: Option<String>,
    /// The confidence.
    pub confidence: Confidence,
    /// The place where the name was read, or how it was concluded.
    pub source: String,
    /// No name is known, and the source says why: a later command, or two states in one text.
    pub is_explained: bool,
    /// The clocksource in use when the log ends, if the kernel may have chosen another one later.
    pub passing: Option<Passing>,
    /// The log does not show that the clocksource stayed in use: it ends soon, or shows too little.
    pub may_have_changed: bool,
    /// A clocksource that may be in use instead: no line reports that it took over, and the evidence does not exclude
    /// that the line is lost.
    pub or_other: Option<String>,
    /// The clocksource is the first one of the list, which the kernel uses unless another one was chosen.
    pub is_from_list: bool,
    /// It is the first one of several: each of the others may be in use.
    pub or_listed: bool,
}

/// A clocksource that was in use for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Passing {
    /// Its name.
    pub name: String,
    /// The time of the kernel's choice, in words: `at 0.36 s`, or empty.
    pub when: String,
    /// The reason why it is not the answer, as the end of a sentence.
    pub but: String,
}

/// Seconds after the first choice by which a kernel has refined the TSC and chosen it: the refinement begins one second
/// after the calibration and is repeated if it was disturbed (`tsc_refine_calibration_work()` in
/// `arch/x86/kernel/tsc.c`, 2.6.38 and later).
const SETTLED_BY: f64 = 10.0;
/// Seconds after the boot from which on a switch is not part of it, unless lines of the boot are near the switch:
/// machines with much memory and slow consoles reach the first switch after half a minute.
const LATE_SWITCH: f64 = 60.0;
/// Seconds around a switch in which lines of the boot show that the switch is part of the boot.
const BOOT_AROUND: f64 = 5.0;

/// Seconds after a switch from which on a login prompt shows that the kernel has settled: the refinement of the
/// TSC takes one second.
const LOGIN_BEHIND: f64 = 3.0;

/// Lines after the choice of the TSC, in a log without time stamps, from which on enough of the boot is in the log:
/// whole logs have 180 and more.
const LINES_BEHIND: u64 = 100;

/// Seconds after the boot by which the driver of ACPI's idle states is loaded, a module in many distributions: it marks
/// a TSC that stops in those states unstable (`tsc_check_state()` in drivers/acpi/processor_idle.c).
const IDLE_DRIVER_BY: f64 = 30.0;

/// Seconds within which the kernel registers a refined TSC and chooses a clocksource.
const CHOSEN_WITHIN: f64 = 1.0;

/// Seconds within which the watchdog, which checks every half second, has verified a new clocksource.
pub(crate) const VERIFIED_WITHIN: f64 = 3.0;

/// The clocksource in use.
#[must_use]
pub(crate) fn current(facts: &Facts, machine: &Machine) -> Current {
    // In a text the lines about sysfs may also be of another machine. What a machine's own sysfs says needs no log, to which its
    // users can add lines.
    let is_read = !matches!(facts.origin, Origin::Log(_)) && facts.current_clocksource().is_known();
    if let Some(why) = facts.kernel_log().and_then(|log| log.mixed.as_deref())
        && !is_read
    {
        return unknown(why);
    }
    if let clocksmith_facts::Fact::Known { value, source } = facts.current_clocksource() {
        if !is_silent(facts, machine, value) {
            return known(value.to_owned(), Confidence::High, source.0);
        }
        return facts
            .kernel_log()
            .map(|log| from_log(facts, machine, log))
            .filter(|concluded| concluded.name.is_some())
            .unwrap_or_else(|| unread(&source.0));
    }
    let Some(log) = facts.kernel_log() else { return unknown("neither sysfs nor a kernel log") };
    let concluded = from_log(facts, machine, log);
    // A profile ranks above an inference, and below a message of the kernel.
    let said = concluded.name.is_some() && concluded.confidence == Confidence::High;
    if said || concluded.passing.is_some() {
        return concluded;
    }
    if let Some(shown) = symptom::in_use(facts) {
        return shown;
    }
    // The kernel lists clocksources by rating, and uses the first one unless it is overruled. After a message of the
    // watchdog the rating may have changed. An older list shows neither that nor a later choice.
    let doubted = log.reading_cut
        || !log.later.is_empty()
        || log.any(|event| {
            matches!(
                event,
                Event::Unbound(_)
                    | Event::WatchdogKept { .. }
                    | Event::WatchdogOld { .. }
                    | Event::TscUnstable(_)
                    | Event::WroteCurrent(_)
            )
        });
    if doubted {
        return concluded;
    }
    match (&concluded.name, facts.available_clocksources(), facts.clocksources.source()) {
        (None, Some(list @ [first, ..]), Some(source))
            if machine.lists_by_rating(list) && !says_nothing(machine, list) =>
        {
            Current {
                is_from_list: true,
                or_listed: list.len() > 1,
                ..known(
                    first.clone(),
                    Confidence::Medium,
                    format!("{source}: the first one in the list, unless another one was chosen"),
                )
            }
        }
        _ => concluded,
    }
}

fn unknown(why: &str) -> Current {
    Current {
        name: None,
        confidence: Confidence::Low,
        source: why.to_owned(),
        is_explained: false,
        passing: None,
        may_have_changed: false,
        or_other: None,
        is_from_list: false,
        or_listed: false,
    }
}

/// An unknown clocksource for a reason that answers the reader's question: the headline states it.
fn explained(why: &str) -> Current {
    Current { is_explained: true, ..unknown(why) }
}

/// A clocksource that is in use, without a reason for doubt.
pub(crate) fn known(name: String, confidence: Confidence, source: String) -> Current {
    Current { name: Some(name), confidence, ..unknown(&source) }
}

fn from_log(facts: &Facts, machine: &Machine, log: &KernelLog) -> Current {
    unless_changed(log, from_messages(facts, machine, log))
}

/// The same by messages of the kernel alone, whatever commands follow them.
fn from_messages(facts: &Facts, machine: &Machine, log: &KernelLog) -> Current {
    if log.newest_first {
        return unknown(
            "the newest line of this log is the first, and the log is too long to be reversed here: reverse it with \
             tac",
        );
    }
    if log.extent.examples {
        return unknown(
            "separate blocks of this text name different clocksources: examples, or several machines",
        );
    }
    if let Some(story) = two_states(log) {
        return explained(&story);
    }
    let switched = log.last(|event| match event {
        Event::Switched(name) => Some(name.clone()),
        _ => None,
    });
    let demoted = last_demotion(log);
    if let Some(line) = log.change_cut
        && switched.as_ref().is_some_and(|(entry, _)| entry.line < line)
        && demoted.as_ref().is_none_or(|(entry, _)| entry.line < line)
    {
        return unknown(&format!(
            "a message of the kernel about another clocksource is cut off, or a person may have typed it \
             ({}:{line}): what it says is not known",
            log.name
        ));
    }
    if let Some((entry, name)) = &switched {
        if let Some(why) = marked(log, entry.line, name) {
            return unknown(&why);
        }
        let tsc = name.starts_with("tsc");
        let overtaken = demoted.as_ref().is_some_and(|(d, _)| d.line > entry.line);
        if !(tsc && overtaken) {
            let source = log.source(entry).0;
            return match standing(facts, machine, log, entry, name) {
                Standing::Settled(confidence) => known(name.clone(), confidence, source),
                Standing::Passing(but) => Current {
                    passing: Some(Passing {
                        name: name.clone(),
                        when: entry.at.map_or_else(String::new, |at| format!("at {at:.2} s")),
                        but,
                    }),
                    may_have_changed: true,
                    ..unknown(&source)
                },
                Standing::UnlessLost(other) => Current {
                    or_other: Some(other),
                    ..known(name.clone(), Confidence::Medium, source)
                },
                Standing::Held => Current {
                    may_have_changed: true,
                    ..known(name.clone(), Confidence::Medium, source)
                },
            };
        }
    }
    // Chosen once, by kernels that cannot change the choice.
    if switched.is_none()
        && let Some((entry, name)) = log.last(|event| event.time_source().map(str::to_owned))
    {
        let place = log.source(entry).0;
        return known(name, Confidence::High, format!("{place}{}", silent::beside(facts)));
    }
    if let Some(current) = named_by_watchdog(log).or_else(|| read_of_xen(facts, log)) {
        return current;
    }
    if let Some((entry, Some(watchdog))) = demoted {
        // Of all references, only the PIT (rating 110) is outranked by clocks that register after it: the PM timer and the HPET.
        if watchdog == "pit" && none_was_chosen(log) {
            return unknown(
                "no clocksource was chosen yet when the watchdog demoted the TSC, and a better one than its reference may have \
                 registered later",
            );
        }
        // The watchdog is the highest-rated source that is not itself watched, so it is the next
        // choice after the TSC (`clocksource_select_watchdog()`, all versions).
        if !watchdog.contains("jiffies") {
            let source = format!(
                "{}: the reference that demoted the TSC has the next lower rating",
                log.source(entry)
            );
            return known(watchdog, Confidence::Medium, source);
        }
    }
    if let Some(current) = never_left_jiffies(facts, log) {
        return current;
    }
    let story = || {
        let told = read_then_restarted(log).or_else(|| read_then_unbound(log));
        let told = told.or_else(|| read_then_written(log)).or_else(|| read_then_continued(log));
        told.map_or_else(|| unknown("the log does not show it"), |told| explained(&told))
    };
    only_counter(facts, log).unwrap_or_else(story)
}

/// `'kvm-clock' (not 'tsc') is current clocksource`: the clocksource in use while the watchdog demotes another one; it
/// stays in use. If it is a tick, it only serves until the kernel makes its first choice.
fn named_by_watchdog(log: &KernelLog) -> Option<Current> {
    let (entry, name) = last_of_watchdog(log)?;
    let name = name.filter(|name| !name.starts_with("tsc") && !name.contains("jiffies"))?;
    if let Some(why) = marked(log, 0, &name) {
        return Some(unknown(&why));
    }
    Some(known(name, Confidence::High, log.source(entry).0))
}

/// The last line in which the watchdog names the clocksource in use, and that name; `None`: none was in use.
fn last_of_watchdog(log: &KernelLog) -> Option<(&Entry, Option<String>)> {
    log.last(|event| match event {
        Event::WatchdogCurrent(name) => Some(name.clone()),
        _ => None,
    })
}

/// Whether the kernel had not chosen any clocksource when the watchdog demoted one: `No current clocksource`, or a tick in use.
fn none_was_chosen(log: &KernelLog) -> bool {
    last_of_watchdog(log).is_some_and(|(_, name)| name.is_none_or(|name| name.contains("jiffies")))
}

/// Whether the last switch in a log is final.
enum Standing {
    Settled(Confidence),
    /// No clocksource outranks it, and the log is too short to show that it stayed in use.
    Held,
    /// It is final if no line of the kernel is lost: the log does not report a choice of this clocksource, which may
    /// outrank it.
    UnlessLost(String),
    /// It is not final, for this reason.
    Passing(String),
}

fn standing(
    facts: &Facts,
    machine: &Machine,
    log: &KernelLog,
    entry: &Entry,
    name: &str,
) -> Standing {
    // In one boot the kernel prints a choice between the two.
    let other = last_of_watchdog(log).filter(|(later, named)| {
        later.line > entry.line && named.as_deref().is_some_and(|named| named != name)
    });
    if let Some((later, Some(other))) = other {
        return Standing::Passing(format!(
            "a later line names {other} as the clocksource in use ({}), so the two are from different boots, or a line \
             between them is missing",
            log.source(later)
        ));
    }
    let found = standing_of_usual(facts, machine, log, entry, name);
    match (&found, rivals::behind(machine, log, entry, name)) {
        (Standing::Settled(_), Some(other)) => Standing::UnlessLost(other),
        _ => found,
    }
}

/// The same for a log in which only clocksources registered that the kernel rules know.
fn standing_of_usual(
    facts: &Facts,
    machine: &Machine,
    log: &KernelLog,
    entry: &Entry,
    name: &str,
) -> Standing {
    // The next message may have named another clocksource.
    if log.extent.ends_inside {
        return Standing::Held;
    }
    let high = Standing::Settled(Confidence::High);
    let end = log.ends_at(entry);
    let shows = log.extent.would_show_switch_after(name);
    let user_space = log.extent.reaches_user_space_behind(entry.line, log.lines);
    let behind = log.lines.saturating_sub(entry.line);
    let reaches_late = match (entry.at, end) {
        (Some(at), Some(end)) => {
            // The time after the switch counts, and not the time stamp: a boot may be slow before the switch.
            end - at >= SETTLED_BY
                || (user_space || name == "tsc" && end >= SETTLED_BY)
                    && end - at >= SETTLED_BY / 2.0
                || log.extent.reaches_login && end - at >= LOGIN_BEHIND
        }
        _ => {
            // If the switch has lost its time stamp, the remaining stamps show where the log ends. Lines with dates had none.
            let soon = !log.is_dated(entry) && end.is_some_and(|end| end < SETTLED_BY);
            user_space && !soon && (name != "tsc" || behind >= LINES_BEHIND)
                || entry.at.is_none() && log.seconds_behind(entry).is_some_and(|s| s >= SETTLED_BY)
        }
    };
    if name == "tsc" {
        // No other x86 clocksource is rated above the TSC; the watchdog may still demote it, and so may the driver of
        // idle states.
        let loaded = match entry.at {
            Some(_) => end.is_some_and(|end| end >= IDLE_DRIVER_BY),
            // Without time stamps, dates must show it.
            None => log.seconds_behind(entry).is_some_and(|s| s >= IDLE_DRIVER_BY),
        };
        let halts = may_halt(machine, log) && !loaded;
        // A quotation of single lines may omit the one that demotes the TSC.
        let quoted = log.extent.quotes_lines && !log.from_boot;
        let doubted = has_figures_of_nobody(log, entry);
        if doubted {
            return Standing::Held;
        }
        return if (reaches_late && shows && !quoted || !may_be_watched(machine, log)) && !halts {
            high
        } else {
            Standing::Held
        };
    }
    // Other architectures do not choose twice.
    let elsewhere = !machine.arch.is_assumed() && !machine.arch.value.is_x86();
    if elsewhere || !is_x86_name(name) {
        return high;
    }
    let asked = facts.cmdline.value().and_then(|line| line.clocksource_override());
    if asked.as_deref() == Some(name) {
        return high;
    }
    // A clocksource with a higher rating was in use before, so this is a later change: during boot the kernel
    // switches upwards. A time stamp that is not later, and tsc-early after tsc, belong to another boot.
    let rating = |name: &str| crate::names::find(name).map_or(0, |known| known.rating);
    let after_tsc = name != "tsc-early"
        && switches_of_this_boot(log, entry)
            .any(|former| former != "tsc-early" && rating(former) > rating(name));
    // If lines were selected by a word, a later choice may be missing.
    let by_hand = log.any(|e| matches!(e, Event::WroteCurrent(wanted) if wanted == name));
    if by_hand && log.extent.common.is_none() {
        return high;
    }
    // The kernel chooses the clocksource of the command line when it registers, whatever its rating: the TSC a second
    // or two after the first choice, acpi_pm soon after it.
    let is_early = is_paravirtual(name) && !(reaches_late && shows);
    if is_early && asked.is_some_and(|wanted| is_pending(machine, log, entry, &wanted)) {
        return Standing::Held;
    }
    // The reference counter MSR under its old name: on those kernels only the TSC page can follow
    // it, whose reads are also system calls (`hv_init()` in drivers/hv/hv.c, 4.3 to 4.10).
    if name == "hyperv_clocksource" {
        return Standing::Settled(if reaches_late && shows {
            Confidence::High
        } else {
            Confidence::Medium
        });
    }
    // A tick is in use only until a counter registers, whether the TSC is demoted or not.
    if name.contains("jiffies")
        && let Some((later, better)) = counter_follows(log, entry)
    {
        return Standing::Passing(format!(
            "after it, the kernel registered {better} ({}), which usually replaces it, but no line \
             says so",
            log.source(later)
        ));
    }
    // A switch upwards that a search for words has hidden looks the same, unless all lines are in the log.
    let is_whole = shows && (log.extent.shows_all_behind_switch() || !says_unstable(machine));
    let tick = name.contains("jiffies") && !(reaches_late && shows);
    if !tick && after_tsc && is_of_one_boot(log, entry) {
        return high;
    }
    if !tick && name != "tsc-early" && (tsc_is_lost(log, entry) || outranks_tsc(machine, name)) {
        // A lost line may have requested the TSC. In a text that was searched for a word, the shown choice is assumed
        // to be the one at the time of the search.
        let lost = is_early
            && log.extent.common.is_none()
            && !facts.cmdline.is_known()
            && is_pending(machine, log, entry, "tsc");
        return if lost { Standing::UnlessLost("tsc".to_owned()) } else { high };
    }
    if !tick && after_tsc {
        return Standing::Passing(
            "each boot begins with such a choice, and these lines do not show whether it and the better choice \
             before it belong to the same boot"
                .to_owned(),
        );
    }
    if let Some(later) = tsc_follows(log, entry) {
        if is_paravirtual(name) && name != "tsc-early" {
            // The kernel chooses when a clocksource registers, and would have printed a choice here: the TSC is not
            // rated higher (`clocksource_enqueue()`, `clocksource_select()` in `__clocksource_register_scale()`).
            // If the TSC is not preset for one-shot mode, the choice comes after the first rounds of the watchdog.
            let kernel = &machine.kernel;
            let at_once = !kernel.is_assumed() && Feature::TscPresetHres.of(&kernel.value);
            let within = if at_once { CHOSEN_WITHIN } else { VERIFIED_WITHIN };
            if later.at.zip(end).is_some_and(|(then, end)| end - then < within) {
                return Standing::Held;
            }
            // These two are rated above the TSC unless they yield to it, and the log of a whole boot would have the choice. (Those
            // of Hyper-V are rated below it: without a line about the TSC, one is lost.)
            let is_above = matches!(name, "kvm-clock" | "xen");
            let is_whole_boot =
                log.from_boot && log.extent.shows_all_behind_switch() && log.extent.is_ordinary();
            return match shows {
                true if is_above && is_whole_boot => high,
                true => Standing::UnlessLost("tsc".to_owned()),
                false => Standing::Held,
            };
        }
        return Standing::Passing(format!(
            "after it, the kernel registered tsc ({}), which usually replaces it, but no line says \
             so",
            log.source(later)
        ));
    }
    if name != "tsc-early"
        && entry.at.is_some_and(|at| at > LATE_SWITCH)
        && !is_of_the_boot(log, entry)
    {
        return high;
    }
    if !is_paravirtual(name) && name != "tsc-early" && lacks_a_choice(machine, log) {
        return Standing::Passing(
            "the log begins with the boot and has no evidence against the TSC, which the kernel \
             would then choose: a line is missing"
                .to_owned(),
        );
    }
    if matches!(name, "hpet" | "acpi_pm" | "pit") && tsc_was_refused(machine) {
        return high;
    }
    if reaches_late && shows {
        return match name {
            // The kernel replaces it a second after it, or a few (`tsc_refine_calibration_work()`).
            "tsc-early" => Standing::Passing(
                "tsc usually replaces it within seconds, so a line is missing".to_owned(),
            ),
            _ if is_paravirtual(name) => Standing::UnlessLost("tsc".to_owned()),
            _ if is_whole || name.contains("jiffies") => high,
            _ => Standing::Passing(
                "the lines after it are of too few kinds for a whole log of a boot, so a line about a later \
                 switch may be missing"
                    .to_owned(),
            ),
        };
    }
    // Only a TSC with a higher rating may replace a paravirtual clock, and only the TSC follows tsc-early.
    if is_paravirtual(name) || name == "tsc-early" {
        return Standing::Held;
    }
    Standing::Passing(match (entry.at, end, shows) {
        (_, _, false) => {
            "these lines would not show a later switch: they are too few, or were selected"
                .to_owned()
        }
        (Some(_), Some(end), true) => {
            format!("this log ends at {end:.2} s, perhaps before the kernel's last decision")
        }
        _ => "this log does not show whether the kernel decided again".to_owned(),
    })
}

/// Whether lines of the boot are near a switch, or the kernel frees its boot code after it.
fn is_of_the_boot(log: &KernelLog, entry: &Entry) -> bool {
    let near = |other: &Entry| {
        other.at.zip(entry.at).is_some_and(|(one, at)| (one - at).abs() <= BOOT_AROUND)
    };
    log.entries.iter().any(|other| match &other.event {
        Event::Registered { .. }
        | Event::HpetCounter { .. }
        | Event::HpetTable { .. }
        | Event::PmTimer(_)
        | Event::TickOneshot
        | Event::PossibleCpus(_)
        | Event::BroughtUp { .. }
        | Event::Detected { .. }
        | Event::DelayLoop { .. } => near(other),
        Event::Switched(name) => name.contains("jiffies") && near(other),
        Event::UserSpace => near(other) && other.line > entry.line,
        _ => false,
    })
}

/// Whether only x86 has a clocksource of this name.
fn is_x86_name(name: &str) -> bool {
    name.contains("jiffies") || crate::names::find(name).is_some_and(|known| known.x86)
}

/// Whether a log has every line of a boot, none of them against the TSC, and the TSC is not in use: a kernel registers
/// the TSC of a processor that has one, and prefers it to the counter of a device. Up to 2.6.21 it could demote the TSC
/// without a message (`mark_tsc_unstable()` in `arch/i386/kernel/tsc.c`).
fn lacks_a_choice(machine: &Machine, log: &KernelLog) -> bool {
    log.from_boot
        && says_unstable(machine)
        && !machine.kernel.is_assumed()
        && !log.any(|event| matches!(event, Event::SchedClockUnstable | Event::NotscIgnored))
        && matches!(predict(machine).tsc, TscState::Usable { .. })
}

/// Whether the kernel prints a message when it marks the TSC unstable.
fn says_unstable(machine: &Machine) -> bool {
    Feature::SaysTscUnstable.of(&machine.kernel.value)
}

/// Whether the TSC was demoted in this boot, before or with this switch.
fn tsc_is_lost(log: &KernelLog, entry: &Entry) -> bool {
    log.all(demotion::takes_tsc).any(|line| line.line <= entry.line + 12)
}

/// The last line that demotes the TSC, with its reference, if the line names one.
fn last_demotion(log: &KernelLog) -> Option<(&Entry, Option<String>)> {
    let entry = demotion::last_of_tsc(log)?;
    let by_watchdog = !log.any(
        |event| matches!(event, Event::TscUnstable(reason) if *reason != UnstableReason::Watchdog),
    );
    let incidents = clocksmith_facts::log::incident::incidents(log);
    let watchdog = incidents.iter().rev().find_map(|incident| incident.watchdog.clone());
    Some((entry, watchdog.filter(|_| by_watchdog)))
}
