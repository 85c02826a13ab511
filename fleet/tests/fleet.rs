//! The program as it is used: synthetic fleets with known properties, and bad inputs.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod common;

use arrow_array::{BinaryArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use clocksmith_fleet::generate::Fleet;
use common::{answer, program};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

fn write(dir: &Path, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn lines(fleet: Fleet) -> String {
    fleet.machines().map(|made| format!("{}\n", made.document)).collect()
}

fn counts(list: &Value, name: &str) -> BTreeMap<String, u64> {
    let rows = list.as_array().unwrap().iter();
    rows.map(|row| (row[name].as_str().unwrap().to_owned(), row["hosts"].as_u64().unwrap()))
        .collect()
}

#[test]
fn values_that_a_query_makes_are_limited_too() {
    let dir = tempfile::tempdir().unwrap();
    let fleet = write(dir.path(), "a.jsonl", lines(Fleet { hosts: 3, seed: 1, day: 0 }));
    let ask = |query: &str| program(&["--memory", "64M", "--sql", query, fleet.to_str().unwrap()]);
    for query in [
        "SELECT length(repeat('a', 2000000000)) FROM hosts",
        "SELECT length(lpad(host, 2000000000, 'x')) FROM hosts",
    ] {
        let out = ask(query);
        let said = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{said}");
        assert!(
            said.contains("clocksmith-fleet: out of memory") && said.contains("--memory"),
            "{said}"
        );
    }
    assert!(ask("SELECT length(repeat('a', 1000000)) FROM hosts").status.success());
}

#[test]
fn queries_that_are_too_long_for_the_stack_are_refused_and_shorter_ones_are_answered() {
    let dir = tempfile::tempdir().unwrap();
    let fleet = write(dir.path(), "a.jsonl", lines(Fleet { hosts: 3, seed: 1, day: 0 }));
    let chain = |one: &str, with: &str, times| {
        format!("SELECT {} AS x FROM hosts", vec![one; times].join(with))
    };
    let ask = |query: &str| program(&["--sql", query, text(&fleet)]);
    for (one, with, most) in [("causes", "+", 1000), ("host='a'", " OR ", 500)] {
        let out = ask(&chain(one, with, most));
        assert!(out.status.success(), "{with}: {}", String::from_utf8_lossy(&out.stderr));
    }
    for (one, with) in [("1", "+"), ("causes", "+"), ("host", "||"), ("host='a'", " OR ")] {
        let out = ask(&chain(one, with, 5000));
        let said = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{with}: {said}");
        assert!(said.contains("at most 1000 are read"), "{said}");
    }
}

#[test]
fn any_number_of_bytes_is_a_limit_of_memory() {
    let dir = tempfile::tempdir().unwrap();
    let fleet = write(dir.path(), "a.jsonl", lines(Fleet { hosts: 3, seed: 1, day: 0 }));
    for memory in ["64M", "18446744073709551615", "9223372036854775808", "17179869183G"] {
        let out = program(&["--memory", memory, text(&fleet)]);
        assert!(out.status.success(), "{memory}: {}", String::from_utf8_lossy(&out.stderr));
    }
}

/// Tables as another program writes them, with one column of `hosts` replaced by bytes.
fn with_bytes(dir: &Path, column: &str) {
    let path = dir.join("hosts.parquet");
    let opened = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap()).unwrap();
    let batch = opened.build().unwrap().next().unwrap().unwrap();
    let bytes = BinaryArray::from_iter_values(vec![b"\xff\xfe\x1b[31m"; batch.num_rows()]);
    let (mut fields, mut columns) = (batch.schema().fields().to_vec(), batch.columns().to_vec());
    let field = Arc::new(Field::new(column, DataType::Binary, true));
    match batch.schema().index_of(column) {
        Ok(at) => (fields[at], columns[at]) = (field, Arc::new(bytes)),
        Err(_) => {
            fields.push(field);
            columns.push(Arc::new(bytes));
        }
    }
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
    let mut writer =
        ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

#[test]
fn text_that_its_file_does_not_mark_as_such_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let fleet = write(dir.path(), "a.jsonl", lines(Fleet { hosts: 3, seed: 1, day: 0 }));
    for column in ["host", "confidence", "cpu", "machine_id"] {
        let tables = dir.path().join(column);
        answer(&[text(&fleet), "--out", text(&tables)]);
        with_bytes(&tables, column);
        for query in ["SELECT * FROM hosts", "SELECT count(*) FROM causes"] {
            let out = program(&["--sql", query, text(&tables)]);
            let said = String::from_utf8_lossy(&out.stderr);
            assert_eq!(out.status.code(), Some(2), "{said}");
            let why = format!("its column {column} is not marked as text (UTF-8)");
            assert!(said.contains("hosts.parquet") && said.contains(&why), "{said}");
            assert!(!said.contains("panicked"), "{said}");
        }
    }
    // Bytes that are not read as text are shown as bytes.
    let tables = dir.path().join("more");
    answer(&[text(&fleet), "--out", text(&tables)]);
    with_bytes(&tables, "more");
    let out = program(&["--csv", "--sql", "SELECT more FROM hosts", text(&tables)]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(out.stdout.is_ascii(), "{}", String::from_utf8_lossy(&out.stdout));
}

#[test]
fn report_of_synthetic_fleet_matches_known_truth() {
    let dir = tempfile::tempdir().unwrap();
    let fleet = Fleet { hosts: 6000, seed: 3, day: 0 };
    let (mut verdicts, mut remedies, mut costly) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
    for made in fleet.machines() {
        *verdicts.entry(made.verdict.to_owned()).or_insert(0) += 1;
        if let Some(remedy) = made.remedy {
            *remedies.entry(remedy.to_owned()).or_insert(0) += 1;
        }
        if made.costly {
            costly.push(made.document["host"].as_str().unwrap().to_owned());
        }
    }
    assert!(!costly.is_empty());
    let input = write(dir.path(), "fleet.jsonl", lines(fleet));
    let out = dir.path().join("tables");
    let report = answer(&["--out", out.to_str().unwrap(), input.to_str().unwrap()]);
    assert_eq!(report["hosts"], 6000);
    assert_eq!(counts(&report["verdicts"]["groups"], "name"), verdicts);
    assert_eq!(counts(&report["changes"]["changes"], "remedy"), remedies);
    let found: Vec<&str> = report["outliers"]["cost"]
        .as_array()
        .unwrap()
        .iter()
        .map(|o| o["host"].as_str().unwrap())
        .collect();
    for host in &costly {
        assert!(found.contains(&host.as_str()), "{host} was planted and not found in {found:?}");
    }
    for outlier in report["outliers"]["choice"].as_array().unwrap() {
        let here = (&outlier["clocksource"], &outlier["verdict"]);
        assert_ne!(here, (&outlier["usual_clocksource"], &outlier["usual_verdict"]), "{outlier}");
    }
    assert_eq!(report["outliers"]["choice_more"], 0);
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/../schemas/clocksmith.fleet.v1.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(schema).unwrap()).unwrap();
    for field in schema["required"].as_array().unwrap() {
        assert!(report.get(field.as_str().unwrap()).is_some(), "{field}");
    }
    // The tables give the same report as their source, and are not overwritten.
    let mut again = self::answer(&[out.to_str().unwrap()]);
    again["tables"] = report["tables"].clone();
    again["input"] = report["input"].clone();
    assert_eq!(again, report);
    let refused = program(&["--out", out.to_str().unwrap(), input.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(2));
    let left: Vec<_> = std::fs::read_dir(&out).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
    // Two directories of tables are one fleet, in which each host counts once.
    let twice = self::answer(&[out.to_str().unwrap(), out.to_str().unwrap()]);
    assert_eq!((&twice["hosts"], &twice["input"]["duplicates"]), (&json!(6000), &json!(6000)));
    assert_eq!(twice["causes"], report["causes"]);
    assert_eq!(twice["changes"], report["changes"]);
}

#[test]
fn bad_documents_are_counted_and_named_and_stop_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let good = lines(Fleet { hosts: 3, seed: 1, day: 0 });
    let first = good.lines().next().unwrap();
    let deep = "[".repeat(300_000);
    let text =
        format!("{good}nonsense\n{{\"schema\":\"clocksmith.why.v9\"}}\n\n{deep}\n{first}\n\u{0}\n");
    let bad = write(dir.path(), "bad.jsonl", text);
    let packed = write(dir.path(), "packed.gz", b"\x1f\x8b\x08\x00");
    let missing = dir.path().join("missing.json");
    let inputs = [bad.to_str().unwrap(), packed.to_str().unwrap(), missing.to_str().unwrap()];
    let report = answer(&inputs);
    assert_eq!(report["hosts"], 3);
    assert_eq!(report["input"]["rejected"], 6);
    assert_eq!(report["input"]["duplicates"], 1);
    let place = |at: usize| report["input"]["rejects"][at]["place"].as_str().unwrap().to_owned();
    assert!(place(0).ends_with("bad.jsonl:4") && place(1).ends_with("bad.jsonl:5"), "{report:#}");
    assert!(report["input"]["rejects"][1]["why"].as_str().unwrap().contains("newer"));
    let text = String::from_utf8(program(&inputs).stdout).unwrap();
    assert!(
        text.contains("6 of 10 documents could not be used") && text.contains("bad.jsonl:4"),
        "{text}"
    );
    assert!(text.lines().all(|line| line.chars().count() <= 80 || !line.contains("  ")), "{text}");
}

#[test]
fn nothing_usable_is_wrong_input_and_nothing_known_is_not_determined() {
    let dir = tempfile::tempdir().unwrap();
    for text in ["", "\n\n", "nonsense\n", "{}\n"] {
        let out = program(&[write(dir.path(), "x", text).to_str().unwrap()]);
        assert_eq!(out.status.code(), Some(2), "{text:?}");
        assert!(out.stdout.is_empty() && !out.stderr.is_empty());
    }
    let unknown = json!({"schema": "clocksmith.why.v1", "verdict": "unknown", "confidence": "low",
        "clocksource": {}, "expected": {}, "causes": [], "remedies": []});
    let unknown = write(dir.path(), "u.jsonl", unknown.to_string());
    assert_eq!(program(&[unknown.to_str().unwrap()]).status.code(), Some(3));
}

#[test]
fn sql_reads_and_never_writes() {
    let dir = tempfile::tempdir().unwrap();
    let input = write(dir.path(), "f.jsonl", lines(Fleet { hosts: 40, seed: 1, day: 0 }));
    let ask = |form: &str, query: &str| program(&[form, "--sql", query, input.to_str().unwrap()]);
    let out = ask("--json", "SELECT count(*) AS n, count(DISTINCT host) AS m FROM hosts");
    assert_eq!(serde_json::from_slice::<Value>(&out.stdout).unwrap(), json!({"n": 40, "m": 40}));
    let out = ask("--csv", "SELECT lower(verdict) v FROM hosts WHERE false");
    assert_eq!(String::from_utf8(out.stdout).unwrap(), "v\n");
    let target = dir.path().join("written");
    for query in [
        format!("COPY hosts TO '{}' STORED AS CSV", target.display()),
        format!("CREATE EXTERNAL TABLE x STORED AS CSV LOCATION '{}'", input.display()),
        "INSERT INTO hosts SELECT * FROM hosts".to_owned(),
        "DROP TABLE hosts".to_owned(),
        "SET datafusion.execution.batch_size = 1".to_owned(),
        format!("SELECT * FROM '{}'", input.display()),
        "SELECT nonsense FROM hosts".to_owned(),
        "SELECT count(*) FROM hosts; DROP TABLE hosts".to_owned(),
    ] {
        let out = ask("--json", &query);
        assert_eq!(out.status.code(), Some(2), "{query}: {}", String::from_utf8_lossy(&out.stdout));
    }
    assert!(!target.exists());
}

#[test]
fn documents_come_by_pipe_and_by_a_list_of_names() {
    let dir = tempfile::tempdir().unwrap();
    let pretty = |seed| {
        Fleet { hosts: 1, seed, day: 0 }
            .machines()
            .map(|m| format!("{:#}\n", m.document))
            .collect::<String>()
    };
    let (a, b) = (write(dir.path(), "a.json", pretty(1)), write(dir.path(), "b.json", pretty(2)));
    let list = write(dir.path(), "list", format!("-\0{}\0{}\0", a.display(), b.display()));
    let mut child = Command::new(env!("CARGO_BIN_EXE_clocksmith-fleet"))
        .args(["--json", "--files-from", list.to_str().unwrap()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let why: Value = serde_json::from_str(&pretty(9)).unwrap();
    let passed = json!({"schema": "clocksmith.fleet-input.v1", "input": "web.tar.gz", "error": "it is cut off"});
    let mut pipe = child.stdin.take().unwrap();
    write!(pipe, "{passed}\n{why}\n").unwrap();
    drop(pipe);
    let report: Value = serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap();
    let reject = json!({"place": "web.tar.gz", "why": "it is cut off"});
    assert_eq!(report["input"]["rejects"], json!([reject]));
    assert_eq!(report["input"]["documents"], 4);
}

#[test]
fn definitions_name_every_column() {
    let text = String::from_utf8(program(&["--tables"]).stdout).unwrap();
    for column in ["cost_ns", "tsc_khz", "kernel_series", "refused_because", "severity"] {
        assert!(text.contains(column), "{column}");
    }
}
