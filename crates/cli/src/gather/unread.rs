//! The errors for documents and configurations that were given as a log, and what to do instead.

use anyhow::{Error, anyhow};
use clocksmith_facts::{shell, visible};
use clocksmith_vm::{Document, Kind, lint};

/// Returns the error for a document that this program wrote. It quotes evidence, but lacks most of what it was made from.
pub(super) fn own_report(shown: &str, bytes: &[u8]) -> Option<Error> {
    if !bytes.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    let mut documents =
        serde_json::Deserializer::from_slice(bytes).into_iter::<serde_json::Value>();
    let document = documents.next()?.ok()?;
    let schema = document.get("schema")?.as_str()?.strip_prefix("clocksmith.")?;
    let verb = visible::line(schema.split('.').next()?).into_owned();
    let says = document.get("headline").and_then(serde_json::Value::as_str);
    let says = says.map(|text| format!(" It says: {}", visible::line(text))).unwrap_or_default();
    let reads = if verb == "why" { "; `clocksmith fleet` reads such documents" } else { "" };
    Some(anyhow!(
        "{shown} is a document that `clocksmith {verb} --json` wrote, not evidence.{says} Give the \
         log or the bundle that it was made from{reads}"
    ))
}

/// Returns the error for the configuration of a virtual machine. The extension alone decides nothing: a log may have any
/// name.
pub(super) fn configuration(shown: &str, text: &str) -> Option<Error> {
    let kind = Kind::detect("", text).filter(|kind| *kind != Kind::Persistence)?;
    // A post shows an element or a command in passing; of a file that was cut most lines still are of its language.
    let document = Document::of_kind(shown, text.as_bytes(), kind).ok()?;
    if lint(&document).is_err() && !is_markup(text) {
        return None;
    }
    Some(anyhow!(
        "{shown} is not a log but a configuration ({}): `clocksmith vm lint {}` shows what it does to the guest's clock",
        kind.name(),
        shell::quote(shown)
    ))
}

/// Whether most lines of a text begin as an element does.
fn is_markup(text: &str) -> bool {
    let full = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let (elements, others): (Vec<&str>, Vec<&str>) = full.partition(|line| line.starts_with('<'));
    elements.len() > others.len()
}

/// Words of a line from which on it is a sentence.
const SENTENCE: usize = 5;

/// Whether most lines of a text are sentences: a post names commands in passing.
pub(super) fn is_prose(lines: &[String]) -> bool {
    // Configurations also have comments.
    let is_comment =
        |line: &str| ["#", "//", ";", "<!--", "--"].iter().any(|sign| line.starts_with(sign));
    let full =
        lines.iter().filter(|line| !line.trim().is_empty() && !is_comment(line.trim_start()));
    let is_sentence = |line: &&String| {
        let words = line.split_ascii_whitespace();
        let plain = words.filter(|word| {
            let bare = word.trim_matches(|c: char| c.is_ascii_punctuation());
            !bare.is_empty()
                && bare.chars().all(|c| c.is_alphabetic() || c == '\'')
                && !word.starts_with('-')
        });
        plain.count() >= SENTENCE
    };
    let (sentences, others): (Vec<_>, Vec<_>) = full.partition(is_sentence);
    sentences.len() > others.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_documents_are_no_evidence_and_say_what_they_say() {
        let why = b"{\n \"schema\": \"clocksmith.why.v1\",\n \"headline\": \"Reading the time is slow here.\"\n}\n";
        let error = own_report("a.json", why).unwrap().to_string();
        assert!(error.contains("`clocksmith why --json` wrote"), "{error}");
        assert!(error.contains("It says: Reading the time is slow here."), "{error}");
        assert!(error.contains("clocksmith fleet"), "{error}");
        let check = b"{\"schema\":\"clocksmith.check.v1\"}";
        assert!(!own_report("c", check).unwrap().to_string().contains("fleet"));
        for other in ["{\"schema\": \"other.v1\"}", "[1]", "{ tsc", "", "{\"MESSAGE\": \"tsc\"}"] {
            assert!(own_report("x", other.as_bytes()).is_none(), "{other}");
        }
    }

    #[test]
    fn posts_that_name_commands_are_prose() {
        let of = |text: &str| is_prose(&text.lines().map(str::to_owned).collect::<Vec<_>>());
        assert!(of(
            "# Late clock\n\nThe guest's clock is late after I start it again by hand,\nso I run `VBoxManage startvm x --type headless` from the service that we use here.\n"
        ));
        assert!(of(
            "# Guest additions\n\nThe clock in a guest falls behind when the host\nsleeps, and it stays there for a long time.\n\n    $ VBoxManage guestproperty get x y\n"
        ));
        assert!(!of(
            "#!/bin/sh\n# starts the guest that we use for tests of the clock\nVBoxManage startvm x\nexec qemu-system-x86_64 -cpu host\n"
        ));
        assert!(!of(""));
    }

    #[test]
    fn configurations_lead_to_the_verb_that_reads_them() {
        let script = "#!/bin/sh\nexec qemu-system-x86_64 -cpu host -machine q35,hpet=on\n";
        let error = configuration("start vm.sh", script).unwrap().to_string();
        assert!(error.contains("(qemu): `clocksmith vm lint 'start vm.sh'`"), "{error}");
        assert!(configuration("a", "").is_none());
        let cut = "<domain type='kvm'>\n<name>a</name>\n<clock offset='utc'>\n<timer name='hpet' present='no'/>\n";
        assert!(configuration("a", cut).is_some());
        let post = "# Clock wrong\nWindows here, CST\nours: <clock offset='localtime'>\ntheirs: <clock offset='utc'>\nWhy?\n";
        assert!(configuration("a", post).is_none());
    }
}
