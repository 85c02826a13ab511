//! One QEMU command line, recognised in the words of a simple command.

use super::printed::talks;
use crate::placed::{Placed, UNKNOWN};
use crate::shell::{Piece, Statement, Word, statements};
use crate::words::{base, listed};

/// Options that only a start of a machine has.
const STRONG: &str = "-cpu -machine -M -m -drive -hda -kernel -cdrom -smp -enable-kvm -accel -device \
    -nographic -no-hpet -append -bios -blockdev -global -rtc -nodefaults";

/// A QEMU command line.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    /// The program as it is written; `None` for a list that consists of options.
    pub(crate) program: Option<Placed>,
    /// The options and their values.
    pub(crate) words: Vec<Placed>,
    /// Whether it is one of several that the script may run, by the branches of its conditions.
    pub(crate) apart: bool,
    /// Whether a function of the script writes it, so that nothing of it is changed.
    pub(crate) written: bool,
    /// Whether the file names only emulators of processors other than x86, for a program of another name.
    pub(crate) foreign: bool,
}

/// Returns whether a word precedes a command.
pub(super) fn is_before(word: &Placed) -> bool {
    const BEFORE: &str = "exec sudo nohup time env then else do if ! { nice ionice";
    listed(BEFORE, word.as_str()) || word.as_str().contains('=')
}

/// Returns whether words begin with QEMU by its whole name, and an option. A comma after one of them marks an element
/// of a list of another language, and such a list may begin or end elsewhere.
pub(super) fn begins(words: &[Placed]) -> bool {
    let first = words.iter().take_while(|word| is_before(word)).count();
    let letters = |text: &str, more: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
    };
    let named = |word: &Placed| {
        let machine = base(word.as_str()).strip_prefix("qemu-system-");
        // The processor may be in a variable: `qemu-system-$ARCH`.
        machine.is_some_and(|it| letters(it.trim_end_matches(".exe"), "_${}\u{1}"))
    };
    let option =
        |word: &Placed| word.as_str().strip_prefix('-').is_some_and(|it| letters(it, "-_"));
    words.get(first).is_some_and(named) && words.get(first + 1).is_some_and(option)
}

/// Returns whether a text starts QEMU by its name, as far as this is visible without the expansion of variables.
pub(super) fn starts(text: &str) -> bool {
    let begins = |statement: &Statement| {
        let words: Vec<Placed> = statement.words.iter().map(plain).collect();
        let first = words.iter().take_while(|word| is_before(word)).count();
        let named = words.get(first).is_some_and(|word| is_program(word.as_str()));
        let options = words.get(first + 1..).unwrap_or_default();
        let given = |word: &Placed| {
            word.unknown() || word.as_str().starts_with('-') && !word.as_str().contains("-version")
        };
        named && options.iter().any(given)
            || command(&words).is_some_and(|command| command.program.is_some())
    };
    statements(text).iter().any(begins)
}

/// Returns a word without the expansion of its variables.
pub(super) fn plain(word: &Word) -> Placed {
    let mut text = Placed::default();
    for piece in &word.pieces {
        match piece {
            Piece::Literal(literal) => text.append(literal),
            Piece::Variable { at, .. } | Piece::Opaque { at } => text.push(UNKNOWN, *at),
        }
    }
    text
}

/// Returns a text without the closing brackets of lists around it: `"host"}` of Go, Java and Lua, `"host"]}` of Elixir
/// and YAML.
pub(super) fn closed(text: &str) -> &str {
    let mut text = text;
    for (open, close) in [('{', '}'), ('[', ']'), ('{', '}'), ('[', ']')] {
        while text.len() > 1 && text.ends_with(close) {
            if text.matches(close).count() <= text.matches(open).count() {
                break;
            }
            text = text.get(..text.len() - 1).unwrap_or_default();
            text = text.trim_end_matches([',', '"', '\'']);
        }
    }
    text
}

/// Whether a word names QEMU.
pub(super) fn is_program(word: &str) -> bool {
    // The device of KVM: `docker run --device=/dev/kvm`.
    if word.ends_with("/dev/kvm") {
        return false;
    }
    let base = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let base = base.trim_start_matches(['@', '-']);
    // `nix run nixpkgs#qemu -- -enable-kvm`
    let base = base.rsplit(['=', '#']).next().unwrap_or(base).trim_end_matches(".exe");
    base.starts_with("qemu-system-")
        || matches!(base, "qemu-kvm" | "qemu_kvm" | "kvm" | "qemu" | "qemu-x86" | "qemu-system")
}

/// An option that only a start of a machine has.
pub(super) fn strong(word: &str) -> bool {
    let word = word.strip_prefix('-').filter(|w| w.starts_with('-')).unwrap_or(word);
    listed(STRONG, word)
}

/// Returns the QEMU command line in a simple command.
pub(super) fn command(words: &[Placed]) -> Option<Command> {
    if talks(words.iter().map(Placed::as_str)) {
        return None;
    }
    // `-accel kvm` and `--virt-type=kvm` start no program.
    let value = |at: usize| {
        let before = at.checked_sub(1).and_then(|n| words.get(n)).map_or("", Placed::as_str);
        let own = words.get(at).map_or("", Placed::as_str);
        let own = own.starts_with("--") && ["=kvm", "=qemu"].iter().any(|it| own.ends_with(it));
        // A group of the host: `docker run --group-add kvm`.
        let group = matches!(before, "--group-add" | "--group" | "-aG" | "-G");
        let options = "-accel --accel -name -machine -M --virt-type";
        own || group || listed(options, before)
    };
    let mut names = words.iter().enumerate().filter(|(_, word)| is_program(word.as_str()));
    let program = names.find(|(at, _)| !value(*at)).map(|(at, _)| at);
    let options = words.get(program.map_or(0, |n| n + 1)..)?;
    let count = options.iter().filter(|word| strong(word.as_str())).count();
    // `-M q35,help` prints the properties, and starts nothing.
    let lists = |text: &str| text.ends_with(",help") || text.ends_with(",?");
    let asks = options.iter().any(|word| {
        matches!(word.as_str(), "-version" | "--version" | "-help" | "--help" | "-h" | "help" | "?")
            || lists(word.as_str())
    });
    if asks || count == 0 && !begins(words) || (program.is_none() && count < 3) {
        return None;
    }
    // An unknown word may be the program.
    let program = program.or_else(|| {
        let first = words.iter().position(|word| !word.as_str().starts_with('-'))?;
        words.get(first).filter(|word| word.unknown()).map(|_| first)
    });
    let mut options: Vec<Placed> = options.iter().map(super::batch::opened).collect();
    if let Some(last) = options.last_mut() {
        *last = last.slice(0..closed(last.as_str()).len());
    }
    Some(Command {
        program: program.and_then(|n| words.get(n)).cloned(),
        words: options,
        apart: false,
        written: false,
        foreign: false,
    })
}
