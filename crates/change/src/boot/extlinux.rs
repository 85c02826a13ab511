//! extlinux and what reads its format (U-Boot): Alpine's generator, Debian's u-boot-menu, or the file
//! itself.
//!
//! Sources: Alpine's `update-extlinux` (`default_kernel_opts` in `/etc/update-extlinux.conf`, from which
//! it makes `/boot/extlinux.conf`); u-boot-menu's `u-boot-update` (`U_BOOT_PARAMETERS` in
//! `/etc/default/u-boot`); the syslinux wiki, `APPEND`.

use super::{NoWay, RISK, Way, editable, edits, file, run, shell, write};
use crate::system::System;
use crate::words::{self, Change};
use std::path::Path;

const CONFIGS: [&str; 2] = ["/boot/extlinux.conf", "/boot/extlinux/extlinux.conf"];

/// Alpine.
pub(super) fn alpine(system: &System, change: &Change) -> Option<Result<Way, NoWay>> {
    generated(
        system,
        change,
        "/etc/update-extlinux.conf",
        "default_kernel_opts",
        "update-extlinux",
        "extlinux (Alpine)",
    )
}

/// Debian with U-Boot.
pub(super) fn u_boot_menu(system: &System, change: &Change) -> Option<Result<Way, NoWay>> {
    generated(
        system,
        change,
        "/etc/default/u-boot",
        "U_BOOT_PARAMETERS",
        "u-boot-update",
        "u-boot-menu",
    )
}

fn generated(
    system: &System,
    change: &Change,
    path: &str,
    variable: &str,
    program: &str,
    by: &'static str,
) -> Option<Result<Way, NoWay>> {
    let text = system.text(path)?;
    if let Err(error) = editable(path, text) {
        return Some(Err(error));
    }
    let edited = match shell::edit(text, variable, change) {
        Some(edited) => edited,
        None if shell::Shell::parse(text)
            .others
            .iter()
            .any(|(_, line)| line.contains(variable)) =>
        {
            return Some(Err(file(
                path,
                format!("{variable} has a value that cannot be edited safely"),
            )));
        }
        // The commented default of u-boot-menu.
        None => {
            let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            let default = if variable == "U_BOOT_PARAMETERS" { "ro quiet" } else { "" };
            format!("{text}{newline}{variable}=\"{}\"\n", change.of(default))
        }
    };
    let value = shell::Shell::parse(text).last(variable).map_or(String::new(), |it| it.raw.clone());
    let held = change.remove.iter().filter(|word| words::has(&value, word));
    let expected = Change { add: change.add.clone(), remove: held.cloned().collect() };
    let mut way = Way { by, expected, ..Way::default() };
    if edited != text {
        let why = format!("the words from which {program} makes the boot menu");
        way.steps.push(write(path, edited, &why, RISK));
        let why = "the boot menu is made from the settings; without this they have no effect";
        let risk = "it rewrites the boot menu, as every kernel update does";
        way.steps.push(run(&[program], &CONFIGS, why, risk));
    }
    Some(Ok(way))
}

/// A file that nobody generates.
pub(super) fn direct(system: &System, change: &Change) -> Option<Result<Way, NoWay>> {
    let path = CONFIGS.into_iter().find(|path| system.text(path).is_some())?;
    let files = system.text(path).map(|text| (Path::new(path), text)).into_iter();
    let why = "the words of every entry; no generator was found that owns this file";
    let steps = edits(files, why, |text| Some(append(text, change)));
    Some(Ok(Way { by: "extlinux", steps, ..Way::default() }))
}

/// Every `APPEND` line changed; `append -` means none and stays.
fn append(text: &str, change: &Change) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    for line in text.split_inclusive('\n') {
        let body = line.trim_end_matches(['\n', '\r']);
        let keyword = body.trim_start();
        let is_append = keyword.get(..6).is_some_and(|word| word.eq_ignore_ascii_case("append"))
            && keyword.get(6..).is_some_and(|rest| rest.starts_with([' ', '\t']));
        let value = keyword.get(6..).unwrap_or_default().trim_start();
        if !is_append || value == "-" || words::words(value).next().is_none() {
            out.push_str(line);
            continue;
        }
        out.push_str(body.get(..body.len() - value.len()).unwrap_or_default());
        out.push_str(&change.of(value));
        out.push_str(line.get(body.len()..).unwrap_or_default());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::change;
    use proptest::prelude::*;

    #[test]
    fn every_entry_and_nothing_else() {
        let text = "DEFAULT lts\nLABEL lts\n  LINUX vmlinuz\n  APPEND root=/dev/vda quiet\r\n\tappend a b\nAPPEND -\nAPPENDIX x\n";
        let edited = append(text, &change(&["clocksource=tsc"], &["quiet"]));
        let expected =
            text.replace("vda quiet", "vda clocksource=tsc").replace("a b", "a b clocksource=tsc");
        assert_eq!(edited, expected);
    }

    proptest! {
        #[test]
        fn added_and_removed_gives_the_same_bytes(values in proptest::collection::vec("[a-c=][a-c =]{0,12}", 0..4)) {
            let text: String = values.iter().map(|value| format!("LABEL x\n  APPEND {value}\n")).collect();
            let wanted = change(&["zz=1"], &[]);
            let edited = append(&text, &wanted);
            prop_assert_eq!(append(&edited, &wanted), edited.clone());
            prop_assert_eq!(append(&edited, &wanted.reversed()), text);
        }
    }
}
