//! The files of the configuration: the configuration itself, certificates and keys. They control access, so who can
//! write them matters.
//!
//! The rule is that of every trusted file ([`clocksmith_facts::trusted`]): a file that a user other than root and this
//! program's user can have made or changed is refused. A key or a file with password hashes that every user can read
//! causes a warning.

use clocksmith_facts::trusted;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
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

/// Reads a file, and adds its loose permissions to `warnings`.
///
/// # Errors
/// Returns an error if the file cannot be read, is not a regular file, is too long, or could have been made or changed
/// by another user.
pub(super) fn read(
    path: &Path,
    content: Content,
    warnings: &mut Vec<String>,
) -> io::Result<Vec<u8>> {
    let file = File::from(trusted::open(path)?);
    if content == Content::Secret && file.metadata()?.mode() & 0o004 != 0 {
        warnings.push(format!("{}: every user can read it: chmod o-r", path.display()));
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn loose_files_are_reported_or_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("web.yml");
        std::fs::write(&path, "x").unwrap();
        let mode = |mode| std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        let mut warnings = Vec::new();
        mode(0o640);
        assert_eq!(read(&path, Content::Secret, &mut warnings).unwrap(), b"x");
        mode(0o644);
        assert_eq!(read(&path, Content::Public, &mut warnings).unwrap(), b"x");
        assert!(warnings.is_empty(), "{warnings:?}");
        assert_eq!(read(&path, Content::Secret, &mut warnings).unwrap(), b"x");
        assert!(warnings[0].contains("web.yml: every user can read"), "{warnings:?}");
        let refused = |words: &str| {
            let error = read(&path, Content::Secret, &mut Vec::new()).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        };
        for loose in [0o660, 0o602] {
            mode(loose);
            refused("can be written by other users");
        }
        mode(0o640);
        let way = |mode| {
            std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(mode)).unwrap();
        };
        way(0o777);
        refused("lets other users make and rename files");
        way(0o755);
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&path, Some(1000), None).unwrap();
            refused("(owner 1000");
        }
        assert!(read(dir.path(), Content::Public, &mut warnings).is_err());
    }
}
