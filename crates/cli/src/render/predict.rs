//! `predict` as text.

use super::{Style, text, wrap};
use crate::args::Common;
use anyhow::Result;
use clocksmith_kernel::Expectation;

/// Prints the prediction.
pub(crate) fn print(common: &Common, expectation: &Expectation) -> Result<()> {
    let style = Style::of(common);
    let mut out = String::new();
    match &expectation.current {
        Some(current) => out.push_str(&format!("Linux would use {}.\n", style.bold(current))),
        None => out.push_str("Which clocksource Linux would use cannot be told.\n"),
    }
    if let Some(available) = &expectation.available {
        out.push_str(&wrap(&available.join(" "), "  available  ", "             "));
    }
    let vdso = match expectation.vdso {
        Some(true) => "yes: reads stay in user space",
        Some(false) => "no: every read is a system call",
        None => "depends on the host",
    };
    out.push_str(&wrap(vdso, "  vDSO       ", "             "));
    if !common.quiet {
        out.push_str("\nBecause\n");
        for reason in &expectation.reasons {
            out.push_str(&wrap(&reason.because, "  - ", "    "));
            if common.verbose {
                out.push_str(&style.dim(&wrap(&reason.source, "      ", "      ")));
            }
        }
        if !expectation.assumed.is_empty() {
            out.push_str("\nAssumed (set with --set, --kernel, --cmdline, --cpus, --hypervisor)\n");
            for item in &expectation.assumed {
                let line = format!("{} = {}: {}", item.fact, item.value, item.why);
                out.push_str(&wrap(&line, "  - ", "    "));
            }
        }
        for item in &expectation.undecided {
            out.push_str(&wrap(item, "  ? ", "    "));
        }
    }
    text(&out)
}
