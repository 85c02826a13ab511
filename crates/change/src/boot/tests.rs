//! Whole systems, each with files as its distribution documents them.

use super::*;
use crate::system::{Os, System};
use proptest::prelude::*;
use std::path::Path;

mod certain;
mod length;
mod loaders;

/// Without a boot loader that was named.
fn plan(system: &System, change: &Change) -> Result<Way, NoWay> {
    super::plan(system, change, None)
}

fn tsc() -> Change {
    change(&["clocksource=tsc"], &[])
}

fn system(id: &str, like: &str, programs: &[&str]) -> System {
    let os = Os {
        id: id.to_owned(),
        like: like.split_whitespace().map(str::to_owned).collect(),
        ..Os::default()
    };
    let programs = programs.iter().map(|program| (*program).to_owned()).collect();
    System { os, programs, live: true, systemd: true, ..System::default() }
}

/// The files to write, by path, and the commands to run.
fn effects(way: &Way) -> (Vec<(String, String)>, Vec<String>) {
    let (mut files, mut commands) = (Vec::new(), Vec::new());
    for step in &way.steps {
        match &step.action {
            Action::Write { path, content, .. } => {
                files.push((path.display().to_string(), content.clone()))
            }
            Action::Run { command, .. } => commands.push(command.join(" ")),
            other => panic!("{other:?}"),
        }
    }
    (files, commands)
}

/// The system after the files were written.
fn after(system: &System, way: &Way) -> System {
    let (files, _) = effects(way);
    files.into_iter().fold(system.clone(), |system, (path, text)| system.with(&path, &text))
}

fn debian() -> System {
    system("debian", "", &["update-grub", "grub-mkconfig"])
        .with("/usr/sbin/grub-mkconfig", "for x in ${sysconfdir}/default/grub.d/*.cfg ; do\n")
        .with(
            "/etc/default/grub",
            "# If you change this file, run 'update-grub' afterwards to update\nGRUB_DEFAULT=0\n\
             GRUB_TIMEOUT=5\nGRUB_DISTRIBUTOR=`lsb_release -i -s 2> /dev/null || echo Debian`\n\
             GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\nGRUB_CMDLINE_LINUX=\"\"\n",
        )
        .with(
            "/boot/grub/grub.cfg",
            "menuentry 'Debian' {\n\tlinux /vmlinuz root=UUID=1 ro quiet\n}\n",
        )
}

#[test]
fn debian_gets_a_drop_in() {
    let way = plan(&debian(), &tsc()).unwrap();
    let (files, commands) = effects(&way);
    assert_eq!(files.len(), 1);
    assert_eq!(files[0].0, "/etc/default/grub.d/90-clocksmith.cfg");
    assert!(files[0].1.ends_with(
        "\nGRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT clocksource=tsc\"\n"
    ));
    assert_eq!(commands, ["update-grub"]);
    // A repetition changes nothing, and a second word is added to the same file.
    let later = after(&debian(), &way);
    assert_eq!(plan(&later, &tsc()).unwrap().steps, []);
    let (files, _) = effects(&plan(&later, &change(&["tsc=nowatchdog"], &[])).unwrap());
    assert!(files[0].1.contains("clocksource=tsc tsc=nowatchdog\""), "{}", files[0].1);
    assert_eq!(grub::value(&later, grub::VARIABLE), "quiet clocksource=tsc");
}

#[test]
fn debians_word_that_is_in_the_settings_is_not_written_twice() {
    for line in [
        "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet clocksource=tsc\"\n",
        "GRUB_CMDLINE_LINUX=\"clocksource=tsc\"\n",
    ] {
        let there = debian().with("/etc/default/grub", line);
        let way = plan(&there, &tsc()).unwrap();
        assert_eq!(way.steps, []);
        assert!(
            way.by_hand[0].ends_with("this generates it again: update-grub"),
            "{:?}",
            way.by_hand
        );
        let made = there.with("/boot/grub/grub.cfg", "\tlinux /vmlinuz ro clocksource=tsc\n");
        assert!(plan(&made, &tsc()).unwrap().by_hand.is_empty());
        let (files, _) =
            effects(&plan(&made, &change(&["clocksource=tsc", "nohz=off"], &[])).unwrap());
        assert!(files[0].1.ends_with("DEFAULT nohz=off\"\n"), "{files:?}");
    }
}

#[test]
fn debians_words_leave_where_they_stand() {
    let slow = debian().with(
        "/etc/default/grub",
        "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet clocksource=hpet\"\nGRUB_CMDLINE_LINUX=\"notsc\"\n",
    );
    let way = plan(&slow, &change(&[], &["clocksource=hpet", "notsc"])).unwrap();
    let (files, commands) = effects(&way);
    let expected = "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\nGRUB_CMDLINE_LINUX=\"\"\n";
    assert_eq!(files, [("/etc/default/grub".to_owned(), expected.to_owned())]);
    assert_eq!(commands, ["update-grub"]);
    let way = plan(&slow, &change(&[], &["tsc=unstable"])).unwrap();
    assert!(way.steps.is_empty() && way.notes[0].contains("another place"), "{way:?}");
}

#[test]
fn ubuntus_cloud_settings_do_not_win() {
    let cloud = |name: &str| {
        let path = format!("/etc/default/grub.d/{name}");
        let mut system = debian().with(&path, "# Cloud Image specific Grub settings\nGRUB_TIMEOUT=0\nGRUB_CMDLINE_LINUX_DEFAULT=\"console=tty1 console=ttyS0\"\n");
        system.os = Os { id: "ubuntu".into(), like: vec!["debian".into()], ..Os::default() };
        system
    };
    let (files, _) = effects(&plan(&cloud("50-cloudimg-settings.cfg"), &tsc()).unwrap());
    assert_eq!(files[0].0, "/etc/default/grub.d/90-clocksmith.cfg");
    // A drop-in that is read after clocksmith's would discard the value.
    let (files, _) = effects(&plan(&cloud("99-local.cfg"), &tsc()).unwrap());
    assert_eq!(files[0].0, "/etc/default/grub.d/zz-clocksmith.cfg");
    let error = plan(&cloud("zzz.cfg"), &tsc()).unwrap_err().to_string();
    assert!(error.contains("/etc/default/grub.d/zzz.cfg"), "{error}");
}

const ENTRY: &str = "title Red Hat Enterprise Linux\nversion 5.14.0-427\nlinux /vmlinuz-5.14.0-427\n\
                     initrd /initramfs-5.14.0-427.img $tuned_initrd\n\
                     options root=/dev/mapper/rhel-root ro crashkernel=1G $tuned_params\n\
                     grub_users $grub_users\ngrub_arg --unrestricted\ngrub_class rhel\n";

fn rhel9() -> System {
    system("rhel", "fedora", &["grubby", "grub2-mkconfig", "kernel-install"])
        .with("/boot/loader/entries/1-5.14.0.conf", ENTRY)
        .with("/boot/loader/entries/1-0-rescue.conf", ENTRY)
        .with("/boot/grub2/grub.cfg", "blscfg\n")
        .with(
            "/etc/default/grub",
            "GRUB_CMDLINE_LINUX=\"crashkernel=1G\"\nGRUB_ENABLE_BLSCFG=true\n",
        )
}

#[test]
fn rhel_is_changed_by_grubby() {
    let way = plan(&rhel9(), &change(&["clocksource=tsc", "tsc=nowatchdog"], &["notsc"])).unwrap();
    let (files, commands) = effects(&way);
    assert!(files.is_empty());
    assert_eq!(
        commands,
        ["grubby --update-kernel=ALL --args=clocksource=tsc tsc=nowatchdog --remove-args=notsc"]
    );
    let Action::Run { rewrites, regenerate, .. } = &way.steps[0].action else { panic!() };
    assert!(rewrites.iter().any(|path| path == Path::new("/boot/loader/entries")));
    assert!(
        regenerate
            .as_ref()
            .unwrap()
            .join(" ")
            .contains("--args=notsc --remove-args=clocksource=tsc")
    );
}

/// Some versions of grubby leave `/etc/kernel/cmdline` as it is, and kernels that are installed later would lack the words.
#[test]
fn grubby_comes_behind_the_line_for_new_kernels() {
    let line = "root=/dev/mapper/rhel-root ro notsc\n";
    let wanted = change(&["clocksource=tsc"], &["notsc"]);
    let way = plan(&rhel9().with("/etc/kernel/cmdline", line), &wanted).unwrap();
    assert!(matches!(way.steps[1].action, Action::Run { .. }), "{way:?}");
    let (files, commands) = effects(&way);
    let edited = "root=/dev/mapper/rhel-root ro clocksource=tsc\n".to_owned();
    assert_eq!(files, [("/etc/kernel/cmdline".to_owned(), edited)]);
    assert_eq!(commands.len(), 1);
    assert!(way.notes.is_empty(), "{way:?}");
    // The vendor's belongs to a package.
    let way = plan(&rhel9().with("/usr/lib/kernel/cmdline", "rw\n"), &tsc()).unwrap();
    let edited = ("/etc/kernel/cmdline".to_owned(), "rw clocksource=tsc\n".to_owned());
    assert_eq!(effects(&way).0, [edited]);
    // They take the running command line.
    let way = plan(&rhel9(), &tsc()).unwrap();
    assert!(way.notes.iter().any(|note| note.contains("before the next reboot")), "{way:?}");
    // Not where they take the variable of grubenv.
    let shared = ENTRY.replace("root=/dev/mapper/rhel-root ro crashkernel=1G", "$kernelopts");
    let block = "# GRUB Environment Block\nkernelopts=ro \n";
    let rhel8 = rhel9()
        .with("/boot/loader/entries/1-5.14.0.conf", &shared)
        .with("/boot/grub2/grubenv", block);
    assert!(plan(&rhel8, &tsc()).unwrap().notes.is_empty());
    // A file that is not understood.
    let error = plan(&rhel9().with("/etc/kernel/cmdline", "# x\nro\n"), &tsc()).unwrap_err();
    assert!(error.to_string().contains("/etc/kernel/cmdline"), "{error}");
}

#[test]
fn rhel_in_a_directory_is_edited() {
    let root = System { live: false, ..rhel9() };
    let way = plan(&root, &tsc()).unwrap();
    let (files, commands) = effects(&way);
    assert!(commands.is_empty());
    let expected = ENTRY.replace("$tuned_params", "$tuned_params clocksource=tsc");
    assert_eq!(files[0], ("/boot/loader/entries/1-5.14.0.conf".to_owned(), expected));
    assert_eq!(files[1].0, "/etc/default/grub");
    assert_eq!(files.len(), 2, "{files:?}");
    assert!(way.notes.iter().any(|note| note.contains("rescue")));
}

#[test]
fn entries_in_a_directory_without_grubby_are_edited_with_the_settings() {
    let mut root = System { live: false, ..rhel9() };
    root.programs.retain(|name| name != "grubby");
    let (files, commands) = effects(&plan(&root, &tsc()).unwrap());
    assert!(commands.is_empty(), "{commands:?}");
    let paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["/boot/loader/entries/1-5.14.0.conf", "/etc/default/grub"]);
    assert!(files.iter().all(|(_, text)| text.contains("clocksource=tsc")), "{files:?}");
}

#[test]
fn rhel_8_shares_a_variable() {
    let mut block =
        "# GRUB Environment Block\nsaved_entry=1-4.18\nkernelopts=root=/dev/sda1 ro \n".to_owned();
    block.extend(std::iter::repeat_n('#', 1024 - block.len()));
    let entry = "title RHEL 8\nlinux /vmlinuz\noptions $kernelopts $tuned_params\n";
    let root = System { live: false, ..system("rhel", "fedora", &["grubby"]) }
        .with("/boot/loader/entries/1-4.18.conf", entry)
        .with("/boot/loader/entries/1-4.19.conf", entry)
        .with("/boot/grub2/grubenv", &block);
    let (files, _) = effects(&plan(&root, &tsc()).unwrap());
    assert_eq!(files.len(), 1);
    assert_eq!((files[0].0.as_str(), files[0].1.len()), ("/boot/grub2/grubenv", 1024));
    assert!(files[0].1.contains("kernelopts=root=/dev/sda1 ro  clocksource=tsc\n#"));
}

#[test]
fn opensuse_reads_no_drop_ins() {
    let text = "GRUB_DISTRIBUTOR=\nGRUB_CMDLINE_LINUX_DEFAULT=\"splash=silent quiet\"\nGRUB_CMDLINE_LINUX=\"\"\n";
    let suse = system("opensuse-leap", "suse opensuse", &["grub2-mkconfig"])
        .with("/usr/sbin/grub2-mkconfig", ". ${sysconfdir}/default/grub\n")
        .with("/etc/default/grub", text)
        .with("/boot/grub2/grub.cfg", "linux /boot/vmlinuz splash=silent quiet\n");
    let (files, commands) =
        effects(&plan(&suse, &change(&["clocksource=tsc"], &["quiet"])).unwrap());
    let expected = text.replace("silent quiet", "silent clocksource=tsc");
    assert_eq!(files, [("/etc/default/grub".to_owned(), expected)]);
    assert_eq!(commands, ["grub2-mkconfig -o /boot/grub2/grub.cfg"]);
}

#[test]
fn systemd_boot_has_entries_and_a_line_for_new_kernels() {
    let entry = "title Arch Linux\nlinux /vmlinuz-linux\ninitrd /initramfs-linux.img\noptions root=UUID=1 rw\n";
    let arch = system("arch", "", &["bootctl", "kernel-install"])
        .with("/boot/loader/entries/arch.conf", entry);
    let way = plan(&arch, &tsc()).unwrap();
    let (files, _) = effects(&way);
    assert_eq!(
        files,
        [("/boot/loader/entries/arch.conf".to_owned(), entry.replace("rw", "rw clocksource=tsc"))]
    );
    assert!(way.notes[0].contains("installed later"));
    let (files, _) = effects(
        &plan(&arch.clone().with("/etc/kernel/cmdline", "root=UUID=1 rw\n"), &tsc()).unwrap(),
    );
    assert_eq!(
        files[1],
        ("/etc/kernel/cmdline".to_owned(), "root=UUID=1 rw clocksource=tsc\n".to_owned())
    );
    // The package's file stays; clocksmith's file is read instead.
    let (files, _) = effects(&plan(&arch.with("/usr/lib/kernel/cmdline", "rw\n"), &tsc()).unwrap());
    assert_eq!(files[1], ("/etc/kernel/cmdline".to_owned(), "rw clocksource=tsc\n".to_owned()));
}

#[test]
fn microos_in_a_directory_has_its_own_tool() {
    let settings = "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n";
    let micro = system("opensuse-microos", "suse", &["transactional-update", "grub2-mkconfig"])
        .with("/etc/default/grub", settings)
        .with("/boot/grub2/grub.cfg", "menuentry 'a' {\n linux /vmlinuz\n}\n");
    let micro = System { live: false, ..micro };
    let way = plan(&micro, &tsc()).unwrap();
    assert_eq!(way.by, "transactional-update");
    assert!(effects(&way).1.is_empty());
    // A program that is installed and not used.
    let mut leap = micro.clone();
    leap.os.id = "opensuse-leap".to_owned();
    assert_ne!(plan(&leap, &tsc()).unwrap().by, "transactional-update");
    let mut entries = micro.with("/boot/efi/loader/entries/a.conf", "linux /a\noptions ro\n");
    entries.programs.insert("sdbootutil".to_owned());
    assert!(plan(&entries, &tsc()).is_err());
}

#[test]
fn alpine_and_u_boot_have_generators() {
    let text = "# configuration for extlinux\noverwrite=1\ndefault_kernel_opts=\"quiet rootfstype=ext4\"\nroot=UUID=1\n";
    let alpine = system("alpine", "", &["update-extlinux"])
        .with("/etc/update-extlinux.conf", text)
        .with("/boot/extlinux.conf", "LABEL lts\n  APPEND root=UUID=1 quiet\n");
    let (files, commands) = effects(&plan(&alpine, &tsc()).unwrap());
    assert_eq!(files[0].1, text.replace("ext4\"", "ext4 clocksource=tsc\""));
    assert_eq!(commands, ["update-extlinux"]);
    let board = system("debian", "", &["u-boot-update"])
        .with("/etc/default/u-boot", "#U_BOOT_PARAMETERS=\"ro quiet\"\n");
    let (files, commands) =
        effects(&plan(&board, &change(&["clocksource=tsc"], &["quiet"])).unwrap());
    assert_eq!(
        files[0].1,
        "#U_BOOT_PARAMETERS=\"ro quiet\"\nU_BOOT_PARAMETERS=\"ro clocksource=tsc\"\n"
    );
    assert_eq!(commands, ["u-boot-update"]);
}

#[test]
fn mainframes_and_small_boards() {
    let text = "[defaultboot]\ndefault = linux\n[linux]\n  image = /boot/image\n  parameters = \"root=/dev/dasda1 ro\"\n";
    let (files, commands) = effects(
        &plan(
            &system("rhel", "", &["zipl"]).with("/etc/zipl.conf", text),
            &change(&["x=1"], &["ro"]),
        )
        .unwrap(),
    );
    assert_eq!(files[0].1, text.replace(" ro\"", " x=1\""));
    assert_eq!(commands, ["zipl"]);
    let board = system("raspbian", "debian", &[])
        .with(
            "/boot/firmware/config.txt",
            "# x\r\n[pi4]\r\narm_boost=1\n[all]\ncmdline=cmdline.txt\n",
        )
        .with("/boot/firmware/cmdline.txt", "console=tty1 rootwait\n");
    let (files, _) = effects(&plan(&board, &change(&["x=1"], &[])).unwrap());
    assert_eq!(files[0].1, "console=tty1 rootwait x=1\n");
}

#[test]
fn images_are_not_touched() {
    let mut nixos =
        system("nixos", "", &["nixos-rebuild"]).with("/boot/loader/entries/n.conf", "options x\n");
    nixos.marks.nixos = true;
    let way = plan(&nixos, &tsc()).unwrap();
    assert!(way.steps.is_empty());
    assert!(
        way.by_hand
            .iter()
            .any(|line| line.contains("boot.kernelParams = [ \"clocksource=tsc\" ];"))
    );
    let way = plan(&system("flatcar", "coreos", &[]), &tsc()).unwrap();
    assert!(way.steps.is_empty());
    assert!(
        way.by_hand
            .iter()
            .any(|line| line.contains("linux_append=\"$linux_append clocksource=tsc\""))
    );
    let mut bootc = system("fedora", "", &["bootc", "rpm-ostree"]);
    bootc.marks.bootc = true;
    let way = plan(&bootc, &tsc()).unwrap();
    assert!(
        way.steps.is_empty()
            && way.by_hand.iter().any(|l| l.contains("kargs = [\"clocksource=tsc\"]"))
    );
    let mut coreos =
        system("fedora", "", &["rpm-ostree"]).with("/boot/loader/entries/o.conf", "options x\n");
    coreos.marks.ostree = true;
    coreos.os.variant = "coreos".into();
    let way = plan(&coreos, &change(&["a=1"], &["b"])).unwrap();
    let (_, commands) = effects(&way);
    assert_eq!(commands, ["rpm-ostree kargs --delete-if-present=b --append-if-missing=a=1"]);
    let Action::Run { undo, .. } = &way.steps[0].action else { panic!() };
    assert_eq!(
        undo.as_ref().unwrap().join(" "),
        "rpm-ostree kargs --delete-if-present=a=1 --append-if-missing=b"
    );
    assert!(way.by_hand.iter().any(|line| line.contains("shouldExist")));
    let mut uki = system("arch", "", &["bootctl"]).with("/etc/kernel/cmdline", "rw\n");
    uki.unified.push("/efi/EFI/Linux/arch.efi".into());
    let way = plan(&uki, &tsc()).unwrap();
    assert!(way.steps.is_empty() && way.by_hand[0].ends_with("rw clocksource=tsc"));
}

#[test]
fn plan_unknown_or_unsafe_input_is_an_error() {
    assert!(matches!(plan(&system("x", "", &[]), &tsc()), Err(NoWay::Unknown(_))));
    let by_hand =
        system("x", "", &[]).with("/boot/grub/grub.cfg", "menuentry 'a' {\nlinux /v\n}\n");
    let error = plan(&by_hand, &tsc()).unwrap_err().to_string();
    assert!(error.contains("/boot/grub/grub.cfg: no program that generates it"), "{error}");
    for word in ["a b", "a\"; reboot", "$(x)", "a\nb", ""] {
        assert!(matches!(plan(&debian(), &change(&[word], &[])), Err(NoWay::Word(_))), "{word:?}");
    }
    let strange = system("arch", "", &["grub-mkconfig"])
        .with("/etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"a\"\"b\"\n");
    assert!(matches!(plan(&strange, &tsc()), Err(NoWay::File { .. })));
    let both = debian().with("/boot/loader/entries/x.conf", "linux /x\noptions a\n");
    // Two loaders: the running command line decides.
    let grub = both.clone().with("/proc/cmdline", "BOOT_IMAGE=/vmlinuz ro\n");
    assert_eq!(plan(&grub, &tsc()).unwrap().by, "GRUB (drop-in)");
    let other = both.with("/proc/cmdline", "initrd=\\x ro\n");
    assert_eq!(plan(&other, &tsc()).unwrap().by, "boot loader entries");
}

fn arch(text: &str) -> System {
    system("arch", "", &["grub-mkconfig"])
        .with("/usr/sbin/grub-mkconfig", "if test -f /etc/default/grub ; then\n")
        .with("/etc/default/grub", text)
}

#[test]
fn settings_that_may_not_be_reached_are_refused_with_their_line() {
    for (text, line) in [
        (
            "A=1\nif true; then\nGRUB_CMDLINE_LINUX_DEFAULT=\"a\"\nelse\nGRUB_CMDLINE_LINUX_DEFAULT=\"b\"\nfi\n",
            2,
        ),
        (
            "if true; then GRUB_CMDLINE_LINUX_DEFAULT=\"a\"; else GRUB_CMDLINE_LINUX_DEFAULT=\"b\"; fi\n",
            1,
        ),
        (
            "GRUB_CMDLINE_LINUX_DEFAULT=\"a\"\ncat >/dev/null <<E\nGRUB_CMDLINE_LINUX_DEFAULT=\"b\"\nE\n",
            2,
        ),
        ("case a in\nb) GRUB_CMDLINE_LINUX_DEFAULT=\"a\" ;;\nesac\n", 1),
        ("set_words() {\nGRUB_CMDLINE_LINUX_DEFAULT=\"a\"\n}\n", 1),
        ("A=1\nexit 0\nGRUB_CMDLINE_LINUX_DEFAULT=\"a\"\n", 2),
        ("A=1\n[ -f /x ] && GRUB_CMDLINE_LINUX_DEFAULT=\"a\"\n", 2),
        ("echo \\\nGRUB_CMDLINE_LINUX_DEFAULT=\"a\"\n", 1),
    ] {
        let error = plan(&arch(text), &tsc()).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("/etc/default/grub: line {line} has ")),
            "{text}: {error}"
        );
        // A removal of a word is an edit, too.
        let text = text.replace("\"a\"", "\"notsc\"");
        let error = plan(&arch(&text), &change(&[], &["notsc"])).unwrap_err().to_string();
        assert!(error.starts_with("/etc/default/grub: line "), "{text}: {error}");
    }
    let alpine = system("alpine", "", &["update-extlinux"])
        .with("/etc/update-extlinux.conf", "if x; then\ndefault_kernel_opts=\"quiet\"\nfi\n");
    assert!(plan(&alpine, &tsc()).unwrap_err().to_string().contains("line 1"));
}

#[test]
fn settings_of_distributions_are_edited() {
    let fedora = "GRUB_TIMEOUT=5\nGRUB_DISTRIBUTOR=\"$(sed 's, release .*$,,g' /etc/system-release)\"\n\
                  GRUB_DEFAULT=saved\nGRUB_DISABLE_SUBMENU=true\nGRUB_TERMINAL_OUTPUT=\"console\"\n\
                  GRUB_CMDLINE_LINUX=\"rhgb quiet\"\nGRUB_DISABLE_RECOVERY=\"true\"\n";
    let suse = "# If you change this file, run grub2-mkconfig afterwards; if not, nothing changes.\n\
                GRUB_DISTRIBUTOR=\nGRUB_DEFAULT=saved\nGRUB_HIDDEN_TIMEOUT=0\n\
                GRUB_CMDLINE_LINUX_DEFAULT=\"splash=silent mitigations=auto quiet security=apparmor\"\n\
                GRUB_CMDLINE_LINUX=\"\"\n# Uncomment to automatically save last booted menu entry\n\
                #GRUB_SAVEDEFAULT=\"true\"\nSUSE_BTRFS_SNAPSHOT_BOOTING=\"true\"\n";
    let arch_text = "# GRUB boot loader configuration\n\nGRUB_DEFAULT=0\nGRUB_DISTRIBUTOR=\"Arch\"\n\
                     GRUB_CMDLINE_LINUX_DEFAULT=\"loglevel=3 quiet\"\nGRUB_CMDLINE_LINUX=\"\"\n\
                     # Preload both GPT and MBR modules so that they are not missed\n\
                     GRUB_PRELOAD_MODULES=\"part_gpt part_msdos\"\n#GRUB_INIT_TUNE=\"480 440 1\"\n";
    let trixie = "# info -f grub -n 'Simple configuration'\n\nGRUB_DEFAULT=0\nGRUB_TIMEOUT=5\n\
                  GRUB_DISTRIBUTOR=`( . /etc/os-release && echo ${NAME} )`\n\
                  GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\nGRUB_CMDLINE_LINUX=\"\"\n\
                  #GRUB_BADRAM=\"0x01234567,0xfefefefe,0x89abcdef,0xefefefef\"\n";
    let ubuntu = "GRUB_DISTRIBUTOR=`( . /etc/os-release; echo ${NAME:-Ubuntu} ) 2>/dev/null || \
                  echo Ubuntu`\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet splash\"\nGRUB_CMDLINE_LINUX=\"\"\n";
    for text in [fedora, suse, arch_text, trixie, ubuntu] {
        let way = plan(&arch(text), &tsc()).unwrap_or_else(|error| panic!("{text}: {error}"));
        let (files, _) = effects(&way);
        let before: Vec<&str> = text.lines().collect();
        let changed = files[0].1.lines().filter(|line| !before.contains(line));
        assert_eq!(changed.count(), 1, "{}", files[0].1);
        assert_eq!(way.expected, tsc());
        let way = plan(&arch(text), &change(&[], &["quiet"])).unwrap();
        assert!(!effects(&way).0[0].1.contains("quiet"));
    }
    // Drop-ins of others are not edited, and none may be unknown.
    let with = debian()
        .with(
            "/etc/default/grub.d/50-cloudimg-settings.cfg",
            "GRUB_CMDLINE_LINUX_DEFAULT=\"console=ttyS0\"\n",
        )
        .with("/etc/default/grub.d/60-theme.cfg", "GRUB_THEME=/x\n");
    assert_eq!(effects(&plan(&with, &tsc()).unwrap()).0.len(), 1);
    let with =
        with.with("/etc/default/grub.d/60-theme.cfg", "#\nif [ -f /x ]; then\nGRUB_THEME=/x\nfi\n");
    let error = plan(&with, &tsc()).unwrap_err().to_string();
    assert!(error.starts_with("/etc/default/grub.d/60-theme.cfg: line 2 has `if`"), "{error}");
    assert!(error.contains("By hand: add clocksource=tsc"), "{error}");
}

#[test]
fn only_entries_that_boot_linux_are_edited() {
    let directory = "/boot/loader/entries";
    let linux = "title Arch\nlinux /vmlinuz\noptions rw\n";
    let arch = system("arch", "", &["bootctl"])
        .with("/boot/loader/entries/a.conf", linux)
        .with("/boot/loader/entries/bare.conf", "linux /vmlinuz\n")
        .with("/boot/loader/entries/empty.conf", "")
        .with("/boot/loader/entries/junk.conf", "linuxes are fine\noptions x\n")
        .with("/boot/loader/entries/uki.conf", "title U\nuki /EFI/Linux/u.efi\n")
        .with("/boot/loader/entries/uki-words.conf", "uki /EFI/Linux/u.efi\noptions rw\n")
        .with("/boot/loader/entries/windows.conf", "title W\nefi /EFI/Microsoft/x.efi\n");
    let way = plan(&arch, &tsc()).unwrap();
    let (files, _) = effects(&way);
    let names: Vec<&str> =
        files.iter().map(|(path, _)| path.strip_prefix(directory).unwrap()).collect();
    assert_eq!(names, ["/a.conf", "/bare.conf", "/uki-words.conf"]);
    for (name, why) in [
        ("empty", "it is empty"),
        ("junk", "boots no Linux"),
        ("uki", "inside its image"),
        ("windows", "starts an EFI program"),
    ] {
        let said = way.notes.iter().any(|note| {
            note.starts_with(&format!("{directory}/{name}.conf stays as it is"))
                && note.contains(why)
        });
        assert!(said, "{name}: {:?}", way.notes);
    }
}

#[test]
fn entry_that_cannot_be_read_stops_the_change() {
    let mut arch = system("arch", "", &["bootctl"])
        .with("/boot/loader/entries/a.conf", "linux /vmlinuz\noptions rw\n");
    let path = Path::new("/boot/loader/entries/b.conf");
    let text = crate::system::Text::Not("it is not UTF-8 text".to_owned());
    arch.files.insert(path.to_owned(), text);
    let error = plan(&arch, &tsc()).unwrap_err();
    assert!(matches!(&error, NoWay::File { path: named, .. } if named == path), "{error}");
    // The directory of all.
    arch.files.clear();
    let text = crate::system::Text::Not("it cannot be read: permission".to_owned());
    arch.files.insert("/boot/loader/entries".into(), text);
    let error = plan(&arch, &tsc()).unwrap_err().to_string();
    assert!(error.starts_with("/boot/loader/entries: it cannot be read"), "{error}");
}

#[test]
fn entry_without_options_is_not_given_some_where_grub_has_defaults() {
    let fedora = System { live: false, ..rhel9() }
        .with("/boot/loader/entries/2-6.1.0.conf", "title x\nlinux /vmlinuz-6\n");
    let error = plan(&fedora, &tsc()).unwrap_err().to_string();
    assert!(error.contains("2-6.1.0.conf") && error.contains("default_kernelopts"), "{error}");
}

fn systems() -> Vec<System> {
    vec![
        debian(),
        System { live: false, ..rhel9() },
        system("arch", "", &["grub-mkconfig"])
            .with("/etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n"),
        system("arch", "", &["bootctl"])
            .with("/boot/loader/entries/a.conf", "linux /x\noptions rw\n")
            .with("/etc/kernel/cmdline", "rw\n"),
        system("alpine", "", &["update-extlinux"])
            .with("/etc/update-extlinux.conf", "default_kernel_opts=\"quiet\"\n"),
        system("x", "", &[]).with("/boot/extlinux/extlinux.conf", "LABEL a\nLINUX /x\nAPPEND ro\n"),
        system("x", "", &[]).with("/etc/zipl.conf", "[a]\nimage=/x\nparameters=ro\n"),
        system("x", "", &[]).with("/boot/cmdline.txt", "ro").with("/boot/config.txt", ""),
    ]
}

proptest! {
    #[test]
    fn plan_and_reverse_restore_every_file(which in 0..8usize, word in "[a-z]{2,5}=[a-z0-9]{1,4}") {
        let before = systems().remove(which);
        let wanted = change(&[word.as_str()], &[]);
        let later = after(&before, &plan(&before, &wanted).unwrap());
        prop_assert!(later != before);
        // A repetition changes nothing.
        prop_assert_eq!(plan(&later, &wanted).unwrap().steps, vec![]);
        let mut back = after(&later, &plan(&later, &wanted.reversed()).unwrap());
        // Clocksmith's drop-in stays, without the word; the journal removes the file.
        back.files.retain(|path, _| before.files.contains_key(path));
        prop_assert_eq!(back, before);
    }
}
