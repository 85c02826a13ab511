//! Where facts come from: this machine, a mirrored root, a bundle, a kernel log alone.

use anyhow::{Context, Result, bail};
use clocksmith_facts::log::KernelLog;
use clocksmith_facts::tree::DirTree;
use clocksmith_facts::{Facts, Origin, collect, log};
use std::fs::File;
use std::io::{Read, stdin};
use std::path::Path;

/// What to read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct From<'a> {
    pub(crate) root: Option<&'a Path>,
    pub(crate) bundle: Option<&'a Path>,
    pub(crate) log: Option<&'a Path>,
}

impl From<'_> {
    /// Whether the facts are those of the machine that runs this program.
    pub(crate) fn is_live(&self) -> bool {
        self.root.is_none() && self.bundle.is_none() && self.log.is_none()
    }
}

/// Reads the facts.
pub(crate) fn facts(from: From<'_>) -> Result<Facts> {
    if let Some(path) = from.log {
        return from_log(path);
    }
    let mut facts = if let Some(dir) = from.root {
        from_root(dir)?
    } else {
        bail!("live facts are not there yet")
    };
    log::complete(&mut facts);
    Ok(facts)
}

fn from_root(dir: &Path) -> Result<Facts> {
    let tree = DirTree::new(dir).with_context(|| {
        format!("cannot read {} as a mirror of a machine's root directory", dir.display())
    })?;
    let facts = collect::collect(&tree, Origin::Root(dir.display().to_string()));
    let nothing = !facts.kernel.is_known()
        && !facts.cmdline.is_known()
        && !facts.log.is_known()
        && !facts.clocksources.is_known()
        && !facts.cpuid.is_known();
    if nothing {
        bail!(
            "{} has none of proc/version, proc/cmdline, sys/devices/system/clocksource, dmesg or cpuid: \
             it is no mirror of a machine. Copy those files with their paths below it, or use a bundle \
             that `clocksmith collect` wrote",
            dir.display()
        );
    }
    Ok(facts)
}

fn from_log(path: &Path) -> Result<Facts> {
    let (name, reader): (String, Box<dyn Read>) = if path == Path::new("-") {
        ("stdin".to_owned(), Box::new(stdin().lock()))
    } else {
        let file = File::open(path)
            .with_context(|| format!("cannot open the kernel log {}", path.display()))?;
        if file.metadata().is_ok_and(|meta| meta.is_dir()) {
            bail!("{} is a directory; --log takes a file, --root a directory", path.display());
        }
        let name = path.file_name().map_or_else(
            || path.display().to_string(),
            |name| name.to_string_lossy().into_owned(),
        );
        (name, Box::new(file))
    };
    let reader = collect::open_log(reader)
        .with_context(|| format!("cannot unpack the kernel log {}", path.display()))?;
    let log = KernelLog::scan(reader, &name)?;
    if log.entries.is_empty() && !log.looks_like_kernel {
        bail!(
            "{} has no line that looks like a Linux kernel message{}. Give the output of `dmesg` or \
             `journalctl -k -b`",
            path.display(),
            if log.lines == 0 { " (it is empty)" } else { "" }
        );
    }
    Ok(Facts::from_log(log))
}
