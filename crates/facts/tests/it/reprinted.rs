//! The words of the banner, printed by a program and not by a booting kernel.
#![allow(clippy::unwrap_used)]

use clocksmith_facts::log::{Event, KernelLog};

const BANNER: &str = "Linux version 2.6.32-279.el6.x86_64 (a@b) (gcc version 4.4.6 20120305) #1 SMP Wed Jun 13 18:24:36 EDT 2012\n";

/// A boot without stamps, up to its choice.
fn boot() -> String {
    format!(
        "{BANNER}Command line: ro root=/dev/sda1\nKERNEL supported cpus:\n  Intel GenuineIntel\n\
         BIOS-provided physical RAM map:\nFast TSC calibration using PIT\nDetected 2992.500 MHz processor.\n\
         NET: Registered protocol family 16\nSwitching to clocksource tsc\nEXT4-fs (sda1): mounted filesystem\n"
    )
}

fn scan(text: &str) -> KernelLog {
    KernelLog::scan(text.as_bytes(), "log").unwrap()
}

fn switches(log: &KernelLog) -> usize {
    log.all(|event| matches!(event, Event::Switched(_))).count()
}

#[test]
fn banner_that_something_else_prints_is_not_a_boot() {
    let uname = "Linux host 2.6.32-279.el6.x86_64 #1 SMP Wed Jun 13 18:24:36 EDT 2012 x86_64 x86_64 x86_64 GNU/Linux\n";
    let hostnamectl = "  Operating System: CentOS 6\n            Kernel: Linux 2.6.32-279.el6.x86_64\n      Architecture: x86-64\n";
    for more in [
        BANNER.to_owned(),
        format!("{BANNER}\n"),
        format!("\nbash-4.1# cat /proc/version\n{BANNER}bash-4.1# \n"),
        format!("{BANNER}Boot successful.\nRebooting\nFound console ttyS0\nStopping network: OK\n"),
        format!("Welcome to CentOS\n{BANNER}Starting udev: OK\nSetting hostname: OK\n"),
        format!("{BANNER}\ncat /proc/stats :\n  Count  Size\n"),
        uname.to_owned(),
        format!("# uname -a\n{uname}"),
        hostnamectl.to_owned(),
    ] {
        let log = scan(&format!("{}{more}", boot()));
        assert_eq!((log.boots, switches(&log)), (1, 1), "{more}");
        assert!(log.from_boot, "{more}");
    }
}

#[test]
fn banner_behind_a_log_that_lost_its_own_is_not_a_boot() {
    let all = boot();
    let tail = &all[all.find("NET: ").unwrap()..];
    for more in [
        format!("{BANNER}\ncat /proc/stats :\n  Count  Size\n"),
        format!("$ cat /proc/version\n{BANNER}"),
    ] {
        let log = scan(&format!("{tail}{more}"));
        assert_eq!((log.boots, switches(&log)), (1, 1), "{more}");
        assert!(
            log.any(|event| matches!(event, Event::Release(text) if text.starts_with("2.6.32")))
        );
        assert!(!log.from_boot, "{more}");
    }
}

#[test]
fn second_boot_of_the_same_kernel_is_one() {
    for second in [
        boot(),
        format!("Restarting system.\n{}", boot()),
        format!("{BANNER}Command line: ro\n"),
        format!("{BANNER}CPU: ARMv7 Processor [413fc090] revision 0 (ARMv7), cr=10c5387d\n"),
        format!("{BANNER}CPU0 revision is: 00019558 (MIPS 74Kc)\n"),
        format!("{BANNER}printk: bootconsole [earlyprom0] enabled\nARCH: SUN4M\n"),
    ] {
        let log = scan(&format!("{}{second}", boot()));
        assert_eq!(log.boots, 2, "{second}");
    }
    // Another kernel.
    let other = BANNER.replace("-279", "-280");
    assert_eq!(scan(&format!("{}{other}", boot())).boots, 2);
    let same = "Booted from flash\nSoC rev 2\n";
    let first = boot().replacen("Command line", &format!("{same}Command line"), 1);
    assert_eq!(scan(&format!("{first}{BANNER}{same}")).boots, 2, "what followed the first banner");
}
