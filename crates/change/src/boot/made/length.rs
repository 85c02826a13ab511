//! How long a command line may be.

use super::{Menu, intended, is_bls, is_extlinux, is_grub, kernels};
use crate::boot::bls;
use crate::words::Change;
use std::path::Path;

/// The longest command line of a kernel on x86-64 and aarch64, in bytes (`COMMAND_LINE_SIZE`, with its end). Boot loaders and the
/// kernel cut a longer one without a word.
const LONGEST: usize = 2048;
/// What GRUB writes before the words (`BOOT_IMAGE=` and the kernel).
const IMAGE: &str = "BOOT_IMAGE=";

/// Why the words at the end of a command line would be cut off, if they would.
pub(crate) fn cut(line: &str, change: &Change) -> Option<String> {
    let length = IMAGE.len() + line.trim().len();
    (!change.add.is_empty() && length >= LONGEST).then(|| {
        format!(
            "has a command line of {length} bytes or more, and the kernel reads {} of it: the words at its end have no effect",
            LONGEST - 1
        )
    })
}

/// Why the command lines of a file's entries, or a file that is one, are too long for the words that a change adds.
pub(crate) fn too_long(path: &Path, text: &str, change: &Change) -> Option<String> {
    if is_bls(path) {
        let kernel = kernels(path, text).first()?.clone();
        return cut(&format!("{kernel} {}", bls::all_options(text)), change);
    }
    if is_grub(path) || is_extlinux(path) {
        let entries = Menu::of(path, text).entries;
        return intended(&entries).iter().find_map(|entry| cut(&entry.words, change));
    }
    let line = path == Path::new(bls::CMDLINE) || path.ends_with("cmdline.txt");
    line.then(|| cut(text, change))?
}
