//! An installed system whose kernel command line is changed the way an administrator does it.
//! Ignored by default, because it needs QEMU and an image, which root builds once:
//! `testbed disk build`, then `cargo test -p clocksmith-testbed --test live -- --ignored disk::`.
//! `./test.sh disk` does both.

#![allow(clippy::unwrap_used, reason = "a test may end where something is missing")]

use clocksmith_testbed::cache::Cache;
use clocksmith_testbed::disk::{Disk, Setup, System};
use std::time::Instant;

const CURRENT: &str = "cat /sys/devices/system/clocksource/clocksource0/current_clocksource";

/// The times of events, for the log of the test.
struct Clock(Instant);

impl Clock {
    fn say(&self, what: &str) {
        println!("{:6.1} s  {what}", self.0.elapsed().as_secs_f64());
    }
}

#[test]
#[ignore = "boots an installed system three times"]
fn grub_takes_a_changed_command_line_and_the_disk_survives_a_power_cut() {
    let clock = Clock(Instant::now());
    let mut disk = Disk::start().unwrap();
    clock.say("the agent listens");
    let first = disk.boot_id().unwrap().to_string();
    let before = disk.check("cat /proc/cmdline").unwrap();
    assert!(!before.contains("clocksource"), "{before}");
    assert!(before.starts_with("BOOT_IMAGE=/boot/vmlinuz-"), "not booted by GRUB: {before}");
    println!("          clocksource: {}", disk.check(CURRENT).unwrap().trim());

    let setting = "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX clocksource=hpet\"\n";
    disk.push("/etc/default/grub.d/50-test.cfg", setting.as_bytes()).unwrap();
    assert_eq!(disk.pull("/etc/default/grub.d/50-test.cfg").unwrap(), setting.as_bytes());
    disk.check("update-grub").unwrap();
    clock.say("update-grub is done");
    disk.reboot().unwrap();
    clock.say("rebooted");
    let second = disk.boot_id().unwrap().to_string();
    assert_ne!(first, second);
    assert_eq!(disk.check("cat /proc/sys/kernel/random/boot_id").unwrap().trim(), second);
    let after = disk.check("cat /proc/cmdline").unwrap();
    assert!(after.split_whitespace().any(|word| word == "clocksource=hpet"), "{after}");
    assert_eq!(disk.check(CURRENT).unwrap().trim(), "hpet");
    let state = disk.settle().unwrap();
    assert_eq!(state, "running", "{}", disk.check("systemctl --failed").unwrap());
    clock.say("settled");
    println!("{}", disk.check("systemd-analyze time").unwrap().trim());

    // Something is being written, and something has been, when the power goes.
    disk.check("echo kept >/root/kept && sync /root/kept").unwrap();
    disk.send("while :; do echo x >>/root/growing; mv /root/growing /root/grown; done").unwrap();
    std::thread::sleep(std::time::Duration::from_secs(1));
    disk.power_cut().unwrap();
    clock.say("up again after the power cut");
    assert_ne!(disk.boot_id().unwrap(), second);
    assert_eq!(disk.pull("/root/kept").unwrap(), b"kept\n");
    let log = disk.check("dmesg").unwrap();
    assert!(log.contains("recovery complete"), "the journal was not replayed:\n{log}");
    assert_eq!(disk.check("findmnt -no OPTIONS / | cut -d, -f1").unwrap().trim(), "rw");
    assert_eq!(disk.check(CURRENT).unwrap().trim(), "hpet");
    disk.shutdown().unwrap();
    clock.say("off");
    assert!(disk.run("true").is_err());
    assert!(disk.serial().unwrap().contains("reboot: Power down"));
}

#[test]
#[ignore = "boots an installed system twice, and needs UEFI firmware"]
fn systemd_boot_takes_a_changed_command_line() {
    let clock = Clock(Instant::now());
    let setup = Setup { system: System::Debian12SystemdBoot, ..Setup::default() };
    let mut disk = Disk::start_with(&Cache::standard().unwrap(), setup).unwrap();
    clock.say("the agent listens");
    assert!(!disk.check("cat /proc/cmdline").unwrap().contains("clocksource"));
    disk.check(
        "sed -i 's/$/ clocksource=hpet/' /etc/kernel/cmdline && \
         kernel-install add $(uname -r) /boot/vmlinuz-$(uname -r) /boot/initrd.img-$(uname -r)",
    )
    .unwrap();
    clock.say("kernel-install is done");
    disk.reboot().unwrap();
    clock.say("rebooted");
    assert!(disk.check("cat /proc/cmdline").unwrap().contains("clocksource=hpet"));
    assert_eq!(disk.check(CURRENT).unwrap().trim(), "hpet");
    disk.shutdown().unwrap();
}
