//! VirtualBox: `.vbox` files ([`xml`]) and scripts with `VBoxManage` lines ([`script`]).
//!
//! Both become a [`machine::Machine`]; [`tsc`] computes the effect of its TSC keys; this module has the checks. Other
//! hypervisors are not here.

mod info;
mod machine;
mod script;
#[cfg(test)]
mod tests;
mod tsc;
mod xml;

use crate::detect::{Clues, Sign};
use crate::document::Document;
use crate::finding::{Finding, Rule, Severity};
use crate::formats::{Format, vagrant};
use crate::guest::Known;
use crate::guest::{Guest, old_windows};
use crate::limits::Limits;
use crate::lint::{LintError, Report};
use crate::template::in_plain_value as is_template;
use machine::{Extra, Machine};
use std::collections::HashSet;
use tsc::{Effective, Engine, Era, Key, Mode, ModeKey, Refusal};

/// The registry entry of this kind.
pub(super) const FORMAT: Format = Format {
    name: "virtualbox",
    files: "VirtualBox",
    sample: ("a.sh", "VBoxManage modifyvm a --cpus 4 --ostype Ubuntu_64\n"),
    rules: rules!("virtualbox"),
    detect,
    lint,
    limits: Limits { script: true, ..Limits::PLAIN },
    qemu: None,
};

fn detect(clues: &Clues<'_>) -> Option<Sign> {
    let element = |name| clues.element(name);
    if element("<VirtualBox") || (element("<Machine") && element("<Hardware")) {
        return Some(Sign::Root);
    }
    if is_info(clues) {
        return Some(Sign::Keys);
    }
    let vagrant = vagrant::is(clues.text) && vagrant::provides(clues.text, "virtualbox");
    // Windows finds the program by a name of any case.
    let names = |text: &str| {
        let small = text.to_ascii_lowercase();
        small.contains("vboxmanage") || small.contains("vboxinternal")
    };
    let code = |line: &str| names(line) && !script::is_comment(line);
    if vagrant || clues.has(|line| code(line) || script::is_command(line)) {
        return Some(Sign::Words);
    }
    clues.ends(&["vbox", "vbox-prev"]).then_some(Sign::Ending)
}

/// Returns whether it is the output of `VBoxManage showvminfo --machinereadable`.
fn is_info(clues: &Clues<'_>) -> bool {
    clues.keys(&info::KEYS, '=') >= 4 && clues.has(|line| line.starts_with("name="))
}

fn lint(document: &Document) -> Result<Report, LintError> {
    let mut report = alone(document)?;
    vagrant::with(vagrant::VMWARE, document, &mut report);
    Ok(report)
}

/// Judges a file by the rules of VirtualBox only.
pub(super) fn alone(document: &Document) -> Result<Report, LintError> {
    let text = document.text.as_str();
    let name = document.name.to_ascii_lowercase();
    let head = text.trim_start_matches('\u{feff}').trim_start();
    let xml = [".vbox", ".vbox-prev", ".xml"].iter().any(|ending| name.ends_with(ending))
        || ["<?xml", "<!--", "<VirtualBox"].iter().any(|begin| head.starts_with(begin));
    let (machines, partial) = if is_info(&Clues::new(&name, text)) {
        let machines = info::read(document);
        let partial = machines.iter().any(|machine| !machine.complete);
        (machines, partial)
    } else if xml {
        let file = xml::read(document)?;
        (file.machines, file.partial)
    } else {
        let machines = script::read(document);
        let partial = machines.iter().any(|machine| !machine.complete);
        (machines, partial)
    };
    let mut machines = machines;
    for machine in &mut machines {
        machine.said = document.guest;
    }
    let guest = machines.first().map_or(Guest::Unknown, |machine| machine.guest().0);
    let guessed = machines.iter().any(Machine::guessed);
    let mut findings = Vec::new();
    for (index, machine) in machines.iter().enumerate() {
        judge(machine, index == 0, &mut findings);
    }
    // A key of the machine applies to its snapshots, but is one finding.
    let mut seen = HashSet::new();
    findings.retain(|finding: &Finding| {
        seen.insert((finding.rule.id, finding.span.clone(), finding.summary.clone()))
    });
    Ok(Report::of(Known { guest, guessed }, partial, findings))
}

struct Judge<'a> {
    machine: &'a Machine,
    /// Whether it is the first one: a file's keys apply to all of its snapshots.
    first: bool,
    findings: &'a mut Vec<Finding>,
}

impl Judge<'_> {
    fn add(&mut self, mut finding: Finding) {
        if let Some(snapshot) = &self.machine.snapshot {
            let said = finding.summary.unwrap_or_else(|| finding.rule.summary.to_owned());
            finding.summary = Some(format!("snapshot {snapshot:?}: {said}"));
            finding.leave_edits("a snapshot keeps the machine as it was, with its saved state");
        }
        self.findings.push(finding);
    }

    /// Adds a finding about a key. The key belongs to the machine, not to a snapshot.
    fn key(&mut self, rule: &'static Rule, extra: &Extra, summary: Option<String>, fix: &str) {
        let mut finding = Finding::new(rule, extra.whole.clone()).fix(fix);
        finding.summary = summary;
        // After the removal an earlier key of the same name would apply.
        let same: Vec<&Extra> =
            self.machine.extra.iter().filter(|other| other.name == extra.name).collect();
        if same.iter().all(|extra| extra.remove.is_some()) {
            for remove in same.iter().filter_map(|extra| extra.remove.clone()) {
                finding = finding.edit(remove, "");
            }
        }
        self.findings.push(finding);
    }
}

fn judge(machine: &Machine, first: bool, findings: &mut Vec<Finding>) {
    // The TSC, its modes and the HPET are those of x86.
    if machine.is_arm() {
        return;
    }
    let mut judge = Judge { machine, first, findings };
    let refuses = keys(&mut judge);
    mode(&mut judge, refuses);
    provider(&mut judge);
    if machine.hpet() {
        let span = machine.hpet.as_ref().map_or_else(|| machine.head.clone(), |h| h.span.clone());
        judge.add(Finding::new(rule!("vb-hpet-on"), span));
    }
}

/// Reports keys that are wrong whatever the other settings are. Returns whether the machine does not start.
fn keys(judge: &mut Judge<'_>) -> bool {
    let machine = judge.machine;
    let keys = machine.keys();
    let mut refuses = false;
    for extra in machine.extra.iter() {
        let Some(name) = extra.tm() else { continue };
        let Some(key) = Key::find(|known| known == name) else {
            if !tsc::known(name) && !is_template(name) {
                refuses = true;
                if !judge.first && machine.own_file {
                    continue;
                }
                let near = Key::find(|known| known.eq_ignore_ascii_case(name));
                let fix = near.map_or_else(
                    || "remove the key".to_owned(),
                    |key| format!("the key is called {}", key.name()),
                );
                let remove = extra.remove.clone().filter(|_| near.is_none());
                let finding = Finding::new(rule!("vb-key-unknown"), extra.whole.clone()).fix(fix);
                judge.findings.push(finding.edit_at(remove, ""));
            }
            continue;
        };
        if key.is_old() {
            refuses = true;
            if judge.first || !machine.own_file {
                old_key(judge, extra, key);
            }
        }
    }
    // `keys` has the last value of each.
    if let Some(extra) = machine.key(Key::Ticks)
        && !is_template(&extra.value.value)
        && refusal(&keys_of(Key::Ticks, &keys)) == Some(Refusal::Ticks)
    {
        judge.key(
            rule!("vb-ticks-out-of-range"),
            extra,
            None,
            "remove the key: the host's own rate is correct",
        );
        refuses = true;
    }
    if let Some(extra) = machine.key(Key::Warp) {
        let one = keys_of(Key::Warp, &keys);
        if refusal(&one) == Some(Refusal::Warp) {
            judge.key(
                rule!("vb-warpdrive-out-of-range"),
                extra,
                None,
                "remove the key, or give 2 to 20000",
            );
            refuses = true;
        } else if one.warp.is_some_and(|warp| warp != 100) {
            let fix = "remove the key for a guest that keeps time";
            judge.findings.push(Finding::new(rule!("vb-warpdrive"), extra.whole.clone()).fix(fix));
        }
    }
    if let (Some(extra), Some(ModeKey::Wrong(value))) = (machine.key(Key::Mode), &keys.mode) {
        let known = ["VirtTSCEmulated", "RealTSCOffset", "Dynamic"];
        let meant = known.into_iter().find(|known| known.eq_ignore_ascii_case(value.trim()));
        let span = || extra.value.span.clone();
        let finding = Finding::new(rule!("vb-tscmode-unknown"), span())
            .fix("use VirtTSCEmulated, RealTSCOffset or Dynamic, with this case");
        judge.findings.push(finding.edit_at(meant.map(|_| span()), meant.unwrap_or_default()));
        refuses = true;
    }
    tied(judge, keys.tied == Some(true)) || refuses
}

fn old_key(judge: &mut Judge<'_>, extra: &Extra, key: Key) {
    let which = match judge.machine.era {
        Some(_) => {
            "this file was written by VirtualBox 5.0 or later, which refuses to start with it"
        }
        None => "VirtualBox 4.x accepts it; 5.0 and later do not start with it",
    };
    let fix = "remove it; for the real TSC: VBoxManage setextradata VM VBoxInternal/TM/TSCMode RealTSCOffset";
    judge.key(rule!("vb-key-refuses-start"), extra, Some(format!("{}: {which}", key.name())), fix);
}

fn tied(judge: &mut Judge<'_>, tied: bool) -> bool {
    let machine = judge.machine;
    let Some(extra) = machine.key(Key::Tied).filter(|_| tied) else { return false };
    let fix = "remove TSCTiedToExecution";
    if machine.engine() == Some(Engine::Nem) {
        judge.key(rule!("vb-tied-nem"), extra, None, fix);
        return true;
    }
    match machine.vcpus() {
        Some(count) if count > 1 => {
            let said = format!("TSCTiedToExecution with {count} vCPUs");
            judge.key(rule!("vb-tied-smp"), extra, Some(said), fix);
        }
        _ => {
            let fix = "remove TSCTiedToExecution, unless the guest exists only for measurements";
            judge.findings.push(Finding::new(rule!("vb-tied"), extra.whole.clone()).fix(fix));
        }
    }
    false
}

/// Returns only one key, to compute its own effect.
fn keys_of(key: Key, keys: &tsc::Keys) -> tsc::Keys {
    match key {
        Key::Ticks => tsc::Keys { ticks: keys.ticks, ..tsc::Keys::default() },
        Key::Warp => tsc::Keys { warp: keys.warp, ..tsc::Keys::default() },
        _ => tsc::Keys::default(),
    }
}

fn refusal(keys: &tsc::Keys) -> Option<Refusal> {
    tsc::effective(keys, 1, Era::Five, Engine::Own, true).mode.err()
}

/// Reports the resulting mode, and keys without effect.
fn mode(judge: &mut Judge<'_>, refuses: bool) {
    let machine = judge.machine;
    let keys = machine.keys();
    let engine = machine.engine().unwrap_or(Engine::Own);
    // Without the number of vCPUs, only findings that do not depend on it are reported.
    let vcpus = machine.vcpus();
    // A key that 5.0 refuses may still be intended for 4.x.
    let era = if refuses { Era::Four } else { Era::Five };
    let Effective { mode, why, overridden } =
        tsc::effective(&keys, vcpus.unwrap_or(1), era, engine, true);
    for (key, by) in overridden {
        if refuses && matches!(key, Key::Mode | Key::Switch) {
            continue;
        }
        let Some(extra) = machine.key(key) else { continue };
        let said = match by {
            Some(by) if machine.key(by).is_none() => {
                format!("{} does nothing without {}", key.name(), by.name())
            }
            Some(by) => format!("{} does nothing: {} overrides it", key.name(), by.name()),
            None => format!("{} does nothing: {why}", key.name()),
        };
        let alone = by.is_none_or(|by| machine.key(by).is_none());
        let finding = Finding::new(rule!("vb-key-overridden"), extra.whole.clone())
            .summary(said)
            .fix(if alone { "remove it" } else { "remove the one that is not wanted" });
        judge.findings.push(finding);
    }
    if refuses {
        return;
    }
    if keys.switch == Some(false)
        && engine == Engine::Own
        && let Some(extra) = machine.key(Key::Switch)
    {
        judge.key(rule!("vb-mode-switch-off"), extra, None, "remove the key");
    }
    match (mode, vcpus) {
        (Ok(Mode::Offset), _) => {
            let span = machine.key(Key::Mode).map(|extra| extra.whole.clone());
            if let Some(span) = span {
                judge.findings.push(Finding::new(rule!("vb-tscmode-real-ok"), span));
            }
        }
        (Ok(Mode::Dynamic), Some(count)) if count > 1 => {
            if let Some(extra) = machine.key(Key::Mode) {
                let mut finding =
                    Finding::new(rule!("vb-tscmode-dynamic-smp"), extra.value.span.clone())
                        .fix("use RealTSCOffset on a host whose TSC is reliable");
                finding.left = Some(OF_THE_HOST.to_owned());
                judge.findings.push(finding);
            }
        }
        (Ok(Mode::Dynamic), Some(_)) => {
            let span =
                machine.cpus.as_ref().map_or_else(|| machine.head.clone(), |c| c.span.clone());
            judge.add(Finding::new(rule!("vb-up-dynamic-tsc"), span));
        }
        (Ok(Mode::Emulated), _) => emulated(judge, &keys, vcpus, why),
        _ => {}
    }
}

/// The reason why RealTSCOffset is left to be set by hand: it needs such a host, and a state that is saved with it
/// belongs to that host.
const OF_THE_HOST: &str = "whether the TSCs of the host's CPUs agree, and whether a saved state moves, is not in the file";

fn emulated(judge: &mut Judge<'_>, keys: &tsc::Keys, vcpus: Option<u32>, why: &str) {
    let machine = judge.machine;
    // The warp drive and TSCTiedToExecution have separate findings.
    if keys.warp.is_some_and(|warp| warp != 100) || keys.tied == Some(true) {
        return;
    }
    let forced = machine.key(Key::Ticks).or_else(|| machine.key(Key::Mode));
    if let Some(extra) = forced {
        if !is_template(&extra.value.value) {
            judge.key(
                rule!("vb-tsc-forced-emulated"),
                extra,
                Some(why.to_owned()),
                "remove the key",
            );
        }
        return;
    }
    let Some(count) = vcpus.filter(|count| *count > 1) else { return };
    let provider = machine.provider();
    // The default is KVM's interface for Linux, and Hyper-V's for Windows; both turn the trapping off.
    let (guest, known) = machine.guest();
    let (who, what, own) = match guest {
        Guest::Windows => ("Windows", "Hyper-V's reference page", "hyperv"),
        _ => ("Linux", "its paravirtual clock", "kvm"),
    };
    // A variable names the type.
    let variable = machine.os.as_ref().is_some_and(|os| is_template(&os.value));
    // A type in a script that VirtualBox does not know has a separate finding.
    let unknown = !known && !variable && !machine.own_file;
    let linux = matches!(guest, Guest::Linux | Guest::Windows) && !unknown;
    let kvm = provider.as_deref().is_some_and(|it| it == "default" || it == own);
    let span = machine.cpus.as_ref().map_or_else(|| machine.head.clone(), |c| c.span.clone());
    let fix = "VBoxManage setextradata VM VBoxInternal/TM/TSCMode RealTSCOffset, on a host whose TSC is \
               reliable";
    let mut finding = Finding::new(rule!("vb-smp-tsc-emulated"), span)
        .summary(format!("{count} vCPUs without TSCMode: {why}"))
        .fix(fix);
    let is_open = !machine.complete || unknown || variable;
    if (linux && kvm) || is_open {
        finding.severity = Severity::Info;
        // An older Windows has none to enable.
        let old = machine.os.as_ref().is_some_and(|os| old_windows(&os.value));
        if linux && kvm && !old {
            let said = format!(
                "{count} vCPUs without TSCMode: reads of the TSC trap until {who} turns on {what}, \
                 which its hypervisor's interface allows"
            );
            finding = finding.summary(said);
            finding.fix = None;
        } else if is_open && provider.as_deref().is_none_or(|name| name == "default") {
            // The box, an imported machine or its type decides.
            finding = finding.summary(format!(
                "{count} vCPUs without TSCMode here: every read of the TSC traps, unless other settings of this machine name \
                 a mode, or its guest uses the paravirtual interface of its type (KVM's for Linux, Hyper-V's for Windows)"
            ));
        }
    } else {
        finding.left = Some(OF_THE_HOST.to_owned());
    }
    judge.add(finding);
}

fn provider(judge: &mut Judge<'_>) {
    let machine = judge.machine;
    let (guest, known) = machine.guest();
    let head = || machine.head.clone();
    // In a script, another system of templates may still fill in a value.
    let named = machine.os.as_ref().is_some_and(|os| {
        !os.value.is_empty()
            && os.value.bytes().all(|b| b.is_ascii_alphanumeric() || b"_- .".contains(&b))
    });
    if !known && (machine.own_file || named) {
        let span = machine.os.as_ref().map_or_else(head, |os| os.span.clone());
        let fix = "choose a type of `VBoxManage list ostypes`";
        judge.add(Finding::new(rule!("vb-ostype-unknown"), span).fix(fix));
    }
    let Some(provider) = machine.provider() else { return };
    if is_template(&provider) {
        return;
    }
    let span = machine.provider.as_ref().map_or_else(head, |p| p.span.clone());
    let chosen = matches!(provider.as_str(), "none" | "minimal" | "legacy" | "kvm");
    let old = machine.os.as_ref().is_some_and(|os| old_windows(&os.value));
    match (provider.as_str(), guest) {
        (_, Guest::Windows) if chosen && !old => {
            let finding = Finding::new(rule!("vb-paravirt-not-hyperv"), span)
                .summary(format!("a Windows guest with the provider {provider}"))
                .fix("VBoxManage modifyvm VM --paravirt-provider hyperv");
            judge.add(finding);
        }
        // `legacy` is `minimal` for macOS, and `none` for all others.
        ("none" | "legacy", Guest::Unknown) => {
            let finding = Finding::new(rule!("vb-paravirt-none"), span)
                .summary(format!("no paravirtual clock with the provider {provider}"))
                .fix("VBoxManage modifyvm VM --paravirt-provider default, unless the guest must not see VirtualBox");
            judge.add(finding);
        }
        ("kvm", _) => judge.add(Finding::new(rule!("vb-paravirt-kvm-ok"), span)),
        ("default", Guest::Linux) if known => {
            judge.add(Finding::new(rule!("vb-paravirt-default-linux-ok"), span))
        }
        // A type such as OpenSolaris_64 names a system: it is not a Linux with a wrong type.
        ("default", Guest::Other) if known && machine.unspecific() => {
            let fix = "if the guest is Linux: VBoxManage modifyvm VM --paravirt-provider kvm";
            judge.add(Finding::new(rule!("vb-paravirt-default-other"), span).fix(fix));
        }
        ("none" | "minimal" | "hyperv" | "legacy", Guest::Linux) => {
            let mut finding = Finding::new(rule!("vb-paravirt-not-kvm"), span)
                .summary(format!("a Linux guest with the provider {provider}"))
                .fix("VBoxManage modifyvm VM --paravirt-provider kvm");
            if let Some(setting) = &machine.provider {
                let kvm = if setting.value.starts_with(|c: char| c.is_ascii_uppercase()) {
                    "KVM"
                } else {
                    "kvm"
                };
                finding = finding.edit(setting.span.clone(), kvm);
            }
            judge.add(finding);
        }
        _ => {}
    }
}
