//! The kinds of files: each has a folder, and a line in the registry below.
//!
//! A folder has `mod.rs`, whose [`Format`] describes the kind and has its functions, and `rules.md`, the page of its
//! rules. Code that several kinds share is not here.

mod bhyve;
mod cloud_hypervisor;
mod container;
mod crosvm;
mod firecracker;
mod incus;
pub(crate) mod kubevirt;
pub(crate) mod libvirt;
mod lima;
mod nova;
mod ovf;
mod packer;
mod persist;
pub(crate) mod proxmox;
pub(crate) mod pve;
pub(crate) mod qemu;
mod quickemu;
mod terraform;
mod utm;
pub(crate) mod vagrant;
mod vagrant_libvirt;
mod virt_install;
mod virtualbox;
mod vmware;
pub(crate) mod xen;

pub(crate) use persist::beside;

use crate::choice::Choices;
use crate::detect::{Clues, Sign};
use crate::document::Document;
use crate::edit::Edit;
use crate::finding::Rule;
use crate::limits::Limits;
use crate::lint::{LintError, Report};
use crate::predict::Prediction;
use serde::Serialize;

/// A kind of file: its names, its rules and its functions.
pub(crate) struct Format {
    /// The name, as in JSON and after `--kind`.
    pub(crate) name: &'static str,
    /// A description of these files, in a list for people; empty if another kind's description covers it.
    pub(crate) files: &'static str,
    /// A small file: its name and its text.
    pub(crate) sample: (&'static str, &'static str),
    /// The rules.
    pub(crate) rules: &'static [Rule],
    /// Returns how certain it is that a file is of this kind.
    pub(crate) detect: fn(&Clues<'_>) -> Option<Sign>,
    /// Checks a file.
    pub(crate) lint: fn(&Document) -> Result<Report, LintError>,
    /// What limits the changes in a file.
    pub(crate) limits: Limits,
    /// The functions that exist only for QEMU guests.
    pub(crate) qemu: Option<Qemu>,
}

/// Functions for guests that QEMU runs.
pub(crate) struct Qemu {
    /// Returns the changes that make a file follow choices, grouped by machine; `None` if its kind cannot.
    pub(crate) choose: Option<Choose>,
    /// Returns the options that QEMU gets, where the file does not have them itself.
    pub(crate) predict: Option<fn(&Document) -> Option<Prediction>>,
}

/// Returns the changes by choices, grouped by machine.
pub(crate) type Choose = fn(&Document, &Choices) -> Vec<Vec<Edit>>;

/// Generates [`Kind`] from the registry.
macro_rules! formats {
    ($($(#[$doc:meta])* $kind:ident = $format:expr,)*) => {
        /// The kinds of files that are understood.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "kebab-case")]
        #[non_exhaustive]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
        }

        const KINDS: &[Kind] = &[$(Kind::$kind),*];

        /// The registry entry of each kind, in the order of [`Kind`].
        pub(crate) const FORMATS: &[&Format] = &[$(&$format),*];
    };
}

formats! {
    /// A libvirt domain, or a part of one.
    Libvirt = libvirt::FORMAT,
    /// A QEMU command line, alone or in a script.
    Qemu = qemu::FORMAT,
    /// A VirtualBox machine (`.vbox`), or a script with `VBoxManage` lines.
    Virtualbox = virtualbox::FORMAT,
    /// A VMware machine (`.vmx`).
    Vmware = vmware::FORMAT,
    /// A Xen domain (`xl.cfg`).
    Xen = xen::FORMAT,
    /// A Proxmox VE machine (`/etc/pve/qemu-server/NNN.conf`).
    Proxmox = proxmox::FORMAT,
    /// A KubeVirt manifest.
    Kubevirt = kubevirt::FORMAT,
    /// A Firecracker configuration.
    Firecracker = firecracker::FORMAT,
    /// A Cloud Hypervisor configuration.
    CloudHypervisor = cloud_hypervisor::FORMAT,
    /// Command lines of `virt-install` and `virt-xml`.
    VirtInstall = virt_install::FORMAT,
    /// A Vagrantfile with the provider libvirt.
    VagrantLibvirt = vagrant_libvirt::FORMAT,
    /// Terraform or OpenTofu, with libvirt, Proxmox VE or vSphere machines.
    Terraform = terraform::FORMAT,
    /// A Packer template.
    Packer = packer::FORMAT,
    /// An OVF, alone or in an OVA.
    Ovf = ovf::FORMAT,
    /// OpenStack: `nova.conf`, and properties of flavors and images.
    Nova = nova::FORMAT,
    /// Containers with QEMU in them: the images of qemus/qemu and dockur.
    Container = container::FORMAT,
    /// A quickemu machine.
    Quickemu = quickemu::FORMAT,
    /// An Incus or LXD virtual machine.
    Incus = incus::FORMAT,
    /// An instance of Lima or Colima.
    Lima = lima::FORMAT,
    /// A UTM machine.
    Utm = utm::FORMAT,
    /// crosvm.
    Crosvm = crosvm::FORMAT,
    /// bhyve, or a machine of vm-bhyve.
    Bhyve = bhyve::FORMAT,
    /// A tuned profile.
    Tuned = persist::TUNED,
    /// A script or a configuration that keeps a choice of clocksource across boots.
    Persistence = persist::FORMAT,
}

impl Kind {
    /// Returns the registry entry of a kind.
    pub(crate) fn format(self) -> &'static Format {
        FORMATS[self as usize]
    }

    /// Every kind.
    pub fn all() -> impl Iterator<Item = Self> {
        KINDS.iter().copied()
    }

    /// The name, as in JSON and after `--kind`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.format().name
    }

    /// The kind of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::all().find(|kind| kind.name() == name)
    }

    /// All names, for messages.
    #[must_use]
    pub fn names() -> String {
        Self::all().map(Self::name).collect::<Vec<_>>().join(", ")
    }

    /// Returns a description of the files of all kinds, for people.
    #[must_use]
    pub fn files() -> String {
        let all: Vec<_> = FORMATS.iter().map(|format| format.files).collect();
        let (last, others) = all.split_last().unwrap_or((&"", &[]));
        let others: Vec<_> = others.iter().copied().filter(|files| !files.is_empty()).collect();
        format!("{}, and {last}", others.join(", "))
    }

    /// A small file of this kind: its name and its text.
    #[must_use]
    pub fn sample(self) -> (&'static str, &'static str) {
        self.format().sample
    }

    /// Whether files of this kind can be made to follow [`Choices`].
    #[must_use]
    pub fn takes_choices(self) -> bool {
        self.format().qemu.as_ref().is_some_and(|qemu| qemu.choose.is_some())
    }

    /// Returns the kind of a file: by its content first, and by its extension second.
    #[must_use]
    pub fn detect(name: &str, text: &str) -> Option<Self> {
        let clues = Clues::new(name, text);
        let signs = Self::all().filter_map(|kind| Some(((kind.format().detect)(&clues)?, kind)));
        signs.min_by_key(|(sign, _)| *sign).map(|(_, kind)| kind)
    }
}
