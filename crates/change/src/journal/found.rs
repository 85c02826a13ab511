//! The state that a program finds at a path of the journal, which may now be reached through a
//! link.

use super::capture::capture;
use super::entry::State;
use super::tree::Tree;
use super::{JournalError, Place};
use std::path::{Path, PathBuf};

/// The present state of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) state: State,
    /// The first link on the path that did not exist when the path was located: nothing is changed through it.
    pub(super) link: Option<PathBuf>,
}

/// Returns the state that a program finds at a located path. Follows links.
pub(super) fn found(tree: &Tree, path: &Path) -> Result<Found, JournalError> {
    if let Some(spot) = tree.spot(path)? {
        return Ok(Found { state: capture(&spot)?.0, link: None });
    }
    let Some(located) = tree.link_on_way(path)? else {
        return Ok(Found { state: State::Absent, link: None });
    };
    let state = match tree.spot(&located.path)? {
        Some(spot) => capture(&spot)?.0,
        None => State::Absent,
    };
    Ok(Found { state, link: located.links.into_iter().next() })
}

/// Returns the reason why nothing is changed through a link.
pub(super) fn behind(place: &Place, link: &Path) -> String {
    format!("{} is now a link, and nothing is changed through a link", place.shown(link).display())
}
