use crate::formats::Kind;
use crate::testing;

fn bad(inside: &str) -> Vec<&'static str> {
    let text = format!(
        "Vagrant.configure('2') do |config|\n  config.vm.box = 'debian/bookworm64'\n  config.vm.provider :libvirt do |v|\n    # v.driver = 'qemu'\n{inside}  end\nend\n"
    );
    assert_eq!(Kind::detect("Vagrantfile", &text), Some(Kind::VagrantLibvirt));
    testing::bad(Kind::VagrantLibvirt, "Vagrantfile", &text)
}

#[test]
fn vagrantfiles_are_judged_as_the_domain_they_make() {
    assert_eq!(bad(""), ["lv-hpet-default-on"]);
    let off = "    v.clock_timer :name => 'hpet', :present => 'no'\n";
    assert_eq!(bad(off), [""; 0]);
    assert_eq!(bad("    v.clock_timer name: \"hpet\", present: \"yes\"\n"), ["lv-hpet-on"]);
    for (line, id) in [
        ("v.driver = \"qemu\"", "lv-emulated"),
        ("v.cpu_feature :name => 'invtsc', :policy => 'require'", "lv-invtsc-no-freq"),
        ("v.kvm_hidden = true", "lv-kvm-hidden"),
        ("v.clock_timer :name => 'kvmclock', :present => 'no'", "lv-kvmclock-off-no-invtsc"),
    ] {
        assert_eq!(bad(&format!("{off}    {line}\n")), [id], "{line}");
    }
    testing::broken(Kind::VagrantLibvirt, "x\n");
}
