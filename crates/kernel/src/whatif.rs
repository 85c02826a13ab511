//! What-if changes to a machine: `--kernel 6.12`, `--cmdline '+tsc=reliable'`, `--set hpet=no`.

use crate::{Basis, Input, Machine, feature};
use clocksmith_facts::Arch;
use clocksmith_facts::cmdline::CommandLine;
use clocksmith_facts::cpu::CpuVendor;
use clocksmith_facts::hypervisor::{Hypervisor, HypervisorKind};
use clocksmith_facts::log::event::UnstableReason;
use clocksmith_facts::version::{Kernel, Vendor};

/// A change that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WhatIfError {
    /// The name is not a fact of the model.
    #[error("--set {0}: there is no such fact in the model; the facts are {known}", known = KNOWN.join(", "))]
    UnknownFact(String),
    /// The value does not fit the fact.
    #[error("{fact}: {value:?} is not a possible value; expected {expected}")]
    BadValue {
        /// The fact.
        fact: String,
        /// The value given.
        value: String,
        /// The values that would fit.
        expected: &'static str,
    },
}

/// The facts that `--set` can change.
pub const KNOWN: &[&str] = &[
    "arch",
    "vendor",
    "tsc",
    "constant_tsc",
    "nonstop_tsc",
    "invtsc",
    "tsc_adjust",
    "cpus",
    "packages",
    "nodes",
    "hpet",
    "pm_timer",
    "hypervisor",
    "hyperv_invariant",
    "xen_tsc_mode",
    "dom0",
    "stable_bit",
    "warp",
    "tsc_khz",
];

fn bad(fact: &str, value: &str, expected: &'static str) -> WhatIfError {
    WhatIfError::BadValue { fact: fact.to_owned(), value: value.to_owned(), expected }
}

impl Machine {
    /// The same machine with the newest kernel version at which a rule changes.
    #[must_use]
    pub fn with_newest_kernel(&self) -> Option<Self> {
        let version = feature::borders().pop()?;
        let kernel = Kernel { version, release: version.to_string(), vendor: Vendor::Unknown };
        let mut newer = self.clone();
        newer.kernel = Input::assumed(kernel, "the newest whose rules are known");
        Some(newer)
    }

    /// Another kernel version (or a whole release string).
    pub fn set_kernel(&mut self, text: &str) -> Result<(), WhatIfError> {
        let kernel = Kernel::parse(text)
            .ok_or_else(|| bad("kernel", text, "a version such as 6.12 or 5.10.223"))?;
        // `3.2.0-4-686-pae` contains the architecture.
        if kernel.is_i686() && (self.arch.is_assumed() || self.width_open) {
            self.arch = Input::what_if(Arch::X86);
            self.width_open = false;
        }
        self.kernel = Input::what_if(kernel);
        Ok(())
    }

    /// Another command line; a leading `+` adds words, a leading `-` removes words.
    pub fn set_cmdline(&mut self, text: &str) {
        let line = if let Some(more) = text.strip_prefix('+') {
            self.cmdline.value.with(more)
        } else if let Some(less) = text.strip_prefix('-') {
            self.cmdline.value.without_all(&CommandLine::parse(less))
        } else {
            CommandLine::parse(text)
        };
        self.cmdline = Input::what_if(line);
    }

    /// Another number of possible CPUs.
    pub fn set_cpus(&mut self, n: u32) {
        self.possible_cpus = Input::what_if(n.max(1));
    }

    /// Another hypervisor, by name; `none` is bare metal.
    pub fn set_hypervisor(&mut self, name: &str) -> Result<(), WhatIfError> {
        let kind = match name.to_ascii_lowercase().as_str() {
            "none" | "bare" | "bare-metal" => None,
            "kvm" | "qemu" => Some(HypervisorKind::Kvm),
            "xen" | "xen-hvm" => Some(HypervisorKind::XenHvm),
            "xen-pv" => Some(HypervisorKind::XenPv),
            "vmware" => Some(HypervisorKind::Vmware),
            "hyperv" | "hyper-v" | "azure" => Some(HypervisorKind::Hyperv),
            "virtualbox" => Some(HypervisorKind::VirtualBox),
            "tcg" => Some(HypervisorKind::Tcg),
            "bhyve" => Some(HypervisorKind::Bhyve),
            _ => {
                return Err(bad(
                    "hypervisor",
                    name,
                    "none, kvm, xen, xen-pv, vmware, hyperv, virtualbox, tcg or bhyve",
                ));
            }
        };
        let same = matches!((&self.hypervisor.value, kind), (Some(h), Some(k)) if h.kind == k);
        if same {
            self.hypervisor.basis = Basis::WhatIf;
        } else {
            self.hypervisor = Input::what_if(kind.map(Hypervisor::named));
        }
        Ok(())
    }

    /// Sets one fact by name.
    pub fn set(&mut self, fact: &str, value: &str) -> Result<(), WhatIfError> {
        let flag = || match value {
            "1" | "yes" | "true" | "on" | "y" => Ok(true),
            "0" | "no" | "false" | "off" | "n" => Ok(false),
            _ => Err(bad(fact, value, "yes or no")),
        };
        let number = || value.parse::<u32>().map_err(|_| bad(fact, value, "a number"));
        match fact {
            "arch" => {
                let arch = Arch::parse(value).ok_or_else(|| {
                    bad(fact, value, "x86_64, i686, arm64, riscv64, s390x, ppc64le")
                })?;
                self.arch = Input::what_if(arch);
                self.width_open = false;
            }
            "vendor" => self.vendor = Input::what_if(CpuVendor::parse(value)),
            "tsc" => self.tsc = Input::what_if(flag()?),
            "constant_tsc" => self.constant_tsc = Input::what_if(flag()?),
            "nonstop_tsc" => self.nonstop_tsc = Input::what_if(flag()?),
            "invtsc" => {
                self.constant_tsc = Input::what_if(flag()?);
                self.nonstop_tsc = Input::what_if(flag()?);
            }
            "tsc_adjust" => self.tsc_adjust = Input::what_if(flag()?),
            "cpus" => self.set_cpus(number()?),
            "packages" => self.packages = Input::what_if(number()?.max(1)),
            "nodes" => self.nodes = Input::what_if(number()?.max(1)),
            "hpet" => {
                self.hpet = Input::what_if(flag()?);
                self.hpet_disabled = None;
            }
            "pm_timer" => self.pm_timer = Input::what_if(flag()?),
            "hypervisor" => self.set_hypervisor(value)?,
            "hyperv_invariant" => {
                let on = flag()?;
                self.edit_hypervisor(fact, value, |h| {
                    // The usual privileges of a guest: the counter MSR and the TSC page.
                    let flags = h.hyperv_privileges.unwrap_or(0x2e7f);
                    h.hyperv_privileges = Some(if on { flags | 0x8000 } else { flags & !0x8000 });
                })?;
            }
            "xen_tsc_mode" => {
                let mode = number()?;
                self.edit_hypervisor(fact, value, |h| h.xen_tsc_mode = Some(mode))?;
            }
            "dom0" => {
                let on = flag()?;
                self.edit_hypervisor(fact, value, |h| h.xen_dom0 = on)?;
            }
            "stable_bit" => self.pvclock_stable = Input::what_if(flag()?),
            "warp" => {
                self.observed = flag()?.then(|| crate::machine::Observed {
                    reason: UnstableReason::SyncFailed,
                    source: "what if".to_owned(),
                });
            }
            "tsc_khz" => self.tsc_khz = Some(u64::from(number()?)),
            _ => return Err(WhatIfError::UnknownFact(fact.to_owned())),
        }
        Ok(())
    }

    fn edit_hypervisor(
        &mut self,
        fact: &str,
        value: &str,
        edit: impl FnOnce(&mut Hypervisor),
    ) -> Result<(), WhatIfError> {
        let Some(hypervisor) = self.hypervisor.value.as_mut() else {
            return Err(bad(fact, value, "a hypervisor to be set first"));
        };
        edit(hypervisor);
        self.hypervisor.basis = Basis::WhatIf;
        Ok(())
    }
}
