//! `vm fix`: fixes files, after it has shown how.

use super::read::{is_stdin, read, read_opened, shown};
use super::write::Target;
use crate::args::Common;
use crate::args::vm::Fix;
use crate::exit::Code;
use crate::render;
use crate::report::vm::{FindingReport, FixFile, FixReport, Mended};
use crate::ui::{err, out};
use anyhow::{Result, anyhow, bail};
use clocksmith_vm::{Choices, Kind, Severity};
use similar::TextDiff;
use std::path::Path;

/// Runs the verb. A file that cannot be used does not prevent the fix of the others.
pub(crate) fn run(common: &Common, args: &Fix) -> Result<Code> {
    if args.apply && args.files.iter().any(|path| is_stdin(path)) {
        bail!(
            "standard input cannot be written; leave --apply out, and apply the diff with patch(1)"
        );
    }
    let mut files = Vec::new();
    for path in &args.files {
        let mut file = FixFile { file: shown(path), ..FixFile::default() };
        if let Err(error) = one(path, args, &mut file) {
            file.error = Some(render::error(&error));
        }
        files.push(file);
    }
    let code = code(&files);
    if files.iter().any(|file| file.written) {
        out::go_on_after_change(
            "the files were written, and `clocksmith vm lint` shows what is left",
        );
    }
    let report = FixReport { schema: "clocksmith.vm-fix.v1", files };
    if common.json {
        render::json(&report)?;
    } else {
        render::vm::fix(common, &report, args.apply)?;
    }
    for error in report.files.iter().filter_map(|file| file.error.as_ref()) {
        err::line(error);
    }
    Ok(code)
}

fn one(path: &Path, args: &Fix, file: &mut FixFile) -> Result<()> {
    let (kind, guest) = (args.kind.as_deref(), args.guest.as_deref());
    if args.apply && path.is_dir() {
        bail!("{0} is a directory; name the files in it, such as {0}/*.xml", shown(path));
    }
    // Opened once: the file that is shown is the file that is replaced.
    let target = args.apply.then(|| Target::open(path)).transpose()?;
    let (document, bytes) = match &target {
        Some(target) => read_opened(path, target.file(), kind, guest)?,
        None => read(path, kind, guest)?,
    };
    let choices = Choices { invtsc: args.invtsc, tsc_frequency: args.tsc_frequency };
    if !choices.is_empty() && !document.kind.takes_choices() {
        bail!(
            "--invtsc and --tsc-frequency are for {} files; {} is of kind {}",
            able(),
            shown(path),
            document.kind.name()
        );
    }
    let fixed = clocksmith_vm::fix(&document, &choices).map_err(|error| {
        anyhow!("cannot use {} as {}: {error}", shown(path), document.kind.name())
    })?;
    file.kind = Some(document.kind);
    file.guest = fixed.report.guest;
    file.guessed = fixed.report.guessed;
    file.overruled = fixed.report.overruled;
    file.partial = fixed.report.partial;
    file.chosen = fixed.chosen;
    file.undecided = fixed.undecided.clone();
    file.followed = !choices.is_empty() && fixed.chosen == 0 && fixed.undecided.is_empty();
    file.mended = fixed
        .mended
        .iter()
        .map(|finding| Mended {
            id: finding.rule.id,
            severity: finding.severity,
            summary: finding.summary.clone().unwrap_or_else(|| finding.rule.summary.to_owned()),
            risk: finding.rule.risk,
        })
        .collect();
    file.left =
        fixed.report.findings.iter().map(|f| FindingReport::new(&fixed.document, f)).collect();
    file.qemu = clocksmith_vm::predict(&fixed.document).map(|p| p.options()).unwrap_or_default();
    let (old, new) = (document.text.as_str(), fixed.document.text.as_str());
    if old == new {
        return Ok(());
    }
    if let Some(target) = &target {
        target.has_one_name()?;
        target.is_writable()?;
    }
    if target.is_none() {
        file.refused = refused(path);
    }
    let diff = TextDiff::from_lines(old, new);
    if target.is_none() {
        let lines = file.left.iter().map(|finding| finding.line);
        file.lines = lines.map(|line| unchanged_line(&diff, line)).collect();
    }
    let name = shown(path);
    let name = if is_stdin(path) { "stdin" } else { name.trim_start_matches('/') };
    file.diff = diff.unified_diff().header(&format!("a/{name}"), &format!("b/{name}")).to_string();
    if let Some(target) = &target {
        let after = document.text.encode(new);
        file.backup = target.replace(&bytes, &after, !args.no_backup)?;
        file.written = true;
    }
    Ok(())
}

/// Returns the line of the file as it is, for a line of the changed text.
fn unchanged_line(diff: &TextDiff<'_, '_, str>, line: u32) -> u32 {
    let wanted = usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1);
    let Some(part) = diff.ops().iter().find(|part| part.new_range().contains(&wanted)) else {
        return line;
    };
    let (old, new) = (part.old_range(), part.new_range());
    // Lines that were added are those where they were.
    let within = (wanted - new.start).min(old.len().saturating_sub(1));
    u32::try_from(old.start + within + 1).unwrap_or(line)
}

/// Why `--apply` would refuse a file.
fn refused(path: &Path) -> Option<String> {
    if is_stdin(path) {
        return Some("standard input cannot be written; apply the diff with patch(1)".to_owned());
    }
    if path.is_dir() {
        return Some("it is a directory; name the files in it".to_owned());
    }
    let may = Target::open(path).and_then(|target| target.may_be_replaced());
    may.err().map(|error| {
        let why = format!("{error:#}");
        why.strip_prefix("not written: ").unwrap_or(&why).to_owned()
    })
}

/// Returns the kinds that choices apply to, as a list for output.
fn able() -> String {
    let kinds: Vec<_> = Kind::all().filter(|kind| kind.takes_choices()).map(Kind::name).collect();
    let (last, others) = kinds.split_last().unwrap_or((&"", &[]));
    format!("{} and {last}", others.join(", "))
}

fn code(files: &[FixFile]) -> Code {
    if files.iter().any(|file| file.error.is_some()) {
        return Code::Usage;
    }
    let left = files.iter().flat_map(|file| &file.left).any(|f| f.severity >= Severity::Warn);
    let undecided = files.iter().any(|file| !file.undecided.is_empty());
    if left || undecided { Code::Bad } else { Code::Done }
}
