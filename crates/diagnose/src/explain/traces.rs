//! Traces of system calls that show no read of a clock: a table whose calls wait, and lines of threads that wait.

use super::wall_words::{has, small};

/// The page of the tool.
const PAGE: &str = "strace";
/// Calls that wait.
const WAITS: [&str; 14] = [
    "nanosleep",
    "clock_nanosleep",
    "futex",
    "poll",
    "ppoll",
    "select",
    "pselect6",
    "epoll_wait",
    "epoll_pwait",
    "wait4",
    "waitid",
    "pause",
    "sigsuspend",
    "rt_sigtimedwait",
];
/// Calls that read a clock.
const READS: [&str; 5] =
    ["clock_gettime", "clock_gettime64", "gettimeofday", "time", "clock_getres"];
/// The head of a table, and words around it which show that its times are meant.
const HEAD: &str = "usecs/call";
const WALL: [&str; 3] = ["-w ", "-wc", "--summary-wall-clock"];
/// Lines of waiting threads from which on a text is a trace.
const LINES: usize = 2;

const TABLE_SAYS: &str = "`strace -c` counts the CPU time of system calls: a sleep or a wait costs almost none, so the table shows no fault of \
                          a clock, and no read of one. `strace -c -w` counts the time that passed.";
const LINES_SAY: &str = "The trace in this text shows threads that wait (futex, poll and similar calls), and no read of a clock by system call.";

/// The page, and the sentence that answers the text.
pub(super) fn of_text(text: &str) -> Option<(&'static str, &'static str)> {
    let small = small(text);
    if small.contains(HEAD) {
        return is_table(&small).then_some((PAGE, TABLE_SAYS));
    }
    let lines = || small.lines().filter_map(call);
    let waits = lines().filter(|call| WAITS.contains(call)).count();
    (waits >= LINES && !lines().any(|call| READS.contains(&call))).then_some((PAGE, LINES_SAY))
}

/// Whether the rows of a table have a call that waits, and none that reads a clock.
fn is_table(small: &str) -> bool {
    let is_waited = WALL.iter().any(|word| small.contains(word));
    let rows = || {
        small.lines().filter_map(|line| {
            let mut words = line.split_ascii_whitespace();
            let first: f64 = words.next()?.parse().ok()?;
            (0.0..=100.0).contains(&first).then(|| words.next_back()).flatten()
        })
    };
    !is_waited
        && rows().any(|name| WAITS.contains(&name))
        && !rows().any(|name| READS.contains(&name))
}

/// The call of a line of a trace: `[pid 7] 08:52:00.3 futex(0x1, FUTEX_WAIT, ...`, and as ctrace prints it `futex, 202 -- ...`.
fn call(line: &str) -> Option<&'static str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_trace = line.contains(") = ")
        || line.contains("<unfinished")
        || line.contains("resumed>")
        || line.contains(" -- ");
    let names = WAITS.iter().chain(&READS).filter(|name| has(line, name, false, is_part));
    let is_called =
        |name: &&&str| line.contains(&format!("{name}(")) || line.contains(&format!("{name}, "));
    names.filter(is_called).find(|_| is_trace).copied()
}

#[cfg(test)]
mod tests {
    use super::of_text;

    const HEAD: &str = "% time     seconds  usecs/call     calls    errors syscall\n";

    #[test]
    fn a_table_of_a_sleep_counts_cpu_time() {
        let sleep = "  6.93    0.000033          33         1           nanosleep\n";
        let read = "  9.93    0.000033          33       100           clock_gettime\n";
        let said = |text: &str| of_text(text).map(|(_, said)| said.contains("CPU time"));
        assert_eq!(said(&format!("$ strace -f -c sleep 1\n{HEAD}{sleep}")), Some(true));
        assert_eq!(said(&format!("$ strace -c x\n{HEAD}{sleep}{read}")), None);
        assert_eq!(said(&format!("$ strace -c -w x\n{HEAD}{sleep}")), None);
        assert_eq!(said(HEAD), None);
    }

    #[test]
    fn threads_that_wait_read_no_clock() {
        let wait =
            "[pid 7] 08:52:00.3 futex(0x1df, FUTEX_WAIT_PRIVATE, 660, NULL <unfinished ...>\n";
        let read = "[pid 7] 08:52:00.3 clock_gettime(CLOCK_MONOTONIC, {1, 2}) = 0\n";
        assert!(of_text(&format!("gettimeofday is high\n{wait}{wait}")).is_some());
        assert!(of_text(&format!("{wait}{wait}{read}")).is_none());
        assert!(of_text("futex, poll and select wait\nfutex, poll").is_none());
    }
}
