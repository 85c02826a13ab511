//! The spellings of a host's name, and where each of them can be the name.

use crate::log;

/// Where a spelling is masked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Anywhere: it has a digit or a hyphen, and no message has it.
    Anywhere,
    /// As a word outside of messages about clocks.
    Word,
    /// Only where a host is named.
    Ordinary,
    /// The domain of the host, as a word.
    Domain,
}

/// One spelling of a name.
#[derive(Clone, Debug)]
pub(super) struct Spelling {
    pub(super) text: String,
    pub(super) kind: Kind,
}

/// Words of logs that are also names of hosts: of distributions, of clocks, of architectures. They are parts of too many
/// lines that state evidence.
const COMMON: [&str; 24] = [
    "linux",
    "kernel",
    "localhost",
    "debian",
    "ubuntu",
    "fedora",
    "clock",
    "clocksource",
    "tsc",
    "hpet",
    "timer",
    "acpi",
    "kvm-clock",
    "tsc-early",
    "acpi_pm",
    "acpi-pm",
    "jiffies",
    "amd64",
    "x86-64",
    "x86_64",
    "aarch64",
    "arm64",
    "i386",
    "i686",
];
/// The fewest letters and digits of a name that is masked inside of words.
const LONG: usize = 5;
/// What takes the place of a hyphen: the device mapper doubles it, systemd and audit encode it.
const HYPHENS: [&str; 6] = ["--", "_", "-", "", "%2d", "\\x2d"];

impl Spelling {
    /// Whether the place of the spelling in the line is one of the kind. The name of a pool or a volume may begin with that
    /// of the host (`of_storage`).
    pub(super) fn fits(&self, line: &str, start: usize, end: usize, of_storage: bool) -> bool {
        let before = line[..start].chars().next_back();
        let after = line[end..].chars().next();
        let is = |c: Option<char>, of: fn(char) -> bool| c.is_some_and(of);
        let digit_goes_on = self.text.ends_with(|c: char| c.is_ascii_digit())
            && is(after, |c: char| c.is_ascii_digit());
        match self.kind {
            // Digits of an address in memory can be equal to those of the name.
            Kind::Anywhere if is_hexadecimal(&self.text) => {
                !is(before, char::is_alphanumeric) && !is(after, char::is_alphanumeric)
            }
            Kind::Anywhere => true,
            Kind::Word if of_storage && self.text.len() >= 4 => true,
            Kind::Word if self.text.len() < 4 => {
                !is(before, char::is_alphanumeric) && !is(after, char::is_alphanumeric)
            }
            // md and switches add a number to the name.
            Kind::Word | Kind::Ordinary => {
                !is(before, char::is_alphanumeric)
                    && !is(after, char::is_alphabetic)
                    && !digit_goes_on
            }
            Kind::Domain => {
                let inside = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
                !is(before, inside) && !is(after, inside)
            }
        }
    }
}

/// All spellings of a name of one or more labels.
pub(super) fn spellings(name: &str) -> Vec<Spelling> {
    let mut texts = vec![name.to_owned()];
    if name.contains(['-', '_']) {
        texts.extend(HYPHENS.iter().map(|with| name.replace(['-', '_'], with)));
    }
    // The searcher ignores case in ASCII only.
    if !name.is_ascii() {
        texts.extend([name.to_lowercase(), name.to_uppercase()]);
    }
    let distinct = kind(name) == Kind::Anywhere;
    let mut all: Vec<Spelling> =
        texts.into_iter().map(|text| Spelling { kind: kind(&text), text }).collect();
    if distinct {
        // audit writes a name in hexadecimal digits.
        let text = name.bytes().map(|byte| format!("{byte:02x}")).collect();
        all.push(Spelling { text, kind: Kind::Anywhere });
    }
    all
}

fn kind(text: &str) -> Kind {
    let small = text.to_lowercase();
    let has_letter = small.chars().any(char::is_alphabetic);
    if !has_letter || COMMON.contains(&small.as_str()) {
        return Kind::Ordinary;
    }
    let length = small.chars().filter(|c| c.is_alphanumeric()).count();
    let only_letters = small.bytes().all(|byte| byte.is_ascii_lowercase());
    match length {
        0..=1 => Kind::Ordinary,
        2..=3 if only_letters => Kind::Ordinary,
        LONG.. if !only_letters && !log::is_word_of_messages(&small) => Kind::Anywhere,
        _ => Kind::Word,
    }
}

fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
