//! A script that gets the QEMU to use as an argument: `./start.sh -b /usr/bin/qemu-system-x86_64 -c 2`. The other options are of
//! that script, and what it gives QEMU is known only there. The same is true of a command line that consists of variables
//! of another script: `qemu-system-x86_64 $ARGS`.

use super::command::is_program;
use crate::placed::{Placed, UNKNOWN};
use crate::words::{base, listed};
use std::ops::Range;

/// The beginning of the name of a program.
const FRONT: &str = "qemu-system-";

/// Returns where a command names a script that gets the name of QEMU as the value of an option.
pub(super) fn of_script(words: &[Placed]) -> Option<Range<usize>> {
    let named = |word: &Placed| is_program(word.as_str()) && !word.as_str().starts_with('-');
    let at = words.iter().position(named)?;
    let (option, before) = words.get(..at)?.split_last()?;
    let option = option.as_str();
    let takes = option.starts_with('-') && option.len() > 1 && !option.contains('=');
    let script = before.iter().find(|word| is_script(word.as_str()))?;
    // Behind two dashes the QEMU command line itself follows.
    (takes && option != "--").then(|| script.span())
}

/// Returns the program of a command line each option of which is in variables whose values are not known: another file
/// sets them.
pub(super) fn in_variables(words: &[Placed]) -> Option<Range<usize>> {
    const BEFORE: &str = "exec sudo env nice nohup command time then else do {";
    let at = words.iter().position(|word| !listed(BEFORE, word.as_str()))?;
    let program = words.get(at).filter(|word| is_program(word.as_str()) && !word.unknown())?;
    let options = words.get(at + 1..).unwrap_or_default();
    let nothing = |word: &Placed| {
        word.unknown() && word.as_str().chars().all(|c| c == UNKNOWN || c.is_whitespace())
    };
    // A part of its name may be from another place: `qemu-system-$ARCH`.
    let name = program.exact().unwrap_or_else(|| program.slice(0..FRONT.len()).span());
    (!options.is_empty() && options.iter().all(nothing)).then_some(name)
}

/// Whether a word names a script next to this one, or a script by its ending.
fn is_script(word: &str) -> bool {
    let beside = word.starts_with("./") || word.starts_with("../");
    let ending = base(word).rsplit_once('.').map_or("", |(_, ending)| ending);
    !is_program(word) && (beside || matches!(ending, "sh" | "bash" | "py" | "pl"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<&str> {
        of_script(&Placed::new(text, 0).words()).and_then(|at| text.get(at))
    }

    #[test]
    fn script_that_gets_the_name_of_qemu_writes_the_command_line() {
        let own = "./go.sh -b ../bin/qemu-system-x86_64 -r disk -m 256";
        assert_eq!(of(own), Some("./go.sh"));
        assert_eq!(of("xargs -L1 ../tools/go -b qemu-system-x86_64 -m 1"), Some("../tools/go"));
        assert_eq!(of("python3 run.py --qemu qemu-system-aarch64"), Some("run.py"));
    }

    #[test]
    fn wrapper_before_a_command_line_is_none() {
        for text in [
            "qemu-system-x86_64 -m 1G -cpu host",
            "sudo -u vm qemu-system-x86_64 -m 1G",
            "./wrapper.sh qemu-system-x86_64 -m 1G",
            "./wrapper.sh -- qemu-system-x86_64 -m 1G",
            "taskset -c 0 ./qemu-system-x86_64 -m 1G",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
