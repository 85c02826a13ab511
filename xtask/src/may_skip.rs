//! `MAY_SKIP`: what may be missing although `STRICT` is set, because an installer could not provide it.

use crate::plan::find;

/// The steps of `MAY_SKIP`, each with what it may lack; `None`: it may be skipped for any reason.
#[derive(Debug, Default)]
pub(crate) struct MaySkip(Vec<(String, Option<String>)>);

impl MaySkip {
    /// Reads words like `watch` and `deploy:helm`. A name that is not that of a step is refused.
    pub(crate) fn parse(text: &str) -> Result<MaySkip, String> {
        let words = text.split(|letter: char| letter.is_whitespace() || letter == ',');
        let words = words.filter(|word| !word.is_empty());
        words.map(entry).collect::<Result<_, _>>().map(MaySkip)
    }

    /// Reads `MAY_SKIP`.
    pub(crate) fn of_environment() -> Result<MaySkip, String> {
        let words = std::env::var_os("MAY_SKIP").unwrap_or_default();
        let words = words.into_string();
        MaySkip::parse(&words.map_err(|_| "MAY_SKIP wants names of steps, in UTF-8")?)
    }

    /// Whether a step may be skipped for this reason. Each part of a reason that names several is looked at.
    pub(crate) fn has(&self, step: &str, reason: &str) -> bool {
        let entries = || self.0.iter().filter(|(name, _)| name == step);
        if entries().any(|(_, lack)| lack.is_none()) {
            return true;
        }
        let reason = reason.to_lowercase();
        let parts = parts(&reason);
        let is_named = |part: &str| {
            entries().any(|(_, lack)| lack.as_ref().is_some_and(|lack| names(part, lack)))
        };
        !parts.is_empty() && parts.into_iter().all(is_named)
    }
}

fn entry(word: &str) -> Result<(String, Option<String>), String> {
    let (name, lack) = match word.split_once(':') {
        Some((name, lack)) => (name, Some(lack.to_lowercase())),
        None => (word, None),
    };
    if matches!(name, "all" | "ci") {
        return Err(format!("MAY_SKIP: {name} is no step; without STRICT, each may be skipped"));
    }
    if lack.as_ref().is_some_and(String::is_empty) {
        return Err(format!("MAY_SKIP: {word}: after the colon goes what may be missing"));
    }
    find(name).map(|_| (name.to_owned(), lack)).map_err(|why| format!("MAY_SKIP: {why}"))
}

/// The parts of a reason that name something that is missing: after `not there: ` each of the list; without it what semicolons
/// separate. Advice (`install it, or name another step`) names nothing.
fn parts(reason: &str) -> Vec<&str> {
    let lists = reason.split(';').map(str::trim).filter(|part| !is_advice(part));
    lists
        .flat_map(|part| match part.split_once("not there: ") {
            Some((_, list)) => list.split(',').map(str::trim).collect(),
            None => vec![part],
        })
        .collect()
}

/// Whether a part of a reason has this name as a whole: `go` is not in `mongo` or `go-md2man`, and `c` is not in `c++`.
fn names(part: &str, name: &str) -> bool {
    let is_of_name = |letter: char| letter.is_alphanumeric() || "-+_.".contains(letter);
    part.match_indices(name).any(|(at, _)| {
        let (before, after) = (&part[..at], &part[at + name.len()..]);
        // A full stop after a name ends the sentence.
        let after = after.trim_start_matches('.');
        !before.ends_with(is_of_name) && !after.starts_with(is_of_name)
    })
}

/// What a part of a reason says besides what is missing.
fn is_advice(part: &str) -> bool {
    part.is_empty()
        || part.starts_with("or .ci/run ")
        || ["the others ", "the other tests "].iter().any(|begin| part.starts_with(begin))
        || part.starts_with("install ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn may_skip_takes_steps_alone() {
        assert!(MaySkip::parse("fmt watch").is_ok());
        let error = MaySkip::parse("fmt all").unwrap_err();
        assert!(error.contains("MAY_SKIP: all is no step"), "{error}");
        assert!(MaySkip::parse("acions").unwrap_err().contains("perhaps actions"));
        assert!(MaySkip::parse("acions:x").unwrap_err().contains("perhaps actions"));
        assert!(MaySkip::parse("deploy:").is_err());
    }

    #[test]
    fn may_skip_of_a_block_with_lines_has_each_of_them() {
        let may = MaySkip::parse("actions\nprose,\t tree\n").unwrap();
        for step in ["actions", "prose", "tree"] {
            assert!(may.has(step, "any"));
        }
        assert!(!may.has("fmt", "any"));
    }

    #[test]
    fn may_skip_with_a_name_forgives_no_other_name_that_has_it_within() {
        for (lack, reason, forgiven) in [
            ("go", "the others agree; not there: mongo", false),
            ("go", "the others agree; not there: go-md2man", false),
            ("go", "the others agree; not there: mongo, go", false),
            ("go", "no go: apt-get install golang-go", true),
            ("go", "no Go.", true),
            ("go", "no go.mod", false),
            ("c", "the others agree; not there: c++, c", false),
            ("c", "no cc: apt-get install gcc libc6-dev", false),
            ("c", "the others agree; not there: c", true),
            ("c++", "the others agree; not there: c++", true),
            ("musl-gcc", "the others agree; not there: musl-gcc (apt-get)", true),
            ("gcc", "the others agree; not there: musl-gcc (apt-get)", false),
            ("libc6-dev", "no libc6-dev, which links", true),
            ("helm.sh", "no helm: go install helm.sh/helm/v3/cmd/helm@v3.22.0", true),
            ("helm.s", "no helm: go install helm.sh/helm/v3/cmd/helm@v3.22.0", false),
            ("lüa", "no lüa", true),
        ] {
            let may = MaySkip::parse(&format!("agreement:{lack}")).unwrap();
            assert_eq!(may.has("agreement", reason), forgiven, "{lack}: {reason}");
        }
    }

    #[test]
    fn may_skip_with_what_may_be_missing_forgives_nothing_else() {
        let may = MaySkip::parse(
            "deploy:helm.sh targets:riscv64gc-unknown-linux-gnu agreement:go agreement:node miri:nightly msrv:rustup \
             python:cargo formats:tuned targets:aarch64-unknown-none test:strace actions:actionlint",
        )
        .unwrap();
        for (step, reason, forgiven) in [
            ("deploy", "no helm: go install helm.sh/helm/v3/cmd/helm@v3.22.0", true),
            ("deploy", "no umoci: apt-get install umoci", false),
            (
                "deploy",
                "no umoci: apt-get install umoci; helm: no helm: go install helm.sh/helm",
                false,
            ),
            (
                "targets",
                "the others are good; not there: riscv64gc-unknown-linux-gnu (rustup target add)",
                true,
            ),
            (
                "targets",
                "the others are good; not there: riscv64gc-unknown-linux-gnu, x86_64-unknown-none",
                false,
            ),
            ("agreement", "the others agree; not there: go, node", true),
            ("agreement", "the others agree; not there: go, java", false),
            (
                "actions",
                "no actionlint: go install github.com/rhysd/actionlint; or .ci/run --tools actions",
                true,
            ),
            ("targets", "no cc, or qemu-user-static", false),
            ("watch", "no helm.sh", false),
            // Reasons with commas and semicolons of their own.
            (
                "miri",
                "no nightly with Miri: rustup toolchain install nightly -c miri,rust-src",
                true,
            ),
            (
                "msrv",
                "no rustup, which has Rust 1.88; install it, or name the step library alone",
                true,
            ),
            ("python", "no cargo, which builds the module; install Rust", true),
            ("python", "no python3 of version 3.9 or later: apt-get install python3", false),
            (
                "targets",
                "the others are good; not there: qemu-user-static (apt-get install qemu-user-static)",
                false,
            ),
            (
                "targets",
                "the others are good; not there: aarch64-unknown-none (rustup target add)",
                true,
            ),
            ("test", "the other tests pass; not there: strace (apt-get install strace)", true),
            (
                "test",
                "the other tests pass; not there: strace (apt-get install strace), patch (apt-get install patch)",
                false,
            ),
            ("deploy", "", false),
        ] {
            assert_eq!(may.has(step, reason), forgiven, "{step}: {reason}");
        }
    }
}
