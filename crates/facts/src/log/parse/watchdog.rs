//! Messages of `kernel/time/clocksource.c`: registration, selection, override, the watchdog of every
//! era (up to 4.0; 4.1; 4.2 to 7.0 with its variants; 7.1); and one of `kernel/time/timekeeping.c`.

use super::super::cut::may_lack_digits;
use super::super::event::{Event, Refusal, Role};
use super::super::rates;
use super::{
    after, find, goes_on, hex, hex_before, is_name, number, number_before, only_quotes,
    whole_number, word,
};
use crate::names;

/// The words without which no message of this module exists.
pub(super) const KEYWORDS: &[&str] = &[
    "locksource",
    "watchdog on CPU",
    "wd_now",
    "cs_now",
    "Long readout",
    "Watchdog remote",
    "read-back delay",
    " more than 11%",
];

/// `m` is the whole message, `b` the part after the kernel's prefixes.
pub(super) fn parse(m: &str, b: &str) -> Option<Event> {
    selection(b)
        .or_else(|| registered(m))
        .or_else(|| demotion(m, b))
        .or_else(|| detail(b))
        .or_else(|| readback(b))
        .or_else(|| cross_check(b))
        .or_else(|| rewritten(b))
        .or_else(|| steered(b))
}

/// `Adjusting tsc more than 11% (7517526 vs 7180534)`: `timekeeping_adjust()`, 3.3 and later.
fn steered(b: &str) -> Option<Event> {
    let rest = b.strip_prefix("Adjusting ")?;
    let at = find(rest, " more than 11% (").filter(|_| rest.contains(" vs "))?;
    is_name(&rest[..at]).then(|| Event::SteeredTooFar(rest[..at].to_owned()))
}

fn selection(b: &str) -> Option<Event> {
    if let Some(rest) = b
        .strip_prefix("Switched to clocksource ")
        .or_else(|| b.strip_prefix("Switching to clocksource "))
    {
        return chosen(rest).map(Event::Switched);
    }
    // Up to 2.6.27.
    if let Some(rest) = b.strip_prefix("Time: ") {
        let name = &rest[..find(rest, " clocksource has been installed")?];
        return is_name(name).then(|| Event::Switched(name.to_owned()));
    }
    let rest = b.strip_prefix("Override clocksource ")?;
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

/// The name at the end of a message. Text after the name makes it a sentence about a switch, except a remark after an
/// arrow.
fn chosen(rest: &str) -> Option<String> {
    let marks = ["\u{2190}", "\u{21d0}", "\u{2b05}", "<--", "<==", "<-"];
    let remark = marks.iter().filter_map(|mark| find(rest, mark)).filter(|at| *at > 0).min();
    let rest = &rest[..remark.unwrap_or(rest.len())];
    let whole = rest.trim().trim_end_matches('.');
    // Some names contain a blank.
    if names::is_known(whole) || names::is_compatible(whole) {
        return Some(whole.to_owned());
    }
    let name = word(rest)?;
    let tail = &rest[find(rest, name)? + name.len()..];
    (is_name(name) && only_quotes(tail)).then(|| name.to_owned())
}

/// `clocksource: NAME: mask: 0x.. max_cycles: 0x.., max_idle_ns: N ns` (4.2+), 4.1 without the colon.
fn registered(m: &str) -> Option<Event> {
    let rest = m.strip_prefix("clocksource").unwrap_or(m);
    let mask_at = find(rest, ": mask: ").or_else(|| rest.strip_suffix(": mask:").map(str::len));
    let mask_at = mask_at.filter(|at| *at < 64)?;
    let name = rest[..mask_at].trim_start_matches(':').trim();
    // `logcat` prints the first word elsewhere.
    let whole = m.starts_with("clocksource") && is_name(name) && !name.contains(' ');
    if !whole && !names::is_known(name) && !names::is_compatible(name) {
        return None;
    }
    let rest = &rest[mask_at..];
    let mask = hex_before(rest, "mask: 0x", "max_cycles: ").or_else(|| cut_mask(rest))?;
    let figures = || {
        let max_cycles = hex_before(rest, "max_cycles: 0x", ", max_idle_ns: ")?;
        Some((max_cycles, nanoseconds(after(rest, "max_idle_ns: ")?)?))
    };
    // A truncated line, or one with a broken figure, still shows the registration; the rate needs both figures.
    let words = ["mask: ", "max_cycles: ", "max_idle_ns: ", "ns"];
    let (max_cycles, max_idle_ns) = match figures() {
        // The figures from which a rate is derived must be those that the kernel computes from that rate.
        Some((cycles, ns)) if !takes_rate(name) || rates::agree(mask, cycles, ns) => (cycles, ns),
        Some(_) => (0, 0),
        None if rest.contains("max_cycles: ") || is_cut_behind(rest, &words) => (0, 0),
        None if cut_mask(rest).is_some() => (0, 0),
        None => return None,
    };
    Some(Event::Registered { name: name.to_owned(), mask, max_cycles, max_idle_ns })
}

/// The mask of a registration that ends before the next figure; 0 if the mask itself may be truncated.
fn cut_mask(rest: &str) -> Option<u64> {
    let value = rest.trim_start_matches(": ").strip_prefix("mask:")?.trim_start();
    let (digits, behind) = match value.find(' ') {
        Some(end) => (&value[..end], value[end..].trim()),
        None => (value, ""),
    };
    if !"max_cycles:".starts_with(behind) {
        return None;
    }
    if behind.is_empty() {
        let begun = digits.strip_prefix("0x").map_or("0x".starts_with(digits), |digits| {
            digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        });
        return begun.then_some(0);
    }
    u64::from_str_radix(digits.strip_prefix("0x")?, 16).ok()
}

/// Counters that the kernel registers by their rate, and whose rate is read from this line.
fn takes_rate(name: &str) -> bool {
    matches!(name, "tsc" | "tsc-early" | "hpet")
}

/// Whether a truncated message is correct up to its end: after the last of these words in it, there is one
/// figure, and at most a part of the next word.
fn is_cut_behind(text: &str, words: &[&str]) -> bool {
    let mut last =
        words.iter().enumerate().filter_map(|(index, word)| Some((index, find(text, word)?, word)));
    let Some((index, at, word)) = last.next_back() else { return false };
    let rest = text[at + word.len()..].trim_start_matches(['-', 'x']);
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_hexdigit());
    let rest = rest.trim_matches(|c: char| c.is_whitespace() || ",>\u{2026}$".contains(c));
    words.get(index + 1).is_none_or(|next| next.trim_end().starts_with(rest))
}

/// `440795202120 ns`: a blank or the unit must follow, otherwise digits may be missing.
fn nanoseconds(text: &str) -> Option<u64> {
    signed_ns(text).and_then(|ns| u64::try_from(ns).ok())
}

/// The same with a sign.
fn signed_ns(text: &str) -> Option<i64> {
    let digits = text.trim_start_matches('-').trim_start_matches(|c: char| c.is_ascii_digit());
    let unit = digits.trim_start();
    let shown = digits.len() > unit.len() && unit.is_empty() || unit.starts_with('n');
    shown.then(|| number(text))?
}

fn demotion(m: &str, b: &str) -> Option<Event> {
    if let Some(rest) = b.strip_prefix("Marking clocksource ") {
        let name = word(rest).filter(|name| is_name(name))?.to_owned();
        let tail = &rest[find(rest, &name)? + name.len()..];
        // The kernel prints one reason: any other text is not the kernel's.
        if let Some(reason) = after(tail, " as unstable")
            .map(|rest| rest.trim_start_matches([',', ' ']))
            .and_then(|rest| rest.strip_prefix("because"))
            && !goes_on(reason, "the skew is too large")
        {
            return None;
        }
        // A name without any text after it, not even its quote, may be truncated, unless a kernel has this name.
        if tail.is_empty() && !names::is_known(&name) {
            return None;
        }
        if rest.starts_with(['\'', '"', '`', '*']) || tail.contains(" as unstable") {
            let cpu = after(&m[..m.len() - b.len()], "watchdog on CPU").and_then(number);
            return Some(Event::WatchdogMarked {
                name,
                cpu: cpu.and_then(|n| u32::try_from(n).ok()),
            });
        }
        let inter_cpu = tail.contains("inter CPU skew");
        return (inter_cpu || tail.contains("frequency skew"))
            .then_some(Event::WatchdogVerdict { name, inter_cpu });
    }
    let rest = b.strip_prefix("Clocksource ")?;
    let name = word(rest).filter(|name| is_name(name))?.to_owned();
    if let Some(delta) = after(rest, "unstable (delta = ") {
        // Without its unit the figure may be truncated.
        let delta_ns = signed_ns(delta)?;
        return Some(match delta.contains("clocksource_failover") {
            true => Event::WatchdogKept { name, delta_ns },
            false => Event::WatchdogOld { name, delta_ns },
        });
    }
    Some(Event::WatchdogSkewed {
        name,
        skew_ns: signed_ns(after(rest, " skewed ")?)?,
        // A truncated line has the skew: a name without any text after it may be truncated.
        watchdog: after(rest, "over watchdog ")
            .and_then(|name| {
                word(name).filter(|word| after(name, word).is_some_and(|tail| !tail.is_empty()))
            })
            .map(str::to_owned),
        interval_ns: after(rest, "interval of ").and_then(signed_ns),
    })
}

/// `'hpet' wd_nsec: 503845 wd_now: 9c5d0440 wd_last: 9bf64291 mask: ffffffff`.
fn detail(b: &str) -> Option<Event> {
    if b.starts_with("No current clocksource") {
        return Some(Event::WatchdogCurrent(None));
    }
    if !b.starts_with('\'') && !b.starts_with('"') {
        return None;
    }
    let name = word(b).filter(|name| is_name(name))?;
    let rest = b[name.len() + 1..].trim_start_matches(['\'', '"']).trim_start();
    if let Some(current) = find(rest, "is current clocksource") {
        // `'hpet' (not 'tsc') is current clocksource`.
        let head = &rest[..current];
        return (head.is_empty() || head.starts_with("(not "))
            .then(|| Event::WatchdogCurrent(Some(name.to_owned())));
    }
    let (role, now_key, last_key, nsec_key) = match rest.get(..3)? {
        "wd_" => (Role::Watchdog, "wd_now: ", "wd_last: ", "wd_nsec: "),
        "cs_" => (Role::Clocksource, "cs_now: ", "cs_last: ", "cs_nsec: "),
        // A second reference, in modified kernels.
        "wd2" => {
            let ns = after(rest, "wd2_nsec: ").and_then(whole_number)?;
            return Some(Event::WatchdogSecond { name: name.to_owned(), ns });
        }
        _ => return None,
    };
    if !is_measured(rest, [nsec_key, now_key, last_key]) {
        return None;
    }
    // Some kernels write `wd_nesc`.
    let misspelt = nsec_key.replace("nsec", "nesc");
    let nsec =
        number_before(rest, nsec_key, now_key).or_else(|| number_before(rest, &misspelt, now_key));
    let cycles = || {
        let now = hex_before(rest, now_key, last_key)?;
        let last = hex_before(rest, last_key, "mask: ")?;
        // A counter above its mask shows that a terminal or a pager truncated the mask.
        let stated = after(rest, "mask: ")
            .and_then(hex)
            .filter(|mask| is_whole_mask(name, *mask) && now <= *mask && last <= *mask);
        Some((
            now,
            last,
            stated.or_else(|| own_mask(name).filter(|mask| last <= now && now <= *mask))?,
        ))
    };
    // Nanoseconds in which the counter did not count, or counts without a mask, are of no counter.
    let is_still = |(now, last, mask): (u64, u64, u64)| {
        now.wrapping_sub(last) & mask == 0 && nsec.is_some_and(|ns| ns != 0)
    };
    if cycles().is_some_and(is_still) {
        return None;
    }
    // A truncated line yields each figure whose end it shows.
    let (now, last, mask) = match cycles() {
        Some(cycles) => cycles,
        None if nsec.is_some() => (0, 0, 0),
        None => return None,
    };
    Some(Event::WatchdogDetail { role, name: name.to_owned(), nsec, now, last, mask })
}

/// Whether the figures after these keys, if they are there, are ones that the kernel can print: the watchdog converts an
/// unsigned count to nanoseconds (`clocksource_cyc2ns()` in include/linux/clocksource.h), a counter has at most 64 bits, and
/// no mask is empty.
fn is_measured(text: &str, [nsec, now, last]: [&str; 3]) -> bool {
    let figure = |key: &str| {
        let rest = after(text, key)?;
        Some(rest.split([' ', ',']).next().unwrap_or_default())
    };
    let is_time = |value: &str| {
        let digits = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
        !(value.starts_with('-') || digits && value.parse::<i64>().is_err())
    };
    let is_count = |value: &str| {
        let value = value.strip_prefix("0x").unwrap_or(value);
        !value.starts_with('-') && value.bytes().take_while(u8::is_ascii_hexdigit).count() <= 16
    };
    figure(nsec).is_none_or(is_time)
        && [now, last, "mask: "].iter().all(|key| figure(key).is_none_or(is_count))
        && figure("mask: ").is_none_or(|mask| mask.is_empty() || mask.bytes().any(|b| b != b'0'))
}

/// Whether a mask is one of a counter of this name, and not a truncated one: the text after it does not
/// show its end.
fn is_whole_mask(name: &str, mask: u64) -> bool {
    const BITS_24: u64 = 0xff_ffff;
    const BITS_32: u64 = 0xffff_ffff;
    match name {
        "acpi_pm" => matches!(mask, BITS_24 | BITS_32),
        "hpet" | "jiffies" | "refined-jiffies" => matches!(mask, BITS_32 | u64::MAX),
        _ if is_of_64_bits(name) => mask == u64::MAX,
        _ => mask >= BITS_24 && mask.count_ones() + mask.leading_zeros() == 64,
    }
}

/// The mask of a counter that has the same mask in every kernel. It matters if the counter wrapped.
fn own_mask(name: &str) -> Option<u64> {
    match name {
        "acpi_pm" => Some(0xff_ffff),
        "hpet" => Some(0xffff_ffff),
        _ => is_of_64_bits(name).then_some(u64::MAX),
    }
}

/// Counters that the kernel registers with 64 bits: the TSC, and the clocks of KVM, Xen and Hyper-V (`kvm_clock` in
/// arch/x86/kernel/kvmclock.c, `xen_clocksource` in arch/x86/xen/time.c, drivers/clocksource/hyperv_timer.c).
fn is_of_64_bits(name: &str) -> bool {
    name.starts_with("tsc") || name.starts_with("hyperv_") || matches!(name, "kvm-clock" | "xen")
}

/// `timekeeping watchdog on CPU6: hpet read-back delay of 52680ns, attempt 4, marking unstable`,
/// `... wd-tsc-wd excessive read-back delay of N ns vs. limit of M ns ...`,
/// `... hpet wd-wd read-back delay of N ns`, `wd-tsc-wd read-back delay of N ns, clock-skew test
/// skipped!`, `... hpet retried 2 times before success`.
fn readback(b: &str) -> Option<Event> {
    if let Some(rest) = b.strip_prefix("Long readout interval,") {
        // Only text of the sender follows the last figure, on the same line.
        let last = after(rest, "wd_nsec: ").filter(|rest| {
            let behind = rest
                .trim_start_matches(['-', ' '])
                .trim_start_matches(|c: char| c.is_ascii_digit());
            !behind.trim_start().starts_with(|c: char| c.is_ascii_digit())
        });
        return Some(
            match (number_before(rest, "cs_nsec: ", "wd_nsec: "), last.and_then(number)) {
                (Some(cs_nsec), Some(wd_nsec))
                    if cs_nsec >= 0 && wd_nsec >= 0 && !may_lack_digits(cs_nsec, wd_nsec) =>
                {
                    Event::LongReadout { cs_nsec, wd_nsec }
                }
                _ => Event::LongReadoutCut,
            },
        );
    }
    // A patch of 2021 to test the watchdog.
    if b.starts_with("clocksource_watchdog_inject_delay():") {
        return Some(Event::DelayInjected);
    }
    // Up to here a message has few words, and no foreign quotations.
    let few = |head: &str| {
        head.split_whitespace().count() <= 3 && !head.contains(['\'', '"', '/', '=', '[', ':'])
    };
    if let Some(at) = find(b, " retried ") {
        return (few(&b[..at]) && b.contains("before success")).then_some(Event::WatchdogRetried);
    }
    let at = find(b, "read-back delay of").filter(|at| few(&b[..*at]))?;
    if b.contains("clock-skew test skipped") {
        return Some(Event::SkewTestSkipped);
    }
    let head = b[..at].trim();
    let first = head.split_whitespace().next()?;
    let name = first.strip_prefix("wd-").and_then(|n| n.strip_suffix("-wd")).unwrap_or(first);
    let delay = b[at + 18..].trim_start();
    let delay_ns = nanoseconds(delay);
    let marks = b.contains("marking")
        || (delay_ns.is_none() && head.contains(first) && !head.contains("wd-wd"));
    let tested = name != first && head.ends_with("excessive");
    Some(Event::ReadbackDelay { name: name.to_owned(), delay_ns, marks, tested })
}

fn cross_check(b: &str) -> Option<Event> {
    // The kernel checks only the TSC of its clocksources; `clocksource_wdtest` checks one that it registers.
    if b.starts_with("Checking clocksource tsc") && b.contains("synchronization from CPU") {
        return Some(Event::CrossCheck);
    }
    if b.starts_with("Not enough CPUs to check clocksource 'tsc'") {
        return Some(Event::CrossCheckOfOne);
    }
    let rest = b.strip_prefix("CPU")?;
    let head = &rest[..find(rest, " for clocksource ")?];
    let (at, ahead) = match find(head, " ahead of CPU") {
        Some(at) => (at, true),
        None => (find(head, " behind CPU")?, false),
    };
    let cpus = head[..at].trim_start_matches('s').trim();
    Some(Event::CrossCheckSkew { ahead, cpus: cpus.chars().take(80).collect() })
}

/// Messages of the watchdog as rewritten in 7.1.
fn rewritten(b: &str) -> Option<Event> {
    if b.starts_with("Watchdog remote CPU") && b.contains("timed out") {
        return Some(Event::RemoteTimeout);
    }
    if b.starts_with("Watchdog ") && b.contains("read timed out") {
        let ns = after(b, "sequence took: ").and_then(nanoseconds);
        return Some(Event::WatchdogReadTimeout { ns });
    }
    if b.starts_with("CPU") {
        return (b.contains("(cycles)") && b.contains(" < CPU")).then_some(Event::WatchdogCpuOrder);
    }
    let (role, rest) = match b.strip_prefix("Watchdog ") {
        Some(rest) => (Role::Watchdog, rest),
        None => (Role::Clocksource, b.strip_prefix("Clocksource ")?),
    };
    let at = find(rest, " interval: ")?;
    Some(Event::WatchdogInterval {
        role,
        name: word(&rest[..at]).filter(|name| is_name(name))?.to_owned(),
        ns: nanoseconds(rest[at + 11..].trim_start())?,
    })
}
