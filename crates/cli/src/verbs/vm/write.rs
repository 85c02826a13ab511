//! A file is replaced as a whole, or not at all.
//!
//! The file may lie where other users can make names, and the verb may be root. So the directory is held open, all work
//! in it is by name without following a link, and a link on the way is followed only if this user or root owns it
//! ([`clocksmith_facts::trusted`]): another user's link would choose the file that is changed.

use super::attributes::{self, Attributes};
use anyhow::{Context, Result, anyhow, bail};
use clocksmith_facts::trusted::{self, Parent, Untrusted};
use clocksmith_measure::interrupt;
use rustix::fs::{AtFlags, Mode, OFlags};
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::Path;

/// Directories whose files belong to libvirtd: it overwrites them from memory, and reads them only when
/// it starts.
const LIBVIRT: [&str; 3] = ["/etc/libvirt/", "/run/libvirt/", "/.config/libvirt/qemu/"];
const FLAGS: OFlags = OFlags::NOFOLLOW.union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
const NEW: OFlags = OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(FLAGS);

/// A file that is read, and may be replaced: always the same file, even if its name leads to another one meanwhile.
#[derive(Debug)]
pub(super) struct Target {
    directory: OwnedFd,
    name: OsString,
    shown: String,
    file: File,
    metadata: Metadata,
}

impl Target {
    /// Opens the target. A link of another user is not followed.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let Parent { directory, name, shown } = trusted::resolve(path).map_err(|error| match error {
            Untrusted::Foreign(link) => anyhow!(
                "not written: the link {link}, and chooses which file is changed. Name the file itself, or replace the link \
                 by one of yours"
            ),
            error => anyhow!("cannot find {}: {error}", path.display()),
        })?;
        let shown = shown.display().to_string();
        let cannot = || format!("cannot open {shown}");
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | FLAGS;
        let opened = rustix::fs::openat(&directory, &name, flags, Mode::empty());
        let file = File::from(opened.with_context(cannot)?);
        let metadata = file.metadata().with_context(cannot)?;
        if !metadata.is_file() {
            bail!("not written: {shown} is not a regular file");
        }
        Ok(Self { directory, name, shown, file, metadata })
    }

    /// It, to be read.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Refuses a file with several names: another user may have made the given one, to learn the file's content.
    pub(super) fn has_one_name(&self) -> Result<()> {
        let (metadata, shown) = (&self.metadata, &self.shown);
        if metadata.nlink() > 1 {
            bail!(
                "not written: {shown} (owner {}) has {} names (hard links), and the others would \
                 keep the old content; another user may have made them. Copy it to a file of its \
                 own (cp {shown} NEW), and change that",
                metadata.uid(),
                metadata.nlink()
            );
        }
        Ok(())
    }

    /// Refuses a file without write permission: a rename would replace it nevertheless, against its owner's wish.
    pub(super) fn is_writable(&self) -> Result<()> {
        let (mode, shown) = (self.metadata.mode() & 0o7777, &self.shown);
        if mode & 0o222 == 0 {
            bail!(
                "not written: {shown} is read-only (mode {mode:03o}); run `chmod u+w {shown}`, and try again"
            );
        }
        Ok(())
    }

    /// Refuses a file that `replace` would refuse before it writes anything.
    pub(super) fn may_be_replaced(&self) -> Result<()> {
        let shown = &self.shown;
        if LIBVIRT.iter().any(|place| shown.contains(place)) {
            bail!(
                "not written: {shown} belongs to libvirtd, which would overwrite it. Save the changed file elsewhere \
                 and run `virsh define FILE`, or make the changes with `virsh edit`"
            );
        }
        self.has_one_name()?;
        self.is_writable()?;
        attributes::of(&self.file, shown).map(|_| ())
    }

    /// Replaces `before` by `after`. Returns where `before` is kept.
    pub(super) fn replace(
        &self,
        before: &[u8],
        after: &[u8],
        keep: bool,
    ) -> Result<Option<String>> {
        interrupt::whole(|| replace_with(self, before, after, keep, || ()))
    }
}

/// The same; `meanwhile` runs when the new file exists, before the last look at the old one.
fn replace_with(
    target: &Target,
    before: &[u8],
    after: &[u8],
    keep: bool,
    meanwhile: impl FnOnce(),
) -> Result<Option<String>> {
    let Target { directory, name, shown, file, metadata } = target;
    let cannot = || format!("cannot write {shown}");
    target.may_be_replaced()?;
    same(file, before, shown)?;
    let like = Like { metadata, attributes: attributes::of(file, shown)? };
    let kept = if keep { Some(backup(directory, name, shown, before, &like)?) } else { None };
    let mut beside = OsString::from(".clocksmith-");
    beside.push(format!("{}-", std::process::id()));
    beside.push(name);
    // Removes a file that a killed program of the same number left.
    let _ = rustix::fs::unlinkat(directory, &beside, AtFlags::empty());
    let new = rustix::fs::openat(directory, &beside, NEW, Mode::from_raw_mode(0o600))
        .with_context(|| format!("cannot write a new file beside {shown}"));
    let written = new.and_then(|new| fill(File::from(new), after, &like, shown)).and_then(|()| {
        meanwhile();
        // An editor may have saved it while the new file was written.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | FLAGS;
        let again = File::from(
            rustix::fs::openat(directory, name, flags, Mode::empty()).with_context(cannot)?,
        );
        let now = again.metadata().with_context(cannot)?;
        if (now.dev(), now.ino()) != (metadata.dev(), metadata.ino()) {
            bail!("not written: another program replaced {shown} meanwhile; try again");
        }
        same(&again, before, shown)?;
        rustix::fs::renameat(directory, &beside, directory, name).with_context(cannot)
    });
    if written.is_err() {
        let _ = rustix::fs::unlinkat(directory, &beside, AtFlags::empty());
        // A copy of a file that stayed as it is has no use; one that was there before stays.
        if let Some(Copy { name, new: true, .. }) = &kept {
            let _ = rustix::fs::unlinkat(directory, name, AtFlags::empty());
        }
    }
    written?;
    // The name must also exist after a power cut. Some file systems cannot do that.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let _ = rustix::fs::openat(directory, ".", flags, Mode::empty()).and_then(rustix::fs::fsync);
    Ok(kept.map(|copy| copy.shown))
}

/// Whether a file still has this content.
fn same(mut file: &File, before: &[u8], shown: &str) -> Result<()> {
    let mut now = Vec::new();
    let most = before.len() as u64 + 1;
    file.rewind()
        .and_then(|()| file.take(most).read_to_end(&mut now))
        .with_context(|| format!("cannot read {shown}"))?;
    if now != before {
        bail!("not written: another program changed {shown} meanwhile; try again");
    }
    Ok(())
}

/// The properties that a new file copies from another one.
struct Like<'a> {
    metadata: &'a Metadata,
    attributes: Attributes,
}

/// Writes a new file like another one: its owner, its access control list and other attributes, its mode.
fn fill(mut file: File, content: &[u8], like: &Like<'_>, shown: &str) -> Result<()> {
    let cannot = || format!("cannot write {shown}");
    file.write_all(content).with_context(cannot)?;
    let made = file.metadata().with_context(cannot)?;
    let (uid, gid) = (like.metadata.uid(), like.metadata.gid());
    if (made.uid(), made.gid()) != (uid, gid) {
        fchown(&file, Some(uid), Some(gid))
            .with_context(|| format!("cannot give the new {shown} to its owner"))?;
    }
    // After the owner: a change of owner clears bits of the mode. Before the mode: without the access control list, the
    // bits of its mask would be those of the group.
    attributes::give(&file, &like.attributes, shown)?;
    let mode = |metadata: &Metadata| metadata.mode() & 0o7777;
    if mode(&file.metadata().with_context(cannot)?) != mode(like.metadata) {
        file.set_permissions(like.metadata.permissions()).with_context(cannot)?;
    }
    file.sync_all().with_context(cannot)
}

/// Copies of one file at most.
const COPIES: usize = 1000;

/// A copy of a file as it was.
struct Copy {
    name: OsString,
    shown: String,
    /// Whether this run made it.
    new: bool,
}

/// Keeps the file as it was, next to it. A copy with other content that already exists stays, and this one gets a
/// number.
fn backup(
    directory: &OwnedFd,
    name: &OsStr,
    shown: &str,
    before: &[u8],
    like: &Like<'_>,
) -> Result<Copy> {
    for number in 1..=COPIES {
        let mut end = String::from(".clocksmith-before");
        if number > 1 {
            end += &format!(".{number}");
        }
        let mut copy = name.to_owned();
        copy.push(&end);
        let shown = format!("{shown}{end}");
        let cannot = || format!("cannot write {shown}");
        // The file may contain a password, which only its owner may read meanwhile.
        match rustix::fs::openat(directory, &copy, NEW, Mode::from_raw_mode(0o600)) {
            Ok(file) => {
                let written = fill(File::from(file), before, like, &shown);
                if written.is_err() {
                    let _ = rustix::fs::unlinkat(directory, &copy, AtFlags::empty());
                }
                return written.map(|()| Copy { name: copy, shown, new: true });
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                if is_copy(directory, &copy, before, like.metadata) {
                    return Ok(Copy { name: copy, shown, new: false });
                }
            }
            Err(error) => return Err(error).with_context(cannot),
        }
    }
    bail!(
        "not written: {shown} has {COPIES} earlier copies (.clocksmith-before); remove those that \
         are not needed"
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
    use rustix::fs::XattrFlags;
    use std::fs;

    fn replace(path: &Path, before: &[u8], after: &[u8], keep: bool) -> Result<Option<String>> {
        Target::open(path)?.replace(before, after, keep)
    }

    #[test]
    fn replace_keeps_owner_access_control_list_and_attributes_of_file_and_copy() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("guest.xml");
        let copy = dir.path().join("guest.xml.clocksmith-before");
        fs::write(&path, "old").unwrap();
        let file = File::open(&path).unwrap();
        let set = |name: &str, value: &[u8]| {
            rustix::fs::fsetxattr(&file, name, value, XattrFlags::empty()).is_ok()
        };
        // user::rw-, user:1001:r--, group::---, mask::r--, other::---, as linux/posix_acl_xattr.h has it.
        let mut list = 2u32.to_le_bytes().to_vec();
        for (tag, rights, id) in [
            (1u16, 6u16, u32::MAX),
            (2, 4, 1001),
            (4, 0, u32::MAX),
            (0x10, 4, u32::MAX),
            (0x20, 0, u32::MAX),
        ] {
            list.extend([tag.to_le_bytes(), rights.to_le_bytes()].concat());
            list.extend(id.to_le_bytes());
        }
        if !set("system.posix_acl_access", &list) || !set("user.note", b"mine") {
            eprintln!("skipped: this filesystem has no access control lists or attributes");
            return;
        }
        let root = rustix::process::geteuid().is_root();
        if root {
            fchown(&file, Some(1000), Some(1001)).unwrap();
        }
        let of = |path: &Path| {
            let file = File::open(path).unwrap();
            let meta = file.metadata().unwrap();
            (meta.mode(), meta.uid(), meta.gid(), attributes::of(&file, "x").unwrap())
        };
        let before = of(&path);
        assert_eq!(before.0 & 0o777, 0o640);
        assert!(before.3.len() >= 2);
        replace(&path, b"old", b"new", true).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(of(&path), before);
        assert_eq!((of(&copy), fs::read(&copy).unwrap()), (before.clone(), b"old".to_vec()));
        // Attributes that the directory gives by default are not added.
        let default = File::open(dir.path()).unwrap();
        let given =
            rustix::fs::fsetxattr(&default, "system.posix_acl_default", &list, XattrFlags::empty());
        let plain = dir.path().join("plain.xml");
        fs::write(&plain, "old").unwrap();
        if given.is_ok() {
            rustix::fs::removexattr(&plain, "system.posix_acl_access").unwrap();
            replace(&plain, b"old", b"new", false).unwrap();
            assert_eq!(attributes::of(&File::open(&plain).unwrap(), "x").unwrap(), []);
        }
    }

    /// A signal ends a process, so another one gets it: this test runs itself.
    #[test]
    fn replace_interrupted_by_a_signal_leaves_the_new_file_and_nothing_else() {
        use rustix::process::Signal;
        use std::os::unix::process::ExitStatusExt;
        const FILE: &str = "CLOCKSMITH_TEST_REPLACED";
        const SIGNAL: &str = "CLOCKSMITH_TEST_SIGNAL";
        let signals = [Signal::INT, Signal::HUP, Signal::QUIT, Signal::TERM];
        if let Some(path) = std::env::var_os(FILE) {
            let number: i32 = std::env::var(SIGNAL).unwrap().parse().unwrap();
            let signal = signals.into_iter().find(|it| it.as_raw() == number).unwrap();
            let send = || {
                rustix::process::kill_process(rustix::process::getpid(), signal).unwrap();
            };
            let target = Target::open(Path::new(&path)).unwrap();
            let _ = interrupt::whole(|| replace_with(&target, b"old", b"new", true, send));
            std::thread::sleep(std::time::Duration::from_secs(60));
            return;
        }
        for signal in signals {
            // A command in the background ignores some of them, and so would the other process.
            let status = fs::read_to_string("/proc/self/status").unwrap();
            let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
            let ignored = u64::from_str_radix(ignored.trim(), 16).unwrap();
            if ignored & (1 << (signal.as_raw() - 1)) != 0 {
                eprintln!(
                    "skipped: this process was started with signal {} ignored",
                    signal.as_raw()
                );
                continue;
            }
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("guest.xml");
            fs::write(&path, "old").unwrap();
            let status = std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "verbs::vm::write::tests::replace_interrupted_by_a_signal_leaves_the_new_file_and_nothing_else"])
                .env(FILE, &path)
                .env(SIGNAL, signal.as_raw().to_string())
                .stdout(std::process::Stdio::null())
                .status()
                .unwrap();
            assert_eq!(status.signal(), Some(signal.as_raw()), "{status}");
            assert_eq!(fs::read_to_string(&path).unwrap(), "new");
            let names = fs::read_dir(dir.path()).unwrap().map(|it| it.unwrap().file_name());
            let mut names: Vec<_> = names.collect();
            names.sort();
            assert_eq!(names, ["guest.xml", "guest.xml.clocksmith-before"]);
        }
    }

    #[test]
    fn what_was_opened_is_what_is_read_and_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let (path, secret) = (dir.path().join("guest.xml"), dir.path().join("secret"));
        fs::write(&path, "old").unwrap();
        fs::write(&secret, "secret").unwrap();
        let target = Target::open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&secret, &path).unwrap();
        let mut read = String::new();
        target.file().read_to_string(&mut read).unwrap();
        assert_eq!(read, "old");
        assert!(target.replace(b"old", b"new", false).is_err());
        assert_eq!(fs::read_to_string(&secret).unwrap(), "secret");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn replace_refuses_a_file_without_write_permission() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("guest.xml");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        let error = replace(&path, b"old", b"new", true).unwrap_err().to_string();
        assert!(error.contains("read-only (mode 444)") && error.contains("chmod u+w"), "{error}");
        assert!(Target::open(&path).unwrap().may_be_replaced().is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        replace(&path, b"old", b"new", false).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }

    #[test]
    fn replace_keeps_the_former_content_beside_other_copies() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("guest.xml");
        let at = |end: &str| dir.path().join(format!("guest.xml.clocksmith-before{end}"));
        // An empty file after a full disk, and a link of another user.
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
    fn replace_that_fails_leaves_no_copy_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("guest.xml");
        let copy = dir.path().join("guest.xml.clocksmith-before");
        let fail = || {
            fs::write(&path, "old").unwrap();
            let edit = || fs::write(&path, "theirs").unwrap();
            replace_with(&Target::open(&path).unwrap(), b"old", b"ours", true, edit).unwrap_err();
            assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
        };
        fail();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        fs::write(&copy, "old").unwrap();
        fail();
        assert_eq!(fs::read_to_string(&copy).unwrap(), "old");
    }

    #[test]
    fn replace_file_that_another_saves_meanwhile_keeps_their_content() {
        for by_rename in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("guest.xml");
            fs::write(&path, "old").unwrap();
            let edit = || {
                if by_rename {
                    // The same content in another file: it may have another owner now.
                    fs::write(dir.path().join("new"), "old").unwrap();
                    fs::rename(dir.path().join("new"), &path).unwrap();
                } else {
                    fs::write(&path, "theirs").unwrap();
                }
            };
            let error = replace_with(&Target::open(&path).unwrap(), b"old", b"ours", false, edit)
                .unwrap_err();
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
