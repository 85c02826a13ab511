//! Which pages concern a text in prose about a wall clock: by the names of what such clocks belong to.

/// Bytes of a text that are looked at.
const LIMIT: usize = 64 << 10;
/// Pages that are named.
const MOST: usize = 4;

/// Words, in small letters, of which a text about a wall clock has at least one. Other languages write the names of programs
/// alike.
const SUBJECT: [&str; 23] = [
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
    "\"date\"",
    "not yet valid",
    "\u{65f6}\u{949f}",
    "\u{c2dc}\u{acc4}",
];

/// The page of guests that were restored, and words of which a text about their clocks has one.
const STALE: &str = "wall-clock-stale-after-restore";
const OF_GUESTS: [&str; 7] = [
    "guest clock",
    "guest's clock",
    "guest time",
    "wall clock",
    "wall-clock",
    "clock_realtime",
    "not yet valid",
];

/// Names, in small letters, and the word of the page.
const PAGES: [(&str, &str); 21] = [
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
    ("resumed session", STALE),
    ("checkpoint", STALE),
    ("snapshot", STALE),
    ("not yet valid", "certificate is not yet valid"),
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
        // Snapshots are of file systems, too.
        let is_it = page != STALE || OF_GUESTS.into_iter().any(is_word);
        if is_it && is_word(name) && !found.contains(&page) {
            found.push(page);
        }
    }
    found.truncate(MOST);
    found
}
