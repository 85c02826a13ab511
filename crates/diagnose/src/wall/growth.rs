//! The rate at which the difference of two clocks changes, from several dated lines about it.

/// Lines and seconds from which on a change is a rate.
const LEAST_LINES: usize = 3;
const LEAST_S: f64 = 50.0;
/// How far a line may be off the straight one, as a share of the whole change.
const SCATTER: f64 = 0.1;
/// Rates below are those of two good quartzes, in parts per million; the second one is what ntpd corrects at most.
const LEAST_PPM: f64 = 50.0;
const NTP_PPM: f64 = 500.0;

/// What follows from the dates of lines and the differences that they state, in seconds, as a sentence with a blank before it.
pub(super) fn said(points: &[(Option<f64>, f64)]) -> Option<String> {
    let dated: Vec<(f64, f64)> = points.iter().filter_map(|(at, by)| Some(((*at)?, *by))).collect();
    let (first, last) = (dated.first()?, dated.last()?);
    let (time, change) = (last.0 - first.0, last.1 - first.1);
    if dated.len() < LEAST_LINES || time < LEAST_S {
        return None;
    }
    // Several peers, or a step between two lines, do not form a straight line.
    let slope = change / time;
    let off = |(at, by): &(f64, f64)| (by - first.1 - slope * (at - first.0)).abs();
    let is_straight = dated.iter().all(|point| off(point) <= change.abs() * SCATTER);
    let ppm = slope.abs() * 1e6;
    if !is_straight || ppm < LEAST_PPM {
        return None;
    }
    let verb = if change > 0.0 { "grows" } else { "shrinks" };
    let follows = match (change > 0.0, ppm > NTP_PPM) {
        (true, true) => {
            "one of the clocks runs at a wrong rate, and by more than the 500 ppm that ntpd corrects"
        }
        (true, false) => "nothing corrects the rate of one of the clocks",
        (false, _) => "a time daemon corrects one of the clocks slowly, or its rate is wrong",
    };
    let rounded = (ppm / 10.0).round() * 10.0;
    Some(format!(
        " The difference {verb} steadily, by {:.3} s in {time:.0} s (about {rounded:.0} ppm): {follows}.",
        change.abs()
    ))
}

#[cfg(test)]
mod tests {
    use super::said;

    #[test]
    fn differences_that_change_steadily() {
        let line = |slope: f64| -> Vec<(Option<f64>, f64)> {
            (0..6_u8)
                .map(|n| (Some(f64::from(n) * 30.0), 80.0 + f64::from(n) * 30.0 * slope))
                .collect()
        };
        let words = |slope| said(&line(slope)).unwrap_or_default();
        assert!(
            words(0.0013).contains("grows steadily, by 0.195 s in 150 s (about 1300 ppm): one of")
        );
        assert!(words(0.0002).contains("nothing corrects"));
        assert!(words(-0.0005).contains("shrinks steadily"));
        assert_eq!(words(0.00001), "");
    }

    #[test]
    fn other_differences() {
        for points in [
            vec![],
            vec![(Some(0.0), 1.0), (Some(900.0), 3.0)],
            vec![(Some(0.0), 1.0), (Some(10.0), 2.0), (Some(20.0), 3.0)],
            vec![(None, 1.0), (None, 2.0), (None, 3.0)],
            vec![(Some(0.0), 80.0), (Some(30.0), 2.0), (Some(60.0), 80.1), (Some(90.0), 2.1)],
            vec![(Some(0.0), 1.0), (Some(60.0), 1.0), (Some(120.0), 9.0)],
        ] {
            assert_eq!(said(&points), None, "{points:?}");
        }
    }
}
