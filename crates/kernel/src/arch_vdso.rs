//! The counters that the vDSO of each architecture can read, and the first versions.
//!
//! Sources: `vdso_clock_mode` of the clocksources (5.7 and later), `archdata` before; the vDSO's own code where a version
//! is named. A result that depends on the processor and not only on the version is `None`: the evidence rarely shows
//! it.

use crate::feature::Feature;
use crate::machine::Clusters;
use crate::{Input, Machine};
use clocksmith_facts::Arch;
use clocksmith_facts::version::Kernel;
use std::borrow::Cow;

/// Whether the vDSO has a way to read a clocksource on this kernel; `None` if nothing is known of it.
pub(crate) fn has_mode(machine: &Machine, name: &str) -> Option<bool> {
    let kernel = &machine.kernel.value;
    if clocksmith_facts::names::is_memory_mapped_timer(name) {
        return Some(false);
    }
    if machine.arch.is_assumed() && of_name(name).is_none() {
        return None;
    }
    Some(match (machine.arch.value, name) {
        (Arch::X86_64 | Arch::X86, _) => return of_x86(machine, name),
        (Arch::Arm64, "arch_sys_counter") => Feature::Arm64Vdso.of(kernel),
        // patch_vdso() disables the functions if the architected counter cannot be read.
        (Arch::Arm, "arch_sys_counter") => Feature::ArmVdso.of(kernel),
        // arch/riscv/Kconfig: HAVE_GENERIC_VDSO only on 64-bit kernels.
        (Arch::Riscv, "riscv_clocksource") => Feature::RiscvVdso.of(kernel),
        (Arch::Mips, "GIC") => return gic(machine),
        (Arch::Mips, "MIPS") if Feature::MipsVdso.of(kernel) => return machine.mips_count_readable,
        (Arch::S390, "tod") => Feature::S390Vdso.of(kernel),
        // The 32-bit and 64-bit vDSOs are older (2.6.15) than the clocksource of this name
        // (2.6.24).
        (Arch::Powerpc, "timebase") => true,
        (Arch::Loongarch, "Constant") => {
            return Feature::LoongarchUpstream.of(kernel).then_some(true);
        }
        // The vendor's kernels for Loongson processors: the evidence does not show the counter that their vDSO reads.
        (Arch::Loongarch | Arch::Loongarch32 | Arch::Mips, "stable counter") => return None,
        // time_init_early() in arch/sparc/kernel/time_64.c gives both a mode, and the one of Hummingbird (hbtick) none.
        (Arch::Sparc, "tick" | "stick") => return sparc(kernel),
        // Itanium has no vDSO clock, but reads its counter in a system call that does not change the stack
        // (fsys_clock_gettime() in arch/ia64/kernel/fsys.S, up to 6.6; only for CLOCK_REALTIME and CLOCK_MONOTONIC, as
        // ia64_clock_getres() in sys_ia64.c says): its cost is that of neither path, so nothing is claimed.
        (Arch::Um | Arch::Ia64, _) => return None,
        // PA-RISC: vdso64_generic.c (5.18 and later) makes the system call. OpenRISC has no vDSO. LoongArch selects
        // GENERIC_GETTIMEOFDAY only with 64 bits ("LoongArch: Adjust build infrastructure for
        // 32BIT/64BIT", of November 2025, for 6.19): a 32-bit kernel states its width, so that no version decides.
        _ => false,
    })
}

/// With one cluster of processors the vDSO reads the GIC. With several it does not (`gic_clocksource_init()` in
/// drivers/clocksource/mips-gic-timer.c). Vendors of such machines had that code before it was merged, so the
/// processors that the kernel may use prove more than its version.
fn gic(machine: &Machine) -> Option<bool> {
    let kernel = &machine.kernel.value;
    if !Feature::MipsVdso.of(kernel) {
        return Some(false);
    }
    match machine.clusters {
        Clusters::One => Some(true),
        Clusters::Used => Some(false),
        // Kernels of makers use several before Linux itself does.
        Clusters::Several | Clusters::Unknown => None,
    }
}

/// Whether the vDSO of SPARC exists; `None` for the kernels for which no source shows it.
fn sparc(kernel: &Kernel) -> Option<bool> {
    if Feature::SparcVdsoLatest.of(kernel) {
        return Some(true);
    }
    (!Feature::SparcVdsoEarliest.of(kernel)).then_some(false)
}

/// The architectures that have a clocksource of this name; `None` if many may have one.
fn of_name(name: &str) -> Option<&'static [Arch]> {
    Some(match name {
        "arch_sys_counter" => &[Arch::Arm64, Arch::Arm],
        // drivers/clocksource/arm_global_timer.c, only for 32-bit kernels.
        "arm_global_timer" => &[Arch::Arm],
        // Timers of 32-bit Arm's boards and chips, mapped into memory, which no vDSO reads: OMAP (arch/arm/mach-omap2/timer.c),
        // i.MX, AT91, Qualcomm, Samsung, Armada, Orion, Tegra, Allwinner and others of drivers/clocksource that depend
        // on ARM.
        "dmtimer"
        | "32k_counter"
        | "tcb_clksrc"
        | "mxs_timer"
        | "mxc_timer1"
        | "dg_timer"
        | "gp_timer"
        | "stc"
        | "samsung_clocksource_timer"
        | "armada_370_xp_clocksource"
        | "orion_clocksource"
        | "timer_us"
        | "sun4i"
        | "sirfsoc_clocksource"
        | "vt8500_timer"
        | "dbx500-prcmu-timer"
        | "lpc3220 clocksource" => &[Arch::Arm],
        // Exynos (drivers/clocksource/exynos_mct.c) and Arm's SP804 are also in 64-bit chips, with the same answer.
        "mct-frc" | "arm,sp804" | "hisilicon,sp804" => &[Arch::Arm, Arch::Arm64],
        "riscv_clocksource" => &[Arch::Riscv, Arch::Riscv32],
        "tod" => &[Arch::S390],
        "timebase" => &[Arch::Powerpc],
        "Constant" => &[Arch::Loongarch, Arch::Loongarch32],
        "openrisc_timer" => &[Arch::Openrisc],
        "cr16" => &[Arch::Parisc],
        // arch/sparc/kernel/time_32.c, where no clocksource has a vDSO mode.
        "timer_cs" => &[Arch::Sparc],
        // drivers/clocksource/jcore-pit.c.
        "jcore_pit_cs" => &[Arch::Sh],
        // The hub of SGI's Origin (arch/mips/sgi-ip27/ip27-timer.c), HEART of its Octane (sgi-ip30/ip30-timer.c), Cavium's counter
        // (arch/mips/cavium-octeon/csrc-octeon.c) and the counter of Ingenic's kernels have no vDSO
        // mode: `__arch_get_hw_counter()` in arch/mips/include/asm/vdso/gettimeofday.h reads only
        // R4K and GIC.
        "MIPS" | "GIC" | "HEART" | "HUB-RT" | "OCTEON_CVMCOUNT" | "jz_clocksource" => &[Arch::Mips],
        _ if clocksmith_facts::names::find(name).is_some_and(|known| known.x86) => {
            &[Arch::X86_64, Arch::X86]
        }
        _ => return None,
    })
}

/// The machine that a clocksource's name allows: if the architecture was assumed, the name proves more.
pub(crate) fn with_arch_of<'a>(machine: &'a Machine, name: &str) -> Cow<'a, Machine> {
    match of_name(name) {
        Some(archs) if machine.arch.is_assumed() && !archs.contains(&machine.arch.value) => {
            let mut machine = machine.clone();
            machine.arch = Input::assumed(archs[0], "the name of the clocksource");
            Cow::Owned(machine)
        }
        _ => Cow::Borrowed(machine),
    }
}

/// x86: `arch/x86/entry/vdso`, `arch/x86/include/asm/vdso/clocksource.h`.
///
/// `None` for a name that no kernel of Linux has: a driver from elsewhere may state any of the vDSO's modes. And for a
/// release of a stable line that may have received the mode.
fn of_x86(machine: &Machine, name: &str) -> Option<bool> {
    let kernel = &machine.kernel.value;
    Some(match name {
        "tsc" | "tsc-early" => true,
        "kvm-clock" => {
            Feature::KvmClockVdso.of(kernel)
                && machine.arch.value != Arch::X86
                && !machine.cmdline.value.has("no-kvmclock-vsyscall")
        }
        "xen" if machine.xen_no_vdso.is_some() => false,
        "xen" if Feature::XenVdso.may_be_in_stable(kernel) => return None,
        "xen" => Feature::XenVdso.of(kernel),
        "hyperv_clocksource_tsc_page" if Feature::HypervPageVdso.may_be_backported(kernel) => {
            return None;
        }
        "hyperv_clocksource_tsc_page" => Feature::HypervPageVdso.of(kernel),
        "hpet" => Feature::HpetVdso.of(kernel),
        _ if clocksmith_facts::names::is_known(name) => false,
        _ => return None,
    })
}

/// Whether the vDSO serves the coarse clocks, which read no counter; `None` if nothing is known of it.
#[must_use]
pub fn serves_coarse(machine: &Machine) -> Option<bool> {
    let kernel = &machine.kernel.value;
    let since = match machine.arch.value {
        Arch::X86_64 => Feature::CoarseClocks,
        Arch::X86 => Feature::Vdso32,
        Arch::Arm64 => Feature::Arm64Vdso,
        Arch::Riscv => Feature::RiscvVdso,
        Arch::Mips => Feature::MipsVdso,
        // Without an architected counter all functions are removed from the vDSO.
        Arch::Arm if Feature::ArmVdso.of(kernel) => return None,
        Arch::Arm => Feature::ArmVdso,
        Arch::Loongarch => return Feature::LoongarchUpstream.of(kernel).then_some(true),
        Arch::Alpha
        | Arch::M68k
        | Arch::Sh
        | Arch::Parisc
        | Arch::Openrisc
        | Arch::Loongarch32
        | Arch::Riscv32 => {
            return Some(false);
        }
        Arch::Sparc => return sparc(kernel),
        Arch::S390 | Arch::Powerpc if Feature::GenericVdsoEverywhere.of(kernel) => {
            return Some(true);
        }
        Arch::S390 | Arch::Powerpc | Arch::Um | Arch::Ia64 => return None,
    };
    Some(since.of(kernel))
}

/// Whether the kernel has the clocksource directory of sysfs.
#[must_use]
pub fn has_sysfs_directory(machine: &Machine) -> bool {
    let since = match machine.arch.value {
        Arch::X86_64 => Feature::SysfsClocksource64,
        _ => Feature::SysfsClocksource,
    };
    since.of(&machine.kernel.value)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::open::{OpenInput, ask};
    use crate::vdso::serves;
    use clocksmith_facts::hypervisor::{Hypervisor, HypervisorKind};
    use clocksmith_facts::{Facts, Origin};

    fn machine(arch: Arch, kernel: &str) -> Machine {
        let mut machine = Machine::of(&Facts::empty(Origin::Stated));
        machine.arch = Input::what_if(arch);
        machine.set_kernel(kernel).unwrap();
        machine
    }

    #[test]
    fn serves_counter_of_an_architecture_from_its_version_on() {
        for (arch, name, before, since) in [
            (Arch::Arm, "arch_sys_counter", "4.0", "4.1"),
            (Arch::Arm64, "arch_sys_counter", "3.6", "3.7"),
            (Arch::Riscv, "riscv_clocksource", "5.7", "5.8"),
            (Arch::S390, "tod", "2.6.28", "2.6.29"),
            (Arch::Sparc, "stick", "4.9", "4.19"),
            (Arch::Sparc, "tick", "4.9", "4.19"),
        ] {
            assert_eq!(serves(&machine(arch, before), name), Some(false), "{name} {before}");
            assert_eq!(serves(&machine(arch, since), name), Some(true), "{name} {since}");
        }
        assert_eq!(serves(&machine(Arch::Mips, "4.3"), "GIC"), Some(false));
        // Whether it has one cluster is in the log.
        assert_eq!(serves(&machine(Arch::Mips, "4.4"), "GIC"), None);
        assert_eq!(serves(&machine(Arch::Mips, "6.13"), "GIC"), None);
        for (arch, name) in [
            (Arch::Sparc, "hbtick"),
            (Arch::Parisc, "cr16"),
            (Arch::Openrisc, "openrisc_timer"),
            (Arch::Loongarch32, "Constant"),
            (Arch::Riscv32, "riscv_clocksource"),
        ] {
            assert_eq!(serves(&machine(arch, "6.19"), name), Some(false), "{name}");
        }
        assert_eq!(serves(&machine(Arch::Loongarch, "6.19"), "Constant"), Some(true));
        assert_eq!(serves(&machine(Arch::Loongarch, "4.19"), "Constant"), None);
        assert_eq!(serves(&machine(Arch::Sparc, "4.15"), "tick"), None);
        assert_eq!(serves(&machine(Arch::Ia64, "5.12"), "itc"), None);
        assert_eq!(serves(&machine(Arch::Arm, "6.1"), "mxc_timer1"), Some(false));
        assert_eq!(serves(&machine(Arch::Mips, "6.1"), "MIPS"), None);
        assert_eq!(serves(&machine(Arch::Mips, "5.3"), "HUB-RT"), Some(false));
        assert_eq!(serves(&machine(Arch::X86_64, "4.4"), "hyperv_clocksource"), Some(false));
    }

    #[test]
    fn serves_coarse_on_32_bit_x86_since_3_15() {
        assert_eq!(serves_coarse(&machine(Arch::X86, "3.2")), Some(false));
        assert_eq!(serves_coarse(&machine(Arch::X86, "3.16")), Some(true));
        assert_eq!(serves_coarse(&machine(Arch::X86_64, "3.2")), Some(true));
    }

    #[test]
    fn ask_hyperv_without_privilege_flags_depends_on_the_grant() {
        let mut guest = machine(Arch::X86_64, "6.1");
        guest.hypervisor = Input::what_if(Some(Hypervisor::named(HypervisorKind::Hyperv)));
        let answer = ask(&guest, |m| crate::predict(m).tsc);
        assert!(answer.depends_on.contains(&OpenInput::InvariantGrant), "{:?}", answer.depends_on);
        // A grant counts since 5.5.
        guest.set_kernel("4.15").unwrap();
        assert!(guest.knows(OpenInput::InvariantGrant));
    }
}
