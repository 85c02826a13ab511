//! Messages about frequencies and rates.

use super::super::entry::Entry;

/// One entry a message.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        id: "detected",
        words: &["tsc: Detected N MHz processor"],
        what: "The TSC's first frequency. `processor`: of the CPU, which is usually the TSC's \
         too. `TSC`: printed in addition where the two differ.",
        versions: "All.",
        so_what: "A figure of some milliseconds of measurement, or one stated by CPUID or \
         hypervisor; good to 100 ppm or so until it is refined.",
        do_what: "Nothing.",
        see_also: &["calibration", "refinement"],
        sources: &["tsc_init() and determine_cpu_tsc_frequencies() in arch/x86/kernel/tsc.c"],
    },
    Entry {
        id: "refined",
        words: &[
            "tsc: Refined TSC clocksource calibration: N MHz",
            "Refined TSC clocksource calibration",
        ],
        what: "The frequency that the kernel uses from now on, measured for a second against \
         HPET or PM timer. It must be within 1 % of the first figure.",
        versions: "2.6.38 and later.",
        so_what: "Missing line: the frequency was stated (TSC_KNOWN_FREQ), or there is no \
         reference, or the result was refused.",
        do_what: "Compare over boots: differences above 100 ppm mean that something disturbs it.",
        see_also: &["refinement", "tsc-miscalibrated"],
        sources: &["tsc_refine_calibration_work() in arch/x86/kernel/tsc.c"],
    },
    Entry {
        id: "cal-fastpit",
        words: &["tsc: Fast TSC calibration using PIT", "Fast TSC calibration using PIT"],
        what: "The first frequency was measured against the PIT in a few milliseconds.",
        versions: "All.",
        so_what: "Normal.",
        do_what: "Nothing.",
        see_also: &["calibration"],
        sources: &["quick_pit_calibrate() in arch/x86/kernel/tsc.c"],
    },
    Entry {
        id: "cal-fastfailed",
        words: &["tsc: Fast TSC calibration failed", "Fast TSC calibration failed"],
        what: "The quick way of measuring the TSC's frequency, against the PIT, did not give a \
         stable figure. The kernel tries slower ways.",
        versions: "All.",
        so_what: "Harmless: usual on machines and guests without a PIT, and on recent laptops. \
         Only `could not calculate TSC khz` later on would matter.",
        do_what: "Nothing.",
        see_also: &["calibration", "could not calculate TSC khz"],
        sources: &["quick_pit_calibrate() in arch/x86/kernel/tsc.c"],
    },
    Entry {
        id: "cal-nopit",
        words: &["tsc: Unable to calibrate against PIT", "Unable to calibrate against PIT"],
        what: "The PIT is missing or does not count. HPET or PM timer are tried.",
        versions: "All.",
        so_what: "Harmless if a `Detected` line follows.",
        do_what: "Nothing.",
        see_also: &["calibration"],
        sources: &["native_calibrate_cpu() in arch/x86/kernel/tsc.c"],
    },
    Entry {
        id: "cal-noreference",
        words: &["tsc: No reference (HPET/PMTIMER) available", "No reference (HPET/PMTIMER)"],
        what: "Neither HPET nor PM timer can be used to measure the TSC.",
        versions: "All.",
        so_what: "The PIT's figure is used if there is one. The refinement later cannot run \
         either, so the early figure stays.",
        do_what: "In a guest, a PM timer or a stated frequency helps. Watch the drift with NTP.",
        see_also: &["calibration", "refinement", "tsc_early_khz"],
        sources: &["native_calibrate_cpu() in arch/x86/kernel/tsc.c"],
    },
    Entry {
        id: "cal-reffailed",
        words: &["tsc: HPET/PMTIMER calibration failed", "HPET/PMTIMER calibration failed"],
        what: "The measurement against HPET or PM timer was disturbed each time.",
        versions: "All.",
        so_what: "The PIT's figure is used if there is one.",
        do_what: "On hardware: SMIs, firmware. In a guest: a busy host.",
        see_also: &["calibration", "SMI"],
        sources: &["native_calibrate_cpu() in arch/x86/kernel/tsc.c"],
    },
    Entry {
        id: "cal-hpet",
        words: &[
            "tsc: using HPET reference calibration",
            "HPET reference calibration",
            "PIT calibration matches HPET",
        ],
        what: "The first frequency was measured against the HPET.",
        versions: "All.",
        so_what: "Normal.",
        do_what: "Nothing.",
        see_also: &["calibration", "hpet"],
        sources: &["native_calibrate_cpu() in arch/x86/kernel/tsc.c"],
    },
    Entry {
        id: "cal-pmtimer",
        words: &[
            "tsc: using PMTIMER reference calibration",
            "PMTIMER reference calibration",
            "PIT calibration matches PMTIMER",
        ],
        what: "The first frequency was measured against the ACPI PM timer.",
        versions: "All.",
        so_what: "Normal.",
        do_what: "Nothing.",
        see_also: &["calibration", "acpi_pm"],
        sources: &["native_calibrate_cpu() in arch/x86/kernel/tsc.c"],
    },
    Entry {
        id: "cal-pit",
        words: &["tsc: Using PIT calibration value", "Using PIT calibration value"],
        what: "The first frequency was measured against the PIT; there was no second witness.",
        versions: "All.",
        so_what: "Normal in small guests.",
        do_what: "Nothing.",
        see_also: &["calibration"],
        sources: &["native_calibrate_cpu() in arch/x86/kernel/tsc.c"],
    },
    Entry {
        id: "cal-deviates",
        words: &["tsc: PIT calibration deviates from HPET: A B", "PIT calibration deviates"],
        what: "PIT and HPET (or PM timer) gave different frequencies; the figures are kHz. The \
         kernel takes the second.",
        versions: "All.",
        so_what: "One of the two timers is wrong, or SMIs disturbed one measurement.",
        do_what: "Compare with the refined figure and with NTP's drift.",
        see_also: &["calibration", "tsc-miscalibrated", "SMI"],
        sources: &["native_calibrate_cpu() in arch/x86/kernel/tsc.c"],
    },
    Entry {
        id: "recal-differs",
        words: &[
            "tsc: Warning: TSC freq calibrated by CPUID/MSR differs from what is calibrated by HW timer, please check with vendor!!",
            "calibrated by CPUID/MSR differs",
        ],
        what: "With tsc=recalibrate: the stated frequency and the measured one differ by more \
         than 500 ppm.",
        versions: "6.3 and later.",
        so_what: "One is wrong. The kernel keeps the stated one, so the clock may run wrong.",
        do_what: "Ask NTP: its drift tells which. Then the vendor, or the hypervisor's operator.",
        see_also: &["tsc=recalibrate", "tsc-miscalibrated", "ppm"],
        sources: &["tsc_refine_calibration_work() in arch/x86/kernel/tsc.c, 6.3 and later"],
    },
    Entry {
        id: "recalibrated",
        words: &["tsc: TSC freq recalibrated by [HPET]: N MHz", "TSC freq recalibrated by"],
        what: "With tsc=recalibrate: the frequency as measured. It is printed only; the stated \
         one stays in use.",
        versions: "6.3 and later.",
        so_what: "Compare with `Detected`.",
        do_what: "Remove tsc=recalibrate once you know.",
        see_also: &["tsc=recalibrate", "TSC_KNOWN_FREQ"],
        sources: &["tsc_refine_calibration_work() in arch/x86/kernel/tsc.c, 6.3 and later"],
    },
    Entry {
        id: "vmware-khz",
        words: &["vmware: TSC freq read from hypervisor : N MHz", "TSC freq read from hypervisor"],
        what: "VMware states the TSC's frequency; the kernel does not measure it.",
        versions: "All; without the prefix `vmware:` up to 4.9.",
        so_what: "Normal: VMware guests use tsc.",
        do_what: "Nothing.",
        see_also: &["vmware", "TSC_KNOWN_FREQ"],
        sources: &["arch/x86/kernel/cpu/vmware.c"],
    },
    Entry {
        id: "delay-loop",
        words: &[
            "Calibrating delay loop (skipped), value calculated using timer frequency..",
            "Calibrating delay",
        ],
        what: "The kernel's busy-wait loop. `skipped`: computed from the TSC's frequency (or \
         preset). `Calibrating delay loop...` with BogoMIPS: measured against the tick, because \
         no timer frequency was known.",
        versions: "All.",
        so_what: "No clock. But a measured loop on x86 says that the kernel did not know the \
         TSC's frequency.",
        do_what: "Nothing. BogoMIPS measure nothing useful.",
        see_also: &["calibration"],
        sources: &["init/calibrate.c"],
    },
    Entry {
        id: "hrtimer-took",
        words: &["hrtimer: interrupt took N ns", "hrtimer: interrupt took"],
        what: "One timer interrupt had so much to do, or was held up so long, that timers \
         expired faster than they were served. Printed once per boot.",
        versions: "2.6.33 and later.",
        so_what: "Usual in guests whose virtual CPU was stopped for a moment. Not a statement \
         about the clocksource.",
        do_what: "Nothing if it stands alone. If timers are late: look at steal time and SMIs.",
        see_also: &["steal time", "clock event device"],
        sources: &["hrtimer_interrupt() in kernel/time/hrtimer.c"],
    },
    Entry {
        id: "adjusting-11",
        words: &["Adjusting tsc more than 11% (A vs B)", "more than 11%"],
        what: "The kernel had to correct the clock's rate by more than it allows for (11 %). \
         Printed once per boot.",
        versions: "3.2 or so and later.",
        so_what: "Either NTP or the tick is far off, or ticks were lost for long (virtual \
         machine stopped, debugger). Rarely more than a consequence of a stall.",
        do_what: "If it comes at each boot: compare the TSC's frequency with NTP's drift.",
        see_also: &["mult/shift", "NTP", "readout-stall"],
        sources: &["timekeeping_adjust() in kernel/time/timekeeping.c"],
    },
    Entry {
        id: "underflow",
        words: &[
            "WARNING: Underflow in clocksource 'tsc' observed, time update ignored.",
            "Underflow in clocksource",
            "time overflow danger",
        ],
        what: "The debug check of timekeeping read a counter smaller than at the last update, or \
         so large that the conversion may overflow.",
        versions: "4.1 to about 6.12, with CONFIG_DEBUG_TIMEKEEPING.",
        so_what: "Underflow: the counter went backwards between two CPUs or jumped. Overflow: no \
         update for very long.",
        do_what: "Treat an underflow of tsc like tsc-warp: run clocksmith verify.",
        see_also: &["tsc-warp", "readout-stall"],
        sources: &["timekeeping_check_update() in kernel/time/timekeeping.c"],
    },
];
