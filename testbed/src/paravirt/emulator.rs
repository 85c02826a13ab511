//! The emulator that offers paravirtual clocks: Debian 12's QEMU with a patch, built once and kept in the cache by
//! patch, source version and configuration.

use super::steps::Steps;
use crate::cache::Cache;
use crate::kernel::apt::{Apt, Source};
use crate::sources::Mirror;
use anyhow::{Context, Result, bail};
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The patch.
pub const PATCH: &str = include_str!("../../qemu/paravirt-clocks.patch");

/// The patch is for the emulator of this release.
const SUITES: &[&str] = &["bookworm", "bookworm-security"];
const SOURCE: &str = "qemu";

/// One guest architecture, and only the devices that the patch lists. It compiles a fifth of the emulator.
const CONFIGURE: &[&str] = &[
    "--target-list=x86_64-softmmu",
    "--without-default-features",
    "--without-default-devices",
    "--with-devices-x86_64=paravirt",
    "--enable-tcg",
    "--enable-fdt=system",
    "--disable-werror",
    "--disable-debug-info",
];

/// The programs that the build runs, with their Debian packages.
const TOOLS: &[(&str, &str)] = &[
    ("dpkg-source", "dpkg-dev"),
    ("patch", "patch"),
    ("cc", "gcc"),
    ("make", "make"),
    ("meson", "meson"),
    ("ninja", "ninja-build"),
    ("pkg-config", "pkg-config"),
    ("python3", "python3"),
];

/// Headers that the build includes, with their Debian packages.
const HEADERS: &[(&str, &str)] =
    &[("glib.h", "libglib2.0-dev"), ("pixman.h", "libpixman-1-dev"), ("libfdt.h", "libfdt-dev")];

/// Names an emulator that was built elsewhere with the same patch.
const VARIABLE: &str = "CLOCKSMITH_PARAVIRT_QEMU";

/// How an emulator is built, if it must be.
#[derive(Clone, Copy, Debug)]
pub struct Build {
    /// Look for a newer source.
    pub refresh: bool,
    /// Compilers that run at the same time.
    pub jobs: usize,
    /// The time for all of it.
    pub limit: Duration,
}

/// The emulator's program, if there is one already.
pub fn have(cache: &Cache) -> Option<PathBuf> {
    if let Some(given) = std::env::var_os(VARIABLE).filter(|given| !given.is_empty()) {
        return Some(given.into());
    }
    cached(cache)
}

fn cached(cache: &Cache) -> Option<PathBuf> {
    let version = std::fs::read_to_string(cache.path("ready/emulator")).ok()?;
    Some(program(cache, version.trim())).filter(|program| program.exists())
}

/// The same; without one, the error names the command that builds it.
pub fn get(cache: &Cache) -> Result<PathBuf> {
    have(cache).context(
        "no emulator with paravirtual clocks in the cache; `testbed emulator` builds it (ten minutes on two processors)",
    )
}

/// The emulator's program, built if the cache has none.
pub fn build(cache: &Cache, how: &Build) -> Result<PathBuf> {
    if !how.refresh
        && let Some(program) = have(cache)
    {
        return Ok(program);
    }
    let begin = Instant::now();
    let say = |what: &str| eprintln!("emulator: {:3} s, {what}", begin.elapsed().as_secs());
    check_tools()?;
    let mirror = Mirror::of_this_system()?;
    let suites: Vec<String> = SUITES.iter().map(ToString::to_string).collect();
    let apt = Apt::open_sources(cache, &suites, &mirror, how.refresh)?;
    let source = apt.newest_source(SOURCE)?;
    let target = program(cache, &source.version);
    if !target.exists() {
        let work = target.with_file_name("work");
        std::fs::create_dir_all(&work).with_context(|| format!("making {}", work.display()))?;
        let lock = work.with_file_name("lock");
        let lock = File::create(&lock).with_context(|| format!("making {}", lock.display()))?;
        // Another testbed may be building it; its end is waited for.
        flock(&lock, FlockOperation::LockExclusive)
            .context("waiting for another build of the emulator")?;
        if !target.exists() {
            say(&format!("{} {}", source.name, source.version));
            build_in(&work, &apt, &source, how, &say)?;
            let bytes = std::fs::read(work.join("build/qemu-system-x86_64"))
                .context("reading the emulator that was just built")?;
            install(&target, &bytes)?;
            std::fs::remove_dir_all(&work)
                .with_context(|| format!("removing {}", work.display()))?;
            say("done");
        }
    }
    cache.write("ready/emulator", source.version.as_bytes())?;
    Ok(target)
}

/// A build that was ended continues here: each part is marked by what it leaves.
fn build_in(
    work: &Path,
    apt: &Apt,
    source: &Source,
    how: &Build,
    say: &dyn Fn(&str),
) -> Result<()> {
    let steps = Steps::begin(work.with_file_name("build.log"), how.limit)?;
    let (src, build) = (work.join("src"), work.join("build"));
    if !src.exists() {
        let (files, new) = (work.join("files"), work.join("src.new"));
        let _ = std::fs::remove_dir_all(&new);
        let description = apt.download_source(source, &files)?;
        say("unpacking the source");
        // apt has checked the files against the archive's signature.
        let mut unpack = Command::new("dpkg-source");
        unpack.args(["--no-check", "-x"]).arg(&description).arg(&new);
        steps.run("unpacking the emulator's source", unpack)?;
        let patch = work.join("paravirt-clocks.patch");
        std::fs::write(&patch, PATCH).with_context(|| format!("writing {}", patch.display()))?;
        let mut apply = Command::new("patch");
        apply.args(["-p1", "--batch", "-i"]).arg(&patch).arg("-d").arg(&new);
        steps.run("patching the emulator's source", apply)?;
        std::fs::rename(&new, &src).with_context(|| format!("renaming {}", new.display()))?;
        std::fs::remove_dir_all(&files).with_context(|| format!("removing {}", files.display()))?;
    }
    if !build.join("build.ninja").exists() {
        say("configuring");
        let _ = std::fs::remove_dir_all(&build);
        std::fs::create_dir_all(&build).with_context(|| format!("making {}", build.display()))?;
        let mut configure = Command::new("../src/configure");
        configure.args(CONFIGURE).current_dir(&build);
        steps.run("configuring the emulator", configure)?;
    }
    say("compiling");
    let mut ninja = Command::new("ninja");
    ninja.arg("-C").arg(&build).args(["-j", &how.jobs.to_string(), "qemu-system-x86_64"]);
    steps.run("compiling the emulator", ninja)
}

/// Puts the program in its place so that no other testbed sees a part of it.
fn install(target: &Path, bytes: &[u8]) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let what = || format!("writing {}", target.display());
    let new = target.with_extension("new");
    std::fs::write(&new, bytes).with_context(what)?;
    std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o755)).with_context(what)?;
    std::fs::rename(&new, target).with_context(what)
}

/// Where the emulator of a source version is, or will be.
fn program(cache: &Cache, version: &str) -> PathBuf {
    cache.path(format!("emulator/{:016x}/qemu-system-x86_64", checksum(PATCH, version, CONFIGURE)))
}

fn checksum(patch: &str, version: &str, configure: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (patch, version, configure).hash(&mut hasher);
    hasher.finish()
}

fn check_tools() -> Result<()> {
    let mut packages: Vec<&str> = Vec::new();
    for (tool, package) in TOOLS {
        let mut version = Command::new(tool);
        version.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if version.status().is_err() {
            packages.push(package);
        }
    }
    let missing = HEADERS.iter().filter(|(header, _)| !has_header(header));
    packages.extend(missing.map(|(_, package)| package));
    if !packages.is_empty() {
        bail!("the emulator cannot be built here: apt-get install {}", packages.join(" "));
    }
    Ok(())
}

/// Whether a C file can include it, with the options that pkg-config knows.
fn has_header(header: &str) -> bool {
    let options = Command::new("pkg-config")
        .args(["--cflags", "glib-2.0", "pixman-1"])
        .output()
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        .unwrap_or_default();
    let mut compile = Command::new("cc");
    compile.args(options.split_whitespace()).args(["-fsyntax-only", "-include", header]);
    compile.args(["-x", "c", "/dev/null"]).stdout(Stdio::null()).stderr(Stdio::null());
    compile.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_distinguishes_patches_versions_and_configurations() {
        let one = checksum("a", "1", &["x"]);
        assert_eq!(one, checksum("a", "1", &["x"]));
        for other in
            [checksum("b", "1", &["x"]), checksum("a", "2", &["x"]), checksum("a", "1", &["y"])]
        {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn an_emulator_is_found_once_its_version_is_noted() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::at(directory.path().into());
        assert_eq!(cached(&cache), None);
        let target = program(&cache, "1:7.2");
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        cache.write("ready/emulator", b"1:7.2\n").unwrap();
        assert_eq!(cached(&cache), None);
        install(&target, b"elf").unwrap();
        assert_eq!(cached(&cache), Some(target));
    }

    #[test]
    fn patch_states_its_licence_and_the_devices_that_the_configuration_names() {
        assert!(PATCH.contains("SPDX-License-Identifier: GPL-2.0-or-later"));
        let devices = CONFIGURE.iter().find_map(|word| word.strip_prefix("--with-devices-x86_64="));
        assert!(PATCH.contains(&format!("x86_64-softmmu/{}.mak", devices.unwrap())));
    }

    #[test]
    fn a_missing_header_is_noticed() {
        assert!(has_header("stdio.h"));
        assert!(!has_header("no-such-header.h"));
    }
}
