//! Completes the facts from transcripts, where neither a file nor the kernel's own lines showed them.

use super::{Pasted, prompt};
use crate::clockdev::ClocksourceDevice;
use crate::cpu::{CpuModel, CpuVendor};
use crate::hypervisor::{Hypervisor, HypervisorKind};
use crate::log::{Event, KernelLog, strip_prefix};
use crate::{Fact, Facts, Source};
use std::ops::Range;

/// Fills `slot` if it is empty.
fn fill<T>(slot: &mut Fact<T>, told: Fact<T>) {
    if !slot.is_known() && told.is_known() {
        *slot = told;
    }
}

/// Whether a line, counted from 1, is in one of the blocks.
fn is_within(blocks: &[Range<usize>], line: u64) -> bool {
    let at = usize::try_from(line).unwrap_or_default().saturating_sub(1);
    blocks.iter().any(|lines| lines.contains(&at))
}

impl Pasted {
    /// Removes from a log of the same text what is read here: the state of a time daemon, which only the text around it
    /// distinguishes from a quotation, and what source code, or a text of examples, shows. The scan of the log reads
    /// lines one by one; what the kernel stamped stays with it, unless the text says that no machine printed it.
    pub fn take_over(&self, log: &mut KernelLog) {
        let quoted = |line: u64| {
            let at = usize::try_from(line).ok()?.checked_sub(1)?;
            self.quoted.get(at).copied()
        };
        log.entries.retain(|entry| match quoted(entry.line) {
            // A text that is too long was not read here.
            None => true,
            Some(quoted) => {
                let is_state = matches!(entry.event, Event::ReadSynchronized(_));
                let stamped = strip_prefix(&entry.text).1 && !is_within(&self.imagined, entry.line);
                !is_state && (!quoted || stamped)
            }
        });
        log.extent.ownerless = !log.entries.is_empty()
            && !self.told.current.is_known()
            && log.entries.iter().all(|entry| is_within(&self.ownerless, entry.line));
    }

    /// Completes the facts that the kernel's lines gave.
    pub fn complete(self, facts: &mut Facts) {
        facts.recognised = Some(self.recognised());
        facts.symptoms = self.symptoms;
        let told = self.told;
        fill(&mut facts.kernel, told.kernel);
        if told.arch.is_known() && (!facts.arch.is_known() || facts.width_open) {
            facts.arch = told.arch;
            facts.width_open = false;
        }
        fill(&mut facts.cmdline, told.cmdline);
        if told.flags.is_known() && !facts.cpu.flags.is_known() {
            facts.cpu.flags_cut = told.flags_cut;
        }
        fill(&mut facts.cpu.flags, told.flags);
        let model = match (told.family, told.model) {
            (Some(family), Some(model)) => told.cpu.map(|name| CpuModel {
                vendor: told.vendor.as_deref().map_or(CpuVendor::OtherX86, CpuVendor::parse),
                family,
                model,
                name,
            }),
            _ => Fact::default(),
        };
        fill(&mut facts.cpu.model, model);
        fill(&mut facts.cpu.possible, told.cpus);
        fill(&mut facts.hypervisor, told.hypervisor.map(|kind| kind.map(Hypervisor::named)));
        fill(&mut facts.dmi, told.dmi);
        fill(&mut facts.ntp, told.ntp);
        fill(&mut facts.wall.source, told.source);
        fill(&mut facts.wall.shown_rtc_ahead_s, told.rtc_ahead_s);
        fill(&mut facts.wall.ntp_service, told.ntp_service);
        fill(&mut facts.wall.rtc_local, told.rtc_local);
        fill(&mut facts.wall.tools, told.tools);
        fill(&mut facts.wall.apart, told.apart);
        facts.invariant_tsc = told.invariant_tsc;
        clocksource(facts, told.current, told.available);
        hypervisor(facts);
    }
}

/// Sets the hypervisor by a clocksource that only its guests have, if no other evidence shows it.
fn hypervisor(facts: &mut Facts) {
    if facts.hypervisor.is_known() {
        return;
    }
    let Fact::Known { value: devices, source } = &facts.clocksources else { return };
    let mut names =
        devices.iter().flat_map(|device| device.available.iter().chain([&device.current]));
    if let Some(kind) = names.find_map(|name| HypervisorKind::from_clocksource(name)) {
        facts.hypervisor = Fact::known(Some(Hypervisor::named(kind)), source.clone());
    }
}

/// Whether another name was written after the reading; the text does not show whether the kernel accepted it. In a
/// sentence a command is advice.
fn chosen_later(facts: &Facts, read: &str, at: &Source) -> bool {
    let line = at.0.rsplit_once(':').and_then(|(_, line)| line.parse::<u64>().ok());
    let (Some(log), Some(line)) = (facts.kernel_log(), line) else { return false };
    let by_command = |text: &str| {
        let text = text.trim_start_matches([' ', '\t', '>']);
        prompt::read(text).is_some() || text.starts_with("echo ") || text.starts_with("sudo ")
    };
    let restarted = crate::log::restarted_for_another(log, line, read);
    restarted
        || log.changed_behind(line, read).is_some()
        || log.entries.iter().any(|entry| {
            matches!(&entry.event, Event::WroteCurrent(name) if name != read)
                && entry.line > line
                && by_command(&entry.text)
        })
}

/// Sets the values of sysfs: those that the scan of the log found are kept; others complete them.
fn clocksource(facts: &mut Facts, current: Fact<String>, available: Fact<Vec<String>>) {
    if let Fact::Known { value: devices, .. } = &mut facts.clocksources {
        let Some(device) = devices.first_mut() else { return };
        // The scan of the log reads one line of a list that has a name in each.
        if let Fact::Known { value, .. } = available
            && value.starts_with(&device.available)
            && (device.current.is_empty()
                || !device.available.is_empty()
                || value.contains(&device.current))
        {
            device.available = value;
        }
        return;
    }
    let source: Option<Source> = current.source().or(available.source()).cloned();
    // A log that continues after the reading has later evidence.
    let switched =
        facts.kernel_log().is_some_and(|log| log.any(|event| matches!(event, Event::Switched(_))));
    let Some(source) = source else { return };
    let current = current
        .value()
        .cloned()
        .filter(|name| !switched && !chosen_later(facts, name, &source))
        .unwrap_or_default();
    let available = available.value().cloned().unwrap_or_default();
    if current.is_empty() && available.is_empty() {
        return;
    }
    let device = ClocksourceDevice { index: 0, current, available };
    facts.clocksources = Fact::known(vec![device], source);
}
