//! Fuzzing of everything that reads foreign input.

use crate::call::call;
use crate::context::Context;
use crate::needs::Need;
use crate::step::{Done, Step, Stop, Tier};
use std::path::Path;

/// Seconds for each target, unless FUZZ_SECONDS is set.
const SECONDS: u64 = 20;

pub(crate) static FUZZ: Step = Step {
    name: "fuzz",
    what: "each fuzz target for FUZZ_SECONDS (20)",
    tier: Tier::All,
    emulated: false,
    beside: false,
    seconds: 640,
    budget: 960,
    short: None,
    needs: &[Need::Cargo("fuzz", "0.13.2"), Need::Tool("c++", "g++")],
    uses: &[],
    run: fuzz,
};

fn fuzz(context: &Context) -> Done {
    let seconds = std::env::var("FUZZ_SECONDS").unwrap_or_else(|_| SECONDS.to_string());
    let targets = fuzz_targets()?;
    let asked: u64 = seconds.parse().unwrap_or(SECONDS).saturating_sub(SECONDS);
    context.asked.set(asked.saturating_mul(targets.len() as u64));
    for target in targets {
        // cargo-fuzz adds its flags to RUSTFLAGS, to which cargo prefers others: without them nothing guides the inputs.
        let fuzz = call("fuzz/run").arg(&target).arg(&seconds).own_flags().hidden();
        let answer = fuzz.answer(context)?;
        if !answer.good() {
            let lines: Vec<&str> = answer.text.lines().collect();
            say!("{}", lines.get(lines.len().saturating_sub(100)..).unwrap_or_default().join("\n"));
            return Err(Stop::fail(format!("fuzz {target}")));
        }
        let inputs = answer
            .text
            .lines()
            .find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
        say!("fuzz {target}: {} inputs, no finding", inputs.map_or("?", str::trim));
    }
    Ok(())
}

/// Returns every target of the directory, so that none is forgotten.
fn fuzz_targets() -> Result<Vec<String>, Stop> {
    let directory = Path::new("fuzz/fuzz_targets");
    let entries = std::fs::read_dir(directory)
        .map_err(|error| Stop::fail(format!("listing {}: {error}", directory.display())))?;
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fuzz_seconds_are_enough_for_every_target() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/fuzz_targets");
        let targets = std::fs::read_dir(directory).unwrap().count() as u64;
        assert!(targets > 0 && FUZZ.seconds >= targets * SECONDS, "{targets} targets");
    }
}
