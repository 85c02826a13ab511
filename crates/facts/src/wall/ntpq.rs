//! The output of `ntpq -c rv` and `ntpq -c as`: the variables of a peer or of the daemon, and the state of each peer.

use super::TimeSource;

/// The growth of a sample's dispersion, in seconds a second (`CLOCK_PHI` in ntp.h: 15 ppm). ntpq shows it as
/// `filtdisp`, so that two samples of the filter show the time between them.
const PHI: f64 = 15e-6;
/// The dispersion of a place of the filter without a sample, in milliseconds (`MAXDISPERSE`).
const EMPTY_MS: f64 = 16_000.0;
/// Number of samples that show a rate: the offsets of fewer may have grown by accident.
const SAMPLES: usize = 4;
/// Growth of the offset from sample to sample below which nothing is reported, in milliseconds: the effect of a slow
/// network.
const STEP_MS: f64 = 20.0;

/// `key=value` of the output, with the text after the value up to the next one.
fn variable<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut from = 0;
    while let Some(found) = text[from..].find(name) {
        let (start, end) = (from + found, from + found + name.len());
        let begins = text[..start].ends_with([' ', ',', '\n']) || start == 0;
        if let (true, Some(rest)) = (begins, text[end..].strip_prefix('=')) {
            return Some(rest.split(',').next().unwrap_or(rest).trim());
        }
        from = end;
    }
    None
}

fn number(text: &str, name: &str) -> Option<f64> {
    variable(text, name)?.parse().ok().filter(|figure: &f64| figure.is_finite())
}

fn figures(text: &str, name: &str) -> Option<Vec<f64>> {
    let words = variable(text, name)?.split_ascii_whitespace();
    words.map(|word| word.parse().ok().filter(|figure: &f64| figure.is_finite())).collect()
}

/// The growth of the offset, in parts per million; positive if the clock is slow. The filter has its newest sample
/// first.
fn growth_ppm(text: &str) -> Option<f64> {
    let (offsets, dispersions) = (figures(text, "filtoffset")?, figures(text, "filtdisp")?);
    let samples: Vec<(f64, f64)> = offsets
        .into_iter()
        .zip(dispersions)
        .take_while(|(_, dispersion)| *dispersion < EMPTY_MS)
        .collect();
    let steps: Vec<f64> = samples.windows(2).map(|pair| pair[0].0 - pair[1].0).collect();
    let all_ways =
        steps.iter().all(|step| *step >= STEP_MS) || steps.iter().all(|step| *step <= -STEP_MS);
    let (newest, oldest) = (samples.first()?, samples.last()?);
    let seconds = (oldest.1 - newest.1) / 1e3 / PHI;
    (samples.len() >= SAMPLES && all_ways && seconds > 1.0)
        .then(|| (newest.0 - oldest.0) / 1e3 / seconds * 1e6)
}

impl TimeSource {
    /// The variables of a peer or of the daemon: the lines from `associd=` on.
    #[must_use]
    pub fn of_variables(text: &str) -> Option<Self> {
        let text = text.trim_start();
        let id = ["associd=", "assID="].into_iter().find_map(|name| text.strip_prefix(name));
        // Without its first line a peer has its tests: one that fails any of them is not followed.
        let rejected =
            id.is_none() && variable(text, "flash").is_some_and(|flash| !flash.starts_with("00"));
        let head = text.lines().next().unwrap_or(text);
        let id = id.or_else(|| (rejected && text.starts_with("srcadr=")).then_some(text))?;
        let of_daemon = id.starts_with("0 ") || id.starts_with("0,");
        let mut told = Self { daemon: "ntpd", ..Self::default() };
        let ahead_s = number(text, "offset").map(|ms| -ms / 1e3);
        if of_daemon {
            // decodestatus() of ntpq: the source of synchronisation.
            let by = [
                "sync_ntp",
                "sync_pps",
                "sync_uhf_radio",
                "sync_hf_radio",
                "sync_lf_radio",
                "sync_local",
            ];
            let none = head.contains("sync_unspec") || head.contains("leap_alarm");
            told.follows = none
                .then_some(false)
                .or_else(|| by.iter().any(|word| head.contains(word)).then_some(true));
            told.frequency_ppm = number(text, "frequency");
            told.ahead_s = ahead_s;
            return (told.follows.is_some() || told.frequency_ppm.is_some()).then_some(told);
        }
        let reach = variable(text, "reach").and_then(|word| u32::from_str_radix(word, 8).ok())?;
        let followed = head.contains("sel_sys.peer") || head.contains("sel_pps.peer");
        told.drift_ppm = growth_ppm(text);
        if followed {
            told.follows = Some(true);
            told.ahead_s = ahead_s;
        } else if reach > 0 {
            told.offered_s = ahead_s.into_iter().collect();
            told.disagree = u32::from(head.contains("sel_falsetick"));
            told.answering = 1;
        }
        Some(told)
    }

    /// The table of `ntpq -c as`: `1 47715  9024   yes   yes  none    reject   reachable  2`.
    #[must_use]
    pub fn of_associations<'a>(lines: impl Iterator<Item = &'a str>) -> Option<(Self, usize)> {
        let mut told = Self { daemon: "ntpd", ..Self::default() };
        let (mut all, mut reached, mut follows, mut rows) = (0, 0, false, 0);
        for line in lines {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let [index, id, status, conf, reach, _, condition, ..] = words.as_slice() else {
                break;
            };
            let is_yes = |word: &&str| matches!(*word, "yes" | "no");
            if index.parse::<u16>().is_err()
                || id.parse::<u32>().is_err()
                || u16::from_str_radix(status, 16).is_err()
                || ![conf, reach].into_iter().all(is_yes)
            {
                break;
            }
            rows += 1;
            all += 1;
            reached += u32::from(*reach == "yes");
            follows |= matches!(*condition, "sys.peer" | "pps.peer");
            told.disagree += u32::from(*reach == "yes" && condition.starts_with("falsetick"));
        }
        told.follows = Some(follows);
        told.sources = Some((all, reached));
        told.answering = reached;
        (rows > 0).then_some((told, rows))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    const PEER: &str = "associd=20111 status=9014 conf, reach, sel_reject, 1 event, reachable,\n\
        srcadr=ntp.example, srcport=123, reach=037, unreach=0, hpoll=6, ppoll=6,\n\
        flash=400 peer_dist, keyid=0, offset=900.500, delay=0.9, jitter=700.1,\n\
        filtoffset=  900.50  700.50  500.50  300.50    0.00,\n\
        filtdisp=      0.00    0.96    1.92    2.88 16000.0\n";

    #[test]
    fn of_variables_a_growing_offset_is_a_rate() {
        let told = TimeSource::of_variables(PEER).unwrap();
        // 600 ms in 192 s.
        assert!((told.drift_ppm.unwrap() - 3125.0).abs() < 0.1, "{told:?}");
        assert_eq!((told.answering, told.follows), (1, None));
        assert!((told.offered_s[0] + 0.9005).abs() < 1e-9);
        let swings = PEER.replace("700.50", "950.50");
        assert_eq!(TimeSource::of_variables(&swings).unwrap().drift_ppm, None);
        let few = PEER.replace("2.88", "16000.0");
        assert_eq!(TimeSource::of_variables(&few).unwrap().drift_ppm, None);
    }

    #[test]
    fn of_variables_without_the_first_line_a_rejected_peer_is_one() {
        let text = "srcadr=a, srcport=123, reach=377,\nflash=400 peer_dist, keyid=0, offset=912.5, delay=1.9\n";
        let told = TimeSource::of_variables(text).unwrap();
        assert_eq!((told.offered_s[0], told.answering, told.follows), (-0.9125, 1, None));
        assert_eq!(TimeSource::of_variables(&text.replace("400 peer_dist", "00 ok")), None);
    }

    #[test]
    fn of_variables_the_daemons_own_have_its_frequency() {
        let text = "associd=0 status=0615 leap_none, sync_ntp, 1 event, clock_sync,\nversion=\"ntpd 4.2.8\", stratum=3,\n\
                    offset=-1.5, frequency=-12.25, sys_jitter=0.1\n";
        let told = TimeSource::of_variables(text).unwrap();
        assert_eq!(
            (told.follows, told.frequency_ppm, told.ahead_s),
            (Some(true), Some(-12.25), Some(0.0015))
        );
        assert_eq!(TimeSource::of_variables("associd=0 what"), None);
    }

    #[test]
    fn of_associations_conditions_count() {
        let rows = "  1 20111  9014   yes   yes  none    reject   reachable  1\n\
                    \x20 2 20112  911a   yes   yes  none falsetick    sys_peer  1\n\
                    \x20 3 20113  8011   yes    no  none    reject    mobilize  1\n";
        let (told, lines) = TimeSource::of_associations(rows.lines()).unwrap();
        assert_eq!(
            (lines, told.sources, told.follows, told.disagree),
            (3, Some((3, 2)), Some(false), 1)
        );
        assert_eq!(TimeSource::of_associations("1 2 3 four".lines()), None);
    }

    proptest! {
        #[test]
        fn any_text(text in "\\PC{0,200}") {
            let _ = TimeSource::of_variables(&format!("associd={text}"));
            let _ = TimeSource::of_associations(text.lines());
        }
    }
}
