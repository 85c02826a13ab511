//! The system that is changed.

use super::JournalError;
use super::tree::Tree;
use crate::switch::Sysfs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The system that is changed: this one, or one in a directory.
#[derive(Clone, Debug)]
pub struct Place {
    root: PathBuf,
    /// Without links.
    real: PathBuf,
    tree: Arc<Tree>,
    sysfs: Sysfs,
}

impl Place {
    /// The running system.
    ///
    /// # Errors
    /// Returns an error if `/` cannot be opened.
    pub fn live() -> Result<Self, JournalError> {
        Self::at(Path::new("/"), Sysfs::live())
    }

    /// Returns the system whose root is this directory. Programs of a system other than the running one are not run.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be opened.
    pub fn at(root: &Path, sysfs: Sysfs) -> Result<Self, JournalError> {
        let tree = Arc::new(Tree::open(root)?);
        let real = std::fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
        Ok(Self { root: root.to_owned(), real, tree, sysfs })
    }

    /// Its root, as it was given.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether it is the running system.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.real == Path::new("/")
    }

    /// Returns its root without links: a unique name.
    pub(super) fn real(&self) -> &Path {
        &self.real
    }

    /// The kernel's files about its clocksources.
    #[must_use]
    pub fn sysfs(&self) -> &Sysfs {
        &self.sysfs
    }

    pub(super) fn tree(&self) -> &Tree {
        &self.tree
    }

    /// A path of that system, as seen from outside.
    pub(super) fn shown(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// The number of the running boot, if it is known.
    #[must_use]
    pub fn boot(&self) -> Option<String> {
        let text = clocksmith_facts::given::text("/proc/sys/kernel/random/boot_id").ok()?;
        Some(text.trim().to_owned())
    }
}
