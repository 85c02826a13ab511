//! The catalogue of kernels, `kernels.toml`: a short name, and the package it stands for.

use crate::arch::Arch;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::path::Path;

/// All kernels that cases can name.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    #[serde(rename = "kernel")]
    kernels: Vec<Kernel>,
}

/// One kernel.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// The name that cases use.
    pub name: String,
    /// Its architecture.
    pub arch: Arch,
    /// The archive's suites to look in.
    pub suites: Vec<String>,
    /// The package's name; `*` stands for any part without a dash, and the newest match is taken.
    pub package: String,
    /// MiB of memory the kernel needs to be comfortable.
    #[serde(default = "default_memory")]
    pub memory: u32,
}

fn default_memory() -> u32 {
    512
}

impl Catalogue {
    /// Its name in the directory of the case files.
    pub const FILE_NAME: &'static str = "kernels.toml";

    /// Reads the catalogue of a case directory.
    pub fn load(directory: &Path) -> Result<Catalogue> {
        let path = directory.join(Self::FILE_NAME);
        let text = std::fs::read_to_string(&path).with_context(|| {
            format!(
                "reading the catalogue of kernels {} (run from the repository, or give --cases DIR)",
                path.display()
            )
        })?;
        Self::parse(&text).with_context(|| format!("in the catalogue {}", path.display()))
    }

    /// Reads a catalogue's text.
    pub fn parse(text: &str) -> Result<Catalogue> {
        Ok(toml::from_str(text)?)
    }

    /// The kernel of a name.
    pub fn get(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }

    /// The names, for messages.
    pub fn names(&self) -> Vec<&str> {
        self.kernels.iter().map(|kernel| kernel.name.as_str()).collect()
    }
}
