//! The programs inside the guest: an archive with busybox, a static probe, an init script and, for
//! some boots, one more program or script.
//!
//! - [`cpio`]: the archive format
//! - [`fault`]: a counter that is wrong, and the command that makes it so
//! - [`elf`]: whether a program can run in a guest
//! - [`probe`]: the static program that reads CPUID and finds out which clocks need no system call

pub mod cpio;
pub mod elf;
pub mod fault;
pub mod probe;

use cpio::Archive;
use fault::Fault;

/// The guest's init script.
const INIT: &str = include_str!("../../guest/init.sh");

/// The purpose of a guest.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Purpose {
    /// Report the kernel's choice; afterwards run the program and a script, if given.
    Record {
        /// The static clocksmith program.
        clocksmith: Option<Vec<u8>>,
        /// A shell script.
        run: Option<String>,
    },
    /// Run one static program, then stop.
    Exec {
        /// The program's bytes.
        program: Vec<u8>,
        /// Its name inside the guest.
        name: String,
        /// Its arguments.
        arguments: Vec<String>,
        /// A fault of the counter that it reads.
        fault: Option<Fault>,
    },
    /// Run a shell script, then stop.
    Script {
        /// The script.
        script: String,
        /// Static programs that the script runs, by name.
        programs: Vec<(&'static str, Vec<u8>)>,
    },
    /// Give a person a shell.
    Shell,
}

/// Builds the archive that the kernel unpacks as its root file system.
pub fn build(busybox: &[u8], probe: Option<&[u8]>, purpose: &Purpose) -> Vec<u8> {
    let mut archive = Archive::new();
    for directory in ["bin", "dev", "proc", "sys", "tmp", "testbed"] {
        archive.directory(directory);
    }
    archive.character_device("dev/console", 0o600, 5, 1);
    archive.file("init", 0o755, INIT.as_bytes());
    archive.file("bin/busybox", 0o755, busybox);
    if let Some(probe) = probe {
        archive.file("bin/probe", 0o755, probe);
    }
    match purpose {
        Purpose::Record { clocksmith, run } => {
            archive.file("testbed/record", 0o644, b"");
            if let Some(program) = clocksmith {
                archive.file("bin/clocksmith", 0o755, program);
            }
            if let Some(run) = run {
                archive.file("testbed/run", 0o755, format!("{run}\n").as_bytes());
            }
        }
        Purpose::Exec { program, name, arguments, fault } => {
            archive.file(&format!("bin/{name}"), 0o755, program);
            let mut words: Vec<String> = fault.iter().map(Fault::command).collect();
            words.push(format!("/bin/{name}"));
            words.extend(arguments.iter().map(|argument| quote(argument)));
            archive.file("testbed/run", 0o755, format!("{}\n", words.join(" ")).as_bytes());
        }
        Purpose::Script { script, programs } => {
            for (name, program) in programs {
                archive.file(&format!("bin/{name}"), 0o755, program);
            }
            archive.file("testbed/run", 0o755, format!("{script}\n").as_bytes());
        }
        Purpose::Shell => archive.file("testbed/shell", 0o644, b""),
    }
    archive.finish()
}

/// A word that a shell reads back as it was.
pub fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_word_survives_the_shell() {
        let word = "it's $HOME \"and\" `more`";
        let output = std::process::Command::new("sh")
            .args(["-c", &format!("printf %s {}", quote(word))])
            .output()
            .unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), word);
    }

    #[test]
    fn the_purpose_decides_what_the_archive_holds() {
        let text = |purpose| String::from_utf8_lossy(&build(b"bb", None, &purpose)).into_owned();
        assert!(text(Purpose::Shell).contains("testbed/shell"));
        let exec = Purpose::Exec {
            program: b"elf".into(),
            name: "tool".into(),
            arguments: vec!["a b".into()],
            fault: None,
        };
        assert!(text(exec.clone()).contains("/bin/tool 'a b'\n"));
        let Purpose::Exec { program, name, arguments, .. } = exec else { unreachable!() };
        let fault = Some("rate=5".parse().unwrap());
        let exec = Purpose::Exec { program, name, arguments, fault };
        assert!(text(exec).contains("/bin/probe fault --rate 5 -- /bin/tool 'a b'\n"));
        let record = text(Purpose::Record { clocksmith: None, run: Some("date".into()) });
        assert!(record.contains("testbed/record") && record.contains("date\n"));
    }
}
