//! Sentences in front of a few lines of a kernel that do not say that the writer's machine printed them: `Na niektórych
//! maszynach pojawia się:`, `Typical output:`, `Known issue: kernels before 6.2 log`.
//!
//! Here a word of uncertainty is enough, in any of many languages, unless the sentence has a word with which people write
//! of their own machine. A whole log is not an illustration, so that the rule is for short blocks.

use super::{examples, whose};
use crate::log::{host_of, strip_prefix};

/// Maximum number of lines in an illustration.
const SHORT: usize = 12;
/// Lines between the sentence and the block.
const GAP: usize = 3;
/// Lines above that are searched for the head of an article.
const ARTICLE: usize = 6;
/// Fewest words of a sentence without a colon.
const SENTENCE: usize = 4;

/// Beginnings of words for some of many.
const SOME: &str = "some certain many most several various manche einige bestimmte viele mehrere quelques plusieurs \
    beaucoup algun ciert much varios varias muit cert vári alcun molt alcune некотор многих многие \
    ряде отдельных таких такие деяк багатьох někter určit mnoh niektór pewn wiele wielu sommige \
    bepaalde veel enkele bazı birçok çoğu vissa många några noen visse nogle mange egyes bizonyos \
    számos joissakin eräissä monissa unele algum rare seltene seltenen raros raras rari редких rzadki \
    części część ряда zeldzame few";
/// Beginnings of words for machines, their parts and cases, of which there are some.
const MACHINES: &str = "machine system server host guest vm board mainboard motherboard laptop notebook node kernel cpu \
    processor platform computer pc version release distribution device box model case bios firmware \
    hypervisor maschine rechner gerät knoten gäste fäll machines système serveur carte ordinateur \
    noyau cas nœud máquina sistema servidor placa equipo ordenador caso núcleo nodo computador \
    macchin sistem sched portatil машин систем сервер плат компьютер узл случа ядр ноутбук stroj \
    systém počítač desk případ maszyn serwer komputer przypad systemen systeem makine sunucu maskin \
    kone";
/// Words for both in languages without blanks, or with other endings.
const SOME_INSIDE: &str = "如果出现 如果看到 若出现 部分机 部分服务器 部分主机 部分系统 部分型号 某些 有些机器 有的机器 一部の いくつかの 多くの 일부 많은 특정 anakart moederbord płyt szerver";

/// Parts of words for machines that have a fault.
const AFFECTED: &str = "affected betroffen affecté touché afectad afetad affett colpit пострадавш затронут подверженн \
    уражен postižen dotknięt getroffen etkilenen drabbad 受影响 影響を受け 영향을";
/// Words for what may be, or can be seen.
const MAY: &str = "may might kann können könnte peut peuvent puede pueden podría pode podem può possono \
    можно может могут може může mohou lze może mogą można kan kunnen olabilir görülebilir kunna";
/// The same in languages without blanks.
const MAY_INSIDE: [&str; 5] = ["수 있", "ことがあ", "可能", "会出现", "会打印"];
/// The same in several words, and what a reader is to look for.
const CAN: [&str; 16] = [
    "can contain",
    "can print",
    "can log",
    "can show",
    "can appear",
    "can report",
    "can produce",
    "can emit",
    "can write",
    "can look",
    "look for ",
    "watch for ",
    "if you see",
    "when you see",
    "you would see",
    "whenever ",
];
/// Words for an example, or for what is typical.
pub(super) const EXAMPLE: &str = "example sample beispiel exemple ejemplo exemplo esempio пример приклад například příklad przykład \
    voorbeeld bijvoorbeeld örnek örneğin exempel eksempel esimerk 例如 示例 예를 예시 typical typisch 典型 전형";
/// Beginnings of words for what is typical, in other languages.
const TYPICAL: &str = "típic tipic typique типичн typow typick";
/// Words of a range of versions, behind a plural.
const RANGE: &str = "before older prior earlier until up below newer";
const VERSIONS: &str = "kernels versions releases firmwares bioses";
/// First words of an article about many machines.
const ARTICLES: [&str; 9] = [
    "applies to:",
    "known issue",
    "known problem",
    "affected versions",
    "affected products",
    "affected releases",
    "issue id",
    "kb article",
    "knowledge base",
];

/// Words with which people write of their own machine, or of what happened.
const OWN: &str = "i my we our ours me mine here now yesterday today was were did had got saw printed showed wrote \
    said logged happened appeared switched became changed started failed crashed rebooted froze hung \
    attached i'm i've ich wir hier jetzt nun seit mir gestern heute \
    je j'ai mon ma mes nous notre nos ici depuis aujourd'hui mi mis yo aquí desde ahora ayer hoy \
    meu meus minha minhas eu aqui agora ontem hoje io mio mia miei qui ieri oggi я вчера сегодня мы \
    здесь теперь včera dnes wczoraj dziś dzisiaj ik wij ons onze mijn vandaag gisteren bugün dün \
    benim bizim min diesem dieser cette questo questa este esta этом этой";
/// Beginnings of such words.
const OWN_BEGINS: &str = "mein unser nuestr noss nostr мой моя моей моем моём моих наш můj mém moje mój moja moim mojej \
    moich nasz naš makinem sunucum sunucumuz";
/// The same in languages without blanks.
const OWN_INSIDE: [&str; 22] = [
    "我",
    "本机",
    "现在",
    "这台",
    "今天",
    "昨天",
    "私",
    "うち",
    "今",
    "この",
    "昨日",
    "当方",
    "弊社",
    "手元",
    "제 ",
    "저희",
    "우리",
    "오늘",
    "어제",
    "이 서버",
    "у меня",
    "у нас",
];
/// Words for one machine, which `this` makes the writer's.
const ONE: &str =
    "machine host box server laptop system node vm guest board pc computer one kernel log dmesg";

/// Whether a line leads in a short block of a kernel's lines without a word that a machine of the writer printed them.
pub(super) fn leads_in(lines: &[String], at: usize) -> bool {
    let line = lines[at].trim_matches(['>', '*', '_', '#', ' ', '\t']);
    let with_colon = line.ends_with([':', '\u{ff1a}']);
    let is_sentence = || line.split_whitespace().count() >= SENTENCE;
    let is_heading = is_symptoms(line) && is_article(&lines[..at]);
    let may_lead = with_colon || is_heading || !line.ends_with(['.', '!', '?']) && is_sentence();
    if line.is_empty() || line.len() > 300 || !may_lead || strip_prefix(line).1 {
        return false;
    }
    let Some(first) =
        (at + 1..lines.len().min(at + 1 + GAP)).find(|at| strip_prefix(&lines[*at]).1)
    else {
        return false;
    };
    if (at + 1..first).any(|at| !is_mark(&lines[at])) {
        return false;
    }
    let last = examples::shown_below(lines, at).unwrap_or(first);
    let stamped = (first..=last).filter(|at| strip_prefix(&lines[*at]).1).count();
    // Lines with a date and the name of a host are a machine's: in a report of its owners, `Example log:` says that they are some of many.
    let is_stamped = |at: &usize| strip_prefix(&lines[*at]).1;
    let is_excerpt = || {
        is_label(line)
            && (first..=last).filter(is_stamped).all(|at| host_of(&lines[at]).is_some())
            && whose::is_report(lines, at)
    };
    stamped <= SHORT && (is_heading || is_uncertain(line)) && !is_excerpt()
}

/// Most words of a label above an excerpt: `Example log snippet:`.
const LABEL: usize = 4;

/// Whether a line calls what follows an example, and says nothing else.
fn is_label(line: &str) -> bool {
    let lower = line.to_lowercase();
    lower.split_whitespace().count() <= LABEL
        && ["example", "sample"].iter().any(|word| lower.starts_with(word))
}

/// A blank line, or the mark of a fence.
pub(super) fn is_mark(line: &str) -> bool {
    let line = line.trim_matches(['>', ' ']);
    line.is_empty() || line.starts_with("```") || line.starts_with('{')
}

/// Whether a line is the heading of the symptoms of a fault.
fn is_symptoms(line: &str) -> bool {
    const HEADINGS: [&str; 7] =
        ["symptom", "symptoms", "issue", "error message", "symptome", "symptômes", "症状"];
    let bare = line.trim_end_matches(':').to_lowercase();
    HEADINGS.contains(&bare.as_str())
}

/// Whether the lines above have the head of an article about many machines.
fn is_article(above: &[String]) -> bool {
    above.iter().rev().take(ARTICLE).any(|line| {
        let lower = line.trim_matches(['>', '*', '_', '#', ' ']).to_lowercase();
        ARTICLES.iter().any(|words| lower.starts_with(words))
    })
}

/// The last sentence of a line in small letters, and its words.
fn last_sentence(lower: &str) -> (&str, Vec<&str>) {
    let sentence = lower.rsplit(['!', '?', '\u{3002}']).next().unwrap_or_default();
    let sentence = sentence.rsplit(". ").next().unwrap_or_default();
    let words = sentence
        .split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '-' | '_')))
        .filter(|word| !word.is_empty())
        .collect();
    (sentence, words)
}

fn begins(word: &str, list: &str) -> bool {
    list.split(' ').any(|begin| word.starts_with(begin))
}

/// Whether the last sentence of a line, in small letters, has a word with which people write of their own machine, or of
/// what happened.
pub(super) fn is_own(lower: &str) -> bool {
    let (sentence, words) = last_sentence(lower);
    let this = words.windows(2).any(|pair| {
        ["this", "these"].contains(&pair[0]) && ONE.split(' ').any(|one| one == pair[1])
    });
    this || words.iter().any(|word| OWN.split(' ').any(|one| one == *word))
        || words.iter().any(|word| begins(word, OWN_BEGINS))
        || OWN_INSIDE.iter().any(|part| sentence.contains(part))
}

/// Whether a sentence has a word of uncertainty, and none of the writer's machine.
fn is_uncertain(line: &str) -> bool {
    let lower = line.to_lowercase();
    if is_own(&lower) {
        return false;
    }
    let (sentence, words) = last_sentence(&lower);
    let has = |list: &str| words.iter().any(|word| list.split(' ').any(|one| one == *word));
    let inside = |list: &str| list.split(' ').any(|part| sentence.contains(part));
    let phrase = |list: &[&str]| list.iter().any(|part| sentence.contains(part));
    let some = inside(SOME_INSIDE)
        || words.iter().enumerate().any(|(at, word)| {
            let behind = &words[at + 1..words.len().min(at + 4)];
            begins(word, SOME)
                && behind
                    .iter()
                    .take_while(|word| !matches!(**word, "the" | "of"))
                    .any(|word| begins(word, MACHINES))
        });
    let may = has(MAY) || phrase(&MAY_INSIDE);
    let example = inside(EXAMPLE) || words.iter().any(|word| begins(word, TYPICAL));
    let plural = words.iter().any(|word| {
        word.is_ascii() && word.ends_with('s') && word.len() > 2 && begins(word, MACHINES)
    });
    let affected = inside(AFFECTED) && (may || example || plural || !sentence.is_ascii());
    let range = words.windows(2).any(|pair| {
        let [versions, range] = [VERSIONS, RANGE].map(|list| list.split(' '));
        versions.into_iter().any(|one| one == pair[0])
            && range.into_iter().any(|one| one == pair[1])
    });
    let issue = ARTICLES.iter().any(|words| sentence.starts_with(words));
    some || affected || example || range || issue || phrase(&CAN) || may && plural
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dated_lines_of_a_host_below_example_are_of_the_machine_of_a_report() {
        let leads = |text: &str| {
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            (0..lines.len()).any(|at| leads_in(&lines, at))
        };
        let log = "Apr 15 18:22:57 srv kernel: tsc: Marking TSC unstable due to check_tsc_sync_source failed\n";
        let text = format!(
            "Some servers were slow. We needed to understand why.\nExample log snippet:\n{log}"
        );
        assert!(!leads(&text));
        for (from, to) in [
            ("We needed to understand why.", "You need to understand why."),
            ("We needed to understand why.", ""),
            ("Apr 15 18:22:57 srv kernel:", "[  1.000000]"),
            ("Example log snippet:", "Example of what such a machine may log:"),
        ] {
            assert!(leads(&text.replace(from, to)), "{to}");
        }
    }

    fn leads(line: &str) -> bool {
        let block = "[  300.100210] tsc: Marking TSC unstable due to clocksource watchdog\n\
                     [  300.101000] clocksource: Switched to clocksource hpet\n";
        let text = format!("{line}\n\n{block}");
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let at = line.lines().count() - 1;
        leads_in(&lines, at)
    }

    #[test]
    fn sentences_that_name_no_machine_of_the_writer_lead_in() {
        for line in [
            "На некоторых серверах в журнале бывает так:",
            "V logu postižených serverů lze najít například:",
            "The log of a node can contain entries such as",
            "Boards with this chipset can print:",
            "Auf manchen Servern steht dann im Log:",
            "Sur certains serveurs, le noyau affiche :",
            "Su alcune macchine compare:",
            "In alcuni casi il log contiene:",
            "Bazı sunucularda şunlar görülür:",
            "Bij sommige servers staat er dan:",
            "En algunos equipos aparece esto:",
            "Em alguns servidores aparece:",
            "Em algumas máquinas aparece:",
            "In rare cases a guest logs:",
            "Look for lines like these:",
            "某些服务器会打印如下日志:",
            "일부 시스템에서 다음이 출력됩니다:",
            "W niektórych komputerach widać wtedy:",
            "Log (example):",
            "Typical log:",
            "Affected hosts log:",
            "Known issue: after a migration, kernels older than 6.2 log",
            "Applies to: BIOS older than 3.1\nSymptoms",
        ] {
            assert!(leads(line), "{line}");
        }
    }

    #[test]
    fn sentences_of_the_writers_machine_do_not() {
        for line in [
            "Вчера на некоторых наших серверах появилось:",
            "Na mém serveru se objevilo například toto:",
            "The console of my node shows",
            "On some of our servers I see:",
            "Unser Server zeigt manchmal:",
            "Mon serveur peut afficher ceci :",
            "昨日からこのサーバーの一部のログで:",
            "今天某些服务器出现:",
            "Na moich niektórych serwerach jest:",
            "dmesg:",
            "Output:",
            "Some of the dmesg output:",
            "As you can see in dmesg:",
            "After some days the server switched:",
            "Some days later, the server:",
            "Symptoms:",
            "Error message:",
            "The affected machine logs:",
            "On this machine some messages can appear:",
        ] {
            assert!(!leads(line), "{line}");
        }
        let log: String =
            (0..20).map(|at| format!("[    0.{at:06}] pci 0000:00:00.0: x\n")).collect();
        let lines: Vec<String> =
            format!("Example dmesg:\n{log}").lines().map(str::to_owned).collect();
        assert!(!leads_in(&lines, 0));
    }
}
