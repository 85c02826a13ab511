//! Generates the tables of `explain` from the pages in `knowledge/`, so that each text is written once, as Markdown.
//!
//! A page: its title, what it is about, then `## Versions`, `## What it means`, `## What to do`, and the lists `## See also`,
//! `## Words` (other words that mean it; for messages, other parts of their text) and `## Sources`. Of a message the
//! file's name is its id; otherwise the title is. The page of a cause also has `## Kernel lines`, short logs that lead to it, or
//! `## Where it is seen`; `tests/cases.rs` and the book read them. The page of a message has the list `## Events`, if the log
//! parser has events for it: variants of `Event`, or patterns for a part of a variant.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

const KINDS: [&str; 5] = ["causes", "clocksources", "messages", "parameters", "terms"];
const TEXTS: [(&str, &str); 3] =
    [("Versions", "versions"), ("What it means", "so_what"), ("What to do", "do_what")];
const LISTS: [(&str, &str); 3] =
    [("See also", "see_also"), ("Words", "words"), ("Sources", "sources")];
/// Sections of a cause's page that tests and the book read.
const CASES: [&str; 2] = ["Kernel lines", "Where it is seen"];
/// The section with the events that a message's page explains.
const EVENTS: &str = "Events";

type Wrong = Box<dyn std::error::Error>;

fn main() -> Result<(), Wrong> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=knowledge");
    let mut out = String::new();
    let mut events = Vec::new();
    for kind in KINDS {
        writeln!(out, "pub(super) static {}: &[Entry] = &[", kind.to_uppercase())?;
        for path in pages(&Path::new("knowledge").join(kind))? {
            let text = fs::read_to_string(&path)
                .map_err(|error| format!("reading {}: {error}", path.display()))?;
            let entry = entry(kind, &path, &text)
                .map_err(|wrong| format!("{}: {wrong}", path.display()))?;
            out.push_str(&entry);
            if kind == "messages" {
                let listed =
                    listed(&path, &text).map_err(|wrong| format!("{}: {wrong}", path.display()))?;
                events.extend(listed);
            }
        }
        out.push_str("];\n");
    }
    let directory = env::var_os("OUT_DIR").ok_or("OUT_DIR is not set: cargo sets it")?;
    fs::write(Path::new(&directory).join("knowledge.rs"), out)?;
    fs::write(Path::new(&directory).join("events.rs"), ids(events))?;
    Ok(())
}

/// The pages of a kind, by name.
fn pages(directory: &Path) -> Result<Vec<PathBuf>, Wrong> {
    let entries = fs::read_dir(directory)
        .map_err(|error| format!("listing {}: {error}", directory.display()))?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// One page as an `Entry`.
fn entry(kind: &str, path: &Path, text: &str) -> Result<String, String> {
    let text = text.strip_prefix("# ").ok_or("it does not begin with `# TITLE`")?;
    let mut sections = text.split("\n## ");
    let (title, what) =
        sections.next().and_then(|head| head.split_once('\n')).ok_or("it has a title alone")?;
    let mut fields = vec![("what", format!("{:?}", unwrapped(what)))];
    let mut words = vec![title.trim().to_owned()];
    for section in sections {
        let (head, body) = section.split_once('\n').unwrap_or((section, ""));
        if let Some((_, field)) = TEXTS.iter().find(|(name, _)| *name == head) {
            fields.push((field, format!("{:?}", unwrapped(body))));
        } else if let Some((_, field)) = LISTS.iter().find(|(name, _)| *name == head) {
            let items = items(body).map_err(|wrong| format!("## {head}: {wrong}"))?;
            if *field == "words" {
                words.extend(items);
            } else {
                fields.push((field, format!("&{items:?}")));
            }
        } else if !own(kind).contains(&head) {
            return Err(format!("a page of {kind} has no section `## {head}`"));
        }
    }
    fields.push(("words", format!("&{words:?}")));
    let stem = stem(path)?;
    let id = if kind == "messages" { stem } else { words.first().map_or("", String::as_str) };
    fields.push(("id", format!("{id:?}")));
    for (head, field) in TEXTS {
        if !fields.iter().any(|(name, _)| *name == field) {
            return Err(format!("`## {head}` is missing"));
        }
    }
    for (_, field) in LISTS {
        if !fields.iter().any(|(name, _)| *name == field) {
            fields.push((field, "&[]".to_owned()));
        }
    }
    let fields: Vec<String> =
        fields.into_iter().map(|(name, value)| format!("{name}: {value}")).collect();
    Ok(format!("Entry {{ {} }},\n", fields.join(", ")))
}

/// The sections that only pages of this kind have, and `explain` does not show.
fn own(kind: &str) -> &'static [&'static str] {
    match kind {
        "causes" => &CASES,
        "messages" => &[EVENTS],
        _ => &[],
    }
}

fn stem(path: &Path) -> Result<&str, String> {
    Ok(path.file_stem().and_then(|stem| stem.to_str()).ok_or("its name is no UTF-8")?)
}

/// The events that a page of messages lists, each with the id of the page.
fn listed(path: &Path, text: &str) -> Result<Vec<(String, String)>, String> {
    let mut sections = text.split("\n## ").filter_map(|section| section.split_once('\n'));
    let Some((_, body)) = sections.find(|(head, _)| *head == EVENTS) else { return Ok(Vec::new()) };
    let id = stem(path)?;
    let items = items(body).map_err(|wrong| format!("## {EVENTS}: {wrong}"))?;
    Ok(items.iter().map(|item| (item.trim_matches('`').to_owned(), id.to_owned())).collect())
}

/// A match of events to the ids of their pages: patterns for a part of a variant before the variants as a whole.
fn ids(mut events: Vec<(String, String)>) -> String {
    let is_whole = |event: &str| event.bytes().all(|byte| byte.is_ascii_alphanumeric());
    events.sort_by_key(|(event, _)| is_whole(event));
    let mut out = "// An event that is missing here belongs under `## Events` of a page in `knowledge/messages`.\n\
                   match event {\n"
        .to_owned();
    for (event, id) in events {
        let fields = if is_whole(&event) { " { .. }" } else { "" };
        out += &format!("    Event::{event}{fields} => {id:?},\n");
    }
    out + "}\n"
}

/// Text whose lines are wrapped, as one line.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The items of a list, one per line.
fn items(body: &str) -> Result<Vec<String>, String> {
    let lines = body.lines().map(str::trim).filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let item = line.strip_prefix("- ").ok_or(format!("{line:?} is no item"))?;
            Ok(item.trim().to_owned())
        })
        .collect()
}
