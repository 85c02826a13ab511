//! The files that the kernel and the loader of dynamic programs load for a program's file: the loader itself
//! (`PT_INTERP`), libraries that are named by a path (`DT_NEEDED`), and the directories that the file sets (`DT_RPATH`,
//! `DT_RUNPATH`), which are searched before those of the system. Source: ld.so(8), elf(5). Pure, except for reading the
//! file.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The files that a file loads, as its headers name them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Loaded {
    /// The loader, by its path.
    pub(super) loader: Option<String>,
    /// Directories that are searched first.
    pub(super) directories: Vec<String>,
    /// Libraries, by their names or paths.
    pub(super) libraries: Vec<String>,
}

/// The limits of a file's parts, of entries in its dynamic section, and of a name's bytes that are read.
const PARTS: u64 = 128;
const ENTRIES: u64 = 4096;
const NAME: usize = 4096;
/// Kinds of parts (`PT_`).
const LOAD: u32 = 1;
const DYNAMIC: u32 = 2;
const INTERPRETER: u32 = 3;
/// Kinds of entries (`DT_`).
const NEEDED: u64 = 1;
const NAMES: u64 = 5;
const RPATH: u64 = 15;
const RUNPATH: u64 = 29;
/// Libraries that intercept calls of others (`DT_AUXILIARY`, `DT_FILTER`, `DT_AUDIT`,
/// `DT_DEPAUDIT`): also loaded.
const OTHERS: [u64; 4] = [0x7fff_fffd, 0x7fff_ffff, 0x6fff_fefc, 0x6fff_fefb];

struct Part {
    kind: u32,
    offset: u64,
    address: u64,
    size: u64,
}

/// Reads a file for this kind of machine (64 bits, little-endian); returns nothing for any other. `own` is its
/// directory.
///
/// # Errors
/// Returns the reason if a directory or a library cannot be determined with certainty.
pub(super) fn loaded(file: &File, own: &Path) -> Result<Loaded, String> {
    let mut found = Loaded::default();
    let Some(parts) = parts(file) else { return Ok(found) };
    found.loader = parts
        .iter()
        .find(|part| part.kind == INTERPRETER)
        .and_then(|part| name(file, part.offset, part.size));
    let Some(dynamic) = parts.iter().find(|part| part.kind == DYNAMIC) else { return Ok(found) };
    let entries: Vec<(u64, u64)> = (0..(dynamic.size / 16).min(ENTRIES))
        .map_while(|index| {
            let mut entry = [0; 16];
            file.read_exact_at(&mut entry, dynamic.offset.checked_add(index * 16)?).ok()?;
            Some((word(&entry, 0)?, word(&entry, 8)?))
        })
        .take_while(|(kind, _)| *kind != 0)
        .collect();
    let Some(names) = entries.iter().find(|(kind, _)| *kind == NAMES).map(|(_, at)| *at) else {
        return Ok(found);
    };
    // By its address in memory.
    let names = parts.iter().find_map(|part| {
        let inside = part.kind == LOAD && names >= part.address;
        let at = names.checked_sub(part.address).filter(|at| inside && *at < part.size)?;
        part.offset.checked_add(at)
    });
    let unreadable = || "a name in its dynamic section cannot be read".to_owned();
    for (kind, at) in entries {
        let library = kind == NEEDED || OTHERS.contains(&kind);
        if !library && ![RPATH, RUNPATH].contains(&kind) {
            continue;
        }
        let at = names.and_then(|names| names.checked_add(at)).ok_or_else(unreadable)?;
        let text = name(file, at, NAME as u64).ok_or_else(unreadable)?;
        if library {
            found.libraries.push(expanded(&text, own)?);
        } else {
            for directory in text.split(':') {
                // An empty one is the working directory, which is `/`.
                found.directories.push(expanded(directory, own)?);
            }
        }
    }
    Ok(found)
}

/// Returns the text with the file's directory in place of `$ORIGIN`; other variables depend on this processor and
/// loader, and are refused.
fn expanded(text: &str, own: &Path) -> Result<String, String> {
    let own = own.to_string_lossy();
    let text = text.replace("${ORIGIN}", &own).replace("$ORIGIN", &own);
    if text.contains('$') {
        return Err(format!("`{text}` in its dynamic section is not understood"));
    }
    Ok(text)
}

fn parts(file: &File) -> Option<Vec<Part>> {
    let mut head = [0; 64];
    file.read_exact_at(&mut head, 0).ok()?;
    if !head.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let half = |at: usize| Some(u64::from(u16::from_le_bytes(*head.get(at..)?.first_chunk()?)));
    let (parts, size, many) = (word(&head, 32)?, half(54)?, half(56)?);
    let read = |index: u64| {
        let mut part = [0; 56];
        file.read_exact_at(&mut part, parts.checked_add(index * size)?).ok()?;
        Some(Part {
            kind: u32::from_le_bytes(*part.first_chunk()?),
            offset: word(&part, 8)?,
            address: word(&part, 16)?,
            size: word(&part, 32)?,
        })
    };
    Some((0..many.min(PARTS)).map_while(read).collect())
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The name at a place of a file.
fn name(file: &File, at: u64, longest: u64) -> Option<String> {
    let mut name = vec![0; usize::try_from(longest).ok()?.min(NAME)];
    let length = file.read_at(&mut name, at).ok()?;
    let name = name.get(..length)?;
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    Some(String::from_utf8_lossy(name.get(..end)?).into_owned())
}

/// Returns a file with a dynamic section of these entries, whose values are names.
#[cfg(test)]
pub(super) fn made(entries: &[(u64, &str)]) -> Vec<u8> {
    let (mut names, mut section) = (vec![0], Vec::new());
    let number = |value: u64| value.to_le_bytes();
    for (kind, text) in entries {
        section.extend([number(*kind), number(names.len() as u64)].concat());
        names.extend([text.as_bytes(), b"\0"].concat());
    }
    let at = 64 + 2 * 56;
    section.extend([number(NAMES), number(0x1000 + at), number(0), number(0)].concat());
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(32, 0);
    file.extend(number(64));
    file.resize(54, 0);
    file.extend([56, 0, 2, 0]);
    file.resize(64, 0);
    let whole = at + (names.len() + section.len()) as u64;
    let dynamic = at + names.len() as u64;
    for (kind, offset, size) in [(1, 0, whole), (2, dynamic, section.len() as u64)] {
        file.extend(number(kind));
        let address = 0x1000 + offset;
        file.extend([offset, address, address, size, size, 8].map(number).concat());
    }
    [file, names, section].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8]) -> Result<Loaded, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        loaded(&File::open(file.path()).unwrap(), Path::new("/own"))
    }

    #[test]
    fn loaded_is_what_the_dynamic_section_says() {
        let text = made(&[(1, "libc.so.6"), (15, "$ORIGIN/x:/y"), (29, "${ORIGIN}"), (1, "/z.so")]);
        let found = of(&text).unwrap();
        assert_eq!(found.directories, ["/own/x", "/y", "/own"]);
        assert_eq!(found.libraries, ["libc.so.6", "/z.so"]);
        assert!(of(&made(&[(29, "/x/$LIB")])).unwrap_err().contains("`/x/$LIB`"));
        assert_eq!(of(b"text").unwrap(), Loaded::default());
        for cut in 0..text.len() {
            let _ = of(&text[..cut]);
        }
    }

    #[test]
    fn loaded_of_this_test_has_a_loader() {
        let own = File::open("/proc/self/exe").unwrap();
        let found = loaded(&own, Path::new("/")).unwrap();
        assert!(found.loader.is_none_or(|loader| loader.contains("/ld-")));
    }
}
