//! The sources of facts: this machine, a mirrored root, a bundle, or only a kernel log.

mod patch;
mod unread;

use crate::prose::{Subjects, Unread};
use anyhow::{Context, Error, Result, anyhow, bail};
use clocksmith_diagnose::{Measured, explain};
use clocksmith_facts::given::{self, Kinds};
use clocksmith_facts::log::{Entry, Event, KernelLog, LogError};
use clocksmith_facts::paste::{self, Pasted, Section};
use clocksmith_facts::tree::bundle::{MANIFEST, Manifest};
use clocksmith_facts::tree::holes::Dense;
use clocksmith_facts::tree::{BundleError, BundleTree, DirTree, LiveTree, Tree as _};
use clocksmith_facts::{Facts, Origin, Why, collect};
use std::io::{Cursor, Read, stdin};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The source to read: a directory, a bundle or a log; without one, this machine.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct From<'a> {
    pub(crate) root: Option<&'a Path>,
    pub(crate) bundle: Option<&'a Path>,
    pub(crate) log: Option<&'a Path>,
}

impl<'a> From<'a> {
    /// The source that a user named. A bundle is one, whichever option names it: as text, most of it would be lost.
    pub(crate) fn named(
        root: Option<&'a Path>,
        bundle: Option<&'a Path>,
        log: Option<&'a Path>,
    ) -> Self {
        match log.filter(|path| is_bundle(path)) {
            Some(path) => Self { root, bundle: Some(path), log: None },
            None => Self { root, bundle, log },
        }
    }

    /// Whether the facts are those of the machine that runs this program.
    pub(crate) fn is_live(&self) -> bool {
        self.root.is_none_or(is_this_machine) && self.bundle.is_none() && self.log.is_none()
    }
}

/// Whether `/proc` and `/sys` of the running kernel are mounted below this directory, as a container mounts those of
/// its host: measurements of this process are valid there.
pub(crate) fn is_this_machine(root: &Path) -> bool {
    matches!(LiveTree::below(root), Ok(Some(_)))
}

/// Whether standard input has content that a diagnosis of this machine does not read: a pipe with bytes in it, or a file
/// from which nothing has been read yet. The input of a loop of a shell (`while read`) is a file that was read in part.
pub(crate) fn has_unread_input() -> bool {
    use rustix::fs::FileType;
    let input = rustix::stdio::stdin();
    let Ok(stat) = rustix::fs::fstat(input) else { return false };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Fifo => rustix::io::ioctl_fionread(input).is_ok_and(|bytes| bytes > 0),
        FileType::RegularFile => {
            stat.st_size > 0 && rustix::fs::tell(input).is_ok_and(|at| at == 0)
        }
        _ => false,
    }
}

/// Reads the facts.
pub(crate) fn facts(from: From<'_>) -> Result<Facts> {
    if let Some(path) = from.log {
        return from_log(path);
    }
    let facts = if let Some(dir) = from.root {
        from_root(dir)?
    } else if let Some(path) = from.bundle {
        from_bundle(path)?
    } else {
        collect::collect(&LiveTree::new(), Origin::Live)
    };
    Ok(facts)
}

fn from_root(dir: &Path) -> Result<Facts> {
    let shown = dir.display();
    if dir.is_file() {
        bail!("{shown} is a file; --root takes a directory, --bundle a bundle, --log a kernel log");
    }
    let unread = || format!("cannot read {shown} as a mirror of a machine's root directory");
    if let Some(tree) = LiveTree::below(dir).with_context(unread)? {
        return Ok(collect::collect(&tree, Origin::Live));
    }
    let tree = DirTree::new(dir).with_context(unread)?;
    let facts = collect::collect(&tree, Origin::Root(shown.to_string()));
    let reasons = [
        facts.kernel.reason(),
        facts.cmdline.reason(),
        facts.log.reason(),
        facts.clocksources.reason(),
        facts.cpuid.reason(),
    ];
    if reasons.iter().any(Option::is_none) {
        return Ok(facts);
    }
    // A file that exists and cannot be read explains more than all files that do not exist.
    let refused = reasons.into_iter().flatten().find_map(|missing| match &missing.why {
        why @ (Why::Permission | Why::Unreadable(_)) => Some((missing.at.as_ref()?, why)),
        _ => None,
    });
    if let Some((at, why)) = refused {
        bail!(
            "cannot use {shown} as a mirror of a machine's root directory: {at}: {why}. Make its \
             files readable, or run as root"
        );
    }
    bail!(
        "{shown} has none of proc/version, proc/cmdline, sys/devices/system/clocksource, dmesg or \
         cpuid: it is not a mirror of a machine. Copy those files with their paths below it, or use a \
         bundle that `clocksmith collect` wrote. In a container, mount those of its host: \
         docker run -v /proc:{shown}/proc:ro -v /sys:{shown}/sys:ro"
    )
}

/// A bundle.
pub(crate) struct Bundled {
    pub(crate) facts: Facts,
    /// The manifest of the bundle.
    pub(crate) manifest: Option<Manifest>,
    /// The costs that `collect` measured on the machine.
    pub(crate) measured: Measured,
}

/// The longest file of measured costs, in bytes.
const MOST_MEASURED: u64 = 64 << 10;

/// Returns the facts, the manifest and the measurements of a bundle.
pub(crate) fn bundle(path: &Path) -> Result<Bundled> {
    read_bundle(path)
}

/// Does the same for one of many bundles: content of more than `most` bytes is read by one thread at a time.
pub(crate) fn bundle_in_turn(path: &Path, most: u64, turn: &Mutex<()>) -> Result<Bundled> {
    let wait = || turn.lock().unwrap_or_else(PoisonError::into_inner);
    // The turn ends when the content is gone.
    let (tree, _turn) =
        BundleTree::open_in_turn(path, most, wait).map_err(|error| not_a_bundle(path, error))?;
    facts_of(&tree, path)
}

fn from_bundle(path: &Path) -> Result<Facts> {
    read_bundle(path).map(|bundled| bundled.facts)
}

fn read_bundle(path: &Path) -> Result<Bundled> {
    let opened = if is_stdin(path) {
        BundleTree::read(stdin().lock(), "standard input")
    } else {
        BundleTree::open(path)
    };
    facts_of(&opened.map_err(|error| not_a_bundle(path, error))?, path)
}

/// Whether a file is a bundle, or a packed mirror of a machine, and not a packed log.
fn is_bundle(path: &Path) -> bool {
    // Of another file only the first block is read; standard input can be read once.
    if is_stdin(path) {
        return false;
    }
    let Ok(tree) = BundleTree::open(path) else { return false };
    let has_facts = || {
        let facts = collect::collect(&tree, Origin::Bundle(String::new()));
        facts.clocksources.reason().is_none() || facts.log.reason().is_none()
    };
    tree.manifest().is_some() || has_facts()
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

fn not_a_bundle(path: &Path, error: BundleError) -> Error {
    if matches!(error, BundleError::NotTar(_)) {
        return anyhow!(
            "{error}. `clocksmith collect` writes bundles; `clocksmith why FILE` reads a log"
        );
    }
    let error = match error {
        // These errors name the file themselves.
        BundleError::Read { .. } | BundleError::NotTar(_) => anyhow!(error),
        _ => anyhow!(error).context(format!("cannot use {} as a bundle", path.display())),
    };
    anyhow!("{error:#}. `clocksmith collect` writes bundles")
}

fn facts_of(tree: &BundleTree, path: &Path) -> Result<Bundled> {
    let facts = collect::collect(tree, Origin::Bundle(path.display().to_string()));
    let measured = match tree.read(collect::MEASURED, MOST_MEASURED) {
        Ok(json) => Measured::kept(&json).map_err(|error| {
            anyhow!(
                "{}: {}: {error}. `clocksmith collect` writes bundles",
                path.display(),
                collect::MEASURED
            )
        })?,
        // The measurement was not requested, or the bundle is of an older version.
        Err(_) => Measured::default(),
    };
    Ok(Bundled { facts, manifest: tree.manifest().cloned(), measured })
}

/// A machine that a text shows.
pub(crate) struct Part {
    /// Its lines; `None` if the whole text is of one machine.
    pub(crate) section: Option<Section>,
    pub(crate) facts: Facts,
    /// Another part of the text quotes it, and is newer.
    pub(crate) is_older: bool,
    /// The subjects of the whole text that have pages.
    pub(crate) about: Subjects,
}

/// A text, read.
struct Text {
    log: KernelLog,
    /// Its lines, if it is short enough to be searched for more than kernel lines.
    lines: Vec<String>,
    /// The depth of quotation of each line.
    depths: Vec<usize>,
    name: String,
}

impl Text {
    fn facts(self) -> Facts {
        facts_of_text(self.log, &self.lines, &self.name)
    }

    /// Returns the subjects of its prose that have a page.
    fn about(&self) -> Subjects {
        Subjects::of(&self.lines)
    }
}

/// Returns the facts of a log and of the lines of its text.
fn facts_of_text(mut log: KernelLog, lines: &[String], name: &str) -> Facts {
    let pasted = Pasted::read(lines, name);
    log.mixed = log.mixed.or_else(|| paste::mixed(lines));
    pasted.take_over(&mut log);
    let mut facts = Facts::from_log(log);
    pasted.complete(&mut facts);
    facts
}

fn from_log(path: &Path) -> Result<Facts> {
    read_text(path).map(Text::facts)
}

/// The machines that a text shows, in its order; one for most texts.
pub(crate) fn text(path: &Path) -> Result<Vec<Part>> {
    let text = read_text(path)?;
    // A whole log with prompts of its console is one text: of several boots the last one is judged, and each machine by
    // itself.
    let is_log = paste::is_whole_log(&text.lines);
    let sections = if is_log { Vec::new() } else { paste::sections(&text.lines) };
    // The order of their lines is that of the boots.
    let ordered = !text.log.is_diff && !text.log.newest_first && text.log.turned.is_empty();
    let sections = if sections.len() > 1 || !ordered {
        sections
    } else {
        told_apart(&text.lines, &text.depths)
    };
    // Stamps that go back have no order of their own; headings give it.
    let sections = match sections.len() {
        0 | 1 if ordered && text.log.mixed.is_some() => paste::in_time(&text.lines),
        _ => sections,
    };
    if sections.len() > 1 {
        let older = paste::older(&sections, &text.lines, &text.depths);
        let parts = sections.into_iter().zip(older);
        let parts = parts.map(|(section, is_older)| part(section, is_older, &text));
        let parts: Vec<Part> = parts.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
        if parts.len() > 1 {
            return Ok(parts);
        }
    }
    let about = text.about();
    let mut text = text;
    if !is_log {
        text.log.mixed =
            text.log.mixed.take().or_else(|| paste::crowded(&text.lines, &text.depths));
    }
    Ok(vec![Part { section: None, facts: text.facts(), is_older: false, about }])
}

/// The machines of a log that names them in its lines, or above them.
fn told_apart(lines: &[String], depths: &[usize]) -> Vec<Section> {
    let headed = paste::headed(lines);
    if headed.len() > 1 {
        return headed;
    }
    let rows = paste::table_rows(lines);
    if rows.len() > 1 {
        return rows;
    }
    match paste::hosts(lines) {
        hosts if hosts.len() > paste::HOSTS => Vec::new(),
        hosts if hosts.len() > 1 => hosts,
        _ => paste::machines(lines, depths),
    }
}

/// One section of a text, if anything in it was recognised.
fn part(section: Section, is_older: bool, whole: &Text) -> Result<Option<Part>> {
    let lines = section.text(&whole.lines);
    let pasted = Pasted::read(&lines, &whole.name);
    let joined = lines.join("\n");
    let log = KernelLog::scan(joined.as_bytes(), &whole.name)?;
    if log.entries.is_empty() && pasted.kinds.is_empty() {
        return Ok(None);
    }
    let facts = facts_of_text(log, &lines, &whole.name);
    Ok(Some(Part { section: Some(section), facts, is_older, about: whole.about() }))
}

fn read_text(path: &Path) -> Result<Text> {
    let standard = is_stdin(path);
    let shown = if standard { "standard input".into() } else { path.to_string_lossy() };
    let (name, reader): (String, Box<dyn Read>) = if standard {
        ("stdin".to_owned(), Box::new(stdin().lock()))
    } else {
        if path.is_dir() {
            bail!("{shown} is a directory; --log takes a file, --root a directory");
        }
        let file = given::open(path, Kinds::Streams)
            .with_context(|| format!("cannot open the kernel log {shown}"))?;
        let name = path
            .file_name()
            .map_or_else(|| shown.to_string(), |name| name.to_string_lossy().into_owned());
        // A file that is being written has an end for this reader: the present one.
        let end = match file.metadata() {
            Ok(meta) if meta.is_file() && meta.len() > 0 => meta.len(),
            _ => u64::MAX,
        };
        (name, Box::new(Dense::new(file).take(end)))
    };
    let reader =
        collect::open_log(reader).with_context(|| format!("cannot read the kernel log {shown}"))?;
    // Reads the part that is searched for more than kernel lines; of the rest the scan keeps lines about clocks.
    let (mut head, mut reader) = (Vec::new(), reader);
    let limit = u64::try_from(paste::LIMIT).unwrap_or(u64::MAX);
    let begun = reader.by_ref().take(limit + 1).read_to_end(&mut head);
    let rest: Box<dyn Read> = match begun {
        Ok(_) => reader,
        // The scan reports the error, after the part that could be read.
        Err(error) => Box::new(Failed(Some(error))),
    };
    if standard && head.starts_with(format!("{MANIFEST}\0").as_bytes()) {
        bail!("standard input is a bundle: `clocksmith why --bundle -` reads it");
    }
    if let Some(error) = unread::own_report(&shown, &head) {
        return Err(error);
    }
    let log = KernelLog::scan(Cursor::new(&head).chain(rest), &name).map_err(|error| match error {
        LogError::Read { error, .. } => anyhow!(
            "cannot read the kernel log {shown} to its end: {error}. It may be cut off or damaged: \
             copy it again, or unpack it first and give the unpacked file"
        ),
        // `iconv` in the advice takes `-` for standard input.
        other => anyhow!(other.named(if standard { "-" } else { &shown })),
    })?;
    let mut log = log;
    let (lines, depths) = if paste::cut(&mut head) {
        log.mixed = paste::lines(&head, &name).ok().and_then(|lines| paste::mixed(&lines));
        Default::default()
    } else {
        paste::quoted_lines(&head, &name)?
    };
    // Examples are of several machines, and of none.
    if log.entries.is_empty() && explain::no_claim(&lines.join("\n")) == Some(explain::EXAMPLES) {
        return Err(Unread::of(&shown, false, &Subjects::of(&lines)).into());
    }
    if log.entries.is_empty() && !log.looks_like_kernel && Pasted::read(&lines, &name).is_empty() {
        if let Some(error) = patch::refused(&shown, &lines) {
            return Err(error);
        }
        // A post names the commands of a hypervisor in passing.
        if !unread::is_prose(&lines)
            && let Some(error) = unread::configuration(&shown, &lines.join("\n"))
        {
            return Err(error);
        }
        return Err(Unread::of(&shown, log.lines == 0, &Subjects::of(&lines)).into());
    }
    // Another system has other remedies and other limits, also where its time daemon prints the same.
    let is_of_daemon = |entry: &Entry| matches!(entry.event, Event::ReadSynchronized(_));
    if log.entries.iter().all(is_of_daemon)
        && paste::other_system(&lines).is_some()
        && Pasted::read(&lines, &name).recognised().kernel_lines == 0
    {
        return Err(Unread::of(&shown, false, &Subjects::of(&lines)).into());
    }
    Ok(Text { log, lines, depths, name })
}

/// A reader that failed.
struct Failed(Option<std::io::Error>);

impl Read for Failed {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}
