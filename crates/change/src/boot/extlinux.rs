//! extlinux and other readers of its format (U-Boot): Alpine's generator, Debian's u-boot-menu, or
//! the file itself.
//!
//! Sources: Alpine's `update-extlinux` (`default_kernel_opts` in `/etc/update-extlinux.conf`, from which
//! it makes `/boot/extlinux.conf`); u-boot-menu's `u-boot-update` (`U_BOOT_PARAMETERS` in
//! `/etc/default/u-boot`); the syslinux wiki, `APPEND`.

use super::settings::{self, Kind};
use super::{NoWay, RISK, Way, file, hand, menu, plain, run, strict, write};
use crate::system::System;
use crate::words::{self, Change};
use std::path::Path;

/// Settings of its generators, and the files that it reads.
pub(super) const FILES: [&str; 4] = [
    "/etc/update-extlinux.conf",
    "/etc/default/u-boot",
    "/boot/extlinux.conf",
    "/boot/extlinux/extlinux.conf",
];
pub(super) const CONFIGS: [&str; 2] = ["/boot/extlinux.conf", "/boot/extlinux/extlinux.conf"];

/// Alpine's names of settings.
const ALPINE: [&str; 13] = [
    "overwrite",
    "vesa_menu",
    "default_kernel_opts",
    "modules",
    "root",
    "verbose",
    "hidden",
    "timeout",
    "default",
    "serial_port",
    "serial_baud",
    "xen_opts",
    "password",
];
/// Directories in which u-boot-menu reads further settings.
pub(crate) const U_BOOT_DIRECTORIES: [&str; 2] =
    ["/etc/u-boot-menu/conf.d", "/usr/share/u-boot-menu/conf.d"];
const U_BOOT: &str = "U_BOOT_PARAMETERS";
/// The default value.
const U_BOOT_DEFAULT: &str = "ro quiet";

/// Alpine.
pub(super) fn alpine(system: &System, change: &Change) -> Option<Result<Way, NoWay>> {
    const KIND: Kind =
        Kind { names: |name| ALPINE.contains(&name), line: &["default_kernel_opts"] };
    let path = "/etc/update-extlinux.conf";
    generated(system, change, path, &KIND, "", ("update-extlinux", "extlinux (Alpine)"))
}

/// Debian with U-Boot.
pub(super) fn u_boot_menu(system: &System, change: &Change) -> Option<Result<Way, NoWay>> {
    const KIND: Kind = Kind { names: |name| name.starts_with("U_BOOT_"), line: &[U_BOOT] };
    let path = "/etc/default/u-boot";
    let text = system.text(path);
    let further = || {
        U_BOOT_DIRECTORIES.into_iter().find_map(|directory| {
            let sets = |(_, text): &(&Path, &str)| {
                strict::read(text, KIND.names)
                    .map_or(true, |all| all.iter().any(|it| it.name == U_BOOT))
            };
            let trouble = system.troubles(directory).next().map(|(path, _)| path);
            trouble.or(system.below(directory).find(sets).map(|(path, _)| path))
        })
    };
    if text.is_some()
        && let Some(other) = further()
    {
        let why = format!(
            "may also set {U_BOOT}, and it is not known which of the two u-boot-update uses. {}",
            hand(U_BOOT, change)
        );
        return Some(Err(file(other, why)));
    }
    // Newer versions use that file if no setting is made.
    let sets = |text: &str| {
        strict::read(text, KIND.names)
            .is_ok_and(|all| all.iter().any(|it| it.name == U_BOOT && !it.raw.is_empty()))
    };
    let other = "/etc/kernel/cmdline";
    if let Some(text) = text
        && !sets(text)
        && system.files.contains_key(Path::new(other))
    {
        let why = format!(
            "has no {U_BOOT}, so u-boot-update uses its own words or those of {other}. By hand: \
             write {U_BOOT}=\"...\" with all words of /proc/cmdline except root=, with this change; \
             then: u-boot-update"
        );
        return Some(Err(file(path, why)));
    }
    generated(system, change, path, &KIND, U_BOOT_DEFAULT, ("u-boot-update", "u-boot-menu"))
}

fn generated(
    system: &System,
    change: &Change,
    path: &str,
    kind: &Kind,
    default: &str,
    (program, by): (&str, &'static str),
) -> Option<Result<Way, NoWay>> {
    let variable = kind.line.first().copied().unwrap_or_default();
    let by_hand = || format!("{}; then: {program}", hand(variable, change));
    let Some(text) = system.text(path) else {
        let why = system.trouble(path)?;
        return Some(Err(file(path, format!("{why}. {}", by_hand()))));
    };
    let edited = match settings::edited(kind, text, variable, default, change) {
        Ok(edited) => edited,
        Err(why) => return Some(Err(file(path, format!("{why}. {}", by_hand())))),
    };
    let values = settings::evaluate(kind, [text]).unwrap_or_default();
    let value = settings::line(kind, &values);
    let value = if value.is_empty() { default } else { value.as_str() };
    let held = change.remove.iter().filter(|word| words::has(value, word));
    let expected = Change { add: change.add.clone(), remove: held.cloned().collect() };
    let mut way = Way { by, expected, ..Way::default() };
    if edited != text {
        let why = format!("the words from which {program} makes the boot menu");
        way.steps.push(write(path, edited, &why, RISK));
        let why = "the boot menu is made from the settings; without this they have no effect";
        let risk = "the command rewrites the boot menu, as every kernel update does";
        way.steps.push(run(&[program], &CONFIGS, why, risk));
    }
    Some(Ok(way))
}

/// A file that no program generates.
pub(super) fn direct(system: &System, change: &Change) -> Option<Result<Way, NoWay>> {
    let there: Vec<&str> =
        CONFIGS.into_iter().filter(|path| system.files.contains_key(Path::new(path))).collect();
    let path = *there.first()?;
    let by_hand = hand("APPEND of every entry that boots Linux", change);
    let refuse = |why: String| Some(Err(file(path, format!("{why}. {by_hand}"))));
    if let Some(why) = system.trouble(path) {
        return refuse(why.to_owned());
    }
    let text = system.text(path)?;
    if there.get(1).is_some_and(|other| system.text(other) != Some(text)) {
        return refuse(format!(
            "there is also {}, and it is not known which of them is read",
            there[1]
        ));
    }
    if let Err(error) = plain(path, text) {
        return Some(Err(error));
    }
    let places = match menu::places(text) {
        Ok(places) => places,
        Err((line, why)) => return refuse(format!("line {line} {why}")),
    };
    let mut edited = text.to_owned();
    for (start, end) in places.into_iter().rev() {
        let value = text.get(start..end).unwrap_or_default();
        if let Err(why) = settings::closed(value) {
            let line = text.get(..start).map_or(0, |before| before.matches('\n').count()) + 1;
            return refuse(format!("line {line}: {why}"));
        }
        let changed = change.of(value);
        if changed.is_empty() {
            return refuse("an entry would have no words at all".to_owned());
        }
        edited.replace_range(start..end, &changed);
    }
    let why = "the words of every entry; no generator was found that owns this file";
    let mut way = Way { by: "extlinux", ..Way::default() };
    for path in there {
        if edited != text {
            way.steps.push(write(path, edited.clone(), why, RISK));
        }
    }
    Some(Ok(way))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::change;
    use proptest::prelude::*;

    fn board(text: &str) -> System {
        System::default().with(CONFIGS[1], text)
    }

    fn append(text: &str, change: &Change) -> String {
        let way = direct(&board(text), change).unwrap().unwrap_or_else(|it| panic!("{text}: {it}"));
        match way.steps.first().map(|step| &step.action) {
            Some(crate::plan::Action::Write { content, .. }) => content.clone(),
            _ => text.to_owned(),
        }
    }

    #[test]
    fn every_entry_and_nothing_else() {
        let text = "DEFAULT lts\nLABEL lts\n  LINUX vmlinuz\n  APPEND root=/dev/vda quiet\nLABEL b\n\tkernel /x\n\tappend a b\nAPPENDIX x\nLABEL m\n KERNEL memtest.bin\n APPEND a\nLABEL c\n COM32 chain.c32\n APPEND hd0 1\nLABEL l\n LOCALBOOT 0\nLABEL h\n LINUX /y\n TEXT HELP\n one\n ENDTEXT\n APPEND\tx -- y\n";
        let edited = append(text, &change(&["clocksource=tsc"], &["quiet"]));
        let expected = text
            .replace("vda quiet", "vda clocksource=tsc")
            .replace("a b", "a b clocksource=tsc")
            .replace("x -- y", "x clocksource=tsc -- y");
        assert_eq!(edited, expected);
    }

    #[test]
    fn menu_that_is_not_understood_is_refused_with_its_line() {
        let entry = "LABEL a\n  LINUX /v\n  APPEND root=/dev/sda\n";
        for (text, line) in [
            ("LABEL a\n  LINUX /v\n", 1),
            ("LABEL a\n  LINUX /v\n  APPEND -\n", 3),
            ("LABEL a\n  LINUX /v\n  APPEND\n", 3),
            ("LABEL a\n  LINUX /v\n  APPEND a\n  APPEND b\n", 4),
            ("LABEL a\n  LINUX /v\n  APPEND a=\"b\n", 3),
            ("LABEL a\n  KERNEL mboot.c32\n  APPEND xen.gz --- /v root=x\n", 2),
            ("LABEL a\n  KERNEL chain.c32\n  LINUX /v\n  APPEND a\n", 3),
            (&format!("{entry}INCLUDE b.conf\n"), 4),
            (&format!("{entry}MENU INCLUDE b.conf\n"), 4),
            (
                &format!(
                    "{entry}LABEL h\nLINUX /x\nAPPEND a\nTEXT HELP\n APPEND notreal\nENDTEXT\n"
                ),
                8,
            ),
            (&format!("{entry}TEXT HELP\n"), 4),
            (&format!("{entry}DEFAULT a clocksource=hpet\n"), 4),
            (&format!("{entry}DEFAULT other\n"), 4),
            (&format!("## Do not edit this file manually, use: u-boot-update\n{entry}"), 1),
            (&format!("# Generated by update-extlinux 6.04\n{entry}"), 1),
            (&format!("{entry}LABEL b\r\n"), 4),
            (&format!("{entry}# \0\n"), 4),
        ] {
            let error =
                direct(&board(text), &change(&["x=1"], &[])).unwrap().unwrap_err().to_string();
            assert!(
                error.contains(&format!(": line {line} "))
                    || error.contains(&format!(": line {line}:")),
                "{text}: {error}"
            );
        }
        // No entry at all, and two files that differ.
        assert!(direct(&board("DEFAULT a\n"), &change(&["x=1"], &[])).unwrap().is_err());
        let two = board(entry).with(CONFIGS[0], "LABEL b\nLINUX /v\nAPPEND x\n");
        assert!(direct(&two, &change(&["x=1"], &[])).unwrap().is_err());
    }

    #[test]
    fn settings_of_u_boot_menu_keep_their_default() {
        let plan = |system: System| u_boot_menu(&system, &change(&["x=1"], &[])).unwrap();
        let text = |way: Way| match &way.steps[0].action {
            crate::plan::Action::Write { content, .. } => content.clone(),
            other => panic!("{other:?}"),
        };
        let system = |text: &str| System::default().with("/etc/default/u-boot", text);
        assert_eq!(
            text(plan(system("U_BOOT_PARAMETERS=\"\"\n")).unwrap()),
            "U_BOOT_PARAMETERS=\"ro quiet x=1\"\n"
        );
        assert_eq!(text(plan(system("")).unwrap()), "U_BOOT_PARAMETERS=\"ro quiet x=1\"\n");
        assert!(plan(system("").with("/etc/kernel/cmdline", "rw\n")).is_err());
        let further = system("U_BOOT_PARAMETERS=ro\n")
            .with("/etc/u-boot-menu/conf.d/a.conf", "U_BOOT_PARAMETERS=rw\n");
        assert!(plan(further).is_err());
        let further = system("U_BOOT_PARAMETERS=ro\n")
            .with("/etc/u-boot-menu/conf.d/a.conf", "U_BOOT_TIMEOUT=1\n");
        assert!(plan(further).is_ok());
        assert!(
            plan(system("U_BOOT_PARAMETERS=ro\nif true; then U_BOOT_PARAMETERS=x; fi\n")).is_err()
        );
    }

    proptest! {
        #[test]
        fn added_and_removed_gives_the_same_bytes(values in proptest::collection::vec("[a-c=][a-c =]{0,12}", 1..4)) {
            let text: String = values.iter().map(|value| format!("LABEL x\n  LINUX /v\n  APPEND {}\n", value.trim_end())).collect();
            let wanted = change(&["zz=1"], &[]);
            let edited = append(&text, &wanted);
            prop_assert_eq!(append(&edited, &wanted), edited.clone());
            prop_assert_eq!(append(&edited, &wanted.reversed()), text);
        }
    }
}
