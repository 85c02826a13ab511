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
