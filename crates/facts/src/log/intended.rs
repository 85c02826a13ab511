//! Writes of a clocksource that a sentence only plans, asks about, proposes or forbids: `Tonight I will run 'echo tsc > ...'`,
//! `Should I run this?` above the command.

use super::transcript;
use std::borrow::Cow;

/// Lines between the sentence and a command below it: blank ones, the mark of a fence.
const GAP: usize = 3;
/// Maximum number of bytes of a sentence.
const LONGEST: usize = 400;

/// Words of a plan, a question or a proposal.
const PLANS: &str = "will i'll we'll shall should would tomorrow plan planned planning suggested suggests recommends recommended \
    advises advised proposed proposes considering thinking maybe morgen werde soll sollte würde könnte darf geplant demain \
    devrais puis-je mañana debo debería puedo domani devo posso dovrei amanhã vou завтра буду стоит хочу";
/// The same in several words, and in languages without blanks.
const PLANS_INSIDE: [&str; 27] = [
    "going to ",
    "want to ",
    "about to ",
    "can i ",
    "could i ",
    "may i ",
    "you can run",
    "you can try",
    "you can use",
    "you could run",
    "you could try",
    "you could use",
    "is it ok",
    "is it safe",
    "kann ich",
    "heute abend",
    "peut-on",
    "je vais",
    "voy a",
    "можно ли",
    "打算",
    "明天",
    "是否",
    "准备",
    "明日",
    "つもり",
    "予定",
];
/// Words of a denial or a prohibition.
const NOT: &str =
    "not never yet don't haven't didn't won't nicht nie niemals pas jamais não nunca mai не нельзя";
/// The same in languages without blanks.
const NOT_INSIDE: [&str; 5] = ["不要", "没有", "还没", "未执行", "しないで"];
/// Words of what was done.
const DID: &str = "ran did executed used issued typed entered wrote done tried running habe hatte ausgeführt j'ai exécuté \
    ejecuté ejecutado eseguito executei выполнил сделал запустил";
/// Words of a time that follows the command: it was run, whatever else the sentence denies.
const AFTER: &str = "after since nach seit après después dopo depois после";
/// Parts of the rest of a sentence about the effect that a command had.
const EFFECT: [&str; 14] = [
    "fixed", "fixes", "works", "worked", "helped", "helps", "solved", "did not", "didn't",
    "does not", "doesn't", "changed", "made", "has no",
];
/// Parts of the rest of a sentence about a command that was not run.
const FEAR: [&str; 4] = ["afraid", "dare", "not yet", "be safe"];

/// Whether a line with such a command, or the sentence right above it, says that it was not run. `above` has the lines above, the
/// nearest first.
pub(super) fn is_intended<'a>(line: &str, above: impl Iterator<Item = Cow<'a, str>>) -> bool {
    let line = line.trim_matches(['>', ' ', '\t']);
    if transcript::host_of_prompt(line).is_some() {
        return false;
    }
    if let Some((head, tail)) = sentence_around(line) {
        return says(head, tail);
    }
    // The command alone.
    let mut gap = above.take(GAP);
    let sentence = gap.find(|line| {
        let line = line.trim_matches(['>', ' ', '\t']);
        !line.is_empty() && !line.starts_with("```")
    });
    sentence.is_some_and(|line| {
        let line = line.trim_matches(['>', ' ', '\t', '*', '_']);
        line.ends_with([':', '?', '\u{ff1a}', '\u{ff1f}'])
            && line.len() <= LONGEST
            && !super::strip_prefix(line).1
            && says(line, "")
    })
}

/// The words before and after a command in a sentence.
fn sentence_around(line: &str) -> Option<(&str, &str)> {
    if line.len() > LONGEST {
        return None;
    }
    let command =
        ["echo ", "printf ", "sudo ", "tee "].iter().filter_map(|word| line.find(word)).min()?;
    let head = line[..command].trim_end();
    let quote = head.chars().next_back().filter(|c| ['`', '"', '\'', '\u{201c}'].contains(c));
    let head = head.trim_end_matches(['`', '"', '\'', '\u{201c}', ' ', '$', '#']);
    let words = head.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic));
    // `sudo sh -c "echo ..."` is a command itself.
    let is_prose = words.clone().count() >= 2 || quote == Some('`') && words.count() == 1;
    if !is_prose || head.split(' ').any(|word| word == "-c") {
        return None;
    }
    let rest = &line[command..];
    let tail =
        quote.and_then(|quote| rest.rfind(quote).map(|end| &rest[end..])).unwrap_or_default();
    Some((head, tail))
}

/// Whether the words around a command say that it was not run.
fn says(head: &str, tail: &str) -> bool {
    let (head, tail) = (head.to_lowercase(), tail.to_lowercase());
    let head = head.rsplit(". ").next().unwrap_or_default();
    let words: Vec<&str> = head
        .split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '-')))
        .filter(|word| !word.is_empty())
        .collect();
    let has = |list: &str| list.split(' ').any(|one| words.contains(&one));
    let inside = |text: &str, list: &[&str]| list.iter().any(|part| text.contains(part));
    let denies = has(NOT) || inside(head, &NOT_INSIDE);
    if has(AFTER) || has(DID) && !denies || inside(&tail, &EFFECT) || head.contains("as suggested")
    {
        return false;
    }
    let asks =
        [head, tail.as_str()].iter().any(|text| text.trim_end().ends_with(['?', '\u{ff1f}']));
    asks || denies || has(PLANS) || inside(head, &PLANS_INSIDE) || inside(&tail, &FEAR)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::log::{Event, KernelLog};

    const WRITE: &str =
        "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource";

    fn intended(text: &str) -> bool {
        let lines: Vec<&str> = text.lines().collect();
        let (last, above) = lines.split_last().unwrap();
        is_intended(last, above.iter().rev().map(|line| Cow::Borrowed(*line)))
    }

    #[test]
    fn command_of_a_plan_a_question_or_a_prohibition_was_not_run() {
        for text in [
            format!("On Sunday I will run `{WRITE}` and see."),
            format!("Is it safe to run `{WRITE}` on a live host?"),
            format!("Would `{WRITE}` help?"),
            format!("I'll try `{WRITE}` later."),
            format!("To do on Friday, planned: `{WRITE}`."),
            format!("I did not run `{WRITE}`."),
            format!("Never run `{WRITE}` there."),
            format!("A colleague suggested `{WRITE}`, but I do not dare."),
            format!("Bitte nicht `{WRITE}` ausführen."),
            format!("Soll ich `{WRITE}` ausführen?"),
            format!("Tomorrow I am going to run:\n\n    {WRITE}"),
            format!("Can I run this?\n```\n{WRITE}"),
            format!("Should I do this?\n$ {WRITE}"),
        ] {
            assert!(intended(&text), "{text}");
        }
        for text in [
            format!("Then I ran `{WRITE}` here."),
            format!("`{WRITE}` did not help."),
            format!("As suggested, `{WRITE}`."),
            format!("It is not stable after `{WRITE}`."),
            format!("With `{WRITE}` it works?"),
            format!("I tried:\n\n    {WRITE}"),
            format!("Should I do this?\nroot@db1:~# {WRITE}"),
            format!("Should I change it?\n$ cat x\nhpet\n$ {WRITE}"),
            WRITE.to_owned(),
            format!("sudo sh -c '{WRITE}'"),
        ] {
            assert!(!intended(&text), "{text}");
        }
    }

    #[test]
    fn planned_write_is_no_event_of_the_log() {
        let writes = |text: &str| {
            let log = KernelLog::scan(text.as_bytes(), "log").unwrap();
            log.any(|event| matches!(event, Event::WroteCurrent(_)))
        };
        let log = "[    1.640081] clocksource: Switched to clocksource hpet\n";
        assert!(!writes(&format!("{log}\nOn Sunday I will run `{WRITE}`.\n")));
        assert!(!writes(&format!("{log}\nShould I run this?\n\n    {WRITE}\n")));
        assert!(writes(&format!("{log}\nThen I ran `{WRITE}`.\n")));
        assert!(writes(&format!("{log}\n# {WRITE}\n")));
    }
}
