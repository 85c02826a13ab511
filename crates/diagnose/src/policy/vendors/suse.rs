//! SUSE: the best practices for SAP HANA in KVM guests, which changed from tsc to kvm-clock between two service packs.

use crate::policy::when::{Is, When};
use crate::policy::{Ask, Avoided, Cited, Rule, Vendor};
use clocksmith_facts::Arch;
use clocksmith_facts::hypervisor::HypervisorKind;

const X86: Is = Is::Arch(&[Arch::X86_64]);
const KVM: Is = Is::Hypervisor(&[HypervisorKind::Kvm]);
const HANA: Option<&str> = Some("SAP HANA");
/// SLES 15 SP2 and SP3.
const LINUX_5_3: Is = Is::Release { from: "5.3.18", to: "5.3.18-999999" };
/// SLES 15 SP4 and later.
const SINCE_5_14: Is = Is::Release { from: "5.14.21", to: "9999" };

pub(super) const VENDOR: Vendor = Vendor {
    id: "suse",
    name: "SUSE",
    about: "SAP HANA on SLES in KVM",
    words: &["sles", "sle", "opensuse"],
    clouds: &[],
    rules: &[
        Rule {
            machines: "SLES 15 SP4 and later in KVM guests, x86-64",
            when: When::all(&[Is::Suse, SINCE_5_14, KVM, X86]),
            purpose: HANA,
            ask: Ask::only(&["kvm-clock"]),
            sets: &[],
            since: "2023-09-27",
            until: None,
            source: Cited {
                text: "SUSE Best Practices for SAP HANA on KVM, SLES for SAP 15 SP4, SP5 and SP7, Setting the clock source",
                dated: "2026-06-15",
                read_in: None,
                words: "You need to set the clock source to kvm-clock",
            },
        },
        Rule {
            machines: "SLES 15 SP2 and SP3 in KVM guests, x86-64",
            when: When::all(&[Is::Suse, LINUX_5_3, KVM, X86]),
            purpose: HANA,
            ask: Ask::only(&["tsc"]),
            sets: &[],
            since: "2021-11-29",
            until: None,
            source: Cited {
                text: "SUSE Best Practices for SAP HANA on KVM, SLES for SAP 15 SP2, Setting the clock source",
                dated: "2021-12-02",
                read_in: None,
                words: "The clock source needs to be set to tsc",
            },
        },
    ],
    kernels: &[
        Avoided {
            when: When::all(&[
                X86,
                Is::Suse,
                Is::Release { from: "5.14.21-150400.24.33.2", to: "5.14.21-150400.24.41.0" },
            ]),
            kernels: "SLES 15 SP4 from 5.14.21-150400.24.33, before 24.41",
            fault: TO_HPET,
            since: "2023-04-06",
            source: TID,
        },
        Avoided {
            when: When::all(&[
                X86,
                Is::Suse,
                Is::Release { from: "4.12.14-122.144.1", to: "4.12.14-122.147.1" },
            ]),
            kernels: "SLES 12 SP5, 4.12.14-122.144 to 122.147",
            fault: TO_HPET,
            since: "2023-03-09",
            source: TID,
        },
    ],
    so_what: "The guide for SLES 15 SP2 asks for tsc in a KVM guest that runs SAP HANA, those for \
              SP4 and later ask for kvm-clock, and all of them ask for the invariant TSC. The \
              scripts in the later ones still have the comment \"Set clocksource to tsc\".",
    do_what: "Follow the guide of the service pack if SAP supports the system according to it. Both clocksources are \
              read without a system call if the host sets the stable bit.",
    see_also: &["kvm-clock", "tsc", "SAP"],
};

const TO_HPET: &str = "the clocksource changes from TSC to HPET under high I/O load, on machines with many processors";

/// The document names the service packs; which kernels of them was read in SAP's check.
const TID: Cited = Cited {
    text: "SUSE support document 000021035; the kernels by SAP's check 0011",
    dated: "2023-04-06",
    read_in: Some("SAP/arp142-hana, check 0011"),
    words: "TSC Clocksource Switching to HPET During High I/O Load",
};
