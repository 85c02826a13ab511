//! `why`: the diagnosis.

use crate::args::{Common, Why};
use crate::exit::Code;
use crate::gather::{self, From};
use crate::render;
use crate::report::WhyReport;
use anyhow::Result;
use clocksmith_diagnose::{Verdict, diagnose};
use clocksmith_kernel::{Machine, predict};

pub(crate) fn run(common: &Common, why: &Why) -> Result<Code> {
    let from = From {
        root: common.root.as_deref(),
        bundle: why.bundle.as_deref(),
        log: why.log.as_deref(),
    };
    let facts = gather::facts(from)?;
    let machine = Machine::of(&facts);
    let expectation = predict(&machine);
    let diagnosis = diagnose(&facts, &machine, &expectation, Vec::new());
    let code = match diagnosis.verdict {
        Verdict::Unknown => Code::Undetermined,
        _ => Code::Done,
    };
    if common.json {
        render::json(&WhyReport::new(&facts, &expectation, diagnosis, None))?;
    } else {
        println!("{}", diagnosis.headline);
    }
    Ok(code)
}
