//! `why FILE` with prose about a wall clock: the refusal names the existing pages, and the facts that settle it.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::process::{Command, Output};

fn clocksmith(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_clocksmith")).args(args).output().unwrap()
}

/// Returns the output of `why` about a text, from both streams.
fn said_of(text: &str) -> (Option<i32>, String) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("post.txt");
    fs::write(&file, text).unwrap();
    let out = clocksmith(&["why", file.to_str().unwrap()]);
    let both = [out.stdout, out.stderr].concat();
    (out.status.code(), String::from_utf8_lossy(&both).into_owned())
}

#[test]
fn prose_about_a_wall_clock_is_refused_with_its_pages() {
    for (text, page) in [
        ("WSL 2: after the laptop slept, the system time is an hour behind Windows.\n", "WSL"),
        ("Docker Desktop: after sleep containers have an incorrect time.\n", "Docker Desktop"),
        ("We restore Firecracker guests; CLOCK_REALTIME is that of then.\n", "Firecracker"),
        ("In podman machine chronyd is active and the system clock is late.\n", "podman machine"),
        ("VMware Tools and NTP: who does the time sync?\n", "vmware-toolbox-cmd timesync"),
        (
            "After a checkpoint of QEMU the guest clock is stale.\n",
            "wall-clock-stale-after-restore",
        ),
    ] {
        let (code, said) = said_of(text);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(&format!("`clocksmith explain '{page}'`")), "{said}");
        assert!(said.contains("chronyc tracking") && !said.contains("dmesg"), "{said}");
        // The page is there.
        let out = clocksmith(&["explain", page]);
        assert!(out.status.success(), "{page}");
    }
}

#[test]
fn prose_about_something_else_is_asked_for_its_log() {
    for text in ["Docker Desktop uses much memory here.\n", "My entry in the printer's logbook.\n"]
    {
        let (code, said) = said_of(text);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("dmesg") && !said.contains("clocksmith explain"), "{said}");
    }
}

#[test]
fn symptom_in_prose_names_the_page_of_its_subject() {
    let (code, said) = said_of(
        "The guest clock is late after a checkpoint was resumed:\n\
         curl: (60) SSL certificate OpenSSL verify result: certificate is not yet valid (9)\n",
    );
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("clocksmith explain 'wall-clock-stale-after-restore'"), "{said}");
}

#[test]
fn explain_words_of_wall_clocks_have_their_own_pages() {
    for (word, title) in [
        ("Forward time jump detected!", "Forward time jump detected!"),
        ("chronyd[7]: System clock wrong by 3.5 seconds", "System clock wrong by N seconds"),
        ("Clock: inserting leap second 23:59:60 UTC", "Clock: inserting leap second 23:59:60 UTC"),
        ("WSL2", "WSL"),
        ("clock_realtime", "Firecracker"),
        ("CLOCK_REALTIME", "CLOCK_REALTIME"),
        ("adjtimex", "adjtimex(2)"),
        ("Azure", "Hyper-V"),
        ("settimeofday", "clock_settime"),
        ("tools.syncTime", "vmware-toolbox-cmd timesync"),
        ("m4.large", "EC2 instance families"),
        ("Linux is not using a fast clock source", "ClickHouse"),
    ] {
        let out = clocksmith(&["explain", word]);
        let said = String::from_utf8_lossy(&out.stdout).into_owned();
        assert!(out.status.success(), "{word}");
        assert_eq!(
            said.lines().next().map(|line| line.starts_with(title)),
            Some(true),
            "{word}: {said}"
        );
    }
}
