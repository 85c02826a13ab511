//! Changes that are made, and changes that are left.

use crate::edit::apply;
use crate::formats::Kind;
use crate::{Choices, Document, fix, lint};

fn fixed(kind: Kind, name: &str, text: &str) -> String {
    let document = Document::of_kind(name, text.as_bytes(), kind).unwrap();
    fix(&document, &Choices::default()).unwrap().document.text.as_str().to_owned()
}

/// Asserts that each finding with a possible change has edits or a reason why it has none, and that one has a reason.
fn says_why(kind: Kind, name: &str, text: &str) {
    let report = lint(&Document::of_kind(name, text.as_bytes(), kind).unwrap()).unwrap();
    for finding in &report.findings {
        assert!(finding.edits.is_empty() || finding.left.is_none(), "{finding:?}");
        assert!(apply(text, &finding.edits).is_ok());
    }
    assert!(
        report.findings.iter().any(|finding| finding.left.is_some()),
        "{:?}\n{text}",
        report.findings
    );
}

/// With a Linux guest: a requested HPET is left for every other one.
const QEMU: &str = "qemu-system-x86_64 -enable-kvm -cpu max -m 1G -append ro";

#[test]
fn script_text_that_is_the_option_is_edited() {
    for before in [
        format!("{QEMU} -machine q35,hpet=on\n"),
        format!("exec sudo {QEMU} -machine \"q35,hpet=on\" -name \"$1\" \"$D/a.img\"\n"),
        // A line continuation within the value.
        format!("{QEMU} -machine q35,\\\naccel=kvm,hpet=on\n"),
        format!("M=pc-\\\nq35-8.2\n{QEMU} -machine \"$M,\\\nusb=on,hpet=on\" \\\n -S\n"),
        format!(
            "M=q35\nA=(-machine \"$M,hpet=on\")\nA+=(-S)\nO=-snapshot\n{QEMU} $O \"${{A[@]}}\"\n"
        ),
        format!("M=q35,hpet=on\n{QEMU} -machine $M\n"),
        format!("A=(-machine q35,hpet=on)\nA+=(-snapshot)\n{QEMU} \"${{A[@]}}\"\n"),
        format!("go() {{ {QEMU} -machine q35,hpet=on; }}\ngo\n"),
        "[Service]\nExecStart=/usr/bin/qemu-system-x86_64 \\\n  -accel kvm -machine q35,hpet=on -append ro\n"
            .to_owned(),
    ] {
        assert_eq!(fixed(Kind::Qemu, "vm.sh", &before), before.replace("hpet=on", "hpet=off"));
    }
    let gone = format!("{QEMU} -no-hpet\n");
    assert_eq!(fixed(Kind::Qemu, "vm.sh", &gone), format!("{QEMU} -machine hpet=off\n"));
    // Text that is appended to a value.
    for before in [
        "qemu-system-x86_64 -enable-kvm -m 1G -cpu host,hv-relaxed\n",
        "C=host\nqemu-system-x86_64 -enable-kvm -m 1G -cpu \"$C,hv-relaxed\"\n",
        "C=host,hv-relaxed\nqemu-system-x86_64 -enable-kvm -m 1G -cpu $C -S\n",
    ] {
        let after = before.replace("hv-relaxed", "hv-relaxed,hv-time");
        assert_eq!(fixed(Kind::Qemu, "vm.sh", before), after);
    }
}

#[test]
fn script_text_with_another_purpose_is_left_and_named() {
    let own = format!("{QEMU} -machine q35,hpet=on\n");
    for text in [
        // Compared, printed, concatenated, exported, used twice, assigned twice, declared.
        format!("M=q35,hpet=on\n[ $M = q35,hpet=on ] && echo y\n{QEMU} -machine $M\n"),
        format!("M=q35,hpet=on\necho disk-$M.img\n{QEMU} -machine $M\n"),
        format!("export M=q35,hpet=on\n{QEMU} -machine $M\n"),
        format!("M=q35,hpet=on\nexport M\n{QEMU} -machine $M\n"),
        format!("M=q35,hpet=on\n{QEMU} -machine $M\n{QEMU} -machine $M -S\n"),
        format!("M=q35,hpet=on\nif [ \"$1\" ]; then M=pc; fi\n{QEMU} -machine $M\n"),
        "M=q35,hpet=on\nqemu-system-$A -m 1 -cpu max -machine $M\n".to_owned(),
        format!("M=q35,hpet=on\neval \"$1\"\n{QEMU} -machine $M\n"),
        format!("M=q35,hpet=on\n. ./lib.sh\n{QEMU} -machine $M\n"),
        format!("M=q35,hpet=on N=$M\n{QEMU} -machine $M\n"),
        format!("A=(-machine q35,hpet=on)\necho ${{#A[@]}}\n{QEMU} \"${{A[@]}}\"\n"),
        format!("A=(-machine q35,hpet=on)\n{QEMU} \"${{A[@]}}\"\n{QEMU} \"${{A[@]}}\" -S\n"),
        format!("set -a\nM=q35,hpet=on\n{QEMU} -machine $M\n"),
        format!("M=q35,hpet=on\nprintenv\n\"$@\"\n{QEMU} -machine $M\n"),
        // Branches, substitutions, here-documents, strings, expansions, aliases, functions of the same name.
        format!("if [ \"$1\" ]; then {own}fi\n"),
        format!("true && {own}"),
        format!("case $1 in a) {QEMU} -machine q35,hpet=on;; esac\n"),
        format!("cat > a.sh <<E\n{own}E\n"),
        format!("alias x=y\n{own}"),
        format!("qemu-system-x86_64() {{ echo \"$@\"; }}\n{own}"),
        format!("grep q35,hpet=on \"$0\"\n{own}"),
        format!("{QEMU} -machine q35,hpet=on\necho \"$_\"\n"),
        format!("{QEMU} -machine ${{M:-q35,hpet=on,accel=kvm}}\n"),
        format!("{QEMU} -machine ${{M:-q35,hpet=on}}\n"),
        format!("{QEMU} -machine 'q35,hpet=on\n'\n"),
        format!("{QEMU} -machine q3[5]\n"),
        format!("{QEMU} -machine q35,hpet=on\r\n"),
        format!("{QEMU} -machine q35,hpet=on\nif\n"),
        format!("{QEMU} -name -machine q35,hpet=on\n"),
        "[Service]\nExecStart=/usr/bin/qemu-system-x86_64 -accel kvm -cpu max -machine 'q35,hpet=on' -m 1G\n"
            .to_owned(),
    ] {
        assert_eq!(fixed(Kind::Qemu, "vm.sh", &text), text);
        if !text.contains("-name -machine") && !text.contains("3[5]") {
            says_why(Kind::Qemu, "vm.sh", &text);
        }
    }
    for name in ["a.py", "Makefile", "a.yml", "Vagrantfile", "start.bat", "Dockerfile.qemu"] {
        assert_eq!(fixed(Kind::Qemu, name, &own), own);
        says_why(Kind::Qemu, name, &own);
    }
    let python = format!("#!/usr/bin/env python3\n{own}");
    assert_eq!(fixed(Kind::Qemu, "vm", &python), python);
}

#[test]
fn script_of_a_machine_that_a_run_may_choose_gets_no_hpet_property() {
    let of_m = format!("{QEMU} -machine $M,accel=kvm\n");
    for text in [
        // Options that are not known.
        format!("{QEMU} -M hpet=on \"$@\"\n"),
        format!("{QEMU} -machine q35,hpet=on \"$@\"\n"),
        format!("{QEMU} -machine q35,hpet=on $EXTRA\n"),
        format!("{QEMU} -machine q35,hpet=on ${{EXTRA[@]}}\n"),
        format!("{QEMU} -machine q35,hpet=on $(cat opts)\n"),
        format!("{QEMU} -machine q35,hpet=on -name \"$@\"\n"),
        format!("{QEMU} -machine q35,hpet=on {{-M,microvm}}\n"),
        format!("{QEMU} -machine q35,hpet=on -$1 microvm\n"),
        format!("{QEMU} -machine q35,hpet=on -readconfig a.cfg\n"),
        format!("{QEMU} -machine q35,hpet=on,$P\n"),
        format!("{QEMU} -machine q35,hpet=on,type=$T,usb=on\n"),
        format!("{QEMU} -machine microvm -machine q35,hpet=on -M usb=on\n"),
        format!("A=(-M microvm)\n{QEMU} \"${{A[@]}}\"\n"),
        format!("A=(-S)\n[ \"$1\" ] && A+=(-M microvm)\n{QEMU} \"${{A[@]}}\"\n"),
        format!("O=\"-M microvm\"\n{QEMU} -machine q35,hpet=on $O\n"),
        format!("go() {{ {QEMU} -machine q35,hpet=on \"$@\"; }}\ngo -M microvm\n"),
        // A machine that is not known.
        format!("if [ \"$1\" ]; then M=$1; else M=q35,hpet=on; fi\n{of_m}"),
        format!("case $1 in m) M=microvm;; *) M=q35,hpet=on;; esac\n{of_m}"),
        format!("M=q35,hpet=on\n[ \"$1\" ] && M=$1\n{of_m}"),
        format!("M=q35,hpet=on\nread -r M\n{of_m}"),
        format!("M=q35,hpet=on\neval \"M=microvm\"\n{of_m}"),
        format!("M=q35,hpet=on\n. ./conf\n{of_m}"),
        format!("M=q35,hpet=on\nprintf -v M %s microvm\n{of_m}"),
        format!("M=q35,hpet=on\ng() {{ M=microvm; }}\ng\n{of_m}"),
        format!("M=q35,hpet=on\nfor M in q35,hpet=on microvm; do :; done\n{of_m}"),
        format!("M=q35,hpet=on\n# $M\nunset M\n{QEMU} -machine ${{M:-microvm}},accel=kvm\n"),
        format!("M=q35,hpet=on\nunset M\n# $M\n{of_m}"),
        format!("M=q35,hpet=on\nwhile getopts m: o; do M=$OPTARG; done\n{of_m}"),
        format!("declare -n R=M\nM=q35,hpet=on\nR=microvm\n{of_m}"),
        format!("M=q35,hpet=on\n: $((M=5))\n{of_m}"),
        format!("M=q35,hpet=on\nmapfile -t M\n{of_m}"),
        format!("M=q35,hpet=on\nread -r \\\nM\n{of_m}"),
        format!("M1=q35,hpet=on\nread -r M\\\n1\n{QEMU} -machine $M1,accel=kvm\n"),
        "kvm -enable-kvm -cpu max -m 1G\n".to_owned(),
    ] {
        assert_eq!(fixed(Kind::Qemu, "vm.sh", &text), text);
    }
    for text in [format!("{QEMU} -M hpet=on \"$@\"\n"), format!("M=q35,hpet=on\nread -r M\n{of_m}")]
    {
        says_why(Kind::Qemu, "vm.sh", &text);
    }
}

#[test]
fn script_with_divided_operators_and_names_is_left() {
    for text in [
        format!("{QEMU} -machine q35,hpet=on &\\\n& echo\n"),
        format!("cat <\\\n<E\n{QEMU} -machine q35,hpet=on\nE\n"),
        format!("cat <<E\na\\\nE\n{QEMU} -machine q35,hpet=on\nE\n"),
        format!("{QEMU} -machine q35,hpet=on -name $\\\nM\n"),
        format!("{QEMU} -machine q35,hpet=on -name $M\\\nN\n"),
        format!("{QEMU} -machine q35,hpet=on -name ${{M\\\n}}\n"),
        format!("{QEMU} -machine q35,hpet=on 2\\\n>log\n"),
        format!("i\\\nf [ \"$1\" ]; then {QEMU} -machine q35,hpet=on; fi\n"),
        format!("M\\\n=q35,hpet=on\n{QEMU} -machine q35,hpet=on\n"),
    ] {
        assert_eq!(fixed(Kind::Qemu, "vm.sh", &text), text);
    }
}

#[test]
fn script_commands_are_removed_only_from_plain_sequences() {
    let key = "VBoxManage setextradata w VBoxInternal/TM/TSCVirtualized 0\n";
    let start = "VBoxManage startvm w\n";
    let vm = |text: &str| fixed(Kind::Virtualbox, "vm.sh", text);
    assert_eq!(vm(&format!("{key}{start}")), start);
    assert_eq!(vm(&format!("f() {{\n{key}{start}}}\nf\n")), format!("f() {{\n{start}}}\nf\n"));
    for text in [
        key.to_owned(),
        format!("{start}{key}"),
        format!("if [ \"$1\" ]; then\n{key}fi\n{start}"),
        format!("if [ \"$1\" ]; then\n:\n{key}:\nfi\n{start}"),
        format!("f() {{\n{key}}}\nf\n{start}"),
        format!("for v in a; do\n{key}{start}done\n"),
        format!("true &&\n{key}{start}"),
        format!("false ||\n{key}{start}"),
        format!("echo a |\n{key}{start}"),
        format!("! \\\n{key}{start}"),
        format!("while\n{key}do break; done\n{start}"),
        format!("(\n{key})\n{start}"),
        format!("{key}if [ $? = 0 ]; then {start}fi\n"),
        format!("f() {{ {start}{key}return\n}}\nf\n"),
        format!("{start}{key}exit\n"),
        format!("x=\"\n{key}\"\n{start}"),
        format!("cat <<E\n{key}E\n{start}"),
        format!("{}{start}", key.replace('w', "$(cat x)")),
        format!("{}{start}", key.replace(" 0\n", " 0 >log\n")),
    ] {
        assert_eq!(vm(&text), text);
    }
}

#[test]
fn documents_shared_values_are_left() {
    let manifest = |hpet: &str, pit: &str| {
        format!(
            "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {{name: debian}}\nspec:\n  template:\n    spec:\n      domain:\n        clock:\n          timer:\n            hpet: {hpet}\n            pit: {pit}\n        devices: {{}}\n"
        )
    };
    let plain = manifest("{present: true}", "{present: true}");
    let off = manifest("{present: false}", "{present: true}");
    assert_eq!(fixed(Kind::Kubevirt, "a.yaml", &plain), off);
    for text in [
        manifest("&h {present: true}", "*h"),
        manifest("{present: &t true}", "{present: *t}"),
        manifest("{present: true, present: true}", "{}"),
        manifest("{present: !!bool true}", "{}"),
        manifest("{present: true, <<: {tickPolicy: delay}}", "{}"),
        plain.replace("clock:\n", "clock: &c\n") + "x: *c\n",
    ] {
        assert_eq!(fixed(Kind::Kubevirt, "a.yaml", &text), text);
        says_why(Kind::Kubevirt, "a.yaml", &text);
    }
    let xen = "name = 'a'\nmemory = 1\ntype = 'hvm'\ntsc_mode = 2\n";
    assert_ne!(fixed(Kind::Xen, "a.cfg", xen), xen);
    for text in [
        format!("{xen}tsc_mode = 2\n"),
        format!("{xen}if x:\n  memory = 2\n"),
        format!("{xen}extra = \"\"\"\nx\n\"\"\"\n"),
    ] {
        assert_eq!(fixed(Kind::Xen, "a.cfg", &text), text);
        says_why(Kind::Xen, "a.cfg", &text);
    }
    let json = "{\"boot-source\": {\"boot_args\": \"clocksource=hpet clocksource=tsc\"}}";
    assert_ne!(fixed(Kind::Firecracker, "a.json", json), json);
    let twice = "{\"boot-source\": {\"boot_args\": \"clocksource=hpet clocksource=tsc\", \"boot_args\": \"b\"}}";
    assert_eq!(fixed(Kind::Firecracker, "a.json", twice), twice);
}

#[test]
fn documents_that_are_no_xml_are_refused() {
    let domain = "<domain type='kvm'><name>a</name><os><type>hvm</type></os><clock><timer name='hpet' present='yes'/></clock></domain>";
    let read =
        |text: &str| lint(&Document::of_kind("a.xml", text.as_bytes(), Kind::Libvirt).unwrap());
    assert!(
        read(domain).is_ok()
            && read(&format!("\u{feff}<?xml version='1.0'?>\n<!-- a -->\n{domain}\n<!-- b -->\n"))
                .is_ok()
    );
    assert!(read("<cpu mode='host-model'/>\n<clock offset='utc'/>\n").is_ok());
    for text in [
        format!("{domain}garbage"),
        format!("{domain}<clock/>"),
        domain.replace("present='yes'", "present='yes' present='no'"),
        domain.replace(">a<", ">&#27;<"),
        domain.replace(">a<", ">&x;<"),
        domain.replace(">a<", ">a & b<"),
        domain.replace(">a<", ">\u{1}<"),
        domain.replace("'hpet'", "'<'"),
        format!("<!DOCTYPE domain [<!ENTITY h \"hpet\">]>{}", domain.replace("'hpet'", "'&h;'")),
    ] {
        assert!(read(&text).is_err(), "{text}");
    }
    // Inside another text: it is reported, and left.
    let script = format!("#!/bin/sh\ncat <<E\n{domain}\nE\n");
    assert_eq!(fixed(Kind::Libvirt, "a.sh", &script), script);
}

#[test]
fn text_that_another_part_looks_for_is_left() {
    let start =
        "qemu-system-x86_64 -enable-kvm -m 1G -hda debian.img -cpu host,kvmclock=off -daemonize\n";
    let unit = "[Service]\nExecStart=/usr/bin/qemu-system-x86_64 -enable-kvm -m 1G -hda debian.img -cpu host,kvmclock=off\n";
    let made = |kind: Kind, name: &str, text: &str| fixed(kind, name, text) != text;
    // The texts without an addition are edited.
    assert!(made(Kind::Qemu, "vm.sh", start));
    assert!(made(Kind::Qemu, "vm.service", unit));
    for rest in [
        "pgrep -f 'cpu host,kvm' >/dev/null || exit 1",
        "pkill -f 'qemu-system-x86_64 -enable-kvm -m 1G -cpu host,'",
        "systemctl status vm | grep -E 'kvmclock=(on|off)' | grep off || exit 1",
        "P='kvmclock=off'; pgrep -f \"$P\"",
        "case $(ps ax) in *kvmclock*) exit 1 ;; esac",
    ] {
        let text = format!("#!/bin/bash\n{start}{rest}\n");
        assert!(!made(Kind::Qemu, "vm.sh", &text), "{text}");
    }
    for line in [
        "ExecStartPost=/bin/sh -c 'until pgrep -f kvmclock=off; do sleep 1; done'",
        "ExecStop=/usr/bin/pkill -f \"cpu host,kvmclock=off\"",
    ] {
        assert!(!made(Kind::Qemu, "vm.service", &format!("{unit}{line}\n")), "{line}");
    }
    // Settings that run nothing do not look for anything.
    assert!(made(
        Kind::Qemu,
        "vm.service",
        &format!("[Unit]\nAfter=kvmclock=off.target\n\n{unit}")
    ));
    // A pattern over two options.
    let pattern = format!("#!/bin/sh\n{start}pgrep -f -- '-cpu host,.* -d' || exit 1\n");
    assert!(!made(Kind::Qemu, "vm.sh", &pattern));
    // A Makefile with a unit.
    let make = format!("define UNIT\n{unit}endef\nvm.service: ; @echo \"$$UNIT\" > $@\n");
    assert!(!made(Kind::Qemu, "Makefile", &make));
    let whole = "# a\n[Unit]\nAfter=a \\\n; b\n c\n\n[Install]\nWantedBy = a\n";
    assert!(made(Kind::Qemu, "vm.service", &format!("{whole}{unit}")));
    // A script that writes a unit.
    let writes = format!(
        "#!/bin/bash\ncat >vm.service <<EOF\n{unit}EOF\ngrep -q kvmclock=off vm.service || exit 1\n"
    );
    assert!(!made(Kind::Qemu, "vm.sh", &writes));
    let created = "#!/bin/sh\nVBoxManage createvm --name d --ostype Debian_64 --register\nVBoxManage modifyvm d --cpus 2 --paravirtprovider none\n";
    assert!(made(Kind::Virtualbox, "vm.sh", created));
    for rest in [
        "VBoxManage showvminfo d | grep -qi 'paravirt.*none' || exit 1",
        "[ \"$(VBoxManage showvminfo d | grep paravirt)\" = 'paravirtprovider=\"none\"' ] && echo ok",
    ] {
        assert!(!made(Kind::Virtualbox, "vm.sh", &format!("{created}{rest}\n")), "{rest}");
    }
    let conf = "guest_os=\"linux\"\ndisk_img=\"a.qcow2\"\nextra_args=\"-cpu host,kvmclock=off\"\n";
    assert!(made(Kind::Quickemu, "a.conf", conf));
    let text = format!("{conf}[[ $extra_args == *kvmclock=off* ]] && ram=\"1G\"\n");
    assert!(!made(Kind::Quickemu, "a.conf", &text));
}

#[test]
fn text_in_a_variable_that_another_command_has_is_left() {
    let start = "qemu-system-x86_64 -enable-kvm -m 1G -hda debian.img -cpu host,kvmclock=off &\n";
    let made = |text: &str| {
        let text = format!("#!/bin/bash\n{text}");
        fixed(Kind::Qemu, "vm.sh", &text) != text
    };
    for rest in [
        "P=kvmclock=off; pgrep -f $P && exit 0",
        "P=host,kvmclock=off\npkill -f \"$P\"",
        "P=kvmclock\nps ax | grep $P",
        "export P=kvmclock=off\n./stop.sh",
        "P=kvmclock=off\nexport P\n./stop.sh",
        "P=kvmclock=off ./stop.sh",
        "declare P=kvmclock=off\npkill -f $P",
        "typeset -r P=kvmclock=off\npkill -f $P",
        "readonly P=kvmclock=off\npkill -f $P",
        "f() { local P=kvmclock=off; pkill -f $P; }\nf",
        "P=(host kvmclock=off)\npkill -f \"${P[1]}\"",
        ": ${P:=kvmclock=off}\npkill -f \"$P\"",
        "pkill -f ${P:-kvmclock=off}",
        "read -r P <<< kvmclock=off\npkill -f \"$P\"",
        "mapfile -t P <<< kvmclock=off\npkill -f \"${P[0]}\"",
        "case $1 in stop) P=host,kvmclock=off;; esac\npkill -f \"$P\"",
        "if [ \"$1\" ]; then P=kvmclock=off; fi; pkill -f $P",
        "eval P=kvmclock=off\npkill -f $P",
        "K=kvmclock; V=off\npgrep -f \"$K=$V\" || exit 1",
        "A=kvmclock=off; B=\"host,$A\"; pgrep -f \"$B\"",
        "[[ $1 = *kvmclock* ]] && exit 1",
        "P='kvmclock=off'\ntrap 'pkill -f \"$P\"' EXIT\nwait",
        "P=kvmclock=off\ntrap \"pkill -f $P\" EXIT\nwait",
        "P=kvmclock=off\nstop() { pkill -f \"$P\"; }\ntrap stop EXIT\nwait",
        "trap 'ps ax | grep KVMCLOCK' EXIT",
        "pkill -f \"$PATTERN\"",
        "qemu-system-x86_64 -m 1 -name \"$(pgrep -f kvmclock=off)\"",
    ] {
        assert!(!made(&format!("{rest}\n{start}")), "{rest}");
        assert!(!made(&format!("{start}{rest}\n")), "{rest}");
        says_why(Kind::Qemu, "vm.sh", &format!("#!/bin/bash\n{start}{rest}\n"));
    }
    // A command in the command itself.
    let within = start.replace("&", "-name \"$(pgrep -cf kvmclock=off)\"");
    assert!(!made(&within), "{within}");
    for rest in [
        "# pgrep -f host,kvm\n",
        "P=win10\npkill -f \"$P\"",
        // A variable that only commands of machines have.
        "P=\"-m 1G\"; O=\"-cpu max,kvmclock=on $P\"\nqemu-system-x86_64 -S $O",
        "trap 'rm -f a.pid' EXIT",
    ] {
        assert!(made(&format!("{rest}\n{start}")), "{rest}");
    }
    let created = "#!/bin/sh\nVBoxManage createvm --name d --ostype Debian_64 --register\nVBoxManage modifyvm d --cpus 2 --paravirtprovider none\n";
    let text = format!(
        "{created}WANT=none\nVBoxManage showvminfo d | grep \"provider=.$WANT\" || exit 1\n"
    );
    assert_eq!(fixed(Kind::Virtualbox, "vm.sh", &text), text);
}

#[test]
fn unit_whose_other_commands_have_the_text_in_a_variable_is_left() {
    let unit = "[Service]\nExecStart=/usr/bin/qemu-system-x86_64 -enable-kvm -m 1G -hda debian.img -cpu host,kvmclock=off\n";
    for lines in [
        "Environment=P=kvmclock=off\nExecStop=/usr/bin/pkill -f ${P}\n",
        "Environment=\"P=host,kvmclock\"\nExecStop=/bin/sh -c 'pkill -f \"$P\"'\n",
        "Environment=A=b P=kvmclock=off\nExecStopPost=/usr/local/bin/stop\n",
        "EnvironmentFile=/etc/vm.env\nExecStop=/usr/bin/pkill -f ${P}\n",
    ] {
        let text = format!("{unit}{lines}");
        assert_eq!(fixed(Kind::Qemu, "vm.service", &text), text);
        says_why(Kind::Qemu, "vm.service", &text);
    }
    let text = format!("{unit}Environment=RAM=1G\nExecStop=/bin/kill $MAINPID\n");
    assert_ne!(fixed(Kind::Qemu, "vm.service", &text), text);
}

#[test]
fn file_that_reads_or_checks_itself_is_left() {
    let start = "qemu-system-x86_64 -enable-kvm -m 1G -hda debian.img -cpu host,kvmclock=off &\n";
    let made = |rest: &str| {
        let text = format!("#!/bin/bash\n{rest}\n{start}");
        fixed(Kind::Qemu, "vm.sh", &text) != text
    };
    let sum = "d41d8cd98f00b204e9800998ecf8427e";
    for rest in [
        "[ \"$(md5sum < \"$0\")\" = 'abc  -' ] || exit 1",
        "[ \"$(sha256sum \"${BASH_SOURCE[0]}\")\" = abc ] || exit 1",
        "cat \"$(readlink -f \"$0\")\" | cksum",
        "S=$(readlink -f \"$0\")\nmd5sum \"$S\"",
        "S=$0\nT=\"$S\"\ncmp \"$T\" golden || exit 1",
        "S=$(realpath \"$0\"); wc -c < \"$S\"",
        "S=$0; bash -c \"tail -n 1 $S\"",
        "N=$(basename \"$0\"); grep -c qemu \"$N\"",
        "md5sum vm.sh | cut -c1-32",
        "sha256sum -c self.sum || exit 1",
        "cd \"$(dirname \"$0\")\"; sha256sum --quiet --check SUMS || exit 1",
        "sh -c 'md5sum -c SUMS'",
        &format!("# md5 of this file: {sum}"),
    ] {
        assert!(!made(rest), "{rest}");
        says_why(Kind::Qemu, "vm.sh", &format!("#!/bin/bash\n{rest}\n{start}"));
    }
    for rest in [
        "cd \"$(dirname \"$0\")\"",
        "D=$(dirname \"$(readlink -f \"$0\")\"); cat \"$D/notes\"",
        "N=$(basename \"$0\"); echo \"$N: starting\"",
        "[ $# -gt 1 ] && echo \"Usage: $0 NAME\"",
        "md5sum disk.img",
        "# md5 is not checked\n",
    ] {
        assert!(made(rest), "{rest}");
    }
    let conf = "cores: 2\ncpu: host\nargs: -cpu host,kvmclock=off\nmemory: 1024\nostype: l26\n";
    assert_ne!(fixed(Kind::Proxmox, "100.conf", conf), conf);
    let domain = "<domain type='kvm'><name>debian</name><memory>1</memory><os><type arch='x86_64'>hvm</type></os><clock offset='utc'><timer name='kvmclock' present='no'/></clock></domain>\n";
    let guest = |text: &str| {
        let document = Document::of_kind("a.xml", text.as_bytes(), Kind::Libvirt).unwrap();
        let document = document.with_guest(Some(crate::Guest::Linux));
        fix(&document, &Choices::default()).unwrap().document.text.as_str() != text
    };
    assert!(guest(domain));
    assert!(!guest(&format!("<!-- sha256: {sum}{sum} -->\n{domain}")));
}

#[test]
fn programs_and_logs_are_not_edited_whatever_they_look_like() {
    let domain = "<domain type='kvm'>\n  <name>debian</name>\n  <os>\n    <type arch='x86_64' machine='q35'>hvm</type>\n  </os>\n  \
                  <clock>\n    <timer name='kvmclock' present='no'/>\n  </clock>\n</domain>\n";
    assert_ne!(fixed(Kind::Libvirt, "a.xml", domain), domain);
    assert_eq!(fixed(Kind::Libvirt, "a.nix", domain), domain);
    for head in [
        "{ pkgs, ... }:\n",
        "# guests\n{\n  pkgs,\n  lib ? null,\n}:\n",
        "with import <nixpkgs> {};\n",
    ] {
        let text = format!("{head}{QEMU} -machine q35,hpet=on\n");
        assert_eq!(fixed(Kind::Qemu, "guest", &text), text);
        says_why(Kind::Qemu, "guest", &text);
    }
    let own = format!("{QEMU} -machine q35,hpet=on\n");
    assert_ne!(fixed(Kind::Qemu, "a.sh", &own), own);
    for name in ["a.log", "debian.log.1"] {
        assert_eq!(fixed(Kind::Qemu, name, &own), own);
        says_why(Kind::Qemu, name, &own);
    }
    let log = format!(
        "2025-01-02 03:04:05.678+0000: starting up libvirt version: 10.0.0, qemu version: 8.2.2\nLC_ALL=C \\\n{own}"
    );
    assert_eq!(fixed(Kind::Qemu, "guest", &log), log);
    let pasted = format!("LC_ALL=C \\\nPATH=/usr/bin \\\n{own}");
    assert_eq!(fixed(Kind::Qemu, "a.txt", &pasted), pasted);
}

#[test]
fn machine_in_a_substitution_is_read_and_not_edited() {
    let found = |text: &str| {
        let report = lint(&Document::of_kind("a.sh", text.as_bytes(), Kind::Qemu).unwrap());
        report.is_ok_and(|report| report.findings.iter().any(|it| it.rule.id == "q-hpet-on"))
    };
    for text in [
        format!("#!/bin/sh\nout=$(timeout 60 {QEMU} -machine q35,hpet=on 2>&1)\necho \"$out\"\n"),
        format!("#!/bin/sh\nout=`{QEMU} -machine q35,hpet=on`\n"),
        format!("#!/bin/sh\nM=q35,hpet=on\ncase \"$({QEMU} -machine $M)\" in *ok*) ;; esac\n"),
    ] {
        assert!(found(&text), "{text}");
        assert_eq!(fixed(Kind::Qemu, "a.sh", &text), text);
        says_why(Kind::Qemu, "a.sh", &text);
    }
    let asks = "#!/bin/sh\nlist=$(qemu-system-x86_64 -machine help)\n";
    assert!(!found(asks));
}
