//! Findings of `vm lint` as other programs read them: SARIF, commands of GitHub's workflows, reports of JUnit.

use crate::report::vm::{FindingReport, LintFile, LintReport};
use clocksmith_facts::visible;
use clocksmith_vm::Severity;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;

/// A finding in a sentence or two.
fn message(finding: &FindingReport) -> String {
    let object = finding.object.as_ref().map(|object| format!("{object}: ")).unwrap_or_default();
    let todo = finding.fix.as_ref().map(|fix| format!(". To do: {fix}")).unwrap_or_default();
    format!("{object}{}: {}{todo}", finding.summary, finding.why)
}

/// A path as a reference in a URI: relative, or of the scheme `file`.
fn uri(path: &str) -> String {
    let mut out = String::from(if path.starts_with('/') { "file://" } else { "" });
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte))
            }
            other => {
                let _ = write!(out, "%{other:02X}");
            }
        }
    }
    out
}

/// SARIF 2.1.0 (OASIS standard, schema sarif-2.1.0).
pub(crate) fn sarif(report: &LintReport) -> Value {
    let level = |severity| match severity {
        Severity::Error => "error",
        Severity::Warn => "warning",
        Severity::Info => "note",
    };
    let findings = || report.files.iter().flat_map(|file| &file.findings);
    let used: BTreeSet<&str> = findings().map(|finding| finding.id).collect();
    let rules: Vec<Value> = clocksmith_vm::rules()
        .filter(|rule| used.contains(rule.id))
        .map(|rule| {
            json!({
                "id": rule.id,
                "shortDescription": {"text": rule.summary},
                "fullDescription": {"text": rule.why},
                "help": {"text": format!("{}\nRisk: {}\nSource: {}", rule.why, rule.risk, rule.source)},
                "defaultConfiguration": {"level": level(rule.severity)},
            })
        })
        .collect();
    let result = |file: &LintFile, finding: &FindingReport| {
        json!({
            "ruleId": finding.id,
            "level": level(finding.severity),
            "message": {"text": message(finding)},
            "locations": [{
                "physicalLocation": {
                    "artifactLocation": {"uri": uri(file.file.trim_start_matches("./"))},
                    "region": {"startLine": finding.line, "startColumn": finding.column},
                },
            }],
        })
    };
    let results: Vec<Value> = report
        .files
        .iter()
        .flat_map(|file| file.findings.iter().map(move |finding| result(file, finding)))
        .collect();
    let broken: Vec<Value> = report
        .files
        .iter()
        .filter_map(|file| file.error.as_ref())
        .map(|error| json!({"level": "error", "message": {"text": error}}))
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "clocksmith",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": broken.is_empty(),
                "toolExecutionNotifications": broken,
            }],
            "results": results,
        }],
    })
}

/// Workflow commands of GitHub: one line for each finding.
pub(crate) fn github(report: &LintReport) -> String {
    let data = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |text: &str| data(text).replace(':', "%3A").replace(',', "%2C");
    let mut out = String::new();
    for file in &report.files {
        let name = property(file.file.trim_start_matches("./"));
        if let Some(error) = &file.error {
            let _ = writeln!(out, "::error file={name}::{}", data(error));
        }
        for finding in &file.findings {
            let level = match finding.severity {
                Severity::Error => "error",
                Severity::Warn => "warning",
                Severity::Info => "notice",
            };
            let _ = writeln!(
                out,
                "::{level} file={name},line={},col={},title={}::{}",
                finding.line,
                finding.column,
                property(finding.id),
                data(&message(finding))
            );
        }
    }
    out
}

/// A report of JUnit: a case for each file, which fails by warnings and errors.
pub(crate) fn junit(report: &LintReport) -> String {
    let escaped = |text: &str| {
        // First, because the names of invisible characters have `<` in them.
        visible::visible(text)
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
            .replace('"', "&quot;")
            .replace('\n', "&#10;")
            .replace('\t', "&#9;")
    };
    let bad =
        |file: &&LintFile| file.findings.iter().any(|finding| finding.severity >= Severity::Warn);
    let errors = report.files.iter().filter(|file| file.error.is_some()).count();
    let failures = report.files.iter().filter(bad).count();
    let head =
        format!("tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\"", report.files.len());
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(out, "<testsuites {head}>\n  <testsuite name=\"clocksmith vm lint\" {head}>");
    for file in &report.files {
        let kind = file.kind.map_or("unknown", clocksmith_vm::Kind::name);
        let _ =
            writeln!(out, "    <testcase classname=\"{kind}\" name=\"{}\">", escaped(&file.file));
        if let Some(error) = &file.error {
            let _ = writeln!(out, "      <error message=\"{}\"/>", escaped(error));
        }
        for finding in file.findings.iter().filter(|finding| finding.severity >= Severity::Warn) {
            let place = format!("{}:{}: {}", finding.line, finding.column, message(finding));
            let _ = writeln!(
                out,
                "      <failure type=\"{}\" message=\"{}\"/>",
                escaped(finding.id),
                escaped(&place)
            );
        }
        out.push_str("    </testcase>\n");
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use clocksmith_vm::{Document, lint};

    fn report(name: &str) -> LintReport {
        let text = b"qemu-system-x86_64 -enable-kvm -m 1G -machine q35 -cpu host,kvm=off\n";
        let document = Document::new(name, text).unwrap();
        let file = LintFile::new(name.to_owned(), &document, &lint(&document).unwrap(), &[]);
        let broken =
            LintFile::unusable("b,<x>%.xml".to_owned(), "cannot \"use\" it\nat all".to_owned());
        LintReport { schema: "clocksmith.vm-lint.v1", files: vec![file, broken] }
    }

    #[test]
    fn sarif_names_rules_places_and_files_that_are_broken() {
        let made = sarif(&report("a b/vm.sh"));
        let run = &made["runs"][0];
        assert_eq!(made["version"], "2.1.0");
        assert_eq!(
            run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            "a%20b/vm.sh"
        );
        let rules: Vec<&str> = run["tool"]["driver"]["rules"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|r| r["id"].as_str())
            .collect();
        for result in run["results"].as_array().unwrap() {
            assert!(rules.contains(&result["ruleId"].as_str().unwrap()), "{result}");
            assert!(
                result["locations"][0]["physicalLocation"]["region"]["startLine"].as_u64()
                    >= Some(1)
            );
        }
        assert_eq!(run["invocations"][0]["executionSuccessful"], false);
    }

    #[test]
    fn github_lines_are_escaped() {
        let made = github(&report("a:b,c.sh"));
        assert!(made.starts_with("::notice file=a%3Ab%2Cc.sh,line=1,col="), "{made}");
        assert!(
            made.contains("::error file=b%2C<x>%25.xml::cannot \"use\" it%0Aat all\n"),
            "{made}"
        );
        assert!(made.lines().all(|line| line.starts_with("::")), "{made}");
    }

    #[test]
    fn junit_report_stays_xml_where_it_is_printed() {
        let made = junit(&report("a\x1b[1m\u{202e}b\tc\n.sh"));
        assert_eq!(visible::visible(&made), made);
        assert!(made.contains("name=\"a&lt;ESC&gt;[1m&lt;U+202E&gt;b&#9;c&#10;.sh\""), "{made}");
    }

    #[test]
    fn junit_counts_files() {
        let made = junit(&report("a&b.sh"));
        assert!(made.contains("tests=\"2\" failures=\"1\" errors=\"1\""), "{made}");
        assert!(
            made.contains("name=\"a&amp;b.sh\"") && made.contains("b,&lt;x&gt;%.xml"),
            "{made}"
        );
        assert!(made.contains("type=\"q-kvm-off\"") && !made.contains("cannot \"use\""), "{made}");
    }
}
