//! An invariant TSC, and its frequency, in a domain.

use super::check::{FOREIGN, UNTYPED};
use super::domain::{Domain, Driver};
use super::pieces;
use super::place;
use crate::choice::Choices;
use crate::document::Document;
use crate::edit::Edit;
use crate::formats::qemu::confidential::WHY;

/// The reason why a domain gets no invariant TSC, and so no frequency either.
const WITHOUT_MODE: &str = "the domain has no <cpu> with a mode or a model, which invtsc needs: <cpu mode='host-passthrough'><feature \
    policy='require' name='invtsc'/></cpu>";
/// The reason why a template for machines of any architecture is left.
const OPEN_ARCH: &str = "the architecture is a placeholder, and only x86 has these settings";
/// The reason why a feature that is there twice is left.
const TWICE: &str = "invtsc is there twice, which libvirt refuses";
/// The reason why a part of a domain is left.
const PART: &str = "the file is a part of a domain";
/// The reason why a domain gets no frequency, and so no invariant TSC either.
const WITHOUT_PLACE: &str = "the domain has no <clock>, and the place for one is not certain";

/// Returns the changes of a file, grouped by domain.
pub(crate) fn edits(document: &Document, choices: &Choices) -> Vec<Vec<Edit>> {
    let Ok(tree) = super::read(&document.text) else {
        return Vec::new();
    };
    if !pieces::all(document, &tree).is_empty() {
        return Vec::new();
    }
    let domains = Domain::all(&tree, document);
    let own = domains.iter().filter(|domain| domain.driver() == Driver::Qemu);
    own.filter_map(|domain| of_domain(domain, choices).ok()).filter(|it| !it.is_empty()).collect()
}

/// Returns the reasons why domains do not follow the choices, although their kind could.
pub(crate) fn left(document: &Document, choices: &Choices) -> Vec<&'static str> {
    let Ok(tree) = super::read(&document.text) else {
        return Vec::new();
    };
    if !pieces::all(document, &tree).is_empty() {
        return vec![pieces::WHY];
    }
    let domains = Domain::all(&tree, document);
    let own = domains.iter().filter(|domain| domain.driver() == Driver::Qemu);
    let mut left: Vec<_> = own.filter_map(|it| of_domain(it, choices).err()).collect();
    left.sort_unstable();
    left.dedup();
    left
}

/// Returns the changes of a domain: all of them, or none.
///
/// # Errors
/// Returns the reason if the domain cannot have all of them.
fn of_domain(domain: &Domain<'_>, choices: &Choices) -> Result<Vec<Edit>, &'static str> {
    // With these options, libvirt does not start an emulated domain.
    if domain.emulated() || !domain.x86() {
        return Ok(Vec::new());
    }
    if domain.is_foreign() {
        return Err(FOREIGN);
    }
    if domain.is_untyped() {
        return Err(UNTYPED);
    }
    if domain.open_arch() {
        return Err(OPEN_ARCH);
    }
    if let Some(cpu) = domain.line.cpu() {
        let edits = match cpu.whole.exact() {
            Some(_) => crate::formats::qemu::choice::of_cpu(cpu, choices),
            None => Vec::new(),
        };
        return if edits.is_empty() || domain.confidential().is_none() {
            Ok(edits)
        } else {
            Err(WHY)
        };
    }
    let hertz = choices.tsc_frequency.map(|hertz| hertz.to_string());
    let hertz = hertz.filter(|hertz| domain.frequency() != Some(hertz.as_str()));
    // Nothing is added to a value that only a template determines.
    let host_decides = domain.optional("invtsc");
    let lacks = choices.invtsc && (domain.invtsc() == Some(false) || host_decides);
    if choices.invtsc && domain.times("invtsc") > 1 {
        return Err(TWICE);
    }
    let hidden = choices.invtsc && domain.confidential().is_some() && domain.invtsc() != Some(true);
    if domain.confidential().is_some() && (lacks || hidden || hertz.is_some()) {
        return Err(WHY);
    }
    let mut out = Vec::new();
    if lacks {
        // libvirt refuses a second one of the same name.
        match (domain.asked("invtsc"), domain.cpu) {
            (Some(feature), _) => out.push(place::set(domain, feature, "policy", "require")),
            // Without a mode or a model, <cpu> cannot have features.
            (None, Some(cpu)) if !domain.cpu_mode().is_empty() => {
                let xml =
                    place::element(domain, "feature", &[("policy", "require"), ("name", "invtsc")]);
                out.push(place::insert(domain, cpu, &xml));
            }
            _ if domain.element.is_none() => return Err(PART),
            _ => return Err(WITHOUT_MODE),
        }
    }
    if let Some(hertz) = hertz {
        let timer = place::timer(domain, "tsc", "frequency", &hertz);
        out.push(timer.ok_or(if domain.element.is_none() { PART } else { WITHOUT_PLACE })?);
    }
    Ok(out)
}
