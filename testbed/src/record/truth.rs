//! The truth about one boot: the kernel's choice, and how the guest was started.

use crate::case::Boot;
use crate::case::expect::Choice;
use crate::kernel::store::Ready;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The contents of `truth.json`.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Truth {
    /// Names and versions this format.
    pub schema: String,
    /// The boot's name.
    pub id: String,
    /// The case's name.
    pub case: String,
    /// The kernel's name in the catalogue.
    pub kernel: String,
    /// The package the kernel came from, with its version.
    pub package: String,
    /// `current_clocksource`, settled.
    pub current: String,
    /// `available_clocksource`, settled, in its order.
    pub available: Vec<String>,
    /// The choice at the start of user space.
    pub early: Choice,
    /// `step current: available`, one entry per change, a step being a fifth of a second.
    pub trace: Vec<String>,
    /// For each clock, by behaviour: `vdso`, `syscall` or `no-vdso`.
    pub vdso: BTreeMap<String, String>,
    /// The kernel parameters of the case.
    pub cmdline: String,
    /// The emulator's command line.
    pub qemu: String,
    /// Seconds from the emulator's start to its end.
    pub seconds: f64,
}

impl Truth {
    /// The name and version of the format.
    pub const SCHEMA: &'static str = "clocksmith.testbed.truth.v1";

    /// Takes the truth out of a guest's frames.
    pub fn of(
        boot: &Boot,
        kernel: &Ready,
        frames: &BTreeMap<String, String>,
        qemu: String,
        seconds: f64,
    ) -> Result<Truth> {
        let frame = |name: &str| {
            frames.get(name).map(String::as_str).with_context(|| {
                format!("the guest did not say `{name}`; it said {:?}", frames.keys())
            })
        };
        let settled = parse_state(frame("settled")?.trim())?;
        let trace: Vec<String> = frame("trace")?.lines().map(String::from).collect();
        let first = trace.first().and_then(|entry| entry.split_once(' '));
        let early = parse_state(first.map(|(_, state)| state).unwrap_or_default())?;
        Ok(Truth {
            schema: Self::SCHEMA.into(),
            id: boot.id.clone(),
            case: boot.case.clone(),
            kernel: boot.kernel.clone(),
            package: format!("{} {}", kernel.package.name, kernel.package.version),
            current: settled.current,
            available: settled.available,
            early,
            trace,
            vdso: frames.get("vdso").map(|text| parse_vdso(text)).unwrap_or_default(),
            cmdline: boot.cmdline.clone(),
            qemu,
            seconds,
        })
    }

    /// The settled choice.
    pub fn choice(&self) -> Choice {
        Choice { current: self.current.clone(), available: self.available.clone() }
    }

    /// Reads a record's truth.
    pub fn load(directory: &Path) -> Result<Truth> {
        let path = directory.join("truth.json");
        let bytes = std::fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
        serde_json::from_slice(&bytes).with_context(|| format!("in {}", path.display()))
    }
}

/// `current: available...`
fn parse_state(state: &str) -> Result<Choice> {
    let (current, available) = state
        .split_once(':')
        .with_context(|| format!("the guest's line `{state}` is not `current: available`"))?;
    Ok(Choice {
        current: current.trim().into(),
        available: available.split_whitespace().map(String::from).collect(),
    })
}

/// Lines of `CLOCK path=PATH ...`.
fn parse_vdso(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .filter_map(|line| {
            let (clock, rest) = line.split_once(" path=")?;
            Some((clock.to_string(), rest.split(' ').next()?.to_string()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_guest_says() {
        let choice = parse_state("hpet: hpet acpi_pm ").unwrap();
        assert_eq!(choice.to_string(), "[hpet] acpi_pm");
        assert!(parse_state("").is_err());
        let vdso = parse_vdso("MONOTONIC path=vdso vdso_ns=3\nTAI path=syscall vdso_ns=9\n");
        assert_eq!(vdso["MONOTONIC"], "vdso");
        assert_eq!(vdso["TAI"], "syscall");
    }
}
