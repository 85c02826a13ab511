//! The architecture that a message proves. Without such a message it stays unknown.

use super::event::{Event, LostTicks, UnstableReason};
use super::parse::of_release as release_bits;
use super::{Entry, KernelLog};
use crate::Arch;
use crate::cmdline::CommandLine;
use crate::cpu::Flags;
use crate::version::{Kernel, Vendor};

/// The mask of the counters of Tegra's timer.
const TEGRA_MASK: u64 = (1 << 56) - 1;

/// Whether a log names a clocksource that x86 kernels lack: Arm's counter (there, `tsc` is a clocksource of a board),
/// or `timer`, of User-mode Linux and of boards. The compiler of User-mode Linux is that of x86.
pub(super) fn is_not_x86s(event: &Event) -> bool {
    match event {
        Event::Registered { name, .. } | Event::Switched(name) | Event::ReadCurrent(name)
            if name == "timer" =>
        {
            true
        }
        Event::Registered { name, mask, .. } => {
            name == "arch_sys_counter" || name == "tsc" && *mask == TEGRA_MASK
        }
        Event::Switched(name) | Event::ReadCurrent(name) => name == "arch_sys_counter",
        Event::ReadAvailable(names) => names.iter().any(|name| name == "arch_sys_counter"),
        _ => false,
    }
}

/// The architecture that an event proves. On x86 the width is that of the kernel's release,
/// if the release shows one, otherwise 64 bits.
pub(super) fn of(event: &Event, kernel: Option<&Kernel>) -> Option<Arch> {
    let found = match event {
        Event::Arch(arch) => *arch,
        Event::ArmProcessor { .. } => Arch::Arm,
        Event::MipsTopology { .. } | Event::MipsProcessor { .. } | Event::MipsCounterBroken => {
            Arch::Mips
        }
        Event::OpenSbi(_) | Event::HartExtensions { .. } => Arch::Riscv,
        Event::X86Bits(32) => Arch::X86,
        Event::Release(release) if release_bits(release) == Some(32) => Arch::X86,
        Event::ArchTimerErratum(_) | Event::CounterTrapped => Arch::Arm64,
        Event::TscUnstable(_)
        | Event::Detected { .. }
        | Event::Refined { .. }
        | Event::Calibration(_)
        | Event::Warp { .. }
        | Event::WarpHeader { .. }
        | Event::TscAdjust(_)
        | Event::HypervPrivileges(_)
        | Event::KvmClock
        | Event::KvmSchedOffset
        | Event::CpuModel { .. }
        | Event::PmTimer(_)
        | Event::HpetTable { .. }
        | Event::TimeSource { .. }
        | Event::LostTicks(_)
        | Event::HpetFallback
        | Event::TimeWentBackwards
        | Event::XenReadBackwards
        | Event::P0Mismatch => Arch::X86_64,
        Event::Registered { name, mask, .. } if name == "timer" => {
            // Boards have a 32-bit counter of this name; User-mode Linux has a 64-bit one.
            return (*mask == u64::MAX).then_some(Arch::Um);
        }
        // Tegra's timer, of 56 bits (drivers/clocksource/timer-tegra186.c); x86's TSC has 64.
        Event::Registered { name, mask, .. } if name == "tsc" && *mask == TEGRA_MASK => Arch::Arm64,
        Event::Registered { name, .. }
        | Event::Switched(name)
        | Event::ReadCurrent(name)
        | Event::WatchdogMarked { name, .. }
        | Event::WatchdogOld { name, .. }
        | Event::WatchdogKept { name, .. }
        | Event::WatchdogSkewed { name, .. } => of_name(name)?,
        Event::ReadAvailable(names) => names.iter().find_map(|name| of_name(name))?,
        Event::Banner(text) => of_banner(text)?,
        Event::CommandLine(text) if is_user_modes(text) => Arch::Um,
        _ => return None,
    };
    Some(match kernel {
        Some(kernel) if found == Arch::X86_64 && kernel.is_i686() => Arch::X86,
        _ => found,
    })
}

/// The only processor family whose kernels print a message: two families in one text are two machines. Names that
/// boards of several families use belong to none: Tegra has a `tsc`, MIPS and Itanium an `hpet`, Itanium `acpi_pm`.
pub(super) fn family(event: &Event) -> Option<&'static str> {
    let shared = |name: &str| matches!(name, "tsc" | "hpet" | "acpi_pm" | "tick" | "MIPS");
    let found = match event {
        Event::Registered { name, .. } | Event::Switched(name) if name == "arch_sys_counter" => {
            return Some("Arm");
        }
        Event::Registered { name, .. } | Event::Switched(name) if shared(name) => return None,
        Event::Registered { .. }
        | Event::Switched(_)
        | Event::Arch(_)
        | Event::ArmProcessor { .. }
        | Event::MipsTopology { .. }
        | Event::MipsProcessor { .. }
        | Event::MipsCounterBroken
        | Event::OpenSbi(_)
        | Event::HartExtensions { .. }
        | Event::ArchTimerErratum(_)
        | Event::CounterTrapped
        | Event::TscUnstable(_)
        | Event::Refined { .. }
        | Event::Warp { .. }
        | Event::WarpHeader { .. }
        | Event::TscAdjust(_)
        | Event::KvmClock
        | Event::KvmSchedOffset
        | Event::CpuModel { .. }
        | Event::P0Mismatch => of(event, None)?,
        _ => return None,
    };
    Some(match found {
        Arch::X86 | Arch::X86_64 => "x86",
        Arch::Arm | Arch::Arm64 => "Arm",
        Arch::Riscv | Arch::Riscv32 => "RISC-V",
        Arch::Mips => "MIPS",
        Arch::Powerpc => "POWER",
        Arch::S390 => "IBM Z",
        Arch::Loongarch | Arch::Loongarch32 => "LoongArch",
        Arch::Sparc => "SPARC",
        Arch::Alpha => "Alpha",
        Arch::Parisc => "PA-RISC",
        // User-mode Linux prints the properties of the underlying machine, and the other families have few distinct
        // messages.
        _ => return None,
    })
}

/// The width of an x86 kernel, and the line that shows it; `None`: the text fits a kernel of either
/// width.
///
/// A 32-bit message of the kernel comes first: a 64-bit compiler builds kernels of both widths.
pub(super) fn width<'a>(log: &'a KernelLog, kernel: Option<&Kernel>) -> Option<(&'a Entry, Arch)> {
    let of = |wanted: u8| log.first(move |event| (bits(event) == Some(wanted)).then_some(()));
    let found = of(32).map(|(entry, ())| (entry, Arch::X86));
    let found = found.or_else(|| of(64).map(|(entry, ())| (entry, Arch::X86_64)));
    found.or_else(|| {
        // Red Hat builds no 32-bit kernels since its release 7.
        let only_64 =
            kernel.is_some_and(|k| matches!(k.vendor, Vendor::Rhel(release) if release >= 7));
        let entry = log.entries.first().filter(|_| only_64)?;
        Some((entry, Arch::X86_64))
    })
}

/// The width of a RISC-V or LoongArch kernel, and the line that shows it. Both have the zone DMA32 only with 64 bits.
pub(super) fn width_of(log: &KernelLog, arch: Arch) -> Option<(&Entry, Arch)> {
    let narrow = arch.with_32_bits()?;
    let told = |event: &Event| match event {
        Event::Arch(found) if *found == arch || *found == narrow => Some(*found),
        Event::Banner(text) | Event::Release(text) => {
            // Distributions build only 64-bit kernels for both.
            let built = ["(Ubuntu ", "(Debian ", "(Red Hat ", "(openEuler ", "(SUSE "];
            let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
            match has(&["riscv32", "loongarch32", "rv32"]) {
                true => Some(narrow),
                false => has(&["riscv64", "loongarch64", "rv64", "la64"])
                    .then_some(arch)
                    .or_else(|| has(&built).then_some(arch)),
            }
        }
        Event::X86Bits(64) => Some(arch),
        Event::HighMemory => Some(narrow),
        _ => None,
    };
    let shows = |wanted: Arch| {
        let found = log.first(move |event| (told(event) == Some(wanted)).then_some(()));
        found.map(|(entry, ())| (entry, wanted))
    };
    shows(narrow).or_else(|| shows(arch))
}

fn bits(event: &Event) -> Option<u8> {
    match event {
        Event::X86Bits(bits) | Event::TimeSource { bits, .. } => Some(*bits),
        Event::HighMemory => Some(32),
        Event::Release(release) => release_bits(release),
        Event::Banner(text) => match of_banner(text)? {
            Arch::X86 => Some(32),
            Arch::X86_64 => Some(64),
            _ => None,
        },
        Event::CommandLine(text) => {
            let image = CommandLine::parse(text).last("BOOT_IMAGE")?.to_owned();
            release_bits(image.split_once("vmlinuz-").map(|(_, release)| release)?)
        }
        Event::CpuModel { name, family, model } => {
            // Long mode came with family 15 of both vendors, and with model 15 of Intel's family 6.
            let intel = name.contains("Intel") && (*family < 6 || *family == 6 && *model < 15);
            let amd = name.contains("AMD") && *family <= 6;
            // Hypervisors give processors with long mode old model numbers.
            let real = !["QEMU", "KVM", "Virtual"].iter().any(|word| name.contains(word));
            (real && (intel || amd || name.contains("486"))).then_some(32)
        }
        Event::ReadFlags(text) => {
            let flags = Flags::parse(text);
            let lacks = !flags.has("lm") && Flags::go_past_long_mode(text);
            (flags.0.len() > 20 && lacks && flags.has("fpu")).then_some(32)
        }
        // init_pit_clocksource() in arch/x86/kernel/i8253.c: not with 64 bits.
        Event::ReadAvailable(names) => names.iter().any(|name| name == "pit").then_some(32),
        Event::LostTicks(LostTicks::TooMany) => Some(32),
        // Kernels of both widths print the same words about the frequency.
        Event::LostTicks(LostTicks::Many | LostTicks::Counted(_)) | Event::HpetFallback => Some(64),
        // verify_tsc_freq() in arch/i386/kernel/tsc.c.
        Event::TscUnstable(UnstableReason::RunningSlowly) => Some(32),
        // HYPERV_TSCPAGE depends on 64 bits.
        Event::Switched(name) | Event::Registered { name, .. } | Event::ReadCurrent(name) => {
            (name == "hyperv_clocksource_tsc_page").then_some(64)
        }
        _ => None,
    }
}

/// Whether a command line is of User-mode Linux: it names its disks (`ubd_setup()` in arch/um/drivers/ubd_kern.c) and
/// its machine (`set_umid()` in arch/um/os-Linux/umid.c), in all versions.
fn is_user_modes(line: &str) -> bool {
    line.split_whitespace().any(|word| match word.split_once('=') {
        Some(("umid", _)) => true,
        Some((name, _)) => name.strip_prefix("ubd").is_some_and(|disk| {
            (1..=4).contains(&disk.len())
                && disk.starts_with(|c: char| c.is_ascii_digit() || ('a'..='p').contains(&c))
        }),
        None => false,
    })
}

/// The architecture in the release, or in the compiler's name.
fn of_banner(text: &str) -> Option<Arch> {
    const TAGS: [(&str, Arch); 37] = [
        ("aarch64", Arch::Arm64),
        ("arm64", Arch::Arm64),
        ("riscv64", Arch::Riscv),
        ("riscv32", Arch::Riscv32),
        // A compiler without the width in its name may build both.
        ("riscv-", Arch::Riscv),
        ("s390x", Arch::S390),
        ("ppc64", Arch::Powerpc),
        ("powerpc", Arch::Powerpc),
        ("loongarch32", Arch::Loongarch32),
        ("loongarch", Arch::Loongarch),
        ("x86_64", Arch::X86_64),
        ("-amd64", Arch::X86_64),
        ("i686-", Arch::X86),
        ("i586-", Arch::X86),
        ("i486-", Arch::X86),
        ("-686", Arch::X86),
        ("-586", Arch::X86),
        ("-486", Arch::X86),
        ("i386", Arch::X86),
        (".i686", Arch::X86),
        ("-pae", Arch::X86),
        ("armv7", Arch::Arm),
        ("armv6", Arch::Arm),
        ("armv5", Arch::Arm),
        ("-armmp", Arch::Arm),
        ("arm-linux-", Arch::Arm),
        ("mips", Arch::Mips),
        ("sh4-", Arch::Sh),
        ("sh2eb-", Arch::Sh),
        ("sh4eb-", Arch::Sh),
        ("sparc", Arch::Sparc),
        ("hppa", Arch::Parisc),
        ("parisc", Arch::Parisc),
        ("alpha-", Arch::Alpha),
        ("m68k", Arch::M68k),
        ("ia64", Arch::Ia64),
        ("or1k-", Arch::Openrisc),
    ];
    if ["user-mode-linux", "(um)", "-um "].iter().any(|name| text.contains(name)) {
        return Some(Arch::Um);
    }
    // The release first: a cross compiler's name may describe the build host.
    let release = text.split_whitespace().next().unwrap_or_default();
    let of = |text: &str| TAGS.iter().find(|(tag, _)| text.contains(tag)).map(|(_, arch)| *arch);
    of(release).or_else(|| {
        let compiler = &text[text
            .find("gcc")
            .or_else(|| text.find("clang"))
            .map(|at| text[..at].rfind(['(', ' ']).unwrap_or(0))?..];
        of(compiler)
    })
}

/// The architecture that a clocksource's name proves.
fn of_name(name: &str) -> Option<Arch> {
    Some(match name {
        "tsc" | "tsc-early" | "hpet" | "acpi_pm" | "kvm-clock" | "xen" => Arch::X86_64,
        _ if name.starts_with("hyperv_clocksource") => Arch::X86_64,
        "riscv_clocksource" | "clint_clocksource" => Arch::Riscv,
        "timebase" => Arch::Powerpc,
        "tod" => Arch::S390,
        "Constant" => Arch::Loongarch,
        "MIPS" | "HEART" | "HUB-RT" | "OCTEON_CVMCOUNT" | "jz_clocksource" => Arch::Mips,
        "cr16" => Arch::Parisc,
        "jcore_pit_cs" => Arch::Sh,
        "rpcc" => Arch::Alpha,
        "itc" => Arch::Ia64,
        "openrisc_timer" => Arch::Openrisc,
        "stick" | "tick" | "hbtick" | "timer_cs" => Arch::Sparc,
        "32k_counter" | "mxc_timer1" | "timer_us" | "oscr0" => Arch::Arm,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn banner(text: &str) -> Option<Arch> {
        of(&Event::Banner(text.to_owned()), None)
    }

    #[test]
    fn processors_without_long_mode_tell_32_bits_and_those_of_emulators_nothing() {
        let model = |name: &str, family, model| {
            bits(&Event::CpuModel { name: name.to_owned(), family, model })
        };
        assert_eq!(model("Intel 486 DX/4", 4, 8), Some(32));
        assert_eq!(model("Intel Pentium III (Coppermine)", 6, 8), Some(32));
        assert_eq!(model("Intel QEMU Virtual CPU version 2.5+", 6, 6), None);
        assert_eq!(model("Intel(R) Core(TM)2 CPU T7200", 6, 15), None);
        assert_eq!(model("AMD Ryzen 7 5700U", 0x17, 0x68), None);
    }

    #[test]
    fn banners_name_the_architecture_or_none() {
        assert_eq!(banner("6.1.0-56-cloud-amd64 (b@x) (gcc-12 12.2.0) #1 SMP"), Some(Arch::X86_64));
        assert_eq!(banner("5.10.0-arm64 (b@x) (gcc 12)"), Some(Arch::Arm64));
        assert_eq!(banner("3.2.0 (b@x86_64.example) (gcc version 4.6.3) #1"), None);
        assert_eq!(banner("4.19.0 (b@x) (arm-linux-gnueabihf-gcc (GCC) 8) #1"), Some(Arch::Arm));
        assert_eq!(banner("4.19.0 (b@x) (gcc version 8.3.0 (sh4-linux-gnu)) #1"), Some(Arch::Sh));
        assert_eq!(banner("4.19.0 (b@x) (mips-openwrt-linux-musl-gcc 7) #0"), Some(Arch::Mips));
        assert_eq!(banner("6.1.0 (b@x) (gcc 12) #1 SMP"), None);
        assert_eq!(banner("5.10.3-um (uml@x) (gcc 12) #1"), Some(Arch::Um));
    }

    #[test]
    fn command_lines_of_user_mode_linux_name_its_disks_or_its_machine() {
        let line = |text: &str| of(&Event::CommandLine(text.to_owned()), None);
        assert_eq!(line("con=null ubda=/dev/sdb6 rw"), Some(Arch::Um));
        assert_eq!(line("umid=node1 root=98:0"), Some(Arch::Um));
        for other in ["root=/dev/sda1 ro", "ubd=1", "ubi.mtd=4 root=ubi0", "ubd"] {
            assert_eq!(line(other), None, "{other}");
        }
    }
}
