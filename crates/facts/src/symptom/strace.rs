//! `strace`, also with `-T`, `-r`, `-t` and `-f`: calls that read a clock, one per line. ltrace prints calls of
//! libraries in the same form, with numbers and addresses for the arguments.

use super::{Calls, Seen};
use crate::paste::{Page, Reader};

pub(super) const READER: Reader = Reader {
    name: "strace",
    words: &["clock_gettime(", "clock_gettime64(", "clock_gettime32(", "gettimeofday(", "time("],
    read,
};

/// The largest number of lines of other calls between two.
const GAP: usize = 40;

fn read(page: &mut Page<'_>, at: usize) -> usize {
    if call(page.line(at)).is_none() {
        return 0;
    }
    let mut found: Vec<(Calls, f64, u64)> = Vec::new();
    let mut last = at;
    let mut of_library = false;
    for number in at..page.len() {
        if number - last > GAP || page.is_prompt(number) {
            break;
        }
        let Some(one) = call(page.line(number)) else { continue };
        last = number;
        of_library |= one.of_library;
        let entry = match found.iter().position(|(calls, ..)| calls.call == one.name) {
            Some(known) => &mut found[known],
            None => {
                let calls = Calls { call: one.name.to_owned(), ..Calls::default() };
                found.push((calls, 0.0, 0));
                let at = found.len() - 1;
                &mut found[at]
            }
        };
        entry.0.count += 1;
        if let Some(clock) = one.clock {
            let room = entry.0.clocks.len() < 16;
            match entry.0.clocks.iter_mut().find(|(name, _)| name == clock) {
                Some((_, count)) => *count += 1,
                None if room => entry.0.clocks.push((clock.to_owned(), 1)),
                None => {}
            }
        }
        if let Some(seconds) = one.seconds {
            entry.1 += seconds * 1e6;
            entry.2 += 1;
        }
    }
    for (mut calls, us, timed) in found {
        calls.us = (timed > 0).then(|| us / timed as f64);
        calls.clocks.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        calls.of_library = of_library;
        page.symptom(at, if of_library { LTRACE } else { READER.name }, Seen::Calls(calls));
    }
    last + 1 - at
}

/// The same lines by ltrace.
const LTRACE: &str = "ltrace";

struct Call<'a> {
    name: &'static str,
    clock: Option<&'a str>,
    seconds: Option<f64>,
    of_library: bool,
}

/// `[pid 42] 0.000034 clock_gettime(CLOCK_MONOTONIC, {tv_sec=1, tv_nsec=2}) = 0 <0.000012>`.
fn call(line: &str) -> Option<Call<'_>> {
    const NAMES: [&str; 5] =
        ["clock_gettime64", "clock_gettime32", "clock_gettime", "gettimeofday", "time"];
    let (at, name) = NAMES.into_iter().find_map(|name| {
        let at = line.find(&format!("{name}("))?;
        Some((at, name))
    })?;
    let before = &line[..at];
    // In front of it are process ids and times; code has a word or an equals sign there.
    let plain = |word: &str| {
        let word = word.trim_matches(['[', ']', '(', ')', '+', ',', '|']);
        word.is_empty()
            || word == "pid"
            || word.bytes().all(|b| b.is_ascii_digit() || b".:".contains(&b))
    };
    if !before.split_ascii_whitespace().all(plain)
        || !before.is_empty() && !before.ends_with([' ', '\t', ']', '|'])
    {
        return None;
    }
    let arguments = &line[at + name.len() + 1..];
    let result = arguments.rsplit_once(" = ").map(|(_, result)| result);
    let unfinished = arguments.contains("<unfinished");
    let value = result.and_then(|result| result.split_ascii_whitespace().next());
    if !unfinished
        && !value.is_some_and(|value| value.bytes().all(|b| b.is_ascii_digit() || b == b'-'))
    {
        return None;
    }
    let clock = arguments.split([',', ')', ' ']).next();
    let clock = clock.filter(|clock| {
        name.starts_with("clock_") && clock.starts_with("CLOCK_") && clock.len() < 40
    });
    // A clock of a process or a thread is built from its id.
    let built = name.starts_with("clock_") && clock.is_none() && arguments.contains("CPUCLOCK_");
    let seconds = result.and_then(|result| {
        let (_, time) = result.rsplit_once('<')?;
        time.trim_end().strip_suffix('>')?.parse().ok().filter(|s: &f64| (0.0..100.0).contains(s))
    });
    // strace names the clock, or marks one that it does not know; ltrace prints its number, and addresses that it does not
    // follow.
    let first = arguments.split(',').next().unwrap_or_default().trim();
    let by_number = !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit());
    let of_library = name.starts_with("clock_") && by_number && arguments.contains(", 0x");
    let clock = if built { Some("CPUCLOCK") } else { clock };
    Some(Call { name, clock, seconds, of_library })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_32_bits_and_quoted_calls_are_read() {
        for front in ["", "| ", "[pid 42] ", "| [pid 42] "] {
            for name in ["clock_gettime", "clock_gettime64"] {
                let line = format!("{front}{name}(CLOCK_MONOTONIC, {{tv_sec=1, tv_nsec=2}}) = 0");
                assert_eq!(call(&line).map(|call| call.name), Some(name), "{line}");
                assert!(READER.words.iter().any(|word| line.contains(word)), "{line}");
            }
        }
        assert!(call("x | clock_gettime(CLOCK_MONOTONIC, &t) = 0").is_none());
    }

    #[test]
    fn calls_of_libraries_have_numbers_for_names() {
        let of_library = |line: &str| call(line).map(|call| call.of_library);
        assert_eq!(of_library("clock_gettime(1, 0x7ffc0c8b7d50, 0, 0x7f1a)  = 0"), Some(true));
        assert_eq!(of_library("clock_gettime(CLOCK_MONOTONIC, 0x7ffc0c8b7d50) = -1"), Some(false));
        assert_eq!(
            of_library("clock_gettime(CLOCK_REALTIME, {tv_sec=1, tv_nsec=2}) = 0"),
            Some(false)
        );
    }
}
