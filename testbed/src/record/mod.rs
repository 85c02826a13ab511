//! One boot on disk.
//!
//! ```text
//! OUT/case@kernel/
//!   root/          what `clocksmith predict --root` gets: a mirror of /proc and /sys, CPUID, and
//!                  the kernel's log without the lines in which it says what it decided
//!   extra/         more of the guest, for people
//!   full-dmesg     the whole log
//!   truth.json     what the kernel chose, and how the guest was started
//!   verdict.json   what was predicted, and whether it is right
//!   serial.log     the raw serial line, kept if the boot failed
//! ```
//!
//! - [`log`]: the lines of a kernel log that contain the answer, and those that explain it
//! - [`truth`]: the contents of `truth.json`

pub mod log;
pub mod truth;

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::Path;

/// Writes the frames of a finished boot into a record's directory.
pub fn write(directory: &Path, frames: &BTreeMap<String, String>) -> Result<()> {
    for (name, text) in frames {
        if name.starts_with("root/") || name.starts_with("extra/") || name == "full-dmesg" {
            write_file(&directory.join(safe(name)), &log::without_addresses(text))?;
        }
    }
    let full = frames.get("full-dmesg").map(String::as_str).unwrap_or_default();
    write_file(&directory.join("root/dmesg"), &log::without_addresses(&log::undecided(full)))?;
    if let Some(output) = frames.get("run") {
        write_file(&directory.join("run.txt"), output)?;
    }
    Ok(())
}

/// Writes one file of a record, with the directories above it.
pub fn write_file(path: &Path, text: &str) -> Result<()> {
    let parent = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(parent)
        .and_then(|()| std::fs::write(path, text))
        .with_context(|| format!("writing {}", path.display()))
}

/// A guest's word is not trusted to stay inside the record's directory.
fn safe(name: &str) -> String {
    name.split('/').filter(|part| !part.is_empty() && *part != "..").collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_become_files_inside_the_record() {
        let directory = tempfile::tempdir().unwrap();
        let frames = BTreeMap::from([
            ("root/proc/cmdline".to_string(), "quiet\n".to_string()),
            ("root/../../up".to_string(), "x\n".to_string()),
            ("full-dmesg".to_string(), "[ 0] tsc: Detected\n[ 0] Booting\n".to_string()),
        ]);
        write(directory.path(), &frames).unwrap();
        let read = |name: &str| std::fs::read_to_string(directory.path().join(name)).unwrap();
        assert_eq!(read("root/proc/cmdline"), "quiet\n");
        assert_eq!(read("root/up"), "x\n");
        assert_eq!(read("root/dmesg"), "[ 0] Booting\n");
    }
}
