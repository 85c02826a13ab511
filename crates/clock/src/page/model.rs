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

/// The next renewal begins the line.
fn waiting() -> Arc<Page> {
    NOW.set(1 << 30);
    let page = Arc::new(Page::new());
    for _ in 0..3 {
        let renewed = page.renew::<Looks>(|| sample_now(2_000_000), &Floor::new(0));
        assert_eq!(renewed, Renewed::Waiting);
    }
    page
}

fn running() -> Arc<Page> {
    let page = waiting();
    while page.renew::<Looks>(|| sample_now(2_000_000), &Floor::new(0)) == Renewed::Waiting {}
    assert!(page.is_running());
    // The window is over.
    NOW.set(NOW.get() + 3_000_000);
    page
}

/// A time that was got is the kernel's, to a few nanoseconds: a line whose numbers come from two
/// states of the page would be off by a window.
fn check(page: &Page) -> Option<u64> {
    // The second look at the sequence number comes after the counter.
    let counter = || {
        let cycles = Looks::read();
        fence(Ordering::SeqCst);
        cycles
    };
    match read(page, 1, counter) {
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
            loom::thread::spawn(move || page.renew::<Looks>(|| sample_now(0), &Floor::new(0)))
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
            loom::thread::spawn(move || page.renew::<Looks>(|| sample_now(0), &Floor::new(0)))
        };
        let mine = page.renew::<Looks>(|| sample_now(0), &Floor::new(0));
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
        // Readers do not use the line longer than two windows.
        NOW.set(page.armed.load(Ordering::Relaxed));
        let floor = Arc::new(Floor::new(0));
        let writer = {
            let (page, floor) = (Arc::clone(&page), Arc::clone(&floor));
            loom::thread::spawn(move || page.put_away::<Looks>(&floor))
        };
        let seen = check(&page);
        // A reader that finds no line sees the floor.
        if check(&page).is_none() && !page.word(Ordering::Acquire).is_odd() {
            assert!(floor.load(Ordering::Relaxed) >= seen.unwrap_or(1));
        }
        assert!(writer.join().unwrap());
        assert_eq!(check(&page), None);
        // No reader got a later time.
        assert!(floor.load(Ordering::Relaxed) >= seen.unwrap_or(1));
    });
}

/// A thread that the kernel served raises the floor, and looks for a new line after that: the line
/// begins at the floor, or the thread finds it.
#[test]
fn a_line_begins_after_a_time_of_the_kernel_or_is_found() {
    loom::model(|| {
        let page = waiting();
        // Later than the line would begin by its sample.
        let kernels = 5_000_000_000 + NOW.get() + 5_000_000;
        let floor = Arc::new(Floor::new(0));
        let writer = {
            let (page, floor) = (Arc::clone(&page), Arc::clone(&floor));
            loom::thread::spawn(move || page.renew::<Looks>(|| sample_now(2_000_000), &floor))
        };
        // The kernel is read because there is no line, or no longer one.
        check(&page);
        let got = page.raise::<Looks>(&floor, kernels, 2);
        assert!(matches!(writer.join().unwrap(), Renewed::Until { .. }));
        let (line, cycles) = read(&*page, 1, Looks::read).unwrap();
        assert!(got.is_none_or(|got| line.at(cycles) >= got));
    });
}
