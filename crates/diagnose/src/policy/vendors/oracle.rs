//! Oracle: the database in virtual machines, on its own cloud or elsewhere.

use crate::policy::when::{Is, When};
use crate::policy::{Ask, Cited, Rule, Vendor};
use clocksmith_facts::Arch;
use clocksmith_facts::hypervisor::Cloud;

pub(super) const VENDOR: Vendor = Vendor {
    id: "oracle",
    name: "Oracle",
    about: "Oracle Database in virtual machines",
    words: &["oci", "oracle database", "oracle cloud"],
    clouds: &[Cloud::Oci],
    rules: &[Rule {
        machines: "virtual machines, x86-64",
        when: When::all(&[Is::Virtual, Is::Arch(&[Arch::X86_64])]),
        purpose: Some("Oracle Database"),
        ask: Ask::only(&["tsc"]),
        sets: &[],
        since: "2025-10-23",
        until: None,
        source: Cited {
            text: "Oracle Real Application Clusters Installation Guide for Podman, F56134-07, Set Clock Source; also the \
                   installation guides of Oracle Database since 19c, Setting Clock Source for VMs on Linux x86-64",
            dated: "2026-01-16",
            read_in: None,
            words: "Oracle recommends that you set the clock source to tsc for better performance in virtual environments",
        },
    }],
    kernels: &[],
    so_what: "A recommendation of the installation guides, for machines whose kernel offers tsc. It names no \
              hypervisor, so it also covers those that do not keep the rate of the TSC.",
    do_what: "Follow it if the guest has an invariant TSC. Otherwise first configure the hypervisor to give the guest \
              one: for a database, too, a forced, unstable TSC is worse than a slow clock.",
    see_also: &["tsc", "kvm-clock", "invariant-tsc-withheld"],
};
