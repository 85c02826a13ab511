//! Messages of kernel/time/clocksource.c: registration, choice, watchdog.

use super::super::entry::Entry;

/// One entry a message.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        id: "watchdog-marked",
        words: &[
            "Marking clocksource 'tsc' as unstable because the skew is too large",
            "skew is too large",
        ],
        what: "The watchdog compared two clocks over one interval, found them apart by more than \
         it tolerates, and demoted this clocksource. The two lines behind it (wd_now, cs_now) \
         hold the figures.",
        versions: "4.1 (with a comma, without the CPU), 4.2 to 7.0; the CPU's number since 4.7 \
         or before. Up to 4.0 and from 7.1 on other words.",
        so_what: "Until the next boot this clocksource is not used. The kernel cannot know which \
         of the two was wrong.",
        do_what: "Paste all its lines to clocksmith explain, or the log to clocksmith why --log. \
         Do not answer with tsc=reliable before that.",
        see_also: &["watchdog", "tsc-skew", "watchdog-at-fault", "tsc=nowatchdog"],
        sources: &["clocksource_watchdog() in kernel/time/clocksource.c"],
    },
    Entry {
        id: "watchdog-old",
        words: &["Clocksource tsc unstable (delta = N ns)", "unstable (delta ="],
        what: "The watchdog of old kernels: over about half a second this clocksource and its \
         reference differed by the stated time (positive: the clocksource counted more), and it \
         was demoted.",
        versions: "Up to 4.0. The limit was 62.5 ms. RHEL 6 adds a sentence about \
         clocksource_failover, and then changes nothing unless that parameter is set.",
        so_what: "Differences near 4.69 s or its multiples: the 24-bit PM timer wrapped, the TSC \
         is innocent. Negative and large: the TSC stood still (idle, suspend, VM stop).",
        do_what: "Look for what stopped the machine at that moment. A newer kernel prints the \
         figures that decide.",
        see_also: &["watchdog-at-fault", "tsc-skew", "tsc-jump", "clocksource_failover"],
        sources: &["clocksource_watchdog() in kernel/time/clocksource.c, up to 4.0"],
    },
    Entry {
        id: "watchdog-skewed",
        words: &["Clocksource 'tsc' skewed N ns (M ms) over watchdog 'hpet' interval of K ns"],
        what: "A detail of a demotion: how far the clocksource was off (negative: it counted \
         less), and by the reference's count how long the interval was.",
        versions: "6.3 to 7.0.",
        so_what: "Skew divided by interval is the rate difference. The limit is 500 us, that is \
         1000 ppm of half a second.",
        do_what: "See the figures below. The same ppm each time: a wrong rate. An interval far \
         from 500 ms: something held the machine up.",
        see_also: &["tsc-skew", "ppm", "watchdog"],
        sources: &["clocksource_watchdog() in kernel/time/clocksource.c, 6.3 to 7.0"],
    },
    Entry {
        id: "watchdog-detail",
        words: &["'NAME' wd_nsec: N wd_now: X wd_last: Y mask: Z", "wd_now:", "cs_now:"],
        what: "A detail of a demotion: where one of the two counters stood at the beginning \
         (last) and at the end (now) of the interval. wd is the reference, cs the clocksource \
         under test.",
        versions: "2.6.3x debug, 4.1 to 7.0; the interval in ns (wd_nsec, cs_nsec) since 5.14.",
        so_what: "now - last, within the mask, divided by the counter's frequency is the \
         interval that this clock saw.",
        do_what: "Paste both lines together.",
        see_also: &["watchdog", "max_cycles"],
        sources: &["clocksource_watchdog() in kernel/time/clocksource.c"],
    },
    Entry {
        id: "watchdog-current",
        words: &[
            "'tsc' is current clocksource.",
            "is current clocksource",
            "No current clocksource",
        ],
        what: "A detail of a demotion: which clocksource was in use at that moment.",
        versions: "5.14 to 7.0.",
        so_what: "If the demoted one was not in use, no program has seen a wrong time from it.",
        do_what: "Nothing.",
        see_also: &["watchdog"],
        sources: &["clocksource_watchdog() in kernel/time/clocksource.c"],
    },
    Entry {
        id: "watchdog-verdict-frequency",
        words: &["Marking clocksource tsc unstable due to frequency skew"],
        what: "The watchdog found that the two clocks run at different rates, and demoted this \
         one.",
        versions: "7.1 and later. Limit: about 488 ppm if both are calibrated (hpet, acpi_pm, \
         refined tsc), else about 3906 ppm.",
        so_what: "As for every demotion: until the next boot, and the reference may be the wrong \
         one.",
        do_what: "Compare the two interval lines that follow.",
        see_also: &["tsc-skew", "watchdog-at-fault", "watchdog"],
        sources: &["watchdog rewrite 763aacf86f1b (7.1), kernel/time/clocksource.c"],
    },
    Entry {
        id: "watchdog-verdict-cpu",
        words: &["Marking clocksource tsc unstable due to inter CPU skew"],
        what: "The watchdog read the counter on several CPUs in order, and a later read was \
         smaller: the CPUs' counters differ.",
        versions: "7.1 and later.",
        so_what: "Hard evidence against this clocksource. No reference is involved.",
        do_what: "As for tsc-warp: firmware, or the hypervisor's offsets. No parameter is safe.",
        see_also: &["tsc-warp", "tsc-skew", "tsc=reliable"],
        sources: &["watchdog rewrite 763aacf86f1b (7.1), kernel/time/clocksource.c"],
    },
    Entry {
        id: "watchdog-interval",
        words: &[
            "Watchdog hpet interval: N ns / Clocksource tsc interval: N ns",
            "Watchdog interval",
        ],
        what: "A detail of a demotion: the length of the same interval by the reference \
         (Watchdog) and by the clocksource.",
        versions: "7.1 and later.",
        so_what: "Their difference divided by the length is the rate difference.",
        do_what: "Paste both lines together.",
        see_also: &["ppm", "tsc-skew"],
        sources: &["watchdog rewrite 763aacf86f1b (7.1), kernel/time/clocksource.c"],
    },
    Entry {
        id: "watchdog-cpu-order",
        words: &["CPU3 N < CPU0 M (cycles)"],
        what: "A detail of an inter-CPU demotion: a counter that was read later on the first CPU \
         had the smaller value.",
        versions: "7.1 and later.",
        so_what: "The difference in cycles is how far time would go backwards between these \
         CPUs.",
        do_what: "As for tsc-warp.",
        see_also: &["tsc-warp", "Marking clocksource tsc unstable due to inter CPU skew"],
        sources: &["watchdog rewrite 763aacf86f1b (7.1), kernel/time/clocksource.c"],
    },
    Entry {
        id: "readback-marks",
        words: &[
            "hpet read-back delay of N ns, attempt 4, marking unstable",
            "read-back delay",
            "excessive read-back delay",
        ],
        what: "The watchdog could not read its pair of counters quickly enough, several times in \
         a row, and demoted the clocksource for it. `hpet read-back delay`: the reference was \
         slow. `wd-tsc-wd excessive`: the clocksource itself was slow (6.3 and later).",
        versions: "5.14 and later. Limit 50 us in 5.14 and 5.15, 100 us since 5.16, 125 us since \
         6.3.",
        so_what: "A slow reference says nothing against the TSC. Usual causes: emulated HPET, \
         overcommitted host, SMIs, many CPUs reading the HPET at once.",
        do_what: "Take the emulated HPET away, use a newer kernel, or tsc=nowatchdog.",
        see_also: &["watchdog-at-fault", "tsc=nowatchdog", "steal time"],
        sources: &["cs_watchdog_read() in kernel/time/clocksource.c, 5.14 and later"],
    },
    Entry {
        id: "readback-delay",
        words: &[
            "hpet wd-wd read-back delay of N ns",
            "wd-wd read-back delay",
            "wd-tsc-wd read-back delay",
        ],
        what: "Two reads of the reference in a row took too long, so the watchdog did not judge \
         the clocksource this time.",
        versions: "5.16 and later (stable 5.10 too).",
        so_what: "Harmless: the check was skipped, nothing was demoted. Often seen in guests \
         with an emulated HPET.",
        do_what: "Nothing. If it floods the log, take the emulated HPET away.",
        see_also: &["watchdog-at-fault", "hpet"],
        sources: &["cs_watchdog_read() in kernel/time/clocksource.c"],
    },
    Entry {
        id: "skew-skipped",
        words: &["clock-skew test skipped!", "skew test skipped"],
        what: "The second line of a slow read-back: this check was skipped.",
        versions: "5.16 and later (stable 5.10 too). Since 6.3 (stable 6.1 too) the watchdog \
         then rests for 5 minutes.",
        so_what: "Harmless.",
        do_what: "Nothing.",
        see_also: &["watchdog-at-fault"],
        sources: &["cs_watchdog_read() in kernel/time/clocksource.c"],
    },
    Entry {
        id: "retried",
        words: &["hpet retried N times before success", "times before success"],
        what: "The watchdog needed several tries to read its reference quickly enough. The name \
         is the reference's.",
        versions: "5.14 and later.",
        so_what: "Harmless.",
        do_what: "Nothing.",
        see_also: &["watchdog-at-fault"],
        sources: &["cs_watchdog_read() in kernel/time/clocksource.c"],
    },
    Entry {
        id: "long-readout",
        words: &[
            "Long readout interval, skipping watchdog check: cs_nsec: N wd_nsec: M",
            "long readout interval",
        ],
        what: "Two checks lay more than a second apart instead of half a second, so this one was \
         skipped. cs_nsec is the interval by the clocksource, wd_nsec by the reference.",
        versions: "6.8 and later, stable 5.10, 6.1 and 6.6 too; gone in 7.1.",
        so_what: "Both equal: the check was held up, and neither clock is at fault. cs much \
         larger: the TSC jumped ahead, and the kernel let it into the time. wd 0 or smaller by \
         4.69 s: the PM timer overran.",
        do_what: "See the figures below.",
        see_also: &["readout-stall", "tsc-jump", "watchdog-at-fault"],
        sources: &["clocksource_watchdog() in kernel/time/clocksource.c"],
    },
    Entry {
        id: "cross-check",
        words: &["Checking clocksource tsc synchronization from CPU N to CPUs M"],
        what: "After a demotion of the clocksource in use, the kernel compares the counters of \
         several CPUs.",
        versions: "5.14 to 7.0.",
        so_what: "No finding by itself. If lines `ahead of` or `behind` follow, the CPUs' \
         counters differ. If none follows, nothing was found on the CPUs that were looked at (8 \
         by default).",
        do_what: "Look at the lines that follow.",
        see_also: &["clocksource.verify_n_cpus", "tsc-skew"],
        sources: &["clocksource_verify_percpu() in kernel/time/clocksource.c"],
    },
    Entry {
        id: "cross-check-skew",
        words: &["CPUs N ahead of CPU M for clocksource tsc.", "behind CPU"],
        what: "The counters of these CPUs are ahead of (or behind) the counter of the CPU that \
         looked.",
        versions: "5.14 to 7.0.",
        so_what: "Evidence that the TSC itself is not synchronised. Time would jump when a \
         thread moves between these CPUs.",
        do_what: "Firmware, or the hypervisor's offsets. No parameter is safe; tsc=reliable \
         would hide it.",
        see_also: &["tsc-skew", "tsc-warp", "tsc=reliable"],
        sources: &["clocksource_verify_percpu() in kernel/time/clocksource.c"],
    },
    Entry {
        id: "cross-check-none",
        words: &[
            "Not enough CPUs to check clocksource 'tsc'.",
            "Not enough CPUs to check clocksource",
        ],
        what: "After a demotion the kernel wanted to compare the counters of several CPUs, and \
         there is only one (or clocksource.verify_n_cpus=0).",
        versions: "5.14 to 7.0.",
        so_what: "On a machine with one CPU the counters cannot differ between CPUs: the rate, \
         or the reference, was wrong.",
        do_what: "Look at the demotion's figures.",
        see_also: &["tsc-skew", "watchdog-at-fault"],
        sources: &["clocksource_verify_percpu() in kernel/time/clocksource.c"],
    },
    Entry {
        id: "cross-check-durations",
        words: &["CPU N check durations A ns - B ns for clocksource tsc.", "check durations"],
        what: "How long the comparison between CPUs took: the shortest and the longest time.",
        versions: "5.14 to 7.0.",
        so_what: "Differences between CPUs smaller than this cannot be seen by the test.",
        do_what: "Nothing.",
        see_also: &["Checking clocksource tsc synchronization from CPU"],
        sources: &["clocksource_verify_percpu() in kernel/time/clocksource.c"],
    },
    Entry {
        id: "remote-timeout",
        words: &["Watchdog remote CPU N read timed out"],
        what: "The watchdog asked another CPU for its counter and did not get it in time. This \
         one check was skipped.",
        versions: "7.1 and later. Window: 50 us and more by NUMA distance, at most 500 us.",
        so_what: "Informational.",
        do_what: "Nothing.",
        see_also: &["watchdog-remote-timeout"],
        sources: &["watchdog rewrite 763aacf86f1b (7.1), kernel/time/clocksource.c"],
    },
    Entry {
        id: "read-timeout",
        words: &["Watchdog hpet read timed out. Readout sequence took: N ns"],
        what: "Reading the reference took too long (over 50 us). The check was dropped and \
         starts afresh.",
        versions: "7.1 and later; printed at most twice in 5 seconds.",
        so_what: "The reference is slow. Harmless for the clocksource.",
        do_what: "Nothing; with a flood of them, take the emulated HPET away.",
        see_also: &["watchdog-at-fault", "hpet"],
        sources: &["watchdog rewrite 763aacf86f1b (7.1), kernel/time/clocksource.c"],
    },
    Entry {
        id: "registered",
        words: &["clocksource: NAME: mask: X max_cycles: Y, max_idle_ns: N ns", "max_idle_ns:"],
        what: "A clocksource has registered. That does not mean that it is used, or even usable: \
         up to 4.15 an unstable tsc prints this line too.",
        versions: "4.1 and later (4.1 without the colon behind `clocksource`).",
        so_what: "The figures reveal the frequency that the kernel uses, and the counter's \
         width.",
        do_what: "See the figures below; compare with `Detected` and `Refined`.",
        see_also: &["max_cycles", "clocksource", "rating"],
        sources: &["__clocksource_register_scale() in kernel/time/clocksource.c"],
    },
    Entry {
        id: "switched",
        words: &[
            "Switched to clocksource NAME",
            "Switching to clocksource",
            "clocksource has been installed",
        ],
        what: "The kernel now takes its time from this clocksource.",
        versions: "`Switched to` since 3.11, `Switching to` before, `Time: X clocksource has \
         been installed` up to 2.6.27.",
        so_what: "Several of them in the first seconds of a boot are normal (refined-jiffies or \
         hpet first, tsc last). One later, away from tsc, means that tsc was demoted just \
         before.",
        do_what: "If it is away from tsc: read the lines in front of it.",
        see_also: &["current_clocksource", "refinement", "watchdog"],
        sources: &["timekeeping_notify() and clocksource_select(), kernel/time"],
    },
    Entry {
        id: "override-unstable",
        words: &[
            "Override clocksource tsc is unstable and not HRT compatible - cannot switch while in HRT/NOHZ mode",
            "unstable and not HRT",
        ],
        what: "Somebody asked for this clocksource, and it is marked unstable. The wish is \
         refused and forgotten.",
        versions: "4.9 and later.",
        so_what: "The write to sysfs returned success all the same. It cannot be had before the \
         next boot.",
        do_what: "Find the first line that marked it unstable.",
        see_also: &["override-refused", "tsc-skew", "high resolution"],
        sources: &["clocksource_select() in kernel/time/clocksource.c"],
    },
    Entry {
        id: "override-nothres",
        words: &[
            "Override clocksource tsc is not HRT compatible. Cannot switch while in HRT/NOHZ mode",
            "not HRT compatible",
        ],
        what: "Somebody asked for a clocksource that cannot serve high-resolution timers, or is \
         not verified yet, or is unstable. The wish is refused and forgotten.",
        versions: "Up to 4.8.",
        so_what: "With tsc in the first seconds of a boot: asked too early, before the watchdog \
         had verified it.",
        do_what: "Write the name again later, or find out why it is unstable.",
        see_also: &["override-refused", "high resolution"],
        sources: &["clocksource_select() in kernel/time/clocksource.c"],
    },
    Entry {
        id: "override-deferred",
        words: &[
            "Override clocksource tsc is not currently HRT compatible - deferring",
            "HRT compatible - deferring",
        ],
        what: "Somebody asked for a clocksource that is not verified yet. The wish is kept and \
         granted once the watchdog has verified it; meanwhile the best other one is used.",
        versions: "4.9 and later.",
        so_what: "Normal early in a boot. If it stays so, there is no watchdog that could verify \
         it.",
        do_what: "Wait, then read current_clocksource.",
        see_also: &["override-refused", "watchdog"],
        sources: &["clocksource_select() in kernel/time/clocksource.c"],
    },
    Entry {
        id: "clock-deprecated",
        words: &[
            "clock=pmtmr is deprecated - use clocksource=acpi_pm",
            "pmtmr is deprecated",
            "clock= boot option is deprecated",
        ],
        what: "The command line has the old parameter clock=.",
        versions: "All.",
        so_what: "It still acts: clock=pmtmr means clocksource=acpi_pm, a slow clock.",
        do_what: "Remove it unless there is a reason.",
        see_also: &["clock=pmtmr", "acpi_pm"],
        sources: &["boot_override_clock() in kernel/time/clocksource.c"],
    },
    Entry {
        id: "invalid-mask",
        words: &["clocksource: X registered with invalid mask", "registered with invalid mask"],
        what: "A driver gave a counter of less than 64 bits a vDSO mode. The kernel takes the \
         mode away.",
        versions: "4.20 and later.",
        so_what: "This clocksource is read by system call. A driver's fault.",
        do_what: "Report it to the driver's authors.",
        see_also: &["vDSO", "max_cycles"],
        sources: &["__clocksource_update_freq_scale() in kernel/time/clocksource.c"],
    },
];
