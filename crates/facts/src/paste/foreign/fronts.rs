//! The words in front of a label of a reading. A program prints the name of a host there, and a person says of which
//! machine he writes. Of any other words nothing is known: they are the name of a field (`Subject:`, `SSID:`), a speaker
//! (`bob:`), what should be (`Soll:`) or what was (`old`), in any language. So no list of such words is needed, but one of
//! those that show a machine.

use crate::paste::prompt;

/// Maximum number of words before a label (`db1 current_clocksource=tsc`, `host A: current_clocksource = tsc`).
const WORDS: usize = 2;
/// The same before a colon: `On machine db7: current_clocksource: tsc`.
const WORDS_OF_HEADING: usize = 4;
/// Maximum number of hosts that are known.
const HOSTS: usize = 16;
/// Characters of a command whose words are known.
const COMMAND: usize = 2000;

/// Words for a machine, and between them.
const OF_A_MACHINE: &str = "host hostname machine server node box system instance container pod board router kernel linux \
    sysfs sys the my our this its on in from of at here and reboot file i we have has see get got show shows says reports \
    found";
/// Words for a current state, and for machines for which no program has a field.
const OF_NOW: &str = "now new after current currently actual actually real running reading value output result vm guest \
    hypervisor dom0 domu laptop desktop workstation pc ist aktuell aktuelle aktueller jetzt actuel actuelle actuellement \
    actualmente atual attuale текущий сейчас 当前 目前 現在";
/// Words of a sentence that does not state a fact: `if current_clocksource is tsc`.
const OF_NO_READING: &str = "if unless when whether until not never no was were old previous should must wants ensure \
    set todo warn that where";
/// States of a check, which scripts print in brackets.
const STATES: [&str; 9] =
    ["[OK]", "[INFO]", "[WARN]", "[WARNING]", "[FAIL]", "[ERROR]", "[PASS]", "[DEBUG]", "[NOTE]"];
/// Ends of names of files, which look like names of hosts.
const FILES: [&str; 15] = [
    "txt", "log", "md", "out", "json", "yaml", "yml", "conf", "cfg", "html", "csv", "sh", "py",
    "rst", "ini",
];

/// The hosts that a text has shown so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Hosts {
    named: Vec<String>,
    /// The last command at a prompt, which may name the machines on which another one is run.
    command: String,
}

impl Hosts {
    /// Takes the host and the command of a prompt.
    pub(super) fn prompt(&mut self, line: &str) {
        let Some(found) = prompt::own(line) else { return };
        self.command = found.command.chars().take(COMMAND).collect();
        let new = found.host.filter(|host| !self.named.iter().any(|known| known == host));
        if let Some(host) = new.filter(|_| self.named.len() < HOSTS) {
            self.named.push(host.to_owned());
        }
    }

    fn has(&self, word: &str) -> bool {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
        prompt::is_name(word)
            && (self.named.iter().any(|host| host == word)
                || runs_elsewhere(&self.command)
                    && self.command.split(|c: char| !is_part(c)).any(|part| part == word))
    }
}

/// Whether a command runs another one on several machines.
fn runs_elsewhere(command: &str) -> bool {
    const TOOLS: [&str; 13] = [
        "ssh", "clush", "parallel", "ansible", "salt", "fab ", "mco ", "knife", "docker", "pdsh",
        "dsh ", "kubectl", "lxc ",
    ];
    TOOLS.iter().any(|tool| command.contains(tool))
}

/// Whether a program or a person writes such words before a label: nothing, the name of a host, a date, words for a machine.
/// `in_a_sentence`: the label continues with `is`.
pub(super) fn may_be(text: &str, hosts: &Hosts, in_a_sentence: bool) -> bool {
    let is_stamp = |word: &&str| {
        word.starts_with(|c: char| c.is_ascii_digit())
            && word.contains(['-', ':'])
            && word.bytes().all(|b| b.is_ascii_digit() || b":-.,TZ+".contains(&b))
    };
    let words: Vec<&str> = text.split(' ').skip_while(is_stamp).filter(|w| !w.is_empty()).collect();
    let most = if text.ends_with(':') { WORDS_OF_HEADING } else { WORDS };
    if words.len() > most || words.contains(&"echo") {
        return false;
    }
    if in_a_sentence && !text.ends_with(':') {
        let denies = |word: &&str| is_in(&word.to_lowercase(), OF_NO_READING);
        return !words.iter().any(denies);
    }
    words.iter().all(|word| is_known(word, words.len(), hosts))
}

fn is_in(word: &str, list: &str) -> bool {
    list.split_ascii_whitespace().any(|one| one == word)
}

/// Whether one of several words before a label is of a machine.
fn is_known(word: &str, words: usize, hosts: &Hosts) -> bool {
    if STATES.contains(&word) || is_sign(word) || is_number(word) {
        return true;
    }
    let bare = word.trim_end_matches(':').trim_matches(['*', '_', '`', '\'', '(', ')']);
    let lettered = words > 1 && bare.len() == 1 && bare.bytes().all(|b| b.is_ascii_alphanumeric());
    let lower = bare.to_lowercase();
    // Alone before a colon they are the names of fields: `Server:`, `From:`.
    let is_field = words == 1 && word.ends_with(':');
    lettered
        || is_in(&lower, OF_NOW)
        || !is_field && is_in(&lower, OF_A_MACHINE)
        || hosts.has(bare)
        || is_host(bare)
}

/// A sign of a list or of a script: `•`, `[+]`; not that of a comment or of an author.
fn is_sign(word: &str) -> bool {
    word.chars().count() <= 3
        && word.chars().all(|c| !c.is_alphanumeric())
        && !word.starts_with(['/', ':', '@', '\u{2014}'])
}

/// The number of an entry in a list: `1.`, `2)`.
fn is_number(word: &str) -> bool {
    let number = word.trim_start_matches('(').strip_suffix(['.', ')']).unwrap_or_default();
    (1..=3).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit())
}

/// Whether a word has the form of a host's name or address: letters and a number, several labels, four numbers.
fn is_host(word: &str) -> bool {
    if !prompt::is_name(word) {
        return false;
    }
    let labels: Vec<&str> = word.split('.').collect();
    let is_address = labels.len() == 4 && labels.iter().all(|part| part.parse::<u8>().is_ok());
    let of_letters = word.starts_with(|c: char| c.is_ascii_alphabetic());
    let numbered = labels[0].bytes().any(|b| b.is_ascii_digit());
    let is_file = labels.len() > 1 && labels.last().is_some_and(|end| FILES.contains(end));
    let qualified = labels.len() > 1 && labels.iter().all(|part| part.len() > 1);
    is_address || of_letters && (numbered || qualified) && !is_file
}

#[cfg(test)]
mod tests {
    use super::*;

    fn may(text: &str) -> bool {
        may_be(text, &Hosts::default(), false)
    }

    #[test]
    fn words_for_a_machine_may_be_before_a_label() {
        for text in [
            "",
            "db1",
            "db1:",
            "web-3.example.org",
            "10.0.0.7:",
            "host A:",
            "On machine db7:",
            "SYSFS",
            "2026-11-02 10:00:01",
            "The",
            "my laptop:",
            "1.",
            "[+]",
            "[OK]",
            "Ist:",
            "now:",
        ] {
            assert!(may(text), "{text}");
        }
        for text in [
            "Subject:",
            "X-Note:",
            "SSID:",
            "Device Model:",
            "Server:",
            "From:",
            "bob:",
            "Bob said:",
            "[eve]",
            "@eve:",
            "user eve",
            "Soll:",
            "Attendu:",
            "\u{671f}\u{671b}:",
            "Target:",
            "old",
            "not",
            "vorher",
            "TODO: set",
            "/home/eve/notes.txt:3:",
            "notes.txt:",
            "0123456",
            "2026-11-02T10:00:01Z INFO",
            "//",
            "E",
        ] {
            assert!(!may(text), "{text}");
        }
    }

    #[test]
    fn hosts_of_prompts_and_of_commands_are_known() {
        let mut hosts = Hosts::default();
        assert!(!may_be("atlas:", &hosts, false));
        hosts.prompt("root@atlas:~# pdsh -w zeus,hera cat x");
        for host in ["atlas", "zeus:", "hera"] {
            assert!(may_be(host, &hosts, false), "{host}");
        }
        hosts.prompt("root@atlas:~# grep bob x");
        assert!(may_be("atlas:", &hosts, false) && !may_be("bob:", &hosts, false));
    }

    #[test]
    fn sentence_says_what_is_so_without_words_of_a_condition() {
        let is = |text: &str| may_be(text, &Hosts::default(), true);
        assert!(is("The") && is("And the") && is("") && is("host A:"));
        assert!(!is("if") && !is("Was") && !is("not") && !is("bob:"));
    }
}
