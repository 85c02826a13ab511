//! From a tree to facts.
//!
//! [`collect`] reads every file with facts about clocks, once, and gives each value its
//! source and each gap its reason. It does not read facts from the kernel log: it sets [`Facts::log`], and
//! the caller adds facts from the log afterwards.

mod addresses;
mod bundle;
mod clock;
mod header;
mod kernel_config;
mod log;
mod machine;
mod names;
mod privacy;
mod secrets;
mod serials;
mod spellings;
mod virt;
mod wall;

use crate::tree::Tree;
use crate::{Fact, Facts, Missing, Origin, Why};

pub use crate::tree::decode::open_log;
pub use bundle::{HostName, MEASURED, Summary, machine_id, paths, write_bundle, write_bundle_as};

/// Longest small text file that is read, in bytes.
const SMALL: u64 = 64 << 10;
/// Longest table or list (`/proc/cpuinfo` of the largest machines has some MiB).
const LARGE: u64 = 16 << 20;

/// Reads every fact that the tree has. Nothing that goes wrong is an error: it becomes the reason
/// why a fact is missing.
#[must_use]
pub fn collect(tree: &dyn Tree, origin: Origin) -> Facts {
    let reader = Reader { tree };
    let mut facts = Facts::empty(origin);
    machine::fill(&reader, &mut facts);
    clock::fill(&reader, &mut facts);
    virt::fill(&reader, &mut facts);
    wall::fill(&reader, &mut facts);
    facts.verified = crate::verified::read(tree);
    facts.log = log::read(&reader, &facts);
    crate::log::complete(&mut facts);
    facts
}

/// A tree, and the forms in which facts are requested from it.
struct Reader<'a> {
    tree: &'a dyn Tree,
}

impl Reader<'_> {
    /// A whole file.
    fn bytes(&self, path: &str, limit: u64) -> Fact<Vec<u8>> {
        match self.tree.read(path, limit) {
            Ok(bytes) => Fact::known(bytes, self.tree.describe(path)),
            Err(missing) => Fact::Missing(missing),
        }
    }

    /// A whole text file; bytes that are not UTF-8 are replaced.
    fn text(&self, path: &str, limit: u64) -> Fact<String> {
        self.bytes(path, limit).map(|bytes| match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        })
    }

    /// A file of one short line, without the blanks around it.
    fn line(&self, path: &str) -> Fact<String> {
        self.text(path, SMALL).map(|text| text.trim().trim_matches('\0').to_owned())
    }

    /// The first of several files that exists; the reason of the first if none does.
    fn first_of<'p>(
        &self,
        paths: impl IntoIterator<Item = &'p str>,
        read: impl Fn(&Self, &str) -> Fact<String>,
    ) -> Fact<String> {
        paths
            .into_iter()
            .fold(Fact::default(), |found: Fact<String>, path| found.or_else(|| read(self, path)))
    }

    /// A gap with its place.
    fn missing(&self, why: Why, path: &str) -> Missing {
        Missing::new(why, self.tree.describe(path))
    }
}
