//! GRUB with `grub-mkconfig`: a drop-in in `/etc/default/grub.d` where it is read, otherwise an
//! edit of `/etc/default/grub`; then the tool that owns grub.cfg regenerates it.
//!
//! The drop-in directory is read by Debian's and Ubuntu's grub-mkconfig (a patch of theirs, after
//! `/etc/default/grub`, in the order of the names), not by upstream's. Entries get
//! `$GRUB_CMDLINE_LINUX $GRUB_CMDLINE_LINUX_DEFAULT` (`util/grub.d/10_linux.in`): the second comes
//! last, so a choice in it wins. The recovery entries do not get it, so they still start the
//! machine if the change fails.

use super::settings::{self, Kind};
use super::shell::Shell;
use super::strict::{self, Part};
use super::{NoWay, RISK, Way, file, run, write};
use crate::system::{Longest, System};
use crate::words::{self, Change};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The administrator's settings.
pub(crate) const DEFAULTS: &str = "/etc/default/grub";
/// The directory of further settings.
pub const DIRECTORY: &str = "/etc/default/grub.d";
/// The variable for ordinary entries.
pub const VARIABLE: &str = "GRUB_CMDLINE_LINUX_DEFAULT";
/// The variable for all entries.
pub const ALL: &str = "GRUB_CMDLINE_LINUX";
/// Clocksmith's drop-in, and its name where another one that overwrites it comes later.
const DROP_INS: [&str; 2] =
    ["/etc/default/grub.d/90-clocksmith.cfg", "/etc/default/grub.d/zz-clocksmith.cfg"];

/// The file that GRUB reads at boot.
#[must_use]
pub fn config(system: &System) -> Option<&'static str> {
    ["/boot/grub/grub.cfg", "/boot/grub2/grub.cfg"]
        .into_iter()
        .find(|path| system.files.contains_key(Path::new(path)))
}

/// Returns whether GRUB is configured here by its own tools.
#[must_use]
pub fn is_there(system: &System) -> bool {
    let tools = ["update-grub", "grub-mkconfig", "grub2-mkconfig"];
    tools.iter().any(|tool| system.has(tool))
        && (system.files.contains_key(Path::new(DEFAULTS)) || config(system).is_some())
}

/// Whether the drop-in directory is read.
#[must_use]
pub(crate) fn reads_drop_ins(system: &System) -> bool {
    let scripts: Vec<&str> = ["/usr/sbin/grub-mkconfig", "/usr/sbin/grub2-mkconfig"]
        .into_iter()
        .filter_map(|path| system.text(path))
        .collect();
    if scripts.is_empty() {
        return system.os.is("debian") || system.os.is("ubuntu");
    }
    scripts.iter().any(|script| script.contains("default/grub.d"))
}

/// The files of settings, in the order in which they are read.
pub fn settings(system: &System) -> impl Iterator<Item = (&Path, &str)> {
    let main = system.text(DEFAULTS).map(|text| (Path::new(DEFAULTS), text));
    let more = reads_drop_ins(system).then(|| system.below(DIRECTORY));
    main.into_iter().chain(more.into_iter().flatten())
}

/// The final value of a variable, as far as plain assignments of a bounded length show it.
#[must_use]
pub fn value(system: &System, name: &str) -> String {
    let mut value = String::new();
    for (_, text) in settings(system) {
        for assignment in Shell::parse(text).assignments.iter().filter(|a| a.name == name) {
            let own = [format!("${{{name}}}"), format!("${name}")];
            // A value that contains itself twice is twice as long, and the next one again. Such a file is refused for
            // an edit.
            let times: usize = own.iter().map(|own| assignment.raw.matches(own).count()).sum();
            if value.len().saturating_mul(times.max(1)) > settings::LONGEST {
                return value;
            }
            let raw = assignment.raw.replace(&own[0], &value).replace(&own[1], &value);
            value = if assignment.append { format!("{value}{raw}") } else { raw };
        }
    }
    value
}

/// The order in which `10_linux` joins the settings to a command line.
pub(super) const KIND: Kind = Kind { names: may_be_set, line: &[ALL, VARIABLE] };
/// Under Xen these replace the others (`20_linux_xen`).
const XEN: [&str; 2] = ["GRUB_CMDLINE_LINUX_XEN_REPLACE", "GRUB_CMDLINE_LINUX_XEN_REPLACE_DEFAULT"];

/// Returns whether a name is that of a setting, or of a kernel parameter that was written there by mistake:
/// `grub-mkconfig` has no variable of such a name.
fn may_be_set(name: &str) -> bool {
    strict::ordinary(name) || ["clocksource", "tsc", "notsc", "hpet", "nohpet"].contains(&name)
}

/// A file and its text.
type Files = Vec<(PathBuf, String)>;

pub(super) fn plan(system: &System, change: &Change) -> Result<Way, NoWay> {
    let hand = by_hand(system, change);
    let more = reads_drop_ins(system).then(|| system.troubles(DIRECTORY)).into_iter().flatten();
    let main = system.trouble(DEFAULTS).map(|why| (Path::new(DEFAULTS), why));
    if let Some((path, why)) = main.into_iter().chain(more).next() {
        return Err(file(path, format!("{why}, so the settings are not known. {hand}")));
    }
    let before: Files =
        settings(system).map(|(path, text)| (path.to_owned(), text.to_owned())).collect();
    for (path, text) in &before {
        strict::read(text, KIND.names)
            .map_err(|obstacle| file(path, format!("{obstacle}. {hand}")))?;
    }
    for files in orders(&before) {
        let texts = files.iter().map(|(_, text)| text.as_str());
        if let Err((at, obstacle)) = settings::evaluate_each(&KIND, texts) {
            let path = files.get(at).map_or(Path::new(DEFAULTS), |(path, _)| path.as_path());
            return Err(file(path, format!("{obstacle}. {hand}")));
        }
    }
    let mut way = Way { by: "GRUB", ..Way::default() };
    let (change, there) = missing(&before, change);
    if !there.is_empty() {
        let words = there.join(" ");
        way.notes.push(format!("GRUB's settings already have {words}"));
        if change.is_empty() {
            if !menu_has(system, &there) {
                way.by_hand.push(format!(
                    "no entry of the boot menu has {words} yet; this generates it again: {}",
                    by_hand_menu(system)
                ));
            }
            return Ok(way);
        }
    }
    let change = &change;
    way.expected.add.clone_from(&change.add);
    let has = |word: &String| before.iter().any(|(_, text)| holds(text, word));
    for word in &change.remove {
        if has(word) {
            way.expected.remove.push(word.clone());
        } else {
            way.notes.push(format!(
                "{word} is in none of GRUB's settings: it comes from another place (a file in \
                 /etc/grub.d, or the program that starts this machine)"
            ));
        }
    }
    // A word is removed from the file that has it, even if another user owns the file: there is no other way to remove
    // it.
    let removal = Change { add: Vec::new(), remove: change.remove.clone() };
    let own = |path: &Path| DROP_INS.iter().any(|own| Path::new(own) == path);
    let mut after: Files = before
        .iter()
        .map(|(path, text)| {
            let text = if own(path) { text.clone() } else { everywhere(text, &removal) };
            (path.clone(), text)
        })
        .collect();
    if reads_drop_ins(system) {
        way.by = "GRUB (drop-in)";
        drop_in(change, &before, &mut after, &hand)?;
    } else {
        way.by = "GRUB (/etc/default/grub)";
        in_place(change, &before, &mut after, &hand)?;
    }
    let former: BTreeMap<&Path, &str> =
        before.iter().map(|(path, text)| (path.as_path(), text.as_str())).collect();
    for (path, text) in after {
        if former.get(path.as_path()) == Some(&text.as_str()) {
            continue;
        }
        let why = if own(&path) {
            "a file of its own, read after /etc/default/grub, which stays as it is; the recovery \
             entries do not get it"
                .to_owned()
        } else if reads_drop_ins(system) || change.add.is_empty() {
            format!("removes {} from the setting that has it", change.remove.join(", "))
        } else {
            "this system's GRUB reads no drop-ins, so its own settings are edited: only the words \
             of this one line"
                .to_owned()
        };
        way.steps.push(write(path, text, &why, RISK));
    }
    if !way.steps.is_empty() {
        regenerate(system, &mut way);
    }
    Ok(way)
}

/// Returns the part of a change that the settings lack, and the added words that they have in any order of reading.
fn missing(before: &Files, change: &Change) -> (Change, Vec<String>) {
    let lines: Vec<String> = orders(before)
        .into_iter()
        .filter_map(|files| {
            let texts = files.into_iter().map(|(_, text)| text.as_str());
            let values = settings::evaluate(&KIND, texts).ok()?;
            let value = |name: &&str| values.get(*name).cloned().unwrap_or_default();
            Some(KIND.line.iter().map(value).collect::<Vec<_>>().join(" "))
        })
        .collect();
    let there = |word: &&String| {
        !lines.is_empty() && lines.iter().all(|line| words::is_in_force(line, word))
    };
    let (there, add) = change.add.iter().cloned().partition(|word| there(&word));
    (Change { add, remove: change.remove.clone() }, there)
}

/// Returns whether an entry of the boot menu has these words; true if the menu cannot be read.
fn menu_has(system: &System, all: &[String]) -> bool {
    let Some(text) = config(system).and_then(|path| system.text(path)) else { return true };
    let mut lines = text.lines().map(str::trim_start).filter(|line| line.starts_with("linux"));
    let first = lines.next();
    first.is_none()
        || first.into_iter().chain(lines).any(|line| all.iter().all(|word| words::has(line, word)))
}

/// Returns the command that makes the boot menu again.
fn by_hand_menu(system: &System) -> String {
    let config = config(system).unwrap_or("/boot/grub/grub.cfg");
    if system.has("update-grub") {
        "update-grub".to_owned()
    } else if system.has("grub2-mkconfig") {
        format!("grub2-mkconfig -o {config}")
    } else {
        format!("grub-mkconfig -o {config}")
    }
}

/// Instructions for the user, in words.
fn by_hand(system: &System, change: &Change) -> String {
    let mut parts = Vec::new();
    if !change.add.is_empty() {
        let words = change.add.join(" ");
        parts.push(format!("add {words} to {VARIABLE}, before a lone `--` of {ALL} or of itself"));
    }
    if !change.remove.is_empty() {
        parts.push(format!("remove {} from {ALL} and {VARIABLE}", change.remove.join(" ")));
    }
    let then = by_hand_menu(system);
    format!("By hand: {}; then: {then}", parts.join(", "))
}

/// Whether one of the two variables has the word in this file.
fn holds(text: &str, word: &str) -> bool {
    strict::read(text, KIND.names)
        .is_ok_and(|all| all.iter().any(|it| is_ours(&it.name) && words::has(&it.raw, word)))
}

fn is_ours(name: &str) -> bool {
    name == VARIABLE || name == ALL
}

/// Returns the text with every value of both variables changed.
fn everywhere(text: &str, change: &Change) -> String {
    let mut out = text.to_owned();
    // From the end, so that earlier places stay valid.
    for setting in strict::read(text, KIND.names).unwrap_or_default().iter().rev() {
        if is_ours(&setting.name) {
            out = settings::replace(&out, setting, &change.of(&setting.raw));
        }
    }
    out
}

/// Returns the orders in which a shell may read the files: by bytes, and as a locale sorts names, without regard to
/// case and punctuation. The order depends on the environment of the process that makes grub.cfg.
fn orders(files: &Files) -> [Vec<&(PathBuf, String)>; 2] {
    let directory = |path: &Path| path != Path::new(DEFAULTS);
    let key = |path: &Path| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let letters: String = name.chars().filter(|it| it.is_alphanumeric()).collect();
        (directory(path), letters.to_lowercase())
    };
    let mut bytes: Vec<_> = files.iter().collect();
    let mut locale = bytes.clone();
    bytes.sort_by_cached_key(|(path, _)| (directory(path), path.clone()));
    locale.sort_by_cached_key(|(path, _)| (key(path), path.clone()));
    [bytes, locale]
}

/// Checks that the change is in force afterwards, and that nothing else changed.
fn judge(before: &Files, after: &Files, change: &Change) -> Result<(), String> {
    for (before, after) in orders(before).into_iter().zip(orders(after)) {
        let values = |files: Vec<&(PathBuf, String)>| {
            let texts = files.into_iter().map(|(_, text)| text.as_str());
            settings::evaluate(&KIND, texts).map_err(|obstacle| obstacle.to_string())
        };
        let (before, after) = (values(before)?, values(after)?);
        settings::judge(&KIND, VARIABLE, &before, &after, change)?;
        let words: Vec<&str> =
            [ALL, VARIABLE].iter().filter_map(|name| Some(after.get(*name)?.as_str())).collect();
        if let Some(why) = super::made::cut(&words.join(" "), change, Longest::default()) {
            return Err(why);
        }
        let set = |name: &&&str| after.get(**name).is_some_and(|value| !value.is_empty());
        if let Some(name) = XEN.iter().find(set) {
            return Err(format!("{name} is set, which replaces it on Xen's entries"));
        }
    }
    Ok(())
}

fn drop_in(change: &Change, before: &Files, after: &mut Files, hand: &str) -> Result<(), NoWay> {
    let existing =
        DROP_INS.into_iter().find(|own| after.iter().any(|(path, _)| path == Path::new(own)));
    if let Some(own) = existing {
        let found = after.iter_mut().find(|(path, _)| path == Path::new(own));
        if let Some((path, text)) = found {
            let has = strict::read(text, KIND.names)
                .is_ok_and(|all| all.iter().any(|it| it.name == VARIABLE));
            if !has {
                let why = format!("it has no {VARIABLE}=\"...\" that can be edited. {hand}");
                return Err(file(path, why));
            }
            *text = settings::edit(&KIND, text, VARIABLE, "", change)
                .map_err(|why| file(&path, format!("{why}. {hand}")))?;
        }
        return judge(before, after, change)
            .map_err(|why| file(own, format!("{VARIABLE}: {why}. {hand}")));
    }
    if change.add.is_empty() {
        return judge(before, after, change)
            .map_err(|why| file(culprit(before), format!("{VARIABLE}: {why}. {hand}")));
    }
    let content = format!(
        "# Made by clocksmith (`clocksmith fix --undo` reverts it).\n{VARIABLE}=\"${VARIABLE} \
         {}\"\n",
        change.add.join(" ")
    );
    let mut refused = String::new();
    for own in DROP_INS {
        let mut with = after.clone();
        with.push((PathBuf::from(own), content.clone()));
        match judge(before, &with, change) {
            Ok(()) => {
                *after = with;
                return Ok(());
            }
            Err(why) => refused = why,
        }
    }
    // A later file that sets the variable without the old value discards that value.
    let later = orders(before).into_iter().flatten().find_map(|(path, text)| {
        let all = strict::read(text, KIND.names).unwrap_or_default();
        let last = all.iter().rev().find(|it| it.name == VARIABLE)?;
        let keeps = last.parts.contains(&Part::Of(VARIABLE.to_owned()));
        let after_ours = path.as_path() > Path::new(DROP_INS[1]);
        (!keeps && after_ours).then(|| (path.clone(), last.line))
    });
    if let Some((path, line)) = later {
        let why = format!(
            "line {line} sets {VARIABLE} again and is read after clocksmith's drop-ins: add {} there",
            change.add.join(" ")
        );
        return Err(file(path, why));
    }
    Err(file(culprit(before), format!("{VARIABLE}: {refused}. {hand}")))
}

/// The file of the last setting of one of the two variables.
fn culprit(files: &Files) -> PathBuf {
    let sets = |(_, text): &&(PathBuf, String)| {
        strict::read(text, KIND.names).is_ok_and(|all| all.iter().any(|it| is_ours(&it.name)))
    };
    let last = files.iter().rev().find(sets).or(files.last());
    last.map_or_else(|| PathBuf::from(DEFAULTS), |(path, _)| path.clone())
}

fn in_place(change: &Change, before: &Files, after: &mut Files, hand: &str) -> Result<(), NoWay> {
    let addition = Change { add: change.add.clone(), remove: Vec::new() };
    if !change.add.is_empty() {
        if after.is_empty() {
            after.push((PathBuf::from(DEFAULTS), String::new()));
        }
        for (path, text) in after.iter_mut() {
            *text = settings::edit(&KIND, text, VARIABLE, "", &addition)
                .map_err(|why| file(&path, format!("{why}. {hand}")))?;
        }
    }
    judge(before, after, change).map_err(|why| file(DEFAULTS, format!("{VARIABLE}: {why}. {hand}")))
}

/// The step that makes grub.cfg again, by the tool that owns it.
fn regenerate(system: &System, way: &mut Way) {
    let config = config(system).unwrap_or("/boot/grub/grub.cfg");
    let why = "grub.cfg is made from the settings; without this they have no effect";
    let risk = "the command rewrites the boot menu, as every kernel update does";
    let step = if system.has("update-grub") {
        run(&["update-grub"], &[config], why, risk)
    } else if system.has("grub2-mkconfig") {
        run(&["grub2-mkconfig", "-o", config], &[config], why, risk)
    } else {
        run(&["grub-mkconfig", "-o", config], &[config], why, risk)
    };
    way.steps.push(step);
}
