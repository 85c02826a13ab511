//! Messages about a process that begin with its name: `NAME[PID]: segfault at ...`, `NAME invoked oom-killer: ...`.
//!
//! Any user can choose such a name, so it can look like the beginning of another message. The kernel has no clock
//! message of this form.

/// The maximum length of a name, in bytes: `TASK_COMM_LEN` without the zero at the end.
const NAME: usize = 15;

/// What follows the name: `dump_header()` in `mm/oom_kill.c`, `warn_alloc()` in `mm/page_alloc.c`.
const BEHIND: [&str; 3] =
    [" invoked oom-killer:", ": page allocation failure", ": page allocation stalls"];

/// Whether a message begins with the name of a process.
pub(super) fn begins_with_name(message: &str) -> bool {
    let most = message.len().min(NAME);
    (1..=most).any(|at| message.get(at..).is_some_and(|rest| has_id(rest) || is_behind(rest)))
}

fn is_behind(rest: &str) -> bool {
    BEHIND.iter().any(|words| rest.starts_with(words))
}

/// Whether a text begins with the number of a process, as `[77]: ` (`show_signal_msg()` in `arch/x86/mm/fault.c`), `[77] `
/// (`force_sig_info_to_task()` and others) or ` (77): `.
fn has_id(rest: &str) -> bool {
    let inside = |open: &str, close: &str| {
        let rest = rest.strip_prefix(open)?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let rest = rest.get(digits..)?.strip_prefix(close)?;
        (digits > 0 && rest.starts_with([':', ' '])).then_some(())
    };
    inside("[", "]").or_else(|| inside(" (", ")")).is_some()
}

#[cfg(test)]
mod tests {
    use super::super::body::BEGINNINGS;
    use super::super::is_clock_message;
    use super::*;

    #[test]
    fn name_of_a_process_begins_no_clock_message() {
        let more = [
            "TSC ADJUST differs",
            "Linux version 6.1",
            "DMI: QEMU Standard",
            "Booting paravirtualized",
            "Detected 3000.000 MHz processor",
            "Hypervisor detected: KVM",
            "kvm-clock: Using msrs",
            "hpet0: 3 comparators",
            "Kernel command line: notsc",
            "Command line: notsc",
            "Calibrating delay loop",
            "Unstable clock detected",
            "Starting gVisor",
            "PM: suspend entry",
            "xen: registering gsi",
            "SLUB: HWalign",
            "Brought up 2 CPUs",
        ];
        for begin in BEGINNINGS.iter().copied().chain(more) {
            for length in 1..=begin.len().min(NAME) {
                let Some(name) = begin.get(..length) else { continue };
                for rest in [
                    "[77]: segfault at 0 ip 00007f sp 00007f error 4 in TSC[1+1]",
                    "[77] bad frame in hpet frame:1 ip:2 sp:3",
                    " invoked oom-killer: gfp_mask=0x1, order=0, clocksource=hpet",
                    ": page allocation failure: order:0, mode:0x1 tsc",
                    " (77): drop_caches: 3",
                ] {
                    let message = format!("{name}{rest}");
                    assert!(!is_clock_message(&message), "{message}");
                }
            }
        }
    }

    #[test]
    fn clock_messages_with_brackets_begin_with_no_name() {
        for message in [
            "TSC synchronization [CPU#0 -> CPU#1]:",
            "tsc: Detected 3000.000 MHz processor",
            "clocksource: Switched to clocksource tsc",
            "smpboot: CPU0: Intel(R) Xeon(R) CPU X5650 (family: 0x6, model: 0x2c)",
            "hpet: 3 channels of 0 reserved for per-cpu timers",
            "[77]: x",
        ] {
            assert!(!begins_with_name(message), "{message}");
        }
        assert!(begins_with_name("123456789012345[7]: x"));
        assert!(!begins_with_name("1234567890123456[7]: x"));
    }
}
