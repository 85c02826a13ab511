//! Messages about timers, CPUs, Arm's timer, sleep, and readings.

use super::super::entry::Entry;

/// One entry a message.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        id: "pm-port",
        words: &["ACPI: PM-Timer IO Port: 0x608", "PM-Timer IO Port"],
        what: "Firmware's table names the I/O port of the ACPI PM timer.",
        versions: "All.",
        so_what: "acpi_pm can register. It is no choice yet.",
        do_what: "Nothing.",
        see_also: &["acpi_pm", "pmtmr="],
        sources: &["drivers/clocksource/acpi_pm.c, acpi_parse_fadt()"],
    },
    Entry {
        id: "pm-override",
        words: &["PMTMR IOPort override: 0xA -> 0xB", "PMTMR IOPort override"],
        what: "The command line has pmtmr=, which replaces the port of the PM timer. 0 disables \
         it.",
        versions: "All.",
        so_what: "A wrong port gives no clock or a wrong one.",
        do_what: "Remove pmtmr= unless the firmware's table is wrong.",
        see_also: &["pmtmr=", "acpi_pm"],
        sources: &["parse_pmtmr() in drivers/clocksource/acpi_pm.c"],
    },
    Entry {
        id: "pm-bad",
        words: &[
            "PM-Timer failed consistency check - aborting.",
            "PM-Timer failed consistency",
            "PM-Timer had inconsistent results",
            "PM-Timer running at invalid rate",
        ],
        what: "The PM timer did not count steadily in its start-up test, so acpi_pm is not \
         registered.",
        versions: "All.",
        so_what: "On hardware a chipset fault; in guests an emulation that is interrupted too \
         long.",
        do_what: "Nothing if tsc or a paravirtual clock works.",
        see_also: &["acpi_pm"],
        sources: &["init_acpi_pm_clocksource() in drivers/clocksource/acpi_pm.c"],
    },
    Entry {
        id: "pm-chipset",
        words: &["* The chipset may have PM-Timer Bug.", "PM-Timer Bug"],
        what: "This chipset (PIIX4, ICH4, ServerWorks GC-LE) can return wrong PM timer values: \
         it is read three times and gets rating 120 instead of 200.",
        versions: "All.",
        so_what: "QEMU's i440FX machine has this chipset and is meant, too. Even slower reads of \
         acpi_pm.",
        do_what: "Nothing if a better clock is in use. acpi_pm_good undoes it.",
        see_also: &["acpi_pm", "acpi_pm_good"],
        sources: &["drivers/clocksource/acpi_pm.c"],
    },
    Entry {
        id: "hpet-table",
        words: &["ACPI: HPET id: 0x8086a201 base: 0xfed00000", "HPET id:"],
        what: "Firmware describes an HPET at this address.",
        versions: "All.",
        so_what: "hpet can register, unless a quirk or a parameter disables it.",
        do_what: "Nothing.",
        see_also: &["hpet"],
        sources: &["arch/x86/kernel/acpi/boot.c"],
    },
    Entry {
        id: "hpet-counter",
        words: &["hpet0: N comparators, 64-bit X MHz counter", "comparators, 64-bit"],
        what: "The HPET's frequency and number of timers. Linux uses 32 bits of it as a clock.",
        versions: "All.",
        so_what: "The frequency is needed to read the watchdog's figures by hand: 14.318, 24, \
         25, 62.5 or 100 MHz.",
        do_what: "Nothing.",
        see_also: &["hpet", "watchdog"],
        sources: &["drivers/char/hpet.c"],
    },
    Entry {
        id: "hpet-pc10",
        words: &[
            "hpet: HPET dysfunctional in PC10. Force disabled.",
            "HPET dysfunctional in PC10",
            "dysfunctional in PC10",
        ],
        what: "On this Intel CPU the HPET stops in the deepest package idle state, so the kernel \
         does not use it.",
        versions: "5.15 and later, stable 5.10 too. Needs PC10 in CPUID 5 and a package C-state \
         limit of 8 or more.",
        so_what: "Harmless and right: the HPET would only convict a good TSC.",
        do_what: "Nothing. Do not use hpet=force.",
        see_also: &["hpet", "hpet=force"],
        sources: &["hpet_is_pc10_damaged() in arch/x86/kernel/hpet.c; commit 6e3cd95234dc"],
    },
    Entry {
        id: "hpet-quirk",
        words: &[
            "x86/hpet: Will disable the HPET for this platform because it's not reliable",
            "Will disable the HPET",
        ],
        what: "A quirk by PCI id: the HPET of this platform (Bay Trail, Coffee Lake, Ice Lake) \
         stops in deep idle.",
        versions: "3.15 and later for Bay Trail; 5.4 to 5.14 for the others, before the PC10 \
         check.",
        so_what: "Harmless and right.",
        do_what: "Nothing.",
        see_also: &["hpet", "HPET dysfunctional in PC10"],
        sources: &["force_disable_hpet() in arch/x86/kernel/early-quirks.c"],
    },
    Entry {
        id: "hpet-dead",
        words: &[
            "hpet: Counter not counting. HPET disabled",
            "Counter not counting",
            "Config register invalid. Disabling HPET",
        ],
        what: "The HPET does not answer or does not count, so it is not used.",
        versions: "All.",
        so_what: "Without it the watchdog takes acpi_pm as its reference.",
        do_what: "Firmware setting, or an emulation without HPET. Nothing if tsc works.",
        see_also: &["hpet"],
        sources: &["hpet_enable() in arch/x86/kernel/hpet.c"],
    },
    Entry {
        id: "hpet-forced",
        words: &[
            "hpet: HPET force enabled via command line, but dysfunctional in PC10.",
            "force enabled via command line, but dysfunctional",
        ],
        what: "hpet=force keeps an HPET that stops in deep idle.",
        versions: "5.15 and later.",
        so_what: "It will be late as the watchdog's reference and can demote a good TSC.",
        do_what: "Remove hpet=force.",
        see_also: &["hpet=force", "watchdog-at-fault"],
        sources: &["hpet_is_pc10_damaged() in arch/x86/kernel/hpet.c"],
    },
    Entry {
        id: "possible-cpus",
        words: &["smpboot: Allowing N CPUs, M hotplug CPUs"],
        what: "How many CPUs this boot can ever have, hot-plug slots included.",
        versions: "`smpboot:` 3.6 to 6.8; `CPU topo: Allowing N present CPUs plus M hotplug \
         CPUs` since 6.9.",
        so_what: "The number decides about `TSCs unsynchronized` on AMD up to 6.11: empty slots \
         count.",
        do_what: "In a guest, configure no more slots than needed.",
        see_also: &["tsc-unsynchronized", "possible_cpus"],
        sources: &["arch/x86/kernel/smpboot.c; arch/x86/kernel/cpu/topology.c (6.9)"],
    },
    Entry {
        id: "packages",
        words: &["CPU topo: Max. logical packages: N", "logical packages"],
        what: "How many packages (sockets) the kernel counts.",
        versions: "4.6 and later; `CPU topo:` since 6.9.",
        so_what: "Since 6.12 this number decides whether AMD TSCs count as synchronised (one) \
         and whether the watchdog is off (up to four).",
        do_what: "In a guest: sockets=1.",
        see_also: &["tsc-unsynchronized", "watchdog"],
        sources: &["topology_max_packages(), arch/x86"],
    },
    Entry {
        id: "cpu-model",
        words: &["CPU0: NAME (family: 0x.., model: 0x.., stepping: 0x..)", "smpboot: CPU0"],
        what: "The boot CPU.",
        versions: "All x86.",
        so_what: "Vendor and model decide about constant_tsc on Intel without the invariant bit, \
         and about known errata.",
        do_what: "Nothing.",
        see_also: &["constant_tsc"],
        sources: &["arch/x86/kernel/smpboot.c"],
    },
    Entry {
        id: "banner",
        words: &["Linux version N", "linux version"],
        what: "The kernel's version and who built it. Distributions backport, so the version is \
         a hint about rules, no proof.",
        versions: "All.",
        so_what: "Rules named here by version are those of mainline.",
        do_what: "clocksmith predict --kernel VERSION tells what that kernel would choose.",
        see_also: &["clocksource"],
        sources: &["init/version.c"],
    },
    Entry {
        id: "arch",
        words: &["BIOS-e820: ", "Booting Linux on physical CPU N", "CPU: ARMv7 Processor"],
        what: "A line that the kernel of one architecture alone prints.",
        versions: "All.",
        so_what: "It tells which clocksources there can be.",
        do_what: "Nothing.",
        see_also: &["clocksource"],
        sources: &["setup_arch() of each architecture"],
    },
    Entry {
        id: "user-space",
        words: &[
            "Freeing unused kernel memory: N",
            "Run /init as init process",
            "VFS: Mounted root (NAME)",
        ],
        what: "The kernel is done with its own part of the boot, and programs begin to run.",
        versions: "All.",
        so_what: "A switch of the clocksource before this line was the kernel's own: no program wrote it.",
        do_what: "Nothing.",
        see_also: &["clocksource"],
        sources: &["kernel_init() in init/main.c"],
    },
    Entry {
        id: "release",
        words: &[
            "CPU: N PID: N Comm: NAME Not tainted RELEASE",
            "usb usbN: Manufacturer: Linux RELEASE xhci-hcd",
        ],
        what: "The kernel's release, in a report of a fault or as the maker of a root hub.",
        versions: "All.",
        so_what: "It tells the version where the banner of the boot is missing.",
        do_what: "Nothing; uname -r tells the release of a running kernel.",
        see_also: &["clocksource"],
        sources: &[
            "dump_stack_print_info() in lib/dump_stack.c, rh_string() in drivers/usb/core/hcd.c",
        ],
    },
    Entry {
        id: "x86-bits",
        words: &[
            "NMB HIGHMEM available.",
            "EIP: ADDRESS",
            "RIP: 0010:ADDRESS",
            "DMA32 zone: N pages",
        ],
        what: "A line that an x86 kernel of 32 bits, or of 64, alone prints.",
        versions: "All.",
        so_what: "A 32-bit kernel has no vDSO path for kvm-clock, and none for any clock before 3.15.",
        do_what: "Nothing; uname -m tells the width of a running kernel.",
        see_also: &["clocksource"],
        sources: &[
            "find_low_pfn_range() in init_32.c, show_regs() in process_32.c and process_64.c",
        ],
    },
    Entry {
        id: "cmdline",
        words: &["Command line: ...", "Kernel command line"],
        what: "The parameters of this boot. Those that concern clocks are explained below.",
        versions: "All.",
        so_what: "A parameter acts for this boot only as written here; an unknown value is \
         ignored in silence.",
        do_what: "Nothing.",
        see_also: &["clocksource=NAME", "tsc="],
        sources: &["init/main.c"],
    },
    Entry {
        id: "dmi",
        words: &["DMI: ..."],
        what: "Vendor, model and firmware of the machine, or of the virtual machine.",
        versions: "All.",
        so_what: "It shows which hypervisor this is where the kernel has no code for it \
         (VirtualBox, bhyve).",
        do_what: "Nothing.",
        see_also: &["clocksource"],
        sources: &["drivers/firmware/dmi_scan.c"],
    },
    Entry {
        id: "oneshot",
        words: &[
            "Switched to high resolution mode on CPU N",
            "high resolution mode",
            "Switched to NOHz mode",
        ],
        what: "The tick is now programmed one shot at a time.",
        versions: "All.",
        so_what: "Good: the clocksource was trusted at this moment. From now on jiffies and \
         unstable sources are hidden.",
        do_what: "Nothing.",
        see_also: &["high resolution"],
        sources: &["kernel/time/hrtimer.c; kernel/time/tick-sched.c"],
    },
    Entry {
        id: "apic-calibration",
        words: &["APIC calibration not consistent with PM-Timer: N ms instead of 100ms"],
        what: "The local APIC timer was calibrated over 100 ms of TSC time, and the PM timer counted \
         N ms meanwhile.",
        versions: "All. Since about 5.3 the wait is timed by the TSC.",
        so_what: "A few per cent on a busy virtual machine mean nothing. A large difference means \
         that the TSC's frequency is wrong: with tsc_early_khz= on the command line, the real \
         frequency is about the stated one times 100 / N.",
        do_what: "Take a wrong tsc_early_khz= off the command line.",
        see_also: &["tsc_early_khz", "tsc-miscalibrated"],
        sources: &["calibrate_by_pmtimer(), calibrate_APIC_clock() in arch/x86/kernel/apic/apic.c"],
    },
    Entry {
        id: "not-oneshot",
        words: &["Could not switch to high resolution mode on CPU N"],
        what: "The kernel could not program the tick one shot at a time, usually because the local \
         APIC timer failed its check.",
        versions: "All.",
        so_what: "The tick stays periodic: timers are as coarse as the tick, and sysfs lists every \
         clocksource, unstable ones and jiffies too.",
        do_what: "Look for `APIC timer disabled due to verification failure` and what disturbed it \
         at boot.",
        see_also: &["high resolution"],
        sources: &["hrtimer_switch_to_hres() in kernel/time/hrtimer.c"],
    },
    Entry {
        id: "arch-timer",
        words: &["arch_timer: cp15 timer(s) running at N MHz (virt).", "timer(s) running at"],
        what: "Arm's architected timer and its frequency.",
        versions: "3.5 and later.",
        so_what: "The clocksource will be arch_sys_counter.",
        do_what: "Nothing.",
        see_also: &["arch_sys_counter"],
        sources: &["drivers/clocksource/arm_arch_timer.c"],
    },
    Entry {
        id: "arch-erratum",
        words: &["arch_timer: Enabling local|global workaround for TEXT", "arch_timer: Enabling"],
        what: "Linux works around a fault of this CPU's timer.",
        versions: "4.9 and later. global: all CPUs; local: this one.",
        so_what: "Workarounds that change reads of the counter (Freescale A-008585, printed \
         `a005858`; HiSilicon 161010101; Arm 858921; Allwinner UNKNOWN1) take the vDSO clock \
         away from all programs; Arm 1418040 from 32-bit ones only. Others only concern timer \
         events.",
        do_what: "Nothing in software.",
        see_also: &["counter-trapped", "counter-trapped-compat", "arch_sys_counter"],
        sources: &["arch_timer_enable_workaround() in drivers/clocksource/arm_arch_timer.c"],
    },
    Entry {
        id: "cntvct",
        words: &["arch_timer: CPU0: Trapping CNTVCT access", "Trapping CNTVCT"],
        what: "On this CPU programs may not read the counter themselves: each read traps into \
         the kernel.",
        versions: "4.12 or so and later.",
        so_what: "Reads of the time are system calls.",
        do_what: "Read the time less often; COARSE clocks cost no counter read.",
        see_also: &["counter-trapped", "COARSE clocks"],
        sources: &["arch_counter_set_user_access() in drivers/clocksource/arm_arch_timer.c"],
    },
    Entry {
        id: "suspend",
        words: &["PM: suspend entry (deep)", "PM: suspend entry", "PM: hibernation entry"],
        what: "The system goes to sleep.",
        versions: "All.",
        so_what: "The TSC stops or is reset by firmware in many sleep states; trouble with it \
         often starts at the resume.",
        do_what: "Look at the lines after `PM: suspend exit`.",
        see_also: &["suspend", "tsc-jump", "tsc-warp"],
        sources: &["kernel/power/suspend.c"],
    },
    Entry {
        id: "resume",
        words: &["PM: suspend exit", "PM: hibernation exit", "Waking up from system sleep state"],
        what: "The system is back from sleep.",
        versions: "All.",
        so_what: "A warp or jump right after it is firmware that restored the CPUs' counters \
         unequally.",
        do_what: "Firmware update if the TSC is lost here each time.",
        see_also: &["suspend", "tsc-warp", "tsc-adjust-changed"],
        sources: &["kernel/power/suspend.c"],
    },
    Entry {
        id: "drift",
        words: &["system clock time drift greater than ...", "drift greater"],
        what: "A program (not the kernel) says that the system clock drifts away from its \
         reference.",
        versions: "Any.",
        so_what: "Beyond 500 ppm the kernel uses a wrong frequency, or the hypervisor's clock is \
         bad. The clock is not tamed by NTP then.",
        do_what: "chronyc tracking shows how much. Compare with the frequency in the kernel log.",
        see_also: &["tsc-miscalibrated", "ppm", "NTP"],
        sources: &["the program that wrote it"],
    },
    Entry {
        id: "time-source",
        words: &[
            "Using NAME for high-res timesource",
            "time.c: Using N MHz WALL NAME GTOD NAME timer.",
            "time.c: Using NAME based timekeeping.",
        ],
        what: "The counter that this kernel reads the time from. pmtmr and PM are the PM timer, now acpi_pm.",
        versions: "x86 before the clocksource framework: up to 2.6.17, with 64 bits up to 2.6.20.",
        so_what: "Chosen once, while the kernel boots: these kernels have no clocksource directory in sysfs.",
        do_what: "A newer kernel.",
        see_also: &["acpi_pm", "hpet", "tsc"],
        sources: &[
            "arch/i386/kernel/timers/timer.c; time_init_gtod() in arch/x86_64/kernel/time.c",
        ],
    },
    Entry {
        id: "gvisor",
        words: &["Starting gVisor..."],
        what: "This is no Linux kernel but gVisor, which plays one in user space.",
        versions: "Any.",
        so_what: "Its log and its sysfs say nothing about the real clocksource.",
        do_what: "Diagnose the host.",
        see_also: &["gVisor"],
        sources: &["gVisor"],
    },
    Entry {
        id: "read-current",
        words: &["current_clocksource: NAME", "SYSFS current_clocksource"],
        what: "A reading of the clocksource in use.",
        versions: "All.",
        so_what: "It is a reading, no message of the kernel.",
        do_what: "Nothing.",
        see_also: &["current_clocksource"],
        sources: &["/sys/devices/system/clocksource/clocksource0"],
    },
    Entry {
        id: "read-available",
        words: &["available_clocksource: NAMES", "SYSFS available_clocksource"],
        what: "A reading of the clocksources that can be chosen, best first.",
        versions: "All.",
        so_what: "What is missing from it is the interesting part.",
        do_what: "Nothing.",
        see_also: &["available_clocksource"],
        sources: &["/sys/devices/system/clocksource/clocksource0"],
    },
    Entry {
        id: "read-synchronized",
        words: &[
            "System clock synchronized: yes|no",
            "NTP synchronized: yes|no",
            "Leap status : Not synchronised",
        ],
        what: "What timedatectl, or chronyc tracking, says of the wall clock.",
        versions: "All; timedatectl says `NTP synchronized` before systemd 239.",
        so_what: "It is about the wall clock alone: which clocksource is in use, and what a read costs, \
         does not depend on it. A TSC with a wrong rate can be a reason why nothing synchronises.",
        do_what: "Look at the log of chronyd or systemd-timesyncd.",
        see_also: &["tsc-miscalibrated"],
        sources: &["STA_UNSYNC of adjtimex(2)"],
    },
    Entry {
        id: "wrote-current",
        words: &["echo NAME > current_clocksource"],
        what: "A command that asks for another clocksource at run time.",
        versions: "All. Lost at reboot.",
        so_what: "It returns success also when the kernel refuses. An unstable TSC cannot be \
         brought back like this.",
        do_what: "Read the file again after the write.",
        see_also: &["current_clocksource", "override-refused", "runtime-override"],
        sources: &["current_clocksource_store() in kernel/time/clocksource.c"],
    },
    Entry {
        id: "flags",
        words: &["flags : ...", "CPU flags"],
        what: "The CPU's features as the kernel sees them.",
        versions: "All x86.",
        so_what: "For clocks: tsc, constant_tsc, nonstop_tsc, tsc_adjust, tsc_known_freq, \
         tsc_reliable, hypervisor.",
        do_what: "Nothing.",
        see_also: &["constant_tsc", "nonstop_tsc", "TSC_ADJUST", "TSC_KNOWN_FREQ", "TSC_RELIABLE"],
        sources: &["/proc/cpuinfo"],
    },
];
