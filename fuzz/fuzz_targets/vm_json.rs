//! Firecracker and Cloud Hypervisor: findings or an error, and changes that can be made, once.

#![no_main]

use clocksmith_vm::Kind;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    clocksmith_fuzz::vm(Kind::Firecracker, "vm.json", data);
    clocksmith_fuzz::vm(Kind::CloudHypervisor, "vm.json", data);
});
