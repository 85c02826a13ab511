//! Whether a file is of a machine whose state is saved, loaded or received: such a state loads only into a machine with
//! the same devices and the same processor (QEMU: "Unknown savevm section or instance", "load of migration failed"), so
//! neither is edited there. Other reasons to leave a change are in `certain`.

use crate::comments;
use crate::document::Document;
use crate::edit::Edit;
use crate::finding::Finding;
use crate::formats::{Kind, libvirt};

/// Rules whose change leaves the machine as it is, and only replaces an option that QEMU removed.
const SAME_MACHINE: [&str; 2] = ["q-no-hpet-removed", "q-no-acpi-removed"];

/// QEMU options that start from a state.
const OPTIONS: [&str; 2] = ["incoming", "loadvm"];
/// Commands that save, load or receive a state, each a whole word.
const COMMANDS: [&str; 16] = [
    // QEMU's monitor, and QMP.
    "savevm",
    "loadvm",
    "snapshot-save",
    "snapshot-load",
    "migrate-incoming",
    "migrate_incoming",
    // virsh.
    "managedsave",
    "save-image-define",
    "save-image-edit",
    "snapshot-create",
    "snapshot-create-as",
    "snapshot-revert",
    // VirtualBox.
    "savestate",
    "adoptstate",
    // Firecracker, Cloud Hypervisor.
    "mem_backend",
    "vm.restore",
];
/// Requests to Firecracker and Cloud Hypervisor.
const REQUESTS: [&str; 4] = ["snapshot/load", "snapshot/create", "vm.snapshot", "source_url=file"];
/// Commands of `virsh` that save or receive a state.
const VIRSH: [&str; 3] = ["save", "restore", "migrate"];
/// Destinations of a migration, after `migrate` of QEMU's monitor.
const TARGETS: [&str; 7] = ["-d", "tcp:", "unix:", "exec:", "fd:", "rdma:", "file:"];
/// The least number of keys that are `null` in a `config.json` of Cloud Hypervisor's snapshots; a file for a start
/// omits them.
const MOST_NULLS: usize = 3;

/// Removes the changes after which a saved state would not load; adds the reason to the findings.
pub(crate) fn keep(document: &Document, findings: &mut [Finding]) {
    let edits = |finding: &&mut Finding| {
        !finding.edits.is_empty() && !SAME_MACHINE.contains(&finding.rule.id)
    };
    let mut open = findings.iter_mut().filter(edits).peekable();
    if open.peek().is_none() {
        return;
    }
    if let Some(why) = why(document) {
        for finding in open {
            finding.edits.clear();
            finding.left = Some(why.clone());
        }
    }
}

/// Returns the changes by choices, or the reason why none of them is made.
pub(crate) fn choices(document: &Document, edits: Vec<Vec<Edit>>) -> (Vec<Vec<Edit>>, Vec<String>) {
    match why(document).filter(|_| !edits.is_empty()) {
        Some(why) => (Vec::new(), vec![why]),
        None => (edits, Vec::new()),
    }
}

/// Returns why the machine must stay as it is; `None` if no saved state is known.
fn why(document: &Document) -> Option<String> {
    let what = match document.kind {
        // These set options of a kernel, or their cluster manages the state.
        Kind::Persistence | Kind::Tuned | Kind::Nova | Kind::Kubevirt | Kind::Ovf => return None,
        Kind::Libvirt => domain(document).or_else(|| words(document)),
        Kind::Proxmox => suspended(document).or_else(|| words(document)),
        Kind::Virtualbox => has(document, "stateFile=\"").or_else(|| words(document)),
        Kind::Vmware => has(document, "checkpoint.vmState = \""),
        Kind::CloudHypervisor => dumped(document).or_else(|| words(document)),
        _ => words(document),
    }?;
    Some(format!(
        "{what}: a saved state of this machine does not load into a machine with another device or CPU property; \
         change it when no such state is needed, and where it migrates, on both sides"
    ))
}

fn line_of(document: &Document, at: usize) -> u32 {
    document.text.place(at).line
}

/// A domain in a snapshot with memory, in the state of a running machine, or in a saved image.
fn domain(document: &Document) -> Option<String> {
    let name = document.name.replace('\\', "/");
    if name.ends_with(".save") || name.contains("/qemu/save/") {
        return Some("the file is of a saved machine".to_owned());
    }
    let text = document.text.as_str();
    if !text.contains("<domainsnapshot") && !text.contains("<domstatus") {
        return None;
    }
    let tree = libvirt::read(&document.text).ok()?;
    if let Some(element) = tree.all("domstatus").next() {
        let line = line_of(document, element.open.start);
        return Some(format!("line {line}: <domstatus> is the state of a running machine"));
    }
    let snapshot = tree.all("domainsnapshot").next()?;
    let memory = tree.children(snapshot, "memory").find_map(|it| it.value("snapshot"));
    let state = tree.children(snapshot, "state").next().map(|it| it.text().trim().to_owned());
    let without = match memory {
        Some(memory) => memory == "no",
        None => state.is_some_and(|state| matches!(state.as_str(), "shutoff" | "disk-snapshot")),
    };
    let line = line_of(document, snapshot.open.start);
    (!without).then(|| format!("line {line}: the snapshot has the memory of the machine"))
}

/// A Proxmox VE machine that is suspended to disk.
fn suspended(document: &Document) -> Option<String> {
    let mut snapshot = false;
    for (at, line) in document.text.lines() {
        snapshot |= line.starts_with('[');
        let (key, value) = line.split_once(':').unwrap_or_default();
        if key == "vmstate" || (key == "lock" && value.trim() == "suspended") {
            let line = line_of(document, at);
            let what = if snapshot {
                "a snapshot has the memory of the machine"
            } else {
                "the machine is suspended to disk"
            };
            return Some(format!("line {line}: {what}"));
        }
    }
    None
}

/// Finds a value that is not empty and names a file with the state.
fn has(document: &Document, mark: &str) -> Option<String> {
    let text = document.text.as_str();
    let names = |at: &usize| {
        let value = text.get(at + mark.len()..).unwrap_or_default();
        !value.trim_start().starts_with('"')
    };
    let at = text.match_indices(mark).map(|(at, _)| at).find(names)?;
    Some(format!("line {}: the machine has a saved state", line_of(document, at)))
}

/// The `config.json` that Cloud Hypervisor writes with a snapshot: it has every key.
fn dumped(document: &Document) -> Option<String> {
    let text = document.text.as_str();
    let nulls = text.split(':').skip(1).filter(|rest| rest.trim_start().starts_with("null"));
    (nulls.count() >= MOST_NULLS)
        .then(|| "Cloud Hypervisor wrote this file itself, as it does beside a snapshot".to_owned())
}

/// Words outside of comments that save, load or receive a state.
fn words(document: &Document) -> Option<String> {
    let text = document.text.as_str();
    let all =
        OPTIONS.iter().chain(&COMMANDS).chain(&REQUESTS).chain(&["migrate", "virsh", "--restore"]);
    // Most files have none of them.
    if !all.into_iter().any(|word| text.contains(word)) {
        return None;
    }
    let mut comments = comments::of(document);
    comments.sort_by_key(|it| it.start);
    let commented = |at: usize| {
        let before = comments.partition_point(|it| it.start <= at);
        before.checked_sub(1).and_then(|n| comments.get(n)).is_some_and(|it| it.contains(&at))
    };
    let found = OPTIONS.iter().flat_map(|name| option(text, name));
    let found = found.chain(COMMANDS.iter().flat_map(|name| word(text, name)));
    let found =
        found.chain(REQUESTS.iter().flat_map(|name| text.match_indices(name).map(|(at, _)| at)));
    let found = found.chain(word(text, "migrate").filter(|at| migrates(text, *at)));
    let found = found.chain(word(text, "virsh").filter(|at| virsh(text, *at)));
    let restore = text.contains("cloud-hypervisor") || document.kind == Kind::CloudHypervisor;
    let found = found.chain(option(text, "restore").filter(|_| restore));
    let at = found.filter(|at| !commented(*at)).min()?;
    let what = text.get(at..).unwrap_or_default();
    let end = what.find(|c: char| c.is_whitespace() || "\"'`,;<>()\\".contains(c));
    let what = what.get(..end.unwrap_or(what.len())).unwrap_or_default();
    Some(format!("line {}: {what}", line_of(document, at)))
}

fn in_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// Returns the places of a word.
fn word<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = usize> + 'a {
    text.match_indices(name).map(|(at, _)| at).filter(move |at| {
        let before = text.get(..*at).and_then(|before| before.chars().next_back());
        let after = text.get(at + name.len()..).and_then(|after| after.chars().next());
        !before.is_some_and(in_word) && !after.is_some_and(in_word)
    })
}

/// Returns the places of an option, with one dash or two.
fn option<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = usize> + 'a {
    text.match_indices(name).filter_map(move |(at, _)| {
        let front = text.get(..at)?;
        let front = front.strip_suffix("--").or_else(|| front.strip_suffix('-'))?;
        let after = text.get(at + name.len()..)?.chars().next();
        let own = !front.chars().next_back().is_some_and(in_word);
        (own && !after.is_some_and(in_word)).then_some(front.len())
    })
}

/// The limit of a line's part that is read, in bytes: a hostile line has many commands.
const MOST_OF_LINE: usize = 512;

/// Returns the rest of the line.
fn rest(text: &str, at: usize) -> &str {
    let mut end = at.saturating_add(MOST_OF_LINE).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(at..end).and_then(|rest| rest.lines().next()).unwrap_or_default()
}

/// Returns the part of the line before a place.
fn front(text: &str, at: usize) -> &str {
    let mut start = at.saturating_sub(MOST_OF_LINE);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text.get(start..at).and_then(|front| front.rsplit('\n').next()).unwrap_or_default()
}

/// Returns whether `migrate` is QEMU's: a target follows it, or it is the command that a request executes.
fn migrates(text: &str, at: usize) -> bool {
    let mut behind = rest(text, at).split(|c: char| c.is_whitespace() || "\"'\\".contains(c));
    let target = |word: &str| TARGETS.iter().any(|target| word.starts_with(target));
    if behind.by_ref().skip(1).find(|word| !word.is_empty()).is_some_and(target) {
        return true;
    }
    let marks = |c: char| c.is_whitespace() || ":\"'\\=".contains(c);
    front(text, at).trim_end_matches(marks).ends_with("execute")
}

/// Whether a line of virsh saves, restores or migrates.
fn virsh(text: &str, at: usize) -> bool {
    let words = rest(text, at).split(|c: char| c.is_whitespace() || "\"';|&".contains(c));
    words.skip(1).any(|word| VIRSH.contains(&word))
}
