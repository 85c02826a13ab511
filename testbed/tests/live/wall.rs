//! `clocksmith watch` beside chronyd, in an installed Debian: it reports when the wall clock becomes synchronised, that the
//! guest was paused or set by hand, that chronyd set it right, and `check` has no complaint then. The server is another
//! chronyd, on this machine, which steers no clock (`-x`). Both are Debian's, unpacked and not installed.
//!
//! Ignored by default, because it needs QEMU, an image that root builds once (`testbed disk build`), apt, and the static
//! program. `./test.sh wall-clock` does all of it, and plays the scenario of that name.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may end where something is missing")]

use super::guest;
use clocksmith_testbed::cache::Cache;
use clocksmith_testbed::disk::{Disk, Setup};
use clocksmith_testbed::qemu::launch;
use clocksmith_testbed::qemu::qmp::Qmp;
use serde_json::Value;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// An invariant TSC that the kernel need not watch: on a busy host the emulated references are late.
const CPU: &str = "max,x-force-features=on,+invtsc,+tsc-adjust";
/// How long anything may take on a busy host. How long it took is printed.
const PATIENCE: Duration = Duration::from_secs(180);
/// How long the guest is paused.
const AWAY: Duration = Duration::from_secs(30);
/// How far the clock is set by hand, in seconds.
const SET: f64 = 3600.0;

const SET_UP: &str = "set -e
printf '[Match]\\nName=en* eth*\\n[Network]\\nAddress=10.0.2.15/24\\n' >/etc/systemd/network/10-test.network
systemctl start systemd-networkd
chmod 755 /usr/bin/clocksmith /usr/sbin/chronyd
mkdir -p /run/chrony /opt/lib
tar -C /opt/lib -xf /opt/lib.tar
nohup clocksmith watch --no-listen --no-history --no-test --json </dev/null >/tmp/watch.jsonl 2>/tmp/watch.err &
sleep 3
LD_LIBRARY_PATH=/opt/lib chronyd -f /etc/chrony.conf";

/// A program that ends with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Debian's chronyd with its libraries, unpacked. The C library is that of the system that it runs in.
fn chronyd(work: &Path) -> PathBuf {
    let script = "
        no='--no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances'
        libraries=$(apt-cache depends --recurse $no chrony | grep -x 'lib[a-z0-9.+-]*' | grep -vx libc6 | sort -u)
        apt-get download -q chrony $libraries >apt.log 2>&1 || exit
        for package in *.deb; do dpkg -x $package . || exit; done
        mkdir needed all
        find usr/lib lib/*-linux-gnu -name '*.so.*' -exec cp -a -t all {} +
        for file in $(LD_LIBRARY_PATH=$PWD/all ldd usr/sbin/chronyd | grep -o \"$PWD/all/[^ ]*\"); do
            cp -L $file needed || exit
        done
        tar -C needed -cf lib.tar .";
    let status = Command::new("sh").args(["-c", script]).current_dir(work).status().unwrap();
    let log = std::fs::read_to_string(work.join("apt.log")).unwrap_or_default();
    assert!(status.success(), "chrony could not be fetched: {log}");
    work.join("usr/sbin/chronyd")
}

/// A server of this machine's time, on a port of the loopback.
fn server(program: &Path, work: &Path) -> (Server, u16) {
    let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = work.join("server.conf");
    let text = format!(
        "local stratum 8\nport {port}\nbindaddress 127.0.0.1\nallow 127.0.0.1\ncmdport 0\n\
         bindcmdaddress /\npidfile {}\nuser root\n",
        work.join("server.pid").display()
    );
    std::fs::write(&config, text).unwrap();
    let mut command = Command::new(program);
    // It may never steer this machine's clock.
    command.args(["-x", "-d", "-f"]).arg(&config).stdin(Stdio::null());
    command.env("LD_LIBRARY_PATH", work.join("needed"));
    command.stdout(Stdio::null()).stderr(std::fs::File::create(work.join("server.log")).unwrap());
    (Server(launch::start(command).unwrap()), port)
}

/// The guest, and the number of events that were read.
struct Seat {
    disk: Disk,
    seen: usize,
}

impl Seat {
    fn events(&mut self) -> Vec<Value> {
        let text = self.disk.check("cat /tmp/watch.jsonl").unwrap();
        // The last line may be under way.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let lines = whole.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.map(|line| line["event"].clone()).filter(Value::is_object).collect()
    }

    /// Returns the next event of a kind and a state, skipping those before it.
    fn event(&mut self, kind: &str, state: &str) -> Value {
        let begun = Instant::now();
        loop {
            let events = self.events();
            let new = events.iter().enumerate().skip(self.seen);
            let found = new.map(|(at, event)| (at, event.clone()));
            let found = found
                .into_iter()
                .find(|(_, event)| event["kind"] == kind && event["state"] == state);
            if let Some((at, event)) = found {
                self.seen = at + 1;
                println!(
                    "{:6.1} s  {kind} ({state}): {}",
                    begun.elapsed().as_secs_f64(),
                    event["text"].as_str().unwrap_or_default()
                );
                return event;
            }
            assert!(begun.elapsed() < PATIENCE, "no event {kind} ({state}): {events:#?}");
            std::thread::sleep(Duration::from_millis(300));
        }
    }

    fn ask(&mut self, verb: &str) -> Value {
        let script = format!("clocksmith {verb} --json --no-measure || true");
        serde_json::from_str(&self.disk.check(&script).unwrap()).unwrap()
    }

    /// `check` has no complaint about the wall clock, and `why` finds chronyd.
    fn good(&mut self) {
        let begun = Instant::now();
        let check = loop {
            let check = self.ask("check");
            if point(&check) == "ok" {
                break check;
            }
            assert!(begun.elapsed() < PATIENCE, "{check:#}");
            std::thread::sleep(Duration::from_secs(1));
        };
        println!("{:6.1} s  {}", begun.elapsed().as_secs_f64(), check["line"]);
        let why = self.ask("why");
        let wall = &why["wall_clock"];
        assert_eq!(wall["state"], "synchronised", "{wall:#}");
        assert!(
            wall["disciplined_by"].as_str().is_some_and(|by| by.contains("chronyd")),
            "{wall:#}"
        );
    }
}

/// The size of a step, in seconds.
fn step_s(event: &Value) -> f64 {
    let ms = event["to"].as_str().and_then(|to| to.strip_suffix(" ms")).unwrap();
    ms.parse::<f64>().unwrap() / 1e3
}

fn point(check: &Value) -> &str {
    let points = check["points"].as_array().map(Vec::as_slice).unwrap_or_default();
    let wall = points.iter().find(|point| point["id"] == "wall-clock");
    wall.and_then(|point| point["state"].as_str()).unwrap_or("none")
}

#[test]
#[ignore = "boots an installed system"]
fn watch_beside_chronyd_reports_what_happens_and_when_it_is_good_again() {
    let work = tempfile::tempdir().unwrap();
    let chronyd = chronyd(work.path());
    let (_server, port) = server(&chronyd, work.path());
    let socket = work.path().join("qmp");
    let mut setup = Setup { patience: Duration::from_secs(300), ..Setup::default() };
    setup.hardware.cpu = CPU.into();
    setup.hardware.qemu = [
        "-netdev",
        "user,id=net",
        "-device",
        "virtio-net-pci,netdev=net",
        "-qmp",
        &format!("unix:{},server=on,wait=off", socket.display()),
    ]
    .map(String::from)
    .into();
    let mut disk = Disk::start_with(&Cache::standard().unwrap(), setup).unwrap();
    let mut qmp = Qmp::connect(&socket).unwrap();
    let config = format!(
        "server 10.0.2.2 port {port} iburst minpoll 0 maxpoll 1\nmakestep 1 -1\nrtcsync\nuser root\n\
         driftfile /tmp/drift\npidfile /run/chrony/chronyd.pid\ncmdport 0\nbindcmdaddress /\n"
    );
    disk.push("/usr/bin/clocksmith", &std::fs::read(guest::program()).unwrap()).unwrap();
    disk.push("/usr/sbin/chronyd", &std::fs::read(&chronyd).unwrap()).unwrap();
    let libraries = std::fs::read(work.path().join("lib.tar")).unwrap();
    disk.push("/opt/lib.tar", &libraries).unwrap();
    disk.push("/etc/chrony.conf", config.as_bytes()).unwrap();
    disk.check(SET_UP).unwrap();
    let mut seat = Seat { disk, seen: 0 };
    seat.event("wall-clock-sync", "ok");
    seat.good();

    println!("paused for {AWAY:?}");
    qmp.stop().unwrap();
    std::thread::sleep(AWAY);
    qmp.cont().unwrap();
    let paused = seat.event("restored", "warning");
    assert_eq!(paused["reason"]["cause"], "wall-clock-stale-after-restore");
    // chronyd sets it right, which is expected after a pause.
    let step = seat.event("wall-clock-step", "ok");
    assert!(step["reason"]["text"].as_str().unwrap().contains("restored or paused"), "{step}");
    // The kernel reports the clock as not synchronised until chronyd reports that it is, which may be sooner than the
    // watch reads it.
    seat.good();

    println!("set by hand");
    seat.disk.check(&format!("date -s \"+{SET} seconds\" >/dev/null")).unwrap();
    let set = seat.event("wall-clock-step", "warning");
    assert!((step_s(&set) - SET).abs() < 30.0, "{set}");
    let begun = Instant::now();
    loop {
        let steps: Vec<Value> =
            seat.events().into_iter().filter(|event| event["kind"] == "wall-clock-step").collect();
        if steps.iter().any(|event| (step_s(event) + SET).abs() < 30.0) {
            println!("{} steps in all", steps.len());
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{steps:#?}");
        std::thread::sleep(Duration::from_millis(300));
    }
    seat.good();
}
