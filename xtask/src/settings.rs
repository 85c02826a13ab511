//! Settings of the environment that steps read: a value that is not a number is refused before the first step.

use crate::step::Step;
use std::collections::BTreeMap;

/// Cases of each property test that `./test.sh` requests by default; `./test.sh all` requests twice as many.
const PROPTEST_CASES: u64 = 32;
/// Those of the tests that call shells.
const CASES: u64 = 60;

/// A day for each fuzz target, a week of soaking, a terabyte, and more cases than any run has time for: above that, a number
/// is a mistake.
const DAY: u64 = 24 * 3600;
const WEEK: u64 = 7 * 24 * 60;
const CASES_AT_MOST: u64 = 1 << 30;

/// A setting: its name, the steps that read it, the least value, and the largest.
const NUMBERS: &[(&str, &[&str], u64, u64)] = &[
    ("PROPTEST_CASES", &["test"], 1, CASES_AT_MOST),
    ("PROPTEST_RNG_SEED", &["test"], 0, u64::MAX),
    ("CASES", &["test"], 1, CASES_AT_MOST),
    ("FUZZ_SECONDS", &["fuzz"], 1, DAY),
    ("FUZZ_SEED", &["fuzz"], 0, u64::MAX),
    ("CLOCKSMITH_SOAK_MINUTES", &["soak"], 1, WEEK),
    ("CLOCKSMITH_BENCH_MIB", &["speed"], 1, 1 << 20),
];

/// Returns the first fault in the settings of these steps.
pub(crate) fn check(
    steps: &[&Step],
    get: impl Fn(&str) -> Option<std::ffi::OsString>,
) -> Result<(), String> {
    for (name, readers, least, most) in NUMBERS {
        let Some(value) = get(name) else { continue };
        let Some(step) = steps.iter().find(|step| readers.contains(&step.name)) else { continue };
        let number = value.to_str().and_then(|text| text.parse::<u64>().ok());
        if number.is_none_or(|number| !(*least..=*most).contains(&number)) {
            let most = if *most == u64::MAX { String::new() } else { format!(" to {most}") };
            return Err(format!(
                "{name}={}: the step {} wants a whole number from {least}{most}",
                value.to_string_lossy(),
                step.name
            ));
        }
    }
    Ok(())
}

/// How many times the default number of cases the property tests try, from 1.
pub(crate) fn cases(get: impl Fn(&str) -> Option<std::ffi::OsString>) -> u64 {
    let defaults = BTreeMap::from([("PROPTEST_CASES", PROPTEST_CASES), ("CASES", CASES)]);
    let times = defaults.into_iter().filter_map(|(name, default)| {
        let wanted: u64 = get(name)?.to_str()?.parse().ok()?;
        Some(wanted.div_ceil(default))
    });
    times.max().unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::find;

    #[test]
    fn check_refuses_what_is_not_a_number_where_a_step_reads_it() {
        let steps = |names: &[&str]| -> Vec<&Step> {
            names.iter().map(|name| find(name).unwrap()).collect()
        };
        for (name, readers, ..) in NUMBERS {
            for value in ["abc", "-1", "1.5", "", "99999999999999999999"] {
                let get = |asked: &str| (asked == *name).then(|| value.into());
                let error = check(&steps(readers), get).unwrap_err();
                assert!(error.contains(name), "{error}");
                assert!(check(&steps(&["fmt"]), get).is_ok());
            }
            assert!(check(&steps(readers), |_| Some("20".into())).is_ok());
            assert!(check(&steps(readers), |_| None).is_ok());
        }
        assert!(check(&steps(&["fuzz"]), |_| Some("0".into())).is_err());
        for (name, step) in [("FUZZ_SECONDS", "fuzz"), ("CLOCKSMITH_SOAK_MINUTES", "soak")] {
            let get = |asked: &str| (asked == name).then(|| "18446744073709551615".into());
            let error = check(&steps(&[step]), get).unwrap_err();
            assert!(error.contains("wants a whole number from 1 to "), "{error}");
        }
    }

    #[test]
    fn cases_are_counted_in_those_of_the_default() {
        let of = |name: &'static str, value: &'static str| {
            cases(move |asked| (asked == name).then(|| value.into()))
        };
        assert_eq!(of("PROPTEST_CASES", "32"), 1);
        assert_eq!(of("PROPTEST_CASES", "1"), 1);
        assert_eq!(of("PROPTEST_CASES", "4096"), 128);
        assert_eq!(of("CASES", "1000"), 17);
        assert_eq!(of("NOTHING", "5"), 1);
    }
}
