//! tuned: a profile. tuned saves the values that it changes, and restores them when another profile
//! is chosen.

use super::{Format, FormatError, SYSFS, Wanted, comment, notes};
use std::fmt::Write;

/// Returns the profile. `[sysfs]` writes without a check, so the value is computed: the name if it is available,
/// otherwise the clocksource in use. `tuned-adm verify` checks the result. Functions are written
/// `${f:NAME:ARGUMENT...}`, so there is no colon in the command.
pub(super) fn render(wanted: &Wanted) -> Result<String, FormatError> {
    if !wanted.remove.is_empty() {
        return Err(FormatError::Unsupported {
            format: Format::Tuned,
            what: "remove kernel parameters that it did not set",
            instead: "ansible, ignition and butane can",
        });
    }
    let mut lines = notes(
        wanted,
        &[
            "run tuned-adm profile with the profile that was active before, which restores what this",
            "one changed; then remove the directory",
        ],
    );
    lines.push(
        "Only one profile is active: name the one that is active now (tuned-adm active) in \
         include=."
            .to_owned(),
    );
    lines.push("`tuned-adm verify` checks the result.".to_owned());
    let mut out = comment(&lines);
    out.push_str("\n[main]\nsummary=Clock of this machine\n#include=throughput-performance\n");
    if let Some(name) = &wanted.clocksource {
        let _ = write!(
            out,
            "\n[variables]\nclocksource=${{f:exec:/bin/sh:-c:grep -qE '(^| ){name}( |$)' \
             {SYSFS}/available_clocksource && echo {name} || cat {SYSFS}/current_clocksource}}\n\
             \n[sysfs]\n{SYSFS}/current_clocksource=${{clocksource}}\n"
        );
    }
    if !wanted.add.is_empty() {
        let _ = write!(out, "\n[bootloader]\ncmdline_clocksmith=+{}\n", wanted.add.join(" "));
    }
    Ok(out)
}
