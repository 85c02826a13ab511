//! The files that the entries of a file load, and whether the file is whole: this decides whether an older copy of it
//! still boots, and whether the present one does.

use super::{KERNELS, MODULES, Menu, ends, is_bls, is_extlinux, is_grub, is_image, lexer};
use super::{keyword, marker, script};
use crate::boot::bls;
use std::path::Path;

/// Commands and keys that load initial RAM disks.
const DISKS: [&str; 3] = ["initrd", "initrd16", "initrdefi"];

/// Whether a file has entries of a boot loader.
pub(crate) fn has_entries(path: &Path) -> bool {
    is_grub(path) || is_extlinux(path) || is_bls(path)
}

/// Returns whether a path is that of an entry file (Boot Loader Specification, type #1).
pub(crate) fn is_entry_file(path: &Path) -> bool {
    is_bls(path)
}

/// The kernels and initial RAM disks that the entries of this system load, by the names that the entries give them. Names with
/// variables are left out.
pub(crate) fn images(path: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut section: Option<&str> = None;
    for line in text.lines().map(str::trim) {
        if let Some(name) = marker(line, "BEGIN") {
            section = Some(name);
        } else if marker(line, "END").is_some() {
            section = None;
        }
        // Those of other systems are on other filesystems.
        if section.is_some_and(|name| !script(name).starts_with("linux")) {
            continue;
        }
        let words = |names: &[&str]| keyword(line, names).map(lexer::words).unwrap_or_default();
        let kernel = words(&KERNELS).into_iter();
        let more = if is_extlinux(path) { words(&["kernel"]) } else { Vec::new() };
        let module = words(&MODULES).into_iter().filter(|word| is_image(word));
        found.extend(kernel.chain(more).take(1).chain(module.take(1)).chain(words(&DISKS)));
    }
    found.retain(|name| !name.contains('$') && !name.starts_with('('));
    found.sort();
    found.dedup();
    found
}

/// The kernel of an entry file.
pub(crate) fn kernels(path: &Path, text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim).filter(|_| is_bls(path));
    let found = lines.filter_map(|line| keyword(line, &["linux", "uki", "efi"]));
    found.map(|rest| rest.trim().to_owned()).collect()
}

/// Returns the options of an entry file that boots Linux; `None` for a rescue entry, which is made without the words of
/// changes.
pub(crate) fn options(path: &Path, text: &str) -> Option<String> {
    let counts = is_bls(path) && !bls::is_rescue(path) && bls::boots_linux(text);
    counts.then(|| bls::all_options(text))
}

/// Returns whether a file boots nothing, or is truncated, and the previous one was not.
pub(crate) fn is_broken(path: &Path, before: &str, now: &str) -> bool {
    if now.trim().is_empty() {
        return !before.trim().is_empty();
    }
    if is_bls(path) {
        return bls::boots_linux(before) && !bls::boots_linux(now);
    }
    if !is_grub(path) && !is_extlinux(path) {
        return false;
    }
    let (old, new) = (Menu::of(path, before), Menu::of(path, now));
    let faulty =
        |text: &str, menu: &Menu| ends(text, menu).is_err() || lexer::fault(text).is_some();
    !old.entries.is_empty() && new.entries.is_empty()
        || is_grub(path) && faulty(now, &new) && !faulty(before, &old)
}

/// The name of an entry file without the counter of boots (systemd-boot's `+3`, `+2-1`).
pub(crate) fn uncounted(path: &Path) -> Option<String> {
    let stem = path.file_stem()?.to_str()?;
    let counted = |tail: &str| {
        let (left, done) = tail.split_once('-').unwrap_or((tail, "0"));
        let number = |it: &str| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit());
        number(left) && number(done)
    };
    match stem.rsplit_once('+') {
        Some((name, tail)) if counted(tail) => Some(name.to_owned()),
        _ => Some(stem.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MENU: &str = "### BEGIN /etc/grub.d/10_linux ###\nmenuentry 'A' {\n\tlinux /boot/vmlinuz-6 ro\n\tinitrd \
                        /boot/ucode /boot/initrd-6\n}\n### END /etc/grub.d/10_linux ###\n### BEGIN \
                        /etc/grub.d/30_os-prober ###\nmenuentry 'B' {\n\tlinux /other\n}\n### END \
                        /etc/grub.d/30_os-prober ###\n";

    #[test]
    fn images_are_those_of_this_system() {
        let found = images(Path::new("/boot/grub/grub.cfg"), MENU);
        assert_eq!(found, ["/boot/initrd-6", "/boot/ucode", "/boot/vmlinuz-6"]);
        let entry = "linux /vmlinuz-7\ninitrd /i-7 $tuned_initrd\noptions ro\n";
        let found = images(Path::new("/boot/loader/entries/a.conf"), entry);
        assert_eq!(found, ["/i-7", "/vmlinuz-7"]);
    }

    #[test]
    fn is_broken_file_that_is_cut_anywhere_in_its_entries() {
        let path = Path::new("/boot/grub/grub.cfg");
        assert!(!is_broken(path, MENU, MENU));
        for end in ["", "### BEGIN /etc/grub.d/10_linux ###\nmenuentry 'A' {\n"] {
            assert!(is_broken(path, MENU, end), "{end}");
        }
        assert!(!is_broken(Path::new("/boot/grub/grubenv"), "x", "y"));
    }

    #[test]
    fn uncounted_name_is_that_of_every_count() {
        for name in ["a-6.conf", "a-6+3.conf", "a-6+2-1.conf"] {
            assert_eq!(uncounted(Path::new(name)).as_deref(), Some("a-6"), "{name}");
        }
        assert_eq!(uncounted(Path::new("a+b.conf")).as_deref(), Some("a+b"));
    }
}
