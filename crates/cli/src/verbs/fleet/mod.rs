//! `fleet`: the reports of many machines. Bundles become documents here, as `why --bundle` makes them; the tables, the
//! queries and the report are those of a separate program, `clocksmith-fleet`, which receives the documents through a
//! pipe. This keeps `clocksmith` itself small.

mod bundles;
mod engine_run;
mod inputs;

use super::ends_with_this_thread;
use crate::args::{Common, Fleet};
use crate::exit::Code;
use crate::ui::err;
use crate::ui::out::JsonLines;
use anyhow::{Context, Result, bail};
use clocksmith_facts::trusted::{self, Untrusted};
use clocksmith_measure::interrupt;
use engine_run::Ended;
use inputs::Inputs;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The program that has the engine.
const ENGINE: &str = "clocksmith-fleet";

pub(crate) fn run(common: &Common, args: &Fleet) -> Result<Code> {
    if common.root.is_some() {
        bail!("--root is one machine; `fleet` takes bundles and documents of many");
    }
    let inputs = inputs::find(&args.inputs)?;
    if args.lines {
        return lines(&inputs);
    }
    let engine = engine(args)?;
    let mut command = Command::new(&engine);
    command.args(options(common, args));
    // Its files are removed with this value, even by a signal.
    interrupt::listen_with_quit();
    let temporary = tempfile::TempDir::with_prefix("clocksmith-fleet-").with_context(|| {
        let place = std::env::temp_dir();
        format!("cannot write into {}; TMPDIR names another place", place.display())
    })?;
    command.env("TMPDIR", temporary.path());
    // Names of inputs go through a file: a fleet has more of them than a command line can have.
    let mut list =
        tempfile::NamedTempFile::new_in(&temporary).context("cannot write a list of the inputs")?;
    if !inputs.bundles.is_empty() {
        list.write_all(b"-\0")?;
    }
    for input in &inputs.others {
        use std::os::unix::ffi::OsStrExt;
        list.write_all(input.as_os_str().as_bytes())?;
        list.write_all(b"\0")?;
    }
    list.flush()?;
    command.arg("--files-from").arg(list.path());
    if !inputs.bundles.is_empty() {
        command.stdin(Stdio::piped());
    }
    ends_with_this_thread(&mut command);
    let mut child =
        command.spawn().with_context(|| format!("cannot start {}", engine.display()))?;
    let pipe = child.stdin.take();
    let status = match engine_run::feed(&mut child, pipe, &inputs.bundles) {
        Ok(Ended::Itself(status)) => status,
        Ok(Ended::By(signal)) => {
            drop(list);
            drop(temporary);
            return Err(engine_run::end_by(signal));
        }
        Err(error) => {
            return Err(error).with_context(|| format!("cannot write to {}", engine.display()));
        }
    };
    Ok(match status.code() {
        Some(0) => Code::Done,
        Some(2) => Code::Usage,
        Some(3) => Code::Undetermined,
        _ if status.signal() == Some(libc::SIGKILL) => {
            bail!("{} was killed ({status}); --memory 256M uses less memory", engine.display())
        }
        _ => bail!("{} ended unexpectedly ({status})", engine.display()),
    })
}

/// The options that the engine also has.
fn options(common: &Common, args: &Fleet) -> Vec<OsString> {
    let mut out: Vec<OsString> = Vec::new();
    for (given, option) in [
        (common.json, "--json"),
        (common.quiet, "--quiet"),
        (common.no_color, "--no-color"),
        (args.csv, "--csv"),
        (args.tables, "--tables"),
        (args.show_sql, "--show-sql"),
        (args.compact, "--compact"),
        (args.changes, "--changes"),
    ] {
        if given {
            out.push(option.into());
        }
    }
    // With `=`, a value may begin with a dash.
    let mut with = |option: &str, value: Option<OsString>| {
        if let Some(value) = value {
            let mut word = OsString::from(option);
            word.push("=");
            word.push(value);
            out.push(word);
        }
    };
    with("--out", args.out.clone().map(Into::into));
    with("--history", args.history.clone().map(Into::into));
    with("--since", args.since.clone().map(Into::into));
    with("--date", args.date.clone().map(Into::into));
    with("--sql", args.sql.clone().map(Into::into));
    with("--rows", args.rows.map(|rows| rows.to_string().into()));
    with("--memory", args.memory.clone().map(Into::into));
    out
}

/// Returns the engine next to this program, otherwise the one in PATH.
fn engine(args: &Fleet) -> Result<PathBuf> {
    if let Some(engine) = &args.engine {
        return Ok(engine.clone());
    }
    let beside = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.join(ENGINE)));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path =
        std::env::split_paths(&path).filter(|dir| dir.is_absolute()).map(|dir| dir.join(ENGINE));
    let found = beside.into_iter().chain(in_path).find(|file| is_program(file));
    if let Some(file) = &found {
        match trusted::open(file) {
            // The engine may be unreadable, but every directory of its path was checked.
            Ok(_) | Err(Untrusted::Io { error: rustix::io::Errno::ACCESS, .. }) => {}
            Err(error) => bail!(
                "{error}: it is not run, because another user could have written it. Remove it, make root or this user \
                 the only one who can write it and its directories, or name another with --engine"
            ),
        }
    }
    found.context(
        "`fleet` needs the program clocksmith-fleet, which is neither in the directory of clocksmith nor in PATH; \
         install it from the source: cargo install --locked --path fleet (`fleet --lines` prints documents without it)",
    )
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// The documents of bundles, one per line.
fn lines(inputs: &Inputs) -> Result<Code> {
    if let (Some(other), []) = (inputs.others.first(), inputs.bundles.as_slice()) {
        bail!("{} is not a bundle; --lines makes documents from bundles", other.display());
    }
    for other in &inputs.others {
        err::line(&format!("clocksmith: {} is not a bundle, and is left out", other.display()));
    }
    let mut out = JsonLines::new();
    let mut good = 0;
    bundles::each(&inputs.bundles, |line| {
        if let Some(error) = &line.error {
            err::line(&format!("clocksmith: {}: {error}", line.input));
            return Ok(());
        }
        good += 1;
        out.push(&line.document)
    })?;
    out.finish()?;
    Ok(if good > 0 { Code::Done } else { Code::Usage })
}
