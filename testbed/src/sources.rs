//! Which package archive this system uses. The testbed fetches kernels of other releases and
//! architectures from the same place, so it reads apt's own configuration instead of knowing
//! any host's name.

use anyhow::{Result, bail};
use std::path::{Path, PathBuf};

/// Suites of a Debian archive, which distinguish its entries from other vendors'.
const DEBIAN_SUITES: &[&str] = &[
    "stable",
    "testing",
    "unstable",
    "sid",
    "experimental",
    "oldstable",
    "buster",
    "bullseye",
    "bookworm",
    "trixie",
    "forky",
    "duke",
];

/// The roots of the archive and of its security part.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Mirror {
    /// Root of the main archive.
    pub archive: String,
    /// Root of the archive for suites called `*-security`.
    pub security: Option<String>,
}

impl Mirror {
    /// Reads this system's apt configuration; environment variables win.
    pub fn of_this_system() -> Result<Mirror> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let entries: Vec<Entry> = source_files(Path::new("/etc/apt"))
            .iter()
            .filter_map(|path| Some(parse(path, &std::fs::read_to_string(path).ok()?)))
            .flatten()
            .collect();
        let found = Mirror::among(&entries);
        let archive = variable("CLOCKSMITH_TESTBED_MIRROR")
            .or_else(|| found.as_ref().map(|mirror| mirror.archive.clone()));
        let Some(archive) = archive else {
            bail!(
                "no Debian archive found in apt's configuration (/etc/apt/sources.list and \
                 /etc/apt/sources.list.d); set CLOCKSMITH_TESTBED_MIRROR to the root of one, \
                 the directory that contains `dists` and `pool`"
            );
        };
        let security = variable("CLOCKSMITH_TESTBED_SECURITY_MIRROR")
            .or_else(|| found.and_then(|mirror| mirror.security));
        Ok(Mirror { archive, security })
    }

    /// The root to use for a suite; `None` if this system knows of none.
    pub fn root_of(&self, suite: &str) -> Option<&str> {
        if suite.ends_with("-security") { self.security.as_deref() } else { Some(&self.archive) }
    }

    fn among(entries: &[Entry]) -> Option<Mirror> {
        let release = |suite: &str| suite.split(['-', '/']).next().unwrap_or_default().to_string();
        let is_debian = |suite: &str| DEBIAN_SUITES.contains(&release(suite).as_str());
        let is_security = |suite: &str| suite.ends_with("-security") || suite.ends_with("/updates");
        let find = |security: bool| {
            entries
                .iter()
                .filter(|entry| entry.main)
                .find(|entry| {
                    entry
                        .suites
                        .iter()
                        .any(|suite| is_debian(suite) && is_security(suite) == security)
                })
                .map(|entry| entry.uri.trim_end_matches('/').to_string())
        };
        let archive = find(false)?;
        let security = find(true).or_else(|| {
            archive.strip_suffix("/debian").map(|base| format!("{base}/debian-security"))
        });
        Some(Mirror { archive, security })
    }
}

#[derive(Debug, Eq, PartialEq)]
struct Entry {
    uri: String,
    suites: Vec<String>,
    main: bool,
}

fn source_files(etc: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(etc.join("sources.list.d"))
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .collect();
    files.sort();
    files.insert(0, etc.join("sources.list"));
    files
}

fn parse(path: &Path, text: &str) -> Vec<Entry> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("sources") => parse_stanzas(text),
        Some("list") => text.lines().filter_map(parse_line).collect(),
        _ => Vec::new(),
    }
}

/// `deb [options] URI SUITE COMPONENT...`
fn parse_line(line: &str) -> Option<Entry> {
    let line = line.split('#').next()?.trim();
    let rest = line.strip_prefix("deb")?.strip_prefix([' ', '\t'])?.trim_start();
    let rest = match rest.strip_prefix('[') {
        Some(options) => options.split_once(']')?.1,
        None => rest,
    };
    let mut words = rest.split_whitespace().map(String::from);
    let (uri, suite) = (words.next()?, words.next()?);
    Some(Entry { uri, suites: vec![suite], main: words.any(|component| component == "main") })
}

/// The `Key: value` form, stanzas separated by empty lines.
fn parse_stanzas(text: &str) -> Vec<Entry> {
    let text: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let stanzas = text.split(|line| line.trim().is_empty());
    stanzas.filter_map(parse_stanza).collect()
}

fn parse_stanza(lines: &[&str]) -> Option<Entry> {
    let value = |key: &str| {
        let mut words: Vec<String> = Vec::new();
        let mut inside = false;
        for line in lines {
            if line.starts_with([' ', '\t']) {
                if inside {
                    words.extend(line.split_whitespace().map(String::from));
                }
                continue;
            }
            let (name, rest) = line.split_once(':').unwrap_or((line, ""));
            inside = name.eq_ignore_ascii_case(key);
            if inside {
                words.extend(rest.split_whitespace().map(String::from));
            }
        }
        words
    };
    if !value("Types").iter().any(|kind| kind == "deb") || value("Enabled") == ["no"] {
        return None;
    }
    Some(Entry {
        uri: value("URIs").into_iter().next()?,
        suites: value("Suites"),
        main: value("Components").iter().any(|component| component == "main"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_both_forms_and_skips_other_vendors() {
        let mut entries = parse_stanzas(
            "Types: deb\nURIs: http://other.example/node\nSuites: nodistro\nComponents: main\n\n\
             # a comment\nTypes: deb\nURIs: http://archive.example/debian/\n\
             Suites: bookworm\n bookworm-updates\nComponents: main\n",
        );
        entries.extend(parse_line(
            "deb [signed-by=/k arch=amd64] http://sec.example/x bookworm-security main # c",
        ));
        let mirror = Mirror::among(&entries).unwrap();
        assert_eq!(mirror.archive, "http://archive.example/debian");
        assert_eq!(mirror.root_of("trixie"), Some("http://archive.example/debian"));
        assert_eq!(mirror.root_of("trixie-security"), Some("http://sec.example/x"));
    }

    #[test]
    fn the_security_archive_is_next_to_the_main_one_if_not_configured() {
        let entries = [parse_line("deb http://archive.example/debian stable main").unwrap()];
        let mirror = Mirror::among(&entries).unwrap();
        assert_eq!(
            mirror.root_of("stable-security"),
            Some("http://archive.example/debian-security")
        );
        assert_eq!(Mirror::among(&[]), None);
    }
}
