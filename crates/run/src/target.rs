//! Which programs do not get another clock, and why.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Why a program does not get another clock.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// It is run with another user's or group's rights, or with capabilities.
    #[error(
        "it gains privileges when it is run (setuid, setgid or file capabilities), and the memory \
         of such a program is not touched"
    )]
    GainsRights,
    /// The kernel reports that it gained rights (`AT_SECURE`).
    #[error(
        "it gained privileges when it was run, and the memory of such a program is not touched"
    )]
    Secure,
    /// The same, of a program that the kernel gives none, because a process without the right to do so traces it.
    #[error(
        "it has privileges of its own (setuid, setgid or file capabilities), which the kernel does \
         not give to a traced program: it runs without them; --no-follow traces the first program \
         only"
    )]
    LosesRights,
    /// It runs as another user.
    #[error(
        "it runs as another user (id {0}), and its memory is not touched; put clocksmith run after \
         the program that changes the user"
    )]
    AnotherUser(u32),
    /// It is not a 64-bit program.
    #[error("it is not a 64-bit x86 program; only these have a replacement vDSO")]
    NotSixtyFour,
    /// The kernel gave it no vDSO, and so no place for an address.
    #[error(
        "the kernel gave it no vDSO (vdso=0), so there is no place for the address of another \
             one"
    )]
    NoVdso,
    /// The image in place of the vDSO is not a known one.
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
/// Returns the reason if the program cannot be run with another vDSO. A missing file is not such a reason: running the
/// program reports it.
pub fn check(program: &OsStr) -> Result<(), Refusal> {
    let Some(path) = find(program) else { return Ok(()) };
    // For a script the kernel runs the interpreter, and uses the mode bits of the interpreter and not of the script.
    let path = interpreter(path);
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
    let head = head(&path);
    let elf = head.get(..20).and_then(|head| head.try_into().ok());
    if elf.is_some_and(|head: &[u8; 20]| head.starts_with(b"\x7fELF") && !is_sixty_four(head)) {
        return Err(Refusal::NotSixtyFour);
    }
    Ok(())
}

/// Interpreters of interpreters at most (`exec_binprm()`, fs/exec.c).
const INTERPRETERS: usize = 5;
/// Bytes of the first line that the kernel reads (`BINPRM_BUF_SIZE`).
const LINE: u64 = 256;

/// The file that the kernel runs for a file in the end.
fn interpreter(mut path: PathBuf) -> PathBuf {
    for _ in 0..INTERPRETERS {
        let head = head(&path);
        let Some(rest) = head.strip_prefix(b"#!") else { break };
        let line = rest.split(|byte| matches!(byte, b'\n' | 0)).next().unwrap_or_default();
        let word = line.split(|byte| matches!(byte, b' ' | b'\t')).find(|word| !word.is_empty());
        let Some(word) = word else { break };
        path = PathBuf::from(OsStr::from_bytes(word));
    }
    path
}

/// The beginning of a regular file; nothing of others, which opening might wait for.
fn head(path: &Path) -> Vec<u8> {
    let mut head = Vec::new();
    let open = || {
        let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
        let file = File::options().read(true).custom_flags(flags).open(path).ok()?;
        file.metadata().ok()?.is_file().then_some(file)
    };
    if std::fs::metadata(path).is_ok_and(|found| found.is_file())
        && let Some(file) = open()
    {
        // An unreadable file is not judged.
        let _ = file.take(LINE).read_to_end(&mut head);
    }
    head
}

/// Whether a program's file has LeakSanitizer, alone or as a part of AddressSanitizer: it stops its own threads with
/// `ptrace` when it ends, which fails if another process traces them.
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

/// Symbols that are examined: the sanitizers' are needed or defined by the program itself.
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

/// Finds the program as `execvp` does.
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
        // A script runs as its interpreter.
        head[18] = 183;
        let program = dir.path().join("foreign");
        std::fs::write(&program, head).unwrap();
        let shown = program.display();
        for line in [format!("#!{shown}\n"), format!("#! \t{shown} -x y\n"), format!("#!{shown}")] {
            assert_eq!(with(line.as_bytes(), 0o755), Err(Refusal::NotSixtyFour), "{line}");
        }
        let own = format!("#!{}\n", path.display());
        assert_eq!(with(own.as_bytes(), 0o755), Ok(()), "it has no end");
    }

    /// A script of a program that is set-user-ID gets the rights of that program.
    #[test]
    fn interpreters_with_rights_of_their_own_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (script, outer) = (dir.path().join("script"), dir.path().join("outer"));
        let interpreter = dir.path().join("interpreter");
        std::fs::copy("/bin/true", &interpreter).unwrap();
        std::fs::write(&script, format!("#!{} x\n", interpreter.display())).unwrap();
        std::fs::write(&outer, format!("#!{}\n", script.display())).unwrap();
        for path in [&script, &outer] {
            assert_eq!(check(path.as_os_str()), Ok(()));
        }
        // SAFETY: only returns a number.
        if unsafe { libc::geteuid() } != 0 {
            eprintln!("skipped: only root can make such a program");
            return;
        }
        std::os::unix::fs::chown(&interpreter, Some(65_534), None).unwrap();
        std::fs::set_permissions(&interpreter, std::fs::Permissions::from_mode(0o4755)).unwrap();
        for path in [&script, &outer] {
            assert_eq!(check(path.as_os_str()), Err(Refusal::GainsRights));
        }
        // The set-user-ID bit of a script has no effect.
        std::os::unix::fs::chown(&script, Some(65_534), None).unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o4755)).unwrap();
        std::fs::set_permissions(&interpreter, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(check(script.as_os_str()), Ok(()));
    }

    #[test]
    fn check_of_a_pipe_does_not_wait() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        let made = std::process::Command::new("mkfifo").args(["-m", "755"]).arg(&pipe).status();
        assert!(made.unwrap().success());
        let (told, done) = std::sync::mpsc::channel();
        std::thread::spawn(move || told.send(check(pipe.as_os_str())));
        assert_eq!(done.recv_timeout(std::time::Duration::from_secs(60)), Ok(Ok(())));
    }
}
