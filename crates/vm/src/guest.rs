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
const WORDS: [(&str, Guest); 48] = [
    ("macos", Guest::Macos),
    ("mac-os", Guest::Macos),
    ("osx", Guest::Macos),
    ("hackintosh", Guest::Macos),
    ("catalina", Guest::Macos),
    ("bigsur", Guest::Macos),
    ("monterey", Guest::Macos),
    ("ventura", Guest::Macos),
    ("sonoma", Guest::Macos),
    ("mojave", Guest::Macos),
    ("opencore", Guest::Macos),
    ("windows", Guest::Windows),
    ("win10", Guest::Windows),
    ("win11", Guest::Windows),
    ("win7", Guest::Windows),
    ("win8", Guest::Windows),
    ("winxp", Guest::Windows),
    ("w10", Guest::Windows),
    ("w11", Guest::Windows),
    ("win2k", Guest::Windows),
    ("win-", Guest::Windows),
    ("win.", Guest::Windows),
    ("microsoft.com", Guest::Windows),
    ("win_", Guest::Windows),
    ("w2k", Guest::Windows),
    ("freebsd", Guest::Bsd),
    ("openbsd", Guest::Bsd),
    ("netbsd", Guest::Bsd),
    ("pfsense", Guest::Bsd),
    ("opnsense", Guest::Bsd),
    ("truenas", Guest::Other),
    ("linux", Guest::Linux),
    ("ubuntu", Guest::Linux),
    ("debian", Guest::Linux),
    ("fedora", Guest::Linux),
    ("centos", Guest::Linux),
    ("rhel", Guest::Linux),
    ("redhat.com", Guest::Linux),
    ("rocky", Guest::Linux),
    ("alma", Guest::Linux),
    ("suse", Guest::Linux),
    ("alpine", Guest::Linux),
    ("gentoo", Guest::Linux),
    ("nixos", Guest::Linux),
    ("manjaro", Guest::Linux),
    ("kali", Guest::Linux),
    ("coreos", Guest::Linux),
    ("cirros", Guest::Linux),
];

impl Guest {
    /// What a name (of a machine, of a disk, of an operating system in a database) tells.
    #[must_use]
    pub fn of_words(text: &str) -> Option<Self> {
        let text = text.to_ascii_lowercase();
        // "darwin" is in "win", "virtio-win.iso" is on Linux hosts for Windows guests: both are right.
        let found = WORDS.iter().find(|(word, _)| text.contains(word)).map(|(_, guest)| *guest);
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
