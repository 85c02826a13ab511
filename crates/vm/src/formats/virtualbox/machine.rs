//! The settings of the clock that a `.vbox` file and a script have in common, each with its place.

use super::tsc::{Engine, Era, Key, Keys, ModeKey};
use crate::guest::Guest;
use crate::template::in_plain_value as is_template;
use std::ops::Range;
use std::rc::Rc;

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) value: String,
    /// The value's bytes, without quotes.
    pub(crate) span: Range<usize>,
}

/// One `VBoxInternal/...` key.
#[derive(Clone, Debug)]
pub(crate) struct Extra {
    /// The whole path of the key.
    pub(crate) name: String,
    pub(crate) value: Setting,
    /// The whole element or command.
    pub(crate) whole: Range<usize>,
    /// The range to delete to remove it, with its line; `None` if that is not certain.
    pub(crate) remove: Option<Range<usize>>,
}

impl Extra {
    /// The key below `VBoxInternal/TM/`, if present.
    pub(crate) fn tm(&self) -> Option<&str> {
        self.name.strip_prefix("VBoxInternal/TM/")
    }
}

/// One machine, or one snapshot of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    /// The name of the snapshot.
    pub(crate) snapshot: Option<String>,
    /// Where the machine begins.
    pub(crate) head: Range<usize>,
    pub(crate) cpus: Option<Setting>,
    pub(crate) provider: Option<Setting>,
    pub(crate) os: Option<Setting>,
    /// The guest according to a sign other than its type: the name of a Vagrant box.
    pub(crate) hint: Guest,
    /// The guest's system, if the caller specified it.
    pub(crate) said: Option<Guest>,
    /// Whether its processor is one of Arm, by a setting other than its type.
    pub(crate) arm: bool,
    /// Whether it is a machine's own file, in which every value was checked by VirtualBox or written by hand.
    pub(crate) own_file: bool,
    pub(crate) hpet: Option<Setting>,
    pub(crate) engine: Option<Setting>,
    pub(crate) extra: Rc<Vec<Extra>>,
    /// Whether settings that are missing have their defaults. They do not in a script, which may change an existing
    /// machine.
    pub(crate) complete: bool,
    /// `None`: the file does not show it.
    pub(crate) era: Option<Era>,
}

/// VirtualBox reads a key as a number, so `1` and `true` are not the same, but both are accepted here.
fn truth(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// Parses a number like `RTStrToUInt64`: decimal, or hexadecimal with `0x`.
fn number(text: &str) -> Result<u64, ()> {
    let text = text.trim();
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).map_err(drop),
        None => text.parse().map_err(drop),
    }
}

impl Machine {
    /// The last value of a key below `VBoxInternal/TM/`.
    pub(crate) fn key(&self, key: Key) -> Option<&Extra> {
        self.extra.iter().rev().find(|extra| extra.tm() == Some(key.name()))
    }

    pub(crate) fn keys(&self) -> Keys {
        let text = |key| {
            let text = self.key(key)?.value.value.as_str();
            (!is_template(text)).then_some(text)
        };
        Keys {
            virtualized: text(Key::Virtualized).map(|text| truth(text).unwrap_or(true)),
            real: text(Key::Real).map(|text| truth(text).unwrap_or(true)),
            maybe_offset: text(Key::MaybeOffset).map(|text| truth(text).unwrap_or(true)),
            ticks: text(Key::Ticks).map(number),
            tied: text(Key::Tied).and_then(truth),
            mode: text(Key::Mode).map(ModeKey::parse),
            switch: text(Key::Switch).and_then(truth),
            warp: text(Key::Warp).and_then(|text| text.trim().parse().ok()),
        }
    }

    /// Returns the number of vCPUs; one by default.
    pub(crate) fn vcpus(&self) -> Option<u32> {
        match &self.cpus {
            Some(setting) => setting.value.trim().parse().ok().filter(|count| *count > 0),
            None => self.complete.then_some(1),
        }
    }

    /// Returns the provider's name in lower case; `default` if it is missing.
    pub(crate) fn provider(&self) -> Option<String> {
        match &self.provider {
            Some(setting) => Some(setting.value.to_ascii_lowercase()),
            None => self.complete.then(|| "default".to_owned()),
        }
    }

    pub(crate) fn hpet(&self) -> bool {
        self.hpet.as_ref().and_then(|setting| truth(&setting.value)) == Some(true)
    }

    /// Returns whether its processor is one of Arm, which has no TSC.
    pub(crate) fn is_arm(&self) -> bool {
        let of_arm = |os: &Setting| os.value.to_ascii_lowercase().ends_with("_arm64");
        self.arm || self.os.as_ref().is_some_and(of_arm)
    }

    /// Returns the engine that runs the guest, as far as the file shows it.
    pub(crate) fn engine(&self) -> Option<Engine> {
        if let Some(engine) = &self.engine {
            let folded: String = engine
                .value
                .to_ascii_lowercase()
                .chars()
                .filter(char::is_ascii_alphanumeric)
                .collect();
            match folded.as_str() {
                "nativeapi" => return Some(Engine::Nem),
                "hm" | "hwvirt" => return Some(Engine::Own),
                _ => {}
            }
        }
        let nem = self.extra.iter().rev().find(|extra| extra.name == "VBoxInternal/NEM/Enabled")?;
        truth(&nem.value.value).map(|on| if on { Engine::Nem } else { Engine::Own })
    }

    /// Returns whether the guest is only inferred: from the name of a box, or from an id that VirtualBox does not know.
    pub(crate) fn guessed(&self) -> bool {
        let (guest, known) = self.guest();
        self.said.is_none() && guest != Guest::Unknown && (self.os.is_none() || !known)
    }

    /// Whether the type names no system: "Other" or "unknown".
    pub(crate) fn unspecific(&self) -> bool {
        self.os.as_ref().is_none_or(|os| {
            let id = os.value.to_ascii_lowercase();
            id.starts_with("other") || id.starts_with("unknown")
        })
    }

    /// Returns the guest, and whether VirtualBox knows its id.
    pub(crate) fn guest(&self) -> (Guest, bool) {
        let declared = self.os.as_ref().map(|os| guest(&os.value));
        let declares = |(system, known)| known && !matches!(system, Guest::Other | Guest::Unknown);
        if let Some(said) = self.said
            && !(declared.is_some_and(declares))
        {
            return (said, self.os.as_ref().is_none_or(|os| guest(&os.value).1));
        }
        match &self.os {
            None => (self.hint, true),
            Some(os) if is_template(&os.value) => (Guest::Unknown, true),
            Some(os) => guest(&os.value),
        }
    }
}

/// Returns the system that an operating system's id names, and whether the id is known. Source: `Global::sOSTypes` in
/// `src/VBox/Main/src-all/Global.cpp` (4.0 to 7.2), by prefixes, since every version adds some.
pub(crate) fn guest(id: &str) -> (Guest, bool) {
    const LINUX: &str = "Linux Ubuntu Xubuntu Lubuntu Debian Fedora RedHat Oracle OpenSUSE SUSE SLE ArchLinux \
        Gentoo Mandriva Mageia OpenMandriva PCLinuxOS Turbolinux Xandros";
    const OTHER: &str = "Other unknown DOS OS2 OS21x L4 QNX Netware Haiku JRockitVE VBoxBS VBoxWHQL Solaris \
        OpenSolaris WindowsXP Xenix Cygwin";
    // The case is ignored (`VirtualBox::i_findGuestOSType()`).
    let starts =
        |prefix: &str| id.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix));
    let begins = |list: &str| list.split(' ').any(starts);
    let plain = id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let (guest, known) = if begins(LINUX) {
        (Guest::Linux, true)
    } else if starts("Windows") {
        (Guest::Windows, true)
    } else if starts("MacOS") {
        (Guest::Macos, true)
    } else if begins("FreeBSD OpenBSD NetBSD DragonFly") {
        (Guest::Bsd, true)
    } else if begins(OTHER) {
        (Guest::Other, true)
    } else {
        let lower = id.to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        let guess = if has(&["ubuntu", "debian", "linux", "centos", "fedora", "redhat", "suse"]) {
            Guest::Linux
        } else if lower.contains("windows") {
            Guest::Windows
        } else {
            Guest::Unknown
        };
        (guess, false)
    };
    (guest, known && plain && !id.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_systems() {
        for (id, expected) in [
            ("Ubuntu_64", (Guest::Linux, true)),
            ("Ubuntu22_LTS_64", (Guest::Linux, true)),
            ("Linux26", (Guest::Linux, true)),
            ("Windows11_64", (Guest::Windows, true)),
            ("Windows 11", (Guest::Windows, false)),
            ("MacOS1013_64", (Guest::Macos, true)),
            ("FreeBSD_64", (Guest::Bsd, true)),
            ("Other_64", (Guest::Other, true)),
            ("ubuntu-64", (Guest::Linux, false)),
            ("Sundial", (Guest::Unknown, false)),
            ("", (Guest::Unknown, false)),
        ] {
            assert_eq!(guest(id), expected, "{id}");
        }
    }
}
