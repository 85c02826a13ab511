//! `--as`: read costs of other clocksources.

/// A clock that is slow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slow {
    /// The argument as given.
    pub(crate) name: String,
    /// Whether every read is a system call.
    pub(crate) by_call: bool,
    /// The least cost of a read, in nanoseconds.
    pub(crate) least_ns: u64,
    /// The additional cost of a read compared with this machine, in nanoseconds.
    pub(crate) extra_ns: u64,
    /// The source of the figure.
    pub(crate) basis: String,
}

/// A clocksource, and the cost of one read of it through `clock_gettime`.
struct Typical {
    name: &'static str,
    ns: u64,
    basis: &'static str,
}

/// Published measurements. Each machine has a different figure, so the user can give one instead.
const TYPICAL: [Typical; 2] = [
    Typical {
        name: "hpet",
        ns: 720,
        basis: "717 ns, bare metal, Linux 2.6.32; a hypervisor that emulates it takes several us",
    },
    Typical {
        name: "acpi_pm",
        ns: 1_600,
        basis: "1608 ns under VirtualBox and 1517 ns under VMware, 2013",
    },
];

/// The longest read, in nanoseconds: a second.
const LONGEST_NS: f64 = 1e9;

/// Parses the value of `--as`.
pub(crate) fn parse(text: &str) -> Result<Slow, String> {
    let slow = |by_call, least_ns, extra_ns, basis: &str| Slow {
        name: text.to_owned(),
        by_call,
        least_ns,
        extra_ns,
        basis: basis.to_owned(),
    };
    if text == "syscall" {
        return Ok(slow(true, 0, 0, "a system call for each read, at its cost on this machine"));
    }
    if let Some(known) = TYPICAL.iter().find(|known| known.name == text) {
        return Ok(slow(true, known.ns, 0, known.basis));
    }
    if let Some(more) = text.strip_prefix('+') {
        return Ok(slow(
            false,
            0,
            nanoseconds(more)?,
            "the read cost on this machine plus that time",
        ));
    }
    Ok(slow(true, nanoseconds(text)?, 0, "as given"))
}

fn nanoseconds(text: &str) -> Result<u64, String> {
    let bad = || {
        format!(
            "{text:?} is not a clock; expected hpet, acpi_pm, syscall, a time for each read such as 20us, \
             or an added time such as +500ns"
        )
    };
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: f64 = number.parse().map_err(|_| bad())?;
    let ns = match unit {
        "ns" => number,
        "us" | "µs" => number * 1e3,
        "ms" => number * 1e6,
        _ => return Err(bad()),
    };
    if ns > LONGEST_NS {
        return Err(format!("{text:?}: a read of more than a second"));
    }
    Ok(ns.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_and_times() {
        let of = |text| parse(text).map(|slow| (slow.by_call, slow.least_ns, slow.extra_ns));
        assert_eq!(of("syscall"), Ok((true, 0, 0)));
        assert_eq!(of("hpet"), Ok((true, 720, 0)));
        assert_eq!(of("acpi_pm"), Ok((true, 1_600, 0)));
        assert_eq!(of("+1us"), Ok((false, 0, 1_000)));
        assert_eq!(of("1.5us"), Ok((true, 1_500, 0)));
        assert_eq!(of("20µs"), Ok((true, 20_000, 0)));
        for bad in ["", "+", "tsc", "5", "-1us", "1s", "+1", "9e9ns", "2000000000ns", "1..2us"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
