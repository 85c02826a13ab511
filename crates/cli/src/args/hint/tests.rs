//! Tests of the tips.

use super::*;
use crate::args::help;

fn error(words: &str) -> String {
    let all = std::iter::once("clocksmith").chain(words.split_whitespace());
    let error = plain(help::command()).try_get_matches_from(all).unwrap_err();
    improve(error, &help::command()).to_string()
}

#[test]
fn verbs_that_do_not_exist_lead_to_the_command_that_was_meant() {
    for (words, command) in [
        ("undo", "clocksmith fix --undo"),
        ("lint x.xml", "clocksmith vm lint FILE"),
        ("version", "clocksmith --version"),
        ("clock", "clocksmith why"),
        ("wyh", "clocksmith why"),
        ("benhc", "clocksmith bench"),
        ("verfiy", "clocksmith verify"),
        ("explian hpet", "clocksmith explain"),
        ("hpet", "clocksmith explain hpet"),
        ("Cargo.toml", "clocksmith why Cargo.toml"),
        ("src", "clocksmith why --root src"),
        ("vm lnit x.xml", "clocksmith vm lint"),
        ("vm-lint x.xml", "clocksmith vm lint"),
        ("vm_fix x.xml", "clocksmith vm fix"),
        ("vm Cargo.toml", "clocksmith vm lint Cargo.toml"),
        ("help --help", "clocksmith --help"),
        ("what-if", "clocksmith predict"),
    ] {
        let text = error(words);
        let tip = text.lines().find_map(|line| line.strip_prefix("  tip: "));
        assert_eq!(tip, Some(command), "{words}: {text}");
    }
}

#[test]
fn words_that_mean_nothing_get_no_tip() {
    for words in ["frobnicate", "x", "vm check x.xml", "guard", "../no such file"] {
        assert!(!error(words).contains("tip:"), "{words}: {}", error(words));
    }
}

#[test]
fn meant_commands_are_understood() {
    for (_, command) in verb::MEANT {
        let words = std::iter::once("clocksmith").chain(command.split(' '));
        let Err(error) = help::command().try_get_matches_from(words) else { continue };
        let fine =
            [ErrorKind::DisplayHelp, ErrorKind::DisplayVersion, ErrorKind::MissingRequiredArgument];
        assert!(fine.contains(&error.kind()), "{command}: {error}");
    }
}

#[test]
fn words_where_an_option_belongs_get_the_option() {
    for (words, command) in [
        ("fix tsc", "clocksmith fix --to tsc"),
        ("fix --revert", "clocksmith fix --undo"),
        ("predict 6.12", "clocksmith predict --kernel 6.12"),
        ("collect web1.tgz", "clocksmith collect --output web1.tgz"),
    ] {
        let text = error(words);
        assert!(text.contains(&format!("  tip: {command}\n")), "{words}: {text}");
        assert!(!text.contains("--remove-param"), "{text}");
    }
    // Another verb of the same name.
    assert!(!error("vm fix --revert x.xml").contains("--undo"));
}

#[test]
fn an_option_with_a_typing_error_keeps_the_suggestion_of_clap() {
    assert!(error("why --no-colour").contains("'--no-color'"));
}

#[test]
fn words_with_control_characters_are_shown_without_them() {
    let all = ["clocksmith", "a\u{1b}[2Jb"];
    let error = plain(help::command()).try_get_matches_from(all).unwrap_err();
    let text = improve(error, &help::command()).to_string();
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

#[test]
fn words_lead_to_the_verb_or_the_option_that_takes_them() {
    for (words, tip) in [
        ("predict hpet", "clocksmith predict --cmdline +clocksource=hpet"),
        ("predict invtsc=no", "clocksmith predict --set invtsc=no"),
        ("predict tsc=reliable", "clocksmith predict --cmdline +tsc=reliable"),
        ("predict kvm", "clocksmith predict --hypervisor kvm"),
        ("predict src", "clocksmith predict --root src"),
        ("run psql --version", "the program comes after --: clocksmith run -- psql ..."),
        ("fix Cargo.toml", "fix works on a machine; this reads a file: clocksmith why Cargo.toml"),
        ("fix src", "clocksmith fix --root src"),
        ("fix tsc=nowatchdog", "clocksmith fix --param tsc=nowatchdog"),
        (
            "check Cargo.toml",
            "check works on a machine; this reads a file: clocksmith why Cargo.toml",
        ),
        ("check tsc", "clocksmith check --expect tsc"),
        ("verify 10s", "clocksmith verify --duration 10s"),
        (
            "vm migrate --to hosts guest.xml",
            "the guest is named before --to: clocksmith vm migrate GUEST --to HOST...",
        ),
    ] {
        let text = error(words);
        assert!(text.contains(&format!("  tip: {tip}\n")), "{words}: {text}");
    }
}

#[test]
fn options_of_another_verb_lead_there_and_never_to_one_that_only_looks_alike() {
    for (words, tip) in [
        (
            "fix --bundle x",
            "--bundle is an option of why and predict: clocksmith why --bundle FILE",
        ),
        ("check --log x", "--log is an option of why and predict: clocksmith why --log FILE"),
        (
            "bench --bundle x",
            "--bundle is an option of why and predict: clocksmith why --bundle FILE",
        ),
        ("bench --clock tsc", "clocksmith bench --only CLOCK_MONOTONIC"),
        ("why --version", "clocksmith --version"),
        ("vm lint -V", "clocksmith --version"),
        ("fix --dry-run", "fix changes nothing without --apply"),
        ("watch --port 9990", "clocksmith watch --listen 127.0.0.1:9988"),
        ("why --lgo x", "a similar argument exists: '--log'"),
        ("why --verb", "a similar argument exists: '--verbose'"),
        ("vm lint --jsno x", "a similar argument exists: '--json'"),
        ("predict --hypervisr kvm", "a similar argument exists: '--hypervisor'"),
    ] {
        let text = error(words);
        assert!(text.contains(&format!("  tip: {tip}\n")), "{words}: {text}");
        assert_eq!(text.matches("tip:").count(), 1, "{words}: {text}");
        assert!(!text.contains("as a value"), "{words}: {text}");
        for other in ["--undo", "--slow", "--burden", "--every-clocksource"] {
            assert!(!text.contains(other), "{words}: {text}");
        }
    }
    for words in ["why --frobnicate", "fix --xyz", "why -x"] {
        assert!(!error(words).contains("tip:"), "{words}: {}", error(words));
    }
}

#[test]
fn explain_says_how_a_word_that_begins_like_an_option_is_passed() {
    let text = error("explain --foo");
    assert!(text.contains("  tip: clocksmith explain -- --foo\n"), "{text}");
}

#[test]
fn numbers_are_asked_for_in_words() {
    for words in ["predict --cpus two", "who --pid x", "bench --cpu a"] {
        let text = error(words);
        assert!(text.contains("takes a whole number, and '"), "{words}: {text}");
        assert!(!text.contains("invalid"), "{words}: {text}");
    }
}
