//! Comments that belong to a setting.

use super::tests::{ID, RUN, domain, left, script};
use crate::formats::Kind;

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
    // The statement goes over several lines.
    let run = "qemu-system-x86_64 \\\n  -enable-kvm -hda debian.img \\\n  -cpu host,kvmclock=off \\\n  -m 1G\n";
    for (before, after, says) in [
        ("# Without this the database guest hangs.\n", "", true),
        ("# Starts the guest.\n", "", false),
        ("", " # for the database", true),
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
