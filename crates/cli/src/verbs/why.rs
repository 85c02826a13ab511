//! `why`: the diagnosis.

use crate::args::policy::Policy;
use crate::args::{Common, Why};
use crate::exit::Code;
use crate::gather::{self, Bundled, From, Part};
use crate::machine_id;
use crate::prose::Subjects;
use crate::render::{self, html::Made};
use crate::ui::err;
use anyhow::{Result, bail};
use clocksmith_diagnose::report::Settle;
use clocksmith_diagnose::symptom::SectionReport;
use clocksmith_diagnose::wall::WallState;
use clocksmith_diagnose::{Assessment, CauseId, Report, Severity, Verdict, explain, policy};
use clocksmith_facts::tree::{DirTree, LiveTree};
use clocksmith_facts::utc;
use clocksmith_measure::light;
use std::path::Path;
use std::time::{Duration, SystemTime};

pub(crate) fn run(common: &Common, why: &Why) -> Result<Code> {
    let vendor = match why.policy {
        Some(Policy::List) if common.json => bail!(
            "--policy needs a vendor with --json: {}",
            policy::VENDORS.iter().map(|vendor| vendor.id).collect::<Vec<_>>().join(", ")
        ),
        Some(Policy::List) => {
            render::policy::list(common)?;
            return Ok(Code::Done);
        }
        Some(Policy::Of(vendor)) => Some(vendor),
        None => None,
    };
    let from = From::named(common.root.as_deref(), why.bundle.as_deref(), why.log.as_deref());
    let (Assessment { facts, expectation, report, .. }, manifest) = match (from.log, from.bundle) {
        (Some(log), _) => (of_text(gather::text(log)?)?, None),
        (_, Some(bundle)) => {
            let Bundled { facts, manifest, measured } = gather::bundle(bundle)?;
            (clocksmith_diagnose::assess(facts, measured), manifest)
        }
        _ => {
            let facts = gather::facts(from)?;
            // Only the machine that runs this program can be measured.
            let measured = (from.is_live() && !why.no_measure)
                .then(|| light(clocksmith_measure::light::BUDGET));
            (clocksmith_watch::assess::of(facts, measured.as_ref()), None)
        }
    };
    let code = match report.verdict {
        Verdict::Unknown => Code::Undetermined,
        _ => Code::Done,
    };
    let mut report = report.of_bundle(manifest);
    if from.is_live() {
        report.taken_at = Some(utc::text(now().as_secs()));
    }
    if why.host_name.is_some() {
        report.host.clone_from(&why.host_name);
        // Only a machine, or all the files of one, has an id; without a host name it is not read.
        if from.is_live() {
            report.machine_id = machine_id::of(&LiveTree::new());
        } else if let Some(root) = from.root {
            report.machine_id = DirTree::new(root).ok().and_then(|tree| machine_id::of(&tree));
        }
    }
    report.policy = vendor.map(|vendor| policy::answer(vendor, &facts, &report));
    if common.verbose {
        report.facts = Some(serde_json::to_value(&facts)?);
    }
    let to_stdout = why.html.as_deref() == Some(Path::new("-"));
    if let Some(path) = &why.html {
        if to_stdout && common.json {
            bail!("--json and --html - both want standard output: give --html a file");
        }
        let made = Made { at: now().as_secs_f64(), of: of(from) };
        render::html::put(path, &render::html::why(&report, &made))?;
    }
    if to_stdout {
        return Ok(code);
    }
    if common.json {
        render::json(&report)?;
    } else {
        render::why::print(common, &report, &expectation)?;
        if common.verbose {
            render::facts::print(&facts)?;
        }
    }
    if from.is_live() && gather::has_unread_input() {
        err::line(
            "clocksmith: this report is about this machine; standard input was not read. To \
             diagnose a log from standard input: clocksmith why -",
        );
    }
    Ok(code)
}

/// Returns the verdict about a text: that of the gravest of its machines, with the verdicts of all if there are
/// several. A quoted part does not replace a part that quotes it and names the clocksource in use.
fn of_text(parts: Vec<Part>) -> Result<Assessment> {
    let several = parts.len() > 1;
    let quotes = parts.iter().any(|part| part.is_older);
    let mut sections = Vec::new();
    let mut gravest: Option<(Gravity, String, Assessment)> = None;
    for part in parts {
        let is_older = part.is_older;
        let mut seen = clocksmith_watch::assess::of(part.facts, None);
        let subjects = part.about.with(seen.facts.wall.apart.value());
        add_pages(&mut seen.report, &subjects);
        let (name, lines) = part.section.map_or_else(Default::default, |section| {
            let lines = section.shown();
            (section.host, lines)
        });
        let place = match &name {
            Some(host) => format!("{host} (lines {lines})"),
            None => format!("lines {lines}"),
        };
        let (verdict, explained, wall) = gravity(&seen.report);
        let is_newer = quotes && !is_older && seen.report.clocksource.current.is_some();
        let grave = (is_newer, verdict, explained, wall);
        if several {
            sections.push(SectionReport {
                machine: name,
                lines,
                verdict: seen.report.verdict,
                headline: seen.report.headline.clone(),
            });
        }
        if gravest.as_ref().is_none_or(|(known, ..)| grave > *known) {
            gravest = Some((grave, place, seen));
        }
    }
    let Some((_, place, mut seen)) = gravest else { bail!("internal: a text without a part") };
    if several {
        seen.report.headline = format!(
            "This text shows {} machines or states of one. {place}: {}",
            sections.len(),
            seen.report.headline
        );
        seen.report.sections = sections;
        seen.report.clocksource.section = Some(place);
    }
    Ok(seen)
}

/// The text about a post on a wrong clock, before what the kernel's lines in it show.
const QUOTES: &str = "This text is about a clock that shows the wrong time. The kernel's lines in it show no \
                      fault. What is known about such clocks is below.";
/// Lines of the kernel up to which a text is not a log, and quotes one.
const QUOTED: u64 = 4;

/// Of the lines of a post at most one in this many is the kernel's.
const POST: u64 = 3;

/// Adds what the pages say of the subject of a text in prose, if the text does not show the clocksource, or quotes it in passing.
fn add_pages(report: &mut Report, about: &Subjects) {
    if about.no_claim.is_some() {
        return;
    }
    if is_answered(report)
        && let Some((page, answer)) = about.harmless
    {
        answer.clone_into(&mut report.headline);
        report.known = explain::known(&[page]);
        // The text has no symptom that the clocksource would explain.
        report.settles.clear();
        report.missing.clear();
        return;
    }
    if about.names_a_sleep && is_demoted(report) {
        report.known = explain::known(&["hpet"]);
        return;
    }
    let lines_of_kernel = report.read.as_ref().map_or(0, |read| read.kernel_lines);
    let is_post =
        report.read.as_ref().is_some_and(|read| read.unread >= POST * lines_of_kernel.max(1));
    let is_open = report.verdict == Verdict::Unknown && is_post && !is_explained(report);
    let is_fine = lines_of_kernel <= QUOTED && (report.verdict == Verdict::Ok || is_open);
    let special = about.special();
    let quoted_first = about.quoted_first();
    let words: &[&'static str] = match &report.wall_clock {
        // A post about a wrong time does not ask about a clocksource without a fault.
        _ if report.clocksource.current.is_some() && !is_fine => return,
        None if report.clocksource.current.is_some() => {
            if is_post && about.is_wrong() && !special.is_empty() {
                report.headline = format!("{QUOTES} {}", report.headline);
            }
            &special
        }
        Some(_) => about.wall.as_slice(),
        // Symptoms have their own texts, and the product they are seen on has a page.
        None if !report.symptoms.is_empty() => &about.products,
        // A log names devices and parameters in passing; a post may quote a few as an effect of its problem.
        None if lines_of_kernel > QUOTED => match (quotes(report), is_explained(report)) {
            (true, false) => &about.wall,
            // The lines say nothing of a clock, and the sentences above them do.
            (false, false) if is_restored(about) => &about.in_sentences,
            _ => &[],
        },
        None if lines_of_kernel > 0 && is_explained(report) => &about.wall,
        None => quoted_first.as_slice(),
    };
    let is_right =
        report.wall_clock.as_ref().is_some_and(|wall| wall.state == WallState::Synchronised);
    // A verdict about a clock says what the page of all clocks does, and a clock that is right now may have been wrong at its start.
    let is_new = |word: &&&str| {
        let general = **word == explain::WALL_CLOCK;
        let passes = explain::OF_STARTS.contains(*word);
        if is_right { passes } else { report.wall_clock.is_none() || !general }
    };
    report.known = explain::known(&words.iter().filter(is_new).copied().collect::<Vec<_>>());
    let of_rate = report.known.iter_mut().find(|known| known.word == explain::RATE);
    if let (Some(known), Some(rate)) = (of_rate, &about.rate) {
        known.text = format!("{rate}. {}", known.text);
    }
    let known = &report.known;
    if let Some(wall) = &mut report.wall_clock {
        let others = words.iter().filter(|word| !known.iter().any(|known| known.word == **word));
        wall.settles.extend(others.map(|word| Settle {
            fact: "what is known about such clocks".to_owned(),
            how: format!("clocksmith explain '{word}'"),
        }));
    }
}

/// Whether hpet is in use, because the watchdog demoted the TSC.
fn is_demoted(report: &Report) -> bool {
    report.clocksource.current.as_deref() == Some("hpet")
        && report.causes.iter().any(|cause| cause.id == CauseId::WatchdogAtFault)
}

/// Whether nothing in a text is evidence of a clock, so that a page may answer it.
fn is_answered(report: &Report) -> bool {
    report.verdict == Verdict::Unknown
        && report.clocksource.current.is_none()
        && report.wall_clock.is_none()
        && report.symptoms.is_empty()
        && !is_explained(report)
}

/// Whether the sentences beside a log are about a clock that stayed behind while the machine did not run.
fn is_restored(about: &Subjects) -> bool {
    about.in_sentences.contains(&CauseId::WallClockStaleAfterRestore.name())
}

/// Whether a text has more lines of other kinds than it has of the kernel.
fn quotes(report: &Report) -> bool {
    report.read.as_ref().is_some_and(|read| read.kernel_lines < read.unread)
}

/// Whether the part is newer than the others, and the result of `gravity()`: the greatest one leads.
type Gravity = (bool, u8, bool, bool);

/// Returns the order of importance to a reader: faults come before open questions, and those before healthy states;
/// explained ones before unexplained ones; among equals an unsynchronised wall clock comes first.
fn gravity(report: &Report) -> (u8, bool, bool) {
    let grave = match report.verdict {
        Verdict::Untrustworthy => 4,
        Verdict::Slow => 3,
        Verdict::Unknown if report.clocksource.current.is_some() || warns(report) => 2,
        Verdict::Ok => 1,
        Verdict::Unknown => 0,
    };
    let explained = is_explained(report);
    let wall = report.wall_clock.as_ref().map(|wall| wall.state);
    let wrong = matches!(wall, Some(WallState::Unsynchronised | WallState::Stale));
    (grave, explained, wrong)
}

/// Whether a cause says more than that evidence is missing.
fn is_explained(report: &Report) -> bool {
    let explains = |id: CauseId| id != CauseId::InsufficientEvidence && !id.concerns_wall_clock();
    report.causes.iter().any(|cause| explains(cause.id))
}

/// The counters of the CPUs differ, whichever clocksource is in use.
fn warns(report: &Report) -> bool {
    report
        .causes
        .iter()
        .any(|cause| cause.id == CauseId::TscWarp && cause.severity >= Severity::Warning)
}

/// Time since 1970.
fn now() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// Returns the source of the verdict, in words, without the directory of a file, which the page's reader does not need.
fn of(from: From<'_>) -> String {
    let name = |path: &Path| path.file_name().unwrap_or(path.as_os_str()).display().to_string();
    match (from.log, from.bundle, from.root) {
        (Some(path), _, _) if path == Path::new("-") => "a kernel log".to_owned(),
        (Some(path), _, _) => format!("the kernel log {}", name(path)),
        (_, Some(path), _) if path == Path::new("-") => "a bundle".to_owned(),
        (_, Some(path), _) => format!("the bundle {}", name(path)),
        (_, _, Some(path)) if !gather::is_this_machine(path) => {
            format!("the files in {}", path.display())
        }
        _ => "the machine it ran on".to_owned(),
    }
}
