//! Text that an ordinary user chose, in the output of commands that list names, processes, connections or files, and in
//! free text of JSON and other formats. It is neither a reading nor a message of the kernel, whatever it says.
//!
//! A line of such an output is recognised by the command above it (`commands`), by the heading of its table, or by its
//! own form (`rows`); free text by its key, element or comment (`json`, `fields`). Below a command of which nothing is
//! known, and behind words of a line that show no machine, a label of a reading is none (`speakers`, `labels`, `fronts`). What such text says of a clock is covered before any reader sees the line, so that no reader, and not
//! the scan of the kernel log, can take it for evidence; its length and its blanks stay. Not in this module: lines of
//! programs in a system log (`writers`).

mod commands;
mod fields;
mod fronts;
mod json;
mod labels;
mod logs;
mod rows;
mod speakers;

use super::machines;
use crate::log::{changes_clocksource, has_keyword, line_text, strip_prefix};
use commands::Listing;
use fields::Free;
use rows::Table;

/// Bytes of the shortest row that could say something of a clocksource.
const SHORTEST: usize = 12;
/// The byte that covers the text.
const COVER: u8 = b'x';

/// Maximum number of lines of a comment: one that does not end hides no more.
const COMMENT: u8 = 64;

/// What a line is part of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Block {
    /// Any other text.
    #[default]
    None,
    /// The output of a command, up to the next prompt.
    Of(Listing),
    /// The rows below the heading of a table.
    Rows(Table),
}

/// Covers such text line by line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Foreign {
    block: Block,
    /// Whether the line before is blank.
    blank: bool,
    /// Lines that a comment of HTML can still have.
    comment: u8,
    free: json::Free,
    fields: fields::Fields,
    hosts: fronts::Hosts,
}

impl Foreign {
    /// Examines the next line, without its end, and covers what a user chose in it. Returns whether the line looks like
    /// a message of the kernel about another clocksource: a name of a file may look so, and the kernel prints on a console
    /// at any time.
    pub(crate) fn line(&mut self, line: &mut [u8]) -> bool {
        if self.is_commented(line) {
            return false;
        }
        if self.is_of_the_log(line) {
            return false;
        }
        if self.is_too_short(line) {
            self.blank = line.iter().all(u8::is_ascii_whitespace);
            return false;
        }
        let text = line_text(line).into_owned();
        let bare = text.trim_matches(['>', ' ', '\t', '\r']);
        let after_blank = std::mem::replace(&mut self.blank, bare.is_empty());
        self.free.cover(bare, line);
        let is_free = match self.fields.line(text.trim_end()) {
            // A message with the kernel's time stamp has its own rules (`writers`).
            Free::Whole => !strip_prefix(bare).1,
            Free::Labels => self.is_chosen(bare, after_blank) || labels::has_one(bare),
            Free::None => self.is_chosen(bare, after_blank),
        };
        if !(is_free && tells(bare)) {
            cover_label(line, bare, &self.hosts);
            return false;
        }
        line.iter_mut().filter(|byte| **byte > b' ').for_each(|byte| *byte = COVER);
        strip_prefix(bare).1 && changes_clocksource(bare)
    }

    /// Covers a comment of HTML, which Markdown does not show: `<!-- ... -->`, from the beginning of a line. In the output of
    /// a command that prints names, a user can have chosen the signs, to hide what follows.
    fn is_commented(&mut self, line: &mut [u8]) -> bool {
        let begin = line.len() - line.trim_ascii_start().len();
        if self.comment == 0 {
            if !line[begin..].starts_with(b"<!--") || matches!(self.block, Block::Of(_)) {
                return false;
            }
            self.comment = COMMENT;
        }
        self.comment -= 1;
        let end = memchr::memmem::find(line, b"-->");
        if end.is_some() {
            self.comment = 0;
        }
        let end = end.map_or(line.len(), |end| end + 3);
        line[..end].iter_mut().filter(|byte| **byte > b' ').for_each(|byte| *byte = COVER);
        true
    }

    /// Whether a line begins with a time stamp of the kernel, outside of the output of a command; nearly all lines of a log
    /// do. Or it is a line that the decoding of a mail left empty.
    fn is_of_the_log(&mut self, line: &[u8]) -> bool {
        let stamped = matches!(line, [b'[', b' ' | b'0'..=b'9', ..]);
        let is_it = line == b"\x0b" || stamped && !matches!(self.block, Block::Of(_));
        if is_it && stamped {
            self.block = Block::None;
            self.blank = false;
        }
        is_it
    }

    /// Whether a line in other text is too short for a row, and has no sign of a prompt, a heading or of JSON: texts of
    /// many short lines are not examined one by one.
    fn is_too_short(&self, line: &[u8]) -> bool {
        const SIGNS: &[u8] = b"$#%`~{}[]|><\"PD\xe2";
        self.block == Block::None
            && self.free.is_outside()
            && self.fields.is_outside()
            && line.len() < SHORTEST
            && !line.iter().any(|byte| SIGNS.contains(byte))
    }

    /// Whether the whole line is of such an output.
    fn is_chosen(&mut self, bare: &str, after_blank: bool) -> bool {
        if let Some(listing) = commands::at_prompt(bare) {
            self.hosts.prompt(bare);
            self.block = listing.map_or(Block::None, Block::Of);
            return false;
        }
        if bare.starts_with("```") || bare.starts_with("~~~") {
            self.block = Block::None;
            return false;
        }
        // After `ls` in a boot loader, or in a rescue shell, a kernel boots.
        if machines::begins_boot(strip_prefix(bare).0) {
            self.block = Block::None;
            return false;
        }
        if is_broadcast(bare) {
            self.block = Block::Of(Listing::BROADCAST);
            return false;
        }
        if let Block::Of(listing) = self.block {
            if !(after_blank && listing.ends_in_prose && is_sentence(bare)) {
                return listing.has(bare) || listing.has_tables() && rows::is_row(bare);
            }
            self.block = Block::None;
        }
        if let Some(table) = rows::heading(bare) {
            self.block = Block::Rows(table);
            return false;
        }
        if let Block::Rows(table) = self.block {
            if table.has(bare) {
                return true;
            }
            self.block = Block::None;
        }
        rows::is_row(bare)
    }
}

/// Covers a label of a reading in the middle of a line (`labels`); the rest of the line stays.
fn cover_label(line: &mut [u8], bare: &str, hosts: &fronts::Hosts) {
    if labels::in_the_middle(bare, hosts).is_none() {
        return;
    }
    // Other text may have been covered before; only whole characters are.
    let found = std::str::from_utf8(line).map(|text| {
        let begin = text.len() - text.trim_start_matches(['>', ' ', '\t']).len();
        let label = labels::in_the_middle(&text[begin..], hosts);
        label.map_or(0..0, |label| label.start + begin..label.end + begin)
    });
    let place = found.unwrap_or(0..line.len());
    line[place].iter_mut().filter(|byte| **byte > b' ').for_each(|byte| *byte = COVER);
}

/// The name of the clocksource in use in a line that ends with it behind a label, in lines after [`cover`].
pub(super) fn label_of_current(line: &str) -> Option<String> {
    labels::current(line)
}

/// Covers such text in all lines of a text.
pub(super) fn cover(lines: &mut [String]) {
    let mut foreign = Foreign::default();
    for line in lines {
        let mut bytes = std::mem::take(line).into_bytes();
        foreign.line(&mut bytes);
        // Whole characters are covered, so that it stays UTF-8.
        *line = String::from_utf8_lossy(&bytes).into_owned();
    }
}

/// Whether a reader of clocksources, or of the kernel's messages, could begin in a line.
fn tells(line: &str) -> bool {
    let is_named = || line.to_ascii_lowercase().contains("lock source");
    has_keyword(line) || line.contains("LOCKSOURCE") || is_named()
}

/// Whether a line is the heading of what a user sent to the terminals of others: `Broadcast message from NAME@HOST (pts/1)
/// (...):` of `wall`, `Message from NAME@HOST on pts/1 at 08:00 ...` of `write`.
fn is_broadcast(line: &str) -> bool {
    line.starts_with("Broadcast message from ")
        || line.starts_with("Message from ") && line.contains(" on ") && line.contains(" at ")
}

/// Whether a line is a sentence of the text's author.
fn is_sentence(line: &str) -> bool {
    let words = line.split_ascii_whitespace();
    let plain = |word: &&str| {
        let word = word.trim_matches(['.', ',', ':', ';', '!', '?', '\'', '"', '(', ')']);
        word.chars().all(char::is_alphabetic)
    };
    line.starts_with(char::is_uppercase)
        && line.ends_with([':', '.', '!', '?'])
        && words.clone().count() >= 2
        && words.clone().filter(plain).count() * 4 >= words.count() * 3
}

#[cfg(test)]
mod tests;
