//! `--via preload`: the place of the library, and its settings.

use anyhow::{Result, anyhow, bail};
use clocksmith_facts::trusted;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The library's file.
const NAME: &str = "libclocksmith_preload.so";
/// The variable with the settings of the library.
pub(crate) const SETTINGS: &str = "CLOCKSMITH_PRELOAD";

/// Finds the library: the file of `--preload-file`, or one next to this program.
pub(crate) fn find(said: Option<&Path>) -> Result<PathBuf> {
    let own = std::env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent);
    let places: Vec<PathBuf> = match (said, beside) {
        (Some(said), _) => vec![said.to_owned()],
        (None, Some(dir)) => vec![dir.join("../lib/clocksmith").join(NAME), dir.join(NAME)],
        (None, None) => Vec::new(),
    };
    let found = places.iter().find(|path| path.is_file());
    let Some(found) = found.and_then(|path| path.canonicalize().ok()) else {
        let shown: Vec<_> = places.iter().map(|path| path.display().to_string()).collect();
        bail!(
            "the library for --via preload was not found (looked for: {}); build it with `cargo build --profile dist \
             -p clocksmith-preload`, or give its path with --preload-file",
            shown.join(", ")
        )
    };
    // Root's programs would run it. The one next to this program is as trusted as this program.
    if let (Some(said), true) = (said, rustix::process::geteuid().is_root()) {
        trusted::open(said).map_err(|error| {
            anyhow!(
                "{error}: root loads no library that another user could have written. Copy it to a directory of root \
                 (sudo install -m 644), and name that with --preload-file"
            )
        })?;
    }
    let text = found.to_string_lossy();
    if text.contains([' ', ':']) {
        bail!(
            "{text}: LD_PRELOAD takes no path with a space or a colon; copy the library elsewhere, and \
             name it with --preload-file"
        )
    }
    Ok(found)
}

/// Returns `LD_PRELOAD` with the library after its present value.
pub(crate) fn environment(library: &Path, present: Option<OsString>) -> OsString {
    let mut value = present.filter(|value| !value.is_empty()).unwrap_or_default();
    if !value.is_empty() {
        value.push(":");
    }
    value.push(library);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_stays_in_front() {
        let with =
            |present: Option<&str>| environment(Path::new("/a/b.so"), present.map(OsString::from));
        assert_eq!(with(None), "/a/b.so");
        assert_eq!(with(Some("")), "/a/b.so");
        assert_eq!(with(Some("/x.so:/y.so")), "/x.so:/y.so:/a/b.so");
        let error = find(Some(Path::new("/no/such/file.so"))).unwrap_err();
        assert!(error.to_string().contains("/no/such/file.so"), "{error}");
    }

    #[test]
    fn find_library_that_others_can_write_is_refused_for_root() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let library = dir.path().join("x.so");
        std::fs::write(&library, "x").unwrap();
        let mode = |mode| {
            std::fs::set_permissions(&library, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        mode(0o644);
        assert!(find(Some(&library)).is_ok());
        mode(0o666);
        let root = rustix::process::geteuid().is_root();
        assert_eq!(find(Some(&library)).is_err(), root);
        if root {
            mode(0o644);
            std::os::unix::fs::chown(&library, Some(1000), Some(1000)).unwrap();
            let error = find(Some(&library)).unwrap_err().to_string();
            assert!(error.contains("owner 1000"), "{error}");
        }
    }
}
