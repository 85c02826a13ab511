//! Options of `check` and `watch`.

use clap::{Args as ClapArgs, ValueEnum};
use clocksmith_diagnose::policy::Vendor;
use clocksmith_watch::State;
use clocksmith_watch::range::Range;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Options of `check`.
#[derive(ClapArgs, Debug, Clone, Default)]
pub(crate) struct Check {
    /// Choose the output format [default: nagios]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<CheckFormat>,
    #[command(flatten)]
    pub(crate) thresholds: Thresholds,
    /// Warn if this machine does not conform to what a vendor requires: aws, google, microsoft, oracle, red-hat, sap,
    /// scylladb or suse
    #[arg(long, value_name = "VENDOR", value_parser = super::policy::of_check(), ignore_case = true,
          hide_possible_values = true)]
    pub(crate) policy: Option<&'static Vendor>,
    /// Warn if a read costs a number of nanoseconds outside this range, in the syntax of monitoring
    /// plugins: 100, 10:100, @10:100
    #[arg(
        short,
        long,
        value_name = "RANGE",
        conflicts_with = "warn_cost",
        allow_hyphen_values = true
    )]
    pub(crate) warning: Option<Range>,
    /// Report CRITICAL if a read costs a number of nanoseconds outside this range
    #[arg(
        short,
        long,
        value_name = "RANGE",
        conflicts_with = "critical_cost",
        allow_hyphen_values = true
    )]
    pub(crate) critical: Option<Range>,
    /// Report UNKNOWN after this time, in seconds or as 500ms [default: no limit]
    #[arg(short, long, value_name = "TIME", value_parser = timeout)]
    pub(crate) timeout: Option<Duration>,
    /// Do not measure the read cost
    #[arg(long)]
    pub(crate) no_measure: bool,
}

impl Check {
    /// The thresholds, with the ranges.
    pub(crate) fn resolved(&self) -> clocksmith_watch::Thresholds {
        clocksmith_watch::Thresholds {
            warn_range: self.warning,
            critical_range: self.critical,
            ..self.thresholds.resolved()
        }
    }
}

/// Monitoring plugins take a number of seconds.
fn timeout(text: &str) -> Result<Duration, String> {
    match text.parse::<u32>() {
        Ok(seconds) => Ok(Duration::from_secs(seconds.into())),
        Err(_) => crate::verify::duration::parse(text),
    }
}

/// An output format of a monitoring system.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckFormat {
    /// Nagios, Icinga, Naemon and others: a line, details, performance data
    Nagios,
    /// A custom plugin of node-problem-detector: one line; exit codes 0, 1 (a problem) and 3
    Npd,
    /// Metrics, for the textfile collector of node_exporter
    Prometheus,
    /// One JSON document
    Json,
    /// Test Anything Protocol: a line for each point
    Tap,
}

/// The states that `check` and `watch` give to each problem.
#[derive(ClapArgs, Debug, Clone, Default)]
pub(crate) struct Thresholds {
    /// Expect one of these clocksources, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) expect: Vec<String>,
    /// Warn if a read of CLOCK_MONOTONIC costs this many nanoseconds or more
    #[arg(long, value_name = "NS", value_parser = nanoseconds)]
    pub(crate) warn_cost: Option<f64>,
    /// Report CRITICAL if a read of CLOCK_MONOTONIC costs this many nanoseconds or more
    #[arg(long, value_name = "NS", value_parser = nanoseconds)]
    pub(crate) critical_cost: Option<f64>,
    /// Set the state for slow reads [default: warning]
    #[arg(long, value_enum, value_name = "STATE", ignore_case = true)]
    pub(crate) slow: Option<Grade>,
    /// Set the state for a clocksource that the kernel demoted in this boot [default: warning]
    #[arg(long, value_enum, value_name = "STATE", ignore_case = true)]
    pub(crate) demoted: Option<Grade>,
    /// Set the state for time that may be wrong [default: critical]
    #[arg(long, value_enum, value_name = "STATE", ignore_case = true)]
    pub(crate) untrustworthy: Option<Grade>,
    /// Set the state for a wall clock that is stale or unsynchronised, or that two programs steer [default: warning]
    #[arg(long, value_enum, value_name = "STATE", ignore_case = true)]
    pub(crate) wall_clock: Option<Grade>,
    /// Set the state for a clocksource that --expect does not list [default: critical]
    #[arg(long, value_enum, value_name = "STATE", ignore_case = true)]
    pub(crate) unexpected: Option<Grade>,
}

/// The state that a problem is given.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grade {
    /// Report no problem
    Ok,
    /// Report WARNING
    Warning,
    /// Report CRITICAL
    Critical,
}

impl From<Grade> for State {
    fn from(grade: Grade) -> Self {
        match grade {
            Grade::Ok => Self::Ok,
            Grade::Warning => Self::Warning,
            Grade::Critical => Self::Critical,
        }
    }
}

impl Thresholds {
    /// The thresholds, with the default of each one that was not set.
    pub(crate) fn resolved(&self) -> clocksmith_watch::Thresholds {
        let or = |grade: Option<Grade>, default| grade.map_or(default, State::from);
        let default = clocksmith_watch::Thresholds::default();
        clocksmith_watch::Thresholds {
            slow: or(self.slow, default.slow),
            demoted: or(self.demoted, default.demoted),
            untrustworthy: or(self.untrustworthy, default.untrustworthy),
            wall_clock: or(self.wall_clock, default.wall_clock),
            unexpected: or(self.unexpected, default.unexpected),
            expect: self.expect.iter().map(|name| name.trim().to_owned()).collect(),
            warn_ns: self.warn_cost,
            critical_ns: self.critical_cost,
            warn_range: None,
            critical_range: None,
        }
    }
}

/// A cost on the command line.
fn nanoseconds(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches("ns").trim_end();
    match number.parse::<f64>() {
        Ok(ns) if ns.is_finite() && ns > 0.0 => Ok(ns),
        _ => Err(format!(
            "{text:?} is not a number of nanoseconds above 0; expected a number such as 100"
        )),
    }
}

pub(super) const CHECK: &str = "Exit codes are those of monitoring plugins: 0 OK, 1 WARNING, 2 \
CRITICAL, 3 UNKNOWN (also for wrong usage); with --format npd: 0 OK, 1 a problem, 3 unknown. check \
takes 20 to 30 ms, starts no program and changes nothing. It does not need root; but without \
root the kernel log may be unreadable, and demotions are then not seen.";

/// Options of `watch`.
#[derive(ClapArgs, Debug, Clone, Default)]
pub(crate) struct Watch {
    /// Print the metrics once (with --json the document of check), and exit
    #[arg(long)]
    pub(crate) once: bool,
    /// Serve the page and the metrics at this address; may be repeated [default: 127.0.0.1:9988]
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address, conflicts_with_all = ["no_listen", "once"])]
    pub(crate) listen: Vec<SocketAddr>,
    /// Do not serve a page or metrics
    #[arg(long)]
    pub(crate) no_listen: bool,
    /// Read TLS and password settings, in the format of Prometheus' exporters; SIGHUP reloads them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["no_listen", "once"])]
    pub(crate) web_config: Option<PathBuf>,
    /// Also accept this name in requests to a loopback address; may be repeated
    #[arg(long, value_name = "NAME", conflicts_with_all = ["no_listen", "once"])]
    pub(crate) allow_host: Vec<String>,
    /// Also write the metrics to this file, for the textfile collector of node_exporter
    #[arg(long, value_name = "FILE.prom", value_parser = textfile, conflicts_with = "once")]
    pub(crate) textfile: Option<PathBuf>,
    /// Save the history in this directory [default: $STATE_DIRECTORY, /var/lib/clocksmith, or the
    /// user's state directory]
    #[arg(long, value_name = "DIR", conflicts_with_all = ["no_history", "once"])]
    pub(crate) state_dir: Option<PathBuf>,
    /// Do not save a history
    #[arg(long)]
    pub(crate) no_history: bool,
    /// Read the clocksource in use this often; kernel messages are seen at once
    #[arg(long, value_name = "TIME", value_parser = crate::verify::duration::parse, default_value = "1s")]
    pub(crate) poll: Option<Duration>,
    /// Examine the whole machine and measure the read cost this often
    #[arg(long, value_name = "TIME", value_parser = crate::verify::duration::parse, default_value = "1m")]
    pub(crate) look: Option<Duration>,
    /// Compare the counters and clocks of two CPUs this often (takes 40 ms)
    #[arg(long, value_name = "TIME", value_parser = crate::verify::duration::parse, default_value = "5m")]
    pub(crate) test: Option<Duration>,
    /// Do not compare counters
    #[arg(long)]
    pub(crate) no_test: bool,
    /// Report a stall if the watch itself is late by this much
    #[arg(long, value_name = "TIME", value_parser = crate::verify::duration::parse, default_value = "2s")]
    pub(crate) stall: Option<Duration>,
    #[command(flatten)]
    pub(crate) thresholds: Thresholds,
}

/// An address of `--listen`. A port alone is not accepted: exporters then serve all addresses, but this one serves only
/// those that were named.
fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        let port = text.rsplit(':').next().and_then(|port| port.parse::<u16>().ok());
        let port = port.unwrap_or(9988);
        format!(
            "{text:?} is not an address with a port; expected one such as 127.0.0.1:{port}, or 0.0.0.0:{port} for \
             clients elsewhere"
        )
    })
}

/// A file that node_exporter reads: it ignores names with another end.
fn textfile(text: &str) -> Result<PathBuf, String> {
    if text.ends_with(".prom") && !text.ends_with("/.prom") {
        Ok(PathBuf::from(text))
    } else {
        Err(format!("{text:?} does not end in .prom, and node_exporter reads no other files"))
    }
}

pub(super) const WATCH: &str = "watch prints each event with its reason, one per line; with --json \
as JSON Lines. The server has a page (/), metrics for Prometheus (/metrics), and the events as JSON \
Lines (/history). SIGTERM ends watch. It does not need root; but without permission to read the \
kernel log (CAP_SYSLOG) it sees only the effect of a demotion. With --root it watches a mirror and \
measures nothing; if /proc and /sys of the running kernel are mounted below that directory, as in a \
container, it watches this machine. packaging/ has a systemd unit, alert rules and a dashboard.";
