//! Manifests of KubeVirt.

use super::*;

fn manifest(clock: &str, rest: &str, name: &str) -> String {
    format!(
        "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata:\n  name: {name}\nspec:\n  template:\n    spec:\n      \
         domain:\n        cpu:\n          cores: 1\n{rest}        clock:\n          timer:\n{clock}        devices: {{}}\n"
    )
}

#[test]
fn kubevirt_rules() {
    use Severity::{Error, Info, Warn};
    let kind = Kind::Kubevirt;
    let off = "            hpet:\n              present: false\n";
    let on = "            hpet:\n              present: true\n";
    let hyperv = "            hyperv: {}\n";
    let plain = manifest(off, "", "fedora");
    both(kind, "kv-hpet-on", Warn, &manifest(on, "", "fedora"), &plain);
    both(kind, "kv-hpet-on", Warn, &manifest("            hpet: {}\n", "", "fedora"), &plain);
    let windows = manifest(&format!("{off}{hyperv}"), "", "windows");
    both(kind, "kv-windows-clock-ok", Info, &windows, &plain);
    both(kind, "kv-hyperv-timer-missing", Warn, &manifest(off, "", "windows"), &windows);
    let no_kvm = "            kvm:\n              present: false\n";
    let feature = |name: &str, policy: &str| {
        format!("          features:\n          - name: {name}\n            policy: {policy}\n")
    };
    both(
        kind,
        "kv-kvmclock-off-no-invtsc",
        Error,
        &manifest(no_kvm, "", "fedora"),
        &manifest(no_kvm, &feature("invtsc", "require"), "fedora"),
    );
    both(
        kind,
        "kv-kvmclock-off",
        Info,
        &manifest(no_kvm, &feature("invtsc", "require"), "fedora"),
        &plain,
    );
    both(
        kind,
        "kv-invtsc-node-frequency",
        Info,
        &manifest(off, &feature("invtsc", "require"), "fedora"),
        &plain,
    );
    both(
        kind,
        "kv-invtsc-disabled",
        Warn,
        &manifest(off, &feature("invtsc", "disable"), "fedora"),
        &plain,
    );
    both(
        kind,
        "kv-hypervisor-hidden",
        Error,
        &manifest(off, &feature("hypervisor", "disable"), "fedora"),
        &plain,
    );
    let hidden = "        features:\n          kvm:\n            hidden: true\n";
    both(kind, "kv-kvm-hidden", Warn, &manifest(off, hidden, "fedora"), &plain);
    let again = "        features:\n          hyperv:\n            reenlightenment: {}\n";
    both(
        kind,
        "kv-reenlightenment-frequency",
        Info,
        &manifest(&format!("{off}{hyperv}"), again, "win"),
        &plain,
    );
    let catchup = "            rtc:\n              tickPolicy: catchup\n";
    both(
        kind,
        "kv-tickpolicy-catchup-linux",
        Info,
        &manifest(catchup, "", "fedora"),
        &manifest(catchup, "", "windows"),
    );
    both(kind, "kv-no-invtsc", Info, &plain, &windows);
}
