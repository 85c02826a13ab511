//! A running system on its own disk, for tests and for developers.

use super::build::end_of;
use super::image::Image;
use super::power::{Hardware, Line, Plan, Start};
use super::system::System;
use super::wire::{Answer, Wire, WireError};
use crate::arch::Arch;
use crate::cache::Cache;
use crate::initramfs::quote;
use crate::qemu::process::Guest;
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The guest that is wanted.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The system.
    pub system: System,
    /// The hardware around it.
    pub hardware: Hardware,
    /// How long a boot may take, and a command.
    pub patience: Duration,
    /// A file for the guest's changes that outlives it; made if it is not there. Without one the
    /// changes go when the [`Disk`] does.
    pub overlay: Option<PathBuf>,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            system: System::default(),
            hardware: Hardware::default(),
            patience: Duration::from_secs(180),
            overlay: None,
        }
    }
}

/// A system on its disk. Its changes are its own: the image underneath does not change.
///
/// The agent inside listens as soon as the system does anything, before its boot is complete;
/// [`Disk::settle`] waits for the rest.
pub struct Disk {
    // First, because that is the order of dropping: the emulator is ended before its files go.
    running: Option<Running>,
    setup: Setup,
    image: Image,
    directory: tempfile::TempDir,
    overlay: PathBuf,
    starts: u32,
}

struct Running {
    wire: Wire,
    boot: String,
    _guest: Guest,
}

impl Disk {
    /// Boots Debian 12 with GRUB, with an image from the user's cache.
    pub fn start() -> Result<Disk> {
        Disk::start_with(&Cache::standard()?, Setup::default())
    }

    /// Boots a system with an image from a cache.
    pub fn start_with(cache: &Cache, setup: Setup) -> Result<Disk> {
        let mut disk = Disk::powered_off(cache, setup)?;
        disk.power_on()?;
        Ok(disk)
    }

    /// A system that has not been started.
    pub fn powered_off(cache: &Cache, setup: Setup) -> Result<Disk> {
        let image = Image::get(cache, setup.system, false)?;
        let directory = tempfile::tempdir().context("making a directory for the guest's files")?;
        let overlay = match &setup.overlay {
            Some(path) => std::path::absolute(path)
                .with_context(|| format!("finding out where {} is", path.display()))?,
            None => directory.path().join("overlay.qcow2"),
        };
        if !overlay.exists() {
            image.overlay(&overlay)?;
        }
        Ok(Disk { setup, image, directory, overlay, starts: 0, running: None })
    }

    /// Starts the emulator, and waits for the agent. A system that already runs is left alone.
    pub fn power_on(&mut self) -> Result<()> {
        if self.running.is_some() {
            return Ok(());
        }
        self.starts += 1;
        let place = self.place();
        std::fs::create_dir_all(&place)
            .with_context(|| format!("making the guest's directory {}", place.display()))?;
        let guest = Guest::start(Arch::Amd64, &self.arguments(Line::Piped)?, &place)?;
        let mut wire = Wire::connect(&self.socket(), Duration::from_secs(10))
            .with_context(|| format!("connecting to the agent{}", self.last_words()))?;
        let boot = wire.hello(self.setup.patience).with_context(|| {
            format!("waiting for {} to boot{}", self.setup.system, self.last_words())
        })?;
        self.running = Some(Running { wire, boot, _guest: guest });
        Ok(())
    }

    /// The emulator's arguments for this system; for [`Line::Terminal`], to run it manually.
    pub fn arguments(&self, line: Line) -> Result<Vec<OsString>> {
        Plan {
            hardware: &self.setup.hardware,
            start: Start::Loader(self.image.system.loader()),
            disk: &self.overlay,
            format: "qcow2",
            unsafe_cache: false,
            socket: &self.socket(),
            line,
        }
        .arguments()
    }

    /// Runs a shell script as root and waits for it.
    pub fn run(&mut self, script: &str) -> Result<Answer> {
        self.run_with(script, b"")
    }

    /// Runs a shell script as root with this standard input, and waits for it.
    pub fn run_with(&mut self, script: &str, input: &[u8]) -> Result<Answer> {
        let patience = self.setup.patience;
        let result = self.wire()?.run(script, input, patience);
        self.explain(result, || format!("running `{}` in the guest", shortened(script)))
    }

    /// Runs a shell script that should succeed, and returns its standard output.
    pub fn check(&mut self, script: &str) -> Result<String> {
        let answer = self.run(script)?;
        if answer.code != 0 {
            bail!(
                "`{}` failed in the guest (status {}): {}{}",
                shortened(script),
                answer.code,
                answer.stdout(),
                answer.stderr()
            );
        }
        Ok(answer.stdout())
    }

    /// Starts a shell script as root without waiting for it, for scripts that are to be
    /// interrupted. The next [`Disk::run`] waits for it, because the agent runs one command at a
    /// time.
    pub fn send(&mut self, script: &str) -> Result<()> {
        let result = self.wire()?.send(script, b"");
        self.explain(result, || format!("sending `{}` to the guest", shortened(script)))
    }

    /// Writes a file in the guest, replacing an existing one. It may not be on disk when this returns: run `sync`.
    pub fn push(&mut self, path: &str, bytes: &[u8]) -> Result<()> {
        let script = format!("cat >{}", quote(path));
        let answer = self.run_with(&script, bytes)?;
        if answer.code != 0 {
            bail!("writing {path} in the guest failed: {}", answer.stderr().trim());
        }
        Ok(())
    }

    /// Reads a file of the guest.
    pub fn pull(&mut self, path: &str) -> Result<Vec<u8>> {
        let answer = self.run(&format!("cat {}", quote(path)))?;
        if answer.code != 0 {
            bail!("reading {path} in the guest failed: {}", answer.stderr().trim());
        }
        Ok(answer.stdout)
    }

    /// Waits until the boot is complete and returns systemd's word for the result: `running`, or
    /// `degraded` if a unit failed.
    pub fn settle(&mut self) -> Result<String> {
        let answer = self.run("systemctl is-system-running --wait")?;
        Ok(answer.stdout().trim().to_string())
    }

    /// The identity of the current boot, from /proc/sys/kernel/random/boot_id.
    pub fn boot_id(&mut self) -> Result<&str> {
        self.running
            .as_ref()
            .map(|running| running.boot.as_str())
            .context("the guest is switched off; power_on() starts it")
    }

    /// Reboots in good order, and waits for the agent of the next boot.
    ///
    /// The next boot gets a new emulator: software emulation takes minutes for a kernel that is loaded over the one
    /// before it.
    pub fn reboot(&mut self) -> Result<()> {
        let before = self.boot_id()?.to_string();
        self.send("systemctl --no-block reboot")?;
        self.wait_off().context("rebooting the guest")?;
        self.power_on()?;
        if self.boot_id()? == before {
            bail!("the guest's agent started again, but in the same boot {before}");
        }
        Ok(())
    }

    /// Waits until the guest has switched itself off, or reset itself, for any reason.
    /// [`Disk::power_on`] boots it again.
    pub fn wait_off(&mut self) -> Result<()> {
        let patience = self.setup.patience;
        let result = self.wire()?.gone(patience);
        self.explain(result, || "waiting for the guest to switch itself off".into())?;
        self.cut();
        Ok(())
    }

    /// Cuts the guest's power: kills its emulator, which loses the data that the guest had not yet
    /// written, and the data that it had not yet flushed. Then boots it again.
    pub fn power_cut(&mut self) -> Result<()> {
        self.cut();
        self.power_on()
    }

    /// Cuts the guest's power and leaves it off.
    pub fn cut(&mut self) {
        self.running = None;
    }

    /// Shuts down in good order, and waits until the guest is off.
    pub fn shutdown(&mut self) -> Result<()> {
        self.send("systemctl --no-block poweroff")?;
        self.wait_off().context("shutting the guest down")
    }

    /// The guest's output on its serial line since the emulator started: boot loader, kernel,
    /// systemd.
    pub fn serial(&self) -> Result<String> {
        let log = self.place().join("serial.log");
        let bytes =
            std::fs::read(&log).with_context(|| format!("reading the log {}", log.display()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The directory of the current start.
    fn place(&self) -> PathBuf {
        self.directory.path().join(format!("start-{}", self.starts))
    }

    fn socket(&self) -> PathBuf {
        self.directory.path().join("agent")
    }

    fn wire(&mut self) -> Result<&mut Wire> {
        self.running
            .as_mut()
            .map(|running| &mut running.wire)
            .context("the guest is switched off; power_on() starts it")
    }

    fn last_words(&self) -> String {
        let place = self.place();
        let said = std::fs::read_to_string(place.join("qemu.err")).unwrap_or_default();
        let said =
            if said.trim().is_empty() { said } else { format!("; the emulator says: {said}") };
        format!("{said}{}", end_of(&place.join("serial.log")))
    }

    fn explain<T>(&self, result: Result<T, WireError>, what: impl FnOnce() -> String) -> Result<T> {
        result.with_context(|| format!("{}{}", what(), self.last_words()))
    }
}

/// The file name of a program as a place for it in the guest.
pub fn place_of(program: &Path) -> String {
    let name = program.file_name().map(|name| name.to_string_lossy().into_owned());
    format!("/usr/local/bin/{}", name.unwrap_or_else(|| "program".into()))
}

fn shortened(script: &str) -> String {
    let line = script.lines().next().unwrap_or_default();
    if line.len() == script.trim_end().len() { line.into() } else { format!("{line} ...") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_scripts_are_shown_by_their_first_line() {
        assert_eq!(shortened("true\n"), "true");
        assert_eq!(shortened("a\nb\n"), "a ...");
    }

    #[test]
    fn programs_go_where_the_search_path_finds_them() {
        assert_eq!(place_of(Path::new("target/x/clocksmith")), "/usr/local/bin/clocksmith");
    }
}
