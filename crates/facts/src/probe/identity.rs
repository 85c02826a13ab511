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
        text(name.machine())
    )
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
