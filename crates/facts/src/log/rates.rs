//! Frequencies of the counters according to a log.

use super::event::Event;
use super::{Entry, KernelLog};
use serde::Serialize;

/// Frequency of the ACPI PM timer in Hz (ACPI specification, section 4.8.3.3).
pub const ACPI_PM_HZ: f64 = 3_579_545.0;
/// Frequencies of the timer tick that x86 kernels can be built with, in Hz (`kernel/Kconfig.hz`).
pub(crate) const TICK_RATES: [f64; 4] = [250.0, 1000.0, 100.0, 300.0];
/// Usual frequency of an HPET in Hz, used if the log does not show it.
pub const HPET_HZ: f64 = 14_318_180.0;
/// Frequencies of the counters, in Hz.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rates {
    /// The TSC's frequency as the kernel uses it, if the log shows it.
    pub tsc: Option<f64>,
    /// The same for `tsc-early`: the figure before the refinement.
    pub tsc_early: Option<f64>,
    /// The HPET's frequency, if the log shows it.
    pub hpet: Option<f64>,
    /// Whether the kernel has registered an HPET, which as a reference precedes the PM timer
    /// (`clocksource_select_watchdog()`: the highest rating).
    pub has_hpet: bool,
    /// The timer tick of this kernel, if the log shows it.
    pub tick: Option<f64>,
}

/// Frequencies of HPETs in Hz, the usual one first: the PC's 14.318 MHz, Intel's 24 and
/// 19.2 MHz, the 25 MHz of NVIDIA and some servers, 10 MHz (the lowest that the specification allows), and the
/// 100 MHz of QEMU.
pub(crate) const HPET_RATES: [f64; 6] = [HPET_HZ, 24e6, 19.2e6, 25e6, 10e6, 100e6];

impl Rates {
    /// The frequencies in a log.
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
        // refined-jiffies has the calibrated length of the tick, jiffies its nominal one.
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

/// Whether the figures of a registration line are of one rate: `max_cycles` is the kernel's result for the rate that
/// follows from both. A figure that was truncated or broken does not match.
///
/// Sources: `__clocksource_update_freq_scale()` in `kernel/time/clocksource.c`, `clocks_calc_mult_shift()`, 4.1 to 7.0.
#[must_use]
pub(super) fn agree(mask: u64, max_cycles: u64, max_idle_ns: u64) -> bool {
    /// Maximum seconds for which the conversion of a counter with more than 32 bits must be exact.
    const EXACT: u64 = 600;
    /// The factor by which rounding and changes of the arithmetic may differ.
    const WITHIN: u64 = 4;
    let Some(hz) = recovered_hz(max_cycles, max_idle_ns).filter(|hz| *hz < 1e12) else {
        return false;
    };
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let hz = hz as u64;
    let seconds = (mask / hz).max(1);
    let seconds = if mask > u64::from(u32::MAX) { seconds.min(EXACT) } else { seconds };
    let bits = u64::BITS - (seconds.saturating_mul(hz) >> 32).leading_zeros();
    let room = 32_u32.saturating_sub(bits);
    let mult = |shift: u32| ((1_000_000_000_u64 << shift) + hz / 2) / hz;
    let mult = (0..=32).rev().map(mult).find(|mult| mult >> room == 0).unwrap_or_default();
    let expected = (u64::MAX / (mult + mult * 11 / 100).max(1)).min(mask);
    expected / WITHIN <= max_cycles && max_cycles / WITHIN <= expected
}

/// The TSC frequency that the kernel uses, and the line that shows it: the refined value, otherwise
/// the one recovered from the registration of `tsc`, otherwise the one detected first.
#[must_use]
pub fn tsc_hz(log: &KernelLog) -> Option<(&Entry, f64)> {
    log.last(|event| match event {
        Event::Refined { khz } => Some(hertz(*khz) * 1e3),
        _ => None,
    })
    .or_else(|| {
        log.last(|event| match event {
            Event::Registered { name, mask: u64::MAX, max_cycles, max_idle_ns }
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

/// The TSC frequency that the kernel detected first.
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

    #[test]
    fn figures_of_a_registration_line_agree_unless_a_part_is_missing() {
        const ALL: u64 = u64::MAX;
        for (mask, cycles, ns) in [
            (ALL, 0x0256_c031_7579, 440_795_209_030),
            (ALL, 0x19f_22f6_8897, 440_795_282_550),
            (0xff_ffff, 0xff_ffff, 2_085_701_024),
            (0xffff_ffff, 0xffff_ffff, 133_484_882_848),
            (0xffff_ffff, 0xffff_ffff, 79_635_855_245),
        ] {
            assert!(agree(mask, cycles, ns), "{cycles:x} {ns}");
        }
        for (mask, cycles, ns) in [
            (ALL, 0x19f2_2f68, 440_795_282_550),
            (ALL, 0x19f, 440_795_282_550),
            (ALL, 0x19f_22f6_8897, 440_795),
            (0xffff_ffff, 0xff_ffff, 133_484_882_848),
            (ALL, 1407, 881_590_412_124),
        ] {
            assert!(!agree(mask, cycles, ns), "{cycles:x} {ns}");
        }
    }
}
