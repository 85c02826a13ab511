//! The host of each line in a table of separated values, as log stores export it: its heading names the column.

use crate::log::{Host, host_name};

/// Lines that are searched for the heading.
const HEADING_WITHIN: usize = 40;
/// Maximum number of columns.
const COLUMNS: usize = 64;
/// Maximum bytes of a heading.
const HEADING: usize = 400;

/// Headings of a column with hosts.
const HOSTS: [&str; 16] = [
    "host",
    "hostname",
    "host_name",
    "host.name",
    "_hostname",
    "source_host",
    "node",
    "nodename",
    "node_name",
    "machine",
    "server",
    "computer",
    "instance",
    "instance_id",
    "instanceid",
    "resource.labels.instance_id",
];

/// Headings of a column with messages.
const MESSAGES: [&str; 12] = [
    "message",
    "@message",
    "msg",
    "log",
    "line",
    "body",
    "text",
    "_raw",
    "event",
    "content",
    "textpayload",
    "syslogmessage",
];

/// Rows above a row that are searched for the head of its table: each row of a long table asks for it.
const ROWS: usize = 500;

/// The line of the head of the Markdown table in which line `at` is a row; `None` for the head itself, and for a row far
/// below it.
pub(super) fn head(lines: &[String], at: usize) -> Option<usize> {
    let is_row = |at: &usize| lines[*at].trim_start().starts_with('|');
    let first = (0..at).rev().take(ROWS + 1).take_while(is_row).last()?;
    (at - first <= ROWS).then_some(first)
}

/// A column with hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Column {
    /// The line of the heading, numbered from 0.
    heading: usize,
    number: usize,
    separator: char,
}

impl Column {
    /// The column with the hosts, if the text is such a table.
    pub(super) fn find(lines: &[String]) -> Option<Self> {
        let heads = lines.iter().enumerate().take(HEADING_WITHIN);
        heads.filter(|(_, line)| line.len() <= HEADING).find_map(|(heading, line)| {
            [',', ';', '\t'].into_iter().find_map(|separator| {
                let is = |cell: &str, names: &[&str]| {
                    names.iter().any(|name| cell.trim().eq_ignore_ascii_case(name))
                };
                let message = cells(line, separator).any(|cell| is(cell, &MESSAGES));
                let number = cells(line, separator).position(|cell| is(cell, &HOSTS))?;
                message.then_some(Self { heading, number, separator })
            })
        })
    }

    /// The host of a line of the table.
    pub(super) fn host(self, number: usize, line: &str) -> Option<Host<'_>> {
        let cell =
            cells(line, self.separator).nth(self.number).filter(|_| number > self.heading)?;
        Some(Host { name: host_name(cell.trim())?, of_kernel: true })
    }
}

/// The values of a line, without their quotes; inside quotes a separator is text.
fn cells(line: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut rest = Some(line.trim_start_matches('\u{feff}'));
    std::iter::from_fn(move || {
        let text = rest?;
        let quoted = text.strip_prefix('"').and_then(|inside| {
            let end = inside.find(&format!("\"{separator}")).or_else(|| {
                inside.trim_end().ends_with('"').then(|| inside.trim_end().len() - 1)
            })?;
            Some((&inside[..end], inside[end + 1..].strip_prefix(separator)))
        });
        let (cell, after) = quoted.unwrap_or_else(|| match text.split_once(separator) {
            Some((cell, after)) => (cell, Some(after)),
            None => (text, None),
        });
        rest = after;
        Some(cell)
    })
    .take(COLUMNS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(text: &str) -> Vec<Option<String>> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let column = Column::find(&lines);
        lines
            .iter()
            .enumerate()
            .map(|(number, line)| Some(column?.host(number, line)?.name.to_owned()))
            .collect()
    }

    #[test]
    fn column_under_its_heading_names_the_hosts() {
        let web = || Some("web1".to_owned());
        for text in [
            "time,host,message\n2026-01-01T00:00:00Z,web1,\"tsc: x, y\"",
            "\"Time\",\"Host\",\"Message\"\n\"1\",\"web1\",\"tsc: x\"",
            "\u{feff}message;computer\n\"tsc: \"\"x\"\" ; y\";web1",
            "hostname\tmsg\nweb1.example.org\ttsc: x",
            "_raw,host\n\"tsc: x\",\"web1\"",
        ] {
            assert_eq!(hosts(text), [None, web()], "{text}");
        }
        // No heading, no messages, no host, a sentence.
        for text in [
            "time,web1,message\n1,web1,tsc: x",
            "time,host,bytes\n1,web1,tsc",
            "time,host,message\n1,,tsc: x",
            "time,host,message\n1",
            "the host, it printed this message, twice\nweb1, web1, web1",
        ] {
            assert_eq!(hosts(text), [None, None], "{text}");
        }
    }
}
