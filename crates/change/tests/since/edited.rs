//! Files of a change that others have edited since, boot loaders that were replaced, and entries that were made since.

use super::*;
use clocksmith_change::journal::StepStatus;
use std::path::Path;

fn path(version: &str) -> String {
    format!("{ENTRIES}/id-{version}.conf")
}

fn status(root: &Path) -> Vec<StepStatus> {
    open(root).unwrap().entries()[0].holds(&place(root)).steps
}

#[test]
fn undo_takes_its_word_alone_out_of_an_entry_that_others_rewrote() {
    for (force, now, left) in [
        (
            Force::No,
            "title Linux 5 (13)\nlinux /vmlinuz-5\noptions root=/dev/vda quiet quirk=1\n",
            true,
        ),
        (
            Force::Yes,
            "linux /vmlinuz-5\noptions root=/dev/vda quiet quirk=1 mine=1\ntitle x\n",
            true,
        ),
        (Force::No, "title Linux 5 (13)\nlinux /vmlinuz-5\noptions root=/dev/vda quiet\n", false),
    ] {
        let dir = entries();
        let root = dir.path();
        apply(root, &edits(root));
        put(root, &path("5"), now);
        assert_eq!(open(root).unwrap().entries()[0].holds(&place(root)).all(), left, "{now}");
        let reports = undo(root, force).unwrap();
        assert_eq!(text(root, &path("5")), now.replace(" quirk=1", ""));
        assert_eq!(text(root, &path("6")), entry("6", ""));
        let kept = &reports[0].kept;
        assert!(kept.iter().any(|it| it.contains("id-5.conf: it was changed since")), "{kept:?}");
    }
}

#[test]
fn undo_of_an_edit_whose_lines_are_not_certain_is_a_conflict() {
    for now in [
        "title x\noptions quirk=1 root=/dev/vda quirk=1\n",
        "title x\r\noptions root=/dev/vda quiet quirk=1\r\n",
        "title x\noptions quirk=1\noptions x quirk=1\n",
    ] {
        let dir = entries();
        let root = dir.path();
        apply(root, &edits(root));
        put(root, &path("5"), now);
        let error = undo(root, Force::No).unwrap_err();
        assert!(matches!(error, JournalError::Conflicts { .. }), "{error}");
        assert_eq!(text(root, &path("5")), now);
        assert!(text(root, &path("6")).contains("quirk=1"));
    }
}

#[test]
fn undo_of_two_changes_keeps_what_others_wrote_between_and_after() {
    let dir = entries();
    let root = dir.path();
    apply(root, &edits(root));
    put(root, &path("5"), &text(root, &path("5")).replace("title Linux", "title My"));
    let more = text(root, &path("5")).replace("quirk=1", "quirk=1 more=1");
    let words = Change { add: vec!["more=1".to_owned()], remove: Vec::new() };
    let plan = Plan {
        steps: vec![write(&format!("/{}", path("5")), &more)],
        cmdline: words.clone(),
        expected: words,
        ..edits(root)
    };
    apply(root, &plan);
    put(root, &path("5"), &text(root, &path("5")).replace("quiet", "loud"));
    open(root).unwrap().undo(Which::All, Force::No).unwrap();
    let left = entry("5", "").replace("title Linux", "title My").replace("quiet", "loud");
    assert_eq!(text(root, &path("5")), left);
    assert_eq!(text(root, &path("6")), entry("6", ""));
}

#[test]
fn undo_by_force_brings_no_entry_back_whose_kernel_is_gone() {
    let dir = entries();
    let root = dir.path();
    apply(root, &edits(root));
    remove(root, "5");
    install(root, "7");
    // Not certain: two words.
    let now = entry("7", " quirk=1 quirk=1");
    put(root, &path("5"), &now);
    let error = undo(root, Force::Yes).unwrap_err().to_string();
    assert!(error.contains("is gone (/initrd-5, /vmlinuz-5)"), "{error}");
    assert_eq!(text(root, &path("5")), now);
    let now = entry("7", "\r");
    put(root, &path("5"), &now);
    let reports = undo(root, Force::Yes).unwrap();
    assert_eq!(text(root, &path("5")), now);
    assert!(reports[0].kept.iter().any(|it| it.contains("id-5.conf")), "{reports:?}");
    assert_eq!(text(root, &path("6")), entry("6", ""));
}

#[test]
fn undo_after_the_boot_loader_was_replaced_ends() {
    for rest in ["gone", "without", "with"] {
        let dir = grub();
        let root = dir.path();
        apply(root, &plan());
        fs::remove_file(root.join("usr/sbin/update-grub")).unwrap();
        match rest {
            "gone" => fs::remove_dir_all(root.join("boot/grub")).unwrap(),
            "without" => {
                put(
                    root,
                    CONFIG,
                    &format!("# mine\n{}", text(root, CONFIG)).replace(" quirk=1", ""),
                );
            }
            _ => put(root, CONFIG, &format!("# mine\n{}", text(root, CONFIG))),
        }
        let result = undo(root, Force::No);
        if rest == "with" {
            assert!(result.unwrap_err().to_string().contains("not installed"));
            assert!(root.join(DROP_IN).exists());
            continue;
        }
        let reports = result.unwrap();
        assert!(reports[0].kept.iter().any(|it| it.contains("no longer installed")), "{reports:?}");
        assert!(!root.join(DROP_IN).exists());
        assert_eq!(root.join(CONFIG).exists(), rest == "without");
        assert!(open(root).unwrap().entries().is_empty());
    }
}

#[test]
fn undo_of_settings_keeps_the_edits_of_others_and_makes_the_menu_again() {
    let dir = grub();
    let root = dir.path();
    apply(root, &plan_of_removal());
    put(root, "etc/default/grub", "GRUB_TIMEOUT=9\nGRUB_CMDLINE_LINUX=\"quiet\"\n");
    run(root, "update-grub");
    undo(root, Force::No).unwrap();
    let left = "GRUB_TIMEOUT=9\nGRUB_CMDLINE_LINUX=\"quiet splash\"\n";
    assert_eq!(text(root, "etc/default/grub"), left);
    assert!(text(root, CONFIG).contains("quiet splash"));
}

#[test]
fn holds_until_an_entry_is_made_that_lacks_the_words() {
    let dir = entries();
    let root = dir.path();
    apply(root, &edits(root));
    add_entry(root, "7", " quirk=1");
    // Another kind of entry.
    put(root, &path("rescue-8"), &entry("8", ""));
    put(root, &path("9"), &entry("9", " single"));
    assert!(open(root).unwrap().entries()[0].holds(&place(root)).all());
    add_entry(root, "8", "");
    let said: Vec<String> = status(root)
        .iter()
        .filter_map(|step| match step {
            StepStatus::Changed(all) => Some(format!("{} {}", all[0].0.display(), all[0].1)),
            _ => None,
        })
        .collect();
    let [said] = said.as_slice() else { panic!("{said:?}") };
    assert!(said.ends_with("id-8.conf was made since, and lacks quirk=1"), "{said}");
}

#[test]
fn undo_by_force_of_an_edited_drop_in_makes_the_menu_without_its_words() {
    let dir = grub();
    let root = dir.path();
    apply(root, &plan());
    put(root, DROP_IN, &text(root, DROP_IN).replace("quirk=1", "quirk=2 mine=1"));
    run(root, "update-grub");
    assert!(matches!(undo(root, Force::No).unwrap_err(), JournalError::Conflicts { .. }));
    undo(root, Force::Yes).unwrap();
    assert!(!root.join(DROP_IN).exists());
    let made = text(root, CONFIG);
    assert!(made.contains("quiet splash\n") && !made.contains("quirk"), "{made}");
}
