//! Files for each rule, both ways.

use crate::finding::Severity;
use crate::formats::Kind;
use crate::guest::Guest;
use crate::testing;

fn ids(text: &str) -> Vec<(&'static str, Severity)> {
    testing::ids(Kind::Xen, "m.cfg", text)
}

fn bad(text: &str) -> Vec<&'static str> {
    testing::bad(Kind::Xen, "m.cfg", text)
}

const HVM: &str = "name = \"debian\"\ntype = 'hvm'\n";

#[test]
fn the_default_is_well() {
    let info = Severity::Info;
    let all = ids(HVM);
    assert_eq!(
        all,
        [("xen-tsc-default", info), ("xen-no-nomigrate", info), ("xen-hpet-default-on", info)]
    );
    let all = ids(&format!("{HVM}nomigrate = 1\nhpet=0\ntsc_mode='default'\n"));
    assert_eq!(all, [("xen-nomigrate-ok", info), ("xen-tsc-default", info)]);
    assert_eq!(ids("name='a'\nkernel='/boot/k'\nramdisk='/r'\n"), [("xen-tsc-default", info)]);
}

#[test]
fn modes() {
    let one = |mode: &str| bad(&format!("{HVM}tsc_mode = {mode}\n"));
    assert_eq!(one("\"native\""), ["xen-native-no-nomigrate"]);
    assert_eq!(one("2"), ["xen-tsc-mode-numeric", "xen-native-no-nomigrate"]);
    assert_eq!(one("0"), ["xen-tsc-mode-numeric"]);
    assert_eq!(one("'always_emulate'"), ["xen-tsc-always-emulate"]);
    assert_eq!(one("'native_paravirt'"), ["xen-tsc-mode-removed"]);
    assert_eq!(one("3"), ["xen-tsc-mode-removed"]);
    assert_eq!(one("'fast'"), ["xen-tsc-mode-unknown"]);
    assert_eq!(one("7"), ["xen-tsc-mode-unknown"]);
    assert_eq!(one("'@MODE@$x'"), [""; 0]);
    let ok = ("xen-invtsc-native-ok", Severity::Info);
    assert!(ids(&format!("{HVM}tsc_mode='native'\nnomigrate=1\n")).contains(&ok));
    assert!(ids(&format!("{HVM}tsc_mode='native'\ncpuid=\"host,invtsc=1\"\n")).contains(&ok));
    let mended = testing::mended(Kind::Xen, "m.cfg", &format!("{HVM}tsc_mode=0 # clock\r\n"));
    assert_eq!(mended, format!("{HVM}tsc_mode=\"default\" # clock\r\n"));
    // A number is replaced by its name, and never by another mode.
    for (number, name) in
        [("0", "\"default\""), ("1", "\"always_emulate\""), ("2", "\"native\""), ("3", "3")]
    {
        let of = |mode: &str| format!("{HVM}tsc_mode = {mode}\n");
        assert_eq!(testing::mended(Kind::Xen, "m.cfg", &of(number)), of(name));
        assert_eq!(testing::mended(Kind::Xen, "m.cfg", &of(name)), of(name));
    }
}

#[test]
fn windows() {
    let text = "name = 'windows10'\nbuilder = \"hvm\"\n";
    assert_eq!(bad(text), ["xen-viridian-off"]);
    let none = ["xen-viridian-no-reference-tsc"];
    assert_eq!(bad(&format!("{text}viridian=1\n")), none);
    assert_eq!(bad(&format!("{text}viridian = [ \"base\", 'time_ref_count' ]\n")), none);
    assert_eq!(bad(&format!("{text}viridian = [ 'all', '!reference_tsc' ]\n")), none);
    for groups in ["['defaults', 'reference_tsc', 'stimer']", "['all']"] {
        assert_eq!(bad(&format!("{text}viridian = {groups}\n")), [""; 0], "{groups}");
    }
    // It has no such page.
    assert_eq!(bad("name = 'xp'\nbuilder='hvm'\nviridian = 1\n"), [""; 0]);
    assert_eq!(bad("name = 'winter'\nbuilder='hvm'\nviridian = 0\n"), [""; 0]);
    // Linux finds Xen at the higher leaf, so nothing is wrong and nothing is advised.
    let linux = testing::report(Kind::Xen, "m.cfg", &format!("{HVM}viridian = 1\n"));
    let found = linux.findings.iter().find(|it| it.rule.id == "xen-viridian-linux").unwrap();
    assert_eq!((found.severity, found.fix.clone()), (Severity::Info, None));
}

#[test]
fn features_and_timers() {
    let one = |line: &str| bad(&format!("{HVM}{line}\n"));
    assert_eq!(one("cpuid='host,invtsc=0'"), ["xen-invtsc-masked"]);
    assert_eq!(one("cpuid='host,itsc=0,rdtscp=0'"), ["xen-invtsc-masked", "xen-rdtscp-off"]);
    assert_eq!(one("cpuid='host,hypervisor=0'"), ["xen-hypervisor-hidden"]);
    assert_eq!(one("cpuid=['0x1:ecx=x']"), [""; 0]);
    assert_eq!(one("timer_mode='delay_for_missed_ticks'"), ["xen-timer-mode-delay"]);
    assert_eq!(one("timer_mode=0"), ["xen-timer-mode-delay"]);
    assert_eq!(one("timer_mode=1"), [""; 0]);
    assert_eq!(one("timer_mode='x'"), ["xen-timer-mode-unknown"]);
    assert!(ids(&format!("{HVM}hpet=1\n")).contains(&("xen-hpet-on", Severity::Info)));
}

#[test]
fn kernel_parameters() {
    let text = "name='a'\nkernel='/k'\nextra = 'quiet clocksource=kvmclock'\n";
    assert_eq!(bad(text), ["cmdline-unknown-clocksource"]);
    assert!(testing::mended(Kind::Xen, "m.cfg", text).contains("'quiet clocksource=kvm-clock'"));
    assert_eq!(bad("name='a'\nextra = 'clocksource=xen'\n"), [""; 0]);
}

#[test]
fn what_is_no_domain() {
    testing::broken(Kind::Xen, "");
    testing::broken(Kind::Xen, "import os\n\u{0}\n");
    let part = testing::report(Kind::Xen, "m.cfg", "tsc_mode='native'\n");
    assert!(part.partial);
}

#[test]
fn xen_device_tree_is_a_domain_on_arm() {
    let text = "name = \"a\"\nkernel = \"/boot/u-boot.bin\"\ndevice_tree = \"/boot/a.dtb\"\nmemory = 1024\nvcpus = 2\nextra = \"console=hvc0\"\n";
    assert_eq!(Kind::detect("a.cfg", text), Some(Kind::Xen));
    assert_eq!(testing::ids(Kind::Xen, "a.cfg", text), []);
    let board = "kernel=kernel8.img\ndevice_tree=board.dtb\n";
    assert_eq!(Kind::detect("config.txt", board), None);
}

#[test]
fn number_stays_where_the_reader_may_know_no_names() {
    let edited = |text: &str| testing::mended(Kind::Xen, "m.cfg", text) != text;
    let of = |rest: &str| format!("{HVM}tsc_mode = 1\ntimer_mode = 0\n{rest}");
    assert!(edited(&of("")));
    assert!(edited(&of("device_model_version = \"qemu-xen\"\n")));
    for rest in [
        "device_model = '/usr/lib/xen/bin/qemu-dm'\n",
        "# xl 4.1: numbers only\n",
        "# xm create m.cfg\n",
    ] {
        assert!(!edited(&of(rest)), "{rest}");
    }
}

#[test]
fn an_installation_image_tells_more_than_viridian() {
    let text = |image: &str| {
        format!(
            "name = 'a'\ntype = 'hvm'\nviridian = 1\ndisk = [ 'phy:/dev/vg/a,xvda,w', 'file:/iso/{image},hdc:cdrom,r' ]\n"
        )
    };
    assert_eq!(bad(&text("debian-12.iso")), [""; 0]);
    assert!(ids(&text("debian-12.iso")).contains(&("xen-viridian-linux", Severity::Info)));
    assert_eq!(bad(&text("win10.iso")), ["xen-viridian-no-reference-tsc"]);
    assert_eq!(bad(&text("a.iso")), ["xen-viridian-no-reference-tsc"]);
}

#[test]
fn viridian_alone_is_a_guess_and_a_kernel_of_linux_tells_more() {
    let of = |more: &str| {
        let text = format!("type = \"hvm\"\nname = \"a\"\nviridian = 1\n{more}");
        let report = testing::report(Kind::Xen, "a.cfg", &text);
        (report.guest, report.guessed)
    };
    assert_eq!(of(""), (Guest::Windows, true));
    assert_eq!(of("kernel = \"/boot/vmlinuz\"\n"), (Guest::Linux, false));
    assert_eq!(of("kernel = \"hvmloader\"\n").0, Guest::Windows);
}

#[test]
fn options_that_xe_gives_are_judged() {
    let of = |line: &str| testing::ids(Kind::Xen, "a.sh", &format!("#!/bin/bash\nU=$1\n{line}\n"));
    let warn = |id: &'static str| vec![(id, Severity::Warn)];
    let info = |id: &'static str| vec![(id, Severity::Info)];
    for (line, found) in [
        ("xe vm-param-set uuid=$U platform:tsc_mode=1", warn("xen-tsc-always-emulate")),
        (
            "M=1\nxe vm-param-add uuid=\"$U\" param-name=platform tsc_mode=$M",
            warn("xen-tsc-always-emulate"),
        ),
        ("xe vm-param-set uuid=$U platform:tsc_mode=0", info("xen-tsc-default")),
        ("sudo xe vm-param-set uuid=$U platform:tsc_mode=2", warn("xen-native-no-nomigrate")),
        (
            "xe vm-param-set uuid=$U platform:nomigrate=true platform:tsc_mode=2",
            info("xen-invtsc-native-ok"),
        ),
        ("xe vm-param-set uuid=$U platform:tsc_mode=$2", vec![]),
        ("xe vm-param-set uuid=$U platform:timeoffset=3600 memory-static-max=2GiB", vec![]),
        ("xe vm-param-set uuid=$U PV-args=\"console=hvc0 notsc\"", warn("cmdline-notsc")),
        ("xe vm-param-set uuid=$U PV-args=\"console=hvc0 quiet\"", vec![]),
    ] {
        let text = format!("#!/bin/bash\nU=$1\n{line}\n");
        assert_eq!(of(line), found, "{line}");
        assert_eq!(testing::mended(Kind::Xen, "a.sh", &text), text);
        if found.iter().any(|(id, _)| id.starts_with("xen")) {
            assert_eq!(Kind::detect("a.sh", &text), Some(Kind::Xen), "{line}");
        }
    }
}
