//! Limits of the process that leave a verb less than it needs: an error in words, not a panic.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Refuses every new thread, as a limit of processes does (which does not bind root).
fn without_threads(command: &mut Command) -> &mut Command {
    const CLONE: u32 = 56;
    const CLONE3: u32 = 435;
    const LOAD: u16 = 0x20;
    const EQUAL: u16 = 0x15;
    const SET: u16 = 0x45;
    const RETURN: u16 = 0x06;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    // The number of the call; then the flags, if it is clone(2). Without clone3(2) the library takes clone(2).
    let filter = [
        step(LOAD, 0, 0, 0),
        step(EQUAL, 4, 0, CLONE3),
        step(EQUAL, 0, 2, CLONE),
        step(LOAD, 0, 0, 16),
        step(SET, 2, 0, libc::CLONE_THREAD as u32),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EAGAIN as u32),
    ];
    let hook = move || {
        let mut filter = filter;
        let program = libc::sock_fprog { len: 8, filter: filter.as_mut_ptr() };
        // SAFETY: only system calls, on values that live through them.
        let set = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
        };
        if set == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    };
    // SAFETY: the hook makes only system calls.
    unsafe { command.pre_exec(hook) }
}

#[test]
fn without_threads_no_verb_panics() {
    for words in [
        &["run", "--source", "disciplined", "--", "true"][..],
        &["bench", "--threads", "2"],
        &["bench", "--like", "P4", "--threads", "2"][..],
        &["fleet", "--lines", "no-such-file"][..],
        &["verify", "--duration", "1s", "--no-save"][..],
        // Where virsh is not installed, that is the error.
        &["vm", "lint", "--connect", "test:///default"][..],
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_clocksmith"));
        let output = without_threads(command.args(words).stdin(Stdio::null())).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(!said.contains("panicked"), "{words:?}: {said}");
        let code = output.status.code();
        // A signal or code 134 would mean a panic.
        assert!(code.is_some_and(|code| code < 126), "{words:?}: {code:?} {said}");
        assert!(
            code == Some(0) || !(said.trim().is_empty() && shown.trim().is_empty()),
            "{words:?}"
        );
    }
}

/// Few descriptors, so that a client for each would leave none.
fn with_descriptors(command: &mut Command, most: u64) -> &mut Command {
    let hook = move || {
        let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
        // SAFETY: reads a live structure.
        match unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: the hook makes only a system call.
    unsafe { command.pre_exec(hook) }
}

#[test]
fn idle_clients_keep_no_client_out_where_descriptors_are_few() {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpStream;
    // The least that it begins with, and more: 30 leaves some for inherited descriptors.
    for most in [30, 40, 70] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_clocksmith"));
        command.args(["watch", "--listen", "127.0.0.1:0", "--no-history"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = with_descriptors(&mut command, most).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let address = lines
            .by_ref()
            .find_map(|line| Some(line.split_once("listening on ")?.1.trim().to_owned()))
            .unwrap();
        let idle: Vec<TcpStream> =
            (0..most).map(|_| TcpStream::connect(&address).unwrap()).collect();
        std::thread::sleep(std::time::Duration::from_millis(100));
        let begun = std::time::Instant::now();
        let mut asks = TcpStream::connect(&address).unwrap();
        asks.write_all(b"GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut answer = String::new();
        let _ = asks.read_to_string(&mut answer);
        let took = begun.elapsed();
        let _ = child.kill();
        let _ = child.wait();
        drop(idle);
        assert!(answer.starts_with("HTTP/1.1 200"), "{most}: {answer:?} after {took:?}");
        // The idle ones may stay for 5 seconds each.
        assert!(took.as_secs() < 4, "{most}: {took:?}");
    }
}

#[test]
fn watch_refuses_to_begin_with_fewer_descriptors_than_it_serves_with() {
    let with = |most: u64| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_clocksmith"));
        command.args(["watch", "--listen", "127.0.0.1:0", "--no-history", "--no-test"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        with_descriptors(&mut command, most).spawn().unwrap()
    };
    let output = with(10).wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    let needed = said.split_once("may open 10 files, and needs ").and_then(|(_, rest)| {
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u64>().ok()
    });
    let needed = needed.unwrap_or_else(|| panic!("{said}"));
    // One fewer than the named number is not enough, either.
    assert_eq!(with(needed - 1).wait().unwrap().code(), Some(2));
    let mut enough = with(needed);
    std::thread::sleep(std::time::Duration::from_millis(300));
    let ended = enough.try_wait().unwrap();
    let _ = enough.kill();
    let _ = enough.wait();
    assert_eq!(ended, None);
}
