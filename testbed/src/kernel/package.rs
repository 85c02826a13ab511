//! Taking single files out of a package, without unpacking the hundreds of megabytes of modules
//! around them.

use anyhow::{Context, Result, bail};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

/// The first file in a package whose path satisfies `wanted`.
pub fn extract(package: &Path, wanted: impl Fn(&str) -> bool) -> Result<Option<Vec<u8>>> {
    let mut child = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(package)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("starting dpkg-deb; the testbed needs dpkg")?;
    let found = child.stdout.take().map(|tar| find(tar, &wanted)).transpose();
    // The rest of the archive is not needed; dpkg-deb ends when its output is not read.
    let output = child.wait_with_output().context("waiting for dpkg-deb")?;
    let found = found.with_context(|| format!("reading the package {}", package.display()))?;
    match found.flatten() {
        Some(bytes) => Ok(Some(bytes)),
        None if output.status.success() => Ok(None),
        None => bail!(
            "dpkg-deb could not read {}: {}",
            package.display(),
            String::from_utf8_lossy(&output.stderr).trim()
        ),
    }
}

fn find(tar: impl Read, wanted: impl Fn(&str) -> bool) -> Result<Option<Vec<u8>>> {
    for entry in tar::Archive::new(tar).entries()? {
        let mut entry = entry?;
        let path = entry.path()?.to_string_lossy().into_owned();
        if entry.header().entry_type().is_file() && wanted(&path) {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes)?;
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}

/// Whether a path in a package is a kernel image: `boot/vmlinuz-*`, or `vmlinuz` beside the modules.
pub fn is_kernel_image(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let place = path.trim_start_matches("./");
    (name.starts_with("vmlinuz") || name.starts_with("vmlinux"))
        && (place.starts_with("boot/") || place.starts_with("usr/lib/modules/"))
}

/// Whether a path in a package is busybox itself.
pub fn is_busybox(path: &str) -> bool {
    matches!(path.trim_start_matches("./"), "bin/busybox" | "usr/bin/busybox")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_kernel_images_by_their_place() {
        assert!(is_kernel_image("./boot/vmlinuz-6.1.0-56-cloud-amd64"));
        assert!(is_kernel_image("./usr/lib/modules/7.3-cloud-amd64/vmlinuz"));
        assert!(is_kernel_image("./boot/vmlinux-6.1.0-50-powerpc64le"));
        assert!(!is_kernel_image("./usr/share/doc/linux-image/vmlinuz"));
        assert!(!is_kernel_image("./boot/config-6.1.0-56-cloud-amd64"));
    }
}
