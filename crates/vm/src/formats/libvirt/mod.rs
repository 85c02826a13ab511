//! libvirt domains: whole ones, snapshots, states of running ones, parts, templates.
//!
//! `domain` reads the settings of the clock from the tree, `check` judges them, `timer` judges the timers, `place`
//! inserts and removes elements, `predict` returns the options that QEMU gets.

mod check;
pub(crate) mod choice;
pub(crate) mod domain;
pub(crate) mod features;
pub(crate) mod made;
pub(crate) mod nix;
mod nix_set;
pub(crate) mod own;
mod pieces;
mod place;
pub(crate) mod predict;
mod timer;
mod xen;

use crate::detect::{Clues, Sign};
use crate::document::Document;
use crate::formats::{Format, Qemu};
use crate::guest::Guest;
use crate::guest::Known;
use crate::inner::{nothing, together};
use crate::limits::Limits;
use crate::lint::{LintError, Report};
use crate::named;
use crate::text::Text;
use crate::words::here_documents;
use crate::xml::{Tree, root, tags, well_formed};
use domain::Domain;
use std::collections::HashSet;

/// The registry entry of this kind.
pub(super) const FORMAT: Format = Format {
    name: "libvirt",
    files: "libvirt domains",
    sample: ("a.xml", "<domain type='kvm'><name>a</name><os><type>hvm</type></os></domain>"),
    rules: rules!("libvirt"),
    detect,
    lint,
    limits: Limits::PLAIN,
    qemu: Some(Qemu { choose: Some(choice::edits), predict: Some(predict::predict) }),
};

/// Elements with which a document, or a part of one, begins.
const ROOTS: &str = "<domain <domainsnapshot <domaincheckpoint <domstatus <domainbackup <clock <timer <cpu \
    <features <hyperv <os <qemu:commandline <commandline";

/// Elements that make any text one of libvirt: other texts also have a `<cpu>` and an `<os>`.
const WHOLE: &str = "<domain <domainsnapshot <domaincheckpoint <domstatus <domainbackup";
/// Other roots of libvirt's documents, and parts of a domain without a clock: `virsh` prints and takes them.
const SILENT: &str = "capabilities domainCapabilities sysinfo network networkport pool volume interface secret nwfilter \
    nwfilterbinding device nodedevice node disk hostdev controller filesystem input graphics video memory memballoon rng \
    channel serial console parallel sound watchdog tpm redirdev redirfilter hub panic shmem vsock lease smartcard iommu \
    crypto emulator devices metadata cputune numatune memtune blkiotune resource iothreads iothreadids numa vcpu vcpus \
    memoryBacking pm seclabel keywrap launchSecurity name uuid title description domains";

/// The message about a script without a domain that can be read.
const NO_MACHINE: &str = "no machine was recognised in this script; to check a domain that it makes, give its \
                          file (`virsh dumpxml NAME`)";
/// The message about an element of the same name that another program has.
const OTHER_DOMAIN: &str = "its <domain> is not one of libvirt, which has a type= and the parts of a machine (<os>, <memory>, <devices>)";
/// The message about a file that describes a host.
const CAPABILITIES: &str = "these are the capabilities of a host, not a machine; `clocksmith vm \
    migrate MACHINE --to FILE` compares a machine with them";

fn detect(clues: &Clues<'_>) -> Option<Sign> {
    let is = |root: &str| clues.element(root) && (root != "<domain" || own::any(clues.text));
    let any = |roots: &str| roots.split_whitespace().any(is);
    let foreign = foreign(clues.text);
    // Such files get a message that names them.
    if matches!(foreign, Some((_, "capabilities" | "domainCapabilities"))) {
        return Some(Sign::Element);
    }
    let own = foreign.is_none();
    if any(WHOLE) || own && clues.begins_as_xml() && any(ROOTS) {
        return Some(Sign::Element);
    }
    if own && any(ROOTS) {
        return Some(Sign::Part);
    }
    // A domain that a script defines; scripts mention many things.
    if clues.starts("#!") && clues.text.contains("<domain") {
        return Some(Sign::Part);
    }
    if clues.ends(&["nix"]) && nix::any(clues.text) {
        return Some(if nix::decides(clues.text) { Sign::Keys } else { Sign::Part });
    }
    let runs = named::is(clues, "virsh", VERBS) || clues.text.contains(MODULE);
    (runs || clues.ends(&["xml"]) && clues.text.contains('<')).then_some(Sign::Ending)
}

/// Commands of `virsh` for a machine, a network or a pool.
const VERBS: &str = "define create start shutdown destroy reboot reset undefine edit autostart suspend resume save restore \
    dumpxml domstate dominfo domifaddr attach-device attach-disk detach-disk detach-device setvcpus setmem console migrate \
    snapshot-create-as snapshot-revert net-define net-start net-autostart net-destroy net-undefine net-update pool-define \
    pool-define-as pool-build pool-start pool-autostart vol-create-as vol-delete managedsave send-key qemu-monitor-command";
/// The module of Ansible for machines; their XML may be in other files.
const MODULE: &str = "community.libvirt.virt:";

/// Whether a text has no domain, and only commands that affect no clock.
fn only_runs(text: &str) -> bool {
    begin(text).is_none() && (text.contains(MODULE) || named::runs(text, "virsh", VERBS))
}

fn lint(document: &Document) -> Result<Report, LintError> {
    if document.name.ends_with(".nix")
        && let Some(report) = nix::judge(document)
    {
        return Ok(report);
    }
    if only_runs(document.text.as_str()) {
        return Ok(nothing(document.guest.unwrap_or_default()));
    }
    // A script may mention a domain without defining one.
    let script = document.text.as_str().starts_with("#!");
    let tree = match read(&document.text) {
        Err(_) if script => return Err(LintError::whole(NO_MACHINE)),
        tree => tree?,
    };
    let reports: Result<Vec<Report>, _> = pieces::all(document, &tree).iter().map(lint).collect();
    if let Some(mut report) = together(reports?) {
        report.findings.iter_mut().for_each(|finding| finding.leave_edits(pieces::WHY));
        return Ok(report);
    }
    let mut report = Report::of(Known::default(), tree.template, Vec::new());
    let mut known = Vec::new();
    let mut names = HashSet::new();
    for domain in Domain::all(&tree, document) {
        report.partial |= !domain.whole || domain.is_untyped();
        known.push(Known { guest: domain.guest, guessed: domain.guessed });
        names.insert(domain.child("name").map(|name| name.text()));
        report.findings.extend(match domain.driver() {
            domain::Driver::Qemu => check::check(&domain),
            domain::Driver::Xen => xen::check(&domain),
            domain::Driver::Other => Vec::new(),
        });
    }
    // A snapshot has one machine twice.
    let told = known.iter().find(|it| it.guest != Guest::Unknown).map(|it| it.guest);
    report.guest = match names.len() {
        0 | 1 => told.unwrap_or_default(),
        _ => Known::of_all(&known),
    };
    report.guessed = known.iter().any(|it| it.guessed);
    Ok(report)
}

/// Whether a domain of the file is emulated.
pub(crate) fn emulated(document: &Document) -> bool {
    let tree = read(&document.text);
    tree.is_ok_and(|tree| Domain::all(&tree, document).iter().any(Domain::emulated))
}

/// Returns where the first relevant element begins.
pub(crate) fn begin(text: &str) -> Option<usize> {
    ROOTS.split(' ').filter_map(|root| tags(text, root).next()).min()
}

/// Returns the root element of another program's document, and its place, unless a domain is inside.
fn foreign(text: &str) -> Option<(usize, &str)> {
    let (at, name) = root(text)?;
    let local = name.rsplit(':').next().unwrap_or(name);
    let own = |list: &str| list.split_whitespace().any(|one| one.trim_start_matches('<') == local);
    let has = |name: &str| tags(text, name).next().is_some();
    let machine = own::any(text);
    let within = || machine || WHOLE.split(' ').any(|name| name != "<domain" && has(name));
    // A stylesheet generates a part of a domain.
    let generates = matches!(local, "stylesheet" | "transform");
    let known = generates || own(SILENT) || own(ROOTS) && (local != "domain" || machine);
    // A host also has a `<cpu>`, which does not describe a machine.
    let host = matches!(name, "capabilities" | "domainCapabilities");
    (host || !known && !within()).then_some((at, name))
}

/// Returns the text with blanks in place of everything outside the here-documents that contain a domain or a part of
/// one, if the first one is in such a document. Offsets do not change.
fn documents_alone(text: &str, from: usize) -> Option<Text> {
    let documents = here_documents(text);
    documents.iter().find(|span| span.contains(&from))?;
    let wanted = documents
        .into_iter()
        .filter(|span| text.get(span.clone()).is_some_and(|inner| begin(inner).is_some()));
    let mut alone = String::with_capacity(text.len());
    let mut at = 0;
    let blank = |alone: &mut String, rest: &str| {
        alone.extend(
            rest.bytes().map(|b| if matches!(b, b'\n' | b'\r') { char::from(b) } else { ' ' }),
        );
    };
    for span in wanted {
        blank(&mut alone, text.get(at..span.start).unwrap_or_default());
        at = span.end;
        alone.push_str(text.get(span).unwrap_or_default());
    }
    blank(&mut alone, text.get(at..).unwrap_or_default());
    Some(Text::new(alone))
}

/// Returns the tree of a file; the text before the first relevant element is skipped.
pub(crate) fn read(text: &Text) -> Result<Tree, LintError> {
    // A comment before it may quote an element; then the text is read from the comment.
    let element = begin(text.as_str());
    let comment = text.as_str().find("<!--");
    let from = match (element, comment) {
        (Some(element), Some(comment)) => element.min(comment),
        (element, comment) => element.or(comment).unwrap_or(0),
    };
    if let Some((at, name)) = foreign(text.as_str()) {
        if matches!(name, "capabilities" | "domainCapabilities") {
            return Err(LintError::within(text, at, CAPABILITIES));
        }
        let words = match name {
            "domain" => OTHER_DOMAIN,
            _ => "its first element is not one of libvirt; a machine is a <domain>",
        };
        return Err(LintError::within(text, at, words));
    }
    let alone = documents_alone(text.as_str(), from);
    let mut tree = Tree::parse(alone.as_ref().unwrap_or(text), from)?;
    if tree.roots.is_empty() {
        return Err(LintError::whole("it contains no element of a libvirt domain"));
    }
    // Several parts without a domain may be in one file; everything else is one document.
    let parts = tree.roots.len() > 1 && tree.all("domain").next().is_none();
    let source = text.as_str().trim_start_matches('\u{feff}').trim_start();
    let begins = source.starts_with('<');
    // Only a comment may precede the parts.
    let before = text.as_str().len() - source.len();
    let parts = parts && (from <= before);
    if begins && !tree.template && !parts {
        well_formed(text)?;
    }
    // Elements of libvirt have no namespace, except those passed to a hypervisor.
    tree.forget_foreign("http://libvirt.org/schemas/");
    Ok(tree)
}
