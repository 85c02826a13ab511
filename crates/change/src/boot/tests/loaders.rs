//! Several boot loaders, and programs that make their files.

use super::*;
use crate::boot::tools::{Does, TOOLS};
use crate::system::Efi;

const ENTRY: &str = "title A\nlinux /vmlinuz\noptions root=UUID=2 rw splash\n";

fn with_entry(system: System) -> System {
    system.with("/boot/efi/loader/entries/a.conf", ENTRY)
}

fn refusal(system: &System) -> String {
    plan(system, &tsc()).map(|way| effects(&way)).expect_err("refused").to_string()
}

/// Returns a system with all marks of a tool, and a loader that would be edited.
fn bearing(name: &str, base: System) -> System {
    let tool = TOOLS.iter().find(|tool| tool.name == name).unwrap();
    match tool.marks[0] {
        tools::Mark::File(path) => base.with(path, "text\n"),
        tools::Mark::Below(path, end, text) => base.with(&format!("{path}/a{end}"), text),
        tools::Mark::Program(program) => {
            let mut system = base;
            system.programs.insert(program.to_owned());
            system
        }
        tools::Mark::Os(id) => System { os: Os { id: id.to_owned(), ..Os::default() }, ..base },
    }
}

#[test]
fn every_tool_is_named_with_its_setting_and_its_command_and_nothing_is_edited() {
    let entries = || with_entry(system("arch", "", &["bootctl"]));
    for (name, setting, then) in [
        ("proxmox-boot-tool", "/etc/kernel/cmdline", "proxmox-boot-tool refresh"),
        ("Talos", "extraKernelArgs", "talosctl upgrade"),
        ("GNU Guix", "kernel-arguments", "guix system reconfigure"),
        ("Ubuntu Core", "system.kernel.cmdline-append", "reboot"),
        ("clr-boot-manager", "/etc/kernel/cmdline.d", "clr-boot-manager update"),
        ("ZFSBootMenu", "org.zfsbootmenu:commandline", "reboot"),
        ("sdboot-manage", "LINUX_OPTIONS of /etc/sdboot-manage.conf", "sdboot-manage gen"),
        ("sdbootutil", "/etc/kernel/cmdline", "sdbootutil update-all-entries"),
        ("kernelstub", "kernelstub --add-options \"clocksource=tsc\"", ""),
        ("limine-entry-tool", "KERNEL_CMDLINE[default] of /etc/default/limine", "limine-update"),
        ("Limine", "cmdline: of every entry", "reboot"),
        ("rEFInd", "/boot/refind_linux.conf", "reboot"),
        ("mkinitcpio", "/etc/kernel/cmdline", "mkinitcpio -P"),
        ("dracut", "kernel_cmdline=", "dracut --force"),
        ("ukify", "/etc/kernel/uki.conf", "kernel-install add-all"),
        ("flash-kernel", "LINUX_KERNEL_CMDLINE of /etc/default/flash-kernel", "flash-kernel"),
        ("Armbian's boot script", "extraargs= of /boot/armbianEnv.txt", "reboot"),
        ("DietPi's boot script", "/boot/dietpiEnv.txt", "reboot"),
        ("U-Boot's uEnv.txt", "/boot/uEnv.txt", "reboot"),
        ("Petitboot", "kboot.conf", "reboot"),
        ("LILO", "append= of every image of /etc/lilo.conf", "then: lilo"),
        ("GRUB legacy", "/boot/grub/menu.lst", "reboot"),
        ("syslinux", "syslinux.cfg", "reboot"),
    ] {
        let tool = TOOLS.iter().find(|tool| tool.name == name).unwrap();
        let said = match tool.does {
            // Alone on the machine.
            Does::Boots(_) => refusal(&bearing(name, system("x", "", &[]))),
            Does::Makes([]) | Does::Makes([Loader::Entries, ..]) => {
                refusal(&bearing(name, entries()))
            }
            Does::Makes(_) => {
                let mut image = bearing(name, system("x", "", &[]));
                image.unified.push("/efi/EFI/Linux/a.efi".into());
                let way = plan(&image, &tsc()).unwrap();
                assert!(way.steps.is_empty(), "{name}");
                way.by_hand.join("\n")
            }
        };
        assert!(said.contains(setting) && said.contains(then), "{name}: {said}");
        // Beside entries that would be edited, it is not skipped either.
        if let Does::Boots(_) = tool.does {
            let said = refusal(&bearing(name, entries()));
            assert!(said.contains(name) && said.contains("--loader entries"), "{name}: {said}");
        }
    }
    assert_eq!(TOOLS.len(), 23, "each line has its test");
}

#[test]
fn tools_that_are_run_here_are_not_refused() {
    for (system, by) in [
        (rhel9(), "grubby"),
        (debian(), "GRUB (drop-in)"),
        (system("fedora", "", &["rpm-ostree"]), "rpm-ostree"),
        (system("nixos", "", &[]), "NixOS"),
        (system("flatcar", "", &[]), "Flatcar"),
        (
            system("alpine", "", &["update-extlinux"])
                .with("/etc/update-extlinux.conf", "default_kernel_opts=\"quiet\"\n"),
            "extlinux (Alpine)",
        ),
        (
            system("debian", "", &["u-boot-update"])
                .with("/etc/default/u-boot", "U_BOOT_PARAMETERS=\"ro\"\n"),
            "u-boot-menu",
        ),
        (
            with_entry(system("arch", "", &["kernel-install"]))
                .with("/etc/kernel/cmdline", "root=UUID=2 rw\n"),
            "boot loader entries",
        ),
    ] {
        let mut system = system;
        system.marks.ostree = system.has("rpm-ostree");
        assert_eq!(plan(&system, &tsc()).unwrap().by, by);
    }
}

#[test]
fn proxmox_with_grub_or_with_systemd_boot_is_not_edited() {
    let uuids = "/etc/kernel/proxmox-boot-uuids";
    let marked = |system: System| system.with(uuids, "ABCD-1234\n");
    let cmdline = system("debian", "", &["proxmox-boot-tool"])
        .with("/etc/kernel/cmdline", "root=ZFS=rpool/ROOT/pve-1 boot=zfs\n");
    for system in [debian(), cmdline.clone(), with_entry(cmdline.clone())] {
        let said = refusal(&marked(system));
        for part in [
            uuids,
            "GRUB_CMDLINE_LINUX_DEFAULT",
            "/etc/kernel/cmdline",
            "proxmox-boot-tool refresh",
        ] {
            assert!(said.contains(part), "{said}");
        }
    }
    // If no partition is listed, GRUB's own file is read.
    assert!(plan(&debian().with(uuids, "\n"), &tsc()).is_ok());
}

/// GRUB and systemd-boot's entries on one machine.
fn both() -> System {
    with_entry(debian())
}

#[test]
fn two_loaders_without_evidence_are_refused_and_one_can_be_named() {
    let said = refusal(&both());
    for part in ["/boot/grub/grub.cfg", "/boot/efi/loader/entries", "--loader grub|entries"] {
        assert!(said.contains(part), "{said}");
    }
    let named = |loader| super::super::plan(&both(), &tsc(), Some(loader));
    assert_eq!(effects(&named(Loader::Grub).unwrap()).1, ["update-grub"]);
    let (files, _) = effects(&named(Loader::Entries).unwrap());
    assert_eq!(files[0].0, "/boot/efi/loader/entries/a.conf");
    assert!(named(Loader::Zipl).unwrap_err().to_string().contains("not here"));
}

#[test]
fn what_booted_this_machine_decides_between_loaders() {
    let efi = |loader: Option<&str>, stub: Option<&str>, file: Option<&str>| Efi {
        loader: loader.map(str::to_owned),
        stub: stub.map(str::to_owned),
        file: file.map(str::to_owned),
    };
    let line = |line: &str| both().with("/proc/cmdline", line);
    let vars = |efi: Efi| System { efi, ..both() };
    let mut image = line("root=UUID=9 ro");
    image.unified.push("/efi/EFI/Linux/a.efi".into());
    image.efi = efi(Some("systemd-boot 255"), Some("systemd-stub 255"), None);
    for (system, boots, why) in [
        (vars(efi(Some("systemd-boot 255.4"), None, None)), Loader::Entries, "LoaderInfo"),
        (vars(efi(Some("GRUB 2.12"), None, None)), Loader::Grub, "GRUB 2.12"),
        (
            vars(efi(None, None, Some("\\EFI\\systemd\\systemd-bootx64.efi"))),
            Loader::Entries,
            "BootCurrent",
        ),
        (vars(efi(None, None, Some("\\EFI\\debian\\grubx64.efi"))), Loader::Grub, "grubx64"),
        (line("BOOT_IMAGE=/vmlinuz root=UUID=9 ro"), Loader::Grub, "BOOT_IMAGE=/vmlinuz"),
        (line("initrd=\\initrd.img root=UUID=9 ro"), Loader::Entries, "initrd=\\initrd.img"),
        (line("root=UUID=2 rw splash"), Loader::Entries, "running command line"),
        (image, Loader::Unified, "StubInfo"),
    ] {
        let choice = loader::look(&system);
        assert_eq!(choice.boots, Some(boots), "{}", choice.sentence());
        assert!(choice.because.contains(why), "{}", choice.sentence());
        let way = plan(&system, &tsc()).unwrap();
        assert_eq!(way.choice.unwrap().boots, Some(boots));
    }
    let mut no_stub = with_entry(system("arch", "", &["bootctl"]));
    no_stub.unified.push("/efi/EFI/Linux/a.efi".into());
    no_stub.efi = efi(Some("systemd-boot 255"), None, None);
    assert_eq!(loader::look(&no_stub).boots, Some(Loader::Entries));
    // The remains of an earlier version, and a tool that copies kernels for a board's firmware.
    assert!(plan(&debian().with("/boot/grub/menu.lst", "kernel /v root=a\n"), &tsc()).is_ok());
    let pi = system("ubuntu", "debian", &["flash-kernel"])
        .with("/etc/default/flash-kernel", "LINUX_KERNEL_CMDLINE=\"quiet\"\n")
        .with("/boot/firmware/cmdline.txt", "root=a\n")
        .with("/boot/firmware/config.txt", "");
    assert_eq!(plan(&pi, &tsc()).unwrap().by, "cmdline.txt");
    // Evidence that disagrees, and that fits nothing which was found.
    let shim = vars(efi(None, None, Some("\\EFI\\debian\\shimx64.efi")));
    assert!(refusal(&shim).contains("--loader"));
    let mut disagree = line("BOOT_IMAGE=(hd0,gpt2)/vmlinuz root=UUID=9 ro");
    disagree.efi = efi(Some("systemd-boot 255.4"), None, None);
    assert!(refusal(&disagree).contains("--loader"));
    let refind = System { efi: efi(Some("systemd-boot 255.4"), None, None), ..debian() };
    assert!(refusal(&refind).contains("not mounted"), "{}", refusal(&refind));
}

#[test]
fn running_line_that_another_loader_may_have_too_does_not_decide() {
    let running = "root=UUID=2 rw splash";
    let one = || with_entry(system("arch", "", &["bootctl"])).with("/proc/cmdline", running);
    let refind = |line: &str| one().with("/boot/refind_linux.conf", line);
    let mut image = one();
    image.unified.push("/efi/EFI/Linux/a.efi".into());
    let zipl = format!("[a]\nimage=/v\nparameters=\"{running}\"\n");
    let zipl = system("x", "", &["zipl"])
        .with("/proc/cmdline", running)
        .with("/etc/zipl.conf", &zipl)
        .with("/boot/extlinux/extlinux.conf", &format!("LABEL a\nLINUX /v\nAPPEND {running}\n"));
    for system in [
        refind(&format!("\"Boot\"  \"{running}\"\n")),
        image,
        one().with("/boot/limine.conf", "/x\n"),
        one().with("/boot/EFI/refind/refind.conf", "timeout 5\n"),
        zipl,
    ] {
        let said = refusal(&system);
        assert!(said.contains("boot loaders found") && said.contains("--loader"), "{said}");
    }
    let choice = loader::look(&refind("\"Boot\"  \"root=UUID=2 ro\"\n"));
    assert_eq!(choice.boots, Some(Loader::Entries), "{}", choice.sentence());
}

#[test]
fn further_pairs_are_refused() {
    let extlinux = |system: System| {
        system.with("/boot/extlinux/extlinux.conf", "LABEL a\nLINUX /v\nAPPEND root=/dev/a ro\n")
    };
    let zipl = system("x", "", &["zipl"]).with("/etc/zipl.conf", "[a]\nimage=/x\nparameters=ro\n");
    let pi = |system: System| {
        system.with("/boot/firmware/cmdline.txt", "root=a\n").with("/boot/firmware/config.txt", "")
    };
    for system in [
        extlinux(debian()),
        extlinux(zipl),
        pi(with_entry(system("x", "", &[]))),
        debian().with("/boot/refind_linux.conf", "\"a\" \"root=a\"\n"),
        debian().with("/boot/limine.conf", "/x\n"),
    ] {
        let said = refusal(&system);
        assert!(said.contains("boot loaders found") && said.contains("--loader"), "{said}");
    }
    // A generator's output is not a second loader, and neither are entries that GRUB reads.
    assert!(plan(&rhel9(), &tsc()).is_ok());
    let alpine = system("alpine", "", &["update-extlinux"])
        .with("/etc/update-extlinux.conf", "default_kernel_opts=\"quiet\"\n")
        .with("/boot/extlinux.conf", "LABEL a\nLINUX /v\nAPPEND root=/dev/a quiet\n");
    assert!(plan(&alpine, &tsc()).is_ok());
}

#[test]
fn entries_are_edited_by_the_names_that_the_boot_loader_reads() {
    let entry = |name: &str| format!("/boot/loader/entries/{name}");
    let all = ["a.conf", "C.CONF", ".e.conf", "auto-x.conf"];
    let with = |base: System| all.iter().fold(base, |system, it| system.with(&entry(it), ENTRY));
    let way = plan(&with(system("arch", "", &["bootctl"])), &tsc()).unwrap();
    let edited: Vec<String> = effects(&way).0.into_iter().map(|(path, _)| path).collect();
    assert_eq!(edited, [entry("C.CONF"), entry("a.conf")]);
    assert!(way.notes.iter().any(|note| note.contains("auto-x.conf stays as it is")), "{way:?}");

    // GRUB reads the entries, and the firmware reports that GRUB booted.
    let base = system("fedora", "", &[]).with("/boot/grub2/grub.cfg", "insmod blscfg\nblscfg\n");
    let efi = Efi { loader: Some("GRUB 2.06".to_owned()), ..Efi::default() };
    let named = Some(Loader::Entries);
    let way = super::super::plan(&System { efi, ..with(base) }, &tsc(), named).unwrap();
    let edited: Vec<String> = effects(&way).0.into_iter().map(|(path, _)| path).collect();
    assert_eq!(edited, [entry("a.conf"), entry("auto-x.conf")]);
    assert!(way.notes.iter().any(|note| note.contains("C.CONF stays as it is")), "{way:?}");
}

#[test]
fn options_that_grub_runs_as_a_script_are_refused_with_their_line() {
    for options in ["root=x # quiet", "root=x; quiet", "root=x\\", "root=x $mine", "root='x quiet'"]
    {
        let text = format!("title A\nlinux /vmlinuz\noptions {options}\n");
        let base = system("fedora", "", &[]).with("/boot/grub2/grub.cfg", "blscfg\n");
        let error = refusal(&base.with("/boot/loader/entries/a.conf", &text));
        assert!(error.contains("a.conf") && error.contains("line 3"), "{options}: {error}");
        // systemd-boot hands them to the kernel.
        let other = system("arch", "", &["bootctl"]).with("/boot/loader/entries/a.conf", &text);
        assert!(plan(&other, &tsc()).is_ok(), "{options}");
    }
    let text = "title A\nlinux /vmlinuz\noptions $kernelopts\n";
    let block = "# GRUB Environment Block\nkernelopts=ro # quiet\n##########################";
    let base = system("rhel", "", &[])
        .with("/boot/grub2/grub.cfg", "blscfg\n")
        .with("/boot/grub2/grubenv", block);
    let error = refusal(&base.with("/boot/loader/entries/a.conf", text));
    assert!(error.contains("grubenv") && error.contains("kernelopts has `#`"), "{error}");
}
