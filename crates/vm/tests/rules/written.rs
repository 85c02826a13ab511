//! Scripts that read their own options, or write the command line for another shell.

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
    // Nor is a word that an option is compared with.
    let text = "#!/bin/bash\nif [ \"$1\" = -cpu ]; then MODEL=\"$2\"; fi\nadd \"-enable-kvm -cpu ${MODEL} -machine q35\"\n";
    let all = ids(Kind::Qemu, text);
    assert!(!all.iter().any(|(id, _)| *id == "q-cpu-repeated"), "{all:?}");
    // A command after a label is one, and so is one after the last label.
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
    // A script that runs both is of QEMU, as before.
    let text = format!("#!/bin/bash\n{install}qemu-system-x86_64 -enable-kvm -no-hpet a.img\n");
    assert_eq!(Kind::detect("win11.sh", &text), Some(Kind::Qemu));
}

/// Functions of a script that write their arguments to a file one line at a time, or add them to a variable.
const WRITERS: [(&str, &str, &str); 9] = [
    ("ato() { echo \"$1\" >> $out; }", " \\\\", "bash $out"),
    ("ato () {\n  echo \"$*\" >> \"$out\"\n}", " \\\\", "bash \"$out\""),
    ("function ato {\n  local line=\"$1\"\n  echo \"$line \\\\\" >> ${out}\n}", "", "bash $out"),
    ("ato() { echo -n \"$* \" >> ${out}; }", "", "bash ${out}"),
    ("ato() { printf '%s ' \"$@\" >> $out; }", "", "sh $out"),
    ("ato() { printf \"%s\\n\" \"$1\" >>$out; }", " \\\\", "sh $out"),
    ("ato() { C+=\" $*\"; }", "", "$C"),
    ("ato() { C=\"$C $1\"; }", "", "eval $C"),
    ("ato() {\n\tC+=($@)\n}", "", "\"${C[@]}\""),
];

fn by_function(options: &[&str]) -> Vec<String> {
    let script = |(function, end, run): &(&str, &str, &str)| {
        let calls: String = options
            .iter()
            .map(|option| format!("[ -z \"$X\" ] || ato \"{option}{end}\"\n"))
            .collect();
        format!(
            "#!/bin/bash\nout=start.bash\n{function}\nato \"/usr/bin/qemu-system-x86_64{end}\"\n{calls}ato \"-m 1G\"\n{run}\n"
        )
    };
    WRITERS.iter().map(script).collect()
}

#[test]
fn a_command_line_that_a_function_writes_is_read() {
    let kind = Kind::Qemu;
    for text in
        by_function(&["-enable-kvm -no-hpet", "-machine q35,usb=off", "-cpu host,kvmclock=off"])
    {
        let all = ids(kind, &text);
        for id in ["q-no-hpet-removed", "q-kvmclock-off-no-invtsc"] {
            assert!(all.iter().any(|(found, _)| *found == id), "{id} not in {all:?} of\n{text}");
        }
        assert!(!all.iter().any(|(id, _)| *id == "q-hpet-default-on"), "{all:?}\n{text}");
        // A written file is not changed.
        mended(kind, &text, &text);
    }
    for text in by_function(&["-enable-kvm", "-machine q35,hpet=off", "-cpu host"]) {
        let all = ids(kind, &text);
        assert!(!all.iter().any(|(id, _)| id.contains("hpet")), "{all:?}\n{text}");
        assert!(all.iter().all(|(_, severity)| *severity == Severity::Info), "{all:?}\n{text}");
        assert!(all.iter().any(|(id, _)| *id == "q-no-invtsc"), "{all:?}\n{text}");
    }
}

#[test]
fn words_that_a_function_adds_to_a_list_stay_words() {
    let text = "#!/bin/bash\nadd() { C+=(\"$@\"); }\nC=(qemu-system-x86_64)\nadd -enable-kvm -append \"a clocksource=hpet\"\nadd -machine q35,hpet=on -cpu host,kvmclock=off\n\"${C[@]}\"\n";
    let all = ids(Kind::Qemu, text);
    for id in ["q-hpet-on", "q-kvmclock-off-no-invtsc"] {
        assert!(all.iter().any(|(found, _)| *found == id), "{id} not in {all:?}");
    }
    mended(Kind::Qemu, text, text);
}

#[test]
fn branches_of_what_a_function_writes_are_alternatives() {
    let text = |between: &str| {
        format!(
            "#!/bin/bash\nato() {{ echo \"$1\" >> s.sh; }}\nato \"qemu-system-x86_64 -machine q35,hpet=off \\\\\"\nif [ -n \"$X\" ]; then\n  ato \"-cpu host \\\\\"\n{between}\n  ato \"-cpu max \\\\\"\nfi\nato \"-m 1G\"\nsh s.sh\n"
        )
    };
    let repeated = |text: &str| ids(Kind::Qemu, text).iter().any(|(id, _)| *id == "q-cpu-repeated");
    assert!(!repeated(&text("else")));
    assert!(repeated(&text("")));
}

#[test]
fn a_function_that_is_not_understood_leaves_it_open() {
    for function in [
        "ato() { case $1 in -*) emit \"$1\";; esac; }",
        "ato() {\n  for w in \"$@\"; do\n    printf '%q ' \"$w\"\n  done >> s.sh\n}",
        "ato() { echo \"$1\" | tac >> s.sh; }",
    ] {
        let text = format!(
            "#!/bin/bash\n{function}\nato \"/usr/bin/qemu-system-x86_64 \\\\\"\nato \"-enable-kvm \\\\\"\nato \"-machine q35,hpet=off \\\\\"\nato \"-cpu host\"\nbash s.sh\n"
        );
        let report = lint(&document(Kind::Qemu, &text)).unwrap();
        assert!(report.partial, "{text}");
        let said = |id: &str| report.findings.iter().find(|it| it.rule.id == id);
        assert!(said("q-hpet-default-on").is_none(), "{:?}\n{text}", report.findings);
        let open = said("q-value-unknown").and_then(|it| it.summary.as_deref()).unwrap_or_default();
        assert!(open.contains("the function ato writes the command line"), "{open}\n{text}");
        mended(Kind::Qemu, &text, &text);
    }
}

#[test]
fn text_that_is_taken_over_into_another_one_has_one_cpu() {
    let text = |last: &str| {
        format!(
            "#!/bin/bash\nBIN=/usr/libexec/qemu-kvm\nCMD=\"${{BIN}} -accel kvm -cpu host -m 2G\"\nCMD+=\" -append \\\"root=/dev/vda1\\\" {last}\"\neval \"${{CMD}}\"\n"
        )
    };
    let repeated = |text: &str| ids(Kind::Qemu, text).iter().any(|(id, _)| *id == "q-cpu-repeated");
    assert!(!repeated(&text("")));
    assert!(repeated(&text("-cpu max")));
    let other = |second: &str| {
        format!(
            "#!/bin/bash\nBIN=/usr/libexec/qemu-kvm\nCMD=\"${{BIN}} -accel kvm -cpu host -m 2G\"\n{second}\neval \"${{CMD}}\"\n"
        )
    };
    assert!(repeated(&other("CMD=\"$CMD -cpu max\"")));
    assert!(repeated(&other("ALL=\"$CMD -cpu max\"")));
    // Another machine.
    assert!(!repeated(&other("eval \"${CMD}\"\nCMD=\"${BIN} -accel kvm -cpu max -m 2G\"")));
    assert!(!repeated(&other("B=\"-cpu max\"\nC=\"${BIN} $B\"")));
    assert!(!repeated(&other("SECOND=\"${BIN} -accel kvm -cpu max -m 2G\"")));
}

#[test]
fn lines_of_options_alone_are_one_command_line() {
    let repeated = |text: &str| ids(Kind::Qemu, text).iter().any(|(id, _)| *id == "q-cpu-repeated");
    let text = |between: &str| {
        format!(
            "#!/bin/bash\ncat > a.args <<E\n# qemu-system-x86_64 @a.args\n-accel kvm\n-cpu host\n{between}-cpu max\n-m 1G\nE\n\"$Q\" @a.args\n"
        )
    };
    assert!(repeated(&text("")));
    assert!(!repeated(&text("E\ncat > b.args <<E\n# qemu-system-x86_64 @b.args\n")));
}

#[test]
fn arrays_of_several_machines_are_no_command_line() {
    let repeated = |text: &str| ids(Kind::Qemu, text).iter().any(|(id, _)| *id == "q-cpu-repeated");
    let array = |name: &str, cpu: &str| {
        format!("{name}=(\n  \"$Q\"\n  \"-enable-kvm\"\n  {cpu}\n  \"-m 1G\"\n)\n")
    };
    let run = "run() { bash -c \"$1\"; }\nrun \"${A[*]}\"\n";
    let host = "\"-cpu host\"";
    let two = [&array("A", host), &array("B", host), run].concat();
    assert!(!repeated(&format!("#!/bin/bash\n{two}")));
    let xl = |name: &str| {
        format!(
            "cat > {name}.xl <<E\ntype = \"hvm\"\ndevice_model_override = \"/usr/bin/qemu-system-i386\"\ndevice_model_args_hvm = [\n    \"-cpu\", \"Penryn\",\n    \"-global\", \"PIIX4_PM.disable_s3=1\",\n]\nE\n"
        )
    };
    let text = format!("#!/bin/bash\n{}{}", xl("a"), xl("b"));
    let document = Document::of_kind("a.sh", text.as_bytes(), Kind::Qemu).unwrap();
    let report = lint(&document).unwrap();
    assert!(report.findings.iter().all(|it| it.rule.id != "q-cpu-repeated"));
    let one = array("A", &format!("{host}\n  \"-cpu max\""));
    assert!(repeated(&format!("#!/bin/bash\n{one}{run}")));
}

#[test]
fn quotes_inside_of_a_string_are_the_inner_shell_s() {
    for inner in ["'host,kvm=off'", "host,kvm=off"] {
        let text = format!(
            "#!/bin/bash\nrun() {{ bash -c \"$1\"; }}\nrun \"qemu-system-x86_64 -enable-kvm -cpu {inner} -m 1G\"\n"
        );
        let all = ids(Kind::Qemu, &text);
        assert!(all.iter().any(|(id, _)| *id == "q-kvm-off"), "{inner}: {all:?}");
    }
}

#[test]
fn a_start_with_options_that_do_not_matter_is_one() {
    let kind = |line: &str| Kind::detect("a.sh", &format!("#!/bin/sh\n{line}\n"));
    for line in
        ["qemu-system-x86_64 -acpitable file=a.dat", "exec sudo qemu-system-i386 -fda a.img"]
    {
        assert_eq!(kind(line), Some(Kind::Qemu), "{line}");
    }
    for line in [
        "apt-get install qemu-system-x86 -y",
        "qemu-system-x86_64 -version",
        "qemu-system-x86_64 - an emulator",
        "qemu-system-x86_64, -fda, a.img",
    ] {
        assert_eq!(kind(line), None, "{line}");
    }
}

#[test]
fn configuration_of_firecracker_in_a_here_document_is_read() {
    let script = |args: &str| {
        format!(
            "#!/bin/sh\nMORE=ip=off\ncat <<EOF > vm.json\n{{\n  \"boot-source\": {{\"kernel_image_path\": \"k\", \"boot_args\": \"{args}\"}}\n}}\nEOF\n\
             ./firecracker --no-api --config-file vm.json\n"
        )
    };
    let plain = script("console=ttyS0 $MORE");
    assert_eq!(Document::new("run.sh", plain.as_bytes()).unwrap().kind, Kind::Firecracker);
    let slow = script("console=ttyS0 clocksource=hpet $MORE");
    both(Kind::Firecracker, "cmdline-slow-clocksource", Severity::Warn, &slow, &plain);
    mended(Kind::Firecracker, &slow, &slow);
}
