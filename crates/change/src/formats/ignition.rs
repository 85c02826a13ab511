//! Ignition, and Butane, which people write and a tool converts to Ignition.

use super::{Wanted, comment, indent_lines, notes};
use crate::unit::{UNIT, unit};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// Ignition 3.4.0 (2.15; `kernelArguments` since 3.3.0). JSON has no comments: the unit has its own.
pub(super) fn render(wanted: &Wanted) -> String {
    let mut config = Map::new();
    config.insert("ignition".to_owned(), json!({ "version": "3.4.0" }));
    let mut arguments = Map::new();
    if !wanted.add.is_empty() {
        arguments.insert("shouldExist".to_owned(), json!(wanted.add));
    }
    if !wanted.remove.is_empty() {
        arguments.insert("shouldNotExist".to_owned(), json!(wanted.remove));
    }
    if !arguments.is_empty() {
        config.insert("kernelArguments".to_owned(), Value::Object(arguments));
    }
    if let Some(name) = &wanted.clocksource {
        let unit = json!({ "name": UNIT, "enabled": true, "contents": unit(name) });
        config.insert("systemd".to_owned(), json!({ "units": [unit] }));
    }
    format!("{:#}\n", Value::Object(config))
}

/// Butane for Fedora CoreOS, 1.5.0, which becomes Ignition 3.4.0.
pub(super) fn butane(wanted: &Wanted) -> String {
    let undo = [
        "remove it for new machines. On a running machine: disable and remove the unit,",
        "and rpm-ostree kargs --delete-if-present=... or --append-if-missing=...",
    ];
    let mut out = comment(&notes(wanted, &undo));
    out.push_str("variant: fcos\nversion: 1.5.0\n");
    if !(wanted.add.is_empty() && wanted.remove.is_empty()) {
        out.push_str("kernel_arguments:\n");
        for (key, words) in [("should_exist", &wanted.add), ("should_not_exist", &wanted.remove)] {
            if !words.is_empty() {
                let _ = writeln!(out, "  {key}:");
                for word in words {
                    let _ = writeln!(out, "    - \"{word}\"");
                }
            }
        }
    }
    if let Some(name) = &wanted.clocksource {
        let _ = write!(
            out,
            "systemd:\n  units:\n    - name: {UNIT}\n      enabled: true\n      contents: |\n{}",
            indent_lines(&unit(name), 8)
        );
    }
    out
}
