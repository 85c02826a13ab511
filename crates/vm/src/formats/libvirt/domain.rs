//! The properties of a domain that affect its clock.

use crate::document::Document;
use crate::formats::qemu::confidential::Confidential;
use crate::formats::qemu::line::Line;
use crate::formats::qemu::machine::foreign;
use crate::guest::{self, Guest, Known};
use crate::migrate::guest::Sev;
use crate::placed::Placed;
use crate::template::{in_small_name, optional};
use crate::text::Text;
use crate::xml::{Element, Tree};
use std::ops::Range;

/// The driver that runs the domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Driver {
    Qemu,
    Xen,
    Other,
}

/// A domain, or a part of one.
pub(crate) struct Domain<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) text: &'a Text,
    /// `<domain>`; `None` for a part.
    pub(crate) element: Option<&'a Element>,
    /// Whether no part is omitted.
    pub(crate) whole: bool,
    /// `type=`, in lower case; empty for a part.
    pub(crate) kind: String,
    pub(crate) clock: Option<&'a Element>,
    pub(crate) timers: Vec<&'a Element>,
    pub(crate) cpu: Option<&'a Element>,
    pub(crate) features: Option<&'a Element>,
    /// The content of `<qemu:commandline>`.
    pub(crate) line: Line,
    pub(crate) guest: Guest,
    pub(crate) guessed: bool,
    /// Whether the command line specifies the guest's system.
    pub(crate) said: bool,
    /// Whether the guest is a Windows that is older than Hyper-V's reference TSC page.
    pub(crate) old: bool,
    /// Whether the guest's system uses no clock of a hypervisor.
    pub(crate) unaware: bool,
}

impl<'a> Domain<'a> {
    /// Returns every domain of a file: a snapshot has two.
    pub(crate) fn all(tree: &'a Tree, document: &'a Document) -> Vec<Self> {
        let domains: Vec<&Element> = tree
            .elements
            .iter()
            .filter(|e| matches!(e.local(), "domain" | "inactiveDomain"))
            .filter(|e| !e.children.is_empty() || e.attribute("type").is_some())
            // An element that other programs save in `<metadata>` is not a machine.
            .filter(|e| !tree.below(e, "metadata"))
            .collect();
        if domains.is_empty() {
            return vec![Self::of(tree, document, None)];
        }
        domains.into_iter().map(|element| Self::of(tree, document, Some(element))).collect()
    }

    fn of(tree: &'a Tree, document: &'a Document, element: Option<&'a Element>) -> Self {
        let text = &document.text;
        let find = |wanted: &'a str| match element {
            Some(element) => tree.children(element, wanted).next(),
            None => tree.elements.iter().find(|e| {
                // Other elements have a <cpu> and a <clock> too: <numa>, <cputune>.
                e.local() == wanted && (e.parent.is_none() || !tree.below(e, "devices"))
            }),
        };
        let clock = find("clock");
        let mut timers: Vec<&Element> = Vec::new();
        if let Some(clock) = clock {
            timers.extend(tree.children(clock, "timer"));
        } else if element.is_none() {
            timers.extend(tree.all("timer"));
        }
        let words: Vec<Placed> = find("commandline")
            .filter(|commandline| declared(tree, text, commandline))
            .map(|commandline| {
                tree.children(commandline, "arg").map(|arg| value(arg, text)).collect()
            })
            .unwrap_or_default();
        let kind = element.and_then(|e| e.value("type")).unwrap_or_default().to_ascii_lowercase();
        let whole = element.is_some() && find("os").is_some() && !tree.template;
        let mut domain = Self {
            tree,
            text,
            element,
            whole,
            kind,
            clock,
            timers,
            cpu: find("cpu"),
            features: find("features"),
            line: Line::of_words(&words),
            guest: Guest::Unknown,
            guessed: false,
            said: document.guest.is_some(),
            old: false,
            unaware: false,
        };
        let (Known { guest, guessed }, old, contradicted) = domain.find_guest(document);
        domain.said &= !contradicted;
        (domain.guest, domain.guessed) = (guest, guessed);
        domain.old = old && guest == Guest::Windows;
        domain.unaware = domain.old || domain.is_unaware(document);
        domain
    }

    /// Returns whether the guest's system uses no clock of a hypervisor, according to the names that show the system.
    fn is_unaware(&self, document: &'a Document) -> bool {
        let inside = self.element.map_or(&*self.tree.elements, |domain| self.tree.within(domain));
        let all = |name: &'a str| inside.iter().filter(move |element| element.local() == name);
        let ids = all("os").filter_map(|os| os.value("id"));
        let named = ["name", "title"].into_iter().filter_map(|name| self.child(name));
        let files = all("source").filter_map(|s| s.value("file").or(s.value("dev")));
        let names = named.map(Element::text).chain(files).map(guest::base);
        let names = ids.chain(names).chain([guest::base(&document.name)]);
        self.guest != Guest::Windows && guest::unaware(self.guest, names)
    }

    /// A child of the domain, or any such element of a part.
    pub(crate) fn child(&self, name: &'a str) -> Option<&'a Element> {
        match self.element {
            Some(element) => self.tree.children(element, name).next(),
            None => self.tree.all(name).next(),
        }
    }

    pub(crate) fn driver(&self) -> Driver {
        match self.kind.as_str() {
            _ if self.is_container() => Driver::Other,
            "xen" => Driver::Xen,
            "bhyve" | "lxc" | "vz" | "parallels" | "openvz" | "vbox" | "vmware" | "uml"
            | "hyperv" | "phyp" | "ch" | "test" => Driver::Other,
            _ => Driver::Qemu,
        }
    }

    /// Returns whether neither KVM nor an emulated processor of QEMU runs the domain (src/conf/domain_conf.c,
    /// virDomainVirt): its clocks are those of another hypervisor. A placeholder may stand for any type.
    pub(crate) fn is_foreign(&self) -> bool {
        let known = matches!(self.kind.as_str(), "" | "kvm" | "qemu" | "kqemu");
        !known && self.kind.bytes().all(|b| b.is_ascii_alphanumeric())
    }

    /// Returns whether a whole domain has no type, which libvirt requires. A placeholder may add it.
    pub(crate) fn is_untyped(&self) -> bool {
        self.element.is_some_and(|it| it.attribute("type").is_none()) && !self.tree.template
    }

    /// Returns whether the domain is a container, which has no clock of its own (`<os><type>exe</type>`).
    pub(crate) fn is_container(&self) -> bool {
        self.machine_type().is_some_and(|it| it.text().trim() == "exe")
    }

    /// Returns whether QEMU emulates the processor, so that nothing of KVM is available.
    pub(crate) fn emulated(&self) -> bool {
        self.kind == "qemu"
    }

    /// Returns the technology that protects the guest's memory from the host.
    pub(crate) fn confidential(&self) -> Option<Confidential> {
        match self.child("launchSecurity") {
            Some(security) => {
                let kind = security.value("type").unwrap_or_default();
                Some(Confidential::of_words(kind).unwrap_or(Confidential::Snp))
            }
            None => self.line.confidential(),
        }
    }

    /// Returns whether AMD SEV protects the guest, by `<launchSecurity>` or an object of `<qemu:commandline>`.
    pub(crate) fn sev(&self) -> Sev {
        let kind = match self.child("launchSecurity") {
            Some(security) => Confidential::of_words(security.value("type").unwrap_or_default()),
            None => self.line.confidential_object(),
        };
        kind.and_then(Confidential::sev).unwrap_or_default()
    }

    /// Returns whether the domain cannot migrate anyway: it has a device of the host. Pinned CPUs are not a device: libvirt
    /// moves and saves domains with them.
    pub(crate) fn stays(&self) -> bool {
        self.has_device()
    }

    /// Returns whether the domain has a device of the host that prevents its migration.
    pub(crate) fn has_device(&self) -> bool {
        let Some(domain) = self.element else { return false };
        // A template may leave a part out.
        let parts = match self.tree.template {
            true => optional(self.text.as_str()),
            false => Vec::new(),
        };
        let certain = |at: usize| {
            let around =
                |part: &Range<usize>| part.contains(&at) && !part.contains(&domain.open.start);
            !parts.iter().any(around)
        };
        let mut inside = self.tree.within(domain).iter();
        let mut devices = self.line.hostdevs.iter();
        devices.any(|[at, _]| certain(*at))
            || inside.any(|element| match element.local() {
                "hostdev" => self.holds(element) && certain(element.open.start),
                "interface" => {
                    element.value("type") == Some("hostdev")
                        && self.holds(element)
                        && certain(element.open.start)
                }
                _ => false,
            })
    }

    /// Returns whether a device of the host prevents the domain's migration. libvirt permits USB devices, and those
    /// that QEMU unplugs for a migration: qemuMigrationSrcIsAllowedHostdev(). With QEMU 6.0 and later it queries QEMU,
    /// which refuses most VFIO devices (`hw/vfio/migration.c`, vfio_migration_realize()), and accepts SCSI devices.
    fn holds(&self, device: &'a Element) -> bool {
        let teaming = self.tree.children(device, "teaming").next();
        let unplugged = teaming.is_some_and(|it| it.value("type") == Some("transient"));
        let subsystem = device.value("mode").is_none_or(|mode| mode == "subsystem");
        let moves = subsystem && matches!(device.value("type"), Some("usb" | "scsi"));
        !(unplugged || moves)
    }

    /// Returns whether all Hyper-V features that the host has are passed on.
    pub(crate) fn passes_hyperv(&self) -> bool {
        let hyperv = self.features.and_then(|it| self.tree.children(it, "hyperv").next());
        hyperv.is_some_and(|it| it.value("mode") == Some("passthrough"))
    }

    /// Returns the timer of a name; the last one applies.
    pub(crate) fn timer(&self, name: &str) -> Option<&'a Element> {
        self.timers.iter().rev().find(|timer| timer.value("name") == Some(name)).copied()
    }

    /// Returns whether the timer of a name is present; `None` if this is not set.
    pub(crate) fn present(&self, name: &str) -> Option<bool> {
        match self.timer(name)?.value("present")? {
            "yes" => Some(true),
            "no" => Some(false),
            _ => None,
        }
    }

    /// The fixed frequency of the TSC, in Hz.
    pub(crate) fn frequency(&self) -> Option<&'a str> {
        self.timer("tsc").and_then(|timer| timer.value("frequency"))
    }

    /// Returns whether the domain hides from its guest that there is a hypervisor.
    pub(crate) fn hides_hypervisor(&self) -> bool {
        self.feature("hypervisor").is_some_and(|(_, on)| !on)
    }

    /// Returns `<feature name=... policy=...>` of the CPU; the last one applies.
    pub(crate) fn feature(&self, name: &'a str) -> Option<(&'a Element, bool)> {
        let feature = self.asked(name).filter(|f| f.value("policy") != Some("optional"))?;
        // Without a policy it is `require`.
        Some((feature, !matches!(feature.value("policy"), Some("disable" | "forbid"))))
    }

    /// Returns whether a feature is present only if the host has it.
    pub(crate) fn optional(&self, name: &'a str) -> bool {
        self.asked(name).is_some_and(|feature| feature.value("policy") == Some("optional"))
    }

    /// Returns the element of a feature, whatever its policy.
    pub(crate) fn asked(&self, name: &'a str) -> Option<&'a Element> {
        let features = self.tree.children(self.cpu?, "feature");
        features.filter(|feature| feature.value("name") == Some(name)).last()
    }

    /// Returns how often a feature is there; libvirt refuses more than one of a name (src/conf/cpu_conf.c,
    /// virCPUDefParseXML()).
    pub(crate) fn times(&self, name: &'a str) -> usize {
        let features = self.cpu.map(|cpu| self.tree.children(cpu, "feature"));
        features.into_iter().flatten().filter(|it| it.value("name") == Some(name)).count()
    }

    /// `mode=` of the CPU; without it and with a model, `custom`.
    pub(crate) fn cpu_mode(&self) -> &'a str {
        let Some(cpu) = self.cpu else {
            return "";
        };
        match cpu.value("mode") {
            Some(mode) => mode,
            None if self.tree.children(cpu, "model").next().is_some() => "custom",
            None => "",
        }
    }

    /// Returns whether the guest gets an invariant TSC by libvirt's translation of the file; `None` if the file does
    /// not decide it.
    pub(crate) fn invtsc(&self) -> Option<bool> {
        let said = self.said_invtsc();
        self.confidential().map_or(said, |it| it.invtsc(said))
    }

    /// Returns whether the guest gets all features of its host, also those that do not migrate: an invariant TSC too,
    /// unless the domain disables it. `None` if a placeholder decides it.
    pub(crate) fn passes_all(&self) -> Option<bool> {
        let (mode, unknown) = (self.cpu_mode(), crate::placed::UNKNOWN);
        let migratable = self.cpu.and_then(|cpu| cpu.value("migratable")).unwrap_or("on");
        if mode.contains(unknown) || migratable.contains(unknown) {
            return None;
        }
        Some(matches!(mode, "host-passthrough" | "maximum") && migratable == "off")
    }

    fn said_invtsc(&self) -> Option<bool> {
        if self.times("invtsc") > 1 {
            return None;
        }
        if let Some((_, on)) = self.feature("invtsc") {
            return Some(on);
        }
        match self.cpu.and_then(|cpu| cpu.value("migratable")) {
            Some("off") if self.passes_all() == Some(true) => Some(true),
            // The host decides.
            _ if self.optional("invtsc") => None,
            Some(value) if value.contains(crate::placed::UNKNOWN) => None,
            _ if self.cpu.is_none() && self.tree.template => None,
            _ => Some(false),
        }
    }

    /// Whether an element below `<features>` is switched on.
    pub(crate) fn switched(&self, group: &'a str, name: &'a str) -> Option<(&'a Element, bool)> {
        let group = match self.features {
            Some(features) => self.tree.children(features, group).next()?,
            None if self.element.is_none() => self.tree.all(group).next()?,
            None => return None,
        };
        let element = self.tree.children(group, name).next()?;
        Some((element, element.value("state") == Some("on")))
    }

    /// `<type>` of `<os>`: architecture and machine.
    fn machine_type(&self) -> Option<&'a Element> {
        self.tree.children(self.child("os")?, "type").next()
    }

    /// Whether the processor is one of x86.
    pub(crate) fn x86(&self) -> bool {
        match self.arch() {
            Some(arch) => matches!(arch, "x86_64" | "i686" | "i386" | "amd64"),
            None => !self.machine().is_some_and(foreign),
        }
    }

    /// Returns the architecture, if the file states it; without one it is that of the emulator, or of the host.
    fn arch(&self) -> Option<&'a str> {
        let emulator = || {
            let devices = self.child("devices")?;
            let emulator = self.tree.children(devices, "emulator").next()?.text();
            emulator.trim().rsplit_once("qemu-system-").map(|(_, target)| target)
        };
        let arch = self.machine_type().and_then(|it| it.value("arch"));
        let stated = |arch: &&str| !in_small_name(arch);
        arch.filter(stated).or_else(|| emulator().filter(stated))
    }

    /// `machine=` of `<type>`.
    fn machine(&self) -> Option<&'a str> {
        self.machine_type().and_then(|it| it.value("machine"))
    }

    /// Whether only a run shows the architecture: a placeholder stands for it, and no other part of the file shows it.
    pub(crate) fn open_arch(&self) -> bool {
        let pc = |machine: &str| {
            matches!(machine, "pc" | "q35" | "isapc" | "microvm") || machine.starts_with("pc-")
        };
        let arch = self.machine_type().and_then(|it| it.value("arch"));
        arch.is_some_and(in_small_name) && self.arch().is_none() && !self.machine().is_some_and(pc)
    }

    /// Whether the machine is a PC.
    pub(crate) fn pc(&self) -> bool {
        let machine = self.machine().unwrap_or("pc");
        let other = ["microvm", "virt", "isapc", "xenpv"];
        self.x86() && !other.iter().any(|name| machine.starts_with(name))
    }

    /// Returns the guest's system, whether its source names an old Windows, and whether names contradict the enabled
    /// Hyper-V features: then neither is trusted enough to change a clock.
    fn find_guest(&self, document: &Document) -> (Known, bool, bool) {
        let inside = self.element.map_or(&*self.tree.elements, |domain| self.tree.within(domain));
        let all = |name: &'a str| inside.iter().filter(move |element| element.local() == name);
        // libosinfo's id.
        let ids = || all("os").filter_map(|os| os.value("id"));
        let id = ids().find_map(Guest::of_words);
        let enlightened = ["relaxed", "vapic", "spinlocks", "stimer", "synic", "vpindex"]
            .into_iter()
            .filter(|name| self.switched("hyperv", name).is_some_and(|(_, on)| on))
            .count();
        // One alone is in examples of other systems too.
        let (enlightened, weak) = (enlightened > 1, enlightened == 1);
        let os = self.child("os");
        let of_os = |name| os.and_then(|os| self.tree.children(os, name).next()).map(Element::text);
        // Other systems are also started without a boot loader.
        let direct = of_os("kernel").is_some_and(|kernel| guest::linux_kernel(kernel.trim()))
            || of_os("cmdline").is_some_and(guest::linux_words);
        let declared = if self.line.apple { Some(Guest::Macos) } else { id };
        let hinted = if declared.is_some() {
            None
        } else if enlightened || self.present("hypervclock") == Some(true) {
            Some(Guest::Windows)
        } else {
            direct.then_some(Guest::Linux)
        };
        let texts = |names: [&'a str; 2]| names.into_iter().flat_map(all).map(Element::text);
        let named = ["name", "title"].into_iter().filter_map(|name| self.child(name));
        let files = all("source").filter_map(|s| s.value("file").or(s.value("dev")));
        let names: Vec<&str> = named
            .map(Element::text)
            .chain(files.map(guest::base))
            .chain([guest::base(&document.name)])
            .collect();
        let contradicted = id.is_none()
            && hinted == Some(Guest::Windows)
            && names.iter().any(|name| guest::of_another_than_windows(name));
        let hinted = hinted.filter(|_| !contradicted);
        let (declared, hinted) = match hinted {
            Some(Guest::Linux) => (hinted, None),
            _ => (declared, hinted),
        };
        // A description mentions many things, and firmware has the name of the host's distribution.
        let rest = self.child("description").map(Element::text).into_iter();
        let rest = rest.chain(texts(["nvram", "loader"]).map(guest::base));
        let names = match guest::Told::of(names.iter().copied()) {
            guest::Told::Nothing => rest.collect(),
            _ => names,
        };
        let old = match id {
            Some(Guest::Windows) => ids().any(guest::old_windows),
            _ => names.iter().any(|name| guest::old_windows(name)),
        };
        let mut known = document.system(declared, hinted, names);
        if known.guest == Guest::Unknown && weak && !contradicted {
            known = Known { guest: Guest::Windows, guessed: true };
        }
        (known, old, contradicted)
    }
}

/// Returns whether the prefix of an element may have a namespace. libvirt ignores `<qemu:commandline>` without one, and
/// removes it when it saves the domain (`src/conf/domain_conf.c`, virDomainDefParseXML(), checks the namespace). A part
/// of a file does not show it, and a placeholder in a tag may add it.
fn declared(tree: &Tree, text: &Text, element: &Element) -> bool {
    let Some((prefix, _)) = element.name.split_once(':') else { return true };
    let parent = |element: &&Element| tree.get(element.parent?);
    let root = std::iter::successors(Some(element), parent).last();
    let opening = root.map_or("", |root| text.slice(root.open.clone()));
    let filled = ["{{", "{%", "<%", "${", "%s", "{}"].iter().any(|mark| opening.contains(mark));
    element.parent.is_none() || filled || text.as_str().contains(&format!("xmlns:{prefix}"))
}

/// The value of an argument, with its place.
fn value(arg: &Element, text: &Text) -> Placed {
    let Some(attribute) = arg.attribute("value") else {
        return Placed::default();
    };
    if text.slice(attribute.value_span.clone()) == attribute.value {
        return Placed::new(&attribute.value, attribute.value_span.start);
    }
    // With entities, the places are lost, so nothing of it is changed.
    Placed::lost(&attribute.value, attribute.value_span.clone())
}
