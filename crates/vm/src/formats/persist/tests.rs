//! Files of every language that makes a choice persistent, one for each rule, both ways.

use crate::finding::Severity;
use crate::formats::Kind;
use crate::testing;
use proptest::prelude::*;

fn bad(name: &str, text: &str) -> Vec<&'static str> {
    testing::bad(Kind::Persistence, name, text)
}

fn ids(name: &str, text: &str) -> Vec<&'static str> {
    testing::ids(Kind::Persistence, name, text).into_iter().map(|(id, _)| id).collect()
}

const FILE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

#[test]
fn tuned() {
    let of = |text: &str| testing::ids(Kind::Tuned, "tuned.conf", text);
    let text =
        format!("[main]\ninclude=x\n[sysfs]\n{FILE}=tsc\n[bootloader]\ncmdline_x=skew_tick=1\n");
    assert_eq!(of(&text), [("persist-sysfs-ok", Severity::Info)]);
    let text = "[bootloader]\ncmdline_network_latency=skew_tick=1 tsc=reliable rcupdate.rcu_normal_after_boot=1\n";
    assert_eq!(of(text), [("persist-tsc-reliable-blanket", Severity::Warn)]);
    assert_eq!(of("[bootloader]\ncmdline=-tsc=reliable +nohz=on\n"), []);
    let text = format!("[sysfs]\r\n{FILE} = TSC\r\n");
    assert_eq!(of(&text), [("persist-sysfs-unknown-name", Severity::Error)]);
    assert_eq!(testing::mended(Kind::Tuned, "tuned.conf", &text), text.replace("= TSC", "= tsc"));
}

#[test]
fn included_profile_of_tuned_adds_the_parameter() {
    let info = [("persist-tsc-reliable-blanket", Severity::Info)];
    let of = |text: &str| testing::ids(Kind::Tuned, "tuned.conf", text);
    for name in [
        "network-latency",
        "cpu-partitioning",
        "cpu-partitioning-powersave",
        "realtime",
        "realtime-virtual-guest",
        "realtime-virtual-host",
        "openshift-node,cpu-partitioning",
        "virtual-guest ; realtime",
    ] {
        assert_eq!(of(&format!("[main]\nsummary=a\ninclude={name}\n")), info, "{name}");
        let text = format!("[main]\ninclude = {name} # a\n[bootloader]\ncmdline_a=nohz=on\n");
        assert_eq!(of(&text), info, "{name}");
    }
    let report =
        testing::report(Kind::Tuned, "tuned.conf", "[main]\ninclude=x-realtime,realtime\n");
    assert_eq!(report.findings[0].span, 26..34);
    for text in [
        "[main]\ninclude=throughput-performance\n",
        "[main]\ninclude=my-realtime\n",
        "[main]\n# include=realtime\n",
        "[main]\ninclude=realtime\ninclude=balanced\n",
        "[variables]\ninclude=realtime\n",
        "[main]\ninclude=${f:virt_check:realtime-virtual-guest:realtime}\n",
        // The profile omits it again.
        "[main]\ninclude=network-latency\n[bootloader]\ncmdline_network_latency=skew_tick=1\n",
        "[main]\ninclude=realtime\n[bootloader]\nreplace=1\ncmdline_a=nohz=on\n",
        "[main]\ninclude=realtime\n[bootloader]\nenabled=false\n",
        "[main]\ninclude=realtime\n[bootloader]\ncmdline_z=-tsc=reliable\n",
    ] {
        assert_eq!(of(text), [], "{text}");
    }
    // In a here-document, and in a manifest.
    let script = "#!/bin/sh\nmkdir -p /etc/tuned/a\ncat > /etc/tuned/a/tuned.conf <<EOF\n[main]\nsummary=a\ninclude=realtime\nEOF\n";
    let manifest = "apiVersion: tuned.openshift.io/v1\nkind: Tuned\nspec:\n  profile:\n  - data: |\n      [main]\n      summary=a\n      include=openshift-node,cpu-partitioning\n    name: a\n";
    for (name, text) in [("a.sh", script), ("a.yaml", manifest)] {
        assert_eq!(Kind::detect(name, text), Some(Kind::Tuned), "{text}");
        for kind in [Kind::Tuned, Kind::Persistence] {
            assert_eq!(testing::ids(kind, name, text), info, "{text}");
        }
    }
}

#[test]
fn words_about_a_parameter_set_none() {
    for text in [
        "if grep -q tsc=reliable /proc/cmdline; then\n    pass \"Kernel param: tsc=reliable\"\nfi\n",
        "warn 'Kernel param: tsc=reliable not set'\n",
        "  description = \"Pass tsc=reliable on the kernel command line.\";\n",
    ] {
        assert_eq!(bad("a.sh", text), [""; 0], "{text}");
    }
    assert_eq!(bad("a.sh", "pass tsc=reliable > /etc/kernel/cmdline\n").len(), 1);
}

#[test]
fn options_of_xen_itself_are_none_of_linux() {
    for text in [
        "menuentry Xen {\n  multiboot2 /boot/xen.gz dom0_mem=4G clocksource=hpet\n  module2 /boot/vmlinuz ro quiet\n}\n",
        "kernel /xen-4.17.gz clocksource=acpi_pm\n",
        "set_global hv_platform_tweaks \"smt=false clocksource=pit\"\n",
    ] {
        assert_eq!(bad("grub.cfg", text), [""; 0], "{text}");
    }
    let own =
        "  multiboot2 /boot/xen.gz dom0_mem=4G\n  module2 /boot/vmlinuz clocksource=hpet ro\n";
    assert_eq!(bad("grub.cfg", own).len(), 1);
}

#[test]
fn writes_that_are_well() {
    for text in [
        format!("echo tsc > {FILE}\n"),
        format!("echo \"tsc\" >{FILE}\n"),
        format!("echo -n 'tsc' | sudo tee {FILE} >/dev/null\n"),
        format!("printf '%s\\n' tsc > \"{FILE}\"\n"),
        format!("sudo sh -c 'echo tsc > {FILE}'\n"),
        format!("ExecStart=/bin/sh -c 'echo tsc > {FILE}'\n"),
        format!("w! {FILE} - - - - tsc\n"),
        "devices/system/clocksource/clocksource0/current_clocksource = tsc\n".to_owned(),
        "SUBSYSTEM==\"clocksource\", ATTR{current_clocksource}=\"tsc\"\n".to_owned(),
        format!("bootcmd:\n  - [ sh, -c, 'echo tsc > {FILE}' ]\n"),
        format!("echo $CS > {FILE}\n"),
        format!("- name: set\n  shell: echo tsc > {FILE}\n"),
        format!("RUN echo tsc | tee {FILE}\n"),
        "cd /sys/devices/system/clocksource/clocksource0 && echo kvm-clock > current_clocksource\n"
            .to_owned(),
    ] {
        assert_eq!(ids("x", &text), ["persist-sysfs-ok"], "{text}");
    }
    for text in [
        format!("cat {FILE}\n"),
        format!("if grep -q tsc {FILE}; then exit; fi\n"),
        format!("cs=$(cat {FILE})\n"),
        format!("current_clocksource=$(cat {FILE})\n"),
        format!("[ \"$(cat {FILE})\" = tsc ] || exit 1\n"),
        format!("cat {FILE} > /tmp/before\n"),
        format!("# echo tsc > {FILE}\n"),
        format!("- stat:\n    path: {FILE}\n"),
        format!("clocksource=$(cat {FILE} 2>/dev/null)\n"),
    ] {
        assert_eq!(ids("x", &text), [""; 0], "{text}");
    }
}

#[test]
fn files_in_variables() {
    let text = format!("F=\"{FILE}\"\necho kvmclock > \"$F\"\ncat $F\n");
    assert_eq!(bad("x.sh", &text), ["persist-sysfs-unknown-name"]);
    let unbind = FILE.replace("current", "unbind");
    assert_eq!(bad("x.sh", &format!("local f={unbind}\necho $cs > ${{f}}\n")), ["persist-unbind"]);
    assert_eq!(bad("x.sh", &format!("f=$(cat {FILE})\necho $f > /tmp/x\n")), [""; 0]);
}

#[test]
fn names_in_sysfs() {
    let text = format!("#!/bin/sh\necho kvmclock > {FILE}\n");
    assert_eq!(bad("x.sh", &text), ["persist-sysfs-unknown-name"]);
    let mended = testing::mended(Kind::Persistence, "x.sh", &text);
    assert_eq!(mended, text.replace("kvmclock", "kvm-clock"));
    assert_eq!(bad("x.sh", &format!("echo sundial > {FILE}\n")), ["persist-sysfs-unknown-name"]);
    assert_eq!(bad("x.sh", &format!("echo acpi_pm > {FILE}\n")), ["persist-sysfs-slow"]);
    assert_eq!(bad("x.conf", &format!("w {FILE} - - - - TSC\n")), ["persist-sysfs-unknown-name"]);
}

#[test]
fn writes_that_fail() {
    assert_eq!(bad("x", &format!("sed -i 's/.*/tsc/' {FILE}\n")), ["persist-sysfs-sed"]);
    for text in [
        format!("#cloud-config\nwrite_files:\n- content: tsc\n  path: {FILE}\n"),
        format!("#cloud-config\nwrite_files:\n  - path: {FILE}\n    content: tsc\n"),
        format!("- name: set\n  ansible.builtin.copy:\n    content: tsc\n    dest: {FILE}\n"),
        format!("- copy: content=tsc dest={FILE}\n"),
        format!("- lineinfile:\n    path: {FILE}\n    line: tsc\n"),
        format!(
            "{{\n \"storage\": {{\n  \"files\": [\n   {{\n    \"path\": \"{FILE}\"\n   }} ] }} }}\n"
        ),
    ] {
        assert_eq!(bad("x", &text), ["persist-sysfs-atomic-write"], "{text}");
    }
    let unbind = FILE.replace("current", "unbind");
    assert_eq!(bad("x", &format!("echo hpet > {unbind}\n")), ["persist-unbind"]);
    assert_eq!(bad("x", &format!("ls {unbind}\n")), [""; 0]);
}

#[test]
fn bare_words() {
    let text =
        "#!/bin/sh\necho \"clocksource=tsc tsc=reliable\" >> /etc/default/grub\nupdate-grub\n";
    let expected =
        ["persist-grub-bare-words", "persist-grub-not-idempotent", "persist-tsc-reliable-blanket"];
    assert_eq!(bad("x.sh", text), expected);
    // A line without any effect today is not made effective: tsc=reliable would switch the watchdog off.
    assert_eq!(testing::mended(Kind::Persistence, "x.sh", text), text);
    let one = "#!/bin/sh\necho \"clocksource=tsc quiet\" >> /etc/default/grub\nupdate-grub\n";
    let mended = testing::mended(Kind::Persistence, "x.sh", &one.replace(" quiet", ""));
    let right = "echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX clocksource=tsc\"' >> /etc";
    assert!(mended.contains(right), "{mended}");
    let text = "cat >> /etc/default/grub <<EOF\nclocksource=tsc\nEOF\nclocksource=hpet\n";
    assert_eq!(bad("x.sh", text), ["persist-grub-bare-words"]);
    let text = "echo clocksource=tsc | sudo tee -a /etc/default/grub\n";
    assert_eq!(bad("x.sh", text), ["persist-grub-bare-words", "persist-grub-not-idempotent"]);
    let text = "GRUB_TIMEOUT=5\nclocksource=tsc\n";
    assert_eq!(bad("/etc/default/grub", text), ["persist-grub-bare-words"]);
    let mended = testing::mended(Kind::Persistence, "/etc/default/grub", text);
    let right = "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX clocksource=tsc\"\n";
    assert_eq!(mended, format!("GRUB_TIMEOUT=5\n{right}"));
    // A shell treats the carriage return as a letter.
    let text = text.replace('\n', "\r\n");
    assert_eq!(testing::mended(Kind::Persistence, "/etc/default/grub", &text), text);
}

#[test]
fn scripts_that_edit_grub() {
    let again = |text: &str| bad("x.sh", text);
    for text in [
        "sed -i 's/GRUB_CMDLINE_LINUX=\"/GRUB_CMDLINE_LINUX=\"clocksource=tsc /' /etc/default/grub\n",
        "sudo sed -i.bak \"s/\\\\(GRUB_CMDLINE_LINUX_DEFAULT=\\\".*\\\\)\\\"/\\\\1 clocksource=tsc\\\"/\" \\\n    \"/etc/default/grub\"\n",
        "sed -i 's/quiet/quiet clocksource=tsc/' /mnt/etc/default/grub\n",
        "sed -i -e '/^GRUB_CMDLINE_LINUX=/ s/\"$/ clocksource=tsc\"/' /etc/default/grub\n",
        "echo 'GRUB_CMDLINE_LINUX=\"clocksource=tsc\"' >> /etc/default/grub\n",
        "perl -pi -e 's/(GRUB_CMDLINE_LINUX=\".*)\"/$1 clocksource=tsc\"/' /etc/default/grub\n",
        "- lineinfile:\n    path: /etc/default/grub\n    regexp: '^(GRUB_CMDLINE_LINUX=\".*)\"$'\n    line: '\\1 clocksource=tsc\"'\n",
    ] {
        assert_eq!(again(text), ["persist-grub-not-idempotent"], "{text}");
    }
    for text in [
        "grep -q clocksource=tsc /etc/default/grub || sed -i 's/quiet/quiet clocksource=tsc/' /etc/default/grub\n",
        "if ! grep -q 'clocksource=' /etc/default/grub; then\n  sed -i 's/quiet/quiet clocksource=tsc/' /etc/default/grub\nfi\n",
        "echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX clocksource=tsc\"' > /etc/default/grub.d/90-x.cfg\n",
        "grubby --update-kernel=ALL --args=\"clocksource=tsc\"\n",
        "rpm-ostree kargs --append-if-missing=clocksource=tsc\n",
        "kargs = [\"clocksource=tsc\"]\n",
        "boot.kernelParams = [ \"clocksource=tsc\" ];\n",
        "sed -i 's/clocksource=[^ ]*//' /etc/default/grub\n",
        "- lineinfile:\n    path: /etc/default/grub\n    regexp: '^(GRUB_CMDLINE_LINUX=\"(?!.*clocksource).*)\"$'\n    line: '\\1 clocksource=tsc\"'\n",
    ] {
        assert_eq!(again(text), [""; 0], "{text}");
    }
    let text = "sed -i \"s/^GRUB_CMDLINE_LINUX=.*/GRUB_CMDLINE_LINUX=\\\"clocksource=tsc\\\"/\" /etc/default/grub\n";
    assert_eq!(again(text), ["persist-grub-replaces-line"]);
}

#[test]
fn new_line_of_grub_in_a_variable() {
    let again = |value: &str, replacement: &str| {
        let text = format!(
            "#!/bin/bash\n{value}\nsudo sed -i \"s|^GRUB_CMDLINE_LINUX=.*|{replacement}|\" /etc/default/grub && update-grub\n"
        );
        let all = bad("x.sh", &text);
        all.contains(&"persist-grub-replaces-line")
    };
    let line = "new='GRUB_CMDLINE_LINUX=\"clocksource=tsc quiet\"'";
    let made = "GRUB_CMDLINE_LINUX=\\\"$new\\\"";
    for (value, replacement) in [
        (line, "$new"),
        (line, "${new}"),
        ("local new=\"GRUB_CMDLINE_LINUX=\\\"clocksource=tsc isolcpus=${CPUS}\\\"\"", "$new"),
        ("new=\"clocksource=tsc quiet\"", made),
        ("new=clocksource=tsc", made),
        ("", "GRUB_CMDLINE_LINUX=\\\"clocksource=tsc\\\""),
    ] {
        assert!(again(value, replacement), "{value} {replacement}");
    }
    for (value, replacement) in [
        // The previous text is kept, or may be.
        (line, "&$new"),
        ("new=\"clocksource=tsc quiet\"", "GRUB_CMDLINE_LINUX=\\\"$old $new\\\""),
        ("new=\"$old clocksource=tsc\"", made),
        ("new=\"$(cat /proc/cmdline) clocksource=tsc\"", made),
        ("new=quiet\nnew+=\" clocksource=tsc\"", made),
        ("new=quiet\nnew=\"clocksource=tsc\"", made),
        ("read -r new", made),
        ("new=quiet", made),
        ("# new=clocksource=tsc", made),
    ] {
        assert!(!again(value, replacement), "{value} {replacement}");
    }
}

#[test]
fn parameters_wherever_they_stand() {
    assert_eq!(
        bad("x.sh", "grubby --update-kernel=ALL --args=\"clocksource=tsc tsc=reliable\"\n"),
        ["persist-tsc-reliable-blanket"]
    );
    assert_eq!(
        bad("a/etc/default/grub", "GRUB_CMDLINE_LINUX=\"quiet clocksource=kvm_clock\"\n"),
        ["cmdline-unknown-clocksource"]
    );
    assert_eq!(
        bad("/etc/kernel/cmdline", "root=/dev/sda1 notsc clocksource=tsc\n"),
        ["cmdline-notsc", "cmdline-contradicted"]
    );
    assert_eq!(bad("k.toml", "kargs = [\"tsc=reliable,nowatchdog\"]\n"), ["cmdline-unknown-value"]);
    assert_eq!(
        bad("b.bu", "kernel_arguments:\n  should_exist:\n    - clocksource=hpet\n"),
        ["cmdline-slow-clocksource"]
    );
    assert_eq!(
        bad("e.conf", "options root=UUID=1 rw clocksource=hpet clocksource=tsc\n"),
        ["cmdline-superseded"]
    );
    // Xen's own options are not the kernel's.
    assert_eq!(
        bad("default/grub", "GRUB_CMDLINE_XEN_DEFAULT=\"clocksource=tsc tsc=stable:socket\"\n"),
        [""; 0]
    );
    // A text that is printed, searched for or removed sets nothing.
    for text in [
        "echo \"add clocksource=tsc tsc=reliable to your kernel line\"\n",
        "grep -q 'tsc=reliable' /proc/cmdline && exit 0\n",
        "grubby --update-kernel=ALL --remove-args=\"tsc=reliable\"\n",
        "tsc=$(dmesg | grep tsc)\n",
        "clocksource=hpet\n",
    ] {
        assert_eq!(bad("x.sh", text), [""; 0], "{text}");
    }
    let text = "GRUB_CMDLINE_LINUX=\"clocksource=hpet quiet clocksource=TSC\"\n";
    assert_eq!(
        testing::mended(Kind::Persistence, "default/grub", text),
        "GRUB_CMDLINE_LINUX=\"quiet clocksource=tsc\"\n"
    );
}

#[test]
fn hostile() {
    for text in ["", "\u{0}", "<<EOF", "<<<", "w", "=", "\"", "sed -i", ">> ", "\u{feff}"] {
        assert_eq!(bad("x", text), [""; 0], "{text:?}");
    }
    let long = format!("{}clocksource=tsc", "\"".repeat(100_000));
    testing::report(Kind::Persistence, "x", &long);
}

proptest! {
    #[test]
    fn any_text(lines in proptest::collection::vec(
        "( {0,4}- )?(echo |sed -i |w |cat >> |write_files:|path: )?['\"]?(clocksource=(tsc|TSC|hpet)|tsc=reliable|GRUB_CMDLINE_LINUX=\"?|x)?['\" ]{0,2}(>|>>|<<EOF)? ?(/etc/default/grub|/sys/a/current_clocksource)?['\"]?( - - - - tsc|=x)?", 0..8), grub in any::<bool>()) {
        let name = if grub { "/etc/default/grub" } else { "x.sh" };
        testing::report(Kind::Persistence, name, &lines.join("\n"));
        testing::report(Kind::Tuned, "tuned.conf", &lines.join("\n"));
    }
}
