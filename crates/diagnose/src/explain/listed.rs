//! Names of clocks that a text only counts up: `PIT, HPET, RTC`, and the features in a daemon's banner, `+RTC -DEBUG`.

/// Names of the real-time clock in small letters.
const NAMES: [&str; 3] = ["real time clock", "real-time clock", "rtc"];
/// Names of counters next to which it is one of a list.
const COUNTERS: [&str; 12] = [
    "hpet", "tsc", "pit", "acpi_pm", "acpi pm", "lapic", "apic", "i8254", "8254", "pmtimer",
    "jiffies", "pm timer",
];

/// A text in small letters without the names of real-time clocks that it only counts up.
pub(super) fn removed(small: &str) -> String {
    if !NAMES.iter().any(|name| small.contains(name)) {
        return small.to_owned();
    }
    let lines = small.split('\n').map(|line| {
        let sentences = line.split(". ").map(sentence).collect::<Vec<_>>();
        sentences.join(". ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn sentence(text: &str) -> String {
    let counters = COUNTERS.iter().filter(|name| {
        super::wall_words::has(text, name, false, |c| c.is_ascii_alphanumeric() || c == '_')
    });
    let is_list = counters.count() > 1;
    let mut left = text.to_owned();
    for name in NAMES {
        for sign in ["+", "-"] {
            left = format!("{left} ").replace(&format!(" {sign}{name} "), " ");
            left.truncate(left.trim_end().len());
        }
        if is_list {
            left = left.replace(name, "");
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::removed;

    #[test]
    fn lists_are_no_subject() {
        for text in [
            "there are the pit, the hpet, the acpi_pm and the real time clock (rtc)",
            "exits by device: pit 12, rtc 3, hpet 9",
            "chronyd 4.1 starting (+cmdmon +rtc +nts -debug)",
        ] {
            assert!(!removed(text).contains("rtc"), "{text}");
            assert!(!removed(text).contains("real time clock"), "{text}");
        }
        for text in ["the rtc is wrong. the hpet and the tsc are fine", "the rtc loses time"] {
            assert_eq!(removed(text), text);
        }
    }
}
