//! Files that keep a choice of clocksource: findings or an error, and changes that can be made, once.

#![no_main]

use clocksmith_vm::Kind;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for name in ["x.sh", "/etc/default/grub", "/etc/kernel/cmdline"] {
        clocksmith_fuzz::vm(Kind::Persistence, name, data);
    }
    clocksmith_fuzz::vm(Kind::Tuned, "tuned.conf", data);
});
