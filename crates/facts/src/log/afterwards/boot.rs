//! Commands that change the parameters of the next boot, and those that restart the machine.

use super::command::{Line, tool};
use super::{By, wanted};

/// Parameters that decide which clocksource a kernel chooses.
const PARAMETERS: [&str; 12] = [
    "clocksource=",
    "tsc=",
    "notsc",
    "hpet=",
    "nohpet",
    "no-kvmclock",
    "nopv",
    "acpi=off",
    "pmtmr=",
    "acpi_pm_good",
    "processor.max_cstate=",
    "clocksource_failover",
];

/// Files and tools that have the parameters of the next boot.
const OF_BOOT: [&str; 24] = [
    "/etc/default/grub",
    "grub.cfg",
    "grub.conf",
    "menu.lst",
    "update-grub",
    "grub-mkconfig",
    "grub2-mkconfig",
    "grubby ",
    "grub-reboot",
    "cmdline.txt",
    "loader/entries",
    "loader.conf",
    "extlinux.conf",
    "syslinux.cfg",
    "lilo.conf",
    "zipl.conf",
    "/etc/kernel/cmdline",
    "kernelstub ",
    "kargs",
    "fw_setenv",
    "update-bootloader",
    "efibootmgr",
    "virsh edit",
    "virt-xml",
];

/// Words of commands that show such a file, or a parameter, and change nothing.
const SHOWS: [&str; 12] = [
    "cat",
    "grep",
    "egrep",
    "head",
    "tail",
    "less",
    "more",
    "ls",
    "dmesg",
    "diff",
    "journalctl",
    "awk",
];

/// The changes for the next boot so far.
#[derive(Debug, Default)]
pub(super) struct Edits {
    /// Whether there are any, and the clocksource that the last one names.
    pending: Option<Option<String>>,
}

impl Edits {
    /// Takes the next line; returns the change if the line restarts the machine after one.
    pub(super) fn take(&mut self, line: &Line<'_>) -> Option<(By, Option<String>)> {
        for part in line.parts() {
            let small = part.to_ascii_lowercase();
            if let Some(own) = restarts(&small) {
                // A kernel that kexec starts has the parameters with which it was loaded.
                let pending = self.pending.take().or(own.then_some(None));
                if let Some(wanted) = pending {
                    return Some((By::Restart, wanted));
                }
            } else if edits(&small) {
                let name = small.contains("clocksource=").then(|| wanted(part)).flatten();
                let removes = small.contains("remove-args") || small.contains("--delete");
                let known = self.pending.take().flatten();
                self.pending = Some(if removes { None } else { name.or(known) });
            }
        }
        None
    }
}

/// Whether a command restarts the machine, and whether into a kernel that kexec loaded.
fn restarts(small: &str) -> Option<bool> {
    let words: Vec<&str> = small
        .split_ascii_whitespace()
        .filter(|word| {
            !matches!(*word, "sudo" | "doas" | "systemctl" | "virsh" | "-i" | "-f" | "--force")
        })
        .collect();
    let first = words.first().map_or("", |word| word.rsplit('/').next().unwrap_or(word));
    let rest = || words.get(1).copied().unwrap_or_default();
    match first {
        "reboot" => (words.len() <= 2).then_some(false),
        "shutdown" => rest().starts_with("-r").then_some(false),
        "init" | "telinit" => (rest() == "6").then_some(false),
        "kexec" => (words.len() == 1 && small.contains("systemctl")
            || words.iter().any(|word| matches!(*word, "-e" | "--exec")))
        .then_some(true),
        "start" | "reset" if small.starts_with("virsh") || small.contains(" virsh ") => Some(false),
        _ => None,
    }
}

/// Whether a command changes the parameters of the next boot.
fn edits(small: &str) -> bool {
    if SHOWS.contains(&tool(small)) || small.contains("grubby --info") {
        return false;
    }
    // A sentence may also name a parameter; a command begins with its tool.
    let is_command =
        tool(small).bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
    let loads = small.contains("kexec") && (small.contains(" -l") || small.contains("--load"));
    let of_boot = OF_BOOT.iter().any(|words| small.contains(words));
    let named = PARAMETERS.iter().any(|word| small.contains(word));
    is_command && (loads || of_boot || named && begins_like_edit(small))
}

/// Whether the tool of a command changes a text.
fn begins_like_edit(small: &str) -> bool {
    matches!(
        tool(small),
        "sed"
            | "echo"
            | "printf"
            | "tee"
            | "perl"
            | "python"
            | "python3"
            | "ansible"
            | "qm"
            | "ssh"
    )
}
