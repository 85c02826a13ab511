//! The beginning of a message. The kernel prints the name of a subsystem before its messages
//! (`pr_fmt`); the message begins after it, and nowhere else. Text further inside may be
//! external: the name of a program, a mount option, the name that a USB device reports.

/// Prefixes that the kernel prints before messages about clocks.
pub(crate) const PREFIXES: [&str; 27] = [
    "clocksource:",
    "tsc:",
    "TSC:",
    "kvm-clock:",
    "sched_clock:",
    "timekeeping:",
    "timekeeping watchdog:",
    "hpet:",
    "x86/hpet:",
    "x86/tsc:",
    "time.c:",
    "smpboot:",
    "SMP:",
    "APIC:",
    "ACPI:",
    "CPU topo:",
    "arch_timer:",
    "vmware:",
    "VMware:",
    "xen:",
    "Xen:",
    "kvm:",
    "KVM:",
    "[Firmware Bug]:",
    "[Firmware Warn]:",
    "[Firmware Info]:",
    "WARNING:",
];

/// The message after the kernel's prefixes, of which there may be several:
/// `clocksource: timekeeping watchdog on CPU3: `.
pub(crate) fn body(message: &str) -> &str {
    let mut rest = message.trim_start();
    for _ in 0..5 {
        let Some(next) = without_prefix(rest) else { break };
        rest = next.trim_start();
    }
    rest
}

fn without_prefix(text: &str) -> Option<&str> {
    if let Some(rest) = PREFIXES.iter().find_map(|prefix| text.strip_prefix(prefix)) {
        return Some(rest);
    }
    // `timekeeping watchdog on CPU3: ` (4.5 and later), `TSC synchronization [CPU#0 -> CPU#1]:` with the verdict on the
    // same line (until 2.6.3x).
    numbered(text, "timekeeping watchdog on CPU", ":")
        .or_else(|| numbered(text, "kvm [", "]:"))
        .or_else(|| {
            let rest = text.strip_prefix("checking ").unwrap_or(text);
            let rest = rest.strip_prefix("TSC synchronization [CPU#")?;
            let rest = &rest[super::find(rest, "]:")? + 2..];
            (!rest.trim().is_empty()).then_some(rest)
        })
}

/// The text after `HEAD`, a number and `TAIL`.
fn numbered<'a>(text: &'a str, head: &str, tail: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(head)?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 { None } else { rest[digits..].strip_prefix(tail) }
}

/// Beginnings that only kernels print. A line without a time stamp that begins like this is a kernel
/// message, even if its rest is truncated.
pub(super) const BEGINNINGS: [&str; 47] = [
    "Timer ISR/",
    "clocksource: ",
    "clocksource:\t",
    "tsc: ",
    "TSC: ",
    "kvm-clock: ",
    "sched_clock: ",
    "hpet: ",
    "x86/hpet: ",
    "timekeeping watchdog",
    "arch_timer: ",
    "smpboot: ",
    "setup_percpu: ",
    "ACPI: ",
    "BIOS-e820: ",
    "Kernel command line: ",
    "Command line: ",
    "Hypervisor detected: ",
    "Booting paravirtualized kernel on ",
    "Hyper-V: ",
    "HyperV: ",
    "Switched to clocksource ",
    "Switching to clocksource ",
    "Override clocksource ",
    "Marking TSC unstable due to",
    "Marking clocksource ",
    "TSC synchronization [CPU#",
    "checking TSC synchronization",
    "TSC found unstable after boot",
    "TSC ADJUST",
    "Fast TSC calibration ",
    "Refined TSC clocksource calibration: ",
    "Calibrating delay loop",
    "[Firmware Bug]: ",
    "PM-Timer ",
    "PMTMR IOPort override: ",
    "CPU topo: ",
    "xen: ",
    "vmware: ",
    "x86/fpu: ",
    "DMI: ",
    "APIC calibration not consistent",
    "timekeeping: ",
    "APIC: ",
    "rcu: ",
    "PM: suspend ",
    "Booting Linux on physical CPU ",
];

/// `time_init_gtod()` in `arch/x86_64/kernel/time.c`, up to 2.6.20: printed if the PM timer was chosen.
pub(super) const VSYSCALL_OFF: &str = "Disabling vsyscall due to use of PM timer";

/// `Time: NAME clocksource has been installed.`, of kernels up to 2.6.27. `Time:` alone begins many other lines.
fn installs_clocksource(text: &str) -> bool {
    let rest = text.strip_prefix("Time: ").and_then(|rest| rest.split_once(' '));
    rest.is_some_and(|(name, rest)| {
        super::is_name(name) && rest.starts_with("clocksource has been installed")
    })
}

/// Whether a text begins as only kernel messages do.
pub(crate) fn begins_like_kernel(text: &str) -> bool {
    let text = text.trim_start();
    let Some(first) = text.as_bytes().first() else { return false };
    if BEGINNINGS.iter().any(|start| start.as_bytes()[0] == *first && text.starts_with(start)) {
        return true;
    }
    let figures = |head: &str| {
        text.strip_prefix(head).is_some_and(|rest| {
            rest.trim_start_matches(['-', ' ']).starts_with(|c: char| c.is_ascii_digit())
        })
    };
    match first {
        b'L' => figures("Linux version ") || super::ticks::parse(text).is_some(),
        b'M' => figures("Measured ") && text.contains(" TSC warp "),
        // FreeBSD describes devices in angle brackets.
        b'h' => figures("hpet") && text.contains(": ") && !text.contains(": <"),
        // The watchdog's figures, in kernels that print no prefix before them.
        b'\'' if text[1..].starts_with(' ') => false,
        b'\'' => [" wd_", " cs_", " is current clocksource"].iter().any(|key| text.contains(key)),
        b'D' => figures("Detected ") && text.contains(" MHz ") || text.starts_with(VSYSCALL_OFF),
        b'T' => installs_clocksource(text),
        b'w' | b'Y' | b'F' | b't' => super::ticks::parse(text).is_some(),
        b'C' => text.starts_with("Clocksource ") && text.contains(" unstable (delta = "),
        // The read function of Xen's clocksource; a path of sysfs begins alike.
        b'c' => text.starts_with("clocksource/") && text.contains(": Time went backwards"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_prefixes_are_taken_off_the_beginning_alone() {
        assert_eq!(body("clocksource: timekeeping watchdog on CPU3: Marking"), "Marking");
        assert_eq!(body("[Firmware Bug]: TSC ADJUST: CPU0: 1"), "TSC ADJUST: CPU0: 1");
        assert_eq!(body("checking TSC synchronization [CPU#0 -> CPU#1]: Measured"), "Measured");
        let header = "TSC synchronization [CPU#0 -> CPU#1]:";
        assert_eq!(body(header), header);
        for foreign in ["usb 1-1: Product: tsc: Marking", "timekeeping watchdog on CPUx: Marking"] {
            assert_eq!(body(foreign), foreign);
        }
    }

    #[test]
    fn beginnings_are_recognised_when_the_rest_is_cut_off() {
        for cut in
            ["clocksource: Long readout interval,", "kvm-clock: cpu 0, msr", "Linux version 6"]
        {
            assert!(begins_like_kernel(cut), "{cut}");
        }
        for other in
            ["Linux version control", "Measured boot", "hpet is slow", "tsc", "a clocksource: x"]
        {
            assert!(!begins_like_kernel(other), "{other}");
        }
    }
}
