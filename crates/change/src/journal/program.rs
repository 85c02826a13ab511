//! The file of a program that runs with the rights of this process: no other user can have written it.

use super::JournalError;
use clocksmith_facts::trusted::{self, Missing, Part, Untrusted};
use std::path::{Path, PathBuf};

/// Where programs are searched that are given without a directory.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The file of a program: executable, in one of the usual directories if none is given. It and every directory and link
/// on the way to it must be trusted ([`trusted`]), because it runs with the rights of this process. An untrusted one is
/// not passed over for one of the same name in a later directory: which of them is meant is the user's to say.
///
/// # Errors
/// The program does not exist, or another user could have written it.
pub fn find(program: &str) -> Result<PathBuf, JournalError> {
    let failed =
        |why: &str| JournalError::Program { program: program.to_owned(), why: why.to_owned() };
    if program.is_empty() {
        return Err(failed("no program is named"));
    }
    let directories: Vec<PathBuf> = if program.contains('/') {
        vec![PathBuf::new()]
    } else {
        PATH.split(':').map(PathBuf::from).collect()
    };
    let mut seen = false;
    for directory in directories {
        let path = directory.join(program);
        let Ok(meta) = std::fs::metadata(&path) else { continue };
        seen = true;
        let executable = rustix::fs::access(&path, rustix::fs::Access::EXEC_OK).is_ok();
        if meta.is_file() && executable {
            return match trusted::open(&path) {
                // Without permission to read it, and with every directory on the way looked at.
                Ok(_) | Err(Untrusted::Io { error: rustix::io::Errno::ACCESS, .. }) => Ok(path),
                Err(error) => Err(failed(&format!(
                    "{error}: it is not run, since another user could have written it. Nothing was changed; \
                     remove it, or give it and its directories to root alone (chown root, chmod go-w)"
                ))),
            };
        }
    }
    Err(failed(if seen {
        "is there, but cannot be executed"
    } else {
        "is not installed here. Nothing was changed; install it, or change what it would change by hand"
    }))
}

/// [`PATH`] without the directories that another user can write: a program starts others by it.
pub(super) fn search_path() -> String {
    let trusted = |directory: &&str| {
        trusted::open_directory(Path::new(directory), Missing::Error, Part::Way).is_ok()
    };
    PATH.split(':').filter(trusted).collect::<Vec<_>>().join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_searched_where_root_would() {
        assert!(find("sh").is_ok() && find("/bin/sh").is_ok());
        assert!(find("no-such-program").unwrap_err().to_string().contains("not installed"));
        assert!(find("").is_err() && find("/etc/hostname-not-there").is_err());
        assert!(find("/etc/passwd").unwrap_err().to_string().contains("cannot be executed"));
        assert!(find("/etc").is_err());
    }

    #[test]
    fn find_program_that_others_can_write_refuses_it_by_name_and_mode() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let bin = dir.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        let program = bin.join("update-grub");
        std::fs::write(&program, "#!/bin/sh\n").unwrap();
        let mode = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        let found = || find(program.to_str().unwrap());
        mode(&bin, 0o755);
        mode(&program, 0o755);
        assert_eq!(found().unwrap(), program);
        mode(&program, 0o777);
        let error = found().unwrap_err().to_string();
        assert!(error.contains("mode 0777") && error.contains("it is not run"), "{error}");
        mode(&program, 0o755);
        mode(&bin, 0o777);
        let error = found().unwrap_err().to_string();
        assert!(error.contains("bin (owner") && error.contains("mode 0777"), "{error}");
        mode(&bin, 0o755);
        // A link counts by what it leads to.
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&program, &link).unwrap();
        assert!(find(link.to_str().unwrap()).is_ok());
        mode(&program, 0o775);
        assert!(find(link.to_str().unwrap()).is_err());
        if rustix::process::geteuid().is_root() {
            mode(&program, 0o755);
            std::os::unix::fs::chown(&program, Some(1000), Some(1000)).unwrap();
            let error = found().unwrap_err().to_string();
            assert!(error.contains("owner 1000"), "{error}");
        }
    }
}
