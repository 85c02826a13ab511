//! Files for which the effect of an edit is not certain, and similar ones that are edited.

use super::*;

#[test]
fn drop_in_that_decides_the_outcome_is_followed_or_refused() {
    let with = |name: &str, text: &str| debian().with(&format!("/etc/default/grub.d/{name}"), text);
    let variable = grub::VARIABLE;
    for (name, text, line) in [
        ("aa.cfg", "exit 0\n", "line 1 "),
        ("zz.cfg", "if true; then GRUB_CMDLINE_LINUX_DEFAULT=x; fi\n", "line 1 "),
        ("zz.cfg", "unset GRUB_CMDLINE_LINUX_DEFAULT\n", "line 1 "),
        ("zz.cfg", "#\neval GRUB_CMDLINE_LINUX_DEFAULT=x\n", "line 2 "),
        ("zz.cfg", ". /etc/default/more\n", "line 1 "),
        ("zz.cfg", "true &&\nGRUB_CMDLINE_LINUX=\n", "line 1 "),
        // The names sort differently by bytes and by a locale.
        ("zz_local.cfg", "GRUB_CMDLINE_LINUX_DEFAULT=x\n", "line 1 "),
        ("50.cfg", "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX -- k\"\n", "`--`"),
        ("50.cfg", "GRUB_CMDLINE_LINUX_DEFAULT=\"a -- k\"\n", "`--`"),
        (
            "zzz.cfg",
            "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX_DEFAULT\"\n",
            "takes its value from it",
        ),
        ("zz.cfg", "GRUB_X=\"$GRUB_CMDLINE_LINUX_DEFAULT\"\n", "takes its value from it"),
        ("50.cfg", "GRUB_CMDLINE_LINUX_DEFAULT=\"$F\"\n", "not known"),
        ("50.cfg", "GRUB_CMDLINE_LINUX_DEFAULT='a=\"b'\n", "not closed"),
        ("50.cfg", "GRUB_CMDLINE_LINUX_XEN_REPLACE=x\n", "Xen"),
        ("90-clocksmith.cfg", "foreign\n", "line 1 "),
        ("90-clocksmith.cfg", "GRUB_X=1\n", variable),
        ("50.cfg", "GRUB_X=1\r\n", "line 1 has a carriage return"),
    ] {
        let error =
            plan(&with(name, text), &tsc()).map(|way| effects(&way)).expect_err(text).to_string();
        assert!(error.starts_with("/etc/default/grub") && error.contains(line), "{text}: {error}");
        assert!(error.contains("clocksource=tsc"), "{text}: {error}");
    }
    for (name, text) in [
        ("10.cfg", "GRUB_CMDLINE_LINUX_DEFAULT=x\n"),
        ("99.cfg", "GRUB_CMDLINE_LINUX_DEFAULT=\"${GRUB_CMDLINE_LINUX_DEFAULT} crashkernel=1G\"\n"),
        ("99.cfg", "GRUB_CMDLINE_LINUX=\"\"\n"),
        ("99.cfg", "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX x\"\n"),
        ("50.cfg", "W=a\nGRUB_CMDLINE_LINUX_DEFAULT=\"$W b\"\n"),
    ] {
        let system = with(name, text);
        let way = plan(&system, &tsc()).unwrap_or_else(|error| panic!("{text}: {error}"));
        let later = after(&system, &way);
        assert_eq!(plan(&later, &tsc()).unwrap().steps, [], "{text}");
    }
    let mut pipe = debian();
    let not = crate::system::Text::Not("it is not a regular file".to_owned());
    pipe.files.insert("/etc/default/grub.d/zz.cfg".into(), not);
    assert!(plan(&pipe, &tsc()).is_err());
}

#[test]
fn word_goes_before_a_lone_dash_or_nowhere() {
    // In place, and after the words of the other variable.
    let text = "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet -- init\"\n";
    let (files, _) = effects(&plan(&arch(text), &tsc()).unwrap());
    assert_eq!(files[0].1, text.replace("--", "clocksource=tsc --"));
    let text = "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\nGRUB_CMDLINE_LINUX=\"a -- b\"\n";
    let error = plan(&arch(text), &tsc()).unwrap_err().to_string();
    assert!(error.contains("after a lone `--`") && error.contains("By hand"), "{error}");
    let entry = "linux /x\noptions a -- b\noptions c\n";
    let boot = system("arch", "", &["bootctl"])
        .with("/boot/loader/entries/a.conf", entry)
        .with("/etc/kernel/cmdline", "a -- b\nc\n");
    let (files, _) = effects(&plan(&boot, &tsc()).unwrap());
    assert_eq!(files[0].1, entry.replace("--", "clocksource=tsc --"));
    assert_eq!(files[1].1, "a clocksource=tsc -- b\nc\n");
    // The words after it are missing.
    let boot = boot.with("/boot/loader/entries/a.conf", "linux /x\noptions a -- clocksource=tsc\n");
    assert!(
        effects(&plan(&boot, &tsc()).unwrap()).0[0]
            .1
            .contains("a clocksource=tsc -- clocksource=tsc")
    );
    let zipl = system("rhel", "", &["zipl"])
        .with("/etc/zipl.conf", "[a]\nimage=/x\nparameters='a -- b'\n");
    assert!(effects(&plan(&zipl, &tsc()).unwrap()).0[0].1.contains("'a clocksource=tsc -- b'"));
    let pi = system("raspbian", "debian", &[])
        .with("/boot/config.txt", "")
        .with("/boot/cmdline.txt", "a -- b\n");
    assert_eq!(effects(&plan(&pi, &tsc()).unwrap()).0[0].1, "a clocksource=tsc -- b\n");
}

#[test]
fn firmware_that_may_read_another_file_is_refused_with_its_line() {
    let pi = |config: &str| {
        system("raspbian", "debian", &[])
            .with("/boot/firmware/config.txt", config)
            .with("/boot/firmware/cmdline.txt", "root=x\n")
    };
    for (config, line) in [
        ("[all]\ncmdline=other.txt\n", 2),
        ("os_prefix=a/\n", 1),
        ("#\n[pi4]\nos_prefix=a/\n[all]\n", 3),
        ("[pi4]\ncmdline=cmdline.txt\n", 2),
        ("include more.txt\n", 1),
        ("kernel=u-boot.bin\n", 1),
        ("kernel=uboot_rpi_4.bin\n", 1),
        ("[all]\nkernel=UBOOT.BIN\n", 2),
        ("kernel=grub.efi\n", 1),
        ("armstub=uboot.bin\n", 1),
        ("armstub=RPI_EFI.fd\n", 1),
        ("[none]\n[pi5]\ncmdline=a\n", 3),
    ] {
        let error = plan(&pi(config), &tsc()).unwrap_err().to_string();
        let start = format!("/boot/firmware/config.txt: line {line} ");
        assert!(error.starts_with(&start) && error.contains("By hand"), "{config}: {error}");
    }
    for config in [
        "",
        "armstub=bl31.bin\n",
        "x=1\n",
        "[none]\ncmdline=a\n[all]\n",
        "#cmdline=a\nos_prefix=\n",
        "kernel=vmlinuz\n",
    ] {
        assert_eq!(plan(&pi(config), &tsc()).unwrap().steps.len(), 1, "{config}");
    }
    for (path, text) in [
        ("/boot/firmware/autoboot.txt", "[all]\nboot_partition=2\n"),
        ("/boot/firmware/cmdline.txt", ""),
        ("/boot/firmware/cmdline.txt", "\nroot=x\n"),
        ("/boot/firmware/cmdline.txt", "root=x\nconsole=y\n"),
        ("/boot/firmware/cmdline.txt", "root=x\0\n"),
        ("/boot/firmware/cmdline.txt", "root=x\r\n"),
        ("/boot/firmware/cmdline.txt", "root=\"x\n"),
        ("/boot/firmware/cmdline.txt", "DO NOT EDIT THIS FILE\n"),
    ] {
        let error = plan(&pi("").with(path, text), &tsc()).unwrap_err().to_string();
        assert!(error.starts_with("/boot/firmware/"), "{text}: {error}");
    }
    let alone = system("x", "", &[]).with("/boot/cmdline.txt", "root=x\n");
    assert!(plan(&alone, &tsc()).unwrap_err().to_string().contains("no config.txt"));
}

#[test]
fn two_lines_for_firmware_are_refused_unless_one_is_certain() {
    let pi = |old: &str| {
        system("raspbian", "debian", &[])
            .with("/boot/firmware/config.txt", "")
            .with("/boot/firmware/cmdline.txt", "root=x\n")
            .with("/boot/config.txt", "")
            .with("/boot/cmdline.txt", old)
    };
    let refused = |system: &System| {
        let error = plan(system, &tsc()).unwrap_err().to_string();
        assert!(
            error.contains("/boot/cmdline.txt: /boot/firmware/cmdline.txt also exists"),
            "{error}"
        );
    };
    let mounted =
        |at: &[&str]| System { firmware: at.iter().map(Into::into).collect(), ..pi("root=y\n") };
    refused(&pi("root=y\n"));
    refused(&pi("DO NOT EDIT THIS FILE\n"));
    refused(&mounted(&["/boot"]));
    refused(&mounted(&["/boot/firmware", "/boot"]));
    let stub = "DO NOT EDIT THIS FILE\n\nThe file is now /boot/firmware/cmdline.txt\n";
    for system in [mounted(&["/boot/firmware"]), pi(stub)] {
        let (files, _) = effects(&plan(&system, &tsc()).unwrap());
        assert_eq!(
            files,
            [("/boot/firmware/cmdline.txt".to_owned(), "root=x clocksource=tsc\n".to_owned())]
        );
    }
}

#[test]
fn zipl_sections_are_edited_inside_their_quotes_or_refused() {
    let zipl = |text: &str| system("rhel", "", &["zipl"]).with("/etc/zipl.conf", text);
    let text = "[defaultboot]\ndefault=linux\n[linux]\n image=/boot/vmlinuz\n parameters = 'root=/dev/dasda1'\n\
                [old]\n\timage=/boot/v2\n parameters=\"it's\"  \n[c]\nimage=/c\nparameters=ro quiet\n[d]\ndumpto=/dev/dasdb\n:menu\n 1=linux\n";
    let (files, _) = effects(&plan(&zipl(text), &tsc()).unwrap());
    let expected = text
        .replace("dasda1'", "dasda1 clocksource=tsc'")
        .replace("it's\"", "it's clocksource=tsc\"")
        .replace("ro quiet", "ro quiet clocksource=tsc");
    assert_eq!(files[0].1, expected);
    for (more, what) in [
        ("[p]\nimage=/x\n", "no parameters="),
        ("[p]\nimage=/x\n#parameters=a\n", "no parameters="),
        ("[p]\nimage=/x\nparmfile=/boot/parm\nparameters=a\n", "parmfile"),
        ("[p]\nimage=/x\nparameters=a\nparameters=b\n", "twice"),
        ("[p]\nimage=/x\nparameters='a\n", "quotes"),
        ("[p]\nimage=/x\nparameters='a' b\n", "quotes"),
        ("[p]\nimage=/x\nparameters=a'b\n", "quotes"),
        ("[p]\nimage=/x\nparameters='a=\"b'\n", "not closed"),
        ("[p\nimage=/x\nparameters=a\n", "section without its end"),
        ("[p]\nimage=/x\nparameters=a\0\n", "NUL"),
        ("[p]\r\n", "carriage return"),
    ] {
        let error = plan(&zipl(&format!("{text}{more}")), &tsc()).unwrap_err().to_string();
        assert!(error.starts_with("/etc/zipl.conf: ") && error.contains(what), "{more}: {error}");
        assert!(error.contains("line "), "{more}: {error}");
    }
    assert!(plan(&zipl("[defaultboot]\ntarget=/boot\n"), &tsc()).is_err());
}

#[test]
fn entries_that_are_not_certain_are_refused() {
    let entry = "title A\nlinux /x\noptions rw\n";
    let base = || system("arch", "", &["bootctl"]).with("/boot/loader/entries/a.conf", entry);
    for (path, text, what) in [
        ("/boot/loader/entries/a.conf", "linux /x\noptions a\0b\n", "line 2 has a NUL"),
        ("/boot/loader/entries/b.conf", "linux /x\r\noptions a\r\n", "line 1 has a carriage"),
        ("/boot/loader/entries/b.conf", "\u{feff}linux /x\noptions a\n", "byte order mark"),
        ("/boot/loader/entries/b.conf", "linux /x\noptions a=\"b\n", "not closed"),
        ("/etc/kernel/cmdline", "root=/dev/sda2\nquiet\n# c\n", "line 3 has a comment"),
        ("/etc/kernel/cmdline", "a\0\n", "line 1 has a NUL"),
        ("/efi/loader/entries/a.conf", "linux /y\noptions a\n", "which of them"),
        ("/etc/kernelstub/configuration", "{}", "kernelstub --add-options \"clocksource=tsc\""),
    ] {
        let error = plan(&base().with(path, text), &tsc())
            .map(|way| effects(&way))
            .expect_err(text)
            .to_string();
        assert!(error.contains(what), "{path}: {error}");
    }
    // Copies are two files. The same files, mounted in two places, are one.
    let mut twice = base().with("/efi/loader/entries/a.conf", entry);
    let error = plan(&twice, &tsc()).map(|way| effects(&way)).unwrap_err().to_string();
    assert!(error.contains("which of them"), "{error}");
    twice.same.push(("/boot/loader/entries".into(), "/efi/loader/entries".into()));
    assert_eq!(plan(&twice, &tsc()).unwrap().steps.len(), 1);
    // zipl copies the entries into the boot record.
    let zipl = base().with("/etc/zipl.conf", "[defaultboot]\ntarget=/boot\n");
    assert_eq!(effects(&plan(&zipl, &tsc()).unwrap()).1, ["zipl"]);
    let behind = system("rhel", "", &[])
        .with("/boot/loader/entries/a.conf", "linux /x\noptions a -- $kernelopts\n")
        .with(
            "/boot/grub2/grubenv",
            "# GRUB Environment Block\nkernelopts=ro\n####################",
        );
    assert!(plan(&behind, &tsc()).unwrap_err().to_string().contains("after a lone `--`"));
}

/// Assigns a variable that contains itself twice on this number of lines.
fn doubled(name: &str, times: usize) -> String {
    format!("{name}=\"aaaaaaaaaa\"\n{}", format!("{name}=\"${name}${{{name}}}\"\n").repeat(times))
}

#[test]
fn values_that_double_are_refused_with_their_file_and_line() {
    let none = || System::default();
    let alpine = |text: &str| {
        let mut system = none().with("/etc/update-extlinux.conf", text);
        system.programs.insert("update-extlinux".to_owned());
        system.with("/boot/extlinux.conf", "LABEL x\n KERNEL vmlinuz\n APPEND root=/dev/sda1\n")
    };
    let u_boot = |text: &str| {
        let mut system = none().with("/etc/default/u-boot", text);
        system.programs.insert("u-boot-update".to_owned());
        system.with(
            "/boot/extlinux/extlinux.conf",
            "LABEL x\n KERNEL /vmlinuz\n APPEND root=/dev/sda1\n",
        )
    };
    let a = doubled("A", 60);
    for (system, path, line) in [
        (debian().with("/etc/default/grub", &a), "/etc/default/grub", 14),
        (debian().with("/etc/default/grub.d/a.cfg", &a), "/etc/default/grub.d/a.cfg", 14),
        (
            debian().with("/etc/default/grub.d/z.cfg", &doubled(grub::ALL, 60)),
            "/etc/default/grub.d/z.cfg",
            14,
        ),
        (
            debian().with("/etc/default/grub", &format!("A={}\n", "a".repeat(1 << 17))),
            "/etc/default/grub",
            1,
        ),
        // Each of them is short.
        (
            debian().with("/etc/default/grub", &(doubled("A", 12) + &"B=\"$A\"\n".repeat(1 << 16))),
            "/etc/default/grub",
            37,
        ),
        (alpine(&doubled("default_kernel_opts", 60)), "/etc/update-extlinux.conf", 14),
        (u_boot(&doubled("U_BOOT_PARAMETERS", 60)), "/etc/default/u-boot", 14),
    ] {
        let error = plan(&system, &tsc()).expect_err(path).to_string();
        assert!(
            error.starts_with(&format!("{path}: line {line} has a value that is longer")),
            "{error}"
        );
        assert!(error.len() < 1000, "{error}");
        // The displayed values of settings are bounded, too.
        assert!(grub::value(&system, grub::ALL).len() <= 1 << 17);
        assert!(crate::mistakes::find(&system).len() < 99);
    }
    let few = debian().with("/etc/default/grub", &doubled("A", 5));
    plan(&few, &tsc()).unwrap();
}
