//! UTM property lists, by the first byte: findings or an error, and changes that can be made, once.

#![no_main]

use clocksmith_vm::Kind;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    const KINDS: &[(Kind, &str)] = &[(Kind::Utm, "config.plist")];
    let Some((first, rest)) = data.split_first() else { return };
    let (kind, name) = KINDS[usize::from(*first) % KINDS.len()];
    clocksmith_fuzz::vm(kind, name, rest);
});
