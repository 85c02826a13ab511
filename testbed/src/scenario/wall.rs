//! The wall clock of a guest is set by hand, and the guest is paused, restored from a snapshot and cloned:
//! `clocksmith watch` reports each within three seconds of the guest's time and with its reason, `why` names it afterwards,
//! and `check` alarms, until something corrects the clock.
//!
//! The guest has no time daemon. Its real-time clock goes by the host's, so that it shows what the guest missed; a clone
//! has another VM generation id, which kernels with a driver for it notice.

use super::Story;
use super::place::{Place, Stage};
use super::ticks::PATIENCE;
use crate::qemu::process::Guest;
use crate::qemu::qmp::Qmp;
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Prints each event of the watch in a line, and obeys: `why`, `check`, `set SECONDS`, `now`. Each line has the uptime, which
/// neither a pause nor a step changes, and is one write, so that lines of the two do not mix.
const SCRIPT: &str = r#"settle
say() { read -r up rest </proc/uptime; echo "|$1 $up $2" >/dev/console; }
clocksmith watch --no-listen --no-history --no-test --json 2>/dev/null | while read -r line; do
    say event "$line"
done &
exec 3</dev/console
stty -echo <&3
say ready "$(ls -d /sys/bus/*/drivers/vmgenid 2>/dev/null)"
while read -r order argument <&3; do
    case $order in
    why | check) say $order "$(clocksmith $order --json --no-measure | tr -d '\n')" ;;
    set) probe step $argument; say set $? ;;
    now) say now ;;
    *) break ;;
    esac
done"#;

/// The least time for which the guest is paused, and is only in its snapshot. A real-time clock counts whole seconds,
/// so the watch needs three of them.
const AWAY: Duration = Duration::from_secs(20);
/// How soon the watch reports an event, in seconds of the guest.
const SOON: f64 = 3.0;
/// The same on a busy host: an emulated guest runs slower there, and its clocks do not.
const SOON_ON_A_BUSY_HOST: f64 = 9.0;
/// How far the wall clock is set by hand, in seconds.
const SET: i64 = 61;

const GENERATION: &str = "324e6eaf-d1d1-4bf6-bf41-b9bb6c91fb87";
const ANOTHER: &str = "a5a1d7f2-5d06-4b1f-9bd2-6ba3b8a8a1f0";
const SNAPSHOT: &str = "saved";

/// Plays it.
pub fn play(place: &Place) -> Result<Story> {
    let mut story = Story::new("wall-clock", place.kernel_name());
    if !place.has_program() {
        bail!("the scenario wall-clock needs --guest-clocksmith");
    }
    let mut stage = place.stage("wall-clock", SCRIPT)?;
    stage.with_disk()?;
    let (guest, qmp) = stage.start_with("guest", None, &generation(GENERATION))?;
    let mut seat = Seat { guest, qmp };
    let ready = seat.guest.wait_for("|ready ", 2 * PATIENCE)?;
    // Some kernels are built without that driver: then the real-time clock shows a clone, as it does a restore.
    let says_fork = parse(&ready, "ready").is_some_and(|(_, driver)| !driver.is_empty());
    // The watch compares each reading of the wall clock with the one before, and needs a first one.
    std::thread::sleep(Duration::from_secs(4));
    seat.quiet(&mut story, "before anything happened")?;

    seat.set(&mut story, SET)?;
    seat.asked(&mut story, "set by hand", &Asked { behind: -(SET as f64), by_fork: false })?;
    seat.set(&mut story, -SET)?;
    seat.quiet(&mut story, "set back")?;

    let (stopped, begin) = (seat.now()?, Instant::now());
    seat.qmp.stop()?;
    std::thread::sleep(AWAY);
    seat.qmp.cont()?;
    let away = begin.elapsed().as_secs_f64();
    seat.restored(&mut story, "paused", stopped, None)?;
    seat.asked(&mut story, "paused", &Asked { behind: away, by_fork: false })?;
    // A correction of the clock afterwards is expected, and ends the alarm.
    seat.set(&mut story, away.round() as i64)?;
    seat.quiet(&mut story, "set right after the pause")?;

    let (saved, begin) = (seat.now()?, Instant::now());
    seat.qmp.stop()?;
    seat.qmp.savevm(SNAPSHOT)?;
    drop(seat);
    let copy = stage.copy_disk("copy.qcow2")?;
    std::thread::sleep(AWAY);
    let mut seat = Seat::load(&stage, "restored", &generation(GENERATION))?;
    let away = begin.elapsed().as_secs_f64();
    seat.restored(&mut story, "restored from a snapshot", saved, None)?;
    seat.asked(&mut story, "restored from a snapshot", &Asked { behind: away, by_fork: false })?;
    drop(seat);

    stage.use_disk(&copy);
    let mut seat = Seat::load(&stage, "clone", &generation(ANOTHER))?;
    let away = begin.elapsed().as_secs_f64();
    seat.restored(&mut story, "cloned", saved, says_fork.then_some("virtual machine fork"))?;
    seat.asked(&mut story, "cloned", &Asked { behind: away, by_fork: says_fork })?;
    Ok(story)
}

fn generation(id: &str) -> [String; 2] {
    ["-device".into(), format!("vmgenid,guid={id}")]
}

/// The expected answers of `why` and `check`.
struct Asked {
    /// How far the wall clock is behind, in seconds; ahead if it is negative.
    behind: f64,
    /// Whether the kernel said that the guest is a copy.
    by_fork: bool,
}

/// A guest with its emulator's control socket.
struct Seat {
    guest: Guest,
    qmp: Qmp,
}

impl Seat {
    /// Starts another emulator that continues from the snapshot.
    fn load(stage: &Stage<'_>, name: &str, device: &[String]) -> Result<Seat> {
        let load = ["-loadvm".to_string(), SNAPSHOT.into()];
        let arguments: Vec<String> = device.iter().cloned().chain(load).collect();
        let (guest, mut qmp) = stage.start_with(name, None, &arguments)?;
        // The guest was saved while it was stopped.
        qmp.cont()?;
        Ok(Seat { guest, qmp })
    }

    /// The guest's answer to an order: its uptime, and the text.
    fn order(&mut self, order: &str) -> Result<(f64, String)> {
        self.guest.tell(order)?;
        let name = order.split(' ').next().unwrap_or_default();
        let line = self.guest.wait_for(&format!("|{name} "), PATIENCE)?;
        parse(&line, name).with_context(|| format!("the guest answers to `{order}`: {line}"))
    }

    /// The guest's uptime.
    fn now(&mut self) -> Result<f64> {
        Ok(self.order("now")?.0)
    }

    /// The next event of a kind, without those before it, and the uptime at which it was reported.
    fn event(&self, kind: &str) -> Result<(f64, Value)> {
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let line = self
                .guest
                .wait_for("|event ", left)
                .with_context(|| format!("the watch does not report `{kind}`"))?;
            if let Some(found) = event(&line).filter(|(_, event)| event["kind"] == kind) {
                return Ok(found);
            }
        }
    }

    /// Sets the wall clock, which the watch reports.
    fn set(&mut self, story: &mut Story, seconds: i64) -> Result<()> {
        let (at, status) = self.order(&format!("set {seconds}"))?;
        story.check(status == "0", || format!("set by {seconds} s: status {status}"));
        let (reported, event) = self.event("wall-clock-step")?;
        let after = seconds_between(at, reported);
        let text = event["text"].as_str().unwrap_or_default();
        story.seen.push(json!({
            "what": format!("set by {seconds:+} s"), "reported_after_s": after, "text": text,
            "reason": event["reason"]["text"],
        }));
        story.check(after <= soon(), || format!("set by {seconds} s: reported after {after:.1} s"));
        let to = event["to"].as_str().unwrap_or_default();
        story.check(is_near(to, seconds), || {
            format!("set by {seconds} s: the watch says `{text}` and `{to}`")
        });
        Ok(())
    }

    /// The watch reports that the guest was away since this uptime, by the kernel's words if it has some.
    fn restored(
        &mut self,
        story: &mut Story,
        what: &str,
        since: f64,
        evidence: Option<&str>,
    ) -> Result<()> {
        let (reported, event) = self.event("restored")?;
        let after = seconds_between(since, reported);
        story.seen.push(json!({
            "what": what, "reported_after_s": after, "text": event["text"],
            "reason": event["reason"]["text"], "evidence": event["reason"]["evidence"],
        }));
        story.check(after <= soon(), || format!("{what}: reported after {after:.1} s"));
        story.check(event["reason"]["cause"] == "wall-clock-stale-after-restore", || {
            format!("{what}: the reason is {}", event["reason"])
        });
        let said = event["reason"]["evidence"].as_str().unwrap_or_default();
        story.check(evidence.is_none_or(|wanted| said.contains(wanted)), || {
            format!("{what}: the evidence is `{said}`")
        });
        Ok(())
    }

    /// Returns the present answers of `why` and `check`.
    fn answers(&mut self) -> Result<(Value, Value)> {
        let json = |text: &str| {
            serde_json::from_str::<Value>(text).with_context(|| format!("not JSON: {text:.200}"))
        };
        Ok((json(&self.order("why")?.1)?, json(&self.order("check")?.1)?))
    }

    /// Verifies that `why` names the event, and that `check` alarms.
    fn asked(&mut self, story: &mut Story, what: &str, wanted: &Asked) -> Result<()> {
        let (why, check) = self.answers()?;
        let wall = &why["wall_clock"];
        let causes: Vec<&str> = why["causes"]
            .as_array()
            .map(|list| list.iter().filter_map(|cause| cause["id"].as_str()).collect())
            .unwrap_or_default();
        let behind = wall["behind_s"].as_f64();
        story.seen.push(json!({
            "what": format!("`why` and `check`, {what}"), "causes": causes, "behind_s": behind,
            "summary": wall["summary"], "state": check["state"], "line": check["line"],
        }));
        let cause = match wanted.behind > 0.0 {
            true => "wall-clock-stale-after-restore",
            false => "wall-clock-unsynchronised",
        };
        story.check(causes.contains(&cause), || format!("{what}: `why` has the causes {causes:?}"));
        let summary = wall["summary"].as_str().unwrap_or_default();
        story.check(!wanted.by_fork || summary.contains("or is a copy"), || {
            format!("{what}: `why` says `{summary}`")
        });
        let near = behind.is_some_and(|behind| (behind - wanted.behind).abs() < 3.0);
        story.check(near, || {
            format!("{what}: `why` says {behind:?} s behind, it is {:.1} s", wanted.behind)
        });
        story.check(check["state"] == "warning", || format!("{what}: check says {check}"));
        let line = check["line"].as_str().unwrap_or_default();
        story.check(line.contains("wall clock"), || format!("{what}: check says `{line}`"));
        Ok(())
    }

    /// Neither `why` nor `check` has a complaint.
    fn quiet(&mut self, story: &mut Story, what: &str) -> Result<()> {
        let (why, check) = self.answers()?;
        let wall = &why["wall_clock"];
        story.seen.push(json!({
            "what": what, "summary": wall["summary"], "state": check["state"],
            "line": check["line"],
        }));
        story.check(check["state"] == "ok", || format!("{what}: check says {check}"));
        Ok(())
    }
}

/// How soon an event must be reported, with the load of this host.
fn soon() -> f64 {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().and_then(|load| load.parse::<f64>().ok()).unwrap_or(0.0);
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    if load > processors as f64 { SOON_ON_A_BUSY_HOST } else { SOON }
}

/// Returns whether a step in the watch's notation (`+60999.827 ms`) is one of this number of seconds. The clock
/// continues between the guest's reading and setting of it, and on a busy host that takes some time.
fn is_near(step: &str, seconds: i64) -> bool {
    let ms = step.strip_suffix(" ms").and_then(|ms| ms.parse::<f64>().ok());
    ms.is_some_and(|ms| (ms - seconds as f64 * 1e3).abs() < 500.0)
}

/// The time between two uptimes, in tenths of a second.
fn seconds_between(since: f64, until: f64) -> f64 {
    ((until - since) * 10.0).round() / 10.0
}

/// An order's answer: `|name UPTIME TEXT`.
fn parse(line: &str, name: &str) -> Option<(f64, String)> {
    let (_, rest) = line.split_once(&format!("|{name} "))?;
    let (uptime, text) = rest.trim_end().split_once(' ').unwrap_or((rest.trim_end(), ""));
    Some((uptime.parse().ok()?, text.to_owned()))
}

/// Returns the uptime and the event in a line of the watch; `None` for a line about the watch itself.
fn event(line: &str) -> Option<(f64, Value)> {
    let (uptime, text) = parse(line, "event")?;
    let line: Value = serde_json::from_str(&text).ok()?;
    Some(line["event"].clone()).filter(|event| !event.is_null()).map(|event| (uptime, event))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_and_events_are_read() {
        assert_eq!(parse("|now 12.34 \r\n", "now"), Some((12.34, String::new())));
        assert_eq!(parse("|set 3.1 0\n", "set"), Some((3.1, "0".into())));
        assert_eq!(parse("|why", "why"), None);
        let line = r#"|event 31.27 {"schema":"x","state":"warning","text":"t","event":{"kind":"restored"}}"#;
        let (uptime, read) = event(line).unwrap();
        assert_eq!((uptime, &read["kind"]), (31.27, &json!("restored")));
        assert_eq!(seconds_between(30.0, uptime), 1.3);
        assert!(event(r#"|event 3.1 {"schema":"x","event":null}"#).is_none());
    }

    #[test]
    fn a_step_is_compared_by_its_size() {
        assert!(is_near("+60999.827 ms", 61) && is_near("+61000.000 ms", 61));
        assert!(is_near("-61000.829 ms", -61));
        assert!(!is_near("-60999.827 ms", 61) && !is_near("+60.999 ms", 61) && !is_near("", 61));
    }
}
