//! Words of processors and hypervisors.

use super::super::entry::Entry;

/// One entry a word.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        id: "invariant TSC",
        words: &["invariant TSC", "invtsc", "CPUID 8000_0007", "0x80000007"],
        what: "CPUID 8000_0007 EDX bit 8: the TSC runs at a constant rate in all power states. \
         Linux sets constant_tsc and nonstop_tsc from it. QEMU calls the flag invtsc.",
        versions: "Intel since Nehalem (2008), AMD since K10 (2007), Hygon, Zhaoxin; Centaur is \
         read since 4.16.",
        so_what: "It says nothing about offsets between CPUs: synchronised is another question, \
         which the warp test and TSC_ADJUST answer. Hypervisors hide it by default, since a \
         guest with it is hard to migrate.",
        do_what: "In a guest: -cpu host,migratable=off,+invtsc or +invtsc,tsc-frequency=N \
         (QEMU), feature policy='require' name='invtsc' (libvirt).",
        see_also: &["constant_tsc", "nonstop_tsc", "invariant-tsc-withheld", "migration"],
        sources: &["arch/x86/kernel/cpu/intel.c, amd.c; QEMU target/i386/cpu.c"],
    },
    Entry {
        id: "constant_tsc",
        words: &["constant_tsc", "X86_FEATURE_CONSTANT_TSC"],
        what: "CPU flag: the TSC's rate does not change with the CPU's frequency.",
        versions: "From the invariant TSC bit; on Intel also by model (family 15 model 3 and \
         later, family 6 model 14 and later) up to 6.14, since then only for models up to Ivy \
         Bridge. 6.15 and 6.16.0 miss the Pentium 4. VMware guests always have it.",
        so_what: "Without it, AMD machines with several CPUs lose the TSC as `TSCs \
         unsynchronized`.",
        do_what: "In a guest: expose the invariant TSC.",
        see_also: &["invariant TSC", "nonstop_tsc", "tsc-unsynchronized", "tsc-frequency-changes"],
        sources: &["early_init_intel() in arch/x86/kernel/cpu/intel.c; commit fadb6f569b10"],
    },
    Entry {
        id: "nonstop_tsc",
        words: &["nonstop_tsc", "nonstop_tsc_s3"],
        what: "CPU flag: the TSC does not stop in idle states (nonstop_tsc_s3, some Atoms: nor \
         in suspend to RAM).",
        versions: "From the invariant TSC bit; nonstop_tsc_s3 since 3.10.",
        so_what: "Without it an idle driver that uses deep states marks the TSC unstable. \
         kvm-clock stays ahead of tsc in a guest without it.",
        do_what: "In a guest: expose the invariant TSC.",
        see_also: &["invariant TSC", "tsc-halts-in-idle"],
        sources: &["arch/x86/kernel/cpu/intel.c"],
    },
    Entry {
        id: "TSC_ADJUST",
        words: &["TSC_ADJUST"],
        what: "A register (MSR 0x3b) of each CPU that holds what was added to its TSC. Firmware \
         that writes the TSC shows up in it, and Linux can take it back.",
        versions: "Linux checks it since 4.10; CPU flag tsc_adjust (CPUID 7 EBX bit 1). \
         Re-checked every 10 minutes since 5.16.",
        so_what: "It is why the kernel can do without the watchdog on newer machines: constant, \
         nonstop and adjustable means not watched (5.16 and later).",
        do_what: "Nothing to set. Messages about it are firmware bugs that were repaired.",
        see_also: &["tsc-adjust-changed", "watchdog", "tsc-warp"],
        sources: &["arch/x86/kernel/tsc_sync.c, 4.10 and later"],
    },
    Entry {
        id: "TSC_KNOWN_FREQ",
        words: &["TSC_KNOWN_FREQ"],
        what: "The TSC's frequency is stated by CPUID, an MSR or the hypervisor, so the kernel \
         does not measure it.",
        versions: "4.10 and later: CPUID 15h with a crystal (Intel), Atom MSRs; KVM 4.18; Xen \
         5.9; VMware 5.13; Hyper-V 6.11; SNP secure TSC 6.14.",
        so_what: "tsc registers without the one-second delay. If the stated figure is wrong, the \
         clock is wrong and nothing corrects it.",
        do_what: "tsc=recalibrate (6.3 and later) measures and prints the difference.",
        see_also: &["tsc=recalibrate", "tsc-miscalibrated", "calibration"],
        sources: &["arch/x86/kernel/tsc.c, 4.10 and later"],
    },
    Entry {
        id: "TSC_RELIABLE",
        words: &["TSC_RELIABLE"],
        what: "The platform promises a good TSC: no watchdog and no test between CPUs.",
        versions: "VMware always; Hyper-V with the invariant bit 5.5; TDX 6.7; SNP secure TSC \
         6.14; some Atoms.",
        so_what: "The same as tsc=reliable, but said by the platform and not by somebody's forum \
         post.",
        do_what: "Nothing.",
        see_also: &["tsc=reliable", "watchdog"],
        sources: &["arch/x86/kernel/tsc.c"],
    },
    Entry {
        id: "calibration",
        words: &["calibration", "TSC calibration"],
        what: "Finding the TSC's frequency: from the hypervisor, CPUID 15h and 16h, an MSR, or \
         by counting against the PIT, HPET or PM timer for some milliseconds.",
        versions: "CPUID 15h since 4.8; refinement over one second since 2.6.38.",
        so_what: "A rough figure at first is normal; failed fast PIT calibration is normal on \
         machines without PIT. Only `could not calculate TSC khz` means that the TSC is lost.",
        do_what: "Nothing, unless the rate is wrong in the end.",
        see_also: &["refinement", "TSC_KNOWN_FREQ", "tsc_early_khz"],
        sources: &["native_calibrate_tsc(), native_calibrate_cpu() in arch/x86/kernel/tsc.c"],
    },
    Entry {
        id: "refinement",
        words: &["refinement", "refined", "TSC refinement"],
        what: "A second measurement of the TSC's frequency, over about one second against HPET \
         or PM timer, in the background of the boot. It is taken if it is within 1 % of the \
         first.",
        versions: "2.6.38 and later; skipped with TSC_KNOWN_FREQ (4.10 and later) and with \
         TSC_RELIABLE in 3.3 to 4.9.",
        so_what: "tsc registers only when it is done: a switch to hpet or tsc-early before is no \
         fallback. Without HPET and PM timer there is no `Refined` line and the early figure \
         stays. A disturbed refinement can be wrong by up to 1 %.",
        do_what: "If two boots refine to figures that differ by more than 100 ppm, the reference \
         or SMIs disturb it.",
        see_also: &["tsc-miscalibrated", "tsc-early", "calibration"],
        sources: &["tsc_refine_calibration_work() in arch/x86/kernel/tsc.c"],
    },
    Entry {
        id: "SMI",
        words: &["SMI", "SMM"],
        what: "System management interrupt: firmware takes the CPU away from the kernel, unseen, \
         for microseconds to milliseconds.",
        versions: "Any x86.",
        so_what: "It disturbs calibration and watchdog reads, and some firmware writes the TSC \
         in it to hide the time it took.",
        do_what: "Update the firmware; count SMIs with MSR 0x34 (Intel) or turbostat.",
        see_also: &["tsc-adjust-changed", "tsc-miscalibrated", "watchdog-at-fault"],
        sources: &["arch/x86/kernel/tsc.c, tsc_read_refs()"],
    },
    Entry {
        id: "rdtscp",
        words: &["rdtscp", "ordered read"],
        what: "Like rdtsc, but waits for earlier instructions. The vDSO orders its read so that \
         time cannot go backwards between threads.",
        versions: "All x86-64 kernels order the read: rdtscp or a fence in front of rdtsc.",
        so_what: "An ordered read costs about 10 ns more than a bare rdtsc.",
        do_what: "Programs that call rdtsc themselves must convert and order by themselves, and \
         are wrong where the TSC is.",
        see_also: &["tsc", "vDSO"],
        sources: &["rdtsc_ordered() in arch/x86/include/asm/msr.h"],
    },
    Entry {
        id: "stable bit",
        words: &["stable bit", "PVCLOCK_TSC_STABLE_BIT"],
        what: "A bit in KVM's and Xen's clock page: all virtual CPUs share one time line, so the \
         guest may read the clock in the vDSO.",
        versions: "KVM sets it since 3.8 (masterclock). The guest's vDSO checks it at each read.",
        so_what: "Without it every read is a system call, and the guest kernel keeps time from \
         going backwards with a global variable. No message tells.",
        do_what: "On the host: run on tsc. Then restart or resume the guest and measure again.",
        see_also: &["masterclock", "kvm-clock", "xen", "vdso-bypassed"],
        sources: &["arch/x86/kernel/pvclock.c"],
    },
    Entry {
        id: "masterclock",
        words: &["masterclock", "master clock", "kvm masterclock"],
        what: "KVM's mode in which one pair of host time and TSC serves all virtual CPUs of a \
         guest. It sets the stable bit.",
        versions: "3.8 and later. Needs: the host's clocksource is tsc (or Hyper-V's page, \
         4.16), all virtual CPUs' TSCs matched, no backwards TSC seen on the host, no guest on \
         the oldest kvm-clock interface.",
        so_what: "If the host falls from tsc to hpet, all its guests lose fast time at once. One \
         host problem, many slow guests.",
        do_what: "Run clocksmith why on the host.",
        see_also: &["stable bit", "kvm-clock", "KVM discovered backwards TSC"],
        sources: &["pvclock_update_vm_gtod_copy() in arch/x86/kvm/x86.c"],
    },
    Entry {
        id: "migration",
        words: &["migration", "live migration", "TSC scaling", "tsc-frequency"],
        what: "A running guest moves to another host. Its TSC must go on at the same rate: equal \
         hardware, or TSC scaling (VMX since 4.4, SVM since 3.1).",
        versions: "QEMU refuses to migrate a guest with invtsc unless tsc-frequency is set (2.9 \
         and later).",
        so_what: "On tsc without scaling the clock runs wrong after the move, by ppm or by \
         percent. kvm-clock, xen and Hyper-V's page are adjusted by the hypervisor.",
        do_what: "Pin tsc-frequency for all hosts of a pool, or keep the paravirtual clock. Let \
         NTP step after a move.",
        see_also: &["invariant-tsc-withheld", "kvm.tsc_tolerance_ppm", "tsc-jump"],
        sources: &["QEMU commit d99569d9d856 (2.9); kvm_set_tsc_khz() in arch/x86/kvm/x86.c"],
    },
    Entry {
        id: "KVM_CLOCK_REALTIME",
        words: &["KVM_CLOCK_REALTIME", "snapshot restore", "snapshot"],
        what: "A KVM interface by which a restored guest's kvm-clock is advanced by the time it \
         was stopped.",
        versions: "5.16 and later, if the VM monitor uses it.",
        so_what: "It moves kvm-clock only. A guest on tsc resumes with a wall clock that is late \
         by the length of the pause until NTP steps it.",
        do_what: "After a restore: chronyc makestep, or keep the guest on kvm-clock.",
        see_also: &["tsc-jump", "kvm-clock", "NTP"],
        sources: &["Documentation/virt/kvm/api.rst, KVM_SET_CLOCK"],
    },
    Entry {
        id: "steal time",
        words: &["steal time", "steal", "overcommit"],
        what: "Time in which a virtual CPU wanted to run and the host ran something else (`st` \
         in top).",
        versions: "2.6.32 and later on Xen, 3.1 on KVM.",
        so_what: "Much of it means late timers, long read-backs and stalls in the log: the host \
         is overcommitted, the clocksource is innocent.",
        do_what: "Talk to the host's operator.",
        see_also: &["readout-stall", "watchdog-at-fault"],
        sources: &["arch/x86/kernel/kvm.c"],
    },
    Entry {
        id: "AccessTscInvariant",
        words: &["AccessTscInvariant", "HV_ACCESS_TSC_INVARIANT", "hyperv invariant"],
        what: "Hyper-V's grant of an invariant TSC: CPUID 0x40000003 EAX bit 15. Linux then \
         writes MSR 0x40000118 and trusts the TSC.",
        versions: "Linux 5.5 and later (dce7cd62754b; some distributions backported it). KVM can \
         emulate it since 6.3.",
        so_what: "With it tsc is used (5.6 and later); without it the TSC is marked `running on \
         Hyper-V` on purpose, and the page clock serves.",
        do_what: "Nothing: both are fast. Newer hosts grant it.",
        see_also: &[
            "hyperv_clocksource_tsc_page",
            "Hyper-V: privilege flags low 0x2e7f",
            "Microsoft",
        ],
        sources: &["ms_hyperv_init_platform() in arch/x86/kernel/cpu/mshyperv.c"],
    },
    Entry {
        id: "vmware",
        words: &["vmware"],
        what: "VMware has no clocksource: its guests use tsc. It states the frequency, and Linux \
         sets constant_tsc and TSC_RELIABLE for it.",
        versions: "All; TSC_KNOWN_FREQ since 5.13.",
        so_what: "tsc is right and unwatched. A VMware guest that loses its TSC usually runs a \
         kernel built without CONFIG_HYPERVISOR_GUEST.",
        do_what: "Nothing.",
        see_also: &["tsc", "TSC_RELIABLE"],
        sources: &["arch/x86/kernel/cpu/vmware.c"],
    },
    Entry {
        id: "tsc_mode",
        words: &["tsc_mode", "xen tsc_mode"],
        what: "Xen's setting for a domain's TSC: 0 default (emulate if needed), 1 always \
         emulate, 2 native, 3 native with TSC_AUX.",
        versions: "xl.cfg; Linux 6.3 and later prefers tsc when it is 2.",
        so_what: "Mode 1 makes every rdtsc trap: slow with any clocksource. Mode 2 is fast, and \
         wrong after a move to a host with another rate.",
        do_what: "tsc_mode=\"native\" for domains that stay on one host.",
        see_also: &["xen", "migration"],
        sources: &["xl.cfg(5); commit 99a7bcafbd0d (6.3)"],
    },
    Entry {
        id: "gVisor",
        words: &["gVisor", "sentry"],
        what: "A kernel in user space for containers. It is not Linux: its clocks are its own, \
         calibrated from the TSC and the host's time.",
        versions: "Any.",
        so_what: "The clocksource files in sysfs are missing or mean nothing there.",
        do_what: "Diagnose the host.",
        see_also: &["clocksource", "vDSO"],
        sources: &["gVisor documentation"],
    },
    Entry {
        id: "ART",
        words: &["ART", "always running timer"],
        what: "Intel's always running timer, the crystal from which the TSC is derived; it lets \
         PTP devices relate their clock to the TSC.",
        versions: "Linux 4.4 and later.",
        so_what: "No effect on which clocksource is used.",
        do_what: "Nothing.",
        see_also: &["TSC_KNOWN_FREQ"],
        sources: &["arch/x86/kernel/tsc.c"],
    },
];
