//! The order in which processors are compared: every pair once, and as many disjoint pairs at a time as possible.

/// The rounds in which all pairs of `cpus` meet. Within a round each processor is in one pair at most
/// (the circle method of tournaments).
pub(crate) fn rounds(cpus: &[u32]) -> Vec<Vec<(u32, u32)>> {
    let mut ring: Vec<Option<u32>> = cpus.iter().copied().map(Some).collect();
    if ring.len() % 2 == 1 {
        ring.push(None);
    }
    let mut rounds = Vec::new();
    for _ in 1..ring.len() {
        let half = ring.len() / 2;
        let (front, back) = ring.split_at(half);
        let pairs = front.iter().zip(back.iter().rev());
        rounds.push(
            pairs
                .filter_map(|(a, b)| Some(((*a)?, (*b)?)))
                .map(|(a, b)| (a.min(b), a.max(b)))
                .collect(),
        );
        // The first one stays, the others move on.
        if let Some(moving) = ring.get_mut(1..) {
            moving.rotate_right(1);
        }
    }
    rounds
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn every_pair_once_and_nobody_twice_in_a_round(cpus in proptest::collection::btree_set(any::<u32>(), 0..20)) {
            let cpus: Vec<u32> = cpus.into_iter().collect();
            let rounds = rounds(&cpus);
            let mut seen = BTreeSet::new();
            for round in &rounds {
                let mut busy = BTreeSet::new();
                for (a, b) in round {
                    prop_assert!(a < b);
                    prop_assert!(busy.insert(*a) && busy.insert(*b));
                    prop_assert!(seen.insert((*a, *b)));
                }
            }
            let n = cpus.len();
            prop_assert_eq!(seen.len(), n * n.saturating_sub(1) / 2);
            prop_assert!(rounds.len() <= n);
        }
    }
}
