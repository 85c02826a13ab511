//! The limit of a command line's length.

use super::{Menu, intended, is_bls, is_extlinux, is_grub, kernels};
use crate::boot::bls;
use crate::boot::single;
use crate::system::Longest;
use crate::words::Change;
use std::path::Path;

/// The text that GRUB writes before the words (`BOOT_IMAGE=` and the kernel).
const IMAGE: &str = "BOOT_IMAGE=";

/// Returns the reason why the words at the end of a command line would be cut off, if they would. Boot loaders and the
/// kernel do that without a message.
pub(crate) fn cut(line: &str, change: &Change, longest: Longest) -> Option<String> {
    let length = IMAGE.len() + line.trim().len();
    let Longest { bytes, certain } = longest;
    (!change.add.is_empty() && length > bytes).then(|| {
        let reads = if certain {
            format!("the kernel reads {bytes} of it: the words at its end have no effect")
        } else {
            format!(
                "the kernel may read only {bytes} of it (no CONFIG_COMMAND_LINE_SIZE in /boot/config-* states a larger \
                 size): the words at its end would have no effect"
            )
        };
        format!("has a command line of {length} bytes or more, and {reads}")
    })
}

/// Returns the reason why the command lines of a file's entries, or of a file that is a command line, are too long for
/// the words that a change adds.
pub(crate) fn too_long(
    path: &Path,
    text: &str,
    change: &Change,
    longest: Longest,
) -> Option<String> {
    let cut = |line: &str| cut(line, change, longest);
    if is_bls(path) {
        let kernel = kernels(path, text).first()?.clone();
        return cut(&format!("{kernel} {}", bls::all_options(text)));
    }
    if is_grub(path) || is_extlinux(path) {
        let entries = Menu::of(path, text).entries;
        return intended(&entries).iter().find_map(|entry| cut(&entry.words));
    }
    if path == Path::new(single::ZIPL) {
        return single::zipl_lines(text).iter().find_map(|line| cut(line));
    }
    let line = path == Path::new(bls::CMDLINE) || path.ends_with("cmdline.txt");
    line.then(|| cut(text))?
}
