//! Sentences above an output that state a habit, a possibility, an example or a source: `A broken machine often prints:`,
//! `The kernel may log:`, `The manual shows:`. What follows does not belong to a certain machine.
//!
//! Each rule wants a general subject together with such a word: people write "sometimes", "for example" and "as you can
//! see" of their own machines too.

/// Words of a habit. For "sometimes" alone see `is_general`.
const HABITS: [&str; 53] = [
    "often",
    "usually",
    "typically",
    "commonly",
    "frequently",
    "generally",
    "normally",
    "sometimes",
    "usual",
    "common",
    "classic",
    "typical", // German
    "oft",
    "häufig",
    "manchmal",
    "meist",
    "meistens",
    "typischerweise",
    "üblicherweise",
    "gewöhnlich",
    "normalerweise",
    "gelegentlich",
    "üblich", // French
    "souvent",
    "parfois",
    "généralement",
    "habituellement",
    "d'ordinaire",
    "courant",
    "fréquent", // Spanish, Portuguese
    "menudo",
    "veces",
    "generalmente",
    "normalmente",
    "habitual",
    "frecuente",
    "frecuentemente",
    "habitualmente",
    "geralmente",
    "vezes",
    "frequentemente",
    "comum",
    "común", // Italian
    "spesso",
    "solito",
    "volte",
    "solitamente", // Russian, Polish
    "обычно",
    "часто",
    "иногда",
    "zwykle",
    "często",
    "czasami",
];
/// The same in languages without blanks.
const HABITS_INSIDE: [&str; 9] =
    ["通常", "经常", "有时", "往往", "常常", "一般に", "よく", "ことがあ", "かもしれ"];

/// Words of an example.
const EXAMPLES: [&str; 18] = [
    "for example",
    "for instance",
    "e.g.",
    "zum beispiel",
    "z.b.",
    "beispielsweise",
    "par exemple",
    "por ejemplo",
    "por exemplo",
    "ad esempio",
    "per esempio",
    "например",
    "na przykład",
    "例如",
    "比如",
    "例えば",
    "たとえば",
    "algo así",
];

/// Verbs of a possibility, before an infinitive.
const MAY: [&str; 20] = [
    "may",
    "might",
    "könnte",
    "könnten",
    "pflegt",
    "pflegen",
    "pourrait",
    "pourriez",
    "podría",
    "podrías",
    "podrían",
    "suele",
    "suelen",
    "poderia",
    "poderiam",
    "costuma",
    "costumam",
    "potrebbe",
    "potrebbero",
    "suol",
];
/// The same, with which people also point at what they show: `as you can see`.
const CAN: [&str; 16] = [
    "can",
    "could",
    "kann",
    "können",
    "peut",
    "peuvent",
    "puede",
    "pueden",
    "pode",
    "podem",
    "può",
    "possono",
    "может",
    "могут",
    "może",
    "mogą",
];

/// Infinitives for what a kernel or a machine does.
const SAY: [&str; 50] = [
    "log",
    "print",
    "show",
    "write",
    "report",
    "say",
    "emit",
    "contain",
    "look",
    "display",
    "output",
    "complain",
    "melden",
    "schreiben",
    "zeigen",
    "drucken",
    "ausgeben",
    "protokollieren",
    "aussehen",
    "enthalten",
    "afficher",
    "écrire",
    "montrer",
    "imprimer",
    "contenir",
    "ressembler",
    "escribir",
    "mostrar",
    "imprimir",
    "registrar",
    "decir",
    "contener",
    "escrever",
    "exibir",
    "dizer",
    "conter",
    "scrivere",
    "stampare",
    "mostrare",
    "contenere",
    "писать",
    "выводить",
    "печатать",
    "показать",
    "показывать",
    "выдавать",
    "сообщать",
    "вывести",
    "wypisać",
    "pokazać",
];
/// Infinitives for what a reader does, and for what a line does.
const SEE: [&str; 23] = [
    "see",
    "get",
    "find",
    "notice",
    "appear",
    "sehen",
    "finden",
    "erscheinen",
    "stehen",
    "voir",
    "apparaître",
    "trouver",
    "ver",
    "aparecer",
    "encontrar",
    "vedere",
    "apparire",
    "trovare",
    "увидеть",
    "появляться",
    "появиться",
    "видеть",
    "zobaczyć",
];

/// Any reader.
const READER: [&str; 7] = ["you", "users", "people", "man", "se", "вы", "si"];

/// Articles of a machine that is not a certain one.
const INDEFINITE: [&str; 14] = [
    "a", "an", "any", "ein", "eine", "einem", "einer", "einen", "un", "une", "una", "uno", "um",
    "uma",
];
/// Nouns for one machine.
const MACHINE: [&str; 44] = [
    "machine",
    "host",
    "guest",
    "system",
    "server",
    "box",
    "board",
    "laptop",
    "computer",
    "pc",
    "vm",
    "node",
    "instance",
    "hypervisor",
    "kernel",
    "rechner",
    "maschine",
    "gerät",
    "gast",
    "knoten",
    "kern",
    "système",
    "serveur",
    "ordinateur",
    "hôte",
    "invité",
    "noyau",
    "portable",
    "máquina",
    "sistema",
    "servidor",
    "equipo",
    "ordenador",
    "portátil",
    "huésped",
    "núcleo",
    "computador",
    "placa",
    "hóspede",
    "macchina",
    "scheda",
    "calcolatore",
    "ospite",
    "nodo",
];
/// Words of a machine with the fault that a text is about.
const AFFECTED: [&str; 22] = [
    "affected",
    "betroffen",
    "betroffener",
    "betroffene",
    "betroffenes",
    "betroffenen",
    "defekter",
    "affecté",
    "affectée",
    "touché",
    "touchée",
    "concernée",
    "afectado",
    "afectada",
    "afetado",
    "afetada",
    "interessato",
    "interessata",
    "affetta",
    "affetto",
    "wadliwy",
    "dotknięta",
];

/// Nouns for what is typical of a fault.
const SIGN: [&str; 16] = [
    "pattern",
    "symptom",
    "symptoms",
    "signature",
    "sign",
    "signs",
    "sequence",
    "muster",
    "symptome",
    "anzeichen",
    "motif",
    "symptôme",
    "patrón",
    "síntoma",
    "padrão",
    "sintomo",
];

/// Texts that show outputs that do not come from a machine of the writer.
const BOOKS: [&str; 24] = [
    "documentation",
    "docs",
    "manual",
    "handbook",
    "textbook",
    "wiki",
    "faq",
    "knowledge base",
    "release notes",
    "man page",
    "dokumentation",
    "handbuch",
    "manuel",
    "documentación",
    "documentação",
    "documentazione",
    "manuale",
    "документаци",
    "руководств",
    "dokumentacj",
    "文档",
    "手册",
    "ドキュメント",
    "マニュアル",
];
/// Words by which such a text, or a copy from it, shows an output.
const SHOWN: [&str; 24] = [
    "shows",
    "gives",
    "lists",
    "has",
    "example",
    "copied from",
    "quoted from",
    "taken from",
    "zeigt",
    "nennt",
    "beispiel",
    "montre",
    "donne",
    "exemple",
    "muestra",
    "ejemplo",
    "mostra",
    "exemplo",
    "esempio",
    "пример",
    "przykład",
    "示例",
    "例",
    "给出",
];

/// Words that say what any reader wants, or does not want, to see.
const WANTED: [&str; 6] = [
    "not want to see",
    "don't want to see",
    "you should not see",
    "you shouldn't see",
    "sehen sollte",
    "devriez voir",
];

/// What the words of a sentence are about, as its caller has found.
#[derive(Clone, Copy)]
pub(super) struct Subject {
    pub(super) kernel: bool,
    /// Machines of a kind, in the plural.
    pub(super) machines: bool,
    pub(super) says: bool,
    pub(super) likens: bool,
}

/// Whether a sentence in small letters says what may be shown, or often is, and not what was.
pub(super) fn is_general(sentence: &str, words: &[&str], subject: Subject) -> bool {
    let inside = |list: &[&str]| list.iter().any(|part| sentence.contains(part));
    let has = |list: &[&str]| words.iter().any(|word| list.contains(word));
    let one = words.iter().enumerate().any(|(at, word)| {
        let before = &words[at.saturating_sub(3)..at];
        let after = words.get(at + 1).is_some_and(|word| AFFECTED.contains(word));
        MACHINE.contains(word) && before.iter().any(|word| INDEFINITE.contains(word))
            || MACHINE.contains(word) && after
    });
    let any = one || subject.machines;
    let habit = has(&HABITS) || inside(&HABITS_INSIDE);
    let says = subject.says || has(&SAY);
    let rare = ["sometimes", "manchmal", "parfois", "veces", "volte", "иногда", "czasami", "有时"];
    let often = habit && !inside(&rare);
    // `A broken machine often prints`, `Some guests print, for example`.
    any && says && (habit || subject.likens || inside(&EXAMPLES) || has(&AFFECTED) && one)
        // `In VMs you often get`, `Con el núcleo 2.6 era habitual ver`.
        || has(&SEE) && often && (has(&READER) || subject.kernel || any)
        || may(words, subject, any)
        // `The usual pattern in dmesg is`.
        || habit && has(&SIGN)
        || is_in(&BOOKS, sentence, words) && is_in(&SHOWN, sentence, words)
}

/// Whether a sentence has one of these: words of Latin letters as whole ones, anything else also as a part.
fn is_in(list: &[&str], sentence: &str, words: &[&str]) -> bool {
    list.iter().any(|part| match part.is_ascii() && !part.contains(' ') {
        true => words.contains(part),
        false => sentence.contains(part),
    })
}

/// Whether a word of a possibility is followed by an infinitive: `may also log`, `suele escribir`, `kann der Kern ... melden`.
fn may(words: &[&str], subject: Subject, any: bool) -> bool {
    words.iter().enumerate().any(|(at, word)| {
        let is_german =
            matches!(*word, "kann" | "können" | "könnte" | "könnten" | "pflegt" | "pflegen");
        let within = if is_german { 14 } else { 3 };
        let rest = &words[at + 1..words.len().min(at + 1 + within)];
        let says = rest.iter().any(|word| SAY.contains(word));
        let sees = rest.iter().any(|word| SEE.contains(word));
        let of_any = subject.kernel || any;
        // `As you may see`.
        let points = words.first().is_some_and(|word| *word == "as");
        let reads = of_any || words.iter().any(|word| READER.contains(word));
        MAY.contains(word) && (says && (of_any || subject.likens) || sees && reads && !points)
            || CAN.contains(word) && says && of_any
    })
}

/// Whether a sentence in small letters says by itself that it shows a thing of a kind, even with words such as "this" and
/// "here": `Here is what a demotion looks like:`, `This is what you do not want to see:`.
pub(super) fn shows_a_kind(sentence: &str) -> bool {
    const FORMS: [(&str, &str); 9] = [
        ("what a ", "looks like"),
        ("what an ", "looks like"),
        ("how a ", "looks"),
        ("so sieht ein", " aus"),
        ("wie ein", "aussieht"),
        ("à quoi ressemble un", ""),
        ("así se ve un", ""),
        ("assim é um", ""),
        ("ecco come appare un", ""),
    ];
    // One of these is what its writer saw.
    const SEEN: [&str; 6] = ["boot", "run", "start", "log", "dmesg", "bad"];
    let form = |(begin, end): &(&str, &str)| {
        let rest = sentence.find(begin).map(|at| &sentence[at + begin.len()..]);
        rest.is_some_and(|rest| rest.contains(end) && !SEEN.iter().any(|word| rest.contains(word)))
    };
    FORMS.iter().any(form) || WANTED.iter().any(|words| sentence.contains(words))
}

#[cfg(test)]
mod tests {
    use super::super::general::tests::leads;

    #[test]
    fn habits_possibilities_examples_and_sources_are_of_no_certain_machine() {
        for text in [
            "The kernel may then log something of this sort:",
            "The kernel might also print:",
            "In dmesg you may see:",
            "An old laptop often prints:",
            "A broken guest sometimes prints:",
            "Some hypervisors have guests that print, for example:",
            "With bad firmware you usually get:",
            "The usual symptoms in the log are:",
            "Symptoms (copied from the knowledge base of the maker):",
            "The handbook gives:",
            "This is what a demotion looks like:",
            "Here is what a kernel that gives up looks like:",
            "Here is what you don't want to see:",
            "Kernels 5.14 to 6.2 often print this:",
            "Ein alter Rechner meldet manchmal:",
            "Ein betroffener Server schreibt zum Beispiel:",
            "Der Kern kann beim Start Folgendes melden:",
            "So sieht eine Herabstufung aus:",
            "Un vieux serveur affiche souvent :",
            "Le noyau peut afficher :",
            "El núcleo suele escribir:",
            "Un equipo afectado muestra:",
            "Una máquina antigua muestra algo así:",
            "Con el núcleo 2.6 era habitual ver:",
            "Um servidor antigo mostra geralmente:",
            "O kernel costuma imprimir:",
            "Un vecchio server scrive spesso:",
            "Il kernel può stampare:",
            "Ядро может вывести:",
            "В документации есть пример:",
            "Na starych maszynach jądro często wypisuje:",
            "例如，某些服务器会打印：",
            "内核有时在某些机器上会打印：",
            "古いマシンでは次のようなログがよく出ます：",
        ] {
            assert!(leads(text), "{text}");
        }
    }

    #[test]
    fn what_people_write_of_their_own_machines_is_not() {
        for text in [
            "this is what my machine prints:",
            "As you can see in dmesg:",
            "As you can see, the kernel printed:",
            "Wie man im Log sehen kann:",
            "Como se puede ver en el registro:",
            "For example, dmesg shows:",
            "Zum Beispiel schreibt der Kern:",
            "Sometimes the server prints:",
            "Manchmal schreibt der Server:",
            "I often see this in the log:",
            "On a server of ours dmesg often shows:",
            "My laptop may print:",
            "On a server dmesg shows:",
            "Here is what the reboot looks like:",
            "Ein Rechner von mir meldet manchmal:",
            "Mi servidor suele escribir:",
            "Un de mes serveurs affiche souvent :",
            "On my host you may see:",
            "Here is the log of a broken machine:",
            "Mój serwer często wypisuje:",
            "На моём сервере ядро может вывести:",
            "我的服务器有时会打印：",
            "うちのマシンではよく次のログが出ます：",
            "The output which the wiki asks for:",
            "After manually switching, dmesg has:",
            "These messages usually appear on boot:",
            "As you may see in dmesg:",
            "The dmesg output may contain the reason:",
            "On a broken host dmesg shows:",
            "This is what a bad boot looks like:",
            "If you want to see the log:",
        ] {
            assert!(!leads(text), "{text}");
        }
    }
}
