//! The right caller is named where libraries have no unwind tables, and where programs have no symbols.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may end where something is missing")]

mod counted;

use counted::{build, watch};

/// How far an interval may miss the truth: a few do by chance.
const OFF: f64 = 0.06;

#[test]
#[ignore = "takes a few seconds: ./test.sh agreement"]
fn callers_in_static_musl_program_are_those_that_call() {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("stamps");
    let name = to.to_str().unwrap();
    if !build("musl-gcc", &["-O2", "-static", "-o", name, "stamps.c"]) {
        return;
    }
    let Some(seen) = watch(&[to.into()], "2.5") else { return };
    let (line, wrong, _) = seen.compare(OFF);
    println!("{line}");
    assert!(wrong.is_empty(), "{wrong:#?}: {:#?}", seen.profile.functions);
}

#[test]
#[ignore = "takes a few seconds: ./test.sh agreement"]
fn functions_of_go_are_named_without_symbols_and_where_they_are_inlined() {
    let dir = tempfile::tempdir().unwrap();
    let ways: [(&str, &[&str]); 4] = [
        ("plain", &[]),
        ("stripped", &["-ldflags=-s -w"]),
        ("pie", &["-buildmode=pie"]),
        ("stripped-pie", &["-buildmode=pie", "-ldflags=-s -w"]),
    ];
    for (way, options) in ways {
        let to = dir.path().join(way);
        let mut arguments = vec!["build"];
        arguments.extend(options);
        arguments.extend(["-o", to.to_str().unwrap(), "inlined.go"]);
        if !build("go", &arguments) {
            return;
        }
        let Some(seen) = watch(&[to.into()], "2.5") else { return };
        let (line, wrong, _) = seen.compare(OFF);
        println!("{way}:{line}");
        assert!(wrong.is_empty(), "{way}: {wrong:#?}: {:#?}", seen.profile.functions);
        let lines = seen.recording.stacks.iter().flat_map(|stack| stack.frames.iter());
        let mut lines = lines.filter(|frame| frame.name.ends_with("hotSince"));
        let place = lines.find_map(|frame| frame.place.clone());
        let place = place.map(|place| (place.file.ends_with("/inlined.go"), place.line));
        assert_eq!(place, Some((true, 20)), "{way}");
    }
}

#[test]
#[ignore = "takes a few seconds: ./test.sh agreement"]
fn callers_in_program_without_symbols_are_distinguished() {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("stripped");
    let options = ["-O", "-C", "strip=symbols", "--edition", "2024", "-o"];
    let mut arguments = options.to_vec();
    arguments.extend([to.to_str().unwrap(), "target.rs"]);
    if !build("rustc", &arguments) {
        return;
    }
    let Some(seen) = watch(&[to.into()], "2.5") else { return };
    let rows = &seen.profile.functions;
    println!("{rows:#?}\n{}", seen.recording.gaps.join("\n"));
    // The function of the library is one row, and its callers are below it.
    let truth: Vec<f64> = {
        let mut shares: Vec<f64> = seen.counts.keys().map(|name| seen.truth(name)).collect();
        shares.sort_by(|a, b| b.total_cmp(a));
        shares
    };
    let mut parts: Vec<f64> = rows
        .iter()
        .flat_map(|row| {
            let own = row.reads.share_of_reads.map_or(0.0, |share| share.value);
            let callers: Vec<f64> =
                row.reads.callers.iter().map(|caller| own * caller.share).collect();
            if callers.is_empty() { vec![own] } else { callers }
        })
        .collect();
    parts.sort_by(|a, b| b.total_cmp(a));
    for (truth, part) in truth.iter().zip(&parts) {
        assert!((truth - part).abs() < 0.08, "{truth:.3}: {part:.3}: {rows:#?}");
    }
    let gaps = seen.recording.gaps.join("\n");
    assert!(gaps.contains("functions of stripped have no names"), "{gaps}");
}
