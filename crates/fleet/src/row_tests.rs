use super::*;
use crate::generate::Fleet;
use crate::parse::{DocumentError, Named, parse, parse_named};
use serde_json::{Value, json};
use std::collections::HashSet;

fn document() -> Value {
    json!({"schema": "clocksmith.why.v1", "verdict": "slow", "confidence": "high", "headline": "x",
        "clocksource": {"current": "hpet", "available": ["hpet", "acpi_pm"], "source": "s"},
        "expected": {"current": "tsc", "available": null, "vdso": true},
        "reads": [{"clock": "CLOCK_MONOTONIC", "path": "syscall", "ns": 1000.5, "syscall_ns": 1001.0},
            {"clock": "CLOCK_REALTIME", "path": "syscall", "ns": 1200.0, "syscall_ns": null}],
        "causes": [
            {"id": "vdso-bypassed", "severity": "info", "confidence": "low", "summary": "", "evidence": []},
            {"id": "watchdog-at-fault", "severity": "warning", "confidence": "high", "summary": "", "evidence": []},
            {"id": "of-a-later-version", "severity": "warning", "confidence": "high"}],
        "remedies": [
            {"id": "a-refused", "layer": "boot", "refused_because": "no", "for": ["watchdog-at-fault"]},
            {"id": "b-program", "layer": "program", "for": ["watchdog-at-fault", "of-a-later-version"]},
            {"id": "c-other", "layer": "boot", "for": ["of-a-later-version"]},
            {"id": "d-right", "layer": "runtime", "for": ["watchdog-at-fault"]},
            {"id": "e-all", "layer": "boot", "for": ["watchdog-at-fault", "of-a-later-version"]}],
        "machine": {"kernel": "6.1.0-50-amd64", "arch": "x86_64", "hypervisor": "none", "cpu": " C\u{1b}PU ",
            "as_host": {"tsc": {"khz": 2_500_000, "slack_khz": 3}, "scaling": true, "hardware": "vmx", "invariant": true}}})
}

fn rows(document: &Value) -> Rows {
    Rows::of(&parse(document.to_string().as_bytes()).unwrap(), "a.jsonl:7")
}

#[test]
fn a_document_becomes_rows() {
    let rows = rows(&document());
    let host = &rows.host;
    assert_eq!((host.host.as_str(), host.taken_from.as_str()), ("a.jsonl:7", "a.jsonl:7"));
    assert_eq!(
        (host.cost_ns, host.monotonic_ns, host.syscall_ns),
        (Some(1200.0), Some(1000.5), None)
    );
    assert_eq!((host.vdso, host.expected_vdso), (Some(false), Some(true)));
    assert_eq!(host.available.as_deref(), Some("hpet acpi_pm"));
    assert_eq!(
        host.cause.as_deref(),
        Some("watchdog-at-fault"),
        "the gravest, of equal ones the first"
    );
    assert_eq!(host.cpu.as_deref(), Some("C<ESC>PU"), "nothing that moves a cursor");
    assert_eq!(host.kernel_series.as_deref(), Some("6.1"));
    assert_eq!((host.tsc_khz, host.tsc_slack_khz), (Some(2_500_000), Some(3)));
    assert_eq!((rows.causes.len(), rows.remedies.len()), (3, 5));
}

#[test]
fn the_change_is_the_first_that_is_allowed_and_answers_what_is_gravest() {
    let mut document = document();
    let chosen = |document: &Value| {
        let rows = rows(document);
        let marked = rows.remedies.iter().find(|r| r.chosen).map(|r| r.remedy.clone());
        assert_eq!(marked, rows.host.remedy);
        (rows.host.remedy, rows.host.remedy_alone)
    };
    assert_eq!(chosen(&document), (Some("d-right".into()), Some(false)));
    document["remedies"].as_array_mut().unwrap().remove(3);
    assert_eq!(chosen(&document), (Some("e-all".into()), Some(true)));
    document["verdict"] = json!("ok");
    assert_eq!(chosen(&document), (None, None), "nothing is wrong");
}

#[test]
fn host_without_usable_name_gets_input_name() {
    let mut document = document();
    for (name, expected) in
        [("web1", "web1"), ("localhost", "a.jsonl:7"), ("", "a.jsonl:7"), ("(none)", "a.jsonl:7")]
    {
        document["host"] = json!(name);
        assert_eq!(rows(&document).host.host, expected);
    }
    document["host"] = json!("x".repeat(100_000));
    assert_eq!(rows(&document).host.host.len(), MAX_TEXT);
}

#[test]
fn other_documents_are_refused_by_name() {
    let refuse = |text: &str| parse(text.as_bytes()).unwrap_err();
    assert_eq!(
        refuse("{\"schema\":\"clocksmith.why.v2\"}"),
        DocumentError::Newer("clocksmith.why.v2".into())
    );
    assert_eq!(
        refuse("{\"schema\":\"clocksmith.check.v1\"}"),
        DocumentError::OtherDocument("clocksmith.check.v1".into())
    );
    // Hidden characters of the name are shown.
    assert_eq!(
        refuse("{\"schema\":\"a\\u001b[2J\\u202eb\"}"),
        DocumentError::OtherDocument("a<ESC>[2J<U+202E>b".into())
    );
    assert_eq!(refuse("{\"a\":1}"), DocumentError::NoSchema);
    let mut odd = document();
    odd["verdict"] = json!("fine");
    for text in [
        "",
        "x",
        "{\"schema\":\"clocksmith.why.v1\"}",
        "{\"schema\":\"clocksmith.why.v1\"",
        &odd.to_string(),
    ] {
        assert!(matches!(refuse(text), DocumentError::Broken(_)), "{text}: {}", refuse(text));
    }
    // The schema is found at any place, and in any spelling of JSON.
    let text = document().to_string().replacen("\"schema\":\"clocksmith.why.v1\",", "", 1);
    let last = format!("{},\"schema\":\"clocksmith.why.v1\"}}", text.strip_suffix('}').unwrap());
    assert!(parse(last.as_bytes()).is_ok());
    assert!(parse(format!("{:#}", document()).as_bytes()).is_ok());
}

/// A privileged run may read files that the caller may not.
#[test]
fn errors_about_values_do_not_quote_them() {
    let mut refused = 0;
    for name in document().as_object().unwrap().keys().filter(|name| *name != "schema") {
        let mut odd = document();
        odd[name.as_str()] = json!("SECRET");
        if let Err(error) = parse(odd.to_string().as_bytes()) {
            refused += 1;
            assert!(!error.to_string().contains("SECRET"), "{name}: {error}");
        }
    }
    assert!(refused > 2, "{refused}");
}

/// A document of the first version: without `host`, `next`, `policies`, `settles`, `contradictions`, `verified` and
/// `timeline`, without lists of settings, and without `machine.as_host`.
const FIRST: &str = r#"{"schema": "clocksmith.why.v1", "verdict": "slow", "confidence": "medium",
    "headline": "Reading the time is slow here.",
    "clocksource": {"current": "hpet", "available": ["hpet", "acpi_pm"], "source": "sysfs"},
    "expected": {"current": "tsc", "available": ["tsc", "hpet", "acpi_pm"]},
    "reads": [{"clock": "CLOCK_REALTIME", "path": "syscall", "ns": 1200.0}],
    "causes": [{"id": "tsc-skew", "severity": "warning", "confidence": "medium", "summary": "s",
        "evidence": [{"source": "dmesg:3", "text": "t"}]}],
    "remedies": [{"id": "reboot-to-restore", "layer": "runtime", "summary": "s", "risk": "r", "commands": [],
        "for": ["tsc-skew"], "source": "s"}],
    "missing": [{"fact": "CPUID", "why": "not there"}], "differences": [],
    "machine": {"kernel": "6.1.0-50-amd64", "arch": "x86_64", "hypervisor": null, "cpu": "C"}}"#;

#[test]
fn parse_document_of_the_first_version_gives_defaults() {
    let document = parse(FIRST.as_bytes()).unwrap();
    assert!(document.timeline.is_empty() && document.next.is_empty() && document.host.is_none());
    assert_eq!(document.machine.as_host, clocksmith_diagnose::report::AsHost::default());
    let rows = Rows::of(&document, "a.jsonl:1");
    assert_eq!(rows.host.remedy.as_deref(), Some("reboot-to-restore"));
    assert_eq!((rows.host.cost_ns, rows.host.syscall_ns), (Some(1200.0), None));
    assert_eq!((rows.host.vdso, rows.host.tsc_khz, rows.host.verified), (None, None, None));
}

#[test]
fn parse_document_of_a_later_version_ignores_what_is_new() {
    let mut later: Value = document();
    for at in
        ["", "/clocksource", "/machine", "/machine/as_host", "/causes/0", "/remedies/0", "/reads/0"]
    {
        later.pointer_mut(at).unwrap()["of_a_later_version"] = json!({"a": [1, null]});
    }
    later["machine"]["as_host"]["hardware"] = json!("a-new-way");
    later["timeline"] =
        json!([{"at": 1.0, "step": "a-new-step", "source": "dmesg:1", "text": "t"}]);
    let rows = Rows::of(&parse(later.to_string().as_bytes()).unwrap(), "a.jsonl:7");
    assert_eq!(rows.host.tsc_hardware, None);
    assert_eq!(rows.causes[2].cause, "of-a-later-version");
    let mut known = Rows::of(&parse(document().to_string().as_bytes()).unwrap(), "a.jsonl:7");
    known.host.tsc_hardware = None;
    assert_eq!(rows, known);
}

#[test]
fn passed_document_has_name_of_its_input() {
    let text = json!({"schema": "clocksmith.fleet-input.v1", "input": "web1.tar.gz", "document": document()});
    let Named { input, document } = parse_named(text.to_string().as_bytes());
    assert_eq!(Rows::of(&document.unwrap(), &input.unwrap()).host.host, "web1.tar.gz");
    let text =
        json!({"schema": "clocksmith.fleet-input.v1", "input": "b", "error": "it is cut off"});
    let error = parse_named(text.to_string().as_bytes()).document.unwrap_err();
    assert_eq!(error.to_string(), "it is cut off");
}

#[test]
fn series_are_two_numbers() {
    for (release, expected) in [
        ("6.1.0-50-amd64", Some("6.1")),
        ("7.3-cloud-amd64", Some("7.3")),
        ("2.6.32", Some("2.6")),
        ("x", None),
        ("6.", None),
        ("6", None),
        ("", None),
    ] {
        assert_eq!(series(release).as_deref(), expected, "{release}");
    }
}

/// A synthetic fleet is read as it was generated, is valid against the published schema, and depends
/// only on the seed.
#[test]
fn synthetic_fleet_matches_schema_and_known_truth() {
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/clocksmith.why.v1.json");
    let schema = serde_json::from_str(&std::fs::read_to_string(schema).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let fleet = Fleet { hosts: 4000, seed: 7, day: 0 };
    let (mut names, mut verdicts) = (HashSet::new(), HashSet::new());
    for made in fleet.machines() {
        assert!(
            validator.is_valid(&made.document),
            "{:?}",
            validator.iter_errors(&made.document).next()
        );
        let rows = rows(&made.document);
        assert_eq!(rows.host.verdict.name(), made.verdict);
        assert_eq!(rows.host.remedy.as_deref(), made.remedy, "{}", rows.host.host);
        verdicts.insert(made.verdict);
        assert!(names.insert(rows.host.host));
    }
    assert_eq!((names.len(), verdicts.len()), (4000, 3));
    let text = |seed| {
        Fleet { hosts: 50, seed, day: 0 }
            .machines()
            .map(|m| m.document.to_string())
            .collect::<String>()
    };
    assert_eq!(text(1), text(1));
    assert_ne!(text(1), text(2));
}
