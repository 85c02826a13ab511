//! What the sentences of a text relate, by classes of words: a noun of a clock or of what it is used for, what was done to it, and
//! where. Each rule names the classes of which one sentence has a word, and the page that it leads to. Not in this module: whole
//! phrases ([`super::wall_pages`]).

use super::resets;
use super::wall_pages::{
    BOOT, BOOTTIME, CERTIFICATE, CONTAINER, DESKTOP, DOVECOT, MAKESTEP, PANIC, REALTIME, REQUEST,
    TOKEN, TWO,
};

/// Words of one meaning: whole ones, and beginnings.
struct Class {
    whole: &'static [&'static str],
    begins: &'static [&'static str],
}

/// What has the times of issue and of the end of its validity in it.
const TOKENS: Class = Class {
    whole: &[
        "jwt",
        "jwts",
        "iat",
        "nbf",
        "id_token",
        "token",
        "tokens",
        "assertion",
        "claim",
        "claims",
    ],
    begins: &[],
};
const FUTURE: Class = Class { whole: &["future"], begins: &[] };
const ISSUED: Class = Class {
    whole: &["issued", "iat", "nbf", "issue", "issuing", "signed", "created"],
    begins: &["timestamp"],
};

const DAEMONS: Class = Class { whole: &["ntpd", "ntp", "ntp.org"], begins: &[] };
const STOPS: Class = Class {
    whole: &[
        "gives",
        "gave",
        "give",
        "exits",
        "exited",
        "quits",
        "dies",
        "died",
        "refuses",
        "refused",
        "terminates",
        "aborts",
        "stops",
        "stopping",
    ],
    begins: &["panic"],
};
const SHIFTS: Class = Class {
    whole: &["shift", "shifts", "offset", "offsets", "difference", "gap", "jump", "skew", "change"],
    begins: &[],
};
const NEGATES: Class = Class {
    whole: &["not", "won't", "doesn't", "cannot", "can't", "never", "refuses", "isn't"],
    begins: &[],
};
const CORRECTS: Class = Class {
    whole: &["update", "updates", "correct", "corrects", "adjust", "adjusts", "set", "sets", "fix"],
    begins: &["sync"],
};
const OFFSETS: Class = Class {
    whole: &["skew", "offset", "offsets", "difference", "gap", "jump", "drift", "shift", "shifts"],
    begins: &[],
};
const LARGE: Class = Class {
    whole: &["big", "large", "great", "huge", "far", "high", "bigger", "larger", "exceeds"],
    begins: &["1000"],
};

/// What moves a clock in both directions.
const MOVES: Class = Class {
    whole: &[
        "jumps",
        "jump",
        "jumping",
        "jumped",
        "swings",
        "flips",
        "flipping",
        "oscillates",
        "alternates",
        "toggles",
        "switches",
    ],
    begins: &[],
};
const CLOCKS: Class = Class { whole: &["clock", "clocks", "date", "time"], begins: &[] };
const FORTH: Class = Class { whole: &["forth", "forward", "forwards"], begins: &[] };
const BACK: Class = Class { whole: &["back", "backward", "backwards"], begins: &[] };

/// Containers, which have the clock of the machine that they run in.
const CONTAINERS: Class = Class { whole: &["docker", "container", "containers"], begins: &[] };
/// Systems on which that machine is a guest.
const DESKTOPS: Class =
    Class { whole: &["windows", "mac", "macos", "macbook", "laptop", "desktop"], begins: &[] };
const SLEEPS: Class = Class {
    whole: &[
        "sleep",
        "sleeps",
        "slept",
        "sleeping",
        "asleep",
        "suspend",
        "suspended",
        "suspends",
        "wake",
        "wakes",
        "woke",
        "lid",
    ],
    begins: &["hibernat", "resum"],
};
const APART: Class = Class {
    whole: &[
        "wrong",
        "differ",
        "differs",
        "different",
        "difference",
        "off",
        "behind",
        "sync",
        "drift",
        "drifts",
        "skew",
        "stale",
        "old",
        "late",
    ],
    begins: &["incorrect", "unsync"],
};

/// Containers of Linux itself, and what is done about the time in them.
const LINUX_CONTAINERS: Class =
    Class { whole: &["lxc", "kata", "container", "containers", "pod", "pods"], begins: &[] };
const TIME_SERVICES: Class =
    Class { whole: &["ntp", "ntpd", "chrony", "chronyd", "timesyncd"], begins: &[] };
const INSIDE: Class =
    Class { whole: &["in", "inside", "within", "inner", "run", "runs"], begins: &[] };
const SERVICES: Class = Class {
    whole: &["service", "services", "daemon", "modify", "reset", "resets", "useless"],
    begins: &["sync"],
};

/// Requests that are signed with a time, and the servers that compare it.
const REQUESTS: Class = Class { whole: &["request"], begins: &[] };
const OF_SERVERS: Class = Class { whole: &["server"], begins: &[] };
const TIMES: Class = Class { whole: &["time"], begins: &[] };
const TOO: Class = Class { whole: &["too", "exceeds"], begins: &["skew"] };
const DIFFERENCES: Class = Class { whole: &["difference", "skewed", "differs"], begins: &[] };

const CERTIFICATES: Class =
    Class { whole: &["certificate", "certificates", "cert", "certs"], begins: &[] };
const VALIDITY: Class =
    Class { whole: &["validity", "valid", "notbefore", "starts", "begins"], begins: &[] };

/// What a program measures, by a clock that may be set, and what then happens.
const INTERVALS: Class = Class {
    whole: &[
        "duration",
        "durations",
        "elapsed",
        "interval",
        "intervals",
        "timeout",
        "timeouts",
        "timer",
        "timers",
        "timing",
        "timings",
        "stopwatch",
        "measure",
        "measuring",
        "measurement",
    ],
    begins: &[],
};
const WALL_CLOCKS: Class = Class {
    whole: &[
        "wall",
        "wallclock",
        "wall_clock",
        "system",
        "currenttimemillis",
        "system.currenttimemillis",
        "gettimeofday",
        "time.time",
        "date.now",
        "datetime.now",
        "clock_realtime",
    ],
    begins: &[],
};
const CHANGES: Class = Class {
    whole: &[
        "negative",
        "adjusts",
        "adjusted",
        "adjust",
        "adjustment",
        "adjustments",
        "jump",
        "jumps",
        "jumped",
        "backward",
        "backwards",
        "changed",
        "changes",
        "ntp",
        "stepped",
    ],
    begins: &[],
};

const CLOCKS_OR_CALLS: Class = Class {
    whole: &[
        "clock",
        "clocks",
        "time",
        "wallclock",
        "wall_clock",
        "currenttimemillis",
        "system.currenttimemillis",
        "gettimeofday",
        "time.time",
        "date.now",
        "datetime.now",
        "clock_realtime",
    ],
    begins: &[],
};

/// What a program does when its clock was set.
const PROGRAM_FAULTS: Class = Class {
    whole: &[
        "crash", "crashes", "crashed", "hang", "hangs", "assert", "asserts", "negative", "stuck",
        "dies",
    ],
    begins: &[],
};

const MOVED: Class = Class {
    whole: &["back", "backward", "backwards", "stepped", "jump", "jumps", "jumped", "rolled"],
    begins: &["adjust"],
};

/// Clocks that stop while the machine sleeps.
const MONOTONICS: Class = Class {
    whole: &[
        "performance.now",
        "clock_monotonic",
        "nanotime",
        "system.nanotime",
        "hrtime",
        "process.hrtime",
        "steady_clock",
        "monotonic",
    ],
    begins: &[],
};
const SUSPENDS: Class = Class {
    whole: &["suspend", "suspended", "suspends", "suspension", "asleep"],
    begins: &["hibernat"],
};

const AVOIDS: Class = Class {
    whole: &["disable", "disabled", "avoid", "prevent", "never", "forbid", "guaranteed"],
    begins: &[],
};
const STEPS: Class =
    Class { whole: &["jump", "jumps", "backward", "backwards", "stepback"], begins: &[] };
const SETTERS: Class =
    Class { whole: &["ntp", "ntpd", "chrony", "chronyd", "timesyncd"], begins: &[] };

/// A Linux container cannot drift against its host: a container that drifts runs in a guest.
const DRIFTS: Class = Class { whole: &["drift", "drifts", "drifting", "drifted"], begins: &[] };

/// Servers that say how far the clock moved.
const MAIL_SERVERS: Class = Class { whole: &["dovecot"], begins: &[] };
const BY_SECONDS: Class =
    Class { whole: &["second", "seconds", "ms", "moved", "moving", "adjusting"], begins: &[] };
const DIRECTIONS: Class =
    Class { whole: &["forward", "forwards", "backward", "backwards"], begins: &[] };

/// A page, and the classes of which a sentence has a word each.
struct Rule {
    page: &'static str,
    /// Whether it says more than the names of products beside it.
    leads: bool,
    all: &'static [&'static Class],
}

const RULES: [Rule; 15] = [
    Rule { page: DOVECOT, leads: true, all: &[&CLOCKS, &DIRECTIONS, &BY_SECONDS] },
    Rule { page: DESKTOP, leads: false, all: &[&CONTAINERS, &DESKTOPS, &SLEEPS, &CLOCKS, &APART] },
    Rule {
        page: REQUEST,
        leads: false,
        all: &[&REQUESTS, &OF_SERVERS, &TIMES, &DIFFERENCES, &TOO],
    },
    Rule { page: CERTIFICATE, leads: false, all: &[&CERTIFICATES, &VALIDITY, &FUTURE] },
    Rule {
        page: CONTAINER,
        leads: false,
        all: &[&LINUX_CONTAINERS, &TIME_SERVICES, &INSIDE, &SERVICES],
    },
    Rule {
        page: REALTIME,
        leads: true,
        all: &[&INTERVALS, &WALL_CLOCKS, &CLOCKS_OR_CALLS, &CHANGES],
    },
    Rule { page: REALTIME, leads: true, all: &[&INTERVALS, &SETTERS, &CLOCKS, &BACK] },
    Rule { page: REALTIME, leads: false, all: &[&PROGRAM_FAULTS, &SETTERS, &CLOCKS, &MOVED] },
    Rule { page: BOOTTIME, leads: false, all: &[&MONOTONICS, &SUSPENDS] },
    Rule { page: MAKESTEP, leads: true, all: &[&SETTERS, &AVOIDS, &STEPS] },
    Rule { page: DESKTOP, leads: false, all: &[&CONTAINERS, &CLOCKS, &DRIFTS] },
    Rule { page: TOKEN, leads: false, all: &[&TOKENS, &ISSUED, &FUTURE] },
    Rule { page: PANIC, leads: false, all: &[&DAEMONS, &STOPS, &OFFSETS, &LARGE] },
    Rule { page: PANIC, leads: true, all: &[&DAEMONS, &NEGATES, &CORRECTS, &SHIFTS, &LARGE] },
    Rule { page: TWO, leads: false, all: &[&CLOCKS, &MOVES, &FORTH, &BACK] },
];

impl Class {
    fn is(&self, word: &str) -> bool {
        self.whole.contains(&word) || self.begins.iter().any(|part| word.starts_with(part))
    }

    fn is_in(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }
}

/// The pages of what the sentences of a text in small letters relate, and whether they say more than the names of products.
pub(super) fn pages(small: &str) -> Vec<(&'static str, bool)> {
    let sentences: Vec<Vec<&str>> = sentences(small).map(words).collect();
    let tells = |rule: &&Rule| {
        sentences.iter().any(|words| {
            rule.all.iter().all(|class| class.is_in(words))
                && !is_plan(rule, words)
                && (rule.page != TWO || is_to_and_fro(words))
        })
    };
    let of_server = small.contains(MAIL_SERVERS.whole[0]);
    let mut found: Vec<(&'static str, bool)> = RULES
        .iter()
        .filter(tells)
        .filter(|rule| rule.page != DOVECOT || of_server)
        .map(|rule| (rule.page, rule.leads))
        .collect();
    if sentences.iter().any(|words| resets::tells(words)) {
        found.push((BOOT, true));
    }
    found
}

/// In both directions: `forward and then back`, `back and forth`. In each direction, at different times, a clock only has to be corrected.
fn is_to_and_fro(words: &[&str]) -> bool {
    words.windows(2).any(|pair| {
        ["then", "and"].contains(&pair[0]) && pair[1] == "back"
            || pair[0] == "back" && ["and", "then"].contains(&pair[1])
    })
}

/// `In the future the token will be signed`, `future versions of the token`: no time of a clock.
fn is_plan(rule: &Rule, words: &[&str]) -> bool {
    const THINGS: [&str; 12] = [
        "version",
        "versions",
        "release",
        "releases",
        "use",
        "work",
        "reference",
        "we",
        "i",
        "improvements",
        "changes",
        "will",
    ];
    [TOKEN, CERTIFICATE].contains(&rule.page)
        && words.iter().enumerate().filter(|(_, word)| **word == "future").all(|(at, _)| {
            at < 3 && words[0] == "in"
                || words.get(at + 1).is_some_and(|next| THINGS.contains(next))
        })
}

/// Lines that a mail has wrapped belong to one sentence; empty lines and items of lists end it.
pub(super) fn sentences(small: &str) -> impl Iterator<Item = &str> {
    small
        .split("\n\n")
        .flat_map(|block| block.split(['?', '!', ';', '|']))
        .flat_map(|part| part.split(". "))
        .flat_map(|part| part.split(".\n"))
        .flat_map(|part| part.split("\n- "))
}

fn words(text: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '\'' | '.');
    text.split(|c| !is_part(c))
        .map(|word| word.trim_matches('.'))
        .map(|word| word.strip_suffix("'s").unwrap_or(word))
        .filter(|word| !word.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_sentences_relate() {
        for (text, page) in [
            ("after my windows laptop slept the time in each container is different", DESKTOP),
            ("our jwt is refused: issued at future", TOKEN),
            ("the iat claim of the token is some seconds\nin the future", TOKEN),
            ("ntpd gives up if the offset is too big", PANIC),
            ("the clock jumps one hour forward and then back", TWO),
            ("ntp: disable the long jump", MAKESTEP),
            ("an ntp daemon that sets the clock backwards makes the delay negative", REALTIME),
            ("the container machine has massive time drift", DESKTOP),
            ("performance.now does not count a suspend", BOOTTIME),
            ("durations are negative since the system clock was adjusted", REALTIME),
            ("you cannot subtract system.currenttimemillis for a timeout: ntp moves it", REALTIME),
            ("why is there an ntp service in lxc containers?", CONTAINER),
            ("kata runs chrony in the vm to synchronise the container", CONTAINER),
            ("the difference between the request time and the server's time is too large", REQUEST),
            ("the certificate validity starts in the future", CERTIFICATE),
            ("warning about the clock moving forward by 0.1 seconds. i run dovecot", DOVECOT),
            ("rebooting would cause the pi to forget what the time was", BOOT),
            ("i change the date, but if i shutdown the host it comes back to dec 2020", BOOT),
        ] {
            assert!(pages(text).iter().any(|found| found.0 == page), "{text}: {:?}", pages(text));
        }
    }

    #[test]
    fn other_sentences() {
        for text in [
            "the container sleeps for a different time",
            "in the future the issued token will have another claim",
            "tokens are issued by future versions",
            "in the future, certificates will be valid for 47 days",
            "gaps if the clock jumps forward, and corrupt data if it jumps back",
            "ntpd runs. the offset is too big for us to see",
            "go back to the clock",
            "the interval between two polls of the system",
            "the container has a service without a clock",
            "the request takes too long on the server",
            "the clock moves forward by a second",
            "every time i reboot, it comes back to the login",
            "after a reboot the driver forgets its settings each time",
            "",
        ] {
            assert!(pages(text).is_empty(), "{text}: {:?}", pages(text));
        }
    }
}
