//! A clocksource with a label before it: the output of a script or of inxi, and the metric of node_exporter.

use super::rows::row;
use super::value::{File, told};
use crate::log::configured;
use crate::names;
use crate::paste::{Page, Reader, has};

/// Lines before and after a line within which a whole copy of it is looked for.
const COPIES_WITHIN: usize = 500;

/// A name that a script prints: `clocksource: tsc`.
pub(in crate::paste) const CHOICE: Reader = Reader {
    name: "sysfs",
    words: &[
        "lock source",
        "locksource:",
        "LOCKSOURCE",
        "clocksource0:",
        "locksource |",
        "locksource|",
        "locksource**",
    ],
    read: labelled,
};

/// `node_time_clocksource_current_info{clocksource="tsc",device="0"} 1`.
pub(super) fn metric(page: &mut Page<'_>, at: usize, rest: &str) -> usize {
    let Some((_, name)) = rest.split_once("clocksource=\"") else { return 0 };
    let name = name.split('"').next().unwrap_or_default();
    if rest.starts_with("current_info") && is_sample(rest) && names::is_known(name) {
        told(page, at, File::Current, name);
    }
    1
}

/// Whether a metric has the value that an exporter prints for a true statement: `{...} 1`, possibly with a time stamp,
/// or as an answer of Prometheus: `{...} => 1 @[1700000000]`. An expression has a comparison, a range, or no value: it
/// is a question, and names the clocksource that its author looks for.
pub(in crate::paste) fn is_sample(metric: &str) -> bool {
    let Some((_, value)) = metric.rsplit_once('}') else { return false };
    let words: Vec<&str> = value.split_ascii_whitespace().collect();
    let is_one = |word: &str| word.parse::<f64>().is_ok_and(|value| value == 1.0);
    let is_time = |word: &str| word.parse::<f64>().is_ok();
    value.starts_with([' ', '\t'])
        && match words[..] {
            [one] => is_one(one),
            ["=>", one] => is_one(one),
            [one, time] => is_one(one) && is_time(time),
            ["=>", one, time] => is_one(one) && time.starts_with('@'),
            _ => false,
        }
}

/// `clocksource: tsc avail: hpet,acpi_pm`: the list does not contain the clocksource in use.
fn inxi(page: &mut Page<'_>, at: usize, current: &str, rest: &str) -> usize {
    told(page, at, File::Current, current);
    let broken = rest.is_empty();
    let rest = if broken { page.line(at + 1).trim() } else { rest };
    let Some(list) = rest.strip_prefix("avail: ") else { return 1 };
    let list = list.split_ascii_whitespace().next().unwrap_or_default();
    let mut list: Vec<&str> = list.split(',').filter(|name| !name.is_empty()).collect();
    if list.iter().all(|name| names::is_known(name)) {
        list.push(current);
        // In the order of the kernel's own list.
        let rating = |name: &&str| names::find(name).map_or(0, |known| known.rating);
        list.sort_by_key(|name| std::cmp::Reverse(rating(name)));
        told(page, at + usize::from(broken), File::Available, &list.join(" "));
    }
    1 + usize::from(broken)
}

/// The directory as a tree, as YAML has it: `clocksource0:`, and below it `available: tsc hpet acpi_pm` and `current: tsc`.
fn tree(page: &mut Page<'_>, at: usize) -> usize {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let own = depth(page.line(at));
    let mut taken = 1;
    for number in at + 1..page.len().min(at + 1 + FILES) {
        let line = page.line(number).to_owned();
        let Some((name, value)) = line.trim().split_once(": ").filter(|_| depth(&line) > own)
        else {
            break;
        };
        let file = match name.trim_end_matches("_clocksource") {
            "current" => File::Current,
            "available" => File::Available,
            _ => break,
        };
        if !told(page, number, file, value.trim()) {
            break;
        }
        taken = number + 1 - at;
    }
    if taken > 1 { taken } else { 0 }
}

/// Files of the directory of a clocksource that are listed.
const FILES: usize = 3;

/// `clocksource: tsc`, `Current clocksource : tsc`, `clock source is tsc`.
fn labelled(page: &mut Page<'_>, at: usize) -> usize {
    let line = page.line(at).trim();
    if line == "clocksource0:" {
        return tree(page, at);
    }
    if line.starts_with('|') {
        if let Some(taken) = super::of_hosts(page, at) {
            return taken;
        }
        return row(page, at);
    }
    let line = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")).unwrap_or(line);
    if let Some((current, rest)) = crate::log::inxi(line) {
        return inxi(page, at, current, rest);
    }
    let lower = line.to_ascii_lowercase();
    let (label, rest) =
        ["current clocksource", "current clock source", "clocksource", "clock source"]
            .into_iter()
            .find_map(|label| Some((label, lower.strip_prefix(label)?)))
            .unwrap_or_default();
    let value = rest.trim_start_matches([' ', ':', '=', '\t', '\'', '"']).trim_start_matches("is ");
    // `Clocksource: tsc (by the vDSO)`
    let name = value.split(" (").next().unwrap_or(value).trim_matches(['\'', '"', '.', ' ']);
    if rest.len() == value.len() || !names::is_known(name) {
        return 0;
    }
    // `clock source = hpet` is a choice of JACK's, `Clock source: tsc` one of a device, and `CLOCKSOURCE=tsc` a variable:
    // none of them shows what the kernel uses.
    let sign = &rest[..rest.len() - value.len()];
    let of_others = match label {
        "clock source" => !sign.contains("is "),
        "clocksource" => sign.contains('='),
        _ => false,
    };
    if of_others {
        return 0;
    }
    let lines = page.lines();
    let above = lines[..at].iter().rev().map(|line| line.as_str().into());
    let below = lines.iter().skip(at + 1).map(|line| line.as_str().into());
    if configured::is_entry(page.line(at), above, below) {
        return 0;
    }
    // The beginning of the line with which the kernel registers it, of which another copy is whole.
    let registers = format!("clocksource: {name}: mask");
    let near = lines.iter().skip(at.saturating_sub(COPIES_WITHIN)).take(2 * COPIES_WITHIN);
    if lower.starts_with("clocksource: ") && near.into_iter().any(|line| has(line, &registers)) {
        return 0;
    }
    // Names have small letters, except those of boards.
    if lower.starts_with("clocksource: ") && page.line(at + 1).trim().starts_with("avail: ") {
        return inxi(page, at, name, "");
    }
    usize::from(told(page, at, File::Current, name))
}

#[cfg(test)]
mod tests {
    use crate::paste::sysfs::tests::told;

    #[test]
    fn name_in_a_list_of_what_a_machine_is() {
        for line in ["- Clocksource: tsc (by the vDSO)", "* clocksource: tsc", "Clocksource: tsc"] {
            assert_eq!(told(&format!("{line}\nnext\n")).0.as_deref(), Some("tsc"), "{line}");
        }
        assert_eq!(told("the clock source\nclock source is tsc\n").0.as_deref(), Some("tsc"));
        for other in [
            "- Clocksource: which one?",
            "clock source = hpet",
            "  clock source : tsc",
            "Clock source: hpet",
            "CLOCKSOURCE=tsc",
            "clocksource = hpet",
        ] {
            assert_eq!(told(&format!("{other}\n")).0, None, "{other}");
        }
    }

    #[test]
    fn metrics_of_both_exporters_name_the_clocksource() {
        for line in [
            "node_time_clocksource_current_info{clocksource=\"hpet\",device=\"0\"} 1",
            "clocksmith_clocksource_current_info{device=\"0\",clocksource=\"hpet\"} 1",
        ] {
            assert_eq!(told(&format!("{line}\n")).0.as_deref(), Some("hpet"), "{line}");
        }
        let available =
            "clocksmith_clocksource_available_info{device=\"0\",clocksource=\"hpet\"} 1";
        assert_eq!(told(&format!("{available}\n")).0, None);
    }

    #[test]
    fn sample_of_an_exporter_is_a_reading_and_an_expression_is_a_question() {
        let metric = "node_time_clocksource_current_info{clocksource=\"hpet\",device=\"0\"}";
        for value in [" 1", " 1.0", " 1 1700000000000", "\t1", " => 1 @[1700000000]"] {
            assert_eq!(told(&format!("{metric}{value}\n")).0.as_deref(), Some("hpet"), "{value}");
        }
        for rest in [
            "",
            " == 1",
            " > 0",
            " 0",
            " * 1",
            "[5m]",
            " offset 1h",
            "[5m] 1 x",
            " unless on (instance) up",
            " and 1",
            " == bool 1",
            " 1 or vector(0)",
        ] {
            let text = format!("{metric}{rest}\n");
            assert_eq!(told(&text).0, None, "{rest}");
            let sample = metric.replace("hpet", "tsc");
            for both in [format!("{sample} 1\n{text}"), format!("{text}{sample} 1\n")] {
                assert_eq!(told(&both).0.as_deref(), Some("tsc"), "{both}");
            }
        }
    }

    #[test]
    fn directory_as_a_tree_is_read() {
        let text = "    clocksource0:\n      available: tsc hpet acpi_pm\n      current: tsc\n    release: 6.1\n";
        let (current, available) = told(text);
        assert_eq!(current.as_deref(), Some("tsc"));
        assert_eq!(available, ["tsc", "hpet", "acpi_pm"]);
        assert_eq!(told("clocksource0:\n  current: which one?\n").0, None);
        assert_eq!(told("clocksource0:\ncurrent: tsc\n").0, None);
    }

    #[test]
    fn inxi_lists_the_others() {
        let kernel = "  Kernel: 6.1.0 arch: x86_64 bits: 64 compiler: gcc v: 12.2.0";
        for text in [
            format!("{kernel} clocksource: hpet avail: acpi_pm,tsc parameters: quiet\n"),
            format!("{kernel}\n    clocksource: hpet avail: acpi_pm,tsc\n    parameters: quiet\n"),
            format!("{kernel} clocksource: hpet\n    avail: tsc,acpi_pm parameters: quiet\n"),
            format!("{kernel}\n    clocksource: hpet\n    avail: tsc,acpi_pm\n"),
        ] {
            let (current, available) = told(&text);
            assert_eq!(current.as_deref(), Some("hpet"), "{text}");
            assert_eq!(available, ["tsc", "hpet", "acpi_pm"], "{text}");
        }
    }
}
