//! Lists of mounts: `/proc/PID/mountinfo` (proc_pid_mountinfo(5)).

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// A device number: major and minor.
pub type Device = (u32, u32);

/// One line of the list. Names may contain any byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountLine<'a> {
    /// Number of the mount; unique while it is mounted.
    pub id: u64,
    /// Device of its files, as `stat` reports it.
    pub device: Device,
    /// Directory or file of the filesystem that is visible there.
    pub root: PathBuf,
    /// Path of the mount point, in the root directory of the process.
    pub point: PathBuf,
    /// Kind of filesystem, as `ext4` or `fuse.sshfs`.
    pub kind: &'a [u8],
    /// Options of the filesystem, with commas between them.
    pub options: &'a [u8],
}

/// The lines of a list, oldest mount first. Lines that are torn are left out.
pub fn mounts(list: &[u8]) -> impl Iterator<Item = MountLine<'_>> {
    list.split(|byte| *byte == b'\n').filter_map(line)
}

fn line(line: &[u8]) -> Option<MountLine<'_>> {
    let mut fields = line.split(|byte| *byte == b' ');
    let id = number(fields.next()?)?;
    let device = device(std::str::from_utf8(fields.nth(1)?).ok()?)?;
    let (root, point) = (unescaped(fields.next()?), unescaped(fields.next()?));
    // Optional fields, and then a hyphen alone.
    fields.find(|field| *field == b"-")?;
    let kind = fields.next()?;
    // The source between them may be empty.
    let options = fields.nth(1)?;
    Some(MountLine { id, device, root, point, kind, options })
}

/// Number of the mount of an open file, from its `/proc/self/fdinfo/N`.
pub fn mount_id(fdinfo: &str) -> Option<u64> {
    fdinfo.lines().find_map(|line| line.strip_prefix("mnt_id:"))?.trim().parse().ok()
}

fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// `8:1`, in decimal figures.
fn device(text: &str) -> Option<Device> {
    let (major, minor) = text.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Blanks and backslashes are written as `\040` and `\134`.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut path = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, more)) = rest.split_first() {
        let code = (*first == b'\\').then(|| std::str::from_utf8(more.get(..3)?).ok()).flatten();
        match code.and_then(|code| u8::from_str_radix(code, 8).ok()) {
            Some(byte) => {
                path.push(byte);
                rest = more.get(3..).unwrap_or_default();
            }
            None => {
                path.push(*first);
                rest = more;
            }
        }
    }
    PathBuf::from(OsString::from_vec(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_optional_fields_and_without_are_read() {
        let list = b"21 1 8:1 / / rw,relatime shared:1 master:2 - ext4 /dev/sda1 rw\n\
            40 21 0:40 /a\\040b /tmp/x\\134y\\040-\\040z rw,nosuid - fuse.x user_id=0 rw,user_id=1000\n\
            43 21 0:43 / /x rw shared:3 - fuse  rw,user_id=1001\n\
            torn\n44 21 0:44 / /y\n45 21 0-45 / /y rw - tmpfs none rw\n";
        let all: Vec<_> = mounts(list).collect();
        assert_eq!(all.iter().map(|line| line.id).collect::<Vec<_>>(), [21, 40, 43]);
        assert_eq!(
            (all[0].device, all[0].kind, all[0].options),
            ((8, 1), &b"ext4"[..], &b"rw"[..])
        );
        assert_eq!(all[1].root, PathBuf::from("/a b"));
        assert_eq!(all[1].point, PathBuf::from("/tmp/x\\y - z"));
        assert_eq!(all[1].options, b"rw,user_id=1000");
        assert_eq!(all[2].options, b"rw,user_id=1001");
    }

    #[test]
    fn names_may_have_any_byte() {
        let list = b"7 1 0:9 / /\xff\\9 rw - tmpfs none rw";
        let point = mounts(list).next().unwrap().point;
        assert_eq!(point.into_os_string().into_vec(), b"/\xff\\9");
    }

    #[test]
    fn own_mount_is_in_the_list() {
        use std::os::fd::AsRawFd;
        let file = std::fs::File::open("/proc/self/stat").unwrap();
        let about = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", file.as_raw_fd()));
        let id = mount_id(&about.unwrap()).unwrap();
        let list = std::fs::read("/proc/self/mountinfo").unwrap();
        assert!(mounts(&list).any(|line| line.id == id && line.kind == b"proc"));
    }
}
