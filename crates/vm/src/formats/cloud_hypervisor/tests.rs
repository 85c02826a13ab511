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
