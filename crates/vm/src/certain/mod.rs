//! Decides which changes of a file are certain to change the intended option and nothing else. All others are left, and
//! named.
//!
//! In a script the text of an option may also serve another purpose: it is compared, printed, put into a path, used by
//! another command. So a script is edited only if a grammar ([`crate::sh`]) understands all of it, and only in a
//! word of the very command, or in a variable that is assigned once, is used once, and there. Findings and their fixes
//! are in `formats`.

pub(crate) mod extradata;
mod itself;
mod looked_for;
mod lookers;
mod machine;
mod managed;
pub(crate) mod older;
mod options;
mod own;
mod programs;
mod revisions;
mod script;
mod signed;
mod summed;
mod tree;
mod understood;
mod unit;
mod used;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_lookers;
#[cfg(test)]
mod tests_programs;
#[cfg(test)]
mod tests_used;

use crate::document::Document;
use crate::edit::Edit;
use crate::finding::Finding;
use crate::formats::Kind;
use crate::lint::LintError;
use crate::sh::Script;
use crate::shell::is_unit;
use crate::template::is_template;
use crate::words::{base, listed};
use crate::xml::well_formed;
use crate::yaml;
use looked_for::{looked_for, may_look_for};
use programs::Programs;
use script::Guard;
use std::ops::Range;
use unit::unit;

/// The kind of a file's text, which decides how it is edited.
enum Dialect<'a> {
    /// Settings and documents, whose readers know which parts may be edited.
    Settings,
    /// A script of a shell.
    Shell,
    /// A script of something else: its name.
    Other(&'a str),
}

/// Languages by file name extensions, and by names of files.
const OTHERS: [(&str, &str); 51] = [
    ("py", "Python"),
    ("rb", "Ruby"),
    ("pl", "Perl"),
    ("pm", "Perl"),
    ("js", "JavaScript"),
    ("mjs", "JavaScript"),
    ("ts", "TypeScript"),
    ("go", "Go"),
    ("rs", "Rust"),
    ("c", "C"),
    ("h", "C"),
    ("lua", "Lua"),
    ("ex", "Elixir"),
    ("exs", "Elixir"),
    ("cc", "C++"),
    ("cpp", "C++"),
    ("cs", "C#"),
    ("kt", "Kotlin"),
    ("php", "PHP"),
    ("scala", "Scala"),
    ("swift", "Swift"),
    ("nix", "Nix"),
    ("yml", "YAML"),
    ("yaml", "YAML"),
    ("json", "JSON"),
    ("toml", "TOML"),
    ("hcl", "HCL"),
    ("tf", "Terraform"),
    ("mk", "make"),
    ("make", "make"),
    ("bat", "a batch file"),
    ("cmd", "a batch file"),
    ("ps1", "PowerShell"),
    ("psm1", "PowerShell"),
    ("md", "Markdown"),
    ("desktop", "a desktop entry"),
    ("just", "just"),
    ("rst", "reStructuredText"),
    ("html", "HTML"),
    ("tcl", "Tcl"),
    ("exp", "expect"),
    ("fish", "fish"),
    ("zsh", "zsh"),
    ("groovy", "Groovy"),
    ("java", "Java"),
    ("j2", "a template"),
    ("jinja", "a template"),
    ("in", "a template"),
    ("erb", "a template"),
    ("tpl", "a template"),
    ("xml", "XML"),
];
const NAMES: [(&str, &str); 11] = [
    ("makefile", "make"),
    ("gnumakefile", "make"),
    ("dockerfile", "a Dockerfile"),
    ("containerfile", "a Dockerfile"),
    ("vagrantfile", "a Vagrantfile"),
    ("justfile", "just"),
    (".justfile", "just"),
    ("readme", "a text for readers"),
    ("rakefile", "Ruby"),
    ("jenkinsfile", "Groovy"),
    ("earthfile", "an Earthfile"),
];

fn dialect(document: &Document) -> Dialect<'_> {
    let text = document.text.as_str();
    match document.kind {
        Kind::Qemu | Kind::Persistence => {}
        Kind::Virtualbox if !text.trim_start_matches('\u{feff}').trim_start().starts_with('<') => {}
        _ => return Dialect::Settings,
    }
    if let Some(line) = text.strip_prefix("#!").and_then(|rest| rest.lines().next()) {
        let mut words = line.split_whitespace().map(base);
        let name = words.find(|word| *word != "env" && !word.starts_with('-')).unwrap_or_default();
        return match name {
            "sh" | "bash" | "dash" | "ash" | "ksh" | "mksh" | "busybox" => Dialect::Shell,
            other => Dialect::Other(other),
        };
    }
    let name = document.name.replace('\\', "/");
    let file = base(&name).to_ascii_lowercase();
    let ending = file.rsplit_once('.').map_or("", |(_, ending)| ending);
    let by_name =
        NAMES.iter().find(|(name, _)| file == *name || file.starts_with(&format!("{name}.")));
    let by_ending = OTHERS.iter().find(|(end, _)| *end == ending);
    match by_name.or(by_ending) {
        Some((_, language)) => Dialect::Other(language),
        None if !file.contains('.') && reads_as_yaml(text) => Dialect::Other("YAML"),
        None => Dialect::Shell,
    }
}

/// The limit of parts of a document that are excluded separately.
const MOST_SHARED: usize = 256;

/// Decides which changes of findings are made; removes the others, and adds the reason to their findings.
pub(crate) fn keep_certain(document: &Document, findings: &mut [Finding]) {
    if findings.iter().all(|finding| finding.edits.is_empty()) {
        return;
    }
    // bash reads a Quickemu configuration.
    if document.kind == Kind::Quickemu {
        match crate::sh::read(document.text.as_str()) {
            Ok(script) => leave_what_is_looked_for(document, &script, findings),
            Err(obstacle) => {
                let line = document.text.place(obstacle.at).line;
                for finding in findings.iter_mut().filter(|finding| !finding.edits.is_empty()) {
                    finding.edits.clear();
                    finding.left =
                        Some(format!("line {line} of it is not understood: {}", obstacle.what));
                }
                return;
            }
        }
    }
    let edits = findings.iter().flat_map(|finding| &finding.edits);
    let places: Vec<_> = edits.map(|edit| edit.span.clone()).collect();
    let judge = Judge::new(document, &places);
    for finding in findings.iter_mut().filter(|finding| !finding.edits.is_empty()) {
        match judge.all(&finding.edits) {
            Ok(edits) => finding.edits = edits,
            Err(why) => {
                finding.edits.clear();
                finding.left = Some(why);
            }
        }
    }
}

/// Removes the changes of settings that another part of the file searches for.
fn leave_what_is_looked_for(document: &Document, script: &Script, findings: &mut [Finding]) {
    let alone = script.commands.iter().filter(|command| command.words.is_empty());
    let mut left_out: Vec<Range<usize>> = alone.map(|command| command.span.clone()).collect();
    left_out.extend(script.comments.iter().cloned());
    for finding in findings.iter_mut() {
        let text = document.text.as_str();
        let found = finding.edits.iter().find_map(|edit| {
            let (start, line) = statement(text, edit);
            let own = start..start + line.len();
            let left_out: Vec<_> = left_out.iter().cloned().chain([own.clone()]).collect();
            looked_for(text, edit, &own, &left_out)
        });
        if let Some((at, piece)) = found {
            finding.left = Some(may_look_for(document, at, piece));
            finding.edits.clear();
        }
    }
}

/// Returns the changes by choices that are certain, and the reasons why the others are not made.
pub(crate) fn certain(document: &Document, edits: Vec<Vec<Edit>>) -> (Vec<Vec<Edit>>, Vec<String>) {
    if edits.is_empty() {
        return (edits, Vec::new());
    }
    let places: Vec<_> = edits.iter().flatten().map(|edit| edit.span.clone()).collect();
    let judge = Judge::new(document, &places);
    let mut kept = Vec::new();
    let mut left = Vec::new();
    for edits in edits {
        match judge.all(&edits) {
            Ok(edits) => kept.push(edits),
            Err(why) => left.push(why),
        }
    }
    (kept, left)
}

/// Checks that a file may be edited at all. An error after the part that the rules read does not
/// prevent findings, but it prevents changes.
///
/// # Errors
/// Returns the first place with an error.
pub(crate) fn whole(document: &Document) -> Result<(), LintError> {
    let text = document.text.as_str().trim_start_matches('\u{feff}').trim_start();
    let xml = document.kind == Kind::Virtualbox && text.starts_with('<');
    if xml { well_formed(&document.text) } else { Ok(()) }
}

/// Returns whether a changed file is the same as before except for its changes, by reading it again with the same
/// grammar.
pub(crate) fn holds(before: &Document, after: &Document) -> bool {
    let plain = |document: &Document| {
        !matches!(dialect(document), Dialect::Shell) || lines_of_their_own(document)
    };
    if plain(before) && plain(after) {
        return true;
    }
    match (Guard::new(before), Guard::new(after)) {
        (Ok(one), Ok(other)) => one.same_but_for_values(&other),
        // The file was not understood before, so nothing in it was edited.
        (Err(_), _) => true,
        (Ok(_), Err(_)) => false,
    }
}

/// Returns whether a file without a recognisable structure is not a script: settings line by line, and units.
fn lines_of_their_own(document: &Document) -> bool {
    let text = document.text.as_str();
    // A script that writes a unit has commands that may search for the edited text.
    let written = text.starts_with("#!") || text.contains("<<");
    is_unit(text) && !written || document.kind == Kind::Persistence && !is_script(document)
}

/// Returns whether a file that makes a choice persistent across boots is a shell script.
fn is_script(document: &Document) -> bool {
    let text = document.text.as_str();
    text.starts_with("#!") || document.name.ends_with(".sh") || document.name.ends_with(".bash")
}

/// Whether a file is a script of a shell.
pub(crate) fn is_shell(document: &Document) -> bool {
    matches!(dialect(document), Dialect::Shell) && !is_unit(document.text.as_str())
}

/// Whether a file is in YAML.
pub(crate) fn is_yaml(document: &Document) -> bool {
    matches!(dialect(document), Dialect::Other("YAML"))
}

/// Returns whether a text, whose name does not show its format, is YAML: a map that the YAML reader accepts.
fn reads_as_yaml(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let key = |line: &str| {
        let (name, rest) = line.split_once(':')?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        Some(
            !name.is_empty()
                && name.chars().all(plain)
                && (rest.is_empty() || rest.starts_with(' ')),
        )
    };
    lines.next().is_some_and(|line| line.trim_end() == "---" || key(line) == Some(true))
        && !text.contains("\n\t")
        && yaml::parse(text)
            .is_ok_and(|all| all.iter().any(|node| matches!(node, yaml::Node::Map { .. })))
}

/// Whether a file is a program in Python.
pub(crate) fn is_python(document: &Document) -> bool {
    matches!(dialect(document), Dialect::Other(name) if name.to_ascii_lowercase().starts_with("python"))
}

struct Judge<'a> {
    document: &'a Document,
    dialect: Dialect<'a>,
    guard: Option<Result<Guard<'a>, String>>,
    /// Parts of a document in which nothing is edited, with the reasons.
    shared: Vec<(Range<usize>, &'static str)>,
    /// The reason why nothing of the file is edited, if a part of the file states one.
    stated: Result<(), String>,
    /// The programs that the file runs, if files of its kind may run any.
    programs: Option<Programs<'a>>,
}

/// File name extensions of source files, for any kind that their text resembles.
const SOURCES: &str = "py rb pl pm js mjs ts go rs c h lua nix java groovy ps1 psm1 bat cmd";

/// Checks that a file is not a program or a log. Nothing of these is edited, whatever their kind.
///
/// # Errors
/// Returns the reason if the file is a program or a log.
fn unedited(document: &Document) -> Result<(), String> {
    let text = document.text.as_str();
    let name = document.name.replace('\\', "/").to_ascii_lowercase();
    let ends = base(&name).split('.').skip(1);
    // The last one is the head of a command line that libvirt logs, without its first line.
    let recorded = [": starting up libvirt version: ", "LC_ALL=C \\\nPATH="];
    if ends.clone().any(|end| end == "log") || recorded.iter().any(|it| text.contains(it)) {
        return Err("the file is a log: no machine is started from it".to_owned());
    }
    let named = ends.last().filter(|end| listed(SOURCES, end));
    let language = named.and_then(|end| OTHERS.iter().find(|(it, _)| *it == end));
    let nix = is_nix(text).then_some("Nix");
    match language.map(|(_, language)| *language).or(nix) {
        Some(language) => Err(format!("the file is {language}, whose strings are not edited")),
        None => Ok(()),
    }
}

/// Whether a text is an expression of Nix: a function of a set (`{ pkgs, ... }:`), or one that takes its packages.
fn is_nix(text: &str) -> bool {
    let mut lines = text.trim_start_matches('\u{feff}').lines().map(str::trim_start);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#')).unwrap_or_default();
    let rest = text.get(crate::text::offset(text, first) + 1..).unwrap_or_default();
    let of_set = || {
        let (names, behind) = rest.split_once('}')?;
        let plain =
            |c: char| c.is_ascii_alphanumeric() || c.is_whitespace() || "_-,.?@".contains(c);
        Some(names.chars().all(plain) && behind.trim_start().starts_with([':', '@']))
    };
    first.starts_with('{') && of_set() == Some(true) || text.contains("<nixpkgs>")
}

/// Returns whether a file is a template, unless the program of its kind replaces the placeholders itself.
pub(crate) fn of_template(document: &Document) -> bool {
    !document.kind.format().limits.placeholders
        && is_template(&document.name, document.text.as_str())
}

impl<'a> Judge<'a> {
    fn new(document: &'a Document, places: &[Range<usize>]) -> Self {
        let dialect = dialect(document);
        let guard = matches!(dialect, Dialect::Shell).then(|| Guard::new(document));
        let text = document.text.as_str();
        let shared = (document.kind.format().limits.doubtful)(text);
        let shared = match shared.len() {
            0..=MOST_SHARED => shared,
            _ => vec![(0..text.len(), "many parts of the file are shared or doubled")],
        };
        let stated = match of_template(document) {
            true => Err("the file is a template: what it generates is not seen".to_owned()),
            false => unedited(document)
                .and_then(|()| itself::stated(document))
                .and_then(|()| managed::kept_by_hand(document)),
        };
        let programs = Programs::of(document, places);
        Self { document, dialect, guard, shared, stated, programs }
    }

    /// Checks an edit in documents and settings: the value must be used once, in one place.
    fn structured(&self, edit: &Edit) -> Result<Edit, String> {
        let text = self.document.text.as_str();
        // The cost of a place is proportional to the length of its line.
        let line = || self.document.text.place(edit.span.start).line;
        // An insertion directly after a part may belong to it: an alias has the place of its anchor.
        let inside =
            |span: &Range<usize>| span.start <= edit.span.end && edit.span.start <= span.end;
        if let Some((_, why)) = self.shared.iter().find(|(span, _)| inside(span)) {
            return Err(format!("line {}: {why}", line()));
        }
        let begins = text.trim_start_matches('\u{feff}').trim_start();
        if self.document.kind == Kind::Libvirt && !begins.starts_with(['<', '{']) {
            return Err(format!("line {}: the XML is a part of another text", line()));
        }
        if let Some(programs) = &self.programs {
            programs.looked_for(edit)?;
        }
        Ok(edit.clone())
    }

    fn all(&self, edits: &[Edit]) -> Result<Vec<Edit>, String> {
        edits.iter().map(|edit| self.one(edit)).collect()
    }

    fn one(&self, edit: &Edit) -> Result<Edit, String> {
        self.stated.clone()?;
        older::takes(self.document, edit)?;
        if self.document.kind == Kind::Persistence && !is_script(self.document) {
            return setting(self.document, self.guard.as_ref(), edit);
        }
        match (&self.dialect, &self.guard) {
            (Dialect::Settings, _) => self.structured(edit),
            (Dialect::Other(name), _) => {
                Err(format!("the file is {name}, whose strings are not edited"))
            }
            (Dialect::Shell, _) if lines_of_their_own(self.document) => unit(self.document, edit),
            (Dialect::Shell, Some(Ok(guard))) => guard.one(edit),
            (Dialect::Shell, Some(Err(why))) => Err(why.clone()),
            (Dialect::Shell, None) => Err("the file was not read".to_owned()),
        }
    }
}

/// The statement around an edit: lines that `\` joins. `None` if it begins or ends in the middle of a line.
fn statement<'a>(text: &'a str, edit: &Edit) -> (usize, &'a str) {
    let before = text.get(..edit.span.start).unwrap_or_default();
    let mut start = before.rfind('\n').map_or(0, |n| n + 1);
    while let Some(above) =
        text.get(..start.saturating_sub(1)).filter(|above| above.ends_with('\\'))
    {
        start = above.rfind('\n').map_or(0, |n| n + 1);
    }
    let mut end = edit.span.end;
    loop {
        let line = text.get(end..).and_then(|rest| rest.find('\n')).map_or(text.len(), |n| end + n);
        let joins = text.get(..line).is_some_and(|all| all.ends_with('\\')) && line < text.len();
        end = if joins { line + 1 } else { line };
        if !joins {
            return (start, text.get(start..end).unwrap_or_default());
        }
    }
}

/// Checks an edit in settings of GRUB and of the kernel, line by line; `w` of tmpfiles.d, `path = value`, and udev.
fn setting(
    document: &Document,
    guard: Option<&Result<Guard<'_>, String>>,
    edit: &Edit,
) -> Result<Edit, String> {
    let guard = || match guard {
        Some(guard) => guard.as_ref().map_err(String::clone),
        None => Err("strings of other languages are not edited".to_owned()),
    };
    let (_, line) = statement(document.text.as_str(), edit);
    let text = line.trim();
    let begins = |names: &[&str]| names.iter().any(|name| text.starts_with(name));
    let name = document.name.replace('\\', "/");
    if name.ends_with("/cmdline") || name == "cmdline" {
        return Ok(edit.clone());
    }
    if begins(&["GRUB_CMDLINE", "export GRUB_CMDLINE"])
        || text.starts_with("clocksource=")
        || text.starts_with("tsc=")
    {
        return guard()?.setting(edit);
    }
    let fields = begins(&["w ", "w! ", "w+ ", "w- ", "w+! ", "f ", "f+ "]);
    let path = (begins(&["/", "devices/"]) || text.contains("ATTR{current_clocksource}=\""))
        && !text.contains(['$', '`', '|', '>', ';']);
    if fields || path {
        return Ok(edit.clone());
    }
    if !base(&document.name).contains('.') && matches!(dialect(document), Dialect::Shell) {
        return guard()?.one(edit);
    }
    Err("the file is not a shell script, and strings in others are not edited".to_owned())
}
