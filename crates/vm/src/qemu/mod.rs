//! Command lines of QEMU: alone, in scripts, in units and Makefiles, and behind other tools' own.
//!
//! `lexer` makes words of a script, `script` puts its variables in, `line` keeps the options that
//! matter, `property` reads their lists, `cpu` and `machine` judge. The rules are in `rules`. What must
//! not live here: what another tool makes of its own file (`libvirt`, `proxmox`).

pub(crate) mod choice;
pub(crate) mod cpu;
pub(crate) mod lexer;
pub(crate) mod line;
pub(crate) mod machine;
pub(crate) mod property;
pub(crate) mod rules;
pub(crate) mod script;

use crate::document::Document;
use crate::finding::Finding;
use crate::guest::Guest;
use crate::lint::{LintError, Report};
use line::Line;
use script::{Command, Script};
use std::collections::HashSet;

/// Looks at a file with command lines of QEMU.
pub(crate) fn lint(document: &Document) -> Result<Report, LintError> {
    let script = Script::read(document.text.as_str());
    let Some(first) = script.commands.first() else {
        return Err(LintError::Syntax {
            line: 1,
            column: 1,
            what: "no command line of QEMU is in it; if it is of another kind, say so with --kind"
                .to_owned(),
        });
    };
    let named = Guest::of_words(&document.name);
    let mut report = Report {
        guest: Guest::Unknown,
        partial: first.program.is_none() || script.cut,
        findings: Vec::new(),
    };
    let mut known = HashSet::new();
    for command in &script.commands {
        let line = Line::read(command);
        let guest = match line.guest() {
            Guest::Unknown => named.unwrap_or_default(),
            guest => guest,
        };
        if report.guest == Guest::Unknown {
            report.guest = guest;
        }
        report.partial |= line.unknown;
        for finding in command_findings(&script, command, &line, guest) {
            if known.insert((finding.rule.id, finding.span.clone())) {
                report.findings.push(finding);
            }
        }
    }
    Ok(report)
}

fn command_findings(script: &Script, command: &Command, line: &Line, guest: Guest) -> Vec<Finding> {
    let conditional = |at: usize| script.conditional(command, at) && script.asks;
    let mut out = Vec::new();
    if let Some(cpu) = line.cpu() {
        let context =
            cpu::Context { guest, names: &cpu::NAMES, kvm: line.kvm(), conditional: &conditional };
        if cpu.head_name() != "help" {
            out.extend(cpu::check(cpu, &context));
        }
    }
    out.extend(machine::check(command, line, guest, &conditional));
    out
}
