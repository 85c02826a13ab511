//! The agreement page: kernels across and cases down for x86-64, a list for other architectures,
//! and everything that disagrees with the kernel's own words. Nothing on it depends on when or
//! where the boots were made, so the same records give the same page.

use super::{Row, summary};
use crate::arch::Arch;
use crate::case::Boot;
use crate::kernel::catalogue::Catalogue;
use crate::oracle::Verdict;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The heading of the table of the subset for continuous integration; a test looks for it.
pub const CI: &str = "## The subset for continuous integration";
/// The heading of the table of all other cases.
const OTHERS: &str = "## Other cases";

/// The page.
pub fn markdown(rows: &[Row], boots: &[Boot], catalogue: &Catalogue) -> String {
    let ci: BTreeSet<&str> = boots.iter().filter(|b| b.ci).map(|b| b.case.as_str()).collect();
    let is_ci = |row: &&Row| ci.contains(row.truth.case.as_str());
    let mut text = String::from(
        "<!-- Written by `testbed report DIR --output FILE`. Do not edit. -->\n\n\
         # Agreement with real kernels\n\n",
    );
    let _ = writeln!(text, "{}.\n", summary(rows));
    text.push_str(
        "A cell shows `available_clocksource` in the kernel's order with the current one in \
         brackets, and whether the vDSO serves CLOCK_MONOTONIC or every read is a system call. The test \
         found this out with a filter that forbids the system call. ✓: `clocksmith predict` gives \
         exactly this answer; ✗: it gives a different one; ?: it was not run; !: the kernel did not \
         do what the case file expects. If the program also ran inside the guest, the verdict of \
         `clocksmith why` follows, with ✓ if verdict, causes and bundle are correct. –: not booted.\n",
    );
    for (heading, part) in [
        (CI, rows.iter().filter(is_ci).collect::<Vec<_>>()),
        (OTHERS, rows.iter().filter(|row| !is_ci(row)).collect()),
    ] {
        if !part.is_empty() {
            let _ = writeln!(text, "\n{heading}\n");
            tables(&mut text, &part, catalogue);
        }
    }
    disagreements(&mut text, rows, boots);
    text.push_str("\n## Kernels\n\n");
    let packages: BTreeSet<(&str, &str)> =
        rows.iter().map(|row| (row.truth.kernel.as_str(), row.truth.package.as_str())).collect();
    for (kernel, package) in packages {
        let boots = rows.iter().filter(|row| row.truth.kernel == kernel).count();
        let _ = writeln!(text, "- {kernel}: {package}, {}", plural(boots));
    }
    text
}

fn plural(boots: usize) -> String {
    if boots == 1 { "1 boot".into() } else { format!("{boots} boots") }
}

/// Kernels that boot few cases would be columns of dashes: they get a list.
fn tables(text: &mut String, rows: &[&Row], catalogue: &Catalogue) {
    let is_main = |row: &&&Row| {
        let kernel = row.truth.kernel.as_str();
        let arch = catalogue.get(kernel).map(|kernel| kernel.arch);
        arch.is_none_or(|arch| arch == Arch::Amd64) && !kernel.contains('-')
    };
    let main: Vec<&Row> = rows.iter().filter(is_main).copied().collect();
    let rest: Vec<&Row> = rows.iter().filter(|row| !is_main(row)).copied().collect();
    let mut kernels: Vec<&str> = catalogue.names();
    kernels.retain(|kernel| main.iter().any(|row| row.truth.kernel == *kernel));
    let mut cases: BTreeMap<&str, BTreeMap<&str, &Row>> = BTreeMap::new();
    for row in &main {
        cases.entry(&row.truth.case).or_default().insert(&row.truth.kernel, row);
    }
    if !cases.is_empty() {
        let _ = writeln!(text, "| case | {} |", kernels.join(" | "));
        let _ = writeln!(text, "|---|{}", "---|".repeat(kernels.len()));
    }
    for (case, by_kernel) in &cases {
        let cell =
            |kernel: &&str| by_kernel.get(kernel).map_or_else(|| "–".into(), |row| cell(row));
        let cells: Vec<String> = kernels.iter().map(cell).collect();
        let _ = writeln!(text, "| {case} | {} |", cells.join(" | "));
    }
    if !rest.is_empty() {
        let _ = writeln!(text, "\n| case | kernel | |\n|---|---|---|");
    }
    for row in rest {
        let _ = writeln!(text, "| {} | {} | {} |", row.truth.case, row.truth.kernel, cell(row));
    }
}

fn cell(row: &Row) -> String {
    let (truth, judgement) = (row.truth.choice(), &row.judgement);
    let mut text = match &judgement.verdict {
        Verdict::Agrees => format!("✓ {truth}"),
        Verdict::Disagrees { .. } | Verdict::Failed { .. } => format!("✗ {truth}"),
        Verdict::Skipped => format!("? {truth}"),
    };
    if judgement.expected.is_some() {
        text.insert(0, '!');
    }
    match row.truth.vdso.get("MONOTONIC").map(String::as_str) {
        Some("vdso") => text.push_str(", vDSO"),
        Some("syscall") => text.push_str(", system call"),
        Some("no-vdso") => text.push_str(", no vDSO"),
        _ => {}
    }
    if let Some(inside) = &judgement.inside {
        let verdict = inside.answer.as_ref().map_or("nothing", |answer| answer.verdict.as_str());
        let mark = if inside.disagreements.is_empty() { '✓' } else { '✗' };
        let _ = write!(text, "; {verdict} {mark}");
    }
    text
}

fn disagreements(text: &mut String, rows: &[Row], boots: &[Boot]) {
    let bad: Vec<&Row> = rows.iter().filter(|row| row.judgement.is_bad()).collect();
    text.push_str("\n## Disagreements\n\n");
    if bad.is_empty() {
        text.push_str("None.\n");
    }
    for row in bad {
        let _ = writeln!(text, "- **{}** chose {}.", row.truth.id, row.truth.choice());
        let boot = boots.iter().find(|boot| boot.id == row.truth.id);
        if let Some(what) = boot.and_then(|boot| boot.what.as_deref()) {
            let _ = writeln!(text, "  - the case: {what}");
        }
        if !row.truth.cmdline.is_empty() {
            let _ = writeln!(text, "  - command line: `{}`", row.truth.cmdline);
        }
        match &row.judgement.verdict {
            Verdict::Disagrees { predicted } => {
                let _ = writeln!(text, "  - predicted: {predicted}");
            }
            Verdict::Failed { why } => {
                let _ = writeln!(text, "  - no prediction: {}", why.replace('\n', " "));
            }
            Verdict::Agrees | Verdict::Skipped => {}
        }
        if let Some(expected) = &row.judgement.expected {
            let _ = writeln!(text, "  - the case file expects: {expected}");
        }
        for more in row.judgement.inside.iter().flat_map(|inside| &inside.disagreements) {
            let _ = writeln!(text, "  - {more}");
        }
        for line in &row.words {
            let _ = writeln!(text, "  - the kernel: `{line}`");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::row;
    use super::*;
    use crate::case::file;

    fn page(rows: &[Row]) -> String {
        let kernel = |name: &str, arch: &str| {
            format!(
                "[[kernel]]\nname = \"{name}\"\narch = \"{arch}\"\nsuites = []\npackage = \"p\"\n"
            )
        };
        let catalogue = ["5.10", "6.1", "6.12"].map(|name| kernel(name, "amd64")).concat();
        let catalogue = catalogue + &kernel("6.1-arm64", "arm64");
        let catalogue = Catalogue::parse(&catalogue).unwrap();
        let cases = "[[case]]\nname = \"a\"\nkernels = [\"6.1\"]\nci = [\"6.1\"]\n\
                     [[case]]\nname = \"b\"\nkernels = [\"6.1\"]\nwhat = \"a reason\"\n";
        markdown(rows, &file::parse(cases, &catalogue).unwrap(), &catalogue)
    }

    #[test]
    fn cases_go_down_and_kernels_across_in_the_catalogues_order() {
        let mut wrong =
            row("b", "6.1", "[hpet]", Verdict::Disagrees { predicted: "[tsc]".parse().unwrap() });
        wrong.words = vec!["tsc: Marking TSC unstable due to TSCs unsynchronized".into()];
        let text = page(&[
            row("a", "6.1", "[tsc] hpet", Verdict::Agrees),
            wrong,
            row("b", "5.10", "[tsc]", Verdict::Skipped),
            row("c", "6.1-arm64", "[arch_sys_counter]", Verdict::Agrees),
        ]);
        let (ci, others) = text.split_once(OTHERS).unwrap();
        assert!(ci.contains("| case | 6.1 |\n|---|---|\n| a | ✓ [tsc] hpet, vDSO |\n"));
        assert!(others.contains("| case | 5.10 | 6.1 |"));
        assert!(others.contains("| b | ? [tsc], vDSO | ✗ [hpet], system call |"));
        assert!(others.contains("| c | 6.1-arm64 | ✓ [arch_sys_counter], system call |"));
        assert!(
            others.contains("- **b@6.1** chose [hpet].\n  - the case: a reason\n  - predicted: [tsc]\n  - the kernel:")
        );
        assert!(text.contains("4 boots; 2 of 3 compared agree"));
        assert!(text.ends_with("- 6.1-arm64: linux 6.1-arm64, 1 boot\n"));
    }

    #[test]
    fn without_disagreements_the_page_says_so() {
        let text = page(&[row("a", "6.1", "[tsc]", Verdict::Agrees)]);
        assert!(text.contains("## Disagreements\n\nNone.\n") && !text.contains(OTHERS));
    }
}
