//! Which programs are left alone, and why.

use std::ffi::{CString, OsStr};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Why a program does not get another clock.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// It is run with another user's or group's rights, or with capabilities.
    #[error(
        "it gains rights when it is run (setuid, setgid or file capabilities), and such a program's \
         memory is not touched"
    )]
    GainsRights,
    /// The kernel says that it gained rights (`AT_SECURE`).
    #[error("it gained rights when it was run, and such a program's memory is not touched")]
    Secure,
    /// It runs as another user.
    #[error(
        "it runs as another user (id {0}), and its memory is not touched; write clocksmith run behind the program \
         that changes the user"
    )]
    AnotherUser(u32),
    /// It is not a 64-bit program.
    #[error("it is not a 64-bit x86 program; only these have a replacement vDSO")]
    NotSixtyFour,
    /// The kernel gave it no vDSO, and so no place for an address.
    #[error("the kernel gave it no vDSO (vdso=0), so there is no place for another one's address")]
    NoVdso,
    /// There is something else in place of the vDSO.
    #[error("its vDSO could not be read, or has no clock")]
    StrangeVdso,
    /// Something that the kernel refused.
    #[error("{what}: {error}")]
    Failed {
        /// The attempted operation.
        what: &'static str,
        /// The kernel's words.
        error: String,
    },
}

/// Looks at a program's file before it is run.
///
/// # Errors
/// Why it cannot be run with another vDSO. A missing file is not such a reason: running the program
/// reports it.
pub fn check(program: &OsStr) -> Result<(), Refusal> {
    let Some(path) = find(program) else { return Ok(()) };
    let Ok(metadata) = std::fs::metadata(&path) else { return Ok(()) };
    // SAFETY: these only return numbers.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    let mode = metadata.mode();
    let by_user = mode & libc::S_ISUID != 0 && metadata.uid() != user;
    let by_group = mode & libc::S_ISGID != 0 && mode & 0o010 != 0 && metadata.gid() != group;
    // Root has the capabilities of a file already.
    if by_user || by_group || user != 0 && has_capabilities(&path) {
        return Err(Refusal::GainsRights);
    }
    let mut head = [0; 20];
    let read = std::fs::File::open(&path).and_then(|mut file| file.read_exact(&mut head));
    if read.is_ok() && head.starts_with(b"\x7fELF") && !is_sixty_four(&head) {
        return Err(Refusal::NotSixtyFour);
    }
    Ok(())
}

/// Whether a program's file has LeakSanitizer, alone or as a part of AddressSanitizer: it stops its own threads with
/// `ptrace` when it ends, which fails where another process traces them.
#[must_use]
pub fn checks_for_leaks(program: &OsStr) -> bool {
    use object::{Object, ObjectSymbol};
    let Some(path) = find(program) else { return false };
    let regular = std::fs::metadata(&path).is_ok_and(|found| found.is_file());
    let Some(file) = regular.then(|| std::fs::File::open(&path).ok()).flatten() else {
        return false;
    };
    let cache = object::ReadCache::new(file);
    let Ok(elf) = object::File::parse(&cache) else { return false };
    elf.dynamic_symbols().take(SYMBOLS).any(|symbol| {
        matches!(symbol.name(), Ok("__asan_init" | "__lsan_init" | "__lsan_do_leak_check"))
    })
}

/// Symbols that are looked at: the sanitizers' are needed or defined by the program itself.
const SYMBOLS: usize = 1 << 18;

/// Whether the head of an ELF file is of a 64-bit x86 program.
pub(crate) fn is_sixty_four(head: &[u8; 20]) -> bool {
    // EI_CLASS is ELFCLASS64, e_machine is EM_X86_64.
    head[4] == 2 && head[18] == 62 && head[19] == 0
}

fn has_capabilities(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: two strings that end with a zero; requests only the length.
    let length = unsafe {
        libc::getxattr(path.as_ptr(), c"security.capability".as_ptr(), core::ptr::null_mut(), 0)
    };
    length > 0
}

/// As `execvp` finds it.
fn find(program: &OsStr) -> Option<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(program));
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|path| {
        std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.mode() & 0o111 != 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn programs_of_other_kinds_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("program");
        let with = |head: &[u8], mode: u32| {
            std::fs::write(&path, head).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            check(path.as_os_str())
        };
        let mut head = [0u8; 64];
        head[..5].copy_from_slice(b"\x7fELF\x02");
        head[18] = 62;
        assert_eq!(with(&head, 0o755), Ok(()));
        head[4] = 1;
        assert_eq!(with(&head, 0o755), Err(Refusal::NotSixtyFour));
        head[4] = 2;
        head[18] = 183;
        assert_eq!(with(&head, 0o755), Err(Refusal::NotSixtyFour));
        assert_eq!(with(b"#!/bin/sh\n", 0o755), Ok(()));
        assert_eq!(with(b"", 0o755), Ok(()));
        assert_eq!(check(OsStr::new("no-such-program-at-all")), Ok(()));
    }
}
