//! The wall clock by other tools than those of time daemons: `ntpq`'s variables, a hypervisor's tools, two outputs of `date`.

use super::{Page, Reader, discipline, prompt};
use crate::Fact;
use crate::wall::{Apart, TimeSource, Tools, date_seconds};

pub(super) const VARIABLES: Reader =
    Reader { name: "ntpq -c rv", words: &["associd=", "assID="], read: variables };

pub(super) const ASSOCIATIONS: Reader =
    Reader { name: "ntpq -c as", words: &["conf reach auth condition"], read: associations };

pub(super) const TOOLS: Reader = Reader {
    name: "settings of a hypervisor's tools",
    words: &["vmware-toolbox-cmd timesync ", "ools.sync", "GetHostTimeDisabled"],
    read: tools,
};

pub(super) const DATES: Reader = Reader { name: "date", words: &["date"], read: dates };

/// Lines of one output of variables.
const VARIABLE_LINES: usize = 24;
/// Lines of a table of associations.
const ROWS: usize = 256;

fn variables(page: &mut Page<'_>, at: usize) -> usize {
    let is_first = |line: &str| {
        let line = line.trim_start();
        line.starts_with("associd=") || line.starts_with("assID=")
    };
    if !is_first(page.line(at)) {
        return 0;
    }
    let mut end = at + 1;
    // Each line but the last ends with a comma, and a mail program may have wrapped them.
    while end < page.len().min(at + VARIABLE_LINES) {
        let line = page.line(end).trim();
        if line.is_empty() || !line.contains('=') && !line.ends_with(',') || is_first(line) {
            break;
        }
        if prompt::read(line).is_some() || line.starts_with("```") {
            break;
        }
        end += 1;
    }
    let text: Vec<&str> = (at..end).map(|number| page.line(number)).collect();
    let Some(told) = TimeSource::of_variables(&text.join("\n")) else { return 0 };
    discipline::add(page, at, told);
    end - at
}

fn associations(page: &mut Page<'_>, at: usize) -> usize {
    let rule = usize::from(page.line(at + 1).trim_start().starts_with("===="));
    let from = at + 1 + rule;
    let mut rows = (from..page.len().min(from + ROWS)).map(|number| page.line(number));
    let Some((told, rows)) = TimeSource::of_associations(&mut rows) else { return 0 };
    discipline::add(page, from, told);
    from - at + rows
}

fn tools(page: &mut Page<'_>, at: usize) -> usize {
    let Some((tools, taken)) = Tools::of_lines(page.line(at).trim(), page.line(at + 1)) else {
        return 0;
    };
    if !page.told.tools.is_known() {
        page.told.tools = Fact::known(tools, page.source(at + taken - 1));
    }
    taken
}

/// One command line that runs `date` here and inside, and its two lines of output.
fn dates(page: &mut Page<'_>, at: usize) -> usize {
    let line = page.line(at).trim();
    let command = match prompt::read(line) {
        Some(found) => found.command,
        None => line.trim_start_matches(['$', '#', '%', '>', ' ']),
    };
    let Some((inside_first, with)) = Apart::asked(command) else { return 0 };
    let (Some((first, zone)), Some((second, other))) =
        (date_seconds(page.line(at + 1)), date_seconds(page.line(at + 2)))
    else {
        return 0;
    };
    if zone != other {
        return 0;
    }
    let behind_s = if inside_first { second - first } else { first - second };
    if !page.told.apart.is_known() {
        page.told.apart = Fact::known(Apart { with, behind_s }, page.source(at + 2));
    }
    3
}
