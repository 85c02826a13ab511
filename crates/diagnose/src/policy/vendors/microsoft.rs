//! Microsoft: Hyper-V and Azure, according to the kernel's documentation, which the maintainers of Linux on Hyper-V
//! write.

use crate::policy::when::{Is, When};
use crate::policy::{Ask, Cited, Rule, Vendor};
use clocksmith_facts::Arch;
use clocksmith_facts::hypervisor::{Cloud, HypervisorKind};

const HYPERV: Is = Is::Hypervisor(&[HypervisorKind::Hyperv]);
const X86: Is = Is::Arch(&[Arch::X86_64, Arch::X86]);

const fn clocks(words: &'static str) -> Cited {
    Cited {
        text: "Linux, Documentation/virt/hyperv/clocks.rst, by Microsoft's maintainers",
        dated: "2024-05-28",
        read_in: None,
        words,
    }
}

pub(super) const VENDOR: Vendor = Vendor {
    id: "microsoft",
    name: "Microsoft",
    about: "Azure, Hyper-V and WSL 2",
    words: &["azure", "hyper-v", "hyperv", "wsl", "wsl2"],
    clouds: &[Cloud::Azure],
    rules: &[
        Rule {
            machines: "Hyper-V that grants the invariant TSC, x86",
            when: When::all(&[HYPERV, X86, Is::HypervGrantsTsc]),
            purpose: None,
            ask: Ask::Clocksource {
                preferred: &["tsc"],
                tolerated: &["hyperv_clocksource_tsc_page"],
                flags: &[],
            },
            sets: &[],
            since: "2022-07-13",
            until: None,
            source: clocks("it prefers to use Linux's standard TSC-based clocksource"),
        },
        Rule {
            machines: "Hyper-V that does not grant the invariant TSC, x86",
            when: When { all: &[HYPERV, X86], none: &[Is::HypervGrantsTsc] },
            purpose: None,
            ask: Ask::only(&["hyperv_clocksource_tsc_page"]),
            sets: &[],
            since: "2022-07-13",
            until: None,
            source: clocks(
                "Otherwise, it uses the clocksource for the Hyper-V synthetic system clock",
            ),
        },
        Rule {
            machines: "Hyper-V, 64-bit Arm",
            when: When::all(&[HYPERV, Is::Arch(&[Arch::Arm64])]),
            purpose: None,
            ask: Ask::only(&["arch_sys_counter"]),
            sets: &[],
            since: "2022-07-13",
            until: None,
            source: clocks("Guest VMs use this virtualized hardware as the Linux clocksource"),
        },
    ],
    kernels: &[],
    so_what: "Linux does this by itself since 5.6; there is nothing to configure in the guest.",
    do_what: "Leave the choice to the kernel. Do not force tsc on hosts that do not grant it: its rate may change when \
              the guest moves.",
    see_also: &["AccessTscInvariant", "hyperv_clocksource_tsc_page", "invariant-tsc-withheld"],
};
