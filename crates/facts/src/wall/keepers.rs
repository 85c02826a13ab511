//! What sets or steers the wall clock: time daemons, and what hypervisors put into guests.

use serde::Serialize;
use std::fmt;

/// What something does to the wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// It steers the clock as long as it runs.
    Steers,
    /// It sets the clock on occasions: after a boot, when a guest is resumed, when the host asks.
    Sets,
    /// Its settings, which were not seen, decide whether it steers.
    Open,
    /// It runs in a way in which it leaves the clock alone.
    Watches,
}

impl Role {
    /// As it is written: `steers`, `sets`, `open`, `watches`.
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

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Keeper {
    /// The program's name, or the driver's: `chronyd`, `hv_utils`.
    pub name: String,
    /// What it does.
    pub role: Role,
}

/// All that was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Keepers {
    /// What was seen, by name.
    pub seen: Vec<Keeper>,
    /// Every process of the machine was looked at: what is not here does not run. Otherwise it was just not seen.
    pub all: bool,
}

/// The time daemons and guest tools that are known: the name of the process (15 characters, as `/proc/PID/comm` has it),
/// the program, and what it does unless its command line says otherwise.
const KNOWN: [(&str, &str, Role); 11] = [
    ("chronyd", "chronyd", Role::Steers),
    // The reference implementation, NTPsec, OpenNTPD and BusyBox.
    ("ntpd", "ntpd", Role::Steers),
    ("ntpd-rs", "ntpd-rs", Role::Steers),
    ("ntp-daemon", "ntpd-rs", Role::Steers),
    ("systemd-timesyn", "systemd-timesyncd", Role::Steers),
    // It makes the system clock follow a PTP clock; ptp4l alone steers the network card's.
    ("phc2sys", "phc2sys", Role::Steers),
    ("ptp4l", "ptp4l", Role::Open),
    // Periodic synchronisation is off unless the virtual machine's settings have it; after a resume it sets the clock.
    ("vmtoolsd", "vmtoolsd", Role::Open),
    ("VBoxService", "VBoxService", Role::Steers),
    ("qemu-ga", "qemu-ga", Role::Sets),
    ("prltoolsd", "prltoolsd", Role::Open),
];

/// What a process of this name is, by its command line (the words of `/proc/PID/cmdline`, empty where that cannot be
/// read); `None`: nothing that keeps the time.
#[must_use]
pub fn by_name(comm: &str, arguments: &[&str]) -> Option<Keeper> {
    let (_, name, role) = KNOWN.iter().find(|(known, ..)| *known == comm)?;
    let has = |word: &str| arguments.contains(&word);
    // A word of short options together, as `-qx`.
    let option = |letter: char| {
        let short = |word: &&&str| word.starts_with('-') && !word.starts_with("--");
        arguments.iter().filter(short).any(|word| word.contains(letter))
    };
    let role = match *name {
        // chronyd(8): it does not control the system clock.
        "chronyd" if option('x') => Role::Watches,
        // phc2sys(8): it gives the samples to a time daemon instead.
        "phc2sys" if has("ntpshm") || has("nullf") => Role::Watches,
        "VBoxService" if has("--disable-timesync") => Role::Watches,
        _ => *role,
    };
    Some(Keeper { name: (*name).to_owned(), role })
}

/// Whether the process of this name can be a program of that file name. Any user can give a process another name, also one
/// of root's: by a link to a program that runs as root.
#[must_use]
pub fn is_program(comm: &str, file: &str) -> bool {
    // Programs that are many, or that run others.
    let many = ["busybox", "toybox", "python", "perl", "ld-linux", "ld-musl", "qemu-"];
    file.contains(comm) || many.iter().any(|program| file.starts_with(program))
}

impl Keepers {
    /// Adds one; of several of a name the most active one stays.
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
    /// It does not say how much was seen.
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

/// The driver by which Hyper-V sets the clock of a guest.
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
