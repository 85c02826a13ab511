//! The pages that concern a text in prose about a wall clock, by the names of systems with such clocks and by what is
//! said about them. Not in this module: texts about reads of the clock ([`super::read_words`]).

use super::beside::{
    OF_CLUSTERS, OF_DESKTOPS, OF_DOCKER, OF_KEEPERS, OF_SAVED, names_own_skew, only_in_a_list,
};
use super::clock_faults;
use super::wall_pages::{
    BOOT, CERTIFICATE, CONTAINER, DESKTOP, EXPIRED, FAKED, HOSTS, LEAP, LOCAL_RTC, LOGS, MAKESTEP,
    OF_GUESTS, OF_TLS, PAGES, PANIC, RATE, REALTIME, SAVED, STALE, TOKEN, TWO, UNIT, XEN, ZONE,
};
use super::{
    camel, certificates, demoted, denied, drifts, listed, read_words, refused, relations,
    resolution, short_sleep, stale, stated_rate, timers, unit,
};

/// Bytes of a text that are examined.
const LIMIT: usize = 64 << 10;
/// Maximum number of pages that are named.
pub(super) const MOST: usize = 4;

/// Words, in small letters, of which a text about a wall clock has at least one. Other languages write the names of
/// programs in the same way.
const SUBJECT: &[&str] = &[
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
    "timeout skew",
    "timesyncd",
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
    "\u{65f6}\u{95f4}\u{6f02}\u{79fb}",
    "\u{6642}\u{8a08}",
    "\u{30af}\u{30ed}\u{30c3}\u{30af}\u{304c}",
    "rel\u{f3}gio",
    "hora errada",
    "hora incorrecta",
    "hora equivocada",
    "orologio",
    "ora sbagliata",
    "systeemklok",
    "falsche zeit",
    "zeit l\u{e4}uft",
    "cannot handle token prior to",
    "issued in the future",
    "issued at is in the future",
    "token is not valid yet",
    "krb_ap_err_skew",
    "notbefore",
    "faketime",
    "utc 1970",
    "rtc in local tz",
    "time synchronization",
    "time synchronisation",
    "time is in january",
    "became 1970",
    "is 1970",
    "in 1970",
    "in the future ",
    "phc2sys",
    "ptp4l",
    "ts2phc",
    "linuxptp",
    "real time clock",
    "real-time clock",
    "clock not updat",
    "time not updat",
    "clock is not updat",
    "time is not updat",
    "clock still s",
    "uuidgen",
    "timeuuid",
    "into the future",
    "clock jumps",
    "clock jumped",
    "time jumps",
    "time jumped",
    "clock offset='",
    "the year 1970",
    "the year 1980",
    "the year 2000",
    "power failure",
    "ntpd exits",
    "ntpd dies",
    "ntpd quits",
    "ntpd terminates",
    "ds3231",
    "ds1307",
    "pcf8523",
    "reach 0",
    "time in the guest",
    "time in the vm",
    "two clocks",
];

/// Words of the subject that are said of nothing else.
const UNAMBIGUOUS: [&str; 4] = ["wall clock", "wall-clock", "wallclock", "system clock"];

/// Words of which a text about a wall clock without any of the names below has one: others write of the skew of a circuit.
const OF_TIME: [&str; 41] = [
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
    "server",
    "servers",
    "laptop",
    "resume",
    "suspend",
    "container",
    "docker",
    "ssl",
    "tls",
    "linux",
    "windows",
    "virtual",
    "rechner",
    "maszyn",
    "m\u{e1}quina",
    "machine virtuelle",
    "computador",
    "computer",
];
/// The page of real-time clocks.
const RTC: &str = "RTC";

/// The page of those.
pub const GENERAL: &str = "wall clock";

/// Words of texts that name Xen as a source of the time.
const OF_SOURCES: [&str; 2] = ["clocksource", "vdso"];

/// The beginning of a text in small letters.
pub(super) fn small(text: &str) -> String {
    let end = (0..=text.len().min(LIMIT)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text[..end].to_lowercase()
}

/// Whether a text has a word, also inside of another.
pub(super) fn occurs(text: &str, word: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), word.as_bytes()).is_some()
}

/// Whether a text has a word without another letter (`is_letter`) before it, or after it unless the word is a
/// beginning.
pub(super) fn has(text: &str, word: &str, is_beginning: bool, is_letter: fn(char) -> bool) -> bool {
    occurs(text, word)
        && text.match_indices(word).any(|(at, _)| {
            !text[..at].chars().next_back().is_some_and(is_letter)
                && (is_beginning || !text[at + word.len()..].chars().next().is_some_and(is_letter))
        })
}

/// A text in small letters without what it only counts up, measures or excludes, and with the end of a certificate's validity that is
/// meant.
fn in_full(small: String) -> String {
    // The fields of `timedatectl` also occur in outputs about other matters.
    let small = small.replace("rtc in local tz: no", "").replace("rtc time:", "");
    let small = without_elapsed(small);
    let small = demoted::removed(&listed::removed(&small));
    certificates::one_end(&denied::removed(small))
}

/// Names of the time that passes, in a text which measures with it.
const ELAPSED: [&str; 5] =
    ["wall-clock time", "wall clock time", "wallclock time", "wall time", "against the wall clock"];
const MEASURES: [&str; 5] = ["measur", "profil", "elapsed", "benchmark", "overhead"];

/// A text in small letters without the names of elapsed time, if it is about reads of a clock and measures with them.
fn without_elapsed(small: String) -> String {
    let any = |words: &[&str]| words.iter().any(|word| small.contains(word));
    if !any(&ELAPSED) || !any(&MEASURES) || !any(&OF_READS) {
        return small;
    }
    ELAPSED.iter().fold(small, |text, name| text.replace(name, ""))
}

/// Systems that share a computer with Linux, and words of Linux and of starts in texts about both.
const OTHER: &str = "windows";
const OF_LINUX: [&str; 7] = ["linux", "ubuntu", "fedora", "debian", "arch", "chrome os", "steamos"];
const OF_STARTS: [&str; 4] = ["reboot", "restart", "boot", "booting"];

/// Words about the cost of reads and about the kernel's own code: such texts also mention clocks.
const OF_READS: [&str; 13] = [
    "clock_gettime",
    "gettimeofday",
    "vdso",
    "read_hpet",
    "nanotime",
    "strace",
    "rdtsc",
    "clockevent",
    "clock_event",
    "sched_clock",
    "sched clock",
    "time keeping core",
    "timekeeping core",
];

pub(super) fn of_text(text: &str) -> Vec<&'static str> {
    let whole = small(&camel::spelled(text));
    let excludes = denied::removed(whole.clone()) != whole;
    let small = in_full(whole);
    if refused::tells(&small) {
        return vec![refused::PAGE];
    }
    if resolution::tells(&small) {
        return Vec::new();
    }
    // A phrase may continue on the next line, and `ntp` may be a part of a longer word.
    let flat = small.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_word = |word: &str| has(&flat, word, word.len() > 4, |c| c.is_ascii_alphabetic());
    let any = |words: &[&str]| words.iter().any(|word| is_word(word));
    let is_unit = unit::tells(&small);
    let is_rated = short_sleep::found(&small).is_some() || stated_rate::of_small(&small).is_some();
    let related = relations::pages(&small);
    let of_timers = timers::tells(&small);
    let named = is_unit
        || is_rated
        || of_timers
        || !related.is_empty()
        || any(SUBJECT)
        || clock_faults::is_off(&flat, any(OF_GUESTS) || any(&OF_KEEPERS));
    if !named && (any(&OF_READS) || !clock_faults::tells(&small)) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let is_stale = stale::tells(&small);
    if is_unit {
        found.push(UNIT);
    }
    for (name, page) in PAGES {
        let is_it = match *page {
            // The hypervisor also occurs in texts about its clocksource.
            XEN => !any(&OF_SOURCES) || *name != "xen",
            // File systems have snapshots too.
            STALE => is_stale,
            CERTIFICATE => any(OF_TLS),
            // A date that was saved is a past one.
            // On Linux itself a container has the clock of its host.
            DESKTOP if OF_DOCKER.contains(name) => any(&OF_DESKTOPS),
            // A bare word of clusters does not report a fault.
            HOSTS if flat.contains(TIMEOUTS) => false,
            HOSTS if OF_CLUSTERS.contains(name) => {
                clock_faults::states(&small) && !names_own_skew(&small)
            }
            WSL => !only_in_a_list(&small, name),
            SAVED => *name == SAVED || !any(&AHEAD) && any(&OF_SAVED),
            BOOT => !is_unit,
            _ => true,
        };
        if is_it && is_word(name) && !found.contains(page) {
            found.push(*page);
        }
    }
    if any(&OF_DOCKER) && !any(&OF_DESKTOPS) && !related.iter().any(|(page, _)| *page == CONTAINER)
    {
        found.push(CONTAINER);
    }
    // A container has the clock of the guest of its desktop product.
    if found.contains(&DESKTOP) && !any(OF_GUESTS) {
        found.retain(|page| *page != STALE);
    }
    for (page, leads) in related {
        // A clock that runs at a wrong rate is set again and again.
        let is_doubtful = page == TWO && is_rated;
        if leads {
            found.retain(|other| *other != page);
            found.insert(0, page);
        } else if !is_doubtful && !found.contains(&page) {
            found.push(page);
        }
    }
    // A daemon that gave up at a large offset: whole hours are not a sign of a zone there.
    if found.first() == Some(&PANIC) {
        found.retain(|page| *page != ZONE);
    }
    // Without steps the error of the frequency is the daemon's own doing.
    if any(&["tinker step 0"]) && !is_rated {
        found.retain(|page| *page != RATE);
        found.retain(|page| *page != MAKESTEP);
        found.insert(0, MAKESTEP);
    }
    if any(&["not yet valid", "not valid yet"]) && !any(OF_TLS) && !found.contains(&TOKEN) {
        found.push(TOKEN);
    }
    let shared = is_word(OTHER) && any(&OF_LINUX) && any(&OF_STARTS);
    if shared && !found.contains(&LOCAL_RTC) && !found.contains(&"WSL") {
        found.push(LOCAL_RTC);
    }
    if is_rated && !found.contains(&RATE) {
        found.insert(0, RATE);
    }
    let rate = found.iter().position(|page| *page == RATE);
    let is_saved = found.iter().all(|page| *page == SAVED);
    if is_word("rtc") && (is_saved || rate.is_some()) {
        found.insert(rate.unwrap_or(0), RTC);
    }
    if found.iter().all(|page| *page == GENERAL) && drifts::tells(&small) {
        found.insert(0, RATE);
    }
    // A daemon's log names leap seconds in passing.
    let general = OF_TIME.into_iter().any(is_word)
        || any(&UNAMBIGUOUS) && !any(&OF_READS) && !any(&OF_SOURCES);
    // What is said of a clocksource is about reads.
    if found.iter().all(|page| *page == STALE) && read_words::judges_a_clocksource(text) {
        return Vec::new();
    }
    if of_timers {
        found.retain(|page| *page != timers::PAGE && *page != GENERAL);
        found.insert(0, timers::PAGE);
    }
    found.truncate(MOST);
    if general
        && !excludes
        && !is_unit
        && (found.iter().all(|page| *page == LEAP) || !found.iter().any(is_whole))
    {
        found.truncate(MOST - 1);
        found.push(GENERAL);
    }
    found
}

/// Pages of errors that only a wrong clock causes.
const OF_ERRORS: [&str; 5] =
    [CERTIFICATE, RATE, UNIT, "Clock skew too great", "RequestTimeTooSkewed"];

/// Whether a text says that a clock is wrong: in a sentence, by a rate, or by an error that nothing else causes.
pub(super) fn says_wrong(text: &str) -> bool {
    let small = in_full(small(&camel::spelled(text)));
    let pages = of_text(text);
    let flat = small.split_whitespace().collect::<Vec<_>>().join(" ");
    // Intervals are wrong there, and the clock may be right.
    if pages.first() == Some(&REALTIME) && !clock_faults::is_off(&flat, true) {
        return false;
    }
    // The clock may have been corrected before.
    if pages.first() == Some(&timers::PAGE) {
        return false;
    }
    // What such a text says of wrong times is an aside.
    if read_words::is_about_cost(&small) && !clock_faults::is_off(&flat, true) {
        return false;
    }
    let is_foreign = flat.chars().filter(|c| c.is_alphabetic() && !c.is_ascii()).count() > FOREIGN;
    clock_faults::states(&small)
        || clock_faults::states(&flat)
        || clock_faults::is_off(&flat, true)
        || refused::tells(&small)
        || is_foreign
        || STATED.iter().any(|words| flat.contains(words))
        || pages.iter().any(|page| OF_ERRORS.contains(page))
}

/// Errors by which a server or a library says that the time of a request is wrong.
const STATED: [&str; 5] = [
    "signature expired",
    "is in the future",
    "issued in the future",
    "cannot handle token prior to",
    "used before issued",
];

/// Letters from which on a text is of another language, whose words for faults are not known here.
const FOREIGN: usize = 10;

/// Words of a message about the time limits of requests: the clocks of its hosts may agree.
const TIMEOUTS: &str = "timeout skew";

/// The page of WSL.
const WSL: &str = "WSL";

/// Words of a text about a clock that shows a future time.
const AHEAD: [&str; 4] = ["ahead", "in the future", "too fast", "fast"];

/// Pages of problems that may be no clock's fault.
const OF_OTHERS: [&str; 5] = [EXPIRED, ZONE, LOGS, FAKED, timers::PAGE];

/// Whether a page says how to correct the clock, or that none is wrong.
fn is_whole(page: &&'static str) -> bool {
    if OF_OTHERS.contains(page) {
        return true;
    }
    let pages = super::explain(page);
    pages
        .iter()
        .filter(|one| one.title == **page)
        .any(|one| super::known::sets_a_clock(&one.do_what))
}

#[cfg(test)]
mod tests {
    use super::super::explain;
    use super::super::wall_pages::{BOOT, HOSTS};
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
        // A small board has no clock of its own; that one drifts while it runs is another matter.
        assert!(!of_text("Raspberry Pi 4, NTP: the system clock drifts by hours").contains(&SAVED));
        assert!(
            !of_text("two factors: the clock_gettime call, and the time drift").contains(&"TOTP")
        );
    }

    #[test]
    fn elapsed_time_is_no_wall_clock() {
        let text = "clock_gettime() has an overhead of 250 ns. Get() returns the wall-clock time in seconds.";
        assert_eq!(of_text(text), [""; 0]);
        assert!(of_text("the wall-clock time of the server is wrong").contains(&GENERAL));
    }

    #[test]
    fn a_time_limit_is_no_difference_between_hosts() {
        let text = "reader_concurrency_semaphore - Detected timeout skew of 294882ms, please check time skew between nodes";
        assert!(!of_text(text).contains(&HOSTS), "{:?}", of_text(text));
        assert!(of_text(text).contains(&"timeout skew"));
    }

    #[test]
    fn a_daemon_has_its_own_page() {
        assert_eq!(
            of_text("the servers in timesyncd.conf are not used by systemd-timesyncd"),
            ["systemd-timesyncd"]
        );
        assert_eq!(of_text("ptp4l: port 1: announce timeout"), ["ptp4l"]);
        assert_eq!(of_text("phc2sys: waiting"), ["phc2sys"]);
    }

    #[test]
    fn a_clock_that_drifts_has_a_page_without_figures() {
        for text in [
            "Wrong system time: the update has not stopped the drift",
            "the system time in the Linux guest runs too fast",
            "the date in the instance was drifting heavily, with NTP off",
        ] {
            assert_eq!(of_text(text).first(), Some(&RATE), "{text}: {:?}", of_text(text));
        }
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
    fn what_is_said_of_a_clock_is_enough() {
        assert_eq!(of_text("The clock on your computer is incorrect."), [GENERAL]);
        assert_eq!(of_text("# date\nThu Jan  1 00:00:20 UTC 1970\n"), [BOOT]);
        assert_eq!(of_text("In our office (UTC+2) the time is wrong on all phones"), [ZONE]);
        assert!(of_text("the clock at the second register is ahead by 0.2 ns").is_empty());
    }

    #[test]
    fn a_time_that_is_hours_off_is_a_clock() {
        for (text, page) in [
            (
                "Linux Mint and Windows: after a reboot Windows is 5 hours and 30 minutes off",
                LOCAL_RTC,
            ),
            ("my guest without VBoxService is some minutes late after lunch", "VirtualBox"),
            (
                "the box thinks it is the year 2000 and ntpd exits",
                "Clock offset exceeds panic threshold",
            ),
            ("after a power failure it goes on where it was; would a DS3231 help?", BOOT),
            ("chrony crawls: 400 seconds slow of NTP time", "makestep"),
            ("jobs in the container (no /etc/timezone) are two hours behind in summer", ZONE),
        ] {
            assert!(of_text(text).contains(&page), "{text}: {:?}", of_text(text));
        }
        for other in [
            "we are two hours behind schedule",
            "I have 30 minutes off work",
            "the train was 5 minutes late",
        ] {
            assert_eq!(of_text(other), [""; 0], "{other}");
        }
    }

    #[test]
    fn other_texts_are_not_about_a_wall_clock() {
        assert_eq!(of_text("OS: Ubuntu 22.04, in WSL\nThe time is wrong."), [""; 0]);
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
