//! Figures in few characters.

/// A share as per cent: 0.4 %, 38 %.
#[cfg(feature = "who")]
pub(crate) fn percent(share: f64) -> String {
    match share * 100.0 {
        value if value >= 9.95 => format!("{value:.0} %"),
        value => format!("{value:.1} %"),
    }
}

/// A count with three digits: 999, 1.23k, 45.6M.
#[cfg(any(test, feature = "who"))]
pub(crate) fn count(value: f64) -> String {
    let (value, unit) = match value {
        value if value < 999.5 => return format!("{value:.0}"),
        value if value < 999_500.0 => (value / 1e3, "k"),
        value if value < 999_500_000.0 => (value / 1e6, "M"),
        value => (value / 1e9, "G"),
    };
    let digits = match value {
        value if value < 9.995 => 2,
        value if value < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.digits$}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_keep_three_digits() {
        let shown = [0.0, 999.4, 1234.0, 45_600.0, 999_600.0, 33_000_000.0, 2e9].map(count);
        assert_eq!(shown, ["0", "999", "1.23k", "45.6k", "1.00M", "33.0M", "2.00G"]);
    }
}
