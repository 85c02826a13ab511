//! What the manual pages say beyond the command line itself: exit codes, files, environment, and which
//! other pages help. One entry a verb; a test wants one for each.

/// Terms with their meaning.
type List = &'static [(&'static str, &'static str)];

/// What one page says.
pub(super) struct Words {
    pub(super) exit: List,
    pub(super) files: List,
    pub(super) environment: List,
    /// Other verbs, as their pages' names have them: `vm-lint`.
    pub(super) see: &'static [&'static str],
}

const EXIT: List = &[
    ("0", "Done."),
    ("1", "Done, and the answer is bad."),
    ("2", "Wrong usage, or input that cannot be used."),
    ("3", "Could not be determined."),
];
const EXIT_VERIFY: List = &[
    ("0", "Counter and clocks can be trusted."),
    ("1", "They cannot be trusted."),
    ("2", "Wrong usage."),
    ("3", "Could not be determined, for example because the machine was too busy."),
];
const EXIT_CHECK: List = &[
    ("0", "OK."),
    ("1", "WARNING; with --format npd a problem."),
    ("2", "CRITICAL."),
    ("3", "UNKNOWN, also wrong usage."),
];
const EXIT_FIX: List = &[
    ("0", "Done, or nothing to do."),
    ("1", "Refused; no longer in force (--status); or not verified, and everything was put back."),
    ("2", "Wrong usage."),
    ("3", "Could not be determined."),
];
const EXIT_RUN: List = &[
    ("2", "Wrong usage."),
    ("125", "Refused, or failed before the program was run."),
    ("126", "The program cannot be run."),
    ("127", "The program is not there."),
    ("others", "The program's own."),
];
const EXIT_WHO: List = &[
    ("0", "Done."),
    ("2", "Wrong usage, or no such process."),
    ("3", "Nothing could be seen."),
    ("others", "With a COMMAND the command's own."),
];
const EXIT_VM: List = &[
    ("0", "Nothing to warn of, or nothing left."),
    ("1", "Warnings or errors, or some are left."),
    ("2", "A file cannot be used; the others are reported all the same."),
];
const EXIT_FLEET: List = &[
    ("0", "Done."),
    ("2", "Wrong usage, or nothing that can be used."),
    ("3", "Nothing is known of any host."),
];
const EXIT_SIMPLE: List =
    &[("0", "Done."), ("2", "Wrong usage, or a file that cannot be written.")];

const VERIFY_JSON: (&str, &str) = (
    "/var/lib/clocksmith/verify.json, $XDG_STATE_HOME/clocksmith/verify.json",
    "The last result of verify: root's (in /run/clocksmith where /var cannot be written), and a user's.",
);
const SYSFS: (&str, &str) = (
    "/sys/devices/system/clocksource/clocksource0",
    "The kernel's clocksources: current_clocksource and available_clocksource.",
);
const JOURNAL: (&str, &str) = (
    "/var/lib/clocksmith/journal",
    "What fix has changed, with everything that is needed to take it back. Not to be deleted while a \
     change is in force.",
);
const UNIT: (&str, &str) = (
    "/etc/systemd/system/clocksmith-clocksource.service",
    "Written by fix: chooses the clocksource at each boot. It needs nothing but a shell, so it goes on \
     working where clocksmith is not installed any more.",
);
const HISTORY: (&str, &str) = (
    "/var/lib/clocksmith/watch",
    "The history of watch where systemd runs it; by hand, see --state-dir.",
);
const OPTIONS: (&str, &str) =
    ("/etc/default/clocksmith", "CLOCKSMITH_WATCH_OPTIONS=, the options of the systemd service.");
const SERVICE: (&str, &str) = (
    "clocksmith-watch.service",
    "The systemd service; `systemctl enable --now clocksmith-watch` starts it.",
);
const PRELOAD: (&str, &str) = (
    "../lib/clocksmith/libclocksmith_preload.so",
    "The library of --via preload, as seen from the program's directory (x86-64).",
);

const ENGINE: (&str, &str) = (
    "clocksmith-fleet",
    "The engine for SQL, a program of its own, beside clocksmith or in PATH; --lines does without.",
);

const NO_COLOR: (&str, &str) = ("NO_COLOR", "If it is set and not empty: no colour.");
const STATE_HOME: (&str, &str) =
    ("XDG_STATE_HOME", "Where a user's results are kept; ~/.local/state if it is not set.");

const fn words(exit: List, files: List, environment: List, see: &'static [&'static str]) -> Words {
    Words { exit, files, environment, see }
}

const ALL: &[(&str, Words)] = &[
    ("", words(EXIT, &[SYSFS, VERIFY_JSON, JOURNAL, UNIT, HISTORY], &[NO_COLOR, STATE_HOME], &[])),
    ("why", words(EXIT, &[SYSFS, VERIFY_JSON], &[NO_COLOR], &["explain", "fix", "collect"])),
    ("predict", words(EXIT, &[], &[NO_COLOR], &["why", "explain"])),
    ("explain", words(EXIT, &[], &[NO_COLOR], &["why", "vm-lint"])),
    ("verify", words(EXIT_VERIFY, &[VERIFY_JSON], &[NO_COLOR, STATE_HOME], &["why", "fix"])),
    ("check", words(EXIT_CHECK, &[VERIFY_JSON], &[], &["watch", "why"])),
    (
        "watch",
        words(
            EXIT,
            &[HISTORY, SERVICE, OPTIONS],
            &[("STATE_DIRECTORY", "Where the history is kept; systemd sets it.")],
            &["check"],
        ),
    ),
    ("collect", words(EXIT, &[], &[], &["why", "fleet"])),
    ("fleet", words(EXIT_FLEET, &[ENGINE], &[], &["collect", "why", "vm-migrate"])),
    ("bench", words(EXIT, &[SYSFS], &[NO_COLOR], &["who", "run"])),
    ("fix", words(EXIT_FIX, &[JOURNAL, UNIT, SYSFS], &[NO_COLOR], &["why", "verify"])),
    ("vm", words(EXIT_VM, &[], &[NO_COLOR], &["explain"])),
    ("vm lint", words(EXIT_VM, &[], &[NO_COLOR], &["explain"])),
    ("vm fix", words(EXIT_VM, &[], &[NO_COLOR], &["explain"])),
    ("vm migrate", words(EXIT, &[], &[NO_COLOR], &["why"])),
    (
        "run",
        words(
            EXIT_RUN,
            &[PRELOAD, VERIFY_JSON],
            &[("LD_PRELOAD", "With --via preload the library is put behind what is there.")],
            &["who", "verify"],
        ),
    ),
    ("who", words(EXIT_WHO, &[], &[NO_COLOR], &["run", "bench"])),
    ("completions", words(EXIT_SIMPLE, &[], &[], &["man"])),
    ("man", words(EXIT_SIMPLE, &[], &[], &["completions"])),
];

const NONE: Words = words(EXIT, &[], &[], &[]);

/// What the page of this verb says; of an unknown one only the general exit codes.
pub(super) fn of(verb: &str) -> &'static Words {
    ALL.iter().find(|(name, _)| *name == verb).map_or(&NONE, |(_, words)| words)
}

/// Whether there is an entry.
#[cfg(test)]
pub(super) fn known(verb: &str) -> bool {
    verbs().any(|name| name == verb)
}

/// The verbs that have an entry.
#[cfg(test)]
pub(super) fn verbs() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|(verb, _)| *verb)
}
