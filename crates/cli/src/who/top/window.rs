//! The last seconds, added up by process and by function. Pure.

use clocksmith_who::account::Profile;
use clocksmith_who::classify::Path;
use std::collections::{HashMap, VecDeque};

/// Pictures that are added up: enough for steady figures, few enough to follow changes.
const KEPT: usize = 4;

/// A process or a function that reads clocks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Reader {
    /// Its process.
    pub(super) pid: u32,
    /// The function's name, or the process's.
    pub(super) name: String,
    /// CPU seconds of all that it does; for a function those of its reads.
    pub(super) cpu_seconds: f64,
    /// CPU seconds of its reads.
    pub(super) read_seconds: f64,
    /// Reads; `None` if the cost of one is not known.
    pub(super) reads: Option<f64>,
    /// The paths.
    pub(super) paths: Vec<Path>,
}

/// The samples between two pictures.
#[derive(Clone, Debug, Default)]
pub(super) struct Second {
    pub(super) seconds: f64,
    pub(super) cpu_seconds: f64,
    pub(super) read_seconds: f64,
    pub(super) reads: Option<f64>,
    pub(super) processes: Vec<Reader>,
    pub(super) functions: Vec<Reader>,
}

impl Second {
    /// Converts an account of this many seconds.
    pub(super) fn of(profile: &Profile, seconds: f64) -> Self {
        let used = profile.processes.iter().filter(|row| row.cpu_seconds > 0.0);
        let processes = used.map(|row| Reader {
            pid: row.pid,
            name: row.name.clone(),
            cpu_seconds: row.cpu_seconds,
            read_seconds: row.cpu_seconds * row.read_share.value,
            reads: row.per_second.map(|rate| rate * seconds),
            paths: row.path.into_iter().collect(),
        });
        let functions = profile.functions.iter().map(|row| Reader {
            pid: row.pid,
            name: row.function.clone(),
            cpu_seconds: row.reads.cpu_seconds,
            read_seconds: row.reads.cpu_seconds,
            reads: row.reads.per_second.map(|rate| rate.value * seconds),
            paths: row.reads.paths.clone(),
        });
        Self {
            seconds,
            cpu_seconds: profile.totals.cpu_seconds,
            read_seconds: profile.totals.read_cpu_seconds,
            reads: profile.totals.reads_per_second.map(|rate| rate * seconds),
            processes: processes.collect(),
            functions: functions.collect(),
        }
    }
}

/// The most recent pictures.
#[derive(Clone, Debug, Default)]
pub(super) struct Window(VecDeque<Second>);

impl Window {
    pub(super) fn push(&mut self, second: Second) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(second);
    }

    /// Returns the sum of all; most expensive readers first.
    pub(super) fn sum(&self) -> Second {
        let mut sum = Second::default();
        for one in &self.0 {
            sum.seconds += one.seconds;
            sum.cpu_seconds += one.cpu_seconds;
            sum.read_seconds += one.read_seconds;
            sum.reads = plus(sum.reads, one.reads);
        }
        sum.processes = added(self.0.iter().flat_map(|one| &one.processes));
        sum.functions = added(self.0.iter().flat_map(|one| &one.functions));
        sum
    }
}

/// Adds two values; an unknown one is taken as 0, unless both are unknown.
fn plus(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    }
}

fn added<'a>(rows: impl Iterator<Item = &'a Reader>) -> Vec<Reader> {
    let mut at: HashMap<(u32, &str), usize> = HashMap::new();
    let mut sums: Vec<Reader> = Vec::new();
    for row in rows {
        let index = *at.entry((row.pid, &row.name)).or_insert_with(|| {
            sums.push(Reader { pid: row.pid, name: row.name.clone(), ..Reader::default() });
            sums.len() - 1
        });
        let Some(sum) = sums.get_mut(index) else { continue };
        sum.cpu_seconds += row.cpu_seconds;
        sum.read_seconds += row.read_seconds;
        sum.reads = plus(sum.reads, row.reads);
        for path in &row.paths {
            if !sum.paths.contains(path) {
                sum.paths.push(*path);
            }
        }
    }
    sums.sort_by(|a, b| b.read_seconds.total_cmp(&a.read_seconds).then(a.pid.cmp(&b.pid)));
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(name: &str, reads: f64) -> Second {
        let row = Reader {
            pid: 1,
            name: name.to_owned(),
            cpu_seconds: 0.5,
            read_seconds: 0.25,
            reads: Some(reads),
            paths: vec![Path::Vdso],
        };
        Second { seconds: 1.0, functions: vec![row], ..Second::default() }
    }

    #[test]
    fn the_last_seconds_count_and_no_others() {
        let mut window = Window::default();
        window.push(second("old", 1.0));
        for reads in [1.0, 2.0, 3.0, 4.0] {
            window.push(second("new", reads));
        }
        let sum = window.sum();
        assert_eq!((sum.seconds, sum.functions.len()), (4.0, 1));
        let row = &sum.functions[0];
        assert_eq!((row.name.as_str(), row.reads, row.read_seconds), ("new", Some(10.0), 1.0));
        assert_eq!(row.paths, [Path::Vdso]);
    }
}
