//! Sentences that report that a person changed the clocksource, or started the machine with other parameters.
//!
//! A report has a verb of the past after which, or a word for "after" before which, it names the file, a parameter of
//! the kernel, or the clocksource that was chosen. A question, a wish, a condition and a denial report nothing.

use super::{command, is_clocksource, named};
use crate::log::prefix;

/// Characters of a paragraph that are examined, at most.
const PARAGRAPH: usize = 4000;

/// Verbs of the past, or their beginnings, by which a person reports a change; in small letters.
const DID: [&str; 72] = [
    // English. `set` is also the present: it needs its subject.
    "wrote",
    "written",
    "changed",
    "switched",
    "selected",
    "chose",
    "chosen",
    "forced",
    "echoed",
    "booted",
    "rebooted",
    "restarted",
    "added",
    "appended",
    "passed",
    "replaced",
    "moved",
    "tried",
    "used",
    "i set",
    "we set",
    "then set",
    "and set",
    "have set",
    "was set to",
    "put",
    // German.
    "geschrieben",
    "schrieb",
    "gesetzt",
    "setzte",
    "umgestellt",
    "stellte",
    "geändert",
    "änderte",
    "gewechselt",
    "wechselte",
    "umgeschaltet",
    "gestartet",
    "gebootet",
    "eingetragen",
    // French.
    "écrit",
    "changé",
    "basculé",
    "j'ai mis",
    "forcé",
    "redémarré",
    "démarré",
    "ajouté",
    // Spanish, Portuguese.
    "escribí",
    "cambié",
    "puse",
    "arranqué",
    "reinicié",
    "añadí",
    "agregué",
    "escrevi",
    "mudei",
    "troquei",
    "alterei",
    "coloquei",
    "reiniciei",
    "adicionei",
    // Italian.
    "ho scritto",
    "cambiato",
    "impostato",
    "ho messo",
    "riavviato",
    "aggiunto",
    // Russian.
    "записал",
    "переключил",
    "поменял",
    "сменил",
];

/// The same, for languages whose words are not set apart, and more of Russian.
const DID_INSIDE: [&str; 16] = [
    "изменил",
    "поставил",
    "выставил",
    "перезагрузил",
    "добавил",
    "改为",
    "改成",
    "改了",
    "切换到",
    "切换为",
    "设置为",
    "换成",
    "書き込み",
    "切り替え",
    "変更し",
    "設定し",
];

/// Words before the gerund of such a verb: `after switching to hpet`.
const SINCE: [&str; 6] = ["after", "since", "upon", "by", "now", "when"];
/// Gerunds of the verbs.
const DOING: [&str; 12] = [
    "setting",
    "changing",
    "switching",
    "adding",
    "booting",
    "rebooting",
    "writing",
    "selecting",
    "forcing",
    "disabling",
    "using",
    "passing",
];

/// Words before the verb by which a sentence reports nothing.
const NOT: [&str; 62] = [
    "would",
    "could",
    "should",
    "can",
    "may",
    "might",
    "must",
    "will",
    "if",
    "whether",
    "please",
    "how",
    "why",
    "unless",
    "never",
    "not",
    "cannot",
    "anyone",
    "anybody",
    "someone",
    "you",
    "don't",
    "didn't",
    "haven't",
    "kernel",
    "linux",
    "system",
    "watchdog",
    "it",
    "be",
    "recommend",
    // German.
    "kann",
    "könnte",
    "sollte",
    "muss",
    "wenn",
    "falls",
    "ob",
    "bitte",
    "wie",
    "nicht",
    "würde",
    "kernel,",
    "kern",
    // French, Spanish, Portuguese, Italian.
    "peut",
    "pourrait",
    "faut",
    "si",
    "comment",
    "pas",
    "puede",
    "podría",
    "cómo",
    "no",
    "pode",
    "poderia",
    "se",
    "como",
    "não",
    "può",
    "potrebbe",
    "non",
];

/// The same for the languages whose words are not set apart, anywhere in the sentence, and for Russian.
const NOT_INSIDE: [&str; 18] = [
    "если",
    "можно",
    "нужно",
    "надо",
    "ядро",
    "如果",
    "可以",
    "应该",
    "是否",
    "怎么",
    "如何",
    "吗",
    "请",
    "内核",
    "ください",
    "べき",
    "できます",
    "カーネル",
];

/// Words directly before the name of the clocksource that was chosen.
const TO: [&str; 14] = [
    "to", "with", "using", "into", "auf", "zu", "mit", "à", "sur", "avec", "con", "para", "на", "с",
];
/// Such words that English has with another meaning: they follow a verb of the past of a Romance language.
const TO_ROMANCE: [&str; 3] = ["a", "al", "en"];
/// Words after which `to` does not introduce a choice.
const TO_OTHERS: [&str; 9] =
    ["compared", "relative", "similar", "close", "due", "next", "prior", "according", "thanks"];

/// The reports in some lines: the line of each, and the clocksource that it names.
pub(super) fn reports(lines: &[String]) -> Vec<(usize, Option<String>)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let end = at + lines[at..].iter().take_while(|line| is_prose(line)).count();
        if end == at {
            at += 1;
            continue;
        }
        let bare = |line: &String| line.trim_matches(['>', ' ', '\t']).to_lowercase();
        let whole: Vec<String> = lines[at..end].iter().map(bare).collect();
        let text = whole.join(" ");
        let mut begin = 0;
        for sentence in text.split_inclusive([';', '?', '\u{3002}', '\u{ff1f}']).flat_map(divide) {
            if begin < PARAGRAPH
                && let Some(name) = report(sentence)
            {
                found.push((at + line_of(&whole, begin + sentence.len().saturating_sub(1)), name));
            }
            begin += sentence.len();
        }
        at = end;
    }
    found
}

/// The sentences of a text without other signs: a point ends one only before a blank.
fn divide(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest.take().filter(|text| !text.is_empty())?;
        let end = [". ", "! "].iter().filter_map(|sign| text.find(sign)).min();
        let (one, more) = end.map_or((text, ""), |end| text.split_at(end + 2));
        rest = Some(more);
        Some(one)
    })
}

/// The line of some joined lines that has this byte.
fn line_of(whole: &[String], byte: usize) -> usize {
    let mut end = 0;
    whole
        .iter()
        .position(|line| {
            end += line.len() + 1;
            byte < end
        })
        .unwrap_or_else(|| whole.len().saturating_sub(1))
}

/// Whether a line may be part of a sentence: it has several words, and is neither a command nor an output.
fn is_prose(line: &str) -> bool {
    let bare = line.trim_matches(['>', ' ', '\t']);
    let is_asian = || bare.chars().any(|c| ('\u{3040}'..'\u{a000}').contains(&c));
    let begins = bare.starts_with(|c: char| c.is_alphabetic() || "`\"'(*-".contains(c));
    begins
        && prefix::strip(line).kernel.is_none()
        && (bare.split_ascii_whitespace().count() >= 2 || is_asian())
        && !command::is_of_shell(bare)
}

/// Whether a sentence, in small letters, reports a change; and the clocksource that it names.
fn report(sentence: &str) -> Option<Option<String>> {
    let named_setting = setting(sentence);
    let chosen = chosen(sentence);
    if named_setting.is_none() && chosen.is_none() {
        return None;
    }
    if sentence.trim_end().ends_with(['?', '\u{ff1f}'])
        || NOT_INSIDE.iter().any(|words| sentence.contains(words))
    {
        return None;
    }
    let at = verb(sentence)?;
    let before = sentence[..at]
        .split(|c: char| c.is_whitespace() || c == ',')
        .map(|word| word.trim_matches(['(', '"', '*']));
    if before.into_iter().any(|word| NOT.contains(&word)) {
        return None;
    }
    // `switched from the TSC to hpet`: the second one.
    Some(chosen.map(str::to_owned).or_else(|| {
        let setting = named_setting.map_or("", |at| &sentence[at..]);
        let names_one = setting.starts_with("clocksource=") || setting.contains("_clocksource");
        // `tsc=unstable` and `notsc` do not request a clocksource.
        let mut names = named(if names_one { sentence } else { "" });
        let first = names.next()?;
        names.all(|name| name == first).then(|| first.to_owned())
    }))
}

/// The place of the verb that reports a change.
fn verb(sentence: &str) -> Option<usize> {
    let is_end = |at: usize| {
        let next = sentence[at..].chars().next();
        next.is_none_or(|c| !c.is_alphanumeric())
    };
    let is_begin = |at: usize| {
        let before = sentence[..at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && c != '-')
    };
    let past = DID.iter().filter_map(|verb| {
        let (at, _) = sentence.match_indices(verb).find(|(at, _)| is_begin(*at))?;
        let is_russian = !verb.is_ascii() && verb.starts_with(|c: char| ('а'..='я').contains(&c));
        (is_russian || is_end(at + verb.len())).then_some(at)
    });
    let inside = DID_INSIDE.iter().filter_map(|verb| sentence.find(verb));
    let mut last = (0, "");
    let mut gerund = None;
    for word in sentence.split(' ') {
        let at = word.as_ptr().addr() - sentence.as_ptr().addr();
        if DOING.contains(&word) && SINCE.contains(&last.1) {
            gerund = Some(last.0);
            break;
        }
        last = (at, word);
    }
    past.chain(inside).chain(gerund).min()
}

/// The name of the clocksource that a sentence says was chosen: `to hpet`, `auf hpet`, `на acpi_pm`, `为 hpet`.
fn chosen(sentence: &str) -> Option<&str> {
    let (mut before, mut last) = ("", "");
    for word in sentence.split([' ', '\t']) {
        let bare = word.trim_matches(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'));
        let leads = TO.contains(&last) && !TO_OTHERS.contains(&before)
            || TO_ROMANCE.contains(&last) && is_romance_past(before);
        if is_clocksource(bare) && leads {
            return Some(bare);
        }
        // An article, and the word for what it is.
        const BETWEEN: [&str; 12] = [
            "the",
            "den",
            "die",
            "das",
            "le",
            "el",
            "o",
            "il",
            "clocksource",
            "clock",
            "source",
            "",
        ];
        if !BETWEEN.contains(&bare) {
            (before, last) = (last, bare);
        }
    }
    // Languages without blanks: the name follows the word.
    ["到", "为", "成", "を", "に"].iter().find_map(|sign| {
        let rest = &sentence[sentence.find(sign)? + sign.len()..];
        let rest = rest.trim_start_matches([' ', '`', '"', '\u{300c}', '\u{201c}']);
        let end = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'))
            .unwrap_or(rest.len());
        is_clocksource(&rest[..end]).then(|| &rest[..end])
    })
}

/// Whether a word has the ending of a verb of the past in Spanish, Portuguese or Italian.
fn is_romance_past(word: &str) -> bool {
    ["é", "í", "ado", "ato", "ido", "ito", "ei"].iter().any(|ending| word.ends_with(ending))
}

/// The place of a parameter of the kernel, or of a file of the clocksource, in a sentence.
fn setting(sentence: &str) -> Option<usize> {
    const WORDS: [&str; 8] = [
        "clocksource=",
        "tsc=",
        "notsc",
        "hpet=",
        "nohpet",
        "no-kvmclock",
        "current_clocksource",
        "unbind_clocksource",
    ];
    let begins = |at: &usize| {
        let before = sentence[..*at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && c != '_')
    };
    WORDS.iter().find_map(|word| sentence.match_indices(word).map(|(at, _)| at).find(begins))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(text: &str) -> Option<Option<String>> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        reports(&lines).pop().map(|(_, name)| name)
    }

    #[test]
    fn reports_of_a_change_are_found() {
        let hpet = Some(Some("hpet".to_owned()));
        for text in [
            "Then I wrote hpet to current_clocksource and it became slow.",
            "Then I wrote hpet to\ncurrent_clocksource and it became slow.",
            "All was well. After that I switched to hpet.",
            "I have since changed the clocksource from TSC to HPET, and now it can run.",
            "After switching to hpet the game runs.",
            "I rebooted with clocksource=hpet.",
            "So I added `clocksource=hpet` to the command line.",
            "Danach habe ich auf hpet umgestellt.",
            "J'ai changé la source pour passer à hpet.",
            "Luego cambié a hpet.",
            "Depois mudei para hpet.",
            "Poi sono passato: ho scritto hpet in current_clocksource.",
            "Потом я переключил на hpet.",
            "然后我切换到 hpet 了。",
            "その後 clocksource を hpet に切り替えました: current_clocksource。",
            "> Then I wrote hpet to current_clocksource.",
        ] {
            assert_eq!(reported(text), hpet, "{text}");
        }
        for text in ["I tried notsc then.", "After adding tsc=unstable it is better."] {
            assert_eq!(reported(text), Some(None), "{text}");
        }
    }

    #[test]
    fn questions_wishes_and_denials_report_nothing() {
        for text in [
            "Should I write hpet to current_clocksource?",
            "You could try clocksource=hpet, which others used.",
            "I have not changed current_clocksource.",
            "The kernel switched to hpet by itself.",
            "If it is switched to hpet, it gets slow.",
            "How is it changed to hpet",
            "Please boot with clocksource=hpet.",
            "Would it help to have booted with notsc?",
            "The clocksource is tsc.",
            "I wrote a mail about the hpet.",
            "I tried it twice: tsc is fast compared to hpet.",
            "I added a hpet to the machine.",
            "I used my_tsc=3 in the program.",
            "如何切换到 hpet",
            "Kann man auf hpet umgestellt werden",
        ] {
            assert_eq!(reported(text), None, "{text}");
        }
    }

    #[test]
    fn line_is_that_in_which_the_sentence_ends() {
        let lines = ["Hello there.", "Then I wrote hpet to", "current_clocksource now.", "Bye all"];
        let lines: Vec<String> = lines.map(str::to_owned).to_vec();
        assert_eq!(reports(&lines), [(2, Some("hpet".to_owned()))]);
    }
}
