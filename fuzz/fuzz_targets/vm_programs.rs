//! Programs that start QEMU, in the language of the first byte: findings or an error, and changes that can be made, once.

#![no_main]

use clocksmith_vm::Kind;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    const NAMES: &[&str] =
        &["main.go", "main.rs", "Main.java", "run.js", "run.py", "run.lua", "vm.nix"];
    let Some((first, rest)) = data.split_first() else { return };
    clocksmith_fuzz::vm(Kind::Qemu, NAMES[usize::from(*first) % NAMES.len()], rest);
});
