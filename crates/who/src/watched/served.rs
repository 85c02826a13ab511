//! Files on filesystems that a program or another machine serves.
//!
//! The server of such a filesystem may not answer, and then a read, a `stat` or a page fault waits in the kernel, even
//! beyond SIGKILL. So this module makes no request to it: the kernel's list of mounts shows which devices belong to
//! such filesystems. Files that a process has mapped from it (AppImages are FUSE filesystems of their users) are copied
//! by a child, with a wait of at most [`PATIENCE`]; and the process's memory is not read where such a file is mapped.

use super::guard::{self, NotOpened};
use super::patient;
use clocksmith_facts::mounts::{Device, MountLine, mount_id, mounts};
use rustix::fs::{Mode, OFlags, fchmod, memfd_create};
use rustix::io::Errno;
use std::collections::{HashMap, HashSet};
use std::ffi::CString;
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long one filesystem may take for one file.
const PATIENCE: Duration = Duration::from_secs(1);
/// Bytes of all copies together at most.
const COPIES: u64 = 128 << 20;
/// Bytes of a list of mounts at most.
const MOUNTS: u64 = 8 << 20;
/// Kinds of filesystems that another program or machine serves; and all whose kind begins with `fuse`.
const SERVED: [&str; 11] =
    ["nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "afs", "coda", "gfs2", "ocfs2", "virtiofs"];

/// Kinds of filesystems that lie over others, which may be served ones. In its own user namespace any user can mount
/// the first (Linux 5.11, `ovl_fs_type`: `FS_USERNS_MOUNT`); elsewhere only root can.
const OVER: [&str; 4] = ["overlay", "aufs", "ecryptfs", "shiftfs"];

/// Parses a list of mounts (proc_pid_mountinfo(5)): the devices, and whether each is such a filesystem's. `foreign`:
/// the list is of a process in another user namespace.
pub(super) fn devices(list: &str, foreign: bool) -> HashMap<Device, bool> {
    mounts(list.as_bytes()).map(|line| (line.device, is_served(&line, foreign))).collect()
}

/// Whether a process is in a user namespace other than this one, or may be. Its user may have
/// mounted filesystems there over others.
fn is_foreign(pid: u32) -> bool {
    let its = patient::link(pid, "ns/user");
    its.is_none() || its != std::fs::read_link("/proc/self/ns/user").ok()
}

fn is_served(line: &MountLine<'_>, foreign: bool) -> bool {
    let is_one_of = |kinds: &[&str]| kinds.iter().any(|kind| kind.as_bytes() == line.kind);
    line.kind.starts_with(b"fuse") || is_one_of(&SERVED) || foreign && is_one_of(&OVER)
}

/// The filesystems of one process's mappings.
#[derive(Debug, Default)]
pub(super) struct Mounts(HashMap<Device, bool>);

impl Mounts {
    /// The mounts that a process sees, and those that this program sees.
    pub(super) fn of(pid: u32) -> Self {
        let list =
            |path: &str, foreign| devices(&guard::text(path, MOUNTS).unwrap_or_default(), foreign);
        let mut all = list("/proc/self/mountinfo", false);
        all.extend(list(&format!("/proc/{pid}/mountinfo"), is_foreign(pid)));
        Self(all)
    }

    /// Whether a mapping's device may be such a filesystem's. One without a disk may be that, if no list has it.
    pub(super) fn is_served(&self, device: Device) -> bool {
        self.0.get(&device).copied().unwrap_or(device.0 == 0)
    }

    /// Whether no list has a device: its filesystem was unmounted, is hidden by another mount, or is the kernel's own.
    pub(super) fn is_unknown(&self, device: Device) -> bool {
        device.0 == 0 && !self.0.contains_key(&device)
    }

    /// Adds a result.
    pub(super) fn learn(&mut self, device: Device, served: bool) {
        self.0.insert(device, served);
    }
}

/// Whether a held place is on such a filesystem; makes a request only to the kernel.
pub(super) fn is_place_served(place: &OwnedFd, pid: u32) -> bool {
    let about = guard::text(&format!("/proc/self/fdinfo/{}", place.as_raw_fd()), 4096);
    let Some(id) = about.as_deref().and_then(mount_id) else { return false };
    let list = |path: &str| guard::text(path, MOUNTS).unwrap_or_default();
    let its = (list(&format!("/proc/{pid}/mountinfo")), is_foreign(pid));
    let lists = [its, (list("/proc/self/mountinfo"), false)];
    // A mount that no list has may have been unmounted below the process.
    let mut found = lists.iter().filter_map(|(list, foreign)| {
        let line = mounts(list.as_bytes()).find(|line| line.id == id)?;
        Some(is_served(&line, *foreign))
    });
    found.next().unwrap_or_else(|| is_foreign(pid))
}

/// Copies of such files.
#[derive(Debug)]
pub(super) struct Served {
    left: u64,
    /// Filesystems that did not answer in time.
    silent: HashSet<Device>,
    /// Results for filesystems that no list of mounts has.
    asked: HashMap<Device, bool>,
}

impl Default for Served {
    fn default() -> Self {
        Self { left: COPIES, silent: HashSet::new(), asked: HashMap::new() }
    }
}

impl Served {
    /// Returns whether a program or another machine serves a filesystem that is not in any list of mounts. A child
    /// process queries the kind of the filesystem, once. `paths` lead to files of the filesystem; the first path that
    /// exists counts.
    pub(super) fn ask(&mut self, paths: &[&Path], on: Device) -> bool {
        if let Some(known) = self.asked.get(&on) {
            return *known;
        }
        let paths: Vec<CString> = paths
            .iter()
            .filter_map(|path| CString::new(path.as_os_str().as_bytes()).ok())
            .collect();
        let local = within(PATIENCE, || i32::from(!paths.iter().any(is_local)));
        let served = !matches!(local, Ok(Some(0)));
        self.asked.insert(on, served);
        served
    }

    /// A copy in memory of the file behind a path.
    ///
    /// # Errors
    /// Returns an error if the filesystem did not answer in time once, or if the file is too large, is not a regular
    /// file, or may not be read.
    pub(super) fn copy(&mut self, path: &Path, on: Device) -> Result<File, NotOpened> {
        if self.silent.contains(&on) {
            return Err(silent());
        }
        let copy = memfd_create("clocksmith", rustix::fs::MemfdFlags::CLOEXEC)?;
        fchmod(&copy, Mode::from_raw_mode(0o600))?;
        let path = CString::new(path.as_os_str().as_bytes()).map_err(|_| Errno::INVAL)?;
        let copied = within(PATIENCE, || copy_all(&path, copy.as_raw_fd(), self.left))?;
        match copied {
            Some(0) => {}
            Some(code) => return Err(Errno::from_raw_os_error(code).into()),
            None => {
                self.silent.insert(on);
                return Err(silent());
            }
        }
        let copy = File::from(copy);
        self.left = self.left.saturating_sub(copy.metadata().map_or(0, |meta| meta.len()));
        Ok(copy)
    }
}

fn silent() -> NotOpened {
    NotOpened::Refused(
        "its filesystem, which a program or another machine serves, does not answer".to_owned(),
    )
}

/// Runs `work` in a child, and returns its exit status; `None` if it is not done in time. The child is then left
/// behind: it ends when the kernel lets it.
fn within(patience: Duration, work: impl FnOnce() -> i32) -> Result<Option<i32>, Errno> {
    // SAFETY: `work` makes only system calls between fork and exit, by its only caller, and the child ends by _exit.
    let child = unsafe { libc::fork() };
    match child {
        -1 => return Err(Errno::NOMEM),
        // SAFETY: ends the child, without running anything of its parent's.
        0 => unsafe { libc::_exit(work()) },
        _ => {}
    }
    let begun = Instant::now();
    let mut pause = Duration::from_micros(100);
    loop {
        let mut status = 0;
        // SAFETY: writes one int; it is a child of this process, and waited for only here.
        let waited = unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) };
        if waited == child {
            return Ok(Some(if libc::WIFEXITED(status) {
                libc::WEXITSTATUS(status)
            } else {
                libc::EIO
            }));
        }
        if waited < 0 {
            return Ok(Some(libc::EIO));
        }
        if begun.elapsed() >= patience {
            // SAFETY: the child was not waited for, so its number is its own.
            unsafe { libc::kill(child, libc::SIGKILL) };
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

/// In the child: only a system call.
fn is_local(path: &CString) -> bool {
    // Magic numbers of linux/magic.h: FUSE, NFS, CIFS, SMB2, 9P, Ceph; and filesystems that may lie over such: overlay,
    // eCryptfs.
    const SERVED: [u64; 8] = [
        0x6573_5546,
        0x6969,
        0xff53_4d42,
        0xfe53_4d42,
        0x0102_1997,
        0x00c3_6400,
        0x794c_7630,
        0xf15f,
    ];
    // SAFETY: all bits zero are a value of this structure of integers.
    let mut about: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the path and the structure live through the call.
    let done = unsafe { libc::statfs(path.as_ptr(), &raw mut about) };
    // The type of this field differs between processors.
    #[allow(clippy::unnecessary_cast)]
    let kind = about.f_type as u64 & 0xffff_ffff;
    done == 0 && !SERVED.contains(&kind)
}

/// In the child: only system calls. Returns 0 or the number of an error.
fn copy_all(path: &CString, to: i32, most: u64) -> i32 {
    let error = || {
        Errno::from_io_error(&std::io::Error::last_os_error())
            .map_or(libc::EIO, Errno::raw_os_error)
    };
    let mut step = [0u8; 1 << 14];
    let flags = (OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC).bits();
    // SAFETY: all bits zero are a value of this structure of integers.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    let mut copied = 0u64;
    // SAFETY: system calls on a path and buffers that live through them; the sizes are those of the buffers.
    unsafe {
        // A device is not opened.
        if libc::stat(path.as_ptr(), &raw mut stat) != 0 {
            return error();
        }
        if stat.st_mode & libc::S_IFMT != libc::S_IFREG {
            return libc::EINVAL;
        }
        #[allow(clippy::cast_possible_wrap)]
        let from = libc::open(path.as_ptr(), flags as libc::c_int);
        if from < 0 {
            return error();
        }
        loop {
            let read = libc::read(from, step.as_mut_ptr().cast(), step.len());
            let Ok(read) = usize::try_from(read) else { return error() };
            if read == 0 {
                return 0;
            }
            copied += read as u64;
            if copied > most {
                return libc::EFBIG;
            }
            if usize::try_from(libc::write(to, step.as_ptr().cast(), read)) != Ok(read) {
                return error();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
40 21 0:40 / /tmp/a rw,nosuid - fuse.sshfs x rw,user_id=0
41 21 8:17 / /mnt rw - fuseblk /dev/sdb1 rw,user_id=0
42 21 0:42 / /n rw shared:3 - nfs4 host:/x rw
43 21 0:43 / /b rw - btrfs /dev/sdc rw
44 21 0:44 / /o rw - overlay overlay rw,lowerdir=/tmp/a
torn
";

    #[test]
    fn devices_of_served_filesystems_are_known_by_the_list_of_mounts() {
        let mounts = Mounts(devices(MOUNTS, false));
        assert!(!mounts.is_served((0, 44)));
        // Any user can have mounted overlay over a filesystem that does not answer.
        assert!(Mounts(devices(MOUNTS, true)).is_served((0, 44)));
        assert!(!Mounts(devices(MOUNTS, true)).is_served((0, 43)));
        assert!(!is_foreign(std::process::id()) && is_foreign(0));
        for (device, served) in
            [((8, 1), false), ((0, 40), true), ((8, 17), true), ((0, 42), true), ((0, 43), false)]
        {
            assert_eq!(mounts.is_served(device), served, "{device:?}");
        }
        // Unmounted, or not in any list; one with a disk is local.
        assert!(mounts.is_served((0, 99)) && !mounts.is_served((8, 99)));
        assert!(!is_place_served(
            &std::fs::File::open("/proc").unwrap().into(),
            std::process::id()
        ));
    }

    #[test]
    fn copy_is_the_file_and_has_an_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        std::fs::write(&path, vec![7; 100_000]).unwrap();
        let mut served = Served::default();
        let copy = served.copy(&path, (0, 1)).unwrap();
        let mut read = Vec::new();
        std::os::unix::fs::FileExt::read_exact_at(&copy, &mut [0; 1], 99_999).unwrap();
        std::io::Read::read_to_end(&mut &copy, &mut read).unwrap();
        assert_eq!(copy.metadata().unwrap().len(), 100_000);
        assert_eq!(served.left, COPIES - 100_000);
        served.left = 99_999;
        assert!(matches!(served.copy(&path, (0, 1)), Err(NotOpened::Refused(_))));
        assert_eq!(served.copy(&dir.path().join("none"), (0, 1)).unwrap_err(), NotOpened::Absent);
        assert!(served.copy(Path::new("/dev/zero"), (0, 1)).is_err());
        assert!(served.silent.is_empty());
        assert!(!served.ask(&[Path::new("/nonexistent/x"), &path], (0, 2)));
        assert!(served.ask(&[Path::new("/nonexistent/x")], (0, 3)));
        assert!(!served.asked[&(0, 2)]);
    }

    #[test]
    fn within_leaves_a_child_that_does_not_end() {
        let begun = Instant::now();
        let slept = within(Duration::from_millis(50), || {
            // SAFETY: waits for a signal.
            unsafe { libc::pause() };
            0
        });
        assert_eq!(slept.unwrap(), None);
        assert!(begun.elapsed() < Duration::from_secs(30));
        assert_eq!(within(Duration::from_secs(30), || 7).unwrap(), Some(7));
    }
}
