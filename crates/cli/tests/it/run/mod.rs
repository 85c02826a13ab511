//! `run` with real programs: in C (with and without a shared library), Go, Java, Python and a shell. If a tool to
//! build one is missing, or this machine is too busy to test its counter, a message reports that, and the test passes.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::panic)]

mod programs;
mod started;

use programs::{Program, build};
use started::{Started, run};

const LINE: [&str; 3] = ["run", "--source", "disciplined"];

/// Runs each program with each of the words; all must print "ok".
fn all_ok(programs: &[Program], words: &[&str]) {
    for program in programs {
        let Some(path) = build(*program) else { continue };
        for word in words {
            match run(&LINE, &path, &[word]) {
                Started::Ended { code: 0, out, .. } => {
                    assert!(out.starts_with("ok"), "{word}: {out}")
                }
                // A feature that the machine does not allow (a time namespace).
                Started::Ended { code: 77, .. } => eprintln!("skipped: {program:?} {word}"),
                Started::TooBusy => eprintln!("skipped: too busy"),
                other => panic!("{program:?} {word}: {other:?}"),
            }
        }
    }
}

const C: [Program; 2] = [Program::C, Program::StaticC];

#[test]
fn times_agree_with_the_kernels() {
    all_ok(&C, &["agree", "timens"]);
}

#[test]
fn threads_see_time_go_on() {
    all_ok(&C, &["threads"]);
    all_ok(&[Program::Go, Program::Java], &["-"]);
}

#[test]
fn children_by_every_way() {
    all_ok(&C, &["children", "exec", "stop"]);
}

#[test]
fn signals_and_filters() {
    all_ok(&C, &["signals", "seccomp"]);
    // Known defect: on a busy machine the second read of a program that filters its system calls at once has been seen
    // a few nanoseconds below its first one, in about one run of ten. A clock that goes back each time fails here.
    for program in C {
        let Some(path) = build(program) else { continue };
        let tries = || run(&LINE, &path, &["seccomp-first"]);
        match tries() {
            Started::Ended { code: 1, err, .. } if err.starts_with("back under a filter") => {
                eprintln!("{program:?}: {err}");
                assert!(
                    matches!(tries(), Started::Ended { code: 0, .. } | Started::TooBusy),
                    "{err}"
                );
            }
            Started::Ended { code: 0 | 77, .. } | Started::TooBusy => {}
            other => panic!("{program:?} seccomp-first: {other:?}"),
        }
    }
}

#[test]
fn no_memory_can_be_written_and_executed() {
    all_ok(&C, &["maps"]);
}

#[test]
fn codes_and_deaths_are_the_programs_own() {
    let path = build(Program::C).unwrap();
    for (words, code, signal) in [
        (["exit", "7"], 7, 0),
        (["exit", "0"], 0, 0),
        (["die", "15"], -1, 15),
        (["die", "9"], -1, 9),
    ] {
        match run(&LINE, &path, &words) {
            Started::Ended { code: found, signal: by, .. } => {
                assert_eq!((found, by), (code, signal), "{words:?}");
            }
            Started::TooBusy => return,
        }
    }
}

#[test]
fn what_cannot_be_run_is_said() {
    let code = |program: &str| match run(&LINE, program.as_ref(), &[]) {
        Started::Ended { code, .. } => Some(code),
        Started::TooBusy => None,
    };
    assert!([Some(127), None].contains(&code("no-such-program-at-all")));
    assert!([Some(126), None].contains(&code("/etc/passwd")));
}

/// `execvp` would pass its bytes to a shell.
#[test]
fn file_that_is_not_text_is_not_passed_to_a_shell() {
    let dir = tempfile::tempdir().unwrap();
    let (path, made) = (dir.path().join("program"), dir.path().join("made"));
    let script = format!("\n: >{}\n", made.display());
    let content = [&b"\x7fELF\x02"[..], &[0; 11], &[2, 0, 62, 0], script.as_bytes()];
    crate::executable::make(&path, content.concat());
    for how in [&LINE[..], &["run", "--source", "exact"]] {
        if let Started::Ended { code, err, .. } = run(how, &path, &[]) {
            assert_eq!(code, 126, "{how:?}: {err}");
            assert!(err.contains("not passed to a shell"), "{how:?}: {err}");
        }
        assert!(!made.exists(), "{how:?}");
    }
}

/// The process id is the one that the caller started, and standard output has only what the program wrote.
#[test]
fn the_program_is_the_process_that_was_started() {
    let path = build(Program::C).unwrap();
    if let Started::Ended { code: 0, out, pid, .. } = run(&LINE, &path, &["pid"]) {
        assert_eq!(out.trim(), pid.to_string());
    }
}

#[test]
fn a_document_at_the_end() {
    let path = build(Program::StaticC).unwrap();
    let Started::Ended { out, err, .. } =
        run(&["run", "--json", "--source", "disciplined"], &path, &["children"])
    else {
        return;
    };
    // The program's own output is apart from the document.
    assert!(err.starts_with("ok"), "{err}");
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/clocksmith.run.v1.json");
    let schema = serde_json::from_str(&std::fs::read_to_string(schema).unwrap()).unwrap();
    assert!(jsonschema::is_valid(&schema, &document), "{document}");
    // Itself, by vfork, by posix_spawn, and the shell.
    assert_eq!(document["programs"], 4, "{document}");
}

/// A service must start, with another clock or without.
#[test]
fn or_plain_runs_the_program_where_run_refuses() {
    let how = |or_plain: bool| {
        let mut how = vec!["run", "--as", "hpet"];
        how.extend(or_plain.then_some("--or-plain"));
        // A program below another `run` is traced already.
        let below: Vec<&str> = std::iter::once(env!("CARGO_BIN_EXE_clocksmith"))
            .chain(how)
            .chain(["--", "sh", "-c", "echo did; exit 4"])
            .collect();
        run(&["run", "--as", "syscall"], below[0].as_ref(), &below[1..])
    };
    let Started::Ended { code, err, .. } = how(false) else { return };
    assert_eq!(code, 125, "{err}");
    assert!(err.replace("\n  ", " ").contains("another clocksmith run traces it"), "{err}");
    let Started::Ended { code, out, err, .. } = how(true) else { return };
    assert_eq!((code, out.as_str()), (4, "did\n"), "{err}");
    assert!(err.contains("kernel's clock as it is"), "{err}");
}

/// In a separate mount namespace, as in a chroot without it.
#[test]
fn without_proc_the_program_runs_only_with_or_plain() {
    let how = |or_plain: &str| {
        let script = format!(
            "mount -t tmpfs none /proc || exit 77; exec \"$0\" run --as hpet {or_plain} -- sh -c 'echo did; exit 4'"
        );
        let mut command = std::process::Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]);
        let output = command.arg(env!("CARGO_BIN_EXE_clocksmith")).output().ok()?;
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        let refused = err.starts_with("unshare") || output.status.code() == Some(77);
        (!refused).then_some((output.status.code(), out, err.replace("\n  ", " ")))
    };
    let Some((code, out, err)) = how("") else {
        eprintln!("skipped: no namespace may be made here");
        return;
    };
    if err.contains("x86-64 only") {
        return;
    }
    assert_eq!((code, out.as_str()), (Some(125), ""), "{err}");
    assert!(err.contains("/proc is missing"), "{err}");
    let (code, out, err) = how("--or-plain").unwrap();
    assert_eq!((code, out.as_str()), (Some(4), "did\n"), "{err}");
    assert!(err.contains("kernel's clock as it is"), "{err}");
}

/// Each read takes as long as it would elsewhere: within one run, against each other.
#[test]
fn as_if_the_clock_were_slow() {
    for program in [Program::C, Program::StaticC] {
        let path = build(program).unwrap();
        let cost = |how: &[&str]| match run(how, &path, &["cost", "20000"]) {
            Started::Ended { code: 0, out, .. } => out.trim().parse::<f64>().unwrap(),
            other => panic!("{other:?}"),
        };
        let usual = cost(&["run", "--source", "exact"]);
        assert!(cost(&["run", "--as", "+30us"]) > usual + 25_000.0);
        assert!(cost(&["run", "--as", "50us", "--no-follow"]) > 45_000.0);
    }
}

#[test]
fn bench_below_run_says_whose_clock_it_measures() {
    let program = env!("CARGO_BIN_EXE_clocksmith");
    let bench = ["bench", "--quick", "--only", "CLOCK_MONOTONIC", "-q"];
    let said = |command: &mut std::process::Command| {
        let out = command.args(bench).output().unwrap();
        String::from_utf8_lossy(&out.stderr).contains("a vDSO that is not the kernel's")
    };
    assert!(!said(&mut std::process::Command::new(program)));
    let mut below = std::process::Command::new(program);
    assert!(said(below.args(["run", "--as", "syscall", "--", program])));
}

#[test]
fn a_coarse_clock_is_the_kernels() {
    let path = build(Program::StaticC).unwrap();
    let found = run(&["run", "--source", "coarse"], &path, &["threads"]);
    assert!(matches!(found, Started::Ended { code: 0, .. }), "{found:?}");
}

#[test]
fn programs_with_rights_of_their_own_are_refused() {
    use std::os::unix::fs::PermissionsExt;
    let path = build(Program::C).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let other = dir.path().join("setuid");
    std::fs::copy(&path, &other).unwrap();
    // SAFETY: only returns a number.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("skipped: only root can make such a program");
        return;
    }
    std::os::unix::fs::chown(&other, Some(65_534), None).unwrap();
    std::fs::set_permissions(&other, std::fs::Permissions::from_mode(0o4755)).unwrap();
    let Started::Ended { code, err, .. } = run(&["run", "--as", "syscall"], &other, &["agree"])
    else {
        panic!()
    };
    assert_eq!(code, 125, "{err}");
    assert!(err.contains("setuid"), "{err}");
    // A script with this interpreter has the interpreter's rights.
    let script = dir.path().join("script");
    crate::executable::make(&script, format!("#!{} agree\n", other.display()));
    let Started::Ended { code, err, .. } = run(&["run", "--as", "syscall"], &script, &[]) else {
        panic!()
    };
    assert_eq!(code, 125, "{err}");
    assert!(err.contains("setuid"), "{err}");
}

/// A program of 32 bits that ends with status 7: an ELF header, a program header, three instructions.
const THIRTY_TWO: [u8; 96] = [
    0x7f, b'E', b'L', b'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, // 32 bits, little endian
    2, 0, 3, 0, 1, 0, 0, 0, 0x54, 0x80, 0x04, 0x08, // an executable of i386, its entry
    52, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 52, 0, 32, 0, 1, 0, 40, 0, 0, 0, 0, 0, //
    1, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x04, 0x08, 0, 0x80, 0x04, 0x08, // PT_LOAD
    96, 0, 0, 0, 96, 0, 0, 0, 5, 0, 0, 0, 0, 0x10, 0, 0, //
    0x31, 0xc0, 0x40, // xor eax, eax; inc eax (exit)
    0x6a, 7, 0x5b, // push 7; pop ebx
    0xcd, 0x80, // int 0x80
    0, 0, 0, 0,
];

/// As the command it is refused; as a child it runs with the kernel's clock. Both are reported, so that neither is
/// silently slow.
#[test]
fn programs_of_32_bits() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("thirty-two");
    crate::executable::make(&program, THIRTY_TWO);
    let how = ["run", "--as", "syscall"];
    let Started::Ended { code, err, .. } = run(&how, &program, &[]) else { panic!() };
    assert_eq!(code, 125, "{err}");
    assert!(err.contains("not a 64-bit x86 program"), "{err}");

    // A kernel without the emulation cannot run it at all.
    let alone = std::process::Command::new(&program).status().ok().and_then(|status| status.code());
    if alone != Some(7) {
        eprintln!("skipped: this kernel runs no programs of 32 bits: {alone:?}");
        return;
    }
    let script = format!("{}; echo ended with $?", program.display());
    let words = ["-c", &script];
    let Started::Ended { code, out, err, .. } = run(&how, "/bin/sh".as_ref(), &words) else {
        panic!()
    };
    assert_eq!((code, out.as_str()), (0, "ended with 7\n"), "{err}");
    assert!(err.contains("not changed") && err.contains("thirty-two"), "{err}");
}
