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
        let has = |path: &str, what: &'static str| {
            report.files.iter().any(|file| file.path == path).then_some(what)
        };
        let parts = [
            report
                .files
                .iter()
                .any(|file| file.path.ends_with("dmesg") || file.path.starts_with("var/log/"))
                .then_some("the kernel log"),
            has("cpuid", "CPUID"),
            Some("clock-related files of /proc and /sys"),
            has(clocksmith_facts::collect::MEASURED, "read costs"),
        ];
        let parts: Vec<&str> = parts.into_iter().flatten().collect();
        out.push_str(&wrap(
            &format!(
                "It contains {} and {name}, but no serial numbers. To list the files: clocksmith collect --list",
                parts.join(", ")
            ),
            "",
            "",
        ));
        if !report.masked.is_empty() {
            out.push_str(&wrap(
                &format!("Kernel parameters without their values: {}.", report.masked.join(", ")),
                "",
                "",
            ));
        }
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
