//! `clocksmith fleet --json`. Fields are added, never removed or renamed.

use serde::Serialize;

/// Its schema.
pub const FLEET: &str = "clocksmith.fleet.v1";

/// The report on many machines.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetReport {
    /// Always `clocksmith.fleet.v1`.
    pub schema: &'static str,
    /// The result in one sentence.
    pub headline: String,
    /// Hosts in the tables.
    pub hosts: u64,
    /// The input.
    pub input: Input,
    /// The directory that the tables were written to; null without `--out`.
    pub tables: Option<String>,
    /// The reports that were added to a history; null without `--history`.
    pub history: Option<Added>,
    /// When the reports were taken.
    pub dates: Dates,
    /// Hosts by verdict; their names: `ok`, `slow`, `untrustworthy`, `unknown`.
    pub verdicts: Groups,
    /// Hosts by the clocksource in use.
    pub clocksources: Groups,
    /// Hosts by cause; a host has several.
    pub causes: Causes,
    /// Hosts by processor.
    pub hardware: Groups,
    /// Hosts by kernel series.
    pub kernels: Groups,
    /// Hosts by hypervisor; `none` is bare metal.
    pub hypervisors: Groups,
    /// Hosts that differ from those of the same processor, kernel and hypervisor.
    pub outliers: Outliers,
    /// The effect of one change.
    pub changes: Changes,
    /// Hosts among which guests can move.
    pub migration: Migration,
}

/// The input.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Input {
    /// Documents, bad ones among them; 0 where only tables were read.
    pub documents: u64,
    /// Documents that could not be used.
    pub rejected: u64,
    /// The first of them.
    pub rejects: Vec<Reject>,
    /// Reports that are not used, as there is a newer one of the host, or another one of the same moment.
    pub duplicates: u64,
    /// The first of them, with their place.
    pub duplicate_hosts: Vec<String>,
    /// Hosts with several newest reports, of one moment or without a date: the one that was given first is used.
    pub ties: u64,
    /// The first of them, with the place of another one.
    pub tie_hosts: Vec<String>,
    /// Reports with a date more than a day after that of the reader: their clock is wrong, and they count as undated.
    pub future: u64,
    /// The first of them, with their date and place.
    pub future_hosts: Vec<String>,
    /// Names that several machines have, according to their machine ids. Each machine is a host.
    pub shared_names: u64,
    /// The first of them, with the places of the machines' reports.
    pub shared_hosts: Vec<String>,
}

/// When the reports in use were taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Dates {
    /// The oldest; null where none is dated.
    pub oldest: Option<String>,
    /// The newest.
    pub newest: Option<String>,
    /// Hosts whose report has no date.
    pub undated: u64,
}

/// The reports that were added to a history.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Added {
    /// The directory.
    pub directory: String,
    /// Reports that were added.
    pub added: u64,
    /// Reports that it already had.
    pub known: u64,
    /// Reports without a date, which cannot be added.
    pub undated: u64,
    /// Days of the added reports.
    pub days: u64,
}

/// A document that could not be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reject {
    /// `FILE` or `FILE:LINE`.
    pub place: String,
    /// Why.
    pub why: String,
}

/// Groups, the largest first.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Groups {
    /// The largest.
    pub groups: Vec<Group>,
    /// The number of further groups.
    pub more: u64,
}

/// A group of hosts.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Group {
    /// The properties that they have in common; null if not known.
    pub name: Option<String>,
    /// The number of hosts.
    pub hosts: u64,
    /// Of these: fast, without evidence to the contrary.
    pub ok: u64,
    /// Slow.
    pub slow: u64,
    /// Time may be wrong.
    pub untrustworthy: u64,
    /// The evidence does not show it.
    pub unknown: u64,
    /// One of them: the first by name.
    pub example: String,
}

/// Causes, the most frequent first.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Causes {
    /// The most frequent.
    pub groups: Vec<CauseGroup>,
    /// The number of further causes.
    pub more: u64,
}

/// Hosts with one cause.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CauseGroup {
    /// The cause's id.
    pub cause: String,
    /// Its gravest severity.
    pub severity: String,
    /// Hosts that have it.
    pub hosts: u64,
    /// Hosts on which it is the gravest.
    pub gravest_on: u64,
    /// A host with this cause.
    pub example: String,
}

/// Hosts that differ.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outliers {
    /// By clocksource or verdict: at least nine in ten of eight or more similar hosts agree.
    pub choice: Vec<ChoiceOutlier>,
    /// The number of further hosts.
    pub choice_more: u64,
    /// By the cost of a read: over twice (and 20 ns more than), or under half of, the median of eight
    /// or more similar hosts with the same clocksource.
    pub cost: Vec<CostOutlier>,
    /// The number of further hosts.
    pub cost_more: u64,
}

/// The hosts that a host is compared with: same processor, kernel release and hypervisor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Like {
    /// Processor.
    pub cpu: Option<String>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Hypervisor.
    pub hypervisor: Option<String>,
    /// The number of such hosts, this one among them.
    pub hosts: u64,
}

/// A host whose clocksource or verdict differs from that of similar hosts.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChoiceOutlier {
    /// The host.
    pub host: String,
    /// Its clocksource.
    pub clocksource: String,
    /// Its verdict.
    pub verdict: String,
    /// Its gravest cause.
    pub cause: Option<String>,
    /// The clocksource of the others.
    pub usual_clocksource: Option<String>,
    /// Their verdict.
    pub usual_verdict: String,
    /// The number of these hosts with both.
    pub usual_hosts: u64,
    /// The hosts that it is compared with.
    pub like: Like,
    /// In one sentence.
    pub why: String,
}

/// A host whose read cost differs from that of similar hosts.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CostOutlier {
    /// The host.
    pub host: String,
    /// Nanoseconds a read of CLOCK_REALTIME.
    pub cost_ns: f64,
    /// The median of similar hosts.
    pub median_ns: f64,
    /// Their clocksource.
    pub clocksource: Option<String>,
    /// The hosts that it is compared with.
    pub like: Like,
    /// In one sentence.
    pub why: String,
}

/// Changes, the one that helps most hosts first.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Changes {
    /// The changes.
    pub changes: Vec<Change>,
    /// The number of further changes.
    pub more: u64,
    /// Hosts that are slow or untrustworthy, and for which no change is recommended.
    pub without: u64,
}

/// A change, and the hosts on which it is recommended first.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// The remedy's id.
    pub remedy: String,
    /// The layer of the remedy.
    pub layer: String,
    /// Hosts on which it is the first remedy that is not refused and removes the gravest cause.
    pub hosts: u64,
    /// Hosts of these on which it removes all problems.
    pub alone: u64,
    /// Hosts on which it is refused.
    pub refused: u64,
    /// One of the hosts.
    pub example: String,
}

/// Hosts among which guests can move with an unchanged TSC.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Migration {
    /// Hosts that cannot scale, with frequencies within 250 ppm of one: the largest group first.
    pub groups: Vec<MigrationGroup>,
    /// The number of further groups.
    pub more: u64,
    /// Hosts that can scale: they belong to every group.
    pub scaling: u64,
    /// Hosts whose TSC is not invariant: they belong to none.
    pub unfit: u64,
    /// Hosts about which too little is known.
    pub unknown: u64,
}

/// A group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MigrationGroup {
    /// The frequency in the middle, in kHz.
    pub khz: u32,
    /// The frequency of the slowest of them, in kHz.
    pub slowest_khz: u32,
    /// The frequency of the fastest of them, in kHz.
    pub fastest_khz: u32,
    /// The number of hosts.
    pub hosts: u64,
    /// A host of the group.
    pub example: Option<String>,
}

impl FleetReport {
    /// Hosts with that verdict.
    #[must_use]
    pub fn with(&self, verdict: &str) -> u64 {
        let named = |group: &&Group| group.name.as_deref() == Some(verdict);
        self.verdicts.groups.iter().find(named).map_or(0, |group| group.hosts)
    }

    /// Returns the result in one sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let hosts = self.hosts;
        let parts: Vec<String> = [
            ("slow", "read the time slowly"),
            ("untrustworthy", "have a time that cannot be trusted"),
            ("unknown", "are not known well enough"),
        ]
        .iter()
        .filter(|(verdict, _)| self.with(verdict) > 0)
        .map(|(verdict, what)| format!("{} {what}", self.with(verdict)))
        .collect();
        match (hosts, parts.as_slice()) {
            (0, _) => "No host.".to_owned(),
            (_, []) => format!("{hosts} hosts, and nothing is wrong with the clock of any."),
            (_, parts) => format!("Of {hosts} hosts, {}.", parts.join(", ")),
        }
    }
}
