//! Dependencies: licences, sources, duplicates, known vulnerabilities.

use crate::call::{Answer, call};
use crate::context::Context;
use crate::needs::Need;
use crate::offline::is_offline;
use crate::step::{Done, Step, Stop, Tier};
use crate::steps::rust::WORKSPACES;

const DENY: Need = Need::Cargo("deny", "0.20.2");

pub(crate) static LICENCES: Step = Step {
    name: "licences",
    what: "licences and sources of all dependencies are allowed",
    tier: Tier::Default,
    emulated: false,
    beside: true,
    seconds: 5,
    budget: 60,
    short: None,
    needs: &[DENY],
    uses: &[],
    run: |context| {
        are_current(context)?;
        for manifest in WORKSPACES {
            call("cargo deny --locked --log-level warn --manifest-path")
                .arg(manifest)
                .args("--config deny.toml check --hide-inclusion-graph -D no-license-field")
                .args("-A license-exception-not-encountered licenses bans sources")
                .run(context)?;
        }
        Ok(())
    },
};

/// Checks that each lock file matches its manifests; a new dependency of a crate also changes the lock files beside the
/// workspace.
fn are_current(context: &Context) -> Done {
    let mut old = Vec::new();
    for manifest in WORKSPACES {
        let answer = call("cargo metadata --locked --format-version 1 --manifest-path")
            .arg(manifest)
            .hidden()
            .answer(context)?;
        // cargo-deny reports other faults.
        if !answer.good() && is_outdated(&answer.text) {
            old.push(manifest);
        }
    }
    mended(&old).map_or(Ok(()), |how| Err(Stop::fail(how)))
}

fn is_outdated(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("error:") && line.contains("--locked"))
}

/// The commands that update these lock files.
fn mended(old: &[&str]) -> Option<String> {
    let commands: Vec<String> = old
        .iter()
        .map(|manifest| format!("`cargo update -w --manifest-path {manifest}`"))
        .collect();
    (!old.is_empty())
        .then(|| format!("lock files are not those of the manifests: run {}", commands.join(", ")))
}

/// The database is a git repository, which not every network reaches.
pub(crate) static ADVISORIES: Step = Step {
    name: "advisories",
    what: "no dependency has a known vulnerability",
    tier: Tier::All,
    emulated: false,
    beside: true,
    seconds: 10,
    budget: 130,
    // In every run.
    short: Some(10),
    needs: &[DENY, Need::Network],
    uses: &[],
    run: |context| {
        let mut checked = Vec::new();
        for manifest in WORKSPACES {
            let answer = call("cargo deny --locked --manifest-path")
                .arg(manifest)
                .args("--config deny.toml check advisories")
                .limit(120)
                .answer(context)?;
            if answer.good() {
                checked.push(manifest);
            } else {
                return Err(unchecked(&answer, &checked, manifest));
            }
        }
        Ok(())
    },
};

/// Why the check of the dependencies of a manifest failed. Only the error of the fetch can be a missing network: an
/// advisory may have any words, and a database that is here but cannot be read is something else.
fn unchecked(answer: &Answer, checked: &[&str], manifest: &str) -> Stop {
    if answer.text.lines().any(|line| line.trim_start().starts_with("error[")) {
        return Stop::fail(format!("{manifest}: a dependency has an advisory"));
    }
    // Git waits for an archive that does not respond, and prints nothing.
    let waits = answer.is_late() && answer.text.trim().is_empty();
    let fetch = answer.text.find("[ERROR] failed to fetch").and_then(|at| answer.text.get(at..));
    if waits || fetch.is_some_and(is_offline) {
        let which = match checked {
            [] => "for no dependency of any lock file".to_owned(),
            some => format!("but for the lock files of {}", some.join(", ")),
        };
        return Stop::no_network(format!(
            "NOT CHECKED, {which}: the advisory database cannot be had; run `./test.sh advisories` where it can"
        ));
    }
    if fetch.is_some() || answer.text.contains("advisory database") {
        return Stop::fail(format!(
            "{manifest}: the advisory database cannot be had or read: see above"
        ));
    }
    Stop::fail(format!("{manifest}: cargo deny {}", answer.how()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::running::Late;

    #[test]
    fn lock_file_that_is_outdated_is_distinguished_from_other_errors() {
        // Of 1.88 and of 1.95.
        for text in [
            "    Updating crates.io index\nerror: the lock file /c/fuzz/Cargo.lock needs to be updated but --locked was passed to prevent this\n",
            "error: cannot update the lock file /c/fuzz/Cargo.lock because --locked was passed to prevent this\nhelp: to\n",
        ] {
            assert!(is_outdated(text), "{text}");
        }
        assert!(!is_outdated("error: failed to get `libc` as a dependency\n"));
    }

    #[test]
    fn advisories_only_a_missing_network_is_a_skip() {
        let answer = |text: &str, late: Option<bool>| Answer {
            code: Some(1),
            signal: None,
            late: late.map(|own| Late { why: "took long".to_owned(), own }),
            text: text.to_owned(),
        };
        let is_skip = |answer: &Answer| {
            matches!(unchecked(answer, &[], "x"), Stop::Skip { network: true, .. })
        };
        let fetch = "[ERROR] failed to fetch advisory database https://g/db with cli: failed to clone: Could not resolve host: g";
        assert!(is_skip(&answer(fetch, None)));
        assert!(is_skip(&answer("", Some(true))));
        for (text, late) in [
            ("", Some(false)),
            ("error[vulnerability]: x\n", Some(true)),
            ("[ERROR] failed to open advisory database: Permission denied (os error 13)", None),
            (
                "[ERROR] failed to fetch advisory database: failed to clone: No space left on device",
                None,
            ),
            ("error[vulnerability]: x\n", None),
            ("error[vulnerability]: connection reset by peer\n", None),
            (
                "error[unsound]: x\n[ERROR] failed to fetch it: connection reset by peer\nadvisories FAILED\n",
                None,
            ),
            ("warning[x]: connection reset by peer\n", None),
            (
                "[ERROR] failed to fetch advisory database: fatal: unable to access 'https://g/': The requested URL returned error: 403",
                None,
            ),
        ] {
            assert!(!is_skip(&answer(text, late)), "{text}");
        }
        let partly = unchecked(&answer(fetch, None), &["Cargo.toml"], "fuzz/Cargo.toml");
        let Stop::Skip { reason, .. } = partly else { panic!("{partly:?}") };
        assert!(reason.contains("NOT CHECKED, but for the lock files of Cargo.toml:"), "{reason}");
    }

    #[test]
    fn every_lock_file_is_named_with_its_command() {
        assert_eq!(mended(&[]), None);
        let how = mended(&["fuzz/Cargo.toml", "python/Cargo.toml"]).unwrap();
        for manifest in ["fuzz/Cargo.toml", "python/Cargo.toml"] {
            assert!(
                how.contains(&format!("`cargo update -w --manifest-path {manifest}`")),
                "{how}"
            );
        }
    }
}
