//! Texts that are no log of the kernel.

/// Texts that are no log of the kernel, though some have its words: none has an event, and none looks like one.
pub(super) const OTHERS: &[(&str, &str)] = &[
    ("prose", "I see that the kernel marks tsc as unstable.\nHow do I find out why?\n"),
    (
        "prose with a quotation",
        "The line \"tsc: Marking TSC unstable due to clocksource watchdog\" is what I see, at 07:25:40.\n",
    ),
    ("prose behind a time", "07:25 I saw: tsc: Marking TSC unstable due to clocksource watchdog\n"),
    ("chat", "[07:25:40] <alice> my clocksource is hpet, why is tsc not used?\n"),
    (
        "syslog of programs",
        "Mar  5 07:25:40 web tuned[12]: tsc: Marking TSC unstable due to clocksource watchdog\nMar  5 07:25:41 web chronyd[9]: System clock wrong by 1.2 seconds\n",
    ),
    (
        "syslog of programs, French",
        "mars 05 07:25:40 web tuned[12]: tsc: Marking TSC unstable due to clocksource watchdog\n",
    ),
    (
        "syslog of programs, full",
        "Tue 2024-03-05 07:25:40 CET web tuned[12]: tsc: Marking TSC unstable due to clocksource watchdog\n",
    ),
    (
        "syslog of programs, RFC 5424",
        "<30>1 2024-03-05T07:25:40Z web tuned 12 - - tsc: Marking TSC unstable due to clocksource watchdog\n",
    ),
    (
        "syslog of programs, by facility",
        "<13>tsc: Marking TSC unstable due to clocksource watchdog\n",
    ),
    (
        "search in a syslog of programs",
        "12:Mar  5 07:25:40 web tuned[12]: tsc: Marking TSC unstable due to clocksource watchdog\n",
    ),
    (
        "/dev/kmsg, written by a program",
        "12,101,9100000,-;tsc: Marking TSC unstable due to clocksource watchdog\n",
    ),
    (
        "JSON of programs",
        "{\"_TRANSPORT\":\"stdout\",\"MESSAGE\":\"tsc: Marking TSC unstable due to clocksource watchdog\"}\n",
    ),
    (
        "source of a program",
        "#include <stdio.h>\nstatic const char text[] =\n\"[    0.31] clocksource: Switched to clocksource hpet\\n\"\n\
         \"tsc: Marking TSC unstable due to check_tsc_sync_source failed\\n\";\n\
         \tpr_info(\"clocksource: Switched to clocksource hpet\\n\");\n",
    ),
    ("JSON", "{\"message\":\"I like the tsc\",\"user\":\"alice\"}\n"),
    (
        "export of programs",
        "__CURSOR=a\n_TRANSPORT=syslog\nMESSAGE=tsc: Marking TSC unstable due to clocksource watchdog\n",
    ),
    (
        "logcat of programs",
        "03-05 07:25:40.123  1234  1250 W tsc     : Marking TSC unstable due to clocksource watchdog\n",
    ),
    (
        "CSV of programs",
        "\"2024-03-05T07:25:40Z\",\"Mar  5 07:25:40 web tuned[12]: tsc: Marking TSC unstable due to clocksource watchdog\"\n",
    ),
    (
        "record of /dev/kmsg in a syslog",
        "Mar  5 07:25:40 web alice[12]: 4,101,9100000,-;tsc: Marking TSC unstable due to clocksource watchdog\n",
    ),
    (
        "header of the kernel in a syslog",
        "Mar  5 07:25:40 web alice[12]: Mar  5 07:25:40 web kernel: tsc: Marking TSC unstable due to clocksource watchdog\n",
    ),
    (
        "JSON in a syslog",
        "Mar  5 07:25:40 web alice[12]: {\"MESSAGE\":\"tsc: Marking TSC unstable due to clocksource watchdog\"}\n",
    ),
    (
        "CSV in a syslog",
        "Mar  5 07:25:40 web alice[12]: \"x\",\"tsc: Marking TSC unstable due to clocksource watchdog\"\n",
    ),
    (
        "web server",
        "192.0.2.7 - - [05/Mar/2024:07:25:40 +0000] \"GET /tsc HTTP/1.1\" 200 612 \"-\" \"curl\"\n",
    ),
    (
        "FreeBSD",
        "CPU: Intel(R) Xeon(R) (2600.00-MHz K8-class CPU)\nTimecounter \"TSC-low\" frequency 1300000000 Hz quality 1000\nhpet0: <High Precision Event Timer> iomem 0xfed00000-0xfed003ff on acpi0\n",
    ),
    (
        "Xen",
        "(XEN) [    0.000000] Platform timer is 14.318MHz HPET\n(XEN) TSC marked as reliable, warp = 0\n",
    ),
    (
        "source of the kernel",
        "\tpr_info(\"Marking TSC unstable due to %s\\n\", reason);\n\t\t\"TSC found unstable after boot, most likely due to broken BIOS. Use 'tsc=unstable'.\\n\"\n",
    ),
    (
        "table of numbers",
        "time,offset,clocksource\n1709623540.1,0.0001,tsc\n1709623541.1,0.0002,tsc\n",
    ),
    ("configuration", "[clock]\nclocksource = tsc\n# tsc: fast\n"),
    (
        "log of a daemon",
        "2024-03-05 07:25:40,123 INFO clock: reading tsc\n2024-03-05 07:25:41,123 WARN clock: clocksource hpet is slow\n",
    ),
];
