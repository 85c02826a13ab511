//! Clocksources that people meet; every other name of [`crate::names`] gets a short entry.

use super::entry::{Entry, Explanation, Kind};
use crate::names::Name;

/// Clocksources with a text of their own.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        id: "tsc",
        words: &["tsc", "time stamp counter", "rdtsc"],
        what: "The time stamp counter of x86 CPUs, read with one instruction (rdtsc) in user \
         space through the vDSO: about 10 to 25 ns. Rating 300, or 0 once it is marked unstable.",
        versions: "All. Registered one second into the boot after refinement (2.6.38 and later), \
         at once where the frequency is known (TSC_KNOWN_FREQ, 4.10 and later). Up to 4.15 an \
         unstable tsc is still registered, with rating 0; since 4.16 it is not.",
        so_what: "The best clocksource on x86 when it is constant, does not stop in idle, and is \
         the same on all CPUs. The kernel tests that at boot, and a watchdog may demote it \
         later; that lasts until the next boot.",
        do_what: "If it is in use: nothing. If it is missing from available_clocksource: find \
         the first line `Marking TSC unstable due to` or `Marking clocksource 'tsc' as unstable` \
         in the log of this boot.",
        see_also: &["invariant TSC", "watchdog", "vDSO", "tsc-early", "tsc-warp", "tsc-skew"],
        sources: &["arch/x86/kernel/tsc.c, 2.6.32 to 7.1"],
    },
    Entry {
        id: "tsc-early",
        words: &["tsc-early"],
        what: "The TSC with its first, rough frequency. It serves for the first second of a \
         boot, until the refined `tsc` replaces it. Rating 299.",
        versions: "4.16 and later. Up to 5.3 tsc=reliable and tsc=nowatchdog do not protect it.",
        so_what: "Normal for a second or so. If a machine stays on it, the refinement never \
         finished. If it is demoted, tsc never arrives.",
        do_what: "Nothing in the first seconds. If it was demoted at boot: wrong tsc_early_khz=, \
         a disturbed calibration, or jiffies as the only reference (seen in guests without HPET \
         and PM timer).",
        see_also: &["tsc", "tsc-miscalibrated", "tsc_early_khz", "refined-jiffies"],
        sources: &["clocksource_tsc_early in arch/x86/kernel/tsc.c, 4.16 and later"],
    },
    Entry {
        id: "hpet",
        words: &["hpet", "High Precision Event Timer"],
        what: "The High Precision Event Timer, a counter in the chipset at 14.3, 24, 25 or 100 \
         MHz that is read over memory-mapped I/O. Rating 250.",
        versions: "All. Read in the vDSO up to 4.6, by system call since 4.7; since 4.9 readers \
         on many CPUs share one value under a lock. Disabled since 5.15 (stable 5.10 too) on \
         Intel machines whose HPET stops in PC10.",
        so_what: "Slow: about 0.5 to 1 us on hardware, several us in a virtual machine, and \
         worse with many CPUs. If it is current, the TSC is usually lost. It often is the \
         watchdog's reference, so it is read every half second anyway.",
        do_what: "Find out why tsc is not used. In a virtual machine take the emulated HPET away \
         once a better clock works: libvirt <timer name='hpet' present='no'/>, QEMU -machine \
         hpet=off.",
        see_also: &["watchdog", "tsc", "hpet=disable", "hpet=force", "watchdog-at-fault"],
        sources: &["arch/x86/kernel/hpet.c; 4.7 removed VCLOCK_HPET"],
    },
    Entry {
        id: "acpi_pm",
        words: &["acpi_pm", "pm timer", "pmtimer"],
        what: "The ACPI power management timer: 3.579545 MHz, 24 bits, one port read. It wraps \
         every 4.69 s. Rating 200, or 120 on chipsets with a known bug.",
        versions: "All. Never in the vDSO.",
        so_what: "The slowest common clock: about 1 us on hardware, a VM exit of several us in a \
         guest, always a system call on top. As the watchdog's reference it is too short: a stop \
         of more than 2.34 s looks like zero to kernels since about 4.5, and one of more than \
         4.69 s wraps.",
        do_what: "Find out why nothing better is used. It is no fix for anything but a broken \
         TSC without an HPET.",
        see_also: &["tsc", "pmtmr=", "watchdog-at-fault", "clock=pmtmr"],
        sources: &["drivers/clocksource/acpi_pm.c; ACPI specification, power management timer"],
    },
    Entry {
        id: "kvm-clock",
        words: &["kvm-clock", "kvmclock", "pvclock"],
        what: "KVM's paravirtual clock: a TSC read, scaled with the figures of a page that the \
         host publishes. Rating 400, or 299 when the TSC is invariant (5.1 and later), so that \
         tsc wins.",
        versions: "2.6.32 and later. In the vDSO since 3.8, on 64-bit kernels, if the host sets \
         the stable bit.",
        so_what: "Fast (about 25 to 50 ns) while the host itself runs on its TSC. If the host \
         falls to hpet, all its guests lose the vDSO and pay a system call for each read. It \
         follows the host over snapshots and migration better than tsc does.",
        do_what: "Usually leave it. If reads are slow, look at the host's clocksource. To get \
         tsc in the guest, have the host expose an invariant TSC.",
        see_also: &[
            "stable bit",
            "masterclock",
            "invariant-tsc-withheld",
            "no-kvmclock",
            "paravirt-clock-preferred",
        ],
        sources: &["arch/x86/kernel/kvmclock.c; commit 7539b174aef4 (5.1)"],
    },
    Entry {
        id: "xen",
        words: &["xen"],
        what: "Xen's paravirtual clock: a TSC read, scaled with the figures of a page of the \
         hypervisor. Rating 400; 275 in dom0 (4.0 and later); 299 in a domU with a safe native \
         TSC (6.3 and later).",
        versions: "2.6.32 and later; HVM guests since 2.6.36. In the vDSO since 4.15 (stable \
         4.14), only with the stable bit.",
        so_what: "Before 4.15, and on hosts without a stable TSC, every read is a system call: \
         about 1 to 2 us on old EC2 families, where changing to tsc was a common and good step.",
        do_what: "Newer kernel, or tsc_mode=native in the domain's configuration (6.3 and later \
         then prefers tsc). On EC2's Xen families: tsc. A domain that migrates should stay on \
         xen.",
        see_also: &["xen_nopv", "paravirt-clock-preferred", "AWS", "stable bit"],
        sources: &["arch/x86/xen/time.c; commit 99a7bcafbd0d (6.3)"],
    },
    Entry {
        id: "hyperv_clocksource_tsc_page",
        words: &["hyperv_clocksource_tsc_page", "hyperv tsc page", "tsc page"],
        what: "Hyper-V's reference TSC page: a TSC read scaled with the figures of a page of the \
         hypervisor, in units of 100 ns. Rating 425 (4.3 to 4.10), 400 (4.11 to 5.5), 250 (5.6 \
         to 5.12), 500 or, with an invariant TSC, 250 (5.13 and later).",
        versions: "4.3 and later; in the vDSO since 4.12.",
        so_what: "Healthy and fast. It is the right clock on Hyper-V and Azure hosts that do not \
         grant an invariant TSC. When the hypervisor marks the page invalid (sequence 0), reads \
         fall back to a system call.",
        do_what: "Nothing. tsc is only better on hosts that grant AccessTscInvariant, and Linux \
         then chooses it by itself (5.6 and later).",
        see_also: &[
            "AccessTscInvariant",
            "hyperv_clocksource_msr",
            "Microsoft",
            "invariant-tsc-withheld",
        ],
        sources: &["drivers/clocksource/hyperv_timer.c"],
    },
    Entry {
        id: "hyperv_clocksource_msr",
        words: &["hyperv_clocksource_msr"],
        what: "Hyper-V's reference counter, read through a model-specific register: every read \
         is an exit to the hypervisor. Rating 400 (4.11 to 5.5), 250 (5.6 to 5.12), 500 or 250 \
         (5.13 to 6.4), 495 or 245 (6.5 and later).",
        versions: "4.11 and later; before that it was called hyperv_clocksource. Never in the \
         vDSO.",
        so_what: "Slow, about 1 us and more per read. It serves when the TSC page is not \
         offered.",
        do_what: "Have the host offer the reference TSC page (QEMU: hv-time, with hv-vpindex for \
         guests of 5.16 and later), or use a kernel that can read it.",
        see_also: &["hyperv_clocksource_tsc_page", "Hyper-V privilege flags"],
        sources: &["drivers/clocksource/hyperv_timer.c"],
    },
    Entry {
        id: "hyperv_clocksource",
        words: &["hyperv_clocksource"],
        what: "The old name of Hyper-V's reference counter MSR clock. Rating 400. One exit to \
         the hypervisor for each read.",
        versions: "3.2 to 4.10 (in staging since 2.6.36).",
        so_what: "Slow. From 4.3 the TSC page replaces it once the vmbus driver is loaded.",
        do_what: "Use a newer kernel.",
        see_also: &["hyperv_clocksource_tsc_page", "hyperv_clocksource_msr"],
        sources: &["arch/x86/kernel/cpu/mshyperv.c, 3.2 to 4.10"],
    },
    Entry {
        id: "jiffies",
        words: &["jiffies"],
        what: "The timer tick as a clock: no counter at all, resolution one tick (1 to 10 ms). \
         Rating 1. It is the default until the first selection.",
        versions: "All.",
        so_what: "Current for the first moments of every boot. If it stays current, the machine \
         has no usable counter, or somebody asked for it; high-resolution timers are then off.",
        do_what: "Find out why hpet, acpi_pm, tsc and the paravirtual clock are all missing.",
        see_also: &["refined-jiffies", "high resolution", "only-choice"],
        sources: &["kernel/time/jiffies.c"],
    },
    Entry {
        id: "refined-jiffies",
        words: &["refined-jiffies"],
        what: "The timer tick with a more exact length: still no counter. Rating 2.",
        versions: "3.7 and later, x86.",
        so_what: "A line `Switched to clocksource refined-jiffies` early in a boot is harmless \
         if another switch follows. As the last choice it means: no usable counter, resolution \
         of one tick, no high-resolution timers. As the watchdog's reference it loses ticks and \
         convicts an innocent TSC.",
        do_what: "Give the machine a counter: PM timer, HPET, a paravirtual clock, or a TSC \
         whose frequency is known.",
        see_also: &["jiffies", "no-tsc", "tsc-early", "watchdog-at-fault"],
        sources: &["register_refined_jiffies() in kernel/time/jiffies.c, 3.7 and later"],
    },
    Entry {
        id: "pit",
        words: &["pit", "i8253", "i8254"],
        what: "The old i8253 interval timer as a clock. Rating 110. Not continuous, so it cannot \
         serve high-resolution timers.",
        versions: "32-bit x86 (and MIPS) only, with one possible CPU and no HPET.",
        so_what: "Very slow. On x86-64 the name does not exist: clocksource=pit is silently \
         ignored there.",
        do_what: "Use anything else.",
        see_also: &["clocksource=NAME", "cmdline-clocksource-unknown"],
        sources: &["drivers/clocksource/i8253.c"],
    },
    Entry {
        id: "sgi_rtc",
        words: &["sgi_rtc"],
        what: "The node clock of SGI and HPE UV machines. Rating 400 up to 3.3, 299 since 3.4.",
        versions: "2.6.30 and later, on UV hardware only.",
        so_what: "Not in the vDSO. It may be the watchdog's reference for the TSC, and has been \
         wrong in that role.",
        do_what: "If it demotes a good TSC: tsc=nowatchdog, after clocksmith verify.",
        see_also: &["watchdog", "watchdog-at-fault"],
        sources: &["arch/x86/platform/uv/uv_time.c"],
    },
    Entry {
        id: "arch_sys_counter",
        words: &["arch_sys_counter", "arch timer", "cntvct"],
        what: "Arm's architected system counter, 1 to 1000 MHz, read in the vDSO. Rating 400. It \
         is the only choice on practically every 64-bit Arm machine and guest.",
        versions: "3.5 and later.",
        so_what: "Fast (10 to 40 ns), the same on all CPUs by architecture, and runs on in idle. \
         Exception: some CPU errata trap the counter, and then every read is a system call.",
        do_what: "Nothing. If reads cost more than 100 ns, look for `Enabling ... workaround` \
         and `Trapping CNTVCT access` in the log.",
        see_also: &["counter-trapped", "counter-trapped-compat", "vDSO"],
        sources: &["drivers/clocksource/arm_arch_timer.c"],
    },
    Entry {
        id: "riscv_clocksource",
        words: &["riscv_clocksource"],
        what: "RISC-V's time counter, read with rdtime in the vDSO. Rating 300 up to 6.2, 400 \
         since 6.3.",
        versions: "5.3 and later under this name; vDSO since 5.8.",
        so_what: "Fast where the CPU has the time CSR; on boards where firmware emulates it \
         every rdtime traps and costs microseconds.",
        do_what: "Nothing in Linux. Compare the measured cost of a read with a system call.",
        see_also: &["vDSO", "clint_clocksource"],
        sources: &["drivers/clocksource/timer-riscv.c"],
    },
    Entry {
        id: "clint_clocksource",
        words: &["clint_clocksource"],
        what: "RISC-V's CLINT counter, for kernels in machine mode (no MMU). Rating 300.",
        versions: "5.9 and later.",
        so_what: "The normal clock of such small systems.",
        do_what: "Nothing.",
        see_also: &["riscv_clocksource"],
        sources: &["drivers/clocksource/timer-clint.c"],
    },
    Entry {
        id: "tod",
        words: &["tod"],
        what: "The time-of-day clock of IBM Z, read with one instruction. Rating 400. It is also \
         the boot default, so no line `Switched to clocksource` appears.",
        versions: "All.",
        so_what: "Fast (vDSO since 2.6.32; generic since 5.10), synchronised by the machine, no \
         alternative needed.",
        do_what: "Nothing.",
        see_also: &["vDSO"],
        sources: &["arch/s390/kernel/time.c"],
    },
    Entry {
        id: "timebase",
        words: &["timebase"],
        what: "POWER's time base register. Rating 400, in the vDSO.",
        versions: "All; generic vDSO since 5.11.",
        so_what: "Fast, synchronised by the platform, the only choice.",
        do_what: "Nothing. SAP asks for exactly this clocksource on POWER.",
        see_also: &["vDSO", "SAP"],
        sources: &["arch/powerpc/kernel/time.c"],
    },
    Entry {
        id: "Constant",
        words: &["Constant"],
        what: "LoongArch's stable counter. Rating 400, in the vDSO.",
        versions: "5.19 and later.",
        so_what: "Fast; the only choice.",
        do_what: "Nothing.",
        see_also: &["vDSO"],
        sources: &["arch/loongarch/kernel/time.c"],
    },
    Entry {
        id: "lguest",
        words: &["lguest"],
        what: "The clock of guests of lguest, a small hypervisor. Rating 200.",
        versions: "Up to 4.13; lguest was removed in 4.14.",
        so_what: "Used where the host's TSC was not usable; else tsc won.",
        do_what: "History. Use KVM.",
        see_also: &["kvm-clock"],
        sources: &["arch/x86/lguest/boot.c"],
    },
    Entry {
        id: "vmi-timer",
        words: &["vmi-timer"],
        what: "The clock of VMware's old paravirtual interface VMI, 32-bit only. Rating 450.",
        versions: "Up to 2.6.36.",
        so_what: "VMware has no clocksource of its own any more: guests use tsc, whose frequency \
         VMware states.",
        do_what: "History. Use a newer kernel.",
        see_also: &["vmware"],
        sources: &["arch/x86/kernel/vmiclock_32.c"],
    },
    Entry {
        id: "wdtest-ktime",
        words: &["wdtest-ktime", "wdtest-jiffies"],
        what: "Clocksources of a test module that makes the watchdog act on purpose.",
        versions: "5.14 and later, CONFIG_TEST_CLOCKSOURCE_WATCHDOG.",
        so_what: "Watchdog messages about these names are part of the test. They say nothing \
         about the machine.",
        do_what: "Nothing; do not load clocksource-wdtest in production.",
        see_also: &["watchdog", "clocksource-wdtest"],
        sources: &["kernel/time/clocksource-wdtest.c"],
    },
];

/// The explanations of a name.
pub(super) fn named(name: &Name) -> Explanation {
    if let Some(entry) = ENTRIES.iter().find(|entry| entry.words.contains(&name.name)) {
        return entry.explanation(Kind::Clocksource);
    }
    let slow = crate::names::is_slow_by_nature(name.name);
    Explanation {
        title: name.name.to_owned(),
        kind: Kind::Clocksource,
        what: format!("A clocksource: {}. Usual rating {}.", name.about, name.rating),
        figures: Vec::new(),
        versions: "Some kernels from 2.6.32 to 7.1, on this hardware only.".to_owned(),
        so_what: if name.x86 || slow {
            "A device on a bus: every read is a system call and a slow access."
        } else {
            "The usual clock of this hardware. Whether it is read in the vDSO depends on the \
             architecture and the kernel."
        }
        .to_owned(),
        do_what: "Nothing, if reads are as fast as you need. Measure them.".to_owned(),
        see_also: vec!["clocksource".to_owned(), "vDSO".to_owned()],
        sources: vec!["clocksource drivers of Linux 2.6.32 to 7.1".to_owned()],
    }
}
