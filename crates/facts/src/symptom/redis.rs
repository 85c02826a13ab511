//! Redis and Valkey: the warning at their start, and `--check-system` (`src/syscheck.c`, Redis 7.0 and later).

use super::{Rule, Seen, Warning};
use crate::names;
use crate::paste::{Page, Reader};

pub(super) const READER: Reader = Reader {
    name: "Redis warning",
    words: &["low system clocksource detected", "-clocksource]", XEN],
    read,
};

/// The beginning of the warning, in the server's log and in the answer of the check.
const XEN: &str = "configured to use the 'xen' clocksource";

fn read(page: &mut Page<'_>, at: usize) -> usize {
    let line = page.line(at);
    let product = if line.to_ascii_lowercase().contains("valkey") { "Valkey" } else { "Redis" };
    // The whole message of the server's log names the other check behind it.
    if line.contains(XEN) {
        // The server reads current_clocksource for it (checkXenClocksource()).
        page.quotes_sysfs(at, "xen", &[]);
        let warning = Warning {
            product,
            rule: Rule::Xen,
            current: Some("xen".to_owned()),
            ..Warning::default()
        };
        page.symptom(at, READER.name, Seen::Warning(warning));
        return 1;
    }
    if line.contains("-clocksource]") {
        if line.trim_end().ends_with("OK") && line.contains("[slow-clocksource]") {
            // The line is the same in both.
            let product = "Redis or Valkey";
            let warning = Warning { product, rule: Rule::Passed, ..Warning::default() };
            page.symptom(at, READER.name, Seen::Warning(warning));
        }
        return 1;
    }
    // A mailer may have wrapped the sentence.
    let mut text = line.to_owned();
    let mut end = at + 1;
    while end < page.len().min(at + 8) && !text.contains("kernel command line parameter") {
        let next = page.line(end).trim();
        if next.is_empty() || page.is_prompt(end) {
            break;
        }
        text.push(' ');
        text.push_str(next);
        end += 1;
    }
    let value = |name: &str| {
        let (_, rest) = text.split_once(name)?;
        Some(rest.split_once(". ").map_or(rest, |(value, _)| value).trim().trim_end_matches('.'))
    };
    let current = value("Current clocksource:").filter(|name| names::is_known(name));
    let available: Vec<String> = value("Available clocksources:")
        .into_iter()
        .flat_map(str::split_ascii_whitespace)
        .filter(|name| names::is_known(name))
        .map(str::to_owned)
        .collect();
    // The server quotes sysfs.
    if let Some(name) = current {
        page.quotes_sysfs(at, name, &available);
    }
    let complete = text.contains("Current clocksource:");
    let warning =
        Warning { product, rule: Rule::KernelTime, current: current.map(str::to_owned), available };
    page.symptom(at, READER.name, Seen::Warning(warning));
    if complete { end - at } else { 1 }
}
