//! Partition tables, written by hand: a dozen fields, and no tool and no loop device needed.

use flate2::Crc;
use std::io::{self, Seek, SeekFrom, Write};

/// Bytes in a sector.
pub const SECTOR: u64 = 512;

/// Where the first partition starts, in sectors: one MiB, as everywhere.
pub const FIRST: u64 = 2048;

/// The GUID partition table's own sectors at the end of the disk, rounded up to one MiB.
const TAIL: u64 = 2048;

/// Sectors of the header and of the entries of a GUID partition table.
const ENTRY_SECTORS: u64 = 32;
const ENTRIES: u32 = 128;
const ENTRY_BYTES: u32 = 128;

/// A run of sectors.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Extent {
    /// The first sector.
    pub start: u64,
    /// How many.
    pub count: u64,
}

/// The purpose of a partition.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// The firmware's.
    EfiSystem,
    /// A Linux file system.
    Linux,
}

impl Kind {
    /// The type's GUID in the mixed byte order of the table.
    fn guid(self) -> [u8; 16] {
        match self {
            // c12a7328-f81f-11d2-ba4b-00a0c93ec93b
            Kind::EfiSystem => [
                0x28, 0x73, 0x2a, 0xc1, 0x1f, 0xf8, 0xd2, 0x11, 0xba, 0x4b, 0x00, 0xa0, 0xc9, 0x3e,
                0xc9, 0x3b,
            ],
            // 0fc63daf-8483-4772-8e79-3d69d8477de4
            Kind::Linux => [
                0xaf, 0x3d, 0xc6, 0x0f, 0x83, 0x84, 0x72, 0x47, 0x8e, 0x79, 0x3d, 0x69, 0xd8, 0x47,
                0x7d, 0xe4,
            ],
        }
    }
}

/// The one partition of a disk with a DOS table.
pub fn whole(disk_sectors: u64) -> Extent {
    Extent { start: FIRST, count: disk_sectors.saturating_sub(FIRST) }
}

/// A system partition of `system_sectors` and the root one after it, on a disk with a GUID table.
pub fn system_and_root(disk_sectors: u64, system_sectors: u64) -> [Extent; 2] {
    let root = FIRST + system_sectors;
    [
        Extent { start: FIRST, count: system_sectors },
        Extent { start: root, count: disk_sectors.saturating_sub(root + TAIL) },
    ]
}

/// Writes a DOS table with one bootable Linux partition.
pub fn write_dos(disk: &mut (impl Write + Seek), extent: Extent) -> io::Result<()> {
    disk.seek(SeekFrom::Start(0))?;
    disk.write_all(&dos_sector(0x80, 0x83, extent))
}

/// Writes a GUID table, its copy at the end, and the DOS table that protects it.
pub fn write_guid(
    disk: &mut (impl Write + Seek),
    disk_sectors: u64,
    partitions: &[(Kind, Extent)],
) -> io::Result<()> {
    let rest = Extent { start: 1, count: disk_sectors - 1 };
    let mut entries = vec![0; (ENTRIES * ENTRY_BYTES) as usize];
    for ((kind, extent), (number, entry)) in
        partitions.iter().zip(entries.chunks_exact_mut(ENTRY_BYTES as usize).enumerate())
    {
        entry[..16].copy_from_slice(&kind.guid());
        entry[16..32].copy_from_slice(&own_guid(number as u8 + 1));
        entry[32..40].copy_from_slice(&extent.start.to_le_bytes());
        entry[40..48].copy_from_slice(&(extent.start + extent.count - 1).to_le_bytes());
    }
    let last = disk_sectors - 1;
    let header = |at: u64, other: u64, table: u64| guid_header(at, other, table, last, &entries);
    disk.seek(SeekFrom::Start(0))?;
    disk.write_all(&dos_sector(0, 0xee, rest))?;
    disk.write_all(&header(1, last, 2))?;
    disk.write_all(&entries)?;
    disk.seek(SeekFrom::Start((last - ENTRY_SECTORS) * SECTOR))?;
    disk.write_all(&entries)?;
    disk.write_all(&header(last, 1, last - ENTRY_SECTORS))
}

/// Identities only have to differ within one disk, and an image is the same whenever it is built.
fn own_guid(number: u8) -> [u8; 16] {
    let mut guid = *b"clocksmith disk\0";
    // Version 4 and variant 1, as random ones have.
    (guid[7], guid[8], guid[15]) = (0x40 | (guid[7] & 0x0f), 0x80 | (guid[8] & 0x3f), number);
    guid
}

fn guid_header(at: u64, other: u64, table: u64, last: u64, entries: &[u8]) -> Vec<u8> {
    const BYTES: usize = 92;
    let mut header = Vec::with_capacity(SECTOR as usize);
    header.extend(b"EFI PART");
    header.extend(0x0001_0000u32.to_le_bytes());
    header.extend((BYTES as u32).to_le_bytes());
    // Room for the header's own checksum, and a reserved field.
    header.extend([0; 8]);
    header.extend(at.to_le_bytes());
    header.extend(other.to_le_bytes());
    header.extend((2 + ENTRY_SECTORS).to_le_bytes());
    header.extend((last - ENTRY_SECTORS - 1).to_le_bytes());
    header.extend(own_guid(0));
    header.extend(table.to_le_bytes());
    header.extend(ENTRIES.to_le_bytes());
    header.extend(ENTRY_BYTES.to_le_bytes());
    header.extend(checksum(entries).to_le_bytes());
    let sum = checksum(&header);
    header[16..20].copy_from_slice(&sum.to_le_bytes());
    header.resize(SECTOR as usize, 0);
    header
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

fn dos_sector(flag: u8, kind: u8, extent: Extent) -> [u8; SECTOR as usize] {
    // Cylinders, heads and sectors are obsolete; this value means "see the sector numbers".
    const FAR: [u8; 3] = [0xfe, 0xff, 0xff];
    let number = |value: u64| u32::try_from(value).unwrap_or(u32::MAX).to_le_bytes();
    let mut sector = [0; SECTOR as usize];
    sector[440..444].copy_from_slice(b"clck");
    let entry = &mut sector[446..462];
    entry[0] = flag;
    entry[1..4].copy_from_slice(&FAR);
    entry[4] = kind;
    entry[5..8].copy_from_slice(&FAR);
    entry[8..12].copy_from_slice(&number(extent.start));
    entry[12..16].copy_from_slice(&number(extent.count));
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    sector
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    const DISK: u64 = 16384;

    #[test]
    fn a_dos_table_has_one_bootable_partition() {
        let mut disk = Cursor::new(vec![0; (DISK * SECTOR) as usize]);
        write_dos(&mut disk, whole(DISK)).unwrap();
        let disk = disk.into_inner();
        assert_eq!((disk[446], disk[450], &disk[510..512]), (0x80, 0x83, &[0x55, 0xaa][..]));
        assert_eq!(disk[454..458], 2048u32.to_le_bytes());
        assert_eq!(disk[458..462], 14336u32.to_le_bytes());
    }

    #[test]
    fn both_copies_of_a_guid_table_carry_right_checksums() {
        let mut disk = Cursor::new(vec![0; (DISK * SECTOR) as usize]);
        let [system, root] = system_and_root(DISK, 4096);
        assert_eq!((system.start, root.start), (2048, 6144));
        assert!(root.start + root.count < DISK - ENTRY_SECTORS);
        write_guid(&mut disk, DISK, &[(Kind::EfiSystem, system), (Kind::Linux, root)]).unwrap();
        let disk = disk.into_inner();
        for (at, other) in [(1, DISK - 1), (DISK - 1, 1)] {
            let mut header = disk[(at * SECTOR) as usize..][..92].to_vec();
            let number =
                |from: usize| u64::from_le_bytes(header[from..from + 8].try_into().unwrap());
            assert_eq!((number(24), number(32)), (at, other));
            let entries = &disk[(number(72) * SECTOR) as usize..][..(ENTRIES * 128) as usize];
            assert_eq!(header[88..92], checksum(entries).to_le_bytes());
            let sum: [u8; 4] = header[16..20].try_into().unwrap();
            header[16..20].fill(0);
            assert_eq!(sum, checksum(&header).to_le_bytes());
            assert_eq!(entries[128 + 32..128 + 40], root.start.to_le_bytes());
        }
    }
}
