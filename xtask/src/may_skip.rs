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

    /// Whether a step may be skipped for this reason. Each part of a reason that names several is looked at.
    pub(crate) fn has(&self, step: &str, reason: &str) -> bool {
        let entries = || self.0.iter().filter(|(name, _)| name == step);
        if entries().any(|(_, lack)| lack.is_none()) {
            return true;
        }
        let reason = reason.to_lowercase();
        let mut parts = parts(&reason).peekable();
        let is_named = |part: &str| {
            entries().any(|(_, lack)| lack.as_ref().is_some_and(|lack| part.contains(lack)))
        };
        parts.peek().is_some() && parts.all(is_named)
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

/// The parts of a reason that name something that is missing.
fn parts(reason: &str) -> impl Iterator<Item = &str> {
    let parts = reason.split([';', ',']).map(str::trim);
    parts.filter(|part| !part.starts_with("the others ") && !part.starts_with("or "))
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
    fn may_skip_with_what_may_be_missing_forgives_nothing_else() {
        let may = MaySkip::parse(
            "deploy:helm.sh targets:riscv64gc-unknown-linux-gnu agreement:go agreement:node",
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
            ("watch", "no helm.sh", false),
            ("deploy", "", false),
        ] {
            assert_eq!(may.has(step, reason), forgiven, "{step}: {reason}");
        }
    }
}
