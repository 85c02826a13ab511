//! A kernel's choice, in one line: `tsc [hpet] acpi_pm` is the list of `available_clocksource` in
//! its order, with the current one in brackets, as the kernel itself writes choices elsewhere in
//! sysfs.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The current clocksource and the list of available ones.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Choice {
    /// `current_clocksource`
    pub current: String,
    /// `available_clocksource`, in its order
    pub available: Vec<String>,
}

/// A line that does not name exactly one current clocksource.
#[derive(Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "`{line}` marks {marked} clocksources as current; write the available list in the kernel's \
     order with the current one in brackets, like `tsc [hpet] acpi_pm`"
)]
pub struct NotOneCurrent {
    line: String,
    marked: usize,
}

impl std::str::FromStr for Choice {
    type Err = NotOneCurrent;

    fn from_str(line: &str) -> Result<Self, NotOneCurrent> {
        let mut marked = Vec::new();
        let mut available = Vec::new();
        for word in line.split_whitespace() {
            match word.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                Some(name) => {
                    marked.push(name.to_string());
                    available.push(name.to_string());
                }
                None => available.push(word.to_string()),
            }
        }
        match <[String; 1]>::try_from(marked) {
            Ok([current]) => Ok(Choice { current, available }),
            Err(marked) => Err(NotOneCurrent { line: line.into(), marked: marked.len() }),
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words: Vec<String> = Vec::new();
        for name in &self.available {
            words.push(if *name == self.current { format!("[{name}]") } else { name.clone() });
        }
        if !self.available.contains(&self.current) {
            words.push(format!("(current {} is not in the list)", self.current));
        }
        f.write_str(&words.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_the_same_line() {
        let choice: Choice = "tsc [hpet] acpi_pm".parse().unwrap();
        assert_eq!(choice.current, "hpet");
        assert_eq!(choice.available, ["tsc", "hpet", "acpi_pm"]);
        assert_eq!(choice.to_string(), "tsc [hpet] acpi_pm");
    }

    #[test]
    fn refuses_a_line_without_a_current_one_or_with_two() {
        assert!("tsc hpet".parse::<Choice>().is_err());
        assert!("[tsc] [hpet]".parse::<Choice>().is_err());
    }
}
