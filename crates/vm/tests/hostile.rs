//! For any content of a file, eight times as much of it takes about eight times as long, and not sixty-four times. Only
//! ratios are compared, and with a margin: other programs run, too.

#[path = "hostile/mod.rs"]
mod texts;

use clocksmith_vm::{Choices, Document, Kind, Text, fix, lint};
use std::time::Duration;

const SMALL: usize = 1 << 10;
const LARGE: usize = 8 * SMALL;
/// A shorter time is not a usable measurement.
const LEAST: Duration = Duration::from_millis(1);
/// Between eight, which is linear, and sixty-four, which is quadratic.
const WORST: u32 = 30;

/// Returns the CPU time of this thread: waiting on a busy machine is not included.
fn run() -> Duration {
    // Not `schedstat`, which the kernel updates at ticks.
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(now).unwrap_or_default()
}

/// Returns the time to check a file, and to fix it.
fn cost(kind: Kind, name: &str, text: &str, mends: bool) -> Duration {
    let document = Document {
        name: name.to_owned(),
        text: Text::new(text.to_owned()),
        kind,
        guest: None,
        models: None,
    };
    let begun = run();
    if mends {
        let _ = fix(&document, &Choices::default());
    } else {
        let _ = Kind::detect(name, text);
        let _ = lint(&document);
    }
    run().saturating_sub(begun)
}

/// Repeated expansion of variables costs up to a bound, which only larger files reach.
fn up_to_a_bound(case: &str) -> bool {
    ["one l", "doubling", "variables that"].iter().any(|begin| case.starts_with(begin))
}

fn grows_with_its_length(kind: Kind, mends: bool, wanted: impl Fn(&str) -> bool) {
    let texts = |size| {
        let files = texts::cases(kind, size).into_iter().map(|(case, text)| {
            let (name, text) = texts::file(kind, &text);
            (case, name, text)
        });
        let machines = texts::machines(size).into_iter().map(|(case, text)| (case, "a.vbox", text));
        files.chain(machines.filter(|_| kind == Kind::Virtualbox)).collect::<Vec<_>>()
    };
    for (small, large) in texts(SMALL).iter().zip(&texts(LARGE)) {
        let case = small.0;
        if !wanted(case) || (kind == Kind::Qemu && up_to_a_bound(case)) {
            continue;
        }
        // A machine that is busy for a moment gets another chance.
        let mut seen = Vec::new();
        let linear = (0..4).any(|_| {
            let short = cost(kind, small.1, &small.2, mends);
            let long = cost(kind, large.1, &large.2, mends);
            seen.push((short, long));
            long < short.max(LEAST) * WORST
        });
        assert!(linear, "{}, {case}: {SMALL} and {LARGE} bytes took {seen:?}", kind.name());
    }
}

#[test]
fn looking_takes_as_long_as_the_file_is() {
    for kind in Kind::all() {
        grows_with_its_length(kind, false, |_| true);
    }
}

#[test]
fn mending_takes_as_long_as_the_file_is() {
    grows_with_its_length(Kind::Vmware, true, |case| case == "virtual TSC");
    grows_with_its_length(Kind::Persistence, true, |case| case == "one line of defaults");
    grows_with_its_length(Kind::Libvirt, true, |case| case == "domains");
}

#[test]
fn variables_that_double_each_other_make_a_part() {
    let cases = texts::cases(Kind::Qemu, 96 << 10);
    for (_, text) in cases.iter().filter(|(case, _)| case.starts_with("variables that")) {
        let (name, text) = texts::file(Kind::Qemu, text);
        let document = Document {
            name: name.to_owned(),
            text: Text::new(text),
            kind: Kind::Qemu,
            guest: None,
            models: None,
        };
        assert!(lint(&document).unwrap().partial);
    }
}
