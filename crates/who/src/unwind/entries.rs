//! Which entries of unwind tables are given to the library that walks stacks.
//!
//! The library evaluates the expressions of an entry without a limit: an expression that jumps backward never ends, and
//! may add to its stack meanwhile. So an entry is read here first, and one whose expressions branch at all or are long
//! is not used: then each decoded operation is evaluated exactly once. The entry is found as the library finds it, with
//! the same version of the same crate (gimli), so that both have the same one.

use super::Sections;
use gimli::{
    BaseAddresses, CallFrameInstruction, CieOrFde, CommonInformationEntry, DebugFrame, EhFrame,
    EhFrameHdr, EndianSlice, FrameDescriptionEntry, LittleEndian, Operation, UnwindExpression,
    UnwindSection,
};
use std::collections::{HashMap, HashSet};

/// The largest size of an expression, in bytes; those of linkage tables and signal frames have a dozen.
const EXPRESSION: usize = 256;
/// Bytes of an entry at most: the largest functions have a few KiB.
const ENTRY: usize = 64 << 10;
/// Bytes of an entry that others share at most: they have two dozen.
const SHARED: usize = 4 << 10;
/// Addresses whose result is remembered at most.
const KNOWN: usize = 1 << 16;

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// Results, by address in a process.
#[derive(Debug, Default)]
pub(super) struct Known(HashMap<u64, bool>);

impl Known {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether the entry for an address of the process may be used; `address` is the one in the file.
    pub(super) fn may_use(&mut self, at: u64, sections: &Sections, address: u64) -> bool {
        if self.0.len() >= KNOWN {
            self.0.clear();
        }
        *self.0.entry(at).or_insert_with(|| by_index(sections, address))
    }
}

/// The addresses of the sections, as the library states them.
fn bases(sections: &Sections) -> BaseAddresses {
    let start = |range: Option<u64>| range.unwrap_or_default();
    let of = |part: &Option<(std::ops::Range<u64>, Option<super::Bytes>)>| {
        start(part.as_ref().map(|(range, _)| range.start))
    };
    BaseAddresses::default()
        .set_eh_frame(of(&sections.eh_frame))
        .set_eh_frame_hdr(of(&sections.eh_frame_hdr))
        .set_text(start(sections.text.as_ref().map(|range| range.start)))
        .set_got(start(sections.got.as_ref().map(|range| range.start)))
}

/// The content of a section, if the file has it.
fn bytes(part: &Option<(std::ops::Range<u64>, Option<super::Bytes>)>) -> Option<super::Bytes> {
    part.as_ref()?.1.clone()
}

fn eh_frame(entries: &[u8]) -> EhFrame<Slice<'_>> {
    let mut frame = EhFrame::new(entries, LittleEndian);
    frame.set_address_size(8);
    frame
}

/// Whether the entry that the index has for an address may be used, or there is none.
fn by_index(sections: &Sections, address: u64) -> bool {
    let (Some(entries), Some(index)) = (bytes(&sections.eh_frame), bytes(&sections.eh_frame_hdr))
    else {
        // Without an index all entries were read when the file was added.
        return true;
    };
    let bases = bases(sections);
    let frame = eh_frame(&entries);
    let found = || {
        let index = EhFrameHdr::new(&index, LittleEndian).parse(&bases, 8).ok()?;
        let table = index.table()?;
        let pointer = table.lookup(address, &bases).ok()?;
        let offset = u32::try_from(table.pointer_to_offset(pointer).ok()?.0).ok()?;
        let offset = usize::try_from(offset).ok()?.into();
        frame.fde_from_offset(&bases, offset, EhFrame::cie_from_offset).ok()
    };
    found().is_none_or(|entry: FrameDescriptionEntry<Slice<'_>>| {
        shared(&frame, &bases, entry.cie()) && own(&frame, &bases, &entry)
    })
}

/// Whether all entries of a file without an index may be used: the library makes an index of them.
pub(super) fn all(sections: &Sections) -> bool {
    let bases = bases(sections);
    match (bytes(&sections.eh_frame), &sections.debug_frame) {
        (Some(_), _) if bytes(&sections.eh_frame_hdr).is_some() => true,
        (Some(entries), _) => all_of(&eh_frame(&entries), &bases),
        (None, Some(entries)) => {
            let mut frame = DebugFrame::new(entries, LittleEndian);
            frame.set_address_size(8);
            all_of(&frame, &bases)
        }
        (None, None) => true,
    }
}

fn all_of<'a, U: UnwindSection<Slice<'a>>>(frame: &U, bases: &BaseAddresses) -> bool {
    let mut seen = HashSet::new();
    let mut entries = frame.entries(bases);
    loop {
        // The library also uses nothing of a section that cannot be read.
        let Ok(Some(entry)) = entries.next() else { return true };
        let CieOrFde::Fde(entry) = entry else { continue };
        let Ok(entry) = entry.parse(U::cie_from_offset) else { return true };
        let cie = entry.cie();
        if seen.insert(cie.offset()) && !shared(frame, bases, cie) {
            return false;
        }
        if !own(frame, bases, &entry) {
            return false;
        }
    }
}

/// Whether an entry that others share may be used.
fn shared<'a, U: UnwindSection<Slice<'a>>>(
    frame: &U,
    bases: &BaseAddresses,
    entry: &CommonInformationEntry<Slice<'a>>,
) -> bool {
    entry.entry_len() <= SHARED && ends(frame, entry, entry.instructions(frame, bases))
}

/// Returns whether the entry's own instructions may be used.
fn own<'a, U: UnwindSection<Slice<'a>>>(
    frame: &U,
    bases: &BaseAddresses,
    entry: &FrameDescriptionEntry<Slice<'a>>,
) -> bool {
    entry.entry_len() <= ENTRY && ends(frame, entry.cie(), entry.instructions(frame, bases))
}

fn ends<'a, U: UnwindSection<Slice<'a>>>(
    frame: &U,
    shared: &CommonInformationEntry<Slice<'a>>,
    mut instructions: gimli::CallFrameInstructionIter<'_, Slice<'a>>,
) -> bool {
    loop {
        // The library also stops at an instruction that it cannot read.
        let Ok(Some(instruction)) = instructions.next() else { return true };
        let expression: UnwindExpression<usize> = match instruction {
            CallFrameInstruction::DefCfaExpression { expression }
            | CallFrameInstruction::Expression { expression, .. }
            | CallFrameInstruction::ValExpression { expression, .. } => expression,
            _ => continue,
        };
        if !is_short_and_straight(frame, &expression, shared.encoding()) {
            return false;
        }
    }
}

/// Returns whether an expression is short and has no branch. A branch may lead into the middle of an operation, so not
/// even one that leads forward is known to end.
fn is_short_and_straight<'a, U: UnwindSection<Slice<'a>>>(
    frame: &U,
    expression: &UnwindExpression<usize>,
    encoding: gimli::Encoding,
) -> bool {
    if expression.length > EXPRESSION {
        return false;
    }
    let Ok(expression) = expression.get(frame) else { return true };
    let mut operations = expression.operations(encoding);
    loop {
        match operations.next() {
            Ok(Some(Operation::Skip { .. } | Operation::Bra { .. })) => return false,
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => return true,
        }
    }
}

#[cfg(test)]
mod tests;
