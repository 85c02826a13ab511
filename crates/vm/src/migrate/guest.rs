//! The TSC settings of a guest's configuration that decide where it can migrate.

use super::other;
use crate::document::Document;
use crate::formats::Kind;
use crate::formats::libvirt::{
    self,
    domain::{Domain, Driver},
};
use crate::formats::proxmox;
use crate::formats::qemu::confidential::Confidential;
use crate::formats::qemu::cpu;
use crate::formats::qemu::line::Line;
use crate::formats::qemu::machine::of_x86;
use crate::formats::qemu::property::Properties;
use crate::formats::qemu::script::Script;
use crate::formats::qemu::written;
use crate::placed::Placed;
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
    match written::texts(&document).as_slice() {
        [script] => clock_of_qemu(script),
        _ => Err(GuestError::Kind),
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

/// Returns a libvirt guest whose `-cpu` in `<qemu:commandline>` replaces libvirt's. `named` is whether the XML names
/// `invtsc`; `None` if the host decides it.
///
/// libvirt checks its own XML, QEMU the last `-cpu`: `invtsc` in either of them can block the migration.
fn replaced(own: &Guest, raw: &Guest, named: Option<bool>) -> Guest {
    let mut guest = Guest { reenlightenment: raw.reenlightenment, ..own.clone() };
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
                // Values of two branches of one command line.
                other.invtsc = other.invtsc.or(guest.invtsc);
                other.sev = Sev::Perhaps;
            }
            Some(_) => {}
            None => guests.push(guest),
        }
    }
    match guests.len() {
        0 if lines.is_empty() => Err(GuestError::Kind),
        0 => Err(GuestError::Foreign),
        1 => guests.pop().ok_or(GuestError::Kind),
        several => Err(GuestError::Differ(several)),
    }
}

/// Returns whether two command lines are equal, or differ only in that SEV protects one of the guests: then its
/// configuration does not decide whether it has an invariant TSC.
fn same_but_for_sev(one: &Guest, other: &Guest) -> bool {
    let plain = |guest: &Guest| Guest { sev: Sev::No, invtsc: None, ..guest.clone() };
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
    Ok(Guest {
        name: None,
        manager: Manager::Qemu,
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
        device: false,
        sev: Sev::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn domain(inside: &str) -> Guest {
        let namespace = "xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'";
        let xml = format!("<domain type='kvm' {namespace}><name>db</name>{inside}</domain>");
        clock_of_domain(&xml).unwrap()
    }

    #[test]
    fn domains_get_invtsc_by_name_or_with_the_whole_host() {
        for (inside, invtsc) in [
            ("", Some(false)),
            ("<cpu mode='host-passthrough'/>", Some(false)),
            ("<cpu mode='host-passthrough' migratable='off'/>", Some(true)),
            ("<cpu mode='host-model' migratable='off'/>", Some(false)),
            ("<cpu><feature policy='require' name='invtsc'/></cpu>", Some(true)),
            ("<cpu><feature name='invtsc'/></cpu>", Some(true)),
            ("<cpu><feature policy='optional' name='invtsc'/></cpu>", None),
            (
                "<cpu mode='host-passthrough' migratable='off'><feature policy='disable' \
                 name='invtsc'/></cpu>",
                Some(false),
            ),
            (
                "<cpu/><qemu:commandline><qemu:arg value='-cpu'/><qemu:arg value='host,+invtsc'/>\
                 </qemu:commandline>",
                Some(true),
            ),
        ] {
            let guest = domain(inside);
            assert_eq!(guest.invtsc, invtsc, "{inside}");
            assert_eq!(guest.frequency, Frequency::Absent);
            assert_eq!(guest.name.as_deref(), Some("db"));
        }
        let timer = "<clock offset='utc'><timer name='hpet' frequency='1'/><timer name='tsc' \
                     frequency='2397223000' mode='native'/></clock>";
        assert_eq!(domain(timer).frequency, Frequency::Set(2_397_223_000));
    }

    #[test]
    fn processor_that_libvirt_did_not_choose_counts() {
        let asks = |feature: &str, timer: &str, cpu: &str| {
            domain(&format!(
                "<cpu>{feature}</cpu><clock offset='utc'>{timer}</clock><qemu:commandline><qemu:arg value='-cpu'/>\
                 <qemu:arg value='{cpu}'/></qemu:commandline>"
            ))
        };
        let invtsc = "<feature policy='require' name='invtsc'/>";
        let timer = "<timer name='tsc' frequency='2500000000'/>";
        let set = Frequency::Set(2_500_000_000);
        for (feature, timer, cpu, manager, frequency) in [
            (invtsc, timer, "host,+invtsc", Manager::Qemu, Frequency::Absent),
            (invtsc, timer, "host,+invtsc,tsc-frequency=2500000000", Manager::Libvirt, set),
            (
                invtsc,
                timer,
                "host,+invtsc,tsc-frequency=2600000000",
                Manager::Libvirt,
                Frequency::Unknown,
            ),
            (
                invtsc,
                "",
                "host,+invtsc,tsc-frequency=2500000000",
                Manager::Libvirt,
                Frequency::Absent,
            ),
            ("", "", "host,+invtsc,tsc-frequency=2500000000", Manager::Qemu, set),
            // libvirt knows nothing of it.
            ("", "", "host,+invtsc", Manager::Qemu, Frequency::Absent),
            ("", "", "host,migratable=off", Manager::Qemu, Frequency::Absent),
            (invtsc, "", "host,+invtsc", Manager::Libvirt, Frequency::Absent),
            (invtsc, "", "host", Manager::Libvirt, Frequency::Absent),
            (invtsc, timer, "host", Manager::Libvirt, set),
        ] {
            let guest = asks(feature, timer, cpu);
            let of_guest = (guest.manager, guest.invtsc, guest.frequency);
            assert_eq!(of_guest, (manager, Some(true), frequency), "{feature}{timer} {cpu}");
        }
    }

    #[test]
    fn invtsc_that_no_xml_names_is_left_to_qemu() {
        for (inside, manager) in [
            ("<cpu mode='host-passthrough' migratable='off'/>", Manager::Qemu),
            ("<cpu mode='host-passthrough'/><launchSecurity type='tdx'/>", Manager::Qemu),
            ("<cpu><feature policy='require' name='invtsc'/></cpu>", Manager::Libvirt),
            (
                "<cpu mode='host-passthrough' migratable='off'><feature name='invtsc'/></cpu>",
                Manager::Libvirt,
            ),
        ] {
            let guest = domain(inside);
            assert_eq!((guest.invtsc, guest.manager), (Some(true), manager), "{inside}");
        }
        assert_eq!(domain("<cpu mode='host-passthrough'/>").manager, Manager::Libvirt);
        // The other -cpu has none, so that the guest has none.
        let inside = "<cpu mode='host-passthrough' migratable='off'/><qemu:commandline><qemu:arg value='-cpu'/>\
                      <qemu:arg value='host'/></qemu:commandline>";
        assert_eq!(domain(inside).invtsc, Some(false));
    }

    #[test]
    fn command_line_of_a_confidential_guest_is_read_as_its_domain_is() {
        let of = |object: &str, more: &str| {
            let support = if object.is_empty() { "" } else { ",confidential-guest-support=c0" };
            let text = format!(
                "{more}qemu-system-x86_64 -accel kvm -cpu host {object} -machine q35{support} -m 1G\n"
            );
            clock_of_qemu(&text).unwrap()
        };
        let security = |kind: &str| {
            domain(&format!("<cpu mode='host-passthrough'/><launchSecurity type='{kind}'/>"))
        };
        for (object, kind, invtsc) in [
            ("-object tdx-guest,id=c0", "tdx", Some(true)),
            ("-object sev-snp-guest,id=c0", "sev-snp", None),
            ("-object sev-guest,id=c0", "sev", None),
        ] {
            let (line, domain) = (of(object, ""), security(kind));
            assert_eq!((line.invtsc, domain.invtsc), (invtsc, invtsc), "{kind}");
            assert_eq!(line.frequency, Frequency::Absent);
        }
        assert_eq!(of("", "").invtsc, Some(false));
        let text = "#!/bin/bash\nO=(-nographic)\n[[ $1 ]] && O+=(-object tdx-guest,id=c0 -machine confidential-guest-support=c0)\n\
                    qemu-system-x86_64 -accel kvm -cpu host -machine q35 \"${O[@]}\"\n";
        assert_eq!(clock_of_qemu(text).unwrap().invtsc, None);
    }

    #[test]
    fn guests_without_a_tsc_and_guests_of_xen_are_none() {
        let of = |kind: &str, arch: &str| {
            clock_of_domain(&format!(
                "<domain type='{kind}'><os><type arch='{arch}'>hvm</type></os></domain>"
            ))
        };
        assert_eq!(of("kvm", "aarch64"), Err(GuestError::Foreign));
        assert_eq!(of("xen", "x86_64"), Err(GuestError::Xen));
        for kind in [
            "bhyve",
            "vbox",
            "vmware",
            "lxc",
            "vz",
            "parallels",
            "openvz",
            "test",
            "uml",
            "hyperv",
            "phyp",
            "hvf",
        ] {
            assert_eq!(of(kind, "x86_64"), Err(GuestError::Driver(kind.to_owned())));
        }
        for kind in ["kvm", "KVM", "qemu", "kqemu", "{{ kind }}", "${type}"] {
            assert!(of(kind, "x86_64").is_ok(), "{kind}");
        }
        assert!(of("kvm", "i686").is_ok());
        assert_eq!(parse("qemu-system-aarch64 -M virt -cpu max -m 1G"), Err(GuestError::Foreign));
    }

    #[test]
    fn of_several_command_lines_none_is_taken_silently() {
        let one = "qemu-system-x86_64 -accel kvm -cpu host,+invtsc -m 1G\n";
        let other = "qemu-system-x86_64 -accel kvm -cpu host -m 1G\n";
        assert_eq!(parse(&format!("{one}{other}")), Err(GuestError::Differ(2)));
        assert_eq!(parse(&format!("{one}{one}")), parse(one));
        let log = |line: &str| {
            format!("2024-01-01 10:00:00.000+0000: starting up libvirt version: 9.0.0\n{line}")
        };
        assert_eq!(parse(&format!("{}{}", log(one), log(other))), parse(other));
    }

    #[test]
    fn command_lines() {
        for (line, invtsc, frequency) in [
            ("qemu -cpu host", false, Frequency::Absent),
            ("-cpu host,migratable=off", true, Frequency::Absent),
            ("-cpu Skylake-Server,migratable=off", false, Frequency::Absent),
            ("-cpu host,+invtsc,tsc-frequency=2500000000", true, Frequency::Set(2_500_000_000)),
            ("-cpu 'host,tsc-freq=2.5G,invtsc=on'", true, Frequency::Set(2_500_000_000)),
            ("-cpu host,invtsc=on,-invtsc", false, Frequency::Absent),
            ("-cpu host,+invtsc -m 1G -cpu qemu64", false, Frequency::Absent),
            ("-cpu max,migratable=no,tsc-frequency=0", true, Frequency::Absent),
        ] {
            let guest = parse(line).unwrap();
            assert_eq!((guest.invtsc, guest.frequency), (Some(invtsc), frequency), "{line}");
        }
        assert_eq!(parse("#!/bin/sh\necho hello"), Err(GuestError::Kind));
        assert!(matches!(parse("-cpu host,tsc-frequency=2500000"), Err(GuestError::Broken(_))));
        assert!(matches!(parse("<capabilities/>"), Err(GuestError::Broken(_))));
    }

    #[test]
    fn guests_of_sev_are_seen() {
        let secured = |kind: &str| domain(&format!("<launchSecurity type='{kind}'/>")).sev;
        assert_eq!(secured("sev"), Sev::Sev);
        assert_eq!(secured("sev-snp"), Sev::Snp);
        assert_eq!(secured("tdx"), Sev::No);
        assert_eq!(domain("").sev, Sev::No);
        let line = |object: &str, machine: &str| {
            let text = format!(
                "qemu-system-x86_64 -accel kvm -cpu EPYC {object} -machine q35,{machine}=a"
            );
            parse(&text).unwrap().sev
        };
        let id = "confidential-guest-support";
        assert_eq!(line("-object sev-guest,id=a,cbitpos=47", id), Sev::Sev);
        assert_eq!(line("-object sev-guest,id=a,cbitpos=47", "memory-encryption"), Sev::Sev);
        assert_eq!(line("-object sev-snp-guest,id=a", id), Sev::Snp);
        assert_eq!(line("-object tdx-guest,id=a", id), Sev::No);
        // An object that no machine uses, and one that the file does not have.
        assert_eq!(line("-object sev-guest,id=a", "usb"), Sev::No);
        assert_eq!(line("", id), Sev::No);
        let some = "A=-nographic\nif [ \"$1\" ]; then A=\"-object sev-guest,id=a -machine memory-encryption=a\"; fi\n\
                    A=\"$A -m 1G\"\nqemu-system-x86_64 -accel kvm -cpu EPYC $A\n";
        assert_eq!(parse(some).unwrap().sev, Sev::Perhaps);
        let other = "A=\"-object sev-guest,id=a -machine memory-encryption=a\"\nif [ \"$1\" ]; then A=-nographic; fi\n\
                     qemu-system-x86_64 -accel kvm -cpu EPYC $A\n";
        let guest = parse(other).unwrap();
        assert_eq!((guest.sev, guest.invtsc), (Sev::Perhaps, Some(false)));
        let machine = "name: a\nostype: l26\ncores: 2\nmemory: 512\n";
        let of = |rest: &str| parse(&format!("{machine}{rest}")).unwrap().sev;
        assert_eq!(of("amd-sev: es\n"), Sev::Sev);
        assert_eq!(of("amd-sev: type=snp\nargs: -cpu host\n"), Sev::Snp);
        assert_eq!(of("intel-tdx: tdx\n"), Sev::No);
        let vm = |kind: &str| {
            let head =
                "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nspec:\n  domain:\n";
            parse(&format!("{head}    launchSecurity:\n      {kind}: {{}}\n    devices: {{}}\n"))
                .unwrap()
                .sev
        };
        assert_eq!(vm("sev"), Sev::Sev);
        assert_eq!(vm("snp"), Sev::Snp);
        assert_eq!(vm("tdx"), Sev::No);
    }

    #[test]
    fn script_that_a_file_writes_is_a_guest() {
        let text = "FROM a\nENV F=+invtsc\nRUN tee -a a.sh <<< 'exec qemu-system-x86_64 -m 2G -accel kvm \\' \\\n    \
                    && tee -a a.sh <<< '-cpu ${CPU:-host},${F:-check} \\' \\\n    && tee -a a.sh <<< '-S'\n";
        assert_eq!(parse(text).unwrap().invtsc, Some(true));
        assert_eq!(parse(&text.replace("-cpu", "-name")), Err(GuestError::Kind));
    }

    #[test]
    fn container_of_proxmox_is_no_guest() {
        let text = "arch: amd64\ncores: 4\nhostname: a\nmemory: 512\nostype: ubuntu\nrootfs: local:1/a.raw,size=8G\n\
                    swap: 512\nunprivileged: 1\n";
        assert_eq!(parse(text), Err(GuestError::Container));
        assert!(GuestError::Container.to_string().contains("container of Proxmox VE"));
    }

    #[test]
    fn devices_of_the_host_are_seen() {
        let of = |devices: &str| domain(&format!("<devices>{devices}</devices>")).device;
        assert!(of("<hostdev mode='subsystem' type='pci'/>"));
        assert!(of("<interface type='hostdev'/>"));
        assert!(!of("<hostdev mode='subsystem' type='usb'/>"));
        assert!(!of("<interface type='hostdev'><teaming type='transient'/></interface>"));
        // Pinned vCPUs can also be pinned on another host.
        assert!(!domain("<cputune><vcpupin vcpu='0' cpuset='1'/></cputune>").device);
        let line = "qemu-system-x86_64 -accel kvm -cpu host -m 1G";
        assert!(!parse(line).unwrap().device);
        assert!(parse(&format!("{line} -device vfio-pci,host=01:00.0")).unwrap().device);
        let machine = "name: a\nostype: l26\ncores: 2\nmemory: 512\n";
        assert!(!parse(machine).unwrap().device);
        let held = parse(&format!("{machine}hostpci0: 01:00\nargs: -cpu host,+invtsc\n"));
        assert!(held.unwrap().device);
        let vm = "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nspec:\n  domain:\n    devices:\n";
        assert!(!parse(&format!("{vm}      disks: []\n")).unwrap().device);
        assert!(
            parse(&format!("{vm}      gpus:\n      - name: a\n        deviceName: b\n"))
                .unwrap()
                .device
        );
    }

    proptest! {
        #[test]
        fn any_text_is_a_guest_or_an_error(text in "(?s)(<domain|-cpu )?.{0,200}") {
            let _ = parse(&text);
        }
    }
}
