//! The EFI variables of the firmware and the boot loader, which show the program that booted this
//! machine.
//!
//! Sources: the Boot Loader Interface of systemd (`LoaderInfo`, and `StubInfo` of systemd-stub(7)), which GRUB's module
//! `bli` writes too; the UEFI specification, `BootCurrent` and `EFI_LOAD_OPTION` with its device path.

use super::root::Root;

/// Where the kernel shows them.
const DIRECTORY: &str = "/sys/firmware/efi/efivars";
/// Longest variable that is read, in bytes.
const LIMIT: u64 = 16 << 10;
const LOADER: &str = "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";
const GLOBAL: &str = "8be4df61-93ca-11d2-aa0d-00e098032b8c";

/// The values of the variables; `None` for a missing one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Efi {
    /// `LoaderInfo`: `systemd-boot 255.4`.
    pub loader: Option<String>,
    /// `StubInfo`: `systemd-stub 255.4`, which exists if a unified kernel image was started.
    pub stub: Option<String>,
    /// The file of the entry that the firmware took (`BootCurrent`): `\EFI\debian\shimx64.efi`.
    pub file: Option<String>,
}

pub(super) fn read(root: &Root<'_>) -> Efi {
    // The first four bytes are the attributes.
    let variable = |name: &str, vendor: &str| {
        let bytes = root.read(&format!("{DIRECTORY}/{name}-{vendor}"), LIMIT)?.ok()?;
        bytes.get(4..).map(<[u8]>::to_vec)
    };
    let words = |name| variable(name, LOADER).map(|bytes| text(&bytes).0);
    let current = variable("BootCurrent", GLOBAL)
        .and_then(|bytes| Some(u16::from_le_bytes(bytes.get(..2)?.try_into().ok()?)));
    let option = current.and_then(|number| variable(&format!("Boot{number:04X}"), GLOBAL));
    Efi {
        loader: words("LoaderInfo"),
        stub: words("StubInfo"),
        file: option.and_then(|bytes| file(&bytes)),
    }
}

/// Decodes a text of UTF-16 up to its end; returns it and the bytes after it.
fn text(bytes: &[u8]) -> (String, &[u8]) {
    let units: Vec<u16> = bytes
        .chunks_exact(2)
        .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
        .take_while(|unit| *unit != 0)
        .collect();
    (String::from_utf16_lossy(&units), bytes.get(units.len() * 2 + 2..).unwrap_or_default())
}

/// The file of a load option: the nodes `File Path` (type 4, subtype 4) of its device path.
fn file(option: &[u8]) -> Option<String> {
    let (_, mut nodes) = text(option.get(6..)?);
    let mut path = String::new();
    while let Some([kind, subtype, low, high]) = nodes.first_chunk::<4>() {
        let length = usize::from(u16::from_le_bytes([*low, *high]));
        if *kind == 0x7f || length < 4 {
            break;
        }
        if (*kind, *subtype) == (4, 4) {
            path.push_str(&text(nodes.get(4..length)?).0);
        }
        nodes = nodes.get(length..)?;
    }
    (!path.is_empty()).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;

    fn utf16(text: &str) -> Vec<u8> {
        text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
    }

    /// A load option with a node for the disk before that of the file.
    fn option(path: &str) -> Vec<u8> {
        let path = utf16(path);
        let mut bytes = vec![1, 0, 0, 0, 0, 0];
        bytes.extend(utf16("a name"));
        bytes.extend([4, 1, 6, 0, 9, 9]);
        bytes.extend([4, 4]);
        bytes.extend(u16::try_from(path.len() + 4).unwrap().to_le_bytes());
        bytes.extend(path);
        bytes.extend([0x7f, 0xff, 4, 0]);
        bytes
    }

    #[test]
    fn variables_of_a_machine_say_what_booted_it() {
        let dir = tempfile::tempdir().unwrap();
        let vars = dir.path().join("sys/firmware/efi/efivars");
        fs::create_dir_all(&vars).unwrap();
        let write = |name: &str, vendor: &str, value: Vec<u8>| {
            fs::write(vars.join(format!("{name}-{vendor}")), [vec![6, 0, 0, 0], value].concat())
                .unwrap();
        };
        assert_eq!(read(&Root(dir.path())), Efi::default());
        write("LoaderInfo", LOADER, utf16("systemd-boot 255.4"));
        write("BootCurrent", GLOBAL, vec![0x0a, 0]);
        write("Boot000A", GLOBAL, option("\\EFI\\systemd\\systemd-bootx64.efi"));
        let efi = read(&Root(dir.path()));
        assert_eq!(efi.loader.as_deref(), Some("systemd-boot 255.4"));
        assert_eq!(efi.file.as_deref(), Some("\\EFI\\systemd\\systemd-bootx64.efi"));
        assert_eq!(efi.stub, None);
    }

    proptest! {
        #[test]
        fn any_option_ends(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = file(&bytes);
        }
    }
}
