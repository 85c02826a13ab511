//! What kind of file it is.

use schemars::JsonSchema;
use serde::Serialize;

/// The kinds of files that are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
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
