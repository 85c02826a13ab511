//! The auxiliary vector on the stack of a program that has not begun.

/// Number of vDSO's address in it.
pub(crate) const AT_SYSINFO_EHDR: u64 = 33;
pub(crate) const AT_SECURE: u64 = 23;
pub(crate) const AT_HWCAP2: u64 = 26;
/// Reading FS is allowed (`HWCAP2_FSGSBASE`, since 5.9).
pub(crate) const HWCAP2_FSGSBASE: u64 = 2;

/// Finds the auxiliary vector in a stack, which begins with the number of arguments: each entry with
/// the offset of its value from there. `None` if it is truncated or is not a stack.
pub(crate) fn auxiliary(stack: &[u8]) -> Option<Vec<(u64, u64, usize)>> {
    let word = |index: usize| -> Option<u64> {
        let at = index.checked_mul(8)?;
        Some(u64::from_le_bytes(stack.get(at..at.checked_add(8)?)?.try_into().ok()?))
    };
    let arguments = usize::try_from(word(0)?).ok()?;
    // Arguments and their end, then the environment and its end.
    let mut at = arguments.checked_add(1)?;
    if word(at)? != 0 {
        return None;
    }
    at = at.checked_add(1)?;
    while word(at)? != 0 {
        at += 1;
    }
    at += 1;
    let mut found = Vec::new();
    loop {
        let (kind, value) = (word(at)?, word(at + 1)?);
        if kind == 0 {
            return Some(found);
        }
        found.push((kind, value, (at + 1) * 8));
        at += 2;
    }
}

/// The value of one kind, with its offset.
pub(crate) fn value(vector: &[(u64, u64, usize)], wanted: u64) -> Option<(u64, usize)> {
    vector.iter().find(|(kind, ..)| *kind == wanted).map(|(_, value, at)| (*value, *at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn a_stack_is_read() {
        let whole = stack(&[2, 100, 101, 0, 102, 0, 6, 4096, 33, 0x7000, 0, 0]);
        let found = auxiliary(&whole).unwrap();
        assert_eq!(value(&found, AT_SYSINFO_EHDR), Some((0x7000, 72)));
        assert_eq!(value(&found, 6), Some((4096, 56)));
        assert_eq!(value(&found, AT_SECURE), None);
        for length in 0..whole.len() - 8 {
            assert_eq!(auxiliary(&whole[..length]), None, "{length}");
        }
        // Without arguments and environment.
        assert_eq!(auxiliary(&stack(&[0, 0, 0, 0, 0])), Some(vec![]));
        assert_eq!(auxiliary(&stack(&[u64::MAX, 0, 0, 0])), None);
        assert_eq!(auxiliary(&stack(&[1, 5, 5, 0])), None);
    }
}
