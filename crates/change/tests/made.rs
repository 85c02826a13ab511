//! A boot loader's program that exits with 0 without doing its work: everything is restored.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use clocksmith_change::journal::{End, Force, JournalError, Recovered, Silent, Which};
use clocksmith_change::words::Change;
use clocksmith_change::{Action, Plan};
use common::{build, differences, open, picture, step, temporary, update_grub, write};
use std::fs;
use std::path::Path;

const CONFIG: &str = "menuentry 'Debian' {\n\tlinux /boot/vmlinuz-6 root=/dev/vda quiet\n}\n";

/// A system whose update-grub does this.
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

#[test]
fn rollback_continues_after_unrestorable_file() {
    // A directory where the file was cannot be replaced by it.
    let dir = system("rm grub.cfg; mkdir grub.cfg; echo left > other.cfg");
    let before = picture(dir.path());
    let error = open(dir.path()).unwrap().apply(&plan(), &mut Silent).unwrap_err();
    let End::Stuck(cause) = &error.end else { panic!("{error}") };
    let JournalError::Partly { open: left, .. } = &**cause else { panic!("{error}") };
    assert_eq!(left.len(), 1, "{left:?}");
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
