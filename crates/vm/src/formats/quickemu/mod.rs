//! quickemu machines: files of shell variables.
//!
//! `extra_args` is appended to a QEMU command line, in which the last `-cpu` applies. Sources: quickemu(1),
//! quickemu_conf(5), and vm_boot() in quickemu.

#[cfg(test)]
mod tests;

use crate::detect::{Clues, Sign};
use crate::document::Document;
use crate::formats::{Format, Kind};
use crate::guest::{Guest, old_windows};
use crate::inner::Inner;
use crate::limits::Limits;
use crate::lint::{LintError, Report};
use std::ops::Range;

/// The registry entry of this kind.
pub(super) const FORMAT: Format = Format {
    name: "quickemu",
    files: "quickemu",
    sample: ("a.conf", "guest_os=\"linux\"\ndisk_img=\"a/disk.qcow2\"\n"),
    rules: rules!("quickemu"),
    detect,
    lint,
    limits: Limits::PLAIN,
    qemu: None,
};

fn detect(clues: &Clues<'_>) -> Option<Sign> {
    let keys = ["guest_os", "disk_img", "iso", "fixed_iso", "img", "disk_size"];
    let script = clues.has(|line| line.contains("qemu-system-"));
    let named = clues.keys(&keys[..1], '=') == 1 && clues.keys(&keys, '=') >= 2;
    (named && !script).then_some(Sign::Keys)
}

/// Returns the value in `key="value"`, for the last occurrence of a key.
fn find<'a>(document: &'a Document, name: &str) -> Option<(&'a str, Range<usize>)> {
    let text = document.text.as_str();
    let of = |line: &'a str| {
        let value = line.strip_prefix(name)?.strip_prefix('=')?;
        let value = match value.chars().next()? {
            quote @ ('"' | '\'') => value.get(1..)?.split(quote).next()?,
            _ => value.split([' ', '\t', '#', ';']).next()?,
        };
        let at = crate::text::offset(text, value);
        Some((value, at..at + value.len()))
    };
    document.text.lines().filter_map(|(_, line)| of(line)).last()
}

fn lint(document: &Document) -> Result<Report, LintError> {
    let Some((system, at)) = find(document, "guest_os") else {
        return Err(LintError::whole("it contains no line guest_os=\"...\" of quickemu"));
    };
    let mut inner = Inner::new(Kind::Qemu, document, at);
    inner.declared = Some(match system {
        "windows" | "windows-server" => Guest::Windows,
        "macos" => Guest::Macos,
        "freebsd" | "ghostbsd" | "openbsd" | "netbsd" | "dragonflybsd" => Guest::Bsd,
        "linux" | "linux_old" => Guest::Linux,
        _ => Guest::Other,
    });
    // quickemu's own options are right for each system; only added options are judged.
    let arm = find(document, "arch").is_some_and(|(arch, _)| arch == "aarch64");
    let program = match arm {
        true => "qemu-system-aarch64 -machine virt,accel=kvm",
        false => "qemu-system-x86_64 -machine q35,hpet=off,accel=kvm",
    };
    inner.own(program);
    inner.own(" -cpu host");
    if inner.declared == Some(Guest::Windows) {
        inner.own(",hv-passthrough");
    }
    if let Some((arguments, at)) = find(document, "extra_args") {
        if arguments.split_whitespace().any(|word| word == "-cpu") {
            // Two -cpu options are intended: the one of the file applies.
            let own = inner;
            inner = Inner::new(Kind::Qemu, document, own.whole());
            inner.declared = own.declared;
            inner.own(program);
        }
        inner.words(document, arguments, &at);
    }
    let old = |key| find(document, key).is_some_and(|(value, _)| old_windows(value));
    inner.old = ["disk_img", "iso", "fixed_iso", "img"].into_iter().any(old);
    if inner.declared == Some(Guest::Other) && system.bytes().all(|b| b.is_ascii_alphanumeric()) {
        // The name of the machine shows which system it runs.
        inner.own(&format!(" -name {system}"));
    }
    inner.own("\n");
    inner.judge(document, |_| None)
}
