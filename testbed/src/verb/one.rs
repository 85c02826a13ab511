//! One boot of a run, from kernel to verdict.

use crate::arch::Arch;
use crate::case::Boot;
use crate::initramfs::{self, Purpose, elf};
use crate::inside;
use crate::kernel::store::Ready;
use crate::oracle::{Oracle, Verdict};
use crate::qemu::arguments::{Accel, Console, Plan};
use crate::qemu::process::Guest;
use crate::record::{self, truth::Truth};
use crate::report::{self, Judgement, Row};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// A kernel with the files that its guests need.
pub struct Prepared {
    /// The kernel.
    pub kernel: Ready,
    /// Busybox, as bytes.
    pub busybox: Vec<u8>,
    /// The static probe, where it could be built.
    pub probe: Option<Vec<u8>>,
}

/// The program to run in guests.
pub struct GuestProgram {
    bytes: Vec<u8>,
    outside: Oracle,
}

impl GuestProgram {
    /// A static program for x86-64 guests.
    pub fn at(path: &Path) -> Result<GuestProgram> {
        let bytes = std::fs::read(path)
            .with_context(|| format!("reading the guests' program {}", path.display()))?;
        elf::check_static(&bytes)
            .with_context(|| format!("{} cannot run in a guest", path.display()))?;
        Ok(GuestProgram { bytes, outside: Oracle::at(path)? })
    }

    fn runs_on(&self, arch: Arch) -> bool {
        arch == Arch::Amd64
    }
}

/// How often a boot is repeated that failed, or whose log requires it.
const RETRIES: u32 = 2;

/// Boots, records and judges. The record is a directory of the boot's name under `out`.
pub fn record(
    boot: &Boot,
    prepared: &Prepared,
    accel: Accel,
    oracle: Option<&Oracle>,
    guest: Option<&GuestProgram>,
    out: &Path,
) -> Result<Row> {
    let directory = out.join(&boot.id);
    if directory.exists() {
        std::fs::remove_dir_all(&directory)
            .with_context(|| format!("removing the old record {}", directory.display()))?;
    }
    std::fs::create_dir_all(&directory)
        .with_context(|| format!("making the record {}", directory.display()))?;
    let mut attempt = 0;
    let (frames, truth) = loop {
        let result = start(boot, prepared, accel, guest, &directory);
        attempt += 1;
        match result {
            Ok((frames, _)) if attempt <= RETRIES && asks_for_retry(boot, &frames) => {}
            Err(_) if attempt <= RETRIES => {}
            result => break result?,
        }
    };
    record::write(&directory, &frames)?;
    record::write_file(&directory.join("truth.json"), &serde_json::to_string_pretty(&truth)?)?;
    // Files that only a failed boot needs.
    for name in ["serial.log", "initramfs"] {
        let _ = std::fs::remove_file(directory.join(name));
    }
    let complaints = directory.join("qemu.err");
    if std::fs::metadata(&complaints).is_ok_and(|file| file.len() == 0) {
        let _ = std::fs::remove_file(complaints);
    }
    let verdict = match oracle {
        Some(oracle) => oracle.judge(&directory, &truth.choice()),
        None => Verdict::Skipped,
    };
    let expected = boot.expect.as_ref().filter(|expect| **expect != truth.choice());
    let inside = match guest {
        Some(guest) => {
            inside::judge(&directory, boot, &truth, &frames, oracle.unwrap_or(&guest.outside))?
        }
        None => None,
    };
    let judgement = Judgement { verdict, expected: expected.map(ToString::to_string), inside };
    let text = serde_json::to_string_pretty(&judgement)?;
    record::write_file(&directory.join("verdict.json"), &text)?;
    Ok(Row { truth, judgement, words: report::words(&directory) })
}

fn start(
    boot: &Boot,
    prepared: &Prepared,
    accel: Accel,
    guest: Option<&GuestProgram>,
    directory: &Path,
) -> Result<(BTreeMap<String, String>, Truth)> {
    let clocksmith = guest.filter(|guest| guest.runs_on(boot.machine.arch));
    let purpose = Purpose::Record {
        clocksmith: clocksmith.map(|guest| guest.bytes.clone()),
        run: boot.run.clone(),
    };
    let archive = initramfs::build(&prepared.busybox, prepared.probe.as_deref(), &purpose);
    let initramfs = directory.join("initramfs");
    std::fs::write(&initramfs, archive)
        .with_context(|| format!("writing {}", initramfs.display()))?;
    let image = if boot.machine.packed { &prepared.kernel.packed } else { &prepared.kernel.image };
    let plan = Plan {
        machine: &boot.machine,
        accel,
        kernel: image,
        initramfs: &initramfs,
        cmdline: &boot.cmdline,
        console: Console::Piped,
        qmp: None,
        incoming: None,
    };
    let arguments = plan.arguments();
    let begin = Instant::now();
    let guest = Guest::start(boot.machine.arch, &arguments, directory)?;
    let frames = guest.frames(Duration::from_secs(boot.deadline))?;
    let words: Vec<String> = arguments.iter().map(|word| shown(&word.to_string_lossy())).collect();
    let qemu = format!("{} {}", boot.machine.arch.qemu(), words.join(" "));
    let seconds = (begin.elapsed().as_secs_f64() * 10.0).round() / 10.0;
    let truth = Truth::of(boot, &prepared.kernel, &frames, qemu, seconds)?;
    Ok((frames, truth))
}

/// Arguments as a person would write them: paths by their last part, spaces in quotes.
fn shown(word: &str) -> String {
    let word = match word.strip_prefix('/').and_then(|rest| rest.rsplit('/').next()) {
        Some(name) if !name.is_empty() => name,
        _ => word,
    };
    if word.contains(' ') { initramfs::quote(word) } else { word.to_string() }
}

fn asks_for_retry(boot: &Boot, frames: &BTreeMap<String, String>) -> bool {
    let log = frames.get("full-dmesg").map(String::as_str).unwrap_or_default();
    boot.retry_if_log.iter().any(|text| log.contains(text.as_str()))
}
