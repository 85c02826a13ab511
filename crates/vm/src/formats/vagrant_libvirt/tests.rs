use crate::finding::Severity;
use crate::formats::Kind;
use crate::guest::Guest;
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
    assert_eq!(bad(""), [""; 0]);
    let off = "    v.clock_timer :name => 'hpet', :present => 'no'\n";
    assert_eq!(bad(off), [""; 0]);
    assert_eq!(bad("    v.clock_timer name: \"hpet\", present: \"yes\"\n"), ["lv-hpet-on"]);
    for (line, id) in [
        ("v.cpu_feature :name => 'invtsc', :policy => 'require'", "lv-invtsc-no-freq"),
        ("v.kvm_hidden = true", "lv-kvm-hidden"),
        ("v.clock_timer :name => 'kvmclock', :present => 'no'", "lv-kvmclock-off-no-invtsc"),
    ] {
        assert_eq!(bad(&format!("{off}    {line}\n")), [id], "{line}");
    }
    testing::broken(Kind::VagrantLibvirt, "x\n");
}

#[test]
fn vagrantfile_block_with_two_parameters_is_read() {
    for parameters in ["v", "v, override", " v , config ", "v,o"] {
        let text = format!(
            "Vagrant.configure('2') do |config|\n  config.vm.box = 'windows-11'\n  config.vm.provider :libvirt do |{parameters}|\n    \
             override.vm.synced_folder '.', '/x'\n    v.cpu_mode = 'host-passthrough'\n    \
             v.clock_timer :name => 'hypervclock', :present => 'yes'\n    v.clock_timer :name => 'hpet', :present => 'yes'\n  end\nend\n"
        );
        assert_eq!(Kind::detect("Vagrantfile", &text), Some(Kind::VagrantLibvirt));
        let found = testing::bad(Kind::VagrantLibvirt, "Vagrantfile", &text);
        assert_eq!(found, ["lv-hpet-on"], "{parameters}");
    }
}

#[test]
fn comments_and_here_documents_of_ruby_are_no_settings() {
    let off = "    v.clock_timer :name => 'hpet', :present => 'no'\n";
    let on = "    v.clock_timer :name => 'hpet', :present => 'yes'\n";
    for hidden in [
        format!("=begin\n{on}=end\n{off}"),
        format!("    x = <<~X\n{on}    X\n{off}"),
        format!("    x = [<<-\"A B\", <<Y]\n{on}    A B\n{on}Y\n{off}"),
        format!("    list <<item\n{off}"),
        format!("    list << 2\n{off}"),
    ] {
        assert_eq!(bad(&hidden), [""; 0], "{hidden}");
    }
    assert_eq!(bad(&format!("    # <<~X\n{on}")), ["lv-hpet-on"]);
}

#[test]
fn vagrantfile_arguments_of_qemu_are_read() {
    let of = |head: &str, inside: &str| {
        let text = format!(
            "Vagrant.configure('2') do |config|\n{head}  config.vm.provider :libvirt do |v|\n    \
             v.clock_timer :name => 'hpet', :present => 'no'\n{inside}  end\nend\n"
        );
        testing::report(Kind::VagrantLibvirt, "Vagrantfile", &text)
    };
    let cpu = |flags: &str| {
        format!("    v.qemuargs :value => \"-cpu\"\n    v.qemuargs :value => \"host{flags}\"\n")
    };
    let has = |report: &crate::lint::Report, id: &str| {
        report.findings.iter().any(|finding| finding.rule.id == id)
    };
    let report = of("", &cpu(",hv_relaxed,hv_vapic"));
    assert_eq!(report.guest, Guest::Windows);
    assert!(has(&report, "q-hv-time-missing"), "{report:?}");
    assert!(!has(&of("", &cpu(",hv_relaxed,hv_time")), "q-hv-time-missing"));
    for words in [
        "config.vm.communicator = 'winssh'",
        "config.vm.communicator = :winrm",
        "config.vm.guest = :windows",
    ] {
        let report = of(&format!("  {words}\n"), "");
        assert_eq!(report.guest, Guest::Windows, "{words}");
        assert!(has(&report, "lv-hypervclock-missing"), "{words}");
        assert!(has(&of(&format!("  {words}\n"), &cpu("")), "q-hv-time-missing"), "{words}");
    }
    assert!(has(&of("", &cpu(",-kvmclock")), "lv-kvmclock-off-no-invtsc"));
}

#[test]
fn file_on_a_drive_with_a_letter_is_of_windows() {
    let of = |to: &str| {
        let text = format!(
            "Vagrant.configure('2') do |c|\n  c.vm.provider :libvirt do |v|\n    v.cpus = 2\n  end\n  \
             c.vm.synced_folder 'C:/src', '/src'\n  c.vm.provision 'file', source: 'C:/a', {to}\nend\n"
        );
        testing::report(Kind::VagrantLibvirt, "Vagrantfile", &text).guest
    };
    assert_eq!(of("destination: \"C:\\\\a\""), Guest::Windows);
    assert_eq!(of(":destination => 'd:/a'"), Guest::Windows);
    assert_eq!(of("destination: '/tmp/a'"), Guest::Unknown);
    assert_eq!(of("destination: '~/a:b'"), Guest::Unknown);
}

#[test]
fn device_under_a_condition_is_not_certain() {
    let severity = |device: &str| {
        let text = format!(
            "Vagrant.configure(\"2\") do |config|\n  config.vm.provider :libvirt do |v|\n    v.cpu_mode = \"host-passthrough\"\n    \
             v.cpu_feature :name => 'invtsc', :policy => 'require'\n{device}  end\nend\n"
        );
        let found = testing::ids(Kind::VagrantLibvirt, "Vagrantfile", &text).into_iter();
        found.filter(|(id, _)| *id == "lv-invtsc-no-freq").map(|it| it.1).collect::<Vec<_>>()
    };
    let pci = "v.pci :bus => '0x01', :slot => '0x00', :function => '0x0'";
    assert_eq!(severity(&format!("    {pci}\n")), [Severity::Info]);
    assert_eq!(severity(&format!("    {pci} if ENV['GPU']\n")), [Severity::Warn]);
    assert_eq!(severity(&format!("    if ENV['GPU']\n      {pci}\n    end\n")), [Severity::Warn]);
}

#[test]
fn driver_under_a_condition_leaves_it_open_whether_the_guest_is_emulated() {
    let has = |driver: &str| {
        let text = format!(
            "Vagrant.configure(\"2\") do |config|\n  config.vm.provider :libvirt do |v|\n    v.memory = 2048\n{driver}  end\nend\n"
        );
        let all = testing::ids(Kind::VagrantLibvirt, "Vagrantfile", &text);
        all.iter().any(|it| it.0 == "lv-emulated")
    };
    assert!(has("    v.driver = 'qemu'\n"));
    for driver in [
        "    if File.exist?('/dev/kvm')\n      v.driver = 'kvm'\n    else\n      v.driver = 'qemu'\n    end\n",
        "    v.driver = 'kvm'\n    unless has_kvm\n      v.driver = 'qemu'\n    end\n",
        "    v.driver = 'qemu' if ENV['CI']\n",
        "    v.driver = File.exist?('/dev/kvm') ? 'kvm' : 'qemu'\n",
    ] {
        assert!(!has(driver), "{driver}");
    }
}
