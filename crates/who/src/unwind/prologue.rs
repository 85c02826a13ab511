//! The size of a stack frame, from the instructions at the beginning of its function.
//!
//! The C code of musl has no unwind tables, and keeps no frame pointer. What its functions push before a call is known from
//! their first instructions, and with it the place of the return address: a search of the stack could take a word that an
//! earlier call has left below it. Only instructions that these functions have are known here; at any other one, and if
//! two paths lead to an address with different frames, nothing is said.

use super::{Code, Function};

/// What a function has on the stack above its stack pointer, at one of its instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    /// Bytes up to the return address.
    pub(super) size: u64,
    /// How far above the stack pointer the caller's `rbp` is, if it was saved.
    pub(super) rbp: Option<u64>,
}

/// Bytes of a function that are read.
const LONGEST: u64 = 256;
/// The largest frame.
const LARGEST: u64 = 1 << 16;
/// Bytes of an instruction at most.
const INSTRUCTION: usize = 15;

/// The effect of an instruction on the stack, as far as the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    None,
    /// A register is pushed: its number.
    Push(u8),
    /// The stack pointer goes down.
    Down(u64),
    /// A conditional jump: how far after the instruction its target is.
    Jump(i64),
}

/// The frame of a function at an address in it: before the instruction there, or in the call there.
pub(super) fn frame(code: &dyn Code, function: Function, at: u64) -> Option<Frame> {
    let (mut size, mut rbp) = (0u64, None);
    let mut position = function.begin;
    let mut jumps: Vec<(u64, u64)> = Vec::new();
    loop {
        // Another way that leads here must have the same frame.
        if jumps.iter().any(|(target, then)| *target == position && *then != size) {
            return None;
        }
        let bytes = code.at(position)?;
        let (length, effect) = decode(bytes.get(..INSTRUCTION)?)?;
        let next = position.checked_add(length)?;
        if next > at {
            return Some(Frame { size, rbp: rbp.map(|saved| size - saved) });
        }
        match effect {
            Effect::None => {}
            Effect::Push(register) => {
                size += 8;
                if register == RBP {
                    rbp = Some(size);
                }
            }
            Effect::Down(bytes) => size += bytes,
            Effect::Jump(distance) => {
                jumps.push((next.checked_add(u64::try_from(distance).ok()?)?, size));
            }
        }
        if size > LARGEST || next - function.begin > LONGEST || next >= function.end {
            return None;
        }
        position = next;
    }
}

const RBP: u8 = 5;

/// The length of an instruction, and its effect on the stack; `None` for those that are not known, or after which
/// an instruction other than the next one is executed.
fn decode(bytes: &[u8]) -> Option<(u64, Effect)> {
    const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
    if bytes.starts_with(&ENDBR64) {
        return Some((4, Effect::None));
    }
    let (rex, rest) = match bytes.first()? {
        rex @ 0x40..=0x4f => (*rex, bytes.get(1..)?),
        _ => (0, bytes),
    };
    let prefix = u64::from(rex != 0);
    let wide = rex & 8 != 0;
    let opcode = *rest.first()?;
    let operand = rest.get(1..)?;
    let plain = |length: u64| Some((prefix + length, Effect::None));
    // With an operand in a register or in memory, and with an immediate of this many bytes. `pair`: another operand is a
    // register.
    let with = |pair: bool, immediate: u64| {
        let length = operand_length(operand)?;
        let of_stack = uses_stack_pointer(rex, *operand.first()?, pair);
        (!of_stack).then_some((prefix + 1 + length + immediate, Effect::None))
    };
    match opcode {
        0x50..=0x57 => Some((prefix + 1, Effect::Push((opcode & 7) | (rex & 1) << 3))),
        0x6a => Some((prefix + 2, Effect::Push(u8::MAX))),
        0x68 => Some((prefix + 5, Effect::Push(u8::MAX))),
        0x83 if wide && operand.first() == Some(&0xec) => {
            let bytes = *operand.get(1)?;
            (bytes < 0x80).then_some((prefix + 3, Effect::Down(bytes.into())))
        }
        // The shortest way to 128 bytes is to add -128.
        0x83 if wide && operand.starts_with(&[0xc4, 0x80]) => Some((prefix + 3, Effect::Down(128))),
        0x81 if wide && operand.first() == Some(&0xec) => {
            let bytes: [u8; 4] = operand.get(1..5)?.try_into().ok()?;
            Some((prefix + 6, Effect::Down(u32::from_le_bytes(bytes).into())))
        }
        // Arithmetic and moves between registers and memory.
        0x00..=0x03
        | 0x08..=0x0b
        | 0x20..=0x23
        | 0x28..=0x2b
        | 0x30..=0x33
        | 0x38..=0x3b
        | 0x63
        | 0x84
        | 0x85
        | 0x88..=0x8b
        | 0x8d => with(true, 0),
        0xd1 | 0xd3 => with(false, 0),
        0x80 | 0x83 | 0xc0 | 0xc1 | 0xc6 => with(false, 1),
        0x81 | 0xc7 => with(false, 4),
        0xf6 | 0xf7 => match (operand.first()? >> 3) & 7 {
            0 | 1 => with(false, if opcode == 0xf6 { 1 } else { 4 }),
            _ => with(false, 0),
        },
        0x04 | 0x0c | 0x24 | 0x2c | 0x34 | 0x3c | 0xa8 | 0xb0..=0xb7 => plain(2),
        0x05 | 0x0d | 0x25 | 0x2d | 0x35 | 0x3d | 0xa9 => plain(5),
        0xb8..=0xbf => plain(if wide { 9 } else { 5 }),
        0x90 | 0x98 | 0x99 => plain(1),
        0x70..=0x7f => Some((prefix + 2, Effect::Jump(i64::from(operand.first()?.cast_signed())))),
        // A call leaves the stack as it was.
        0xe8 => plain(5),
        0xff if matches!((operand.first()? >> 3) & 7, 0..=2) => with(false, 0),
        0x0f => {
            let second = *operand.first()?;
            let operand = operand.get(1..)?;
            match second {
                0x05 => plain(2),
                0x80..=0x8f => {
                    let bytes: [u8; 4] = operand.get(..4)?.try_into().ok()?;
                    Some((prefix + 6, Effect::Jump(i32::from_le_bytes(bytes).into())))
                }
                0x10
                | 0x11
                | 0x1f
                | 0x28
                | 0x29
                | 0x40..=0x4f
                | 0x57
                | 0x90..=0x9f
                | 0xaf
                | 0xb6
                | 0xb7
                | 0xbe
                | 0xbf => Some((prefix + 2 + operand_length(operand)?, Effect::None)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether a register operand is the stack pointer: the instruction may change it. `pair`: the middle bits are a register.
fn uses_stack_pointer(rex: u8, operand: u8, pair: bool) -> bool {
    const RSP: u8 = 4;
    let first = operand >> 6 == 3 && operand & 7 == RSP && rex & 1 == 0;
    first || pair && (operand >> 3) & 7 == RSP && rex & 4 == 0
}

/// The length of an operand (ModRM, SIB and displacement).
fn operand_length(bytes: &[u8]) -> Option<u64> {
    let operand = *bytes.first()?;
    let (mode, register) = (operand >> 6, operand & 7);
    if mode == 3 {
        return Some(1);
    }
    let (sib, base) = match register {
        4 => (1, bytes.get(1)? & 7),
        _ => (0, register),
    };
    let displacement = match mode {
        1 => 1,
        2 => 4,
        _ if base == 5 => 4,
        _ => 0,
    };
    Some(1 + sib + displacement)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A function at 0x1000.
    struct Made(Vec<u8>);

    impl Code for Made {
        fn is_code(&self, address: u64) -> bool {
            address >= 0x1000
        }
        fn before(&self, _: u64) -> Option<[u8; 7]> {
            None
        }
        fn at(&self, address: u64) -> Option<[u8; 64]> {
            let mut bytes = [0; 64];
            let from = usize::try_from(address.checked_sub(0x1000)?).ok()?;
            let rest = self.0.get(from..)?;
            bytes.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
            Some(bytes)
        }
        fn word(&self, _: u64) -> Option<u64> {
            None
        }
        fn is_vdso_entry(&self, _: u64) -> bool {
            false
        }
        fn function(&self, _: u64) -> Option<Function> {
            None
        }
    }

    fn of(bytes: &[u8], at: u64) -> Option<Frame> {
        let end = 0x1000 + bytes.len() as u64;
        let function = Function { begin: 0x1000, end, table: false };
        frame(&Made(bytes.to_vec()), function, 0x1000 + at)
    }

    /// A wrapper of a call in the vDSO, as compilers make it with -Os: what it pushes, moves, tests and calls.
    const WRAPPER: [u8; 31] = [
        0x55, // push rbp
        0x48, 0x89, 0xf5, // mov rbp, rsi
        0x53, // push rbx
        0x89, 0xfb, // mov ebx, edi
        0x48, 0x83, 0xec, 0x08, // sub rsp, 8
        0x48, 0x8b, 0x05, 0x79, 0xfd, 0x01, 0x00, // mov rax, [rip + ...]
        0x48, 0x85, 0xc0, // test rax, rax
        0x74, 0x06, // je
        0xff, 0xd0, // call rax
        0x85, 0xc0, // test eax, eax
        0x90, 0x90, 0x90, 0x90,
    ];

    #[test]
    fn frame_is_what_was_pushed() {
        // In the call; before the first instruction, and after each push.
        assert_eq!(of(&WRAPPER, 24), Some(Frame { size: 24, rbp: Some(16) }));
        assert_eq!(of(&WRAPPER, 0), Some(Frame { size: 0, rbp: None }));
        assert_eq!(of(&WRAPPER, 1), Some(Frame { size: 8, rbp: Some(0) }));
        assert_eq!(of(&WRAPPER, 5), Some(Frame { size: 16, rbp: Some(8) }));
        assert_eq!(of(&WRAPPER, 11), Some(Frame { size: 24, rbp: Some(16) }));
        // push r12; sub rsp, 0x118; push 5; call +0
        let large = [0x41, 0x54, 0x48, 0x81, 0xec, 0x18, 1, 0, 0, 0x6a, 5, 0xe8, 0, 0, 0, 0, 0x90];
        assert_eq!(of(&large, 15), Some(Frame { size: 8 + 0x118 + 8, rbp: None }));
        // add rsp, -128; call +0
        let least = [0x48, 0x83, 0xc4, 0x80, 0xe8, 0, 0, 0, 0, 0x90];
        assert_eq!(of(&least, 8), Some(Frame { size: 128, rbp: None }));
    }

    #[test]
    fn nothing_is_said_where_the_frame_is_not_sure() {
        // je over the push; push rbx; call +0
        let two = [0x74, 0x01, 0x53, 0xe8, 0, 0, 0, 0, 0x90];
        assert_eq!(of(&two, 7), None);
        // The same over an instruction that leaves the stack alone.
        let one = [0x74, 0x02, 0x89, 0xfb, 0xe8, 0, 0, 0, 0, 0x90];
        assert_eq!(of(&one, 8), Some(Frame { size: 0, rbp: None }));
        // pop rbx; ret; mov rsp, rbp; lea rsp, [rsp - 8]; and rsp, -16; add rsp, 8; a jump back; an unknown one.
        for bytes in [
            &[0x5b][..],
            &[0xc3],
            &[0x48, 0x89, 0xec],
            &[0x48, 0x8d, 0x64, 0x24, 0xf8],
            &[0x48, 0x83, 0xe4, 0xf0],
            &[0x48, 0x83, 0xc4, 0x08],
            &[0x74, 0xfe],
            &[0xc5, 0xf8, 0x77],
        ] {
            let all = [bytes, &[0xe8, 0, 0, 0, 0, 0x90]].concat();
            assert_eq!(of(&all, bytes.len() as u64 + 4), None, "{bytes:x?}");
        }
        // and eax, 15 is another register's.
        assert!(of(&[0x83, 0xe0, 0x0f, 0xe8, 0, 0, 0, 0, 0x90], 7).is_some());
    }

    proptest! {
        #[test]
        fn any_code(bytes: Vec<u8>, at in 0u64..600, end in 0u64..600) {
            let function = Function { begin: 0x1000, end: 0x1000 + end, table: false };
            let found = frame(&Made(bytes), function, 0x1000 + at);
            prop_assert!(found.is_none_or(|frame| frame.rbp.is_none_or(|rbp| rbp < frame.size)));
        }
    }
}
