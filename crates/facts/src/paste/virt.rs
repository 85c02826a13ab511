//! The hypervisor: `systemd-detect-virt`, `dmidecode`, the modules of guests in `lsmod`.

use super::{Page, Reader, prompt, shown};
use crate::Fact;
use crate::hypervisor::HypervisorKind;

pub(super) const DETECT: Reader = Reader {
    name: "systemd-detect-virt",
    words: &["detect-virt", "virt-what", "Virtualization:"],
    read: detect,
};

pub(super) const DMIDECODE: Reader = Reader {
    name: "dmidecode",
    words: &["Product Name:", "Manufacturer:", "SMBIOS", "BIOS Information"],
    read: dmidecode,
};

pub(super) const LSMOD: Reader = Reader {
    name: "lsmod",
    words: &[
        "Used by",
        "vboxguest",
        "hv_vmbus",
        "vmw_",
        "kvm_intel",
        "kvm_amd",
        "xen_blkfront",
        "hv_utils",
    ],
    read: lsmod,
};

/// The hypervisor by the names that systemd and `lscpu` use.
pub(super) fn vendor(name: &str) -> Option<HypervisorKind> {
    Some(match name.to_ascii_lowercase().as_str() {
        "kvm" | "amazon" | "google" => HypervisorKind::Kvm,
        "xen" => HypervisorKind::Xen,
        "vmware" => HypervisorKind::Vmware,
        "microsoft" | "hyperv" | "hyper-v" | "wsl" => HypervisorKind::Hyperv,
        "oracle" | "virtualbox" | "innotek" => HypervisorKind::VirtualBox,
        "qemu" => HypervisorKind::Tcg,
        "bhyve" => HypervisorKind::Bhyve,
        "parallels" => HypervisorKind::Parallels,
        "acrn" => HypervisorKind::Acrn,
        _ => return None,
    })
}

fn detect(page: &mut Page<'_>, at: usize) -> usize {
    let line = page.line(at).trim();
    if let Some(name) = line.strip_prefix("Virtualization: ") {
        // hostnamectl
        let Some(kind) = vendor(name.trim()) else { return 0 };
        page.told.hypervisor = Fact::known(Some(kind), page.source(at));
        return 1;
    }
    let asks = prompt::read(line).is_some_and(|found| found.command.contains("virt"));
    let (number, answer) = match line.split_once("systemd-detect-virt:") {
        Some((_, answer)) => (at, answer.trim()),
        None if asks => (at + 1, shown(page.line(at + 1))),
        None => return 0,
    };
    let told = match answer {
        "none" => None,
        name => match vendor(name) {
            Some(kind) => Some(kind),
            None => return 0,
        },
    };
    page.told.hypervisor = Fact::known(told, page.source(number));
    number + 1 - at
}

/// The field of a line of `dmidecode`, or its heading.
fn dmidecode_field(line: &str) -> Option<&str> {
    let line = line.trim();
    let headings = ["System Information", "Base Board Information", "BIOS Information"];
    if let Some(heading) = headings.iter().find(|heading| line == **heading) {
        return Some(heading);
    }
    if line.starts_with("# SMBIOS") || line.starts_with("SMBIOS ") {
        return Some("SMBIOS");
    }
    let (name, _) = line.split_once(':')?;
    let fields = ["Product Name", "Manufacturer", "SKU Number", "Wake-up Type", "Vendor", "UUID"];
    fields.contains(&name).then_some(name)
}

fn dmidecode(page: &mut Page<'_>, at: usize) -> usize {
    let line = page.line(at).trim();
    if !page.is_output(at, "dmidecode", dmidecode_field) {
        return 0;
    }
    let Some((name, value)) = line.split_once(':') else {
        return usize::from(line == "BIOS Information");
    };
    let value = value.trim();
    if !matches!(name, "Product Name" | "Manufacturer") || value.is_empty() {
        return usize::from(name.starts_with("# SMBIOS"));
    }
    let known = match page.told.dmi.value() {
        Some(known) if known.contains(value) => return 1,
        Some(known) => format!("{known} {value}"),
        None => value.to_owned(),
    };
    // The tables of boards and of chassis repeat it.
    if known.len() < 120 {
        page.told.dmi = Fact::known(known, page.source(at));
    }
    1
}

fn lsmod(page: &mut Page<'_>, at: usize) -> usize {
    let mut words = page.line(at).split_ascii_whitespace();
    let (Some(module), Some(size)) = (words.next(), words.next()) else { return 0 };
    if module == "Module" && size == "Size" {
        return 1;
    }
    if size.parse::<u64>().is_err()
        || words.next().is_none_or(|count| count.parse::<i64>().is_err())
    {
        return 0;
    }
    // Drivers for the devices of a hypervisor; drivers of a host do not show the hypervisor under which it runs.
    let kind = match module {
        "vboxguest" | "vboxsf" => Some(HypervisorKind::VirtualBox),
        "hv_vmbus" | "hv_utils" => Some(HypervisorKind::Hyperv),
        "vmw_balloon" | "vmw_vmci" => Some(HypervisorKind::Vmware),
        "xen_blkfront" | "xen_netfront" => Some(HypervisorKind::Xen),
        _ => None,
    };
    if let Some(kind) = kind
        && !page.told.hypervisor.is_known()
    {
        page.told.hypervisor = Fact::known(Some(kind), page.source(at));
    }
    1
}
