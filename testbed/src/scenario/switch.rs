//! The scenario writes clocksources into sysfs, and runs the program after each write.

use super::Story;
use super::place::Place;
use super::ticks::PATIENCE;
use crate::inside::answer::Answer;
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::collections::BTreeSet;

/// Each part is announced by a line, followed by the current clocksource and an answer.
const SCRIPT: &str =
    "ask() { echo \"== $1\"; cat $S/current_clocksource; clocksmith why --json --no-measure; }
settle
READER
sleep 1
ask boot
for name in hpet acpi_pm tsc nonsense; do
    echo $name >$S/current_clocksource
    mark $name
    sleep 1
    ask $name
done
sleep 3
echo '== end'
reader_end";

/// The expected results: the part, the current clocksource, the verdict, and whether a choice
/// through sysfs is the cause.
const WANTED: &[(&str, &str, &str, Option<bool>)] = &[
    ("boot", "tsc", "ok", Some(false)),
    ("hpet", "hpet", "slow", Some(true)),
    ("acpi_pm", "acpi_pm", "slow", Some(true)),
    // It was chosen through sysfs, but the kernel would also have chosen it.
    ("tsc", "tsc", "ok", None),
    // No such clocksource: the kernel accepts the name without a message, and chooses by rating.
    ("nonsense", "tsc", "ok", None),
];

/// Plays it.
pub fn play(place: &Place) -> Result<Story> {
    if !place.has_program() {
        bail!("the scenario `switch` needs a static program: --guest-clocksmith PATH");
    }
    let mut story = Story::new("switch", place.kernel_name());
    let stage = place.stage("switch", SCRIPT)?;
    let (guest, _qmp) = stage.start("guest", None)?;
    let frames = guest.frames(2 * PATIENCE)?;
    let said = frames.get("run").context("the guest did not say what it saw")?;
    let (asked, ended) = said.split_once("== end\n").unwrap_or((said, ""));
    tell(&mut story, asked);
    place.reader().judge(&mut story, stage.journal(), ended);
    Ok(story)
}

fn tell(story: &mut Story, said: &str) {
    let parts: Vec<&str> = said.split("== ").skip(1).collect();
    story.check(parts.len() == WANTED.len(), || format!("the guest said only: {said}"));
    for (part, (name, current, verdict, chosen)) in parts.iter().zip(WANTED) {
        let mut lines = part.splitn(3, '\n');
        let (heading, kernel) =
            (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
        let json = lines.next().unwrap_or_default();
        let json = json.rsplit_once('}').map_or(json, |(body, _)| &json[..=body.len()]);
        let answer = match Answer::of_why(json) {
            Ok(answer) => answer,
            Err(error) => {
                story.problems.push(format!("{name}: the program's answer: {error:#}: {json}"));
                continue;
            }
        };
        story.seen.push(json!({
            "what": heading,
            "kernel": kernel,
            "current": answer.current,
            "verdict": answer.verdict,
            "causes": answer.causes,
        }));
        story.check(kernel == *current, || format!("{name}: the kernel uses {kernel}"));
        story.check(answer.current == kernel, || {
            format!("{name}: `why` says {}, the kernel uses {kernel}", answer.current)
        });
        story.check(answer.verdict == *verdict, || {
            format!("{name}: the verdict is {}, it should be {verdict}", answer.verdict)
        });
        let causes: BTreeSet<String> = answer.causes;
        if let Some(chosen) = chosen {
            story.check(causes.contains("runtime-override") == *chosen, || {
                format!("{name}: runtime-override should be {chosen}; the causes are {causes:?}")
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, kernel: &str, says: &str, verdict: &str, cause: &str) -> String {
        let causes =
            if cause.is_empty() { String::new() } else { format!("{{\"id\": \"{cause}\"}}") };
        format!(
            "== {name}\n{kernel}\n{{\"verdict\": \"{verdict}\", \"clocksource\": {{\"current\": \
             \"{says}\"}}, \"causes\": [{causes}], \"reads\": []}}\n"
        )
    }

    fn told(hpet: String) -> Vec<String> {
        let mut story = Story::new("switch", "6.1");
        let parts = [
            part("boot", "tsc", "tsc", "ok", ""),
            hpet,
            part("acpi_pm", "acpi_pm", "acpi_pm", "slow", "runtime-override"),
            part("tsc", "tsc", "tsc", "ok", ""),
            part("nonsense", "tsc", "tsc", "ok", ""),
        ];
        tell(&mut story, &(parts.concat() + "exit status 0\n"));
        story.problems
    }

    #[test]
    fn the_program_must_follow_and_name_the_cause() {
        let right = part("hpet", "hpet", "hpet", "slow", "runtime-override");
        assert_eq!(told(right), Vec::<String>::new());
        assert_eq!(told(part("hpet", "hpet", "tsc", "ok", "")).len(), 3);
        assert_eq!(told(part("hpet", "tsc", "tsc", "slow", "runtime-override")).len(), 1);
        assert_eq!(told("== hpet\nhpet\nkilled\n".into()).len(), 1);
    }
}
