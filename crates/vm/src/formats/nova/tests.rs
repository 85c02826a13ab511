use crate::formats::Kind;
use crate::guest::Guest;
use crate::testing;

fn bad(inside: &str) -> Vec<&'static str> {
    let text = format!(
        "[DEFAULT]\nmy_ip = 10.0.0.1\n\n[libvirt]\n#virt_type = qemu\n{inside}\n[vnc]\nvirt_type = no\n"
    );
    assert_eq!(Kind::detect("nova.conf", &text), Some(Kind::Nova));
    testing::bad(Kind::Nova, "nova.conf", &text)
}

#[test]
fn configuration_is_judged_as_the_domain_that_nova_makes() {
    assert_eq!(bad(""), [""; 0]);
    assert_eq!(bad("cpu_mode = host-passthrough"), [""; 0]);
    assert_eq!(bad("virt_type = qemu"), [""; 0]);
    assert_eq!(bad("virt_type = lxc"), [""; 0]);
    assert_eq!(
        bad("cpu_mode = host-passthrough\ncpu_model_extra_flags = pcid,+invtsc"),
        ["lv-invtsc-no-freq"]
    );
    assert_eq!(
        bad("cpu_mode = custom\ncpu_models = IvyBridge\ncpu_model_extra_flags = -invtsc"),
        ["lv-invtsc-disabled"]
    );
}

#[test]
fn properties_are_judged_as_the_domain_that_nova_makes() {
    let show = |properties: &str| {
        format!(
            "+------------+----------+\n| Field | Value |\n+------------+----------+\n| name | a |\n| properties | hw_rng_model='virtio', {properties} |\n+------------+----------+\n"
        )
    };
    let bad = |properties: &str| {
        let text = show(properties);
        assert_eq!(Kind::detect("a.txt", &text), Some(Kind::Nova), "{text}");
        testing::bad(Kind::Nova, "a.txt", &text)
    };
    assert_eq!(bad("os_type='windows'"), [""; 0]);
    assert_eq!(bad("hw_time_hpet='true', os_type='linux'"), ["lv-hpet-on"]);
    assert_eq!(bad("hw_time_hpet='false', os_type='linux'"), [""; 0]);
    assert_eq!(bad("hw:hide_hypervisor_id='true', os_type='linux'"), ["lv-kvm-hidden"]);
    let text = show("os_type='windows'");
    assert_eq!(testing::report(Kind::Nova, "a.txt", &text).guest, Guest::Windows);
}

#[test]
fn configuration_without_a_word_of_libvirt_is_known_by_its_sections() {
    let text = "[DEFAULT]\nmy_ip = 10.0.0.1\n[api_database]\n[glance]\n[libvirt]\n[placement]\nregion_name = One\n";
    assert_eq!(Kind::detect("compute.conf", text), Some(Kind::Nova));
    assert_eq!(testing::bad(Kind::Nova, "compute.conf", text), [""; 0]);
    assert_eq!(Kind::detect("a.conf", "[libvirt]\n[vnc]\n"), None);
}

#[test]
fn configuration_of_old_releases_has_its_keys_in_the_default_section() {
    let text = "[DEFAULT]\ncompute_driver=libvirt.LibvirtDriver\nlibvirt_type=qemu\n";
    assert_eq!(Kind::detect("nova-compute.conf", text), Some(Kind::Nova));
    let ids = testing::ids(Kind::Nova, "nova-compute.conf", text);
    assert!(ids.iter().any(|(id, _)| *id == "lv-emulated"), "{ids:?}");
    let kvm = text.replace("=qemu", "=kvm");
    assert_eq!(testing::bad(Kind::Nova, "nova-compute.conf", &kvm), [""; 0]);
    // The new key applies.
    let both = format!("{text}[libvirt]\nvirt_type=kvm\n");
    let ids = testing::ids(Kind::Nova, "nova.conf", &both);
    assert!(ids.iter().all(|(id, _)| *id != "lv-emulated"), "{ids:?}");
}

#[test]
fn a_file_of_flags_is_of_nova() {
    let text = |kind: &str| {
        format!(
            "--logdir=/var/log/nova\n--network_manager=nova.network.manager.FlatDHCPManager\n--sql_connection=mysql://nova@db/nova\n--libvirt_type={kind}\n--verbose\n"
        )
    };
    assert_eq!(Kind::detect("nova.conf", &text("kvm")), Some(Kind::Nova));
    assert_eq!(testing::bad(Kind::Nova, "nova.conf", &text("kvm")), [""; 0]);
    let emulated = testing::ids(Kind::Nova, "nova.conf", &text("qemu"));
    assert!(emulated.contains(&("lv-emulated", crate::Severity::Info)));
    assert_eq!(Kind::detect("a.sh", "run --sql_connection=x --libvirt_type=qemu\n"), None);
}
