//! Whether the files that a boot loader's program made have the requested words, and are whole: its exit code
//! shows neither.
//!
//! The rule, for every file that it makes entries in:
//!
//! - It is not empty, has an entry that boots Linux, and ends where it should: every section of grub.cfg that is
//!   begun is ended, every entry closed.
//! - Every entry that is made of the settings has every word that was added, and no word that was removed. Recovery
//!   and rescue entries are made without these words, so that they start the machine if the change fails. Entries of
//!   other systems (os-prober), of memory tests, and those that are written by hand (40_custom) are not made of the
//!   settings.
//! - Everything else is as before: entries, sections and lines ([`alike`]). A previous entry is missing only if its
//!   kernel is no longer in `/boot`. A new entry, even one in a separate file, is like a previous one, for a new
//!   kernel.
//! - The line of a kernel is one command: after `;`, `&` or `|` GRUB would run another one.
//! - Nothing of its entries is hidden from a check of its lines, and the entry that boots by default has the words, if
//!   it is one of this system ([`unseen`]).
//! - It has no zero bytes, and as a script no quote and no block that is open at its end (`made/lexer.rs`).
//!
//! Sources: `util/grub-mkconfig.in` (the sections), `util/grub.d/10_linux.in` and `20_linux_xen.in` (the entries, and
//! `-recovery-` in the identifier of those that get `GRUB_CMDLINE_LINUX_RECOVERY`); Alpine's `update-extlinux`;
//! u-boot-menu's `u-boot-update`.

mod alike;
mod images;
mod length;
mod lexer;
mod unseen;

pub(crate) use images::{
    has_entries, images, is_broken, is_entry_file, kernels, options, uncounted,
};
pub(crate) use length::{cut, too_long};

use super::bls;
use crate::system::Longest;
use crate::words::{self, Change};
use std::path::{Path, PathBuf};

/// A file that a program may have made, before and after; `None` if it did not, or does not,
/// exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) path: PathBuf,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
}

/// A fault of a file that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) path: PathBuf,
    /// The reason, as in `grub.cfg lacks ...`.
    pub(crate) why: String,
    pub(crate) kind: Kind,
}

/// The part that has the fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The words.
    Words,
    /// Another part.
    Other,
    /// The entry that boots is not known: it is not visible here, or is a different one.
    Unseen,
}

/// An entry that boots Linux.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Entry {
    title: String,
    line: usize,
    section: Option<String>,
    recovery: bool,
    kernel: String,
    words: String,
    /// The text that follows the command on its line.
    behind: Option<String>,
}

/// Whether a file is grub.cfg.
fn is_grub(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "grub.cfg")
}

fn is_extlinux(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "extlinux.conf")
}

fn is_bls(path: &Path) -> bool {
    path.parent().is_some_and(|parent| parent.ends_with("loader/entries"))
        && path.extension().is_some_and(|end| end.eq_ignore_ascii_case("conf"))
}

/// Checks all files that a program made. `has_kernel` returns whether `/boot` has a file of this
/// name, or the system one of this path. `all` are the words that may differ.
///
/// # Errors
/// Returns the fault of the first file that has one.
pub(crate) fn check(
    files: &[Made],
    change: &Change,
    all: Option<&Change>,
    has_kernel: &dyn Fn(&str) -> bool,
) -> Result<(), Fault> {
    present(files, change, has_kernel)?;
    let Some(all) = all else { return Ok(()) };
    for made in files {
        if let Some(why) = alike::difference(made, all, has_kernel) {
            return Err(Fault { path: made.path.clone(), why, kind: Kind::Other });
        }
        if is_bls(&made.path)
            && made.before.is_none()
            && made.after.is_some()
            && let Some(why) = added(made, files, all, has_kernel)
        {
            let why = format!("is a new entry: {why}");
            return Err(Fault { path: made.path.clone(), why, kind: Kind::Other });
        }
    }
    unseen::check(files, change, &variables(files), has_kernel)
}

/// Returns the reason why an entry file that a program added is not one of a new kernel, like a
/// previous one; for other new files in such a directory, only that they are new. `former` are the
/// files that existed before.
pub(crate) fn added(
    made: &Made,
    former: &[Made],
    change: &Change,
    has_kernel: &dyn Fn(&str) -> bool,
) -> Option<String> {
    let text = made.after.as_deref();
    if !is_bls(&made.path) {
        return Some("a new file".to_owned());
    }
    alike::added_entry(&made.path, text, former, change, has_kernel)
}

/// Returns the files that entries load and that none loaded before, by the names that the entries give them, each with
/// its entry's file.
pub(crate) fn newly_loaded(files: &[Made]) -> Vec<(&Path, String)> {
    let loads = |text: &str| -> Vec<String> {
        let of_line = |line: &str| {
            let line = line.trim();
            let words = |names: &[&str]| keyword(line, names).map(lexer::words).unwrap_or_default();
            let kernel =
                words(&["linux", "linux16", "linuxefi", "kernel", "uki", "efi"]).into_iter();
            // Options may precede the file of `module2`.
            let mut module = words(&[
                "module",
                "module2",
                "xen_module",
                "multiboot",
                "multiboot2",
                "xen_hypervisor",
            ])
            .into_iter();
            let module = module.find(|word| !word.starts_with('-'));
            let rest = words(&["initrd", "initrd16", "initrdefi", "devicetree", "fdt"]);
            kernel.take(1).chain(module).chain(rest).collect::<Vec<_>>()
        };
        text.lines().flat_map(of_line).collect()
    };
    let of = |text: &Option<String>| text.as_deref().map(loads).unwrap_or_default();
    let before: std::collections::BTreeSet<String> =
        files.iter().flat_map(|made| of(&made.before)).collect();
    files
        .iter()
        .filter(|made| is_grub(&made.path) || is_extlinux(&made.path) || is_bls(&made.path))
        .flat_map(|made| of(&made.after).into_iter().map(|name| (made.path.as_path(), name)))
        .filter(|(_, name)| !before.contains(name))
        .collect()
}

/// Checks that each file is whole, and has the words.
fn present(
    files: &[Made],
    change: &Change,
    has_kernel: &dyn Fn(&str) -> bool,
) -> Result<(), Fault> {
    let looked_at =
        |made: &&Made| is_grub(&made.path) || is_extlinux(&made.path) || is_bls(&made.path);
    let mut entries = 0;
    let mut defers = None;
    // The source of entries of new kernels: the words on any of its lines.
    let future = files.iter().filter(|made| made.path == Path::new(bls::CMDLINE));
    for (made, text) in future.filter_map(|made| Some((made, made.after.as_ref()?))) {
        if let Some(why) = wrong(&text.replace('\n', " "), change, &[]) {
            let kind = Kind::Words;
            return Err(Fault { path: made.path.clone(), why, kind });
        }
    }
    let variables = variables(files);
    for made in files.iter().filter(looked_at) {
        let fault = |why: String| Fault { path: made.path.clone(), why, kind: Kind::Other };
        let lacks = |why: String| Fault { kind: Kind::Words, ..fault(why) };
        let Some(after) = &made.after else {
            if made.before.is_none() || is_bls(&made.path) {
                continue;
            }
            return Err(fault("is gone".to_owned()));
        };
        if after.contains('\0') {
            return Err(fault("has zero bytes".to_owned()));
        }
        if is_bls(&made.path) {
            entries += usize::from(entry_file(made, after, change, &variables).map_err(lacks)?);
        } else {
            let menu = Menu::of(&made.path, after);
            whole(made, after, &menu, has_kernel).map_err(fault)?;
            let found = good(&menu.entries, change, &variables).map_err(lacks)?;
            if is_grub(&made.path) && bls::are_read_by(after) {
                defers = Some(made);
            } else if found == 0 {
                return Err(fault("has no entry that boots Linux".to_owned()));
            }
            entries += found;
        }
    }
    if entries > 0 {
        return Ok(());
    }
    let first = files.iter().find(looked_at).or(files.first());
    Err(Fault {
        path: defers.or(first).map(|made| made.path.clone()).unwrap_or_default(),
        why: "has no entry that boots Linux".to_owned(),
        kind: Kind::Other,
    })
}

/// Returns the words that entries share by a variable (`$kernelopts`): from the environment block, or set in grub.cfg.
fn variables(files: &[Made]) -> Vec<String> {
    // The environment block takes precedence.
    let blocks = files.iter().filter(|made| made.path.ends_with("grubenv"));
    blocks
        .chain(files.iter().filter(|made| is_grub(&made.path)))
        .filter_map(|made| made.after.as_deref())
        .flat_map(str::lines)
        .filter_map(|line| {
            let line = line.trim();
            let line = line.strip_prefix("set ").unwrap_or(line);
            Some(line.strip_prefix("kernelopts=")?.trim_matches('"').to_owned())
        })
        .collect()
}

/// Returns whether an entry file boots Linux, and checks that it has the required words.
fn entry_file(
    made: &Made,
    text: &str,
    change: &Change,
    variables: &[String],
) -> Result<bool, String> {
    if text.trim().is_empty() && made.before.as_ref().is_some_and(|it| !it.trim().is_empty()) {
        return Err("is empty".to_owned());
    }
    if bls::is_rescue(&made.path) || !bls::boots_linux(text) {
        return Ok(false);
    }
    let options = bls::all_options(text);
    match wrong(&options, change, variables) {
        Some(why) => Err(why),
        None => Ok(true),
    }
}

/// Returns how many entries have the required words.
fn good(all: &[Entry], change: &Change, variables: &[String]) -> Result<usize, String> {
    let mut found = 0;
    for entry in intended(all).into_iter().filter(|entry| !entry.recovery) {
        let why = wrong(&entry.words, change, variables)
            .or_else(|| cut(&entry.words, change, Longest::default()));
        if let Some(why) = why {
            return Err(format!("{why} on its entry '{}' (line {})", entry.title, entry.line));
        }
        found += 1;
    }
    Ok(found)
}

/// Describes the words that a line lacks, or must not have.
fn wrong(line: &str, change: &Change, variables: &[String]) -> Option<String> {
    let mut line = line.to_owned();
    if words::has(&line, "$kernelopts") || words::has(&line, "${kernelopts}") {
        line = format!("{line} {}", variables.first().map_or("", String::as_str));
    }
    let open = change.open(&line);
    if !open.add.is_empty() {
        return Some(format!("lacks {}", open.add.join(" ")));
    }
    (!open.remove.is_empty()).then(|| format!("still has {}", open.remove.join(" ")))
}

/// Returns the entries that are generated from the settings.
fn intended(all: &[Entry]) -> Vec<&Entry> {
    let sections = intended_sections(all.iter().filter_map(|entry| entry.section.as_ref()));
    let linux = |entry: &&Entry| entry.section.as_ref().is_some_and(|name| sections.contains(name));
    if all.iter().any(|entry| entry.section.is_some()) {
        let by_linux = sections.iter().any(|name| script(name).starts_with("linux"));
        return all
            .iter()
            .filter(|entry| linux(entry) || !by_linux && entry.section.is_none())
            .collect();
    }
    all.iter().collect()
}

/// Returns the sections, of these, that are generated from the settings.
fn intended_sections<'a>(
    all: impl Iterator<Item = &'a String>,
) -> std::collections::BTreeSet<String> {
    let all: std::collections::BTreeSet<String> = all.cloned().collect();
    let linux = |name: &&String| script(name).starts_with("linux");
    if all.iter().any(|name| linux(&name)) {
        return all.iter().filter(linux).cloned().collect();
    }
    let others = ["os-prober", "custom", "memtest", "uefi", "fwupd"];
    let other = |name: &str| others.iter().any(|other| script(name).contains(other));
    all.into_iter().filter(|name| !other(name)).collect()
}

/// `linux` of `/etc/grub.d/10_linux`.
fn script(section: &str) -> &str {
    let name = section.rsplit('/').next().unwrap_or(section);
    name.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '_')
}

/// Checks that the file is complete.
fn whole(
    made: &Made,
    after: &str,
    new: &Menu,
    has_kernel: &dyn Fn(&str) -> bool,
) -> Result<(), String> {
    if after.trim().is_empty() {
        return Err("is empty".to_owned());
    }
    if is_grub(&made.path) {
        ends(after, new)?;
        // A fault that the previous file had as well did not prevent GRUB from reading it.
        let before = made.before.as_deref();
        if let Some(fault) = lexer::fault(after)
            && before.is_none_or(|before| lexer::fault(before).is_none())
        {
            return Err(fault);
        }
        let more = |entry: &&Entry| entry.behind.is_some();
        if let Some(entry) = intended(&new.entries).into_iter().find(more) {
            return Err(format!(
                "has more than one command on the line of the kernel of its entry '{}' (line {}): \
                 {}. GRUB runs what follows, and the kernel does not get it; quote it in the \
                 settings, or remove it",
                entry.title,
                entry.line,
                entry.behind.as_deref().unwrap_or_default()
            ));
        }
    }
    let Some(before) = made.before.as_deref() else { return Ok(()) };
    let old = Menu::of(&made.path, before);
    let lost = intended(&old.entries).into_iter().find(|entry| {
        !new.entries.iter().any(|other| other.kernel == entry.kernel) && has_kernel(&entry.kernel)
    });
    if let Some(entry) = lost {
        return Err(format!("no longer has an entry for {}, which is in /boot", entry.kernel));
    }
    Ok(())
}

fn marker<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    line.strip_prefix("### ")?.strip_prefix(word)?.strip_suffix("###").map(str::trim)
}

/// Checks that every section and every entry has its end.
fn ends(text: &str, menu: &Menu) -> Result<(), String> {
    let mut open: Option<&str> = None;
    for line in text.lines() {
        if let Some(name) = marker(line, "BEGIN") {
            if let Some(open) = open {
                return Err(format!("has no end of its section {open}"));
            }
            open = Some(name);
        } else if marker(line, "END").is_some() {
            open = None;
        }
    }
    if let Some(open) = open {
        return Err(format!("has no end of its section {open}"));
    }
    if let Some((title, line)) = &menu.open {
        return Err(format!("has no end of its entry '{title}' (line {line})"));
    }
    Ok(())
}

/// The content of a file with entries.
#[derive(Default)]
struct Menu {
    entries: Vec<Entry>,
    /// The entry that has no end, with its line.
    open: Option<(String, usize)>,
}

impl Menu {
    fn of(path: &Path, text: &str) -> Self {
        if is_grub(path) { grub(text) } else { Self { entries: extlinux(text), ..Self::default() } }
    }
}

/// An entry of a grub.cfg that has begun.
struct Block {
    title: String,
    line: usize,
    depth: usize,
    recovery: bool,
    /// Whether it has an identifier.
    named: bool,
}

/// One pass over a grub.cfg. An entry ends where as many lines began with `}` as ended in `{`; a `linux` line outside
/// of any entry counts as a separate entry. A hand-written section may have another form: it is read up to its end,
/// and not judged.
fn grub(text: &str) -> Menu {
    let mut found = Menu::default();
    let mut section: Option<String> = None;
    let mut block: Option<Block> = None;
    for (number, line) in text.lines().enumerate() {
        let body = line.trim();
        let begins = keyword(body, &["menuentry", "submenu"]).is_some();
        let ends = marker(line, "END").is_some();
        if begins || ends {
            let ours = section.as_deref().is_some_and(|name| script(name).starts_with("linux"));
            let left = block.take_if(|_| ours || ends);
            let left = left.filter(|_| ours).map(|block| (block.title, block.line));
            found.open = found.open.or(left);
        }
        if let Some(name) = marker(line, "BEGIN") {
            section = Some(name.to_owned());
        } else if ends {
            section = None;
        }
        if let Some(rest) = keyword(body, &["menuentry"]) {
            let title = title(rest);
            let recovery = rest.contains("-recovery") || title.contains("(recovery mode)");
            let named = rest.contains("menuentry_id_option") || rest.contains("--id");
            if !body.ends_with('}') {
                let depth = usize::from(body.ends_with('{'));
                block = Some(Block { title, line: number + 1, depth, recovery, named });
            }
            continue;
        }
        match &mut block {
            Some(open) if body.starts_with('}') => {
                open.depth = open.depth.saturating_sub(1);
                if open.depth == 0 {
                    block = None;
                }
                continue;
            }
            Some(open) => open.depth += usize::from(body.ends_with('{') && !body.starts_with('#')),
            None => {}
        }
        let modules =
            |name: &str| script(name).contains("xen") || script(name).starts_with("linux");
        let xen = section.as_deref().is_none_or(modules);
        let Some(words) = kernel_line(body, xen) else { continue };
        let kernel = words.split_ascii_whitespace().next().unwrap_or_default();
        let kernel = kernel.rsplit('/').next().unwrap_or_default().to_owned();
        if kernel.starts_with("memtest") {
            continue;
        }
        let (title, recovery, named) = match &block {
            Some(block) => (block.title.clone(), block.recovery, block.named),
            None => (String::new(), false, false),
        };
        let single = ["single", "recovery"].iter().any(|word| words::has(words, word));
        found.entries.push(Entry {
            title,
            line: number + 1,
            section: section.clone(),
            recovery: recovery || !named && single,
            kernel,
            words: lexer::line(words),
            behind: lexer::behind(words),
        });
    }
    found.open = found.open.or(block.map(|block| (block.title, block.line)));
    found
}

/// The text after one of these words, which match in any case of letters.
fn keyword<'a>(line: &'a str, names: &[&str]) -> Option<&'a str> {
    let end = line.find([' ', '\t'])?;
    let (word, rest) = line.split_at(end);
    names.iter().any(|name| word.eq_ignore_ascii_case(name)).then(|| rest.trim_start())
}

/// Commands that load a kernel with its command line.
const KERNELS: [&str; 3] = ["linux", "linux16", "linuxefi"];
/// Those that load a kernel under a hypervisor, and other files as well.
const MODULES: [&str; 3] = ["module", "module2", "xen_module"];

/// Whether a module is a kernel, by the name of its file.
fn is_image(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    ["vmlinuz", "vmlinux", "kernel", "Image"].iter().any(|it| name.starts_with(it))
}

/// Returns the kernel and its words; under Xen it is a module after the hypervisor.
fn kernel_line(line: &str, xen: bool) -> Option<&str> {
    if let Some(rest) = keyword(line, &KERNELS) {
        return Some(rest);
    }
    let mut rest = keyword(line, &MODULES).filter(|_| xen)?;
    while let Some((_, more)) = rest.split_once([' ', '\t']).filter(|_| rest.starts_with("--")) {
        rest = more.trim_start();
    }
    rest.split_ascii_whitespace().next().is_some_and(is_image).then_some(rest)
}

/// The title of an entry, without its quotes.
fn title(rest: &str) -> String {
    let quote = rest.chars().next().filter(|first| ['\'', '"'].contains(first));
    let title = match quote {
        Some(quote) => rest.get(1..).and_then(|rest| rest.split(quote).next()),
        None => rest.split_ascii_whitespace().next(),
    };
    title.unwrap_or_default().to_owned()
}

/// The labels of an extlinux.conf that boot Linux from a root filesystem.
fn extlinux(text: &str) -> Vec<Entry> {
    let mut all: Vec<Entry> = Vec::new();
    let mut label: Option<Entry> = None;
    for (number, line) in text.lines().enumerate() {
        let body = line.trim_start();
        if let Some(name) = keyword(body, &["label"]) {
            all.extend(label.take());
            label =
                Some(Entry { title: name.trim().to_owned(), line: number + 1, ..Entry::default() });
        } else if let (Some(entry), Some(rest)) = (&mut label, keyword(body, &["linux", "kernel"]))
        {
            entry.kernel = rest.trim().rsplit('/').next().unwrap_or_default().to_owned();
        } else if let (Some(entry), Some(rest)) = (&mut label, keyword(body, &["append"])) {
            entry.words = rest.trim().to_owned();
            entry.line = number + 1;
            entry.recovery = words::has(rest, "single");
        }
    }
    all.extend(label);
    let program = |name: &str| [".c32", ".0", ".bin", ".img"].iter().any(|end| name.ends_with(end));
    all.retain(|entry| {
        !entry.kernel.is_empty() && !entry.kernel.starts_with("memtest") && !program(&entry.kernel)
    });
    let rooted = |entry: &Entry| words::words(&entry.words).any(|word| word.starts_with("root="));
    if all.iter().any(rooted) {
        all.retain(rooted);
    }
    all
}

#[cfg(test)]
mod tests;
