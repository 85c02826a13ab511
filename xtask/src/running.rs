//! A command that runs, in a process group of its own: what it prints, its limits, and the end of all that it started.

use crate::context::Context;
use crate::kept::{Kept, PIECE};
use crate::limit::{StepLimit, is_over};
use crate::load::Mark;
use crate::scratch::{Guard, kill_group, signal_group};
use std::io::{self, BufRead as _, BufReader, PipeReader, Read as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// How often it is looked whether the command has ended or is late.
const LOOK: Duration = Duration::from_millis(20);
/// How often its processor time is read, from all files of `/proc`.
const JUDGE: Duration = Duration::from_secs(2);
/// After this it is killed, if it has not ended at the first signal.
const KILL_AFTER: Duration = Duration::from_secs(20);
/// How long a process that it has left behind may keep its output open.
const LEFT_BEHIND: Duration = Duration::from_secs(5);

/// When a command is ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Its own, in seconds of two quiet processors, like the budget of its step.
    own: Option<u64>,
    mark: Mark,
    slowness: f64,
    run: Option<Instant>,
    step: Option<StepLimit>,
}

/// Why a command was ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Late {
    pub(crate) why: String,
    /// By its own limit, and not by that of the step or of the run.
    pub(crate) own: bool,
}

impl Limits {
    pub(crate) fn new(context: &Context, own: Option<u64>) -> Limits {
        Limits {
            own,
            mark: Mark::now(),
            slowness: context.slowness.get(),
            run: context.end,
            step: context.step_limit(),
        }
    }

    fn over(&self, group: u32) -> Option<Late> {
        if let Some(seconds) = self.own
            && is_over(self.mark.spent_with(group), self.slowness, seconds as f64)
        {
            let why = format!("took longer than {seconds} s and was ended");
            return Some(Late { why, own: true });
        }
        if self.run.is_some_and(|end| Instant::now() >= end) {
            let why = "was ended, because the time of the whole run is over".to_owned();
            return Some(Late { why, own: false });
        }
        self.step?.over(group).map(|why| Late { why, own: false })
    }
}

/// How a command ended.
pub(crate) struct Ended {
    /// None: it could not be ended.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) late: Option<Late>,
    pub(crate) text: String,
}

/// Runs a command to its end, or to its limit. Its output is shown meanwhile.
pub(crate) fn run(
    mut command: Command,
    limits: Limits,
    guard: &Guard,
    shown: bool,
) -> io::Result<Ended> {
    let (reader, writer) = io::pipe()?;
    let second = writer.try_clone()?;
    // Ctrl-C ends this program, and then the guard ends the group.
    command.stdin(Stdio::null()).stdout(writer).stderr(second).process_group(0);
    let mut child = command.spawn()?;
    guard.begin(child.id());
    // The pipe ends when no process can write to it.
    drop(command);
    let ended = followed(&mut child, reader, limits, shown);
    if ended.is_err() {
        kill_group(&mut child);
    }
    guard.end(child.id());
    ended
}

fn followed(
    child: &mut Child,
    reader: PipeReader,
    limits: Limits,
    shown: bool,
) -> io::Result<Ended> {
    let (send, receive) = sync_channel(64);
    std::thread::Builder::new().spawn(move || read(reader, &send))?;
    let mut output = Output { receive, open: true, kept: Kept::default(), shown };
    let mut judged = Instant::now();
    let mut late = None;
    while !has_ended(child) {
        output.take(LOOK);
        if judged.elapsed() > JUDGE || limits.own.is_some_and(|seconds| seconds < 10) {
            judged = Instant::now();
            late = limits.over(child.id());
            if late.is_some() {
                ask_to_end(child, &mut output);
                break;
            }
        }
    }
    // A process that the command has left behind does not hold the run.
    if late.is_none() {
        output.rest(LEFT_BEHIND);
    }
    let is_held = late.is_none() && output.open;
    let status = close(child)?;
    if is_held {
        let line = format!(
            "[a process that this has left behind kept its output open for {} s; its process group was ended]\n",
            LEFT_BEHIND.as_secs()
        );
        crate::output::write(line.as_bytes());
    }
    output.rest(LEFT_BEHIND);
    Ok(Ended { status, late, text: output.kept.text() })
}

/// Lets the first process of a group undo what it has done.
fn ask_to_end(child: &mut Child, output: &mut Output) {
    signal_group(child.id(), "TERM");
    let begun = Instant::now();
    while !has_ended(child) && begun.elapsed() < KILL_AFTER {
        output.take(LOOK);
    }
}

/// Kills what is left of a group, so that nothing that it started continues to run during the next step, and returns
/// the status of its first process; none if that cannot be ended, because it is another user's.
pub(crate) fn close(child: &mut Child) -> io::Result<Option<ExitStatus>> {
    // Also as a zombie, the first process keeps the number of its group.
    kill_group(child);
    let begun = Instant::now();
    while !has_ended(child) && begun.elapsed() < LEFT_BEHIND {
        std::thread::sleep(LOOK);
    }
    if has_ended(child) { child.wait().map(Some) } else { Ok(None) }
}

/// Whether a process has ended. It remains a zombie, so that no other process has its number while its group is ended.
pub(crate) fn has_ended(child: &mut Child) -> bool {
    match std::fs::read_to_string(format!("/proc/{}/stat", child.id())) {
        Ok(text) => {
            // A program of which the first thread alone has ended also has that state.
            let state = text.rsplit_once(')').map_or("", |(_, rest)| rest.trim_start());
            state.starts_with(['Z', 'X']) && !has_threads(child.id())
        }
        Err(_) => child.try_wait().map_or(true, |status| status.is_some()),
    }
}

fn has_threads(id: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{id}/task"));
    threads.is_ok_and(|threads| threads.flatten().count() > 1)
}

/// What a command prints, in pieces that a thread reads.
struct Output {
    receive: Receiver<Vec<u8>>,
    open: bool,
    kept: Kept,
    shown: bool,
}

impl Output {
    /// Waits for a piece; takes all that follow within that time.
    fn take(&mut self, time: Duration) {
        let begun = Instant::now();
        if !self.open {
            std::thread::sleep(time);
        }
        // One that prints without end is not waited for, either.
        while self.open && begun.elapsed() < time {
            match self.receive.recv_timeout(time.saturating_sub(begun.elapsed())) {
                Ok(piece) => {
                    if self.shown {
                        crate::output::write(&piece);
                    }
                    self.kept.add(&piece);
                }
                Err(RecvTimeoutError::Timeout) => return,
                Err(RecvTimeoutError::Disconnected) => self.open = false,
            }
        }
    }

    /// Takes what is left in the pipe, until no process can write to it.
    fn rest(&mut self, time: Duration) {
        let begun = Instant::now();
        while self.open && begun.elapsed() < time {
            self.take(LOOK);
        }
    }
}

/// Reads to the end, by lines; of a very long line by pieces.
fn read(reader: PipeReader, send: &SyncSender<Vec<u8>>) {
    let mut reader = BufReader::new(reader);
    loop {
        let mut piece = Vec::new();
        let read = reader.by_ref().take(PIECE).read_until(b'\n', &mut piece);
        if !read.is_ok_and(|bytes| bytes > 0) || send.send(piece).is_err() {
            return;
        }
    }
}
