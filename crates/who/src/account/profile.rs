//! The whole account. Pure.

use super::cells::{Cell, cells};
use super::estimate::Estimate;
use super::flags::{self, FlagKind};
use super::groups::Groups;
use super::processes::{kernel, processes, stacks, with_missing};
use super::rows::{Profile, Totals};
use super::saving::Helps;
use super::source::Sources;
use super::unsampled::unsampled;
use super::whole::Whole;
use super::{clocks, functions};
use crate::calibrate::Costs;
use crate::recording::Recording;

/// Makes the account.
#[must_use]
pub fn profile(recording: &Recording, costs: &Costs) -> Profile {
    let mut cells = cells(recording, costs);
    let others = unsampled(recording, costs, &cells);
    cells.extend(others);
    let mut groups = Groups::of(&cells, recording, costs);
    let whole = Whole::of(recording, std::mem::take(&mut groups.all));
    let sources = Sources::of(recording);
    let processes = processes(&groups, &whole, recording);
    let flags = flags::flags(recording, &cells, costs);
    let mut helps = Helps::of(&cells, costs);
    if flags.iter().any(|flag| flag.kind == FlagKind::CoarseCandidate) {
        helps.add_cheaper_reads();
    }
    Profile {
        totals: totals(recording, &whole, &cells),
        rows: clocks::rows(&groups, &whole, recording, costs),
        functions: functions::of_processes(&groups, &whole, recording, &sources),
        programs: functions::of_programs(&groups, &whole, &sources),
        stacks: stacks(recording, whole.cpu),
        kernel: kernel(recording),
        flags,
        remedies: helps.remedies(recording, &processes),
        processes,
    }
}

fn totals(recording: &Recording, whole: &Whole, cells: &[Cell]) -> Totals {
    let (reads, wall) = (&whole.reads, whole.wall);
    // Processes that could not be examined may have read all the time, as others did or more.
    let missing = recording.processes.iter().filter(|seen| seen.runtime.is_none());
    let missing = missing.map(|seen| seen.tally.ns).sum::<u64>() as f64 * 1e-9;
    let calls = reads.calls().map(|calls| calls.value);
    Totals {
        cpu_seconds: whole.cpu,
        samples: recording.all.samples,
        read_samples: recording.stacks.iter().map(|stack| stack.tally.samples).sum(),
        cpu_share: with_missing(whole.cpu_share(reads, false), missing / whole.cpu.max(1e-9)),
        read_cpu_seconds: reads.seconds,
        reads_per_second: match cells.is_empty() {
            true => Some(0.0),
            false => calls.map(|calls| calls / wall),
        },
        reads_per_second_interval: whole.per_second(reads, false).map(|rate| {
            // At the same cost as those that were seen.
            let cost = if reads.seconds > 0.0 {
                reads.seconds / (rate.high * wall).max(1e-9)
            } else {
                reads.spent * 1e-9 / calls.unwrap_or(1.0).max(1e-9)
            };
            Estimate { high: rate.high + missing / cost.max(1e-12) / wall, ..rate }
        }),
        saving_cpu_seconds: reads.saving,
    }
}

#[cfg(test)]
mod tests {
    use super::super::functions::NOWHERE;
    use super::*;
    use crate::classify::Path;
    use crate::clock::{Api, ClockId};
    use crate::recording::{Seen, Stack};

    #[test]
    fn programs_join_the_functions_of_their_processes() {
        let mut made = crate::output::made::recording();
        let one = made.processes[0].clone();
        let other = Seen { pid: 9, name: "another".to_owned(), ..one.clone() };
        made.processes.extend([Seen { pid: 8, ..one }, other]);
        let stacks = made.stacks.clone();
        for process in [1, 2] {
            let again = stacks.iter().cloned().map(|mut stack| {
                stack.process = process;
                stack
            });
            made.stacks.extend(again);
        }
        let found = profile(&made, &Costs::default());
        assert_eq!(found.functions.len(), 6);
        let hot: Vec<_> = found.programs.iter().filter(|row| row.function == "hot").collect();
        let rows: Vec<_> = hot
            .iter()
            .map(|row| (row.program.as_str(), row.processes, row.reads.samples))
            .collect();
        assert_eq!(rows, [("a;pp", 2, 6.0), ("another", 1, 3.0)]);
        assert_eq!(hot[0].pids.len(), 2);
        let sum = |rows: &[f64]| rows.iter().sum::<f64>();
        let functions: Vec<f64> = found.functions.iter().map(|row| row.reads.cpu_seconds).collect();
        let programs: Vec<f64> = found.programs.iter().map(|row| row.reads.cpu_seconds).collect();
        assert!((sum(&functions) - sum(&programs)).abs() < 1e-9);
    }

    #[test]
    fn functions_may_have_made_the_reads_of_processes_that_ended_too_soon() {
        let mut made = crate::output::made::recording();
        let ended = Seen { pid: 8, ..made.processes[0].clone() };
        let lost = Stack { process: 1, frames: [].into(), ..made.stacks[0].clone() };
        let without = profile(&made, &Costs::default());
        made.processes.push(ended);
        made.stacks.push(lost);
        let with = profile(&made, &Costs::default());
        let high = |found: &Profile, function: &str| {
            let row = found.programs.iter().find(|row| row.function == function);
            row.unwrap().reads.cpu_share
        };
        let (alone, beside, nowhere) =
            (high(&without, "hot"), high(&with, "hot"), high(&with, NOWHERE));
        assert!((alone.value - beside.value).abs() < 1e-9 && alone.low == beside.low);
        assert!((beside.high - (alone.high + nowhere.high).min(1.0)).abs() < 1e-9, "{beside:?}");
        // The row of one process is about that process only.
        let of_process = with.functions.iter().find(|row| row.function == "hot").unwrap();
        assert_eq!(of_process.reads.cpu_share, alone);
    }

    #[test]
    fn reads_of_a_few_nanoseconds_have_wide_intervals() {
        use crate::calibrate::{Cost, Served, Span};
        let (fine, coarse) = (ClockId::MONOTONIC, ClockId::MONOTONIC_COARSE);
        let cost = |ns| Cost { library_ns: Some(ns), syscall_ns: Some(200.0), ..Cost::default() };
        let costs = Costs {
            clocks: vec![(fine, cost(22.0)), (coarse, cost(4.0))],
            served: Served {
                fine: Some(Span { low: 18.0, ns: 20.0, high: 22.0 }),
                coarse: Some(Span { low: 0.5, ns: 1.3, high: 3.5 }),
                ..Served::default()
            },
            ..Costs::default()
        };
        let of = |clock| {
            let mut made = crate::output::made::recording();
            made.stacks.iter_mut().for_each(|stack| {
                stack.path = Path::Vdso;
                stack.api = Some(Api::ClockGettime);
            });
            let [first, ..] = &made.stacks[..] else { panic!("no stack") };
            made.hits = (0..20)
                .map(|draw| crate::recording::Hit {
                    process: first.process,
                    api: Api::ClockGettime,
                    clock: Some(clock),
                    frames: first.frames.clone(),
                    callers: [1, 2].into(),
                    count: 4,
                    draws: vec![(draw, 4)],
                })
                .collect();
            let mut stack = first.clone();
            stack.callers = [1, 2].into();
            // The process does nothing else.
            made.processes[first.process].tally = stack.tally;
            made.stacks = vec![stack];
            profile(&made, &costs).totals
        };
        let relative = |totals: &Totals| {
            let said = totals.reads_per_second_interval.unwrap();
            assert_eq!(Some(said.value), totals.reads_per_second);
            // Without the sampling error: as many reads as fit into their seconds.
            (said.high / said.value, said.value / said.low)
        };
        let (fine, coarse) = (of(fine), of(coarse));
        let ((fine_up, fine_down), (up, down)) = (relative(&fine), relative(&coarse));
        assert!(up > 2.6 && down > 2.6, "{coarse:?}");
        assert!(up > fine_up * 1.2 && down > fine_down * 1.2, "{fine:?}");
    }
}
