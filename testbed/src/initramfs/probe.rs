//! The guest's static program. It is C, because it must be built for six architectures with
//! nothing but a compiler from the distribution; without one for the guest's architecture the
//! guest runs without it, and the record lacks CPUID and the paths of clock reads.

use crate::arch::Arch;
use crate::cache::Cache;
use anyhow::{Context, Result};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::process::Command;

/// Its files; those that end in `.c` are compiled.
const SOURCES: &[(&str, &str)] = &[
    ("probe.h", include_str!("../../guest/probe.h")),
    ("probe.c", include_str!("../../guest/probe.c")),
    ("reader.c", include_str!("../../guest/reader.c")),
    ("fault.c", include_str!("../../guest/fault.c")),
];

/// The probe for an architecture, built if the cache has none; `None` without a compiler.
pub fn for_arch(cache: &Cache, arch: Arch) -> Result<Option<Vec<u8>>> {
    let mut hasher = DefaultHasher::new();
    SOURCES.hash(&mut hasher);
    let place = format!("probe/{:016x}-{arch}", hasher.finish());
    let built = cache.path(&place);
    if let Ok(bytes) = std::fs::read(&built) {
        return Ok(Some(bytes));
    }
    let directory = tempfile::tempdir().context("making a directory to build the probe in")?;
    for (name, text) in SOURCES {
        std::fs::write(directory.path().join(name), text)
            .with_context(|| format!("writing the probe's source {name}"))?;
    }
    let target = directory.path().join("probe");
    if !compile(arch, directory.path(), &target) {
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

fn compile(arch: Arch, directory: &Path, target: &Path) -> bool {
    let sources = SOURCES.iter().map(|(name, _)| *name).filter(|name| name.ends_with(".c"));
    arch.compilers().iter().filter(|name| usable(name, arch)).any(|compiler| {
        Command::new(compiler)
            .current_dir(directory)
            .args(["-static", "-O2", "-s", "-pthread", "-o"])
            .arg(target)
            .args(sources.clone())
            .output()
            .is_ok_and(|output| output.status.success())
    })
}

/// The plain `cc` is right only on a machine of that architecture.
fn usable(compiler: &str, arch: Arch) -> bool {
    compiler != "cc" || (arch == Arch::Amd64 && cfg!(target_arch = "x86_64"))
}
