//! The registers of the functions on a stack, by the unwind tables.
//!
//! The library that walks stacks restores the instruction, stack and frame pointers only. An interpreter keeps its state
//! in the other registers that a callee preserves; the tables state where the functions that it has called have saved
//! them. Pure. The tables belong to the file, which may be damaged, so every value in them is checked against its
//! bounds.

use super::{Code, Sections, Unwinder, word};
use crate::record::{Registers, Sample};
use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, EndianSlice, FrameDescriptionEntry, LittleEndian,
    Register, RegisterRule, UnwindContext, UnwindSection, X86_64,
};
use std::ops::Range;

/// Frames that are walked at most.
const FRAMES: usize = 32;
/// The registers that a callee keeps, as the table names them.
const KEPT: [Register; 5] = [X86_64::RBX, X86_64::R12, X86_64::R13, X86_64::R14, X86_64::R15];

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// A function on the stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Where it is: the instruction, or inside the call.
    pub address: u64,
    /// The registers bx, r12 to r15, and bp; `None` if they were not saved as the tables can state.
    pub kept: [Option<u64>; 6],
    /// Its part of the stack, as far as the sample has it: offsets in the sample's part.
    pub slots: Range<usize>,
    /// Where in it the caller's registers are saved: offsets in the sample's part.
    pub saved: Vec<usize>,
}

/// The entry of the tables for an address of the file.
fn entry<'a>(
    sections: &'a Sections,
    address: u64,
) -> Option<(EhFrame<Slice<'a>>, BaseAddresses, FrameDescriptionEntry<Slice<'a>>)> {
    let (at, bytes) = sections.eh_frame.as_ref()?;
    let (index_at, index) = sections.eh_frame_hdr.as_ref()?;
    let mut bases =
        BaseAddresses::default().set_eh_frame(at.start).set_eh_frame_hdr(index_at.start);
    if let Some(text) = &sections.text {
        bases = bases.set_text(text.start);
    }
    if let Some(got) = &sections.got {
        bases = bases.set_got(got.start);
    }
    let mut frame = EhFrame::new(bytes.as_deref()?, LittleEndian);
    frame.set_address_size(8);
    let index = EhFrameHdr::new(index.as_deref()?, LittleEndian).parse(&bases, 8).ok()?;
    let table = index.table()?;
    let found = table.fde_for_address(&frame, &bases, address, EhFrame::cie_from_offset).ok()?;
    Some((frame, bases, found))
}

/// The function around an address of a file.
pub(super) fn function(sections: &Sections, address: u64) -> Option<Range<u64>> {
    let (.., found) = entry(sections, address)?;
    let begin = found.initial_address();
    let range = begin..begin.checked_add(found.len())?;
    range.contains(&address).then_some(range)
}

impl Unwinder {
    /// The functions of a sample's stack with their registers, innermost first, as far as tables and the sample's part
    /// of the stack lead.
    #[must_use]
    pub fn registers(&self, sample: &Sample, code: &dyn Code) -> Vec<Frame> {
        let Some(Registers { ip, sp: bottom, bp, kept, .. }) = sample.registers else {
            return Vec::new();
        };
        let mut frames = Vec::new();
        let (mut address, mut sp) = (ip, bottom);
        let mut kept: [Option<u64>; 6] =
            [kept[0], kept[1], kept[2], kept[3], kept[4], bp].map(Some);
        let stack = &sample.stack;
        let read = |at: u64| word(stack, usize::try_from(at.checked_sub(bottom)?).ok()?);
        while frames.len() < FRAMES && code.is_code(address) {
            let Some((cfa, saved)) = self.row(address, sp, kept.get(5).copied().flatten()) else {
                break;
            };
            let Some((from, to)) = sp.checked_sub(bottom).zip(cfa.checked_sub(bottom)) else {
                break;
            };
            let (Ok(from), Ok(to)) = (usize::try_from(from), usize::try_from(to)) else { break };
            if to <= from || from > stack.len() {
                break;
            }
            let places = saved.iter().filter_map(|saved| match saved {
                Saved::At(at) => usize::try_from(at.checked_sub(bottom)?).ok(),
                Saved::Same | Saved::Lost => None,
            });
            let slots = from..to.min(stack.len());
            frames.push(Frame { address, kept, slots, saved: places.collect() });
            for (value, saved) in kept.iter_mut().zip(saved) {
                match saved {
                    Saved::Same => {}
                    Saved::At(at) => *value = read(at),
                    Saved::Lost => *value = None,
                }
            }
            let Some(back) = cfa.checked_sub(8).and_then(read).filter(|back| *back != 0) else {
                break;
            };
            (address, sp) = (back - 1, cfa);
        }
        frames
    }

    /// The canonical frame address of a function, and where it has saved its caller's registers.
    fn row(&self, address: u64, sp: u64, bp: Option<u64>) -> Option<(u64, [Saved; 6])> {
        let (_, bias, sections) = self.files.iter().find(|(range, ..)| range.contains(&address))?;
        let address = address.wrapping_sub(*bias);
        let (frame, bases, found) = entry(sections, address)?;
        let mut context = UnwindContext::new();
        let row = found.unwind_info_for_address(&frame, &bases, &mut context, address).ok()?;
        let cfa = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => {
                let base = match *register {
                    X86_64::RSP => sp,
                    X86_64::RBP => bp?,
                    _ => return None,
                };
                base.checked_add_signed(*offset)?
            }
            CfaRule::Expression(_) => return None,
        };
        let saved = |register: Register| match row.register(register) {
            None | Some(RegisterRule::SameValue) => Saved::Same,
            Some(RegisterRule::Offset(offset)) => {
                cfa.checked_add_signed(offset).map_or(Saved::Lost, Saved::At)
            }
            Some(_) => Saved::Lost,
        };
        let [bx, r12, r13, r14, r15] = KEPT.map(saved);
        match row.register(X86_64::RA) {
            Some(RegisterRule::Offset(-8)) => {}
            _ => return None,
        }
        Some((cfa, [bx, r12, r13, r14, r15, saved(X86_64::RBP)]))
    }
}

/// Where a register of the caller is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Saved {
    /// In the register.
    Same,
    /// In memory.
    At(u64),
    /// Not known.
    Lost,
}

#[cfg(test)]
mod tests {
    use super::super::{CodeFrom, Tables};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn function_of_this_program_is_around_its_address() {
        let file = std::fs::read("/proc/self/exe").unwrap();
        let tables = Tables::read(&file).unwrap();
        let text = tables.info.text.clone().unwrap();
        let middle = text.start.midpoint(text.end);
        let found = (middle..middle + 4096).find_map(|at| Some((at, tables.function(at)?)));
        let (at, function) = found.unwrap();
        assert!(function.contains(&at) && text.contains(&function.start));
        assert_eq!(tables.function(function.start), Some(function.clone()));
        assert_eq!(tables.function(function.end - 1), Some(function));
        assert_eq!(tables.function(0), None);
    }

    proptest! {
        #[test]
        fn any_tables(
            mut index: Vec<u8>,
            entries: Vec<u8>,
            stack: Vec<u8>,
            ip in 0u64..0x3000,
            bp: u64,
        ) {
            // A usual version and usual encodings, so that the rest is read.
            index.splice(..0, [1, 0x1b, 3, 0x3b]);
            let sections = Sections {
                text: Some(0..0x1000),
                got: None,
                eh_frame: Some((0x1000..0x2000, Some(entries.into()))),
                eh_frame_hdr: Some((0x2000..0x3000, Some(index.into()))),
                debug_frame: None,
            };
            let unwinder = Unwinder { files: vec![(0..0x3000, 0, sections)], ..Unwinder::default() };
            let registers = Some(Registers { ip, sp: 0x8000, bp, ..Registers::default() });
            let sample = Sample { registers, stack, ..Sample::default() };
            prop_assert!(unwinder.registers(&sample, &CodeFrom(0)).len() <= FRAMES);
        }
    }
}
