//! The timers of a domain of the QEMU driver.

use super::domain::Domain;
use super::place;
use crate::finding::{Finding, Severity};
use crate::formats::qemu::clocks::Clocks;
use crate::formats::qemu::cpu;
use crate::formats::qemu::machine::FIRST;
use crate::guest::Guest;
use crate::placed::Placed;
use crate::xml::Element;
use std::ops::Range;

/// Checks the timers.
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
    // The emulator offers neither.
    if !domain.emulated() {
        out.extend(kvmclock(domain));
        out.extend(hypervclock(domain));
    }
    out.extend(hpet(domain));
    out
}

/// Only the frequency has an effect.
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
            "remove the timer; if the guest is to have an invariant TSC, write <feature \
             policy='require' name='invtsc'/> (`vm fix --invtsc`)",
        );
        finding = finding.edits(Some(place::remove(domain, timer)));
    }
    Some(finding)
}

/// The reason why an HPET is left.
const COMMENTED: &str = "a comment in <clock> mentions the HPET";

fn hpet(domain: &Domain<'_>) -> Option<Finding> {
    if !domain.pc() || domain.line.no_hpet.is_some() {
        return None;
    }
    // `-machine hpet=` in qemu:commandline comes last.
    let asked = domain.line.machines.iter().rev().find_map(|machine| machine.get("hpet"));
    if let Some(property) = asked {
        let on = property.state() == Some(true);
        return on.then(|| asked_for(domain, property.span(), "write hpet=off, or remove it"));
    }
    let timer = domain.timer("hpet");
    match domain.present("hpet") {
        Some(false) => None,
        Some(true) => {
            let timer = timer?;
            let finding =
                asked_for(domain, timer.open.clone(), "<timer name='hpet' present='no'/>");
            if commented(domain) {
                return Some(Finding { left: Some(COMMENTED.to_owned()), ..finding });
            }
            let may = domain.guest != Guest::Macos && finding.left.is_none();
            Some(finding.edits(may.then(|| place::set(domain, timer, "present", "no"))))
        }
        None => {
            if timer.is_some_and(|timer| timer.attribute("present").is_some()) {
                return None;
            }
            if domain.open_arch() || domain.clock.is_none() && !domain.whole {
                return None;
            }
            let span = timer.or(domain.clock).or(domain.element)?.open.clone();
            let words = "<timer name='hpet' present='no'/>";
            let finding = Finding::new(rule!("lv-hpet-default-on"), span);
            // Nothing is changed, for the reason in `q-hpet-default-on`.
            Some(match clocks(domain).lack(domain.guest) {
                Some(_) => finding.fix(format!("nothing yet: {FIRST} {words}")),
                None => finding.fix(words),
            })
        }
    }
}

/// Reports a requested HPET.
fn asked_for(domain: &Domain<'_>, span: Range<usize>, words: &str) -> Finding {
    let finding = Finding::new(rule!("lv-hpet-on"), span);
    let clocks = clocks(domain);
    let Some(why) = clocks.keeps(domain.guest) else { return finding.fix(words) };
    let mut finding = match (clocks.emulated, clocks.lack(domain.guest)) {
        (true, _) => finding.severity(Severity::Info),
        (false, Some(_)) => finding.fix(format!("{FIRST} {words}")),
        (false, None) => finding.fix(format!("{words}, if the guest is Linux")),
    };
    finding.left = Some(why.to_owned());
    finding
}

/// Returns the clocks that the guest certainly has; a part of a domain, or a template, does not show them all.
fn clocks(domain: &Domain<'_>) -> Clocks {
    let mut clocks = Clocks::of_line(&domain.line);
    clocks.said = domain.said;
    clocks.emulated |= domain.emulated();
    clocks.kvm = domain.kind == "kvm" && !clocks.emulated;
    if domain.line.cpu().is_none() {
        let seen = !domain.hides_hypervisor();
        let hidden = domain.switched("kvm", "hidden").is_some_and(|(_, on)| on);
        let said = domain.timer("kvmclock").is_some_and(|it| it.attribute("present").is_some());
        let off = said && domain.present("kvmclock") != Some(true);
        clocks.kvmclock &= seen && !hidden && !off && !domain.tree.template;
        clocks.invtsc = domain.invtsc() == Some(true);
        clocks.page = seen && page(domain);
        clocks.stimer = seen && stimer(domain);
    }
    if let Some(cmdline) =
        domain.child("os").and_then(|os| domain.tree.children(os, "cmdline").next())
    {
        let span = cmdline.open.end..cmdline.inner_end;
        clocks.told(&Placed::new(domain.text.slice(span.clone()), span.start));
    }
    clocks
}

/// Returns whether libvirt gives the guest Hyper-V's reference TSC page.
fn page(domain: &Domain<'_>) -> bool {
    domain.present("hypervclock") == Some(true) || domain.passes_hyperv()
}

/// Whether libvirt gives the guest the timers of Hyper-V.
fn stimer(domain: &Domain<'_>) -> bool {
    domain.switched("hyperv", "stimer").is_some_and(|(_, on)| on) || domain.passes_hyperv()
}

/// Returns whether a comment in the clock mentions the HPET: then its author has considered it.
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
    if !matches!(domain.guest, Guest::Linux | Guest::Unknown) {
        // Windows with neither: nothing but emulated timers.
        let bare = domain.guest == Guest::Windows
            && !domain.old
            && !page(domain)
            && invariant != Some(true);
        return Some(finding.severity(if bare { Severity::Warn } else { Severity::Info }));
    }
    match invariant {
        Some(false) if domain.line.cpu().is_none() => {
            let finding = Finding::new(rule!("lv-kvmclock-off-no-invtsc"), timer.open.clone())
                .fix("<timer name='kvmclock' present='yes'/>, or invtsc");
            Some(match other_leaf(domain) {
                Some(other) => Finding { left: Some(cpu::one_of_several(&other)), ..finding },
                None if domain.guest == Guest::Unknown && !domain.said => {
                    Finding { left: Some(cpu::ANY_SYSTEM.to_owned()), ..finding }
                }
                None => finding.edits(Some(place::set(domain, timer, "present", "yes"))),
            })
        }
        _ => Some(finding),
    }
}

/// Returns another KVM paravirtual feature that the domain disables.
fn other_leaf(domain: &Domain<'_>) -> Option<String> {
    for name in ["poll-control", "pv-ipi"] {
        if domain.switched("kvm", name).is_some_and(|(_, on)| !on) {
            return Some(format!("<{name}>"));
        }
    }
    let features = domain.features?;
    let off =
        |name, key| domain.tree.children(features, name).any(|it| it.value(key) == Some("off"));
    if off("pvspinlock", "state") {
        return Some("<pvspinlock>".to_owned());
    }
    off("apic", "eoi").then(|| "eoi= of <apic>".to_owned())
}

fn hypervclock(domain: &Domain<'_>) -> Option<Finding> {
    let timer = domain.timer("hypervclock");
    if let (Some(timer), Some(true)) = (timer, domain.present("hypervclock")) {
        // With another -cpu it never reaches QEMU, and a guest that sees no hypervisor does not look for its page.
        let reaches = domain.line.cpu().is_none() && !domain.hides_hypervisor();
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
    // The passthrough of all features includes it.
    if domain.passes_hyperv() {
        return None;
    }
    let stimer = domain.switched("hyperv", "stimer").is_some_and(|(_, on)| on);
    if domain.old && !stimer {
        return None;
    }
    let span = timer.or(domain.clock).or(domain.element)?.open.clone();
    let mut finding = Finding::new(rule!("lv-hypervclock-missing"), span)
        .fix("<timer name='hypervclock' present='yes'/>");
    if stimer {
        finding = finding.severity(Severity::Error).summary(
            "<stimer> without hypervclock: the machine does not start, and Windows has no reference TSC page",
        );
    }
    // If even the hypervisor is hidden, the author wants it hidden.
    let edit = match domain.hides_hypervisor() {
        true => None,
        false => place::timer(domain, "hypervclock", "present", "yes"),
    };
    Some(finding.edits(edit))
}
