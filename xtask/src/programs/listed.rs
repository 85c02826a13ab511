//! Cargo's list of the test programs that it compiled.

use super::Program;
use std::path::Path;

/// A test program that cargo reports, in one line of JSON.
pub(super) fn program(line: &str) -> Option<Program> {
    if !line.starts_with("{\"reason\":\"compiler-artifact\"")
        || !line.contains(",\"test\":true},\"features\"")
    {
        return None;
    }
    let executable = field(line, "executable")?;
    let manifest = field(line, "manifest_path")?;
    Some(Program {
        executable: executable.into(),
        directory: Path::new(manifest).parent()?.to_path_buf(),
    })
}

/// A string in a line of JSON; none if it has to be unescaped, which a path of a build seldom has.
fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(&format!("\"{name}\":\""))?;
    rest.split('"').next().filter(|text| !text.contains('\\'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"reason":"compiler-artifact","package_id":"path+file:///c/crates/who#1.0.0","manifest_path":"/c/crates/who/Cargo.toml","target":{"kind":["test"],"crate_types":["bin"],"name":"pythons","src_path":"/c/crates/who/tests/pythons.rs","edition":"2024","doc":false,"doctest":false,"test":true},"profile":{"opt_level":"0","debuginfo":1,"debug_assertions":true,"overflow_checks":true,"test":true},"features":[],"filenames":["/t/debug/deps/pythons-0a1b"],"executable":"/t/debug/deps/pythons-0a1b","fresh":true}"#;

    #[test]
    fn program_test_is_found_with_its_directory() {
        let found = program(LINE).unwrap();
        assert_eq!(found.executable, Path::new("/t/debug/deps/pythons-0a1b"));
        assert_eq!(found.directory, Path::new("/c/crates/who"));
        assert_eq!(found.name(), "who/pythons");
    }

    #[test]
    fn program_of_users_and_library_are_none() {
        let plain = LINE.replace(
            "\"overflow_checks\":true,\"test\":true",
            "\"overflow_checks\":true,\"test\":false",
        );
        assert_eq!(program(&plain), None);
        assert_eq!(
            program(
                &LINE.replace(
                    "\"executable\":\"/t/debug/deps/pythons-0a1b\"",
                    "\"executable\":null"
                )
            ),
            None
        );
        assert_eq!(program("Compiling who"), None);
    }
}
