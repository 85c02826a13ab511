//! Messages about the TSC: why it was lost, the test between CPUs, TSC_ADJUST.

use super::super::entry::Entry;

/// One entry a message.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        id: "unstable-unsynchronized",
        words: &["Marking TSC unstable due to TSCs unsynchronized", "TSCs unsynchronized"],
        what: "The kernel does not trust the TSC on this kind of machine with several CPUs, and \
         did not test it.",
        versions: "All. AMD and Hygon without constant_tsc and more than one possible CPU (6.12 \
         and later: package), or a clustered box.",
        so_what: "In a guest: the hypervisor hides the invariant TSC bit.",
        do_what: "See tsc-unsynchronized.",
        see_also: &["tsc-unsynchronized", "invariant TSC"],
        sources: &["unsynchronized_tsc() in arch/x86/kernel/tsc.c"],
    },
    Entry {
        id: "unstable-sync",
        words: &[
            "Marking TSC unstable due to check_tsc_sync_source failed",
            "check_tsc_sync_source failed",
        ],
        what: "The test between CPUs saw the TSC go backwards. The line `Measured N cycles TSC \
         warp` stands near it.",
        versions: "All. Since about 6.3 (stable 5.15 and 6.1 too) it is printed by a worker, so \
         it may stand after `Brought up ... CPUs`.",
        so_what: "The counters of the CPUs really differ.",
        do_what: "Firmware update, or equal offsets by the hypervisor. Never override it.",
        see_also: &["tsc-warp", "TSC_ADJUST", "tsc=reliable"],
        sources: &["check_tsc_sync_source() in arch/x86/kernel/tsc_sync.c"],
    },
    Entry {
        id: "unstable-nofreq",
        words: &[
            "Marking TSC unstable due to could not calculate TSC khz",
            "could not calculate TSC khz",
        ],
        what: "No PIT, HPET, PM timer, CPUID leaf or hypervisor told how fast the TSC runs.",
        versions: "All.",
        so_what: "There is no tsc clocksource on this boot. Seen in small virtual machines and \
         on some nested hypervisors.",
        do_what: "Give the guest a PM timer or PIT, or tsc_early_khz=N (5.8 and later; kHz).",
        see_also: &["no-tsc", "tsc_early_khz", "calibration"],
        sources: &["tsc_init() in arch/x86/kernel/tsc.c"],
    },
    Entry {
        id: "unstable-cpufreq",
        words: &["Marking TSC unstable due to cpufreq changes", "cpufreq changes"],
        what: "The CPU changed its frequency, and its TSC changed with it.",
        versions: "All; `on SMP` since 5.2. Only CPUs without constant_tsc.",
        so_what: "Right for this hardware: the TSC is no clock there.",
        do_what: "Accept the other clock.",
        see_also: &["tsc-frequency-changes", "constant_tsc"],
        sources: &["time_cpufreq_notifier() in arch/x86/kernel/tsc.c"],
    },
    Entry {
        id: "unstable-parameter",
        words: &["Marking TSC unstable due to boot parameter", "due to boot parameter"],
        what: "The command line has tsc=unstable.",
        versions: "4.13 and later.",
        so_what: "Somebody's choice, often a leftover.",
        do_what: "Remove it and see whether the TSC survives.",
        see_also: &["cmdline-tsc-unstable", "tsc=unstable"],
        sources: &["tsc_setup() in arch/x86/kernel/tsc.c"],
    },
    Entry {
        id: "unstable-notsc",
        words: &["Marking TSC unstable due to boot parameter notsc", "boot parameter notsc"],
        what: "The command line has notsc.",
        versions: "4.19 and later.",
        so_what: "Somebody's choice, often a leftover.",
        do_what: "Remove it and see whether the TSC survives.",
        see_also: &["cmdline-notsc", "notsc"],
        sources: &["notsc_setup() in arch/x86/kernel/tsc.c"],
    },
    Entry {
        id: "unstable-watchdog",
        words: &["Marking TSC unstable due to clocksource watchdog", "due to clocksource watchdog"],
        what: "The watchdog has demoted the TSC; this line only repeats it. The reason and the \
         figures stand in the lines before.",
        versions: "4.11 and later.",
        so_what: "Which clock was wrong is not in this line.",
        do_what: "Paste the lines in front of it.",
        see_also: &["watchdog", "tsc-skew", "watchdog-at-fault", "insufficient-evidence"],
        sources: &["tsc_cs_mark_unstable() in arch/x86/kernel/tsc.c"],
    },
    Entry {
        id: "unstable-idle",
        words: &[
            "Marking TSC unstable due to TSC halts in idle",
            "TSC halts in idle",
            "TSC halt in AMD C1E",
        ],
        what: "An idle driver uses states in which this CPU's TSC stops.",
        versions: "All. `states deeper than C2`: intel_idle, since 2.6.35. `AMD C1E`: old AMD. \
         Long after boot: acpi_pad.",
        so_what: "No nonstop_tsc here: old hardware, or a guest without the invariant TSC bit.",
        do_what: "Accept the other clock, or shallow idle states. tsc=reliable does not prevent \
         it.",
        see_also: &["tsc-halts-in-idle", "processor.max_cstate", "nonstop_tsc"],
        sources: &[
            "drivers/acpi/processor_idle.c; drivers/idle/intel_idle.c; arch/x86/kernel/process.c",
        ],
    },
    Entry {
        id: "unstable-hyperv",
        words: &["Marking TSC unstable due to running on Hyper-V", "running on Hyper-V"],
        what: "This Hyper-V host grants no invariant TSC, so Linux leaves the TSC to Hyper-V's \
         own page clock. It is done on purpose.",
        versions: "4.3 to 5.4 always; 5.5 and later only without AccessTscInvariant.",
        so_what: "Normal and fast: hyperv_clocksource_tsc_page is read in the vDSO.",
        do_what: "Nothing. Do not force tsc.",
        see_also: &["invariant-tsc-withheld", "hyperv_clocksource_tsc_page", "AccessTscInvariant"],
        sources: &["ms_hyperv_init_platform() in arch/x86/kernel/cpu/mshyperv.c"],
    },
    Entry {
        id: "unstable-kvm",
        words: &[
            "Marking TSC unstable due to KVM discovered backwards TSC",
            "KVM discovered backwards TSC",
        ],
        what: "The KVM module of this host saw the TSC smaller than before, after resume, CPU \
         hot-plug or a move of a virtual CPU to another CPU.",
        versions: "2.6.37 and later, on KVM hosts.",
        so_what: "Firmware resets the TSC. The host loses its TSC, and all its guests lose fast \
         kvm-clock.",
        do_what: "Firmware update; do not suspend KVM hosts.",
        see_also: &["suspend", "masterclock", "tsc-warp"],
        sources: &["kvm_arch_vcpu_load() and kvm_arch_hardware_enable() in arch/x86/kvm/x86.c"],
    },
    Entry {
        id: "unstable-uv",
        words: &["Marking TSC unstable due to UV BIOS", "TSC unstable due to UV BIOS"],
        what: "The firmware of this SGI or HPE UV machine says that its TSCs are not \
         synchronised.",
        versions: "4.15 and later.",
        so_what: "The machine uses sgi_rtc or hpet instead.",
        do_what: "Firmware settings of the machine.",
        see_also: &["sgi_rtc", "tsc-unsynchronized"],
        sources: &["arch/x86/kernel/apic/x2apic_uv_x.c"],
    },
    Entry {
        id: "unstable-slow",
        words: &["TSC appears to be running slowly. Marking it as unstable", "running slowly"],
        what: "A very old kernel found that the TSC counted too little between ticks.",
        versions: "2.6.18 to 2.6.20.",
        so_what: "The CPU halts or slows its TSC.",
        do_what: "Use a newer kernel before looking further.",
        see_also: &["tsc-halts-in-idle"],
        sources: &["verify_tsc_freq(), 2.6.18 to 2.6.20"],
    },
    Entry {
        id: "unstable-other",
        words: &["Marking TSC unstable due to ...", "marking TSC unstable"],
        what: "The TSC was marked unstable with a reason that mainline kernels from 2.6.32 to \
         7.1 do not have, or a machine-specific one (Cyrix chipsets, Summit, ThinkPad 380XD).",
        versions: "Unknown for this text: maybe a vendor's kernel.",
        so_what: "The TSC is not used until the next boot. Why must be looked up in this \
         kernel's own source.",
        do_what: "Search that kernel's source for the words behind `due to`.",
        see_also: &["tsc", "insufficient-evidence"],
        sources: &["callers of mark_tsc_unstable(), 2.6.32 to 7.1"],
    },
    Entry {
        id: "found-unstable",
        words: &[
            "TSC found unstable after boot, most likely due to broken BIOS. Use 'tsc=unstable'.",
            "TSC found unstable after boot",
            "most likely due to broken BIOS",
        ],
        what: "A generic text that the scheduler clock prints whenever the TSC becomes unstable \
         after boot.",
        versions: "4.13 and later.",
        so_what: "It is a guess and no evidence: nobody has looked at the BIOS. The real reason \
         stands in the lines before.",
        do_what: "Do not follow its advice blindly. Look for `Marking TSC unstable due to` and \
         `Marking clocksource`.",
        see_also: &["tsc=unstable", "watchdog", "sched_clock"],
        sources: &["__clear_sched_clock_stable() in kernel/sched/clock.c, 4.13 and later"],
    },
    Entry {
        id: "sched-stable",
        words: &["sched_clock: Marking stable (A, B)->(C, D)", "sched_clock: Marking stable"],
        what: "The scheduler's clock takes the TSC directly from now on. The figures are offsets \
         in ns at that moment.",
        versions: "4.13 and later, at the end of each healthy boot. In a guest on kvm-clock it is \
         missing where the host does not set the stable bit.",
        so_what: "Harmless, and a good sign.",
        do_what: "Nothing.",
        see_also: &["sched_clock"],
        sources: &["kernel/sched/clock.c"],
    },
    Entry {
        id: "sched-unstable",
        words: &["sched_clock: Marking unstable (A, B)<-(C, D)", "sched_clock: Marking unstable"],
        what: "The scheduler's clock leaves the TSC, because the TSC was marked unstable.",
        versions: "4.13 and later.",
        so_what: "A consequence, not a cause. The figures are offsets in ns, and say nothing \
         about the fault.",
        do_what: "Look at the lines before.",
        see_also: &["sched_clock", "watchdog"],
        sources: &["kernel/sched/clock.c"],
    },
    Entry {
        id: "warp",
        words: &[
            "Measured N cycles TSC warp between CPUs, turning off TSC clock.",
            "TSC warp between CPUs",
            "Measured TSC warp",
        ],
        what: "Two CPUs read the TSC in turn, and the later read was smaller by this many \
         cycles.",
        versions: "All.",
        so_what: "Small (up to some thousand cycles): offsets given by a hypervisor, or firmware \
         that set the CPUs one after the other. Large (10^6 and more): the counter of one CPU \
         was reset or written, typical after resume.",
        do_what: "Firmware, or the hypervisor. Never tsc=reliable.",
        see_also: &["tsc-warp", "TSC_ADJUST", "tsc=reliable"],
        sources: &["check_tsc_sync_source() in arch/x86/kernel/tsc_sync.c"],
    },
    Entry {
        id: "warp-random",
        words: &["TSC warped randomly between CPUs", "warped randomly"],
        what: "The test between CPUs saw warps in both directions: the difference changes while \
         it runs.",
        versions: "4.10 and later.",
        so_what: "No constant offset could repair it. The TSC is unusable here.",
        do_what: "As for tsc-warp.",
        see_also: &["tsc-warp"],
        sources: &["check_tsc_sync_source() in arch/x86/kernel/tsc_sync.c"],
    },
    Entry {
        id: "sync-line",
        words: &["TSC synchronization [CPU#0 -> CPU#1]:", "TSC synchronization [CPU"],
        what: "The heading of the test between two CPUs. `passed` behind it is good; without \
         `passed` the failure follows on the next line.",
        versions: "All; `passed` is shown up to about 2.6.32 and is a debug message since.",
        so_what: "Seen without `passed`: the test has failed.",
        do_what: "Look for `Measured N cycles TSC warp`.",
        see_also: &["tsc-warp"],
        sources: &["check_tsc_sync_source() in arch/x86/kernel/tsc_sync.c"],
    },
    Entry {
        id: "sync-skipped",
        words: &[
            "Skipped synchronization checks as TSC is reliable.",
            "Skipped synchronization checks",
        ],
        what: "The test between CPUs was not run, because the TSC counts as reliable: by the \
         platform (VMware, Hyper-V's grant) or by tsc=reliable.",
        versions: "All by the platform; by tsc=reliable since 3.3.",
        so_what: "Fine if the platform says so. With tsc=reliable on the command line it means: \
         nobody has looked.",
        do_what: "With tsc=reliable: run clocksmith verify once.",
        see_also: &["TSC_RELIABLE", "tsc=reliable"],
        sources: &["check_tsc_sync_source() in arch/x86/kernel/tsc_sync.c"],
    },
    Entry {
        id: "adjust-forced",
        words: &["[Firmware Bug]: TSC ADJUST: CPU0: N force to 0", "TSC ADJUST force to 0"],
        what: "Firmware left a value in TSC_ADJUST of the boot CPU; the kernel set it to 0 \
         before using the TSC.",
        versions: "4.10 and later.",
        so_what: "Repaired. The TSC is usable.",
        do_what: "Nothing; a firmware update is welcome.",
        see_also: &["tsc-adjust-changed", "TSC_ADJUST"],
        sources: &["tsc_sanitize_first_cpu() in arch/x86/kernel/tsc_sync.c"],
    },
    Entry {
        id: "adjust-restored",
        words: &[
            "[Firmware Bug]: TSC ADJUST differs: CPU3 A --> B. Restoring",
            "TSC ADJUST differs",
        ],
        what: "Somebody changed this CPU's TSC after boot (firmware in SMM, or a tool). The \
         kernel wrote the old value back.",
        versions: "4.10 and later.",
        so_what: "Until the check found it, this CPU's time was off by the difference.",
        do_what: "Firmware update. Do not use tsc=reliable: it switches the check off.",
        see_also: &["tsc-adjust-changed", "SMI", "TSC_ADJUST"],
        sources: &["tsc_verify_tsc_adjust() in arch/x86/kernel/tsc_sync.c"],
    },
    Entry {
        id: "adjust-socket",
        words: &[
            "[Firmware Bug]: TSC ADJUST differs within socket(s), fixing all errors",
            "differs within socket",
        ],
        what: "The CPUs of one package had different values in TSC_ADJUST; the kernel made them \
         equal.",
        versions: "5.0 or so and later.",
        so_what: "Repaired at boot. The TSC is usable.",
        do_what: "Nothing; a firmware update is welcome.",
        see_also: &["tsc-adjust-changed", "TSC_ADJUST"],
        sources: &["tsc_store_and_check_tsc_adjust() in arch/x86/kernel/tsc_sync.c"],
    },
    Entry {
        id: "adjust-compensated",
        words: &[
            "TSC ADJUST compensate: CPU12 observed 86 warp. Adjust: 86",
            "TSC ADJUST compensate",
        ],
        what: "The test between packages saw a warp, and the kernel corrected it with \
         TSC_ADJUST.",
        versions: "4.10 and later.",
        so_what: "Repaired, if no `Measured ... warp` line follows.",
        do_what: "Nothing.",
        see_also: &["tsc-adjust-changed", "tsc-warp"],
        sources: &["check_tsc_sync_target() in arch/x86/kernel/tsc_sync.c"],
    },
    Entry {
        id: "adjust-other",
        words: &["TSC ADJUST: TEXT"],
        what: "A message about the register TSC_ADJUST.",
        versions: "4.10 and later.",
        so_what: "The kernel looked at what firmware did to a CPU's TSC, and repaired it or said \
         so.",
        do_what: "Nothing at boot; a firmware update if it comes again and again.",
        see_also: &["tsc-adjust-changed", "TSC_ADJUST"],
        sources: &["arch/x86/kernel/tsc_sync.c"],
    },
    Entry {
        id: "notsc-ignored",
        words: &[
            "notsc: Kernel compiled with CONFIG_X86_TSC, cannot disable TSC completely",
            "cannot disable TSC completely",
        ],
        what: "The command line has notsc, and this kernel cannot work without the TSC. It only \
         leaves out the tsc clocksource.",
        versions: "Up to 4.18.",
        so_what: "Reads use a slower clock.",
        do_what: "Remove notsc.",
        see_also: &["cmdline-notsc", "notsc"],
        sources: &["notsc_setup() in arch/x86/kernel/tsc.c, up to 4.18"],
    },
    Entry {
        id: "p0",
        words: &[
            "[Firmware Bug]: TSC doesn't count with P0 frequency!",
            "TSC doesn't count with P0 frequency",
            "doesn't count with P0",
        ],
        what: "On AMD CPUs a register bit (HWCR bit 24) should say that the TSC counts at the P0 \
         rate, and it is clear.",
        versions: "All, AMD family 16 and later.",
        so_what: "Harmless. In virtual machines it is nearly always there, because the virtual \
         register reads 0. It decides nothing.",
        do_what: "Nothing.",
        see_also: &["tsc"],
        sources: &["bsp_init_amd() in arch/x86/kernel/cpu/amd.c"],
    },
    Entry {
        id: "async-resets",
        words: &["tsc: Marking TSC async resets true due to UV BIOS", "TSC async resets"],
        what: "On SGI and HPE UV machines: the TSCs of different chassis were reset at different \
         times, so values other than 0 in TSC_ADJUST are right.",
        versions: "4.15 and later, UV only.",
        so_what: "Normal there.",
        do_what: "Nothing.",
        see_also: &["TSC_ADJUST", "sgi_rtc"],
        sources: &["mark_tsc_async_resets() in arch/x86/kernel/tsc_sync.c"],
    },
];
