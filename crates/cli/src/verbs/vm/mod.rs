//! `vm`: virtual machines' files. One file a verb; what they share is how files are read.

mod attributes;
mod fix;
mod lint;
mod living;
pub(crate) mod migrate;
mod read;
mod write;

use crate::args::Common;
use crate::args::vm::{Vm, VmVerb};
use crate::exit::Code;
use anyhow::Result;

/// Runs what was asked for.
pub(crate) fn run(common: &Common, args: &Vm) -> Result<Code> {
    match &args.verb {
        VmVerb::Lint(lint) => lint::run(common, lint),
        VmVerb::Fix(fix) => fix::run(common, fix),
        VmVerb::Migrate(migrate) => migrate::run(common, migrate),
    }
}
