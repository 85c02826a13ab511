//! `watch`: the daemon. Its messages go to standard output, for a terminal or the journal.

use crate::args::{Common, Watch};
use crate::exit::Code;
use crate::gather::{self, From};
use crate::render;
use crate::report::check::{CheckReport, WatchLine};
use anyhow::{Context, Result, bail};
use clocksmith_facts::probe;
use clocksmith_watch::State;
use clocksmith_watch::daemon::{self, Options};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The default port.
const PORT: u16 = 9988;

pub(crate) fn run(common: &Common, args: &Watch) -> Result<Code> {
    let root = common.root.as_deref();
    if root.is_some() {
        // Reports an unusable mirror directory now, with the next step.
        gather::facts(From { root, ..From::default() })?;
    }
    let or = |given: Option<Duration>, seconds| given.unwrap_or(Duration::from_secs(seconds));
    let poll = or(args.poll, 1);
    if poll < Duration::from_millis(10) {
        bail!("--poll: at least 10ms; a shorter interval would itself load the machine");
    }
    let listen = match (args.no_listen || args.once, args.listen.is_empty()) {
        (true, _) => Vec::new(),
        (false, true) => vec![SocketAddr::from((Ipv4Addr::LOCALHOST, PORT))],
        (false, false) => args.listen.clone(),
    };
    let options = Options {
        thresholds: args.thresholds.resolved(),
        root: common.root.clone(),
        listen,
        web_config: args.web_config.clone(),
        textfile: args.textfile.clone(),
        state: if args.no_history || args.once { None } else { state(args)? },
        poll,
        look: or(args.look, 60).max(poll),
        test: (!args.no_test).then(|| or(args.test, 300).max(Duration::from_secs(1))),
        stall: or(args.stall, 2),
        names: args.allow_host.clone(),
        host: host(common),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    if args.once && common.json {
        let begun = Instant::now();
        let seen = daemon::assessment(&options).context("cannot examine the machine")?;
        let judgement = clocksmith_watch::assess::judgement(&seen, &options.thresholds);
        let elapsed_ms = begun.elapsed().as_secs_f64() * 1e3;
        let report = CheckReport::new(Some(seen), &judgement, options.thresholds, elapsed_ms);
        render::json(&report)?;
        return Ok(Code::Done);
    }
    if args.once {
        let text = daemon::once(&options).context("cannot examine the machine")?;
        render::text(&text)?;
        return Ok(Code::Done);
    }
    let journal = std::env::var_os("JOURNAL_STREAM").is_some();
    let json = common.json;
    let quiet = common.quiet;
    daemon::run(options, &mut |state, text, event| {
        if quiet && state == State::Ok {
            return;
        }
        let text = render::without_numbers(text);
        // The watch continues after its reader has gone, because it still serves metrics.
        let _ = if json {
            render::json_line(&WatchLine::new(state, &text, event))
        } else {
            render::text(&format!("{}{text}\n", if journal { priority(state) } else { "" }))
        };
    })
    .map_err(anyhow::Error::from)?;
    Ok(Code::Done)
}

/// The priority of a line, as the journal takes it from standard output: `sd-daemon(3)`.
fn priority(state: State) -> &'static str {
    match state {
        State::Ok => "<6>",
        State::Unknown => "<5>",
        State::Warning => "<4>",
        State::Critical => "<2>",
    }
}

/// Returns the directory of the history.
fn state(args: &Watch) -> Result<Option<PathBuf>> {
    if let Some(dir) = &args.state_dir {
        return Ok(Some(dir.clone()));
    }
    if let Some(dirs) = std::env::var_os("STATE_DIRECTORY") {
        return first_directory(&dirs.to_string_lossy());
    }
    Ok(match probe::state::file() {
        Some(file) => file.parent().map(PathBuf::from),
        None => Some(PathBuf::from("/var/lib/clocksmith")),
    })
}

/// The first directory of `$STATE_DIRECTORY`: systemd gives absolute paths, and separates several with colons.
fn first_directory(dirs: &str) -> Result<Option<PathBuf>> {
    if let Some(dir) =
        dirs.split(':').find(|dir| !dir.starts_with('/')).filter(|_| !dirs.is_empty())
    {
        bail!(
            "STATE_DIRECTORY is {dirs:?}, and {dir:?} in it is not an absolute path, so the history would be kept in a \
             directory below the current one: set absolute paths, or use --state-dir"
        );
    }
    Ok(dirs.split(':').next().filter(|dir| !dir.is_empty()).map(PathBuf::from))
}

/// Returns the name of the machine, for output.
fn host(common: &Common) -> String {
    match &common.root {
        Some(root) => root.display().to_string(),
        None => clocksmith_facts::given::text("/proc/sys/kernel/hostname")
            .map_or_else(|_| "this machine".to_owned(), |name| name.trim().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_directory_that_is_not_absolute_is_refused() {
        for dirs in ["a", "./a", "a:/b", "/a:b", "/a:", ":"] {
            assert!(first_directory(dirs).is_err(), "{dirs}");
        }
        assert_eq!(first_directory("/a:/b").unwrap(), Some(PathBuf::from("/a")));
        assert_eq!(first_directory("").unwrap(), None);
    }
}
