//! A Proxmox VE machine that another tool generates from its own options: lines of `key: value`.

use crate::document::Document;
use crate::formats::Kind;
use crate::guest::Guest;
use crate::inner::{Inner, nothing};
use crate::lint::{LintError, Report};
use crate::placed::{Placed, UNKNOWN};
use std::ops::Range;

/// A text from the tool, followed by a value of the file.
type Part<'a> = (&'a str, Option<(&'a str, &'a Range<usize>)>);

/// Lines that become a machine's file.
pub(crate) struct Machine<'a> {
    document: &'a Document,
    inner: Inner,
}

impl<'a> Machine<'a> {
    pub(crate) fn new(document: &'a Document, whole: Range<usize>, object: String) -> Self {
        let mut inner = Inner::new(Kind::Proxmox, document, whole);
        inner.object = Some(object);
        Self { document, inner }
    }

    /// Adds a key, unless its value is not known.
    pub(crate) fn key(&mut self, key: &str, parts: &[Part<'_>]) {
        let unknown = |value: &str| value.contains(UNKNOWN) || value.contains(['\n', '\r']);
        if parts.iter().any(|(_, value)| value.is_some_and(|(value, _)| unknown(value))) {
            self.inner.partial = true;
            return;
        }
        self.inner.own(key);
        self.inner.own(": ");
        for (own, value) in parts {
            self.inner.own(own);
            if let Some((value, at)) = value {
                self.inner.value(self.document, value, at);
            }
        }
        self.inner.own("\n");
    }

    /// Adds a key with a word of a shell; only `args` may have unknown parts.
    pub(crate) fn word(&mut self, key: &str, word: &Placed) {
        let text = word.as_str();
        if text.contains(['\n', '\r']) || word.unknown() && key != "args" {
            self.inner.partial = true;
            return;
        }
        self.inner.own(key);
        self.inner.own(": ");
        // A variable joins words of several places.
        let parts = if word.exact().is_some() { vec![word.clone()] } else { word.words() };
        for (n, part) in parts.iter().enumerate() {
            self.inner.own(if n > 0 { " " } else { "" });
            match part.exact() {
                Some(at) => self.inner.value(self.document, part.as_str(), &at),
                None => {
                    let known = part.as_str().replace(UNKNOWN, "${unknown}");
                    self.inner.add(&known, &part.span());
                }
            }
        }
        self.inner.own("\n");
    }

    /// Marks the machine as incomplete: a missing key may be elsewhere.
    pub(crate) fn partial(&mut self) {
        self.inner.partial = true;
    }

    /// Judges the machine. One without any key has no setting of a clock.
    pub(crate) fn judge(
        self,
        words: fn(&str) -> Option<&'static str>,
    ) -> Result<Report, LintError> {
        if self.inner.is_empty() {
            return Ok(nothing(Guest::Unknown));
        }
        let stated = self.inner.text().lines().any(|line| line.starts_with("ostype:"));
        let mut report = self.inner.judge(self.document, words)?;
        // A cloned machine, or one whose system the tool chooses, has a system nevertheless.
        report.findings.retain(|finding| {
            finding.rule.id != "pve-ostype-missing"
                && (stated || finding.rule.id != "pve-ostype-windows-unset")
        });
        Ok(report)
    }
}
