//! Full, read-only, immutable and unusual filesystems. Needs root, for mounts in a separate namespace.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use clocksmith_change::journal::*;
use clocksmith_change::words::Change;
use clocksmith_change::{Action, Plan};
use common::*;
use std::ffi::CString;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// Moves this thread to a separate mount namespace; returns whether that is allowed.
fn own_mounts() -> bool {
    // SAFETY: takes a number; concerns only this thread.
    if unsafe { libc::unshare(libc::CLONE_NEWNS) } != 0 {
        eprintln!("skipped: only root may mount");
        return false;
    }
    mount("none", Path::new("/"), "", libc::MS_REC | libc::MS_PRIVATE, "")
}

fn mount(what: &str, at: &Path, kind: &str, flags: libc::c_ulong, data: &str) -> bool {
    let [what, at, kind, data] =
        [what, at.to_str().unwrap(), kind, data].map(|text| CString::new(text).unwrap());
    let data = data.as_ptr().cast();
    // SAFETY: all are strings that live until it returns.
    unsafe { libc::mount(what.as_ptr(), at.as_ptr(), kind.as_ptr(), flags, data) == 0 }
}

/// A small filesystem on a directory, with the directory's content.
fn small(root: &Path, directory: &str, options: &str) {
    let at = root.join(directory);
    let aside = root.join("aside");
    fs::rename(&at, &aside).unwrap();
    fs::create_dir(&at).unwrap();
    assert!(mount("tmpfs", &at, "tmpfs", 0, options), "{options}");
    let copied = Command::new("cp").arg("-a").arg(aside.join(".")).arg(&at).status().unwrap();
    assert!(copied.success());
    fs::remove_dir_all(aside).unwrap();
}

/// Writes until nothing fits any more.
fn fill(path: &Path) {
    let mut file = fs::File::create(path).unwrap();
    while file.write(&[1; 4096]).is_ok_and(|written| written > 0) {}
}

fn same(one: &Picture, two: &Picture, what: &str) {
    assert!(one == two, "{what}: {}", differences(one, two));
}

fn without(mut picture: Picture, path: &str) -> Picture {
    picture.remove(Path::new(path));
    picture
}

#[test]
fn a_disk_of_any_size() {
    if !own_mounts() {
        return;
    }
    let (mut made, mut full) = (0, 0);
    for directory in ["etc", "boot", "var/lib"] {
        for pages in 1..40 {
            let dir = temporary();
            let root = dir.path();
            build(root);
            if pages < 12 && directory == "etc" {
                continue;
            }
            small(root, directory, &format!("size={}k,mode=755", 4 * pages.max(14)));
            // All but some pages are used up.
            let filler = root.join(directory).join("filler");
            fill(&filler);
            let length = fs::metadata(&filler).unwrap().len();
            let keep = length.saturating_sub(4096 * (pages / 2));
            fs::File::options().write(true).open(&filler).unwrap().set_len(keep).unwrap();
            let before = picture(root);
            let what = format!("{directory}, {pages} pages");
            let mut journal = match open(root) {
                Ok(journal) => journal,
                Err(error) => {
                    assert!(error.to_string().contains("make room"), "{what}: {error}");
                    same(&before, &picture(root), &what);
                    full += 1;
                    continue;
                }
            };
            match journal.apply(&plan(), &mut Silent) {
                Ok(_) => made += 1,
                Err(error) => {
                    // A program may word the message differently.
                    let text = error.to_string().to_lowercase();
                    assert!(
                        text.contains("no space") || text.contains("disk is full"),
                        "{what}: {text}"
                    );
                    assert!(!matches!(error.end, End::Stuck(_)), "{what}: {text}");
                    drop(journal);
                    same(&before, &picture(root), &what);
                    full += 1;
                    continue;
                }
            }
            // Reverted on a full disk: done, or still in force.
            let after = picture(root);
            let more = root.join(directory).join("more");
            fill(&more);
            let result = journal.undo(Which::Last, Force::No);
            drop(journal);
            fs::remove_file(&more).unwrap();
            if let Err(error) = result {
                assert!(error.to_string().contains("make room"), "{what}: {error}");
                let journal = open(root).unwrap();
                let in_force = journal.entries().len() == 1;
                drop(journal);
                if in_force {
                    same(&after, &picture(root), &what);
                    fs::remove_file(&filler).unwrap();
                    open(root).unwrap().undo(Which::Last, Force::No).unwrap();
                }
            }
            let filler = filler.strip_prefix(root).unwrap().to_str().unwrap();
            same(&without(before, filler), &without(picture(root), filler), &what);
        }
    }
    println!("made {made} times, refused {full} times");
    assert!(made > 10 && full > 10, "{made} {full}");
}

#[test]
fn a_program_that_fills_the_disk() {
    if !own_mounts() {
        return;
    }
    let dir = temporary();
    let root = dir.path();
    build(root);
    fs::write(root.join("boot/grub/grub.cfg"), "x".repeat(20_000)).unwrap();
    small(root, "boot", "size=256k,mode=755");
    let script = "cd \"$ROOT/boot\"\n: > grub/grub.cfg\ncat /dev/zero > filler\ntrue > grub/grubenv\n\
                  cat /dev/zero >> filler\n exit 1\n";
    fs::write(root.join("usr/sbin/update-grub"), script).unwrap();
    let before = picture(root);
    let error = open(root).unwrap().apply(&plan(), &mut Silent).unwrap_err();
    assert!(matches!(error.end, End::RolledBack(_)), "{error}");
    same(&before, &without(picture(root), "boot/filler"), "full");
}

/// A change of words that a program makes effective: the files that it must not change are checked.
fn words() -> Plan {
    let mut run = update_grub();
    if let Action::Run { rewrites, .. } = &mut run.action {
        rewrites.truncate(2);
    }
    let expected = Change { add: vec!["quirk=1".to_owned()], remove: Vec::new() };
    let drop_in = "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT quirk=1\"\n";
    let steps = vec![write("/etc/default/grub.d/90-clocksmith.cfg", drop_in), run];
    Plan { steps, expected, ..Plan::default() }
}

#[test]
fn settings_changed_by_a_program_on_a_full_disk_are_kept_whole_and_restored_later() {
    if !own_mounts() {
        return;
    }
    let dir = temporary();
    let root = dir.path();
    build(root);
    let settings = "GRUB_TIMEOUT=5\n".repeat(3000);
    fs::write(root.join("etc/default/grub"), &settings).unwrap();
    small(root, "etc", "size=256k,mode=755");
    let script = "echo GRUB_DEFAULT=1 >> \"$ROOT/etc/default/grub\"\ncat /dev/zero > \"$ROOT/etc/filler\"\nexit 1\n";
    fs::write(root.join("usr/sbin/update-grub"), script).unwrap();
    let before = picture(root);
    let error = open(root).unwrap().apply(&words(), &mut Silent).unwrap_err();
    assert!(matches!(error.end, End::Stuck(_)), "{error}");
    // Not the beginning of it, and not nothing.
    let now = fs::read_to_string(root.join("etc/default/grub")).unwrap();
    assert_eq!(now, format!("{settings}GRUB_DEFAULT=1\n"));
    fs::remove_file(root.join("etc/filler")).unwrap();
    drop(open(root).unwrap());
    same(&before, &picture(root), "with room");
}

#[test]
fn a_file_under_a_mount_is_refused_before_anything_is_changed() {
    if !own_mounts() {
        return;
    }
    let dir = temporary();
    let root = dir.path();
    build(root);
    let config = root.join("boot/grub/grub.cfg");
    assert!(mount(config.to_str().unwrap(), &config, "", libc::MS_BIND, ""));
    let before = picture(root);
    let error = open(root).unwrap().apply(&words(), &mut Silent).unwrap_err();
    assert!(matches!(error.end, End::Untouched), "{error}");
    assert!(error.to_string().contains("is a mount point"), "{error}");
    same(&before, &picture(root), "mounted");
}

/// A mount by a program is removed before anything is checked and restored; the file under it would boot.
#[test]
fn program_that_mounts_over_its_file_or_a_directory_is_restored() {
    if !own_mounts() {
        return;
    }
    let work = "sed -i 's/quiet/quiet quirk=1/' grub.cfg";
    for (script, what) in [
        // The content is good where it is checked, but not on disk.
        (
            format!(
                "cp grub.cfg ../x; {work}; cp grub.cfg ../good; cat ../x > grub.cfg; rm ../x; mount --bind ../good grub.cfg; rm ../good"
            ),
            "grub/grub.cfg had another",
        ),
        (
            format!(
                "cp -a . ../good; cd ../good; {work}; cd ..; mount --bind good grub; mount --bind good grub"
            ),
            "boot/grub had another",
        ),
        (format!("{work}; mount --bind $ROOT/usr $ROOT/etc/default/grub.d"), "grub.d had another"),
        (format!("{work}; mount -t tmpfs none $ROOT/boot; exit 3"), "status 3"),
    ] {
        let dir = temporary();
        let root = dir.path();
        build(root);
        let config = "menuentry 'Debian' {\n\tlinux /boot/vmlinuz-6 root=/dev/vda quiet\n}\n";
        fs::write(root.join("boot/grub/grub.cfg"), config).unwrap();
        let script = format!("set -e; cd \"$ROOT/boot/grub\"\n{script}\n");
        fs::write(root.join("usr/sbin/update-grub"), script).unwrap();
        let before = picture(root);
        let error = open(root).unwrap().apply(&words(), &mut Silent).unwrap_err();
        assert!(matches!(error.end, End::RolledBack(_)), "{error}");
        assert!(error.to_string().contains(what), "{error}");
        let _ = fs::remove_dir_all(root.join("boot/good"));
        same(&before, &picture(root), what);
    }
}

#[test]
fn mount_beside_the_files_of_a_change_is_left_and_named() {
    if !own_mounts() {
        return;
    }
    let dir = temporary();
    let root = dir.path();
    build(root);
    fs::create_dir(root.join("boot/other")).unwrap();
    let config = "menuentry 'Debian' {\n\tlinux /boot/vmlinuz-6 root=/dev/vda quiet\n}\n";
    fs::write(root.join("boot/grub/grub.cfg"), config).unwrap();
    let script = "cd $ROOT/boot; sed -i 's/quiet/quiet quirk=1/' grub/grub.cfg; mount --bind $ROOT/usr other\n";
    fs::write(root.join("usr/sbin/update-grub"), script).unwrap();
    let error = open(root).unwrap().apply(&words(), &mut Silent).unwrap_err();
    assert!(matches!(error.end, End::RolledBack(_)), "{error}");
    let text = error.to_string();
    assert!(text.contains("boot/other had another filesystem"), "{text}");
    assert!(
        text.contains("Everything else was restored; but") && text.contains("other stays"),
        "{text}"
    );
    assert_eq!(fs::read_to_string(root.join("boot/grub/grub.cfg")).unwrap(), config);
    assert!(root.join("boot/other/sbin").exists());
}

/// A program that makes the file again when the change is reverted.
#[test]
fn program_of_a_revert_that_mounts_over_its_file_is_refused() {
    if !own_mounts() {
        return;
    }
    let dir = temporary();
    let root = dir.path();
    build(root);
    let config = root.join("boot/grub/grub.cfg");
    let text = "menuentry 'Debian' {\n\tlinux /boot/vmlinuz-6 root=/dev/vda quiet\n}\n";
    fs::write(&config, text).unwrap();
    let program = root.join("usr/sbin/update-grub");
    fs::write(&program, "sed -i 's/quiet/quiet quirk=1/' $ROOT/boot/grub/grub.cfg\n").unwrap();
    open(root).unwrap().apply(&words(), &mut Silent).unwrap();
    // A kernel was installed since.
    fs::write(&config, format!("{text}# more\n")).unwrap();
    let script = "cd $ROOT/boot/grub; cp grub.cfg good; mount --bind good grub.cfg\n";
    fs::write(&program, script).unwrap();
    let error = open(root).unwrap().undo(Which::Last, Force::No).unwrap_err();
    assert!(
        error.to_string().contains("mounted over it while it ran (it was unmounted)"),
        "{error}"
    );
    fs::remove_file(root.join("boot/grub/good")).unwrap();
    fs::write(&program, "sed -i 's/more/less/' $ROOT/boot/grub/grub.cfg\n").unwrap();
    let journal = open(root).unwrap();
    assert!(journal.entries().is_empty(), "{:?}", journal.recovered());
    assert_eq!(fs::read_to_string(&config).unwrap(), format!("{text}# less\n"));
}

/// A run was killed after such a mount: the next one restores nothing on it.
#[test]
fn mount_over_a_directory_of_a_killed_run_is_named_and_nothing_is_restored_there() {
    if !own_mounts() {
        return;
    }
    let dir = temporary();
    let root = dir.path();
    build(root);
    let before = picture(root);
    // The journal is saved away while the program runs, as a killed run leaves it.
    let journal = "$ROOT/var/lib/clocksmith/journal";
    let script =
        format!("echo evil > $ROOT/boot/grub/grub.cfg; cp -a {journal} $ROOT/saved; exit 1\n");
    fs::write(root.join("usr/sbin/update-grub"), script).unwrap();
    let before = {
        let mut before = before;
        before.extend(picture(root).into_iter().filter(|(path, _)| path.ends_with("update-grub")));
        before
    };
    open(root).unwrap().apply(&words(), &mut Silent).unwrap_err();
    fs::create_dir_all(root.join("var/lib/clocksmith")).unwrap();
    fs::rename(root.join("saved"), root.join("var/lib/clocksmith/journal")).unwrap();
    fs::write(root.join("boot/grub/grub.cfg"), "evil\n").unwrap();
    let grub = root.join("boot/grub");
    assert!(mount("tmpfs", &grub, "tmpfs", 0, ""));
    let journal = open(root).unwrap();
    let [Recovered::Stuck { error, .. }] = journal.recovered() else {
        panic!("{:?}", journal.recovered())
    };
    assert!(error.to_string().contains("boot/grub has another filesystem"), "{error}");
    assert_eq!(fs::read_dir(&grub).unwrap().count(), 0);
    drop(journal);
    assert!(Command::new("umount").arg(&grub).status().unwrap().success());
    drop(open(root).unwrap());
    same(&before, &picture(root), "unmounted");
}

#[test]
fn a_read_only_system() {
    if !own_mounts() {
        return;
    }
    for directory in ["etc", "boot", "var/lib", ""] {
        let dir = temporary();
        let root = dir.path();
        build(root);
        let at = root.join(directory);
        assert!(mount(at.to_str().unwrap(), &at, "", libc::MS_BIND, ""));
        assert!(mount("", &at, "", libc::MS_BIND | libc::MS_REMOUNT | libc::MS_RDONLY, ""));
        let before = picture(root);
        let text = match open(root) {
            Ok(mut journal) => {
                let error = journal.apply(&plan(), &mut Silent).unwrap_err();
                assert!(matches!(error.end, End::Untouched), "{error}");
                error.to_string()
            }
            Err(error) => error.to_string(),
        };
        assert!(text.contains("mounted read-only"), "{directory}: {text}");
        same(&before, &picture(root), directory);
        assert!(Journal::look(&place(root)).unwrap().is_empty());
    }
}

#[test]
fn immutable_files_and_directories() {
    // Not all filesystems keep flags.
    for (path, flag) in [
        ("etc/default/grub", "i"),
        ("boot/grub/grub.cfg", "i"),
        ("etc/systemd/system", "i"),
        ("etc/default", "a"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        build(root);
        let chattr = |change: &str| {
            let command =
                Command::new("chattr").arg(format!("{change}{flag}")).arg(root.join(path)).output();
            command.is_ok_and(|output| output.status.success())
        };
        if !chattr("+") {
            eprintln!("skipped: chattr does not work here");
            return;
        }
        let before = picture(root);
        let error = open(root).unwrap().apply(&plan(), &mut Silent).unwrap_err();
        let after = picture(root);
        assert!(chattr("-"));
        assert!(matches!(error.end, End::Untouched), "{error}");
        assert!(error.to_string().contains("immutable"), "{error}");
        same(&before, &after, path);
    }
}

#[test]
fn a_boot_partition_without_owners() {
    if !own_mounts() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    fs::create_dir(&root).unwrap();
    build(&root);
    let image = dir.path().join("image");
    fs::File::create(&image).unwrap().set_len(4 << 20).unwrap();
    let made = Command::new("mkfs.vfat").arg(&image).output();
    let aside = root.join("aside");
    fs::rename(root.join("boot"), &aside).unwrap();
    fs::create_dir(root.join("boot")).unwrap();
    let mounted = made.is_ok_and(|output| output.status.success())
        && Command::new("mount")
            .args(["-o", "loop,umask=077"])
            .arg(&image)
            .arg(root.join("boot"))
            .output()
            .unwrap()
            .status
            .success();
    if !mounted {
        eprintln!("skipped: no FAT filesystem can be made or mounted here");
        return;
    }
    let copied = Command::new("cp").arg("-r").arg(aside.join(".")).arg(root.join("boot")).status();
    assert!(copied.unwrap().success());
    fs::remove_dir_all(aside).unwrap();
    let before = picture(&root);
    let mut all = plan();
    all.steps.insert(0, write("/boot/loader/entries/own.conf", "title own\n"));
    all.steps.insert(0, write("/boot/loader/entries/old.conf", "title old\noptions quiet\n"));
    open(&root).unwrap().apply(&all, &mut Silent).unwrap();
    open(&root).unwrap().undo(Which::Last, Force::No).unwrap();
    let after = picture(&root);
    // It has no links: clearly refused, nothing changed.
    let link = Action::Link { path: "/boot/link".into(), target: "x".into() };
    let links = Plan { summary: String::new(), steps: vec![step(link)], ..Plan::default() };
    let error = open(&root).unwrap().apply(&links, &mut Silent).unwrap_err();
    let last = picture(&root);
    assert!(Command::new("umount").arg(root.join("boot")).status().unwrap().success());
    assert!(matches!(error.end, End::Untouched), "{error}");
    same(&before, &after, "FAT");
    same(&before, &last, "FAT, a link");
}

#[test]
fn the_running_system_with_its_own_programs() {
    if !own_mounts() {
        return;
    }
    // Covers the files of this machine that would be changed, for this thread and the programs that
    // it starts.
    for directory in ["/var/lib", "/srv"] {
        assert!(mount("tmpfs", Path::new(directory), "tmpfs", 0, "mode=755"));
    }
    let place = Place::at(Path::new("/"), clocksmith_change::Sysfs::at(Path::new("/srv"))).unwrap();
    let run = |command: &[&str]| {
        step(Action::Run {
            command: command.iter().map(|&word| word.to_owned()).collect(),
            rewrites: vec!["/srv/there".into()],
            undo: Some(vec![
                "sh".to_owned(),
                "-c".to_owned(),
                "echo undone >> /srv/log".to_owned(),
            ]),
            regenerate: None,
        })
    };
    fs::write("/srv/there", "old").unwrap();
    let steps = vec![write("/srv/here", "new"), run(&["cp", "/srv/here", "/srv/there"])];
    let mut all = Plan { summary: String::new(), steps, ..Plan::default() };
    let mut journal = Journal::open(&place, Wait::No).unwrap();
    journal.apply(&all, &mut Silent).unwrap();
    assert_eq!(fs::read_to_string("/srv/there").unwrap(), "new");
    let report = journal.undo(Which::Last, Force::No).unwrap().remove(0);
    assert_eq!((report.ran.len(), report.left.len()), (1, 0));
    assert_eq!(fs::read_to_string("/srv/there").unwrap(), "old");
    assert_eq!(fs::read_to_string("/srv/log").unwrap(), "undone\n");
    assert!(!Path::new("/srv/here").exists());
    // A program that is missing, or fails.
    all.steps.push(run(&["update-grub-of-nobody"]));
    let error = journal.apply(&all, &mut Silent).unwrap_err();
    assert!(matches!(error.end, End::Untouched), "{error}");
    all.steps[2] = run(&["cp", "/srv/nothing", "/srv/there"]);
    let error = journal.apply(&all, &mut Silent).unwrap_err();
    assert!(error.to_string().contains("cp: "), "{error}");
    assert_eq!(fs::read_to_string("/srv/there").unwrap(), "old");
    drop(journal);
    assert!(!Path::new("/var/lib/clocksmith").exists());
}
