//! Files for each rule, both ways.

use crate::formats::Kind;
use crate::guest::Guest;
use crate::testing;

fn bad(text: &str) -> Vec<&'static str> {
    testing::bad(Kind::CloudHypervisor, "vm.json", text)
}

#[test]
fn linux_and_windows() {
    let linux = "{\"cpus\": {\"boot_vcpus\": 2, \"max_vcpus\": 4, \"kvm_hyperv\": true},\n \"payload\": {\"kernel\": \"k\", \"cmdline\": \"console=hvc0 clocksource=TSC\"}}";
    assert_eq!(bad(linux), ["ch-kvm-hyperv-linux", "cmdline-unknown-clocksource"]);
    let mended = testing::mended(Kind::CloudHypervisor, "vm.json", linux);
    assert_eq!(mended, linux.replace("true", "false").replace("TSC", "tsc"));
    let windows = "{\"cpus\": {\"boot_vcpus\": 2, \"max_vcpus\": 2, \"kvm_hyperv\": true}, \"payload\": {\"firmware\": \"f\"}}";
    let report = testing::report(Kind::CloudHypervisor, "vm.json", windows);
    assert_eq!(report.guest, Guest::Unknown);
    assert_eq!(report.findings[0].rule.id, "ch-kvm-hyperv-ok");
    assert_eq!(report.findings.len(), 1);
    testing::broken(Kind::CloudHypervisor, "{\"cpus\": }");
}

#[test]
fn scripts() {
    let text = "./cloud-hypervisor \\\n  --kernel k \\\n  --cmdline \"console=hvc0 notsc\" \\\n  --cpus boot=4\n";
    assert_eq!(bad(text), ["cmdline-notsc"]);
}

#[test]
fn words_of_a_tdx_guest_are_right() {
    let json = |platform: &str| {
        bad(&format!(
            "{{\"cpus\": {{\"boot_vcpus\": 2}}, \"platform\": {{{platform}}}, \"payload\": {{\"kernel\": \"k\", \
             \"cmdline\": \"console=hvc0 tsc=reliable no-kvmclock\"}}}}"
        ))
    };
    assert_eq!(json("\"tdx\": true"), [""; 0]);
    assert_eq!(json("\"sev_snp\": true"), [""; 0]);
    assert_eq!(json("\"tdx\": false").len(), 2);
    let script = |platform: &str| {
        bad(&format!(
            "cloud-hypervisor {platform} --kernel k --cmdline \"console=hvc0 tsc=reliable no-kvmclock\"\n"
        ))
    };
    assert_eq!(script("--platform num_pci_segments=2,tdx=on"), [""; 0]);
    assert_eq!(script("--platform=tdx=on"), [""; 0]);
    assert_eq!(script("").len(), 2);
}

#[test]
fn restores() {
    let ids = |text: &str| testing::ids(Kind::CloudHypervisor, "start.sh", text);
    let info = [("ch-restore-wall-clock", crate::finding::Severity::Info)];
    let start =
        "./cloud-hypervisor --api-socket /tmp/ch.sock \\\n  --restore source_url=file:///snap\n";
    assert_eq!(ids(start), info);
    assert_eq!(ids("ch-remote --api-socket s restore source_url=file:///snap\n"), info);
    assert_eq!(ids("# cloud-hypervisor --restore source_url=file:///snap\n"), []);
    assert_eq!(ids("cloud-hypervisor --kernel k --cmdline \"console=hvc0\"\n"), []);
}

#[test]
fn cloud_hypervisor_scripts_are_known_by_the_program() {
    let ids = |text: &str| {
        assert_eq!(Kind::detect("start.sh", text), Some(Kind::CloudHypervisor), "{text}");
        testing::ids(Kind::CloudHypervisor, "start.sh", text)
    };
    let start = "#!/bin/bash\n./build/cloud-hypervisor \\\n\t--firmware fw \\\n\t--cpus boot=2,kvm_hyperv=on \\\n\t--memory size=1G\n";
    assert_eq!(ids(start), [("ch-kvm-hyperv-ok", crate::finding::Severity::Info)]);
    assert_eq!(ids("sudo cloud-hypervisor --kernel k --disk path=a.raw --cpus boot=4\n"), []);
    let linux = "cloud-hypervisor --kernel k --cmdline \"console=hvc0 notsc\" --cpus=boot=1,kvm_hyperv=on\n";
    assert_eq!(bad(linux), ["cmdline-notsc", "ch-kvm-hyperv-linux"]);
    for text in [
        "echo cloud-hypervisor --kernel k\n",
        "git clone https://example.org/x/cloud-hypervisor --depth 1\n",
        "# cloud-hypervisor --kernel k\n",
        "setcap cap_net_admin+ep ./cloud-hypervisor\n",
    ] {
        assert_eq!(Kind::detect("a.sh", text), None, "{text}");
    }
}

#[test]
fn cloud_hypervisor_in_a_here_document_is_read() {
    let start = "cloud-hypervisor --kernel k --cmdline console=hvc0 --cpus boot=1,kvm_hyperv=on\n";
    let text =
        format!("#!/bin/sh\ncat >start.sh <<'EOF'\n#!/bin/sh\n{start}EOF\nchmod +x start.sh\n");
    assert_eq!(Kind::detect("make.sh", &text), Some(Kind::CloudHypervisor));
    assert_eq!(bad(&text), bad(start));
    assert!(!bad(start).is_empty());
}

#[test]
fn expressions_of_nix_name_the_program() {
    let options = "--kernel k --cmdline \"console=hvc0 notsc\" --cpus boot=2";
    for program in [
        "${pkgs.cloud-hypervisor}/bin/cloud-hypervisor",
        "${cfg.package}/bin/cloud-hypervisor",
        "${lib.getExe pkgs.cloud-hypervisor}",
        "${getExe' pkgs.cloud-hypervisor \"cloud-hypervisor\"}",
        "exec nix run nixpkgs#cloud-hypervisor --",
    ] {
        let text = format!(
            "{{ pkgs, lib, ... }}: {{\n  s.script = ''\n    {program} {options}\n  '';\n}}\n"
        );
        assert_eq!(Kind::detect("vm.nix", &text), Some(Kind::CloudHypervisor), "{program}");
        assert_eq!(bad(&text), ["cmdline-notsc"], "{program}");
    }
    let one = "{ pkgs, ... }: { s.script = \"${pkgs.cloud-hypervisor}/bin/cloud-hypervisor --kernel k --cpus boot=1\"; }\n";
    assert_eq!(Kind::detect("vm.nix", one), Some(Kind::CloudHypervisor));
    let package = "{ pkgs, ... }: { environment.systemPackages = [ pkgs.cloud-hypervisor ]; }\n";
    assert_eq!(Kind::detect("vm.nix", package), None);
}

#[test]
fn unit_is_no_json() {
    let text = "[Service]\nExecStart=/usr/bin/cloud-hypervisor --kernel /k --cpus boot=2,kvm_hyperv=on --cmdline \"root=/dev/vda1 notsc\"\n";
    assert_eq!(Kind::detect("vm.service", text), Some(Kind::CloudHypervisor));
    let mut bad = testing::bad(Kind::CloudHypervisor, "vm.service", text);
    bad.sort_unstable();
    assert_eq!(bad, ["ch-kvm-hyperv-linux", "cmdline-notsc"]);
}

#[test]
fn machine_that_a_request_creates_is_judged() {
    let with = |cpus: &str| {
        format!(
            "#!/bin/sh\ncurl --unix-socket /run/ch.sock -X PUT http://localhost/api/v1/vm.create \\\n  -H 'Content-Type: application/json' -d '{{\"cpus\": {{\"boot_vcpus\": 2{cpus}}}, \"payload\": {{\"kernel\": \"/k\", \"cmdline\": \"console=hvc0\"}}}}'\n"
        )
    };
    let plain = with("");
    assert_eq!(Kind::detect("a.sh", &plain), Some(Kind::CloudHypervisor));
    assert_eq!(testing::bad(Kind::CloudHypervisor, "a.sh", &plain), [""; 0]);
    let hyperv = with(", \"kvm_hyperv\": true");
    assert_eq!(testing::bad(Kind::CloudHypervisor, "a.sh", &hyperv), ["ch-kvm-hyperv-linux"]);
    assert_eq!(testing::mended(Kind::CloudHypervisor, "a.sh", &hyperv), hyperv);
}
