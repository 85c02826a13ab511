//! The outputs of profilers, traces and benchmarks: what they prove, and what they do not.

use crate::common::pasted;
use clocksmith_diagnose::{Report, Verdict};

fn advises_cheaper_reads(report: &Report) -> bool {
    report
        .remedies
        .iter()
        .any(|remedy| remedy.id == "cheaper-reads" && remedy.refused_because.is_none())
}

fn proves(report: &Report) -> String {
    report.symptoms.iter().map(|one| format!("{} {}\n", one.proves, one.leaves_open)).collect()
}

#[test]
fn reads_of_the_kernel_for_itself_advise_no_program() {
    let kernel = "swapper;do_idle;tick_nohz_idle_enter;ktime_get;read_hpet 440\njava;run 300\n";
    let open = "  25.00%  sched  [kernel.kallsyms]  [k] read_hpet\n   2.00%  sched  [kernel.kallsyms]  [k] pipe_write\n";
    for text in [kernel, open] {
        let report = pasted(text);
        assert_eq!(report.verdict, Verdict::Slow, "{text}");
        assert!(!advises_cheaper_reads(&report), "{text}");
        assert!(!proves(&report).contains("programs read it by system call"), "{text}");
    }
    let program = "java;clock_gettime;do_syscall_64;__x64_sys_clock_gettime;ktime_get_ts64;read_hpet 440\njava;run 300\n";
    let row = format!("{open}   8.00%  sched  [kernel.kallsyms]  [k] __x64_sys_clock_gettime\n");
    for text in [program, &row] {
        let report = pasted(text);
        assert!(advises_cheaper_reads(&report), "{text}");
        assert!(proves(&report).contains("programs read it by system call"), "{text}");
    }
}

const FAST: &str = "clock-gettime-monotonic: syscall: 487 nsec/call\nclock-gettime-monotonic:    vdso: 18 nsec/call\n";
const RAW: &str = "clock-gettime-monotonic-raw: syscall: 504 nsec/call\nclock-gettime-monotonic-raw:    vdso: 649 nsec/call\n";

fn uname(release: &str) -> String {
    format!("$ uname -a\nLinux web {release} #1 SMP x86_64 GNU/Linux\n")
}

#[test]
fn raw_clock_by_system_call_does_not_blame_the_clocksource_where_monotonic_is_fast() {
    for text in [
        format!("{RAW}{FAST}"),
        format!("{}{RAW}{FAST}", uname("5.1.4")),
        format!("{}{RAW}{FAST}", uname("6.1.0")),
    ] {
        let report = pasted(&text);
        assert_eq!(report.verdict, Verdict::Ok, "{text}");
        assert!(report.headline.contains("18.0 ns"), "{}", report.headline);
        assert!(!proves(&report).contains("has no path in the vDSO"), "{}", proves(&report));
    }
}

#[test]
fn raw_clock_alone_is_judged_by_the_version_of_the_kernel() {
    let older = pasted(&format!("{}{RAW}", uname("5.1.4")));
    assert_eq!(older.verdict, Verdict::Unknown);
    assert!(older.headline.contains("whatever the clocksource is"), "{}", older.headline);
    let open = pasted(RAW);
    assert_eq!(open.verdict, Verdict::Unknown);
    assert!(proves(&open).contains("or the kernel's version"), "{}", proves(&open));
    let newer = pasted(&format!("{}{RAW}", uname("6.1.0")));
    assert!(proves(&newer).contains("can serve the clock"), "{}", proves(&newer));
    let traced = "clock_gettime(CLOCK_MONOTONIC_RAW, {1, 2}) = 0\nclock_gettime(CLOCK_MONOTONIC_RAW, {1, 3}) = 0\n";
    let traced = pasted(&format!("{}{traced}", uname("5.1.4")));
    assert!(proves(&traced).contains("nothing about the clocksource"), "{}", proves(&traced));
}

#[test]
fn coarse_clock_by_system_call_shows_that_all_reads_are() {
    let table = |coarse: &str| {
        format!("Name   Cost(ns)\ngettimeofday 555.0 1%\nmonotonic_crs {coarse} 1%\n")
    };
    assert!(proves(&pasted(&table("685.0"))).contains("a coarse clock reads no counter"));
    assert!(!proves(&pasted(&table("6.0"))).contains("coarse"));
}

#[test]
fn trace_with_more_calls_leads() {
    let line = "gettimeofday({1285245989, 961067}, NULL) = 0\n";
    let table = "% time     seconds  usecs/call     calls    errors syscall\n100.00    0.003379           0    156119           gettimeofday\n";
    for text in [format!("{line}{table}"), format!("{table}\n\nwords\n{line}")] {
        assert!(pasted(&text).headline.contains("156119 calls"), "{}", pasted(&text).headline);
    }
}

#[test]
fn measurement_below_a_write_names_what_was_chosen() {
    let text = "# echo acpi_pm > /sys/devices/system/clocksource/clocksource0/current_clocksource\n# pg_test_timing\nPer loop time including overhead: 723.0 ns\n";
    let report = pasted(text);
    assert!(
        report.headline.contains("acpi_pm was chosen for the measurement"),
        "{}",
        report.headline
    );
}

#[test]
fn first_of_a_list_is_not_said_to_be_in_use() {
    let text = "$ cat /sys/devices/system/clocksource/clocksource0/available_clocksource\ntsc hpet acpi_pm\n";
    let report = pasted(text);
    assert!(report.headline.contains("tsc is the first in the list"), "{}", report.headline);
    assert!(!report.headline.contains("evidence: it is"), "{}", report.headline);
}
