//! Whether a program can run in a guest, which has no shared libraries.

/// Why a program cannot run in a guest.
#[derive(Debug, Eq, PartialEq, thiserror::Error)]
pub enum Unfit {
    /// A script, or something else.
    #[error("it is not an ELF program")]
    NotElf,
    /// It needs a dynamic linker.
    #[error(
        "it needs a dynamic linker, and guests have no libraries; build it statically (for Rust: \
         a musl target, or RUSTFLAGS='-C target-feature=+crt-static')"
    )]
    Dynamic,
}

/// Checks that a program is an ELF file that names no interpreter.
pub fn check_static(program: &[u8]) -> Result<(), Unfit> {
    let class = match program.get(..6) {
        Some([0x7f, b'E', b'L', b'F', class, _]) => *class,
        _ => return Err(Unfit::NotElf),
    };
    let little = program.get(5) == Some(&1);
    let number = |at: usize, size: usize| -> Option<usize> {
        let bytes = program.get(at..at.checked_add(size)?)?;
        let add = |sum: usize, byte: &u8| (sum << 8) | usize::from(*byte);
        Some(if little { bytes.iter().rev().fold(0, add) } else { bytes.iter().fold(0, add) })
    };
    // Where the program headers are, how large one is, and how many there are.
    let (table, entry, count) = match class {
        1 => (number(0x1c, 4), number(0x2a, 2), number(0x2c, 2)),
        _ => (number(0x20, 8), number(0x36, 2), number(0x38, 2)),
    };
    let (Some(table), Some(entry), Some(count)) = (table, entry, count) else {
        return Err(Unfit::NotElf);
    };
    const INTERPRETER: usize = 3;
    let dynamic = (0..count).any(|i| {
        let header = table.checked_add(i * entry);
        header.and_then(|at| number(at, 4)) == Some(INTERPRETER)
    });
    if dynamic { Err(Unfit::Dynamic) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf(kind: u8) -> Vec<u8> {
        let mut program = vec![0; 0x40 + 0x38];
        program[..6].copy_from_slice(b"\x7fELF\x02\x01");
        program[0x20] = 0x40;
        program[0x36] = 0x38;
        program[0x38] = 1;
        program[0x40] = kind;
        program
    }

    #[test]
    fn an_interpreter_makes_a_program_unfit() {
        assert_eq!(check_static(&elf(1)), Ok(()));
        assert_eq!(check_static(&elf(3)), Err(Unfit::Dynamic));
        assert_eq!(check_static(b"#!/bin/sh\n"), Err(Unfit::NotElf));
        assert_eq!(check_static(&elf(3)[..0x22]), Err(Unfit::NotElf));
    }
}
