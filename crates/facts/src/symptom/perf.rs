//! `perf report` and `perf top`: a row has a share, the object in brackets, `[k]` or `[.]`, and the symbol. With call graphs
//! it has two shares: that of the function with its callees, and its own. Rows of `perf top` before 3.0 have the
//! object last.

use super::callers::{Called, Caller};
use super::{Counted, Profile, Role, Seen, functions};
use crate::paste::{Page, Reader};

pub(super) const READER: Reader = Reader { name: "perf report", words: &["%"], read };

/// The largest number of lines between two rows: stacks.
const GAP: usize = 60;
/// Lines above the first row that contain the names of the columns.
const HEADER: usize = 12;
/// Maximum number of frames of a stack.
const FRAMES: usize = 256;

fn read(page: &mut Page<'_>, at: usize) -> usize {
    let Some(first) = row(page.line(at)) else { return 0 };
    let mut profile = Profile { counted: Counted::above_perf(page, at), ..Profile::default() };
    // `10.71%     -2.44%`: the head of perf diff is missing.
    let mut shares = page.line(at).split_ascii_whitespace();
    if shares
        .nth(1)
        .is_some_and(|word| word.starts_with(['+', '-']) && percent(&word[1..]).is_some())
    {
        profile.counted = Counted::Difference;
    }
    // `perf report --show-cpu-utilization` prints the shares in the kernel and outside it after the total.
    let split = (at.saturating_sub(HEADER)..at).any(|number| {
        let line = page.line(number);
        line.contains("Overhead") && line.split_ascii_whitespace().any(|word| word == "usr")
    });
    let add = |profile: &mut Profile, row: &Row<'_>| match row.own {
        Some(own) if !split => profile.add(row.symbol, own, Some(row.share)),
        _ => profile.add(row.symbol, row.share, None),
    };
    add(&mut profile, &first);
    let mut tree = Tree::below(first.symbol);
    let mut branches = Branches::default();
    branches.step(page.line(at), &first, &mut profile);
    let mut last = at;
    for number in at + 1..page.len() {
        let line = page.line(number);
        // The table of another event has a separate head.
        if number - last > GAP || page.is_prompt(number) || super::counted::event(line).is_some() {
            break;
        }
        if let Some(row) = row(line) {
            std::mem::replace(&mut tree, Tree::below(row.symbol)).finish(&mut profile);
            add(&mut profile, &row);
            branches.step(line, &row, &mut profile);
            last = number;
        } else if let Some(frame) = frame(line) {
            if frame.share || functions::role(frame.name).is_some() {
                last = number;
            }
            tree.add(frame, &mut profile);
        } else if !is_edge(line) {
            // A blank line ends the stacks of a row.
            std::mem::replace(&mut tree, Tree::below("")).finish(&mut profile);
        }
    }
    tree.finish(&mut profile);
    if let Some(profile) = profile.finish() {
        let tool = if profile.counted == Counted::Difference { "perf diff" } else { READER.name };
        page.symptom(at, tool, Seen::Profile(profile));
    }
    last + 1 - at
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Row<'a> {
    /// The first share: the only one, or that with the callees of this function.
    share: f64,
    /// The second share, of the function itself.
    own: Option<f64>,
    symbol: &'a str,
}

fn row(line: &str) -> Option<Row<'_>> {
    // A question mark replaces an arrow that a terminal or an editor could not show.
    let line = line.trim_start_matches(['-', '+', ' ', '\t', '|', '?']);
    let mut words = line.split_ascii_whitespace();
    let first = words.next()?;
    if let Some(share) = percent(first) {
        let (own, symbol) = match words.next().map(|word| (percent(word), word)) {
            Some((Some(second), _)) => (Some(second), words.next()),
            Some((None, word)) => (None, Some(word)),
            None => return None,
        };
        let marked = line.find("[k] ").or_else(|| line.find("[.] "));
        if let Some(mark) = marked {
            let symbol = line[mark + 4..].trim();
            let symbol = if is_of_program(line, mark, symbol) { OF_PROGRAM } else { symbol };
            return Some(Row { share, own, symbol });
        }
        // Only a share and a name. A function that programs call is the line of a stack.
        let symbol = symbol?;
        let role = functions::role(symbol).filter(|role| *role != Role::Library);
        return (words.next().is_none() && role.is_some()).then_some(Row { share, own, symbol });
    }
    // `  3456.00 38.1% acpi_pm_read   [kernel.kallsyms]`
    first.parse::<f64>().ok()?;
    let share = percent(words.next()?)?;
    let symbol = words.next()?;
    let object = words.next()?;
    (object.starts_with('[') && object.ends_with(']')
        || object.contains(".so")
        || object.starts_with('/'))
    .then_some(Row { share, own: None, symbol })
}

/// The name of a function of a program that only has the name of one of the kernel.
const OF_PROGRAM: &str = "a function of a program";

/// Whether a function has the name of one of the kernel and is in user space, outside of the vDSO: any user can give a
/// function that name.
fn is_of_program(line: &str, mark: usize, symbol: &str) -> bool {
    line[mark..].starts_with("[.] ")
        && !line[..mark].contains(" [vdso] ")
        && functions::role(symbol).is_some_and(|role| !matches!(role, Role::Vdso | Role::Library))
}

/// Rows that are nested, as `perf report` shows a tree that was unfolded: `- 16.30% entry_SYSCALL_64`, and deeper
/// `- 13.18% __vdso_clock_gettime`.
#[derive(Debug, Default)]
struct Branches {
    /// The rows around the present one, with the columns of their percent signs, which a table has one below the other.
    around: Vec<(usize, Option<Role>)>,
}

impl Branches {
    fn step(&mut self, line: &str, row: &Row<'_>, profile: &mut Profile) {
        let in_tree = line.trim_start().starts_with(['-', '+', '|']) && row.own.is_none();
        let Some(column) = line.find('%').filter(|_| in_tree) else {
            self.around.clear();
            return;
        };
        self.around.retain(|(around, _)| *around < column);
        let role = functions::role(row.symbol);
        let around = |role: Role| self.around.iter().any(|(_, other)| *other == Some(role));
        // Either end may be outside, by an option of perf.
        profile.vdso_fell_back |= role == Some(Role::Vdso) && around(Role::Entry)
            || role == Some(Role::Entry) && around(Role::Vdso);
        if self.around.len() < FRAMES {
            self.around.push((column, role));
        }
    }
}

/// A frame in the stacks below a row.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Frame<'a> {
    name: &'a str,
    /// Whether it begins a branch, with its share before it.
    share: bool,
    /// The column at which it begins.
    column: usize,
}

/// `--36.44%--clock_gettime`, `- 36.44% clock_gettime`, `--- clock_gettime` and `clock_gettime`.
fn frame(line: &str) -> Option<Frame<'_>> {
    let begin = line.trim_start_matches(['-', '+', ' ', '\t', '|']);
    let column = line.len() - begin.len();
    let (share, name) = match begin.split_once('%') {
        Some((number, rest)) if percent(begin.get(..=number.len())?).is_some() => {
            (true, rest.trim_start_matches(['-', ' ']).trim())
        }
        _ => (false, begin.trim()),
    };
    let name = name.strip_suffix("(inlined)").map_or(name, str::trim_end);
    // Sentences have more words; names of functions of C++ and Rust have them in brackets.
    let is_name = !name.is_empty()
        && (!name.contains(' ') || share || name.contains(['<', '(']))
        && (column > 0 || share || functions::role(name).is_some());
    is_name.then_some(Frame { name, share, column })
}

/// A line of a tree that has no frame.
fn is_edge(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty()
        && (percent(line).is_some() || line.bytes().all(|byte| b"|-+ ".contains(&byte)))
}

/// The stacks below a row: a trunk, and branches that begin at the columns of their shares.
struct Tree<'a> {
    row: &'a str,
    /// The frames from the first to the current one, with the column of their branch.
    frames: Vec<(usize, &'a str)>,
    /// Whether the current stack has not been evaluated yet.
    pending: bool,
}

impl<'a> Tree<'a> {
    fn below(row: &'a str) -> Self {
        Self { row, frames: Vec::new(), pending: false }
    }

    fn add(&mut self, frame: Frame<'a>, profile: &mut Profile) {
        if self.row.is_empty() {
            return;
        }
        let branch = self.frames.last().map_or(0, |(column, _)| *column);
        let column = if frame.share {
            if frame.column <= branch {
                self.look(profile);
                self.frames.retain(|(column, _)| *column < frame.column);
            }
            frame.column
        } else {
            branch
        };
        if self.frames.len() < FRAMES {
            self.frames.push((column, frame.name));
            self.pending = true;
        }
    }

    fn finish(mut self, profile: &mut Profile) {
        self.look(profile);
    }

    /// Evaluates the current stack.
    fn look(&mut self, profile: &mut Profile) {
        if !std::mem::take(&mut self.pending) {
            return;
        }
        let of = |name: &str| functions::role(name);
        let reads = |name: &str| {
            matches!(of(name), Some(Role::Reads(_) | Role::Page | Role::Counter | Role::Keeps))
        };
        let names = || self.frames.iter().map(|(_, name)| *name);
        let row = Some(self.row).filter(|row| names().next() != Some(row));
        let has = |role: Role| row.into_iter().chain(names()).any(|name| of(name) == Some(role));
        profile.through_vdso |= has(Role::Library) && has(Role::Vdso);
        profile.vdso_fell_back |= has(Role::Entry) && has(Role::Vdso);
        if has(Role::Keeps) {
            for name in row.into_iter().chain(names()) {
                if let Some(Role::Reads(source)) = of(name) {
                    profile.in_stack(source, name);
                }
            }
        }
        // Which end is the innermost depends on an option of perf.
        let inwards = names().next_back().is_some_and(reads) && !names().next().is_some_and(reads);
        let mut caller = Caller::default();
        if inwards {
            names().rev().for_each(|name| caller.step(name, of(name)));
        } else {
            row.into_iter().chain(names()).for_each(|name| caller.step(name, of(name)));
        }
        match caller.finish() {
            Called::ByProgram => profile.called_by_programs = true,
            Called::ByKernel(name) => profile.read_by_kernel(&name),
            Called::Open => {}
        }
    }
}

pub(super) fn percent(word: &str) -> Option<f64> {
    let number = word.strip_suffix('%').filter(|number| !number.starts_with(['+', '-']))?;
    // Some languages write `6,69%`.
    let comma = number.split_once(',').filter(|(_, part)| part.len() == 2);
    let parsed = match comma {
        Some((whole, part)) => format!("{whole}.{part}").parse().ok(),
        None => number.parse().ok(),
    };
    parsed.filter(|share| (0.0..=100.5).contains(share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paste::Pasted;

    fn profile(text: &str) -> Profile {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let symptoms = Pasted::read(&lines, "text").symptoms;
        match symptoms.into_iter().next().map(|symptom| symptom.seen) {
            Some(Seen::Profile(profile)) => profile,
            other => panic!("{other:?}"),
        }
    }

    fn share(profile: &Profile, name: &str) -> Option<f64> {
        profile.functions.iter().find(|share| share.name == name).map(|share| share.percent)
    }

    #[test]
    fn a_frame_below_timekeeping_shows_the_clocksource() {
        let text = |name: &str, caller: &str| {
            format!(
                "     2.10%  app  [kernel.kallsyms]  [k] pvclock_clocksource_read\n            |\n            ---pvclock_clocksource_read\n\
                 \x20              |\n               |--2.00%-- {name}\n               |          |\n\
                 \x20              |          |--1.90%-- {caller}\n"
            )
        };
        let found = profile(&text("kvm_clock_get_cycles", "ktime_get_ts64"));
        assert_eq!(found.only_source(), Some(("kvm-clock", "kvm_clock_get_cycles")));
        assert_eq!(profile(&text("kvm_sched_clock_read", "sched_clock")).only_source(), None);
        let row = "     0.40%  app  [kernel.kallsyms]  [k] xen_clocksource_get_cycles\n     3.00%  app  [kernel.kallsyms]  [k] xen_clocksource_read\n";
        assert_eq!(profile(row).only_source(), Some(("xen", "xen_clocksource_get_cycles")));
        // The watchdog reads it as a reference.
        let row = "     0.40%  app  [kernel.kallsyms]  [k] read_hpet\n     3.00%  app  [kernel.kallsyms]  [k] ktime_get\n";
        assert_eq!(profile(row).only_source(), None);
    }

    #[test]
    fn function_of_a_program_with_a_name_of_the_kernel_s_is_not_the_kernel_s() {
        let seen = profile(
            "    61.00%  app  a.out                    [.] read_hpet\n    20.00%  app  /home/u/[kernel.kallsyms]  [.] acpi_pm_read\n\
             \x20    9.00%  app  [kernel.kallsyms]        [k] ktime_get\n     8.00%  app  [vdso]                   [.] __vdso_clock_gettime\n",
        );
        assert_eq!(share(&seen, "read_hpet").or(share(&seen, "acpi_pm_read")), None);
        assert_eq!(share(&seen, "ktime_get"), Some(9.0));
        assert_eq!(share(&seen, "__vdso_clock_gettime"), Some(8.0));
        let folded =
            "read_hpet;main;work 930\napp;clock_gettime;do_syscall_64;ktime_get;read_tsc 70\n";
        assert_eq!(share(&profile(folded), "read_hpet"), None);
        assert!(share(&profile(folded), "read_tsc").is_some());
    }

    #[test]
    fn vdso_that_goes_on_into_the_kernel_is_told_from_one_that_answers() {
        let fell_back = |text: &str| profile(text).vdso_fell_back;
        let inward = "-   16.33%     2.18%  9218  worker  [kernel.vmlinux]  \n   - 16.32% do_syscall_64\n      - 16.30% entry_SYSCALL_64\n\
             \x20        - 13.18% __vdso_clock_gettime\n              __GI___clock_gettime (inlined)\n            - now\n";
        assert!(fell_back(inward));
        let outward = "-   20.00%     1.00%  app  [vdso]  [.] __vdso_clock_gettime\n   - 19.00% __vdso_clock_gettime\n\
             \x20     - 18.00% entry_SYSCALL_64_after_hwframe\n           do_syscall_64\n";
        assert!(fell_back(outward));
        let flat = "    13.18%  app  [vdso]  [.] __vdso_clock_gettime\n     9.30%  app  [kernel]  [k] do_syscall_64\n";
        assert!(!fell_back(flat));
        let apart =
            "   - 16.32% write\n      - 15.30% do_syscall_64\n   - 13.18% __vdso_clock_gettime\n";
        assert!(!fell_back(apart));
    }

    const BOTH: &str = "  Children      Self  Command  Shared Object      Symbol\n\
        40.00%     0.50%  app  [kernel.kallsyms]  [k] __x64_sys_clock_gettime\n\
        30.00%     0.20%  app  [kernel.kallsyms]  [k] kvm_clock_get_cycles\n\
        29.00%    28.00%  app  [kernel.kallsyms]  [k] pvclock_clocksource_read\n\
        21.00%    20.00%  app  [kernel.kallsyms]  [k] read_hpet\n\
        45.00%     1.00%  app  libc.so.6          [.] clock_gettime\n\
        70.00%     9.00%  app  [kernel.kallsyms]  [k] do_syscall_64\n";

    #[test]
    fn arrows_that_were_lost_are_no_part_of_a_row() {
        assert_eq!(profile(&format!("?{BOTH}").replace('\n', "\n?")), profile(BOTH));
    }

    #[test]
    fn shares_with_a_decimal_comma_are_those_with_a_point() {
        assert_eq!(profile(&BOTH.replace('.', ",").replace("[,]", "[.]")), profile(BOTH));
        assert_eq!(percent("6,690%"), None);
    }

    #[test]
    fn table_of_another_event_is_not_joined_and_not_time() {
        let head = |event: &str| format!("# Samples: 1K of event '{event}'\n# Overhead  Symbol\n");
        let text = format!(
            "{}  25.00%  app  [kernel]  [k] read_hpet\n{}  60.00%  app  [vdso]  [.] __vdso_clock_gettime\n",
            head("cache-misses"),
            head("cycles:u")
        );
        let found = profile(&text);
        assert_eq!(found.counted, Counted::Events("cache-misses".to_owned()));
        assert_eq!(found.functions.len(), 1);
        let bare = "     20.10%    -19.90%  [kernel.kallsyms]  [k] read_hpet\n";
        assert_eq!(profile(bare).counted, Counted::Difference);
        let text = "# Baseline  Delta Abs  Shared Object      Symbol\n  20.10%  -19.90%  [kernel.kallsyms]  [k] read_hpet\n";
        assert_eq!(profile(text).counted, Counted::Difference);
        assert_eq!(profile(BOTH).counted, Counted::Time);
    }

    #[test]
    fn entry_function_counts_with_children_and_a_leaf_by_itself() {
        let profile = profile(BOTH);
        for (name, percent) in [
            ("__x64_sys_clock_gettime", Some(40.0)),
            ("kvm_clock_get_cycles", Some(30.0)),
            ("pvclock_clocksource_read", Some(28.0)),
            ("read_hpet", Some(20.0)),
            ("clock_gettime", Some(45.0)),
            // The entry of every system call shows nothing about clocks.
            ("do_syscall_64", None),
        ] {
            assert_eq!(share(&profile, name), percent, "{name}");
        }
    }

    #[test]
    fn shares_of_kernel_and_program_are_not_a_share_of_the_function_itself() {
        let text = BOTH.replace("Children      Self", "Overhead sys usr");
        assert_eq!(share(&profile(&text), "read_hpet"), Some(21.0));
    }

    #[test]
    fn stacks_below_a_row_name_who_reads() {
        let row = "     9.43%           dd  [kernel.kallsyms]  [k] acpi_pm_read\n";
        let kernel = "                     |\n                     --- acpi_pm_read\n                         ktime_get_ts\n                        |\n                        |--87.75%-- __delayacct_blkio_start\n                        |          io_schedule_timeout\n                        |          sys_write\n";
        let program = "                        |\n                         --12.25%-- sys_clock_gettime\n                                   clock_gettime\n";
        let found = profile(&format!("{row}{kernel}"));
        assert_eq!(found.kernel_readers, ["__delayacct_blkio_start"]);
        assert!(!found.called_by_programs);
        let found = profile(&format!("{row}{kernel}{program}"));
        assert_eq!(found.kernel_readers, ["__delayacct_blkio_start"]);
        assert!(found.called_by_programs);
        // The other order.
        let inwards = "            |\n            ---main\n               clock_gettime\n               entry_SYSCALL_64\n               do_syscall_64\n               sys_clock_gettime\n               ktime_get_ts64\n               acpi_pm_read\n";
        let found = profile(&format!("{row}{inwards}"));
        assert!(found.called_by_programs && found.kernel_readers.is_empty());
        // Lines that are not a stack, or not of this row.
        let found = profile(&format!("{row}\n   some words\n   sys_write\n"));
        assert!(!found.called_by_programs && found.kernel_readers.is_empty());
    }

    #[test]
    fn branches_of_a_stack_do_not_belong_to_each_other() {
        let text = "    20.00%  app  [kernel]  [k] read_hpet\n            ---read_hpet\n               ktime_get\n               |--60.00%--tick_nohz_idle_enter\n               |          do_idle\n               |--30.00%--hrtimer_interrupt\n               |          |--20.00%--sysvec_apic_timer_interrupt\n               |           --10.00%--asm_sysvec_apic_timer_interrupt\n                --10.00%--main\n                          start\n";
        let found = profile(text);
        assert_eq!(found.kernel_readers, ["tick_nohz_idle_enter", "hrtimer_interrupt"]);
        assert!(!found.called_by_programs);
    }
}
