//! Where fetched packages and prepared kernels are kept between runs: outside the repository, so
//! that kernels are not committed, and by checksum, so that a stale one is not booted.

use anyhow::{Context, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The cache directory.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// `$XDG_CACHE_HOME/clocksmith-testbed`, or `~/.cache/clocksmith-testbed`.
    pub fn standard() -> Result<Cache> {
        let base = standard_base(std::env::var_os("XDG_CACHE_HOME"), std::env::var_os("HOME"))
            .context(
                "neither XDG_CACHE_HOME nor HOME is an absolute path, so there is no place for \
                 kernels; give one with --cache DIR",
            )?;
        Ok(Cache::at(base.join("clocksmith-testbed")))
    }

    /// A cache in a directory of the caller's choice.
    pub fn at(root: PathBuf) -> Cache {
        Cache { root }
    }

    /// A directory in the cache, made if it is not there.
    pub fn directory(&self, name: impl AsRef<Path>) -> Result<PathBuf> {
        let path = self.root.join(name);
        std::fs::create_dir_all(&path)
            .with_context(|| format!("making the cache directory {}", path.display()))?;
        Ok(path)
    }

    /// A path in the cache, which need not exist.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root.join(name)
    }

    /// Writes a file of the cache so that no reader ever sees a partly written one.
    pub fn write(&self, name: impl AsRef<Path>, bytes: &[u8]) -> Result<PathBuf> {
        let path = self.root.join(name);
        let directory = path.parent().unwrap_or(&self.root);
        std::fs::create_dir_all(directory)
            .and_then(|()| {
                let mut file = tempfile::NamedTempFile::new_in(directory)?;
                std::io::Write::write_all(&mut file, bytes)?;
                file.persist(&path).map_err(|error| error.error)
            })
            .with_context(|| format!("writing {} in the cache", path.display()))?;
        Ok(path)
    }
}

fn standard_base(xdg: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let absolute = |value: OsString| Some(PathBuf::from(value)).filter(|path| path.is_absolute());
    xdg.and_then(absolute).or_else(|| Some(home.and_then(absolute)?.join(".cache")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_xdg_directory_wins_and_relative_ones_are_ignored() {
        let base = |xdg: &str, home: &str| standard_base(Some(xdg.into()), Some(home.into()));
        assert_eq!(base("/x", "/home/me"), Some("/x".into()));
        assert_eq!(base("", "/home/me"), Some("/home/me/.cache".into()));
        assert_eq!(standard_base(None, None), None);
    }

    #[test]
    fn a_written_file_is_whole_and_replaces_the_old_one() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::at(directory.path().into());
        cache.write("a/b", b"old").unwrap();
        let path = cache.write("a/b", b"new").unwrap();
        assert_eq!(std::fs::read(path).unwrap(), b"new");
    }
}
