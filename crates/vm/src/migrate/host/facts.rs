//! A host from our own facts: a bundle of `clocksmith collect`, a mirror of a machine, or the document
//! of `clocksmith why --json`.

use super::{Host, HostError, MAX_HZ, MIN_HZ, Tsc};
use crate::migrate::scale::Hardware;
use clocksmith_facts::cpu::CpuVendor;
use clocksmith_facts::log::event::Event;
use clocksmith_facts::log::rates;
use clocksmith_facts::{Arch, Facts};
use serde::Deserialize;

/// How far a frequency may be off that the kernel measured in a hurry and meant to refine, in
/// millionths: `pit_calibrate_tsc()` takes what is within 500.
const EARLY_PPM: u64 = 500;

/// And one that was recovered from a registration line, whose figures are truncated.
const RECOVERED_PPM: u64 = 5;

/// What facts tell of a machine as a host of guests.
///
/// The kernel's own figure is the one of "Refined TSC clocksource calibration", else the detected one
/// if nothing was left to refine (the flag `tsc_known_freq`). Scaling is the flag `tsc_scale` on AMD
/// and `tsc_scaling` in the line `vmx flags` on Intel (Linux 5.6).
#[must_use]
pub fn of_facts(name: impl Into<String>, facts: &Facts) -> Host {
    let mut host = Host::unknown(name);
    host.tsc = tsc(facts);
    host.hardware = match facts.cpu.model.value().map(|model| model.vendor) {
        Some(CpuVendor::Intel) => Some(Hardware::Vmx),
        Some(CpuVendor::Amd | CpuVendor::Hygon) => Some(Hardware::Svm),
        _ => None,
    };
    let flags = facts.cpu.flags.value();
    host.scaling = match host.hardware {
        Some(Hardware::Svm) => flags.map(|flags| flags.has("svm") && flags.has("tsc_scale")),
        Some(Hardware::Vmx) => match facts.cpu.vmx_flags.value() {
            Some(vmx) => Some(vmx.has("tsc_scaling")),
            // Without VMX there is nothing to scale for.
            None => flags.filter(|flags| !flags.has("vmx")).map(|_| false),
        },
        None => None,
    };
    host.invariant = flags.map(|flags| flags.has("nonstop_tsc"));
    if facts.arch.value().is_some_and(|arch: &Arch| !arch.is_x86()) {
        (host.tsc, host.scaling, host.invariant) = (None, Some(false), Some(false));
    }
    host.settle(
        "a bundle with a kernel log from boot and /proc/cpuinfo of Linux 5.6 or newer (`clocksmith \
         collect` as root), or `virsh capabilities`",
    )
}

fn tsc(facts: &Facts) -> Option<Tsc> {
    let log = facts.kernel_log()?;
    let (entry, hz) = rates::tsc_hz(log)?;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let hz = hz as u64;
    if !(MIN_HZ..=MAX_HZ).contains(&hz) {
        return None;
    }
    let known = facts.cpu.flags.value().is_some_and(|flags| flags.has("tsc_known_freq"));
    let detected = log.last(|event| match event {
        Event::Detected { khz, .. } | Event::VmwareTscKhz(khz) => Some(*khz),
        _ => None,
    });
    let (khz, ppm) = match (&entry.event, detected) {
        (Event::Refined { khz }, _) => (*khz, 0),
        // The registration line only confirms it.
        (_, Some((_, khz))) if known => (khz, 0),
        (Event::Registered { .. }, _) => (hz / 1000, RECOVERED_PPM),
        (_, Some((_, khz))) => (khz, EARLY_PPM),
        _ => (hz / 1000, EARLY_PPM),
    };
    let slack = (khz * ppm).div_ceil(1_000_000);
    Some(Tsc { khz: u32::try_from(khz).ok()?, slack_khz: u32::try_from(slack).ok()? })
}

#[derive(Deserialize)]
struct Report {
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

#[derive(Deserialize)]
struct AsHost {
    tsc: Option<Tsc>,
    scaling: Option<bool>,
    hardware: Option<String>,
    invariant: Option<bool>,
}

/// Reads `clocksmith why --json`; `None` if it is another document.
///
/// # Errors
/// It is such a document, and has not what is needed.
pub fn parse_report(name: &str, text: &str) -> Result<Option<Host>, HostError> {
    let Ok(report) = serde_json::from_str::<Report>(text) else { return Ok(None) };
    let Some(schema) = report.schema.filter(|schema| schema.starts_with("clocksmith.")) else {
        return Ok(None);
    };
    if schema != "clocksmith.why.v1" {
        let schema: String = clocksmith_facts::visible::line(&schema).chars().take(40).collect();
        return Err(HostError::Empty(format!(
            "it is a document {schema}, which tells of no host; `clocksmith why --json` does"
        )));
    }
    let Some(known) = report.machine.and_then(|machine| machine.as_host) else {
        return Err(HostError::Empty(
            "this document of `clocksmith why --json` has no machine.as_host: it is of an older \
             version. Give a bundle of `clocksmith collect` instead"
                .to_owned(),
        ));
    };
    let plausible = |tsc: &Tsc| (MIN_HZ..=MAX_HZ).contains(&(u64::from(tsc.khz) * 1000));
    if let Some(tsc) = known.tsc.filter(|tsc| !plausible(tsc)) {
        return Err(HostError::Frequency(format!("{} kHz", tsc.khz)));
    }
    let mut host = Host::unknown(name);
    host.tsc = known.tsc;
    host.scaling = known.scaling;
    host.invariant = known.invariant;
    host.hardware = match known.hardware.as_deref() {
        Some("vmx") => Some(Hardware::Vmx),
        Some("svm") => Some(Hardware::Svm),
        _ => None,
    };
    Ok(Some(host.settle("a bundle of `clocksmith collect` as root, or `virsh capabilities`")))
}
