//! Scripts and documents with commands that look at text which an edit would change.

use super::tests_programs::made;
use crate::formats::Kind;

const RUN: &str = "qemu-system-x86_64 -enable-kvm -M q35 -m 1G -cpu host,kvmclock=off d.img";

fn script(lines: &str) -> bool {
    made(Kind::Qemu, "vm.sh", &format!("#!/bin/bash\n{}\n", lines.replace("RUN", RUN)))
}

#[test]
fn script_that_looks_at_command_lines_or_at_its_output_is_left() {
    for lines in [
        // Classes, fields, positions and checksums do not contain a piece of the option.
        "RUN\nps ax | grep -E 'cpu [a-z]+,[a-z]+='",
        "RUN\nps ax | grep -P 'host\\W\\w+\\Woff' && exit 1",
        "pgrep -f 'host,[^ ]+ d' && exit 1\nRUN",
        "RUN\nps ax | awk '{n=split($0,a,\",\"); if (n>1) exit 1}'",
        "ps ax | awk '{print $6}' | sort -u\nRUN",
        "ps ax | tr -cd 'a-z\\n' | grep -q hostk && exit 0\nRUN",
        "ps ax | while read -r l; do case ${l:9:1} in k) exit 1;; esac; done\nRUN",
        "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline | md5sum; done\nRUN",
        "ps ax > list\ngrep -E 'host -[a-z]+' list && exit 1\nRUN",
        "ps ax | look\nlook() { rev | grep -q x; }\nRUN",
        "sudo -u vm ps ax | sudo sed -n 's/.*host,\\(.*\\) /\\1/p'\nRUN",
        "ssh here 'ps ax | grep -E \"host,[a-z]+\"'\nRUN",
        "rev \"$LOG\" | grep -q ffo && exit\nRUN",
        // The machine's output.
        "RUN -nographic | tee log\ngrep -q 'Switched to clocksource tsc' log || exit 1",
        "RUN -serial file:s.log\nawk '/Linux/ {print $3}' s.log",
        "RUN -nographic | awk '/tsc/'",
        "RUN\nssh guest cat /sys/devices/system/clocksource/clocksource0/current_clocksource",
        "RUN -serial file:s.log\ngrep -c 'Using msrs' s.log && exit 1",
        "RUN &\npython look.py /proc/$(pidof qemu-system-x86_64)/cmdline",
        "RUN &\npython look.py $(pgrep -a qemu-system)",
        "RUN &\npython look.py $(ps ax)",
        // The text of functions.
        "export -f go\ngo() { RUN; }\nbash -c 'declare -f go | md5sum'\nRUN",
        "go() { echo; }\ntype go | md5sum\nRUN",
        "go() { echo; }\nset | grep -c e\nRUN",
        // One machine with the option and one without it.
        "RUN > b.txt\nqemu-system-x86_64 -enable-kvm -M q35 -m 1G -cpu host d.img > a.txt",
        "qemu-system-x86_64 -enable-kvm -M q35 -m 1G -cpu 'host' d.img > a.txt\nRUN > b.txt",
    ] {
        assert!(!script(lines), "{lines}");
    }
}

#[test]
fn script_that_looks_at_something_else_is_edited() {
    for lines in [
        "RUN",
        "grep -q vmx /proc/cpuinfo || exit 1\nRUN",
        "lspci -nn | awk '/VGA/ {print $1}' | head -n 1\nRUN",
        "N=$(nproc | cut -d' ' -f1)\nRUN -smp $N",
        "qemu-system-x86_64 --version | sed -n 's/.*version \\([0-9.]*\\).*/\\1/p'\nRUN",
        "pgrep qemu-system && exit 1\nRUN",
        "ps aux | grep '[q]emu-system' | awk '{print $2}' | xargs kill\nRUN",
        "pgrep -f 'qemu.*d.img' && exit 1\nRUN",
        "MAC=$(od -An -N3 -tx1 /dev/urandom | tr ' ' :)\nRUN -device e1000,mac=52:54:00$MAC",
        "sed -n 2p /etc/os-release\nRUN",
        "md5sum base.img\nRUN",
        "RUN &\npython pin.py $(pidof qemu-system-x86_64) -k 6 18",
        "RUN &\npython3 pin.py \"$(pgrep -o qemu-system)\" 7",
        "RUN &\npython3 pin.py `pidof -s qemu-system-x86_64`",
        "while read -r name; do mkdir -p \"$name\"; done < names.txt\nRUN",
        "RUN > log 2>&1\necho done",
        "echo \"$USER\" | tr a-z A-Z\nRUN",
        "RUN\nqemu-system-x86_64 -enable-kvm -m 2G -cpu host other.img",
    ] {
        assert!(script(lines), "{lines}");
    }
}

#[test]
fn script_that_only_says_its_name_or_that_of_its_directory_is_edited() {
    for lines in [
        "perr() { echo \"$@\" 1>&2; }\n[ \"$1\" ] || perr \"usage: $0 FILE\"\nRUN",
        "function die {\n  echo \"$@\" >&2\n  exit 1\n}\n[ \"$1\" ] || die \"usage: $0 FILE\"\nRUN",
        "logger -t \"$0\" start\nRUN",
        "[ -r \"${BASH_SOURCE%/*}/config\" ] || exit 1\nRUN",
        "cat \"${0%/*}/notes.txt\"\nRUN",
    ] {
        assert!(script(lines), "{lines}");
    }
    for lines in [
        "look() { cat \"$@\" 1>&2; }\nlook \"$0\"\nRUN",
        "look() { echo \"$@\" | sh; }\nlook \"cksum $0\"\nRUN",
        "look() { echo \"$@\"; }\nlook() { cat \"$@\"; }\nlook \"$0\"\nRUN",
        "keep() { echo \"$@\" > list; }\nkeep \"$0\"\nRUN",
        "cat \"${BASH_SOURCE%/*}/vm.sh\"\nRUN",
        "cat \"${BASH_SOURCE%/*}/$1\"\nRUN",
        "cat \"${BASH_SOURCE%/*}\"/*\nRUN",
        "cat \"${0%/*}/*.sh\"\nRUN",
    ] {
        assert!(!script(lines), "{lines}");
    }
}

#[test]
fn hpet_of_a_qemu_that_cannot_have_it_off_is_left() {
    let with = |path: &str| {
        script(&format!("{path}/qemu-system-x86_64 -enable-kvm -cpu host -no-hpet d.img"))
    };
    assert!(!with("/opt/qemu-4.2/bin"));
    assert!(!with("/opt/qemu_5.1.0"));
    assert!(with("/opt/qemu-8.2/bin"));
    assert!(with("/usr/bin"));
}

#[test]
fn document_whose_programs_or_expressions_look_is_left() {
    let packer = |inner: &str| {
        let text = format!(
            "source \"qemu\" \"u\" {{\n  accelerator = \"kvm\"\n  qemuargs = [\n    [\"-cpu\", \"host,kvmclock=off\"]\n  ]\n}}\nbuild {{\n  sources = [\"source.qemu.u\"]\n  {inner}\n}}\n"
        );
        made(Kind::Packer, "a.pkr.hcl", &text)
    };
    assert!(packer(
        "provisioner \"shell\" { inline = [\"grep -q debian /etc/os-release\", \"apt-get update\"] }"
    ));
    for inner in [
        "provisioner \"shell-local\" { inline = [\"pgrep -f clock=off || exit 1\"] }",
        "post-processor \"shell-local\" { inline = [\"ps ax | grep -q 'host,k'\"] }",
        "provisioner \"shell-local\" { inline = [\"grep -q 'host,' /proc/*/cmdline\"] }",
        "provisioner \"shell\" { inline = [\"grep -qx tsc /run/clock\"] }",
        "provisioner \"shell\" { inline = [\"dmesg | grep -q kvm-clock\"] }",
    ] {
        assert!(!packer(inner), "{inner}");
    }
    let terraform = |inner: &str, more: &str| {
        let text = format!(
            "resource \"proxmox_vm_qemu\" \"a\" {{\n  name = \"a\"\n  args = \"-cpu host,kvmclock=off\"\n{inner}}}\n{more}\n"
        );
        made(Kind::Terraform, "a.tf", &text)
    };
    assert!(terraform("  memory = 2048\n", "output \"n\" { value = proxmox_vm_qemu.a.name }"));
    for (inner, more) in [
        (
            "  lifecycle {\n    postcondition {\n      condition = endswith(self.args, \"f\")\n    }\n  }\n",
            "",
        ),
        ("", "output \"o\" { value = split(\",\", proxmox_vm_qemu.a.args)[1] }"),
        (
            "",
            "resource \"null_resource\" \"n\" { triggers = { a = sha1(proxmox_vm_qemu.a.args) } }",
        ),
        ("", "output \"o\" { value = \"${proxmox_vm_qemu.a.args}\" }"),
    ] {
        assert!(!terraform(inner, more), "{inner}{more}");
    }
}

#[test]
fn pipelines_of_many_parts_and_within_each_other_end() {
    let many = |part: &str, number: usize| vec![part; number].join(" | ");
    assert!(script(&format!("lspci | {} | rev\nRUN", many("sort", 40))));
    // Each part of a pipeline is in the input of all parts after it.
    assert!(!script(&format!("lspci | {} | rev\nRUN", many("sort", 5000))));
    let mut within = "lspci".to_owned();
    for _ in 0..20 {
        within = format!("{within} | {{ sort | uniq; rev | sort; }}");
    }
    script(&format!("{within} | rev\nRUN"));
}
