//! A counter that is wrong, as a program in a guest sees it. `guest/fault.c` makes it so.

use std::str::FromStr;

/// The names of the faults, and the meaning of their numbers.
const NAMES: &[(&str, &str)] = &[
    ("offset-cpu1", "cycles by which processor 1 is ahead"),
    ("rate", "millionths by which the counter is too fast"),
    ("jump", "cycles by which it jumps"),
    ("after", "seconds until it jumps"),
];

/// One or several faults at a time.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Fault(Vec<(&'static str, String)>);

impl Fault {
    /// The beginning of the guest's command line; the program and its arguments follow.
    pub fn command(&self) -> String {
        let words: String =
            self.0.iter().map(|(name, value)| format!("--{name} {value} ")).collect();
        format!("/bin/probe fault {words}--")
    }
}

impl FromStr for Fault {
    type Err = String;

    /// Reads `NAME=NUMBER`, several with commas between them.
    fn from_str(text: &str) -> Result<Fault, String> {
        let one = |part: &str| {
            let (name, value) = part.split_once('=')?;
            let (name, _) = NAMES.iter().find(|(known, _)| *known == name)?;
            // The guest's program reads cycles as whole numbers, and would take 1e8 for 1.
            let good = if ["offset-cpu1", "jump"].contains(name) {
                value.parse::<i64>().is_ok()
            } else {
                value.parse::<f64>().is_ok_and(f64::is_finite)
            };
            good.then_some(())?;
            Some((*name, value.to_string()))
        };
        let list: Option<Vec<_>> = text.split(',').map(one).collect();
        list.map(Fault).ok_or_else(|| {
            let names: Vec<String> =
                NAMES.iter().map(|(name, what)| format!("{name}=N ({what})")).collect();
            format!("`{text}` is not a fault; there are {}, with commas between", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_become_words_of_the_guests_command() {
        let fault: Fault = "jump=-5,after=1.5".parse().unwrap();
        assert_eq!(fault.command(), "/bin/probe fault --jump -5 --after 1.5 --");
        assert_eq!(Fault::default().command(), "/bin/probe fault --");
        for wrong in [
            "",
            "rate",
            "rate=",
            "rate=x",
            "rate=1;reboot",
            "rat=1",
            "rate=1,",
            "jump=1e8",
            "jump=1.5",
            "rate=inf",
        ] {
            assert!(wrong.parse::<Fault>().is_err(), "{wrong}");
        }
    }
}
