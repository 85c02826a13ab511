//! `collect`: everything that `why` needs, in one file.

use crate::args::{Collect, Common};
use crate::exit::Code;
use crate::gather;
use crate::machine_id;
use crate::render;
use crate::report::CollectReport;
use crate::ui::{file, out};
use anyhow::{Context, Result, anyhow, bail};
use clocksmith_facts::collect::{self as bundle, HostName};
use clocksmith_facts::tree::{DirTree, LiveTree, Tree};
use clocksmith_measure::light;
use sha2::{Digest, Sha256};
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
            let unread = || format!("cannot read {}", dir.display());
            match LiveTree::below(dir).with_context(unread)? {
                Some(live) => Box::new(live),
                None => Box::new(DirTree::new(dir).with_context(unread)?),
            }
        }
        None => Box::new(LiveTree::new()),
    };
    let path = args.output.clone().unwrap_or_else(default_name);
    // Before the measurement, which takes a moment.
    if path.is_dir() {
        bail!(
            "{} is a directory: name a file in it, such as {}",
            path.display(),
            path.join(default_name()).display()
        );
    }
    let mut packed = Vec::new();
    let id = machine_id::of(tree.as_ref());
    let name = match &id {
        _ if args.anonymous => HostName::Replaced(&alias),
        id => HostName::Kept(id.as_deref()),
    };
    // Only the machine that runs this program can be measured.
    let here = common.root.as_deref().is_none_or(gather::is_this_machine);
    let measured = (here && !args.no_measure).then(measure).transpose()?;
    let summary = bundle::write_bundle_as(tree.as_ref(), name, measured, &mut packed)
        .with_context(|| format!("cannot pack the bundle {}", path.display()))?;
    if path == Path::new("-") {
        if out::is_terminal() {
            bail!("a bundle is binary: name a file with --output, or redirect standard output");
        }
        out::bytes(out::Bytes::Bundle(&packed))?;
        return Ok(Code::Done);
    }
    write(&path, &packed)?;
    let report = CollectReport::new(&path, packed.len() as u64, &summary);
    if common.json {
        render::json(&report)?;
    } else {
        render::collect::print(common, &report, args.anonymous)?;
    }
    Ok(Code::Done)
}

/// Measures the read costs of the clocks here, as `why` does.
fn measure() -> Result<Vec<u8>> {
    let measured = light(clocksmith_measure::light::BUDGET);
    Ok(serde_json::to_vec(&clocksmith_watch::assess::measured(&measured))?)
}

/// Returns a name that does not identify the host: a hash with its machine id, which is unique to the machine.
fn alias(name: &str, machine_id: &str) -> String {
    let digest = Sha256::digest(format!("clocksmith host name\n{machine_id}\n{name}\n"));
    let hex: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("host-{hex}")
}

fn default_name() -> PathBuf {
    PathBuf::from("clocksmith-bundle.tar.gz")
}

/// Writes a new file that only its owner can read: a kernel log may hold secrets. An existing file
/// is never overwritten.
fn write(path: &Path, content: &[u8]) -> Result<()> {
    file::new_private(path, content).map_err(|error| match std::fs::symlink_metadata(path) {
        Ok(_) => anyhow!(
            "{0} already exists and is not overwritten: name a file that does not exist (--output \
             FILE), or remove {0}",
            path.display()
        ),
        Err(_) => error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alias_depends_on_name_and_machine_and_shows_neither() {
        let one = alias("web-01", "00112233445566778899aabbccddeeff");
        assert_eq!(one, alias("web-01", "00112233445566778899aabbccddeeff"));
        assert_ne!(one, alias("web-02", "00112233445566778899aabbccddeeff"));
        assert_ne!(one, alias("web-01", "10112233445566778899aabbccddeeff"));
        assert!(one.starts_with("host-") && one.len() == 21 && !one.contains("web"));
    }

    #[test]
    fn bundle_replaces_nothing_and_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("b.tar.gz");
        write(&path, b"one").unwrap();
        let error = format!("{:#}", write(&path, b"two").unwrap_err());
        assert!(error.contains("already exists and is not overwritten"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), b"one");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        assert!(write(&dir.path().join("none/b.tar.gz"), b"x").is_err());
    }
}
