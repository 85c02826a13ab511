//! Logs without stamps in texts that also quote lines with stamps.
#![allow(clippy::unwrap_used)]

use clocksmith_facts::log::{Event, KernelLog};
use std::fmt::Write;

fn scan(text: &str) -> KernelLog {
    KernelLog::scan(text.as_bytes(), "log").unwrap()
}

fn switched(log: &KernelLog) -> Option<String> {
    log.last(|event| match event {
        Event::Switched(name) => Some(name.clone()),
        _ => None,
    })
    .map(|(_, name)| name)
}

const QUOTED: &str = "> > [   91.184432] CPU: 0 PID: 0 Comm: swapper/0 Tainted: G        W         5.10.0-rc4 #25\n\
                      > > [   91.188301] WARNING: suspicious RCU usage\n\
                      > > [   91.197536] CPU: 1 PID: 0 Comm: swapper/1 Tainted: G        W         5.10.0-rc4 #25\n";

#[test]
fn log_below_a_quotation_is_read() {
    let log = "Advanced Linux Sound Architecture Driver Initialized.\n\
               clocksource: Switched to clocksource arch_sys_counter\nVFS: Disk quotas dquot_6.6.0\n";
    assert_eq!(
        switched(&scan(&format!("{QUOTED}\nthe log:\n\n{log}"))).as_deref(),
        Some("arch_sys_counter")
    );
    // A sentence of the sender's, and a line below the log that it is about.
    let sentence = "\nclocksource: Switched to clocksource tsc\n\nis what I see then\n";
    assert_eq!(switched(&scan(&format!("{QUOTED}{sentence}"))), None);
    let own = QUOTED.replace("> > ", "");
    assert_eq!(switched(&scan(&format!("{own}{log}"))), None);
}

#[test]
fn log_without_stamps_reaches_as_far_as_it_does_without_the_lines_that_are_quoted_beside_it() {
    let kinds = [
        "NET: Registered PF_INET",
        "TCP: Hash tables configured",
        "UDP hash table entries: 1024",
        "UDP-Lite hash table",
        "io scheduler mq-deadline registered",
        "Key type asymmetric registered",
        "Freeing initrd memory: 1K",
        "Block layer SCSI generic",
        "VFS: Disk quotas",
        "usbcore: registered",
        "input: Power Button",
        "random: crng init done",
        "workingset: timestamp_bits=36",
        "loop: module loaded",
        "EXT4-fs (sda1): mounted filesystem",
        "systemd[1]: Started",
    ];
    let mut log = "clocksource: Switched to clocksource tsc\n".to_owned();
    for kind in kinds {
        writeln!(log, "{kind}").unwrap();
    }
    let quoted = "[    8.260699][    T1] BUG: KASAN: slab-out-of-bounds\n[    8.260699][    T1] Read of size 8\n";
    for text in [log.clone(), format!("{quoted}\nthe whole log:\n{log}")] {
        assert!(scan(&text).extent.reaches_user_space, "{text}");
    }
    // A log with time stamps, and the text of its sender below it.
    let stamped: String =
        log.lines().take(8).map(|line| format!("[    1.000000] {line}\n")).collect();
    assert!(!scan(&format!("{stamped}systemd[1]: is what I use\n")).extent.reaches_user_space);
}

#[test]
fn command_line_of_a_log_without_stamps_ends_with_its_line() {
    let line = |log: &KernelLog| {
        log.last(|event| match event {
            Event::CommandLine(line) => Some(line.clone()),
            _ => None,
        })
        .unwrap()
        .1
    };
    let quoted = "[    8.260699][    T1] BUG: KASAN: slab-out-of-bounds\n[    8.260699][    T1] Read of size 8\n";
    let long = format!("root=/dev/ram0 {}quiet", "RESULT_ROOT=/result/ltp/some/where ".repeat(12));
    let log = format!(
        "{quoted}Kernel command line: {long}\nsysrq: sysrq always enabled.\nrandom: crng init done\n"
    );
    assert_eq!(line(&scan(&log)).trim(), long);
    // A mailer has wrapped it in a log with stamps.
    let wrapped = "[    0.000000] Linux version 6.1.0 (a@b)\n[    0.000000] Command line: root=/dev/sda1 ro\nclocksource=hpet quiet\n\
                   [    0.000000] BIOS-provided physical RAM map:\n";
    assert!(line(&scan(wrapped)).contains("clocksource=hpet"));
}
