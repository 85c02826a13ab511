//! Recorded boots of real kernels in QEMU: `predict --root` must say what the kernel chose, from the
//! facts and from a kernel log without the lines in which it says so.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use std::process::Command;

#[test]
fn every_recorded_boot_is_predicted_exactly() {
    let boots = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/boots");
    let mut wrong = Vec::new();
    let mut count = 0;
    for boot in std::fs::read_dir(boots).unwrap() {
        let boot = boot.unwrap().path();
        let truth = std::fs::read_to_string(boot.join("truth.json")).unwrap();
        let truth: serde_json::Value = serde_json::from_str(&truth).unwrap();
        let out = Command::new(env!("CARGO_BIN_EXE_clocksmith"))
            .args(["predict", "--json", "--root"])
            .arg(boot.join("root"))
            .output()
            .unwrap();
        let said: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
        count += 1;
        if said["current"] != truth["current"] || said["available"] != truth["available"] {
            wrong.push(format!(
                "{}: said {} {}, was {} {}",
                boot.display(),
                said["current"],
                said["available"],
                truth["current"],
                truth["available"]
            ));
        }
    }
    assert!(count >= 12, "only {count} boots found");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
