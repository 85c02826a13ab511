//! Scripts with `VBoxManage` lines: shells, batch files, PowerShell, Vagrantfiles, Packer templates.

use super::machine::{self, Extra, Machine, Setting};
use crate::document::Document;
use crate::formats::vagrant;
use crate::shell::name_length;
use crate::words::{Word, listed, statements, words};
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

fn setting(word: &Word<'_>) -> Setting {
    Setting { value: word.text.to_owned(), span: word.span.clone() }
}

/// Returns whether a line has a command of VBoxManage whose program is a variable: `$(VBM) modifyvm NAME --cpus 2`.
pub(super) fn is_command(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let variable = |word: &&str| {
        word.trim_start_matches(['-', '@', '"', '&', '(']).starts_with(['$', '%', '!'])
    };
    let at = words.iter().position(|word| matches!(*word, "modifyvm" | "createvm"));
    let Some(at) = at.filter(|_| !is_comment(line)) else { return false };
    let before = at.checked_sub(1).and_then(|at| words.get(at));
    before.is_some_and(variable)
        && words.iter().skip(at + 1).take(2).any(|word| word.starts_with("--"))
}

/// Returns whether a line is a comment.
pub(super) fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    let lower = line.get(..4).unwrap_or(line).to_ascii_lowercase();
    line.starts_with('#')
        || line.starts_with("//")
        || line.starts_with("::")
        || lower.starts_with("rem ")
}

/// Returns whether a word is only a shell's sign that the line continues on the next one.
fn is_continuation(word: &Word<'_>, text: &str) -> bool {
    let behind = text.get(word.span.end..).unwrap_or_default();
    let ends = behind.trim_start_matches([' ', '\t', '\r']).starts_with('\n');
    !word.quoted && matches!(word.text, "\\" | "^" | "`") && ends
}

/// The machines of a script, in the order of their first lines.
#[derive(Default)]
struct Machines {
    all: Vec<Machine>,
    names: HashMap<String, usize>,
}

impl Machines {
    /// Returns the machine whose settings a command changes; one script may create several.
    fn named(&mut self, name: &str, word: &Word<'_>) -> Option<&mut Machine> {
        // `${NAME}` is `$NAME`.
        let key = match name.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) {
            Some(inner) if name_length(inner) == inner.len() => format!("${inner}"),
            _ => name.to_owned(),
        };
        let at = *self.names.entry(key).or_insert(self.all.len());
        if at == self.all.len() {
            self.all.push(Machine { head: word.span.clone(), ..Machine::default() });
        }
        self.all.get_mut(at)
    }
}

/// Returns whether a word begins a command, so that the words before it end. VBoxManage accepts them in lower case
/// only: `createVM` is a function of the script.
fn begins_command(word: &Word<'_>) -> bool {
    ["modifyvm", "createvm", "setextradata"].contains(&word.text)
}

/// Whether a line begins with a plain word, and not with a bracket, a quote or a mark.
fn is_word(line: &str) -> bool {
    line.trim_start().starts_with(|c: char| c.is_ascii_alphabetic())
}

/// Returns the value of an option: the word after it, or the text after `=`.
fn option<'a>(word: &Word<'a>, next: Option<&Word<'a>>) -> (String, Option<Setting>) {
    match word.text.split_once('=') {
        Some((name, value)) => {
            let trimmed = value.trim_matches(['"', '\'']);
            let start = word.span.start
                + name.len()
                + 1
                + (value.len() - value.trim_start_matches(['"', '\'']).len());
            let span = start..start + trimmed.len();
            (name.to_ascii_lowercase(), Some(Setting { value: trimmed.to_owned(), span }))
        }
        None => (word.text.to_ascii_lowercase(), next.map(setting)),
    }
}

fn options(machine: &mut Machine, rest: &[Word<'_>]) {
    for (index, word) in rest.iter().enumerate() {
        if !word.text.starts_with("--") {
            continue;
        }
        let (name, value) = option(word, rest.get(index + 1));
        let Some(value) = value else { continue };
        match name.as_str() {
            "--cpus" => machine.cpus = Some(value),
            "--paravirtprovider" | "--paravirt-provider" => machine.provider = Some(value),
            "--hpet" => machine.hpet = Some(value),
            "--ostype" | "--os-type" => machine.os = Some(value),
            "--chipset" => machine.arm |= value.value.to_ascii_lowercase().starts_with("armv8"),
            "--platform-architecture" => machine.arm |= value.value.eq_ignore_ascii_case("arm"),
            "--vm-execution-engine" => machine.engine = Some(value),
            _ => {}
        }
    }
}

/// Sets a key, or removes it. `whole` is the line with its end, if it can be removed as a whole: the body of a
/// condition or a loop must not be empty.
fn extra(
    machine: &mut Machine,
    line: &str,
    base: usize,
    rest: &[Word<'_>],
    whole: Option<Range<usize>>,
) {
    let Some(key) = rest.first() else { return };
    // A missing or empty value removes the key.
    let value = rest
        .get(1)
        .filter(|word| !word.text.is_empty() && !matches!(word.text, "&&" | "||" | "&" | "|"));
    let all = Rc::make_mut(&mut machine.extra);
    all.retain(|known| known.name != key.text);
    let Some(value) = value else { return };
    let length = line.trim_end().len();
    all.push(Extra {
        name: key.text.to_owned(),
        value: setting(value),
        whole: base + (line.len() - line.trim_start().len())..base + length,
        remove: whole,
    });
}

/// Returns the statements of a script; a list in brackets over several lines is one.
fn joined(text: &str) -> Vec<(usize, &str)> {
    const LONGEST: usize = 80;
    let mut all = Vec::new();
    let mut open: Option<(usize, i64, usize)> = None;
    for (base, line) in statements(text) {
        let depth = if is_comment(line) {
            0
        } else {
            let count = |c: char| i64::try_from(line.matches(c).count()).unwrap_or(0);
            count('[') - count(']')
        };
        let (start, before, lines) = open.take().unwrap_or((base, 0, 0));
        if before + depth > 0 && lines < LONGEST && line.contains(['[', '"', '\'', ':', '#', ',']) {
            open = Some((start, before + depth, lines + 1));
        } else if let Some(statement) = text.get(start..base + line.len()) {
            all.push((start, statement));
        }
    }
    if let Some(rest) = open.and_then(|(start, ..)| Some((start, text.get(start..)?))) {
        all.push(rest);
    }
    all
}

/// Reads a script. Returns the machines that it names, in the order of their first lines.
pub(super) fn read(document: &Document) -> Vec<Machine> {
    let text = document.text.as_str();
    let mut all = Machines::default();
    let mut common = Machine::default();
    let of_vagrant = vagrant::is(text);
    let mut elsewhere = false;
    // Whether the processors in a Vagrantfile are set by the provider's own name for them.
    let mut provided = false;
    for (base, line) in joined(text) {
        if is_comment(line) {
            continue;
        }
        // A block of another provider has separate processors.
        if of_vagrant && line.contains(".provider") {
            elsewhere = !vagrant::provides(line, "virtualbox");
            provided |= !elsewhere;
        }
        let mut words = words(line, base);
        // A statement may have lines that are comments.
        let mut own = (base, false);
        words.retain(|word| {
            let between = text.get(own.0..word.span.start).unwrap_or_default();
            if let Some(end) = between.rfind('\n') {
                let from = own.0 + end + 1;
                own.1 = is_comment(text.get(from..).unwrap_or_default());
            }
            own.0 = word.span.start.max(own.0);
            !own.1 && !is_continuation(word, text)
        });
        let mut known = false;
        for (index, word) in words.iter().enumerate() {
            // The first word of a command is the program, or a function of that name.
            let first = words.first().is_some_and(|it| it.text == "function");
            if !begins_command(word) || (index == 0 && !word.quoted && is_word(line)) || first {
                continue;
            }
            let after = words.get(index + 1..).unwrap_or_default();
            let next = after.iter().position(begins_command).unwrap_or(after.len());
            let after = after.get(..next).unwrap_or_default();
            let rest = after.get(1..).unwrap_or_default();
            let name = words.get(index + 1).map(|word| word.text.to_owned());
            match word.text {
                "modifyvm" => {
                    if let Some(machine) = name.and_then(|name| all.named(&name, word)) {
                        options(machine, rest);
                    }
                    known = true;
                }
                "createvm" => {
                    let mut named = after.iter().enumerate().filter_map(|(at, word)| {
                        let (name, value) = option(word, after.get(at + 1));
                        value.filter(|_| matches!(name.as_str(), "--name" | "-n" | "-name"))
                    });
                    let name = named.next().map(|it| it.value).unwrap_or_default();
                    if let Some(machine) = all.named(&name, word) {
                        machine.complete = true;
                        options(machine, after);
                    }
                    known = true;
                }
                "setextradata" => {
                    // The script's language may add more to the line than the command.
                    let alone = index == 1 && rest.len() == 2 && !line.starts_with([' ', '\t']);
                    let end = base + line.len();
                    let after = text.get(end..).unwrap_or_default();
                    let end = end
                        + usize::from(after.starts_with('\r'))
                        + usize::from(after.contains('\n'));
                    if let Some(machine) = name.and_then(|name| all.named(&name, word)) {
                        extra(machine, line, base, rest, alone.then_some(base..end));
                    }
                    known = true;
                }
                _ => {}
            }
        }
        if !known && !elsewhere {
            assignments(&mut common, line, &words);
        }
    }
    // A machine whose block calls no command: `v.cpus = 2`.
    if let (true, Some(cpus)) = (provided && all.all.is_empty(), &common.cpus) {
        all.all.push(Machine { head: cpus.span.clone(), ..Machine::default() });
    }
    all.all
        .into_iter()
        .map(|mut machine| {
            machine.cpus = machine.cpus.or_else(|| common.cpus.clone());
            machine.os = machine.os.or_else(|| common.os.clone());
            machine.hint = common.hint;
            for setting in [&mut machine.os, &mut machine.cpus].into_iter().flatten() {
                if let Some(value) = assigned(text, &setting.value) {
                    setting.value = value.to_owned();
                }
            }
            machine
        })
        .collect()
}

/// Returns the value of a variable of a shell or a batch file, `$NAME`, `${NAME}` or `%NAME%`, if each line that sets it
/// has this one.
fn assigned<'a>(text: &'a str, variable: &str) -> Option<&'a str> {
    let of_shell = variable.strip_prefix('$').map(|name| name.trim_matches(['{', '}']));
    let of_batch = || variable.strip_prefix('%')?.strip_suffix('%');
    let name = of_shell.or_else(of_batch)?;
    if name.is_empty() || name_length(name) != name.len() {
        return None;
    }
    let value = |line: &'a str| {
        let line = line.trim();
        let words = ["export ", "local ", "readonly ", "declare ", "set ", "SET "];
        let line = words.iter().find_map(|word| line.strip_prefix(word)).unwrap_or(line);
        let line = line.trim_start().trim_start_matches(['"', '$']);
        let value = line.strip_prefix(name)?.trim_start().strip_prefix('=')?.trim();
        let value = value.split([';', '#']).next().unwrap_or_default().trim();
        Some(value.trim_matches(['"', '\'']))
    };
    // What reads a variable, and a loop, set it without a line of this form.
    let otherwise = |line: &str| {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        listed("for read select foreach while", first) && words.any(|it| it == name)
    };
    if text.lines().any(otherwise) {
        return None;
    }
    let mut values = text.lines().filter_map(value);
    let first = values.next()?;
    let plain = first.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    (plain && !first.is_empty() && values.all(|other| other == first)).then_some(first)
}

/// `v.cpus = 4` of a Vagrantfile, `cpus = 4` and `guest_os_type = "Ubuntu_64"` of Packer.
fn assignments(common: &mut Machine, line: &str, words: &[Word<'_>]) {
    let Some(first) = words.first() else { return };
    let name = first.text.trim_end_matches([':', '=']);
    let Some(value) = words.iter().skip(1).find(|word| !matches!(word.text, "=" | ":")) else {
        return;
    };
    if !line.contains('=') && !line.contains(':') {
        return;
    }
    if name.ends_with(".cpus") || name == "cpus" {
        if value.text.parse::<u32>().is_ok() {
            common.cpus = Some(setting(value));
        }
    } else if name.ends_with("vm.box") {
        common.hint = machine::guest(value.text).0;
    } else if name == "guest_os_type" {
        common.os = Some(setting(value));
    }
}
