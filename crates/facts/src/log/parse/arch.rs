//! Messages that only the kernel of one architecture prints.

use super::super::event::Event;
use super::find;
use crate::Arch;

/// The words without which no message of this module exists.
pub(super) const KEYWORDS: &[&str] = &[
    "BIOS-e820",
    "(ARMv",
    "AArch64 Processor",
    "All CPU(s) started",
    "MIPS",
    " revision is: ",
    "Loongson",
    "ptrace can change",
    "mconsole (version",
    " topology {",
    "due to broken RDHWR",
    "Linux is running ",
    " instruction cache",
    " using machine vector ",
    "PDC firmware type",
];

/// The architecture that a message proves.
///
/// Sources: `smp_setup_processor_id()` in `arch/arm/kernel/setup.c` and `arch/arm64/kernel/setup.c`;
/// `setup_processor()` in `arch/arm/kernel/setup.c`; `cpu_probe()` in `arch/mips`; `setup_arch()` in
/// `arch/s390` and `arch/sh`; `os_early_checks()` in `arch/um/os-Linux`; `e820__print_table()` in
/// `arch/x86`. Each of these is a keyword of the search, and so costs time in every log: other
/// architectures are recognised by the names of their clocksources.
pub(super) fn parse(m: &str) -> Option<Event> {
    let arch = match *m.as_bytes().first()? {
        b'B' if m.starts_with("BIOS-e820: ") => Arch::X86_64,
        b'B' => booting(m)?,
        b'C' if is_arm(m) => return Some(Event::ArmProcessor { midr: midr(m) }),
        // hyp_mode_check() in arch/arm/kernel/setup.c and arch/arm64/kernel/smp.c.
        b'C' if m.starts_with("CPU: All CPU(s) started in ") => Arch::Arm,
        b'C' if m.starts_with("CPU: All CPU(s) started at EL") => Arch::Arm64,
        b'C' if m.starts_with("CPU: AArch64 Processor") => Arch::Arm64,
        // cacheid_init() in arch/arm/kernel/setup.c.
        b'C' if m.starts_with("CPU: ")
            && m.contains(" data cache, ")
            && m.trim_end().ends_with(" instruction cache") =>
        {
            Arch::Arm
        }
        // setup_pdc() in arch/parisc/kernel/inventory.c.
        b'D' if m.starts_with("Determining PDC firmware type: ") => Arch::Parisc,
        b'C' | b'K' | b'm' | b'U' if is_user_mode(m) => Arch::Um,
        b'C' if m.starts_with("CPU0 revision is: ") || m.starts_with("CPU revision is: ") => {
            return revision(m);
        }
        b'S' | b'3' | b'6' if m.contains("-bit Loongson Processor probed") => loongson(m)?,
        b'M' if m.starts_with("MIPS: machine is ") => Arch::Mips,
        // rdhwr_count_usable() in arch/mips/kernel/csrc-r4k.c, 4.4 and later.
        b'N' if m.starts_with("Not using R4K clocksource in VDSO") => {
            return Some(Event::MipsCounterBroken);
        }
        b'V' if m.contains(" topology {") => return mips_topology(m),
        _ => return s390(m),
    };
    Some(Event::Arch(arch))
}

/// Messages of User-mode Linux: `os_early_checks()` in arch/um/os-Linux/start_up.c, `mconsole_init()` in
/// arch/um/drivers/mconsole_kern.c (all versions); its disks and its machine's name on the command line are its own parameters.
fn is_user_mode(m: &str) -> bool {
    m.starts_with("Checking that ptrace can change system call numbers")
        || m.starts_with("mconsole (version ") && m.contains(" initialized on ")
}

/// `VP topology {4,4,4,4},{4,4,4,4} total 32`, on older processors `VPE topology {2,2} total 4`: clusters in braces, in each the
/// processors of its cores (`cps_smp_setup()` in arch/mips/kernel/smp-cps.c, 3.15 and later; clusters since 4.14).
fn mips_topology(m: &str) -> Option<Event> {
    let list = m.strip_prefix("VP topology ").or_else(|| m.strip_prefix("VPE topology "))?;
    let (list, total) = list.split_once(" total ")?;
    total.trim().parse::<u32>().ok()?;
    let mut clusters = 0;
    let mut first = 0;
    for cluster in list.split("},") {
        let cores = cluster.strip_prefix('{')?.trim_end_matches('}');
        let sum = cores
            .split(',')
            .try_fold(0_u32, |sum, core| sum.checked_add(core.trim().parse::<u32>().ok()?))?;
        if clusters == 0 {
            first = sum;
        }
        clusters += 1;
    }
    (first > 0).then_some(Event::MipsTopology { clusters, first })
}

/// `CPU0 revision is: 00d00101 (Ingenic Xburst)`, `CPU revision is: 00019558 ((null))`: `cpu_report()` in
/// arch/mips/kernel/cpu-probe.c and in arch/loongarch/kernel/cpu-probe.c, of no other architecture.
fn revision(m: &str) -> Option<Event> {
    let (_, rest) = m.split_once(" is: ")?;
    let (id, name) = rest.split_at_checked(8)?;
    if let Some(arch) = loongson(m) {
        return Some(Event::Arch(arch));
    }
    let is_id = id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_whole = is_id && name.starts_with(" (") && name.trim_end().ends_with(')');
    let prid = u32::from_str_radix(id, 16).ok()?;
    is_whole.then_some(Event::MipsProcessor { prid })
}

/// `CPU0 revision is: 0014c011 (Loongson-64bit)`, `Standard 32-bit Loongson Processor probed`.
fn loongson(m: &str) -> Option<Arch> {
    if m.contains("(Loongson-32bit") || m.contains("32-bit Loongson") {
        return Some(Arch::Loongarch32);
    }
    (m.contains("(Loongson-64bit") || m.contains("64-bit Loongson")).then_some(Arch::Loongarch)
}

/// `CPU: Feroceon 88FR131 [56251311] revision 1 (ARMv5TE), cr=00053977`: `setup_processor()` in
/// `arch/arm/kernel/setup.c`, whatever the processor is called.
fn is_arm(m: &str) -> bool {
    m.starts_with("CPU: ") && find(m, "] revision ").is_some_and(|at| m[at..].contains(" (ARMv"))
}

/// The main ID register in such a line: `[410fd034]`.
fn midr(m: &str) -> Option<u32> {
    let (_, rest) = m.split_once('[')?;
    u32::from_str_radix(rest.split_once(']')?.0, 16).ok()
}

/// `Booting Linux on physical CPU 0x0000000000 [0x410fd034]` is 64-bit Arm; `0x0` is 32-bit Arm, or an
/// older kernel on 64-bit Arm.
fn booting(m: &str) -> Option<Arch> {
    if m.starts_with("Booting machvec: ") {
        return Some(Arch::Sh);
    }
    // setup_arch() in arch/alpha/kernel/setup.c: `Booting on NAME using machine vector NAME from SRM`.
    if m.contains(" using machine vector ") && m.contains("on ") {
        return Some(Arch::Alpha);
    }
    if m.starts_with("Boot CPU: AArch64 Processor") {
        return Some(Arch::Arm64);
    }
    let id = m.strip_prefix("Booting Linux on physical CPU ")?.strip_prefix("0x")?;
    let digits = id.bytes().take_while(u8::is_ascii_hexdigit).count();
    (digits == 10).then_some(Arch::Arm64)
}

/// `setup.289988: Linux is running under KVM in 64-bit mode`.
fn s390(m: &str) -> Option<Event> {
    let at = find(m, "Linux is running ")?;
    let head = m[..at].trim_end();
    let own = head.is_empty() || head.starts_with("setup") && head.ends_with(':');
    (own && m.contains(" in 64-bit mode")).then_some(Event::Arch(Arch::S390))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boards_without_a_known_clocksource_show_their_architecture() {
        for (line, arch) in [
            ("CPU: PIPT / VIPT nonaliasing data cache, VIPT aliasing instruction cache", Arch::Arm),
            ("CPU: VIVT data cache, VIVT instruction cache", Arch::Arm),
            (
                "Booting on Marvel variation Marvel/EV7 using machine vector MARVEL/EV7 from SRM",
                Arch::Alpha,
            ),
            (
                "Booting GENERIC on Tsunami variation Webbrick using machine vector Webbrick from SRM",
                Arch::Alpha,
            ),
            ("Determining PDC firmware type: 64 bit PAT.", Arch::Parisc),
        ] {
            assert_eq!(parse(line), Some(Event::Arch(arch)), "{line}");
        }
        for other in [
            "CPU: a data cache, an instruction cache is full",
            "Booting Linux using machine vector x",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    #[test]
    fn revision_of_a_processor_is_of_mips_or_of_loongarch() {
        for name in ["Ingenic Xburst", "Cavium Octeon+", "R12000", "(null)", "ICT Loongson-3"] {
            for head in ["CPU0", "CPU"] {
                let line = format!("{head} revision is: 00d00101 ({name})");
                let expected = Event::MipsProcessor { prid: 0x00d0_0101 };
                assert_eq!(parse(&line), Some(expected), "{line}");
            }
        }
        let line = "CPU0 revision is: 0014c011 (Loongson-64bit)";
        assert_eq!(parse(line), Some(Event::Arch(Arch::Loongarch)));
        for other in [
            "CPU0 revision is: unknown (x)",
            "CPU0 revision is: 00d0",
            "CPU0 revision is: 00d00101 (Lo",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}
