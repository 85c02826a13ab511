//! The comments of a file, as the reader of its format sees them: text in a string, an attribute, an element or a
//! here-document is data, which others may have set. Text that may or may not be a comment is not returned.

mod code;

use crate::document::Document;
use crate::formats::{Kind, kubevirt, libvirt, vagrant};
use crate::words::{base, listed};
use crate::{sh, xml, yaml};
use code::Language;
use std::ops::Range;

/// Prefixes of a comment in a batch file.
const BATCH: &[&str] = &["::", "rem ", "@rem ", "rem\t", "@rem\t"];

/// The syntax of comments in a file.
enum Syntax {
    /// The file has no comments.
    Without,
    Xml,
    Yaml,
    Shell,
    /// Whole lines that begin with one of these.
    Lines(&'static [&'static str]),
    /// `#` outside of strings that end on their line.
    Settings,
    Code(Language),
}

/// All comments, in order.
pub(crate) fn of(document: &Document) -> Vec<Range<usize>> {
    let text = document.text.as_str();
    let found = match syntax(document) {
        Syntax::Without => Vec::new(),
        Syntax::Xml => xml::comments(text, 0),
        Syntax::Yaml => yaml_comments(text),
        Syntax::Shell => {
            let read = sh::read(text);
            read.map_or_else(|_| code::comments(text, Language::Shell), |script| script.comments)
        }
        Syntax::Lines(marks) => whole_lines(text, marks),
        Syntax::Settings => settings(text),
        Syntax::Code(language) => code::comments(text, language),
    };
    let mut all = found;
    // A domain inside a script also has XML comments.
    if document.kind == Kind::Libvirt && !begins(text).starts_with('<') {
        all.extend(libvirt::begin(text).map(|at| xml::comments(text, at)).unwrap_or_default());
    }
    all
}

/// File name extensions of programs whose comments are not commands, even if they look like commands.
const PROGRAMS: &str = "bat cmd ps1 psm1 rb nix js mjs ts go rs java c groovy json jsonc json5";

/// Returns a program in a language other than a shell's with blanks for its comments: a commented-out command is not
/// run. Places do not change. `None` for other files.
pub(crate) fn without(document: &Document) -> Option<Document> {
    let name = document.name.to_ascii_lowercase();
    let (_, ending) = name.rsplit_once('.')?;
    let commands = matches!(document.kind, Kind::Qemu | Kind::Virtualbox | Kind::VirtInstall);
    let text = document.text.as_str();
    if !commands
        || !listed(PROGRAMS, ending)
        || begins(text).starts_with('<') && !begins(text).starts_with("<#")
    {
        return None;
    }
    let mut bytes = text.as_bytes().to_vec();
    for span in of(document) {
        for byte in bytes.get_mut(span)? {
            if !matches!(*byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
    String::from_utf8(bytes).ok().map(|text| document.with_text(text))
}

fn begins(text: &str) -> &str {
    text.trim_start_matches('\u{feff}').trim_start()
}

fn syntax(document: &Document) -> Syntax {
    let name = document.name.to_ascii_lowercase();
    let file = base(&name);
    let ending = file.rsplit_once('.').map_or("", |(_, ending)| ending);
    let text = document.text.as_str();
    let begin = begins(text);
    let json = || serde_json::from_str::<serde::de::IgnoredAny>(begin).is_ok();
    match document.kind {
        _ if begin.starts_with('<') && !begin.starts_with("<#") => return Syntax::Xml,
        _ if begin.starts_with(['{', '[', '"']) && json() => return Syntax::Without,
        Kind::Kubevirt => return Syntax::Yaml,
        // Lines that begin with `#` are the description of the machine.
        Kind::Proxmox if !text.lines().any(|line| line.starts_with("cpu-model:")) => {
            return Syntax::Without;
        }
        Kind::Proxmox | Kind::Vmware | Kind::Tuned => return Syntax::Lines(&["#"]),
        Kind::Xen => return Syntax::Settings,
        Kind::VagrantLibvirt => return Syntax::Code(Language::Ruby),
        _ => {}
    }
    if file == "vagrantfile" || vagrant::is(text) {
        return Syntax::Code(Language::Ruby);
    }
    if ["dockerfile", "containerfile"].iter().any(|it| file.starts_with(it)) {
        return Syntax::Code(Language::Shell);
    }
    // The kernel does not recognise comments.
    if ["proc/cmdline", "kernel/cmdline"].iter().any(|it| name.ends_with(it)) {
        return Syntax::Without;
    }
    let section = || {
        let mut lines = text.lines().map(str::trim);
        let first = lines.find(|line| !line.is_empty() && !line.starts_with(['#', ';']));
        first
            .is_some_and(|line| line.starts_with('[') && line.ends_with(']') && !line.contains(' '))
    };
    match ending {
        "yaml" | "yml" => Syntax::Yaml,
        "tf" | "hcl" | "nomad" => Syntax::Code(Language::Hcl),
        "py" | "toml" => Syntax::Code(Language::Python),
        "rb" => Syntax::Code(Language::Ruby),
        "nix" => Syntax::Code(Language::Nix),
        "js" | "mjs" | "ts" | "go" | "rs" | "java" | "c" | "groovy" => {
            Syntax::Code(Language::Slashes)
        }
        // Editors and other programs take comments in it.
        "json" | "jsonc" | "json5" => Syntax::Code(Language::Slashes),
        "bat" | "cmd" => Syntax::Lines(BATCH),
        "ps1" | "psm1" => Syntax::Code(Language::PowerShell),
        "md" | "html" | "txt" | "rst" => Syntax::Without,
        "ini" | "service" | "socket" | "rules" | "preset" => Syntax::Lines(&["#", ";"]),
        _ if begin.starts_with("#cloud-config") || begin.starts_with("---\n") => Syntax::Yaml,
        _ if section() => Syntax::Lines(&["#", ";"]),
        _ => Syntax::Shell,
    }
}

/// Finds `#` outside of all scalars, after a blank or at the beginning of a line.
fn yaml_comments(text: &str) -> Vec<Range<usize>> {
    let (scalars, end) = yaml::scalars(&kubevirt::plain(text).0);
    let mut all = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let found = line.char_indices().find(|(n, c)| {
            let before = line.get(..*n).and_then(|before| before.chars().next_back());
            *c == '#' && before.is_none_or(|c| c == ' ' || c == '\t') && {
                let place = start + n;
                let next = scalars.partition_point(|scalar| scalar.end <= place);
                place < end && scalars.get(next).is_none_or(|scalar| place < scalar.start)
            }
        });
        all.extend(found.map(|(n, _)| start + n..start + line.trim_end().len()));
    }
    all
}

/// Lines that begin with a mark, unless the line before is continued.
fn whole_lines(text: &str, marks: &[&str]) -> Vec<Range<usize>> {
    let mut all = Vec::new();
    let (mut at, mut continued) = (0, false);
    for line in text.split_inclusive('\n') {
        let bare = line.trim_start_matches('\u{feff}').trim_start();
        let is = |mark: &&str| {
            bare.get(..mark.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(mark))
        };
        let begin = at + line.len() - bare.len();
        at += line.len();
        let comment = !continued && marks.iter().any(is);
        if comment {
            all.push(begin..begin + bare.trim_end().len());
        }
        // A path may end in a backslash on Windows.
        let ends = |c: char| c == '^' || c == '\\' && !marks.contains(&"::");
        continued = !comment && bare.trim_end().ends_with(ends);
    }
    all
}

/// `#` outside of quotes; a string ends on its line.
fn settings(text: &str) -> Vec<Range<usize>> {
    let mut all = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let mut quote = None;
        let found = line.char_indices().find(|(_, c)| {
            match (quote, *c) {
                (None, '\'' | '"') => quote = Some(*c),
                (Some(open), c) if c == open => quote = None,
                (None, '#') => return true,
                _ => {}
            }
            false
        });
        all.extend(found.map(|(n, _)| at + n..at + line.trim_end().len()));
        at += line.len();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(name: &str, kind: Kind, text: &str) -> Vec<String> {
        let document = Document::of_kind(name, text.as_bytes(), kind).unwrap();
        of(&document).into_iter().map(|span| text[span].to_owned()).collect()
    }

    #[test]
    fn comments_of_each_format_and_not_what_looks_like_one() {
        let cases: &[(&str, Kind, &str, &[&str])] = &[
            ("1.conf", Kind::Proxmox, "# note\ncores: 2\n", &[]),
            ("cpu-models.conf", Kind::Proxmox, "# a\ncpu-model: x\n    flags +invtsc\n", &["# a"]),
            ("a.vmx", Kind::Vmware, "# a\nannotation = \"|0A# b\"\nx = \"1\" # c\n", &["# a"]),
            (
                "a.cfg",
                Kind::Xen,
                "name = 'a#b' # c\n# d\nx = \"# e\"\ny = [ '# f', # g\n]\n",
                &["# c", "# d", "# g"],
            ),
            ("a.json", Kind::Firecracker, "{\"a\": \"# b\"}\n", &[]),
            ("cmdline", Kind::Persistence, "a\n", &[]),
            ("/proc/cmdline", Kind::Persistence, "# a clocksource=tsc\n", &[]),
            (
                "a.service",
                Kind::Persistence,
                "[Service]\n# a\nExecStart=echo 'x \\\n# b\n; c\n",
                &["# a", "; c"],
            ),
            ("tuned.conf", Kind::Tuned, "# a\n[main]\nsummary=# b\n", &["# a"]),
            (
                "a.tf",
                Kind::Persistence,
                "# a\nx = \"# b\" // c\ny = <<EOF\n# d\nEOF\n/* e */\nz = \"${f(\"# g\")}\"\n# h\n",
                &["# a", "// c", "/* e"],
            ),
            (
                "Vagrantfile",
                Kind::VagrantLibvirt,
                "# a\nx = <<~X\n# b\nX\ny = 'c\n# d\n' # e\n=begin\n# f\n=end\n# g\nz = %q(\n# h\n)\n# i\n",
                &["# a", "# e", "=begin\n# f\n=end", "# g"],
            ),
            ("a.py", Kind::Qemu, "# a\nx = '''\n# b\n'''\ny = \"# c\" # d\n", &["# a", "# d"]),
            (
                "a.nix",
                Kind::Qemu,
                "# a\nx = ''\n  # b\n  '''c\n''; # d\n/* e */\n",
                &["# a", "# d", "/* e"],
            ),
            ("a.ps1", Kind::Virtualbox, "# a\n'b\n# c' # d\n$x = @\"\n# e\n\"@\n", &["# a", "# d"]),
            (
                "a.bat",
                Kind::Virtualbox,
                ":: a\nREM b\ncd a\\\n@rem\td\necho :: c ^\n:: d\n",
                &[":: a", "REM b", "@rem\td"],
            ),
            ("b.ps1", Kind::Qemu, "<#\n a\n#>\nb # c\n", &["<#\n a\n#>", "# c"]),
            (
                "a.yml",
                Kind::Qemu,
                "# a\nx: \"y # b\n  # c\" # d\nz: |\n  # e\nw: v#f\n",
                &["# a", "# d"],
            ),
            ("a.sh", Kind::Qemu, "# a\necho 'b\n# c' # d\ncat <<E\n# e\nE\n", &["# a", "# d"]),
            // Not a shell; the apostrophe may hide anything.
            ("a.txt.in", Kind::Qemu, "# a\n@ it's\n# b\n", &["# a"]),
        ];
        for (name, kind, text, wanted) in cases {
            assert_eq!(texts(name, *kind, text), *wanted, "{name}: {text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_ends(text in "[#a \n\"'`<>E@%{}$()/*=\\\\-]{0,60}", kind in 0usize..13, ending in 0usize..12) {
            let endings = ["sh", "rb", "py", "tf", "nix", "ps1", "js", "bat", "yaml", "ini", "xml", ""];
            let kind = Kind::all().nth(kind).unwrap();
            let name = format!("a.{}", endings[ending]);
            if let Ok(document) = Document::of_kind(&name, text.as_bytes(), kind) {
                for span in of(&document) {
                    prop_assert!(text.get(span).is_some());
                }
            }
        }
    }
}
