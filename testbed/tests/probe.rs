//! The guests' static program, run on this machine: its reader meets the requirements for readers,
//! and sees a wrong counter. Skipped where it cannot be built or may not trace a process, and where
//! the clocks do not come from the TSC.

#![allow(clippy::unwrap_used, reason = "a test may end where something is missing")]

use clocksmith_testbed::arch::Arch;
use clocksmith_testbed::cache::Cache;
use clocksmith_testbed::initramfs::{fault::Fault, probe};
use clocksmith_testbed::scenario::journal::{Entry, Journal, reads_on};
use clocksmith_testbed::scenario::reader::Report;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

struct Probe {
    directory: tempfile::TempDir,
}

impl Probe {
    fn new() -> Option<Probe> {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::at(directory.path().join("cache"));
        let bytes = probe::for_arch(&cache, Arch::Amd64).unwrap()?;
        let program = directory.path().join("probe");
        std::fs::write(&program, bytes).unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        Some(Probe { directory })
    }

    /// Runs the reader under a fault for two seconds, and returns its output and the tracer's.
    fn read(&self, fault: &Fault) -> (Journal, String) {
        let program = self.directory.path().join("probe");
        let program = program.to_str().unwrap();
        let command = fault.command().replace("/bin/probe", program);
        let mut child = Command::new("sh")
            .args(["-c", &format!("exec {command} {program} reader --threads 3")])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_secs(2));
        let pid = child.id().to_string();
        // The shell's own: a small system has no program of that name.
        let kill = format!("kill -TERM {pid}");
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        let (mut said, mut complaints) = (String::new(), String::new());
        child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        child.stderr.take().unwrap().read_to_string(&mut complaints).unwrap();
        let status = child.wait().unwrap();
        let journal = Journal::default();
        for line in said.lines() {
            assert!(journal.take(line), "{line}");
        }
        assert!(status.success() || said.is_empty(), "{status}: {complaints}");
        (journal, complaints)
    }
}

fn last(journal: &Journal) -> Report {
    let entries = journal.entries();
    let Some(Entry::Report(value)) = entries.last() else { unreachable!("no report") };
    assert_eq!(value["final"], true);
    serde_json::from_value(value.clone()).unwrap()
}

#[test]
fn the_reader_reports_until_it_is_ended_and_sees_a_wrong_rate() {
    let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let source = std::fs::read_to_string(source).unwrap_or_default();
    if !cfg!(target_arch = "x86_64") || source.trim() != "tsc" {
        return eprintln!("skipped: the clocks do not come from the TSC, but from `{source}`");
    }
    let Some(probe) = Probe::new() else { return eprintln!("skipped: no probe") };
    let (journal, complaints) = probe.read(&Fault::default());
    if journal.entries().is_empty() {
        return eprintln!("skipped: no process can be traced here: {complaints}");
    }
    assert!(reads_on(&journal.entries()), "{journal:?}");
    let right = last(&journal);
    assert_eq!(right.threads, 3);
    assert!(complaints.contains("answered") && !complaints.contains("answered 0 "), "{complaints}");

    // A tenth too fast: after two seconds the clock is a fifth of a second ahead.
    let (journal, _) = probe.read(&"rate=100000".parse().unwrap());
    let wrong = last(&journal);
    assert!(wrong.largest_error_ns > 100 * (right.largest_error_ns + 1_000), "{wrong:?} {right:?}");
    assert_eq!(wrong.kernel_back_steps, 0);
}
