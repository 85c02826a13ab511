//! The files that a request to a Java virtual machine needs, and their removal: at the end of the request, by a signal
//! that ends this program at once, and by a later run, if this one was killed.

use super::guard::{NotOpened, Temporary, text};
use super::patient;
use rustix::fs::FileType;
use std::ffi::CString;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

/// How long a signal that ends the program waits for the JVM, in steps of a hundredth of a second: HotSpot takes a
/// request within a few milliseconds, and would mistake its signal for an ordinary one if the file were gone by then.
const STEPS: u32 = 50;
/// How the content of the file of a request begins; HotSpot does not read it.
const MARK: &str = "clocksmith ";
/// The mode of a map that this program made. No program sets the sticky bit of a file, so a later run recognises it by
/// that.
const OURS: u32 = 0o1600;
/// A younger map may be one that another run has requested just now.
const YOUNG: Duration = Duration::from_secs(10);
/// Bytes of the content of a request that are read.
const LONGEST: u64 = 256;

/// A file that was made and must be removed, for the handler of a signal.
struct Made {
    /// The directory, held open; -1 if there is no such file.
    directory: AtomicI32,
    /// The id of the JVM in its own namespace, which is in the name.
    inner: AtomicU32,
    /// Whether the virtual machine has been signalled.
    told: AtomicBool,
}

impl Made {
    const fn nothing() -> Self {
        Self {
            directory: AtomicI32::new(-1),
            inner: AtomicU32::new(0),
            told: AtomicBool::new(false),
        }
    }

    fn is(&self, tmp: &Temporary, inner: u32) {
        self.inner.store(inner, Ordering::SeqCst);
        self.told.store(false, Ordering::SeqCst);
        self.directory.store(tmp.as_raw_fd(), Ordering::SeqCst);
    }

    fn is_gone(&self) {
        self.directory.store(-1, Ordering::SeqCst);
    }
}

// One request at a time: one thread makes them.
static REQUEST: Made = Made::nothing();
static MAP: Made = Made::nothing();

/// The name of a file about a process.
fn name(before: &str, inner: u32, after: &str) -> CString {
    CString::new(format!("{before}{inner}{after}")).unwrap_or_default()
}

fn request_name(inner: u32) -> CString {
    name(".attach_pid", inner, "")
}

fn map_name(inner: u32) -> CString {
    name("perf-", inner, ".map")
}

/// The name of a file for a message.
fn shown(name: &CString) -> String {
    name.to_string_lossy().into_owned()
}

/// The file that marks the signal as a request to attach; it is removed when this value is dropped.
pub(super) struct Request<'a> {
    tmp: &'a Temporary,
    name: CString,
    keep: bool,
}

impl<'a> Request<'a> {
    /// Creates the file.
    ///
    /// # Errors
    /// Returns an error if the file already exists or cannot be made.
    pub(super) fn make(tmp: &'a Temporary, pid: u32, inner: u32) -> Result<Self, String> {
        let name = request_name(inner);
        let cannot = |why: String| format!("cannot create /tmp/{}{why}", shown(&name));
        let mut file = tmp.make(&name, 0o600).map_err(|error| match error {
            NotOpened::Absent => cannot(String::new()),
            NotOpened::Refused(why) => cannot(format!(": {why}")),
        })?;
        REQUEST.is(tmp, inner);
        let request = Self { tmp, name, keep: false };
        let of = identity(pid).ok_or("it has ended")?;
        file.write_all(format!("{MARK}{of}\n").as_bytes())
            .map_err(|error| format!("cannot write /tmp/{}: {error}", shown(&request.name)))?;
        Ok(request)
    }

    /// Records that the JVM may look for the file from now on.
    pub(super) fn is_told(&self) {
        REQUEST.told.store(true, Ordering::SeqCst);
    }

    /// No signal was sent after all.
    pub(super) fn is_not_told(&self) {
        REQUEST.told.store(false, Ordering::SeqCst);
    }

    /// Leaves the file.
    pub(super) fn keep(mut self) {
        self.keep = true;
    }
}

impl Drop for Request<'_> {
    fn drop(&mut self) {
        REQUEST.is_gone();
        if !self.keep {
            self.tmp.remove(&self.name);
        }
    }
}

/// The file to which a JVM writes its map; it is removed with this value.
pub(super) struct Map<'a> {
    tmp: &'a Temporary,
    name: CString,
}

impl<'a> Map<'a> {
    /// Creates the file, for the user of the JVM.
    ///
    /// # Errors
    /// Returns an error if the file already exists, or cannot be made or given to that user.
    pub(super) fn make(tmp: &'a Temporary, inner: u32) -> Result<Self, NotOpened> {
        let name = map_name(inner);
        tmp.make_theirs(&name, OURS)?;
        MAP.is(tmp, inner);
        Ok(Self { tmp, name })
    }

    /// Records that the JVM may write the file from now on.
    pub(super) fn is_told(&self) {
        MAP.told.store(true, Ordering::SeqCst);
    }
}

impl Drop for Map<'_> {
    fn drop(&mut self) {
        MAP.is_gone();
        self.tmp.remove(&self.name);
    }
}

/// Removes the files that a request has made so far; for the handler of a signal that ends the program. It waits for
/// the JVM, for half a second at most: a map is removed when the JVM has begun to write it, and the file of a request
/// when the JVM listens. Otherwise that file stays, so that the signal is not mistaken for a request to
/// dump threads.
pub fn remove() {
    // Only calls that signal-safety(7) allows: no memory is allocated.
    let waits = |made: &Made, until: &dyn Fn() -> bool| {
        for _ in 0..STEPS {
            if !made.told.load(Ordering::SeqCst) || until() {
                return true;
            }
            let pause = libc::timespec { tv_sec: 0, tv_nsec: 10_000_000 };
            // SAFETY: reads a live structure.
            unsafe { libc::nanosleep(&raw const pause, std::ptr::null_mut()) };
        }
        until()
    };
    let mut text = [0; 40];
    let map = MAP.directory.swap(-1, Ordering::SeqCst);
    if map >= 0 {
        let name = spelled(&mut text, b"perf-", MAP.inner.load(Ordering::SeqCst), b".map");
        waits(&MAP, &|| length(map, name).is_none_or(|length| length > 0));
        // SAFETY: a name that ends with a zero, in an open directory.
        unsafe { libc::unlinkat(map, name, 0) };
    }
    let request = REQUEST.directory.swap(-1, Ordering::SeqCst);
    if request >= 0 {
        let inner = REQUEST.inner.load(Ordering::SeqCst);
        let mut socket = [0; 40];
        let socket = spelled(&mut socket, b".java_pid", inner, b"");
        if waits(&REQUEST, &|| length(request, socket).is_some()) {
            let name = spelled(&mut text, b".attach_pid", inner, b"");
            // SAFETY: as above.
            unsafe { libc::unlinkat(request, name, 0) };
        }
    }
}

/// Writes a name; the array is longer than any, and the rest of it is zero.
fn spelled(to: &mut [u8; 40], before: &[u8], mut number: u32, after: &[u8]) -> *const libc::c_char {
    let mut digits = [0; 10];
    let mut many = 0;
    for digit in digits.iter_mut() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
        many += 1;
        if number == 0 {
            break;
        }
    }
    *to = [0; 40];
    let all = before.iter().chain(digits.iter().take(many).rev()).chain(after);
    to.iter_mut().take(39).zip(all).for_each(|(to, from)| *to = *from);
    to.as_ptr().cast()
}

/// The length of the file of a name; `None` if there is none.
fn length(directory: i32, name: *const libc::c_char) -> Option<i64> {
    // SAFETY: all bits zero are a value of this structure of integers.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: a name that ends with a zero, and a live structure.
    let found = unsafe { libc::fstatat(directory, name, &raw mut stat, libc::AT_SYMLINK_NOFOLLOW) };
    (found == 0).then_some(stat.st_size)
}

/// Which process this is: another process may have its id later.
fn identity(pid: u32) -> Option<String> {
    let boot = text("/proc/sys/kernel/random/boot_id", 64)?;
    let stat = patient::text(pid, "stat", 1 << 12)?;
    // The name is in brackets, and may have any letters.
    let started = stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?.to_owned();
    Some(format!("{} {pid} {started}", boot.trim()))
}

/// Removes the files that a killed run of this user has left for the process id: a map; and the
/// file of a request, if the JVM already `listens`, or if the request was for an earlier process of
/// this id. Another program's files stay, and so does the file of a request to which this JVM did
/// not reply.
pub(super) fn remove_former(tmp: &Temporary, pid: u32, inner: u32, listens: bool) {
    let ours = rustix::process::geteuid().as_raw();
    let plain = |stat: &rustix::fs::Stat, user: u32| {
        FileType::from_raw_mode(stat.st_mode).is_file() && stat.st_nlink == 1 && stat.st_uid == user
    };
    let request = request_name(inner);
    if tmp.look(&request).is_some_and(|stat| plain(&stat, ours)) {
        let of = made_for(tmp, &request);
        if of.is_some_and(|of| listens || identity(pid).is_some_and(|now| now != of)) {
            tmp.remove(&request);
        }
    }
    let map = map_name(inner);
    if tmp
        .look(&map)
        .is_some_and(|stat| is_our_map(&stat) && plain(&stat, tmp.owners().user) && is_old(&stat))
    {
        tmp.remove(&map);
    }
}

/// The process that a request of this program was for.
fn made_for(tmp: &Temporary, name: &CString) -> Option<String> {
    let file = tmp.open(name.to_str().ok()?).ok()?;
    let mut content = String::new();
    file.take(LONGEST).read_to_string(&mut content).ok()?;
    Some(content.strip_prefix(MARK)?.trim_end().to_owned())
}

/// Whether a map is one that a run of this program requests, or has requested.
pub(super) fn is_our_map(stat: &rustix::fs::Stat) -> bool {
    stat.st_mode & 0o7777 == OURS
}

fn is_old(stat: &rustix::fs::Stat) -> bool {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(stat.st_mtime).is_ok_and(|then| then + YOUNG.as_secs() < now.as_secs())
}

#[cfg(test)]
mod tests {
    use super::super::guard::Owners;
    use super::*;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    /// The tests run one at a time: the files that a handler removes are shared by the whole process.
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

    fn place() -> (tempfile::TempDir, Temporary) {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("tmp")).unwrap();
        let here = fs::metadata(dir.path()).unwrap();
        let owners = Owners { user: here.uid(), group: here.gid(), root: 0 };
        let tmp = Temporary::below(fs::File::open(dir.path()).unwrap(), owners).unwrap();
        (dir, tmp)
    }

    fn there(dir: &tempfile::TempDir) -> Vec<String> {
        let names = fs::read_dir(dir.path().join("tmp")).unwrap();
        let mut names: Vec<String> =
            names.map(|name| name.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn remove_by_a_signal_leaves_nothing_but_a_request_that_was_not_answered() {
        let _alone = ALONE.lock().unwrap();
        let me = std::process::id();
        let (dir, tmp) = place();
        let at = |name: &str| dir.path().join("tmp").join(name);
        // Before the virtual machine is signalled, while it writes, and when it listens.
        let request = Request::make(&tmp, me, 4_294_967_295).unwrap();
        let map = Map::make(&tmp, 17).unwrap();
        assert_eq!(there(&dir), [".attach_pid4294967295", "perf-17.map"]);
        remove();
        assert_eq!(there(&dir), [""; 0]);
        drop((request, map));
        let map = Map::make(&tmp, 17).unwrap();
        map.is_told();
        fs::write(at("perf-17.map"), "1 1 x\n").unwrap();
        remove();
        assert_eq!(there(&dir), [""; 0]);
        drop(map);
        let request = Request::make(&tmp, me, 17).unwrap();
        request.is_told();
        fs::write(at(".java_pid17"), "").unwrap();
        remove();
        assert_eq!(there(&dir), [".java_pid17"]);
        drop(request);
        fs::remove_file(at(".java_pid17")).unwrap();
        // A machine that has not replied yet would mistake the signal for a request to dump its threads.
        let request = Request::make(&tmp, me, 17).unwrap();
        request.is_told();
        remove();
        assert_eq!(there(&dir), [".attach_pid17"]);
        request.keep();
        // With nothing made, nothing is removed.
        remove();
        assert_eq!(there(&dir), [".attach_pid17"]);
    }

    #[test]
    fn remove_former_takes_what_a_killed_run_left_and_nothing_else() {
        let _alone = ALONE.lock().unwrap();
        let me = std::process::id();
        let (dir, tmp) = place();
        let at = |name: &str| dir.path().join("tmp").join(name);
        let left = |of: u32| Request::make(&tmp, of, 17).unwrap().keep();
        left(me);
        // The machine was requested, and did not reply.
        remove_former(&tmp, me, 17, false);
        assert_eq!(there(&dir), [".attach_pid17"]);
        remove_former(&tmp, me, 17, true);
        assert_eq!(there(&dir), [""; 0]);
        // Another process had the number.
        left(1);
        remove_former(&tmp, me, 17, false);
        assert_eq!(there(&dir), [""; 0]);
        // Other programs' files.
        fs::write(at(".attach_pid17"), "").unwrap();
        fs::write(at("perf-17.map"), "1 1 x\n").unwrap();
        remove_former(&tmp, me, 17, true);
        assert_eq!(there(&dir), [".attach_pid17", "perf-17.map"]);
        fs::remove_file(at("perf-17.map")).unwrap();
        fs::remove_file(at(".attach_pid17")).unwrap();
        // A map of ours, when no run can still be waiting for it.
        std::mem::forget(Map::make(&tmp, 17).unwrap());
        let file = fs::File::options().append(true).open(at("perf-17.map")).unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o7777, OURS);
        remove_former(&tmp, me, 17, true);
        assert_eq!(there(&dir), ["perf-17.map"]);
        file.set_modified(SystemTime::now() - 2 * YOUNG).unwrap();
        remove_former(&tmp, me, 17, true);
        assert_eq!(there(&dir), [""; 0]);
        MAP.is_gone();
    }

    #[test]
    fn spelled_names_are_those_of_the_files() {
        let mut text = [0; 40];
        for number in [0, 7, 10, 4_194_304, u32::MAX] {
            let at = spelled(&mut text, b"perf-", number, b".map");
            // SAFETY: it ends with a zero.
            let name = unsafe { std::ffi::CStr::from_ptr(at) };
            assert_eq!(name, map_name(number).as_c_str());
        }
    }
}
