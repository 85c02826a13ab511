//! Other activity of the machine during a measurement: load, stolen time, the processor's frequency, neighbours. Reads
//! files of the kernel; judges nothing.

use serde::Serialize;
use std::fs::read_to_string;
use std::path::Path;

/// Activity of the machine from the beginning of a measurement to its end. Values that the kernel does not provide are
/// null.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Noise {
    /// Programs that ran or waited for a CPU, on average over the last minute (`/proc/loadavg`).
    pub load: Option<f64>,
    /// CPUs online.
    pub cpus: Option<usize>,
    /// The share of time that the hypervisor gave to other guests while this machine was ready to run, 0 to 1.
    pub steal: Option<f64>,
    /// The share of time in which other programs used the CPU of the measurement, 0 to 1; of the whole machine if the
    /// measurement was not bound to a CPU.
    pub others: Option<f64>,
    /// The governor of the processor's frequency.
    pub governor: Option<String>,
    /// The lowest and the highest frequency that the governor may choose, in kHz.
    pub frequency_khz: Option<(u64, u64)>,
    /// Hardware threads that share a core with the CPU of the measurement.
    pub siblings: Option<usize>,
}

/// The counts of `/proc/stat` for one CPU, or for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stat {
    busy: u64,
    idle: u64,
    steal: u64,
}

/// The beginning of a measurement.
#[derive(Debug)]
pub struct Watch {
    cpu: Option<u32>,
    before: Option<Stat>,
    own: Option<f64>,
    load: Option<f64>,
}

impl Watch {
    /// Begins. The measurement will run on this CPU, if it is known.
    #[must_use]
    pub fn begin(cpu: Option<u32>) -> Self {
        Self { cpu, before: stat(cpu), own: own_ticks(), load: load() }
    }

    /// Ends.
    #[must_use]
    pub fn end(&self) -> Noise {
        let mut noise = Noise { load: self.load, cpus: online(), ..Noise::default() };
        if let (Some(before), Some(after)) = (self.before, stat(self.cpu)) {
            let own = self.own.zip(own_ticks()).map(|(before, after)| after - before);
            (noise.steal, noise.others) = shares(before, after, own);
        }
        let cpu = self.cpu.unwrap_or(0);
        let directory = format!("/sys/devices/system/cpu/cpu{cpu}");
        let of = |file: &str| line(&Path::new(&directory).join(file));
        noise.governor = of("cpufreq/scaling_governor");
        let khz = |file: &str| of(file)?.parse::<u64>().ok();
        noise.frequency_khz = khz("cpufreq/scaling_min_freq").zip(khz("cpufreq/scaling_max_freq"));
        noise.siblings = of("topology/thread_siblings_list").map(|list| members(&list));
        noise
    }
}

/// Stolen time, and that of others, as shares of all time. `own` are ticks of CPU time that this process used.
fn shares(before: Stat, after: Stat, own: Option<f64>) -> (Option<f64>, Option<f64>) {
    let busy = after.busy.saturating_sub(before.busy) as f64;
    let idle = after.idle.saturating_sub(before.idle) as f64;
    let steal = after.steal.saturating_sub(before.steal) as f64;
    let all = busy + idle + steal;
    // Fewer ticks are not significant.
    if all < 20.0 {
        return (None, None);
    }
    let others = own.map(|own| ((busy - own) / all).clamp(0.0, 1.0));
    (Some(steal / all), others)
}

fn stat(cpu: Option<u32>) -> Option<Stat> {
    let name = cpu.map_or_else(|| "cpu".to_owned(), |cpu| format!("cpu{cpu}"));
    parse(&read_to_string("/proc/stat").ok()?, &name)
}

/// A line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal.
fn parse(text: &str, name: &str) -> Option<Stat> {
    let line = text.lines().find(|line| line.split_whitespace().next() == Some(name))?;
    let ticks: Vec<u64> =
        line.split_whitespace().skip(1).filter_map(|field| field.parse().ok()).collect();
    let at = |index: usize| ticks.get(index).copied();
    Some(Stat {
        busy: at(0)? + at(1)? + at(2)? + at(5).unwrap_or(0) + at(6).unwrap_or(0),
        idle: at(3)? + at(4).unwrap_or(0),
        steal: at(7).unwrap_or(0),
    })
}

/// CPU time of this process in ticks of `/proc/stat`.
fn own_ticks() -> Option<f64> {
    // SAFETY: takes a plain number.
    let hz = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    // SAFETY: `rusage` is a C struct of integers, for which all zeros is a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live, exclusively borrowed `rusage`, which is written to.
    if hz <= 0 || unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) } != 0 {
        return None;
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Some((seconds(usage.ru_utime) + seconds(usage.ru_stime)) * hz as f64)
}

fn load() -> Option<f64> {
    read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
}

fn online() -> Option<usize> {
    line(Path::new("/sys/devices/system/cpu/online")).map(|list| members(&list))
}

fn line(path: &Path) -> Option<String> {
    let text = read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Returns the number of members of a list such as `0-3,8`.
fn members(list: &str) -> usize {
    let count = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let ends = from.trim().parse::<usize>().ok().zip(to.trim().parse::<usize>().ok());
        ends.map_or(0, |(from, to)| to.saturating_sub(from).saturating_add(1))
    };
    list.split(',').map(count).fold(0, usize::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_reads_one_cpu() {
        let text = "cpu  10 0 5 100 2 1 1 7 0 0\ncpu1 4 1 2 50 1 0 0 3 0 0\nintr 5\n";
        assert_eq!(parse(text, "cpu1"), Some(Stat { busy: 7, idle: 51, steal: 3 }));
        assert_eq!(parse(text, "cpu"), Some(Stat { busy: 17, idle: 102, steal: 7 }));
        assert_eq!(parse(text, "cpu7"), None);
        assert_eq!(parse("cpu x", "cpu"), None);
    }

    #[test]
    fn shares_of_steal_and_of_others() {
        let before = Stat { busy: 100, idle: 100, steal: 0 };
        let after = Stat { busy: 180, idle: 110, steal: 10 };
        let (steal, others) = shares(before, after, Some(50.0));
        assert_eq!((steal, others), (Some(0.1), Some(0.3)));
        assert_eq!(shares(before, before, Some(1.0)), (None, None));
        assert_eq!(shares(after, before, Some(1.0)), (None, None));
    }

    #[test]
    fn members_of_lists() {
        assert_eq!((members("0-3,8"), members("0"), members("3-1"), members("x")), (5, 1, 1, 0));
    }

    #[test]
    fn this_machine_says_something() {
        let watch = Watch::begin(None);
        assert!(watch.end().load.is_some());
    }
}
