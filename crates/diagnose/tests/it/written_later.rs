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
