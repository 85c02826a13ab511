use crate::formats::Kind;
use crate::testing;

fn ids(name: &str, text: &str) -> Vec<&'static str> {
    assert_eq!(Kind::detect(name, text), Some(Kind::Bhyve), "{text}");
    testing::ids(Kind::Bhyve, name, text).into_iter().map(|(id, _)| id).collect()
}

#[test]
fn rtc_of_a_linux_guest_shows_utc() {
    let command = |flags: &str| {
        format!(
            "#!/bin/sh\nbhyve -c 4 -m 8G {flags} \\\n  -s 0:0,hostbridge -s 31,lpc \\\n  centos\n"
        )
    };
    assert_eq!(ids("centos7.sh", &command("-H -P -A")), ["bhyve-rtc-local"]);
    assert_eq!(ids("centos7.sh", &command("-H -P -A -u")), [""; 0]);
    assert_eq!(ids("centos7.sh", &command("-AHPu")), [""; 0]);
    assert_eq!(ids("win10.sh", &command("-H")), [""; 0]);
    let conf = |rest: &str| {
        format!(
            "loader=\"grub\"\ncpu=2\nmemory=1G\ndisk0_type=\"virtio-blk\"\ngrub_run0=\"linux /vmlinuz\"\n{rest}"
        )
    };
    assert_eq!(ids("a.conf", &conf("utctime=\"no\"\n")), ["bhyve-rtc-local"]);
    assert_eq!(ids("a.conf", &conf("")), [""; 0]);
    testing::broken(Kind::Bhyve, "x\n");
}

#[test]
fn bhyve_options_on_the_next_lines_are_a_command() {
    let text =
        "#!/bin/sh\nbhyve \\\n\t-c 2 -m 1G \\\n\t-H -w \\\n\t-s 0,hostbridge \\\n\tguest &\n";
    assert_eq!(ids("debian.sh", text), ["bhyve-rtc-local"]);
    assert_eq!(ids("debian.sh", &text.replace("-H -w", "-H -u")), [""; 0]);
    assert_eq!(Kind::detect("a.sh", "#!/bin/sh\n# bhyve \\\n#  -c 2\nkldload vmm\n"), None);
}

#[test]
fn rtc_of_every_unix_guest_shows_utc() {
    let run = |flags: &str| format!("bhyve -c 2 -m 1G {flags} -s 0,hostbridge guest\n");
    let load = "#!/bin/sh\nbhyveload -m 1G -d guest.img guest\n";
    assert_eq!(ids("a.sh", &format!("{load}{}", run("-A -H"))), ["bhyve-rtc-local"]);
    assert_eq!(ids("a.sh", &format!("{load}{}", run("-A -H -u"))), [""; 0]);
    let grub = "grub-bhyve -m device.map -r hd0 -M 1G guest\n";
    assert_eq!(ids("a.sh", &format!("{grub}{}", run("-A -H"))), ["bhyve-rtc-local"]);
    assert_eq!(ids("win10.sh", &format!("{grub}{}", run("-A -H"))), [""; 0]);
    assert_eq!(ids("freebsd14.sh", &run("-A -H")), ["bhyve-rtc-local"]);
    assert_eq!(ids("a.sh", &run("-A -H")), [""; 0]);
}

#[test]
fn rtc_of_a_machine_with_variables_is_judged() {
    let run = |rest: &str| format!("bhyve -c 2 -m 1G -s 3,ahci-cd,$ISO {rest} freebsd-vm\n");
    assert_eq!(ids("a.sh", &run("-H")), ["bhyve-rtc-local"]);
    assert_eq!(ids("a.sh", &run("-H -u")), [""; 0]);
    let cd = "if [ \"$1\" ]; then\n  CD=\"-s 4,ahci-cd,a.iso\"\nelse\n  CD=\nfi\n";
    assert_eq!(ids("a.sh", &format!("{cd}{}", run("$CD"))), ["bhyve-rtc-local"]);
    for more in [cd.replace("CD=\n", "CD=-u\n"), cd.replace("CD=\n", "CD=(-u)\n"), String::new()] {
        assert_eq!(ids("a.sh", &format!("{more}{}", run("$CD"))), [""; 0], "{more}");
    }
}

#[test]
fn bhyve_in_a_variable_is_a_command() {
    let text = |set: &str, run: &str| format!("#!/bin/sh\n{set}\n{run} -A -c 1 -m 256M -H vm0\n");
    for (set, run) in [
        ("BHYVE=../bhyve/bhyve", "$BHYVE"),
        ("BHYVE=\"/usr/sbin/bhyve\"", "sudo \"${BHYVE}\""),
        ("BHYVE=${BHYVE:-bhyve}", "$BHYVE"),
        ("set -e", "${BHYVE:-bhyve}"),
        ("set -e", "$PREFIX/sbin/bhyve"),
    ] {
        assert_eq!(ids("debian.sh", &text(set, run)), ["bhyve-rtc-local"], "{set}");
        assert_eq!(ids("debian.sh", &text(set, run).replace("-A", "-u")), [""; 0], "{set}");
    }
    for (set, run) in [("BHYVE=bhyve", "echo $BHYVE"), ("BHYVE=bhyve", "$OTHER"), ("", "$BHYVE")] {
        assert_eq!(Kind::detect("debian.sh", &text(set, run)), None, "{set} {run}");
    }
}

#[test]
fn machine_of_an_older_vm_bhyve_is_one() {
    let text = |guest: &str, rest: &str| {
        format!(
            "guest=\"{guest}\"\ncpu=1\nmemory=512M\nnetwork0_type=\"virtio-net\"\ndisk0_type=\"virtio-blk\"\n{rest}"
        )
    };
    assert_eq!(ids("a.conf", &text("alpine", "")), [""; 0]);
    assert_eq!(ids("a.conf", &text("alpine", "utctime=\"no\"\n")), ["bhyve-rtc-local"]);
    assert_eq!(ids("a.conf", &text("windows", "utctime=\"no\"\n")), [""; 0]);
}

#[test]
fn bhyve_in_a_variable_that_is_set_if_it_is_empty() {
    for run in ["eval ${BHYVE}", "${BHYVE}", "sudo $BHYVE"] {
        let text =
            format!("#!/bin/sh\n: ${{BHYVE:=/usr/sbin/bhyve}}\n{run} -c 2 -m 1G -H debian\n");
        assert_eq!(ids("debian.sh", &text), ["bhyve-rtc-local"], "{run}");
    }
}

#[test]
fn machine_of_vm_bhyve_without_a_loader_is_one() {
    let lines = "cpu=1\nmemory=2G\nnetwork0_type=\"virtio-net\"\nnetwork0_switch=\"public\"\ndisk0_type=\"ahci-hd\"\ndisk0_name=\"disk0.img\"\n";
    for begin in ["uefi=\"yes\"\n", ""] {
        let text = format!("{begin}{lines}");
        assert_eq!(Kind::detect("windows.conf", &text), Some(Kind::Bhyve), "{begin}");
        assert_eq!(ids("windows.conf", &text), [""; 0]);
        let local = format!("{text}utctime=\"no\"\n");
        assert_eq!(ids("debian.conf", &local), ["bhyve-rtc-local"], "{begin}");
        assert_eq!(ids("windows.conf", &local), [""; 0]);
    }
    for other in [
        "uefi=\"yes\"\ncpu=1\n",
        "cpu=1\nmemory=2G\nnetwork0_type=x\nnetwork0_switch=y\n",
        "disk0_name=a\ndisk0_type=b\n",
    ] {
        assert_eq!(Kind::detect("a.conf", other), None, "{other}");
    }
}
