//! Files of the configuration: it, certificates, keys. They decide who may enter, so who can write them matters.
//!
//! The rule: a file that everybody can write is refused. A group that can write it, an owner other than root and
//! the user of this program, and a key or a file with password hashes that everybody can read are told as a warning.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Longest file, in bytes.
const LONGEST: u64 = 1 << 20;

/// Whether a file's content must stay unknown to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Secret,
    /// A certificate.
    #[cfg_attr(not(feature = "tls"), allow(dead_code))]
    Public,
}

/// Reads a file, and adds what is loose about it to `warnings`.
///
/// # Errors
/// It cannot be read, is no regular file, is too long, or everybody can write it.
pub(super) fn read(
    path: &Path,
    content: Content,
    warnings: &mut Vec<String>,
) -> io::Result<Vec<u8>> {
    // A FIFO would wait for its writer.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let own = rustix::process::geteuid().as_raw();
    let (refused, loose) = judge(meta.mode(), meta.uid(), own, content);
    if let Some(why) = refused {
        return Err(io::Error::other(why));
    }
    warnings.extend(loose.into_iter().map(|what| format!("{}: {what}", path.display())));
    bytes(file)
}

fn bytes(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST {
        return Err(io::Error::other("it is longer than 1 MiB"));
    }
    Ok(bytes)
}

/// Why a file of this mode and owner is refused, and what is loose about it.
fn judge(mode: u32, owner: u32, own: u32, content: Content) -> (Option<&'static str>, Vec<String>) {
    let refused = (mode & 0o002 != 0).then_some("everybody can write it: chmod o-w");
    let mut loose = Vec::new();
    if mode & 0o020 != 0 {
        loose.push("its group can write it: chmod g-w".to_owned());
    }
    if owner != 0 && owner != own {
        loose.push(format!("it belongs to user {owner}, who can change it"));
    }
    if content == Content::Secret && mode & 0o004 != 0 {
        loose.push("everybody can read it: chmod o-r".to_owned());
    }
    (refused, loose)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn loose_files_are_told_or_refused() {
        let loose = |mode, owner, content| judge(mode, owner, 5, content).1.join("; ");
        assert_eq!(loose(0o640, 0, Content::Secret), "");
        assert_eq!(loose(0o644, 5, Content::Public), "");
        assert!(loose(0o644, 0, Content::Secret).contains("o-r"));
        assert!(loose(0o660, 0, Content::Secret).contains("g-w"));
        assert!(loose(0o600, 6, Content::Secret).contains("user 6"));
        assert!(judge(0o602, 0, 5, Content::Public).0.is_some());
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("web.yml");
        std::fs::write(&path, "x").unwrap();
        let mode = |mode| std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        let mut warnings = Vec::new();
        mode(0o644);
        assert_eq!(read(&path, Content::Secret, &mut warnings).unwrap(), b"x");
        assert!(warnings[0].contains("web.yml: everybody can read"), "{warnings:?}");
        mode(0o666);
        let error = read(&path, Content::Secret, &mut warnings).unwrap_err();
        assert!(error.to_string().contains("everybody can write"), "{error}");
        assert!(read(dir.path(), Content::Public, &mut warnings).is_err());
    }
}
