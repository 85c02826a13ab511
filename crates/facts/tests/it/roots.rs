//! Facts of mirrored roots and of machines stated by hand.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::tarball::gzip;
use clocksmith_facts::collect::collect;
use clocksmith_facts::hypervisor::{Cloud, HypervisorKind};
use clocksmith_facts::tree::{DirTree, MemoryTree};
use clocksmith_facts::version::Version;
use clocksmith_facts::{Arch, Fact, Facts, Missing, Origin, Why};

fn fixture(name: &str) -> Facts {
    let path = format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    collect(&DirTree::new(&path).unwrap(), Origin::Root(path))
}

fn stated(tree: &MemoryTree) -> Facts {
    collect(tree, Origin::Stated)
}

/// The value, and the end of its source.
fn of<'a, T>(fact: &'a Fact<T>, source: &str) -> &'a T {
    match fact {
        Fact::Known { value, source: at } => {
            assert!(at.0.ends_with(source), "{at} does not end in {source}");
            value
        }
        Fact::Missing(missing) => panic!("{missing:?}, wanted from {source}"),
    }
}

fn why<T>(fact: &Fact<T>) -> &Missing {
    fact.reason().expect("it should be missing")
}

#[test]
fn a_whole_machine() {
    let facts = fixture("metal");
    assert_eq!(of(&facts.arch, "/proc/cpuinfo"), &Arch::X86_64);
    assert_eq!(of(&facts.kernel, "/proc/version").version, Version::new(6, 1, 76));
    assert_eq!(of(&facts.config, "/boot/config-6.1.0-18-amd64").value("HZ"), Some("250"));
    assert_eq!(of(&facts.cmdline, "/proc/cmdline").last("clocksource"), Some("hpet"));
    assert_eq!(of(&facts.cpu.possible, "/cpu/possible"), &4);
    assert_eq!(of(&facts.cpu.online, "/cpu/online").count(), 2);
    assert_eq!(of(&facts.cpu.packages, "/proc/cpuinfo"), &2);
    assert_eq!(of(&facts.cpu.nodes, "/node/online"), &1);
    assert_eq!(facts.cpu.flag_differences, ["tsc_adjust"]);
    assert_eq!(of(&facts.cpu.model, "/proc/cpuinfo").model, 158);

    let cpuid = of(&facts.cpuid, "/cpuid");
    assert_eq!(cpuid.invariant_tsc(), Some(true));
    assert_eq!(cpuid.base_frequency().unwrap().base_mhz, 3200);
    let different: Vec<_> = cpuid.differences().iter().map(|d| d.what).collect();
    assert_eq!(different, ["TSC_ADJUST"]);

    let clocksource = &of(&facts.clocksources, "/clocksource")[0];
    assert_eq!(clocksource.current, "hpet");
    assert_eq!(clocksource.available, ["tsc", "hpet", "acpi_pm"]);
    let current = facts.current_clocksource();
    assert_eq!(of(&current, "/clocksource/clocksource0/current_clocksource"), &"hpet");
    // The broadcast device is not used yet.
    assert_eq!(of(&facts.clockevents, "/clockevents").len(), 1);

    assert_eq!(of(&facts.hpet, "/tables/HPET").unwrap().base, Some(0xfed0_0000));
    let timer = of(&facts.pm_timer, "/tables/FACP").unwrap();
    assert_eq!((timer.port, timer.bits32), (0x1808, Some(true)));
    assert!(of(&facts.low_power_idle, "/tables/FACP"));
    // The deepest state is disabled.
    let idle = of(&facts.idle, "/cpuidle/current_driver");
    assert_eq!((idle.deepest.as_deref(), idle.latency_us), (Some("C1"), Some(2)));
    assert!(!of(&facts.tick_oneshot, "/proc/timer_list"));

    assert_eq!(of(&facts.hypervisor, "/cpuid 0x1 ecx[31]"), &None);
    assert_eq!(of(&facts.cloud, "/sys/class/dmi/id"), &Cloud::None);
    assert_eq!(of(&facts.dmi, "/dmi/id"), "LENOVO 30C7S0H000, LENOVO M1VKT36A");
    assert!(!of(&facts.environment.wsl, "/proc/version"));
    assert!(of(&facts.log, "/metal/dmesg") == facts.kernel_log().unwrap());
    assert!(why(&facts.ntp).how.as_ref().unwrap().contains("clocksmith collect"));
}

#[test]
fn a_sosreport() {
    let facts = fixture("sosreport");
    assert_eq!(of(&facts.arch, "/uname"), &Arch::X86_64);
    assert!(!of(&facts.ntp, "/timedatectl").synchronized);
    assert_eq!(of(&facts.kernel, "/uname").release, "3.10.0-1160.el7.x86_64");
    // Its dmesg has lost the beginning, the journal of this boot has it.
    of(&facts.log, "/journalctl_--no-pager_--boot");
    // Without CPUID, the name of the clocksource shows the hypervisor.
    let hypervisor = of(&facts.hypervisor, "/clocksource0/available_clocksource");
    assert_eq!(hypervisor.as_ref().unwrap().kind, HypervisorKind::Kvm);
    assert_eq!(of(&facts.dmi, "/dmidecode"), "Red Hat KVM, SeaBIOS 1.11.0");
    assert_eq!(why(&facts.cpu.possible).why, Why::NotAsked);
    assert!(why(&facts.cpuid).how.as_ref().unwrap().starts_with("cpuid -r > "));
}

#[test]
fn an_arm_server() {
    let facts = fixture("arm64");
    assert_eq!(of(&facts.arch, "/proc/cpuinfo"), &Arch::Arm64);
    assert_eq!(of(&facts.cpu.online, "/proc/cpuinfo").count(), 2);
    assert_eq!(of(&facts.cpu.packages, "/cpu0/topology/physical_package_id"), &2);
    assert_eq!(facts.cpu.flag_differences, ["evtstrm"]);
    for missing in [why(&facts.cpuid), why(&facts.hpet), why(&facts.cpu.model)] {
        assert_eq!(missing.why, Why::NotApplicable);
    }
    assert!(why(&facts.log).how.as_ref().unwrap().starts_with("sudo dmesg > "));
}

#[test]
fn nothing_at_all() {
    let facts = stated(&MemoryTree::new("nothing:"));
    let json = serde_json::to_string(&facts).unwrap();
    assert!(!json.contains("\"known\""), "{json}");
}

#[test]
fn files_that_are_rubbish_are_unreadable_not_absent() {
    let rubbish = || vec![0xffu8, 0, 7];
    let tree = MemoryTree::new("")
        .with("proc/version", rubbish())
        .with("proc/config.gz", rubbish())
        .with("cpuid", rubbish())
        .with("sys/devices/system/cpu/possible", "many")
        .with("sys/firmware/acpi/tables/FACP", rubbish())
        .with("sys/firmware/acpi/tables/HPET", rubbish())
        .with("proc/timer_list", rubbish())
        .with("adjtimex", rubbish());
    let facts = stated(&tree);
    for missing in [
        why(&facts.kernel),
        why(&facts.config),
        why(&facts.cpuid),
        why(&facts.cpu.possible),
        why(&facts.pm_timer),
        why(&facts.hpet),
        why(&facts.tick_oneshot),
        why(&facts.ntp),
    ] {
        assert!(matches!(missing.why, Why::Unreadable(_)), "{missing:?}");
    }
}

#[test]
fn tables_are_absent_only_where_the_others_are_seen() {
    let x86 = || MemoryTree::new("").with("uname", "Linux - 6.1.0 #1 x86_64");
    let absent = |mut tree: MemoryTree| {
        for table in ["HPET", "FACP"] {
            let path = format!("sys/firmware/acpi/tables/{table}");
            tree.set_missing(&path, Missing::new(Why::Absent, path.as_str()));
        }
        tree
    };
    // A firmware without HPET.
    let facts = stated(&absent(x86()).with("sys/firmware/acpi/tables/APIC", "x"));
    assert_eq!(of(&facts.hpet, "tables"), &None);
    assert_eq!(of(&facts.pm_timer, "tables"), &None);
    // A machine without ACPI.
    let facts = stated(&absent(x86()).with("sys/firmware/memmap", "x"));
    assert_eq!(of(&facts.hpet, "sys/firmware"), &None);
    // A container that hides /sys/firmware.
    let mut hidden = absent(x86());
    hidden.set_listing("sys/firmware", Vec::new());
    assert_eq!(why(&stated(&hidden).hpet).why, Why::Absent);
    // A listed table that cannot be read.
    let mut denied = x86().with("sys/firmware/acpi/tables/APIC", "x");
    let path = "sys/firmware/acpi/tables/HPET";
    denied.set_missing(path, Missing::new(Why::Permission, path));
    assert_eq!(why(&stated(&denied).hpet).why, Why::Permission);
}

fn cpuid(leaves: &[(u32, [u32; 4])]) -> String {
    use std::fmt::Write;
    let mut text = "CPU:\n".to_owned();
    for (leaf, [a, b, c, d]) in leaves {
        writeln!(
            text,
            "   0x{leaf:08x} 0x00: eax=0x{a:08x} ebx=0x{b:08x} ecx=0x{c:08x} edx=0x{d:08x}"
        )
        .unwrap();
    }
    text
}

fn signature(text: &str, highest: u32) -> [u32; 4] {
    let mut bytes = [0u8; 12];
    bytes[..text.len()].copy_from_slice(text.as_bytes());
    let part = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    [highest, part(0), part(4), part(8)]
}

const VIRTUAL: (u32, [u32; 4]) = (1, [0x000a_06d1, 0, 1 << 31, 1 << 4]);
const HEAD: (u32, [u32; 4]) = (0, [0x16, 0x756e_6547, 0x6c65_746e, 0x4965_6e69]);

#[test]
fn every_signature_is_kept_and_the_first_known_one_names_it() {
    let text = cpuid(&[
        HEAD,
        VIRTUAL,
        (0x4000_0000, signature("Microsoft Hv", 0x4000_000b)),
        (0x4000_0003, [0x8a62, 0, 0, 0]),
        (0x4000_0100, signature("KVMKVMKVM", 0)),
        (0x4000_0101, [0x0100_7efb, 0, 0, 0]),
        // An echo of another leaf.
        (0x4000_0200, [0x21f, 0xa88, 0xa88, 0]),
    ]);
    let facts = stated(&MemoryTree::new("").with("cpuid", text));
    let found = of(&facts.hypervisor, "cpuid 0x40000000").as_ref().unwrap();
    assert_eq!(found.kind, HypervisorKind::Hyperv);
    assert_eq!(found.signatures.len(), 2);
    assert!(found.presents(HypervisorKind::Kvm));
    assert_eq!(found.hyperv_privileges, Some(0x8a62));
    assert_eq!(found.kvm_features, Some(0x0100_7efb));
    assert_eq!(found.timing_leaf_khz, None);
}

#[test]
fn leaves_beyond_the_highest_do_not_count() {
    // The dump holds an answer for leaf 0x15 and for 0x40000010; the processor has neither.
    let text = cpuid(&[
        (0, [0xd, 0x6874_7541, 0x444d_4163, 0x6974_6e65]),
        VIRTUAL,
        (0x15, [0x21f, 0xa88, 0xa88, 0]),
        (0x4000_0000, signature("VMwareVMware", 0x4000_0001)),
        (0x4000_0010, [0x21f, 0xa88, 0xa88, 0]),
        (0x8000_0000, [0x8000_0004, 0, 0, 0]),
        (0x8000_0007, [0, 0, 0, 0x100]),
    ]);
    let facts = stated(&MemoryTree::new("").with("cpuid", text));
    let dump = facts.cpuid.value().unwrap();
    assert_eq!(dump.tsc_ratio(), None);
    assert_eq!(dump.invariant_tsc(), Some(false));
    assert_eq!(dump.vendor().as_deref(), Some("AuthenticAMD"));
    assert_eq!(facts.hypervisor.value().unwrap().as_ref().unwrap().timing_leaf_khz, None);
    // A dump that is truncated before the extended leaves does not show it.
    let text = cpuid(&[HEAD, VIRTUAL]);
    let facts = stated(&MemoryTree::new("").with("cpuid", text));
    assert_eq!(facts.cpuid.value().unwrap().invariant_tsc(), None);
}

#[test]
fn xen_is_seen_where_cpuid_does_not_show_it() {
    let control = MemoryTree::new("")
        .with("cpuid", cpuid(&[HEAD, (1, [0x000a_06d1, 0, 0, 1 << 4])]))
        .with("sys/hypervisor/type", "xen\n")
        .with("proc/xen/capabilities", "control_d\n");
    let facts = stated(&control);
    let found = of(&facts.hypervisor, "sys/hypervisor/type").as_ref().unwrap();
    assert_eq!(found.kind, HypervisorKind::XenPv);
    assert!(found.xen_dom0);

    let guest = MemoryTree::new("")
        .with(
            "cpuid",
            cpuid(&[
                HEAD,
                VIRTUAL,
                (0x4000_0000, signature("XenVMMXenVMM", 0x4000_0005)),
                (0x4000_0003, [0, 2, 0, 0]),
            ]),
        )
        .with("sys/hypervisor/type", "xen\n")
        .with("sys/hypervisor/guest_type", "HVM\n");
    let facts = stated(&guest);
    let found = of(&facts.hypervisor, "cpuid 0x40000000").as_ref().unwrap();
    assert_eq!((found.kind, found.xen_dom0), (HypervisorKind::XenHvm, false));
    assert_eq!(found.xen_tsc_mode, Some(2));
}

#[test]
fn the_hypervisor_flag_alone_is_some_hypervisor() {
    let info =
        "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t: 1\nflags\t: tsc lm";
    let plain = stated(&MemoryTree::new("").with("proc/cpuinfo", info));
    assert_eq!(of(&plain.hypervisor, "proc/cpuinfo"), &None);
    let flagged = MemoryTree::new("").with("proc/cpuinfo", format!("{info} hypervisor\n"));
    let kind = |facts: &Facts| facts.hypervisor.value().unwrap().as_ref().unwrap().kind;
    assert_eq!(kind(&stated(&flagged)), HypervisorKind::Other);
    let named = flagged.with("sys/class/dmi/id/sys_vendor", "VMware, Inc.\n");
    assert_eq!(kind(&stated(&named)), HypervisorKind::Vmware);
}

#[test]
fn flags_come_from_cpuid_where_cpuinfo_is_missing() {
    let text = cpuid(&[
        HEAD,
        VIRTUAL,
        (7, [0, 2, 0, 0]),
        (0x8000_0000, [0x8000_0008, 0, 0, 0]),
        (0x8000_0007, [0, 0, 0, 0x100]),
    ]);
    let facts = stated(&MemoryTree::new("").with("cpuid", text));
    let flags = of(&facts.cpu.flags, "cpuid 0x1 edx, 0x80000007 edx");
    for flag in ["tsc", "hypervisor", "tsc_adjust", "constant_tsc", "nonstop_tsc"] {
        assert!(flags.has(flag), "{flag}");
    }
    assert!(!flags.has("rdtscp"));
    assert_eq!(of(&facts.cpu.model, "cpuid 0x1 eax").family, 6);
}

#[test]
fn containers() {
    const INSIDE: &str = "pid: 4026532500\nuts: 4026532499\n";
    const OUTSIDE: &str = "pid: 4026531836\nuts: 4026531838\n";
    let container = |tree: MemoryTree| stated(&tree).environment.container;
    let docker = || MemoryTree::new("").with(".dockerenv", "");
    assert_eq!(of(&container(docker()), ".dockerenv").as_deref(), Some("docker"));
    // A virtual machine that was made from a container image.
    assert_eq!(of(&container(docker().with("namespaces", OUTSIDE)), "namespaces"), &None);
    let inside = container(docker().with("namespaces", INSIDE));
    assert_eq!(of(&inside, ".dockerenv").as_deref(), Some("docker"));
    let declared = MemoryTree::new("").with("run/systemd/container", "lxc\n");
    assert_eq!(of(&container(declared), "run/systemd/container").as_deref(), Some("lxc"));
    let cgroup = MemoryTree::new("").with("proc/1/cgroup", "1:cpu:/kubepods/besteffort\n");
    assert_eq!(of(&container(cgroup), "proc/1/cgroup").as_deref(), Some("kubernetes"));
    let unknown = MemoryTree::new("").with("namespaces", INSIDE).with("proc/1/cgroup", "0::/\n");
    assert_eq!(of(&container(unknown), "namespaces").as_deref(), Some("unnamed"));
    // No evidence: not the same as no container.
    assert!(!container(MemoryTree::new("").with("proc/1/cgroup", "0::/\n")).is_known());
}

#[test]
fn gvisor_and_wsl() {
    let gvisor = MemoryTree::new("").with("dmesg", "[    0.000000] Starting gVisor...\n");
    assert!(of(&stated(&gvisor).environment.gvisor, "dmesg"));
    let wsl = MemoryTree::new("")
        .with("proc/version", "Linux version 5.15.153.1-microsoft-standard-WSL2 (x)");
    let facts = stated(&wsl);
    assert!(of(&facts.environment.wsl, "proc/version"));
    assert!(!of(&facts.environment.gvisor, "proc/version"));
}

#[test]
fn configuration_of_more_than_a_kernel_has_is_not_read() {
    let long = "CONFIG_HZ=1000\n".repeat(300_000);
    let packed = stated(&MemoryTree::new("").with("proc/config.gz", gzip(long.as_bytes())));
    let why = format!("{:?}", why(&packed.config));
    assert!(why.contains("longer than 4 MiB"), "{why}");
}

#[test]
fn compressed_configurations_and_logs() {
    let tree = MemoryTree::new("")
        .with("proc/config.gz", gzip(b"CONFIG_HZ=1000\n"))
        .with("var/log/dmesg.gz", gzip(b"[    0.000000] Linux version 6.1.0\n"));
    let facts = stated(&tree);
    assert_eq!(of(&facts.config, "proc/config.gz").value("HZ"), Some("1000"));
    of(&facts.log, "var/log/dmesg.gz");
}

#[test]
fn mirror_shows_the_keeper_of_the_wall_clock() {
    let tree = MemoryTree::new("mirror/")
        .with("run/chrony/chronyd.pid", "612\n")
        .with("etc/chrony/chrony.conf", "pool ntp.example iburst\nmakestep 1 3\nrtcsync\n")
        .with("sys/class/ptp/ptp0/clock_name", "KVM virtual PTP\n")
        .with("sys/bus/acpi/devices/VMGENCTR:00/status", "15\n")
        .with(
            "sos_commands/chrony/chronyc_tracking",
            "System time     : 62.5 seconds slow of NTP time\n",
        );
    let wall = stated(&tree).wall;
    let keepers = of(&wall.keepers, "run/chrony/chronyd.pid");
    assert_eq!((keepers.seen[0].name.as_str(), keepers.all), ("chronyd", false));
    assert_eq!(of(&wall.chrony, "etc/chrony/chrony.conf").makestep, Some((1.0, 3)));
    assert!(of(&wall.ptp, "sys/class/ptp")[0].is_of_the_host());
    assert_eq!(of(&wall.generation_id, "sys/bus/acpi/devices"), &true);
    assert_eq!(of(&wall.source, "chronyc_tracking").ahead_s, Some(-62.5));
    let empty = stated(&MemoryTree::new("empty/")).wall;
    assert!(why(&empty.clocks).at.is_some() && !empty.keepers.is_known());
}

#[test]
fn rubbish_about_the_wall_clock_is_unreadable_and_not_believed() {
    let tree = MemoryTree::new("m/")
        .with("clocks", "realtime_ns: x\n")
        .with("timekeepers", "chronyd: steers\n");
    let wall = stated(&tree).wall;
    assert!(matches!(why(&wall.clocks).why, Why::Unreadable(_)));
    assert!(matches!(why(&wall.keepers).why, Why::Unreadable(_)));
}
