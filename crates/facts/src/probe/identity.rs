//! `uname(2)`, and the namespaces of this process.

use crate::Missing;
use crate::tree::from_io;
use std::fmt::Write;

/// Kernel release, version and machine in the form of `uname -a`, without the host's name.
#[must_use]
pub fn uname() -> String {
    let name = rustix::system::uname();
    let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    format!(
        "{} - {} {} {}\n",
        text(name.sysname()),
        text(name.release()),
        text(name.version()),
        machine(&text(name.machine()))
    )
}

/// The name of the kernel's architecture. A personality (setarch(8), containers of 32-bit systems) has uname(2) name the
/// 32-bit one; this 64-bit program does not run on a 32-bit kernel.
fn machine(name: &str) -> &str {
    match name {
        "i386" | "i486" | "i586" | "i686" if cfg!(target_arch = "x86_64") => "x86_64",
        "armv6l" | "armv7l" | "armv8l" if cfg!(target_arch = "aarch64") => "aarch64",
        name => name,
    }
}

/// The host's name, for the manifest of a bundle and nothing else.
#[must_use]
pub fn hostname() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// `NAME: INODE` for the namespaces whose first inodes are fixed.
///
/// # Errors
/// Returns an error if `/proc/self/ns` cannot be read.
pub fn namespaces() -> Result<String, Missing> {
    let mut text = String::new();
    for name in ["cgroup", "ipc", "pid", "uts"] {
        let path = format!("/proc/self/ns/{name}");
        match std::fs::read_link(&path) {
            // `pid:[4026531836]`
            Ok(target) => {
                let target = target.to_string_lossy();
                let inode = target.trim_start_matches(|c: char| c != '[');
                // Writing to a String cannot fail.
                let _ = writeln!(text, "{name}: {}", inode.trim_matches(['[', ']']));
            }
            // Kernels older than the namespace lack the file.
            Err(error) if name == "pid" => return Err(from_io(&error, path)),
            Err(_) => {}
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arch;

    #[test]
    fn machine_of_a_personality_is_the_kernels() {
        if cfg!(target_arch = "x86_64") {
            assert_eq!((machine("i686"), machine("x86_64")), ("x86_64", "x86_64"));
        }
        if cfg!(target_arch = "aarch64") {
            assert_eq!((machine("armv8l"), machine("aarch64")), ("aarch64", "aarch64"));
        }
        assert_eq!(machine("riscv64"), "riscv64");
    }

    #[test]
    fn uname_names_an_architecture_and_no_host() {
        let text = uname();
        assert!(text.split_whitespace().rev().find_map(Arch::parse).is_some(), "{text}");
        assert_eq!(text.split_whitespace().nth(1), Some("-"));
    }

    #[test]
    fn namespaces_are_numbers() {
        let text = namespaces().unwrap();
        assert!(crate::environment::in_initial_namespaces(&text).is_some(), "{text}");
    }
}
