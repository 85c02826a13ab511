//! The shapes in which people paste kernel lines: what journald, syslog, `dmesg`, containers, build servers,
//! consoles, mailers, trackers and chats make of one and the same boot. Whatever the shape, the facts are the same.

#![allow(clippy::unwrap_used)]

use clocksmith_facts::log::{Event, KernelLog};
use std::fmt::Write;

/// One record of the kernel's log.
#[derive(Clone, Copy)]
struct Line {
    /// Its number, from 1.
    n: usize,
    /// Microseconds since boot.
    us: u64,
    level: u8,
    text: &'static str,
}

impl Line {
    /// `    9.100000`, as printk writes it.
    fn at(&self) -> String {
        format!("{:5}.{:06}", self.us / 1_000_000, self.us % 1_000_000)
    }

    /// `[    9.100000] tsc: ...`.
    fn printk(&self) -> String {
        format!("[{}] {}", self.at(), self.text)
    }

    /// Second of the minute at which it is printed: the machine starts at 07:25:40.
    fn second(&self) -> u64 {
        40 + self.us / 1_000_000
    }

    fn micros(&self) -> u64 {
        self.us % 1_000_000
    }

    /// Levels by name, as `dmesg -x` writes them.
    fn level(&self) -> &'static str {
        ["emerg", "alert", "crit", "err", "warn", "notice", "info", "debug"]
            [usize::from(self.level)]
    }

    fn json(&self) -> String {
        serde_json::to_string(self.text).unwrap()
    }
}

/// A boot in which the watchdog demotes the TSC.
const BOOT: [(u64, u8, &str); 21] = [
    (0, 5, "Linux version 6.1.0-18-amd64 (builder@host) (gcc 12.2.0) #1 SMP Debian 6.1.76-1"),
    (0, 6, "Command line: BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro quiet"),
    (0, 6, "tsc: Fast TSC calibration using PIT"),
    (12, 6, "tsc: Detected 2599.998 MHz processor"),
    (100_000, 6, "Booting paravirtualized kernel on bare hardware"),
    (312_345, 6, "clocksource: Switched to clocksource tsc-early"),
    (500_000, 6, "pci 0000:00:1f.0: [8086:9d84] type 00 class 0x060100"),
    (1_400_123, 6, "tsc: Refined TSC clocksource calibration: 2599.999 MHz"),
    (
        1_400_133,
        6,
        "clocksource: tsc: mask: 0xffffffffffffffff max_cycles: 0x257a34a6eea, max_idle_ns: 440795264358 ns",
    ),
    (1_400_321, 6, "clocksource: Switched to clocksource tsc"),
    (
        9_100_000,
        4,
        "clocksource: timekeeping watchdog on CPU3: Marking clocksource 'tsc' as unstable because the skew is too large:",
    ),
    (
        9_100_004,
        4,
        "clocksource:                       'hpet' wd_nsec: 503923392 wd_now: 7c7d1a6a wd_last: 7bcb2ee2 mask: ffffffff",
    ),
    (
        9_100_007,
        4,
        "clocksource:                       'tsc' cs_nsec: 588021368 cs_now: 5c1a3b6c2e cs_last: 5be3154b1a mask: ffffffffffffffff",
    ),
    (
        9_100_010,
        4,
        "clocksource:                       Clocksource 'tsc' skewed 84097976 ns (84 ms) over watchdog 'hpet' interval of 503923392 ns (503 ms)",
    ),
    (9_100_013, 4, "clocksource:                       'tsc' is current clocksource."),
    (9_100_020, 4, "tsc: Marking TSC unstable due to clocksource watchdog"),
    (
        9_100_030,
        4,
        "TSC found unstable after boot, most likely due to broken BIOS. Use 'tsc=unstable'.",
    ),
    (9_100_031, 6, "sched_clock: Marking unstable (9100000000, 12345)<-(9200000000, -54321)"),
    (
        9_200_100,
        6,
        "clocksource: Checking clocksource tsc synchronization from CPU 3 to CPUs 0-1,5.",
    ),
    (9_200_321, 6, "clocksource: Switched to clocksource hpet"),
    (17_000_001, 6, "EXT4-fs (sda1): re-mounted."),
];

fn boot() -> Vec<Line> {
    let line = |(n, (us, level, text)): (usize, &(u64, u8, &'static str))| Line {
        n: n + 1,
        us: *us,
        level: *level,
        text,
    };
    BOOT.iter().enumerate().map(line).collect()
}

type Shape = (&'static str, fn(&Line) -> String);

/// Shapes in which each line stands for itself.
const SHAPES: &[Shape] = &[
    // dmesg
    ("dmesg", |l| l.printk()),
    ("dmesg -t", |l| l.text.to_owned()),
    ("dmesg -r", |l| format!("<{}>{}", l.level, l.printk())),
    ("dmesg -r -t", |l| format!("<{}>{}", l.level, l.text)),
    ("dmesg -x", |l| format!("kern  :{:<6}: {}", l.level(), l.printk())),
    ("dmesg -x -t", |l| format!("kern  :{:<6}: {}", l.level(), l.text)),
    ("dmesg -T", |l| format!("[Tue Mar  5 07:25:{:02} 2024] {}", l.second(), l.text)),
    ("dmesg -T -x", |l| {
        format!("kern  :{:<6}: [Tue Mar  5 07:25:{:02} 2024] {}", l.level(), l.second(), l.text)
    }),
    ("dmesg -T, German", |l| format!("[Di M\u{e4}r  5 07:25:{:02} 2024] {}", l.second(), l.text)),
    ("dmesg -T, French", |l| format!("[mar. mars  5 07:25:{:02} 2024] {}", l.second(), l.text)),
    ("dmesg -T, Russian", |l| {
        format!("[\u{412}\u{442} \u{43c}\u{430}\u{440}  5 07:25:{:02} 2024] {}", l.second(), l.text)
    }),
    ("dmesg -T, Chinese", |l| {
        format!("[\u{4e8c} 3\u{6708}  5 07:25:{:02} 2024] {}", l.second(), l.text)
    }),
    ("dmesg -e", |l| {
        if l.n == 1 {
            format!("[Mar 5 07:25] {}", l.text)
        } else {
            format!("[  +0.{:06}] {}", l.micros(), l.text)
        }
    }),
    ("dmesg -d", |l| format!("[{} <    0.000012>] {}", l.at(), l.text)),
    ("dmesg -d -t", |l| format!("[<    0.000012>] {}", l.text)),
    ("dmesg --time-format=iso", |l| {
        format!("2024-03-05T07:25:{:02},{:06}+00:00 {}", l.second(), l.micros(), l.text)
    }),
    ("dmesg --time-format=iso -x", |l| {
        format!(
            "kern  :{:<6}: 2024-03-05T07:25:{:02},{:06}+00:00 {}",
            l.level(),
            l.second(),
            l.micros(),
            l.text
        )
    }),
    ("dmesg of syzbot, with callers", |l| format!("[{}][    T1] {}", l.at(), l.text)),
    ("dmesg with callers", |l| format!("[{}] [    C3] {}", l.at(), l.text)),
    ("dmesg in colour", |l| {
        format!("\u{1b}[32m[{}] \u{1b}[0m\u{1b}[1m\u{1b}[33m{}\u{1b}[0m", l.at(), l.text)
    }),
    ("colour without its escapes", |l| format!("[32m[{}] [0m[1m[33m{}[0m", l.at(), l.text)),
    ("colour, cat -v", |l| format!("^[[32m[{}] ^[[0m^[[33m{}^[[0m", l.at(), l.text)),
    ("colour, rsyslog", |l| format!("#033[32m{}#033[0m", l.text)),
    ("/dev/kmsg", |l| format!("{},{},{},-;{}", l.level, 100 + l.n, l.us, l.text)),
    ("/dev/kmsg with callers", |l| {
        format!("{},{},{},-,caller=T1;{}", l.level, 100 + l.n, l.us, l.text)
    }),
    ("netconsole, extended", |l| {
        format!("6.1.0-18-amd64,{},{},{},-;{}", l.level, 100 + l.n, l.us, l.text)
    }),
    ("netconsole by syslog", |l| {
        format!("Mar  5 07:25:{:02} 192.0.2.7 {}", l.second(), l.printk())
    }),
    // journald
    ("journalctl", |l| format!("Mar 05 07:25:{:02} web kernel: {}", l.second(), l.text)),
    ("journalctl --no-hostname", |l| format!("Mar 05 07:25:{:02} kernel: {}", l.second(), l.text)),
    ("journalctl, German", |l| {
        format!("M\u{e4}r 05 07:25:{:02} web kernel: {}", l.second(), l.text)
    }),
    ("journalctl, French", |l| format!("mars 05 07:25:{:02} web kernel: {}", l.second(), l.text)),
    ("journalctl, Dutch", |l| format!("mrt 05 07:25:{:02} web kernel: {}", l.second(), l.text)),
    ("journalctl, Finnish", |l| {
        format!("maalis 05 07:25:{:02} web kernel: {}", l.second(), l.text)
    }),
    ("journalctl, Russian", |l| {
        format!("\u{43c}\u{430}\u{440} 05 07:25:{:02} web kernel: {}", l.second(), l.text)
    }),
    ("journalctl, Chinese", |l| {
        format!("3\u{6708} 05 07:25:{:02} web kernel: {}", l.second(), l.text)
    }),
    ("journalctl -o short-precise", |l| {
        format!("Mar 05 07:25:{:02}.{:06} web kernel: {}", l.second(), l.micros(), l.text)
    }),
    ("journalctl -o short-iso", |l| {
        format!("2024-03-05T07:25:{:02}+0100 web kernel: {}", l.second(), l.text)
    }),
    ("journalctl -o short-iso-precise", |l| {
        format!("2024-03-05T07:25:{:02}.{:06}+01:00 web kernel: {}", l.second(), l.micros(), l.text)
    }),
    ("journalctl -o short-full", |l| {
        format!("Tue 2024-03-05 07:25:{:02} CET web kernel: {}", l.second(), l.text)
    }),
    ("journalctl -o short-full, German", |l| {
        format!("Di 2024-03-05 07:25:{:02} CET web kernel: {}", l.second(), l.text)
    }),
    ("journalctl -o with-unit", |l| {
        format!(
            "Tue 2024-03-05 07:25:{:02}.{:06} UTC web kernel[1]: {}",
            l.second(),
            l.micros(),
            l.text
        )
    }),
    ("journalctl -o short-monotonic", |l| format!("[{}] web kernel: {}", l.at(), l.text)),
    ("journalctl -o short-delta", |l| {
        format!("[{} <    0.000012 >] web kernel: {}", l.at(), l.text)
    }),
    ("journalctl -o short-unix", |l| {
        format!("17096235{:02}.{:06} web kernel: {}", l.second(), l.micros(), l.text)
    }),
    ("journalctl -o json", |l| {
        format!(
            "{{\"_TRANSPORT\":\"kernel\",\"SYSLOG_FACILITY\":\"0\",\"PRIORITY\":\"{}\",\"_SOURCE_MONOTONIC_TIMESTAMP\":\"{}\",\"MESSAGE\":{}}}",
            l.level,
            l.us,
            l.json()
        )
    }),
    // syslog
    ("RFC 3164", |l| format!("<{}>Mar  5 07:25:{:02} web kernel: {}", l.level, l.second(), l.text)),
    ("kern.log", |l| format!("Mar  5 07:25:{:02} web kernel: {}", l.second(), l.printk())),
    ("kern.log with a year", |l| {
        format!("Mar  5 2024 07:25:{:02} web kernel: {}", l.second(), l.text)
    }),
    ("kern.log with a year in front", |l| {
        format!("2024 Mar  5 07:25:{:02} web kernel: {}", l.second(), l.text)
    }),
    ("kern.log with facility", |l| {
        format!("Mar  5 07:25:{:02} web kern.{} kernel: {}", l.second(), l.level(), l.text)
    }),
    ("logread of OpenWrt", |l| {
        format!("Tue Mar  5 07:25:{:02} 2024 kern.{} kernel: {}", l.second(), l.level(), l.printk())
    }),
    ("logread of OpenWrt, no stamps", |l| {
        format!("Tue Mar  5 07:25:{:02} 2024 kern.{} kernel: {}", l.second(), l.level(), l.text)
    }),
    ("RFC 5424", |l| {
        format!(
            "<{}>1 2024-03-05T07:25:{:02}.{:06}+00:00 web kernel - - - {}",
            l.level,
            l.second(),
            l.micros(),
            l.text
        )
    }),
    ("RFC 5424 with structured data", |l| {
        format!(
            "<{}>1 2024-03-05T07:25:{:02}.{:06}Z web kernel - - [meta sequenceId=\"{}\"] {}",
            l.level,
            l.second(),
            l.micros(),
            l.n,
            l.text
        )
    }),
    ("Kiwi syslog", |l| {
        format!("2024-03-05 07:25:{:02}\tKernel.Warning\t192.0.2.7\tkernel: {}", l.second(), l.text)
    }),
    // Dates and times of day alone
    ("time of day", |l| format!("07:25:{:02} {}", l.second(), l.text)),
    ("time of day with a fraction", |l| {
        format!("07:25:{:02}.{:03} {}", l.second(), l.micros() / 1000, l.text)
    }),
    ("time of day and minutes", |l| format!("07:25 {}", l.text)),
    ("time of day in the afternoon", |l| format!("7:25:{:02} PM {}", l.second(), l.text)),
    ("time of day and stamp", |l| format!("07:25:{:02} {}", l.second(), l.printk())),
    ("time of day and whole seconds", |l| {
        format!("07:25:{:02} [{}] {}", l.second(), l.us / 1_000_000, l.text)
    }),
    ("time of day in brackets", |l| format!("[07:25:{:02}] {}", l.second(), l.text)),
    ("time of day of tio", |l| {
        format!("[07:25:{:02}.{:03}] {}", l.second(), l.micros() / 1000, l.text)
    }),
    ("time of day in parentheses", |l| format!("(07:25:{:02}) {}", l.second(), l.text)),
    ("date of minicom", |l| format!("[2024-03-05 07:25:{:02}] {}", l.second(), l.text)),
    ("date of Jenkins", |l| format!("[2024-03-05T07:25:{:02}.123Z] {}", l.second(), l.text)),
    ("date of Tera Term", |l| format!("[Tue Mar 05 07:25:{:02}.123 2024] {}", l.second(), l.text)),
    ("ts", |l| format!("Mar 05 07:25:{:02} {}", l.second(), l.text)),
    ("ts -s", |l| format!("00:00:{:02} {}", l.us / 1_000_000, l.text)),
    ("ts with a format", |l| format!("2024-03-05 07:25:{:02} {}", l.second(), l.text)),
    ("date with slashes", |l| format!("2024/03/05 07:25:{:02} {}", l.second(), l.text)),
    ("date, American", |l| format!("03/05/2024 07:25:{:02} AM {}", l.second(), l.text)),
    ("date, German", |l| format!("05.03.2024 07:25:{:02} {}", l.second(), l.text)),
    ("date, German, with a comma", |l| format!("05.03.2024, 07:25:{:02}: {}", l.second(), l.text)),
    ("date, British", |l| format!("5 Mar 2024 07:25:{:02} {}", l.second(), l.text)),
    ("date, with a day of the week", |l| {
        format!("Tue Mar  5 07:25:{:02} UTC 2024 {}", l.second(), l.text)
    }),
    ("seconds since 1970", |l| format!("17096235{:02} {}", l.second(), l.text)),
    ("stamp without brackets", |l| format!("{} {}", l.at(), l.text)),
    ("stamp without brackets, with a colon", |l| format!("{}: {}", l.at(), l.text)),
    ("stamp in parentheses", |l| format!("({}) {}", l.at().trim(), l.text)),
    ("stamp in milliseconds", |l| {
        format!("[{:5}.{:03}] {}", l.us / 1_000_000, l.micros() / 1000, l.text)
    }),
    ("stamp with a comma", |l| format!("[{}] {}", l.at().replace('.', ","), l.text)),
    ("stamp without a blank", |l| format!("[{}]{}", l.at().trim(), l.text)),
    ("stamps of grabserial", |l| format!("[{} 0.000012] {}", l.at().trim(), l.printk())),
    // Containers, build servers, laboratories
    ("docker logs -t", |l| {
        format!("2024-03-05T07:25:{:02}.{:09}Z {}", l.second(), l.micros() * 1000, l.text)
    }),
    ("docker, JSON", |l| {
        format!(
            "{{\"log\":{},\"stream\":\"stdout\",\"time\":\"2024-03-05T07:25:{:02}.123456789Z\"}}",
            serde_json::to_string(&format!("{}\n", l.printk())).unwrap(),
            l.second()
        )
    }),
    ("docker compose", |l| format!("web-1  | {}", l.text)),
    ("containerd", |l| {
        format!("2024-03-05T07:25:{:02}.123456789+00:00 stdout F {}", l.second(), l.text)
    }),
    ("kubectl logs --prefix", |l| format!("[pod/web-0/app] {}", l.text)),
    ("kubectl logs --prefix --timestamps", |l| {
        format!("[pod/web-0/app] 2024-03-05T07:25:{:02}.123456789Z {}", l.second(), l.text)
    }),
    ("stern", |l| format!("web-0 app {}", l.printk())),
    ("GitHub Actions", |l| format!("2024-03-05T07:25:{:02}.1234567Z {}", l.second(), l.text)),
    ("gh run view --log", |l| {
        format!("boot\tRun dmesg\t2024-03-05T07:25:{:02}.1234567Z {}", l.second(), l.text)
    }),
    ("GitLab", |l| format!("2024-03-05T07:25:{:02}.123456Z 01O {}", l.second(), l.text)),
    ("Jenkins", |l| format!("07:25:{:02}  {}", l.second(), l.printk())),
    ("LAVA", |l| format!("2024-03-05T07:25:{:02}.123456 {}", l.second(), l.printk())),
    ("LAVA, YAML", |l| {
        format!(
            "- {{\"dt\": \"2024-03-05T07:25:{:02}.123456\", \"lvl\": \"target\", \"msg\": {}}}",
            l.second(),
            serde_json::to_string(&l.printk()).unwrap()
        )
    }),
    ("KernelCI", |l| format!("07:25:{:02}.123456  {}", l.second(), l.printk())),
    ("openQA", |l| format!("[2024-03-05T07:25:{:02}.123456Z] [debug] {}", l.second(), l.printk())),
    ("Avocado", |l| format!("2024-03-05 07:25:{:02}: {}", l.second(), l.text)),
    ("Avocado, debug", |l| format!("07:25:{:02} DEBUG| [stdlog] {}", l.second(), l.printk())),
    ("Python, bytes", |l| format!("b\"{}\\r\\n\"", l.printk())),
    ("Python, list", |l| format!("  '{}',", l.printk())),
    ("Ansible", |l| format!("            {},", serde_json::to_string(&l.printk()).unwrap())),
    ("Ansible without stamps", |l| format!("            {},", l.json())),
    ("YAML", |l| format!("  - \"{}\"", l.printk())),
    ("logger of Python", |l| {
        format!("2024-03-05 07:25:{:02},123 INFO console: {}", l.second(), l.printk())
    }),
    // Log stores and clouds
    ("logcli", |l| {
        format!(
            "2024-03-05T07:25:{:02}Z {{host=\"web\",job=\"syslog\"}} Mar  5 07:25:{:02} web kernel: {}",
            l.second(),
            l.second(),
            l.text
        )
    }),
    ("logcli without a header", |l| {
        format!("2024-03-05T07:25:{:02}Z {{host=\"web\", job=\"kernel\"}} {}", l.second(), l.text)
    }),
    ("Graylog, CSV", |l| {
        format!("\"2024-03-05T07:25:{:02}.123Z\",\"web\",\"kernel: {}\"", l.second(), l.text)
    }),
    ("Splunk, CSV", |l| {
        format!(
            "\"2024-03-05T07:25:{:02}.000+0000\",\"Mar  5 07:25:{:02} web kernel: {}\",web,main",
            l.second(),
            l.second(),
            l.text
        )
    }),
    ("Splunk, raw CSV", |l| {
        format!("\"{}\",\"2024-03-05T07:25:{:02}.000+0000\"", l.printk(), l.second())
    }),
    ("Kibana, CSV", |l| {
        format!("\"Mar 5, 2024 @ 07:25:{:02}.123\",web,\"{}\"", l.second(), l.text)
    }),
    ("Elasticsearch, JSON", |l| {
        format!(
            "{{\"@timestamp\":\"2024-03-05T07:25:{:02}.123Z\",\"host\":{{\"name\":\"web\"}},\"message\":{}}}",
            l.second(),
            serde_json::to_string(&l.printk()).unwrap()
        )
    }),
    ("logfmt", |l| {
        format!("time=\"2024-03-05T07:25:{:02}Z\" level=info msg={}", l.second(), l.json())
    }),
    ("aws logs tail", |l| {
        format!(
            "2024-03-05T07:25:{:02}.123000+00:00 i-0123456789abcdef0 {}",
            l.second(),
            l.printk()
        )
    }),
    ("aws logs tail of a syslog", |l| {
        format!(
            "2024-03-05T07:25:{:02}.123000+00:00 ip-192-0-2-7 Mar  5 07:25:{:02} ip-192-0-2-7 kernel: {}",
            l.second(),
            l.second(),
            l.text
        )
    }),
    ("CloudWatch, CSV", |l| format!("17096235{:02}123,\"{}\"", l.second(), l.printk())),
    ("CloudWatch, JSON", |l| {
        format!(
            "{{\"timestamp\":17096235{:02}123,\"message\":{},\"ingestionTime\":1709623599123}}",
            l.second(),
            serde_json::to_string(&l.printk()).unwrap()
        )
    }),
    ("Google Cloud, JSON", |l| {
        format!(
            "{{\"textPayload\":{},\"timestamp\":\"2024-03-05T07:25:{:02}Z\"}}",
            serde_json::to_string(&format!("{}\r\n", l.printk())).unwrap(),
            l.second()
        )
    }),
    ("Google Cloud, serial port", |l| {
        format!("Mar  5 07:25:{:02} web kernel: {}\r", l.second(), l.printk())
    }),
    ("fluentd", |l| {
        format!(
            "2024-03-05 07:25:{:02}.000000000 +0000 kernel.info: {{\"message\":{}}}",
            l.second(),
            serde_json::to_string(&l.printk()).unwrap()
        )
    }),
    // Android
    ("logcat -b kernel", |l| {
        let level = if l.level < 5 { 'W' } else { 'I' };
        let head = format!("03-05 07:25:{:02}.123     0     0 {level}", l.second());
        match l.text.split_once(": ").filter(|(tag, _)| tag.bytes().all(|b| b.is_ascii_lowercase()))
        {
            Some((tag, rest)) => format!("{head} {tag:<8}: {rest}"),
            None => format!("{head} {}", l.text),
        }
    }),
    ("logcat -v brief", |l| {
        let level = if l.level < 5 { 'W' } else { 'I' };
        match l.text.split_once(": ").filter(|(tag, _)| tag.bytes().all(|b| b.is_ascii_lowercase()))
        {
            Some((tag, rest)) => format!("{level}/{tag:<8}(    0): {rest}"),
            None => format!("{level}/        (    0): {}", l.text),
        }
    }),
    ("MediaTek", |l| format!("<{}>[{}]  (0)[0:swapper/0]{}", l.level, l.at(), l.text)),
    ("Samsung", |l| format!("<{}>[{}]  I[0:      swapper/0:    1] {}", l.level, l.at(), l.text)),
    // Search tools and editors
    ("grep -n", |l| format!("{}:{}", l.n, l.text)),
    ("grep -n with stamps", |l| format!("{}:{}", l.n, l.printk())),
    ("grep -H", |l| format!("/var/log/kern.log:{}", l.text)),
    ("grep -Hn", |l| format!("/var/log/dmesg.0:{}:{}", l.n, l.text)),
    ("grep -n of a kern.log", |l| {
        format!("{}:Mar  5 07:25:{:02} web kernel: {}", l.n, l.second(), l.text)
    }),
    ("grep -H of a kern.log", |l| {
        format!("/var/log/kern.log:Mar  5 07:25:{:02} web kernel: {}", l.second(), l.text)
    }),
    ("grep -nC", |l| format!("{}-{}", l.n, l.text)),
    ("grep -HnC", |l| format!("kern.log-{}-{}", l.n, l.text)),
    ("grep -HC of a kern.log", |l| {
        format!("/var/log/kern.log-Mar  5 07:25:{:02} web kernel: {}", l.second(), l.text)
    }),
    ("cat -n", |l| format!("{:6}\t{}", l.n, l.text)),
    ("less -N", |l| format!("{:7} {}", l.n, l.text)),
    ("numbers with a bar", |l| format!("{:3} | {}", l.n, l.printk())),
    ("numbers with a bar, no stamps", |l| format!("{:3} | {}", l.n, l.text)),
    // Patches, mails, trackers, chats
    ("added by a patch", |l| format!("+{}", l.printk())),
    ("added by a patch, no stamps", |l| format!("+{}", l.text)),
    ("commit message", |l| format!("    {}", l.text)),
    ("quoted mail", |l| format!("> {}", l.printk())),
    ("quoted twice", |l| format!(">> {}", l.text)),
    ("quoted by four", |l| format!(">>>>    [ {}] {}", l.at().trim(), l.text)),
    ("date without a T, and no host", |l| {
        format!("2024-03-05 07:25:{:02}.{:03} kernel: {}", l.second(), l.micros() / 1000, l.text)
    }),
    ("list of JSON, no stamps", |l| format!("        {},", l.json())),
    ("quoted with a name", |l| format!("JD> {}", l.text)),
    ("quoted with a bar", |l| format!("| {}", l.text)),
    ("ABRT", |l| format!(":{}", l.text)),
    ("Markdown, code", |l| format!("`{}`", l.text)),
    ("Markdown, list", |l| format!("- `{}`", l.text)),
    ("Markdown, numbers", |l| format!("{}. {}", l.n, l.printk())),
    ("Markdown, escaped", |l| {
        l.printk().replace('[', "\\[").replace(']', "\\]").replace('_', "\\_").replace('<', "\\<")
    }),
    ("Markdown, table", |l| format!("| {} | {} |", l.at(), l.text)),
    ("Markdown, table of messages", |l| format!("| {} | {} |", l.n, l.text)),
    ("JIRA, on a line", |l| format!("{{noformat}}{}{{noformat}}", l.text)),
    ("JIRA, monospace", |l| format!("{{{{{}}}}}", l.text)),
    ("BBCode", |l| format!("[code]{}[/code]", l.text)),
    ("BBCode with stamps", |l| format!("[CODE]{}[/CODE]", l.printk())),
    ("IRC", |l| format!("07:25 < alice> {}", l.printk())),
    ("IRC, no stamps", |l| format!("07:25:{:02} <alice> {}", l.second(), l.text)),
    ("tabs", |l| format!("[{}]\t{}", l.at(), l.text)),
    ("indented by tabs", |l| format!("\t\t{}", l.printk())),
    ("no-break spaces", |l| l.printk().replace(' ', "\u{a0}")),
    ("entities", |l| l.printk().replace('\'', "&#39;").replace('<', "&lt;")),
    ("typographic quotes", |l| l.printk().replace(" '", " \u{2018}").replace('\'', "\u{2019}")),
    ("serial console", |l| format!("{}\r\r", l.printk())),
];

/// Shapes of a whole text.
const TEXTS: &[(&str, fn(&[Line]) -> Vec<u8>)] = &[
    ("JIRA", |all| format!("{{noformat}}\n{}{{noformat}}\n", lines(all)).into()),
    ("JIRA, beside the first line", |all| format!("{{code:none}}{}{{code}}\n", lines(all)).into()),
    ("fence", |all| format!("Hello,\n```text\n{}```\nThanks\n", lines(all)).into()),
    ("fence in a quotation", |all| {
        each(all, |l| format!("> {}", l.printk())).replacen("> ", "> ```\n> ", 1).into()
    }),
    ("HTML", |all| {
        let text = lines(all).replace('&', "&amp;").replace('<', "&lt;");
        format!("<html><body><pre>{text}</pre></body></html>").into()
    }),
    ("HTML, numbered", |all| {
        let row = |l: &Line| {
            let text = l.printk().replace('<', "&lt;");
            format!("<tr><td class=\"n\">{}</td><td>{text}</td></tr>", l.n)
        };
        format!("<table>{}</table>", each(all, row)).into()
    }),
    ("Windows", |all| lines(all).replace('\n', "\r\n").into()),
    ("Macintosh", |all| lines(all).replace('\n', "\r").into()),
    ("byte order mark", |all| format!("\u{feff}{}", lines(all)).into()),
    ("UTF-16", |all| {
        let text = format!("\u{feff}{}", lines(all).replace('\n', "\r\n"));
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }),
    ("UTF-16 without a mark", |all| lines(all).encode_utf16().flat_map(u16::to_be_bytes).collect()),
    ("wrapped at 72", |all| each(all, |l| wrapped(&l.printk(), 72)).into()),
    ("wrapped at 72, quoted", |all| {
        each(all, |l| format!("> {}", wrapped(&l.printk(), 72).replace('\n', "\n> "))).into()
    }),
    ("mail in quoted-printable", |all| {
        // Soft line breaks at 76 columns (RFC 2045, section 6.7).
        let lines = each(all, |l| {
            format!("touko 05 07:25:{:02} web kernel: {}", l.second(), l.text).replace('=', "=3D")
        });
        let soft = |line: &str| {
            line.as_bytes().chunks(75).map(String::from_utf8_lossy).collect::<Vec<_>>().join("=\n")
        };
        lines.lines().map(|line| soft(line) + "\n").collect::<String>().into()
    }),
    ("wrapped by a terminal", |all| each(all, |l| broken(&l.printk(), 80)).into()),
    ("two lines for one", |all| lines(all).replace('\n', "\n\n").into()),
    ("journalctl -o export", |all| {
        each(all, |l| {
            format!(
                "__CURSOR=s=0;i={:x}\n_BOOT_ID=0\n_TRANSPORT=kernel\nSYSLOG_FACILITY=0\nPRIORITY={}\n_SOURCE_MONOTONIC_TIMESTAMP={}\nMESSAGE={}\n_HOSTNAME=web\n",
                l.n, l.level, l.us, l.text
            )
        })
        .into()
    }),
    ("journalctl -o verbose", |all| {
        each(all, |l| {
            format!(
                "Tue 2024-03-05 07:25:{:02}.{:06} UTC [s=0;i={:x};b=0;m=0;t=0;x=0]\n    PRIORITY={}\n    _TRANSPORT=kernel\n    SYSLOG_FACILITY=0\n    SYSLOG_IDENTIFIER=kernel\n    _SOURCE_MONOTONIC_TIMESTAMP={}\n    MESSAGE={}",
                l.second(), l.micros(), l.n, l.level, l.us, l.text
            )
        })
        .into()
    }),
    ("journalctl -o json-pretty", |all| {
        each(all, |l| {
            format!(
                "{{\n\t\"_TRANSPORT\" : \"kernel\",\n\t\"SYSLOG_FACILITY\" : \"0\",\n\t\"PRIORITY\" : \"{}\",\n\t\"MESSAGE\" : {},\n\t\"_SOURCE_MONOTONIC_TIMESTAMP\" : \"{}\"\n}}",
                l.level, l.json(), l.us
            )
        })
        .into()
    }),
    ("dmesg --json", |all| {
        let row = |l: &Line| {
            format!(
                "      {{\n         \"pri\": {},\n         \"time\": {},\n         \"msg\": {}\n      }}",
                l.level,
                l.at(),
                l.json()
            )
        };
        let rows: Vec<String> = all.iter().map(row).collect();
        format!("{{\n   \"dmesg\": [\n{}\n   ]\n}}\n", rows.join(",").replace(",      {", ",{"))
            .into()
    }),
    ("console output of EC2, JSON", |all| {
        let text = serde_json::to_string(&lines(all).replace('\n', "\r\n")).unwrap();
        format!("{{\n    \"InstanceId\": \"i-0123456789abcdef0\",\n    \"Output\": {text},\n    \"Timestamp\": \"2024-03-05T07:26:00+00:00\"\n}}\n").into()
    }),
    ("boot diagnostics of Azure, JSON", |all| {
        serde_json::to_string(&lines(all).replace('\n', "\r\n")).unwrap().into()
    }),
];

fn each(all: &[Line], shape: impl Fn(&Line) -> String) -> String {
    all.iter().fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "{}", shape(line));
        text
    })
}

fn lines(all: &[Line]) -> String {
    each(all, Line::printk)
}

/// As a mailer wraps: at blanks.
fn wrapped(line: &str, columns: usize) -> String {
    let (mut out, mut rest) = (String::new(), line);
    while rest.len() > columns {
        let Some(at) = rest[..columns].trim_end().rfind(' ').filter(|at| *at > 15) else { break };
        let _ = writeln!(out, "{}", rest[..at].trim_end());
        rest = rest[at..].trim_start();
    }
    out + rest
}

/// As a terminal wraps: inside words.
fn broken(line: &str, columns: usize) -> String {
    let parts: Vec<&str> =
        line.as_bytes().chunks(columns).map(|part| std::str::from_utf8(part).unwrap()).collect();
    parts.join("\n")
}

fn events(text: &[u8]) -> Vec<Event> {
    KernelLog::scan(text, "log").unwrap().entries.into_iter().map(|entry| entry.event).collect()
}

#[test]
fn whole_boot_in_each_shape_has_the_same_events() {
    let all = boot();
    let plain = events(lines(&all).as_bytes());
    assert_eq!(plain.len(), 19, "{plain:#?}");
    let mut failed = Vec::new();
    let shapes = SHAPES.iter().map(|(name, shape)| (*name, each(&all, shape).into_bytes()));
    for (name, text) in shapes.chain(TEXTS.iter().map(|(name, shape)| (*name, shape(&all)))) {
        let found = KernelLog::scan(&*text, "log").unwrap();
        let same = found.entries.iter().map(|entry| &entry.event).eq(&plain);
        if !same || found.boots != 1 || !found.looks_like_kernel {
            let text = String::from_utf8_lossy(&text);
            let differ = plain
                .iter()
                .filter(|event| !found.entries.iter().any(|e| e.event == **event))
                .count();
            failed.push(format!(
                "{name}: {} events ({differ} lacking), {} boots: {:.200}",
                found.entries.len(),
                found.boots,
                text
            ));
        }
    }
    assert!(
        failed.is_empty(),
        "{} of {}:\n{}",
        failed.len(),
        SHAPES.len() + TEXTS.len(),
        failed.join("\n")
    );
}

#[test]
fn single_line_in_each_shape_says_the_same() {
    let mut failed = Vec::new();
    for (name, shape) in SHAPES {
        let lacking: Vec<&str> = boot()
            .iter()
            .filter(|line| {
                let text = format!("{}\n", shape(line));
                events(text.as_bytes()) != events(format!("{}\n", line.printk()).as_bytes())
            })
            .map(|line| line.text)
            .collect();
        if !lacking.is_empty() {
            failed.push(format!("{name}: {} of {}: {:?}", lacking.len(), BOOT.len(), lacking[0]));
        }
    }
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), SHAPES.len(), failed.join("\n"));
}

/// Texts that are no log of the kernel, though some have its words: none has an event, and none looks like one.
const OTHERS: &[(&str, &str)] = &[
    ("prose", "I see that the kernel marks tsc as unstable.\nHow do I find out why?\n"),
    (
        "prose with a quotation",
        "The line \"tsc: Marking TSC unstable due to clocksource watchdog\" is what I see, at 07:25:40.\n",
    ),
    ("prose behind a time", "07:25 I saw: tsc: Marking TSC unstable due to clocksource watchdog\n"),
    ("chat", "[07:25:40] <alice> my clocksource is hpet, why is tsc not used?\n"),
    (
        "syslog of programs",
        "Mar  5 07:25:40 web tuned[12]: tsc: Marking TSC unstable due to clocksource watchdog\nMar  5 07:25:41 web chronyd[9]: System clock wrong by 1.2 seconds\n",
    ),
    (
        "syslog of programs, French",
        "mars 05 07:25:40 web tuned[12]: tsc: Marking TSC unstable due to clocksource watchdog\n",
    ),
    (
        "syslog of programs, full",
        "Tue 2024-03-05 07:25:40 CET web tuned[12]: tsc: Marking TSC unstable due to clocksource watchdog\n",
    ),
    (
        "syslog of programs, RFC 5424",
        "<30>1 2024-03-05T07:25:40Z web tuned 12 - - tsc: Marking TSC unstable due to clocksource watchdog\n",
    ),
    (
        "syslog of programs, by facility",
        "<13>tsc: Marking TSC unstable due to clocksource watchdog\n",
    ),
    (
        "search in a syslog of programs",
        "12:Mar  5 07:25:40 web tuned[12]: tsc: Marking TSC unstable due to clocksource watchdog\n",
    ),
    (
        "/dev/kmsg, written by a program",
        "12,101,9100000,-;tsc: Marking TSC unstable due to clocksource watchdog\n",
    ),
    (
        "JSON of programs",
        "{\"_TRANSPORT\":\"stdout\",\"MESSAGE\":\"tsc: Marking TSC unstable due to clocksource watchdog\"}\n",
    ),
    ("JSON", "{\"message\":\"I like the tsc\",\"user\":\"alice\"}\n"),
    (
        "export of programs",
        "__CURSOR=a\n_TRANSPORT=syslog\nMESSAGE=tsc: Marking TSC unstable due to clocksource watchdog\n",
    ),
    (
        "logcat of programs",
        "03-05 07:25:40.123  1234  1250 W tsc     : Marking TSC unstable due to clocksource watchdog\n",
    ),
    (
        "CSV of programs",
        "\"2024-03-05T07:25:40Z\",\"Mar  5 07:25:40 web tuned[12]: tsc: Marking TSC unstable due to clocksource watchdog\"\n",
    ),
    (
        "web server",
        "192.0.2.7 - - [05/Mar/2024:07:25:40 +0000] \"GET /tsc HTTP/1.1\" 200 612 \"-\" \"curl\"\n",
    ),
    (
        "FreeBSD",
        "CPU: Intel(R) Xeon(R) (2600.00-MHz K8-class CPU)\nTimecounter \"TSC-low\" frequency 1300000000 Hz quality 1000\nhpet0: <High Precision Event Timer> iomem 0xfed00000-0xfed003ff on acpi0\n",
    ),
    (
        "Xen",
        "(XEN) [    0.000000] Platform timer is 14.318MHz HPET\n(XEN) TSC marked as reliable, warp = 0\n",
    ),
    (
        "source of the kernel",
        "\tpr_info(\"Marking TSC unstable due to %s\\n\", reason);\n\t\t\"TSC found unstable after boot, most likely due to broken BIOS. Use 'tsc=unstable'.\\n\"\n",
    ),
    (
        "table of numbers",
        "time,offset,clocksource\n1709623540.1,0.0001,tsc\n1709623541.1,0.0002,tsc\n",
    ),
    ("configuration", "[clock]\nclocksource = tsc\n# tsc: fast\n"),
    (
        "log of a daemon",
        "2024-03-05 07:25:40,123 INFO clock: reading tsc\n2024-03-05 07:25:41,123 WARN clock: clocksource hpet is slow\n",
    ),
];

#[test]
fn text_that_is_no_log_of_the_kernel_has_no_event() {
    let mut failed = Vec::new();
    for (name, text) in OTHERS {
        let log = KernelLog::scan(text.as_bytes(), "log").unwrap();
        if !log.entries.is_empty() || log.looks_like_kernel {
            failed.push(format!("{name}: looks {}: {:?}", log.looks_like_kernel, log.entries));
        }
    }
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), OTHERS.len(), failed.join("\n"));
}

#[test]
fn line_without_a_header_among_those_with_one_is_a_programs() {
    let kernel = "Mar 05 07:25:40 kernel: tsc: Detected 2599.998 MHz processor\n";
    let program = "Mar 05 07:25:49 tsc: Marking TSC unstable due to clocksource watchdog\n";
    assert_eq!(events(format!("{kernel}{program}").as_bytes()).len(), 1);
}
