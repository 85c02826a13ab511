//! Kernels ready to boot. The first request for one fetches and unpacks it; later ones find it in
//! the cache, without touching the network.

use super::apt::{Apt, Package};
use super::catalogue::Kernel;
use super::{image, package};
use crate::cache::Cache;
use crate::sources::Mirror;
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// One kernel on disk, and the busybox that goes into its guests.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Ready {
    /// The package it came from.
    pub package: Package,
    /// The image as shipped.
    pub packed: PathBuf,
    /// The image to boot: unpacked, where that is possible.
    pub image: PathBuf,
    /// A static busybox for the architecture.
    pub busybox: PathBuf,
}

/// The store.
pub struct Store<'a> {
    cache: &'a Cache,
    /// Look for newer packages even if the cache has one.
    refresh: bool,
}

impl<'a> Store<'a> {
    /// A store in a cache.
    pub fn new(cache: &'a Cache, refresh: bool) -> Store<'a> {
        Store { cache, refresh }
    }

    /// A kernel, from the cache or from the archive.
    pub fn get(&self, kernel: &Kernel) -> Result<Ready> {
        let note = self.cache.path(format!("ready/{}.json", kernel.name));
        if !self.refresh
            && let Some(ready) = read_note(&note)
        {
            return Ok(ready);
        }
        let ready = self
            .fetch(kernel, self.refresh)
            // Old lists may name packages that the archive no longer has.
            .or_else(|error| if self.refresh { Err(error) } else { self.fetch(kernel, true) })
            .with_context(|| {
                format!("getting the kernel `{}` ({})", kernel.name, kernel.package)
            })?;
        let text = serde_json::to_vec_pretty(&ready)?;
        self.cache.write(format!("ready/{}.json", kernel.name), &text)?;
        Ok(ready)
    }

    fn fetch(&self, kernel: &Kernel, refresh: bool) -> Result<Ready> {
        let mirror = Mirror::of_this_system()?;
        let apt = Apt::open(self.cache, &kernel.suites, kernel.arch, &mirror, refresh)?;
        let package = apt.newest(&kernel.package)?;
        eprintln!("kernel {}: {} {}", kernel.name, package.name, package.version);
        let packed = self.file_of(&apt, &package, "vmlinuz", package::is_kernel_image)?;
        let image = self.unpacked(&package, &packed)?;
        let busybox = apt.newest("busybox-static")?;
        let busybox = self.file_of(&apt, &busybox, "busybox", package::is_busybox)?;
        Ok(Ready { package, packed, image, busybox })
    }

    fn file_of(
        &self,
        apt: &Apt,
        package: &Package,
        name: &str,
        wanted: fn(&str) -> bool,
    ) -> Result<PathBuf> {
        let place = format!("files/{}/{name}", package.sha256);
        let path = self.cache.path(&place);
        if path.exists() {
            return Ok(path);
        }
        let archive = apt.download(package)?;
        let Some(bytes) = package::extract(&archive, wanted)? else {
            bail!("the package {} contains no {name}", package.name);
        };
        let path = self.cache.write(place, &bytes)?;
        // The package itself is large, and everything needed of it is out.
        if let Some(directory) = archive.parent() {
            let _ = std::fs::remove_dir_all(directory);
        }
        Ok(path)
    }

    fn unpacked(&self, package: &Package, packed: &PathBuf) -> Result<PathBuf> {
        let place = format!("files/{}/vmlinux", package.sha256);
        let path = self.cache.path(&place);
        if path.exists() {
            return Ok(path);
        }
        let bytes =
            std::fs::read(packed).with_context(|| format!("reading {}", packed.display()))?;
        if !image::is_bzimage(&bytes) {
            return Ok(packed.clone());
        }
        match image::unpack(&bytes) {
            // Only 64-bit kernels have an entry point that takes the place of the packed one.
            Ok(kernel) if kernel.get(4) == Some(&2) => self.cache.write(place, &kernel),
            Ok(_) => Ok(packed.clone()),
            Err(error) => {
                eprintln!("booting {} packed: {error}", package.name);
                Ok(packed.clone())
            }
        }
    }
}

fn read_note(note: &PathBuf) -> Option<Ready> {
    let ready: Ready = serde_json::from_slice(&std::fs::read(note).ok()?).ok()?;
    let whole = [&ready.packed, &ready.image, &ready.busybox].into_iter().all(|path| path.exists());
    whole.then_some(ready)
}
