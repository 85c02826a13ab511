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

/// Words that tell a system, in the order in which they are tried.
const WORDS: [(Guest, &str); 5] = [
    (
        Guest::Macos,
        "macos mac-os osx hackintosh catalina bigsur monterey ventura sonoma mojave \
            opencore",
    ),
    (
        Guest::Windows,
        "windows win10 win11 win7 win8 winxp w10 w11 win2k win- win. microsoft.com win_ \
            w2k",
    ),
    (Guest::Bsd, "freebsd openbsd netbsd pfsense opnsense"),
    (Guest::Other, "truenas"),
    (
        Guest::Linux,
        "linux ubuntu debian fedora centos rhel redhat.com rocky alma suse alpine gentoo \
            nixos manjaro kali coreos cirros",
    ),
];

impl Guest {
    /// What a name (of a machine, of a disk, of an operating system in a database) tells.
    #[must_use]
    pub fn of_words(text: &str) -> Option<Self> {
        let text = text.to_ascii_lowercase();
        // "darwin" is in "win", "virtio-win.iso" is on Linux hosts for Windows guests: both are right.
        let has = |words: &str| words.split(' ').any(|word| text.contains(word));
        let found = WORDS.iter().find(|(_, words)| has(words)).map(|(guest, _)| *guest);
        found.or_else(|| (text == "win" || text == "windows").then_some(Self::Windows))
    }

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
    fn names_tell() {
        assert_eq!(Guest::of_words("http://microsoft.com/win/10"), Some(Guest::Windows));
        assert_eq!(Guest::of_words("macOS_Catalina"), Some(Guest::Macos));
        assert_eq!(Guest::of_words("http://ubuntu.com/ubuntu/22.04"), Some(Guest::Linux));
        assert_eq!(Guest::of_words("QEMUGuest1"), None);
    }
}
