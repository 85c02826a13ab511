//! Files for each rule, both ways.

use crate::formats::Kind;
use crate::lint::LintError;
use crate::testing;

fn bad(text: &str) -> Vec<&'static str> {
    testing::bad(Kind::Firecracker, "vm.json", text)
}

fn args(args: &str) -> String {
    format!(
        "{{\n  \"boot-source\": {{\"kernel_image_path\": \"k\", \"boot_args\": \"{args}\"}},\n  \"machine-config\": {{\"vcpu_count\": 2, \"mem_size_mib\": 128}}\n}}\n"
    )
}

fn template(leaf: &str, register: &str, bitmap: &str) -> String {
    format!(
        "{{\"cpuid_modifiers\": [{{\"leaf\": \"0x0\", \"subleaf\": \"0x0\", \"flags\": 0, \"modifiers\": []}},\r\n {{\"leaf\": \"{leaf}\", \"subleaf\": \"0x0\", \"flags\": 0, \"modifiers\": [{{\"register\": \"{register}\", \"bitmap\": \"{bitmap}\"}}]}}]}}"
    )
}

#[test]
fn parameters() {
    assert_eq!(bad(&args("console=ttyS0 reboot=k panic=1 pci=off")), [""; 0]);
    assert_eq!(bad(&args("console=ttyS0 notsc")), ["cmdline-notsc"]);
    assert_eq!(bad(&args("clocksource=tsc notsc")), ["cmdline-contradicted", "cmdline-notsc"]);
    assert_eq!(bad(&args("tsc=reliable")), ["persist-tsc-reliable-blanket"]);
    assert_eq!(bad(&args("a=\\\"b\\\" clocksource=hpet")), ["cmdline-slow-clocksource"]);
    let mended =
        testing::mended(Kind::Firecracker, "vm.json", &args("quiet clocksource=kvm_clock"));
    assert_eq!(mended, args("quiet clocksource=kvm-clock"));
}

#[test]
fn script_whose_function_sends_the_configuration() {
    let script = |shell: &str| {
        format!(
            "#!/usr/bin/env {shell}\n. ./functions.sh\nARGS=\"console=ttyS0 notsc\"\nput \"boot-source\" \"{{\n  \\\"kernel_image_path\\\": \\\"$K\\\",\n  \
             \\\"boot_args\\\": \\\"$ARGS\\\"\n}}\"\n"
        )
    };
    assert_eq!(Kind::detect("vm.sh", &script("bash")), Some(Kind::Firecracker));
    assert_eq!(testing::bad(Kind::Firecracker, "vm.sh", &script("bash")), ["cmdline-notsc"]);
    // A program in another language has the same strings.
    assert_ne!(Kind::detect("vm", &script("node")), Some(Kind::Firecracker));
    let other = script("bash").replace("boot_args", "args");
    assert_ne!(Kind::detect("vm.sh", &other), Some(Kind::Firecracker));
}

#[test]
fn templates() {
    let edx = |bit: usize| {
        let mut digits = ['x'; 32];
        digits[31 - bit] = '0';
        digits.chunks(8).map(|c| c.iter().collect::<String>()).collect::<Vec<_>>().join("_")
    };
    for (leaf, register, bit, id) in [
        ("0x80000007", "edx", 8, "fc-invtsc-masked"),
        ("0x1", "ecx", 31, "fc-hypervisor-hidden"),
        ("0x1", "edx", 4, "fc-tsc-masked"),
        ("0x80000001", "edx", 27, "fc-rdtscp-masked"),
        ("0x40000001", "eax", 3, "fc-kvmclock-masked"),
        ("0x40000001", "eax", 24, "fc-kvmclock-unstable"),
    ] {
        let text = template(leaf, register, &format!("0b{}", edx(bit)));
        assert_eq!(bad(&text), [id]);
        let mended = testing::mended(Kind::Firecracker, "t.json", &text);
        // A template equalises processors: a feature that some of them lack is masked on purpose.
        let meant = ["fc-invtsc-masked", "fc-rdtscp-masked"].contains(&id);
        let open = text.replace(&edx(bit), "xxxxxxxx_xxxxxxxx_xxxxxxxx_xxxxxxxx");
        assert_eq!(mended, if meant { text.clone() } else { open });
        assert_eq!(bad(&template(leaf, register, "0b1")), [""; 0]);
        assert_eq!(bad(&template("0x7", register, &format!("0b{}", edx(bit)))), [""; 0]);
    }
    assert_eq!(bad(&template("0x80000007", "edx", "0b2")), ["fc-bitmap-invalid"]);
}

#[test]
fn what_is_no_configuration() {
    let cut = "{\n\"boot-source\": {";
    let LintError::Syntax { line, .. } = testing::broken(Kind::Firecracker, cut);
    assert_eq!(line, 2);
    testing::broken(Kind::Firecracker, &"[".repeat(100_000));
    assert_eq!(bad("{}"), [""; 0]);
}

#[test]
fn scripts() {
    let text = "curl -X PUT 'http://localhost/boot-source' -d '{\n \"boot_args\": \"console=ttyS0 clocksource=hpet\"\n}'\n";
    assert_eq!(bad(text), ["cmdline-slow-clocksource"]);
}

#[test]
fn loads() {
    let ids = |text: &str| testing::ids(Kind::Firecracker, "load.json", text);
    let info = [("fc-load-wall-clock", crate::finding::Severity::Info)];
    let body = |more: &str| {
        format!(
            "{{\"snapshot_path\": \"./snap\", \"mem_backend\": {{\"backend_path\": \"./mem\", \"backend_type\": \"File\"}}{more}}}"
        )
    };
    assert_eq!(ids(&body(", \"resume_vm\": true")), info);
    assert_eq!(ids(&body(", \"clock_realtime\": false")), info);
    assert_eq!(ids(&body(", \"clock_realtime\": true")), []);
    assert_eq!(ids("{\"snapshot_path\": \"s\", \"mem_file_path\": \"m\"}"), info);
    // One that makes a snapshot.
    let make = "{\"snapshot_type\": \"Full\", \"snapshot_path\": \"s\", \"mem_file_path\": \"m\"}";
    assert_eq!(ids(make), []);
    let script = |more: &str| {
        format!(
            "#!/bin/sh\n# PUT /snapshot/load\ncurl --unix-socket /tmp/fc -X PUT 'http://localhost/snapshot/load' -d '{{{more}}}'\n"
        )
    };
    assert_eq!(ids(&script("\"snapshot_path\": \"s\"")), info);
    assert_eq!(ids(&script("\"clock_realtime\": true")), []);
    assert_eq!(ids("#!/bin/sh\n# PUT /snapshot/load\n"), []);
}

#[test]
fn script_that_sends_boot_args_with_curl_is_of_firecracker() {
    let text = "#!/bin/sh\ncurl --unix-socket /tmp/fc -X PUT 'http://localhost/boot-source' -d '{\n  \"kernel_image_path\": \"k\",\n  \
                \"boot_args\": \"console=ttyS0 notsc\"\n}'\n";
    assert_eq!(Kind::detect("run.sh", text), Some(Kind::Firecracker));
    assert!(testing::bad(Kind::Firecracker, "run.sh", text).contains(&"cmdline-notsc"));
    let other = format!("{text}qemu-system-x86_64 -enable-kvm -cpu host -hda a.img\n");
    assert_eq!(Kind::detect("run.sh", &other), Some(Kind::Qemu));
}

#[test]
fn script_that_sends_escaped_quotes_or_a_file_is_of_firecracker() {
    let escaped = "#!/bin/sh\ncurl --unix-socket \"$S\" -X PUT 'http://localhost/boot-source' \\\n  \
                   -d \"{ \\\"kernel_image_path\\\": \\\"$K\\\", \\\"boot_args\\\": \\\"console=ttyS0 notsc\\\" }\"\n";
    assert_eq!(Kind::detect("run.sh", escaped), Some(Kind::Firecracker));
    assert_eq!(testing::bad(Kind::Firecracker, "run.sh", escaped), ["cmdline-notsc"]);
    let file = "#!/bin/sh\nput() { curl --unix-socket $S -X PUT \"http://localhost/$1\" -d \"@$2\"; }\n\
                put boot-source boot.json\nput machine-config machine.json\n";
    assert_eq!(Kind::detect("run.sh", file), Some(Kind::Firecracker));
    assert_eq!(testing::bad(Kind::Firecracker, "run.sh", file), [""; 0]);
    let docker = "#!/bin/sh\ncurl --unix-socket /run/docker.sock http://localhost/images/json\n";
    assert_eq!(Kind::detect("run.sh", docker), None);
}

#[test]
fn script_that_only_loads_a_snapshot() {
    let text = "#!/bin/sh\ncurl --unix-socket /tmp/a.sock -X PUT http://localhost/snapshot/load \\\n  -d '{\"snapshot_path\": \"a\", \"mem_backend\": {\"backend_path\": \"b\", \"backend_type\": \"File\"}}'\n";
    assert_eq!(Kind::detect("load.sh", text), Some(Kind::Firecracker));
    let of = |text: &str| testing::ids(Kind::Firecracker, "load.sh", text).len();
    assert_eq!(of(text), 1);
    assert_eq!(
        of(&text.replace("\"snapshot_path", "\"clock_realtime\": true, \"snapshot_path")),
        0
    );
}

#[test]
fn template_with_placeholders_of_numbers_is_read() {
    let text = "{\n  \"boot-source\": {\"kernel_image_path\": \"{{K}}\", \"boot_args\": \"root=/dev/vda notsc\"},\n  \
                \"machine-config\": {\"vcpu_count\": {{N}}, \"mem_size_mib\": ${MEM}}\n}\n";
    for name in ["vm.json.tmpl", "vm.json"] {
        assert_eq!(Kind::detect(name, text), Some(Kind::Firecracker));
        assert_eq!(testing::bad(Kind::Firecracker, name, text), ["cmdline-notsc"]);
    }
}

#[test]
fn machines_of_terraform() {
    let text = |args: &str| {
        format!(
            "resource \"firecracker_vm\" \"example\" {{\n  kernel_image_path = \"/vmlinux\"\n  boot_args         = \"console=ttyS0 {args}\"\n}}\n"
        )
    };
    for args in ["panic=1", "notsc"] {
        assert_eq!(Kind::detect("main.tf", &text(args)), Some(Kind::Firecracker));
    }
    let bad = |args: &str| crate::testing::bad(Kind::Firecracker, "main.tf", &text(args));
    assert_eq!((bad("panic=1"), bad("notsc")), (vec![], vec!["cmdline-notsc"]));
    assert_eq!(Kind::detect("main.tf", "resource \"aws_instance\" \"a\" {\n}\n"), None);
}
