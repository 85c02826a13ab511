//! Programs that set or steer the wall clock: time daemons, and hypervisors' tools in guests.

use serde::Serialize;
use std::fmt;

/// The effect of a program or driver on the wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// It steers the clock while it runs.
    Steers,
    /// It sets the clock on occasions: after a boot, when a guest is resumed, when the host requests it.
    Sets,
    /// Its settings, which were not read, decide whether it steers.
    Open,
    /// It runs in a mode in which it does not change the clock.
    Watches,
}

impl Role {
    /// The role as text: `steers`, `sets`, `open`, `watches`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Steers => "steers",
            Self::Sets => "sets",
            Self::Open => "open",
            Self::Watches => "watches",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        [Self::Steers, Self::Sets, Self::Open, Self::Watches]
            .into_iter()
            .find(|role| role.name() == name)
    }
}

/// A program or driver that sets or steers the wall clock.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Keeper {
    /// The program's name, or the driver's: `chronyd`, `hv_utils`.
    pub name: String,
    /// Its role.
    pub role: Role,
}

/// All programs and drivers that were seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Keepers {
    /// The programs and drivers, by name.
    pub seen: Vec<Keeper>,
    /// Whether every process of the machine was examined: a program that is not listed does not run. Otherwise it may
    /// run unseen.
    pub all: bool,
}

/// Known time daemons and guest tools: the name of the process (15 characters, as in `/proc/PID/comm`),
/// the program, and its role unless its command line changes it.
const KNOWN: [(&str, &str, Role); 11] = [
    ("chronyd", "chronyd", Role::Steers),
    // The reference implementation, NTPsec, OpenNTPD and BusyBox.
    ("ntpd", "ntpd", Role::Steers),
    ("ntpd-rs", "ntpd-rs", Role::Steers),
    ("ntp-daemon", "ntpd-rs", Role::Steers),
    ("systemd-timesyn", "systemd-timesyncd", Role::Steers),
    // It makes the system clock follow a PTP clock; ptp4l by itself steers the network card's.
    ("phc2sys", "phc2sys", Role::Steers),
    ("ptp4l", "ptp4l", Role::Open),
    // Periodic synchronisation is off unless the virtual machine's settings enable it; after a resume it sets the
    // clock.
    ("vmtoolsd", "vmtoolsd", Role::Open),
    ("VBoxService", "VBoxService", Role::Steers),
    ("qemu-ga", "qemu-ga", Role::Sets),
    ("prltoolsd", "prltoolsd", Role::Open),
];

/// The role of a process with this name, by its command line (the words of `/proc/PID/cmdline`, empty if that cannot be
/// read); `None`: it does not keep the time.
#[must_use]
pub fn by_name(comm: &str, arguments: &[&str]) -> Option<Keeper> {
    let (_, name, role) = KNOWN.iter().find(|(known, ..)| *known == comm)?;
    let has = |word: &str| arguments.contains(&word);
    // A word of combined short options, such as `-qx`.
    let option = |letter: char| {
        let short = |word: &&&str| word.starts_with('-') && !word.starts_with("--");
        arguments.iter().filter(short).any(|word| word.contains(letter))
    };
    let role = match *name {
        // chronyd(8): it does not control the system clock.
        "chronyd" if option('x') => Role::Watches,
        // phc2sys(8): it passes the samples to a time daemon.
        "phc2sys" if has("ntpshm") || has("nullf") => Role::Watches,
        "VBoxService" if has("--disable-timesync") => Role::Watches,
        _ => *role,
    };
    Some(Keeper { name: (*name).to_owned(), role })
}

/// Whether a process of this name can be a program of that file name. Any user can give a process another name, even
/// one that runs as root: by a link to a program that runs as root.
#[must_use]
pub fn is_program(comm: &str, file: &str) -> bool {
    // Programs that contain many others, or that run others.
    let many = ["busybox", "toybox", "python", "perl", "ld-linux", "ld-musl", "qemu-"];
    file.contains(comm) || many.iter().any(|program| file.starts_with(program))
}

impl Keepers {
    /// Adds a keeper; of several with one name the most active one stays.
    pub fn add(&mut self, keeper: Keeper) {
        match self.seen.iter_mut().find(|known| known.name == keeper.name) {
            Some(known) => known.role = known.role.min(keeper.role),
            None => self.seen.push(keeper),
        }
        self.seen.sort();
    }

    /// Parses the lines that [`Keepers`] displays.
    ///
    /// # Errors
    /// Returns an error if the text does not state whether all processes were seen.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let mut out = Self::default();
        let mut sees = None;
        for line in text.lines() {
            let Some((name, value)) = line.split_once(':') else { continue };
            match (name.trim(), value.trim()) {
                ("sees", value) => sees = Some(value == "all"),
                (name, value) => {
                    let known = KNOWN.iter().any(|(_, known, _)| *known == name);
                    if let (true, Some(role)) = (known || name == HV_UTILS, Role::parse(value)) {
                        out.add(Keeper { name: name.to_owned(), role });
                    }
                }
            }
        }
        out.all = sees.ok_or("it does not say whether all processes were seen")?;
        Ok(out)
    }
}

/// The driver with which Hyper-V sets the clock of a guest.
pub const HV_UTILS: &str = "hv_utils";

impl fmt::Display for Keepers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "sees: {}", if self.all { "all" } else { "some" })?;
        for keeper in &self.seen {
            writeln!(f, "{}: {}", keeper.name, keeper.role.name())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn role(comm: &str, arguments: &str) -> Option<Role> {
        let words: Vec<&str> = arguments.split_whitespace().collect();
        by_name(comm, &words).map(|keeper| keeper.role)
    }

    #[test]
    fn by_name_reads_what_a_command_line_changes() {
        assert_eq!(role("chronyd", "/usr/sbin/chronyd -F 1"), Some(Role::Steers));
        assert_eq!(role("chronyd", "/usr/sbin/chronyd -F 1 -x"), Some(Role::Watches));
        assert_eq!(role("phc2sys", "phc2sys -a -r"), Some(Role::Steers));
        assert_eq!(role("phc2sys", "phc2sys -s eth0 -E ntpshm -M 0"), Some(Role::Watches));
        assert_eq!(
            role("VBoxService", "/usr/sbin/VBoxService --disable-timesync"),
            Some(Role::Watches)
        );
        assert_eq!(role("systemd-timesyn", "").map(Role::name), Some("steers"));
        assert_eq!(role("vmtoolsd", "vmtoolsd"), Some(Role::Open));
        assert_eq!(role("bash", "chronyd"), None);
    }

    #[test]
    fn is_program_another_name_for_a_program_of_root_is_none() {
        assert!(is_program("systemd-timesyn", "systemd-timesyncd"));
        assert!(is_program("chronyd", ".chronyd-wrapped") && is_program("ntpd", "busybox"));
        assert!(!is_program("chronyd", "su") && !is_program("ntpd", "chronyd"));
    }

    #[test]
    fn add_of_two_instances_keeps_the_active_one() {
        let mut keepers = Keepers::default();
        for role in [Role::Watches, Role::Steers, Role::Watches] {
            keepers.add(Keeper { name: "chronyd".into(), role });
        }
        assert_eq!(keepers.seen, [Keeper { name: "chronyd".into(), role: Role::Steers }]);
    }

    #[test]
    fn parse_reads_back_what_is_displayed() {
        let mut keepers = Keepers { all: true, ..Keepers::default() };
        keepers.add(Keeper { name: "chronyd".into(), role: Role::Steers });
        keepers.add(Keeper { name: HV_UTILS.into(), role: Role::Sets });
        assert_eq!(Keepers::parse(&keepers.to_string()), Ok(keepers));
        assert!(Keepers::parse("chronyd: steers\n").is_err());
    }

    proptest! {
        #[test]
        fn any_text(text in "[a-z_:\n -]{0,160}") {
            let _ = Keepers::parse(&text);
        }
    }
}
