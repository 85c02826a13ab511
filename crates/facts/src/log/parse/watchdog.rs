//! Messages of `kernel/time/clocksource.c`: registration, selection, override, the watchdog of every
//! era (up to 4.0; 4.1; 4.2 to 7.0 with its variants; 7.1), and sysfs readings in transcripts.

use super::super::event::{Event, Refusal, Role};
use super::{after, between, find, hex, is_name, number, word};

pub(super) fn parse(m: &str) -> Option<Event> {
    selection(m)
        .or_else(|| registered(m))
        .or_else(|| transcript(m))
        .or_else(|| demotion(m))
        .or_else(|| detail(m))
        .or_else(|| readback(m))
        .or_else(|| cross_check(m))
        .or_else(|| rewritten(m))
}

fn selection(m: &str) -> Option<Event> {
    if let Some(rest) =
        after(m, "Switched to clocksource ").or_else(|| after(m, "Switching to clocksource "))
    {
        let name = word(rest)?;
        return is_name(name).then(|| Event::Switched(name.to_owned()));
    }
    // Up to 2.6.27.
    if let Some(rest) = after(m, "Time: ")
        && rest.contains(" clocksource has been installed")
    {
        let name = word(rest)?;
        return is_name(name).then(|| Event::Switched(name.to_owned()));
    }
    let rest = after(m, "Override clocksource ")?;
    let name = word(rest)?.to_owned();
    let refusal = if rest.contains("unstable and not HRT") {
        Refusal::Unstable
    } else if rest.contains("deferring") || rest.contains("not currently HRT") {
        Refusal::Deferred
    } else if rest.contains("not HRT compatible") {
        Refusal::NotHres
    } else {
        return None;
    };
    Some(Event::Override { name, refusal })
}

/// `clocksource: NAME: mask: 0x.. max_cycles: 0x.., max_idle_ns: N ns` (4.2+), 4.1 without the colon.
fn registered(m: &str) -> Option<Event> {
    let mask_at = find(m, ": mask: ")?;
    let head = m[..mask_at].trim();
    let name =
        head.strip_prefix("clocksource:").or_else(|| head.strip_prefix("clocksource"))?.trim();
    if !is_name(name) {
        return None;
    }
    let rest = &m[mask_at..];
    Some(Event::Registered {
        name: name.to_owned(),
        mask: hex(after(rest, "mask: ")?)?,
        max_cycles: hex(after(rest, "max_cycles: ")?)?,
        max_idle_ns: nanoseconds(after(rest, "max_idle_ns: ")?)?,
    })
}

/// `440795202120 ns`: the unit must follow, else the line was garbled.
fn nanoseconds(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text[digits..].trim_start().starts_with("ns").then(|| text[..digits].parse().ok())?
}

fn demotion(m: &str) -> Option<Event> {
    if let Some(rest) = after(m, "Marking clocksource ") {
        if let Some(name) = between(rest, "'", "'") {
            return Some(Event::WatchdogMarked {
                name: name.to_owned(),
                cpu: after(m, "watchdog on CPU")
                    .and_then(number)
                    .and_then(|n| u32::try_from(n).ok()),
            });
        }
        let name = word(rest)?.to_owned();
        let inter_cpu = rest.contains("inter CPU skew");
        return (inter_cpu || rest.contains("frequency skew"))
            .then_some(Event::WatchdogVerdict { name, inter_cpu });
    }
    if let Some(rest) = after(m, "Clocksource ") {
        if let Some(delta) = after(rest, "unstable (delta = ") {
            return Some(Event::WatchdogOld {
                name: word(rest)?.to_owned(),
                delta_ns: number(delta)?,
            });
        }
        if let Some(skew) = after(rest, " skewed ") {
            return Some(Event::WatchdogSkewed {
                name: word(rest)?.to_owned(),
                skew_ns: number(skew)?,
                watchdog: word(after(rest, "over watchdog ")?)?.to_owned(),
                interval_ns: number(after(rest, "interval of ")?)?,
            });
        }
    }
    None
}

/// `'hpet' wd_nsec: 503845 wd_now: 9c5d0440 wd_last: 9bf64291 mask: ffffffff`.
fn detail(m: &str) -> Option<Event> {
    if let Some(current) = find(m, "is current clocksource") {
        return Some(Event::WatchdogCurrent(between(&m[..current], "'", "'").map(str::to_owned)));
    }
    if m.contains("No current clocksource") {
        return Some(Event::WatchdogCurrent(None));
    }
    let (role, now_key, last_key, nsec_key) = if m.contains("wd_now: ") {
        (Role::Watchdog, "wd_now: ", "wd_last: ", "wd_nsec: ")
    } else if m.contains("cs_now: ") {
        (Role::Clocksource, "cs_now: ", "cs_last: ", "cs_nsec: ")
    } else {
        return None;
    };
    Some(Event::WatchdogDetail {
        role,
        name: between(m, "'", "'")?.to_owned(),
        nsec: after(m, nsec_key).and_then(number),
        now: hex(after(m, now_key)?)?,
        last: hex(after(m, last_key)?)?,
        mask: hex(after(m, "mask: ")?)?,
    })
}

/// `timekeeping watchdog on CPU6: hpet read-back delay of 52680ns, attempt 4, marking unstable`,
/// `... wd-tsc-wd excessive read-back delay of N ns vs. limit of M ns ...`,
/// `... hpet wd-wd read-back delay of N ns`, `wd-tsc-wd read-back delay of N ns, clock-skew test
/// skipped!`, `... hpet retried 2 times before success`.
fn readback(m: &str) -> Option<Event> {
    if m.contains("clock-skew test skipped") {
        return Some(Event::SkewTestSkipped);
    }
    if m.contains("before success") && m.contains(" retried ") {
        return Some(Event::WatchdogRetried);
    }
    if let Some(rest) = after(m, "Long readout interval, skipping watchdog check: ") {
        return Some(Event::LongReadout {
            cs_nsec: number(after(rest, "cs_nsec: ")?)?,
            wd_nsec: number(after(rest, "wd_nsec: ")?)?,
        });
    }
    let at = find(m, "read-back delay of")?;
    let head = m[..at].trim_end();
    let head = after(head, "watchdog on CPU").and_then(|h| after(h, ":")).unwrap_or(head).trim();
    let first = head.split_whitespace().next()?;
    let name = first.strip_prefix("wd-").and_then(|n| n.strip_suffix("-wd")).unwrap_or(first);
    let delay = after(m, "read-back delay of")?.trim_start();
    let digits = delay.bytes().take_while(u8::is_ascii_digit).count();
    let unit = delay[digits..].trim_start();
    let delay_ns = if unit.starts_with("ns") { delay[..digits].parse().ok() } else { None };
    let marks = m.contains("marking")
        || (delay_ns.is_none() && head.contains(first) && !head.contains("wd-wd"));
    Some(Event::ReadbackDelay { name: name.to_owned(), delay_ns, marks })
}

fn cross_check(m: &str) -> Option<Event> {
    if m.contains("Checking clocksource ") && m.contains("synchronization from CPU") {
        return Some(Event::CrossCheck);
    }
    let for_clock = find(m, " for clocksource ")?;
    let head = &m[..for_clock];
    let (at, ahead) = match find(head, " ahead of CPU") {
        Some(at) => (at, true),
        None => (find(head, " behind CPU")?, false),
    };
    let cpus = after(&head[..at], "CPU")?.trim_start_matches('s').trim();
    Some(Event::CrossCheckSkew { ahead, cpus: cpus.chars().take(80).collect() })
}

/// Messages of the watchdog as rewritten in 7.1.
fn rewritten(m: &str) -> Option<Event> {
    if m.contains("Watchdog remote CPU") && m.contains("timed out") {
        return Some(Event::RemoteTimeout);
    }
    if m.contains("Watchdog ") && m.contains("read timed out") {
        let ns = after(m, "sequence took: ").and_then(number).and_then(|n| u64::try_from(n).ok());
        return Some(Event::WatchdogReadTimeout { ns });
    }
    if let Some(at) = find(m, " interval: ") {
        let ns = number(&m[at + 11..]).and_then(|n| u64::try_from(n).ok())?;
        let head = m[..at].trim();
        let head = head.strip_prefix("clocksource:").unwrap_or(head).trim();
        let (role, name) = match head.strip_prefix("Watchdog ") {
            Some(name) => (Role::Watchdog, name),
            None => (Role::Clocksource, head.strip_prefix("Clocksource ")?),
        };
        return Some(Event::WatchdogInterval { role, name: word(name)?.to_owned(), ns });
    }
    (m.contains("(cycles)") && m.contains(" < CPU")).then_some(Event::WatchdogCpuOrder)
}

/// Names that stand alone in readings.
const READINGS: [&str; 10] = [
    "tsc",
    "hpet",
    "acpi_pm",
    "kvm-clock",
    "xen",
    "jiffies",
    "refined-jiffies",
    "arch_sys_counter",
    "hyperv_clocksource_tsc_page",
    "hyperv_clocksource_msr",
];

/// `SYSFS current_clocksource=hpet`, `.../current_clocksource:tsc`, `echo tsc > .../current_clocksource`.
fn transcript(m: &str) -> Option<Event> {
    // `clocksource: tsc` and nothing else: a script that prints the reading.
    if let Some(name) = m.strip_prefix("clocksource: ")
        && READINGS.contains(&name.trim())
    {
        return Some(Event::ReadCurrent(name.trim().to_owned()));
    }
    let at = find(m, "_clocksource")?;
    let head = &m[..at];
    let tail = &m[at + 12..];
    let current = head.ends_with("current");
    let available = head.ends_with("available");
    if !current && !available {
        return None;
    }
    if let Some(echo) = after(head, "echo ")
        && head.contains('>')
        && current
    {
        let name = word(echo.trim_start_matches("-n "))?;
        return is_name(name).then(|| Event::WroteCurrent(name.to_owned()));
    }
    let value = tail.trim_start().strip_prefix(['=', ':', '|'])?.trim();
    let value = value.trim_matches(['\'', '"', '`']);
    if current {
        let name = word(value)?;
        return (is_name(name) && value.split_whitespace().count() == 1)
            .then(|| Event::ReadCurrent(name.to_owned()));
    }
    let names: Vec<String> = value.split_whitespace().map(str::to_owned).collect();
    (!names.is_empty() && names.len() <= 16 && names.iter().all(|n| is_name(n)))
        .then_some(Event::ReadAvailable(names))
}
