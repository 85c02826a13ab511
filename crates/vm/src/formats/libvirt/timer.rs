//! The timers of a domain of the QEMU driver.

use super::domain::Domain;
use super::place;
use crate::finding::{Finding, Severity};
use crate::formats::qemu::cpu;
use crate::formats::qemu::machine::{RESTORED, TICKS};
use crate::guest::Guest;
use crate::xml::Element;

/// Looks at the timers.
pub(super) fn check(domain: &Domain<'_>) -> Vec<Finding> {
    let mut out = Vec::new();
    for (n, timer) in domain.timers.iter().enumerate() {
        let name = timer.value("name").unwrap_or_default();
        let later = domain.timers.iter().skip(n + 1).any(|other| other.value("name") == Some(name));
        if later && !domain.tree.template {
            let finding = Finding::new(rule!("lv-duplicate-timer"), timer.open.clone())
                .fix("remove one of them");
            out.push(finding);
            continue;
        }
        match name {
            "tsc" => out.extend(tsc(domain, timer)),
            "rtc" | "pit" => {
                if timer.attribute("present").is_some() {
                    out.push(Finding::new(rule!("lv-rtc-pit-present-noop"), timer.open.clone()));
                }
                let wanted = name == "rtc" && matches!(domain.guest, Guest::Windows | Guest::Macos);
                if timer.value("tickpolicy") == Some("catchup") && !wanted {
                    out.push(
                        Finding::new(rule!("lv-tickpolicy-catchup-linux"), timer.open.clone())
                            .fix("for Linux remove tickpolicy=; for Windows rtc catchup and pit delay are right"),
                    );
                }
            }
            _ => {}
        }
    }
    let mut hpet = hpet(domain);
    // The emulator has neither.
    if !domain.emulated() {
        out.extend(kvmclock(domain));
        let mut reference = hypervclock(domain);
        together(domain, hpet.as_mut(), reference.as_mut());
        out.extend(reference);
    }
    out.extend(hpet);
    out
}

/// A domain without a clock gets one clock with both timers.
fn together(domain: &Domain<'_>, one: Option<&mut Finding>, other: Option<&mut Finding>) {
    let (Some(one), Some(other)) = (one, other) else { return };
    if domain.clock.is_some() || one.edits.is_empty() || other.edits.is_empty() {
        return;
    }
    let timers = ["hpet", "hypervclock"].map(|name| {
        let present = if name == "hpet" { "no" } else { "yes" };
        place::element(domain, "timer", &[("name", name), ("present", present)])
    });
    if let Some(edit) = place::clock(domain, &timers) {
        one.edits = vec![edit.clone()];
        other.edits = vec![edit];
    }
}

/// Only the frequency counts.
fn tsc(domain: &Domain<'_>, timer: &Element) -> Option<Finding> {
    let dead: Vec<_> = timer
        .attributes
        .iter()
        .filter(|a| matches!(a.name.as_str(), "present" | "mode" | "tickpolicy"))
        .collect();
    if dead.is_empty() {
        return None;
    }
    let useful = timer.attribute("frequency").is_some();
    let harmless = useful && dead.iter().all(|a| a.name == "present" && a.value == "yes");
    let severity = if harmless { Severity::Info } else { Severity::Warn };
    let mut finding =
        Finding::new(rule!("lv-tsc-timer-noop"), timer.open.clone()).severity(severity);
    if useful {
        finding = finding.fix("remove present=, mode= and tickpolicy=");
        for attribute in dead {
            finding = finding.edit(attribute.whole.clone(), "");
        }
    } else {
        finding = finding.fix(
            "remove the timer; if the guest is to have an invariant TSC, say \
             <feature policy='require' name='invtsc'/> (`vm fix --invtsc`)",
        );
        finding = finding.edits(Some(place::remove(domain, timer)));
    }
    Some(finding)
}

/// Why an HPET is left.
const COMMENTED: &str = "a comment in <clock> mentions the HPET";

fn hpet(domain: &Domain<'_>) -> Option<Finding> {
    if !domain.pc() || domain.line.no_hpet.is_some() {
        return None;
    }
    let may = domain.guest != Guest::Macos;
    // `-machine hpet=` in qemu:commandline comes last.
    let asked = domain.line.machines.iter().rev().find_map(|machine| machine.get("hpet"));
    if let Some(property) = asked {
        let on = property.state() == Some(true);
        return on.then(|| {
            Finding::new(rule!("lv-hpet-on"), property.span()).fix("say hpet=off, or remove it")
        });
    }
    let timer = domain.timer("hpet");
    match domain.present("hpet") {
        Some(false) => None,
        Some(true) => {
            let timer = timer?;
            let finding = Finding::new(rule!("lv-hpet-on"), timer.open.clone())
                .fix("<timer name='hpet' present='no'/>");
            if commented(domain) {
                return Some(Finding { left: Some(COMMENTED.to_owned()), ..finding });
            }
            if domain.guest == Guest::Windows && !stimer(domain) {
                return Some(Finding { left: Some(TICKS.to_owned()), ..finding });
            }
            let edit = may.then(|| place::set(domain, timer, "present", "no"));
            Some(finding.edits(edit))
        }
        None => {
            if timer.is_some_and(|timer| timer.attribute("present").is_some()) {
                return None;
            }
            if domain.clock.is_none() && !domain.whole {
                return None;
            }
            let span = timer.or(domain.clock).or(domain.element)?.open.clone();
            let finding = Finding::new(rule!("lv-hpet-default-on"), span)
                .fix("<timer name='hpet' present='no'/>");
            // Nothing of KVM leaves an emulated guest.
            if domain.emulated() || !serves(domain) {
                return Some(finding);
            }
            let finding = finding.severity(Severity::Warn);
            if commented(domain) {
                return Some(Finding { left: Some(COMMENTED.to_owned()), ..finding });
            }
            if domain.guest == Guest::Windows && !stimer(domain) {
                return Some(Finding { left: Some(TICKS.to_owned()), ..finding });
            }
            let restored = kvmclock(domain)
                .is_some_and(|it| it.rule.id == rule!("lv-kvmclock-off-no-invtsc").id);
            if restored && domain.switched("kvm", "hidden").is_none_or(|(_, on)| !on) {
                return Some(Finding { left: Some(RESTORED.to_owned()), ..finding });
            }
            let edit = may.then(|| place::timer(domain, "hpet", "present", "no")).flatten();
            Some(finding.edits(edit))
        }
    }
}

/// Whether Windows gets the page of Hyper-V with the reference time.
fn page(domain: &Domain<'_>) -> bool {
    match domain.line.cpu() {
        Some(cpu) => ["hv-time", "hv-passthrough"].iter().any(|name| cpu.flag(name) == Some(true)),
        None => domain.present("hypervclock") == Some(true),
    }
}

/// Whether Windows gets the timers of Hyper-V.
fn stimer(domain: &Domain<'_>) -> bool {
    match domain.line.cpu() {
        Some(cpu) => {
            ["hv-stimer", "hv-passthrough"].iter().any(|name| cpu.flag(name) == Some(true))
        }
        None => domain.switched("hyperv", "stimer").is_some_and(|(_, on)| on) || passes(domain),
    }
}

/// Whether all that the host has of Hyper-V is passed on.
fn passes(domain: &Domain<'_>) -> bool {
    let hyperv = domain.features.and_then(|it| domain.tree.children(it, "hyperv").next());
    hyperv.is_some_and(|it| it.value("mode") == Some("passthrough"))
}

/// Whether the guest may come to use an HPET; the ratings of its clocks are those of `q-hpet-default-on`.
fn serves(domain: &Domain<'_>) -> bool {
    let hidden = match domain.line.cpu() {
        Some(cpu) => ["kvm", "kvmclock", "hypervisor"].iter().any(|n| cpu.flag(n) == Some(false)),
        None => {
            domain.present("kvmclock") == Some(false)
                || domain.switched("kvm", "hidden").is_some_and(|(_, on)| on)
                || domain.feature("hypervisor").is_some_and(|(_, on)| !on)
        }
    };
    match domain.guest {
        Guest::Linux | Guest::Unknown => hidden && !page(domain),
        Guest::Windows => !((page(domain) || passes(domain)) && stimer(domain)),
        Guest::Bsd => true,
        Guest::Macos | Guest::Other => false,
    }
}

/// Whether a comment in the clock speaks of the HPET: then its author has thought of it.
fn commented(domain: &Domain<'_>) -> bool {
    let Some(clock) = domain.clock else { return false };
    let inside = domain.text.slice(clock.whole.clone());
    let mut comments = inside.split("<!--").skip(1);
    comments.any(|rest| {
        rest.split("-->")
            .next()
            .is_some_and(|comment| comment.to_ascii_lowercase().contains("hpet"))
    })
}

fn kvmclock(domain: &Domain<'_>) -> Option<Finding> {
    let timer = domain.timer("kvmclock")?;
    if domain.present("kvmclock") != Some(false) {
        return None;
    }
    let invariant = match domain.line.cpu() {
        Some(cpu) => cpu::invtsc(cpu),
        None => domain.invtsc(),
    };
    let finding = Finding::new(rule!("lv-kvmclock-off"), timer.open.clone());
    let windows = domain.guest == Guest::Windows;
    if windows || matches!(domain.guest, Guest::Macos | Guest::Bsd) {
        // Windows with neither: nothing but emulated timers.
        let bare =
            windows && domain.present("hypervclock") != Some(true) && invariant != Some(true);
        return Some(finding.severity(if bare { Severity::Warn } else { Severity::Info }));
    }
    match invariant {
        Some(false) if domain.line.cpu().is_none() => {
            let finding = Finding::new(rule!("lv-kvmclock-off-no-invtsc"), timer.open.clone())
                .fix("<timer name='kvmclock' present='yes'/>, or invtsc");
            Some(finding.edits(Some(place::set(domain, timer, "present", "yes"))))
        }
        _ => Some(finding),
    }
}

fn hypervclock(domain: &Domain<'_>) -> Option<Finding> {
    let timer = domain.timer("hypervclock");
    if let (Some(timer), Some(true)) = (timer, domain.present("hypervclock")) {
        // Behind another -cpu it never reaches QEMU.
        let reaches = domain.line.cpu().is_none();
        return reaches.then(|| Finding::new(rule!("lv-hypervclock-ok"), timer.open.clone()));
    }
    if domain.guest != Guest::Windows || domain.line.cpu().is_some() || !domain.pc() {
        return None;
    }
    if timer.is_some_and(|t| {
        t.attribute("present").is_some() && domain.present("hypervclock").is_none()
    }) {
        return None;
    }
    if timer.is_none() && (domain.clock.is_none() && !domain.whole) {
        return None;
    }
    let span = timer.or(domain.clock).or(domain.element)?.open.clone();
    let mut finding = Finding::new(rule!("lv-hypervclock-missing"), span)
        .fix("<timer name='hypervclock' present='yes'/>");
    if domain.switched("hyperv", "stimer").is_some_and(|(_, on)| on) {
        finding = finding.severity(Severity::Error).summary(
            "<stimer> without hypervclock: the machine does not start, and Windows has no reference TSC page",
        );
    }
    // Where even the hypervisor is hidden, somebody wants it so.
    let hidden = domain.feature("hypervisor").is_some_and(|(_, on)| !on);
    let edit = if hidden { None } else { place::timer(domain, "hypervclock", "present", "yes") };
    Some(finding.edits(edit))
}
