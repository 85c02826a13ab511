//! Whether a text says whose machine printed the few lines of a kernel in it.
//!
//! A statement about machines in general (`Such a demotion is visible in dmesg as`) has no words of its own, so that
//! `general` and `uncertain` know only some. The reverse is easier to find: a writer who shows his own machine writes of
//! himself, asks, gives a date, or writes no more than a label (`dmesg:`) above the lines. Without any of these the
//! owner is open: the lines are evidence, but the report does not say that they are of the user's machine.

use super::super::prompt;
use super::uncertain;
use crate::log::{host_of, is_record, plain, quotation_depth};
use std::ops::Range;

/// Maximum number of kernel lines below a sentence: a whole log is not an illustration.
const SHORT: usize = 12;
/// Lines between the sentence and the block.
const GAP: usize = 3;
/// Fewest words of a sentence; a label has fewer.
const SENTENCE: usize = 4;
/// Fewest characters of a sentence in a language without blanks.
const UNSPACED: usize = 9;
/// Lines above and below the block in which a writer writes of himself.
const AROUND: usize = 20;

/// Lines of the message of a commit behind a block, at most.
const COMMIT: usize = 60;

/// The words of a label: what is shown, not what happens.
const LABEL: &str = "dmesg log logs kernel kernel's output console syslog journal journalctl messages message lines line \
    relevant excerpt part parts snippet actual results result boot bootlog trace the of from in and full complete here's \
    below above attached grep tsc clocksource hpet sudo cat less tail head after before first last entries ring buffer \
    warning warnings error errors serial some interesting important linux info details logfile file kern.log \
    /var/log/kern.log /var/log/messages var messages.log additional information system clock";
/// Verbs of a short label: `dmesg shows:`.
const SHOWS: &str = "says say shows show prints reads is are sagt zeigt dit affiche dice muestra";
/// Most words of a label with such a verb.
const WITH_VERB: usize = 3;

/// First words of the headings of a bug report.
const REPORT: [&str; 14] = [
    "actual result",
    "actual behavi",
    "description of problem",
    "steps to reproduce",
    "how reproducible",
    "version-release",
    "describe the bug",
    "bug description",
    "what happened",
    "current behavi",
    "hardware:",
    "environment:",
    "problem description",
    "system information",
];

/// Words of a writer about himself.
const SELF: &str = "i i'm i've i'd my me mine ich mir mich mein meine meinem meiner meinen je j'ai mon ma mes moi yo mi mis \
    eu meu minha meus minhas io mio mia miei я мне меня мой моя моём моем jsem mám můj mám mój moja mam ik mijn benim jag min \
    mitt jeg yesterday today tonight gestern ayer hoy ontem вчера сегодня včera wczoraj dün";
/// Words of several writers, which authors of guides also use.
const OURS: &str = "we our us ours we're we've wir unser unsere unserem unseren nous notre nos nosotros nuestro nuestra \
    nosso nossa nostro nostra мы наш наша наших нас";
/// Words for a reader, by which a text is a guide.
const READER: &str = "you your yours you'll sie ihr ihre ihren vous votre vos usted su sus voi vostro вы ваш ваша вашем";
/// The same as the first in languages without blanks.
const SELF_INSIDE: [&str; 12] =
    ["我", "本机", "这台", "私", "うち", "当方", "弊社", "手元", "제가", "저희", "저는", "내 "];
/// Words of a person who wants help.
const ASKS: &str = "anyone anybody somebody someone please plz thanks thank idea ideas hello hi dear danke bitte hilfe \
    merci bonjour gracias ayuda hola obrigado ajuda grazie aiuto спасибо помогите подскажите привет dziękuję pomoc díky";
/// Nouns for a machine, of which `the` makes a certain one.
const ONE: &str = "machine host box server laptop system node vm guest board pc computer desktop workstation router nas";
/// Words in front of `the machine` by which it is any one.
const ANY: &str =
    "if when whenever once unless such whose where each every any a an may might can could would";
/// Beginnings of words with a number that name no host.
const NO_HOST: [&str; 17] = [
    "x86", "cpu", "ipv", "i3", "i4", "i5", "i6", "i7", "i9", "amd64", "arm", "x64", "c1", "rdtsc",
    "utf", "ext", "rv",
];

/// The kernel lines whose owner the text leaves open; empty if anything in the text says whose they are.
pub(in crate::paste) fn open(lines: &[String]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(block) = block(lines, at) {
        at = block.end;
        if !is_short(lines, &block) || is_inside_a_log(lines, &block) {
            return Vec::new();
        }
        if is_of_a_patch(lines, &block) {
            found.push(block);
            continue;
        }
        let above = beside(lines, (block.start.saturating_sub(GAP)..block.start).rev());
        let below = beside(lines, block.end..lines.len().min(block.end + GAP));
        let condition = [above, below].into_iter().flatten().any(|at| is_condition(lines, at));
        let sentence = above.filter(|at| is_sentence(&lines[*at]));
        if !condition && sentence.is_none() {
            return Vec::new();
        }
        let around = block.start.saturating_sub(AROUND)..lines.len().min(block.end + AROUND);
        let person = person(lines, around, &block);
        let is_own = sentence.is_some_and(|at| is_of_a_machine(&lines[at]));
        if person == Person::Self_ || !condition && (is_own || person == Person::Asks) {
            return Vec::new();
        }
        found.push(block);
    }
    found
}

/// The next lines of a kernel from a line on, with the blank ones between them.
fn block(lines: &[String], from: usize) -> Option<Range<usize>> {
    let is_kernel = |at: &usize| plain::is_of_the_kernel(&lines[*at]);
    let first = (from..lines.len()).find(is_kernel)?;
    let is_part = |at: &usize| is_kernel(at) || lines[*at].trim().is_empty();
    let last = (first..lines.len()).take_while(is_part).filter(is_kernel).last()?;
    Some(first..last + 1)
}

/// Whether a block is too short for a log, and names no host.
fn is_short(lines: &[String], block: &Range<usize>) -> bool {
    let lines = &lines[block.clone()];
    lines.iter().filter(|line| !line.trim().is_empty()).count() <= SHORT
        && !lines.iter().any(|line| host_of(line).is_some())
}

/// Whether the lines right above and right below a block have no time stamp and begin like messages.
fn is_inside_a_log(lines: &[String], block: &Range<usize>) -> bool {
    let begins_like_a_message = |line: &String| {
        let tag = line.split_once(": ").map(|(tag, _)| tag);
        tag.is_some_and(|tag| {
            (2..=24).contains(&tag.len())
                && tag.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./".contains(&b))
        })
    };
    let above = block.start.checked_sub(1).and_then(|at| lines.get(at));
    let below = lines.get(block.end);
    above.is_some_and(begins_like_a_message) && below.is_some_and(begins_like_a_message)
}

/// Whether a block is in the message of a commit: what its author shows is of a machine that the reader may not have, and
/// what he writes of himself is not of the reader.
fn is_of_a_patch(lines: &[String], block: &Range<usize>) -> bool {
    let own = quotation_depth(&lines[block.start]);
    lines[block.end..]
        .iter()
        .take(COMMIT)
        .take_while(|line| quotation_depth(line) == own)
        .any(|line| bare(line).starts_with("Signed-off-by: "))
}

/// The nearest line of prose beside a block, behind blank lines and the marks of fences.
fn beside(lines: &[String], mut near: impl Iterator<Item = usize>) -> Option<usize> {
    near.find(|at| !uncertain::is_mark(&lines[*at]))
}

/// First words of a sentence to any reader who has such lines.
const CONDITIONS: [&str; 36] = [
    "if you",
    "if your",
    "if these",
    "if those",
    "if this",
    "if the",
    "if it",
    "when you",
    "when your",
    "when these",
    "whenever",
    "users who",
    "anyone who",
    "does your",
    "do you",
    "does the",
    "you are affected",
    "you're affected",
    "you need this",
    "you have this",
    "in that case",
    "in this case",
    "a: ",
    "si votre",
    "si vous",
    "si ves",
    "si su",
    "si tu",
    "se vedi",
    "wenn sie",
    "wenn ihr",
    "wenn du",
    "falls",
    "если вы",
    "если в",
    "se o",
];
/// The same in languages without blanks.
const CONDITIONS_INSIDE: [&str; 5] = ["如果", "若您", "若你", "もし", "만약"];

/// Whether a sentence is to any reader who has such lines: `If you see this, update the firmware`.
fn is_condition(lines: &[String], at: usize) -> bool {
    if is_record(&lines[at]) {
        return false;
    }
    let lower = bare(&lines[at]).to_lowercase();
    CONDITIONS.iter().any(|begin| {
        let rest = lower.strip_prefix(begin);
        rest.is_some_and(|rest| begin.ends_with(' ') || !rest.starts_with(char::is_alphanumeric))
    }) || CONDITIONS_INSIDE.iter().any(|part| lower.contains(part))
}

/// Whether a line is a sentence of prose, and not a label, a command or a line of a log.
fn is_sentence(line: &str) -> bool {
    let line = bare(line);
    if line.is_empty() || line.len() > 600 || is_record(line) || plain::is_of_the_kernel(line) {
        return false;
    }
    if prompt::read(line).is_some() || line.contains(['|', '=', '{']) {
        return false;
    }
    let lower = line.to_lowercase();
    if REPORT.iter().any(|head| lower.starts_with(head)) {
        return false;
    }
    let words = words(&lower);
    let unspaced =
        || words.len() < SENTENCE && line.chars().filter(|c| !c.is_ascii()).count() >= UNSPACED;
    (words.len() >= SENTENCE && !is_label(&words)) || unspaced() && has_unspaced(line)
}

/// Whether a line is written in a language without blanks.
fn has_unspaced(line: &str) -> bool {
    line.chars().any(|c| matches!(c, '\u{3040}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}'))
}

/// A line without the marks of quotations, headings and lists.
fn bare(line: &str) -> &str {
    line.trim_matches(['>', '*', '_', '#', '-', ' ', '\t'])
}

/// The words of a line in small letters.
fn words(lower: &str) -> Vec<&str> {
    lower
        .split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '-' | '_' | '.' | '/')))
        // Options of commands: `grep -i tsc`.
        .filter(|word| !word.starts_with('-'))
        .map(|word| word.trim_matches(['.', '-', '\'']))
        .filter(|word| !word.is_empty())
        .collect()
}

fn is_in(word: &str, list: &str) -> bool {
    list.split_ascii_whitespace().any(|one| one == word)
}

/// Whether words say what is shown below them, and nothing else.
fn is_label(words: &[&str]) -> bool {
    let verbs = words.iter().filter(|word| is_in(word, SHOWS)).count();
    words.iter().all(|word| is_in(word, LABEL) || is_in(word, SHOWS))
        && (verbs == 0 || words.len() <= WITH_VERB)
}

/// Whether the sentence itself is about a certain machine: the writer's, a named one, or one at a time.
fn is_of_a_machine(line: &str) -> bool {
    let lower = bare(line).to_lowercase();
    let words = words(&lower);
    let the_one = words.windows(2).enumerate().any(|(at, pair)| {
        is_in(pair[1], ONE)
            && matches!(pair[0], "the" | "this" | "that")
            && !words[..at].iter().any(|word| is_in(word, ANY))
    });
    // `Here is what it looks like` shows nothing of the writer's.
    let shows = ["here is ", "here's ", "here are "].iter().any(|begin| lower.starts_with(begin));
    let shown = if shows { lower.split_once(' ').map_or("", |(_, rest)| rest) } else { &lower };
    the_one || uncertain::is_own(shown) || words.iter().any(|word| is_certain(word))
}

/// Whether a word is a date, a time of day, the release of a distribution's kernel, or the name of a host.
fn is_certain(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let is_date = word.len() == 10 && digits == 8 && word.matches(['-', '.', '/']).count() == 2;
    let is_release = word.starts_with(|c: char| c.is_ascii_digit())
        && word.split_once('-').is_some_and(|(version, _)| version.matches('.').count() >= 2);
    let is_host = || {
        let name = word.strip_suffix("'s").unwrap_or(word);
        let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
        letters.len() >= 2
            && letters.len() < name.len()
            && letters.starts_with(|c: char| c.is_ascii_lowercase())
            && letters.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
            && !NO_HOST.iter().any(|begin| name.starts_with(begin))
    };
    is_date || is_release || is_host()
}

/// Whether the prose above a line is a report of what happened to its writers, and no guide for a reader.
pub(super) fn is_report(lines: &[String], at: usize) -> bool {
    let (mut own, mut reader) = (false, false);
    let above = lines[at.saturating_sub(AROUND)..at].iter();
    for line in above.filter(|line| line.len() <= 2000 && !plain::is_of_the_kernel(line)) {
        let lower = bare(line).to_lowercase();
        let words = words(&lower);
        own |= words.iter().any(|word| is_in(word, SELF) || is_in(word, OURS));
        reader |= words.iter().any(|word| is_in(word, READER));
    }
    own && !reader
}

/// What the prose around a block says of its writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Person {
    /// Nothing.
    Nobody,
    /// He asks, or is one of several.
    Asks,
    /// He writes of himself, or shows a session on a machine.
    Self_,
}

/// The strongest sign of a writer in the prose around a block.
fn person(lines: &[String], around: Range<usize>, block: &Range<usize>) -> Person {
    let (mut ours, mut reader, mut asks) = (false, false, false);
    for at in around {
        let line = &lines[at];
        // A heading speaks to the reader: `## Do I need it?`.
        let skipped = block.contains(&at)
            || line.len() > 2000
            || line.starts_with(['#', 'Q']) && is_heading(line);
        if skipped {
            continue;
        }
        if is_session(lines, at) {
            return Person::Self_;
        }
        if plain::is_of_the_kernel(line) || prompt::read(line).is_some() {
            continue;
        }
        let lower = bare(line).to_lowercase();
        let words = words(&lower);
        if words.iter().any(|word| is_in(word, SELF))
            || SELF_INSIDE.iter().any(|part| lower.contains(part))
        {
            return Person::Self_;
        }
        let is_report = REPORT.iter().any(|head| lower.starts_with(head));
        asks |= is_report || lower.ends_with('?') || words.iter().any(|word| is_in(word, ASKS));
        ours |= words.iter().any(|word| is_in(word, OURS));
        reader |= words.iter().any(|word| is_in(word, READER));
    }
    if asks || ours && !reader { Person::Asks } else { Person::Nobody }
}

/// Whether a line is a heading of Markdown, or a question of a list of them.
fn is_heading(line: &str) -> bool {
    line.trim_start_matches('#').starts_with(' ') && line.starts_with('#')
        || line.starts_with("Q: ")
}

/// Whether a line is a command of a session: its prompt names a host, or its output follows. A command alone is an
/// instruction to the reader.
fn is_session(lines: &[String], at: usize) -> bool {
    let Some(found) = prompt::read(&lines[at]).filter(|found| !found.command.is_empty()) else {
        return false;
    };
    let output = || {
        lines.get(at + 1).is_some_and(|next| {
            !next.trim().is_empty()
                && !next.starts_with("```")
                && prompt::read(next).is_none()
                && !next.starts_with('#')
        })
    };
    found.host.is_some() || output()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: &str = "[  300.100210] tsc: Marking TSC unstable due to clocksource watchdog\n\
                         [  300.101000] clocksource: Switched to clocksource hpet\n";

    fn is_open(text: &str) -> bool {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        !open(&lines).is_empty()
    }

    #[test]
    fn statements_about_machines_in_general_leave_the_owner_open() {
        for line in [
            "Boards of the first revision are known to print",
            "The kernel then prints the following lines.",
            "When the watchdog finds a skew the kernel falls back to hpet.",
            "Every kernel since 3.10 writes these two lines at a demotion.",
            "The messages in question are:",
            "Customers have reported these messages:",
            "One reader sent the following:",
            "The bug shows itself as:",
            "Here is what the fallback looks like in the kernel log:",
            "The signature of this issue:",
            "If the TSC fails, the machine prints:",
            "Der Kernel meldet dann:",
            "Le noyau affiche alors :",
            "Entonces el kernel escribe:",
            "当时钟源不稳定时,内核会输出:",
            "カーネルは次のように出力します:",
        ] {
            assert!(is_open(&format!("{line}\n\n{BLOCK}")), "{line}");
            assert!(is_open(&format!("{line}\n\n```\n{BLOCK}```\nIt is harmless.\n")), "{line}");
        }
        for behind in ["Check with `dmesg | grep -i tsc`.", "dmesg | grep -i tsc", "uname -a"] {
            assert!(
                is_open(&format!("{BLOCK}\nIf your log shows them, it is yours.\n\n{behind}\n")),
                "{behind}"
            );
        }
        assert!(is_open(&format!(
            "If you see this, we can help.\nThe kernel then prints this:\n{BLOCK}"
        )));
    }

    #[test]
    fn words_of_a_writer_a_label_or_a_session_say_whose_lines_they_are() {
        for line in [
            "I get this in dmesg:",
            "dmesg shows:",
            "Kernel log:",
            "Relevant dmesg lines:",
            "Output of dmesg | grep -i tsc:",
            "The server is slow after 5 minutes:",
            "We see this on all of our hosts:",
            "TSC is marked unstable on Dell R640 running 5.4.0-42-generic:",
            "Can someone explain these lines please?",
            "Seit dem Update ist der Rechner langsam:",
            "Depuis la mise à jour, le serveur est lent :",
            "昨天服务器变慢了:",
            "Actual results: it does not keep the TSC",
            "The following appeared in the log on 2024-03-01:",
            "The log of node db1 has these lines:",
            "$ dmesg | grep -i -e tsc -e clocksource",
            "",
        ] {
            assert!(!is_open(&format!("{line}\n\n{BLOCK}")), "{line}");
        }
        for text in [
            format!("My laptop is slow.\n\nThe kernel then prints this:\n{BLOCK}"),
            format!("The kernel then prints this:\n{BLOCK}\nAny idea?"),
            format!("The kernel then prints this:\n{BLOCK}\n$ uname -r\n6.1.0\n"),
            format!("If you need more of it, tell me.\n\n{BLOCK}"),
            format!("My log:\n{BLOCK}\nIf you see anything wrong, please say so.\n"),
            format!("root@db1:~# dmesg\n{BLOCK}"),
            format!("Since yesterday it is slow. The kernel prints this:\n{BLOCK}"),
            format!("We run Debian.\nThe kernel then prints this:\n{BLOCK}"),
        ] {
            assert!(!is_open(&text), "{text}");
        }
        for (text, is_patch) in [
            (
                format!(
                    "On my laptop it fails:\n\n{BLOCK}\nSo quirk it.\n\nSigned-off-by: A B <a@b.c>\n"
                ),
                true,
            ),
            (
                format!(
                    "> I see this:\n> {}Signed-off-by: A B <a@b.c>\n",
                    BLOCK.replace('\n', "\n> ")
                ),
                true,
            ),
            (
                format!(
                    "> I see this:\n> {}\nTry this patch.\n\nSigned-off-by: A B <a@b.c>\n",
                    BLOCK.replace('\n', "\n> ")
                ),
                false,
            ),
        ] {
            assert_eq!(is_open(&text), is_patch, "{text}");
        }
        let around =
            "NET: Registered protocol family 39\nclocksource: Switched to clocksource kvm-clock\n";
        assert!(!is_open(&format!("{around}VFS: Disk quotas dquot_6.6.0\nTOMYO: 2.6.0\n")));
        assert!(is_open(&format!("Note: the kernel then prints this\n{BLOCK}It is harmless.\n")));
        let log: String = (0..20).map(|at| format!("[    0.{at:06}] pci 0000:00: x\n")).collect();
        assert!(!is_open(&format!("The kernel then prints this:\n{log}")));
    }
}
