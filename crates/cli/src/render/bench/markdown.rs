//! `--markdown`: the tables, for an issue or a page of documentation.
//!
//! Names and earlier runs come from outside. All text passes through [`inline`], so that none of it acts as markup or
//! HTML where the page is read, or as an escape sequence if `/dev/stdout` is a terminal.

use super::{
    by_way, difference, duration, factor, figures, headline, main_rows, median, method, times,
};
use crate::report::bench::BenchReport;
use clocksmith_facts::visible;
use clocksmith_measure::bench::row::Via;

/// The page.
pub(crate) fn page(report: &BenchReport) -> String {
    let mut out = format!("# What reading the time costs\n\n{}\n", paragraph(&headline(report)));
    if !report.complete {
        out.push_str("\n**Incomplete: it was interrupted.**\n");
    }
    let machine = [&report.machine.kernel, &report.machine.arch, &report.machine.cpu];
    let machine: Vec<&str> = machine.into_iter().filter_map(Option::as_deref).collect();
    out.push_str(&format!("\n{}\n", paragraph(&machine.join(", "))));
    table(
        &mut out,
        "What a read costs",
        &["", "throughput", "latency", "in a loop", "x counter", "x vDSO", "path"],
        main_rows(report)
            .map(|row| {
                let mut cells = figures(row);
                cells.push(row.missing.clone().unwrap_or_else(|| row.path.name().to_owned()));
                cells
            })
            .collect(),
    );
    let way = |clock, via| median(by_way(report, clock, via).and_then(|row| row.costs.throughput));
    table(
        &mut out,
        "By path",
        &["", "libc", "vDSO", "syscall", "smallest step"],
        report
            .rows
            .iter()
            .filter(|row| row.via == Via::Libc)
            .map(|row| {
                vec![
                    row.clock.to_owned(),
                    way(row.clock, Via::Libc),
                    way(row.clock, Via::Vdso),
                    way(row.clock, Via::Syscall),
                    row.resolution_ns.map_or_else(|| "-".to_owned(), duration),
                ]
            })
            .collect(),
    );
    let singles = main_rows(report).filter_map(|row| Some((row, row.distribution.as_ref()?)));
    table(
        &mut out,
        "Single calls",
        &["", "min", "p50", "p90", "p99", "p99.9", "max"],
        singles
            .map(|(row, d)| {
                let figures = [d.min, d.p50, d.p90, d.p99, d.p999, d.max].map(duration);
                [vec![row.clock.to_owned()], figures.to_vec()].concat()
            })
            .collect(),
    );
    table(
        &mut out,
        "Several threads",
        &["", "threads", "a read", "x"],
        report
            .scaling
            .iter()
            .map(|one| {
                vec![one.name.clone(), one.threads.to_string(), median(one.cost), times(one.ratio)]
            })
            .collect(),
    );
    let sources = report.clocksources.iter().map(|source| {
        let row = source.rows.iter().find(|row| row.name == "CLOCK_MONOTONIC/libc");
        vec![
            source.name.clone(),
            median(row.and_then(|row| row.costs.throughput)),
            times(source.ratio_to_original),
            source.not_measured_because.clone().unwrap_or_default(),
        ]
    });
    let titles = ["", "CLOCK_MONOTONIC", "times the present one", ""];
    table(&mut out, "With every clocksource", &titles, sources.collect());
    if let Some(baseline) = &report.baseline {
        let rows = baseline.rows.iter().map(|row| {
            let interval = row.own_ratio.map_or_else(String::new, |r| {
                format!("{} ({})", factor(r.ratio), super::interval(r, " to "))
            });
            let word = difference(row.difference, row.own_ratio).to_owned();
            vec![row.name.clone(), duration(row.before.ns), duration(row.now.ns), interval, word]
        });
        let title = format!("Compared with {}", baseline.file);
        table(&mut out, &title, &["", "before", "now", "ratio (interval)", ""], rows.collect());
        for unlike in &baseline.unlike {
            out.push_str(&format!("\nNot the same: {}.\n", inline(unlike)));
        }
    }
    out.push_str(&format!("\n{}\n", paragraph(&method(report))));
    out
}

/// A table; none without rows.
fn table(out: &mut String, title: &str, titles: &[&str], rows: Vec<Vec<String>>) {
    if rows.is_empty() {
        return;
    }
    out.push_str(&format!("\n## {}\n\n| {} |\n|", inline(title), titles.join(" | ")));
    for index in 0..titles.len() {
        out.push_str(if index == 0 { "---|" } else { "---:|" });
    }
    out.push('\n');
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| inline(cell)).collect();
        out.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
}

/// Escapes text within a paragraph, a title or a cell: it is shown literally and on one line. Invisible characters are
/// shown by name; every character of CommonMark and of tables that may be markup within a line gets a backslash.
fn inline(text: &str) -> String {
    let line = visible::line(text);
    let mut out = String::with_capacity(line.len());
    let mut before = ' ';
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        // Within a word an underscore does not mean emphasis: CLOCK_MONOTONIC needs no escape.
        let in_word = c == '_'
            && before.is_ascii_alphanumeric()
            && rest.peek().is_some_and(char::is_ascii_alphanumeric);
        if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '&' | '~' | '!')
            && !in_word
        {
            out.push('\\');
        }
        out.push(c);
        before = c;
    }
    out
}

/// Text that begins a line: it begins no title, list, rule or block of code either.
fn paragraph(text: &str) -> String {
    let text = inline(text.trim());
    let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    match (text.strip_prefix(['#', '-', '+', '=', ':']), digits.strip_prefix(['.', ')'])) {
        (Some(_), _) => format!("\\{text}"),
        (None, Some(after)) if digits.len() < text.len() && after.starts_with([' ', '\t']) => {
            format!("{}\\{digits}", &text[..text.len() - digits.len()])
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn inline_text_from_outside_is_neither_markup_nor_acts_on_a_terminal() {
        assert_eq!(
            inline("a\x1b[31m<script>|`b`\n![x](y) *c* _d_ CLOCK_REALTIME &lt; \\"),
            "a\\<ESC\\>\\[31m\\<script\\>\\|\\`b\\`\\<LF\\>\\!\\[x\\](y) \\*c\\* \\_d\\_ CLOCK_REALTIME \\&lt; \\\\"
        );
        for (text, wanted) in [
            ("# title", "\\# title"),
            ("  - item", "\\- item"),
            ("1. item", "1\\. item"),
            ("6.1.0-9, x86_64", "6.1.0-9, x86_64"),
        ] {
            assert_eq!(paragraph(text), wanted);
        }
    }

    #[test]
    fn table_title_and_cells_are_escaped() {
        let mut out = String::new();
        let cells = vec!["a|b\n| c".to_owned(), "<img>".to_owned()];
        table(&mut out, "Compared with \x1b<b>\n# x", &["", "before"], vec![cells]);
        assert_eq!(
            out,
            "\n## Compared with \\<ESC\\>\\<b\\>\\<LF\\># x\n\n|  | before |\n|---|---:|\n\
             | a\\|b\\<LF\\>\\| c | \\<img\\> |\n"
        );
    }

    proptest! {
        #[test]
        fn any_text_stays_on_one_line_and_without_markup(any in any::<String>()) {
            let made = inline(&any);
            prop_assert!(!made.contains(visible::hides));
            let mut escaped = false;
            for c in made.chars() {
                if !escaped {
                    prop_assert!(!"`*[]<>|&~!".contains(c), "{:?}", made);
                }
                escaped = c == '\\' && !escaped;
            }
            prop_assert!(!escaped);
        }
    }
}
