//! Constructs that are understood, and constructs that are refused.

use super::*;
use proptest::prelude::*;

fn words(text: &str) -> Vec<Vec<String>> {
    let script = read(text).unwrap_or_else(|error| panic!("{error:?} in {text}"));
    script.commands.iter().map(|c| c.words.iter().map(|w| w.text.clone()).collect()).collect()
}

#[test]
fn read_scripts_commands_and_words() {
    for (text, expected) in [
        ("a b; c \\\n d # e\n", vec![vec!["a", "b"], vec!["c", "d"]]),
        ("a 'b c'\"d\"\\ e &", vec![vec!["a", "b cd e"]]),
        (
            "if a; then b; elif c; then d; else e; fi",
            vec![vec!["a"], vec!["b"], vec!["c"], vec!["d"], vec!["e"]],
        ),
        ("for i in 1 2; do a; done; while b; do c; done", vec![vec!["a"], vec!["b"], vec!["c"]]),
        (
            "f() { a; }; function g { b; }\n(c; d) | e && f || ! g",
            vec![vec!["a"], vec!["b"], vec!["c"], vec!["d"], vec!["e"], vec!["f"], vec!["g"]],
        ),
        ("case x in a|b) c;; (d) e ;; *) f; esac", vec![vec!["c"], vec!["e"], vec!["f"]]),
        ("cat <<E <<-'F'\nx $(\nE\n\ty '\n\tF\na", vec![vec!["cat"], vec!["a"]]),
        ("[[ $a == b && ( c < d ) || $e =~ ^(f|g)$ ]] && a >&2 2>/dev/null", vec![vec!["a"]]),
        (
            "for ((i = 0; i < 3; i++)); do a $((1 + (2))); done; ((b++))",
            vec![vec!["a", "\u{1}$((1 + (2)))\u{1}"]],
        ),
        ("A=(b \"c d\"\n # e\n f) A+=(g) B=c d", vec![vec!["d"]]),
        ("a <(b) > >(c)", vec![vec!["a", "\u{1}<(b)\u{1}"], vec!["b"], vec!["c"]]),
        ("local -r x=(1 2) y", vec![vec!["local", "-r", "y"]]),
        ("a b#c #d", vec![vec!["a", "b#c"]]),
        ("{ a; } > b; echo }", vec![vec!["a"], vec!["echo", "}"]]),
    ] {
        assert_eq!(words(text), expected, "{text}");
    }
}

#[test]
fn read_unknown_is_refused() {
    for text in [
        "a (",
        "a )",
        "if a; then",
        "fi",
        "a 'b",
        "a \"b",
        "a ${b",
        "a $(b",
        "a `b",
        "a\r\n",
        "\u{feff}a",
        "a\u{1b}",
        "cat <<E\nx",
        "x=$(cat <<E)\n",
        "a && ;",
        "| a",
        "a $\"b\"",
        "a $[1]",
        "coproc a",
        "f() a",
        "a;;",
        "[[ a",
        "a \"${b:-'}\"",
        "echo $((a) | b)",
        "for",
        "case a in b",
        "a &&",
        "if\nfi",
        "function f(x) { a; }",
    ] {
        let known = read(text);
        // A list may be empty here, which a shell refuses.
        assert!(known.is_err() || text == "if\nfi", "{text}: {known:?}");
    }
}

#[test]
fn read_places() {
    let place = |text: &str| {
        read(text)
            .unwrap()
            .commands
            .iter()
            .find(|c| c.words.first().is_some_and(|w| w.text == "q"))
            .unwrap()
            .clone()
    };
    for (text, branch) in [
        ("q", false),
        ("a && q", true),
        ("q && a", false),
        ("if a; then q; fi", true),
        ("if q; then a; fi", false),
        ("f() { q; }", false),
        ("for i in 1; do q; done", false),
        ("while a; do q; done", true),
        ("case a in b) q;; esac", true),
        ("a; q | b", false),
        ("{ a || b; }; q", false),
    ] {
        assert_eq!(place(text).place.branch, branch, "{text}");
    }
    assert!(place("x=\"$(q)\"").place.substitution && !place("x=$(a) q").place.substitution);
    assert!(
        place("(q)").place.apart && place("a | q").place.apart && !place("a | b; q").place.apart
    );
    for (text, next) in [
        ("a; q; b", true),
        ("q; b", true),
        ("a; q", false),
        ("a; q & b", false),
        ("a; q && c; b", false),
        ("a; ! q; b", false),
        ("a; q | c; b", false),
        ("if a; q; then b; fi", false),
        ("f() { a; q; b; }", true),
    ] {
        assert_eq!(place(text).next.is_some(), next, "{text}");
    }
}

#[test]
fn read_words_runs_stand_where_they_say() {
    let text = "a b'c'\"d$e f\"${g:-h}i\\ j";
    let script = read(text).unwrap();
    let word = &script.commands[0].words[1];
    let runs: Vec<&str> = word.runs.iter().map(|run| &text[run.clone()]).collect();
    assert_eq!(runs, ["b", "c", "d", " f", "i", "j"]);
    let names: Vec<_> = word.uses.iter().map(|it| (it.name.as_str(), it.form, it.quoted)).collect();
    assert_eq!(names, [("e", Form::Plain, true), ("g", Form::Other, false)]);
}

proptest! {
    #[test]
    fn read_any_text_never_panics(text in "[ab$(){}\\[\\]\"'`\\\\|&;<>=#!\n -]{0,60}") {
        if let Ok(script) = read(&text) {
            for word in script.commands.iter().flat_map(|c| &c.words) {
                prop_assert!(text.get(word.span.clone()).is_some());
                for run in &word.runs {
                    prop_assert!(text.get(run.clone()).is_some());
                }
            }
        }
    }
}
