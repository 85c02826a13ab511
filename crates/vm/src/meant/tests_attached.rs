//! Comments that belong to a setting.

use super::tests::{ID, RUN, domain, left, script};
use crate::formats::Kind;
use crate::lint::lint;
use crate::testing::document;

#[test]
fn any_comment_that_belongs_to_a_setting_leaves_it() {
    for before in [
        "# bug 4711: the guest's clock jumps after resume\n",
        "# do not remove\n",
        "# workaround\n",
        "# Uhr springt sonst\n",
        "# see ticket 88\n# CPU\n",
    ] {
        let why = script(before, "");
        assert!(why.is_some_and(|why| why.starts_with("line 2: the comment may give")), "{before}");
    }
    assert!(script("", "   # the clock jumps after resume").is_some());
    assert!(script("", " \\\n  -m 1G   # the clock jumps after resume").is_some());
    assert!(script("# the guest hangs after resume\nset -eu\n\n", "").is_none());
    assert!(script("# the guest hangs after resume\n\n", "").is_none());
    assert!(script("export A=b # wanted by the tests of c\n", "").is_none());
    // The statement extends over several lines.
    let run = "qemu-system-x86_64 \\\n  -enable-kvm -hda debian.img \\\n  -cpu host,kvmclock=off \\\n  -m 1G\n";
    for (before, after, says) in [
        ("# Without this the database guest hangs.\n", "", true),
        ("# Starts the guest.\n", "", false),
        ("", " # br1 is made by ifupdown", false),
        ("", " # hangs without it", true),
        ("# Mail machine of the office\n", "", false),
        ("# не менять\n", "", true),
    ] {
        let text = format!("#!/bin/bash\nset -e\n\n{before}{}{after}\n", run.trim_end());
        assert_eq!(left(Kind::Qemu, "run.sh", &text, ID).is_some(), says, "{text}");
    }
    let list = |before: &str, inside: &str, behind: &str| {
        let text = format!(
            "#!/bin/bash\n{before}args=(\n  -enable-kvm -hda debian.img\n{inside}  -no-hpet{behind}\n  -m 1G\n)\n\
             qemu-system-x86_64 \"${{args[@]}}\"\n"
        );
        left(Kind::Qemu, "run.sh", &text, "q-no-hpet-removed")
    };
    assert!(list("# the vendor's image checks for it\n", "", "").is_some());
    assert!(list("", "  # the vendor's image checks for it\n", "").is_some());
    assert!(list("", "", "  # the vendor's image checks for it").is_some());
    assert_eq!(list("# QEMU options\n", "  # the disk is old\n  -S\n", ""), None);
}

#[test]
fn comment_that_belongs_to_a_setting_of_another_format_leaves_it() {
    let unit = |before: &str| {
        let text = format!("[Service]\n{before}ExecStart=/usr/bin/{RUN}\n");
        left(Kind::Qemu, "a.service", &text, ID)
    };
    assert!(unit("# the guest hangs with it, ticket 88\n").is_some());
    assert_eq!(unit(""), None);
    let comment = "<!-- the clock jumped after resume with it, ticket 88 -->";
    assert!(domain("", &format!("    {comment}\n"), "offset='utc'").is_some());
    assert!(domain("", "    <!--\n  time went\n  backwards\n-->\n", "offset='utc'").is_some());
    assert!(domain("", "    <timer name='rtc'/> <!-- old -->\n", "offset='utc'").is_none());
    let text = format!(
        "<domain type='kvm'>\n  <name>debian</name>\n  {comment}\n  <clock offset='utc'>\n    <timer name='kvmclock' \
         present='no'/>\n  </clock>\n</domain>\n"
    );
    assert!(left(Kind::Libvirt, "a.xml", &text, "lv-kvmclock-off-no-invtsc").is_some());
    let packer = |above: &str, inside: &str| {
        let text = format!(
            "source \"qemu\" \"debian\" {{\n  accelerator = \"kvm\"\n  iso_url = \"debian.iso\"\n{above}  qemuargs = [\n{inside}    \
             [\"-cpu\", \"host,kvmclock=off\"],\n  ]\n}}\n"
        );
        left(Kind::Packer, "a.pkr.hcl", &text, ID)
    };
    assert!(packer("", "    # workaround, do not remove\n").is_some());
    assert!(packer("  # ticket 88\n", "").is_some());
    assert_eq!(packer("", "    # CPU\n"), None);
    let xen = |line: &str| {
        let text = format!("name = \"a\"\ntype = \"hvm\"\nmemory = 512\n{line}\n");
        left(Kind::Xen, "a.cfg", &text, "xen-tsc-always-emulate")
    };
    assert!(
        xen("tsc_mode = \"always_emulate\"   # the pool has hosts of different frequency")
            .is_some()
    );
    let pve = |description: &str| {
        let text = format!(
            "{description}args: -cpu host,kvmclock=off\ncores: 4\nmemory: 4096\nname: a\nostype: l26\n"
        );
        left(Kind::Proxmox, "100.conf", &text, ID)
    };
    assert!(pve("#do not touch the args line, support case 12345\n").is_some());
    assert_eq!(pve("#the mail server of the office\n"), None);
}

#[test]
fn comment_of_a_whole_statement_leaves_it_only_with_a_reason() {
    assert_eq!(script("# starts both routers\n", ""), None);
    assert!(script("# starts both routers, otherwise the lab is dark\n", "").is_some());
    let two = |first: &str, option: &str| {
        let text = format!(
            "#!/bin/bash\n{first}qemu-system-x86_64 -name r1 -enable-kvm -cpu host \\\n{option}  -no-hpet -hda debian.img\n\
             qemu-system-x86_64 -name r2 -enable-kvm -cpu host -no-hpet -hda debian.img\n"
        );
        let report = lint(&document(Kind::Qemu, "run.sh", &text)).unwrap();
        report.findings.iter().filter(|it| !it.edits.is_empty()).count()
    };
    assert_eq!(two("# both routers\n", ""), 2);
    let clock = |above: &str, inside: &str| {
        let text = format!(
            "<domain type='kvm'>\n  <name>debian</name>\n  <os>\n    <type arch='x86_64' machine='q35'>hvm</type>\n  </os>\n  \
             {above}\n  <clock offset='utc'>\n    {inside}\n    <timer name='kvmclock' present='no'/>\n  </clock>\n</domain>\n"
        );
        left(Kind::Libvirt, "a.xml", &text, "lv-kvmclock-off-no-invtsc")
    };
    assert_eq!(clock("<!-- UTC, as on all our machines -->", "<timer name='rtc'/>"), None);
    assert_eq!(clock("<!-- UTC, as on all our machines -->", "<timer name='rtc'/>"), None);
    assert!(clock("<!-- UTC, or the cards drift -->", "").is_some());
    assert!(clock("", "<!-- as on all our machines -->").is_some());
    let vm = |above: &str, beside: &str| {
        let text = format!(
            "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata:\n  name: ubuntu\nspec:\n  domain:\n{above}    \
             clock:\n      timer:\n{beside}        hpet:\n          present: true\n    devices: {{}}\n"
        );
        left(Kind::Kubevirt, "a.yaml", &text, "kv-hpet-on")
    };
    assert_eq!(vm("    # as on all our machines\n", ""), None);
    assert!(vm("", "        # as on all our machines\n").is_some());
}

/// Returns whether a script gets any edit.
fn changes(text: &str) -> bool {
    let report = crate::lint::lint(&document(Kind::Qemu, "run.sh", text)).unwrap();
    report.findings.iter().any(|it| !it.edits.is_empty())
}

#[test]
fn remark_that_a_shell_passes_over_beside_an_option_is_a_comment() {
    let of = |remark: &str| {
        format!(
            "#!/bin/bash\nqemu-system-x86_64 -accel kvm {remark} \\\n  -cpu host,kvmclock=off -kernel vmlinuz\n"
        )
    };
    for remark in [
        "`# see the ticket of the lab`",
        "$(: measured without it)",
        "${IFS# the fallback is wanted}",
        "\\\n  `# the fallback is wanted`",
    ] {
        // On the option's own line, and above it.
        let beside = of("").replace(
            "kvmclock=off",
            &format!("kvmclock=off {}", remark.trim_start_matches("\\\n ")),
        );
        assert!(!changes(&beside), "{beside}");
    }
    assert!(!changes(&of("\\\n  `# the fallback is wanted`")));
    assert!(!changes(
        "#!/bin/bash\n: <<'DOC'\nThe fallback is wanted here, bug 12.\nDOC\nqemu-system-x86_64 -accel kvm -cpu host,kvmclock=off -kernel vmlinuz\n"
    ));
    assert!(!changes(
        "#!/bin/bash\n: the fallback is wanted here\nqemu-system-x86_64 -accel kvm -cpu host,kvmclock=off -kernel vmlinuz\n"
    ));
    for plain in ["", "`# CPU`", "$(: cpu options)"] {
        assert!(changes(&of(plain)), "{plain}");
    }
}

#[test]
fn option_in_a_remark_that_a_shell_passes_over_is_none() {
    for remark in [
        "`# -cpu host,kvmclock=off`",
        "$(: -cpu host,kvmclock=off)",
        "${IFS# -cpu host,kvmclock=off}",
    ] {
        let text = format!(
            "#!/bin/bash\nqemu-system-x86_64 -accel kvm -machine q35,hpet=off -kernel vmlinuz {remark}\n"
        );
        let bad = crate::testing::bad(Kind::Qemu, "run.sh", &text);
        assert_eq!(bad, [""; 0], "{text}");
    }
}

#[test]
fn instruction_in_xml_above_a_setting_is_a_comment() {
    let of = |instruction: &str| {
        let text = format!(
            "<domain type='kvm'>\n  <name>a</name>\n  <os>\n    <type arch='x86_64' machine='q35'>hvm</type>\n    \
             <kernel>/boot/vmlinuz</kernel>\n  </os>\n  <clock offset='utc'>\n    {instruction}\n    \
             <timer name='kvmclock' present='no'/>\n    <timer name='hpet' present='no'/>\n  </clock>\n</domain>\n"
        );
        let report = crate::lint::lint(&document(Kind::Libvirt, "a.xml", &text)).unwrap();
        report.findings.iter().any(|it| !it.edits.is_empty())
    };
    assert!(!of("<?note the replay breaks with it?>"));
    assert!(of("<?xml-model href='a.rng'?>"));
    assert!(of(""));
}
