//! What an earlier `clocksmith verify` found on this machine, in this boot.
//!
//! `verify` keeps its result in a file: as root below `/var/lib/clocksmith` (or `/run/clocksmith`),
//! else in the user's state directory, which a tree has as the virtual file `verify`. A result of
//! another boot, or one that is a day old, says nothing any more. Its age goes by the time since
//! boot, so a wall clock that was set changes nothing, and a bundle reads as the machine did.

use crate::tree::Tree;
use crate::{Fact, Missing, Source, Why};
use serde::{Deserialize, Serialize};

/// Where results may lie in a tree.
pub const PATHS: [&str; 3] =
    ["verify", "run/clocksmith/verify.json", "var/lib/clocksmith/verify.json"];
/// The file of the boot's identity, and that of the time since boot.
pub const BOOT: [&str; 2] = ["proc/sys/kernel/random/boot_id", "proc/uptime"];
/// The name of the format.
pub const SCHEMA: &str = "clocksmith.verify-result.v1";
/// A result that is older than this is not used, in seconds.
pub const MAX_AGE_S: u64 = 24 * 3600;
/// Longest file, in bytes.
const LIMIT: u64 = 64 << 10;

/// Whether something can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// Nothing speaks against it.
    Trusted,
    /// A fault was found.
    NotTrusted,
    /// It could not be tested.
    Unknown,
}

/// How sure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sureness {
    /// Only large faults would have been seen.
    Low,
    /// Faults that matter to most programs would have been seen.
    Medium,
    /// Faults of a microsecond and of 50 ppm would have been seen.
    High,
}

/// A finding, in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Its id: `counter-offset`.
    pub id: String,
    /// Whether it is a fault, of counter or clocks; otherwise it is a note.
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
    /// Seconds since 1970 at its end, for people.
    pub time_s: u64,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Processor, and hypervisor if there is one.
    pub machine: Option<String>,
    /// The clocksource in use.
    pub clocksource: Option<String>,
    /// The processors that were tested.
    pub cpus: Vec<u32>,
    /// The worse of the two below.
    pub verdict: Trust,
    /// How sure it is.
    pub confidence: Sureness,
    /// The counter that programs may read themselves.
    pub counter: Trust,
    /// The kernel's clocks.
    pub clocks: Trust,
    /// The smallest offset between processors that would have been seen, in nanoseconds.
    pub detectable_offset_ns: Option<f64>,
    /// The smallest error of the counter's rate, in millionths.
    pub detectable_rate_ppm: Option<f64>,
    /// The smallest jump of the counter, in nanoseconds.
    pub detectable_jump_ns: Option<f64>,
    /// Faults and notes.
    pub findings: Vec<Finding>,
    /// Its age in seconds when it was read; not in the file.
    #[serde(default)]
    pub age_s: u64,
}

/// The boot that a tree shows: its identity, and whole seconds since it began.
///
/// # Errors
/// Why that is not known.
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

/// The newest result of this boot that is less than a day old.
#[must_use]
pub fn recent(tree: &dyn Tree) -> Option<VerifyResult> {
    read(tree).value().cloned()
}

/// The same, with its place, or the reason why there is none.
#[must_use]
pub fn read(tree: &dyn Tree) -> Fact<VerifyResult> {
    let mut gap: Option<Missing> = None;
    let mut best: Option<(VerifyResult, Source)> = None;
    for path in PATHS {
        match one(tree, path) {
            Ok(found) if best.as_ref().is_none_or(|(known, _)| found.age_s < known.age_s) => {
                best = Some((found, Source(tree.describe(path))));
            }
            Ok(_) => {}
            // A file that cannot be used tells more than one that is not there.
            Err(missing) => {
                let tells = matches!(missing.why, Why::Unreadable(_) | Why::Permission);
                if gap.is_none() || tells {
                    gap = Some(missing);
                }
            }
        }
    }
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
    Ok(result)
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
            verdict: Trust::Trusted,
            confidence: Sureness::High,
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
    fn bundles_hold_it() {
        let tree = tree(&[(PATHS[2], &result("this", 100))], "200.0 1");
        let mut packed = Vec::new();
        crate::collect::write_bundle(&tree, &mut packed).unwrap();
        let bundle = crate::tree::BundleTree::read(packed.as_slice(), "bundle").unwrap();
        assert_eq!(recent(&bundle), recent(&tree));
        assert!(recent(&bundle).is_some());
    }
}
