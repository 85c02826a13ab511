//! What is scanned: a text without what mailers, web pages, log stores and terminals made of it, whose first window is in
//! the order of time where its lines tell it.

use super::Scanner;
use crate::log::columns::Columns;
use crate::log::pieces::Given;
use crate::log::{
    KernelLog, LogError, diff, disorder, encoding, mail, markup, moments, newest_first, previous,
    records,
};
use std::io::{self, Read};

/// Bytes looked at together. Longer lines are passed over.
const WINDOW: usize = 1 << 20;

/// What was read, and then the rest.
type Text<'a> = io::Chain<io::Cursor<Vec<u8>>, Box<dyn Read + 'a>>;

/// A text of any size, of which one window is in memory.
pub(super) struct Input<'a> {
    reader: Box<dyn Read + 'a>,
    name: &'a str,
    window: Vec<u8>,
    filled: usize,
    /// Nothing was read yet.
    is_new: bool,
    /// Lines end with carriage returns.
    returns: bool,
    /// Signs have a backslash in front.
    escaped: bool,
}

impl<'a> Input<'a> {
    pub(super) fn new(reader: impl Read + 'a, name: &'a str) -> Result<Self, LogError> {
        let reader = encoding::utf8(reader)
            .map_err(|error| LogError::Read { name: name.to_owned(), error })?;
        let window = vec![0u8; WINDOW];
        Ok(Self { reader, name, window, filled: 0, is_new: true, returns: false, escaped: false })
    }

    /// Reads on; whether the text ends in this window.
    pub(super) fn read_on(&mut self, log: &mut KernelLog) -> Result<bool, LogError> {
        let before = self.filled;
        self.fill()?;
        if std::mem::take(&mut self.is_new) {
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
        Ok(end_of_file)
    }

    /// What is in the window.
    pub(super) fn window(&self) -> &[u8] {
        &self.window[..self.filled]
    }

    /// Puts another text, which is no longer, in place of that in the window.
    fn replace(&mut self, text: &[u8]) {
        self.filled = text.len();
        self.window[..text.len()].copy_from_slice(text);
    }

    /// Takes out what is done with.
    pub(super) fn used(&mut self, used: usize) {
        self.window.copy_within(used..self.filled, 0);
        self.filled -= used;
    }

    /// Finds the readers that understand the text, by its first window.
    fn open(&mut self, log: &mut KernelLog) -> Result<(), LogError> {
        encoding::check(self.window(), self.name)?;
        self.escaped = encoding::escapes_signs(self.window());
        self.returns = encoding::ends_lines_with_returns(self.window());
        let decoded = mail::found(self.window());
        if decoded {
            self.through(|text| Given::new(mail::Parts::new(text)))?;
        }
        if let Some(soft) = markup::found(self.window()) {
            self.through(|text| Given::new(markup::Plain::new(text, soft && !decoded)))?;
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
    /// Looks at the first window: puts its lines in the order of time, or tells why their order is not known.
    pub(super) fn put_in_order(&mut self, input: &mut Input<'_>, end_of_file: bool) {
        if let Some(ordered) = newest_first::ordered(input.window()) {
            if end_of_file && ordered.text.len() <= WINDOW {
                input.replace(&ordered.text);
                self.log.turned = ordered.turned;
            } else {
                self.log.newest_first = true;
            }
        }
        // What is longer than a window is not put in order.
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
    }

    /// The text without older boots serves.
    fn leave_older(&mut self, input: &mut Input<'_>, newest: &[u8], older: u32) {
        input.replace(newest);
        self.log.boots += older;
    }
}

/// Why lines whose dates go back and whose stamps do not tell of which boot they are have no order, as the end of a sentence.
fn went_back(name: &str, line: usize) -> String {
    format!(
        "the dates go back at {name}:{line}: these are lines of several boots, of which the last one is open, or the clock \
         was set between them"
    )
}
