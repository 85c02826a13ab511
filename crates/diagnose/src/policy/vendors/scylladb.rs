//! ScyllaDB: the settings that its setup script writes.

use crate::policy::when::{Is, When};
use crate::policy::{Ask, Cited, Rule, Vendor};
use clocksmith_facts::Arch;
use clocksmith_facts::hypervisor::HypervisorKind;

const X86_64: Is = Is::Arch(&[Arch::X86_64]);
const KVM: Is = Is::Hypervisor(&[HypervisorKind::Kvm]);

const PERFTUNE: Cited = Cited {
    text: "scylladb/seastar, scripts/perftune.py, ClocksourceManager",
    dated: "2026-08-02",
    read_in: None,
    words: "",
};

pub(super) const VENDOR: Vendor = Vendor {
    id: "scylladb",
    name: "ScyllaDB",
    about: "ScyllaDB and other programs on Seastar",
    words: &["scylla", "seastar", "perftune"],
    clouds: &[],
    rules: &[
        Rule {
            machines: "KVM guests, also EC2 and Google, x86-64",
            when: When::all(&[X86_64, KVM]),
            purpose: None,
            ask: Ask::only(&["kvm-clock"]),
            sets: &[],
            since: "2020-11-09",
            until: None,
            source: PERFTUNE,
        },
        Rule {
            machines: "all others, x86-64",
            when: When { all: &[X86_64], none: &[KVM] },
            purpose: None,
            ask: Ask::only(&["tsc"]),
            sets: &[],
            since: "2020-11-09",
            until: None,
            source: PERFTUNE,
        },
    ],
    kernels: &[],
    so_what: "The setup script writes the choice at run time, and the image puts tsc on the command line. Both count as \
              a choice of the administrator in the diagnosis.",
    do_what: "Follow it if the support contract requires it, and run clocksmith verify once, because with tsc=reliable \
              the kernel no longer checks the TSC.",
    see_also: &["tsc=reliable", "runtime-override", "cmdline-clocksource-override"],
};
