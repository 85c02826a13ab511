//! Exact counts of a program's reads.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::panic)]

use clocksmith_raw::layout::{GETTIMEOFDAY, TIME};
use clocksmith_run::{Act, Baseline, Launch};
use std::io::{Read, Write};
use std::process::Command;

const PROGRAM: &str = r#"
#include <pthread.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static void *reads(void *unused) {
    struct timespec time;
    for (int i = 0; i < 100000; i++) clock_gettime(CLOCK_MONOTONIC, &time);
    return unused;
}
int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, reads, 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    struct timeval day;
    for (int i = 0; i < 1000; i++) gettimeofday(&day, 0);
    for (int i = 0; i < 77; i++) (void)time(0);
    if (!fork()) {
        struct timespec now;
        for (int i = 0; i < 500; i++) clock_gettime(CLOCK_REALTIME, &now);
        _exit(0);
    }
    wait(0);
    return 0;
}
"#;

/// Calls of the main process and of its child, as the tracer counted them.
fn counted(extra: &[&str]) -> Option<Vec<[u64; 16]>> {
    let dir = tempfile::tempdir().unwrap();
    let (source, program) = (dir.path().join("reads.c"), dir.path().join("reads"));
    std::fs::write(&source, PROGRAM).unwrap();
    let built =
        Command::new("cc").args(extra).args(["-pthread", "-o"]).arg(&program).arg(&source).status();
    if !built.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no cc");
        return None;
    }
    let (mut reader, writer) = std::io::pipe().unwrap();
    // SAFETY: the child has one thread, so it may make any call.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let launch = Launch::new(Act::Count, Baseline::begin()).keep(&writer);
        let launch = launch.on_count(move |counted| {
            let intervals = counted.intervals.iter().sum::<u64>();
            let words = counted.calls.iter().chain([&intervals]);
            let bytes: Vec<u8> = words.flat_map(|word| word.to_le_bytes()).collect();
            let _ = (&writer).write_all(&bytes);
        });
        let failure = launch.exec(&mut Command::new(&program));
        eprintln!("{failure}");
        // SAFETY: ends this process at once.
        unsafe { libc::_exit(9) };
    }
    drop(writer);
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).unwrap();
    let mut status = 0;
    // SAFETY: a child of this process.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!(status, 0);
    let words: Vec<u64> =
        bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
    Some(
        words
            .chunks_exact(17)
            .map(|one| {
                let calls: u64 = one[..16].iter().sum();
                // Nearly all: not a thread's first, and not where two threads share a shard.
                assert!(one[16] < calls && (one[16] > calls / 2 || calls < 2_000), "{one:?}");
                one[..16].try_into().unwrap()
            })
            .collect(),
    )
}

#[test]
fn every_call_is_counted_once() {
    for extra in [&[][..], &["-static"]] {
        let Some(found) = counted(extra) else { return };
        let [child, main] = &found[..] else { panic!("{found:?}") };
        assert_eq!(child[0], 500, "{found:?}");
        assert_eq!((main[1], main[GETTIMEOFDAY], main[TIME]), (400_000, 1_000, 77), "{found:?}");
    }
}
