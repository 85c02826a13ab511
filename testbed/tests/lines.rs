//! One real line of every kind that recorded kernels wrote about clocks.

#![allow(clippy::unwrap_used, reason = "a test may end where something is missing")]

use clocksmith_testbed::lines::{Ignored, look};
use std::path::Path;

#[test]
fn every_line_about_clocks_is_read_or_ignored_for_a_reason() {
    let log = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/clock-lines.log");
    let ignored = Ignored::standard().unwrap();
    let found = look(&[log], &ignored).unwrap();
    assert!(found.unclaimed.is_empty(), "{:#?}", found.unclaimed);
    assert!(found.claimed >= 45, "{}", found.summary());
    let complaints = ignored.complaints(&found);
    assert!(complaints.is_empty(), "{complaints:?}");
}
