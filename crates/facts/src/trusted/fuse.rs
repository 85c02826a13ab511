//! Filesystems that a user's program implements (FUSE).
//!
//! The kernel names the user who mounted one in `/proc/self/mountinfo` (`user_id=`, fs/fuse/inode.c
//! `fuse_show_options`); virtiofs, which the host of a guest serves, has no such option.

use crate::mounts::{mount_id, mounts};
use rustix::fd::{AsRawFd, BorrowedFd};

/// `FUSE_SUPER_MAGIC` (linux/magic.h).
const MAGIC: u64 = 0x6573_5546;

/// The reason why the opened file is not trusted; `None` if its filesystem is the kernel's, or served by root or this
/// user.
pub(super) fn refused(fd: BorrowedFd<'_>) -> Option<String> {
    // The type of this field differs between processors.
    #[allow(clippy::unnecessary_cast)]
    let magic = rustix::fs::fstatfs(fd).ok()?.f_type as u64 & 0xffff_ffff;
    if magic != MAGIC {
        return None;
    }
    let unknown = || Some("is in a FUSE filesystem, and who mounted that is not known".to_owned());
    let Ok(about) = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", fd.as_raw_fd())) else {
        return unknown();
    };
    let (Some(mount), Ok(list)) = (mount_id(&about), std::fs::read("/proc/self/mountinfo")) else {
        return unknown();
    };
    match users(&list, mount) {
        None => unknown(),
        Some(users) => {
            let other = users.into_iter().find(|user| !super::is_ours(*user))?;
            Some(format!("is in a FUSE filesystem, which user {other} mounted"))
        }
    }
}

/// The users whom a mount names as its makers; `None` if there is no such mount. An id that is not a number
/// belongs to no user.
fn users(list: &[u8], id: u64) -> Option<Vec<u32>> {
    let options = mounts(list).find(|line| line.id == id)?.options;
    let users = options.split(|byte| *byte == b',').filter_map(|it| it.strip_prefix(b"user_id="));
    let number = |user| std::str::from_utf8(user).ok()?.parse().ok();
    Some(users.map(|user| number(user).unwrap_or(u32::MAX)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &[u8] = b"\
21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
40 21 0:40 / /tmp/a\\040-\\040b rw,nosuid - fuse.evil user_id=0 rw,user_id=1000,group_id=1000,allow_other
41 21 0:41 / /mnt rw - fuseblk /dev/sdb1 rw,user_id=0,group_id=0,allow_other
42 21 0:42 / /host rw - virtiofs share rw
43 21 0:43 / /x rw shared:3 - fuse  rw,user_id=1001,group_id=0
44 21 0:44 / /y rw - fuse s rw,user_id=?
";

    #[test]
    fn users_are_those_who_mounted() {
        assert_eq!(users(MOUNTS, 21), Some(vec![]));
        assert_eq!(users(MOUNTS, 40), Some(vec![1000]));
        assert_eq!(users(MOUNTS, 41), Some(vec![0]));
        assert_eq!(users(MOUNTS, 42), Some(vec![]));
        assert_eq!(users(MOUNTS, 43), Some(vec![1001]));
        assert_eq!(users(MOUNTS, 44), Some(vec![u32::MAX]));
        assert_eq!(users(MOUNTS, 4), None);
    }

    #[test]
    fn refused_is_nothing_of_the_kernels_own() {
        use std::os::fd::AsFd;
        let file = std::fs::File::open("/proc/self/stat").unwrap();
        assert_eq!(refused(file.as_fd()), None);
        let about = format!("/proc/self/fdinfo/{}", file.as_raw_fd());
        let id = mount_id(&std::fs::read_to_string(about).unwrap()).unwrap();
        let mounts = std::fs::read("/proc/self/mountinfo").unwrap();
        assert_eq!(users(&mounts, id), Some(vec![]));
    }
}
