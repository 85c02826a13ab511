//! `.vbox` files: XML, with the machine's settings and those of each snapshot.
//!
//! Source: `src/VBox/Main/xml/Settings.cpp` and `VirtualBox-settings.xsd`, settings versions 1.0 to 1.21.

use super::machine::{Extra, Machine, Setting};
use super::tsc::Era;
use crate::document::Document;
use crate::lint::LintError;
use crate::text::Text;
use crate::xml::{Element, Tree};
use std::rc::Rc;

/// The limit of snapshots that are read; the keys of the machine apply to each of them. VirtualBox accepts 250 nested
/// ones (`SETTINGS_SNAPSHOT_DEPTH_MAX`).
const MOST_SNAPSHOTS: usize = 250;

/// The content of the file.
pub(super) struct File {
    /// The machine first, then its snapshots, in the order of the file.
    pub(super) machines: Vec<Machine>,
    /// Whether the root element has no machine, as in `VirtualBox.xml`, or not all of it was read.
    pub(super) partial: bool,
}

/// An attribute with the place of its value.
fn setting(element: &Element, name: &str) -> Option<Setting> {
    let attribute = element.attribute(name)?;
    Some(Setting { value: attribute.value.clone(), span: attribute.value_span.clone() })
}

/// Returns the era from the version attribute of the root: a file of settings 1.15 or later was written by 5.0 or
/// later; an older one may also have been, since versions are raised only if necessary.
fn era(version: &str) -> Option<Era> {
    let number = version.split('-').next().unwrap_or_default();
    let (major, minor) = number.split_once('.')?;
    let (major, minor): (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
    ((major, minor) >= (1, 15)).then_some(Era::Five)
}

/// Returns whether the settings of a machine are below this element. Elements of the same name elsewhere are ignored.
fn holds_settings(parent: &str) -> bool {
    matches!(parent, "Hardware" | "BIOS" | "Platform" | "x86")
}

/// The content of the elements read so far.
struct Walk<'a> {
    text: &'a Text,
    machines: Vec<Machine>,
    extra: Vec<Extra>,
}

impl Walk<'_> {
    /// Reads an element. `owner` is the machine, or the snapshot, around it; returns the owner of its children.
    fn take(&mut self, element: &Element, parent: &str, owner: Option<usize>) -> Option<usize> {
        let text = self.text;
        let get = |name: &str| setting(element, name);
        match element.name.as_str() {
            name @ ("Machine" | "Snapshot") => {
                let snapshot =
                    (name == "Snapshot").then(|| get("name").map(|n| n.value).unwrap_or_default());
                // A snapshot has the machine's operating system.
                let os = get("OSType").or_else(|| self.machines.first().and_then(|m| m.os.clone()));
                self.machines.push(Machine {
                    snapshot,
                    head: element.open.clone(),
                    os,
                    complete: true,
                    own_file: true,
                    ..Machine::default()
                });
                return Some(self.machines.len() - 1);
            }
            "ExtraDataItem" => {
                if let (Some(key), Some(value)) = (get("name"), get("value"))
                    && key.value.starts_with("VBoxInternal")
                {
                    let whole = element.open.clone();
                    let remove = Some(text.with_its_line(whole.clone()));
                    self.extra.push(Extra { name: key.value, value, whole, remove });
                }
            }
            name if holds_settings(parent) => {
                let machine = owner.and_then(|owner| self.machines.get_mut(owner))?;
                match name {
                    "CPU" => {
                        machine.cpus = get("count").or(machine.cpus.take());
                        machine.engine = get("executionEngine").or(machine.engine.take());
                    }
                    "Paravirt" => machine.provider = get("provider").or(machine.provider.take()),
                    "HPET" => machine.hpet = get("enabled").or(machine.hpet.take()),
                    _ => {}
                }
            }
            _ => {}
        }
        owner
    }
}

pub(super) fn read(document: &Document) -> Result<File, LintError> {
    let tree =
        Tree::strict(&document.text).map_err(|LintError::Syntax { line, column, what }| {
            LintError::Syntax { line, column, what: format!("{what}; VirtualBox refuses the file") }
        })?;
    let root = tree.roots.first().and_then(|root| tree.get(*root));
    let root = root.filter(|root| root.name == "VirtualBox").ok_or_else(|| {
        let what = "the first element is not <VirtualBox>: this is not a VirtualBox machine";
        LintError::within(&document.text, root.map_or(0, |root| root.open.start), what)
    })?;
    let era = setting(root, "version").and_then(|version| era(&version.value));
    let mut walk = Walk { text: &document.text, machines: Vec::new(), extra: Vec::new() };
    // The machine of each element; an element follows its parent.
    let mut owners: Vec<Option<usize>> = Vec::with_capacity(tree.elements.len());
    for element in &tree.elements {
        let owner = element.parent.and_then(|parent| owners.get(parent).copied().flatten());
        let parent = element.parent.and_then(|parent| tree.get(parent));
        owners.push(walk.take(element, parent.map_or("", |parent| &parent.name), owner));
    }
    Ok(finish(walk, era))
}

fn finish(walk: Walk<'_>, era: Option<Era>) -> File {
    let Walk { mut machines, extra, .. } = walk;
    let partial = machines.is_empty() || machines.len() > MOST_SNAPSHOTS;
    machines.truncate(MOST_SNAPSHOTS + 1);
    if machines.is_empty() {
        // Global extra data applies to every machine.
        machines.push(Machine::default());
    }
    // The keys belong to the machine and also apply to its snapshots, but are reported once.
    let extra = Rc::new(extra);
    for machine in &mut machines {
        machine.era = era;
        machine.extra = Rc::clone(&extra);
    }
    File { machines, partial }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        assert_eq!(era("1.14-linux"), None);
        assert_eq!(era("1.15-windows"), Some(Era::Five));
        assert_eq!(era("1.19-macosx"), Some(Era::Five));
        assert_eq!(era("2.0"), Some(Era::Five));
        assert_eq!(era("x"), None);
    }
}
