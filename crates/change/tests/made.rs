//! A boot loader's program that ends well and did not do its work: everything is put back.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use clocksmith_change::journal::{End, JournalError, Silent};
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

/// What it came to, and what is there after it.
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
fn program_that_does_nothing_or_half_of_it_is_put_back() {
    refused("exit 0", "lacks quirk=1 on its entry 'Debian' (line 2)");
    refused("> grub.cfg", "is empty");
    refused("rm grub.cfg", "is gone");
    refused("echo '# nothing' > grub.cfg", "has no entry that boots Linux");
    let dead = "if true; then :; else sed -i 's/quiet/quirk=1/' grub.cfg; fi";
    refused(dead, "lacks quirk=1");
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
