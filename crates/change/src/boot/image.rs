//! Systems whose command line is managed by one of their own tools, or is part of their image.
//!
//! Sources: rpm-ostree(1) kargs; bootc, kernel arguments (`/usr/lib/bootc/kargs.d`); NixOS manual, `boot.kernelParams`;
//! Flatcar, custom kernel boot options (`linux_append` in the OEM partition's grub.cfg); Ignition specification 3.3 and
//! later, `kernelArguments`; transactional-update(8).

use super::{RISK, Way, write};
use crate::plan::{Action, Step};
use crate::system::System;
use crate::words::Change;

pub(super) fn plan(system: &System, change: &Change) -> Option<Way> {
    let os = &system.os;
    if system.marks.nixos || os.id == "nixos" {
        return Some(nixos(change));
    }
    if os.id == "flatcar" {
        return Some(flatcar(change));
    }
    if system.marks.bootc {
        return Some(bootc(change));
    }
    if system.marks.ostree {
        return Some(ostree(system, change));
    }
    // For a system in a directory, the mounts are not known.
    let always = ["micro", "aeon", "kalpa"].iter().any(|name| system.os.id.contains(name));
    let read_only = system.read_only.iter().any(|d| d.ends_with("usr"));
    // On a system with entries, sdbootutil makes them.
    let entries = system.has("sdbootutil") && super::bls::entries(system).is_some();
    if system.has("transactional-update") && !entries && (read_only || always && !system.live) {
        return Some(transactional(system, change));
    }
    None
}

fn nixos(change: &Change) -> Way {
    let mut by_hand =
        vec!["in /etc/nixos/configuration.nix (or the flake it comes from):".to_owned()];
    if !change.add.is_empty() {
        let words: Vec<String> = change.add.iter().map(|word| format!("\"{word}\"")).collect();
        by_hand.push(format!("  boot.kernelParams = [ {} ];", words.join(" ")));
    }
    for word in &change.remove {
        by_hand.push(format!("  remove \"{word}\" from boot.kernelParams"));
    }
    by_hand.push("then: nixos-rebuild boot".to_owned());
    Way {
        by: "NixOS",
        by_hand,
        notes: vec![
            "NixOS makes its boot entries from its configuration; an edit of them is lost at the \
                     next rebuild, so nothing is edited here"
                .to_owned(),
        ],
        ..Way::default()
    }
}

fn flatcar(change: &Change) -> Way {
    let mut by_hand = Vec::new();
    if !change.add.is_empty() {
        by_hand.push(
            "on this machine, in the OEM partition's grub.cfg (/oem/grub.cfg, formerly".to_owned(),
        );
        by_hand.push("/usr/share/oem/grub.cfg), a line:".to_owned());
        by_hand.push(format!("  set linux_append=\"$linux_append {}\"", change.add.join(" ")));
    }
    for word in &change.remove {
        by_hand.push(format!("remove {word} from linux_append in the OEM partition's grub.cfg"));
    }
    by_hand.extend(ignition(change));
    Way {
        by: "Flatcar",
        by_hand,
        notes: vec![
            "Flatcar's boot loader is part of its image; only the OEM partition's file is the \
                     administrator's"
                .to_owned(),
        ],
        ..Way::default()
    }
}

/// The configuration for a newly made machine.
fn ignition(change: &Change) -> Vec<String> {
    let list = |words: &[String]| {
        words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ")
    };
    let mut parts = Vec::new();
    if !change.add.is_empty() {
        parts.push(format!("\"shouldExist\": [{}]", list(&change.add)));
    }
    if !change.remove.is_empty() {
        parts.push(format!("\"shouldNotExist\": [{}]", list(&change.remove)));
    }
    vec![
        "for new machines, in Ignition (3.3 and later):".to_owned(),
        format!("  \"kernelArguments\": {{ {} }}", parts.join(", ")),
    ]
}

fn bootc(change: &Change) -> Way {
    let list = |words: &[String]| {
        words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ")
    };
    let mut by_hand = Vec::new();
    if !change.add.is_empty() {
        by_hand.push(
            "in the image (Containerfile), a file /usr/lib/bootc/kargs.d/10-clocksmith.toml:"
                .to_owned(),
        );
        by_hand.push(format!("  kargs = [{}]", list(&change.add)));
    }
    for word in &change.remove {
        by_hand.push(format!("in the image, remove {word} from /usr/lib/bootc/kargs.d/*.toml"));
    }
    by_hand.push("then build it, and: bootc upgrade".to_owned());
    Way {
        by: "bootc",
        by_hand,
        notes: vec!["this system is an image: its command line is made with it".to_owned()],
        ..Way::default()
    }
}

fn ostree(system: &System, change: &Change) -> Way {
    let kargs = |change: &Change| {
        let mut command = vec!["rpm-ostree".to_owned(), "kargs".to_owned()];
        command.extend(change.remove.iter().map(|word| format!("--delete-if-present={word}")));
        command.extend(change.add.iter().map(|word| format!("--append-if-missing={word}")));
        command
    };
    let mut way = Way { by: "rpm-ostree", ..Way::default() };
    if system.has("rpm-ostree") {
        // It makes a deployment, not a file: rpm-ostree with the reversed change reverts it.
        let undo = Some(kargs(&change.reversed()));
        way.steps.push(Step {
            action: Action::Run {
                command: kargs(change),
                rewrites: Vec::new(),
                undo,
                regenerate: None,
            },
            why: "rpm-ostree owns the boot entries: it makes a new deployment with these words"
                .to_owned(),
            risk: "the previous deployment stays in the boot menu".to_owned(),
        });
    } else {
        way.by_hand.push(format!(
            "with this system's tool: ostree admin kargs, or {}",
            kargs(change).join(" ")
        ));
    }
    if system.os.variant == "coreos" || system.os.id == "fedora-coreos" {
        way.by_hand.extend(ignition(change));
    }
    way
}

fn transactional(system: &System, change: &Change) -> Way {
    let mut way = Way { by: "transactional-update", ..Way::default() };
    let file = "/etc/default/grub";
    let kind = &super::grub::KIND;
    let edited = system
        .text(file)
        .map(|text| super::settings::edited(kind, text, super::grub::VARIABLE, "", change));
    match edited {
        Some(Err(why)) => {
            way.by_hand.push(format!("in {file}, which is not edited: {why}. So by hand:"));
            way.by_hand.extend(change.add.iter().map(|word| {
                format!("  add {word} to {}, before a lone `--`", super::grub::VARIABLE)
            }));
            way.by_hand.extend(change.remove.iter().map(|word| format!(" remove {word}")));
        }
        Some(Ok(text)) if system.text(file) != Some(text.as_str()) => {
            let why = "the words of every boot; the snapshot's grub.cfg is made from it";
            way.steps.push(write(file, text, why, RISK));
        }
        _ => way.by_hand.push(format!("add to the kernel command line: {}", change.add.join(" "))),
    }
    way.by_hand
        .push("then: transactional-update grub.cfg, and reboot into the new snapshot".to_owned());
    way
}
