//! Checks of the library's clock that a plain test program cannot make: every order of its locks, other architectures,
//! undefined behaviour, data races.

use crate::call::call;
use crate::context::Context;
use crate::needs::{Need, has_target, is_command};
use crate::step::{Done, Step, Stop, Tier};

const I686: &str = "i686-unknown-linux-musl";
const MUSL: &str = "x86_64-unknown-linux-musl";
const AARCH64: &str = "aarch64-unknown-linux-musl";
/// Where it only has to build: without support, or without a way to run it here.
const CHECKED: [&str; 5] = [
    "riscv64gc-unknown-linux-gnu",
    "s390x-unknown-linux-gnu",
    "powerpc64le-unknown-linux-gnu",
    "x86_64-pc-windows-gnu",
    "aarch64-apple-darwin",
];

/// Targets without an operating system: crates without the standard library build there.
const NONE: [&str; 2] = ["x86_64-unknown-none", "aarch64-unknown-none"];

pub(crate) static CLOCK: Step = Step {
    name: "clock",
    what: "every order of the locks of the clock, and of how the clock of `run` is published (loom); a minute of first \
           reads beside a thread that maps and unmaps memory",
    tier: Tier::All,
    emulated: false,
    beside: false,
    seconds: 115,
    budget: 300,
    short: None,
    needs: &[],
    uses: &[],
    run: |context| {
        // Half a minute over memory that is made for it, and half a minute over the process's own.
        for tests in ["--lib", "--test hostile"] {
            call("cargo test --locked -p clocksmith")
                .args(tests)
                .arg("neighbour_that_unmaps")
                .env("CLOCKSMITH_NEIGHBOUR_SECONDS", "30")
                .run(context)?;
        }
        call(
            "cargo test --locked --profile loom -p clocksmith -p clocksmith-raw --features clocksmith-raw/loom --lib --target-dir",
        )
        .arg(context.target.join("loom"))
        .arg("model")
        .env("RUSTFLAGS", "--cfg clocksmith_loom")
        .run(context)
    },
};

pub(crate) static TARGETS: Step = Step {
    name: "targets",
    what: "the clock's tests on 32-bit x86, on aarch64 and in static programs; it builds for targets without support, and \
           without the standard library",
    tier: Tier::All,
    emulated: false,
    beside: false,
    seconds: 170,
    budget: 420,
    short: None,
    needs: &[
        Need::Target(I686),
        Need::Target(MUSL),
        Need::Target(AARCH64),
        Need::Target(CHECKED[0]),
        Need::Target(CHECKED[1]),
        Need::Target(CHECKED[2]),
        Need::Target(CHECKED[3]),
        Need::Target(CHECKED[4]),
        Need::Target(NONE[0]),
        Need::Target(NONE[1]),
        Need::Package("qemu-user-static"),
    ],
    uses: &[],
    run: other_targets,
};

fn other_targets(context: &Context) -> Done {
    let mut missing = Vec::new();
    if has_target(I686) {
        call("cargo test --locked -p clocksmith --target").arg(I686).run(context)?;
    } else {
        missing.push(I686);
    }
    // Static programs have their memory right below the kernel's pages.
    let of_gnu =
        call("cargo test --locked -p clocksmith --test hostile --target x86_64-unknown-linux-gnu");
    of_gnu.env("RUSTFLAGS", "-C target-feature=+crt-static").run(context)?;
    if has_target(MUSL) {
        // Position-independent, and not.
        for model in ["pie", "static"] {
            call("cargo test --locked -p clocksmith --test hostile --target")
                .arg(MUSL)
                .env("RUSTFLAGS", format!("-C relocation-model={model}"))
                .run(context)?;
        }
    } else {
        missing.push(MUSL);
    }
    let emulator = is_command("qemu-aarch64-static");
    if has_target(AARCH64) && emulator {
        call("cargo test --locked -p clocksmith --lib --test hostile --target")
            .arg(AARCH64)
            .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER", "rust-lld")
            .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUNNER", "qemu-aarch64-static")
            .env("CLOCKSMITH_TEST_RUNNER", "qemu-aarch64-static")
            .run(context)?;
    } else {
        if !has_target(AARCH64) {
            missing.push(AARCH64);
        }
        if !emulator {
            missing.push("qemu-user-static (apt-get)");
        }
    }
    for target in CHECKED {
        if has_target(target) {
            call("cargo check --locked -p clocksmith --all-features --target")
                .arg(target)
                .run(context)?;
        } else {
            missing.push(target);
        }
    }
    match call("packaging/no-std.sh").script(context) {
        Err(Stop::Skip { reason, .. }) => missing.extend(untried(&reason)?),
        other => other?,
    }
    without(&missing)
}

/// Which of the targets without an operating system `no-std.sh` has not tried, by its last line. Without a compiler it tries
/// nothing, which is a reason of its own.
fn untried(reason: &str) -> Result<Vec<&'static str>, Stop> {
    let named = |target: &&str| reason.split([' ', ',']).any(|word| word == *target);
    let targets: Vec<&str> = NONE.into_iter().filter(named).collect();
    if targets.is_empty() { Err(Stop::skip(reason)) } else { Ok(targets) }
}

/// A target that is not installed is a missing tool, whatever the others say.
fn without(missing: &[&str]) -> Done {
    if missing.is_empty() {
        return Ok(());
    }
    Err(Stop::skip(format!(
        "the others are good; not there: {} (rustup target add)",
        missing.join(", ")
    )))
}

pub(crate) static MIRI: Step = Step {
    name: "miri",
    what: "no undefined behaviour in the clock and in the published lines of `run` (Miri)",
    tier: Tier::All,
    emulated: false,
    beside: false,
    seconds: 120,
    budget: 400,
    short: None,
    needs: &[Need::Nightly],
    uses: &[],
    run: |context| {
        let miri = || {
            call("cargo +nightly miri test --locked --lib --target-dir")
                .arg(context.target.join("miri"))
        };
        miri()
            .args("-p clocksmith")
            .env("PROPTEST_CASES", "4")
            .env("MIRIFLAGS", "-Zmiri-disable-isolation -Zmiri-permissive-provenance")
            .run(context)?;
        miri()
            .args("-p clocksmith-raw timeline::tests::a_child")
            .env("PROPTEST_CASES", "2")
            .env("MIRIFLAGS", "-Zmiri-disable-isolation")
            .run(context)
    },
};

pub(crate) static TSAN: Step = Step {
    name: "tsan",
    what: "no data race in the clock (ThreadSanitizer)",
    tier: Tier::All,
    emulated: false,
    beside: false,
    seconds: 90,
    budget: 300,
    short: None,
    needs: &[Need::Nightly],
    uses: &[],
    run: |context| {
        call("cargo +nightly test --locked -Zbuild-std --target x86_64-unknown-linux-gnu --target-dir")
            .arg(context.target.join("tsan"))
            .args("-p clocksmith --test hostile -- sources_change ordered_reads every_source")
            .env("RUSTFLAGS", "-Zsanitizer=thread")
            .run(context)
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_that_was_not_tried_is_named_alone() {
        let line = "the program is good; not tried, because rustup target add is needed: aarch64-unknown-none";
        assert_eq!(untried(line), Ok(vec![NONE[1]]));
        assert_eq!(untried(&format!("{line} {}", NONE[0])), Ok(NONE.to_vec()));
        assert_eq!(untried("no cc"), Err(Stop::skip("no cc")));
    }

    #[test]
    fn target_that_is_not_installed_is_a_missing_tool_and_not_the_network() {
        assert_eq!(without(&[]), Ok(()));
        let Err(Stop::Skip { reason, network }) = without(&NONE) else { panic!("no skip") };
        assert!(!network && reason.contains(NONE[0]) && reason.contains("rustup target add"));
    }
}
