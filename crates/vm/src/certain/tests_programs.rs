//! Files that run programs, too, and templates.

use crate::formats::Kind;
use crate::{Choices, Document, Guest, fix, lint};

/// Returns whether a file of a Linux guest is edited; if it is not, asserts that a finding has the reason.
pub(super) fn made(kind: Kind, name: &str, text: &str) -> bool {
    let document = Document::of_kind(name, text.as_bytes(), kind).unwrap();
    let document = document.with_guest(Some(Guest::Linux));
    let fixed = fix(&document, &Choices::default()).unwrap();
    let edited = fixed.document.text.as_str() != text;
    let findings = lint(&document).unwrap().findings;
    assert!(edited || findings.iter().any(|it| it.left.is_some()), "{findings:?}\n{text}");
    edited
}

/// Returns the same for a script in which RUN is a machine with an option that has to go.
pub(super) fn edited(lines: &str) -> bool {
    const RUN: &str = "qemu-system-x86_64 -enable-kvm -M q35 -m 1G -cpu host,kvmclock=off d.img";
    made(Kind::Qemu, "dir/vm.sh", &format!("#!/bin/bash\n{}\n", lines.replace("RUN", RUN)))
}

#[test]
fn program_of_a_document_that_has_the_option_is_no_purpose_of_the_machine() {
    let packer = "source \"qemu\" \"u\" {\n  accelerator = \"kvm\"\n  # a guest\n  qemuargs = [[\"-cpu\", \"host,kvmclock=off\"]]\n}\n";
    let build =
        |inner: &str| format!("{packer}build {{\n  sources = [\"source.qemu.u\"]\n  {inner}\n}}\n");
    assert!(made(Kind::Packer, "a.pkr.hcl", &build("")));
    for inner in [
        "provisioner \"shell-local\" {\n    inline = [\"pgrep -f kvmclock=off\"]\n  }",
        "post-processor \"shell-local\" {\n    script = \"x.sh\"\n    environment_vars = [\"WANT=host,kvmclock=off\"]\n  }",
    ] {
        assert!(!made(Kind::Packer, "a.pkr.hcl", &build(inner)), "{inner}");
    }
    let json = |more: &str| {
        format!(
            "{{\"builders\":[{{\"type\":\"qemu\",\"accelerator\":\"kvm\",\"qemuargs\":[[\"-cpu\",\"host,kvmclock=off\"]]}}]{more}}}\n"
        )
    };
    assert!(made(Kind::Packer, "a.json", &json("")));
    let looks = ",\"provisioners\":[{\"type\":\"shell-local\",\"inline\":[\"pgrep -f kvmclock\"]}]";
    assert!(!made(Kind::Packer, "a.json", &json(looks)));
    let terraform = |inner: &str| {
        format!(
            "resource \"proxmox_virtual_environment_vm\" \"a\" {{\n  node_name = \"p\"\n  kvm_arguments = \"-cpu host,kvmclock=off\"\n{inner}}}\n"
        )
    };
    assert!(made(Kind::Terraform, "a.tf", &terraform("")));
    let looks =
        "  provisioner \"local-exec\" {\n    command = \"ssh p pgrep -f kvmclock=off\"\n  }\n";
    assert!(!made(Kind::Terraform, "a.tf", &terraform(looks)));
    let two = format!("{}{}", terraform(""), terraform("").replace("\"a\"", "\"b\""));
    assert!(made(Kind::Terraform, "a.tf", &two));
    let lima = "vmType: qemu\narch: x86_64\ncpuType:\n  x86_64: \"host,kvmclock=off\"\nimages:\n- location: a.img\n  arch: x86_64\n";
    assert!(made(Kind::Lima, "a.yaml", lima));
    let probe = "probes:\n- script: |\n    #!/bin/bash\n    ps ax | grep -q kvmclock=off\n";
    assert!(!made(Kind::Lima, "a.yaml", &format!("{lima}{probe}")));
}

#[test]
fn template_is_not_edited() {
    let domain = "<domain type='kvm'>\n  <name>x</name>\n  <memory>1</memory>\n  <os><type arch='x86_64'>hvm</type></os>\n  <cpu mode='host-passthrough'/>\n  <clock offset='utc'>\n    <timer name='kvmclock' present='no'/>\n  </clock>\n</domain>\n";
    assert!(made(Kind::Libvirt, "a.xml", domain));
    for name in ["a.xml.j2", "a.xml.erb", "a.xml.tmpl", "a.tpl", "a.xml.in"] {
        assert!(!made(Kind::Libvirt, name, domain), "{name}");
        let document = Document::of_kind(name, domain.as_bytes(), Kind::Libvirt).unwrap();
        assert!(lint(&document).unwrap().partial);
    }
    for inner in ["{{ n }}", "{{.Name}}", "<%= @n %>"] {
        let text = domain.replace(">x<", &format!(">{inner}<"));
        assert!(!made(Kind::Libvirt, "a.xml", &text), "{inner}");
    }
    let script = "#!/bin/bash\nNAME={{ name }}\nqemu-system-x86_64 -enable-kvm -m 1G -cpu host,kvmclock=off -name $NAME\n";
    assert!(!made(Kind::Qemu, "vm.sh", script));
    assert!(made(Kind::Qemu, "vm.sh", &script.replace("{{ name }}", "a")));
    let unit = "[Service]\nExecStart=/usr/bin/qemu-system-x86_64 -enable-kvm -m 1G -cpu host,kvmclock=off\n";
    assert!(!made(Kind::Qemu, "vm.service.j2", unit));
    let conf = "cores: 2\ncpu: host\nargs: -cpu host,kvmclock=off\nmemory: 1024\nostype: l26\n";
    assert!(made(Kind::Proxmox, "100.conf", conf));
    assert!(!made(Kind::Proxmox, "100.conf.j2", conf));
}
