//! An invariant TSC, and its frequency, in a `-cpu`.

use super::cpu::{frequency, invtsc};
use super::line::Line;
use super::machine::of_x86;
use super::property::Properties;
use super::script::{Command, Script};
use crate::choice::Choices;
use crate::document::Document;
use crate::edit::Edit;
use crate::placed::Placed;
use std::collections::HashSet;

/// The changes of a whole file.
pub(crate) fn edits(document: &Document, choices: &Choices) -> Vec<Edit> {
    let script = Script::of(document);
    let mut known = HashSet::new();
    let lines = script.commands.iter().filter(|command| !command.written);
    let lines = lines.map(|command| (command, Line::of_words(&command.words)));
    // The emulator offers neither, and other architectures have none.
    let real = lines.filter(|(command, line)| !emulated(&script, command, line));
    let real = real.filter(|(command, line)| of_x86(command, line));
    let edits = real.flat_map(|(_, l)| l.cpu().map(|cpu| of_cpu(cpu, choices)).unwrap_or_default());
    edits.filter(|edit| known.insert(edit.clone())).collect()
}

/// Where command lines are whose processor is emulated, so that the choices do nothing there.
pub(crate) fn left(document: &Document) -> Vec<usize> {
    let script = Script::of(document);
    let lines = script.commands.iter().map(|command| (command, Line::of_words(&command.words)));
    let lines = lines.filter(|(command, line)| emulated(&script, command, line));
    let cpus = lines.filter_map(|(_, line)| line.cpu().map(|cpu| cpu.whole.span().start));
    let mut at: Vec<usize> = cpus.collect();
    at.sort_unstable();
    at.dedup();
    at
}

fn emulated(script: &Script, command: &Command, line: &Line) -> bool {
    // The model `host` starts only with a hypervisor.
    let host = line.cpu().is_some_and(|cpu| cpu.head_name() == "host");
    line.tcg() || (!host && super::emulator(script, command, line).is_some())
}

/// The changes of one `-cpu`.
pub(crate) fn of_cpu(cpu: &Properties, choices: &Choices) -> Vec<Edit> {
    let mut out = Vec::new();
    let Some(end) = cpu.end() else {
        return out;
    };
    let mut more = String::new();
    if choices.invtsc && invtsc(cpu) == Some(false) {
        match cpu.get("invtsc").and_then(|property| property.cut()) {
            Some(span) => out.push(Edit { span, with: ",+invtsc".to_owned() }),
            None => more.push_str(",+invtsc"),
        }
    }
    if let Some(hertz) = choices.tsc_frequency {
        match frequency(cpu) {
            None => more.push_str(&format!(",tsc-frequency={hertz}")),
            Some(property) => {
                let value = property.value.as_ref();
                if let Some(span) =
                    value.filter(|v| v.as_str() != hertz.to_string()).and_then(Placed::exact)
                {
                    out.push(Edit { span, with: hertz.to_string() });
                }
            }
        }
    }
    if !more.is_empty() {
        out.push(Edit { span: end..end, with: more });
    }
    out
}
