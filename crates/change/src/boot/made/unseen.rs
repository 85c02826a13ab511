//! Entries that a grub.cfg can boot, but that a check of its lines does not see.
//!
//! The other checks read a line at a time: an entry follows `menuentry`, and its kernel follows `linux` at the
//! beginning of a line. GRUB reads more: a line that a backslash continues, a command after another one on its line, a
//! command whose name is quoted or comes from a variable, another file with entries. Such a file is refused in the
//! sections that the settings make, with its line. The entry that GRUB boots by default is checked in every section:
//! one that leads to another file, or to a kernel of this system without the words, is not the one that was verified.
//!
//! Sources: `grub-core/script/parser.y`; `util/grub.d/00_header.in` (`default`, `saved_entry`); `get_entry_number` of
//! `grub-core/normal/menu.c` (an entry by its number, title or identifier, after `>` within a submenu).

use super::lexer::{self, Command};
use super::{
    Fault, KERNELS, Kind, MODULES, Made, intended_sections, is_grub, is_image, marker, script,
};
use crate::boot::bls;
use crate::words::Change;
use std::path::Path;

/// Commands that lead to text that is not read here.
const LEADS: [&str; 12] = [
    "configfile",
    "source",
    ".",
    "eval",
    "normal",
    "legacy_source",
    "legacy_configfile",
    "legacy_kernel",
    "syslinux_source",
    "syslinux_configfile",
    "extract_entries_source",
    "extract_entries_configfile",
];
/// Commands that load a program that may be Linux: without a visible kernel, it is not known what starts.
const LOADERS: [&str; 6] =
    ["multiboot", "multiboot2", "xen_hypervisor", "kernel", "xnu_kernel64", "kfreebsd"];

/// An entry or a submenu.
struct Item {
    title: String,
    id: String,
    line: usize,
    section: Option<String>,
    /// The submenu that has it.
    within: Option<usize>,
    submenu: bool,
    kernel: Option<Command>,
    leads: Option<Command>,
    /// Whether it loads the program of another system.
    loads: bool,
}

/// Refuses entries that cannot be seen, after the visible entries were checked.
pub(super) fn check(
    files: &[Made],
    change: &Change,
    variables: &[String],
    has_kernel: &dyn Fn(&str) -> bool,
) -> Result<(), Fault> {
    // Of the block next to a file, or of any.
    let saved = |beside: &Path, name: &str| {
        let blocks = || files.iter().filter(|made| made.path.ends_with("grubenv"));
        let own = blocks().find(|made| made.path.parent() == beside.parent());
        let value = |made: &Made| {
            let lines = || made.after.as_deref().unwrap_or_default().lines();
            let value = lines().find_map(|it| it.strip_prefix(name)?.strip_prefix('='))?;
            Some(value.trim().to_owned())
        };
        own.map_or_else(|| blocks().find_map(value), value).unwrap_or_default()
    };
    for made in files.iter().filter(|made| is_grub(&made.path)) {
        let Some(text) = made.after.as_deref() else { continue };
        let fault = |(line, why): (usize, String)| Fault {
            path: made.path.clone(),
            why: format!("{why} (line {line})"),
            kind: Kind::Unseen,
        };
        let commands = lexer::commands(text);
        let sections = sections(text);
        let section = |line: usize| sections.get(line.wrapping_sub(1)).cloned().flatten();
        let judged = intended_sections(sections.iter().flatten());
        let is_judged = |line: usize| match section(line) {
            Some(name) => judged.contains(&name),
            None => judged.is_empty(),
        };
        if let Some(found) = unread(&commands, is_judged) {
            return Err(fault(found));
        }
        let mut items = items(&commands, section);
        let ours = |item: &&Item| item.section.as_deref().is_some_and(is_linux);
        let blind = |item: &&Item| !item.submenu && item.kernel.is_none();
        if let Some(item) = items.iter().filter(ours).find(blind) {
            let by = item.leads.as_ref().map_or(String::new(), |it| format!(": `{}`", it.shown()));
            let why =
                format!("starts no kernel that is seen here by its entry '{}'{by}", item.title);
            return Err(fault((item.leads.as_ref().map_or(item.line, |it| it.line), why)));
        }
        // 41_custom reads a file next to it, after everything else.
        let beside = made.path.with_file_name(CUSTOM);
        let custom = files.iter().find(|other| other.path == beside);
        let custom = custom.and_then(|other| other.after.as_deref()).map(lexer::commands);
        let reads = commands.iter().any(reads_custom);
        let mut commands = commands;
        if let Some(custom) = custom.filter(|_| reads) {
            let within = items.len();
            let more = self::items(&custom, |_| Some(CUSTOM.to_owned())).into_iter();
            items.extend(more.map(|item| {
                let within = item.within.map(|index| index + within);
                Item { within, ..item }
            }));
            commands.extend(custom);
        }
        let saved = |name: &str| saved(&made.path, name);
        let next = next(&commands, &items, &saved, bls::are_read_by(text));
        let found = default(&commands, &items, &saved, bls::are_read_by(text));
        for (item, when) in
            next.map(|it| (it, "next")).into_iter().chain(found.map(|it| (it, "by default")))
        {
            let fault = |found| match item.section.as_deref() {
                Some(CUSTOM) => Fault { path: beside.clone(), ..fault(found) },
                _ => fault(found),
            };
            let other =
                item.section.as_deref().is_some_and(|name| script(name).contains("os-prober"));
            if other {
                continue;
            }
            let boots = |how: String| format!("boots {when} its entry '{}', {how}", item.title);
            match (&item.kernel, &item.leads) {
                (Some(kernel), _) => {
                    let words = kernel.line();
                    let name = kernel.arguments().next().unwrap_or_default();
                    let name = name.rsplit('/').next().unwrap_or_default();
                    if has_kernel(name)
                        && let Some(why) = super::wrong(&words, change, variables)
                    {
                        return Err(fault((kernel.line, boots(format!("which {why}")))));
                    }
                }
                (None, Some(leads)) => {
                    let how = format!(
                        "which leads to something that is not read here: `{}`",
                        leads.shown()
                    );
                    return Err(fault((leads.line, boots(how))));
                }
                (None, None) if item.loads => {
                    let how = "which starts a program whose kernel is not seen here".to_owned();
                    return Err(fault((item.line, boots(how))));
                }
                (None, None) => {}
            }
        }
    }
    Ok(())
}

/// The file that `41_custom` reads, and the section of its entries.
const CUSTOM: &str = "custom.cfg";

fn reads_custom(command: &Command) -> bool {
    command.name() == "source" && command.arguments().any(|path| path.ends_with(CUSTOM))
}

fn is_linux(section: &str) -> bool {
    script(section).starts_with("linux")
}

/// The section of each line.
fn sections(text: &str) -> Vec<Option<String>> {
    let mut open = None;
    let of = |line: &str| {
        if let Some(name) = marker(line.trim_ascii(), "BEGIN") {
            open = Some(name.to_owned());
        }
        let section = open.clone();
        if marker(line.trim_ascii(), "END").is_some() {
            open = None;
        }
        section
    };
    text.lines().map(of).collect()
}

/// Returns the first command in the judged sections whose name, or place on its line, hides it.
fn unread(commands: &[Command], is_judged: impl Fn(usize) -> bool) -> Option<(usize, String)> {
    commands.iter().filter(|it| is_judged(it.line)).find_map(|command| {
        let name = command.name();
        let shown = command.shown();
        if let Some(line) = command.continued {
            return Some((line, format!("has a line that a backslash continues: `{shown}`")));
        }
        if command.odd {
            let why = format!("has a command whose name is quoted or from a variable: `{shown}`");
            return Some((command.line, why));
        }
        let loads = KERNELS.contains(&name) || MODULES.contains(&name) || LOADERS.contains(&name);
        (loads && !command.first)
            .then(|| (command.line, format!("has a second command on its line: `{shown}`")))
    })
}

/// All entries and submenus, in their order.
fn items(commands: &[Command], section: impl Fn(usize) -> Option<String>) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    // The item of each open block; `None` for a function's.
    let mut open: Vec<Option<usize>> = Vec::new();
    let mut next: Option<usize> = None;
    for command in commands {
        let name = command.name();
        let innermost = || open.iter().rev().copied().find_map(|it| it);
        if ["menuentry", "submenu"].contains(&name) {
            let mut words = command.arguments();
            let title = words.next().unwrap_or_default().to_owned();
            let option = |word: &&str| word.contains("menuentry_id_option") || *word == "--id";
            let id = words.find(option).and_then(|_| words.next()).unwrap_or_default().to_owned();
            items.push(Item {
                title,
                id,
                line: command.line,
                section: section(command.line),
                within: innermost(),
                submenu: name == "submenu",
                kernel: None,
                leads: None,
                loads: false,
            });
            next = Some(items.len() - 1);
        } else if let Some(item) = innermost().and_then(|index| items.get_mut(index)) {
            let module =
                MODULES.contains(&name) && command.arguments().next().is_some_and(is_image);
            if KERNELS.contains(&name) || module {
                item.kernel.get_or_insert_with(|| command.clone());
            } else if LEADS.contains(&name) {
                item.leads.get_or_insert_with(|| command.clone());
            }
            item.loads |= LOADERS.contains(&name);
        }
        for brace in &command.braces {
            if *brace {
                open.push(next.take());
            } else {
                open.pop();
            }
        }
    }
    items
}

/// Returns the values that a script assigns to `default`, in order.
fn defaults(commands: &[Command]) -> impl DoubleEndedIterator<Item = &str> {
    commands.iter().filter_map(|command| match command.name() {
        "set" => command.arguments().next()?.strip_prefix("default="),
        name => name.strip_prefix("default="),
    })
}

/// Returns the entry that GRUB boots by default, as far as it is known.
fn default<'a>(
    commands: &[Command],
    items: &'a [Item],
    saved: &dyn Fn(&str) -> String,
    reads_entries: bool,
) -> Option<&'a Item> {
    let value = defaults(commands).rfind(|value| !value.contains("next_entry")).unwrap_or("0");
    let value = match value {
        "${saved_entry}" | "$saved_entry" => saved("saved_entry"),
        value if value.contains('$') => return None,
        value => value.to_owned(),
    };
    named(items, if value.is_empty() { "0" } else { &value }, reads_entries)
}

/// The entry that GRUB boots once, where the environment block names one.
fn next<'a>(
    commands: &[Command],
    items: &'a [Item],
    saved: &dyn Fn(&str) -> String,
    reads_entries: bool,
) -> Option<&'a Item> {
    defaults(commands).find(|value| value.contains("next_entry"))?;
    let value = saved("next_entry");
    if value.is_empty() { None } else { named(items, &value, reads_entries) }
}

/// Returns the entry of a number, a title or an identifier, after `>` within a submenu.
fn named<'a>(items: &'a [Item], value: &str, reads_entries: bool) -> Option<&'a Item> {
    let mut within = None;
    let mut found: Option<usize> = None;
    for part in value.split('>') {
        let mut inside = items.iter().enumerate().filter(|(_, item)| item.within == within);
        let (index, _) = match part.parse::<usize>() {
            // Entries in separate files are also counted.
            Ok(_) if reads_entries => return None,
            Ok(number) => inside.nth(number),
            Err(_) => inside.find(|(_, item)| item.id == part || item.title == part),
        }?;
        (within, found) = (Some(index), Some(index));
    }
    items.get(found?).filter(|item| !item.submenu)
}
