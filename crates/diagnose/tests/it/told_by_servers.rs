//! Servers that report the contents of sysfs.
#![allow(clippy::unwrap_used)]

use crate::common::pasted;
use clocksmith_diagnose::Verdict;

#[test]
fn warning_of_redis_about_xen_is_a_reading() {
    for product in ["redis", "valkey"] {
        let short = "1:M 15 Nov 2022 10:48:38.685 # WARNING Your system is configured to use the 'xen' clocksource which \
                     might lead to degraded performance.";
        let check = format!(
            "Check the result of the [slow-clocksource] system check: run '{product}-server --check-system' to check if the \
             system's clocksource isn't degrading performance."
        );
        for text in [
            format!("{short}\n"),
            format!("{short} {check}\n"),
            // The text as a mailer wraps it.
            format!("{}\n{check}\n", short.replace(" which might", "\nwhich might")),
        ] {
            let report = pasted(&text);
            assert_eq!(report.clocksource.current.as_deref(), Some("xen"), "{text}");
            assert_eq!(report.verdict, Verdict::Unknown, "{text}: {}", report.headline);
            assert!(report.headline.contains("xen"), "{text}: {}", report.headline);
        }
    }
    // The names of its checks are not values of sysfs.
    let report = pasted("[slow-clocksource]...OK\n[xen-clocksource]...OK\n[overcommit]...OK\n");
    assert_eq!(report.clocksource.current, None);
}
