//! Many stories in one table, as a page of documentation.

use super::Story;
use serde_json::Value;
use std::fmt::Write;

/// The description of each scenario, for the page.
const WHAT: &[(&str, &str)] = &[
    (
        "switch",
        "the test writes hpet, acpi_pm, tsc and a name that no clocksource has to sysfs, one after the other",
    ),
    ("pause", "the emulator stops the guest for five seconds"),
    ("snapshot", "saved, and loaded again five seconds later: standing still, and running"),
    ("migrate", "moved to another emulator through a socket"),
    (
        "migrate-file",
        "moved to another emulator through a file, in which it stays for five seconds",
    ),
    ("ntp", "slewed by 500 ppm both ways, then the wall clock is set by an hour both ways"),
    (
        "fault",
        "the test intercepts reads of the counter and returns wrong values; the reader must detect this",
    ),
    (
        "wall-clock",
        "the wall clock is set by hand, and the guest is paused for 20 s, restored from a snapshot and cloned; \
         `clocksmith watch` must report each, `why` must name it, and `check` must alarm",
    ),
];

/// The page.
pub fn markdown(stories: &[Story]) -> String {
    let mut page = String::from(
        "<!-- Written by `testbed scenario all --kernel all --output FILE`. Do not edit. -->\n\n\
         # What happens to clocks in running guests\n\n\
         While something happens to a guest with two processors, a program in it reads the clock in\n\
         several threads. No thread may read less than what any thread has read before, and the clock\n\
         must lie between two system calls that read CLOCK_MONOTONIC around it. Afterwards\n\
         `clocksmith why` runs in the guest. The guests run in software emulation on a shared machine,\n\
         so the numbers of reads have no meaning, but steps and errors have.\n\n",
    );
    for (name, what) in WHAT {
        if stories.iter().any(|story| story.scenario == *name) {
            let _ = writeln!(page, "- `{name}`: {what}");
        }
    }
    page.push_str("\nKernels:");
    let mut kernels: Vec<(&str, &str)> = Vec::new();
    for story in stories {
        if !kernels.iter().any(|(name, _)| *name == story.kernel) {
            kernels.push((&story.kernel, &story.kernel_version));
        }
    }
    let list: Vec<String> =
        kernels.iter().map(|(name, version)| format!(" {name} is {version}")).collect();
    let _ = writeln!(page, "{}.\n", list.join(","));
    events(&mut page, stories);
    faults(&mut page, stories);
    wall_clock(&mut page, stories);
    problems(&mut page, stories);
    page
}

fn events(page: &mut String, stories: &[Story]) {
    let others = ["fault", "wall-clock"];
    let stories: Vec<&Story> =
        stories.iter().filter(|story| !others.contains(&story.scenario)).collect();
    if stories.is_empty() {
        return;
    }
    page.push_str(
        "## Readers across events\n\n\
         | scenario | kernel | reads | steps back | largest error | clocksources seen | `why` |\n\
         |---|---|--:|--:|--:|---|---|\n",
    );
    for story in stories {
        let end = story.readers.last();
        let largest = |name: &str| {
            let values = story.readers.iter().filter_map(|report| report.get(name)?.as_u64());
            values.max().map_or("?".into(), |value| value.to_string())
        };
        let sources = end.and_then(|report| report.get("sources")?.as_array()).map(|list| {
            let names: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
            names.join(", ")
        });
        let verdicts: Vec<&str> =
            story.seen.iter().filter_map(|seen| seen.get("verdict")?.as_str()).collect();
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} ns | {} | {} |",
            story.scenario,
            story.kernel,
            largest("reads"),
            largest("back_steps"),
            largest("largest_error_ns"),
            sources.unwrap_or_default(),
            verdicts.join(", ")
        );
    }
    page.push('\n');
}

fn wall_clock(page: &mut String, stories: &[Story]) {
    let mut stories = stories.iter().filter(|story| story.scenario == "wall-clock").peekable();
    if stories.peek().is_none() {
        return;
    }
    page.push_str(
        "## The wall clock\n\n\
         | event | kernel | reported after | by the words | `check` then |\n\
         |---|---|--:|---|---|\n",
    );
    for story in stories {
        let text = |seen: &Value, name: &str| {
            seen.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        for (at, seen) in story.seen.iter().enumerate() {
            let Some(after) = seen.get("reported_after_s").and_then(Value::as_f64) else {
                continue;
            };
            let check = story.seen.get(at + 1).map(|next| text(next, "line")).unwrap_or_default();
            let _ = writeln!(
                page,
                "| {} | {} | {after:.1} s | {} | {check} |",
                text(seen, "what"),
                story.kernel,
                text(seen, "text"),
            );
        }
    }
    page.push('\n');
}

fn faults(page: &mut String, stories: &[Story]) {
    let mut stories = stories.iter().filter(|story| story.scenario == "fault").peekable();
    if stories.peek().is_none() {
        return;
    }
    page.push_str(
        "## Faults of the counter\n\n\
         | fault | kernel | reads | steps back | largest step | largest error |\n\
         |---|---|--:|--:|--:|--:|\n",
    );
    for story in stories {
        for seen in &story.seen {
            let number = |name: &str| {
                let value = seen.get("reader").and_then(|report| report.get(name)?.as_u64());
                value.map_or("?".into(), |value| value.to_string())
            };
            let text = |name: &str| seen.get(name).and_then(Value::as_str).unwrap_or("?");
            let _ = writeln!(
                page,
                "| {} (`{}`) | {} | {} | {} | {} ns | {} ns |",
                text("what"),
                text("fault"),
                story.kernel,
                number("reads"),
                number("back_steps"),
                number("largest_back_step_ns"),
                number("largest_error_ns"),
            );
        }
    }
    page.push('\n');
}

fn problems(page: &mut String, stories: &[Story]) {
    let all: Vec<String> = stories
        .iter()
        .flat_map(|story| {
            let name = format!("{} on {}", story.scenario, story.kernel);
            story.problems.iter().map(move |problem| format!("- {name}: {problem}"))
        })
        .collect();
    page.push_str("## Unexpected results\n\n");
    let nothing = format!("None, in {} scenarios.", stories.len());
    page.push_str(&if all.is_empty() { nothing } else { all.join("\n") });
    page.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_page_has_a_row_for_each_story_and_says_what_went_wrong() {
        let mut pause = Story::new("pause", "6.1");
        let reader = |steps: u64| json!({ "reads": 9, "back_steps": steps, "largest_error_ns": 0 });
        pause.readers = vec![reader(2), reader(0)];
        pause.seen = vec![json!({ "what": "w", "verdict": "ok" })];
        let page = markdown(std::slice::from_ref(&pause));
        assert!(page.contains("| pause | 6.1 | 9 | 2 | 0 ns |  | ok |\n"), "{page}");
        assert!(page.contains("None, in 1 scenarios.") && !page.contains("Faults of"));
        pause.problems = vec!["a step".into()];
        let mut fault = Story::new("fault", "7.x");
        fault.seen = vec![json!({ "what": "rate", "fault": "rate=1", "reader": reader(1) })];
        let page = markdown(&[pause, fault]);
        assert!(page.contains("| rate (`rate=1`) | 7.x | 9 | 1 | ? ns | 0 ns |"), "{page}");
        assert!(page.contains("- pause on 6.1: a step"));
    }
}
