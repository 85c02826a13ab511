//! Causes that are somebody's choice: the command line, sysfs, a hypervisor that prefers its own
//! clock; and the case that there was nothing to choose.

use super::tsc::cmdline;
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Evidence, Severity};
use crate::names;
use clocksmith_facts::hypervisor::HypervisorKind;
use clocksmith_facts::log::event::Refusal;
use clocksmith_facts::log::{Event, KernelLog};
use clocksmith_kernel::expectation::TscState;
use clocksmith_kernel::feature::Feature;
use clocksmith_kernel::{MistakeKind, mistakes};

pub(super) fn find(case: &Case<'_>, causes: &mut Causes) {
    command_line(case, causes);
    ignored_parameters(case, causes);
    if let Some(log) = case.log() {
        refused(case, log, causes);
        switched_by_hand(case, log, causes);
    }
    written(case, causes);
    paravirtual(case, causes);
    only_choice(case, causes);
}

fn command_line(case: &Case<'_>, causes: &mut Causes) {
    let line = &case.machine.cmdline.value;
    let loss = case.loss();
    if line.has("notsc") && !case.tsc_is_current() && !causes.has(CauseId::CmdlineNotsc) {
        causes.add(
            CauseId::CmdlineNotsc,
            loss,
            Confidence::High,
            "notsc on the kernel command line",
            vec![cmdline(case, "notsc")],
        );
    }
    if line.has_value("tsc", "unstable")
        && Feature::TscUnstableParameter.of(&case.machine.kernel.value)
        && !case.tsc_is_current()
    {
        causes.add(
            CauseId::CmdlineTscUnstable,
            loss,
            Confidence::High,
            "tsc=unstable on the kernel command line disables the TSC",
            vec![cmdline(case, "tsc=unstable")],
        );
    }
    let Some(wanted) = line.clocksource_override() else { return };
    let evidence = vec![cmdline(case, &format!("clocksource={wanted}"))];
    let known = names::find(&wanted);
    let x86 = case.machine.arch.value.is_x86();
    let foreign = known.is_some_and(|n| n.x86 != x86 && n.name != "jiffies");
    if known.is_none() || foreign {
        let why =
            if foreign { "belongs to another architecture" } else { "is registered by no kernel" };
        causes.add(
            CauseId::CmdlineClocksourceUnknown,
            Severity::Warning,
            Confidence::High,
            format!(
                "the command line asks for clocksource={wanted}, which {why}: silently ignored"
            ),
            evidence,
        );
        return;
    }
    let Some(current) = case.current_name() else {
        causes.add(
            CauseId::CmdlineClocksourceOverride,
            Severity::Info,
            Confidence::Medium,
            format!(
                "the command line asks for {wanted}; whether it is in use is not in this evidence"
            ),
            evidence,
        );
        return;
    };
    if current == wanted {
        let natural = natural_choice(case);
        let harmless = natural.as_deref() == Some(current) || case.slow == Some(false);
        causes.add(
            CauseId::CmdlineClocksourceOverride,
            if harmless { Severity::Info } else { Severity::Warning },
            Confidence::High,
            match natural {
                Some(natural) if natural != wanted => format!(
                    "the command line chooses {wanted}; left alone the kernel would use {natural}"
                ),
                _ => format!("the command line chooses {wanted}"),
            },
            evidence,
        );
    } else if wanted == "tsc" && matches!(case.expectation.tsc, TscState::Unstable { .. }) {
        causes.add(
            CauseId::OverrideRefused,
            Severity::Info,
            Confidence::High,
            "the command line asks for tsc, which is unstable here: the request has no effect",
            evidence,
        );
    } else if wanted != "tsc-early" {
        causes.add(
            CauseId::CmdlineClocksourceUnknown,
            Severity::Info,
            Confidence::Medium,
            format!(
                "the command line asks for {wanted}, which this machine does not register: the request \
                 has no effect"
            ),
            evidence,
        );
    }
}

/// What the kernel would choose without the override.
fn natural_choice(case: &Case<'_>) -> Option<String> {
    let mut machine = case.machine.clone();
    machine.cmdline.value = machine.cmdline.value.without("clocksource").without("clock");
    clocksmith_kernel::predict(&machine).current
}

/// Words that look right and that the kernel silently ignores.
fn ignored_parameters(case: &Case<'_>, causes: &mut Causes) {
    let line = &case.machine.cmdline.value;
    for mistake in mistakes(line) {
        // What is ignored only; the choice itself is judged above, against this machine.
        if matches!(mistake.kind, MistakeKind::UnknownValue | MistakeKind::NoSuchParameter)
            && let Some(word) = line.words().get(mistake.word)
        {
            ignore(case, causes, &word.text(), &mistake.why);
        }
    }
    if line.has_value("tsc", "nowatchdog") && !Feature::TscNowatchdog.of(&case.machine.kernel.value)
    {
        ignore(case, causes, "tsc=nowatchdog", "has no effect: the parameter exists since 5.2");
    }
}

fn ignore(case: &Case<'_>, causes: &mut Causes, word: &str, why: &str) {
    causes.add(
        CauseId::CmdlineParameterIgnored,
        Severity::Info,
        Confidence::High,
        format!("{word} {why}"),
        vec![cmdline(case, word)],
    );
}

fn refused(case: &Case<'_>, log: &KernelLog, causes: &mut Causes) {
    for entry in log.all(|e| matches!(e, Event::Override { .. })) {
        let Event::Override { name, refusal } = &entry.event else { continue };
        let served = case.current_name() == Some(name.as_str());
        let summary = match refusal {
            Refusal::Unstable => format!(
                "a choice of {name} was refused for good: it is unstable, and nothing at run time makes \
                 it stable again"
            ),
            Refusal::NotHres => format!(
                "a choice of {name} was refused: it cannot serve high resolution timers, or was not yet \
                 verified"
            ),
            Refusal::Deferred => format!(
                "a choice of {name} is waiting: it is not valid for high resolution until the watchdog \
                 has verified it"
            ),
        };
        causes.add(
            CauseId::OverrideRefused,
            if served { Severity::Info } else { Severity::Warning },
            Confidence::High,
            summary,
            vec![Evidence::line(log, entry)],
        );
    }
}

fn rating(name: &str) -> i32 {
    names::find(name).map_or(0, |n| n.rating)
}

/// A switch to a worse clocksource, long after boot and without a demotion, was made by hand.
fn switched_by_hand(case: &Case<'_>, log: &KernelLog, causes: &mut Causes) {
    if let Some((entry, name)) = log.last(|event| match event {
        Event::WroteCurrent(name) => Some(name.clone()),
        _ => None,
    }) && case.current_name() == Some(name.as_str())
    {
        causes.add(
            CauseId::RuntimeOverride,
            case.loss(),
            Confidence::High,
            format!("{name} was written to current_clocksource by hand"),
            vec![Evidence::line(log, entry)],
        );
    }
    let switches: Vec<_> = log.all(|e| matches!(e, Event::Switched(_))).collect();
    let Some(last) = switches.last() else { return };
    let Event::Switched(to) = &last.event else { return };
    let Some(previous) = switches.len().checked_sub(2).and_then(|i| switches.get(i)) else {
        return;
    };
    let Event::Switched(from) = &previous.event else { return };
    let demoted_between = log.all(|e| {
        matches!(
            e,
            Event::TscUnstable(_)
                | Event::WatchdogMarked { .. }
                | Event::WatchdogOld { .. }
                | Event::WatchdogVerdict { .. }
                | Event::WatchdogSkewed { .. }
                | Event::FoundUnstableAfterBoot
                | Event::SchedClockUnstable
                | Event::ReadbackDelay { marks: true, .. }
        )
    });
    let demoted =
        demoted_between.into_iter().any(|e| e.line > previous.line && e.line < last.line + 12);
    let late = last.at.is_none_or(|at| at > 10.0);
    if rating(to) < rating(from) && !demoted && late && from != "tsc-early" {
        causes.add(
            CauseId::RuntimeOverride,
            if case.slow == Some(true) { Severity::Warning } else { Severity::Info },
            Confidence::Medium,
            format!(
                "the kernel switched from {from} to {to}, which is rated lower, without demoting {from}: \
                 somebody wrote {to} to current_clocksource"
            ),
            vec![Evidence::line(log, previous), Evidence::line(log, last)],
        );
    }
}

/// sysfs itself shows that the best of the list is not the one in use.
fn written(case: &Case<'_>, causes: &mut Causes) {
    let Some(available) = case.facts.available_clocksources() else { return };
    let (Some(best), Some(current)) = (available.first(), case.current_name()) else { return };
    let override_here = case.machine.cmdline.value.clocksource_override();
    let in_list = available.iter().any(|name| name == current);
    if best == current || !in_list || override_here.as_deref() == Some(current) {
        return;
    }
    let harmless = case.slow == Some(false);
    causes.add(
        CauseId::RuntimeOverride,
        if harmless { Severity::Info } else { Severity::Warning },
        Confidence::High,
        format!(
            "{current} is in use although {best} heads the list, and the command line does not ask for \
             it: somebody (a service, a tool, a person) wrote it to current_clocksource"
        ),
        vec![Evidence::new(
            case.current.source.clone(),
            format!("current {current}; available {}", available.join(" ")),
        )],
    );
}

fn paravirtual(case: &Case<'_>, causes: &mut Causes) {
    let Some(current) = case.current_name() else { return };
    let page_or_msr = current.starts_with("hyperv_clocksource");
    if !matches!(current, "kvm-clock" | "xen") && !page_or_msr {
        return;
    }
    let slow = case.slow == Some(true);
    let severity = if slow { Severity::Warning } else { Severity::Info };
    let evidence = vec![Evidence::new(case.current.source.clone(), format!("current: {current}"))];
    let listed = case
        .facts
        .available_clocksources()
        .map(|list| list.iter().any(|name| name == "tsc"))
        .or_else(|| case.log().map(tsc_registered));
    let invariant = case.machine.constant_tsc.value && case.machine.nonstop_tsc.value;
    let known = !case.machine.nonstop_tsc.is_assumed();
    let unstable = case.log().is_some_and(|log| log.any(|e| matches!(e, Event::TscUnstable(_))))
        || matches!(case.expectation.tsc, TscState::Unstable { .. } | TscState::NotPresent);
    let outranks =
        listed == Some(true) || (case.facts.available_clocksources().is_none() && !unstable);
    if outranks && !overridden(case, current) {
        causes.add(
            CauseId::ParavirtClockPreferred,
            severity,
            if listed == Some(true) { Confidence::High } else { Confidence::Medium },
            if listed == Some(true) {
                format!("{current} outranks the TSC, which is usable here too")
            } else {
                format!("{current} is rated above the TSC; whether the TSC is usable is not shown")
            },
            evidence.clone(),
        );
    }
    let kvm_rule =
        Feature::KvmClockYields.of(&case.machine.kernel.value) && !case.machine.kernel.is_assumed();
    let withheld = match current {
        "kvm-clock" if known => !invariant,
        // From 5.1 on an invariant TSC makes kvm-clock step back, so its presence is the proof.
        "kvm-clock" => kvm_rule && !overridden(case, current),
        _ => page_or_msr && matches!(case.expectation.tsc, TscState::Unstable { .. }),
    };
    if withheld {
        causes.add(
            CauseId::InvariantTscWithheld,
            severity,
            if known { Confidence::High } else { Confidence::Medium },
            format!(
                "the hypervisor exposes no invariant TSC to this guest, so {current} serves{}",
                if slow {
                    ""
                } else {
                    "; it is as good as a TSC as long as its reads stay in user space"
                }
            ),
            evidence,
        );
    }
}

fn overridden(case: &Case<'_>, current: &str) -> bool {
    case.machine.cmdline.value.clocksource_override().as_deref() == Some(current)
}

fn tsc_registered(log: &KernelLog) -> bool {
    log.any(|event| matches!(event, Event::Registered { name, .. } if name == "tsc"))
        && !log.any(|event| matches!(event, Event::TscUnstable(_)))
}

fn only_choice(case: &Case<'_>, causes: &mut Causes) {
    let Some(current) = case.current_name() else { return };
    if case.slow != Some(true) || !case.machine.arch.value.is_x86() {
        return;
    }
    // A paravirtual clock is never what is left, but what the hypervisor offers; and where the TSC is
    // registered and usable there is a choice.
    let offered =
        matches!(current, "kvm-clock" | "xen") || current.starts_with("hyperv_clocksource");
    let alone = !offered
        && match case.facts.available_clocksources() {
            Some(list) if !list.is_empty() => {
                list.iter().all(|name| name == current || name.contains("jiffies"))
            }
            _ => case.log().is_some_and(|log| {
                log.from_boot
                    && !log.any(|event| match event {
                        Event::Registered { name, .. } => {
                            name != current && !name.contains("jiffies") && !name.starts_with("tsc")
                        }
                        _ => false,
                    })
                    && log.any(|event| matches!(event, Event::Registered { .. }))
                    && !tsc_registered(log)
            }),
        };
    if alone {
        let what = match (case.in_guest(), current) {
            (true, "hpet") => "the hypervisor offers no paravirtual clock",
            (true, _) => "the hypervisor offers no HPET and no paravirtual clock",
            (false, "hpet") => "on hardware there is nothing faster behind it",
            (false, _) => "no HPET is described",
        };
        let unexplained = !causes.0.iter().any(|c| c.severity >= Severity::Warning);
        causes.add(
            CauseId::OnlyChoice,
            if unexplained { Severity::Warning } else { Severity::Info },
            Confidence::High,
            format!("without the TSC, {current} is all that is left: {what}"),
            vec![Evidence::new(case.current.source.clone(), format!("current: {current}"))],
        );
    }
    let xen_pv = case
        .facts
        .hypervisor
        .value()
        .and_then(Option::as_ref)
        .is_some_and(|h| h.kind == HypervisorKind::XenPv);
    if xen_pv && current == "xen" && !causes.has(CauseId::ParavirtClockPreferred) {
        causes.add(
            CauseId::OnlyChoice,
            Severity::Info,
            Confidence::Medium,
            "a Xen PV domain has no platform timer: xen is its clock",
            Vec::new(),
        );
    }
}
