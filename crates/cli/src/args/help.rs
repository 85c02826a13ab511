//! Help as it is printed: examples, the options that all verbs have under their own heading, and none that a verb refuses.

use super::Args;
use clap::{Command, CommandFactory};

/// A command and a description of it.
type Example = (&'static str, &'static str);

/// Examples by verb, with its words; those of the program itself have no verb.
const EXAMPLES: [(&str, &[Example]); 18] = [
    (
        "",
        &[
            ("clocksmith", "why this clocksource, and is it slow?"),
            ("clocksmith why dmesg.txt", "the same from another machine's log"),
            ("clocksmith fix", "show what would fix it"),
            ("sudo clocksmith who --all", "which programs read the clock most"),
            ("clocksmith run -- PROGRAM", "a fast clock for one program, at once"),
        ],
    ),
    (
        "why",
        &[
            ("clocksmith why", "this machine"),
            ("clocksmith why dmesg.txt", "a kernel log, or any pasted text"),
            ("sudo dmesg | clocksmith why -", "from standard input"),
            ("clocksmith why --root sosreport-db1", "a mirror of another machine"),
            ("clocksmith why --html report.html", "also as a page"),
        ],
    ),
    (
        "predict",
        &[
            ("clocksmith predict --kernel 6.12", "another kernel on this machine"),
            ("clocksmith predict --cmdline +tsc=reliable", "with another kernel parameter"),
            ("clocksmith predict --blank --hypervisor kvm", "a hypothetical machine"),
        ],
    ),
    (
        "explain",
        &[
            ("clocksmith explain hpet", "a clocksource"),
            ("clocksmith explain tsc=reliable", "a parameter and its risk"),
            ("clocksmith explain 'TSC found unstable after boot'", "a kernel message"),
        ],
    ),
    (
        "verify",
        &[
            ("clocksmith verify", "all CPUs, 5 seconds"),
            ("clocksmith verify --duration 1m", "finds smaller faults"),
            ("clocksmith verify --require high", "exit code 0 only with high confidence"),
        ],
    ),
    (
        "check",
        &[
            ("clocksmith check", "a line for Nagios and others"),
            ("clocksmith check --expect tsc,kvm-clock", "CRITICAL for any other clocksource"),
            ("clocksmith check --format prometheus", "metrics"),
        ],
    ),
    (
        "watch",
        &[
            ("clocksmith watch", "events here, the page on port 9988"),
            ("clocksmith watch --web-config web.yml", "with TLS and passwords"),
            ("clocksmith watch --once", "the metrics, once"),
        ],
    ),
    (
        "collect",
        &[
            ("sudo clocksmith collect -o db1.tar.gz", "root adds the kernel log"),
            ("clocksmith collect --list", "what it would contain"),
            ("ssh db1 sudo clocksmith collect -o - > db1.tar.gz", "over the network"),
        ],
    ),
    (
        "fleet",
        &[
            ("clocksmith fleet bundles/", "the report"),
            ("clocksmith fleet bundles/ --out tables/", "also Parquet tables"),
            ("clocksmith fleet tables/ --sql 'SELECT * FROM causes'", "a query"),
        ],
    ),
    (
        "bench",
        &[
            ("clocksmith bench --quick", "1.5 seconds"),
            ("clocksmith bench --json --starts 10 > before.json", "save for a comparison"),
            ("clocksmith bench --baseline before.json --fail-over 5", "compare"),
        ],
    ),
    (
        "fix",
        &[
            ("clocksmith fix", "show the change, its reason and risk"),
            ("sudo clocksmith fix --apply", "make it, verify it, or revert it"),
            ("sudo clocksmith fix --undo", "revert the last change"),
            ("clocksmith fix --format ansible", "for many machines"),
        ],
    ),
    (
        "vm",
        &[
            ("clocksmith vm lint guest.xml", "what the file does to the clock"),
            ("clocksmith vm fix guest.xml", "show the edits"),
            ("clocksmith vm migrate guest.xml --to hosts/", "where it can move"),
        ],
    ),
    (
        "vm lint",
        &[
            ("clocksmith vm lint guest.xml", "one file"),
            ("clocksmith vm lint --connect qemu:///system", "all domains"),
            ("clocksmith vm lint --format github --min-severity warn .", "in CI"),
        ],
    ),
    (
        "vm fix",
        &[
            ("clocksmith vm fix guest.xml", "show the edits"),
            ("clocksmith vm fix --apply guest.xml", "make them"),
            ("clocksmith vm fix --invtsc --tsc-frequency 2994372000 guest.xml", "add invtsc"),
        ],
    ),
    (
        "vm migrate",
        &[
            ("clocksmith vm migrate guest.xml --to host1.xml host2.xml", "two hosts"),
            ("clocksmith vm migrate --fleet --to hosts/", "a common frequency"),
        ],
    ),
    (
        "run",
        &[
            ("clocksmith run -- postgres -D /srv/db", "with a fast clock"),
            ("clocksmith run --as hpet -- ./benchmark", "as if the clock were the HPET"),
            ("clocksmith run --or-plain -- server", "for a service: starts in any case"),
        ],
    ),
    (
        "who",
        &[
            ("sudo clocksmith who --all", "the whole machine"),
            ("clocksmith who --pid 4711", "one process"),
            ("clocksmith who python3 job.py", "a command until it ends"),
            ("clocksmith who --pid 4711 --folded out.txt", "for a flame graph"),
        ],
    ),
    (
        "completions",
        &[("clocksmith completions bash > clocksmith.bash", "then: source clocksmith.bash")],
    ),
];

/// The common options that each verb does not take.
const REFUSED: [(&str, &[&str]); 9] = [
    ("explain", &["root"]),
    ("verify", &["root"]),
    ("fleet", &["root", "quiet"]),
    ("bench", &["root"]),
    ("run", &["root"]),
    ("who", &["root"]),
    ("vm", &["root"]),
    ("completions", &["root", "json", "quiet", "verbose", "no_color"]),
    ("man", &["root", "json", "quiet", "verbose", "no_color"]),
];

/// Options of `why` that the program's own short help leaves to that of `why`.
const FOR_WHY: [&str; 3] = ["no_measure", "html", "host_name"];

/// The first line of the help of `who` in a program that has only its help.
const WITHOUT_WHO: &str = "This program was built without who (`--features full` adds it).";

/// The definition of the command line with all that help shows.
pub(crate) fn command() -> Command {
    complete(without_refused(Args::command()), "")
}

/// Examples of a verb.
pub(crate) fn examples(verb: &str) -> &'static [Example] {
    EXAMPLES.iter().find(|(name, _)| *name == verb).map_or(&[], |(_, examples)| examples)
}

/// Hides the common options that a verb does not take. It still parses them, to explain why.
pub(super) fn without_refused(mut program: Command) -> Command {
    let common: Vec<_> =
        program.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    for (verb, refused) in REFUSED {
        let hidden = common.iter().filter(|arg| refused.contains(&arg.get_id().as_str()));
        let hidden: Vec<_> = hidden.map(|arg| arg.clone().hide(true)).collect();
        // An option that a verb defines itself is not replaced by the common one.
        program = program.mut_subcommand(verb, |verb| verb.args(hidden));
    }
    if cfg!(not(feature = "who")) {
        program = program.mut_subcommand("who", |verb| verb.before_help(WITHOUT_WHO));
    }
    for name in FOR_WHY {
        program = program.mut_arg(name, |arg| arg.hide_short_help(true));
    }
    program
}

/// Adds the examples, in front of the other text after the options.
fn complete(mut command: Command, name: &str) -> Command {
    let verbs: Vec<String> =
        command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    for verb in verbs {
        let name = format!("{name} {verb}");
        command = command.mut_subcommand(&verb, |verb| complete(verb, name.trim_start()));
    }
    let examples = examples(name);
    if examples.is_empty() {
        return command;
    }
    let notes = command.get_after_help().map(|notes| format!("\n\n{notes}")).unwrap_or_default();
    command.after_help(format!("{}{notes}", listed(examples)))
}

fn listed(examples: &[Example]) -> String {
    let width = examples.iter().map(|(command, _)| command.len()).max().unwrap_or_default();
    let lines = examples.iter().map(|(command, what)| format!("\n  {command:width$}  {what}"));
    let lines: String = lines.map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().concat();
    format!("Examples:{lines}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of an example, from the program's name to a redirection.
    fn words(example: &str) -> Vec<String> {
        let own = &example[example.find("clocksmith").unwrap()..];
        let own = own.split(" > ").next().unwrap();
        let quoted = own.split('\'').enumerate();
        quoted
            .flat_map(|(at, part)| match at % 2 {
                0 => part.split_whitespace().map(str::to_owned).collect(),
                _ => vec![part.to_owned()],
            })
            .collect()
    }

    #[test]
    fn examples_are_commands_that_are_understood() {
        for (verb, examples) in EXAMPLES {
            for (example, _) in examples {
                let parsed = command().try_get_matches_from(words(example));
                assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
                assert!(
                    example.contains(verb.split(' ').next_back().unwrap()),
                    "{verb}: {example}"
                );
            }
        }
    }

    #[test]
    fn help_fits_the_terminal_and_has_examples() {
        let mut program = command();
        program.build();
        let mut all = vec![(String::new(), program)];
        while let Some((name, verb)) = all.pop() {
            let short = verb.clone().render_help().to_string();
            let long = verb.clone().render_long_help().to_string();
            for line in short.lines().chain(long.lines()) {
                let length = line.chars().count();
                assert!(length <= 80, "{name}: {length}: {line}");
            }
            let has = short.contains("Examples:");
            assert!(
                has || ["man", "help", "guard-clocksource"].iter().any(|it| name.contains(it)),
                "{name}"
            );
            for below in verb.get_subcommands() {
                all.push((format!("{name} {}", below.get_name()), below.clone()));
            }
        }
    }

    #[test]
    fn short_help_of_the_program_is_under_a_screen() {
        let help = command().render_help().to_string();
        assert!(help.lines().count() <= 48, "{help}");
    }

    #[test]
    fn options_that_a_verb_refuses_are_not_in_its_help() {
        let mut program = command();
        program.build();
        for (verb, refused) in REFUSED {
            let help = program.find_subcommand_mut(verb).unwrap().render_long_help().to_string();
            for id in refused {
                let option = format!("--{}", id.replace('_', "-"));
                assert!(!help.contains(&format!("  {option} ")), "{verb} {option}: {help}");
            }
        }
    }
}
