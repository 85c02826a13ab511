//! Whether a file is for a QEMU that is older than an option that an edit would put in. A QEMU that does not know an
//! option does not start; one that no longer knows the former option is not meant, if the file has others that it does
//! not know either.

use crate::comments;
use crate::document::Document;
use crate::edit::Edit;
use std::ops::Range;

/// A version of QEMU.
type Version = (u32, u32);

/// Options that newer versions do not have, and which one removed them (docs/about/removed-features.rst). None of them
/// is newer than 9.0, which removed `-no-hpet` and `-no-acpi`.
const GONE: &[(&str, &str)] = &[
    ("-hdachs", "2.12"),
    ("-no-kvm-pit", "2.12"),
    ("-tdf", "2.12"),
    ("-no-kvm-irqchip", "3.0"),
    ("-no-kvm-pit-reinjection", "3.0"),
    ("-balloon", "3.1"),
    ("-bootp", "3.1"),
    ("-redir", "3.1"),
    ("-smb", "3.1"),
    ("-tftp", "3.1"),
    ("-localtime", "3.1"),
    ("-nodefconfig", "3.1"),
    ("-rtc-td-hack", "3.1"),
    ("-startdate", "3.1"),
    ("-no-kvm", "5.2"),
    ("-realtime", "6.0"),
    ("-show-cursor", "6.0"),
    ("-tb-size", "6.0"),
    ("-no-quit", "7.0"),
    ("-enable-fips", "7.1"),
    ("-writeconfig", "7.1"),
    ("-soundhw", "7.1"),
    ("-watchdog", "7.2"),
];

/// Properties of options that newer versions do not have: the option, the property, and which version removed it.
const PARTS: &[(&str, &str, &str)] = &[
    ("-net", "vlan=", "3.0"),
    ("-net", "dump", "2.12"),
    ("-net", "channel", "2.12"),
    ("-drive", "boot=", "1.3"),
    ("-drive", "serial=", "3.0"),
    ("-drive", "addr=", "3.0"),
    ("-drive", "cyls=", "3.0"),
    ("-drive", "heads=", "3.0"),
    ("-drive", "secs=", "3.0"),
    ("-drive", "trans=", "3.0"),
    ("-machine", "enforce-config-section=", "5.2"),
    ("-usbdevice", "audio", "6.0"),
    ("-usbdevice", "ccid", "6.0"),
];

/// Machine types that newer versions do not have, by how they begin.
const MACHINES: [(&str, &str); 2] = [("pc-0.", "6.0"), ("pc-1.", "6.0")];

/// Images of systems whose own QEMU is older than 5.0.
const IMAGES: &str = "debian:wheezy debian:jessie debian:stretch debian:buster debian:7 debian:8 debian:9 debian:10 \
    ubuntu:12.04 ubuntu:14.04 ubuntu:16.04 ubuntu:18.04 ubuntu:20.04 ubuntu:trusty ubuntu:xenial ubuntu:bionic \
    ubuntu:focal centos:6 centos:7 alpine:3.8 alpine:3.9 alpine:3.10 alpine:3.11 nixos-17 nixos-18 nixos-19 nixos-20";

/// Words of lines that choose a source by its version.
const SOURCES: [&str; 9] =
    ["git", "checkout", "clone", "branch", "archive", "wget", "curl", "download", "tag"];

/// How far behind the name of QEMU its version may be, in bytes.
const NEAR: usize = 40;
/// The most of a line that is looked at, in bytes.
const MOST_OF_LINE: usize = 2048;

/// Whether the QEMU of a file takes what an edit puts in place of an option that is gone.
///
/// # Errors
/// Something in the file says that it may be older; with the line.
pub(super) fn takes(document: &Document, edit: &Edit) -> Result<(), String> {
    let text = document.text.as_str();
    let former = text.get(edit.span.clone()).unwrap_or_default();
    if edit.with.is_empty() || !matches!(former.trim_start_matches('-'), "no-hpet" | "no-acpi") {
        return Ok(());
    }
    // hw/i386/pc.c, pc_machine_set_hpet(); hw/i386/x86.c, x86_machine_set_acpi().
    let first = if edit.with.contains("hpet") { (5, 2) } else { (5, 0) };
    let with = edit.with.as_str();
    let at = |at: usize| document.text.place(at).line;
    if let Some((place, name, version)) = gone(document) {
        return Err(format!(
            "line {}: QEMU {version} removed {name}, so the file is for an older one, which may not know {with}",
            at(place)
        ));
    }
    match spoken_of(text, first) {
        Some((place, what)) => Err(format!(
            "line {}: {what}, and {with} is known since QEMU {}.{}",
            at(place),
            first.0,
            first.1
        )),
        None => Ok(()),
    }
}

/// An option that newer versions do not have: its place, its name, and the version that removed it.
fn gone(document: &Document) -> Option<(usize, &str, &'static str)> {
    let text = document.text.as_str();
    let comments = comments::of(document);
    let commented = |at: usize| comments.iter().any(|it: &Range<usize>| it.contains(&at));
    let ends = |c: char| c.is_ascii_whitespace() || "\"'`()[]{};|&<>".contains(c);
    let mut before = "";
    let mut start = 0;
    let mut found = None;
    for word in text.split(ends) {
        let at = start;
        start += word.len() + 1;
        let word = word.trim_matches(['\\', ',']);
        if word.is_empty() {
            continue;
        }
        let name = word.strip_prefix('-').filter(|it| it.starts_with('-')).unwrap_or(word);
        let option =
            GONE.iter().find(|(gone, _)| name == *gone).map(|(_, version)| (word, *version));
        let part = || {
            let of = PARTS.iter().filter(|(option, _, _)| before == *option);
            let mut parts = of.flat_map(|one| word.split(',').map(move |part| (one, part)));
            let has = |(gone, part): &(&(&str, &str, &str), &str)| {
                if gone.1.ends_with('=') { part.starts_with(gone.1) } else { *part == gone.1 }
            };
            parts.find(has).map(|((_, _, version), part)| (part, *version))
        };
        let machine = || {
            let of_machine = matches!(before, "-machine" | "-M");
            let value = word.strip_prefix("type=").unwrap_or(word);
            let machine = value.split(',').next().unwrap_or_default();
            MACHINES
                .iter()
                .find(|(begin, _)| of_machine && machine.starts_with(begin))
                .map(|(_, version)| (machine, *version))
        };
        if let Some((what, version)) = option.or_else(part).or_else(machine)
            && !commented(at)
        {
            found = Some((at, what, version));
            break;
        }
        before = name;
    }
    found
}

/// What a file says of an older QEMU: a version that is installed, built, asked for or spoken of.
fn spoken_of(text: &str, first: Version) -> Option<(usize, String)> {
    let mut start = 0;
    // A source that is cloned on one line may be checked out on the next.
    let built = ["qemu.git", "qemu/qemu", "qemu-project/qemu", "cd qemu", "qemu-kvm.git"]
        .iter()
        .any(|mark| text.contains(mark));
    for whole in text.split_inclusive('\n') {
        let at = start;
        start += whole.len();
        let mut end = whole.len().min(MOST_OF_LINE);
        while !whole.is_char_boundary(end) {
            end -= 1;
        }
        let line = whole.get(..end).unwrap_or_default().to_ascii_lowercase();
        let names = line.contains("qemu") || line.contains("kvm");
        if names && (line.contains("-version") || line.contains("compare-version")) {
            return Some((at, "the version of QEMU is asked for".to_owned()));
        }
        if line.contains("-rhel7.") || line.contains("rhel6.") {
            return Some((at, "a machine type of RHEL 7 or older is named".to_owned()));
        }
        let image = IMAGES.split_whitespace().find(|image| has_image(&line, image));
        if let Some(image) = image {
            return Some((at, format!("{image} has a QEMU that may be older")));
        }
        for (place, _) in line.match_indices("qemu") {
            let behind = line.get(place + "qemu".len()..).unwrap_or_default();
            if let Some((_, shown)) = version_near(behind).filter(|(it, _)| *it < first) {
                return Some((at, format!("QEMU {shown} is named")));
            }
        }
        let chooses = SOURCES.iter().any(|word| line.contains(word)) || line.contains("stable-");
        if chooses
            && (built || line.contains("qemu"))
            && let Some(shown) = any_version(&line, first)
        {
            return Some((at, format!("QEMU {shown} may be what is chosen")));
        }
    }
    None
}

/// Whether a line has the name of an image, or of a release, and not of a longer one.
fn has_image(line: &str, image: &str) -> bool {
    let release = image.starts_with("nixos-");
    line.match_indices(image).any(|(at, _)| {
        let behind = line.get(at + image.len()..).and_then(|it| it.chars().next());
        let before = line.get(..at).and_then(|it| it.chars().next_back());
        let own = !before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '-');
        // `debian:10` is none of `debian:100`; `debian:10-slim` is one.
        own && (release && behind == Some('.')
            || !release && !behind.is_some_and(|c| c.is_ascii_digit() || c == '.'))
    })
}

/// A version just behind the name of QEMU: `qemu-4.2`, `qemu-kvm-ev-2.12.0`, `qemu-system-x86=1:4.2-3`, `QEMU version 3.1`.
fn version_near(behind: &str) -> Option<(Version, String)> {
    let bytes = behind.as_bytes();
    let mut at = 0;
    while at < bytes.len().min(NEAR) {
        let c = bytes.get(at).copied().unwrap_or_default();
        if c.is_ascii_digit() {
            let before = at.checked_sub(1).and_then(|n| bytes.get(n)).copied().unwrap_or(b'-');
            if let Some(found) = version_at(behind, at, before) {
                return Some(found);
            }
            while bytes.get(at).is_some_and(u8::is_ascii_alphanumeric) {
                at += 1;
            }
            continue;
        }
        let next = bytes.get(at + 1).copied().unwrap_or_default();
        let goes_on = match c {
            // The next option, and the value of this one.
            b' ' => next != b'-',
            b'/' => next.is_ascii_digit() || next == b'v',
            _ => c.is_ascii_alphanumeric() || b"-_:=@\"'()[]{}~^<>.,".contains(&c),
        };
        if !goes_on {
            return None;
        }
        at += 1;
    }
    None
}

/// A version of a source anywhere on a line.
fn any_version(line: &str, first: Version) -> Option<String> {
    let bytes = line.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if !bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
            continue;
        }
        let before = at.checked_sub(1).and_then(|n| bytes.get(n)).copied().unwrap_or(b' ');
        if let Some((_, shown)) = version_at(line, at, before).filter(|(it, _)| *it < first) {
            return Some(shown);
        }
        while bytes.get(at).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'.') {
            at += 1;
        }
    }
    None
}

/// A version that begins at a place: two numbers at least, and no size, no address, no type of a machine.
fn version_at(text: &str, at: usize, before: u8) -> Option<(Version, String)> {
    let word = text.get(..at).unwrap_or_default();
    let machine = ["i440fx-", "q35-", "rhel", "virt-", "pc-"].iter().any(|it| word.ends_with(it));
    // `x86` is none, `v4.2` is one.
    let begins = !before.is_ascii_alphanumeric() && before != b'.'
        || before == b'v'
            && !word.trim_end_matches('v').ends_with(|c: char| c.is_ascii_alphanumeric());
    if machine || !begins {
        return None;
    }
    let rest = text.get(at..)?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let shown = rest.get(..end)?.trim_end_matches('.');
    let mut parts = shown.split('.');
    let (major, minor) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    // `10.0.2.15`, `4.5G`.
    let size = rest.get(shown.len()..).is_some_and(|it| it.starts_with(['g', 'm', 'k', 't']));
    (shown.split('.').count() <= 3 && !size).then(|| ((major, minor), shown.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::Kind;
    use crate::testing::document;

    fn why(text: &str) -> Option<String> {
        let text = text.replace("QEMU64", "qemu-system-x86_64 -enable-kvm -machine q35 -cpu host");
        let at = text.rfind("-no-hpet").unwrap();
        let edit = Edit { span: at..at + "-no-hpet".len(), with: "-machine hpet=off".to_owned() };
        takes(&document(Kind::Qemu, "run.sh", &text), &edit).err()
    }

    #[test]
    fn what_only_an_older_qemu_takes_is_named() {
        for (text, said) in [
            ("QEMU64 -realtime mlock=off -no-hpet", "line 1: QEMU 6.0 removed -realtime"),
            ("QEMU64 \\\n -localtime -no-hpet", "line 2: QEMU 3.1 removed -localtime"),
            ("QEMU64 --tdf -no-hpet", "removed --tdf"),
            ("QEMU64 -net nic,model=e1000,vlan=0 -no-hpet", "QEMU 3.0 removed vlan=0"),
            ("QEMU64 -drive file=a.img,boot=on -no-hpet", "removed boot=on"),
            ("qemu-system-x86_64 -M pc-1.0 -no-hpet", "removed pc-1.0"),
            ("QEMU64 -soundhw hda -no-hpet", "removed -soundhw"),
            (
                "apt-get install -y qemu-system-x86=1:4.2-3ubuntu6\nQEMU64 -no-hpet",
                "QEMU 4.2 is named",
            ),
            ("yum install qemu-kvm-ev-2.12.0\nQEMU64 -no-hpet", "QEMU 2.12.0 is named"),
            ("# for QEMU version 3.1 and older\nQEMU64 -no-hpet", "QEMU 3.1 is named"),
            ("QEMU_VERSION=5.1.0\nQEMU64 -no-hpet", "QEMU 5.1.0 is named"),
            ("git -C qemu checkout v3.1.0\nQEMU64 -no-hpet", "QEMU 3.1.0"),
            (
                "git clone -b stable-2.11 https://git.qemu.org/git/qemu.git\nQEMU64 -no-hpet",
                "QEMU 2.11",
            ),
            ("cd qemu\ngit checkout v4.0.0\nQEMU64 -no-hpet", "QEMU 4.0.0"),
            (
                "wget https://github.com/qemu/qemu/archive/v4.0.0.tar.gz\nQEMU64 -no-hpet",
                "QEMU 4.0.0",
            ),
            ("nix-shell -I nixpkgs=channel:nixos-19.09 -p qemu\nQEMU64 -no-hpet", "nixos-19"),
            (
                "qemu-system-x86_64 --version | grep -q 4\nQEMU64 -no-hpet",
                "version of QEMU is asked",
            ),
            ("qemu-kvm -M pc-i440fx-rhel7.6.0 -no-hpet", "RHEL 7"),
            ("docker run ubuntu:20.04 true\nQEMU64 -no-hpet", "ubuntu:20.04"),
        ] {
            let why = why(text);
            assert!(why.as_deref().is_some_and(|why| why.contains(said)), "{text}: {why:?}");
        }
    }

    #[test]
    fn what_says_nothing_of_an_older_one_does_not_count() {
        for text in [
            "QEMU64 -m 4G -rtc base=localtime -no-hpet",
            "# -localtime is gone\nQEMU64 -no-hpet",
            "apt-get install qemu-system-x86=1:7.2+dfsg-7\nQEMU64 -no-hpet",
            "qemu-system-x86_64 -M pc-i440fx-2.7 -no-hpet",
            "qemu-img create -f qcow2 a.img 4.5G\nQEMU64 -no-hpet",
            "QEMU64 -netdev user,id=n,hostfwd=tcp:127.0.0.1:2222-10.0.2.15:22 -no-hpet",
            "wget https://dl-cdn.alpinelinux.org/alpine-virt-3.12.0-x86_64.iso\nQEMU64 -no-hpet",
            "QEMU64 -drive file=ubuntu-20.04.qcow2 -no-hpet",
            "# QEMU 8.2\nQEMU64 -device virtio-blk,serial=a -no-hpet",
            "QEMU64 -bios /usr/share/qemu/ovmf-2.0.fd -no-hpet",
        ] {
            assert_eq!(why(text), None, "{text}");
        }
    }
}
