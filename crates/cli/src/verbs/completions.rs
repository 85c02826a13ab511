//! `completions`: what a shell completes, from the one definition of the command line.

use crate::args::{Common, Completions, visible};
use crate::exit::Code;
use anyhow::{Result, bail};
use std::io::{Write, stdout};

pub(crate) fn run(common: &Common, args: &Completions) -> Result<Code> {
    if common.json {
        bail!("completions have no JSON form; leave out --json");
    }
    // Into memory first: the generator panics when its output goes away.
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut visible(), "clocksmith", &mut text);
    let mut out = stdout().lock();
    out.write_all(&text)?;
    out.flush()?;
    Ok(Code::Done)
}
