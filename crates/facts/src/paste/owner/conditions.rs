//! Sentences that say what a result would mean: `If the command returns the following result, ...:`, `The following situation
//! indicates ...:`. The result below such a sentence is one that a command may have, and no machine of the writer printed it.

use super::uncertain;
use crate::log::is_record;
use crate::paste::prompt;

/// First words of a condition.
const IF: [&str; 8] = ["if ", "wenn ", "falls ", "si ", "se ", "если ", "如果", "もし"];
/// Verbs of what a command shows, in the present.
const SHOWS: [&str; 34] = [
    "returns",
    "return",
    "shows",
    "show",
    "prints",
    "print",
    "displays",
    "display",
    "reports",
    "report",
    "outputs",
    "gives",
    "contains",
    "is",
    "are",
    "reads",
    "see",
    "get",
    "looks",
    "look",
    "says", // German
    "zeigt",
    "liefert",
    "ausgibt",
    "lautet", // French, Spanish, Portuguese, Italian
    "affiche",
    "renvoie",
    "muestra",
    "devuelve",
    "mostra",
    "exibe",
    "retorna",
    "restituisce", // Russian
    "выводит",
];
/// The same in languages without blanks.
const SHOWS_INSIDE: [&str; 6] = ["显示", "返回", "输出", "表示", "出力", "返す"];
/// Words for what is below the sentence.
const BELOW: [&str; 17] = [
    "the following",
    "as follows",
    "like this",
    "like these",
    "like the one below",
    "folgende",
    "wie folgt",
    "suivant",
    "siguiente",
    "seguinte",
    "seguente",
    "следующ",
    "以下",
    "下列",
    "如下",
    "次の",
    "下記",
];
/// Nouns for a state of a kind, and verbs of what it means: `The following situation indicates`.
const STATES: [&str; 10] = [
    "situation",
    "situations",
    "state",
    "states",
    "case",
    "cases",
    "condition",
    "conditions",
    "scenario",
    "symptom",
];
/// See `STATES`.
const MEANS: [&str; 8] =
    ["indicates", "indicate", "means", "mean", "implies", "imply", "suggests", "suggest"];
/// Subjects of a condition on a result.
const RESULTS: [&str; 9] = [
    "if the command ",
    "if the output ",
    "if the result ",
    "if the status ",
    "if the value ",
    "if the state ",
    "if it ",
    "if this command ",
    "if the message ",
];
/// Conditions from which on a text explains results.
const GUIDE: usize = 2;

/// A sentence without the signs of a list.
fn bare(line: &str) -> String {
    let line =
        line.trim().trim_start_matches(|c: char| c.is_ascii_digit() || "+-*.)#> \t".contains(c));
    line.to_lowercase()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '\''))
}

fn shows(clause: &str) -> bool {
    words(clause).any(|word| SHOWS.contains(&word))
        || SHOWS_INSIDE.iter().any(|part| clause.contains(part))
}

/// Whether a line says what the output below it would mean.
pub(super) fn leads_in(line: &str) -> bool {
    let line = line.trim_end();
    if !line.ends_with([':', '\u{ff1a}']) || line.len() > 400 {
        return false;
    }
    let lower = bare(line);
    if uncertain::is_own(&lower) {
        return false;
    }
    lower.split(". ").any(|sentence| is_condition(sentence) || is_state(sentence))
}

/// Whether the condition of a sentence is on the output below it: what follows belongs to the condition, and not to the
/// sentence about what happened then.
fn is_condition(sentence: &str) -> bool {
    let Some(rest) = IF.iter().find_map(|word| sentence.trim_start().strip_prefix(word)) else {
        return false;
    };
    let clause = rest.split([',', '\u{ff0c}', '\u{3001}']).next().unwrap_or(rest);
    shows(clause) && BELOW.iter().any(|words| clause.contains(words))
}

/// `the following situation indicates that`
fn is_state(sentence: &str) -> bool {
    let Some(rest) = sentence.trim_start().strip_prefix("the following ") else { return false };
    let mut words = words(rest).filter(|word| !word.is_empty()).take(4);
    words.next().is_some_and(|word| STATES.contains(&word))
        && words.any(|word| MEANS.contains(&word))
}

/// Whether a sentence says what one result of a command means: `If the command returns `tsc`, all is well.`
fn weighs(line: &str) -> bool {
    let lower = bare(line);
    let of_result = |sentence: &str| {
        let sentence = sentence.trim_start();
        RESULTS
            .iter()
            .find_map(|words| sentence.strip_prefix(words))
            .is_some_and(|rest| shows(rest.split(',').next().unwrap_or(rest)) && rest.contains(','))
    };
    lower.split(". ").any(of_result)
}

/// Whether a text explains what results of a command mean, and nothing in it is of a machine of its writer: all outputs in it are
/// examples.
pub(in crate::paste) fn is_guide(lines: &[String]) -> bool {
    let is_condition = |line: &&String| leads_in(line) || weighs(line);
    let number = lines.iter().filter(|line| !is_record(line)).filter(is_condition).count();
    let is_own = |line: &String| {
        is_record(line)
            || prompt::own(line).is_some_and(|prompt| prompt.host.is_some())
            || uncertain::is_own(&line.to_lowercase())
    };
    number >= GUIDE && !lines.iter().any(is_own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_on_the_output_below_lead_in() {
        for line in [
            "If the command returns the following result, an error occurs in the synchronization:",
            "- If you see a line like this, the counter is not used:",
            "If the output is as follows, set the clock:",
            "2. The following situation indicates that NTP does not run:",
            "Wenn der Befehl die folgende Ausgabe zeigt, ist die Uhr nicht synchronisiert:",
            "如果命令返回以下结果，则同步异常：",
        ] {
            assert!(leads_in(line), "{line}");
        }
    }

    #[test]
    fn reports_of_what_happened_do_not_lead_in() {
        for line in [
            "If I run chronyc tracking I get the following:",
            "If the machine is rebooted, dmesg shows the following:",
            "If it helps, the output is as follows:",
            "My server shows the following:",
            "The following output is of the server:",
            "The following indicates the fault:",
            "If the command returns the following result, an error occurs",
        ] {
            assert!(!leads_in(line), "{line}");
        }
    }

    #[test]
    fn guide_is_a_text_that_only_explains_results() {
        let of = |text: &str| is_guide(&text.lines().map(str::to_owned).collect::<Vec<_>>());
        let guide = "Run `chronyc tracking`. If the command returns `Leap status : Normal`, all is well.\n\n\
                     Leap status     : Normal\n\nIf the command returns the following result, it is not:\n\n\
                     Leap status     : Not synchronised\n";
        assert!(of(guide));
        for added in ["On my server:\n", "root@db1:~# chronyc tracking\n", "We have it, too.\n"] {
            assert!(!of(&format!("{guide}{added}")), "{added}");
        }
        assert!(!of("If the command returns `tsc`, all is well.\n\n$ cat x\nhpet\n"));
    }
}
