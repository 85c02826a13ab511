//! Every order in which the steps of a writer and of readers can be seen, by `loom`:
//! `./test.sh clock`.

use super::*;
use crate::line::{Unread, read};
use loom::sync::Arc;
use std::cell::Cell;

/// The counter and the kernel's clock advance with each look: deterministic in each order.
struct Looks;

// Loom runs all its threads on one.
std::thread_local! {
    static NOW: Cell<u64> = const { Cell::new(0) };
}

impl Counter for Looks {
    fn read() -> u64 {
        NOW.set(NOW.get() + 1_000);
        NOW.get()
    }

    fn read_ordered() -> u64 {
        Self::read()
    }
}

/// The kernel's clock: one nanosecond per cycle.
fn sample_now(later: u64) -> Option<Sample> {
    NOW.set(NOW.get() + later);
    Some(Sample {
        cycles: NOW.get(),
        ns: 5_000_000_000 + NOW.get(),
        width: 50,
        only_width_tells: false,
    })
}

fn running() -> Arc<Page> {
    NOW.set(1 << 30);
    let page = Arc::new(Page::new());
    assert_eq!(page.renew::<Looks>(|| sample_now(0), 0), Renewed::Waiting);
    while page.renew::<Looks>(|| sample_now(2_000_000), 0) == Renewed::Waiting {}
    assert!(page.is_running());
    // The window is over.
    NOW.set(NOW.get() + 3_000_000);
    page
}

/// A time that was got is the kernel's, to a few nanoseconds: a line whose numbers come from two
/// states of the page would be off by a window.
fn check(page: &Page) -> Option<u64> {
    match read(page, 1, Looks::read) {
        Ok((line, cycles)) => {
            let (ours, kernel) = (line.at(cycles), 5_000_000_000 + cycles);
            assert!(ours.abs_diff(kernel) < 100, "{ours} {kernel}");
            Some(ours)
        }
        Err(Unread::Changing | Unread::Mode(0)) => None,
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn readers_see_one_state_or_none() {
    loom::model(|| {
        let page = running();
        let writer = {
            let page = Arc::clone(&page);
            loom::thread::spawn(move || page.renew::<Looks>(|| sample_now(0), 0))
        };
        let first = check(&page);
        let second = check(&page);
        if let (Some(first), Some(second)) = (first, second) {
            assert!(first <= second, "backward by {}", first - second);
        }
        assert!(matches!(writer.join().unwrap(), Renewed::Until { .. }));
        assert!(check(&page).is_some());
    });
}

#[test]
fn two_writers_do_not_mix() {
    loom::model(|| {
        let page = running();
        let other = {
            let page = Arc::clone(&page);
            loom::thread::spawn(move || page.renew::<Looks>(|| sample_now(0), 0))
        };
        let mine = page.renew::<Looks>(|| sample_now(0), 0);
        let others = other.join().unwrap();
        let renewed = |how| matches!(how, Renewed::Until { .. });
        assert!(renewed(mine) || renewed(others));
        assert!(mine != Renewed::Busy || others != Renewed::Busy, "both gave way");
        assert!(check(&page).is_some());
    });
}

#[test]
fn a_line_that_is_put_away_is_not_read() {
    loom::model(|| {
        let page = running();
        let writer = {
            let page = Arc::clone(&page);
            loom::thread::spawn(move || page.put_away::<Looks>())
        };
        check(&page);
        assert!(writer.join().unwrap().is_some());
        assert_eq!(check(&page), None);
    });
}
