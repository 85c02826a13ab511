//! The format of every file in Rust that git tracks.
//!
//! `cargo fmt` finds files by the `mod` items of the crates that it knows; a file that none of them names is formatted by its own
//! name.

use crate::ask::ask;
use crate::call::{Answer, call};
use crate::context::Context;
use crate::needs::RUSTFMT;
use crate::step::{Done, Step, Stop, Tier};
use crate::steps::rust::WORKSPACES;
use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

/// The settings of rustfmt: others, nearer to a file, could switch it off.
const SETTINGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../rustfmt.toml");
/// Where no manifest above a file states one.
const EDITION: &str = "2024";

pub(crate) static FMT: Step = Step {
    name: "fmt",
    what: "rustfmt changes nothing",
    tier: Tier::Default,
    emulated: false,
    beside: false,
    seconds: 2,
    budget: 20,
    short: None,
    needs: &[RUSTFMT],
    uses: &[],
    run: fmt,
};

fn fmt(context: &Context) -> Done {
    // It also colours a file.
    let plain = !std::io::stdout().is_terminal() || std::env::var_os("NO_COLOR").is_some();
    let colour = if plain { "--color never" } else { "" };
    let mut bad = Vec::new();
    let mut seen = BTreeSet::new();
    // Also those beside the workspace.
    for manifest in WORKSPACES {
        // `--all` also takes the crates that are used by their paths; those of the workspace are done by then.
        let all = if manifest == WORKSPACES[0] { "--all" } else { "" };
        let fmt = call("cargo fmt --check").args(all).arg("--manifest-path").arg(manifest);
        let answer = fmt
            .args("-- --verbose --config-path")
            .arg(SETTINGS)
            .args(colour)
            .hidden()
            .answer(context)?;
        seen.extend(said(&answer));
        if answer.late.is_some() {
            return Err(Stop::fail(format!("cargo fmt {}", answer.how())));
        }
        if !answer.good() {
            bad.push(format!("`cargo fmt --all --manifest-path {manifest}`"));
        }
    }
    let tracked = tracked(Path::new(".")).unwrap_or_else(|| {
        say!("-- fmt: git lists no files here: those on the disk are looked at");
        let mut files = Vec::new();
        on_disk(Path::new("."), &mut files);
        files
    });
    let mut others: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for file in tracked {
        if !file.canonicalize().is_ok_and(|path| seen.contains(&path)) {
            others.entry(edition(&file)).or_default().push(file);
        }
    }
    for (edition, files) in others {
        let mut rustfmt = call("rustfmt --check --verbose --config-path").arg(SETTINGS);
        rustfmt = rustfmt.arg("--edition").arg(&edition).args(colour);
        for file in &files {
            rustfmt = rustfmt.arg(file);
        }
        let answer = rustfmt.hidden().answer(context)?;
        said(&answer);
        if !answer.good() {
            let names: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
            bad.push(format!("`rustfmt --edition {edition} {}`", names.join(" ")));
        }
    }
    done(&bad)
}

fn done(bad: &[String]) -> Done {
    if bad.is_empty() {
        return Ok(());
    }
    Err(Stop::fail(format!("run {}, or mend what it cannot read", bad.join(", "))))
}

/// Shows the differences that rustfmt has found, and returns the files that it has looked at.
fn said(answer: &Answer) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in answer.text.lines() {
        if let Some(file) = line.strip_prefix("Formatting ") {
            files.extend(Path::new(file).canonicalize());
        } else if !["Using rustfmt config file ", "Spent "]
            .iter()
            .any(|word| line.starts_with(word))
        {
            say!("{line}");
        }
    }
    files
}

/// The files in Rust that git tracks below a directory and that are there; none without git, or in another repository.
fn tracked(top: &Path) -> Option<Vec<PathBuf>> {
    let answer = ask(crate::git::git(top).args(["ls-files", "-z", "--", "*.rs"])).ok()?;
    let names = answer.out.split('\0').filter(|name| !name.is_empty());
    let files = names.map(PathBuf::from);
    // One that was deleted is listed until that is committed.
    let files: Vec<PathBuf> = files.filter(|file| top.join(file).is_file()).collect();
    (answer.good && !files.is_empty()).then_some(files)
}

/// The files in Rust below a directory, except those in directories that cargo and git made.
fn on_disk(top: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(top) else { return };
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::path);
    for entry in entries {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else { continue };
        let made = entry.file_name() == ".git" || path.join("CACHEDIR.TAG").exists();
        if kind.is_dir() && !made {
            on_disk(&path, files);
        } else if kind.is_file() && path.extension().is_some_and(|end| end == "rs") {
            files.push(path.strip_prefix("./").unwrap_or(&path).to_owned());
        }
    }
}

/// The edition that the nearest manifest above a file states.
fn edition(file: &Path) -> String {
    let stated = |manifest: &Path| {
        let text = std::fs::read_to_string(manifest).ok()?;
        let value = text.lines().find_map(|line| line.strip_prefix("edition"))?;
        Some(value.split('"').nth(1).map(str::to_owned))
    };
    let nearest = file.ancestors().skip(1).find_map(|above| stated(&above.join("Cargo.toml")));
    // `edition.workspace = true`
    nearest
        .flatten()
        .or_else(|| stated(Path::new("Cargo.toml")).flatten())
        .unwrap_or(EDITION.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edition_is_that_of_the_nearest_manifest() {
        let top = std::env::temp_dir().join(format!("xtask-edition-{}", std::process::id()));
        let inner = top.join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        assert_eq!(edition(&inner.join("x.rs")), EDITION);
        std::fs::write(top.join("Cargo.toml"), "[package]\nedition = \"2018\"\n").unwrap();
        assert_eq!(edition(&inner.join("x.rs")), "2018");
        std::fs::write(top.join("a/Cargo.toml"), "[package]\nedition = \"2021\"\n").unwrap();
        assert_eq!(edition(&inner.join("x.rs")), "2021");
        std::fs::remove_dir_all(top).unwrap();
    }

    #[test]
    fn tracked_files_are_those_that_are_there() {
        let top = std::env::temp_dir().join(format!("xtask-tracked-{}", std::process::id()));
        std::fs::create_dir_all(&top).unwrap();
        if ask(std::process::Command::new("git").arg("--version")).is_err() {
            return;
        }
        let git = |words: &[&str]| {
            assert!(ask(crate::git::git(&top).args(words)).unwrap().good, "{words:?}");
        };
        git(&["init", "-q"]);
        assert_eq!(tracked(&top), None);
        for name in ["a b.rs", "gone.rs", "text.md"] {
            std::fs::write(top.join(name), "").unwrap();
        }
        git(&["add", "-A"]);
        std::fs::remove_file(top.join("gone.rs")).unwrap();
        std::fs::write(top.join("new.rs"), "").unwrap();
        assert_eq!(tracked(&top), Some(vec![PathBuf::from("a b.rs")]));
        std::fs::remove_dir_all(top).unwrap();
    }

    #[test]
    fn files_on_the_disk_are_all_but_those_that_cargo_made() {
        let top = std::env::temp_dir().join(format!("xtask-disk-{}", std::process::id()));
        for directory in ["a/b", "target/x", ".git"] {
            std::fs::create_dir_all(top.join(directory)).unwrap();
        }
        for name in
            ["a/b/x.rs", "y.rs", "text.md", "target/CACHEDIR.TAG", "target/x/z.rs", ".git/w.rs"]
        {
            std::fs::write(top.join(name), "").unwrap();
        }
        let mut files = Vec::new();
        on_disk(&top, &mut files);
        assert_eq!(files, [top.join("a/b/x.rs"), top.join("y.rs")]);
        std::fs::remove_dir_all(top).unwrap();
    }

    #[test]
    fn said_files_are_those_that_rustfmt_looked_at() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/main.rs");
        let text = format!(
            "Using rustfmt config file /x for {0}\nFormatting {0}\nSpent 0.1 secs\nDiff in {0}:1:\n-Formatting /x\n",
            file.display()
        );
        let answer = Answer { code: Some(1), signal: None, late: None, text };
        let (files, shown) = crate::output::keep(|| said(&answer));
        assert_eq!(files, [file.canonicalize().unwrap()]);
        assert_eq!(shown, format!("Diff in {}:1:\n-Formatting /x\n", file.display()));
    }
}
