//! The destination of this program's output and of that of its commands.

use crate::kept::Kept;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a line could not be written, to a full disk for example.
static LOST: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The lines of a step that runs beside another one, until it has ended.
    static KEPT: RefCell<Option<Kept>> = const { RefCell::new(None) };
}

/// Prints lines. A closed reader ends nothing: steps continue, and the exit code shows their result.
pub(crate) fn write(lines: &[u8]) {
    let kept = KEPT.with_borrow_mut(|kept| match kept {
        Some(kept) => {
            kept.add(lines);
            true
        }
        None => false,
    });
    if !kept {
        print(lines);
    }
}

#[cfg(not(test))]
fn print(lines: &[u8]) {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    if let Err(error) = out.write_all(lines).and_then(|()| out.flush()) {
        lost(&error);
    }
}

/// Where tests are captured.
#[cfg(test)]
fn print(lines: &[u8]) {
    print!("{}", String::from_utf8_lossy(lines));
}

/// Notes why a line could not be written. Who closes a pipe does not want more lines.
#[cfg_attr(test, expect(dead_code))]
fn lost(error: &std::io::Error) {
    if error.kind() != std::io::ErrorKind::BrokenPipe && !LOST.swap(true, Ordering::Relaxed) {
        eprintln!("test.sh: writing the output: {error}");
    }
}

pub(crate) fn is_lost() -> bool {
    LOST.load(Ordering::Relaxed)
}

/// Returns the result of `work`, and the output of this thread during it.
pub(crate) fn keep<T>(work: impl FnOnce() -> T) -> (T, String) {
    KEPT.set(Some(Kept::default()));
    let result = work();
    (result, KEPT.take().unwrap_or_default().text())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keep_lines_are_those_of_the_thread_alone() {
        let (number, kept) = keep(|| {
            std::thread::spawn(|| write(b"elsewhere\n")).join().unwrap();
            say!("{} {}", "here", 1);
            7
        });
        assert_eq!((number, kept.as_str()), (7, "here 1\n"));
        let ((), kept) = keep(|| ());
        assert!(kept.is_empty());
    }
}
