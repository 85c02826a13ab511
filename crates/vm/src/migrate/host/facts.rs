//! A host from our own facts: a bundle of `clocksmith collect`, a mirror of a machine, or the document
//! of `clocksmith why --json`.

use super::{AsHost, Host, HostError};
use clocksmith_facts::Facts;
use serde::Deserialize;

/// Returns the properties of a machine as a host of guests, from its facts.
#[must_use]
pub fn of_facts(name: impl Into<String>, facts: &Facts) -> Host {
    Host::of(
        name,
        AsHost::of(facts),
        "a bundle with a kernel log from boot and /proc/cpuinfo of Linux 5.6 or newer (`clocksmith \
         collect` as root), or `virsh capabilities`",
    )
}

/// The field of the document of `why` with the machine's properties as a host.
#[derive(Deserialize)]
struct WhyDocument {
    #[serde(default)]
    schema: Option<String>,
    #[serde(default)]
    machine: Option<Machine>,
}

#[derive(Deserialize)]
struct Machine {
    #[serde(default)]
    as_host: Option<AsHost>,
}

/// Reads `clocksmith why --json`; `None` if it is another document.
///
/// # Errors
/// Returns an error if the text is such a document, but lacks a required field.
pub(crate) fn parse_report(name: &str, text: &str) -> Result<Option<Host>, HostError> {
    let report = match serde_json::from_str::<WhyDocument>(text) {
        Ok(report) => report,
        Err(_) => return with_a_wrong_value(text).map_or(Ok(None), Err),
    };
    let Some(schema) = report.schema.filter(|schema| schema.starts_with("clocksmith.")) else {
        return Ok(None);
    };
    if schema != "clocksmith.why.v1" {
        let schema: String = clocksmith_facts::visible::line(&schema).chars().take(40).collect();
        return Err(HostError::Empty(format!(
            "it is a document {schema}, which describes no host; `clocksmith why --json` does"
        )));
    }
    let Some(known) = report.machine.and_then(|machine| machine.as_host) else {
        return Err(HostError::Empty(
            "this document of `clocksmith why --json` has no machine.as_host: it is of an older \
             version. Give a bundle of `clocksmith collect` instead"
                .to_owned(),
        ));
    };
    if let Some(tsc) = known.tsc.filter(|tsc| !tsc.is_plausible()) {
        return Err(HostError::Frequency(format!("{} kHz", tsc.khz)));
    }
    let how = "a bundle of `clocksmith collect` as root, or `virsh capabilities`";
    Ok(Some(Host::of(name, known, how)))
}

/// The error for a document of `why` of which a value is not one that `why` writes; `None` for another document.
fn with_a_wrong_value(text: &str) -> Option<HostError> {
    let report: serde_json::Value = serde_json::from_str(text).ok()?;
    report.get("schema")?.as_str().filter(|schema| *schema == "clocksmith.why.v1")?;
    let khz = report.pointer("/machine/as_host/tsc/khz");
    Some(match khz.filter(|khz| khz.is_number() && khz.as_u64().is_none_or(|khz| khz > u64::from(u32::MAX))) {
        Some(khz) => HostError::Frequency(format!("{khz} kHz")),
        None => HostError::Broken(
            "this document of `clocksmith why --json` has a value in `machine.as_host` that `why` \
             does not write: it was changed. Give the unchanged document, or a bundle of \
             `clocksmith collect`"
                .to_owned(),
        ),
    })
}
