//! The text of a panic. Its message may quote input, so programs print this text like any other: made visible.
//! Pure except for the stack, which is shown if `RUST_BACKTRACE` requests it.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::PanicHookInfo;

/// The text for a panic hook, with a line end.
#[must_use]
pub fn text(program: &str, info: &PanicHookInfo<'_>) -> String {
    let payload = info.payload();
    let message = payload.downcast_ref::<String>().map(String::as_str);
    let message = message.or_else(|| payload.downcast_ref::<&str>().copied());
    let message = message.unwrap_or("(no message)");
    let place = info.location().map_or_else(String::new, |place| format!(" at {place}"));
    let mut text = format!(
        "{program}: panicked{place}: {message}\nThis is a mistake in {program}; please report it with the command and \
         its input.\n"
    );
    let stack = Backtrace::capture();
    if stack.status() == BacktraceStatus::Captured {
        text.push_str(&format!("{stack}\n"));
    }
    text
}
