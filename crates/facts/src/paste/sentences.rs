//! What the sentences of a writer show: that there are any beside the lines of a log, and that they name a cloud or a hypervisor.

use super::prompt;
use crate::log::{is_record, writer};

/// Fewest words of a sentence.
const WORDS: usize = 4;
/// Names of clouds and hypervisors, in small letters, as whole words.
const GUESTS: [&str; 27] = [
    "ec2",
    "amazon linux",
    "aws",
    "nitro",
    "azure",
    "google compute engine",
    "gce",
    "gcp",
    "droplet",
    "openstack",
    "hetzner cloud",
    "kvm",
    "qemu",
    "proxmox",
    "vmware",
    "esxi",
    "virtualbox",
    "hyper-v",
    "xen",
    "firecracker",
    "wsl",
    "wsl2",
    "parallels",
    "virtual machine",
    "vm",
    "vps",
    "kvm-clock",
];

/// Whether a line is a sentence, and no line of a log.
pub(super) fn is_one(line: &str) -> bool {
    let line = line.trim();
    let words = line.split_ascii_whitespace();
    let is_word = |word: &&str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        word.chars().count() > 1
            && word.chars().all(|c| c.is_alphabetic() || matches!(c, '\'' | '-'))
    };
    let unspaced = line
        .chars()
        .filter(|c| matches!(c, '\u{3040}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}'))
        .count();
    let many = words.filter(is_word).count() >= WORDS || unspaced > 2 * WORDS;
    many && !line.starts_with(['[', '<', '{', '|']) && !is_record(line) && writer(line).is_none()
}

/// Whether one of the sentences names a cloud or a hypervisor.
pub(super) fn name_a_guest(lines: &[String]) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    lines.iter().filter(|line| !is_record(line) && writer(line).is_none()).any(|line| {
        let lower = line.to_ascii_lowercase();
        GUESTS.iter().any(|name| {
            lower.match_indices(name).any(|(at, _)| {
                !lower[..at].chars().next_back().is_some_and(is_part)
                    && !lower[at + name.len()..].chars().next().is_some_and(is_part)
            })
        })
    })
}

/// Whether a text is of the dom0 of Qubes OS: by a prompt, and by the name of the system or of one of its commands.
pub(super) fn is_qubes_dom0(lines: &[String]) -> bool {
    let prompts =
        || lines.iter().any(|line| prompt::own(line).and_then(|found| found.host) == Some("dom0"));
    let named = lines.iter().any(|line| {
        let lower = line.to_ascii_lowercase();
        lower.contains("qubes") || lower.contains("qvm-")
    });
    named && prompts()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_told_from_lines_of_logs() {
        assert!(is_one("Since the update my server prints these lines:"));
        for line in [
            "[    1.0] this is what the kernel printed here",
            "Nov 22 10:00:00 db1 sshd[7]: Accepted publickey for root from here",
            "tsc hpet acpi_pm",
            "[  OK  ] Started the service of the time",
        ] {
            assert!(!is_one(line), "{line}");
        }
    }

    #[test]
    fn clouds_and_hypervisors_are_named_as_words() {
        let of = |text: &str| name_a_guest(&[text.to_owned()]);
        assert!(of("Platform: EC2 i3en.3xlarge") && of("runs under KVM.") && of("my VM is slow"));
        assert!(!of("a svm and a kvmtool") && !of("[    0.000000] Xen version 4.17"));
    }
}
