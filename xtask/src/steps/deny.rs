//! Dependencies: licences, sources, duplicates, known vulnerabilities.

use crate::call::call;
use crate::needs::Need;
use crate::step::{Step, Stop, Tier};
use crate::steps::rust::WORKSPACES;

const DENY: Need = Need::Cargo("deny", "0.20.2");

pub(crate) static LICENCES: Step = Step {
    name: "licences",
    what: "licences and sources of all dependencies are allowed",
    tier: Tier::Default,
    emulated: false,
    seconds: 5,
    budget: 60,
    short: None,
    needs: &[DENY],
    uses: &[],
    run: |context| {
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

/// The database is a git repository, which not every network reaches.
pub(crate) static ADVISORIES: Step = Step {
    name: "advisories",
    what: "no dependency has a known vulnerability",
    tier: Tier::All,
    emulated: false,
    seconds: 10,
    budget: 130,
    // In every run.
    short: Some(10),
    needs: &[DENY, Need::Network],
    uses: &[],
    run: |context| {
        for manifest in WORKSPACES {
            let answer = call("cargo deny --locked --manifest-path")
                .arg(manifest)
                .args("--config deny.toml check advisories")
                .limit(120)
                .answer(context)?;
            let unreachable = ["failed to fetch", "failed to load", "failed to open"]
                .iter()
                .any(|start| answer.text.contains(&format!("{start} advisory database")))
                || answer.text.contains("failed to clone");
            if answer.code == Some(124) || unreachable {
                return Err(Stop::no_network(
                    "advisories: NOT CHECKED, for no dependency of any lock file: the advisory database cannot be \
                     had; run `./test.sh advisories` where it can",
                ));
            }
            if !answer.good() {
                return Err(Stop::fail(format!("{manifest}: a dependency has an advisory")));
            }
        }
        Ok(())
    },
};
