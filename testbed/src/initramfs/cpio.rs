//! Writes the `newc` form of cpio archives, which a kernel unpacks at boot.

/// An archive under construction. A directory must be added before its content.
#[derive(Default)]
pub struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const CHARACTER_DEVICE: u32 = 0o020_000;

impl Archive {
    /// An empty archive.
    pub fn new() -> Archive {
        Archive::default()
    }

    /// Adds a directory.
    pub fn directory(&mut self, path: &str) {
        self.entry(path, DIRECTORY | 0o755, &[], (0, 0));
    }

    /// Adds a file.
    pub fn file(&mut self, path: &str, permissions: u32, content: &[u8]) {
        self.entry(path, REGULAR | permissions, content, (0, 0));
    }

    /// Adds a character device.
    pub fn character_device(&mut self, path: &str, permissions: u32, major: u32, minor: u32) {
        self.entry(path, CHARACTER_DEVICE | permissions, &[], (major, minor));
    }

    /// The finished archive.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[], (0, 0));
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, content: &[u8], device: (u32, u32)) {
        self.entries += 1;
        let links = 1;
        let fields: [u32; 13] = [
            self.entries,
            mode,
            0, // owner
            0, // group
            links,
            0, // modification time: none, so that equal contents give equal archives
            content.len() as u32,
            0, // device the archive was made on
            0,
            device.0,
            device.1,
            path.len() as u32 + 1,
            0, // checksum, unused in this form
        ];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08X}").as_bytes());
        }
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_starts_at_a_multiple_of_four() {
        let mut archive = Archive::new();
        archive.directory("bin");
        archive.file("bin/a", 0o755, b"12345");
        archive.character_device("console", 0o600, 5, 1);
        let bytes = archive.finish();
        assert_eq!(bytes.len() % 4, 0);
        let starts: Vec<usize> =
            (0..bytes.len() - 6).filter(|&at| &bytes[at..at + 6] == b"070701").collect();
        assert_eq!(starts.len(), 4);
        assert!(starts.iter().all(|at| at % 4 == 0));
        assert_eq!(&bytes[starts[1] + 110..starts[1] + 116], b"bin/a\0");
        assert_eq!(&bytes[starts[1] + 116..starts[1] + 121], b"12345");
    }

    #[test]
    fn the_header_says_mode_size_and_name_length() {
        let mut archive = Archive::new();
        archive.file("ab", 0o644, b"xyz");
        let text = String::from_utf8(archive.finish()[..110].to_vec()).unwrap();
        assert_eq!(&text[14..22], "000081A4");
        assert_eq!(&text[54..62], "00000003");
        assert_eq!(&text[94..102], "00000003");
    }
}
