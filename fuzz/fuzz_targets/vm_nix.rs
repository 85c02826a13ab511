//! Domains of libvirt in Nix, which the ending of the file's name selects: findings or an error, and no change.

#![no_main]

use clocksmith_vm::Kind;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| clocksmith_fuzz::vm(Kind::Libvirt, "file.nix", data));
