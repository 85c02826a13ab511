//! A tree in memory: the content of a bundle, and the tests' machines.

use super::{Tree, components, normal};
use crate::{Missing, Why};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Cursor, Read};

/// Files by relative path, with known reasons for those that are missing.
#[derive(Clone, Debug, Default)]
pub struct MemoryTree {
    name: String,
    files: BTreeMap<String, Vec<u8>>,
    missing: BTreeMap<String, Missing>,
    listings: BTreeMap<String, Vec<String>>,
}

impl MemoryTree {
    /// An empty tree; `name` precedes paths in [`Tree::describe`] (`bundle:`).
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// The same tree with a file; a path that is not relative is ignored.
    #[must_use]
    pub fn with(mut self, path: &str, content: impl Into<Vec<u8>>) -> Self {
        self.insert(path, content.into());
        self
    }

    /// Adds a file; returns whether the path was new and relative.
    pub fn insert(&mut self, path: &str, content: Vec<u8>) -> bool {
        match normal(path) {
            Ok(path) => self.files.insert(path, content).is_none(),
            Err(_) => false,
        }
    }

    /// Notes why a file or directory is missing.
    pub fn set_missing(&mut self, path: &str, missing: Missing) {
        self.missing.insert(path.to_owned(), missing);
    }

    /// Notes the names in a directory; without it they follow from the files.
    pub fn set_listing(&mut self, dir: &str, names: Vec<String>) {
        self.listings.insert(dir.to_owned(), names);
    }

    /// Paths and contents, sorted by path.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().map(|(path, content)| (path.as_str(), content.as_slice()))
    }

    /// Leaves out the directory that all files lie in, if there is one and `keep` does not want it.
    pub(crate) fn strip_top(&mut self, keep: impl Fn(&str) -> bool) {
        let Some((top, _)) = self.files.keys().next().and_then(|path| path.split_once('/')) else {
            return;
        };
        let prefix = format!("{top}/");
        if keep(top) || !self.files.keys().all(|path| path.starts_with(&prefix)) {
            return;
        }
        self.files = std::mem::take(&mut self.files)
            .into_iter()
            .map(|(path, content)| (path[prefix.len()..].to_owned(), content))
            .collect();
    }

    fn reason(&self, path: &str) -> Missing {
        self.missing.get(path).cloned().unwrap_or_else(|| {
            let mut missing = Missing::new(Why::NotAsked, self.describe(path));
            if let Some(command) = super::command_for(path) {
                missing = missing.how(format!("{command} > {path}, and add it"));
            }
            missing
        })
    }
}

impl Tree for MemoryTree {
    fn describe(&self, path: &str) -> String {
        format!("{}{path}", self.name)
    }

    fn open(&self, path: &str) -> Result<Box<dyn Read + '_>, Missing> {
        let found = normal(path).ok().and_then(|path| self.files.get(&path));
        match found {
            Some(content) => Ok(Box::new(Cursor::new(content.as_slice()))),
            None => Err(self.reason(path)),
        }
    }

    fn list(&self, dir: &str) -> Result<Vec<String>, Missing> {
        if let Some(names) = self.listings.get(dir) {
            return Ok(names.clone());
        }
        let depth = components(dir).map_or(0, |parts| parts.len());
        let prefix = format!("{}/", dir.trim_end_matches('/'));
        let names: BTreeSet<&str> = self
            .files
            .range(prefix.clone()..)
            .take_while(|(path, _)| path.starts_with(&prefix))
            .filter_map(|(path, _)| path.split('/').nth(depth))
            .collect();
        if names.is_empty() {
            return Err(self.reason(dir));
        }
        Ok(names.into_iter().map(str::to_owned).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_lists_and_reasons() {
        let mut tree = MemoryTree::new("m:").with("a/b/c", "1").with("a/d", "2").with("ab", "3");
        assert_eq!(tree.list("a").unwrap(), ["b", "d"]);
        assert_eq!(tree.read("./a//d", 9).unwrap(), b"2");
        assert_eq!(tree.read("a/x", 9).unwrap_err().why, Why::NotAsked);
        tree.set_missing("a/x", Missing::new(Why::Permission, "/a/x"));
        assert_eq!(tree.read("a/x", 9).unwrap_err().why, Why::Permission);
        assert_eq!(tree.list("q").unwrap_err().at.unwrap().0, "m:q");
        assert!(matches!(tree.read("ab", 0).unwrap_err().why, Why::Unreadable(_)));
        assert!(!tree.insert("../x", Vec::new()));
    }
}
