//! An invariant TSC, and its frequency, in a `-cpu`.

use super::command::Command;
use super::confidential::WHY;
use super::cpu::{frequency, invtsc};
use super::line::Line;
use super::machine::of_x86;
use super::property::Properties;
use super::script::Script;
use crate::choice::Choices;
use crate::document::Document;
use crate::edit::Edit;
use crate::placed::Placed;
use std::collections::HashSet;

/// Returns the changes of a whole file, grouped by command line.
pub(crate) fn edits(document: &Document, choices: &Choices) -> Vec<Vec<Edit>> {
    let script = Script::of(document);
    let mut known = HashSet::new();
    let lines = script.commands.iter().filter(|command| !command.written);
    let lines = lines.map(|command| (command, Line::of_words(&command.words)));
    // Other architectures have none.
    let real = lines.filter(|(command, line)| of_x86(command, line));
    let real = real.filter(|(_, line)| line.confidential().is_none());
    let real = real.filter(|(command, line)| refuses(&script, command, line, choices).is_none());
    let edits = real.map(|(_, l)| l.cpu().map(|cpu| of_cpu(cpu, choices)).unwrap_or_default());
    // Another command line may have the same words.
    let hidden: Vec<_> = script
        .commands
        .iter()
        .map(|command| Line::of_words(&command.words))
        .filter(|line| line.confidential().is_some())
        .filter_map(|line| line.cpu().map(|cpu| cpu.whole.span()))
        .collect();
    let shared = |edit: &Edit| {
        hidden.iter().any(|span| span.start <= edit.span.start && edit.span.end <= span.end)
    };
    edits
        .filter(|edits| !edits.is_empty() && !edits.iter().any(shared))
        .filter(|edits| known.insert(edits.clone()))
        .collect()
}

/// Returns the places of command lines for which the choices do nothing, or which must not follow them, with the
/// reasons.
pub(crate) fn left(document: &Document, choices: &Choices) -> Vec<(usize, &'static str)> {
    let script = Script::of(document);
    let lines = script.commands.iter().map(|command| (command, Line::of_words(&command.words)));
    let refused = lines.filter_map(|(command, line)| {
        let why = refuses(&script, command, &line, choices)?;
        Some((line.cpu()?.whole.span().start, why))
    });
    let mut at: Vec<_> = refused.collect();
    at.sort_unstable();
    at.dedup();
    at
}

/// Returns the reason why a command line does not follow the choices.
fn refuses(
    script: &Script,
    command: &Command,
    line: &Line,
    choices: &Choices,
) -> Option<&'static str> {
    if emulated(script, command, line) {
        return Some("the processor is emulated, and the emulator offers neither");
    }
    // If such a guest already has it, no change is needed.
    let kind = line.confidential().filter(|_| of_x86(command, line))?;
    let cpu = line.cpu()?;
    let has = (!choices.invtsc || kind.invtsc(invtsc(cpu)) == Some(true))
        && choices.tsc_frequency.is_none_or(|hertz| {
            let said = frequency(cpu).and_then(|it| it.value.as_ref());
            said.is_some_and(|it| it.as_str() == hertz.to_string())
        });
    (!has).then_some(WHY)
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
