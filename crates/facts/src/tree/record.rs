//! A tree that records the reads of another one.

use super::Tree;
use crate::{Missing, Why};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::rc::Rc;

/// Maximum bytes of all stored files. A file beyond it is not read, and is listed as missing; a file that is opened and
/// not read completely is truncated there.
const LIMIT: usize = 52 << 20;

/// Returns the stored part of a file's content: at most the given number of bytes.
pub type Filter<'a> = dyn Fn(&str, &mut dyn Read, usize) -> io::Result<Vec<u8>> + 'a;

/// Forwards every read to another tree, and stores the results. Contents pass a filter first,
/// and the caller gets the filtered content: a later reader of the record gets the same content as the
/// caller now.
pub struct RecordingTree<'a> {
    inner: &'a dyn Tree,
    filter: &'a Filter<'a>,
    /// Of these files only the one that was opened last is stored: alternatives, each of which may be large.
    alternative: fn(&str) -> bool,
    record: RefCell<Record>,
}

/// The results.
#[derive(Debug, Default)]
pub struct Record {
    /// Contents by path.
    pub files: BTreeMap<String, Rc<Vec<u8>>>,
    /// Names by directory.
    pub listings: BTreeMap<String, Vec<String>>,
    /// The files that could not be read.
    pub missing: BTreeMap<String, Missing>,
}

impl<'a> RecordingTree<'a> {
    /// Records the reads of `inner`.
    pub fn new(inner: &'a dyn Tree, filter: &'a Filter<'a>, alternative: fn(&str) -> bool) -> Self {
        Self { inner, filter, alternative, record: RefCell::default() }
    }

    /// The record.
    #[must_use]
    pub(crate) fn into_record(self) -> Record {
        self.record.into_inner()
    }

    /// A file's content; `whole` is the length above which it is useless.
    fn content(&self, path: &str, whole: Option<u64>) -> Result<Rc<Vec<u8>>, Missing> {
        if let Some(content) = self.record.borrow().files.get(path) {
            return Ok(Rc::clone(content));
        }
        let read = self.fetch(path, whole);
        let mut record = self.record.borrow_mut();
        match read {
            Ok(content) => {
                let content = Rc::new(content);
                record.files.insert(path.to_owned(), Rc::clone(&content));
                Ok(content)
            }
            Err(missing) => {
                record.note(path, &missing);
                Err(missing)
            }
        }
    }

    fn fetch(&self, path: &str, whole: Option<u64>) -> Result<Vec<u8>, Missing> {
        let unreadable =
            |what: String| Missing::new(Why::Unreadable(what), self.inner.describe(path));
        let failed = |error: io::Error| super::from_io(&error, self.inner.describe(path));
        let mut reader = self.inner.open(path)?;
        if (self.alternative)(path) {
            let mut record = self.record.borrow_mut();
            record.files.retain(|other, _| !(self.alternative)(other));
        }
        let used: usize = self.record.borrow().files.values().map(|content| content.len()).sum();
        let room = LIMIT.saturating_sub(used);
        let full = || unreadable(format!("the {} MiB of a bundle are full", LIMIT >> 20));
        let Some(whole) = whole else {
            let content = (self.filter)(path, &mut reader, room).map_err(failed)?;
            return if room == 0 { Err(full()) } else { Ok(content) };
        };
        let mut content = Vec::new();
        let most = whole.min(room as u64);
        reader.take(most.saturating_add(1)).read_to_end(&mut content).map_err(failed)?;
        if content.len() as u64 > whole {
            return Err(unreadable(format!("it is longer than {whole} bytes")));
        }
        if content.len() > room {
            return Err(full());
        }
        (self.filter)(path, &mut content.as_slice(), room).map_err(failed)
    }
}

/// Reads stored content without copying it.
struct Kept {
    content: Rc<Vec<u8>>,
    at: usize,
}

impl Read for Kept {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut rest = self.content.get(self.at..).unwrap_or_default();
        let count = rest.read(buffer)?;
        self.at += count;
        Ok(count)
    }
}

impl Record {
    fn note(&mut self, path: &str, missing: &Missing) {
        if missing.why != Why::NotAsked {
            self.missing.insert(path.to_owned(), missing.clone());
        }
    }
}

impl Tree for RecordingTree<'_> {
    fn describe(&self, path: &str) -> String {
        self.inner.describe(path)
    }

    fn open(&self, path: &str) -> Result<Box<dyn Read + '_>, Missing> {
        Ok(Box::new(Kept { content: self.content(path, None)?, at: 0 }))
    }

    fn read(&self, path: &str, limit: u64) -> Result<Vec<u8>, Missing> {
        let content = self.content(path, Some(limit))?;
        if content.len() as u64 > limit {
            let why = Why::Unreadable(format!("it is longer than {limit} bytes"));
            return Err(Missing::new(why, self.describe(path)));
        }
        Ok(content.as_ref().clone())
    }

    fn list(&self, dir: &str) -> Result<Vec<String>, Missing> {
        let listing = self.inner.list(dir);
        let mut record = self.record.borrow_mut();
        match &listing {
            Ok(names) => {
                record.listings.insert(dir.to_owned(), names.clone());
            }
            Err(missing) => record.note(dir, missing),
        }
        listing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::MemoryTree;

    #[test]
    fn what_is_seen_is_what_is_kept() {
        let mut inner = MemoryTree::new("m:").with("a/secret", "password").with("a/b", "x");
        inner.set_missing("c", Missing::new(Why::Permission, "c"));
        let filter = |path: &str, content: &mut dyn Read, most: usize| {
            let mut all = Vec::new();
            content.take(most as u64).read_to_end(&mut all)?;
            Ok(if path.ends_with("secret") { b"-".to_vec() } else { all })
        };
        let tree = RecordingTree::new(&inner, &filter, |_| false);
        assert_eq!(tree.read("a/secret", 100).unwrap(), b"-");
        assert_eq!(tree.list("a").unwrap(), ["b", "secret"]);
        assert!(tree.read("c", 9).is_err() && tree.read("d", 9).is_err());
        let record = tree.into_record();
        assert_eq!(record.files.keys().collect::<Vec<_>>(), ["a/secret"]);
        assert_eq!(record.listings["a"].len(), 2);
        assert_eq!(record.missing.keys().collect::<Vec<_>>(), ["c"]);
    }

    #[test]
    fn all_files_together_have_a_limit() {
        let mut inner = MemoryTree::new("m:").with("a/small", "x").with("log.2", "y");
        for path in ["log.1", "b/1", "b/2", "b/3"] {
            inner.insert(path, vec![b'a'; LIMIT / 2]);
        }
        let filter = |_: &str, content: &mut dyn Read, most: usize| {
            let mut all = Vec::new();
            content.take(most as u64).read_to_end(&mut all).map(|_| all)
        };
        let tree = RecordingTree::new(&inner, &filter, |path| path.starts_with("log"));
        // Only the alternative that was opened last uses memory.
        assert!(tree.open("log.1").is_ok() && tree.open("log.2").is_ok());
        assert!(tree.read("b/1", u64::MAX).is_ok());
        let refused = tree.read("b/2", u64::MAX).unwrap_err();
        assert!(refused.why.to_string().contains("full"), "{refused:?}");
        assert!(tree.read("b/3", 9).unwrap_err().why.to_string().contains("longer than 9"));
        // A file that is opened is truncated.
        assert!(tree.open("b/3").is_ok());
        let record = tree.into_record();
        let total: usize = record.files.values().map(|content| content.len()).sum();
        assert_eq!(total, LIMIT);
        assert_eq!(record.files.keys().collect::<Vec<_>>(), ["b/1", "b/3", "log.2"]);
    }
}
