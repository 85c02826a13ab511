use super::*;
use crate::migrate::host::Tsc;
use proptest::prelude::*;

fn host(khz: u32, scaling: bool) -> Host {
    Host {
        tsc: Some(Tsc { khz, slack_khz: 0 }),
        scaling: Some(scaling),
        invariant: Some(true),
        ..Host::unknown(format!("{khz}"))
    }
}

/// Returns the value of a frequency, by evaluating each host.
fn worth(hosts: &[Host], khz: u32) -> Option<Best> {
    let (mut serves, mut rates) = (0, Vec::new());
    for host in hosts {
        let own = host.tsc.unwrap().khz;
        let inside = |(low, high): (u32, u32)| (low..=high).contains(&khz);
        if host.scaling == Some(true) {
            serves += 1;
            rates.extend(inside(unscaled(own)).then_some(own));
        } else if inside(served(own)) {
            serves += 1;
            rates.push(own);
        }
    }
    let (lowest, highest) = (*rates.iter().min()?, *rates.iter().max()?);
    Some(Best {
        khz,
        serves,
        unscaled: rates.len(),
        worst_khz: khz.abs_diff(lowest).max(khz.abs_diff(highest)),
        range_khz: (lowest, highest),
        ties: Vec::new(),
    })
}

#[test]
fn the_middle_of_most() {
    // Two of one kind, three of another that differ a little, none of which can scale.
    let hosts: Vec<Host> =
        [2_000_000, 2_000_000, 2_500_000, 2_500_100, 2_500_040].map(|khz| host(khz, false)).into();
    let fleet = fleet(&hosts);
    let best = fleet.best.unwrap();
    assert_eq!((best.khz, best.serves, best.worst_khz), (2_500_050, 3, 50));
    assert_eq!(best.range_khz, (2_500_000, 2_500_100));
    let groups: Vec<_> = fleet.groups.iter().map(|g| (g.khz, g.hosts.as_slice())).collect();
    assert_eq!(groups, [(2_000_000, &[0, 1][..]), (2_500_050, &[2, 4, 3][..])]);
}

#[test]
fn those_that_scale_serve_what_the_others_have() {
    let hosts = [host(2_000_000, false), host(2_500_000, true), host(3_000_000, true)];
    let best = fleet(&hosts).best.unwrap();
    assert_eq!((best.khz, best.serves, best.unscaled, best.worst_khz), (2_000_000, 3, 1, 0));
    // No host is restricted: all three frequencies are equally good, the lowest is selected, the others are listed.
    let hosts = [host(2_000_000, true), host(2_500_000, true), host(3_000_000, true)];
    let best = fleet(&hosts).best.unwrap();
    assert_eq!((best.khz, best.ties), (2_000_000, vec![2_500_000, 3_000_000]));
}

#[test]
fn what_is_not_known_does_not_count() {
    let mut vague = host(2_500_000, false);
    vague.tsc = Some(Tsc { khz: 2_500_000, slack_khz: 5 });
    let mut unfit = host(2_500_000, true);
    unfit.invariant = Some(false);
    let fleet = fleet(&[vague, unfit, Host::unknown("x"), host(2_400_000, false)]);
    assert_eq!((fleet.unknown, fleet.unfit), (vec![0, 2], vec![1]));
    assert_eq!(fleet.best.map(|best| best.khz), Some(2_400_000));
    assert_eq!(super::fleet(&[]), Fleet::default());
}

/// The growth is tested, not the time: ten times the hosts must not take a hundred times as long.
#[test]
fn a_hundred_thousand_hosts() {
    let hosts: Vec<Host> =
        (0..100_000u32).map(|i| host(2_000_000 + i * 7 % 999_983, i % 3 == 0)).collect();
    let took = |hosts: &[Host]| {
        let begun = std::time::Instant::now();
        assert!(fleet(hosts).best.is_some());
        begun.elapsed()
    };
    let small = took(&hosts[..10_000]).min(took(&hosts[..10_000]));
    assert!(took(&hosts) < small * 60, "{small:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// No frequency is better than the best one: all of them are tried. At 400 MHz the windows are 201
    /// kHz wide, so hosts a few hundred kHz apart overlap in every way.
    #[test]
    fn nothing_is_better(
        hosts in prop::collection::vec((399_700u32..400_300, any::<bool>()), 1..9),
    ) {
        let hosts: Vec<Host> = hosts.into_iter().map(|(khz, scaling)| host(khz, scaling)).collect();
        let best = fleet(&hosts).best.unwrap();
        let all: Vec<Best> = (399_500..400_500).filter_map(|khz| worth(&hosts, khz)).collect();
        let first = all.iter().reduce(|a, b| if order(b, a).is_lt() { b } else { a }).unwrap();
        prop_assert_eq!(&Best { ties: Vec::new(), ..best.clone() }, first);
        for tie in &best.ties {
            prop_assert!(order(&worth(&hosts, *tie).unwrap(), first).is_eq());
        }
    }

    /// Each group shares its frequency, each host is in one, and the number of groups is minimal: the slowest hosts of
    /// any two groups have no frequency in common.
    #[test]
    fn groups_are_right_and_few(khz in prop::collection::vec(399_000u32..401_000, 1..40)) {
        let hosts: Vec<Host> = khz.iter().map(|khz| host(*khz, false)).collect();
        let groups = fleet(&hosts).groups;
        let mut seen: Vec<usize> = groups.iter().flat_map(|g| g.hosts.clone()).collect();
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..hosts.len()).collect::<Vec<_>>());
        for group in &groups {
            for index in &group.hosts {
                let (low, high) = served(khz[*index]);
                prop_assert!((low..=high).contains(&group.khz));
            }
        }
        for pair in groups.windows(2) {
            prop_assert!(served(pair[0].range_khz.0).1 < served(pair[1].range_khz.0).0);
        }
    }
}
