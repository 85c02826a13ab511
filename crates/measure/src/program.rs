//! Starts a file as a program; only a text file may be passed to a shell.
//!
//! `execvp(3)` hands a file that the kernel refuses (`ENOEXEC`) to `/bin/sh`, which takes any bytes for commands.
//! Shells look first: bash (`check_binary_file()`) and dash refuse a file that is not text. So does this.

use std::ffi::{CString, OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Bytes of a file that are examined.
const HEAD: u64 = 256;

/// Strings for `execve`, with their addresses.
struct Words {
    // Owns the strings at the addresses.
    _strings: Vec<CString>,
    addresses: Vec<*const libc::c_char>,
}

// SAFETY: the addresses are of strings on the heap that this value owns and that are never changed.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

impl Words {
    /// Nothing if a string has a zero byte.
    fn new(all: impl Iterator<Item = OsString>) -> Option<Self> {
        let strings: Vec<CString> =
            all.map(|word| CString::new(word.as_bytes()).ok()).collect::<Option<_>>()?;
        let ends = std::iter::once(std::ptr::null());
        let addresses = strings.iter().map(|word| word.as_ptr()).chain(ends).collect();
        Some(Self { _strings: strings, addresses })
    }
}

/// Has a command whose file is not text run by the kernel or not at all: its error is then the kernel's, and no shell reads
/// the file. To be called when the arguments and the environment of the command are complete.
pub fn by_the_kernel_alone(command: &mut Command) {
    let Some(path) = find(command.get_program()).filter(|path| !is_text(path)) else { return };
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    // A zero byte in one of them causes an error of the standard library, before the program is run.
    let (Ok(path), Some(words)) =
        (CString::new(path.as_os_str().as_bytes()), Words::new(words.map(OsStr::to_owned)))
    else {
        return;
    };
    if command.get_envs().next().is_none() {
        // With the very list of this process: a map of names would sort it, and would lose doubled names and entries
        // without a name or a value.
        let run = move || -> io::Result<()> {
            let words = &words;
            // SAFETY: strings that end with a zero, in a list that ends with a null; they live as long as this closure.
            unsafe { libc::execv(path.as_ptr(), words.addresses.as_ptr()) };
            Err(io::Error::last_os_error())
        };
        // SAFETY: it makes one system call and allocates nothing.
        unsafe { command.pre_exec(run) };
        return;
    }
    let mut variables: std::collections::BTreeMap<OsString, OsString> =
        std::env::vars_os().collect();
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => variables.insert(name.to_owned(), value.to_owned()),
            None => variables.remove(name),
        };
    }
    let variables = variables.into_iter().map(|(name, value)| {
        let mut pair = name;
        pair.push("=");
        pair.push(value);
        pair
    });
    let Some(variables) = Words::new(variables) else { return };
    let run = move || -> io::Result<()> {
        let (words, variables) = (&words, &variables);
        // SAFETY: strings that end with a zero, and two lists of such that end with a null; all live as long as this closure.
        unsafe {
            libc::execve(path.as_ptr(), words.addresses.as_ptr(), variables.addresses.as_ptr())
        };
        Err(io::Error::last_os_error())
    };
    // SAFETY: it makes one system call and allocates nothing.
    unsafe { command.pre_exec(run) };
}

/// Returns the message for a file that the kernel does not run, if that is the error.
#[must_use]
pub fn refused_by_the_kernel(error: &io::Error) -> Option<&'static str> {
    (error.raw_os_error() == Some(libc::ENOEXEC)).then_some(
        "the kernel cannot run it: it is damaged, or built for another architecture. It is not a script, so it is not \
         passed to a shell",
    )
}

/// Returns whether a file may be passed to a shell: the beginning has neither the mark of an ELF file nor bytes that no
/// text has. An unreadable file may not.
fn is_text(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    let control = |byte: &u8| *byte < 0x20 && !matches!(byte, 0x07..=0x0d | 0x1b) || *byte == 0x7f;
    read.is_ok() && !head.starts_with(b"\x7fELF") && !head.iter().any(control)
}

/// Finds the program as `execvp` does.
fn find(program: &OsStr) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.mode() & 0o111 != 0)
    };
    if program.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(program)).filter(is_program);
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(program)).find(is_program)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// The exit code of a file with this content, or the error; whether a shell ran its second line.
    fn started(content: &[u8]) -> (io::Result<Option<i32>>, bool) {
        let dir = tempfile::tempdir().unwrap();
        let (path, made) = (dir.path().join("program"), dir.path().join("made"));
        let mut all = content.to_vec();
        all.extend_from_slice(format!("\n: >{}\nexit 7\n", made.display()).as_bytes());
        std::fs::write(&path, all).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = Command::new(&path);
        command.stderr(std::process::Stdio::null());
        // With it the standard library runs `execvp` itself, as in `exec`.
        // SAFETY: the closure does nothing.
        unsafe { command.pre_exec(|| Ok(())) };
        by_the_kernel_alone(&mut command);
        let result = loop {
            match command.status() {
                // A child that another test has just forked holds the file open for writing until its own `execve`.
                Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {}
                other => break other,
            }
        };
        (result.map(|status| status.code()), made.exists())
    }

    #[test]
    fn file_that_is_not_text_is_not_passed_to_a_shell() {
        for content in [
            &b"\x7fELF>x"[..],
            b"\x7fELF\x02\x01\x01\0\0\0\0\0",
            b"MZ\x90\0",
            b"\0asm",
            b"a\x01b",
            b"text first\nthen\0",
        ] {
            let (result, made) = started(content);
            let error = result.unwrap_err();
            assert!(refused_by_the_kernel(&error).is_some(), "{content:?}: {error}");
            assert!(!made, "{content:?}");
        }
    }

    #[test]
    fn text_without_an_interpreter_is_given_to_the_shell_as_before() {
        for content in ["# a script", "#!/bin/sh", ": caf\u{e9}"] {
            let (result, made) = started(content.as_bytes());
            assert_eq!((result.unwrap(), made), (Some(7), true), "{content}");
        }
    }

    #[test]
    fn program_runs_with_its_arguments_and_environment() {
        let mut command = Command::new("env");
        command.env("ONE_MORE", "1").env_remove("HOME");
        by_the_kernel_alone(&mut command);
        let out = String::from_utf8(command.output().unwrap().stdout).unwrap();
        assert!(out.lines().any(|line| line == "ONE_MORE=1"), "{out}");
        assert!(!out.lines().any(|line| line.starts_with("HOME=")), "{out}");
        let mut command = Command::new("sh");
        command.args(["-c", "exit $#", "a", "b", "c"]);
        by_the_kernel_alone(&mut command);
        assert_eq!(command.status().unwrap().code(), Some(2));
    }

    #[test]
    fn environment_without_changes_is_passed_on_in_its_order() {
        let own: Vec<OsString> = std::env::vars_os()
            .map(|(mut name, value)| {
                name.push("=");
                name.push(value);
                name
            })
            .collect();
        let mut command = Command::new("cat");
        command.arg("/proc/self/environ");
        by_the_kernel_alone(&mut command);
        let out = command.output().unwrap().stdout;
        let passed: Vec<&[u8]> =
            out.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()).collect();
        assert_eq!(passed, own.iter().map(|entry| entry.as_bytes()).collect::<Vec<_>>());
    }

    /// A program that starts another one, from an environment that no map of names can hold.
    #[test]
    fn environment_keeps_doubled_names_and_entries_without_a_value() {
        const AGAIN: &str = "CLOCKSMITH_TEST_ENVIRONMENT";
        if std::env::var_os(AGAIN).is_some() {
            let mut command = Command::new("cat");
            command.arg("/proc/self/environ");
            by_the_kernel_alone(&mut command);
            let _ = command.exec();
            panic!("not run");
        }
        let strings = ["B=2", "A=1", "A=3", "bare", "=nameless"].map(str::to_owned);
        let mark = format!("{AGAIN}=1");
        let variables = Words::new(strings.iter().chain([&mark]).map(OsString::from)).unwrap();
        let this = CString::new(std::env::current_exe().unwrap().as_os_str().as_bytes()).unwrap();
        let test = "program::tests::environment_keeps_doubled_names_and_entries_without_a_value";
        let words = ["test", test, "--exact", "--nocapture", "-q"].map(OsString::from);
        let words = Words::new(words.into_iter()).unwrap();
        let mut command = Command::new("true");
        let run = move || -> io::Result<()> {
            let (words, variables) = (&words, &variables);
            // SAFETY: strings that end with a zero, and two lists of such that end with a null.
            unsafe {
                libc::execve(this.as_ptr(), words.addresses.as_ptr(), variables.addresses.as_ptr())
            };
            Err(io::Error::last_os_error())
        };
        // SAFETY: it makes one system call and allocates nothing.
        unsafe { command.pre_exec(run) };
        let out = String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned();
        let passed: Vec<&str> = out.split(['\0', '\n']).collect();
        let wanted = ["B=2", "A=1", "A=3", "bare", "=nameless"];
        assert!(passed.windows(wanted.len()).any(|part| part == wanted), "{passed:?}");
    }
}
