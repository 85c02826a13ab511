#![allow(clippy::unwrap_used)]

use crate::log::{By, Event, KernelLog};
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
const OUTPUTS: [&str; 33] = [
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
    "root@db1:~# env\nPATH=/usr/bin\n@\nHOME=/root\n",
    "root@db1:~# kubectl get pods -o wide\nNAME   READY   MESSAGE\nx      1/1     @\n",
    "root@db1:~# kubectl describe pod x\nAnnotations:  example.org/a: @\n              @\nStatus:       Running\n",
    "root@db1:~# git log -2\ncommit 0123456789abcdef\nAuthor: Eve <eve@example.org>\n\n    @\n\n",
    "root@db1:~# mail\n>N  1 eve@db1  Mon Nov  2 10:00  12/500  @\n& 1\nMessage 1:\n\n@\n\n& q\n",
    "root@db1:~# crontab -u eve -l\n0 1 * * * echo @\n@\n",
    "root@db1:~# docker logs web\n@\n",
    "root@db1:~# history\n    2  echo @\n    3  @\n",
    "root@db1:~# ausearch -i\ntype=PROCTITLE msg=audit(1:1) : proctitle=@\n",
    "root@db1:~# lsusb -v\nBus 001 Device 002: ID 1234:5678 Eve\n  iProduct                2 @\n",
    "root@db1:~# virsh list --title\n Id   Name   State     Title\n 1    x      running   @\n",
    "root@db1:~# dig +short TXT eve.example.org\n\"@\"\n@\n",
    "description: |\n  @\n\n  @\nkernel: 6.1.0\n",
    "<domain><name>x</name><description>@\n@\n</description></domain>\n",
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

/// Outputs of commands of which nothing is known, and other places of a label that a user chose.
const LABELS: [&str; 17] = [
    "root@db1:~# mysql -e \"SHOW PROCESSLIST\"\nId\tUser\tInfo\n12\teve\t@\n",
    "root@db1:~# psql -c \"select pid,query from x\"\n pid |            query\n-----+-------\n 812 | @\n(1 row)\n",
    "root@db1:~# curl -sI http://eve.example.org\nHTTP/1.1 200 OK\nX-A: @\n@\n",
    "root@db1:~# frobnicate --all\n@\n",
    "root@db1:~# tail -2 /var/log/nginx/access.log\n10.0.0.1 - - [02/Nov/2026:10:00:00 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"@\"\n",
    "10.0.0.1 - - [02/Nov/2026:10:00:00 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"@\"\n",
    "10.0.0.1 - - [02/Nov/2026:10:00:00 +0000] \"GET /?@ HTTP/1.1\" 200 5\n",
    "# HELP x @\n# TYPE x gauge\nx 1\n",
    "[//]: # (@)\n\n",
    "<!--\n@\n-->\n",
    "; @\n[x]\ncomment = @\n",
    "host: db1\nnote: @\n",
    "note: >-\n  @\nkernel: 6.1.0\n",
    "<p style=\"display:none\">\n@\n</p>\n",
    "| host | kernel | note |\n|---|---|---|\n| db1 | 6.1 | @ |\n",
    "host,kernel,note\ndb1,6.1,\"was tsc; @\"\n",
    "root@db1:~# kubectl top pod\nNAME   CPU\n@      1m\n",
];

#[test]
fn label_that_a_user_chose_is_no_reading_and_the_content_of_the_file_stays() {
    let path = format!("{FILE}:hpet");
    for output in LABELS {
        for chosen in ["current_clocksource=hpet", "current_clocksource: hpet", &path] {
            let text = output.replace('@', chosen).replace(&format!("root{chosen}"), "root@");
            assert_eq!(shown(&text), [""; 0], "{text}");
            let reading = format!("root@db1:~# cat {FILE}\ntsc\n");
            for both in [format!("{text}{reading}"), format!("{reading}{text}")] {
                assert_eq!(shown(&both), ["tsc"], "{both}");
                let lines = paste::lines(both.as_bytes(), "text").unwrap();
                assert_eq!(paste::mixed(&lines), None, "{both}");
            }
        }
    }
}

#[test]
fn fields_beside_free_text_are_read() {
    for text in [
        "host: db1\nnote: >-\n  current_clocksource: tsc\ncurrent_clocksource: hpet\n",
        "host,current_clocksource,note\ndb1,hpet,\"was tsc; current_clocksource: tsc\"\n",
        "| host | clocksource | note |\n|---|---|---|\n| db1 | hpet | current_clocksource: tsc |\n",
        "<!-- current_clocksource: tsc -->\ncurrent_clocksource: hpet\n",
        "# HELP x current_clocksource: tsc\nnode_time_clocksource_current_info{clocksource=\"hpet\",device=\"0\"} 1\n",
        "$ curl -s http://db1:9100/metrics\nnode_time_clocksource_current_info{clocksource=\"hpet\",device=\"0\"} 1\n",
        "$ ./state.sh\ncurrent_clocksource: hpet\n",
        "$ uname -r\n6.1.0\n\nAnd I found this:\n\ncurrent_clocksource: hpet\n",
    ] {
        assert_eq!(shown(text), ["hpet"], "{text}");
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
    let later: Vec<_> = log.later.iter().map(|one| (one.line, one.below.as_deref())).collect();
    assert_eq!((log.entries.len(), later), (1, vec![(3, Some("ls /tmp"))]));
}

#[test]
fn stamped_line_below_a_command_that_does_not_print_the_log_is_of_its_output() {
    let stamped = "[ 9000.000000] clocksource: Switched to clocksource hpet";
    for output in [
        format!("root@db1:~# cat /proc/net/unix\n0000: 0 @{stamped}\n"),
        format!("root@db1:~# cut -d: -f5 /etc/passwd\n{stamped}\n"),
        format!("root@db1:~# psql -c \"select note from t\"\nnote\n----\n {stamped}\n(1 row)\n"),
        format!("root@db1:~# nmap -sV 10.0.0.7\n22/tcp open ssh {stamped}\n"),
        format!("root@db1:~# hostnamectl\n  Location: {stamped}\n"),
        format!("root@db1:~# cat /var/log/app.log\n{stamped}\n"),
        format!("root@db1:~# sudo -u bob /home/bob/x\n{stamped}\n"),
        format!(
            "Broadcast message from bob@db1 (pts/1) (Mon Nov 30 08:00:00 2026):\n\n{stamped}\n"
        ),
        "Broadcast message from bob@db1 (pts/1):\n\ncurrent_clocksource: hpet\n".to_owned(),
        format!("Message from bob@db1 on pts/1 at 08:00 ...\n{stamped}\nEOF\n"),
    ] {
        let text = format!("root@db1:~# cat {FILE}\ntsc\n{output}root@db1:~# \n");
        assert_eq!(shown(&text), ["tsc"], "{text}");
    }
    for command in ["dmesg", "journalctl -k", "cat /var/log/kern.log", "ssh db1 dmesg"] {
        let text = format!("root@db1:~# {command}\n{stamped}\n");
        assert_eq!(shown(&text), ["hpet"], "{text}");
    }
    // The kernel prints on the console after a command without an output of its own.
    let text = format!("root@db1:~# echo hpet > {FILE}\n{stamped}\n");
    assert_eq!(shown(&text), ["hpet"], "{text}");
}

#[test]
fn comment_of_html_is_not_shown_and_hides_nothing_else() {
    let own = format!("$ cat {FILE}\ntsc\n");
    let other = format!("$ cat {FILE}\nhpet\n");
    let stamped = "[ 9000.000000] clocksource: Switched to clocksource hpet";
    for text in [
        format!("{own}<!--\n{other}-->\n"),
        format!("## Report\n\n<!-- paste the output, for example\n{other}-->\n\n```\n{own}```\n"),
        format!(
            "```\n[    4.240000] clocksource: Switched to clocksource tsc\n```\n<!--\n{stamped}\n-->\n"
        ),
        format!(
            "### dmesg\n\n[    4.240000] clocksource: Switched to clocksource tsc\n\n<!-- {stamped} -->\n"
        ),
        format!("{own}<!-- {stamped} -->\n"),
    ] {
        assert_eq!(shown(&text), ["tsc"], "{text}");
    }
    // A name of a file begins no comment, and one without an end ends.
    let names = format!("$ ls /tmp\n<!--\n{other}$ ls\n-->\n");
    assert_eq!(shown(&names), ["hpet"]);
    let open = format!("<!--\n{}{other}", "x\n".repeat(100));
    assert_eq!(shown(&open), ["hpet"]);
    // Nor does a further line of a message, in a log; in a document it leaves a doubt.
    let first = "[    4.240000] clocksource: Switched to clocksource tsc\n";
    for front in ["", "> ", "   12  ", "Nov 30 09:00:00 db1 kernel: "] {
        let log = format!(
            "{front}{first}{front}[   90.000000] usb 1-2: Product: x\n{front}<!--\n{front}{stamped}\n"
        );
        assert_eq!(shown(&log), ["hpet", "tsc"], "{log}");
    }
    let log = format!("```\n{first}[   90.000000] usb 1-2: Product: x\n<!--\n{stamped}\n```\n");
    assert_eq!(shown_and_open(&log), (vec!["tsc".to_owned()], vec![None]));
}

#[test]
fn cover_keeps_lines_and_other_text() {
    let text = "$ ls\nnothing é\nclocksource é\n$ cat x\nclocksource é\n";
    let lines = paste::lines(text.as_bytes(), "text").unwrap();
    assert_eq!(lines[..5], ["$ ls", "nothing é", "xxxxxxxxxxx xx", "$ cat x", "clocksource é"]);
}

const STAMPED: &str = "[90000.250000] clocksource: Switched to clocksource hpet";

/// The clocksources that a text shows, and those of the lines that leave it open.
fn shown_and_open(text: &str) -> (Vec<String>, Vec<Option<String>>) {
    let log = KernelLog::scan(text.as_bytes(), "text").unwrap();
    (
        shown(text),
        log.later.into_iter().filter(|one| one.by == By::Output).map(|one| one.below).collect(),
    )
}

#[test]
fn log_below_another_command_counts_only_without_better_evidence() {
    let own = "[    4.240000] clocksource: Switched to clocksource tsc\n";
    for command in [
        "cat out.txt",
        "head -50 capture.txt",
        "less x",
        "strings f | grep clocksource",
        "docker exec app dmesg",
        "./dmesg",
        "journalctl -u app -o cat",
        "systemctl status app",
        "lastb",
        "make",
    ] {
        let output = format!("$ {command}\n{STAMPED}\n");
        assert_eq!(shown(&format!("{output}$ uptime\n")), ["hpet"], "{command}");
        for better in [format!("$ dmesg\n{own}"), own.to_owned()] {
            let text = format!("{better}{output}");
            let open = vec![Some(command.to_owned())];
            assert_eq!(shown_and_open(&text), (vec!["tsc".to_owned()], open), "{text}");
        }
        let text = format!("{output}$ cat {FILE}\ntsc\n");
        assert_eq!(shown(&text), ["tsc"], "{text}");
    }
}

#[test]
fn prompt_that_one_command_shows_is_that_of_the_others() {
    for front in ["# ", "\u{279c}  ~ ", "09:31:02 root@db1 /root # ", "db1# "] {
        let text = format!("{front}cat {FILE}\ntsc\n{front}getent group\n{STAMPED}\n{front}\n");
        assert_eq!(shown(&text), ["tsc"], "{text}");
    }
}

#[test]
fn file_that_is_only_called_like_that_of_sysfs_is_no_reading_beside_it() {
    let own = format!("root@db1:~# cat {FILE}\ntsc\n");
    for other in [
        format!("root@db1:~# cat /tmp{FILE}\nhpet\n"),
        "root@db1:~# cat ./current_clocksource\nhpet\n".to_owned(),
        "root@db1:~# cd /tmp; cat current_clocksource\nhpet\n".to_owned(),
        format!("root@db1:~# docker exec app cat {FILE}\nhpet\n"),
        format!("root@db1:~# chroot /srv/bob cat {FILE}\nhpet\n"),
        format!("root@db1:~# cat /tmp/x # cat {FILE}\nhpet\n"),
        format!("root@db1:~# echo cat {FILE}; cat /tmp/x\nhpet\n"),
        format!(
            "root@db1:~# head -v {FILE} /tmp{FILE}\n==> {FILE} <==\ntsc\n\n==> /tmp{FILE} <==\nhpet\n"
        ),
    ] {
        let text = format!("{own}{other}root@db1:~# \n");
        assert_eq!(shown(&text), ["tsc"], "{text}");
    }
    for own in [
        "$ cat current_clocksource\nhpet\n".to_owned(),
        format!("$ docker exec app cat {FILE}\nhpet\n"),
        format!(
            "{own}root@db1:/sys/devices/system/clocksource/clocksource0# cat current_clocksource\nhpet\n"
        ),
        format!(
            "{own}root@db1:~# cd /sys/devices/system/clocksource/clocksource0\nroot@db1:~# cat current_clocksource\nhpet\n"
        ),
    ] {
        assert!(shown(&own).contains(&"hpet".to_owned()), "{own}");
    }
}

#[test]
fn content_of_another_file_below_its_heading_leaves_the_clocksource_open() {
    let own = "[    4.240000] clocksource: Switched to clocksource tsc\n";
    for front in
        ["==> {} <==", "===== {} =====", "### {}", "File: {}", "[{}]", "**{}**\n```", "{}:"]
    {
        let heading = |path: &str| front.replace("{}", path);
        for said in [STAMPED, "current_clocksource: hpet"] {
            let text = format!(
                "{}\n{own}\n{}\n{said}\n",
                heading("/var/log/dmesg").replace("\n```", ""),
                heading("/tmp/app.log")
            );
            let (found, open) = shown_and_open(&text);
            assert_eq!((found, open.len()), (vec!["tsc".to_owned()], 1), "{text}");
        }
        let alone = format!("{}\n{STAMPED}\n", heading("/home/me/log.txt"));
        assert_eq!(shown(&alone), ["hpet"], "{alone}");
    }
    // Another heading ends it.
    let text = format!("{own}== /etc/x ==\ny\n== dmesg ==\n{STAMPED}\n");
    assert_eq!(shown(&text), ["hpet", "tsc"]);
}

#[test]
fn words_of_a_user_on_a_console_leave_the_clocksource_open() {
    let own = "[    4.240000] clocksource: Switched to clocksource tsc\n";
    for line in [
        format!("[  OK  ] Started app.service - {STAMPED}."),
        format!("[FAILED] Failed to start app - {STAMPED}"),
        format!("db1 login: {STAMPED}\nPassword: \n\nLogin incorrect"),
        format!("Last login: Mon Nov 30 09:00:00 2026 from {STAMPED}"),
        format!("app[42]: {STAMPED}"),
        format!("Message from syslogd@db1 at Nov 30 09:00:00 ...\n bob: {STAMPED}"),
    ] {
        let (found, open) = shown_and_open(&format!("{own}{line}\n"));
        assert_eq!((found, open.len()), (vec!["tsc".to_owned()], 1), "{line}");
    }
    // The kernel's own, between lines of others.
    for line in [format!("db1 login: {STAMPED}"), format!("         Starting x...{STAMPED}")] {
        let text = format!("{own}{line}\n[90001.000000] x\n");
        assert_eq!(shown(&text), ["hpet", "tsc"], "{line}");
    }
}

#[test]
fn damaged_time_stamp_before_a_change_leaves_it_open() {
    let own = "[    4.240000] clocksource: Switched to clocksource tsc\n";
    for damaged in [
        "[  524.30source: Switched to clocksource hpet",
        "[  524.30source: timekeeping watchdog: Marking clocksource 'tsc' as unstable",
        "[  524.303tsc: Marking TSC unstable due to clocksource watchdog",
    ] {
        let text = format!("{own}{damaged}\n");
        let log = KernelLog::scan(text.as_bytes(), "text").unwrap();
        let is_read = log.entries.iter().any(|entry| matches!(entry.event, Event::TscUnstable(_)));
        assert!(is_read || log.later.iter().any(|one| one.by == By::Output), "{text}");
    }
    for whole in
        ["[1.5s] Switched to clocksource hpet", "[ 0.1x] source: Switched to clocksource hpet"]
    {
        let text = format!("{own}{whole}\n");
        assert!(shown_and_open(&text).1.is_empty(), "{text}");
    }
    let text = "[    0.159arch_timer: CPU2: Trapping CNTVCT access\n";
    let log = KernelLog::scan(text.as_bytes(), "text").unwrap();
    assert_eq!(log.entries.len(), 1, "{text}");
}
