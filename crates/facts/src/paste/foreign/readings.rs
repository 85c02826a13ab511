//! Commands at a prompt that read the files of sysfs. A file counts only by its absolute path, or by its name alone in the
//! directory of sysfs: a path that ends alike is a file that anyone wrote, and so is what a container shows at that path.

use super::logs;
use crate::paste::parts::{Command, pipelines};

/// Where sysfs has the files.
const PLACE: &str = "/sys/devices/system/clocksource";
/// Other beginnings of the path: of the bus, and where an agent in a container has the host's files.
const PLACES: [&str; 5] = [
    PLACE,
    "/sys/bus/clocksource",
    "/host/sys/devices",
    "/rootfs/sys/devices",
    "/hostfs/sys/devices",
];
/// Programs that run a command with files that a user chose.
const ELSEWHERE: [&str; 10] = [
    "docker",
    "podman",
    "nerdctl",
    "crictl",
    "chroot",
    "nsenter",
    "unshare",
    "proot",
    "bwrap",
    "machinectl",
];

/// What a command reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reads {
    /// No such file.
    Nothing,
    /// The file of sysfs.
    Sysfs,
    /// A file that is only called so.
    Another,
}

/// What the command behind a prompt reads. The prompt may show the directory.
pub(super) fn at(line: &str, command: &str, is_inside: &mut bool) -> Reads {
    let front = line.strip_suffix(command).unwrap_or_default();
    let mut is_shown = front.contains("clocksource0") || front.contains("/clocksource");
    let is_inside = if is_shown { &mut is_shown } else { is_inside };
    of(command, is_inside)
}

/// What a command line reads. `is_inside`: the shell is in the directory of sysfs; set for the next line.
pub(super) fn of(line: &str, is_inside: &mut bool) -> Reads {
    let names_one = line.contains("_clocksource") || line.contains("/clocksource0");
    if !names_one && !line.contains("cd ") {
        return Reads::Nothing;
    }
    let (mut is_read, mut is_of_sysfs) = (false, false);
    for command in pipelines(line).iter().flatten() {
        let bare = logs::bare(command);
        let program = bare.program();
        if program == "cd" || program == "pushd" {
            *is_inside = bare.rest().any(|word| word.starts_with(PLACE));
            continue;
        }
        is_read |= true;
        let prints = ["echo", "printf", ":", "man"].contains(&program) && !bare.is_written;
        if prints || is_elsewhere(command, program) {
            continue;
        }
        let files = command.words.iter().chain(&command.input);
        is_of_sysfs |= bare.is_written && program == "echo"
            || files.flat_map(|word| word.split([' ', '\'', '"', '=', '('])).any(|word| {
                PLACES.iter().any(|place| word.starts_with(place))
                    || word.starts_with("/sys") && is_beginning(word)
                    || word.starts_with('$')
                    || *is_inside && !word.contains('/') && word.contains("clocksource")
                    || *is_inside && word.starts_with("./")
            });
    }
    match (names_one && is_read, is_of_sysfs) {
        (false, _) => Reads::Nothing,
        (true, true) => Reads::Sysfs,
        (true, false) => Reads::Another,
    }
}

/// `/sys`, `/sys/devices`, `/sys/d*/system`: the beginning of the path, for `find` and patterns.
fn is_beginning(path: &str) -> bool {
    path.contains(['*', '?', '{']) || PLACE.starts_with(path.trim_end_matches('/'))
}

/// Whether a command runs with the files of a container, of a directory or of another user.
fn is_elsewhere(command: &Command, program: &str) -> bool {
    let of_user = || {
        let mut words = command.words.iter().map(String::as_str);
        words.next() == Some("sudo")
            && words.clone().zip(words.skip(1)).any(|(option, user)| {
                option.starts_with('-') && option.ends_with('u') && user != "root"
            })
    };
    ELSEWHERE.contains(&program) || of_user()
}

/// The words of a line that name such a file.
pub(super) fn named(line: &str) -> impl Iterator<Item = std::ops::Range<usize>> {
    line.match_indices("_clocksource").map(|(at, name)| {
        let is_part = |c: char| !c.is_whitespace() && !"'\"`();|".contains(c);
        let begin = line[..at].trim_end_matches(is_part).len();
        begin..at + name.len()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_counts_by_its_absolute_path_or_in_its_directory() {
        let file = format!("{PLACE}/clocksource0/current_clocksource");
        for command in [
            format!("cat {file}"),
            format!("sudo cat {file}"),
            format!("sh -c 'cat {file}'"),
            format!("ssh db2 'cat {file}'"),
            format!("cat < {file}"),
            format!("echo hpet > {file}"),
            format!("head -v {file} /tmp{file}"),
            format!("cd {PLACE}/clocksource0 && cat current_clocksource"),
            "find /sys -name 'current_clocksource' -exec cat {} +".to_owned(),
            "cat /sys/devices/system/clocksource/*/current_clocksource".to_owned(),
            "cat /sys/d*/s*/clocksource/clocksource0/current_clocksource".to_owned(),
            "cat $C/current_clocksource".to_owned(),
            format!("grep . /host{file}"),
        ] {
            assert_eq!(of(&command, &mut false), Reads::Sysfs, "{command}");
        }
        for command in [
            format!("cat /tmp{file}"),
            format!("cat ~bob{file}"),
            format!("cat /proc/4242/root{file}"),
            "cat ./current_clocksource".to_owned(),
            "cd /tmp; cat current_clocksource".to_owned(),
            format!("docker exec app cat {file}"),
            format!("chroot /srv/bob cat {file}"),
            format!("sudo -iu bob cat {file}"),
            format!("cat /tmp/x; echo cat {file}"),
            "find / -name current_clocksource -exec cat {} +".to_owned(),
        ] {
            assert_eq!(of(&command, &mut false), Reads::Another, "{command}");
        }
        assert_eq!(of(&format!("cat /tmp/x # cat {file}"), &mut false), Reads::Another);
        let mut is_inside = false;
        assert_eq!(of(&format!("cd {PLACE}/clocksource0/"), &mut is_inside), Reads::Nothing);
        assert_eq!(of("cat current_clocksource", &mut is_inside), Reads::Sysfs);
        assert_eq!(of("cd /tmp", &mut is_inside), Reads::Nothing);
        assert_eq!(of("cat current_clocksource", &mut is_inside), Reads::Another);
    }

    #[test]
    fn words_that_name_a_file_are_found_with_their_paths() {
        let line = "$ diff /a/current_clocksource '/b/available_clocksource'";
        let words: Vec<&str> = named(line).map(|range| &line[range]).collect();
        assert_eq!(words, ["/a/current_clocksource", "/b/available_clocksource"]);
    }
}
