#![allow(clippy::unwrap_used)]

use crate::log::{Event, KernelLog};
use crate::paste::{self, Pasted};

const FILE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
/// What a user may call a process, a file or a mount.
const CHOSEN: [&str; 5] = [
    "current_clocksource=hpet",
    "current_clocksource: hpet",
    "clocksource: Switched to clocksource hpet",
    "clocksource: hpet",
    "current_clocksource is hpet",
];

/// The clocksources that a text shows: read from sysfs, and of the kernel's messages.
fn shown(text: &str) -> Vec<String> {
    let lines = paste::lines(text.as_bytes(), "text").unwrap();
    let pasted = Pasted::read(&lines, "text");
    let mut log = KernelLog::scan(text.as_bytes(), "text").unwrap();
    pasted.take_over(&mut log);
    let mut found: Vec<String> = pasted.told.current.value().cloned().into_iter().collect();
    found.extend(log.entries.into_iter().filter_map(|entry| match entry.event {
        Event::Switched(name) | Event::ReadCurrent(name) | Event::WroteCurrent(name) => Some(name),
        _ => None,
    }));
    found.sort();
    found.dedup();
    found
}

/// The outputs, with `@` where a user chooses the text: with a prompt, or without if the table or the line shows it.
const OUTPUTS: [&str; 19] = [
    "root@db1:~# ps aux\nUSER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\neve          812  0.0  0.0   8300   900 pts/0    S    10:01   0:00 @\n",
    "$ ps -ef\nUID          PID    PPID  C STIME TTY          TIME CMD\neve          812     1  0 10:00 ?        00:00:00 @\n",
    "$ ps -eo args\nCOMMAND\n/sbin/init\n@\n",
    "    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n    812 eve       20   0    8300    900    800 S   0.0   0.0   0:00.00 @\n",
    "root@db1:~# pgrep -a .\n1 /sbin/init\n812 @\n",
    "● x.service - @\n     Loaded: loaded\n   Main PID: 812 (@)\n     CGroup: /@\n             ├─812 @\n",
    "$ ls /tmp\na\n@\n",
    "total 8\n-rw-r--r-- 1 eve eve 0 Nov  2 10:00 @\n",
    "$ find .\n.\n./@\n",
    "$ find . -printf '%f\\n'\n.\n@\n",
    "Filesystem     1K-blocks    Used Available Use% Mounted on\n@       1000000  500000    500000  50% /home/eve/m\n/dev/vdb1 1 1 1 50% /home/eve/@\n",
    "sysfs on /sys type sysfs (rw)\n@ on /home/eve/m type fuse (rw,user_id=1000)\n",
    "root@db1:~# tcpdump -A\n10:00:00.000001 IP 10.0.0.1.4000 > 10.0.0.2.80: Flags [P.], length 30: HTTP: @\n\nSay this.\n@\n",
    "eve      pts/0        @ Mon Nov  2 10:00   still logged in\n",
    "Netid State Recv-Q Send-Q Local Address:Port Peer Address:Port Process\nu_str LISTEN 0 1 @ 123 * 0 users:((\"@\",pid=812,fd=3))\n",
    "COMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\nx 812 eve 3r REG 8,1 0 12 /home/eve/@\n",
    "$ docker ps\nCONTAINER ID   IMAGE     COMMAND\n0123456789ab   x         \"@\"\n",
    "{\"host\": \"db1\", \"note\": \"@\"}\n",
    "{\n  \"annotations\": {\n    \"example.org/x\": \"@\"\n  },\n  \"message\": \"x\"\n}\n",
];

#[test]
fn what_a_user_calls_a_process_a_file_or_a_mount_is_no_reading() {
    for output in OUTPUTS {
        for chosen in CHOSEN {
            let text = output.replace('@', chosen).replace(&format!("root{chosen}"), "root@");
            assert_eq!(shown(&text), [""; 0], "{text}");
            let quoted: String = text.lines().map(|line| format!("> {line}\n")).collect();
            assert_eq!(shown(&quoted), [""; 0], "{quoted}");
        }
    }
}

#[test]
fn reading_beside_such_an_output_keeps_its_weight() {
    let readings = [
        format!("root@db1:~# cat {FILE}\ntsc\n"),
        format!("$ cat {FILE}\ntsc\n"),
        "$ dmesg | grep Switched\n[    1.900000] clocksource: Switched to clocksource tsc\n"
            .to_owned(),
    ];
    for output in OUTPUTS {
        let text = output.replace('@', CHOSEN[0]).replace(&format!("root{}", CHOSEN[0]), "root@");
        for reading in &readings {
            for both in [format!("{text}{reading}"), format!("{reading}{text}")] {
                assert_eq!(shown(&both), ["tsc"], "{both}");
            }
        }
    }
}

#[test]
fn reading_that_no_such_output_explains_is_one() {
    let table = "USER         PID %CPU COMMAND\nroot           1  0.0 init\n";
    for text in [
        format!("{table}current_clocksource: hpet\n"),
        format!("{table}\n{FILE}:hpet\n"),
        format!("```\n$ ps aux\n{table}```\nMine:\n```\n{FILE}:hpet\n```\n"),
        format!("$ ps aux | head -1; grep -H . {FILE}\n{table}{FILE}:hpet\n"),
        format!(
            "$ find /sys/devices/system/clocksource -type f -exec grep -H . {{}} +\n{FILE}:hpet\n"
        ),
        "$ ls\na b\n\nThen I looked again:\n\ncurrent_clocksource: hpet\n".to_owned(),
        "$ df\n[    1.900000] clocksource: Switched to clocksource hpet\n".to_owned(),
        "{\"note\": \"x\", \"current_clocksource\": \"hpet\"}\n".to_owned(),
        "{\"message\": \"[    1.900000] clocksource: Switched to clocksource hpet\"}\n".to_owned(),
        "U-Boot# ls mmc 0:1\n 8 uImage\n\nStarting kernel ...\n\n\
         [    0.000000] Linux version 6.1.0 (a@b) (gcc 12) #1 SMP\n\
         [    1.900000] clocksource: Switched to clocksource hpet\n"
            .to_owned(),
        "$ ls\na b\nLinux version 2.6.32 (a@b) (gcc 4) #1 SMP\nSwitching to clocksource hpet\n"
            .to_owned(),
        "1 [    1.900000] clocksource: Switched to clocksource hpet\n".to_owned(),
    ] {
        assert_eq!(shown(&text), ["hpet"], "{text}");
    }
}

#[test]
fn name_that_looks_like_a_message_with_its_stamp_leaves_the_clocksource_open() {
    let log = "[    1.900000] clocksource: Switched to clocksource tsc\n";
    let name = "[ 9000.000000] clocksource: Switched to clocksource hpet\n";
    let log = KernelLog::scan(format!("{log}# ls /tmp\n{name}").as_bytes(), "text").unwrap();
    assert_eq!((log.entries.len(), log.change_cut), (1, Some(3)));
}

#[test]
fn cover_keeps_lines_and_other_text() {
    let text = "$ ls\nnothing é\nclocksource é\n$ cat x\nclocksource é\n";
    let lines = paste::lines(text.as_bytes(), "text").unwrap();
    assert_eq!(lines[..5], ["$ ls", "nothing é", "xxxxxxxxxxx xx", "$ cat x", "clocksource é"]);
}
