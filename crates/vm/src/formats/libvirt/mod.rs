//! Domains of libvirt: whole ones, snapshots, states of running ones, parts, templates.
//!
//! `domain` finds what matters in the tree, `check` judges it, `timer` the timers, `place` puts
//! elements in and takes them out, `predict` says what QEMU is told.

mod check;
pub(crate) mod choice;
pub(crate) mod domain;
pub(crate) mod made;
mod place;
pub(crate) mod predict;
mod timer;
mod xen;

use crate::detect::{Clues, Sign};
use crate::document::Document;
use crate::formats::{Format, Qemu};
use crate::guest::Guest;
use crate::lint::{LintError, Report};
use crate::text::Text;
use crate::xml::{Tree, tags, well_formed};
use domain::Domain;

/// What is known of this kind.
pub(super) const FORMAT: Format = Format {
    name: "libvirt",
    files: "domains of libvirt",
    sample: ("a.xml", "<domain type='kvm'><name>a</name><os><type>hvm</type></os></domain>"),
    rules: rules!("rules.md", like "../qemu/rules.md"),
    detect,
    lint,
    qemu: Some(Qemu { choose: Some(choice::edits), predict: Some(predict::predict) }),
};

/// Where a document, or a part of one, begins.
const ROOTS: &str = "<domain <domainsnapshot <domaincheckpoint <domstatus <domainbackup <clock <timer <cpu \
    <features <hyperv <os <qemu:commandline <commandline";

fn detect(clues: &Clues<'_>) -> Option<Sign> {
    if ROOTS.split(' ').any(|root| clues.element(root)) {
        return Some(Sign::Element);
    }
    // A domain that a script makes; scripts mention much.
    if clues.starts("#!") && clues.text.contains("<domain") {
        return Some(Sign::Part);
    }
    (clues.ends(&["xml"]) && clues.text.contains('<')).then_some(Sign::Ending)
}

fn lint(document: &Document) -> Result<Report, LintError> {
    let tree = read(&document.text)?;
    let mut report = Report {
        guest: Guest::Unknown,
        guessed: false,
        partial: tree.template,
        findings: Vec::new(),
        ignored: Vec::new(),
    };
    for domain in Domain::all(&tree, document) {
        report.partial |= !domain.whole;
        if report.guest == Guest::Unknown {
            report.guest = domain.guest;
        }
        report.guessed |= domain.guessed;
        report.findings.extend(match domain.driver() {
            domain::Driver::Qemu => check::check(&domain),
            domain::Driver::Xen => xen::check(&domain),
            domain::Driver::Other => Vec::new(),
        });
    }
    Ok(report)
}

/// Whether a domain of the file is emulated.
pub(crate) fn emulated(document: &Document) -> bool {
    let tree = read(&document.text);
    tree.is_ok_and(|tree| Domain::all(&tree, document).iter().any(Domain::emulated))
}

/// Where the first element that matters begins.
pub(crate) fn begin(text: &str) -> Option<usize> {
    ROOTS.split(' ').filter_map(|root| tags(text, root).next()).min()
}

/// The tree of a file; what stands in front of the first element that matters is skipped.
pub(crate) fn read(text: &Text) -> Result<Tree, LintError> {
    // A comment in front may quote an element; then the comment goes first.
    let element = begin(text.as_str());
    let comment = text.as_str().find("<!--");
    let from = match (element, comment) {
        (Some(element), Some(comment)) => element.min(comment),
        (element, comment) => element.or(comment).unwrap_or(0),
    };
    let mut tree = Tree::parse(text, from)?;
    if tree.roots.is_empty() {
        return Err(LintError::whole("no element of a libvirt domain is in it"));
    }
    // Several parts without a domain may be in one file; everything else is one document.
    let parts = tree.roots.len() > 1 && tree.all("domain").next().is_none();
    let source = text.as_str().trim_start_matches('\u{feff}').trim_start();
    let begins = source.starts_with('<');
    // Nothing stands in front of parts but a comment.
    let before = text.as_str().len() - source.len();
    let parts = parts && (from <= before);
    if begins && !tree.template && !parts {
        well_formed(text)?;
    }
    // libvirt's own elements have none, but for what is passed to a hypervisor.
    tree.forget_foreign("http://libvirt.org/schemas/");
    Ok(tree)
}
