//! Names of clocks that a text excludes: `the seconds since the boot, not the wall clock`. They are not its subject.

/// Names of the wall clock and of other clocks of a machine.
const NAMES: [&str; 8] = [
    "wall clock",
    "wall-clock",
    "wallclock",
    "system clock",
    "clock_realtime",
    "hardware clock",
    "rtc",
    "date and time",
];
/// What excludes the name after it.
const MARKS: [&str; 8] = [
    "not the ",
    "not a ",
    "not about the ",
    "not about ",
    "rather than the ",
    "rather than ",
    "nothing to do with the ",
    "independent of the ",
];

/// A text in small letters without the names of clocks that it excludes.
pub(super) fn removed(small: String) -> String {
    MARKS.iter().fold(small, |text, mark| {
        if !text.contains(mark) {
            return text;
        }
        NAMES.iter().fold(text, |text, name| {
            let excluded = format!("{mark}{name}");
            if text.contains(&excluded) { text.replace(&excluded, mark) } else { text }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::{WALL_CLOCK, of_wall_clock};

    #[test]
    fn a_clock_that_is_excluded_is_no_subject() {
        let text = "The counter holds the seconds since the start of the VM, not the wall clock; the two hosts disagree about it";
        assert_eq!(of_wall_clock(text), [""; 0]);
        let text = "That is the uptime rather than the wall clock of the laptop";
        assert_eq!(of_wall_clock(text), [""; 0]);
        assert!(of_wall_clock("the wall clock of the laptop is not right").contains(&WALL_CLOCK));
    }
}
