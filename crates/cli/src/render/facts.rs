//! The facts behind a verdict, each with its source (`why -v`).

use super::{text, wrap};
use anyhow::Result;
use clocksmith_facts::{Fact, Facts};

/// Prints every fact that is known.
pub(crate) fn print(facts: &Facts) -> Result<()> {
    let mut out = String::from("\nFacts\n");
    let mut rows = Rows { out: &mut out };
    rows.fact("tick", &facts.tick_oneshot, |oneshot| {
        if *oneshot { "one-shot" } else { "periodic" }.to_owned()
    });
    rows.fact("clockevents", &facts.clockevents, |devices| {
        let mut names: Vec<&str> = devices.iter().map(|d| d.device.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names.join(", ")
    });
    rows.fact("clocksources", &facts.clocksources, |devices| {
        devices
            .iter()
            .map(|d| format!("clocksource{}: {} of {}", d.index, d.current, d.available.join(" ")))
            .collect::<Vec<_>>()
            .join("; ")
    });
    rows.fact("idle", &facts.idle, |idle| match (&idle.deepest, idle.latency_us) {
        (Some(state), Some(us)) => format!("{}, deepest {state} ({us} us)", idle.driver),
        (Some(state), None) => format!("{}, deepest {state}", idle.driver),
        (None, _) => idle.driver.clone(),
    });
    rows.fact("command line", &facts.cmdline, |line| line.text());
    rows.fact("possible CPUs", &facts.cpu.possible, u32::to_string);
    rows.fact("online CPUs", &facts.cpu.online, |list| list.count().to_string());
    rows.fact("packages", &facts.cpu.packages, u32::to_string);
    rows.fact("NUMA nodes", &facts.cpu.nodes, u32::to_string);
    rows.fact("TSC flags", &facts.cpu.flags, |flags| {
        let tsc: Vec<&str> =
            flags.0.iter().filter(|f| f.contains("tsc")).map(String::as_str).collect();
        tsc.join(" ")
    });
    rows.fact("HPET", &facts.hpet, |hpet| match hpet {
        Some(table) => match table.base {
            Some(base) => format!("at {base:#x}"),
            None => "described".to_owned(),
        },
        None => "none".to_owned(),
    });
    rows.fact("PM timer", &facts.pm_timer, |timer| match timer {
        Some(timer) => match timer.bits32 {
            Some(true) => format!("port {:#x}, 32 bits (Linux uses 24)", timer.port),
            _ => format!("port {:#x}, 24 bits", timer.port),
        },
        None => "none".to_owned(),
    });
    rows.fact("low-power idle", &facts.low_power_idle, bool::to_string);
    rows.fact("cloud", &facts.cloud, |cloud| format!("{cloud:?}"));
    rows.fact("DMI", &facts.dmi, Clone::clone);
    rows.fact("container", &facts.environment.container, |name| {
        name.clone().unwrap_or_else(|| "none".to_owned())
    });
    rows.fact("WSL", &facts.environment.wsl, bool::to_string);
    rows.fact("gVisor", &facts.environment.gvisor, bool::to_string);
    rows.fact("NTP", &facts.ntp, |ntp| {
        let state = if ntp.synchronized { "synchronised" } else { "not synchronised" };
        match (ntp.frequency_ppm, ntp.tick_us) {
            (Some(ppm), Some(tick)) => format!("{state}, frequency {ppm:+.3} ppm, tick {tick} us"),
            _ => state.to_owned(),
        }
    });
    rows.fact("timekeepers", &facts.wall.keepers, |keepers| {
        let all = if keepers.all { "all processes seen" } else { "not all processes seen" };
        let mut seen: Vec<String> = keepers
            .seen
            .iter()
            .map(|keeper| format!("{} {}", keeper.name, keeper.role.name()))
            .collect();
        seen.push(all.to_owned());
        seen.join(", ")
    });
    rows.fact("PTP clocks", &facts.wall.ptp, |clocks| {
        let names: Vec<String> =
            clocks.iter().map(|clock| format!("{} ({})", clock.device, clock.name)).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    });
    rows.fact("generation id", &facts.wall.generation_id, |there| {
        if *there { "there is one" } else { "none" }.to_owned()
    });
    rows.fact("vDSO", &facts.vdso, |vdso| {
        if vdso.mapped { vdso.symbols.join(" ") } else { "not mapped".to_owned() }
    });
    rows.fact("kernel log", &facts.log, |log| {
        format!(
            "{} lines, {} events{}",
            log.lines,
            log.entries.len(),
            if log.from_boot { ", from the beginning of the boot" } else { "" }
        )
    });
    text(&out)
}

struct Rows<'a> {
    out: &'a mut String,
}

impl Rows<'_> {
    fn fact<T>(&mut self, name: &str, fact: &Fact<T>, show: impl FnOnce(&T) -> String) {
        if let Fact::Known { value, source } = fact {
            let value = show(value);
            let value = if value.is_empty() { "-" } else { &value };
            self.out.push_str(&wrap(
                &format!("{value}  [{source}]"),
                &format!("  {name:<15}"),
                "                 ",
            ));
        }
    }
}
