//! Kernel versions, and the vendor of the kernel.
//!
//! A release string such as `6.1.0-56-cloud-amd64` names the ABI, not the stable point release; the
//! banner (`Linux version ... Debian 6.1.192-2`) names both. Distributions backport, so a version is
//! a hint about rules, never a proof.

use serde::Serialize;
use std::fmt;

/// A kernel version, `major.minor.patch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Version {
    /// First number.
    pub major: u16,
    /// Second number.
    pub minor: u16,
    /// Third number: the stable point release (for 2.6.x the version proper).
    pub patch: u16,
}

impl Version {
    /// A version from its numbers.
    #[must_use]
    pub const fn new(major: u16, minor: u16, patch: u16) -> Self {
        Self { major, minor, patch }
    }

    /// The leading `a.b[.c]` of a text; anything after the numbers is ignored.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = [0u16; 3];
        let mut rest = text.trim_start().trim_start_matches('v');
        for (index, slot) in numbers.iter_mut().enumerate() {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            if digits == 0 {
                if index < 2 {
                    return None;
                }
                break;
            }
            *slot = rest[..digits].parse().ok()?;
            rest = &rest[digits..];
            match rest.strip_prefix('.') {
                Some(next) if next.starts_with(|c: char| c.is_ascii_digit()) => rest = next,
                _ if index == 0 => return None,
                _ => break,
            }
        }
        Some(Self::new(numbers[0], numbers[1], numbers[2]))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        if self.patch != 0 { write!(f, ".{}", self.patch) } else { Ok(()) }
    }
}

/// The vendor of a kernel, according to its release string or banner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Vendor {
    /// Red Hat Enterprise Linux and its rebuilds; the number is the major release.
    Rhel(u8),
    /// Fedora.
    Fedora,
    /// Debian.
    Debian,
    /// Ubuntu.
    Ubuntu,
    /// SUSE Linux Enterprise or openSUSE.
    Suse,
    /// Amazon Linux.
    Amazon,
    /// Oracle's UEK.
    Oracle,
    /// Not recognised; treated as an upstream kernel.
    Unknown,
}

/// The identity of the running kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Kernel {
    /// The version whose rules apply: the stable point release if the banner contains it.
    pub version: Version,
    /// `uname -r`.
    pub release: String,
    /// The vendor.
    pub vendor: Vendor,
}

impl Kernel {
    /// Parses a banner (`Linux version 6.1.0-56-cloud-amd64 (...) ... Debian 6.1.192-2`), the
    /// content of `/proc/version`, or a bare release string.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let after = text.find("Linux version ").map_or(text, |at| &text[at + 14..]);
        let release = after.split_whitespace().next()?.to_owned();
        let mut version = Version::parse(&release)?;
        let vendor = vendor_of(&release, after);
        if let Some(point) = point_release(after, vendor)
            && (point.major, point.minor) == (version.major, version.minor)
        {
            version = point;
        }
        Some(Self { version, release, vendor })
    }

    /// Whether the kernel's release names 32-bit x86 (`-686`, `-686-pae`, `i686`).
    #[must_use]
    pub fn is_i686(&self) -> bool {
        ["-686", "i686", "i586", "i486", "i386", "-486", "-586", "-pae"]
            .iter()
            .any(|tag| self.release.contains(tag))
    }
}

fn vendor_of(release: &str, banner: &str) -> Vendor {
    if let Some(at) = release.find(".el") {
        let digits: String =
            release[at + 3..].chars().take_while(char::is_ascii_digit).take(2).collect();
        if release.contains("uek") {
            return Vendor::Oracle;
        }
        if let Ok(major) = digits.parse() {
            return Vendor::Rhel(major);
        }
    }
    let has = |needle: &str| release.contains(needle) || banner.contains(needle);
    if release.contains(".fc") {
        Vendor::Fedora
    } else if release.contains("amzn") {
        Vendor::Amazon
    } else if release.contains("uek") {
        Vendor::Oracle
    } else if has("Ubuntu") || has("ubuntu") || has("buildd@") || has("-azure") || has("-generic") {
        Vendor::Ubuntu
    } else if has("debian") || has("Debian") {
        Vendor::Debian
    } else if has("SUSE") || has("geeko@") || release.ends_with("-default") {
        Vendor::Suse
    } else {
        Vendor::Unknown
    }
}

/// The stable point release that Debian (`Debian 6.1.192-2`) and Ubuntu (`(Ubuntu ... 4.15.18)`)
/// print in the banner after their ABI number.
fn point_release(banner: &str, vendor: Vendor) -> Option<Version> {
    match vendor {
        Vendor::Debian => banner.rfind("Debian ").and_then(|at| Version::parse(&banner[at + 7..])),
        Vendor::Ubuntu => {
            let inside = &banner[banner.rfind("(Ubuntu ")? + 8..];
            Version::parse(inside.split(')').next()?.split_whitespace().last()?)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn banners_name_the_point_release() {
        let debian = "Linux version 6.1.0-56-cloud-amd64 (builder@example) (gcc-12 (Debian \
                      12.2.0-14+deb12u1) 12.2.0, GNU ld (GNU Binutils for Debian) 2.40) #1 SMP \
                      PREEMPT_DYNAMIC Debian 6.1.192-2 (2026-11-16)";
        let kernel = Kernel::parse(debian).unwrap();
        assert_eq!(kernel.version, Version::new(6, 1, 192));
        assert_eq!(kernel.release, "6.1.0-56-cloud-amd64");
        assert_eq!(kernel.vendor, Vendor::Debian);

        let ubuntu = "Linux version 4.15.0-1045-azure (buildd@lcy01-amd64-006) (gcc version 4.8.4 \
                      (Ubuntu 4.8.4-2ubuntu1~14.04.4)) #49~14.04.1-Ubuntu SMP Mon May 13 17:28:17 \
                      UTC 2019 (Ubuntu 4.15.0-1045.49~14.04.1-azure 4.15.18)";
        let kernel = Kernel::parse(ubuntu).unwrap();
        assert_eq!(kernel.version, Version::new(4, 15, 18));
        assert_eq!(kernel.vendor, Vendor::Ubuntu);
    }

    #[test]
    fn releases_alone_are_enough() {
        assert_eq!(Kernel::parse("2.6.32-220.el6.x86_64").unwrap().vendor, Vendor::Rhel(6));
        assert_eq!(Kernel::parse("3.2.0-4-686-pae").unwrap().version, Version::new(3, 2, 0));
        assert!(Kernel::parse("3.2.0-4-686-pae").unwrap().is_i686());
        assert_eq!(Version::parse("7.2"), Some(Version::new(7, 2, 0)));
        assert_eq!(Version::parse("7.2-rc3"), Some(Version::new(7, 2, 0)));
        assert_eq!(Version::parse("7"), None);
        assert_eq!(Version::parse("x"), None);
        assert_eq!(Version::parse("99999999.1"), None);
    }
}
