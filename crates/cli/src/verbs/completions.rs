//! `completions`: the completions of a shell, from the one definition of the command line.

use crate::args::{Common, Completions, visible};
use crate::exit::Code;
use crate::ui::out;
use anyhow::{Result, bail};

pub(crate) fn run(common: &Common, args: &Completions) -> Result<Code> {
    if common.json {
        bail!("completions have no JSON form; leave out --json");
    }
    // Into memory first: the generator panics when its output is closed.
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut visible(), "clocksmith", &mut text);
    out::bytes(out::Bytes::Completions(&text))?;
    Ok(Code::Done)
}
