//! Read costs, as bars. The bars are SVG that stretches with the page; the words next to them are HTML, so that they do
//! not stretch, and contain everything that a reader without pictures needs.

use super::text;
use crate::render::why::duration;
use clocksmith_diagnose::{Path, Read};
use std::fmt::Write;

/// The shortest bar, in hundredths of the width: it is visible, but does not show a length.
const LEAST: f64 = 0.6;

/// Renders bars of one linear scale: for each clock a read and the same by system call, and the bare counter, which is
/// the lower limit of a read. Empty if nothing was measured.
pub(super) fn bars(reads: &[Read], counter_ns: Option<f64>) -> String {
    let usable = |ns: &Option<f64>| ns.filter(|ns| ns.is_finite() && *ns > 0.0);
    let counter = usable(&counter_ns);
    let figures = reads.iter().flat_map(|read| [usable(&read.ns), usable(&read.syscall_ns)]);
    let most = figures.chain([counter]).flatten().fold(0.0, f64::max);
    if !reads.iter().any(|read| usable(&read.ns).is_some()) {
        return String::new();
    }
    let mut out = String::from("<ul class=\"bars\">\n");
    let mut bar = |name: &str, class: &str, ns: f64, words: &str| {
        let _ = writeln!(
            out,
            "<li><span class=\"name\">{}</span><svg viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" \
             aria-hidden=\"true\"><rect class=\"track\" width=\"100\" height=\"10\"/><rect class=\"{class}\" \
             width=\"{:.2}\" height=\"10\"/></svg><span class=\"cost\"><b>{}</b>{words}</span></li>",
            text(name),
            (ns / most * 100.0).max(LEAST),
            duration(Some(ns)),
        );
    };
    for read in reads {
        let Some(ns) = usable(&read.ns) else { continue };
        let (class, way) = match read.path {
            Path::Vdso => ("vdso", "in user space (vDSO)"),
            Path::Syscall => ("syscall", "by system call"),
            Path::Unknown => ("unclear", "by a path that is not clear"),
        };
        let times = counter.map_or_else(String::new, |counter| times(ns / counter));
        bar(&read.clock, class, ns, &format!(" {way}{times}"));
        if let Some(ns) = usable(&read.syscall_ns).filter(|_| read.path != Path::Syscall) {
            bar("", "other", ns, " if it were a system call");
        }
    }
    if let Some(ns) = counter {
        bar("bare counter", "counter", ns, ", the fast reference");
    }
    out.push_str("</ul>\n");
    out
}

/// Returns the cost as a multiple of the counter's; empty if it is about the same.
fn times(factor: f64) -> String {
    match factor {
        f if f < 1.5 => String::new(),
        f if f < 10.0 => format!(", {f:.1} times the counter"),
        f => format!(", {f:.0} times the counter"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(clock: &str, path: Path, ns: Option<f64>) -> Read {
        Read { clock: clock.to_owned(), path, ns, syscall_ns: Some(100.0) }
    }

    #[test]
    fn the_longest_bar_is_the_slowest_read() {
        let reads = [
            read("CLOCK_MONOTONIC", Path::Syscall, Some(1000.0)),
            read("CLOCK_REALTIME", Path::Vdso, Some(20.0)),
            read("<b>", Path::Unknown, Some(f64::NAN)),
        ];
        let out = bars(&reads, Some(10.0));
        assert!(out.contains("class=\"syscall\" width=\"100.00\""), "{out}");
        assert!(out.contains("class=\"vdso\" width=\"2.00\""), "{out}");
        assert!(out.contains("class=\"counter\" width=\"1.00\""), "{out}");
        assert!(out.contains("100 times the counter") && out.contains("2.0 times"), "{out}");
        assert!(!out.contains("NaN") && !out.contains("<b>&lt;"));
    }

    #[test]
    fn without_figures_there_is_nothing_to_draw() {
        assert_eq!(bars(&[], None), "");
        let none = Read { syscall_ns: None, ..read("x", Path::Vdso, Some(f64::INFINITY)) };
        assert_eq!(bars(&[none], Some(-1.0)), "");
    }
}
