//! Package lists and downloads through apt, with a state directory of the testbed's own per set of
//! suites and architecture. The system's packages, lists and settings are not touched; its proxy
//! settings, credentials and keyrings are used.

use crate::arch::Arch;
use crate::cache::Cache;
use crate::glob;
use crate::sources::Mirror;
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The keyring that signs the archive.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// A package as the archive lists it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The checksum of its file.
    pub sha256: String,
}

/// A source package as the archive lists it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Source {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// The entries of an archive.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Entries {
    Packages,
    Sources,
}

impl Entries {
    /// The first word of a line of `sources.list`.
    fn word(self) -> &'static str {
        match self {
            Entries::Packages => "deb",
            Entries::Sources => "deb-src",
        }
    }
}

/// apt's view of some suites for one architecture.
pub struct Apt {
    directory: PathBuf,
    configuration: PathBuf,
    entries: Entries,
}

impl Apt {
    /// Opens the state for these suites, fetching the package lists if there are none yet or if
    /// `refresh` is set.
    pub fn open(
        cache: &Cache,
        suites: &[String],
        arch: Arch,
        mirror: &Mirror,
        refresh: bool,
    ) -> Result<Apt> {
        let name = format!("apt/{}-{arch}", suites.join("+"));
        Apt::open_as(cache, &name, Entries::Packages, suites, arch, mirror, refresh)
    }

    /// The same for source packages.
    pub fn open_sources(
        cache: &Cache,
        suites: &[String],
        mirror: &Mirror,
        refresh: bool,
    ) -> Result<Apt> {
        let name = format!("apt/{}-source", suites.join("+"));
        Apt::open_as(cache, &name, Entries::Sources, suites, Arch::Amd64, mirror, refresh)
    }

    fn open_as(
        cache: &Cache,
        name: &str,
        entries: Entries,
        suites: &[String],
        arch: Arch,
        mirror: &Mirror,
        refresh: bool,
    ) -> Result<Apt> {
        let directory = cache.directory(name)?;
        for sub in ["state/lists/partial", "cache/archives/partial", "etc"] {
            cache.directory(Path::new(name).join(sub))?;
        }
        let at = |file: &str| Path::new(name).join(file);
        let sources = lines(entries, suites, mirror)?;
        cache.write(at("etc/sources.list"), sources.as_bytes())?;
        cache.write(at("state/status"), b"")?;
        let settings = settings(&directory, arch, &system_acquire_settings());
        let configuration = cache.write(at("etc/apt.conf"), settings.as_bytes())?;
        let apt = Apt { directory, configuration, entries };
        let marker = apt.directory.join("lists-of");
        let have = std::fs::read_to_string(&marker).is_ok_and(|text| text == sources);
        if refresh || !have {
            apt.update()?;
            cache.write(at("lists-of"), sources.as_bytes())?;
        }
        Ok(apt)
    }

    /// The newest package whose name matches a pattern of [`glob::matches_part`].
    pub fn newest(&self, pattern: &str) -> Result<Package> {
        let prefix = pattern.split(['*', '?']).next().unwrap_or_default();
        let names = self.output("apt-cache", &["pkgnames", prefix])?;
        let names: Vec<&str> = names.lines().filter(|n| glob::matches_part(pattern, n)).collect();
        if names.is_empty() {
            bail!(
                "no package matches `{pattern}` in the lists under {}; the archive may have moved \
                 on: look for the new name and change kernels.toml",
                self.directory.display()
            );
        }
        let mut arguments = vec!["--no-all-versions", "show"];
        arguments.extend(names);
        let stanzas = self.output("apt-cache", &arguments)?;
        let mut best: Option<Package> = None;
        for package in stanzas.split("\n\n").filter_map(parse_stanza) {
            if best.as_ref().is_none_or(|best| is_newer(&package.version, &best.version)) {
                best = Some(package);
            }
        }
        best.with_context(|| format!("apt-cache shows nothing for the packages of `{pattern}`"))
    }

    /// Downloads a package into a separate directory and returns the file.
    pub fn download(&self, package: &Package) -> Result<PathBuf> {
        let directory = self.directory.join("download").join(&package.sha256);
        std::fs::create_dir_all(&directory)
            .with_context(|| format!("making {}", directory.display()))?;
        let what = format!("{}={}", package.name, package.version);
        let output = self
            .command("apt-get")
            .args(["-q", "download", &what])
            .current_dir(&directory)
            .output()
            .context("starting apt-get; the testbed needs apt")?;
        succeed(&output, &format!("downloading {what}"))?;
        let mut files = std::fs::read_dir(&directory)?.filter_map(|e| e.ok().map(|e| e.path()));
        files
            .find(|path| path.extension().is_some_and(|extension| extension == "deb"))
            .with_context(|| {
                format!("apt-get downloaded {what}, but left no file in {}", directory.display())
            })
    }

    /// The newest source package of a name.
    pub fn newest_source(&self, name: &str) -> Result<Source> {
        let stanzas = self.output("apt-cache", &["--only-source", "showsrc", name])?;
        let mut best: Option<Source> = None;
        for source in stanzas.split("\n\n").filter_map(parse_source) {
            if best.as_ref().is_none_or(|best| is_newer(&source.version, &best.version)) {
                best = Some(source);
            }
        }
        best.with_context(|| format!("the archive has no source package `{name}`"))
    }

    /// Downloads the files of a source package into `place`, and returns the one that describes the others.
    pub fn download_source(&self, source: &Source, place: &Path) -> Result<PathBuf> {
        std::fs::create_dir_all(place).with_context(|| format!("making {}", place.display()))?;
        let what = format!("{}={}", source.name, source.version);
        let output = self
            .command("apt-get")
            .args(["-q", "--only-source", "--download-only", "source", &what])
            .current_dir(place)
            .output()
            .context("starting apt-get; the testbed needs apt")?;
        succeed(&output, &format!("downloading the source {what}"))?;
        let mut files = std::fs::read_dir(place)?.filter_map(|e| e.ok().map(|e| e.path()));
        files
            .find(|path| path.extension().is_some_and(|extension| extension == "dsc"))
            .with_context(|| {
                format!("apt-get downloaded {what}, but left no .dsc in {}", place.display())
            })
    }

    /// Fetches the package lists. A part that fails (a mirror in the middle of an update) is
    /// reported and left out as long as something was fetched.
    fn update(&self) -> Result<()> {
        eprintln!("fetching package lists into {}", self.directory.display());
        let output = self
            .command("apt-get")
            .args(["-q", "update"])
            .output()
            .context("starting apt-get; the testbed needs apt")?;
        for line in String::from_utf8_lossy(&output.stderr).lines() {
            if line.starts_with("E:") {
                eprintln!("  apt-get update: {line}");
            }
        }
        if !self.has_lists()? {
            succeed(&output, "fetching package lists")?;
            bail!("fetching package lists left none in {}", self.directory.display());
        }
        Ok(())
    }

    fn has_lists(&self) -> Result<bool> {
        match self.entries {
            Entries::Packages => Ok(!self.output("apt-cache", &["pkgnames", "linux-"])?.is_empty()),
            Entries::Sources => {
                let lists = std::fs::read_dir(self.directory.join("state/lists"))?;
                let mut names = lists.filter_map(|entry| entry.ok().map(|entry| entry.file_name()));
                Ok(names.any(|name| name.to_string_lossy().contains("_Sources")))
            }
        }
    }

    fn output(&self, program: &str, arguments: &[&str]) -> Result<String> {
        let output = self
            .command(program)
            .args(arguments)
            .output()
            .with_context(|| format!("starting {program}; the testbed needs apt"))?;
        succeed(&output, &format!("{program} {}", arguments.join(" ")))?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("APT_CONFIG", &self.configuration).env("LC_ALL", "C");
        command
    }
}

fn succeed(output: &Output, what: &str) -> Result<()> {
    if output.status.success() {
        return Ok(());
    }
    bail!("{what} failed ({}): {}", output.status, String::from_utf8_lossy(&output.stderr).trim())
}

/// One line of `sources.list` for each suite that this system knows an archive of.
pub(crate) fn source_lines(suites: &[String], mirror: &Mirror) -> Result<String> {
    lines(Entries::Packages, suites, mirror)
}

fn lines(entries: Entries, suites: &[String], mirror: &Mirror) -> Result<String> {
    let word = entries.word();
    let lines: Vec<String> = suites
        .iter()
        .filter_map(|suite| mirror.root_of(suite).map(|root| (suite, root)))
        .map(|(suite, root)| format!("{word} [signed-by={KEYRING}] {root} {suite} main\n"))
        .collect();
    if lines.is_empty() {
        bail!("this system's apt configuration has no archive for the suites {suites:?}");
    }
    Ok(lines.concat())
}

/// Returns the system's settings of the access to the archive.
pub(crate) fn system_acquire_settings() -> String {
    let dump = Command::new("apt-config").arg("dump").output();
    let dump = dump.map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&dump)
        .lines()
        .filter(|line| {
            ["http", "https", "Retries", "ForceIPv4"]
                .iter()
                .any(|name| line.starts_with(&format!("Acquire::{name}")))
        })
        .map(|line| format!("{line}\n"))
        .collect()
}

/// The configuration file of one state directory.
///
/// Lists past their date are accepted: those of releases out of support are never renewed. Their
/// signatures are checked nevertheless.
fn settings(directory: &Path, arch: Arch, acquire: &str) -> String {
    let directory = directory.display();
    format!(
        "Dir::Etc::parts \"/dev/null\";\n\
         Dir::Etc::main \"/dev/null\";\n\
         Dir::Etc::sourcelist \"{directory}/etc/sources.list\";\n\
         Dir::Etc::sourceparts \"/dev/null\";\n\
         Dir::Etc::preferences \"/dev/null\";\n\
         Dir::Etc::preferencesparts \"/dev/null\";\n\
         Dir::State \"{directory}/state\";\n\
         Dir::State::status \"{directory}/state/status\";\n\
         Dir::Cache \"{directory}/cache\";\n\
         APT::Architecture \"{arch}\";\n\
         APT::Architectures {{ \"{arch}\"; }};\n\
         APT::Sandbox::User \"\";\n\
         Acquire::Languages \"none\";\n\
         Acquire::Check-Valid-Until \"false\";\n\
         {acquire}"
    )
}

fn parse_stanza(stanza: &str) -> Option<Package> {
    let field = |key: &str| {
        stanza
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix(": "))
            .map(|value| value.trim().to_string())
    };
    Some(Package { name: field("Package")?, version: field("Version")?, sha256: field("SHA256")? })
}

/// In the output of `showsrc` the name of a source is in the field `Package`.
fn parse_source(stanza: &str) -> Option<Source> {
    let field = |key: &str| {
        let value = stanza.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "))?;
        Some(value.trim().to_string())
    };
    Some(Source { name: field("Package")?, version: field("Version")? })
}

fn is_newer(version: &str, than: &str) -> bool {
    Command::new("dpkg")
        .args(["--compare-versions", version, "gt", than])
        .status()
        .is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_apt_cache_shows() {
        let package =
            parse_stanza("Package: linux\nVersion: 6.1-2\nSHA256: ab12\nSize: 3").unwrap();
        assert_eq!((package.name.as_str(), package.version.as_str()), ("linux", "6.1-2"));
        assert_eq!(parse_stanza("Package: virtual"), None);
    }

    #[test]
    fn reads_the_source_that_apt_cache_shows() {
        let stanza =
            "\nPackage: qemu\nFormat: 3.0 (quilt)\nBinary: qemu, qemu-user\nVersion: 1:7.2-7";
        let source = parse_source(stanza).unwrap();
        assert_eq!((source.name.as_str(), source.version.as_str()), ("qemu", "1:7.2-7"));
        assert_eq!(parse_source("Package: qemu"), None);
    }

    #[test]
    fn a_suite_without_an_archive_is_left_out() {
        let mirror = Mirror { archive: "http://archive.example/d".into(), security: None };
        let suites = ["a".to_string(), "a-security".to_string()];
        let lines = source_lines(&suites, &mirror).unwrap();
        assert_eq!(lines.lines().count(), 1);
        assert!(lines.ends_with("http://archive.example/d a main\n"));
        assert!(source_lines(&suites[1..], &mirror).is_err());
        assert!(super::lines(Entries::Sources, &suites, &mirror).unwrap().starts_with("deb-src ["));
    }
}
