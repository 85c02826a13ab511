//! The processor: `/proc/cpuinfo` and `lscpu`.

use super::{Page, Reader};
use crate::cpu::Flags;
use crate::{Arch, Fact};

pub(super) const CPUINFO: Reader = Reader {
    name: "/proc/cpuinfo",
    words: &[
        "flags",
        "model name",
        "vendor_id",
        "cpu family",
        "model\t",
        "processor\t",
        "bogomips",
        "cpu MHz",
    ],
    read: cpuinfo,
};

pub(super) const LSCPU: Reader = Reader {
    name: "lscpu",
    words: &[
        "Flags:",
        "Hypervisor vendor:",
        "Model name:",
        "Architecture:",
        "CPU(s):",
        "Virtualization",
        "Vendor ID:",
        "CPU family:",
        "Model:",
    ],
    read: lscpu,
};

/// A list with fewer flags was filtered by somebody: absence proves nothing.
const WHOLE_LIST: usize = 20;

fn flags(page: &mut Page<'_>, at: usize, value: &str) {
    let flags = Flags::parse(value.get(..value.len().min(6000)).unwrap_or_default());
    if flags.0.len() > WHOLE_LIST {
        page.told.flags = Fact::known(flags, page.source(at));
    }
}

fn cpuinfo(page: &mut Page<'_>, at: usize) -> usize {
    let Some((name, value)) = page.line(at).split_once(':') else { return 0 };
    let value = value.trim();
    match name.trim() {
        "flags" | "Features" if value.contains(' ') => flags(page, at, value),
        "model name" => {
            page.told.cpu = Fact::known(value.chars().take(100).collect(), page.source(at))
        }
        "vendor_id" => page.told.vendor = Some(value.chars().take(20).collect()),
        "cpu family" => page.told.family = value.parse().ok(),
        "model" if value.parse::<u32>().is_ok() => page.told.model = value.parse().ok(),
        "processor" | "stepping" | "microcode" | "cpu MHz" | "cache size" | "physical id"
        | "siblings" | "core id" | "cpu cores" | "apicid" | "initial apicid" | "fpu"
        | "fpu_exception" | "cpuid level" | "wp" | "bugs" | "bogomips" | "clflush size"
        | "cache_alignment" | "address sizes" | "power management" | "vmx flags" => {}
        _ => return 0,
    }
    1
}

fn lscpu(page: &mut Page<'_>, at: usize) -> usize {
    let Some((name, value)) = page.line(at).trim().split_once(':') else { return 0 };
    let value = value.trim();
    match name {
        "Flags" if value.contains(' ') => flags(page, at, value),
        "Architecture" => match Arch::parse(value) {
            Some(arch) => page.told.arch = Fact::known(arch, page.source(at)),
            None => return 0,
        },
        "Hypervisor vendor" => match super::virt::vendor(value) {
            Some(kind) => page.told.hypervisor = Fact::known(Some(kind), page.source(at)),
            None => return 0,
        },
        "Model name" => {
            page.told.cpu = Fact::known(value.chars().take(100).collect(), page.source(at))
        }
        "Vendor ID" => page.told.vendor = Some(value.chars().take(20).collect()),
        "CPU family" => page.told.family = value.parse().ok(),
        "Model" => page.told.model = value.parse().ok(),
        "CPU(s)" => match value.parse() {
            Ok(cpus) => page.told.cpus = Fact::known(cpus, page.source(at)),
            Err(_) => return 0,
        },
        "Virtualization type" | "Virtualization" => {}
        _ => return 0,
    }
    1
}
