//! Saves the result for `why` and others: writes it under a temporary name and renames it, so that a reader never gets
//! a part of it.

use anyhow::{Context, Result, anyhow};
use clocksmith_facts::tree::LiveTree;
use clocksmith_facts::trusted::{self, Missing, Part};
use clocksmith_facts::verified::{self, Finding, VerifyResult};
use clocksmith_facts::{Facts, probe};
use clocksmith_measure::verify as measured;
use clocksmith_watch::edge::files::{Durable, Over, put};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The files for root's result: the first that can be written is used.
const ROOT: [&str; 2] = ["/var/lib/clocksmith/verify.json", "/run/clocksmith/verify.json"];

/// Where a result was saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// It is in this file.
    In(PathBuf),
    /// The earlier result of this boot is a better proof, and stays: why.
    Earlier(String),
}

/// Keeps the result, unless the one that is kept already is a better proof.
pub(crate) fn save(facts: &Facts, outcome: &measured::Outcome) -> Result<Kept> {
    let (boot_id, uptime_s) = verified::boot(&LiveTree::new()).map_err(|missing| {
        anyhow!("cannot save the result: the id of this boot is not known: {}", missing.why)
    })?;
    let result = result(facts, outcome, boot_id, uptime_s);
    if let Some(earlier) = verified::recent(&LiveTree::new())
        && !result.supersedes(&earlier)
    {
        return Ok(Kept::Earlier(outweighed(&result, &earlier)));
    }
    let content = serde_json::to_vec_pretty(&result)?;
    if let Some(path) = probe::state::file() {
        write(&path, &content, 0o700)?;
        return Ok(Kept::In(path));
    }
    let mut refused = None;
    for path in ROOT.map(PathBuf::from) {
        match write(&path, &content, 0o755) {
            Ok(()) => return Ok(Kept::In(path)),
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    Err(refused.unwrap_or_else(|| anyhow!("cannot save the result: there is no place for it")))
}

/// Why an earlier result stays.
fn outweighed(result: &VerifyResult, earlier: &VerifyResult) -> String {
    let ago = format!("the one of {} min ago", earlier.age_s / 60);
    if !result.covers(&earlier.cpus) {
        return format!(
            "{ago} tested more CPUs ({}, this one {}) and is kept",
            earlier.scope(),
            result.scope()
        );
    }
    if earlier.has_fault() {
        return format!(
            "{ago} found a fault and is kept; a certain result on all CPUs replaces it"
        );
    }
    format!("{ago} is more certain and is kept")
}

fn result(
    facts: &Facts,
    outcome: &measured::Outcome,
    boot_id: String,
    uptime_s: u64,
) -> VerifyResult {
    let model = facts.cpu.model.value().map(|model| model.name.clone());
    let hypervisor = facts.hypervisor.value().and_then(Option::as_ref).map(|h| h.kind.name());
    let parts: Vec<String> =
        model.into_iter().chain(hypervisor.map(str::to_owned)).filter(|p| !p.is_empty()).collect();
    VerifyResult {
        schema: verified::SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        boot_id,
        uptime_s,
        time_s: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()),
        kernel: facts.kernel.value().map(|kernel| kernel.release.clone()),
        machine: (!parts.is_empty()).then(|| parts.join(", ")),
        clocksource: facts.current_clocksource().value().map(|name| (*name).to_owned()),
        cpus: outcome.method.cpus.clone(),
        machine_cpus: outcome.method.machine_cpus.clone(),
        verdict: outcome.verdict,
        confidence: outcome.confidence,
        counter: outcome.counter,
        clocks: outcome.clocks,
        detectable_offset_ns: outcome.detectable.offset_ns,
        detectable_rate_ppm: outcome.detectable.rate_ppm,
        detectable_jump_ns: outcome.detectable.jump_ns,
        findings: outcome
            .findings
            .iter()
            .map(|finding| Finding {
                id: finding.id.name().to_owned(),
                fault: finding.weight != measured::Weight::Note,
                summary: finding.summary.clone(),
            })
            .collect(),
        age_s: 0,
    }
}

fn write(path: &Path, content: &[u8], mode: u32) -> Result<()> {
    let failed = || {
        format!("cannot save the result in {} (--no-save measures without saving)", path.display())
    };
    let dir = path.parent().with_context(failed)?;
    let name = path.file_name().with_context(failed)?;
    // A result in a place that another user could change would not be read either.
    let dir = trusted::open_directory(dir, Missing::Make(mode), Part::Home).with_context(failed)?;
    put(dir, name, content, 0o644, Durable::Yes, Over::Former).with_context(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_replaces_the_one_before_and_leaves_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b/verify.json");
        write(&path, b"one", 0o700).unwrap();
        write(&path, b"two", 0o700).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        // A file where a directory should be.
        let error = write(&path.join("c/verify.json"), b"x", 0o700).unwrap_err();
        assert!(format!("{error:#}").contains("--no-save"), "{error:#}");
        // A directory in which others could replace it.
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(dir.path().join("a"), mode).unwrap();
        let error = format!("{:#}", write(&path, b"three", 0o700).unwrap_err());
        assert!(error.contains("/a (owner") && error.contains("mode 0777"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
    }
}
