//! Scripts that only run a tool of a kind: no option of these commands affects a clock, so there is nothing to report.

use crate::detect::Clues;
use crate::shell::{Statement, Word, statements};
use crate::words::{base, listed};

/// Words before a command.
const BEFORE: &str = "sudo then else do if ! { && exec time command nohup env";
/// The limit of words after the program that are read.
const MOST_WORDS: usize = 16;

/// Returns whether a file is a script or a unit that runs a tool with one of these words.
pub(crate) fn is(clues: &Clues<'_>, programs: &str, words: &str) -> bool {
    let script = clues.starts("#!") || clues.ends(&["sh", "bash", "service"]);
    script && runs(clues.text, programs, words)
}

/// Returns whether a statement of a text runs a tool with one of these words.
pub(crate) fn runs(text: &str, programs: &str, words: &str) -> bool {
    programs.split(' ').any(|program| text.contains(program))
        && statements(text).iter().any(|it| is_command(it, programs, words))
}

fn is_command(statement: &Statement, programs: &str, words: &str) -> bool {
    let mut all = statement.words.iter().map(|word| Word::literal(word).unwrap_or_default());
    let Some(first) = all.find(|word| !listed(BEFORE, word)) else { return false };
    listed(programs, base(first))
        && all.take(MOST_WORDS).any(|word| listed(words, word.split('=').next().unwrap_or(word)))
}

#[cfg(test)]
mod tests {
    use crate::document::Document;
    use crate::formats::Kind;
    use crate::lint::lint;

    #[test]
    fn script_of_a_tool_is_of_its_kind_and_has_no_findings() {
        for (name, text, kind) in [
            ("a.sh", "#!/bin/sh\nvirsh -c qemu:///system net-start default\n", Kind::Libvirt),
            ("a.sh", "#!/bin/bash\nif true; then\n  sudo virsh start \"$VM\"\nfi\n", Kind::Libvirt),
            (
                "a.sh",
                "#!/bin/sh\nincus launch images:debian/12 web --vm -c limits.cpu=2\n",
                Kind::Incus,
            ),
            ("a.sh", "#!/bin/sh\nlxc init ubuntu:24.04 v --vm\n", Kind::Incus),
            ("a.sh", "#!/bin/sh\nxe vm-param-set uuid=$U memory-static-max=2GiB\n", Kind::Xen),
            (
                "a.service",
                "[Service]\nExecStart=/usr/bin/firecracker --api-sock /run/a --config-file /etc/a.json\n",
                Kind::Firecracker,
            ),
            (
                "a.yml",
                "- hosts: h\n  tasks:\n    - community.libvirt.virt:\n        name: a\n        state: running\n",
                Kind::Libvirt,
            ),
            (
                "a.json",
                "{\"builders\": [{\"type\": \"amazon-ebs\", \"region\": \"x\"}], \"provisioners\": []}",
                Kind::Packer,
            ),
            (
                "a.pkr.hcl",
                "source \"docker\" \"a\" {\n  image = \"b\"\n}\nbuild {\n  sources = [\"source.docker.a\"]\n}\n",
                Kind::Packer,
            ),
        ] {
            let document = Document::new(name, text.as_bytes()).unwrap();
            assert_eq!(document.kind, kind, "{text}");
            let report = lint(&document).unwrap();
            assert!(report.findings.is_empty(), "{text}");
        }
    }

    #[test]
    fn what_only_names_a_tool_is_of_no_kind() {
        for (name, text) in [
            ("a.sh", "#!/bin/sh\necho virsh start vm\n"),
            ("a.sh", "#!/bin/sh\nwhich virsh\n"),
            ("a.md", "virsh start vm\n"),
            ("a.sh", "#!/bin/sh\nlxc launch ubuntu:24.04 container\n"),
            ("a.sh", "#!/bin/sh\necho xe vm-param-set uuid=$U platform:tsc_mode=2\n"),
            ("a.json", "{\"builders\": [\"bob\"]}"),
        ] {
            assert!(Document::new(name, text.as_bytes()).is_err(), "{text}");
        }
    }
}
