//! What is so in all kinds: parts, broken and torn files, the guest's system.

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
    let apple = "  <qemu:commandline><qemu:arg value='-device'/><qemu:arg value='isa-applesmc,osk=x'/></qemu:commandline>\n";
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

/// A change that nothing reads, because the file's parts are not where they seem to be, is not made again
/// and again.
#[test]
fn torn_files_are_mended_once_at_most() {
    let torn = "{% if x %}<domac\"/></ffsain>{% \"><c<!-- virsh edit x -->\n<domain type='kvm'>\n  \
                <name>win10</name>\n  <os><type arch='x86_64' machine='q35'>hvm</type><cmeline>notsc</cmdline></os>\n  \
                <features><hyperv><reenlightenment state='on'/></hyperv></features>\n  <cpu mode='host-passthrough'/>\n  \
                <clock offset='lock offset=\"utc\"/></domutc'>\n    <timer name='tsc' present='yes' main>{% e0difo\n    \
                <timer name=\"hpet\" present=\"yes\"/>\n  </clock>\n  <qemu:commandline><q";
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
    // Only a comment says it.
    assert_eq!(ids(&text("echo 'clocksmith: ignore q-kvm-off'\n")).len(), 2);
    let ignored = text("# clocksmith: ignore q-hpet-default-on no time\n");
    assert_eq!(lint(&document(Kind::Qemu, &ignored)).unwrap().ignored, 1);
    mended(Kind::Qemu, &ignored, &ignored);
    let xml = domain("a", "", "", QUIET_CLOCK, "").replace("'no'", "'yes'");
    let ignored = format!("<!-- clocksmith: ignore lv-hpet-on -->\n{xml}");
    assert!(!super::ids(Kind::Libvirt, &ignored).iter().any(|(id, _)| *id == "lv-hpet-on"));
}
