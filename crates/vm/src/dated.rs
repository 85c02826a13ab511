//! The version of the hypervisor that a file is for: an option that a newer version removed is not an error if the file
//! names an older version, or uses the option only if an older version runs. The replacements are in `formats` and
//! `certain`.

use crate::certain::extradata::named_before_five;
use crate::certain::{is_shell, older};
use crate::comments;
use crate::document::Document;
use crate::finding::{Finding, Severity};
use crate::versions::{Version, any_version, has_image, lines, version_near};

/// The QEMU that removed `-no-hpet` and `-no-acpi` (docs/about/removed-features.rst).
const REMOVED: Version = (9, 0);

/// Words of lines that install, build or run a version that they name.
const CHOOSES: [&str; 26] = [
    "apt", "dnf", "yum", "rpm", "dpkg", "zypper", "apk ", "pacman", "brew", "install", "nix",
    "conda", "git ", "checkout", "clone", "wget", "curl", "://", "tar ", "from ", "image:",
    "docker", "podman", "cd ", "version", "ver=",
];

/// Images whose package of QEMU is older than 9.0, with its version.
const IMAGES: [(&str, &str); 22] = [
    ("debian:10", "3.1"),
    ("debian:buster", "3.1"),
    ("debian:11", "5.2"),
    ("debian:bullseye", "5.2"),
    ("debian:12", "7.2"),
    ("debian:bookworm", "7.2"),
    ("ubuntu:18.04", "2.11"),
    ("ubuntu:bionic", "2.11"),
    ("ubuntu:20.04", "4.2"),
    ("ubuntu:focal", "4.2"),
    ("ubuntu:22.04", "6.2"),
    ("ubuntu:jammy", "6.2"),
    ("ubuntu:24.04", "8.2"),
    ("ubuntu:noble", "8.2"),
    ("alpine:3.15", "6.1"),
    ("alpine:3.16", "7.0"),
    ("alpine:3.17", "7.1"),
    ("alpine:3.18", "8.0"),
    ("alpine:3.19", "8.1"),
    ("fedora:37", "7.0"),
    ("fedora:38", "7.2"),
    ("fedora:39", "8.1"),
];

/// Lowers the severity of findings about options that only a newer hypervisor refuses, if the file is for an older one.
pub(crate) fn lower(document: &Document, findings: &mut [Finding]) {
    let gone = |id: &&str| matches!(*id, "q-no-hpet-removed" | "q-no-acpi-removed");
    let old = |finding: &&mut Finding| {
        finding.severity == Severity::Error && finding.rule.id == "vb-key-refuses-start"
    };
    let option = |id: &str| id.trim_start_matches("q-").trim_end_matches("-removed").to_owned();
    for finding in findings.iter_mut().filter(|it| gone(&it.rule.id)) {
        let option = option(finding.rule.id);
        let error = finding.severity == Severity::Error;
        if error && !is_shell(document) && asked(document, finding.span.start, &option) {
            finding.severity = Severity::Info;
        }
        if finding.severity == Severity::Info {
            let said = "is used only if a version or a probe requires it; QEMU 9.0 removed it";
            finding.summary = Some(format!("-{option} {said}"));
        }
    }
    let mut qemu = None;
    let errors = findings.iter_mut().filter(|it| it.severity == Severity::Error);
    for finding in errors.filter(|it| gone(&it.rule.id)) {
        let option = option(finding.rule.id);
        let Some((line, shown, ran)) = qemu.get_or_insert_with(|| qemu_of(document)) else {
            continue;
        };
        finding.severity = if *ran { Severity::Info } else { Severity::Warn };
        finding.summary = Some(format!(
            "-{option}: line {line} names QEMU {shown}, which accepts it; with QEMU 9.0 or later \
             the machine does not start"
        ));
    }
    // Another option that no QEMU since then accepts: the machine is not for a newer one.
    let errors = findings.iter_mut().filter(|it| it.severity == Severity::Error);
    let mut former = None;
    for finding in errors.filter(|it| gone(&it.rule.id)) {
        let option = option(finding.rule.id);
        let Some((at, name, version)) = former.get_or_insert_with(|| older::gone(document)) else {
            break;
        };
        finding.severity = Severity::Warn;
        finding.summary = Some(format!(
            "-{option}: line {} has {name}, which QEMU {version} removed, so the file is for an older one; with \
             QEMU 9.0 or later the machine does not start",
            document.text.place(*at).line
        ));
    }
    let mut virtualbox = None;
    for finding in findings.iter_mut().filter(old) {
        let text = document.text.as_str();
        let named = virtualbox.get_or_insert_with(|| named_before_five(text));
        if let Some((at, version)) = named {
            let line = document.text.place(*at).line;
            finding.severity = Severity::Warn;
            finding.summary = Some(format!(
                "line {line} names VirtualBox {version}, which knows the key; 5.0 and later refuse to start with it"
            ));
        }
    }
}

/// Returns the QEMU before 9.0 that a file names, with the line, and whether it is the one that ran (a log). `None` if
/// the file names none, or a newer one as well.
fn qemu_of(document: &Document) -> Option<(u32, String, bool)> {
    let text = without_comments(document);
    let mut found: Option<(Version, u32, String, bool)> = None;
    let built = ["qemu.git", "qemu/qemu", "qemu-project/qemu", "cd qemu"]
        .iter()
        .any(|it| text.contains(it));
    for (at, line) in lines(&text) {
        let chooses = CHOOSES.iter().any(|word| line.contains(word));
        let ran = line.contains("starting up libvirt version");
        let mut named: Vec<(Version, String)> = Vec::new();
        for (place, _) in line.match_indices("qemu") {
            let behind = line.get(place + "qemu".len()..).unwrap_or_default();
            let Some((version, shown)) = version_near(behind) else { continue };
            let before = line.get(..place).unwrap_or_default();
            // The name of libvirt's namespace for QEMU: `http://libvirt.org/schemas/domain/qemu/1.0`.
            if before.ends_with("schemas/domain/") {
                continue;
            }
            // `/opt/qemu-6.2/bin/qemu-system-x86_64`, but not the directory of a disk.
            let path = behind.split_once(shown.as_str()).map_or("", |(_, rest)| rest);
            let path = path.split(|c: char| c.is_whitespace() || "\"',;".contains(c)).next();
            let path = path.unwrap_or_default();
            let directory = before.ends_with('/')
                && path.starts_with('/')
                && (path.contains("qemu-") || path.contains("bin"));
            if chooses || directory {
                named.push((version, shown));
            }
        }
        let source =
            ["git", "checkout", "branch", "archive"].iter().any(|word| line.contains(word));
        if source && (built || line.contains("qemu")) && named.is_empty() {
            let shown = any_version(&line, (100, 0));
            let version = shown.as_deref().and_then(|shown| version_near(&format!("-{shown}")));
            named.extend(version);
        }
        let images = ["from ", "image:", "docker", "podman"].iter().any(|word| line.contains(word));
        let image = IMAGES.iter().find(|(image, _)| images && has_image(&line, image));
        named.extend(image.and_then(|(_, version)| version_near(&format!("-{version}"))));
        for (version, shown) in named {
            if version >= REMOVED {
                return None;
            }
            if found.as_ref().is_none_or(|(before, ..)| *before < version) {
                found = Some((version, document.text.place(at).line, shown, ran));
            }
        }
    }
    found.map(|(_, line, shown, ran)| (line, shown, ran))
}

/// The text with blanks for its comments.
fn without_comments(document: &Document) -> String {
    let text = document.text.as_str();
    let mut bytes = text.as_bytes().to_vec();
    for span in comments::of(document) {
        for byte in bytes.get_mut(span).into_iter().flatten().filter(|byte| **byte != b'\n') {
            *byte = b' ';
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// Words that begin a condition, and words of a condition that queries a version or the features of a program.
const CONDITIONS: [&str; 9] =
    ["if", "elif", "else", "case", "match", "when", "unless", "switch", "elsif"];
const ASKS: [&str; 5] = ["version", "major", "ver", "help", "supports"];

/// Returns whether an option of a program, in a language other than a shell's, is in a branch that queries a version,
/// or next to a branch that has the newer spelling. Lines with less indentation enclose it.
fn asked(document: &Document, at: usize, option: &str) -> bool {
    let text = document.text.as_str();
    let newer = format!("{}=off", option.trim_start_matches("no-"));
    let asks = |line: &str| {
        let lower = line.to_ascii_lowercase();
        let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric());
        words.any(|word| ASKS.contains(&word))
    };
    let condition = |line: &str| {
        let mut words =
            line.split(|c: char| !c.is_ascii_alphanumeric()).filter(|it| !it.is_empty());
        words.next().is_some_and(|word| CONDITIONS.contains(&word))
    };
    let lines: Vec<&str> = text.lines().collect();
    let own = text.get(..at).map_or(0, |before| before.matches('\n').count());
    let Some(line) = lines.get(own) else { return false };
    // A condition on the line itself.
    if asks(line) && (line.contains(" if ") || line.contains('?')) {
        return true;
    }
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut least = indent(line);
    for (number, above) in lines.iter().enumerate().take(own).rev() {
        if above.trim().is_empty() || indent(above) >= least {
            continue;
        }
        least = indent(above);
        if !condition(above) {
            continue;
        }
        // All branches of the condition: lines of the same indentation that continue it.
        let of_it = |line: &&&str| indent(line) == least && condition(line);
        let before = lines
            .iter()
            .take(number + 1)
            .rev()
            .take_while(|line| line.trim().is_empty() || indent(line) >= least);
        let heads: Vec<&&str> = before.filter(of_it).collect();
        let behind = lines.iter().skip(number + 1);
        let goes_on = |line: &&&str| {
            let bare = line.trim_start();
            line.trim().is_empty()
                || indent(line) > least
                || indent(line) == least
                    && (condition(line) && !bare.starts_with("if") || bare.starts_with('}'))
        };
        let rest = behind.take_while(goes_on).any(|line| line.contains(newer.as_str()));
        let head = heads.first().is_some_and(|line| asks(line))
            || above.trim_start().trim_start_matches(['}', ' ']).starts_with("el")
                && heads.iter().any(|line| asks(line));
        if head || rest {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use crate::finding::Severity;
    use crate::formats::Kind;
    use crate::testing::ids;

    fn severity(name: &str, text: &str) -> Option<Severity> {
        let all = ids(Kind::Qemu, name, text);
        all.into_iter().find(|(id, _)| *id == "q-no-hpet-removed").map(|(_, severity)| severity)
    }

    const RUN: &str = "qemu-system-x86_64 -enable-kvm -no-hpet -cpu host -hda linux.img\n";

    #[test]
    fn option_beside_an_older_qemu_is_a_warning() {
        for before in [
            "apt-get install -y qemu-system-x86=1:6.2+dfsg-2ubuntu6\n",
            "wget https://download.qemu.org/qemu-7.0.0.tar.xz\n",
            "QEMU_VERSION=8.1.2\n",
            "git clone -b v7.2.0 https://gitlab.com/qemu-project/qemu.git\n",
            "docker run --rm debian:12 true\n",
        ] {
            let text = format!("#!/bin/bash\n{before}{RUN}");
            assert_eq!(severity("run.sh", &text), Some(Severity::Warn), "{text}");
        }
        let path = RUN.replace("qemu-system", "/opt/qemu-6.2/bin/qemu-system");
        assert_eq!(severity("run.sh", &path), Some(Severity::Warn));
    }

    #[test]
    fn option_without_an_older_qemu_is_an_error() {
        for before in [
            "",
            "# QEMU 6.2 had it\n",
            "apt-get install -y qemu-system-x86=1:9.1+ds-1\n",
            "QEMU_VERSION=8.1.2\nQEMU_VERSION=9.2.0\n",
            "qemu-img create a.img 4.5G\n",
            "docker run --rm debian:13 true\n",
        ] {
            let text = format!("#!/bin/bash\n{before}{RUN}");
            assert_eq!(severity("run.sh", &text), Some(Severity::Error), "{text}");
        }
    }

    #[test]
    fn namespace_of_libvirt_and_directory_of_a_disk_name_no_version() {
        let domain = "<domain type='kvm' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>\n  <name>a</name>\n  <os><type arch='x86_64' machine='q35'>hvm</type></os>\n  <qemu:commandline>\n    <qemu:arg value='-no-hpet'/>\n  </qemu:commandline>\n</domain>\n";
        let all = ids(Kind::Libvirt, "a.xml", domain);
        assert!(all.contains(&("q-no-hpet-removed", Severity::Error)), "{all:?}");
        let disk = RUN.replace("linux.img", "/srv/qemu/1.0/linux.img");
        assert_eq!(severity("run.sh", &format!("#!/bin/sh\n{disk}")), Some(Severity::Error));
    }

    #[test]
    fn log_of_an_older_qemu_has_no_error() {
        let text = "2022-11-05 19:10:10.398+0000: starting up libvirt version: 8.8.0, qemu version: 7.1.0, kernel: 5.15\n\
                    LC_ALL=C \\\n/usr/bin/qemu-system-x86_64 \\\n-name guest=a \\\n-accel kvm \\\n-cpu host \\\n-no-hpet\n";
        assert_eq!(severity("a.log", text), Some(Severity::Info));
        assert_eq!(severity("a.log", &text.replace("7.1.0", "9.1.0")), Some(Severity::Error));
    }

    #[test]
    fn option_in_a_branch_that_asks_for_the_version_is_no_error() {
        for lines in [
            "if qemu-system-x86_64 -help | grep -q no-hpet; then H=-no-hpet; else H=\"-machine hpet=off\"; fi\n",
            "if qemu-system-x86_64 -help | grep -q no-hpet; then\n  H=-no-hpet\nfi\n",
            "if (( QEMU_MAJOR >= 9 )); then H=\"-machine hpet=off\"; else H=-no-hpet; fi\n",
            "if new; then\n  H=\"-machine hpet=off\"\nelse\n  H=-no-hpet\nfi\n",
        ] {
            let text = format!(
                "#!/bin/bash\n{lines}qemu-system-x86_64 -enable-kvm $H -cpu host -hda linux.img\n"
            );
            assert_eq!(severity("run.sh", &text), Some(Severity::Info), "{text}");
        }
        let branch = "#!/bin/bash\nif [ -n \"$A\" ]; then\n  H=-no-hpet\nfi\nqemu-system-x86_64 -enable-kvm $H -cpu host -hda linux.img\n";
        assert_eq!(severity("run.sh", branch), Some(Severity::Error));
        let python = |head: &str, other: &str| {
            format!(
                "import subprocess\ndef args(new):\n    a = [\"qemu-system-x86_64\", \"-enable-kvm\", \"-cpu\", \"host\"]\n    \
                 {head}:\n        a.append(\"-no-hpet\")\n{other}    return a\nsubprocess.run(args(1))\n"
            )
        };
        let other = "    else:\n        a += [\"-machine\", \"hpet=off\"]\n";
        assert_eq!(severity("a.py", &python("if version < (9, 0)", "")), Some(Severity::Info));
        assert_eq!(severity("a.py", &python("if not new", other)), Some(Severity::Info));
        assert_eq!(severity("a.py", &python("if graphics", "")), Some(Severity::Error));
    }

    #[test]
    fn key_of_virtualbox_4_beside_that_version_is_a_warning() {
        let of = |before: &str| {
            let text = format!(
                "#!/bin/bash\n{before}VBoxManage setextradata a VBoxInternal/TM/TSCVirtualized 0\nVBoxManage startvm a\n"
            );
            let all = ids(Kind::Virtualbox, "a.sh", &text);
            let edited = crate::testing::mended(Kind::Virtualbox, "a.sh", &text) != text;
            let found = all.into_iter().find(|(id, _)| *id == "vb-key-refuses-start");
            (found.map(|(_, severity)| severity), edited)
        };
        for before in [
            "apt-get install -y virtualbox-4.3\n",
            "# VirtualBox 4.x\n",
            "VBOX_VERSION=4.3.40\n",
            "wget https://download.virtualbox.org/virtualbox/4.3.40/virtualbox-4.3_4.3.40-110317_amd64.deb\n",
        ] {
            assert_eq!(of(before), (Some(Severity::Warn), false), "{before}");
        }
        for before in ["", "apt-get install -y virtualbox-7.0\n", "# VirtualBox 5.2\necho a\n"] {
            assert_eq!(of(before), (Some(Severity::Error), true), "{before}");
        }
    }
}
