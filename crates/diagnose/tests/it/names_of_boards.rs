//! A reading of `current_clocksource` counts even if the name in it is not in any list of this program.
#![allow(clippy::unwrap_used)]

use crate::common::{pasted, why};
use clocksmith_diagnose::{CauseId, Verdict};

const DIR: &str = "/sys/devices/system/clocksource/clocksource0";

#[test]
fn name_that_is_read_is_the_one_in_use() {
    for name in ["timer0", "timer1", "dmtimer0", "timer@fcfec000", "c3tsc", "ostimer0"] {
        for text in [
            format!(
                "{DIR}/available_clocksource:arch_sys_counter {name}\n{DIR}/current_clocksource:{name}\n"
            ),
            format!(
                "{DIR}/current_clocksource:{name}\n{DIR}/available_clocksource:arch_sys_counter {name}\n"
            ),
            format!(
                "$ cat {DIR}/available_clocksource\narch_sys_counter {name}\n$ cat {DIR}/current_clocksource\n{name}\n"
            ),
            format!(
                "> {DIR}/current_clocksource:\n>   {name}\n>\n> {DIR}/available_clocksource\n>   acpi_pm {name} pit\n"
            ),
            format!("$ cat {DIR}/current_clocksource\n{name}\n$ uptime\n"),
        ] {
            let report = pasted(&text);
            assert_eq!(report.clocksource.current.as_deref(), Some(name), "{text}");
            // The form of one name shows that it is mapped into memory.
            if name.contains('@') {
                assert_eq!(report.verdict, Verdict::Slow, "{text}: {}", report.headline);
                assert!(report.headline.contains(name), "{}", report.headline);
                continue;
            }
            assert_eq!(report.verdict, Verdict::Unknown, "{text}: {}", report.headline);
            assert!(
                report.headline.contains(&format!("The clocksource is {name}")),
                "{}",
                report.headline
            );
        }
    }
    // Behind a prompt that reads the file there is nothing else.
    let report = pasted(&format!("$ cat {DIR}/current_clocksource\nostimer\n$ uptime\n"));
    assert_eq!(report.clocksource.current.as_deref(), Some("ostimer"));
}

#[test]
fn name_with_a_comma_or_a_blank_is_a_name() {
    let boot = |first: &str, then: &str| {
        why(&format!(
            "[    0.000000] Linux version 4.4.0 (x@y) (gcc version 5.4) #1\n\
             [    0.000000] CPU: ARMv7 Processor [413fc082] revision 2 (ARMv7), cr=10c53c7d\n\
             [    0.100000] clocksource: Switched to clocksource {first}\n\
             [    0.500000] clocksource: Switched to clocksource {then}\n\
             [    9.500000] eth0: link up\n"
        ))
    };
    for name in ["arm,sp804", "hisilicon,sp804", "aw 64bits couter", "lpc3220 clocksource"] {
        let report = boot("dummy_timer", name);
        assert_eq!(report.clocksource.current.as_deref(), Some(name), "{}", report.headline);
        assert_eq!(report.verdict, Verdict::Slow, "{}", report.headline);
    }
    // A name that is not known is not overlooked, and a sentence is no name.
    for name in ["foo bar2", "foo 64 counter", "arm,", "Arm,sp804 "] {
        let report = boot("dummy_timer", name);
        assert_eq!(report.verdict, Verdict::Unknown, "{name}: {}", report.headline);
    }
    let report = boot("dummy_timer", "arm,sp804, which is slow");
    assert_ne!(report.clocksource.current.as_deref(), Some("arm,sp804"), "{}", report.headline);
}

#[test]
fn reading_that_is_cut_names_none_and_leaves_the_list_open() {
    for part in ["timer@fcf", "tim", "timer"] {
        let report = pasted(&format!(
            "{DIR}/available_clocksource:arch_sys_counter timer@fcfec000\n{DIR}/current_clocksource:{part}"
        ));
        let current = report.clocksource.current.as_deref();
        assert_ne!(current, Some("timer@fcf"), "{part}");
        assert_ne!(report.verdict, Verdict::Ok, "{part}: {}", report.headline);
    }
    let report = pasted(&format!(
        "{DIR}/available_clocksource:arch_sys_counter timer@fcfec000\n{DIR}/current_clocksource:timer@fcf"
    ));
    assert_eq!(report.clocksource.current, None);
    assert!(!report.headline.contains("arch_sys_counter"), "{}", report.headline);
}

#[test]
fn words_of_scripts_and_answers_are_not_names() {
    for line in ["fi", "done", "cat: no such file", "-bash: permission denied", "}"] {
        let report = pasted(&format!("$ cat {DIR}/current_clocksource\n{line}\n$ uptime\n"));
        assert_eq!(report.clocksource.current, None, "{line}");
    }
}

#[test]
fn a_name_on_the_command_line_is_a_mistake_only_on_an_architecture_that_the_text_shows() {
    let named = |word: &str, more: &str| {
        let report = why(&format!(
            "[    0.000000] Kernel command line: {word} console=ttyS0 root=/dev/sda1\n{more}\
             [    0.000000] PID hash table entries: 512 (order: 0, 4096 bytes)\n"
        ));
        report.causes.iter().any(|cause| cause.id == CauseId::CmdlineClocksourceUnknown)
    };
    let x86 = "[    0.000000] BIOS-e820: [mem 0x0000000000000000-0x000000000009fbff] usable\n";
    let arm = "[    0.000000] CPU: ARMv7 Processor [413fc082] revision 2 (ARMv7), cr=10c53c7d\n";
    for name in ["GIC", "timebase", "arch_sys_counter", "dw-apb-timer1", "jz_clocksource"] {
        assert!(!named(&format!("clocksource={name}"), ""), "{name}");
        assert!(named(&format!("clocksource={name}"), x86), "{name}");
    }
    assert!(!named("clocksource=dw-apb-timer1", arm));
    assert!(named("clocksource=hpet", arm));
    for more in ["", x86] {
        assert!(named("clocksource=hpett", more));
    }
}

#[test]
fn an_old_name_of_the_parameter_is_quoted_as_it_is_written() {
    let report = why(
        "[    0.000000] Linux version 2.6.20 (x@y) (gcc version 4.1.2) #1 SMP Mon Feb 5 2007\n\
         [    0.000000] BIOS-e820: 0000000000000000 - 000000000009fc00 (usable)\n\
         [    0.000000] Kernel command line: ro clock=pmtmr\n\
         [    0.000000] Warning: clock= override failed. Defaulting to PIT\n",
    );
    let quoted = report.causes.iter().flat_map(|cause| &cause.evidence);
    assert!(quoted.clone().any(|one| one.text == "clock=pmtmr"));
    assert!(!quoted.into_iter().any(|one| one.text.contains("clocksource=acpi_pm")));
    let commands = report.remedies.iter().flat_map(|remedy| &remedy.commands);
    assert!(!commands.into_iter().any(|command| command.contains("clocksource=acpi_pm")));
}
