//! Command lines that print something and make no machine: `--version`, `--osinfo list`, `--cpu help`.
//!
//! Source: virtinst/cli.py, `check_option_introspection()`, `check_osinfo_list()`; virt-install(1), INTROSPECTION.

use super::Placed;
use super::system::OPTIONS;

/// Options with a text of the user, in which `help` is a word like any other.
const TEXTS: [&str; 12] = [
    "--name",
    "--uuid",
    "--description",
    "--connect",
    "--virt-type",
    "--arch",
    "--machine",
    "--extra-args",
    "--ram",
    "--init",
    "--cdrom",
    "--qemu-commandline",
];

/// Returns whether a command line only prints: then it makes and changes no machine.
pub(super) fn only_prints(options: &[Placed]) -> bool {
    let next = options.iter().skip(1).map(|(word, _)| word.as_str()).chain([""]);
    options.iter().zip(next).any(|((word, _), next)| {
        if matches!(word.as_str(), "--version" | "--help" | "-h") {
            return true;
        }
        if !word.starts_with("--") {
            return false;
        }
        let (option, value) = word.split_once('=').unwrap_or((word, next));
        let asks = matches!(value, "help" | "?");
        let lists = value == "list" && OPTIONS.contains(&option);
        lists || asks && !TEXTS.contains(&option)
    })
}
