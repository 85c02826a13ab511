//! A file into which a change wrote words and that others have edited since: their edits stay, and the words of the
//! change are removed if it is certain which words those are.
//!
//! The change added words to lines, removed words from them, or added a line that contains nothing else. Such a line is
//! found again if it is as the change left it. A line with an added word is also found by its key (`options`,
//! `GRUB_CMDLINE_LINUX=`), if only one line has that key. Every other case is uncertain, and the file is a conflict.

use super::super::bytes::digest;
use super::super::entry::{Entry, Record, State};
use super::super::observed::all_words;
use super::super::{Journal, JournalError};
use super::origin::{lost_images, text_at};
use crate::plan::Action;
use crate::words::{self, Change};
use std::collections::BTreeSet;

/// A line that a change wrote.
#[derive(Debug, PartialEq, Eq)]
struct Piece<'a> {
    new: &'a str,
    /// The line that it replaced; `None` if it was added.
    old: Option<&'a str>,
}

/// Separates words of a line: blanks, and the quotes of settings.
fn apart(letter: char) -> bool {
    letter.is_ascii_whitespace() || "\"'".contains(letter)
}

fn tokens(line: &str) -> impl Iterator<Item = &str> {
    line.split(apart).filter(|it| !it.is_empty())
}

/// Returns how often a line has a word: as a word, or as the plain value of a setting.
fn count(line: &str, word: &str) -> usize {
    let plain = format!("={word}");
    let set = |token: &str| {
        token.strip_suffix(&plain).is_some_and(|name| {
            !name.is_empty() && name.bytes().all(|it| it == b'_' || it.is_ascii_uppercase())
        })
    };
    tokens(line).filter(|token| *token == word || set(token)).count()
}

/// Returns the key that distinguishes a line from others: its first word, or the name of its setting.
fn key(line: &str) -> &str {
    let body = line.trim_start();
    let body = body.strip_prefix("export ").unwrap_or(body).trim_start();
    let setting = body.split_once('=').map(|(name, _)| name);
    let setting = setting.filter(|name| !name.is_empty() && !name.contains(char::is_whitespace));
    setting.unwrap_or_else(|| tokens(body).next().unwrap_or_default())
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with('#')
}

/// Returns the words of a line except for those of a change.
fn rest<'a>(line: &'a str, change: &Change) -> Vec<&'a str> {
    let own = |token: &str| change.add.iter().chain(&change.remove).any(|word| word == token);
    tokens(line).filter(|token| !own(token)).collect()
}

/// Returns the lines that a change wrote; `None` if it did more than add and remove its words.
fn pieces<'a>(old: &'a str, new: &'a str, change: &Change) -> Option<Vec<Piece<'a>>> {
    let mut before = old.lines().peekable();
    let mut found = Vec::new();
    for line in new.lines() {
        let former = before.peek().copied();
        if former == Some(line) {
            before.next();
        } else if let Some(former) = former.filter(|it| rest(it, change) == rest(line, change)) {
            before.next();
            found.push(Piece { new: line, old: Some(former) });
        } else if change.add.iter().any(|word| count(line, word) > 0)
            && rest(line, change).len() <= 1
        {
            found.push(Piece { new: line, old: None });
        } else {
            return None;
        }
    }
    before.next().is_none().then_some(found)
}

/// A line without one occurrence of a word, and without one blank next to it.
fn without(line: &str, word: &str) -> Option<String> {
    let ends = |at: Option<char>| at.is_none_or(apart);
    let place = line.match_indices(word).map(|(at, _)| at).find(|at| {
        let before = line.get(..*at).and_then(|it| it.chars().next_back());
        let after = line.get(at + word.len()..).and_then(|it| it.chars().next());
        ends(before) && ends(after)
    })?;
    let (before, after) = (line.get(..place)?, line.get(place + word.len()..)?);
    Some(match before.strip_suffix(' ') {
        Some(before) => format!("{before}{after}"),
        None => format!("{before}{}", after.strip_prefix(' ').unwrap_or(after)),
    })
}

/// Returns a line of others without the words that a piece added to its line; `None` if that is not certain.
fn edited(line: &str, piece: &Piece<'_>, change: &Change) -> Option<String> {
    let old = piece.old?;
    let mut text = line.to_owned();
    for word in change.add.iter().filter(|word| count(old, word) == 0) {
        match count(&text, word) {
            0 => {}
            1 => text = without(&text, word)?,
            _ => return None,
        }
    }
    // A word that the change removed has no place in another line; others may have restored it.
    let back = change.remove.iter().all(|word| count(old, word) == count(&text, word));
    back.then_some(text)
}

/// Returns the present text without the parts that a change wrote: the change replaced `old` by `new`, and others
/// edited that to `now`. `None` if it is not certain which parts are the change's.
fn reverted(old: &str, new: &str, now: &str, change: &Change) -> Option<String> {
    let pieces = pieces(old, new, change)?;
    let of_change: BTreeSet<&str> = pieces.iter().map(|piece| piece.new).collect();
    // Lines that look like the change's, some of which are not.
    let alike = |piece: &Piece<'_>| {
        let wrote = pieces.iter().filter(|it| it.new == piece.new);
        wrote.clone().count() != new.lines().filter(|line| *line == piece.new).count()
            || wrote.clone().any(|it| it.old != piece.old)
    };
    if pieces.is_empty() || pieces.iter().any(alike) || now.contains(['\0', '\r']) {
        return None;
    }
    let all = |text: &str, word: &str| -> usize {
        text.lines().filter(|line| !is_comment(line)).map(|line| count(line, word)).sum()
    };
    // Others have restored everything, in any line: a second time would be too much.
    if change.add.is_empty() && change.remove.iter().all(|word| all(now, word) >= all(old, word)) {
        return Some(now.to_owned());
    }
    // By their keys, if they were edited again.
    let open: Vec<&Piece<'_>> =
        pieces.iter().filter(|piece| !now.lines().any(|line| line == piece.new)).collect();
    let same_key = |line: &str, piece: &Piece<'_>| !is_comment(line) && key(line) == key(piece.new);
    for piece in &open {
        let lines = now.lines().filter(|line| same_key(line, piece));
        let of_others = lines.filter(|line| !of_change.contains(line)).count();
        let rivals = open.iter().filter(|it| key(it.new) == key(piece.new)).count();
        if of_others > 1 || of_others == 1 && rivals > 1 {
            return None;
        }
    }
    let mut text = String::with_capacity(now.len());
    for whole in now.split_inclusive('\n') {
        let line = whole.trim_end_matches('\n');
        let end = whole.get(line.len()..).unwrap_or_default();
        if let Some(piece) = pieces.iter().find(|piece| piece.new == line) {
            if let Some(old) = piece.old {
                text.push_str(old);
                text.push_str(end);
            }
            continue;
        }
        let piece = open.iter().find(|piece| same_key(line, piece));
        let line = match piece {
            Some(piece) => edited(line, piece, change)?,
            None => line.to_owned(),
        };
        text.push_str(&line);
        text.push_str(end);
    }
    let lost = open.iter().any(|piece| !now.lines().any(|line| same_key(line, piece)));
    // A remaining word may belong to a line which is no longer known.
    if lost && change.add.iter().any(|word| all(&text, word) > all(old, word)) {
        return None;
    }
    Some(text)
}

/// Returns whether a text of others still has the words that a change wrote into its file, in the lines that had them,
/// and none that it removed.
pub(in super::super) fn still_has(new: &str, now: &str, change: &Change) -> bool {
    let plain = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !is_comment(line)).map(str::to_owned).collect()
    };
    let (wrote, lines) = (plain(new), plain(now));
    let has = |line: &str| change.add.iter().filter(|word| count(line, word) > 0).count();
    let mut with = wrote.iter().filter(|line| has(line) > 0).peekable();
    let there = |line: &String| {
        let alike = |it: &&String| key(it) == key(line) && has(it) >= has(line);
        lines.iter().filter(alike).count() >= wrote.iter().filter(alike).count()
    };
    let all = |lines: &[String], word: &str| -> usize {
        lines.iter().map(|line| count(line, word)).sum()
    };
    !now.contains(['\0', '\r'])
        && !change.is_empty()
        && (change.add.is_empty() || with.peek().is_some())
        && with.all(there)
        && change.remove.iter().all(|word| all(&lines, word) <= all(&wrote, word))
}

/// Returns the text that the change wrote at a path, by its last step there.
pub(in super::super) fn written<'a>(entry: &'a Entry, record: &Record) -> Option<&'a str> {
    match &entry.plan.steps.get(record.step)?.action {
        Action::Write { content, .. } if !record.planned.is_empty() => Some(content),
        _ => None,
    }
}

/// Removes the words of a change from a file that others have edited since: the remaining text becomes the state to
/// restore, and the present one that of the change. Returns whether that was possible.
pub(super) fn take_out(
    journal: &Journal,
    entry: &mut Entry,
    index: usize,
    current: &State,
    now: Option<String>,
) -> bool {
    let change = all_words(entry);
    let Some(record) = entry.records.get(index) else { return false };
    let (State::File { content: old, .. }, State::File { content, meta, .. }) =
        (&record.old, current)
    else {
        return false;
    };
    let texts = || {
        let now = now.or_else(|| text_at(journal, &record.path))?;
        (digest(now.as_bytes()) == *content).then_some(())?;
        let new = written(entry, record)?;
        Some((reverted(&journal.store.text(old)?, new, &now, &change)?, now))
    };
    let Some((text, now)) = texts() else { return false };
    let state = State::File {
        content: digest(text.as_bytes()),
        size: text.len() as u64,
        meta: meta.clone(),
    };
    let shown = journal.place.shown(&record.path);
    let words = change.add.iter().chain(&change.remove).cloned().collect::<Vec<_>>().join(" ");
    entry.notes.push(match text == now {
        true => format!(
            "{}: it was changed since, no longer has anything of this change, and stays as it is",
            shown.display()
        ),
        false => format!(
            "{}: it was changed since, so only {words} was reverted in it, and the rest stays",
            shown.display()
        ),
    });
    entry.texts.extend([text, now]);
    if let Some(record) = entry.records.get_mut(index) {
        record.old = state;
        record.new = Some(current.clone());
        record.edited = true;
    }
    true
}

/// By force, the previous content replaces edits by others, except where entries of removed kernels would be
/// restored: then a file without words of the change stays as it is, and one with them is refused. Returns whether
/// it stays.
pub(super) fn stays(
    journal: &Journal,
    entry: &mut Entry,
    index: usize,
    current: &State,
) -> Result<bool, JournalError> {
    let change = all_words(entry);
    let Some(record) = entry.records.get(index) else { return Ok(false) };
    let missing = lost_images(journal, record);
    if missing.is_empty() {
        return Ok(false);
    }
    let path = journal.place.shown(&record.path);
    let now = text_at(journal, &record.path).unwrap_or_default();
    if change.add.iter().any(|word| now.lines().any(|line| count(line, word) > 0)) {
        let why = format!(
            "was changed since, and what its previous content loads is gone ({}): it would start \
             nothing. Remove {} from it by hand, then try again",
            missing.join(", "),
            change.add.join(" ")
        );
        return Err(JournalError::Unfit { path, why });
    }
    entry.notes.push(format!(
        "{}: it was changed since, and stays as it is, because what its previous content loads is \
         gone ({})",
        path.display(),
        missing.join(", ")
    ));
    entry.texts.push(now);
    if let Some(record) = entry.records.get_mut(index) {
        record.old = current.clone();
    }
    Ok(true)
}

/// Records the words by which a file that becomes the previous one differs from it: the files that
/// a program generates from it lose and get the same words.
pub(super) fn override_words(journal: &Journal, entry: &mut Entry, index: usize) {
    let Some(record) = entry.records.get(index) else { return };
    let old = match &record.old {
        State::File { content, .. } => journal.store.text(content).unwrap_or_default(),
        _ => String::new(),
    };
    let now = text_at(journal, &record.path).unwrap_or_default();
    let all = |text: &str| -> BTreeSet<String> {
        let lines = text.lines().filter(|line| !is_comment(line));
        let words = lines.flat_map(|line| tokens(line).map(str::to_owned).collect::<Vec<_>>());
        words.filter(|word| words::check(word).is_ok()).collect()
    };
    let (was, is) = (all(&old), all(&now));
    entry.overridden.remove.extend(is.difference(&was).cloned());
    entry.overridden.add.extend(was.difference(&is).cloned());
}

/// Saves the texts that the entry's states need and that no saved entry names yet.
pub(in super::super) fn keep_texts(journal: &Journal, entry: &Entry) -> Result<(), JournalError> {
    entry.texts.iter().try_for_each(|text| journal.store.keep(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(add: &[&str], remove: &[&str]) -> Change {
        let own = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect();
        Change { add: own(add), remove: own(remove) }
    }

    /// Returns the remaining text, and whether the change was still in force.
    fn of(old: &str, new: &str, now: &str, change: &Change) -> Option<(String, bool)> {
        Some((reverted(old, new, now, change)?, still_has(new, now, change)))
    }

    fn some(text: &str, held: bool) -> Option<(String, bool)> {
        Some((text.to_owned(), held))
    }

    #[test]
    fn only_words_of_the_change_are_taken_out() {
        let adds = change(&["nohz=off"], &[]);
        let old = "title A\nlinux /v\noptions ro quiet\n";
        let new = "title A\nlinux /v\noptions ro quiet nohz=off\n";
        for (now, left, held) in [
            (new, old, true),
            (old, old, false),
            // Another title, another kernel, another word.
            (
                "title B\nlinux /w\noptions ro quiet nohz=off\n",
                "title B\nlinux /w\noptions ro quiet\n",
                true,
            ),
            (
                "title A\nlinux /v\noptions ro quiet nohz=off splash\n",
                "title A\nlinux /v\noptions ro quiet splash\n",
                true,
            ),
            ("options nohz=off ro\ntitle A", "options ro\ntitle A", true),
            // Removed by others, or the line was removed.
            ("title B\noptions ro\n", "title B\noptions ro\n", false),
            ("title B\n", "title B\n", false),
            ("# options nohz=off\n", "# options nohz=off\n", false),
        ] {
            assert_eq!(of(old, new, now, &adds), some(left, held), "{now}");
        }
        for now in [
            "title A\noptions ro nohz=off nohz=off\n",
            "title A\noptions ro nohz=off\noptions x nohz=off\n",
            "title A\r\noptions ro quiet nohz=off\r\n",
            "title A\0\noptions ro quiet nohz=off\n",
            "title A\nwords ro quiet nohz=off\n",
        ] {
            assert_eq!(of(old, new, now, &adds), None, "{now:?}");
        }
        // More than words, or nothing.
        assert_eq!(of(old, "title C\noptions ro nohz=off\n", new, &adds), None);
        assert_eq!(of(old, old, new, &adds), None);
    }

    #[test]
    fn line_that_was_added_goes_and_others_stay() {
        let adds = change(&["nohz=off"], &[]);
        let (old, new) = ("title A\nlinux /v\n", "title A\nlinux /v\noptions nohz=off\n");
        assert_eq!(of(old, new, "title B\noptions nohz=off\n", &adds), some("title B\n", true));
        // The owner of that line is not certain.
        assert_eq!(of(old, new, "title B\noptions nohz=off x\n", &adds), None);
    }

    #[test]
    fn settings_keep_the_edits_of_others() {
        let takes = change(&[], &["splash"]);
        let old = "A=5\nGRUB_CMDLINE_LINUX=\"quiet splash\"\n";
        let new = "A=5\nGRUB_CMDLINE_LINUX=\"quiet\"\n";
        assert_eq!(
            of(old, new, "A=9\nGRUB_CMDLINE_LINUX=\"quiet\"\n# x\n", &takes),
            some("A=9\nGRUB_CMDLINE_LINUX=\"quiet splash\"\n# x\n", true)
        );
        // Restored by others, at another place of the line.
        let now = "A=5\nGRUB_CMDLINE_LINUX=\"splash quiet\"\n";
        assert_eq!(of(old, new, now, &takes), some(now, false));
        let now = "A=5\nGRUB_CMDLINE_LINUX=\"quiet\"\nGRUB_CMDLINE_LINUX_DEFAULT=splash\n";
        assert_eq!(of(old, new, now, &takes), some(now, false));
        // Its previous place in this line is not certain.
        assert_eq!(of(old, new, "GRUB_CMDLINE_LINUX=\"quiet x\"\n", &takes), None);
        let adds = change(&["a=1", "b=2"], &[]);
        let (old, new) = ("X=\nW=\"q\"\n", "X=\nW=\"q a=1 b=2\"\n");
        assert_eq!(of(old, new, "W='q b=2 z a=1'\nX=1\n", &adds), some("W='q z'\nX=1\n", true));
        let (old, new) = ("root=/dev/vda", "root=/dev/vda a=1 b=2");
        assert_eq!(of(old, new, "root=/dev/vdb a=1 b=2", &adds), some("root=/dev/vdb", true));
    }

    #[test]
    fn labels_are_told_apart_by_their_lines() {
        let adds = change(&["a=1"], &[]);
        let old = "label x\n append root=1\nlabel y\n append root=2\n";
        let new = "label x\n append root=1 a=1\nlabel y\n append root=2 a=1\n";
        let now = "label z\n append root=2 a=1\nlabel x\n append root=1 q a=1\n";
        assert_eq!(
            of(old, new, now, &adds),
            some("label z\n append root=2\nlabel x\n append root=1 q\n", true)
        );
        // Two of one key were edited.
        let now = "label x\n append root=1 q a=1\nlabel y\n append root=2 q a=1\n";
        assert_eq!(of(old, new, now, &adds), None);
        // One of them had the word before.
        let old = "label x\n append root=1\nlabel y\n append root=1 a=1\n";
        let new = "label x\n append root=1 a=1\nlabel y\n append root=1 a=1\n";
        assert_eq!(of(old, new, new, &adds), None);
    }
}
