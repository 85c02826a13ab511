//! The resources of this process, and whether it was scheduled.

use crate::metrics::Process;

/// Returns CPU time, memory and descriptors of this process; a value that cannot be read is 0.
#[must_use]
pub fn process() -> Process {
    let mut own = Process::default();
    let ticks = rustix::param::clock_ticks_per_second();
    let page = rustix::param::page_size();
    #[allow(clippy::cast_precision_loss)]
    if let Ok(stat) = std::fs::read_to_string("/proc/self/stat")
        // The name in brackets may have blanks in it.
        && let Some((_, rest)) = stat.rsplit_once(") ")
    {
        let fields: Vec<&str> = rest.split(' ').collect();
        let number = |at: usize| fields.get(at).and_then(|text| text.parse::<u64>().ok());
        let spent = number(11).unwrap_or(0) + number(12).unwrap_or(0);
        own.cpu_seconds = spent as f64 / ticks.max(1) as f64;
        own.resident_bytes = number(21).unwrap_or(0) as f64 * page as f64;
    }
    if let Ok(list) = std::fs::read_dir("/proc/self/fd") {
        // One of them is the descriptor of the directory itself.
        own.open_fds = f64::from(u32::try_from(list.count().saturating_sub(1)).unwrap_or(u32::MAX));
    }
    own
}

/// Seconds that this thread could run and was not let to, since it began.
#[must_use]
pub fn waited() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let ns: f64 = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(ns / 1e9)
}

/// Seconds since boot, with the time that the machine was suspended.
#[must_use]
#[allow(clippy::cast_precision_loss)]
pub fn since_boot() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Seconds since boot, without it.
#[must_use]
#[allow(clippy::cast_precision_loss)]
pub fn awake() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Seconds since 1970.
#[must_use]
pub fn now() -> f64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0.0, |time| time.as_secs_f64())
}

/// Returns freed memory to the system, where the C library would keep it.
pub fn trim() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the function takes a number, and changes nothing that a program can see.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_something() {
        let own = process();
        assert!(own.resident_bytes > 0.0 && own.open_fds >= 3.0, "{own:?}");
        let awake = awake();
        assert!(since_boot() >= awake && now() > 1.6e9);
    }
}
