//! Text that an ordinary user chose, in the output of commands that list names, processes, connections or files, and in
//! free text of JSON and other formats. It is neither a reading nor a message of the kernel, whatever it says.
//!
//! A line of such an output is recognised by the command above it (`commands`), by the heading of its table or file
//! (`files`), or by its own form (`rows`, `consoles`); free text by its key, element or comment (`json`, `fields`). Below a command of which nothing is
//! known, and behind words of a line that show no machine, a label of a reading is none (`speakers`, `labels`, `fronts`). What such text says of a clock is covered before any reader sees the line, so that no reader, and not
//! the scan of the kernel log, can take it for evidence; its length and its blanks stay. Not in this module: lines of
//! programs in a system log (`writers`).

mod commands;
mod consoles;
mod evidence;
mod fields;
mod files;
mod fronts;
mod json;
mod kernel_log;
mod labels;
mod logs;
mod readings;
mod rows;
mod speakers;

use super::machines;
use crate::log::{changes_clocksource, damaged_change, has_keyword, line_text, strip_prefix};
use crate::names;
use commands::Listing;
pub(super) use evidence::Prompts;
use fields::Free;
use files::Heading;
pub(crate) use logs::is_kernel_log;
use readings::Reads;
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
    /// The content of a file below a heading, up to the next one; with the number of fences of code since.
    File(u8),
    /// The next line, which a user sent to all terminals by the system log.
    Line,
    /// The rows below the heading of a table.
    Rows(Table),
}

/// What a text begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Begin {
    /// Neither of the others, so far.
    #[default]
    Open,
    /// A record of a log, in any decoration.
    Log,
    /// A heading, a fence or a comment of a document.
    Document,
}

impl Begin {
    /// What a line shows of it.
    fn of(line: &[u8]) -> Self {
        let trimmed = line.trim_ascii_start();
        if [&b"## "[..], b"### ", b"```", b"~~~", b"**", b"<!--"]
            .iter()
            .any(|sign| trimmed.starts_with(sign))
        {
            return Self::Document;
        }
        let bracket = line.iter().position(|byte| *byte == b'[');
        let stamped =
            bracket.is_some_and(|at| matches!(line.get(at + 1), Some(b' ' | b'0'..=b'9')));
        match stamped || memchr::memmem::find(line, b"kernel:").is_some() {
            true => Self::Log,
            false => Self::Open,
        }
    }
}

/// A line that looks like a message of the kernel about another clocksource, or like a reading, and is covered: it leaves
/// open which one is in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Doubt {
    /// The command, or the heading, below which it is.
    pub(crate) below: Option<String>,
    /// The clocksource that it names.
    pub(crate) wanted: Option<String>,
}

/// Bytes of a time stamp of the kernel, at most.
const STAMP: usize = 16;
/// Characters of a command that a doubt shows.
const SHOWN: usize = 60;

/// Covers such text line by line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Foreign {
    block: Block,
    /// Whether the line before is blank.
    blank: bool,
    /// Lines that a comment of HTML can still have.
    comment: u8,
    /// What the text begins with.
    begin: Begin,
    free: json::Free,
    fields: fields::Fields,
    hosts: fronts::Hosts,
    /// Whether the text has better evidence than the output of other commands.
    beside: bool,
    prompts: Prompts,
    /// Whether a person typed a name at a login that looks like a message of the kernel.
    is_typed: bool,
    /// Whether the shell is in the directory of sysfs.
    is_inside: bool,
    /// The last command, or heading.
    below: String,
}

impl Foreign {
    /// Examines a text, or its beginning, before its lines are.
    pub(crate) fn look(&mut self, text: &[u8]) {
        self.prompts = Prompts::of(text);
        self.beside = evidence::has_some(text, &self.prompts);
        self.is_typed = evidence::has_typed_name(text);
    }

    /// Examines the next line, without its end, and covers what a user chose in it. Returns the doubt if the line looks
    /// like a message of the kernel about another clocksource: a name of a file may look so, and the kernel prints on a
    /// console at any time.
    pub(crate) fn line(&mut self, line: &mut [u8]) -> Option<Doubt> {
        if self.begin == Begin::Open {
            self.begin = Begin::of(line);
        }
        if let Some(doubt) = self.commented(line) {
            return doubt;
        }
        if let Some(doubt) = self.on_a_console(line) {
            return doubt;
        }
        let is_damaged = line.starts_with(b"[") && !line.iter().take(STAMP).any(|b| *b == b']');
        if is_damaged && let Some(change) = damaged_change(&line_text(line)) {
            return Some(Doubt { below: None, wanted: named(change) });
        }
        if self.is_of_the_log(line) {
            return None;
        }
        if self.is_too_short(line) {
            self.blank = line.iter().all(u8::is_ascii_whitespace);
            return None;
        }
        let text = line_text(line).into_owned();
        let bare = text.trim_matches(['>', ' ', '\t', '\r']);
        let after_blank = std::mem::replace(&mut self.blank, bare.is_empty());
        self.free.cover(bare, line);
        let is_free = match self.fields.line(text.trim_end()) {
            // A message with the kernel's time stamp has its own rules (`writers`).
            Free::Whole => !strip_prefix(bare).1,
            Free::Labels => self.is_chosen(bare, after_blank, line) || labels::has_one(bare),
            Free::None => self.is_chosen(bare, after_blank, line),
        };
        if !(is_free && (tells(bare) || names::is_known(bare))) {
            cover_label(line, bare, &self.hosts);
            return None;
        }
        cover_all(line);
        self.doubt(bare)
    }

    /// The doubt that a covered line leaves, if it looks like a change or a reading.
    fn doubt(&self, bare: &str) -> Option<Doubt> {
        let is_change = strip_prefix(bare).1 && changes_clocksource(bare);
        let is_of_file = match self.block {
            Block::Of(listing) => listing.may_have_names(),
            block => matches!(block, Block::File(_)),
        };
        let is_reading =
            self.beside && is_of_file && (names::is_known(bare) || labels::has_one(bare));
        (is_change || is_reading).then(|| Doubt {
            below: Some(self.below.chars().take(SHOWN).collect::<String>())
                .filter(|below| !below.is_empty()),
            wanted: named(bare),
        })
    }

    /// A line of a console with words of a user before what looks like the kernel's message (`consoles`): covered, beside
    /// the kernel's own lines.
    fn on_a_console(&mut self, line: &mut [u8]) -> Option<Option<Doubt>> {
        if !self.beside || !consoles::may_have_words(line) {
            return None;
        }
        let text = line_text(line).into_owned();
        let bare = text.trim_end();
        if !(consoles::has_words(bare, self.is_typed) && tells(bare)) {
            return None;
        }
        cover_all(line);
        let message = consoles::message(bare);
        let doubt = changes_clocksource(message.trim_end_matches('.'));
        Some(doubt.then(|| Doubt { below: None, wanted: named(message) }))
    }

    /// Covers a comment of HTML, which Markdown does not show: `<!-- ... -->`, from the beginning of a line. In the output of
    /// a command that prints names, and in a log, a user can have chosen the signs, to hide what follows; the same in a
    /// log inside a document, so that a hidden change leaves a doubt.
    fn commented(&mut self, line: &mut [u8]) -> Option<Option<Doubt>> {
        let begin = line.len() - line.trim_ascii_start().len();
        if self.comment == 0 {
            let may_be_chosen = self.begin == Begin::Log || matches!(self.block, Block::Of(_));
            if !line[begin..].starts_with(b"<!--") || may_be_chosen {
                return None;
            }
            self.comment = COMMENT;
        }
        self.comment -= 1;
        let end = memchr::memmem::find(line, b"-->");
        if end.is_some() {
            self.comment = 0;
        }
        let end = end.map_or(line.len(), |end| end + 3);
        let text = line_text(&line[..end]);
        let message = text.trim_matches(['>', '<', '!', '-', ' ', '\t', '\r']);
        let is_change = strip_prefix(message).1 && changes_clocksource(message);
        let doubt = is_change.then(|| Doubt { below: None, wanted: named(message) });
        drop(text);
        cover_all(&mut line[..end]);
        Some(doubt)
    }

    /// Whether a line begins with a time stamp of the kernel, outside of the output of a command; nearly all lines of a log
    /// do. Or it is a line that the decoding of a mail left empty.
    fn is_of_the_log(&mut self, line: &[u8]) -> bool {
        let stamped = matches!(line, [b'[', b' ' | b'0'..=b'9', ..]);
        let is_inside = matches!(self.block, Block::Of(_) | Block::File(_) | Block::Line);
        let is_it = line == b"\x0b" || stamped && !is_inside;
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

    /// Whether the whole line is of such an output. In a command that names a file other than that of sysfs, beside
    /// better evidence, the name is covered in `line`.
    fn is_chosen(&mut self, bare: &str, after_blank: bool, line: &mut [u8]) -> bool {
        if let Some(command) = commands::command(bare, &self.prompts) {
            self.hosts.prompt(bare);
            command.clone_into(&mut self.below);
            let reads = readings::at(bare, command, &mut self.is_inside);
            self.block = if reads == Reads::Another && self.beside {
                cover_names(line);
                Block::Of(Listing::FILE)
            } else {
                commands::listing(command).map_or(Block::None, Block::Of)
            };
            return false;
        }
        if bare.starts_with("```") || bare.starts_with("~~~") {
            // The content of a file may be in a fence.
            self.block = match self.block {
                Block::File(0) => Block::File(1),
                _ => Block::None,
            };
            return false;
        }
        // After `ls` in a boot loader, or in a rescue shell, a kernel boots.
        let may_boot = match self.block {
            Block::Of(listing) => listing.may_boot(self.beside),
            Block::File(_) => !self.beside,
            _ => true,
        };
        if may_boot && machines::begins_boot(strip_prefix(bare).0) {
            self.block = Block::None;
            return false;
        }
        if is_broadcast(bare) {
            self.block = Block::Of(Listing::BROADCAST);
            bare.clone_into(&mut self.below);
            return false;
        }
        if bare.starts_with("Message from syslogd@") {
            self.block = Block::Line;
            bare.clone_into(&mut self.below);
            return false;
        }
        if !matches!(self.block, Block::Of(_)) && self.is_of_a_file(bare, after_blank, line) {
            return self.beside && Listing::FILE.has(bare, true);
        }
        if self.block == Block::Line && !bare.is_empty() {
            let is_stamped =
                bare.split_once(':').is_some_and(|(_, rest)| strip_prefix(rest.trim_start()).1);
            self.block = Block::None;
            return is_stamped
                || labels::has_one(bare.split_once(':').map_or(bare, |(_, rest)| rest));
        }
        if let Block::Of(listing) = self.block {
            if !(after_blank && listing.ends_in_prose && is_sentence(bare)) {
                return listing.has(bare, self.beside)
                    || listing.has_tables() && rows::is_row(bare);
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

impl Foreign {
    /// Whether a line is below the heading of a file that need not be the kernel's; takes the headings.
    fn is_of_a_file(&mut self, bare: &str, after_blank: bool, line: &mut [u8]) -> bool {
        if let Some(heading) = files::heading(bare, after_blank) {
            self.block = Block::None;
            if heading == Heading::Other {
                self.block = Block::File(0);
                bare.clone_into(&mut self.below);
                if self.beside {
                    cover_names(line);
                }
            }
            return false;
        }
        if !matches!(self.block, Block::File(_)) {
            return false;
        }
        let ends = files::is_other_heading(bare) || after_blank && is_sentence(bare);
        if ends {
            self.block = Block::None;
        }
        !ends
    }
}

/// The clocksource that a line names at its end, or its message switches to.
fn named(line: &str) -> Option<String> {
    let word = match line.rsplit_once("to clocksource ") {
        Some((_, rest)) => rest.split_ascii_whitespace().next()?,
        None => line.rsplit([' ', ':', '=', '|', '\t']).next()?,
    };
    let word = word.trim_matches(['.', '\'', '"', '`', '\r']);
    names::is_known(word).then(|| word.to_owned())
}

/// Covers a whole line.
fn cover_all(line: &mut [u8]) {
    line.iter_mut().filter(|byte| **byte > b' ').for_each(|byte| *byte = COVER);
}

/// Covers the words of a line that name a file like that of sysfs.
fn cover_names(line: &mut [u8]) {
    let Ok(text) = std::str::from_utf8(line) else { return };
    let places: Vec<_> = readings::named(text).collect();
    for place in places {
        cover_all(&mut line[place]);
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
    cover_all(&mut line[place]);
}

/// The name of the clocksource in use in a line that ends with it behind a label, in lines after [`cover`].
pub(super) fn label_of_current(line: &str) -> Option<String> {
    labels::current(line)
}

/// Covers such text in all lines of a text.
pub(super) fn cover(lines: &mut [String]) {
    let mut foreign = Foreign::default();
    foreign.look(lines.join("\n").as_bytes());
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
