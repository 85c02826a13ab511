//! Detects files that read, compare or check their own text: any change of such a file also has
//! another effect.

use super::signed::{is_input, is_timed, is_verifier, timed, verifies};
use super::understood::words;
use crate::comments;
use crate::document::Document;
use crate::sh::{Command, Script, Word};
use crate::words::{base, listed};
use std::collections::HashSet;
use std::ops::Range;

/// Commands that may have the script's own name among their words, because they do not read the file.
const NAMES_ONLY: &str =
    "echo printf logger dirname basename readlink realpath cd exec sudo [ test pwd usage";
/// Commands of a function that only prints what it gets.
const PRINTS: &str = "echo printf logger exit return : true";

/// Commands that read or compare files.
pub(super) const READERS: &str = "cat tac head tail sed awk gawk mawk grep egrep fgrep zgrep perl python python3 md5sum sha1sum \
    sha224sum sha256sum sha384sum sha512sum shasum sha3sum b2sum b3sum xxhsum cksum sum md5 sha256 rhash hashdeep md5deep \
    sha1deep sha256deep nix-hash mtree openssl gpg gpgv signify minisign cmp diff comm wc stat od xxd hexdump base64 git tar cpio rsync dd tee patch ed ex source . mapfile \
    readarray read";

/// Commands that check files by a list.
const CHECKS: &str = "md5sum sha1sum sha224sum sha256sum sha384sum sha512sum shasum sha3sum b2sum b3sum xxhsum cksum sum rhash";

/// Marks of the script's own name.
pub(super) const OWN_NAMES: [&str; 3] = ["$0", "${0", "BASH_SOURCE"];

/// The limit of places with the script's own name that are checked.
const MOST_MARKS: usize = 256;

/// Checks that a script does not read, compare or check its own text.
///
/// # Errors
/// Returns the reason, with the line, if the script does so or may do so.
pub(super) fn own_text(document: &Document, script: &Script) -> Result<(), String> {
    let text = document.text.as_str();
    let said =
        |at: usize, what: &str| Err(format!("line {}: {what}", document.text.place(at).line));
    let mut names: HashSet<&str> = HashSet::new();
    // The cost of each is proportional to the length of the script.
    if OWN_NAMES.iter().map(|mark| text.matches(mark).count()).sum::<usize>() > MOST_MARKS {
        return Err("the script names its own file very often, and may read it".to_owned());
    }
    let marks = OWN_NAMES.iter().flat_map(|mark| text.match_indices(mark)).map(|(at, _)| at);
    for at in marks {
        let within = |ranges: &[Range<usize>]| ranges.iter().any(|it| it.contains(&at));
        let other = script.others.iter().any(|word| word.span.contains(&at));
        if within(&script.comments) || within(&script.documents) || other {
            continue;
        }
        if is_directory(document, at) {
            continue;
        }
        match use_of(text, script, at) {
            Own::Name => {}
            Own::Assigned(name) => _ = names.insert(name),
            Own::Read => return said(at, "the script names its own file, and may read it"),
        }
    }
    for command in &script.commands {
        let at = command.span.start;
        if reads(command, &mut names) {
            return said(at, "the command may read the script itself");
        }
        if checks(text.get(command.span.clone()).unwrap_or_default()) {
            return said(at, "files are checked against a list, which may contain this one");
        }
        let own = base(&document.name.replace('\\', "/")).to_owned();
        let named = |word: &Word| word.literal().is_some_and(|text| base(text) == own);
        let files = command.words.iter().chain(command.redirects.iter().map(|(_, to)| to));
        let takes = is_reader(command) || is_timed(command);
        let input = |(sign, to): &(String, Word)| is_input(sign) && named(to);
        if takes && files.into_iter().any(named) || command.redirects.iter().any(input) {
            return said(at, "the command may read the script itself");
        }
        // From the standard input, the script has no name.
        if !matches!(own.as_str(), "" | "-") && verifies(command, &own) {
            return said(at, "a signature is checked, which may be that of the script");
        }
    }
    match timed(text, script, &names, base(&document.name.replace('\\', "/"))) {
        Some(at) => said(at, "the script compares the time of its own file"),
        None => Ok(()),
    }
}

/// How a script uses its own name.
enum Own<'s> {
    /// Only as a name.
    Name,
    /// In a variable.
    Assigned(&'s str),
    Read,
}

/// Returns how the script uses its own name at a place, from the commands around it, the innermost first.
fn use_of<'s>(text: &str, script: &'s Script, at: usize) -> Own<'s> {
    let mut around: Vec<&Command> =
        script.commands.iter().filter(|it| it.span.contains(&at)).collect();
    around.sort_by_key(|it| it.span.len());
    let mut short = false;
    for command in &around {
        if command.words.is_empty() {
            let assign = command
                .assigns
                .iter()
                .find(|assign| words(assign).iter().any(|word| word.span.contains(&at)));
            return assign.map_or(Own::Read, |assign| Own::Assigned(assign.name.as_str()));
        }
        let name = command.words.first().and_then(Word::literal).unwrap_or_default();
        let inside = command.words.iter().any(|word| word.span.contains(&at));
        match name {
            "dirname" if inside => return Own::Name,
            "basename" if inside => short = true,
            _ if inside && is_timed(command) => return Own::Read,
            _ if inside && (listed(NAMES_ONLY, name) || only_prints(text, script, name)) => {}
            _ if inside && short && !is_reader(command) => {}
            _ => return Own::Read,
        }
    }
    if around.is_empty() { Own::Read } else { Own::Name }
}

/// Returns whether the script's name at a place is only that of its directory, with the name of another file behind it:
/// `"${BASH_SOURCE%/*}/config"`.
fn is_directory(document: &Document, at: usize) -> bool {
    let text = document.text.as_str();
    let inside = text.get(at..).unwrap_or_default();
    let marks = ["BASH_SOURCE%/*}/", "BASH_SOURCE[0]%/*}/", "${0%/*}/"];
    let Some(rest) = marks.iter().find_map(|mark| inside.strip_prefix(mark)) else { return false };
    let ends = |c: char| c.is_whitespace() || "\"'`;|&()<>".contains(c);
    let file = rest.get(..rest.find(ends).unwrap_or(rest.len())).unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let own = document.name.replace('\\', "/");
    // Without a name of its own, the script may be any file.
    !matches!(base(&own), "" | "-" | ".")
        && !base(file).is_empty()
        && file.chars().all(plain)
        && !matches!(base(file), "." | "..")
        && base(file) != base(&own)
}

/// Returns whether a function of the script only prints what it gets: `perr() { echo "$@" >&2; }`.
fn only_prints(text: &str, script: &Script, name: &str) -> bool {
    if !script.functions.iter().any(|it| it == name) {
        return false;
    }
    let heads = [format!("{name}()"), format!("{name} ()"), format!("function {name}")];
    let mut begins = text.match_indices(name).filter(|(at, _)| {
        let begin = text.get(..*at).and_then(|it| it.rfind('\n')).map_or(0, |end| end + 1);
        let line = text.get(begin..).unwrap_or_default().trim_start();
        heads.iter().any(|head| line.starts_with(head.as_str()))
    });
    // Another definition of the name may do anything.
    let (Some((at, _)), None) = (begins.next(), begins.next()) else { return false };
    let rest = text.get(at..).unwrap_or_default();
    let line = rest.find('\n').unwrap_or(rest.len());
    let length = match rest.get(..line).is_some_and(|line| line.trim_end().ends_with('}')) {
        true => line,
        false => rest.find("\n}").unwrap_or(rest.len()),
    };
    let body = at..at + length;
    let mut commands = script.commands.iter().filter(|it| body.contains(&it.span.start)).peekable();
    let prints = |command: &Command| {
        let files = command.redirects.iter().any(|(sign, to)| {
            sign.contains('<')
                || sign.contains('>') && !matches!(to.text.as_str(), "1" | "2" | "/dev/null")
        });
        !files && command.words.first().and_then(Word::literal).is_some_and(|it| listed(PRINTS, it))
    };
    commands.peek().is_some() && commands.all(prints)
}

/// Returns whether a command reads a file whose name is in one of the variables; adds variables that get such a name.
fn reads<'s>(command: &'s Command, names: &mut HashSet<&'s str>) -> bool {
    let has = |word: &Word, names: &HashSet<&str>| {
        word.uses.iter().any(|it| names.contains(it.name.as_str()))
    };
    for assign in &command.assigns {
        if words(assign).iter().any(|word| has(word, names)) {
            names.insert(assign.name.as_str());
        }
    }
    let used = command.words.iter().any(|word| has(word, names));
    let input = command.redirects.iter().any(|(sign, to)| sign.ends_with('<') && has(to, names));
    input || used && (is_reader(command) || is_timed(command) || is_verifier(command))
}

fn is_reader(command: &Command) -> bool {
    let names = command.words.iter().filter_map(Word::literal);
    let script = command.words.iter().any(|word| word.text == "-c" || word.text == "-exec");
    script || names.into_iter().any(|name| listed(READERS, base(name)))
}

/// Whether the text of a command checks files by a list: `sha256sum -c SUMS`.
fn checks(command: &str) -> bool {
    let ends = |c: char| c.is_whitespace() || "\"'`()|;&<>{}".contains(c);
    let mut program = false;
    for word in command.split(ends).filter(|word| !word.is_empty()) {
        if listed(CHECKS, base(word)) {
            program = true;
        } else if program {
            let short = word.starts_with('-') && !word.starts_with("--") && word.contains('c');
            if short || word.starts_with("--c") {
                return true;
            }
            program = word.starts_with('-') || word.chars().all(|c| c.is_ascii_digit());
        }
    }
    false
}

/// Checks that no comment may have a checksum of the file itself, or a signature around its text.
///
/// # Errors
/// Returns the reason, with the line, if a comment may have one.
pub(super) fn stated(document: &Document) -> Result<(), String> {
    let text = document.text.as_str();
    let at = |at: usize| document.text.place(at).line;
    if let Some(place) = text.find("-----BEGIN PGP SIGN") {
        return Err(format!("line {}: the file is signed", at(place)));
    }
    const WORDS: [&str; 6] = ["checksum", "md5", "sha1", "sha256", "sha512", "digest"];
    if !WORDS.iter().any(|word| text.to_ascii_lowercase().contains(word)) {
        return Ok(());
    }
    for span in comments::of(document) {
        for line in text.get(span.clone()).unwrap_or_default().lines() {
            let lower = line.to_ascii_lowercase();
            let digits =
                |word: &str| word.len() >= 32 && word.bytes().all(|b| b.is_ascii_hexdigit());
            let sum = lower.split(|c: char| !c.is_ascii_alphanumeric()).any(digits);
            if sum && WORDS.iter().any(|word| lower.contains(word)) {
                let line = at(span.start);
                return Err(format!("line {line}: a comment has a checksum, maybe of this file"));
            }
        }
    }
    Ok(())
}
