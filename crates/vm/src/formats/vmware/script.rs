//! Scripts that add settings to a `.vmx` file: a here-document, or `echo` with one setting.

use crate::detect::Clues;
use crate::words::base;
use std::collections::HashSet;

/// Settings that no other file has.
const KEYS: [&str; 8] = [
    "guestos",
    "numvcpus",
    "tools.synctime",
    "displayname",
    "virtualhw.version",
    "monitor_control.",
    "hypervisor.cpuid.v0",
    "vcpu.hotadd",
];

/// Whether a text is a script that adds such a setting to a `.vmx` file.
pub(super) fn any(clues: &Clues<'_>) -> bool {
    let text = clues.text;
    if !text.contains(".vmx") {
        return false;
    }
    let setting = |line: &str| {
        let line = printed(line).unwrap_or(line);
        let Some((key, _)) = line.split_once('=') else { return false };
        let key = key.trim().to_ascii_lowercase();
        KEYS.iter().any(|known| key.starts_with(known))
    };
    let names = variables(text);
    clues.has(|line| to_vmx(&names, line)) && clues.has(setting)
}

/// Whether a line writes to a `.vmx` file, by a redirection or `tee`; the name may be in a variable.
fn to_vmx(names: &HashSet<&str>, line: &str) -> bool {
    let mut words = line.split_whitespace();
    while let Some(word) = words.next() {
        let target = match word.trim_start_matches('>') {
            "" => words.next().unwrap_or_default(),
            target if target.len() < word.len() => target,
            _ if base(word) == "tee" => words.find(|it| !it.starts_with('-')).unwrap_or_default(),
            _ => continue,
        };
        if is_vmx(names, target.trim_end_matches([';', ')'])) {
            return true;
        }
    }
    false
}

/// Whether a word is the name of a `.vmx` file, or a variable with one.
fn is_vmx(names: &HashSet<&str>, word: &str) -> bool {
    let word = word.trim_matches(['"', '\'']);
    let variable = word.strip_prefix('$').map(|name| name.trim_matches(['{', '}']));
    word.ends_with(".vmx") || variable.is_some_and(|name| names.contains(name))
}

/// The variables that are set to the name of a `.vmx` file.
fn variables(text: &str) -> HashSet<&str> {
    fn set(line: &str) -> Option<&str> {
        let (name, value) = line.trim_start().split_once('=')?;
        let value = value.trim_end().trim_matches(['"', '\'']);
        value.ends_with(".vmx").then_some(name)
    }
    text.lines().filter_map(set).collect()
}

/// Returns the text that `echo` or `printf` writes to a file.
pub(super) fn printed(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let rest = line.strip_prefix("echo ").or_else(|| line.strip_prefix("printf "))?.trim_start();
    let rest = rest.strip_prefix("-e ").or_else(|| rest.strip_prefix("-n ")).unwrap_or(rest);
    let (text, _) = rest.rsplit_once('>').or_else(|| rest.rsplit_once('|'))?;
    let text = text.trim().trim_end_matches('>').trim();
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''));
    Some(match quote {
        Some(quote) => text.strip_prefix(quote)?.strip_suffix(quote)?,
        None => text,
    })
}
