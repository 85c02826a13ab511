use crate::finding::Severity;
use crate::formats::Kind;
use crate::guest::Guest;
use crate::testing;

fn compose(image: &str, environment: &str) -> String {
    format!(
        "services:\n  vm:\n    image: {image}\n    environment:\n{environment}    devices:\n      - /dev/kvm\n"
    )
}

fn ids(text: &str) -> Vec<&'static str> {
    assert_eq!(Kind::detect("compose.yml", text), Some(Kind::Container), "{text}");
    testing::ids(Kind::Container, "compose.yml", text).into_iter().map(|(id, _)| id).collect()
}

#[test]
fn container_of_windows_has_what_the_image_gives() {
    let text = compose("dockurr/windows", "      VERSION: \"11\"\n");
    assert_eq!(testing::bad(Kind::Container, "compose.yml", &text), [""; 0]);
    assert_eq!(testing::report(Kind::Container, "compose.yml", &text).guest, Guest::Windows);
    assert!(
        ids(&compose("ghcr.io/dockur/windows:latest", "      HV: \"N\"\n"))
            .contains(&"q-hv-time-missing")
    );
    // It is requested, and so a warning.
    let off = compose("dockurr/windows", "      - KVM=N\n");
    assert!(testing::bad(Kind::Container, "compose.yml", &off).contains(&"q-emulated"));
}

#[test]
fn container_of_qemu_is_judged_by_its_variables() {
    assert_eq!(
        testing::bad(Kind::Container, "c.yml", &compose("qemux/qemu", "      BOOT: \"alpine\"\n")),
        [""; 0]
    );
    assert!(
        ids(&compose("qemux/qemu", "      CPU_FLAGS: \"-kvmclock,-invtsc\"\n"))
            .iter()
            .any(|id| id.contains("kvmclock"))
    );
    assert!(
        ids(&compose("qemux/qemu", "      ARGUMENTS: \"-cpu host -device x\"\n"))
            .contains(&"ct-arguments-cpu")
    );
    let text = compose("qemux/qemu", "      BOOT: debian\n      ARGUMENTS: \"-machine hpet=on\"\n");
    assert!(ids(&text).contains(&"q-hpet-on"));
    assert_eq!(
        testing::mended(Kind::Container, "c.yml", &text),
        text.replace("hpet=on", "hpet=off")
    );
    // A value that an anchor gives to other places, too, is left.
    let shared = text.replace("ARGUMENTS: ", "ARGUMENTS: &all ");
    assert_eq!(testing::mended(Kind::Container, "c.yml", &shared), shared);
    // A Pod has them as a list of names and values.
    let pod = "kind: Pod\nspec:\n  containers:\n    - image: qemux/qemu\n      env:\n        - name: ARGUMENTS\n          value: \"-machine hpet=on\"\n";
    assert!(ids(pod).contains(&"q-hpet-on"));
    assert_eq!(Kind::detect("c.yml", "services:\n  db:\n    image: postgres\n"), None);
    testing::broken(Kind::Container, "a: [");
}

#[test]
fn container_in_a_template_or_a_script_is_read_and_left() {
    let plain =
        compose("qemux/qemu", "      BOOT: debian\n      ARGUMENTS: \"-machine hpet=on\"\n");
    let left = |text: &str, why: &str| {
        assert_eq!(Kind::detect("c.yml", text), Some(Kind::Container), "{text}");
        let report = testing::report(Kind::Container, "c.yml", text);
        let found = report.findings.iter().find(|it| it.rule.id == "q-hpet-on").unwrap();
        assert!(found.left.as_deref().unwrap_or_default().contains(why), "{found:?}");
        assert_eq!(text.get(found.span.clone()), Some("hpet=on"));
        assert_eq!(testing::mended(Kind::Container, "c.yml", text), text);
    };
    left(
        &format!("{plain}    networks:\n      a:\n        ipv4_address: {{{{ address }}}}\n"),
        "template",
    );
    left(&format!("#!/bin/sh\ncat > c.yml <<'YML'\n{plain}YML\ndocker compose up -d\n"), "script");
    let filled = compose("qemux/qemu", "      CPU_FLAGS: \"{{ flags }}\"\n");
    assert_eq!(testing::bad(Kind::Container, "c.yml", &filled), [""; 0]);
}

#[test]
fn fragment_of_compose_is_no_service_and_its_lines_are_named_once() {
    let text = |own: &str| {
        format!(
            "x-base: &base\n  image: dockurr/windows\n  environment:\n    HV: \"N\"\nservices:\n  a:\n    <<: *base\n{own}  b:\n    <<: *base\n{own}"
        )
    };
    let own = "    environment:\n      HV: \"Y\"\n";
    assert_eq!(testing::bad(Kind::Container, "c.yml", &text(own)), [""; 0]);
    assert_eq!(testing::bad(Kind::Container, "c.yml", &text("")), ["q-hv-time-missing"]);
}

#[test]
fn page_that_hv_keeps_from_windows_is_not_given_back_by_half() {
    let text = |arguments: &str| {
        compose(
            "dockurr/windows",
            &format!("      HV: \"N\"\n      CPU_MODEL: \"host\"\n{arguments}"),
        )
    };
    let found = |text: &str| {
        let report = testing::report(Kind::Container, "compose.yml", text);
        // What HV takes away on request is not put elsewhere.
        assert_eq!(testing::mended(Kind::Container, "compose.yml", text), text);
        let mut all = report.findings.into_iter();
        all.find(|it| it.rule.id == "q-hv-time-missing").unwrap()
    };
    let plain = found(&text(""));
    assert_eq!(plain.fix.as_deref(), Some("remove HV: \"N\""));
    assert!(plain.left.unwrap_or_default().contains("HV asks for it"));
    // Older images use the -cpu in ARGUMENTS.
    let own = found(&text("      ARGUMENTS: \"-cpu host,hv_time=off\"\n"));
    assert_eq!(own.severity, Severity::Warn);
    assert!(own.fix.unwrap_or_default().contains("and -cpu from ARGUMENTS"));
    let page = found(&text("      ARGUMENTS: \"-cpu host,hv_relaxed,hv_time\"\n"));
    assert_eq!(page.severity, Severity::Info);
}

#[test]
fn images_that_are_made_from_it_are_judged_like_it() {
    for image in ["dockurr/chromeos", "docker.io/dockurr/zima:latest", "vdsm/virtual-dsm"] {
        let text = compose(image, "      CPU_CORES: \"2\"\n");
        assert_eq!(testing::bad(Kind::Container, "compose.yml", &text), [""; 0]);
        assert_eq!(testing::report(Kind::Container, "c.yml", &text).guest, Guest::Linux);
        let off = compose(image, "      KVM: \"N\"\n");
        assert!(testing::bad(Kind::Container, "compose.yml", &off).contains(&"q-emulated"));
    }
    // This one adds the flags of a -cpu host to its own.
    let text = compose("vdsm/virtual-dsm", "      ARGUMENTS: \"-cpu host,-kvmclock,-invtsc\"\n");
    assert!(ids(&text).iter().any(|id| id.contains("kvmclock")), "{text}");
    assert!(!ids(&text).contains(&"ct-arguments-cpu"));
    // These have no machine.
    for image in ["dockurr/umbrel", "dockurr/casa", "dockurr/proxmox"] {
        assert_eq!(Kind::detect("compose.yml", &compose(image, "      A: b\n")), None);
    }
}

#[test]
fn default_of_a_variable_is_read() {
    let with = |value: &str| {
        let text = format!(
            "services:\n  a:\n    image: qemux/qemu\n    environment:\n      BOOT: \"debian\"\n      ARGUMENTS: \"{value}\"\n"
        );
        testing::bad(Kind::Container, "compose.yml", &text)
    };
    assert_eq!(with("${MORE:--no-hpet}"), ["q-no-hpet-removed"]);
    assert_eq!(with("${MORE--no-hpet}"), ["q-no-hpet-removed"]);
    assert_eq!(with("${MORE}"), [""; 0]);
    assert_eq!(with("${MORE:-$OTHER}"), [""; 0]);
}

#[test]
fn service_without_the_device_of_kvm_is_said() {
    let text = |rest: &str| {
        format!(
            "services:\n  vm:\n    image: qemux/qemu\n    environment:\n      BOOT: alpine\n{rest}"
        )
    };
    let missing = |text: &str| ids(text).contains(&"ct-kvm-missing");
    for rest in ["", "    devices:\n      - /dev/net/tun\n", "    privileged: false\n"] {
        assert!(missing(&text(rest)), "{rest}");
    }
    for rest in [
        "    devices:\n      - /dev/kvm\n",
        "    devices:\n      - \"/dev/kvm:/dev/kvm\"\n",
        "    devices:\n      - source: /dev/kvm\n        target: /dev/kvm\n",
        "    devices:\n      - ${DEVICE}\n",
        "    privileged: true\n",
        "    privileged: ${PRIVILEGED}\n",
        "    volumes:\n      - /dev/kvm:/dev/kvm\n",
        "    extends: base\n",
        "      KVM: \"N\"\n",
    ] {
        assert!(!missing(&text(rest)), "{rest}");
    }
    // A cluster gives the device by other means.
    let pod = "kind: Pod\nspec:\n  containers:\n    - image: qemux/qemu\n      env: []\n";
    assert!(!missing(pod));
}
