//! The machine that is watched: this one, or a directory that mirrors one.

use crate::assess::{self, Live};
use crate::state::may_concern;
use clocksmith_diagnose::Assessment;
use clocksmith_facts::clockdev::ClocksourceDevice;
use clocksmith_facts::hypervisor::HypervisorKind;
use clocksmith_facts::probe::kmsg::{Bounds, Follower};
use clocksmith_facts::tree::{DirTree, Tree};
use clocksmith_facts::{Facts, Missing, Origin, collect};
use clocksmith_measure::verify::{self, Real, Source, Trust, Weight};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::time::Duration;

const DMESG: &str = "dmesg";
const CLOCKSOURCES: &str = "sys/devices/system/clocksource";
/// More devices than any kernel registers.
const DEVICES: usize = 16;
/// Bytes of a file of one short line.
const SMALL: u64 = 1024;
/// Kernel messages that are read at once, in bytes; the rest is read the next time.
const LINES: usize = 256 << 10;
/// The time that one reading of them may cost: under a flood there is one a second, so this is 0.4 % of a CPU.
const READING: Duration = Duration::from_millis(4);
/// Readings in a row that may leave messages for the next one. After them the rest is discarded: messages must be
/// fresh, because sysfs, which confirms or contradicts them, shows the present state.
const BEHIND: u32 = 3;
/// How long a short test of two processors takes.
const TEST: Duration = Duration::from_millis(40);
/// How long it takes once more, when it found a fault.
const AGAIN: Duration = Duration::from_millis(250);

/// The machine.
#[derive(Debug)]
pub struct Machine {
    root: PathBuf,
    /// The directory of a mirror: a later one of the same name may be of another machine.
    mirror: Option<DirTree>,
    /// `None`: a mirror, which cannot be measured.
    live: Option<Live>,
    kernel: Kernel,
    /// Counts the short tests, to go around the processors.
    tests: usize,
    facts: Option<Facts>,
}

/// The source of the kernel's messages.
#[derive(Debug)]
enum Kernel {
    /// The ring buffer, and how many successive readings left some messages.
    Ring(Follower, u32),
    /// A mirror's `dmesg`, and how far it was read.
    File(u64),
    /// Nowhere, and why.
    Nowhere(String),
}

impl Machine {
    /// This machine. Its kernel log is followed from now on, if this user may read it.
    #[must_use]
    pub fn live() -> Self {
        Self::running(PathBuf::from("/"), Live::new())
    }

    /// The machine whose files are below `root`: this one, if they are its mounted `/proc` and `/sys`, otherwise one
    /// that they mirror, whose `dmesg` may grow.
    #[must_use]
    pub fn below(root: PathBuf) -> Self {
        match Live::below(&root) {
            Ok(Some(live)) => Self::running(root, live),
            Ok(None) | Err(_) => Self::mirror(root),
        }
    }

    fn running(root: PathBuf, live: Live) -> Self {
        let kernel = match Follower::at_end() {
            Ok(follower) => Kernel::Ring(follower, 0),
            Err(error) => Kernel::Nowhere(error.to_string()),
        };
        Self { root, mirror: None, live: Some(live), kernel, tests: 0, facts: None }
    }

    fn mirror(root: PathBuf) -> Self {
        let mirror = DirTree::new(&root).ok();
        let dmesg = mirror.as_ref().and_then(|tree| tree.file(DMESG).ok());
        let length = dmesg.and_then(|file| file.metadata().ok()).map_or(0, |meta| meta.len());
        let kernel = Kernel::File(length);
        Self { kernel, root, mirror, live: None, tests: 0, facts: None }
    }

    /// The mirror, while its name leads to it.
    fn mirrored(&self) -> io::Result<&DirTree> {
        let Some(tree) = &self.mirror else {
            return Err(io::Error::other(format!("{} could not be opened", self.root.display())));
        };
        tree.check_place().map_err(|error| {
            io::Error::new(
                error.kind(),
                format!("{error}; its files are no longer followed: start this program again"),
            )
        })?;
        Ok(tree)
    }

    /// Whether it can be measured.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.live.is_some()
    }

    /// Why the kernel's log is not followed, if it is not.
    #[must_use]
    pub fn deaf(&self) -> Option<&str> {
        match &self.kernel {
            Kernel::Nowhere(why) => Some(why),
            Kernel::Ring(..) | Kernel::File(..) => None,
        }
    }

    /// Returns a descriptor that is readable when the kernel has logged a message.
    #[must_use]
    pub fn kernel_fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.kernel {
            Kernel::Ring(follower, _) => Some(follower.as_fd()),
            Kernel::File(_) | Kernel::Nowhere(_) => None,
        }
    }

    /// Returns whether it is a guest, by the result of the last look.
    #[must_use]
    pub fn is_guest(&self) -> bool {
        let hypervisor = self.facts.as_ref().and_then(|facts| facts.hypervisor.value());
        matches!(hypervisor, Some(Some(_)))
    }

    /// Returns the kernel's messages since the last time, as far as they may be about clocks. If
    /// its log can no longer be read, it is no longer followed.
    pub fn kernel_lines(&mut self) -> String {
        if self.live.is_none() && self.mirrored().is_err() {
            return String::new();
        }
        let read = match &mut self.kernel {
            Kernel::Ring(follower, behind) => fresh(follower, behind),
            Kernel::File(from) => {
                let mirror = self.mirror.as_ref();
                Ok(mirror.and_then(|tree| grown(tree, DMESG, from).ok()).unwrap_or_default())
            }
            Kernel::Nowhere(_) => return String::new(),
        };
        match read {
            Ok(text) => text,
            Err(error) => {
                self.kernel = Kernel::Nowhere(error.to_string());
                String::new()
            }
        }
    }

    /// The clocksources in sysfs.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be read.
    pub fn clocksources(&self) -> io::Result<Vec<ClocksourceDevice>> {
        let opened;
        let tree = if self.live.is_some() {
            opened = DirTree::new(&self.root)?;
            &opened
        } else {
            self.mirrored()?
        };
        let names = tree.list(CLOCKSOURCES).map_err(gone)?;
        let mut devices = Vec::new();
        let names = names.iter().filter(|name| name.starts_with("clocksource"));
        for name in names.take(4 * DEVICES) {
            let file = |file| {
                let read = tree.read(&format!("{CLOCKSOURCES}/{name}/{file}"), SMALL);
                read.map_or_else(|_| String::new(), |bytes| String::from_utf8_lossy(&bytes).into())
            };
            let (current, available) = (file("current_clocksource"), file("available_clocksource"));
            devices.extend(ClocksourceDevice::parse(name, &current, &available));
        }
        devices.sort_by_key(|device| device.index);
        devices.truncate(DEVICES);
        Ok(devices)
    }

    /// Looks at all of it, and measures the cost of a read if that is possible.
    ///
    /// # Errors
    /// Returns an error if the mirror cannot be read.
    pub fn look(&mut self) -> io::Result<Assessment> {
        let seen = match &self.live {
            Some(live) => live.assess(true),
            None => {
                let shown = self.root.display().to_string();
                let facts = collect::collect(self.mirrored()?, Origin::Root(shown));
                assess::of(facts, None)
            }
        };
        Ok(seen)
    }

    /// Remembers the facts of a look for the short tests.
    pub fn remember(&mut self, facts: Facts) {
        // The log is by far the largest part, and no test needs it.
        self.facts = Some(Facts { log: clocksmith_facts::Fact::default(), ..facts });
    }

    /// Tests two processors' counters and clocks for a few hundredths of a second, a different pair each time. A fault
    /// must be found twice. `None` if there is nothing to test.
    pub fn test(&mut self) -> Option<(Vec<u32>, Vec<String>)> {
        self.live.as_ref()?;
        let all = Real.cpus();
        let first = self.tests.checked_rem(all.len())?;
        self.tests = self.tests.wrapping_add(1);
        let mut cpus = vec![*all.get(first)?];
        // The partner changes with each round, so that every pair is tested eventually.
        let round = self.tests / all.len();
        let step = 1 + round.checked_rem(all.len().saturating_sub(1)).unwrap_or(0);
        cpus.extend(all.get((first + step) % all.len()).filter(|cpu| !cpus.contains(cpu)));
        let empty = Facts::empty(Origin::Live);
        let facts = self.facts.as_ref().unwrap_or(&empty);
        for duration in [TEST, AGAIN] {
            let faults = faults(facts, cpus.clone(), duration);
            if faults.is_empty() || duration == AGAIN {
                return Some((cpus, faults));
            }
        }
        None
    }
}

fn faults(facts: &Facts, cpus: Vec<u32>, duration: Duration) -> Vec<String> {
    let options = verify_options(facts, Some(cpus), duration);
    let outcome = verify::run_here(&options, &mut verify::History::default());
    if outcome.verdict != Trust::NotTrusted {
        return Vec::new();
    }
    let grave = outcome.findings.into_iter().filter(|finding| finding.weight != Weight::Note);
    grave.map(|finding| finding.summary).collect()
}

/// By how much a clock that a hypervisor derives from its host's may wander: hosts are steered by NTP.
const HOST_WANDER: f64 = 5e-3;
/// How early an emulated read of the counter may be, in nanoseconds: the emulator reads its own processor's counter
/// without waiting for earlier instructions.
const EMULATED_NS: f64 = 200.0;

/// Returns the properties of a machine that a test of counters and clocks needs. Claims about the counter's frequency
/// are left to the caller.
#[must_use]
pub fn verify_options(
    facts: &Facts,
    cpus: Option<Vec<u32>>,
    duration: Duration,
) -> verify::Options {
    let hypervisor = facts.hypervisor.value().and_then(Option::as_ref);
    let emulated = hypervisor.is_some_and(|hypervisor| hypervisor.kind == HypervisorKind::Tcg);
    let current = facts.current_clocksource();
    let current = current.value().copied();
    // A device that a hypervisor makes up.
    let device = ["hpet", "acpi_pm", "refined-jiffies", "jiffies", "pit"];
    let made_up = hypervisor.is_some() && current.is_some_and(|name| device.contains(&name));
    verify::Options {
        duration,
        cpus,
        machine_cpus: facts
            .cpu
            .online
            .value()
            .map_or_else(Vec::new, |online| online.0.iter().copied().collect()),
        claims: Vec::new(),
        counter_is_clock: current
            .is_some_and(|name| name.starts_with("tsc") || name == "arch_sys_counter"),
        wander: if made_up { HOST_WANDER } else { 0.0 },
        early_ns: if emulated { EMULATED_NS } else { 0.0 },
    }
}

/// The fresh lines of the ring buffer that may be about clocks.
fn fresh(follower: &mut Follower, behind: &mut u32) -> io::Result<String> {
    let lines = follower.lines(Bounds { bytes: LINES, cpu: READING }, &may_concern)?;
    *behind = if lines.more { *behind + 1 } else { 0 };
    if *behind >= BEHIND {
        *behind = 0;
        follower.skip()?;
    }
    Ok(lines.text)
}

fn gone(missing: Missing) -> io::Error {
    io::Error::other(missing.why.to_string())
}

/// The whole lines that a file has grown by.
fn grown(tree: &DirTree, path: &str, from: &mut u64) -> io::Result<String> {
    let mut file = tree.file(path).map_err(gone)?;
    let length = file.metadata()?.len();
    if length < *from {
        // The file was written again.
        *from = 0;
    }
    file.seek(SeekFrom::Start(*from))?;
    let mut bytes = Vec::new();
    file.take(LINES as u64).read_to_end(&mut bytes)?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    bytes.truncate(whole);
    *from += whole as u64;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_mirror_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        let sysfs = dir.path().join(CLOCKSOURCES).join("clocksource0");
        std::fs::create_dir_all(&sysfs).unwrap();
        std::fs::write(sysfs.join("current_clocksource"), "tsc\n").unwrap();
        std::fs::write(sysfs.join("available_clocksource"), "tsc hpet \n").unwrap();
        std::fs::write(dir.path().join("dmesg"), "[ 1.0] old\n").unwrap();
        let mut machine = Machine::below(dir.path().to_owned());
        assert_eq!(machine.clocksources().unwrap()[0].available, ["tsc", "hpet"]);
        assert_eq!(machine.kernel_lines(), "");
        let open =
            || std::fs::OpenOptions::new().append(true).open(dir.path().join("dmesg")).unwrap();
        write!(open(), "[ 2.0] new\n[ 3.0] ha").unwrap();
        assert_eq!(machine.kernel_lines(), "[ 2.0] new\n");
        writeln!(open(), "lf").unwrap();
        assert_eq!(machine.kernel_lines(), "[ 3.0] half\n");
        assert!(machine.test().is_none() && machine.look().is_ok());
    }

    #[test]
    fn another_mirror_of_the_same_name_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let make = |name: &str, current: &str| {
            let sysfs = dir.path().join(name).join(CLOCKSOURCES).join("clocksource0");
            std::fs::create_dir_all(&sysfs).unwrap();
            std::fs::write(sysfs.join("current_clocksource"), format!("{current}\n")).unwrap();
            std::fs::write(sysfs.join("available_clocksource"), "tsc hpet \n").unwrap();
            dir.path().join(name)
        };
        let (one, two) = (make("one", "tsc"), make("two", "hpet"));
        std::fs::write(two.join(DMESG), "[ 1.0] of the other\n").unwrap();
        let mut machine = Machine::below(one.clone());
        assert_eq!(machine.clocksources().unwrap()[0].current, "tsc");
        std::fs::rename(&one, dir.path().join("old")).unwrap();
        assert!(machine.clocksources().is_err() && machine.look().is_err());
        std::fs::rename(&two, &one).unwrap();
        let error = machine.clocksources().unwrap_err().to_string();
        assert!(error.contains("is now another directory"), "{error}");
        assert!(machine.look().is_err());
        assert_eq!(machine.kernel_lines(), "");
    }

    #[test]
    fn a_mirror_is_not_left_and_nothing_in_it_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let (outside, mirror) = (dir.path().join("secret"), dir.path().join("mirror"));
        std::fs::write(&outside, "secret\n").unwrap();
        let sysfs = mirror.join(CLOCKSOURCES).join("clocksource0");
        std::fs::create_dir_all(&sysfs).unwrap();
        std::os::unix::fs::symlink(&outside, sysfs.join("current_clocksource")).unwrap();
        std::os::unix::fs::symlink(&outside, mirror.join(DMESG)).unwrap();
        let (fifo, mode) =
            (sysfs.join("available_clocksource"), rustix::fs::Mode::from_raw_mode(0o600));
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, kind, mode, 0).unwrap();
        let mut machine = Machine::below(mirror);
        let devices = format!("{:?}", machine.clocksources());
        assert!(!devices.contains("secret"), "{devices}");
        std::fs::write(&outside, "secret\n[ 2.0] more\n").unwrap();
        assert_eq!(machine.kernel_lines(), "");
    }

    #[test]
    fn every_pair_of_processors_has_its_turn() {
        let mut machine = Machine::live();
        let all = Real.cpus();
        let (cpus, faults) = machine.test().unwrap();
        assert_eq!(cpus.len(), all.len().min(2));
        assert_eq!(faults, Vec::<String>::new());
        assert!(!machine.clocksources().unwrap().is_empty());
    }
}
