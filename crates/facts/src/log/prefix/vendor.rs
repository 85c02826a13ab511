//! Prefixes that modified kernels print between the time stamp and the message.

use super::stamp::seconds;
use crate::log::parse::begins_like_kernel;

/// A stamp with the number of the CPU in it, `1.510663@3`, or with the unit in front of the process,
/// `1.510663s][pid:1,cpu3,swapper/0]`.
pub(super) fn stamp(inside: &str, after: &str) -> Option<f64> {
    if let Some(stamp) = inside.strip_suffix('s') {
        return after.starts_with("[pid:").then(|| seconds(stamp))?;
    }
    let (stamp, cpu) = inside.split_once('@')?;
    let number = (1..=3).contains(&cpu.len()) && cpu.bytes().all(|byte| byte.is_ascii_digit());
    number.then(|| seconds(stamp))?
}

/// Returns whether text in brackets after the time stamp is a mark: the process, `pid:1,cpu3,swapper/0`, or `K` for the kernel.
pub(super) fn is_mark(inside: &str) -> bool {
    inside == "K" || inside.starts_with("pid:") && inside.contains(",cpu")
}

/// The prefix after the time stamp in kernels of telephones: `(0)[0:swapper/0]`, `I[0:      swapper/0:    1] `; a minus
/// sign shows that interrupts are off: `-(0)[1:swapper/0]`.
pub(super) fn of_task(rest: &str) -> Option<&str> {
    let rest = rest.strip_prefix('-').filter(|rest| rest.starts_with('(')).unwrap_or(rest);
    let open = rest.find('[').filter(|at| matches!(at, 1 | 3 | 4))?;
    let head = &rest[..open];
    let known = head.len() == 1 && head.bytes().all(|byte| byte.is_ascii_uppercase())
        || head.starts_with('(') && head.ends_with(')');
    let (inside, after) =
        rest[open + 1..].split_once(']').filter(|(inside, _)| inside.len() < 48)?;
    (known && inside.starts_with(|c: char| c.is_ascii_digit()) && inside.contains(':'))
        .then(|| behind_second_stamp(after))
}

/// The text behind a second time stamp with the number of the CPU: `[    1.447560]@7 `.
fn behind_second_stamp(rest: &str) -> &str {
    let behind = || {
        let (inside, after) = rest.strip_prefix('[')?.split_once("]@")?;
        let (cpu, message) = after.split_once(' ')?;
        let is_cpu = (1..=3).contains(&cpu.len()) && cpu.bytes().all(|b| b.is_ascii_digit());
        (is_cpu && seconds(inside.trim()).is_some()).then_some(message)
    };
    behind().unwrap_or(rest)
}

/// Whether such a prefix names the first process while it is still the kernel: `(6)[1:swapper/0]`.
pub(super) fn is_of_boot(rest: &str) -> bool {
    let process = rest.split_once('[').map(|(_, inside)| inside);
    of_task(rest).is_some() && process.is_some_and(|inside| inside.starts_with("1:swapper"))
}

/// The number of the CPU and the process, padded: `c0      0 `.
pub(super) fn of_cpu(rest: &str) -> Option<&str> {
    let (cpu, after) = rest.strip_prefix('c')?.split_once(' ')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(cpu) || cpu.len() > 3 {
        return None;
    }
    let (process, message) = after.split_at_checked(PROCESS)?;
    let padded = process.starts_with(' ') && digits(process.trim_start_matches(' '));
    message.strip_prefix(' ').filter(|_| padded)
}

/// The width of the printed process number.
const PROCESS: usize = 6;

/// The place of the print: `kernel/time/clocksource.c __clocksource_select `, `arch/x86/kernel/tsc.c:1234: `.
pub(super) fn source(rest: &str) -> Option<&str> {
    let (file, after) = rest.split_once([' ', '\t'])?;
    let path = file.trim_end_matches(':').split(':').next()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let named = [".c", ".h", ".S"].iter().any(|end| path.ends_with(end));
    if !(named && path.contains('/') && path.len() < 120 && path.chars().all(plain)) {
        return None;
    }
    let after = after.trim_start();
    let Some((function, message)) = after.split_once([' ', '\t']) else { return Some(after) };
    let name = function.trim_end_matches(':').trim_end_matches("()");
    let identifier = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    // The first word of a message may also look like the name of a function.
    let kernel = !begins_like_kernel(after);
    Some(if identifier && kernel { message } else { after })
}

/// The line after the node that `talosctl dmesg` prints before each: `10.5.0.2: kern: info: [DATE]:
/// `.
pub(super) fn behind_node(rest: &str) -> Option<&str> {
    let (node, line) = rest.split_once(": ")?;
    let is_node = (1..=64).contains(&node.len())
        && node.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte));
    (is_node && is_of_talos(line)).then_some(line)
}

/// `kern:    info: [2021-11-04T19:09:39.462Z]: `.
pub(super) fn is_of_talos(line: &str) -> bool {
    let level = line.strip_prefix("kern:").map(str::trim_start);
    let date = level.and_then(|rest| rest.split_once(": [")).map(|(_, rest)| rest);
    date.and_then(|rest| rest.split_once("]:"))
        .is_some_and(|(date, _)| date.len() < 40 && date.contains('T') && date.ends_with('Z'))
}

/// A line that a test runner's command printed, which begins with the kernel's time stamp, behind the date, the thread, the level and
/// the name of the runner's logger (Microsoft's LISA): `2025-06-03 17:51:16.319[1492][DEBUG] lisa.node[0].cmd[6].stdout [    1.6] `.
pub(super) fn behind_logger(line: &str) -> Option<&str> {
    let (date, rest) = line.split_once(' ')?;
    let (time, rest) = rest.split_once(' ')?;
    let (name, message) = rest.split_once(' ')?;
    let (time, rest) = time.split_once('[')?;
    let (thread, level) = rest.strip_suffix(']')?.split_once("][")?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let of_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b"-:.,".contains(&b));
    let is_logger = date.len() == 10
        && of_digits(date)
        && of_digits(time)
        && is_number(thread)
        && level.bytes().all(|b| b.is_ascii_uppercase())
        && (name.ends_with(".stdout") || name.ends_with(".stderr"));
    (is_logger && super::printk_stamp(message).is_some()).then_some(message)
}

#[cfg(test)]
mod tests {
    use super::{behind_logger, of_cpu, of_task, source};

    #[test]
    fn second_stamp_with_the_number_of_the_cpu_is_of_the_prefix() {
        for (line, message) in [
            ("(7)[1:swapper/0][    1.447560]@7 clocksource: x", "clocksource: x"),
            ("(0)[0:swapper][    0.000000]@0 Linux version", "Linux version"),
            ("(7)[1:swapper/0][    1.447560] clocksource: x", "[    1.447560] clocksource: x"),
            ("(7)[1:swapper/0][a]@7 x", "[a]@7 x"),
        ] {
            assert_eq!(of_task(line), Some(message), "{line}");
        }
    }

    #[test]
    fn line_of_a_test_runner_is_taken_off_before_the_stamp_of_a_kernel() {
        let front = "2025-06-03 17:51:16.319[1492][DEBUG] lisa.env[generated_335].node[0].cmd[6133].stdout ";
        let message = "[    1.647724] clocksource: Switched to clocksource tsc";
        assert_eq!(behind_logger(&format!("{front}{message}")), Some(message));
        for line in [
            format!("{front}clocksource: Switched to clocksource tsc"),
            format!("{}{message}", front.replace(".stdout", "")),
            format!("{}{message}", front.replace("[1492]", "[x]")),
            format!("x {front}{message}"),
        ] {
            assert_eq!(behind_logger(&line), None, "{line}");
        }
    }

    #[test]
    fn task_is_taken_off_with_and_without_interrupts() {
        for line in [
            "(4)[1:swapper/0]x",
            "-(4)[1:swapper/0]x",
            "-(12)[1:swapper/0]x",
            "I[0:swapper:    1]x",
        ] {
            assert_eq!(of_task(line), Some("x"), "{line}");
        }
        for other in ["-[1:swapper/0]x", "--(4)[1:swapper/0]x", "(4)[swapper]x"] {
            assert_eq!(of_task(other), None, "{other}");
        }
    }

    #[test]
    fn cpu_and_process_are_taken_off_where_they_are_padded() {
        let message = "Switching to clocksource mct-frc";
        for line in ["c0      1 ", "c3   2409 ", "c12      7 "] {
            assert_eq!(of_cpu(&format!("{line}{message}")), Some(message), "{line}");
        }
        for other in
            ["c0 ", "clocksource: tsc", "c1 123456 b", "c0      1", "c0      x a", "c        0"]
        {
            assert_eq!(of_cpu(other), None, "{other}");
        }
    }

    #[test]
    fn file_and_function_are_taken_off_and_the_message_is_left() {
        for (line, message) in [
            (
                "kernel/time/clocksource.c __clocksource_select clocksource: Switched to clocksource tsc",
                "clocksource: Switched to clocksource tsc",
            ),
            (
                "kernel/time/clocksource.c clocksource: Switched to clocksource tsc",
                "clocksource: Switched to clocksource tsc",
            ),
            ("./init/main.c:1005: start_kernel(): Linux version 6.1.0", "Linux version 6.1.0"),
            ("arch/x86/kernel/tsc.c Switched to clocksource tsc", "Switched to clocksource tsc"),
        ] {
            assert_eq!(source(line), Some(message), "{line}");
        }
        for other in ["clocksource: tsc", "a.c: b", "usb 1-1: /dev/x.c y", "kernel/x.c"] {
            assert_eq!(source(other), None, "{other}");
        }
    }
}
