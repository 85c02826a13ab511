//! Options of `check` and `watch`.

use clap::{Args as ClapArgs, ValueEnum};
use clocksmith_diagnose::policy::Vendor;
use clocksmith_watch::State;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Options of `check`.
#[derive(ClapArgs, Debug, Clone, Default)]
pub(crate) struct Check {
    /// How to say it [default: nagios]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<CheckFormat>,
    #[command(flatten)]
    pub(crate) thresholds: Thresholds,
    /// A warning where this machine is not as a vendor asks: aws, google, microsoft, oracle, red-hat, sap, scylladb or
    /// suse
    #[arg(long, value_name = "VENDOR", value_parser = super::policy::of_check(), ignore_case = true,
          hide_possible_values = true)]
    pub(crate) policy: Option<&'static Vendor>,
    /// Do not measure what a read costs
    #[arg(long)]
    pub(crate) no_measure: bool,
}

/// A form in which monitoring systems want to hear it.
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

/// What counts as how bad, for `check` and `watch`.
#[derive(ClapArgs, Debug, Clone, Default)]
pub(crate) struct Thresholds {
    /// The clocksource that should be in use; several with commas between
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) expect: Vec<String>,
    /// A warning from this cost of a read of CLOCK_MONOTONIC on, in nanoseconds
    #[arg(long, value_name = "NS", value_parser = nanoseconds)]
    pub(crate) warn_cost: Option<f64>,
    /// Critical from this cost on, in nanoseconds
    #[arg(long, value_name = "NS", value_parser = nanoseconds)]
    pub(crate) critical_cost: Option<f64>,
    /// What slow reads are [default: warning]
    #[arg(long, value_enum, value_name = "STATE")]
    pub(crate) slow: Option<Grade>,
    /// What a clocksource is that the kernel gave up in this boot [default: warning]
    #[arg(long, value_enum, value_name = "STATE")]
    pub(crate) demoted: Option<Grade>,
    /// What time is that may be wrong [default: critical]
    #[arg(long, value_enum, value_name = "STATE")]
    pub(crate) untrustworthy: Option<Grade>,
    /// What a wall clock is that is stale, that nothing keeps, or that has two masters [default: warning]
    #[arg(long, value_enum, value_name = "STATE")]
    pub(crate) wall_clock: Option<Grade>,
    /// What another clocksource than an expected one is [default: critical]
    #[arg(long, value_enum, value_name = "STATE")]
    pub(crate) unexpected: Option<Grade>,
}

/// How bad something is.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grade {
    /// Not at all
    Ok,
    /// A warning
    Warning,
    /// Critical
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
    /// With what was not said as it is by default.
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
        }
    }
}

/// A cost on the command line.
fn nanoseconds(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches("ns").trim_end();
    match number.parse::<f64>() {
        Ok(ns) if ns.is_finite() && ns > 0.0 => Ok(ns),
        _ => Err(format!("{text:?} is no cost; expected nanoseconds, such as 100")),
    }
}

pub(super) const CHECK: &str = "Exit codes are those of monitoring plugins: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN \
(also wrong usage); with --format npd 0 OK, 1 a problem, 3 unknown. It takes some milliseconds, needs no \
root (without it the kernel log may be out of reach, and then demotions are not seen), starts no program \
and changes nothing.";

/// Options of `watch`.
#[derive(ClapArgs, Debug, Clone, Default)]
pub(crate) struct Watch {
    /// Look once, print the metrics (with --json the document of check), and end
    #[arg(long)]
    pub(crate) once: bool,
    /// Where to serve the page and the metrics; several times for several addresses
    /// [default: 127.0.0.1:9988]
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with_all = ["no_listen", "once"])]
    pub(crate) listen: Vec<SocketAddr>,
    /// Serve nothing
    #[arg(long)]
    pub(crate) no_listen: bool,
    /// TLS and passwords, in the format of Prometheus' exporters; SIGHUP reads it anew
    #[arg(long, value_name = "FILE", conflicts_with_all = ["no_listen", "once"])]
    pub(crate) web_config: Option<PathBuf>,
    /// Another name by which a browser or a proxy asks at a loopback address; may be repeated
    #[arg(long, value_name = "NAME", conflicts_with_all = ["no_listen", "once"])]
    pub(crate) allow_host: Vec<String>,
    /// Write the metrics to this file as well, for node_exporter's textfile collector
    #[arg(long, value_name = "FILE.prom", value_parser = textfile, conflicts_with = "once")]
    pub(crate) textfile: Option<PathBuf>,
    /// Where the history is kept [default: $STATE_DIRECTORY, /var/lib/clocksmith, or the user's
    /// state directory]
    #[arg(long, value_name = "DIR", conflicts_with_all = ["no_history", "once"])]
    pub(crate) state_dir: Option<PathBuf>,
    /// Keep no history
    #[arg(long)]
    pub(crate) no_history: bool,
    /// How often the clocksource in use is read; the kernel's log is heard at once
    #[arg(long, value_name = "TIME", value_parser = crate::verify::duration::parse, default_value = "1s")]
    pub(crate) poll: Option<Duration>,
    /// How often the whole machine is looked at, and a read is measured
    #[arg(long, value_name = "TIME", value_parser = crate::verify::duration::parse, default_value = "1m")]
    pub(crate) look: Option<Duration>,
    /// How often counters and clocks of two processors are compared, which takes 40 ms
    #[arg(long, value_name = "TIME", value_parser = crate::verify::duration::parse, default_value = "5m")]
    pub(crate) test: Option<Duration>,
    /// Compare no counters
    #[arg(long)]
    pub(crate) no_test: bool,
    /// How late the watch itself must be to tell of a stall
    #[arg(long, value_name = "TIME", value_parser = crate::verify::duration::parse, default_value = "2s")]
    pub(crate) stall: Option<Duration>,
    #[command(flatten)]
    pub(crate) thresholds: Thresholds,
}

/// node_exporter reads files with this end only.
fn textfile(text: &str) -> Result<PathBuf, String> {
    if text.ends_with(".prom") && !text.ends_with("/.prom") {
        Ok(PathBuf::from(text))
    } else {
        Err(format!("{text:?} does not end in .prom, and node_exporter reads no other files"))
    }
}

pub(super) const WATCH: &str = "Events go to standard output, one line each, with their reason; with --json as \
JSON Lines. / is a page for people, /metrics for Prometheus, /history the events as JSON Lines. SIGTERM \
ends it. It needs no root; without the right to read the kernel log (CAP_SYSLOG) a demotion is seen by its \
effect only. With --root it watches a mirror, and measures nothing. A unit for systemd, alert rules and a \
dashboard are in packaging/.";
