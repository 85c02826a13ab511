use super::*;
use crate::diagnosis::Read;
use crate::{Assessment, Measured, Path, assess};
use clocksmith_facts::clockdev::ClocksourceDevice;
use clocksmith_facts::cpu::{CpuModel, CpuVendor, Flags};
use clocksmith_facts::hypervisor::{Hypervisor, HypervisorKind};
use clocksmith_facts::version::Kernel;
use clocksmith_facts::{Arch, Fact, Facts, Origin};
use proptest::prelude::*;

/// A machine about which everything is known that the rules use.
#[derive(Clone, Debug)]
struct Made {
    arch: Arch,
    hypervisor: Option<HypervisorKind>,
    cloud: Cloud,
    processor: CpuVendor,
    release: &'static str,
    privileges: u32,
    current: &'static str,
    available: &'static str,
    flags: &'static str,
}

const INVARIANT: &str = "constant_tsc nonstop_tsc rdtscp";

fn guest(kind: HypervisorKind, cloud: Cloud, current: &'static str) -> Made {
    Made {
        arch: Arch::X86_64,
        hypervisor: Some(kind),
        cloud,
        processor: CpuVendor::Intel,
        release: "6.1.0-13-amd64",
        privileges: 0,
        current,
        available: "tsc kvm-clock acpi_pm",
        flags: INVARIANT,
    }
}

impl Made {
    fn facts(&self) -> Facts {
        let mut facts = Facts::empty(Origin::Stated);
        facts.arch = Fact::known(self.arch, "stated");
        let hypervisor = self.hypervisor.map(|kind| {
            let mut hypervisor = Hypervisor::named(kind);
            hypervisor.hyperv_privileges = Some(self.privileges);
            hypervisor
        });
        facts.hypervisor = Fact::known(hypervisor, "stated");
        facts.cloud = Fact::known(self.cloud, "stated");
        let name = "a processor".to_owned();
        let model = CpuModel { vendor: self.processor, family: 6, model: 106, name };
        facts.cpu.model = Fact::known(model, "stated");
        facts.cpu.flags = Fact::known(Flags::parse(self.flags), "stated");
        facts.kernel = Fact::known(Kernel::parse(self.release).unwrap(), "stated");
        let device = ClocksourceDevice::parse("clocksource0", self.current, self.available);
        facts.clocksources = Fact::known(vec![device.unwrap()], "/sys/devices/system/clocksource");
        facts
    }

    fn measured(&self, ns: Option<f64>, path: Path) -> Assessment {
        let clock = "CLOCK_MONOTONIC".to_owned();
        let read = Read { clock, path, ns, syscall_ns: Some(200.0) };
        let reads = ns.map(|_| read).into_iter().collect();
        assess(self.facts(), Measured { reads, counter_ns: Some(20.0) })
    }

    fn asked(&self, vendor: &str) -> PolicyAnswer {
        let seen = self.measured(None, Path::Unknown);
        answer(Vendor::find(vendor).unwrap(), &seen.facts, &seen.report)
    }
}

fn preferred(answer: &PolicyAnswer) -> Vec<&str> {
    answer.asks.iter().flat_map(|asked| asked.preferred.iter().map(String::as_str)).collect()
}

#[test]
fn sap_has_a_rule_for_each_platform() {
    use HypervisorKind as H;
    let made = |kind, cloud| guest(kind, cloud, "tsc");
    for (machine, wanted) in [
        (made(H::Kvm, Cloud::Ec2Nitro), &["tsc"][..]),
        (made(H::XenHvm, Cloud::Ec2Xen), &["tsc"]),
        (made(H::Kvm, Cloud::Gce), &["tsc", "kvm-clock"]),
        (made(H::Kvm, Cloud::None), &["kvm-clock"]),
        (made(H::Kvm, Cloud::Oci), &["kvm-clock"]),
        (made(H::Vmware, Cloud::None), &["tsc"]),
        (made(H::Hyperv, Cloud::Azure), &["tsc"]),
        (Made { hypervisor: None, ..made(H::Kvm, Cloud::None) }, &["tsc"]),
    ] {
        let answer = machine.asked("sap");
        assert_eq!(preferred(&answer), wanted, "{machine:?}");
        let found = if wanted.contains(&"tsc") { Conformity::Yes } else { Conformity::No };
        assert_eq!(answer.conforms, found, "{machine:?}");
    }
    // The check for x86 is one of Intel processors; that for Hyper-V is not.
    let amd = Made { processor: CpuVendor::Amd, ..made(H::Kvm, Cloud::Ec2Nitro) };
    assert_eq!(amd.asked("sap").conforms, Conformity::AsksNothing);
    let amd = Made { processor: CpuVendor::Amd, ..made(H::Hyperv, Cloud::Azure) };
    assert_eq!(amd.asked("sap").conforms, Conformity::Yes);
    let power = Made { arch: Arch::Powerpc, current: "timebase", ..made(H::Kvm, Cloud::None) };
    assert_eq!(power.asked("sap").conforms, Conformity::Yes);
}

#[test]
fn what_was_asked_before_has_its_dates() {
    let answer = guest(HypervisorKind::Kvm, Cloud::Ec2Nitro, "kvm-clock").asked("sap");
    assert_eq!(answer.conforms, Conformity::No);
    let before: Vec<(&str, &str, &str)> = answer
        .before
        .iter()
        .map(|earlier| (&*earlier.asked, &*earlier.since, &*earlier.until))
        .collect();
    assert_eq!(
        before,
        [("kvm-clock", "2024-05-31", "2025-12-02"), ("tsc", "2017-06-26", "2024-05-31")]
    );
    let azure = guest(HypervisorKind::Hyperv, Cloud::Azure, "hyperv_clocksource_tsc_page");
    let answer = azure.asked("sap");
    assert_eq!(answer.conforms, Conformity::Tolerated);
    assert_eq!(answer.before[0].until, "2026-08-10");
}

#[test]
fn hyperv_grants_the_tsc_or_does_not() {
    let mut made = guest(HypervisorKind::Hyperv, Cloud::Azure, "hyperv_clocksource_tsc_page");
    assert_eq!(made.asked("azure").conforms, Conformity::Yes);
    made.privileges = 1 << 15;
    assert_eq!(made.asked("azure").conforms, Conformity::Tolerated);
    made.current = "acpi_pm";
    assert_eq!(made.asked("azure").conforms, Conformity::No);
    made.hypervisor = Some(HypervisorKind::Kvm);
    let elsewhere = made.asked("microsoft");
    assert_eq!(elsewhere.conforms, Conformity::AsksNothing);
    assert!(elsewhere.asks.is_empty() && elsewhere.contradictions.is_empty());
}

#[test]
fn kernel_to_avoid_outweighs_the_right_clocksource() {
    let mut made = guest(HypervisorKind::Vmware, Cloud::None, "tsc");
    made.release = "5.14.0-427.13.1.el9_4.x86_64";
    let answer = made.asked("sap");
    assert_eq!(answer.conforms, Conformity::No);
    assert!(answer.summary.contains("avoid this kernel"), "{}", answer.summary);
    assert_eq!(answer.asks[0].conforms, Conformity::Yes);
    assert_eq!(made.asked("red-hat").conforms, Conformity::No);
    made.release = "5.14.0-427.100.1.el9_4.x86_64";
    assert_eq!(made.asked("sap").conforms, Conformity::Yes);
    assert_eq!(made.asked("red-hat").conforms, Conformity::AsksNothing);
}

#[test]
fn rules_of_two_purposes_are_both_said() {
    let mut made = guest(HypervisorKind::Kvm, Cloud::None, "tsc");
    made.release = "5.14.0-570.30.1.el9_6.x86_64+rt";
    let answer = made.asked("red-hat");
    assert_eq!(answer.conforms, Conformity::Yes);
    let purposes: Vec<Option<&str>> =
        answer.asks.iter().map(|asked| asked.purpose.as_deref()).collect();
    assert_eq!(purposes, [None, Some("SAP HANA")]);
    // SUSE changed its mind between two service packs.
    made.release = "5.14.21-150500.55.110-default";
    assert_eq!(preferred(&made.asked("suse")), ["kvm-clock"]);
    made.release = "5.3.18-150300.59.87-default";
    assert_eq!(preferred(&made.asked("suse")), ["tsc"]);
    made.release = "6.1.0-13-amd64";
    assert_eq!(made.asked("suse").conforms, Conformity::AsksNothing);
}

#[test]
fn flags_that_are_missing_are_named() {
    let mut made = guest(HypervisorKind::Vmware, Cloud::None, "tsc");
    made.flags = "constant_tsc nonstop_tsc";
    let answer = made.asked("sap");
    assert_eq!(answer.conforms, Conformity::Tolerated);
    assert!(
        answer.summary.ends_with("flags that this machine lacks: rdtscp."),
        "{}",
        answer.summary
    );
}

#[test]
fn measurement_and_rule_may_contradict() {
    let sap = Vendor::find("sap").unwrap();
    let made = guest(HypervisorKind::Kvm, Cloud::Ec2Nitro, "kvm-clock");
    let seen = made.measured(Some(25.0), Path::Vdso);
    let said = answer(sap, &seen.facts, &seen.report).contradictions;
    assert!(said[0].contains("25.0 ns") && said[0].contains("at most 20 %"), "{said:?}");
    // Slow by the measurement: rule and measurement agree.
    let seen = made.measured(Some(700.0), Path::Syscall);
    assert_eq!(answer(sap, &seen.facts, &seen.report).contradictions, Vec::<String>::new());
    // Right by the rule, and slow.
    let other = Made { cloud: Cloud::None, ..made };
    let seen = other.measured(Some(700.0), Path::Syscall);
    let found = answer(sap, &seen.facts, &seen.report);
    assert_eq!(found.conforms, Conformity::Yes);
    assert!(found.contradictions[0].contains("slow here, 700 ns"), "{found:?}");
    // Not offered by the kernel.
    let other = Made { available: "kvm-clock acpi_pm", cloud: Cloud::Ec2Nitro, ..other };
    let said = other.asked("sap").contradictions;
    assert!(said[0].contains("not available here (kvm-clock acpi_pm)"), "{said:?}");
    // The vendor supports the clocksource in use, and prefers a different one.
    let hyperv = guest(HypervisorKind::Hyperv, Cloud::Azure, "hyperv_clocksource_tsc_page");
    let found = Made { available: "hyperv_clocksource_tsc_page acpi_pm", ..hyperv }.asked("sap");
    assert_eq!(found.conforms, Conformity::Tolerated);
    let said = found.contradictions;
    assert!(said[0].starts_with("tsc is preferred, but "), "{said:?}");
    // A parameter of the vendor's image that is not advised.
    let said = Made { current: "tsc", ..guest(HypervisorKind::Kvm, Cloud::Ec2Nitro, "tsc") };
    assert!(said.asked("aws").contradictions[0].contains("tsc=reliable"));
}

#[test]
fn vendors_are_found_by_their_words() {
    for (word, id) in
        [("SAP", "sap"), ("Azure", "microsoft"), ("gcp", "google"), ("RHEL", "red-hat")]
    {
        assert_eq!(Vendor::find(word).map(|vendor| vendor.id), Some(id), "{word}");
    }
    assert_eq!(Vendor::find("acme"), None);
    assert_eq!(Vendor::of_cloud(Cloud::None), None);
    assert_eq!(Vendor::of_cloud(Cloud::Azure).map(|vendor| vendor.id), Some("microsoft"));
}

#[test]
fn tables_are_in_order() {
    let is_date = |text: &str| {
        text.len() == 10
            && text.bytes().enumerate().all(|(at, byte)| match at {
                4 | 7 => byte == b'-',
                _ => byte.is_ascii_digit(),
            })
    };
    let mut words = Vec::new();
    for vendor in VENDORS {
        words.push(vendor.id);
        words.extend(vendor.words);
        assert!(!vendor.rules.is_empty() && !vendor.about.is_empty(), "{}", vendor.id);
        for rule in vendor.rules {
            let name = format!("{}: {}", vendor.name, rule.machines);
            assert!(is_date(rule.since) && is_date(rule.source.dated), "{name}");
            assert!(rule.until.is_none_or(|until| is_date(until) && until > rule.since), "{name}");
            assert!(!rule.when.all.is_empty() && !rule.source.text.is_empty(), "{name}");
            assert!(rule.source.words.split(' ').count() <= 18, "{name}: few words");
        }
        for avoided in vendor.kernels {
            assert!(is_date(avoided.since) && is_date(avoided.source.dated), "{}", avoided.kernels);
        }
    }
    let all = words.len();
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), all, "a word means two vendors");
}

const RELEASES: [&str; 8] = [
    "6.1.0-13-amd64",
    "5.14.0-427.13.1.el9_4.x86_64",
    "5.14.0-570.30.1.el9_6.x86_64+rt",
    "5.14.21-150400.24.38-default",
    "5.14.21-150500.55.110-default",
    "5.3.18-150300.59.87-default",
    "4.18.0-553.el8.x86_64",
    "6.8.0-1014-aws",
];

fn machines() -> impl Strategy<Value = Made> {
    use HypervisorKind as H;
    let arch = prop::sample::select(vec![Arch::X86_64, Arch::X86, Arch::Arm64, Arch::Powerpc]);
    let kinds = vec![None, Some(H::Kvm), Some(H::XenHvm), Some(H::Vmware), Some(H::Hyperv)];
    let clouds =
        vec![Cloud::None, Cloud::Ec2Nitro, Cloud::Ec2Xen, Cloud::Azure, Cloud::Gce, Cloud::Oci];
    let makers = vec![CpuVendor::Intel, CpuVendor::Amd, CpuVendor::Hygon];
    let names = vec!["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "hpet", "timebase", "xen"];
    let flags = vec![INVARIANT, "constant_tsc", ""];
    (
        arch,
        prop::sample::select(kinds),
        prop::sample::select(clouds),
        prop::sample::select(makers),
        prop::sample::select(RELEASES.to_vec()),
        any::<bool>(),
        prop::sample::select(names),
        prop::sample::select(flags),
    )
        .prop_map(|(arch, hypervisor, cloud, maker, release, grants, current, flags)| {
            let kind = hypervisor;
            // A cloud only rents out machines of its own kinds.
            let cloud = match (cloud, kind) {
                (Cloud::Ec2Nitro | Cloud::Gce | Cloud::Oci, None | Some(H::Kvm))
                | (Cloud::Ec2Xen, Some(H::XenHvm))
                | (Cloud::Azure, Some(H::Hyperv)) => cloud,
                _ => Cloud::None,
            };
            Made {
                arch,
                hypervisor,
                cloud,
                processor: if arch.is_x86() { maker } else { CpuVendor::NotX86 },
                release,
                privileges: u32::from(grants) << 15,
                current,
                available: "tsc kvm-clock hyperv_clocksource_tsc_page hpet timebase xen",
                flags,
            }
        })
}

proptest! {
    /// Less evidence makes an answer unknown, never another one.
    #[test]
    fn less_evidence_gives_no_other_answer(
        made in machines(),
        vendor in prop::sample::select(VENDORS.to_vec()),
        gone in prop::collection::vec(0usize..7, 1..4),
    ) {
        let whole = made.measured(None, Path::Unknown);
        let known = answer(vendor, &whole.facts, &whole.report);
        let mut facts = whole.facts.clone();
        let mut report = whole.report.clone();
        for fact in gone {
            match fact {
                0 => facts.arch = Fact::default(),
                1 => facts.hypervisor = Fact::default(),
                2 => facts.cloud = Fact::default(),
                3 => facts.cpu.model = Fact::default(),
                4 => facts.cpu.flags = Fact::default(),
                5 => facts.kernel = Fact::default(),
                _ => report.clocksource.current = None,
            }
        }
        let less = answer(vendor, &facts, &report);
        prop_assert!(
            less.conforms == Conformity::Unknown || less.conforms == known.conforms,
            "{} of {made:?}: {:?} became {:?}", vendor.id, known.conforms, less.conforms
        );
        prop_assert_eq!(less.conforms == Conformity::Unknown, !less.settles.is_empty());
        // A rule that surely applies with less evidence applies with all of it.
        for asked in less.asks.iter().filter(|asked| asked.applies) {
            prop_assert!(known.asks.iter().any(|whole| whole.machines == asked.machines));
        }
    }

    /// With all evidence every vendor has a definite answer, and one rule a purpose.
    #[test]
    fn whole_evidence_gives_an_answer(
        made in machines(),
        vendor in prop::sample::select(VENDORS.to_vec()),
    ) {
        let seen = made.measured(None, Path::Unknown);
        let found = answer(vendor, &seen.facts, &seen.report);
        prop_assert_ne!(found.conforms, Conformity::Unknown);
        prop_assert!(found.asks.iter().all(|asked| asked.applies));
        let mut purposes: Vec<_> = found.asks.iter().map(|asked| &asked.purpose).collect();
        purposes.dedup();
        prop_assert_eq!(purposes.len(), found.asks.len());
        let json = serde_json::to_string(&found).unwrap();
        prop_assert_eq!(serde_json::from_str::<PolicyAnswer>(&json).unwrap(), found);
    }
}
