//! The entries that a boot loader reads, by their names, and the options that GRUB would interpret as a script.
//!
//! Sources: systemd-boot's `config_load_type1_entries()` (`src/boot/efi/boot.c`: no name that begins with a dot or with
//! `auto-`, the suffix in any case) and `line_get_key_value()` (a value between two double quotes loses them);
//! `read_entry()` of GRUB's `blscfg.c` (no name that begins with a dot, at least one letter before `.conf`, in small
//! letters), which generates a script from every entry, with unchanged options except for `$NAME`.

use super::{VARIABLES, options};
use crate::system::System;
use std::path::Path;

/// Variables of grubenv that options name; others may have any value.
const KNOWN: [&str; 2] = ["kernelopts", "tuned_params"];

/// The boot loaders that may read the entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Readers {
    grub: bool,
    systemd_boot: bool,
}

impl Readers {
    pub(super) fn of(system: &System) -> Self {
        let config = super::super::grub::config(system).and_then(|path| system.text(path));
        let text = |path: &str| system.text(path).is_some();
        let grub = config.is_some_and(super::are_read_by)
            || system.has("grubby")
            // zipl(8) accepts the same names as GRUB.
            || text(super::single::ZIPL);
        let info = system.efi.loader.as_deref().unwrap_or_default().to_ascii_lowercase();
        let systemd_boot = info.starts_with("systemd-boot");
        Self {
            grub: grub && !systemd_boot,
            systemd_boot: systemd_boot || !(grub && info.starts_with("grub")),
        }
    }

    /// Returns the reason why no boot loader reads an entry of this name.
    pub(super) fn ignore(self, path: &Path) -> Option<&'static str> {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        let end = name.len().checked_sub(".conf".len()).and_then(|at| name.get(at..));
        let end = end.unwrap_or_default();
        if name.starts_with(b".") {
            return Some("no boot loader reads a name that begins with a dot");
        }
        let by_grub = end == b".conf" && name.len() > end.len();
        let by_systemd_boot = end.eq_ignore_ascii_case(b".conf") && !name.starts_with(b"auto-");
        if self.grub && by_grub || self.systemd_boot && by_systemd_boot {
            return None;
        }
        Some(match end {
            b".conf" => "systemd-boot reads no name that begins with auto-",
            _ => "GRUB reads only names that end with .conf, in lower case",
        })
    }

    /// Returns the line of an entry, counted from 1, to whose options a word cannot be added with certainty, and the
    /// reason.
    pub(super) fn obstacle(self, text: &str) -> Option<(usize, String)> {
        options(text).find_map(|(start, end)| {
            let value = text.get(start..end).unwrap_or_default().trim();
            let line = text.get(..start).unwrap_or_default().matches('\n').count() + 1;
            let quoted = value.len() > 1 && value.starts_with('"') && value.ends_with('"');
            let why = if quoted {
                Some("begins and ends with a double quote, which systemd-boot removes".to_owned())
            } else if self.grub {
                script(value)
            } else {
                None
            };
            Some((line, why?))
        })
    }
}

/// Entries of a directory that a boot loader reads.
pub(super) fn read<'a>(
    system: &'a System,
    directory: &'a str,
) -> impl Iterator<Item = (&'a Path, &'a str)> {
    let readers = Readers::of(system);
    system.below(directory).filter(move |(path, _)| readers.ignore(path).is_none())
}

/// Describes the first part of a value that GRUB would not pass to the kernel unchanged, if there is one.
pub(super) fn script(value: &str) -> Option<String> {
    let mut inside = false;
    let mut rest = value.char_indices();
    while let Some((at, letter)) = rest.next() {
        match letter {
            '"' => inside = !inside,
            '$' => {
                let tail = value.get(at + 1..).unwrap_or_default();
                let name = tail
                    .strip_prefix('{')
                    .map_or(tail, |tail| tail.split('}').next().unwrap_or(tail));
                let length =
                    name.bytes().take_while(|it| it.is_ascii_alphanumeric() || *it == b'_').count();
                let name = name.get(..length).unwrap_or_default();
                if !KNOWN.contains(&name) {
                    return Some(format!(
                        "has `${name}`, a variable of GRUB whose value is not known"
                    ));
                }
                let braced = format!("${{{name}}}");
                let whole = if tail.starts_with('{') { braced.len() } else { length + 1 };
                if tail.starts_with('{')
                    && !value.get(at..).is_some_and(|it| it.starts_with(&braced))
                {
                    return Some("has `${` that is not closed, for GRUB's script".to_owned());
                }
                for _ in 1..whole {
                    rest.next();
                }
            }
            '\\' | '`' => return Some(special(letter)),
            '#' | ';' | '&' | '|' | '{' | '}' | '<' | '>' | '\'' if !inside => {
                return Some(special(letter));
            }
            _ => {}
        }
    }
    None
}

fn special(letter: char) -> String {
    format!("has `{letter}`, which GRUB interprets in its script and does not pass to the kernel")
}

/// Finds a fault in the variables that entries share, in a block of GRUB's environment: the variable, and the fault.
pub(super) fn in_block(block: &str) -> Option<(&'static str, String)> {
    KNOWN.into_iter().find_map(|name| {
        let start = format!("{name}=");
        let value = block.lines().find_map(|line| line.strip_prefix(&start))?;
        Some((name, script(value)?))
    })
}

/// Whether options name one of the variables.
pub(super) fn names_variable(text: &str) -> bool {
    VARIABLES.iter().any(|name| text.contains(name))
        || text.contains("$tuned_params")
        || text.contains("${tuned_params}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRUB: Readers = Readers { grub: true, systemd_boot: false };
    const SYSTEMD_BOOT: Readers = Readers { grub: false, systemd_boot: true };

    #[test]
    fn names_are_those_that_each_boot_loader_reads() {
        for (name, grub, systemd_boot) in [
            ("a.conf", true, true),
            ("C.CONF", false, true),
            ("c.Conf", false, true),
            (".e.conf", false, false),
            ("auto-x.conf", true, false),
            ("AUTO-x.conf", true, true),
            (".conf", false, false),
            ("a.conf.bak", false, false),
        ] {
            let path = Path::new("/boot/loader/entries").join(name);
            assert_eq!(GRUB.ignore(&path).is_none(), grub, "{name}");
            assert_eq!(SYSTEMD_BOOT.ignore(&path).is_none(), systemd_boot, "{name}");
        }
    }

    #[test]
    fn options_that_grub_takes_for_script_are_found_with_their_line() {
        for value in [
            "root=x # quiet",
            "a=b#c",
            "a; b",
            "a && b",
            "a | b",
            "a { b",
            "a } b",
            "a < b",
            "a > b",
            "a\\",
            "a\\ b",
            "it's",
            "`b`",
            "$other",
            "${other}",
            "${kernelopts",
            "a \"b\\\" c\"",
            "a \"$x\"",
            "$",
            "$tuned_params_more",
        ] {
            let text = format!("title T\nlinux /x\noptions {value}\n");
            let (line, why) = GRUB.obstacle(&text).unwrap_or_else(|| panic!("{value}"));
            assert_eq!(line, 3, "{value}: {why}");
            assert_eq!(SYSTEMD_BOOT.obstacle(&text), None, "{value}");
        }
        for value in [
            "",
            "root=UUID=1 ro quiet",
            "$kernelopts $tuned_params",
            "${kernelopts} a",
            "dyndbg=\"file a; b +p\" quiet",
            "a=(hd0,1) b=[c] d=1,2@3:4%5",
            "a=\"#\" b",
        ] {
            assert_eq!(GRUB.obstacle(&format!("options {value}\n")), None, "{value}");
        }
        assert!(SYSTEMD_BOOT.obstacle("options \"root=x quiet\"\n").is_some());
        let block = "# GRUB Environment Block\nkernelopts=ro # quiet\n####";
        assert_eq!(in_block(block).unwrap().0, "kernelopts");
        assert_eq!(in_block("# GRUB Environment Block\nkernelopts=ro quiet\n####"), None);
    }
}
