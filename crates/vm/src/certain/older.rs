//! Decides whether a file is for a QEMU that is older than an option that an edit would insert. A QEMU that does not
//! know an option does not start. A QEMU that no longer knows the previous option is not the intended one, if the
//! file has other options that it does not know either.

use crate::comments;
use crate::document::Document;
use crate::edit::Edit;
use crate::versions::{Version, any_version, has_image, lines, version_near};
use crate::words::listed;
use std::ops::Range;

/// Options that newer versions removed, and the version (docs/about/removed-features.rst). None of the versions is
/// newer than 9.0, which removed `-no-hpet` and `-no-acpi`.
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

/// Properties of options that newer versions removed: the option, the property, and the version.
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

/// Machine types that newer versions removed, by their prefixes.
const MACHINES: [(&str, &str); 2] = [("pc-0.", "6.0"), ("pc-1.", "6.0")];

/// Images of systems whose package of QEMU is older than 5.0.
const IMAGES: &str = "debian:wheezy debian:jessie debian:stretch debian:buster debian:7 debian:8 debian:9 debian:10 \
    ubuntu:12.04 ubuntu:14.04 ubuntu:16.04 ubuntu:18.04 ubuntu:20.04 ubuntu:trusty ubuntu:xenial ubuntu:bionic \
    ubuntu:focal centos:6 centos:7 alpine:3.8 alpine:3.9 alpine:3.10 alpine:3.11 nixos-17 nixos-18 nixos-19 nixos-20";

/// Systems whose package of QEMU is older than 5.0, as comments name them: the name, and the versions.
const SYSTEMS: [(&str, &[&str]); 9] = [
    ("centos", &["5", "6", "7"]),
    ("rhel", &["5", "6", "7"]),
    ("red hat", &["6", "7"]),
    ("scientific", &["6", "7"]),
    ("debian", &["7", "8", "9", "10", "wheezy", "jessie", "stretch", "buster"]),
    (
        "ubuntu",
        &["12.04", "14.04", "16.04", "18.04", "20.04", "trusty", "xenial", "bionic", "focal"],
    ),
    ("sles", &["11", "12"]),
    (
        "fedora",
        &["19", "20", "21", "22", "23", "24", "25", "26", "27", "28", "29", "30", "31", "32"],
    ),
    ("leap", &["42", "15.0", "15.1", "15.2"]),
];

/// Words between the name of a system and its version.
const BETWEEN: &str = "linux enterprise release version lts server opensuse";

/// Words of lines that select a source by its version.
const SOURCES: [&str; 9] =
    ["git", "checkout", "clone", "branch", "archive", "wget", "curl", "download", "tag"];

/// Checks that the QEMU of a file accepts the replacement of a removed option.
///
/// # Errors
/// Returns the reason, with the line, if a line of the file indicates that QEMU may be older.
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
    if let Some((place, system)) = system_of(document) {
        return Err(format!(
            "line {}: the comment names {system}, whose own QEMU may not know {with}",
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

/// Finds an option that newer versions removed: its place, its name, and the version.
pub(crate) fn gone(document: &Document) -> Option<(usize, &str, &'static str)> {
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

/// Finds an old system in a comment, or in the name of a package: its place, and its name with the version.
fn system_of(document: &Document) -> Option<(usize, String)> {
    let text = document.text.as_str();
    for span in comments::of(document) {
        let said = text.get(span.clone()).unwrap_or_default().to_ascii_lowercase();
        for (line, at) in said.split('\n').map(|line| (line, crate::text::offset(&said, line))) {
            if let Some(system) = system_in(line) {
                return Some((span.start + at, system));
            }
        }
    }
    let package = text.match_indices(".el7").chain(text.match_indices(".el6"));
    let mut package = package.filter(|(at, mark)| {
        let behind = text.get(at + mark.len()..).and_then(|rest| rest.chars().next());
        !behind.is_some_and(|c| c.is_ascii_digit())
    });
    let (at, mark) = package.next()?;
    Some((at, format!("RHEL {}", mark.trim_start_matches(".el"))))
}

/// Returns the old system that a line in lower case names.
fn system_in(line: &str) -> Option<String> {
    SYSTEMS.iter().find_map(|(name, versions)| {
        let mut found = line.match_indices(name);
        found.find_map(|(at, _)| {
            let behind = line.get(at + name.len()..)?;
            let ends = |c: char| !c.is_ascii_alphanumeric() && c != '.';
            let mut words = behind.split(ends).filter(|word| !word.is_empty());
            let word = words.find(|word| !listed(BETWEEN, word))?.trim_end_matches('.');
            let named = |version: &&&str| {
                word == **version
                    || word.strip_prefix(**version).is_some_and(|rest| rest.starts_with('.'))
            };
            let version = versions.iter().find(named)?;
            Some(format!("{name} {version}"))
        })
    })
}

/// Finds a sign of an older QEMU in a file: a version that is installed, built, queried or mentioned.
fn spoken_of(text: &str, first: Version) -> Option<(usize, String)> {
    // A source that is cloned on one line may be checked out on the next.
    let built = ["qemu.git", "qemu/qemu", "qemu-project/qemu", "cd qemu", "qemu-kvm.git"]
        .iter()
        .any(|mark| text.contains(mark));
    for (at, line) in lines(text) {
        let names = line.contains("qemu") || line.contains("kvm");
        if names && (line.contains("-version") || line.contains("compare-version")) {
            return Some((at, "the version of QEMU is queried".to_owned()));
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
            return Some((at, format!("QEMU {shown} may be chosen")));
        }
    }
    None
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
                "version of QEMU is queried",
            ),
            ("qemu-kvm -M pc-i440fx-rhel7.6.0 -no-hpet", "RHEL 7"),
            ("docker run ubuntu:20.04 true\nQEMU64 -no-hpet", "ubuntu:20.04"),
            ("# tested on CentOS 7\nQEMU64 -no-hpet", "line 1: the comment names centos 7"),
            ("# CentOS Linux release 7.9.2009\nQEMU64 -no-hpet", "centos 7"),
            ("# for Ubuntu 18.04 LTS\nQEMU64 -no-hpet", "ubuntu 18.04"),
            ("# runs on debian/buster\nQEMU64 -no-hpet", "debian buster"),
            ("yum install qemu-kvm.el7\nQEMU64 -no-hpet", "RHEL 7"),
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
            "# CentOS Stream 9, Debian 12\nQEMU64 -no-hpet",
            "# Ubuntu 22.04, 7 vCPUs\nQEMU64 -no-hpet",
            "QEMU64 -drive file=debian-10.qcow2 -no-hpet",
            "# QEMU 8.2\nQEMU64 -device virtio-blk,serial=a -no-hpet",
            "QEMU64 -bios /usr/share/qemu/ovmf-2.0.fd -no-hpet",
        ] {
            assert_eq!(why(text), None, "{text}");
        }
    }
}
