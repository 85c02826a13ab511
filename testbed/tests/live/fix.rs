//! `clocksmith fix` in installed systems: a slow clocksource at boot, made fast without a reboot, still
//! fast after one, and reverted to the byte. Ignored by default, because it needs QEMU, an image that root
//! builds once (`testbed disk build`), and the static program:
//! `cargo build --profile dist --features full -p clocksmith-cli --target x86_64-unknown-linux-musl`, then
//! `cargo test -p clocksmith-testbed --test live -- --ignored --nocapture --test-threads 1 fix::`.
//! `CLOCKSMITH_STATIC` names another program. `./test.sh fix` does all of it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may end where something is missing")]

use super::guest;
use clocksmith_testbed::cache::Cache;
use clocksmith_testbed::disk::{Disk, Setup, System};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const CURRENT: &str = "cat /sys/devices/system/clocksource/clocksource0/current_clocksource";
/// An administrator has chosen a slow clocksource. The watchdog is off, because on a busy host it sees
/// the emulated counter drift from the emulated HPET, and is right.
const SLOW: &str = "sed -i 's/^GRUB_CMDLINE_LINUX_DEFAULT=.*/GRUB_CMDLINE_LINUX_DEFAULT=\"quiet \
                    tsc=nowatchdog clocksource=hpet\"/' /etc/default/grub && update-grub 2>&1 && sync";
/// The commands that show why the state is not as expected.
const TRACE: &str = "systemctl status --no-pager clocksmith-clocksource.service; dmesg | grep -iE \
                     'clocksource|tsc'; cat /sys/devices/system/clocksource/clocksource0/avail*";

/// A guest with the program in it.
struct Guest {
    disk: Disk,
    begun: Instant,
}

impl Guest {
    fn start(system: System) -> Guest {
        let begun = Instant::now();
        let setup = Setup { system, patience: Duration::from_secs(400), ..Setup::default() };
        let mut disk = Disk::start_with(&Cache::standard().unwrap(), setup).unwrap();
        let program = guest::program();
        let bytes = std::fs::read(&program)
            .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        disk.push("/usr/local/bin/clocksmith", &bytes).unwrap();
        disk.check("chmod 755 /usr/local/bin/clocksmith && sync").unwrap();
        Guest { disk, begun }
    }

    fn say(&self, what: &str) {
        println!("{:6.1} s  {what}", self.begun.elapsed().as_secs_f64());
    }

    /// Runs the program, shows its output, and requires this exit code.
    fn clocksmith(&mut self, arguments: &str, code: i32) -> String {
        let answer = self.disk.run(&format!("clocksmith {arguments}")).unwrap();
        self.say(&format!("$ clocksmith {arguments}"));
        println!("{}{}", answer.stderr(), answer.stdout());
        assert_eq!(answer.code, code, "clocksmith {arguments}");
        answer.stdout()
    }

    fn json(&mut self, arguments: &str, code: i32) -> serde_json::Value {
        serde_json::from_str(&self.clocksmith(&format!("{arguments} --json"), code)).unwrap()
    }

    fn current(&mut self) -> String {
        self.disk.check(CURRENT).unwrap().trim().to_string()
    }

    fn is_on(&mut self, name: &str) {
        let current = self.current();
        if current != name {
            let trace = self.disk.run(TRACE).unwrap();
            panic!("{current} is in use, not {name}:\n{}{}", trace.stdout(), trace.stderr());
        }
    }

    fn cmdline(&mut self) -> String {
        self.disk.check("cat /proc/cmdline").unwrap()
    }

    fn reboot(&mut self) {
        self.disk.reboot().unwrap();
        assert_eq!(self.disk.settle().unwrap(), "running", "a unit failed");
        self.say("rebooted");
    }

    /// Returns every file, link and directory of /etc and /boot: kind, mode, owner, target, content; and the time of
    /// the last change, except for directories, whose time also changes by temporary files in them.
    fn files(&mut self) -> BTreeMap<String, String> {
        let script = "cd / && find etc boot efi -type d -printf '%p %y%m %U:%G\\n' 2>/dev/null; \
                      find etc boot efi ! -type d -printf '%p %y%m %U:%G %T@ %l\\n' 2>/dev/null; \
                      find etc boot -type f -print0 | xargs -0 sha256sum | awk '{print $2\" sha \"$1}'";
        let text = self.disk.check(script).unwrap();
        let mut files = BTreeMap::<String, String>::new();
        for line in text.lines() {
            let (path, rest) = line.split_once(' ').unwrap();
            let entry = files.entry(path.to_string()).or_default();
            entry.push_str(rest);
            entry.push(' ');
        }
        assert!(files.len() > 200, "{} files only", files.len());
        files
    }

    /// Whether nothing is different from before.
    fn as_before(&mut self, before: &BTreeMap<String, String>) {
        let now = self.files();
        let mut different: Vec<String> = Vec::new();
        for path in before.keys().chain(now.keys()) {
            let line = format!("{path}: {:?} -> {:?}", before.get(path), now.get(path));
            if before.get(path) != now.get(path) && !different.contains(&line) {
                different.push(line);
            }
        }
        assert!(different.is_empty(), "{}", different.join("\n"));
        self.say(&format!(
            "{} files of /etc and /boot are as they were, with their times",
            now.len()
        ));
    }
}

fn ratio(report: &serde_json::Value) -> f64 {
    report["reads"]["ratio"].as_f64().unwrap_or_else(|| panic!("nothing measured: {report}"))
}

#[test]
#[ignore = "boots an installed system several times"]
fn slow_clocksource_is_fixed_and_reverted() {
    let mut guest = Guest::start(System::Debian12);
    guest.disk.check(SLOW).unwrap();
    guest.reboot();
    let before = guest.files();
    guest.is_on("hpet");
    let why = guest.json("why", 0);
    assert_eq!(why["verdict"], "slow");
    guest.clocksmith("fix", 0);
    guest.is_on("hpet");

    // Without a reboot.
    let said = guest.clocksmith("fix --apply --watch 8s", 0);
    guest.is_on("tsc");
    assert!(said.contains("times as fast"), "{said}");
    let why = guest.json("why", 0);
    assert_eq!(why["verdict"], "ok");

    // After a reboot.
    guest.reboot();
    guest.is_on("tsc");
    assert!(guest.cmdline().contains("clocksource=hpet"));
    let said = guest.clocksmith("fix --status", 0);
    assert!(said.contains("active, success"), "{said}");

    // As it was.
    guest.clocksmith("fix --undo", 0);
    guest.is_on("hpet");
    guest.as_before(&before);
    guest.reboot();
    guest.is_on("hpet");
    guest.as_before(&before);
    guest.disk.shutdown().unwrap();
}

#[test]
#[ignore = "boots an installed system several times"]
fn the_command_line_way_survives_a_power_cut() {
    let mut guest = Guest::start(System::Debian12);
    guest.disk.check(SLOW).unwrap();
    guest.reboot();
    guest.is_on("hpet");
    let before = guest.files();
    // The conflicting word is removed.
    guest.clocksmith("fix --boot cmdline", 0);
    let applied = guest.json("fix --apply --boot cmdline --watch 2s", 0);
    assert_eq!(applied["result"], "applied");
    assert!(ratio(&applied) > 2.0, "{}", ratio(&applied));
    let status = guest.json("fix --status", 0);
    assert_eq!(status["result"], "waits-for-reboot", "{status}");
    guest.reboot();
    assert!(!guest.cmdline().contains("clocksource="), "{}", guest.cmdline());
    guest.is_on("tsc");
    guest.clocksmith("fix --status", 0);

    guest.clocksmith("fix --undo", 0);
    guest.as_before(&before);
    guest.reboot();
    guest.is_on("hpet");
    guest.disk.shutdown().unwrap();
}

#[test]
#[ignore = "boots an installed system twice"]
fn a_power_cut_while_it_is_applied_is_put_right_by_the_next_run() {
    let mut guest = Guest::start(System::Debian12);
    guest.disk.check("sync").unwrap();
    let before = guest.files();
    // The drop-in is there, update-grub is at work: the power goes.
    guest
        .disk
        .check(
            "(clocksmith fix --apply --param hpet=verbose >/dev/null 2>&1 &); \
             while ! [ -e /etc/default/grub.d/90-clocksmith.cfg ]; do sleep 0.05; done; sleep 0.2",
        )
        .unwrap();
    guest.disk.power_cut().unwrap();
    guest.say("up again after the power cut");
    let status = guest.json("fix --status", 1);
    assert_eq!(status["result"], "not-in-force", "it was over before the power went");
    let undone = guest.json("fix --undo", 0);
    let because = undone["taken_back"][0]["because"].as_str().unwrap();
    assert!(because.contains("killed while it made the change"), "{because}");
    guest.as_before(&before);
    guest.disk.shutdown().unwrap();
}

#[test]
#[ignore = "boots an installed system several times, and needs UEFI firmware"]
fn systemd_boot_gets_a_word_and_loses_it_again() {
    let mut guest = Guest::start(System::Debian12SystemdBoot);
    let before = guest.files();
    guest.clocksmith("fix --param hpet=verbose", 0);
    let applied = guest.json("fix --apply --param hpet=verbose", 0);
    assert_eq!(applied["result"], "applied");
    assert_eq!(guest.json("fix --status", 0)["result"], "waits-for-reboot");
    guest.reboot();
    assert!(guest.cmdline().contains("hpet=verbose"), "{}", guest.cmdline());
    assert_eq!(guest.json("fix --status", 0)["result"], "in-force");
    guest.clocksmith("fix --undo", 0);
    guest.as_before(&before);
    guest.reboot();
    assert!(!guest.cmdline().contains("hpet=verbose"), "{}", guest.cmdline());
    guest.disk.shutdown().unwrap();
}
