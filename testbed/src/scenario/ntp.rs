//! Steering the clock: a slew changes the rate of CLOCK_MONOTONIC and not of CLOCK_MONOTONIC_RAW;
//! setting the wall clock moves CLOCK_REALTIME alone.

use super::Story;
use super::place::Place;
use super::ticks::{PATIENCE, Tick};
use anyhow::{Context, Result};
use serde_json::json;

/// Each part is announced by a line and followed by readings.
const SCRIPT: &str = "settle
READER
part() { echo \"part $*\"; mark $*; [ $# = 0 ] || probe \"$@\"; }
watch() { probe watch 100 20; }
part slew 0; watch
part slew 500; watch
part slew -500; watch
part slew 0; watch
part step 3600; watch
part step -3600; watch
sleep 1
reader_end";

/// Millionths by which a rate may differ from the requested one; readings are not simultaneous.
const RATE_TOLERANCE: f64 = 60.0;
/// Nanoseconds by which CLOCK_MONOTONIC may part from CLOCK_MONOTONIC_RAW between two readings.
const STEP_TOLERANCE: i64 = 2_000_000;

/// Plays it.
pub fn play(place: &Place) -> Result<Story> {
    let mut story = Story::new("ntp", place.kernel_name());
    let stage = place.stage("ntp", SCRIPT)?;
    let (guest, _qmp) = stage.start("guest", None)?;
    let frames = guest.frames(2 * PATIENCE)?;
    let said = frames.get("run").context("the guest did not say what it saw")?;
    tell(&mut story, said)?;
    place.reader().judge(&mut story, stage.journal(), said);
    Ok(story)
}

fn tell(story: &mut Story, said: &str) -> Result<()> {
    let mut previous: Option<Tick> = None;
    for part in said.split("part ").skip(1) {
        let (name, readings) = part.split_once('\n').unwrap_or((part, ""));
        let ticks: Vec<Tick> = readings.lines().filter_map(Tick::parse).collect();
        let (Some(first), Some(last)) = (ticks.first(), ticks.last()) else {
            anyhow::bail!("the guest's part `{name}` has no readings: {readings}");
        };
        let passed = last.since(*first);
        let across = previous.map(|tick| first.since(tick));
        let stepped = across.map(|across| across.real - across.monotonic);
        story.seen.push(json!({
            "what": name,
            "monotonic_against_raw_ppm": (passed.slew() * 10.0).round() / 10.0,
            "wall_clock_stepped_s": stepped.map(|ns| (ns as f64 / 1e9).round()),
        }));
        let number = |verb: &str| name.strip_prefix(verb)?.trim().parse::<f64>().ok();
        if let Some(wanted) = number("slew") {
            story.check((passed.slew() - wanted).abs() < RATE_TOLERANCE, || {
                format!("{name}: CLOCK_MONOTONIC ran at {:+.1} ppm", passed.slew())
            });
        }
        if let (Some(wanted), Some(stepped)) = (number("step"), stepped) {
            let off = stepped as f64 / 1e9 - wanted;
            story.check(off.abs() < 0.1, || format!("{name}: the wall clock is {off} s off"));
        }
        let all: Vec<Tick> = previous.into_iter().chain(ticks.iter().copied()).collect();
        for pair in all.windows(2) {
            let passed = pair[1].since(pair[0]);
            story.check(passed.monotonic > 0, || {
                format!(
                    "{name}: CLOCK_MONOTONIC went from {} by {}",
                    pair[0].monotonic, passed.monotonic
                )
            });
            let parted = passed.monotonic - passed.raw;
            story.check(parted.abs() < STEP_TOLERANCE, || {
                format!("{name}: CLOCK_MONOTONIC stepped by {parted} ns")
            });
        }
        previous = Some(*last);
    }
    story.check(story.seen.len() == 6, || format!("the guest said only: {said}"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two readings, `ns` of CLOCK_MONOTONIC_RAW apart; CLOCK_MONOTONIC gains `gain` meanwhile.
    fn part(name: &str, start: i64, gain: i64, wall: i64) -> String {
        let tick = |raw: i64, gained: i64| {
            let monotonic = raw + gained;
            let tick = Tick { raw, monotonic, real: monotonic + wall, tsc: 0 };
            let (real, xor) = (tick.real, tick.xor());
            format!("tick raw={raw} monotonic={monotonic} real={real} tsc=0 xor={xor}\n")
        };
        format!("part {name}\n{}{}", tick(start, 0), tick(start + 1_000_000_000, gain))
    }

    fn told(parts: &[String]) -> Story {
        let mut story = Story::new("ntp", "6.1");
        tell(&mut story, &parts.concat()).unwrap();
        story
    }

    fn parts() -> Vec<String> {
        let hour = 3_600_000_000_000;
        vec![
            part("slew 0", 1_000_000_000, 0, 0),
            part("slew 500", 3_000_000_000, 500_000, 0),
            part("slew -500", 5_000_000_000, -500_000, 0),
            part("slew 0", 7_000_000_000, 0, 0),
            part("step 3600", 9_000_000_000, 0, hour),
            part("step -3600", 11_000_000_000, 0, 0),
        ]
    }

    #[test]
    fn clock_that_follows_ntp_has_no_problem() {
        let story = told(&parts());
        assert_eq!(story.problems, Vec::<String>::new());
        assert_eq!(story.seen.len(), 6);
    }

    #[test]
    fn a_step_of_the_monotonic_clock_and_a_slew_that_is_not_followed_are() {
        let mut list = parts();
        list[1] = part("slew 500", 3_000_000_000, 0, 0);
        list[4] = part("step 3600", 9_000_000_000, 3_600_000_000_000, 0);
        let problems = told(&list).problems.join("; ");
        assert!(problems.contains("slew 500: CLOCK_MONOTONIC ran at +0.0 ppm"), "{problems}");
        assert!(problems.contains("CLOCK_MONOTONIC stepped by 3600000000000 ns"), "{problems}");
        assert!(!told(&parts()[..5]).problems.is_empty());
    }
}
