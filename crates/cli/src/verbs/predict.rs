//! `predict`: the kernel model, with hypothetical changes.

use crate::args::{Common, Predict};
use crate::exit::Code;
use crate::gather::{self, From};
use crate::render;
use crate::report::PredictReport;
use anyhow::{Context, Result, bail};
use clocksmith_facts::{Facts, Origin};
use clocksmith_kernel::defaults::defaults;
use clocksmith_kernel::{Machine, predict};

pub(crate) fn run(common: &Common, args: &Predict) -> Result<Code> {
    let from = From::named(common.root.as_deref(), args.bundle.as_deref(), args.log.as_deref());
    let facts = if args.blank { Facts::empty(Origin::Stated) } else { gather::facts(from)? };
    let mut machine = Machine::of(&facts);
    change(&mut machine, args)?;
    let expectation = predict(&machine);
    let code = if expectation.current.is_some() { Code::Done } else { Code::Undetermined };
    if common.json {
        render::json(&PredictReport::new(&expectation, &defaults(&machine)))?;
    } else {
        render::predict::print(common, &expectation, &defaults(&machine))?;
    }
    Ok(code)
}

fn change(machine: &mut Machine, args: &Predict) -> Result<()> {
    if let Some(kernel) = &args.kernel {
        machine.set_kernel(kernel)?;
    }
    for words in &args.cmdline {
        machine.set_cmdline(words);
    }
    if let Some(cpus) = args.cpus {
        if cpus == 0 {
            bail!("--cpus 0: a machine has at least one CPU");
        }
        machine.set_cpus(cpus);
    }
    if let Some(name) = &args.hypervisor {
        machine.set_hypervisor(name)?;
    }
    for item in &args.set {
        let (fact, value) = item
            .split_once('=')
            .with_context(|| format!("--set {item}: expected FACT=VALUE, such as hpet=no"))?;
        machine.set(fact.trim(), value.trim())?;
    }
    Ok(())
}
