//! A tree that remembers what was asked of another one.

use super::Tree;
use crate::{Missing, Why};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{Cursor, Read};

/// Bytes of one file that are kept; what is longer is cut off there.
const LIMIT: u64 = 48 << 20;

/// What is kept of a file's content.
pub type Filter<'a> = dyn Fn(&str, Vec<u8>) -> Vec<u8> + 'a;

/// Passes every question to another tree, and keeps the answers. Contents go through a filter first,
/// and whoever asks sees the filtered content: what is read back later from the record is what was
/// seen now.
pub struct RecordingTree<'a> {
    inner: &'a dyn Tree,
    filter: &'a Filter<'a>,
    record: RefCell<Record>,
}

/// The answers.
#[derive(Debug, Default)]
pub struct Record {
    /// Contents by path.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Names by directory.
    pub listings: BTreeMap<String, Vec<String>>,
    /// What could not be read.
    pub missing: BTreeMap<String, Missing>,
}

impl<'a> RecordingTree<'a> {
    /// Records what is asked of `inner`.
    pub fn new(inner: &'a dyn Tree, filter: &'a Filter<'a>) -> Self {
        Self { inner, filter, record: RefCell::default() }
    }

    /// The record.
    #[must_use]
    pub fn into_record(self) -> Record {
        self.record.into_inner()
    }

    fn content(&self, path: &str) -> Result<Vec<u8>, Missing> {
        if let Some(content) = self.record.borrow().files.get(path) {
            return Ok(content.clone());
        }
        let read = self.inner.open(path).and_then(|reader| {
            let mut content = Vec::new();
            match reader.take(LIMIT).read_to_end(&mut content) {
                Ok(_) => Ok((self.filter)(path, content)),
                Err(error) => Err(super::from_io(&error, self.inner.describe(path))),
            }
        });
        let mut record = self.record.borrow_mut();
        match read {
            Ok(content) => {
                record.files.insert(path.to_owned(), content.clone());
                Ok(content)
            }
            Err(missing) => {
                record.note(path, &missing);
                Err(missing)
            }
        }
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
        Ok(Box::new(Cursor::new(self.content(path)?)))
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
        let filter = |path: &str, content: Vec<u8>| {
            if path.ends_with("secret") { b"-".to_vec() } else { content }
        };
        let tree = RecordingTree::new(&inner, &filter);
        assert_eq!(tree.read("a/secret", 100).unwrap(), b"-");
        assert_eq!(tree.list("a").unwrap(), ["b", "secret"]);
        assert!(tree.read("c", 9).is_err() && tree.read("d", 9).is_err());
        let record = tree.into_record();
        assert_eq!(record.files.keys().collect::<Vec<_>>(), ["a/secret"]);
        assert_eq!(record.listings["a"].len(), 2);
        assert_eq!(record.missing.keys().collect::<Vec<_>>(), ["c"]);
    }
}
