//! Boot configurations of one file: zipl on s390, cmdline.txt of a Raspberry Pi, unified kernel images.
//!
//! Sources: zipl.conf(5) (`parameters=`, and `zipl` must be run after each change, since the boot record
//! holds it); the Raspberry Pi documentation (cmdline.txt is one line); systemd-stub(7) and ukify(1) (the
//! command line is a section of the image).

use super::{NoWay, RISK, Way, bls, file, write};
use crate::plan::{Action, Step};
use crate::system::System;
use crate::words::Change;

pub(super) fn zipl(system: &System, change: &Change) -> Option<Result<Way, NoWay>> {
    let path = "/etc/zipl.conf";
    let text = system.text(path)?;
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let body = line.trim_end_matches(['\n', '\r']);
        let value = body
            .trim_start()
            .strip_prefix("parameters")
            .and_then(|rest| rest.trim_start().strip_prefix('='));
        let Some(value) = value else {
            out.push_str(line);
            continue;
        };
        let value = value.trim_start();
        let inner = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
        if inner.is_none() && value.contains('"') {
            return Some(Err(file(path, "a parameters= line in it cannot be edited safely")));
        }
        out.push_str(body.get(..body.len() - value.len()).unwrap_or_default());
        out.push_str(
            &inner.map_or_else(|| change.of(value), |inner| format!("\"{}\"", change.of(inner))),
        );
        out.push_str(line.get(body.len()..).unwrap_or_default());
    }
    let mut way = Way { by: "zipl", ..Way::default() };
    if out != text {
        way.steps.push(write(path, out, "the parameters of every section", RISK));
        let command = vec!["zipl".to_owned()];
        way.steps.push(Step {
            // What it writes is the boot record: made anew from the former file when taken back.
            action: Action::Run {
                undo: Some(command.clone()),
                command,
                rewrites: Vec::new(),
                regenerate: None,
            },
            why: "the boot record holds the parameters; without this they have no effect"
                .to_owned(),
            risk: RISK.to_owned(),
        });
    }
    Some(Ok(way))
}

pub(super) fn cmdline_txt(system: &System, change: &Change) -> Option<Result<Way, NoWay>> {
    let path = ["/boot/firmware/cmdline.txt", "/boot/cmdline.txt"]
        .into_iter()
        .find(|path| system.text(path).is_some())?;
    let text = system.text(path)?;
    // The firmware reads the first line alone.
    let (line, rest) = text.split_at(text.find(['\r', '\n']).unwrap_or(text.len()));
    let edited = format!("{}{rest}", change.of(line));
    let mut way = Way { by: "cmdline.txt", ..Way::default() };
    if edited != text {
        way.steps.push(write(path, edited, "the firmware hands this line to the kernel", RISK));
    }
    Some(Ok(way))
}

/// A unified kernel image has its command line inside, and mostly a signature over it.
pub(super) fn unified(system: &System, change: &Change) -> Way {
    let path = "/etc/kernel/cmdline";
    let mut by_hand = Vec::new();
    match system.text(path) {
        Some(text) => by_hand.push(format!("in {path}: {}", bls::lines(text, change).trim_end())),
        None => {
            by_hand.push(format!(
                "in {path}: the present command line (cat /proc/cmdline), changed so:"
            ));
            by_hand.extend(change.add.iter().map(|word| format!("  add {word}")));
            by_hand.extend(change.remove.iter().map(|word| format!("  without {word}")));
        }
    }
    by_hand.push(
        "then build the image anew, with what builds it here: mkinitcpio -P, dracut --force,"
            .to_owned(),
    );
    by_hand.push("or kernel-install add-all; with Secure Boot it must be signed again".to_owned());
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
