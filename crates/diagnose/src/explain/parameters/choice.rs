//! Parameters that choose or judge clocksources, and those of hypervisors' clocks.

use super::super::entry::Entry;

/// One entry a parameter or value.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        id: "clocksource=NAME",
        words: &["clocksource=NAME", "clocksource=", "clocksource parameter"],
        what: "Chooses the clocksource at boot. The name is not checked: an unknown one is \
         accepted in silence and stays pending. At most 31 characters count, and the last one on \
         the line wins.",
        versions: "All.",
        so_what: "It overrides the rating, so it can also choose something slow. An unstable or \
         unverified source is refused or deferred in one-shot tick mode. clocksource=jiffies is \
         honoured and keeps high-resolution timers off for the whole uptime.",
        do_what: "Check current_clocksource after the boot. Prefer removing the reason why the \
         kernel would not choose it itself.",
        see_also: &[
            "clocksource=tsc",
            "cmdline-clocksource-override",
            "cmdline-clocksource-unknown",
            "override-refused",
        ],
        sources: &[
            "boot_override_clocksource() in kernel/time/clocksource.c; Documentation/admin-guide/kernel-parameters.txt",
        ],
    },
    Entry {
        id: "clocksource=tsc",
        words: &["clocksource=tsc"],
        what: "Chooses tsc at boot, if tsc is registered and trusted.",
        versions: "All.",
        so_what: "Useful where a paravirtual clock outranks a good TSC (kvm-clock up to 5.0, xen \
         up to 6.2). It does not make an unstable TSC usable, and it does not switch the \
         watchdog off.",
        do_what: "Run clocksmith verify before. Mind that a restored or migrated guest keeps a \
         stale wall clock on tsc until NTP steps it.",
        see_also: &["clocksource=NAME", "tsc", "tsc=nowatchdog", "AWS"],
        sources: &["boot_override_clocksource() in kernel/time/clocksource.c"],
    },
    Entry {
        id: "clock=pmtmr",
        words: &["clock=pmtmr", "clock=", "clock=NAME"],
        what: "The deprecated form of clocksource=. Only the value pmtmr is translated, to \
         acpi_pm; any other value is taken as a name.",
        versions: "All, with a warning in the log.",
        so_what: "clock=pit and clock=tsc from old forum posts still act on today's kernels.",
        do_what: "Write clocksource=acpi_pm if you mean it; better remove it.",
        see_also: &["clocksource=NAME", "acpi_pm"],
        sources: &["boot_override_clock() in kernel/time/clocksource.c"],
    },
    Entry {
        id: "clocksource_failover",
        words: &["clocksource_failover"],
        what: "A parameter of RHEL 6 only: lets the kernel leave a clocksource that its watchdog \
         calls unstable.",
        versions: "RHEL 6, 2.6.32-220 and later. Mainline never had it and always fails over.",
        so_what: "Without it the message `Clocksource tsc unstable` on RHEL 6 changes nothing: \
         the TSC stays in use.",
        do_what: "Find out why the TSC was called unstable before choosing failover.",
        see_also: &["Clocksource tsc unstable", "tsc-skew"],
        sources: &["log text of RHEL 6 kernels"],
    },
    Entry {
        id: "clocksource.max_cswd_read_retries",
        words: &["clocksource.max_cswd_read_retries", "max_cswd_read_retries"],
        what: "How often the watchdog reads again when a read was slow, before it gives up.",
        versions: "5.14 to 6.8 (default 3, since 5.16 2). Removed in 6.9 and late in 6.1.y and \
         6.6.y: the number then follows from the CPU count.",
        so_what: "Raising it makes false demotions rarer where the reference is slow (emulated \
         HPET).",
        do_what: "Better remove the slow reference, or use a newer kernel.",
        see_also: &["watchdog", "watchdog-at-fault", "read-back delay"],
        sources: &["kernel/time/clocksource.c"],
    },
    Entry {
        id: "clocksource.verify_n_cpus",
        words: &["clocksource.verify_n_cpus", "verify_n_cpus"],
        what: "On how many CPUs the kernel compares the TSC after it found it off (default 8, -1 \
         for all).",
        versions: "5.14 to 7.0.",
        so_what: "It costs nothing in normal operation, and the lines `ahead of` and `behind` \
         that it prints are evidence.",
        do_what: "-1 helps when hunting a CPU whose TSC differs.",
        see_also: &["tsc-skew", "watchdog"],
        sources: &["clocksource_verify_percpu() in kernel/time/clocksource.c"],
    },
    Entry {
        id: "clocksource-wdtest",
        words: &["clocksource-wdtest", "clocksource-wdtest.holdoff"],
        what: "Options of the watchdog's test module.",
        versions: "5.14 and later.",
        so_what: "Only for kernel testing.",
        do_what: "Do not use it in production.",
        see_also: &["wdtest-ktime", "watchdog"],
        sources: &["kernel/time/clocksource-wdtest.c"],
    },
    Entry {
        id: "tsc=",
        words: &["tsc=", "tsc parameter"],
        what: "Says how far the kernel may trust the TSC. One value per parameter: \
         tsc=reliable,nowatchdog is compared as a whole and ignored. Repeat it instead.",
        versions: "reliable: all. noirqtime: 2.6.37. unstable: 4.13. nowatchdog: 5.2. \
         recalibrate and watchdog: 6.3 and later.",
        so_what: "A value that this kernel does not know is ignored without a message.",
        do_what: "Prefer nowatchdog to reliable. See each value: clocksmith explain \
         tsc=reliable.",
        see_also: &[
            "tsc=reliable",
            "tsc=nowatchdog",
            "tsc=unstable",
            "tsc=recalibrate",
            "tsc=watchdog",
            "tsc=noirqtime",
        ],
        sources: &["tsc_setup() in arch/x86/kernel/tsc.c"],
    },
    Entry {
        id: "tsc=reliable",
        words: &["tsc=reliable", "reliable"],
        what: "Tells the kernel that the TSC is good: no watchdog, no test between CPUs at boot \
         (3.3 and later), no `TSCs unsynchronized` on AMD (2.6.38 and later), from 3.3 to 4.9 \
         also no refinement.",
        versions: "All. In 4.16 to 5.3 tsc-early stays watched, so a busy boot can lose the TSC \
         all the same. It does not stop idle drivers, cpufreq, Hyper-V or a failed calibration \
         from marking the TSC unstable.",
        so_what: "It switches the checks off, not the fault. If the TSCs of two CPUs differ, \
         time goes backwards when a thread moves between them, timers hang, and nothing reports \
         it.",
        do_what: "Use it only if clocksmith verify finds no difference between CPUs and the \
         platform promises it. tsc=nowatchdog (5.2 and later) silences the watchdog too and \
         keeps the test between CPUs: prefer it.",
        see_also: &["tsc=nowatchdog", "tsc-warp", "watchdog", "AWS", "ScyllaDB"],
        sources: &[
            "check_system_tsc_reliable(), tsc_setup() in arch/x86/kernel/tsc.c; arch/x86/kernel/tsc_sync.c; commit 28a00184be26 (3.3)",
        ],
    },
    Entry {
        id: "tsc=nowatchdog",
        words: &["tsc=nowatchdog", "nowatchdog"],
        what: "Takes the TSC out of the watchdog's hands. The test between CPUs at boot still \
         runs.",
        versions: "5.2 and later (ignored before). It wins over tsc=watchdog. In 5.2 and 5.3 \
         tsc-early stays watched.",
        so_what: "The right answer to a reference that is wrong (emulated HPET, busy host). A \
         TSC that really drifts later is no longer noticed by the kernel.",
        do_what: "Use it after clocksmith verify has trusted the TSC, and keep NTP running: it \
         shows a drift.",
        see_also: &["tsc=reliable", "watchdog", "watchdog-at-fault"],
        sources: &["tsc_setup() in arch/x86/kernel/tsc.c, 5.2 and later"],
    },
    Entry {
        id: "tsc=unstable",
        words: &["tsc=unstable"],
        what: "Marks the TSC unstable from the start, with the reason `boot parameter`.",
        versions: "4.13 and later.",
        so_what: "tsc is never used, and sched_clock takes its slower way from the beginning: no \
         surprise in the middle of the run. Reads go to a slower clock.",
        do_what: "Only for machines whose TSC is known to be bad. The kernel's own advice to use \
         it is a generic text.",
        see_also: &["cmdline-tsc-unstable", "TSC found unstable after boot"],
        sources: &["tsc_setup() in arch/x86/kernel/tsc.c, 4.13 and later"],
    },
    Entry {
        id: "tsc=recalibrate",
        words: &["tsc=recalibrate"],
        what: "Where CPUID, an MSR or the hypervisor states the TSC's frequency, measure it \
         against HPET or PM timer all the same, and print the result.",
        versions: "6.3 and later.",
        so_what: "It prints `TSC freq recalibrated by [HPET]`, and a warning if the difference \
         is over 500 ppm. The kernel keeps the stated frequency: this is a diagnosis, no \
         correction.",
        do_what: "Use it for one boot when NTP fights a large, steady drift.",
        see_also: &["tsc-miscalibrated", "TSC_KNOWN_FREQ", "tsc_early_khz"],
        sources: &["tsc_refine_calibration_work() in arch/x86/kernel/tsc.c, 6.3 and later"],
    },
    Entry {
        id: "tsc=watchdog",
        words: &["tsc=watchdog"],
        what: "6.3 to 7.0: let a trusted TSC check the other clocks (in practice acpi_pm). 7.1: \
         watch the TSC even where the kernel would trust it.",
        versions: "6.3 and later, with another meaning from 7.1 on.",
        so_what: "tsc=nowatchdog wins over it.",
        do_what: "For hunting a bad HPET or PM timer (6.3 to 7.0), or to keep an eye on a TSC \
         that one does not trust (7.1).",
        see_also: &["watchdog", "tsc=nowatchdog"],
        sources: &["tsc_setup() in arch/x86/kernel/tsc.c, 6.3 and later"],
    },
    Entry {
        id: "tsc=noirqtime",
        words: &["tsc=noirqtime"],
        what: "Do not account interrupt time with the TSC.",
        versions: "2.6.37 and later.",
        so_what: "No effect on the clocksource. It only touches the figures in /proc/stat and \
         for tasks.",
        do_what: "Leave it out unless accounting itself is too slow.",
        see_also: &["tsc="],
        sources: &["tsc_setup() in arch/x86/kernel/tsc.c"],
    },
    Entry {
        id: "tsc_early_khz",
        words: &["tsc_early_khz", "tsc_early_khz=N"],
        what: "States the TSC's first frequency in kHz, instead of measuring it.",
        versions: "5.8 and later.",
        so_what: "A refinement against HPET or PM timer still follows where there is one, and \
         corrects up to 1 %. Without one the figure is believed: a wrong one makes the clock run \
         wrong, or the watchdog demotes tsc-early within a second.",
        do_what: "Only where calibration fails (`could not calculate TSC khz`). Take the figure \
         from the host or the log of a good boot. The unit is kHz: 2596145 for 2.596 GHz.",
        see_also: &["tsc-early", "tsc-miscalibrated", "no-tsc"],
        sources: &["determine_cpu_tsc_frequencies() in arch/x86/kernel/tsc.c, 5.8 and later"],
    },
    Entry {
        id: "notsc",
        words: &["notsc"],
        what: "Switches the TSC off as a clock.",
        versions: "Up to 4.18: with CONFIG_X86_TSC=y the kernel says that it cannot disable the \
         TSC completely, and registers no tsc clocksource. 4.19 and later: marks it unstable \
         (`boot parameter notsc`). Undocumented since 4.19, still honoured.",
        so_what: "Every read falls to a slower clock.",
        do_what: "Remove it unless the TSC is known to be bad; then tsc=unstable is the better \
         word (4.13 and later).",
        see_also: &["cmdline-notsc", "tsc=unstable"],
        sources: &["notsc_setup() in arch/x86/kernel/tsc.c"],
    },
    Entry {
        id: "clearcpuid=tsc",
        words: &["clearcpuid=tsc", "clearcpuid", "clearcpuid=4"],
        what: "Hides CPU features from the kernel; tsc (bit 4) hides the TSC.",
        versions: "By number: all. By name: about 5.18 and later.",
        so_what: "No tsc clocksource at all, and a tainted kernel on newer versions.",
        do_what: "Remove it.",
        see_also: &["no-tsc", "notsc"],
        sources: &["arch/x86/kernel/cpu/common.c"],
    },
    Entry {
        id: "nopv",
        words: &["nopv"],
        what: "Run as if there were no hypervisor: no paravirtual clocks and calls.",
        versions: "5.3 and later. Parsed early, so it acts before the hypervisor is detected. \
         Xen PV, PVH and Jailhouse guests are exempt.",
        so_what: "kvm-clock, xen (HVM) and Hyper-V's clocks disappear, and with them the stated \
         TSC frequency: what is left is tsc by bare-metal rules, hpet or acpi_pm.",
        do_what: "Only for testing.",
        see_also: &["no-kvmclock", "xen_nopv", "kvm-clock"],
        sources: &["arch/x86/kernel/cpu/hypervisor.c, 5.3 and later"],
    },
    Entry {
        id: "no-kvmclock",
        words: &["no-kvmclock"],
        what: "Do not use kvm-clock.",
        versions: "2.6.32 and later.",
        so_what: "Also takes away the TSC frequency that KVM states: the TSC is then calibrated \
         by PIT, HPET or CPUID, and an AMD guest without invariant TSC has only hpet or acpi_pm \
         left.",
        do_what: "Rarely right. To prefer tsc, use clocksource=tsc and keep kvm-clock as the \
         fallback.",
        see_also: &["kvm-clock", "no-kvmclock-vsyscall", "nopv"],
        sources: &["parse_no_kvmclock() in arch/x86/kernel/kvmclock.c"],
    },
    Entry {
        id: "no-kvmclock-vsyscall",
        words: &["no-kvmclock-vsyscall"],
        what: "Keep kvm-clock, but do not read it in the vDSO.",
        versions: "4.19 and later.",
        so_what: "Every read becomes a system call.",
        do_what: "Remove it; it is for debugging.",
        see_also: &["kvm-clock", "vDSO", "vdso-bypassed"],
        sources: &["arch/x86/kernel/kvmclock.c, 4.19 and later"],
    },
    Entry {
        id: "no-steal-acc",
        words: &["no-steal-acc"],
        what: "Do not account the time that the hypervisor took from this guest.",
        versions: "3.1 and later (KVM; later also VMware and Arm).",
        so_what: "No effect on the clocksource.",
        do_what: "Leave it out: steal time is the best witness of an overcommitted host.",
        see_also: &["steal time"],
        sources: &["arch/x86/kernel/kvm.c"],
    },
    Entry {
        id: "xen_nopv",
        words: &["xen_nopv"],
        what: "Run a Xen HVM guest as on bare metal: no paravirtual clock.",
        versions: "3.19 and later.",
        so_what: "The xen clocksource disappears; tsc, hpet and acpi_pm are left.",
        do_what: "Only for testing.",
        see_also: &["xen", "nopv"],
        sources: &["arch/x86/xen/enlighten_hvm.c"],
    },
    Entry {
        id: "xen_timer_slop",
        words: &["xen_timer_slop"],
        what: "How early, in ns, Xen's timer events may fire.",
        versions: "About 5.2 and later.",
        so_what: "Concerns timer events, not the clocksource.",
        do_what: "Leave the default.",
        see_also: &["xen"],
        sources: &["arch/x86/xen/time.c"],
    },
    Entry {
        id: "no-vmw-sched-clock",
        words: &["no-vmw-sched-clock"],
        what: "Do not take the scheduler's clock from VMware.",
        versions: "4.10 and later.",
        so_what: "Touches log time stamps and the scheduler only, not the clocksource.",
        do_what: "Leave it out.",
        see_also: &["vmware", "sched_clock"],
        sources: &["arch/x86/kernel/cpu/vmware.c, 4.10 and later"],
    },
];
