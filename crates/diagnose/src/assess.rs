//! From evidence to a judgement, in one way for every verb.

use crate::diagnosis::judge;
use crate::reconcile::reconcile;
use crate::{Read, Report};
use clocksmith_facts::{Facts, log};
use clocksmith_kernel::{Expectation, Machine, predict};

/// What was measured on the machine in question.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// The cost of each clock; empty if nothing was measured.
    pub reads: Vec<Read>,
    /// Nanoseconds a bare read of the counter, where measured.
    pub counter_ns: Option<f64>,
}

/// A report, with what it rests on.
#[derive(Debug)]
pub struct Assessment {
    /// The evidence, complete, without what stronger evidence contradicts.
    pub facts: Facts,
    /// The machine that it describes.
    pub machine: Machine,
    /// What Linux does on that machine, with the model's stated defaults where an input is open.
    pub expectation: Expectation,
    /// The report.
    pub report: Report,
}

/// Judges a machine: completes the facts, settles contradictions, asks the model of every machine that the
/// evidence allows, and finds causes and remedies.
#[must_use]
pub fn assess(mut facts: Facts, measured: Measured) -> Assessment {
    log::complete(&mut facts);
    let contradictions = reconcile(&mut facts);
    let machine = Machine::of(&facts);
    let expectation = predict(&machine);
    let report = judge(&facts, &machine, &expectation, measured, contradictions);
    Assessment { facts, machine, expectation, report }
}
