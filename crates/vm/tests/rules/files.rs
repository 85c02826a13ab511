//! Properties of all kinds: parts, broken and truncated files, the guest's system.

use super::*;

use clocksmith_vm::Guest;

#[test]
fn templates_are_parts_and_no_errors() {
    let cases = [
        (
            Kind::Libvirt,
            "{% if x %}\n<domain type='{{ t }}'>\n  <name><%= n %></name>\n  {% for d in ds if d < 3 %}<cpu mode='host-passthrough'/>{% endfor %}\n  <clock offset='utc'>\n    <timer name='hpet' present='{{ hpet }}'/>\n  </clock>\n</domain>\n{% endif %}\n",
        ),
        (
            Kind::Libvirt,
            "<domain type='%s'><name>%s</name><clock offset='utc'><timer name='hpet' present='%s'/></clock></domain>",
        ),
        (
            Kind::Kubevirt,
            "{{- if .Values.vm }}\napiVersion: kubevirt.io/v1\nspec:\n  domain:\n    clock:\n      timer:\n        hpet:\n          present: {{ .Values.hpet }}\n{{- end }}\n",
        ),
        (Kind::Proxmox, "cores: {{ cores }}\ncpu: {{ cpu }}\n"),
        (Kind::Qemu, "qemu-system-x86_64 -M q35,hpet=off -m 1G $EXTRA\n"),
    ];
    for (kind, text) in cases {
        let report = lint(&document(kind, text)).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert!(report.partial, "{text}");
        assert!(
            report.findings.iter().all(|f| f.severity < Severity::Warn),
            "{:?}\n{text}",
            report.findings
        );
    }
}

#[test]
fn broken_files_are_refused_with_a_place() {
    let cases = [
        (Kind::Libvirt, "<domain>\n  <clock>\n", "2:3"),
        (Kind::Libvirt, "<domain>\n  <clock></cpu>\n</domain>", "2:10"),
        (Kind::Libvirt, "words", "1:1"),
        (Kind::Kubevirt, "a: [1\nb: 2\n", ""),
        (Kind::Qemu, "echo nothing\n", "1:1"),
        (Kind::Proxmox, "nothing\n", "1:1"),
    ];
    for (kind, text, place) in cases {
        let error = lint(&document(kind, text)).unwrap_err();
        let clocksmith_vm::LintError::Syntax { line, column, .. } = &error;
        assert!(place.is_empty() || format!("{line}:{column}") == place, "{error}\n{text}");
    }
    let deep = "<a>".repeat(100_000);
    assert!(lint(&document(Kind::Libvirt, &format!("<domain>{deep}"))).is_err());
    assert!(lint(&document(Kind::Kubevirt, &"[".repeat(100_000))).is_err());
}

/// The user who names a file may not be permitted to read it: root may read it on the user's behalf.
#[test]
fn errors_name_the_place_and_no_part_of_the_file() {
    let cases = [
        (Kind::Libvirt, "<domain type='kvm'>\n<SECRET>\n</domain>\n"),
        (Kind::Libvirt, "<domain type='kvm'>\n<a></SECRET>\n</domain>\n"),
        (Kind::Libvirt, "<domain type='kvm'>\n</SECRET>\n</domain>\n"),
        (Kind::Libvirt, "<domain type='kvm'>\n<SECRET>"),
        (Kind::Libvirt, "<domain type='kvm'>\n<name>&SECRET;</name></domain>\n"),
        (Kind::Libvirt, "<domain type='kvm'>\n<name a='&SECRET;'>x</name></domain>\n"),
        (Kind::Libvirt, "<domain type='kvm'>\n<name SECRET>x</name></domain>\n"),
        (Kind::Libvirt, "<domain type='kvm'>\n<name SECRET='1' SECRET='2'>x</name></domain>\n"),
        (Kind::Libvirt, "<?xml SECRET='1'?>\n<domain type='kvm'><name>a</name></domain>\n"),
        (Kind::Libvirt, "<SECRET>a</SECRET>\n"),
        (
            Kind::Virtualbox,
            "<VirtualBox>\n<Machine uuid='1' name='x'><SECRET></Machine></VirtualBox>\n",
        ),
        (Kind::Virtualbox, "<VirtualBox>\n<Machine>&SECRET;</Machine></VirtualBox>\n"),
        (Kind::Virtualbox, "<SECRET/>\n"),
        (Kind::Ovf, "<Envelope><SECRET></Envelope>\n"),
        (Kind::Kubevirt, "a: [SECRET\nb: *SECRET\n"),
        (Kind::Kubevirt, "a: *SECRET\n"),
        (Kind::Kubevirt, "SECRET: 1\nSECRET: 2\n"),
        (Kind::Firecracker, "{\"SECRET\": SECRET}"),
        (Kind::Firecracker, "\"SECRET\""),
        (Kind::Terraform, "resource \"SECRET\" {\n  SECRET = = 1\n}\n"),
        (Kind::Terraform, "SECRET"),
        (Kind::Qemu, "SECRET\n"),
        (Kind::Proxmox, "SECRET\n"),
        (Kind::Xen, "SECRET\n"),
        (Kind::Vmware, "SECRET\n"),
    ];
    let mut refused = 0;
    for (kind, text) in cases {
        if let Err(error) = lint(&document(kind, text)) {
            refused += 1;
            assert!(!error.to_string().contains("SECRET"), "{error}\n{text}");
        }
    }
    assert!(refused > 18, "{refused}");
}

#[test]
fn only_documents_of_libvirt_are_its_own() {
    for (name, text) in [
        ("win7.xml", "<?xml version='1.0'?>\n<!-- a -->\n<urlset><url>a</url></urlset>"),
        ("win11.xml", "<background><starttime><year>2020</year></starttime></background>\n"),
        ("pom.xml", "<project><activation><os><name>a</name></os></activation></project>\n"),
    ] {
        let document = Document::new(name, text.as_bytes()).unwrap();
        let error = lint(&document).unwrap_err().to_string();
        assert!(error.contains("is not one of libvirt"), "{error}");
    }
    for text in [
        "<network><name>a</name></network>",
        "<hostdev mode='subsystem' type='usb'/>",
        "<domains><domain type='kvm'><name>a</name></domain></domains>",
        "<!-- a --><clock offset='utc'/>\n<cpu mode='host-passthrough'/>",
        "<other><domain type='kvm'><name>a</name></domain></other>",
    ] {
        let document = Document::new("a.xml", text.as_bytes()).unwrap();
        assert_eq!(document.kind, Kind::Libvirt);
        assert!(lint(&document).is_ok(), "{text}");
    }
}

#[test]
fn elements_in_comments_of_other_files_do_not_count() {
    let text = "[DEFAULT]\n# an alias: <domain>:<bus>\n#host=<name>\n[libvirt]\nvirt_type=qemu\n";
    for name in ["nova.conf", "a"] {
        assert_eq!(Kind::detect(name, text), Some(Kind::Nova), "{name}");
    }
}

#[test]
fn units_go_on_behind_comment_lines() {
    let begin = "[Service]\nExecStart=/usr/bin/qemu-system-x86_64 -enable-kvm \\\n";
    let end = " -cpu host,kvmclock=off \\\n -m 1G\n";
    let found = ids(Kind::Qemu, &format!("{begin}{end}"));
    assert!(found.iter().any(|(_, severity)| *severity == Severity::Error), "{found:?}");
    for remark in ["# a\n", "; a \\\n  # b\n", "#\n;\n"] {
        assert_eq!(ids(Kind::Qemu, &format!("{begin}{remark}{end}")), found, "{remark}");
        // A script that writes the unit.
        let script = format!("#!/bin/sh\ncat > /a.service <<EOF\n{begin}{remark}{end}EOF\n");
        assert!(ids(Kind::Qemu, &script).contains(&found[0]), "{script}");
    }
}

#[test]
fn each_here_document_is_read_by_itself() {
    let domain = "<domain type='kvm'><name>debian</name><clock offset='utc'><timer name='kvmclock' present='no'/></clock></domain>";
    let alone = format!("#!/bin/sh\ncat <<EOF >a.xml\n{domain}\nEOF\nvirsh define a.xml\n");
    let found = ids(Kind::Libvirt, &alone);
    assert!(!found.is_empty());
    for text in [
        format!("{alone}cat <<'EOF' >b.xml\n<hostdev mode='subsystem' type='pci'/>\nEOF\n"),
        format!("{alone}cat <<-EOT\n\ta <b> c\n\tEOT\nif [ 1 \\< 2 ]; then wait; fi\n"),
        format!(
            "#!/bin/sh\ncat <<'A'\n<x> y\nA\ncat <<\"B\" >a.xml\n{domain}\nB\ncat <<C\n<z>\nC\n"
        ),
    ] {
        assert_eq!(ids(Kind::Libvirt, &text), found, "{text}");
    }
    // Words in angle brackets after it, in any language.
    let python = format!("a = \"\"\"\n{domain}\n\"\"\"\nname = args[\"<image>\"]\n");
    assert!(ids(Kind::Libvirt, &python).contains(&found[0]));
    let torn = format!("a = \"\"\"\n{domain}\n<domain><name>a</name>\n\"\"\"\n");
    assert!(lint(&document(Kind::Libvirt, &torn)).is_err());
    let two = format!("{alone}cat <<EOF >b.xml\n{domain}\nEOF\n");
    assert_eq!(ids(Kind::Libvirt, &two).len(), 2 * found.len());
}

#[test]
fn guests_are_found() {
    let guest = |text: &str| lint(&document(Kind::Libvirt, text)).unwrap().guest;
    assert_eq!(
        guest(&domain(
            "w",
            "    <hyperv>\n      <vapic state='on'/>\n    </hyperv>\n",
            "",
            QUIET_CLOCK,
            ""
        )),
        Guest::Windows
    );
    assert_eq!(
        guest(&domain(
            "vm1",
            "",
            "",
            QUIET_CLOCK,
            "  <metadata><os id='http://ubuntu.com/ubuntu/22.04'/></metadata>\n"
        )),
        Guest::Linux
    );
    let apple = "  <qemu:commandline xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'><qemu:arg value='-device'/><qemu:arg value='isa-applesmc,osk=x'/></qemu:commandline>\n";
    assert_eq!(guest(&domain("win10", "", "", QUIET_CLOCK, apple)), Guest::Macos);
    assert_eq!(guest(&domain("vm1", "", "", QUIET_CLOCK, "")), Guest::Unknown);
}

#[test]
fn snapshots_and_states_hold_domains() {
    let inner = domain("debian", "", PLAIN_CPU, &QUIET_CLOCK.replace("'no'", "'yes'"), "");
    for (open, close) in [
        ("<domainsnapshot><name>a</name>", "</domainsnapshot>"),
        ("<domstatus state='running'>", "</domstatus>"),
    ] {
        assert!(
            ids(Kind::Libvirt, &format!("{open}{inner}{close}"))
                .contains(&("lv-hpet-on", Severity::Warn))
        );
    }
}

/// Returns a domain with this clock, metadata and attributes of the root.
fn with(root: &str, metadata: &str, clock: &str) -> String {
    format!(
        "<domain type='kvm'{root}>\n  <name>debian</name>\n  <metadata>{metadata}</metadata>\n  <os><type arch='x86_64' \
         machine='pc-q35-7.2'>hvm</type></os>\n  <cpu mode='host-passthrough'/>\n  {clock}\n</domain>\n"
    )
}

fn fixed(text: &str) -> Result<String, clocksmith_vm::LintError> {
    let fixed = clocksmith_vm::fix(&document(Kind::Libvirt, text), &Choices::default())?;
    Ok(fixed.document.text.as_str().to_owned())
}

#[test]
fn data_of_other_programs_in_a_domain_is_neither_judged_nor_edited() {
    let clock = "<clock offset='utc'><timer name='hpet' present='yes'/></clock>";
    let good = "<clock offset='utc'><timer name='hpet' present='no'/></clock>";
    let kept = format!(
        "<m:x xmlns:m='urn:x'><domain type='kvm'><name>a</name><os/>{clock}</domain></m:x>"
    );
    assert_eq!(fixed(&with("", &kept, clock)).unwrap(), with("", &kept, good));
    // In a namespace of another program, libvirt sees no clock.
    let other = "<q:clock offset='utc'><q:timer name='hpet' present='yes'/></q:clock>";
    for (root, other) in [
        (" xmlns:q='urn:x'", other.to_owned()),
        ("", other.replacen("<q:clock", "<q:clock xmlns:q='urn:x'", 1)),
        ("", clock.replacen("<clock", "<clock xmlns='urn:x'", 1)),
    ] {
        let text = with(root, "", &format!("{other}\n  {clock}"));
        assert_eq!(fixed(&text).unwrap(), text.replacen(clock, good, 1), "{text}");
    }
    let both = with(" xmlns:q='http://libvirt.org/schemas/domain/qemu/1.0'", "", good).replace(
        "</domain>",
        "<q:commandline xmlns:q='http://libvirt.org/schemas/domain/qemu/1.0'><q:arg value='-cpu'/><q:arg value='EPYC-Rome,-kvmclock'/></q:commandline></domain>",
    );
    assert!(ids(Kind::Libvirt, &both).iter().any(|(id, _)| id.contains("kvmclock")), "{both}");
}

#[test]
fn xml_that_is_not_well_formed_is_not_edited() {
    let clock = "<clock offset='utc'><timer name='hpet' present='yes'/></clock>";
    let good = with("", "", clock);
    assert!(fixed(&good).is_ok());
    for broken in [
        good.replace("<timer name=", "<timer name&a=\"x\" name="),
        good.replace("<timer ", "<timer name "),
        good.replace("<timer ", "<timer x=1 "),
        good.replace("<clock", "<clo\u{feff}ck"),
        good.replace("<os>", "<1os/><os>"),
        good.replace("<os>", "<!-- a -- b --><os>"),
        good.replace("<os>", "]]><os>"),
        good.replace("<os>", "<?xml version='1.0'?><os>"),
        good.replace("<os>", "<?XML a?><os>"),
        format!("\n<?xml version='1.0'?>\n{good}"),
        format!("<?xml?>\n{good}"),
        format!("<?xml encoding='utf-8'?>\n{good}"),
        format!("<?xml version='1.0' standalone='maybe'?>\n{good}"),
        format!("<?xml version='1.0' encoding='utf-16'?>\n{good}"),
        format!("<?xml version=1.0?>\n{good}"),
        good.replace("name='hpet' present", "name='hpet'present"),
        good.replacen("<domain type=", "<dope=", 1),
        good.replacen("<domain ", "<domain-->", 1),
    ] {
        assert!(fixed(&broken).is_err(), "{broken}");
    }
    for head in ["<?xml version='1.0' encoding='UTF-8'?>", "<?xml version='1.0'?>", ""] {
        let mut bytes = format!("{head}\n{good}").into_bytes();
        let at = bytes.windows(6).position(|it| it == b"debian").unwrap();
        bytes[at] = 0xe9;
        let document = Document::of_kind("a.xml", &bytes, Kind::Libvirt).unwrap();
        assert!(clocksmith_vm::fix(&document, &Choices::default()).is_err(), "{head}");
    }
    let mut bytes = format!("<?xml version='1.0' encoding='ISO-8859-1'?>\n{good}").into_bytes();
    let at = bytes.windows(6).position(|it| it == b"debian").unwrap();
    bytes[at] = 0xe9;
    let document = Document::of_kind("a.xml", &bytes, Kind::Libvirt).unwrap();
    assert!(clocksmith_vm::fix(&document, &Choices::default()).is_ok());
    for fine in [
        format!("<?xml version='1.0'?>\n{good}"),
        format!("<?xml version = \"1.0\" encoding='UTF-8' standalone=\"yes\" ?>\n{good}"),
        good.replace("<os>", "<!-- a - b --><?virt-manager x?><os>"),
    ] {
        assert!(fixed(&fine).is_ok(), "{fine}");
    }
}

/// A change that has no effect, because the file's parts are not where they seem to be, is not repeated.
#[test]
fn torn_files_are_mended_once_at_most() {
    let torn = "{% if x %}<domac\"/></ffsain>{% \"><c<!-- virsh edit x -->\n<domain type='kvm'>\n  \
                <name>win10</name>\n  <os><type arch='x86_64' machine='q35'>hvm</type><cmeline>notsc</cmdline></os>\n  \
                <features><hyperv><reenlightenment state='on'/></hyperv></features>\n  <cpu mode='host-passthrough'/>\n  \
                <clock offset='lock offset=\"utc\"/></domutc'>\n    <timer name='tsc' present='yes' main>{% e0difo\n    \
                <timer name=\"hpet\" present=\"yes\"/>\n  </clock>\n  <qemu:commandline xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'><q";
    for choices in
        [Choices::default(), Choices { invtsc: true, tsc_frequency: Some(2_000_000_000) }]
    {
        let document = Document::of_kind("torn.xml", torn.as_bytes(), Kind::Libvirt).unwrap();
        let once = fix(&document, &choices).unwrap();
        let twice = fix(&once.document, &choices).unwrap();
        assert_eq!(once.document.text.as_str(), twice.document.text.as_str());
        assert!(once.document.text.as_str().matches("hypervclock").count() <= 1);
    }
}

#[test]
fn comments_leave_findings_out() {
    let text = |comment: &str| {
        format!("{comment}qemu-system-x86_64 -enable-kvm -m 1G -machine q35 -cpu host,kvm=off\n")
    };
    let both = ["q-hpet-default-on", "q-kvm-off"];
    let ids = |text: &str| -> Vec<&str> {
        ids(Kind::Qemu, text)
            .into_iter()
            .filter(|(id, _)| both.contains(id))
            .map(|(id, _)| id)
            .collect()
    };
    assert_eq!(ids(&text("")).len(), 2);
    assert_eq!(
        ids(&text("# clocksmith: ignore q-kvm-off: a game wants it\n")),
        ["q-hpet-default-on"]
    );
    assert_eq!(
        ids(&text("# clocksmith: ignore q-kvm-off\n# clocksmith: ignore q-hpet-default-on\n")),
        [""; 0]
    );
    // Only a comment disables a rule.
    assert_eq!(ids(&text("echo 'clocksmith: ignore q-kvm-off'\n")).len(), 2);
    let ignored = text("# clocksmith: ignore q-hpet-default-on no time\n");
    assert_eq!(lint(&document(Kind::Qemu, &ignored)).unwrap().ignored.len(), 1);
    mended(Kind::Qemu, &ignored, &ignored);
    let xml = domain("a", "", "", QUIET_CLOCK, "").replace("'no'", "'yes'");
    let ignored = format!("<!-- clocksmith: ignore lv-hpet-on -->\n{xml}");
    assert!(!super::ids(Kind::Libvirt, &ignored).iter().any(|(id, _)| *id == "lv-hpet-on"));
}

/// Places where a rule may be disabled, and places where the same words are data.
#[test]
fn only_a_comment_of_the_format_leaves_a_rule_out() {
    let left_out = |kind: Kind, name: &str, text: &str| {
        let document = Document::of_kind(name, text.as_bytes(), kind).unwrap();
        lint(&document).unwrap_or_else(|error| panic!("{name}: {error}\n{text}")).ignored.len()
    };
    let mark = |id: &str| format!("# clocksmith: ignore {id} why");
    // A shell, with and without something that its grammar refuses.
    let line = "qemu-system-x86_64 -enable-kvm -m 1G -machine q35 -cpu host,kvm=off\n";
    let m = mark("q-kvm-off");
    for strange in ["", "echo $\"x\"\n"] {
        let script = |text: &str| left_out(Kind::Qemu, "a.sh", &format!("{strange}{text}{line}"));
        for comment in [format!("{m}\n"), format!("true  {m}\n"), format!("cat <<E\nx\nE\n  {m}\n")]
        {
            assert_eq!(script(&comment), 1, "{comment}");
        }
        for data in [
            format!("echo '{m}'\n"),
            format!("echo \"\n{m}\n\"\n"),
            format!("echo x{m}\n"),
            format!("cat <<E\n{m}\nE\n"),
            format!("cat <<-'E'\n\t{m}\n\tE\n"),
            format!("x='a\n{m}\n'\n"),
            format!("echo <!-- {} -->\n", m.replace("# ", "")).replace("<!", "\\<!"),
        ] {
            assert_eq!(script(&data), 0, "{data}");
        }
    }
    // XML.
    let xml = domain("a", "", "", QUIET_CLOCK, "").replace("'no'", "'yes'");
    let m = mark("lv-hpet-on");
    let comment = m.replace("# ", "<!-- ") + " -->";
    assert!(left_out(Kind::Libvirt, "a.xml", &format!("{comment}\n{xml}")) > 0);
    assert!(
        left_out(Kind::Libvirt, "a.xml", &xml.replace("<name>", &format!("{comment}<name>"))) > 0
    );
    for data in [
        format!("<title>{m}</title>"),
        format!("<description><![CDATA[{comment}]]></description>"),
        format!("<description>\n{m}\n</description>"),
        format!("<metadata><x y=\"{m}\"/></metadata>"),
        format!("<metadata><x y=\"{}\"/></metadata>", comment.replace('<', "&lt;")),
    ] {
        let text = xml.replace("<name>", &format!("{data}<name>"));
        assert_eq!(left_out(Kind::Libvirt, "a.xml", &text), 0, "{data}");
    }
    let script = format!("#!/bin/sh\n{m}\ncat >a.xml <<E\n{xml}E\n");
    assert!(left_out(Kind::Libvirt, "a.sh", &script) > 0);
    let script = format!("#!/bin/sh\ncat >a.xml <<E\n{xml}E\necho '{comment}'\n");
    assert_eq!(left_out(Kind::Libvirt, "a.sh", &script), 0);
    // YAML.
    let yaml = include_str!("../../../../book/samples/vmi.yaml");
    let m = mark("kv-hpet-on");
    assert!(left_out(Kind::Kubevirt, "a.yaml", &format!("{m}\n{yaml}")) > 0);
    assert!(
        left_out(
            Kind::Kubevirt,
            "a.yaml",
            &yaml.replacen("metadata:", &format!("metadata: {m}"), 1)
        ) > 0
    );
    for data in [
        format!("metadata:\n  annotations:\n    a: \"{m}\""),
        format!("metadata:\n  annotations:\n    a: \"x\n      {m}\""),
        format!("metadata:\n  annotations:\n    a: |\n      {m}\n      x"),
        format!("metadata:\n  annotations:\n    a: >-\n      x\n      {m}"),
    ] {
        let text = yaml.replacen("metadata:", &data, 1);
        assert_eq!(left_out(Kind::Kubevirt, "a.yaml", &text), 0, "{data}");
    }
}

/// Ruby takes `::` before the name of a method.
#[test]
fn vagrantfile_is_told_by_either_way_to_call() {
    for call in ["Vagrant.configure", "Vagrant::configure"] {
        let text = format!(
            "{call}(\"2\") do |config|\n  config.vm.box = \"x\"\n  config.vm.provider :virtualbox do |v|\n    v.memory = 512\n  end\nend\n"
        );
        assert_eq!(Document::new("Vagrantfile", text.as_bytes()).unwrap().kind, Kind::Virtualbox);
    }
}

#[test]
fn key_of_virtualbox_that_is_not_there_overrides_nothing() {
    let text = "VBoxManage setextradata vm VBoxInternal/TM/TSCVirtualized 0\n";
    let found = lint(&document(Kind::Virtualbox, text)).unwrap().findings;
    let said = found.into_iter().find(|it| it.rule.id == "vb-key-overridden").unwrap();
    assert_eq!(said.summary.as_deref(), Some("TSCVirtualized does nothing without UseRealTSC"));
    assert_eq!(said.fix.as_deref(), Some("remove it"));
}
