//! Properties of a kind of files that limit what is changed in them.

use crate::formats::kubevirt;
use crate::json;
use std::ops::Range;

/// The parts of a text in which a change is not certain, with the reasons.
pub(crate) type Doubtful = fn(&str) -> Vec<(Range<usize>, &'static str)>;

/// The properties of a kind. What is not certain by its kind is decided for each file (`certain`).
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// Files may be scripts of a shell.
    pub(crate) script: bool,
    /// Files also run programs, which may search for the text that would be changed: provisioners, probes, health checks.
    pub(crate) programs: bool,
    /// The program that reads the files replaces placeholders itself, so that a file with them is not a template.
    pub(crate) placeholders: bool,
    /// The parts that several places share, or that are there twice.
    pub(crate) doubtful: Doubtful,
}

impl Limits {
    /// Settings, and nothing else.
    pub(crate) const PLAIN: Self =
        Self { script: false, programs: false, placeholders: false, doubtful: |_| Vec::new() };
}

/// The doubtful parts of YAML: anchors, and keys that are there twice.
pub(crate) fn yaml(text: &str) -> Vec<(Range<usize>, &'static str)> {
    kubevirt::shared(text).into_iter().map(|it| (it.span, it.what)).collect()
}

/// The doubtful parts of JSON: keys that are there twice.
pub(crate) fn json(text: &str) -> Vec<(Range<usize>, &'static str)> {
    if json::is_generated(text) {
        return vec![(0..text.len(), "the file is a template")];
    }
    json::twice(text).into_iter().map(|span| (span, "a key occurs twice")).collect()
}
