//! Figures, targets, and where they go.

use anyhow::{Context, Result};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The target of a figure.
#[derive(Clone, Debug, Serialize)]
pub struct Target {
    /// The name of the figure.
    pub name: String,
    /// The measured value.
    pub value: f64,
    /// The most that it should be.
    pub most: f64,
    /// `x` (a ratio), `ns`, `us`, `ppm` or nothing.
    pub unit: &'static str,
}

impl Target {
    /// A target.
    pub fn new(name: impl Into<String>, value: f64, most: f64, unit: &'static str) -> Self {
        Self { name: name.into(), value, most, unit }
    }

    /// Whether it was reached. NaN does not meet it.
    #[must_use]
    pub fn is_met(&self) -> bool {
        self.value <= self.most
    }
}

/// Prints the targets in 80 columns.
pub fn print_targets(targets: &[Target]) {
    println!("\ntargets");
    for target in targets {
        let verdict = if target.is_met() { "ok" } else { "missed" };
        println!(
            "  {:46} {:>9} <= {:>7} {:3} {verdict}",
            target.name,
            short(target.value),
            short(target.most),
            target.unit
        );
    }
}

/// Four digits or so.
#[must_use]
pub fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size if size < 0.01 => format!("{value:.4}"),
        size if size < 10.0 => format!("{value:.3}"),
        size if size < 1000.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// Writes a report as JSON: to that file, or the one that `CLOCKSMITH_BENCH_JSON` names, if any.
pub fn write_json(file: Option<&Path>, report: &impl Serialize) -> Result<()> {
    let named = std::env::var_os("CLOCKSMITH_BENCH_JSON").map(PathBuf::from);
    let Some(file) = file.or(named.as_deref()) else { return Ok(()) };
    let mut text = serde_json::to_string_pretty(report)?;
    text.push('\n');
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

/// The value below which that share of the values is; NaN without values.
#[must_use]
pub fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1) as f64;
    sorted.get((last * share.clamp(0.0, 1.0)).round() as usize).copied().unwrap_or(f64::NAN)
}

/// The median.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// The largest absolute value; NaN without values.
#[must_use]
pub fn largest(values: &[f64]) -> f64 {
    values.iter().map(|value| value.abs()).fold(f64::NAN, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles() {
        let values = [3.0, -9.0, 1.0, 2.0, 5.0];
        assert_eq!(median(&values), 2.0);
        assert_eq!((quantile(&values, 0.0), quantile(&values, 1.0)), (-9.0, 5.0));
        assert_eq!(largest(&values), 9.0);
        assert!(median(&[]).is_nan() && largest(&[]).is_nan());
    }

    #[test]
    fn target_without_measurement_is_not_met() {
        assert!(Target::new("a", 1.0, 1.0, "x").is_met());
        assert!(!Target::new("a", 1.01, 1.0, "x").is_met());
        assert!(!Target::new("a", f64::NAN, 1.0, "x").is_met());
    }

    #[test]
    fn numbers_are_short() {
        let texts: Vec<_> = [0.0, 0.00123, 1.5, 23.456, 12345.6].map(short).into();
        assert_eq!(texts, ["0", "0.0012", "1.500", "23.5", "12346"]);
    }
}
