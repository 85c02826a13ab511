use super::*;
use proptest::prelude::*;

type Given<'a> = (&'a str, Option<&'a str>, Moment);

fn served(reports: &[Given<'_>]) -> Served {
    let mut newest = Newest::default();
    for (at, (host, machine, taken)) in reports.iter().enumerate() {
        assert_eq!(newest.add(host, *machine, *taken), u32::try_from(at).ok());
    }
    newest.finish()
}

fn kept<'a>(reports: &[Given<'a>]) -> Vec<Given<'a>> {
    let served = served(reports);
    let mut kept: Vec<Given<'a>> = (0..served.rows)
        .filter(|row| served.serves(*row))
        .map(|row| reports[row as usize])
        .collect();
    kept.sort_unstable();
    kept
}

#[test]
fn the_newest_report_serves_and_an_undated_one_is_older() {
    assert_eq!(kept(&[("a", None, 5), ("a", None, 9), ("a", None, 0)]), [("a", None, 9)]);
    assert_eq!(kept(&[("a", None, 0), ("a", None, 1)]), [("a", None, 1)]);
    let served = served(&[("a", None, 5), ("b", None, 1), ("a", None, 9), ("a", None, 7)]);
    assert_eq!((served.duplicates, served.ties, &served.first[..]), (2, 0, &[0, 3][..]));
}

#[test]
fn of_one_moment_the_first_serves_and_is_named() {
    let reports = [("a", None, 5), ("b", None, 0), ("a", None, 5), ("b", None, 0), ("b", None, 0)];
    let served = served(&reports);
    assert_eq!((served.duplicates, served.ties), (3, 2));
    assert_eq!(served.tied, [(0, 2), (1, 3)]);
    assert!(served.serves(0) && served.serves(1));
    // A newer report ends the tie.
    let served = self::served(&[("a", None, 5), ("a", None, 5), ("a", None, 6)]);
    assert_eq!((served.ties, served.serves(2)), (0, true));
}

#[test]
fn machines_of_one_name_are_several_hosts() {
    let reports =
        [("a", Some("x"), 5), ("a", Some("y"), 9), ("a", Some("x"), 4), ("b", Some("x"), 1)];
    assert_eq!(kept(&reports), [("a", Some("x"), 5), ("a", Some("y"), 9), ("b", Some("x"), 1)]);
    let served = served(&reports);
    assert_eq!((served.shared_names, &served.shared[..]), (1, &[vec![0, 1]][..]));
    assert_eq!(served.row("a", Some("x"), 5), Some(0));
    assert_eq!(served.row("a", Some("x"), 4), None);
    assert_eq!(served.row("a", None, 5), None);
    assert!(served.any("a", &(1..2)) && !served.any("a", &(2..4)));
}

/// After an update of this program, the reports of each host have an id that earlier ones lack.
#[test]
fn a_report_without_an_id_is_of_the_host_that_has_its_name() {
    assert_eq!(kept(&[("a", None, 5), ("a", Some("x"), 9)]), [("a", Some("x"), 9)]);
    assert_eq!(kept(&[("a", None, 9), ("a", Some("x"), 5)]), [("a", None, 9)]);
    let two = [("a", Some("x"), 5), ("a", Some("y"), 7), ("a", None, 6)];
    assert_eq!(kept(&two), [("a", Some("x"), 5), ("a", Some("y"), 7)]);
    // It is not known which of the two machines it is of.
    let open = [("a", Some("x"), 5), ("a", Some("y"), 7), ("a", None, 8)];
    assert_eq!(kept(&open).len(), 3);
}

proptest! {
    /// The same reports are used in every order, except among those of one moment.
    #[test]
    fn order_does_not_matter(
        mut reports in proptest::collection::vec((0..4usize, 0..4usize, 0..6u32), 0..40),
        by in 0..7usize,
    ) {
        let given = |reports: &[(usize, usize, u32)]| -> Vec<Given<'static>> {
            let (hosts, machines) = (["a", "b", "c", "d"], [None, Some("x"), Some("y"), Some("z")]);
            reports.iter().map(|(host, machine, taken)| (hosts[*host], machines[*machine], *taken)).collect()
        };
        let before = kept(&given(&reports));
        let half = reports.len() / 2;
        let by = by.min(reports.len());
        reports.rotate_left(by);
        reports[half..].reverse();
        prop_assert_eq!(kept(&given(&reports)), before);
    }
}
