//! The input of the scan: a text without the formatting of mailers, web pages, log stores and terminals, whose first
//! window is in the order of time if its lines show it.

use super::{Headers, Scanner};
use crate::log::afterwards::{self, By, Later};
use crate::log::columns::Columns;
use crate::log::pieces::Given;
use crate::log::{
    KernelLog, LogError, diff, disorder, encoding, mail, markup, moments, newest_first, previous,
    records,
};
use crate::paste::{Doubt, Foreign, LIMIT};
use std::io::{self, Read};

/// Size of the window in bytes. Longer lines are skipped.
const WINDOW: usize = 1 << 20;

/// The text that was read, followed by the rest.
type Text<'a> = io::Chain<io::Cursor<Vec<u8>>, Box<dyn Read + 'a>>;

/// A text of any size, with only one window of it in memory.
pub(super) struct Input<'a> {
    reader: Box<dyn Read + 'a>,
    name: &'a str,
    window: Vec<u8>,
    filled: usize,
    /// Whether nothing has been read yet.
    is_new: bool,
    /// Whether lines end with carriage returns.
    returns: bool,
    /// Whether punctuation is escaped with backslashes.
    escaped: bool,
    foreign: Foreign,
    /// The covered lines after which another clocksource may be in use.
    doubts: Vec<Later>,
    /// Bytes of the window that were examined for text that a user chose.
    examined: usize,
    /// The same of the whole text: bytes, and lines.
    all_examined: (usize, u64),
}

impl<'a> Input<'a> {
    pub(super) fn new(reader: impl Read + 'a, name: &'a str) -> Result<Self, LogError> {
        let reader = encoding::utf8(reader)
            .map_err(|error| LogError::Read { name: name.to_owned(), error })?;
        let window = vec![0u8; WINDOW];
        Ok(Self {
            reader,
            name,
            window,
            filled: 0,
            is_new: true,
            returns: false,
            escaped: false,
            foreign: Foreign::default(),
            doubts: Vec::new(),
            examined: 0,
            all_examined: (0, 0),
        })
    }

    /// Reads more text; returns whether the text ends in this window.
    pub(super) fn read_on(&mut self, log: &mut KernelLog) -> Result<bool, LogError> {
        let before = self.filled;
        self.fill()?;
        let is_new = std::mem::take(&mut self.is_new);
        if is_new {
            self.open(log)?;
        }
        if self.returns {
            self.window[before..self.filled]
                .iter_mut()
                .filter(|byte| **byte == b'\r')
                .for_each(|byte| *byte = b'\n');
        }
        let end_of_file = self.filled < self.window.len();
        if self.escaped {
            self.filled = encoding::without_backslashes(&mut self.window[..self.filled], before);
        }
        self.filled = encoding::plain_blanks(&mut self.window[..self.filled], before);
        if is_new {
            self.foreign.look(&self.window[..self.filled]);
        }
        self.cover_foreign(end_of_file);
        Ok(end_of_file)
    }

    /// Covers what a user chose in the outputs of commands, in that part of a text in which outputs are looked for.
    fn cover_foreign(&mut self, end_of_file: bool) {
        while self.examined < self.filled && self.all_examined.0 < LIMIT {
            let start = self.examined;
            let end = match memchr::memchr(b'\n', &self.window[start..self.filled]) {
                Some(length) => start + length,
                None if end_of_file => self.filled,
                None => break,
            };
            let doubt = self.foreign.line(&mut self.window[start..end]);
            self.examined = (end + 1).min(self.filled);
            self.all_examined.0 += end + 1 - start;
            self.all_examined.1 += 1;
            if let Some(doubt) = doubt {
                self.doubted(doubt);
            }
        }
    }

    fn doubted(&mut self, doubt: Doubt) {
        let line = self.all_examined.1;
        let Doubt { wanted, below } = doubt;
        afterwards::keep(&mut self.doubts, Later { line, by: By::Output, wanted, below });
    }

    /// The covered lines after which another clocksource may be in use.
    pub(super) fn take_doubts(&mut self) -> Vec<Later> {
        std::mem::take(&mut self.doubts)
    }

    /// The lines in which outputs of commands were looked for, if the text is longer.
    pub(super) fn all_examined(&self) -> Option<u64> {
        (self.all_examined.0 >= LIMIT).then_some(self.all_examined.1)
    }

    /// The content of the window.
    pub(super) fn window(&self) -> &[u8] {
        &self.window[..self.filled]
    }

    /// Replaces the text in the window by another one, which is not longer.
    fn replace(&mut self, text: &[u8]) {
        self.filled = text.len();
        self.window[..text.len()].copy_from_slice(text);
    }

    /// Removes the processed bytes.
    pub(super) fn used(&mut self, used: usize) {
        self.window.copy_within(used..self.filled, 0);
        self.filled -= used;
        self.examined = self.examined.saturating_sub(used);
    }

    /// Chooses the readers for the format of the text, by its first window.
    fn open(&mut self, log: &mut KernelLog) -> Result<(), LogError> {
        encoding::check(self.window(), self.name)?;
        self.escaped = encoding::escapes_signs(self.window());
        self.returns = encoding::ends_lines_with_returns(self.window());
        let decoded = mail::found(self.window());
        if decoded {
            self.through(|text| Given::new(mail::Parts::new(text)))?;
        }
        if let Some(mut style) = markup::found(self.window()) {
            style.soft &= !decoded;
            self.through(|text| Given::new(markup::Plain::new(text, style)))?;
        }
        if let Some(style) = records::found(self.window()) {
            self.through(|text| Given::new(records::Lines::new(text, style)))?;
        }
        if let Some(style) = diff::found(self.window()) {
            log.is_diff = true;
            self.through(|text| Given::new(diff::NewLog::new(text, style)))?;
        }
        Ok(())
    }

    /// Reads the whole text through another reader.
    fn through<R: Read + 'a>(&mut self, by: impl FnOnce(Text<'a>) -> R) -> Result<(), LogError> {
        let read = io::Cursor::new(self.window().to_vec());
        let rest = std::mem::replace(&mut self.reader, Box::new(io::empty()));
        self.reader = Box::new(by(read.chain(rest)));
        self.filled = 0;
        self.fill()
    }

    /// Reads until the window is full or the text ends.
    fn fill(&mut self) -> Result<(), LogError> {
        while self.filled < self.window.len() {
            match self.reader.read(&mut self.window[self.filled..]) {
                Ok(0) => break,
                Ok(n) => self.filled += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(LogError::Read { name: self.name.to_owned(), error }),
            }
        }
        Ok(())
    }
}

impl Scanner {
    /// Examines the first window: sorts its lines by time, or notes why their order is unknown.
    pub(super) fn put_in_order(&mut self, input: &mut Input<'_>, end_of_file: bool) {
        if let Some(ordered) = newest_first::ordered(input.window()) {
            if end_of_file && ordered.text.len() <= WINDOW {
                input.replace(&ordered.text);
                self.log.turned = ordered.turned;
            } else {
                self.log.newest_first = true;
            }
        }
        // A text that is longer than a window is not sorted.
        let is_whole = end_of_file && !self.log.is_diff;
        let mut open = None;
        if is_whole {
            match previous::order(input.window(), input.name) {
                Some(previous::Order::Newest(newest, older)) => {
                    self.leave_older(input, &newest, older);
                }
                Some(previous::Order::Open(why)) => open = Some(why),
                None => {}
            }
        }
        self.doubt = disorder::parts(input.window());
        if is_whole && let Some((newest, older)) = disorder::without_older(input.window()) {
            self.leave_older(input, &newest, older);
            open = None;
        }
        if is_whole && self.log.turned.is_empty() {
            match moments::moments(input.window()) {
                Some(moments::Moments::Newest(newest, older)) => {
                    self.leave_older(input, &newest, older);
                    open = None;
                }
                Some(moments::Moments::Open(line)) => {
                    self.doubt = self.doubt.take().or_else(|| Some(went_back(input.name, line)));
                }
                None => {}
            }
        }
        self.doubt = self.doubt.take().or(open);
        if self.doubt.is_none() && self.log.turned.is_empty() {
            self.doubt = newest_first::doubt(input.window());
        }
        self.columns = Columns::of(input.window());
        self.headers = Headers::of(input.window());
    }

    /// Continues with the text without its older boots.
    fn leave_older(&mut self, input: &mut Input<'_>, newest: &[u8], older: u32) {
        input.replace(newest);
        self.log.boots += older;
    }
}

/// The reason why lines have no order if their dates go back and their time stamps do not show the boot, as the end of
/// a sentence.
fn went_back(name: &str, line: usize) -> String {
    format!(
        "the dates go back at {name}:{line}: these are lines of several boots, and it is not known \
         which is the last one, or the clock was set between them"
    )
}
