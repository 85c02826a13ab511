//! The rules for what keeps a choice over boots.

use crate::finding::{Rule, Severity};

const SYSFS: &str =
    "Linux, kernel/time/clocksource.c, current_clocksource_store(), sysfs_get_uname(), 3.11 to 7.1";
const GRUB: &str = "GRUB manual, Simple configuration; util/grub-mkconfig.in, 2.06 and 2.12";

pub(super) const BARE_WORDS: Rule = Rule {
    id: "persist-grub-bare-words",
    severity: Severity::Error,
    summary: "kernel parameters as bare words in /etc/default/grub: they do nothing",
    why: "the file is a shell script that sets variables for grub-mkconfig; clocksource=tsc sets a variable of that name, which nobody reads. The words belong inside of GRUB_CMDLINE_LINUX=\"...\"",
    risk: "none in mending it",
    source: GRUB,
};
pub(super) const NOT_IDEMPOTENT: Rule = Rule {
    id: "persist-grub-not-idempotent",
    severity: Severity::Warn,
    summary: "run twice, it adds the parameters twice",
    why: "nothing asks whether they are already there; every run makes the line longer, and old values stay in it",
    risk: "a drop-in of its own (/etc/default/grub.d/NAME.cfg, or grubby --args) can be written again and again, and taken back by removing it",
    source: GRUB,
};
pub(super) const REPLACES: Rule = Rule {
    id: "persist-grub-replaces-line",
    severity: Severity::Warn,
    summary: "the whole line is replaced: what else stood on it is lost",
    why: "a distribution or an installer puts parameters there that the machine needs: a root device, a serial console, crashkernel",
    risk: "a drop-in of its own leaves the line alone",
    source: GRUB,
};
pub(super) const SYSFS_OK: Rule = Rule {
    id: "persist-sysfs-ok",
    severity: Severity::Info,
    summary: "the choice is written to current_clocksource at run time",
    why: "it fails softly: a name that is not available is ignored, with success as the result, so only reading it back tells whether it was taken",
    risk: "none: it cannot keep the machine from booting",
    source: SYSFS,
};
pub(super) const SYSFS_UNKNOWN: Rule = Rule {
    id: "persist-sysfs-unknown-name",
    severity: Severity::Error,
    summary: "no clocksource has this name: the write does nothing",
    why: "the kernel takes any name without an error and then chooses the best clocksource itself",
    risk: "none in mending it",
    source: SYSFS,
};
pub(super) const SYSFS_SLOW: Rule = Rule {
    id: "persist-sysfs-slow",
    severity: Severity::Warn,
    summary: "the choice is a clocksource that is slow on every machine",
    why: "it has no way to be read without a system call, and the device behind it is slow",
    risk: "it may have been chosen since the TSC was not trusted there: see why first",
    source: SYSFS,
};
pub(super) const SYSFS_SED: Rule = Rule {
    id: "persist-sysfs-sed",
    severity: Severity::Error,
    summary: "sed -i on a file of sysfs fails",
    why: "it writes a new file beside the old one and renames it; sysfs lets nobody create a file, root neither (\"Permission denied\")",
    risk: "none in mending it",
    source: "sed(1), -i; Linux, Documentation/filesystems/sysfs.rst",
};
pub(super) const SYSFS_RENAME: Rule = Rule {
    id: "persist-sysfs-atomic-write",
    severity: Severity::Error,
    summary: "a tool that writes a new file and renames it, on a file of sysfs: it fails",
    why: "cloud-init's write_files, Ansible's copy, template and lineinfile, and Ignition create a file beside it; sysfs lets nobody create one",
    risk: "none in mending it",
    source: "cloud-init, util.write_file; Ansible, atomic_move(); coreos/bugs#185",
};
pub(super) const UNBIND: Rule = Rule {
    id: "persist-unbind",
    severity: Severity::Warn,
    summary: "a clocksource is removed from the kernel until the next boot",
    why: "unbind_clocksource takes it from the list for good; if the one that is left turns out to be bad there is nothing to go back to",
    risk: "current_clocksource is what chooses one",
    source: "Linux, kernel/time/clocksource.c, unbind_clocksource_store()",
};

/// All of them; those about kernel parameters are [`crate::parameters::RULES`].
pub(super) const ALL: &[&Rule] = &[
    &BARE_WORDS,
    &NOT_IDEMPOTENT,
    &REPLACES,
    &SYSFS_OK,
    &SYSFS_UNKNOWN,
    &SYSFS_SLOW,
    &SYSFS_SED,
    &SYSFS_RENAME,
    &UNBIND,
];
