//! Kernel logs: which lines give the answer away, and which explain it.

/// Words of the lines in which the kernel reports decisions about its clocks.
const DECISIONS: &[&str] = &["clocksource", "tsc", "TSC", "sched_clock", "timekeeping"];

/// The log without the kernel's decisions. A prediction gets this one: a log that says
/// `Switched to clocksource tsc` would leave nothing to predict.
pub fn undecided(log: &str) -> String {
    log.lines()
        .filter(|line| !line.trim().is_empty() && (is_command_line(line) || !decides(line)))
        .map(|line| format!("{line}\n"))
        .collect()
}

/// The lines that explain a choice, to be shown beside a wrong prediction.
pub fn explanation(log: &str) -> Vec<&str> {
    const MORE: &[&str] = &["hpet", "HPET", "PM-Timer", "kvm-clock", "Hypervisor detected"];
    log.lines()
        .filter(|line| decides(line) || MORE.iter().any(|word| line.contains(word)))
        .filter(|line| !is_command_line(line))
        .collect()
}

/// The messages in which the kernel decides against a clock, without their time stamps.
pub fn refusals(log: &str) -> Vec<&str> {
    const WORDS: &[&str] = &[
        "unstable",
        "could not calculate",
        "Override clocksource",
        "deviates",
        "skewed",
        "_nsec:",
    ];
    log.lines()
        .filter(|line| decides(line) && !is_command_line(line))
        .filter(|line| WORDS.iter().any(|word| line.contains(word)))
        .map(|line| line.split_once("] ").map_or(line, |(_, message)| message).trim())
        .collect()
}

/// Replaces mail addresses, which kernels carry in their version lines.
pub fn without_addresses(text: &str) -> String {
    text.split_inclusive('\n').map(without_address).collect()
}

fn decides(line: &str) -> bool {
    DECISIONS.iter().any(|word| line.contains(word))
}

fn is_command_line(line: &str) -> bool {
    line.contains("] Command line: ") || line.contains("] Kernel command line: ")
}

fn without_address(line: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || ".-_+".contains(c);
    let Some(at) = line.find('@') else { return line.to_string() };
    let (before, after) = (&line[..at], &line[at + 1..]);
    let start = before.rfind(|c| !is_part(c)).map_or(0, |i| i + 1);
    let end = after.find(|c| !is_part(c)).unwrap_or(after.len());
    if start == before.len() || !after[..end].contains('.') {
        return line.to_string();
    }
    format!("{}builder@example{}", &before[..start], &after[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_go_and_the_rest_stays() {
        let log = "[    0.0] Command line: clocksource=tsc\n\
                   [    0.0] tsc: Detected 2596.113 MHz processor\n\
                   [    0.0] ACPI: PM-Timer IO Port: 0x608\n\
                   [    0.1] clocksource: hpet: mask: 0xffffffff\n\
                   [    0.2] process: using AMD E400 aware idle routine\n\n";
        let rest = undecided(log);
        assert_eq!(rest.lines().count(), 3);
        assert!(rest.contains("Command line: clocksource=tsc") && rest.contains("E400"));
        assert_eq!(explanation(log).len(), 3);
    }

    #[test]
    fn mail_addresses_are_replaced_and_device_paths_are_not() {
        assert_eq!(
            without_addresses("Linux version 6.1 (kernel@lists.example.org) (gcc)\n"),
            "Linux version 6.1 (builder@example) (gcc)\n"
        );
        let path = "host bridge /pcie@10000000 ranges:\n";
        assert_eq!(without_addresses(path), path);
    }
}
