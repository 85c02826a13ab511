//! The watch itself: the state machine, with the watched machine as its input, and the service manager, the history,
//! the textfile and the network as its outputs.

mod lateness;

use crate::edge::files::{self, Durable, Store};
use crate::edge::machine::Machine;
use crate::edge::notify::Notify;
use crate::edge::own;
use crate::edge::signals::{Signals, Wish};
use crate::edge::wall::WallEdge;
use crate::event::{Event, Kind};
use crate::history::History;
use crate::http::answer::{Answer, HTML, JSON_LINES, METRICS, PLAIN};
use crate::http::request::Request;
use crate::http::server::{self, Gate, Server};
use crate::http::web_config::ConfigError;
use crate::judge::{State, Thresholds};
use crate::metrics;
use crate::page;
use crate::state::{Observation, Want, Watch};
use clocksmith_diagnose::Assessment;
use lateness::Lateness;
use rustix::event::{PollFd, PollFlags, poll};
use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Looks that events request are at least that far apart.
const BREATH: Duration = Duration::from_millis(500);
/// After a kernel message, how long others may join it before they are read together.
const GATHER: Duration = Duration::from_millis(50);
/// The same while the kernel logs more than that: a flood of messages is read once a second.
const CROWD: Duration = Duration::from_secs(1);
/// The time until sysfs is read again when it has neither confirmed nor contradicted the kernel's log.
const CONFIRM: Duration = Duration::from_millis(700);
/// The time until a sample of the cost is repeated that was unlike the others.
const AGAIN: Duration = Duration::from_secs(2);

/// The options of a watch.
#[derive(Clone, Debug)]
pub struct Options {
    /// The limits of each state.
    pub thresholds: Thresholds,
    /// A mirror of another machine; `None`: this one.
    pub root: Option<PathBuf>,
    /// The addresses to listen on; none if empty.
    pub listen: Vec<SocketAddr>,
    /// The web configuration file.
    pub web_config: Option<PathBuf>,
    /// The file for node_exporter's textfile collector.
    pub textfile: Option<PathBuf>,
    /// The directory of the history.
    pub state: Option<PathBuf>,
    /// How often sysfs is read.
    pub poll: Duration,
    /// How often the whole machine is looked at and a read is measured.
    pub look: Duration,
    /// How often two processors are tested; `None`: never.
    pub test: Option<Duration>,
    /// How late the watch itself must be for a stall.
    pub stall: Duration,
    /// Names by which clients may address this server at a loopback address, besides `localhost` and the machine's.
    pub names: Vec<String>,
    /// Name of the machine, for output.
    pub host: String,
    /// Version of the program.
    pub version: String,
}

/// Why the watch cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The web configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// An address.
    #[error("cannot listen on {address}: {error}; choose another with --listen")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// The system's error.
        error: io::Error,
    },
    /// Too few descriptors to answer requests.
    #[error(
        "cannot serve: this process may open {limit} files, and needs {needed}; raise the limit (`ulimit -n {needed}`, \
         `LimitNOFILE=` of the service)"
    )]
    Descriptors {
        /// The limit.
        limit: u64,
        /// The number that is sufficient.
        needed: u64,
    },
    /// Signals, or waiting.
    #[error("cannot wait for events: {0}")]
    System(#[from] io::Error),
}

/// A message for the log of the program: the severity, one line, and the event, if there is
/// one.
pub type Say<'a> = dyn FnMut(State, &str, Option<&Event>) + 'a;

/// Looks once, and returns the metrics.
///
/// # Errors
/// Returns an error if the mirror cannot be read.
pub fn once(options: &Options) -> io::Result<String> {
    let mut daemon = Daemon::new(options.clone(), History::default());
    daemon.read_clocksources();
    daemon.look()?;
    daemon.read_wall_clock();
    let mut text = metrics::Text::default();
    metrics::watch(&mut text, &options.version, &daemon.lock());
    metrics::timex(&mut text, "clocksmith_timex", &daemon.lock());
    Ok(text.finish())
}

/// Examines the machine once, and returns the assessment for a document.
///
/// # Errors
/// Returns an error if the mirror cannot be read.
pub fn assessment(options: &Options) -> io::Result<Assessment> {
    Daemon::new(options.clone(), History::default()).machine.look()
}

/// Watches until a signal requests the end.
///
/// # Errors
/// Returns an error if the watch cannot begin. A later failure is reported and does not end the watch.
pub fn run(options: Options, say: &mut Say<'_>) -> Result<(), WatchError> {
    server::enough_descriptors(options.listen.len())
        .map_err(|(limit, needed)| WatchError::Descriptors { limit, needed })?;
    let notify = Notify::from_environment();
    let gate = match &options.web_config {
        Some(path) => Gate::read(path)?,
        None => Gate::default(),
    };
    let mut history = History::default();
    let mut store = None;
    if let Some(dir) = &options.state {
        match Store::open(dir) {
            Ok((opened, kept)) => {
                let strange = history.load(&kept);
                if strange > 0 {
                    say(
                        State::Warning,
                        &format!("{strange} lines of the history are unreadable"),
                        None,
                    );
                }
                store = Some(opened);
            }
            Err(error) => {
                let dir = dir.display();
                say(State::Warning, &format!("no history is kept in {dir}: {error}"), None);
            }
        }
    }
    // Until here a signal ends the process, even while it waits for a file system. Before the first thread, since
    // threads inherit the blocked signals.
    let mut signals = Signals::new()?;
    let mut daemon = Daemon::new(options, history);
    daemon.store = store;
    if let Some(why) = daemon.machine.deaf() {
        let advice = "demotions are seen by their effect only; CAP_SYSLOG would help";
        say(State::Warning, &format!("the kernel log cannot be followed: {why}; {advice}"), None);
    }
    let asks_who = gate.asks_who();
    for warning in gate.warnings() {
        say(State::Warning, warning, None);
    }
    let mut names = daemon.options.names.clone();
    names.push(daemon.options.host.clone());
    let server = Server::new(gate, names, handler(&daemon));
    daemon.server = Some(Arc::clone(&server));
    for address in daemon.options.listen.clone() {
        let bound =
            server.listen(address).map_err(|error| WatchError::Listen { address, error })?;
        say(State::Ok, &format!("listening on {bound}"), None);
        if !bound.ip().is_loopback() && !asks_who {
            say(State::Warning, &format!("every client that reaches {bound} can read this"), None);
        }
    }
    daemon.begin(say);
    notify.say("READY=1");
    let mut wanted_look = false;
    loop {
        daemon.tell_manager(&notify);
        daemon.wait(&signals)?;
        while let Some(wish) = signals.waiting() {
            match wish {
                Wish::End => {
                    notify.say("STOPPING=1");
                    say(State::Ok, "watch stops", None);
                    return Ok(());
                }
                Wish::Reload => daemon.reload(&notify, say),
            }
        }
        wanted_look |= daemon.turn();
        daemon.settle(&mut wanted_look, say);
    }
}

/// Problems that can occur repeatedly; each is reported separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Complaint {
    Look,
    History,
    Textfile,
}

struct Daemon {
    options: Options,
    machine: Machine,
    /// The wall clock of this machine; `None` for a mirror.
    wall: Option<WallEdge>,
    /// Whether the wall clock was set since it was last read.
    wall_was_set: bool,
    watch: Arc<Mutex<Watch>>,
    store: Option<Store>,
    server: Option<Arc<Server>>,
    lateness: Lateness,
    next_poll: Instant,
    next_look: Instant,
    next_test: Option<Instant>,
    last_look: Option<Instant>,
    /// Until then, kernel messages are not waited for; at that point they are read.
    quiet: Option<Instant>,
    /// When kernel messages were read last.
    last_read: Option<Instant>,
    complained: BTreeSet<Complaint>,
    /// The last status that was sent to the service manager, and the time of the last sign of life.
    told: String,
    alive: Instant,
}

impl Daemon {
    fn new(options: Options, history: History) -> Self {
        let machine = match &options.root {
            Some(root) => Machine::below(root.clone()),
            None => Machine::live(),
        };
        let follows = machine.deaf().is_none();
        let watch = Watch::new(own::now(), options.thresholds.clone(), follows, history);
        let now = Instant::now();
        let live = machine.is_live();
        // The first test soon, so that a fault is known before the first hour is over.
        let next_test =
            options.test.filter(|_| live).map(|every| now + every.min(Duration::from_secs(20)));
        Self {
            lateness: Lateness::new(options.stall),
            options,
            wall: live.then(WallEdge::new),
            wall_was_set: false,
            machine,
            watch: Arc::new(Mutex::new(watch)),
            store: None,
            server: None,
            next_poll: now,
            next_look: now,
            next_test,
            last_look: None,
            quiet: None,
            last_read: None,
            complained: BTreeSet::new(),
            told: String::new(),
            alive: now,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Watch> {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn observe(&self, observation: Observation<'_>) -> Want {
        self.lock().observe(own::now(), observation)
    }

    fn begin(&mut self, say: &mut Say<'_>) {
        self.read_clocksources();
        self.read_wall_clock();
        let boot = clocksmith_facts::given::text("/proc/sys/kernel/random/boot_id").ok();
        let boot = boot.as_deref().map(str::trim).filter(|_| self.machine.is_live());
        self.lock().started(own::now(), boot);
        self.settle(&mut true, say);
    }

    /// Sleeps until some work is due.
    fn wait(&mut self, signals: &Signals) -> io::Result<()> {
        let now = Instant::now();
        let mut until = self.next_poll.min(self.next_look);
        until = self.next_test.map_or(until, |test| until.min(test));
        until = self.quiet.map_or(until, |quiet| until.min(quiet));
        let patience = until.saturating_duration_since(now);
        let timeout = rustix::time::Timespec {
            tv_sec: i64::try_from(patience.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: patience.subsec_nanos().into(),
        };
        let mut fds = vec![PollFd::new(signals, PollFlags::IN)];
        let kernel = self.machine.kernel_fd().filter(|_| self.quiet.is_none());
        if let Some(fd) = &kernel {
            fds.push(PollFd::new(fd, PollFlags::IN));
        }
        let wall = self.wall.as_ref().and_then(WallEdge::fd);
        let wall_at = fds.len();
        if let Some(fd) = &wall {
            fds.push(PollFd::new(fd, PollFlags::IN));
        }
        self.lateness.sleeps(patience);
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let readable = |at: usize| fds.get(at).is_some_and(|fd| !fd.revents().is_empty());
        let said = kernel.is_some() && readable(1);
        let set = wall.is_some() && readable(wall_at);
        drop(fds);
        if set && self.wall.as_ref().is_some_and(WallEdge::was_set) {
            self.wall_was_set = true;
        }
        if let Some(late) = self.lateness.woke() {
            self.observe(late);
        }
        if said {
            // A demotion is several lines, and the switch follows them. The first ones after a silence
            // are read soon; then they have to wait, so that a flood costs no more than one look a second.
            let soon = Instant::now() + GATHER;
            let crowded = self.last_read.map_or(soon, |last| last + CROWD);
            self.quiet = Some(soon.max(crowded));
        }
        Ok(())
    }

    /// Does the work that is due; returns whether a whole look is wanted.
    fn turn(&mut self) -> bool {
        let now = Instant::now();
        let mut wanted = false;
        let poll = now >= self.next_poll;
        let read = self.quiet.is_some_and(|until| now >= until);
        if poll || read {
            if self.quiet.take().is_some() {
                self.last_read = Some(now);
            }
            // The kernel's messages first: their effect must show in the files that are read after them.
            let text = self.machine.kernel_lines();
            let mut confirm = false;
            if !text.is_empty() {
                let want = self.observe(Observation::KernelSaid(&text));
                (wanted, confirm) = (want.assess, want.confirm);
            }
            if poll {
                self.next_poll = now + self.options.poll;
            }
            if poll {
                wanted |= self.read_wall_clock();
            }
            if poll || confirm {
                let want = self.read_clocksources();
                wanted |= want.assess;
                if want.confirm {
                    self.next_poll = self.next_poll.min(now + CONFIRM);
                }
            }
        }
        if std::mem::take(&mut self.wall_was_set) {
            wanted |= self.read_wall_clock();
        }
        if self.next_test.is_some_and(|test| now >= test) {
            self.next_test = self.options.test.map(|every| now + every);
            if let Some((cpus, faults)) = self.machine.test() {
                self.observe(Observation::Tested { cpus, faults });
            }
        }
        wanted
    }

    /// Reads the wall clock; returns whether a whole look is wanted.
    fn read_wall_clock(&mut self) -> bool {
        let Some(wall) = &self.wall else { return false };
        let reading = wall.read(self.machine.is_guest());
        self.observe(Observation::WallClock(reading)).assess
    }

    fn read_clocksources(&mut self) -> Want {
        match self.machine.clocksources() {
            Ok(devices) => self.observe(Observation::Clocksources(devices)),
            // The look says why.
            Err(_) => Want { assess: !self.machine.is_live(), ..Want::default() },
        }
    }

    fn look(&mut self) -> io::Result<bool> {
        self.lock().look_begins(own::awake());
        let seen = self.machine.look();
        self.lock().look_ended();
        let seen = seen?;
        let log = seen.facts.log.is_known();
        self.machine.remember(seen.facts);
        let report = Box::new(seen.report);
        let want = self.observe(Observation::Assessed { report, log });
        own::trim();
        Ok(want.again)
    }

    /// Looks if that is due or wanted, and passes the events on.
    fn settle(&mut self, wanted: &mut bool, say: &mut Say<'_>) {
        let now = Instant::now();
        let breathed = self.last_look.is_none_or(|last| now >= last + BREATH);
        let mut looked = false;
        if now >= self.next_look || *wanted && breathed {
            *wanted = false;
            looked = true;
            self.next_look = now + self.options.look;
            let mut trouble = None;
            match self.look() {
                Ok(again) if again => self.next_look = now + AGAIN.min(self.options.look),
                Ok(_) => {}
                Err(error) => trouble = Some(format!("cannot examine the machine: {error}")),
            }
            self.tell(say, Complaint::Look, trouble);
            self.last_look = Some(Instant::now());
        } else if *wanted {
            self.next_poll = self.next_poll.min(self.last_look.unwrap_or(now) + BREATH);
        }
        let events = self.lock().take_events();
        for event in &events {
            say(event.state, &spoken(event), Some(event));
        }
        if !events.is_empty()
            && let Some(store) = &mut self.store
        {
            let trouble = store.add(&events).err();
            let trouble = trouble.map(|error| format!("cannot write the history: {error}"));
            self.tell(say, Complaint::History, trouble);
        }
        if (looked || !events.is_empty())
            && let Some(path) = self.options.textfile.clone()
        {
            let mut text = metrics::Text::default();
            metrics::watch(&mut text, &self.options.version, &self.lock());
            metrics::timex(&mut text, "clocksmith_timex", &self.lock());
            let trouble = files::replace(&path, text.finish().as_bytes(), Durable::No).err();
            let trouble = trouble.map(|error| format!("cannot write {}: {error}", path.display()));
            self.tell(say, Complaint::Textfile, trouble);
        }
    }

    /// Reports a trouble once, not every minute, until it has ended.
    fn tell(&mut self, say: &mut Say<'_>, about: Complaint, trouble: Option<String>) {
        match trouble {
            Some(what) if self.complained.insert(about) => say(State::Warning, &what, None),
            Some(_) => {}
            None => {
                self.complained.remove(&about);
            }
        }
    }

    fn reload(&mut self, notify: &Notify, say: &mut Say<'_>) {
        let us = own::awake() * 1e6;
        notify.say(&format!("RELOADING=1\nMONOTONIC_USEC={us:.0}"));
        self.complained.clear();
        if let (Some(path), Some(server)) = (&self.options.web_config, &self.server) {
            match Gate::read(path) {
                Ok(gate) => {
                    for warning in gate.warnings() {
                        say(State::Warning, warning, None);
                    }
                    match server.replace(gate) {
                        Ok(()) => say(State::Ok, "the web configuration was reloaded", None),
                        Err(why) => {
                            let path = path.display();
                            let stays = format!(
                                "the previous web configuration stays: {path} has {why}. If that is \
                                 intended, start the watch again (systemctl restart \
                                 clocksmith-watch)"
                            );
                            say(State::Warning, &stays, None);
                        }
                    }
                }
                Err(error) => {
                    say(
                        State::Warning,
                        &format!("the previous web configuration stays: {error}"),
                        None,
                    );
                }
            }
        }
        notify.say("READY=1");
    }

    /// Reports changes to the service manager, and regularly that this program is alive.
    fn tell_manager(&mut self, notify: &Notify) {
        let line = self.lock().latest().map(|latest| latest.judgement.line.clone());
        let line = line.unwrap_or_default();
        if line != self.told {
            notify.say(&format!("STATUS={line}"));
            self.told = line;
        }
        let now = Instant::now();
        if notify.watchdog.is_some_and(|every| now.duration_since(self.alive) >= every / 4) {
            notify.say("WATCHDOG=1");
            self.alive = now;
        }
    }
}

/// An event for the log of the program.
fn spoken(event: &Event) -> String {
    match event.kind {
        Kind::Started => event.text.clone(),
        kind => format!("{}: {}", kind.name(), event.line()),
    }
}

/// Returns the handler of requests.
fn handler(daemon: &Daemon) -> Box<crate::http::server::Handler> {
    let watch = Arc::clone(&daemon.watch);
    let (host, version) = (daemon.options.host.clone(), daemon.options.version.clone());
    Box::new(move |request: &Request, server: &Server| {
        let watch = || {
            let mut watch = watch.lock().unwrap_or_else(PoisonError::into_inner);
            watch.notice_overdue(own::now(), own::awake());
            watch
        };
        match request.path.as_str() {
            "/" => Answer::new(HTML, page::page(&watch(), own::now(), &host, &version)),
            "/metrics" => {
                let mut text = metrics::Text::default();
                metrics::watch(&mut text, &version, &watch());
                metrics::timex(&mut text, "node_timex", &watch());
                metrics::process(&mut text, &own::process());
                metrics::requests(&mut text, &server.counts());
                Answer::new(METRICS, text.finish())
            }
            "/history" => Answer::new(JSON_LINES, watch().history().json_lines()),
            "/-/healthy" => Answer::new(PLAIN, "clocksmith is healthy\n".to_owned()),
            _ => Answer::status(404),
        }
    })
}

#[cfg(test)]
mod tests;
