use super::*;
use serde_json::json;

fn state(day: u32, values: [&str; 4], cost_ns: f64) -> State {
    let text = |value: &str| (value != "-").then(|| value.to_owned());
    let [verdict, clocksource, kernel, cpu] = values;
    let values = Values {
        taken_at: format!("2026-11-{day:02}T03:00:00Z"),
        verdict: text(verdict),
        clocksource: text(clocksource),
        cost_ns: (cost_ns > 0.0).then_some(cost_ns),
        kernel: text(kernel),
        cpu: text(cpu),
        hypervisor: Some("none".to_owned()),
    };
    State { machine_id: None, values }
}

fn compared(since: Option<&str>, hosts: &[(&str, Vec<State>)]) -> ChangesReport {
    let mut compare = Compare::new(since.and_then(moment), 100);
    hosts.iter().for_each(|(name, states)| compare.name(name, states));
    compare.finish(Input::default(), 0)
}

const OK: [&str; 4] = ["ok", "tsc", "6.1.0-50", "cpu-a"];
const SLOW: [&str; 4] = ["slow", "hpet", "6.1.0-51", "cpu-a"];

#[test]
fn each_change_is_found_and_what_is_not_known_has_not_changed() {
    let report = compared(None, &[("a", vec![state(25, OK, 20.0), state(26, SLOW, 1300.0)])]);
    let host = &report.hosts[0];
    assert_eq!(host.changed, [What::Verdict, What::Clocksource, What::Cost, What::Kernel]);
    assert_eq!(
        host.summary,
        "verdict ok -> slow, clocksource tsc -> hpet, cost 20.0 ns -> 1300 ns, kernel 6.1.0-50 -> 6.1.0-51"
    );
    let unknown = ["unknown", "-", "-", "-"];
    for (before, after) in [(OK, unknown), (unknown, OK)] {
        let report = compared(None, &[("a", vec![state(25, before, 0.0), state(26, after, 20.0)])]);
        assert_eq!((report.compared, report.changed), (1, 0));
    }
}

#[test]
fn noise_of_a_cost_is_not_a_change() {
    for (before, after, changed) in [
        (20.0, 39.0, 0),
        (15.0, 34.0, 0),
        (20.0, 41.0, 1),
        (41.0, 20.0, 1),
        (30.0, 14.0, 0),
        (1000.0, 1900.0, 0),
    ] {
        let report = compared(None, &[("a", vec![state(25, OK, before), state(26, OK, after)])]);
        assert_eq!(report.changed, changed, "{before} {after}");
    }
}

#[test]
fn reports_are_chosen_by_date() {
    let days = |report: &ChangesReport| {
        let day = |at: &Option<String>| at.as_deref().unwrap_or_default()[8..10].to_owned();
        (day(&report.from), day(&report.to))
    };
    let reports = || vec![state(20, OK, 20.0), state(24, SLOW, 1300.0), state(26, OK, 20.0)];
    let last = compared(None, &[("a", reports())]);
    assert_eq!((days(&last), last.changed), (("24".into(), "26".into()), 1));
    let since = compared(Some("2026-11-22"), &[("a", reports())]);
    assert_eq!((days(&since), since.changed), (("20".into(), "26".into()), 0));
    // None before the date: the first one since.
    let since = compared(Some("2026-11-01"), &[("a", reports())]);
    assert_eq!((days(&since), since.changed), (("20".into(), "26".into()), 0));
    let late = compared(Some("2026-11-27"), &[("a", reports()), ("b", vec![state(27, OK, 1.0)])]);
    assert_eq!((late.compared, late.silent, late.single), (0, 1, 1));
    // Of several reports of one moment the first one counts.
    let tie = compared(
        None,
        &[("a", vec![state(25, OK, 20.0), state(26, OK, 20.0), state(26, SLOW, 1300.0)])],
    );
    assert_eq!((tie.compared, tie.changed), (1, 0));
    assert_eq!(compared(None, &[]).headline, "No host has two dated reports to compare.");
}

#[test]
fn machines_of_one_name_are_not_compared_with_each_other() {
    let of = |machine: Option<&str>, state: State| State {
        machine_id: machine.map(str::to_owned),
        ..state
    };
    let clones = vec![
        of(Some("x"), state(24, OK, 20.0)),
        of(Some("y"), state(24, SLOW, 1300.0)),
        of(Some("x"), state(25, OK, 20.0)),
        of(Some("y"), state(25, SLOW, 1300.0)),
    ];
    let report = compared(None, &[("a", clones)]);
    assert_eq!((report.compared, report.changed, report.replaced), (2, 0, 0));
    let replaced = vec![of(Some("x"), state(24, OK, 20.0)), of(Some("y"), state(25, SLOW, 1300.0))];
    let report = compared(None, &[("a", replaced)]);
    assert_eq!((report.compared, report.changed, report.replaced), (0, 0, 1));
    // A report of a version that had no ids.
    let updated = vec![of(None, state(24, OK, 20.0)), of(Some("x"), state(25, SLOW, 1300.0))];
    assert_eq!(compared(None, &[("a", updated)]).changed, 1);
    let unclear = vec![
        of(None, state(23, OK, 20.0)),
        of(Some("x"), state(24, OK, 20.0)),
        of(Some("y"), state(25, SLOW, 1300.0)),
    ];
    let report = compared(None, &[("a", unclear)]);
    assert_eq!((report.changed, report.unclear), (0, 1));
}

/// Ten hosts of one processor got a kernel on which they lose the TSC; of the other processor none did.
#[test]
fn what_changed_hosts_have_in_common_is_found() {
    let mut hosts = Vec::new();
    let mut add = |count: usize, before: [&'static str; 4], after: [&'static str; 4]| {
        for _ in 0..count {
            let name = format!("h{:03}", hosts.len());
            hosts.push((name, vec![state(25, before, 20.0), state(26, after, 20.0)]));
        }
    };
    let (other, updated) = (["ok", "tsc", "6.1.0-50", "cpu-b"], ["ok", "tsc", "6.1.0-51", "cpu-b"]);
    add(10, OK, SLOW);
    add(1, OK, ["ok", "tsc", "6.1.0-51", "cpu-a"]);
    add(50, OK, OK);
    add(40, other, updated);
    add(200, other, other);
    let hosts: Vec<(&str, Vec<State>)> =
        hosts.iter().map(|(name, states)| (name.as_str(), states.clone())).collect();
    let report = compared(None, &hosts);
    assert_eq!((report.compared, report.changed), (301, 51));
    let common = report.common.iter().find(|c| c.changes[0].what == What::Clocksource);
    assert_eq!(common, None, "the same hosts have another verdict: one group");
    let common = &report.common[0];
    let changes: Vec<What> = common.changes.iter().map(|change| change.what).collect();
    assert_eq!(changes, [What::Verdict, What::Clocksource]);
    let shared: Vec<(&str, &str)> =
        common.shared.iter().map(|shared| (shared.property, shared.value.as_str())).collect();
    assert_eq!(shared, [("kernel change", "6.1.0-50 -> 6.1.0-51"), ("cpu", "cpu-a")]);
    assert_eq!(common.with, Share { changed: 10, of: 11 });
    assert_eq!(common.without, Share { changed: 0, of: 290 });
    // Both kinds of processors got the kernel alike: a property that the whole fleet has is not listed as common.
    let kernel = report.common.iter().find(|c| c.changes[0].what == What::Kernel).unwrap();
    assert!(kernel.shared.is_empty(), "{kernel:?}");
    let text = page(&report, crate::render::Look::default());
    assert!(text.contains("all: kernel change 6.1.0-50 -> 6.1.0-51"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(report.hosts[0].host == "h000" && report.hosts[0].changed.len() == 3, "worse first");
}

#[test]
fn lists_are_limited_and_counted() {
    let mut compare = Compare::new(None, 2);
    for at in 0..9 {
        let kernel: &str = &format!("6.1.0-{at}");
        let after = ["ok", "tsc", kernel, "cpu-a"];
        compare.name(
            &format!("h{at}"),
            &[state(25, ["ok", "tsc", "6.0", "cpu-a"], 0.0), state(26, after, 0.0)],
        );
    }
    let report = compare.finish(Input::default(), 3);
    assert_eq!((report.transitions.len(), report.transitions_more), (2, 7));
    assert_eq!((report.hosts.len(), report.hosts_more, report.undated), (2, 7, 3));
    let document = serde_json::to_value(&report).unwrap();
    assert_eq!(document["schema"], json!(CHANGES));
    assert_eq!(document["transitions"][0]["what"], json!("kernel"));
}
