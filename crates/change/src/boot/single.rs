//! Boot configurations of one file: zipl on s390, cmdline.txt of a Raspberry Pi, unified kernel images.
//!
//! If the boot loader may read another file instead, nothing is edited.
//!
//! Sources: zipl.conf(5) (`parameters=`, and `zipl` must be run after each change, since the boot record
//! holds it); the Raspberry Pi documentation (cmdline.txt is one line; config.txt's
//! `cmdline`, `os_prefix`, `include` and filters; autoboot.txt); systemd-stub(7) and ukify(1) (the
//! command line is a section of the image).

use super::{NoWay, RISK, Way, bls, file, hand, plain, settings, tools, write};
use crate::plan::{Action, Step};
use crate::system::System;
use crate::words::Change;
use std::path::{Path, PathBuf};

/// zipl's settings.
pub(crate) const ZIPL: &str = "/etc/zipl.conf";

/// The paths of a Raspberry Pi's command line.
pub(super) const CMDLINE_TXT: [&str; 2] = ["/boot/firmware/cmdline.txt", "/boot/cmdline.txt"];

/// The mount point of the partition of a Raspberry Pi's firmware, since Debian 12 and on Ubuntu.
pub(crate) const FIRMWARE: &str = "/boot/firmware";

/// The step that writes the boot record.
pub(super) fn run_zipl() -> Step {
    let command = vec!["zipl".to_owned()];
    Step {
        // The command writes the boot record: `--undo` regenerates it from the previous file.
        action: Action::Run {
            undo: Some(command.clone()),
            command,
            rewrites: Vec::new(),
            regenerate: None,
        },
        why: "the boot record holds the parameters; without this they have no effect".to_owned(),
        risk: RISK.to_owned(),
    }
}

/// A section of zipl.conf.
#[derive(Default)]
struct Section {
    name: String,
    line: usize,
    /// Whether it has a line `image=`, and therefore boots Linux.
    image: bool,
    /// Bytes of the value of each `parameters=`, without its quotes.
    parameters: Vec<(usize, usize)>,
    /// The line of a `parmfile=`, whose words come first.
    parmfile: Option<usize>,
}

/// Reads the sections, according to the grammar of `zipl/src/scan.c`: blanks, comments, `[section]`, `:menu`,
/// `keyword = value` where a value is in quotes of one kind or in none.
fn sections(text: &str) -> Result<Vec<Section>, (usize, String)> {
    let mut all: Vec<Section> = Vec::new();
    let mut at = 0;
    for (index, line) in text.split('\n').enumerate() {
        let number = index + 1;
        let (start, body) = (at, line.trim_matches([' ', '\t']));
        at += line.len() + 1;
        if body.is_empty() || body.starts_with('#') {
            continue;
        }
        if let Some(rest) = body.strip_prefix('[') {
            let name =
                rest.strip_suffix(']').ok_or((number, "a section without its end".to_owned()))?;
            all.push(Section { name: name.to_owned(), line: number, ..Section::default() });
            continue;
        }
        if let Some(name) = body.strip_prefix(':') {
            all.push(Section { name: format!(":{name}"), line: number, ..Section::default() });
            continue;
        }
        let Some((key, value)) = body.split_once('=') else { continue };
        let (key, value) = (key.trim_matches([' ', '\t']), value.trim_matches([' ', '\t']));
        let section = all.last_mut().ok_or((number, format!("{key}= outside of any section")))?;
        match key {
            "image" => section.image = true,
            "parmfile" => section.parmfile = Some(number),
            "parameters" => {
                let quote = value.chars().next().filter(|it| ['"', '\''].contains(it));
                let inner = match quote {
                    Some(quote) => value
                        .strip_prefix(quote)
                        .and_then(|it| it.strip_suffix(quote))
                        .filter(|it| !it.contains(quote)),
                    None => Some(value).filter(|it| !it.contains(['"', '\''])),
                };
                let inner = inner
                    .ok_or((number, "parameters= with quotes that are not plain".to_owned()))?;
                // The start of the value in the line: after the first `=` and its quote.
                let from = line.find('=').map_or(0, |equals| equals + 1);
                let blank = line
                    .get(from..)
                    .map_or(0, |rest| rest.len() - rest.trim_start_matches([' ', '\t']).len());
                let first = start + from + blank + usize::from(quote.is_some());
                section.parameters.push((first, first + inner.len()));
            }
            _ => {}
        }
    }
    Ok(all)
}

/// The command lines of every section that boots Linux.
pub(crate) fn zipl_lines(text: &str) -> Vec<&str> {
    let boots = sections(text).unwrap_or_default().into_iter().filter(|section| section.image);
    let all = boots.flat_map(|section| section.parameters);
    all.filter_map(|(start, end)| text.get(start..end)).collect()
}

pub(super) fn zipl(system: &System, change: &Change) -> Option<Result<Way, NoWay>> {
    let Some(text) = system.text(ZIPL) else {
        return system.trouble(ZIPL).map(|why| Err(file(ZIPL, why)));
    };
    Some(zipl_text(text, change))
}

fn zipl_text(text: &str, change: &Change) -> Result<Way, NoWay> {
    let by_hand =
        format!("{}; then: zipl", hand("parameters= of every section that has an image", change));
    let refuse = |why: String| file(ZIPL, format!("{why}. {by_hand}"));
    plain(ZIPL, text)?;
    let all = sections(text).map_err(|(line, what)| refuse(format!("line {line} has {what}")))?;
    let boots: Vec<&Section> = all.iter().filter(|section| section.image).collect();
    if boots.is_empty() {
        return Err(refuse("it has no section with an image".to_owned()));
    }
    let mut out = text.to_owned();
    for section in boots.into_iter().rev() {
        let at = format!("section [{}] (line {})", section.name, section.line);
        if let Some(line) = section.parmfile {
            return Err(refuse(format!("line {line}: {at} takes words from a parmfile")));
        }
        let [(start, end)] = section.parameters[..] else {
            let how =
                if section.parameters.is_empty() { "no parameters=" } else { "parameters= twice" };
            return Err(refuse(format!("{at} has {how}")));
        };
        let value = text.get(start..end).unwrap_or_default();
        settings::closed(value).map_err(|why| refuse(format!("{at}: {why}")))?;
        let changed = change.of(value);
        let bare = !matches!(text.as_bytes().get(start.wrapping_sub(1)), Some(b'"' | b'\''));
        if bare && changed.is_empty() {
            return Err(refuse(format!("{at} would have empty parameters=")));
        }
        out.replace_range(start..end, &changed);
    }
    let mut way = Way { by: "zipl", ..Way::default() };
    if out != text {
        way.steps.push(write(ZIPL, out, "the parameters of every section", RISK));
        way.steps.push(run_zipl());
    }
    Ok(way)
}

pub(super) fn cmdline_txt(system: &System, change: &Change) -> Option<Result<Way, NoWay>> {
    let [new, old] = CMDLINE_TXT;
    let there = |path: &str| system.files.contains_key(Path::new(path));
    // The previous one may be a text that names the other one.
    let moved = system.text(old).is_some_and(|text| has_moved(text) && text.contains(new));
    let sure = moved || system.firmware == [Path::new(FIRMWARE)];
    if there(new) && there(old) && !sure {
        let why = format!(
            "{new} also exists, and the mounted FAT partitions are not just {FIRMWARE}: it is not \
             known which of the two the firmware reads. {}",
            hand("the one line that the firmware reads", change)
        );
        return Some(Err(file(old, why)));
    }
    let directory = [(new, FIRMWARE), (old, "/boot")].into_iter().find(|(path, _)| there(path))?.1;
    Some(firmware(system, directory, change))
}

/// Returns whether a text in place of the command line states that another file is read.
fn has_moved(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.to_ascii_lowercase().contains("do not edit"))
}

/// Edits the line that the Raspberry Pi's firmware passes to the kernel, as its `config.txt` selects it.
fn firmware(system: &System, directory: &str, change: &Change) -> Result<Way, NoWay> {
    let path = format!("{directory}/cmdline.txt");
    let config = format!("{directory}/config.txt");
    let by_hand = hand("the one line that the firmware reads", change);
    for path in [&path, &config] {
        if let Some(why) = system.trouble(path) {
            return Err(file(path, format!("{why}. {by_hand}")));
        }
    }
    let Some(settings) = system.text(&config) else {
        let why = "there is no config.txt next to it, so it is not known whether a Raspberry Pi's firmware reads it";
        return Err(file(path, format!("{why}. {by_hand}")));
    };
    plain_or_cr(&config, settings)?;
    if let Some((line, why)) = redirected(settings) {
        return Err(file(config, format!("line {line} {why}. {by_hand}")));
    }
    let autoboot = format!("{directory}/autoboot.txt");
    if system.files.contains_key(&PathBuf::from(&autoboot)) {
        let why =
            "may make the firmware boot from another partition, with a cmdline.txt of its own";
        return Err(file(autoboot, format!("{why}. {by_hand}")));
    }
    let text = system.text(&path).unwrap_or_default();
    plain(&path, text)?;
    let (line, rest) = text.split_at(text.find('\n').unwrap_or(text.len()));
    let refuse = |why: &str| Err(file(&path, format!("{why}. {by_hand}")));
    if line.trim().is_empty() {
        return refuse("its first line is empty: it holds no command line");
    }
    if !rest.trim().is_empty() {
        return refuse("it has more than one line, and the firmware reads one");
    }
    if has_moved(line) {
        return refuse("its first line says that it is not to be edited: another file is read");
    }
    settings::closed(line).or_else(|why| refuse(&why).map(drop))?;
    let edited = format!("{}{rest}", change.of(line));
    let mut way = Way { by: "cmdline.txt", ..Way::default() };
    if edited != text {
        way.steps.push(write(path, edited, "the firmware hands this line to the kernel", RISK));
    }
    Ok(way)
}

/// config.txt is only read, and the firmware accepts both line ends.
fn plain_or_cr(path: &str, text: &str) -> Result<(), NoWay> {
    plain(path, &text.replace("\r\n", "\n"))
}

/// Returns the first line of config.txt by which another file may be read, and how. After a filter (`[pi4]`) it may
/// apply or not; after `[none]` it never does.
fn redirected(text: &str) -> Option<(usize, String)> {
    let mut filter = String::new();
    for (index, line) in text.lines().enumerate() {
        let body = line.split('#').next().unwrap_or_default().trim();
        let lower = body.to_ascii_lowercase();
        if let Some(name) = lower.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            // Filters of different kinds accumulate until `[all]`: their combination is not
            // evaluated.
            match name {
                "all" => filter.clear(),
                name => name.clone_into(&mut filter),
            }
            continue;
        }
        if filter == "none" {
            continue;
        }
        let when =
            if filter.is_empty() { String::new() } else { format!(" where [{filter}] holds") };
        if lower == "include" || lower.starts_with("include ") || lower.starts_with("include\t") {
            return Some((index + 1, "includes a file, which is not read here".to_owned()));
        }
        let Some((key, value)) = body.split_once('=') else { continue };
        let value = value.trim();
        let what = match key.trim().to_ascii_lowercase().as_str() {
            "cmdline" if value != "cmdline.txt" || !filter.is_empty() => {
                format!(
                    "has cmdline={value}: the firmware reads that file instead of cmdline.txt{when}"
                )
            }
            "os_prefix" if !value.is_empty() => {
                format!(
                    "has os_prefix={value}: the firmware reads {value}cmdline.txt{when}, if there is a kernel"
                )
            }
            key @ ("kernel" | "armstub") if is_loader(value) => {
                format!(
                    "has {key}={value}, which is another boot loader and no Linux{when}: it has a configuration of its own"
                )
            }
            _ => continue,
        };
        return Some((index + 1, what));
    }
    None
}

/// Returns whether the name of a file that the firmware starts is that of a boot loader: U-Boot (`u-boot.bin`,
/// `uboot_rpi_4.bin`), UEFI (`RPI_EFI.fd`) or an application of it, GRUB, Barebox.
fn is_loader(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let ends = [".elf", ".efi", ".fd"];
    let names = ["u-boot", "uboot", "u_boot", "grub", "barebox", "efi", "edk2", "tianocore"];
    ends.iter().any(|end| lower.ends_with(end)) || names.iter().any(|name| lower.contains(name))
}

/// A unified kernel image contains its command line, and usually a signature that covers it.
pub(super) fn unified(system: &System, change: &Change) -> Way {
    let path = "/etc/kernel/cmdline";
    let mut by_hand = Vec::new();
    if let Some(tool) = tools::of_images(system) {
        by_hand.push(tool.by_hand(change).trim_start_matches("By hand: ").to_owned());
        by_hand.push("with Secure Boot the image must be signed again".to_owned());
        return inside(system, by_hand);
    }
    match system.text(path) {
        Some(text) => by_hand.push(format!("in {path}: {}", bls::lines(text, change).trim_end())),
        None => {
            by_hand.push(format!(
                "in {path}: the present command line (cat /proc/cmdline), with this change:"
            ));
            by_hand.extend(change.add.iter().map(|word| format!("  add {word}")));
            by_hand.extend(change.remove.iter().map(|word| format!("  without {word}")));
        }
    }
    by_hand.push(
        "then build the image again, with the tool that builds it here: mkinitcpio -P, dracut --force,"
            .to_owned(),
    );
    by_hand.push("or kernel-install add-all; with Secure Boot it must be signed again".to_owned());
    inside(system, by_hand)
}

fn inside(system: &System, by_hand: Vec<String>) -> Way {
    let images: Vec<String> =
        system.unified.iter().map(|path| path.display().to_string()).collect();
    Way {
        by: "unified kernel image",
        by_hand,
        notes: vec![format!(
            "the command line is inside the kernel image ({}), so nothing is edited here",
            images.join(", ")
        )],
        ..Way::default()
    }
}
