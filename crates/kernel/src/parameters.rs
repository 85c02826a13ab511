//! Effects of kernel parameters on a machine before any clock registers: CPU features, initcalls, the local APIC, the
//! number of processors.

use crate::Machine;
use crate::feature::Feature;

impl Machine {
    /// Whether `clearcpuid=` disables this CPU feature, by its name or by its number in
    /// `arch/x86/include/asm/cpufeatures.h` (word * 32 + bit).
    #[must_use]
    pub fn clears_cpuid(&self, name: &str, number: u32) -> bool {
        let by_name = Feature::ClearcpuidNames.of(&self.kernel.value);
        let number = number.to_string();
        let mut items = self.cmdline.value.values("clearcpuid").flat_map(|list| list.split(','));
        items.any(|item| item == number || by_name && item == name)
    }

    /// Whether `initcall_blacklist=` prevents this function from being called at boot. Source: `initcall_blacklisted()`
    /// in `init/main.c`, since 3.16.
    #[must_use]
    pub fn skips_initcall(&self, function: &str) -> bool {
        let mut lists = self.cmdline.value.values("initcall_blacklist");
        lists.any(|list| list.split(',').any(|item| item == function))
    }

    /// Whether the command line disables the local APIC; `disableapic` and `nolapic` are one parameter. Source:
    /// `setup_disableapic()` in `arch/x86/kernel/apic/apic.c`, all versions.
    #[must_use]
    pub fn local_apic_off(&self) -> bool {
        self.cmdline.value.has("nolapic") || self.cmdline.value.has("disableapic")
    }

    /// The parameter `possible CPUs`, after the command line has lowered it (`nosmp`, `nr_cpus=`,
    /// `possible_cpus=`, `nolapic`, `disableapic`, `maxcpus=0`; `maxcpus=1` does not). Source: `prefill_possible_map()` /
    /// `topology_apply_cmdline_limits_early()`, all versions.
    #[must_use]
    pub fn effective_possible_cpus(&self) -> u32 {
        let line = &self.cmdline.value;
        let mut n = self.possible_cpus.value.max(1);
        let limit =
            |name: &str| line.number(name).and_then(|n| u32::try_from(n).ok()).filter(|n| *n >= 1);
        // A count that was read already contains the effect of the command line; a count that was
        // assumed, or another command line, does not.
        let read = matches!(self.possible_cpus.basis, crate::Basis::Fact(_))
            && self.cmdline.basis != crate::Basis::WhatIf;
        if !read && let Some(set) = limit("possible_cpus") {
            n = set;
        }
        if line.has("nosmp") || line.last("maxcpus") == Some("0") || self.local_apic_off() {
            n = 1;
        }
        for name in ["nr_cpus", "possible_cpus"] {
            if let Some(limit) = limit(name) {
                n = n.min(limit);
            }
        }
        n
    }
}
