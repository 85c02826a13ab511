//! Parameters about timers, idle, CPUs and the vDSO.

use super::super::entry::Entry;

/// One entry a parameter or value.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        id: "nohpet",
        words: &["nohpet"],
        what: "Do not use the HPET at all, neither as a clock nor for timer events.",
        versions: "All (documented since 6.14).",
        so_what: "The watchdog then takes acpi_pm or a paravirtual clock as its reference.",
        do_what: "Harmless with a good TSC or paravirtual clock. Without them reads fall to \
         acpi_pm, which is slower still.",
        see_also: &["hpet", "hpet=disable"],
        sources: &["arch/x86/kernel/hpet.c"],
    },
    Entry {
        id: "hpet=disable",
        words: &["hpet=disable", "hpet parameter"],
        what: "The same as nohpet. hpet= takes a comma list: disable, force, verbose.",
        versions: "All.",
        so_what: "As nohpet.",
        do_what: "As nohpet: fine with a good TSC, bad without.",
        see_also: &["nohpet", "hpet=force", "hpet"],
        sources: &["hpet_setup() in arch/x86/kernel/hpet.c"],
    },
    Entry {
        id: "hpet=force",
        words: &["hpet=force"],
        what: "Switch a hidden HPET on (PCI quirks), and keep one that the kernel would disable \
         because it stops in PC10 (5.15 and later, stable 5.10 too).",
        versions: "All.",
        so_what: "A HPET that stops in deep package idle is a wrong reference: the watchdog then \
         demotes a good TSC.",
        do_what: "Use it only on old chipsets that hide the HPET and where the TSC is bad.",
        see_also: &["hpet", "HPET dysfunctional in PC10", "watchdog-at-fault"],
        sources: &["hpet_is_pc10_damaged() in arch/x86/kernel/hpet.c"],
    },
    Entry {
        id: "hpet=verbose",
        words: &["hpet=verbose"],
        what: "Print the HPET's registers at boot.",
        versions: "All.",
        so_what: "No effect on the choice.",
        do_what: "For bug reports.",
        see_also: &["hpet"],
        sources: &["hpet_setup() in arch/x86/kernel/hpet.c"],
    },
    Entry {
        id: "acpi=off",
        words: &["acpi=off", "acpi"],
        what: "Switch ACPI off.",
        versions: "All.",
        so_what: "The HPET table and the PM timer's port are not found: neither hpet nor acpi_pm \
         registers. What is left is tsc or, without it, jiffies.",
        do_what: "Remove it unless the machine does not boot otherwise.",
        see_also: &["pmtmr=", "hpet", "acpi_pm"],
        sources: &["drivers/acpi; arch/x86/kernel/acpi/boot.c"],
    },
    Entry {
        id: "pmtmr=",
        words: &["pmtmr=", "pmtmr=0"],
        what: "Overrides the I/O port of the ACPI PM timer, in hexadecimal: pmtmr=0x408. It is a \
         port, not a name. pmtmr=0 disables the timer.",
        versions: "All.",
        so_what: "A wrong port makes the start-up check fail or, worse, gives a wrong clock.",
        do_what: "clocksource=pmtmr is another thing and is silently ignored; clock=pmtmr means \
         acpi_pm.",
        see_also: &["acpi_pm", "clock=pmtmr"],
        sources: &["parse_pmtmr() in drivers/clocksource/acpi_pm.c"],
    },
    Entry {
        id: "acpi_pm_good",
        words: &["acpi_pm_good"],
        what: "Says that this chipset's PM timer is good: rating 200 and single reads, where a \
         quirk would give 120 and triple reads.",
        versions: "All.",
        so_what: "PIIX4, ICH4 and ServerWorks GC-LE chipsets can really return wrong values.",
        do_what: "Only if PM timer is the best clock there and proven good.",
        see_also: &["acpi_pm"],
        sources: &["drivers/clocksource/acpi_pm.c"],
    },
    Entry {
        id: "processor.max_cstate",
        words: &["processor.max_cstate", "processor.max_cstate=1"],
        what: "The deepest idle state that ACPI's processor driver may use.",
        versions: "All.",
        so_what: "1 keeps a CPU without nonstop_tsc out of the states in which its TSC stops. \
         More power and heat, less turbo.",
        do_what: "Only for `TSC halts in idle`, and together with intel_idle.max_cstate on \
         Intel. It does nothing against any other reason.",
        see_also: &["tsc-halts-in-idle", "intel_idle.max_cstate", "idle=poll"],
        sources: &[
            "drivers/acpi/processor_idle.c; Documentation/admin-guide/kernel-parameters.txt",
        ],
    },
    Entry {
        id: "intel_idle.max_cstate",
        words: &["intel_idle.max_cstate", "intel_idle.max_cstate=1"],
        what: "The deepest idle state that intel_idle may use; 0 disables that driver, and \
         ACPI's takes over.",
        versions: "2.6.35 and later.",
        so_what: "1 or 2 avoids `TSC halts in idle states deeper than C2`. Set to 0, ACPI's \
         driver may still use deep states.",
        do_what: "As processor.max_cstate.",
        see_also: &["tsc-halts-in-idle", "processor.max_cstate"],
        sources: &["drivers/idle/intel_idle.c"],
    },
    Entry {
        id: "idle=poll",
        words: &["idle=poll", "idle", "idle=halt", "idle=nomwait"],
        what: "How CPUs idle: poll never stops, halt uses HLT only, nomwait avoids MWAIT.",
        versions: "All.",
        so_what: "poll keeps the TSC running on any CPU and costs full power all the time; in a \
         guest it burns host CPU.",
        do_what: "Prefer processor.max_cstate=1.",
        see_also: &["tsc-halts-in-idle", "processor.max_cstate"],
        sources: &["arch/x86/kernel/process.c"],
    },
    Entry {
        id: "highres=off",
        words: &["highres=off", "highres"],
        what: "Switch high-resolution timers off.",
        versions: "All.",
        so_what: "Alone it changes nothing for the clocksource. Together with nohz=off the tick \
         stays periodic, and then unstable clocksources and jiffies are listed and can be \
         chosen.",
        do_what: "No fix for anything here.",
        see_also: &["nohz=off", "high resolution"],
        sources: &["kernel/time/hrtimer.c"],
    },
    Entry {
        id: "nohz=off",
        words: &["nohz=off", "nohz"],
        what: "Switch the tickless idle off.",
        versions: "All.",
        so_what: "Alone it changes nothing for the clocksource; with highres=off it keeps the \
         tick periodic.",
        do_what: "No fix for anything here.",
        see_also: &["highres=off", "high resolution"],
        sources: &["kernel/time/tick-sched.c"],
    },
    Entry {
        id: "skew_tick",
        words: &["skew_tick", "skew_tick=1"],
        what: "Let the CPUs' ticks fall at different moments.",
        versions: "3.5 and later.",
        so_what: "No effect on the clocksource.",
        do_what: "For real-time tuning only.",
        see_also: &["high resolution"],
        sources: &["kernel/time/tick-sched.c"],
    },
    Entry {
        id: "lapic=notscdeadline",
        words: &["lapic=notscdeadline"],
        what: "Do not use the local APIC's TSC-deadline mode for timer events.",
        versions: "3.8 and later.",
        so_what: "Concerns timer events, not the clocksource.",
        do_what: "Only for errata of early CPUs.",
        see_also: &["clock event device"],
        sources: &["arch/x86/kernel/apic/apic.c"],
    },
    Entry {
        id: "nosmp",
        words: &["nosmp", "maxcpus=0"],
        what: "Use one CPU only.",
        versions: "All.",
        so_what: "An AMD guest without invariant TSC is then no longer `TSCs unsynchronized`. \
         Hardly a solution.",
        do_what: "For diagnosis only. maxcpus=0 does the same.",
        see_also: &["tsc-unsynchronized", "nr_cpus", "maxcpus"],
        sources: &["unsynchronized_tsc() in arch/x86/kernel/tsc.c"],
    },
    Entry {
        id: "nr_cpus",
        words: &["nr_cpus", "nr_cpus=N"],
        what: "The number of CPUs that this kernel will ever support.",
        versions: "All.",
        so_what: "Lowers the number of possible CPUs, which up to 6.11 decides about `TSCs \
         unsynchronized` on AMD and Hygon.",
        do_what: "nr_cpus=1 is for crash kernels, not for production.",
        see_also: &["tsc-unsynchronized", "possible_cpus", "maxcpus"],
        sources: &["unsynchronized_tsc() in arch/x86/kernel/tsc.c"],
    },
    Entry {
        id: "possible_cpus",
        words: &["possible_cpus", "possible_cpus=N"],
        what: "The number of possible CPUs, hot-plug slots included.",
        versions: "x86.",
        so_what: "As nr_cpus. Empty hot-plug slots count: a guest with one virtual CPU and room \
         for more is SMP for this rule.",
        do_what: "In a guest, configure fewer slots instead.",
        see_also: &["tsc-unsynchronized", "nr_cpus"],
        sources: &["unsynchronized_tsc() in arch/x86/kernel/tsc.c"],
    },
    Entry {
        id: "maxcpus",
        words: &["maxcpus", "maxcpus=N"],
        what: "How many CPUs to start at boot. The others stay possible.",
        versions: "All.",
        so_what: "It does not lower the number of possible CPUs (only maxcpus=0 does), so it \
         does not cure `TSCs unsynchronized`.",
        do_what: "No effect on the clocksource.",
        see_also: &["tsc-unsynchronized", "nosmp"],
        sources: &["unsynchronized_tsc() in arch/x86/kernel/tsc.c"],
    },
    Entry {
        id: "noapictimer",
        words: &["noapictimer", "nolapic_timer"],
        what: "Do not use the timer of the local APIC.",
        versions: "x86, all.",
        so_what: "The PIT or the HPET keeps ticking. A 32-bit kernel on one CPU without an HPET then also \
         registers the clocksource pit; with several CPUs the tick may stay periodic.",
        do_what: "No fix for a slow clock.",
        see_also: &["pit", "nolapic"],
        sources: &[
            "parse_disable_apic_timer() and parse_nolapic_timer() in arch/x86/kernel/apic/apic.c",
            "init_pit_clocksource() in arch/x86/kernel/i8253.c",
        ],
    },
    Entry {
        id: "initcall_blacklist",
        words: &["initcall_blacklist", "initcall_blacklist=FUNCTION"],
        what: "Functions that are not called at boot.",
        versions: "3.16 and later.",
        so_what: "Without init_acpi_pm_clocksource there is no acpi_pm; without init_tsc_clocksource tsc-early \
         stays in the place of tsc.",
        do_what: "For debugging. clocksource= says which clocksource is wanted.",
        see_also: &["clocksource=NAME", "tsc-early"],
        sources: &["initcall_blacklisted() in init/main.c"],
    },
    Entry {
        id: "nolapic",
        words: &["nolapic", "disableapic", "noapic", "nosmt"],
        what: "Switch the local APIC (disableapic is nolapic), the I/O APIC or hyper-threading off.",
        versions: "All.",
        so_what: "noapic and nosmt have no effect on the clocksource. nolapic leaves one CPU.",
        do_what: "No fix for anything here.",
        see_also: &["tsc-unsynchronized", "nosmp"],
        sources: &["arch/x86/kernel/apic"],
    },
    Entry {
        id: "vdso=0",
        words: &["vdso=0", "vdso", "vdso=1", "vdso32=0", "vdso32"],
        what: "Whether programs get the vDSO: vdso= for 64-bit programs, vdso32= for 32-bit \
         ones.",
        versions: "All.",
        so_what: "With 0 every read of the time is a system call, whatever the clocksource.",
        do_what: "Remove it.",
        see_also: &["vDSO", "vdso-bypassed"],
        sources: &["arch/x86/entry/vdso"],
    },
    Entry {
        id: "vsyscall=",
        words: &[
            "vsyscall=",
            "vsyscall=emulate",
            "vsyscall=none",
            "vsyscall=xonly",
            "vsyscall=native",
        ],
        what: "What happens when a very old program calls the fixed vsyscall page.",
        versions: "3.1 and later (xonly 5.3).",
        so_what: "Not the vDSO: glibc of 2.14 and later does not use that page on x86-64. none \
         breaks old static programs.",
        do_what: "No effect on today's programs.",
        see_also: &["vDSO"],
        sources: &["arch/x86/entry/vsyscall"],
    },
    Entry {
        id: "kvm.tsc_tolerance_ppm",
        words: &["kvm.tsc_tolerance_ppm", "tsc_tolerance_ppm"],
        what: "On a KVM host: how far a guest's wanted TSC frequency may be from the host's \
         before KVM scales it (default 250 ppm).",
        versions: "3.4 and later.",
        so_what: "Within the tolerance the guest's TSC runs at the host's rate, up to 250 ppm \
         beside what was promised.",
        do_what: "With scaling hardware, a lower value makes KVM scale instead of accepting the \
         difference.",
        see_also: &["migration", "TSC scaling"],
        sources: &["kvm_set_tsc_khz() in arch/x86/kvm/x86.c"],
    },
];
