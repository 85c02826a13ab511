//! Sentences above an output that say what kernels, logs and machines of a kind show, and not what one of the writer's
//! showed: `On old machines the kernel prints lines like these:`.
//!
//! Such a sentence has a general subject, a verb of the present, and a word that makes it general: a likeness, machines
//! of a kind, a condition, "typical". A word with which people write of their own machine outweighs all of them.

use super::habits;

/// Lines of one sentence, at most.
const LINES: usize = 3;

/// Nouns for the kernel.
const KERNEL: [&str; 9] =
    ["kernel", "kernels", "linux", "kern", "noyau", "núcleo", "ядро", "カーネル", "jądro"];
/// The same in a language without blanks.
const KERNEL_INSIDE: [&str; 2] = ["内核", "カーネル"];

/// Nouns for a log, and for what has one.
const LOG: [&str; 30] = [
    "log",
    "logs",
    "dmesg",
    "output",
    "message",
    "meldung",
    "fehlermeldung",
    "mensaje",
    "messages",
    "lines",
    "boot",
    "machine",
    "host",
    "guest",
    "protokoll",
    "ausgabe",
    "meldungen",
    "zeilen",
    "journal",
    "sortie",
    "messages",
    "registro",
    "registo",
    "salida",
    "saída",
    "mensajes",
    "mensagens",
    "uscita",
    "лог",
    "журнал",
];
/// The same in languages without blanks.
const LOG_INSIDE: [&str; 5] = ["日志", "输出", "ログ", "出力", "消息"];

/// Verbs of the present.
const SAYS: [&str; 51] = [
    "prints",
    "print",
    "writes",
    "write",
    "shows",
    "show",
    "logs",
    "says",
    "say",
    "reports",
    "report",
    "emits",
    "look",
    "looks",
    "contain",
    "contains",
    "has", // German
    "schreibt",
    "druckt",
    "gibt",
    "zeigt",
    "meldet",
    "protokolliert",
    "aussehen",
    "sieht", // French
    "écrit",
    "affiche",
    "imprime",
    "montre",
    "ressemble", // Spanish, Portuguese
    "escribe",
    "muestra",
    "escreve",
    "mostra",
    "exibe",
    "parece", // Italian
    "scrive",
    "stampa", // Russian
    "пишет",
    "выводит",
    "печатает",
    "показывает",
    "выглядит",
    "сообщает",
    "пишут",
    "выдаёт",
    "displays",
    "complains",
    "wypisuje",
    "pokazuje",
    "wyświetla",
];
/// The same in languages without blanks.
const SAYS_INSIDE: [&str; 8] = ["打印", "输出", "显示", "记录", "出力", "表示", "出ます", "出る"];

/// Words of a likeness.
const LIKE: [&str; 41] = [
    "like this",
    "like these",
    "like the following",
    "like that",
    "such as",
    "similar to",
    "of this kind",
    "along the lines",
    "wie diese",
    "wie dieser",
    "wie die folgenden",
    "wie folgende",
    "dieser art",
    "etwa so",
    "ungefähr",
    "comme ceux-ci",
    "comme celles-ci",
    "comme ceci",
    "comme celle-ci",
    "semblables",
    "du genre",
    "como estas",
    "como estos",
    "como esta",
    "como este",
    "como estes",
    "como esto",
    "como isto",
    "parecid",
    "semelhante",
    "come queste",
    "come questi",
    "come questo",
    "simili a",
    "вроде",
    "такого вида",
    "следующего вида",
    "наподобие",
    "takie linie",
    "takie komunikaty",
    "something of this sort",
];
/// The same in languages without blanks.
const LIKE_INSIDE: [&str; 8] = [
    "类似",
    "这样的",
    "这样的",
    "如下所示的",
    "このような",
    "次のような",
    "以下のような",
    "のような",
];

/// Nouns for machines in the plural.
const MACHINES: [&str; 51] = [
    "machines",
    "boards",
    "systems",
    "hosts",
    "guests",
    "kernels",
    "servers",
    "laptops",
    "computers",
    "pcs",
    "cpus",
    "processors",
    "vms",
    "hypervisors",
    "nodes",
    "boxes",
    "instances",
    "rechnern",
    "maschinen",
    "systemen",
    "servern",
    "geräten",
    "boards",
    "gästen",
    "kernen",
    "prozessoren",
    "systèmes",
    "serveurs",
    "ordinateurs",
    "noyaux",
    "máquinas",
    "sistemas",
    "servidores",
    "equipos",
    "computadores",
    "placas",
    "macchine",
    "sistemi",
    "schede",
    "машинах",
    "системах",
    "серверах",
    "компьютерах",
    "ядрах",
    "платах",
    "ноутбуках",
    "процессорах",
    "гостях",
    "maszynach",
    "serwerach",
    "komputerach",
];
/// Words before such a noun that make it one of the writer's.
const CERTAIN: [&str; 16] = [
    "the",
    "these",
    "those",
    "both",
    "two",
    "three",
    "four",
    "five",
    "all",
    "den",
    "diesen",
    "beiden",
    "estas",
    "queste",
    "этих",
    "обеих",
];
/// General machines in languages without plurals.
const MACHINES_INSIDE: [&str; 8] =
    ["旧机器", "老机器", "旧的机器", "某些", "一些机器", "古いマシン", "一部の", "多くの"];

/// Words for a log or a machine of a kind.
const KINDS: [&str; 26] = [
    "typical",
    "typically",
    "usually",
    "often",
    "affected",
    "such",
    "typisch",
    "typisches",
    "typische",
    "typischer",
    "üblicherweise",
    "betroffenen",
    "typique",
    "généralement",
    "típico",
    "típica",
    "normalmente",
    "suele",
    "costuma",
    "tipico",
    "tipica",
    "spesso",
    "типичный",
    "обычно",
    "zwykle",
    "często",
];
/// The same in languages without blanks.
const KINDS_INSIDE: [&str; 4] = ["典型", "通常", "一般に", "一般来说"];

/// Words for a thing whose owner is not certain.
const A: [&str; 20] = [
    "a", "an", "any", "such", "ein", "eine", "einer", "eines", "einem", "un", "une", "d'un",
    "d'une", "una", "um", "uma", "una", "di", "de", "на",
];

/// First words of a condition that a writer does not say of what happened.
const IF: [&str; 6] = ["if", "falls", "si", "se", "если", "unless"];

/// Words of a sentence about the writer's machine, or about what happened.
const OWN: [&str; 80] = [
    "i",
    "my",
    "we",
    "our",
    "us",
    "me",
    "mine",
    "this",
    "here",
    "now",
    "since",
    "attached",
    "following:",
    "yesterday",
    "today",
    "was",
    "were",
    "did",
    "had",
    "got",
    "saw",
    "printed",
    "showed",
    "wrote",
    "said",
    "logged",
    "happened",
    "below:",
    "it's",
    "ich",
    "mein",
    "meine",
    "meinem",
    "meiner",
    "wir",
    "unser",
    "unsere",
    "unserem",
    "hier",
    "jetzt",
    "nun",
    "seit",
    "mir",
    "je",
    "mon",
    "ma",
    "mes",
    "nous",
    "notre",
    "ici",
    "depuis",
    "mi",
    "mis",
    "yo",
    "nuestro",
    "nuestra",
    "aquí",
    "desde",
    "ahora",
    "meu",
    "minha",
    "nosso",
    "eu",
    "aqui",
    "agora",
    "io",
    "mio",
    "mia",
    "nostro",
    "qui",
    "я",
    "у",
    "ours",
    "mes",
    "mój",
    "moja",
    "moim",
    "mojej",
    "nasz",
    "naszym",
];
/// The same, for Russian and for languages without blanks.
const OWN_INSIDE: [&str; 16] = [
    "мой",
    "моя",
    "моём",
    "моей",
    "моем",
    "мне",
    "мы ",
    "наш",
    "здесь",
    "теперь",
    "我",
    "本机",
    "现在",
    "私",
    "うち",
    "今",
];

/// Whether the sentence that ends in a line leads in what kernels, logs or machines show in general.
pub(super) fn leads_in(lines: &[String], at: usize) -> bool {
    let line = lines[at].trim_end();
    if !line.ends_with([':', '\u{ff1a}']) || line.len() > 400 {
        return false;
    }
    let bare = |line: &String| line.trim_matches(['>', '*', '_', '#', ' ', '\t']).to_lowercase();
    let goes_on = |line: &&String| {
        let line = line.trim_matches(['>', ' ', '\t']);
        line.starts_with(char::is_alphabetic) && !line.ends_with(['.', ':', '!', '?'])
    };
    let above = lines[..at].iter().rev().take(LINES - 1).take_while(goes_on);
    let mut parts: Vec<String> = above.map(bare).collect();
    parts.reverse();
    parts.push(bare(&lines[at]));
    // Their stops end no sentence.
    let text = parts.join(" ").replace("z. b.", "z.b.").replace("p. ej.", "por ejemplo");
    let sentence = text.rsplit([';', '!', '?', '\u{3002}']).next().unwrap_or_default();
    let sentence = sentence.rsplit(". ").next().unwrap_or_default();
    is_general(sentence.trim())
}

fn is_general(sentence: &str) -> bool {
    let words: Vec<&str> = sentence
        .split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '-' | '_')))
        .filter(|word| !word.is_empty())
        .collect();
    let inside = |list: &[&str]| list.iter().any(|part| sentence.contains(part));
    let has = |list: &[&str]| words.iter().any(|word| list.contains(word));
    let likens = inside(&LIKE) || inside(&LIKE_INSIDE);
    let of_a_kind = || {
        let plural = words.iter().enumerate().any(|(at, word)| {
            let before = &words[at.saturating_sub(3)..at];
            MACHINES.contains(word) && !before.iter().any(|word| CERTAIN.contains(word))
        });
        plural || inside(&MACHINES_INSIDE)
    };
    let shows_a_kind = habits::shows_a_kind(sentence);
    // The word of a likeness does not mean a machine that is here.
    let is_meant = |word: &str| match word {
        "this" => likens || shows_a_kind || of_a_kind() && has(&KINDS),
        "here" => shows_a_kind,
        _ => false,
    };
    if words.iter().any(|word| OWN.contains(word) && !is_meant(word)) || inside(&OWN_INSIDE) {
        return false;
    }
    let says = has(&SAYS) || inside(&SAYS_INSIDE);
    let of_kernel = has(&KERNEL) || inside(&KERNEL_INSIDE);
    let of_log = has(&LOG) || inside(&LOG_INSIDE);
    let kind = has(&KINDS) || inside(&KINDS_INSIDE);
    let condition = words.first().is_some_and(|word| IF.contains(word))
        || sentence.starts_with("如果")
        || sentence.starts_with("もし");
    let of_any = kind && (has(&A) || inside(&KINDS_INSIDE) || of_a_kind());
    let subject = habits::Subject { kernel: of_kernel, machines: of_a_kind(), says, likens };
    shows_a_kind
        || habits::is_general(sentence, &words, subject)
        || of_kernel && says && (likens || of_a_kind() || condition || kind)
        || of_log && says && (of_a_kind() || of_any)
        || of_log && of_any && !says
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::paste) fn leads(text: &str) -> bool {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        leads_in(&lines, lines.len() - 1)
    }

    #[test]
    fn sentences_about_kernels_in_general_are_found() {
        for text in [
            "On old machines the kernel prints lines like these:",
            "On old machines the kernel prints lines\nlike these:",
            "Em máquinas antigas o kernel imprime linhas como estas:",
            "En máquinas antiguas el núcleo escribe mensajes como estos:",
            "Auf alten Rechnern schreibt der Kern Zeilen wie diese:",
            "Sur de vieilles machines le noyau écrit des lignes comme celles-ci :",
            "Sur de vieilles machines le noyau écrit des lignes comme celles-ci:",
            "Su vecchie macchine il kernel scrive righe come queste:",
            "На старых машинах ядро пишет строки вроде таких:",
            "在旧机器上，内核会打印类似下面的内容：",
            "古いマシンではカーネルが次のようなログを出力します：",
            "If the TSC is not trusted, the kernel prints something like this:",
            "On such boards the kernel writes something like this to the log:",
            "A typical log of an affected machine:",
            "The dmesg of a typical broken guest looks like this:",
            "Ein typisches Protokoll einer betroffenen Maschine:",
            "On machines with a bad TSC, dmesg shows:",
            "The message in such cases looks like:",
        ] {
            assert!(leads(text), "{text}");
        }
    }

    #[test]
    fn sentences_about_the_writers_machine_are_not() {
        for text in [
            "this is what my machine prints:",
            "My log looks like this:",
            "The log looks like this:",
            "The message looks like:",
            "On these machines dmesg shows:",
            "On both hosts the kernel prints:",
            "When I boot, the kernel prints lines like these:",
            "Since the update the kernel prints lines like these:",
            "On boot the kernel prints:",
            "dmesg:",
            "Output of dmesg on the server:",
            "The kernel printed lines like these:",
            "Auf meinem Rechner schreibt der Kern Zeilen wie diese:",
            "Seit gestern schreibt der Kern Zeilen wie diese:",
            "Hier mein typisches Protokoll:",
            "No meu computador o kernel imprime linhas como estas:",
            "На моей машине ядро пишет строки вроде таких:",
            "我的内核打印类似下面的内容：",
            "On old machines the kernel prints lines like these",
        ] {
            assert!(!leads(text), "{text}");
        }
    }
}
