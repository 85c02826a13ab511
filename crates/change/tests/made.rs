//! A boot loader's program that exits with 0 without doing its work: everything is restored.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "made/beside.rs"]
mod beside;
mod common;

use clocksmith_change::journal::{End, Force, JournalError, Recovered, Silent, Which};
use clocksmith_change::words::Change;
use clocksmith_change::{Action, Plan};
use common::{build, differences, open, picture, step, temporary, update_grub, write};
use std::fs;
use std::path::Path;

const CONFIG: &str = "menuentry 'Debian' {\n\tlinux /boot/vmlinuz-6 root=/dev/vda quiet\n}\n";

/// Creates a system whose `update-grub` runs this script.
fn system(script: &str) -> tempfile::TempDir {
    let dir = temporary();
    build(dir.path());
    fs::write(dir.path().join("boot/grub/grub.cfg"), CONFIG).unwrap();
    let script = format!("cd \"$ROOT/boot/grub\"\n{script}\n");
    fs::write(dir.path().join("usr/sbin/update-grub"), script).unwrap();
    dir
}

fn plan() -> Plan {
    let drop_in = "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT quirk=1\"\n";
    let mut run = update_grub();
    if let Action::Run { rewrites, .. } = &mut run.action {
        rewrites.truncate(2);
    }
    let expected = Change { add: vec!["quirk=1".to_owned()], remove: Vec::new() };
    let steps = vec![write("/etc/default/grub.d/90-clocksmith.cfg", drop_in), run];
    Plan { summary: "add quirk=1".to_owned(), steps, expected, ..Plan::default() }
}

/// The result, and the state after it.
fn refused(script: &str, why: &str) {
    let dir = system(script);
    let before = picture(dir.path());
    let error = open(dir.path()).unwrap().apply(&plan(), &mut Silent).unwrap_err();
    assert!(matches!(error.end, End::RolledBack(_)), "{script}: {error}");
    assert!(matches!(error.cause, JournalError::NotMade { .. }), "{script}: {error}");
    assert!(error.to_string().contains("grub.cfg"), "{error}");
    assert!(error.to_string().contains(why), "{error}");
    let after = picture(dir.path());
    assert_eq!(before, after, "{script}: {}", differences(&before, &after));
    assert!(!dir.path().join("var/lib/clocksmith").exists());
}

#[test]
fn program_with_no_or_half_effect_is_restored() {
    refused("exit 0", "lacks quirk=1 on its entry 'Debian' (line 2)");
    refused("> grub.cfg", "is empty");
    refused("rm grub.cfg", "is gone");
    refused("echo '# nothing' > grub.cfg", "has no entry that boots Linux");
    let dead = "if true; then :; else sed -i 's/quiet/quirk=1/' grub.cfg; fi";
    refused(dead, "lacks quirk=1");
}

#[test]
fn program_that_lets_other_users_write_its_file_is_restored() {
    let work = "sed -i 's/quiet/quiet quirk=1/' grub.cfg";
    refused(&format!("{work}; chmod 666 grub.cfg"), "can be written by other users (mode 0666)");
    refused(&format!("{work}; chmod 620 grub.cfg"), "can be written by other users");
    if rustix::process::geteuid().is_root() {
        refused(&format!("{work}; chown 1001 grub.cfg"), "belongs to user 1001");
    }
}

#[test]
fn program_makes_its_file_in_the_language_of_the_former_one() {
    let dir = system(
        "sed -i 's/quiet/quiet quirk=1/' grub.cfg; sed -i \"s/set lang=.*/set lang=${LANG%%.*}/\" grub.cfg\n\
         [ -z \"$LC_ALL\" ]",
    );
    let path = dir.path().join("boot/grub/grub.cfg");
    fs::write(&path, format!("set lang=sq_AL\n{CONFIG}")).unwrap();
    open(dir.path()).unwrap().apply(&plan(), &mut Silent).unwrap();
    assert!(fs::read_to_string(path).unwrap().starts_with("set lang=sq_AL\n"));
}

#[test]
fn saved_entry_without_the_words_is_refused_where_no_program_writes_it() {
    let own = "menuentry 'own' --id own {\n\tlinux /boot/vmlinuz-6 root=/dev/vda\n}\n";
    let own =
        format!("### BEGIN /etc/grub.d/40_custom ###\n{own}### END /etc/grub.d/40_custom ###\n");
    let text = format!(
        "set default=\"${{saved_entry}}\"\n### BEGIN /etc/grub.d/10_linux ###\n{CONFIG}### END \
         /etc/grub.d/10_linux ###\n{own}"
    );
    for (saved, good) in [("saved_entry=own\n", false), ("saved_entry=Debian\n", true)] {
        let dir = system(WORK);
        let root = dir.path();
        fs::write(root.join("boot/vmlinuz-6"), "kernel").unwrap();
        fs::write(root.join("boot/grub/grub.cfg"), &text).unwrap();
        fs::write(root.join("boot/grub/grubenv"), saved).unwrap();
        let mut plan = plan();
        if let Action::Run { rewrites, .. } = &mut plan.steps[1].action {
            rewrites.truncate(1);
        }
        let result = open(root).unwrap().apply(&plan, &mut Silent);
        assert_eq!(result.is_ok(), good, "{saved}: {result:?}");
        if let Err(error) = result {
            assert!(error.to_string().contains("boots by default its entry 'own'"), "{error}");
        }
    }
}

/// A change in force, a kernel update after it, and then an undo with a program that does this.
fn undone(script: &str) -> (tempfile::TempDir, common::Picture, Result<(), JournalError>) {
    let dir = system(WORK);
    let root = dir.path();
    let config = root.join("boot/grub/grub.cfg");
    let kernel = |version: &str| fs::write(root.join("boot").join(version), "kernel").unwrap();
    kernel("vmlinuz-6");
    open(root).unwrap().apply(&plan(), &mut Silent).unwrap();
    kernel("vmlinuz-7");
    let old = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{}{old}", old.replace("-6", "-7").replace("Debian", "New")))
        .unwrap();
    let script = format!("cd \"$ROOT/boot/grub\"\n{script}\n");
    fs::write(root.join("usr/sbin/update-grub"), script).unwrap();
    let before = picture(root);
    let result = open(root).unwrap().undo(Which::Last, Force::No).map(drop);
    (dir, before, result)
}

const UNDO: &str = "sed -i 's/ quirk=1//' grub.cfg";

#[test]
fn undo_after_a_kernel_update_makes_the_file_again() {
    let (dir, _, result) = undone(UNDO);
    result.unwrap();
    let text = fs::read_to_string(dir.path().join("boot/grub/grub.cfg")).unwrap();
    assert!(text.contains("'New'") && !text.contains("quirk=1"), "{text}");
    assert!(open(dir.path()).unwrap().entries().is_empty());
}

#[test]
fn undo_puts_back_what_its_program_damages() {
    let evil = "printf 'menuentry evil {\\n linux /boot/vmlinuz-7 init=/bin/sh\\n}\\n' >> grub.cfg";
    for (script, why) in [
        ("exit 0".to_owned(), "still has quirk=1 on its entry 'New'"),
        (format!("{UNDO}; exit 1"), "failed with status 1"),
        ("> grub.cfg".to_owned(), "is empty"),
        ("head -c 60 grub.cfg > x; cat x > grub.cfg; rm x".to_owned(), "grub.cfg"),
        ("rm grub.cfg".to_owned(), "is gone"),
        (format!("{UNDO}; {evil}"), "evil"),
        (format!("{UNDO}; chmod 666 grub.cfg"), "mode 0666"),
        (format!("{UNDO}; mv grub.cfg /tmp/x.$$; ln -s /tmp/x.$$ grub.cfg"), "grub.cfg"),
        (format!("{UNDO}; sed -i 1,3d grub.cfg"), "no longer has an entry for vmlinuz-7"),
        (format!("{UNDO}; echo GRUB_TIMEOUT=99 >> ../../etc/default/grub"), "etc/default/grub"),
        (format!("{UNDO}; chmod 666 ../vmlinuz-7"), "mode changed"),
    ] {
        let (dir, mut before, result) = undone(&script);
        let error = result.unwrap_err().to_string();
        assert!(error.contains(why) && error.contains("still in force"), "{script}: {error}");
        let mut after = picture(dir.path());
        for all in [&mut before, &mut after] {
            all.retain(|path, _| {
                !path.starts_with("var") && !path.starts_with("etc/default/grub.d")
            });
        }
        assert_eq!(before, after, "{script}: {}", differences(&before, &after));
        // With a program that works again, the next run finishes.
        let good = format!("cd \"$ROOT/boot/grub\"\n{UNDO}\n");
        fs::write(dir.path().join("usr/sbin/update-grub"), good).unwrap();
        let journal = open(dir.path()).unwrap();
        assert!(journal.entries().is_empty(), "{script}: {:?}", journal.recovered());
        let text = fs::read_to_string(dir.path().join("boot/grub/grub.cfg")).unwrap();
        assert!(text.contains("'New'") && !text.contains("quirk=1"), "{script}: {text}");
    }
}

#[test]
fn undo_names_the_words_in_entries_of_snapshots() {
    let dir = system(&format!("{WORK}; echo 'linux /v quirk=1' > grub-btrfs.cfg"));
    let mut journal = open(dir.path()).unwrap();
    journal.apply(&plan(), &mut Silent).unwrap();
    let reports = journal.undo(Which::Last, Force::No).unwrap();
    let kept = &reports[0].kept;
    assert!(
        kept.iter().any(|it| it.contains("grub-btrfs.cfg") && it.contains("quirk=1")),
        "{kept:?}"
    );
}

#[test]
fn mode_that_a_killed_run_left_on_a_kernel_is_restored() {
    use std::os::unix::fs::PermissionsExt;
    let dir = system("chmod 666 ../vmlinuz-6; touch ../ready; kill -9 $PPID");
    let kernel = dir.path().join("boot/vmlinuz-6");
    fs::write(&kernel, "kernel").unwrap();
    fs::set_permissions(&kernel, fs::Permissions::from_mode(0o600)).unwrap();
    // A separate run, which its program kills.
    const CHILD: &str = "CLOCKSMITH_TEST_KILLED";
    if let Some(root) = std::env::var_os(CHILD) {
        let _ = open(Path::new(&root)).unwrap().apply(&plan(), &mut Silent);
        return;
    }
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "mode_that_a_killed_run_left_on_a_kernel_is_restored"])
        .env(CHILD, dir.path())
        .status()
        .unwrap();
    assert!(!status.success() && dir.path().join("boot/ready").exists());
    let mode = || fs::metadata(&kernel).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(), 0o666);
    let journal = open(dir.path()).unwrap();
    assert!(
        matches!(journal.recovered()[0], Recovered::RolledBack(_)),
        "{:?}",
        journal.recovered()
    );
    assert_eq!(mode(), 0o600);
}

#[test]
fn program_that_does_its_work_is_in_force() {
    let dir = system("sed -i 's/quiet/quiet quirk=1/' grub.cfg");
    let mut journal = open(dir.path()).unwrap();
    journal.apply(&plan(), &mut Silent).unwrap();
    assert_eq!(journal.entries().len(), 1);
    let text = fs::read_to_string(dir.path().join("boot/grub/grub.cfg")).unwrap();
    assert!(text.contains("quirk=1"), "{text}");
}

#[test]
fn program_without_boot_entries_is_not_looked_at() {
    let dir = system("exit 0");
    let mut plan = plan();
    plan.steps = vec![step(Action::Run {
        command: vec!["update-grub".to_owned()],
        rewrites: Vec::new(),
        undo: None,
        regenerate: None,
    })];
    open(dir.path()).unwrap().apply(&plan, &mut Silent).unwrap();
    let mut plan = self::plan();
    plan.expected = Change::default();
    open(dir.path()).unwrap().apply(&plan, &mut Silent).unwrap();
    assert!(Path::new(&dir.path().join("etc/default/grub.d/90-clocksmith.cfg")).exists());
}

const WORK: &str = "sed -i 's/quiet/quiet quirk=1/' grub.cfg";

const ENTRY: &str = "title A\nlinux /vmlinuz-6\ninitrd /initrd-6\noptions root=/dev/vda quiet\n";

#[test]
fn entry_of_a_new_kernel_may_be_added_and_is_named_by_the_revert() {
    let new = ENTRY.replace("-6", "-7").replace("title A", "title B");
    let dir = system(&format!(
        "{WORK}; printf '{}' > ../loader/entries/b.conf",
        new.replace('\n', "\\n")
    ));
    let root = dir.path();
    for name in ["6", "7"] {
        fs::write(root.join(format!("boot/vmlinuz-{name}")), "kernel").unwrap();
    }
    fs::write(root.join("boot/loader/entries/a.conf"), ENTRY).unwrap();
    let mut journal = open(root).unwrap();
    journal.apply(&plan(), &mut Silent).unwrap();
    // An observed file is not a part of the change in force.
    assert!(
        journal.entries()[0].records.iter().all(|record| !record.path.starts_with("/etc/kernel"))
    );
    fs::write(root.join("etc/kernel/cmdline"), "root=/dev/vda loud\n").unwrap();
    let reports = journal.undo(Which::All, Force::No).unwrap();
    let named = |it: &&String| it.contains("/boot/loader/entries/b.conf");
    assert_eq!(reports[0].kept.iter().filter(named).count(), 1, "{:?}", reports[0].kept);
    assert!(root.join("boot/loader/entries/b.conf").exists());
    assert_eq!(
        fs::read_to_string(root.join("etc/kernel/cmdline")).unwrap(),
        "root=/dev/vda loud\n"
    );
    assert_eq!(fs::read_to_string(root.join("boot/grub/grub.cfg")).unwrap(), CONFIG);
}

#[test]
fn what_a_program_does_in_the_background_is_waited_for() {
    let later = "(sleep 1; sed -i 's/quirk=1/quirk=1 init=.bin.sh/' grub.cfg) > /dev/null 2>&1 &";
    refused(&format!("{WORK}\n{later}"), "init=.bin.sh");
    // A process that continues is named, and not ended.
    let dir = system(&format!("{WORK}\nsleep 30 > /dev/null 2>&1 &"));
    let mut journal = open(dir.path()).unwrap();
    let running = journal.apply(&plan(), &mut Silent).unwrap().running;
    let [pid] = running[..] else { panic!("{running:?}") };
    assert_eq!(fs::read_to_string(format!("/proc/{pid}/comm")).unwrap(), "sleep\n");
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[test]
fn revert_of_a_file_behind_a_new_link_is_refused_and_goes_on_later() {
    let dir = system(WORK);
    let root = dir.path();
    let before = picture(root);
    open(root).unwrap().apply(&plan(), &mut Silent).unwrap();
    // As a tool that manages files by links does: the same file, at another place.
    let (home, moved) = (root.join("etc/default/grub.d"), root.join("srv"));
    fs::rename(&home, &moved).unwrap();
    std::os::unix::fs::symlink("../../srv", &home).unwrap();
    let held = open(root).unwrap().entries()[0].holds(&common::place(root));
    assert!(!held.all(), "{held:?}");
    let error = open(root).unwrap().undo(Which::Last, Force::No).unwrap_err();
    let JournalError::Conflicts { conflicts } = &error else { panic!("{error}") };
    assert_eq!(conflicts.len(), 1, "{error}");
    let text = error.to_string();
    assert!(text.contains("90-clocksmith.cfg") && text.contains("grub.d is now a link"), "{text}");
    let error = open(root).unwrap().undo(Which::Last, Force::Yes).unwrap_err();
    let JournalError::Partly { open: left, .. } = &error else { panic!("{error}") };
    assert_eq!(left.len(), 1, "{error}");
    assert!(left[0].contains("90-clocksmith.cfg") && left[0].contains("link"), "{error}");
    assert!(moved.join("90-clocksmith.cfg").exists());
    assert_eq!(open(root).unwrap().entries().len(), 1);
    // With the directory back, the rest is reverted.
    fs::remove_file(&home).unwrap();
    fs::rename(&moved, &home).unwrap();
    assert!(matches!(open(root).unwrap().recovered(), [Recovered::Mended(_)]));
    let after = picture(root);
    assert_eq!(before, after, "{}", differences(&before, &after));
}

/// A user who can write the kernel of a new entry chooses what boots.
#[test]
fn new_kernels_that_others_can_write_are_refused() {
    let new = ENTRY.replace("-6", "-7").replace("title A", "title B");
    let entry = format!("printf '{}' > ../loader/entries/b.conf", new.replace('\n', "\\n"));
    let root_only = rustix::process::geteuid().is_root();
    let cases = [
        (
            "",
            "echo > ../vmlinuz-8; chmod 666 ../vmlinuz-8",
            "vmlinuz-8 was made while it ran",
            false,
        ),
        ("", "echo > ../initrd-8; chown 1001 ../initrd-8", "belongs to user 1001", true),
        ("", "mkdir -m 777 ../new", "new was made while it ran, and can be written", false),
        // They were there before, and only the entry is new.
        (
            "chmod 666 vmlinuz-7",
            &entry,
            "vmlinuz-7, which can be written by other users (mode 0666)",
            false,
        ),
        ("chown 1001 vmlinuz-7", &entry, "vmlinuz-7, which belongs to user 1001", true),
        ("chown 1001 initrd-7", &entry, "initrd-7, which belongs to user 1001", true),
    ];
    for (before, act, why, as_root) in cases {
        if as_root && !root_only {
            continue;
        }
        let dir = system(&format!("{WORK}; {act}"));
        let root = dir.path();
        for name in ["vmlinuz-6", "vmlinuz-7", "initrd-6", "initrd-7"] {
            fs::write(root.join("boot").join(name), "content").unwrap();
        }
        fs::write(root.join("boot/loader/entries/a.conf"), ENTRY).unwrap();
        let script = format!("cd {}/boot; {before}", root.display());
        assert!(std::process::Command::new("sh").args(["-c", &script]).status().unwrap().success());
        let error = open(root).unwrap().apply(&plan(), &mut Silent).unwrap_err();
        assert!(matches!(error.end, End::RolledBack(_)), "{act}: {error}");
        assert!(error.to_string().contains(why), "{act}: {error}");
        assert!(!root.join("boot/loader/entries/b.conf").exists());
        assert_eq!(fs::read_to_string(root.join("boot/grub/grub.cfg")).unwrap(), CONFIG);
    }
}

#[test]
fn rollback_continues_after_unrestorable_file() {
    // A directory where the file was cannot be replaced by it.
    let dir = system("rm grub.cfg; mkdir grub.cfg; echo left > other.cfg");
    let before = picture(dir.path());
    let error = open(dir.path()).unwrap().apply(&plan(), &mut Silent).unwrap_err();
    let End::Stuck(cause) = &error.end else { panic!("{error}") };
    let JournalError::Partly { open: left, .. } = &**cause else { panic!("{error}") };
    assert_eq!(left.len(), 1, "{left:?}");
    // None of its files is left.
    let names = fs::read_dir(dir.path().join("boot/grub")).unwrap();
    let names: Vec<_> = names.map(|it| it.unwrap().file_name()).collect();
    assert!(names.iter().all(|it| !it.to_string_lossy().starts_with(".clocksmith")), "{names:?}");
    let text = error.to_string();
    assert!(
        text.contains("boot/grub/grub.cfg") && text.contains("clocksmith fix --undo"),
        "{text}"
    );
    // All the others are unchanged.
    assert!(!dir.path().join("etc/default/grub.d").exists(), "{text}");
    fs::remove_dir(dir.path().join("boot/grub/grub.cfg")).unwrap();
    let journal = open(dir.path()).unwrap();
    let [Recovered::Mended(report)] = journal.recovered() else {
        panic!("{:?}", journal.recovered())
    };
    assert!(report.kept.iter().any(|it| it.contains("other.cfg")), "{:?}", report.kept);
    drop(journal);
    fs::remove_file(dir.path().join("boot/grub/other.cfg")).unwrap();
    let after = picture(dir.path());
    assert_eq!(before, after, "{}", differences(&before, &after));
}

#[test]
fn rollback_without_journal_does_not_promise_another_one() {
    for removes in ["rm -rf $j", "rm $j/*.content", "rm $j/*.json; rm $j/*.content"] {
        let dir = system(&format!("j=../../var/lib/clocksmith/journal; {removes}; rm grub.cfg"));
        let error = open(dir.path()).unwrap().apply(&plan(), &mut Silent).unwrap_err();
        assert!(matches!(error.end, End::Lost(_)), "{removes}: {error}");
        let text = error.to_string();
        assert!(text.contains("removed the journal") && !text.contains("--undo"), "{text}");
    }
}

#[test]
fn file_that_is_too_large_to_read_is_replaced() {
    let dir = system("truncate -s 100M grub.cfg");
    let before = picture(dir.path());
    let error = open(dir.path()).unwrap().apply(&plan(), &mut Silent).unwrap_err();
    assert!(matches!(error.end, End::RolledBack(_)), "{error}");
    let after = picture(dir.path());
    assert_eq!(before, after, "{}", differences(&before, &after));
}

#[test]
fn names_that_appear_during_a_program_are_reported() {
    let dir = system("sed -i 's/quiet/quiet quirk=1/' grub.cfg; echo x > new.cfg");
    let mut journal = open(dir.path()).unwrap();
    journal.apply(&plan(), &mut Silent).unwrap();
    let reports = journal.undo(Which::All, Force::No).unwrap();
    let told = reports[0].kept.iter().filter(|it| it.contains("/boot/grub/new.cfg")).count();
    assert_eq!(told, 1, "{:?}", reports[0].kept);
    assert!(dir.path().join("boot/grub/new.cfg").exists());
}

#[test]
fn program_that_changes_what_the_change_wrote_is_restored() {
    let drop_in = "../../etc/default/grub.d/90-clocksmith.cfg";
    for act in [
        format!("rm {drop_in}"),
        format!("echo >> {drop_in}"),
        format!("ln -sf /etc/default/grub {drop_in}"),
        format!("chmod 666 {drop_in}"),
    ] {
        let dir = system(&format!("{WORK}; {act}"));
        let before = picture(dir.path());
        let error = open(dir.path()).unwrap().apply(&plan(), &mut Silent).unwrap_err();
        assert!(matches!(error.end, End::RolledBack(_)), "{act}: {error}");
        assert!(
            error.to_string().contains("90-clocksmith.cfg was changed while it ran"),
            "{error}"
        );
        let after = picture(dir.path());
        assert_eq!(before, after, "{act}: {}", differences(&before, &after));
    }
}

#[test]
fn steps_that_replace_files_are_begun_by_one_writing() {
    let dir = system("exit 0");
    let mut plan = plan();
    let entry = |number: u32| write(&format!("/boot/loader/entries/{number}.conf"), "options a\n");
    plan.steps = (0..300).map(entry).collect();
    let mut journal = open(dir.path()).unwrap();
    journal.apply(&plan, &mut Silent).unwrap();
    let generation = journal.entries()[0].generation;
    assert!(generation < 6, "{generation}");
    assert_eq!(journal.entries()[0].steps_begun.len(), 300);
}
