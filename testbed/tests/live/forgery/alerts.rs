//! The results of the shipped alert rules on metrics that a watch wrote, by promtool.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may end where something is missing"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// Metrics at one moment: values by name and labels.
pub(super) type Sample = BTreeMap<String, f64>;

/// True of a busy host, and independent of the log.
const BUSY: [&str; 2] = ["MachineStoodStill", "ClockReadCostChanged"];

/// The content of lines `prom N METRIC VALUE`, by N.
pub(super) fn samples(lines: &str) -> Vec<Sample> {
    let mut all: BTreeMap<u32, Sample> = BTreeMap::new();
    for line in lines.lines().filter_map(|line| line.strip_prefix("prom ")) {
        let (number, metric) = line.split_once(' ').unwrap();
        let sample = all.entry(number.parse().unwrap()).or_default();
        // Not times since 1970: promtool's begin at 0.
        if !metric.starts_with('#') && !metric.contains("timestamp_seconds") {
            let (name, value) = metric.rsplit_once(' ').unwrap();
            sample.insert(name.to_owned(), value.parse().unwrap());
        }
    }
    all.into_values().collect()
}

/// The alerts that fire at any time from the first sample to 20 minutes after the last one, if a Prometheus sees a
/// sample each minute and the last one from then on.
pub(super) fn firing(samples: &[Sample]) -> Vec<String> {
    let rules = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../packaging/prometheus/clocksmith.rules.yml")
        .canonicalize()
        .unwrap();
    let names: BTreeSet<&String> = samples.iter().flat_map(BTreeMap::keys).collect();
    let mut series = String::new();
    for name in names {
        let mut values: Vec<String> = samples
            .iter()
            .map(|sample| sample.get(name).map_or("_".to_owned(), |value| format!("{value}")))
            .collect();
        // `AxN` is A and N times more the same.
        values.last_mut().unwrap().push_str("x20");
        let values = values.join(" ").replace("_x20", "_");
        writeln!(series, "      - series: '{name}'\n        values: '{values}'").unwrap();
    }
    let asked = fired(&rules, &series, samples.len() + 20);
    asked.into_iter().filter(|name| !BUSY.contains(&name.as_str())).collect()
}

/// The names of all alerts of the rules that fired until then, each tested by itself: promtool compares, but
/// does not list them.
fn fired(rules: &Path, series: &str, minutes: usize) -> Vec<String> {
    let text = std::fs::read_to_string(rules).unwrap();
    let names = text.lines().filter_map(|line| line.trim().strip_prefix("- alert: "));
    let dir = tempfile::tempdir().unwrap();
    let silent = |names: &[&str]| {
        let mut test = format!(
            "rule_files: ['{}']\nevaluation_interval: 1m\ntests:\n  - interval: 1m\n    \
             input_series:\n{series}    promql_expr_test:\n",
            rules.display()
        );
        for name in names {
            let alerts = format!("ALERTS{{alertname=\"{name}\",alertstate=\"firing\"}}");
            let ask = format!("count(count_over_time({alerts}[{minutes}m]))");
            writeln!(test, "      - expr: '{ask}'\n        eval_time: {minutes}m").unwrap();
        }
        let file = dir.path().join("test.yml");
        std::fs::write(&file, test).unwrap();
        let ran = Command::new("promtool").args(["test", "rules"]).arg(&file).output();
        let ran = ran.expect("promtool (Debian package prometheus)");
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        let said = said + &String::from_utf8_lossy(&ran.stdout);
        // 1: an expectation that fails; any other status is an error in this test.
        let good = ran.status.success() || said.contains("exp:") && said.contains("got:");
        assert!(good, "{said}\n{}", std::fs::read_to_string(&file).unwrap());
        ran.status.success()
    };
    names.filter(|name| !silent(&[name])).map(str::to_owned).collect()
}

#[test]
fn firing_lists_alerts_of_metrics() {
    let sample = |verdict: f64, changes: f64| {
        Sample::from([
            ("clocksmith_verdict{verdict=\"slow\"}".to_owned(), verdict),
            ("clocksmith_events_total{kind=\"clocksource-change\"}".to_owned(), changes),
        ])
    };
    if Command::new("promtool").arg("--version").output().is_err() {
        return;
    }
    let calm = vec![sample(0.0, 0.0); 4];
    assert_eq!(firing(&calm), Vec::<String>::new());
    let slow = [calm.clone(), vec![sample(1.0, 0.0)]].concat();
    assert_eq!(firing(&slow), ["ClockSlow"]);
    let changed = [calm, vec![sample(0.0, 1.0)]].concat();
    assert_eq!(firing(&changed), ["ClocksourceChanged"]);
}
