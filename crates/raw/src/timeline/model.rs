//! The publication, in every order in which its steps can be seen (loom).

use super::slots::{Shared, State, Word};
use crate::sync::Ordering;
use loom::sync::Arc;
use loom::thread;

/// A state with matching numbers.
fn state(number: u64) -> State {
    State { begin: number, first_ns: number, read_ns: number, ..State::default() }
}

fn is_whole(state: &State) -> bool {
    state.begin == state.first_ns && state.begin == state.read_ns
}

fn latest(shared: &Shared) -> Option<State> {
    shared.read(shared.word(Ordering::Acquire))
}

/// Replaces the state by its successor; whether this one did.
fn follow(shared: &Shared) -> bool {
    let word = shared.word(Ordering::Acquire);
    match shared.read(word) {
        Some(now) => shared.publish(word, &state(now.begin + 1)),
        None => false,
    }
}

#[test]
fn states_are_read_whole() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let shared = Arc::new(Shared::default());
        let writers: Vec<_> = (0..2)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || u64::from(follow(&shared)) + u64::from(follow(&shared)))
            })
            .collect();
        let mut last = 0;
        for _ in 0..2 {
            if let Some(state) = latest(&shared) {
                assert!(is_whole(&state));
                assert!(state.begin >= last);
                last = state.begin;
            }
        }
        let published: u64 = writers.into_iter().map(|writer| writer.join().unwrap()).sum();
        // Each publication follows exactly one state: none is lost, none comes twice.
        assert_eq!(latest(&shared).unwrap().begin, published);
    });
}

#[test]
fn stopped_writer_does_not_block_others() {
    loom::model(|| {
        let shared = Arc::new(Shared::default());
        let first = shared.word(Ordering::Acquire);
        assert_eq!(first, Word::NONE);
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || follow(&shared))
        };
        let mine = follow(&shared);
        assert!(other.join().unwrap() || mine);
        assert!(follow(&shared));
    });
}
