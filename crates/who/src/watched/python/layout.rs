//! Offsets in the objects of each version of CPython, in bytes. Pure.
//!
//! Until 3.12 they are those of the version's headers; since 3.13 the interpreter states its own (`_Py_DebugOffsets`),
//! which are also valid for builds without the global lock. Versions that neither covers are not guessed at.

use super::lines::Lines;

/// Where the instructions of a code object are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Instructions {
    /// In a string of bytes, to which the code object points.
    Apart(u64),
    /// In the code object; its size is in the number of items, of 2 bytes.
    Inside(u64),
}

/// How a frame states the instruction that it is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reached {
    /// By an offset in the instructions, in units of `unit` bytes.
    Offset { at: u64, unit: u64 },
    /// By its address.
    Address(u64),
}

/// How texts are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Texts {
    /// Bytes with a length (2.7).
    Bytes,
    /// A compact string (3.3 and later); where its characters begin: of ASCII, of others.
    Compact { length: u64, state: u64, ascii: u64, others: u64 },
    /// As compact, but the bits of the state are not known: only ASCII is read.
    Ascii { length: u64, at: u64 },
}

/// The offsets that are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// In an object: its type.
    pub(super) kind: u64,
    /// In an object with items: their number.
    pub(super) size: u64,
    /// In a string of bytes: the first byte.
    pub(super) bytes: u64,
    /// In a frame: its code object.
    pub(super) frame_code: u64,
    /// Bits of that pointer that are marks, and not a part of the address.
    pub(super) marks: u64,
    /// Whether a frame is an object, whose type can be checked.
    pub(super) frame_is_object: bool,
    pub(super) reached: Reached,
    pub(super) instructions: Instructions,
    /// In a code object: its name, the file, the first line, the table of lines.
    pub(super) name: u64,
    pub(super) file: u64,
    pub(super) first_line: u64,
    pub(super) table: u64,
    pub(super) texts: Texts,
    pub(super) lines: Lines,
}

/// Until 3.11.
const WIDE: Texts = Texts::Compact { length: 16, state: 32, ascii: 48, others: 72 };
/// The layout from 3.12 on.
const NARROW: Texts = Texts::Compact { length: 16, state: 32, ascii: 40, others: 56 };

/// `Include/code.h`, `Include/frameobject.h`, `Include/unicodeobject.h` and, from 3.8, the same in `Include/cpython` and
/// `Include/internal`, of 2.7.18, 3.6.15, 3.7.16, 3.8.18, 3.9.18, 3.10.13, 3.11.7 and 3.12.1.
pub(super) fn of(version: (u32, u32)) -> Option<Layout> {
    let object = Layout {
        kind: 8,
        size: 16,
        bytes: 32,
        frame_code: 32,
        marks: 0,
        frame_is_object: true,
        reached: Reached::Offset { at: 120, unit: 1 },
        instructions: Instructions::Apart(40),
        name: 104,
        file: 96,
        first_line: 36,
        table: 112,
        texts: WIDE,
        lines: Lines::Signed,
    };
    let moved = Layout {
        reached: Reached::Offset { at: 104, unit: 1 },
        instructions: Instructions::Apart(48),
        name: 112,
        file: 104,
        first_line: 40,
        table: 120,
        ..object
    };
    let inside = Layout {
        frame_is_object: false,
        reached: Reached::Address(56),
        instructions: Instructions::Inside(184),
        name: 128,
        file: 112,
        first_line: 72,
        table: 136,
        lines: Lines::Entries,
        ..object
    };
    Some(match version {
        (2, 7) => Layout {
            bytes: 36,
            instructions: Instructions::Apart(32),
            name: 88,
            file: 80,
            first_line: 96,
            table: 104,
            texts: Texts::Bytes,
            lines: Lines::Unsigned,
            ..object
        },
        (3, 6) => object,
        (3, 7) => Layout { reached: moved.reached, ..object },
        (3, 8 | 9) => moved,
        (3, 10) => {
            Layout { reached: Reached::Offset { at: 96, unit: 2 }, lines: Lines::Lengths, ..moved }
        }
        (3, 11) => inside,
        (3, 12) => Layout {
            frame_code: 0,
            instructions: Instructions::Inside(192),
            first_line: 68,
            texts: NARROW,
            ..inside
        },
        _ => return None,
    })
}

/// Words of the interpreter's own statement.
pub(super) const STATED: usize = 96;

/// Parses the data that 3.13 and 3.14 publish at `_PyRuntime` (`Include/internal/pycore_runtime.h`,
/// `Include/internal/pycore_debug_offsets.h`): a mark, the version, whether there is no global lock, then offsets by
/// structure. Builds without the lock keep instructions elsewhere, and are not read.
pub(super) fn stated(version: (u32, u32), words: &[u64]) -> Option<Layout> {
    const MARK: u64 = u64::from_le_bytes(*b"xdebugpy");
    // Where the offsets in frames, code objects, all objects, strings of bytes and texts begin.
    let (frame, code, object, bytes, text) = match version {
        (3, 13) => (28, 34, 44, 64, 67),
        (3, 14) => (31, 39, 50, 74, 77),
        _ => return None,
    };
    let at = |index: usize| words.get(index).copied();
    let number = at(1)?;
    if at(0)? != MARK || (number >> 24, number >> 16 & 255) != (version.0.into(), version.1.into())
    {
        return None;
    }
    if at(2)? != 0 {
        return None;
    }
    // An object's structures are small.
    let offset = |index: usize| at(index).filter(|offset| *offset < 1024);
    let (length, state, ascii) = (offset(text + 2)?, offset(text + 1)?, offset(text + 3)?);
    Some(Layout {
        kind: offset(object + 1)?,
        size: offset(bytes + 1)?,
        bytes: offset(bytes + 2)?,
        frame_code: offset(frame + 2)?,
        marks: if version.1 >= 14 { 3 } else { 0 },
        frame_is_object: false,
        reached: Reached::Address(offset(frame + 3)?),
        instructions: Instructions::Inside(offset(code + 9)?),
        name: offset(code + 3)?,
        file: offset(code + 1)?,
        first_line: offset(code + 5)?,
        table: offset(code + 4)?,
        texts: match version.1 {
            13 => Texts::Compact { length, state, ascii, others: ascii + 16 },
            _ => Texts::Ascii { length, at: ascii },
        },
        lines: Lines::Entries,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stated_offsets_of_another_version_or_build_are_refused() {
        let mut words = vec![0; STATED];
        words[0] = u64::from_le_bytes(*b"xdebugpy");
        words[1] = 0x030d_00f0;
        words[30] = 0;
        words[43] = 200;
        assert_eq!(
            stated((3, 13), &words).map(|layout| layout.instructions),
            Some(Instructions::Inside(200))
        );
        assert_eq!(stated((3, 14), &words), None);
        assert_eq!(stated((3, 15), &words), None);
        for (index, damage) in [(0, 1), (1, 0x030e_00f0), (2, 1), (43, 1 << 40)] {
            let mut damaged = words.clone();
            damaged[index] = damage;
            assert_eq!(stated((3, 13), &damaged), None, "{index}");
        }
    }

    #[test]
    fn of_knows_versions_by_their_headers_only() {
        for minor in 0..20 {
            assert_eq!(of((3, minor)).is_some(), (6..=12).contains(&minor), "{minor}");
        }
        assert!(of((2, 7)).is_some() && of((2, 6)).is_none());
    }

    proptest! {
        #[test]
        fn any_words(minor in 0u32..20, words: Vec<u64>) {
            let _ = stated((3, minor), &words);
        }
    }
}
