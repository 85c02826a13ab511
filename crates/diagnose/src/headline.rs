//! The headline: the first sentence of the report, understandable without further knowledge.

use crate::causes::Case;
use crate::wall::{WallClockReport, WallState};
use crate::{Cause, CauseId, Confidence, Read, Severity, Verdict};
use clocksmith_facts::log::Event;
use clocksmith_facts::log::event::LostTicks;
use clocksmith_facts::log::incident::tsc_demoted;
use clocksmith_facts::names::is_known;
use clocksmith_facts::{Arch, Origin};
use clocksmith_kernel::expectation::TscState;
use clocksmith_kernel::feature::Feature;
use clocksmith_kernel::open::{self, OpenInput};
use clocksmith_kernel::{Machine, predict, vdso};

pub(crate) fn headline(
    case: &Case<'_>,
    causes: &[Cause],
    verdict: Verdict,
    reads: &[Read],
) -> String {
    let first = match (case.current_name(), case.current.or_listed) {
        (Some(name), true) => {
            Some(format!("{name} (the first in the list, unless another one was chosen)"))
        }
        _ => None,
    };
    let name = first.as_deref().or(case.current_name()).unwrap_or("an unknown clocksource");
    let unless = case.current.or_other.as_ref().map_or_else(String::new, |other| {
        format!(" (or {other}, if the line about it is missing from this log)")
    });
    let cost = reads
        .iter()
        .find(|r| r.clock == "CLOCK_MONOTONIC")
        .and_then(|r| r.ns)
        .map_or_else(String::new, |ns| format!(", about {} a read", ns_text(ns)));
    let because = main_cause(causes);
    // A 32-bit kernel without clock_gettime in its vDSO: the clocksource is not at fault.
    let served = served_on_32_bits(case);
    let no_vdso = served == Some(Some(false));
    let perhaps_no_vdso = served == Some(None);
    let (where_called, nothing) = if depends_on_library(case) && cost.is_empty() {
        (CALLED_BY, NOTHING_IN_KERNEL)
    } else {
        ("", NOTHING_TO_FIX)
    };
    let (fast, slow) = (reading_is("fast", case), reading_is("slow", case));
    match verdict {
        Verdict::Ok
            if perhaps_no_vdso
                && case.tsc_is_current()
                && cost.is_empty()
                && because.is_none_or(|cause| cause.severity < Severity::Warning) =>
        {
            format!(
                "{fast}: the clocksource is {name}{unless}, unless this is a 32-bit kernel before {}, \
                 or one with glibc before 2.20. Nothing to fix.",
                Feature::Vdso32.versions().trim_start_matches("since ")
            )
        }
        Verdict::Unknown
            if perhaps_no_vdso
                && case.tsc_is_current()
                && cost.is_empty()
                && !case.open.contains(&OpenInput::LogEnd)
                && !case.open.contains(&OpenInput::Choice) =>
        {
            format!(
                "The clocksource is {name}, the cheapest one; this evidence does not show \
                 whether its reads stay in user space (a 32-bit kernel has a vDSO that reads the \
                 clock {}).",
                Feature::Vdso32.versions()
            )
        }
        Verdict::Ok if before_vdso(case) && case.tsc_is_current() && cost.is_empty() => format!(
            "The clocksource is {name}, the cheapest one; this 64-bit kernel serves \
             gettimeofday and time in its vsyscall page, and clock_gettime by a system call (a vDSO \
             exists {}).",
            Feature::Vdso64.versions()
        ),
        Verdict::Ok | Verdict::Slow
            if no_vdso && case.machine.width_open && case.tsc_is_current() && cost.is_empty() =>
        {
            format!(
                "The clocksource is {name}, the cheapest one; this kernel serves \
                 clock_gettime by a system call (a vDSO that reads the clock exists {}, with 32 \
                 bits {}).",
                Feature::Vdso64.versions(),
                Feature::Vdso32.versions()
            )
        }
        Verdict::Slow if no_vdso && case.tsc_is_current() && cost.is_empty() => format!(
            "{slow}: the clocksource is {name}, the cheapest one, \
             and this 32-bit kernel serves each read by a system call (a vDSO that reads the clock \
             exists {}).",
            Feature::Vdso32.versions()
        ),
        Verdict::Ok => match because {
            Some(cause) if cause.severity >= Severity::Warning => {
                format!("{fast}{where_called} ({name}{cost}), but: {}.", lower(&cause.summary))
            }
            _ => match still_watched(case).filter(|_| cost.is_empty()) {
                Some(checks) => format!(
                    "{fast} so far{where_called}: the clocksource is {name}{unless}, and the \
                     watchdog {checks} it.{nothing}"
                ),
                None => format!(
                    "{fast}{where_called}: the clocksource is {name}{cost}{unless}.{nothing}"
                ),
            },
        },
        Verdict::Slow if case.current_name().is_none() => format!(
            "{slow}: this kernel has no vDSO that reads a clock, so every read is a system call. {NOT_IN_USE}; it makes no \
             difference to that."
        ),
        Verdict::Slow => {
            let why = match because {
                Some(cause) if cause.id == CauseId::InsufficientEvidence && demoted(case) => {
                    ", because the watchdog demoted the TSC. This evidence does not show which clock was wrong"
                        .to_owned()
                }
                Some(cause) if cause.id == CauseId::InsufficientEvidence && case.tsc_is_marked() => {
                    ", because the kernel marked the TSC unstable. This evidence does not show why".to_owned()
                }
                Some(cause) if cause.id == CauseId::InsufficientEvidence && lost_ticks(case) => {
                    ", because the kernel counted too many lost ticks and stopped using the TSC. This evidence does not \
                     show why they were lost"
                        .to_owned()
                }
                Some(cause) if cause.id == CauseId::InsufficientEvidence => {
                    ". This evidence does not show why".to_owned()
                }
                Some(cause) if cause.id == CauseId::OnlyChoice && case.outranked_counter().is_some() => {
                    let counter = case.outranked_counter().unwrap_or_default();
                    format!(", because it is rated above {counter}, which is faster")
                }
                // The reason why it is slow, not why it is in use.
                Some(cause) if cause.id == CauseId::VdsoBypassed => {
                    format!(", and {}", lead_in(case, cause))
                }
                Some(cause) => format!(", because {}", lead_in(case, cause)),
                None => String::new(),
            };
            format!("{slow}: {name} is in use{cost}{why}.")
        }
        Verdict::Untrustworthy => {
            let why =
                because.map_or_else(String::new, |cause| format!(": {}", lead_in(case, cause)));
            format!("{} cannot be trusted ({name}){why}.", time_of(case))
        }
        Verdict::Unknown
            if case.current_name().is_some() && case.open.contains(&OpenInput::LogEnd) =>
        {
            let because = because.filter(|cause| cause.severity >= Severity::Warning);
            let why =
                because.map_or_else(String::new, |cause| format!("; {}", lead_in(case, cause)));
            let at_the_end = match case.is_ownerless() {
                true => format!("{IF_YOURS} {name} was in use on it at their end"),
                false => format!("{} is in use at the end of this log", capital(name)),
            };
            format!(
                "{at_the_end}{why}; it is not known whether it stayed in use.{}",
                also_open(case.open, OpenInput::LogEnd)
            )
        }
        Verdict::Unknown if case.open.contains(&OpenInput::Choice) => {
            let more = also_open(case.open, OpenInput::Choice);
            let first = case.current_name().unwrap_or_default();
            format!(
                "This evidence does not show which clocksource is in use: {first} is the first in the list, which the \
                 kernel chooses by itself, but another one may have been chosen, and the costs of the others \
                 differ.{more}"
            )
        }
        // `current::silent` explains the reason.
        Verdict::Unknown if case.current_name() == Some("jiffies") && !case.open.is_empty() => {
            let (inputs, them) = inputs(case.open);
            format!(
                "sysfs shows jiffies, which is slow; but 64-bit x86 kernels before 2.6.21 show jiffies with every counter, \
                 and whether this is such a kernel depends on {inputs}; this evidence does not show {them}."
            )
        }
        Verdict::Unknown if case.current_name().is_some() && !case.open.is_empty() => {
            let (inputs, them) = inputs(case.open);
            // Which clock was wrong is among the causes.
            let why = match demoted(case) && !case.tsc_is_current() {
                true => ", because the watchdog demoted the TSC",
                false => "",
            };
            format!(
                "The clocksource is {name}{cost}{unless}{why}; whether its reads stay in user space is unknown. It depends on \
                 {inputs}; this evidence does not show {them}."
            )
        }
        Verdict::Unknown
            if reads.is_empty() && case.current_name().is_some_and(|name| !is_known(name)) =>
        {
            format!(
                "The clocksource is {name}, which is not known here; whether its reads stay in user \
                 space is also unknown: only a measurement shows it."
            )
        }
        // The clocksource is known, so the measurement leaves the question open.
        Verdict::Unknown if case.current_name().is_some() => match reads.is_empty() {
            true => format!(
                "The clocksource is {name}; whether its reads stay in user space is unknown: only a measurement shows \
                 it."
            ),
            false => {
                let cost =
                    if cost.is_empty() { ", and no read could be timed".to_owned() } else { cost };
                format!(
                    "The clocksource is {name}{cost}; whether its reads stay in user space is \
                     unknown: the measurement does not show which path they take."
                )
            }
        },
        Verdict::Unknown if case.current.passing.is_some() => {
            let passing = case.current.passing.as_ref();
            let name = passing.map_or("", |passing| passing.name.as_str());
            let when = passing.map_or("", |passing| passing.when.as_str());
            let but = passing.map_or("", |passing| passing.but.as_str());
            let when = if when.is_empty() { String::new() } else { format!(", {when}") };
            format!(
                "It is not known which clocksource is in use. The last switch in this log is to {name}{when}; \
                 {but}."
            )
        }
        Verdict::Unknown
            if case.current.is_explained
                || case.log().is_some_and(|log| log.extent.examples || log.mixed.is_some()) =>
        {
            format!("Unknown: {}.", case.current.source)
        }
        Verdict::Unknown => match because.filter(|cause| cause.severity >= Severity::Warning) {
            Some(cause) if cause.id != CauseId::InsufficientEvidence && case.is_ownerless() => {
                format!("{IF_YOURS} {}. {NOT_IN_USE}.", lead_in(case, cause))
            }
            Some(cause) if cause.id != CauseId::InsufficientEvidence => {
                format!("{NOT_IN_USE}, but it shows this: {}.", lead_in(case, cause))
            }
            _ if demoted(case) => {
                let demoted = match case.is_ownerless() {
                    true => format!("{IF_YOURS} the watchdog demoted its TSC"),
                    false => "The watchdog demoted the TSC".to_owned(),
                };
                format!("{demoted}. {NOT_IN_USE}, or which clock was wrong.")
            }
            _ => NOTHING_KNOWN.to_owned(),
        },
    }
}

/// If a log ends while the TSC is in use: whether the watchdog watches the TSC on every machine that the evidence allows
/// (`still checks`), or on the most likely one because its processor is one without TSC_ADJUST (`may still check`).
fn still_watched(case: &Case<'_>) -> Option<&'static str> {
    // The TSC is in use, so machines without a usable TSC are excluded.
    let watched = |m: &Machine| !matches!(predict(m).tsc, TscState::Usable { watched: false });
    // The kernel names its hypervisor in the first lines of each boot.
    let named = case.log().is_some_and(|log| log.from_boot && log.extent.is_ordinary());
    let inputs: Vec<OpenInput> = OpenInput::ALL
        .into_iter()
        .filter(|input| !(named && *input == OpenInput::Hypervisor))
        .collect();
    // A message of the kernel ranks above a conclusion from its version.
    let disabled =
        case.log().is_some_and(|log| log.any(|event| matches!(event, Event::WatchdogDisabled)));
    let ends = matches!(case.facts.origin, Origin::Log(_))
        && case.tsc_is_current()
        && !case.facts.current_clocksource().is_known()
        && !disabled;
    if !ends {
        return None;
    }
    if open::ask_over(case.machine, &inputs, watched).same == Some(true) {
        return Some("still checks");
    }
    // Some hypervisors disable the watchdog; without the first lines, the log does not show that there is none.
    let apart: Vec<OpenInput> =
        inputs.into_iter().filter(|input| *input != OpenInput::Hypervisor).collect();
    if !named && open::ask_over(case.machine, &apart, watched).same == Some(true) {
        return Some("may still check");
    }
    (case.machine.lacks_tsc_adjust() && watched(case.machine)).then_some("may still check")
}

/// Whether a kernel before the clocksource framework has replaced the TSC because of lost ticks (`mark_lost_ticks()` in
/// arch/i386/kernel/timers/timer_tsc.c).
fn lost_ticks(case: &Case<'_>) -> bool {
    case.log()
        .is_some_and(|log| log.any(|event| matches!(event, Event::LostTicks(LostTicks::TooMany))))
}

/// The condition of a sentence about a text that does not say whose machine printed its lines.
const IF_YOURS: &str = "If your machine printed these lines,";

/// The beginning of a sentence about the cost of reads: `Reading the time is fast here`.
pub(crate) fn reading_is(how: &str, case: &Case<'_>) -> String {
    match case.is_ownerless() {
        true => format!("{IF_YOURS} reading the time is {how} on it"),
        false => format!("Reading the time is {how} here"),
    }
}

/// The subject of a sentence about time that cannot be trusted.
fn time_of(case: &Case<'_>) -> String {
    match case.is_ownerless() {
        true => format!("{IF_YOURS} its time"),
        false => "The time of this machine".to_owned(),
    }
}

/// Adds the fault of the wall clock to the sentence: reads may be fast while the wall clock is wrong.
pub(crate) fn with_wall_clock(
    headline: String,
    causes: &[Cause],
    wall: Option<&WallClockReport>,
    of_boot: bool,
) -> String {
    let grave = causes.iter().find(|cause| cause.severity >= Severity::Warning);
    // A clock that was set wrong is not synchronised either; the sentence states that it is ahead, which is more
    // specific.
    let is_ahead = wall.and_then(|wall| wall.behind_s).is_some_and(|behind| behind < -AHEAD_S);
    let is_kept = wall.is_some_and(|wall| wall.state == WallState::Synchronised);
    match (grave, before_nothing(&headline)) {
        (Some(cause), Some(fine)) if cause.id == CauseId::WallClockUnsynchronised && is_ahead => {
            format!("{fine} But {}.", hedged("the wall clock is ahead", cause))
        }
        (Some(cause), Some(fine)) => format!("{fine} But {}.", lead(cause)),
        // The text does not concern the clocksource.
        (Some(cause), None) if headline == NOTHING_KNOWN => {
            format!("{NOT_IN_USE}, but it shows this: {}.", lead(cause))
        }
        (None, None) if headline == NOTHING_KNOWN && is_kept && by_card(wall) => {
            format!(
                "{NOT_IN_USE}, but it shows that phc2sys holds the wall clock at a PTP clock's time."
            )
        }
        (None, None) if headline == NOTHING_KNOWN && is_kept => {
            format!("{NOT_IN_USE}, but it shows that the wall clock is synchronised.")
        }
        (None, None)
            if headline == NOTHING_KNOWN && !of_boot && (!causes.is_empty() || wall.is_some()) =>
        {
            format!("{NOT_IN_USE}: it is about the wall clock.")
        }
        (None, Some(fine)) if !is_kept && causes.iter().any(leaves_it_open) => {
            format!(
                "{fine} The clocksource needs no change; whether the wall clock is correct is unknown."
            )
        }
        _ => headline,
    }
}

/// The end of the sentence for a machine on which reads are fast.
const NOTHING_TO_FIX: &str = " Nothing to fix.";

/// The same, where reads of some programs may be slow because of their C library.
const NOTHING_IN_KERNEL: &str = " Nothing to fix in the kernel.";

/// The programs that a fast read on a 32-bit x86 kernel is true of: glibc calls that vDSO since 2.20
/// (`sysdeps/unix/sysv/linux/i386/init-first.c`, 2014), and no log shows the library.
const CALLED_BY: &str =
    " for programs whose C library calls the vDSO of 32 bits (glibc since 2.20)";

/// The sentence without its end for a machine on which reads are fast; `None` for other sentences.
pub(crate) fn before_nothing(headline: &str) -> Option<&str> {
    let headline = headline.trim_end();
    [NOTHING_TO_FIX, NOTHING_IN_KERNEL].iter().find_map(|end| headline.strip_suffix(end))
}

/// The beginning of the sentence for a text that does not name the clocksource.
const NOT_IN_USE: &str = "This evidence does not show which clocksource is in use";

/// The sentence for evidence that shows nothing.
const NOTHING_KNOWN: &str = "Unknown: this evidence does not show which clocksource is in use.";

/// Seconds from which on a wall clock is reported as ahead.
const AHEAD_S: f64 = 0.5;

/// Whether the wall clock follows the clock of a network card, and nothing else says that this one is right.
fn by_card(wall: Option<&WallClockReport>) -> bool {
    wall.is_some_and(|wall| wall.kernel_synchronised.is_none() && wall.held_at_card)
}

/// Whether a cause leaves open whether the wall clock is right. Only the kernel log has a sign of a restore: without
/// it the sentence must not become more certain.
fn leaves_it_open(cause: &Cause) -> bool {
    match cause.id {
        CauseId::WallClockStaleAfterRestore => true,
        CauseId::WallClockUnsynchronised => cause.confidence >= Confidence::Medium,
        _ => false,
    }
}

/// The open inputs as a list, and the verb that follows it.
fn inputs(open: &[OpenInput]) -> (String, &'static str) {
    let names: Vec<String> = open.iter().map(|input| with_article(*input)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    (join(&names), if names.len() == 1 { "it" } else { "them" })
}

/// The input in words, with the article that it needs in a sentence.
pub(crate) fn with_article(input: OpenInput) -> String {
    let name = input.name();
    match input {
        OpenInput::ConstantTsc
        | OpenInput::NonstopTsc
        | OpenInput::TscAdjust
        | OpenInput::InvariantGrant => name.to_owned(),
        _ => format!("the {name}"),
    }
}

/// The open inputs other than this one, as a separate sentence.
fn also_open(open: &[OpenInput], beside: OpenInput) -> String {
    let others: Vec<OpenInput> = open.iter().copied().filter(|input| *input != beside).collect();
    if others.is_empty() {
        return String::new();
    }
    format!(" Whether its reads stay in user space also depends on {}.", inputs(&others).0)
}

/// Whether a kernel that is, or may be, 32-bit x86 serves its clocks from the vDSO: `None` if it does, and for any
/// other kernel; `Some(None)` if the evidence does not show it.
pub(crate) fn served_on_32_bits(case: &Case<'_>) -> Option<Option<bool>> {
    const INPUTS: [OpenInput; 2] = [OpenInput::KernelVersion, OpenInput::Architecture];
    let machine = case.machine;
    let known = machine.arch.value == Arch::X86 && !machine.arch.is_assumed();
    // vdso=0 has its own cause.
    let open = machine.width_open && machine.arch.value.is_x86();
    if !known && !open || machine.cmdline.value.last("vdso") == Some("0") {
        return None;
    }
    let served = |m: &Machine| vdso::serves(m, "tsc") == Some(true);
    match open::ask_over(machine, &INPUTS, served).same {
        Some(true) => None,
        other => Some(other),
    }
}

/// Whether the kernel is 32-bit x86 with a vDSO that reads the clock, which older C libraries do not call.
pub(crate) fn depends_on_library(case: &Case<'_>) -> bool {
    let machine = case.machine;
    machine.arch.value == Arch::X86
        && !machine.arch.is_assumed()
        && Feature::Vdso32.of(&machine.kernel.value)
}

/// Whether the kernel is 64-bit x86 from before its vDSO.
fn before_vdso(case: &Case<'_>) -> bool {
    let machine = case.machine;
    let none = |m: &Machine| m.arch.value == Arch::X86_64 && !Feature::Vdso64.of(&m.kernel.value);
    !machine.arch.is_assumed()
        && machine.arch.value == Arch::X86_64
        && !machine.width_open
        && open::ask_over(machine, &[OpenInput::KernelVersion], none).same == Some(true)
}

/// Whether the log shows that the watchdog demoted the TSC.
fn demoted(case: &Case<'_>) -> bool {
    case.log().is_some_and(tsc_demoted)
}

/// The cause as a clause of a few words; the details follow after it.
fn lead(cause: &Cause) -> String {
    match cause.id.clause() {
        Some(clause) => hedged(clause, cause),
        None => lower(&cause.summary),
    }
}

/// The same, with details of the case: the watchdog finds that the TSC differs from its reference, or that the TSCs of
/// two CPUs differ.
fn lead_in(case: &Case<'_>, cause: &Cause) -> String {
    if cause.id == CauseId::TscSkew && case.cpus_are_apart() {
        hedged("the watchdog found that the TSCs of the CPUs differ", cause)
    } else {
        lead(cause)
    }
}

fn hedged(clause: &str, cause: &Cause) -> String {
    match cause.confidence {
        Confidence::High => clause.to_owned(),
        Confidence::Medium => format!("{clause} (likely)"),
        Confidence::Low => format!("{clause} (possibly)"),
    }
}

fn main_cause(causes: &[Cause]) -> Option<&Cause> {
    causes.first()
}

/// A duration as text.
fn ns_text(ns: f64) -> String {
    if ns < 1000.0 { format!("{ns:.0} ns") } else { format!("{:.1} us", ns / 1000.0) }
}

/// A sentence as a clause: no full stop; the first letter is unchanged, since most are proper names.
fn lower(text: &str) -> String {
    text.trim_end_matches('.').to_owned()
}

/// `a`, `a and b`, `a, b and c`.
fn join(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// Makes the first letter of a sentence a capital.
fn capital(text: &str) -> String {
    // Names of clocksources are written as the kernel writes them.
    if crate::names::find(text).is_some() {
        return text.to_owned();
    }
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
