//! The readers of pasted texts accept any text, in bounded time and memory.
#![allow(clippy::unwrap_used)]

use clocksmith_facts::Facts;
use clocksmith_facts::log::KernelLog;
use clocksmith_facts::paste::{self, Pasted};
use proptest::prelude::*;

/// Words and lines at which readers begin.
const PIECES: &[&str] = &[
    "38.17%  [kernel]  [k] acpi_pm_read\n",
    "  31.40%  fdb  [kernel.kallsyms]  [k] read_hpet\n",
    "main;clock_gettime;read_hpet 12\n",
    "% time     seconds  usecs/call     calls    errors syscall\n",
    " 91.20    0.812345          10     75000           clock_gettime\n",
    "clock_gettime(CLOCK_MONOTONIC, {1, 2}) = 0 <0.000012>\n",
    "Per loop time including overhead: 35.96 ns\n",
    "Slow system clocksource detected. Current clocksource: xen. Available clocksources: xen tsc.\n",
    "Linux web 5.10.0 #1 SMP x86_64 GNU/Linux\n",
    "root@web:~# cat /sys/devices/system/clocksource/clocksource0/current_clocksource\n",
    "root@db:~# cat {current,available}_clocksource\n",
    "==> /sys/devices/system/clocksource/clocksource0/available_clocksource <==\n",
    "tsc hpet acpi_pm\n",
    "tsc\n",
    "real 0m1.0s\nuser 0m1.0s\nsys 0m0.0s\n",
    "for (i=0; i<5000000; i++) clock_gettime(CLOCK_MONOTONIC, &t);\n",
    "status: 64\nmaxerror: 16000000\n",
    "ffffffff8105e7c9 read_hpet+0x9 ([kernel])\n",
    "<domain type='kvm'>\n",
    "> ",
    "\n",
    "[    0.1] tsc: x\n",
    "%",
    "ns per call",
];

fn read(text: &str) -> (Vec<String>, Pasted) {
    let lines = paste::lines(text.as_bytes(), "x").unwrap_or_default();
    let pasted = Pasted::read(&lines, "x");
    (lines, pasted)
}

proptest! {
    #[test]
    fn any_text_is_read_and_each_line_counts_once(
        parts in proptest::collection::vec((0..PIECES.len(), "\\PC{0,20}"), 0..60),
    ) {
        let text: String =
            parts.iter().map(|(piece, filler)| format!("{}{filler}", PIECES[*piece])).collect();
        let (lines, pasted) = read(&text);
        let counted = pasted.recognised();
        prop_assert!(counted.kernel_lines + counted.unread <= lines.len() as u64);
        let sections = paste::sections(&lines);
        // Each line belongs to one section.
        let mut owned: Vec<(usize, usize)> = sections.iter().flat_map(|one| one.lines.clone()).collect();
        owned.sort_unstable();
        prop_assert!(owned.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{owned:?}");
        let total: usize = owned.iter().map(|(from, to)| to - from).sum();
        prop_assert_eq!(total, if lines.is_empty() { 0 } else { lines.len() });
        let log = KernelLog::scan(text.as_bytes(), "x");
        if let Ok(log) = log {
            let mut facts = Facts::from_log(log);
            pasted.complete(&mut facts);
        }
    }

    #[test]
    fn any_bytes_are_survived(bytes: Vec<u8>) {
        if let Ok(lines) = paste::lines(&bytes, "x") {
            let _ = Pasted::read(&lines, "x");
            let _ = paste::sections(&lines);
        }
    }
}

/// Each reader at each line of a long text: the work grows with the text, not with its square.
/// Seconds that this thread has had.
fn processor_time() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// Asserts that the second time is less than so many times the first. A machine that was busy for a moment gets another
/// chance.
fn grows_by_less(what: &str, times: f64, took: impl Fn() -> (f64, f64)) {
    let mut seen = Vec::new();
    let good = (0..3).any(|_| {
        let (short, long) = took();
        seen.push((short, long));
        long < short * times
    });
    assert!(good, "{what:?} took {seen:?}");
}

#[test]
fn long_texts_are_read_in_time_that_grows_with_them() {
    let took = |text: &str| {
        // Only of this thread, whatever else runs.
        let began = processor_time();
        let (lines, pasted) = read(text);
        let mut facts = Facts::empty(clocksmith_facts::Origin::Stated);
        pasted.complete(&mut facts);
        assert!(facts.symptoms.len() <= 64);
        let _ = paste::sections(&lines);
        processor_time() - began
    };
    for piece in PIECES {
        let (short, long) = (piece.repeat(50), piece.repeat(800));
        // Sixteen times the text: a square takes 256 times as long.
        grows_by_less(piece, 120.0, || (took(&short), took(&long)));
    }
}

#[test]
fn texts_of_ever_new_names_are_read_in_time_that_grows_with_them() {
    const KINDS: [fn(usize) -> String; 4] = [
        |n| format!("db{n} | CHANGED | rc=0 >>\nhpet\n"),
        |n| format!("[{n}] 01:00:00 [SUCCESS] db{n}\nhpet\n"),
        |n| {
            format!(
                "Nov 27 12:00:00 db{n} kernel: [    1.0] clocksource: Switched to clocksource hpet\n"
            )
        },
        |n| format!("## On kernel 6.{n}:\ncurrent_clocksource: hpet\n"),
    ];
    let took = |kind: fn(usize) -> String, count: usize| {
        let lines: Vec<String> =
            (0..count).map(kind).collect::<String>().lines().map(str::to_owned).collect();
        let began = processor_time();
        let _ = (paste::headed(&lines), paste::hosts(&lines), paste::mixed(&lines));
        processor_time() - began
    };
    for kind in KINDS {
        // 24 times the text: a square takes 576 times as long.
        grows_by_less(&kind(0), 150.0, || (took(kind, 200), took(kind, 4_800)));
    }
}

#[test]
fn time_daemons_are_read_in_a_text() {
    let text = "root@db:~# timedatectl\n           Universal time: Mon 2026-03-01 00:00:05 UTC\n                 RTC time: Sat 2026-02-28 23:59:03\n\
                root@db:~# timedatectl timesync-status\n       Server: 192.0.2.1 (ntp.example)\nPoll interval: 1min 4s (min: 32s; max 34min 8s)\n\
                Packet count: 3\n       Offset: -22.5s\n";
    let mut facts = Facts::empty(clocksmith_facts::Origin::Log("x".to_owned()));
    let (_, pasted) = read(text);
    assert_eq!(pasted.recognised().kinds, ["timedatectl", "timedatectl timesync-status"]);
    pasted.complete(&mut facts);
    assert_eq!(facts.wall.shown_rtc_ahead_s.value(), Some(&-62));
    let source = facts.wall.source.value().unwrap();
    assert_eq!(
        (source.daemon, source.follows, source.ahead_s),
        ("systemd-timesyncd", Some(true), Some(22.5))
    );
}

/// A board whose clocksource has a name that no list has; files in the order in which a shell gives them.
#[test]
fn files_of_sysfs_by_a_pattern_show_clocksources_of_boards() {
    let of = |text: &str| {
        let mut facts = Facts::empty(clocksmith_facts::Origin::Log("x".to_owned()));
        read(text).1.complete(&mut facts);
        let list = facts.available_clocksources().map(<[String]>::to_vec).unwrap_or_default();
        (facts.current_clocksource().value().copied().map(str::to_owned), list)
    };
    let dir = "/sys/devices/system/clocksource/clocksource0";
    for (text, current, list) in [
        (
            format!(
                "root@board:~# cat {dir}/*\nvendor-ost \nvendor-ost\ncat: {dir}/power: Is a directory\n"
            ),
            "vendor-ost",
            1,
        ),
        (format!("# cat {dir}/*_clocksource\nvendor-ost jiffies \nvendor-ost\n"), "vendor-ost", 2),
        (
            format!(
                "$ cat {dir}/current_clocksource {dir}/available_clocksource\ntimer@f800\ntimer@f800 jiffies\n"
            ),
            "timer@f800",
            2,
        ),
        (format!("$ cat {dir}/*\nhpet acpi_pm \nacpi_pm\n"), "acpi_pm", 2),
    ] {
        let (found, names) = of(&text);
        assert_eq!((found.as_deref(), names.len()), (Some(current), list), "{text}");
    }
    // Words of something else, and two lines that do not fit together.
    for text in [
        format!("root@board:~# cat {dir}/*\nno such file\nno such file\n"),
        format!("root@board:~# cat {dir}/*\nvendor-ost jiffies\nother\n"),
        format!("I read {dir}/* and saw\nnothing \nnothing\n"),
    ] {
        assert_eq!(of(&text), (None, Vec::new()), "{text}");
    }
}

/// A line that looks like a field of a tool's output need not be one: a kernel, a form or a sentence may have it.
#[test]
fn single_fields_are_not_the_output_of_a_tool() {
    for text in [
        "PM: RTC time: 12:02:42, date: 2024-03-01\n",
        "RTC time: 12:02:42, date: 03/01/24\n",
        "Model: Board X3, revision B\n",
        "Architecture: arm64\n",
        "Manufacturer: Acme\n",
        "Model: Acme R12 v2\nArchitecture: Atheros QCA\n",
        "Package: clock\nArchitecture: amd64\nModel: none\n",
        "flags: 0x17ffffc0000200(slab|head)\n",
        "Time zone: we are in Europe\n",
        "bogomips : the figure of the delay loop\n",
        "Poll interval: 30\n",
        "A table of Virtualization: kvm\n",
    ] {
        let (_, pasted) = read(text);
        assert!(pasted.recognised().kinds.is_empty(), "{text} {:?}", pasted.recognised().kinds);
    }
    for (text, kind) in [
        ("$ lscpu | grep Model\nModel:  85\n", "lscpu"),
        ("Architecture:  x86_64\nCPU(s):  8\nModel:  85\n", "lscpu"),
        ("model name\t: Acme CPU 3000\n", "/proc/cpuinfo"),
        ("bogomips : 4800.00\nstepping : 4\n", "/proc/cpuinfo"),
        ("System clock synchronized: no\n", "timedatectl"),
        (
            "      Local time: Mon 2024-03-04 10:00:00 CET\n        RTC time: Mon 2024-03-04 09:00:00\n",
            "timedatectl",
        ),
        ("System Information\n\tManufacturer: QEMU\n", "dmidecode"),
        (
            "Server: 192.0.2.1 (pool)\nPoll interval: 34min 8s\nPacket count: 5\n",
            "timedatectl timesync-status",
        ),
        ("^* 192.0.2.1   2   6   377    34    -12us[  -16us] +/-   14ms\n", "chronyc sources"),
        ("*192.0.2.1  .GPS.  1 u   34   64  377   12.300   -0.123   0.045\n", "ntpq -p"),
    ] {
        let (_, pasted) = read(text);
        assert_eq!(pasted.recognised().kinds, [kind], "{text}");
    }
}

#[test]
fn content_to_write_is_not_a_reading() {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    for text in [
        format!("[hyperv_clock]\nfile = hyperv_clock.flat\ncheck = {path}=tsc\n"),
        format!("+check = {path}=tsc\n"),
        format!("{} = tsc\n", path.trim_start_matches("/sys/")),
        format!("[sysfs]\n{path}=tsc\n"),
        format!("Expected value of {path}: tsc\n"),
    ] {
        let mut facts = Facts::from_log(KernelLog::scan(text.as_bytes(), "x").unwrap());
        read(&text).1.complete(&mut facts);
        assert!(!facts.clocksources.is_known(), "{text}");
    }
    for text in [format!("{path}:tsc\n"), format!("==> {path} <==\ntsc\n")] {
        let mut facts = Facts::from_log(KernelLog::scan(text.as_bytes(), "x").unwrap());
        read(&text).1.complete(&mut facts);
        assert_eq!(facts.current_clocksource().value().copied(), Some("tsc"), "{text}");
    }
}

#[test]
fn remark_behind_an_arrow_is_not_a_part_of_the_message() {
    let switched = |text: &str| {
        let log = KernelLog::scan(text.as_bytes(), "x").unwrap();
        log.last(|event| match event {
            clocksmith_facts::log::Event::Switched(name) => Some(name.clone()),
            _ => None,
        })
        .map(|(_, name)| name)
    };
    let line = "[    0.166178] clocksource: Switched to clocksource riscv_clocksource";
    for remark in ["", " \u{2190} F1: the timer works", " <- here", "   <== the last one"] {
        let name = switched(&format!("{line}{remark}\n"));
        assert_eq!(name.as_deref(), Some("riscv_clocksource"), "{remark}");
    }
    assert_eq!(switched(&format!("{line} is what they say\n")), None);
}

#[test]
fn page_of_a_manual_shows_no_output_of_a_machine() {
    let output = "% time     seconds  usecs/call     calls    errors syscall\n\
                  ------ ----------- ----------- --------- --------- ----------------\n\
                  98.10    0.500000           5    100000           clock_gettime\n\
                  ------ ----------- ----------- --------- --------- ----------------\n\
                  100.00    0.500000                100000           total\n";
    let page = |heads: [&str; 2]| {
        format!(
            "{}\n  trace - trace calls\n\n{}\n  trace [-c] command\n\n{output}",
            heads[0], heads[1]
        )
    };
    for text in [page(["NAME", "SYNOPSIS"]), page([".SH NAME", ".SH \"SYNOPSIS\""])] {
        assert!(read(&text).1.is_empty(), "{text}");
    }
    assert!(!read(&page(["Name", "Output"])).1.is_empty());
}

#[test]
fn what_a_test_quotes_of_a_time_daemon_is_of_no_machine() {
    let tracking = "Reference ID    : C0000201 (192.0.2.1)\nLeap status     : Normal\n";
    let kernel = "[    0.000000] Linux version 6.1.0-28-amd64 (a@b)\n";
    let synchronised = |text: &str| {
        let mut log = KernelLog::scan(text.as_bytes(), "x").unwrap();
        let pasted = read(text).1;
        pasted.take_over(&mut log);
        let mut facts = Facts::from_log(log);
        pasted.complete(&mut facts);
        facts.ntp.value().map(|state| state.synchronized)
    };
    assert_eq!(synchronised(&format!("{kernel}$ chronyc tracking\n{tracking}")), Some(true));
    for kernel in [kernel, ""] {
        assert_eq!(synchronised(&format!("{kernel}{tracking}")), Some(true));
        assert_eq!(synchronised(&format!("{kernel}GOOD = \"\"\"{tracking}\"\"\"\n")), None);
    }
}
