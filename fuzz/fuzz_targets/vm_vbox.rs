//! VirtualBox machines and scripts: any text is linted or refused; what is proposed can be done, and comes to an end.

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
    clocksmith_fuzz::lint(Kind::Virtualbox, name, &text);
});
