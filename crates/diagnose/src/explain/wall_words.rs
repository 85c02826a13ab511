//! The pages that concern a text in prose: about a wall clock, by the names of systems with such clocks; about reads of
//! the clock, by the names of parameters, calls and clocksources.

/// Bytes of a text that are examined.
const LIMIT: usize = 64 << 10;
/// Maximum number of pages that are named.
const MOST: usize = 4;

/// Words in small letters; a text about a wall clock has at least one of them. The names of programs are the same
/// in other languages.
const SUBJECT: [&str; 38] = [
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
    "\u{65f6}\u{949f}",
    "\u{c2dc}\u{acc4}",
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

/// The page of leap seconds.
const LEAP: &str = "leap second";

/// A text about a wall clock that has none of the names below has one of these words: other texts are about clock skew
/// in circuits.
const OF_TIME: [&str; 12] = [
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
];
/// The page of those.
const GENERAL: &str = "wall clock";

/// Names, in small letters, and the word of the page.
const PAGES: [(&str, &str); 44] = [
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
    ("vmx[", "vmware-toolbox-cmd timesync"),
    ("panic mode", "Clock offset exceeds panic threshold"),
    ("tinker panic", "Clock offset exceeds panic threshold"),
    ("suspend", STALE),
    ("hibernat", STALE),
    ("put to sleep", STALE),
    ("goes to sleep", STALE),
    ("wakes up", STALE),
    ("resumes from", STALE),
    ("after resume", STALE),
    ("resumed session", STALE),
    ("pausing", STALE),
    ("paused", STALE),
    ("checkpoint", STALE),
    ("snapshot", STALE),
    ("not yet valid", "certificate is not yet valid"),
    ("leap second", LEAP),
    ("dual boot", LOCAL_RTC),
    ("dual-boot", LOCAL_RTC),
    ("dualboot", LOCAL_RTC),
    ("realtimeisuniversal", LOCAL_RTC),
    ("set-local-rtc", LOCAL_RTC),
    ("/etc/adjtime", LOCAL_RTC),
    ("fake-hwclock", "fake-hwclock"),
    ("drifting clocks", HOSTS),
    ("clocks drift", HOSTS),
    ("independent_wallclock", "independent_wallclock"),
];

/// The beginning of a text in small letters.
fn small(text: &str) -> String {
    let end = (0..=text.len().min(LIMIT)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text[..end].to_lowercase()
}

/// Whether a text has a word without another letter (`is_letter`) before it, or after it unless the word is a
/// beginning.
fn has(text: &str, word: &str, is_beginning: bool, is_letter: fn(char) -> bool) -> bool {
    text.match_indices(word).any(|(at, _)| {
        !text[..at].chars().next_back().is_some_and(is_letter)
            && (is_beginning || !text[at + word.len()..].chars().next().is_some_and(is_letter))
    })
}

pub(super) fn of_text(text: &str) -> Vec<&'static str> {
    let small = small(text);
    // `ntp` is a part of other words.
    let is_word = |word: &str| has(&small, word, word.len() > 4, |c| c.is_ascii_alphabetic());
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
    // A daemon's log names leap seconds in passing.
    if found.iter().all(|page| *page == LEAP) && OF_TIME.into_iter().any(is_word) {
        found.push(GENERAL);
    }
    found.truncate(MOST);
    found
}

/// Names of kernel parameters, functions and files about reads of the clock, in small letters, and the word of the page.
const OF_READS: [(&str, &str); 17] = [
    ("notsc", "notsc"),
    ("tsc=reliable", "tsc=reliable"),
    ("tsc=unstable", "tsc=unstable"),
    ("tsc=nowatchdog", "tsc=nowatchdog"),
    ("clocksource=tsc", "clocksource=tsc"),
    ("clocksource=hpet", "clocksource=NAME"),
    ("clocksource=acpi_pm", "clocksource=NAME"),
    ("nohpet", "nohpet"),
    ("hpet=disable", "hpet=disable"),
    ("no-kvmclock", "no-kvmclock"),
    ("kvm-clock", "kvm-clock"),
    ("acpi_pm", "acpi_pm"),
    ("hpet", "hpet"),
    ("vdso", "vDSO"),
    ("gettimeofday", "gettimeofday"),
    ("clock_gettime", "clock_gettime"),
    ("clocksource", "clocksource"),
];

/// The pages that concern a text in prose about reads of the clock.
pub(super) fn of_reads(text: &str) -> Vec<&'static str> {
    let small = small(text);
    let is_word = |word: &str| has(&small, word, false, |c| c.is_ascii_alphanumeric() || c == '_');
    let mut found = Vec::new();
    for (name, page) in OF_READS {
        if is_word(name) && !found.contains(&page) {
            found.push(page);
        }
    }
    found.truncate(MOST);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_about_the_command_line_leads_to_its_parameters() {
        assert_eq!(
            of_reads("We boot our guests with `notsc divider=10`; they pick the next timer, hpet."),
            ["notsc", "hpet"]
        );
        assert_eq!(
            of_reads("the vDSO is active, and gettimeofday is slow"),
            ["vDSO", "gettimeofday"]
        );
        for other in ["does notscale", "read_hpet_count()", "what a vdsofoo is", ""] {
            assert_eq!(of_reads(other), [""; 0], "{other}");
        }
    }

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
        ] {
            assert!(of_text(text).contains(&page), "{text}");
        }
        assert_eq!(of_text("The clock in the VM should not drift by more than 0.1 s"), [GENERAL]);
        for other in [
            "Clock skew: 0.145 ns between the two registers",
            "user time 1.2 s, system time 0.3 s",
            "the file system was restored from a snapshot",
        ] {
            assert_eq!(of_text(other), [""; 0], "{other}");
        }
    }
}
