//! The guest's static program. It is C, because it must be built for six architectures with
//! nothing but a compiler from the distribution; without one for the guest's architecture the
//! guest runs without it, and the record lacks CPUID and the paths of clock reads.

use crate::arch::Arch;
use crate::cache::Cache;
use anyhow::{Context, Result};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::process::Command;

const SOURCE: &str = include_str!("../../guest/probe.c");

/// The probe for an architecture, built if the cache has none; `None` without a compiler.
pub fn for_arch(cache: &Cache, arch: Arch) -> Result<Option<Vec<u8>>> {
    let mut hasher = DefaultHasher::new();
    SOURCE.hash(&mut hasher);
    let place = format!("probe/{:016x}-{arch}", hasher.finish());
    let built = cache.path(&place);
    if let Ok(bytes) = std::fs::read(&built) {
        return Ok(Some(bytes));
    }
    let directory = tempfile::tempdir().context("making a directory to build the probe in")?;
    let source = directory.path().join("probe.c");
    std::fs::write(&source, SOURCE).context("writing the probe's source")?;
    let target = directory.path().join("probe");
    if !compile(arch, &source, &target) {
        eprintln!(
            "no static probe for {arch}: none of {:?} works; without it records lack CPUID and \
             the paths of clock reads (install a compiler with its static C library)",
            arch.compilers()
        );
        return Ok(None);
    }
    let bytes = std::fs::read(&target).context("reading the probe that was just built")?;
    cache.write(&place, &bytes)?;
    Ok(Some(bytes))
}

fn compile(arch: Arch, source: &PathBuf, target: &PathBuf) -> bool {
    arch.compilers().iter().filter(|name| usable(name, arch)).any(|compiler| {
        Command::new(compiler)
            .args(["-static", "-O2", "-s", "-o"])
            .arg(target)
            .arg(source)
            .output()
            .is_ok_and(|output| output.status.success())
    })
}

/// The plain `cc` is right only on a machine of that architecture.
fn usable(compiler: &str, arch: Arch) -> bool {
    compiler != "cc" || (arch == Arch::Amd64 && cfg!(target_arch = "x86_64"))
}
