//! Boot loader entries (`loader/entries/*.conf`): systemd-boot's, and those that GRUB reads on Fedora,
//! RHEL and related distributions.
//!
//! Sources: the Boot Loader Specification, type #1 (`options` may be repeated; the words are joined);
//! kernel-install(8) (new entries take `/etc/kernel/cmdline`, otherwise `/usr/lib/kernel/cmdline`,
//! otherwise the running command line); RHEL 8's `options $kernelopts`, which is a variable of
//! grubenv; grubby(8).

use super::{
    NoWay, RISK, Way, edits, file, grubenv, hand, plain, run, settings, single, strict, write,
};
use crate::system::System;
use crate::words::{self, Change};
use reader::Readers;
use std::path::{Path, PathBuf};

mod reader;

/// Directories of entries, as listed in [`crate::system::read`].
const DIRECTORIES: [&str; 3] =
    ["/boot/loader/entries", "/efi/loader/entries", "/boot/efi/loader/entries"];
/// The variable of RHEL 8.
const VARIABLE: &str = "kernelopts";
const ENVIRONMENTS: [&str; 2] = ["/boot/grub2/grubenv", "/boot/grub/grubenv"];
const VARIABLES: [&str; 2] = ["$kernelopts", "${kernelopts}"];
/// The command line of new kernels.
pub(super) const CMDLINE: &str = "/etc/kernel/cmdline";
const VENDOR: &str = "/usr/lib/kernel/cmdline";

/// The directory that has entries which boot Linux.
pub(super) fn entries(system: &System) -> Option<&'static str> {
    DIRECTORIES
        .into_iter()
        .find(|directory| reader::read(system, directory).any(|(_, text)| boots_linux(text)))
}

/// Returns the first directory of entries that cannot be read, or has an entry that cannot be read: the directory, the
/// path, the reason.
pub(super) fn unreadable(system: &System) -> Option<(&'static str, &Path, &str)> {
    DIRECTORIES.into_iter().find_map(|directory| {
        let readers = Readers::of(system);
        let is_read = |path: &Path| path == Path::new(directory) || readers.ignore(path).is_none();
        let (path, why) = system.troubles(directory).find(|(path, _)| is_read(path))?;
        Some((directory, path, why))
    })
}

/// Returns whether an entry boots Linux with options in the entry. According to the specification that is one with
/// `linux`, or one with `uki` whose options are passed to the image; without options, its command line is inside the
/// image, and added options would replace it (systemd-stub(7)). `efi` starts any program.
pub(super) fn boots_linux(text: &str) -> bool {
    value(text, "linux").is_some() || value(text, "uki").is_some() && !all_options(text).is_empty()
}

/// Whether an entry is the rescue entry.
pub(super) fn is_rescue(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains("rescue"))
}

/// All words of its options.
pub(super) fn all_options(text: &str) -> String {
    let parts = options(text).map(|(start, end)| text.get(start..end).unwrap_or_default().trim());
    parts.collect::<Vec<_>>().join(" ").trim().to_owned()
}

/// The value of a key, if it has one.
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let rest = line.trim_start().strip_prefix(key)?;
        let value = rest.strip_prefix([' ', '\t'])?.trim();
        (!value.is_empty()).then_some(value)
    })
}

/// grubby edits the entries, grubenv and `/etc/default/grub`. It changes `/etc/kernel/cmdline`, from which the entries of new
/// kernels are made, in some versions only, so that is edited first; grubby adds no word twice.
pub(super) fn grubby(system: &System, change: &Change) -> Result<Way, NoWay> {
    let mut way = Way { by: "grubby", expected: change.clone(), ..Way::default() };
    new_kernels(system, change, &mut way)?;
    let command = |change: &Change| {
        let mut command = vec!["grubby".to_owned(), "--update-kernel=ALL".to_owned()];
        if !change.add.is_empty() {
            command.push(format!("--args={}", change.add.join(" ")));
        }
        if !change.remove.is_empty() {
            command.push(format!("--remove-args={}", change.remove.join(" ")));
        }
        command
    };
    let words = command(change);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let rewrites = [
        "/boot/loader/entries",
        "/boot/grub2/grubenv",
        "/boot/grub2/grub.cfg",
        "/etc/default/grub",
        CMDLINE,
        "/etc/zipl.conf",
    ];
    let why = "grubby manages the boot entries, and the words of new kernels";
    let mut step = run(&words, &rewrites, why, RISK);
    if let crate::plan::Action::Run { regenerate, .. } = &mut step.action {
        // grubby edits existing entries, so grubby with the reversed change reverts its work.
        *regenerate = Some(command(&change.reversed()));
    }
    way.steps.push(step);
    Ok(way)
}

/// Edits the entries themselves, and the settings for new kernels.
pub(super) fn plan(system: &System, change: &Change) -> Result<Way, NoWay> {
    let mut way = Way { by: "boot loader entries", ..Way::default() };
    // A kernel whose entry is skipped would boot without the words, but the change would be reported as done.
    if let Some((_, path, why)) = unreadable(system) {
        let why = format!(
            "{why}, so whether it boots Linux, and with which words, is not known: make it readable, or move it \
             out of the directory if no boot loader needs it"
        );
        return Err(file(path, why));
    }
    let directory = entries(system).unwrap_or(DIRECTORIES[0]);
    one_directory(system, directory, change)?;
    understood(system, change)?;
    let readers = Readers::of(system);
    for (path, text) in reader::read(system, directory) {
        plain(path, text)?;
        if boots_linux(text) {
            settings::closed(&all_options(text))
                .map_err(|why| file(path, format!("{why}. {}", hand("its options", change))))?;
        }
    }
    let ordinary = |path: &Path, text: &str| !is_rescue(path) && boots_linux(text);
    let files = || reader::read(system, directory).filter(|(path, text)| ordinary(path, text));
    if reader::read(system, directory).any(|(path, text)| is_rescue(path) && boots_linux(text)) {
        way.notes.push(
            "the rescue entry is not changed: it starts the machine if the change fails".to_owned(),
        );
    }
    for (path, why) in
        system.below(directory).filter_map(|(path, _)| Some((path, readers.ignore(path)?)))
    {
        way.notes.push(format!("{} stays as it is: {why}", path.display()));
    }
    for (path, text) in reader::read(system, directory).filter(|(_, text)| !boots_linux(text)) {
        let what = if value(text, "uki").is_some() {
            "its command line is inside its image"
        } else if text.trim().is_empty() {
            "it is empty"
        } else if value(text, "efi").is_some() {
            "it starts an EFI program"
        } else {
            "it boots no Linux kernel"
        };
        way.notes.push(format!("{} stays as it is: {what}", path.display()));
    }
    // GRUB gives such an entry the words of a variable, but only as long as the entry has no options.
    if super::grub::config(system).and_then(|path| system.text(path)).is_some_and(are_read_by)
        && let Some((path, _)) = files().find(|(_, text)| options(text).next().is_none())
    {
        let why = "has no options, so GRUB takes default_kernelopts, which options of its own would replace: \
                   write all of them there by hand";
        return Err(file(path, why));
    }
    // Two entries may share a variable; it is changed once.
    let shared = files().any(|(_, text)| uses_variable(text));
    if shared {
        let path = ENVIRONMENTS.into_iter().find(|path| system.files.contains_key(Path::new(path)));
        let path = path.ok_or_else(|| {
            file(ENVIRONMENTS[0], "entries take $kernelopts from it, and it does not exist")
        })?;
        let block = system
            .text(path)
            .ok_or_else(|| file(path, system.trouble(path).unwrap_or("it cannot be read")))?;
        for (path, text) in files().filter(|(_, text)| uses_variable(text)) {
            let options = all_options(text);
            if !VARIABLES.iter().any(|name| words::has(&options, name)) {
                let why = "has $kernelopts after a lone `--`, and what follows that is for init";
                return Err(file(path, format!("{why}. {}", hand("its options", change))));
            }
        }
        plain(path, block)?;
        let edited = grubenv::edit(block, VARIABLE, change).map_err(|why| file(path, why))?;
        if edited != block {
            way.steps.push(write(
                path,
                edited,
                "the words that all entries share ($kernelopts)",
                RISK,
            ));
        }
    }
    let why = "the entries of the kernels that are installed";
    way.steps
        .extend(edits(files(), why, |text| (!uses_variable(text)).then(|| edit(text, change))));
    for step in &way.steps {
        if let crate::plan::Action::Write { path, content, .. } = &step.action
            && path.parent() == Some(Path::new(directory))
            && !change.holds(&all_options(content))
        {
            let why = "would not have the words where the kernel reads them";
            return Err(file(path, format!("{why}. {}", hand("its options", change))));
        }
        // The removal of a word may leave quotes at both ends.
        if let crate::plan::Action::Write { path, content, .. } = &step.action
            && path.parent() == Some(Path::new(directory))
            && let Some((line, why)) = readers.obstacle(content)
        {
            let why = format!("line {line} would be one that {why}");
            return Err(file(path, format!("{why}. {}", hand("its options", change))));
        }
    }
    let changed = !way.steps.is_empty();
    future(system, change, &mut way)?;
    if changed && system.text(single::ZIPL).is_some() {
        way.steps.push(single::run_zipl());
    }
    Ok(way)
}

/// Refuses options to which a word cannot be added with certainty, because GRUB runs them as a part of a script, or
/// systemd-boot removes quotes.
pub(super) fn understood(system: &System, change: &Change) -> Result<(), NoWay> {
    let readers = Readers::of(system);
    let refuse = |path: &Path, why: String| {
        Err(file(path, format!("{why}. {}", hand("its options", change))))
    };
    for directory in DIRECTORIES {
        for (path, text) in reader::read(system, directory) {
            if is_rescue(path) || !boots_linux(text) {
                continue;
            }
            if let Some((line, why)) = readers.obstacle(text) {
                return refuse(path, format!("line {line} {why}"));
            }
            let block = ENVIRONMENTS.into_iter().find_map(|path| Some((path, system.text(path)?)));
            if let Some((environment, block)) = block
                && reader::names_variable(&all_options(text))
                && let Some((name, why)) = reader::in_block(block)
            {
                return refuse(Path::new(environment), format!("{name} {why}"));
            }
        }
    }
    Ok(())
}

/// The options of the entries that a boot loader reads.
pub(super) fn lines_of(system: &System, directory: &str) -> Vec<String> {
    reader::read(system, directory).map(|(_, text)| all_options(text)).collect()
}

/// Refuses entries in two places: systemd-boot reads two, GRUB one, and two copies of a text are still two files. A
/// directory that is mounted twice is one.
fn one_directory(system: &System, directory: &str, change: &Change) -> Result<(), NoWay> {
    let same = |other: &str| {
        let pair = |(one, two): &(PathBuf, PathBuf)| {
            let is = |path: &PathBuf, name: &str| path == Path::new(name);
            is(one, directory) && is(two, other) || is(one, other) && is(two, directory)
        };
        system.same.iter().any(pair)
    };
    let other = DIRECTORIES.into_iter().filter(|it| *it != directory).find(|other| {
        reader::read(system, other).any(|(_, text)| boots_linux(text)) && !same(other)
    });
    match other {
        None => Ok(()),
        Some(other) => Err(file(
            other,
            format!(
                "has entries that boot Linux, as {directory} has, and which of them the boot loader reads is not \
                 known. {}",
                hand("the options of every entry", change)
            ),
        )),
    }
}

/// Returns whether a grub.cfg reads the entries of the Boot Loader Specification: Fedora's has no entries itself.
pub(super) fn are_read_by(text: &str) -> bool {
    text.lines().any(|line| line.trim() == "blscfg")
}

/// The file from which entries of kernels are made that are installed later.
fn new_kernels(system: &System, change: &Change, way: &mut Way) -> Result<(), NoWay> {
    let why = "the entries of kernels that are installed later";
    for path in [CMDLINE, VENDOR] {
        if let Some(why) = system.trouble(path) {
            return Err(file(path, format!("{why}. {}", hand("it", change))));
        }
        let Some(text) = system.text(path) else { continue };
        words_only(path, text, change)?;
        break;
    }
    if let Some(text) = system.text(CMDLINE) {
        let edited = lines(text, change);
        if edited != text {
            way.steps.push(write(CMDLINE, edited, why, RISK));
        }
    } else if let Some(text) = system.text(VENDOR) {
        // The vendor's file belongs to the package; clocksmith's file is read instead of it.
        way.steps.push(write(CMDLINE, lines(text, change), why, RISK));
    } else if system.has("kernel-install") && !share_variable(system) {
        way.notes.push(
            "kernels that are installed later take the command line of the running one: install none \
             before the next reboot"
                .to_owned(),
        );
    }
    Ok(())
}

/// Returns whether entries have `$kernelopts`, which those of new kernels also get.
fn share_variable(system: &System) -> bool {
    DIRECTORIES.iter().any(|it| reader::read(system, it).any(|(_, text)| uses_variable(text)))
}

/// The settings for kernels that are installed later.
fn future(system: &System, change: &Change, way: &mut Way) -> Result<(), NoWay> {
    new_kernels(system, change, way)?;
    let grub = super::grub::DEFAULTS;
    let makes = !system.live && super::loader::grub_reads_entries(system);
    if (system.has("grubby") || makes)
        && let Some(text) = system.text(grub)
    {
        let refuse = |why: String| file(grub, format!("{why}. {}", hand(super::grub::ALL, change)));
        let all = match strict::read(text, super::grub::KIND.names) {
            Ok(all) => all,
            Err(obstacle) => return Err(refuse(obstacle.to_string())),
        };
        if all.iter().any(|it| it.name == super::grub::ALL) {
            let edited = settings::edited(&super::grub::KIND, text, super::grub::ALL, "", change)
                .map_err(refuse)?;
            if edited != text {
                let why = "what grub2-mkconfig would put into new entries";
                way.steps.push(write(grub, edited, why, RISK));
            }
        }
    }
    Ok(())
}

/// Refuses a file of words that has more than words: programs differ on whether a `#` begins a comment.
fn words_only(path: &str, text: &str, change: &Change) -> Result<(), NoWay> {
    plain(path, text)?;
    let refuse = |why: String| file(path, format!("{why}. {}", hand("it", change)));
    let comment = |line: &str| line.trim_start().starts_with('#');
    if let Some(at) = text.lines().position(comment) {
        let why = "has a comment, which some programs read as words of the command line";
        return Err(refuse(format!("line {} {why}", at + 1)));
    }
    settings::closed(text).map_err(&refuse)?;
    if change.holds(&lines(text, change)) {
        return Ok(());
    }
    Err(refuse("the words would not be where the kernel reads them".to_owned()))
}

/// `/etc/kernel/cmdline`: words, on one line or more (kernel-install joins them). Words are added to
/// the last line that is not empty.
pub(super) fn lines(text: &str, change: &Change) -> String {
    let removal = Change { add: Vec::new(), remove: change.remove.clone() };
    let mut parts: Vec<String> = text.split('\n').map(|line| removal.of(line)).collect();
    for word in &change.add {
        if words::is_in_force(&parts.join("\n"), word) {
            continue;
        }
        // A lone `--` ends the kernel's words on any line.
        let init = parts.iter().position(|line| words::all(line).contains(&"--"));
        let last = parts.iter().rposition(|line| !line.trim().is_empty()).unwrap_or(0);
        let last = init.unwrap_or(last);
        if let Some(line) = parts.get_mut(last) {
            *line = words::add(line, word);
        }
    }
    parts.join("\n")
}

/// The places of the values of `options` lines.
fn options(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut at = 0;
    text.split_inclusive('\n').filter_map(move |line| {
        let start = at;
        at += line.len();
        let body = line.trim_end_matches(['\n', '\r']);
        let rest = body.trim_start().strip_prefix("options")?;
        if !rest.is_empty() && !rest.starts_with([' ', '\t']) {
            return None;
        }
        let value = rest.trim_start();
        Some((start + body.len() - value.len(), start + body.len()))
    })
}

fn uses_variable(text: &str) -> bool {
    options(text).any(|(start, end)| {
        let value = text.get(start..end).unwrap_or_default();
        value.split_ascii_whitespace().any(|word| VARIABLES.contains(&word))
    })
}

/// Returns an entry with its options changed; a removed word is removed from every line, an added one is added to the
/// last.
pub(super) fn edit(text: &str, change: &Change) -> String {
    let removal = Change { add: Vec::new(), remove: change.remove.clone() };
    let mut out = text.to_owned();
    let mut places: Vec<(usize, usize)> = options(&out).collect();
    places.reverse();
    for (start, end) in places {
        let value = out.get(start..end).map(|value| removal.of(value)).unwrap_or_default();
        out.replace_range(start..end, &value);
    }
    for word in &change.add {
        if words::is_in_force(&all_options(&out), word) {
            continue;
        }
        // A lone `--` ends the kernel's words on any line.
        let init = |(start, end): &(usize, usize)| {
            words::all(out.get(*start..*end).unwrap_or_default()).contains(&"--")
        };
        let place = options(&out).find(init).or(options(&out).last());
        match place {
            Some((start, end)) => {
                let value = out.get(start..end).unwrap_or_default();
                // `options` without a value and without a blank after it.
                let blank =
                    if out.get(..start).is_some_and(|t| t.ends_with("options")) { " " } else { "" };
                let value = format!("{blank}{}", words::add(value, word));
                out.replace_range(start..end, &value);
            }
            None => {
                let newline = if out.is_empty() || out.ends_with('\n') { "" } else { "\n" };
                out = format!("{out}{newline}options {word}\n");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::change;
    use proptest::prelude::*;

    const ENTRY: &str = "title      Fedora Linux\nversion    6.11.4\nlinux      /vmlinuz-6.11.4\n\
                         options    root=UUID=1 ro rhgb quiet\ngrub_users $grub_users\n";

    #[test]
    fn only_the_options_change() {
        let edited = edit(ENTRY, &change(&["clocksource=tsc"], &["quiet"]));
        assert_eq!(edited, ENTRY.replace("rhgb quiet", "rhgb clocksource=tsc"));
        let two = "options a b\noptions c\n";
        assert_eq!(edit(two, &change(&["d"], &["a"])), "options b\noptions c d\n");
        assert_eq!(edit(two, &change(&["a"], &[])), two);
        assert_eq!(edit("linux /x\n", &change(&["a"], &[])), "linux /x\noptions a\n");
        assert_eq!(
            edit("optionsx a\n#options b\noptions c\r\n", &change(&["a"], &[])),
            "optionsx a\n#options b\noptions c a\r\n"
        );
        assert_eq!(lines("root=1 ro\n", &change(&["x"], &["ro"])), "root=1 x\n");
        assert_eq!(lines("a\nb\n\n", &change(&["x"], &[])), "a\nb x\n\n");
    }

    proptest! {
        #[test]
        fn added_and_removed_gives_the_same_bytes(
            head in "(title [a-z ]{0,9}\n|#[a-z]{0,4}\n){0,3}",
            value in "[a-c=][a-c =]{0,20}",
            tail in "(\n|\nlinux /[a-z]{1,5}\n|\r\n){0,2}"
        ) {
            let text = format!("{head}options {value}{tail}");
            let wanted = change(&["zz=1"], &[]);
            let edited = edit(&text, &wanted);
            prop_assert_eq!(edit(&edited, &wanted), edited.clone());
            prop_assert_eq!(edit(&edited, &wanted.reversed()), text);
        }
    }
}
