//! `explain`: a word, a parameter or a message in plain words.

use crate::args::{Common, Explain};
use crate::exit::Code;
use crate::render;
use crate::report::ExplainReport;
use anyhow::Result;
use clocksmith_diagnose::explain::{did_you_mean, explain};

pub(crate) fn run(common: &Common, args: &Explain) -> Result<Code> {
    let query = args.words.join(" ");
    let explanations = explain(&query);
    let offers = if explanations.is_empty() { did_you_mean(&query) } else { Vec::new() };
    let code = if explanations.is_empty() { Code::Undetermined } else { Code::Done };
    let report = ExplainReport::new(query, explanations, offers);
    if common.json {
        render::json(&report)?;
    } else {
        render::explain::print(common, &report)?;
    }
    Ok(code)
}
