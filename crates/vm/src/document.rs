//! A file to check.

use crate::formats::Kind;
use crate::guest::{Guest, Known};
use crate::other;
use crate::shell;
use crate::text::Text;
use std::io::Read;
use thiserror::Error;

/// The limit of a file's size, in bytes: the machines of a cluster in one manifest.
pub const MAX_BYTES: usize = 4 << 20;
/// The limit of the size of a file with one machine, in bytes. Configurations have a few kilobytes; the places and
/// findings of each word take a hundred times its length in memory, in manifests a quarter of that.
pub const MAX_BYTES_OF_ONE: usize = 1 << 20;

const fn most(kind: Kind) -> usize {
    if matches!(kind, Kind::Kubevirt) { MAX_BYTES } else { MAX_BYTES_OF_ONE }
}

/// A file: its name (usually only the extension is informative), its text, its kind.
#[derive(Clone, Debug)]
pub struct Document {
    /// The name, as given.
    pub name: String,
    /// The text.
    pub text: Text,
    /// The kind of the file.
    pub kind: Kind,
    /// The guest's system, if the caller specified it.
    pub guest: Option<Guest>,
    /// For Proxmox VE, the custom processor models of its node: `cpu-models.conf`.
    pub models: Option<String>,
}

/// The reason why bytes are not accepted as a file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DocumentError {
    /// The file is empty.
    #[error("it is empty")]
    Empty,
    /// The file is larger than its kind may be.
    #[error(
        "it has more than {} MiB. A configuration of a virtual machine has a few kilobytes; if it \
         contains many of them, give each one in a separate file",
        most >> 20
    )]
    TooLarge {
        /// The limit, in bytes.
        most: usize,
    },
    /// The file is not text.
    #[error("{0}")]
    Binary(String),
    /// The file has more statements of a shell than are read.
    #[error(
        "line {line}: it has more than {} commands up to here, and no more are read; give those \
         that start machines in a separate file",
        shell::MOST_STATEMENTS
    )]
    Crowded {
        /// The line of the first one that is not read.
        line: u32,
    },
    /// The file is of a program for virtual machines, and configures no machine's clock.
    #[error("{what}")]
    NoMachine {
        /// What the file is.
        what: String,
    },
    /// The file is text of no known kind.
    #[error(
        "no kind of configuration was recognised in it; specify it with --kind ({})",
        Kind::names()
    )]
    UnknownKind,
}

impl Document {
    /// Creates a document: decodes its bytes, and recognises its kind.
    ///
    /// # Errors
    /// Returns an error if the file is empty, too large, not text, or of no known kind.
    pub fn new(name: &str, bytes: &[u8]) -> Result<Self, DocumentError> {
        let text = read(bytes)?;
        let Some(kind) = Kind::detect(name, text.as_str()) else {
            uncrowded(&text)?;
            let what = other::what(name, text.as_str());
            return Err(
                what.map_or(DocumentError::UnknownKind, |what| DocumentError::NoMachine { what })
            );
        };
        if kind.format().limits.script {
            uncrowded(&text)?;
        }
        if !is_archive(bytes) {
            fits(bytes, most(kind))?;
        }
        Ok(Self { name: name.to_owned(), text, kind, guest: None, models: None })
    }

    /// Creates a document whose kind the caller specifies.
    ///
    /// # Errors
    /// Returns an error if the file is empty, too large, or not text.
    pub fn of_kind(name: &str, bytes: &[u8], kind: Kind) -> Result<Self, DocumentError> {
        fits(bytes, most(kind))?;
        let text = read(bytes)?;
        if kind.format().limits.script {
            uncrowded(&text)?;
        }
        Ok(Self { name: name.to_owned(), text, kind, guest: None, models: None })
    }

    /// Returns the same file with the guest's system that the caller specifies.
    #[must_use]
    pub fn with_guest(&self, guest: Option<Guest>) -> Self {
        Self { guest, ..self.clone() }
    }

    /// Returns the guest's system. In order of precedence: the file's declaration, the caller's
    /// choice, settings that indicate a system but that other systems may also have, and names.
    pub(crate) fn system<'a>(
        &self,
        declared: Option<Guest>,
        hinted: Option<Guest>,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Known {
        match self.settled(declared) {
            Some(guest) => Known::declared(guest),
            None => Known::of(hinted, names),
        }
    }

    /// Returns the guest's system that a file declares, or that the caller specified.
    pub(crate) fn settled(&self, declared: Option<Guest>) -> Option<Guest> {
        declared.filter(|guest| *guest != Guest::Unknown).or(self.guest)
    }

    /// Returns the same file with another text.
    #[must_use]
    pub(crate) fn with_text(&self, text: String) -> Self {
        Self {
            name: self.name.clone(),
            text: self.text.changed(text),
            kind: self.kind,
            guest: self.guest,
            models: self.models.clone(),
        }
    }
}

fn fits(bytes: &[u8], most: usize) -> Result<(), DocumentError> {
    if bytes.len() > most { Err(DocumentError::TooLarge { most }) } else { Ok(()) }
}

/// Refuses a script that would not be read completely.
fn uncrowded(text: &Text) -> Result<(), DocumentError> {
    let script = !text.as_str().trim_start().starts_with(['<', '{', '[']);
    match script.then(|| shell::crowded(text.as_str())).flatten() {
        Some(at) => Err(DocumentError::Crowded { line: text.place(at).line }),
        None => Ok(()),
    }
}

/// The limit of archive members that are read; the OVF is the first one.
const MOST_MEMBERS: usize = 16;

/// Whether bytes begin as an archive (tar) does.
#[must_use]
pub fn is_archive(bytes: &[u8]) -> bool {
    bytes.get(257..262) == Some(b"ustar")
}

/// Returns the OVF in an OVA; only the beginning of the OVA is needed.
fn of_archive(bytes: &[u8]) -> Result<Vec<u8>, DocumentError> {
    let none = || {
        DocumentError::Binary("it is an archive (tar) that does not begin with an OVF".to_owned())
    };
    let mut archive = tar::Archive::new(bytes);
    for member in archive.entries().map_err(|_| none())?.take(MOST_MEMBERS) {
        let member = member.map_err(|_| none())?;
        let size = usize::try_from(member.size()).unwrap_or(usize::MAX);
        let ovf = member
            .path()
            .is_ok_and(|path| path.extension().is_some_and(|end| end.eq_ignore_ascii_case("ovf")));
        if !ovf {
            continue;
        }
        if size > MAX_BYTES_OF_ONE {
            return Err(DocumentError::TooLarge { most: MAX_BYTES_OF_ONE });
        }
        let mut text = Vec::new();
        member.take(MAX_BYTES_OF_ONE as u64).read_to_end(&mut text).map_err(|_| none())?;
        return if text.len() == size { Ok(text) } else { Err(none()) };
    }
    Err(none())
}

fn read(bytes: &[u8]) -> Result<Text, DocumentError> {
    fits(bytes, MAX_BYTES)?;
    if is_archive(bytes) {
        return read(&of_archive(bytes)?);
    }
    let text = Text::decode(bytes).map_err(DocumentError::Binary)?;
    if text.as_str().trim().is_empty() {
        return Err(DocumentError::Empty);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const VMX: &str = ".encoding = \"UTF-8\"\nvirtualHW.version = \"19\"\nguestOS = \"other\"\n";

    #[test]
    fn what_is_no_configuration_is_said() {
        let error = |bytes: &[u8]| Document::new("x", bytes).unwrap_err().to_string();
        assert_eq!(error(b""), "it is empty");
        assert_eq!(error(b" \n\t"), "it is empty");
        assert!(error(b"QFI\xfb\0\0\0\x03").contains("disk image"), "{}", error(b"QFI\xfb\0"));
        assert!(error(b"a\0b\x01\x02").contains("byte 1"));
        assert!(error(&vec![b' '; MAX_BYTES + 1]).contains("4 MiB"));
        let mut long = VMX.as_bytes().to_vec();
        long.resize(MAX_BYTES_OF_ONE + 1, b'\n');
        assert!(error(&long).contains("1 MiB"));
        let list = b"apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nspec: {}\n";
        let mut long = list.to_vec();
        long.resize(MAX_BYTES, b'\n');
        assert!(Document::new("x.yaml", &long).is_ok());
        let unknown = error(b"Dear Sir or Madam,\n");
        assert!(unknown.contains("--kind") && unknown.contains("cloud-hypervisor"), "{unknown}");
    }

    #[test]
    fn script_of_more_commands_than_are_read_is_refused_with_its_line() {
        let machine = "qemu-system-x86_64 -cpu host\n";
        let crowd = shell::MOST_STATEMENTS;
        for (more, refused) in [
            ("a;".repeat(crowd - 9), false),
            ("a\n".repeat(crowd + 9), true),
            (format!("\n\nx {}", "$(".repeat(crowd + 9)), true),
        ] {
            let text = format!("{machine}{more}");
            for document in [
                Document::new("x.sh", text.as_bytes()),
                Document::of_kind("x", text.as_bytes(), Kind::Qemu),
            ] {
                assert_eq!(document.is_err(), refused);
                let line = document.err().map(|error| error.to_string());
                assert!(line.is_none_or(|error| error.starts_with("line ")));
            }
        }
    }

    #[test]
    fn every_encoding_comes_back_as_it_was() {
        let mut utf8 = b"\xef\xbb\xbf".to_vec();
        utf8.extend(VMX.as_bytes());
        let mut utf16 = vec![0xff, 0xfe];
        utf16.extend(VMX.encode_utf16().flat_map(u16::to_le_bytes));
        let mut big = vec![0xfe, 0xff];
        big.extend(VMX.encode_utf16().flat_map(u16::to_be_bytes));
        let mut gbk = VMX.as_bytes().to_vec();
        gbk.extend(b"displayName = \"\xce\xd2\xb5\xc4\"\n");
        for bytes in [utf8, utf16, big, gbk] {
            let document = Document::new("x.vmx", &bytes).unwrap();
            assert_eq!(document.kind, Kind::Vmware);
            assert!(document.text.as_str().starts_with(".encoding"));
            assert_eq!(document.text.encode(document.text.as_str()), bytes);
        }
    }
}
