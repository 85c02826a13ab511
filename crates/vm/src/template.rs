//! Placeholders that a template has, or a script: what will stand there is not known yet.
//!
//! What must not live here: how a file is read around them (`xml` blanks them out, KubeVirt's manifests
//! keep them as words).

/// Whether a value is a placeholder, or holds one that nothing else looks like: `{{ x }}`, `${X}`, `$X`,
/// `%s`, `@X@`, `%(x)s`.
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

/// The same for a value that has none of these marks by itself, such as a number, a key or the name of a
/// setting: then a part of one is enough, also in the ways of batch files (`%X%`) and Ruby (`#{x}`). A
/// path or a name of a disk may have `@` and `%`.
pub(crate) fn in_plain_value(value: &str) -> bool {
    ["$", "{{", "<%", "%", "#{", "@"].iter().any(|mark| value.contains(mark))
        || value.starts_with('<')
}

#[cfg(test)]
mod tests {
    use super::*;

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
    }
}
