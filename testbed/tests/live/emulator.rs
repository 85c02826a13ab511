//! Pausing, snapshots and migration of a real guest. Ignored by default, because it needs QEMU,
//! qemu-img and a kernel: `cargo test -p clocksmith-testbed -- --ignored`.

#![allow(clippy::unwrap_used, reason = "a test may end where something is missing")]

use clocksmith_testbed::cache::Cache;
use clocksmith_testbed::qemu::arguments::Accel;
use clocksmith_testbed::qemu::process::Guest;
use clocksmith_testbed::scenario::place::{Place, Programs, Stage};
use std::path::Path;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(30);

const SCRIPT: &str = "while :; do read -r up _ </proc/uptime; echo \"up $up\"; usleep 100000; done";

fn place() -> Place {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    Place::new(&cases, &Cache::standard().unwrap(), "6.1", Accel::Tcg, &Programs::default())
        .unwrap()
}

fn stage(place: &Place) -> Stage<'_> {
    place.stage("guest", SCRIPT).unwrap()
}

/// The guest's own uptime, from its next line.
fn uptime(guest: &Guest) -> f64 {
    let line = guest.wait_for("|up ", PATIENCE).unwrap();
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
#[ignore = "boots a guest"]
fn a_paused_guest_does_not_notice() {
    let place = place();
    let (guest, mut qmp) = stage(&place).start("guest", None).unwrap();
    let before = uptime(&guest);
    qmp.stop().unwrap();
    assert_eq!(qmp.status().unwrap(), "paused");
    std::thread::sleep(Duration::from_secs(3));
    qmp.cont().unwrap();
    assert!(uptime(&guest) - before < 2.0, "the guest's clock ran while it was paused");
}

#[test]
#[ignore = "boots a guest"]
fn a_snapshot_can_be_gone_back_to() {
    let place = place();
    let mut stage = stage(&place);
    stage.with_disk().unwrap();
    let (guest, mut qmp) = stage.start("guest", None).unwrap();
    uptime(&guest);
    qmp.savevm("here").unwrap();
    qmp.loadvm("here").unwrap();
    assert_eq!(qmp.status().unwrap(), "running");
    uptime(&guest);
    assert!(qmp.loadvm("nowhere").is_err());
}

#[test]
#[ignore = "boots a guest"]
fn guest_moved_to_another_emulator_continues() {
    let place = place();
    let stage = stage(&place);
    let address = format!("unix:{}", stage.path("migration").display());
    let (source, mut from) = stage.start("source", None).unwrap();
    let before = uptime(&source);
    let (target, mut to) = stage.start("target", Some(address.clone())).unwrap();
    from.migrate(&address, PATIENCE).unwrap();
    assert_eq!(from.status().unwrap(), "postmigrate");
    assert!(uptime(&target) >= before);
    assert_eq!(to.status().unwrap(), "running");
}
