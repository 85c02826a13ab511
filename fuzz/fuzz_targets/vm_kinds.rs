//! Files of every kind in the registry, after a kind's sample or alone: findings or an error, and
//! changes that can be made, once.

#![no_main]

use clocksmith_vm::Kind;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else { return };
    let kinds: Vec<Kind> = Kind::all().collect();
    let kind = kinds[usize::from(first >> 1) % kinds.len()];
    let (name, sample) = kind.sample();
    let before = if first & 1 == 0 { sample.as_bytes() } else { b"" };
    clocksmith_fuzz::vm(kind, name, &[before, rest].concat());
});
