//! Xen: the domain files of `xl` (and of `xm`, its predecessor).
//!
//! [`config`] is the syntax; scripts of XenServer and XCP-ng are in [`xapi`]. libvirt domains that run under Xen are in `libvirt`.

mod config;
#[cfg(test)]
mod tests;
mod xapi;

use crate::detect::{Clues, Sign};
use crate::document::Document;
use crate::finding::{Finding, Severity};
use crate::formats::Format;
use crate::guest::{Guest, Known, base, is_disk, old_windows};
use crate::inner::nothing;
use crate::limits::Limits;
use crate::lint::{LintError, Report};
use crate::named;
use crate::parameters;
use config::Setting;

/// The registry entry of this kind.
pub(super) const FORMAT: Format = Format {
    name: "xen",
    files: "Xen",
    sample: ("a.cfg", "name = 'a'\nbuilder = 'hvm'\nvcpus = 2\n"),
    rules: rules!("xen"),
    detect,
    lint,
    limits: Limits { doubtful: config::doubts, ..Limits::PLAIN },
    qemu: None,
};

/// Settings of a domain, and of nothing else.
const CERTAIN: &str = "tsc_mode builder xen_platform_pci viridian device_model_version nomigrate";
/// Settings that other files may also have.
const COMMON: &str = "on_poweroff bootloader vif disk vcpus maxmem memory kernel ramdisk hap timer_mode \
    nestedhvm altp2m type hpet vnc sdl extra acpi apic";

/// Returns how many of the lines are settings of a domain.
fn settings(clues: &Clues<'_>) -> usize {
    // The text after a key and its equal sign.
    let value = |line: &str, key: &str| {
        let value = line.strip_prefix(key)?.trim_start().strip_prefix('=')?;
        Some(value.trim_start().to_owned())
    };
    let count = |list: &str| clues.keys(&list.split(' ').collect::<Vec<_>>(), '=');
    let lists = ["disk", "vif"].iter().filter(|key| {
        clues.has(|line| value(line, key).is_some_and(|value| value.starts_with('[')))
    });
    // A domain on ARM; the firmware of boards also has the key, but does not name a domain.
    let arm = count("device_tree") == 1 && count("name memory vcpus") >= 2;
    let certain = count(CERTAIN) + lists.count() + usize::from(arm);
    let kind = |line: &str| {
        value(line, "type").is_some_and(|value| value.contains("hvm") || value.contains("pv"))
    };
    match certain {
        0 if !clues.has(kind) => 0,
        _ => certain + count(COMMON),
    }
}

/// Commands of XenServer and XCP-ng for a machine.
const XE: &str = "vm-param-set vm-param-remove vm-install vm-start vm-shutdown vm-reboot vm-clone vm-copy vm-import \
    vm-export vm-destroy vm-uninstall vm-migrate vm-memory-limits-set vm-cd-insert";

fn detect(clues: &Clues<'_>) -> Option<Sign> {
    // A set of Nix has lists of the same names: `disk = [ { type = "file"; } ];`.
    if clues.ends(&["nix"]) {
        return None;
    }
    match settings(clues) {
        0 if xapi::any(clues.text) => Some(Sign::Part),
        0 => named::is(clues, "xe", XE).then_some(Sign::Ending),
        1 => clues.ends(&["cfg", "xl", "hvm"]).then_some(Sign::Ending),
        _ => Some(Sign::Words),
    }
}

/// The type of the domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Machine {
    Pv,
    Pvh,
    Hvm,
}

struct Domain {
    settings: Vec<Setting>,
}

impl Domain {
    /// The last setting of a name.
    fn get(&self, key: &str) -> Option<&Setting> {
        self.settings.iter().rev().find(|setting| setting.key == key)
    }

    fn on(&self, key: &str) -> Option<bool> {
        self.get(key).and_then(Setting::on)
    }

    fn machine(&self) -> Machine {
        let kind = self.get("type").or_else(|| self.get("builder")).map(Setting::text);
        match kind.as_deref() {
            Some("hvm") => Machine::Hvm,
            Some("pvh") => Machine::Pvh,
            Some(_) => Machine::Pv,
            None if self.on("pvh") == Some(true) => Machine::Pvh,
            None => {
                let kernel = self.get("kernel").map(Setting::text).unwrap_or_default();
                if kernel.contains("hvmloader") { Machine::Hvm } else { Machine::Pv }
            }
        }
    }

    /// Returns the guest's system. A file does not declare it, but its name and its settings often show it.
    fn guest(&self, document: &Document) -> Known {
        let name = self.get("name").map(Setting::text).unwrap_or_default();
        let boots = |key: &str| self.get(key).is_some();
        // Xen starts a kernel in a machine of any type.
        let kernel = self.get("kernel").map(Setting::text).unwrap_or_default();
        let direct = crate::guest::linux_kernel(&kernel)
            || self.machine() != Machine::Hvm
                && (boots("ramdisk") || boots("root") || boots("extra"));
        let viridian = self.get("viridian").is_some_and(|setting| setting.on() != Some(false));
        let disks = self.get("disk").map_or(&[][..], |disk| &disk.values);
        let images = disks.iter().flat_map(|disk| disk.text.split([',', ' ', '=']).map(base));
        let names = images.filter(|part| is_disk(part)).chain([name.as_str()]);
        let known = document.system(direct.then_some(Guest::Linux), None, names);
        // Other systems may have it too.
        let other = if viridian { Guest::Windows } else { Guest::Unknown };
        known.or(match document.guest {
            Some(guest) => Known::declared(guest),
            None => Known { guest: other, guessed: viridian },
        })
    }

    /// Returns whether `cpuid` turns a feature on or off. It has two forms: `"host,tm=0,invtsc=1"` and
    /// `[ '0x80000007:edx=...' ]`, only the first of which is read, because it has names.
    fn feature(&self, names: &[&str]) -> Option<bool> {
        let setting = self.get("cpuid")?;
        let mut state = None;
        for value in &setting.values {
            for part in value.text.split(',') {
                let Some((name, bit)) = part.split_once('=') else { continue };
                if names.contains(&name.trim()) {
                    state = match bit.trim() {
                        "0" => Some(false),
                        "1" | "k" | "s" => Some(true),
                        _ => state,
                    };
                }
            }
        }
        state
    }
}

fn lint(document: &Document) -> Result<Report, LintError> {
    if let Some(report) = xapi::lint(document) {
        return Ok(report);
    }
    if named::runs(document.text.as_str(), "xe", XE) {
        return Ok(nothing(document.guest.unwrap_or_default()));
    }
    let domain = Domain { settings: config::read(document) };
    if domain.settings.is_empty() {
        return Err(LintError::whole("no setting of the form key = value: this is not an xl.cfg"));
    }
    let Known { guest, guessed } = domain.guest(document);
    // A fragment has no name.
    let partial = domain.get("name").is_none();
    let mut findings = Vec::new();
    // A device tree is for ARM, which has neither a TSC nor an HPET.
    if domain.get("device_tree").is_none() {
        let old = old_reader(&domain, document.text.as_str());
        tsc_mode(&domain, guest, partial, old, &mut findings);
        features(&domain, guest, &mut findings);
        timers(&domain, guest, partial, old, &mut findings);
    }
    for key in ["extra", "cmdline", "root"] {
        let Some(setting) = domain.get(key) else { continue };
        for value in &setting.values {
            let quote = usize::from(value.quoted);
            findings.extend(parameters::lint(&value.text, value.span.start + quote, true));
        }
    }
    Ok(Report::of(Known { guest, guessed }, partial, findings))
}

/// The mode of a number or a name.
fn mode(modes: &[&'static str], text: &str) -> Option<&'static str> {
    match text.parse::<usize>() {
        Ok(number) => modes.get(number).copied(),
        Err(_) => modes.iter().copied().find(|mode| *mode == text),
    }
}

const MODES: [&str; 4] = ["default", "always_emulate", "native", "native_paravirt"];

/// Returns the reason why a number stays, if the file may be for xm, or for the first xl (Xen 4.1,
/// `tools/libxl/xl_cmdimpl.c`): these do not accept names.
fn old_reader(domain: &Domain, text: &str) -> Option<&'static str> {
    let model = domain.get("device_model").is_some_and(|it| it.text().contains("qemu-dm"));
    let lower = text.to_ascii_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric() && c != '.');
    let words: Vec<&str> = words.map(|word| word.trim_end_matches('.')).collect();
    let version = |word: &str| {
        let mut numbers = word.split('.');
        matches!(
            (numbers.next(), numbers.next()),
            (Some("3"), Some(_)) | (Some("4"), Some("0" | "1"))
        )
    };
    let versioned = words
        .windows(2)
        .any(|two| matches!(two, [name, word] if matches!(*name, "xen" | "xl") && version(word)));
    let named = words.iter().any(|word| matches!(*word, "xm" | "xend"));
    (model || versioned || named)
        .then_some("the file may be for xm or for xl of Xen 4.1, which know numbers only")
}

fn tsc_mode(
    domain: &Domain,
    guest: Guest,
    partial: bool,
    old: Option<&'static str>,
    findings: &mut Vec<Finding>,
) {
    let head = domain.settings.first().map_or(0..0, |first| first.span.clone());
    let setting = domain.get("tsc_mode");
    let span = setting.map_or_else(|| head.clone(), |setting| setting.span.clone());
    let value = setting.and_then(Setting::one);
    let text = setting.map(Setting::text).unwrap_or_default();
    let mode = if setting.is_none() { Some("default") } else { mode(&MODES, &text) };
    let mut numeric = false;
    if let (Ok(_), Some(mode), Some(value)) = (text.parse::<usize>(), mode, value)
        && mode != "native_paravirt"
    {
        numeric = true;
        let mut finding = Finding::new(rule!("xen-tsc-mode-numeric"), span.clone())
            .summary(format!("tsc_mode = {text}: numbers are deprecated"))
            .fix(format!("tsc_mode = \"{mode}\""));
        match old {
            Some(why) => finding.left = Some(why.to_owned()),
            None => finding = finding.edit(value.span.clone(), format!("\"{mode}\"")),
        }
        findings.push(finding);
    }
    let nomigrate = domain.on("nomigrate") == Some(true);
    let invariant = nomigrate || domain.feature(&["invtsc", "itsc"]) == Some(true);
    match mode {
        None if text.is_empty() || text.contains(['$', '{', '%']) => {}
        None => {
            let fix = "tsc_mode = \"default\", \"always_emulate\" or \"native\"";
            findings.push(Finding::new(rule!("xen-tsc-mode-unknown"), span).fix(fix));
        }
        Some("native_paravirt") => {
            let finding = Finding::new(rule!("xen-tsc-mode-removed"), span)
                .fix("tsc_mode = \"default\", or remove the line");
            findings.push(finding.edit_at(value.map(|value| value.span.clone()), "\"default\""));
        }
        Some("always_emulate") => {
            let finding =
                Finding::new(rule!("xen-tsc-always-emulate"), span).fix("tsc_mode = \"default\"");
            let value = value.filter(|_| !numeric).map(|value| value.span.clone());
            findings.push(finding.edit_at(value, "\"default\""));
        }
        Some("native") if invariant => {
            findings.push(Finding::new(rule!("xen-invtsc-native-ok"), span))
        }
        Some("native") => {
            findings.push(Finding::new(rule!("xen-native-no-nomigrate"), span).fix(
                "nomigrate = 1 if the domain never migrates, otherwise tsc_mode = \"default\"",
            ))
        }
        Some(_) => {
            if !partial || setting.is_some() {
                findings.push(Finding::new(rule!("xen-tsc-default"), span));
            }
            if nomigrate {
                let span = domain.get("nomigrate").map_or(head, |setting| setting.span.clone());
                findings.push(Finding::new(rule!("xen-nomigrate-ok"), span));
            } else if guest != Guest::Windows && !partial && domain.machine() != Machine::Pv {
                findings.push(
                    Finding::new(rule!("xen-no-nomigrate"), head)
                        .fix("nomigrate = 1, if the domain never migrates"),
                );
            }
        }
    }
}

fn features(domain: &Domain, guest: Guest, findings: &mut Vec<Finding>) {
    let Some(cpuid) = domain.get("cpuid") else { return };
    let span = || cpuid.span.clone();
    if domain.feature(&["invtsc", "itsc"]) == Some(false) {
        let fix = "remove invtsc=0 from cpuid";
        findings.push(Finding::new(rule!("xen-invtsc-masked"), span()).fix(fix));
    }
    if domain.feature(&["rdtscp"]) == Some(false) {
        findings
            .push(Finding::new(rule!("xen-rdtscp-off"), span()).fix("remove rdtscp=0 from cpuid"));
    }
    if domain.feature(&["hypervisor"]) == Some(false) {
        let name = domain.get("name").map(Setting::text).unwrap_or_default();
        let severity = match guest {
            _ if crate::guest::unaware(guest, [name.as_str()]) => Severity::Info,
            Guest::Windows => Severity::Warn,
            _ => Severity::Error,
        };
        findings.push(
            Finding::new(rule!("xen-hypervisor-hidden"), span())
                .severity(severity)
                .fix("remove hypervisor=0 from cpuid"),
        );
    }
}

fn timers(
    domain: &Domain,
    guest: Guest,
    partial: bool,
    old: Option<&'static str>,
    findings: &mut Vec<Finding>,
) {
    let head = domain.settings.first().map_or(0..0, |first| first.span.clone());
    let hvm = domain.machine() == Machine::Hvm;
    match domain.get("hpet") {
        None if hvm && !partial => {
            findings.push(Finding::new(rule!("xen-hpet-default-on"), head.clone()))
        }
        Some(setting) if setting.on() == Some(true) => {
            findings.push(Finding::new(rule!("xen-hpet-on"), setting.span.clone()));
        }
        _ => {}
    }
    if let Some(setting) = domain.get("timer_mode") {
        const MODES: [&str; 4] = [
            "delay_for_missed_ticks",
            "no_delay_for_missed_ticks",
            "no_missed_ticks_pending",
            "one_missed_tick_pending",
        ];
        let text = setting.text();
        match mode(&MODES, &text) {
            Some("delay_for_missed_ticks") if guest != Guest::Windows => {
                let value = setting.one().filter(|_| old.is_none()).map(|value| value.span.clone());
                let mut finding = Finding::new(rule!("xen-timer-mode-delay"), setting.span.clone())
                    .fix("timer_mode = \"no_delay_for_missed_ticks\", which is the default")
                    .edit_at(value, "\"no_delay_for_missed_ticks\"");
                finding.left = old.map(str::to_owned);
                findings.push(finding);
            }
            None if !text.is_empty() && !text.contains(['$', '{', '%']) => findings.push(
                Finding::new(rule!("xen-timer-mode-unknown"), setting.span.clone())
                    .fix("timer_mode = \"no_delay_for_missed_ticks\", which is the default"),
            ),
            _ => {}
        }
    }
    let name = domain.get("name").map(Setting::text).unwrap_or_default();
    // Of a guest that is known to be Windows, a part of the name is enough: `xp`.
    if !(guest == Guest::Windows && old_windows(&format!("windows {name}"))) {
        viridian(domain, guest, hvm, partial, findings);
    }
}

/// The setting that gives Windows its clock.
const VIRIDIAN: &str = "viridian = [\"defaults\", \"reference_tsc\", \"stimer\"]";

fn viridian(domain: &Domain, guest: Guest, hvm: bool, partial: bool, findings: &mut Vec<Finding>) {
    let head = domain.settings.first().map_or(0..0, |first| first.span.clone());
    let setting = domain.get("viridian");
    let groups: Vec<String> = setting
        .map(|s| s.values.iter().map(|v| v.text.to_ascii_lowercase()).collect())
        .unwrap_or_default();
    // A list of groups, or one number.
    let on = match groups.as_slice() {
        [one] => setting.and_then(Setting::on).unwrap_or(false) && !one.starts_with('!'),
        list => list.iter().any(|group| !group.starts_with('!')),
    };
    // The last word applies; a list that is known only at run time may have it.
    let told = |group: &&String| {
        let name = group.trim_start_matches('!');
        matches!(name, "reference_tsc" | "all") || name.contains(['$', '{', '%'])
    };
    let reference = groups.iter().rfind(told).is_some_and(|group| !group.starts_with('!'));
    let span = setting.map_or(head, |setting| setting.span.clone());
    if guest == Guest::Windows && hvm && !on && (setting.is_some() || !partial) {
        findings.push(Finding::new(rule!("xen-viridian-off"), span).fix(VIRIDIAN));
    } else if guest == Guest::Windows && hvm && on && !reference {
        findings.push(Finding::new(rule!("xen-viridian-no-reference-tsc"), span).fix(VIRIDIAN));
    } else if guest == Guest::Linux && hvm && on {
        findings.push(Finding::new(rule!("xen-viridian-linux"), span));
    }
}
