//! A write to `current_clocksource` after the reading leaves open which clocksource is in use.
#![allow(clippy::unwrap_used)]

use crate::common::{pasted, why};
use clocksmith_diagnose::{Cause, CauseId, Verdict};

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
    let list = format!("[root@h]# cat {DIR}/available_clocksource\ntsc hpet acpi_pm\n");
    let report = pasted(&format!("{list}{edit}{restart}\n{after}"));
    assert!(report.headline.contains("the kernel command line chooses it"), "{}", report.headline);
    assert!(report.causes.iter().all(|cause| cause.id != CauseId::RuntimeOverride));
    // A choice without a restart, and a command line without the parameter, are a choice at run time.
    let proc = "[root@h]# cat /proc/cmdline\nBOOT_IMAGE=/vmlinuz root=/dev/sda1 ro\n";
    for text in [format!("{list}{edit}{after}"), format!("{list}{edit}{restart}\n{proc}{after}")] {
        let report = pasted(&text);
        let is_it = |cause: &Cause| cause.id == CauseId::RuntimeOverride;
        assert!(report.causes.iter().any(is_it), "{text}");
    }
    // Not restarted, or restarted without another parameter.
    for more in [edit, restart] {
        let report = pasted(&format!("{read}{more}"));
        assert_eq!(report.clocksource.current.as_deref(), Some("tsc"), "{more}");
    }
}

#[test]
fn write_behind_a_profile_makes_it_history() {
    let profile = "# Samples: 12K of event 'cycles'\n    38.20%  db  [kernel.kallsyms]  [k] read_hpet\n     \
                   4.10%  db  db  [.] scan\n";
    let before = pasted(profile);
    assert_eq!(before.verdict, Verdict::Slow, "{}", before.headline);
    for write in [
        format!("$ echo tsc | sudo tee {DIR}/current_clocksource\ntsc\n"),
        format!("# echo tsc >\n{DIR}/current_clocksource\n"),
        format!("# echo tsc\n> {DIR}/current_clocksource\n"),
    ] {
        let report = pasted(&format!("{profile}{write}"));
        assert_eq!(report.verdict, Verdict::Unknown, "{write}: {}", report.headline);
        assert_eq!(report.clocksource.current, None, "{write}");
    }
    // The same again, and a profile after it.
    let write = format!("# echo hpet > {DIR}/current_clocksource\n");
    assert_eq!(pasted(&format!("{profile}{write}")).verdict, Verdict::Slow);
    let write = write.replace("hpet", "tsc");
    assert_eq!(pasted(&format!("{write}{profile}")).verdict, Verdict::Slow);
}

#[test]
fn write_that_a_mail_broke_is_not_a_reading() {
    let read = format!("$ cat {DIR}/current_clocksource\nhpet\n");
    let path = format!("{DIR}/current_clocksource");
    let (front, back) = path.split_at(DIR.len() - 1);
    for write in [
        format!("$ echo tsc >\n{path}\n"),
        format!("$ echo tsc | sudo tee\n{path}\ntsc\n"),
        format!("$ echo tsc |\nsudo tee\n{path}\ntsc\n"),
        format!("$ sudo sh -c 'echo tsc >\n{path}'\n"),
        format!("$ echo tsc > {front}\n{back}\n"),
    ] {
        let text = format!("{read}{write}");
        for text in [text.replace('\n', "\n> ").replacen("$", "> $", 1), text] {
            let report = pasted(&text);
            assert_eq!(report.verdict, Verdict::Unknown, "{text}: {}", report.headline);
            assert_eq!(report.clocksource.current, None, "{text}");
        }
        let report = pasted(&format!("{write}{read}"));
        assert_eq!(report.clocksource.current.as_deref(), Some("hpet"), "{write}");
    }
}

#[test]
fn reading_that_somebody_expects_is_none() {
    let read = |name: &str| format!("$ cat {DIR}/current_clocksource\n{name}\n");
    for said in [
        "On a good machine you should see:",
        "I expected",
        "The output will be",
        "It should say:",
        "> You should see the following.",
        "Expected output:",
    ] {
        for between in ["\n", "\n\n", "\n\n```\n"] {
            let report = pasted(&format!("{said}{between}{}", read("tsc")));
            assert_eq!(report.verdict, Verdict::Unknown, "{said}: {}", report.headline);
            assert_eq!(report.clocksource.current, None, "{said}");
        }
        let report = pasted(&format!("{said}\n\n{}\nbut I see\n\n{}", read("tsc"), read("hpet")));
        assert_eq!(report.clocksource.current.as_deref(), Some("hpet"), "{said}");
    }
    for said in [
        "I expected tsc here:",
        "I expected something else, but I see:",
        "That should be better. This is what I get:",
        "As expected:",
    ] {
        let report = pasted(&format!("{said}\n{}", read("hpet")));
        assert_eq!(report.clocksource.current.as_deref(), Some("hpet"), "{said}");
    }
}

#[test]
fn own_reading_of_a_mail_is_newer_than_the_one_that_it_quotes() {
    let own = "clocksource: tsc\n";
    let quoted = "On Tuesday somebody wrote:\n> clocksource: hpet\n";
    for text in [format!("{quoted}\n{own}"), format!("{own}\n{quoted}")] {
        let report = pasted(&text);
        assert_eq!(report.clocksource.current.as_deref(), Some("tsc"), "{text}");
    }
}

/// A boot that uses the TSC, with a minute of messages after its last switch.
fn boot(last: &str) -> String {
    let mut text =
        "[    0.000000] Linux version 6.1.0-13-amd64 (a@b) (gcc 12.2.0) #1 SMP\n".to_owned();
    text.push_str("[    0.000000] DMI: Acme R1/B1, BIOS 1.0 01/02/2020\n");
    text.push_str("[    0.900000] clocksource: Switched to clocksource tsc-early\n");
    text.push_str(&format!("[    1.900000] clocksource: Switched to clocksource {last}\n"));
    for at in 2..60 {
        text.push_str(&format!("[   {at:2}.000000] usb 1-{at}: new high-speed USB device\n"));
    }
    text
}

#[test]
fn commands_behind_a_log_leave_the_clocksource_open() {
    let file = format!("{DIR}/current_clocksource");
    let before = why(&boot("tsc"));
    assert_eq!(before.verdict, Verdict::Ok, "{}", before.headline);
    for more in [
        format!("root@box:~# echo hpet > {file}\nroot@box:~#\n"),
        format!("[root@vm ~]# echo acpi_pm > {file}\n"),
        format!("$ echo hpet | sudo tee {file}\nhpet\n"),
        format!("~ # echo hpet > {file}\n~ # ./bench\n1200 ns per call\n"),
        format!("\nThen I did\n\n    echo hpet | sudo tee {file}\n\nand it got slow.\n"),
        format!("# echo tsc > {DIR}/unbind_clocksource\n"),
        "[root@h]# grubby --args=clocksource=hpet --update-kernel=DEFAULT\n[root@h]# reboot\n\n\
         The system is going down for reboot NOW!\n"
            .to_owned(),
    ] {
        let report = pasted(&format!("{}{more}", boot("tsc")));
        assert_eq!(report.verdict, Verdict::Unknown, "{more}: {}", report.headline);
        assert_eq!(report.clocksource.current, None, "{more}");
        assert!(report.headline.starts_with("Unknown: it was tsc"), "{more}: {}", report.headline);
    }
    // The same again, a command above the log, and one that a person only suggests.
    let write = |name: &str| format!("root@box:~# echo {name} > {file}\n");
    for text in [
        format!("{}{}", boot("tsc"), write("tsc")),
        format!("{}root@box:~# dmesg\n{}", write("hpet"), boot("tsc")),
        format!("{}\nYou could try:\n\n# echo hpet > {file}\n", boot("tsc")),
    ] {
        let report = pasted(&text);
        assert_eq!(report.clocksource.current.as_deref(), Some("tsc"), "{}", report.headline);
    }
    let slow = format!("{}{}", boot("hpet"), write("tsc"));
    assert_eq!(pasted(&slow).verdict, Verdict::Unknown, "{}", pasted(&slow).headline);
}

#[test]
fn text_that_continues_with_a_change_leaves_the_clocksource_open() {
    let file = format!("{DIR}/current_clocksource");
    let read = format!("root@box:~# cat {file}\ntsc\n");
    for more in [
        format!("$ sudo tee {file} <<< acpi_pm\nacpi_pm\n"),
        format!("# cd {DIR}; echo hpet > current_clocksource\n"),
        format!("# printf hpet > {file}\n"),
        format!(">>> open('{file}','w').write('hpet')\n4\n"),
        format!("$ ssh root@lulu \"echo hpet > {file}\"\n"),
        "root@lulu:~# sed -i s/quiet/clocksource=hpet/ /etc/default/grub && update-grub && reboot\n"
            .to_owned(),
        "root@lulu:~# kexec -l /boot/vmlinuz --append=\"clocksource=acpi_pm\" && kexec -e\n"
            .to_owned(),
        "\nThen I wrote hpet to current_clocksource and it became slow.\n".to_owned(),
    ] {
        for text in [format!("{}{more}", boot("tsc")), format!("{read}{more}")] {
            let report = pasted(&text);
            assert_eq!(report.verdict, Verdict::Unknown, "{more}: {}", report.headline);
            assert_eq!(report.clocksource.current, None, "{more}");
        }
        let headline = pasted(&format!("{}{more}", boot("tsc"))).headline;
        assert!(headline.contains("this text continues with"), "{more}: {headline}");
        // A list alone does not show that its first name is still in use.
        let list = format!("root@box:~# cat {DIR}/available_clocksource\ntsc hpet acpi_pm\n");
        assert_eq!(pasted(&format!("{list}{more}")).clocksource.current, None, "{more}");
        // A reading behind it.
        let report = pasted(&format!("{}{more}{read}", boot("tsc")));
        assert_eq!(report.clocksource.current.as_deref(), Some("tsc"), "{more}");
    }
    for more in [
        read.clone(),
        format!("# printf tsc > {file}\n"),
        "\nShould I switch to hpet, or boot with clocksource=hpet?\n".to_owned(),
        "root@lulu:~# vi /etc/default/grub\nroot@lulu:~# dmesg | grep clocksource | wc -l\n6\n"
            .to_owned(),
    ] {
        let report = pasted(&format!("{}{more}", boot("tsc")));
        assert_eq!(report.verdict, Verdict::Ok, "{more}: {}", report.headline);
    }
}

#[test]
fn tick_that_is_chosen_late_is_not_the_only_choice() {
    let text = |at: u32| {
        format!(
            "[{}.016000] eth0: link down\n[{at}.756000] clocksource: Switched to clocksource jiffies\n\
             [{}.020000] eth0: link up\n[{}.020000] eth0: link down\n[{}.020000] eth0: link up\n\
             [{}.020000] usb 1-1: new high-speed USB device number 4 using xhci_hcd\n\
             [{}.020000] usb 1-1: New USB device found, idVendor=1050, idProduct=0407\n",
            at - 1,
            at + 300,
            at + 301,
            at + 302,
            at + 320,
            at + 321
        )
    };
    let late = why(&text(80_576));
    assert_eq!(late.verdict, Verdict::Slow, "{}", late.headline);
    assert!(!late.headline.contains("nothing better"), "{}", late.headline);
    assert!(late.headline.contains("does not show why"), "{}", late.headline);
}
