//! A write to `current_clocksource` behind the reading leaves open what is in use.
#![allow(clippy::unwrap_used)]

use crate::common::pasted;
use clocksmith_diagnose::Verdict;

const DIR: &str = "/sys/devices/system/clocksource/clocksource0";

#[test]
fn write_behind_the_reading_makes_it_history() {
    for prompt in ["~]# ", "[root@h ~]# ", "# ", "root@h:~# ", "/ # ", "$ sudo sh -c '", "$ "] {
        let read =
            format!("{prompt}cat {DIR}/current_clocksource\ntsc\n").replace("sudo sh -c '", "");
        let write = format!("{prompt}echo hpet > {DIR}/current_clocksource\n");
        let report = pasted(&format!("{read}\nThe next command sets another one:\n\n{write}"));
        assert_eq!(report.clocksource.current, None, "{prompt}");
        assert_eq!(report.verdict, Verdict::Unknown, "{prompt}: {}", report.headline);
        // Read back, or written before.
        for text in [format!("{write}\n{read}"), format!("{read}{write}{read}")] {
            let report = pasted(&text);
            assert_eq!(report.clocksource.current.as_deref(), Some("tsc"), "{text}");
        }
    }
}

#[test]
fn restart_for_another_clocksource_makes_the_reading_history() {
    let read = format!("[root@h]# cat {DIR}/current_clocksource\ntsc\n");
    let edit = "[root@h]# grubby --args=clocksource=hpet --update-kernel=DEFAULT\n";
    let restart = "[root@h]# reboot\n\nBroadcast message from root@h\n\nThe system is going down for reboot NOW!\n";
    let report = pasted(&format!("{read}{edit}{restart}"));
    assert_eq!(report.clocksource.current, None, "{}", report.headline);
    assert_eq!(report.verdict, Verdict::Unknown, "{}", report.headline);
    let after = read.replace("\ntsc", "\nhpet");
    let report = pasted(&format!("{read}{edit}{restart}\n{after}"));
    assert_eq!(report.clocksource.current.as_deref(), Some("hpet"), "{}", report.headline);
    // Not restarted, or restarted without another parameter.
    for more in [edit, restart] {
        let report = pasted(&format!("{read}{more}"));
        assert_eq!(report.clocksource.current.as_deref(), Some("tsc"), "{more}");
    }
}
