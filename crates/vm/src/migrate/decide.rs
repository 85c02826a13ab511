//! Decides whether a guest can migrate to a host, what its TSC does there, and which program refuses with which
//! message.

use super::guest::{Frequency, Guest, Manager, Sev};
use super::host::{Host, Missing, Tsc};
use super::scale::{self, Rate, Ratio, TOLERANCE_PPM};
use serde::Serialize;

/// Seconds of a day.
pub const DAY_S: u32 = 86_400;

/// Seconds of 365.25 days.
pub(crate) const YEAR_S: u32 = 31_557_600;

/// The answer in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It can migrate, and its TSC runs at the set frequency.
    Exact,
    /// It can migrate, and its TSC is scaled to the set frequency.
    Scaled,
    /// It can migrate, and its TSC runs at the host's rate, which is within the tolerance.
    HostRate,
    /// It can migrate, and its TSC is at the set frequency or within the tolerance: the host can scale,
    /// and its own frequency is not known well enough to decide which.
    Goes,
    /// It has no `invtsc` and no frequency: it can migrate anywhere, and its paravirtual clock
    /// follows.
    Free,
    /// It can migrate if no program checks the frequency, and its clock is wrong there.
    Unsafe,
    /// It cannot migrate.
    Refused,
    /// Not known.
    Unknown,
}

impl Verdict {
    /// Returns whether the guest can migrate there; `None` if that is not known.
    #[must_use]
    pub fn goes(self) -> Option<bool> {
        match self {
            Self::Exact | Self::Scaled | Self::HostRate | Self::Goes | Self::Free => Some(true),
            Self::Unsafe | Self::Refused => Some(false),
            Self::Unknown => None,
        }
    }
}

/// What the guest's clock does on a host, if its kernel uses the set frequency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Clock {
    /// The frequency that was set, in kHz.
    pub guest_khz: u32,
    /// The host's, in kHz.
    pub host_khz: u32,
    /// The ratio that the hardware is given; null when nothing is scaled.
    pub multiplier: Option<u64>,
    /// How many bits of it are fractional.
    pub frac_bits: Option<u32>,
    /// How much faster than assumed the TSC runs, in parts per billion; rounded.
    pub error_ppb: i64,
    /// The error of an uncorrected clock after a day, in ns; rounded.
    pub day_ns: i64,
    /// And after 365.25 days.
    pub year_ns: i64,
}

/// The answer for one host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Answer {
    /// The host.
    pub host: String,
    /// In a word.
    pub verdict: Verdict,
    /// The program that refuses.
    pub by: Option<&'static str>,
    /// The message of the refusal, as far as it is known.
    pub message: Option<String>,
    /// Why, in a sentence.
    pub why: String,
    /// What its clock does there.
    pub clock: Option<Clock>,
    /// What is not known and would decide it.
    pub missing: Vec<Missing>,
}

impl Answer {
    fn new(host: &Host, verdict: Verdict, why: impl Into<String>) -> Self {
        Self {
            host: host.name.clone(),
            verdict,
            by: None,
            message: None,
            why: why.into(),
            clock: None,
            missing: Vec::new(),
        }
    }

    fn by(mut self, by: &'static str, message: impl Into<String>) -> Self {
        self.by = Some(by);
        self.message = Some(message.into());
        self
    }

    fn unknown(host: &Host, facts: &[&str], why: impl Into<String>) -> Self {
        let mut answer = Self::new(host, Verdict::Unknown, why);
        answer.missing =
            host.missing.iter().filter(|missing| facts.contains(&missing.fact)).cloned().collect();
        answer
    }
}

const GUEST_INVTSC: &str =
    "the guest's own configuration (`virsh dumpxml`), or nonstop_tsc in its /proc/cpuinfo";

/// Decides whether `guest` can migrate to `host`, and what its clock does there.
#[must_use]
pub fn decide(guest: &Guest, host: &Host) -> Answer {
    let message = match guest.sev {
        Sev::Sev => Some("SEV: Migration is not implemented"),
        Sev::Snp => Some("SEV-SNP: Migration is not implemented"),
        Sev::No | Sev::Perhaps => None,
    };
    if let Some(message) = message.filter(|_| !guest.emulated) {
        return protected(host, message);
    }
    let answer = by_clock(guest, host);
    let answer = match answer.verdict {
        Verdict::Refused => answer,
        _ if guest.sev == Sev::Perhaps => perhaps_protected(answer),
        _ => answer,
    };
    match answer.verdict.goes() {
        Some(true) if guest.device => with_device(answer),
        _ => answer,
    }
}

/// Source: QEMU, target/i386/sev.c, `sev_mig_blocker`, set in sev_launch_finish(), in later sources, which also have SEV-SNP, in
/// sev_common_instance_init(); still there in January 2026. It blocks a migration and a save.
fn protected(host: &Host, message: &str) -> Answer {
    let why = "AMD SEV protects the guest's memory, and QEMU migrates no such guest, whatever its TSC is; it cannot be saved \
               either";
    Answer::new(host, Verdict::Refused, why).by("QEMU", message)
}

/// Returns the answer for a script of which only some runs start such a guest.
fn perhaps_protected(mut answer: Answer) -> Answer {
    answer.verdict = Verdict::Unknown;
    answer.why = format!(
        "in some runs of the script AMD SEV protects the guest's memory, and QEMU migrates no such guest; otherwise: {}",
        answer.why
    );
    answer.missing.insert(
        0,
        Missing {
            fact: "SEV of the guest",
            how: "the command line of the guest that runs: /proc/PID/cmdline of QEMU".to_owned(),
        },
    );
    answer
}

/// Returns the answer for a guest whose clock could move, and which holds a device of its host: only the driver of that
/// device knows whether it can be migrated. Source: QEMU `vfio_migration_realize()` (hw/vfio/migration.c).
fn with_device(mut answer: Answer) -> Answer {
    answer.verdict = Verdict::Unknown;
    answer.why = format!(
        "a device of its host is passed through to it, and most such devices cannot be migrated; as for its clock: {}",
        answer.why
    );
    answer.missing.push(Missing {
        fact: "migration of the device",
        how: "the documentation of the device's driver in the host's kernel; a migration that is tried is refused before it \
              begins"
            .to_owned(),
    });
    answer
}

/// Decides by the guest's clock alone.
fn by_clock(guest: &Guest, host: &Host) -> Answer {
    if guest.emulated {
        return emulated(guest, host);
    }
    if guest.reenlightenment && guest.frequency == Frequency::Absent && guest.invtsc != Some(true) {
        return reenlightened(host);
    }
    match (guest.invtsc, guest.frequency) {
        (Some(true), Frequency::Absent) => not_set(guest, host),
        (Some(false), Frequency::Absent) => free(guest, host),
        (Some(true), _) if host.invariant == Some(false) => not_invariant(guest, host),
        (invtsc, Frequency::Set(hz)) => {
            let answer = at(guest, host, hz);
            if invtsc == Some(false)
                || host.invariant == Some(true)
                || answer.verdict.goes() != Some(true)
            {
                return answer;
            }
            if host.invariant == Some(false) {
                return unknown_guest(host, "invtsc of the guest", GUEST_INVTSC);
            }
            Answer::unknown(
                host,
                &["invariant TSC"],
                "its frequency is suitable; whether its TSC is invariant is not known",
            )
        }
        (None, Frequency::Absent | Frequency::Unknown) => {
            unknown_guest(host, "invtsc of the guest", GUEST_INVTSC)
        }
        (Some(_), Frequency::Unknown) => unknown_guest(
            host,
            "TSC frequency of the guest",
            "the guest's configuration: `virsh dumpxml`, or its QEMU command line; from inside it \
             cannot be seen",
        ),
    }
}

/// Source: QEMU `hyperv_reenlightenment_post_load()` (target/i386/machine.c), since 6.0: the incoming migration fails.
fn reenlightened(host: &Host) -> Answer {
    let why = "the guest has reenlightenment and no TSC frequency: once it has turned it on (WSL 2, VBS and Hyper-V do), \
               QEMU there refuses it";
    Answer::new(host, Verdict::Refused, why).by(
        "QEMU",
        "Guest enabled re-enlightenment notifications, 'tsc-frequency=' has to be specified",
    )
}

/// Source: libvirt `qemuProcessVerifyCPUFeatures()`, tried with libvirt 9.0 and QEMU 7.2.
fn emulated(guest: &Guest, host: &Host) -> Answer {
    if guest.invtsc == Some(true) && guest.manager == Manager::Libvirt {
        let why = "the guest is emulated (type='qemu') and requires invtsc: it starts nowhere";
        return Answer::new(host, Verdict::Refused, why)
            .by("libvirt", "host doesn't support invariant TSC");
    }
    let why =
        "the guest is emulated: its TSC is the emulator's, and follows the host that it is on";
    Answer::new(host, Verdict::Free, why)
}

fn unknown_guest(host: &Host, fact: &'static str, how: &str) -> Answer {
    let mut answer = Answer::new(host, Verdict::Unknown, format!("the {fact} is not known"));
    answer.missing.push(Missing { fact, how: how.to_owned() });
    answer
}

/// Source: libvirt `qemuMigrationSrcIsAllowed()` (11.3), QEMU `kvm_arch_init_vcpu()`, the blocker
/// `invtsc_mig_blocker`, 2.1 to 10.0; it also blocks saving.
fn not_set(guest: &Guest, host: &Host) -> Answer {
    let answer = Answer::new(
        host,
        Verdict::Refused,
        "the guest has invtsc and no TSC frequency, so it must not leave the host that it is on; \
         it cannot be saved either",
    );
    match guest.manager {
        Manager::Libvirt => answer
            .by("libvirt", "domain has 'invtsc' CPU feature but TSC frequency is not specified"),
        _ => answer.by("QEMU", "State blocked by non-migratable CPU device (invtsc flag)"),
    }
}

fn free(guest: &Guest, host: &Host) -> Answer {
    if guest.clockless {
        let why = "without invtsc it can migrate anywhere: its configuration hides kvm-clock and has no Hyper-V page, so its \
                   HPET or ACPI PM timer, which QEMU emulates, moves with it. A guest that was set to use tsc nevertheless \
                   runs at the new host's rate";
        return Answer::new(host, Verdict::Free, why);
    }
    Answer::new(
        host,
        Verdict::Free,
        "without invtsc it can migrate anywhere: its kvm-clock or Hyper-V page is created again \
         there. A guest that was set to use tsc nevertheless runs at the new host's rate",
    )
}

/// Source: libvirt `qemuProcessVerifyCPUFeatures()`; QEMU `x86_cpu_filter_features()`, which warns, and
/// only refuses with `enforce`.
fn not_invariant(guest: &Guest, host: &Host) -> Answer {
    if guest.manager == Manager::Libvirt {
        let why = "the host's TSC is not invariant, and the guest has invtsc";
        return Answer::new(host, Verdict::Refused, why)
            .by("libvirt", "host doesn't support invariant TSC");
    }
    let why = "the host's TSC is not invariant. QEMU only warns unless its -cpu says enforce, and \
               the guest, which believes that its TSC never changes, gets one that does";
    Answer::new(host, Verdict::Unsafe, why)
        .by("QEMU", "host doesn't support requested feature: CPUID.80000007H:EDX.invtsc [bit 8]")
}

/// Returns whether QEMU accepts a frequency without scaling; `None` if the host's is not known precisely enough.
fn tolerated(khz: u32, tsc: Tsc) -> Option<bool> {
    let within = |host: u32| {
        let (low, high) = scale::tolerated(u64::from(host));
        (low..=high).contains(&u64::from(khz))
    };
    let (low, high) =
        (tsc.khz.saturating_sub(tsc.slack_khz), tsc.khz.saturating_add(tsc.slack_khz));
    match (within(low), within(high)) {
        (true, true) => Some(true),
        // Both ends are outside on the same side, so all between them is outside.
        (false, false) if (khz < low) == (khz < high) => Some(false),
        _ => None,
    }
}

fn at(guest: &Guest, host: &Host, hz: u64) -> Answer {
    let Some((khz, _)) = scale::khz_of_hz(hz) else {
        return Answer::new(host, Verdict::Refused, "no processor counts so fast");
    };
    let within = host.tsc.and_then(|tsc| tolerated(khz, tsc));
    match (host.tsc, within, host.scaling) {
        (Some(tsc), Some(true), _) => running(host, khz, tsc),
        (Some(tsc), Some(false), Some(true)) => running(host, khz, tsc),
        (_, None, Some(true)) => Answer::new(
            host,
            Verdict::Goes,
            "it can scale; its own frequency is not known well enough to say whether it must. The \
             error is at most 250 ppm",
        ),
        (Some(tsc), Some(false), Some(false)) => mismatch(guest, host, hz, khz, tsc),
        (_, Some(false), None) => Answer::unknown(
            host,
            &["TSC scaling"],
            "the frequencies differ by more than 250 ppm, so it must scale; whether it can is not \
             known",
        ),
        _ => Answer::unknown(
            host,
            &["TSC frequency", "TSC scaling"],
            "its TSC frequency is not known well enough, nor that it can scale",
        ),
    }
}

/// Source: libvirt `qemuProcessStartValidateTSC()` (since 6.1), QEMU `kvm_arch_set_tsc_khz()`: a set
/// frequency that is not met ends the start.
fn mismatch(guest: &Guest, host: &Host, hz: u64, khz: u32, tsc: Tsc) -> Answer {
    let why = "the frequencies differ by more than 250 ppm, and the host cannot scale";
    let answer = Answer::new(host, Verdict::Refused, why);
    let host_hz = u64::from(tsc.khz) * 1000;
    let (low, high) = scale::tolerated(host_hz);
    if guest.manager == Manager::Libvirt && !(low..=high).contains(&hz) {
        return answer.by(
            "libvirt",
            format!(
                "Requested TSC frequency {hz} Hz is outside tolerance range ([{low}, {high}] Hz) \
                 around host frequency {host_hz} Hz and TSC scaling is not supported by the host CPU"
            ),
        );
    }
    answer.by(
        "QEMU",
        format!("TSC frequency mismatch between VM ({khz} kHz) and host ({} kHz), and TSC scaling unavailable", tsc.khz),
    )
}

fn running(host: &Host, khz: u32, tsc: Tsc) -> Answer {
    let hardware = (host.scaling == Some(true)).then(|| host.hardware_or_coarser());
    match scale::set_tsc_khz(khz, tsc.khz, hardware, TOLERANCE_PPM) {
        Ok(Rate::Scaled(ratio)) => {
            let why = "the host's hardware scales its TSC to the frequency that was set";
            with_clock(Answer::new(host, Verdict::Scaled, why), ratio, true, khz, tsc)
        }
        Ok(Rate::Host | Rate::CatchUp) if khz == tsc.khz && tsc.slack_khz == 0 => {
            let why = "the host's TSC has the frequency that was set";
            with_clock(Answer::new(host, Verdict::Exact, why), Ratio::ONE, false, khz, tsc)
        }
        Ok(Rate::Host | Rate::CatchUp) => {
            let why = "the frequencies differ by no more than 250 ppm, so KVM scales nothing, not \
                       even where it could: the guest's clock is off by that until NTP corrects it";
            with_clock(Answer::new(host, Verdict::HostRate, why), Ratio::ONE, false, khz, tsc)
        }
        Err(refusal) => {
            let why = "KVM does not accept this frequency on this host";
            Answer::new(host, Verdict::Refused, why).by("KVM", refusal.to_string())
        }
    }
}

fn with_clock(mut answer: Answer, ratio: Ratio, scaled: bool, khz: u32, tsc: Tsc) -> Answer {
    let fits = |value: i128| i64::try_from(value).unwrap_or(i64::MAX);
    answer.clock = ratio.error(tsc.khz, khz).map(|error| Clock {
        guest_khz: khz,
        host_khz: tsc.khz,
        multiplier: scaled.then_some(ratio.multiplier),
        frac_bits: scaled.then_some(ratio.frac_bits),
        error_ppb: fits(error.ppb()),
        day_ns: fits(error.ns_after(DAY_S)),
        year_ns: fits(error.ns_after(YEAR_S)),
    });
    answer
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
