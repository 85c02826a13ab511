//! The identity of the kernel: `uname`, `/proc/version`, `/proc/cmdline`.

use super::{Page, Reader, prompt, shown};
use crate::cmdline::CommandLine;
use crate::version::{Kernel, Version};
use crate::{Arch, Fact};

pub(super) const UNAME: Reader =
    Reader { name: "uname -a", words: &["Linux", "uname"], read: uname };

pub(super) const CMDLINE: Reader = Reader {
    name: "/proc/cmdline",
    words: &["BOOT_IMAGE=", "/proc/cmdline", "root=UUID="],
    read: cmdline,
};

fn uname(page: &mut Page<'_>, at: usize) -> usize {
    let line = page.line(at).trim();
    if let Some(found) = prompt::read(line) {
        // `uname -r` and its output.
        let asks = found.command.starts_with("uname") && !found.command.contains('|');
        let next = shown(page.line(at + 1));
        if !asks || next.contains(' ') || Version::parse(next).is_none() {
            return 0;
        }
        kernel(page, at + 1, next);
        return 2;
    }
    let line = line.strip_prefix("uname:").map_or(line, str::trim_start);
    if let Some(rest) = line.strip_prefix("Linux version ") {
        if !rest.contains(" (") {
            return 0;
        }
        if let Some(found) = Kernel::parse(line) {
            page.told.kernel = Fact::known(found, page.source(at));
        }
        return 1;
    }
    let Some((release, arch)) = answer(line) else { return 0 };
    kernel(page, at, release);
    if let Some(arch) = arch {
        page.told.arch = Fact::known(arch, page.source(at));
    }
    1
}

/// The release and the architecture in the output of `uname -a`.
pub(super) fn answer(line: &str) -> Option<(&str, Option<Arch>)> {
    let rest = line.trim().strip_prefix("Linux ")?;
    let mut words = rest.split_ascii_whitespace();
    let (_host, release) = (words.next()?, words.next()?);
    if !release.starts_with(|c: char| c.is_ascii_digit())
        || Version::parse(release).is_none()
        || !rest.contains('#')
    {
        return None;
    }
    let arch = words.rev().filter(|word| *word != "GNU/Linux").find_map(|word| match word {
        "x86_64" | "i386" | "i486" | "i586" | "i686" | "aarch64" | "armv7l" | "armv6l"
        | "riscv64" | "riscv32" | "ppc64le" | "s390x" | "loongarch64" | "loongarch32" => {
            Arch::parse(word)
        }
        _ => None,
    });
    Some((release, arch))
}

fn kernel(page: &mut Page<'_>, at: usize, release: &str) {
    if let Some(found) = Kernel::parse(release) {
        page.told.kernel = Fact::known(found, page.source(at));
    }
}

fn cmdline(page: &mut Page<'_>, at: usize) -> usize {
    let line = page.line(at).trim();
    if let Some(found) = prompt::read(line) {
        let asks =
            found.command.ends_with("/proc/cmdline") || found.command.ends_with("/proc/cmdline;");
        let next = shown(page.line(at + 1));
        if !asks
            || next.is_empty()
            || page.is_prompt(at + 1)
            || !(next.contains('=') || next.contains(" ro"))
        {
            return 0;
        }
        page.told.cmdline = Fact::known(CommandLine::parse(next), page.source(at + 1));
        return 2;
    }
    let line = line.strip_prefix("/proc/cmdline:").map_or(line, str::trim_start);
    // An entry in a boot loader's menu is not the booted kernel.
    if !line.starts_with("BOOT_IMAGE=") {
        return 0;
    }
    page.told.cmdline = Fact::known(CommandLine::parse(line), page.source(at));
    1
}
