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
        [""; 0]
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

#[test]
fn properties_that_a_script_gives_are_judged() {
    let bad = |text: &str| {
        assert_eq!(Kind::detect("make.sh", text), Some(Kind::Nova), "{text}");
        assert_eq!(testing::mended(Kind::Nova, "make.sh", text), text);
        testing::bad(Kind::Nova, "make.sh", text)
    };
    for (text, expected) in [
        (
            "openstack flavor create --vcpus 4 --ram 4096 --property hw:hide_hypervisor_id=true gpu\n",
            vec!["lv-kvm-hidden"],
        ),
        (
            "#!/bin/sh\nH=true\nopenstack --os-cloud a image set \\\n  --property=os_type=linux \\\n  --property hw_time_hpet=\"$H\" deb\n",
            vec!["lv-hpet-on"],
        ),
        ("nova flavor-key gpu set hw:hide_hypervisor_id=True\n", vec!["lv-kvm-hidden"]),
        (
            "glance image-create --name w --property os_type=windows --property hw_time_hpet=no --file w.img\n",
            vec![],
        ),
        // What only a run knows, and a property that is taken away.
        ("openstack image set --property hw_time_hpet=$1 deb\n", vec![]),
        (
            "openstack image set --property hw_time_hpet=true deb\nopenstack image set --property hw_time_hpet=false deb\n",
            vec![],
        ),
    ] {
        assert_eq!(bad(text), expected, "{text}");
    }
    for text in [
        "openstack flavor unset --property hw:hide_hypervisor_id gpu\n",
        "echo openstack flavor set --property hw:hide_hypervisor_id=true gpu\n",
        "openstack flavor list\n",
    ] {
        assert_eq!(Kind::detect("make.sh", text), None, "{text}");
    }
}

#[test]
fn properties_of_templates_and_playbooks_are_judged() {
    let bad = |name: &str, text: &str| {
        assert_eq!(Kind::detect(name, text), Some(Kind::Nova), "{text}");
        assert_eq!(testing::mended(Kind::Nova, name, text), text);
        testing::bad(Kind::Nova, name, text)
    };
    let heat = |inside: &str| {
        format!(
            "heat_template_version: 2018-08-31\nresources:\n  f:\n    type: OS::Nova::Flavor\n    properties:\n      ram: 64\n      extra_specs:\n        {inside}\n"
        )
    };
    assert_eq!(bad("a.yaml", &heat("\"hw:hide_hypervisor_id\": \"true\"")), ["lv-kvm-hidden"]);
    assert_eq!(bad("a.yaml", &heat("hw:hide_hypervisor_id: {get_param: hide}")), [""; 0]);
    let task = "- hosts: a\n  tasks:\n    - openstack.cloud.image:\n        name: i\n        properties:\n          os_type: linux\n          hw_time_hpet: yes\n";
    assert_eq!(bad("play.yml", task), ["lv-hpet-on"]);
    let windows = task
        .replace("linux", "windows")
        .replace("hw_time_hpet: yes", "img_hide_hypervisor_id: 'true'");
    assert_eq!(bad("play.yml", &windows), [""; 0]);
    let show = "{\"name\": \"gpu\", \"properties\": {\"hw:hide_hypervisor_id\": \"true\"}}";
    assert_eq!(bad("a.json", show), ["lv-kvm-hidden"]);
}

#[test]
fn section_of_libvirt_says_nothing_where_nova_uses_another_driver() {
    let ids = |driver: &str| {
        let text = format!(
            "[DEFAULT]\n{driver}\n[libvirt]\nvirt_type = kvm\ncpu_mode = host-passthrough\ncpu_model_extra_flags = invtsc\n"
        );
        testing::bad(Kind::Nova, "nova.conf", &text)
    };
    for driver in
        ["compute_driver = ironic.IronicDriver", "compute_driver=vmwareapi.VMwareVCDriver"]
    {
        assert_eq!(ids(driver), [""; 0], "{driver}");
    }
    for driver in [
        "compute_driver = libvirt.LibvirtDriver",
        "#compute_driver = fake.FakeDriver",
        "compute_driver = {{ driver }}",
        "",
    ] {
        assert_eq!(ids(driver), ["lv-invtsc-no-freq"], "{driver}");
    }
}
