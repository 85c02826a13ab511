//! Pausing, snapshots and migration of a real guest. Ignored by default, because it needs QEMU,
//! qemu-img and a kernel: `cargo test -p clocksmith-testbed -- --ignored`.

#![allow(clippy::unwrap_used, reason = "a test may end where something is missing")]

use clocksmith_testbed::arch::Arch;
use clocksmith_testbed::cache::Cache;
use clocksmith_testbed::case::Machine;
use clocksmith_testbed::initramfs::{self, Purpose};
use clocksmith_testbed::kernel::catalogue::Catalogue;
use clocksmith_testbed::kernel::store::{Ready, Store};
use clocksmith_testbed::qemu::arguments::{Accel, Console, Plan};
use clocksmith_testbed::qemu::process::Guest;
use clocksmith_testbed::qemu::qmp::Qmp;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(30);

struct Place {
    directory: tempfile::TempDir,
    kernel: Ready,
    machine: Machine,
}

impl Place {
    fn new() -> Place {
        let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
        let catalogue = Catalogue::load(&cases).unwrap();
        let cache = Cache::standard().unwrap();
        let kernel = Store::new(&cache, false).get(catalogue.get("6.1").unwrap()).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let script = "while :; do read -r up _ </proc/uptime; echo \"up $up\"; usleep 100000; done";
        let busybox = std::fs::read(&kernel.busybox).unwrap();
        let archive = initramfs::build(
            &busybox,
            None,
            &Purpose::Script { script: script.into(), clocksmith: None },
        );
        std::fs::write(directory.path().join("initramfs"), archive).unwrap();
        let machine = Machine {
            arch: Arch::Amd64,
            machine: "pc".into(),
            cpu: Some("max".into()),
            smp: "1".into(),
            memory: 256,
            hpet: None,
            acpi: None,
            qemu: Vec::new(),
            packed: false,
            steady: false,
        };
        Place { directory, kernel, machine }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn start(&self, name: &str, incoming: Option<String>) -> (Guest, Qmp) {
        let socket = self.path(&format!("{name}.qmp"));
        let arguments = Plan {
            machine: &self.machine,
            accel: Accel::Tcg,
            kernel: &self.kernel.image,
            initramfs: &self.path("initramfs"),
            cmdline: "",
            console: Console::Piped,
            qmp: Some(socket.clone()),
            incoming,
        }
        .arguments();
        let files = self.path(name);
        std::fs::create_dir(&files).unwrap();
        let guest = Guest::start(Arch::Amd64, &arguments, &files).unwrap();
        (guest, Qmp::connect(&socket).unwrap())
    }
}

/// The guest's own uptime, by what it says next.
fn uptime(guest: &Guest) -> f64 {
    let line = guest.wait_for("|up ", PATIENCE).unwrap();
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
#[ignore = "boots a guest"]
fn a_paused_guest_does_not_notice() {
    let place = Place::new();
    let (guest, mut qmp) = place.start("guest", None);
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
    let mut place = Place::new();
    let disk = place.path("disk.qcow2");
    let mut create = Command::new("qemu-img");
    create.args(["create", "-q", "-f", "qcow2"]).arg(&disk).arg("64M");
    assert!(create.status().unwrap().success());
    place.machine.qemu =
        vec!["-drive".into(), format!("if=none,id=state,format=qcow2,file={}", disk.display())];
    let (guest, mut qmp) = place.start("guest", None);
    uptime(&guest);
    qmp.savevm("here").unwrap();
    qmp.loadvm("here").unwrap();
    assert_eq!(qmp.status().unwrap(), "running");
    uptime(&guest);
    assert!(qmp.loadvm("nowhere").is_err());
}

#[test]
#[ignore = "boots a guest"]
fn a_guest_moves_to_another_emulator_and_goes_on_there() {
    let place = Place::new();
    let address = format!("unix:{}", place.path("migration").display());
    let (source, mut from) = place.start("source", None);
    let before = uptime(&source);
    let (target, mut to) = place.start("target", Some(address.clone()));
    from.migrate(&address, PATIENCE).unwrap();
    assert_eq!(from.status().unwrap(), "postmigrate");
    assert!(uptime(&target) >= before);
    assert_eq!(to.status().unwrap(), "running");
}
