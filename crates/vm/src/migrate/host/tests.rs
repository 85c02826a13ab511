use super::facts::of_facts;
use super::*;
use clocksmith_facts::cpu::{CpuModel, CpuVendor, Flags};
use clocksmith_facts::log::KernelLog;
use clocksmith_facts::{Fact, Facts, Origin};
use proptest::prelude::*;

fn capabilities(cpu: &str) -> String {
    format!(
        "<?xml version='1.0'?>\n<capabilities>\n <host>\n  <uuid>1</uuid>\n  <cpu>{cpu}</cpu>\n  \
         <topology><cells><cpu id='0'/></cells></topology>\n </host>\n</capabilities>\n"
    )
}

fn khz(khz: u32) -> Option<Tsc> {
    Some(Tsc { khz, slack_khz: 0 })
}

#[test]
fn capabilities_of_libvirt() {
    let text = capabilities(
        "<arch>x86_64</arch><model>Skylake-Server</model><vendor>Intel</vendor><counter name='tsc' \
         frequency='2397223000' scaling='yes'/><feature name='invtsc'/>",
    );
    let hosts = parse("a", &text).unwrap();
    assert_eq!(
        hosts,
        [Host {
            tsc: khz(2_397_223),
            scaling: Some(true),
            hardware: Some(Hardware::Vmx),
            invariant: Some(true),
            ..Host::unknown("a")
        }]
    );
    // No counter and no feature: not invariant. Without a model: not known.
    let host =
        &parse("b", &capabilities("<model>Opteron_G3</model><vendor>AMD</vendor>")).unwrap()[0];
    assert_eq!((host.invariant, host.tsc, host.scaling), (Some(false), None, None));
    assert_eq!(host.missing.len(), 2);
    assert_eq!(parse("c", &capabilities("")).unwrap()[0].invariant, None);
    // A counter without the feature: a guest that requires invtsc does not start.
    let counter = "<counter name='tsc' frequency='2500000000' scaling='yes'/>";
    let of = |cpu: &str| parse("d", &capabilities(&format!("{cpu}{counter}"))).unwrap().remove(0);
    assert_eq!(of("").invariant, Some(true));
    let host = of("<model>Skylake-Server</model><vendor>Intel</vendor>");
    assert_eq!((host.invariant, host.tsc), (Some(false), khz(2_500_000)));
    let guest = "<domain type='kvm'><name>a</name><os><type arch='x86_64'>hvm</type></os><cpu mode='host-passthrough'>\
                 <feature policy='require' name='invtsc'/></cpu><clock offset='utc'><timer name='tsc' frequency='2500000000'/>\
                 </clock></domain>";
    let guest = crate::migrate::guest::parse(guest).unwrap();
    let answer = crate::migrate::decide::decide(&guest, &host);
    assert_eq!((answer.verdict.goes(), answer.by), (Some(false), Some("libvirt")));
    assert_eq!(crate::migrate::decide::decide(&guest, &of("")).verdict.goes(), Some(true));
}

const NODES: &str = "\
apiVersion: v1
kind: NodeList
items:
- apiVersion: v1
  kind: Node
  metadata:
    name: one
    labels: {cpu-vendor.node.kubevirt.io/Intel: 'true', other: &x x}
  status: {conditions: [{kind: Node, metadata: {name: decoy}}], more: *x}
- metadata:
    name: two
    labels:
      cpu-timer.node.kubevirt.io/tsc-frequency: \"2599981000\"
      cpu-timer.node.kubevirt.io/tsc-scalable: \"false\"
      cpu-vendor.node.kubevirt.io/AMD: \"true\"
      scheduling.node.kubevirt.io/tsc-frequency-2400000000: \"true\"
- metadata:
    labels:
      scheduling.node.kubevirt.io/tsc-frequency-2400000000: \"true\"
";

fn check_nodes(hosts: &[Host]) {
    assert_eq!(hosts.len(), 3);
    assert_eq!(hosts[0].name, "one");
    assert_eq!((hosts[0].tsc, hosts[0].scaling, hosts[0].invariant), (None, None, None));
    assert_eq!(hosts[0].missing.len(), 3);
    assert_eq!((hosts[1].tsc, hosts[1].scaling), (khz(2_599_981), Some(false)));
    assert_eq!((hosts[1].hardware, hosts[1].invariant), (Some(Hardware::Svm), Some(true)));
    assert_eq!((hosts[2].tsc, hosts[2].scaling), (khz(2_400_000), None));
}

#[test]
fn labels_of_nodes() {
    check_nodes(&parse("x", NODES).unwrap());
    let json = r#"{"kind": "NodeList", "items": [
        {"metadata": {"name": "one", "labels": {"cpu-vendor.node.kubevirt.io/Intel": "true"}},
         "status": {"images": [{"names": ["a"]}]}},
        {"metadata": {"name": "two", "labels": {
            "cpu-timer.node.kubevirt.io/tsc-frequency": "2599981000",
            "cpu-timer.node.kubevirt.io/tsc-scalable": "false",
            "cpu-vendor.node.kubevirt.io/AMD": "true"}}},
        {"metadata": {"labels": {"scheduling.node.kubevirt.io/tsc-frequency-2400000000": "true"}}}]}"#;
    check_nodes(&parse("x", json).unwrap());
    let documents = "kind: Node\nmetadata: {name: a}\n---\nkind: Pod\n---\nkind: Node\n";
    assert_eq!(parse("x", documents).unwrap().len(), 2);
}

#[test]
fn facts_of_a_machine() {
    let with = |vendor, flags: &str, log: &str| {
        let mut facts = Facts::empty(Origin::Stated);
        let model = CpuModel { vendor, family: 6, model: 85, name: String::new() };
        facts.cpu.model = Fact::known(model, "test");
        facts.cpu.flags = Fact::known(Flags::parse(flags), "test");
        let log = KernelLog::scan(log.as_bytes(), "log").unwrap();
        facts.log = Fact::known(log, "log");
        facts
    };
    let refined = "[    0.000000] tsc: Detected 2400.000 MHz processor\n\
                   [    1.000000] tsc: Refined TSC clocksource calibration: 2394.374 MHz\n";
    let detected = "[    0.000000] tsc: Detected 2400.000 MHz processor\n";
    let intel = "vmx constant_tsc nonstop_tsc";
    let host = of_facts("a", &with(CpuVendor::Intel, intel, refined));
    assert_eq!((host.tsc, host.scaling, host.invariant), (khz(2_394_374), None, Some(true)));
    let mut with_vmx = with(CpuVendor::Intel, intel, refined);
    with_vmx.cpu.vmx_flags = Fact::known(Flags::parse("vnmi tsc_scaling"), "test");
    assert_eq!(of_facts("a", &with_vmx).scaling, Some(true));
    // A frequency that was not refined may be inaccurate, unless it was known beforehand.
    let early = with(CpuVendor::Amd, "svm tsc_scale", detected);
    let host = of_facts("b", &early);
    assert_eq!(host.tsc, Some(Tsc { khz: 2_400_000, slack_khz: 1200 }));
    assert_eq!((host.scaling, host.invariant), (Some(true), Some(false)));
    let sure = with(CpuVendor::Amd, "svm tsc_known_freq nonstop_tsc", detected);
    let host = of_facts("c", &sure);
    assert_eq!((host.tsc, host.scaling), (khz(2_400_000), Some(false)));
    assert_eq!(of_facts("d", &Facts::empty(Origin::Stated)).missing.len(), 3);
}

#[test]
fn reports() {
    let json = r#"{"schema": "clocksmith.why.v1", "machine": {"as_host": {"tsc":
        {"khz": 2500000, "slack_khz": 0}, "scaling": null, "hardware": "svm", "invariant": true}}}"#;
    let host = &parse("r", json).unwrap()[0];
    assert_eq!((host.tsc, host.hardware), (khz(2_500_000), Some(Hardware::Svm)));
    assert_eq!((host.invariant, host.missing.len()), (Some(true), 1));
    for (json, part) in [
        (r#"{"schema": "clocksmith.why.v1", "machine": {}}"#, "older version"),
        (r#"{"schema": "clocksmith.bench.v1"}"#, "clocksmith.bench.v1"),
        (
            r#"{"schema": "clocksmith.why.v1", "machine": {"as_host": {"tsc": {"khz": 18446744073709551616}}}}"#,
            "is not one that a processor has",
        ),
        (
            r#"{"schema": "clocksmith.why.v1", "machine": {"as_host": {"tsc": {"khz": -5}}}}"#,
            "is not one that a processor has",
        ),
        (
            r#"{"schema": "clocksmith.why.v1", "machine": {"as_host": {"tsc": {"khz": "x"}}}}"#,
            "was changed",
        ),
    ] {
        let error = parse("r", json).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn what_is_no_host_says_so() {
    let deep_json = format!("{{\"a\":{}", "[".repeat(100_000));
    let deep_yaml = format!("kind: Node\na: {}", "[".repeat(10_000));
    let deep_xml = "<capabilities>".repeat(10_000);
    let laughs = "<!DOCTYPE l [<!ENTITY a 'aaaa'>]><capabilities>&a;</capabilities>";
    for (text, part) in [
        ("", "empty"),
        ("hello world\n", "neither"),
        ("\u{0}\u{1}\u{2}", "neither"),
        ("kind: Pod\n", "neither"),
        ("kind: NodeList\nitems: []\n", "contains no Kubernetes Node"),
        ("{\"kind\": \"List\", \"items\": [{\"kind\": \"Pod\"}]}", "contains no Kubernetes Node"),
        ("{\"kind\": 7}", "JSON cannot be read"),
        ("<html/>", "neither"),
        ("<domain/>", "a guest, not a host"),
        ("<domainCapabilities/>", "domcapabilities"),
        ("<capabilities><host>", "XML cannot be read"),
        ("<capabilities/>", "no <host><cpu>"),
        (&capabilities("<arch>aarch64</arch>"), "aarch64"),
        (&capabilities("<counter name='tsc' frequency='2397223'/>"), "in Hz"),
        (&capabilities("<counter name='tsc' frequency='-1'/>"), "\"-1\""),
        (&deep_json, "JSON cannot be read"),
        (&deep_yaml, "neither"),
        (&deep_xml, "XML cannot be read"),
        (laughs, "XML cannot be read"),
    ] {
        let error = parse("x", text).unwrap_err().to_string();
        assert!(error.contains(part), "{text:.60}: {error}");
    }
}

proptest! {
    #[test]
    fn any_text_is_hosts_or_an_error(
        text in "(?s)(<capabilities><host><cpu>|kind: Node\n|\\{\"kind\": \"Node\"|\\{)?.{0,200}",
    ) {
        if let Ok(hosts) = parse("x", &text) {
            prop_assert!(!hosts.is_empty());
        }
    }
}

#[test]
fn list_of_nodes_has_an_end_and_keeps_the_labels_that_are_read() {
    let list = |item: &str, count: usize| {
        format!("{{\"kind\":\"NodeList\",\"items\":[{}]}}", vec![item; count].join(","))
    };
    let error = super::node::parse_json(&list("{}", 50_001)).unwrap_err().to_string();
    assert!(error.contains("more than 50000 items"), "{error}");
    let label = "scheduling.node.kubevirt.io/tsc-frequency";
    let node =
        |labels: &str| format!("{{\"metadata\":{{\"name\":\"n\",\"labels\":{{{labels}}}}}}}");
    let one = node(&format!("\"a\":\"b\",\"{label}-2000000000\":\"true\",\"{label}-x\":\"true\""));
    let hosts = super::node::parse_json(&list(&one, 1)).unwrap();
    assert_eq!(hosts[0].tsc.map(|tsc| tsc.khz), Some(2_000_000));
    let two = node(&format!(
        "\"{label}-2000000000\":\"true\",\"{label}-2100000000\":\"true\",\"{label}-2200000000\":\"true\""
    ));
    assert_eq!(super::node::parse_json(&list(&two, 1)).unwrap()[0].tsc, None);
}
