//! Settings of well-known programs that decide how often they read the clock. Pure.
//!
//! Each entry names the page that documents the setting. A program is recognised by the short name of its processes, and
//! advice is given only if its reads take a part of its time.

/// A setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    /// The program, for people.
    pub(super) program: &'static str,
    /// The short names of its processes.
    names: &'static [&'static str],
    /// Functions of which one must be among those that read, or call the reader; none: any.
    functions: &'static [&'static str],
    /// The change to make.
    pub(super) summary: &'static str,
    /// The risk, or the condition.
    pub(super) risk: &'static str,
    /// A command for the next step.
    pub(super) command: Option<&'static str>,
    /// The page that documents it.
    pub(super) source: &'static str,
}

const SETTINGS: [Setting; 9] = [
    Setting {
        program: "PostgreSQL",
        names: &["postgres", "postmaster"],
        functions: &["InstrStartNode", "InstrStopNode", "ExecProcNodeInstr"],
        summary: "EXPLAIN ANALYZE reads the clock around each row of each node of a plan: EXPLAIN (ANALYZE, TIMING OFF) \
                  counts rows only; so does auto_explain with log_timing = off",
        risk: "the plan shows no times of nodes",
        command: Some("psql -c 'SHOW auto_explain.log_timing'"),
        source: "https://www.postgresql.org/docs/current/sql-explain.html",
    },
    Setting {
        program: "PostgreSQL",
        names: &["postgres", "postmaster"],
        functions: &[],
        summary: "switch off track_io_timing and track_wal_io_timing, which read the clock around each read and write, and \
                  use EXPLAIN (ANALYZE, TIMING OFF); pg_test_timing measures what a read costs",
        risk: "pg_stat_database, pg_stat_io and EXPLAIN (BUFFERS) show no times of I/O",
        command: Some("psql -c 'SHOW track_io_timing'"),
        source: "https://www.postgresql.org/docs/current/runtime-config-statistics.html",
    },
    Setting {
        program: "MySQL or MariaDB",
        names: &["mysqld", "mariadbd"],
        functions: &[],
        summary: "let the Performance Schema count without timing: UPDATE performance_schema.setup_instruments SET TIMED = 'NO' \
                  for the instruments that need no times, first those of wait/synch",
        risk: "their events have no times",
        command: None,
        source: "https://dev.mysql.com/doc/refman/en/performance-schema-instrument-filtering.html",
    },
    Setting {
        program: "nginx",
        names: &["nginx", "openresty"],
        functions: &[],
        summary: "set timer_resolution 100ms in the main block: nginx then reads the clock once in \
                  that time, not after each event of the kernel",
        risk: "times in logs, and timeouts, are up to that old",
        command: None,
        source: "https://nginx.org/en/docs/ngx_core_module.html#timer_resolution",
    },
    Setting {
        program: "Redis",
        names: &["redis-server", "redis-sentinel"],
        functions: &["serverCron", "databasesCron", "clientsCron"],
        summary: "lower hz (10 by default), the rate of its background tasks",
        risk: "expired keys and timeouts are found later",
        command: Some("redis-cli CONFIG GET hz"),
        source: "https://redis.io/docs/latest/operate/oss_and_stack/management/config-file/",
    },
    Setting {
        program: "Redis",
        names: &["redis-server", "redis-sentinel"],
        functions: &[],
        summary: "build it with make CFLAGS=-DUSE_PROCESSOR_CLOCK: it times each command, and then \
                  uses the processor's counter; hz changes only how often background tasks run",
        risk: "only where clocksmith verify trusts the counter",
        command: None,
        source: "https://github.com/redis/redis#monotonic-clock",
    },
    Setting {
        program: "Valkey",
        names: &["valkey-server"],
        functions: &[],
        summary: "build it with make CFLAGS=-DUSE_PROCESSOR_CLOCK: it times each command, and then \
                  uses the processor's counter",
        risk: "only where clocksmith verify trusts the counter",
        command: None,
        source: "https://github.com/valkey-io/valkey#monotonic-clock",
    },
    Setting {
        program: "ClickHouse",
        names: &["clickhouse", "clickhouse-serv", "clickhouse-server"],
        functions: &["QueryProfiler", "signalHandler", "writeTraceInfo"],
        summary: "set query_profiler_real_time_period_ns and query_profiler_cpu_time_period_ns to 0, or to a second: at each of \
                  these periods the query profiler interrupts every thread of a query",
        risk: "system.trace_log has fewer samples, or none",
        command: Some(
            "clickhouse-client -q \"SELECT name, value FROM system.settings WHERE name LIKE 'query_profiler%'\"",
        ),
        source: "https://clickhouse.com/docs/reference/settings/session-settings/query-profiler",
    },
    Setting {
        program: "the Java virtual machine",
        names: &["java"],
        functions: &["os::current_thread_cpu_time", "os::thread_cpu_time", "fast_cpu_time"],
        summary: "read the CPU time of threads less often: ThreadMXBean.setThreadCpuTimeEnabled(false), or the monitoring that \
                  polls it; each is a system call on every clocksource",
        risk: "no CPU times by thread",
        command: None,
        source: "https://docs.oracle.com/en/java/javase/21/docs/api/java.management/java/lang/management/ThreadMXBean.html",
    },
];

/// The setting for a program, by the short name of a process and the functions that read there.
pub(super) fn setting(name: &str, functions: &[&str]) -> Option<&'static Setting> {
    // A server's worker may append its task to its name (`postgres: writer`).
    let is = |known: &str| {
        name.strip_prefix(known).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    };
    let named = |setting: &&Setting| setting.names.iter().any(|known| is(known));
    let called = |setting: &&Setting| {
        setting.functions.is_empty()
            || functions
                .iter()
                .any(|function| setting.functions.iter().any(|known| function.contains(known)))
    };
    SETTINGS.iter().filter(named).find(called)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setting_by_program_and_function() {
        let of = |name: &str, functions: &[&str]| setting(name, functions).map(|one| one.summary);
        let analyze = of("postgres", &["ExecScan", "InstrStopNode"]).unwrap();
        assert!(analyze.contains("TIMING OFF"), "{analyze}");
        assert!(of("postgres", &["mdreadv"]).unwrap().contains("track_io_timing"));
        assert!(of("nginx", &["ngx_time_update"]).unwrap().contains("timer_resolution"));
        assert!(of("redis-server", &["serverCron"]).unwrap().contains("lower hz"));
        assert!(of("redis-server", &["call"]).unwrap().contains("USE_PROCESSOR_CLOCK"));
        // No setting changes reads of the program's own Java code.
        assert_eq!(of("java", &["App.hot"]), None);
        assert_eq!(of("postgrest", &["f"]), None);
        assert!(of("clickhouse-serv", &["DB::QueryProfilerBase::tryCleanup"]).is_some());
        assert_eq!(of("app", &["serverCron"]), None);
    }

    #[test]
    fn settings_name_their_source() {
        for setting in SETTINGS {
            assert!(setting.source.starts_with("https://"), "{setting:?}");
            assert!(!setting.summary.ends_with('.') && !setting.risk.is_empty());
        }
    }
}
