//! The checks of cargo itself.

use crate::call::call;
use crate::context::WORKSPACE;
use crate::needs::{CARGO_CLIPPY, CC, MUSL, Need};
use crate::step::{Done, Step, Stop, Tier};
use std::collections::BTreeSet;

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
    run: |context| call("cargo test --no-run").workspace().run(context),
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
    run: |context| call("cargo test --no-run --test it").workspace().run(context),
};

/// The compiler of [`COMPILE`] keeps its warnings, and cargo shows them each time.
pub(crate) static CLIPPY: Step = Step {
    name: "clippy",
    what: "all crates with all features compile without a lint of rustc or of clippy",
    tier: Tier::Default,
    emulated: false,
    beside: false,
    seconds: 190,
    budget: 350,
    short: None,
    needs: &[CC, CARGO_CLIPPY],
    uses: &[],
    run: |context| {
        has_lints(crate::lint::environment().as_ref())?;
        let compiled = call("cargo test --no-run --all-targets").workspace().plain();
        let answer = compiled.own_flags().answer(context)?;
        let warnings = answer.text.lines().filter(|line| line.starts_with("warning")).count();
        match (answer.good(), warnings) {
            (true, 0) => Ok(()),
            (true, _) => Err(Stop::fail("there are warnings above")),
            (false, _) if answer.late.is_some() => {
                Err(Stop::fail(format!("the compiler {}", answer.how())))
            }
            (false, _) => Err(Stop::fail("the workspace does not compile")),
        }
    },
};

/// Without the driver the compiler would be rustc alone, and the step would pass without a lint of clippy.
fn has_lints<T>(environment: Option<&T>) -> Done {
    if environment.is_some() {
        return Ok(());
    }
    Err(Stop::skip(
        "no clippy-driver beside this rustc (bin/ in `rustc --print sysroot`): rustup component add clippy",
    ))
}

pub(crate) static DOC: Step = Step {
    name: "doc",
    what: "`cargo doc` makes the documentation without a lint of rustdoc",
    tier: Tier::All,
    emulated: false,
    beside: false,
    seconds: 70,
    budget: 200,
    short: Some(70),
    needs: &[CC],
    uses: &[],
    run: |context| {
        call("cargo doc --no-deps").args(WORKSPACE).env("RUSTDOCFLAGS", "-D warnings").run(context)
    },
};

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
            return call("packaging/features.sh").own_flags().script(context);
        }
        for package in ["clocksmith", "clocksmith-cli"] {
            let check = call("cargo check --locked --no-default-features -p").arg(package);
            check.own_flags().run(context)?;
        }
        Ok(())
    },
};

/// Commands that tests start, and skip themselves without.
const TEST_NEEDS: &[Need] = &[
    // The order of system calls that a power cut requires.
    Need::Within("strace", "strace"),
    Need::Within("objdump", "binutils"),
    Need::Within("patch", "patch"),
    Need::Within("script", "bsdutils"),
    Need::Within("setpriv", "util-linux"),
];

pub(crate) static TEST: Step = Step {
    name: "test",
    what: "all tests of all crates that need no guest",
    tier: Tier::Default,
    emulated: false,
    beside: false,
    seconds: 165,
    budget: crate::programs::BUDGET,
    short: None,
    needs: TEST_NEEDS,
    uses: &[&COMPILE],
    run: |context| {
        crate::programs::run(context)?;
        match crate::needs::lacking(TEST_NEEDS).filter(|_| crate::runner::is_set("STRICT")) {
            Some(reason) => Err(Stop::skip(reason)),
            None => Ok(()),
        }
    },
};

/// The default tier kills at every fourth of these points.
pub(crate) static CRASH: Step = Step {
    name: "crash",
    what: "`fix` killed before each of its system calls leaves the old state or the new one",
    tier: Tier::All,
    emulated: false,
    beside: false,
    seconds: 400,
    budget: 1000,
    short: None,
    needs: &[],
    uses: &[],
    run: |context| {
        call("cargo test")
            .workspace()
            .args("--test crash -- --nocapture --test-threads 2")
            .env("CLOCKSMITH_CRASH", "all")
            .run(context)
    },
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
            .run(context)
    },
};

/// Programs that count their own reads in a mapped file. `who` watches each of them for one window.
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
        // And not by clippy's compiler, which optimises less.
        call("cargo test --config profile.dev.package.clocksmith-who.opt-level=1")
            .args(WORKSPACE)
            .args("--test calibrated -- --ignored")
            .env("CALIBRATION_RUNS", runs)
            .env("CALIBRATION_SECONDS", seconds)
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
    // Debian 12 has Go, Node and others in versions with which this has not been tried: the step names those that are missing.
    needs: &[CC, Need::Package("g++ python3 default-jdk-headless"), MUSL],
    uses: &[&COMPILE],
    run: |context| {
        let answer = call("cargo test")
            .workspace()
            .args("--test agreement --test pythons --test callers --test scripts")
            .args("-- --ignored --nocapture")
            .answer(context)?;
        if !answer.good() {
            return Err(Stop::fail(format!("`cargo test ... --test agreement`: {}", answer.how())));
        }
        agreed(&answer.text)
    },
};

/// A language of which the tools are not here has not been tried: its tests say so, and pass.
fn agreed(text: &str) -> Done {
    let names = crate::skips::reasons(text)
        .map(|what| what.split(": ").next().unwrap_or(what).trim().to_lowercase());
    let names: BTreeSet<String> = names.collect();
    if names.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = names.into_iter().collect();
    Err(Stop::skip(format!("the others agree; not there: {}", names.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clippy_without_its_driver_is_skipped() {
        assert_eq!(has_lints(Some(&())), Ok(()));
        assert!(matches!(has_lints::<()>(None), Err(Stop::Skip { network: false, .. })));
    }

    #[test]
    fn agreement_names_each_language_that_is_missing() {
        assert_eq!(agreed("running 1 test\ntest a ... ok\n"), Ok(()));
        let text = "\
skipped: Go: go: No such file or directory (os error 2)
skipped: ruby
skipped: Node: node: No such file or directory (os error 2)
test node_with_a_map ... skipped: node
skipped: musl: rustc lacks the target
test every_language_is_understood ... ok
";
        let Err(Stop::Skip { reason, network: false }) = agreed(text) else { panic!("no skip") };
        assert_eq!(reason, "the others agree; not there: go, musl, node, ruby");
    }
}
