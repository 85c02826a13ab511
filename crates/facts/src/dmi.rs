//! DMI identification: whose machine, whose firmware, which cloud.
//!
//! Serial numbers and UUIDs are never read. The asset tag is read because two clouds write their
//! name there, and only these names are looked for.

use crate::hypervisor::{Cloud, HypervisorKind};

/// The chassis asset tag of every Azure machine.
pub(crate) const AZURE_TAG: &str = "7783-7084-3265-9085-8269-3286-77";
/// The chassis asset tag of every Oracle Cloud machine.
pub(crate) const ORACLE_TAG: &str = "OracleCloud.com";

/// The identification strings, as `/sys/class/dmi/id` names them; empty if not given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dmi {
    /// `sys_vendor`.
    pub sys_vendor: String,
    /// `product_name`.
    pub product_name: String,
    /// `bios_vendor`.
    pub bios_vendor: String,
    /// `bios_version`.
    pub bios_version: String,
    /// `chassis_asset_tag`.
    pub asset_tag: String,
}

impl Dmi {
    /// Parses the output of `dmidecode` (a sosreport has that instead of sysfs files).
    #[must_use]
    pub(crate) fn from_dmidecode(text: &str) -> Self {
        let mut dmi = Self::default();
        let mut section = "";
        for line in text.lines() {
            if !line.starts_with([' ', '\t']) {
                section = line.trim();
                continue;
            }
            let Some((key, value)) = line.trim().split_once(':') else { continue };
            let slot = match (section, key) {
                ("System Information", "Manufacturer") => &mut dmi.sys_vendor,
                ("System Information", "Product Name") => &mut dmi.product_name,
                ("BIOS Information", "Vendor") => &mut dmi.bios_vendor,
                ("BIOS Information", "Version") => &mut dmi.bios_version,
                ("Chassis Information", "Asset Tag") => &mut dmi.asset_tag,
                _ => continue,
            };
            if slot.is_empty() {
                value.trim().clone_into(slot);
            }
        }
        dmi
    }

    /// Whether nothing is given.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The machine in one line of text: `QEMU Standard PC (Q35 + ICH9, 2009), SeaBIOS 1.16.2`.
    #[must_use]
    pub fn summary(&self) -> String {
        let join = |parts: [&str; 2]| {
            parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
        };
        let machine = join([&self.sys_vendor, &self.product_name]);
        let firmware = join([&self.bios_vendor, &self.bios_version]);
        match (machine.is_empty(), firmware.is_empty()) {
            (false, false) => format!("{machine}, {firmware}"),
            _ => format!("{machine}{firmware}"),
        }
    }

    /// The hypervisor that the strings name. QEMU's own strings do not distinguish KVM from software
    /// emulation, so the result for them is `None`.
    #[must_use]
    pub fn hypervisor(&self) -> Option<HypervisorKind> {
        let product = self.product_name.as_str();
        Some(match self.sys_vendor.as_str() {
            "VMware, Inc." => HypervisorKind::Vmware,
            "Microsoft Corporation" if product == "Virtual Machine" => HypervisorKind::Hyperv,
            "innotek GmbH" | "Oracle Corporation" if product.starts_with("VirtualBox") => {
                HypervisorKind::VirtualBox
            }
            "Xen" => HypervisorKind::XenHvm,
            vendor if vendor.starts_with("Parallels") => HypervisorKind::Parallels,
            "OpenBSD" => HypervisorKind::OpenbsdVmm,
            "Red Hat" if product == "KVM" => HypervisorKind::Kvm,
            "Google" if product == "Google Compute Engine" => HypervisorKind::Kvm,
            "DigitalOcean" | "Hetzner" | "Alibaba Cloud" => HypervisorKind::Kvm,
            _ if product == "KVM" || product == "KVM Virtual Machine" => HypervisorKind::Kvm,
            _ if self.bios_vendor == "BHYVE" || product == "BHYVE" => HypervisorKind::Bhyve,
            _ => return None,
        })
    }

    /// The cloud that the strings name; `under` is the hypervisor, as far as it is known.
    #[must_use]
    pub fn cloud(&self, under: Option<HypervisorKind>) -> Cloud {
        let xen = matches!(
            under,
            Some(HypervisorKind::Xen | HypervisorKind::XenHvm | HypervisorKind::XenPv)
        );
        let product = self.product_name.as_str();
        match self.sys_vendor.as_str() {
            "Amazon EC2" if xen => Cloud::Ec2Xen,
            "Amazon EC2" => Cloud::Ec2Nitro,
            "Xen" if self.bios_version.contains("amazon") => Cloud::Ec2Xen,
            "Google" if product == "Google Compute Engine" => Cloud::Gce,
            "Alibaba Cloud" => Cloud::Alibaba,
            "DigitalOcean" => Cloud::DigitalOcean,
            "Hetzner" => Cloud::Hetzner,
            "Microsoft Corporation" if self.asset_tag == AZURE_TAG => Cloud::Azure,
            _ if self.asset_tag == ORACLE_TAG => Cloud::Oci,
            "OpenStack Foundation" => Cloud::OpenStack,
            _ if product.starts_with("OpenStack") => Cloud::OpenStack,
            _ => Cloud::None,
        }
    }
}

/// The cloud that the kernel's line `DMI: ...` names: `Amazon EC2 m5.large/, BIOS 1.0 10/16/2017`. It has no asset tag, so
/// it names neither Azure nor Oracle's cloud, and a line that names no cloud proves nothing about those two.
#[must_use]
pub(crate) fn cloud_of_line(text: &str, under: Option<HypervisorKind>) -> Option<Cloud> {
    let maker = [
        ("Amazon EC2", "Amazon EC2", ""),
        ("Xen ", "Xen", ""),
        ("Google Google Compute Engine", "Google", "Google Compute Engine"),
        ("Alibaba Cloud", "Alibaba Cloud", ""),
        ("DigitalOcean", "DigitalOcean", ""),
        ("Hetzner", "Hetzner", ""),
        ("OpenStack Foundation", "OpenStack Foundation", ""),
    ];
    let (_, vendor, product) = maker.into_iter().find(|(start, ..)| text.starts_with(start))?;
    let (_, firmware) = text.split_once(", BIOS ").unwrap_or_default();
    let dmi = Dmi {
        sys_vendor: vendor.to_owned(),
        product_name: product.to_owned(),
        bios_version: firmware.to_owned(),
        ..Dmi::default()
    };
    Some(dmi.cloud(under)).filter(|cloud| *cloud != Cloud::None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn dmi(vendor: &str, product: &str) -> Dmi {
        Dmi { sys_vendor: vendor.to_owned(), product_name: product.to_owned(), ..Dmi::default() }
    }

    #[test]
    fn identities() {
        assert_eq!(dmi("VMware, Inc.", "VMware7,1").hypervisor(), Some(HypervisorKind::Vmware));
        let qemu = dmi("QEMU", "Standard PC (Q35 + ICH9, 2009)");
        assert_eq!(qemu.hypervisor(), None);
        let surface = dmi("Microsoft Corporation", "Surface Pro 7");
        assert_eq!(surface.hypervisor(), None);
        assert_eq!(dmi("Oracle Corporation", "ORACLE SERVER X8-2").hypervisor(), None);
    }

    #[test]
    fn lines_of_the_kernel_name_clouds() {
        use HypervisorKind as H;
        for (line, under, cloud) in [
            ("Xen HVM domU, BIOS 4.2.amazon 08/24/2006", H::XenHvm, Some(Cloud::Ec2Xen)),
            ("Xen HVM domU, BIOS 4.11.4 01/01/2020", H::XenHvm, None),
            ("Amazon EC2 m5.large/, BIOS 1.0 10/16/2017", H::Kvm, Some(Cloud::Ec2Nitro)),
            (
                "Google Google Compute Engine/Google Compute Engine, BIOS Google 01/01/2011",
                H::Kvm,
                Some(Cloud::Gce),
            ),
            ("QEMU Standard PC (i440FX + PIIX, 1996), BIOS 1.6.4 01/01/2014", H::Kvm, None),
            ("Dell Inc. PowerEdge R640/0H28RR, BIOS 2.8.2 08/27/2020", H::Other, None),
        ] {
            assert_eq!(cloud_of_line(line, Some(under)), cloud, "{line}");
        }
    }

    #[test]
    fn clouds() {
        let mut azure = dmi("Microsoft Corporation", "Virtual Machine");
        assert_eq!(azure.cloud(None), Cloud::None);
        azure.asset_tag = AZURE_TAG.to_owned();
        assert_eq!(azure.cloud(None), Cloud::Azure);
        let xen = Dmi { bios_version: "4.11.amazon".to_owned(), ..dmi("Xen", "HVM domU") };
        assert_eq!(xen.cloud(Some(HypervisorKind::XenHvm)), Cloud::Ec2Xen);
        let ec2 = dmi("Amazon EC2", "m5.large");
        assert_eq!(ec2.cloud(Some(HypervisorKind::Kvm)), Cloud::Ec2Nitro);
        assert_eq!(ec2.cloud(Some(HypervisorKind::XenHvm)), Cloud::Ec2Xen);
        assert_eq!(dmi("RDO", "OpenStack Compute").cloud(None), Cloud::OpenStack);
    }

    #[test]
    fn summaries_and_dmidecode() {
        let text = "# dmidecode 3.3\nHandle 0x0000, DMI type 0, 24 bytes\nBIOS Information\n\
                    \tVendor: SeaBIOS\n\tVersion: 1.16.2\n\nSystem Information\n\
                    \tManufacturer: QEMU\n\tProduct Name: Standard PC\n\tSerial Number: secret\n\
                    \tUUID: secret\n";
        let dmi = Dmi::from_dmidecode(text);
        assert_eq!(dmi.summary(), "QEMU Standard PC, SeaBIOS 1.16.2");
        assert_eq!(Dmi::default().summary(), "");
        assert!(Dmi::from_dmidecode("").is_empty());
    }

    proptest! {
        #[test]
        fn any_text(text in "[\\PC\n\t]{0,200}") {
            let _ = Dmi::from_dmidecode(&text).summary();
        }
    }
}
