//! `testbed disk`: installed systems for developers.

use super::guest::static_program;
use crate::arch::Arch;
use crate::cache::Cache;
use crate::disk::guest::place_of;
use crate::disk::image::Image;
use crate::disk::power::Line;
use crate::disk::{Answer, Disk, Setup, System};
use crate::initramfs::quote;
use crate::qemu::process::start_help;
use anyhow::{Context, Result, bail};
use std::io::{BufRead, Write};
use std::path::Path;
use std::process::Command;

/// Builds a system's image, unless the cache has it, and prints its path.
pub fn build(cache: &Cache, system: System, refresh: bool) -> Result<()> {
    let image = Image::get(cache, system, refresh)?;
    println!("{}", image.path.display());
    Ok(())
}

/// Gives a person the serial line of a booted system.
pub fn shell(cache: &Cache, setup: Setup) -> Result<()> {
    let disk = Disk::powered_off(cache, setup)?;
    eprintln!("Ctrl-A X ends the emulator");
    let status = Command::new(Arch::Amd64.qemu())
        .args(disk.arguments(Line::Terminal)?)
        .status()
        .with_context(|| start_help(Arch::Amd64))?;
    if !status.success() {
        bail!("the emulator ended with {status}");
    }
    Ok(())
}

/// Runs a static program in a booted system and returns its exit status.
pub fn exec(cache: &Cache, setup: Setup, program: &Path, arguments: &[String]) -> Result<i32> {
    let bytes = static_program(program)?;
    let mut disk = Disk::start_with(cache, setup)?;
    disk.settle()?;
    let place = place_of(program);
    disk.push(&place, &bytes)?;
    disk.check(&format!("chmod 755 {}", quote(&place)))?;
    let words: Vec<String> =
        std::iter::once(&place).chain(arguments).map(|word| quote(word)).collect();
    let answer = disk.run(&words.join(" "))?;
    print(&answer)?;
    disk.shutdown()?;
    Ok(answer.code)
}

/// Runs the lines of a file in a booted system, one after the other, until one fails. These are
/// for the testbed itself: `:reboot`, `:power-cut`, `:settle`, `:push FILE PATH`.
pub fn run(cache: &Cache, setup: Setup, script: &Path) -> Result<i32> {
    let file = std::fs::File::open(script)
        .with_context(|| format!("opening the script {}", script.display()))?;
    let lines: Vec<String> = std::io::BufReader::new(file)
        .lines()
        .collect::<Result<_, _>>()
        .with_context(|| format!("reading the script {}", script.display()))?;
    let mut disk = Disk::start_with(cache, setup)?;
    for line in lines.iter().map(|line| line.trim()) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        eprintln!("+ {line}");
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [":reboot"] => disk.reboot()?,
            [":power-cut"] => disk.power_cut()?,
            [":settle"] => eprintln!("{}", disk.settle()?),
            [":push", file, path] => {
                let bytes = std::fs::read(file).with_context(|| format!("reading {file}"))?;
                disk.push(path, &bytes)?;
            }
            [word, ..] if word.starts_with(':') => {
                bail!(
                    "`{line}` is not for a guest, and the testbed does not know it; it knows \
                     :reboot, :power-cut, :settle and :push FILE PATH"
                );
            }
            _ => {
                let answer = disk.run(line)?;
                print(&answer)?;
                if answer.code != 0 {
                    return Ok(answer.code);
                }
            }
        }
    }
    disk.shutdown()?;
    Ok(0)
}

fn print(answer: &Answer) -> Result<()> {
    std::io::stdout().write_all(&answer.stdout).context("writing to standard output")?;
    std::io::stderr().write_all(&answer.stderr).context("writing to standard error")
}
