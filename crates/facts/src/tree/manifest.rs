//! The manifest of a bundle.

use super::{BundleError, MemoryTree};
use crate::Missing;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Maximum bytes of the manifest.
const MAX_MANIFEST: usize = 4 << 20;

/// Name of the manifest.
pub const MANIFEST: &str = "clocksmith.json";
/// The manifest's schema.
pub const SCHEMA: &str = "clocksmith.bundle.v1";

/// The manifest of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: String,
    /// The version of the program that wrote it.
    pub version: String,
    /// The machine's host name.
    pub hostname: String,
    /// An opaque id of the machine, derived from its machine-id(5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_id: Option<String>,
    /// The time of writing, in UTC (`2026-01-02T03:04:05Z`).
    pub time: String,
    /// The place of each file, if it is not the file of its name.
    #[serde(default)]
    pub sources: BTreeMap<String, String>,
    /// The directories that were listed.
    #[serde(default)]
    pub listings: BTreeMap<String, Vec<String>>,
    /// The files that were requested and could not be read.
    #[serde(default)]
    pub missing: Vec<ManifestGap>,
    /// The kernel parameters whose values were masked: passwords, keys, tokens.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub masked: Vec<String>,
}

/// A file that was requested for a bundle and could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestGap {
    /// The path.
    pub path: String,
    /// The reason, the place, and the way to get it.
    #[serde(flatten)]
    pub missing: Missing,
}

/// The manifest among the files, if there is one.
pub(super) fn read(files: &MemoryTree) -> Result<Option<Manifest>, BundleError> {
    let Some((_, content)) = files.files().find(|(path, _)| *path == MANIFEST) else {
        return Ok(None);
    };
    if content.len() > MAX_MANIFEST {
        return Err(BundleError::Manifest("it is too long".to_owned()));
    }
    let manifest: Manifest = serde_json::from_slice(content)
        .map_err(|error| BundleError::Manifest(error.to_string()))?;
    if manifest.schema != SCHEMA {
        let schema = manifest.schema;
        return Err(BundleError::Manifest(format!("schema {schema:?} is not {SCHEMA:?}")));
    }
    Ok(Some(manifest))
}
