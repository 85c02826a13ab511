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

/// The interval of a share: 38-47 %, 0.4-1.2 %; one figure if both ends are the same; `-` if it is not known.
#[cfg(feature = "who")]
pub(crate) fn share_range(share: Option<clocksmith_who::account::Estimate>) -> String {
    let Some(share) = share else { return "-".to_owned() };
    let (low, high) = (share.low * 100.0, share.high * 100.0);
    let digits = usize::from(high < 9.95);
    let [low, high] = [low, high].map(|end| format!("{end:.digits$}"));
    if low == high { format!("{high} %") } else { format!("{low}-{high} %") }
}

/// The interval of a rate with two digits: 950k-1.2M; `-` if it is not known.
#[cfg(feature = "who")]
pub(crate) fn rate_range(rate: Option<clocksmith_who::account::Estimate>) -> String {
    let Some(rate) = rate else { return "-".to_owned() };
    let [low, high] = [rate.low, rate.high].map(two);
    if low == high { high } else { format!("{low}-{high}") }
}

/// A count with two digits: 99, 1.2k, 45M.
#[cfg(feature = "who")]
fn two(value: f64) -> String {
    let (value, unit) = match value {
        value if value < 999.5 => return format!("{value:.0}"),
        value if value < 999_500.0 => (value / 1e3, "k"),
        value if value < 999_500_000.0 => (value / 1e6, "M"),
        value => (value / 1e9, "G"),
    };
    let digits = usize::from(value < 9.95);
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

    #[cfg(feature = "who")]
    #[test]
    fn ranges_fit_into_nine_columns() {
        use clocksmith_who::account::Estimate;
        let of = |low, high| Some(Estimate { value: (low + high) / 2.0, low, high });
        let shares = [(0.381, 0.472), (0.004, 0.0123), (0.95, 1.0), (0.85, 0.8501), (0.0, 0.0)];
        let shown = shares.map(|(low, high)| share_range(of(low, high)));
        assert_eq!(shown, ["38-47 %", "0.4-1.2 %", "95-100 %", "85 %", "0.0 %"]);
        let rates = [(950_000.0, 1.24e6), (100e6, 399.4e6), (0.0, 12.0), (9.96e3, 1e10)];
        let shown = rates.map(|(low, high)| rate_range(of(low, high)));
        assert_eq!(shown, ["950k-1.2M", "100M-399M", "0-12", "10k-10G"]);
        assert_eq!([share_range(None), rate_range(None)], ["-", "-"]);
    }
}
