//! The library and the program in guests whose clock is a hypervisor's: kvm-clock and Hyper-V's, as hypervisors offer
//! them, and as they offer them when each read is a system call. The evidence does not come from the tested programs:
//! it is the clocksource in sysfs, and whether CLOCK_MONOTONIC can be read when the system call is forbidden
//! (`probe vdso`). Ignored by default, because it needs the emulator that offers these clocks (`testbed emulator`), a
//! kernel, a C compiler, the static program (`CLOCKSMITH_STATIC`) and the library's reader (`CLOCKSMITH_READER`):
//! `cargo build --release --target x86_64-unknown-linux-musl -p clocksmith --example clock_reader`, then
//! `cargo test -p clocksmith-testbed --test live -- --ignored --nocapture paravirt::`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may end where something is missing")]

use super::guest::{self, reader, said};
use clocksmith_testbed::cache::Cache;
use clocksmith_testbed::paravirt::{Kind, Paravirt};
use clocksmith_testbed::qemu::arguments::Accel;
use clocksmith_testbed::scenario::journal::Entry;
use clocksmith_testbed::scenario::place::{Place, Programs};
use clocksmith_testbed::scenario::{self, Story};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(240);

/// Each part begins with `-- NAME` and ends with `== NAME STATUS`.
const SCRIPT: &str = r#"settle
F=$S/current_clocksource
echo "== clocksource $(cat $F)"
part() {
    name=$1
    shift
    echo "-- $name"
    "$@" 2>/tmp/complaints
    status=$?
    echo
    echo "== $name $status"
    sed "s/^/$name: /" /tmp/complaints
}
part truth probe vdso
part why clocksmith why --json
part check clocksmith check --json
part check-line clocksmith check
part predict clocksmith predict --json
part watch clocksmith watch --once --json --no-history
part run clocksmith run --json -- probe vdso
part bench clocksmith bench --quick --json --only CLOCK_MONOTONIC,rdtsc,monotonic_ns
part bench-text clocksmith bench --quick
part verify clocksmith verify --json --duration 2s --no-save
probe reader --threads 1 >/dev/null &
pid=$!
part who clocksmith who --json --duration 3s -p $pid
kill $pid
part collect clocksmith collect --output /tmp/bundle
part why-bundle clocksmith why --json --bundle /tmp/bundle
part predict-bundle clocksmith predict --json --bundle /tmp/bundle
reader --threads 2 --seconds SECONDS
echo "== reads $?"
echo '== end'"#;

/// The guests of one clock.
fn place(clock: &str, seconds: &str) -> (Place, String) {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let (program, reader) = (guest::program(), reader());
    let paravirt: Paravirt = clock.parse().unwrap();
    let programs = Programs {
        clocksmith: Some(&program),
        reader: Some(&reader),
        reader_threads: 2,
        paravirt: Some(paravirt),
        ..Programs::default()
    };
    let kernel = std::env::var("CLOCKSMITH_PARAVIRT_KERNEL").unwrap_or_else(|_| "6.1".into());
    let cache = Cache::standard().unwrap();
    let place = Place::new(&cases, &cache, &kernel, Accel::Tcg, &programs).unwrap();
    (place, SCRIPT.replace("SECONDS", seconds))
}

/// The output of a part, and its exit status.
fn part<'a>(lines: &'a str, name: &str) -> (&'a str, &'a str) {
    let status = said(lines, name);
    let begin = format!("-- {name}\n");
    let after = lines.split_once(begin.as_str()).map_or("", |(_, after)| after);
    (after.split_once(&format!("\n== {name} ")).map_or("", |(text, _)| text).trim(), status)
}

fn json(lines: &str, name: &str) -> Value {
    let (text, status) = part(lines, name);
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{name} ({status}): {error}: {text}"))
}

fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

fn ids(value: &Value, path: &str) -> Vec<String> {
    let list = value.pointer(path).and_then(Value::as_array).cloned().unwrap_or_default();
    list.iter().map(|item| text(item, "/id").to_owned()).collect()
}

/// Collects all faults, so that one guest reports all of them.
struct Judge {
    clock: String,
    wrong: String,
}

impl Judge {
    fn is(&mut self, what: &str, found: &str, wanted: &str) {
        if found != wanted {
            writeln!(self.wrong, "{}: {what} is `{found}`, and should be `{wanted}`", self.clock)
                .unwrap();
        }
    }

    fn holds(&mut self, what: &str, holds: bool) {
        if !holds {
            writeln!(self.wrong, "{}: {what}", self.clock).unwrap();
        }
    }

    fn end(self) {
        assert!(self.wrong.is_empty(), "{}", self.wrong);
    }
}

/// Boots a guest on this clock, runs the program's verbs and the library there, and judges them. The costs are
/// printed.
fn verdicts(clock: &str, seconds: &str) {
    let (place, script) = place(clock, seconds);
    let stage = place.stage("verdicts", &script).unwrap();
    let (guest, _qmp) = stage.start("guest", None).unwrap();
    let lines = guest.frames(PATIENCE).unwrap().get("run").unwrap().to_owned();
    let lines = lines.as_str();
    let kind = place.paravirt().unwrap().kind;
    let mut judge = Judge { clock: clock.into(), wrong: String::new() };
    said_end(lines);

    // The truth.
    judge.is("the clocksource", said(lines, "clocksource"), kind.clocksource());
    let (truth, _) = part(lines, "truth");
    let monotonic = truth.lines().find(|line| line.starts_with("MONOTONIC ")).unwrap();
    let served = monotonic.contains("path=vdso ");
    println!("{clock}: {monotonic}");
    judge.holds(
        "CLOCK_MONOTONIC is served as the kind of clock says",
        served == kind.is_served_in_user_space(),
    );
    let verdict = if served { "ok" } else { "slow" };
    let path = if served { "vdso" } else { "syscall" };

    // The program.
    let why = json(lines, "why");
    println!("{clock}: why: {}", text(&why, "/headline"));
    judge.is("why", text(&why, "/verdict"), verdict);
    let causes = ids(&why, "/causes");
    println!("{clock}: causes {causes:?}, remedies {:?}", ids(&why, "/remedies"));
    // Without its page Hyper-V has a clocksource that has no mode for user space; the others have one that is not used.
    let bypassed = causes.contains(&"vdso-bypassed".to_owned());
    judge.is("whether why says vdso-bypassed", &bypassed.to_string(), &(!served).to_string());
    judge.is("the path that why measures", text(&why, "/reads/0/path"), path);
    judge.is("why's clocksource", text(&why, "/clocksource/current"), kind.clocksource());
    for name in ["check", "watch"] {
        let check = json(lines, name);
        println!("{clock}: {name}: {}", text(&check, "/line"));
        judge.is(name, text(&check, "/verdict"), verdict);
        judge.is(
            &format!("{name}'s state"),
            text(&check, "/state"),
            if served { "ok" } else { "warning" },
        );
    }
    judge.is("check's exit code", part(lines, "check-line").1, if served { "0" } else { "1" });
    let bundle = json(lines, "why-bundle");
    println!("{clock}: why --bundle: {}", text(&bundle, "/headline"));
    judge.is("why --bundle", text(&bundle, "/verdict"), verdict);
    for name in ["predict", "predict-bundle"] {
        let predict = json(lines, name);
        judge.is(name, text(&predict, "/current"), kind.clocksource());
        // A prediction has no measurement, and nothing else shows the sequence of Hyper-V's page.
        let open = predict["undecided"].to_string().contains("sequence number");
        if kind.clocksource() == "hyperv_clocksource_tsc_page" {
            judge.holds(&format!("{name} does not say that the page may be invalid"), open);
        }
        if !open {
            judge.is(&format!("{name}'s vdso"), &predict["vdso"].to_string(), &served.to_string());
        }
    }
    let run = json_of_run(lines);
    println!("{clock}: run ({}): {}", part(lines, "run").1, text(&run, "/reason"));
    if served {
        judge.is("run's way", text(&run, "/via"), "none");
    } else {
        judge.holds("run calls a slow clock fast", text(&run, "/via") != "none");
    }
    let verify = json(lines, "verify");
    println!("{clock}: verify: {}", text(&verify, "/headline"));
    judge.holds("verify distrusts a good machine", text(&verify, "/verdict") != "not trusted");
    judge.holds("verify failed", matches!(part(lines, "verify").1, "0" | "3"));
    judge.is("bench's exit code", part(lines, "bench-text").1, "0");
    let who = json(lines, "who");
    println!("{clock}: who: {}", text(&who, "/headline"));
    // The probe reads through the vDSO, and makes system calls around these reads.
    let paths: Vec<&str> = who["rows"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| text(row, "/clock") == "CLOCK_MONOTONIC")
        .map(|row| text(row, "/path"))
        .collect();
    let (seen, unseen) = if served { ("vdso", "vdso_fallback") } else { ("vdso_fallback", "vdso") };
    judge.holds(&format!("who does not see {seen}: {paths:?}"), paths.contains(&seen));
    judge.holds(&format!("who sees {unseen}: {paths:?}"), !paths.contains(&unseen));

    // The library.
    let source = match kind {
        Kind::Kvm => "pvclock",
        Kind::Hyperv => "hyperv-page",
        Kind::KvmInvtsc | Kind::HypervInvtsc => "vvar",
        _ => "syscall",
    };
    let reports: Vec<Value> = stage
        .journal()
        .entries()
        .into_iter()
        .filter_map(|entry| match entry {
            Entry::Report(report) => Some(report),
            Entry::Mark(_) => None,
        })
        .collect();
    judge.holds("the library reported nothing", !reports.is_empty());
    for report in &reports {
        judge.is("the library's source", text(report, "/source"), source);
    }
    judge.is("the reader's exit code", said(lines, "reads"), "0");
    if let Some(last) = reports.last() {
        exact(&mut judge, last);
        println!("{clock}: reads: {last}");
    }
    let bench = json(lines, "bench");
    judge.is("bench's library source", text(&bench, "/method/library_source"), source);
    costs(clock, &bench);
    if !judge.wrong.is_empty() {
        println!("{lines}");
    }
    judge.end();
}

fn said_end(lines: &str) {
    assert!(lines.lines().any(|line| line == "== end"), "the guest did not end:\n{lines}");
}

/// Refused, it prints no document.
fn json_of_run(lines: &str) -> Value {
    let (text, status) = part(lines, "run");
    if status == "125" {
        return serde_json::json!({ "via": "refused", "reason": "refused" });
    }
    serde_json::from_str(text).unwrap_or_else(|error| panic!("run ({status}): {error}: {text}"))
}

/// No step back in a thread and between threads, and no time outside of two readings of the kernel's clock.
fn exact(judge: &mut Judge, report: &Value) {
    let zero =
        ["back_steps", "largest_error_ns", "largest_ordered_error_ns", "largest_wall_error_ns"];
    for name in zero {
        judge.is(&format!("the reader's {name}"), &report[name].to_string(), "0");
    }
}

/// Ratios of one guest: under emulation nothing else compares.
fn costs(clock: &str, bench: &Value) {
    let ns = |name: &str| {
        let rows = bench["rows"].as_array().unwrap();
        let row = rows.iter().find(|row| text(row, "/name") == name)?;
        row.pointer("/costs/throughput/ns").and_then(Value::as_f64)
    };
    let names = [
        "monotonic_ns/library",
        "rdtsc/counter",
        "CLOCK_MONOTONIC/vdso",
        "CLOCK_MONOTONIC/syscall",
    ];
    let [library, counter, vdso, call] = names.map(|name| ns(name).unwrap_or(f64::NAN));
    println!(
        "{clock}: a read of the library {library:.0} ns: {:.1} of rdtsc ({counter:.0} ns), {:.2} of the vDSO ({vdso:.0} ns), {:.2} \
         of a system call ({call:.0} ns)",
        library / counter,
        library / vdso,
        library / call
    );
}

/// Plays a scenario on this clock while the library's reader reads, and checks that it stays exact.
fn play(name: &str, clock: &str, source: &str) {
    let (place, _) = place(clock, "1");
    let story: Story = scenario::play(name, &place).unwrap().unwrap();
    println!("{clock}, {name}: {}", story.summary());
    assert!(story.problems.is_empty(), "{clock}, {name}: {:#?}", story.problems);
    let mut judge = Judge { clock: format!("{clock}, {name}"), wrong: String::new() };
    let last = story.readers.last().unwrap();
    exact(&mut judge, last);
    judge.is("the sources in order", &last["sources"].to_string(), &format!("[\"{source}\"]"));
    judge.end();
}

#[test]
#[ignore = "boots a guest"]
fn kvm_clock_is_exact_and_fast() {
    verdicts("kvm", "30");
}

#[test]
#[ignore = "boots a guest"]
fn hyperv_page_is_exact_and_fast() {
    verdicts("hyperv", "30");
}

#[test]
#[ignore = "boots a guest"]
fn slow_kvm_clock_without_the_stable_bit() {
    verdicts("kvm-unstable", "3");
}

#[test]
#[ignore = "boots a guest"]
fn slow_kvm_clock_whose_stable_bit_is_not_announced() {
    verdicts("kvm-unannounced", "3");
}

#[test]
#[ignore = "boots a guest"]
fn slow_hyperv_page_that_is_not_valid() {
    verdicts("hyperv-page-invalid", "3");
}

#[test]
#[ignore = "boots a guest"]
fn slow_hyperv_without_its_page() {
    verdicts("hyperv-msr", "3");
}

#[test]
#[ignore = "boots a guest"]
fn tsc_beside_a_paravirtual_clock() {
    verdicts("kvm-invtsc", "3");
    verdicts("hyperv-invtsc", "3");
}

#[test]
#[ignore = "boots a guest"]
fn events_kvm_clock_stays_exact() {
    for name in scenario::PARAVIRT {
        play(name, "kvm,refresh=50", "pvclock");
    }
}

#[test]
#[ignore = "boots a guest"]
fn events_hyperv_page_stays_exact() {
    for name in scenario::PARAVIRT {
        play(name, "hyperv,refresh=50", "hyperv-page");
    }
}
