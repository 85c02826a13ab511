//! A file is replaced as a whole, or not at all.
//!
//! The file may lie where other users can make names, and the verb may be root. So the directory is held, everything is
//! done in it by name without following a link, and a link on the way is followed only if it is ours or root's
//! ([`clocksmith_facts::trusted`]): the link of another user chooses which file is changed.

use anyhow::{Context, Result, anyhow, bail};
use clocksmith_facts::trusted::{self, Parent, Untrusted};
use rustix::fs::{AtFlags, Mode, OFlags};
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::Path;

/// Directories whose files belong to libvirtd: it overwrites them from memory, and reads them only when
/// it starts.
const LIBVIRT: [&str; 3] = ["/etc/libvirt/", "/run/libvirt/", "/.config/libvirt/qemu/"];
const FLAGS: OFlags = OFlags::NOFOLLOW.union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
const NEW: OFlags = OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(FLAGS);

/// Replaces `before` by `after`. Returns where `before` is kept.
pub(super) fn replace(
    path: &Path,
    before: &[u8],
    after: &[u8],
    keep: bool,
) -> Result<Option<String>> {
    replace_with(path, before, after, keep, || ())
}

/// The same; `meanwhile` runs when the new file is there, before the last look at the old one.
fn replace_with(
    path: &Path,
    before: &[u8],
    after: &[u8],
    keep: bool,
    meanwhile: impl FnOnce(),
) -> Result<Option<String>> {
    let Parent { directory, name, shown } = trusted::resolve(path).map_err(|error| match error {
        Untrusted::Foreign(link) => anyhow!(
            "not written: the link {link}, and chooses which file is changed. Name the file itself, or replace the link \
             by one of yours"
        ),
        error => anyhow!("cannot find {}: {error}", path.display()),
    })?;
    let shown = shown.display().to_string();
    if LIBVIRT.iter().any(|place| shown.contains(place)) {
        bail!(
            "not written: {shown} belongs to libvirtd, which would overwrite it. Save the changed file elsewhere \
             and run `virsh define FILE`, or make the changes with `virsh edit`"
        );
    }
    let cannot = || format!("cannot write {shown}");
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | FLAGS;
    let opened = rustix::fs::openat(&directory, &name, flags, Mode::empty());
    let file = File::from(opened.with_context(cannot)?);
    let metadata = file.metadata().with_context(cannot)?;
    if !metadata.is_file() {
        bail!("not written: {shown} is no regular file");
    }
    if metadata.nlink() > 1 {
        bail!(
            "not written: {shown} (owner {}) has {} names (hard links), and the others would keep the old text; another \
             user may have made them. Copy it to a file of its own (cp {shown} NEW), and change that",
            metadata.uid(),
            metadata.nlink()
        );
    }
    same(file, before, &shown)?;
    let kept =
        if keep { Some(backup(&directory, &name, &shown, before, &metadata)?) } else { None };
    let mut beside = OsString::from(".clocksmith-");
    beside.push(format!("{}-", std::process::id()));
    beside.push(&name);
    // One that a killed program of the same number left behind.
    let _ = rustix::fs::unlinkat(&directory, &beside, AtFlags::empty());
    let new = rustix::fs::openat(&directory, &beside, NEW, Mode::from_raw_mode(0o600))
        .with_context(|| format!("cannot write a new file beside {shown}"))?;
    let written = fill(File::from(new), after, &metadata, &shown).and_then(|()| {
        meanwhile();
        // An editor may have saved it while the new file was written.
        let again = File::from(
            rustix::fs::openat(&directory, &name, flags, Mode::empty()).with_context(cannot)?,
        );
        let now = again.metadata().with_context(cannot)?;
        if (now.dev(), now.ino()) != (metadata.dev(), metadata.ino()) {
            bail!("not written: {shown} was replaced by somebody else meanwhile; try again");
        }
        same(again, before, &shown)?;
        rustix::fs::renameat(&directory, &beside, &directory, &name).with_context(cannot)
    });
    if written.is_err() {
        let _ = rustix::fs::unlinkat(&directory, &beside, AtFlags::empty());
    }
    written?;
    // The name, too, is to be there after a power cut. Some file systems cannot do that.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let _ = rustix::fs::openat(&directory, ".", flags, Mode::empty()).and_then(rustix::fs::fsync);
    Ok(kept)
}

/// Whether a file still has this content.
fn same(file: File, before: &[u8], shown: &str) -> Result<()> {
    let mut now = Vec::new();
    file.take(before.len() as u64 + 1)
        .read_to_end(&mut now)
        .with_context(|| format!("cannot read {shown}"))?;
    if now != before {
        bail!("not written: {shown} was changed by somebody else meanwhile; try again");
    }
    Ok(())
}

/// Writes a new file like another one.
fn fill(mut file: File, content: &[u8], like: &Metadata, shown: &str) -> Result<()> {
    let cannot = || format!("cannot write {shown}");
    file.write_all(content).with_context(cannot)?;
    let made = file.metadata().with_context(cannot)?;
    if (made.uid(), made.gid()) != (like.uid(), like.gid()) {
        fchown(&file, Some(like.uid()), Some(like.gid()))
            .with_context(|| format!("cannot give the new {shown} to its owner"))?;
    }
    // Behind the owner: a change of owner takes bits of the mode away.
    file.set_permissions(like.permissions()).with_context(cannot)?;
    file.sync_all().with_context(cannot)
}

/// Copies of one file at most.
const COPIES: usize = 1000;

/// Keeps the file as it was, beside it. A copy of another content that is there already stays, and this one gets a number.
fn backup(
    directory: &OwnedFd,
    name: &OsStr,
    shown: &str,
    before: &[u8],
    like: &Metadata,
) -> Result<String> {
    for number in 1..=COPIES {
        let mut end = String::from(".clocksmith-before");
        if number > 1 {
            end += &format!(".{number}");
        }
        let mut copy = name.to_owned();
        copy.push(&end);
        let shown = format!("{shown}{end}");
        let cannot = || format!("cannot write {shown}");
        // It may hold a password, which nobody but its owner may see meanwhile.
        match rustix::fs::openat(directory, &copy, NEW, Mode::from_raw_mode(0o600)) {
            Ok(file) => {
                let mut file = File::from(file);
                let permissions: Permissions = like.permissions();
                let written = file
                    .write_all(before)
                    .and_then(|()| file.set_permissions(permissions))
                    .and_then(|()| file.sync_all());
                if written.is_err() {
                    let _ = rustix::fs::unlinkat(directory, &copy, AtFlags::empty());
                }
                return written.with_context(cannot).map(|()| shown);
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                if is_copy(directory, &copy, before, like) {
                    return Ok(shown);
                }
            }
            Err(error) => return Err(error).with_context(cannot),
        }
    }
    bail!(
        "not written: {shown} has {COPIES} former copies (.clocksmith-before); remove those that are not needed"
    )
}

/// Whether a name is a file of this content, of the same owner.
fn is_copy(directory: &OwnedFd, name: &OsStr, before: &[u8], like: &Metadata) -> bool {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | FLAGS;
    let Ok(file) = rustix::fs::openat(directory, name, flags, Mode::empty()) else { return false };
    let file = File::from(file);
    let ours = rustix::process::geteuid().as_raw();
    let regular = file.metadata().is_ok_and(|meta| {
        meta.is_file() && (meta.uid() == ours || meta.uid() == like.uid()) && meta.nlink() == 1
    });
    let mut now = Vec::new();
    regular && file.take(before.len() as u64 + 1).read_to_end(&mut now).is_ok() && now == before
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn replace_keeps_the_former_content_beside_other_copies() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("guest.xml");
        let at = |end: &str| dir.path().join(format!("guest.xml.clocksmith-before{end}"));
        // What a full disk left, and a link of somebody else.
        fs::write(at(""), "").unwrap();
        std::os::unix::fs::symlink("/dev/null", at(".2")).unwrap();
        fs::write(&path, "old").unwrap();
        let kept = replace(&path, b"old", b"new", true).unwrap().unwrap();
        assert!(kept.ends_with("guest.xml.clocksmith-before.3"), "{kept}");
        assert_eq!(fs::read(at(".3")).unwrap(), b"old");
        assert_eq!(fs::read(at("")).unwrap(), b"");
        // The same content is kept once.
        fs::write(&path, "old").unwrap();
        assert_eq!(replace(&path, b"old", b"newer", true).unwrap(), Some(kept));
        assert!(!at(".4").exists());
    }

    #[test]
    fn replace_file_that_another_saves_meanwhile_keeps_their_content() {
        for by_rename in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("guest.xml");
            fs::write(&path, "old").unwrap();
            let edit = || {
                if by_rename {
                    // The same content in another file: it may have another owner by now.
                    fs::write(dir.path().join("new"), "old").unwrap();
                    fs::rename(dir.path().join("new"), &path).unwrap();
                } else {
                    fs::write(&path, "theirs").unwrap();
                }
            };
            let error = replace_with(&path, b"old", b"ours", false, edit).unwrap_err();
            assert!(error.to_string().contains("meanwhile"), "{error}");
            assert_eq!(
                fs::read_to_string(&path).unwrap(),
                if by_rename { "old" } else { "theirs" }
            );
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
            fs::write(&path, "old").unwrap();
            replace(&path, b"old", b"ours", false).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), "ours");
        }
    }
}
