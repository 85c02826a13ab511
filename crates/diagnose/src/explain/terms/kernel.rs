//! Words of the kernel's timekeeping.

use super::super::entry::Entry;

/// One entry a word.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        id: "clocksource",
        words: &["clocksource", "clock source"],
        what: "The counter from which the kernel derives the time. One is in use for the whole \
         machine; the kernel takes the usable one with the highest rating.",
        versions: "All. Names and choice: /sys/devices/system/clocksource/clocksource0.",
        so_what: "It decides what a read of the time costs (25 ns or several us) and whether \
         time can be trusted. Containers share their host's.",
        do_what: "clocksmith why says which one is in use and why.",
        see_also: &["rating", "current_clocksource", "available_clocksource", "tsc"],
        sources: &["kernel/time/clocksource.c"],
    },
    Entry {
        id: "rating",
        words: &["rating"],
        what: "A number by which clocksources rank themselves: 1 to 99 unfit, 100 to 199 usable, \
         200 to 299 good, 300 to 399 desired, 400 to 499 perfect. The highest usable one is \
         taken; between equals, the one that registered first.",
        versions: "All. 500 (Hyper-V, 5.13 and later) is beyond the documented scale.",
        so_what: "It is a driver author's opinion, not a measurement: xen with 400 was slower \
         than tsc with 300 for years. Unstable means rating 0.",
        do_what: "clocksource=NAME overrides it.",
        see_also: &["clocksource=NAME", "paravirt-clock-preferred"],
        sources: &["include/linux/clocksource.h"],
    },
    Entry {
        id: "current_clocksource",
        words: &["current_clocksource"],
        what: "The file that names the clocksource in use, and takes another name: \
         /sys/devices/system/clocksource/clocksource0/current_clocksource.",
        versions: "All. An empty write clears the choice.",
        so_what: "A write returns success also when nothing changed: wrong name, unstable, \
         deferred. Only a write of no bytes, or of 32 and more, fails with EINVAL.",
        do_what: "Always read it back after a write. The choice is lost at reboot.",
        see_also: &["available_clocksource", "override-refused", "runtime-override"],
        sources: &["current_clocksource_store() in kernel/time/clocksource.c"],
    },
    Entry {
        id: "available_clocksource",
        words: &["available_clocksource"],
        what: "The file that lists clocksources, best rating first. With high-resolution timers \
         on (the normal case) it hides all that are not fit for them: jiffies, and any unstable \
         one.",
        versions: "All.",
        so_what: "If tsc is not listed: hidden by CPU or hypervisor, notsc, marked unstable, \
         demoted by the watchdog, or the boot is less than two seconds old.",
        do_what: "Look for the reason in the log, not in this file.",
        see_also: &["current_clocksource", "high resolution", "no-tsc", "tsc-skew"],
        sources: &["available_clocksource_show() in kernel/time/clocksource.c"],
    },
    Entry {
        id: "unbind_clocksource",
        words: &["unbind_clocksource"],
        what: "A write-only file that unregisters a clocksource by name.",
        versions: "3.11 and later.",
        so_what: "It cannot be undone before the next boot. EBUSY: there is no replacement. A \
         name that was unbound can be written to current_clocksource without error and without \
         effect.",
        do_what: "Rarely useful. To stop a bad reference, prefer tsc=nowatchdog.",
        see_also: &["current_clocksource"],
        sources: &["unbind_clocksource_store() in kernel/time/clocksource.c, 3.11 and later"],
    },
    Entry {
        id: "watchdog",
        words: &["watchdog", "clocksource watchdog", "timekeeping watchdog", "kwatchdog"],
        what: "A timer that compares the TSC with another clock (the reference) every half \
         second, and demotes the TSC if they differ too much. The reference is the best other \
         source: a paravirtual clock, hpet, acpi_pm, at worst jiffies.",
        versions: "Tolerance: 62.5 ms up to 5.13; 200 us in 5.14 and 5.15; 400 us in 5.16 to \
         6.2; 500 us since 6.3; 7.1: 488 or 3906 ppm. Off on good hardware since 5.16 (2 nodes; \
         4 nodes 6.6; 4 packages 6.12), with TSC_RELIABLE or tsc=reliable.",
        so_what: "It cannot tell which of the two clocks is wrong; it always blames the TSC. A \
         demotion lasts until the next boot. It has nothing to do with the lockup or hardware \
         watchdog.",
        do_what: "Read its figures with clocksmith explain or clocksmith why --log. If the \
         reference is at fault: tsc=nowatchdog.",
        see_also: &["watchdog-at-fault", "tsc-skew", "tsc=nowatchdog", "readout-stall"],
        sources: &[
            "clocksource_watchdog() in kernel/time/clocksource.c; commit b50db7095fe0 (5.16)",
        ],
    },
    Entry {
        id: "skew",
        words: &["skew", "clock skew"],
        what: "The difference between two clocks over the same interval, here: TSC minus \
         reference in one watchdog period.",
        versions: "See watchdog for the limits.",
        so_what: "A constant skew is a rate error (ppm); one large skew is a late read, a stall \
         or a jump.",
        do_what: "Compare several lines before blaming a clock.",
        see_also: &["ppm", "tsc-skew", "watchdog"],
        sources: &["clocksource_watchdog() in kernel/time/clocksource.c"],
    },
    Entry {
        id: "ppm",
        words: &["ppm", "drift"],
        what: "Parts per million: 1 ppm is 1 us per second, or 86 ms a day. 500 ppm are 43 s a \
         day.",
        versions: "Any.",
        so_what: "Quartz is good to 20 to 100 ppm. NTP can correct up to 500 ppm. Beyond that \
         the kernel uses a wrong frequency, or the clock is emulated badly.",
        do_what: "chronyc tracking or ntpq -c rv shows the drift against real time.",
        see_also: &["tsc-miscalibrated", "NTP"],
        sources: &["adjtimex(2)"],
    },
    Entry {
        id: "high resolution",
        words: &[
            "high resolution",
            "one-shot tick",
            "oneshot",
            "tick one-shot",
            "HRES",
            "nohz mode",
            "VALID_FOR_HRES",
        ],
        what: "With high-resolution timers or tickless idle the tick is programmed one shot at a \
         time (one-shot mode). The clocksource must then be a real counter that the kernel \
         trusts (VALID_FOR_HRES).",
        versions: "All since 2.6.32; the rule for the choice since 3.11.",
        so_what: "jiffies, pit and unstable clocksources are neither listed nor taken in this \
         mode. Without any trusted counter the tick stays periodic for good and timers are as \
         coarse as the tick (1 to 10 ms).",
        do_what: "clock_getres(CLOCK_MONOTONIC) of 1 ns means one-shot; 1 to 10 ms means \
         periodic.",
        see_also: &["override-refused", "highres=off", "jiffies"],
        sources: &[
            "clocksource_find_best() in kernel/time/clocksource.c; kernel/time/tick-sched.c",
        ],
    },
    Entry {
        id: "mult/shift",
        words: &["mult/shift", "mult", "shift", "cyc2ns"],
        what: "How the kernel turns cycles into nanoseconds: ns = (cycles * mult) >> shift, with \
         integers. NTP corrects the rate by changing mult.",
        versions: "All.",
        so_what: "mult and shift follow from the frequency that the kernel believes. If that is \
         wrong, so is every time that it tells.",
        do_what: "Nothing to set.",
        see_also: &["max_cycles", "seqlock", "NTP"],
        sources: &["clocks_calc_mult_shift() in kernel/time/clocksource.c"],
    },
    Entry {
        id: "max_cycles",
        words: &["max_cycles", "max_idle_ns", "mask"],
        what: "Figures of a clocksource's registration line: mask is the counter's width, \
         max_cycles how many cycles can be converted without overflow, max_idle_ns how long the \
         kernel may sleep before it must read the counter again.",
        versions: "4.1 and later in the log.",
        so_what: "They reveal the frequency that the kernel uses: max_cycles * 0.445 / \
         max_idle_ns, in GHz. A line for a clocksource means registered, not chosen.",
        do_what: "Paste the line to clocksmith explain to get the frequency.",
        see_also: &["mult/shift", "clocksource"],
        sources: &["clocks_calc_max_nsecs() in kernel/time/clocksource.c"],
    },
    Entry {
        id: "seqlock",
        words: &["seqlock", "seqcount", "vvar"],
        what: "How a reader gets consistent time data without a lock: it reads a sequence number \
         before and after, and repeats if the kernel wrote in between. The vDSO does this on the \
         vvar page.",
        versions: "All.",
        so_what: "A read can repeat while the kernel updates (once a tick). In a guest, if the \
         virtual CPU that updates is stopped in the middle, readers spin until it runs again.",
        do_what: "Nothing to set.",
        see_also: &["vDSO", "mult/shift"],
        sources: &["include/linux/seqlock.h; lib/vdso/gettimeofday.c"],
    },
    Entry {
        id: "vDSO",
        words: &["vDSO", "vsyscall page", "fast path"],
        what: "A small library that the kernel maps into every process. clock_gettime() and \
         gettimeofday() read the counter there, without a system call.",
        versions: "x86-64: tsc always; hpet up to 4.6; kvm-clock 3.8; Hyper-V page 4.12; xen \
         4.15. CLOCK_TAI 4.20; CLOCK_MONOTONIC_RAW and CLOCK_BOOTTIME 5.3; 32-bit x86 3.15. \
         arm64 3.7.",
        so_what: "With it a read costs 20 to 50 ns, without it 100 to 500 ns plus the device: us \
         for hpet, acpi_pm or an MSR clock. CPU-time clocks never use it.",
        do_what: "strace does not see vDSO reads: clock_gettime lines in strace -c prove the \
         slow path.",
        see_also: &["vdso-bypassed", "CLOCK_MONOTONIC_RAW", "COARSE clocks", "vdso=0"],
        sources: &["lib/vdso/gettimeofday.c (5.3 and later); arch/x86/entry/vdso"],
    },
    Entry {
        id: "COARSE clocks",
        words: &["COARSE clocks", "CLOCK_MONOTONIC_COARSE", "CLOCK_REALTIME_COARSE", "coarse"],
        what: "CLOCK_MONOTONIC_COARSE and CLOCK_REALTIME_COARSE: the time at the last tick. No \
         counter is read.",
        versions: "2.6.32 and later.",
        so_what: "About 5 ns with any clocksource; the resolution is one tick, 1 to 10 ms.",
        do_what: "Use them for time stamps where a tick is good enough: it is the cheapest cure \
         for a slow clocksource.",
        see_also: &["vDSO", "jiffies"],
        sources: &["clock_gettime(2)"],
    },
    Entry {
        id: "CLOCK_MONOTONIC_RAW",
        words: &["CLOCK_MONOTONIC_RAW", "CLOCK_BOOTTIME", "CLOCK_TAI"],
        what: "CLOCK_MONOTONIC_RAW is the counter's time without NTP's rate correction; \
         CLOCK_BOOTTIME also counts suspend; CLOCK_TAI has no leap seconds.",
        versions: "In the vDSO on x86: CLOCK_TAI since 4.20, the others since 5.3. arm64: \
         CLOCK_MONOTONIC_RAW since 4.8.",
        so_what: "Before that they cost a system call even on tsc: no fault of the clocksource. \
         RAW is no cheaper than MONOTONIC, and drifts.",
        do_what: "For intervals use CLOCK_MONOTONIC.",
        see_also: &["vDSO", "vdso-bypassed"],
        sources: &["lib/vdso/gettimeofday.c"],
    },
    Entry {
        id: "sched_clock",
        words: &["sched_clock"],
        what: "The scheduler's own clock: it stamps the kernel log and accounts CPU time. Fast, \
         and allowed to be less exact. On x86 it uses the TSC even when the clocksource is \
         another one.",
        versions: "`Marking stable` and `Marking unstable` since 4.13.",
        so_what: "Log stamps that jump or run backwards are a sign of unsynchronised TSCs. It is \
         not what programs read.",
        do_what: "Nothing.",
        see_also: &["sched_clock: Marking stable", "sched_clock: Marking unstable"],
        sources: &["kernel/sched/clock.c"],
    },
    Entry {
        id: "clock event device",
        words: &["clock event device", "clockevent", "lapic timer", "tsc-deadline"],
        what: "The hardware that raises timer interrupts (local APIC, HPET, Arm timer). A \
         clocksource only tells the time; an event device only rings.",
        versions: "All.",
        so_what: "A broken event device makes timers late; a broken clocksource makes the time \
         wrong. The TSC-deadline mode of the local APIC is an event device.",
        do_what: "Do not mix the two when reading a log.",
        see_also: &["clocksource", "lapic=notscdeadline"],
        sources: &["kernel/time/clockevents.c"],
    },
    Entry {
        id: "NTP",
        words: &["NTP", "adjtimex", "chrony", "ntpd"],
        what: "A daemon that keeps the kernel's clock to real time by changing its rate (at most \
         500 ppm) and, if far off, by stepping it.",
        versions: "Any.",
        so_what: "It hides a wrong frequency up to 500 ppm, and its drift figure reveals it. It \
         cannot repair a clock that goes backwards between CPUs.",
        do_what: "Keep it running always, and look at its drift before you blame a clocksource.",
        see_also: &["ppm", "tsc-miscalibrated"],
        sources: &["adjtimex(2)"],
    },
    Entry {
        id: "time namespace",
        words: &["time namespace", "timens"],
        what: "A container's own offset for CLOCK_MONOTONIC and CLOCK_BOOTTIME, for checkpoint \
         and restore.",
        versions: "5.6 and later.",
        so_what: "The vDSO adds the offset; no system call. The clocksource is still the host's.",
        do_what: "Nothing.",
        see_also: &["vDSO"],
        sources: &["time_namespaces(7)"],
    },
    Entry {
        id: "suspend",
        words: &["suspend", "suspend and resume", "hibernation"],
        what: "The machine sleeps. The TSC stops and may restart from zero or from any value; \
         the kernel adds the slept time from another clock.",
        versions: "All. A few Atoms have nonstop_tsc_s3.",
        so_what: "A frequent moment for TSC trouble: firmware restores the CPUs' counters \
         unequally, and the warp test then fails as each CPU comes back.",
        do_what: "A TSC lost at resume every time: firmware update.",
        see_also: &["tsc-jump", "tsc-warp", "tsc-adjust-changed"],
        sources: &["kernel/time/timekeeping.c, timekeeping_resume()"],
    },
];
