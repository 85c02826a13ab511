//! Code that a program of no known runtime makes: its map names it; a map that other users can write is not used, and a
//! message reports that.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may end where something is missing")]

mod counted;

use counted::{Counted, build, watch};

/// Returns the result for a program whose map has this mode.
fn seen(mode: &str) -> Option<Counted> {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("made");
    if !build("cc", &["-O1", "-o", program.to_str().unwrap(), "made.c"]) {
        return None;
    }
    watch(&[program.into(), mode.into()], "1.5")
}

#[test]
fn code_that_any_program_makes_is_named_by_its_map() {
    let Some(seen) = seen("0644") else { return };
    let functions = &seen.profile.functions;
    assert!(functions.iter().any(|row| &*row.function == "made_function"), "{functions:#?}");
    let gaps = seen.recording.gaps.join("; ");
    assert!(!gaps.contains("perf-"), "{gaps}");
}

#[test]
fn map_that_is_not_used_is_said_with_the_reason() {
    let Some(seen) = seen("0666") else { return };
    let functions = &seen.profile.functions;
    assert!(functions.iter().all(|row| &*row.function != "made_function"), "{functions:#?}");
    let gaps = seen.recording.gaps.join("; ");
    assert!(gaps.contains(".map are not used: every user can write it"), "{gaps}");
}

#[test]
fn code_without_a_map_is_said_to_have_no_names() {
    let Some(seen) = seen("0") else { return };
    let gaps = seen.recording.gaps.join("; ");
    assert!(gaps.contains("code that it made at run time"), "{gaps}");
}
