//! The output of a running VirtualBox: `VBoxManage showvminfo NAME --machinereadable`, for several machines in
//! sequence, each optionally followed by the output of `VBoxManage getextradata NAME enumerate`.

use super::machine::{Extra, Machine, Setting};
use super::tsc::Era;
use crate::document::Document;
use crate::text::offset;
use std::rc::Rc;

/// Keys of a machine, in the order of the output.
pub(super) const KEYS: [&str; 7] =
    ["VMState", "ostype", "hpet", "cpus", "paravirtprovider", "chipset", "CfgFile"];

/// Converts the description of an operating system to its id: `Windows 11 (64-bit)` is `Windows11_64`.
fn id(description: &str) -> String {
    let (name, bits) = match description.split_once(" (64-bit)") {
        Some((name, _)) => (name, "_64"),
        None => (description.split(" (32-bit)").next().unwrap_or(description), ""),
    };
    name.replace(' ', "") + bits
}

pub(super) fn read(document: &Document) -> Vec<Machine> {
    let text = document.text.as_str();
    let mut all: Vec<Machine> = Vec::new();
    for (start, line) in document.text.lines() {
        if let Some((name, value)) =
            line.strip_prefix("Key: ").and_then(|it| it.split_once(", Value: "))
        {
            let Some(machine) = all.last_mut() else { continue };
            machine.complete = true;
            let value = value.trim_end();
            let at = offset(text, value);
            let whole = start..start + line.len();
            let setting = Setting { value: value.to_owned(), span: at..at + value.len() };
            Rc::make_mut(&mut machine.extra).push(Extra {
                name: name.to_owned(),
                value: setting,
                whole,
                remove: None,
            });
            continue;
        }
        if line.starts_with("No value set") {
            if let Some(machine) = all.last_mut() {
                machine.complete = true;
            }
            continue;
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let value = value.trim_end().trim_matches('"');
        let at = offset(text, value);
        if key == "name" {
            let head = start..start + line.len();
            all.push(Machine { head, ..Machine::default() });
        }
        let Some(machine) = all.last_mut() else { continue };
        let setting =
            |value: String| Some(Setting { value, span: at..at + value_len(line, at, start) });
        match key {
            "ostype" => machine.os = setting(id(value)),
            "cpus" => machine.cpus = setting(value.to_owned()),
            "hpet" => machine.hpet = setting(value.to_owned()),
            "paravirtprovider" => {
                // The key exists since 5.0.
                machine.era = Some(Era::Five);
                machine.provider = setting(value.to_owned());
            }
            "vmexecutionengine" => machine.engine = setting(value.to_owned()),
            _ => {}
        }
    }
    all
}

/// Returns the length of a line's value, without its closing quote.
fn value_len(line: &str, at: usize, start: usize) -> usize {
    line.trim_end().trim_end_matches('"').len().saturating_sub(at - start)
}
