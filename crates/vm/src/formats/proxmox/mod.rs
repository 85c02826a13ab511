//! Proxmox VE machines: `key: value` lines, then a section for each snapshot; and scripts and playbooks that make them.
//!
//! The translation of `cpu:` to QEMU options is here; a `-cpu` in `args:` is judged by `qemu::cpu`.

mod appended;
mod commands;
mod models;
mod playbook;

use crate::choice::Choices;
use crate::detect::{Clues, Sign};
use crate::document::Document;
use crate::edit::Edit;
use crate::finding::{Finding, Severity};
use crate::formats::qemu::clocks::Clocks;
use crate::formats::qemu::confidential::{Confidential, Trust};
use crate::formats::qemu::line::Line;
use crate::formats::qemu::property::Properties;
use crate::formats::qemu::{cpu, machine};
use crate::formats::{Format, Qemu};
use crate::guest::{Guest, Known};
use crate::inner::nothing;
use crate::limits::Limits;
use crate::lint::{LintError, Report};
use crate::placed::Placed;
use crate::shell::{Piece, statements};
use crate::text::Text;
use crate::words::listed;

/// The registry entry of this kind.
pub(super) const FORMAT: Format = Format {
    name: "proxmox",
    files: "Proxmox VE",
    sample: ("100.conf", "ostype: l26\ncores: 2\nargs: -cpu host\n"),
    rules: rules!("proxmox"),
    detect,
    lint,
    limits: Limits { script: true, ..Limits::PLAIN },
    qemu: Some(Qemu { choose: Some(choice), predict: None }),
};

/// Keys of a machine.
const KEYS: [&str; 26] = [
    "ostype", "scsihw", "smbios1", "vmgenid", "cores", "sockets", "bios", "args", "onboot",
    "machine", "numa", "meta", "balloon", "net0", "scsi0", "virtio0", "sata0", "ide2", "boot",
    "agent", "cpu", "hostpci0", "efidisk0", "template", "vga", "memory",
];

fn detect(clues: &Clues<'_>) -> Option<Sign> {
    if clues.lines.iter().any(|line| models::begins(line)) {
        return Some(Sign::Keys);
    }
    if playbook::any(clues.text) {
        return Some(Sign::Keys);
    }
    if commands::any(clues.text) {
        // A script that sets up a host does more than create machines.
        return Some(Sign::Part);
    }
    if commands::others(clues.text) {
        return Some(Sign::Ending);
    }
    // A manifest or a playbook is indented; these lines never are.
    let indented = clues.lines.iter().filter(|l| l.starts_with([' ', '\t', '-'])).count();
    let is = |line: &str, key: &str| line.strip_prefix(key).is_some_and(|r| r.starts_with(':'));
    let keys = match indented * 4 > clues.lines.len() {
        true => 0,
        false => KEYS.iter().filter(|key| clues.lines.iter().any(|line| is(line, key))).count(),
    };
    if keys >= 3 {
        return Some(Sign::Lines);
    }
    let named = clues.name.contains("qemu-server/") || keys >= 1;
    (clues.ends(&["conf"]) && named).then_some(Sign::Ending)
}

/// Returns whether a text is a script that creates a machine.
pub(super) fn makes(text: &str) -> bool {
    commands::any(text)
}

/// Whether a text is a machine's own file.
pub(crate) fn is_machine(text: &str) -> bool {
    !(text.starts_with("#!")
        || commands::any(text)
        || commands::others(text)
        || playbook::any(text)
        || text.lines().any(models::begins))
}

/// The message about a container.
pub(crate) const CONTAINER: &str = "this is a container of Proxmox VE, and no virtual machine: it has no clock of its own, and uses the clocksource \
    of its host (`clocksmith why` there)";

/// Returns whether a file is a container's (`/etc/pve/lxc/NNN.conf`), which also has keys of a
/// machine.
pub(crate) fn is_container(text: &str) -> bool {
    let has = |key: &str| text.lines().any(|line| line.starts_with(key));
    has("rootfs:") && (has("hostname:") || has("lxc.") || has("unprivileged:") || has("swap:"))
}

/// A machine, or a snapshot of it.
struct Section {
    entries: Vec<(String, Placed)>,
    snapshot: bool,
}

impl Section {
    fn get(&self, key: &str) -> Option<&Placed> {
        self.entries.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    fn value(&self, key: &str) -> &str {
        self.get(key).map(Placed::as_str).unwrap_or_default()
    }

    /// Returns whether KVM is switched off (PVE/QemuServer.pm, check_type()): QEMU gets `accel=tcg`.
    fn emulated(&self) -> bool {
        let value = self.value("kvm").to_ascii_lowercase();
        listed("0 off no false", &value)
    }

    /// Returns the technology that protects the guest's memory from the host.
    fn confidential(&self) -> Option<Confidential> {
        let sev = if self.value("amd-sev").contains("snp") {
            Confidential::Snp
        } else {
            Confidential::Sev
        };
        let keys = [("intel-tdx", Confidential::Tdx), ("amd-sev", sev)];
        keys.into_iter().find(|(key, _)| self.get(key).is_some()).map(|(_, kind)| kind)
    }

    /// The options in `args:`.
    fn args(&self, text: &Text) -> Option<Line> {
        let span = self.get("args")?.exact()?;
        let source = text.slice(span.clone());
        let mut words = Vec::new();
        for statement in statements(source) {
            for word in &statement.words {
                let mut placed = Placed::default();
                for piece in &word.pieces {
                    match piece {
                        Piece::Literal(literal) => placed.append(literal),
                        Piece::Variable { at, .. } | Piece::Opaque { at } => {
                            placed.push(crate::placed::UNKNOWN, *at);
                        }
                    }
                }
                words.push(placed.moved(span.start));
            }
        }
        Some(Line::of_words(&words))
    }

    /// Returns whether `ostype:` is Linux, but the machine's name, or that of its installation image, is of Windows.
    fn contradicts(&self, line: Option<&Line>) -> bool {
        if !matches!(self.value("ostype"), "l24" | "l26") || line.is_some_and(|line| line.apple) {
            return false;
        }
        let mut told = Guest::of_words(self.value("name"));
        for (_, value) in &self.entries {
            let file = value.as_str().split(',').next().unwrap_or_default();
            if told.is_none() && file.to_ascii_lowercase().ends_with(".iso") {
                told = Guest::of_words(crate::guest::base(file));
            }
        }
        told == Some(Guest::Windows)
    }

    /// Returns whether the guest's system uses no clock of a hypervisor.
    fn unaware(&self, guest: Guest) -> bool {
        let old = guest == Guest::Windows && OLD.contains(&self.value("ostype"));
        let images = self.entries.iter().map(|(_, value)| value.as_str());
        let images = images.filter_map(|value| value.split(',').next());
        let images = images.filter(|value| value.to_ascii_lowercase().ends_with(".iso"));
        let names = images.map(crate::guest::base).chain([self.value("name")]);
        old || crate::guest::unaware(guest, names)
    }

    fn guest(&self, line: Option<&Line>, document: &Document) -> Known {
        let ostype = self.value("ostype");
        if self.contradicts(line) {
            return Known::declared(document.guest.unwrap_or_default());
        }
        let declared = match ostype {
            _ if line.is_some_and(|line| line.apple) => Some(Guest::Macos),
            "l24" | "l26" => Some(Guest::Linux),
            _ if ostype.starts_with('w') => Some(Guest::Windows),
            _ => None,
        };
        let known = document.system(
            declared,
            None,
            [self.value("name"), crate::guest::base(&document.name)],
        );
        let other = if ostype.is_empty() { Guest::Unknown } else { Guest::Other };
        known.or(Known::declared(document.guest.unwrap_or(other)))
    }
}

/// Types of Windows that are older than Hyper-V's reference TSC page.
const OLD: [&str; 3] = ["wxp", "w2k", "w2k3"];

/// Types of Windows to which Proxmox VE gives Hyper-V's page and timers (PVE/QemuServer/CPUConfig.pm,
/// `get_hyperv_enlightenments()`, from Windows 7 on).
const ENLIGHTENED: [&str; 4] = ["win7", "win8", "win10", "win11"];

impl Section {
    /// Returns the clocks that the guest certainly has. A -cpu in `args:` replaces the one that Proxmox VE generates.
    fn clocks(&self, line: &Line, models: Option<&str>) -> Clocks {
        let mut clocks = Clocks::of_line(line);
        clocks.x86 = self.value("arch") != "aarch64";
        clocks.emulated |= self.emulated();
        clocks.kvm = !clocks.emulated && line.kvm() != Some(false);
        if line.cpu().is_some() {
            return clocks;
        }
        let enlightened = ENLIGHTENED.contains(&self.value("ostype"));
        (clocks.page, clocks.stimer) = (enlightened, enlightened);
        let cpu = self.get("cpu").map(Properties::parse).unwrap_or_default();
        let model = cpu.value("cputype").map_or_else(|| cpu.head_name(), str::to_ascii_lowercase);
        let hidden = cpu.value("hidden").map(|it| it != "0");
        let hidden = match model.strip_prefix("custom-") {
            // A model that is not available here may hide it.
            Some(name) => {
                let model = models.and_then(|models| models::find(models, name));
                clocks.invtsc |= model.as_ref().is_some_and(|model| model.invtsc);
                hidden.unwrap_or_else(|| model.is_none_or(|model| model.hidden))
            }
            None => hidden == Some(true),
        };
        clocks.kvmclock &= !hidden && !cpu.whole.unknown();
        clocks
    }
}

fn sections(text: &Text) -> Vec<Section> {
    let mut out = vec![Section { entries: Vec::new(), snapshot: false }];
    for (start, line) in text.lines() {
        if line.starts_with('[') && line.trim_end().ends_with(']') {
            out.push(Section { entries: Vec::new(), snapshot: true });
            continue;
        }
        let Some((key, value)) = line.split_once(':').filter(|_| !line.starts_with('#')) else {
            continue;
        };
        let blank = value.len() - value.trim_start().len();
        let value = Placed::new(value.trim(), start + key.len() + 1 + blank);
        if let Some(section) = out.last_mut() {
            section.entries.push((key.trim().to_owned(), value));
        }
    }
    out
}

/// Judges a file. Snapshots are records of the past, so they have no findings.
fn lint(document: &Document) -> Result<Report, LintError> {
    if document.text.as_str().lines().any(models::begins) {
        return Ok(models::lint(document));
    }
    if playbook::any(document.text.as_str()) {
        return playbook::lint(document);
    }
    if commands::any(document.text.as_str()) {
        return commands::lint(document);
    }
    if commands::others(document.text.as_str()) {
        return Ok(nothing(document.guest.unwrap_or_default()));
    }
    if document.text.as_str().starts_with("#!") {
        return Err(LintError::whole(
            "it is a script without a qm create or qm set with options; a machine of Proxmox VE is \
             a file of lines `key: value`",
        ));
    }
    if is_container(document.text.as_str()) {
        return Err(LintError::whole(CONTAINER));
    }
    let sections = sections(&document.text);
    let Some(section) = sections.iter().find(|s| !s.snapshot && !s.entries.is_empty()) else {
        return Err(LintError::whole("it contains no line `key: value` of Proxmox VE"));
    };
    let line = section.args(&document.text);
    let Known { guest, guessed } = section.guest(line.as_ref(), document);
    if section.value("arch") == "aarch64" {
        // Options of an x86 processor do not apply to another one.
        let findings = line.as_ref().map(of_arm).unwrap_or_default();
        return Ok(Report::of(Known { guest, guessed }, false, findings));
    }
    let partial = document.text.as_str().contains("{{") || document.text.as_str().contains("{%");
    let mut report = Report::of(Known { guest, guessed }, partial, Vec::new());
    match line.as_ref().and_then(|line| line.cpu().map(|cpu| (line, cpu))) {
        Some((line, cpu)) => report.findings.extend(overridden(section, line, cpu, guest)),
        None => report.findings.extend(own_cpu(section, guest, document.models.as_deref())),
    }
    if let Some(line) = &line {
        let mut clocks = section.clocks(line, document.models.as_deref());
        clocks.said = document.guest.is_some();
        let kind = section.confidential().or(line.confidential());
        let trust = kind.map(Confidential::trust).unwrap_or_default();
        report.findings.extend(args(line, guest, &clocks, trust));
    }
    if section.emulated()
        && let Some(value) = section.get("kvm")
    {
        report
            .findings
            .push(Finding::new(rule!("pve-kvm-disabled"), value.span()).fix("remove kvm: 0"));
    }
    if let Some(value) = section.get("tdf").filter(|value| value.as_str() == "1") {
        report.findings.push(Finding::new(rule!("pve-tdf"), value.span()));
    }
    let first = section.entries.first().map_or(0..0, |(_, value)| value.span());
    match section.get("ostype") {
        // No ostype is `other` (PVE/QemuServer.pm, $confdesc).
        None if !partial && guest == Guest::Windows => report.findings.push(
            Finding::new(rule!("pve-ostype-windows-unset"), first)
                .fix("ostype: win10 or win11, as it is"),
        ),
        None if !partial => report.findings.push(Finding::new(rule!("pve-ostype-missing"), first)),
        Some(value) if guest == Guest::Windows && !value.as_str().starts_with('w') => {
            report.findings.push(
                Finding::new(rule!("pve-ostype-windows-unset"), value.span())
                    .fix("ostype: win10 or win11, as it is"),
            );
        }
        Some(value) if document.guest.is_none() && section.contradicts(line.as_ref()) => {
            let linux = rule!("pve-host-no-invtsc").id;
            report.findings.retain(|finding| finding.rule.id != linux);
            report
                .findings
                .push(Finding::new(rule!("pve-ostype-contradicts-name"), value.span()).fix(
                    "ostype: win10 or win11 if the guest is Windows; if it is Linux, nothing",
                ));
        }
        _ => {}
    }
    Ok(report)
}

/// Checks `args:` of a machine of Arm.
fn of_arm(line: &Line) -> Vec<Finding> {
    let mut out = Vec::from_iter(machine::no_acpi(line, &|_| false, &|_| false));
    out.extend(
        line.append
            .iter()
            .flat_map(|append| machine::guest_command_line(append, false, Trust::Tested)),
    );
    out
}

/// Checks a `-cpu` in `args:`, which applies.
fn overridden(section: &Section, line: &Line, cpu: &Properties, guest: Guest) -> Vec<Finding> {
    let mut out = Vec::new();
    let own = section.get("cpu").map(|cpu| format!("cpu: {}", cpu.as_str()));
    let mut words = own.unwrap_or_else(|| "Proxmox VE's own -cpu".to_owned());
    let old = OLD.contains(&section.value("ostype"));
    let windows = guest != Guest::Macos && section.value("ostype").starts_with('w') && !old;
    // `hv-passthrough` provides all that the host has.
    let has = cpu.flag("hv-time").is_some() || cpu.flag("hv-passthrough") == Some(true);
    if windows && !has {
        words.push_str(" and hv-time");
    }
    let loses = windows && !has;
    let severity = if loses { Severity::Error } else { Severity::Warn };
    out.push(
        Finding::new(rule!("pve-args-cpu-override"), cpu.whole.span())
            .severity(severity)
            .summary(format!("a -cpu in args replaces the one that Proxmox VE generates, so QEMU does not get \
                              {words}"))
            .fix(
                "put it in cpu: (cpu: TYPE,flags=+aes) or, for other features such as \
                 invtsc, in a separate model in /etc/pve/virtual-guest/cpu-models.conf; then remove \
                 -cpu from args",
            ),
    );
    let context = cpu::Context {
        guest,
        names: &cpu::NAMES,
        kvm: if section.emulated() { Some(false) } else { line.kvm() },
        emulated: line.tcg() || section.emulated(),
        conditional: &|_| false,
        stays: section.entries.iter().any(|(key, _)| key.starts_with("hostpci"))
            || !line.hostdevs.is_empty(),
        confidential: section.confidential().or(line.confidential()),
        no_hyperv: old || section.emulated(),
        unaware: section.unaware(guest),
        said: false,
    };
    // The loss of hv-time is reported above.
    let hyperv = cpu.list.iter().any(|property| property.name.starts_with("hv-"));
    let told = |finding: &Finding| hyperv || finding.rule.id != rule!("q-hv-time-missing").id;
    out.extend(cpu::check(cpu, &context).into_iter().filter(told));
    out
}

/// Checks the rest of `args:`.
fn args(line: &Line, guest: Guest, clocks: &Clocks, trust: Trust) -> Vec<Finding> {
    let mut out = Vec::new();
    if let Some(word) = &line.no_hpet {
        let finding =
            Finding::new(rule!("q-no-hpet-removed"), word.span()).fix("-machine hpet=off");
        out.push(finding.edit_at(word.exact(), "-machine hpet=off"));
    }
    if let Some(property) = line.machines.iter().rev().find_map(|machine| machine.get("hpet"))
        && property.state() == Some(true)
    {
        let finding = machine::asked_for(property.span(), clocks, guest);
        let value = property.value.as_ref().and_then(Placed::exact);
        let may = guest != Guest::Macos && finding.left.is_none();
        out.push(finding.edit_at(value.filter(|_| may), "off"));
    }
    out.extend(machine::no_acpi(line, &|_| false, &|_| false));
    out.extend(machine::stray_cpu(line));
    if let Some(append) = &line.append {
        out.extend(machine::guest_command_line(append, clocks.x86, trust));
    }
    out
}

/// Whether a machine's system does not use kvm-clock: Windows has the page of Hyper-V, macOS the TSC.
fn without_kvmclock(section: &Section, guest: Guest) -> bool {
    guest == Guest::Windows || section.unaware(guest)
}

/// Checks `cpu:`.
fn own_cpu(section: &Section, guest: Guest, models: Option<&str>) -> Vec<Finding> {
    let mut out = Vec::new();
    let Some(value) = section.get("cpu") else {
        return out;
    };
    let cpu = Properties::parse(value);
    let model = cpu.value("cputype").map_or_else(|| cpu.head_name(), str::to_ascii_lowercase);
    let mut invtsc = false;
    let mut reported = model.clone();
    let hidden = cpu.get("hidden").filter(|p| p.value.as_ref().is_some_and(|v| v.as_str() == "1"));
    // Without KVM's leaves a Linux guest does not find kvm-clock.
    let mut hides = hidden.is_some();
    if let (Some(name), Some(models)) = (model.strip_prefix("custom-"), models) {
        match models::find(models, name) {
            Some(model) => {
                reported = model.reported;
                invtsc = model.invtsc;
                if model.hidden && cpu.get("hidden").is_none() {
                    hides = true;
                    let severity = if without_kvmclock(section, guest) {
                        Severity::Info
                    } else {
                        Severity::Warn
                    };
                    out.push(
                        Finding::new(rule!("pve-kvm-hidden"), value.span()).severity(severity).fix(
                            format!("remove hidden 1 from the model {name} in cpu-models.conf"),
                        ),
                    );
                }
            }
            None => out
                .push(Finding::new(rule!("pve-model-unknown"), value.span()).fix(format!(
                    "add the model {name} to cpu-models.conf, or choose another cpu"
                ))),
        }
    }
    if section.emulated() {
        // Nothing of KVM is there that could be missing or hidden.
        out.retain(|finding| finding.rule.id == rule!("pve-model-unknown").id);
        if reported == "host" {
            let words = "remove kvm: 0, or choose a model that is not host: cpu: max";
            out.push(Finding::new(rule!("pve-host-emulated"), value.span()).fix(words));
        }
        return out;
    }
    let may_use = !without_kvmclock(section, guest);
    if (reported == "host" || reported == "max") && !invtsc && may_use && !hides {
        out.push(Finding::new(rule!("pve-host-no-invtsc"), value.span()));
    }
    if let Some(hidden) = hidden {
        let severity =
            if without_kvmclock(section, guest) { Severity::Info } else { Severity::Warn };
        out.push(
            Finding::new(rule!("pve-kvm-hidden"), hidden.span())
                .severity(severity)
                .fix("remove hidden=1"),
        );
    }
    out
}

/// Returns whether the machine's memory is protected from its host.
pub(crate) fn is_confidential(document: &Document) -> bool {
    let sections = sections(&document.text);
    let section = sections.iter().find(|section| !section.snapshot);
    section.is_some_and(|section| {
        let of_args = || section.args(&document.text).and_then(|line| line.confidential());
        section.confidential().or_else(of_args).is_some()
    })
}

/// Returns the changes by choices, in a `-cpu` of `args:`: `cpu:` supports neither invtsc nor a frequency.
fn choice(document: &Document, choices: &Choices) -> Vec<Vec<Edit>> {
    let text = document.text.as_str();
    if !is_machine(text) {
        return Vec::new();
    }
    let sections = sections(&document.text);
    // The emulator offers neither.
    let section = sections.iter().find(|s| !s.snapshot).filter(|it| !it.emulated());
    let section = section.filter(|it| it.value("arch") != "aarch64" && it.confidential().is_none());
    let line = section.and_then(|section| section.args(&document.text));
    line.as_ref()
        .filter(|line| !line.tcg() && line.confidential().is_none())
        .and_then(Line::cpu)
        .map(|cpu| crate::formats::qemu::choice::of_cpu(cpu, choices))
        .filter(|edits| !edits.is_empty())
        .into_iter()
        .collect()
}
