//! `vm migrate`: whether a guest can move to these hosts, and how its clock behaves there.

use crate::args::Common;
use crate::args::vm::Migrate;
use crate::exit::Code;
use crate::gather;
use crate::render;
use crate::report::migrate::MigrateReport;
use crate::ui::{err, file as ui_file};
use anyhow::{Context, Result, bail};
use clocksmith_facts::given::{self, Kinds};
use clocksmith_facts::visible;
use clocksmith_vm::migrate::decide::{Answer, decide};
use clocksmith_vm::migrate::fleet::fleet;
use clocksmith_vm::migrate::guest::{self, Frequency, Guest, Manager, Sev};
use clocksmith_vm::migrate::host::{self, Host, HostError};
use std::fs::FileType;
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Files of hosts may be lists of many thousand nodes, in JSON. Other kinds take many times their length in memory.
const MAX_JSON: u64 = 64 << 20;
const MAX_OTHER: u64 = 4 << 20;
/// Names in a directory of hosts.
const MAX_NAMES: usize = 10_000;

pub(crate) fn run(common: &Common, args: &Migrate) -> Result<Code> {
    let mut hosts = Vec::new();
    for path in &args.to {
        read_hosts(path, true, &mut hosts)
            .with_context(|| format!("cannot use {} as a host", path.display()))?;
    }
    if hosts.is_empty() {
        bail!("no host in what --to names");
    }
    let fleet = args.fleet.then(|| fleet(&hosts));
    let guest = match (&args.guest, &args.frequency) {
        (Some(path), _) => Some(
            read_guest(path)
                .with_context(|| format!("cannot use {} as a guest", path.display()))?,
        ),
        (None, Some(hz)) => Some(Guest {
            name: None,
            manager: Manager::Unknown,
            invtsc: Some(args.invtsc),
            frequency: Frequency::Set(host::frequency(hz).context("--frequency")?),
            reenlightenment: false,
            emulated: false,
            clockless: false,
            device: false,
            sev: Sev::No,
        }),
        // A guest that is made for this fleet.
        (None, None) => fleet.as_ref().and_then(|fleet| fleet.best.as_ref()).map(|best| Guest {
            name: None,
            manager: Manager::Unknown,
            invtsc: Some(true),
            frequency: Frequency::Set(u64::from(best.khz) * 1000),
            reenlightenment: false,
            emulated: false,
            clockless: false,
            device: false,
            sev: Sev::No,
        }),
    };
    let answers: Vec<Answer> =
        guest.iter().flat_map(|guest| hosts.iter().map(|host| decide(guest, host))).collect();
    let code = if answers.iter().any(|answer| answer.verdict.goes() == Some(false)) {
        Code::Bad
    } else if answers.is_empty() || answers.iter().any(|answer| answer.verdict.goes().is_none()) {
        Code::Undetermined
    } else {
        Code::Done
    };
    let report = MigrateReport::new(guest, answers, fleet, &hosts);
    if common.json {
        render::json(&report)?;
    } else {
        render::migrate::print(common, &report)?;
    }
    Ok(code)
}

/// Bytes at the beginning of a file that show its kind.
const BEGIN: u64 = 512;

/// The content of a file, by its beginning.
enum Content {
    Text(String),
    /// A compressed file: a bundle.
    Packed,
}

/// Reads a text, or finds a bundle; `json` and `other` are the limits in bytes of JSON and of other text.
fn read(path: &Path, kinds: Kinds, json: u64, other: u64) -> Result<Content> {
    let cannot = || format!("cannot read {}", path.display());
    let mut file = given::open(path, kinds).with_context(cannot)?;
    let mut bytes = given::all((&mut file).take(BEGIN), BEGIN).with_context(cannot)?;
    // gzip, xz, zstd; and a plain tar has its mark at byte 257.
    let packed: [&[u8]; 3] = [b"\x1f\x8b", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd"];
    if packed.iter().any(|magic| bytes.starts_with(magic)) || bytes.get(257..262) == Some(b"ustar")
    {
        return Ok(Content::Packed);
    }
    let begin = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    let most = if begin == Some(&b'{') { json } else { other };
    let length = file.metadata().with_context(cannot)?.len();
    if length > most {
        bail!("{} is larger than {} MiB; split it", path.display(), most >> 20);
    }
    match given::all(file, most.saturating_sub(bytes.len() as u64)) {
        Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => {
            bail!("{} is larger than {} MiB; split it", path.display(), most >> 20)
        }
        rest => bytes.extend(rest.with_context(cannot)?),
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Content::Text(text)),
        Err(_) => bail!("{} is neither text (UTF-8) nor a bundle", path.display()),
    }
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    visible::line(&name.to_string_lossy()).into_owned()
}

/// Reads the hosts of `--to`. Leaves out, and names, entries of a directory that are not regular files.
fn read_hosts(path: &Path, given: bool, hosts: &mut Vec<Host>) -> Result<()> {
    let from_facts =
        |from| -> Result<Host> { Ok(host::facts::of_facts(name_of(path), &gather::facts(from)?)) };
    if path.is_dir() {
        let mirror = ["proc", "sys", "dmesg"].iter().any(|name| path.join(name).exists());
        if mirror {
            hosts.push(from_facts(gather::From { root: Some(path), ..Default::default() })?);
            return Ok(());
        }
        let entries = std::fs::read_dir(path)
            .and_then(Iterator::collect::<std::io::Result<Vec<_>>>)
            .with_context(|| format!("cannot list {}", path.display()))?;
        let mut files: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
        files.sort();
        if files.is_empty() || !given {
            bail!("{} is a directory without files of hosts", path.display());
        }
        if files.len() > MAX_NAMES {
            bail!("{} has more than {MAX_NAMES} names; give lists of hosts", path.display());
        }
        for file in files {
            if ui_file::leaves_out_link(&file) {
                continue;
            }
            if let Some(kind) =
                std::fs::metadata(&file).ok().and_then(|meta| special(meta.file_type()))
            {
                err::line(&format!("clocksmith: {} is {kind}, and is left out", file.display()));
                continue;
            }
            match read_hosts(&file, false, hosts) {
                Err(error) if matches!(error.downcast_ref(), Some(HostError::Foreign(_))) => {
                    err::line(&format!("clocksmith: {} is left out: {error}", file.display()));
                }
                done => {
                    done.with_context(|| format!("cannot use {} as a host", file.display()))?;
                }
            }
        }
        return Ok(());
    }
    let kinds = if given { Kinds::Streams } else { Kinds::Regular };
    match read(path, kinds, MAX_JSON, MAX_OTHER)? {
        Content::Packed => {
            hosts.push(from_facts(gather::From { bundle: Some(path), ..Default::default() })?);
        }
        Content::Text(text) => hosts.extend(host::parse(&name_of(path), &text)?),
    }
    Ok(())
}

/// Returns the kind of a file that is neither a regular file nor a directory.
fn special(kind: FileType) -> Option<&'static str> {
    if kind.is_file() || kind.is_dir() {
        None
    } else if kind.is_fifo() {
        Some("a FIFO")
    } else if kind.is_socket() {
        Some("a socket")
    } else {
        Some("a device")
    }
}

fn read_guest(path: &Path) -> Result<Guest> {
    if path.is_dir() {
        let facts = gather::facts(gather::From { root: Some(path), ..Default::default() })?;
        return Ok(guest::of_facts(&facts));
    }
    let most = clocksmith_vm::document::MAX_BYTES as u64;
    match read(path, Kinds::Streams, most, most)? {
        Content::Packed => {
            let facts = gather::facts(gather::From { bundle: Some(path), ..Default::default() })?;
            Ok(guest::of_facts(&facts))
        }
        Content::Text(text) => Ok(guest::parse(&text)?),
    }
}
