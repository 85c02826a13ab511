//! The processes that read the time.

use super::super::Style;
use super::super::figures::{rate_range, share_range};
use super::{clip, cut};
use clocksmith_who::account::{Estimate, ProcessRow};
use clocksmith_who::classify::Path;

/// Appends the processes; those of one name are one line, unless each is requested.
pub(super) fn processes(
    out: &mut String,
    rows: &[ProcessRow],
    most: usize,
    each: bool,
    style: Style,
) {
    let reading: Vec<&ProcessRow> = rows.iter().filter(|row| row.path.is_some()).collect();
    // The headline already reports that no read was seen.
    if reading.is_empty() {
        return;
    }
    out.push_str(&format!(
        "\n{}\n",
        style.bold("    pid  name           CPU s   on reads    reads/s  mostly    in")
    ));
    let mut groups: Vec<Vec<&ProcessRow>> = Vec::new();
    for row in &reading {
        let same = |group: &&mut Vec<&ProcessRow>| {
            group.first().is_some_and(|first| {
                (&first.name, first.path, &first.function) == (&row.name, row.path, &row.function)
            })
        };
        match groups.iter_mut().find(same).filter(|_| !each) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    let cost = |group: &[&ProcessRow]| -> f64 {
        group.iter().map(|row| row.read_share.value * row.cpu_seconds).sum()
    };
    groups.sort_by(|a, b| cost(b).total_cmp(&cost(a)));
    for group in groups.iter().take(most) {
        let Some(first) = group.first() else { continue };
        let cpu: f64 = group.iter().map(|row| row.cpu_seconds).sum();
        let all = |of: &dyn Fn(&ProcessRow) -> Option<Estimate>| -> Option<Estimate> {
            let rows: Option<Vec<Estimate>> = group.iter().map(|row| of(row)).collect();
            Some(sum(&rows?))
        };
        let rates = all(&|row| row.per_second_interval);
        let weight = |row: &ProcessRow| if cpu > 0.0 { row.cpu_seconds / cpu } else { 0.0 };
        let share = all(&|row| Some(row.read_share.scaled(weight(row))));
        let which = match group.len() {
            1 => first.pid.to_string(),
            many => format!("{many} x"),
        };
        out.push_str(&cut(format!(
            "{which:>7}  {:<12} {cpu:>7.2}  {:>9}  {:>9}  {:<8}  {}",
            clip(&first.name, 12),
            share_range(share),
            rate_range(rates),
            first.path.map_or("-", Path::short),
            first.function.as_deref().unwrap_or("-"),
        )));
    }
    let rest: usize = groups.iter().skip(most).map(Vec::len).sum();
    let idle = rows.len() - reading.len();
    let together = groups.iter().any(|group| group.len() > 1);
    let mut parts = Vec::new();
    if rest > 0 {
        parts.push(format!("{rest} more"));
    }
    if idle > 0 {
        let processes = if idle == 1 { "process" } else { "processes" };
        parts.push(format!("{idle} {processes} in which no read was seen"));
    }
    if together {
        parts.push("-v shows each process".to_owned());
    }
    if !parts.is_empty() {
        out.push_str(&style.dim(&format!("         {}\n", parts.join("; "))));
    }
}

/// Returns the sum of estimates of processes that do the same. The sampling errors are independent, but the uncertainty
/// of the read cost is common to all, so that the sum is not more certain than the most certain of them.
fn sum(rows: &[Estimate]) -> Estimate {
    let value: f64 = rows.iter().map(|row| row.value).sum();
    let side = |away: &dyn Fn(&Estimate) -> f64| -> f64 {
        let together = rows.iter().map(away).fold(0.0, f64::hypot);
        let counted = rows.iter().filter(|row| row.value > 0.0);
        let least = counted.map(|row| away(row) / row.value).fold(f64::INFINITY, f64::min);
        together.max(if least.is_finite() { least * value } else { 0.0 })
    };
    let (below, above) = (side(&|row| row.value - row.low), side(&|row| row.high - row.value));
    Estimate { value, low: (value - below).max(0.0), high: value + above }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sum_of_processes_is_not_surer_than_the_surest() {
        let row = |low, high| Estimate { value: 100.0, low, high };
        let nine = sum(&[row(70.0, 130.0); 9]);
        // With independent errors it would be 810 to 990.
        assert_eq!((nine.value, nine.low, nine.high), (900.0, 630.0, 1170.0));
        let mixed = sum(&[row(50.0, 150.0), row(90.0, 110.0)]);
        assert!((mixed.high - 200.0 - 50f64.hypot(10.0)).abs() < 1e-9, "{mixed:?}");
        assert_eq!(sum(&[]), Estimate::default());
    }
}
