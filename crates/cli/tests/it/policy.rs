//! `why --policy` and `check --policy`, on recorded boots, a log and a bundle.
#![allow(clippy::unwrap_used, clippy::panic)]

use clocksmith_diagnose::policy::VENDORS;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_clocksmith")).args(args).output().unwrap()
}

fn text(out: &Output) -> String {
    String::from_utf8(out.stdout.clone()).unwrap()
}

fn boots() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernel/tests/fixtures/boots");
    std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path().join("root")).collect()
}

const AZURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/samples/azure.log");
const EC2: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/samples/ec2.log");

#[test]
fn vendors_are_listed_and_an_unknown_one_is_wrong_usage() {
    for args in [&["why", "--policy"][..], &["why", "--policy", "list"], &["--policy"]] {
        let out = run(args);
        assert_eq!(out.status.code(), Some(0), "{args:?}");
        assert!(VENDORS.iter().all(|vendor| text(&out).contains(vendor.about)), "{}", text(&out));
    }
    for (args, code) in [
        (&["why", "--policy", "acme"][..], 2),
        (&["why", "--json", "--policy"], 2),
        (&["check", "--policy", "acme"], 3),
    ] {
        let out = run(args);
        assert_eq!(out.status.code(), Some(code), "{args:?}");
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(VENDORS.iter().all(|vendor| said.contains(vendor.id)), "{args:?}: {said}");
    }
}

#[test]
fn every_vendor_answers_for_every_boot_within_the_columns() {
    for root in boots() {
        let root = root.to_str().unwrap();
        let plain = run(&["why", "--root", root]);
        for vendor in VENDORS {
            let asked = run(&["why", "--root", root, "--policy", vendor.id]);
            assert_eq!(asked.status.code(), plain.status.code(), "{root} {}", vendor.id);
            let said = text(&asked);
            assert!(said.contains(&format!("What {} requires", vendor.name)), "{said}");
            let commands = |line: &&str| !line.trim_start().starts_with("settled by: ");
            let from = said.find(&format!("What {} requires", vendor.name)).unwrap();
            let paragraph = said[from..].split("\n\n").next().unwrap();
            for line in paragraph.lines().filter(commands) {
                assert!(line.chars().count() <= 80, "{root} {}: {line}", vendor.id);
            }
        }
        let json = text(&run(&["why", "--root", root, "--policy", "sap", "--json"]));
        let json: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["policy"]["vendor"], "sap");
        let json: Value =
            serde_json::from_str(&text(&run(&["why", "--root", root, "--json"]))).unwrap();
        assert!(json.get("policy").is_none());
    }
}

#[test]
fn log_and_bundle_are_asked_alike() {
    let json = |args: &[&str]| -> Value {
        serde_json::from_str(&text(&run(&[&["why", "--json"], args].concat()))).unwrap()
    };
    let azure = json(&["--log", AZURE, "--policy", "SAP"]);
    assert_eq!(azure["policy"]["conforms"], "tolerated");
    assert_eq!(azure["policy"]["before"][0]["until"], "2026-08-10");
    let contradictions = azure["policy"]["contradictions"].as_array().unwrap();
    assert!(
        contradictions[0].as_str().unwrap().contains("according to the rules of this kernel"),
        "{azure}"
    );
    // The line of DMI names the cloud.
    assert_eq!(json(&["--log", EC2, "--policy", "aws"])["policy"]["conforms"], "no");
    let dir = tempfile::tempdir().unwrap();
    let bundle = dir.path().join("a.tar.gz");
    let (root, bundle) = (boots()[0].clone(), bundle.to_str().unwrap());
    let root = root.to_str().unwrap();
    assert!(run(&["collect", "--root", root, "--output", bundle]).status.success());
    for vendor in VENDORS {
        let of = |way: &str, from: &str| {
            json(&[way, from, "--policy", vendor.id])["policy"]["conforms"].clone()
        };
        assert_eq!(of("--root", root), of("--bundle", bundle), "{}", vendor.id);
    }
    let page = run(&["why", "--log", AZURE, "--policy", "sap", "--html", "-"]);
    assert!(text(&page).contains("What SAP requires") && text(&page).contains("pull request 573"));
}

#[test]
fn check_warns_where_the_machine_is_not_as_asked() {
    let mut states = Vec::new();
    let guest = guest_of_kvm();
    for root in boots().into_iter().chain([guest.path().to_owned()]) {
        let root = root.to_str().unwrap();
        for vendor in VENDORS {
            let out = run(&["check", "--root", root, "--policy", vendor.id, "--json"]);
            let json: Value = serde_json::from_str(&text(&out)).unwrap();
            let points = json["points"].as_array().unwrap();
            // A machine whose clocksource is not known is not judged.
            let known = json["clocksource"]["current"].is_string();
            let point = points.iter().find(|point| point["id"] == "policy");
            assert_eq!(point.is_some(), known, "{root}");
            let Some(point) = point else { continue };
            let conforms = json["policy"]["conforms"].as_str().unwrap();
            let wanted = match conforms {
                "yes" | "asks-nothing" => "ok",
                "no" | "tolerated" => "warning",
                _ => "unknown",
            };
            assert_eq!(point["state"], wanted, "{root} {}", vendor.id);
            assert_eq!(point["looked_at"], conforms != "unknown");
            states.push(wanted);
        }
    }
    assert!(states.contains(&"ok"), "{states:?}");
    let root = guest.path().to_str().unwrap();
    let out = run(&["check", "--root", root, "--policy", "oracle"]);
    assert_eq!(out.status.code(), Some(1), "{}", text(&out));
    let line = "CLOCKSMITH WARNING - Oracle asks for tsc for Oracle Database";
    assert!(text(&out).starts_with(line), "{}", text(&out));
    // The host's stable bit, which is not in the files, leaves the reads unknown.
    for vendor in ["scylladb", "sap", "aws"] {
        let out = run(&["check", "--root", root, "--policy", vendor]);
        assert_eq!(out.status.code(), Some(3), "{vendor}: {}", text(&out));
        assert!(text(&out).contains("[OK] policy: "), "{vendor}: {}", text(&out));
    }
}

/// An Intel KVM guest on kvm-clock whose host reports that the clock is stable.
fn guest_of_kvm() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, content) in [
        ("sys/devices/system/clocksource/clocksource0/current_clocksource", "kvm-clock"),
        (
            "sys/devices/system/clocksource/clocksource0/available_clocksource",
            "kvm-clock tsc acpi_pm",
        ),
        ("sys/class/dmi/id/sys_vendor", "Red Hat"),
        ("sys/class/dmi/id/product_name", "KVM"),
        (
            "proc/version",
            "Linux version 6.1.0-13-amd64 (b@x) (gcc-12 12.2.0) #1 SMP Debian 6.1.55-1",
        ),
        (
            "proc/cpuinfo",
            "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 106\nmodel name\t: Intel Xeon\n\
             flags\t\t: lm tsc constant_tsc nonstop_tsc rdtscp hypervisor",
        ),
        (
            "dmesg",
            "[    0.000000] Linux version 6.1.0-13-amd64 (b@x) (gcc-12 12.2.0) #1 SMP Debian 6.1.55-1\n\
             [    0.000000] Hypervisor detected: KVM\n\
             [    0.000000] kvm-clock: Using msrs 4b564d01 and 4b564d00\n\
             [    0.000000] clocksource: kvm-clock: mask: 0xffffffffffffffff max_cycles: 0x1cd42e4dffb, \
             max_idle_ns: 881590591483 ns\n\
             [    0.500000] clocksource: Switched to clocksource kvm-clock",
        ),
    ] {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{content}\n")).unwrap();
    }
    dir
}
