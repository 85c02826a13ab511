//! The log of a kernel that runs as a program (User Mode Linux) in a text that also shows the kernel of its host: both
//! have a clocksource of their own.

use super::{identity, prompt};
use crate::log::strip_prefix;

/// Lines after a banner that are searched for the command line of its kernel.
const COMMAND_LINE_WITHIN: usize = 12;

/// Why a text is of a host and of its guest, as the end of a sentence.
pub(super) fn beside_host(lines: &[String]) -> Option<String> {
    if !lines.iter().any(|line| super::has(line, "ubd")) {
        return None;
    }
    let (guest, built) = (0..lines.len()).find_map(|at| guest(lines, at).map(|of| (at, of)))?;
    let is_other = |line: &String| {
        let line = line.trim();
        let runs = prompt::own(line).is_some_and(|found| found.command.contains("ubd"));
        let named = identity::answer(line).map(|(release, _)| build(line, release));
        !runs && named.is_some_and(|named| named != built)
    };
    let host = lines.iter().position(is_other)?;
    Some(format!(
        "line {} is of a kernel that runs as a program (User Mode Linux) and line {} of another kernel, such as that of \
         its host: each has a clocksource of its own",
        guest + 1,
        host + 1
    ))
}

/// The build of the kernel whose banner a line is, if its command line names a disk of User Mode Linux.
fn guest(lines: &[String], at: usize) -> Option<(&str, &str)> {
    let rest = strip_prefix(&lines[at]).0.strip_prefix("Linux version ")?;
    let release = rest.split(' ').next()?;
    let is_disk = |word: &str| {
        let disk = word.strip_prefix("ubd");
        disk.and_then(|rest| rest.split_once('=')).is_some_and(|(unit, _)| unit.len() <= 3)
    };
    let of_command = |line: &String| {
        let (message, _) = strip_prefix(line);
        let words = message.split_once("ommand line: ").map(|(_, words)| words);
        words.is_some_and(|words| words.split(' ').any(is_disk))
    };
    let mut below = lines[at + 1..].iter().take(COMMAND_LINE_WITHIN);
    below.any(of_command).then(|| build(rest, release))
}

/// A release, and the number of its build.
fn build<'a>(line: &'a str, release: &'a str) -> (&'a str, &'a str) {
    let number = line.split(' ').find(|word| {
        word.strip_prefix('#').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    });
    (release, number.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUEST: &str = "Linux version 5.10.9 (me@web1) (gcc 12.2) #7 Mon Jan 4 10:00:00 UTC 2021\n\
                         Kernel command line: ubda=disk.img mem=256M root=98:0\n\
                         clocksource: Switched to clocksource timer\n";

    fn is_beside(text: &str) -> bool {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        beside_host(&lines).is_some()
    }

    #[test]
    fn kernel_that_runs_as_a_program_is_not_the_one_of_its_host() {
        for host in [
            "Linux web1 6.1.0-18-amd64 #1 SMP x86_64",
            "Linux web1 5.10.9 #3 SMP Tue Jan 5 10:00:00 UTC 2021 i686",
        ] {
            assert!(is_beside(&format!("{host}\n$ ./linux ubda=disk.img\n{GUEST}")), "{host}");
        }
    }

    #[test]
    fn text_with_the_guest_alone_or_the_host_alone_is_of_one_machine() {
        let own = "Linux guest 5.10.9 #7 Mon Jan 4 10:00:00 UTC 2021 x86_64 GNU/Linux\n";
        assert!(!is_beside(&format!("$ ./linux ubda=disk.img\n{GUEST}# uname -a\n{own}")));
        let host = GUEST.replace("ubda=disk.img ", "");
        assert!(!is_beside(&format!("{own}{host}# ls ubda\n")));
    }
}
