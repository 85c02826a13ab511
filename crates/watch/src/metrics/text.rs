//! The text format itself.

use clocksmith_facts::visible;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The type of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Goes up and down.
    Gauge,
    /// Only grows, until the program is restarted.
    Counter,
}

/// Metrics that are being written. A family without samples leaves nothing behind.
#[derive(Debug, Default)]
pub struct Text {
    out: String,
    /// Head of the family whose first sample is still to come.
    head: Option<String>,
    name: String,
    /// Label sets of this family, since a repeated one makes the whole text unreadable to others.
    seen: BTreeSet<String>,
}

impl Text {
    /// Begins a family. Each name once in a text.
    pub fn family(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Gauge => "gauge",
            Kind::Counter => "counter",
        };
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        self.head = Some(format!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
        self.name = name.to_owned();
        self.seen.clear();
    }

    /// A sample of the present family; a second one with the same labels is left out.
    pub fn sample(&mut self, labels: &[(&str, &str)], value: f64) {
        let mut set = String::new();
        for (index, (name, value)) in labels.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            // Writing to a String cannot fail.
            let _ = write!(set, "{comma}{name}=\"{}\"", escaped(value));
        }
        if !self.seen.insert(set.clone()) {
            return;
        }
        if let Some(head) = self.head.take() {
            self.out.push_str(&head);
        }
        let set = if set.is_empty() { set } else { format!("{{{set}}}") };
        let _ = writeln!(self.out, "{}{set} {}", self.name, number(value));
    }

    /// The text.
    #[must_use]
    pub fn finish(self) -> String {
        self.out
    }
}

/// Escapes a value for the text, which may also be shown on a terminal: invisible characters are shown by name.
fn escaped(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in visible::line(value).chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            c => out.push(c),
        }
    }
    out
}

fn number(value: f64) -> String {
    match value {
        v if v.is_nan() => "NaN".to_owned(),
        v if v == f64::INFINITY => "+Inf".to_owned(),
        v if v == f64::NEG_INFINITY => "-Inf".to_owned(),
        v if v != 0.0 && (v.abs() < 1e-4 || v.abs() >= 1e15) => format!("{v:e}"),
        v => format!("{v}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_family_is_written_once_and_only_with_samples() {
        let mut text = Text::default();
        text.family("a_info", Kind::Gauge, "One\nline\\.");
        text.family("b_total", Kind::Counter, "B.");
        text.sample(&[("x", "a\"b\\c\nd"), ("y", "")], 2.5e-8);
        text.sample(&[("x", "a\"b\\c\nd"), ("y", "")], 3.0);
        text.family("c", Kind::Gauge, "C.");
        text.sample(&[], 3.0);
        assert_eq!(
            text.finish(),
            "# HELP b_total B.\n# TYPE b_total counter\n\
             b_total{x=\"a\\\"b\\\\c<LF>d\",y=\"\"} 2.5e-8\n\
             # HELP c C.\n# TYPE c gauge\nc 3\n"
        );
    }

    #[test]
    fn every_number_is_one_for_others_too() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (1.5, "1.5"),
            (2.34e-8, "2.34e-8"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
            (1_700_000_000.25, "1700000000.25"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    proptest! {
        #[test]
        fn a_label_never_leaves_its_line(value in any::<String>()) {
            let mut text = Text::default();
            text.family("a", Kind::Gauge, "A.");
            text.sample(&[("x", &value)], 1.0);
            let out = text.finish();
            prop_assert_eq!(out.matches('\n').count(), 3);
            prop_assert!(!out.contains(|c: char| c.is_control() && c != '\n'));
            let inner = out.lines().last().unwrap();
            let held = inner.starts_with("a{x=\"") && inner.ends_with("\"} 1");
            prop_assert!(held);
        }
    }
}
