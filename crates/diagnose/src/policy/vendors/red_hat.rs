//! Red Hat: RHEL for Real Time, and the profile of TuneD for SAP HANA in KVM guests.

use crate::policy::when::{Is, When};
use crate::policy::{Ask, Avoided, Cited, Rule, Vendor};
use clocksmith_facts::Arch;
use clocksmith_facts::hypervisor::HypervisorKind;

const X86: Is = Is::Arch(&[Arch::X86_64, Arch::X86]);
const RHEL: Is = Is::Rhel { from: 7, to: u8::MAX };

pub(super) const VENDOR: Vendor = Vendor {
    id: "red-hat",
    name: "Red Hat",
    about: "RHEL for Real Time; SAP HANA on RHEL in KVM",
    words: &["redhat", "rhel", "tuned", "centos"],
    clouds: &[],
    rules: &[
        Rule {
            machines: "real-time kernels of RHEL, x86",
            when: When::all(&[RHEL, Is::RealTime, X86]),
            purpose: None,
            ask: Ask::Clocksource { preferred: &["tsc"], tolerated: &["hpet"], flags: &[] },
            sets: &["tsc=reliable"],
            since: "2024-01-04",
            until: None,
            source: Cited {
                text: "RHEL for Real Time 7, Tuning Guide, 2.6 and Reference Guide, 15.1; TuneD, profile network-latency",
                dated: "2024-01-04",
                read_in: None,
                words: "TSC is generally the preferred clock source",
            },
        },
        Rule {
            machines: "RHEL in KVM guests, x86",
            when: When::all(&[RHEL, Is::Hypervisor(&[HypervisorKind::Kvm]), X86]),
            purpose: Some("SAP HANA"),
            ask: Ask::only(&["tsc"]),
            sets: &[],
            since: "2023-05-09",
            until: None,
            source: Cited {
                text: "redhat-performance/tuned, profiles/sap-hana-kvm-guest/tuned.conf",
                dated: "2023-08-21",
                read_in: None,
                words: "Optimize for running SAP HANA on KVM inside a virtual guest",
            },
        },
    ],
    kernels: &[
        Avoided {
            when: When::all(&[
                X86,
                Is::Release { from: "5.14.0-570", to: "5.14.0-570.12.0" },
                RHEL,
            ]),
            kernels: "RHEL 9.6 up to 5.14.0-570.12.0",
            fault: TO_HPET,
            since: "2026-04-27",
            source: known_issue("2026-04-27"),
        },
        Avoided {
            when: When::all(&[
                X86,
                Is::Release { from: "5.14.0-427", to: "5.14.0-427.98.0" },
                RHEL,
            ]),
            kernels: "RHEL 9.4 up to 5.14.0-427.98.0",
            fault: TO_HPET,
            since: "2026-03-31",
            source: known_issue("2026-03-31"),
        },
    ],
    so_what: "For real time Red Hat prefers tsc and names hpet as the second best. Its profile for SAP HANA in \
              KVM guests sets tsc, although SAP's own check asks for kvm-clock there.",
    do_what: "On real-time kernels keep tsc if the kernel trusts it. In a KVM guest use tsc only with the invariant \
              TSC, and ask the vendor of the database which of the two rules it supports.",
    see_also: &["tsc", "hpet", "tsc=reliable", "SAP"],
};

const TO_HPET: &str = "the clocksource changes from TSC to HPET under heavy load";

const fn known_issue(dated: &'static str) -> Cited {
    Cited {
        text: "Red Hat knowledge base, solution 7134046",
        dated,
        read_in: Some("SAP/arp142-hana, check 0021"),
        words: "The Clocksource switches from TSC to HPET under heavy load",
    }
}
