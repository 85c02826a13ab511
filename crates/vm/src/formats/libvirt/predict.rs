//! The options about the guest's clock that QEMU gets.

use super::domain::{Domain, Driver};
use crate::document::Document;
use crate::formats::qemu::property::Properties;
use crate::placed::UNKNOWN;
use crate::words::listed;

/// The features of `<hyperv>` that libvirt passes to QEMU, under libvirt's names.
const HYPERV: &str = "relaxed vapic spinlocks vpindex runtime synic stimer reset vendor_id frequencies \
    reenlightenment tlbflush ipi evmcs avic";

/// Other properties of `-cpu` that are about clocks.
const CLOCK: &str = "invtsc kvmclock tsc-frequency tsc-freq migratable kvm hypervisor rdtscp \
    tsc-deadline kvmclock-stable-bit";

/// Returns the clock's part of the `-cpu` that libvirt generates.
/// Source: libvirt src/qemu/qemu_command.c, qemuBuildCpuCommandLine() (9.0, 11.3).
pub(crate) fn own_cpu(domain: &Domain<'_>) -> Vec<String> {
    let mut flags = Vec::new();
    let mode = domain.cpu_mode();
    if matches!(mode, "host-passthrough" | "maximum") {
        let value = domain.cpu.and_then(|cpu| cpu.value("migratable")).unwrap_or("on");
        flags.push(format!("migratable={value}"));
    }
    for name in ["invtsc", "hypervisor", "rdtscp", "tsc-deadline"] {
        if let Some((_, on)) = domain.feature(name) {
            flags.push(format!("{name}={}", if on { "on" } else { "off" }));
        }
    }
    if let Some(present) = domain.present("kvmclock") {
        flags.push(format!("kvmclock={}", if present { "on" } else { "off" }));
    }
    if domain.present("hypervclock") == Some(true) {
        flags.push("hv-time=on".to_owned());
    }
    if let Some(hertz) = domain.frequency().filter(|f| !f.contains(UNKNOWN)) {
        flags.push(format!("tsc-frequency={hertz}"));
    }
    for name in HYPERV.split(' ') {
        if let Some((element, true)) = domain.switched("hyperv", name) {
            flags.push(match name {
                "spinlocks" => {
                    let retries: u32 =
                        element.value("retries").and_then(|r| r.parse().ok()).unwrap_or(4095);
                    format!("hv-spinlocks={retries:#x}")
                }
                "vendor_id" => {
                    format!("hv-vendor-id={}", element.value("value").unwrap_or_default())
                }
                _ => format!("hv-{name}=on"),
            });
        }
    }
    if domain.switched("hyperv", "stimer").is_some_and(|(stimer, on)| {
        on && domain
            .tree
            .children(stimer, "direct")
            .any(|direct| direct.value("state") == Some("on"))
    }) {
        flags.push("hv-stimer-direct=on".to_owned());
    }
    if domain.switched("kvm", "hidden").is_some_and(|(_, on)| on) {
        flags.push("kvm=off".to_owned());
    }
    flags
}

/// Returns the clock's part of the command line that results.
pub(crate) fn predict(document: &Document) -> Option<crate::predict::Prediction> {
    let tree = super::read(&document.text).ok()?;
    let domains = Domain::all(&tree, document);
    let domain = domains.first().filter(|d| d.driver() == Driver::Qemu && d.element.is_some())?;
    let mut prediction = crate::predict::Prediction::default();
    match domain.line.cpu() {
        Some(cpu) => {
            prediction.overridden = true;
            prediction.cpu = of_list(cpu);
        }
        None => prediction.cpu = own_cpu(domain),
    }
    prediction.hpet = domain.line.hpet().or(domain.present("hpet"));
    prediction.pc = domain.pc();
    Some(prediction)
}

/// The clock's part of a `-cpu`.
pub(crate) fn of_list(cpu: &Properties) -> Vec<String> {
    let clock = |name: &str| name.starts_with("hv-") || listed(CLOCK, name);
    let mut flags: Vec<String> = Vec::new();
    for property in cpu.list.iter().filter(|property| clock(&property.name)) {
        let Some(last) = cpu.get(&property.name) else {
            continue;
        };
        let flag = match (last.state(), &last.value) {
            (Some(on), _) => format!("{}={}", last.name, if on { "on" } else { "off" }),
            (None, Some(value)) => format!("{}={}", last.name, value.as_str()),
            (None, None) => last.name.clone(),
        };
        if !flags.contains(&flag) {
            flags.push(flag);
        }
    }
    flags
}
