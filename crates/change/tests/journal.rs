//! Changes of a small system, made and reverted.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use clocksmith_change::journal::*;
use clocksmith_change::{Action, Plan};
use common::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

fn system() -> (tempfile::TempDir, Picture) {
    let dir = temporary();
    build(dir.path());
    let before = picture(dir.path());
    (dir, before)
}

fn same(one: &Picture, two: &Picture) {
    assert!(one == two, "{}", differences(one, two));
}

#[test]
fn apply_and_undo_restore_every_byte() {
    let (dir, before) = system();
    let mut journal = open(dir.path()).unwrap();
    assert!(journal.recovered().is_empty());
    let applied = journal.apply(&plan(), &mut Silent).unwrap();
    assert!(applied.left.is_empty());
    let root = dir.path();
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap();
    assert!(read("boot/grub/grub.cfg").contains("clocksource=tsc"));
    assert_eq!(read("sys/current_clocksource"), "tsc");
    assert!(root.join("etc/kernel/cmdline").is_symlink());
    assert!(read("usr/share/real/cmdline").contains("clocksource=tsc"));
    assert!(!root.join("etc/tmpfiles.d/clocks.conf").is_symlink());
    let after = picture(root);
    let (old, new) =
        (&before[Path::new("etc/default/grub")], &after[Path::new("etc/default/grub")]);
    assert_eq!((old.mode, old.owner, &old.xattrs), (new.mode, new.owner, &new.xattrs));
    drop(journal);
    // Found by the next run, and in force.
    let mut journal = open(root).unwrap();
    assert!(journal.recovered().is_empty());
    assert!(journal.entries()[0].holds(&place(root)).all());
    let report = journal.undo(Which::Last, Force::No).unwrap().remove(0);
    assert_eq!(report.clocksource.as_deref(), Some("hpet"));
    assert!(report.troubles.is_empty() && report.kept.is_empty(), "{report:?}");
    drop(journal);
    same(&before, &picture(root));
    assert!(!root.join("var/lib/clocksmith").exists());
}

#[test]
fn apply_failed_program_leaves_nothing() {
    let (dir, before) = system();
    let root = dir.path();
    fs::write(
        root.join("usr/sbin/update-grub"),
        "echo half > \"$ROOT/boot/grub/grub.cfg\"\n\
        touch \"$ROOT/boot/grub/grub.cfg.new\"\necho broken disk >&2\nexit 3\n",
    )
    .unwrap();
    let before = {
        let mut all = before;
        all.insert(
            "usr/sbin/update-grub".into(),
            picture(root)[Path::new("usr/sbin/update-grub")].clone(),
        );
        all
    };
    let mut journal = open(root).unwrap();
    let error = journal.apply(&plan(), &mut Silent).unwrap_err();
    assert_eq!(error.step, Some(6));
    let text = error.to_string();
    assert!(
        text.contains("status 3:\nbroken disk") && text.contains("Everything was restored"),
        "{text}"
    );
    drop(journal);
    same(&before, &picture(root));
    assert!(!root.join("var/lib/clocksmith").exists());
}

#[test]
fn a_missing_program_is_found_before_anything_is_changed() {
    let (dir, _) = system();
    let root = dir.path();
    fs::remove_file(root.join("usr/sbin/update-grub")).unwrap();
    let before = picture(root);
    let error = open(root).unwrap().apply(&plan(), &mut Silent).unwrap_err();
    assert!(matches!(error.end, End::Untouched), "{error}");
    assert!(error.to_string().contains("step 7: update-grub: is not installed"), "{error}");
    same(&before, &picture(root));
}

#[test]
fn apply_refused_clocksource_restores_everything() {
    let (dir, before) = system();
    let root = dir.path();
    struct Gone<'a>(&'a Path);
    impl Observer for Gone<'_> {
        fn step(&mut self, _: usize, step: &clocksmith_change::Step) {
            if matches!(step.action, Action::Clocksource { .. }) {
                // Accepts every write without an effect.
                fs::remove_file(self.0).unwrap();
                symlink("/dev/null", self.0).unwrap();
            }
        }
    }
    let file = root.join("sys/current_clocksource");
    let error = open(root).unwrap().apply(&plan(), &mut Gone(&file)).unwrap_err();
    assert!(error.to_string().contains("the kernel did not accept tsc"), "{error}");
    let mut now = picture(root);
    now.insert(
        "sys/current_clocksource".into(),
        before[Path::new("sys/current_clocksource")].clone(),
    );
    same(&before, &now);
}

#[test]
fn apply_stopped_restores_old_state() {
    struct Stop(usize);
    impl Observer for Stop {
        fn step(&mut self, index: usize, _: &clocksmith_change::Step) {
            self.0 -= usize::from(index > 0);
        }
        fn stop(&self) -> bool {
            self.0 == 0
        }
    }
    for steps in 1..8 {
        let (dir, before) = system();
        let result = open(dir.path()).unwrap().apply(&plan(), &mut Stop(steps));
        assert!(matches!(result.unwrap_err().cause, JournalError::Stopped));
        same(&before, &picture(dir.path()));
    }
}

#[test]
fn undo_with_conflict_does_not_overwrite() {
    let (dir, before) = system();
    let root = dir.path();
    let mut journal = open(root).unwrap();
    journal.apply(&plan(), &mut Silent).unwrap();
    let path = root.join("etc/default/grub");
    fs::write(&path, "GRUB_TIMEOUT=0\n").unwrap();
    let changed = picture(root);
    let JournalError::Conflicts { conflicts } = journal.undo(Which::Last, Force::No).unwrap_err()
    else {
        panic!("no conflict");
    };
    assert_eq!(conflicts.len(), 1);
    assert_eq!(conflicts[0].path, path);
    assert_eq!(conflicts[0].found.as_deref(), Some("GRUB_TIMEOUT=0\n"));
    assert!(conflicts[0].left.as_ref().unwrap().contains("notsc"));
    same(&changed, &picture(root));
    let holds = journal.entries()[0].holds(&place(root));
    assert!(matches!(holds.steps[1], StepStatus::Changed(_)) && !holds.all());
    journal.undo(Which::Last, Force::Yes).unwrap();
    drop(journal);
    same(&before, &picture(root));
}

#[test]
fn a_kernel_update_in_between_is_kept() {
    let (dir, before) = system();
    let root = dir.path();
    let mut journal = open(root).unwrap();
    journal.apply(&plan(), &mut Silent).unwrap();
    // The boot loader's configuration is made again, with one more kernel.
    fs::write(root.join("etc/fstab.d"), "").unwrap();
    let script = root.join("usr/sbin/update-grub");
    let more = fs::read_to_string(&script).unwrap() + "echo linux 6.12 >> grub.cfg\n";
    fs::write(&script, more).unwrap();
    let cfg = root.join("boot/grub/grub.cfg");
    let with = fs::read_to_string(&cfg).unwrap() + "linux 6.12\n";
    fs::write(&cfg, with).unwrap();
    let report = journal.undo(Which::Last, Force::No).unwrap().remove(0);
    assert_eq!(report.ran, [["update-grub"]]);
    let text = fs::read_to_string(&cfg).unwrap();
    assert!(text.ends_with("linux 6.12\n") && !text.contains("clocksource"), "{text}");
    let now = picture(root);
    for path in ["etc/default/grub", "usr/share/real/cmdline"] {
        assert_eq!(before[Path::new(path)], now[Path::new(path)]);
    }
    assert!(!root.join("etc/default/grub.d").exists());
}

#[test]
fn a_later_choice_of_a_clocksource_is_respected() {
    let (dir, _) = system();
    let root = dir.path();
    let mut journal = open(root).unwrap();
    journal.apply(&plan(), &mut Silent).unwrap();
    fs::write(root.join("sys/current_clocksource"), "acpi_pm\n").unwrap();
    let report = journal.undo(Which::All, Force::No).unwrap().remove(0);
    assert_eq!(report.clocksource, None);
    assert!(report.kept[0].contains("another program or user chose acpi_pm"), "{report:?}");
}

#[test]
fn undo_all_reverts_in_order() {
    let (dir, before) = system();
    let root = dir.path();
    let one = |content: &str| Plan {
        summary: content.to_owned(),
        steps: vec![write("/etc/fstab", content), write("/etc/new/deep/file", content)],
        ..Plan::default()
    };
    let mut journal = open(root).unwrap();
    let first = journal.apply(&one("first"), &mut Silent).unwrap().id;
    let middle = picture(root);
    journal.apply(&one("second"), &mut Silent).unwrap();
    // The second change conflicts.
    let error = journal.undo(Which::Id(first), Force::No).unwrap_err();
    assert!(matches!(error, JournalError::Conflicts { .. }), "{error}");
    journal.undo(Which::Last, Force::No).unwrap();
    same(&middle, &picture(root));
    journal.apply(&one("third"), &mut Silent).unwrap();
    assert_eq!(journal.undo(Which::All, Force::No).unwrap().len(), 2);
    drop(journal);
    same(&before, &picture(root));
}

#[test]
fn programs_of_another_system_are_left() {
    let (dir, before) = system();
    let root = dir.path();
    let mut journal = Journal::open(&place(root), Wait::No).unwrap();
    let applied = journal.apply(&plan(), &mut Silent).unwrap();
    assert_eq!(applied.left, [["update-grub"]]);
    assert_eq!(journal.entries()[0].holds(&place(root)).steps[6], StepStatus::Left);
    // The user ran it inside.
    let command = ["update-grub".to_owned()];
    Inside.run(&place(root), &command, &mut Silent).unwrap();
    let report = journal.undo(Which::Last, Force::No).unwrap().remove(0);
    assert_eq!(report.left, [["update-grub"]]);
    Inside.run(&place(root), &command, &mut Silent).unwrap();
    let now = picture(root);
    assert_eq!(before[Path::new("etc/default/grub")], now[Path::new("etc/default/grub")]);
}

#[test]
fn links_never_lead_out() {
    let (dir, _) = system();
    let outside = temporary();
    let root = dir.path();
    fs::create_dir(root.join("etc/out")).unwrap();
    symlink(outside.path(), root.join("etc/out/away")).unwrap();
    symlink("/opt/inside", root.join("etc/out/inside")).unwrap();
    fs::create_dir_all(root.join("opt/inside")).unwrap();
    symlink("../../../../../../../../etc", root.join("etc/out/up")).unwrap();
    symlink("loop", root.join("etc/out/loop")).unwrap();
    let try_it = |path: &str| {
        let plan =
            Plan { summary: String::new(), steps: vec![write(path, "x")], ..Plan::default() };
        open(root).unwrap().apply(&plan, &mut Silent)
    };
    // Absolute links and `..` stay inside.
    try_it("/etc/out/inside/file").unwrap();
    assert!(root.join("opt/inside/file").exists() && !Path::new("/opt/inside").exists());
    assert!(try_it("/etc/out/away/file").is_err());
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    try_it("/etc/out/up/here").unwrap();
    assert!(root.join("etc/here").exists());
    assert!(try_it("/etc/out/loop").unwrap_err().to_string().contains("circles"));
    assert!(try_it("/../../etc/there").is_ok() && root.join("etc/there").exists());
}

#[test]
fn apply_through_a_link_to_what_passes_or_to_nothing_is_refused() {
    let (dir, _) = system();
    let root = dir.path();
    fs::create_dir_all(root.join("run")).unwrap();
    fs::write(root.join("run/there"), "x").unwrap();
    for (name, target, path, words) in [
        ("null", "/dev/null", "/etc/null", "in /dev does not survive a boot"),
        ("proc", "../proc/x", "/etc/proc", "in /proc does not survive a boot"),
        ("run", "/run/there", "/etc/run", "in /run does not survive a boot"),
        ("d", "/run", "/etc/d/new/file", "in /run does not survive a boot"),
        ("gone", "/opt/gone", "/etc/gone", "link to /opt/gone, where nothing is"),
        ("gone.d", "/opt/gone.d", "/etc/gone.d/file", "link to /opt/gone.d, where nothing is"),
    ] {
        symlink(target, root.join("etc").join(name)).unwrap();
        let before = picture(root);
        let plan =
            Plan { summary: String::new(), steps: vec![write(path, "x")], ..Plan::default() };
        let error = open(root).unwrap().apply(&plan, &mut Silent).unwrap_err().to_string();
        assert!(error.contains(words), "{path}: {error}");
        let mut now = picture(root);
        now.retain(|path, _| before.contains_key(path));
        assert_eq!(now, before);
        assert!(!root.join("dev/null").exists() && !root.join("opt").exists());
    }
}

#[test]
fn look_where_something_else_is_in_place_of_the_journal_is_an_error() {
    use std::os::unix::net::UnixListener;
    let (dir, _) = system();
    let at = dir.path().join("var/lib/clocksmith/journal");
    let look = || Journal::look(&place(dir.path()));
    assert_eq!(look().unwrap().len(), 0);
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    fs::write(&at, "x").unwrap();
    assert!(look().unwrap_err().to_string().contains("journal: Not a directory"));
    fs::remove_file(&at).unwrap();
    let socket = UnixListener::bind(&at).unwrap();
    assert!(look().is_err());
    drop(socket);
    fs::remove_file(&at).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &at, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert!(look().is_err());
}

#[test]
fn apply_to_hard_link_or_directory_is_refused() {
    let (dir, _) = system();
    let root = dir.path();
    fs::hard_link(root.join("etc/fstab"), root.join("etc/fstab.same")).unwrap();
    let before = picture(root);
    for (path, word) in [("/etc/fstab", "hard link"), ("/etc", "not a regular file")] {
        let steps = vec![write("/etc/fine", "x"), write(path, "x")];
        let plan = Plan { summary: String::new(), steps, ..Plan::default() };
        let error = open(root).unwrap().apply(&plan, &mut Silent).unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
        assert!(matches!(error.end, End::Untouched));
        same(&before, &picture(root));
    }
}

#[test]
fn two_at_once() {
    let (dir, _) = system();
    let root = dir.path();
    let first = open(root).unwrap();
    let error = open(root).unwrap_err();
    let us = std::process::id();
    assert!(matches!(error, JournalError::Busy { pid: Some(pid) } if pid == us), "{error}");
    std::thread::scope(|scope| {
        let second = scope.spawn(|| {
            Journal::open(&place(root), Wait::AtMost(std::time::Duration::from_secs(60))).map(drop)
        });
        std::thread::sleep(std::time::Duration::from_millis(100));
        assert!(!second.is_finished());
        drop(first);
        second.join().unwrap().unwrap();
    });
    assert!(!root.join("var/lib/clocksmith").exists());
}

#[test]
fn system_whose_filesystem_makes_no_directory_is_not_called_busy() {
    let error = open(std::path::Path::new("/proc")).map(drop).unwrap_err().to_string();
    assert!(!error.contains("another run") && error.contains("/proc/var"), "{error}");
}

#[test]
fn files_of_the_journal_that_are_torn_foreign_or_newer() {
    let (dir, before) = system();
    let root = dir.path();
    open(root).unwrap().apply(&plan(), &mut Silent).unwrap();
    let home = root.join("var/lib/clocksmith/journal");
    assert_eq!(fs::metadata(&home).unwrap().permissions().mode() & 0o777, 0o700);
    // Partly written files, and files of others.
    fs::write(home.join("new"), "{\"version\":").unwrap();
    fs::write(home.join("notes.txt"), "mine").unwrap();
    fs::write(home.join("2.1.json"), "").unwrap();
    assert_eq!(open(root).unwrap().entries().len(), 1);
    assert!(!home.join("new").exists() && !home.join("2.1.json").exists());
    // One generation is lost: the one before it is used, and everything is reverted.
    let newest = if Journal::look(&place(root)).unwrap()[0].generation.is_multiple_of(2) {
        "1.0.json"
    } else {
        "1.1.json"
    };
    let whole = fs::read(home.join(newest)).unwrap();
    for keep in [0, 1, whole.len() / 2, whole.len() - 1, whole.len() - 30] {
        fs::write(home.join(newest), &whole[..keep]).unwrap();
        if keep + 1 < whole.len() {
            assert_eq!(Journal::look(&place(root)).unwrap()[0].phase, Phase::Applying, "{keep}");
        }
    }
    // Both are lost.
    fs::write(home.join("1.0.json"), "garbage").unwrap();
    fs::write(home.join("1.1.json"), [0, 159, 146]).unwrap();
    let error = open(root).unwrap_err();
    assert!(matches!(error, JournalError::Damaged { .. }), "{error}");
    // A later version.
    let json = "{\"version\":2,\"words\":[]}";
    let sum = std::process::Command::new("sh")
        .args(["-c", "printf %s \"$0\" | sha256sum | cut -c-64", json])
        .output()
        .unwrap();
    let text = format!("{json}\n{}", String::from_utf8(sum.stdout).unwrap());
    fs::write(home.join("1.1.json"), &text).unwrap();
    let error = open(root).unwrap_err();
    assert!(error.to_string().contains("version 2; this program knows 1"), "{error}");
    assert!(Journal::look(&place(root)).is_err());
    // The right one again; files of others are left.
    fs::remove_file(home.join("1.0.json")).unwrap();
    fs::remove_file(home.join("1.1.json")).unwrap();
    fs::write(home.join(newest), &whole).unwrap();
    open(root).unwrap().undo(Which::Last, Force::No).unwrap();
    assert_eq!(fs::read_dir(&home).unwrap().count(), 2, "the lock and the notes");
    fs::remove_dir_all(root.join("var/lib/clocksmith")).unwrap();
    same(&before, &picture(root));
}

/// Writes a file when this step begins.
struct Other<'a> {
    at: usize,
    path: &'a Path,
    content: &'a str,
}

impl Observer for Other<'_> {
    fn step(&mut self, index: usize, _: &clocksmith_change::Step) {
        if index == self.at {
            fs::write(self.path, self.content).unwrap();
        }
    }
}

#[test]
fn apply_with_file_written_by_others_after_it_leaves_their_content() {
    for content in ["GRUB_TIMEOUT=5\n", "GRUB_TIMEOUT=9\nours=1\n# operator\n"] {
        let (dir, _) = system();
        let path = dir.path().join("etc/default/grub");
        let before = picture(dir.path());
        let mut plan = plan();
        plan.steps = vec![
            write("/etc/default/grub", "GRUB_TIMEOUT=9\nours=1\n"),
            write("/etc/fstab", "changed\n"),
        ];
        let mut other = Other { at: 1, path: &path, content };
        let mut journal = open(dir.path()).unwrap();
        let error = journal.apply(&plan, &mut other).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("etc/default/grub was changed by another process"), "{text}");
        assert!(text.contains("its content stays"), "{text}");
        assert!(matches!(error.end, End::RolledBack(_)), "{text}");
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
        assert!(journal.entries().is_empty());
        drop(journal);
        // Everything else is as before, and nothing is left to revert.
        let mut after = picture(dir.path());
        after.insert("etc/default/grub".into(), before[Path::new("etc/default/grub")].clone());
        same(&before, &after);
        assert!(open(dir.path()).unwrap().recovered().is_empty());
    }
}

#[test]
fn apply_stopped_by_edit_of_others_before_it_wrote_leaves_no_change_open() {
    let (dir, _) = system();
    let path = dir.path().join("etc/default/grub");
    let mut plan = plan();
    plan.steps = vec![write("/etc/default/grub", "GRUB_TIMEOUT=9\n")];
    let mut other = Other { at: 0, path: &path, content: "theirs\n" };
    let error = open(dir.path()).unwrap().apply(&plan, &mut other).unwrap_err();
    assert!(matches!(error.end, End::RolledBack(_)), "{error}");
    assert!(!error.to_string().contains("--undo"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "theirs\n");
    let journal = open(dir.path()).unwrap();
    assert!(journal.recovered().is_empty() && journal.entries().is_empty());
}

/// Renames a directory in the middle of a change.
struct Renames(std::path::PathBuf, usize);

impl Observer for Renames {
    fn step(&mut self, index: usize, _: &clocksmith_change::Step) {
        if index == self.1 {
            fs::rename(&self.0, self.0.with_extension("moved")).unwrap();
        }
    }
}

#[test]
fn apply_directory_renamed_meanwhile_keeps_no_temporary_names() {
    for (directory, step) in [("etc/default", 1), ("etc/default", 3), ("boot/grub", 2)] {
        let dir = temporary();
        build(dir.path());
        let path = dir.path().join(directory);
        let mut journal = open(dir.path()).unwrap();
        let result = journal.apply(&plan(), &mut Renames(path, step));
        assert!(result.is_err(), "{directory}");
        drop(journal);
        let left: Vec<_> = common::picture(dir.path())
            .into_keys()
            .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(".clocksmith-"))
            .collect();
        assert!(left.is_empty(), "{directory} in step {step}: {left:?}");
    }
}
