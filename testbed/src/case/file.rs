//! Case files: reading them, resolving inheritance, and multiplying cases by kernels.

use super::fields::Fields;
use super::{Boot, Machine};
use crate::kernel::catalogue::Catalogue;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Something in a case file that cannot be meant.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// `like` does not name an earlier case of the file.
    #[error(
        "case `{case}` is like `{like}`, but no case of that name is above it in the same file"
    )]
    UnknownBase {
        /// The case that inherits.
        case: String,
        /// The name it gives.
        like: String,
    },
    /// A kernel that the catalogue does not have.
    #[error("case `{case}` wants kernel `{kernel}`, which the catalogue (kernels.toml) lacks")]
    UnknownKernel {
        /// The case.
        case: String,
        /// The kernel's name.
        kernel: String,
    },
    /// No kernels at all.
    #[error("case `{case}` names no kernels; say `kernels = [...]` there or in [defaults]")]
    NoKernels {
        /// The case.
        case: String,
    },
    /// Two boots of the same name.
    #[error("two boots are called `{id}`; give one of the cases another name")]
    Twice {
        /// The name.
        id: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    defaults: Fields,
    #[serde(default, rename = "case")]
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    like: Option<String>,
    #[serde(default)]
    on: BTreeMap<String, Fields>,
    #[serde(flatten)]
    fields: toml::Table,
}

/// All boots of all case files in a directory, in the order of the files' names.
pub fn load_directory(directory: &Path, catalogue: &Catalogue) -> Result<Vec<Boot>> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory)
        .with_context(|| {
            format!("reading the case directory {} (--cases DIR chooses one)", directory.display())
        })?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .filter(|path| path.file_name().is_some_and(|name| name != Catalogue::FILE_NAME))
        .collect();
    files.sort();
    let mut boots = Vec::new();
    for path in &files {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("reading the case file {}", path.display()))?;
        let more = parse(&text, catalogue)
            .with_context(|| format!("in the case file {}", path.display()))?;
        boots.extend(more);
    }
    reject_duplicates(&boots)?;
    Ok(boots)
}

/// The boots of one case file's text.
pub fn parse(text: &str, catalogue: &Catalogue) -> Result<Vec<Boot>> {
    let file: File = toml::from_str(text)?;
    let mut seen: BTreeMap<String, Fields> = BTreeMap::new();
    let mut boots = Vec::new();
    for case in file.cases {
        let own: Fields =
            case.fields.try_into().with_context(|| format!("in the case `{}`", case.name))?;
        let base = match &case.like {
            None => &file.defaults,
            Some(like) => seen.get(like).ok_or_else(|| CaseError::UnknownBase {
                case: case.name.clone(),
                like: like.clone(),
            })?,
        };
        let fields = own.over(base);
        boots.extend(boots_of(&case.name, &fields, &case.on, catalogue)?);
        seen.insert(case.name, fields);
    }
    Ok(boots)
}

fn boots_of(
    case: &str,
    fields: &Fields,
    exceptions: &BTreeMap<String, Fields>,
    catalogue: &Catalogue,
) -> Result<Vec<Boot>> {
    let kernels = fields.kernels.as_deref().unwrap_or_default();
    if kernels.is_empty() {
        return Err(CaseError::NoKernels { case: case.into() }.into());
    }
    for named in exceptions.keys().chain(fields.ci.iter().flatten()) {
        if !kernels.contains(named) {
            return Err(
                CaseError::UnknownKernel { case: case.into(), kernel: named.clone() }.into()
            );
        }
    }
    kernels.iter().map(|kernel| boot(case, kernel, fields, exceptions, catalogue)).collect()
}

fn boot(
    case: &str,
    kernel: &str,
    fields: &Fields,
    exceptions: &BTreeMap<String, Fields>,
    catalogue: &Catalogue,
) -> Result<Boot> {
    let entry = catalogue
        .get(kernel)
        .ok_or_else(|| CaseError::UnknownKernel { case: case.into(), kernel: kernel.into() })?;
    let ci = fields.ci.iter().flatten().any(|name| name == kernel);
    let (mut expect, mut verdict) = (fields.expect.clone(), fields.verdict.clone());
    let fields = match exceptions.get(kernel) {
        None => fields.clone(),
        Some(exception) => {
            expect = exception.expect.clone().or(expect);
            verdict = exception.verdict.clone().or(verdict);
            exception.clone().over(fields)
        }
    };
    let expect = expect
        .as_ref()
        .and_then(|expect| expect.for_kernel(kernel))
        .map(|line| line.parse().with_context(|| format!("in `expect` of the case `{case}`")))
        .transpose()?;
    let arch = entry.arch;
    let smp = fields.smp.map_or_else(|| "1".into(), |smp| smp.to_argument());
    Ok(Boot {
        id: format!("{case}@{kernel}"),
        case: case.into(),
        kernel: kernel.into(),
        what: fields.what,
        machine: Machine {
            arch,
            machine: fields.machine.unwrap_or_else(|| arch.machine().into()),
            cpu: fields.cpu.or_else(|| arch.cpu().map(String::from)),
            steady: fields.steady.unwrap_or(arch.is_x86() && smp == "1"),
            smp,
            memory: fields.memory.unwrap_or(entry.memory),
            hpet: fields.hpet,
            acpi: fields.acpi,
            qemu: fields.qemu.unwrap_or_default(),
            packed: fields.packed.unwrap_or(false),
        },
        cmdline: fields.cmdline.unwrap_or_default(),
        run: fields.run,
        expect,
        verdict: verdict.as_ref().and_then(|verdict| verdict.for_kernel(kernel)).map(String::from),
        ci,
        retry_if_log: fields.retry_if_log.unwrap_or_default(),
        deadline: fields.deadline.unwrap_or_else(|| arch.deadline_seconds()),
    })
}

fn reject_duplicates(boots: &[Boot]) -> Result<(), CaseError> {
    let mut ids = BTreeSet::new();
    match boots.iter().find(|boot| !ids.insert(boot.id.as_str())) {
        Some(boot) => Err(CaseError::Twice { id: boot.id.clone() }),
        None => Ok(()),
    }
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
