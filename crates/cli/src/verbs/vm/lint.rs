//! `vm lint`: the effect of files on the guest's clock.

use super::living;
use super::read::{Found, found, is_stdin, read, shown};
use crate::args::Common;
use crate::args::vm::{Format, Lint};
use crate::exit::Code;
use crate::render;
use crate::report::vm::{LintFile, LintReport, RulesReport};
use crate::ui::err;
use anyhow::{Result, anyhow, bail};
use clocksmith_vm::{Document, Finding, Kind, Severity};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The most names of a directory, and how deep it is looked into.
const MOST_NAMES: usize = 10_000;
const DEEPEST: usize = 16;

/// Runs the verb. A file that cannot be used does not prevent the check of the others.
pub(crate) fn run(common: &Common, args: &Lint) -> Result<Code> {
    if args.list_rules {
        let rules = RulesReport::all();
        if common.json || args.format == Format::Json {
            render::json(&rules)?;
        } else {
            render::vm::rules(common, &rules)?;
        }
        return Ok(Code::Done);
    }
    let mut files = Vec::new();
    for path in &args.files {
        if !is_stdin(path) && path.is_dir() {
            directory(path, args, &mut files)?;
            continue;
        }
        files.push(match one(path, args) {
            Ok(file) => file,
            Err(error) => LintFile::unusable(shown(path), render::error(&error)),
        });
    }
    if let Some(uri) = &args.connect {
        living::domains(uri, args, &mut files)?;
    }
    for error in files.iter().filter_map(|file| file.error.as_ref()) {
        err::line(error);
    }
    let code = code(&files);
    let report = LintReport { schema: "clocksmith.vm-lint.v1", files };
    match args.format {
        _ if common.json => render::json(&report)?,
        Format::Json => render::json(&report)?,
        Format::Sarif => render::json(&render::vm_ci::sarif(&report))?,
        Format::Github => render::text(&render::vm_ci::github(&report))?,
        Format::Junit => render::text(&render::vm_ci::junit(&report))?,
        Format::Text => render::vm::lint(common, &report)?,
    }
    Ok(code)
}

/// The Proxmox VE CPU models that a file may name: those of the tree that it is in, such as /etc/pve. Of a file in a
/// directory where others may make names, other users could have made them.
fn models(path: &Path) -> Option<String> {
    let beside = |above: &Path| above.join("virtual-guest/cpu-models.conf");
    let models = path.ancestors().skip(1).map(beside).find(|file| file.is_file())?;
    let owner = |path: &Path| std::fs::symlink_metadata(path).ok().map(|meta| meta.uid());
    // A directory is examined through a name in it that does not exist.
    let theirs = owner(path).or_else(|| owner(path.parent()?));
    let trusted = |user: u32| {
        user == 0 || user == rustix::process::geteuid().as_raw() || Some(user) == theirs
    };
    let ways = [Some(models.as_path()), models.parent()];
    if let Some(user) =
        ways.into_iter().flatten().find_map(|way| owner(way).filter(|it| !trusted(*it)))
    {
        err::line(&format!(
            "clocksmith: {} is not used: it belongs to another user ({user}) than {}",
            shown(&models),
            shown(path)
        ));
        return None;
    }
    match found(&models, Some("proxmox"), None) {
        Found::Known(document) => Some(document.text.as_str().to_owned()),
        Found::Unusable(_) | Found::Other => None,
    }
}

fn one(path: &Path, args: &Lint) -> Result<LintFile> {
    let (mut document, _) = read(path, args.kind.as_deref(), args.guest.as_deref())?;
    if document.kind == Kind::Proxmox && !is_stdin(path) {
        document.models = models(path);
    }
    judged(path, &document, args)
}

pub(super) fn judged(path: &Path, document: &Document, args: &Lint) -> Result<LintFile> {
    let mut report = clocksmith_vm::lint(document).map_err(|error| {
        anyhow!("cannot use {} as {}: {error}", shown(path), document.kind.name())
    })?;
    let wished = |finding: &mut Finding| args.ignore.iter().any(|id| id == finding.rule.id);
    let by_option: Vec<Finding> = report.findings.extract_if(.., wished).collect();
    report.findings.retain(|finding| finding.severity >= args.min_severity.severity());
    Ok(LintFile::new(shown(path), document, &report, &by_option))
}

/// Every file of a directory whose kind is recognised. A file that cannot be parsed may be of another kind: it is named,
/// and is not an error. One that cannot be looked at is: what it does to a clock is not known.
fn directory(path: &Path, args: &Lint, files: &mut Vec<LintFile>) -> Result<()> {
    let mut names = Names::default();
    walk(path, 0, &mut names)?;
    names.files.sort();
    let mut any = false;
    for deep in &names.deep {
        let why = anyhow!("{} is deeper than {DEEPEST} directories", shown(deep));
        files.push(LintFile::unusable(shown(deep), render::error(&why)));
        any = true;
    }
    let models = models(&path.join("file"));
    for file in names.files {
        let mut document = match found(&file, args.kind.as_deref(), args.guest.as_deref()) {
            Found::Known(document) => *document,
            Found::Unusable(why) => {
                files.push(LintFile::unusable(shown(&file), render::error(&why)));
                any = true;
                continue;
            }
            Found::Other => continue,
        };
        document.models.clone_from(&models);
        any = true;
        match judged(&file, &document, args) {
            Ok(report) => files.push(report),
            Err(error) => err::line(&render::error(&error.context("left out"))),
        }
    }
    if !any {
        bail!("no file of a known kind is in {}", shown(path));
    }
    Ok(())
}

/// What is below a directory.
#[derive(Default)]
struct Names {
    files: Vec<PathBuf>,
    /// Directories that are not looked into.
    deep: Vec<PathBuf>,
}

/// The regular files below a directory; hidden directories and links are left out.
fn walk(path: &Path, depth: usize, names: &mut Names) -> Result<()> {
    let entries =
        std::fs::read_dir(path).map_err(|error| anyhow!("cannot list {}: {error}", shown(path)))?;
    for entry in entries {
        let entry = entry.map_err(|error| anyhow!("cannot list {}: {error}", shown(path)))?;
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && !hidden && depth < DEEPEST {
            walk(&entry.path(), depth + 1, names)?;
        } else if kind.is_dir() && !hidden {
            names.deep.push(entry.path());
        } else if kind.is_file() {
            names.files.push(entry.path());
        }
        if names.files.len() + names.deep.len() > MOST_NAMES {
            bail!("{} has more than {MOST_NAMES} files; name the directories in it", shown(path));
        }
    }
    Ok(())
}

fn code(files: &[LintFile]) -> Code {
    if files.iter().any(|file| file.error.is_some()) {
        return Code::Usage;
    }
    let bad = files.iter().flat_map(|file| &file.findings).any(|f| f.severity >= Severity::Warn);
    if bad { Code::Bad } else { Code::Done }
}
