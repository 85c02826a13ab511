//! Profiles: which function reads the time, and how much of the time that takes.

use super::{Judged, MEASURE, Weight, percent};
use crate::{Confidence, names};
use clocksmith_facts::symptom::{Profile, Role, Symptom};

/// Percent from which on a read function is more than the kernel's own reads: the watchdog reads its reference twice a
/// second, and timers read the time.
const OWN_READS: f64 = 1.0;
/// Percent from which on there is no doubt.
const CLEAR: f64 = 5.0;

pub(super) fn judge(symptom: &Symptom, profile: &Profile) -> Option<Judged> {
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
        let says =
            format!("{} of the samples are in the system call that reads a clock", percent(calls));
        let sentence = format!(
            "In this profile {} of the time is system calls that read a clock.",
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
    let share = profile.functions.first()?;
    let says = format!("{} of the samples are in {}", percent(share.percent), share.name);
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
        Role::Vdso => judged
            .proves(
                "programs read the time through the vDSO, and often",
                "whether the vDSO goes on into the kernel; kernel functions of the same reads would stand beside it",
                MEASURE,
            )
            .weighs(Weight::Nothing, format!("{spent} the vDSO serves, and the program reads often.")),
        Role::Library => judged
            .proves(
                format!("the program spends {} of its time in reading the clock", percent(share.percent)),
                "whether the kernel is entered: this profile has no kernel functions of these reads",
                MEASURE,
            )
            .weighs(Weight::PerhapsSlow, format!("{spent} whether its reads enter the kernel is not in it.")),
        _ => judged.proves(
            "the kernel reads the time, for itself or for a system call",
            "which clocksource is in use, and whether programs cause it",
            MEASURE,
        ),
    })
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
    let spent = format!(
        "In this profile {} of the time is {function}, the read of {name}.",
        percent(share)
    );
    let why = "dmesg | grep -i -e clocksource -e tsc -e 'Linux version'";
    if names::is_slow_by_nature(name) {
        return judged
            .proves(
                format!(
                    "{name} was in use, and programs read it by system call and device access: {} of the time went \
                     there",
                    percent(share)
                ),
                format!("why the kernel uses {name}"),
                why,
            )
            .weighs(if share >= CLEAR { Weight::Slow } else { Weight::PerhapsSlow }, spent);
    }
    if by_call.is_some() || profile.called_by_programs {
        return judged
            .proves(
                format!("{name} was in use, and the kernel was entered to read it: the vDSO did not serve"),
                "why: the kernel has no vDSO path for it (a 32-bit kernel before 3.15; kvm-clock and xen on a host \
                 without the stable bit), or the program does not use the vDSO",
                MEASURE,
            )
            .weighs(Weight::PerhapsSlow, format!("{} Reads enter the kernel.", spent.trim_end()));
    }
    judged.proves(
        format!("{name} was in use: the kernel itself read it"),
        "whether programs' reads stay in user space: the kernel's own reads show in a profile, too",
        MEASURE,
    )
}
