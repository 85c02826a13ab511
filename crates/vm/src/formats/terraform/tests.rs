use crate::formats::Kind;
use crate::testing;

fn all(text: &str) -> Vec<String> {
    assert_eq!(Kind::detect("main.tf", text), Some(Kind::Terraform), "{text}");
    let report = testing::report(Kind::Terraform, "main.tf", text);
    report
        .findings
        .iter()
        .map(|it| {
            format!("{} {:?} {}", it.rule.id, it.severity, it.object.clone().unwrap_or_default())
        })
        .collect()
}

fn domain(inside: &str) -> Vec<&'static str> {
    let text = format!("resource \"libvirt_domain\" \"a\" {{\n  name = \"a\"\n{inside}\n}}\n");
    testing::bad(Kind::Terraform, "main.tf", &text)
}

#[test]
fn libvirt_domain_is_judged_as_the_domain_that_it_makes() {
    assert_eq!(domain(""), [""; 0]);
    assert_eq!(domain("type = \"qemu\""), [""; 0]);
    let off = "clock = {\n timer = [{ name = \"hpet\", present = \"no\" }]\n}\n";
    assert_eq!(domain(off), [""; 0]);
    assert_eq!(
        domain(&format!("{off} features = {{ kvm = {{ hidden = {{ state = \"on\" }} }} }}")),
        ["lv-kvm-hidden"]
    );
    assert_eq!(
        domain(&format!(
            "{off} cpu = {{ mode = \"host-passthrough\"\n features = [{{ name = \"invtsc\", policy = \"require\" }}] }}"
        )),
        ["lv-invtsc-no-freq"]
    );
    assert_eq!(domain("arch = \"aarch64\"\n machine = \"virt\""), [""; 0]);
}

#[test]
fn libvirt_domain_of_a_sheet_has_what_the_sheet_puts_in() {
    let sheet = |inside: &str| {
        format!(
            "xml {{\n xslt = <<EOF\n<xsl:stylesheet version=\"1.0\"><xsl:template match=\"/domain/clock\">{inside}</xsl:template></xsl:stylesheet>\nEOF\n}}"
        )
    };
    assert_eq!(
        domain(&sheet("<clock offset='utc'><timer name='hpet' present='no'/></clock>")),
        [""; 0]
    );
    assert_eq!(
        domain(&sheet("<clock offset='utc'><timer name='hpet' present='yes'/></clock>")),
        ["lv-hpet-on"]
    );
    // A sheet that cannot be read is not a reason to warn.
    assert_eq!(domain("xml {\n xslt = file(\"a.xsl\")\n}"), [""; 0]);
    assert!(
        all("resource \"libvirt_domain\" \"win10\" {\n  name = var.n\n  xml {\n    xslt = file(\"a.xsl\")\n  }\n}\n")
            .iter()
            .any(|it| it.starts_with("lv-hypervclock-missing Info libvirt_domain.win10"))
    );
}

#[test]
fn proxmox_resources_are_judged_as_the_machine_that_they_make() {
    let bpg = "resource \"proxmox_virtual_environment_vm\" \"w\" {\n  kvm_arguments = \"-cpu host,kvm=off\"\n  cpu {\n    type = \"host\"\n  }\n  operating_system {\n    type = \"win11\"\n  }\n}\n";
    assert!(
        all(bpg)
            .iter()
            .any(|it| it == "pve-args-cpu-override Error proxmox_virtual_environment_vm.w"),
        "{:?}",
        all(bpg)
    );
    let telmate = "variable \"m\" {\n  default = \"host\"\n}\nresource \"proxmox_vm_qemu\" \"l\" {\n  name = \"l\"\n  qemu_os = \"l26\"\n  cpu {\n    type = var.m\n  }\n  args = \"-machine hpet=on\"\n}\n";
    assert_eq!(
        all(telmate),
        ["pve-host-no-invtsc Info proxmox_vm_qemu.l", "q-hpet-on Warn proxmox_vm_qemu.l"]
    );
    let fixed = testing::mended(Kind::Terraform, "main.tf", telmate);
    assert_eq!(fixed, telmate.replace("hpet=on", "hpet=off"));
}

#[test]
fn terraform_labels_may_stand_without_quotes() {
    let text = "resource libvirt_domain a {\n  name = \"a\"\n  type = \"qemu\"\n}\n";
    assert_eq!(Kind::detect("main.tf", text), Some(Kind::Terraform));
    assert_eq!(all(text), all(&text.replace("libvirt_domain a", "\"libvirt_domain\" \"a\"")));
    assert!(all(text).iter().any(|it| it.starts_with("lv-emulated")));
}

#[test]
fn json_is_read_as_hcl_is() {
    let text =
        "{\"resource\": {\"libvirt_domain\": {\"a\": [{\"name\": \"a\", \"type\": \"qemu\"}]}}}";
    assert_eq!(Kind::detect("a.tf.json", text), Some(Kind::Terraform));
    let found = testing::ids(Kind::Terraform, "a.tf.json", text);
    assert!(found.contains(&("lv-emulated", crate::Severity::Info)));
    testing::broken(Kind::Terraform, "resource \"libvirt_domain\" {");
}

#[test]
fn terraform_options_of_incus_are_judged() {
    let with = |kind: &str, options: &str| {
        let text = format!(
            "resource \"{kind}\" \"db\" {{\n  name = \"db\"\n  type = \"virtual-machine\"\n  config = {{\n    \"limits.cpu\" = 2\n{options}  }}\n}}\n"
        );
        all(&text)
    };
    for kind in ["incus_instance", "incus_profile", "lxd_instance", "lxd_profile"] {
        assert_eq!(with(kind, ""), Vec::<String>::new());
        let found = with(kind, "    \"raw.qemu\" = \"-cpu host,kvmclock=off\"\n");
        assert!(
            found.iter().any(|it| it.starts_with("q-kvmclock-off-no-invtsc Error db")),
            "{found:?}"
        );
    }
}

#[test]
fn terraform_devices_on_usb_do_not_keep_a_domain_on_its_host() {
    let with = |device: &str| {
        domain(&format!(
            "  type = \"kvm\"\n  cpu = {{ mode = \"host-passthrough\", features = [{{ name = \"invtsc\", policy = \"require\" }}] }}\n  devices = {{ hostdevs = [{device}] }}"
        ))
    };
    assert!(!with("{ subsys_pci = { source = {} } }").contains(&"lv-invtsc-no-freq"));
    assert!(with("{ subsys_usb = { source = {} } }").contains(&"lv-invtsc-no-freq"));
}

#[test]
fn images_of_openstack_are_judged_as_nova_s_machines() {
    let image = |properties: &str| {
        format!(
            "resource \"openstack_images_image_v2\" \"a\" {{\n  name = \"a\"\n  properties = {{\n    os_type = \"linux\"\n{properties}  }}\n}}\n"
        )
    };
    for (text, ids) in [
        (image("    hw_time_hpet = true\n"), vec!["lv-hpet-on"]),
        (image("    hw_time_hpet = \"false\"\n"), vec![]),
        (image("    hw_time_hpet = var.hpet\n"), vec![]),
        (image("    img_hide_hypervisor_id = \"true\"\n"), vec!["lv-kvm-hidden"]),
        (
            "resource \"openstack_compute_flavor_v2\" \"a\" {\n  extra_specs = {\n    \"hw:hide_hypervisor_id\" = \"true\"\n  }\n}\n".to_owned(),
            vec!["lv-kvm-hidden"],
        ),
    ] {
        assert_eq!(Kind::detect("main.tf", &text), Some(Kind::Terraform), "{text}");
        assert_eq!(testing::bad(Kind::Terraform, "main.tf", &text), ids, "{text}");
    }
    let plain = "resource \"openstack_images_image_v2\" \"a\" {\n  name = \"a\"\n}\n";
    assert_eq!(Kind::detect("main.tf", plain), None);
}

#[test]
fn machines_of_vsphere_are_judged_as_the_file_of_vmware() {
    let with = |inside: &str| {
        all(&format!(
            "resource \"vsphere_virtual_machine\" \"db\" {{\n  num_cpus = 2\n{inside}}}\n"
        ))
    };
    let of = |id: &str| format!("{id} vsphere_virtual_machine.db");
    assert_eq!(with("  guest_id = \"debian12_64Guest\"\n"), [of("vmx-default-tsc-ok Info")]);
    assert_eq!(
        with(
            "  guest_id = \"otherGuest64\"\n  extra_config = {\n    \"monitor_control.virtual_rdtsc\" = \"FALSE\"\n  }\n"
        ),
        [of("vmx-guestos-other Info"), of("vmx-rdtsc-not-virtualised Warn")]
    );
    assert_eq!(
        with("  sync_time_with_host_periodically = true\n  sync_time_with_host = true\n"),
        [of("vmx-default-tsc-ok Info"), of("vmx-sync-on Warn")]
    );
    // Only earlier versions of vSphere read it as every minute.
    assert!(with("  sync_time_with_host = true\n").contains(&of("vmx-sync-on Info")));
    assert!(with("  sync_time_with_host = false\n").contains(&of("vmx-sync-off Info")));
    // What is not in the file is not judged.
    for unknown in [
        "  extra_config = var.more\n",
        "  guest_id = data.vsphere_virtual_machine.t.guest_id\n  sync_time_with_host = var.s\n",
        "  extra_config = {\n    (var.k) = \"FALSE\"\n  }\n",
    ] {
        assert_eq!(with(unknown), Vec::<String>::new(), "{unknown}");
    }
    let hidden = "  extra_config = {\n    \"hypervisor.cpuid.v0\" = \"FALSE\"\n    \"monitor_control.restrict_backdoor\" = \"TRUE\"\n  }\n";
    assert!(with(hidden).contains(&of("vmx-hypervisor-hidden Warn")));
    let windows = "  clone {\n    customize {\n      windows_options {\n        computer_name = \"a\"\n      }\n    }\n  }\n";
    assert!(
        with(&format!("{hidden}{windows}")).contains(&of("vmx-hypervisor-hidden Info")),
        "{:?}",
        with(&format!("{hidden}{windows}"))
    );
}

#[test]
fn machines_of_a_map_are_judged_by_their_own_values() {
    let text = |list: &str, each: &str| {
        format!(
            "locals {{\n  vms = {{\n    a = {{ cpu = \"host\", args = \"-machine hpet=on\" }}\n    b = {{ cpu = \"kvm64\" }}\n  }}\n}}\nresource \"proxmox_vm_qemu\" \"vm\" {{\n  for_each = {list}\n  name = each.key\n  qemu_os = \"l26\"\n  cpu = {each}\n  args = lookup(each.value, \"args\", \"\")\n}}\n"
        )
    };
    let found = ["pve-host-no-invtsc Info proxmox_vm_qemu.vm", "q-hpet-on Warn proxmox_vm_qemu.vm"];
    assert_eq!(all(&text("local.vms", "each.value.cpu")), found);
    assert_eq!(all(&text("local.vms", "try(each.value.cpu, \"host\")")), found);
    assert_eq!(all(&text("local.vms", "local.vms[each.key].cpu")), found);
    let made = "{ for name, vm in local.vms : name => merge(vm, { n = name }) if name != \"c\" }";
    assert_eq!(all(&text(made, "each.value.cpu")), found);
    assert_eq!(all(&text(made, "each.value.n == \"a\" ? \"host\" : \"kvm64\"")), found);
    // Machines that the file does not list have values that are not known.
    assert_eq!(all(&text("var.vms", "each.value.cpu")), Vec::<String>::new());
}

#[test]
fn finding_of_every_machine_of_a_resource_is_told_once() {
    let text = |cpu: &str| {
        format!(
            "resource \"proxmox_vm_qemu\" \"vm\" {{\n  for_each = toset([\"host\", \"kvm64\"])\n  qemu_os = \"l26\"\n  cpu = {cpu}\n  args = \"-machine hpet=on\"\n}}\n"
        )
    };
    let found = all(&text("\"host\""));
    assert_eq!(found.iter().filter(|it| it.starts_with("q-hpet-on")).count(), 1, "{found:?}");
    assert_eq!(
        testing::mended(Kind::Terraform, "main.tf", &text("\"host\"")),
        text("\"host\"").replace("hpet=on", "hpet=off")
    );
    let found = all(&text("each.key"));
    assert_eq!(found.iter().filter(|it| it.starts_with("pve-host")).count(), 1, "{found:?}");
}

#[test]
fn blocks_that_a_list_makes_have_its_values() {
    let with = |timers: &str| {
        domain(&format!(
            "  clock {{\n    dynamic \"timer\" {{\n      for_each = {timers}\n      iterator = t\n      content {{\n        name = t.value.name\n        present = t.value.on\n      }}\n    }}\n  }}"
        ))
    };
    assert_eq!(with("[{ name = \"hpet\", on = \"yes\" }]"), ["lv-hpet-on"]);
    assert_eq!(with("[{ name = \"hpet\", on = \"no\" }]"), [""; 0]);
    assert_eq!(with("[]"), [""; 0]);
    assert_eq!(with("var.timers"), [""; 0]);
}

#[test]
fn sheet_that_is_named_after_another_part_leaves_the_warning() {
    let text = |sheet: &str| {
        format!(
            "resource \"libvirt_domain\" \"windows\" {{\n  name = var.n\n  xml {{\n    xslt = file(\"{sheet}\")\n  }}\n}}\n"
        )
    };
    let warns = |sheet: &str| {
        testing::bad(Kind::Terraform, "main.tf", &text(sheet)).contains(&"lv-hypervclock-missing")
    };
    assert!(warns("evtouch.xsl") && warns("sheets/usb-tablet.xslt"));
    for sheet in ["timer-patch.xsl", "windows.xsl", "a.xsl", "hyperv.xsl"] {
        assert!(!warns(sheet), "{sheet}");
    }
}

#[test]
fn system_in_the_name_of_one_machine_is_not_that_of_the_others() {
    use crate::guest::Guest;
    let of = |names: [&str; 2]| {
        let one = |name: &str| {
            format!("resource \"libvirt_domain\" \"{name}\" {{\n  name = \"{name}\"\n}}\n")
        };
        let report = testing::report(Kind::Terraform, "main.tf", &names.map(one).concat());
        report.guest
    };
    assert_eq!(of(["dc1", "kali"]), Guest::Unknown);
    assert_eq!(of(["kali", "dc1"]), Guest::Unknown);
    assert_eq!(of(["win10", "kali"]), Guest::Unknown);
    assert_eq!(of(["debian", "kali"]), Guest::Linux);
}

#[test]
fn placeholders_without_quotes_are_values_that_are_not_known() {
    let of = |name: &str, number: &str, tail: &str| {
        format!(
            "{{% set wanted = 1 %}}\nresource \"proxmox_vm_qemu\" \"{name}\" {{\n  name = \"{name}\"\n  vmid = {number}\n  \
             depends_on = [null_resource.a_{number}]\n  args = \"-cpu host,kvm=off\"\n{tail}}}\n{{# the end #}}\n"
        )
    };
    let plain = of("a", "7", "").replace("{% set wanted = 1 %}", "").replace("{# the end #}", "");
    let ids = |text: &str| testing::bad(Kind::Terraform, "main.tf.j2", text);
    let found = ids(&plain);
    assert!(!found.is_empty());
    assert_eq!(ids(&of("a", "{{ number }}", "")), found);
    assert_eq!(ids(&of("a-{{ host | default(\"b\") }}", "{{ number }}", "  {{ more }}\n")), found);
    // What is not HCL without its placeholders either is named as it is.
    let error = testing::broken(
        Kind::Terraform,
        "resource \"proxmox_vm_qemu\" \"a\" {\n  vmid = {{ n }} 3 4\n}\n",
    );
    assert!(error.to_string().contains("not valid HCL"), "{error}");
}
