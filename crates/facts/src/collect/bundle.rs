//! Writing a bundle.

use super::names::Names;
use super::secrets::Masked;
use super::{collect, privacy};
use crate::tree::bundle::{self, Manifest, ManifestGap};
use crate::tree::record::RecordingTree;
use crate::tree::{Tree, is_virtual};
use crate::{Fact, Origin, utc};
use serde::Serialize;
use std::io::{self, Read, Write};
use std::time::{SystemTime, UNIX_EPOCH};

/// The files that a bundle may contain, and their purpose: every path that [`collect`] reads. `*` matches any
/// text without a slash. Contents are filtered: hardware addresses, the host's name, and the values of kernel parameters
/// that are passwords, keys or tokens are masked in logs and in the command line; only the kernel's lines of logs that programs share, the container's name
/// of `/proc/1/environ`, and the modes of `/proc/timer_list` are kept. Serial
/// numbers and UUIDs are never read.
#[must_use]
pub fn paths() -> &'static [(&'static str, &'static str)] {
    &[
        (
            "clocksmith.json",
            "manifest: program version, host name, a hash of the machine id, time, what is missing and why",
        ),
        ("dmesg*", "kernel log: what the kernel said about its clocks"),
        ("sos_commands/kernel/dmesg*", "kernel log of a sosreport"),
        ("sos_commands/logs/journalctl*", "kernel log of a sosreport"),
        ("var/log/dmesg*", "kernel log, where the ring buffer has lost its beginning"),
        ("var/log/kern.log*", "kernel log, where the ring buffer has lost its beginning"),
        ("var/log/messages*", "kernel log, where the ring buffer has lost its beginning"),
        ("var/log/syslog*", "kernel log, where the ring buffer has lost its beginning"),
        ("uname", "kernel release and architecture"),
        ("sos_commands/kernel/uname_-a", "kernel release and architecture"),
        ("cpuid", "processor: TSC features, hypervisor and its clock interfaces"),
        ("adjtimex", "state of the kernel's clock discipline"),
        (
            "sos_commands/systemd/timedatectl",
            "whether the wall clock is synchronised, of a sosreport",
        ),
        ("sos_commands/chrony/chronyc_*", "the same; it names the time server"),
        (
            "clocks",
            "the wall clock, the clock since boot, the real-time clock and the host's, at one moment",
        ),
        ("timekeepers", "which time daemons and guest tools run, by name"),
        (
            "etc/chrony.conf",
            "how chrony corrects a wrong clock: refclock, makestep, rtcsync, leapsecmode, \
             smoothtime and what it includes; no servers, no keys",
        ),
        ("etc/chrony/chrony.conf", "the same"),
        ("sys/class/ptp/ptp*/clock_name", "whether the host's clock can be read"),
        ("run/chrony/chronyd.pid", "whether chronyd runs, of a mirror"),
        ("run/chronyd.pid", "the same"),
        ("var/run/chrony/chronyd.pid", "the same"),
        ("run/ntpd.pid", "whether ntpd runs, of a mirror"),
        ("var/run/ntpd.pid", "the same"),
        ("run/systemd/timesync/synchronized", "whether systemd-timesyncd runs, of a mirror"),
        ("vdso", "functions that read clocks without a system call"),
        ("namespaces", "whether this is a container"),
        ("proc/version", "kernel version"),
        ("proc/sys/kernel/osrelease", "kernel version"),
        ("proc/cmdline", "kernel parameters"),
        ("proc/cpuinfo", "processor model, flags, sockets"),
        ("proc/config.gz", "kernel configuration"),
        ("boot/config-*", "kernel configuration"),
        ("lib/modules/*/config", "kernel configuration"),
        ("usr/lib/modules/*/config", "kernel configuration"),
        ("proc/timer_list", "tick mode"),
        ("proc/xen/capabilities", "whether this is Xen's control domain"),
        ("proc/1/cgroup", "whether this is a container"),
        ("proc/1/environ", "whether this is a container"),
        ("run/systemd/container", "whether this is a container"),
        (".dockerenv", "whether this is a container"),
        ("run/.containerenv", "whether this is a container"),
        ("sys/devices/system/clocksource/clocksource*/*_clocksource", "clocksources"),
        ("sys/devices/system/clockevents/*/current_device", "clock event devices"),
        ("sys/devices/system/cpu/possible", "processors"),
        ("sys/devices/system/cpu/online", "processors"),
        ("sys/devices/system/cpu/cpu*/topology/physical_package_id", "sockets"),
        ("sys/devices/system/cpu/cpuidle/current_driver", "idle driver"),
        ("sys/devices/system/cpu/cpu0/cpuidle/state*/*", "idle states"),
        ("sys/devices/system/node/online", "NUMA nodes"),
        ("sys/firmware/acpi/tables/HPET", "whether there is an HPET"),
        ("sys/firmware/acpi/tables/FACP", "whether there is an ACPI PM timer"),
        ("sys/hypervisor/type", "hypervisor"),
        ("sys/hypervisor/guest_type", "hypervisor"),
        ("sys/class/dmi/id/sys_vendor", "hypervisor and cloud"),
        ("sys/class/dmi/id/product_name", "hypervisor and cloud"),
        ("sys/class/dmi/id/bios_vendor", "hypervisor and cloud"),
        ("sys/class/dmi/id/bios_version", "hypervisor and cloud"),
        ("sys/class/dmi/id/chassis_asset_tag", "two clouds' names; anything else is left out"),
        ("sys/devices/virtual/dmi/id/*", "the same five, where there is no link to them"),
        ("verify", "what an earlier verify by this user found"),
        ("run/clocksmith/verify.json", "what an earlier verify found"),
        ("var/lib/clocksmith/verify.json", "what an earlier verify found"),
        (MEASURED, "what reads of the clocks cost, measured for 0.3 s"),
        ("proc/sys/kernel/random/boot_id", "whether that was in this boot; only if there is one"),
        ("proc/uptime", "how long ago that was; only if there is one"),
        ("dmidecode", "the same five, of a sosreport"),
    ]
}

/// The cost of clock reads when the bundle was written, measured by its writer. Input of the diagnosis, not a fact.
pub const MEASURED: &str = "var/lib/clocksmith/measured.json";

/// The content of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Path and size of each file, the manifest not counted.
    pub files: Vec<(String, u64)>,
    /// The files that were requested and could not be read.
    pub missing: Vec<ManifestGap>,
    /// The kernel parameters whose values were masked: passwords, keys, tokens.
    pub masked: Vec<String>,
}

/// The host's name in a bundle. It is masked in the collected files in both cases.
#[derive(Clone, Copy)]
pub enum HostName<'a> {
    /// The manifest contains it: a fleet identifies its hosts by it. With an opaque id of the machine, which
    /// distinguishes machines of one name.
    Kept(Option<&'a str>),
    /// Another name replaces it: the result of this function for the host's name and its machine id (machine-id(5)). A
    /// host without a machine id then has no name: the hash of a name alone can be guessed.
    Replaced(&'a dyn Fn(&str, &str) -> String),
}

/// Collects the facts of a tree, and writes the files that they were read from as a bundle. Read back, it
/// gives the same facts.
///
/// # Errors
/// Returns the errors of `out`, and an error if the content does not fit into a bundle.
pub fn write_bundle(tree: &dyn Tree, out: impl Write) -> io::Result<Summary> {
    write_bundle_as(tree, HostName::Kept(None), None, out)
}

/// The same, with another name for the host, and with the measurements ([`MEASURED`]).
///
/// # Errors
/// See [`write_bundle`].
pub fn write_bundle_as(
    tree: &dyn Tree,
    name: HostName<'_>,
    measured: Option<Vec<u8>>,
    out: impl Write,
) -> io::Result<Summary> {
    let hostname = hostname(tree);
    let names = Names::of(tree);
    let before = names.count();
    let secrets = Masked::default();
    let filter = |path: &str, content: &mut dyn Read, most: usize| {
        privacy::filter(path, content, most, &names, &secrets)
    };
    // Of several logs that are examined, the one that is read suffices.
    let other_log = |path: &str| super::log::is_log(path) && path != "dmesg";
    let recording = RecordingTree::new(tree, &filter, other_log);
    let facts = collect(&recording, Origin::Live);
    let mut record = recording.into_record();

    // Of several logs that were examined, the one that was read suffices.
    let read = facts.log.source();
    let unused = |path: &str| {
        super::log::is_log(path)
            && path != "dmesg"
            && read.is_none_or(|source| source.0 != tree.describe(path))
    };
    record.files.retain(|path, _| !unused(path));
    record.missing.retain(|path, _| !is_alternative(path));
    // A name that only a log states is also in files that were read before it.
    if names.count() > before {
        for (path, content) in &mut record.files {
            *content = privacy::without_names(path, content, &names).into();
        }
    }
    record.files.extend(measured.map(|costs| (MEASURED.to_owned(), costs.into())));

    // A mirror may be in a directory named after the host, its owner or a customer.
    let above = tree.describe("proc").strip_suffix("proc").unwrap_or_default().to_owned();
    let said = |place: String| match name {
        HostName::Kept(_) => place,
        HostName::Replaced(_) if above.len() > 1 => {
            privacy::masked(&place.replace(&above, "/"), &names)
        }
        HostName::Replaced(_) => privacy::masked(&place, &names),
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let manifest = Manifest {
        schema: bundle::SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        hostname: match name {
            HostName::Kept(_) => hostname.clone(),
            HostName::Replaced(with) => {
                machine_id(tree).map(|id| with(&hostname, &id)).unwrap_or_default()
            }
        },
        machine_id: match name {
            HostName::Kept(id) => id.map(str::to_owned),
            // Another bundle of the host may contain the same id with the host's name.
            HostName::Replaced(_) => None,
        },
        time: utc::text(now),
        sources: record
            .files
            .keys()
            .filter(|path| is_virtual(path))
            .map(|path| (path.clone(), said(tree.describe(path))))
            .collect(),
        listings: record.listings,
        missing: record
            .missing
            .into_iter()
            .map(|(path, mut missing)| {
                missing.at = missing.at.map(|source| crate::Source(said(source.0)));
                missing.how = missing.how.map(said);
                ManifestGap { path, missing }
            })
            .collect(),
        masked: secrets.into_names(),
    };
    let files = record.files.iter().map(|(path, content)| (path.as_str(), content.as_slice()));
    bundle::write(out, &manifest, files, now)?;
    let files = record.files.iter().map(|(path, content)| (path.clone(), content.len() as u64));
    Ok(Summary { files: files.collect(), missing: manifest.missing, masked: manifest.masked })
}

/// Whether a path is only read after another one failed, so that its absence proves nothing.
fn is_alternative(path: &str) -> bool {
    path.starts_with("sos_commands")
        || matches!(path, "dmidecode" | "etc/chrony/chrony.conf")
        || path.ends_with("ntpd.pid")
        || path.ends_with("chronyd.pid")
        || path == "run/systemd/timesync/synchronized"
        || crate::verified::PATHS[1..].contains(&path)
        || (path != "dmesg" && super::log::is_log(path))
}

fn hostname(tree: &dyn Tree) -> String {
    let line = |path: &str| match tree.read(path, 4096) {
        Ok(bytes) => Fact::known(String::from_utf8_lossy(&bytes).trim().to_owned(), path),
        Err(missing) => Fact::Missing(missing),
    };
    let found = line("proc/sys/kernel/hostname").or_else(|| line("etc/hostname"));
    found.value().cloned().unwrap_or_default()
}

/// The machine's id, which is confidential to the machine (machine-id(5)): hash it. `None` if it does not exist, or is
/// a placeholder, as in an image that has not been started yet.
#[must_use]
pub fn machine_id(tree: &dyn Tree) -> Option<String> {
    let bytes = tree.read("etc/machine-id", 64).ok()?;
    let id = String::from_utf8_lossy(&bytes).trim().to_ascii_lowercase();
    let telling = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    telling.then_some(id).filter(|id| id.bytes().any(|byte| byte != b'0'))
}
