use super::super::{CodeFrom, FRAMES, Sections, Tables, Unwinder};
use super::{EXPRESSION, all, by_index};
use crate::record::{Registers, Sample};
use proptest::prelude::*;

/// Where the made sections are.
const ENTRIES: u64 = 0x2000;
const INDEX: u64 = 0x3000;

/// A table of one entry, for 0x1000 to 0x1100, with these instructions.
fn entries(instructions: &[u8], debug: bool) -> Vec<u8> {
    let entry = |mut body: Vec<u8>| {
        body.resize(body.len().next_multiple_of(8) + 4, 0);
        let length = u32::try_from(body.len()).unwrap();
        [length.to_le_bytes().to_vec(), body].concat()
    };
    // Version, no augmentation, factors 1 and -8, the return address in 16; the frame is at the stack pointer + 8.
    let mut shared = if debug { vec![0xff; 4] } else { vec![0; 4] };
    shared.extend([1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1]);
    let mut bytes = entry(shared);
    let back = if debug { 0 } else { u32::try_from(bytes.len() + 4).unwrap() };
    let mut own = back.to_le_bytes().to_vec();
    own.extend(0x1000u64.to_le_bytes());
    own.extend(0x100u64.to_le_bytes());
    own.extend_from_slice(instructions);
    bytes.extend(entry(own));
    if !debug {
        bytes.extend([0; 4]);
    }
    bytes
}

fn indexed(instructions: &[u8]) -> Sections {
    let entries = entries(instructions, false);
    let length = u64::from(u32::from_le_bytes(entries[..4].try_into().unwrap())) + 4;
    let mut index = vec![1, 0x1b, 3, 0x3b];
    let near = |to: u64, from: u64| i32::try_from(to as i64 - from as i64).unwrap().to_le_bytes();
    index.extend(near(ENTRIES, INDEX + 4));
    index.extend(1u32.to_le_bytes());
    index.extend(near(0x1000, INDEX));
    index.extend(near(ENTRIES + length, INDEX));
    Sections {
        eh_frame_hdr: Some((INDEX..INDEX + 0x1000, Some(index.into()))),
        ..without_index(instructions)
    }
}

fn without_index(instructions: &[u8]) -> Sections {
    let entries = entries(instructions, false);
    Sections { eh_frame: Some((ENTRIES..INDEX, Some(entries.into()))), ..Sections::default() }
}

fn debugging(instructions: &[u8]) -> Sections {
    Sections { debug_frame: Some(entries(instructions, true).into()), ..Sections::default() }
}

fn sample() -> Sample {
    let registers = Some(Registers { ip: 0x1010, sp: 0x8000, ..Registers::default() });
    let stack = [0x1021u64, 0x1031, 0, 0].iter().flat_map(|word| word.to_le_bytes()).collect();
    Sample { registers, stack, ..Sample::default() }
}

fn stack(info: Sections) -> Vec<u64> {
    let mut unwinder = Unwinder::default();
    unwinder.add("made", &Tables { info }, 0..0x10000, 0);
    unwinder.by_tables(&sample(), &CodeFrom(0x100))
}

/// `DW_OP_skip -3`; a value, a copy of it, and back; a jump into the middle of a constant, which has a jump backward.
const ENDLESS: [&[u8]; 5] = [
    &[0x0f, 3, 0x2f, 0xfd, 0xff],
    &[0x0f, 6, 0x30, 0x12, 0x2f, 0xfc, 0xff, 0x96],
    &[0x0f, 10, 0x2f, 1, 0, 0x0c, 0x2f, 0xfd, 0xff, 0, 0, 0x96],
    &[0x16, 6, 4, 0x31, 0x28, 0xfc, 0xff],
    &[0x10, 16, 4, 0x31, 0x28, 0xfc, 0xff],
];

#[test]
fn expression_that_branches_is_not_evaluated() {
    for instructions in ENDLESS {
        assert!(!by_index(&indexed(instructions), 0x1010), "{instructions:?}");
        assert!(!all(&without_index(instructions)), "{instructions:?}");
        assert!(!all(&debugging(instructions)), "{instructions:?}");
        // If it were evaluated, this would not end.
        assert_eq!(stack(indexed(instructions)), [0x1010], "{instructions:?}");
        assert!(stack(without_index(instructions)).len() < FRAMES);
        assert!(stack(debugging(instructions)).len() < FRAMES);
    }
}

#[test]
fn expression_of_linkage_table_is_used() {
    // The stack pointer + 8, + 8 if the instruction is in the second half of an entry.
    let linkage: &[u8] =
        &[0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22, 0, 0];
    for sections in [indexed(linkage), without_index(linkage), debugging(linkage)] {
        assert!(by_index(&sections, 0x1010) && all(&sections));
        assert_eq!(stack(sections), [0x1010, 0x1020, 0x1030]);
    }
    assert_eq!(stack(indexed(&[])), [0x1010, 0x1020, 0x1030]);
}

#[test]
fn long_expressions_and_entries_are_not_used() {
    let mut long = vec![0x0f, 0x80 | (EXPRESSION as u8 & 0x7f), (EXPRESSION >> 7) as u8];
    long.extend(vec![0x30; EXPRESSION]);
    assert!(by_index(&indexed(&long), 0x1010));
    long[1] += 1;
    long.push(0x30);
    assert!(!by_index(&indexed(&long), 0x1010));
    let nothing = vec![0x2d; super::ENTRY];
    assert!(!by_index(&indexed(&nothing), 0x1010) && !all(&debugging(&nothing)));
}

proptest! {
    #[test]
    fn any_instructions_end(instructions: Vec<u8>) {
        for sections in [indexed(&instructions), without_index(&instructions), debugging(&instructions)] {
            prop_assert!(stack(sections).len() <= FRAMES);
        }
    }
}
