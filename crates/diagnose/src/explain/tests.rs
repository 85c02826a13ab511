//! Completeness of the tables, and pasted messages.

use super::{Kind, all, did_you_mean, explain, messages, words};
use crate::CauseId;
use crate::names::NAMES;
use clocksmith_facts::log::KernelLog;
use std::path::Path;

fn kinds(query: &str) -> Vec<Kind> {
    explain(query).into_iter().map(|found| found.kind).collect()
}

#[test]
fn every_cause_has_an_explanation() {
    for id in CauseId::ALL {
        let found = explain(id.name());
        assert!(found.iter().any(|e| e.kind == Kind::Cause && e.title == id.name()), "{id:?}");
    }
    for entry in super::knowledge::CAUSES {
        assert!(CauseId::parse(entry.id).is_some(), "{} is not a cause", entry.id);
    }
}

#[test]
fn known_message_inside_a_longer_line_is_the_answer() {
    for (line, title) in [
        ("port 2: SLAVE to UNCALIBRATED on SYNCHRONIZATION_FAULT", "SLAVE to UNCALIBRATED"),
        (
            "timer thread slept for [1.3m/80947ms] on absolute clock which is above the warn threshold of [5000ms]",
            "timer thread slept",
        ),
        (
            "No monotonic clock was available - timed services may be adversely affected if the clock changes",
            "clock_gettime64",
        ),
        ("clock_settime64", "clock_gettime64"),
        ("Detected falseticker GPS", "Detected falseticker"),
        ("Can't synchronise: no majority", "Detected falseticker"),
        ("hwclock: Timed out waiting for time change.", "hwclock: Timed out"),
        ("hwclock: select() to /dev/rtc0 to wait for clock tick timed out", "hwclock: select()"),
    ] {
        let found = explain(line);
        assert!(found.first().is_some_and(|one| one.title.contains(title)), "{line}: {found:?}");
    }
}

#[test]
fn every_clocksource_has_an_explanation() {
    for name in NAMES {
        assert!(kinds(name.name).contains(&Kind::Clocksource), "{}", name.name);
    }
}

/// The headings of the book's answers are common searches: `explain` must know each of them, too.
#[test]
fn headings_of_the_answers_are_known() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/src/answers.md");
    let Ok(text) = std::fs::read_to_string(path) else { return };
    let headings: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("### "))
        .flat_map(|line| line.split(" / "))
        .collect();
    assert!(headings.len() > 40, "{headings:?}");
    let unknown: Vec<&str> = headings
        .into_iter()
        .filter(|heading| explain(heading.trim().trim_matches('`')).is_empty())
        .collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
}

/// Every word that the lists of the document `why --json` can contain: the lists are closed, except for the ids of
/// causes.
#[test]
fn words_of_the_document_are_known() {
    use crate::remedies::Layer;
    use crate::remedies::table::ADVICE;
    use crate::timeline::Step;
    use crate::{Confidence, Path as Way, Severity, Verdict};
    use clocksmith_facts::verified::Trust;
    let mut words: Vec<String> = Vec::new();
    words.extend(CauseId::ALL.map(|id| id.name().to_owned()));
    words.extend(ADVICE.iter().map(|advice| advice.id.to_owned()));
    words.extend(NAMES.iter().map(|name| name.name.to_owned()));
    let verdicts = [Verdict::Ok, Verdict::Slow, Verdict::Untrustworthy, Verdict::Unknown];
    words.extend(verdicts.map(|verdict| verdict.name().to_owned()));
    words.extend([Way::Vdso, Way::Syscall, Way::Unknown].map(|path| path.name().to_owned()));
    let severities = [Severity::Info, Severity::Warning, Severity::Critical];
    words.extend(severities.map(|severity| severity.name().to_owned()));
    words.extend(
        [Confidence::Low, Confidence::Medium, Confidence::High].map(|sure| sure.to_string()),
    );
    words.extend(
        [Trust::Trusted, Trust::NotTrusted, Trust::Unknown].map(|trust| trust.name().to_owned()),
    );
    let layers = [Layer::Program, Layer::Runtime, Layer::Boot, Layer::Hypervisor, Layer::Firmware];
    words.extend(layers.map(|layer| layer.name().to_owned()));
    let steps = [
        Step::Registered,
        Step::Switched,
        Step::Choice,
        Step::Calibration,
        Step::Check,
        Step::Unstable,
        Step::Suspend,
    ];
    words
        .extend(steps.map(|step| serde_json::to_value(step).unwrap().as_str().unwrap().to_owned()));
    let unknown: Vec<&String> = words.iter().filter(|word| explain(word).is_empty()).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

/// The functions that profiles show, and the programs whose output `why` reads.
#[test]
fn words_of_symptoms_are_known() {
    for word in [
        "acpi_pm_read",
        "read_hpet",
        "kvm_clock_get_cycles",
        "pvclock_clocksource_read",
        "pvclock_clocksource_read_nowd",
        "xen_clocksource_get_cycles",
        "read_hv_clock_tsc",
        "read_hv_clock_msr",
        "read_hv_clock",
        "read_tsc",
        "pit_read",
        "jiffies_read",
        "arch_counter_read",
        "ktime_get",
        "__x64_sys_clock_gettime",
        "entry_SYSCALL_64",
        "do_syscall_64",
        "__vdso_clock_gettime",
        "runtime.nanotime1",
        "os::javaTimeNanos",
        "perf report",
        "perf top",
        "perf script",
        "folded stacks",
        "async-profiler",
        "pprof",
        "strace",
        "strace -c",
        "pg_test_timing",
        "Redis",
        "Valkey",
        "ClickHouse",
        "vdsotest",
        "clockperf",
        "node_exporter",
        "lscpu",
        "cpuid",
        "TscInvariant",
        "dmidecode",
        "systemd-detect-virt",
        "lsmod",
        "chronyc tracking",
        "timedatectl",
        "adjtimex",
        "virsh dumpxml",
        "/proc/cmdline",
        "uname",
    ] {
        assert!(!explain(word).is_empty(), "{word}");
    }
}

/// The parameters that the kernel model and the diagnosis read, from their sources.
fn read_by_the_model() -> Vec<String> {
    let mut found = Vec::new();
    let mut dirs = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernel/src")];
    while let Some(dir) = dirs.pop() {
        let Ok(entries) = std::fs::read_dir(&dir) else { continue };
        for path in entries.filter_map(|entry| entry.ok().map(|entry| entry.path())) {
            if path.is_dir() {
                dirs.push(path);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                found.extend(parameters_in(&text));
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

fn parameters_in(text: &str) -> Vec<String> {
    // If a call is wrapped, the receiver and the call are on different lines.
    let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ").replace(" .", ".");
    let mut out = Vec::new();
    for call in [".has(\"", ".has_value(\"", ".values(\"", ".last(\"", ".number(\"", "off(line, \""]
    {
        for (at, _) in text.match_indices(call) {
            if text[..at].ends_with("flags") {
                continue;
            }
            let mut parts = text[at + call.len()..].split('"');
            let name = parts.next().unwrap_or("");
            let value = parts.nth(1).unwrap_or("");
            out.push(match call {
                ".has_value(\"" => format!("{name}={value}"),
                "off(line, \"" => format!("{name}=off"),
                _ => name.to_owned(),
            });
        }
    }
    out
}

#[test]
fn every_parameter_that_the_model_reads_has_an_explanation() {
    let found = read_by_the_model();
    if Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernel/src").is_dir() {
        assert!(found.len() > 15, "{found:?}");
        assert!(found.iter().any(|name| name == "tsc=nowatchdog"), "{found:?}");
    }
    for name in found {
        assert!(kinds(&name).contains(&Kind::Parameter), "{name}");
    }
    let more = [
        "nr_cpus",
        "possible_cpus",
        "processor.max_cstate=1",
        "intel_idle.max_cstate=1",
        "hpet=disable",
        "tsc=recalibrate",
        "tsc=noirqtime",
        "no-steal-acc",
        "skew_tick=1",
        "clocksource.verify_n_cpus=-1",
        "clocksource.max_cswd_read_retries=5",
        "lapic=notscdeadline",
        "vsyscall=none",
        "vdso32=0",
        "xen_timer_slop",
        "no-vmw-sched-clock",
        "nosmt",
        "hpet=force,verbose",
    ];
    for name in more {
        assert!(kinds(name).contains(&Kind::Parameter), "{name}");
    }
}

#[test]
fn functions_that_more_than_the_timekeeping_core_calls_prove_nothing_alone() {
    for word in
        ["xen_clocksource_read", "native_read_tsc", "kvm_clock_read", "arch_counter_get_cntvct"]
    {
        let found = explain(word);
        assert_eq!(found.len(), 1, "{word}");
        let said = &found[0].so_what;
        assert!(
            said.starts_with("By itself it proves") && !said.contains("It proves that"),
            "{word}: {said}"
        );
    }
}

#[test]
fn lines_of_daemons_and_servers_have_a_page() {
    for (line, id) in [
        ("ntpd[18]: kernel reports TIME_ERROR: 0x2041: Clock Unsynchronized", "kernel reports"),
        ("Clock offset exceeds panic threshold", "time correction of"),
        ("adjtimex(0x8001) failed : Operation not permitted", "adjtimex("),
        ("Timed out waiting for reply from 192.0.2.1:123", "Timed out"),
        ("the clock difference against peer 4e8d is too high [12.5s > 1s]", "the clock difference"),
        ("Too big clock skew is detected: 3.5s", "the clock difference"),
        ("monotonic time jumped back", "monotonic time"),
    ] {
        let found = explain(line);
        assert!(found.iter().any(|one| one.title.starts_with(id)), "{line}: {found:?}");
    }
}

#[test]
fn words_of_lines_that_are_evidence_are_known() {
    let others = [
        "timed out while polling for tx timestamp",
        "ntp_adjtime() failed: Operation not permitted",
        "no server suitable for synchronization found",
        "imap: Time moved forwards by 0.100108 seconds - adjusting timeouts.",
        "Failed to set ntp: NTP not supported.",
        "port 1: master sync timeout",
        "perf: interrupt took too long (2555 > 2500), lowering kernel.perf_event_max_sample_rate to 50000",
        "pvclock_gtod_data",
        "monotonic: x86 linux, unable to determine clock rate",
        "leap status: Not synchronised",
        "Leap status     : Not synchronised",
        "CPU time clocks",
    ];
    let unknown: Vec<&str> = clocksmith_facts::wall::known_words()
        .chain(others)
        .filter(|words| explain(words).is_empty())
        .collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
}

#[test]
fn references_resolve_and_texts_are_whole() {
    for found in all() {
        let title = &found.title;
        for word in &found.see_also {
            assert!(!explain(word).is_empty(), "{title}: see also {word}");
            assert_ne!(word, title, "{title} refers to itself");
        }
        for text in [&found.what, &found.versions, &found.so_what, &found.do_what] {
            assert!(text.len() > 2 && text.ends_with(['.', ')']), "{title}: {text}");
            assert!(!text.contains("  "), "{title}: {text}");
            assert!(text.is_ascii(), "{title}: {text}");
        }
        assert!(!found.sources.is_empty(), "{title}");
    }
}

#[test]
fn every_word_and_title_finds_its_entry() {
    for word in words() {
        assert!(!explain(&word).is_empty(), "{word}");
    }
    for entry in super::knowledge::MESSAGES.iter() {
        let found = explain(entry.title());
        assert!(found.iter().any(|e| e.kind == Kind::Message), "{}", entry.title());
        let same = super::knowledge::MESSAGES.iter().filter(|other| other.id == entry.id).count();
        assert_eq!(same, 1, "{}", entry.id);
    }
}

/// A message, the id of its text, and a part of its decoded figures (empty: not checked).
const PASTED: &[(&str, &str, &str)] = &[
    (
        "[    1.234567] clocksource: tsc: mask: 0xffffffffffffffff max_cycles: 0x256be10d3d2, \
         max_idle_ns: 440795247362 ns",
        "registered",
        "2596.1",
    ),
    (
        "clocksource: refined-jiffies: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: \
         7645519600211568 ns",
        "registered",
        "250 Hz",
    ),
    (
        "clocksource: acpi_pm: mask: 0xffffff max_cycles: 0xffffff, max_idle_ns: 2085701024 ns",
        "registered",
        "wraps every 4.69 s",
    ),
    ("Clocksource tsc unstable (delta = -131624372 ns)", "watchdog-old", "131.62 ms less"),
    ("Clocksource tsc unstable (delta = 4686840254 ns)", "watchdog-old", "1 wrap of"),
    ("Clocksource tsc unstable (delta = -95170507948 ns)", "watchdog-old", "counter stopped"),
    (
        "clocksource: Clocksource 'tsc' skewed -2100000 ns (-2 ms) over watchdog 'hpet' interval \
         of 503845000 ns (503 ms)",
        "watchdog-skewed",
        "-4168 ppm",
    ),
    (
        "clocksource: Clocksource 'tsc-early' skewed 120000000 ns (120 ms) over watchdog \
         'refined-jiffies' interval of 384000000 ns (384 ms)",
        "watchdog-skewed",
        "more than a wrong rate can cause",
    ),
    (
        "clocksource: Long readout interval, skipping watchdog check: cs_nsec: 13312434564 wd_nsec: \
         13312430817",
        "long-readout",
        "Both agree",
    ),
    (
        "Long readout interval, skipping watchdog check: cs_nsec: 19668374583 wd_nsec: 416680800",
        "long-readout",
        "jumped ahead",
    ),
    (
        "Long readout interval, skipping watchdog check: cs_nsec: 2990000000 wd_nsec: 0",
        "long-readout",
        "half the range",
    ),
    (
        "[    0.312] Measured 165 cycles TSC warp between CPUs, turning off TSC clock.",
        "warp",
        "55 ns at 3 GHz",
    ),
    ("Measured 7309500619 cycles TSC warp between CPUs, turning off TSC clock.", "warp", "large"),
    (
        "Hyper-V: privilege flags low 0x2e7f, high 0x3b8030, hints 0x9e4e24, misc 0xe0bed7b2",
        "hyperv-flags",
        "withheld",
    ),
    ("Hyper-V: features 0xae7f, hints 0x2c2c", "hyperv-flags", "granted"),
    (
        "clocksource: timekeeping watchdog on CPU6: hpet read-back delay of 52680ns, attempt 4, \
         marking unstable",
        "readback-marks",
        "not evidence against the TSC",
    ),
    (
        "clocksource:                       'acpi_pm' wd_now: c3a000 wd_last: 3a0000 mask: ffffff",
        "watchdog-detail",
        "more than half",
    ),
    (
        "clocksource:                       'tsc' cs_nsec: 500000000 cs_now: 4d1ea3d3a0 cs_last: \
         4cd136f720 mask: ffffffffffffffff",
        "watchdog-detail",
        "2597.",
    ),
    ("tsc: Marking TSC unstable due to check_tsc_sync_source failed", "unstable-sync", ""),
    ("Marking TSC unstable due to TSC halts in idle states deeper than C2", "unstable-idle", ""),
    ("Marking TSC unstable due to lunar influence", "unstable-other", "lunar influence"),
    (
        "TSC found unstable after boot, most likely due to broken BIOS. Use 'tsc=unstable'.",
        "found-unstable",
        "",
    ),
    (
        "sched_clock: Marking unstable (107240582544, 45390230)<-(107291410145, -5437339)",
        "sched-unstable",
        "",
    ),
    (
        "[    1.024723] sched_clock: Marking stable (1024353902, 609219)->(1028583313, -3620192)",
        "sched-stable",
        "",
    ),
    ("[Firmware Bug]: TSC doesn't count with P0 frequency!", "p0", ""),
    ("hpet: HPET dysfunctional in PC10. Force disabled.", "hpet-pc10", ""),
    ("tsc: Fast TSC calibration failed", "cal-fastfailed", ""),
    ("tsc: Refined TSC clocksource calibration: 2596.127 MHz", "refined", "2596127 kHz"),
    ("clocksource: Not enough CPUs to check clocksource 'tsc'.", "cross-check-none", ""),
    (
        "clocksource:         CPUs 8-15 ahead of CPU 5 for clocksource tsc.",
        "cross-check-skew",
        "8-15",
    ),
    ("hrtimer: interrupt took 1234567 ns", "hrtimer-took", ""),
    (
        "qemu-system-x86_64: warning: TSC frequency mismatch between VM (2893199 kHz) and host \
         (2099998 kHz), and TSC scaling unavailable",
        "tsc-mismatch",
        "",
    ),
    (
        "arch_timer: Enabling global workaround for ARM erratum 858921",
        "arch-erratum",
        "all programs",
    ),
    ("[Firmware Bug]: TSC ADJUST differs: CPU3 0 --> 1234. Restoring", "adjust-restored", ""),
    (
        "Override clocksource tsc is not currently HRT compatible - deferring",
        "override-deferred",
        "",
    ),
];

#[test]
fn pasted_messages() {
    for (message, id, figure) in PASTED {
        let found = explain(message);
        let first = found.first().unwrap_or_else(|| panic!("nothing for {message}"));
        let entry = super::knowledge::MESSAGES.iter().find(|entry| entry.id == *id).expect(id);
        assert_eq!(first.title, entry.title(), "{message}");
        assert_eq!(first.kind, Kind::Message, "{message}");
        let figures = first.figures.join(" ");
        assert!(figures.contains(figure), "{message}\n{figures}");
    }
}

/// Every event has a text: the match over events that `build.rs` makes is exhaustive, and every id in it has an entry.
#[test]
fn every_event_has_a_text() {
    let source = include_str!(concat!(env!("OUT_DIR"), "/events.rs"));
    let ids: Vec<&str> =
        source.split("=> \"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(ids.len() > 70, "{ids:?}");
    for id in ids.into_iter().filter(|id| !id.is_empty()) {
        assert!(super::knowledge::MESSAGES.iter().any(|entry| entry.id == id), "{id}");
    }
    for (message, _, _) in PASTED {
        if let Some(event) = KernelLog::message(message) {
            assert!(messages::of_event(&event).is_some(), "{event:?}");
        }
    }
}

#[test]
fn several_lines_are_decoded_together() {
    let text = "\
[ 2.9] clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable because the skew is too large:
[ 2.9] clocksource:   'acpi_pm' wd_now: a73fa5 wd_last: 4d11b mask: ffffff
[ 2.9] clocksource:   'tsc' cs_now: 26d6e24c5c cs_last: 245fb2f8c6 mask: ffffffffffffffff
";
    let found = explain(text);
    assert_eq!(found.len(), 2, "{found:?}");
    let figures = found[0].figures.join(" ");
    assert!(figures.contains("tsc is not at fault"), "{figures}");
}

#[test]
fn a_switch_also_explains_the_clocksource() {
    assert_eq!(
        kinds("clocksource: Switched to clocksource hpet"),
        [Kind::Message, Kind::Clocksource]
    );
}

#[test]
fn values_of_parameters() {
    let combined = explain("tsc=reliable,nowatchdog");
    assert!(combined[0].figures[0].contains("tsc=reliable tsc=nowatchdog"), "{combined:?}");
    assert_eq!(combined.len(), 3);
    let typo = explain("clocksource=acpi-pmm");
    assert!(typo[0].figures[0].contains("acpi_pm"), "{typo:?}");
    let pmtmr = explain("clocksource=pmtmr");
    assert!(pmtmr[0].figures[0].contains("ignores"), "{pmtmr:?}");
    let khz = explain("tsc_early_khz=2596");
    assert!(khz[0].figures[0].contains("too small"), "{khz:?}");
    assert!(explain("acpi=force").is_empty());
    let line = explain("BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro quiet clocksource=hpet tsc=reliable");
    let titles: Vec<&str> = line.iter().map(|e| e.title.as_str()).collect();
    assert_eq!(titles, ["clocksource=NAME", "hpet", "tsc=reliable"]);
}

#[test]
fn words_of_every_kind() {
    assert_eq!(kinds("HPET"), [Kind::Clocksource]);
    assert_eq!(kinds("tsc reliable"), [Kind::Parameter, Kind::Term]);
    // The page of that name is first.
    assert_eq!(kinds("vdso"), [Kind::Term, Kind::Parameter]);
    assert_eq!(explain("CLOCK_TAI")[0].title, "CLOCK_TAI");
    assert_eq!(kinds("sap"), [Kind::Policy]);
    assert_eq!(kinds("hide-hpet"), [Kind::Remedy]);
    assert_eq!(kinds("tsc-reliable"), [Kind::Parameter, Kind::Term, Kind::Remedy]);
    assert_eq!(kinds("stable-bit"), [Kind::Term]);
    assert_eq!(kinds("tsc"), [Kind::Clocksource, Kind::Parameter]);
    let several: Vec<String> = explain("tsc hpet acpi_pm").into_iter().map(|e| e.title).collect();
    assert_eq!(several, ["tsc", "tsc=", "hpet", "acpi_pm"]);
    // The word that describes the other comes last, and so does a parameter that the user did not write.
    for (query, first) in [
        ("slow hpet", "hpet"),
        ("clock skew", "skew"),
        ("clock drift", "ppm"),
        ("slow gettimeofday", "gettimeofday"),
        ("postgresql", "pg_test_timing"),
        ("monotonic_ordered_ns", "monotonic_ns"),
    ] {
        assert_eq!(explain(query)[0].title, first, "{query}");
    }
}

#[test]
fn unknown_words_are_not_explained_and_close_ones_offered() {
    for query in ["", "  ", "frobnicate", "usb 1-1: new high-speed USB device number 2"] {
        assert!(explain(query).is_empty(), "{query}");
    }
    assert!(did_you_mean("frobnicate").is_empty());
    assert_eq!(did_you_mean("tsc-wrap")[0], "tsc-warp");
    assert!(did_you_mean("kvmclok").iter().any(|word| word == "kvmclock"));
    assert!(did_you_mean("tsc=relaible").iter().any(|word| word == "tsc=reliable"));
    let sentence = did_you_mean("the hpet of this box is acting funny");
    assert_eq!(sentence, ["hpet"]);
}

#[test]
fn hostile_input_is_survived() {
    for query in ["=", "tsc=", "clocksource=", ",,,", "a\u{0}b", "\n\n\n", "é=ü", "'\"`"] {
        let _ = (explain(query), did_you_mean(query));
    }
    let long = "x".repeat(1 << 20);
    assert!(explain(&long).is_empty());
    let _ = did_you_mean(&"é".repeat(1 << 16));
}
