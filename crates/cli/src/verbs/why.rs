//! `why`: the diagnosis.

use crate::args::{Common, Why};
use crate::exit::Code;
use crate::gather::{self, From};
use crate::render;
use crate::report::WhyReport;
use anyhow::Result;
use clocksmith_diagnose::{Verdict, diagnose};
use clocksmith_kernel::{Machine, predict};
use clocksmith_measure::light;
use clocksmith_watch::assess;

pub(crate) fn run(common: &Common, why: &Why) -> Result<Code> {
    let from = From {
        root: common.root.as_deref(),
        bundle: why.bundle.as_deref(),
        log: why.log.as_deref(),
    };
    let (facts, manifest) = match &why.bundle {
        Some(bundle) => gather::bundle(bundle)?,
        None => (gather::facts(from)?, None),
    };
    let machine = Machine::of(&facts);
    let expectation = predict(&machine);
    // Only the machine that runs this program can be measured.
    let measured =
        (from.is_live() && !why.no_measure).then(|| light(clocksmith_measure::light::BUDGET));
    let reads = measured.as_ref().map(assess::reads).unwrap_or_default();
    let counter_ns = measured.as_ref().and_then(|m| m.counter.ns);
    let diagnosis = diagnose(&facts, &machine, &expectation, reads);
    let code = match diagnosis.verdict {
        Verdict::Unknown => Code::Undetermined,
        _ => Code::Done,
    };
    let mut report = WhyReport::new(&facts, &expectation, diagnosis, counter_ns).named(manifest);
    if why.host_name.is_some() {
        report.host.clone_from(&why.host_name);
    }
    if common.verbose {
        report.facts = Some(serde_json::to_value(&facts)?);
    }
    if common.json {
        render::json(&report)?;
    } else {
        render::why::print(common, &report, &expectation)?;
        if common.verbose {
            render::facts::print(&facts)?;
        }
    }
    Ok(code)
}
