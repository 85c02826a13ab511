//! The verdict and the rest of the diagnosis.

use crate::causes::vdso_bypassed::{is_before_any_vdso, is_before_vdso32};
use crate::causes::{self, Case};
use crate::current::{self, Current};
use crate::reconcile::Contradiction;
use crate::remedies;
use crate::report::{
    self, Clocksource, Expected, MachineReport, MissingFact, Report, Settle, VerifiedReport,
};
use crate::symptom::{self, ReadReport};
use crate::{
    Cause, CauseId, Confidence, Measured, Severity, headline, names, outlived, timeline, wall,
};
use clocksmith_facts::path::Path;
use clocksmith_facts::version::Version;
use clocksmith_facts::{Arch, Fact, Facts, Missing};
use clocksmith_kernel::feature::Feature;
use clocksmith_kernel::open::{self, Answer, OpenInput};
use clocksmith_kernel::{Expectation, Machine};
use serde::{Deserialize, Serialize};

/// The verdict in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Reading the time is fast, and no evidence contradicts that.
    Ok,
    /// Every read of the time is a system call, and usually a slow device access.
    Slow,
    /// Time may be wrong or go backwards.
    Untrustworthy,
    /// The evidence does not show it.
    Unknown,
}

impl Verdict {
    /// The verdict as text: `ok`, `slow`, `untrustworthy`, `unknown`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Slow => "slow",
            Self::Untrustworthy => "untrustworthy",
            Self::Unknown => "unknown",
        }
    }
}

/// The cost of one clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Read {
    /// The clock, such as `CLOCK_MONOTONIC`.
    pub clock: String,
    /// The path of the read.
    pub path: Path,
    /// Nanoseconds a read (median), if measured.
    #[serde(default)]
    pub ns: Option<f64>,
    /// Nanoseconds of the same read by a plain system call.
    #[serde(default)]
    pub syscall_ns: Option<f64>,
}

/// Judges a machine from completed facts, the model's expectation, the measurements, and the contradictions
/// that were settled before.
pub(crate) fn judge(
    facts: &Facts,
    machine: &Machine,
    expectation: &Expectation,
    measured: Measured,
    contradictions: Vec<Contradiction>,
) -> Report {
    let Measured { reads, counter_ns } = measured;
    let current = current::current(facts, machine);
    let served = current.name.as_deref().map(|name| served_by_vdso(machine, name));
    let mut nature = served.as_ref().and_then(|answer| answer.same.flatten());
    let mut open = served.map(|answer| answer.depends_on).unwrap_or_default();
    // A log that ends soon does not show that the clocksource stayed in use, however fast that one is.
    // On a kernel whose reads are all system calls, this does not matter.
    let whatever = nature == Some(false) && is_before_vdso32(machine);
    if current.name.is_some() && current.may_have_changed && !whatever {
        nature = None;
        open.push(OpenInput::LogEnd);
    }
    let is_told = current.passing.is_some() || current.is_explained;
    let read_from_log =
        facts.log.value().is_some_and(|log| log.extent.examples || log.mixed.is_some());
    if current.name.is_none() && !is_told && !read_from_log && is_before_any_vdso(machine) {
        nature = Some(false);
    }
    let silent = current::perhaps_silent(facts, machine, &current);
    if !silent.is_empty() {
        nature = None;
        open.extend(silent);
    }
    // If the other clocksource gives the same result, that result is reported.
    let other = current.or_other.as_deref();
    if other.is_some_and(|other| nature != served_by_vdso(machine, other).same.flatten()) {
        nature = None;
        open.push(OpenInput::LostLine);
    }
    let as_cheap = |other: &String| nature == served_by_vdso(machine, other).same.flatten();
    if current.or_listed && !facts.available_clocksources().unwrap_or_default().iter().all(as_cheap)
    {
        nature = None;
        open.push(OpenInput::Choice);
    }
    let read = reads.iter().find(|r| r.clock == "CLOCK_MONOTONIC");
    let measured = read.map(|r| r.path);
    let slow = match measured {
        Some(Path::Vdso) => Some(false),
        Some(Path::Syscall) => Some(true),
        // The measurement failed, or its read time is too long for a fast path. The name of the clocksource
        // does not prove a fast path.
        Some(Path::Unknown) if read.is_some_and(contradicts) => {
            nature.map(|vdso| !vdso).filter(|slow| *slow)
        }
        _ => nature.map(|vdso| !vdso),
    };
    let case = Case {
        facts,
        machine,
        expectation,
        current: &current,
        slow,
        vdso_bypassed: measured == Some(Path::Syscall) && nature != Some(false),
        open: &open,
        contradictions: &contradictions,
    };
    let causes = causes::find(&case);
    let (verdict, confidence) =
        verdict(&case, &causes, matches!(measured, Some(Path::Vdso | Path::Syscall)));
    let mut remedies = remedies::choose(&case, &causes, verdict);
    let headline = headline::headline(&case, &causes, verdict, &reads);
    let judged = symptom::judged(facts);
    let symptom::Weighed { verdict, confidence, headline, contradictions: among_symptoms } =
        symptom::weigh(&case, &causes, &judged, (verdict, confidence), headline);
    let mut settles = settles(&case, verdict, measured.is_some());
    let (mut verdict, mut headline, mut confidence) = (verdict, headline, confidence);
    if let Some(two) = contradictions.iter().find(|one| one.fact == outlived::FACT) {
        headline = outlived::headline(two);
        (verdict, confidence) = (Verdict::Unknown, Confidence::Low);
        settles = vec![Settle::in_use()];
    }
    if case.is_ownerless() {
        confidence = Confidence::Low;
        if verdict != Verdict::Unknown {
            settles.push(Settle::whose_lines());
        }
    }
    // The wall clock has a separate answer, which does not change the verdict.
    let wall = wall::judge(facts, case.current_name());
    let set_right = remedies::for_wall_clock(&case, &wall.causes);
    let refused = remedies.iter().position(|remedy| remedy.refused_because.is_some());
    let at = refused.unwrap_or(remedies.len());
    remedies.splice(at..at, set_right);
    // The log of a boot is not about the wall clock alone.
    let of_boot = case.log().is_some_and(|log| {
        log.extent.is_ordinary()
            && log.any(|event| matches!(event, clocksmith_facts::log::Event::Banner(_)))
    });
    let headline = headline::with_wall_clock(headline, &wall.causes, wall.report.as_ref(), of_boot);
    let next = remedies::next_steps(facts, verdict, &causes);
    let mut causes = causes;
    // Causes that the log proves are already listed with their own evidence.
    let known: Vec<CauseId> = causes.iter().map(|cause| cause.id).collect();
    causes.extend(wall.causes.into_iter().filter(|cause| !known.contains(&cause.id)));
    // The model does not know the timers of boards, and the cause explains why this one is in use; nor does it know
    // kernels without ratings, which are older than the clocksources.
    let foreign = case.outranked_counter().is_some() || case.lacks_sysfs();
    let differences = match foreign {
        true => Vec::new(),
        false => differences(facts, &current, expectation),
    };
    // An expectation that does not include the clocksource in use explains nothing, and one for an assumed architecture is
    // that of another machine.
    let expected = match foreign || case.machine.arch.is_assumed() {
        true => Expected::default(),
        false => Expected::of(expectation),
    };
    let mut missing = missing(facts, case.lacks_sysfs());
    missing.extend(sequence(current.name.as_deref(), measured));
    let available =
        facts.available_clocksources().filter(|l| !l.is_empty()).map(<[String]>::to_vec);
    Report {
        schema: report::SCHEMA.into(),
        verdict,
        confidence,
        headline,
        host: None,
        taken_at: None,
        machine_id: None,
        next,
        clocksource: Clocksource {
            current: current.name,
            available,
            source: match &current.or_other {
                Some(other) => format!(
                    "{}; or {other}, if the line about it is missing from this log",
                    current.source
                ),
                None => current.source,
            },
            section: None,
            is_from_list: current.is_from_list,
        },
        expected,
        reads,
        counter_ns,
        causes,
        remedies,
        policies: report::policies(facts),
        policy: None,
        missing,
        differences,
        settles,
        contradictions: contradictions.into_iter().chain(among_symptoms).collect(),
        machine: MachineReport::of(facts),
        verified: VerifiedReport::of(facts),
        timeline: timeline::of(facts),
        wall_clock: wall.report,
        read: ReadReport::of(facts),
        symptoms: judged.into_iter().map(|one| one.report).collect(),
        known: Vec::new(),
        sections: Vec::new(),
        facts: None,
    }
}

/// The facts that would settle an unknown verdict, or confirm one that rests on an assumption.
fn settles(case: &Case<'_>, verdict: Verdict, measured: bool) -> Vec<Settle> {
    let settle = |input: &OpenInput| Settle {
        fact: input.name().to_owned(),
        how: input.settled_by().to_owned(),
    };
    let perhaps_no_vdso = headline::served_on_32_bits(case) == Some(None) && case.tsc_is_current();
    if verdict == Verdict::Ok && perhaps_no_vdso && !measured {
        const WIDTH: [OpenInput; 2] = [OpenInput::Architecture, OpenInput::KernelVersion];
        return WIDTH.iter().filter(|input| !case.machine.knows(**input)).map(settle).collect();
    }
    if verdict != Verdict::Unknown {
        return Vec::new();
    }
    // The kernel is older than the clocksource directory of sysfs.
    let old = "dmesg | grep -i -e 'Using .* timesource' -e time.c -e 'Time: '";
    if case.current_name().is_none() && case.lacks_sysfs() {
        return vec![Settle { fact: "clocksource in use".to_owned(), how: old.to_owned() }];
    }
    if case.current_name().is_none() {
        return vec![Settle::in_use()];
    }
    case.open.iter().map(settle).collect()
}

/// Whether a measurement that shows no path contradicts a fast one: it gave no figure, or one near that
/// of a system call. A read in user space costs a small part of a system call.
fn contradicts(read: &Read) -> bool {
    match (read.ns, read.syscall_ns) {
        (Some(ns), Some(syscall)) => !(ns.is_finite() && ns > 0.0 && ns < 0.8 * syscall),
        _ => true,
    }
}

/// Whether the vDSO serves a clocksource, for every machine that the evidence allows.
fn served_by_vdso(machine: &Machine, name: &str) -> Answer<Option<bool>> {
    const INPUTS: [OpenInput; 6] = [
        OpenInput::KernelVersion,
        OpenInput::Architecture,
        OpenInput::StableBit,
        OpenInput::CounterTrapped,
        OpenInput::DeviceTreeTimer,
        OpenInput::TimeCsr,
    ];
    open::ask_over(machine, &INPUTS, |machine| vdso_by_nature(machine, name))
}

/// Whether the vDSO serves a clocksource on one kernel, according to the model.
fn vdso_by_nature(machine: &Machine, name: &str) -> Option<bool> {
    if names::is_slow_by_nature(name) {
        return Some(false);
    }
    // The whole name: any text can be in the evidence.
    if name.starts_with("tsc") && names::is_known(name) {
        let old = machine.arch.value == Arch::X86
            && may_be_before_vdso32(machine)
            && !Feature::Vdso32.of(&machine.kernel.value);
        return Some(!old && machine.cmdline.value.last("vdso") != Some("0"));
    }
    clocksmith_kernel::vdso::serves(machine, name)
}

/// Whether the evidence indicates a kernel whose 32-bit vDSO has no clock yet (before 3.15, 2014): by its version, or
/// by messages that no kernel since 4.2 prints. A text with neither is assumed to be of a later kernel.
fn may_be_before_vdso32(machine: &Machine) -> bool {
    const WORDS: Version = Version::new(4, 2, 0);
    !machine.kernel.is_assumed() || machine.kernel_bounds.1.is_some_and(|below| below <= WORDS)
}

fn verdict(case: &Case<'_>, causes: &[Cause], measured: bool) -> (Verdict, Confidence) {
    if causes.iter().any(|c| c.severity == Severity::Critical) {
        let confidence = causes
            .iter()
            .filter(|c| c.severity == Severity::Critical)
            .map(|c| c.confidence)
            .max()
            .unwrap_or(Confidence::Low);
        return (Verdict::Untrustworthy, confidence);
    }
    let base = if measured { Confidence::High } else { case.current.confidence };
    // If the version is unknown, the kernel is assumed to be newer than the vDSO clock of 32 bits.
    let base = match case.slow {
        Some(false)
            if !measured
                && case.tsc_is_current()
                && (headline::served_on_32_bits(case).is_some()
                    || headline::depends_on_library(case)) =>
        {
            base.min(Confidence::Medium)
        }
        _ => base,
    };
    match case.slow {
        Some(true) => (Verdict::Slow, base),
        Some(false) => (Verdict::Ok, base),
        None => (Verdict::Unknown, Confidence::Low),
    }
}

/// The differences between the model's expectation and the machine.
fn differences(facts: &Facts, current: &Current, expectation: &Expectation) -> Vec<String> {
    let mut out = Vec::new();
    // An assumed input would be the difference.
    if !expectation.assumed.is_empty() {
        return out;
    }
    if let (Some(real), Some(expected)) = (&current.name, &expectation.current)
        && real != expected
    {
        out.push(format!("{real} is in use; the model of this kernel expects {expected}"));
    }
    if let (Some(real), Some(expected)) = (facts.available_clocksources(), &expectation.available)
        && !real.is_empty()
        && real != expected.as_slice()
    {
        out.push(format!(
            "available is \"{}\"; the model of this kernel expects \"{}\" (distributions backport changes: what \
             the machine shows is used)",
            real.join(" "),
            expected.join(" ")
        ));
    }
    out
}

/// The sequence number of Hyper-V's reference page is in memory that the host writes, and no log shows it. With 0 the
/// host invalidates the page, and every read is a system call and an exit to the hypervisor (`hv_read_tsc_page_tsc()`
/// in `include/clocksource/hyperv_timer.h`).
fn sequence(current: Option<&str>, measured: Option<Path>) -> Option<MissingFact> {
    let open = matches!(measured, None | Some(Path::Unknown));
    (open && current == Some("hyperv_clocksource_tsc_page")).then(|| MissingFact {
        fact: "sequence number of Hyper-V's reference page".to_owned(),
        why: "no file or log contains it. While it is 0, reads go to the hypervisor; only a measurement on the machine \
              shows that (clocksmith why)"
            .to_owned(),
        how: None,
    })
}

fn missing(facts: &Facts, lacks_sysfs: bool) -> Vec<MissingFact> {
    let mut out = Vec::new();
    fn note<T>(out: &mut Vec<MissingFact>, name: &str, fact: &Fact<T>) {
        if let Fact::Missing(Missing { why, how, at }) = fact
            && *why != clocksmith_facts::Why::NotApplicable
        {
            let place = at.as_ref().map_or_else(String::new, |at| format!(" ({at})"));
            out.push(MissingFact {
                fact: name.to_owned(),
                why: format!("{why}{place}"),
                how: how.clone(),
            });
        }
    }
    if !lacks_sysfs {
        note(&mut out, "clocksource in sysfs", &facts.clocksources);
    }
    note(&mut out, "kernel log", &facts.log);
    note(&mut out, "kernel version", &facts.kernel);
    note(&mut out, "command line", &facts.cmdline);
    if facts.arch.value().is_none_or(|arch| arch.is_x86()) {
        note(&mut out, "CPUID", &facts.cpuid);
        note(&mut out, "CPU flags", &facts.cpu.flags);
        note(&mut out, "HPET table", &facts.hpet);
        note(&mut out, "PM timer", &facts.pm_timer);
        note(&mut out, "idle states", &facts.idle);
    }
    note(&mut out, "hypervisor", &facts.hypervisor);
    note(&mut out, "possible CPUs", &facts.cpu.possible);
    out
}
