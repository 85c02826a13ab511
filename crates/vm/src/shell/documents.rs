//! Here-documents. One that contains a command line is also a script; the others are skipped.

use super::Lexer;
use crate::words::here_document;
use std::collections::HashMap;

/// The index for the search of here-documents.
pub(super) struct Index<'a> {
    /// Where the lines of a text, without blanks around it, begin.
    lines: HashMap<&'a str, Vec<usize>>,
    /// The places where QEMU or Cloud Hypervisor is named.
    programs: Vec<usize>,
}

impl<'a> Index<'a> {
    fn of(text: &'a str) -> Self {
        let mut lines: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            lines.entry(line.trim()).or_default().push(at);
            at += line.len();
        }
        let named = |name| text.match_indices(name).map(|(at, _)| at);
        let mut programs: Vec<usize> = named("qemu-").chain(named("cloud-hypervisor")).collect();
        programs.sort_unstable();
        Self { lines, programs }
    }

    /// Returns where the line that ends a document begins, and whether a program is named before it.
    fn document(&self, name: &str, from: usize, end: usize) -> (usize, bool) {
        let after = |places: &[usize]| places.get(places.partition_point(|at| *at < from)).copied();
        let end = self.lines.get(name).and_then(|lines| after(lines)).unwrap_or(end);
        (end, after(&self.programs).is_some_and(|at| at < end))
    }
}

impl Lexer<'_> {
    /// Reads `<<EOF` and records the delimiter.
    pub(super) fn here_document(&mut self) {
        match here_document(self.rest()) {
            Some((name, end)) => {
                let begin = self.rest().get(..end).unwrap_or_default();
                self.here.push((name, !begin.contains(['\'', '"', '\\'])));
                self.at += end;
            }
            None => self.at += 2,
        }
    }

    /// Reads the documents after the line. One that contains a QEMU command line is also a script.
    pub(super) fn here_documents(&mut self) {
        for (name, plain) in std::mem::take(&mut self.here) {
            let (text, from) = (self.text, self.at);
            let index = self.index.get_or_insert_with(|| Index::of(text));
            let (end, script) = index.document(name, from, text.len());
            if !script {
                self.at = end;
            } else if plain {
                self.document = from..end;
            }
        }
    }
}
