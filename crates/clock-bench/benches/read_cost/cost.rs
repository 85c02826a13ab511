//! The three figures of a clock.

use clocksmith_clock_bench::system::{fence, work};
use clocksmith_measure::sampler::{Sampled, Sampler, Subject};
use serde::Serialize;
use std::hint::black_box;

/// The read cost of a clock, in nanoseconds.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Cost {
    pub(crate) name: String,
    /// Back to back.
    pub(crate) throughput: f64,
    /// Between fences, less the fences.
    pub(crate) serialised: f64,
    /// Added to a loop of additions.
    pub(crate) added: f64,
}

/// Clocks to be measured together.
#[derive(Default)]
pub(crate) struct Clocks<'a> {
    names: Vec<String>,
    subjects: Vec<Subject<'a>>,
}

impl<'a> Clocks<'a> {
    /// Adds a clock.
    pub(crate) fn add<R>(&mut self, name: &str, read: impl Fn() -> R + Copy + 'a) {
        self.names.push(name.to_owned());
        self.subjects.push(Subject::new(name, read));
        self.subjects.push(Subject::new(name, move || {
            fence();
            // In memory before the second fence: no arithmetic is put off until after it.
            black_box(read());
            fence();
        }));
        self.subjects.push(Subject::new(name, move || {
            work();
            read()
        }));
    }

    /// Measures the clocks, in turn.
    pub(crate) fn measure(mut self, sampler: &Sampler) -> Vec<Cost> {
        self.subjects.push(Subject::new("nothing between fences", || {
            fence();
            black_box(0u64);
            fence();
        }));
        self.subjects.push(Subject::new("additions", || {
            work();
            0u64
        }));
        let sampled = sampler.run(&mut self.subjects);
        let last = 3 * self.names.len();
        let (fences, additions) = (median(&sampled, last), median(&sampled, last + 1));
        let names = self.names.into_iter().enumerate();
        let cost = |(index, name)| Cost {
            name,
            throughput: median(&sampled, 3 * index),
            serialised: median(&sampled, 3 * index + 1) - fences,
            added: median(&sampled, 3 * index + 2) - additions,
        };
        names.map(cost).collect()
    }
}

fn median(sampled: &Sampled, index: usize) -> f64 {
    sampled.samples.get(index).and_then(|samples| samples.median()).unwrap_or(f64::NAN)
}
