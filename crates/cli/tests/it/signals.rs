//! Signals, with any settings that the parent left: a verb ends by them, and sees the end of its children.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_clocksmith");
/// Longer than this is a hang, on any machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program whose parent has blocked, or ignores, a signal.
fn inheriting(blocked: Option<i32>, ignored: Option<i32>) -> Command {
    let mut command = Command::new(PROGRAM);
    let hook = move || {
        default_signals();
        // SAFETY: only system calls, on a set that lives through them.
        unsafe {
            if let Some(signal) = blocked {
                let mut set: libc::sigset_t = std::mem::zeroed();
                libc::sigemptyset(&raw mut set);
                libc::sigaddset(&raw mut set, signal);
                libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
            }
            if let Some(signal) = ignored {
                libc::signal(signal, libc::SIG_IGN);
            }
        }
        Ok(())
    };
    // SAFETY: the hook makes only system calls.
    unsafe { command.pre_exec(hook) };
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Starts a program as an interactive user does: signals end it, even if a script in the background runs the tests,
/// for which a shell ignores SIGINT.
pub(crate) fn with_default_signals(command: &mut Command) -> &mut Command {
    let hook = || {
        default_signals();
        Ok(())
    };
    // SAFETY: the hook makes only system calls.
    unsafe { command.pre_exec(hook) }
}

/// Restores the signals that a shell ignores for background programs, `nohup` for its program and Python for its own
/// children (SIGXFSZ), so that they end a program again.
fn default_signals() {
    let signals = [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP, libc::SIGXFSZ];
    for signal in signals {
        // SAFETY: a system call that no memory depends on.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Sends a signal to a process or a group that this test started and has not waited for; `false` if it is gone.
pub(crate) fn send_to(target: libc::pid_t, signal: libc::c_int) -> bool {
    // SAFETY: a process id that was not waited for belongs to no other process.
    unsafe { libc::kill(target, signal) == 0 }
}

/// Sends a signal to a child.
pub(crate) fn send(child: &std::process::Child, signal: libc::c_int) -> bool {
    send_to(libc::pid_t::try_from(child.id()).unwrap(), signal)
}

/// Sends a signal until the process ends; how it ended.
fn ended_by(child: &mut std::process::Child, target: i32, signal: i32) -> std::process::ExitStatus {
    let begun = Instant::now();
    loop {
        std::thread::sleep(Duration::from_millis(300));
        send_to(target, signal);
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if begun.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("signal {signal} did not end it");
        }
    }
}

/// Waits until the process has a handler for the signal: on a busy machine its start can take seconds.
fn until_caught(child: &std::process::Child, signal: libc::c_int) {
    let begun = Instant::now();
    let caught = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()));
        let status = status.unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        mask.is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
    };
    while !caught() && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn fifo(dir: &tempfile::TempDir) -> String {
    let path = dir.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path.to_str().unwrap().to_owned()
}

#[test]
fn blocked_signals_end_every_verb() {
    let dir = tempfile::tempdir().unwrap();
    let fifo = fifo(&dir);
    let verbs: [&[&str]; 4] = [
        &["why", "--log", &fifo],
        &["vm", "lint", &fifo],
        &["verify", "--duration", "1h", "--no-save"],
        &["watch", "--no-listen", "--no-history"],
    ];
    for verb in verbs {
        for signal in [libc::SIGINT, libc::SIGTERM] {
            let mut child = inheriting(Some(signal), None).args(verb).spawn().unwrap();
            let pid = i32::try_from(child.id()).unwrap();
            let status = ended_by(&mut child, pid, signal);
            let orderly = status.code().is_some();
            assert!(status.signal() == Some(signal) || orderly, "{verb:?}: {status}");
        }
    }
}

#[test]
fn first_process_of_a_container_ends_by_signals() {
    let script = "exec unshare -pf --mount-proc --kill-child \"$@\"";
    let works = |command: &mut Command| command.output().is_ok_and(|out| out.status.success());
    if !works(Command::new("sh").args(["-c", script, "sh", "true"])) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let fifo = fifo(&dir);
    let verbs: [&[&str]; 4] = [
        &["why", "--log", &fifo],
        &["vm", "lint", &fifo],
        &["verify", "--duration", "1h", "--no-save"],
        &["verify", "--soak", "--no-save"],
    ];
    for verb in verbs {
        for signal in [libc::SIGINT, libc::SIGTERM] {
            let mut command = Command::new("sh");
            command.args(["-c", script, "sh", PROGRAM]).args(verb);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let hook = || {
                default_signals();
                Ok(())
            };
            // SAFETY: the hook makes only system calls.
            unsafe { command.pre_exec(hook) };
            let mut child = command.spawn().unwrap();
            let children = format!("/proc/{0}/task/{0}/children", child.id());
            let begun = Instant::now();
            let first = loop {
                let text = std::fs::read_to_string(&children).unwrap_or_default();
                if let Some(pid) = text.split_whitespace().next().and_then(|pid| pid.parse().ok()) {
                    break pid;
                }
                assert!(begun.elapsed() < PATIENCE);
                std::thread::sleep(Duration::from_millis(10));
            };
            let status = ended_by(&mut child, first, signal);
            // `unshare` ends as its child does.
            assert!(
                status.code().is_some_and(|code| code == 128 + signal || code < 4),
                "{verb:?}: {status}"
            );
        }
    }
}

/// As for a background command of a script: Ctrl-C is not meant for it, at any moment.
#[test]
fn ignored_interrupt_stays_ignored() {
    let mut command = inheriting(None, Some(libc::SIGINT));
    let mut child = command.args(["verify", "--duration", "60s", "--no-save"]).spawn().unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    for _ in 0..6 {
        std::thread::sleep(Duration::from_millis(300));
        send_to(pid, libc::SIGINT);
        assert!(child.try_wait().unwrap().is_none(), "it was ended");
    }
    ended_by(&mut child, pid, libc::SIGTERM);
}

#[test]
fn ignored_end_of_children_changes_no_exit_code() {
    let code = |arguments: &[&str]| {
        let mut command = inheriting(None, Some(libc::SIGCHLD));
        let output = command.args(arguments).stderr(Stdio::piped()).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(code(&["run", "--", "sh", "-c", "exit 7"]).0, Some(7));
    if cfg!(feature = "who") {
        let (status, said) = code(&["who", "-q", "--", "sh", "-c", "exit 7"]);
        assert!(status == Some(7) || said.contains("perf_event"), "{status:?} {said}");
    }
}

#[test]
fn limit_of_file_sizes_is_an_error_that_names_the_file() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("root")).unwrap();
    std::fs::write(dir.path().join("root/dmesg"), "[    0.000000] Linux version 6.1.0 (a@b) #1\n")
        .unwrap();
    let out = dir.path().join("out.tar.gz");
    let script = format!(
        "ulimit -f 0; exec {PROGRAM} collect --root {0}/root --output {1}",
        dir.path().display(),
        out.display()
    );
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said} {}", output.status);
    assert!(said.contains("out.tar.gz") && said.contains("File too large"), "{said}");
    assert!(!out.exists());
    // A child of this program has the signal as it was.
    let script =
        format!("{PROGRAM} run -- sh -c 'ulimit -f 0; exec sh -c \"echo x >{}\"'", out.display());
    let mut command = Command::new("sh");
    with_default_signals(command.args(["-c", &script]).stderr(Stdio::null()));
    let status = command.status().unwrap();
    assert_eq!((status.code(), status.signal()), (Some(128 + libc::SIGXFSZ), None));
}

/// A full pipe that nothing reads.
fn unread() -> (std::io::PipeReader, std::io::PipeWriter) {
    use std::os::fd::AsRawFd;
    let (reader, writer) = std::io::pipe().unwrap();
    // SAFETY: changes flags and the length of a pipe of this test, and writes from a live array.
    unsafe {
        libc::fcntl(writer.as_raw_fd(), libc::F_SETPIPE_SZ, 4096);
        libc::write(writer.as_raw_fd(), [b'x'; 4096].as_ptr().cast(), 4096);
    }
    (reader, writer)
}

/// Whether a process waits for a descriptor to be ready.
fn is_in_poll(pid: i32) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{pid}/wchan")).unwrap_or_default();
    text.contains("poll") || text.contains("pipe_write")
}

#[test]
fn first_signal_ends_a_verb_whose_output_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    let entries = root.join("boot/loader/entries");
    std::fs::create_dir_all(&entries).unwrap();
    let entry = "title a\nlinux /v\noptions root=/dev/a\n";
    std::fs::write(entries.join("a.conf"), entry).unwrap();
    let root = root.to_str().unwrap();
    let fix = ["fix", "--root", root, "--param", "tsc=nowatchdog", "--boot", "cmdline", "--apply"];
    let mut verbs: Vec<(Vec<&str>, bool)> = vec![
        (fix.to_vec(), true),
        (fix.to_vec(), false),
        (vec!["verify", "--soak", "--no-save", "--duration", "600ms"], true),
        (vec!["bench", "--quick", "--like", "p4", "--count", "1000"], true),
    ];
    if cfg!(feature = "who") {
        verbs.push((vec!["who", "--duration", "300ms", "-p", "1"], true));
    }
    for (verb, out) in verbs {
        for signal in [libc::SIGINT, libc::SIGTERM] {
            let (_reader, writer) = unread();
            let mut command = inheriting(None, None);
            command.args(&verb);
            if out {
                command.stdout(writer);
            } else {
                command.stderr(writer);
            }
            let mut child = command.spawn().unwrap();
            let pid = i32::try_from(child.id()).unwrap();
            let begun = Instant::now();
            let mut seen = 0;
            while seen < 5 && child.try_wait().unwrap().is_none() && begun.elapsed() < PATIENCE {
                seen = if is_in_poll(pid) { seen + 1 } else { 0 };
                std::thread::sleep(Duration::from_millis(100));
            }
            send_to(pid, signal);
            let begun = Instant::now();
            while child.try_wait().unwrap().is_none() {
                if begun.elapsed() > PATIENCE / 4 {
                    child.kill().unwrap();
                    panic!("{verb:?}: signal {signal} did not end it");
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
    if std::fs::read_to_string(entries.join("a.conf")).unwrap() != entry {
        let undo = Command::new(PROGRAM).args(["fix", "--root", root, "--undo"]).output().unwrap();
        assert!(undo.status.success());
    }
    assert_eq!(std::fs::read_to_string(entries.join("a.conf")).unwrap(), entry);
}

#[test]
fn repeated_signals_while_fix_changes_files_leave_all_or_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    let entries = root.join("boot/loader/entries");
    std::fs::create_dir_all(&entries).unwrap();
    let path = |index: usize| entries.join(format!("{index:03}.conf"));
    let entry = |index| format!("title a\nversion {index}\nlinux /v{index}\noptions root=/dev/a\n");
    for index in 0..400 {
        std::fs::write(path(index), entry(index)).unwrap();
    }
    let root = root.to_str().unwrap();
    let apply = ["--param", "tsc=nowatchdog", "--boot", "cmdline", "--apply"];
    let changed =
        |index: usize| std::fs::read_to_string(path(index)).is_ok_and(|it| it != entry(index));
    for signals in [
        [libc::SIGQUIT, libc::SIGQUIT],
        [libc::SIGTERM, libc::SIGTERM],
        [libc::SIGHUP, libc::SIGHUP],
        [libc::SIGINT, libc::SIGINT],
    ] {
        for arguments in [&apply[..], &["--undo"]] {
            let was = changed(0);
            let mut command = inheriting(None, None);
            let mut child = command.args(["fix", "--root", root]).args(arguments).spawn().unwrap();
            let begun = Instant::now();
            while !(0..400).any(|index| changed(index) != was) && begun.elapsed() < PATIENCE {
                if child.try_wait().unwrap().is_some() {
                    break;
                }
            }
            for signal in signals {
                send(&child, signal);
                std::thread::sleep(Duration::from_millis(2));
            }
            let status = child.wait().unwrap();
            assert_eq!(status.signal(), None, "{signals:?} {arguments:?}");
            let now = changed(0);
            assert!((1..400).all(|index| changed(index) == now), "{signals:?} {arguments:?}");
            if now && arguments.len() == 1 {
                let undo = Command::new(PROGRAM).args(["fix", "--root", root, "--undo"]).output();
                assert!(undo.unwrap().status.success());
            }
        }
    }
}

#[test]
fn first_signal_ends_a_round_of_a_long_watch() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let mut command = inheriting(None, None);
        let mut child = command.args(["verify", "--soak", "--no-save"]).spawn().unwrap();
        until_caught(&child, signal);
        std::thread::sleep(Duration::from_millis(500));
        let begun = Instant::now();
        send(&child, signal);
        let status = child.wait().unwrap();
        // A round takes ten seconds.
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
        assert_eq!(status.code(), Some(3), "{status}");
    }
}

/// A terminal that is closed, as when a connection breaks: with the signal for that, and where it is ignored.
#[test]
#[cfg(feature = "who")]
fn terminal_that_has_gone_ends_who_top() {
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    for ignored in [None, Some(libc::SIGHUP)] {
        let (mut master, mut slave) = (0, 0);
        // SAFETY: the pointers are to live integers, or null where that is allowed; both descriptors are new.
        let (master, slave) = unsafe {
            let null = std::ptr::null_mut();
            let made =
                libc::openpty(&raw mut master, &raw mut slave, null, null.cast(), null.cast());
            assert_eq!(made, 0);
            libc::fcntl(master, libc::F_SETFD, libc::FD_CLOEXEC);
            (OwnedFd::from_raw_fd(master), OwnedFd::from_raw_fd(slave))
        };
        let mut command = inheriting(None, ignored);
        command.args(["who", "--top", "--duration", "1h", "-p", &std::process::id().to_string()]);
        let end = || Stdio::from(slave.try_clone().unwrap());
        command.stdin(end()).stdout(end()).stderr(end());
        let hook = || {
            // SAFETY: only system calls.
            unsafe {
                libc::setsid();
                libc::ioctl(0, libc::TIOCSCTTY, 0);
            }
            Ok(())
        };
        // SAFETY: the hook makes only system calls.
        unsafe { command.pre_exec(hook) };
        let mut child = command.spawn().unwrap();
        drop((command, slave));
        // Waits until it draws, or prints why it cannot; then for a second.
        let begun = Instant::now();
        let mut bytes = [0; 4096];
        let mut fd = libc::pollfd { fd: master.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        while begun.elapsed() < Duration::from_secs(3) {
            // SAFETY: both pointers are to live memory of the given length.
            unsafe {
                if libc::poll(&raw mut fd, 1, 100) > 0 {
                    libc::read(fd.fd, bytes.as_mut_ptr().cast(), bytes.len());
                }
            }
        }
        drop(master);
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if begun.elapsed() > Duration::from_secs(5) {
                child.kill().unwrap();
                panic!("still there, {ignored:?}");
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        assert!(status.code().is_some(), "{ignored:?}: {status}");
    }
}

#[test]
fn fix_apply_that_reads_large_file_is_ended_by_first_signal() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    std::fs::create_dir_all(root.join("etc/default")).unwrap();
    // Reading it takes far longer than the signal may take.
    let line = "[    1.000000] clocksource: Switched to clocksource hpet\n";
    let chunk = line.repeat((1 << 20) / line.len());
    let mut log = std::fs::File::create(root.join("dmesg")).unwrap();
    for _ in 0..300 {
        log.write_all(chunk.as_bytes()).unwrap();
    }
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let mut child = inheriting(None, None)
            .args(["fix", "--apply", "--accept-unverified-counter", "--root"])
            .arg(&root)
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(700));
        send(&child, signal);
        let begun = Instant::now();
        let status = child.wait().unwrap();
        let stopped = begun.elapsed();
        // Orderly, with the journal's directory removed, or at once; the whole file would be read in neither.
        assert!(stopped < Duration::from_secs(4), "{status} after {stopped:?}");
        assert_ne!(status.code(), Some(0), "{status}");
        assert!(!root.join("etc/default/grub").exists());
    }
}
