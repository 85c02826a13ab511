//! Installs a system's files from the distribution's packages, through mmdebstrap: it installs into a directory with a
//! separate apt state, in a separate mount namespace, and does not change this machine's packages.

use super::system::{Content, File, System};
use crate::kernel::apt;
use crate::sources::Mirror;
use anyhow::{Context, Result, bail};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Files that images do not need.
const LEFT_OUT: &[&str] =
    &["/usr/share/doc/*", "/usr/share/info/*", "/usr/share/locale/*", "/usr/share/man/*"];

/// Files that mmdebstrap copies or makes, and that would reveal the machine on which the image was
/// built.
const FOREIGN: &[&str] =
    &["etc/resolv.conf", "etc/apt/sources.list", "etc/apt/apt.conf.d/99mmdebstrap"];

/// Installs a system into `root`, a directory to be made. `place` is for temporary files.
pub fn install(system: System, root: &Path, place: &Path) -> Result<()> {
    let mirror = Mirror::of_this_system()?;
    let sources = apt::source_lines(&system.suites(), &mirror)?;
    let sources_file = place.join("sources.list");
    std::fs::write(&sources_file, sources)
        .with_context(|| format!("writing {}", sources_file.display()))?;
    let own = place.join("files");
    for file in system.files() {
        write(&own, &file)?;
    }
    let answers = place.join("answers");
    std::fs::write(&answers, format!("{}\n", system.answers()))
        .with_context(|| format!("writing {}", answers.display()))?;
    let mut command = Command::new("mmdebstrap");
    command
        .args(["--mode=root", "--variant=essential", "--format=directory"])
        .args(["--architectures=amd64", "--aptopt=APT::Install-Recommends \"false\""])
        .arg(format!("--include={}", system.packages().join(",")))
        .args(apt::system_acquire_settings().lines().map(|line| format!("--aptopt={line}")))
        .args(LEFT_OUT.iter().map(|path| format!("--dpkgopt=path-exclude={path}")))
        // Before the other packages, because they read it: an initial file system is made.
        .arg("--essential-hook=cp -dR \"$TESTBED_FILES/.\" \"$1/\"")
        .arg("--essential-hook=chroot \"$1\" debconf-set-selections <\"$TESTBED_ANSWERS\"")
        .env("TESTBED_FILES", &own)
        .env("TESTBED_ANSWERS", &answers)
        .env("TMPDIR", place)
        .env("LC_ALL", "C")
        .stdin(Stdio::null());
    let output = command.arg(system.release()).arg(root).arg(&sources_file).output().context(
        "starting mmdebstrap, which installs the image's system (Debian package mmdebstrap)",
    )?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = said.lines().rev().take(15).collect();
        let last: Vec<&str> = lines.into_iter().rev().collect();
        bail!(
            "installing {system} with mmdebstrap failed ({}); it needs root with the right to \
             mount, and the archive. Its last words:\n{}",
            output.status,
            last.join("\n")
        );
    }
    for name in FOREIGN {
        // Not every version makes all of them.
        let _ = std::fs::remove_file(root.join(name));
    }
    let rename = |name: &str, text: &str| {
        std::fs::write(root.join(name), text).with_context(|| format!("writing the image's {name}"))
    };
    rename("etc/hostname", "testbed\n")?;
    rename("etc/machine-id", "")
}

/// The installed packages with their versions, one per line, sorted.
pub fn packages(root: &Path) -> Result<String> {
    let status = root.join("var/lib/dpkg/status");
    let text = std::fs::read_to_string(&status)
        .with_context(|| format!("reading the image's packages from {}", status.display()))?;
    let mut lines: Vec<String> = text.split("\n\n").filter_map(package).collect();
    lines.sort();
    Ok(lines.concat())
}

fn package(stanza: &str) -> Option<String> {
    let field = |key: &str| stanza.lines().find_map(|line| line.strip_prefix(key));
    Some(format!("{} {}\n", field("Package: ")?, field("Version: ")?))
}

/// Whether this process may build at all. This is checked before anything else is done.
pub fn check_root() -> Result<()> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    bail!(
        "building a disk image needs root: it installs packages into a directory with their own \
         owners. Run `testbed disk build` as root once, with --cache DIR of this user's cache; \
         booting the image afterwards needs no root"
    )
}

fn write(directory: &Path, file: &File) -> Result<()> {
    let path = directory.join(file.path);
    let result = path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| {
        let mode = match file.content {
            Content::Link(target) => return std::os::unix::fs::symlink(target, &path),
            Content::Text(_) => 0o644,
            Content::Program(_) => 0o755,
        };
        if let Content::Text(text) | Content::Program(text) = file.content {
            std::fs::write(&path, text)?;
        }
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode))
    });
    result.with_context(|| format!("writing the image's file {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_systems_own_files_are_laid_out() {
        let directory = tempfile::tempdir().unwrap();
        for file in System::Debian12.files() {
            write(directory.path(), &file).unwrap();
        }
        let agent = directory.path().join("usr/local/lib/testbed/agent");
        assert_eq!(std::fs::metadata(agent).unwrap().permissions().mode() & 0o777, 0o755);
        let masked = directory.path().join("etc/systemd/system/fstrim.timer");
        assert_eq!(std::fs::read_link(masked).unwrap(), Path::new("/dev/null"));
    }

    #[test]
    fn packages_are_listed_with_versions() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("var/lib/dpkg")).unwrap();
        let status =
            "Package: b\nStatus: install ok installed\nVersion: 2-1\n\nPackage: a\nVersion: 1\n";
        std::fs::write(directory.path().join("var/lib/dpkg/status"), status).unwrap();
        assert_eq!(packages(directory.path()).unwrap(), "a 1\nb 2-1\n");
    }
}
