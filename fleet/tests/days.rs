//! Reports of several days: the one that is used, the history, and the changes.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod common;

use clocksmith_fleet::generate::{Fleet, Planted};
use common::{answer, program};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

const SIZE: u64 = 1500;

fn sql(dir: &str, query: &str) -> Vec<Value> {
    let out = program(&["--json", "--sql", query, dir]);
    assert!(out.status.success(), "{query}: {}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8(out.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn day(dir: &Path, day: u16) -> PathBuf {
    let path = dir.join(format!("{day}.jsonl"));
    let lines = Fleet { hosts: SIZE, seed: 2, day }.machines();
    std::fs::write(&path, lines.map(|made| format!("{}\n", made.document)).collect::<String>())
        .unwrap();
    path
}

/// Every file below a directory, with its content.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(text(&path).to_owned(), std::fs::read(&path).unwrap());
        }
    }
    found
}

fn document(host: &str, machine: Option<&str>, taken_at: Option<&str>, verdict: &str) -> String {
    let cause = json!([{"id": "tsc-warp", "severity": "warning", "confidence": "high"}]);
    let document = json!({"schema": "clocksmith.why.v1", "verdict": verdict, "confidence": "high", "host": host,
        "taken_at": taken_at, "machine_id": machine, "clocksource": {"current": "tsc"}, "expected": {},
        "causes": if verdict == "ok" { json!([]) } else { cause }, "remedies": []});
    format!("{document}\n")
}

#[test]
fn newest_report_of_each_host_serves_in_every_order() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, content: String| {
        let path = dir.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    let old = write(
        "old",
        document("a", None, Some("2026-01-05T03:00:00Z"), "slow")
            + &document("b", None, None, "slow"),
    );
    let new = write(
        "new",
        document("a", None, Some("2026-01-06T03:00:00Z"), "ok")
            + &document("b", None, Some("2025-01-01T00:00:00Z"), "ok"),
    );
    for inputs in [[&old, &new], [&new, &old]] {
        let report = answer(&[text(inputs[0]), text(inputs[1])]);
        assert_eq!((&report["hosts"], &report["input"]["duplicates"]), (&json!(2), &json!(2)));
        assert_eq!(report["verdicts"]["groups"][0]["name"], "ok");
        assert_eq!(
            report["causes"]["groups"],
            json!([]),
            "the causes of older reports do not count"
        );
        let left: Vec<&str> = report["input"]["duplicate_hosts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|h| h.as_str().unwrap())
            .collect();
        assert!(left.iter().all(|host| host.contains("old:")), "{left:?}");
    }
    // Neither is newer: the first one is used, and the report counts it.
    let tie = write("tie", document("a", None, None, "ok") + &document("a", None, None, "slow"));
    let report = answer(&[text(&tie)]);
    assert_eq!((&report["input"]["ties"], &report["dates"]["undated"]), (&json!(1), &json!(1)));
    assert_eq!(report["verdicts"]["groups"][0]["name"], "ok");
    let said = String::from_utf8(program(&[text(&tie)]).stdout).unwrap();
    assert!(said.contains("1 host has several newest reports") && said.contains("tie:2"), "{said}");
    // A clock that is ahead must not serve for ever.
    let ahead = write("ahead", document("a", None, Some("2099-01-01T00:00:00Z"), "slow"));
    let report = answer(&[text(&ahead), text(&new)]);
    assert_eq!(
        (&report["input"]["future"], &report["verdicts"]["groups"][0]["hosts"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(report["verdicts"]["groups"][0]["name"], "ok");
    let text = report["input"]["future_hosts"][0].as_str().unwrap();
    assert!(text.contains("2099-01-01") && text.contains("ahead:1"), "{text}");
}

#[test]
fn machines_of_one_name_are_hosts_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("clones");
    let lines = document("a", Some("x"), Some("2026-01-05T03:00:00Z"), "slow")
        + &document("a", Some("y"), Some("2026-01-05T04:00:00Z"), "ok");
    std::fs::write(&path, lines).unwrap();
    let report = answer(&[text(&path)]);
    assert_eq!((&report["hosts"], &report["input"]["shared_names"]), (&json!(2), &json!(1)));
    assert_eq!(report["causes"]["groups"][0]["hosts"], 1);
    let said = String::from_utf8(program(&[text(&path)]).stdout).unwrap();
    assert!(said.contains("1 name belongs to several machines"), "{said}");
}

#[test]
fn history_keeps_each_report_once_and_changes_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let history = dir.path().join("history");
    let days: Vec<PathBuf> = (0..3).map(|number| day(dir.path(), number)).collect();
    // Two days in one run, then one that has both and the third.
    let report = answer(&[text(&days[0]), text(&days[1]), "--history", text(&history)]);
    assert_eq!(
        (&report["history"]["added"], &report["history"]["days"], &report["hosts"]),
        (&json!(2 * SIZE), &json!(2), &json!(SIZE))
    );
    let before = files(&history);
    assert_eq!(before.len(), 6);
    let again = answer(&[text(&days[1]), text(&days[0]), "--history", text(&history)]);
    assert_eq!(
        (&again["history"]["added"], &again["history"]["known"]),
        (&json!(0), &json!(2 * SIZE))
    );
    assert_eq!(files(&history), before);
    let report = answer(&[text(&days[2]), text(&days[1]), "--history", text(&history)]);
    assert_eq!(
        (&report["history"]["added"], &report["history"]["known"]),
        (&json!(SIZE), &json!(SIZE))
    );
    let after = files(&history);
    assert!(
        after.len() == 9 && before.iter().all(|(name, content)| after.get(name) == Some(content))
    );
    assert!(after.keys().all(|name| name.contains("/day=2026-01-0")), "{:?}", after.keys());
    // Its newest reports are those of the last day, in all three tables.
    let newest = answer(&[text(&history)]);
    let mut last = answer(&[text(&days[2])]);
    last["input"] = newest["input"].clone();
    assert_eq!(newest, last);
    assert_eq!(newest["input"]["duplicates"], 2 * SIZE);
    let counts = "SELECT day, count(*) AS n, count(DISTINCT host) AS hosts FROM history_hosts GROUP BY day ORDER BY day";
    let expected: Vec<Value> = (5..8)
        .map(|day| json!({"day": format!("2026-01-0{day}"), "n": SIZE, "hosts": SIZE}))
        .collect();
    assert_eq!(sql(text(&history), counts), expected);
    // Documents that are newer than the history serve beside it.
    let fourth = day(dir.path(), 3);
    let both = answer(&[text(&history), text(&fourth)]);
    assert_eq!(
        (&both["hosts"], &both["dates"]["oldest"].as_str().unwrap()[..10]),
        (&json!(SIZE), "2026-01-08")
    );
    // A report without a date cannot be added.
    let undated = dir.path().join("undated");
    std::fs::write(&undated, document("u", None, None, "ok")).unwrap();
    let refused = program(&[text(&undated), "--history", text(&history)]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--date DATE"));
    let dated = answer(&[text(&undated), "--history", text(&history), "--date", "2026-01-07"]);
    assert_eq!(dated["history"]["added"], 1);
}

#[test]
fn compaction_merges_days_and_survives_an_interruption() {
    let dir = tempfile::tempdir().unwrap();
    let history = dir.path().join("history");
    let whole = std::fs::read_to_string(day(dir.path(), 1)).unwrap();
    for (at, part) in whole.lines().collect::<Vec<_>>().chunks(500).enumerate() {
        let path = dir.path().join(format!("part{at}"));
        std::fs::write(&path, part.join("\n")).unwrap();
        answer(&[text(&path), "--history", text(&history)]);
    }
    let foreign = history.join("hosts/day=2026-01-06/site-b.parquet");
    std::fs::copy(files(&history).keys().find(|name| name.contains("/hosts/")).unwrap(), &foreign)
        .unwrap();
    let before = files(&history);
    let (report, all) = (answer(&[text(&history)]), "SELECT * FROM history_hosts ORDER BY host");
    std::fs::remove_file(&foreign).unwrap();
    let rows = sql(text(&history), all);
    std::fs::write(&foreign, &before[text(&foreign)]).unwrap();
    let done = program(&["--history", text(&history), "--compact"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(String::from_utf8_lossy(&done.stdout).contains("3 files of 1 day merged"));
    let after = files(&history);
    assert_eq!(after.len(), 4, "three merged files, and one that is not ours: {:?}", after.keys());
    assert_eq!(after[text(&foreign)], before[text(&foreign)]);
    assert_eq!(answer(&[text(&history)])["hosts"], report["hosts"]);
    std::fs::remove_file(&foreign).unwrap();
    assert_eq!(sql(text(&history), all), rows);
    // Power fails before the old files are gone, and after some of them are.
    let merged = files(&history);
    for left in [0, 1, 4] {
        for (name, content) in before.iter().filter(|(name, _)| !name.contains("site-b")).skip(left)
        {
            std::fs::write(name, content).unwrap();
        }
        assert_eq!(sql(text(&history), all), rows, "nothing counts twice");
        let again = program(&["--history", text(&history), "--compact"]);
        assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
        assert_eq!(files(&history), merged);
    }
    // Files of a run that was killed before it named the last one.
    let orphan = merged.keys().find(|name| name.contains("/causes/")).unwrap();
    let name = history.join("causes/day=2026-01-06/clocksmith-0000000000000000.parquet");
    std::fs::copy(orphan, &name).unwrap();
    std::fs::create_dir(history.join(".clocksmith-history-killed")).unwrap();
    assert_eq!(answer(&[text(&history)])["causes"], report["causes"]);
    assert!(program(&["--history", text(&history), "--compact"]).status.success());
    assert_eq!(files(&history), merged);
    assert!(!history.join(".clocksmith-history-killed").exists());
}

/// Kills runs at random moments: afterwards the history reads, and the next run completes it.
#[test]
fn merged_file_replaces_no_file_but_others_of_its_day() {
    let dir = tempfile::tempdir().unwrap();
    let (history, other) = (dir.path().join("history"), dir.path().join("other"));
    let whole = day(dir.path(), 1);
    for history in [&history, &other] {
        answer(&[text(&whole), "--history", text(history)]);
    }
    let (before, rows) = (files(&other), answer(&[text(&history)])["hosts"].clone());
    let hosts = files(&history).into_keys().find(|name| name.contains("/hosts/")).unwrap();
    let stem = Path::new(&hosts).file_stem().unwrap().to_str().unwrap();
    let merged = "clocksmith-merged-0000000000000000";
    let opened = ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(&hosts).unwrap());
    let batches: Vec<_> = opened.unwrap().build().unwrap().map(Result::unwrap).collect();
    let list = format!("../../../other/hosts/day=2026-01-06/{stem} {merged} ../{stem}");
    let properties = WriterProperties::builder()
        .set_created_by("clocksmith-fleet 0".to_owned())
        .set_key_value_metadata(Some(vec![KeyValue::new("clocksmith.replaces".to_owned(), list)]))
        .build();
    let file = std::fs::File::create(Path::new(&hosts).with_file_name(format!("{merged}.parquet")));
    let mut writer =
        ArrowWriter::try_new(file.unwrap(), batches[0].schema(), Some(properties)).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.close().unwrap();
    let done = program(&["--history", text(&history), "--compact"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(files(&other), before);
    assert_eq!(answer(&[text(&history)])["hosts"], rows);
}

#[test]
fn what_a_history_leaves_out_is_said_and_a_damaged_table_has_its_own_name() {
    let dir = tempfile::tempdir().unwrap();
    let history = dir.path().join("history");
    let one = day(dir.path(), 0);
    answer(&[text(&one), "--history", text(&history)]);
    let hosts = history.join("hosts");
    for day in ["day=2026-99-99", "day=\u{1b}[31m", "day=__HIVE_DEFAULT_PARTITION__"] {
        std::fs::create_dir(hosts.join(day)).unwrap();
    }
    std::fs::write(hosts.join("_SUCCESS"), "").unwrap();
    std::os::unix::fs::symlink("/dev/zero", hosts.join("day=2026-01-05/a.parquet")).unwrap();
    let out = program(&["--json", text(&history)]);
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{said}");
    assert_eq!(said.matches("left out: ").count(), 4, "{said}");
    assert!(said.contains("day=2026-99-99 is not the directory of a day"), "{said}");
    assert!(said.contains("a.parquet is not a regular file") && !said.contains('\u{1b}'), "{said}");
    let damaged = hosts.join("day=2026-01-05/b.parquet");
    std::fs::write(&damaged, [7; 500]).unwrap();
    for more in [&["--json"][..], &["--changes"], &["--sql", "SELECT 1"]] {
        let out = program(&[more, &[text(&history)]].concat());
        let said = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{said}");
        assert!(said.contains(&format!("cannot read the table {}", text(&damaged))), "{said}");
    }
}

/// As root: files and directories that root did not put there.
#[test]
fn links_of_other_users_lead_no_file_elsewhere() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let [history, other, out] = ["history", "other", "out"].map(|name| dir.path().join(name));
    let (one, two) = (day(dir.path(), 0), day(dir.path(), 1));
    let link = |target: &Path, name: &Path| {
        std::os::unix::fs::symlink(target, name).unwrap();
        std::os::unix::fs::lchown(name, Some(4242), Some(4242)).unwrap();
    };
    let refused = |args: &[&str]| {
        let done = program(args);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains("owner 4242"), "{said}");
    };
    answer(&[text(&one), "--history", text(&other)]);
    // Several files of one day, so that there is something to merge.
    let late = dir.path().join("late.jsonl");
    std::fs::write(&late, document("late", None, Some("2026-01-05T23:00:00Z"), "ok")).unwrap();
    answer(&[text(&late), "--history", text(&other)]);
    let before = files(&other);
    // The days of one history are links into another one; the tables are; the directory itself is.
    for table in ["hosts", "causes", "remedies"] {
        std::fs::create_dir_all(history.join(table)).unwrap();
        for entry in std::fs::read_dir(other.join(table)).unwrap() {
            let entry = entry.unwrap();
            link(&entry.path(), &history.join(table).join(entry.file_name()));
        }
    }
    refused(&["--history", text(&history), "--compact"]);
    let again = dir.path().join("again.jsonl");
    std::fs::write(&again, document("again", None, Some("2026-01-05T22:00:00Z"), "ok")).unwrap();
    refused(&[text(&again), "--history", text(&history)]);
    let tables = dir.path().join("tables");
    std::fs::create_dir(&tables).unwrap();
    link(&other.join("hosts"), &tables.join("hosts"));
    refused(&[text(&two), "--history", text(&tables)]);
    link(&other, &out);
    refused(&[text(&two), "--history", text(&out)]);
    let (empty, plain) = (dir.path().join("empty"), dir.path().join("plain"));
    std::fs::create_dir(&empty).unwrap();
    link(&empty, &plain);
    refused(&[text(&two), "--out", text(&plain)]);
    assert_eq!(files(&other), before);
    assert!(files(&empty).is_empty());
    // A link of root's own is followed.
    let own = dir.path().join("own");
    std::os::unix::fs::symlink(&other, &own).unwrap();
    answer(&[text(&two), "--history", text(&own)]);
    assert_ne!(files(&other), before);
}

#[test]
fn a_killed_run_leaves_a_history_that_the_next_one_completes() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (day(dir.path(), 0), day(dir.path(), 1));
    let history = dir.path().join("history");
    for wait in [5, 40, 80, 120, 160, 240] {
        let mut run = Command::new(env!("CARGO_BIN_EXE_clocksmith-fleet"))
            .args(["-q", text(&one), text(&two), "--history", text(&history), "--compact"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(wait));
        let _ = run.kill();
        run.wait().unwrap();
    }
    answer(&[text(&one), text(&two), "--history", text(&history)]);
    let counts = "SELECT count(*) AS n, count(DISTINCT host) AS hosts FROM history_hosts";
    assert_eq!(sql(text(&history), counts), [json!({"n": 2 * SIZE, "hosts": SIZE})]);
    let causes = "SELECT count(*) AS n FROM history_causes";
    let direct = dir.path().join("direct");
    answer(&[text(&one), text(&two), "--history", text(&direct)]);
    assert_eq!(sql(text(&history), causes), sql(text(&direct), causes));
}

/// Writes a table again without some of its columns, or with one more.
fn rewrite(file: &str, without: &[&str], more: Option<&str>) {
    let content = std::fs::read(file).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes(content)).unwrap().build().unwrap();
    let batches = reader.map(|batch| {
        let mut batch = batch.unwrap();
        for name in without {
            batch.remove_column(batch.schema().index_of(name).unwrap());
        }
        let Some(name) = more else { return batch };
        let (old, columns, rows) = (batch.schema(), batch.columns().to_vec(), batch.num_rows());
        let mut fields: Vec<_> = old.fields().iter().cloned().collect();
        fields.push(Arc::new(arrow_schema::Field::new(name, arrow_schema::DataType::Int64, true)));
        let new: arrow_array::ArrayRef =
            Arc::new(arrow_array::Int64Array::from_iter_values(0..rows as i64));
        let schema = Arc::new(arrow_schema::Schema::new(fields));
        arrow_array::RecordBatch::try_new(schema, columns.into_iter().chain([new]).collect())
            .unwrap()
    });
    let batches: Vec<_> = batches.collect();
    let mut out =
        ArrowWriter::try_new(std::fs::File::create(file).unwrap(), batches[0].schema(), None)
            .unwrap();
    batches.iter().for_each(|batch| out.write(batch).unwrap());
    out.close().unwrap();
}

fn bytes(content: Vec<u8>) -> std::fs::File {
    use std::io::{Seek, Write};
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&content).unwrap();
    file.rewind().unwrap();
    file
}

#[test]
fn tables_of_older_and_newer_versions_are_read_beside_ours() {
    let dir = tempfile::tempdir().unwrap();
    let (old, new) = (dir.path().join("old"), dir.path().join("new"));
    let expected = answer(&[text(&day(dir.path(), 0)), "--out", text(&old)]);
    answer(&[text(&day(dir.path(), 1)), "--out", text(&new)]);
    // As the first version wrote them.
    rewrite(text(&old.join("hosts.parquet")), &["machine_id", "tsc_slack_khz"], None);
    rewrite(text(&old.join("causes.parquet")), &["gravest", "taken_at", "machine_id"], None);
    rewrite(text(&old.join("remedies.parquet")), &["taken_at", "machine_id"], None);
    for table in ["hosts", "causes", "remedies"] {
        rewrite(text(&new.join(format!("{table}.parquet"))), &[], Some("of_a_later_version"));
    }
    let alone = answer(&[text(&old)]);
    assert_eq!(alone["causes"], expected["causes"]);
    assert_eq!((&alone["hosts"], &alone["changes"]), (&expected["hosts"], &expected["changes"]));
    for inputs in [[text(&old), text(&new)], [text(&new), text(&old)]] {
        let both = answer(&inputs);
        let last = answer(&[text(&new)]);
        for part in ["hosts", "verdicts", "causes", "changes", "dates"] {
            assert_eq!(both[part], last[part], "{part}");
        }
    }
    let later = sql(text(&new), "SELECT count(of_a_later_version) AS n FROM hosts");
    assert_eq!(later, [json!({"n": SIZE})]);
    // In a history, in both orders, and merged.
    let history = dir.path().join("history");
    let documents = day(dir.path(), 2);
    let half = |skip: usize| {
        let all = std::fs::read_to_string(&documents).unwrap();
        let path = dir.path().join(format!("half{skip}"));
        let lines: Vec<&str> = all.lines().skip(skip).step_by(2).collect();
        std::fs::write(&path, lines.join("\n")).unwrap();
        path
    };
    answer(&[text(&half(0)), "--history", text(&history)]);
    let first = files(&history);
    for name in first.keys() {
        let older: &[&str] = if name.contains("/hosts/") { &["tsc_slack_khz"] } else { &[] };
        rewrite(name, older, Some("of_a_later_version"));
    }
    answer(&[text(&half(1)), "--history", text(&history)]);
    assert_eq!(answer(&[text(&history)])["hosts"], SIZE);
    assert_eq!(
        sql(text(&history), "SELECT count(of_a_later_version) AS n FROM hosts"),
        [json!({"n": SIZE / 2})]
    );
}

#[test]
fn changes_are_those_that_were_planted() {
    let dir = tempfile::tempdir().unwrap();
    let history = dir.path().join("history");
    let days: Vec<PathBuf> = (0..3).map(|number| day(dir.path(), number)).collect();
    answer(
        &[&[text(&days[0]), text(&days[1]), text(&days[2])], &["--history", text(&history)][..]]
            .concat(),
    );
    let planted = |day: u16, what: Planted| {
        Fleet { hosts: SIZE, seed: 2, day }.machines().filter(|made| made.changed == what).count()
            as u64
    };
    let count = |report: &Value, what: &str, from: &str, to: &str| {
        let all = report["transitions"].as_array().unwrap().iter();
        let found = all.clone().find(|t| t["what"] == what && t["from"] == from && t["to"] == to);
        found.map_or(0, |t| t["hosts"].as_u64().unwrap())
    };
    let (moved, lost) = (planted(1, Planted::Kernel), planted(1, Planted::KernelAndHpet));
    assert!(lost >= 10 && moved >= 10, "{lost} {moved}");
    // From day 0 to day 1; as documents, and as a history.
    let first = answer(&["--changes", text(&days[0]), text(&days[1])]);
    assert_eq!((&first["compared"], &first["changed"]), (&json!(SIZE), &json!(moved + lost)));
    assert_eq!(count(&first, "clocksource", "tsc", "hpet"), lost);
    assert_eq!(count(&first, "verdict", "ok", "slow"), lost);
    assert_eq!(count(&first, "kernel", "6.1.0-50-amd64", "6.1.0-51-amd64"), moved + lost);
    let group = first["common"]
        .as_array()
        .unwrap()
        .iter()
        .find(|c| c["changes"][0]["what"] == "verdict")
        .unwrap();
    let shared: Vec<&str> =
        group["shared"].as_array().unwrap().iter().map(|s| s["value"].as_str().unwrap()).collect();
    assert_eq!(
        shared,
        ["6.1.0-50-amd64 -> 6.1.0-51-amd64", "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz"]
    );
    let since = answer(&["--changes", "--since", "2026-01-06", text(&history)]);
    assert_eq!(count(&since, "clocksource", "tsc", "hpet"), lost);
    let repaired = planted(2, Planted::Repaired);
    assert!(repaired > 0);
    assert_eq!(count(&since, "clocksource", "hpet", "tsc"), repaired);
    let last = answer(&["--changes", text(&history)]);
    assert_eq!(last["changed"], repaired);
    let schema =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../schemas/clocksmith.fleet-changes.v1.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(schema).unwrap()).unwrap();
    for field in schema["required"].as_array().unwrap() {
        assert!(last.get(field.as_str().unwrap()).is_some(), "{field}");
    }
    let out = program(&["--changes", "--since", "2026-01-06", text(&history)]);
    let page = String::from_utf8(out.stdout).unwrap();
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    assert!(page.contains("all: cpu Intel(R) Xeon(R) Gold 6338"), "{page}");
    // One day alone cannot be compared.
    assert_eq!(program(&["--changes", text(&days[0])]).status.code(), Some(3));
    assert_eq!(
        program(&["--changes", "--since", "yesterday", text(&days[0])]).status.code(),
        Some(2)
    );
}
