//! Inputs to rows: one thread reads, some parse, one writes. Order is kept, so the same inputs give the
//! same tables; queues are short, so memory does not grow with the inputs.

use crate::args::Args;
use crate::tables::{Place, Set, Staged};
use crate::{copy, history};
use anyhow::{Context, Result, bail};
use clocksmith_facts::given::{self, Kinds};
use clocksmith_fleet::documents::{self, Document, Lines, MAX_WHOLE, Shape};
use clocksmith_fleet::intake::{self, Intake};
use clocksmith_fleet::newest::{Moment, Served};
use clocksmith_fleet::parse;
use clocksmith_fleet::report::Input;
use clocksmith_fleet::row::Rows;
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, stdin};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{SystemTime, UNIX_EPOCH};

/// Documents, and bytes, that are handed on together.
const BATCH: usize = 256;
const BATCH_BYTES: usize = 1 << 20;
/// Batches that wait for a thread.
const QUEUE: usize = 2;
/// A list of inputs, in bytes at most.
const LIST: u64 = 64 << 20;
/// Bytes that show the kind of an input.
const BEGIN: usize = 512;

/// The given inputs.
pub(crate) struct Inputs {
    /// Files of documents; `-` is standard input.
    pub(crate) documents: Vec<PathBuf>,
    /// Tables of `--out`, and of histories.
    pub(crate) tables: Vec<Set>,
}

impl Inputs {
    pub(crate) fn of(args: &Args) -> Result<Self> {
        let mut all = args.inputs.clone();
        if let Some(list) = &args.files_from {
            let names = given::read(list, Kinds::Regular, LIST)
                .with_context(|| format!("cannot read the list of inputs {}", list.display()))?;
            all.extend(names.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(path));
        }
        let mut inputs = Self { documents: Vec::new(), tables: Vec::new() };
        for input in all {
            if !input.is_dir() {
                inputs.documents.push(input);
                continue;
            }
            let tables = Set::flat(&input);
            let (flat, history) =
                (tables.file(0).is_some_and(Path::is_file), history::is_history(&input));
            if flat {
                inputs.tables.push(tables);
            }
            if history {
                inputs.tables.extend(history::sets(&input)?);
            }
            if !flat && !history {
                bail!(
                    "{} is a directory without hosts.parquet and without hosts/day=...; `clocksmith fleet` reads \
                     directories of bundles and documents",
                    input.display()
                );
            }
        }
        Ok(inputs)
    }
}

fn path(name: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(name))
}

/// Documents of one input.
struct Batch {
    input: Arc<str>,
    /// One document a line: the name includes the line's number.
    lines: bool,
    documents: Vec<Document>,
    /// Why the input cannot be read on.
    error: Option<String>,
}

/// The outcome of a document: its place, and its rows or the reason why there are none.
type Outcome = (String, Result<Rows, String>);

/// Reads all inputs into the tables.
pub(crate) fn all(
    inputs: &[PathBuf],
    date: Option<&str>,
    mut tables: Place,
) -> Result<(Input, Served, Staged)> {
    let threads = std::thread::available_parallelism().map_or(2, usize::from).clamp(1, 16);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let mut intake =
        Intake::new(Moment::try_from(now).unwrap_or(Moment::MAX), date.map(str::to_owned));
    std::thread::scope(|scope| {
        let (mut to, mut from) = (Vec::new(), Vec::new());
        for _ in 0..threads {
            let (send, receive) = sync_channel::<Batch>(QUEUE);
            let (parsed, done) = sync_channel::<Vec<Outcome>>(QUEUE);
            to.push(send);
            from.push(done);
            start(scope, move || parse(&receive, &parsed))?;
        }
        start(scope, move || Reader { to, next: 0 }.read(inputs))?;
        // Batches return in the order in which they were dealt out. The first queue that has ended is
        // the one that would be next, so the others are empty.
        for done in (0..from.len()).cycle() {
            let Some(Ok(batch)) = from.get(done).map(Receiver::recv) else { break };
            for (place, outcome) in batch {
                match outcome {
                    Ok(mut rows) => {
                        intake
                            .report(&mut rows, &place)
                            .context("more than 4 billion documents")?;
                        tables.push(rows)?;
                    }
                    Err(why) => intake.reject(&place, &why),
                }
            }
        }
        // Threads that still wait to send see that the receivers are gone.
        drop(from);
        Ok::<(), anyhow::Error>(())
    })?;
    let (mut counts, served) = intake.finish();
    let staged = tables.finish(&served)?;
    let places: HashMap<u32, String> = match staged.all.file(0) {
        Some(hosts) => copy::places(hosts, &intake::named(&served))?.into_iter().collect(),
        None => HashMap::new(),
    };
    counts.served(&served, |row| places.get(&row).cloned().unwrap_or_default());
    Ok((counts, served, staged))
}

/// Starts a thread; where a limit allows none, that is an error and no panic.
fn start<'scope>(
    scope: &'scope std::thread::Scope<'scope, '_>,
    work: impl FnOnce() + Send + 'scope,
) -> Result<()> {
    let started = std::thread::Builder::new().spawn_scoped(scope, work);
    started
        .map(|_| ())
        .context("cannot start a thread; raise ulimit -u, or pids.max of the control group")
}

fn parse(batches: &Receiver<Batch>, out: &SyncSender<Vec<Outcome>>) {
    while let Ok(batch) = batches.recv() {
        let mut outcomes: Vec<Outcome> = Vec::with_capacity(batch.documents.len() + 1);
        for document in &batch.documents {
            let place = if batch.lines {
                format!("{}:{}", batch.input, document.line)
            } else {
                batch.input.to_string()
            };
            outcomes.push(match &document.text {
                Ok(text) => {
                    let named = parse::parse_named(text);
                    let place = named.input.unwrap_or(place);
                    let rows = named.document.map(|why| Rows::of(&why, &place));
                    (place, rows.map_err(|error| error.to_string()))
                }
                Err(why) => (place, Err((*why).to_owned())),
            });
        }
        if let Some(error) = batch.error {
            outcomes.push((batch.input.to_string(), Err(error)));
        }
        if out.send(outcomes).is_err() {
            return;
        }
    }
}

/// The receivers of batches are gone.
struct Closed;

/// Deals batches out to the threads in turn.
struct Reader {
    to: Vec<SyncSender<Batch>>,
    next: usize,
}

impl Reader {
    fn read(mut self, inputs: &[PathBuf]) {
        for input in inputs {
            if self.one(input).is_err() {
                return;
            }
        }
    }

    fn send(&mut self, batch: Batch) -> Result<(), Closed> {
        let to = self.to.get(self.next).ok_or(Closed)?;
        self.next = (self.next + 1) % self.to.len();
        to.send(batch).map_err(|_| Closed)
    }

    fn one(&mut self, path: &Path) -> Result<(), Closed> {
        let standard = path == Path::new("-");
        let input: Arc<str> = if standard { "stdin".into() } else { path.to_string_lossy().into() };
        let opened: io::Result<Box<dyn Read>> = if standard {
            Ok(Box::new(stdin()))
        } else {
            given::open(path, Kinds::Streams).map(|file| Box::new(file) as Box<dyn Read>)
        };
        let read = match opened {
            Ok(reader) => self.documents(&input, reader)?,
            Err(error) => Err(error.to_string()),
        };
        match read {
            Ok(()) => Ok(()),
            Err(why) => {
                let error = Some(format!("cannot be read: {why}"));
                self.send(Batch { input, lines: false, documents: Vec::new(), error })
            }
        }
    }

    fn documents(
        &mut self,
        input: &Arc<str>,
        reader: Box<dyn Read>,
    ) -> Result<Result<(), String>, Closed> {
        let mut reader = BufReader::with_capacity(1 << 18, reader);
        let mut begin = Vec::with_capacity(BEGIN);
        if let Err(error) = (&mut reader).take(BEGIN as u64).read_to_end(&mut begin) {
            return Ok(Err(error.to_string()));
        }
        let shape = documents::shape(&begin);
        let reader = BufReader::with_capacity(1 << 18, io::Cursor::new(begin).chain(reader));
        match shape {
            Shape::Lines => self.lines(input, reader),
            Shape::Whole => {
                let mut text = Vec::new();
                if let Err(error) = reader.take(MAX_WHOLE as u64 + 1).read_to_end(&mut text) {
                    return Ok(Err(error.to_string()));
                }
                if text.len() > MAX_WHOLE {
                    return Ok(Err(
                        "it is one JSON text of more than 64 MiB; make it one document a \
                                   line: jq -c '.[]?' FILE"
                            .to_owned(),
                    ));
                }
                let documents = documents::whole(&text);
                drop(text);
                let lines = documents.len() > 1;
                self.send(Batch { input: input.clone(), lines, documents, error: None })?;
                Ok(Ok(()))
            }
            Shape::Packed => {
                Ok(Err("it is compressed. A bundle goes through `clocksmith fleet`; uncompress \
                        documents first: zcat FILE | clocksmith fleet -"
                    .to_owned()))
            }
            Shape::Parquet => {
                Ok(Err("it is a Parquet file; give the directory with all three tables".to_owned()))
            }
        }
    }

    fn lines(
        &mut self,
        input: &Arc<str>,
        reader: impl BufRead,
    ) -> Result<Result<(), String>, Closed> {
        let mut lines = Lines::new(reader);
        let mut batch = Vec::with_capacity(BATCH);
        let mut bytes = 0;
        let whole = |documents| Batch { input: input.clone(), lines: true, documents, error: None };
        loop {
            match lines.next_document() {
                Ok(Some(document)) => {
                    bytes += document.text.as_ref().map_or(0, Vec::len);
                    batch.push(document);
                    if batch.len() >= BATCH || bytes >= BATCH_BYTES {
                        bytes = 0;
                        let full = std::mem::replace(&mut batch, Vec::with_capacity(BATCH));
                        self.send(whole(full))?;
                    }
                }
                end => {
                    self.send(whole(batch))?;
                    return Ok(end.map(|_| ()).map_err(|error| error.to_string()));
                }
            }
        }
    }
}
