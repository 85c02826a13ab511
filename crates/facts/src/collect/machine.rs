//! The kernel and its processors.

use super::{LARGE, Reader, SMALL};
use crate::cmdline::CommandLine;
use crate::cpu::{CpuList, CpuModel, CpuVendor, Cpuinfo, Flags};
use crate::cpuid::CpuidDump;
use crate::kconfig::KernelConfig;
use crate::tree::decode;
use crate::version::Kernel;
use crate::{Arch, Fact, Facts, Missing, Why};
use std::collections::BTreeSet;
use std::io::Read;

/// Files that may hold the output of `uname -a`, in the order in which they are read.
const UNAME: [&str; 2] = ["uname", "sos_commands/kernel/uname_-a"];

/// CPUs whose topology is read one by one, if `/proc/cpuinfo` does not name packages.
const MAX_TOPOLOGY: usize = 1024;

pub(super) fn fill(reader: &Reader<'_>, facts: &mut Facts) {
    let uname = reader.first_of(UNAME, |reader, path| reader.text(path, SMALL));
    let cpuinfo = reader.text("proc/cpuinfo", LARGE).map(|text| Cpuinfo::parse(&text));

    facts.cmdline = reader.text("proc/cmdline", SMALL).map(|text| CommandLine::parse(&text));
    facts.kernel = kernel(reader, &uname);
    facts.arch = arch(&uname, &facts.kernel, &cpuinfo);
    facts.config = config(reader, facts.kernel.value().map(|kernel| kernel.release.as_str()));
    facts.cpuid = cpuid(reader, facts.arch.value().copied());
    cpus(reader, facts, cpuinfo);
}

fn kernel(reader: &Reader<'_>, uname: &Fact<String>) -> Fact<Kernel> {
    let understood = |text: String| Kernel::parse(&text).ok_or("no kernel version in it");
    reader
        .text("proc/version", SMALL)
        .try_map(understood)
        .or_else(|| reader.line("proc/sys/kernel/osrelease").try_map(understood))
        .or_else(|| {
            // `Linux NODE RELEASE #1 SMP ...`
            let release = |text: String| text.split_ascii_whitespace().nth(2).map(str::to_owned);
            uname.clone().try_map(|text| understood(release(text).unwrap_or_default()))
        })
}

fn arch(uname: &Fact<String>, kernel: &Fact<Kernel>, cpuinfo: &Fact<Cpuinfo>) -> Fact<Arch> {
    let of_uname = uname.clone().try_map(|text| {
        text.split_ascii_whitespace().rev().find_map(Arch::parse).ok_or("no architecture in it")
    });
    let of_release = || {
        kernel.clone().try_map(|kernel| {
            if kernel.is_i686() {
                return Ok(Arch::X86);
            }
            // `5.14.0-70.el9.x86_64`, `6.1.0-56-cloud-amd64`.
            kernel
                .release
                .rsplit(['.', '-'])
                .take(2)
                .find_map(Arch::parse)
                .ok_or("the release names no architecture")
        })
    };
    let of_cpuinfo =
        || cpuinfo.clone().try_map(|info| info.arch.ok_or("its form tells no architecture"));
    // The form of cpuinfo is proof; a release is a name that a builder chose.
    of_uname.or_else(of_cpuinfo).or_else(of_release)
}

fn config(reader: &Reader<'_>, release: Option<&str>) -> Fact<KernelConfig> {
    let mut found = gzip_config(reader, "proc/config.gz");
    let safe = |release: &&str| {
        !release.contains("..")
            && release.bytes().all(|b| b.is_ascii_alphanumeric() || b"._+~-".contains(&b))
    };
    if let Some(release) = release.filter(safe) {
        for path in [
            format!("boot/config-{release}"),
            format!("lib/modules/{release}/config"),
            format!("usr/lib/modules/{release}/config"),
        ] {
            found =
                found.or_else(|| reader.text(&path, CONFIG).try_map(|text| parse_config(&text)));
        }
    }
    found
}

/// Longest configuration of a kernel, packed or not: that of a distribution with every driver has 0.3 MiB.
const CONFIG: u64 = 4 << 20;

fn gzip_config(reader: &Reader<'_>, path: &str) -> Fact<KernelConfig> {
    reader.bytes(path, CONFIG).try_map(|bytes| {
        let mut text = String::new();
        decode::decoded(bytes.as_slice())
            .and_then(|(_, inner)| inner.take(CONFIG + 1).read_to_string(&mut text))
            .map_err(|error| error.to_string())?;
        if text.len() as u64 > CONFIG {
            return Err(format!("it is longer than {} MiB unpacked", CONFIG >> 20));
        }
        parse_config(&text)
    })
}

fn parse_config(text: &str) -> Result<KernelConfig, String> {
    let config = KernelConfig::parse(text);
    if config.is_empty() { Err("no kernel option in it".to_owned()) } else { Ok(config) }
}

fn cpuid(reader: &Reader<'_>, arch: Option<Arch>) -> Fact<CpuidDump> {
    if arch.is_some_and(|arch| !arch.is_x86()) {
        return Fact::Missing(Missing { why: Why::NotApplicable, at: None, how: None });
    }
    reader.text("cpuid", LARGE).try_map(|text| CpuidDump::parse(&text))
}

fn cpus(reader: &Reader<'_>, facts: &mut Facts, cpuinfo: Fact<Cpuinfo>) {
    let list = |path: &str| reader.text(path, SMALL).try_map(|text| non_empty_list(&text));
    let cpu = &mut facts.cpu;
    cpu.possible = list("sys/devices/system/cpu/possible").map(|list| list.count());
    cpu.nodes = list("sys/devices/system/node/online").map(|list| list.count());
    cpu.online = list("sys/devices/system/cpu/online").or_else(|| {
        cpuinfo.clone().try_map(|info| match info.numbers {
            numbers if numbers.0.is_empty() => Err("it numbers no processors"),
            numbers => Ok(numbers),
        })
    });
    cpu.flag_differences = cpuinfo.value().map(|info| info.differing.clone()).unwrap_or_default();
    cpu.packages = packages(reader, &cpuinfo, cpu.online.value());
    cpu.khz = cpuinfo.clone().try_map(|info| info.khz.ok_or("no 'cpu MHz' in it"));
    // The second processor's delay loop is measured, the first one's is computed from the TSC.
    cpu.measured_khz = cpuinfo.clone().try_map(|info| {
        info.bogomips.get(1).map(|bogomips| bogomips / 2).ok_or("one processor only")
    });
    cpu.vmx_flags = cpuinfo.clone().try_map(|info| info.vmx_flags.ok_or("no 'vmx flags' in it"));
    let x86 = facts.arch.value().is_none_or(|arch| arch.is_x86());
    cpu.model = if x86 {
        let shown = cpuinfo.clone().try_map(|info| info.model.ok_or("it names no x86 processor"));
        shown.or_else(|| model_of_cpuid(&facts.cpuid))
    } else {
        Fact::Missing(Missing { why: Why::NotApplicable, at: None, how: None })
    };
    cpu.flags = cpuinfo
        .try_map(
            |info| if info.flags.0.is_empty() { Err("no flags in it") } else { Ok(info.flags) },
        )
        .or_else(|| flags_of_cpuid(&facts.cpuid));
}

fn non_empty_list(text: &str) -> Result<CpuList, String> {
    let list = CpuList::parse(text)?;
    if list.0.is_empty() { Err("an empty list".to_owned()) } else { Ok(list) }
}

fn packages(reader: &Reader<'_>, cpuinfo: &Fact<Cpuinfo>, online: Option<&CpuList>) -> Fact<u32> {
    let shown = cpuinfo.clone().try_map(|info| info.packages.ok_or("no 'physical id' in it"));
    shown.or_else(|| {
        let mut ids = BTreeSet::new();
        let mut source = None;
        for cpu in online.map(|list| list.0.iter().take(MAX_TOPOLOGY)).into_iter().flatten() {
            let path = format!("sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id");
            match reader.line(&path) {
                Fact::Known { value, source: at } => {
                    source.get_or_insert(at.0);
                    // -1 is the kernel's "not known".
                    ids.extend(value.parse::<u32>().ok());
                }
                // A kernel that shows no topology for one CPU shows it for none.
                Fact::Missing(missing) if source.is_none() => return Fact::Missing(missing),
                Fact::Missing(_) => {}
            }
        }
        match (u32::try_from(ids.len()), source) {
            (Ok(count), Some(source)) if count > 0 => Fact::known(count, source),
            _ => Fact::default(),
        }
    })
}

fn model_of_cpuid(cpuid: &Fact<CpuidDump>) -> Fact<CpuModel> {
    let Fact::Known { value: dump, source } = cpuid else { return Fact::default() };
    match (dump.vendor(), dump.family_model()) {
        (Some(vendor), Some((family, model))) => {
            let vendor = CpuVendor::parse(&vendor);
            let name = dump.brand().unwrap_or_default();
            Fact::known(CpuModel { vendor, family, model, name }, format!("{source} 0x1 eax"))
        }
        _ => Fact::default(),
    }
}

/// The flags that the kernel would show for the bits that concern clocks. The two that it derives
/// from one bit are named as it names them (`early_init_intel()`, `early_init_amd()`).
fn flags_of_cpuid(cpuid: &Fact<CpuidDump>) -> Fact<Flags> {
    let Fact::Known { value: dump, source } = cpuid else { return Fact::default() };
    let Some(cpu) = dump.first() else { return Fact::default() };
    const BITS: [(u32, usize, u32, &str); 10] = [
        (1, 3, 4, "tsc"),
        (1, 3, 5, "msr"),
        (1, 2, 3, "monitor"),
        (1, 2, 24, "tsc_deadline_timer"),
        (1, 2, 31, "hypervisor"),
        (6, 0, 2, "arat"),
        (7, 1, 1, "tsc_adjust"),
        (0x8000_0001, 3, 27, "rdtscp"),
        (0x8000_0001, 3, 29, "lm"),
        (0x8000_0007, 3, 8, "constant_tsc"),
    ];
    let mut flags: BTreeSet<String> = BITS
        .iter()
        .filter(|(leaf, register, bit, _)| {
            let value = dump.leaf(cpu, *leaf, 0).and_then(|regs| regs.by_index(*register));
            value.is_some_and(|value| value & (1 << bit) != 0)
        })
        .map(|(_, _, _, name)| (*name).to_owned())
        .collect();
    if flags.contains("constant_tsc") {
        flags.insert("nonstop_tsc".to_owned());
    }
    Fact::known(Flags(flags), format!("{source} 0x1 edx, 0x80000007 edx"))
}
