//! The processors of MIPS machines.

/// Whether a processor has release 2 of the architecture or a later one; `None` if its identification does not show it.
///
/// Source: `arch/mips/include/asm/cpu.h` (`PRID_COMP_*`, `PRID_IMP_*`) and `cpu_probe_legacy()` and `cpu_probe_mips()` in
/// `arch/mips/kernel/cpu-probe.c`. The kernel reads the release from a configuration register that no message shows.
/// MIPS's own processors from the 4KEc's second release on have it, as their manuals say. The processors without a
/// company in their identification are older than the numbered releases (MIPS I to IV), except for those of Loongson.
pub(crate) fn has_release_2(prid: u32) -> Option<bool> {
    const LOONGSON: [u32; 4] = [0x42, 0x61, 0x63, 0xc0];
    let (company, processor) = (prid >> 16 & 0xff, prid >> 8 & 0xff);
    match company {
        0x00 => (!LOONGSON.contains(&processor)).then_some(false),
        // 4KEc and 4KEmp of release 2, 4KSd, 24K, 34K, 24KE, 74K, 1004K, 1074K, M14K, M14KE; then interAptiv, proAptiv,
        // P6600, M5150, P5600, I6400, M6250 and I6500.
        0x01 => {
            let older = 0x90..=0x9e;
            let newer = 0xa0..=0xb0;
            (older.contains(&processor) || newer.contains(&processor)).then_some(true)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::has_release_2;

    #[test]
    fn only_known_processors_decide() {
        // MIPS 24Kc, 24KEc, 34Kc, 74Kc, 1004Kc, I6500, 4KEc of release 2.
        for prid in [
            0x0001_9374,
            0x0001_9655,
            0x0001_9558,
            0x0001_9750,
            0x0001_992f,
            0x0001_b031,
            0x0001_9064,
        ] {
            assert_eq!(has_release_2(prid), Some(true), "{prid:#x}");
        }
        // R14000, R12000, R4400.
        for prid in [0x0f24, 0x0e23, 0x0460] {
            assert_eq!(has_release_2(prid), Some(false), "{prid:#x}");
        }
        // Loongson 2 and 3A, 4KEc, Broadcom, Ingenic, Octeon.
        for prid in [0x6303, 0x6305, 0x4220, 0x0001_8448, 0x0002_9007, 0x00d0_0101, 0x000d_9602] {
            assert_eq!(has_release_2(prid), None, "{prid:#x}");
        }
    }
}
