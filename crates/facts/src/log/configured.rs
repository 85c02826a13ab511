//! `clocksource: hpet` in the configuration of a program: it states what the program should use or emulate, not what a
//! kernel uses.

/// Lines above and below one that are examined.
const WITHIN: usize = 12;

/// Keys of the configurations of emulators, virtual machines and programs that have other keys below them.
const PARENTS: [&str; 19] = [
    "config",
    "defaults",
    "domain",
    "emulator",
    "guest",
    "guests",
    "hypervisor",
    "logging",
    "machine",
    "microvm",
    "options",
    "parameters",
    "qemu",
    "sandbox",
    "settings",
    "spec",
    "timers",
    "vm",
    "vms",
];
/// Keys that only configurations have.
const ONLY_THERE: [&str; 3] = ["accel", "smp", "vcpus"];
/// Devices and features that a configuration switches on or off.
const SWITCHED: [&str; 9] =
    ["acpi", "apic", "enabled", "headless", "hpet", "kvm", "kvmclock", "pit", "rtc"];
/// Keys of a description of what a machine is or does at the moment.
const OF_A_REPORT: [&str; 12] = [
    "available",
    "available_clocksource",
    "available clocksources",
    "current",
    "kernel",
    "kernel version",
    "kernel_version",
    "load",
    "os",
    "release",
    "uname",
    "uptime",
];

/// Whether a line with this name of a clocksource is an entry of a configuration in YAML. `above` has the lines
/// above it, the nearest first.
pub(crate) fn is_entry<'a>(
    line: &str,
    above: impl Iterator<Item = std::borrow::Cow<'a, str>>,
    below: impl Iterator<Item = std::borrow::Cow<'a, str>>,
) -> bool {
    let is_key =
        |line: &str| line.trim_start().trim_start_matches("- ").starts_with("clocksource:");
    if !is_key(line) {
        return false;
    }
    let keys = above
        .take(WITHIN)
        .map_while(|line| entry(&line))
        .chain(below.take(WITHIN).map_while(|line| entry(&line)));
    let (mut configures, mut reports) = (false, false);
    for (key, value) in keys {
        // A report names the kernel by its version, and a configuration by its file.
        let is_file = value.contains('/');
        reports |= OF_A_REPORT.contains(&key.as_str()) && !value.is_empty() && !is_file;
        let is = |keys: &[&str]| keys.contains(&key.as_str());
        let is_switch = matches!(value.as_str(), "true" | "false" | "yes" | "no" | "on" | "off");
        configures |=
            value.is_empty() && is(&PARENTS) || is(&ONLY_THERE) || is_switch && is(&SWITCHED);
    }
    configures && !reports
}

/// The key and the value of a line of YAML; `None` for other lines, and for blank ones.
fn entry(line: &str) -> Option<(String, String)> {
    let line = line.trim().trim_start_matches("- ");
    let (key, value) = line.split_once(':')?;
    let plain = !key.is_empty()
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-. ".contains(&byte))
        && key.split(' ').count() <= 2;
    let apart = value.is_empty() || value.starts_with(' ');
    (plain && apart).then(|| {
        (key.to_ascii_lowercase(), value.trim().trim_matches(['"', '\'']).to_ascii_lowercase())
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::log::KernelLog;
    use crate::paste::Pasted;

    fn is_read(text: &str) -> (bool, bool) {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let pasted = Pasted::read(&lines, "text").told.current.is_known();
        let log = KernelLog::scan(text.as_bytes(), "text").unwrap();
        (pasted, !log.entries.is_empty())
    }

    #[test]
    fn entry_of_a_configuration_is_no_reading() {
        for text in [
            "machine:\n  type: q35\n  clocksource: hpet\n",
            "guest:\n  name: a\n  clocksource: tsc\n  cpus: 2\n",
            "clocksource: acpi_pm\nhpet: false\n",
            "- name: a\n  clocksource: tsc\n  vcpus: 4\n",
            "vm:\n  kernel: /boot/vmlinuz\n  clocksource: hpet\n",
        ] {
            assert_eq!(is_read(text), (false, false), "{text}");
        }
    }

    #[test]
    fn entry_of_a_report_is_a_reading() {
        for text in [
            "clocksource: hpet\n",
            "kernel: 6.1.0-18-amd64\nclocksource: hpet\ncpus: 8\n",
            "cpu: EPYC\nmemory: 64G\nclocksource: hpet\ninvariant_tsc: true\n",
            "host: a\nuptime: 4 days\nclocksource: hpet\nntp: yes\n",
            "It is a VM:\n\nclocksource: hpet\n",
        ] {
            let (pasted, log) = is_read(text);
            assert!(pasted || log, "{text}");
        }
    }
}
