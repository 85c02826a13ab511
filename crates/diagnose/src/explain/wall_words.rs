//! The pages that concern a text in prose: about a wall clock, by the names of systems with such clocks; about reads of
//! the clock, by the names of parameters, calls and clocksources.

/// Bytes of a text that are examined.
const LIMIT: usize = 64 << 10;
/// Maximum number of pages that are named.
const MOST: usize = 4;

/// Words, in small letters, of which a text about a wall clock has at least one. Other languages write the names of programs
/// alike.
const SUBJECT: [&str; 60] = [
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

/// Words of which a text about a wall clock without any of the names below has one: others write of the skew of a circuit.
const OF_TIME: [&str; 18] = [
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
];
/// The page of those.
pub const GENERAL: &str = "wall clock";

/// The page of Xen guests with a clock of their own, and words of texts that name Xen as a source of the time.
const XEN: &str = "independent_wallclock";
const OF_SOURCES: [&str; 2] = ["clocksource", "vdso"];

/// Names, in small letters, and the word of the page.
const PAGES: [(&str, &str); 64] = [
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

/// The page of programs that saw the monotonic clock go back.
const BACK: &str = "monotonic clock went back";

/// Names of kernel parameters, functions and files about reads of the clock, in small letters, and the word of the page; those that
/// say most of a problem come first.
const OF_READS: [(&str, &str); 40] = [
    ("<timer name", TIMERS),
    ("hypervclock", TIMERS),
    ("instant is later than self", BACK),
    ("less than the current instant", BACK),
    ("time goes backwards", BACK),
    ("go back in time", BACK),
    ("backward jumps", BACK),
    ("after sleep", "suspend"),
    ("computer to sleep", "suspend"),
    ("pvclock_clocksource_read", "pvclock_clocksource_read"),
    ("read_hpet", "read_hpet"),
    ("acpi_pm_read", "acpi_pm_read"),
    ("notsc", "notsc"),
    ("tsc=reliable", "tsc=reliable"),
    ("tsc=unstable", "tsc=unstable"),
    ("tsc=nowatchdog", "tsc=nowatchdog"),
    ("xen", OF_XEN),
    ("clocksource=tsc", "clocksource=tsc"),
    ("clocksource=hpet", "clocksource=NAME"),
    ("clocksource=acpi_pm", "clocksource=NAME"),
    ("nohpet", "nohpet"),
    ("hpet=disable", "hpet=disable"),
    ("no-kvmclock", "no-kvmclock"),
    ("invariant tsc", "invariant TSC"),
    ("invtsc", "invariant TSC"),
    ("hyperv_clocksource_tsc_page", "hyperv_clocksource_tsc_page"),
    ("kvm-clock", "kvm-clock"),
    ("kvmclock", "kvm-clock"),
    ("acpi_pm", "acpi_pm"),
    ("hpet", "hpet"),
    ("vdso", "vDSO"),
    ("queryperformancecounter", "QueryPerformanceCounter"),
    ("gettimeofday", "gettimeofday"),
    ("clock_gettime", "clock_gettime"),
    ("time.now", "clock_gettime"),
    ("nanotime", "clock_gettime"),
    ("currenttimemillis", "clock_gettime"),
    ("clock_monotonic", "CLOCK_MONOTONIC"),
    ("clocksource", "clocksource"),
    ("clock source", "clocksource"),
];
/// The page of libvirt's timers: a domain names devices that it does not have.
const TIMERS: &str = "libvirt timers";
/// The page of the clocksource xen: a hypervisor of that name is in texts about other matters, too.
const OF_XEN: &str = "xen";
const WITH_XEN: [&str; 6] =
    ["clocksource", "clock source", "gettimeofday", "clock_gettime", "vdso", "tsc"];

/// The pages that concern a text in prose about reads of the clock.
pub(super) fn of_reads(text: &str) -> Vec<&'static str> {
    let small = small(text);
    let is_word = |word: &str| has(&small, word, false, |c| c.is_ascii_alphanumeric() || c == '_');
    let mut found = Vec::new();
    for (name, page) in OF_READS {
        let is_it = page != OF_XEN || WITH_XEN.into_iter().any(is_word);
        if is_it && is_word(name) && !found.contains(&page) {
            found.push(page);
        }
    }
    if found.contains(&TIMERS) {
        found = vec![TIMERS];
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
        assert_eq!(
            of_reads("the default clocksource here is Xen, slower than tsc"),
            ["xen", "clocksource"]
        );
        assert_eq!(of_reads("panicked at 'supplied instant is later than self'"), [BACK]);
        for other in [
            "does notscale",
            "read_hpet_count()",
            "what a vdsofoo is",
            "dom0 of Xen has a disk",
            "",
        ] {
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
        for other in [
            "Clock skew: 0.145 ns between the two registers",
            "user time 1.2 s, system time 0.3 s",
            "the file system was restored from a snapshot",
        ] {
            assert_eq!(of_text(other), [""; 0], "{other}");
        }
    }
}
