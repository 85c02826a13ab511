//! Pause, snapshot and migration, seen by the guest's own clocks.

use super::place::{Place, Stage};
use super::ticks::{PATIENCE, Passed, Tick};
use super::{Story, live};
use crate::initramfs::quote;
use crate::qemu::process::Guest;
use crate::qemu::qmp::Qmp;
use anyhow::Result;
use serde_json::json;
use std::time::{Duration, Instant};

/// How long the guest is paused, or its snapshot or file is kept.
const WHILE: Duration = Duration::from_secs(5);

/// Stops the guest's processors for five seconds.
pub fn pause(place: &Place) -> Result<Story> {
    let mut story = Story::new("pause", place.kernel_name());
    let stage = live::stage(place, "pause")?;
    let (mut guest, mut qmp) = stage.start("guest", None)?;
    let (rate, tick) = rate(&guest)?;
    qmp.stop()?;
    let before = last(&guest, tick);
    std::thread::sleep(WHILE);
    stage.journal().mark("paused");
    qmp.cont()?;
    let after = Tick::next(&guest)?;
    note(&mut story, "paused", before, after, WHILE, rate);
    story.check(after.since(before).seconds() < 2.0, || {
        "CLOCK_MONOTONIC ran while the guest was paused".into()
    });
    live::finish(&mut story, &stage, &mut guest)?;
    Ok(story)
}

/// Saves the guest, continues for five seconds, and loads the snapshot: once while the guest is
/// paused, and once while it runs. Under software emulation the clocks jump forward in both cases:
/// the emulator does not let its TSC go back below the last value that it returned.
pub fn snapshot(place: &Place) -> Result<Story> {
    let mut story = Story::new("snapshot", place.kernel_name());
    let mut stage = live::stage(place, "snapshot")?;
    stage.with_disk()?;
    let (mut guest, mut qmp) = stage.start("guest", None)?;
    let (rate, tick) = rate(&guest)?;
    qmp.stop()?;
    let saved = last(&guest, tick);
    qmp.savevm("still")?;
    qmp.cont()?;
    let begin = Instant::now();
    std::thread::sleep(WHILE);
    qmp.stop()?;
    let left = last(&guest, saved);
    qmp.loadvm("still")?;
    stage.journal().mark("loaded standing still");
    qmp.cont()?;
    let loaded = Tick::next(&guest)?;
    note(&mut story, "saved and loaded standing still", saved, loaded, begin.elapsed(), rate);
    let back = loaded.since(left);
    story.seen.push(json!({ "what": "the same, since it was left", "passed": back }));

    let saved = Tick::next(&guest)?;
    qmp.savevm("running")?;
    let begin = Instant::now();
    std::thread::sleep(WHILE);
    qmp.loadvm("running")?;
    stage.journal().mark("loaded running");
    // Readings from before the load may still arrive: the first one after the load follows a
    // silence or a jump, so the last reading of a second is certainly one after the load.
    let end = Instant::now() + Duration::from_secs(1);
    let mut loaded = Tick::next(&guest)?;
    while Instant::now() < end {
        loaded = Tick::next(&guest)?;
    }
    note(&mut story, "saved and loaded running", saved, loaded, begin.elapsed(), rate);
    live::finish(&mut story, &stage, &mut guest)?;
    Ok(story)
}

/// Moves the guest to another emulator.
pub fn migrate(place: &Place) -> Result<Story> {
    let mut story = Story::new("migrate", place.kernel_name());
    let stage = live::stage(place, "migrate")?;
    let address = format!("unix:{}", stage.path("socket").display());
    let (source, mut from) = stage.start("source", None)?;
    let (rate, tick) = rate(&source)?;
    let (target, to) = stage.start("target", Some(address.clone()))?;
    let begin = Instant::now();
    from.migrate(&address, PATIENCE)?;
    stage.journal().mark("moved");
    let move_ = Move { begin, before: last(&source, tick), rate };
    move_.arrived(&mut story, &stage, target, to)?;
    Ok(story)
}

/// Moves the guest to another emulator through a file, in which it is kept for five seconds.
pub fn migrate_file(place: &Place) -> Result<Story> {
    let mut story = Story::new("migrate-file", place.kernel_name());
    let stage = live::stage(place, "migrate-file")?;
    let file = stage.path("state");
    let quoted = quote(&file.to_string_lossy());
    let (source, mut from) = stage.start("source", None)?;
    let (rate, tick) = rate(&source)?;
    let begin = Instant::now();
    from.migrate(&format!("exec:cat >{quoted}"), PATIENCE)?;
    let move_ = Move { begin, before: last(&source, tick), rate };
    drop(source);
    let size = std::fs::metadata(&file).map(|file| file.len()).unwrap_or_default();
    story.seen.push(json!({ "what": "written", "file_mib": size >> 20 }));
    std::thread::sleep(WHILE);
    stage.journal().mark("moved through a file");
    let (target, to) = stage.start("target", Some(format!("exec:cat {quoted}")))?;
    move_.arrived(&mut story, &stage, target, to)?;
    Ok(story)
}

/// A guest on its way to another emulator.
struct Move {
    begin: Instant,
    before: Tick,
    rate: f64,
}

impl Move {
    fn arrived(
        self,
        story: &mut Story,
        stage: &Stage<'_>,
        mut target: Guest,
        mut to: Qmp,
    ) -> Result<()> {
        let after = Tick::next(&target)?;
        note(story, "moved", self.before, after, self.begin.elapsed(), self.rate);
        let status = to.status()?;
        story.check(status == "running", || format!("the guest is {status} after it was moved"));
        live::finish(story, stage, &mut target)
    }
}

/// The rate of the guest's TSC, over about two seconds, and the reading at their end.
fn rate(guest: &Guest) -> Result<(f64, Tick)> {
    let first = Tick::next(guest)?;
    let mut last = first;
    while last.since(first).seconds() < 2.0 {
        last = Tick::next(guest)?;
    }
    Ok((last.since(first).rate(), last))
}

/// Returns the last reading of a guest that prints nothing more; `last` if there is none.
fn last(guest: &Guest, mut last: Tick) -> Tick {
    while let Ok(line) = guest.wait_for("tick raw=", Duration::from_millis(500)) {
        last = Tick::parse(&line).unwrap_or(last);
    }
    last
}

/// Notes the passed times, and checks that no clock goes back or differs from the counter.
fn note(story: &mut Story, what: &str, before: Tick, after: Tick, host: Duration, rate: f64) {
    let passed: Passed = after.since(before);
    story.seen.push(json!({
        "what": what,
        "passed": passed,
        "host_seconds": host.as_secs_f64(),
        "tsc_khz": rate / 1000.0,
        "tsc_khz_meanwhile": passed.rate() / 1000.0,
    }));
    let clocks = [("CLOCK_MONOTONIC", passed.monotonic), ("CLOCK_MONOTONIC_RAW", passed.raw)];
    for (clock, passed) in clocks.into_iter().chain([("the TSC", passed.tsc)]) {
        story.check(passed >= 0, || format!("{clock} went back by {}", -passed));
    }
    let off = (passed.rate() / rate - 1.0).abs();
    story.check(off < 0.01, || {
        format!("the TSC and CLOCK_MONOTONIC_RAW parted by {:.1} %", off * 100.0)
    });
}
