//! `collect`: everything that `why` needs, in one file.

use crate::args::{Collect, Common};
use crate::exit::Code;
use crate::render;
use crate::report::CollectReport;
use crate::ui::out;
use anyhow::{Context, Result, bail};
use clocksmith_facts::collect as bundle;
use clocksmith_facts::tree::{DirTree, LiveTree, Tree};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

pub(crate) fn run(common: &Common, args: &Collect) -> Result<Code> {
    if args.list {
        for (path, fact) in bundle::paths() {
            render::text(&format!("{path:<52} {fact}\n"))?;
        }
        return Ok(Code::Done);
    }
    let tree: Box<dyn Tree> = match &common.root {
        Some(dir) => {
            Box::new(DirTree::new(dir).with_context(|| format!("cannot read {}", dir.display()))?)
        }
        None => Box::new(LiveTree::new()),
    };
    let path = args.output.clone().unwrap_or_else(default_name);
    let mut packed = Vec::new();
    let summary = bundle::write_bundle(tree.as_ref(), &mut packed)
        .with_context(|| format!("cannot pack the bundle {}", path.display()))?;
    if path == Path::new("-") {
        if out::is_terminal() {
            bail!("a bundle is binary: give a file with --output, or redirect standard output");
        }
        out::bytes(out::Bytes::Bundle(&packed))?;
        return Ok(Code::Done);
    }
    write(&path, &packed)?;
    let report = CollectReport::new(&path, packed.len() as u64, &summary);
    if common.json {
        render::json(&report)?;
    } else {
        render::collect::print(common, &report)?;
    }
    Ok(Code::Done)
}

fn default_name() -> PathBuf {
    PathBuf::from("clocksmith-bundle.tar.gz")
}

/// Writes a new file that only its owner can read: a kernel log may hold secrets. An existing file
/// is never overwritten.
fn write(path: &Path, content: &[u8]) -> Result<()> {
    let cannot = || {
        format!(
            "cannot create {} (an existing file is not overwritten; use --output)",
            path.display()
        )
    };
    let name = path.file_name().with_context(cannot)?.to_string_lossy();
    // Beside it, and moved there when it is whole: on a full disk nothing is left that looks like a bundle.
    let beside = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&beside)
        .with_context(cannot)?;
    let written = file
        .write_all(content)
        .and_then(|()| file.sync_all())
        .with_context(|| format!("cannot write {}", path.display()))
        .and_then(|()| give_name(&beside, path).with_context(cannot));
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written
}

/// Moves a file to a name that is free.
fn give_name(from: &Path, to: &Path) -> std::io::Result<()> {
    use rustix::fs::{CWD, RenameFlags};
    use rustix::io::Errno;
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        // A filesystem that cannot: a second name does not replace either.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            match std::fs::hard_link(from, to) {
                Ok(()) => std::fs::remove_file(from),
                // One without second names: a look, and a rename.
                Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                    match std::fs::symlink_metadata(to) {
                        Ok(_) => Err(ErrorKind::AlreadyExists.into()),
                        Err(_) => std::fs::rename(from, to),
                    }
                }
                Err(error) => Err(error),
            }
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bundle_replaces_nothing_and_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("b.tar.gz");
        write(&path, b"one").unwrap();
        let error = format!("{:#}", write(&path, b"two").unwrap_err());
        assert!(error.contains("not overwritten"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), b"one");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        assert!(write(&dir.path().join("none/b.tar.gz"), b"x").is_err());
    }
}
