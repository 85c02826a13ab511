//! Runs a program that counts its own reads, by function, and compares its counts with the report.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]

use clocksmith_who::account::{Profile, profile};
use clocksmith_who::calibrate;
use clocksmith_who::recording::Recording;
use clocksmith_who::session::{Options, Session, Target};
use clocksmith_who::spawn::Waiting;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The counts of a program and its recording.
pub struct Counted {
    /// Reads by function, as the program has counted them.
    pub counts: BTreeMap<String, f64>,
    pub profile: Profile,
    pub recording: Recording,
}

/// A share with its interval.
pub type Share = (f64, f64, f64);

/// The sources of programs.
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/targets")
}

/// Builds a program; `false`, with a message, if the tool is not here.
pub fn build(tool: &str, arguments: &[&str]) -> bool {
    match Command::new(tool).args(arguments).current_dir(sources()).output() {
        Ok(done) => {
            assert!(done.status.success(), "{tool}: {}", String::from_utf8_lossy(&done.stderr));
            true
        }
        Err(error) => {
            eprintln!("skipped: {tool}: {error}");
            false
        }
    }
}

/// Watches a command, with the seconds that it is to run as its last argument; `None`, with a message, if that is
/// refused here.
pub fn watch(command: &[OsString], seconds: &str) -> Option<Counted> {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    // Node writes a log where it is started.
    let shell = format!("cd {} && exec \"$@\" > {}", dir.path().display(), out.display());
    let mut words: Vec<OsString> = ["sh", "-c", &shell, "sh"].map(OsString::from).into();
    words.extend(command.iter().cloned());
    words.push(seconds.into());
    let costs = calibrate::costs(Duration::from_millis(100));
    let waiting = Waiting::new(&words, false).unwrap();
    let options = Options { frequency: 997, ..Options::PROGRAM };
    let mut session = match Session::start(&Target::Command(waiting.pid()), options) {
        Ok(session) => session,
        Err(why) => {
            eprintln!("skipped: {why}");
            return None;
        }
    };
    let mut running = waiting.go().unwrap();
    while running.ended().unwrap().is_none() {
        session.watch(Duration::from_millis(50), || false);
    }
    session.stop();
    let recording = session.recording();
    let text = std::fs::read_to_string(out).unwrap();
    let counts: BTreeMap<String, f64> = text
        .lines()
        .filter_map(|line| {
            let (name, count) = line.rsplit_once(' ')?;
            Some((name.to_owned(), count.parse().ok()?))
        })
        .collect();
    assert!(counts.values().sum::<f64>() > 0.0, "{command:?}: it has counted nothing");
    Some(Counted { counts, profile: profile(&recording, &costs), recording })
}

impl Counted {
    /// Returns the share of the reads that a function made.
    pub fn truth(&self, function: &str) -> f64 {
        self.counts.get(function).copied().unwrap_or_default() / self.counts.values().sum::<f64>()
    }

    /// The reported share of the functions whose plain name this is.
    pub fn share(&self, function: &str) -> Share {
        let rows = self.profile.functions.iter().filter(|row| plain(&row.function) == function);
        rows.filter_map(|row| row.reads.share_of_reads).fold((0.0, 0.0, 0.0), |sum, share| {
            (sum.0 + share.value, sum.1 + share.low, sum.2 + share.high)
        })
    }

    /// Compares all functions: a line of text, the rows whose interval misses the truth by more than `off`, and how many rows of how many
    /// hold the truth in their interval.
    pub fn compare(&self, off: f64) -> (String, Vec<String>, (u32, u32)) {
        let (mut line, mut wrong, mut rows) = (String::new(), Vec::new(), (0, 0));
        for function in self.counts.keys() {
            let (truth, (share, low, high)) = (self.truth(function), self.share(function));
            let holds = (low..=high).contains(&truth);
            // A function without a sample has no row.
            rows = (rows.0 + u32::from(holds), rows.1 + u32::from(high > 0.0));
            line += &format!(
                " {function} {:.1} said {:.1} [{:.1}-{:.1}]{};",
                truth * 100.0,
                share * 100.0,
                low * 100.0,
                high * 100.0,
                if holds { "" } else { " OUTSIDE" }
            );
            if truth < low - off || truth > high + off {
                wrong.push(format!("{function}: {truth:.3} is reported as {share:.3}"));
            }
        }
        (line, wrong, rows)
    }
}

/// A function's name without its file, its type and its package.
fn plain(name: &str) -> &str {
    let name = name.split(" (").next().unwrap_or(name);
    let name = name.rsplit("::").next().unwrap_or(name);
    name.rsplit('.').next().unwrap_or(name)
}
