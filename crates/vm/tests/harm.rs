//! Scripts whose options also serve other purposes are run before and after a fix, with stand-ins for QEMU and
//! VBoxManage: only the words of the edited option differ, and all other output is equal.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use clocksmith_vm::{Choices, Document, Kind, fix};
use proptest::prelude::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// A stand-in: writes its name and each of its arguments, one on a line, to descriptor 9.
const STAND_IN: &str = "#!/bin/sh\n{ echo \"call ${0##*/}\"; for word; do printf 'word %s\\n' \"$word\"; done; } >&9\nexit 0\n";

/// Pieces of scripts. `%` is the name of a variable.
const LINES: &[&str] = &[
    "%=q35",
    "%=q35,accel=kvm",
    "%=q35,hpet=on",
    "%=EPYC-Rome,-kvmclock",
    "%=host,-kvmclock",
    "%=-kvmclock",
    "%=\"q35\"",
    "%='EPYC,-kvmclock'",
    "%=$%,hpet=on",
    "export %",
    "export %=q35",
    "readonly %",
    "unset %",
    "[ \"$%\" = q35 ] && echo equal",
    "if [ \"$%\" = q35 ]; then echo yes; else echo no; fi",
    "if [ \"$1\" = a ]; then %=pc; fi",
    "[ -n \"$1\" ] && %=pc,hpet=on",
    "case $% in q35*) echo family;; *) echo other;; esac",
    "echo \"disk-$%.qcow2\"",
    "echo ${%}",
    "echo \"${%:-none}\" ${%%,*}",
    "echo ${#%}",
    "sh -c 'echo child $%'",
    "eval \"echo \\$%\"",
    "set -- $%",
    "set -u",
    "for w in $%; do echo $w; done",
    "cat <<E\n-machine $% -cpu EPYC,-kvmclock\nqemu-system-x86_64 -machine q35 -m 1\nE",
    "x=\"\nqemu-system-x86_64 -machine q35 -m 1\n\"; echo \"$x\"",
    "echo qemu-system-x86_64 -machine q35 -cpu EPYC,-kvmclock",
    "# qemu-system-x86_64 -machine q35 -cpu EPYC,-kvmclock",
    "f() { qemu-system-x86_64 -enable-kvm -cpu max,kvm=off -m 1 -machine $% \"$@\"; }; f one; f two",
    "f() { echo \"f $*\"; }; f -machine $%",
    "qemu-system-x86_64 -enable-kvm -cpu max,kvm=off -m 1 -machine $%",
    "qemu-system-x86_64 -enable-kvm -cpu max,kvm=off -m 1 -machine \"$%\" -name $%",
    "qemu-system-x86_64 -enable-kvm -m 1 -machine q35,accel=kvm -cpu $%",
    "qemu-system-x86_64 -enable-kvm -m 1 -machine \"$%\",accel=kvm -cpu EPYC$%",
    "qemu-system-x86_64 -enable-kvm -m 1 -machine ${%:-q35,hpet=on} -cpu \"${%:-EPYC,-kvmclock}\"",
    "qemu-system-x86_64 -enable-kvm -m 1 -machine q35${%:+,accel=kvm} -cpu EPYC\"${%:-,-kvmclock}\"",
    "qemu-system-x86_64 -enable-kvm -m 1 -machine q35 -cpu EPYC,-kvmclock",
    "qemu-system-x86_64 -enable-kvm -m 1 -machine 'q35' -cpu \"EPYC,-kvmclock\" && echo done",
    "true && qemu-system-x86_64 -enable-kvm -cpu max,kvm=off -m 1 -machine q35",
    "! qemu-system-x86_64 -enable-kvm -m 1 -machine q35 -cpu EPYC,-kvmclock | cat",
    "if qemu-system-x86_64 -enable-kvm -cpu max,kvm=off -m 1 -machine q35; then echo started; fi",
    "y=$(qemu-system-x86_64 -enable-kvm -cpu max,kvm=off -m 1 -machine q35); echo \"$y\"",
    "qemu-system-x86_64 -enable-kvm -cpu max,kvm=off -m 1 -no-hpet",
    "qemu-system-x86_64 -enable-kvm -cpu max,kvm=off -m 1 -no-hpet; echo $?",
    "qemu-system-x86_64 -enable-kvm -cpu max,kvm=off -m 1 -name '-no-hpet' -machine q35",
    "qemu-system-x86_64 -enable-kvm -cpu max,kvm=off -m 1 -name -no-hpet",
    "qemu-system-x86_64 \\\n  -m 1 \\\n  -cpu EPYC,-kvmclock \\\n  -machine q35",
    "qemu-system-aarch64 -m 1 -machine $% -cpu max",
    "qemu-system-s390x -m 1 -machine s390-ccw-virtio",
    "qemu-system-$1 -m 1 -machine $%",
    "$0 2>/dev/null; echo $?",
    "grep -c q35 \"$0\"",
    "echo \"last $_\"",
    "exec 3>&1",
    "while [ -z \"$n\" ]; do n=1; qemu-system-x86_64 -enable-kvm -cpu max,kvm=off -m 1 -machine q35; done",
    "(qemu-system-x86_64 -enable-kvm -cpu max,kvm=off -m 1 -machine q35)",
    "{ qemu-system-x86_64 -enable-kvm -cpu max,kvm=off -m 1 -machine q35; }",
    "VBoxManage setextradata w VBoxInternal/TM/TSCVirtualized 0",
    "VBoxManage modifyvm w --ostype Debian_64 --paravirtprovider none",
    "VBoxManage modifyvm w --ostype Debian_64 --paravirtprovider $%",
    "if [ -z \"$1\" ]; then\nVBoxManage setextradata w VBoxInternal/TM/TSCVirtualized 0\nfi",
    "true &&\nVBoxManage setextradata w VBoxInternal/TM/TSCVirtualized 0",
    "false ||\nVBoxManage setextradata w VBoxInternal/TM/TSCVirtualized 0",
    "for v in a b; do\nVBoxManage setextradata $v VBoxInternal/TM/TSCVirtualized 0\ndone",
    "echo status $?",
    "%=none",
    "exit 3",
    // The machine type depends on the arguments of the script.
    "if [ \"$1\" ]; then %=microvm; fi",
    "[ -n \"$EXTRA\" ] && %=$2",
    "case $1 in -M) %=microvm;; *) %=q35;; esac",
    "read -r % <<E\nmicrovm\nE",
    "unset %",
    "eval \"%=microvm\"",
    "qemu-system-x86_64 -m 1 -machine $%,accel=kvm",
    "qemu-system-x86_64 -m 1 -machine $% -name \"$1\" \"$PWD/a.img\"",
    "qemu-system-x86_64 -m 1 -machine q35 \"$@\"",
    "qemu-system-x86_64 -m 1 $EXTRA -enable-kvm",
    "qemu-system-x86_64 -m 1 $% -enable-kvm",
    "%=-snapshot",
    "%=\"-M microvm\"",
    "h() { qemu-system-x86_64 -m 1 -machine \"$1\",accel=kvm; }; h $%; h microvm",
];

/// Lines that only bash understands.
const OF_BASH: &[&str] = &[
    "%=(-machine q35)",
    "%+=(-cpu EPYC,-kvmclock)",
    "%+=,accel=kvm",
    "echo \"${%[@]}\"",
    "echo \"${%[*]}\" ${#%[@]}",
    "qemu-system-x86_64 -enable-kvm -cpu max,kvm=off -m 1 \"${%[@]}\"",
    "qemu-system-x86_64 -enable-kvm -cpu max,kvm=off -m 1 ${%[*]} -S",
    "if [[ $1 ]]; then %+=(-machine pc); fi",
    "declare -p %",
    "[[ $% == q35* ]] && echo match",
    "IFS=,; echo \"${%[*]}\"",
    "function g { qemu-system-x86_64 -enable-kvm -cpu max,kvm=off -m 1 -machine q35; }; g",
    "declare -f g",
    "set -x",
    "shopt -s expand_aliases\nalias qemu-system-x86_64='echo alias'",
];

struct Run {
    calls: Vec<Vec<String>>,
    output: String,
    status: Option<i32>,
}

fn run(shell: &str, directory: &Path, script: &str, argument: &str) -> Run {
    let file = directory.join("vm.sh");
    fs::write(&file, script).unwrap();
    let calls = directory.join("calls");
    let words =
        format!("exec 9>'{}'; exec {shell} '{}' {argument}", calls.display(), file.display());
    let done = Command::new("timeout")
        .args(["-s", "KILL", "5", "bash", "-c", &words])
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", directory.join("bin").display()))
        .env("LC_ALL", "C")
        .env("EXTRA", "-M microvm")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let mut all: Vec<Vec<String>> = Vec::new();
    for line in fs::read_to_string(&calls).unwrap_or_default().lines() {
        match (line.split_once(' '), all.last_mut()) {
            (Some(("call", name)), _) => all.push(vec![name.to_owned()]),
            (Some(("word", word)), Some(call)) => call.push(word.to_owned()),
            _ => {}
        }
    }
    let mut output = String::from_utf8_lossy(&done.stdout).into_owned();
    // Messages of the shell have a line number, which changes if a line above is removed.
    for line in String::from_utf8_lossy(&done.stderr).lines() {
        let parts = line
            .split(": ")
            .filter(|part| part.trim_start_matches("line ").parse::<u32>().is_err());
        output.push_str(&parts.collect::<Vec<_>>().join(": "));
        output.push('\n');
    }
    Run { calls: all, output, status: done.status.code() }
}

/// Returns a command line without the options that a change may edit.
fn reduced(call: &[String]) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = call.iter().peekable();
    while let Some(word) = rest.next() {
        match (word.as_str(), rest.peek()) {
            ("-no-hpet", _) => {}
            ("-machine", Some(value)) => {
                let kept: Vec<&str> =
                    value.split(',').filter(|it| !it.starts_with("hpet=")).collect();
                if !kept.is_empty() {
                    words.extend(["-machine".to_owned(), kept.join(",")]);
                }
                rest.next();
            }
            ("-cpu", Some(value)) => {
                words.extend(["-cpu".to_owned(), value.replace(",-kvmclock", "")]);
                rest.next();
            }
            ("--paravirtprovider", Some(_)) => drop(rest.next()),
            _ => words.push(word.clone()),
        }
    }
    words
}

/// Returns the command lines without those that present versions of VirtualBox refuse.
fn kept(calls: &[Vec<String>]) -> Vec<Vec<String>> {
    let removed = |call: &&Vec<String>| call.get(1).is_none_or(|word| word != "setextradata");
    calls.iter().filter(removed).map(|call| reduced(call)).collect()
}

/// Returns how many command lines set the property for a machine without an HPET: QEMU refuses them.
fn refused(calls: &[Vec<String>]) -> usize {
    let of = |call: &&Vec<String>| {
        let (mut machine, mut hpet) = ("pc", false);
        for (_, value) in call
            .iter()
            .zip(call.iter().skip(1))
            .filter(|(option, _)| matches!(option.as_str(), "-machine" | "--machine" | "-M"))
        {
            for (n, part) in value.split(',').enumerate() {
                hpet |= part.starts_with("hpet=");
                match part.strip_prefix("type=") {
                    Some(name) => machine = name,
                    None if n == 0 && !part.contains('=') => machine = part,
                    None => {}
                }
            }
        }
        hpet && ["microvm", "none", "isapc"].contains(&machine)
    };
    calls.iter().filter(of).count()
}

fn check(directory: &Path, text: &str, shells: &[&str]) -> bool {
    let mut changed = false;
    for kind in [Kind::Qemu, Kind::Virtualbox] {
        let document = Document::of_kind("vm.sh", text.as_bytes(), kind).unwrap();
        for choices in
            [Choices::default(), Choices { invtsc: true, tsc_frequency: Some(2_000_000_000) }]
        {
            if kind == Kind::Virtualbox && !choices.is_empty() {
                continue;
            }
            let Ok(fixed) = fix(&document, &choices) else { continue };
            let after = fixed.document.text.as_str();
            if after == text {
                continue;
            }
            changed = true;
            for shell in shells {
                let file = directory.join("syntax.sh");
                let valid = |script: &str| {
                    fs::write(&file, script).unwrap();
                    let check = Command::new(shell).arg("-n").arg(&file).output().unwrap();
                    check.status.success()
                };
                assert!(
                    !valid(text) || valid(after),
                    "{shell} takes no more:\n{text}\n--- after\n{after}"
                );
                for argument in ["", "a", "-M microvm"] {
                    let old = run(shell, directory, text, argument);
                    let new = run(shell, directory, after, argument);
                    let shown = format!("{shell} {argument}:\n{text}\n--- after\n{after}");
                    let plain = |run: &Run| {
                        let mut calls = kept(&run.calls);
                        if !choices.is_empty() {
                            for word in calls.iter_mut().flatten() {
                                *word = word
                                    .replace(",+invtsc", "")
                                    .replace(",tsc-frequency=2000000000", "");
                            }
                        }
                        calls
                    };
                    assert_eq!(plain(&old), plain(&new), "{shown}");
                    assert!(refused(&new.calls) <= refused(&old.calls), "{shown}");
                    assert_eq!(old.status, new.status, "{shown}");
                    // A trace shows commands, which are compared above.
                    if !text.replace("\\\n", "").contains("set -x") {
                        assert_eq!(old.output, new.output, "{shown}");
                    }
                }
            }
        }
    }
    changed
}

fn stand_ins() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let bin = directory.path().join("bin");
    fs::create_dir(&bin).unwrap();
    for name in [
        "qemu-system-x86_64",
        "qemu-system-aarch64",
        "qemu-system-s390x",
        "qemu-system-a",
        "qemu-system-",
        "VBoxManage",
    ] {
        let file = bin.join(name);
        fs::write(&file, STAND_IN).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    directory
}

fn script(lines: &[(usize, bool)], bash: bool) -> String {
    let mut text = String::from(if bash { "#!/bin/bash\n" } else { "#!/bin/sh\n" });
    for (index, second) in lines {
        let all = LINES.len() + if bash { OF_BASH.len() } else { 0 };
        let index = index % all;
        let line = LINES.get(index).or_else(|| OF_BASH.get(index - LINES.len())).unwrap();
        text.push_str(
            &line
                .replace('%', if *second { "N" } else { "M" })
                .replace("MM", "M%")
                .replace("NN", "N%"),
        );
        text.push('\n');
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(std::env::var("CASES").ok().and_then(|it| it.parse().ok()).unwrap_or(60)))]
    #[test]
    fn fix_scripts_keep_everything_but_the_option(
        lines in proptest::collection::vec((0usize..10_000, prop::bool::weighted(0.2)), 1..9),
        bash in any::<bool>(),
    ) {
        let directory = stand_ins();
        // A script without a bashism is run by both shells.
        let shells: &[&str] = if bash { &["bash"] } else { &["dash", "bash"] };
        check(directory.path(), &script(&lines, bash), shells);
    }
}

/// Inserts a line continuation between two characters after the first line.
fn continued(text: &str, at: usize) -> String {
    let first = text.find('\n').map_or(0, |n| n + 1);
    let places: Vec<usize> =
        text.char_indices().map(|(at, _)| at).filter(|at| *at >= first).collect();
    let at = places.get(at % places.len().max(1)).copied().unwrap_or(text.len());
    let (before, after) = text.split_at(at);
    format!("{before}\\\n{after}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(std::env::var("CASES").ok().and_then(|it| it.parse().ok()).unwrap_or(60)))]
    #[test]
    fn fix_continued_scripts_keep_everything_but_the_option(
        lines in proptest::collection::vec((0usize..10_000, prop::bool::weighted(0.2)), 1..5),
        cuts in proptest::collection::vec(0usize..10_000, 1..5),
        bash in any::<bool>(),
    ) {
        let directory = stand_ins();
        let shells: &[&str] = if bash { &["bash"] } else { &["dash", "bash"] };
        let text = cuts.iter().fold(script(&lines, bash), |text, at| continued(&text, *at));
        check(directory.path(), &text, shells);
    }
}

/// Each place of some scripts, one after the other.
#[test]
fn fix_value_that_a_continued_line_divides_is_changed_at_its_end() {
    let directory = stand_ins();
    let mut changed = 0;
    for line in [
        "qemu-system-x86_64 -machine q35,accel=kvm -cpu \"EPYC,+aes\" one",
        "M=q35\nqemu-system-x86_64 -enable-kvm -machine $M -cpu EPYC,-kvmclock",
    ] {
        let text = format!("#!/bin/sh\n{line}\n");
        for at in 0..line.len() {
            changed += usize::from(check(directory.path(), &continued(&text, at), &["dash"]));
        }
    }
    assert!(changed > 60, "{changed}");
}

/// The generator makes scripts that are edited, and the check detects a harmful edit.
#[test]
fn fix_generated_scripts_are_edited_at_all() {
    let directory = stand_ins();
    let text =
        "#!/bin/sh\nM=q35\nqemu-system-x86_64 -enable-kvm -cpu max,kvm=off -m 1 -machine $M\n";
    assert!(check(directory.path(), text, &["dash", "bash"]));
    let old = run("dash", directory.path(), "M=q35\necho $M\nqemu-system-x86_64 -machine $M\n", "");
    let new = run(
        "dash",
        directory.path(),
        "M=q35,hpet=off\necho $M\nqemu-system-x86_64 -machine $M\n",
        "",
    );
    assert_eq!(kept(&old.calls), kept(&new.calls));
    assert_ne!((old.calls, old.output), (new.calls, new.output));
}

/// The output of a trace has the commands, which differ by the option; even if a line is continued inside a word.
#[test]
fn fix_traced_script_whose_set_is_continued_is_compared_by_its_calls() {
    let directory = stand_ins();
    let call = "qemu-system-x86_64 -enable-kvm -cpu max,kvm=off -m 1 -machine q35";
    for set in ["set -x", "set \\\n-x", "set -\\\nx"] {
        let text = format!("#!/bin/sh\n{set}\n{call}\n");
        assert!(check(directory.path(), &text, &["dash", "bash"]), "{text}");
    }
}
