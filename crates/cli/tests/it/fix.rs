//! `fix` in systems that lie in a directory: applied, checked, reverted to the byte.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A system's root directory.
struct Root(tempfile::TempDir);

/// The output and the exit code of a run.
struct Said {
    code: i32,
    out: String,
    err: String,
}

impl Said {
    fn json(&self) -> serde_json::Value {
        let value: serde_json::Value = serde_json::from_str(&self.out)
            .unwrap_or_else(|e| panic!("{e}: {}{}", self.out, self.err));
        let schema =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/clocksmith.fix.v1.json");
        let schema = serde_json::from_str(&fs::read_to_string(schema).unwrap()).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let errors: Vec<String> = validator.iter_errors(&value).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}");
        value
    }
}

impl Root {
    fn new(files: &[(&str, &str)]) -> Root {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Root(dir)
    }

    fn fix(&self, arguments: &str) -> Said {
        let out = Command::new(env!("CARGO_BIN_EXE_clocksmith"))
            .arg("fix")
            .args(arguments.split_whitespace())
            .arg("--root")
            .arg(self.0.path())
            .output()
            .unwrap();
        Said {
            code: out.status.code().unwrap(),
            out: String::from_utf8(out.stdout).unwrap(),
            err: String::from_utf8(out.stderr).unwrap(),
        }
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.0.path().join(path)).unwrap()
    }

    /// Every file with its mode and content, but for the journal's.
    fn files(&self) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
        let mut all = BTreeMap::new();
        let mut todo = vec![self.0.path().to_owned()];
        while let Some(directory) = todo.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                let meta = fs::symlink_metadata(&path).unwrap();
                if meta.is_dir() {
                    todo.push(path.clone());
                }
                let content = if meta.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
                all.insert(path, (meta.permissions().mode(), content));
            }
        }
        all.retain(|path, _| !path.starts_with(self.0.path().join("var")));
        all
    }
}

const WORD: &str = "--param tsc=nowatchdog --accept-unverified-counter";

/// Plans, applies, checks, reverts; `check` sees the system while the change is in force.
fn there_and_back(files: &[(&str, &str)], check: impl Fn(&Root)) {
    let root = Root::new(files);
    let before = root.files();
    let plan = root.fix(WORD);
    assert_eq!(plan.code, 0, "{}{}", plan.out, plan.err);
    assert!(plan.out.contains("+") && plan.out.contains("tsc=nowatchdog"), "{}", plan.out);
    assert!(plan.out.lines().all(|line| line.chars().count() <= 80 || line.starts_with("     ")));
    assert_eq!(root.files(), before, "a plan changes nothing");

    let applied = root.fix(&format!("--apply --json {WORD}"));
    assert_eq!(applied.code, 0, "{}{}", applied.out, applied.err);
    let value = applied.json();
    assert_eq!(value["result"], "applied");
    assert!(value["accepted"][0].as_str().unwrap().starts_with("--accept-unverified-counter"));
    check(&root);

    let status = root.fix("--status --json");
    assert_eq!((status.code, &status.json()["result"]), (0, &"in-force".into()), "{}", status.out);
    let again = root.fix(&format!("--apply --json {WORD}"));
    assert_eq!(again.json()["result"], "nothing-to-do", "{}", again.out);

    let undone = root.fix("--undo --json");
    assert_eq!((undone.code, &undone.json()["result"]), (0, &"undone".into()), "{}", undone.out);
    assert_eq!(root.files(), before, "reverted to the byte");
    let status = root.fix("--status --json");
    assert_eq!(status.json()["result"], "nothing-to-do");
    assert_eq!(root.fix("--undo --json").json()["result"], "nothing-to-do");
}

#[test]
fn systemd_boot() {
    let files = [
        ("etc/os-release", "ID=arch\n"),
        ("etc/kernel/cmdline", "root=UUID=1 rw\n"),
        ("boot/loader/loader.conf", "default arch.conf\n"),
        (
            "boot/loader/entries/arch.conf",
            "title Arch Linux\nlinux /vmlinuz\noptions root=UUID=1 rw\n",
        ),
        ("usr/bin/bootctl", ""),
    ];
    there_and_back(&files, |root| {
        assert_eq!(root.text("etc/kernel/cmdline"), "root=UUID=1 rw tsc=nowatchdog\n");
        let entry = root.text("boot/loader/entries/arch.conf");
        assert_eq!(
            entry,
            "title Arch Linux\nlinux /vmlinuz\noptions root=UUID=1 rw tsc=nowatchdog\n"
        );
    });
}

#[test]
fn extlinux() {
    let files = [
        ("etc/os-release", "ID=alpine\n"),
        (
            "boot/extlinux.conf",
            "DEFAULT lts\nLABEL lts\n  LINUX vmlinuz-lts\n  APPEND root=UUID=1 quiet\n",
        ),
    ];
    there_and_back(&files, |root| {
        assert!(
            root.text("boot/extlinux.conf").ends_with("APPEND root=UUID=1 quiet tsc=nowatchdog\n")
        );
    });
}

#[test]
fn boot_loader_entries_of_grubby() {
    let entry = "title Fedora\nlinux /vmlinuz-6.11\noptions root=UUID=1 ro rhgb $tuned_params\ngrub_class fedora\n";
    let files = [
        ("etc/os-release", "ID=fedora\n"),
        ("etc/default/grub", "GRUB_CMDLINE_LINUX=\"rhgb quiet\"\nGRUB_ENABLE_BLSCFG=true\n"),
        ("boot/grub2/grub.cfg", "blscfg\n"),
        ("boot/loader/entries/a-6.11.conf", entry),
        ("boot/loader/entries/a-0-rescue.conf", entry),
        ("usr/sbin/grubby", ""),
    ];
    there_and_back(&files, |root| {
        let edited = entry.replace("$tuned_params", "$tuned_params tsc=nowatchdog");
        assert_eq!(root.text("boot/loader/entries/a-6.11.conf"), edited);
        assert_eq!(root.text("boot/loader/entries/a-0-rescue.conf"), entry);
        assert!(root.text("etc/default/grub").contains("rhgb quiet tsc=nowatchdog\""));
    });
}

#[test]
fn grub_in_a_directory_lists_what_is_to_be_run_inside() {
    let files = [
        ("etc/os-release", "ID=debian\n"),
        ("etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n"),
        ("boot/grub/grub.cfg", "linux /vmlinuz quiet\n"),
        ("usr/sbin/update-grub", ""),
    ];
    let root = Root::new(&files);
    let applied = root.fix(&format!("--apply {WORD}"));
    assert_eq!(applied.code, 0, "{}{}", applied.out, applied.err);
    assert!(root.text("etc/default/grub.d/90-clocksmith.cfg").contains("tsc=nowatchdog"));
    assert_eq!(root.text("boot/grub/grub.cfg"), "linux /vmlinuz quiet\n");
    // It was not run, and nothing says that it was.
    let said = applied.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let until = "no effect until the following has been run inside that system, and the system has been rebooted: update-grub";
    assert!(said.contains(until), "{said}");
    assert!(said.ends_with("To be done by hand run inside that system: update-grub"), "{said}");
    assert!(!said.contains("Done") && !applied.err.contains("running update-grub"), "{said}");
    let value = root.fix("--status --json").json();
    let steps = value["changes"][0]["steps"].as_array().unwrap();
    assert!(steps[1]["holds"].as_str().unwrap().starts_with("left"), "{value}");
    assert_eq!(value["mistakes"][0]["id"], "not-regenerated");
    assert_eq!(root.fix("--undo").code, 0);
    assert!(!root.0.path().join("etc/default/grub.d").exists());
}

#[test]
fn change_of_another_process_is_kept() {
    let applied = || {
        let root = Root::new(&[("boot/config.txt", ""), ("boot/cmdline.txt", "ro\n")]);
        assert_eq!(root.fix(&format!("--apply {WORD}")).code, 0);
        root
    };
    // Another word on the same line stays.
    let root = applied();
    fs::write(root.0.path().join("boot/cmdline.txt"), "ro other tsc=nowatchdog\n").unwrap();
    let status = root.fix("--status --json");
    assert_eq!((status.code, &status.json()["result"]), (0, &"in-force".into()));
    let undone = root.fix("--undo");
    assert_eq!(undone.code, 0, "{}", undone.out);
    assert_eq!(root.text("boot/cmdline.txt"), "ro other\n");
    // It is not certain which of two equal parameters the change added.
    let root = applied();
    let twice = "ro tsc=nowatchdog other tsc=nowatchdog\n";
    fs::write(root.0.path().join("boot/cmdline.txt"), twice).unwrap();
    let refused = root.fix("--undo");
    assert_eq!(refused.code, 1, "{}", refused.out);
    assert!(refused.out.contains("--force"), "{}", refused.out);
    assert_eq!(root.text("boot/cmdline.txt"), twice);
}

#[test]
fn what_is_refused_changes_nothing() {
    let root = Root::new(&[("boot/config.txt", ""), ("boot/cmdline.txt", "ro\n")]);
    for (arguments, words) in [
        ("--apply --param tsc=reliable", "--accept-unverified-counter"),
        ("--apply --param tsc=reliable,nowatchdog", "compared as a whole"),
        ("--apply --param clocksource=kvmclock", "kvm-clock"),
        ("--apply --param a;b", "cannot be written"),
    ] {
        let refused = root.fix(arguments);
        assert_eq!(refused.code, 1, "{arguments}: {}", refused.out);
        let flat = refused.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(words), "{arguments}: {}", refused.out);
        assert_eq!(root.text("boot/cmdline.txt"), "ro\n");
    }
    let unknown = Root::new(&[]).fix("--apply --param quiet");
    assert_eq!(unknown.code, 1);
    assert!(unknown.out.contains("boot loader"), "{}", unknown.out);
}

/// A plan alone is a success; a change that was requested and not made is not.
#[test]
fn apply_of_what_only_a_person_can_do_says_that_nothing_was_done() {
    let root = Root::new(&[("boot/efi/EFI/Linux/arch.efi", "MZ")]);
    let plan = root.fix("--param quiet");
    assert!(plan.code == 0 && plan.out.contains("by hand"), "{}", plan.out);
    let applied = root.fix("--apply --param quiet");
    assert!(applied.code == 1 && applied.out.contains("by hand"), "{}", applied.out);
}

#[test]
fn formats_for_many_machines() {
    let root = Root::new(&[]);
    for format in ["ansible", "cloud-init", "tuned", "ignition", "nixos", "daemonset", "systemd"] {
        let said = root.fix(&format!("--format {format} --to tsc"));
        assert_eq!(said.code, 0, "{format}: {}", said.err);
        assert!(said.out.contains("tsc"), "{format}: {}", said.out);
    }
    assert_eq!(root.fix("--format floppy --to tsc").code, 2);
}

/// A run that is killed in its watch leaves a change that was not confirmed.
#[test]
fn a_watch_that_did_not_end() {
    use clocksmith_change::journal::{Journal, Place, Silent, Wait};
    use clocksmith_change::{Action, Plan, Step, Sysfs};

    let root = Root::new(&[("etc/os-release", "ID=debian\n"), ("etc/a", "old\n")]);
    let before = root.files();
    let sysfs = Sysfs::at(root.0.path());
    let place = Place::at(root.0.path(), sysfs).unwrap();
    let write = |content: &str| Plan {
        summary: format!("write {}", content.trim()),
        steps: vec![Step {
            action: Action::Write { path: "/etc/a".into(), content: content.into(), mode: 0o644 },
            why: String::new(),
            risk: "none".to_owned(),
        }],
        ..Plan::default()
    };
    let mut journal = Journal::open(&place, Wait::No).unwrap();
    journal.apply(&write("first\n"), &mut Silent).unwrap();
    journal.attempt(&write("second\n"), &mut Silent).unwrap();
    // While it runs, there is no fault.
    let status = root.fix("--status --json");
    assert_eq!((status.code, &status.json()["result"]), (3, &"undetermined".into()));
    assert!(status.out.contains("Another run is watching change 2 now"), "{}", status.out);
    drop(journal);

    let status = root.fix("--status --json");
    assert_eq!((status.code, &status.json()["result"]), (1, &"not-in-force".into()));
    let said = root.fix("--status").out.replace('\n', " ");
    assert!(said.contains("Change 2 was applied, but the watch did not end"), "{said}");
    assert!(said.contains("clocksmith fix --undo"), "{said}");
    let plan = root.fix("--json").json();
    assert!(plan["notes"].to_string().contains("change 2 of an earlier run"), "{plan}");
    assert_eq!(root.text("etc/a"), "second\n", "a plan and a status change nothing");

    // Only this change is reverted, not the one before it.
    let undone = root.fix("--undo");
    assert_eq!(undone.code, 0, "{}", undone.err);
    assert!(undone.out.starts_with("Reverted: write second."), "{}", undone.out);
    assert!(undone.err.contains("was not confirmed"), "{}", undone.err);
    assert_eq!(root.text("etc/a"), "first\n");
    assert_eq!(root.fix("--status --json").json()["result"], "in-force");
    assert_eq!(root.fix("--undo").code, 0);
    assert_eq!(root.files(), before);
}

#[test]
fn journal_of_another_user_is_refused_by_every_verb() {
    use std::os::unix::fs::{MetadataExt, chown};
    let root = Root::new(&[
        ("etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n"),
        ("boot/grub/grub.cfg", "linux /x quiet\n"),
        ("usr/sbin/update-grub", ""),
    ]);
    let applied = root.fix(&format!("--apply {WORD}"));
    assert_eq!(applied.code, 0, "{}{}", applied.out, applied.err);
    let journal = root.0.path().join("var/lib/clocksmith/journal");
    let us = fs::metadata(&journal).unwrap().uid();
    let mode = |mode| fs::set_permissions(&journal, fs::Permissions::from_mode(mode)).unwrap();
    let refused = |what: &str| {
        let before = root.files();
        for arguments in ["--undo", "--undo --force", "--status", "--apply --param foo=1"] {
            let said = root.fix(arguments);
            assert_eq!(said.code, 2, "{arguments}: {}{}", said.out, said.err);
            assert!(said.err.contains("var/lib/clocksmith/journal (owner "), "{}", said.err);
            assert!(said.err.contains(what) && said.err.contains("is not trusted"), "{}", said.err);
        }
        let plan = root.fix("--json --param foo=1").json();
        assert!(plan["notes"].to_string().contains("is not trusted"), "{plan}");
        assert_eq!(root.files(), before);
    };
    mode(0o770);
    refused("mode 0770");
    mode(0o700);
    if us == 0 {
        chown(&journal, Some(1000), None).unwrap();
        refused("owner 1000, mode 0700");
        chown(&journal, Some(0), None).unwrap();
    }
    assert_eq!(root.fix("--undo").code, 0);
}
