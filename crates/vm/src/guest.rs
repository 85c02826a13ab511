//! The system in a virtual machine, as far as its file tells.

use serde::Serialize;

/// The guest's system. What is right for its clock depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Guest {
    /// Linux.
    Linux,
    /// Windows: its clock is Hyper-V's reference page.
    Windows,
    /// macOS.
    Macos,
    /// A BSD.
    Bsd,
    /// Something that the file names and that is none of these.
    Other,
    /// The file does not say.
    #[default]
    Unknown,
}

/// The guest's system, and whether that is only guessed from a name: then it is shown, and nothing is changed by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) guest: Guest,
    pub(crate) guessed: bool,
}

impl Known {
    /// Something in the file says it, or the command line.
    pub(crate) fn declared(guest: Guest) -> Self {
        Self { guest, guessed: false }
    }

    /// What is declared counts, and then what names tell.
    pub(crate) fn of<'a>(
        declared: Option<Guest>,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        match declared.filter(|guest| *guest != Guest::Unknown) {
            Some(guest) => Self::declared(guest),
            None => {
                let guest = names.into_iter().find_map(Guest::of_words);
                Self { guest: guest.unwrap_or_default(), guessed: guest.is_some() }
            }
        }
    }

    /// The same, where nothing was known before.
    pub(crate) fn or(self, other: Self) -> Self {
        if self.guest == Guest::Unknown { other } else { self }
    }
}

/// A name of a file without its directories.
pub(crate) fn base(name: &str) -> &str {
    name.rsplit(['/', '\\']).next().unwrap_or(name)
}

/// Whether a name tells a Windows before Vista, which knows no reference page of Hyper-V.
pub(crate) fn old_windows(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric()).peekable();
    while let Some(word) = words.next() {
        let old = |word: &str| {
            matches!(
                word,
                "95" | "98"
                    | "98se"
                    | "me"
                    | "nt"
                    | "nt4"
                    | "2000"
                    | "2k"
                    | "2k3"
                    | "2003"
                    | "xp"
                    | "3"
                    | "31"
            )
        };
        let rest = ["windows", "win", "w"].iter().find_map(|head| word.strip_prefix(head));
        if let Some(rest) = rest
            && (old(rest)
                || rest.is_empty() && word != "w" && words.peek().is_some_and(|next| old(next)))
        {
            return true;
        }
    }
    false
}

/// Whether a name tells more than one system: `windows-and-linux.sh`.
pub(crate) fn several(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let words = name.split(|c: char| !c.is_ascii_alphanumeric());
    let mut told = words.filter_map(Guest::of_words);
    told.next().is_some_and(|first| told.any(|other| other != first))
}

/// Words that tell a system; a word may go on with a number.
const WORDS: [(Guest, &str); 5] = [
    (Guest::Macos, "macos osx hackintosh bigsur opencore"),
    (Guest::Windows, "windows win winxp winvista winserver w7 w8 w10 w11 w2k microsoft"),
    (Guest::Bsd, "freebsd openbsd netbsd pfsense opnsense"),
    (Guest::Other, "truenas"),
    (
        Guest::Linux,
        "linux ubuntu debian fedora centos rhel redhat rocky alma almalinux archlinux suse opensuse sles alpine \
            gentoo nixos manjaro kali coreos cirros",
    ),
];

impl Guest {
    /// What a name (of a machine, of a disk, of an operating system in a database) tells.
    #[must_use]
    pub fn of_words(text: &str) -> Option<Self> {
        let text = text.to_ascii_lowercase();
        let tells = |token: &str| {
            let is = |word: &&str| {
                let rest = token.strip_prefix(word);
                rest.is_some_and(|rest| {
                    rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_digit())
                })
            };
            let found =
                WORDS.iter().find(|(_, words)| words.split_whitespace().any(|word| is(&word)));
            found.map(|(guest, _)| *guest)
        };
        // "edwin", "darwin" and "goodwin" are no Windows: only whole words count.
        let found: Vec<Self> =
            text.split(|c: char| !c.is_ascii_alphanumeric()).filter_map(tells).collect();
        WORDS.iter().map(|(guest, _)| *guest).find(|guest| found.contains(guest))
    }

    /// The system of a name, as `--guest` takes it.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|guest| guest.name() == name)
    }

    /// Every one.
    pub const ALL: [Self; 6] =
        [Self::Linux, Self::Windows, Self::Macos, Self::Bsd, Self::Other, Self::Unknown];

    /// The name, as in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Windows => "windows",
            Self::Macos => "macos",
            Self::Bsd => "bsd",
            Self::Other => "other",
            Self::Unknown => "unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_windows_is_told_by_whole_words() {
        for name in ["win2000.img", "winxp", "windows-xp-sp3", "w2k", "Win98SE.qcow2", "WindowsXP"]
        {
            assert!(old_windows(name), "{name}");
        }
        for name in ["win10", "windows_server_2019", "win2k22", "windows 7", "xp", "w-2000", "win"]
        {
            assert!(!old_windows(name), "{name}");
        }
    }

    #[test]
    fn names_tell() {
        assert_eq!(Guest::of_words("http://microsoft.com/win/10"), Some(Guest::Windows));
        assert_eq!(Guest::of_words("macOS_Catalina"), Some(Guest::Macos));
        assert_eq!(Guest::of_words("http://ubuntu.com/ubuntu/22.04"), Some(Guest::Linux));
        for name in [
            "QEMUGuest1",
            "edwin-db1",
            "/srv/edwin-vms/a",
            "darwin-builder",
            "monterey-db",
            "goodwin-web",
        ] {
            assert_eq!(Guest::of_words(name), None, "{name}");
        }
        for name in ["win", "Win10", "win2k22", "my-win-11", "windows_server", "w11"] {
            assert_eq!(Guest::of_words(name), Some(Guest::Windows), "{name}");
        }
        for guest in Guest::ALL {
            assert_eq!(Guest::of_name(guest.name()), Some(guest));
        }
    }
}
