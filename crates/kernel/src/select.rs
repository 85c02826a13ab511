//! Selection: which of the registered clocksources is current, and which ones sysfs lists.
//!
//! Source: `clocksource_select()`, `clocksource_find_best()`, `available_clocksource_show()` in
//! `kernel/time/clocksource.c`; `tick_check_oneshot_change()` in `kernel/time/tick-sched.c`.

use crate::feature::Feature;
use crate::{Expectation, Machine, expectation::Candidate};
use clocksmith_facts::cmdline::CommandLine;

/// A clocksource that registers.
#[derive(Clone, Debug)]
pub(crate) struct Registered {
    pub(crate) name: String,
    pub(crate) rating: i32,
    /// `VALID_FOR_HRES` once the boot has settled.
    pub(crate) hres: bool,
    pub(crate) vdso: bool,
    /// Place in the order of registration: decides between equal ratings.
    pub(crate) order: u8,
}

impl Registered {
    pub(crate) fn new(name: &str, rating: i32, hres: bool, vdso: bool, order: u8) -> Self {
        Self { name: name.to_owned(), rating, hres, vdso, order }
    }
}

fn off(line: &CommandLine, name: &str) -> bool {
    line.last(name).is_some_and(|v| matches!(v, "off" | "0" | "n" | "no"))
}

/// Whether neither high resolution nor NOHZ can make the tick one-shot.
pub(crate) fn periodic(machine: &Machine) -> bool {
    let line = &machine.cmdline.value;
    let highres = machine.highres_built && !off(line, "highres");
    let nohz = machine.nohz_built && !off(line, "nohz");
    !highres && !nohz
}

/// Decides current, available and tick mode; `override_refused` means that a choice on the command
/// line names a source which cannot be used when it registers.
pub(crate) fn select(
    machine: &Machine,
    mut sources: Vec<Registered>,
    override_refused: Option<String>,
    out: &mut Expectation,
) {
    let line = &machine.cmdline.value;
    let kernel = &machine.kernel.value;
    sources.sort_by(|a, b| b.rating.cmp(&a.rating).then(a.order.cmp(&b.order)));
    let periodic_forced = periodic(machine);
    let wanted = line.clocksource_override();
    let find = |name: &str| sources.iter().find(|s| s.name == name);

    let mut chosen = sources.first();
    if let Some(name) = &wanted {
        match find(name) {
            Some(_) if override_refused.is_some() => {
                let because = override_refused.unwrap_or_default();
                out.reason("override refused", because, OVERRIDE_SOURCE);
            }
            Some(source) if source.rating > 0 || periodic_forced || source.hres => {
                chosen = Some(source);
                let because = format!(
                    "the command line requests {name}, which is registered{}",
                    machine.cmdline.cite()
                );
                out.reason("override honoured", because, OVERRIDE_SOURCE);
            }
            Some(_) => {
                let because = format!(
                    "the command line requests {name}, which is unstable and therefore not valid for high resolution; \
                     the choice is forgotten{}",
                    machine.cmdline.cite()
                );
                out.reason("override refused", because, OVERRIDE_SOURCE);
            }
            None => {
                let because = format!(
                    "the command line requests {name}; no clocksource of that name is registered, so the request stays \
                     pending, without any message{}",
                    machine.cmdline.cite()
                );
                out.reason("override without effect", because, OVERRIDE_SOURCE);
            }
        }
    }
    let Some(mut chosen) = chosen.cloned() else { return };
    // In one-shot mode only sources valid for high resolution are eligible (since 3.11). The tick
    // becomes one-shot only while such a source is current; an override at boot is applied before.
    let overridden = wanted.as_deref() == Some(chosen.name.as_str());
    let hres_aware = Feature::HresAwareSelection.of(kernel);
    if !overridden && hres_aware && !periodic_forced && !chosen.hres {
        // A source without the flag at the head of the list: it is current while the tick is
        // periodic, and later unless another one has already made the tick one-shot.
        if let Some(early) =
            sources.iter().find(|s| s.hres && s.order < chosen.order && s.rating > 2)
        {
            chosen = early.clone();
        }
    }
    let oneshot = !periodic_forced && chosen.hres;
    out.tick_oneshot = oneshot;
    let listed: Vec<String> =
        sources.iter().filter(|s| !oneshot || s.hres).map(|s| s.name.clone()).collect();
    if !oneshot {
        let because = if let Some(source) = &machine.tick_stuck {
            format!(
                "the kernel could not make the tick one-shot, so every registered source is listed \
                 [{source}]"
            )
        } else if periodic_forced {
            "high resolution and NOHZ are both off, so the tick stays periodic and every registered \
             source is listed"
                .to_owned()
        } else {
            format!(
                "{} is not valid for high resolution, so the tick stays periodic and every \
                 registered source is listed",
                chosen.name
            )
        };
        out.reason(
            "periodic tick",
            because,
            "tick_check_oneshot_change(), timekeeping_valid_for_hres(), all versions",
        );
    }
    let others: Vec<String> = sources
        .iter()
        .filter(|s| s.name != chosen.name && (!oneshot || s.hres))
        .map(|s| format!("{} {}", s.name, s.rating))
        .collect();
    if !overridden {
        let because = if others.is_empty() {
            format!(
                "{} (rating {}) is the only eligible clocksource of those that register according to these rules",
                chosen.name, chosen.rating
            )
        } else {
            format!(
                "{} has the highest rating of the eligible clocksources: {} against {}",
                chosen.name,
                chosen.rating,
                others.join(", ")
            )
        };
        out.reason("highest rating wins", because, "clocksource_select(), clocksource_find_best() in kernel/time/clocksource.c, all versions");
    }
    out.candidates = sources
        .iter()
        .map(|s| Candidate { name: s.name.clone(), rating: s.rating, hres: s.hres, vdso: s.vdso })
        .collect();
    out.available = Some(listed);
    out.current = Some(chosen.name);
}

const OVERRIDE_SOURCE: &str =
    "boot_override_clocksource(), clocksource_select() in kernel/time/clocksource.c, all versions";
