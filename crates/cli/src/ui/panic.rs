//! Panics: their messages are printed as all text is.

use super::err;
use clocksmith_facts::panicked;

/// From now on a panic restores the terminal, and invisible characters of its message are shown by name.
pub(crate) fn listen() {
    std::panic::set_hook(Box::new(|info| {
        super::screen::put_back();
        err::text(&panicked::text("clocksmith", info));
    }));
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    /// The message of a panic goes where the program's would.
    #[test]
    fn message_of_a_panic_is_made_visible() {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "ui::panic::tests::child", "--ignored", "--nocapture"]);
        let output = child.env_remove("RUST_BACKTRACE").output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("clocksmith: panicked at "), "{said}");
        assert!(said.contains("name <ESC>]0;pwn<BEL> <U+202E>"), "{said}");
        assert!(!said.contains(['\x1b', '\u{202e}', '\x07']), "{said:?}");
    }

    #[test]
    #[ignore = "panics; run by the test above"]
    fn child() {
        super::listen();
        panic!("name {}", "\x1b]0;pwn\x07 \u{202e}");
    }
}
