//! `why FILE` with text that people paste: profiles, traces, benchmarks, warnings of servers, shell transcripts. The
//! figures are those of real machines, the words are not.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A text, and the required parts of the output. A verdict in the second place is one that would mislead.
struct Case {
    name: &'static str,
    verdict: &'static str,
    current: Option<&'static str>,
    /// Words of the text that is printed.
    says: &'static [&'static str],
}

const fn case(
    name: &'static str,
    verdict: &'static str,
    current: Option<&'static str>,
    says: &'static [&'static str],
) -> Case {
    Case { name, verdict, current, says }
}

const CASES: &[Case] = &[
    case(
        "virtualbox-guest-on-acpi_pm",
        "slow",
        Some("acpi_pm"),
        &[
            "38 % of the time is spent in acpi_pm_read",
            "not synchronised",
            "2 machines",
            "other, lines",
            "tsc-warp",
            "perf report",
        ],
    ),
    case(
        "virtualbox-guest-after-tsc-reliable",
        "slow",
        Some("tsc"),
        &["32-bit kernel", "45 % of the time is spent in read_tsc", "cmdline-tsc-reliable"],
    ),
    // Faults come before healthy states.
    case(
        "two-hosts-one-without-its-choice",
        "unknown",
        None,
        &["2 machines", "web2 (lines ", "warp", "web1, lines 1-10"],
    ),
    case("ec2-xen-list", "unknown", Some("xen"), &["xen", "the first one in the list"]),
    case("coarse-clocks-under-virtualbox", "slow", Some("tsc"), &["1490 ns", "trapped TSC"]),
    case(
        "kvm-guest-without-invariant-tsc",
        "unknown",
        Some("kvm-clock"),
        &["tsc-halts-in-idle", "no invariant TSC", "+invtsc"],
    ),
    case(
        "kvm-guest-by-its-clocksource",
        "unknown",
        Some("kvm-clock"),
        &["tsc-halts-in-idle", "+invtsc", "in a guest the remedy is"],
    ),
    case(
        "kvm-clock-against-tsc",
        "ok",
        None,
        &["21.6 ns", "27.0 ns a read, with kvm-clock in use"],
    ),
    case("threads-on-hpet", "slow", Some("hpet"), &["717 ns", "a program chose it"]),
    case(
        "perf-report-children-kvm-clock",
        "unknown",
        Some("kvm-clock"),
        &[
            "13 % of the time is spent in kvm_clock_get_cycles",
            "System calls that read a clock take 16 %",
        ],
    ),
    case(
        "perf-top-system-call-entry",
        "unknown",
        None,
        &["5.9 % of the samples are in pvclock_clocksource_read"],
    ),
    case(
        "perf-report-delay-accounting",
        "slow",
        Some("acpi_pm"),
        &["The kernel read it for itself", "__delayacct_blkio_start (delay accounting)"],
    ),
    case("folded-idle-read_hpet", "slow", Some("hpet"), &["in tick_nohz_idle_enter (the tick)"]),
    case(
        "perf-tui-hpet-alone",
        "slow",
        Some("hpet"),
        &["7.3 % of the time is spent in read_hpet", "whether programs read it"],
    ),
    case("vdsotest-before-5.3", "ok", None, &["18.0 ns", "system calls on every clocksource"]),
    case("numbered-sysfs", "slow", Some("hpet"), &["tsc hpet acpi_pm"]),
    case("output-in-comments", "unknown", Some("arch_sys_counter"), &[]),
    case(
        "clickhouse-fast-names",
        "unknown",
        None,
        &["none of tsc, kvm-clock and arch_sys_counter"],
    ),
    case("strace-excerpt-and-count", "unknown", None, &["156119 calls of gettimeofday"]),
    case("clockperf-all-calls", "unknown", None, &["555", "a coarse clock reads no counter"]),
    case("perf-report-hpet", "slow", Some("hpet"), &["31 % of the time is spent in read_hpet"]),
    case(
        "folded-java-read_hpet",
        "slow",
        Some("hpet"),
        &["41 % of the time is spent in read_hpet", "folded stacks"],
    ),
    case(
        "flame-graph-acpi_pm",
        "slow",
        Some("acpi_pm"),
        &["37 % of the time is spent in acpi_pm_read"],
    ),
    case("async-profiler-flat", "slow", Some("hpet"), &["31 % of the time is spent in read_hpet"]),
    case("go-pprof", "unknown", None, &["time.Now takes 43 %", "no kernel functions"]),
    case(
        "perf-script-kvm-clock",
        "unknown",
        Some("kvm-clock"),
        &["67 %", "the vDSO did not serve"],
    ),
    case("strace-count-qubes", "unknown", Some("xen"), &["75000 calls", "choose tsc"]),
    case("strace-monotonic", "unknown", None, &["3 calls of clock_gettime", "linked statically"]),
    case(
        "strace-cpu-time",
        "unknown",
        None,
        &["CLOCK_PROCESS_CPUTIME_ID, which is a system call on every machine"],
    ),
    case(
        "pg_test_timing-slow",
        "unknown",
        None,
        &["1212 ns", "reads bypass the vDSO, or the machine is busy"],
    ),
    case("pg_test_timing-fast", "ok", None, &["36.0 ns"]),
    case("pg_test_timing-19", "unknown", None, &["820 ns", "24.1 ns"]),
    case(
        "redis-start",
        "unknown",
        Some("xen"),
        &["On a busy machine the warning may be false", "choose tsc"],
    ),
    case("valkey-check-system", "ok", None, &["stay in user space"]),
    case(
        "clickhouse-kvm-clock",
        "unknown",
        Some("kvm-clock"),
        &["its reads are fast on most hosts"],
    ),
    case("seastar-list-over-lines", "slow", Some("hpet"), &["tsc hpet acpi_pm", "choose tsc"]),
    case("head-of-both", "slow", Some("hpet"), &["hpet acpi_pm"]),
    case("grep-r", "slow", Some("acpi_pm"), &["nothing better is registered"]),
    case("neon-hpet", "slow", Some("hpet"), &["hpet acpi_pm", "5.15.0-1011-generic"]),
    case("below-bpftrace", "slow", Some("hpet"), &["17000 calls"]),
    case("ec2-xen-510", "unknown", Some("xen"), &["stable bit", "choose tsc"]),
    case("vdsotest-falls-back", "slow", None, &["as much as by a system call"]),
    case("clockperf-table", "ok", None, &["21.5 ns"]),
    case("node-exporter", "slow", Some("hpet"), &["sysfs"]),
    case("profile-against-sysfs", "unknown", Some("tsc"), &["contradicts itself"]),
    case("libvirt-domain", "unknown", None, &["clocksmith vm lint"]),
    case("watchdog-reads-only", "unknown", None, &["ktime_get"]),
    case(
        "chrony-sources-silent",
        "unknown",
        None,
        &[
            "wall-clock-unsynchronised",
            "none of the 2 sources of chronyd answers",
            "chronyc tracking",
            "Wall clock",
        ],
    ),
    case(
        "timedatectl-after-host-slept",
        "unknown",
        None,
        &["wall-clock-stale-after-restore (likely)", "23 min behind", "RTC"],
    ),
    case(
        "firecracker-restored",
        "ok",
        Some("tsc"),
        &["wall-clock-stale-after-restore (possible)", "virtual machine fork", "date -u"],
    ),
    case("ntpq-fine", "ok", Some("tsc"), &["ntpq -p", "tsc"]),
    case(
        "chrony-own-clock",
        "unknown",
        None,
        &["its reference is its own clock", "is not in this evidence"],
    ),
    case("phc2sys-set-to-1970", "unknown", None, &["55.0 years", "never set", "wall clock is not"]),
    case(
        "phc2sys-holds",
        "unknown",
        None,
        &["holds the wall clock at a PTP clock's time", "counts from 1970", "phc_ctl"],
    ),
    case("ts2phc-expired", "unknown", None, &["leap-seconds.list", "does not steer", "ts2phc"]),
    case(
        "skewed-upload",
        "unknown",
        None,
        &["it is about the wall clock", "long upload", "small requests succeed"],
    ),
    case("ptp4l-jumps", "unknown", None, &["relative to CLOCK_MONOTONIC", "ptp4l found"]),
    case("ltrace-count", "unknown", None, &["ltrace counts calls of the C library"]),
    case(
        "strace-calls-refused",
        "unknown",
        None,
        &["Each of the 200 traced calls of clock_gettime failed"],
    ),
    case(
        "timesyncd-not-in-guests",
        "unknown",
        None,
        &["excludes virtual machines", "does not run"],
    ),
    case(
        "python-timeit-slow",
        "unknown",
        None,
        &["1270 ns", "reads bypass the vDSO, or the machine is busy"],
    ),
    case(
        "node-exporter-unsynchronised",
        "unknown",
        None,
        &["wall-clock-unsynchronised", "maxerror 16000000 us"],
    ),
    case("hwclock-without-tick", "ok", Some("tsc"), &["--directisa"]),
    // The mean of a row and not its error, of the call that the row names.
    case("jmh-nanotime", "ok", None, &["18.4 ns a read of nanoTime"]),
    case(
        "tcpdump-without-answer",
        "unknown",
        None,
        &["3 requests to time servers", "no answer came in", "wall clock is not synchronised"],
    ),
    case("tcpdump-answered", "unknown", None, &["UDP port 123 is open"]),
    case("ntptime-unsynchronised", "unknown", None, &["wall-clock-unsynchronised"]),
    case("openntpd-unsynchronised", "unknown", None, &["wall-clock-unsynchronised", "ntpd"]),
    case("rtc-without-time", "unknown", None, &["no valid time", "hwclock --systohc"]),
    case("ptp4l-without-stamps", "unknown", None, &["tx_timestamp_timeout is too short"]),
    case("ptp4l-slave", "unknown", None, &["ptp4l follows a master", "phc2sys shows"]),
    case("ntpdate-slews", "unknown", None, &["194 ms behind", "slews it"]),
    case("timedatectl-in-one-line", "unknown", None, &["wall-clock-unsynchronised"]),
    case(
        "two-hosts-one-without-time",
        "unknown",
        None,
        &["2 machines", "rack-2 (lines 6-11): This"],
    ),
    case(
        "ansible-answers",
        "slow",
        Some("hpet"),
        &["2 machines", "db2 (lines 4-6)", "db1, lines 2-3"],
    ),
    case(
        "perf-tree-vdso-falls-back",
        "unknown",
        None,
        &["continues into the kernel by a system call", "the vDSO does not serve the read"],
    ),
    case("apt-not-valid-yet", "unknown", None, &["3.2 days", "behind by at least that much"]),
    case(
        "s3-request-ahead",
        "unknown",
        None,
        &["ahead of that of the service", "another time zone"],
    ),
    case(
        "elasticsearch-clock-back",
        "unknown",
        None,
        &["Elasticsearch saw the wall clock go back"],
    ),
    case("dates-of-two-prompts", "unknown", None, &["inside docker is 38 min behind"]),
    case("ntpd-asks-in-vain", "unknown", None, &["asked servers of a pool 7 times"]),
    case("vmware-tools-steer", "unknown", None, &["to the host's again and again"]),
    case("dmesg-of-several-boots", "unknown", None, &["lines of several boots", "7117 ppm apart"]),
    case("phc2sys-waits", "unknown", None, &["waits for ptp4l and steers nothing"]),
    case(
        "perf-top-tsc-by-kernel",
        "ok",
        Some("tsc"),
        &["27 % of the time is spent in read_tsc", "so often"],
    ),
];

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/pasted")
        .join(format!("{name}.txt"))
}

fn why(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_clocksmith")).arg("why").args(args).output().unwrap()
}

fn shown(out: &Output) -> String {
    String::from_utf8(out.stdout.clone()).unwrap()
}

#[test]
fn pasted_texts_lead_to_their_answers() {
    let mut wrong = Vec::new();
    for case in CASES {
        let file = path(case.name);
        let file = file.to_str().unwrap();
        let json: serde_json::Value =
            serde_json::from_slice(&why(&[file, "--json"]).stdout).unwrap();
        let text = shown(&why(&[file]));
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if json["verdict"] != case.verdict {
            wrong.push(format!("{}: verdict {}: {}", case.name, json["verdict"], json["headline"]));
        }
        if json["clocksource"]["current"].as_str() != case.current {
            wrong.push(format!("{}: in use {}", case.name, json["clocksource"]["current"]));
        }
        for words in case.says {
            if !flat.contains(words) {
                wrong.push(format!("{}: {words:?} is not in:\n{text}", case.name));
            }
        }
        for line in text.lines() {
            // Commands are for copying, and never wrapped.
            let whole = line.starts_with("       ") || line.contains("settled by: ");
            if line.chars().count() > 80 && !whole {
                wrong.push(format!("{}: wider than 80: {line}", case.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every text has its line in the table.
#[test]
fn pasted_texts_are_all_tested() {
    for entry in fs::read_dir(path("x").parent().unwrap()).unwrap() {
        let name = entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned();
        assert!(CASES.iter().any(|case| case.name == name), "{name}");
    }
}

#[test]
fn why_file_and_standard_input_and_log_are_the_same() {
    let file = path("perf-report-hpet");
    let file = file.to_str().unwrap();
    let by_file = why(&[file, "--json"]);
    assert_eq!(by_file.status.code(), Some(0));
    assert_eq!(by_file.stdout, why(&["--log", file, "--json"]).stdout);
    let mut child = Command::new(env!("CARGO_BIN_EXE_clocksmith"))
        .args(["why", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&fs::read(file).unwrap()).unwrap();
    let piped = child.wait_with_output().unwrap();
    let piped: serde_json::Value = serde_json::from_slice(&piped.stdout).unwrap();
    assert_eq!(piped["clocksource"]["current"], "hpet");
    assert_eq!(piped["symptoms"][0]["source"], "stdin:4");
    let both = why(&[file, "--log", file]);
    assert_eq!(both.status.code(), Some(2), "{}", String::from_utf8_lossy(&both.stderr));
}

#[test]
fn text_without_anything_known_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("letter.txt");
    fs::write(&file, "Dear reader,\nthe clock on the wall is slow.\n").unwrap();
    let out = why(&[file.to_str().unwrap()]);
    assert_eq!(out.status.code(), Some(2));
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(said.contains("no line that looks like a Linux kernel message"), "{said}");
}
