//! `fix --format`: the chosen change, in the languages of tools that manage many machines.

use super::Seen;
use crate::args::{Common, Fix};
use crate::exit::Code;
use crate::render;
use crate::ui::err;
use anyhow::{Result, bail};
use clocksmith_change::formats::{Format, Wanted, render as write};

pub(super) fn run(common: &Common, args: &Fix, format: Format) -> Result<Code> {
    if common.json {
        bail!("--format prints that format; it has no JSON. Use one of the two");
    }
    let named = args.to.is_some() || !args.param.is_empty() || !args.remove_param.is_empty();
    let wanted = if named {
        Wanted {
            clocksource: args.to.clone(),
            add: args.param.clone(),
            remove: args.remove_param.clone(),
        }
    } else {
        let seen = Seen::look(common)?;
        let proposal = seen.propose(args, &seen.checked());
        if proposal.target.is_none() && proposal.cmdline.is_empty() {
            let summary = &proposal.summary;
            err::line(&format!(
                "clocksmith: {summary}. `clocksmith fix` without --format shows the reason. To request \
                                a clocksource: --to NAME"
            ));
            return Ok(super::code(proposal.outcome.into()));
        }
        Wanted {
            clocksource: proposal.target,
            add: proposal.cmdline.add,
            remove: proposal.cmdline.remove,
        }
    };
    let text = write(format, &wanted)?;
    render::text(&text)?;
    err::line(&format!("clocksmith: use this {format} text as: {}", format.place()));
    Ok(Code::Done)
}
