//! Profiles: which function reads the time, and its share of the run time.

use super::{Judged, MEASURE, SHOW_CURRENT, Weight, percent};
use crate::{Confidence, names};
use clocksmith_facts::symptom::{Counted, Profile, Role, Seen, Symptom};

/// Percent from which on a read function shows more than the kernel's own reads: the watchdog reads its reference twice
/// a second, and timers read the time.
const OWN_READS: f64 = 1.0;
/// Percent from which on the profile is conclusive.
const CLEAR: f64 = 5.0;

/// What some profiles leave open, if no function shows it.
const OPEN_SOURCE: &str = "which clocksource is in use, and ";

pub(super) fn judge(symptom: &Symptom, profile: &Profile) -> Option<Judged> {
    match &profile.counted {
        Counted::Time => {}
        Counted::Events(event) => return of_events(symptom, profile, event),
        Counted::Difference => return of_two_recordings(symptom, profile),
    }
    let mut judged = of_time(symptom, profile)?;
    if judged.in_use.is_none()
        && let Some((name, function)) = profile.only_source()
    {
        judged.in_use = Some((name, Confidence::Medium));
        let also = format!("; {function}, which reads {name}, is among the functions");
        judged.report.says.push_str(&also);
        judged.report.proves = format!("{name} was in use; {}", judged.report.proves);
        if let Some(rest) = judged.report.leaves_open.strip_prefix(OPEN_SOURCE) {
            judged.report.leaves_open = rest.to_owned();
        }
    }
    Some(judged)
}

/// Judges a profile of time.
fn of_time(symptom: &Symptom, profile: &Profile) -> Option<Judged> {
    let calls = profile.greatest(|role| role == Role::SystemCall);
    let in_calls = profile.in_system_calls.filter(|share| *share >= OWN_READS);
    let by_call =
        in_calls.or_else(|| calls.map(|share| share.percent).filter(|share| *share >= 0.05));
    let read = profile
        .greatest(|role| matches!(role, Role::Reads(_)))
        .filter(|share| share.percent >= OWN_READS);
    if let Some(share) = read
        && let Role::Reads(name) = share.role
    {
        return Some(of_clocksource(symptom, profile, name, &share.name, share.percent, by_call));
    }
    if let Some(calls) = by_call {
        let says = format!(
            "{} of the samples are in the system call that reads a clock{}",
            percent(calls),
            beside(profile, |role| role == Role::Page)
        );
        let sentence = format!(
            "In this profile {} of the time is spent in system calls that read a clock.",
            percent(calls)
        );
        return Some(
            Judged::new(symptom, says)
                .proves(
                    "reads of the time enter the kernel",
                    "which clocksource is in use, and whether it or the program is the reason (a static or 32-bit \
                     program, a clock id that the vDSO does not serve)",
                    MEASURE,
                )
                .weighs(Weight::PerhapsSlow, sentence),
        );
    }
    // The kernel's functions read the time for many reasons, so any other function is better evidence.
    let share = profile
        .greatest(|role| !matches!(role, Role::Keeps | Role::Reads(_)))
        .or_else(|| profile.functions.first())?;
    let says = format!(
        "{} of the samples are in {}{}",
        percent(share.percent),
        share.name,
        if share.role == Role::Page {
            String::new()
        } else {
            beside(profile, |role| role == Role::Page)
        }
    );
    let judged = Judged::new(symptom, says);
    let spent =
        format!("In this profile {} takes {} of the time;", share.name, percent(share.percent));
    Some(match share.role {
        Role::Page => judged
            .proves(
                "the kernel reads a paravirtual clock's page (kvm-clock or Xen): for the clocksource, or for the \
                 scheduler's clock, which such guests read there as well",
                "whether programs' reads of the time are system calls",
                MEASURE,
            )
            .weighs(Weight::Nothing, format!("{spent} it also serves the scheduler's clock.")),
        Role::Counter => judged
            .proves(
                "the kernel reads the counter of Arm's generic timer: for the clocksource arch_sys_counter, for the \
                 scheduler's clock or for a delay",
                "which of them, and whether programs' reads of the time are system calls: stacks show it",
                SHOW_CURRENT,
            )
            .weighs(
                Weight::Nothing,
                format!("{spent} it also serves the scheduler's clock and delays."),
            ),
        Role::Vdso | Role::Library if share.percent < OWN_READS => judged
            .proves(
                "little: some reads of the time are in the profile, and they take almost nothing of it",
                "which clocksource is in use",
                SHOW_CURRENT,
            )
            .weighs(
                Weight::Nothing,
                format!("{spent} cheaper reads of the time would save no more than that."),
            ),
        Role::Vdso | Role::Library if profile.vdso_fell_back => judged
            .proves(
                "reads of the time enter the kernel: the stacks continue from the vDSO into a system call, so \
                 the vDSO did not serve them",
                "which clocksource is in use (one without a path in the vDSO, such as hpet or acpi_pm), or whether the clock that \
                 is read is one that the vDSO does not serve",
                SHOW_CURRENT,
            )
            .weighs(
                Weight::PerhapsSlow,
                format!("{spent} it continues into the kernel by a system call, so the vDSO does not serve the \
                         read."),
            ),
        Role::Vdso => through_vdso(judged, &spent),
        Role::Library if profile.through_vdso => through_vdso(judged, &spent),
        Role::Library => judged
            .proves(
                format!("the program spends {} of its time reading the clock", percent(share.percent)),
                "whether the reads enter the kernel: this profile shows no kernel functions for them",
                MEASURE,
            )
            .weighs(Weight::PerhapsSlow, format!("{spent} the profile does not show whether its \
                                                  reads enter the kernel.")),
        _ => judged.proves(
            "the kernel reads the time, for itself or for a system call",
            "which clocksource is in use, and whether programs cause it",
            MEASURE,
        ),
    })
}

/// A profile of events other than time, such as cache misses or allocated memory.
fn of_events(symptom: &Symptom, profile: &Profile, event: &str) -> Option<Judged> {
    let read = profile
        .greatest(|role| matches!(role, Role::Reads(_)))
        .filter(|share| share.percent >= OWN_READS);
    let share = read.or_else(|| profile.functions.first())?;
    let says =
        format!("{} of the samples of {event} are in {}", percent(share.percent), share.name);
    let mut judged = Judged::new(symptom, says);
    let spent = "what reads of the time cost";
    if let Role::Reads(name) = share.role {
        judged.in_use = Some((name, Confidence::Low));
        return Some(judged.proves(
            format!("{name} was in use. This profile counts {event}, not time"),
            spent,
            MEASURE,
        ));
    }
    Some(
        judged
            .proves(
                format!("nothing about the time that reads of the clock take: this profile counts {event}"),
                spent,
                MEASURE,
            )
            .weighs(Weight::Nothing, format!("This profile counts {event}, not time.")),
    )
}

/// Judges the output of `perf diff`: a share before and a difference, each possibly of another clocksource.
fn of_two_recordings(symptom: &Symptom, profile: &Profile) -> Option<Judged> {
    let share = profile.functions.first()?;
    let says = format!(
        "{} of the samples of the first recording are in {}",
        percent(share.percent),
        share.name
    );
    Some(
        Judged::new(symptom, says)
            .proves(
                "how the shares changed between two recordings, but not what was in use in the \
                 second one",
                "which clocksource is in use now",
                SHOW_CURRENT,
            )
            .weighs(
                Weight::Nothing,
                "This table of perf diff compares two recordings, and does not show what is in use now.",
            ),
    )
}

fn through_vdso(judged: Judged, spent: &str) -> Judged {
    judged
        .proves(
            "programs read the time through the vDSO, and often",
            "whether the vDSO continues into the kernel; the profile would then also show kernel \
             functions of the same reads",
            MEASURE,
        )
        .weighs(
            Weight::Nothing,
            format!("{spent} the vDSO serves these reads, and the program makes many."),
        )
}

/// The greatest share of another kind, appended to a sentence: `, 13 % in pvclock_clocksource_read`.
fn beside(profile: &Profile, of: impl Fn(Role) -> bool) -> String {
    profile
        .greatest(of)
        .map_or_else(String::new, |share| format!(", {} in {}", percent(share.percent), share.name))
}

/// Whether a profile shows that programs read the time: as callers in a stack, by system call, or by a function of the
/// vDSO or of a library.
fn shows_programs(profile: &Profile) -> bool {
    let shown = |share: &clocksmith_facts::symptom::Share| share.percent >= 0.05;
    profile.called_by_programs
        || profile.in_system_calls.is_some_and(|share| share >= 0.05)
        || profile
            .greatest(|role| matches!(role, Role::SystemCall | Role::Vdso | Role::Library))
            .is_some_and(shown)
}

/// Whether only profiles show reads of the time, and none of them shows a program that reads it: cheaper reads in a
/// program would not help.
pub(crate) fn programs_do_not_show(symptoms: &[Symptom]) -> bool {
    let mut profiles = symptoms.iter().filter_map(|symptom| match &symptom.seen {
        Seen::Profile(profile) => Some(profile),
        _ => None,
    });
    let reads =
        |profile: &Profile| profile.greatest(|role| matches!(role, Role::Reads(_))).is_some();
    let others = symptoms.iter().any(|symptom| !matches!(symptom.seen, Seen::Profile(_)));
    let first = profiles.next();
    !others
        && first.is_some_and(|first| {
            std::iter::once(first)
                .chain(profiles)
                .all(|profile| reads(profile) && !shows_programs(profile))
        })
}

/// The functions with which the kernel reads the time for itself, and the purpose of some of them.
fn kernel_readers(profile: &Profile) -> String {
    let kind = |name: &str| {
        let kinds = [
            ("delayacct", "delay accounting"),
            ("tick_", "the tick"),
            ("idle", "idle processors"),
            ("hrtimer", "timers"),
            ("sched", "the scheduler"),
            ("blk", "block devices"),
        ];
        kinds.into_iter().find(|(mark, _)| name.contains(mark)).map(|(_, kind)| kind)
    };
    let names = profile.kernel_readers.iter().map(|name| match kind(name) {
        Some(kind) => format!("{name} ({kind})"),
        None => name.clone(),
    });
    names.collect::<Vec<_>>().join(", ")
}

fn of_clocksource(
    symptom: &Symptom,
    profile: &Profile,
    name: &'static str,
    function: &str,
    share: f64,
    by_call: Option<f64>,
) -> Judged {
    let sure = if share >= CLEAR { Confidence::Medium } else { Confidence::Low };
    let says = format!("{} of the samples are in {function}", percent(share));
    let mut judged = Judged::new(symptom, says);
    judged.in_use = Some((name, sure));
    let mut spent = format!(
        "In this profile {} of the time is spent in {function}, which reads {name}.",
        percent(share)
    );
    // The function that programs call, if the profile counts its callees with it.
    let around = profile
        .greatest(|role| matches!(role, Role::Vdso | Role::Library))
        .filter(|around| around.percent > share);
    if let Some(around) = around {
        let part = format!(" {} takes {}.", around.name, percent(around.percent));
        spent.push_str(&part);
    }
    let why = "dmesg | grep -i -e clocksource -e tsc -e 'Linux version'";
    if names::is_slow_by_nature(name) {
        let by_programs = by_call.is_some() || shows_programs(profile);
        let readers = kernel_readers(profile);
        let spent_there = match around {
            Some(around) => format!(
                "{} of the time went there, and {} into {}",
                percent(share),
                percent(around.percent),
                around.name
            ),
            None => format!("{} of the time went there", percent(share)),
        };
        let (proves, open, spent) = match (by_programs, readers.is_empty()) {
            (true, true) => (
                format!(
                    "{name} was in use, and programs read it by system call and device access: {spent_there}"
                ),
                format!("why the kernel uses {name}"),
                spent,
            ),
            (true, false) => (
                format!(
                    "{name} was in use, and programs and the kernel itself, in {readers}, read it: {spent_there}"
                ),
                format!("why the kernel uses {name}"),
                spent,
            ),
            (false, false) => (
                format!(
                    "{name} was in use, and the kernel read it for itself, in {readers}: {spent_there}. Another \
                         clocksource helps, cheaper reads of a program do not"
                ),
                format!("why the kernel uses {name}, and whether programs also read the time"),
                format!("{} The kernel read it for itself.", spent.trim_end()),
            ),
            (false, true) => (
                format!(
                    "{name} was in use, and {} of the time went into reading it",
                    percent(share)
                ),
                format!(
                    "whether programs read it or the kernel does for itself (accounting, timers, \
                     the scheduler): stacks, or a system call that reads a clock, would show that; \
                     and why the kernel uses {name}"
                ),
                spent,
            ),
        };
        return judged
            .proves(proves, open, why)
            .weighs(if share >= CLEAR { Weight::Slow } else { Weight::PerhapsSlow }, spent);
    }
    if by_call.is_some() || profile.called_by_programs {
        return judged
            .proves(
                format!("{name} was in use, and the kernel was entered to read it: the vDSO did not \
                         serve the read"),
                "whether the kernel has no vDSO path for it (a 32-bit kernel before 3.15; kvm-clock and xen on a \
                 host without the stable bit) or the program does not use the vDSO",
                MEASURE,
            )
            .weighs(
                Weight::PerhapsSlow,
                match by_call.filter(|calls| *calls > share) {
                    Some(calls) => format!(
                        "{} System calls that read a clock take {}.",
                        spent.trim_end(),
                        percent(calls)
                    ),
                    None => format!("{} Reads enter the kernel.", spent.trim_end()),
                },
            );
    }
    let judged = judged.proves(
        format!("{name} was in use: the kernel itself read it"),
        "whether programs' reads stay in user space: the kernel's own reads also show in a profile",
        MEASURE,
    );
    // The clocksource is fast; the open question is which program reads it so often.
    match share >= CLEAR {
        true => judged.weighs(
            Weight::Nothing,
            format!("{} The kernel itself reads it so often.", spent.trim_end()),
        ),
        false => judged,
    }
}
