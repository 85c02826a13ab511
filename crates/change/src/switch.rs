//! The clocksource of the running kernel: which one, which others, and another one.

use clocksmith_facts::given;
use rustix::fs::OFlags;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The directory in which the kernel shows its clocksources.
const DIRECTORY: &str = "/sys/devices/system/clocksource/clocksource0";

/// The reason why a change failed.
#[derive(Debug, Error)]
pub enum ChangeError {
    /// A file could not be read.
    #[error("cannot read {}: {error}. Without it a change could not be reverted", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error.
        error: std::io::Error,
    },
    /// A file could not be written.
    #[error("cannot write {name} to {}: {error}. Only root may, and not in most containers", path.display())]
    Write {
        /// The clocksource that was wanted.
        name: String,
        /// The file.
        path: PathBuf,
        /// The error.
        error: std::io::Error,
    },
    /// The kernel accepted the name but does not use it; the write reports no error.
    #[error("the kernel did not accept {wanted}: {current} is in use (dmesg shows why)")]
    NotTaken {
        /// The clocksource that was wanted.
        wanted: String,
        /// The one in use.
        current: String,
    },
    /// No guardian, no change.
    #[error("cannot start the process that would restore {original}: {error}. Nothing was changed")]
    Guardian {
        /// The clocksource in use.
        original: String,
        /// The error.
        error: std::io::Error,
    },
}

/// The kernel's files about its clocksources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sysfs {
    directory: PathBuf,
}

impl Sysfs {
    /// Those of this machine.
    #[must_use]
    pub fn live() -> Self {
        Self::at(Path::new(DIRECTORY))
    }

    /// Files of the same names in another directory.
    #[must_use]
    pub fn at(directory: &Path) -> Self {
        Self { directory: directory.to_owned() }
    }

    /// The directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    fn read(&self, file: &str) -> Result<String, ChangeError> {
        let path = self.directory.join(file);
        let read = open(fs::OpenOptions::new().read(true), &path)
            .and_then(|file| given::all(file, LONGEST))
            .and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other));
        read.map_err(|error| ChangeError::Read { path, error })
    }

    /// The clocksource in use.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn current(&self) -> Result<String, ChangeError> {
        Ok(self.read("current_clocksource")?.trim().to_owned())
    }

    /// Those that may be chosen, best first.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn available(&self) -> Result<Vec<String>, ChangeError> {
        let text = self.read("available_clocksource")?;
        Ok(text.split_whitespace().map(str::to_owned).collect())
    }

    /// Chooses a clocksource, and reads back whether it is in use: a write succeeds even when the
    /// kernel ignores it.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written, or a different clocksource is in use afterwards.
    pub fn choose(&self, name: &str) -> Result<(), ChangeError> {
        let path = self.directory.join("current_clocksource");
        open(fs::OpenOptions::new().write(true).truncate(true), &path)
            .and_then(|mut file| file.write_all(name.as_bytes()))
            .map_err(|error| ChangeError::Write { name: name.to_owned(), path, error })?;
        let current = self.current()?;
        if current == name {
            Ok(())
        } else {
            Err(ChangeError::NotTaken { wanted: name.to_owned(), current })
        }
    }
}

/// Bytes of one of the files at most.
const LONGEST: u64 = 4096;

/// Opens one of the files. It may be covered by a FIFO, which is not waited for.
fn open(options: &mut fs::OpenOptions, path: &Path) -> io::Result<fs::File> {
    let flags = OFlags::NONBLOCK.union(OFlags::NOCTTY);
    options.custom_flags(flags.bits().cast_signed()).open(path)
}

/// The known facts before a clocksource is chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Those that the kernel offers.
    pub available: Vec<String>,
    /// Those that the kernel has demoted, with the evidence.
    pub demoted: Vec<(String, String)>,
    /// Whether the kernel log reaches back to the boot, so that a demotion would be in it.
    pub log_is_complete: bool,
}

/// The reason why a clocksource must not be made current.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The kernel does not offer it.
    #[error("the kernel does not offer it")]
    NotAvailable,
    /// The tick.
    #[error(
        "it counts ticks: the time would not advance in between, and the kernel leaves its \
         high-resolution mode"
    )]
    Jiffies,
    /// Serves at boot only.
    #[error("it is in use only until the kernel knows the TSC's frequency")]
    Early,
    /// The kernel no longer trusts it.
    #[error("the kernel demoted it: time could go backward ({0})")]
    Demoted(String),
    /// The kernel also offers clocksources that it demoted, and its log does not reach back to that
    /// event.
    #[error(
        "with a periodic tick the kernel also offers clocksources that it has demoted, and its log does \
         not reach back to the boot"
    )]
    CannotTell,
}

/// Whether a clocksource must not be made current, and why. Pure.
#[must_use]
pub fn refuse(name: &str, known: &Known) -> Option<Refusal> {
    if name.ends_with("jiffies") {
        return Some(Refusal::Jiffies);
    }
    if name == "tsc-early" {
        return Some(Refusal::Early);
    }
    if !known.available.iter().any(|other| other == name) {
        return Some(Refusal::NotAvailable);
    }
    if let Some((_, evidence)) = known.demoted.iter().find(|(other, _)| other == name) {
        return Some(Refusal::Demoted(evidence.clone()));
    }
    // With a one-shot tick the list has only clocksources that are valid for high resolution, and a demoted one is not.
    // With a periodic tick it has all of them, `jiffies` too.
    let everything = known.available.iter().any(|other| other.ends_with("jiffies"));
    (everything && !known.log_is_complete).then_some(Refusal::CannotTell)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn known(available: &str) -> Known {
        let available = available.split_whitespace().map(str::to_owned).collect();
        Known { available, demoted: Vec::new(), log_is_complete: true }
    }

    fn files(current: &str) -> (tempfile::TempDir, Sysfs) {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("current_clocksource"), format!("{current}\n")).unwrap();
        fs::write(dir.path().join("available_clocksource"), "tsc hpet acpi_pm \n").unwrap();
        let sysfs = Sysfs::at(dir.path());
        (dir, sysfs)
    }

    #[test]
    fn choose_reads_written_name_back() {
        let (_dir, sysfs) = files("tsc");
        assert_eq!(sysfs.current().unwrap(), "tsc");
        assert_eq!(sysfs.available().unwrap(), ["tsc", "hpet", "acpi_pm"]);
        sysfs.choose("hpet").unwrap();
        assert_eq!(sysfs.current().unwrap(), "hpet");
    }

    #[test]
    fn a_write_that_changes_nothing_is_an_error() {
        let (dir, sysfs) = files("tsc");
        let file = dir.path().join("current_clocksource");
        fs::remove_file(&file).unwrap();
        // Accepts every write without an effect, as the kernel does with an unknown name.
        std::os::unix::fs::symlink("/dev/null", &file).unwrap();
        let error = sysfs.choose("hpet").unwrap_err();
        assert!(matches!(error, ChangeError::NotTaken { .. }), "{error}");
    }

    #[test]
    fn a_fifo_and_an_endless_device_end() {
        let (dir, sysfs) = files("tsc");
        let file = dir.path().join("current_clocksource");
        fs::remove_file(&file).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, &file, mode).unwrap();
        assert!(matches!(sysfs.choose("hpet"), Err(ChangeError::Write { .. })));
        assert!(sysfs.current().is_ok_and(|name| name.is_empty()));
        fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &file).unwrap();
        assert!(matches!(sysfs.current(), Err(ChangeError::Read { .. })));
    }

    #[test]
    fn errors_name_the_attempt() {
        let sysfs = Sysfs::at(Path::new("/nowhere"));
        assert!(sysfs.current().unwrap_err().to_string().contains("/nowhere/current_clocksource"));
        assert!(sysfs.choose("hpet").unwrap_err().to_string().contains("write hpet"));
    }

    #[test]
    fn refuse_demoted_or_unusable_clocksource() {
        let mut machine = known("hpet acpi_pm");
        assert_eq!(refuse("hpet", &machine), None);
        assert_eq!(refuse("tsc", &machine), Some(Refusal::NotAvailable));
        // A periodic tick: everything is listed.
        machine = known("hpet acpi_pm refined-jiffies jiffies tsc");
        assert_eq!(refuse("jiffies", &machine), Some(Refusal::Jiffies));
        assert_eq!(refuse("refined-jiffies", &machine), Some(Refusal::Jiffies));
        machine.demoted.push(("tsc".to_owned(), "dmesg:9".to_owned()));
        assert_eq!(refuse("tsc", &machine), Some(Refusal::Demoted("dmesg:9".to_owned())));
        assert_eq!(refuse("hpet", &machine), None);
        machine.log_is_complete = false;
        assert_eq!(refuse("hpet", &machine), Some(Refusal::CannotTell));
        assert_eq!(refuse("tsc-early", &known("tsc-early hpet")), Some(Refusal::Early));
    }

    proptest! {
        #[test]
        fn nothing_unlisted_or_demoted_is_ever_chosen(
            name in "[a-z_-]{1,12}",
            available in proptest::collection::vec("[a-z_-]{1,12}", 0..5),
            demoted in proptest::collection::vec("[a-z_-]{1,12}", 0..3),
            log_is_complete: bool
        ) {
            let allowed = available.contains(&name) && !demoted.contains(&name);
            let demoted = demoted.into_iter().map(|name| (name, String::new())).collect();
            let known = Known { available, demoted, log_is_complete };
            prop_assert!(allowed || refuse(&name, &known).is_some());
        }
    }
}
