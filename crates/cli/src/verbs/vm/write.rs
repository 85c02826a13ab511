//! A file is replaced as a whole, or not at all.

use anyhow::{Context, Result, bail};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};

/// Directories whose files belong to libvirtd: it overwrites them from memory, and reads them only when
/// it starts.
const LIBVIRT: [&str; 3] = ["/etc/libvirt/", "/run/libvirt/", "/.config/libvirt/qemu/"];

/// Replaces `before` by `after`. Returns where `before` is kept.
pub(super) fn replace(
    path: &Path,
    before: &[u8],
    after: &[u8],
    keep: bool,
) -> Result<Option<String>> {
    let path = fs::canonicalize(path).with_context(|| format!("cannot find {}", path.display()))?;
    let shown = path.display().to_string();
    if LIBVIRT.iter().any(|place| shown.contains(place)) {
        bail!(
            "not written: {shown} belongs to libvirtd, which would overwrite it. Save the changed file elsewhere \
             and run `virsh define FILE`, or make the changes with `virsh edit`"
        );
    }
    let cannot = || format!("cannot write {shown}");
    if fs::read(&path).with_context(cannot)? != before {
        bail!("not written: {shown} was changed by somebody else meanwhile; try again");
    }
    let directory = path.parent().unwrap_or(Path::new("."));
    let kept = if keep { Some(backup(&path, before)?) } else { None };
    let metadata = fs::metadata(&path).with_context(cannot)?;
    let mut file = tempfile::Builder::new()
        .prefix(".clocksmith-")
        .tempfile_in(directory)
        .with_context(|| format!("cannot write a new file beside {shown}"))?;
    file.write_all(after).with_context(cannot)?;
    let made = file.as_file().metadata().with_context(cannot)?;
    if (made.uid(), made.gid()) != (metadata.uid(), metadata.gid()) {
        fchown(file.as_file(), Some(metadata.uid()), Some(metadata.gid()))
            .with_context(|| format!("cannot give the new {shown} to its owner"))?;
    }
    // Behind the owner: a change of owner takes bits of the mode away.
    if made.mode() != metadata.mode() {
        file.as_file().set_permissions(metadata.permissions()).with_context(cannot)?;
    }
    file.as_file().sync_all().with_context(cannot)?;
    file.persist(&path).with_context(cannot)?;
    // The name, too, is to be there after a power cut. Some file systems cannot do that.
    let _ = fs::File::open(directory).and_then(|directory| directory.sync_all());
    Ok(kept)
}

/// Keeps the file as it was. A copy that is there already is older, so it stays.
fn backup(path: &Path, before: &[u8]) -> Result<String> {
    let mut name = path.as_os_str().to_owned();
    name.push(".clocksmith-before");
    let copy = PathBuf::from(name);
    let shown = copy.display().to_string();
    // It may hold a password, which nobody but its owner may see meanwhile.
    match fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&copy) {
        Ok(mut file) => {
            let metadata = fs::metadata(path).with_context(|| format!("cannot write {shown}"))?;
            file.write_all(before)
                .and_then(|()| file.set_permissions(metadata.permissions()))
                .and_then(|()| file.sync_all())
                .with_context(|| format!("cannot write {shown}"))?;
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error).with_context(|| format!("cannot write {shown}")),
    }
    Ok(shown)
}
