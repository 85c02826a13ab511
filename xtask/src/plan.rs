//! Selects the steps of a command line.

use crate::needs::Kind;
use crate::step::{Step, Tier};
use crate::steps::STEPS;
use std::process::Command;

/// Seconds that the default tier may take, compiling included.
pub(crate) const DEFAULT_BUDGET: u64 = 8 * 60;
/// Seconds that continuous integration may take, tools included.
pub(crate) const CI_BUDGET: u64 = 45 * 60;
/// No step of the turn begins later than that, in seconds.
pub(crate) const CI_LAST_BEGIN: u64 = 35 * 60;
/// Steps that still run then are ended.
pub(crate) const CI_END: u64 = 49 * 60;

/// Steps of which continuous integration runs one row each time, whole.
pub(crate) const TURNS: &[&[&str]] = &[
    &["packages", "deploy"],
    &["fleet", "no-default-features"],
    &["boots", "vm"],
    &["fix", "emulator"],
    &["wall-clock"],
    &["paravirt", "crash"],
    &["miri", "tsan", "book-html", "who-calibration"],
    &["fuzz", "scenarios", "wheels"],
    &["formats", "watch", "who", "calibration"],
    &["msrv", "agreement", "speed"],
];

/// The request.
#[derive(Debug)]
pub(crate) enum Wish {
    Help,
    /// The needs that an installer must meet for a run.
    Needs(Kind, Plan),
    Run(Plan),
}

/// A run.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// In order, with whether the short form is meant.
    pub(crate) steps: Vec<(&'static Step, bool)>,
    /// Run at the end, whole, if there is time.
    pub(crate) turn: Vec<&'static Step>,
    /// For continuous integration: which turn it is and why.
    pub(crate) turn_said: Option<String>,
    /// Seconds for everything.
    pub(crate) budget: Option<u64>,
}

impl Plan {
    pub(crate) fn all(&self) -> Vec<&'static Step> {
        self.steps.iter().map(|(step, _)| *step).chain(self.turn.iter().copied()).collect()
    }
}

impl std::fmt::Debug for Step {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name)
    }
}

fn is_help(word: &str) -> bool {
    matches!(word, "--help" | "-h" | "help")
}

/// Reads the words after `./test.sh`.
pub(crate) fn parse(words: &[String]) -> Result<Wish, String> {
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    // An installer reads the answer to `--needs`.
    let asks = words.first() != Some(&"--needs");
    if asks && words.iter().any(|word| is_help(word)) {
        words.retain(|word| !is_help(word) && !matches!(*word, "all" | "ci" | "--short"));
        return words.iter().try_for_each(|word| find(word).map(|_| ())).map(|()| Wish::Help);
    }
    let mut kind = None;
    if words.first() == Some(&"--needs") {
        kind = Some(match words.get(1).copied() {
            Some("steps") => Kind::Steps,
            Some("packages") => Kind::Packages,
            Some("targets") => Kind::Targets,
            Some("tools") => Kind::Tools,
            _ => {
                return Err(
                    "--needs wants steps, packages, targets or tools; see ./test.sh --help"
                        .to_owned(),
                );
            }
        });
        words.drain(..2);
    }
    let plan = plan(&words)?;
    Ok(kind
        .map_or_else(|| Wish::Run(Plan::default()), |kind| Wish::Needs(kind, Plan::default()))
        .with(plan))
}

impl Wish {
    fn with(self, plan: Plan) -> Wish {
        match self {
            Wish::Needs(kind, _) => Wish::Needs(kind, plan),
            _ => Wish::Run(plan),
        }
    }
}

fn plan(words: &[&str]) -> Result<Plan, String> {
    let of = |tiers: &[Tier]| -> Vec<(&'static Step, bool)> {
        STEPS.iter().filter(|step| tiers.contains(&step.tier)).map(|step| (*step, false)).collect()
    };
    match words {
        [] => Ok(Plan {
            steps: of(&[Tier::Default]),
            budget: Some(DEFAULT_BUDGET),
            ..Plan::default()
        }),
        ["all"] => Ok(Plan { steps: of(&[Tier::Default, Tier::All]), ..Plan::default() }),
        ["ci" | "--ci"] => Ok(ci(&head()?)),
        ["ci" | "--ci", turn] => {
            let number = turn.parse().ok().filter(|number| (1..=TURNS.len()).contains(number));
            number.map(|number| turn_of(number - 1, "asked for")).ok_or_else(|| {
                format!("ci {turn}: the turns are 1 to {}; see ./test.sh --help", TURNS.len())
            })
        }
        names => {
            let short = names.first() == Some(&"--short");
            let names = if short { names.get(1..).unwrap_or_default() } else { names };
            if names.is_empty() {
                return Err("--short wants steps; see ./test.sh --help".to_owned());
            }
            let mut steps: Vec<(&'static Step, bool)> = Vec::new();
            for name in names {
                let step = find(name)?;
                // Once, as in any other run.
                if !steps.iter().any(|(found, _)| found.name == step.name) {
                    steps.push((step, short && step.short.is_some()));
                }
            }
            Ok(Plan { steps, ..Plan::default() })
        }
    }
}

pub(crate) fn find(name: &str) -> Result<&'static Step, String> {
    let steps = || STEPS.iter().filter(|step| step.tier != Tier::Shared).copied();
    steps().find(|step| step.name == name).ok_or_else(|| {
        if matches!(name, "all" | "ci" | "--ci") {
            return format!("{name} goes without steps beside it");
        }
        if name.starts_with('-') {
            return format!("no option {name} here; see ./test.sh --help");
        }
        let lower = name.to_lowercase();
        if name.is_empty() {
            return "an empty word is no step; ./test.sh --help lists the steps".to_owned();
        }
        if steps().flat_map(|step| step.uses).any(|used| used.name == name) {
            return format!("{name} is made when a step needs it, and is no step of its own");
        }
        let near = steps().map(|step| (distance(&lower, step.name), step.name)).min();
        // Half the letters right is a guess worth a line.
        let guess = near.filter(|(edits, found)| 2 * edits <= found.len().max(2));
        let guess = guess.map_or(String::new(), |(_, found)| format!(", perhaps {found}"));
        format!("no step {name:?}{guess}; ./test.sh --help lists the steps")
    })
}

/// The letters to insert, delete or replace to get from one word to the other (Levenshtein).
fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (index, letter) in from.bytes().enumerate() {
        let mut next = vec![index + 1];
        let mut left = index + 1;
        for ((other, over), diagonal) in to.bytes().zip(row.iter().skip(1)).zip(&row) {
            left = (diagonal + usize::from(letter != other)).min(over + 1).min(left + 1);
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

/// The commit determines the turn, so that the turn is the same wherever the commit is tested.
fn ci(commit: &str) -> Plan {
    let number =
        commit.get(..8).and_then(|digits| usize::from_str_radix(digits, 16).ok()).unwrap_or(0);
    turn_of(number % TURNS.len(), &format!("by the commit {}", commit.get(..12).unwrap_or(commit)))
}

fn turn_of(turn: usize, why: &str) -> Plan {
    let mut steps: Vec<(&'static Step, bool)> = Vec::new();
    for step in STEPS {
        if step.tier == Tier::Default {
            steps.push((*step, false));
        } else if let Some(short) = step.short {
            // Some steps are short without a short form.
            steps.push((*step, short < step.seconds));
        }
    }
    let names = TURNS.get(turn).copied().unwrap_or_default();
    let turn_said = format!("turn {} of {}, {why}: {}", turn + 1, TURNS.len(), names.join(", "));
    let turn = names.iter().filter_map(|name| find(name).ok()).collect();
    Plan { steps, turn, turn_said: Some(turn_said), budget: Some(CI_BUDGET) }
}

fn head() -> Result<String, String> {
    let asked = Command::new("git").args(["rev-parse", "HEAD"]).output();
    let text = asked.map_err(|error| format!("ci: git rev-parse HEAD: {error}"))?.stdout;
    let text = String::from_utf8_lossy(&text).trim().to_owned();
    if text.is_empty() {
        Err("ci: no commit here; name a turn: ./test.sh ci 1".to_owned())
    } else {
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn names(words: &[&str]) -> Vec<&'static str> {
        plan(words).unwrap().all().iter().map(|step| step.name).collect()
    }

    #[test]
    fn parse_needs_with_help_is_an_error() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for line in ["--needs packages ci --help", "--needs tools help", "--needs --help"] {
            assert!(parse(&words(line)).is_err(), "{line}");
        }
        assert!(parse(&words("--needs packages ci")).is_ok());
        assert!(matches!(parse(&words("prose --help")), Ok(Wish::Help)));
    }

    #[test]
    fn plan_without_words_is_the_default_tier() {
        let names = names(&[]);
        assert!(names.contains(&"test") && names.contains(&"fmt"));
        for name in names {
            let step = find(name).unwrap();
            assert!(!step.emulated, "{name} boots guests");
        }
    }

    #[test]
    fn distance_is_that_of_levenshtein() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "doc"), 3);
        assert_eq!(distance("doc", "doc"), 0);
    }

    #[test]
    fn plan_all_has_every_step_but_those_by_name() {
        let all: BTreeSet<&str> = names(&["all"]).into_iter().collect();
        for step in STEPS {
            let wanted = matches!(step.tier, Tier::Default | Tier::All);
            assert_eq!(all.contains(step.name), wanted, "{}", step.name);
        }
    }

    #[test]
    fn plan_by_name_keeps_the_order_and_refuses_others() {
        assert_eq!(names(&["doc", "fmt"]), ["doc", "fmt"]);
        assert!(plan(&["--short", "fix"]).unwrap().steps.iter().all(|(_, short)| *short));
        assert!(plan(&["--short"]).is_err());
        assert_eq!(names(&["fmt", "doc", "fmt"]), ["fmt", "doc"]);
        assert!(plan(&["nonsense"]).unwrap_err().contains("nonsense"));
        assert!(!plan(&["nonsense"]).unwrap_err().contains("perhaps"));
        for (typed, meant) in [("clipy", "clippy"), ("PROSE", "prose"), ("book_html", "book-html")]
        {
            assert!(plan(&[typed]).unwrap_err().contains(&format!("perhaps {meant};")), "{typed}");
        }
        for words in [["all", "fmt"], ["fmt", "all"], ["fmt", "ci"]] {
            assert!(plan(&words).unwrap_err().contains("without steps beside"), "{words:?}");
        }
        assert!(plan(&["static-program"]).is_err());
        assert!(plan(&["ci", "99"]).is_err());
    }

    #[test]
    fn ci_every_step_of_all_is_in_each_run_or_in_a_turn() {
        let runs: Vec<Plan> = (0..TURNS.len()).map(|turn| turn_of(turn, "")).collect();
        for step in STEPS.iter().filter(|step| matches!(step.tier, Tier::Default | Tier::All)) {
            let whole = |plan: &Plan| {
                plan.turn.iter().any(|found| found.name == step.name)
                    || plan.steps.iter().any(|(found, short)| found.name == step.name && !short)
            };
            assert!(runs.iter().any(whole), "{} is in no run", step.name);
            // The exception needs an emulator that takes longer to compile than every run may.
            if step.emulated && step.name != "paravirt" {
                assert!(step.short.is_some(), "{} has no short form for each run", step.name);
            }
        }
        for name in TURNS.iter().copied().flatten() {
            assert!(find(name).is_ok(), "{name} is not a step");
        }
    }

    #[test]
    fn ci_the_commit_decides_the_turn() {
        let turn = |commit: &str| ci(commit).turn.first().map(|step| step.name);
        let next = format!("{:08x}bb", TURNS.len());
        assert_eq!(turn("00000000aa"), turn(&next));
        assert_ne!(turn("00000000aa"), turn("00000001aa"));
    }
}
