//! `vm`: virtual machines' files. One file for each verb; the reading of files is common to all.

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

/// Runs the requested verb.
pub(crate) fn run(common: &Common, args: &Vm) -> Result<Code> {
    match &args.verb {
        VmVerb::Lint(lint) => lint::run(common, lint),
        VmVerb::Fix(fix) => fix::run(common, fix),
        VmVerb::Migrate(migrate) => migrate::run(common, migrate),
    }
}
