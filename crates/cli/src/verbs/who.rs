//! `who`: which programs read the clock.

use crate::args::{Common, Who};
use crate::exit::{Code, NotRun, NotSeen};
use crate::render;
use crate::report::who::WhoReport;
use crate::ui::{err, file, screen};
use crate::who::{counter, top};
use anyhow::{Context, Result, bail};
use clocksmith_facts::tree::LiveTree;
use clocksmith_facts::{Facts, Origin, collect};
use clocksmith_measure::interrupt;
use clocksmith_measure::program::refused_by_the_kernel;
use clocksmith_who::account;
use clocksmith_who::calibrate::{self, Costs};
use clocksmith_who::exact::Counter;
use clocksmith_who::output;
use clocksmith_who::perf::{NoTracepoints, Refusal, Tracepoints};
use clocksmith_who::recording::Recording;
use clocksmith_who::session::{self, Options, Session, Target};
use clocksmith_who::spawn::{Running, Waiting};
use clocksmith_who::watched::jvm::Requests;
use clocksmith_who::watched::patient;
use clocksmith_who::watched::remains;
use clocksmith_who::watched::select::{self, Wanted};
use clocksmith_who::watched::short_name;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// How long a process or the machine is watched.
const DURATION: Duration = Duration::from_secs(5);
/// How long after Ctrl-C a report may still be written; then the program ends without one.
const DEADLINE: Duration = Duration::from_secs(10);
/// The same after another signal: a service manager waits for the end.
const SOON: Duration = Duration::from_secs(2);
/// How long a command may take to end after a signal.
const GRACE: Duration = Duration::from_secs(2);
/// The change of this thread's nice value.
const AHEAD: i32 = -10;
/// How long measuring the costs takes.
const CALIBRATION: Duration = Duration::from_millis(250);

pub(crate) fn run(common: &Common, args: &Who) -> Result<Code> {
    if common.root.is_some() {
        bail!("who watches the machine that it runs on; --root shows another one");
    }
    // Before the watch, so that a wrong name costs no time.
    for path in [&args.folded, &args.pprof, &args.firefox].into_iter().flatten() {
        file::check(path)?;
    }
    if args.command.is_empty() {
        ahead();
    }
    let facts = collect::collect(&LiveTree::new(), Origin::Live);
    let costs = calibrate::costs(CALIBRATION);
    interrupt::before_forced_end(remains::remove);
    interrupt::listen();
    let stuck = || {
        screen::put_back();
        remains::remove();
        err::line("clocksmith: ended by a signal while a process or a file system did not answer");
    };
    // A command has its own time to end.
    let soon = if args.command.is_empty() { SOON } else { SOON + GRACE };
    let patience = move |signal| if signal == libc::SIGINT { DEADLINE } else { soon };
    interrupt::end_within(patience, stuck).context("cannot start a thread")?;
    end_without_answer().context("cannot start a thread")?;
    let about = About { common, args, facts: &facts, costs: &costs };
    if args.command.is_empty() { about.watch() } else { about.run() }
}

/// Ends the program when a process does not answer a question: its user can delay the answer for ever.
fn end_without_answer() -> std::io::Result<()> {
    const BEAT: Duration = Duration::from_millis(250);
    /// A page from a slow disk comes sooner.
    const ANSWER: Duration = Duration::from_secs(3);
    /// As [`Code::Undetermined`].
    const UNDETERMINED: i32 = 3;
    let wait = || {
        let pid = loop {
            std::thread::sleep(BEAT);
            match patient::unanswered() {
                Some((pid, time)) if time > ANSWER => break pid,
                _ => {}
            }
        };
        screen::put_back();
        remains::remove();
        err::line(&format!(
            "clocksmith: process {pid} does not answer, because one of its threads holds the lock \
             of its memory map, for example because it waits for a file system that does not \
             answer; select other processes with -p, --name or --user"
        ));
        std::process::exit(UNDETERMINED)
    };
    std::thread::Builder::new().name("answers".to_owned()).spawn(wait).map(|_| ())
}

/// Lets this thread run before others, if that is allowed (root, `RLIMIT_NICE`): on a busy machine its few percent
/// of a processor would come late. Existing threads and processes are not affected; those that this thread creates are.
fn ahead() {
    let _ = rustix::process::nice(AHEAD);
}

/// Makes a file of a recording.
type Maker = fn(&Recording) -> Result<Vec<u8>>;

/// The context of a run.
struct About<'a> {
    common: &'a Common,
    args: &'a Who,
    facts: &'a Facts,
    costs: &'a Costs,
}

impl About<'_> {
    fn options(&self) -> Options {
        let mut options = if self.args.all { Options::MACHINE } else { Options::PROGRAM };
        options.frequency = self.args.frequency.unwrap_or(options.frequency);
        options.cycles = self.args.cycles;
        options.breakpoints &= !self.args.no_breakpoints;
        options.attach = match (self.args.no_attach, self.args.attach) {
            (true, _) => Requests::No,
            (false, false) => Requests::Sure,
            (false, true) => Requests::Wished,
        };
        options
    }

    /// Watches processes that already run.
    fn watch(&self) -> Result<Code> {
        let (target, name) = if self.args.all {
            (Target::Machine, "the machine".to_owned())
        } else {
            let pids = self.processes()?;
            let name = name(&pids);
            (Target::Processes(pids), name)
        };
        let mut session = Session::start(&target, self.options()).map_err(refused)?;
        let mut calls = self.system_calls(&target);
        if self.args.top {
            return self.top(&name, &mut session);
        }
        // Names of code made at run time can be had only while the process lives.
        session.record(self.args.duration.unwrap_or(DURATION), interrupt::wished);
        stop(&mut calls);
        let recording = session.recording();
        self.finish(name, &recording, None, calls)?;
        Ok(if recording.all.samples == 0 { Code::Undetermined } else { Code::Done })
    }

    /// Returns the processes that are named by their ids, or by their properties.
    fn processes(&self) -> Result<Vec<u32>> {
        let args = self.args;
        let users = args
            .user
            .iter()
            .map(|name| {
                select::user(name).with_context(|| {
                    format!(
                        "there is no user {name}: `getent passwd` lists them; an id works as well"
                    )
                })
            })
            .collect::<Result<Vec<u32>>>()?;
        let mut wanted = Wanted {
            names: args.name.clone(),
            users,
            cgroups: args.cgroup.clone(),
            containers: args.container.clone(),
            pods: args.pod.clone(),
        };
        if wanted.is_empty() {
            return Ok(args.pid.clone());
        }
        wanted.resolve();
        let mut pids: Vec<u32> = select::candidates()
            .iter()
            .filter(|process| wanted.fits(process))
            .map(|process| process.pid)
            .collect();
        if pids.is_empty() {
            bail!(
                "no process meets these conditions: `ps -eo pid,user,comm,cgroup` lists what runs"
            );
        }
        pids.sort_unstable();
        Ok(pids)
    }

    /// Counts system calls, if that is requested.
    fn system_calls(&self, target: &Target) -> Option<Result<Tracepoints, NoTracepoints>> {
        (self.args.syscalls || self.args.exact).then(|| session::system_calls(target))
    }

    /// Shows the last seconds on the terminal.
    fn top(&self, name: &str, session: &mut Session) -> Result<Code> {
        let current = self.facts.current_clocksource();
        let about = top::About {
            target: name.to_owned(),
            clocksource: current.value().map_or_else(|| "?".to_owned(), |name| (*name).to_owned()),
            colour: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        };
        let seen = top::run(&about, session, self.costs, self.args.duration)?;
        Ok(if seen { Code::Done } else { Code::Undetermined })
    }

    /// Runs a command, and ends as it ends.
    fn run(&self) -> Result<Code> {
        let words = &self.args.command;
        let shown = words.first().map(|word| word.to_string_lossy().into_owned());
        let shown = shown.unwrap_or_default();
        let (waiting, mut counter) = if self.args.exact {
            let pair = counter::waiting(words, self.common.json);
            pair.map(|(waiting, exact)| (waiting, Some(exact)))
        } else {
            Waiting::new(words, self.common.json).map(|waiting| (waiting, None))
        }
        .with_context(|| format!("cannot start {shown}"))?;
        // The command has been started, and keeps the usual priority.
        ahead();
        let target = Target::Command(waiting.pid());
        let mut session = Session::start(&target, self.options()).map_err(refused)?;
        let mut calls = self.system_calls(&target);
        let mut running = match waiting.go() {
            Ok(running) => running,
            Err(error) => {
                if let Some(why) = refused_by_the_kernel(&error) {
                    err::line(&format!("clocksmith: {shown}: {error}: {why}"));
                    return Ok(Code::NotRun(NotRun::NotExecutable));
                }
                let asks = if shown.parse::<u32>().is_ok() {
                    format!(
                        "cannot run {shown}; to watch the process of this id: clocksmith who -p {shown}"
                    )
                } else {
                    format!(
                        "cannot run {shown}: does it exist, is it executable, and is its name \
                             spelled correctly?"
                    )
                };
                return Err(error).context(asks);
            }
        };
        // Ctrl-C reaches the command as well, and the command may need time to end in order.
        let spared = |signal| signal != libc::SIGINT;
        let status = until_ended(&mut running, self.args.duration, spared, || {
            session.watch(Duration::from_millis(50), || false);
        })?;
        session.stop();
        stop(&mut calls);
        let recording = session.recording();
        let counter = counter.as_mut().map(|counter| counter as &mut dyn Counter);
        self.finish(shown, &recording, counter, calls)?;
        let status = match status {
            Some(status) => status,
            None => match until_ended(
                &mut running,
                None,
                |_| true,
                || {
                    std::thread::sleep(Duration::from_millis(20));
                },
            )? {
                Some(status) => status,
                None => {
                    err::line("clocksmith: the command still runs");
                    let signal = interrupt::signal().unwrap_or(0);
                    return Ok(Code::Command(u8::try_from(128 + signal).unwrap_or(255)));
                }
            },
        };
        Ok(Code::Command(code(status)))
    }

    fn finish(
        &self,
        name: String,
        recording: &Recording,
        counter: Option<&mut dyn Counter>,
        calls: Option<Result<Tracepoints, NoTracepoints>>,
    ) -> Result<()> {
        let profile = account::profile(recording, self.costs);
        let args = self.args;
        let files: [(&Option<_>, Maker); 3] = [
            (&args.folded, |recording| Ok(output::folded(recording).into_bytes())),
            (&args.pprof, |recording| Ok(output::pprof(recording)?)),
            (&args.firefox, |recording| Ok(output::firefox(recording)?)),
        ];
        for (path, make) in files {
            if let Some(path) = path {
                file::replace(path, &make(recording)?)?;
            }
        }
        let mut report = WhoReport::new(self.facts, name, recording, self.costs, profile);
        if let Some(counter) = counter {
            report.count(counter);
        }
        match calls {
            Some(Ok(mut calls)) => report.count_system_calls(&mut calls),
            Some(Err(why)) => report.gaps.push(why.to_string()),
            None => {}
        }
        if self.common.json {
            render::json(&report)
        } else {
            render::who::print(self.common, args, &report)
        }
    }
}

fn stop(calls: &mut Option<Result<Tracepoints, NoTracepoints>>) {
    if let Some(Ok(calls)) = calls {
        calls.stop();
    }
}

/// Waits until the command has ended, or the time is up; returns its exit status, if it has ended. If `terminates` is
/// true for a signal, the command gets SIGTERM; after any signal, the wait is limited to [`GRACE`]. `pause` lets time
/// go by between two looks.
fn until_ended(
    running: &mut Running,
    at_most: Option<Duration>,
    terminates: impl Fn(i32) -> bool,
    mut pause: impl FnMut(),
) -> Result<Option<ExitStatus>> {
    let begun = Instant::now();
    let mut wish = None;
    loop {
        pause();
        if let Some(status) = running.ended().context("cannot wait for the command")? {
            return Ok(Some(status));
        }
        if at_most.is_some_and(|at_most| begun.elapsed() >= at_most) {
            return Ok(None);
        }
        if let Some(signal) = interrupt::signal() {
            if wish.is_none() && terminates(signal) {
                running.terminate();
            }
            if wish.get_or_insert_with(Instant::now).elapsed() >= GRACE {
                return Ok(None);
            }
        }
    }
}

/// Returns the exit code that a shell would use.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(255);
    u8::try_from(code & 0xff).unwrap_or(255)
}

fn refused(refusal: Refusal) -> anyhow::Error {
    match refusal {
        // A process that is not there is wrong input.
        Refusal::Gone(_) => anyhow::anyhow!(refusal),
        refusal => anyhow::anyhow!(NotSeen(refusal.to_string())),
    }
}

/// Processes that are named.
const NAMED: usize = 4;

/// Returns names of processes for output.
fn name(pids: &[u32]) -> String {
    let one = |pid: &u32| match short_name(*pid) {
        Some(name) => format!("{name} ({pid})"),
        None => format!("process {pid}"),
    };
    let shown: Vec<String> = pids.iter().take(NAMED).map(one).collect();
    let rest = pids.len().saturating_sub(NAMED);
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}
