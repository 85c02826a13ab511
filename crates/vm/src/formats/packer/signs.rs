//! The signs that a template builds a Windows, besides the builder's type of the system.

use super::{Source, direct};
use crate::yaml::Node;

/// Programs and files of Windows in a command that shuts it down.
const COMMANDS: [&str; 5] =
    ["sysprep.exe", "system32", "shutdown.exe", "shutdown /s", "shutdown -s -t"];
/// Answer files of Windows' installation, on a floppy or a CD.
const ANSWERS: [&str; 2] = ["autounattend.xml", "/unattend.xml"];
/// Keys that list files for the installation.
const FILES: [&str; 5] =
    ["floppy_files", "cd_files", "floppy_content", "cd_content", "http_content"];

/// Returns whether the template has something that only Windows has.
pub(super) fn of_windows(source: &Source<'_>) -> bool {
    let command = source.value(&["shutdown_command"]).map(|(value, _)| value.to_ascii_lowercase());
    let command = command.unwrap_or_default();
    COMMANDS.iter().any(|word| command.contains(word))
        || source.value(&["winrm_username"]).is_some()
        || FILES.iter().flat_map(|list| direct(source.node, list)).any(|node| answers(source, node))
}

/// Whether a list of files, or a map by their names, has the answers.
fn answers(source: &Source<'_>, node: &Node) -> bool {
    let is = |name: &str| {
        let name = source.filled(name).to_ascii_lowercase();
        ANSWERS.iter().any(|answers| name.ends_with(answers))
    };
    match node {
        Node::Map { entries, .. } => entries.iter().any(|(key, _)| is(&key.name)),
        node => node.items().iter().filter_map(Node::scalar).any(|(name, _)| is(name)),
    }
}
