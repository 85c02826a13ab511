//! Custom CPU models (`/etc/pve/virtual-guest/cpu-models.conf`): a section for each, which machines name in `cpu:`.
//!
//! Many machines share a model, and the file does not name their systems: so all findings are information, and nothing
//! is changed.

use crate::document::Document;
use crate::finding::{Finding, Severity};
use crate::formats::qemu::cpu;
use crate::formats::qemu::property::Properties;
use crate::guest::Guest;
use crate::guest::Known;
use crate::lint::Report;
use crate::placed::Placed;

/// The first line of a model begins with this.
const BEGIN: &str = "cpu-model:";

/// Whether a line begins a model.
pub(super) fn begins(line: &str) -> bool {
    line.starts_with(BEGIN)
}

/// The properties of a model.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Model {
    pub(super) reported: String,
    pub(super) invtsc: bool,
    pub(super) hidden: bool,
}

/// Returns the model of a name.
pub(super) fn find(text: &str, name: &str) -> Option<Model> {
    let is = |line: &str| {
        line.strip_prefix(BEGIN).is_some_and(|it| it.trim().eq_ignore_ascii_case(name))
    };
    let mut lines = text.lines().skip_while(|line| !is(line));
    lines.next()?;
    let mut model = Model::default();
    for line in lines.take_while(|line| !begins(line)) {
        match line.trim().split_once(char::is_whitespace).map(|(key, value)| (key, value.trim())) {
            Some(("reported-model", value)) => model.reported = value.to_ascii_lowercase(),
            Some(("hidden", value)) => model.hidden = value == "1",
            Some(("flags", value)) => {
                model.invtsc = value.split(';').any(|flag| flag.trim() == "+invtsc");
            }
            _ => {}
        }
    }
    Some(model)
}

/// Checks every model.
pub(super) fn lint(document: &Document) -> Report {
    let mut findings = Vec::new();
    let mut model = String::new();
    for (start, line) in document.text.lines() {
        if let Some(name) = line.strip_prefix(BEGIN) {
            name.trim().clone_into(&mut model);
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        let Some((key, value)) = line.trim().split_once(char::is_whitespace) else { continue };
        let at =
            start + indent + key.len() + (line.trim().len() - key.len() - value.trim_start().len());
        let value = Placed::new(value.trim_start(), at);
        let mut found = match key {
            "flags" => flags(&value),
            "hidden" if value.as_str() == "1" => {
                vec![Finding::new(rule!("pve-kvm-hidden"), value.span()).fix("remove hidden 1")]
            }
            _ => Vec::new(),
        };
        for finding in &mut found {
            finding.severity = Severity::Info;
            finding.edits.clear();
            finding.object = Some(format!("cpu-model {model}"));
        }
        findings.extend(found);
    }
    Report::of(Known::default(), true, findings)
}

/// Checks the flags of a model: `+invtsc;-kvmclock`, after a model that has the property migratable.
fn flags(value: &Placed) -> Vec<Finding> {
    let mut list = Placed::default();
    list.push_str("custom,", value.span().start);
    for (n, c) in value.as_str().char_indices() {
        list.push(if c == ';' { ',' } else { c }, value.span().start + n);
    }
    let context = cpu::Context {
        guest: Guest::Other,
        names: &cpu::NAMES,
        kvm: Some(true),
        emulated: false,
        conditional: &|_| false,
        stays: false,
        confidential: None,
        said: false,
        no_hyperv: true,
        unaware: false,
    };
    cpu::check(&Properties::parse(&list), &context)
}

#[cfg(test)]
mod tests {
    use crate::{Choices, Document, Kind, fix, lint};

    #[test]
    fn models_are_read_and_left() {
        let text = "# own models\ncpu-model: one\n    flags +invtsc;-kvmclock\n    hidden 0\n    reported-model host\n\n\
                    cpu-model: two\n    flags +pcid\n    hidden 1\n";
        let document = Document::new("cpu-models.conf", text.as_bytes()).unwrap();
        assert_eq!(document.kind, Kind::Proxmox);
        let report = lint(&document).unwrap();
        let found: Vec<_> = report
            .findings
            .iter()
            .map(|f| (f.rule.id, f.object.as_deref().unwrap_or_default(), &text[f.span.clone()]))
            .collect();
        assert_eq!(
            found,
            [
                ("q-invtsc-migblock", "cpu-model one", "+invtsc"),
                ("q-kvmclock-off", "cpu-model one", "-kvmclock"),
                ("pve-kvm-hidden", "cpu-model two", "1"),
            ]
        );
        let fixed = fix(&document, &Choices::default()).unwrap();
        assert_eq!(fixed.document.text.as_str(), text);
    }
}
