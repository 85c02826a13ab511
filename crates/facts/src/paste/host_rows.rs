//! A table with a row for each host and a column with its clocksource: `| host | kernel | current_clocksource |`, also with
//! separators (`host;current_clocksource`); and the same in objects of JSON.

use super::Section;
use crate::names;

/// Headings of the column with the hosts.
const HOSTS: [&str; 9] =
    ["host", "hostname", "host name", "node", "nodename", "server", "vm", "guest", "machine"];
/// Headings of the column with the clocksources in use.
const CURRENT: [&str; 5] = [
    "current_clocksource",
    "current clocksource",
    "clocksource",
    "clocksource in use",
    "active clocksource",
];
/// Words in the head of a table that shows what should be, what may be, or another time.
const OTHERS: [&str; 13] = [
    "recommend",
    "expect",
    "default",
    "require",
    "should",
    "meaning",
    "descri",
    "rating",
    "want",
    "before",
    "after",
    "option",
    "supported",
];
/// Maximum number of rows; of a larger table nothing is read.
const ROWS: usize = 24;
/// Maximum number of columns.
const COLUMNS: usize = 24;

/// One row: its line, its host and its clocksource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) line: usize,
    pub(super) host: String,
    pub(super) name: String,
}

/// The rows of the table whose heading is in this line. Blank lines between them are those of the rows of other hosts. Empty
/// for any other line, and if a row has no clocksource.
pub(super) fn rows(lines: &[String], head: usize) -> Vec<Row> {
    let Some((heads, separator)) = lines.get(head).and_then(|line| heads(line)) else {
        return Vec::new();
    };
    let is = |list: &[&str]| heads.iter().position(|cell| list.contains(&cell.as_str()));
    let (Some(host), Some(current)) = (is(&HOSTS), is(&CURRENT)) else { return Vec::new() };
    let above = lines[..head].iter().rev().find(|line| !line.trim().is_empty());
    if above.is_some_and(|line| is_of_no_reading(line)) {
        return Vec::new();
    }
    let is_of_others = heads.iter().any(|cell| OTHERS.iter().any(|word| cell.contains(word)));
    if is_of_others {
        return Vec::new();
    }
    let mut found: Vec<Row> = Vec::new();
    for (line, text) in lines.iter().enumerate().skip(head + 1) {
        if text.trim().is_empty() {
            continue;
        }
        let row = cells(text, separator);
        if row.iter().all(|cell| cell.bytes().all(|byte| matches!(byte, b'-' | b':' | b' '))) {
            continue;
        }
        if row.len() != heads.len() || found.len() > ROWS {
            break;
        }
        let (host, name) = (row[host].clone(), row[current].to_lowercase());
        if host.is_empty() || host.contains(' ') || !names::is_known(&name) {
            return Vec::new();
        }
        found.push(Row { line, host, name });
    }
    if found.len() > ROWS { Vec::new() } else { found }
}

/// Whether a sentence above a table announces an example, a plan or what should be.
fn is_of_no_reading(line: &str) -> bool {
    const WORDS: [&str; 10] = [
        "example",
        "e.g.",
        "would",
        "should",
        "expect",
        "target",
        "goal",
        "plan",
        "wanted",
        "recommend",
    ];
    let lower = line.to_lowercase();
    lower.trim_end().ends_with([':', '.']) && WORDS.iter().any(|word| lower.contains(word))
}

/// The hosts of a text that is such a table of different clocksources, each with the heading and its own row.
#[must_use]
pub fn table_rows(lines: &[String]) -> Vec<Section> {
    let tables = (0..lines.len()).map(|head| (head, rows(lines, head)));
    let Some((head, rows)) = tables.into_iter().find(|(_, rows)| rows.len() > 1) else {
        return Vec::new();
    };
    if rows.windows(2).all(|pair| pair[0].name == pair[1].name) {
        return Vec::new();
    }
    let section = |row: &Row| Section {
        host: Some(row.host.clone()),
        lines: vec![(head, head + 1), (row.line, row.line + 1)],
    };
    rows.iter().map(section).collect()
}

/// The headings of a table in small letters, and its separator; `None` for a line without a word for a clocksource.
fn heads(line: &str) -> Option<(Vec<String>, char)> {
    let lower = line.to_lowercase();
    if !lower.contains("clocksource") {
        return None;
    }
    let bars = line.trim_start().starts_with('|').then_some('|');
    // Of other separators a sentence may have some, but not the name of the file alone between them.
    let separator = bars.or_else(|| {
        let is_file = |separator: &char| {
            lower.split(*separator).any(|cell| cell.trim().trim_matches('"') == CURRENT[0])
        };
        [';', ',', '\t'].into_iter().find(is_file)
    })?;
    let found: Vec<String> =
        cells(line, separator).into_iter().map(|cell| cell.to_lowercase()).collect();
    (2..=COLUMNS).contains(&found.len()).then_some((found, separator))
}

fn cells(line: &str, separator: char) -> Vec<String> {
    let line = line.trim_matches(['\u{feff}', ' ', '\r']);
    let inside = match separator {
        '|' => line.strip_prefix('|').map(|rest| rest.strip_suffix('|').unwrap_or(rest)),
        _ => Some(line),
    };
    let bare = |cell: &str| cell.trim().trim_matches(['*', '`', '"', ' ']).to_owned();
    inside.map_or_else(Vec::new, |inside| inside.split(separator).map(bare).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paste::Pasted;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn rows_of_hosts_are_readings_of_each() {
        for text in [
            "| host | kernel | current_clocksource | ns |\n|---|---|---|---|\n| web1 | 6.1 | tsc | 21 |\n| web2 | 6.1 | `hpet` | 1480 |\n\nend\n",
            "host;current_clocksource\nweb1;tsc\nweb2;hpet\n",
            "kernel,host,current_clocksource\n6.1,web1,tsc\n6.1,web2,hpet\n",
            "| Node | Clocksource |\n|:--|--:|\n| **web1** | tsc |\n| web2 | hpet |\n",
        ] {
            let lines = lines(text);
            let found = table_rows(&lines);
            let names: Vec<&str> = found.iter().filter_map(|one| one.host.as_deref()).collect();
            assert_eq!(names, ["web1", "web2"], "{text}");
            let told = Pasted::read(&found[1].text(&lines), "text").told;
            assert_eq!(told.current.value().map(String::as_str), Some("hpet"), "{text}");
            let told = Pasted::read(&lines, "text").told;
            assert_eq!(told.current.value(), None, "{text}");
        }
        let same = lines("| host | clocksource |\n|---|---|\n| web1 | hpet |\n| web2 | hpet |\n");
        assert!(table_rows(&same).is_empty());
        let told = Pasted::read(&same, "text").told;
        assert_eq!(told.current.value().map(String::as_str), Some("hpet"));
    }

    #[test]
    fn other_tables_have_no_rows_of_hosts() {
        for text in [
            "| host | expected clocksource |\n|---|---|\n| web1 | tsc |\n",
            "| host | clocksource | default |\n|---|---|---|\n| web1 | tsc | hpet |\n",
            "| clocksource | cost |\n|---|---|\n| tsc | 20 ns |\n",
            "| host | clocksource |\n|---|---|\n| web1 | which one? |\n",
            "| host | clocksource |\n|---|---|\n| AMD systems | tsc |\n",
            "the host, its current_clocksource, and\nweb1,tsc,x\n",
            "We expect:\n\n| host | clocksource |\n|---|---|\n| web1 | tsc |\n",
        ] {
            let lines = lines(text);
            assert!((0..lines.len()).all(|head| rows(&lines, head).is_empty()), "{text}");
        }
    }
}
