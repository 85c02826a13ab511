//! String constants of other languages, assigned to a name once, and arguments that are added by one call each:
//! `const CPU: &str = "host"`, `cpu := "host"`, `.arg("-cpu").arg(CPU)`. The meaning of the words is not read here.

use crate::placed::Placed;
use crate::shell::name_length;
use crate::text::offset;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The most names of one file.
const MOST: usize = 1024;
/// Words before a name.
const BEFORE: [&str; 15] = [
    "export",
    "pub",
    "pub(crate)",
    "public",
    "private",
    "static",
    "final",
    "const",
    "constexpr",
    "let",
    "var",
    "val",
    "readonly",
    "String",
    "string",
];
/// A call that adds one argument.
const ARGUMENT: &str = ".arg(";

/// Returns the string constants by name: those that are assigned once, and in no other way.
pub(super) fn of(text: &str) -> BTreeMap<&str, Placed> {
    let mut found: BTreeMap<&str, Option<Placed>> = BTreeMap::new();
    for line in text.lines() {
        let Some((name, value)) = assignment(line) else { continue };
        let value = value.map(|value| Placed::new(value, offset(text, value)));
        if found.len() < MOST || found.contains_key(name) {
            found.entry(name).and_modify(|known| *known = None).or_insert(value);
        }
    }
    let known = found.into_iter().filter_map(|(name, value)| Some((name, value?)));
    known.filter(|(name, _)| !is_parameter(text, name)).collect()
}

/// Returns the name that a line assigns, and the value if it is a text in quotes.
fn assignment(line: &str) -> Option<(&str, Option<&str>)> {
    let mut rest = line.trim_start();
    while let Some((word, behind)) = rest.split_once([' ', '\t']) {
        if !BEFORE.contains(&word) {
            break;
        }
        rest = behind.trim_start();
    }
    let name = rest.get(..name_length(rest)).filter(|name| !name.is_empty())?;
    let behind = rest.get(name.len()..)?.trim_start();
    // `: &'static str`, and `string` of Go.
    let behind = match behind.strip_prefix(':').filter(|it| !it.starts_with(['=', ':'])) {
        Some(typed) => typed.get(typed.find('=')?..)?,
        None => behind.strip_prefix("string").map_or(behind, str::trim_start),
    };
    if let Some(value) = behind.strip_prefix(":=").or_else(|| behind.strip_prefix('=')) {
        return (!value.starts_with(['=', '>', '~'])).then(|| (name, quoted(value.trim())));
    }
    behind.starts_with("+=").then_some((name, None))
}

/// Returns a text in quotes with nothing after it, and without placeholders.
fn quoted(value: &str) -> Option<&str> {
    let quote = value.chars().next().filter(|c| ['"', '\'', '`'].contains(c))?;
    let (inside, behind) = value.get(1..)?.split_once(quote)?;
    let behind = behind.trim_start_matches([';', ' ', '\t']);
    let alone = behind.is_empty() || behind.starts_with("//") || behind.starts_with('#');
    (alone && !inside.is_empty() && !inside.contains(['\\', '$', '{', '%'])).then_some(inside)
}

/// Returns whether a function has a parameter of this name: `(cpu: &str`, `, cpu string`.
fn is_parameter(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default().trim_end_matches(' ');
        let behind = text.get(at + name.len()..).unwrap_or_default();
        before.ends_with(['(', ',']) && (behind.starts_with(": ") || behind.starts_with(" string"))
    })
}

/// Returns the same text with the arguments of a chain of calls side by side, each at its place.
pub(super) fn unchained(text: &str) -> Cow<'_, str> {
    if !text.contains(ARGUMENT) {
        return Cow::Borrowed(text);
    }
    let mut out = text.as_bytes().to_vec();
    let mut open: Vec<bool> = Vec::new();
    let (mut at, mut quote) = (0, false);
    let bytes = text.as_bytes();
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' if quote => at += 1,
            b'"' => quote = !quote,
            b'\n' if open.is_empty() => quote = false,
            _ if quote => {}
            b'.' if bytes.get(at..).is_some_and(|it| it.starts_with(ARGUMENT.as_bytes())) => {
                if let Some(call) = out.get_mut(at..at + ARGUMENT.len()) {
                    call.fill(b' ');
                }
                open.push(true);
                at += ARGUMENT.len() - 1;
            }
            b'(' => open.push(false),
            b')' if open.pop() == Some(true) => {
                if let Some(end) = out.get_mut(at) {
                    *end = b',';
                }
                if let Some(next @ b'.') = out.get_mut(at + 1) {
                    *next = b' ';
                }
            }
            _ => {}
        }
        at += 1;
    }
    String::from_utf8(out).map_or(Cow::Borrowed(text), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn named(text: &str) -> Vec<String> {
        of(text).iter().map(|(name, value)| format!("{name}={}", value.as_str())).collect()
    }

    #[test]
    fn a_text_that_has_a_name() {
        for line in [
            "const CPU: &str = \"host,-kvmclock\";",
            "pub(crate) const CPU: &'static str = \"host,-kvmclock\"; // of the guest",
            "    const CPU = 'host,-kvmclock'",
            "CPU := \"host,-kvmclock\"",
            "\tCPU string = \"host,-kvmclock\"",
            "private static final String CPU = \"host,-kvmclock\";",
        ] {
            assert_eq!(named(line), ["CPU=host,-kvmclock"], "{line}");
        }
        for text in [
            "const CPU: &str = env!(\"X\");",
            "cpu := \"host\" + more",
            "cpu = `host,${more}`",
            "cpu == \"host\"",
            "cpu := \"host\"\ncpu = \"max\"",
            "cpu := \"host\"\ncpu += more",
            "const cpu = \"host\"\nfunc run(cpu string) {",
            "let mut cpu = \"host\";",
        ] {
            assert_eq!(named(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_chain_of_calls() {
        let text = "c.arg(\"-cpu\").arg(format!(\"a({})\", x)).arg(CPU).spawn();";
        let wide = "c     \"-cpu\",     format!(\"a({})\", x),     CPU, spawn();";
        assert_eq!(unchained(text), wide);
    }

    proptest! {
        #[test]
        fn each_byte_stays_at_its_place(text in "([.]arg[(]|[()\"ä\\\\\n]|x){0,30}") {
            let wide = unchained(&text);
            prop_assert_eq!(wide.len(), text.len());
            let _ = of(&text);
        }
    }
}
