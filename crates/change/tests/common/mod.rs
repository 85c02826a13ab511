//! A small system in a directory, a plan for it, and pictures of it.

#![allow(clippy::unwrap_used, clippy::panic)]
#![allow(dead_code, unreachable_pub, reason = "each test program uses its part")]

use clocksmith_change::journal::run::run_program;
use clocksmith_change::journal::{Journal, JournalError, Observer, Place, Ran, Runner, Wait};
use clocksmith_change::{Action, Plan, Step, Sysfs};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Like Debian's: one file by a temporary one and a rename, one in place, and one that did not exist.
const UPDATE_GRUB: &str = r#"set -e
cd "$ROOT/boot/grub"
cat "$ROOT/etc/default/grub" > grub.cfg.new
for file in "$ROOT"/etc/default/grub.d/*.cfg; do
    [ -e "$file" ] && cat "$file" >> grub.cfg.new
done
mv grub.cfg.new grub.cfg
echo "saved_entry=0" > grubenv
if [ -e "$ROOT/etc/default/grub.d/90-clocksmith.cfg" ]; then
    echo "options clocksource=tsc" > ../loader/entries/new.conf
    printf '%s\n' "options clocksource=tsc" >> ../loader/entries/old.conf
fi
"#;

/// Creates a directory where file access is fast, if there is such a place.
pub fn temporary() -> tempfile::TempDir {
    // It may be missing, full, or not ours to write to.
    let memory = tempfile::tempdir_in("/dev/shm").ok().filter(|found| {
        fs::write(found.path().join("try"), [0; 65536]).is_ok()
            && fs::remove_file(found.path().join("try")).is_ok()
    });
    memory.unwrap_or_else(|| tempfile::tempdir().unwrap())
}

/// Makes the system.
pub fn build(root: &Path) {
    let file = |path: &str, content: &str, mode: u32| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        age(&path);
    };
    file("etc/default/grub", "GRUB_TIMEOUT=5\nGRUB_CMDLINE_LINUX=\"quiet\"\n", 0o640);
    let _ = set_xattr(&root.join("etc/default/grub"), "user.note", b"mine");
    file("etc/fstab", "/dev/vda / ext4\n", 0o644);
    file("usr/lib/tmpfiles.d/clocks.conf", "w /sys\n", 0o444);
    fs::create_dir_all(root.join("etc/tmpfiles.d")).unwrap();
    symlink("/usr/lib/tmpfiles.d/clocks.conf", root.join("etc/tmpfiles.d/clocks.conf")).unwrap();
    fs::create_dir_all(root.join("etc/systemd/system")).unwrap();
    fs::create_dir_all(root.join("etc/kernel")).unwrap();
    file("usr/share/real/cmdline", "root=/dev/vda quiet\n", 0o600);
    symlink("../../usr/share/real/cmdline", root.join("etc/kernel/cmdline")).unwrap();
    file("boot/grub/grub.cfg", "# made by update-grub\nlinux quiet\n", 0o600);
    file("boot/grub/grubenv", "saved_entry=1\n", 0o644);
    file("boot/loader/entries/old.conf", "title old\n", 0o644);
    file("usr/sbin/update-grub", UPDATE_GRUB, 0o755);
    fs::create_dir_all(root.join("var/lib")).unwrap();
    file("sys/current_clocksource", "hpet\n", 0o644);
    file("sys/available_clocksource", "tsc hpet\n", 0o444);
}

/// Gives the file a time that no clock of today gives.
pub fn age(path: &Path) {
    let time = std::time::UNIX_EPOCH + std::time::Duration::new(1_000_000_000, 123_456_789);
    fs::File::open(path).unwrap().set_modified(time).unwrap();
}

pub fn set_xattr(path: &Path, name: &str, value: &[u8]) -> rustix::io::Result<()> {
    rustix::fs::setxattr(path, name, value, rustix::fs::XattrFlags::empty())
}

pub fn step(action: Action) -> Step {
    Step { action, why: "it is slow".to_owned(), risk: "none".to_owned() }
}

pub fn write(path: &str, content: &str) -> Step {
    step(Action::Write { path: path.into(), content: content.to_owned(), mode: 0o644 })
}

pub fn update_grub() -> Step {
    step(Action::Run {
        command: vec!["update-grub".to_owned()],
        rewrites: vec![
            "/boot/grub/grub.cfg".into(),
            "/boot/grub/grubenv".into(),
            "/boot/loader/entries".into(),
        ],
        undo: None,
        regenerate: Some(vec!["update-grub".to_owned()]),
    })
}

/// A plan with every kind of step.
pub fn plan() -> Plan {
    let steps = vec![
        write(
            "/etc/default/grub.d/90-clocksmith.cfg",
            "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX clocksource=tsc\"\n",
        ),
        write("/etc/default/grub", "GRUB_TIMEOUT=5\nGRUB_CMDLINE_LINUX=\"quiet notsc\"\n"),
        write("/etc/kernel/cmdline", "root=/dev/vda quiet clocksource=tsc\n"),
        step(Action::Remove { path: "/etc/tmpfiles.d/clocks.conf".into() }),
        write("/etc/systemd/system/clocksmith.service", "[Service]\nExecStart=/bin/true\n"),
        step(Action::Link {
            path: "/etc/systemd/system/multi-user.target.wants/clocksmith.service".into(),
            target: "/etc/systemd/system/clocksmith.service".into(),
        }),
        update_grub(),
        step(Action::Clocksource { name: "tsc".to_owned() }),
    ];
    Plan { summary: "use tsc".to_owned(), steps, ..Plan::default() }
}

pub fn place(root: &Path) -> Place {
    Place::at(root, Sysfs::at(&root.join("sys"))).unwrap()
}

/// Runs the programs of the system in the directory, with this one's shell.
pub struct Inside;

impl Runner for Inside {
    fn check(&self, place: &Place, program: &str) -> Result<(), JournalError> {
        let path = place.root().join("usr/sbin").join(program);
        path.is_file().then_some(()).ok_or_else(|| JournalError::Program {
            program: program.to_owned(),
            why: "is not installed here".to_owned(),
        })
    }

    fn is_missing(&self, place: &Place, program: &str) -> bool {
        !place.root().join("usr/sbin").join(program).exists()
    }

    fn run(
        &mut self,
        place: &Place,
        command: &[String],
        observer: &mut dyn Observer,
    ) -> Result<Ran, JournalError> {
        let script = place.root().join("usr/sbin").join(&command[0]);
        let mut words = vec!["sh".to_owned(), script.to_str().unwrap().to_owned()];
        words.extend_from_slice(&command[1..]);
        let environment = [("ROOT", place.root().as_os_str())];
        run_program(place, Path::new("/bin/sh"), &words, &environment, observer).map(Ran::Done)
    }
}

/// Opens the journal. A process that another test starts has the lock, too, until its program begins.
pub fn open(root: &Path) -> Result<Journal, JournalError> {
    let begun = std::time::Instant::now();
    loop {
        match Journal::open_with(&place(root), Wait::No, Box::new(Inside)) {
            Err(JournalError::Busy { pid, .. })
                if pid == Some(std::process::id()) && begun.elapsed().as_secs() < 5 =>
            {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            opened => return opened,
        }
    }
}

/// Copies a tree with modes, times and attributes. Does not run a program for this: that would take most
/// of the time of tests that copy a thousand times.
pub fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (from, meta) = entry.map(|entry| (entry.path(), entry.metadata().unwrap())).unwrap();
        let to = to.join(from.file_name().unwrap());
        if meta.is_dir() {
            copy_tree(&from, &to);
        } else if meta.is_symlink() {
            symlink(fs::read_link(&from).unwrap(), &to).unwrap();
            let time = rustix::fs::Timespec { tv_sec: meta.mtime(), tv_nsec: meta.mtime_nsec() };
            let times = rustix::fs::Timestamps { last_access: time, last_modification: time };
            let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
            rustix::fs::utimensat(rustix::fs::CWD, &to, &times, flags).unwrap();
        } else {
            fs::copy(&from, &to).unwrap();
            for (name, value) in xattrs(&from) {
                set_xattr(&to, std::str::from_utf8(&name).unwrap(), &value).unwrap();
            }
            fs::File::open(&to).unwrap().set_modified(meta.modified().unwrap()).unwrap();
        }
    }
    let meta = fs::metadata(from).unwrap();
    fs::set_permissions(to, meta.permissions()).unwrap();
}

/// All of a tree, without the times of directories and without the journal.
pub type Picture = BTreeMap<PathBuf, Seen>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub mode: u32,
    pub owner: (u32, u32),
    pub content: Vec<u8>,
    pub mtime: (i64, i64),
    pub xattrs: Vec<(Vec<u8>, Vec<u8>)>,
}

pub fn picture(root: &Path) -> Picture {
    let mut all = Picture::new();
    look(root, root, &mut all);
    all
}

/// Without times: files of a change have present times.
pub fn timeless(mut picture: Picture) -> Picture {
    for seen in picture.values_mut() {
        seen.mtime = (0, 0);
    }
    picture
}

fn look(root: &Path, directory: &Path, all: &mut Picture) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap().to_owned();
        if name == Path::new("var/lib/clocksmith/journal") {
            continue;
        }
        let meta = fs::symlink_metadata(&path).unwrap();
        let mut content = Vec::new();
        let mut mtime = (meta.mtime(), meta.mtime_nsec());
        if meta.is_dir() {
            mtime = (0, 0);
            look(root, &path, all);
        } else if meta.is_symlink() {
            content = fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec();
        } else if name.starts_with("sys") {
            mtime = (0, 0);
            content = fs::read(&path).unwrap().trim_ascii_end().to_vec();
        } else {
            content = fs::read(&path).unwrap();
        }
        let owner = (meta.uid(), meta.gid());
        all.insert(name, Seen { mode: meta.mode(), owner, content, mtime, xattrs: xattrs(&path) });
    }
}

fn xattrs(path: &Path) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut list = [0; 4096];
    let length = rustix::fs::llistxattr(path, &mut list[..]).unwrap_or(0);
    let mut found = Vec::new();
    for name in list[..length].split(|&byte| byte == 0).filter(|name| !name.is_empty()) {
        let mut value = [0; 4096];
        let length = rustix::fs::lgetxattr(path, name, &mut value[..]).unwrap();
        found.push((name.to_vec(), value[..length].to_vec()));
    }
    found.sort();
    found
}

/// The differences, in words.
pub fn differences(one: &Picture, two: &Picture) -> String {
    let mut text = String::new();
    let names: std::collections::BTreeSet<_> = one.keys().chain(two.keys()).collect();
    for name in names {
        if one.get(name) != two.get(name) {
            let show = |seen: Option<&Seen>| {
                seen.map_or("nothing".to_owned(), |seen| {
                    let content = String::from_utf8_lossy(&seen.content);
                    format!("{:o} {:?} {:?} {content:?}", seen.mode, seen.owner, seen.mtime)
                })
            };
            let (one, two) = (show(one.get(name)), show(two.get(name)));
            text += &format!("{}:\n  {one}\n  {two}\n", name.display());
        }
    }
    text
}
