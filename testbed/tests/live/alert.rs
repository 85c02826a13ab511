//! A real Prometheus reports that a guest's clocksource was switched, and that it was restored: `clocksmith watch` as
//! the shipped unit in an installed Debian, scraped over the network by the Prometheus of this machine, with the
//! shipped alert rules. Ignored by default, because it needs QEMU, Prometheus, an image that root builds once
//! (`testbed disk build`), and the static program:
//! `cargo build --profile dist --features full -p clocksmith-cli --target x86_64-unknown-linux-musl`, then
//! `cargo test -p clocksmith-testbed --test live -- --ignored --nocapture alert::`. `CLOCKSMITH_STATIC` names another
//! program. `./test.sh alert` does all of it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may end where something is missing"
)]

use super::guest;
use clocksmith_testbed::cache::Cache;
use clocksmith_testbed::disk::{Disk, Setup};
use clocksmith_testbed::qemu::launch;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SYSFS: &str = "/sys/devices/system/clocksource/clocksource0";
/// An invariant TSC that the kernel need not watch: on a busy host it would see the emulated counter run unlike the
/// emulated HPET, and be right.
const CPU: &str = "max,x-force-features=on,+invtsc,+tsc-adjust";
/// The setup for scrapes from another machine; `docs/monitoring.md`, "The unit".
const SET_UP: &str = "set -e
printf '[Match]\\nName=en* eth*\\n[Network]\\nAddress=10.0.2.15/24\\n' >/etc/systemd/network/10-test.network
systemctl start systemd-networkd
mkdir -p /etc/systemd/system/clocksmith-watch.service.d
printf '[Service]\\nIPAddressAllow=10.0.2.0/24\\n' >/etc/systemd/system/clocksmith-watch.service.d/override.conf
echo 'CLOCKSMITH_WATCH_OPTIONS=\"--listen 0.0.0.0:9988\"' >/etc/default/clocksmith
chmod 755 /usr/bin/clocksmith
systemctl daemon-reload
systemctl start clocksmith-watch";
/// How soon at most. Nothing is asserted about how soon in truth; that is printed.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program that ends with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An address on which no program listens.
fn free() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// The response of a server, or `None` if it does not answer yet.
fn get(address: SocketAddr, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(2)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    head.split_whitespace().nth(1).filter(|status| *status == "200")?;
    Some(body.to_owned())
}

fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> (T, Duration) {
    let begun = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return (answer, begun.elapsed());
        }
        assert!(begun.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn packaging(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging").join(name)
}

/// The shipped rules with shorter times: conditions that must hold for minutes must hold for seconds, and alerts
/// that last a quarter of an hour last half a minute. Nothing else differs.
fn rules() -> String {
    let shipped = std::fs::read_to_string(packaging("prometheus/clocksmith.rules.yml")).unwrap();
    let shorter = shipped.replace("for: 2m", "for: 5s").replace("[15m]", "[30s]");
    assert_ne!(shorter, shipped);
    shorter
}

/// A Prometheus that scrapes one target each second.
fn prometheus(work: &Path, target: SocketAddr) -> (Server, SocketAddr) {
    std::fs::write(work.join("rules.yml"), rules()).unwrap();
    let config = format!(
        "global: {{scrape_interval: 1s, evaluation_interval: 1s, scrape_timeout: 1s}}\n\
         rule_files: [rules.yml]\n\
         scrape_configs:\n  - job_name: clocksmith\n    static_configs: [{{targets: [\"{target}\"]}}]\n"
    );
    std::fs::write(work.join("prometheus.yml"), config).unwrap();
    let checked = Command::new("promtool")
        .args(["check", "config"])
        .arg(work.join("prometheus.yml"))
        .output();
    let checked = checked.expect("promtool (Debian package prometheus)");
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    let address = free();
    let mut command = Command::new("prometheus");
    command
        .arg(format!("--config.file={}", work.join("prometheus.yml").display()))
        .arg(format!("--storage.tsdb.path={}", work.join("data").display()))
        .arg(format!("--web.listen-address={address}"))
        .stdin(Stdio::null())
        .stderr(std::fs::File::create(work.join("prometheus.log")).unwrap());
    (Server(launch::start(command).unwrap()), address)
}

/// The alerts that fire, by name, with their descriptions. Those of a busy host are true, and not about the clocksource.
fn firing(prometheus: SocketAddr) -> Vec<(String, String)> {
    let Some(body) = get(prometheus, "/api/v1/alerts") else { return Vec::new() };
    let answer: Value = serde_json::from_str(&body).unwrap();
    let alerts = answer["data"]["alerts"].as_array().cloned().unwrap_or_default();
    let busy = ["MachineStoodStill", "ClockReadCostChanged"].map(Value::from);
    let fires = alerts.iter().filter(|alert| {
        alert["state"] == "firing" && !busy.contains(&alert["labels"]["alertname"])
    });
    fires
        .map(|alert| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            (text(&alert["labels"]["alertname"]), text(&alert["annotations"]["description"]))
        })
        .collect()
}

#[test]
#[ignore = "boots an installed system"]
fn prometheus_tells_a_switched_clocksource_and_that_it_is_over() {
    let begun = Instant::now();
    let say = |what: &str| println!("{:6.1} s  {what}", begun.elapsed().as_secs_f64());
    let target = free();
    let mut setup = Setup { patience: Duration::from_secs(300), ..Setup::default() };
    setup.hardware.cpu = CPU.into();
    setup.hardware.qemu = [
        "-netdev",
        &format!("user,id=net,restrict=on,hostfwd=tcp:{target}-:9988"),
        "-device",
        "virtio-net-pci,netdev=net",
    ]
    .map(String::from)
    .into();
    let mut disk = Disk::start_with(&Cache::standard().unwrap(), setup).unwrap();
    say("the guest listens");
    let program = guest::program();
    let bytes =
        std::fs::read(&program).unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    let unit = std::fs::read(packaging("systemd/clocksmith-watch.service")).unwrap();
    disk.push("/usr/bin/clocksmith", &bytes).unwrap();
    disk.push("/etc/systemd/system/clocksmith-watch.service", &unit).unwrap();
    let current = |disk: &mut Disk| {
        disk.check(&format!("cat {SYSFS}/current_clocksource")).unwrap().trim().to_owned()
    };
    // tsc takes over from tsc-early a second or two after boot.
    until("tsc is in use", || (current(&mut disk) == "tsc").then_some(()));
    disk.check(SET_UP).unwrap();
    say("the unit runs");

    let work = tempfile::tempdir().unwrap();
    let (_server, prometheus) = prometheus(work.path(), target);
    let up = |wanted: &str| {
        let body = get(prometheus, "/api/v1/query?query=count_over_time(up%5B1m%5D)*up")?;
        let answer: Value = serde_json::from_str(&body).ok()?;
        let count = answer["data"]["result"][0]["value"][1].as_str()?.parse::<u64>().ok()?;
        (count >= wanted.parse().ok()?).then_some(())
    };
    until("Prometheus scrapes the guest", || up("5"));
    say("Prometheus has scraped the guest five times");
    assert_eq!(firing(prometheus), [], "an alert without a reason");

    // There, and each delay from before the switch.
    let switch = |disk: &mut Disk, name: &str| {
        let before = Instant::now();
        disk.check(&format!("echo {name} >{SYSFS}/current_clocksource")).unwrap();
        assert_eq!(current(disk), name);
        say(&format!("{name} is in use"));
        before
    };
    let names = |alerts: &[(String, String)]| -> Vec<String> {
        alerts.iter().map(|alert| alert.0.clone()).collect()
    };
    let before = switch(&mut disk, "hpet");
    for name in ["ClocksourceChanged", "ClockSlow"] {
        let (description, _) = until(name, || {
            firing(prometheus).into_iter().find(|alert| alert.0 == name).map(|alert| alert.1)
        });
        println!("          {name} fires {:.1} s after the switch", before.elapsed().as_secs_f64());
        println!("          \"{description}\"");
        if name == "ClocksourceChanged" {
            assert!(description.contains("from tsc to hpet"), "{description}");
        }
    }

    let before = switch(&mut disk, "tsc");
    for name in ["ClockSlow", "ClocksourceChanged"] {
        until(name, || {
            (!names(&firing(prometheus)).iter().any(|alert| alert == name)).then_some(())
        });
        println!("          {name} is over {:.1} s after it", before.elapsed().as_secs_f64());
    }
    assert_eq!(firing(prometheus), [], "an alert that stays");
    let history = disk.check("cat /var/lib/clocksmith/watch/history.jsonl").unwrap();
    let changes = history.lines().filter(|line| line.contains("\"clocksource-change\"")).count();
    assert_eq!(changes, 2, "{history}");
    say("the history has both");
}
