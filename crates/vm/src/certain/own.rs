//! The names that a script uses.

use crate::edit::Edit;
use crate::sh::{Form, Script, Word};
use crate::shell::name_length;
use crate::words::listed;
use std::collections::HashMap;

/// Returns how often each name is in a script, without its comments.
pub(super) fn names<'a>(text: &'a str, script: &Script) -> HashMap<&'a str, usize> {
    let mut names = HashMap::new();
    let mut at = 0;
    let mut count = |piece: &'a str| {
        let mut from = 0;
        while let Some(rest) = piece.get(from..).filter(|rest| !rest.is_empty()) {
            let length = name_length(rest);
            if length > 0 {
                *names.entry(rest.get(..length).unwrap_or_default()).or_insert(0) += 1;
                from += length;
            } else {
                // Digits and letters of one word are not separated.
                let skip =
                    rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
                from += skip.max(rest.chars().next().map_or(1, char::len_utf8));
            }
        }
    };
    for comment in &script.comments {
        count(text.get(at..comment.start).unwrap_or_default());
        at = comment.end.max(at);
    }
    count(text.get(at..).unwrap_or_default());
    names
}

/// Returns whether a line continuation may divide a name.
pub(super) fn divides_a_name(text: &str) -> bool {
    let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut pieces = text.split("\\\n");
    let mut open = pieces.next().is_some_and(|piece| piece.ends_with(in_name));
    for piece in pieces {
        if open && piece.starts_with(in_name) {
            return true;
        }
        // For an empty piece the one before it decides.
        open = piece.ends_with(in_name) || (piece.is_empty() && open);
    }
    false
}

/// Whether a change appends properties to a list.
pub(super) fn appends(edit: &Edit) -> bool {
    edit.span.is_empty() && edit.with.starts_with(',')
}

/// Returns whether a word consists of text and variables: its expansion has no side effect.
pub(super) fn only_reads(word: &Word) -> bool {
    only_variables(word)
        && word.uses.iter().all(|it| it.form == Form::Plain)
        && !word.text.contains(['(', '`'])
}

/// Returns whether a word may be split only because of unquoted variables in it.
pub(super) fn only_variables(word: &Word) -> bool {
    let mut source = false;
    word.text.chars().all(|c| {
        source ^= c == '\u{1}';
        source || !matches!(c, '*' | '?' | '[' | '{' | '}' | '~')
    })
}

/// Whether a name is an ordinary variable.
pub(super) fn is_ordinary(name: &str) -> bool {
    const SPECIAL: &str = "IFS PATH HOME ENV CDPATH PWD OLDPWD SHELL LANG TERM TZ UID EUID PPID RANDOM SECONDS REPLY \
        OPTARG OPTIND OPTERR COLUMNS LINES HOSTNAME HOSTTYPE MACHTYPE OSTYPE GROUPS FUNCNAME DIRSTACK SHLVL TMPDIR _";
    const FAMILIES: [&str; 6] = ["BASH", "LC_", "LD_", "QEMU_AUDIO", "PS", "HIST"];
    !listed(SPECIAL, name) && !FAMILIES.iter().any(|family| name.starts_with(family))
}
