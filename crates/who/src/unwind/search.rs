//! Return addresses that are found on the stack, if neither tables nor frame pointers lead on.
//!
//! A stack also holds return addresses of calls that have ended. So a word counts only if the call before it leads to
//! the function below: a direct call by its target, or by a jump at its target. The target of an indirect call is not
//! known; such a word counts only if no direct call leads to the function below.

use super::{Code, Function, word};
use std::ops::ControlFlow;

/// Words that are taken from the stack at most.
const FOUND: usize = 4;
/// Jumps that are followed from the target of a call: entries of a linkage table and functions that end in a call.
const JUMPS: usize = 3;
/// Bytes of a function that are searched for a jump.
const SHORT: usize = 64;
/// How far into a function without a known begin an address may be.
const NEAR: u64 = 1 << 14;

/// How well a call matches the frame below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// It calls that function.
    Sure,
    /// It may call it.
    Possible,
    /// The instruction calls another function, or is not a call.
    No,
}

/// Adds the callers that the stack holds from the last known frame on.
pub(super) fn search(memory: &[u8], stack: &mut Vec<u64>, code: &dyn Code) {
    let mut from = known_end(memory, stack);
    for _ in 0..FOUND {
        let Some(below) = stack.last().copied() else { return };
        let Some((offset, caller)) = caller(memory, from, below, stack, code) else { return };
        stack.push(caller);
        from = offset + 8;
    }
}

/// The offset after the last known return address.
fn known_end(memory: &[u8], stack: &[u64]) -> usize {
    let Some(last) = stack.get(1..).and_then(<[u64]>::last) else { return 0 };
    let all = memory.chunks_exact(8).enumerate();
    let mut found = all.filter(|(at, _)| word(memory, at * 8) == last.checked_add(1));
    found.next().map_or(0, |(at, _)| at * 8 + 8)
}

/// Bytes of the frames of the vDSO's functions at most.
const SMALL: usize = 256;

/// The offsets at which the last known return address may end, lowest first: near the stack pointer for functions that
/// the vDSO's return to, anywhere for others, whose first one counts.
pub(super) fn known_ends(memory: &[u8], stack: &[u64]) -> Vec<usize> {
    let first = known_end(memory, stack);
    let Some(last) = stack.get(1..).and_then(<[u64]>::last) else { return vec![0] };
    let near = (first..SMALL.min(memory.len())).step_by(8);
    let more = near.filter(|at| word(memory, *at) == last.checked_add(1)).map(|at| at + 8);
    std::iter::once(first).chain(more).collect()
}

fn caller(
    memory: &[u8],
    from: usize,
    below: u64,
    stack: &[u64],
    code: &dyn Code,
) -> Option<(usize, u64)> {
    let function = code.function(below);
    let mut possible = None;
    let words = (from..memory.len()).step_by(8).map_while(|at| Some((at, word(memory, at)?)));
    let sure = words.into_iter().try_for_each(|(at, address)| {
        let caller = address.wrapping_sub(1);
        if !code.is_code(caller) || stack.contains(&caller) {
            return ControlFlow::Continue(());
        }
        match fit(address, below, function, code) {
            Fit::Sure => return ControlFlow::Break((at, caller)),
            Fit::Possible if possible.is_none() => possible = Some((at, caller)),
            Fit::Possible | Fit::No => {}
        }
        ControlFlow::Continue(())
    });
    sure.break_value().or(possible)
}

/// Whether the call before a return address leads to the function around `below`.
pub(super) fn fit(address: u64, below: u64, function: Option<Function>, code: &dyn Code) -> Fit {
    let Some(bytes) = code.before(address) else { return Fit::No };
    match call(&bytes) {
        None => Fit::No,
        Some(Call::Indirect) => Fit::Possible,
        Some(Call::Direct(distance)) => {
            leads(address.wrapping_add_signed(distance), below, function, code)
        }
    }
}

fn leads(target: u64, below: u64, function: Option<Function>, code: &dyn Code) -> Fit {
    let Some(function) = function else {
        // The beginning of a function without a name or a table is not known; it is before the address.
        let near = target <= below && below - target < NEAR && code.function(target).is_none();
        return if near { Fit::Possible } else { Fit::No };
    };
    let mut at = target;
    for _ in 0..JUMPS {
        if at == function.begin {
            return Fit::Sure;
        }
        // The table of one file has the whole linkage table as one function.
        match jump(at, code) {
            Some(next) => at = next,
            None => break,
        }
    }
    if ends_in(at, function.begin, code) { Fit::Sure } else { Fit::No }
}

/// The target of the jump that is all that is at an address.
fn jump(at: u64, code: &dyn Code) -> Option<u64> {
    const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
    let mut bytes = code.at(at)?;
    let mut end = at;
    if bytes.starts_with(&ENDBR64) {
        end = end.checked_add(4)?;
        bytes.rotate_left(4);
    }
    if bytes.first() == Some(&0xf2) {
        end = end.checked_add(1)?;
        bytes.rotate_left(1);
    }
    match bytes {
        [0xe9, a, b, c, d, ..] => Some(behind(end, 5, i32::from_le_bytes([a, b, c, d]).into())),
        [0xeb, a, ..] => Some(behind(end, 2, (a as i8).into())),
        [0xff, 0x25, a, b, c, d, ..] => {
            code.word(behind(end, 6, i32::from_le_bytes([a, b, c, d]).into()))
        }
        _ => None,
    }
}

fn behind(at: u64, length: u64, distance: i64) -> u64 {
    at.wrapping_add(length).wrapping_add_signed(distance)
}

/// Returns whether a short function at an address jumps to `target`: a tail call leaves no return address.
fn ends_in(at: u64, target: u64, code: &dyn Code) -> bool {
    let Some(bytes) = code.at(at) else { return false };
    let length = code.function(at).and_then(|function| function.end.checked_sub(at));
    let length = length.map_or(SHORT, |length| usize::try_from(length).unwrap_or(SHORT).min(SHORT));
    let part = bytes.get(..length).unwrap_or_default();
    part.windows(5).zip(at..).any(|(bytes, at)| match bytes {
        [0xe9, a, b, c, d] => behind(at, 5, i32::from_le_bytes([*a, *b, *c, *d]).into()) == target,
        _ => false,
    })
}

/// A call instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    /// Near (`E8`): how far after its end the target is.
    Direct(i64),
    /// Through a register or memory (`FF /2`, with 2 to 7 bytes).
    Indirect,
}

/// The call that ends these bytes.
fn call(bytes: &[u8; 7]) -> Option<Call> {
    let indirect = |opcode: u8, operand: u8| opcode == 0xff && (operand >> 3) & 7 == 2;
    let [a, b, c, d, e, f, g] = *bytes;
    if c == 0xe8 {
        return Some(Call::Direct(i32::from_le_bytes([d, e, f, g]).into()));
    }
    let found =
        indirect(f, g) || indirect(e, f) || indirect(d, e) || indirect(b, c) || indirect(a, b);
    found.then_some(Call::Indirect)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    /// Functions of 0x100 bytes from 0x1000 to 0x2000, and bytes at addresses.
    #[derive(Default)]
    struct Made {
        bytes: HashMap<u64, u8>,
    }

    impl Made {
        fn put(&mut self, at: u64, bytes: &[u8]) {
            self.bytes.extend((at..).zip(bytes.iter().copied()));
        }

        /// A call of `target` whose return address is `at`.
        fn calls(&mut self, at: u64, target: u64) {
            let distance = i32::try_from(target as i64 - at as i64).unwrap();
            self.put(at - 5, &[0xe8]);
            self.put(at - 4, &distance.to_le_bytes());
        }
    }

    impl Code for Made {
        fn is_code(&self, address: u64) -> bool {
            (0x1000..0x2000).contains(&address)
        }
        fn before(&self, address: u64) -> Option<[u8; 7]> {
            let byte = |n: u64| self.bytes.get(&(address.wrapping_sub(7 - n))).copied();
            Some([0, 1, 2, 3, 4, 5, 6].map(|n| byte(n).unwrap_or(0x90)))
        }
        fn at(&self, address: u64) -> Option<[u8; 64]> {
            let mut bytes = [0x90; 64];
            for (n, byte) in bytes.iter_mut().enumerate() {
                *byte = self.bytes.get(&address.wrapping_add(n as u64)).copied().unwrap_or(0x90);
            }
            Some(bytes)
        }
        fn word(&self, address: u64) -> Option<u64> {
            (address == 0x3000).then_some(0x1200)
        }
        fn is_vdso_entry(&self, _: u64) -> bool {
            false
        }
        fn function(&self, address: u64) -> Option<Function> {
            let begin = address & !0xff;
            self.is_code(address).then_some(Function { begin, end: begin + 0x100, table: false })
        }
    }

    fn memory(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn found(made: &Made, words: &[u64]) -> Vec<u64> {
        let mut stack = vec![0x1210];
        search(&memory(words), &mut stack, made);
        stack
    }

    #[test]
    fn search_passes_over_return_address_of_call_of_another_function() {
        let mut made = Made::default();
        // A word of an ended call, of 0x1500, and the caller, of 0x1200.
        made.calls(0x1340, 0x1500);
        made.calls(0x1450, 0x1200);
        made.calls(0x1660, 0x1400);
        assert_eq!(found(&made, &[7, 0x1340, 0x1450, 0x1660]), [0x1210, 0x144f, 0x165f]);
    }

    #[test]
    fn search_takes_indirect_call_only_where_no_direct_call_leads_to_function() {
        let mut made = Made::default();
        made.put(0x133e, &[0xff, 0xd0]);
        made.calls(0x1450, 0x1200);
        assert_eq!(found(&made, &[0x1340, 0x1450]), [0x1210, 0x144f]);
        assert_eq!(found(&made, &[0x1340, 5]), [0x1210, 0x133f]);
    }

    #[test]
    fn fit_follows_linkage_table_and_function_that_ends_in_call() {
        let mut made = Made::default();
        made.put(0x1800, &[0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25]);
        made.put(0x1806, &(0x3000i32 - 0x180a).to_le_bytes());
        made.calls(0x1450, 0x1800);
        made.put(0x1910, &[0xe9]);
        made.put(0x1911, &(0x1200i32 - 0x1915).to_le_bytes());
        made.calls(0x1470, 0x1900);
        made.calls(0x1490, 0x1a00);
        let fit = |at| fit(at, 0x1210, made.function(0x1210), &made);
        assert_eq!((fit(0x1450), fit(0x1470), fit(0x1490)), (Fit::Sure, Fit::Sure, Fit::No));
    }

    #[test]
    fn search_begins_behind_known_frames() {
        let mut made = Made::default();
        made.calls(0x1340, 0x1200);
        made.calls(0x1450, 0x1300);
        made.calls(0x1470, 0x1300);
        let mut stack = vec![0x1210, 0x133f];
        search(&memory(&[0x1450, 0x1340, 0x1470]), &mut stack, &made);
        assert_eq!(stack, [0x1210, 0x133f, 0x146f]);
    }

    #[test]
    fn calls() {
        assert_eq!(call(&[0, 0, 0xe8, 5, 0, 0, 0]), Some(Call::Direct(5)));
        // call *%rax; call *8(%rax); call *0x100(%rip).
        assert_eq!(call(&[0, 0, 0, 0, 0, 0xff, 0xd0]), Some(Call::Indirect));
        assert_eq!(call(&[0, 0, 0, 0, 0xff, 0x50, 8]), Some(Call::Indirect));
        assert_eq!(call(&[0, 0xff, 0x15, 0, 1, 0, 0]), Some(Call::Indirect));
        // jmp *%rax.
        assert_eq!(call(&[0, 0, 0, 0, 0, 0xff, 0xe0]), None);
    }

    proptest! {
        #[test]
        fn any_memory_and_code(memory: Vec<u8>, at in 0x1000u64..0x2000, bytes: Vec<u8>) {
            let mut made = Made::default();
            made.put(at, &bytes);
            let mut stack = vec![at];
            search(&memory, &mut stack, &made);
            prop_assert!(stack.len() <= 1 + FOUND);
        }
    }
}
