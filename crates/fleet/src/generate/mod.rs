//! Synthetic fleets for tests and measurements: documents like those that `why --json` prints on real
//! machines, in realistic, uneven proportions, with outliers in known places. The same seed gives the same fleet.
//!
//! This module draws the machines ([`Fleet`]); `kinds` lists them.

mod kinds;

use clocksmith_facts::utc;
use kinds::{FAULTS, Fault, KINDS, Kind};
use serde_json::{Value, json};

/// A fleet.
#[derive(Clone, Copy, Debug)]
pub struct Fleet {
    /// The number of machines.
    pub hosts: u64,
    /// The seed, which determines all other values.
    pub seed: u64,
    /// The day of its reports, after [`FIRST_DAY`]. The machines are the same on every day; their measurements differ a
    /// little, and some change: see [`Made::changed`].
    pub day: u16,
}

/// 2026-01-05, in days since 1970.
pub const FIRST_DAY: u64 = 20_458;
/// The kernel that some machines have from day 1 on.
const UPDATE: &str = "6.1.0-51-amd64";
/// The processor whose TSC is demoted under that kernel.
const LOSES: &str = "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz";

/// The known properties of a synthetic machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    /// The document.
    pub document: Value,
    /// Its verdict.
    pub verdict: &'static str,
    /// The change that the report must find, if any.
    pub remedy: Option<&'static str>,
    /// Whether it was planted as one whose reads cost far more than its neighbours'.
    pub costly: bool,
    /// The change that was planted since the day before: on day 1 one in ten machines of Debian's kernel 6.1 gets an
    /// update under which the TSC of one kind of processor is demoted; on day 2 some hosts on hpet are repaired.
    pub changed: Planted,
}

/// A planted change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    /// None.
    Nothing,
    /// Another kernel.
    Kernel,
    /// Another kernel, and hpet.
    KernelAndHpet,
    /// From hpet to the TSC.
    Repaired,
}

/// A generator of numbers: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), because the same seed must give the same fleet
/// in every version.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `n`, which is above 0.
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    /// Returns a number from 0 to below 1.
    #[allow(clippy::cast_precision_loss)]
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns one of the list, the first ones more often: the smaller of two draws.
    fn skewed<'a, T>(&mut self, list: &'a [T]) -> Option<&'a T> {
        let n = list.len() as u64;
        let at = self.below(n).min(self.below(n));
        list.get(usize::try_from(at).ok()?)
    }

    /// Returns one of the list, by weight.
    fn weighted<'a, T>(&mut self, list: &'a [T], weight: fn(&T) -> u64) -> Option<&'a T> {
        let mut at = self.below(list.iter().map(weight).sum());
        list.iter().find(|one| {
            let here = at < weight(one);
            at = at.saturating_sub(weight(one));
            here
        })
    }
}

impl Fleet {
    /// The machine with that number, from 0.
    #[must_use]
    pub fn machine(&self, number: u64) -> Option<Made> {
        if number >= self.hosts {
            return None;
        }
        let mut numbers = Numbers(self.seed ^ number.wrapping_mul(0x2545_f491_4f6c_dd1d));
        numbers.next();
        let kind = numbers.weighted(KINDS, |kind| kind.weight)?;
        let mut kernel = *numbers.skewed(kind.kernels)?;
        let mut fault = numbers.weighted(FAULTS, |fault| fault.weight).filter(|f| f.fits(kind));
        // One in 4000, and only without another fault.
        let costly = fault.is_none() && numbers.below(4000) == 0;
        let mut changed = Planted::Nothing;
        if self.day >= 1 && number % 10 == 3 && kernel == "6.1.0-50-amd64" {
            kernel = UPDATE;
            changed = Planted::Kernel;
            if kind.cpu == LOSES && fault.is_none() && !costly {
                fault = FAULTS.iter().find(|fault| fault.clocksource == "hpet");
                changed = Planted::KernelAndHpet;
            }
        }
        let repaired = number % 4 == 1 && fault.is_some_and(|fault| fault.clocksource == "hpet");
        if self.day >= 2 && repaired && kernel != UPDATE {
            fault = None;
            changed = Planted::Repaired;
        }
        let first = if changed == Planted::Repaired { 2 } else { 1 };
        let changed = if self.day == first { changed } else { Planted::Nothing };
        let mut made = self.made(&mut numbers, number, kind, kernel, fault, costly);
        made.changed = changed;
        Some(made)
    }

    /// All machines.
    pub fn machines(self) -> impl Iterator<Item = Made> {
        (0..self.hosts).filter_map(move |number| self.machine(number))
    }

    fn made(
        &self,
        numbers: &mut Numbers,
        number: u64,
        kind: &Kind,
        kernel: &str,
        fault: Option<&Fault>,
        costly: bool,
    ) -> Made {
        let current = fault.map_or(kind.clocksource, |fault| fault.clocksource);
        let verdict = fault.map_or("ok", |fault| fault.verdict);
        let vdso = fault.is_none_or(|fault| fault.vdso);
        let mut ns = fault.map_or(kind.ns, |fault| fault.ns) * (0.92 + 0.16 * numbers.unit());
        let mut daily = Numbers(self.seed ^ number.rotate_left(20) ^ u64::from(self.day));
        daily.next();
        if self.day > 0 {
            ns *= 0.9 + 0.2 * daily.unit();
        }
        if costly {
            ns *= 9.0;
        }
        let read = |clock: &str, ns: f64| {
            json!({"clock": clock, "path": if vdso { "vdso" } else { "syscall" }, "ns": ns,
                "syscall_ns": if vdso { kind.ns * 6.5 } else { ns }})
        };
        // Bundles have no measurement: one machine in five.
        let reads = if numbers.below(5) == 0 && !costly {
            json!([])
        } else {
            json!([read("CLOCK_MONOTONIC", ns * 1.004), read("CLOCK_REALTIME", ns)])
        };
        // The difference of refined calibrations between machines of one kind: up to 40 ppm.
        let off = numbers.below(u64::from(kind.khz) / 25_000 + 1);
        let khz = u64::from(kind.khz) + off;
        let causes: Vec<Value> = fault.map_or_else(Vec::new, Fault::causes);
        let remedies: Vec<Value> = fault.map_or_else(Vec::new, Fault::remedies);
        let role =
            *numbers.skewed(&["web", "db", "cache", "batch", "kvm", "edge"]).unwrap_or(&"web");
        let site = numbers.below(24);
        let host = format!("{role}{number:07}.dc{site:02}.example.net");
        let available: Vec<&str> = if current == kind.clocksource {
            kind.available.to_vec()
        } else {
            let others = kind.available.iter().copied().filter(|name| *name != current);
            std::iter::once(current).chain(others.filter(|name| *name != "tsc")).collect()
        };
        let document = json!({
            "schema": "clocksmith.why.v1",
            "verdict": verdict,
            "confidence": if reads == json!([]) { "medium" } else { "high" },
            "headline": format!("The clocksource is {current}: {verdict}."),
            "host": host,
            "taken_at": utc::text((FIRST_DAY + u64::from(self.day)) * 86_400 + 10_800 + number % 3600),
            "machine_id": format!("{:016x}{:016x}", Numbers(number).next(), Numbers(self.seed ^ !number).next()),
            "clocksource": {"current": current, "available": available,
                "source": "sys/devices/system/clocksource/clocksource0/current_clocksource"},
            "expected": {"current": kind.clocksource, "available": kind.available, "vdso": true},
            "reads": reads,
            "counter_ns": kind.ns * 0.42,
            "causes": causes,
            "remedies": remedies,
            "policies": [], "missing": [], "differences": [], "timeline": [], "wall_clock": null,
            "settles": [], "contradictions": [], "next": [],
            "machine": {"kernel": kernel, "arch": kind.arch, "hypervisor": kind.hypervisor,
                "cpu": kind.cpu, "boots_in_log": 1, "log_is_diff": false, "as_host": {
                    "tsc": kind.hardware.map(|_| json!({"khz": khz, "slack_khz": 0})),
                    "scaling": kind.scaling, "hardware": kind.hardware,
                    "invariant": kind.invariant}},
            "verified": null
        });
        Made {
            document,
            verdict,
            remedy: fault.and_then(|fault| fault.chosen),
            costly,
            changed: Planted::Nothing,
        }
    }
}
