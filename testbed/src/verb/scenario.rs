//! `testbed scenario`: plays scenarios on kernels, prints the observations, writes the page.

use crate::cache::Cache;
use crate::qemu::arguments::Accel;
use crate::scenario::place::{Place, Programs};
use crate::scenario::{self, KERNELS, NAMES, PARAVIRT, Story, page};
use anyhow::{Context, Result, bail};
use std::path::Path;

/// How often a scenario is repeated that could not be played to its end: emulated hardware fails a
/// guest now and then on a busy host.
const RETRIES: u32 = 1;

/// The scenarios to play, and the kernels.
pub struct Wanted<'a> {
    /// Names of scenarios with commas between, or `all`.
    pub names: &'a str,
    /// Names of kernels with commas between, or `all`.
    pub kernels: &'a str,
    /// Emulation or virtualization.
    pub accel: Accel,
    /// The programs in the guests.
    pub programs: Programs<'a>,
    /// The page to write.
    pub output: Option<&'a Path>,
}

/// Plays the scenarios, prints each story as JSON, and returns whether all went well. With several
/// scenarios, one that cannot be played to its end is reported as a problem and does not stop the
/// others.
pub fn scenario(wanted: &Wanted<'_>, cases: &Path, cache: &Cache) -> Result<bool> {
    let names =
        choose(wanted.names, if wanted.programs.paravirt.is_some() { PARAVIRT } else { NAMES });
    let kernels = choose(wanted.kernels, KERNELS);
    if let Some(name) = names.iter().find(|name| !NAMES.contains(name)) {
        bail!("no scenario is called `{name}`; there are {NAMES:?} and `all`");
    }
    if wanted.programs.paravirt.is_some()
        && let Some(name) = names.iter().find(|name| !PARAVIRT.contains(name))
    {
        bail!("the scenario `{name}` is not for a hypervisor's clock; there are {PARAVIRT:?}");
    }
    let asks = names.iter().find(|name| ["switch", "wall-clock"].contains(*name));
    if let Some(name) = asks
        && wanted.programs.clocksmith.is_none()
    {
        bail!("the scenario `{name}` asks a static program in the guest: --guest-clocksmith PATH");
    }
    let alone = names.len() * kernels.len() == 1;
    let mut stories = Vec::new();
    for kernel in kernels {
        let place = Place::new(cases, cache, kernel, wanted.accel, &wanted.programs)?;
        for name in &names {
            let Some(story) = play(name, &place) else { continue };
            let story = match story.with_context(|| format!("in the scenario `{name}`")) {
                Err(error) if !alone => Story::broken(name, &place, &error),
                story => story?,
            };
            println!("{}", serde_json::to_string_pretty(&story)?);
            if !alone {
                eprintln!("{:13} {:5} {}", story.scenario, story.kernel, story.summary());
            }
            stories.push(story);
        }
    }
    if let Some(path) = wanted.output {
        crate::record::write_file(path, &page::markdown(&stories))?;
    }
    Ok(stories.iter().all(|story| story.problems.is_empty()))
}

/// Plays one; again, if its guest did not come up or stopped responding. A scenario with observations
/// is not tried again.
fn play(name: &str, place: &Place) -> Option<Result<Story>> {
    for _ in 0..RETRIES {
        match scenario::play(name, place)? {
            Err(error) => eprintln!("{name} on {} once more: {error:#}", place.kernel_name()),
            story => return Some(story),
        }
    }
    scenario::play(name, place)
}

fn choose<'a>(wanted: &'a str, all: &[&'a str]) -> Vec<&'a str> {
    if wanted == "all" { all.to_vec() } else { wanted.split(',').map(str::trim).collect() }
}
