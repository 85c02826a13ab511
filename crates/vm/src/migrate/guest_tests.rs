use super::*;
use proptest::prelude::*;

fn domain(inside: &str) -> Guest {
    let namespace = "xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'";
    let xml = format!("<domain type='kvm' {namespace}><name>db</name>{inside}</domain>");
    clock_of_domain(&xml).unwrap()
}

#[test]
fn domains_get_invtsc_by_name_or_with_the_whole_host() {
    for (inside, invtsc) in [
        ("", Some(false)),
        ("<cpu mode='host-passthrough'/>", Some(false)),
        ("<cpu mode='host-passthrough' migratable='off'/>", Some(true)),
        ("<cpu mode='host-model' migratable='off'/>", Some(false)),
        ("<cpu><feature policy='require' name='invtsc'/></cpu>", Some(true)),
        ("<cpu><feature name='invtsc'/></cpu>", Some(true)),
        ("<cpu><feature policy='optional' name='invtsc'/></cpu>", None),
        (
            "<cpu mode='host-passthrough' migratable='off'><feature policy='disable' \
             name='invtsc'/></cpu>",
            Some(false),
        ),
        (
            "<cpu/><qemu:commandline><qemu:arg value='-cpu'/><qemu:arg value='host,+invtsc'/>\
             </qemu:commandline>",
            Some(true),
        ),
    ] {
        let guest = domain(inside);
        assert_eq!(guest.invtsc, invtsc, "{inside}");
        assert_eq!(guest.frequency, Frequency::Absent);
        assert_eq!(guest.name.as_deref(), Some("db"));
    }
    let timer = "<clock offset='utc'><timer name='hpet' frequency='1'/><timer name='tsc' \
                 frequency='2397223000' mode='native'/></clock>";
    assert_eq!(domain(timer).frequency, Frequency::Set(2_397_223_000));
}

#[test]
fn processor_that_libvirt_did_not_choose_counts() {
    let asks = |feature: &str, timer: &str, cpu: &str| {
        domain(&format!(
            "<cpu>{feature}</cpu><clock offset='utc'>{timer}</clock><qemu:commandline><qemu:arg value='-cpu'/>\
             <qemu:arg value='{cpu}'/></qemu:commandline>"
        ))
    };
    let invtsc = "<feature policy='require' name='invtsc'/>";
    let timer = "<timer name='tsc' frequency='2500000000'/>";
    let set = Frequency::Set(2_500_000_000);
    for (feature, timer, cpu, manager, frequency) in [
        (invtsc, timer, "host,+invtsc", Manager::Qemu, Frequency::Absent),
        (invtsc, timer, "host,+invtsc,tsc-frequency=2500000000", Manager::Libvirt, set),
        (
            invtsc,
            timer,
            "host,+invtsc,tsc-frequency=2600000000",
            Manager::Libvirt,
            Frequency::Unknown,
        ),
        (invtsc, "", "host,+invtsc,tsc-frequency=2500000000", Manager::Libvirt, Frequency::Absent),
        ("", "", "host,+invtsc,tsc-frequency=2500000000", Manager::Qemu, set),
        // libvirt knows nothing of it.
        ("", "", "host,+invtsc", Manager::Qemu, Frequency::Absent),
        ("", "", "host,migratable=off", Manager::Qemu, Frequency::Absent),
        (invtsc, "", "host,+invtsc", Manager::Libvirt, Frequency::Absent),
        (invtsc, "", "host", Manager::Libvirt, Frequency::Absent),
        (invtsc, timer, "host", Manager::Libvirt, set),
    ] {
        let guest = asks(feature, timer, cpu);
        let of_guest = (guest.manager, guest.invtsc, guest.frequency);
        assert_eq!(of_guest, (manager, Some(true), frequency), "{feature}{timer} {cpu}");
    }
}

#[test]
fn invtsc_that_no_xml_names_is_left_to_qemu() {
    for (inside, manager) in [
        ("<cpu mode='host-passthrough' migratable='off'/>", Manager::Qemu),
        ("<cpu mode='host-passthrough'/><launchSecurity type='tdx'/>", Manager::Qemu),
        ("<cpu><feature policy='require' name='invtsc'/></cpu>", Manager::Libvirt),
        (
            "<cpu mode='host-passthrough' migratable='off'><feature name='invtsc'/></cpu>",
            Manager::Libvirt,
        ),
    ] {
        let guest = domain(inside);
        assert_eq!((guest.invtsc, guest.manager), (Some(true), manager), "{inside}");
    }
    assert_eq!(domain("<cpu mode='host-passthrough'/>").manager, Manager::Libvirt);
    // The other -cpu has none, so that the guest has none.
    let inside = "<cpu mode='host-passthrough' migratable='off'/><qemu:commandline><qemu:arg value='-cpu'/>\
                  <qemu:arg value='host'/></qemu:commandline>";
    assert_eq!(domain(inside).invtsc, Some(false));
}

#[test]
fn command_line_of_a_confidential_guest_is_read_as_its_domain_is() {
    let of = |object: &str, more: &str| {
        let support = if object.is_empty() { "" } else { ",confidential-guest-support=c0" };
        let text = format!(
            "{more}qemu-system-x86_64 -accel kvm -cpu host {object} -machine q35{support} -m 1G\n"
        );
        clock_of_qemu(&text).unwrap()
    };
    let security = |kind: &str| {
        domain(&format!("<cpu mode='host-passthrough'/><launchSecurity type='{kind}'/>"))
    };
    for (object, kind, invtsc) in [
        ("-object tdx-guest,id=c0", "tdx", Some(true)),
        ("-object sev-snp-guest,id=c0", "sev-snp", None),
        ("-object sev-guest,id=c0", "sev", None),
    ] {
        let (line, domain) = (of(object, ""), security(kind));
        assert_eq!((line.invtsc, domain.invtsc), (invtsc, invtsc), "{kind}");
        assert_eq!(line.frequency, Frequency::Absent);
    }
    assert_eq!(of("", "").invtsc, Some(false));
    let text = "#!/bin/bash\nO=(-nographic)\n[[ $1 ]] && O+=(-object tdx-guest,id=c0 -machine confidential-guest-support=c0)\n\
                qemu-system-x86_64 -accel kvm -cpu host -machine q35 \"${O[@]}\"\n";
    assert_eq!(clock_of_qemu(text).unwrap().invtsc, None);
}

#[test]
fn guests_without_a_tsc_and_guests_of_xen_are_none() {
    let of = |kind: &str, arch: &str| {
        clock_of_domain(&format!(
            "<domain type='{kind}'><os><type arch='{arch}'>hvm</type></os></domain>"
        ))
    };
    assert_eq!(of("kvm", "aarch64"), Err(GuestError::Foreign));
    assert_eq!(of("xen", "x86_64"), Err(GuestError::Xen));
    for kind in [
        "bhyve",
        "vbox",
        "vmware",
        "lxc",
        "vz",
        "parallels",
        "openvz",
        "test",
        "uml",
        "hyperv",
        "phyp",
        "hvf",
    ] {
        assert_eq!(of(kind, "x86_64"), Err(GuestError::Driver(kind.to_owned())));
    }
    for kind in ["kvm", "KVM", "qemu", "kqemu", "{{ kind }}", "${type}"] {
        assert!(of(kind, "x86_64").is_ok(), "{kind}");
    }
    assert!(of("kvm", "i686").is_ok());
    assert_eq!(parse("qemu-system-aarch64 -M virt -cpu max -m 1G"), Err(GuestError::Foreign));
}

#[test]
fn of_several_command_lines_none_is_taken_silently() {
    let one = "qemu-system-x86_64 -accel kvm -cpu host,+invtsc -m 1G\n";
    let other = "qemu-system-x86_64 -accel kvm -cpu host -m 1G\n";
    assert_eq!(parse(&format!("{one}{other}")), Err(GuestError::Differ(2)));
    assert_eq!(parse(&format!("{one}{one}")), parse(one));
    let log = |line: &str| {
        format!("2024-01-01 10:00:00.000+0000: starting up libvirt version: 9.0.0\n{line}")
    };
    assert_eq!(parse(&format!("{}{}", log(one), log(other))), parse(other));
}

#[test]
fn command_lines() {
    for (line, invtsc, frequency) in [
        ("qemu -cpu host", false, Frequency::Absent),
        ("-cpu host,migratable=off", true, Frequency::Absent),
        ("-cpu Skylake-Server,migratable=off", false, Frequency::Absent),
        ("-cpu host,+invtsc,tsc-frequency=2500000000", true, Frequency::Set(2_500_000_000)),
        ("-cpu 'host,tsc-freq=2.5G,invtsc=on'", true, Frequency::Set(2_500_000_000)),
        ("-cpu host,invtsc=on,-invtsc", false, Frequency::Absent),
        ("-cpu host,+invtsc -m 1G -cpu qemu64", false, Frequency::Absent),
        ("-cpu max,migratable=no,tsc-frequency=0", true, Frequency::Absent),
    ] {
        let guest = parse(line).unwrap();
        assert_eq!((guest.invtsc, guest.frequency), (Some(invtsc), frequency), "{line}");
    }
    assert_eq!(parse("#!/bin/sh\necho hello"), Err(GuestError::Kind));
    assert!(matches!(parse("-cpu host,tsc-frequency=2500000"), Err(GuestError::Broken(_))));
    assert!(matches!(parse("<capabilities/>"), Err(GuestError::Broken(_))));
}

#[test]
fn guests_of_sev_are_seen() {
    let secured = |kind: &str| domain(&format!("<launchSecurity type='{kind}'/>")).sev;
    assert_eq!(secured("sev"), Sev::Sev);
    assert_eq!(secured("sev-snp"), Sev::Snp);
    assert_eq!(secured("tdx"), Sev::No);
    assert_eq!(domain("").sev, Sev::No);
    let line = |object: &str, machine: &str| {
        let text =
            format!("qemu-system-x86_64 -accel kvm -cpu EPYC {object} -machine q35,{machine}=a");
        parse(&text).unwrap().sev
    };
    let id = "confidential-guest-support";
    assert_eq!(line("-object sev-guest,id=a,cbitpos=47", id), Sev::Sev);
    assert_eq!(line("-object sev-guest,id=a,cbitpos=47", "memory-encryption"), Sev::Sev);
    assert_eq!(line("-object sev-snp-guest,id=a", id), Sev::Snp);
    assert_eq!(line("-object tdx-guest,id=a", id), Sev::No);
    // An object that no machine uses, and one that the file does not have.
    assert_eq!(line("-object sev-guest,id=a", "usb"), Sev::No);
    assert_eq!(line("", id), Sev::No);
    let some = "A=-nographic\nif [ \"$1\" ]; then A=\"-object sev-guest,id=a -machine memory-encryption=a\"; fi\n\
                A=\"$A -m 1G\"\nqemu-system-x86_64 -accel kvm -cpu EPYC $A\n";
    assert_eq!(parse(some).unwrap().sev, Sev::Perhaps);
    let other = "A=\"-object sev-guest,id=a -machine memory-encryption=a\"\nif [ \"$1\" ]; then A=-nographic; fi\n\
                 qemu-system-x86_64 -accel kvm -cpu EPYC $A\n";
    let guest = parse(other).unwrap();
    assert_eq!((guest.sev, guest.invtsc), (Sev::Perhaps, Some(false)));
    let machine = "name: a\nostype: l26\ncores: 2\nmemory: 512\n";
    let of = |rest: &str| parse(&format!("{machine}{rest}")).unwrap().sev;
    assert_eq!(of("amd-sev: es\n"), Sev::Sev);
    assert_eq!(of("amd-sev: type=snp\nargs: -cpu host\n"), Sev::Snp);
    assert_eq!(of("intel-tdx: tdx\n"), Sev::No);
    let vm = |kind: &str| {
        let head = "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nspec:\n  domain:\n";
        parse(&format!("{head}    launchSecurity:\n      {kind}: {{}}\n    devices: {{}}\n"))
            .unwrap()
            .sev
    };
    assert_eq!(vm("sev"), Sev::Sev);
    assert_eq!(vm("snp"), Sev::Snp);
    assert_eq!(vm("tdx"), Sev::No);
}

#[test]
fn guests_without_a_clock_of_the_hypervisor() {
    let line = |cpu: &str| parse(&format!("qemu-system-x86_64 -accel kvm -cpu {cpu}\n")).unwrap();
    for cpu in ["host,kvmclock=off", "host,kvm=off", "host,-hypervisor,hv_time", "host,-kvmclock"] {
        assert!(line(cpu).clockless, "{cpu}");
    }
    for cpu in
        ["host", "host,kvm=off,hv_time", "host,kvmclock=off,hv-passthrough=on", "host,kvmclock=$K"]
    {
        assert!(!line(cpu).clockless, "{cpu}");
    }
    let off = "<clock><timer name='kvmclock' present='no'/>TIMER</clock>";
    assert!(domain(&off.replace("TIMER", "")).clockless);
    assert!(!domain(&off.replace("TIMER", "<timer name='hypervclock' present='yes'/>")).clockless);
    assert!(domain("<features><kvm><hidden state='on'/></kvm></features>").clockless);
    assert!(domain("<cpu><feature policy='disable' name='hypervisor'/></cpu>").clockless);
    assert!(!domain("").clockless);
    // Only one of the branches hides it.
    let text =
        "if a; then C=host; else C=host,kvmclock=off; fi\nqemu-system-x86_64 -accel kvm -cpu $C\n";
    assert!(!parse(text).unwrap().clockless);
}

#[test]
fn guest_that_nothing_runs_but_the_emulator() {
    let of = |line: &str| parse(line).unwrap().emulated;
    assert!(of("qemu-system-i386 -m 64 -cpu pentium\n"));
    for line in [
        "qemu-system-i386 -m 64 -cpu pentium -enable-kvm\n",
        "qemu-system-x86_64 -m 1G -cpu host\n",
        "qemu-kvm -m 1G -cpu pentium\n",
        "qemu-system-x86_64 -m 1G -cpu pentium $ARGS\n",
        "qemu-system-x86_64 -m 1G -cpu qemu64,+invtsc\n",
        "-cpu pentium",
    ] {
        assert!(!of(line), "{line}");
    }
}

#[test]
fn architectures_that_cannot_be_told_apart() {
    let text = "case $A in arm) q=qemu-system-arm o='-M virt';; *) q=qemu-system-x86_64;; esac\nqemu-system-arm -M virt -cpu host\n";
    assert_eq!(parse(text), Err(GuestError::Architectures));
    assert_eq!(parse("qemu-system-arm -M virt -cpu host\n"), Err(GuestError::Foreign));
}

#[test]
fn script_that_a_file_writes_is_a_guest() {
    let text = "FROM a\nENV F=+invtsc\nRUN tee -a a.sh <<< 'exec qemu-system-x86_64 -m 2G -accel kvm \\' \\\n    \
                && tee -a a.sh <<< '-cpu ${CPU:-host},${F:-check} \\' \\\n    && tee -a a.sh <<< '-S'\n";
    assert_eq!(parse(text).unwrap().invtsc, Some(true));
    assert_eq!(parse(&text.replace("-cpu", "-name")), Err(GuestError::Kind));
    // Another script that is written only names the program.
    let more = "RUN tee -a b.sh <<< 'while killall qemu-system-x86_64; do' && tee -a b.sh <<< 'sleep 1; done'\n";
    assert_eq!(parse(&format!("{text}{more}")).unwrap().invtsc, Some(true));
}

#[test]
fn container_of_proxmox_is_no_guest() {
    let text = "arch: amd64\ncores: 4\nhostname: a\nmemory: 512\nostype: ubuntu\nrootfs: local:1/a.raw,size=8G\n\
                swap: 512\nunprivileged: 1\n";
    assert_eq!(parse(text), Err(GuestError::Container));
    assert!(GuestError::Container.to_string().contains("container of Proxmox VE"));
}

#[test]
fn devices_of_the_host_are_seen() {
    let of = |devices: &str| domain(&format!("<devices>{devices}</devices>")).device;
    assert!(of("<hostdev mode='subsystem' type='pci'/>"));
    assert!(of("<interface type='hostdev'/>"));
    assert!(!of("<hostdev mode='subsystem' type='usb'/>"));
    assert!(!of("<interface type='hostdev'><teaming type='transient'/></interface>"));
    // Pinned vCPUs can also be pinned on another host.
    assert!(!domain("<cputune><vcpupin vcpu='0' cpuset='1'/></cputune>").device);
    let line = "qemu-system-x86_64 -accel kvm -cpu host -m 1G";
    assert!(!parse(line).unwrap().device);
    assert!(parse(&format!("{line} -device vfio-pci,host=01:00.0")).unwrap().device);
    let machine = "name: a\nostype: l26\ncores: 2\nmemory: 512\n";
    assert!(!parse(machine).unwrap().device);
    let held = parse(&format!("{machine}hostpci0: 01:00\nargs: -cpu host,+invtsc\n"));
    assert!(held.unwrap().device);
    let vm = "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nspec:\n  domain:\n    devices:\n";
    assert!(!parse(&format!("{vm}      disks: []\n")).unwrap().device);
    assert!(
        parse(&format!("{vm}      gpus:\n      - name: a\n        deviceName: b\n"))
            .unwrap()
            .device
    );
}

proptest! {
    #[test]
    fn any_text_is_a_guest_or_an_error(text in "(?s)(<domain|-cpu )?.{0,200}") {
        let _ = parse(&text);
    }
}
