//! ACPI tables: HPET, and the PM timer and idle flags of the FADT.
//!
//! Lengths are verified, checksums are not (the kernel uses these tables whatever their checksum is).

use serde::Serialize;

/// The content of the ACPI HPET table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HpetTable {
    /// Physical base address, where known.
    pub base: Option<u64>,
    /// Counter frequency in Hz, where the kernel printed it.
    pub hz: Option<u64>,
}

/// The ACPI PM timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PmTimer {
    /// I/O port.
    pub port: u64,
    /// Whether the FADT declares a 32-bit counter (Linux uses 24 bits either way); `None` if only
    /// a log line was seen.
    pub bits32: Option<bool>,
}

/// The clock fields of the FADT (`FACP`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Fadt {
    /// The PM timer as Linux finds it; `None` if Linux finds none.
    pub pm_timer: Option<PmTimer>,
    /// Low-power S0 idle capable (flag bit 21).
    pub low_power_idle: bool,
    /// Hardware-reduced ACPI (flag bit 20).
    pub hardware_reduced: bool,
}

/// Length of the header that all tables share.
const HEADER: usize = 36;
/// Address space numbers of a generic address.
const MEMORY: u8 = 0;
const SYSTEM_IO: u8 = 1;
/// The FADT revision that has the 64-bit X fields (ACPI 2.0).
const REVISION_WITH_X_FIELDS: u8 = 3;

impl HpetTable {
    /// Parses the binary table `HPET`.
    ///
    /// # Errors
    /// Returns an error if this is another table, or is shorter than its header states or than an HPET table is.
    pub fn parse(table: &[u8]) -> Result<Self, String> {
        let table = checked(table, b"HPET", 56)?;
        // The kernel ignores a table whose address is not in memory: acpi_parse_hpet().
        let space = table[40];
        let base = u64_at(table, 44).filter(|base| space == MEMORY && *base != 0);
        Ok(Self { base, hz: None })
    }
}

impl Fadt {
    /// Parses the binary table `FACP`, any revision.
    ///
    /// # Errors
    /// Returns an error if this is another table, or is shorter than its header states or than the table of ACPI 1.0.
    pub fn parse(table: &[u8]) -> Result<Self, String> {
        let table = checked(table, b"FACP", 116)?;
        let flags = u32_at(table, 112).unwrap_or(0);
        let hardware_reduced = flags & (1 << 20) != 0;
        let legacy = u32_at(table, 76).map_or(0, u64::from);
        let port = if table[8] >= REVISION_WITH_X_FIELDS {
            // Source: acpi_parse_fadt() in arch/x86/kernel/acpi/boot.c. It reads ACPICA's copy of
            // the table, where an empty X field has been filled from the old one, except on
            // hardware-reduced platforms.
            let space = table.get(208).copied().unwrap_or(MEMORY);
            match u64_at(table, 212).unwrap_or(0) {
                0 if !hardware_reduced || space == SYSTEM_IO => legacy,
                0 => 0,
                port if space == SYSTEM_IO => port,
                _ => 0,
            }
        } else {
            legacy
        };
        let bits32 = Some(flags & (1 << 8) != 0);
        Ok(Self {
            pm_timer: (port != 0).then_some(PmTimer { port, bits32 }),
            low_power_idle: flags & (1 << 21) != 0,
            hardware_reduced,
        })
    }
}

/// The part of the bytes that the header's length covers, if it is that table and long enough.
fn checked<'a>(table: &'a [u8], signature: &[u8; 4], least: usize) -> Result<&'a [u8], String> {
    if table.len() < HEADER {
        return Err(format!("{} bytes are too short for an ACPI table", table.len()));
    }
    if !table.starts_with(signature) {
        let found = String::from_utf8_lossy(&table[..4]).escape_debug().to_string();
        return Err(format!("the table is {found:?}"));
    }
    let length = u32_at(table, 4).and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
    if length < least {
        return Err(format!("the table says that it has {length} bytes, fewer than {least}"));
    }
    table
        .get(..length)
        .ok_or_else(|| format!("only {} of the table's {length} bytes are present", table.len()))
}

fn u32_at(table: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(table.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(table: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(table.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn table(signature: &[u8; 4], length: usize, revision: u8) -> Vec<u8> {
        let mut table = vec![0; length];
        table[..4].copy_from_slice(signature);
        table[4..8].copy_from_slice(&u32::try_from(length).unwrap().to_le_bytes());
        table[8] = revision;
        table
    }

    fn fadt(length: usize, revision: u8, legacy: u32, x: (u8, u64), flags: u32) -> Vec<u8> {
        let mut table = table(b"FACP", length, revision);
        table[76..80].copy_from_slice(&legacy.to_le_bytes());
        table[112..116].copy_from_slice(&flags.to_le_bytes());
        if length >= 220 {
            table[208] = x.0;
            table[212..220].copy_from_slice(&x.1.to_le_bytes());
        }
        table
    }

    fn port(table: &[u8]) -> Option<u64> {
        Fadt::parse(table).unwrap().pm_timer.map(|timer| timer.port)
    }

    #[test]
    fn hpet() {
        let mut hpet = table(b"HPET", 56, 1);
        hpet[44..52].copy_from_slice(&0xfed0_0000u64.to_le_bytes());
        assert_eq!(HpetTable::parse(&hpet).unwrap().base, Some(0xfed0_0000));
        hpet[40] = SYSTEM_IO;
        assert_eq!(HpetTable::parse(&hpet).unwrap().base, None);
        assert!(HpetTable::parse(&hpet[..55]).is_err());
        assert!(HpetTable::parse(&table(b"FACP", 56, 1)).is_err());
    }

    #[test]
    fn pm_timer_as_linux_finds_it() {
        const REDUCED: u32 = 1 << 20;
        assert_eq!(port(&fadt(116, 1, 0x608, (0, 0), 0)), Some(0x608));
        assert_eq!(port(&fadt(116, 1, 0, (0, 0), 0)), None);
        // The X field wins from revision 3 on, and only there.
        assert_eq!(port(&fadt(244, 3, 0x608, (SYSTEM_IO, 0x1808), 0)), Some(0x1808));
        assert_eq!(port(&fadt(244, 1, 0x608, (SYSTEM_IO, 0x1808), 0)), Some(0x608));
        // An empty X field is filled from the old one; Linux cannot use a memory address.
        assert_eq!(port(&fadt(244, 3, 0x608, (0, 0), 0)), Some(0x608));
        assert_eq!(port(&fadt(244, 3, 0x608, (MEMORY, 0xfed0), 0)), None);
        // Hardware-reduced: no filling, but an X field is used.
        assert_eq!(port(&fadt(276, 6, 0x608, (0, 0), REDUCED)), None);
        assert_eq!(port(&fadt(276, 6, 0, (SYSTEM_IO, 0x608), REDUCED)), Some(0x608));
    }

    #[test]
    fn fadt_flags() {
        let fadt = Fadt::parse(&fadt(244, 5, 1, (0, 0), 1 << 8 | 1 << 21)).unwrap();
        assert!(fadt.low_power_idle && !fadt.hardware_reduced);
        assert_eq!(fadt.pm_timer.unwrap().bits32, Some(true));
    }

    #[test]
    fn lengths_are_verified() {
        assert!(Fadt::parse(&table(b"FACP", 115, 1)).is_err());
        assert!(Fadt::parse(b"FACP").is_err());
        let mut long = table(b"FACP", 244, 3);
        long[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(Fadt::parse(&long).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes(length in 0usize..300, said in any::<u32>(), fill in any::<u8>(), revision in any::<u8>()) {
            for signature in [b"FACP", b"HPET"] {
                let mut bytes = vec![fill; length];
                for (slot, byte) in bytes.iter_mut().zip(*signature) { *slot = byte; }
                if length > 8 {
                    bytes[4..8].copy_from_slice(&(said % 320).to_le_bytes());
                    bytes[8] = revision;
                }
                let _ = Fadt::parse(&bytes);
                let _ = HpetTable::parse(&bytes);
            }
        }
    }
}
