//! The checks of cargo itself.

use crate::call::call;
use crate::context::WORKSPACE;
use crate::needs::{CC, Need};
use crate::step::{Step, Stop, Tier};
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The manifests with a separate lock file.
pub(super) const WORKSPACES: [&str; 4] =
    ["Cargo.toml", "fleet/Cargo.toml", "fuzz/Cargo.toml", "python/Cargo.toml"];

/// Debug programs with all features, and all test programs.
pub(crate) static COMPILE: Step = Step {
    name: "compile",
    what: "the programs and the tests, compiled",
    tier: Tier::Shared,
    emulated: false,
    beside: false,
    seconds: 135,
    budget: 300,
    short: None,
    needs: &[CC],
    uses: &[],
    run: |context| call("cargo test --no-run").args(WORKSPACE).run(context),
};

/// Only the debug program. It is compiled with the features that tests bring into shared dependencies, so that nothing
/// is compiled twice.
pub(crate) static PROGRAM: Step = Step {
    name: "program",
    what: "the program, compiled for tests",
    tier: Tier::Shared,
    emulated: false,
    beside: false,
    seconds: 120,
    budget: 240,
    short: None,
    needs: &[CC],
    uses: &[],
    run: |context| call("cargo test --no-run --test it").args(WORKSPACE).run(context),
};

pub(crate) static FMT: Step = Step {
    name: "fmt",
    what: "rustfmt changes nothing",
    tier: Tier::Default,
    emulated: false,
    beside: false,
    seconds: 2,
    budget: 20,
    short: None,
    needs: &[Need::Component("rustfmt", "rustfmt")],
    uses: &[],
    run: |context| {
        // It also colours a file.
        let plain = !std::io::stdout().is_terminal() || std::env::var_os("NO_COLOR").is_some();
        let colour = if plain { "-- --color never" } else { "" };
        // Also those beside the workspace.
        let mut bad = Vec::new();
        for manifest in WORKSPACES {
            let answer = call("cargo fmt --all --check --manifest-path")
                .arg(manifest)
                .args(colour)
                .answer(context)?;
            if !answer.good() {
                bad.push(format!("`cargo fmt --all --manifest-path {manifest}`"));
            }
        }
        if bad.is_empty() {
            return Ok(());
        }
        Err(Stop::fail(format!("run {}, or mend what it cannot read", bad.join(", "))))
    },
};

pub(crate) static CLIPPY: Step = Step {
    name: "clippy",
    what: "no lint of clippy or of the compiler, in all crates with all features",
    tier: Tier::Default,
    emulated: false,
    beside: false,
    seconds: 90,
    budget: 150,
    short: None,
    needs: &[CC, Need::Component("cargo-clippy", "clippy")],
    uses: &[],
    run: |context| {
        call("cargo clippy --all-targets").args(WORKSPACE).args("-- -D warnings").run(context)
    },
};

pub(crate) static DOC: Step = Step {
    name: "doc",
    what: "documentation builds without a warning, links included",
    tier: Tier::Default,
    emulated: false,
    beside: false,
    // After clippy, which checks the dependencies; alone it takes a minute more.
    seconds: 10,
    budget: 200,
    short: None,
    needs: &[CC],
    uses: &[],
    run: |context| {
        let mut doc =
            call("cargo doc --no-deps").args(WORKSPACE).env("RUSTDOCFLAGS", "-D warnings");
        // The same environment as in `cargo clippy -- -D warnings`, so that cargo does not check its crates again.
        if let Some(driver) = clippy_driver() {
            doc = doc
                .env("RUSTC_WORKSPACE_WRAPPER", driver)
                .env("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");
        }
        doc.run(context)
    },
};

/// Returns the compiler with clippy's lints, if it is installed.
fn clippy_driver() -> Option<PathBuf> {
    let asked = Command::new("rustc").args(["--print", "sysroot"]).output().ok()?;
    let sysroot = String::from_utf8(asked.stdout).ok()?;
    Some(Path::new(sysroot.trim_end()).join("bin/clippy-driver")).filter(|path| path.is_file())
}

pub(crate) static NO_DEFAULT_FEATURES: Step = Step {
    name: "no-default-features",
    what: "every crate builds without its features, and with all of them; short: the program and the library without",
    tier: Tier::All,
    emulated: false,
    beside: false,
    seconds: 90,
    budget: 300,
    short: Some(18),
    needs: &[Need::Tool("python3", "python3")],
    uses: &[],
    run: |context| {
        if !context.short.get() {
            return call("packaging/features.sh").script(context);
        }
        for package in ["clocksmith", "clocksmith-cli"] {
            call("cargo check --locked --no-default-features -p").arg(package).run(context)?;
        }
        Ok(())
    },
};

pub(crate) static TEST: Step = Step {
    name: "test",
    what: "all tests of all crates that need no guest",
    tier: Tier::Default,
    emulated: false,
    beside: false,
    seconds: 165,
    budget: crate::programs::BUDGET,
    short: None,
    needs: &[],
    uses: &[&COMPILE],
    run: crate::programs::run,
};

/// With the figures of the optimised program: the loops of a debug build take longer than the work that they measure.
pub(crate) static CALIBRATION: Step = Step {
    name: "calibration",
    what: "`bench --baseline` calls at most 5 of 100 rows of an unchanged machine different, and finds a change of 6 %",
    tier: Tier::All,
    // A comparison during which the host changes its speed calls most rows different.
    emulated: true,
    beside: false,
    seconds: 600,
    budget: 1200,
    short: Some(150),
    needs: &[Need::Tool("python3", "python3")],
    uses: &[],
    run: |context| {
        call("cargo build --locked --release -p clocksmith-cli").run(context)?;
        let (comparisons, changes) = if context.short.get() { ("6", "2") } else { ("40", "10") };
        call("crates/cli/calibrate.py --clocksmith")
            .arg(context.target.join("release/clocksmith"))
            .arg("--comparisons")
            .arg(comparisons)
            .arg("--changes")
            .arg(changes)
            .limit(1100)
            .run(context)
    },
};

/// Programs that count their own reads in a mapped file, watched for a window each.
pub(crate) static WHO_CALIBRATION: Step = Step {
    name: "who-calibration",
    what: "the truth lies inside the intervals that `who` prints in at least 93 of 100 rows",
    tier: Tier::All,
    emulated: false,
    beside: false,
    seconds: 700,
    budget: 1500,
    short: Some(100),
    needs: &[CC],
    uses: &[],
    run: |context| {
        let (runs, seconds) = if context.short.get() { ("1", "2") } else { ("10", "3") };
        // The cost of a read is measured by the code of the crate: not by one that is not optimised.
        call("cargo test --config profile.dev.package.clocksmith-who.opt-level=1")
            .args(WORKSPACE)
            .args("--test calibrated -- --ignored")
            .env("CALIBRATION_RUNS", runs)
            .env("CALIBRATION_SECONDS", seconds)
            .limit(1400)
            .run(context)
    },
};

/// One test program each, which takes as long as half of all other tests.
pub(crate) static AGREEMENT: Step = Step {
    name: "agreement",
    what: "what `who` says of programs in nine languages, and of several Pythons, is what they count themselves",
    tier: Tier::All,
    emulated: false,
    beside: false,
    seconds: 70,
    budget: 200,
    short: None,
    needs: &[],
    uses: &[&COMPILE],
    run: |context| {
        call("cargo test")
            .args(WORKSPACE)
            .args("--test agreement --test pythons --test callers --test scripts -- --ignored")
            .run(context)
    },
};
