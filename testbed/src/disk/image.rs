//! Built images, kept in the cache. An image is found again by the checksum of its recipe, and is
//! in a directory named by the checksum of recipe and package versions.

use super::system::System;
use super::{bootstrap, build};
use crate::cache::Cache;
use anyhow::{Context, Result, bail};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::fs::{File, Permissions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A bootable image. It is never written: guests get an overlay each.
#[derive(Clone, Debug)]
pub struct Image {
    /// The system on it.
    pub system: System,
    /// Its file, raw.
    pub path: PathBuf,
}

/// The cache's note about a system's image.
#[derive(Debug, Deserialize, Serialize)]
struct Note {
    recipe: String,
    directory: String,
}

impl Image {
    /// The image of a system, built now if the cache has none; `refresh` builds it from today's
    /// packages in any case.
    pub fn get(cache: &Cache, system: System, refresh: bool) -> Result<Image> {
        if !refresh && let Some(image) = Self::cached(cache, system) {
            return Ok(image);
        }
        bootstrap::check_root()
            .with_context(|| format!("a disk image of {system} has to be built"))?;
        let directory = cache.directory("disk")?;
        let _lock = lock(&directory)?;
        // Another process may have built it while this one waited.
        if !refresh && let Some(image) = Self::cached(cache, system) {
            return Ok(image);
        }
        remove(&directory, |name| name.starts_with("build-"));
        let place = tempfile::Builder::new()
            .prefix("build-")
            .tempdir_in(&directory)
            .with_context(|| format!("making a directory in {}", directory.display()))?;
        let built = build::build(system, place.path())
            .with_context(|| format!("building the disk image {system}"))?;
        let recipe = build::recipe(system);
        let name = format!("{system}-{}", checksum(&[&recipe, &built.packages]));
        let note = Note { recipe: checksum(&[&recipe]), directory: name.clone() };
        cache.write(format!("disk/{name}/packages"), built.packages.as_bytes())?;
        let path = directory.join(&name).join("base.raw");
        std::fs::rename(&built.image, &path)
            .with_context(|| format!("moving the image to {}", path.display()))?;
        let note = cache.write(note_name(system), &serde_json::to_vec_pretty(&note)?)?;
        // Root builds the image, every user may boot it, and no user may write it.
        for path in [&path, &note] {
            std::fs::set_permissions(path, Permissions::from_mode(0o444))
                .with_context(|| format!("setting the permissions of {}", path.display()))?;
        }
        // An image is hundreds of megabytes, and the ones before this are never booted again.
        remove(&directory, |old| {
            let rest = old.strip_prefix(system.name()).and_then(|rest| rest.strip_prefix('-'));
            old != name && rest.is_some_and(|rest| rest.len() == CHECKSUM && !rest.contains('-'))
        });
        Ok(Image { system, path })
    }

    /// The image of a system, if it has been built.
    pub fn cached(cache: &Cache, system: System) -> Option<Image> {
        let note = std::fs::read(cache.path(note_name(system))).ok()?;
        let note: Note = serde_json::from_slice(&note).ok()?;
        let path = cache.path("disk").join(note.directory).join("base.raw");
        let good = note.recipe == checksum(&[&build::recipe(system)]) && path.exists();
        good.then_some(Image { system, path })
    }

    /// Makes a file that keeps a guest's changes of this image.
    pub fn overlay(&self, file: &Path) -> Result<()> {
        let output = Command::new("qemu-img")
            .args(["create", "-q", "-f", "qcow2", "-F", "raw", "-b"])
            .arg(&self.path)
            .arg(file)
            .output()
            .context("starting qemu-img, which makes overlays (Debian package qemu-utils)")?;
        if !output.status.success() {
            bail!(
                "making the overlay {} failed ({}): {}",
                file.display(),
                output.status,
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        Ok(())
    }
}

fn note_name(system: System) -> String {
    format!("disk/{system}.json")
}

/// Characters of a checksum.
const CHECKSUM: usize = 16;

fn checksum(texts: &[&str]) -> String {
    let mut hasher = DefaultHasher::new();
    texts.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// One process builds at a time; the lock ends with the file.
fn lock(directory: &Path) -> Result<File> {
    let path = directory.join("lock");
    let file = File::create(&path).with_context(|| format!("making {}", path.display()))?;
    flock(&file, FlockOperation::LockExclusive).with_context(|| {
        format!("waiting for another build of a disk image ({})", path.display())
    })?;
    Ok(file)
}

/// Removes directories by name. A directory that cannot be removed only takes room.
fn remove(directory: &Path, wanted: impl Fn(&str) -> bool) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        if wanted(&entry.file_name().to_string_lossy()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_of_another_recipe_is_not_used() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::at(directory.path().into());
        let system = System::Debian12;
        cache.write("disk/debian12-x/base.raw", b"").unwrap();
        let note = |recipe: String| {
            let note = Note { recipe, directory: "debian12-x".into() };
            cache.write(note_name(system), &serde_json::to_vec(&note).unwrap()).unwrap();
        };
        assert!(Image::cached(&cache, system).is_none());
        note("old".into());
        assert!(Image::cached(&cache, system).is_none());
        note(checksum(&[&build::recipe(system)]));
        assert!(Image::cached(&cache, system).unwrap().path.ends_with("debian12-x/base.raw"));
    }
}
