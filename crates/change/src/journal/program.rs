//! The file of a program that runs with the rights of this process: no other user can have written it, nor the files
//! that the kernel runs for it: the interpreter of a script with the paths among its arguments, the loader of a dynamic
//! program, and the libraries that it loads from places other than those of the system. There is no list of harmless
//! interpreters: every path in the first line must be trusted, so that `nice`, `setsid` or `ld.so` cannot lead to
//! another file.

mod elf;

use super::JournalError;
use clocksmith_facts::trusted::{self, Missing, Part, Untrusted};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Directories in which programs without a directory are searched.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The file of a program: executable, in one of the usual directories if none is given. It and every directory and link
/// on the way to it must be trusted ([`trusted`]), because it runs with the rights of this process. An untrusted one is
/// not skipped in favour of one of the same name in a later directory: the user must decide between them.
///
/// # Errors
/// Returns an error if the program does not exist, or another user could have written it.
pub fn find(program: &str) -> Result<PathBuf, JournalError> {
    let found = find_for(program, INTERPRETERS)?;
    preloaded(Path::new(PRELOADED)).map_err(|why| JournalError::Program {
        program: program.to_owned(),
        why: format!("is not run, since {PRELOADED} has it load a library: {why}"),
    })?;
    Ok(found)
}

/// Checks the libraries of such a list.
fn preloaded(list: &Path) -> Result<(), String> {
    let Ok(text) = clocksmith_facts::given::text(list) else { return Ok(()) };
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let names = lines.flat_map(|line| line.split([' ', '\t', ':']));
    // A name without a directory is searched in the directories of the system's libraries.
    names
        .filter(|name| name.contains('/') && !name.contains('$') && Path::new(name).exists())
        .try_for_each(|name| library(&PathBuf::from(rooted(name)), INTERPRETERS))
}

/// Whether no directory of [`PATH`] has a program of this name.
pub(super) fn is_missing(program: &str) -> bool {
    let there = |directory: &str| {
        let path = Path::new(directory).join(program);
        !matches!(std::fs::symlink_metadata(path), Err(error) if error.kind() == std::io::ErrorKind::NotFound)
    };
    !program.is_empty() && !program.contains('/') && !PATH.split(':').any(there)
}

/// Finds the same, with this number of further interpreters allowed.
fn find_for(program: &str, left: usize) -> Result<PathBuf, JournalError> {
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
                Ok(file) => {
                    let needed = interpreters(file, &path).map_err(|why| {
                        failed(&format!(
                            "is not run, since what it runs or loads is not certain: {why}"
                        ))
                    })?;
                    for needed in needed {
                        let left = left
                            .checked_sub(1)
                            .ok_or_else(|| failed("has too many interpreters"))?;
                        needed.look(left).map_err(|why| {
                            failed(&format!("what runs it is not trusted: {why}"))
                        })?;
                    }
                    Ok(path)
                }
                // Without permission to read it, and with every directory on the way looked at.
                Err(Untrusted::Io { error: rustix::io::Errno::ACCESS, .. }) => Ok(path),
                Err(error) => Err(failed(&format!(
                    "{error}: it is not run, since another user could have written it; \
                     remove it, or give it and its directories to root alone (chown root, chmod go-w)"
                ))),
            };
        }
    }
    Err(failed(if seen {
        "exists, but cannot be executed"
    } else {
        "is not installed here; install it, or make its change by hand"
    }))
}

/// The limit of nested interpreters (`BINPRM_BUF_SIZE` and the limit of `exec_binprm()`, fs/exec.c).
const INTERPRETERS: usize = 6;
/// Bytes of the first line that the kernel reads (`BINPRM_BUF_SIZE`, include/uapi/linux/binfmts.h).
const LINE: usize = 256;

/// A file that a program needs in order to run.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Needed {
    /// A program, by its path or by its name in root's search path.
    Program(String),
    /// A path among the arguments of a program: its purpose is not known.
    Path(String),
    /// A library.
    Library(PathBuf),
    /// A directory in which libraries are searched; it may not exist.
    Libraries(PathBuf),
}

impl Needed {
    /// Refuses a file that another user could have written.
    fn look(&self, left: usize) -> Result<(), String> {
        let path = match self {
            Self::Program(program) => {
                return find_for(program, left).map(drop).map_err(|error| error.to_string());
            }
            Self::Path(path) => Path::new(path),
            Self::Library(path) => return library(path, left),
            Self::Libraries(path) => return libraries(path),
        };
        let meta = std::fs::metadata(path)
            .map_err(|error| format!("{} of its first line: {error}", path.display()))?;
        if meta.is_dir() {
            let opened = trusted::open_directory(path, Missing::Error, Part::Home);
            return opened.map(drop).map_err(|error| error.to_string());
        }
        // One that is run also has an interpreter.
        if meta.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok() {
            return Self::Program(path.to_string_lossy().into_owned()).look(left);
        }
        trusted::open(path).map(drop).map_err(|error| error.to_string())
    }
}

/// Checks a library, and the files that it loads.
fn library(path: &Path, left: usize) -> Result<(), String> {
    let left = left.checked_sub(1).ok_or("too many libraries need each other")?;
    let file = trusted::open(path).map_err(|error| error.to_string())?;
    dynamic(&File::from(file), path)?.into_iter().try_for_each(|needed| needed.look(left))
}

/// Checks a directory of libraries; if it does not exist, the one in which it would be made.
fn libraries(path: &Path) -> Result<(), String> {
    let there = path.ancestors().find(|path| path.symlink_metadata().is_ok());
    let there = there.unwrap_or(Path::new("/"));
    let opened = trusted::open_directory(there, Missing::Error, Part::Home);
    opened.map(drop).map_err(|error| error.to_string())
}

/// Returns the files that a file loads from places other than those of the system.
fn dynamic(file: &File, path: &Path) -> Result<Vec<Needed>, String> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let found = elf::loaded(file, path.parent().unwrap_or(Path::new("/")))?;
    let mut needed: Vec<Needed> = found.loader.map(Needed::Program).into_iter().collect();
    let directories: Vec<PathBuf> =
        found.directories.iter().map(|path| PathBuf::from(rooted(path))).collect();
    for library in found.libraries {
        if library.contains('/') {
            needed.push(Needed::Library(PathBuf::from(rooted(&library))));
        } else {
            let inside = directories.iter().map(|directory| directory.join(&library));
            needed.extend(inside.filter(|path| path.exists()).map(Needed::Library));
        }
    }
    needed.extend(directories.into_iter().map(Needed::Libraries));
    Ok(needed)
}

/// Libraries that every program loads (ld.so(8)).
const PRELOADED: &str = "/etc/ld.so.preload";

/// Returns the files that the kernel runs for a file, or loads with it: the interpreter of `#!` with the paths among
/// its arguments, and the program that `env` finds for it; the loader and the libraries of a dynamic program.
///
/// # Errors
/// Returns the reason if the first line or the dynamic section does not show with certainty which files are run or
/// loaded.
fn interpreters(file: OwnedFd, path: &Path) -> Result<Vec<Needed>, String> {
    let file = File::from(file);
    let mut head = [0; LINE];
    let length = file.read_at(&mut head, 0).unwrap_or(0);
    let head = head.get(..length).unwrap_or_default();
    let Some(rest) = head.strip_prefix(b"#!") else {
        return dynamic(&file, path);
    };
    let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if line.len() == rest.len() && length == LINE {
        return Err(format!("it is longer than {LINE} bytes"));
    }
    let line = str::from_utf8(line).map_err(|_| "it is not UTF-8 text".to_owned())?;
    let mut words = line.split([' ', '\t']).filter(|word| !word.is_empty());
    let Some(first) = words.next() else { return Ok(Vec::new()) };
    let mut needed = vec![Needed::Program(rooted(first))];
    let mut words: Vec<&str> = words.collect();
    if first.ends_with("/env") {
        let program = of_env(&mut words)?;
        needed.push(Needed::Program(if program.contains('/') {
            rooted(program)
        } else {
            program.to_owned()
        }));
    }
    // Also `-I/directory` and `--file=/path`.
    let paths = words.iter().filter_map(|word| {
        let at = if word.starts_with('-') || word.contains('=') { word.find('/')? } else { 0 };
        word.contains('/').then(|| word.get(at..))?
    });
    needed.extend(paths.map(|path| Needed::Path(rooted(path))));
    Ok(needed)
}

/// A path as it is for a program that is started in `/`.
fn rooted(path: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("/{path}") }
}

/// Returns the program that `env` finds from its words: it is the first one, or follows `-S`, and assignments that only
/// change a language. With other options and assignments another one may be found.
fn of_env<'a>(words: &mut Vec<&'a str>) -> Result<&'a str, String> {
    let mut rest = std::mem::take(words).into_iter().peekable();
    if let Some(first) = rest.peek().copied()
        && let Some(word) = first.strip_prefix("-S")
    {
        rest.next();
        *words = Some(word).filter(|word| !word.is_empty()).into_iter().chain(rest).collect();
        rest = std::mem::take(words).into_iter().peekable();
    }
    let mut program = None;
    for word in rest {
        // Quotes, variables and comments of `-S`.
        if word.contains(['"', '\'', '\\', '$', '#']) {
            return Err(format!("`{word}` for env is not understood"));
        }
        let language = |name: &str| name == "LANG" || name == "LANGUAGE" || name.starts_with("LC_");
        match word.split_once('=') {
            _ if program.is_some() => words.push(word),
            Some((name, _)) if language(name) => {}
            None if !word.starts_with('-') => program = Some(word),
            _ => return Err(format!("`{word}` for env is not understood")),
        }
    }
    program.ok_or_else(|| "env has no program".to_owned())
}

/// Returns [`PATH`] without the directories that another user can write: a program starts others by it.
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
        assert!(is_missing("no-such-program") && !is_missing("sh") && !is_missing("/bin/sh"));
        assert!(find("").is_err() && find("/etc/hostname-not-there").is_err());
        assert!(find("/etc/passwd").unwrap_err().to_string().contains("cannot be executed"));
        assert!(find("/etc").is_err());
    }

    #[test]
    fn find_program_whose_interpreter_others_can_write_refuses_it() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let make = |name: &str, text: &str, mode| {
            std::fs::write(at(name), text).unwrap();
            std::fs::set_permissions(at(name), std::fs::Permissions::from_mode(mode)).unwrap();
        };
        std::fs::copy("/bin/true", at("interpreter")).unwrap();
        let interpreter = at("interpreter");
        let mode = |mode| {
            std::fs::set_permissions(&interpreter, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        let shown = interpreter.display();
        make("script", &format!("#! {shown} -x\nrest"), 0o755);
        // A script whose interpreter is a script.
        make("outer", &format!("#!{}\n", at("script").display()), 0o755);
        make("by_env", &format!("#!/usr/bin/env -S LC_ALL=C {shown}\n"), 0o755);
        make("by_env_at_once", &format!("#!/usr/bin/env -S{shown} -e\n"), 0o755);
        make("by_nice", &format!("#!/usr/bin/nice {shown}\n"), 0o755);
        make("as_argument", &format!("#!/bin/sh {shown}\n"), 0o755);
        make("as_option", &format!("#!/bin/sh --rcfile={shown}\n"), 0o755);
        make("endless", &format!("#!{}\n", at("endless").display()), 0o755);
        let found = |name: &str| find(at(name).to_str().unwrap());
        let all =
            ["script", "outer", "by_env", "by_env_at_once", "by_nice", "as_argument", "as_option"];
        for name in all {
            mode(0o755);
            assert!(found(name).is_ok(), "{name}: {:?}", found(name));
            mode(0o757);
            let error = found(name).unwrap_err().to_string();
            assert!(
                error.contains("interpreter") && error.contains("mode 0757"),
                "{name}: {error}"
            );
        }
        assert!(found("endless").unwrap_err().to_string().contains("too many"));
    }

    #[test]
    fn find_program_with_libraries_that_others_can_write_refuses_it() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let mode = |name: &str, mode| {
            std::fs::set_permissions(at(name), std::fs::Permissions::from_mode(mode)).unwrap();
        };
        let make = |name: &str, entries: &[(u64, &str)]| {
            std::fs::write(at(name), elf::made(entries)).unwrap();
            mode(name, 0o755);
        };
        std::fs::create_dir(at("libs")).unwrap();
        mode("libs", 0o755);
        let (libs, evil) = (at("libs").display().to_string(), at("evil.so").display().to_string());
        make("evil.so", &[(1, "libc.so.6")]);
        make("middle.so", &[(1, &evil)]);
        make("by_path", &[(1, &evil)]);
        make("by_another", &[(1, at("middle.so").to_str().unwrap())]);
        make("by_rpath", &[(15, dir.path().to_str().unwrap()), (1, "evil.so")]);
        make("by_runpath", &[(29, &libs), (1, "libc.so.6")]);
        make("by_origin", &[(29, "/usr/lib:$ORIGIN/libs"), (1, "libc.so.6")]);
        make("not_there", &[(29, &format!("{libs}/x/y")), (1, "libc.so.6")]);
        let found = |name: &str| find(at(name).to_str().unwrap());
        for (name, what) in [
            ("by_path", "evil.so"),
            ("by_another", "evil.so"),
            ("by_rpath", "evil.so"),
            ("by_runpath", "libs"),
            ("by_origin", "libs"),
            ("not_there", "libs"),
        ] {
            assert!(found(name).is_ok(), "{name}: {:?}", found(name));
            mode(what, 0o777);
            let error = found(name).unwrap_err().to_string();
            assert!(error.contains(what) && error.contains("mode 0777"), "{name}: {error}");
            mode(what, 0o755);
        }
        make("unknown", &[(29, "/usr/$LIB/x"), (1, "libc.so.6")]);
        let error = found("unknown").unwrap_err().to_string();
        assert!(error.contains("not certain"), "{error}");
        let list = at("list");
        std::fs::write(&list, format!("# {evil}x\nlibx.so {evil}\n")).unwrap();
        assert_eq!(preloaded(&list), Ok(()));
        mode("evil.so", 0o777);
        assert!(preloaded(&list).unwrap_err().contains("evil.so"));
        assert_eq!(preloaded(&at("no-list")), Ok(()));
    }

    #[test]
    fn find_program_whose_first_line_is_not_understood_refuses_it() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("script");
        let found = |line: &str| {
            std::fs::write(&path, format!("{line}\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            find(path.to_str().unwrap())
        };
        for line in ["#!/bin/sh", "#!/bin/sh -e", "#! /usr/bin/env sh", "#!/usr/bin/env -S sh -e"] {
            assert!(found(line).is_ok(), "{line}: {:?}", found(line));
        }
        let long = format!("#!/bin/sh {}", "a".repeat(LINE));
        for line in [
            "#!/usr/bin/env -S PATH=/tmp sh",
            "#!/usr/bin/env -S -i PATH=/tmp sh",
            "#!/usr/bin/env -S -C /tmp sh",
            "#!/usr/bin/env -S A=b sh",
            "#!/usr/bin/env -S sh -c '. /tmp/x'",
            "#!/usr/bin/env -S ${SHELL}",
            "#!/usr/bin/env -i",
            "#!/usr/bin/env",
            &long,
        ] {
            let error = found(line).unwrap_err().to_string();
            assert!(error.contains("is not certain"), "{line}: {error}");
        }
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
        // The target of a link decides.
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
