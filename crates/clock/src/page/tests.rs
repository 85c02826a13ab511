//! The page over a simulated counter.

use super::*;
use std::cell::Cell;

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(1 << 40) };
}

struct Made;

impl Counter for Made {
    fn read() -> u64 {
        NOW.set(NOW.get() + 20);
        NOW.get()
    }

    fn read_ordered() -> u64 {
        Self::read()
    }
}

/// A counter of 2.5 GHz.
fn kernel_ns(cycles: u64) -> u64 {
    9_000_000_000 + (cycles - (1 << 40)) * 2 / 5
}

fn renew(page: &Page) -> Renewed {
    page.renew::<Made>(|| sample::<Made>(4, || Some(kernel_ns(Made::read()))), &Floor::new(0))
}

#[test]
fn a_line_is_begun_renewed_and_put_away() {
    let page = Page::new();
    assert!(!page.is_begun());
    assert_eq!(renew(&page), Renewed::Waiting);
    assert!(page.is_too_early(kernel_ns(NOW.get())));
    NOW.set(NOW.get() + 3_000_000);
    assert!(!page.is_too_early(kernel_ns(NOW.get())));
    while renew(&page) == Renewed::Waiting {
        NOW.set(NOW.get() + 3_000_000);
    }
    let mut before = 0;
    for _ in 0..50 {
        let Renewed::Until { armed, window } = renew(&page) else { panic!("no line") };
        for part in 0..8 {
            let cycles = armed + window * part / 8;
            NOW.set(cycles);
            let (line, cycles) = crate::line::read(&page, 1, Made::read).unwrap();
            let ours = line.at(cycles);
            assert!(ours >= before && ours.abs_diff(kernel_ns(cycles)) <= 25);
            before = ours;
        }
        NOW.set(armed + window + 1);
    }
    // Renewed a moment ago: nothing to do, and nothing is read.
    let page_is_fresh = renew(&page);
    assert_eq!(page.renew::<Made>(|| panic!("read"), &Floor::new(0)), page_is_fresh);
    let floor = Floor::new(0);
    assert!(page.put_away::<Made>(&floor));
    let floor = floor.into_inner();
    assert!(floor >= before && floor < before + 40_000_000);
    assert!(crate::line::read(&page, 1, Made::read).is_err());
    assert!(!page.is_begun());
    assert_eq!(renew(&page), Renewed::Waiting, "it can begin again");
}

#[test]
fn pieces_continue_to_the_fraction() {
    let old = Line {
        cycle_last: 1_000,
        mask: u64::MAX,
        mult: 1_717_986_918,
        shift: 32,
        sec: 3,
        snsec: 77,
    };
    for (slope, cycles) in [(1 << 46, 1_001), (1 << 46, 2_000_000_000), (41 << RATE_SHIFT, 5_000)] {
        let line = continued(scale(slope), &old, cycles);
        assert_eq!(line.at(cycles), old.at(cycles));
        assert!(line.at(cycles + 1) >= old.at(cycles));
        // The slope is kept to 2^-30.
        let kept = (u128::from(line.mult) << RATE_SHIFT >> line.shift) as u64;
        assert!(kept.abs_diff(slope) <= slope >> 29, "{kept} {slope}");
    }
}
