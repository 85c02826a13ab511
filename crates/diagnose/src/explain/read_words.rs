//! The pages that concern a text in prose about reads of the clock, by the names of parameters, calls and clocksources.

use super::relations::sentences;
use super::wall_words::{MOST, has, small};
use super::{demoted, resolution};

/// The page of programs that saw the monotonic clock go back.
const BACK: &str = "monotonic clock went back";
/// The program that measures the cost of a read, and its page.
const PG: &str = "pg_test_timing";

/// Names of kernel parameters, functions and files about reads of the clock, in small letters, and the word of the page;
/// those that reveal most about a problem come first.
const OF_READS: &[(&str, &str)] = &[
    (PG, PG),
    ("enclave", LAYER),
    ("sgx", LAYER),
    ("gsgx", LAYER),
    ("gramine", LAYER),
    ("occlum", LAYER),
    ("mystikos", LAYER),
    ("fex", LAYER),
    ("fex-emu", LAYER),
    ("box64", LAYER),
    ("qemu-user", LAYER),
    ("aarch64 vdso", LAYER),
    ("arm64 vdso", LAYER),
    ("xdebug", PROFILER),
    ("xhprof", PROFILER),
    ("tideways", PROFILER),
    ("explain analyze", PROFILER),
    ("cpu time clock", CPU_TIME),
    ("cpu time clocks", CPU_TIME),
    ("cpu-time clock", CPU_TIME),
    ("cpu-time clocks", CPU_TIME),
    ("thread cpu time", CPU_TIME),
    ("cpu clock", CPU_TIME),
    ("<timer name", TIMERS),
    ("hypervclock", TIMERS),
    ("hv-stimer", TIMERS),
    ("hv-time", TIMERS),
    ("instant is later than self", BACK),
    ("less than the current instant", BACK),
    ("time goes backwards", BACK),
    ("go back in time", BACK),
    ("backward jumps", BACK),
    ("time going backwards", BACK),
    ("clock going backwards", BACK),
    ("clock goes backwards", BACK),
    ("goes back in time", BACK),
    ("went back in time", BACK),
    ("ec2", EC2),
    ("m4 instances", EC2),
    ("aws", EC2),
    ("nitro", EC2),
    ("after sleep", "suspend"),
    ("computer to sleep", "suspend"),
    ("clock_gettime64", REFUSED),
    ("pvclock_clocksource_read", "pvclock_clocksource_read"),
    ("__vdso_clock_gettime", "vDSO"),
    ("__vdso_gettimeofday", "vDSO"),
    ("read_hpet", "read_hpet"),
    ("acpi_pm_read", "acpi_pm_read"),
    ("notsc", "notsc"),
    ("tsc=reliable", "tsc=reliable"),
    ("tsc=unstable", "tsc=unstable"),
    ("tsc=nowatchdog", "tsc=nowatchdog"),
    ("xen", OF_XEN),
    ("clocksource=tsc", "clocksource=tsc"),
    ("clocksource=hpet", "clocksource=NAME"),
    ("clocksource=acpi_pm", "clocksource=NAME"),
    ("nohpet", "nohpet"),
    ("hpet=disable", "hpet=disable"),
    ("no-kvmclock", "no-kvmclock"),
    ("invariant tsc", "invariant TSC"),
    ("invtsc", "invariant TSC"),
    ("hyperv_clocksource_tsc_page", "hyperv_clocksource_tsc_page"),
    ("kvm-clock", "kvm-clock"),
    ("kvmclock", "kvm-clock"),
    ("acpi_pm", "acpi_pm"),
    ("hpet", "hpet"),
    ("seccomp", "seccomp"),
    ("time.now", GO),
    ("time_now", GO),
    ("benchmarktimenow", GO),
    ("runtime.nanotime", GO),
    ("system.nanotime", JAVA),
    ("currenttimemillis", JAVA),
    ("jvm", JAVA),
    ("instant::now", "Instant::now"),
    ("mysql", "MySQL"),
    ("mysqld", "MySQL"),
    ("mariadb", "MySQL"),
    ("sql_optimizer", "MySQL"),
    ("erlang", "Erlang"),
    ("rabbitmq", "Erlang"),
    ("vdso", "vDSO"),
    ("queryperformancecounter", "QueryPerformanceCounter"),
    ("clock_process_cputime_id", CPU_TIME),
    ("clock_thread_cputime_id", CPU_TIME),
    ("clock_monotonic_raw", "CLOCK_MONOTONIC_RAW"),
    ("clock_monotonic_coarse", "COARSE clocks"),
    ("clock_realtime_coarse", "COARSE clocks"),
    ("gettimeofday", "gettimeofday"),
    ("clock_gettime", "clock_gettime"),
    ("nanotime", "clock_gettime"),
    ("clock_monotonic", "CLOCK_MONOTONIC"),
    ("clocksource", "clocksource"),
    ("clock source", "clocksource"),
    ("clock()", CPU_TIME),
];
/// The page of what is between a program and the vDSO; a text about reads of the clock there has one of these words.
const LAYER: &str = "layer without a vDSO";
const WITH_LAYER: [&str; 6] =
    ["gettimeofday", "clock_gettime", "vdso", "time.now", "rdtsc", "nanotime"];
/// The page of programs that read the clock at each call; a text about their cost has a word of each list.
const PROFILER: &str = "Xdebug";
const WITH_PROFILER: [&str; 6] = ["slow", "slows", "slower", "slowdown", "performance", "overhead"];
const OF_GUESTS: [&str; 10] = [
    "docker",
    "vagrant",
    "virtualbox",
    "hyperkit",
    "minikube",
    "wsl2",
    "vm",
    "hpet",
    "clocksource",
    "pg_test_timing",
];
/// Words of a text about what reads of the clocks of processes cost, and of one about the frequency of a processor.
const READING: [&str; 5] = ["read", "reads", "reading", "clock_gettime", "per read"];
const COSTS: [&str; 6] = ["expensive", "overhead", "slow", "ns", "nanoseconds", "syscall"];
const FREQUENCIES: [&str; 5] = ["mhz", "ghz", "clock speed", "frequency", "overclock"];
/// The page of clocks of a process: circuits also have a `clock()`.
const CPU_TIME: &str = "CLOCK_PROCESS_CPUTIME_ID";
/// The page of the hypervisors of EC2; a text about reads of the clock there has one of these words.
const EC2: &str = "EC2 instance families";
const WITH_EC2: [&str; 6] =
    ["clock source", "clocksource", "gettimeofday", "clock_gettime", "vdso", "nanotime"];
/// Pages of programs: a text about reads of the clock by them has one of these words.
const GO: &str = "Go";
const JAVA: &str = "Java";
const OF_PROGRAMS: [&str; 5] = [GO, JAVA, "MySQL", "Erlang", "seccomp"];
const WITH_PROGRAMS: [&str; 12] = [
    "clocksource",
    "gettimeofday",
    "clock_gettime",
    "vdso",
    "nanotime",
    "runtime.nanotime",
    "system.nanotime",
    "currenttimemillis",
    "time.now",
    "ns/op",
    "hpet",
    "strace",
];
/// The page of a call that old sandboxes refuse, and words of texts about that.
const REFUSED: &str = "clock_gettime64: Operation not permitted";
const WITH_REFUSED: [&str; 3] = ["not permitted", "eperm", "seccomp"];
/// The page of libvirt's timers: a domain names devices that it does not have.
const TIMERS: &str = "libvirt timers";
/// The page of the clocksource xen: the hypervisor of that name also occurs in texts about other matters.
const OF_XEN: &str = "xen";
const WITH_XEN: [&str; 6] =
    ["clocksource", "clock source", "gettimeofday", "clock_gettime", "vdso", "tsc"];

/// The page of programs with a clock of their own, and words of texts about one that is wrong.
const OWN_CLOCK: &str = "rte_get_tsc_hz";
const OWN_READS: [&str; 4] = ["rdtsc", "rdtscp", "__rdtsc", "rdtsc()"];
const OWN_FAULTS: [&str; 9] =
    ["jump", "jumps", "drift", "drifts", "drifting", "skews", "off", "wrong", "diverge"];
const OWN_RATES: [&str; 6] =
    ["calibrat", "ticks_per_ns", "ticks per", "tick rate", "tsc frequency", "tsc_hz"];

/// Words for any clock that goes back: in a text about what sets a wall clock, the monotonic clock has to be named.
const ANY_BACK: [&str; 8] = [
    "time goes backwards",
    "go back in time",
    "backward jumps",
    "time going backwards",
    "clock going backwards",
    "clock goes backwards",
    "goes back in time",
    "went back in time",
];
const OF_WALLS: [&str; 8] =
    ["ntp", "ntpd", "chrony", "chronyd", "ntpdate", "settimeofday", "wall clock", "leap second"];
const WITH_BACK: [&str; 8] = [
    "monotonic",
    "clock_monotonic",
    "steady_clock",
    "instant",
    "instant::now",
    "nanotime",
    "tsc",
    "rdtsc",
];

/// Reads of the wall clock, and words of a sentence in which it is set back: the text is about a jump and not about a cost.
const WALL_READS: [&str; 5] =
    ["gettimeofday", "clock_realtime", "system_clock", "currenttimemillis", "date.now"];
const SET_BACK: [&str; 9] = [
    "backward",
    "goes back",
    "go back",
    "going back",
    "went back",
    "jumps back",
    "jumped back",
    "set back",
    "jump back",
];
/// The page of a clock that programs set, the one of Windows' subsystem, and those about the cost of a read.
const SETTABLE: &str = "CLOCK_REALTIME";
const WSL: &str = "WSL";
const OF_COST: [&str; 3] = ["gettimeofday", "clock_gettime", "slow clocksource"];

/// Whether a sentence of a text in small letters says that a read of the wall clock goes back.
fn is_set_back(small: &str) -> bool {
    sentences(small).any(|text| {
        WALL_READS.iter().any(|read| text.contains(read))
            && SET_BACK.iter().any(|back| text.contains(back))
    })
}

/// Names of clocks of processes that are also said of other things.
const OF_PROCESSES: [&str; 6] = [
    "cpu time clock",
    "cpu time clocks",
    "cpu-time clock",
    "cpu-time clocks",
    "thread cpu time",
    "cpu clock",
];

/// Names of counters, and what is said of them in a text about reads.
const COUNTERS: [&str; 4] = ["tsc", "hpet", "acpi_pm", "clocksource"];
const JUDGED: [&str; 6] =
    ["slower", "unstable", "switches to", "switched to", "performance", "expensive"];
/// Beginnings of words of a text about a wrong time.
pub(super) const OF_WRONG_TIMES: [&str; 12] = [
    "date",
    "minute",
    "hour",
    "out of sync",
    "wrong",
    "behind",
    "ahead",
    "drift",
    "ntp",
    "chrony",
    "certificate",
    "timestamp",
];

/// Ways to read the time, and what a sentence about their cost says.
const READS: [&str; 8] = [
    "clocksource",
    "clock source",
    "vdso",
    "clock_gettime",
    "gettimeofday",
    "rdtsc",
    "hpet",
    "acpi_pm",
];
const COST_WORDS: [&str; 8] = [
    "system call",
    "syscall",
    "overhead",
    "busy loop",
    "flame graph",
    "clock reads",
    "microbenchmark",
    "ns per call",
];

/// Whether a sentence of a text in small letters is about the cost of reads of the clock.
pub(super) fn is_about_cost(small: &str) -> bool {
    sentences(small).any(|text| {
        READS.iter().any(|read| text.contains(read))
            && COST_WORDS.iter().any(|cost| text.contains(cost))
    })
}

/// Whether a text is about the cost of reads, or judges a clocksource by it or by its stability and says nothing of a wrong time.
pub(super) fn judges_a_clocksource(text: &str) -> bool {
    let small = small(text);
    if is_about_cost(&small) {
        return true;
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_judged = |text: &str| {
        COUNTERS.iter().any(|name| has(text, name, false, is_part))
            && JUDGED.iter().any(|word| has(text, word, false, is_part))
    };
    sentences(&small).any(is_judged)
        && !OF_WRONG_TIMES.iter().any(|word| has(&small, word, true, is_part))
}

/// Whether a text has a word for a sleep of a machine; a process also sleeps, but says so by the name of a call.
pub(super) fn names_a_sleep(text: &str) -> bool {
    let small = small(text);
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    [
        "from sleep",
        "sleep mode",
        "after sleep",
        "wakes up",
        "resuming",
        "resume from",
        "suspend",
        "hibernat",
    ]
    .iter()
    .any(|word| has(&small, word, true, is_part))
}

/// The pages that concern a text in prose about reads of the clock.
pub(super) fn of_reads(text: &str) -> Vec<&'static str> {
    let small = small(text);
    let is_word = |word: &str| has(&small, word, false, |c| c.is_ascii_alphanumeric() || c == '_');
    let mut found = Vec::new();
    for (name, page) in OF_READS {
        let is_it = match (*name, *page) {
            ("clock()", _) => !found.is_empty(),
            (name, BACK) if OF_WALLS.into_iter().any(is_word) => {
                !ANY_BACK.contains(&name) || WITH_BACK.into_iter().any(is_word)
            }
            (_, OF_XEN) => WITH_XEN.into_iter().any(is_word),
            (_, REFUSED) => WITH_REFUSED.into_iter().any(is_word),
            (_, EC2) => WITH_EC2.into_iter().any(is_word),
            (_, LAYER) => WITH_LAYER.into_iter().any(is_word),
            // The manual of `pg_test_timing` explains the cost of `EXPLAIN ANALYZE`.
            ("explain analyze", _) if is_word(PG) => false,
            (_, PROFILER) => {
                WITH_PROFILER.into_iter().any(is_word) && OF_GUESTS.into_iter().any(is_word)
            }
            (name, CPU_TIME) if OF_PROCESSES.contains(&name) => {
                READING.into_iter().any(is_word)
                    && COSTS.into_iter().any(is_word)
                    && !FREQUENCIES.iter().any(|word| small.contains(word))
            }
            (_, page) if OF_PROGRAMS.contains(&page) => WITH_PROGRAMS.into_iter().any(is_word),
            _ => true,
        };
        if is_it && is_word(name) && !found.contains(page) {
            found.push(*page);
        }
    }
    if !found.contains(&BACK) && monotonic_went_back(&small) {
        found.insert(0, BACK);
    }
    let any = |words: &[&str]| words.iter().any(|word| is_word(word));
    // A program that counts the TSC's ticks by a frequency of its own drifts against the kernel's clocks.
    if any(&OWN_READS)
        && any(&OWN_FAULTS)
        && OWN_RATES.iter().any(|word| small.contains(word))
        && !found.contains(&BACK)
    {
        found.insert(0, OWN_CLOCK);
    }
    if !found.contains(&BACK) && is_set_back(&small) {
        found.retain(|page| !OF_COST.contains(page) && *page != SETTABLE && *page != WSL);
        if any(&["wsl", "wsl2"]) {
            found.insert(0, WSL);
        }
        found.insert(0, SETTABLE);
    }
    if found.contains(&TIMERS) {
        found = vec![TIMERS];
    }
    if resolution::tells(&small) {
        found.retain(|page| *page != SETTABLE && !OF_COST.contains(page));
        found.insert(0, resolution::PAGE);
    }
    if demoted::tells(&small) {
        found.retain(|page| *page != demoted::PAGE);
        found.insert(0, demoted::PAGE);
    }
    found.truncate(MOST);
    found
}

/// What is said of a clock that went back, besides [`SET_BACK`].
const WENT_BACK: [&str; 4] = ["stepped back", "decreased", "non-monotonic", "not monotonic"];
/// Words by which it did not.
const NEVER: [&str; 8] =
    ["never", "cannot", "can't", "can not", "must not", "does not", "doesn't", "won't"];

/// Whether a sentence of a text in small letters says that the monotonic clock went back, as runtimes do when they end:
/// `OS monotonic time stepped backwards!`.
fn monotonic_went_back(small: &str) -> bool {
    sentences(small).any(|text| {
        let of_clock = ["monotonic time", "monotonic clock", "clock_monotonic", "monotonic timer"];
        let any = |words: &[&str]| words.iter().any(|word| text.contains(word));
        any(&of_clock) && (any(&SET_BACK) || any(&WENT_BACK)) && !any(&NEVER)
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_wall_clock_that_is_set_back_is_no_matter_of_cost() {
        let text = "`gettimeofday` can be adjusted backwards by the system. I see this under Windows 11 WSL.";
        assert_eq!(of_reads(text), ["CLOCK_REALTIME", "WSL"]);
        assert_eq!(of_reads("gettimeofday is slow here"), ["gettimeofday"]);
        assert_eq!(
            of_reads("gettimeofday is slow. The driver went back to the shop."),
            ["gettimeofday"]
        );
    }

    use super::*;

    #[test]
    fn a_runtimes_words_for_a_monotonic_clock_that_went_back_lead_to_its_page() {
        for text in [
            "OS monotonic time stepped backwards!\nPrevious time: 29000000000000\nCurrent time: 28999000000000",
            "panic: monotonic clock went backwards by 12 ms",
            "CLOCK_MONOTONIC decreased between two reads on different CPUs",
        ] {
            assert_eq!(of_reads(text).first(), Some(&BACK), "{text}");
        }
        assert!(
            !of_reads("The monotonic clock never goes backwards, the wall clock may.")
                .contains(&BACK)
        );
    }

    #[test]
    fn a_layer_that_replaces_the_vdso_comes_first() {
        for text in [
            "In the enclave (SGX) time.Now() takes 4 ms, since the vdso is patched out",
            "gsgx makes a gettimeofday system call each time",
            "the game calls clock_gettime: forward it to the AArch64 VDSO",
        ] {
            assert_eq!(of_reads(text).first(), Some(&LAYER), "{text}");
        }
        assert_eq!(of_reads("the key is in the SGX enclave"), [""; 0]);
    }

    #[test]
    fn what_reads_the_clock_at_each_call_leads_to_its_page() {
        let text = "When enabling XDebug the site slows down in com.docker.hyperkit";
        assert_eq!(of_reads(text), [PROFILER]);
        assert_eq!(of_reads("XDebug slows the site down (Docker)"), [PROFILER]);
        assert_eq!(of_reads("Xdebug has a bug in Docker"), [""; 0]);
    }

    #[test]
    fn cpu_time_clocks_have_a_plural() {
        assert_eq!(of_reads("reading from the CPU time clocks is expensive"), [CPU_TIME]);
        assert_eq!(of_reads("reading of the CPU clock is slow at 3 GHz"), [""; 0]);
        assert_eq!(of_reads("the CPU clock has a bug"), [""; 0]);
    }

    #[test]
    fn a_vendor_with_a_clocksource_leads_to_its_page() {
        assert_eq!(of_reads("tsc instead of kvm-clock as clock source on AWS")[0], EC2);
        assert_eq!(of_reads("AWS has many regions"), [""; 0]);
    }

    #[test]
    fn what_is_said_of_a_counter_is_about_reads() {
        let lags = "When a Mac wakes up from sleep, the hardware clock in the guest will lag.";
        let judged = "The TSC is unstable, and the HPET is much slower than the TSC.";
        assert!(judges_a_clocksource(&format!("{lags} {judged}")));
        assert!(!judges_a_clocksource(lags));
        assert!(!judges_a_clocksource(&format!("{judged} The date is two hours behind.")));
        assert_eq!(super::super::of_wall_clock(&format!("{lags} {judged}")), [""; 0]);
        assert_eq!(of_reads(&format!("{lags} {judged}")), ["hpet"]);
    }

    #[test]
    fn prose_about_the_command_line_leads_to_its_parameters() {
        assert_eq!(
            of_reads("We boot our guests with `notsc divider=10`; they pick the next timer, hpet."),
            ["notsc", "hpet"]
        );
        assert_eq!(
            of_reads("the vDSO is active, and gettimeofday is slow"),
            ["vDSO", "gettimeofday"]
        );
        assert_eq!(
            of_reads("the default clocksource here is Xen, slower than tsc"),
            ["xen", "clocksource"]
        );
        assert_eq!(
            of_reads("clock() calls clock_gettime in Docker"),
            ["clock_gettime", "CLOCK_PROCESS_CPUTIME_ID"]
        );
        assert_eq!(of_reads("with CLOCK_MONOTONIC_COARSE it was faster"), ["COARSE clocks"]);
        assert_eq!(
            of_reads("On EC2 (m4) our JVM calls gettimeofday, and seccomp makes it worse"),
            [EC2, "seccomp", JAVA, "gettimeofday"]
        );
        assert_eq!(of_reads("a monotonic clock that goes back in time"), [BACK]);
        assert_eq!(of_reads("MySQL runs on EC2"), [""; 0]);
        assert_eq!(of_reads("our calibrated rdtsc clock drifts"), [OWN_CLOCK]);
        assert_eq!(of_reads("clock_monotonic_raw is slow"), ["CLOCK_MONOTONIC_RAW"]);
        assert_eq!(of_reads("ntp steps, and we see the clock going backwards"), [""; 0]);
        assert_eq!(of_reads("panicked at 'supplied instant is later than self'"), [BACK]);
        for other in [
            "does notscale",
            "read_hpet_count()",
            "what a vdsofoo is",
            "always @(posedge clock())",
            "dom0 of Xen has a disk",
            "",
        ] {
            assert_eq!(of_reads(other), [""; 0], "{other}");
        }
    }
}
