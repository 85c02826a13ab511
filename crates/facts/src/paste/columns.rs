//! A table whose columns are machines, or states of one, that use different clocksources: an answer holds for one column.

use crate::names;

/// Lines above a row that are searched for the head of its table.
const HEAD_WITHIN: usize = 12;
/// Columns of a table, at most.
const COLUMNS: usize = 16;

/// Why a text with such a table is not about a single machine, as the end of a sentence.
pub(super) fn several(lines: &[String]) -> Option<String> {
    (0..lines.len()).find_map(|at| differ(lines, at))
}

fn differ(lines: &[String], at: usize) -> Option<String> {
    let line = &lines[at];
    if !super::has(&line.to_ascii_lowercase(), "clock") {
        return None;
    }
    let row = cells(line);
    let label = row.first()?.to_ascii_lowercase();
    // The label says that a name below it is a clocksource.
    let is_labelled = label.contains("clocksource") || label.contains("clock source");
    let chosen: Vec<Option<&str>> =
        row.iter().skip(1).map(|cell| choice(cell, is_labelled)).collect();
    let mut known = chosen.iter().enumerate().filter_map(|(at, name)| Some((at, (*name)?)));
    let (first_at, first) = known.next()?;
    let (second_at, second) = known.find(|(_, name)| *name != first)?;
    let heads = head(lines, at, row.len())?;
    let of = |at: usize| heads.get(at).map_or("", String::as_str);
    Some(format!(
        "the columns of the table in line {} ({}, {}) have different clocksources ({first}, {second}), and an answer holds for \
         one of them: give the lines of one",
        at + 1,
        of(first_at),
        of(second_at)
    ))
}

/// The heads of the columns after the first one.
fn head(lines: &[String], at: usize, width: usize) -> Option<Vec<String>> {
    let is_rule = |cell: &&str| cell.bytes().all(|byte| matches!(byte, b'-' | b':' | b'=' | b'+'));
    let begin = at.saturating_sub(HEAD_WITHIN);
    lines[begin..at].iter().find_map(|line| {
        let found = cells(line);
        if found.iter().all(is_rule) || found.len() < 2 {
            return None;
        }
        // In an aligned table nothing may be above the labels.
        let skipped = (found.len() + 1 == width && !line.contains('|')).then_some(0);
        let skipped = skipped.or_else(|| (found.len() == width).then_some(1))?;
        let named: Vec<String> = found
            .iter()
            .skip(skipped)
            .map(|cell| cell.trim_matches(['*', '`']).to_owned())
            .collect();
        let is_name =
            |name: &String| !name.is_empty() && name.len() < 60 && choice(name, true).is_none();
        named.iter().all(is_name).then_some(named)
    })
}

/// The cells of a row: between bars, or between wide gaps.
fn cells(line: &str) -> Vec<&str> {
    let line = line.trim_end();
    let inside = line.trim().strip_prefix('|').map(|rest| rest.strip_suffix('|').unwrap_or(rest));
    let cells: Vec<&str> = match inside {
        Some(inside) => inside.split('|').map(str::trim).collect(),
        None if line.contains('\t') => line.split('\t').map(str::trim).collect(),
        None => line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect(),
    };
    if cells.len() > COLUMNS { Vec::new() } else { cells }
}

/// The clocksource that a cell says is in use: the last one of its messages, or a name alone in a labelled row.
fn choice(cell: &str, is_labelled: bool) -> Option<&str> {
    let bare = cell.trim_matches(['`', '*', '"', '\'', ' ']);
    if is_labelled && names::is_known(bare) {
        return Some(bare);
    }
    let (_, rest) = cell.rsplit_once(" to clocksource ")?;
    let end = rest
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'))
        .unwrap_or(rest.len());
    names::is_known(&rest[..end]).then(|| &rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<String> {
        several(&text.lines().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn columns_with_different_clocksources_are_several_machines() {
        for text in [
            "| | node-a | node-b |\n|---|---|---|\n| dmesg | `clocksource: Switched to clocksource tsc` | `tsc: Marking TSC unstable`, `clocksource: Switched to clocksource hpet` |\n",
            "| | node-a | node-b |\n|:--|:-:|--:|\n| kernel | 6.1 | 6.1 |\n| current_clocksource | `tsc` | hpet |\n",
            "             node-a   node-b\nkernel       6.1      6.1\nclocksource  tsc      hpet\n",
            "what\tnode-a\tnode-b\nclocksource\ttsc\thpet\n",
        ] {
            let why = found(text).unwrap_or_default();
            assert!(
                why.contains("(node-a, node-b)") && why.contains("(tsc, hpet)"),
                "{text}: {why}"
            );
        }
    }

    #[test]
    fn other_tables_are_not() {
        for text in [
            "| | a | b |\n|---|---|---|\n| clocksource | tsc | tsc |\n",
            "| host | clocksource |\n|---|---|\n| a | tsc |\n",
            "| message | meaning |\n|---|---|\n| clocksource: Switched to clocksource tsc | it is tsc |\n",
            "| clocksource | cost |\n|---|---|\n| tsc | 20 ns |\n| hpet | 1 us |\n",
            "[    1.0]  clocksource: Switched to clocksource tsc  x\n",
            "clocksource  tsc  hpet\n",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }
}
