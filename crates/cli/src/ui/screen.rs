//! The terminal while a verb uses the whole screen (`who --top`), and its restoration, even after a forced end (the
//! second signal of a kind, [`clocksmith_measure::interrupt`]) or a panic. The restoration may run in a signal
//! handler, so it makes only two system calls.

use std::sync::atomic::{AtomicBool, Ordering};

/// Shows the cursor, leaves the other screen.
#[cfg(feature = "who")]
const LEAVE: &[u8] = b"\x1b[?25h\x1b[?1049l";

/// Whether the terminal is drawn on.
static DRAWN: AtomicBool = AtomicBool::new(false);

#[cfg(feature = "who")]
static BEFORE: std::sync::OnceLock<(std::os::fd::RawFd, libc::termios)> =
    std::sync::OnceLock::new();

/// Puts the terminal back, if it is drawn on.
pub(crate) fn put_back() {
    let drawn = DRAWN.swap(false, Ordering::SeqCst);
    #[cfg(not(feature = "who"))]
    let _ = drawn;
    #[cfg(feature = "who")]
    if let (true, Some((terminal, settings))) = (drawn, BEFORE.get()) {
        // SAFETY: both calls are allowed in a signal handler; the pointers are to statics.
        unsafe {
            libc::tcsetattr(*terminal, libc::TCSANOW, settings);
            libc::write(libc::STDOUT_FILENO, LEAVE.as_ptr().cast(), LEAVE.len());
        }
    }
}

/// The terminal, as long as it is drawn on. The terminal of the library is never dropped: its `drop` prints an error if
/// the terminal no longer exists, and that print panics if standard error was the same terminal.
#[cfg(feature = "who")]
pub(crate) struct Screen(pub(crate) std::mem::ManuallyDrop<ratatui::DefaultTerminal>);

#[cfg(feature = "who")]
impl Screen {
    /// Takes the terminal.
    pub(crate) fn take() -> std::io::Result<Self> {
        use std::os::fd::{AsRawFd, IntoRawFd};
        let mut terminal = std::io::stdin().as_raw_fd();
        // SAFETY: queries a file descriptor, which may be any number.
        if unsafe { libc::isatty(terminal) } == 0 {
            terminal = std::fs::File::open("/dev/tty")?.into_raw_fd();
        }
        // SAFETY: all bits zero are a value of this structure of integers.
        let mut settings: libc::termios = unsafe { std::mem::zeroed() };
        // SAFETY: the pointer is to a live value of the right type.
        if unsafe { libc::tcgetattr(terminal, &raw mut settings) } != 0 {
            return Err(std::io::Error::last_os_error());
        }
        let _ = BEFORE.set((terminal, settings));
        clocksmith_measure::interrupt::before_forced_end(put_back);
        DRAWN.store(true, Ordering::SeqCst);
        ratatui::try_init().map(std::mem::ManuallyDrop::new).map(Self).inspect_err(|_| put_back())
    }
}

/// Returns whether the terminal of the keyboard has gone: a read of it ends at once, for ever.
#[cfg(feature = "who")]
pub(crate) fn has_gone() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let Some((terminal, _)) = BEFORE.get() else { return false };
    // SAFETY: the descriptor is standard input, or one that this program opened and never closes.
    let terminal = unsafe { std::os::fd::BorrowedFd::borrow_raw(*terminal) };
    let mut fds = [PollFd::new(&terminal, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&now)).is_ok()
        && fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL)
}

#[cfg(feature = "who")]
impl Drop for Screen {
    fn drop(&mut self) {
        let _ = ratatui::try_restore();
        put_back();
    }
}

#[cfg(feature = "who")]
#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Returns the terminal's output, and whether the terminal's settings are restored.
    fn ended_by(child: &str) -> Option<(String, bool)> {
        let program = std::env::current_exe().unwrap();
        let program = program.to_str().unwrap();
        let command = format!(
            "stty rows 24 cols 80; stty -g; {program} --exact ui::screen::tests::{child} --ignored --nocapture; \
             echo; stty -g"
        );
        // Away from the tests' own terminal, if they have one.
        let mut script = Command::new("script");
        script.args(["-q", "-e", "-c", &command, "/dev/null"]).env("TERM", "xterm");
        let output = script.stdin(std::process::Stdio::null()).output().ok()?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let settings = |line: &&str| line.matches(':').count() > 20 && !line.contains(' ');
        let all: Vec<&str> = said.lines().map(str::trim).filter(settings).collect();
        assert_eq!(all.len(), 2, "{said:?}");
        Some((said.clone(), all[0] == all[1]))
    }

    fn is_put_back(child: &str) {
        let Some((said, same)) = ended_by(child) else { return };
        let entered = said.find("\x1b[?1049h").unwrap_or_else(|| panic!("{said:?}"));
        let after = &said[entered..];
        assert!(after.contains("\x1b[?25h") && after.contains("\x1b[?1049l"), "{said:?}");
        assert!(!after.contains("unreachable"), "{said:?}");
        assert!(same, "{said:?}");
    }

    fn draw() -> Screen {
        let mut screen = Screen::take().unwrap();
        screen
            .0
            .draw(|frame| frame.render_widget(ratatui::widgets::Paragraph::new("x"), frame.area()))
            .unwrap();
        screen
    }

    #[test]
    fn terminal_is_put_back_by_the_second_signal() {
        for child in ["child_sigint", "child_sigterm", "child_sighup"] {
            is_put_back(child);
        }
    }

    #[test]
    fn terminal_is_put_back_by_a_panic() {
        is_put_back("child_panic");
    }

    fn twice(signal: libc::c_int) {
        // SAFETY: the default action. Tests that run in the background inherit that it is ignored, which `listen` respects.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
        clocksmith_measure::interrupt::listen();
        let _screen = draw();
        // SAFETY: sends signals to this process, for which there is a handler.
        unsafe { libc::kill(libc::getpid(), signal) };
        for _ in 0..60_000 {
            if clocksmith_measure::interrupt::wished() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        // SAFETY: as above.
        unsafe { libc::kill(libc::getpid(), signal) };
        std::thread::sleep(std::time::Duration::from_secs(60));
        println!("unreachable");
    }

    #[test]
    #[ignore = "ends by a signal; run by a test above"]
    fn child_sigint() {
        twice(libc::SIGINT);
    }

    #[test]
    #[ignore = "ends by a signal; run by a test above"]
    fn child_sigterm() {
        twice(libc::SIGTERM);
    }

    #[test]
    #[ignore = "ends by a signal; run by a test above"]
    fn child_sighup() {
        twice(libc::SIGHUP);
    }

    #[test]
    #[ignore = "panics; run by a test above"]
    fn child_panic() {
        super::super::panic::listen();
        let _screen = draw();
        let hook = std::panic::take_hook();
        // As in the shipped program, which ends at once.
        std::panic::set_hook(Box::new(move |info| {
            hook(info);
            // SAFETY: ends this process, independent of its threads.
            unsafe { libc::_exit(101) }
        }));
        panic!("on purpose");
    }
}
