use crate::formats::Kind;
use crate::testing;

fn bad(inside: &str) -> Vec<&'static str> {
    let text = format!(
        "architecture: x86_64\nconfig:\n  limits.cpu: \"2\"\n{inside}devices: {{}}\nephemeral: false\nprofiles:\n- default\n"
    );
    assert_eq!(Kind::detect("a.yaml", &text), Some(Kind::Incus));
    testing::bad(Kind::Incus, "a.yaml", &text)
}

#[test]
fn raw_options_are_judged_as_the_end_of_a_command_line() {
    assert_eq!(bad(""), [""; 0]);
    assert_eq!(bad("  raw.qemu: |\n    -cpu host\n"), [""; 0]);
    assert_eq!(bad("  raw.qemu: -machine hpet=on\n"), ["q-hpet-on"]);
    assert_eq!(
        bad("  raw.qemu.conf: |\n    [machine]\n    hpet = \"on\"\n    [device \"x\"]\n"),
        ["q-hpet-on"]
    );
    assert_eq!(bad("  raw.qemu: -cpu host,-kvmclock\n"), ["q-kvmclock-off-no-invtsc"]);
    let text = "config:\n  image.os: debian\n  raw.qemu: |\n    -machine hpet=on\n";
    assert_eq!(testing::mended(Kind::Incus, "a.yaml", text), text.replace("=on", "=off"));
    testing::broken(Kind::Incus, "config: [");
}

#[test]
fn profile_is_recognised() {
    let text = "config:\n  limits.cpu: \"2\"\n  raw.qemu.x: a\ndescription: a\ndevices: {}\nname: a\nused_by: []\nproject: default\n";
    assert_eq!(Kind::detect("a.profile", text), Some(Kind::Incus));
}

#[test]
fn instances_and_profiles_without_raw_options_are_recognised() {
    for text in [
        "name: p\nconfig:\n  security.secureboot: \"false\"\n  limits.cpu: \"4\"\ndevices:\n  root: {path: /, pool: default, type: disk}\n",
        "type: virtual-machine\nconfig:\n  limits.cpu: \"4\"\nname: x\n",
        "description: d\nconfig:\n  'limits.memory': 4GiB\ndevices: {}\n",
        "config: {}\ndescription: Default\ndevices:\n  eth0:\n    name: eth0\n    network: incusbr0\n    type: nic\nname: default\n",
        "- name: v1\n  config:\n    limits.cpu: \"2\"\n  expanded_config:\n    limits.cpu: \"2\"\n  expanded_devices: {}\n",
        "[{\"name\": \"v1\", \"config\": {\"limits.cpu\": \"2\"}, \"expanded_config\": {}, \"expanded_devices\": {}}]\n",
    ] {
        assert_eq!(Kind::detect("a.yaml", text), Some(Kind::Incus), "{text}");
        assert_eq!(testing::ids(Kind::Incus, "a.yaml", text), [], "{text}");
    }
    for text in [
        // A connector of Kafka, and other files with a config.
        "name: c\nconfig:\n  security.protocol: SSL\n  tasks.max: 1\n",
        "name: c\nconfig:\n  a: limits.cpu\n",
        "config:\n  limits.cpu: 1\n",
        "limits.cpu: 1\nname: c\n",
        "config: {}\nname: c\ntype: disk\n",
    ] {
        assert_eq!(Kind::detect("a.yaml", text), None, "{text}");
    }
}

#[test]
fn cpu_of_raw_options_is_all_that_windows_gets() {
    let of = |system: &str, options: &str| {
        format!(
            "config:\n  image.os: {system}\n  raw.qemu: {options}\nname: a\ndevices: {{}}\ntype: virtual-machine\n"
        )
    };
    let bad = |text: &str| testing::bad(Kind::Incus, "a.yaml", text);
    let text = of("Windows", "-cpu host,hv_relaxed,hv_vapic");
    assert_eq!(bad(&text), ["q-hv-time-missing"]);
    let new = testing::mended(Kind::Incus, "a.yaml", &text);
    assert_eq!(new, text.replace("hv_vapic", "hv_vapic,hv_time"));
    for (system, options) in [
        ("Windows", "-cpu host,hv_relaxed,hv_time"),
        ("Windows", "-cpu host,hv_passthrough"),
        ("Windows", "-smp 2"),
        ("debian", "-cpu host,migratable=on"),
        ("Windows", "-cpu host -machine virt,gic-version=max"),
    ] {
        assert_eq!(bad(&of(system, options)), [""; 0], "{system} {options}");
    }
}

#[test]
fn options_that_a_script_gives_are_judged() {
    for (text, expected) in [
        (
            "#!/bin/sh\nincus launch images:debian/12 v1 --vm -c limits.cpu=2 -c raw.qemu=\"-cpu host,-kvmclock\"\n",
            vec!["q-kvmclock-off-no-invtsc"],
        ),
        ("lxc config set v1 raw.qemu '-machine hpet=on'\n", vec!["q-hpet-on"]),
        (
            "#!/bin/bash\nincus config set v1 raw.qemu.conf='[machine]\nhpet = \"on\"'\n",
            vec!["q-hpet-on"],
        ),
        (
            "lxc profile create p\ncat <<EOF | lxc profile edit p\nconfig:\n  raw.qemu: -cpu host,-kvmclock\ndevices: {}\nEOF\n",
            vec!["q-kvmclock-off-no-invtsc"],
        ),
        // What only a run shows.
        ("incus config set v1 raw.qemu=\"$1\"\n", vec![]),
        // No option of it affects a clock.
        ("incus launch images:debian/12 v1 --vm\n", vec![]),
    ] {
        assert_eq!(Kind::detect("make.sh", text), Some(Kind::Incus), "{text}");
        assert_eq!(testing::bad(Kind::Incus, "make.sh", text), expected, "{text}");
        assert_eq!(testing::mended(Kind::Incus, "make.sh", text), text);
    }
    for text in
        ["incus launch images:debian/12 v1\n", "echo incus config set v1 raw.qemu=-no-hpet\n"]
    {
        assert_eq!(Kind::detect("make.sh", text), None, "{text}");
    }
}

#[test]
fn profiles_of_a_preseed_are_judged() {
    let text = "config: {}\nprofiles:\n- name: default\n  config:\n    raw.qemu: -cpu host,-kvmclock\n  devices: {}\n- name: b\n  config:\n    raw.qemu: -machine hpet=on\n";
    assert_eq!(
        testing::bad(Kind::Incus, "preseed.yaml", text),
        ["q-kvmclock-off-no-invtsc", "q-hpet-on"]
    );
    // The profiles of an instance are only names.
    assert_eq!(bad("  raw.qemu: -cpu host\n"), [""; 0]);
}

#[test]
fn value_after_two_dashes_is_the_value() {
    let text = "#!/bin/sh\nincus config set web raw.qemu -- \"-cpu host,-kvmclock\"\n";
    assert_eq!(testing::bad(Kind::Incus, "a.sh", text), ["q-kvmclock-off-no-invtsc"]);
    assert_eq!(testing::mended(Kind::Incus, "a.sh", text), text);
}
