//! The result of an earlier `clocksmith verify` on this machine, in this boot.
//!
//! `verify` saves its result in a file: as root below `/var/lib/clocksmith` (or `/run/clocksmith`),
//! otherwise in the user's state directory, which a tree has as the virtual file `verify`. A result of
//! another boot, or one that is a day old, is not valid. Its age is computed from the time since
//! boot, so setting the wall clock changes nothing, and a bundle gives the same result as the machine.
//!
//! A run may test only some of the CPUs (`--cpus`, `taskset`, a cpuset). Such a result is a proof for
//! only these CPUs: [`VerifyResult::covers`]. It does not replace a fuller result of the same boot:
//! [`VerifyResult::supersedes`].

use crate::cpu::CpuList;
use crate::tree::Tree;
use crate::{Confidence, Fact, Missing, Source, Why};
use serde::{Deserialize, Serialize};

/// The places of results in a tree.
pub const PATHS: [&str; 3] =
    ["verify", "run/clocksmith/verify.json", "var/lib/clocksmith/verify.json"];
/// The file of the boot's identity, and that of the time since boot.
pub const BOOT: [&str; 2] = ["proc/sys/kernel/random/boot_id", "proc/uptime"];
/// The file of the CPUs that are online.
const ONLINE: &str = "sys/devices/system/cpu/online";
/// The name of the format.
pub const SCHEMA: &str = "clocksmith.verify-result.v1";
/// Maximum age of a result, in seconds.
pub(crate) const MAX_AGE_S: u64 = 24 * 3600;
/// Maximum length of a file, in bytes.
const LIMIT: u64 = 64 << 10;

/// Whether counter or clocks can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// No fault was found, and what was tested could have shown one.
    Trusted,
    /// A fault was found.
    NotTrusted,
    /// Unknown: it could not be tested.
    Unknown,
}

impl Trust {
    /// The trust as text: `trusted`, `not-trusted`, `unknown`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::NotTrusted => "not-trusted",
            Self::Unknown => "unknown",
        }
    }
}

/// A finding, in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Its id: `counter-offset`.
    pub id: String,
    /// Whether it is a fault of counter or clocks; otherwise it is a note.
    pub fault: bool,
    /// One sentence.
    pub summary: String,
}

/// The result of one `verify`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VerifyResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of the program that wrote it.
    pub version: String,
    /// Identity of the boot.
    pub boot_id: String,
    /// Seconds since boot at its end.
    pub uptime_s: u64,
    /// Seconds since 1970 at its end, for the reader.
    pub time_s: u64,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Processor, and hypervisor if there is one.
    pub machine: Option<String>,
    /// The clocksource in use.
    pub clocksource: Option<String>,
    /// The CPUs that were tested.
    pub cpus: Vec<u32>,
    /// The CPUs of the machine: those online when it was tested, and when the result was read. Empty
    /// if that is not known.
    #[serde(default)]
    pub machine_cpus: Vec<u32>,
    /// The worse of the two below.
    pub verdict: Trust,
    /// The confidence.
    pub confidence: Confidence,
    /// The counter that programs may read directly.
    pub counter: Trust,
    /// The kernel's clocks.
    pub clocks: Trust,
    /// The smallest offset between processors that would have been found, in nanoseconds.
    pub detectable_offset_ns: Option<f64>,
    /// The smallest error of the counter's rate that would have been found, in millionths.
    pub detectable_rate_ppm: Option<f64>,
    /// The smallest jump of the counter that would have been found, in nanoseconds.
    pub detectable_jump_ns: Option<f64>,
    /// Faults and notes.
    pub findings: Vec<Finding>,
    /// Its age in seconds when it was read; not in the file.
    #[serde(default)]
    pub age_s: u64,
}

impl VerifyResult {
    /// Whether CPUs of the machine were not tested. `false` if the machine's CPUs are unknown.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        !self.covers(&self.machine_cpus)
    }

    /// Whether all of these CPUs were tested.
    #[must_use]
    pub fn covers(&self, cpus: &[u32]) -> bool {
        cpus.iter().all(|cpu| self.cpus.contains(cpu))
    }

    /// The CPUs that were tested: `0-3`, or `0 of 0-3` if not all of the machine's were.
    #[must_use]
    pub fn scope(&self) -> String {
        let tested = self.cpus.iter().copied().collect::<CpuList>();
        if !self.is_partial() {
            return tested.to_string();
        }
        let tested = if self.cpus.is_empty() { "none".to_owned() } else { tested.to_string() };
        format!("{tested} of {}", self.machine_cpus.iter().copied().collect::<CpuList>())
    }

    /// Whether it found a fault, of the counter or of the clocks.
    #[must_use]
    pub fn has_fault(&self) -> bool {
        [self.verdict, self.counter, self.clocks].contains(&Trust::NotTrusted)
    }

    /// Whether it proves that the counters of these CPUs can be used as one: no fault was found, a fault
    /// relevant to programs would have been, and all of these CPUs were tested.
    #[must_use]
    pub fn proves_counter(&self, cpus: &[u32]) -> bool {
        self.counter == Trust::Trusted
            && self.verdict != Trust::NotTrusted
            && self.confidence > Confidence::Low
            && self.covers(cpus)
    }

    /// Whether this result replaces an `earlier` one of the same boot. A fault always does.
    /// Otherwise it must be at least as good a proof, for at least the same CPUs: a short run on a busy
    /// machine, or one on a single CPU, does not disprove a long one on all of them.
    #[must_use]
    pub fn supersedes(&self, earlier: &Self) -> bool {
        // A CPU that is now offline cannot be tested again.
        let there = |cpu: &&u32| self.machine_cpus.is_empty() || self.machine_cpus.contains(cpu);
        let needed: Vec<u32> = earlier.cpus.iter().filter(there).copied().collect();
        self.has_fault() || (self.rank() >= earlier.rank() && self.covers(&needed))
    }

    /// The weight of the proof. A fault that was found weighs as much as the best proof.
    fn rank(&self) -> u8 {
        match (self.verdict, self.confidence) {
            _ if self.has_fault() => 2,
            (Trust::Trusted, Confidence::Low) => 1,
            (Trust::Trusted, _) => 2,
            // There was no reference for the rate of the clocks; the counters are still proven.
            (Trust::Unknown, Confidence::Medium | Confidence::High)
                if self.counter == Trust::Trusted =>
            {
                2
            }
            _ => 0,
        }
    }
}

/// The boot that a tree shows: its identity, and whole seconds since it began.
///
/// # Errors
/// Returns the reason if the boot is unknown.
pub fn boot(tree: &dyn Tree) -> Result<(String, u64), Missing> {
    let text = |path: &str| {
        let bytes = tree.read(path, LIMIT)?;
        Ok::<_, Missing>(String::from_utf8_lossy(&bytes).trim().to_owned())
    };
    let id = text(BOOT[0])?;
    let uptime = text(BOOT[1])?;
    let seconds = uptime.split(['.', ' ']).next().and_then(|text| text.parse().ok());
    let seconds = seconds.filter(|_| !id.is_empty()).ok_or_else(|| {
        let why = Why::Unreadable("no seconds since boot in it".to_owned());
        Missing::new(why, tree.describe(BOOT[1]))
    })?;
    Ok((id, seconds))
}

/// The best proof among the results of this boot that are less than a day old: the newest one that no fuller
/// one outweighs.
#[must_use]
pub fn recent(tree: &dyn Tree) -> Option<VerifyResult> {
    read(tree).value().cloned()
}

/// The same, with its source, or the reason why there is none.
#[must_use]
pub fn read(tree: &dyn Tree) -> Fact<VerifyResult> {
    let mut gap: Option<Missing> = None;
    let mut found: Vec<(VerifyResult, Source)> = Vec::new();
    for path in PATHS {
        match one(tree, path) {
            Ok(result) => found.push((result, Source(tree.describe(path)))),
            // A file that cannot be used is a better reason than a missing one.
            Err(missing) => {
                let tells = matches!(missing.why, Why::Unreadable(_) | Why::Permission);
                if gap.is_none() || tells {
                    gap = Some(missing);
                }
            }
        }
    }
    // Stable: of two results of the same age the first place counts.
    found.sort_by_key(|(result, _)| result.age_s);
    let best = found
        .into_iter()
        .rev()
        .reduce(|best, newer| if newer.0.supersedes(&best.0) { newer } else { best });
    match (best, gap) {
        (Some((value, source)), _) => Fact::Known { value, source },
        (None, Some(missing)) => Fact::Missing(missing.how("clocksmith verify")),
        (None, None) => Fact::default(),
    }
}

fn one(tree: &dyn Tree, path: &str) -> Result<VerifyResult, Missing> {
    let bytes = tree.read(path, LIMIT)?;
    let bad = |what: String| Missing::new(Why::Unreadable(what), tree.describe(path));
    let mut result: VerifyResult =
        serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string()))?;
    if result.schema != SCHEMA {
        return Err(bad(format!("its format is {:.60?}, not {SCHEMA}", result.schema)));
    }
    let (boot_id, uptime_s) = boot(tree)?;
    if result.boot_id != boot_id {
        return Err(bad("it is of another boot".to_owned()));
    }
    match uptime_s.checked_sub(result.uptime_s) {
        Some(age) if age < MAX_AGE_S => result.age_s = age,
        Some(_) => return Err(bad("it is older than a day".to_owned())),
        None => return Err(bad("it is of a later time of this boot".to_owned())),
    }
    // A CPU that has come online since then was not tested, and a CPU in an earlier result may no longer exist.
    if let Some(now) = online(tree) {
        let known = result.machine_cpus.iter().copied();
        result.machine_cpus = known.chain(now.0).collect::<CpuList>().0.into_iter().collect();
    }
    Ok(result)
}

fn online(tree: &dyn Tree) -> Option<CpuList> {
    let bytes = tree.read(ONLINE, LIMIT).ok()?;
    CpuList::parse(&String::from_utf8_lossy(&bytes)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::MemoryTree;

    fn result(boot_id: &str, uptime_s: u64) -> VerifyResult {
        VerifyResult {
            schema: SCHEMA.to_owned(),
            version: "0".to_owned(),
            boot_id: boot_id.to_owned(),
            uptime_s,
            time_s: 0,
            kernel: None,
            machine: None,
            clocksource: Some("tsc".to_owned()),
            cpus: vec![0, 1],
            machine_cpus: vec![0, 1],
            verdict: Trust::Trusted,
            confidence: Confidence::High,
            counter: Trust::Trusted,
            clocks: Trust::Trusted,
            detectable_offset_ns: Some(90.0),
            detectable_rate_ppm: Some(11.0),
            detectable_jump_ns: Some(800.0),
            findings: Vec::new(),
            age_s: 0,
        }
    }

    fn tree(files: &[(&str, &VerifyResult)], uptime: &str) -> MemoryTree {
        let mut tree = MemoryTree::new("memory");
        for (path, result) in files {
            tree.insert(path, serde_json::to_vec(result).unwrap());
        }
        tree.insert(BOOT[0], b"this\n".to_vec());
        tree.insert(BOOT[1], uptime.as_bytes().to_vec());
        tree
    }

    #[test]
    fn the_newest_of_this_boot_counts() {
        let (old, new) = (result("this", 100), result("this", 200));
        let uptime = "260.55 400.00\n";
        let found = recent(&tree(&[(PATHS[0], &old), (PATHS[2], &new)], uptime)).unwrap();
        assert_eq!((found.uptime_s, found.age_s), (200, 60));
        let found = recent(&tree(&[(PATHS[1], &old)], uptime)).unwrap();
        assert_eq!((found.uptime_s, found.age_s), (100, 160));
    }

    #[test]
    fn what_says_nothing_any_more_is_not_used() {
        let why = |result: &VerifyResult, uptime: &str| {
            let fact = read(&tree(&[(PATHS[1], result)], uptime));
            fact.reason().unwrap().why.to_string()
        };
        assert!(why(&result("other", 100), "200.0 1").contains("another boot"));
        assert!(why(&result("this", 100), "86500.0 1").contains("older than a day"));
        assert!(recent(&tree(&[(PATHS[1], &result("this", 100))], "86499.9 1")).is_some());
        assert!(why(&result("this", 300), "200.0 1").contains("later time"));
        assert!(why(&result("this", 100), "up").contains("no seconds"));
        let mut strange = result("this", 100);
        strange.schema = "x".to_owned();
        assert!(why(&strange, "200.0 1").contains("format"));
        assert!(read(&MemoryTree::new("memory")).reason().is_some());
    }

    #[test]
    fn recent_partial_result_does_not_hide_a_fuller_one() {
        let (full, mut partial) = (result("this", 100), result("this", 200));
        partial.cpus = vec![0];
        let seen = |newer: &VerifyResult| {
            recent(&tree(&[(PATHS[2], &full), (PATHS[0], newer)], "260.0 1")).unwrap().uptime_s
        };
        assert_eq!(seen(&partial), 100);
        // Alone it counts, for its CPUs.
        let alone = recent(&tree(&[(PATHS[0], &partial)], "260.0 1")).unwrap();
        assert!(alone.is_partial() && alone.covers(&[0]) && !alone.covers(&[0, 1]));
        assert_eq!((alone.scope().as_str(), full.scope().as_str()), ("0 of 0-1", "0-1"));
        // A fault counts however few CPUs were tested.
        partial.counter = Trust::NotTrusted;
        assert_eq!(seen(&partial), 200);
        // An unknown result does not hide a proof.
        let mut unknown = result("this", 200);
        (unknown.verdict, unknown.counter) = (Trust::Unknown, Trust::Unknown);
        assert_eq!(seen(&unknown), 100);
        let mut low = result("this", 200);
        low.confidence = Confidence::Low;
        assert_eq!(seen(&low), 100);
        assert_eq!(seen(&result("this", 200)), 200);
    }

    #[test]
    fn supersedes_fault_only_by_a_full_and_sure_result() {
        let mut fault = result("this", 100);
        (fault.verdict, fault.counter) = (Trust::NotTrusted, Trust::NotTrusted);
        let mut newer = result("this", 200);
        assert!(newer.supersedes(&fault) && fault.supersedes(&newer));
        newer.confidence = Confidence::Low;
        assert!(!newer.supersedes(&fault));
        let mut partial = result("this", 200);
        partial.cpus = vec![1];
        assert!(!partial.supersedes(&fault));
        // CPU 1 has been removed since.
        (partial.cpus, partial.machine_cpus) = (vec![0], vec![0]);
        assert!(partial.supersedes(&fault));
    }

    #[test]
    fn proves_counter_needs_confidence_and_all_cpus() {
        let mut known = result("this", 100);
        assert!(known.proves_counter(&[0, 1]) && known.proves_counter(&[1]));
        assert!(!known.proves_counter(&[0, 2]));
        known.confidence = Confidence::Low;
        assert!(!known.proves_counter(&[0, 1]));
        (known.confidence, known.counter) = (Confidence::High, Trust::Unknown);
        assert!(!known.proves_counter(&[0]));
    }

    #[test]
    fn read_counts_a_cpu_that_came_online_since() {
        let mut tree = tree(&[(PATHS[0], &result("this", 100))], "200.0 1");
        tree.insert(ONLINE, b"0-3\n".to_vec());
        let found = recent(&tree).unwrap();
        assert_eq!((found.is_partial(), found.scope().as_str()), (true, "0-1 of 0-3"));
        // A file of an earlier version does not have the machine's CPUs.
        let mut old = serde_json::to_value(result("this", 100)).unwrap();
        old.as_object_mut().unwrap().remove("machine_cpus").unwrap();
        tree.insert(PATHS[0], serde_json::to_vec(&old).unwrap());
        assert_eq!(recent(&tree).unwrap().scope(), "0-1 of 0-3");
    }

    #[test]
    fn bundles_hold_it() {
        let tree = tree(&[(PATHS[2], &result("this", 100))], "200.0 1");
        let mut packed = Vec::new();
        crate::collect::write_bundle(&tree, &mut packed).unwrap();
        let bundle = crate::tree::BundleTree::read(packed.as_slice(), "bundle").unwrap();
        assert_eq!(recent(&bundle), recent(&tree));
        assert!(recent(&bundle).is_some());
    }
}
