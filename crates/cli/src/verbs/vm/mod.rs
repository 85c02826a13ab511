//! `vm`: hypervisor configuration, and what it does to a guest's clock. One file a verb.

pub(crate) mod migrate;

use crate::args::Common;
use crate::exit::Code;
use anyhow::Result;
use clap::{Args, Subcommand};

/// Options of `vm`.
#[derive(Args, Debug, Clone)]
pub(crate) struct Vm {
    #[command(subcommand)]
    verb: VmVerb,
}

#[derive(Subcommand, Debug, Clone)]
enum VmVerb {
    /// Whether a guest can move to other hosts, and what its clock does there
    #[command(after_help = migrate::HELP)]
    Migrate(migrate::Migrate),
}

/// Runs the verb.
pub(crate) fn run(common: &Common, vm: &Vm) -> Result<Code> {
    match &vm.verb {
        VmVerb::Migrate(migrate) => migrate::run(common, migrate),
    }
}
