//! `./test.sh --help`.

use crate::plan::{CI_BUDGET, CI_LAST_BEGIN, DEFAULT_BUDGET, SHORT_BY_NAME, TURNS};
use crate::step::{Step, Tier};
use crate::steps::STEPS;
use std::collections::BTreeSet;

pub(crate) fn print() {
    say!(
        "Checks of this project.

  ./test.sh           what needs no emulator, no root and, dependencies aside,
                      no network: {} minutes at most on two quiet processors
                      from a clean clone, compiling included
  ./test.sh all       everything but the steps by name
  ./test.sh STEP...   these steps; --short before them: in their short form,
                      where they have one
  ./test.sh ci [TURN] what .ci/run runs, in {} minutes with its tools: the
                      default tier; the steps with a number under ci, for so
                      many seconds; and one row of the turns below, whole,
                      which the commit decides. A step of the row has no short
                      form beside it
  ./test.sh --needs steps|packages|targets|tools [all | ci [TURN] | STEP...]
                      what such a run wants installed, one a line, for
                      installers

A step whose tool is not here is skipped, and named at the end with what brings
the tool. Exit code: 0 all good, 1 a step failed, 2 wrong usage, or these checks
could not be compiled. A failing emulated step is run once more: what fails or
is skipped then has failed, what passes then is named as unsteady. A step over
its budget has failed, too: its time, less what other programs had of the
processors, and in proportion to the speed of the machine. A step that does not
end is ended, with its process group (not what has a session of its own), after
{}.

  STRICT=1                a skipped step is a failure, except where a network is
                          missing; MAY_SKIP='STEP STEP:TOOL...': and except
                          these, or these where they lack that tool alone. So
                          is a step that no time was left for, except with
                          MAY_NOT_RUN=1. Tests that skip themselves are counted
                          at the end; they are no failure, unless a command that
                          the step test needs is missing
  FUZZ_SECONDS=20         for each fuzz target; FUZZ_SEED=1 begins the same way
                          each time
  PROPTEST_RNG_SEED=1     of the property tests; PROPTEST_CASES=4096 makes more
                          values
  CLOCKSMITH_BENCH_MIB=1024 size of the logs of the step speed
  CLOCKSMITH_SOAK_MINUTES=30 for the step soak
  RUSTFLAGS and similar   not for clippy, doc, no-default-features, python, speed
                          and fleet, which judge warnings, and steps that set
                          them
",
        DEFAULT_BUDGET / 60,
        CI_BUDGET / 60,
        crate::limit::rule()
    );
    say!(
        "seconds: on two quiet processors, after what is shared; ci: in each run of it,
in the short form (in brackets: a short form for --short alone);
E: boots guests, or depends on the host's load: a failure is tried once more;
the last line of a step: what it needs
"
    );
    say!("{:<20} {:>7} {:>5} {:>6}", "step", "seconds", "ci", "budget");
    for tier in [Tier::Default, Tier::All, Tier::Named, Tier::Shared] {
        say!(
            "\n{}",
            match tier {
                Tier::Default => "Tier default",
                Tier::All => "Tier all, besides",
                Tier::Named => "By name alone",
                Tier::Shared => "Made when a step needs it",
            }
        );
        for step in STEPS.iter().filter(|step| step.tier == tier) {
            say!("  {}", line(step));
            wrapped(step.what);
            let needs = needs(step);
            if !needs.is_empty() {
                wrapped(&format!("needs {}", needs.join(", ")));
            }
        }
    }
    say!("\nTurns of continuous integration; no step begins after {} minutes", CI_LAST_BEGIN / 60);
    for (index, names) in TURNS.iter().enumerate() {
        say!("  {:>2}  {}", index + 1, names.join(", "));
    }
}

fn line(step: &Step) -> String {
    let short = step.short.map_or_else(String::new, |seconds| {
        if SHORT_BY_NAME.contains(&step.name) {
            format!("({seconds})")
        } else {
            seconds.to_string()
        }
    });
    let emulated = if step.emulated { "  E" } else { "" };
    format!("{:<18} {:>7} {short:>5} {:>6}{emulated}", step.name, step.seconds, step.budget)
}

/// Shared work, tools and packages, each once.
fn needs(step: &Step) -> Vec<&'static str> {
    let used = step.uses.iter().map(|used| used.name);
    let mut words: Vec<&str> =
        used.chain(step.needs.iter().filter_map(|need| need.word())).collect();
    let mut seen = BTreeSet::new();
    words.retain(|word| seen.insert(*word));
    words
}

/// Prints a text in lines of at most 80 columns, six to the right.
fn wrapped(text: &str) {
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > 74 {
            say!("      {line}");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    say!("      {line}");
}
