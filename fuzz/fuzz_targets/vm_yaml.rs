//! Files of the kind `Kubevirt`: findings or an error, and changes that can be made, once.

#![no_main]

use clocksmith_vm::Kind;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| clocksmith_fuzz::vm(Kind::Kubevirt, "file", data));
