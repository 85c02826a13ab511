//! Unpacking a compressed x86 kernel image (`bzImage`).
//!
//! QEMU can boot the uncompressed kernel through its PVH entry point. Under software emulation
//! decompression is more than half of a boot, so it is done once, here.

use std::io::Read;

/// An image that cannot be unpacked. Booting it packed still works.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// No `HdrS` at its place.
    #[error("not an x86 kernel image: the boot protocol's magic number is missing")]
    NotBzImage,
    /// The header points outside the file.
    #[error("the image's header places {length} bytes of payload at {offset}, beyond its end")]
    Truncated {
        /// Where the payload should start.
        offset: usize,
        /// How long it should be.
        length: usize,
    },
    /// A compression the testbed has no decoder for.
    #[error(
        "the payload is compressed in a way the testbed does not know (it starts {magic:02x?})"
    )]
    UnknownCompression {
        /// The payload's first bytes.
        magic: Vec<u8>,
    },
    /// The decoder gave up.
    #[error("decompressing the payload failed: {0}")]
    Decompress(String),
    /// Something came out, but no kernel.
    #[error("the payload decompresses to something that is not an ELF file")]
    NotElf,
}

/// Whether the bytes are an x86 kernel image of the packed kind.
pub fn is_bzimage(image: &[u8]) -> bool {
    image.get(0x202..0x206) == Some(b"HdrS")
}

/// The ELF kernel inside a packed image.
pub fn unpack(image: &[u8]) -> Result<Vec<u8>, ImageError> {
    if !is_bzimage(image) {
        return Err(ImageError::NotBzImage);
    }
    // Fields of the boot protocol's header: setup_sects, payload_offset, payload_length. A setup
    // of zero sectors means four, and the boot sector comes on top.
    let setup_sectors = match image[0x1f1] {
        0 => 4,
        sectors => usize::from(sectors),
    };
    let (offset, length) = (field(image, 0x248), field(image, 0x24c));
    let start = (setup_sectors + 1) * 512 + offset;
    let payload = start
        .checked_add(length)
        .and_then(|end| image.get(start..end))
        .ok_or(ImageError::Truncated { offset: start, length })?;
    let kernel = decompress(payload)?;
    if kernel.starts_with(b"\x7fELF") { Ok(kernel) } else { Err(ImageError::NotElf) }
}

fn field(image: &[u8], at: usize) -> usize {
    image
        .get(at..at + 4)
        .and_then(|bytes| bytes.try_into().ok())
        .map_or(0, |bytes| u32::from_le_bytes(bytes) as usize)
}

fn decompress(payload: &[u8]) -> Result<Vec<u8>, ImageError> {
    let failed = |error: &dyn std::fmt::Display| ImageError::Decompress(error.to_string());
    let mut kernel = Vec::new();
    match payload {
        [0x1f, 0x8b, ..] => {
            flate2::read::GzDecoder::new(payload)
                .read_to_end(&mut kernel)
                .map_err(|error| failed(&error))?;
        }
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => {
            lzma_rust2::XzReader::new(payload, false)
                .read_to_end(&mut kernel)
                .map_err(|error| failed(&error))?;
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            ruzstd::decoding::StreamingDecoder::new(payload)
                .map_err(|error| failed(&error))?
                .read_to_end(&mut kernel)
                .map_err(|error| failed(&error))?;
        }
        [0x02, 0x21, 0x4c, 0x18, blocks @ ..] => kernel = unpack_lz4(blocks)?,
        other => {
            let magic = other.iter().take(6).copied().collect();
            return Err(ImageError::UnknownCompression { magic });
        }
    }
    Ok(kernel)
}

/// Unpacks the old form of LZ4 that kernels use: blocks, each after its compressed size, all but the last 8 MiB when
/// unpacked. The kernel's build appends the unpacked size to the last block.
fn unpack_lz4(mut rest: &[u8]) -> Result<Vec<u8>, ImageError> {
    const BLOCK: usize = 8 << 20;
    let mut kernel = Vec::new();
    while rest.len() > 4 {
        let size = field(rest, 0);
        let Some(block) = rest.get(4..4 + size) else {
            return Err(ImageError::Decompress("an LZ4 block reaches beyond the end".into()));
        };
        let block = lz4_flex::block::decompress(block, BLOCK)
            .map_err(|error| ImageError::Decompress(error.to_string()))?;
        kernel.extend(block);
        rest = &rest[4 + size..];
    }
    Ok(kernel)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn bzimage(payload: &[u8], length: usize) -> Vec<u8> {
        let mut image = vec![0; 512 * 2 + 16];
        image[0x1f1] = 1;
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x248..0x24c].copy_from_slice(&16u32.to_le_bytes());
        image[0x24c..0x250].copy_from_slice(&(length as u32).to_le_bytes());
        image.extend(payload);
        image
    }

    #[test]
    fn unpacks_what_the_header_points_at() {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(b"\x7fELF and so on").unwrap();
        let gz = gz.finish().unwrap();
        assert_eq!(unpack(&bzimage(&gz, gz.len())).unwrap(), b"\x7fELF and so on");
    }

    #[test]
    fn unpacks_the_old_form_of_lz4() {
        let mut payload = vec![0x02, 0x21, 0x4c, 0x18];
        for part in [&b"\x7fELF"[..], b" in two blocks"] {
            let block = lz4_flex::block::compress(part);
            payload.extend((block.len() as u32).to_le_bytes());
            payload.extend(block);
        }
        payload.extend(18u32.to_le_bytes());
        assert_eq!(unpack(&bzimage(&payload, payload.len())).unwrap(), b"\x7fELF in two blocks");
        payload[4] = 0xff;
        assert!(unpack(&bzimage(&payload, payload.len())).is_err());
    }

    #[test]
    fn refuses_what_it_cannot_unpack() {
        assert!(matches!(unpack(b"MZ"), Err(ImageError::NotBzImage)));
        assert!(matches!(unpack(&bzimage(b"", 9)), Err(ImageError::Truncated { .. })));
        assert!(matches!(
            unpack(&bzimage(b"????????", 8)),
            Err(ImageError::UnknownCompression { .. })
        ));
        assert!(matches!(unpack(&bzimage(&[0x1f, 0x8b, 0, 0], 4)), Err(ImageError::Decompress(_))));
    }
}
