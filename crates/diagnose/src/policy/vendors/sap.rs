//! SAP: the checks for HANA systems, which SAP publishes, and the SAP notes that they quote. The notes themselves need
//! a customer's account; their content was read in the checks.

use crate::policy::when::{Is, When};
use crate::policy::{Ask, Avoided, Cited, Rule, Vendor};
use clocksmith_facts::Arch;
use clocksmith_facts::cpu::CpuVendor;
use clocksmith_facts::hypervisor::{Cloud, HypervisorKind};

const X86: Is = Is::Arch(&[Arch::X86_64, Arch::X86]);
const POWER: Is = Is::Arch(&[Arch::Powerpc]);
const INTEL: Is = Is::Processor(&[CpuVendor::Intel]);
const HYPERV: Is = Is::Hypervisor(&[HypervisorKind::Hyperv]);
const KVM: Is = Is::Hypervisor(&[HypervisorKind::Kvm]);
const EC2: Is = Is::Cloud(&[Cloud::Ec2Xen, Cloud::Ec2Nitro]);
const GCE: Is = Is::Cloud(&[Cloud::Gce]);

/// The processor flags that the check requires if the TSC is in use: without these HANA uses system calls.
const FLAGS: &[&str] = &["constant_tsc", "nonstop_tsc", "rdtscp"];
const TSC: Ask = Ask::Clocksource { preferred: &["tsc"], tolerated: &[], flags: FLAGS };

const fn check_0300(dated: &'static str, words: &'static str) -> Cited {
    Cited { text: "SAP/arp142-hana, check 0300, for SAP note 2753418", dated, read_in: None, words }
}

const fn check_0301(dated: &'static str, words: &'static str) -> Cited {
    Cited { text: "SAP/arp142-hana, check 0301, for SAP note 2791572", dated, read_in: None, words }
}

pub(super) const VENDOR: Vendor = Vendor {
    id: "sap",
    name: "SAP",
    about: "SAP HANA, for each platform",
    words: &["hana", "sap hana", "arp142"],
    clouds: &[],
    rules: &[
        Rule {
            machines: "POWER",
            when: When::all(&[POWER]),
            purpose: None,
            ask: Ask::only(&["timebase"]),
            sets: &[],
            since: "2019-05-14",
            until: None,
            source: Cited {
                text: "SAP/arp142-hana, check 0310, for SAP note 2753418",
                dated: "2019-09-26",
                read_in: None,
                words: "OS clocksource is using fast timer",
            },
        },
        Rule {
            machines: "Hyper-V and Azure, x86",
            when: When::all(&[X86, HYPERV]),
            purpose: None,
            ask: Ask::Clocksource {
                preferred: &["tsc"],
                tolerated: &["hyperv_clocksource_tsc_page"],
                flags: &[],
            },
            sets: &[],
            since: "2026-08-10",
            until: None,
            source: Cited {
                text: "SAP/arp142-hana, pull request 573 (checks 0300 and 0301), for SAP note 2791572",
                dated: "2026-08-10",
                read_in: None,
                words: "supported but not preferred",
            },
        },
        Rule {
            machines: "x86 processors that are not Intel's",
            when: When { all: &[X86], none: &[INTEL] },
            purpose: None,
            ask: Ask::Nothing,
            sets: &[],
            since: "2019-05-14",
            until: None,
            source: check_0300("2025-12-02", "Not running on Intel CPU. Skipping"),
        },
        Rule {
            machines: "EC2, Intel",
            when: When::all(&[X86, INTEL, EC2]),
            purpose: None,
            ask: TSC,
            sets: &[],
            since: "2025-12-02",
            until: None,
            source: check_0300("2025-12-02", "Amazon EC2 recommends tsc clocksource"),
        },
        Rule {
            machines: "Google Compute Engine, KVM, Intel",
            when: When::all(&[X86, INTEL, GCE, KVM]),
            purpose: None,
            ask: Ask::Clocksource {
                preferred: &["tsc", "kvm-clock"],
                tolerated: &[],
                flags: FLAGS,
            },
            sets: &[],
            since: "2024-05-31",
            until: None,
            source: check_0300("2025-12-02", "allow other than tsc as recommended"),
        },
        Rule {
            machines: "other KVM guests, Intel",
            when: When { all: &[X86, INTEL, KVM], none: &[EC2, GCE] },
            purpose: None,
            ask: Ask::only(&["kvm-clock"]),
            sets: &[],
            since: "2024-05-31",
            until: None,
            source: check_0300("2025-12-02", "allow other than tsc as recommended"),
        },
        Rule {
            machines: "bare metal, VMware and other hypervisors, Intel",
            when: When { all: &[X86, INTEL], none: &[HYPERV, KVM] },
            purpose: None,
            ask: TSC,
            sets: &[],
            since: "2017-06-26",
            until: None,
            source: check_0300("2025-12-02", "OS clocksource is set as recommended"),
        },
        Rule {
            machines: "Hyper-V and Azure, x86",
            when: When::all(&[X86, HYPERV]),
            purpose: None,
            ask: Ask::only(&["hyperv_clocksource_tsc_page"]),
            sets: &[],
            since: "2019-05-14",
            until: Some("2026-08-10"),
            source: check_0301("2024-05-31", "OS clocksource is set as recommended"),
        },
        Rule {
            machines: "KVM guests on EC2, Intel",
            when: When::all(&[X86, INTEL, EC2, KVM]),
            purpose: None,
            ask: Ask::only(&["kvm-clock"]),
            sets: &[],
            since: "2024-05-31",
            until: Some("2025-12-02"),
            source: check_0300("2024-05-31", "allow other than tsc as recommended"),
        },
        Rule {
            machines: "KVM guests, Intel",
            when: When::all(&[X86, INTEL, KVM]),
            purpose: None,
            ask: TSC,
            sets: &[],
            since: "2017-06-26",
            until: Some("2024-05-31"),
            source: check_0300("2019-05-14", "OS clocksource is set as recommended"),
        },
    ],
    kernels: &[
        rhel("RHEL 9.6 up to 5.14.0-570.12.0", "2026-04-27", RHEL_9_6),
        rhel("RHEL 9.4 up to 5.14.0-427.98.0", "2026-03-31", RHEL_9_4),
        sles("SLES 12 SP5, 4.12.14-122.144 to 122.147", TO_HPET, "2023-03-09", SLES_12_5),
        sles(
            "SLES 15 SP4 from 5.14.21-150400.24.33, before 24.41",
            TO_HPET,
            "2023-04-06",
            SLES_15_4,
        ),
        sles(
            "SLES 15 SP4 from 5.14.21-150400.24.88, before 24.108",
            MANY,
            "2024-02-21",
            SLES_15_4_LATER,
        ),
        sles("SLES 15 SP5 before 5.14.21-150500.55.44", MANY, "2024-01-31", SLES_15_5),
        power("SLES 15 SP4 before 5.14.21-150400.24.11", SLES_15_4_POWER),
        power("RHEL 9.2 before 5.14.0-284.21.1", RHEL_9_2_POWER),
    ],
    so_what: "A support condition for HANA: the checks of the vendor read current_clocksource and report every \
              other name.",
    do_what: "Match the rule for your platform. On bare metal with a demoted TSC fix the cause first: a forced, unstable \
              TSC is worse than a slow clock.",
    see_also: &["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "timebase"],
};

const TO_HPET: &str = "the clocksource changes from TSC to HPET under high I/O load";
const MANY: &str = "faults of the clocksource watchdog";

const RHEL: Is = Is::Rhel { from: 9, to: 9 };
const RHEL_9_6: When =
    When::all(&[X86, RHEL, Is::Release { from: "5.14.0-570", to: "5.14.0-570.12.0" }]);
const RHEL_9_4: When =
    When::all(&[X86, RHEL, Is::Release { from: "5.14.0-427", to: "5.14.0-427.98.0" }]);
const RHEL_9_2_POWER: When =
    When::all(&[POWER, RHEL, Is::Release { from: "5.14.0-284.1", to: "5.14.0-284.21.0" }]);
const SLES_12_5: When =
    When::all(&[X86, Is::Suse, Is::Release { from: "4.12.14-122.144.1", to: "4.12.14-122.147.1" }]);
const SLES_15_4: When = When::all(&[
    X86,
    Is::Suse,
    Is::Release { from: "5.14.21-150400.24.33.2", to: "5.14.21-150400.24.41.0" },
]);
const SLES_15_4_LATER: When = When::all(&[
    X86,
    Is::Suse,
    Is::Release { from: "5.14.21-150400.24.88.1", to: "5.14.21-150400.24.108.0" },
]);
const SLES_15_5: When = When::all(&[
    X86,
    Is::Suse,
    Is::Release { from: "5.14.21-150500.53.2", to: "5.14.21-150500.55.44.0" },
]);
const SLES_15_4_POWER: When = When::all(&[
    POWER,
    Is::Suse,
    Is::Release { from: "5.14.21-150400.22.1", to: "5.14.21-150400.24.11.0" },
]);

const fn rhel(kernels: &'static str, since: &'static str, when: When) -> Avoided {
    Avoided {
        when,
        kernels,
        fault: "the clocksource changes from TSC to HPET under heavy load",
        since,
        source: Cited {
            text: "SAP/arp142-hana, check 0021, for solution 7134046 of Red Hat",
            dated: since,
            read_in: None,
            words: "should be avoided",
        },
    }
}

const fn sles(
    kernels: &'static str,
    fault: &'static str,
    since: &'static str,
    when: When,
) -> Avoided {
    Avoided {
        when,
        kernels,
        fault,
        since,
        source: Cited {
            text: "SAP/arp142-hana, check 0011, for SUSE TID 000021035 and bsc#1215885",
            dated: "2024-02-21",
            read_in: None,
            words: "TSC Clocksource Switching to HPET During High I/O Load",
        },
    }
}

const fn power(kernels: &'static str, when: When) -> Avoided {
    Avoided {
        when,
        kernels,
        fault: "clock_gettime() hangs on POWER",
        since: "2025-02-05",
        source: Cited {
            text: "SAP/arp142-hana, checks 0011 and 0021, for SAP note 3415906",
            dated: "2025-05-14",
            read_in: None,
            words: "clock_gettime @ IBM Power",
        },
    }
}
