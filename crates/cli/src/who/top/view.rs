//! Renders the last seconds as lines of a terminal. Pure.

use super::About;
use super::window::{Reader, Window};
use crate::render::figures::{count, percent};
use crate::render::who::clip;
use clocksmith_who::classify::Path;
use ratatui::style::{Style, Stylize};
use ratatui::text::Line;

/// Lines for a terminal of this size; never more than fit.
pub(super) fn lines(
    about: &About,
    window: &Window,
    width: usize,
    height: usize,
) -> Vec<Line<'static>> {
    let sum = window.sum();
    let cut = |text: String| clip(text.trim_end(), width);
    let mut lines = Vec::new();
    let title = format!(
        "who reads the clock: {}  clocksource {}  q quits",
        clip(&about.target, width.saturating_sub(52).max(12)),
        about.clocksource
    );
    lines.push(Line::from(cut(title)).bold());
    if sum.seconds <= 0.0 {
        lines.push(Line::from(cut("watching ...".to_owned())));
        lines.truncate(height);
        return lines;
    }
    let share = if sum.cpu_seconds > 0.0 { sum.read_seconds / sum.cpu_seconds } else { 0.0 };
    lines.push(Line::from(cut(format!(
        "last {:.1} s: {:.2} CPUs in use, {} of that on reads, {} reads/s",
        sum.seconds,
        sum.cpu_seconds / sum.seconds,
        percent(share),
        rate(sum.reads, sum.seconds)
    ))));
    let rest = height.saturating_sub(lines.len());
    // A third for processes, the rest for functions, if there is more than one process.
    let many = sum.processes.len() > 1;
    if many {
        lines.push(Line::default());
        lines.push(head(cut("    pid     CPU  on reads  reads/s  by        process".to_owned())));
        for row in sum.processes.iter().take((rest / 3).saturating_sub(2).max(1)) {
            let on_reads = row.read_seconds / row.cpu_seconds.max(1e-9);
            lines.push(colour(
                about,
                row,
                cut(format!(
                    "{:>7}  {:>6}  {:>8}  {:>7}  {:<8}  {}",
                    row.pid,
                    percent(row.cpu_seconds / sum.seconds),
                    percent(on_reads.min(1.0)),
                    rate(row.reads, sum.seconds),
                    path(row),
                    row.name
                )),
            ));
        }
    }
    lines.push(Line::default());
    lines.push(head(cut("    pid     CPU  of reads  reads/s  by        function".to_owned())));
    for row in &sum.functions {
        lines.push(colour(
            about,
            row,
            cut(format!(
                "{:>7}  {:>6}  {:>8}  {:>7}  {:<8}  {}",
                row.pid,
                percent(row.cpu_seconds / sum.seconds),
                percent(row.read_seconds / sum.read_seconds.max(1e-9)),
                rate(row.reads, sum.seconds),
                path(row),
                row.name
            )),
        ));
    }
    if sum.functions.is_empty() {
        lines.push(Line::from(cut("         no reads of the time were seen".to_owned())));
    }
    lines.truncate(height);
    lines
}

fn rate(reads: Option<f64>, seconds: f64) -> String {
    reads.map_or_else(|| "-".to_owned(), |reads| count(reads / seconds.max(1e-9)))
}

/// Returns the path; of several a slow one, and a plus for the others.
fn path(row: &Reader) -> String {
    let Some(first) = row.paths.iter().find(|path| slow(path)).or(row.paths.first()) else {
        return "-".to_owned();
    };
    format!("{}{}", first.short(), if row.paths.len() > 1 { "+" } else { "" })
}

fn slow(path: &Path) -> bool {
    matches!(path, Path::VdsoFallback | Path::Syscall)
}

fn head(text: String) -> Line<'static> {
    Line::from(text).reversed()
}

/// Highlights slow paths.
fn colour(about: &About, row: &Reader, text: String) -> Line<'static> {
    let style = match row.paths.iter().any(slow) {
        true if about.colour => Style::new().yellow(),
        _ => Style::new(),
    };
    Line::from(text).style(style)
}

#[cfg(test)]
mod tests {
    use super::super::window::Second;
    use super::*;

    fn about() -> About {
        About { target: "a program (77)".into(), clocksource: "tsc".into(), colour: true }
    }

    fn reader(pid: u32, name: &str, path: Path) -> Reader {
        Reader {
            pid,
            name: name.to_owned(),
            cpu_seconds: 0.5,
            read_seconds: 0.25,
            reads: Some(2e6),
            paths: vec![path],
        }
    }

    fn window(functions: usize) -> Window {
        let mut window = Window::default();
        let rows = (0..functions).map(|n| reader(77, &format!("hot_{n}"), Path::VdsoFallback));
        window.push(Second {
            seconds: 2.0,
            cpu_seconds: 1.0,
            read_seconds: 0.5,
            reads: Some(4e6),
            processes: vec![reader(77, "one", Path::Vdso), reader(78, "t\x1b[2Jwo", Path::Vdso)],
            functions: rows.collect(),
        });
        window
    }

    fn text(lines: &[Line<'_>]) -> Vec<String> {
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_picture() {
        let lines = text(&lines(&about(), &window(2), 80, 24));
        assert_eq!(
            lines,
            [
                "who reads the clock: a program (77)  clocksource tsc  q quits",
                "last 2.0 s: 0.50 CPUs in use, 50 % of that on reads, 2.00M reads/s",
                "",
                "    pid     CPU  on reads  reads/s  by        process",
                "     77    25 %      50 %    1.00M  vDSO      one",
                "     78    25 %      50 %    1.00M  vDSO      t<ESC>[2Jwo",
                "",
                "    pid     CPU  of reads  reads/s  by        function",
                "     77    25 %      50 %    1.00M  fallback  hot_0",
                "     77    25 %      50 %    1.00M  fallback  hot_1",
            ]
        );
    }

    #[test]
    fn it_fits_into_every_terminal() {
        for (width, height) in [(80, 24), (40, 10), (10, 3), (1, 1), (0, 0), (300, 200)] {
            for window in [window(0), window(500), Window::default()] {
                let lines = text(&lines(&about(), &window, width, height));
                assert!(lines.len() <= height, "{width}x{height}: {}", lines.len());
                assert!(lines.iter().all(|line| line.chars().count() <= width), "{lines:#?}");
            }
        }
    }
}
