//! Compressed text: the detection of the compression, and a reader of the content.

use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::StreamingDecoder;
use ruzstd::decoding::errors::FrameDecoderError;
use std::io::{self, BufRead, BufReader, Cursor, Read};

/// Memory that an xz decoder may take, in KiB (`xz -9` needs 65 MiB).
const XZ_MEMORY_KIB: u32 = 128 * 1024;

/// Size of a log beyond which it is refused, in bytes.
pub const LOG_LIMIT: u64 = 16 << 30;
/// Maximum decompressed size of a log, in bytes: a few seconds of reading. A small file can state any size.
pub const UNPACKED_LIMIT: u64 = 4 << 30;

/// A compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// gzip.
    Gzip,
    /// xz.
    Xz,
    /// Zstandard.
    Zstd,
    /// None of these.
    Plain,
}

impl Compression {
    /// From the first bytes.
    #[must_use]
    pub fn sniff(start: &[u8]) -> Self {
        if start.starts_with(&[0x1f, 0x8b]) {
            Self::Gzip
        } else if start.starts_with(&[0xfd, b'7', b'z', b'X', b'Z', 0]) {
            Self::Xz
        } else if start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd])
            // A skippable frame (pzstd begins with one).
            || (start.len() >= 4 && (0x50..=0x5f).contains(&start[0]) && start[1..4] == [0x2a, 0x4d, 0x18])
        {
            Self::Zstd
        } else {
            Self::Plain
        }
    }
}

/// A reader of the decompressed content, whatever the compression, that fails beyond
/// [`UNPACKED_LIMIT`] bytes, and beyond [`LOG_LIMIT`] if nothing is compressed.
///
/// # Errors
/// Returns the error of the first read.
pub fn open_log<'a>(reader: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let (compression, decoded) = decoded(reader)?;
    let plain = compression == Compression::Plain;
    Ok(Box::new(Capped::new(decoded, if plain { LOG_LIMIT } else { UNPACKED_LIMIT })))
}

/// The compression of a stream, and its decompressed content without any limit.
pub(crate) fn decoded<'a>(reader: impl Read + 'a) -> io::Result<(Compression, Box<dyn Read + 'a>)> {
    decoded_dyn(Box::new(reader))
}

/// Not generic, so that the decoders are compiled here and not in the crate that calls, which may be less optimised.
fn decoded_dyn<'a>(
    mut reader: Box<dyn Read + 'a>,
) -> io::Result<(Compression, Box<dyn Read + 'a>)> {
    let mut start = [0u8; 6];
    let mut got = 0;
    while got < start.len() {
        match reader.read(&mut start[got..]) {
            Ok(0) => break,
            Ok(count) => got += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let compression = Compression::sniff(&start[..got]);
    let whole =
        BufReader::with_capacity(64 * 1024, Cursor::new(start).take(got as u64).chain(reader));
    let decoded: Box<dyn Read + 'a> = match compression {
        Compression::Gzip => Box::new(MultiGzDecoder::new(whole)),
        Compression::Xz => Box::new(XzReader::new_mem_limit(whole, true, XZ_MEMORY_KIB)),
        Compression::Zstd => Box::new(MultiZstd::Between(whole)),
        Compression::Plain => Box::new(whole),
    };
    Ok((compression, decoded))
}

/// All frames of a Zstandard stream (the decoder itself ends after the first one).
enum MultiZstd<R: BufRead> {
    Between(R),
    Inside(Box<StreamingDecoder<R, ruzstd::decoding::FrameDecoder>>),
    Done,
}

impl<R: BufRead> MultiZstd<R> {
    /// The decoder of the next frame, if there is one; skippable frames are skipped.
    fn next_frame(mut reader: R) -> io::Result<Self> {
        loop {
            let start = reader.fill_buf()?;
            if start.is_empty() {
                return Ok(Self::Done);
            }
            if !(0x50..=0x5f).contains(&start[0]) {
                let decoder = StreamingDecoder::new(reader).map_err(|error| match error {
                    FrameDecoderError::WindowSizeTooBig { .. } => {
                        damaged("Zstandard data that takes too much memory to unpack")
                    }
                    _ => damaged("no Zstandard frame where one should begin"),
                })?;
                return Ok(Self::Inside(Box::new(decoder)));
            }
            let mut header = [0u8; 8];
            reader.read_exact(&mut header)?;
            let length = u32::from_le_bytes([header[4], header[5], header[6], header[7]]);
            io::copy(&mut reader.by_ref().take(u64::from(length)), &mut io::sink())?;
        }
    }
}

impl<R: BufRead> Read for MultiZstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            match std::mem::replace(self, Self::Done) {
                Self::Done => return Ok(0),
                Self::Between(reader) => *self = Self::next_frame(reader)?,
                Self::Inside(mut decoder) => match decoder
                    .read(buffer)
                    .map_err(|_| damaged("Zstandard data that is damaged or cut off"))?
                {
                    0 => {
                        let frame = &decoder.decoder;
                        let sum = frame.get_checksum_from_data();
                        // The decoder compares nothing.
                        if sum.is_some() && sum != frame.get_calculated_checksum() {
                            return Err(damaged("Zstandard data whose checksum is wrong"));
                        }
                        *self = Self::Between(decoder.into_inner());
                    }
                    count => {
                        *self = Self::Inside(decoder);
                        return Ok(count);
                    }
                },
            }
        }
    }
}

fn damaged(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// A reader that fails as soon as more than `limit` bytes come out of it.
pub(crate) struct Capped<R> {
    inner: R,
    limit: u64,
    left: u64,
}

/// The error inside the `io::Error` of a [`Capped`] reader.
#[derive(Debug, thiserror::Error)]
#[error("it decompresses to more than {0} bytes")]
pub(crate) struct TooLong(pub(crate) u64);

impl<R: Read> Capped<R> {
    pub(crate) fn new(inner: R, limit: u64) -> Self {
        Self { inner, limit, left: limit }
    }
}

impl<R: Read> Read for Capped<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.left = self
            .left
            .checked_sub(count as u64)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, TooLong(self.limit)))?;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    pub(crate) fn gzip(content: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(content: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(content, ruzstd::encoding::CompressionLevel::Fastest)
    }

    fn text(reader: impl Read) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        open_log(reader)?.read_to_end(&mut content)?;
        Ok(content)
    }

    /// `printf 'hello\n' | xz`.
    const XZ: [u8; 64] = [
        0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x04, 0xe6, 0xd6, 0xb4, 0x46, 0x02, 0x00, 0x21,
        0x01, 0x16, 0x00, 0x00, 0x00, 0x74, 0x2f, 0xe5, 0xa3, 0x01, 0x00, 0x05, 0x68, 0x65, 0x6c,
        0x6c, 0x6f, 0x0a, 0x00, 0x00, 0x00, 0xa5, 0x60, 0x97, 0xf1, 0x94, 0xf6, 0xfd, 0xe0, 0x00,
        0x01, 0x1e, 0x06, 0xc1, 0x2f, 0xa4, 0x1d, 0x1f, 0xb6, 0xf3, 0x7d, 0x01, 0x00, 0x00, 0x00,
        0x00, 0x04, 0x59, 0x5a,
    ];

    #[test]
    fn every_compression_is_recognised_and_members_follow_each_other() {
        assert_eq!(text(&b"hello\n"[..]).unwrap(), b"hello\n");
        assert_eq!(text(&b""[..]).unwrap(), b"");
        assert_eq!(text(&XZ[..]).unwrap(), b"hello\n");
        let twice = [gzip(b"hello "), gzip(b"world")].concat();
        assert_eq!(text(&twice[..]).unwrap(), b"hello world");
        let skippable =
            [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 9, 9, 9][..], &zstd(b"hello ")].concat();
        let twice = [skippable, zstd(b"world")].concat();
        assert_eq!(text(&twice[..]).unwrap(), b"hello world");
    }

    #[test]
    fn damage_is_an_error() {
        assert!(text(&gzip(b"hello world, hello world")[..20]).is_err());
        assert!(text(&XZ[..40]).is_err());
        let zstd = zstd(&[7; 1000]);
        assert!(text(&zstd[..zstd.len() - 3]).is_err());
    }

    /// `yes | head -100 | zstd`; its last four bytes are the checksum.
    const ZSTD: [u8; 22] = [
        0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58, 0x4d, 0x00, 0x00, 0x10, 0x79, 0x0a, 0x01, 0x00, 0xc3,
        0x28, 0x87, 0x05, 0xa7, 0x4f, 0x0a, 0xd4,
    ];

    #[test]
    fn wrong_checksum_of_zstd_is_an_error() {
        let whole = text(&ZSTD[..]).unwrap();
        assert_eq!(whole.len(), 200);
        for at in [10, 20] {
            let mut changed = ZSTD;
            changed[at] ^= 1;
            let error = text(&changed[..]).unwrap_err().to_string();
            assert!(error.contains("checksum is wrong"), "{at}: {error}");
        }
        let garbage = [&ZSTD[..], b"garbage"].concat();
        assert!(text(&garbage[..]).unwrap_err().to_string().contains("no Zstandard frame where"));
    }

    #[test]
    fn a_cap_is_exact() {
        let mut content = Vec::new();
        assert!(Capped::new(&b"12345"[..], 5).read_to_end(&mut content).is_ok());
        let error = Capped::new(&b"12345"[..], 4).read_to_end(&mut content).unwrap_err();
        assert!(error.get_ref().unwrap().is::<TooLong>());
    }

    proptest! {
        #[test]
        fn any_bytes_end_in_bytes_or_an_error(
            magic in 0usize..4, bytes in proptest::collection::vec(any::<u8>(), 0..400)
        ) {
            let magic: &[u8] = [&[0x1f, 0x8b][..], &XZ[..12], &[0x28, 0xb5, 0x2f, 0xfd], &[]][magic];
            let _ = text(&[magic, &bytes].concat()[..]);
        }

        #[test]
        fn damaged_streams_end_in_bytes_or_an_error(
            kind in 0usize..3, seed in any::<u64>(), at in 0usize..400, value in any::<u8>()
        ) {
            let content: Vec<u8> = (0..300u64).map(|i| (seed.wrapping_mul(i * i) >> 60) as u8).collect();
            let mut stream = [gzip(&content), zstd(&content), XZ.to_vec()][kind].clone();
            let at = at % stream.len();
            stream[at] = value;
            let _ = text(&stream[..]);
        }

        #[test]
        fn content_survives(content in proptest::collection::vec(any::<u8>(), 0..2000)) {
            prop_assert_eq!(text(&gzip(&content)[..]).unwrap(), content.clone());
            prop_assert_eq!(text(&zstd(&content)[..]).unwrap(), content);
        }
    }
}
