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
use std::io::Write;
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
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).with_context(
            || {
                format!(
                    "cannot create {} (an existing file is not overwritten; use --output)",
                    path.display()
                )
            },
        )?;
    file.write_all(content)
        .and_then(|()| file.sync_all())
        .with_context(|| format!("cannot write {}", path.display()))
}
