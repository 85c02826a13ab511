//! The hypervisor of this kernel, and the container of this process.

use super::{LARGE, Reader, SMALL};
use crate::dmi::Dmi;
use crate::environment::{self, Environment};
use crate::hypervisor::{Hypervisor, HypervisorKind};
use crate::version::Kernel;
use crate::{Fact, Facts, Missing, Why};
use std::io::Read;

/// The paths of DMI in sysfs: the link of `/sys/class`, or the device itself.
const DMI: [&str; 2] = ["sys/class/dmi/id", "sys/devices/virtual/dmi/id"];

/// Bytes at the beginning of the log that are searched for gVisor's greeting.
const GREETING: u64 = 4096;

pub(super) fn fill(reader: &Reader<'_>, facts: &mut Facts) {
    let dmi = dmi(reader);
    facts.hypervisor = hypervisor(reader, facts, &dmi);
    let kind = facts.hypervisor.value().and_then(|found| found.as_ref().map(|h| h.kind));
    facts.cloud = dmi.clone().map(|dmi| dmi.cloud(kind));
    facts.dmi = dmi.map(|dmi| dmi.summary());
    facts.environment = environment(reader, &facts.kernel);
}

fn dmi(reader: &Reader<'_>) -> Fact<Dmi> {
    let mut found = Fact::default();
    for dir in DMI {
        found = found.or_else(|| {
            let file = |name: &str| reader.line(&format!("{dir}/{name}"));
            let text = |name: &str| file(name).value().cloned().unwrap_or_default();
            let read = |sys_vendor| Dmi {
                sys_vendor,
                product_name: text("product_name"),
                bios_vendor: text("bios_vendor"),
                bios_version: text("bios_version"),
                asset_tag: text("chassis_asset_tag"),
            };
            match file("sys_vendor") {
                Fact::Known { value, .. } => Fact::known(read(value), reader.tree.describe(dir)),
                Fact::Missing(missing) => match read(String::new()) {
                    dmi if dmi.is_empty() => Fact::Missing(missing),
                    dmi => Fact::known(dmi, reader.tree.describe(dir)),
                },
            }
        });
    }
    found.or_else(|| {
        reader.text("dmidecode", LARGE).try_map(|text| match Dmi::from_dmidecode(&text) {
            dmi if dmi.is_empty() => Err("no identification in it"),
            dmi => Ok(dmi),
        })
    })
}

/// The hypervisor: from CPUID first, then from the kernel and the firmware.
fn hypervisor(reader: &Reader<'_>, facts: &Facts, dmi: &Fact<Dmi>) -> Fact<Option<Hypervisor>> {
    let xen = reader.line("sys/hypervisor/type");
    let is_xen = xen.value().is_some_and(|kind| kind == "xen");
    let guest_type =
        if is_xen { reader.line("sys/hypervisor/guest_type") } else { Fact::default() };
    let finish = |mut found: Hypervisor, source: String| {
        if is_xen {
            found.kind = match guest_type.value().map(String::as_str) {
                Some("PV") => HypervisorKind::XenPv,
                Some("PVH") => HypervisorKind::XenPvh,
                Some(_) => HypervisorKind::XenHvm,
                // Before 4.13 the type is not named; HVM guests see Xen's CPUID signature.
                None if found.presents(HypervisorKind::XenHvm) => HypervisorKind::XenHvm,
                None => HypervisorKind::XenPv,
            };
            let capabilities = reader.line("proc/xen/capabilities");
            found.xen_dom0 = capabilities.value().is_some_and(|text| text.contains("control_d"));
        }
        Fact::known(Some(found), source)
    };
    let named = |kind| Hypervisor::named(kind);
    let by_name = || identity_by_name(facts, dmi);

    if let Fact::Known { value: dump, source } = &facts.cpuid {
        let virtual_bit = dump.hypervisor_bit() == Some(true);
        let presented = Hypervisor::from_cpuid(dump)
            .filter(|found| virtual_bit || found.kind != HypervisorKind::Other);
        match presented {
            Some(mut found) if virtual_bit => {
                if found.kind == HypervisorKind::Other
                    && let Some((kind, _)) = by_name()
                {
                    found.kind = kind;
                }
                return finish(found, format!("{source} 0x40000000"));
            }
            _ if virtual_bit && !is_xen => {
                let (kind, place) = by_name()
                    .unwrap_or_else(|| (HypervisorKind::Other, format!("{source} 0x1 ecx[31]")));
                return finish(named(kind), place);
            }
            _ if !is_xen => return Fact::known(None, format!("{source} 0x1 ecx[31]")),
            // On a paravirtual Xen guest CPUID is answered by the processor itself, which does not show a hypervisor.
            _ => {}
        }
    }
    if let (true, Some(source)) = (is_xen, xen.source()) {
        let mut found = facts.cpuid.value().and_then(Hypervisor::from_cpuid);
        return finish(
            found.take().unwrap_or_else(|| named(HypervisorKind::XenPv)),
            source.0.clone(),
        );
    }
    let x86 = facts.arch.value().is_some_and(|arch| arch.is_x86());
    match (x86, &facts.cpu.flags) {
        (true, Fact::Known { value: flags, source }) if flags.has("hypervisor") => {
            let (kind, place) =
                by_name().unwrap_or_else(|| (HypervisorKind::Other, source.0.clone()));
            finish(named(kind), place)
        }
        (true, Fact::Known { source, .. }) => Fact::known(None, source.0.clone()),
        // Otherwise only a name shows the hypervisor, and its absence proves nothing.
        _ => match by_name() {
            Some((kind, place)) => finish(named(kind), place),
            None => match dmi {
                Fact::Known { source, .. } => {
                    Fact::Missing(Missing::new(Why::Absent, source.0.clone()))
                }
                Fact::Missing(missing) => Fact::Missing(missing.clone()),
            },
        },
    }
}

/// The hypervisor that a clocksource or the firmware names, and the place of the name.
fn identity_by_name(facts: &Facts, dmi: &Fact<Dmi>) -> Option<(HypervisorKind, String)> {
    let by_clock = facts.clocksources.value().and_then(|devices| {
        let mut names = devices.iter().flat_map(|d| d.available.iter().chain([&d.current]));
        names.find_map(|name| HypervisorKind::from_clocksource(name))
    });
    if let (Some(kind), Some(source)) = (by_clock, facts.clocksources.source()) {
        return Some((kind, format!("{source}/clocksource0/available_clocksource")));
    }
    let kind = dmi.value()?.hypervisor()?;
    Some((kind, dmi.source()?.0.clone()))
}

fn environment(reader: &Reader<'_>, kernel: &Fact<Kernel>) -> Environment {
    let release = reader
        .line("proc/sys/kernel/osrelease")
        .or_else(|| reader.line("proc/version"))
        .or_else(|| kernel.clone().map(|kernel| kernel.release));
    Environment {
        container: container(reader),
        wsl: release.map(|release| environment::is_wsl(&release)),
        gvisor: gvisor(reader),
    }
}

fn container(reader: &Reader<'_>) -> Fact<Option<String>> {
    let describe = |path: &str| reader.tree.describe(path);
    let name = |text: &str| Some(text.to_owned());
    // The declaration of a container manager is accepted.
    const DECLARED: &str = "run/systemd/container";
    if let Some(runtime) = reader.line(DECLARED).value().filter(|text| !text.is_empty()) {
        return Fact::known(name(runtime), describe(DECLARED));
    }
    const ENVIRON: &str = "proc/1/environ";
    let environ = reader.bytes(ENVIRON, LARGE);
    if let Some(runtime) = environ.value().and_then(|e| environment::container_of_environ(e)) {
        return Fact::known(Some(runtime), describe(ENVIRON));
    }
    const NAMESPACES: &str = "namespaces";
    let spaces = reader.text(NAMESPACES, SMALL);
    let initial = spaces.value().and_then(|text| environment::in_initial_namespaces(text));
    if initial == Some(true) {
        return Fact::known(None, describe(NAMESPACES));
    }
    for (marker, runtime) in [(".dockerenv", "docker"), ("run/.containerenv", "podman")] {
        if reader.bytes(marker, LARGE).is_known() {
            return Fact::known(name(runtime), describe(marker));
        }
    }
    const CGROUP: &str = "proc/1/cgroup";
    match reader.text(CGROUP, LARGE) {
        Fact::Known { value, source } => match environment::runtime_of_cgroup(&value) {
            Some(runtime) => Fact::known(name(runtime), source),
            None if initial == Some(false) => Fact::known(name("unnamed"), describe(NAMESPACES)),
            // A container with cgroup v2 also sees a cgroup at the root.
            None if value.lines().any(|line| !line.ends_with(":/")) => Fact::known(None, source),
            None => Fact::Missing(reader.missing(Why::Absent, CGROUP)),
        },
        Fact::Missing(missing) => Fact::Missing(missing),
    }
}

fn gvisor(reader: &Reader<'_>) -> Fact<bool> {
    let version = reader.line("proc/version");
    if let Fact::Known { value, source } = &version
        && value.contains("gVisor")
    {
        return Fact::known(true, source.0.clone());
    }
    if let Ok(log) = reader.tree.open("dmesg") {
        let mut start = Vec::new();
        let read = log.take(GREETING).read_to_end(&mut start);
        if read.is_ok() && memchr::memmem::find(&start, b"Starting gVisor").is_some() {
            return Fact::known(true, reader.tree.describe("dmesg"));
        }
    }
    version.map(|_| false)
}
