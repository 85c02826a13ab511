//! Command lines of QEMU in Python and in other languages.

use super::*;

fn found(name: &str, text: &str) -> Vec<(&'static str, Severity, String)> {
    let document = Document::of_kind(name, text.as_bytes(), Kind::Qemu).unwrap();
    let report = lint(&document).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let fixed = fix(&document, &Choices::default()).unwrap();
    assert_eq!(fixed.document.text.as_str(), text, "nothing of it is edited");
    let of = |f: &clocksmith_vm::Finding| {
        (f.rule.id, f.severity, text.get(f.span.clone()).unwrap().to_owned())
    };
    report.findings.iter().map(of).collect()
}

const OFF: &str = "q-kvmclock-off-no-invtsc";

fn python(text: &str) -> Vec<(&'static str, Severity, String)> {
    found("vm.py", text)
}

#[test]
fn python_names_are_put_in() {
    for text in [
        "cpu = \"host,-kvmclock\"\nrun([\"qemu-system-x86_64\", \"-accel\", \"kvm\", \"-cpu\", cpu])\n",
        "CPU: str = 'host,' '-kvmclock'\ndef go(n):\n    run(['qemu-system-x86_64', '-enable-kvm', '-cpu', CPU, '-m', n])\n",
        "MODEL = 'host'\nrun(['qemu-system-x86_64', '-enable-kvm', '-cpu', f'{MODEL},-kvmclock'])\n",
        "args = ['qemu-system-x86_64',\n    '-enable-kvm',  # \"x\"\n]\nargs += ['-cpu', 'host,-kvmclock']\nrun(args)\n",
        "args = ['qemu-system-x86_64', '-enable-kvm']\nargs.append('-cpu')\nargs.append('host,-kvmclock')\nrun(args)\n",
        "more = ['-cpu', 'host,-kvmclock']\nrun(['qemu-system-x86_64', '-enable-kvm', *more])\n",
        "more = ['-cpu', 'host,-kvmclock']\nrun(['qemu-system-x86_64', '-enable-kvm'] + more)\n",
        "class A:\n    def __init__(self):\n        self.cpu = 'host,-kvmclock'\n    def go(self):\n        run('qemu-system-x86_64', '-enable-kvm', '-cpu', self.cpu)\n",
        "os.system('qemu-system-x86_64 -enable-kvm -cpu host,-kvmclock -m 1G')\n",
    ] {
        let all = python(text);
        let error = (OFF, Severity::Error, "-kvmclock".to_owned());
        assert!(all.contains(&error), "{all:?}\n{text}");
    }
}

#[test]
fn python_values_that_only_a_run_tells_are_unknown() {
    for (text, there) in [
        ("def go(cpu):\n    run(['qemu-system-x86_64', '-enable-kvm', '-cpu', cpu])\n", "cpu"),
        (
            "cpu = 'host'\nif x:\n    cpu += ',-kvmclock'\nrun(['qemu-system-x86_64', '-accel', 'kvm', '-cpu', cpu])\n",
            "cpu",
        ),
        (
            "cpu = 'host'\ncpu = pick(cpu)\nrun(['qemu-system-x86_64', '-accel', 'kvm', '-cpu', cpu])\n",
            "cpu",
        ),
        (
            "p.add_argument('--cpu', default='host,kvmclock=off', choices=['host'])\n\
             run(['qemu-system-x86_64', '-accel', 'kvm', '-cpu', p.cpu])\n",
            "kvmclock=off",
        ),
    ] {
        let all = python(text);
        let unknown = ("q-value-unknown", Severity::Info, there.to_owned());
        assert!(all.contains(&unknown), "{all:?}\n{text}");
        let quiet = |id: &str| all.iter().all(|(found, _, _)| *found != id);
        assert!(quiet(OFF) && quiet("q-no-invtsc") && quiet("q-cpu-repeated"), "{all:?}");
    }
    let compared = "cpu = pick()\nslow = cpu.endswith('-kvmclock')\n\
                    run(['qemu-system-x86_64', '-accel', 'kvm', '-cpu', cpu])\n";
    assert!(python(compared).iter().all(|(_, _, there)| there != "-kvmclock"));
}

#[test]
fn python_lists_are_command_lines_of_their_own() {
    let list = "    return [\n        'qemu-system-x86_64', '-enable-kvm',\n        '-cpu', 'host',\n        '-m', m,\n    ]\n";
    let text = format!("def a(m):\n{list}\ndef b(m):\n{list}");
    assert!(python(&text).iter().all(|(id, _, _)| *id != "q-cpu-repeated"));
    // A branch with another one intends to replace it.
    let other = "a = ['qemu-system-x86_64', '-enable-kvm', '-cpu', 'host']\nif x:\n    a += ['-cpu', 'host,-kvmclock']\nrun(a)\n";
    let all = python(other);
    assert!(all.iter().any(|(id, _, _)| *id == OFF), "{all:?}");
    assert!(all.iter().all(|(id, _, _)| *id != "q-cpu-repeated"), "{all:?}");
    let twice =
        "run(['qemu-system-x86_64', '-enable-kvm', '-cpu', 'host,hv-time', '-cpu', 'host'])\n";
    assert!(python(twice).iter().any(|(id, _, _)| *id == "q-cpu-repeated"));
}

#[test]
fn other_languages_name_variables_without_quotes() {
    let text = "const cpu = pick();\nspawn(\"qemu-system-x86_64\", [\"-accel\", \"kvm\", \"-m\", \"1G\", \"-cpu\", cpu]);\n";
    let all = found("vm.js", text);
    assert!(all.iter().all(|(id, _, _)| *id != "q-no-invtsc"), "{all:?}");
    let two = format!("{}{}", text.replace("cpu]", "\"host\"]"), text.replace("cpu]", "\"max\"]"));
    let all = found("vm.js", &two);
    assert!(all.iter().all(|(id, _, _)| *id != "q-cpu-repeated"), "{all:?}");
}

#[test]
fn units_have_their_environment() {
    let exec = "ExecStart=/usr/bin/qemu-system-x86_64 -enable-kvm -m 1G -cpu ${CPU}\n";
    for text in [
        format!("[Service]\nEnvironment=\"CPU=host,-kvmclock\"\n{exec}"),
        format!("[Service]\n{exec}Environment=A=b CPU=host,-kvmclock\n"),
    ] {
        let all = found("vm.service", &text);
        assert!(all.iter().any(|(id, _, _)| *id == OFF), "{all:?}");
    }
    let file = format!("[Service]\nEnvironmentFile=/etc/vm\n{exec}");
    let unknown = ("q-value-unknown", Severity::Info, "${CPU}".to_owned());
    assert!(found("vm.service", &file).contains(&unknown));
}

#[test]
fn shell_functions_and_loops_that_make_options_are_named() {
    let printed = "opts() {\n  echo \"-cpu host,-kvmclock\"\n}\nqemu-system-x86_64 -enable-kvm $(opts a) -m 1G\n";
    let unknown = |there: &str| ("q-value-unknown", Severity::Info, there.to_owned());
    assert!(found("vm.sh", printed).contains(&unknown("-kvmclock")));
    let said = printed.replace("$(opts a)", "");
    assert!(!found("vm.sh", &said).contains(&unknown("-kvmclock")));
    let looped =
        "for c in on off; do\n  qemu-system-x86_64 -enable-kvm -cpu host,kvmclock=$c -m 1G\ndone\n";
    assert!(found("vm.sh", looped).contains(&unknown("$c")));
}

#[test]
fn strings_beside_each_other_are_one() {
    for text in [
        "cmd = (\"qemu-system-x86_64 -m 1G -drive file=win10.qcow2 \"\n       \"-cpu host,hv_time,-hypervisor \"\n       \"-M q35,hpet=off -accel kvm\")\n",
        "cmd = \"qemu-system-x86_64 -m 1G -drive file=win10.qcow2 \" \\\n      \"-enable-kvm -cpu host,hv_time,-hypervisor -M q35,hpet=off\"\n",
        "run('qemu-system-x86_64 -m 1G -enable-kvm ' + '-M q35,hpet=off '\n    '-cpu host,hv_time,-hypervisor')\n",
        "more = '-cpu host,hv_time,-hypervisor'\nrun('qemu-system-x86_64 -enable-kvm -M q35,hpet=off ' + more)\n",
    ] {
        let all = python(text);
        let bad: Vec<_> =
            all.iter().filter(|it| it.1 > Severity::Info || it.0 == "q-hpet-default-on").collect();
        assert_eq!(bad.len(), 1, "{bad:?}\n{text}");
        assert_eq!((bad[0].0, bad[0].2.as_str()), ("q-hypervisor-hidden", "-hypervisor"));
        assert!(!all.iter().any(|it| it.0 == "q-emulated"), "{all:?}");
    }
}

/// Returns the findings in a program, which is never changed.
fn program(name: &str, text: &str) -> Vec<&'static str> {
    let document = Document::new(name, text.as_bytes()).unwrap();
    assert_eq!(document.kind, Kind::Qemu, "{text}");
    let choices = Choices { invtsc: true, tsc_frequency: Some(2_994_372_000) };
    assert_eq!(fix(&document, &choices).unwrap().document.text.as_str(), text);
    let found = lint(&document).unwrap().findings;
    found.into_iter().filter(|it| it.severity > Severity::Info).map(|it| it.rule.id).collect()
}

#[test]
fn constants_of_programs_are_followed() {
    let run = "fn main() { Command::new(\"qemu-system-x86_64\").arg(\"-enable-kvm\").arg(\"-cpu\").arg(CPU).spawn(); }\n";
    let of =
        |value: &str| format!("use std::process::Command;\nconst CPU: &str = \"{value}\";\n{run}");
    let bad = ["q-kvmclock-off-no-invtsc"];
    assert_eq!(program("a.rs", &of("host,-kvmclock")), bad);
    assert_eq!(program("a.rs", &of("host")), [""; 0]);
    assert_eq!(program("a.rs", &run.replace("CPU", "\"host,-kvmclock\"")), bad);
    // A name that may also be something else.
    let other = of("host,-kvmclock").replace("main()", "main(CPU: &str)");
    assert_eq!(program("a.rs", &other), [""; 0]);
    let go = "package main\n\nconst cpu = \"host,-kvmclock\"\n\nfunc main() {\n\texec.Command(\"qemu-system-x86_64\", \"-enable-kvm\", \
              \"-cpu\", cpu).Run()\n}\n";
    assert_eq!(program("a.go", go), bad);
    let js = "const cpu = 'host,-kvmclock';\nspawn('qemu-system-x86_64', ['-enable-kvm', '-cpu', cpu, '-m', '1G']);\n";
    assert_eq!(program("a.js", js), bad);
    assert_eq!(program("a.js", &js.replace("';", "' + more;")), [""; 0]);
    let image = "FROM debian\nENV CPU=host,-kvmclock MEM=1G\nCMD qemu-system-x86_64 -enable-kvm -cpu $CPU -m $MEM\n";
    assert_eq!(program("Dockerfile", image), bad);
}
