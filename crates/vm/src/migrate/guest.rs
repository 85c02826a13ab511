//! The TSC settings of a guest's configuration that decide where it can migrate.

use super::other;
use crate::document::Document;
use crate::formats::Kind;
use crate::formats::libvirt::{
    self,
    domain::{Domain, Driver},
};
use crate::formats::proxmox;
use crate::formats::qemu::cpu;
use crate::formats::qemu::line::Line;
use crate::formats::qemu::machine::of_x86;
use crate::formats::qemu::property::Properties;
use crate::formats::qemu::script::Script;
use crate::formats::qemu::written;
use crate::formats::qemu::{self, confidential::Confidential};
use crate::placed::{Placed, UNKNOWN};
use crate::text::Text;
use clocksmith_facts::Facts;
use serde::Serialize;
use thiserror::Error;

/// Who starts and moves the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Manager {
    /// libvirt.
    Libvirt,
    /// QEMU, by its own command line.
    Qemu,
    /// Not known.
    Unknown,
}

/// A TSC frequency that the configuration sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Frequency {
    /// In Hz.
    Set(u64),
    /// It sets none.
    Absent,
    /// What is known of the guest does not say.
    Unknown,
}

/// Whether AMD SEV protects the guest's memory: QEMU migrates no such guest, whatever its TSC is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Sev {
    /// No, as far as the configuration shows.
    #[default]
    No,
    /// In some runs of a script.
    Perhaps,
    /// SEV or SEV-ES.
    Sev,
    /// SEV-SNP.
    Snp,
}

/// A guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Guest {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Who moves it.
    pub manager: Manager,
    /// Whether it has `invtsc`: it may believe that its TSC never changes its rate.
    pub invtsc: Option<bool>,
    /// Its TSC's frequency.
    pub frequency: Frequency,
    /// Whether its Hyper-V interface notifies it of a changed frequency (reenlightenment), which QEMU accepts only if a
    /// frequency is set.
    pub reenlightenment: bool,
    /// Whether QEMU emulates its processor.
    pub emulated: bool,
    /// Whether it certainly has no clock of its hypervisor: neither kvm-clock nor the page of Hyper-V.
    pub clockless: bool,
    /// Whether it holds a device of its host, such as a passed-through PCI device.
    pub device: bool,
    /// Whether it is a guest of AMD SEV.
    pub sev: Sev,
}

/// The reason why a text describes no guest.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GuestError {
    /// The text is of none of the kinds.
    #[error(
        "it is neither a libvirt domain (`virsh dumpxml GUEST`) nor a QEMU command line with -cpu. \
         Machines of KubeVirt and of Proxmox VE are also understood; `--frequency HZ --invtsc` \
         instead of a file describes a guest"
    )]
    Kind,
    /// A Xen domain.
    #[error(
        "it is a domain of Xen, which keeps the guest's frequency itself: tsc_mode in it says whether its TSC is emulated on \
         another host (xen-tscmode(7)); `clocksmith vm lint` judges that"
    )]
    Xen,
    /// A libvirt domain in Nix.
    #[error(
        "it is a libvirt domain in Nix, whose functions may change it; give the domain that they make, as `virsh dumpxml \
         GUEST` prints it"
    )]
    Nix,
    /// A libvirt domain of another hypervisor: the domain's type.
    #[error(
        "it is a libvirt domain of type '{0}'; this decides only about the clocks of QEMU and KVM (type='kvm' or 'qemu'), \
         which the guest of another hypervisor does not have"
    )]
    Driver(String),
    /// A script or template that creates a Proxmox VE machine, or only a part of a machine.
    #[error(
        "it is not a Proxmox VE machine itself; give the machine's file, \
         /etc/pve/qemu-server/NUMBER.conf"
    )]
    Maker,
    /// A container of Proxmox VE.
    #[error("{}", proxmox::CONTAINER)]
    Container,
    /// Processors of several architectures, which cannot be distinguished.
    #[error(
        "it starts guests of several architectures, and which words belong to x86 is known only at run time; give the command \
         line of the guest that runs: /proc/PID/cmdline of QEMU"
    )]
    Architectures,
    /// A processor of another architecture.
    #[error("it is a guest with processors that have no TSC; this is about x86")]
    Foreign,
    /// Several machines.
    #[error("it has {0} machines; give one of them, as `kubectl get vm NAME -o yaml` prints it")]
    Several(usize),
    /// Command lines that differ.
    #[error(
        "it has {0} command lines of QEMU, and they differ in the guest's TSC; give one of them"
    )]
    Differ(usize),
    /// The text is of a known kind, but has an error.
    #[error("{0}")]
    Broken(String),
}

/// Reads a guest from a text, whose kind is recognised.
///
/// # Errors
/// Returns an error if the text is of no known kind.
pub fn parse(text: &str) -> Result<Guest, GuestError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim_start().starts_with('<') {
        return clock_of_domain(text);
    }
    if libvirt::nix::decides(text) {
        return Err(GuestError::Nix);
    }
    match Kind::detect("", text) {
        Some(Kind::Kubevirt) => other::of_kubevirt(text),
        Some(Kind::Proxmox) if proxmox::is_container(text) => Err(GuestError::Container),
        Some(Kind::Proxmox) if proxmox::is_machine(text) => other::of_proxmox(text),
        Some(Kind::Proxmox) => Err(GuestError::Maker),
        Some(Kind::Xen) => Err(GuestError::Xen),
        _ => match clock_of_qemu(text) {
            Err(GuestError::Kind) => written_by(text),
            other => other,
        },
    }
}

/// Returns the guest of a script that a file writes line by line.
fn written_by(text: &str) -> Result<Guest, GuestError> {
    let document = Document {
        name: String::new(),
        text: Text::new(text.to_owned()),
        kind: Kind::Qemu,
        guest: None,
        models: None,
    };
    // Others only name the program, such as one that ends it.
    let mut guests: Vec<Guest> = Vec::new();
    let mut failed = GuestError::Kind;
    for script in written::texts(&document) {
        match clock_of_qemu(&script) {
            Ok(guest) if guests.contains(&guest) => {}
            Ok(guest) => guests.push(guest),
            Err(GuestError::Kind) => {}
            Err(error) => failed = error,
        }
    }
    match guests.len() {
        0 | 1 => guests.pop().ok_or(failed),
        several => Err(GuestError::Differ(several)),
    }
}

/// The clock of a libvirt domain.
///
/// `invtsc` comes with `<feature name='invtsc'>`, or with all that the host has when a CPU is passed through with
/// `migratable='off'` (the default is on). The frequency is `<timer name='tsc' frequency='Hz'>`. A `-cpu` in
/// `<qemu:commandline>` replaces that of libvirt, because QEMU takes the last one; libvirt's refusals depend on its own
/// elements nevertheless.
///
/// # Errors
/// Returns an error if the text is not XML, or has no domain.
pub(crate) fn clock_of_domain(text: &str) -> Result<Guest, GuestError> {
    let document = Document {
        name: String::new(),
        text: Text::new(text.to_owned()),
        kind: Kind::Libvirt,
        guest: None,
        models: None,
    };
    let tree = libvirt::read(&document.text)
        .map_err(|error| GuestError::Broken(format!("this XML cannot be read: {error}")))?;
    // `virsh snapshot-dumpxml` and saved configurations wrap it.
    let domains = Domain::all(&tree, &document);
    let domain = domains.first().filter(|domain| domain.element.is_some());
    let domain = domain.ok_or(GuestError::Kind)?;
    match domain.driver() {
        _ if domain.is_untyped() => return Err(GuestError::Broken(UNTYPED.to_owned())),
        _ if domain.is_container() => return Err(GuestError::Driver("lxc".to_owned())),
        Driver::Xen => return Err(GuestError::Xen),
        _ if domain.is_foreign() => return Err(GuestError::Driver(domain.kind.clone())),
        _ if !domain.x86() => return Err(GuestError::Foreign),
        _ => {}
    }
    let mut guest = Guest {
        name: domain.child("name").map(|name| name.text().to_owned()),
        manager: Manager::Libvirt,
        // An optional feature depends on the host on which the guest was started.
        invtsc: if domain.optional("invtsc") { None } else { domain.invtsc() },
        frequency: Frequency::Absent,
        reenlightenment: domain.switched("hyperv", "reenlightenment").is_some_and(|(_, on)| on),
        emulated: domain.emulated(),
        clockless: clockless(domain),
        device: domain.has_device(),
        sev: domain.sev(),
    };
    if let Some(hz) = domain.frequency() {
        guest.frequency = set(hz, hz.trim().parse().ok())?;
    }
    let named = match domain.optional("invtsc") {
        true => None,
        false => Some(domain.feature("invtsc").is_some_and(|(_, on)| on)),
    };
    if let Some(cpu) = domain.line.cpu() {
        let mut raw = clock_of_cpu(cpu)?;
        raw.invtsc = domain.confidential().map_or(raw.invtsc, |it| it.invtsc(raw.invtsc));
        guest = replaced(&guest, &raw, named);
    }
    // libvirt finds only the features that its own XML names (src/cpu/cpu_x86.c, virCPUx86CheckFeature()): one that comes
    // from a passed-through CPU, from TDX or from another -cpu is left to QEMU.
    let of_qemu = named == Some(false) && guest.invtsc == Some(true);
    if of_qemu && guest.frequency == Frequency::Absent {
        guest.manager = Manager::Qemu;
    }
    Ok(guest)
}

/// The message about a domain without a type (libvirt, src/conf/domain_conf.c, virDomainDefParseXML()).
const UNTYPED: &str = "its <domain> has no type=, which libvirt requires; give the domain as `virsh dumpxml GUEST` prints it";

/// Returns whether a domain certainly gives its guest no clock of the hypervisor, by libvirt's own elements.
fn clockless(domain: &Domain<'_>) -> bool {
    let hidden = domain.switched("kvm", "hidden").is_some_and(|(_, on)| on);
    let hyperv = domain.timer("hypervclock").is_some() || domain.passes_hyperv();
    let off = hidden || domain.present("kvmclock") == Some(false);
    !domain.tree.template && (domain.hides_hypervisor() || off && !hyperv)
}

/// Returns a libvirt guest whose `-cpu` in `<qemu:commandline>` replaces libvirt's. `named` is whether the XML names
/// `invtsc`; `None` if the host decides it.
///
/// libvirt checks its own XML, QEMU the last `-cpu`: `invtsc` in either of them can block the migration.
fn replaced(own: &Guest, raw: &Guest, named: Option<bool>) -> Guest {
    let (reenlightenment, clockless) = (raw.reenlightenment, raw.clockless);
    let mut guest = Guest { reenlightenment, clockless, ..own.clone() };
    if raw.invtsc == Some(false) {
        guest.invtsc = named;
        if own.frequency == Frequency::Absent && named == Some(false) {
            guest.frequency = raw.frequency;
        }
        return guest;
    }
    guest.invtsc = raw.invtsc;
    match (own.frequency, raw.frequency) {
        (own, raw) if own == raw => {}
        // libvirt refuses before QEMU does.
        (Frequency::Absent, _) if named == Some(true) => {}
        (Frequency::Absent, raw) => {
            guest.manager = Manager::Qemu;
            guest.frequency = raw;
        }
        // libvirt finds its frequency, but QEMU, which blocks the migration, does not.
        (_, Frequency::Absent) if raw.invtsc == Some(true) => {
            guest.manager = Manager::Qemu;
            guest.frequency = Frequency::Absent;
        }
        _ => guest.frequency = Frequency::Unknown,
    }
    guest
}

/// Returns the clock of a QEMU command line: in a script, whose variables are expanded, in a log, or in the form of
/// `/proc/PID/cmdline`. Of several starts in a libvirt log the last one is used.
///
/// # Errors
/// Returns an error if the command line has no `-cpu` or an impossible frequency, or if there are several different
/// ones.
pub(crate) fn clock_of_qemu(text: &str) -> Result<Guest, GuestError> {
    if text.contains('\0') {
        let words: Vec<Placed> = text.split('\0').map(|word| Placed::new(word, 0)).collect();
        return clock_of_line(&Line::of_words(&words));
    }
    let script = Script::read(text);
    let lines = script.commands.iter().map(|command| (command, Line::of_words(&command.words)));
    let mut lines: Vec<_> = lines.filter(|(_, line)| line.cpu().is_some()).collect();
    if text.contains(": starting up libvirt version") {
        lines.drain(..lines.len().saturating_sub(1));
    }
    let mut guests: Vec<Guest> = Vec::new();
    let real = lines.iter().filter(|(command, line)| of_x86(command, line));
    for (command, line) in real {
        let mut guest = clock_of_line(line)?;
        let protected = line.confidential_at();
        if protected.is_some_and(|at| !script.certainly(command, line, &[[at; 2]])) {
            // Only one branch protects it.
            let other = line.cpu().and_then(cpu::invtsc);
            guest.invtsc = guest.invtsc.filter(|on| Some(*on) == other);
            if guest.sev != Sev::No {
                guest.sev = Sev::Perhaps;
            }
        }
        match guests.iter_mut().find(|other| same_but_for_sev(other, &guest)) {
            Some(other) if *other != guest => {
                other.clockless &= guest.clockless;
                if other.sev != guest.sev || other.invtsc != guest.invtsc {
                    // Values of two branches of one command line.
                    other.invtsc = other.invtsc.or(guest.invtsc);
                    other.sev = Sev::Perhaps;
                }
            }
            Some(_) => {}
            None => guests.push(guest),
        }
    }
    // Nothing requests KVM, in any of them.
    let plain = |line: &Line| {
        let head = line.cpu().map(|cpu| cpu.head_name()).unwrap_or_default();
        !matches!(head.as_str(), "" | "host" | "max") && !head.contains(UNKNOWN)
    };
    let emulated = lines
        .iter()
        .filter(|(command, line)| of_x86(command, line))
        .all(|(command, line)| plain(line) && qemu::emulator(&script, command, line).is_some());
    match guests.len() {
        0 if lines.is_empty() => Err(GuestError::Kind),
        0 if text.contains("qemu-system-x86_64") || text.contains("qemu-system-i386") => {
            Err(GuestError::Architectures)
        }
        0 => Err(GuestError::Foreign),
        1 => {
            let guest = guests.pop().ok_or(GuestError::Kind)?;
            // An invariant TSC would be one that the emulator does not offer.
            let emulated = emulated && guest.invtsc == Some(false);
            Ok(Guest { emulated: guest.emulated || emulated, ..guest })
        }
        several => Err(GuestError::Differ(several)),
    }
}

/// Returns whether two command lines are equal, or differ only in that SEV protects one of the guests: then its
/// configuration does not decide whether it has an invariant TSC.
fn same_but_for_sev(one: &Guest, other: &Guest) -> bool {
    let plain =
        |guest: &Guest| Guest { sev: Sev::No, invtsc: None, clockless: false, ..guest.clone() };
    let unknown = one.invtsc.is_none() || other.invtsc.is_none();
    let invtsc = one.invtsc == other.invtsc || one.sev != other.sev && unknown;
    plain(one) == plain(other) && invtsc
}

fn clock_of_line(line: &Line) -> Result<Guest, GuestError> {
    let guest = clock_of_cpu(line.cpu().ok_or(GuestError::Kind)?)?;
    Ok(Guest {
        invtsc: line.confidential().map_or(guest.invtsc, |it| it.invtsc(guest.invtsc)),
        emulated: line.kvm() == Some(false),
        device: !line.hostdevs.is_empty(),
        sev: line.confidential_object().and_then(Confidential::sev).unwrap_or_default(),
        ..guest
    })
}

/// Returns the clock of a value of `-cpu`; parts that only a run of the script determines are unknown.
fn clock_of_cpu(cpu: &Properties) -> Result<Guest, GuestError> {
    let frequency = match cpu::frequency(cpu).and_then(|said| Some((said, said.value.as_ref()?))) {
        None => Frequency::Absent,
        Some((_, value)) if value.unknown() => Frequency::Unknown,
        Some((said, value)) if said.name == "tsc-freq" => {
            set(value.as_str(), metric(value.as_str()))?
        }
        Some((_, value)) => {
            let text = value.as_str();
            let hex = text.strip_prefix("0x").map(|hex| u64::from_str_radix(hex, 16).ok());
            set(text, hex.unwrap_or_else(|| text.parse().ok()))?
        }
    };
    let on = |name: &str| cpu.flag(name) == Some(true);
    let off = |name: &str| cpu.flag(name) == Some(false);
    let open = cpu.list.iter().any(|property| property.name.contains(UNKNOWN));
    let page = on("hv-time") || on("hv-passthrough");
    let clockless = !open && (off("hypervisor") || (off("kvmclock") || off("kvm")) && !page);
    Ok(Guest {
        name: None,
        manager: Manager::Qemu,
        clockless,
        invtsc: cpu::invtsc(cpu),
        frequency,
        reenlightenment: cpu.flag("hv-reenlightenment") == Some(true),
        emulated: false,
        device: false,
        sev: Sev::No,
    })
}

/// `2.5G`, as QEMU reads it (`qemu_strtosz_metric()`), in Hz.
pub(crate) fn metric(text: &str) -> Option<u64> {
    let (digits, zeros) = match text.as_bytes().last()? {
        b'k' | b'K' => (text.get(..text.len() - 1)?, 3),
        b'm' | b'M' => (text.get(..text.len() - 1)?, 6),
        b'g' | b'G' => (text.get(..text.len() - 1)?, 9),
        b't' | b'T' => (text.get(..text.len() - 1)?, 12),
        _ => (text, 0),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let mut value: u64 = whole.parse().ok()?;
    let mut part = part.bytes();
    for _ in 0..zeros {
        let digit = part.next().map_or(Some(0), |byte| (byte as char).to_digit(10))?;
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(value)
}

pub(super) fn set(text: &str, hz: Option<u64>) -> Result<Frequency, GuestError> {
    match hz {
        // QEMU treats 0 as unset.
        Some(0) => Ok(Frequency::Absent),
        Some(hz) if (super::host::MIN_HZ..=super::host::MAX_HZ).contains(&hz) => {
            Ok(Frequency::Set(hz))
        }
        _ => {
            let shown: String = clocksmith_facts::visible::line(text).chars().take(40).collect();
            Err(GuestError::Broken(format!(
                "its TSC frequency \"{shown}\" is not one that a processor has: it is given in Hz, \
                 such as 2500000000"
            )))
        }
    }
}

/// Returns what the facts of a running guest show: whether it has `invtsc`. It cannot be seen from inside whether its
/// frequency was set.
#[must_use]
pub fn of_facts(facts: &Facts) -> Guest {
    let invtsc = facts.cpu.flags.value().map(|flags| flags.has("nonstop_tsc"));
    Guest {
        name: None,
        manager: Manager::Unknown,
        invtsc,
        frequency: Frequency::Unknown,
        reenlightenment: false,
        emulated: false,
        clockless: false,
        device: false,
        sev: Sev::No,
    }
}

#[cfg(test)]
#[path = "guest_tests.rs"]
mod tests;
