//! One run of a command: wall time, processor time, peak memory.

use std::error::Error;
use std::io::Error as IoError;
use std::mem::MaybeUninit;
use std::process::{Command, Stdio};
use std::time::Instant;

/// The time and the memory of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ran {
    pub(crate) seconds: f64,
    /// In user space and in the kernel together.
    pub(crate) cpu_seconds: f64,
    pub(crate) peak_mib: f64,
}

/// Runs a command to its end. Any exit code but these is an error.
pub(crate) fn run(command: &mut Command, accepted: &[i32]) -> Result<Ran, Box<dyn Error>> {
    // Not to /dev/null: grep notices that, and ends at the first match.
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let begun = Instant::now();
    let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
    if let Some(mut output) = child.stdout.take() {
        std::io::copy(&mut output, &mut std::io::sink())?;
    }
    let pid = i32::try_from(child.id())?;
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // The standard library's wait() does not return the memory.
    // SAFETY: `pid` is a child of this process that is waited for only here; both pointers are to live values of the
    // right types.
    let waited = unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) };
    let seconds = begun.elapsed().as_secs_f64();
    if waited != pid {
        return Err(IoError::last_os_error().into());
    }
    if !libc::WIFEXITED(status) || !accepted.contains(&libc::WEXITSTATUS(status)) {
        return Err(format!("{command:?} ended with status {status:#x}").into());
    }
    // SAFETY: wait4 has filled it in; all-zero bytes were also a valid value before.
    let usage = unsafe { usage.assume_init() };
    #[allow(clippy::cast_precision_loss)]
    Ok(Ran {
        seconds,
        cpu_seconds: duration(usage.ru_utime) + duration(usage.ru_stime),
        peak_mib: usage.ru_maxrss as f64 / 1024.0,
    })
}

#[allow(clippy::cast_precision_loss)]
fn duration(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}

/// The median; of an even number of values the upper one.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
