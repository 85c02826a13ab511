//! 32-bit x86: its evidence, and the conclusions.

#![allow(clippy::unwrap_used)]

use crate::common::why;
use clocksmith_diagnose::{Report, Verdict};

/// A guest with kvm-clock, up to user space; `width` is a line that shows the width of its kernel.
fn guest(width: &str) -> Report {
    why(&format!(
        "[    0.000000] Linux version 5.7.0 (builder@example) (gcc version 9.3.0) #1 Fri Jun 5 2020\n\
         [    0.000000] {width}\n\
         [    0.000000] Hypervisor detected: KVM\n\
         [    0.000000] kvm-clock: Using msrs 4b564d01 and 4b564d00\n\
         [    0.000000] kvm-clock: using sched offset of 100 cycles\n\
         [    0.400000] tsc: Marking TSC unstable due to TSCs unsynchronized\n\
         [    0.500000] clocksource: Switched to clocksource kvm-clock\n\
         [    0.600000] sched_clock: Marking stable (600000000, 0)->(600000000, 0)\n\
         [    2.000000] pci 0000:00:00.0: one\n[    3.000000] pci 0000:00:01.0: two\n\
         [    4.000000] virtio_net virtio0: three\n[    5.000000] scsi host0: four\n\
         [    6.000000] usb 1-1: five\n[   20.000000] EXT4-fs (vda1): mounted filesystem\n"
    ))
}

#[test]
fn kvm_clock_on_32_bits_is_slow() {
    for width in ["885MB LOWMEM available.", "16522MB HIGHMEM available.", "EIP: strcmp+0x11/0x30"]
    {
        let report = guest(width);
        assert_eq!(report.verdict, Verdict::Slow, "{width}: {}", report.headline);
        assert_eq!(report.machine.arch.as_deref(), Some("x86"));
    }
    assert_eq!(guest("  DMA32    [mem 0x1000000-0xffffffff]").verdict, Verdict::Ok);
}

#[test]
fn kvm_clock_without_a_sign_of_the_width_is_open() {
    let report = guest("random: get_random_bytes called");
    assert_eq!(report.verdict, Verdict::Unknown, "{}", report.headline);
    assert!(report.settles.iter().any(|settle| settle.how == "uname -m"), "{:?}", report.settles);
}

#[test]
fn tsc_of_an_old_kernel_is_not_called_fast_without_its_width() {
    let old = |more: &str| {
        why(&format!(
            "[    0.000000] Linux version 2.6.38 (builder@example) (gcc version 4.5.2) #1 SMP 2011\n\
             [    0.000000] {more}\n[    0.100000] hpet0: 3 comparators, 64-bit 14.318180 MHz counter\n\
             [    1.100000] Switching to clocksource tsc\n[    2.000000] usb 1-1: one\n\
             [    3.000000] usb 1-2: two\n[    4.000000] usb 1-3: three\n[    5.000000] ata1: four\n\
             [    6.000000] ata2: five\n[   30.000000] EXT4-fs (sda1): mounted filesystem\n"
        ))
    };
    for line in ["1200MB HIGHMEM available.", "nothing of the width"] {
        let report = old(line);
        assert!(!report.headline.contains("fast"), "{}", report.headline);
        assert!(report.headline.contains("vDSO"), "{}", report.headline);
    }
    let report = old("RIP: 0010:[<ffffffff81000000>]");
    assert!(report.headline.contains("fast"), "{}", report.headline);
}

#[test]
fn list_of_flags_that_is_cut_tells_no_width() {
    const FLAGS: &str = "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush mmx fxsr sse sse2 ss ht \
        syscall nx pdpe1gb rdtscp lm constant_tsc rep_good nopl xtopology nonstop_tsc cpuid tsc_known_freq pni pclmulqdq ssse3 \
        fma cx16 hypervisor lahf_lm tsc_adjust";
    let text = |line: &str| {
        format!(
            "[    0.000000] Linux version 5.7.0 (builder@example) (gcc version 9.3.0) #1 Fri Jun 5 2020\n\
             [    0.000000] Hypervisor detected: KVM\n\
             [    0.000000] kvm-clock: Using msrs 4b564d01 and 4b564d00\n\
             [    0.400000] tsc: Marking TSC unstable due to TSCs unsynchronized\n\
             [    0.500000] clocksource: Switched to clocksource kvm-clock\n{line}\n"
        )
    };
    let line = format!("flags\t\t: {FLAGS}");
    for width in 100..line.len() {
        for wrapped in [false, true] {
            let rest = if wrapped { &line[width..] } else { "" };
            let report = crate::common::pasted(&text(&format!("{}\n{rest}", &line[..width])));
            assert_ne!(report.verdict, Verdict::Slow, "{width}: {}", report.headline);
        }
    }
    let without = line.replace(" lm ", " ");
    let report = crate::common::pasted(&text(&without));
    assert_eq!(report.verdict, Verdict::Slow, "{}", report.headline);
}

#[test]
fn high_memory_is_of_32_bits() {
    let text = |line: &str| {
        format!(
            "[    0.000000] {line}\n\
             [    0.000000] Detected 3191.999 MHz processor.\n\
             [    1.500000] CPU: 0 PID: 1 Comm: swapper Not tainted 3.11.0-26-generic #45\n\
             [    1.790171] Switched to clocksource tsc\n\
             [   15.200000] EXT4-fs (sda1): mounted filesystem with ordered data mode\n"
        )
    };
    for line in [
        "Initializing HighMem for node 0 (00037bfe:00102000)",
        "  HighMem  [mem 0x0000000037bfe000-0x0000000101ffffff]",
        "Memory: 3106080K/3177972K available (6686K kernel code, 71892K reserved, 2264968K highmem)",
    ] {
        let seen = crate::common::why(&text(line));
        assert_eq!(seen.machine.arch.as_deref(), Some("x86"), "{line}");
        assert_eq!(seen.verdict, clocksmith_diagnose::Verdict::Slow, "{line}: {}", seen.headline);
    }
    assert_eq!(crate::common::why(&text("x")).verdict, clocksmith_diagnose::Verdict::Unknown);
}

#[test]
fn fast_reads_of_a_32_bit_kernel_depend_on_the_c_library() {
    let boot = |version: &str, width: &str| {
        why(&format!(
            "[    0.000000] Linux version {version} (builder@example) (gcc version 4.8.4) #1 SMP\n\
             [    0.000000] {width}\n[    0.100000] hpet0: 3 comparators, 64-bit 14.318180 MHz counter\n\
             [    1.100000] Switched to clocksource tsc\n[    2.000000] usb 1-1: one\n\
             [    3.000000] usb 1-2: two\n[    4.000000] usb 1-3: three\n[    5.000000] ata1: four\n\
             [    6.000000] ata2: five\n[   30.000000] EXT4-fs (sda1): mounted filesystem\n"
        ))
    };
    for (version, width) in [
        ("3.16.0-4-586", "one"),
        ("3.19.8-100.fc20.i686+PAE", "one"),
        ("3.16.7", "1200MB HIGHMEM available."),
        ("4.19.0-27-686-pae", "one"),
    ] {
        let report = boot(version, width);
        assert_eq!(report.verdict, Verdict::Ok, "{}", report.headline);
        assert!(report.headline.contains("glibc since 2.20"), "{}", report.headline);
        assert!(report.headline.ends_with("Nothing to fix in the kernel."), "{}", report.headline);
    }
    // The kernel has no such vDSO: the library does not matter.
    let older = boot("3.14.0-1-686-pae", "one");
    assert!(older.headline.contains("slow") && !older.headline.contains("glibc"));
    let wide = boot("3.16.0-4-amd64", "one");
    assert!(wide.headline.ends_with("Nothing to fix."), "{}", wide.headline);
}
