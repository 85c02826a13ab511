//! Messages of hypervisors and their guests.

use super::super::entry::Entry;

/// One entry a message.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        id: "kvm-clock",
        words: &["kvm-clock: Using msrs 4b564d01 and 4b564d00", "kvm-clock: Using msrs"],
        what: "The guest runs on KVM and has switched its paravirtual clock on. msrs 12 and 11: \
         the oldest interface.",
        versions: "2.6.35 and later.",
        so_what: "kvm-clock registers; whether it is chosen depends on the TSC (5.1 and later).",
        do_what: "Nothing.",
        see_also: &["kvm-clock", "stable bit"],
        sources: &["arch/x86/kernel/kvmclock.c"],
    },
    Entry {
        id: "trace-global",
        words: &[
            "Unstable clock detected, switching default tracing clock to \"global\"",
            "Unstable clock detected",
        ],
        what: "The kernel does not call its scheduler's clock stable, so trace records take a \
         clock that is the same on all CPUs.",
        versions: "Seen from 5.10 to 7.2.",
        so_what: "In a guest on kvm-clock: the host does not set the stable bit, and each read of \
         the clock is a system call. Elsewhere: the TSC is not stable.",
        do_what: "In a guest: look at the host's clocksource.",
        see_also: &["stable bit", "sched_clock", "kvm-clock"],
        sources: &["tracing_set_default_clock() in kernel/trace/trace.c"],
    },
    Entry {
        id: "xen-dom0",
        words: &["xen: registering gsi N triggering N polarity N", "xen: registering gsi"],
        what: "This kernel is dom0, the initial domain of a Xen host.",
        versions: "2.6.32 and later.",
        so_what: "Settings of guests (xl.cfg) do not reach it; its clock is set on Xen's own \
         command line.",
        do_what: "Nothing.",
        see_also: &["xen"],
        sources: &["xen_register_gsi() in arch/x86/pci/xen.c"],
    },
    Entry {
        id: "kvm-clock-cpu",
        words: &[
            "kvm-clock: cpu N, msr X, secondary cpu clock",
            "secondary cpu clock",
            "primary cpu clock",
        ],
        what: "The address of one virtual CPU's clock page.",
        versions: "Up to 5.16; a debug message since 5.17.",
        so_what: "Normal.",
        do_what: "Nothing.",
        see_also: &["kvm-clock"],
        sources: &["arch/x86/kernel/kvmclock.c"],
    },
    Entry {
        id: "kvm-host-unstable",
        words: &[
            "kvm: SMP vm created on host with unstable TSC; guest TSC will not be reliable",
            "guest TSC will not be reliable",
            "host with unstable TSC",
        ],
        what: "This machine is a KVM host whose own TSC is marked unstable, and it started a \
         guest with several virtual CPUs.",
        versions: "2.6.35 or so and later.",
        so_what: "Guests lose fast kvm-clock, and their TSC is not synchronised.",
        do_what: "Repair the host's TSC first: clocksmith why on the host.",
        see_also: &["masterclock", "stable bit", "kvm-clock"],
        sources: &["kvm_arch_vcpu_precreate() in arch/x86/kvm/x86.c"],
    },
    Entry {
        id: "tsc-mismatch",
        words: &[
            "TSC frequency mismatch between VM (N kHz) and host (M kHz), and TSC scaling unavailable",
            "TSC frequency mismatch between VM",
            "TSC scaling unavailable",
        ],
        what: "QEMU starts or receives a guest whose TSC should run at another rate than this \
         host's, and the host cannot scale.",
        versions: "QEMU 2.x and later.",
        so_what: "A guest on tsc will run fast or slow by the ratio of the two figures.",
        do_what: "Start it on a host with that frequency or with TSC scaling; or let the guest \
         use kvm-clock.",
        see_also: &["migration", "tsc-miscalibrated"],
        sources: &["QEMU target/i386/kvm/kvm.c"],
    },
    Entry {
        id: "invtsc-blocked",
        words: &["State blocked by non-migratable CPU device (invtsc flag)", "invtsc flag"],
        what: "QEMU refuses to migrate or save a guest that has the invariant TSC without a \
         pinned frequency.",
        versions: "QEMU 2.9 and later knows the way out.",
        so_what: "It protects the guest's clock.",
        do_what: "Set tsc-frequency=N together with +invtsc, on hosts that can give it.",
        see_also: &["migration", "invtsc"],
        sources: &["QEMU target/i386"],
    },
    Entry {
        id: "kvm-below",
        words: &["user requested TSC rate below hardware speed", "requested TSC rate below"],
        what: "KVM was asked for a guest TSC slower than the host's, without scaling hardware.",
        versions: "2.6.39 or so and later.",
        so_what: "The request is refused.",
        do_what: "Another host, or no tsc-frequency.",
        see_also: &["migration"],
        sources: &["kvm_set_tsc_khz() in arch/x86/kvm/x86.c"],
    },
    Entry {
        id: "hypervisor",
        words: &["Hypervisor detected: NAME", "Hypervisor detected"],
        what: "The kernel found a hypervisor that it has code for.",
        versions: "All.",
        so_what: "It decides which paravirtual clock can register: kvm-clock, xen, Hyper-V's. \
         VMware has none.",
        do_what: "Nothing.",
        see_also: &["kvm-clock", "xen", "hyperv_clocksource_tsc_page", "vmware"],
        sources: &["init_hypervisor_platform() in arch/x86/kernel/cpu/hypervisor.c"],
    },
    Entry {
        id: "paravirt",
        words: &["Booting paravirtualized kernel on NAME", "Booting paravirtualized kernel"],
        what: "The paravirtual interface in use; `bare hardware` means none.",
        versions: "All with CONFIG_PARAVIRT.",
        so_what: "`bare hardware` appears in guests too: on VMware, Hyper-V (older kernels) and \
         emulators.",
        do_what: "Nothing.",
        see_also: &["kvm-clock", "xen"],
        sources: &["arch/x86/kernel/paravirt.c"],
    },
    Entry {
        id: "hyperv-flags",
        words: &[
            "Hyper-V: privilege flags low 0x..., high 0x..., hints 0x..., misc 0x...",
            "Hyper-V privilege flags",
            "Hyper-V: features",
        ],
        what: "What this Hyper-V host grants to the guest (CPUID 0x40000003). The first word \
         decides about clocks.",
        versions: "`features` up to 5.11, `privilege flags low` since 5.12.",
        so_what: "Bit 15 (0x8000): invariant TSC, so tsc is used. Clear: Hyper-V's page clock is \
         used. 0xae7f has it, 0x2e7f has not.",
        do_what: "Nothing: both are fast.",
        see_also: &["AccessTscInvariant", "hyperv_clocksource_tsc_page", "invariant-tsc-withheld"],
        sources: &["ms_hyperv_init_platform() in arch/x86/kernel/cpu/mshyperv.c"],
    },
    Entry {
        id: "hyperv-missing",
        words: &[
            "x86/hyperv: HYPERCALL MSR not available.",
            "HYPERCALL MSR not available",
            "VP_INDEX MSR not available",
        ],
        what: "The host says Hyper-V but lacks what Linux needs, so Linux does not treat it as \
         Hyper-V at all.",
        versions: "5.16 and later, and stable kernels.",
        so_what: "No Hyper-V clock. In QEMU: hv-time was given without hv-vpindex.",
        do_what: "QEMU: add hv-vpindex (and hv-relaxed, hv-vapic as its manual says).",
        see_also: &["hyperv_clocksource_tsc_page"],
        sources: &["ms_hyperv_platform() in arch/x86/kernel/cpu/mshyperv.c; commit f3e613e72f66"],
    },
    Entry {
        id: "xen-vdso",
        words: &[
            "xen: VDSO_CLOCKMODE_PVCLOCK not supported (tsc unstable)",
            "PVCLOCK not supported",
        ],
        what: "The hypervisor does not call its TSC stable, or the registration failed (err), so \
         the xen clock cannot be read in the vDSO.",
        versions: "4.15 and later (VCLOCK_PVCLOCK up to 5.6).",
        so_what: "Every read of the time is a system call.",
        do_what: "If the TSC is good there (EC2's Xen families): clocksource=tsc. Else the host \
         must provide a stable TSC.",
        see_also: &["xen", "stable bit", "vDSO"],
        sources: &["xen_setup_vsyscall_time_info() in arch/x86/xen/time.c"],
    },
    Entry {
        id: "xen-hvm",
        words: &[
            "Xen doesn't support pvclock on HVM, disable pv timer",
            "doesn't support pvclock on HVM",
        ],
        what: "This Xen hypervisor does not offer its clock to HVM guests.",
        versions: "2.6.36 and later.",
        so_what: "No xen clocksource: tsc, hpet or acpi_pm by bare-metal rules.",
        do_what: "Nothing if tsc works.",
        see_also: &["xen"],
        sources: &["xen_hvm_init_time_ops() in arch/x86/xen/time.c"],
    },
    Entry {
        id: "backwards",
        words: &["Time went backwards"],
        what: "A paravirtual clock returned less than before: it is not the same on all CPUs, or \
         the host's clock stepped.",
        versions: "Old Xen guests (2.6.18 times) and others.",
        so_what: "The hypervisor's time is at fault, not the guest.",
        do_what: "Newer kernel and hypervisor; independent_wallclock in old Xen guests.",
        see_also: &["paravirt-clock-broken", "xen"],
        sources: &["arch/i386/kernel/time-xen.c, 2.6.18"],
    },
];
