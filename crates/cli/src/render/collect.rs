//! `collect` as text.

use super::{text, wrap};
use crate::args::Common;
use crate::report::CollectReport;
use anyhow::Result;

/// Prints the files that were written, and those that could not be read.
pub(crate) fn print(common: &Common, report: &CollectReport, anonymous: bool) -> Result<()> {
    let mut out = format!(
        "Wrote {} ({} files, {} KiB).\n",
        report.file,
        report.files.len(),
        report.bytes.div_ceil(1024)
    );
    if !common.quiet {
        let name = if anonymous {
            "a hash instead of the host's name"
        } else {
            "the host's name (without it: --anonymous)"
        };
        let measured =
            report.files.iter().any(|file| file.path == clocksmith_facts::collect::MEASURED);
        let costs = if measured { "read costs, " } else { "" };
        out.push_str(&wrap(
            &format!(
                "It contains the kernel log, CPUID, clock-related files of /proc and /sys, {costs}and {name}; \
                 no serial numbers. To list the files: clocksmith collect --list"
            ),
            "",
            "",
        ));
        let wanted = report.missing.iter().filter(|gap| gap.how.is_some());
        for gap in wanted {
            let how = gap.how.as_deref().unwrap_or_default();
            out.push_str(&wrap(&format!("{}: {}; {how}", gap.fact, gap.why), "  missing ", "    "));
        }
        out.push_str(&wrap(
            &format!("Read it with: clocksmith why --bundle {}", report.file),
            "",
            "  ",
        ));
    }
    text(&out)
}
