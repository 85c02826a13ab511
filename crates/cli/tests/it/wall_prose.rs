//! `why FILE` with prose about a wall clock: the refusal names the existing pages, and the facts that settle it.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::process::{Command, Output};

fn clocksmith(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_clocksmith")).args(args).output().unwrap()
}

/// Returns the output of `why` about a text, from both streams.
fn said_of(text: &str) -> (Option<i32>, String) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("post.txt");
    fs::write(&file, text).unwrap();
    let out = clocksmith(&["why", file.to_str().unwrap()]);
    let both = [out.stdout, out.stderr].concat();
    (out.status.code(), String::from_utf8_lossy(&both).into_owned())
}

#[test]
fn prose_about_a_wall_clock_is_refused_with_its_pages() {
    for (text, page) in [
        ("WSL 2: after the laptop slept, the system time is an hour behind Windows.\n", "WSL"),
        ("Docker Desktop: after sleep containers have an incorrect time.\n", "Docker Desktop"),
        ("We restore Firecracker guests; CLOCK_REALTIME is that of then.\n", "Firecracker"),
        ("In podman machine chronyd is active and the system clock is late.\n", "podman machine"),
        ("VMware Tools and NTP: who does the time sync?\n", "vmware-toolbox-cmd timesync"),
        (
            "After a checkpoint of QEMU the guest clock is stale.\n",
            "wall-clock-stale-after-restore",
        ),
    ] {
        let (code, said) = said_of(text);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(&format!("`clocksmith explain '{page}'`")), "{said}");
        assert!(said.contains("chronyc tracking") && !said.contains("dmesg"), "{said}");
        // The page is there.
        let out = clocksmith(&["explain", page]);
        assert!(out.status.success(), "{page}");
    }
}

/// The text with single blanks: the report is wrapped.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

#[test]
fn prose_about_a_known_problem_gets_the_core_of_its_page() {
    for (text, word, advice) in [
        ("WSL 2: after the laptop slept, the system time is late.\n", "WSL", "`sudo hwclock -s`"),
        ("Our clocksource on EC2 is xen, and gettimeofday is slow.\n", "xen", "changing to tsc"),
        (
            "When the host goes to sleep, the VM time is out of sync.\n",
            "wall-clock-stale-after-restore",
            "Set the wall clock with `chronyc makestep`.",
        ),
        ("The guests of Xen have a clock drift.\n", "independent_wallclock", "in each guest"),
    ] {
        let (code, said) = said_of(text);
        let said = unwrapped(&said);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(&format!("more: clocksmith explain '{word}'")), "{said}");
        assert!(said.contains(advice), "{said}");
    }
    let (_, said) =
        said_of("$ sysctl kern.timecounter.hardware\nkern.timecounter.hardware: HPET\n");
    assert!(said.contains("FreeBSD") && !said.contains("What is known"), "{said}");
}

#[test]
fn a_rate_that_a_text_states_is_weighed() {
    for (text, words) in [
        (
            "The VM's clock drifts: it gains 20 ms every 30 s.\n",
            "20 ms in 30 s), the clock is off by about 670 ppm",
        ),
        ("The server's clock drifts by 2 seconds per day.\n", "about 23 ppm: a quartz oscillator"),
        (
            "The clock in the VM is broken:\n$ time sleep 20\n\nreal    0m18.250s\nuser    0m0.001s\n",
            "set that clock back by 1.75 s",
        ),
    ] {
        let said = unwrapped(&said_of(text).1);
        assert!(said.contains(words), "{said}");
        assert!(
            said.contains("more: clocksmith explain 'clock runs too fast or too slow'"),
            "{said}"
        );
    }
}

#[test]
fn prose_is_led_to_the_command_that_corrects_the_clock() {
    for (text, page, advice) in [
        ("2FA codes fail, the server's clock is off.\n", "TOTP", "makestep"),
        (
            "A Raspberry Pi CM4: NTP does not sync, the system clock is 20 minutes ahead.\n",
            "NTP reach 0",
            "makestep",
        ),
        ("phc2sys with -O 0: chronyc shows 37 seconds.\n", "phc2sys", "with -w"),
        (
            "In Docker on armhf the date is in 1970.\n",
            "clock_gettime64: Operation not permitted",
            "libseccomp2",
        ),
        (
            "Kafka Connect writes rows of 1970-01-20; the system time is right.\n",
            "1970-01-19",
            "10 digits",
        ),
        ("uuidgen -t and the system time differ by two hours.\n", "UUID", "uuidd.socket"),
    ] {
        let said = unwrapped(&said_of(text).1);
        assert!(said.contains(&format!("more: clocksmith explain '{page}'")), "{said}");
        assert!(said.contains(advice), "{said}");
        assert!(!said.contains("explain 'fake-hwclock'"), "{said}");
    }
}

#[test]
fn a_report_without_the_clocksource_gets_them_too() {
    let (code, said) = said_of(
        "$ date -u\nWed May 31 15:52:34 UTC 2017\n$ docker run -it x date -u\nWed May 31 15:16:54 UTC 2017\n",
    );
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("more: clocksmith explain 'Docker Desktop'"), "{said}");
    // A clock that is right has no such problem, and a log names devices in passing.
    for text in [
        "WSL 2 and its wall clock:\n#* PHC0    0   3   377    12  -2082ns[  +15us] +/- 3465ns\n",
        "[    0.100000] hpet0: at MMIO 0xfed00000, IRQs 2, 8, 0\n",
    ] {
        let (_, said) = said_of(text);
        assert!(!said.contains("What is known about such problems"), "{said}");
    }
}

#[test]
fn outputs_of_no_machine_of_the_writer_show_nothing() {
    let tracking = "    Reference ID    : 00000000 ()\n    Leap status     : Not synchronised\n";
    assert!(said_of(tracking).1.contains("not synchronised"));
    for head in [
        "On a broken guest chronyc would print:\n\n",
        "The docs of chrony show this for a bad system:\n",
        "Before the update:\n",
    ] {
        let (_, said) = said_of(&format!("{head}{tracking}\nAfter the update:\nall is well\n"));
        assert!(!said.contains("wall clock is not synchronised"), "{said}");
    }
    let invented = "A chatbot told me what would be printed on a broken one:\n\n\
                    \x20 [   12.000000] tsc: Marking TSC unstable due to clocksource watchdog\n\nI did not try.\n";
    let (_, said) = said_of(invented);
    assert!(!said.contains("demoted"), "{said}");
    let few = "% time     seconds  usecs/call     calls    errors syscall\n\
               ------ ----------- ----------- --------- --------- ----------------\n\
               \x20 0.00    0.000000           0         2           clock_gettime\n";
    let (_, said) = said_of(few);
    assert!(unwrapped(&said).contains("too few to say"), "{said}");
}

#[test]
fn a_server_without_a_source_is_named() {
    for text in [
        "server 192.0.2.1, stratum 16, offset -0.000015, delay 0.02609\n",
        "response from peer 0: packet contents:\n\tflags: 0xe4\n\t  li=3 (0xc0)\n\tstratum = 0\n",
    ] {
        let (_, said) = said_of(text);
        assert!(unwrapped(&said).contains("that it is not synchronised itself"), "{said}");
    }
    let (_, said) = said_of("server 192.0.2.1, stratum 2, offset -0.000015, delay 0.02609\n");
    assert!(!unwrapped(&said).contains("not synchronised itself"), "{said}");
}

#[test]
fn steps_that_recur_and_sources_beyond_the_limit_are_named() {
    let steps: String = (0..3)
        .map(|hour| format!("Oct  6 1{hour}:51:23 a ntpd[7]: time reset +9{hour}.339460 s\n"))
        .collect();
    let (_, said) = said_of(&steps);
    assert!(unwrapped(&said).contains("wrong again after each step"), "{said}");
    let peers = "ind assID status  conf reach auth condition  last_event cnt\n\
                 ===========================================================\n\
                 \x20 1 20111  9614   yes   yes  none  sys.peer   reachable  1\n\
                 \x20 2 20112  9014   yes   yes  none    reject   reachable  1\n";
    assert!(said_of(peers).1.contains("is synchronised"));
    let peer = "assID=20112 status=9014 reach, conf, 1 event, event_reach,\n\
                srcadr=192.0.2.1, srcport=123, reach=377, unreach=0,\n\
                flash=400 peer_dist, keyid=0, offset=-7200500.1, delay=18.1, jitter=70.1,\n";
    let (_, said) = said_of(&format!("{peers}\n{peer}"));
    assert!(!said.contains("clock is synchronised"), "{said}");
    assert!(unwrapped(&said).contains("more than ntpd corrects without -g"), "{said}");
}

#[test]
fn prose_about_something_else_is_asked_for_its_log() {
    for text in ["Docker Desktop uses much memory here.\n", "My entry in the printer's logbook.\n"]
    {
        let (code, said) = said_of(text);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("dmesg") && !said.contains("clocksmith explain"), "{said}");
    }
}

#[test]
fn symptom_in_prose_names_the_page_of_its_subject() {
    let (code, said) = said_of(
        "The guest clock is late after a checkpoint was resumed:\n\
         curl: (60) SSL certificate OpenSSL verify result: certificate is not yet valid (9)\n",
    );
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("clocksmith explain 'wall-clock-stale-after-restore'"), "{said}");
}

#[test]
fn explain_words_of_wall_clocks_have_their_own_pages() {
    for (word, title) in [
        ("Forward time jump detected!", "Forward time jump detected!"),
        ("chronyd[7]: System clock wrong by 3.5 seconds", "System clock wrong by N seconds"),
        ("Clock: inserting leap second 23:59:60 UTC", "Clock: inserting leap second 23:59:60 UTC"),
        ("WSL2", "WSL"),
        ("clock_realtime", "Firecracker"),
        ("CLOCK_REALTIME", "CLOCK_REALTIME"),
        ("adjtimex", "adjtimex(2)"),
        ("Azure", "Hyper-V"),
        ("settimeofday", "clock_settime"),
        ("tools.syncTime", "vmware-toolbox-cmd timesync"),
        ("m4.large", "EC2 instance families"),
        ("Linux is not using a fast clock source", "ClickHouse"),
    ] {
        let out = clocksmith(&["explain", word]);
        let said = String::from_utf8_lossy(&out.stdout).into_owned();
        assert!(out.status.success(), "{word}");
        assert_eq!(
            said.lines().next().map(|line| line.starts_with(title)),
            Some(true),
            "{word}: {said}"
        );
    }
}

#[test]
fn sentences_of_any_words_about_a_wrong_clock_get_the_page_of_their_subject() {
    for (text, word, advice) in [
        ("Since the rollback of the VM its date is way behind ours.\n", "wall clock", "makestep"),
        (
            "Each time I restart from Windows into Fedora, the time in the panel is messed up.\n",
            "RTC in local time",
            "RealTimeIsUniversal",
        ),
        (
            "Logins by SAML fail: the response is not yet valid.\n",
            "token used before issued",
            "leeway",
        ),
        ("kinit fails here: KRB_AP_ERR_SKEW\n", "Clock skew too great", "domain controller"),
        (
            "Our three nodes have clocks that differ by a second.\n",
            "clock difference against peer",
            "waitsync",
        ),
        (
            "I start the machine with `VBoxManage startvm x`, and the time in it is behind by the time of the pause.\n",
            "VirtualBox",
            "timesync-set-threshold",
        ),
    ] {
        let (code, said) = said_of(text);
        let said = unwrapped(&said);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(&format!("more: clocksmith explain '{word}'")), "{said}");
        assert!(said.contains(advice), "{said}");
    }
    let (_, said) = said_of("All is well: the clock is not wrong, and the date is not behind.\n");
    assert!(!said.contains("shows the wrong time"), "{said}");
}

#[test]
fn figures_of_a_text_and_what_to_run_first_are_in_the_answer() {
    let go = "x509: certificate has expired or is not yet valid: current time 2022-05-01T10:00:00+02:00 is before 2022-05-01T09:58:20Z";
    let (_, said) = said_of(go);
    let said = unwrapped(&said);
    assert!(said.contains("behind by at least 118 min") && said.contains("time zone"), "{said}");
    let tracking = "Reference ID    : CB007105 (a)\nSystem time     : 2410.5 seconds slow of NTP time\nLeap status     : Normal\n";
    let (_, said) = said_of(tracking);
    assert!(unwrapped(&said).contains("sudo chronyc makestep"), "{said}");
    let old = "      Local time: Mon 2020-11-30 18:39:15 UTC\n  Universal time: Mon 2020-11-30 18:39:15 UTC\n        RTC time: n/a\n\
               \x20      Time zone: Etc/UTC (UTC, +0000)\n     NTP enabled: yes\nNTP synchronized: no\n";
    let (_, said) = said_of(old);
    assert!(unwrapped(&said).contains("timedatectl timesync-status"), "{said}");
    // A clock that is right now may be wrong at each start.
    let right = old.replace("synchronized: no", "synchronized: yes");
    let (_, said) = said_of(&format!("After a power outage the date is days behind.\n\n{right}"));
    assert!(said.contains("more: clocksmith explain 'wrong time after each boot'"), "{said}");
}

#[test]
fn of_two_states_the_later_one_is_the_headline() {
    let state = |name: &str| {
        format!("$ cat /sys/devices/system/clocksource/clocksource0/current_clocksource\n{name}\n")
    };
    let text =
        format!("Before the change:\n\n{}\nAfter the change:\n\n{}", state("hpet"), state("tsc"));
    let (_, said) = said_of(&text);
    let head = unwrapped(said.split("\n\n").next().unwrap());
    assert!(head.contains("the clocksource is tsc"), "{said}");
}

#[test]
fn traces_on_a_product_with_slow_reads_get_its_page() {
    let trace = "On EC2 (m4) strace -c says:\n\
                 % time     seconds  usecs/call     calls    errors syscall\n\
                 ------ ----------- ----------- --------- --------- ----------------\n\
                 \x20 99.00    1.500000           1   1500000           clock_gettime\n";
    let (_, said) = said_of(trace);
    assert!(said.contains("more: clocksmith explain 'EC2 instance families'"), "{said}");
}

#[test]
fn words_of_explain_lead_to_their_pages() {
    for (text, page) in [
        (
            "With EXPLAIN ANALYZE this query takes a minute, without it a second.\n",
            "pg_test_timing",
        ),
        ("The gauge node_timex_sync_status is 0 on every node of ours.\n", "node_exporter"),
        ("A call of std::time::Instant::now takes 900 ns on these hosts.\n", "Instant::now"),
        ("My box drifts by 10 seconds per hour, says ntp.\n", "clock runs too fast or too slow"),
    ] {
        let (code, said) = said_of(text);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(&format!("more: clocksmith explain '{page}'")), "{said}");
    }
}

#[test]
fn what_a_text_quotes_is_answered_first_and_no_failed_command_is_requested() {
    let (_, said) =
        said_of("`timedatectl set-ntp on` was giving `Failed to set ntp: NTP not supported.`\n");
    let said = unwrapped(&said);
    assert!(said.contains("No time daemon that systemd can enable is installed"), "{said}");
    assert!(!said.contains("chrony.conf lacks") && !said.contains("set-ntp true"), "{said}");
    assert!(
        !said.contains("the output of `timedatectl`") && !said.contains("of `timedatectl` and"),
        "{said}"
    );
    let (_, said) = said_of(
        "timedatectl status\nFailed to query server: Connection timed out\nsystemd-timesyncd is running.\n",
    );
    let said = unwrapped(&said);
    assert!(said.contains("not a time server") && said.contains("timesync-status"), "{said}");
    assert!(said.contains("output of `systemctl status") && !said.contains("rtcsync"), "{said}");
    let scylla = "reader_concurrency_semaphore - Detected timeout skew of 294882ms, please check time skew between nodes in the cluster.\n";
    let (_, said) = said_of(scylla);
    assert!(said.contains("far time limit") && !said.contains("EventStore"), "{said}");
    assert_eq!(said.matches("more: clocksmith explain").count(), 1, "{said}");
}

#[test]
fn texts_about_reads_that_name_a_sleep_are_about_reads() {
    let text = "When a Mac wakes up from sleep, the hardware clock in the guest will lag for a while. The kernel thinks that the TSC is \
                unstable, and switches to HPET, which is much slower than the TSC.\n";
    let (_, said) = said_of(text);
    let said = unwrapped(&said);
    assert!(said.contains("more: clocksmith explain 'hpet'"), "{said}");
    assert!(said.contains("until the next boot") && !said.contains("timedatectl"), "{said}");
}

#[test]
fn lines_that_are_known_to_be_harmless_are_the_answer() {
    let perf = "[ 1003.011834] perf interrupt took too long (2555 > 2500), lowering kernel.perf_event_max_sample_rate to 50000\n";
    let table = "$ strace -f -c sleep 1\n% time     seconds  usecs/call     calls    errors syscall\n\
                 ------ ----------- ----------- --------- --------- ----------------\n\
                 \x20 6.93    0.000033          33         1           nanosleep\n\
                 ------ ----------- ----------- --------- --------- ----------------\n";
    for (text, words) in [(perf, "are harmless"), (table, "counts the CPU time of system calls")] {
        let (_, said) = said_of(text);
        let said = unwrapped(&said);
        assert!(
            said.starts_with("The kernel's lines") || said.starts_with("`strace -c`"),
            "{said}"
        );
        assert!(said.contains(words) && !said.contains("To find out"), "{said}");
    }
}

#[test]
fn texts_that_report_no_fault_are_named_as_such() {
    for (text, what) in [
        (
            "# Changelog\n\n## 2.1.0\n\n### Fixed\n- the guest's clock was behind after a resume\n- time sync with chrony\n",
            "a list of releases",
        ),
        (
            "The wall clock of each host is within 20 us of NTP. So it is not the clock; the token was a wrong one.\n",
            "says that the clock is not",
        ),
    ] {
        let (code, said) = said_of(text);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(what) && !said.contains("What is known about such"), "{said}");
    }
}

#[test]
fn words_of_the_field_are_no_clock_that_is_wrong() {
    for (text, page) in [
        (
            "Cost of our database: 40 % of the processor is in acpi_pm_read.\nA kernel chooses among the TSC, the HPET, the \
             ACPI_PM and the Real Time Clock (RTC).\n",
            "acpi_pm_read",
        ),
        (
            "The guests have no kvmclock, so they calibrate the TSC against a PIT.\n\nIn the future the host will give the \
             frequency in a leaf of CPUID.\n",
            "kvm-clock",
        ),
        (
            "How is the leap second of a year announced by an NTP server, and who tells the kernel?\n",
            "leap second",
        ),
    ] {
        let (code, said) = said_of(text);
        assert_eq!(code, Some(2), "{said}");
        assert!(!unwrapped(&said).contains("shows the wrong time"), "{said}");
        assert!(said.contains(page), "{said}");
    }
    let (_, said) = said_of("After a restore the guest's clock is two hours behind.\n");
    assert!(unwrapped(&said).contains("shows the wrong time"), "{said}");
    assert!(said.contains("wall-clock-stale-after-restore"), "{said}");
}

#[test]
fn a_good_and_a_bad_example_are_of_no_machine() {
    let (code, said) = said_of(
        "Checks of chrony\n\nGood example\nMS Name/IP address Stratum Poll Reach LastRx Last sample\n\
         ^* a.example 1 10 377 42 -12us[ -34us] +/- 12ms\n\nBad example\n\
         MS Name/IP address Stratum Poll Reach LastRx Last sample\n^? a.example 0 10 0 - +0ns[ +0ns] +/- 0ns\n",
    );
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("good and bad examples"), "{said}");
}

#[test]
fn a_line_of_the_kernel_in_a_post_does_not_replace_the_pages_of_the_post() {
    let (_, said) = said_of(
        "# Guests are days behind after a restore\n\nWe restore our Firecracker guests from a snapshot that is some days old.\n\
         The guest's clock is behind by those days then, and TLS fails with every server that got its certificate since.\n\
         In the log of the guest there is this:\n\n    clocksource: Switched to clocksource tsc\n\nso it does not look at the host's \
         clock any more.\nHow do others set it?\n",
    );
    let said = unwrapped(&said);
    assert!(said.contains("about a clock that shows the wrong time"), "{said}");
    assert!(said.contains("more: clocksmith explain 'Firecracker'"), "{said}");
}

#[test]
fn an_element_in_a_sentence_is_no_configuration() {
    let (_, said) = said_of(
        "# Windows guests have a wrong clock\n\nThe time zone of the host is CST. Others have:\nlinux vm: <clock offset='utc'>\nwindows vm: \
         <clock offset='localtime'>\n",
    );
    assert!(!said.contains("not a log but a configuration"), "{said}");
    assert!(said.contains("explain 'libvirt timers'"), "{said}");
}

#[test]
fn other_systems_get_no_advice_for_linux() {
    for (text, name) in [
        ("CheriBSD in QEMU: the system time is twice as slow as it should be.\n", "CheriBSD"),
        ("#include <zephyr/kernel.h>\nThe system time is wrong by hours.\n", "Zephyr"),
    ] {
        let (_, said) = said_of(text);
        assert!(said.contains(&format!("from {name}, but")), "{said}");
        assert!(!said.contains("chronyc"), "{said}");
    }
}

#[test]
fn two_readings_of_one_command_are_a_sequence() {
    let reading = |time: &str, rtc: &str, state: &str| {
        format!(
            "$ timedatectl\n               Local time: Tue 2024-05-07 {time} UTC\n           Universal time: Tue 2024-05-07 {time} UTC\n\
             \x20                RTC time: Tue 2024-05-07 {rtc}\n                Time zone: Etc/UTC (UTC, +0000)\n\
             System clock synchronized: {state}\n              NTP service: active\n          RTC in local TZ: no\n"
        )
    };
    let first = reading("10:00:00", "10:00:00", "yes");
    let title = "# A systemd timer is late by the time of the suspend\n\n";
    let (_, said) = said_of(&format!("{title}{first}{}", reading("10:20:00", "10:20:01", "no")));
    let said = unwrapped(&said);
    assert!(said.contains("an earlier output in this text was synchronised"), "{said}");
    assert!(!said.contains("none of its servers answers"), "{said}");
    assert!(said.contains("more: clocksmith explain 'systemd timers'"), "{said}");
    // The clock is wrong there.
    let (_, said) = said_of(&format!("{first}{}", reading("10:20:00", "11:40:00", "no")));
    assert!(!unwrapped(&said).contains("an earlier output in this text"), "{said}");
}

#[test]
fn a_server_of_timesyncd_that_does_not_answer_is_not_asked_again() {
    let status = "       Server: 192.0.2.7 (0.pool.example)\nPoll interval: 1min 4s (min: 32s; max 34min 8s)\n Packet count: 0\n";
    let properties = "PollIntervalMinUSec=32s\nPollIntervalMaxUSec=34min 8s\nPollIntervalUSec=32s\nServerName=0.pool.example\n\
                      ServerAddress=192.0.2.7\n";
    for text in [status.to_owned(), format!("$ timedatectl show-timesync\n{properties}")] {
        let said = unwrapped(&said_of(&text).1);
        assert!(said.contains("no answer from it"), "{said}");
        for other in ["chronyc sources", "ntpq -p", "timedatectl timesync-status`"] {
            assert!(!said.contains(other), "{other}: {said}");
        }
    }
    let none = unwrapped(&said_of("       Server: n/a (n/a)\nPoll interval: 0 (min: 32s; max 34min 8s)\n Packet count: 0\n").1);
    assert!(none.contains("has asked no server") && !none.contains("servers answers"), "{none}");
}

#[test]
fn a_program_that_compares_its_own_clock_names_no_second_host() {
    let said = unwrapped(
        &said_of("Clock skew on our nodes\n10:11:12:WARNING:WU01:Detected clock skew (2 mins 5 secs), adjusting time estimates\n").1,
    );
    assert!(!said.contains("two hosts") && !said.contains("same NTP servers"), "{said}");
    assert!(said.contains("Folding@home"), "{said}");
}

#[test]
fn text_of_another_system_gets_no_advice_of_linux() {
    let tracking = "# chronyc tracking\nStratum         : 3\nSystem time     : 7.8 seconds slow of NTP time\n\
                    Frequency       : 4900.1 ppm slow\nLeap status     : Normal\n";
    for (text, system) in [
        ("# uname -a\nSunOS box 5.11 x i86pc i386 i86pc\n", "illumos or Solaris"),
        ("On a box with FreeBSD 13:\n", "FreeBSD"),
        ("On my Mac with macOS 14:\n", "macOS"),
    ] {
        let (code, said) = said_of(&format!("{text}{tracking}"));
        let said = unwrapped(&said);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(&format!("It seems to be from {system}")), "{said}");
        assert!(!said.contains("/sys/") || said.contains("readings of /sys and /proc"), "{said}");
        assert!(!said.contains("dmesg") && !said.contains("clocksource="), "{said}");
    }
    // The same on a machine with Linux.
    let (code, said) = said_of(&format!("On my Debian box, whose server has FreeBSD:\n{tracking}"));
    assert_ne!(code, Some(2), "{said}");
}

#[test]
fn sentences_beside_kernel_lines_are_counted_and_name_their_page() {
    let log =
        "May 22 09:48:47 box.local kernel: rcu: INFO: rcu_preempt self-detected stall on CPU\n"
            .repeat(5);
    let post = "The date and time of the VM are those of its snapshot, and its log has this:\n\n";
    let (_, said) = said_of(&format!("{post}{log}"));
    assert!(said.contains("1 line not recognised"), "{said}");
    assert!(said.contains("more: clocksmith explain 'wall-clock-stale-after-restore'"), "{said}");
    let (_, alone) = said_of(&log);
    assert!(!alone.contains("not recognised"), "{alone}");
}

#[test]
fn guest_that_is_named_is_not_without_a_sign_of_a_hypervisor() {
    let reading = "$ cat /sys/devices/system/clocksource/clocksource0/current_clocksource\ntsc\n";
    let assumed = |text: &str| said_of(&format!("{text}{reading}")).1;
    for text in ["Platform: EC2 i3en.3xlarge\n", "It runs under KVM.\n"] {
        let said = unwrapped(&assumed(text));
        assert!(!said.contains("no sign of a hypervisor"), "{said}");
        assert!(said.contains("the text names a cloud or a hypervisor"), "{said}");
    }
    assert!(unwrapped(&assumed("")).contains("no sign of a hypervisor"));
}

#[test]
fn dom0_of_qubes_is_not_told_to_run_a_time_daemon() {
    let state = "       Time zone: America/Chicago (CDT, -0500)\n Network time on: no\nNTP synchronized: no\n RTC in local TZ: no\n";
    let (_, said) =
        said_of(&format!("qvm-sync-clock sets a wrong time\n[user@dom0 ~]$ timedatectl\n{state}"));
    assert!(!said.contains("set-ntp"), "{said}");
    let (_, said) = said_of(&format!("[user@box ~]$ timedatectl\n{state}"));
    assert!(said.contains("set-ntp"), "{said}");
}

#[test]
fn state_that_a_text_names_as_the_new_one_leads() {
    let switched =
        |at: &str, name: &str| format!("[   {at}] clocksource: Switched to clocksource {name}\n");
    let demoted = "[    0.100000] tsc: Marking TSC unstable due to running on Hyper-V\n";
    let page = switched("13.259868", "hyperv_clocksource_tsc_page");
    let text = format!("new\n{}\nbefore\n{demoted}{page}", switched("20.910751", "tsc"));
    let (_, said) = said_of(&text);
    assert!(
        unwrapped(&said).starts_with("This text shows 2 machines or states of one. new (lines"),
        "{said}"
    );
}
