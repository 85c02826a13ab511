//! Where this user's programs keep their state.

use std::path::PathBuf;

/// The file in which `verify` keeps its result for a user who is not root: in `$XDG_STATE_HOME`,
/// otherwise in `~/.local/state`. `None` for root, whose file is below `/var/lib`, and if neither exists.
#[must_use]
pub fn file() -> Option<PathBuf> {
    if rustix::process::geteuid().is_root() {
        return None;
    }
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let state = absolute("XDG_STATE_HOME")
        .or_else(|| Some(absolute("HOME")?.join(".local").join("state")))?;
    Some(state.join("clocksmith").join("verify.json"))
}
