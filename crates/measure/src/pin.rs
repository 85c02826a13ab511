//! Binds a thread to one CPU. Only threads of this program are bound.

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// The CPUs on which this thread may run, by number.
#[must_use]
pub fn allowed() -> Vec<u32> {
    let Ok(set) = sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU)
        .filter(|cpu| set.is_set(*cpu))
        .filter_map(|n| u32::try_from(n).ok())
        .collect()
}

/// Binds this thread to a CPU.
///
/// # Errors
/// Returns the reason if the thread cannot be bound.
pub fn to(cpu: u32) -> Result<u32, String> {
    bind(cpu).map_err(|why| {
        let allowed: Vec<String> = allowed().iter().map(u32::to_string).collect();
        format!("cannot run on CPU {cpu}: {why} (allowed here: {})", allowed.join(" "))
    })?;
    Ok(cpu)
}

/// Tries in a separate thread whether a thread can be bound to a CPU.
///
/// # Errors
/// Returns the reason if a thread cannot be bound.
pub fn bindable(cpu: u32) -> Result<(), String> {
    let thread = std::thread::Builder::new().spawn(move || to(cpu));
    let tried = thread.map_err(|error| format!("cannot start a thread: {error}"))?.join();
    tried.unwrap_or_else(|_| Err(format!("cannot run on CPU {cpu}: its thread failed"))).map(|_| ())
}

/// The same; the error is the bare reason.
pub(crate) fn bind(cpu: u32) -> Result<(), String> {
    let index = cpu as usize;
    if index >= CpuSet::MAX_CPU {
        return Err(format!("CPUs from {} on cannot be chosen", CpuSet::MAX_CPU));
    }
    let mut set = CpuSet::new();
    set.set(index);
    sched_setaffinity(None, &set).map_err(|error| error.to_string())
}

/// Binds this thread to the CPU on which it runs.
///
/// # Errors
/// Returns the reason if the thread cannot be bound.
pub fn here() -> Result<u32, String> {
    let cpu = u32::try_from(sched_getcpu()).map_err(|error| error.to_string())?;
    to(cpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_our_own_are_bound() {
        let before = allowed();
        let last = *before.last().unwrap();
        let inside = std::thread::spawn(move || (to(last), allowed())).join().unwrap();
        assert_eq!(inside, (Ok(last), vec![last]));
        assert_eq!(allowed(), before);
        assert!(to(u32::MAX).unwrap_err().contains("cannot be chosen"));
        assert!(to(1023).unwrap_err().contains("allowed here"));
    }
}
