//! GRUB with `grub-mkconfig`: a drop-in in `/etc/default/grub.d` where it is read, else an edit of
//! `/etc/default/grub`; then grub.cfg is made anew by its owner.
//!
//! The drop-in directory is read by Debian's and Ubuntu's grub-mkconfig (a patch of theirs, after
//! `/etc/default/grub`, in the order of the names), not by upstream's. Entries get
//! `$GRUB_CMDLINE_LINUX $GRUB_CMDLINE_LINUX_DEFAULT` (`util/grub.d/10_linux.in`): the second comes
//! last, so a choice in it wins, and the recovery entries go without it and stay a way back.

use super::shell::{self, Shell};
use super::{NoWay, RISK, Way, editable, file, run, write};
use crate::system::System;
use crate::words::{self, Change};
use std::path::Path;

/// The administrator's settings.
pub const DEFAULTS: &str = "/etc/default/grub";
/// Where further settings are.
pub const DIRECTORY: &str = "/etc/default/grub.d";
/// The variable for ordinary entries.
pub const VARIABLE: &str = "GRUB_CMDLINE_LINUX_DEFAULT";
/// The variable for all entries.
pub const ALL: &str = "GRUB_CMDLINE_LINUX";
/// Our drop-in, and its name where another one that overwrites ours comes later.
const DROP_INS: [&str; 2] =
    ["/etc/default/grub.d/90-clocksmith.cfg", "/etc/default/grub.d/zz-clocksmith.cfg"];

/// The file that GRUB reads at boot.
#[must_use]
pub fn config(system: &System) -> Option<&'static str> {
    ["/boot/grub/grub.cfg", "/boot/grub2/grub.cfg"]
        .into_iter()
        .find(|path| system.files.contains_key(Path::new(path)))
}

/// Whether GRUB is configured here, and by its own tools.
#[must_use]
pub fn is_there(system: &System) -> bool {
    let tools = ["update-grub", "grub-mkconfig", "grub2-mkconfig"];
    tools.iter().any(|tool| system.has(tool))
        && (system.files.contains_key(Path::new(DEFAULTS)) || config(system).is_some())
}

/// Whether the drop-in directory is read.
#[must_use]
pub fn reads_drop_ins(system: &System) -> bool {
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

/// The value that a variable has in the end, as far as plain assignments say.
#[must_use]
pub fn value(system: &System, name: &str) -> String {
    let mut value = String::new();
    for (_, text) in settings(system) {
        for assignment in Shell::parse(text).assignments.iter().filter(|a| a.name == name) {
            let raw = assignment.raw.replace(&format!("${{{name}}}"), &value);
            let raw = raw.replace(&format!("${name}"), &value);
            value = if assignment.append { format!("{value}{raw}") } else { raw };
        }
    }
    value
}

pub(super) fn plan(system: &System, change: &Change) -> Result<Way, NoWay> {
    for path in [DEFAULTS, DIRECTORY] {
        if let Some(why) = system.trouble(path) {
            return Err(file(path, why));
        }
    }
    let mut way = Way { by: "GRUB", ..Way::default() };
    // A word goes where it stands, in files that other people own: there is no other way to take it away.
    let own = DROP_INS.iter().find(|path| system.text(path).is_some());
    for word in &change.remove {
        let holders: Vec<&Path> = settings(system)
            .filter(|(_, text)| {
                Shell::parse(text)
                    .assignments
                    .iter()
                    .any(|a| is_ours(&a.name) && words::has(&a.raw, word))
            })
            .map(|(path, _)| path)
            .collect();
        if let Some((path, line)) = settings(system).find_map(|(path, text)| {
            let others = Shell::parse(text).others;
            let (line, _) =
                others.into_iter().find(|(_, line)| line.contains(ALL) && line.contains(word))?;
            Some((path, line))
        }) {
            let why = format!(
                "line {line} has {word} in a way that cannot be edited safely: take it out by hand"
            );
            return Err(file(path, why));
        }
        if holders.is_empty() {
            way.notes.push(format!(
                "{word} is in none of GRUB's settings: it comes from another place (a file in \
                 /etc/grub.d, or whoever starts this machine)"
            ));
        } else {
            way.expected.remove.push(word.clone());
        }
    }
    way.expected.add.clone_from(&change.add);
    let removal = Change { add: Vec::new(), remove: change.remove.clone() };
    for (path, text) in settings(system) {
        let edited = everywhere(text, &removal);
        if edited != text && own.is_none_or(|own| Path::new(own) != path) {
            editable(path, text)?;
            let why = format!("takes {} away where it stands", change.remove.join(", "));
            way.steps.push(write(path, edited, &why, RISK));
        }
    }
    if reads_drop_ins(system) {
        drop_in(system, change, &mut way)?;
    } else {
        way.by = "GRUB (/etc/default/grub)";
        in_place(system, change, &mut way)?;
    }
    if !way.steps.is_empty() {
        regenerate(system, &mut way);
    }
    Ok(way)
}

fn is_ours(name: &str) -> bool {
    name == VARIABLE || name == ALL
}

/// Every value of both variables changed.
fn everywhere(text: &str, change: &Change) -> String {
    let mut out = text.to_owned();
    let count = Shell::parse(text).assignments.len();
    for index in 0..count {
        let shell = Shell::parse(&out);
        let Some(assignment) = shell.assignments.get(index) else { break };
        if is_ours(&assignment.name) {
            out = shell::replace(&out, assignment, &change.of(&assignment.raw));
        }
    }
    out
}

fn drop_in(system: &System, change: &Change, way: &mut Way) -> Result<(), NoWay> {
    way.by = "GRUB (drop-in)";
    let existing = DROP_INS.iter().find(|path| system.text(path).is_some());
    if change.add.is_empty() && existing.is_none() {
        return Ok(());
    }
    // Whoever comes later and does not mention the old value throws it away.
    let overwritten = |ours: &str| {
        system.below(DIRECTORY).filter(|(path, _)| *path > Path::new(ours)).find_map(
            |(path, text)| {
                let shell = Shell::parse(text);
                let last = shell.last(VARIABLE)?;
                let keeps = last.append
                    || last.raw.contains(&format!("${VARIABLE}"))
                    || last.raw.contains(&format!("${{{VARIABLE}}}"));
                (!keeps).then(|| path.to_owned())
            },
        )
    };
    let path = match existing {
        Some(path) => *path,
        None => match DROP_INS.iter().find(|path| overwritten(path).is_none()) {
            Some(path) => *path,
            None => {
                let later = overwritten(DROP_INS[1]).unwrap_or_default();
                return Err(file(
                    later,
                    format!(
                        "it sets {VARIABLE} anew and is read after any drop-in of ours: add the words there"
                    ),
                ));
            }
        },
    };
    let content = match system.text(path) {
        Some(text) => {
            editable(path, text)?;
            shell::edit(text, VARIABLE, change).ok_or_else(|| {
                file(path, format!("it has no {VARIABLE}=\"...\" that can be edited"))
            })?
        }
        None => format!(
            "# Made by clocksmith (`clocksmith fix --undo` takes it back).\n\
             {VARIABLE}=\"${VARIABLE} {}\"\n",
            change.add.join(" ")
        ),
    };
    if system.text(path) != Some(content.as_str()) {
        let why = "a file of its own, read after /etc/default/grub, which stays as it is; the recovery \
                   entries go without it";
        way.steps.push(write(path, content, why, RISK));
    }
    Ok(())
}

fn in_place(system: &System, change: &Change, way: &mut Way) -> Result<(), NoWay> {
    if change.add.is_empty() {
        return Ok(());
    }
    let addition = Change { add: change.add.clone(), remove: Vec::new() };
    // The removal above may have changed the text already.
    let text = match way.steps.pop() {
        Some(step) => match step.action {
            crate::plan::Action::Write { content, .. } => content,
            _ => String::new(),
        },
        None => system.text(DEFAULTS).unwrap_or_default().to_owned(),
    };
    editable(DEFAULTS, &text)?;
    let shell = Shell::parse(&text);
    if let Some((line, _)) = shell.others.iter().find(|(_, line)| line.contains(VARIABLE)) {
        let why = format!(
            "line {line} has {VARIABLE} in a way that cannot be edited safely: add the words by hand"
        );
        return Err(file(DEFAULTS, why));
    }
    let edited = match shell::edit(&text, VARIABLE, &addition) {
        Some(edited) => edited,
        None => {
            let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            format!("{text}{newline}{VARIABLE}=\"{}\"\n", change.add.join(" "))
        }
    };
    if system.text(DEFAULTS) != Some(edited.as_str()) {
        let why = "this system's GRUB reads no drop-ins, so its own settings are edited: only the words \
                   of this one line";
        way.steps.push(write(DEFAULTS, edited, why, RISK));
    }
    Ok(())
}

/// The step that makes grub.cfg anew, by the tool that owns it.
fn regenerate(system: &System, way: &mut Way) {
    let config = config(system).unwrap_or("/boot/grub/grub.cfg");
    let why = "grub.cfg is made from the settings; without this they have no effect";
    let risk = "it rewrites the boot menu, as every kernel update does";
    let step = if system.has("update-grub") {
        run(&["update-grub"], &[config], why, risk)
    } else if system.has("grub2-mkconfig") {
        run(&["grub2-mkconfig", "-o", config], &[config], why, risk)
    } else {
        run(&["grub-mkconfig", "-o", config], &[config], why, risk)
    };
    way.steps.push(step);
}
