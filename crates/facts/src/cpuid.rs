//! Raw CPUID leaves of every CPU.

use serde::Serialize;
use std::collections::BTreeMap;

/// The four registers that one CPUID leaf returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Regs {
    /// EAX.
    pub eax: u32,
    /// EBX.
    pub ebx: u32,
    /// ECX.
    pub ecx: u32,
    /// EDX.
    pub edx: u32,
}

/// The leaves of one CPU, by (leaf, sub-leaf).
pub type Leaves = BTreeMap<(u32, u32), Regs>;

/// Raw CPUID leaves, per CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuidDump {
    /// Leaves by CPU number.
    pub cpus: BTreeMap<u32, Leaves>,
}

impl Serialize for CpuidDump {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{} CPUs", self.cpus.len()))
    }
}
