//! The kernel command line of the next boots: the text to write, and its place, for each boot
//! loader.
//!
//! This module has one file for each boot loader, each a pure function from a [`System`] (with the
//! texts of its files) and a [`Change`] to steps. It must not read or write anything, and must not
//! know why the words are changed.
//!
//! The tool that owns a file is used before the file is edited: `grubby`, `rpm-ostree`, `update-grub` and similar tools
//! run as steps. A drop-in is preferred to an edit. If a system is made elsewhere (NixOS, bootc, Ignition), the
//! steps only name the text to write there, and nothing is changed.

mod bls;
pub(crate) mod extlinux;
pub mod grub;
mod grubenv;
mod image;
pub mod loader;
pub(crate) mod made;
mod menu;
mod settings;
pub mod shell;
pub(crate) mod single;
pub mod strict;
pub(crate) mod tools;

use crate::plan::{Action, Step};
use crate::system::System;
use crate::words::{BadWord, Change};
use loader::Loader;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The method of a change of the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Way {
    /// The owner of the command line: `GRUB (drop-in)`, `grubby`.
    pub by: &'static str,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// Instructions for the user, instead or in addition: lines to copy.
    pub by_hand: Vec<String>,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// The boot loaders that were found, and the one that boots; nothing if the system's own tool owns the words.
    pub choice: Option<loader::Choice>,
    /// Words that every entry must have, and must not have, when the programs of the steps have run: those that
    /// their settings got or lost.
    pub expected: Change,
}

/// The reason why the command line is not changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoWay {
    /// A word.
    #[error(transparent)]
    Word(#[from] BadWord),
    /// No known boot loader.
    #[error("there is no GRUB, no loader entry, no extlinux, zipl or cmdline.txt below {0}")]
    Unknown(String),
    /// More than one, or none that fits.
    #[error("boot loaders found: {found}; {because}. Name the one that boots: --loader {names}")]
    Several {
        /// Those that were found.
        found: String,
        /// The reason why none is selected.
        because: String,
        /// The names that can be given.
        names: String,
    },
    /// The named one was not found.
    #[error("{named} was named by --loader, and is not here; boot loaders found: {found}")]
    NotHere {
        /// The named loader.
        named: &'static str,
        /// Those that were found.
        found: String,
    },
    /// A file that cannot be edited.
    #[error("{}: {why}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why, and the next step for the user.
        why: String,
    },
}

/// Steps that change the command line of the next boots; `named` is the boot loader that the user named.
///
/// # Errors
/// Returns an error if a word must not be written, the boot loader is unknown, the evidence does not decide which of
/// several boots, or a file cannot be edited safely.
pub fn plan(system: &System, change: &Change, named: Option<Loader>) -> Result<Way, NoWay> {
    change.check()?;
    if let Some(way) = image::plan(system, change) {
        return Ok(way);
    }
    tools::of_all(system, change)?;
    let choice = loader::choose(system, named)?;
    let chosen = choice.boots.unwrap_or(Loader::Other);
    // GRUB may be built to read them.
    if chosen == Loader::Grub && bls::entries(system).is_some() && system.has("sdbootutil") {
        tools::of(system, Loader::Entries, change)?;
    }
    tools::of(system, chosen, change)?;
    let unknown = || Err(NoWay::Unknown(place(system)));
    let mut way = match chosen {
        Loader::Grub | Loader::Entries => by_grub_or_entries(system, change, chosen),
        Loader::Unified => Ok(single::unified(system, change)),
        Loader::Extlinux => {
            let ways = [extlinux::alpine, extlinux::u_boot_menu, extlinux::direct];
            ways.iter().find_map(|way| way(system, change)).unwrap_or_else(unknown)
        }
        Loader::Zipl => single::zipl(system, change).unwrap_or_else(unknown),
        Loader::CmdlineTxt => single::cmdline_txt(system, change).unwrap_or_else(unknown),
        Loader::Refind | Loader::Limine | Loader::Script | Loader::Other => unknown(),
    }?;
    for step in &way.steps {
        if let Action::Write { path, content, .. } = &step.action
            && let Some(why) = made::too_long(path, content, change, system.longest)
        {
            return Err(file(path, format!("{why}. Remove words from it first")));
        }
    }
    way.choice = Some(choice);
    Ok(way)
}

fn by_grub_or_entries(system: &System, change: &Change, chosen: Loader) -> Result<Way, NoWay> {
    let entries = bls::entries(system).is_some() || bls::unreadable(system).is_some();
    if system.has("grubby") && (entries || grub::config(system).is_some()) {
        // grubby adds words to them as they are.
        bls::understood(system, change)?;
        return if system.live { bls::grubby(system, change) } else { bls::plan(system, change) };
    }
    // Where GRUB reads entries, BOOT_IMAGE= comes from GRUB.
    let by_grub = system.cmdline().map(|line| line.contains("BOOT_IMAGE="));
    // No program of another system is run that would edit them.
    let read_there = !system.live || by_grub == Some(false);
    let reads = entries && loader::grub_reads_entries(system) && read_there;
    match chosen {
        Loader::Grub if grub::is_there(system) && !reads => grub::plan(system, change),
        Loader::Grub if !entries => {
            let Some(path) = grub::config(system) else {
                return Err(NoWay::Unknown(place(system)));
            };
            let hand = hand("every line that begins with `linux`", change);
            let why = "no program that generates it is here (update-grub, grub-mkconfig), so it is not edited";
            Err(file(path, format!("{why}. {hand}")))
        }
        _ => bls::plan(system, change),
    }
}

/// The system, as a message names it.
fn place(system: &System) -> String {
    if system.live { "/".to_owned() } else { "this root".to_owned() }
}

/// The risk of a changed command line, for every method.
pub(crate) const RISK: &str = "a wrong command line can keep a machine from booting: the boot loader's \
                               menu (e in GRUB and systemd-boot) edits it for one boot";

/// A step that writes a file.
pub(crate) fn write(path: impl AsRef<Path>, content: String, why: &str, risk: &str) -> Step {
    let path = path.as_ref().to_owned();
    Step {
        action: Action::Write { path, content, mode: 0o644 },
        why: why.to_owned(),
        risk: risk.to_owned(),
    }
}

/// A step that runs a program.
pub(crate) fn run(command: &[&str], rewrites: &[&str], why: &str, risk: &str) -> Step {
    let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
    Step {
        action: Action::Run {
            regenerate: Some(command.clone()),
            command,
            rewrites: rewrites.iter().map(PathBuf::from).collect(),
            undo: None,
        },
        why: why.to_owned(),
        risk: risk.to_owned(),
    }
}

/// An error about a file.
pub(crate) fn file(path: impl AsRef<Path>, why: impl Into<String>) -> NoWay {
    NoWay::File { path: path.as_ref().to_owned(), why: why.into() }
}

/// Refuses a file that boot loaders do not read as it appears: NUL bytes, other control characters, line ends of
/// another system.
pub(crate) fn plain(path: impl AsRef<Path>, text: &str) -> Result<(), NoWay> {
    let Some((line, what)) = strict::foreign(text) else { return Ok(()) };
    Err(file(
        path,
        format!(
            "line {line} has {what}, which boot loaders read in different ways: remove it first"
        ),
    ))
}

/// Instructions for the user in place of an edit, in words.
pub(crate) fn hand(place: &str, change: &Change) -> String {
    let mut parts = Vec::new();
    if !change.add.is_empty() {
        parts.push(format!("add {} to {place}, before a lone `--`", change.add.join(" ")));
    }
    if !change.remove.is_empty() {
        parts.push(format!("remove {} from {place}", change.remove.join(" ")));
    }
    format!("By hand: {}", parts.join(", "))
}

/// Steps for files that one function edits; files that stay as they are have none.
pub(crate) fn edits<'a>(
    files: impl Iterator<Item = (&'a Path, &'a str)>,
    why: &str,
    edit: impl Fn(&str) -> Option<String>,
) -> Vec<Step> {
    files
        .filter_map(|(path, text)| {
            let edited = edit(text)?;
            (edited != text).then(|| write(path, edited, why, RISK))
        })
        .collect()
}

/// A change in a line, for tests.
#[cfg(test)]
fn change(add: &[&str], remove: &[&str]) -> Change {
    let own = |list: &[&str]| list.iter().map(|w| (*w).to_owned()).collect();
    Change { add: own(add), remove: own(remove) }
}

#[cfg(test)]
mod tests;
