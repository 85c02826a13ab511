//! `why`: the diagnosis.

use crate::args::{Common, Why};
use crate::exit::Code;
use crate::gather::{self, From};
use crate::render::{self, html::Made};
use anyhow::{Result, bail};
use clocksmith_diagnose::{Assessment, Verdict};
use clocksmith_measure::light;
use std::path::Path;
use std::time::SystemTime;

pub(crate) fn run(common: &Common, why: &Why) -> Result<Code> {
    let from = From {
        root: common.root.as_deref(),
        bundle: why.bundle.as_deref(),
        log: why.log.as_deref(),
    };
    let (facts, manifest) = match &why.bundle {
        Some(bundle) => gather::bundle(bundle)?,
        None => (gather::facts(from)?, None),
    };
    // Only the machine that runs this program can be measured.
    let measured =
        (from.is_live() && !why.no_measure).then(|| light(clocksmith_measure::light::BUDGET));
    let Assessment { facts, expectation, report, .. } =
        clocksmith_watch::assess::of(facts, measured.as_ref());
    let code = match report.verdict {
        Verdict::Unknown => Code::Undetermined,
        _ => Code::Done,
    };
    let (host, taken_at) = manifest.map(|m| (m.hostname, m.time)).unzip();
    let mut report = report.named(host, taken_at);
    if why.host_name.is_some() {
        report.host.clone_from(&why.host_name);
    }
    if common.verbose {
        report.facts = Some(serde_json::to_value(&facts)?);
    }
    let to_stdout = why.html.as_deref() == Some(Path::new("-"));
    if let Some(path) = &why.html {
        if to_stdout && common.json {
            bail!("--json and --html - both want standard output: give --html a file");
        }
        let made = Made { at: now(), of: of(from) };
        render::html::put(path, &render::html::why(&report, &made))?;
    }
    if to_stdout {
        return Ok(code);
    }
    if common.json {
        render::json(&report)?;
    } else {
        render::why::print(common, &report, &expectation, facts.ntp.value())?;
        if common.verbose {
            render::facts::print(&facts)?;
        }
    }
    Ok(code)
}

/// Seconds since 1970.
fn now() -> f64 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64())
}

/// What the answer is about, in words: where a file lies concerns nobody else.
fn of(from: From<'_>) -> String {
    let name = |path: &Path| path.file_name().unwrap_or(path.as_os_str()).display().to_string();
    match (from.log, from.bundle, from.root) {
        (Some(path), _, _) if path == Path::new("-") => "a kernel log".to_owned(),
        (Some(path), _, _) => format!("the kernel log {}", name(path)),
        (_, Some(path), _) => format!("the bundle {}", name(path)),
        (_, _, Some(path)) => format!("the files in {}", path.display()),
        _ => "the machine it ran on".to_owned(),
    }
}
