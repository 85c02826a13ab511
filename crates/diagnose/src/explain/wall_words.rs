//! Which pages concern a text in prose about a wall clock: by the names of what such clocks belong to.

/// Bytes of a text that are looked at.
const LIMIT: usize = 64 << 10;
/// Pages that are named.
const MOST: usize = 4;

/// Words, in small letters, of which a text about a wall clock has at least one. Other languages write the names of programs
/// alike.
const SUBJECT: [&str; 27] = [
    "wall clock",
    "wall-clock",
    "wallclock",
    "clock drift",
    "clock skew",
    "time drift",
    "system time",
    "system clock",
    "guest clock",
    "guest time",
    "host clock",
    "hwclock",
    "clock is behind",
    "wrong time",
    "incorrect time",
    "time sync",
    "timesync",
    "clock_realtime",
    "chrony",
    "timedatectl",
    "ntp",
    "date.",
    "\"date\"",
    "`date",
    "not yet valid",
    "\u{65f6}\u{949f}",
    "\u{c2dc}\u{acc4}",
];

/// Names, in small letters, and the word of the page.
const PAGES: [(&str, &str); 22] = [
    ("wsl 2", "WSL"),
    ("wsl2", "WSL"),
    ("wsl --shutdown", "WSL"),
    ("docker desktop", "Docker Desktop"),
    ("dockerdesktop", "Docker Desktop"),
    ("docker for mac", "Docker Desktop"),
    ("docker for windows", "Docker Desktop"),
    ("docker run", "Docker Desktop"),
    ("firecracker", "Firecracker"),
    ("snapshot/load", "Firecracker"),
    ("podman machine", "podman machine"),
    ("podman vm", "podman machine"),
    ("vmware-toolbox-cmd", "vmware-toolbox-cmd timesync"),
    ("vmware tools", "vmware-toolbox-cmd timesync"),
    ("virtualbox", "VirtualBox"),
    ("hyper-v", "Hyper-V"),
    ("kubevirt", "KubeVirt"),
    ("resumed session", "wall-clock-stale-after-restore"),
    ("checkpoint", "wall-clock-stale-after-restore"),
    ("snapshot", "wall-clock-stale-after-restore"),
    ("not yet valid", "certificate is not yet valid"),
    ("leap second", "leap second"),
];

pub(super) fn of_text(text: &str) -> Vec<&'static str> {
    let end = (0..=text.len().min(LIMIT)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let small = text[..end].to_lowercase();
    // `ntp` is a part of other words.
    let is_word = |word: &str| {
        small.match_indices(word).any(|(at, _)| {
            let letter = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphabetic());
            !letter(small[..at].chars().next_back())
                && (word.len() > 4 || !letter(small[at + word.len()..].chars().next()))
        })
    };
    if !SUBJECT.into_iter().any(is_word) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (name, page) in PAGES {
        if is_word(name) && !found.contains(&page) {
            found.push(page);
        }
    }
    found.truncate(MOST);
    if found.is_empty() {
        found.push(super::WALL_CLOCK);
    }
    found
}
