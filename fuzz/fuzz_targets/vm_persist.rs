//! Files that keep a choice of clocksource: any text is linted or refused; what is proposed can be done, and comes to an end.

#![no_main]

use clocksmith_vm::Kind;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    for name in ["x.sh", "/etc/default/grub", "/etc/kernel/cmdline"] {
        clocksmith_fuzz::lint(Kind::Persistence, name, &text);
    }
    clocksmith_fuzz::lint(Kind::Tuned, "tuned.conf", &text);
});
