//! Symptoms as evidence: what the output of a profiler, a trace, a benchmark or a server proves, what it cannot prove,
//! and one command that settles it on that machine.
//!
//! A symptom ranks below sysfs and messages of the kernel, and above inferences. It names the clocksource in use
//! only if a profile shows the read function of that clocksource; it makes reads slow only if nothing else explains it.

mod backwards;
mod calls;
mod cost;
mod late;
mod profile;
mod warning;

use crate::causes::Case;
use crate::current::{self, Current};
use crate::headline::{before_nothing, reading_is};
use crate::reconcile::Contradiction;
use crate::{Cause, CauseId, Confidence, Evidence, Severity, Verdict, names};
use clocksmith_facts::Facts;
use clocksmith_facts::symptom::{Seen, Symptom};
use serde::{Deserialize, Serialize};

/// A symptom in a pasted text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SymptomReport {
    /// The program that printed it.
    pub tool: String,
    /// File and line of the symptom.
    pub source: String,
    /// The symptom as the text shows it.
    pub says: String,
    /// What the symptom proves.
    pub proves: String,
    /// What it cannot prove.
    #[serde(default)]
    pub leaves_open: String,
    /// A command that settles it, on the machine of the text.
    #[serde(default)]
    pub settled_by: String,
}

/// What was recognised in a pasted text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReadReport {
    /// Lines that the kernel printed.
    pub kernel_lines: u64,
    /// The kinds of other text in it.
    #[serde(default)]
    pub kinds: Vec<String>,
    /// Lines that were not recognised.
    #[serde(default)]
    pub unread: u64,
    /// Whether sentences of a writer are among them.
    #[serde(skip)]
    pub has_prose: bool,
}

impl ReadReport {
    pub(crate) fn of(facts: &Facts) -> Option<Self> {
        let read = facts.recognised.as_ref()?;
        Some(Self {
            kernel_lines: read.kernel_lines,
            kinds: read.kinds.iter().map(|kind| (*kind).to_owned()).collect(),
            unread: read.unread,
            has_prose: read.prose > 0,
        })
    }

    /// Whether a report names what was read: a log without any other text does not need it.
    #[must_use]
    pub fn is_told(&self) -> bool {
        !self.kinds.is_empty() || self.has_prose
    }

    /// The summary in one line: `12 kernel lines, perf report, uname -a; 14 lines not recognised`.
    #[must_use]
    pub fn text(&self) -> String {
        let lines = |count: u64, what: &str| {
            (count > 0).then(|| format!("{count} {what}line{}", if count == 1 { "" } else { "s" }))
        };
        let read: Vec<String> = lines(self.kernel_lines, "kernel ")
            .into_iter()
            .chain(self.kinds.iter().cloned())
            .collect();
        let read = if read.is_empty() { "nothing".to_owned() } else { read.join(", ") };
        match lines(self.unread, "") {
            Some(unread) => format!("{read}; {unread} not recognised"),
            None => read,
        }
    }
}

/// One machine of a text that shows several, or one state of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SectionReport {
    /// The host name in its prompts, or the machine's name in its kernel log.
    #[serde(default)]
    pub machine: Option<String>,
    /// The lines of the machine: `12-40, 51-60`.
    pub lines: String,
    /// The verdict in one word.
    pub verdict: Verdict,
    /// The diagnosis in one sentence.
    pub headline: String,
}

/// The evidence of a symptom for the question whether reads are fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    /// The symptom is not evidence for it.
    Nothing,
    /// Reads are fast.
    Fast,
    /// Reads are slow, or another part of this program is, or the slowness was temporary.
    PerhapsSlow,
    /// Reads are slow.
    Slow,
}

/// The judgement of a symptom.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    pub(crate) report: SymptomReport,
    pub(crate) weight: Weight,
    /// The clocksource that the symptom shows in use, and the confidence in it.
    pub(crate) in_use: Option<(&'static str, Confidence)>,
    /// The clocksource under which the symptom was recorded, according to the text.
    under: Option<String>,
    /// Whether a later command wrote another clocksource to current_clocksource: the symptom is older than the write.
    before_write: bool,
    /// System calls that a trace counted: of two traces the one with more calls leads.
    calls: u64,
    /// The symptom in one sentence for the headline.
    sentence: String,
}

/// Shows the clocksource in use, on the machine in question.
const SHOW_CURRENT: &str = "cat /sys/devices/system/clocksource/clocksource0/current_clocksource";
/// Measures the read cost on the machine in question.
const MEASURE: &str = "clocksmith why";

/// Judges the symptoms of a text.
pub(crate) fn judged(facts: &Facts) -> Vec<Judged> {
    let mut out: Vec<Judged> = facts.symptoms.iter().filter_map(|one| judge(one, facts)).collect();
    for one in &mut out {
        one.before_write = is_before_write(facts, one);
    }
    out.extend(invariant_tsc(facts));
    out
}

/// Whether a command after a symptom writes a clocksource other than the one that the symptom shows
/// or was recorded under.
fn is_before_write(facts: &Facts, one: &Judged) -> bool {
    let line = one.report.source.rsplit_once(':').and_then(|(_, line)| line.parse().ok());
    let written = facts.kernel_log().zip(line).and_then(|(log, line)| log.written_behind(line));
    let of = one.in_use.map(|(name, _)| name).or(one.under.as_deref());
    written.is_some_and(|(_, name)| of != Some(name))
}

fn judge(symptom: &Symptom, facts: &Facts) -> Option<Judged> {
    match &symptom.seen {
        Seen::Profile(profile) => profile::judge(symptom, profile),
        Seen::Calls(calls) => Some(calls::judge(symptom, calls, facts)),
        Seen::Cost(cost) => cost::judge(symptom, cost, facts),
        Seen::Backwards => Some(backwards::judge(symptom)),
        Seen::Warning(warning) => Some(warning::judge(symptom, warning)),
        Seen::Domain => Some(Judged::new(symptom, "the description of a virtual machine").proves(
            "which clocks this virtual machine is given: `clocksmith vm lint` reads it",
            "what its guest uses",
            "clocksmith vm lint FILE.xml",
        )),
    }
}

impl Judged {
    fn new(symptom: &Symptom, says: impl Into<String>) -> Self {
        let says: String = says.into();
        Self {
            report: SymptomReport {
                tool: symptom.tool.to_owned(),
                source: symptom.source.0.clone(),
                says,
                proves: String::new(),
                leaves_open: String::new(),
                settled_by: String::new(),
            },
            weight: Weight::Nothing,
            in_use: None,
            under: symptom.under.clone(),
            before_write: false,
            calls: 0,
            sentence: String::new(),
        }
    }

    fn proves(
        mut self,
        proves: impl Into<String>,
        open: impl Into<String>,
        settled: impl Into<String>,
    ) -> Self {
        self.report.proves = proves.into();
        self.report.leaves_open = open.into();
        self.report.settled_by = settled.into();
        self
    }

    fn weighs(mut self, weight: Weight, sentence: impl Into<String>) -> Self {
        self.weight = weight;
        self.sentence = sentence.into();
        self
    }
}

pub(crate) use profile::programs_do_not_show;

/// The clocksource that a profile shows in use.
pub(crate) fn in_use(facts: &Facts) -> Option<Current> {
    let now = judged(facts).into_iter().filter(|one| !one.before_write);
    let found = now.filter_map(|one| Some((one.in_use?, one.report.source)));
    let mut found: Vec<_> = found.collect();
    found.sort_by_key(|((_, confidence), _)| std::cmp::Reverse(*confidence));
    let ((name, confidence), source) = found.first()?.clone();
    // Two profiles with different clocksources name none.
    if found.iter().any(|((other, _), _)| *other != name) {
        return None;
    }
    Some(current::known(name.to_owned(), confidence, source))
}

/// The answer after the symptoms.
pub(crate) struct Weighed {
    pub(crate) verdict: Verdict,
    pub(crate) confidence: Confidence,
    pub(crate) headline: String,
    pub(crate) contradictions: Vec<Contradiction>,
}

/// Weighs the symptoms against the answer that the other evidence gives.
pub(crate) fn weigh(
    case: &Case<'_>,
    causes: &[Cause],
    judged: &[Judged],
    (verdict, confidence): (Verdict, Confidence),
    headline: String,
) -> Weighed {
    let mut out = Weighed { verdict, confidence, headline, contradictions: Vec::new() };
    let current = case.current_name();
    // A symptom recorded under another clocksource shows nothing about this one.
    let fits = |one: &&Judged| {
        let shown = one.in_use.map(|(name, _)| name).or(one.under.as_deref());
        let holds = !one.before_write || current.is_some() && shown == current;
        let same = one.under.is_none() || current.is_none() || one.under.as_deref() == current;
        holds && same
    };
    let telling = judged.iter().filter(fits).filter(|one| !one.sentence.is_empty());
    // Of equal symptoms the first one leads, of traces the one with the most calls.
    let Some(first) = telling.clone().rev().max_by_key(|one| one.weight) else { return out };
    let more = telling.rev().filter(|one| one.weight == first.weight && one.calls > first.calls);
    let main =
        if first.calls > 0 { more.max_by_key(|one| one.calls).unwrap_or(first) } else { first };
    if let (Some(name), Some((shown, _))) = (current, main.in_use)
        && name != shown
        && verdict != Verdict::Untrustworthy
    {
        out.contradictions.push(Contradiction {
            fact: "clocksource in use".to_owned(),
            stronger: Evidence::new(case.current.source.clone(), format!("current: {name}")),
            weaker: Evidence::new(main.report.source.clone(), main.report.says.clone()),
        });
        (out.verdict, out.confidence) = (Verdict::Unknown, Confidence::Low);
        out.headline = format!(
            "This text contradicts itself: {name} is in use according to {}, and {} according to \
             {}. They are from two machines or from two times.",
            case.current.source, shown, main.report.source
        );
        return out;
    }
    let fast_elsewhere = judged.iter().filter(fits).any(|one| one.weight == Weight::Fast);
    match (verdict, main.weight) {
        // Another clocksource would not help, and the program still spends the time.
        (Verdict::Ok, Weight::Nothing) if main.in_use.is_some() => {
            let fine = before_nothing(&out.headline).unwrap_or(&out.headline).trim_end();
            out.headline = format!("{fine} {}", main.sentence);
        }
        (Verdict::Untrustworthy, _) | (_, Weight::Nothing) if verdict != Verdict::Unknown => {}
        (Verdict::Slow, Weight::Fast) => {
            (out.verdict, out.confidence) = (Verdict::Unknown, Confidence::Low);
            out.headline = format!(
                "{} {} is always slow, so they are from two machines or from two times.",
                main.sentence,
                current.unwrap_or("The clocksource in use")
            );
        }
        (Verdict::Slow, _) => {
            out.headline = format!("{} {}", out.headline.trim_end(), main.sentence);
        }
        // The kernel has no vDSO path, and the answer already states it.
        (Verdict::Ok, Weight::PerhapsSlow) if main.in_use.is_some() && bypassed(causes) => {
            out.headline = format!("{} {}", out.headline.trim_end(), main.sentence);
        }
        (Verdict::Ok, Weight::Slow | Weight::PerhapsSlow) if !fast_elsewhere => {
            (out.verdict, out.confidence) = (Verdict::Unknown, Confidence::Low);
            out.headline = format!(
                "{} Yet {} is in use, whose reads can stay in user space.",
                main.sentence,
                current.unwrap_or("a clocksource")
            );
        }
        (Verdict::Ok, Weight::Fast) => {
            let calm =
                causes.iter().all(|cause| cause.severity < Severity::Warning) && !bypassed(causes);
            out.headline = match current.filter(|_| calm) {
                Some(name) => {
                    let fast = reading_is("fast", case);
                    format!("{fast}: the clocksource is {name}. {}", main.sentence)
                }
                None => format!("{} {}", out.headline.trim_end(), main.sentence),
            };
        }
        (Verdict::Unknown, weight) => unknown(case, main, weight, fast_elsewhere, &mut out),
        _ => {}
    }
    out
}

/// Whether a cause shows that the vDSO does not serve the reads.
fn bypassed(causes: &[Cause]) -> bool {
    causes.iter().any(|cause| cause.id == CauseId::VdsoBypassed)
}

/// The answer if the other evidence leaves it open.
fn unknown(
    case: &Case<'_>,
    main: &Judged,
    weight: Weight,
    fast_elsewhere: bool,
    out: &mut Weighed,
) {
    let named = case.current_name();
    let tail = match named {
        Some(name) => format!(" The clocksource in use is {name}."),
        None if case.current.passing.is_some() => return,
        None => match main.under.as_deref() {
            Some(under) if main.sentence.contains("measured") => format!(
                " According to this text, {under} was chosen for the measurement; it does not show which \
                 clocksource is in use now."
            ),
            _ => " This text does not show which clocksource is in use.".to_owned(),
        },
    };
    let slow_by_nature = named.is_some_and(names::is_slow_by_nature);
    match weight {
        Weight::Slow if !fast_elsewhere => {
            (out.verdict, out.confidence) = (Verdict::Slow, Confidence::Medium);
            out.headline = format!("{}. {}{tail}", reading_is("slow", case), main.sentence);
        }
        Weight::Fast if !slow_by_nature && case.current.passing.is_none() => {
            (out.verdict, out.confidence) = (Verdict::Ok, Confidence::Medium);
            out.headline = format!("{}. {}", reading_is("fast", case), main.sentence);
        }
        // The headline already states what is open about a known clocksource.
        Weight::Nothing if named.is_some() => {}
        Weight::Slow | Weight::PerhapsSlow if fast_elsewhere => {
            out.headline = format!(
                "{}{tail} Another symptom in this text shows fast reads: each is valid for its own moment or machine.",
                main.sentence
            );
        }
        _ => out.headline = format!("{}{tail}", main.sentence),
    }
}

/// Bit 8 of EDX of leaf 0x80000007, if the text shows it.
fn invariant_tsc(facts: &Facts) -> Option<Judged> {
    let (yes, source) = (facts.invariant_tsc.value()?, facts.invariant_tsc.source()?);
    let symptom =
        Symptom { source: source.clone(), tool: "cpuid", under: None, seen: Seen::Domain };
    let judged = Judged::new(
        &symptom,
        format!(
            "CPUID 0x80000007, EDX bit 8 (TscInvariant): {}",
            if *yes { "set" } else { "clear" }
        ),
    );
    Some(if *yes {
        judged.proves(
            "this CPU shows an invariant TSC, so kvm-clock ranks itself below the TSC, and deep idle states do not stop the TSC",
            "whether the kernel kept the TSC",
            SHOW_CURRENT,
        )
    } else {
        judged.proves(
            "this CPU shows no invariant TSC: kvm-clock stays above the TSC, and an idle driver with deep states marks \
             the TSC unstable. In a guest the host withholds it (QEMU: +invtsc, libvirt: feature name='invtsc')",
            "whether the host's own CPU has it",
            "grep -c nonstop_tsc /proc/cpuinfo   (on the host)",
        )
    })
}

/// A share in percent as text.
fn percent(share: f64) -> String {
    if share < 9.95 { format!("{share:.1} %") } else { format!("{share:.0} %") }
}

/// A duration as text.
fn ns(ns: f64) -> String {
    if ns < 99.95 { format!("{ns:.1} ns") } else { format!("{ns:.0} ns") }
}
