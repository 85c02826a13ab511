//! Timers of a libvirt domain in Nix, as NixVirt writes them: `timer = [ { name = "hpet"; present = true; } ]`.
//!
//! They are judged, and never edited: functions of Nix may change them afterwards. Source: NixVirt, lib/domain.nix, and the
//! names of libvirt's own `<timer>`.

use super::made::{Made, Pairs};
use crate::document::Document;
use crate::guest::Guest;
use crate::lint::Report;
use std::ops::Range;

/// The limit of timers that are read.
const MOST: usize = 64;
/// The attributes of a timer.
const NAMES: &str = "name present tickpolicy track mode frequency";

/// Returns the findings about the timers of a file of Nix; `None` if it has none.
pub(crate) fn judge(document: &Document) -> Option<Report> {
    let timers = timers(document.text.as_str());
    let (_, first) = timers.first()?;
    let mut made = Made { whole: first.clone(), part: true, ..Made::default() };
    made.timers = timers;
    // The system of a machine is not in its clock.
    let guest = document.guest.unwrap_or(Guest::Unknown);
    made.declared = Some(guest).filter(|guest| *guest != Guest::Unknown);
    let mut report = made.judge(&document.with_guest(Some(guest)), say).ok()?;
    // The CPU is not read here: its flags may be in another attribute, or in arguments of QEMU.
    report.findings.retain(|finding| finding.rule.id != "lv-kvmclock-off-no-invtsc");
    Some(report)
}

/// Returns whether a text has such timers.
pub(crate) fn any(text: &str) -> bool {
    !timers(text).is_empty()
}

fn say(id: &str) -> Option<&'static str> {
    Some(match id {
        "lv-hpet-on" => "{ name = \"hpet\"; present = false; }",
        "lv-tsc-timer-noop" => "remove the timer, or write its frequency = HERTZ",
        _ => return None,
    })
}

/// The timers of each list `timer = [ ... ]`: their attributes, and their places.
fn timers(text: &str) -> Vec<(Pairs, Range<usize>)> {
    let mut out = Vec::new();
    for (at, _) in text.match_indices("timer").take(MOST) {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let rest = text.get(at + "timer".len()..).unwrap_or_default().trim_start();
        let list = rest.strip_prefix('=').map(str::trim_start).and_then(|it| it.strip_prefix('['));
        let own = before.is_none_or(|c| c.is_whitespace() || "{;.".contains(c));
        if let Some(list) = list.filter(|_| own) {
            sets(list, crate::text::offset(text, list), &mut out);
        }
    }
    out.truncate(MOST);
    out
}

/// Reads the sets up to the end of a list, which begins at `base`.
fn sets(list: &str, base: usize, out: &mut Vec<(Pairs, Range<usize>)>) {
    let mut at = 0;
    while let Some(c) = list.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = list.get(at..).unwrap_or_default();
        match c {
            '#' => at += rest.find('\n').unwrap_or(rest.len()),
            '{' => {
                let Some(length) = rest.find('}') else { return };
                let inside = rest.get(1..length).unwrap_or_default();
                let pairs = pairs(inside);
                if pairs.iter().any(|(name, _)| name == "name") && out.len() < MOST {
                    out.push((pairs, base + at..base + at + length + 1));
                }
                at += length + 1;
            }
            c if c.is_whitespace() => at += c.len_utf8(),
            // The end, or an expression.
            _ => return,
        }
    }
}

/// The attributes of a set whose values are strings, numbers or truth values.
fn pairs(inside: &str) -> Pairs {
    let lines = inside.lines().map(|line| line.split('#').next().unwrap_or_default());
    let plain: String = lines.flat_map(|line| [line, " "]).collect();
    let pair = |part: &str| {
        let (name, value) = part.split_once('=')?;
        let (name, value) = (name.trim(), value.trim());
        let value = match value {
            "true" => "yes",
            "false" => "no",
            _ => value.trim_matches('"'),
        };
        let simple = !value.is_empty() && value.chars().all(|c| c.is_ascii_alphanumeric());
        (simple && crate::words::listed(NAMES, name)).then(|| (name.to_owned(), value.to_owned()))
    };
    plain.split(';').filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use crate::finding::Severity;
    use crate::formats::Kind;
    use crate::testing;

    const DOMAIN: &str = "{ nixvirt, ... }: {\n  definition = nixvirt.lib.domain.writeXML {\n    type = \"kvm\";\n    clock = {\n      \
        timer = [\n        { name = \"rtc\"; tickpolicy = \"catchup\"; }\n        { name = \"hpet\"; present = PRESENT; } # x }\n        \
        { name = \"tsc\"; present = true; mode = \"native\"; }\n      ];\n    };\n  };\n}\n";

    #[test]
    fn timers_of_nix_are_judged_and_left() {
        let text = DOMAIN.replace("PRESENT", "true");
        let report = testing::report(Kind::Libvirt, "domain.nix", &text);
        let found: Vec<_> = report.findings.iter().map(|it| (it.rule.id, it.severity)).collect();
        for id in ["lv-hpet-on", "lv-tsc-timer-noop"] {
            assert!(found.contains(&(id, Severity::Warn)), "{id} not in {found:?}");
        }
        assert!(report.findings.iter().all(|it| it.edits.is_empty()));
        let at = report.findings.iter().find(|it| it.rule.id == "lv-hpet-on").unwrap().span.clone();
        assert_eq!(text.get(at), Some("{ name = \"hpet\"; present = true; }"));
        let clock =
            text.replace("\"rtc\"; tickpolicy = \"catchup\"", "\"kvmclock\"; present = false");
        let bad = testing::bad(Kind::Libvirt, "domain.nix", &clock);
        assert_eq!(bad, ["lv-hpet-on", "lv-tsc-timer-noop"]);
        let off = DOMAIN.replace("PRESENT", "false");
        assert!(!testing::bad(Kind::Libvirt, "domain.nix", &off).contains(&"lv-hpet-on"));
        assert_eq!(Kind::detect("domain.nix", &text), Some(Kind::Libvirt));
        assert_eq!(Kind::detect("timer.nix", "{ systemd.timer = [ ]; }\n"), None);
    }

    #[test]
    fn timers_of_nix_beside_arguments_of_qemu() {
        let text = DOMAIN.replace("PRESENT", "true").replace(
            "type = \"kvm\";",
            "type = \"kvm\";\n    qemu-commandline.arg = map (value: { inherit value; }) [ \"-global\" \"ICH9-LPC.disable_s3=1\" \"-cpu\" (\"host,topoext=on\" + \",migratable=off\") \"-machine\" \"x-pci-hole=1\" ];",
        );
        let found = testing::bad(Kind::Qemu, "domain.nix", &text);
        assert!(found.contains(&"lv-hpet-on"), "{found:?}");
        let all = testing::ids(Kind::Qemu, "domain.nix", &text);
        assert!(!all.iter().any(|it| it.0 == "q-hpet-default-on"), "{all:?}");
    }
}
