//! Frequencies of the counters, as a log tells them.

use super::event::Event;
use super::{Entry, KernelLog};
use serde::Serialize;

/// Frequency of the ACPI PM timer in Hz (ACPI specification, section 4.8.3.3).
pub const ACPI_PM_HZ: f64 = 3_579_545.0;
/// Frequencies of the timer tick that x86 kernels can be built with, in Hz (`kernel/Kconfig.hz`).
pub const TICK_RATES: [f64; 4] = [250.0, 1000.0, 100.0, 300.0];
/// Usual frequency of an HPET in Hz, used where the log does not name it.
pub const HPET_HZ: f64 = 14_318_180.0;
/// Frequencies of the counters, in Hz.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rates {
    /// What the kernel takes for the TSC's frequency, where the log tells.
    pub tsc: Option<f64>,
    /// The same for `tsc-early`: the figure before the refinement.
    pub tsc_early: Option<f64>,
    /// HPET, where the log tells.
    pub hpet: Option<f64>,
    /// The kernel has registered an HPET, which is a reference before the PM timer (`clocksource_select_watchdog()`: the
    /// highest rating).
    pub has_hpet: bool,
    /// The timer tick of this kernel, where the log tells.
    pub tick: Option<f64>,
}

/// Frequencies that HPETs have, in Hz, the usual one first: the PC's 14.318 MHz, Intel's 24 and
/// 19.2 MHz, the 25 MHz of NVIDIA and some servers, 10 MHz (the slowest that the specification allows), and the
/// 100 MHz of QEMU.
pub const HPET_RATES: [f64; 6] = [HPET_HZ, 24e6, 19.2e6, 25e6, 10e6, 100e6];

impl Rates {
    /// The frequencies that a log tells.
    #[must_use]
    pub fn of(log: &KernelLog) -> Self {
        let hpet = log
            .last(|event| match event {
                Event::HpetCounter { hz } => Some(hertz(*hz)),
                Event::Registered { name, max_cycles, max_idle_ns, .. } if name == "hpet" => {
                    recovered_hz(*max_cycles, *max_idle_ns)
                }
                _ => None,
            })
            .map(|(_, hz)| hz);
        let early = log
            .last(|event| match event {
                Event::Registered { name, max_cycles, max_idle_ns, .. } if name == "tsc-early" => {
                    recovered_hz(*max_cycles, *max_idle_ns)
                }
                _ => None,
            })
            .or_else(|| detected(log))
            .map(|(_, hz)| hz);
        let tsc = tsc_hz(log).map(|(_, hz)| hz);
        // refined-jiffies has the length of the tick as it was calibrated, jiffies its nominal one.
        let tick = ["refined-jiffies", "jiffies"].iter().find_map(|wanted| {
            log.last(|event| match event {
                Event::Registered { name, max_cycles, max_idle_ns, .. } if name == wanted => {
                    recovered_hz(*max_cycles, *max_idle_ns)
                }
                _ => None,
            })
        });
        let tick = tick.map(|(_, hz)| hz);
        let has_hpet = hpet.is_some()
            || log.any(|event| matches!(event, Event::Switched(name) if name == "hpet"));
        Self { tsc, tsc_early: early.or(tsc), hpet, has_hpet, tick }
    }

    /// Frequency of a counter by name.
    #[must_use]
    pub fn hz(&self, name: &str) -> Option<f64> {
        match name {
            "tsc" => self.tsc,
            "tsc-early" => self.tsc_early,
            "hpet" => self.hpet,
            "refined-jiffies" | "jiffies" => self.tick,
            "acpi_pm" => Some(ACPI_PM_HZ),
            "kvm-clock" | "xen" => Some(1e9),
            _ if name.starts_with("hyperv_clocksource") => Some(1e7),
            _ => None,
        }
    }
}

/// A frequency as a float.
#[allow(clippy::cast_precision_loss)]
pub(super) fn hertz(hz: u64) -> f64 {
    hz as f64
}

/// The frequency of a counter, recovered from its registration line (4.1+).
///
/// `clocks_calc_max_nsecs()` gives max_cycles = 2^64 / (mult + maxadj) (or the mask) and
/// max_idle_ns = half of max_cycles converted with mult - maxadj, where maxadj is 11 % of mult; so
/// f = max_cycles * 0.89 / 2 / max_idle_ns. Source: `kernel/time/clocksource.c`,
/// `clocksource_max_adjustment()` and `clocks_calc_max_nsecs()`, 4.1 to 7.0.
#[must_use]
pub fn recovered_hz(max_cycles: u64, max_idle_ns: u64) -> Option<f64> {
    if max_cycles == 0 || max_idle_ns == 0 {
        return None;
    }
    let hz = hertz(max_cycles) * 0.445e9 / hertz(max_idle_ns);
    (hz.is_finite() && hz >= 1.0).then_some(hz)
}

/// The TSC frequency that the kernel uses, and the line that tells: the refined value, else the one
/// recovered from the registration of `tsc`, else the one detected early.
#[must_use]
pub fn tsc_hz(log: &KernelLog) -> Option<(&Entry, f64)> {
    log.last(|event| match event {
        Event::Refined { khz } => Some(hertz(*khz) * 1e3),
        _ => None,
    })
    .or_else(|| {
        log.last(|event| match event {
            Event::Registered { name, max_cycles, max_idle_ns, .. }
                if name == "tsc" || name == "tsc-early" =>
            {
                recovered_hz(*max_cycles, *max_idle_ns)
            }
            _ => None,
        })
    })
    .or_else(|| detected(log))
    .filter(|(_, hz)| *hz > 0.0)
}

/// The TSC frequency that the kernel found first.
fn detected(log: &KernelLog) -> Option<(&Entry, f64)> {
    log.last(|event| match event {
        Event::Detected { khz, tsc: true } | Event::VmwareTscKhz(khz) => Some(hertz(*khz) * 1e3),
        _ => None,
    })
    .or_else(|| {
        log.last(|event| match event {
            Event::Detected { khz, .. } => Some(hertz(*khz) * 1e3),
            _ => None,
        })
    })
    .filter(|(_, hz)| *hz > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequency_comes_back_from_the_registration_line() {
        let hz = recovered_hz(0x0256_c031_7579, 440_795_209_030).unwrap();
        assert!((hz / 2_596_146_000.0 - 1.0).abs() < 2e-6, "{hz}");
        let hz = recovered_hz(0xff_ffff, 2_085_701_024).unwrap();
        assert!((hz / ACPI_PM_HZ - 1.0).abs() < 1e-5, "{hz}");
        assert_eq!(recovered_hz(0, 1), None);
    }
}
