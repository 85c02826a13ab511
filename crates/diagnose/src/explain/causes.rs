//! Every cause id: what it means, in which kernels, what to do.

use super::entry::Entry;

/// One entry a cause.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        id: "tsc-warp",
        words: &["tsc-warp", "warp"],
        what: "When a CPU came online, the kernel let it and another CPU read the TSC in turn, \
         and a later read returned a smaller value: the counters of the two CPUs differ. \
         check_tsc_sync_source() then switches the TSC off for the whole machine.",
        versions: "All versions test every CPU that comes online. 4.9 and older: one run, final. \
         4.10 and later with TSC_ADJUST: skipped inside a package, up to three runs with \
         correction across packages.",
        so_what: "The TSC of this machine is really not the same on all CPUs. This is the \
         strongest evidence there is against a TSC. Tens to thousands of cycles in a guest: the \
         hypervisor gave its virtual CPUs different offsets. 10^9 cycles or so: firmware wrote \
         the counter of one CPU.",
        do_what: "Update the firmware, or have the hypervisor's operator equalise the offsets; a \
         guest should use the paravirtual clock. Do not boot with tsc=reliable: it skips the \
         test (3.3 and later), and time then goes backwards between CPUs.",
        see_also: &["tsc-adjust-changed", "TSC_ADJUST", "tsc=reliable", "tsc-unsynchronized"],
        sources: &["check_tsc_sync_source() in arch/x86/kernel/tsc_sync.c, 2.6.32 to 7.1"],
    },
    Entry {
        id: "tsc-unsynchronized",
        words: &["tsc-unsynchronized", "TSCs unsynchronized"],
        what: "The kernel did not even test the TSC: unsynchronized_tsc() says that on a machine \
         with several CPUs of this kind the counters cannot be assumed to run together. It hits \
         AMD and Hygon processors without constant_tsc, and clustered boxes.",
        versions: "All. Up to 6.11 it counts possible CPUs (hot-plug slots too); since 6.12 it \
         counts packages, so one package is enough to be trusted.",
        so_what: "In a virtual machine this nearly always means: an AMD CPU model without the \
         invariant TSC bit and more than one virtual CPU. Intel CPU models are exempt.",
        do_what: "Have the hypervisor expose the invariant TSC (QEMU: -cpu ...,+invtsc), or \
         present all virtual CPUs as one package and use 6.12 or later, or keep the paravirtual \
         clock. tsc=reliable only skips the question: nothing has tested these counters. nosmt, \
         noapic and maxcpus=1 change nothing.",
        see_also: &["invariant-tsc-withheld", "invtsc", "nosmp", "constant_tsc"],
        sources: &["unsynchronized_tsc() in arch/x86/kernel/tsc.c; x86 topology rework in 6.12"],
    },
    Entry {
        id: "tsc-halts-in-idle",
        words: &["tsc-halts-in-idle"],
        what: "This CPU's TSC stops in deep idle states (no nonstop_tsc), and an idle driver \
         uses such states: ACPI's processor_idle deeper than C1, or intel_idle deeper than C2.",
        versions: "All (acpi_pad and processor_idle); intel_idle since 2.6.35, and its \
         ACPI-listed states since 6.14 and the stable 6.1, 6.6 and 6.12 series.",
        so_what: "Normal for old CPUs (before about 2008 for Intel) and for guests without the \
         invariant TSC bit on passed-through C-states. The kernel is right: a counter that stops \
         is no clock.",
        do_what: "Accept the slower clock, or keep the CPU out of these states: \
         processor.max_cstate=1 and intel_idle.max_cstate=1 (or 2), at the price of power and \
         turbo. tsc=reliable does not help: mark_tsc_unstable() from the idle driver still wins.",
        see_also: &["nonstop_tsc", "processor.max_cstate", "intel_idle.max_cstate", "idle=poll"],
        sources: &[
            "drivers/acpi/processor_idle.c, drivers/acpi/acpi_pad.c, drivers/idle/intel_idle.c",
        ],
    },
    Entry {
        id: "tsc-frequency-changes",
        words: &["tsc-frequency-changes", "cpufreq changes"],
        what: "This CPU's TSC counts core cycles (no constant_tsc), and cpufreq changed the \
         core's frequency, so the TSC now runs at another rate.",
        versions: "All. The text is `cpufreq changes`, since 5.2 also `cpufreq changes on SMP`.",
        so_what: "Old hardware: before the Pentium 4 model 3 and Core (Intel) and before the K10 \
         (AMD).",
        do_what: "Accept the other clock, or fix the frequency with the performance governor \
         from the start of the boot. tsc=reliable does not stop the rate from changing.",
        see_also: &["constant_tsc", "acpi_pm"],
        sources: &["time_cpufreq_notifier() in arch/x86/kernel/tsc.c"],
    },
    Entry {
        id: "tsc-skew",
        words: &["tsc-skew"],
        what: "In one watchdog interval (half a second) the TSC advanced by more or less time \
         than the reference did, and the TSC is the likely culprit.",
        versions: "All. The tolerance was 62.5 ms up to 5.13, 200 us in 5.14 and 5.15, 400 us in \
         5.16 to 6.2, 500 us since 6.3; 7.1 allows 488 ppm between calibrated clocks and 3906 \
         ppm otherwise.",
        so_what: "The clock was slow or fast against a second witness. With lines `CPUs N ahead \
         of` or `behind` the counters of the CPUs differ for certain. Without them, a late read \
         of the reference can look the same.",
        do_what: "Look at the figures: the same difference again and again is a wrong rate; once \
         in hours is a late read. Run clocksmith verify. Only if the TSC proves good: \
         tsc=nowatchdog. Never tsc=reliable while this is open.",
        see_also: &["watchdog-at-fault", "tsc-miscalibrated", "watchdog", "tsc=nowatchdog"],
        sources: &["clocksource_watchdog() in kernel/time/clocksource.c; kernel limits by version"],
    },
    Entry {
        id: "tsc-jump",
        words: &["tsc-jump"],
        what: "The TSC jumped once, by seconds or more, and runs normally before and after.",
        versions: "All. Since 6.8 (stable 5.10, 6.1 and 6.6 too) a forward jump of more than a \
         second is logged as `Long readout interval`, the check is skipped, and the jump goes \
         into the time.",
        so_what: "Something stopped or rewrote the counter: host sleep, suspend and resume, VM \
         stop and continue, snapshot restore, live migration, or a tool that wrote its MSR.",
        do_what: "Find what happened at that moment, on the host first. After a restore, step \
         the wall clock (chronyc makestep). Guests that are often stopped are better off on \
         their paravirtual clock. tsc=reliable would let the next jump through without a word.",
        see_also: &["readout-stall", "kvm-clock", "KVM_CLOCK_REALTIME", "suspend"],
        sources: &["clocksource_watchdog() in kernel/time/clocksource.c"],
    },
    Entry {
        id: "tsc-adjust-changed",
        words: &["tsc-adjust-changed"],
        what: "Firmware wrote the TSC_ADJUST register of one or more CPUs, that is, it moved \
         their TSC. The kernel found it and wrote the old value back, or equalised the CPUs.",
        versions: "4.10 and later, on CPUs with tsc_adjust; since 5.16 (stable 5.10 too) one CPU \
         is re-checked every 10 minutes.",
        so_what: "If the line appears only at boot: repaired, the TSC is usable. If it appears \
         again later (`differs`, `Restoring`), firmware (SMM) keeps doing it, and between two \
         checks time was off.",
        do_what: "At boot: nothing. Later: update the firmware. Do not use tsc=reliable here: it \
         also switches these checks off.",
        see_also: &["TSC_ADJUST", "tsc-warp", "tsc=reliable"],
        sources: &["tsc_verify_tsc_adjust() in arch/x86/kernel/tsc_sync.c, 4.10 and later"],
    },
    Entry {
        id: "tsc-miscalibrated",
        words: &["tsc-miscalibrated"],
        what: "The TSC ticks steadily, but the kernel uses a wrong frequency for it: a \
         calibration disturbed by SMI or a busy host, a wrong CPUID or hypervisor figure, or a \
         wrong tsc_early_khz=.",
        versions: "All. Since 2.6.38 the early value is refined for a second against HPET or PM \
         timer and taken if it is within 1 %. With TSC_KNOWN_FREQ (4.10 and later) nothing is \
         refined.",
        so_what: "The clock runs at a wrong rate: 1000 ppm are 86 s a day. The watchdog demotes \
         the TSC, or, where it does not run, NTP has to fight it and loses beyond 500 ppm.",
        do_what: "Compare `Detected`, `Refined` and the rate in the watchdog's lines. Reboot: a \
         disturbed refinement gives another figure. For a wrong stated figure ask the vendor or \
         the host; tsc=recalibrate (6.3 and later) shows the difference. tsc=reliable keeps the \
         wrong rate.",
        see_also: &[
            "Refined TSC clocksource calibration",
            "tsc_early_khz",
            "tsc=recalibrate",
            "ppm",
        ],
        sources: &["tsc_refine_calibration_work() in arch/x86/kernel/tsc.c, 2.6.38 and later"],
    },
    Entry {
        id: "watchdog-at-fault",
        words: &["watchdog-at-fault"],
        what: "The reference was wrong, not the TSC: it was read late, wrapped around, lost \
         ticks, or glitched. The TSC was demoted (or a check was skipped) for no fault of its \
         own.",
        versions: "All, and most often 5.14 and 5.15 with their 200 us. acpi_pm wraps after 4.69 \
         s; from about 4.5 on, an interval over half of that (2.34 s) already counts as zero in \
         clocksource_delta().",
        so_what: "Usual with an emulated HPET, a busy host, SMIs, stopped virtual CPUs or \
         jiffies as reference. The TSC stays demoted until the next boot.",
        do_what: "Take the emulated HPET away from guests, use 5.16 or later, or boot with \
         tsc=nowatchdog (5.2 and later), which keeps the test between CPUs. Prefer it to \
         tsc=reliable.",
        see_also: &["watchdog", "tsc=nowatchdog", "hpet", "acpi_pm", "tsc-skew"],
        sources: &[
            "clocksource_watchdog() in kernel/time/clocksource.c; clocksource_delta() in kernel/time/timekeeping_internal.h",
        ],
    },
    Entry {
        id: "readout-stall",
        words: &["readout-stall", "stall"],
        what: "Two watchdog checks lay much further apart than half a second, and both clocks \
         agree on how long: the CPU with the watchdog's timer, or the whole machine, was held up. \
         The kernel skipped the check.",
        versions: "`Long readout interval` since 6.8 (stable 5.10, 6.1 and 6.6 too). Older \
         kernels compared anyway.",
        so_what: "Neither clock is at fault. Something held interrupts off or did \
         not run the virtual CPU: debugger, snapshot, overcommit, long SMI, a driver.",
        do_what: "Nothing for the clock. If the stall itself hurts, look at steal time on the \
         host and at whatever logged just before.",
        see_also: &["tsc-jump", "watchdog-at-fault", "steal time"],
        sources: &["clocksource_watchdog() in kernel/time/clocksource.c, 6.8 and later"],
    },
    Entry {
        id: "watchdog-remote-timeout",
        words: &["watchdog-remote-timeout"],
        what: "The watchdog asked another CPU for its counter, and that CPU did not answer \
         within the window (50 us and more by NUMA distance, at most 500 us). This one check was \
         skipped.",
        versions: "7.1 and later.",
        so_what: "Informational: the other CPU had interrupts off or, in a guest, was not \
         running.",
        do_what: "Nothing.",
        see_also: &["watchdog", "readout-stall"],
        sources: &["kernel/time/clocksource.c, watchdog rewrite 763aacf86f1b (7.1)"],
    },
    Entry {
        id: "invariant-tsc-withheld",
        words: &["invariant-tsc-withheld"],
        what: "The hypervisor does not tell this guest that its TSC is invariant (CPUID \
         8000_0007 EDX bit 8; on Hyper-V: AccessTscInvariant). Linux then does not trust the TSC \
         and keeps a paravirtual clock.",
        versions: "KVM: matters since 5.1 (7539b174aef4), before that kvm-clock always won. \
         Hyper-V: since 5.5 (dce7cd62754b). Xen: since 6.3 (99a7bcafbd0d).",
        so_what: "Usually fine: kvm-clock with the stable bit and Hyper-V's TSC page are nearly \
         as fast as tsc. It is a choice of the operator, mostly to allow live migration.",
        do_what: "Measure first. If reads are slow: QEMU -cpu host,migratable=off,+invtsc or \
         +invtsc,tsc-frequency=N; libvirt feature invtsc; Hyper-V or Azure: a newer host. Do not \
         force tsc with tsc=reliable: the rate may change when the guest moves.",
        see_also: &["invtsc", "kvm-clock", "hyperv_clocksource_tsc_page", "migration"],
        sources: &["kvmclock_init() in arch/x86/kernel/kvmclock.c; QEMU target/i386/cpu.c"],
    },
    Entry {
        id: "paravirt-clock-preferred",
        words: &["paravirt-clock-preferred"],
        what: "The TSC is usable, and a paravirtual clock with a higher rating is in use.",
        versions: "kvm-clock: up to 5.0 always (400 against 300). xen: up to 6.2, and later \
         without native TSC. Hyper-V: up to 5.5 without the invariant bit.",
        so_what: "Fast if the paravirtual clock has a vDSO path here, else every read is a \
         system call: 200 ns and more instead of about 25.",
        do_what: "Measure. If slow: a newer kernel, or clocksource=tsc after clocksmith verify \
         has found no difference between CPUs. Remember that a restored or moved guest keeps a \
         stale wall clock on tsc until NTP steps it.",
        see_also: &["kvm-clock", "xen", "clocksource=tsc", "AWS"],
        sources: &["ratings in kvmclock.c, xen/time.c, hyperv_timer.c"],
    },
    Entry {
        id: "paravirt-clock-broken",
        words: &["paravirt-clock-broken"],
        what: "The hypervisor's own clock page or time scale is wrong: it jumped, runs at a \
         wrong rate, or differs between virtual CPUs (`Time went backwards`).",
        versions: "Any; seen after live migration and snapshot restore, and in Xen guests of \
         2.6.18 times.",
        so_what: "Guest time is wrong although the guest does everything right. A guest that \
         trusts its TSC more can demote the wrong one of the two.",
        do_what: "Report it to the host's operator with the log lines. Meanwhile use tsc if it \
         is invariant and clocksmith verify trusts it, and let NTP step.",
        see_also: &["kvm-clock", "xen", "masterclock", "Time went backwards"],
        sources: &["arch/x86/kernel/pvclock.c"],
    },
    Entry {
        id: "cmdline-notsc",
        words: &["cmdline-notsc"],
        what: "The kernel command line has notsc.",
        versions: "4.18 and older: no tsc clocksource is registered (with CONFIG_X86_TSC=y only \
         a message). 4.19 and later: mark_tsc_unstable(\"boot parameter notsc\"). The \
         documentation dropped it in 4.19, the code still honours it.",
        so_what: "Somebody switched the fastest clock off, often years ago and copied from an \
         old forum.",
        do_what: "Find out why, then remove it and reboot.",
        see_also: &["notsc", "tsc=unstable"],
        sources: &["notsc_setup() in arch/x86/kernel/tsc.c"],
    },
    Entry {
        id: "cmdline-tsc-unstable",
        words: &["cmdline-tsc-unstable"],
        what: "The kernel command line has tsc=unstable, so the TSC is marked unstable with the \
         reason `boot parameter`.",
        versions: "4.13 and later.",
        so_what: "The kernel itself suggests this parameter after it has lost a TSC (`most \
         likely due to broken BIOS`), so it is often a leftover.",
        do_what: "Remove it, reboot, and look whether the TSC survives; the log then tells the \
         real reason if not.",
        see_also: &["tsc=unstable", "TSC found unstable after boot"],
        sources: &["tsc_setup() in arch/x86/kernel/tsc.c, 4.13 and later"],
    },
    Entry {
        id: "cmdline-clocksource-override",
        words: &["cmdline-clocksource-override"],
        what: "The kernel command line chooses the clocksource with clocksource=NAME, and the \
         kernel obeys.",
        versions: "All. The last one on the line wins.",
        so_what: "Somebody's choice, maybe for a machine or kernel that is long gone. \
         clocksource=hpet and =acpi_pm make every read a system call plus a slow device access.",
        do_what: "If nobody can say why it is there, remove it. To try before: echo > \
         current_clocksource lets the kernel choose again.",
        see_also: &["clocksource=NAME", "runtime-override", "override-refused"],
        sources: &["boot_override_clocksource() in kernel/time/clocksource.c"],
    },
    Entry {
        id: "cmdline-clocksource-unknown",
        words: &["cmdline-clocksource-unknown"],
        what: "The kernel command line asks for a clocksource that no driver of this kernel \
         registers. The kernel ignores it without a message.",
        versions: "All. Common: clocksource=pmtmr (the name is acpi_pm; only clock=pmtmr is \
         translated), =pit on x86-64, =kvm-clock on bare metal.",
        so_what: "The parameter does nothing, although somebody believes that it does. It stays \
         pending: should such a source register later, it is taken.",
        do_what: "Correct or remove it. Read the choice back from current_clocksource after the \
         boot.",
        see_also: &["clocksource=NAME", "clock=pmtmr", "available_clocksource"],
        sources: &["clocksource_find_best() in kernel/time/clocksource.c"],
    },
    Entry {
        id: "cmdline-parameter-ignored",
        words: &["cmdline-parameter-ignored"],
        what: "A parameter on the command line is written in a way that the kernel silently \
         ignores, for example tsc=reliable,nowatchdog: the value is compared as a whole.",
        versions: "All. A value that is newer than the kernel is ignored too: tsc=nowatchdog \
         before 5.2, tsc=unstable before 4.13.",
        so_what: "The protection or the choice that somebody wanted is not there.",
        do_what: "Repeat the parameter (tsc=reliable tsc=nowatchdog) and mind the version.",
        see_also: &["tsc=", "tsc=nowatchdog", "cmdline-clocksource-unknown"],
        sources: &["tsc_setup() in arch/x86/kernel/tsc.c: strcmp()"],
    },
    Entry {
        id: "override-refused",
        words: &["override-refused"],
        what: "Somebody asked for a clocksource that exists, and the kernel refused or deferred \
         it: it is unstable, or not fit for high-resolution timers, and the tick is in one-shot \
         mode.",
        versions: "Up to 4.8: `is not HRT compatible`, forgotten. 4.9 and later: `is unstable \
         and not HRT compatible`, forgotten; `is not currently HRT compatible - deferring`, kept \
         until the watchdog has verified it.",
        so_what: "The write to sysfs returned success all the same. An unstable TSC cannot be \
         brought back before the next boot.",
        do_what: "Do not retry. Find out why the clocksource was demoted, fix that, reboot.",
        see_also: &["current_clocksource", "tsc-skew", "high resolution"],
        sources: &["clocksource_select() in kernel/time/clocksource.c"],
    },
    Entry {
        id: "runtime-override",
        words: &["runtime-override"],
        what: "Somebody (a script, tuned, an init unit, a person) wrote a name to \
         current_clocksource after boot, so the choice differs from what the kernel would take.",
        versions: "All. It is lost at reboot.",
        so_what: "Good or bad depends on the name: hpet and acpi_pm are slow.",
        do_what: "echo > /sys/devices/system/clocksource/clocksource0/current_clocksource lets \
         the kernel choose again. Then find what writes it: grep for current_clocksource in \
         units, tuned profiles and rc.local.",
        see_also: &["current_clocksource", "cmdline-clocksource-override"],
        sources: &["current_clocksource_store() in kernel/time/clocksource.c"],
    },
    Entry {
        id: "counter-trapped",
        words: &["counter-trapped", "CNTVCT"],
        what: "arm64: an erratum of this CPU makes reads of the virtual counter unsafe, so the \
         kernel traps them and switches the vDSO's clock off for all programs.",
        versions: "4.9 and later; in its present form since 4.11. One affected core is enough \
         for the whole machine.",
        so_what: "Every read of the time is a system call, though the clocksource is called \
         arch_sys_counter. Affected: Freescale A-008585, HiSilicon 161010101, Arm 858921 \
         (Cortex-A73), Allwinner UNKNOWN1.",
        do_what: "Nothing in software is safe: without the workaround the counter returns wrong \
         values. Read the time less often, or use the COARSE clocks.",
        see_also: &["arch_sys_counter", "counter-trapped-compat", "COARSE clocks", "vDSO"],
        sources: &["arch_timer_enable_workaround() in drivers/clocksource/arm_arch_timer.c"],
    },
    Entry {
        id: "counter-trapped-compat",
        words: &["counter-trapped-compat"],
        what: "arm64: the workaround for Arm erratum 1418040 (Neoverse N1, Cortex-A76 and \
         others) takes the vDSO clock away from 32-bit programs only.",
        versions: "About 5.8 and later (disable_compat_vdso).",
        so_what: "64-bit programs are as fast as ever; 32-bit ones pay a system call for every \
         read.",
        do_what: "Use 64-bit programs where the time is read often.",
        see_also: &["counter-trapped", "arch_sys_counter"],
        sources: &["arch_timer_enable_workaround() in drivers/clocksource/arm_arch_timer.c"],
    },
    Entry {
        id: "no-tsc",
        words: &["no-tsc"],
        what: "The CPU or the hypervisor has no TSC at all (CPUID 1 EDX bit 4 clear), or the \
         kernel could not find out its frequency (`could not calculate TSC khz`).",
        versions: "All. tsc_early_khz= exists since 5.8.",
        so_what: "Without TSC only hpet, acpi_pm or jiffies are left, and paravirtual clocks \
         that need the TSC are gone too.",
        do_what: "Expose the TSC in the CPU model. If only the frequency is missing: give the \
         guest a PIT, HPET or PM timer, a hypervisor interface that states it, or \
         tsc_early_khz=N (in kHz; a wrong figure makes a wrong clock).",
        see_also: &["tsc_early_khz", "clearcpuid=tsc", "could not calculate TSC khz"],
        sources: &["tsc_init() in arch/x86/kernel/tsc.c"],
    },
    Entry {
        id: "only-choice",
        words: &["only-choice"],
        what: "Nothing better is registered: no HPET, no PM timer, no paravirtual clock, or an \
         architecture that has one counter only.",
        versions: "All.",
        so_what: "On Arm, POWER, IBM Z and RISC-V that is normal and good. On x86 with jiffies \
         or acpi_pm alone the machine hides its better clocks.",
        do_what: "On x86: look why the TSC is missing, then what firmware or hypervisor hides.",
        see_also: &["no-tsc", "refined-jiffies", "arch_sys_counter"],
        sources: &["clocksource_find_best() in kernel/time/clocksource.c"],
    },
    Entry {
        id: "cpus-differ",
        words: &["cpus-differ"],
        what: "CPUID, or /proc/cpuinfo, says different things about clocks on different CPUs: the \
         invariant TSC bit, TSC_ADJUST, the frequency leaves, the model.",
        versions: "All. The kernel goes by the boot CPU for most of these bits.",
        so_what: "A TSC is only as good as its worst CPU. Usual on hybrid processors (harmless for \
         the TSC); on other machines a sign of mixed processors, firmware or a hypervisor that \
         lets virtual CPUs run on different kinds of hosts.",
        do_what: "Compare the TSCs of the CPUs with clocksmith verify before trusting them; in a \
         guest, pin it to one kind of host.",
        see_also: &["invariant TSC", "TSC_ADJUST", "tsc-warp"],
        sources: &["CPUID leaves 0x1, 0x7, 0x15, 0x16, 0x80000007 of every CPU"],
    },
    Entry {
        id: "vdso-bypassed",
        words: &["vdso-bypassed"],
        what: "The clocksource can be read in the vDSO, and programs do not use it: vdso=0, a \
         missing stable bit, a wrong libc, a sandbox or tracer that hides the vDSO.",
        versions: "All. kvm-clock in the vDSO needs 3.8, xen 4.15, Hyper-V's page 4.12; \
         CLOCK_MONOTONIC_RAW and CLOCK_BOOTTIME need 5.3.",
        so_what: "Reads cost a system call, 100 to 500 ns and more, though the name of the \
         clocksource looks right.",
        do_what: "strace -c -e clock_gettime shows it: a vDSO read is invisible to strace. Check \
         vdso= on the command line, the host's clocksource (stable bit), and the libc of 32-bit \
         or static programs.",
        see_also: &["vDSO", "stable bit", "vdso=0", "CLOCK_MONOTONIC_RAW"],
        sources: &["lib/vdso/gettimeofday.c (5.3 and later); arch/x86/entry/vdso"],
    },
    Entry {
        id: "verify-found-fault",
        words: &["verify-found-fault"],
        what: "clocksmith verify ran in this boot, less than a day ago, and measured a fault: \
         counters of processors that are apart, a wrong or changing rate, a jump, a clock that \
         went back, or a clock that differs in user space from the kernel's.",
        versions: "All; it is measured, not read from the kernel.",
        so_what: "The kernel's own tests run when a processor comes up, and its watchdog compares \
         with another clock twice a second at most, on many machines not at all. What is measured \
         in user space is what programs get.",
        do_what: "Run clocksmith verify again, longer (--duration 60s), and look at its findings. \
         If it stays, use another clocksource, and update firmware or tell the hypervisor's \
         operator.",
        see_also: &["tsc-warp", "tsc-skew", "tsc-jump", "vDSO"],
        sources: &["a measurement: clocksmith verify --json has it with all figures"],
    },
    Entry {
        id: "cmdline-tsc-reliable",
        words: &["cmdline-tsc-reliable"],
        what: "tsc=reliable is on the kernel command line. It switches off the watchdog, and from \
         3.3 on the test between CPUs.",
        versions: "All. Before 3.3 the test between CPUs is not skipped; from 4.16 to 5.3 tsc-early \
         stays watched.",
        so_what: "Nothing is wrong as long as the TSCs of all CPUs agree. Where they do not, time \
         goes backwards between CPUs and no message reports it.",
        do_what: "Run clocksmith verify: it tests the counters of all CPUs against each other. \
         tsc=nowatchdog (5.2 and later) silences the watchdog alone and keeps the test between CPUs.",
        see_also: &["tsc=reliable", "tsc=nowatchdog", "tsc-warp"],
        sources: &["Linux Documentation/admin-guide/kernel-parameters.txt, tsc= (7.1, 2026)"],
    },
    Entry {
        id: "acpi-disabled",
        words: &["acpi-disabled"],
        what: "acpi=off is on the kernel command line, so the kernel does not read the tables that \
         describe the HPET and the ACPI PM timer.",
        versions: "All.",
        so_what: "Where the TSC is not usable, only the timer tick is left; where it is, the watchdog \
         has no good reference.",
        do_what: "Take acpi=off off the command line. If the machine does not boot without it, a \
         firmware update or a narrower parameter (pci=noacpi, acpi=noirq) is the way.",
        see_also: &["only-choice", "hpet", "acpi_pm"],
        sources: &["acpi_disabled in arch/x86/kernel/acpi/boot.c, all versions"],
    },
    Entry {
        id: "contradicted-evidence",
        words: &["contradicted-evidence"],
        what: "Two sources of the evidence contradict each other: for example, the kernel log has \
         the TSC demoted, and sysfs still lists it.",
        versions: "All.",
        so_what: "The stronger source counts: a measurement over sysfs over a result of verify over \
         the kernel log. Any user can write lines into the kernel log.",
        do_what: "Look at both sources that are named. If the log is of another boot or machine, give \
         the right one; clocksmith collect gathers them together.",
        see_also: &["insufficient-evidence", "current_clocksource"],
        sources: &["none: a statement about the evidence, not about the kernel"],
    },
    Entry {
        id: "insufficient-evidence",
        words: &["insufficient-evidence"],
        what: "The files that were given do not hold the line or reading that would decide.",
        versions: "All.",
        so_what: "Any statement would be a guess, so none is made.",
        do_what: "Give the whole log of this boot from the first line (journalctl -k -b, \
         /var/log/kern.log), and the files below /sys/devices/system/clocksource; clocksmith \
         collect gathers them all.",
        see_also: &["watchdog", "current_clocksource"],
        sources: &["none: a statement about the evidence, not about the kernel"],
    },
];
