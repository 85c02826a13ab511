//! VirtualBox machines and scripts: findings or an error, and changes that can be made, once.

#![no_main]

use clocksmith_vm::Kind;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let name = if text.starts_with('<') { "m.vbox" } else { "x.sh" };
    // A script whose first line goes must not look like XML then.
    if name == "x.sh" && text.contains('<') {
        return;
    }
    clocksmith_fuzz::vm(Kind::Virtualbox, name, data);
});
