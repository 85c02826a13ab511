//! Whether `dmesg` and `journalctl` print the kernel's lines, as their options say.

use super::logs::{Prints, is_kernel_log};
use crate::paste::parts::Command;

/// What `dmesg` prints: a file that is not a log of the kernel may have any text.
pub(super) fn of_dmesg(command: &Command) -> Prints {
    let mut words = command.rest();
    while let Some(word) = words.next() {
        let file = match word {
            "-F" | "--file" | "-K" | "--kmsg-file" => words.next(),
            _ => word.strip_prefix("--file=").or_else(|| word.strip_prefix("--kmsg-file=")),
        };
        if file.is_some_and(|file| !is_kernel_log(file)) {
            return Prints::Others;
        }
    }
    if command.input.is_some() { Prints::Others } else { Prints::Log }
}

/// Whether `journalctl` prints the kernel's lines, or shows who wrote each: no filter names another writer, and the
/// format has the writer.
pub(super) fn is_of_the_kernel_alone(command: &Command) -> bool {
    let words: Vec<&str> = command.rest().collect();
    // `-ku app`, `-fu app`.
    let has_letter = |letter: char| {
        words.iter().any(|word| {
            word.starts_with('-') && !word.starts_with("--") && word[1..].contains(letter)
        })
    };
    let begins =
        |texts: &[&str]| words.iter().any(|word| texts.iter().any(|text| word.starts_with(text)));
    let of_kernel = || has_letter('k') || begins(&["--dmesg", "_TRANSPORT=kernel"]);
    // Fields of the journal are in capitals.
    let fields = || {
        words.iter().any(|word| {
            word.split_once('=').is_some_and(|(field, value)| {
                field.starts_with(|c: char| c == '_' || c.is_ascii_uppercase())
                    && (field, value) != ("_TRANSPORT", "kernel")
                    && field != "_BOOT_ID"
            })
        })
    };
    let names_another = begins(&["--unit", "--user", "--identifier", "--facility", "--machine"])
        || has_letter('u')
        || has_letter('t')
        || has_letter('M')
        || fields();
    let elsewhere = words.iter().zip(words.iter().skip(1).chain(&[""])).any(|(word, next)| {
        let place = match *word {
            "-D" | "--directory" | "--file" | "-i" => Some(*next),
            _ => word.strip_prefix("--directory=").or_else(|| word.strip_prefix("--file=")),
        };
        place.is_some_and(|place| {
            !["/var/log/", "/run/log/", "/mnt/", "/media/", "/sysroot/"]
                .iter()
                .any(|known| place.starts_with(known))
        })
    });
    let hides_writer =
        words.windows(2).any(|pair| matches!(pair[0], "-o" | "--output") && pair[1] == "cat")
            || begins(&["-ocat", "--output=cat"]);
    !names_another && !elsewhere && (of_kernel() || !hides_writer)
}
