//! The tables: names, types and meaning of their columns. One list for the files, the output and the
//! documentation. Columns are added, never renamed.

use crate::row::{CauseRow, HostRow, RemedyRow};

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8, at most 256 characters (also `taken_from` and `refused_because`).
    Text,
    /// 64 bits with sign.
    Integer,
    /// 64 bits of floating point.
    Float,
    /// True or false.
    Flag,
}

impl Kind {
    /// Returns the name in standard SQL.
    #[must_use]
    pub fn sql(self) -> &'static str {
        match self {
            Self::Text => "VARCHAR",
            Self::Integer => "BIGINT",
            Self::Float => "DOUBLE",
            Self::Flag => "BOOLEAN",
        }
    }
}

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// A value of a text column.
    Text(Option<&'a str>),
    /// A value of a column of integers.
    Integer(Option<i64>),
    /// A value of a column of floating point numbers.
    Float(Option<f64>),
    /// A value of a column of flags.
    Flag(Option<bool>),
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column<R> {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Whether it can be null: not known, or not measured.
    pub nullable: bool,
    /// Its meaning, with the unit.
    pub doc: &'static str,
    /// Its value in a row.
    pub of: for<'a> fn(&'a R) -> Value<'a>,
}

/// A table.
#[derive(Clone, Copy, Debug)]
pub struct Table<R: 'static> {
    /// Its name, also of its file.
    pub name: &'static str,
    /// The meaning of a row.
    pub doc: &'static str,
    /// Its columns.
    pub columns: &'static [Column<R>],
}

macro_rules! columns {
    ($row:ty: $($name:ident $kind:ident $null:ident $doc:literal = |$r:ident| $value:expr;)*) => {
        &[$(Column {
            name: stringify!($name),
            kind: Kind::$kind,
            nullable: columns!(@null $null),
            doc: $doc,
            of: |$r: &$row| Value::$kind(columns!(@value $null $value)),
        }),*]
    };
    (@null known) => { false };
    (@null null) => { true };
    (@value known $value:expr) => { Some($value) };
    (@value null $value:expr) => { $value };
}

/// One row a machine.
pub const HOSTS: Table<HostRow> = Table {
    name: "hosts",
    doc: "one row a host",
    columns: columns! { HostRow:
        host Text known "name of the host, or of its input if it has none" = |r| &r.host;
        verdict Text known "ok, slow, untrustworthy, unknown" = |r| r.verdict.name();
        confidence Text known "of the verdict: low, medium, high" = |r| r.confidence.name();
        clocksource Text null "the clocksource in use" = |r| r.clocksource.as_deref();
        available Text null "the clocksources that sysfs lists, best first, with spaces between" = |r| r.available.as_deref();
        expected Text null "the clocksource that the model of the kernel expects" = |r| r.expected.as_deref();
        expected_vdso Flag null "whether CLOCK_MONOTONIC is read in user space, according to the \
                                 model" = |r| r.expected_vdso;
        vdso Flag null "whether it is read in user space, as measured; null if nothing was measured" = |r| r.vdso;
        cost_ns Float null "nanoseconds a read of CLOCK_REALTIME, median" = |r| r.cost_ns;
        monotonic_ns Float null "nanoseconds a read of CLOCK_MONOTONIC, median" = |r| r.monotonic_ns;
        syscall_ns Float null "nanoseconds a read of CLOCK_REALTIME by a system call" = |r| r.syscall_ns;
        counter_ns Float null "nanoseconds a read of the bare counter" = |r| r.counter_ns;
        cause Text null "id of the gravest cause" = |r| r.cause.as_deref();
        severity Text null "of that cause: info, warning, critical" = |r| r.severity.map(clocksmith_diagnose::Severity::name);
        causes Integer known "number of causes" = |r| r.causes;
        remedy Text null "id of the change that is recommended first; null if nothing is wrong or \
                          recommended" = |r| r.remedy.as_deref();
        remedy_alone Flag null "whether that change answers everything that is wrong" = |r| r.remedy_alone;
        kernel Text null "kernel release" = |r| r.kernel.as_deref();
        kernel_series Text null "its first two numbers" = |r| r.kernel_series.as_deref();
        arch Text null "kernel architecture" = |r| r.arch.as_deref();
        hypervisor Text null "hypervisor; none on bare metal" = |r| r.hypervisor.as_deref();
        cpu Text null "processor" = |r| r.cpu.as_deref();
        tsc_khz Integer null "frequency of the TSC in kHz" = |r| r.tsc_khz;
        tsc_slack_khz Integer null "the possible error of tsc_khz in kHz; 0 if tsc_khz is the kernel's own figure" = |r| r.tsc_slack_khz;
        tsc_scaling Flag null "whether it can scale the TSC of guests" = |r| r.tsc_scaling;
        tsc_hardware Text null "in which way: vmx, svm" = |r| r.tsc_hardware.as_deref();
        tsc_invariant Flag null "whether its TSC is invariant" = |r| r.tsc_invariant;
        verified Text null "what verify found in that boot: trusted, not-trusted, unknown" = |r| r.verified.as_deref();
        taken_at Text null "when the facts were taken, in UTC, according to the host's clock; null if not known" = |r| r.taken_at.as_deref();
        taken_from Text known "the input it was read from: FILE, or FILE:LINE" = |r| &r.taken_from;
        machine_id Text null "opaque id of the machine: two of them under one name are two hosts" = |r| r.machine_id.as_deref();
    },
};

/// One row for each cause on each machine.
pub const CAUSES: Table<CauseRow> = Table {
    name: "causes",
    doc: "one row for each cause on each host",
    columns: columns! { CauseRow:
        host Text known "name of the host" = |r| &r.host;
        place Integer known "place in the host's list, from 1, gravest first" = |r| r.place;
        cause Text known "id of the cause: clocksmith explain ID" = |r| &r.cause;
        severity Text known "info, warning, critical" = |r| r.severity.name();
        confidence Text known "low, medium, high" = |r| r.confidence.name();
        gravest Flag null "whether it is the host's gravest cause (hosts.cause)" = |r| Some(r.gravest);
        taken_at Text null "as in hosts" = |r| r.taken_at.as_deref();
        machine_id Text null "as in hosts" = |r| r.machine_id.as_deref();
    },
};

/// One row for each remedy on each machine.
pub const REMEDIES: Table<RemedyRow> = Table {
    name: "remedies",
    doc: "one row for each remedy that was considered for each host",
    columns: columns! { RemedyRow:
        host Text known "name of the host" = |r| &r.host;
        place Integer known "place in the host's list, from 1, in order of preference" = |r| r.place;
        remedy Text known "id of the remedy" = |r| &r.remedy;
        layer Text known "where it acts: program, runtime, boot, hypervisor, firmware" = |r| r.layer.name();
        refused Flag known "whether it is refused on this host" = |r| r.refused;
        refused_because Text null "why" = |r| r.refused_because.as_deref();
        answers_gravest Flag known "whether it answers the host's gravest cause" = |r| r.answers_gravest;
        answers_all Flag known "whether it answers everything that is wrong there" = |r| r.answers_all;
        chosen Flag known "whether it is the change that is recommended first (hosts.remedy)" = |r| r.chosen;
        taken_at Text null "as in hosts" = |r| r.taken_at.as_deref();
        machine_id Text null "as in hosts" = |r| r.machine_id.as_deref();
    },
};

/// The definitions as SQL, with their meaning as comments.
#[must_use]
pub fn definitions() -> String {
    format!("{}\n{}\n{}\n{HISTORY}", HOSTS.definition(), CAUSES.definition(), REMEDIES.definition())
}

/// The prefix of a table's name in the name of the view that has all its reports.
pub const ALL: &str = "history_";

const HISTORY: &str = "\
-- history_hosts, history_causes, history_remedies: the same columns and one more, of all reports.
-- hosts, causes and remedies have the newest report of each host.
--   day             VARCHAR            -- day of taken_at, in UTC: 2026-01-05
";

impl<R> Table<R> {
    /// Its definition as standard SQL.
    #[must_use]
    pub fn definition(&self) -> String {
        let mut out = format!("-- {}\nCREATE TABLE {} (\n", self.doc, self.name);
        for (at, column) in self.columns.iter().enumerate() {
            let kind = column.kind.sql();
            let null = if column.nullable { "" } else { " NOT NULL" };
            let comma = if at + 1 == self.columns.len() { "" } else { "," };
            let typed = format!("{kind}{null}{comma}");
            out.push_str(&format!("  {:<15} {typed:<18} -- {}\n", column.name, column.doc));
        }
        out.push_str(");\n");
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The column reference in `docs/fleet.md` lists every column:
    /// `UPDATE_DOCS=1 cargo test -p clocksmith-fleet` rewrites it.
    #[test]
    fn the_documentation_has_every_column() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/fleet.md");
        let page = std::fs::read_to_string(path).unwrap();
        let (before, rest) = page.split_once("```sql tables\n").unwrap();
        let (_, after) = rest.split_once("```").unwrap();
        let current = format!("{before}```sql tables\n{}```{after}", definitions());
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, &current).unwrap();
        }
        assert_eq!(std::fs::read_to_string(path).unwrap(), current);
    }
}
