//! Placeholders of a template or of a script: their replacement is not known yet.
//!
//! The reading of the file around them is elsewhere (`xml` blanks them out, KubeVirt's manifests keep them as words).

use crate::words::listed;
use std::ops::Range;

/// Returns whether a value is a placeholder, or contains an unambiguous one: `{{ x }}`, `${X}`, `$X`, `%s`, `@X@`,
/// `%(x)s`.
pub(crate) fn is_placeholder(value: &str) -> bool {
    let wrapped = |open: &str, close: &str| {
        value.find(open).is_some_and(|at| value.get(at..).is_some_and(|rest| rest.contains(close)))
    };
    wrapped("{{", "}}")
        || wrapped("${", "}")
        || wrapped("%(", ")")
        || matches!(value, "%s" | "%d" | "%u" | "%v")
        || (value.len() > 2 && value.starts_with('@') && value.ends_with('@'))
        || (value.len() > 1 && value.starts_with('$'))
}

/// Returns the same for a value that does not otherwise have these marks, such as a number, a key or the name of a
/// setting: then a part of one is enough, even in the notations of batch files (`%X%`) and Ruby (`#{x}`). A path or a
/// name of a disk may have `@` and `%`.
pub(crate) fn in_plain_value(value: &str) -> bool {
    ["$", "{{", "<%", "%", "#{", "@"].iter().any(|mark| value.contains(mark))
        || value.starts_with('<')
}

/// Returns whether a value that consists of small letters, digits and underscores is still to be filled in, in any notation:
/// `%ARCH%`, `__ARCH__`, `ARCH`, `@ARCH@`, `<%= arch %>`.
pub(crate) fn in_small_name(value: &str) -> bool {
    let small = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    value.is_empty() || value.starts_with('_') || !value.bytes().all(small)
}

/// The limit of parts of a template that are read.
const MOST_PARTS: usize = 1024;

/// Returns the parts that a template may leave out or repeat: between `{% if x %}` and `{% endif %}`, `{{ range .X }}` and
/// `{{ end }}`, `{{#x}}` and `{{/x}}`, `<% if x %>` and `<% end %>`, `%{ if x }` and `%{ endif }`.
pub(crate) fn optional(text: &str) -> Vec<Range<usize>> {
    const OPENS: &str = "if unless for range with foreach while case";
    const CLOSES: &str = "end endif endfor endforeach endunless endwhile";
    let mut parts = Vec::new();
    let mut open = Vec::new();
    for (mark, close) in [("{%", "%}"), ("{{", "}}"), ("<%", "%>"), ("%{", "}")] {
        open.clear();
        for (at, _) in text.match_indices(mark) {
            let rest = text.get(at + mark.len()..).unwrap_or_default();
            let inside = rest.find(close).and_then(|end| rest.get(..end)).unwrap_or_default();
            let inside = inside.trim_start_matches(['-', '~', '+', ' ', '\t']);
            let word =
                inside.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
            let section = inside.starts_with(['#', '^']) && mark == "{{";
            let code = mark == "<%" && !inside.starts_with(['=', '#']);
            let each = code && (inside.trim_end().ends_with(" do") || inside.contains(" do |"));
            if listed(OPENS, word) || section || each {
                open.push(at);
            } else if listed(CLOSES, word) || inside.starts_with('/') && mark == "{{" {
                parts.extend(open.pop().map(|from| from..at));
            }
            if parts.len() >= MOST_PARTS {
                break;
            }
        }
    }
    parts
}

/// File name extensions of templates.
const ENDINGS: &str = "j2 jinja jinja2 erb epp ejs mako liquid twig tmpl tpl tftpl gotmpl gtpl mustache hbs handlebars \
    template in";

/// Returns whether a whole file is a template, from which a program generates the file that is used: by its extension,
/// or by marks that only templates have.
pub(crate) fn is_template(name: &str, text: &str) -> bool {
    let base = name.rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase();
    let ending = base.rsplit_once('.').map_or("", |(_, ending)| ending);
    let text = &without_placeholders_of_others(text);
    let pair = |open: &str, close: &str| {
        let rest = text.find(open).and_then(|at| text.get(at..));
        rest.is_some_and(|rest| rest.contains(close))
    };
    listed(ENDINGS, ending) || pair("{{", "}}") || pair("{%", "%}") || pair("<%", "%>")
}

/// Returns a script without text that only looks like a placeholder: folds of an editor (`# {{{`), and placeholders
/// that another program replaces (`docker ps --format '{{.Names}}'`).
fn without_placeholders_of_others(text: &str) -> String {
    const PROGRAMS: [&str; 7] =
        ["docker", "podman", "nerdctl", "kubectl", "helm", "go list", "crictl"];
    const FORMATS: [&str; 4] = ["--format", "-f ", "-o ", "--template"];
    if !text.starts_with("#!") {
        return text.to_owned();
    }
    let has = |line: &str, marks: &[&str]| marks.iter().any(|it| line.contains(it));
    let line = |line: &str| {
        let remark = line.trim_start().starts_with('#') || line.contains(" # ");
        match (has(line, &PROGRAMS) && has(line, &FORMATS), remark) {
            (true, _) => String::new(),
            (_, true) => line.replace("{{{", "").replace("}}}", ""),
            _ => line.to_owned(),
        }
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_known_by_its_name_or_its_marks() {
        for name in ["a.xml.j2", "d/a.tpl", "vm.sh.erb", "a.xml.tmpl", "A.XML.IN", "a.gotmpl"] {
            assert!(is_template(name, "<domain/>"), "{name}");
        }
        for text in ["<name>{{ n }}</name>", "x={{.Name}}", "{% if a %}b{% endif %}", "<%= n %>"] {
            assert!(is_template("a.xml", text), "{text}");
        }
        for text in
            ["#!/bin/sh\n# {{{ a\nb\n# }}}\n", "#!/bin/sh\ndocker ps --format '{{.Names}}'\n"]
        {
            assert!(!is_template("a.sh", text), "{text}");
        }
        assert!(is_template("a.sh", "#!/bin/sh\necho {{ name }}\n"));
        for text in ["<name>a</name>", "${x%%,*} {a,{b,c}}", "echo 50% {"] {
            assert!(!is_template("a.xml", text), "{text}");
        }
    }

    #[test]
    fn a_path_is_no_placeholder() {
        for value in ["{{ x }}", "a-{{x}}", "${X}", "$X", "%s", "@X@", "%(x)s"] {
            assert!(is_placeholder(value) && in_plain_value(value), "{value}");
        }
        for value in ["/dev/disk@snap", "100%", "a$b", "$", "@", "", "host"] {
            assert!(!is_placeholder(value), "{value}");
        }
        assert!(in_plain_value("%OS%") && in_plain_value("#{os}") && in_plain_value("a$b"));
        assert!(!in_plain_value("Ubuntu_64") && !in_plain_value("2"));
        for value in
            ["%ARCH%", "__ARCH__", "__arch__", "ARCH", "{{ a }}", "$a", "@a@", "<%= a %>", ""]
        {
            assert!(in_small_name(value), "{value}");
        }
        assert!(!in_small_name("x86_64") && !in_small_name("aarch64"));
    }
}
