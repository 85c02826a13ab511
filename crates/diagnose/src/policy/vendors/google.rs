//! Google: Compute Engine. Its texts require a clocksource for SAP HANA only.

use crate::policy::when::{Is, When};
use crate::policy::{Ask, Cited, Rule, Vendor};
use clocksmith_facts::Arch;
use clocksmith_facts::hypervisor::Cloud;

const GCE: When = When::all(&[Is::Cloud(&[Cloud::Gce]), Is::Arch(&[Arch::X86_64])]);
const HANA: Option<&str> = Some("SAP HANA");

pub(super) const VENDOR: Vendor = Vendor {
    id: "google",
    name: "Google",
    about: "SAP HANA on Compute Engine",
    words: &["gcp", "gce", "google cloud", "compute engine"],
    clouds: &[Cloud::Gce],
    rules: &[
        Rule {
            machines: "Compute Engine, x86-64",
            when: GCE,
            purpose: HANA,
            ask: Ask::only(&["tsc"]),
            sets: &[],
            since: "2026-04-13",
            until: None,
            source: Cited {
                text: "Google Cloud, SAP HANA planning guide, OS clocksource on Compute Engine instances",
                dated: "2026-04-13",
                read_in: None,
                words: "the required OS clocksource is TSC",
            },
        },
        Rule {
            machines: "Compute Engine, x86-64",
            when: GCE,
            purpose: HANA,
            ask: Ask::only(&["kvm-clock", "tsc"]),
            sets: &[],
            since: "2024-04-28",
            until: Some("2026-04-13"),
            source: Cited {
                text: "Google Cloud, SAP HANA planning guide, OS clocksource on Compute Engine VMs",
                dated: "2024-04-28",
                read_in: Some("SAP/arp142-hana, issue 122"),
                words: "no difference in performance",
            },
        },
    ],
    kernels: &[],
    so_what: "Google's guide for SAP HANA once called kvm-clock and tsc equal, and now requires tsc. For other programs \
              no text of Google is known here.",
    do_what: "On instances that run SAP HANA use tsc, which SAP's own check accepts there as well. \
              Elsewhere leave the choice to the kernel: both are read without a system call.",
    see_also: &["kvm-clock", "tsc", "SAP"],
};
