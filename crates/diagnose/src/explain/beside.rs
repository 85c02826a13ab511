//! What a text about a wall clock has to say beside the name of a product or a board, so that this leads to a page: a name alone is often
//! only in a list of versions, or in a command.

/// Words about starts and about what keeps the time without power: without one a clock of a small board is not wrong by its start.
pub(super) const OF_SAVED: [&str; 34] = [
    "reboot",
    "after boot",
    "at boot",
    "on boot",
    "each boot",
    "every boot",
    "during boot",
    "boot time",
    "boot process",
    "boots",
    "booting",
    "restart",
    "power cycle",
    "power loss",
    "power failure",
    "power outage",
    "power off",
    "power on",
    "powered",
    "unplug",
    "rtc",
    "hwclock",
    "real time clock",
    "real-time clock",
    "battery",
    "offline",
    "no internet",
    "without internet",
    "no network",
    "without network",
    "startup",
    "starts up",
    "turned off",
    "not yet valid",
];

/// Commands of Docker, and the systems on which it runs in a guest.
pub(super) const OF_DOCKER: [&str; 3] = ["docker run", "docker exec", "docker container"];

pub(super) const OF_DESKTOPS: [&str; 14] = [
    "mac",
    "macos",
    "macbook",
    "osx",
    "os x",
    "windows",
    "desktop",
    "docker-machine",
    "boot2docker",
    "laptop",
    "colima",
    "wsl2",
    "wsl",
    "sleep",
];

/// Words of what keeps the time of a machine.
pub(super) const OF_KEEPERS: [&str; 6] = ["ntp", "ntpd", "chrony", "timesyncd", "rtc", "hwclock"];

/// Words of clusters.
pub(super) const OF_CLUSTERS: [&str; 8] =
    ["nodes", "each node", "all nodes", "cluster nodes", "other nodes", "ceph", "raft", "etcd"];

/// Whether a word is only in lines that list a system's versions: `OS: Ubuntu 22.04 in WSL`.
pub(super) fn only_in_a_list(small: &str, word: &str) -> bool {
    const FIELDS: [&str; 10] = [
        "os:",
        "os version",
        "os name",
        "platform:",
        "environment:",
        "operating system:",
        "system:",
        "host os",
        "distro",
        "windows version",
    ];
    let mut lines = small.lines().filter(|line| line.contains(word)).peekable();
    lines.peek().is_some()
        && lines.all(|line| {
            let line = line.trim_start_matches(|c: char| !c.is_alphanumeric());
            FIELDS.iter().any(|field| line.starts_with(field))
        })
}

/// Whether a program says in a text in small letters that its own clock went wrong by some time: `detected clock skew (5 mins 57
/// secs)`. It names no second clock, whatever else the text names.
pub(super) fn names_own_skew(small: &str) -> bool {
    const SAID: [&str; 3] =
        ["detected clock skew (", "clock skew detected (", "detected time skew ("];
    let figure = |line: &str| {
        SAID.iter().any(|said| {
            let rest = line.split_once(said).map_or("", |(_, rest)| rest);
            rest.starts_with(|c: char| c.is_ascii_digit())
        })
    };
    small.lines().any(figure) && !small.contains(" between ")
}

#[cfg(test)]
mod tests {
    use super::super::of_wall_clock;
    use super::super::wall_pages::HOSTS;
    use super::only_in_a_list;

    #[test]
    fn a_skew_of_one_clock_is_not_between_hosts() {
        let own =
            "Clock skew on our nodes\n10:00:02 WARN Detected clock skew (2 mins 3 secs), adjusting";
        assert!(!of_wall_clock(own).contains(&HOSTS), "{:?}", of_wall_clock(own));
        let two = "Clock skew on our nodes: it is 3 seconds between two of them, the clock of one is wrong";
        assert!(of_wall_clock(two).contains(&HOSTS), "{:?}", of_wall_clock(two));
    }

    #[test]
    fn names_in_lists_of_versions() {
        assert!(only_in_a_list("- os: ubuntu 22.04, in wsl\nthe time is wrong", "wsl"));
        assert!(!only_in_a_list("os: wsl\nthe clock of wsl is wrong", "wsl"));
        assert!(!only_in_a_list("os: ubuntu", "wsl"));
    }
}
