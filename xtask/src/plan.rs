//! Selects the steps of a command line.

use crate::needs::Kind;
use crate::step::{Done, Step, Tier};
use crate::steps::STEPS;
use std::collections::BTreeMap;
use std::path::Path;

/// Seconds that the default tier may take, compiling included.
pub(crate) const DEFAULT_BUDGET: u64 = 8 * 60;
/// Seconds that continuous integration may take, tools included.
pub(crate) const CI_BUDGET: u64 = 45 * 60;
/// No step of the turn begins later than that, in seconds.
pub(crate) const CI_LAST_BEGIN: u64 = 35 * 60;
/// Steps that still run then are ended.
pub(crate) const CI_END: u64 = 49 * 60;

/// Steps of which continuous integration runs one row each time, whole, in this order: the long ones last, so that each
/// begins in time. A test adds up the table's seconds.
pub(crate) const TURNS: &[&[&str]] = &[
    &["deploy", "packages"],
    &["no-default-features", "fleet"],
    &["boots", "vm", "clock", "forgery"],
    &["fix", "emulator", "targets", "alert"],
    &["wall-clock", "crash"],
    &["paravirt"],
    &["miri", "tsan", "book-html", "who-calibration"],
    &["scenarios", "wheels", "fuzz"],
    &["formats", "watch", "who", "calibration"],
    &["msrv", "agreement", "speed"],
];

/// Steps whose short form is too long for every run of continuous integration: it is for `--short`, and a turn has them
/// whole.
pub(crate) const SHORT_BY_NAME: &[&str] = &["wall-clock", "calibration", "who-calibration"];

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
    /// Steps of which the short form was requested, and that do not have one.
    pub(crate) whole: Vec<&'static str>,
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
    let later = words.iter().skip(1).find(|word| matches!(**word, "--short" | "--needs"));
    if let Some(option) = later {
        return Err(format!("{option} comes first: ./test.sh {option} ...; see ./test.sh --help"));
    }
    match words {
        [] => Ok(Plan {
            steps: of(&[Tier::Default]),
            budget: Some(DEFAULT_BUDGET),
            ..Plan::default()
        }),
        ["all"] => Ok(Plan { steps: of(&[Tier::Default, Tier::All]), ..Plan::default() }),
        ["ci" | "--ci"] => Ok(ci(&head()?)),
        ["ci" | "--ci", turn] => {
            // As --help writes it: not 010 or +3.
            let is_it = |number: &usize| number.to_string() == *turn;
            let number = (1..=TURNS.len()).find(is_it);
            number.map(|number| turn_of(number - 1, "asked for")).ok_or_else(|| {
                format!("ci {turn:?}: the turns are 1 to {}; see ./test.sh --help", TURNS.len())
            })
        }
        ["ci" | "--ci", ..] => {
            Err(format!("ci takes one turn, from 1 to {}; see ./test.sh --help", TURNS.len()))
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
            let without = |(step, is_short): &(&'static Step, bool)| {
                (short && !is_short).then_some(step.name)
            };
            let whole = steps.iter().filter_map(without).collect();
            Ok(Plan { steps, whole, ..Plan::default() })
        }
    }
}

pub(crate) fn find(name: &str) -> Result<&'static Step, String> {
    let steps = || STEPS.iter().filter(|step| step.tier != Tier::Shared).copied();
    steps().find(|step| step.name == name).ok_or_else(|| {
        if matches!(name, "all" | "ci" | "--ci") {
            return format!("{name} goes without steps beside it");
        }
        if name == "default" {
            return "the default tier is ./test.sh without a word".to_owned();
        }
        if name.starts_with('-') {
            let mut words = steps().map(|step| step.name).chain(["all"]);
            let guess = words.find(|word| *word == name.trim_start_matches('-'));
            let guess = guess.or_else(|| nearest(name, &["--help", "--short", "--needs"]));
            let guess = guess.filter(|guess| *guess != name);
            return format!("no option {name} here{}; see ./test.sh --help", perhaps(guess));
        }
        if name.is_empty() {
            return "an empty word is no step; ./test.sh --help lists the steps".to_owned();
        }
        if steps().flat_map(|step| step.uses).any(|used| used.name == name) {
            return format!("{name} is made when a step needs it, and is no step of its own");
        }
        let words: Vec<&str> = steps().map(|step| step.name).chain(["all"]).collect();
        let guess = perhaps(nearest(&name.to_lowercase(), &words));
        format!("no step {name:?}{guess}; ./test.sh --help lists the steps")
    })
}

fn perhaps(guess: Option<&str>) -> String {
    guess.map_or_else(String::new, |guess| format!(", perhaps {guess}"))
}

/// The word that was probably meant: half the letters right is a guess worth a line.
fn nearest<'a>(typed: &str, words: &[&'a str]) -> Option<&'a str> {
    let near = words.iter().map(|word| (distance(typed, word), *word)).min();
    near.filter(|(edits, found)| 2 * edits <= found.len().max(2)).map(|(_, found)| found)
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
    let names = TURNS.get(turn).copied().unwrap_or_default();
    let mut steps: Vec<(&'static Step, bool)> = Vec::new();
    for step in STEPS {
        // A step that is whole in the turn needs no short form.
        let is_left_out = names.contains(&step.name) || SHORT_BY_NAME.contains(&step.name);
        if step.tier == Tier::Default {
            steps.push((*step, false));
        } else if let Some(short) = step.short.filter(|_| !is_left_out) {
            // Some steps are short without a short form.
            steps.push((*step, short < step.seconds));
        }
    }
    let turn_said = format!("turn {} of {}, {why}: {}", turn + 1, TURNS.len(), names.join(", "));
    let turn = names.iter().filter_map(|name| find(name).ok()).collect();
    Plan { steps, turn, turn_said: Some(turn_said), budget: Some(CI_BUDGET), ..Plan::default() }
}

/// When a step of a turn begins at the latest, in seconds of the clock: with enough time for it on a machine that is so many times
/// slower than that of the table.
pub(crate) fn latest_begin(step: &Step, made: &BTreeMap<&'static str, Done>, slowness: f64) -> u64 {
    let needed = (seconds_of(step, made) as f64 * slowness).ceil() as u64;
    CI_LAST_BEGIN.min(CI_BUDGET.saturating_sub(needed))
}

/// The seconds of a step, with the shared work that has not been done yet.
fn seconds_of(step: &Step, made: &BTreeMap<&'static str, Done>) -> u64 {
    let unmade = step.uses.iter().filter(|used| !made.contains_key(used.name));
    step.seconds + unmade.map(|used| seconds_of(used, made)).sum::<u64>()
}

fn head() -> Result<String, String> {
    crate::git::head_of(Path::new("."))
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
        assert!(parse(&words("--needs packages ci 1")).is_ok());
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
    fn plan_wrong_words_are_answered_with_what_was_meant() {
        for (words, said) in [
            (&["default"][..], "./test.sh without a word"),
            (&["al"], "perhaps all;"),
            (&["alll"], "perhaps all;"),
            (&["--all"], "perhaps all;"),
            (&["--fmt"], "perhaps fmt;"),
            (&["--hlep"], "perhaps --help;"),
            (&["--list"], "no option --list here;"),
            (&["ci", "1", "2"], "ci takes one turn, from 1 to 10;"),
            (&["ci", "all"], "ci \"all\": the turns are 1 to 10;"),
            (&["ci", ""], "ci \"\": the turns are"),
            (&["ci", "010"], "ci \"010\": the turns are"),
            (&["ci", "+3"], "ci \"+3\": the turns are"),
            (&["fmt", "--short"], "--short comes first"),
            (&["all", "--needs", "packages"], "--needs comes first"),
        ] {
            let error = plan(words).unwrap_err();
            assert!(error.contains(said), "{words:?}: {error}");
        }
        assert_eq!(plan(&["--short", "fmt", "fix"]).unwrap().whole, ["fmt"]);
        assert!(plan(&["fmt"]).unwrap().whole.is_empty());
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
        }
        for name in SHORT_BY_NAME {
            assert!(find(name).unwrap().short.is_some(), "{name} has no short form");
        }
        for name in TURNS.iter().copied().flatten() {
            assert!(find(name).is_ok(), "{name} is not a step");
        }
    }

    #[test]
    fn ci_step_that_is_whole_has_no_short_form_beside_it() {
        for turn in 0..TURNS.len() {
            let mut seen = BTreeSet::new();
            for step in turn_of(turn, "").all() {
                assert!(seen.insert(step.name), "turn {}: {} is twice in it", turn + 1, step.name);
            }
        }
    }

    /// The most that an installer may take on a new machine, for the sum below, in seconds.
    const TOOLS: u64 = 300;

    /// Marks the work that a step shares as made, and returns the table's seconds of what had to be.
    fn shared(step: &Step, made: &mut BTreeMap<&'static str, Done>) -> u64 {
        let seconds = seconds_of(step, made) - step.seconds;
        for used in step.uses {
            shared(used, made);
            made.insert(used.name, Ok(()));
        }
        seconds
    }

    /// The table's seconds of all before the turn, and what is made by then.
    fn before_turn(plan: &Plan) -> (u64, BTreeMap<&'static str, Done>) {
        // `clippy` compiles both, with the same compiler.
        let mut made = BTreeMap::from([("compile", Ok(())), ("program", Ok(()))]);
        let mut all = TOOLS;
        let mut steps = plan.steps.as_slice();
        while !steps.is_empty() {
            // Two at a time, as the runner has them.
            let beside = steps.iter().take_while(|(step, _)| step.beside).count().max(1);
            let (group, later) = steps.split_at(beside);
            all += group.iter().map(|(step, _)| shared(step, &mut made)).sum::<u64>();
            let own = |(step, short): &(&'static Step, bool)| {
                step.short.filter(|_| *short).unwrap_or(step.seconds)
            };
            let longest = group.iter().map(own).max().unwrap_or(0);
            let sum: u64 = group.iter().map(own).sum();
            all += if beside > 1 { sum.div_ceil(2).max(longest) } else { sum };
            steps = later;
        }
        (all, made)
    }

    #[test]
    fn ci_each_step_of_each_turn_begins_and_ends_in_time_by_the_table() {
        for turn in 0..TURNS.len() {
            let plan = turn_of(turn, "");
            let (mut now, mut made) = before_turn(&plan);
            println!("turn {}: {now} s before it", turn + 1);
            for step in &plan.turn {
                let latest = latest_begin(step, &made, 1.0);
                println!("  {} at {now} s, at the latest {latest} s", step.name);
                assert!(now < latest, "turn {}: {} begins at {now} s", turn + 1, step.name);
                now += shared(step, &mut made) + step.seconds;
            }
            println!("  end at {now} s");
            assert!(now < CI_BUDGET, "turn {} ends at {now} s", turn + 1);
        }
    }

    #[test]
    fn seconds_of_a_step_include_shared_work_until_it_is_done() {
        let step = find("paravirt").unwrap();
        let mut made = BTreeMap::new();
        let all = seconds_of(step, &made);
        for used in step.uses {
            let before = seconds_of(step, &made);
            made.insert(used.name, Ok(()));
            assert!(seconds_of(step, &made) < before, "{}", used.name);
        }
        assert!(all > step.seconds);
        assert_eq!(seconds_of(step, &made), step.seconds);
    }

    #[test]
    fn latest_begin_of_a_step_is_earlier_on_a_slower_machine() {
        let made = BTreeMap::new();
        let (long, short) = (find("crash").unwrap(), find("book-html").unwrap());
        assert_eq!(latest_begin(long, &made, 1.0), CI_LAST_BEGIN);
        assert_eq!(latest_begin(long, &made, 2.0), CI_BUDGET - 2 * long.seconds);
        assert_eq!(latest_begin(long, &made, 100.0), 0);
        assert_eq!(latest_begin(short, &made, 1.5), CI_LAST_BEGIN);
    }

    #[test]
    fn ci_the_commit_decides_the_turn() {
        let turn = |commit: &str| ci(commit).turn.first().map(|step| step.name);
        let next = format!("{:08x}bb", TURNS.len());
        assert_eq!(turn("00000000aa"), turn(&next));
        assert_ne!(turn("00000000aa"), turn("00000001aa"));
    }
}
