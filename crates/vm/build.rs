//! Generates the rules from the Markdown pages next to the code that finds them, so that each text is written once.
//!
//! A page has a section for each rule, `## ID`, with a line for each of: `Error:`, `Warn:` or `Info:` (the severity,
//! and a summary of the problem), `Why:`, `Risk:`, `Source:`. A line that a section omits is taken from the rule, of
//! any page, that its line `Like:` names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

type Wrong = Box<dyn std::error::Error>;

const SEVERITIES: [&str; 3] = ["Error", "Warn", "Info"];

/// A section of a page: its id, and its lines by their first word.
struct Section {
    id: String,
    lines: BTreeMap<String, String>,
}

/// A page, with the name by which the code refers to it.
struct Page {
    name: String,
    path: PathBuf,
    sections: Vec<Section>,
}

fn main() -> Result<(), Wrong> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/parameters.md");
    println!("cargo::rerun-if-changed=src/formats");
    let mut pages = vec![page("parameters", Path::new("src/parameters.md"))?];
    for entry in fs::read_dir("src/formats").map_err(|error| format!("src/formats: {error}"))? {
        let entry = entry?;
        let path = entry.path().join("rules.md");
        if path.is_file() {
            let name = entry.file_name();
            pages.push(page(name.to_str().ok_or("a format's name is no UTF-8")?, &path)?);
        }
    }
    let directory = env::var_os("OUT_DIR").ok_or("OUT_DIR is not set: cargo sets it")?;
    for page in &pages {
        let mut out = "&[\n".to_owned();
        for section in &page.sections {
            out += &rule(section, &pages)
                .map_err(|wrong| format!("{}, {}: {wrong}", page.path.display(), section.id))?;
        }
        out.push(']');
        let path = Path::new(&directory).join(format!("{}.rs", page.name));
        fs::write(&path, out).map_err(|error| format!("writing {}: {error}", path.display()))?;
    }
    Ok(())
}

fn page(name: &str, path: &Path) -> Result<Page, Wrong> {
    let text =
        fs::read_to_string(path).map_err(|error| format!("reading {}: {error}", path.display()))?;
    let sections = text.split("\n## ").skip(1).map(section).collect();
    Ok(Page { name: name.to_owned(), path: path.to_owned(), sections })
}

fn section(text: &str) -> Section {
    let (id, body) = text.split_once('\n').unwrap_or((text, ""));
    let lines = body.lines().filter_map(|line| line.split_once(": "));
    let lines = lines.map(|(word, rest)| (word.to_owned(), rest.trim_end().to_owned())).collect();
    Section { id: id.trim().to_owned(), lines }
}

/// A section as a `Rule`.
fn rule(section: &Section, pages: &[Page]) -> Result<String, String> {
    let like = match section.lines.get("Like") {
        Some(id) => pages
            .iter()
            .flat_map(|page| &page.sections)
            .find(|other| other.id == *id)
            .ok_or(format!("it is like {id}, which no page has"))?,
        None => section,
    };
    let said = |word| section.lines.get(word).or_else(|| like.lines.get(word));
    let (severity, summary) = [section, like]
        .iter()
        .flat_map(|section| SEVERITIES.map(|word| (word, section.lines.get(word))))
        .find_map(|(word, said)| Some((word, said?)))
        .ok_or("its line `Error:`, `Warn:` or `Info:` is missing")?;
    let mut rule = format!(
        "crate::finding::Rule {{ id: {:?}, severity: crate::finding::Severity::{severity}, summary: {summary:?}",
        section.id
    );
    for word in ["Why", "Risk", "Source"] {
        let said = said(word).ok_or(format!("its line `{word}:` is missing"))?;
        rule += &format!(", {}: {said:?}", word.to_lowercase());
    }
    Ok(rule + " },\n")
}
