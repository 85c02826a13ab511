//! `--via preload`: where the library is, and what it is told.

use anyhow::{Result, bail};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The library's file.
const NAME: &str = "libclocksmith_preload.so";
/// What the library is told.
pub(crate) const SETTINGS: &str = "CLOCKSMITH_PRELOAD";

/// Finds the library: where it was said to be, or beside this program.
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
            "the library for --via preload is not there (looked for: {}); build it with \
             `cargo build --profile dist -p clocksmith-preload`, or say where it is with --preload-file",
            shown.join(", ")
        )
    };
    let text = found.to_string_lossy();
    if text.contains([' ', ':']) {
        bail!(
            "{text}: LD_PRELOAD takes no path with a space or a colon; copy the library elsewhere, and \
             name it with --preload-file"
        )
    }
    Ok(found)
}

/// `LD_PRELOAD` with the library behind what is there already.
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
}
