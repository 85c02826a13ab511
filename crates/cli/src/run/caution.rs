//! Programs that do not work together with `run`: a warning is printed when they are started.

use std::ffi::OsStr;
use std::path::Path;

/// Programs that become another user and run another program.
const CHANGERS: [&str; 10] = [
    "gosu",
    "su-exec",
    "su",
    "sudo",
    "doas",
    "runuser",
    "setpriv",
    "chpst",
    "setuidgid",
    "s6-setuidgid",
];

/// Programs that trace other programs.
const TRACERS: [&str; 4] = ["gdb", "lldb", "strace", "ltrace"];

/// The caution for a program, by its name and whether its file checks for leaks when it ends.
pub(crate) fn of(program: &OsStr, follows: bool, leaks: bool) -> Option<String> {
    let name = Path::new(program).file_name().unwrap_or(program).to_string_lossy().into_owned();
    if CHANGERS.contains(&name.as_str()) {
        return Some(format!(
            "{name} changes the user, and a program that runs as another user keeps the kernel's \
             clock: write run after it, as in {name} ... clocksmith run -- PROGRAM"
        ));
    }
    if name.starts_with("valgrind") {
        return Some(format!(
            "{name} hides the vDSO from the program that it runs, so that program keeps the kernel's clock and \
             reads it by system calls"
        ));
    }
    if follows && TRACERS.contains(&name.as_str()) {
        return Some(format!(
            "{name} cannot trace a program that run already traces: start the program with run --no-follow, and \
             attach {name} to it ({name} -p PID)"
        ));
    }
    (follows && leaks).then(|| {
        format!(
            "{name} checks for leaks when it ends (LeakSanitizer), and the check fails in a traced program: use \
             --no-follow, or ASAN_OPTIONS=detect_leaks=0"
        )
    })
}

/// Whether the environment switches the check for leaks off.
pub(crate) fn no_leak_check(options: &[Option<String>]) -> bool {
    options.iter().flatten().any(|options| {
        options
            .split([':', ',', ' '])
            .any(|option| matches!(option, "detect_leaks=0" | "detect_leaks=false"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caution_of_programs_that_do_not_go_together() {
        let of = |program: &str, leaks| super::of(OsStr::new(program), true, leaks);
        assert!(of("/usr/sbin/gosu", false).unwrap().contains("gosu ... clocksmith run"));
        assert!(of("valgrind", false).unwrap().contains("hides the vDSO"));
        assert!(of("./server", true).unwrap().contains("--no-follow"));
        assert!(of("/usr/bin/strace", false).unwrap().contains("strace -p PID"));
        assert_eq!(super::of(OsStr::new("gdb"), false, false), None);
        assert_eq!(of("./server", false), None);
        assert_eq!(super::of(OsStr::new("./server"), false, true), None);
        assert!(no_leak_check(&[None, Some("x=1:detect_leaks=0".to_owned())]));
        assert!(!no_leak_check(&[Some("detect_leaks=1".to_owned())]));
    }
}
