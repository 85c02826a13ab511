//! The kernel lines on the page of each cause lead to that cause.
#![allow(clippy::unwrap_used)]

use clocksmith_diagnose::{CauseId, Measured, assess};
use clocksmith_facts::Facts;
use clocksmith_facts::log::KernelLog;
use std::path::Path;

/// The logs of a page, each with the versions that its heading names.
fn cases(page: &str) -> Vec<(&str, &str)> {
    let Some((_, lines)) = page.split_once("\n## Kernel lines\n") else { return Vec::new() };
    let lines = lines.split("\n## ").next().unwrap();
    let case = |text| {
        let (kernels, rest): (&str, &str) = str::split_once(text, '\n').unwrap();
        let log = rest.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
        (kernels, log)
    };
    lines.split("### Linux ").skip(1).map(case).collect()
}

#[test]
fn kernel_lines_of_a_page_lead_to_its_cause() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("knowledge/causes");
    let mut total = 0;
    for id in CauseId::ALL {
        let page = std::fs::read_to_string(directory.join(format!("{}.md", id.name()))).unwrap();
        let cases = cases(&page);
        assert!(!cases.is_empty() || page.contains("\n## Where it is seen\n"), "{id:?}");
        for (kernels, log) in cases {
            let facts = Facts::from_log(KernelLog::scan(log.as_bytes(), "dmesg").unwrap());
            let report = assess(facts, Measured::default()).report;
            let found: Vec<CauseId> = report.causes.iter().map(|cause| cause.id).collect();
            assert!(found.contains(&id), "{id:?}, {kernels}: {found:?}");
            total += 1;
        }
    }
    assert!(total > 40, "{total}");
}
