//! A guest that reads its clocks, runs a reader, and obeys commands on its console: for scenarios
//! with an event from outside.

use super::Story;
use super::place::{Place, Stage};
use super::reader::ENDED;
use super::ticks::PATIENCE;
use crate::inside::answer::Answer;
use crate::qemu::process::Guest;
use anyhow::Result;
use serde_json::json;

/// Answers to `why` and `end`. The readings of the clocks go to the console at once: a line in a
/// frame arrives only with the next line, so it would be a reading from before the event. They stop
/// with the first order.
const SCRIPT: &str = r#"settle
READER
probe watch 100 0 >/dev/console &
watch=$!
exec 3</dev/console
stty -echo <&3
while read -r order <&3; do
    kill $watch
    wait $watch
    [ "$order" = why ] || break
    echo "== why"
    cat $S/current_clocksource
    clocksmith why --json --no-measure
    echo "== end"
    echo
done 2>/dev/null
reader_end"#;

/// Makes the files of such a guest.
pub fn stage<'a>(place: &'a Place, name: &str) -> Result<Stage<'a>> {
    place.stage(name, SCRIPT)
}

/// Lets the reader continue after the last event, runs the program for its verdict on the clocks,
/// and ends the reader.
pub fn finish(story: &mut Story, stage: &Stage<'_>, guest: &mut Guest) -> Result<()> {
    // Whether it did is judged with the rest.
    stage.journal().wait_for_progress(PATIENCE / 3);
    if stage.place().has_program() {
        guest.tell("why")?;
        guest.wait_for("|== why", PATIENCE)?;
        let lines = guest.lines_until("|== end", PATIENCE)?;
        let served =
            stage.place().paravirt().is_some_and(|clock| clock.kind.is_served_in_user_space());
        judge_why(story, &lines, served);
    }
    guest.tell("end")?;
    let ended = guest.wait_for(ENDED, PATIENCE)?;
    stage.place().reader().judge(story, stage.journal(), &ended);
    Ok(())
}

/// The verdict must be that of the clocksource which the kernel uses: a guest that was moved or
/// loaded may have lost its TSC for real. `served`: it has another clock that user space reads.
fn judge_why(story: &mut Story, lines: &[String], served: bool) {
    let mut lines = lines.iter().filter_map(|line| line.strip_prefix('|'));
    let kernel = lines.next().unwrap_or_default().to_string();
    let json: Vec<&str> = lines.collect();
    let json = json.join("\n");
    let answer = match Answer::of_why(&json) {
        Ok(answer) => answer,
        Err(error) => {
            story.problems.push(format!("`why` afterwards: {error:#}: {json}"));
            return;
        }
    };
    let wanted = if kernel == "tsc" || served { "ok" } else { "slow" };
    story.check(answer.current == kernel, || {
        format!("`why` afterwards says {}, the kernel uses {kernel}", answer.current)
    });
    story.check(answer.verdict == wanted, || {
        format!("`why` afterwards: the verdict is {}, it should be {wanted}", answer.verdict)
    });
    story.seen.push(json!({
        "what": "`why` afterwards",
        "kernel": kernel,
        "current": answer.current,
        "verdict": answer.verdict,
        "causes": answer.causes,
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(kernel: &str, current: &str, verdict: &str) -> usize {
        let json = format!(
            "|{{\"verdict\": \"{verdict}\", \"clocksource\": {{\"current\": \"{current}\"}},\n\
             |\"causes\": [], \"reads\": []}}"
        );
        let lines: Vec<String> = [&format!("|{kernel}")]
            .into_iter()
            .cloned()
            .chain(json.lines().map(String::from))
            .collect();
        let mut story = Story::new("pause", "6.1");
        judge_why(&mut story, &lines, kernel == "kvm-clock");
        story.problems.len()
    }

    #[test]
    fn the_verdict_is_that_of_the_kernels_clocksource() {
        assert_eq!(problems("tsc", "tsc", "ok"), 0);
        assert_eq!(problems("hpet", "hpet", "slow"), 0);
        assert_eq!(problems("kvm-clock", "kvm-clock", "ok"), 0);
        assert_eq!(problems("tsc", "tsc", "slow"), 1);
        assert_eq!(problems("hpet", "tsc", "ok"), 2);
        let mut story = Story::new("pause", "6.1");
        judge_why(&mut story, &["|tsc".into(), "|killed".into()], false);
        assert_eq!(story.problems.len(), 1);
    }
}
