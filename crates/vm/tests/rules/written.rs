//! Scripts that read options of their own, or write the command line for another shell.

use super::*;

#[test]
fn labels_of_a_case_are_no_options() {
    let script = |label: &str| {
        format!(
            "#!/bin/bash\nadd() {{ echo -n \"$* \" >> /tmp/cmd; }}\nwhile [ -n \"$1\" ]; do\n\tcase \"$1\" in\n\t{label}\t\tMODEL=\"$2\"\n\t\tshift\n\t\t;;\n\t-h)\n\t\tusage ;;\n\tesac\n\tshift\ndone\nadd \"-enable-kvm -cpu ${{MODEL}} -machine q35\"\nadd \"-drive file=a\"\nbash /tmp/cmd\n"
        )
    };
    for label in ["-cpu)", "(-cpu)", "-cpu | --cpu)", "--cpu|-cpu)", "\"-cpu\")", "@(-cpu|-c))"] {
        let text = script(label);
        assert_eq!(Kind::detect("a.sh", &text), Some(Kind::Qemu), "{text}");
        let all = ids(Kind::Qemu, &text);
        assert!(!all.iter().any(|(id, _)| *id == "q-cpu-repeated"), "{label}: {all:?}");
    }
    // Nor is what an option is compared with.
    let text = "#!/bin/bash\nif [ \"$1\" = -cpu ]; then MODEL=\"$2\"; fi\nadd \"-enable-kvm -cpu ${MODEL} -machine q35\"\n";
    let all = ids(Kind::Qemu, text);
    assert!(!all.iter().any(|(id, _)| *id == "q-cpu-repeated"), "{all:?}");
    // What stands behind a label is one, and what stands behind the last one is, too.
    for text in [
        "case $1 in -a|-cpu) qemu-system-x86_64 -enable-kvm -no-hpet;; esac\n",
        "case $1 in -a) ;; -cpu) ;; esac\nqemu-system-x86_64 -enable-kvm -no-hpet\n",
        "case $1 in\n  -a) echo;;\n  *) qemu-system-x86_64 -enable-kvm -no-hpet\nesac\n",
        "# in case of\nin case you in need\nqemu-system-x86_64 -enable-kvm -no-hpet\n",
    ] {
        let all = ids(Kind::Qemu, text);
        assert!(all.iter().any(|(id, _)| *id == "q-no-hpet-removed"), "{text}: {all:?}");
    }
}

#[test]
fn a_list_of_required_programs_starts_none() {
    let install = "virt-install --name w --memory 4096 --machine q35 --cpu host --cdrom Win11.iso --os-variant win11\n";
    for list in [
        "REQUIRED=(\"kvm\" \"qemu-system-x86_64\" \"virt-install\")\n",
        "for c in qemu-system-x86_64 virt-install; do command -v $c >/dev/null || exit 1; done\n",
        "command -v qemu-system-x86_64 >/dev/null || exit 1\n",
        "for c in qemu-system-x86_64 \\\n  virt-install; do which \"$c\"; done\n",
        "apt-get install -y qemu-kvm qemu-system-x86 virtinst\n",
        "pkgs=\"qemu-system-x86_64 virt-install\"\nqemu-system-x86_64 --version\n",
        "[ -x /usr/bin/qemu-system-x86_64 ] || exit 1\n",
    ] {
        let text = format!("#!/bin/bash\n{list}{install}");
        assert_eq!(Kind::detect("win11.sh", &text), Some(Kind::VirtInstall), "{text}");
        let all = ids(Kind::VirtInstall, &text);
        assert!(all.iter().all(|(_, severity)| *severity == Severity::Info), "{all:?}\n{text}");
    }
    // One that runs both is of QEMU, as before.
    let text = format!("#!/bin/bash\n{install}qemu-system-x86_64 -enable-kvm -no-hpet a.img\n");
    assert_eq!(Kind::detect("win11.sh", &text), Some(Kind::Qemu));
}
