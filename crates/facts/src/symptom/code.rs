//! Source code: a sentence in it is a possible output of a program, and not an output of a machine.

/// Ends of names of files with source code.
const ENDS: [&str; 22] = [
    "c", "cc", "cpp", "cxx", "h", "hh", "hpp", "rs", "go", "java", "kt", "py", "sh", "js", "ts",
    "rb", "sql", "md", "rst", "po", "pl", "scala",
];

/// Whether a line is one of source code: the answer of `grep`, or a sentence between quotation
/// marks with code after them.
pub(super) fn is_source(line: &str) -> bool {
    let line = line.trim();
    let mut parts = line.splitn(3, ':');
    if let (Some(file), Some(number), Some(_)) = (parts.next(), parts.next(), parts.next())
        && let Some((_, end)) = file.rsplit_once('.')
        && !file.contains(' ')
        && ENDS.contains(&end)
        && !number.is_empty()
        && number.bytes().all(|b| b.is_ascii_digit())
    {
        return true;
    }
    // A part of a sentence that continues in the next literal.
    let is_literal = line.len() > 2 && line.starts_with('"') && line.ends_with(" \"");
    is_literal
        || line.ends_with(';') && line.contains('"')
        || line.contains("\" +")
        || line.contains("\" <<")
}

#[cfg(test)]
mod tests {
    use super::is_source;

    #[test]
    fn lines_of_source_code_are_distinguished_from_logs() {
        for line in [
            "src/Server.cpp:1123:        \"a sentence. \" + path);",
            "tests/a.sh:12:# a sentence",
            "    addWarning(\"a sentence\");",
            "    \"a sentence. See \" + path,",
            "           \"a sentence. It goes on \"",
        ] {
            assert!(is_source(line), "{line}");
        }
        for line in [
            "2026.01.02 10:11:12.123456 [ 1 ] {} <Warning> Application: a sentence.",
            "1:M 10 Dec 2025 10:11:12 # WARNING a sentence",
            "server.log:2026: a sentence",
        ] {
            assert!(!is_source(line), "{line}");
        }
    }
}
