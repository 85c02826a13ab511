//! What kind of file it is.

use serde::Serialize;

/// The kinds of files that are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A libvirt domain, or a part of one.
    Libvirt,
    /// A QEMU command line, alone or in a script.
    Qemu,
    /// A VirtualBox machine (`.vbox`), or a script with `VBoxManage` lines.
    Virtualbox,
    /// A VMware machine (`.vmx`).
    Vmware,
    /// A Xen domain (`xl.cfg`).
    Xen,
    /// A Proxmox VE machine (`/etc/pve/qemu-server/NNN.conf`).
    Proxmox,
    /// A KubeVirt manifest.
    Kubevirt,
    /// A Firecracker configuration.
    Firecracker,
    /// A Cloud Hypervisor configuration.
    CloudHypervisor,
    /// A tuned profile.
    Tuned,
    /// A script or a configuration that keeps a choice of clocksource over boots.
    Persistence,
}

/// Every kind, with its name.
const ALL: [(Kind, &str); 11] = [
    (Kind::Libvirt, "libvirt"),
    (Kind::Qemu, "qemu"),
    (Kind::Virtualbox, "virtualbox"),
    (Kind::Vmware, "vmware"),
    (Kind::Xen, "xen"),
    (Kind::Proxmox, "proxmox"),
    (Kind::Kubevirt, "kubevirt"),
    (Kind::Firecracker, "firecracker"),
    (Kind::CloudHypervisor, "cloud-hypervisor"),
    (Kind::Tuned, "tuned"),
    (Kind::Persistence, "persistence"),
];

/// Where a libvirt document, or a part of one, begins.
pub(crate) const LIBVIRT_ROOTS: [&str; 13] = [
    "<domain",
    "<domainsnapshot",
    "<domaincheckpoint",
    "<domstatus",
    "<domainbackup",
    "<clock",
    "<timer",
    "<cpu",
    "<features",
    "<hyperv",
    "<os>",
    "<qemu:commandline",
    "<commandline",
];

impl Kind {
    /// Every kind.
    pub fn all() -> impl Iterator<Item = Self> {
        ALL.iter().map(|(kind, _)| *kind)
    }

    /// The name, as in JSON and after `--kind`.
    #[must_use]
    pub fn name(self) -> &'static str {
        ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    /// The kind of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        ALL.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
    }

    /// All names, for messages.
    #[must_use]
    pub fn names() -> String {
        ALL.map(|(_, name)| name).join(", ")
    }

    /// The kind of a file: by what is in it, and only then by how its name ends.
    #[must_use]
    pub fn detect(name: &str, text: &str) -> Option<Self> {
        let text = text.trim_start_matches('\u{feff}');
        by_content(text).or_else(|| by_name(name, text))
    }
}

fn by_content(text: &str) -> Option<Kind> {
    let start = text.trim_start();
    if (start.starts_with('{') || start.starts_with('['))
        && let Some(kind) = json(text)
    {
        return Some(kind);
    }
    if (start.starts_with('<') || !start.starts_with("#!"))
        && let Some(kind) = xml(text)
    {
        return Some(kind);
    }
    let lines = Lines::of(text);
    if lines.has(|line| line.starts_with("apiVersion:") && line.contains("kubevirt.io"))
        || (text.contains("kubevirt.io/") && text.contains("domain:"))
    {
        return Some(Kind::Kubevirt);
    }
    if start.starts_with("#cloud-config") {
        return Some(Kind::Persistence);
    }
    let vmx =
        ["virtualHW.version", ".encoding", "config.version", "guestOS", "guestos", "displayName"];
    if lines.keys(&vmx, '=') >= 2 || lines.keys(&vmx[..1], '=') == 1 {
        return Some(Kind::Vmware);
    }
    if lines.tuned() {
        return Some(Kind::Tuned);
    }
    if lines.proxmox() >= 3 {
        return Some(Kind::Proxmox);
    }
    if qemu(text) {
        return Some(Kind::Qemu);
    }
    if text.contains("VBoxManage") || text.contains("vboxmanage") || text.contains("VBoxInternal") {
        return Some(Kind::Virtualbox);
    }
    if lines.xen() >= 2 {
        return Some(Kind::Xen);
    }
    if persistence(text) {
        return Some(Kind::Persistence);
    }
    // A domain that a script makes: behind all that, since scripts mention much.
    (start.starts_with("#!") && text.contains("<domain"))
        .then_some(Kind::Libvirt)
        .or_else(|| mapping_fragment(&lines))
}

/// A part of a KubeVirt manifest: what stands below `domain:`.
fn mapping_fragment(lines: &Lines<'_>) -> Option<Kind> {
    let has = |key: &str| lines.has(|line| line.trim_start_matches("- ").trim_end() == key);
    ((has("domain:") && (has("devices:") || has("clock:") || has("cpu:")))
        || (has("clock:") && has("timer:")))
    .then_some(Kind::Kubevirt)
}

fn by_name(name: &str, text: &str) -> Option<Kind> {
    let lower = name.to_ascii_lowercase();
    let base = lower.rsplit('/').next().unwrap_or(&lower);
    let ending = base.rsplit_once('.').map_or("", |(_, ending)| ending);
    Some(match ending {
        "vbox" | "vbox-prev" => Kind::Virtualbox,
        "vmx" => Kind::Vmware,
        "args" => Kind::Qemu,
        "xml" if text.contains('<') => Kind::Libvirt,
        _ if base == "tuned.conf" => Kind::Tuned,
        "conf" if lower.contains("qemu-server/") => Kind::Proxmox,
        "cfg" | "xl" | "hvm" if Lines::of(text).xen() >= 1 => Kind::Xen,
        "conf" if Lines::of(text).proxmox() >= 1 => Kind::Proxmox,
        _ => return None,
    })
}

fn xml(text: &str) -> Option<Kind> {
    let tag = |name: &str| {
        text.match_indices(name).any(|(at, _)| {
            let next = text.as_bytes().get(at + name.len());
            next.is_none_or(|b| b.is_ascii_whitespace() || matches!(b, b'>' | b'/'))
        })
    };
    if tag("<VirtualBox") || (tag("<Machine") && tag("<Hardware")) {
        return Some(Kind::Virtualbox);
    }
    if LIBVIRT_ROOTS.iter().any(|root| tag(root.trim_end_matches('>'))) {
        return Some(Kind::Libvirt);
    }
    None
}

fn json(text: &str) -> Option<Kind> {
    let has = |key: &str| text.contains(&format!("\"{key}\""));
    if has("kubevirt.io/v1") || (has("apiVersion") && text.contains("kubevirt.io")) {
        return Some(Kind::Kubevirt);
    }
    if has("boot-source") || has("boot_source") || has("machine-config") || has("vcpu_count") {
        return Some(Kind::Firecracker);
    }
    if has("boot_vcpus") || has("max_vcpus") || (has("payload") && has("cpus")) {
        return Some(Kind::CloudHypervisor);
    }
    None
}

/// A command line of QEMU, or options of one.
fn qemu(text: &str) -> bool {
    let option = |name: &str| {
        text.match_indices(name).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = text[at + name.len()..].chars().next();
            before.is_none_or(|c| c.is_whitespace() || "\"'(=`".contains(c))
                && after.is_none_or(|c| c.is_whitespace() || "\"'`=".contains(c))
        })
    };
    let program = text.contains("qemu-system-")
        || text.contains("qemu-kvm")
        || option("kvm")
        || option("qemu");
    let strong = ["-cpu", "-machine", "-enable-kvm", "-accel", "-no-hpet", "-smp", "-drive", "-M"];
    let options = strong.iter().filter(|name| option(name)).count();
    (program && options >= 1) || options >= 3
}

/// A choice of clocksource that is kept, or the kernel's command line.
fn persistence(text: &str) -> bool {
    let words = [
        "current_clocksource",
        "clocksource=",
        "tsc=reliable",
        "tsc=unstable",
        "tsc=nowatchdog",
        "notsc",
        "GRUB_CMDLINE_LINUX",
        "grubby",
        "update-grub",
        "grub2-mkconfig",
        "rpm-ostree kargs",
        "kernelParams",
    ];
    words.iter().any(|word| text.contains(word))
}

/// The lines that say something.
struct Lines<'a> {
    lines: Vec<&'a str>,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        let lines = text.lines().filter(|line| {
            let line = line.trim_start();
            !line.is_empty() && !line.starts_with('#')
        });
        Self { lines: lines.collect() }
    }

    fn has(&self, test: impl Fn(&str) -> bool) -> bool {
        self.lines.iter().any(|line| test(line.trim_start()))
    }

    /// How many of these keys begin a line.
    fn keys(&self, keys: &[&str], separator: char) -> usize {
        keys.iter()
            .filter(|key| {
                self.has(|line| {
                    line.strip_prefix(**key)
                        .is_some_and(|rest| rest.trim_start().starts_with(separator))
                })
            })
            .count()
    }

    fn tuned(&self) -> bool {
        let section = |name: &str| self.has(|line| line.trim_end() == name);
        (section("[main]") && self.has(|l| l.starts_with("summary") || l.starts_with("include")))
            || (section("[main]") && (section("[sysctl]") || section("[bootloader]")))
            || (section("[bootloader]") && self.has(|l| l.starts_with("cmdline")))
            || (section("[sysfs]") && self.has(|l| l.starts_with('/')))
    }

    /// How many lines are Proxmox VE's. A manifest or a playbook is indented, these lines never are.
    fn proxmox(&self) -> usize {
        let keys = [
            "ostype", "scsihw", "smbios1", "vmgenid", "cores", "sockets", "bios", "args", "onboot",
            "machine", "numa", "meta", "balloon", "net0", "scsi0", "virtio0", "sata0", "ide2",
            "boot", "agent", "cpu", "hostpci0", "efidisk0", "template", "vga", "memory",
        ];
        let indented = self.lines.iter().filter(|l| l.starts_with([' ', '\t', '-'])).count();
        if indented * 4 > self.lines.len() {
            return 0;
        }
        keys.iter()
            .filter(|key| {
                self.lines
                    .iter()
                    .any(|line| line.strip_prefix(**key).is_some_and(|rest| rest.starts_with(':')))
            })
            .count()
    }

    fn xen(&self) -> usize {
        let strong = [
            "tsc_mode",
            "builder",
            "xen_platform_pci",
            "viridian",
            "device_model_version",
            "nomigrate",
            "on_poweroff",
            "bootloader",
            "vif",
            "disk",
            "vcpus",
            "maxmem",
            "memory",
            "kernel",
            "ramdisk",
            "hap",
            "timer_mode",
            "nestedhvm",
            "altp2m",
            "type",
            "hpet",
            "vnc",
            "sdl",
            "extra",
            "acpi",
            "apic",
        ];
        let certain = self.keys(&strong[..6], '=');
        let lists = ["disk", "vif"]
            .iter()
            .filter(|key| {
                self.has(|line| {
                    let rest = line.strip_prefix(**key).map(str::trim_start);
                    let rest = rest.and_then(|rest| rest.strip_prefix('='));
                    rest.is_some_and(|rest| rest.trim_start().starts_with('['))
                })
            })
            .count();
        if certain + lists == 0 {
            let kind = self.has(|l| {
                let value =
                    l.strip_prefix("type").map(str::trim_start).and_then(|l| l.strip_prefix('='));
                value.is_some_and(|v| v.contains("hvm") || v.contains("pv"))
            });
            return usize::from(kind) * self.keys(&strong, '=');
        }
        certain + lists + self.keys(&strong[6..], '=')
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn content_decides() {
        let cases = [
            ("a.txt", "<!-- x -->\n<domain type='kvm'>", Some(Kind::Libvirt)),
            ("a", "  <clock offset='utc'/>", Some(Kind::Libvirt)),
            ("a", "{% if x %}<domain type='{{ t }}'>", Some(Kind::Libvirt)),
            ("a.xml", "<?xml version='1.0'?><VirtualBox version='1'>", Some(Kind::Virtualbox)),
            ("vm.sh", "#!/bin/sh\nexec qemu-system-x86_64 -cpu host\n", Some(Kind::Qemu)),
            (
                "vm.args",
                "LC_ALL=C \\\n/usr/bin/kvm \\\n-machine pc \\\n-cpu host\n",
                Some(Kind::Qemu),
            ),
            ("vm.sh", "VBoxManage modifyvm x --hpet on\n", Some(Kind::Virtualbox)),
            (
                "a",
                "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource",
                Some(Kind::Persistence),
            ),
            ("a", "guestOS = \"other-64\"\nvirtualHW.version = \"12\"\n", Some(Kind::Vmware)),
            ("a", "name = \"x\"\nbuilder = \"hvm\"\nvcpus = 2\ndisk = [ 'a' ]\n", Some(Kind::Xen)),
            ("a", "type = \"pvh\"\nkernel = \"k\"\nmemory = 5\n", Some(Kind::Xen)),
            ("a", "bios: ovmf\ncores: 4\nostype: l26\n", Some(Kind::Proxmox)),
            ("a", "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\n", Some(Kind::Kubevirt)),
            ("a", "{\"boot-source\": {\"boot_args\": \"\"}}", Some(Kind::Firecracker)),
            ("a", "{\"cpus\": {\"boot_vcpus\": 1}}", Some(Kind::CloudHypervisor)),
            ("a", "[main]\nsummary=x\n[sysfs]\n/sys/a=b\n", Some(Kind::Tuned)),
            ("a", "#cloud-config\nbootcmd:\n", Some(Kind::Persistence)),
            ("old.vmx", "x = 1", Some(Kind::Vmware)),
            ("a.txt", "to be or not to be", None),
        ];
        for (name, text, kind) in cases {
            assert_eq!(Kind::detect(name, text), kind, "{text}");
        }
    }

    #[test]
    fn names_come_back() {
        for kind in Kind::all() {
            assert_eq!(Kind::of_name(kind.name()), Some(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in "(?s).{0,200}", name in ".{0,20}") {
            let _ = Kind::detect(&name, &text);
        }
    }
}
