//! Every JSON document is valid against its published schema, and begins with its name.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::process::Command;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn json(args: &[&str]) -> (String, serde_json::Value) {
    let out = Command::new(env!("CARGO_BIN_EXE_clocksmith")).args(args).output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    let value = serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!("{args:?}: {error}\n{text}\n{}", String::from_utf8_lossy(&out.stderr))
    });
    (text, value)
}

fn validate(name: &str, args: &[&str]) -> serde_json::Value {
    let (text, value) = json(args);
    let first = format!("{{\n  \"schema\": \"{name}\"");
    assert!(text.starts_with(&first), "{args:?} begins with {text:.60}");
    let path = repository().join(format!("schemas/{name}.json"));
    let schema = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&value).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{args:?}: {errors:?}");
    value
}

/// A recorded boot of the kernel model's tests, or all of them.
fn boot(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernel/tests/fixtures/boots").join(name)
}

#[test]
fn why_of_this_machine_and_of_others() {
    validate("clocksmith.why.v1", &["why", "--json"]);
    validate("clocksmith.why.v1", &["--json", "--no-measure"]);
    let boots = std::fs::read_dir(boot("")).unwrap();
    for boot in boots {
        let root = boot.unwrap().path().join("root");
        validate("clocksmith.why.v1", &["why", "--json", "--root", root.to_str().unwrap()]);
    }
}

#[test]
fn why_has_the_fields_of_the_contract() {
    let value = validate("clocksmith.why.v1", &["why", "--json", "--no-measure"]);
    for field in ["verdict", "clocksource", "expected", "reads", "causes", "remedies", "missing"] {
        assert!(value.get(field).is_some(), "{field}");
    }
    for field in ["current", "available"] {
        assert!(value["clocksource"].get(field).is_some(), "clocksource.{field}");
        assert!(value["expected"].get(field).is_some(), "expected.{field}");
    }
}

#[test]
fn check_of_this_machine_of_others_and_of_none() {
    validate("clocksmith.check.v1", &["check", "--json"]);
    validate("clocksmith.check.v1", &["check", "--format", "json", "--no-measure"]);
    validate("clocksmith.check.v1", &["check", "--json", "--root", "/nonexistent"]);
    let root = boot("linux-6.1-arm64/root");
    validate("clocksmith.check.v1", &["check", "--json", "--root", root.to_str().unwrap()]);
}

#[test]
fn predict_of_this_machine_and_from_nothing() {
    validate("clocksmith.predict.v1", &["predict", "--json"]);
    let args = ["predict", "--json", "--blank", "--kernel", "6.1", "--set", "vendor=AMD"];
    let args: Vec<&str> = args.into_iter().chain(["--set", "invtsc=no"]).collect();
    let value = validate("clocksmith.predict.v1", &args);
    assert_eq!(value["current"], "hpet");
    assert_eq!(value["vdso"], false);
}

#[test]
fn collect_and_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("bundle.tar.gz");
    let file = file.to_str().unwrap();
    validate("clocksmith.collect.v1", &["collect", "--json", "--output", file]);
    let bundle = validate("clocksmith.why.v1", &["why", "--json", "--bundle", file]);
    let live = validate("clocksmith.why.v1", &["why", "--json", "--no-measure"]);
    assert_eq!(bundle["clocksource"]["current"], live["clocksource"]["current"]);
    assert_eq!(bundle["expected"], live["expected"]);
    assert_eq!(bundle["verdict"], live["verdict"]);
}

#[test]
fn explain_a_word_a_message_and_the_unknown() {
    let name = "clocksmith.explain.v1";
    let value = validate(name, &["explain", "--json", "tsc-warp"]);
    assert_eq!(value["explanations"][0]["kind"], "cause");
    let message = "Clocksource tsc unstable (delta = -131624372 ns)";
    let words: Vec<&str> = ["explain", "--json"].into_iter().chain(message.split(' ')).collect();
    let value = validate(name, &words);
    assert_eq!(value["query"], message);
    assert_eq!(value["explanations"][0]["kind"], "message");
    let value = validate(name, &["explain", "--json", "tsc-wrap"]);
    assert_eq!(value["did_you_mean"][0], "tsc-warp");
}

#[test]
fn vm_migrate_of_files() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let host = |hz: u64, scaling: &str| {
        format!(
            "<capabilities><host><cpu><arch>x86_64</arch><vendor>Intel</vendor><counter name='tsc' \
             frequency='{hz}' scaling='{scaling}'/></cpu></host></capabilities>"
        )
    };
    let same = file("same", &host(2_500_000_000, "no"));
    let other = file("other", &host(3_000_000_000, "no"));
    let scales = file("scales", &host(3_000_000_000, "yes"));
    let guest = file("guest", "qemu-system-x86_64 -cpu host,+invtsc,tsc-frequency=2500000000");
    let report = dir.path().join("why.json").to_str().unwrap().to_owned();
    std::fs::write(&report, json(&["why", "--json", "--no-measure"]).0).unwrap();

    let name = "clocksmith.vm-migrate.v1";
    let value =
        validate(name, &["vm", "migrate", &guest, "--json", "--to", &same, &other, &scales]);
    let verdicts: Vec<_> = (0..3).map(|i| value["hosts"][i]["verdict"].clone()).collect();
    assert_eq!(verdicts, ["exact", "refused", "scaled"]);
    assert_eq!(value["hosts"][2]["clock"]["multiplier"], 0xd555_5555_5555u64);
    let value = validate(name, &["vm", "migrate", "--json", "--fleet", "--to", &same, &scales]);
    assert_eq!(value["fleet"]["frequency_hz"], 2_500_000_000u64);
    // With this machine among the hosts the frequency depends on this machine's.
    let value =
        validate(name, &["vm", "migrate", "--json", "--fleet", "--to", &same, &scales, &report]);
    assert_eq!(value["counts"]["hosts"], 3);

    let code = |args: &[&str]| {
        let out = Command::new(env!("CARGO_BIN_EXE_clocksmith"))
            .args(["vm", "migrate"])
            .args(args)
            .output();
        out.unwrap().status.code()
    };
    assert_eq!(code(&[&guest, "--to", &same, &scales]), Some(0));
    assert_eq!(code(&[&guest, "--to", &same, &other]), Some(1));
    assert_eq!(code(&[&guest, "--to", &guest]), Some(2));
    assert_eq!(code(&["--to", &same]), Some(2));
    assert_eq!(code(&["--frequency", "2500000", "--to", &same]), Some(2));
    let open = file("open", &host(3_000_000_000, "?"));
    assert_eq!(code(&[&guest, "--to", &same, &open]), Some(3));
    assert_eq!(code(&[&guest, "--to", &open, &other]), Some(1));
}

#[test]
fn explain_has_exit_codes() {
    let code = |word: &str| {
        let out = Command::new(env!("CARGO_BIN_EXE_clocksmith")).args(["explain", word]).output();
        out.unwrap().status.code()
    };
    assert_eq!(code("hpet"), Some(0));
    assert_eq!(code("frobnicate"), Some(3));
}

#[cfg(not(feature = "who"))]
#[test]
fn who_of_a_build_without_it_says_how_to_get_it() {
    let out = Command::new(env!("CARGO_BIN_EXE_clocksmith")).args(["who", "--", "true"]).output();
    let out = out.unwrap();
    assert_eq!(out.status.code(), Some(2));
    let said = String::from_utf8(out.stderr).unwrap();
    assert!(said.contains("cargo build --profile dist --features full"), "{said}");
}

#[cfg(feature = "who")]
#[test]
fn who_of_a_command() {
    // Not every machine, and no container, lets a test take samples.
    let out =
        Command::new(env!("CARGO_BIN_EXE_clocksmith")).args(["who", "-q", "--", "true"]).output();
    if !cfg!(target_arch = "x86_64") || out.unwrap().status.code() != Some(0) {
        eprintln!("skipped: no samples can be taken here");
        return;
    }
    let loop_ = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo done";
    let args = ["who", "--json", "--", "sh", "-c", loop_];
    // The command's own output is aside: standard output is one document.
    let value = validate("clocksmith.who.v1", &args);
    assert!(value["totals"]["samples"].as_u64().unwrap() > 0);
    let code = |args: &[&str]| {
        let out = Command::new(env!("CARGO_BIN_EXE_clocksmith")).args(args).output();
        out.unwrap().status.code()
    };
    assert_eq!(code(&["who", "--", "sh", "-c", "exit 7"]), Some(7));
    assert_eq!(code(&["who", "--", "sh", "-c", "kill -9 $$"]), Some(137));
    assert_eq!(code(&["who", "--", "/nonexistent/command"]), Some(2));
    assert_eq!(code(&["who", "-p", "4194304"]), Some(2));
    assert_eq!(code(&["who"]), Some(2));
    assert_eq!(code(&["who", "-p", "1", "--all"]), Some(2));
}
