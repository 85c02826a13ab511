//! Servers that compare the clocks of their hosts.

use super::remark::behind;
use super::{Remark, What};
use crate::Source;

/// Servers that compare their clocks and write the difference: `monitorProbingStatus()` in etcd's rafthttp, `HybridClock::Update()`
/// in YugabyteDB's hybrid_clock.cc, HBase's `ServerManager`, Ceph's `ceph health detail`.
pub(super) fn hosts_differ(line: &str, source: &Source) -> Option<Remark> {
    let figure = |text: &str| -> Option<f64> {
        let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let unit: String = text[end..].chars().take_while(char::is_ascii_alphabetic).collect();
        let factor = match unit.as_str() {
            "s" => 1.0,
            "ms" => 1e-3,
            _ => return None,
        };
        text[..end].parse::<f64>().ok().filter(|by| by.is_finite()).map(|by| by * factor)
    };
    let (program, by_s) = if let Some(rest) = behind(line, "the clock difference against peer ") {
        // The text form has the figures after the words, the JSON form in a separate field.
        let rest = behind(rest, " is too high [");
        ("etcd", rest.and_then(go_duration))
    } else if line.contains("prober found high clock drift") {
        ("etcd", behind(line, "\"clock-drift\":\"").and_then(go_duration))
    } else if let Some(rest) = behind(line, "Too big clock skew is detected: ") {
        ("YugabyteDB", figure(rest))
    } else if let Some(rest) = behind(line, "Reported time is too far out of sync with master.") {
        ("HBase", behind(rest, "Time difference of ").and_then(figure))
    } else if let Some(rest) = behind(line, "host clock skew of ")
        && rest.contains(" exceeds ")
    {
        ("Weave Net", figure(rest))
    } else if let Some((_, rest)) =
        line.split_once(" clock skew ").filter(|(head, _)| of_monitor(head))
    {
        ("Ceph", Some(figure(rest)?))
    } else {
        return None;
    };
    let at_s = crate::log::times(line).1;
    Some(Remark { what: What::HostsDiffer { by_s, at_s }, program, source: source.clone() })
}

/// Whether the text before a message is the name of a Ceph monitor: `mon.a`, `[WRN]  mon.2 192.0.2.48:6790/0`, `cluster
/// [WRN] 1`.
fn of_monitor(head: &str) -> bool {
    let head = head.trim_start();
    head.starts_with("mon.") || head.contains("[WRN]") && head.contains("mon.")
}

/// A duration as Go prints it (`8h0m2.5s`, `12.407738276s`, `201.859059ms`), in seconds.
pub(super) fn go_duration(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.'))?;
    let (mut rest, mut sum) = (&text[..end], 0.0);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let (figure, tail) = rest.split_at(digits);
        let letters = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        let (unit, next) = tail.split_at(letters);
        let factor = match unit {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            _ => return None,
        };
        sum += figure.parse::<f64>().ok()? * factor;
        rest = next;
    }
    (end > 0 && sum.is_finite()).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::super::remark::of_line;
    use super::*;

    fn said(line: &str) -> Option<(&'static str, What)> {
        let remark = of_line(line, &Source("log:1".into()))?;
        let what = match remark.what {
            What::HostsDiffer { by_s, .. } => What::HostsDiffer { by_s, at_s: None },
            what => what,
        };
        Some((remark.program, what))
    }

    #[test]
    fn servers_say_by_how_much_the_clocks_of_hosts_differ() {
        let differ = |program, by_s| Some((program, What::HostsDiffer { by_s, at_s: None }));
        for (line, program, by_s) in [
            (
                "W | rafthttp: the clock difference against peer 4e8d is too high [12.5s > 1s]",
                "etcd",
                Some(12.5),
            ),
            (
                "etcd[16]: the clock difference against peer f63a is too high [8h0m2.5s > 1s]",
                "etcd",
                Some(28_802.5),
            ),
            (
                r#"{"level":"warn","msg":"prober found high clock drift","clock-drift":"1.25s","rtt":"1ms"}"#,
                "etcd",
                Some(1.25),
            ),
            (
                "hybrid_clock.cc:181] Too big clock skew is detected: 30397.525s, while max allowed is: 0.500s",
                "YugabyteDB",
                Some(30_397.525),
            ),
            (
                "Reported time is too far out of sync with master.  Time difference of 53040ms > max allowed of 30000ms",
                "HBase",
                Some(53.04),
            ),
            (
                "-> 192.0.2.7:6783 failed host clock skew of 4200s exceeds 900s limit, retry: 2020-01-01",
                "Weave Net",
                Some(4200.0),
            ),
            ("    mon.b clock skew 0.25s > max 0.05s (latency 0.0004s)", "Ceph", Some(0.25)),
            (
                "2026-01-02 03:04:05.9 [WRN]  mon.2 192.0.2.8:6790/0 clock skew 0.25s > max 0.05s",
                "Ceph",
                Some(0.25),
            ),
            (
                "mon.a (mon.0) 552 : cluster [WRN] 1 clock skew 0.25s > max 0.05s",
                "Ceph",
                Some(0.25),
            ),
            ("HEALTH_WARN clock skew detected on mon.b, mon.c", "Ceph", None),
            (
                "rpc/clock_offset.go:132: fewer than half the known nodes are within the maximum offset of 250ms (3 of 7)",
                "CockroachDB",
                None,
            ),
        ] {
            assert_eq!(said(line), differ(program, by_s), "{line}");
        }
        assert_eq!(said("a common clock skew 3 of the tree"), None);
    }
}
