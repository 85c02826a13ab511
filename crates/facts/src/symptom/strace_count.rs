//! `strace -c`: a table of calls; `ltrace -c`, whose table has the same columns and counts functions of libraries.

use super::{Calls, Seen};
use crate::paste::{Page, Reader};

pub(super) const READER: Reader =
    Reader { name: "strace -c", words: &["usecs/call", "clock_gettime", "gettimeofday"], read };

/// Most lines of a table.
const LINES: usize = 400;

fn read(page: &mut Page<'_>, at: usize) -> usize {
    let head = page.line(at);
    let is_head = head.contains("% time") && (head.contains("syscall") || is_of_library(head));
    // The head may be cut off: the columns of a row agree with each other.
    if !is_head && row(page.line(at)).is_none() {
        return 0;
    }
    let begin = at + usize::from(is_head);
    let mut end = begin;
    let mut of_library = is_of_library(head);
    let mut found = Vec::new();
    // Where all times are zero, there are no shares.
    let mut has_times = false;
    for number in begin..page.len().min(at + LINES) {
        let line = page.line(number).trim();
        if line.is_empty() {
            continue;
        }
        let is_rule = line.bytes().all(|byte| byte == b'-' || byte == b' ');
        let is_row =
            line.split_ascii_whitespace().next().is_some_and(|word| number_of(word).is_some());
        if !is_rule && !is_row {
            break;
        }
        let seconds = line.split_ascii_whitespace().nth(1).map(|word| word.replace(',', "."));
        has_times |= seconds.and_then(|it| it.parse::<f64>().ok()).is_some_and(|it| it > 0.0);
        let name = line.split_ascii_whitespace().next_back();
        of_library |= name.is_some_and(|name| OF_LIBRARY.contains(&name));
        if let Some(row) = row(line) {
            found.push((number, row));
        }
        end = number + 1;
    }
    let tool = if of_library { LTRACE } else { READER.name };
    for (number, row) in found {
        let calls = Calls {
            call: row.name.to_owned(),
            count: row.count,
            us: (row.us > 0.0).then_some(row.us),
            percent: has_times.then_some(row.percent),
            of_table: true,
            failed: row.failed,
            of_library,
            ..Calls::default()
        };
        page.symptom(number, tool, Seen::Calls(calls));
    }
    end - at
}

/// The same table by ltrace.
const LTRACE: &str = "ltrace -c";
/// Functions of the C library that are not system calls: a table that has one of them counts functions.
const OF_LIBRARY: [&str; 10] = [
    "malloc", "free", "calloc", "realloc", "memcpy", "memset", "strlen", "strcmp", "printf", "puts",
];

/// `% time     seconds  usecs/call     calls      function`.
fn is_of_library(line: &str) -> bool {
    line.contains("% time") && line.trim_end().ends_with(" function")
}

/// A row of a call that reads a clock.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Row<'a> {
    percent: f64,
    us: f64,
    count: u64,
    failed: u64,
    name: &'a str,
}

/// ` 91.20    0.812345          10     75000           clock_gettime`, with the number of errors before the name, if
/// there were any.
fn row(line: &str) -> Option<Row<'_>> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let (name, numbers) = words.split_last()?;
    if !matches!(*name, "clock_gettime" | "clock_gettime64" | "gettimeofday" | "time") {
        return None;
    }
    let percent: f64 = number_of(numbers.first()?).filter(|share| (0.0..=100.0).contains(share))?;
    // Only this column has digits after the point, six of them: a number before the row moves it.
    let seconds = numbers.get(1).filter(|word| word.contains(['.', ',']))?.replace(',', ".");
    let seconds: f64 = seconds.parse().ok().filter(|seconds| (0.0..1e9).contains(seconds))?;
    let third = *numbers.get(2)?;
    let (us, count) = match numbers.get(3) {
        Some(count) => (third.parse().ok()?, count.parse().ok()?),
        None => parted(third, seconds)?,
    };
    let failed = numbers.get(4).and_then(|word| word.parse().ok()).unwrap_or(0).min(count);
    ((1..1_000_000_000_000_000).contains(&count) && agree(seconds, us, count)).then_some(Row {
        percent,
        us,
        count,
        failed,
        name,
    })
}

/// `99.44`, and `99,44` in the languages that write it so.
fn number_of(word: &str) -> Option<f64> {
    let comma = word.split_once(',').filter(|(_, part)| part.len() == 2);
    match comma {
        Some((whole, part)) => format!("{whole}.{part}").parse().ok(),
        None => word.parse().ok(),
    }
}

/// Whether the mean is that of the sum: strace rounds it down.
#[allow(clippy::cast_precision_loss)]
fn agree(seconds: f64, us: f64, count: u64) -> bool {
    let mean = seconds * 1e6 / count as f64;
    // The sum is also rounded.
    (mean - us).abs() <= 1.0 + mean * 0.01
}

/// The mean and the number of calls where a copy of a web page has lost the blanks between them: the one place at which the
/// mean is that of the sum.
fn parted(word: &str, seconds: f64) -> Option<(f64, u64)> {
    if !word.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut places = (1..word.len()).filter_map(|at| {
        let (us, count) = word.split_at(at);
        let whole = !count.starts_with('0') && (us == "0" || !us.starts_with('0'));
        let (us, count) = (us.parse::<f64>().ok()?, count.parse::<u64>().ok()?);
        (whole && agree(seconds, us, count)).then_some((us, count))
    });
    let found = places.next()?;
    places.next().is_none().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<(f64, u64)> {
        row(line).map(|row| (row.us, row.count))
    }

    #[test]
    fn rows_are_read_with_and_without_errors() {
        assert_eq!(
            of(" 96.62   22.894570         422     54182           clock_gettime"),
            Some((422.0, 54182))
        );
        assert_eq!(
            of(" 96.62   22.894570         422     54182         3 clock_gettime"),
            Some((422.0, 54182))
        );
        assert_eq!(
            of("100.00    0.003379           0    156119           gettimeofday"),
            Some((0.0, 156_119))
        );
        assert_eq!(of("100.00    0.003379           0    156119           futex"), None);
    }

    #[test]
    fn rows_are_read_with_a_decimal_comma() {
        assert_eq!(
            of("100,00   20,468677          20   1000000           gettimeofday"),
            Some((20.0, 1_000_000))
        );
    }

    #[test]
    fn table_of_ltrace_counts_functions_of_libraries() {
        let of_library = |text: &str| {
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            let read = crate::paste::Pasted::read(&lines, "text");
            let of_library = |seen: &Seen| matches!(seen, Seen::Calls(calls) if calls.of_library);
            read.symptoms.iter().map(|one| of_library(&one.seen)).collect::<Vec<_>>()
        };
        let row = " 61.20    0.412310        1030       400 clock_gettime\n";
        let head = |last: &str| format!("% time     seconds  usecs/call     calls      {last}\n");
        assert_eq!(of_library(&format!("{}{row}", head("function"))), [true]);
        assert_eq!(of_library(&format!("{}{row}", head("errors syscall"))), [false]);
        // The head is cut off, and a row is that of a function.
        assert_eq!(
            of_library(&format!("{row} 22.10    0.148800         744       200 memcpy\n")),
            [true]
        );
    }

    #[test]
    fn table_of_times_that_are_all_zero_has_no_shares() {
        let shares = |rows: &str| {
            let text =
                format!("% time     seconds  usecs/call     calls    errors syscall\n{rows}");
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            let read = crate::paste::Pasted::read(&lines, "text");
            let share = |seen: &Seen| match seen {
                Seen::Calls(calls) => calls.percent,
                _ => None,
            };
            read.symptoms.iter().map(|one| share(&one.seen)).collect::<Vec<_>>()
        };
        let zero = "  0.00    0.000000           0       100           gettimeofday\n";
        let total = "100.00    0.000000                   100           total\n";
        assert_eq!(shares(&format!("{zero}{total}")), [None]);
        let other = " 99.90    0.812345          10     75000           futex\n";
        assert_eq!(shares(&format!("{other}{zero}")), [Some(0.0)]);
    }

    #[test]
    fn calls_that_failed_are_counted() {
        let failed = |line: &str| row(line).map(|row| row.failed);
        assert_eq!(
            failed(" 70.00    0.000700           7       100       100 clock_gettime"),
            Some(100)
        );
        assert_eq!(
            failed(" 70.00    0.000700           7       100           clock_gettime"),
            Some(0)
        );
    }

    #[test]
    fn table_without_its_head_is_read_where_the_columns_agree() {
        let counts = |text: &str| {
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            crate::paste::Pasted::read(&lines, "text").symptoms.len()
        };
        assert_eq!(counts(" 99.44    2.000061          20    100000           clock_gettime\n"), 1);
        assert_eq!(counts(" 99.44    2.000061          50    100000           clock_gettime\n"), 0);
        assert_eq!(counts("a note about clock_gettime\n"), 0);
    }

    #[test]
    fn columns_that_were_glued_are_parted_where_only_one_place_fits() {
        assert_eq!(of("0.00 0.000000 0100 gettimeofday"), Some((0.0, 100)));
        assert_eq!(of("96.62 22.894570 42254182 clock_gettime"), Some((422.0, 54182)));
        assert_eq!(of("96.62 22.894570 99999999 clock_gettime"), None);
        assert_eq!(of("96.62 22.894570 54182 clock_gettime"), None);
    }

    #[test]
    fn number_in_front_of_a_row_is_not_a_column() {
        for front in ["4 ", "4\t", "4: "] {
            let line =
                format!("{front}96.62   22.894570         422     54182           clock_gettime");
            assert_eq!(of(&line), None, "{line}");
        }
    }
}
