//! `vm lint`: what files do to the guest's clock.

use super::read::{read, shown};
use crate::args::Common;
use crate::args::vm::Lint;
use crate::exit::Code;
use crate::render;
use crate::report::vm::{LintFile, LintReport};
use crate::ui::err;
use anyhow::{Result, anyhow};
use clocksmith_vm::Severity;
use std::path::Path;

/// Runs it. A file that cannot be used does not keep the others from being looked at.
pub(crate) fn run(common: &Common, args: &Lint) -> Result<Code> {
    let mut files = Vec::new();
    for path in &args.files {
        files.push(match one(path, args) {
            Ok(file) => file,
            Err(error) => LintFile::unusable(shown(path), render::error(&error)),
        });
    }
    for error in files.iter().filter_map(|file| file.error.as_ref()) {
        err::line(error);
    }
    let code = code(&files);
    let report = LintReport { schema: "clocksmith.vm-lint.v1", files };
    if common.json {
        render::json(&report)?;
    } else {
        render::vm::lint(common, &report)?;
    }
    Ok(code)
}

fn one(path: &Path, args: &Lint) -> Result<LintFile> {
    let (document, _) = read(path, args.kind.as_deref(), args.guest.as_deref())?;
    let report = clocksmith_vm::lint(&document).map_err(|error| {
        anyhow!("cannot use {} as {}: {error}", shown(path), document.kind.name())
    })?;
    Ok(LintFile::new(shown(path), &document, &report))
}

fn code(files: &[LintFile]) -> Code {
    if files.iter().any(|file| file.error.is_some()) {
        return Code::Usage;
    }
    let bad = files.iter().flat_map(|file| &file.findings).any(|f| f.severity >= Severity::Warn);
    if bad { Code::Bad } else { Code::Done }
}
