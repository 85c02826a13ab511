//! Machines with chosen faults, for tests: samples of a synthetic machine, from a seed,
//! and this machine with an altered counter.

use super::outcome::Frequency;
use super::samples::{Agreement, Heard, Locked, Pair, Point, Samples, Steps};
use super::source::{ClockId, Real, Source};
use std::cell::Cell;

/// A sequence of numbers from a seed (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number from 0 to 1.
    pub(crate) fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + self.share() * (high - low)
    }

    /// Either sign.
    pub(crate) fn signed(&mut self, low: f64, high: f64) -> f64 {
        let size = self.between(low, high);
        if self.next().is_multiple_of(2) { size } else { -size }
    }

    /// Returns the time of an operation, in nanoseconds: usually a little more than the least, sometimes with a
    /// preemption.
    fn took(&mut self, least: f64, busy: f64) -> f64 {
        let little = -self.share().max(1e-12).ln() * least / 2.0;
        let stolen = if self.share() < busy { self.between(1e4, 8e6) } else { 0.0 };
        least + little + stolen
    }
}

/// Comparisons of each pair in a synthetic run.
const PASSES: u32 = 12;

/// A synthetic machine.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub(crate) hz: f64,
    pub(crate) start: u64,
    /// How far each processor's counter is ahead, in nanoseconds.
    pub(crate) offsets: Vec<f64>,
    /// The counter of one processor steps by nanoseconds, after seconds.
    pub(crate) cpu_step: (usize, f64, f64),
    /// The counter of one processor runs faster than the others, in millionths.
    pub(crate) cpu_drift: (usize, f64),
    /// The counter stops for nanoseconds, after seconds, and is right again afterwards.
    pub(crate) stop: (f64, f64),
    /// One in this many reads, in turn on all processors, is wrong by this many nanoseconds.
    pub(crate) glitch: (f64, f64),
    pub(crate) rate_ppm: f64,
    /// The counter jumps by nanoseconds, after seconds.
    pub(crate) jump: (f64, f64),
    pub(crate) steering_ppm: f64,
    /// Whether clocks in user space are made of the counter.
    pub(crate) vdso: bool,
    pub(crate) seconds: f64,
    /// The least time a read takes, in nanoseconds, and the share of reads that are preempted.
    pub(crate) read_ns: f64,
    pub(crate) busy: f64,
    /// The least time of a message, in nanoseconds, and how many get through.
    pub(crate) message_ns: f64,
    pub(crate) exchanges: u64,
}

impl Machine {
    /// A healthy one, of a kind that the seed chooses.
    pub(crate) fn healthy(random: &mut Random) -> Self {
        let cpus = 2 + random.next() % 4;
        Self {
            hz: random.between(1e9, 5e9),
            start: random.next(),
            offsets: vec![0.0; cpus as usize],
            cpu_step: (0, 0.0, 0.0),
            cpu_drift: (0, 0.0),
            stop: (0.0, 0.0),
            glitch: (0.0, f64::INFINITY),
            rate_ppm: 0.0,
            jump: (0.0, 0.0),
            steering_ppm: random.signed(0.0, 500.0),
            vdso: !random.next().is_multiple_of(4),
            seconds: random.between(0.9, 6.0),
            read_ns: random.between(25.0, 150.0),
            busy: random.between(0.0, 0.1),
            message_ns: random.between(40.0, 300.0),
            exchanges: 200 + random.next() % 4_000,
        }
    }

    /// Returns how far the counter is ahead of its true value, in nanoseconds.
    fn ahead(&self, t: f64, cpu: usize) -> f64 {
        let jump = if t >= self.jump.1 * 1e9 { self.jump.0 } else { 0.0 };
        let (who, by, at) = self.cpu_step;
        let step = if who == cpu && t >= at * 1e9 { by } else { 0.0 };
        let drift = if self.cpu_drift.0 == cpu { t * self.cpu_drift.1 / 1e6 } else { 0.0 };
        let (length, at) = (self.stop.0, self.stop.1 * 1e9);
        let stopped = if t >= at && t < at + length { at - t } else { 0.0 };
        self.offsets[cpu] + t * self.rate_ppm / 1e6 + jump + step + drift + stopped
    }

    fn counter(&self, t: f64, cpu: usize) -> u64 {
        let ticks = (t + self.ahead(t, cpu)) * self.hz / 1e9;
        self.start.wrapping_add(ticks as i64 as u64)
    }

    fn mono(&self, t: f64) -> i64 {
        1_000_000_000_000 + (t * (1.0 + self.steering_ppm / 1e6)) as i64
    }

    fn user(&self, t: f64, cpu: usize) -> i64 {
        self.mono(t) + if self.vdso { self.ahead(t, cpu) as i64 } else { 0 }
    }

    /// Returns the samples that the threads would have taken.
    pub(crate) fn samples(&self, random: &mut Random) -> Samples {
        let cpus: Vec<u32> = (0..self.offsets.len() as u32).collect();
        let mut samples = Samples {
            cpus: cpus.clone(),
            points_cpu: Some(0),
            counter_is_clock: self.vdso,
            user_clock_is_counter: self.vdso,
            seconds: self.seconds,
            // As a machine whose time is disciplined.
            confirmed: vec![("NTP".to_owned(), 500.0)],
            ..Samples::default()
        };
        if self.vdso {
            samples.claims.push(Frequency {
                source: "numbers".to_owned(),
                hz: self.hz * (1.0 + random.signed(0.0, 500.0) / 1e6),
                doubt_ppm: 1_001.0,
                decisive: true,
                steered: true,
                independent: false,
                measured_ppm: None,
            });
        } else {
            samples.claims.push(Frequency {
                source: "log".to_owned(),
                hz: self.hz * (1.0 + random.signed(0.0, 10.0) / 1e6),
                doubt_ppm: 10.1,
                decisive: true,
                steered: false,
                independent: false,
                measured_ppm: None,
            });
        }
        let mut t = 0.0;
        while t < self.seconds * 1e9 {
            samples.points.push(self.point(t, random));
            t += random.took(1e6, self.busy / 10.0);
        }
        while samples.points.len() > 512 {
            samples.points = super::series::thinned(samples.points);
        }
        for one in 0..cpus.len() {
            for other in one + 1..cpus.len() {
                samples.pairs.push(self.pair(one, other, random));
            }
        }
        samples.agreements = cpus.iter().map(|cpu| self.agreement(*cpu, random)).collect();
        let calm = Locked { reads: 1_000, handovers: 500, ..Locked::default() };
        samples.steps = [ClockId::Monotonic, ClockId::MonotonicRaw]
            .into_iter()
            .map(|clock| Steps {
                clock: Some(clock),
                claimed: Some(1),
                within: calm,
                across: calm,
                smallest: Some(20),
                same: 0,
            })
            .collect();
        let (turns, length) = self.turns(random);
        samples.steps.push(turns);
        samples.turns_ns = length;
        samples
    }

    fn point(&self, t: f64, random: &mut Random) -> Point {
        let mut took = || random.took(self.read_ns, self.busy);
        let reads: Vec<[f64; 4]> = (0..5).map(|_| [took(), took(), took(), took()]).collect();
        let best = reads.iter().min_by(|a, b| a.iter().sum::<f64>().total_cmp(&b.iter().sum()));
        let [a, b, c, d] = *best.unwrap();
        let times = (t, t + a + b, t + a + b + c + d);
        Point {
            ticks: (self.counter(times.0, 0), self.counter(times.1, 0), self.counter(times.2, 0)),
            raw: 77 + (t + a) as i64,
            mono: self.mono(times.1 + c),
            user: (self.mono(t), self.user(t + a, 0), self.mono(t + a + b)),
            boottime: 0,
            realtime: 0,
        }
    }

    fn pair(&self, one: usize, other: usize, random: &mut Random) -> Pair {
        // Comparisons over the whole run, the last one at its very end.
        let ticks = |ns: f64| (ns * self.hz / 1e9).round() as i64;
        let mut pair = Pair::new(one as u32, other as u32);
        for pass in 0..PASSES {
            let at = self.seconds * 1e9 * f64::from(pass) / f64::from(PASSES - 1);
            let apart = self.ahead(at, other) - self.ahead(at, one);
            let exchanges = self.exchanges / u64::from(PASSES) + 1;
            let mut least = || {
                let rare = 1.0 + 1.0 / exchanges as f64;
                random.took(self.message_ns, self.busy / exchanges as f64) * rare
            };
            let (there, back) = (ticks(least() + apart), ticks(least() - apart));
            pair.merge(Pair {
                exchanges,
                there: Some(there),
                back: Some(back),
                last: Some((there, back)),
                ending: at > self.seconds * 0.81e9,
                heard: Some(Heard::once(at as i64)),
                ..Pair::new(one as u32, other as u32)
            });
        }
        pair
    }

    /// Reads of the counter in turn by all processors, a tenth of the run long.
    fn turns(&self, random: &mut Random) -> (Steps, i64) {
        let apart = self.message_ns;
        let length = self.seconds * 1e8;
        let reads = (length / apart) as u64;
        let (size, one_in) = self.glitch;
        let mut across = Locked { reads, handovers: reads / 2, ..Locked::default() };
        let mut at = 0.0;
        loop {
            at += -random.share().max(1e-12).ln() * one_in;
            if at >= reads as f64 || at.is_nan() {
                break;
            }
            // A read too late shows at the next one, if that comes before the time has caught up.
            let least = random.between(0.5, 2.0) * apart;
            if size.abs() > least {
                across.back += 1;
                across.largest = across.largest.max(((size.abs() - least) * self.hz / 1e9) as u64);
            }
        }
        let within = Locked { reads, ..Locked::default() };
        (
            Steps { clock: None, claimed: None, within, across, smallest: Some(20), same: 0 },
            length as i64,
        )
    }

    fn agreement(&self, cpu: u32, random: &mut Random) -> Agreement {
        let mut found = Agreement { cpu, reads: 50, early: 0, late: 0 };
        for _ in 0..50 {
            let t = random.between(0.0, self.seconds * 1e9);
            let (a, b) =
                (random.took(self.read_ns, self.busy), random.took(self.read_ns, self.busy));
            let user = self.user(t + a, cpu as usize);
            found.early = found.early.max(self.mono(t) - user);
            found.late = found.late.max(user - self.mono(t + a + b));
        }
        found
    }
}

/// This machine with an altered counter. Processors are synthetic: a thread is on the one that it
/// was pinned to.
pub(crate) struct Bent {
    pub(crate) hz: f64,
    /// How far each processor's counter is ahead, in nanoseconds.
    pub(crate) offsets: Vec<i64>,
    pub(crate) rate_ppm: f64,
    /// Jumps by the first number of nanoseconds, the second number of nanoseconds after the beginning.
    pub(crate) jump: (i64, i64),
    /// The counter of processor 1 alone steps by the first number of nanoseconds, the second number of nanoseconds
    /// after the beginning.
    pub(crate) cpu_step: (i64, i64),
    pub(crate) begun: i64,
}

thread_local! {
    static ON: Cell<u32> = const { Cell::new(0) };
}

impl Bent {
    /// A copy of this machine without a fault.
    pub(crate) fn healthy() -> Self {
        let (a, begun) = (Real.counter(), super::deadline::now(&Real));
        std::thread::sleep(std::time::Duration::from_millis(50));
        let (b, end) = (Real.counter(), super::deadline::now(&Real));
        let hz = b.wrapping_sub(a) as f64 / (end - begun) as f64 * 1e9;
        // By the clock that `ahead` uses: after hours of NTP the other one is a quarter of a second off.
        let begun = Real.clock(ClockId::MonotonicRaw).unwrap();
        Self {
            hz,
            offsets: vec![0, 0],
            rate_ppm: 0.0,
            jump: (0, i64::MAX),
            cpu_step: (0, i64::MAX),
            begun,
        }
    }

    fn ahead(&self, now: i64) -> i64 {
        let passed = now - self.begun;
        let jump = if passed >= self.jump.1 { self.jump.0 } else { 0 };
        let offset = self.offsets[ON.get() as usize % self.offsets.len()];
        let late = ON.get() == 1 && passed >= self.cpu_step.1;
        let step = if late { self.cpu_step.0 } else { 0 };
        offset + jump + step + (passed as f64 * self.rate_ppm / 1e6) as i64
    }
}

impl Source for Bent {
    fn counter_allowed(&self) -> Result<(), String> {
        Real.counter_allowed()
    }
    fn counter(&self) -> u64 {
        // The fault is taken before the counter, so that it never causes a warp by itself.
        let ahead = self.ahead(Real.clock(ClockId::MonotonicRaw).unwrap());
        Real.counter().wrapping_add((ahead as f64 * self.hz / 1e9) as i64 as u64)
    }
    fn clock(&self, id: ClockId) -> Option<i64> {
        let bent = matches!(id, ClockId::Monotonic);
        let ahead = self.ahead(Real.clock(ClockId::MonotonicRaw).unwrap());
        Some(Real.clock(id)? + if bent { ahead } else { 0 })
    }
    fn kernel_clock(&self, id: ClockId) -> Option<i64> {
        Real.kernel_clock(id)
    }
    fn claimed_step(&self, id: ClockId) -> Option<i64> {
        Real.claimed_step(id)
    }
    fn cpus(&self) -> Vec<u32> {
        (0..self.offsets.len() as u32).collect()
    }
    fn pin(&self, cpu: u32) -> Result<(), String> {
        ON.set(cpu);
        Ok(())
    }
    fn kernel_hz(&self) -> Option<f64> {
        Some(self.hz)
    }
}
