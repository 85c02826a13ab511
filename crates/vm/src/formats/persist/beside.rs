//! Settings of a clocksource in a file of another kind: in the script that sets a guest up, or that prepares the host.

use super::lines::lines;
use super::script;
use crate::document::Document;
use crate::finding::{Finding, Severity};
use crate::formats::Kind;
use crate::words::listed;
use std::ops::Range;

/// Words of statements that set something for later boots, or for the running kernel. Other statements with parameters
/// are those of the machine that the file describes, which its own kind judges.
const SETS: [&str; 7] = [
    "/sys/",
    "current_clocksource",
    "unbind_clocksource",
    "GRUB_CMDLINE",
    "/etc/default/grub",
    "grubby",
    "rpm-ostree kargs",
];

/// Returns the errors and warnings about such settings.
pub(crate) fn beside(document: &Document) -> Vec<Finding> {
    let text = document.text.as_str();
    let nix = kernel_parameters(text);
    let own = matches!(document.kind, Kind::Persistence | Kind::Tuned);
    if own || nix.is_empty() && !SETS.iter().any(|word| text.contains(word)) {
        return Vec::new();
    }
    let mut found = Vec::new();
    script(text, &mut found);
    let all = lines(text);
    let statement = |at: usize| {
        let index = all.partition_point(|line| line.base <= at).checked_sub(1);
        index.and_then(|index| all.get(index)).map_or("", |line| line.text)
    };
    found.retain(|finding| {
        let text = statement(finding.span.start);
        let sets = SETS.iter().any(|word| text.contains(word));
        let starts = text.split_whitespace().any(|word| listed("-append --append -kernel", word));
        let nix = nix.iter().any(|range| range.contains(&finding.span.start));
        finding.severity > Severity::Info && (nix || sets && !starts)
    });
    for finding in &mut found {
        finding.leave_edits("the file is one of another kind, which only contains it");
    }
    found
}

/// The lists of `boot.kernelParams` in a file of NixOS.
fn kernel_parameters(text: &str) -> Vec<Range<usize>> {
    const NAME: &str = "kernelParams";
    let list = |(at, _): (usize, &str)| {
        let rest = text.get(at + NAME.len()..)?;
        let value = rest.trim_start().strip_prefix('=')?.trim_start().strip_prefix('[')?;
        let start = text.len() - rest.len() + (rest.len() - value.len());
        Some(start..start + value.find(']')?)
    };
    text.match_indices(NAME).filter_map(list).collect()
}

#[cfg(test)]
mod tests {
    use crate::formats::Kind;
    use crate::testing;

    const WRITE: &str =
        "echo hpet > /sys/devices/system/clocksource/clocksource0/current_clocksource";

    #[test]
    fn settings_of_a_guest_in_the_file_of_its_machine_are_judged() {
        for (kind, name, text) in [
            (
                Kind::VagrantLibvirt,
                "Vagrantfile",
                format!(
                    "Vagrant.configure(\"2\") do |config|\n  config.vm.provider :libvirt do |l|\n    l.cpus = 2\n  end\n  config.vm.provision \"shell\", inline: <<-SHELL\n    {WRITE}\n  SHELL\nend\n"
                ),
            ),
            (
                Kind::Kubevirt,
                "vm.yaml",
                format!(
                    "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata:\n  name: a\nspec:\n  template:\n    spec:\n      domain:\n        devices: {{}}\n      volumes:\n      - name: c\n        cloudInitNoCloud:\n          userData: |\n            #cloud-config\n            bootcmd:\n            - {WRITE}\n"
                ),
            ),
            (
                Kind::Terraform,
                "main.tf",
                format!(
                    "resource \"libvirt_cloudinit_disk\" \"c\" {{\n  user_data = <<-EOT\n    #cloud-config\n    runcmd:\n      - {WRITE}\n  EOT\n}}\nresource \"libvirt_domain\" \"a\" {{\n  name = \"a\"\n}}\n"
                ),
            ),
            (
                Kind::Lima,
                "lima.yaml",
                format!(
                    "vmType: qemu\narch: x86_64\nimages: []\nprovision:\n- mode: system\n  script: |\n    #!/bin/sh\n    {WRITE}\n"
                ),
            ),
            (
                Kind::Qemu,
                "run.sh",
                format!(
                    "#!/bin/sh\n{WRITE}\nqemu-system-x86_64 -enable-kvm -cpu host -m 1G -machine hpet=off a.img\n"
                ),
            ),
        ] {
            assert_eq!(testing::bad(kind, name, &text), ["persist-sysfs-slow"], "{text}");
            assert_eq!(testing::mended(kind, name, &text), text);
            let remark = text.replace(WRITE, &format!("# {WRITE}"));
            assert_eq!(testing::bad(kind, name, &remark), [""; 0], "{remark}");
            let other = text.replace("echo hpet", "echo tsc");
            assert_eq!(testing::bad(kind, name, &other), [""; 0], "{other}");
        }
    }

    #[test]
    fn parameters_of_the_machine_itself_are_not_told_twice() {
        let text = "#!/bin/sh\ncat /sys/class/net/eth0/address\nqemu-system-x86_64 -enable-kvm -cpu host -m 1G -machine hpet=off -kernel k -append \"console=ttyS0 notsc\"\n";
        assert_eq!(testing::bad(Kind::Qemu, "run.sh", text), ["q-guest-notsc"]);
        let nix = "{ pkgs, ... }: {\n  virtualisation = {\n    cores = 2;\n    qemu.options = [ \"-cpu host,-kvmclock\" ];\n  };\n  boot.kernelParams = [\n    \"quiet\"\n    \"clocksource=acpi_pm\"\n  ];\n}\n";
        assert_eq!(Kind::detect("vm.nix", nix), Some(Kind::Qemu));
        assert_eq!(
            testing::bad(Kind::Qemu, "vm.nix", nix),
            ["q-kvmclock-off-no-invtsc", "cmdline-slow-clocksource"]
        );
    }
}
