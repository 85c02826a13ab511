//! Changes by other programs between a change and its revert, or while it is made: kernels are installed and removed,
//! boot files are generated again, a person edits them. None of these is replaced by the previous bytes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;
#[path = "since/edited.rs"]
mod edited;
#[path = "since/system.rs"]
mod system;

use clocksmith_change::journal::{Force, JournalError, Recovered, Silent, Which};
use clocksmith_change::words::Change;
use clocksmith_change::{Action, Plan};
use common::{differences, open, picture, place, write};
use std::fs;
use std::process::Command;
use system::*;

#[test]
fn recover_killed_program_alone_restores_bytes_and_times() {
    for when in 0..3 {
        let dir = grub();
        let before = picture(dir.path());
        half("recover_killed_program_alone_restores_bytes_and_times", dir.path(), when);
        let report = taken_back(open(dir.path()).unwrap().recovered()).clone();
        assert!(report.kept.is_empty() && report.ran.is_empty(), "{when}: {report:?}");
        let after = picture(dir.path());
        assert_eq!(before, after, "{when}: {}", differences(&before, &after));
    }
}

#[test]
fn recover_after_a_kernel_update_keeps_its_entries() {
    for when in 0..3 {
        for exchanged in [false, true] {
            let dir = grub();
            let root = dir.path();
            half("recover_after_a_kernel_update_keeps_its_entries", root, when);
            install(root, "7");
            if exchanged {
                remove(root, "6");
            }
            run(root, "update-grub");
            let report = taken_back(open(root).unwrap().recovered()).clone();
            assert_eq!(report.ran, [["update-grub"]], "{when}");
            let now = text(root, CONFIG);
            assert!(now.contains("vmlinuz-7") && !now.contains("quirk=1"), "{when}: {now}");
            assert_eq!(now.contains("vmlinuz-6"), !exchanged, "{when}: {now}");
            assert!(!root.join(DROP_IN).exists());
            assert!(open(root).unwrap().entries().is_empty());
        }
    }
}

#[test]
fn recover_file_that_was_left_empty_gets_entries_of_kernels_that_are_there() {
    let dir = grub();
    let root = dir.path();
    half("recover_file_that_was_left_empty_gets_entries_of_kernels_that_are_there", root, 1);
    install(root, "7");
    remove(root, "6");
    assert!(text(root, CONFIG).is_empty());
    taken_back(open(root).unwrap().recovered());
    let now = text(root, CONFIG);
    assert!(now.contains("vmlinuz-7") && !now.contains("vmlinuz-6"), "{now}");
    assert!(!now.contains("quirk=1"), "{now}");
}

#[test]
fn recover_with_a_conflict_leaves_a_file_that_boots() {
    let dir = grub();
    let root = dir.path();
    let before = text(root, CONFIG);
    half("recover_with_a_conflict_leaves_a_file_that_boots", root, 1);
    put(root, DROP_IN, "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX quirk=1 mine\"\n");
    assert!(text(root, CONFIG).is_empty());
    let journal = open(root).unwrap();
    assert!(matches!(journal.recovered()[0], Recovered::Stuck { .. }));
    assert_eq!(text(root, CONFIG), before);
    assert!(text(root, DROP_IN).contains("mine"));
}

#[test]
fn recover_edit_of_a_person_is_kept_and_named() {
    let dir = grub();
    let root = dir.path();
    half("recover_edit_of_a_person_is_kept_and_named", root, 2);
    let edited = format!("set timeout=7\n{}", text(root, CONFIG));
    put(root, CONFIG, &edited);
    let journal = open(root).unwrap();
    let Recovered::Stuck { error, .. } = &journal.recovered()[0] else { panic!() };
    assert!(error.to_string().contains("set timeout=7"), "{error}");
    assert_eq!(text(root, CONFIG), edited);
}

#[test]
fn recover_rest_of_a_failed_rollback_after_a_kernel_update_keeps_its_entries() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let dir = grub();
    let root = dir.path();
    let boot = root.join("boot/grub");
    // Nothing can be renamed over it.
    put(root, "after", "chattr +i grub.cfg; exit 1");
    let failed = open(root).unwrap().apply(&plan(), &mut Silent).unwrap_err();
    let status = Command::new("chattr").arg("-i").arg(boot.join("grub.cfg")).status();
    if !status.is_ok_and(|status| status.success())
        || failed.to_string().contains("Everything was restored")
    {
        // No such attribute on this filesystem.
        return;
    }
    fs::remove_file(root.join("after")).unwrap();
    install(root, "7");
    remove(root, "6");
    run(root, "update-grub");
    taken_back(open(root).unwrap().recovered());
    let now = text(root, CONFIG);
    assert!(now.contains("vmlinuz-7") && !now.contains("vmlinuz-6"), "{now}");
}

#[test]
fn recover_killed_undo_after_another_kernel_update_keeps_its_entries() {
    for hook in ["before", "after"] {
        let dir = grub();
        let root = dir.path();
        apply(root, &plan());
        install(root, "7");
        run(root, "update-grub");
        put(root, hook, ": > grub.cfg; kill -9 $PPID; sleep 1");
        killed("recover_killed_undo_after_another_kernel_update_keeps_its_entries", root, |root| {
            drop(open(root).unwrap().undo(Which::Last, Force::No));
        });
        install(root, "8");
        for version in ["6", "7"] {
            remove(root, version);
        }
        run(root, "update-grub");
        let journal = open(root).unwrap();
        assert!(journal.entries().is_empty(), "{:?}", journal.recovered());
        let now = text(root, CONFIG);
        assert!(now.contains("vmlinuz-8") && !now.contains("vmlinuz-6"), "{hook}: {now}");
        assert!(!now.contains("quirk=1"), "{now}");
    }
}

#[test]
fn recover_killed_edit_of_entries_keeps_those_installed_since_and_brings_no_dead_ones_back() {
    let test =
        "recover_killed_edit_of_entries_keeps_those_installed_since_and_brings_no_dead_ones_back";
    for hook in ["before", "after"] {
        let dir = entries();
        let root = dir.path();
        put(root, hook, "kill -9 $PPID; sleep 1");
        killed(test, root, |root| drop(open(root).unwrap().apply(&grubby(), &mut Silent)));
        add_entry(root, "7", " quirk=1");
        put(root, "boot/grub/grubenv", "saved_entry=id-7\n");
        remove(root, "5");
        fs::remove_file(root.join(ENTRIES).join("id-5.conf")).unwrap();
        let path = format!("{ENTRIES}/id-6.conf");
        put(root, &path, &text(root, &path).replace("quiet", "quiet audit=1"));
        let report = taken_back(open(root).unwrap().recovered()).clone();
        // It is not known who added a word after that of a person.
        let named = report.troubles.iter().all(|it| it.contains("id-6.conf was changed since"));
        assert!(named && report.troubles.len() == usize::from(hook == "after"), "{report:?}");
        assert_eq!(text(root, &path), entry("6", "").replace("quiet", "quiet audit=1"));
        assert_eq!(text(root, &format!("{ENTRIES}/id-7.conf")), entry("7", ""));
        assert_eq!(text(root, "boot/grub/grubenv"), "saved_entry=id-7\n");
        assert!(!root.join(ENTRIES).join("id-5.conf").exists(), "{hook}");
    }
}

#[test]
fn undo_by_force_makes_the_file_again_and_never_by_an_old_copy() {
    for fails in [false, true] {
        let dir = grub();
        let root = dir.path();
        apply(root, &plan());
        install(root, "7");
        remove(root, "6");
        run(root, "update-grub");
        let before = text(root, CONFIG);
        if fails {
            put(root, "before", "exit 1");
        }
        let result = undo(root, Force::Yes);
        let now = text(root, CONFIG);
        assert_eq!(result.is_err(), fails, "{result:?}");
        assert!(now.contains("vmlinuz-7") && !now.contains("vmlinuz-6"), "{now}");
        assert_eq!(now == before, fails);
    }
}

#[test]
fn undo_by_force_brings_no_entries_of_dead_kernels_back() {
    for (plan, force) in [(0, Force::No), (0, Force::Yes), (1, Force::No), (1, Force::Yes)] {
        let dir = entries();
        let root = dir.path();
        apply(root, &if plan == 0 { edits(root) } else { grubby() });
        remove(root, "5");
        fs::remove_file(root.join(ENTRIES).join("id-5.conf")).unwrap();
        assert!(open(root).unwrap().entries()[0].holds(&place(root)).all());
        let reports = undo(root, force).unwrap();
        assert!(reports[0].troubles.is_empty(), "{reports:?}");
        let named = reports[0].kept.iter().any(|it| it.contains("id-5.conf: it was removed since"));
        assert!(named, "{reports:?}");
        assert!(!root.join(ENTRIES).join("id-5.conf").exists());
        assert_eq!(text(root, &format!("{ENTRIES}/id-6.conf")), entry("6", ""));
    }
}

#[test]
fn undo_follows_an_entry_whose_count_of_boots_changed() {
    for (before, after) in [("id-6", "id-6+2-1"), ("id-6+3", "id-6"), ("id-6+3", "id-6+2-1")] {
        let dir = entries();
        let root = dir.path();
        let path = |name: &str| root.join(ENTRIES).join(format!("{name}.conf"));
        let mut plan = edits(root);
        if before != "id-6" {
            fs::rename(path("id-6"), path(before)).unwrap();
            if let Action::Write { path, .. } = &mut plan.steps[1].action {
                *path = format!("/{ENTRIES}/{before}.conf").into();
            }
        }
        apply(root, &plan);
        fs::rename(path(before), path(after)).unwrap();
        assert!(open(root).unwrap().entries()[0].holds(&place(root)).all(), "{after}");
        let reports = undo(root, Force::No).unwrap();
        assert!(!path(before).exists(), "{after}: {reports:?}");
        assert_eq!(fs::read_to_string(path(after)).unwrap(), entry("6", ""));
        assert!(
            reports[0].kept[0].contains(&format!("it is now /{ENTRIES}/{after}.conf")),
            "{reports:?}"
        );
    }
}

#[test]
fn undo_names_entries_made_since_that_have_the_words() {
    let dir = entries();
    let root = dir.path();
    apply(root, &edits(root));
    add_entry(root, "7", " quirk=1");
    add_entry(root, "8", "");
    let reports = undo(root, Force::No).unwrap();
    let troubles = &reports[0].troubles;
    assert!(troubles[0].contains("id-7.conf") && troubles[0].contains("has quirk=1"));
    assert_eq!(troubles.len(), 1, "{troubles:?}");
}

#[test]
fn undo_of_removed_words_is_refused_until_they_are_back() {
    let dir = grub();
    let root = dir.path();
    apply(root, &plan_of_removal());
    install(root, "7");
    run(root, "update-grub");
    for without in ["exit 0", "GRUB_CMDLINE_LINUX=quiet"] {
        put(root, "before", without);
        let mut journal = open(root).unwrap();
        let error = match journal.recovered() {
            [Recovered::Stuck { error, .. }] => error.to_string(),
            _ => journal.undo(Which::Last, Force::No).unwrap_err().to_string(),
        };
        assert!(error.contains("lacks splash"), "{error}");
    }
    put(root, "before", "");
    let journal = open(root).unwrap();
    assert!(journal.entries().is_empty(), "{:?}", journal.recovered());
    assert_eq!(text(root, CONFIG).matches("splash").count(), 2);
}

#[test]
fn undo_with_the_word_in_settings_of_others_ends_and_names_them() {
    for made in [false, true] {
        let dir = grub();
        let root = dir.path();
        apply(root, &plan());
        put(root, "etc/default/grub", "GRUB_CMDLINE_LINUX=\"quiet splash quirk=1\"\n");
        if made {
            run(root, "update-grub");
        }
        let reports = undo(root, Force::No).unwrap();
        let kept = &reports[0].kept;
        assert!(
            kept.iter()
                .any(|it| it.contains("quirk=1 is also in") && it.contains("etc/default/grub"))
        );
        assert_eq!(
            kept.iter().filter(|it| it.contains("quirk=1 is also in")).count(),
            1,
            "{kept:?}"
        );
        assert!(!root.join(DROP_IN).exists());
        assert_eq!(text(root, "etc/default/grub").matches("quirk=1").count(), 1);
        // It does not prevent the next change.
        run(root, "update-grub");
        let mut next = plan_of_removal();
        let content = "GRUB_CMDLINE_LINUX=\"quiet quirk=1\"\n";
        *next.steps.first_mut().unwrap() = write("/etc/default/grub", content);
        apply(root, &next);
    }
}

#[test]
fn undo_with_a_program_that_cannot_run_changes_nothing() {
    for how in ["missing", "linked", "directory", "link"] {
        let dir = grub();
        let root = dir.path();
        apply(root, &plan());
        install(root, "7");
        run(root, "update-grub");
        match how {
            "missing" => fs::remove_file(root.join("usr/sbin/update-grub")).unwrap(),
            "link" => {
                fs::rename(root.join(CONFIG), root.join("boot/grub/real.cfg")).unwrap();
                std::os::unix::fs::symlink("real.cfg", root.join(CONFIG)).unwrap();
            }
            "linked" => fs::hard_link(root.join(CONFIG), root.join("boot/second")).unwrap(),
            _ => {
                fs::remove_file(root.join(CONFIG)).unwrap();
                fs::create_dir(root.join(CONFIG)).unwrap();
            }
        }
        let before = picture(root);
        let error = undo(root, Force::No).unwrap_err();
        assert!(!matches!(error, JournalError::Partly { .. }), "{how}: {error}");
        let after = picture(root);
        assert_eq!(before, after, "{how}: {}", differences(&before, &after));
        assert_eq!(
            open(root).unwrap().entries()[0].phase,
            clocksmith_change::journal::Phase::Applied
        );
    }
}

#[test]
fn undo_of_a_file_that_is_a_link_looks_at_what_it_leads_to() {
    let dir = grub();
    let root = dir.path();
    fs::rename(root.join(CONFIG), root.join("boot/grub/real.cfg")).unwrap();
    std::os::unix::fs::symlink("real.cfg", root.join(CONFIG)).unwrap();
    let script = UPDATE_GRUB
        .replace("mv grub.cfg.new grub.cfg", "cat grub.cfg.new > grub.cfg; rm grub.cfg.new");
    put(root, "usr/sbin/update-grub", &script);
    let before = text(root, CONFIG);
    apply(root, &plan());
    assert!(text(root, CONFIG).contains("quirk=1"));
    install(root, "7");
    run(root, "update-grub");
    undo(root, Force::No).unwrap();
    assert!(root.join(CONFIG).is_symlink());
    assert!(!text(root, CONFIG).contains("quirk=1") && text(root, CONFIG).contains("vmlinuz-7"));
    // A program without effect is seen.
    remove(root, "7");
    put(root, "boot/grub/real.cfg", &before);
    put(root, "before", "exit 0");
    let error = open(root).unwrap().apply(&plan(), &mut Silent).unwrap_err().to_string();
    assert!(error.contains("lacks quirk=1"), "{error}");
}

#[test]
fn undo_names_a_kernel_that_its_program_emptied_before() {
    let dir = grub();
    let root = dir.path();
    apply(root, &plan());
    install(root, "7");
    run(root, "update-grub");
    put(root, "after", ": > ../vmlinuz-6");
    assert!(undo(root, Force::No).unwrap_err().to_string().contains("vmlinuz-6"));
    fs::remove_file(root.join("after")).unwrap();
    let report = taken_back(open(root).unwrap().recovered()).clone();
    assert!(report.troubles.iter().any(|it| it.contains("vmlinuz-6 is empty")), "{report:?}");
}

#[test]
fn holds_after_others_made_the_files_anew_while_they_have_the_words() {
    let dir = grub();
    let root = dir.path();
    apply(root, &plan());
    install(root, "7");
    run(root, "update-grub");
    let all = || open(root).unwrap().entries()[0].holds(&place(root)).all();
    assert!(all());
    let without = text(root, CONFIG).replacen(" quirk=1", "", 1);
    put(root, CONFIG, &without);
    assert!(!all());

    let dir = entries();
    let root = dir.path();
    apply(root, &grubby());
    put(root, "boot/grub/grubenv", "saved_entry=id-6\nboot_success=1\n");
    add_entry(root, "7", " quirk=1");
    let all = || open(root).unwrap().entries()[0].holds(&place(root)).all();
    assert!(all());
    add_entry(root, "8", "");
    // Without another difference, a search for the new entry is not made.
    put(root, "boot/grub/grubenv", "saved_entry=id-8\n");
    assert!(!all());
}

#[test]
fn rollback_keeps_what_a_package_manager_installs_while_the_program_runs() {
    let dir = entries();
    let root = dir.path();
    let new = entry("7", "").replace('\n', "\\n");
    let install = format!(
        "printf kernel > ../../vmlinuz-7; printf disk > ../../initrd-7; printf '{new}' > id-7.conf; \
         echo saved_entry=id-7 > ../../grub/grubenv"
    );
    put(root, "after", &format!("{install}; exit 1"));
    let error = open(root).unwrap().apply(&grubby(), &mut Silent).unwrap_err().to_string();
    assert!(error.contains("id-7.conf"), "{error}");
    assert!(root.join(ENTRIES).join("id-7.conf").exists());
    assert_eq!(text(root, "boot/grub/grubenv"), "saved_entry=id-7\n");
    assert_eq!(text(root, &format!("{ENTRIES}/id-6.conf")), entry("6", ""));
}

#[test]
fn undo_by_a_program_that_edits_all_entries_keeps_the_words_of_others() {
    let dir = entries();
    let root = dir.path();
    let own = entry("5", " quirk=1");
    put(root, &format!("{ENTRIES}/id-5.conf"), &own);
    apply(root, &grubby());
    // A kernel, from the line of the change.
    install(root, "7");
    add_entry(root, "7", " quirk=1");
    let reports = undo(root, Force::No).unwrap();
    assert_eq!(text(root, &format!("{ENTRIES}/id-5.conf")), own);
    for version in ["6", "7"] {
        assert!(!text(root, &format!("{ENTRIES}/id-{version}.conf")).contains("quirk=1"));
    }
    assert!(reports[0].troubles.is_empty(), "{reports:?}");
}

#[test]
fn undo_of_a_line_that_others_rewrote_since_names_the_word_that_it_lost() {
    let dir = entries();
    let root = dir.path();
    apply(root, &grubby());
    let path = format!("{ENTRIES}/id-5.conf");
    put(root, &path, &text(root, &path).replace(" quirk=1", " mine=1 quirk=1"));
    let reports = undo(root, Force::No).unwrap();
    let [trouble] = reports[0].troubles.as_slice() else { panic!("{reports:?}") };
    assert!(trouble.contains("id-5.conf was changed since, and lost quirk=1"), "{trouble}");
}

#[test]
fn undo_while_the_directory_of_the_entries_is_empty_is_refused() {
    let dir = entries();
    let root = dir.path();
    apply(root, &edits(root));
    let all = || open(root).unwrap().entries()[0].holds(&place(root)).all();
    assert!(all());
    fs::rename(root.join(ENTRIES), root.join("elsewhere")).unwrap();
    assert!(!all());
    let error = undo(root, Force::No).unwrap_err().to_string();
    assert!(error.contains("does not exist, and neither does any other entry"), "{error}");
    fs::rename(root.join("elsewhere"), root.join(ENTRIES)).unwrap();
    undo(root, Force::No).unwrap();
    assert!(!text(root, &format!("{ENTRIES}/id-5.conf")).contains("quirk=1"));
}

#[test]
fn undo_leaves_the_word_of_an_entry_that_is_older_than_the_change() {
    let dir = entries();
    let root = dir.path();
    let plan = edits(root);
    add_entry(root, "4", " quirk=1");
    // Times of files are compared in seconds.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    apply(root, &plan);
    let reports = undo(root, Force::No).unwrap();
    assert!(reports[0].troubles.is_empty(), "{reports:?}");
    assert!(reports[0].kept.iter().any(|it| it.contains("id-4.conf: it is older")), "{reports:?}");
}

#[test]
fn holds_below_a_later_change_of_the_same_files_is_true_until_it_takes_the_words_away() {
    let dir = entries();
    let root = dir.path();
    apply(root, &edits(root));
    let path = format!("{ENTRIES}/id-5.conf");
    let other = |from: &str, to: &str, cmdline: Change| Plan {
        steps: vec![write(&format!("/{path}"), &text(root, &path).replace(from, to))],
        cmdline,
        ..edits(root)
    };
    let holds = || {
        let journal = open(root).unwrap();
        let (first, later) = journal.entries().split_first().unwrap();
        first.holds_below(&place(root), later).all()
    };
    let words = |add: &[&str], remove: &[&str]| Change {
        add: add.iter().map(|it| (*it).to_owned()).collect(),
        remove: remove.iter().map(|it| (*it).to_owned()).collect(),
    };
    let plan = Plan {
        expected: Change::default(),
        ..other("quirk=1", "quirk=1 more=1", words(&["more=1"], &[]))
    };
    apply(root, &plan);
    assert!(holds());
    let plan =
        Plan { expected: Change::default(), ..other(" quirk=1", "", words(&[], &["quirk=1"])) };
    apply(root, &plan);
    assert!(!holds());
}
