//! The processor: `/proc/cpuinfo` and `lscpu`.

use super::{Page, Reader};
use crate::cpu::Flags;
use crate::flag_list::{self, Reach};
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

/// Minimum number of flags in a list that was not filtered by the user: in a shorter one, absence proves nothing.
const WHOLE_LIST: usize = 20;

/// Takes the flags; `false` if a list is not one of a processor.
fn flags(page: &mut Page<'_>, at: usize, value: &str) -> bool {
    let flags = Flags::parse(value.get(..value.len().min(6000)).unwrap_or_default());
    let enough = flags.0.len() > WHOLE_LIST;
    // Each CPU has the same.
    if page.told.flags.value() == Some(&flags) {
        return enough;
    }
    // Of x86, the order shows whether the list reaches far enough; others have few flags.
    let reach = match flags.has("fpu") {
        true if goes_on(page, at) => Reach::Short,
        true => flag_list::reach(value, longest_other(page)),
        false => Reach::Whole,
    };
    if enough && reach != Reach::Short {
        page.told.flags = Fact::known(flags, page.source(at));
        page.told.flags_cut = reach == Reach::Decisive;
    }
    enough
}

/// Characters of the longest line that is not a list of flags: each CPU's list is cut at the same place.
fn longest_other(page: &Page<'_>) -> usize {
    let is_list = |line: &str| {
        line.trim_start().get(..5).is_some_and(|head| head.eq_ignore_ascii_case("flags"))
    };
    let lengths = page.lines().iter().filter(|line| !is_list(line)).map(|line| line.len());
    lengths.max().unwrap_or_default()
}

/// Whether the next line has nothing but more flags: a mailer or a terminal wrapped the list.
fn goes_on(page: &Page<'_>, at: usize) -> bool {
    let Some(next) = page.lines().get(at + 1).map(|line| line.trim()) else { return false };
    let flag = |word: &str| {
        word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    next.split_ascii_whitespace().count() > 1 && next.split_ascii_whitespace().all(flag)
}

/// The fields of `/proc/cpuinfo` on x86.
const FIELDS: [&str; 26] = [
    "flags",
    "Features",
    "model name",
    "vendor_id",
    "cpu family",
    "model",
    "processor",
    "stepping",
    "microcode",
    "cpu MHz",
    "cache size",
    "physical id",
    "siblings",
    "core id",
    "cpu cores",
    "apicid",
    "initial apicid",
    "fpu",
    "fpu_exception",
    "cpuid level",
    "wp",
    "bugs",
    "bogomips",
    "clflush size",
    "cache_alignment",
    "address sizes",
];

/// The field of a line of `/proc/cpuinfo`, which has a tab or blanks before its colon.
fn cpuinfo_field(line: &str) -> Option<&str> {
    let (name, _) = line.split_once(':')?;
    let field = name.trim();
    (FIELDS.contains(&field) || field == "power management" || field == "vmx flags")
        .then_some(field)
}

fn cpuinfo(page: &mut Page<'_>, at: usize) -> usize {
    let Some((name, value)) = page.line(at).split_once(':') else { return 0 };
    let value = value.trim();
    let field = name.trim();
    // `model name\t: Intel(R) ...` and the flags are often quoted by themselves.
    let alone = match field {
        "model name" | "vendor_id" | "cpu family" | "cpu MHz" => name.ends_with([' ', '\t']),
        "flags" | "Features" => Flags::parse(value).0.len() > WHOLE_LIST,
        _ => false,
    };
    if !alone && !page.is_output(at, "/proc/cpuinfo", cpuinfo_field) {
        return 0;
    }
    match field {
        "flags" | "Features" => {
            flags(page, at, value);
        }
        "model name" => {
            page.told.cpu = Fact::known(value.chars().take(100).collect(), page.source(at))
        }
        "vendor_id" => page.told.vendor = Some(value.chars().take(20).collect()),
        "cpu family" => page.told.family = value.parse().ok(),
        "model" if value.parse::<u32>().is_ok() => page.told.model = value.parse().ok(),
        _ if cpuinfo_field(page.line(at)).is_some() => {}
        _ => return 0,
    }
    1
}

/// The field of a line of `lscpu`.
fn lscpu_field(line: &str) -> Option<&str> {
    const FIELDS: [&str; 16] = [
        "Architecture",
        "CPU op-mode(s)",
        "Address sizes",
        "Byte Order",
        "CPU(s)",
        "On-line CPU(s) list",
        "Vendor ID",
        "Model name",
        "CPU family",
        "Model",
        "Thread(s) per core",
        "Core(s) per socket",
        "Socket(s)",
        "NUMA node(s)",
        "Hypervisor vendor",
        "Flags",
    ];
    let (name, value) = line.trim().split_once(':')?;
    let value = value.trim();
    let more = ["Virtualization", "Virtualization type", "Stepping", "BogoMIPS", "CPU MHz"];
    let is_number = || value.parse::<f64>().is_ok();
    // Words that other texts also have: boards have a model, and packages an architecture.
    let plausible = match name {
        "Architecture" => Arch::parse(value).is_some(),
        "CPU family" | "Model" | "Stepping" | "CPU(s)" | "BogoMIPS" => is_number(),
        _ => !value.is_empty(),
    };
    (plausible && (FIELDS.contains(&name) || more.contains(&name))).then_some(name)
}

fn lscpu(page: &mut Page<'_>, at: usize) -> usize {
    let Some((name, value)) = page.line(at).trim().split_once(':') else { return 0 };
    let value = value.trim();
    let alone = match name {
        "Hypervisor vendor" | "CPU(s)" => true,
        "Flags" => Flags::parse(value).0.len() > WHOLE_LIST,
        _ => false,
    };
    if !alone && !page.is_output(at, "lscpu", lscpu_field) {
        return 0;
    }
    match name {
        "Flags" => {
            flags(page, at, value);
        }
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
