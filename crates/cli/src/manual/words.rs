//! The text of the manual pages besides the command line itself: exit codes, files, environment, and which other pages
//! help. One entry for each verb; a test requires one.

/// Terms with their meaning.
type List = &'static [(&'static str, &'static str)];

/// The text of one page.
pub(super) struct Words {
    pub(super) exit: List,
    pub(super) files: List,
    pub(super) environment: List,
    /// Other verbs, as their pages' names have them: `vm-lint`.
    pub(super) see: &'static [&'static str],
}

const EXIT: List = &[
    ("0", "Done."),
    ("1", "Done, and a problem was found."),
    ("2", "Wrong usage, or input that cannot be used."),
    ("3", "Could not be determined."),
];
const EXIT_VERIFY: List = &[
    ("0", "Counter and clocks can be trusted."),
    ("1", "Counter and clocks cannot be trusted."),
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
    ("1", "Refused; no longer in force (--status); or not verified, and everything was reverted."),
    ("2", "Wrong usage."),
    ("3", "Could not be determined."),
];
const EXIT_RUN: List = &[
    ("2", "Wrong usage."),
    ("125", "Refused, or failed before the program was run."),
    ("126", "The program cannot be run."),
    ("127", "The program was not found."),
    ("others", "The exit code of the program."),
];
const EXIT_WHO: List = &[
    ("0", "Done."),
    ("2", "Wrong usage, or no such process."),
    ("3", "Nothing could be measured."),
    ("others", "With COMMAND: the exit code of the command."),
];
const EXIT_VM: List = &[
    ("0", "No warnings or errors; with vm fix none are left."),
    ("1", "Warnings or errors; with vm fix some are left."),
    ("2", "A file cannot be used; the others are still reported."),
];
const EXIT_FLEET: List = &[
    ("0", "Done."),
    ("2", "Wrong usage, or no usable input."),
    ("3", "Nothing is known about any host."),
];
const EXIT_SIMPLE: List =
    &[("0", "Done."), ("2", "Wrong usage, or a file that cannot be written.")];

const VERIFY_JSON: (&str, &str) = (
    "/var/lib/clocksmith/verify.json, $XDG_STATE_HOME/clocksmith/verify.json",
    "The last result of verify by root (in /run/clocksmith if /var cannot be written) and by a \
     user.",
);
const SYSFS: (&str, &str) = (
    "/sys/devices/system/clocksource/clocksource0",
    "The kernel's clocksources: current_clocksource and available_clocksource.",
);
const JOURNAL: (&str, &str) = (
    "/var/lib/clocksmith/journal",
    "The changes by fix, with everything that is needed to revert them. Do not delete it while a \
     change is in force.",
);
const UNIT: (&str, &str) = (
    "/etc/systemd/system/clocksmith-clocksource.service",
    "Written by fix: chooses the clocksource at each boot. It needs only a shell, so it works after \
     clocksmith is removed.",
);
const HISTORY: (&str, &str) = (
    "/var/lib/clocksmith/watch",
    "The history of watch, if systemd runs it; otherwise see --state-dir.",
);
const OPTIONS: (&str, &str) =
    ("/etc/default/clocksmith", "CLOCKSMITH_WATCH_OPTIONS=, the options of the systemd service.");
const SERVICE: (&str, &str) = (
    "clocksmith-watch.service",
    "The systemd service; `systemctl enable --now clocksmith-watch` starts it.",
);
const PRELOAD: (&str, &str) = (
    "../lib/clocksmith/libclocksmith_preload.so",
    "The library of --via preload, relative to the program's directory (x86-64).",
);

const ENGINE: (&str, &str) = (
    "clocksmith-fleet",
    "The SQL engine, a separate program in the directory of clocksmith or in PATH; --lines does not need it.",
);

const NO_COLOR: (&str, &str) =
    ("NO_COLOR", "If it is set and not empty, the output has no colour.");
const STATE_HOME: (&str, &str) =
    ("XDG_STATE_HOME", "Where the results of a user are saved; ~/.local/state if it is not set.");

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
            &[(
                "LD_PRELOAD",
                "With --via preload the library is added after the existing entries.",
            )],
            &["who", "verify"],
        ),
    ),
    ("who", words(EXIT_WHO, &[], &[NO_COLOR], &["run", "bench"])),
    ("completions", words(EXIT_SIMPLE, &[], &[], &["man"])),
    ("man", words(EXIT_SIMPLE, &[], &[], &["completions"])),
];

const NONE: Words = words(EXIT, &[], &[], &[]);

/// Returns the text for the page of this verb; for an unknown verb only the general exit codes.
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
