//! KubeVirt and Proxmox VE guests: the configuration that these generate for libvirt and QEMU.

use super::guest::{Frequency, Guest, GuestError, Manager, Sev, clock_of_qemu, set};
use crate::inner::{each, said};
use crate::words::listed;
use crate::yaml::{self, Node};

/// Reads a VirtualMachine or a VirtualMachineInstance.
///
/// KubeVirt gives a guest that needs it the frequency of a node, and shows it in `status.topologyHints` of the
/// instance. Source: KubeVirt, pkg/virt-controller/watch/topology/hinter.go.
pub(super) fn of_kubevirt(text: &str) -> Result<Guest, GuestError> {
    let broken = |what: String| GuestError::Broken(format!("this YAML cannot be read: {what}"));
    let documents = yaml::parse(text).map_err(|error| broken(error.to_string()))?;
    let mut found: Vec<(&Node, &Node)> = Vec::new();
    for root in &documents {
        let items = root.at(&["items"]).map_or_else(|| vec![root], |items| each(items, &[]));
        for object in items {
            let spec = ["spec"].as_slice();
            let template = ["spec", "template", "spec"].as_slice();
            // A pool.
            let pool = ["spec", "virtualMachineTemplate", "spec", "template", "spec"].as_slice();
            let domain = [template, spec, pool]
                .into_iter()
                .find_map(|path| object.at(&[path, &["domain"]].concat()));
            found.extend(domain.map(|domain| (object, domain)));
        }
    }
    let [(object, domain)] = found.as_slice() else {
        return Err(if found.is_empty() {
            GuestError::Kind
        } else {
            GuestError::Several(found.len())
        });
    };
    let feature = |name: &str| {
        let mut features = each(domain, &["cpu", "features"]).into_iter();
        let feature =
            features.find(|it| said(it, &["name"]).is_some_and(|(known, _)| known == name))?;
        Some(said(feature, &["policy"]).map_or("require", |(policy, _)| policy))
    };
    let elsewhere =
        ["preference", "instancetype"].iter().any(|key| object.at(&["spec", key]).is_some());
    let invtsc = match feature("invtsc") {
        Some("optional") => None,
        Some("disable" | "forbid") => Some(false),
        Some(_) => Some(true),
        None if elsewhere => None,
        None => Some(false),
    };
    let reenlightenment = domain.at(&["features", "hyperv", "reenlightenment"]);
    let enabled = reenlightenment.and_then(|it| it.at(&["enabled"])).and_then(Node::truth);
    let reenlightenment = reenlightenment.is_some() && enabled != Some(false);
    let hint = said(object, &["status", "topologyHints", "tscFrequency"]);
    let frequency = match hint {
        Some((hz, _)) => set(hz, hz.parse().ok())?,
        None if invtsc == Some(false) && !reenlightenment => Frequency::Absent,
        None => Frequency::Unknown,
    };
    // KubeVirt itself says of such a machine that it cannot be migrated live (condition LiveMigratable).
    let mut devices = ["gpus", "hostDevices"].iter();
    let device = devices.any(|key| !each(domain, &["devices", key]).is_empty());
    let has = |key: &str| domain.at(&["launchSecurity", key]).is_some();
    let sev = match (has("snp"), has("sev")) {
        (true, _) => Sev::Snp,
        (_, true) => Sev::Sev,
        _ => Sev::No,
    };
    let name = said(object, &["metadata", "name"]).map(|(name, _)| name.to_owned());
    Ok(Guest {
        name,
        manager: Manager::Libvirt,
        invtsc,
        frequency,
        reenlightenment,
        emulated: false,
        clockless: !elsewhere && kubevirt_hides(domain),
        device,
        sev,
    })
}

/// Whether a KubeVirt machine certainly has neither kvm-clock nor the page of Hyper-V. Source: KubeVirt,
/// pkg/virt-launcher/virtwrap/converter, Convert_v1_Clock_To_api_Clock(), Convert_v1_FeatureKVM.
fn kubevirt_hides(domain: &Node) -> bool {
    let timer = |name: &str| domain.at(&["clock", "timer", name]);
    let truth =
        |node: Option<&Node>, key: &str| node.and_then(|it| it.at(&[key])).and_then(Node::truth);
    let off = truth(timer("kvm"), "present") == Some(false)
        || truth(domain.at(&["features", "kvm"]), "hidden") == Some(true);
    let page = timer("hyperv").is_some() && truth(timer("hyperv"), "present") != Some(false)
        || domain.at(&["features", "hypervPassthrough"]).is_some();
    off && !page
}

/// Reads a Proxmox VE machine. The `-cpu` in its `args:` applies. Without one, the guest has neither invtsc nor a fixed
/// frequency, because `cpu:` supports these only through a custom CPU model of the cluster. Source: qemu-server,
/// PVE/QemuServer/CPUConfig.pm, get_cpu_options().
pub(crate) fn of_proxmox(text: &str) -> Result<Guest, GuestError> {
    // Snapshots are earlier states of the machine.
    let end = text.find("\n[").unwrap_or(text.len());
    let text = text.get(..end).unwrap_or(text);
    let of = |key: &str| {
        text.lines()
            .filter_map(|line| line.strip_prefix(key)?.strip_prefix(':'))
            .next_back()
            .map(str::trim)
    };
    let name = of("name").map(str::to_owned);
    let emulated = of("kvm").is_some_and(|it| listed("0 off no false", &it.to_ascii_lowercase()));
    let passed = |line: &str| {
        line.strip_prefix("hostpci")
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let device = text.lines().any(passed);
    // `amd-sev: type=es` and `amd-sev: snp`, by PVE/QemuServer.pm, get_amd_sev_object().
    let sev = match of("amd-sev") {
        Some(kind) if kind.contains("snp") => Sev::Snp,
        Some(_) => Sev::Sev,
        None => Sev::No,
    };
    match of("args").map(clock_of_qemu) {
        Some(Ok(guest)) => {
            let device = device || guest.device;
            let sev = if sev == Sev::No { guest.sev } else { sev };
            return Ok(Guest { name, emulated, device, sev, ..guest });
        }
        Some(Err(GuestError::Kind)) | None => {}
        Some(Err(error)) => return Err(error),
    }
    let custom = of("cpu").is_some_and(|cpu| cpu.contains("custom-"));
    Ok(Guest {
        name,
        manager: Manager::Qemu,
        invtsc: if custom { None } else { Some(false) },
        frequency: Frequency::Absent,
        reenlightenment: false,
        emulated,
        clockless: !custom && proxmox_hides(of("cpu"), of("ostype")),
        device,
        sev,
    })
}

/// Whether `cpu: host,hidden=1` hides KVM from a guest to which Proxmox VE gives no page of Hyper-V, because it is not
/// Windows. Source: qemu-server, PVE/QemuServer/CPUConfig.pm, get_cpu_options(), `kvm=off`, and get_hyperv_enlightenments().
fn proxmox_hides(cpu: Option<&str>, system: Option<&str>) -> bool {
    let hidden = cpu.is_some_and(|cpu| {
        cpu.split(',').any(|part| {
            matches!(part.trim(), "hidden=1" | "hidden=on" | "hidden=yes" | "hidden=true")
        })
    });
    hidden && !system.is_some_and(|it| it.starts_with('w'))
}

#[cfg(test)]
mod tests {
    use super::super::guest::parse;
    use super::*;

    #[test]
    fn pool_of_kubevirt_has_a_machine() {
        let text = "apiVersion: pool.kubevirt.io/v1alpha1\nkind: VirtualMachinePool\nspec:\n  virtualMachineTemplate:\n    spec:\n      template:\n        spec:\n          \
            domain:\n            cpu:\n              features:\n              - name: invtsc\n";
        assert_eq!(parse(text).unwrap().invtsc, Some(true));
    }

    #[test]
    fn kubevirt_guest_has_the_frequency_that_its_instance_shows() {
        let vm = |inside: &str, status: &str| {
            parse(&format!(
                "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata:\n  name: a\nspec:\n  domain:\n    devices: {{}}\n{inside}{status}"
            ))
        };
        let plain = vm("", "").unwrap();
        assert_eq!(
            (plain.name.as_deref(), plain.invtsc, plain.frequency),
            (Some("a"), Some(false), Frequency::Absent)
        );
        let invtsc = "    cpu:\n      features:\n      - name: invtsc\n        policy: require\n";
        let guest = vm(invtsc, "").unwrap();
        assert_eq!((guest.invtsc, guest.frequency), (Some(true), Frequency::Unknown));
        let guest =
            vm(invtsc, "status:\n  topologyHints:\n    tscFrequency: 2397223000\n").unwrap();
        assert_eq!(guest.frequency, Frequency::Set(2_397_223_000));
        let guest = vm("    features:\n      hyperv:\n        reenlightenment: {}\n", "").unwrap();
        assert!(guest.reenlightenment && guest.frequency == Frequency::Unknown);
        let two = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: kubevirt.io/v1, kind: VirtualMachine, spec: {template: {spec: {domain: {a: 1}}}}}\n- {apiVersion: kubevirt.io/v1, kind: VirtualMachine, spec: {template: {spec: {domain: {a: 1}}}}}\n";
        assert_eq!(parse(two), Err(GuestError::Several(2)));
    }

    #[test]
    fn what_makes_a_proxmox_guest_is_none() {
        let script = "#!/bin/sh\nqm create 100 --ostype l26 --args '-cpu host,+invtsc'\n";
        let play = "- hosts: a\n  tasks:\n    - proxmox_kvm: {name: a, cores: 2, args: '-cpu host,+invtsc'}\n";
        let model = "cpu-model: a\n    reported-model host\n    flags +invtsc\n";
        for text in [script, play, model] {
            assert_eq!(parse(text), Err(GuestError::Maker), "{text}");
        }
    }

    #[test]
    fn guest_without_kvmclock_has_no_page_that_could_move() {
        let vm = |inside: &str| {
            let text = format!(
                "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nspec:\n  template:\n    spec:\n      domain:\n        devices: {{}}\n{inside}"
            );
            parse(&text).unwrap().clockless
        };
        let timers = |more: &str| {
            format!("        clock:\n          timer:\n            kvm: {{present: false}}\n{more}")
        };
        assert!(vm(&timers("")) && vm("        features:\n          kvm: {hidden: true}\n"));
        assert!(!vm("") && !vm(&timers("            hyperv: {}\n")));
        assert!(!vm(&timers("").replace("false", "true")));
        let pve = |cpu: &str, system: &str| {
            let text = format!("name: a\nostype: {system}\ncores: 2\nmemory: 512\ncpu: {cpu}\n");
            parse(&text).unwrap().clockless
        };
        assert!(pve("host,hidden=1", "l26") && pve("cputype=host,hidden=1", "other"));
        assert!(
            !pve("host,hidden=1", "win11") && !pve("host", "l26") && !pve("host,hidden=0", "l26")
        );
    }

    #[test]
    fn domain_of_nix_is_no_domain_of_xen() {
        let set = "{ ... }: {\n  type = \"kvm\";\n  name = \"a\";\n  memory = { count = 2; };\n  vcpu.count = 2;\n  CLOCK\n  devices.disk = [\n    a\n  ];\n}\n";
        for clock in ["", "clock = { offset = \"utc\"; };"] {
            assert_eq!(parse(&set.replace("CLOCK", clock)), Err(GuestError::Nix), "{clock}");
        }
        assert_eq!(
            parse(&set.replace("kvm", "service").replace("CLOCK", "")),
            Err(GuestError::Kind)
        );
    }

    #[test]
    fn proxmox_guest_is_read_without_and_with_arguments() {
        let base = "name: a\nostype: l26\ncores: 2\nmemory: 512\n";
        let guest = parse(&format!("{base}cpu: host\n")).unwrap();
        assert_eq!(
            (guest.name.as_deref(), guest.invtsc, guest.frequency),
            (Some("a"), Some(false), Frequency::Absent)
        );
        assert_eq!(parse(&format!("{base}cpu: custom-x\n")).unwrap().invtsc, None);
        assert!(parse(&format!("{base}kvm: 0\n")).unwrap().emulated);
        let old = "[old]\nargs: -cpu host,+invtsc\n";
        assert_eq!(parse(&format!("{base}\n{old}")).unwrap().invtsc, Some(false));
        let guest =
            parse(&format!("{base}args: -cpu host,+invtsc,tsc-frequency=2500000000\n")).unwrap();
        assert_eq!((guest.invtsc, guest.frequency), (Some(true), Frequency::Set(2_500_000_000)));
        assert_eq!(
            parse("name = \"a\"\nbuilder = \"hvm\"\nvcpus = 2\nmemory = 5\n"),
            Err(GuestError::Xen)
        );
    }
}
