//! Lines that mention clocks and decide nothing.

use super::super::entry::Entry;

/// One entry a message.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        id: "deadline",
        words: &["TSC deadline timer available", "TSC deadline timer"],
        what: "The local APIC can raise timer interrupts at a TSC value.",
        versions: "3.8 and later.",
        so_what: "About timer events, not about which clock is read.",
        do_what: "Nothing.",
        see_also: &["clock event device", "lapic=notscdeadline"],
        sources: &["arch/x86/kernel/apic/apic.c"],
    },
    Entry {
        id: "hpet-mmio",
        words: &["hpet0: at MMIO 0xfed00000, IRQs 2, 8, 0", "hpet0: at MMIO"],
        what: "The HPET's address and the interrupts of its timers.",
        versions: "All.",
        so_what: "An inventory line.",
        do_what: "Nothing.",
        see_also: &["hpet"],
        sources: &["drivers/char/hpet.c"],
    },
    Entry {
        id: "hpet-event",
        words: &["hpet clockevent registered", "hpet clockevent"],
        what: "The HPET also serves as a timer event device.",
        versions: "All.",
        so_what: "About timer events, not about which clock is read.",
        do_what: "Nothing.",
        see_also: &["clock event device", "hpet"],
        sources: &["arch/x86/kernel/hpet.c"],
    },
    Entry {
        id: "rtc-alarms",
        words: &[
            "rtc0: alarms up to one month, y3k, 114 bytes nvram, hpet irqs",
            "bytes nvram, hpet irqs",
            "alarms up to one",
        ],
        what: "The battery clock's driver; `hpet irqs` says that the HPET emulates its \
         interrupt.",
        versions: "All.",
        so_what: "It has nothing to do with the clocksource.",
        do_what: "Nothing.",
        see_also: &["clocksource"],
        sources: &["drivers/rtc/rtc-cmos.c"],
    },
    Entry {
        id: "sched-bits",
        words: &[
            "sched_clock: 56 bits at 24MHz, resolution 41ns, wraps every 4398046511097ns",
            "sched_clock: 56 bits",
            "sched_clock: 64 bits",
            "sched_clock: 32 bits",
        ],
        what: "The counter that the scheduler's clock uses on this machine (Arm, RISC-V and \
         others).",
        versions: "3.x and later, not on x86.",
        so_what: "It names the counter's frequency. The wrap is handled.",
        do_what: "Nothing.",
        see_also: &["sched_clock", "arch_sys_counter"],
        sources: &["kernel/time/sched_clock.c"],
    },
    Entry {
        id: "kvm-sched-offset",
        words: &["kvm-clock: using sched offset of N cycles", "using sched offset"],
        what: "The guest's scheduler clock takes kvm-clock, counted from here.",
        versions: "4.2 and later; up to 4.18 only where the host sets the stable bit.",
        so_what: "Normal.",
        do_what: "Nothing.",
        see_also: &["kvm-clock", "sched_clock"],
        sources: &["arch/x86/kernel/kvmclock.c"],
    },
    Entry {
        id: "hyperv-lapic",
        words: &["Hyper-V: LAPIC Timer Frequency: 0x30d40", "LAPIC Timer Frequency"],
        what: "Hyper-V states the rate of the local APIC's timer, in ticks per jiffy of the \
         kernel.",
        versions: "4.x and later.",
        so_what: "About timer events, not about which clock is read.",
        do_what: "Nothing.",
        see_also: &["clock event device"],
        sources: &["arch/x86/kernel/cpu/mshyperv.c"],
    },
    Entry {
        id: "hyperv-build",
        words: &["Hyper-V: Host Build 10.0.N", "Hyper-V Host Build", "Hyper-V: Host Build"],
        what: "The version of the Hyper-V host.",
        versions: "All.",
        so_what: "Newer builds grant the invariant TSC more often; the privilege flags say \
         whether this one does.",
        do_what: "Look at `privilege flags low` in the same log.",
        see_also: &["AccessTscInvariant", "Hyper-V: privilege flags low 0x2e7f"],
        sources: &["arch/x86/kernel/cpu/mshyperv.c"],
    },
    Entry {
        id: "kvm-scaling",
        words: &["kvm_amd: TSC scaling supported", "TSC scaling supported"],
        what: "This KVM host can give guests another TSC frequency than its own.",
        versions: "AMD 3.1 and later; Intel has it since 4.4.",
        so_what: "Guests with a pinned tsc-frequency can move here from other hosts.",
        do_what: "Nothing.",
        see_also: &["migration", "kvm.tsc_tolerance_ppm"],
        sources: &["arch/x86/kvm/svm/svm.c"],
    },
    Entry {
        id: "vboxdrv",
        words: &["vboxdrv: TSC mode is Invariant, tentative frequency N Hz", "vboxdrv: TSC mode"],
        what: "VirtualBox's host driver says how it will use the TSC for its guests.",
        versions: "VirtualBox 5 and later.",
        so_what: "About its guests, not about this machine's clocksource.",
        do_what: "Nothing. `Async` instead of `Invariant` would mean that it does not trust the \
         TSC.",
        see_also: &["invariant TSC"],
        sources: &["VirtualBox, SUPDrv"],
    },
];
