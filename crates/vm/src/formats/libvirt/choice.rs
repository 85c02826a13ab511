//! An invariant TSC, and its frequency, in a domain.

use super::domain::{Domain, Driver};
use super::place;
use crate::choice::Choices;
use crate::document::Document;
use crate::edit::Edit;

/// The changes of a file.
pub(crate) fn edits(document: &Document, choices: &Choices) -> Vec<Edit> {
    let Ok(tree) = super::read(&document.text) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for domain in Domain::all(&tree, document) {
        if domain.driver() == Driver::Qemu {
            out.extend(of_domain(&domain, choices));
        }
    }
    out
}

/// Why a domain gets no invariant TSC, where it could have one.
pub(crate) fn left(document: &Document) -> Option<&'static str> {
    let tree = super::read(&document.text).ok()?;
    let without = |domain: &Domain<'_>| {
        domain.driver() == Driver::Qemu
            && domain.element.is_some()
            && !domain.emulated()
            && domain.x86()
            && domain.line.cpu().is_none()
            && domain.feature("invtsc").is_none()
            && domain.cpu_mode().is_empty()
    };
    Domain::all(&tree, document).iter().any(without).then_some(
        "the domain has no <cpu> with a mode or a model, which invtsc needs: <cpu mode='host-passthrough'><feature \
         policy='require' name='invtsc'/></cpu>",
    )
}

fn of_domain(domain: &Domain<'_>, choices: &Choices) -> Vec<Edit> {
    // With them, libvirt does not start what it emulates.
    if domain.emulated() || !domain.x86() {
        return Vec::new();
    }
    if let Some(cpu) = domain.line.cpu() {
        let whole = cpu.whole.exact().is_some();
        return if whole { crate::formats::qemu::choice::of_cpu(cpu, choices) } else { Vec::new() };
    }
    let mut out = Vec::new();
    if choices.invtsc && domain.invtsc() == Some(false) {
        match (domain.feature("invtsc"), domain.cpu) {
            (Some((feature, _)), _) => out.push(place::set(domain, feature, "policy", "require")),
            // Without a mode or a model, <cpu> cannot have features.
            (None, Some(cpu)) if !domain.cpu_mode().is_empty() => {
                let xml =
                    place::element(domain, "feature", &[("policy", "require"), ("name", "invtsc")]);
                out.push(place::insert(domain, cpu, &xml));
            }
            _ => {}
        }
    }
    if let Some(hertz) = choices.tsc_frequency {
        let hertz = hertz.to_string();
        if domain.frequency() != Some(hertz.as_str()) {
            out.extend(place::timer(domain, "tsc", "frequency", &hertz));
        }
    }
    out
}
