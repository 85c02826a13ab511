//! Commands below the last message about the clocksource: what the log shows is then the state before them. Kernels
//! print a switch, but if a text continues with commands, no later message is in it.

use super::{Current, explained};
use clocksmith_facts::log::{By, Entry, Event, KernelLog, Later};

/// The conclusion from a log, unless a command after its last message about the clocksource changed it and no reading
/// follows.
pub(super) fn unless_changed(log: &KernelLog, concluded: Current) -> Current {
    let Some(was) = concluded.name.as_deref() else { return concluded };
    let said = log.all(says).last().map_or(0, |entry| entry.line);
    match change_behind(log, said, was) {
        Some(change) => explained(&format!("it was {was} ({}); then {change}", concluded.source)),
        None => concluded,
    }
}

/// Whether a message of the kernel shows which clocksource is in use, or that it was given up.
fn says(event: &Event) -> bool {
    event.time_source().is_some()
        || matches!(
            event,
            Event::Switched(_)
                | Event::WatchdogCurrent(_)
                | Event::WatchdogMarked { .. }
                | Event::WatchdogOld { .. }
                | Event::TscUnstable(_)
                | Event::XenReadBackwards
        )
}

fn change_behind(log: &KernelLog, line: u64, was: &str) -> Option<String> {
    if let Some((wrote, wanted)) = log.written_behind(line).filter(|(_, wanted)| *wanted != was) {
        return Some(format!(
            "{wanted} was written to current_clocksource ({}) and not read back: a write that the kernel refuses also \
             succeeds",
            log.source(wrote)
        ));
    }
    let behind = |entry: &&Entry| entry.line > line;
    let unbound = |event: &Event| matches!(event, Event::Unbound(name) if name == was);
    if let Some(gone) = log.all(unbound).find(behind) {
        return Some(format!(
            "it was unregistered by unbind_clocksource ({}), the kernel chose another one, and no reading follows",
            log.source(gone)
        ));
    }
    if let Some(later) = log.doubted_behind(line, was) {
        return Some(continues(log, later));
    }
    let asks = |event: &Event| matches!(event, Event::SetForNextBoot(wanted) if wanted != was);
    let asked = log.all(asks).find(behind)?;
    let restarted = |event: &Event| matches!(event, Event::Restarted);
    let restart = log.all(restarted).find(|entry| entry.line > asked.line)?;
    Some(format!(
        "the parameters of the next boot were changed ({}) and the machine was restarted ({}), and no reading follows",
        log.source(asked),
        log.source(restart)
    ))
}

/// A read of the file, after which the text continues with a change and has no further read.
pub(super) fn read_then_continued(log: &KernelLog) -> Option<String> {
    let (read, was) = log.last(|event| match event {
        Event::ReadCurrent(was) => Some(was.clone()),
        _ => None,
    })?;
    let later = log.changed_behind(read.line, &was)?;
    Some(format!("it was {was} ({}); then {}", log.source(read), continues(log, later)))
}

/// How a text continues after its last record, and what to do.
fn continues(log: &KernelLog, later: &Later) -> String {
    let what = match (later.by, &later.below) {
        (By::Command, _) => "with a command that may have changed it".to_owned(),
        (By::Restart, _) => "with a restart with other parameters".to_owned(),
        (By::Sentence, _) => "with a sentence that says that it was changed".to_owned(),
        (By::Output, Some(below)) => {
            format!("with lines below `{below}` that may not be the kernel's")
        }
        (By::Output, None) => "with a line that a program or a user may have written".to_owned(),
    };
    format!(
        "this text continues {what} ({}:{}), and no reading follows: read current_clocksource again",
        log.name, later.line
    )
}
