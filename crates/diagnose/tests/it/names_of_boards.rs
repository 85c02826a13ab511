//! A reading of `current_clocksource` counts even if the name in it is not in any list of this program.
#![allow(clippy::unwrap_used)]

use crate::common::pasted;
use clocksmith_diagnose::Verdict;

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
