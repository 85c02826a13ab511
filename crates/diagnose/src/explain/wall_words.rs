//! The pages that concern a text in prose about a wall clock, by the names of systems with such clocks and by what is said
//! of them. Not in this module: texts about reads of the clock ([`super::read_words`]).

/// Bytes of a text that are examined.
const LIMIT: usize = 64 << 10;
/// Maximum number of pages that are named.
pub(super) const MOST: usize = 4;

/// Words, in small letters, of which a text about a wall clock has at least one. Other languages write the names of programs
/// alike.
const SUBJECT: [&str; 117] = [
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
    "`date`",
    "clock is now out of sync",
    "clock is out of sync",
    "clock gets out of sync",
    "clock goes out of sync",
    "clock in the vm",
    "vm clock",
    "vm's clock",
    "wrong clock",
    "clock synchronized",
    "not yet valid",
    "leap second",
    "drifting clocks",
    "clocks drift",
    "/etc/adjtime",
    "fake-hwclock",
    "vm time",
    "time is not accurate",
    "time falls behind",
    "clock falls behind",
    "hours in the past",
    "days in the past",
    "hours behind",
    "minutes behind",
    "issue with the clock",
    "time skew",
    "not valid yet",
    "kvm_ptp",
    "date and time",
    "clock-drift",
    "time goes backwards",
    "time moved backwards",
    "systemzeit",
    "uhrzeit",
    "\u{447}\u{430}\u{441}\u{43e}\u{432}",
    "\u{432}\u{440}\u{435}\u{43c}\u{435}\u{43d}\u{438}",
    "\u{6642}\u{523b}",
    "\u{7cfb}\u{7edf}\u{65f6}\u{95f4}",
    "\u{65f6}\u{949f}",
    "\u{c2dc}\u{acc4}",
    "clocks are out of sync",
    "clocks were out of sync",
    "clocks out of sync",
    "clock drifts",
    "clock is drifting",
    "clock is still in sync",
    "clock is ahead",
    "clock is fast",
    "clock is slow",
    "clock runs fast",
    "clock runs slow",
    "clock runs too",
    "clock is running fast",
    "clock is running slow",
    "clock is running too",
    "clock to drift",
    "clocks differ",
    "time passes too",
    "time passes slow",
    "time passes fast",
    "time runs too fast",
    "time runs too slow",
    "system's time",
    "time was not synchronized",
    "time was not synchronised",
    "time difference between",
    "the correct time",
    "set the clock",
    "timedatectl",
    "ntpsynchronized",
    "ntp server",
    "ntpdate",
    "timex.freq",
    "totp",
    "one-time password",
    "authenticator app",
    "timestamp too new",
    "out of order entries",
    "has expired or is not yet valid",
    "certificate has expired",
    "not yet activated",
    "request time too skewed",
    "requesttimetooskewed",
    "vm clocks",
    "reset on reboot",
    "hora del servidor",
    "hora del sistema",
    "l'heure",
    "horloge",
    "reloj",
    "zegar",
    "ora di sistema",
    "systemuhr",
    "\u{432}\u{440}\u{435}\u{43c}\u{44f}",
    "\u{c2dc}\u{ac04} \u{b3d9}\u{ae30}",
    "\u{865a}\u{62df}\u{673a}\u{65f6}\u{949f}",
    "\u{65f6}\u{95f4}\u{4e0d}",
];

/// The page about restored guests, and words; a text about their clocks has one of them.
const STALE: &str = "wall-clock-stale-after-restore";
const OF_GUESTS: [&str; 13] = [
    "guest clock",
    "guest's clock",
    "guest time",
    "wall clock",
    "wall-clock",
    "clock_realtime",
    "not yet valid",
    "vm",
    "vms",
    "virtual machine",
    "virtual machines",
    "guest",
    "guests",
];

/// The page of real-time clocks that keep local time, as other systems want it.
const LOCAL_RTC: &str = "RTC in local time";

/// The page of hosts whose clocks differ.
const HOSTS: &str = "clock difference against peer";

/// The page of clocks that run at a wrong rate.
const RATE: &str = "clock runs too fast or too slow";

/// The page of machines that start with a wrong time.
const BOOT: &str = "wrong time after each boot";

/// The page of zones: a difference of one hour is theirs.
const ZONE: &str = "time zone";

/// The page of certificates that have ended.
const EXPIRED: &str = "certificate has expired";

/// The page of stores of logs.
const LOGS: &str = "timestamp too new";

/// The page of leap seconds.
const LEAP: &str = "leap second";

/// Words of which a text about a wall clock without any of the names below has one: others write of the skew of a circuit.
const OF_TIME: [&str; 23] = [
    "ntp",
    "ntpd",
    "ntpdate",
    "chrony",
    "chronyd",
    "timesyncd",
    "rtc",
    "hwclock",
    "timedatectl",
    "vm",
    "vms",
    "utc",
    "token",
    "certificate",
    "ptp_kvm",
    "virtuelle",
    "\u{432}\u{438}\u{440}\u{442}\u{443}\u{430}\u{43b}\u{44c}\u{43d}",
    "\u{865a}\u{62df}\u{673a}",
    "reboot",
    "bios",
    "cmos",
    "servidor",
    "serveur",
];
/// The page of those.
pub const GENERAL: &str = "wall clock";

/// The page of Xen guests with a clock of their own, and words of texts that name Xen as a source of the time.
const XEN: &str = "independent_wallclock";
const OF_SOURCES: [&str; 2] = ["clocksource", "vdso"];

/// Names, in small letters, and the word of the page.
const PAGES: [(&str, &str); 132] = [
    ("wsl2", "WSL"),
    ("wsl", "WSL"),
    ("docker desktop", "Docker Desktop"),
    ("dockerdesktop", "Docker Desktop"),
    ("docker for mac", "Docker Desktop"),
    ("docker for windows", "Docker Desktop"),
    ("docker run", "Docker Desktop"),
    ("colima", "Docker Desktop"),
    ("lima-vm", "Docker Desktop"),
    ("minikube", "Docker Desktop"),
    ("hyperkit", "Docker Desktop"),
    ("firecracker", "Firecracker"),
    ("snapshot/load", "Firecracker"),
    ("podman machine", "podman machine"),
    ("podman vm", "podman machine"),
    ("xen", XEN),
    ("vmware-toolbox-cmd", "vmware-toolbox-cmd timesync"),
    ("vmware tools", "vmware-toolbox-cmd timesync"),
    ("virtualbox", "VirtualBox"),
    ("hyper-v", "Hyper-V"),
    ("kubevirt", "KubeVirt"),
    ("vmx[", "vmware-toolbox-cmd timesync"),
    ("panic mode", "Clock offset exceeds panic threshold"),
    ("tinker panic", "Clock offset exceeds panic threshold"),
    ("suspend", STALE),
    ("hibernat", STALE),
    ("put to sleep", STALE),
    ("goes to sleep", STALE),
    ("host sleeps", STALE),
    ("laptop sleeps", STALE),
    ("mac sleeps", STALE),
    ("sleep mode", STALE),
    ("from sleep", STALE),
    ("after sleep", STALE),
    ("host sleep", STALE),
    ("host-sleep", STALE),
    ("macos sleep", STALE),
    ("sleep/wake", STALE),
    ("time sleeping", STALE),
    ("wakes up", STALE),
    ("resumes from", STALE),
    ("after resume", STALE),
    ("resumed session", STALE),
    ("pausing", STALE),
    ("paused", STALE),
    ("checkpoint", STALE),
    ("snapshot", STALE),
    ("ptp_kvm", "ptp_kvm"),
    ("kvm_ptp", "ptp_kvm"),
    ("not yet valid", "certificate is not yet valid"),
    ("certificate is not valid yet", "certificate is not yet valid"),
    ("token", "token used before issued"),
    ("leap second", LEAP),
    ("dual boot", LOCAL_RTC),
    ("dual-boot", LOCAL_RTC),
    ("dualboot", LOCAL_RTC),
    ("realtimeisuniversal", LOCAL_RTC),
    ("set-local-rtc", LOCAL_RTC),
    ("/etc/adjtime", LOCAL_RTC),
    ("fake-hwclock", "fake-hwclock"),
    ("raspberr", "fake-hwclock"),
    ("drifting clocks", HOSTS),
    ("clocks drift", HOSTS),
    ("independent_wallclock", XEN),
    ("timex.freq", RATE),
    ("32768000", RATE),
    ("500 ppm", RATE),
    ("drifting rate", RATE),
    ("clock runs fast", RATE),
    ("clock runs slow", RATE),
    ("clock runs too", RATE),
    ("clock is running fast", RATE),
    ("clock is running slow", RATE),
    ("clock is running too", RATE),
    ("time passes too", RATE),
    ("time passes slow", RATE),
    ("time passes fast", RATE),
    ("time runs too fast", RATE),
    ("time runs too slow", RATE),
    ("second every minute", RATE),
    ("seconds every minute", RATE),
    ("seconds per day", RATE),
    ("seconds per hour", RATE),
    ("seconds per minute", RATE),
    ("seconds a day", RATE),
    ("minutes per day", RATE),
    ("s/day", RATE),
    ("\u{65f6}\u{949f}\u{53d8}\u{5feb}", RATE),
    ("\u{65f6}\u{949f}\u{53d8}\u{6162}", RATE),
    ("\u{65f6}\u{95f4}\u{53d8}\u{6162}", RATE),
    ("\u{65f6}\u{95f4}\u{53d8}\u{5feb}", RATE),
    ("totp", "TOTP"),
    ("google authenticator", "TOTP"),
    ("authenticator app", "TOTP"),
    ("one-time password", "TOTP"),
    ("certificate has expired", EXPIRED),
    ("certificate is expired", EXPIRED),
    ("timestamp too new", LOGS),
    ("entry out of order", LOGS),
    ("ntpsynchronized", "maxerror"),
    ("still in sync", "maxerror"),
    ("on reboot", BOOT),
    ("upon reboot", BOOT),
    ("each reboot", BOOT),
    ("every reboot", BOOT),
    ("each boot", BOOT),
    ("every boot", BOOT),
    ("each time i boot", BOOT),
    ("power loss", BOOT),
    ("power outage", BOOT),
    ("stromausfall", BOOT),
    ("stromverlust", BOOT),
    ("cmos battery", BOOT),
    ("no rtc", BOOT),
    ("without rtc", BOOT),
    ("without an rtc", BOOT),
    ("no real time clock", BOOT),
    ("no real-time clock", BOOT),
    ("not yet activated", BOOT),
    ("one hour off", ZONE),
    ("one hour difference", ZONE),
    ("difference is one hour", ZONE),
    ("wrong timezone", ZONE),
    ("wrong time zone", ZONE),
    ("my timezone", ZONE),
    ("different timezone", ZONE),
    ("hour ahead", ZONE),
    ("hour behind", ZONE),
    ("live migrat", "migration"),
    ("vmotion", "migration"),
    ("time too skewed", "RequestTimeTooSkewed"),
    ("requesttimetooskewed", "RequestTimeTooSkewed"),
];

/// The beginning of a text in small letters.
pub(super) fn small(text: &str) -> String {
    let end = (0..=text.len().min(LIMIT)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text[..end].to_lowercase()
}

/// Whether a text has a word without another letter (`is_letter`) before it, or after it unless the word is a
/// beginning.
pub(super) fn has(text: &str, word: &str, is_beginning: bool, is_letter: fn(char) -> bool) -> bool {
    text.match_indices(word).any(|(at, _)| {
        !text[..at].chars().next_back().is_some_and(is_letter)
            && (is_beginning || !text[at + word.len()..].chars().next().is_some_and(is_letter))
    })
}

/// What Go says of a certificate by both ends of its validity: the text with the one that is meant.
fn in_full(small: String) -> String {
    const BOTH: &str = "certificate has expired or is not yet valid";
    match (small.contains(" is after "), small.contains(" is before ")) {
        (true, false) => small.replace(BOTH, "certificate has expired"),
        (false, true) => small.replace(BOTH, "certificate is not yet valid"),
        _ => small,
    }
}

pub(super) fn of_text(text: &str) -> Vec<&'static str> {
    let small = in_full(small(text));
    // `ntp` is a part of other words.
    let is_word = |word: &str| has(&small, word, word.len() > 4, |c| c.is_ascii_alphabetic());
    if !SUBJECT.into_iter().any(is_word) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (name, page) in PAGES {
        // File systems also have snapshots.
        let is_it = match name {
            "xen" => !OF_SOURCES.iter().any(|word| small.contains(word)),
            _ => page != STALE || OF_GUESTS.into_iter().any(is_word),
        };
        if is_it && is_word(name) && !found.contains(&page) {
            found.push(page);
        }
    }
    // A daemon's log names leap seconds in passing.
    if found.iter().all(|page| *page == LEAP) && OF_TIME.into_iter().any(is_word) {
        found.push(GENERAL);
    }
    found.truncate(MOST);
    found
}

#[cfg(test)]
mod tests {
    use super::super::explain;
    use super::*;

    #[test]
    fn prose_of_guests_that_slept_leads_to_the_stale_clock() {
        for text in [
            "If you have a running VM and you suspend/resume your host OS, the clock is now out of sync with the host OS.",
            "how do people handle clock drift in their vms when the host machine is put to sleep?",
        ] {
            assert!(of_text(text).contains(&STALE), "{text}");
        }
        assert_eq!(
            of_text("the output of `date` in WSL2 differs by the time of the sleep"),
            ["WSL"]
        );
        assert!(
            of_text("A paused guest: the guest clock stops advancing until it is resumed")
                .contains(&STALE)
        );
        for (text, page) in [
            ("the job ran twice; there was a leap second, and the machine uses NTP", LEAP),
            ("I'm dual booting: the system clock is one hour behind", LOCAL_RTC),
            ("the system time is that of fake-hwclock", "fake-hwclock"),
            ("time.Now() is wrong in a cluster with drifting clocks", HOSTS),
            ("I keep local time in /etc/adjtime", LOCAL_RTC),
            ("when the laptop goes to sleep, the VM time is out of sync", STALE),
            ("After my laptop sleeps, the clock in the WSL VM is hours behind", "WSL"),
            ("the date and time of the VM are those of its snapshot", STALE),
            ("Auf einem virtuellen Computer geht die Systemzeit vor", GENERAL),
            ("colima: clock drift of the VM", "Docker Desktop"),
            ("clock drift of the PV guests of Xen", "independent_wallclock"),
        ] {
            assert!(of_text(text).contains(&page), "{text}");
        }
        assert_eq!(of_text("The clock in the VM should not drift by more than 0.1 s"), [GENERAL]);
    }

    #[test]
    fn prose_about_a_known_problem_leads_to_its_page() {
        for (text, page) in [
            ("The system clock is in 2071 after each reboot", BOOT),
            ("The board has no RTC: the system time is that of the last power outage", BOOT),
            ("The codes of the TOTP app are refused", "TOTP"),
            ("ntpdate sets it, and it is wrong by 2 seconds every minute", RATE),
            ("In the guest time passes too slowly; VirtualBox 6", RATE),
            ("timex.freq is 32768000 there", RATE),
            ("\u{865a}\u{62df}\u{673a}\u{65f6}\u{949f}\u{53d8}\u{5feb}", RATE),
            ("hwclock is one hour ahead in the other system", ZONE),
            ("La hora del servidor: Request Time too skewed", "RequestTimeTooSkewed"),
            ("NTPSynchronized=yes, and the server is gone", "maxerror"),
            ("clock skew in the VM after live migration", "migration"),
            ("server returned 400: timestamp too new", LOGS),
        ] {
            assert!(of_text(text).contains(&page), "{text}: {:?}", of_text(text));
            assert!(!explain(page).is_empty(), "{page}");
        }
        let of_go = "x509: certificate has expired or is not yet valid: current time A";
        assert_eq!(of_text(&format!("{of_go} is after B")), [EXPIRED]);
        assert_eq!(of_text(&format!("{of_go} is before B")), ["certificate is not yet valid"]);
    }

    #[test]
    fn other_texts_are_not_about_a_wall_clock() {
        for other in [
            "Clock skew: 0.145 ns between the two registers",
            "user time 1.2 s, system time 0.3 s",
            "the file system was restored from a snapshot",
            "the program runs too slow: 30 seconds per request, system time 0.3 s",
            "it reads 500 records of one hour in 3 seconds per file",
        ] {
            assert_eq!(of_text(other), [""; 0], "{other}");
        }
    }
}
