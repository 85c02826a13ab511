//! A program of a boot loader that does its work, and changes other files beside it.

use super::*;

/// As [`refused`], of a program that does its work and this, for a reason that names this file.
fn refused_beside(more: &str, file: &str, why: &str) {
    let dir = system(&format!("{WORK}; {more}"));
    let root = dir.path();
    fs::write(root.join("boot/vmlinuz-6"), "kernel").unwrap();
    fs::write(root.join("boot/loader/entries/a.conf"), ENTRY).unwrap();
    let before = picture(root);
    let error = open(root).unwrap().apply(&plan(), &mut Silent).unwrap_err();
    assert!(matches!(error.end, End::RolledBack(_)), "{more}: {error}");
    assert!(matches!(error.cause, JournalError::NotMade { .. }), "{more}: {error}");
    let text = error.to_string();
    assert!(text.contains(file) && text.contains(why), "{more}: {text}");
    let after = picture(root);
    assert_eq!(before, after, "{more}: {}", differences(&before, &after));
}

#[test]
fn program_that_changes_settings_beside_its_file_is_restored() {
    let append = "echo 'GRUB_CMDLINE_LINUX=init=/bin/sh' >>";
    for (more, file) in [
        (format!("{append} $ROOT/etc/default/grub"), "etc/default/grub"),
        (
            format!("mkdir -p $ROOT/etc/default/grub.d; {append} $ROOT/etc/default/grub.d/99.cfg"),
            "grub.d/99.cfg",
        ),
        ("echo init=/bin/sh >> $ROOT/etc/kernel/cmdline".to_owned(), "share/real/cmdline"),
        ("echo y > $ROOT/boot/grub/custom.cfg".to_owned(), "grub/custom.cfg"),
        ("rm $ROOT/etc/default/grub".to_owned(), "etc/default/grub"),
        ("chmod 666 $ROOT/etc/default/grub".to_owned(), "etc/default/grub"),
    ] {
        refused_beside(&more, file, "not part of this change");
    }
    refused_beside(
        &format!("{append} $ROOT/etc/default/grub"),
        "etc/default/grub",
        "`GRUB_CMDLINE_LINUX=init=/bin/sh`",
    );
}

#[test]
fn program_that_adds_an_entry_of_another_loader_is_restored() {
    let entry = |text: &str| format!("printf '{text}' > ../loader/entries/evil.conf");
    for (text, why) in [
        ("title x\\nlinux /vmlinuz-6\\noptions init=/bin/sh\\n", "already has an entry"),
        ("title x\\nlinux /vmlinuz-9\\noptions root=/dev/vda quiet\\n", "does not exist"),
        ("title x\\nefi /shell.efi\\n", "starts no Linux kernel"),
    ] {
        refused_beside(&entry(text), "loader/entries/evil.conf", why);
    }
    for (text, why) in [
        (
            "title x\\nlinux /vmlinuz-7\\ninitrd /i-7\\noptions root=/dev/vda quiet init=/bin/sh\\n",
            "differs from the previous ones",
        ),
        (
            "title x\\nlinux /vmlinuz-7\\noptions root=/dev/vda quiet\\n",
            "differs from the previous ones",
        ),
        (
            "title x\\nlinux /vmlinuz-7\\ninitrd /i-7\\ndevicetree /x\\noptions root=/dev/vda quiet\\n",
            "differs from the previous ones",
        ),
    ] {
        let dir = system(&format!("{WORK}; {}", entry(text)));
        let root = dir.path();
        for name in ["6", "7"] {
            fs::write(root.join(format!("boot/vmlinuz-{name}")), "kernel").unwrap();
        }
        fs::write(root.join("boot/loader/entries/a.conf"), ENTRY).unwrap();
        let before = picture(root);
        let error = open(root).unwrap().apply(&plan(), &mut Silent).unwrap_err().to_string();
        assert!(error.contains("evil.conf") && error.contains(why), "{text}: {error}");
        assert_eq!(before, picture(root), "{text}");
    }
    // Where no entries were.
    let dir = system(&format!(
        "{WORK}; mkdir -p ../efi/loader/entries; {}",
        entry("linux /vmlinuz-6\\n")
    ));
    fs::write(dir.path().join("boot/vmlinuz-6"), "kernel").unwrap();
    fs::remove_file(dir.path().join("boot/loader/entries/old.conf")).unwrap();
    let error = open(dir.path()).unwrap().apply(&plan(), &mut Silent).unwrap_err().to_string();
    assert!(
        error.contains("evil.conf") && error.contains("differs from the previous ones"),
        "{error}"
    );
    assert!(!dir.path().join("boot/loader/entries/evil.conf").exists());
}

/// The state after a program that did its work and this, of a system with these files in `/boot`.
fn beside(more: &str, why: &str, same: bool) {
    let dir = system(&format!("{WORK}; {more}"));
    let root = dir.path();
    for name in ["boot/vmlinuz-6", "boot/initrd.img-6", "boot/efi/EFI/debian/grub.cfg"] {
        fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
        fs::write(root.join(name), format!("content of {name}")).unwrap();
        common::age(&root.join(name));
    }
    let before = picture(root);
    let error = open(root).unwrap().apply(&plan(), &mut Silent).unwrap_err();
    assert!(matches!(error.end, End::RolledBack(_)), "{more}: {error}");
    assert!(error.to_string().contains(why), "{more}: {error}");
    // The program says that everything is restored only if it is.
    assert_eq!(error.to_string().contains("Everything was restored"), same, "{more}: {error}");
    let after = picture(root);
    assert_eq!(before == after, same, "{more}: {}", differences(&before, &after));
}

#[test]
fn program_that_changes_boot_beside_its_files_is_restored() {
    for (more, why) in [
        ("chmod 777 .", "boot/grub had its mode changed from 0755 to 0777 (it was restored)"),
        ("chmod 666 ../vmlinuz-6", "vmlinuz-6 had its mode changed"),
        ("rm ../vmlinuz-6", "vmlinuz-6 was removed (it was restored)"),
        ("rm ../initrd.img-6 ../vmlinuz-6", "vmlinuz-6 was removed (it was restored)"),
        ("echo configfile /evil > ../efi/EFI/debian/grub.cfg", "debian/grub.cfg was changed"),
        ("mkdir ../efi/EFI/x; echo > ../efi/EFI/x/grub.cfg", "x/grub.cfg was made while it ran"),
        ("mkdir -p ../grub2 ../extlinux ../loader/x; exit 3", "status 3"),
        ("mkdir -p ../grub2; echo > ../grub2/grub.cfg", "grub2/grub.cfg was made while it ran"),
    ] {
        beside(more, why, true);
    }
    if rustix::process::geteuid().is_root() {
        beside(
            "chown 1001 .. .",
            "had its owner changed from 0:0 to 1001:0 (it was restored)",
            true,
        );
    }
    beside("> ../vmlinuz-6", "vmlinuz-6 became empty, and cannot be restored", false);
    beside(
        "printf EVIL | dd of=../initrd.img-6 conv=notrunc status=none",
        "initrd.img-6 was written again, in the same size",
        false,
    );
    beside(
        "printf EVIL | dd of=../vmlinuz-6 conv=notrunc status=none",
        "vmlinuz-6 was written again",
        false,
    );
    beside(
        "echo evil >> ../vmlinuz-6",
        "vmlinuz-6 is another kernel, and cannot be restored",
        false,
    );
}
