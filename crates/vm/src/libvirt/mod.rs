//! Domains of libvirt: whole ones, snapshots, states of running ones, parts, templates.
//!
//! `domain` finds what matters in the tree, `check` judges it, `timer` the timers, `place` puts
//! elements in and takes them out, `predict` says what QEMU is told. The rules are in `rules`.

mod check;
pub(crate) mod choice;
pub(crate) mod domain;
mod place;
pub(crate) mod predict;
pub(crate) mod rules;
mod timer;
mod xen;

use crate::document::Document;
use crate::guest::Guest;
use crate::kind::LIBVIRT_ROOTS;
use crate::lint::{LintError, Report};
use crate::text::Text;
use crate::xml::Tree;
use domain::Domain;

/// Looks at a file.
pub(crate) fn lint(document: &Document) -> Result<Report, LintError> {
    let tree = read(&document.text)?;
    let mut report = Report { guest: Guest::Unknown, partial: tree.template, findings: Vec::new() };
    for domain in Domain::all(&tree, &document.text, &document.name) {
        report.partial |= !domain.whole;
        if report.guest == Guest::Unknown {
            report.guest = domain.guest;
        }
        report.findings.extend(match domain.driver() {
            domain::Driver::Qemu => check::check(&domain),
            domain::Driver::Xen => xen::check(&domain),
            domain::Driver::Other => Vec::new(),
        });
    }
    Ok(report)
}

/// The tree of a file; what stands in front of the first element that matters is skipped.
pub(crate) fn read(text: &Text) -> Result<Tree, LintError> {
    let bytes = text.as_str().as_bytes();
    let begins = |root: &str| {
        let name = root.trim_end_matches('>');
        text.as_str().match_indices(name).map(|(at, _)| at).find(|at| {
            let next = bytes.get(at + name.len());
            next.is_none_or(|b| b.is_ascii_whitespace() || matches!(b, b'>' | b'/'))
        })
    };
    // A comment in front may quote an element; then the comment goes first.
    let element = LIBVIRT_ROOTS.iter().filter_map(|root| begins(root)).min();
    let comment = text.as_str().find("<!--");
    let from = match (element, comment) {
        (Some(element), Some(comment)) => element.min(comment),
        (element, comment) => element.or(comment).unwrap_or(0),
    };
    let tree = Tree::parse(text, from)?;
    if tree.roots.is_empty() {
        return Err(LintError::Syntax {
            line: 1,
            column: 1,
            what: "no element of a libvirt domain is in it".to_owned(),
        });
    }
    Ok(tree)
}
