//! Names of clocksources that any kernel since 2.6.32 registers.

/// A clocksource by name.
#[derive(Clone, Copy, Debug)]
pub struct Name {
    /// The name in sysfs.
    pub name: &'static str,
    /// Usual rating.
    pub rating: i32,
    /// Whether x86 kernels register it.
    pub x86: bool,
    /// A description in one sentence.
    pub about: &'static str,
}

const fn x86(name: &'static str, rating: i32, about: &'static str) -> Name {
    Name { name, rating, x86: true, about }
}

const fn other(name: &'static str, rating: i32, about: &'static str) -> Name {
    Name { name, rating, x86: false, about }
}

/// The clocksources that Linux registers, 2.6.32 to 7.1.
pub const NAMES: &[Name] = &[
    x86(
        "tsc",
        300,
        "the CPU's time stamp counter: read without leaving user space, about 10 to 25 ns",
    ),
    x86(
        "tsc-early",
        299,
        "the TSC before its frequency is refined: used in the first second of a boot (4.16+)",
    ),
    x86(
        "hpet",
        250,
        "the High Precision Event Timer: a memory-mapped read, about 0.5 us on hardware and more in a virtual machine; a system call since 4.7",
    ),
    x86(
        "acpi_pm",
        200,
        "the ACPI power management timer, 3.58 MHz and 24 bits: a port read, about 1 us on hardware and much more in a virtual machine; always a system call",
    ),
    x86(
        "kvm-clock",
        400,
        "KVM's paravirtual clock: a TSC read scaled by a page that the host publishes; fast while the host itself runs on its TSC",
    ),
    x86(
        "xen",
        400,
        "Xen's paravirtual clock; a system call before 4.15, and on hosts without a stable TSC",
    ),
    x86(
        "hyperv_clocksource_tsc_page",
        250,
        "Hyper-V's reference TSC page: a scaled TSC read through the vDSO (4.12+); healthy",
    ),
    x86(
        "hyperv_clocksource_msr",
        245,
        "Hyper-V's reference counter MSR: one exit to the hypervisor for every read",
    ),
    x86(
        "hyperv_clocksource",
        400,
        "Hyper-V's reference counter MSR under its old name (3.2 to 4.10)",
    ),
    x86(
        "refined-jiffies",
        2,
        "the timer tick with a refined length: no counter at all; the last resort",
    ),
    other("jiffies", 1, "the timer tick: resolution of 1 to 10 ms; the last resort"),
    x86("pit", 110, "the i8253 timer of 32-bit machines with one CPU"),
    x86("sgi_rtc", 299, "the node clock of SGI/HPE UV machines"),
    x86("numachip2", 295, "the clock of Numascale systems"),
    x86("cyclone", 250, "the clock of IBM Summit chipsets (until 3.14)"),
    x86("scx200_hrt", 250, "the timer of Geode SCx200 chips"),
    x86("lguest", 200, "the clock of lguest guests (until 4.13)"),
    x86("vmi-timer", 450, "VMware's VMI clock (until 2.6.36)"),
    x86("apbt", 300, "the APB timer of Intel Moorestown (2.6.34 to 2.6.39)"),
    x86("wdtest-jiffies", 1, "a test module's clocksource"),
    x86("wdtest-ktime", 10, "a test module's clocksource"),
    other(
        "arch_sys_counter",
        400,
        "Arm's architected counter: read by the vDSO unless an erratum workaround traps it",
    ),
    other("arm_global_timer", 300, "the Cortex-A9 global timer"),
    other("riscv_clocksource", 400, "RISC-V's time counter"),
    other("clint_clocksource", 300, "RISC-V's CLINT counter (machine mode)"),
    other("tod", 400, "the time-of-day clock of IBM Z"),
    other("timebase", 400, "the time base register of POWER"),
    other("rtc", 400, "the real-time clock register of PowerPC 601"),
    other("Constant", 400, "LoongArch's stable counter"),
    other("stable counter", 380, "Loongson's stable counter in the maker's kernels"),
    other("MIPS", 300, "the MIPS R4K counter"),
    other("GIC", 300, "the counter of the MIPS global interrupt controller"),
    other("timer", 300, "User-mode Linux's clock"),
    other("itc", 350, "Itanium's interval time counter"),
    other("openrisc_timer", 200, "OpenRISC's tick timer"),
    other("cr16", 300, "PA-RISC's control register 16"),
    other("stick", 100, "SPARC's system tick"),
    other("tick", 100, "SPARC's tick register"),
    other("mct-frc", 450, "Exynos multi-core timer"),
    other("dmtimer", 300, "OMAP dual-mode timer"),
    other("32k_counter", 250, "OMAP 32 kHz counter"),
    other("timer16", 300, "an SoC timer"),
    other("mxs_timer", 200, "Freescale MXS timer"),
    other("mxc_timer1", 200, "i.MX general purpose timer"),
    other("timer_us", 300, "Tegra's microsecond timer"),
    other("dg_timer", 300, "Qualcomm's debug timer"),
    other("gp_timer", 200, "Qualcomm's general purpose timer"),
    other("samsung_clocksource_timer", 250, "Samsung PWM timer"),
    other("sun4i", 350, "Allwinner timer"),
    other("stc", 300, "BCM2835 system timer"),
];

/// Clocksources of single boards, of processors that Linux no longer supports, and of test modules: names
/// without a description.
const RARE: &[&str] = &[
    "ARC Timer1",
    "ARCv2 RTC",
    "ARConnect GFRC",
    "HEART",
    "META",
    "OCTEON_CVMCOUNT",
    "aw 64bits couter",
    "bcm1250-counter-3",
    "ccount",
    "csky",
    "dbx500-prcmu-timer",
    "dec-ioasic",
    "hbtick",
    "jcore_pit_cs",
    "jz_clocksource",
    "lpc3220 clocksource",
    "powertv-counter",
    "powertv-tim_c",
    "qemu",
    "rda-timer",
    "rpcc",
    "rtk_timer0_counter",
    "rtk_timer1_counter",
    "sirfsoc_clocksource",
    "sn2_rtc",
    "sprd_suspend_timer",
    "tango-xtal",
    "tcb_clksrc",
    "tegra_suspend_timer",
    "timer_cs",
    "vt8500_timer",
    "zbbus-cycles",
];

/// Whether a kernel since 2.6.32 registers a clocksource of this name on some machine. Boards also
/// name theirs in their device trees (`timer@f0001000`): those are not in any list.
#[must_use]
pub fn is_known(name: &str) -> bool {
    find(name).is_some() || RARE.contains(&name)
}

/// Whether a name is the beginning of a longer one that some kernel has.
#[must_use]
pub(crate) fn begins_another(name: &str) -> bool {
    let longer = |known: &str| known.len() > name.len() && known.starts_with(name);
    NAMES.iter().any(|known| longer(known.name)) || RARE.iter().any(|known| longer(known))
}

/// Whether a word has the form of a name that a board's device tree or driver gives a clocksource: `timer@f0001000`,
/// `timer0`, `c3tsc`. A word without a digit may be anything.
#[must_use]
pub fn may_be_of_a_board(word: &str) -> bool {
    is_bare_word(word) && word.bytes().any(|b| b.is_ascii_digit())
}

/// Whether a name is that of a timer in a device tree with the address of its registers: `timer@f0001000`. Such a timer is
/// mapped into memory, where no vDSO reads it; the counters that a vDSO reads have names of their own.
#[must_use]
pub fn is_memory_mapped_timer(name: &str) -> bool {
    name.strip_prefix("timer@").is_some_and(|address| {
        (4..=16).contains(&address.len()) && address.bytes().all(|b| b.is_ascii_hexdigit())
    })
}

/// Whether a text has the form of a name that a driver takes from the property `compatible` in a device tree:
/// `arm,sp804` (`sp804_of_init()`), with nothing after it that would make it a sentence.
#[must_use]
pub(crate) fn is_compatible(text: &str) -> bool {
    let part = |part: &str| {
        (2..=31).contains(&part.len())
            && part.starts_with(|c: char| c.is_ascii_lowercase())
            && part.ends_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
            && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    text.split_once(',').is_some_and(|(vendor, device)| part(vendor) && part(device))
}

/// Whether a word in a list of clocksources may be the name of one: known, or from a board's device tree or driver,
/// even with the address of its timer (`fff10600.timer`, `10050000.timer`). A number or a date is not a name.
#[must_use]
pub(crate) fn may_be_listed(word: &str) -> bool {
    let of_an_address = || {
        word.split_once('.').is_some_and(|(address, name)| {
            (4..=16).contains(&address.len())
                && address.bytes().all(|b| b.is_ascii_hexdigit())
                && name.len() <= 24
                && name.starts_with(|c: char| c.is_ascii_lowercase())
                && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        })
    };
    is_known(word) || may_be_of_a_board(word) || of_an_address()
}

/// Whether a word, printed where a kernel prints the name of a clocksource, is a name, and not a word of a shell or a
/// sentence.
#[must_use]
pub(crate) fn is_bare_word(word: &str) -> bool {
    const SHELL: [&str; 8] = ["fi", "done", "then", "else", "esac", "exit", "do", "return"];
    (3..=40).contains(&word.len())
        && word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.ends_with(|c: char| c.is_ascii_alphanumeric())
        && word.bytes().all(|b| {
            b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-' | b'.' | b'@')
        })
        && !SHELL.contains(&word)
}

/// Looks a name up.
#[must_use]
pub fn find(name: &str) -> Option<&'static Name> {
    NAMES.iter().find(|n| n.name == name)
}

/// Clocksources that have no vDSO mode on any kernel in use, so that a read is a system call and
/// then a slow device access.
#[must_use]
pub fn is_slow_by_nature(name: &str) -> bool {
    matches!(
        name,
        "hpet"
            | "acpi_pm"
            | "pit"
            | "jiffies"
            | "refined-jiffies"
            | "hyperv_clocksource_msr"
            | "hyperv_clocksource"
            | "sgi_rtc"
            | "numachip2"
            | "cyclone"
            | "scx200_hrt"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_dates_are_not_names_of_a_list() {
        for word in [
            "4",
            "4:tsc",
            "12|",
            "2026-09-14T10:11:04.123456789Z",
            "10:11:04",
            "2026-09-14",
            "1.5",
            "0100.5",
        ] {
            assert!(!may_be_listed(word), "{word}");
        }
        for word in ["tsc", "timer@f0001000", "timer0", "10050000.timer", "c3tsc", "sun4i"] {
            assert!(may_be_listed(word), "{word}");
        }
    }
}
