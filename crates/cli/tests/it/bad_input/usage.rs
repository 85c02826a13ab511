//! Wrong arguments.

use super::refuses;

#[test]
fn wrong_usage_is_explained() {
    let cases: [(&[&str], &[&str]); 17] = [
        (&["frobnicate"], &["frobnicate"]),
        (&["--frobnicate"], &["--frobnicate"]),
        (&["--log"], &["--log"]),
        (&["why", "--log", "a", "--root", "b"], &["--log", "--root"]),
        (&["predict", "--blank", "--set", "nonsense"], &["--set nonsense", "FACT=VALUE"]),
        (&["predict", "--blank", "--set", "nonsense=1"], &["nonsense", "the facts are ", "hpet"]),
        (&["predict", "--blank", "--set", "hpet=perhaps"], &["hpet", "perhaps", "yes or no"]),
        (&["predict", "--blank", "--set", "cpus=-1"], &["cpus", "a number"]),
        (&["predict", "--blank", "--cpus", "0"], &["--cpus 0", "at least one"]),
        (&["predict", "--blank", "--cpus", "many"], &["--cpus", "many"]),
        (&["predict", "--blank", "--kernel", "new"], &["new", "such as 6.12"]),
        (&["predict", "--blank", "--hypervisor", "foo"], &["foo", "kvm"]),
        (&["predict", "--blank", "--log", "x"], &["--blank", "--log"]),
        (&["verify", "--duration", "5y"], &["5y", "ms, s, m, h or d"]),
        (&["verify", "--duration", "0"], &["\"0\"", "is too short to measure anything"]),
        (&["verify", "--cpus", "a-b"], &["--cpus a-b", "0-3,8"]),
        (&["verify", "--root", "/"], &["measures the machine that it runs on", "why --root"]),
    ];
    for (arguments, words) in cases {
        refuses(&arguments.join(" "), arguments, words);
    }
}

/// The kernel takes any name and stays with its own choice, and so does the model.
#[test]
fn a_clocksource_that_no_kernel_has_is_not_wrong_usage() {
    let arguments = ["predict", "--blank", "--cmdline", "clocksource=frobnicator", "--json"];
    let outcome = super::run(&arguments);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(outcome.stdout.contains("\"current\": \"tsc\""), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("frobnicator"), "{}", outcome.stdout);
}

#[test]
fn control_characters_of_a_word_are_named_in_the_message_about_it() {
    for arguments in [
        &["watch", "--listen", "evil\u{1b}[31m:80"][..],
        &["--evil\u{1b}[31m"],
        &["verify", "--duration", "\u{1b}[31m5y"],
        &["check", "--evil\u{1b}[31m"],
    ] {
        let outcome = super::run(arguments);
        let said = format!("{}{}", outcome.stderr, outcome.stdout);
        assert!(said.contains("<ESC>[31m") && !said.contains('\u{1b}'), "{arguments:?}: {said}");
        // The colours of this program are not in it.
        assert_eq!(said.matches("<ESC>").count(), said.matches("<ESC>[31m").count(), "{said}");
    }
}

#[test]
fn names_that_no_file_has_are_not_printed_whole() {
    let name = "a".repeat(100_000);
    for arguments in [
        &["why", &name][..],
        &["why", "--bundle", &name],
        &["predict", "--kernel", &name],
        &["vm", "lint", &name],
        &["vm", "lint", "--kind", &name, "x"],
        &["fleet", "--lines", &name],
        &["collect", "-o", &name],
        &[&name],
    ] {
        let outcome = super::run(arguments);
        assert_eq!(outcome.code, Some(2), "{:?}", arguments.first());
        let length = outcome.stderr.len();
        assert!(length < 4096 && outcome.stderr.contains("characters)..."), "{length}");
    }
}
