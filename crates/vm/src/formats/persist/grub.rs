//! Changes of `/etc/default/grub` by scripts.

use super::lines::Line;
use super::replaced;
use crate::finding::Finding;
use crate::parameters::{self, Parameter};
use crate::words::words;

/// Whether a text names GRUB's defaults, as a path or as a variable.
fn names_file(text: &str) -> bool {
    text.contains("default/grub")
        || ["$GRUB_FILE", "$GRUB_CONF", "$GRUB_CFG", "$GRUB_DEFAULT", "${GRUB", "$grub", "${grub"]
            .iter()
            .any(|name| text.contains(name))
}

/// Returns whether a separate drop-in is written, which can be written again without harm.
fn is_drop_in(text: &str) -> bool {
    text.contains("default/grub.d/")
}

/// Returns whether the script tests before whether the parameters are present.
fn guarded(line: &Line<'_>, above: &[Line<'_>]) -> bool {
    let asks = |text: &str| {
        ["grep", "re.search", "=~", " not in ", "awk"].iter().any(|word| text.contains(word))
            && ["clocksource", "tsc="].iter().any(|word| text.contains(word))
            && !text.contains("/sys/")
    };
    asks(line.text) || above.iter().rev().take(10).any(|line| asks(line.text))
}

/// Whether a statement appends to the file.
pub(super) fn appends(text: &str) -> bool {
    let to_file = |rest: &str| {
        let target = rest.split_whitespace().next().unwrap_or_default();
        names_file(target) && !is_drop_in(target)
    };
    let redirect = text.match_indices(">>").any(|(at, _)| text.get(at + 2..).is_some_and(to_file));
    let tee = text.match_indices("tee ").any(|(at, _)| {
        let rest = text.get(at + 4..).unwrap_or_default().trim_start();
        rest.strip_prefix("-a").or_else(|| rest.strip_prefix("--append")).is_some_and(to_file)
    });
    redirect || tee
}

/// Judges one statement of a script.
pub(super) fn judge(
    line: &Line<'_>,
    above: &[Line<'_>],
    found: &[Parameter],
    findings: &mut Vec<Finding>,
) {
    let text = line.text;
    let edited = edits_in_place(text)
        && (names_file(text) || text.contains("GRUB_CMDLINE"))
        && !is_drop_in(text);
    let replacement = replaced::replacement(text).filter(|_| edited);
    let replacement = replacement.filter(|it| !replaced::keeps(it));
    if found.is_empty() {
        // The new line is in a variable.
        if replacement.is_some_and(|it| replaced::by_variables(it, above)) {
            findings.push(replaces(line));
        }
        return;
    }
    if appends(text) {
        if !text.contains("GRUB_CMDLINE") {
            bare(line, found, findings);
        }
        not_idempotent(line, above, findings);
        return;
    }
    if edited {
        if replacement.is_some() {
            findings.push(replaces(line));
        } else {
            not_idempotent(line, above, findings);
        }
        return;
    }
    // Ansible's lineinfile and replace with a reference to the previous text.
    let key = text.trim_start().trim_start_matches("- ");
    if (key.starts_with("line:") || key.starts_with("replace:"))
        && (text.contains("\\1") || text.contains("\\g<"))
        && !around(line, above).contains("(?!")
    {
        not_idempotent(line, above, findings);
    }
}

/// `s/^GRUB_CMDLINE_LINUX=.*/GRUB_CMDLINE_LINUX="..."/`: all of the line is matched, and nothing of it is kept.
fn replaces(line: &Line<'_>) -> Finding {
    let fix = "add to the line, or write a drop-in: /etc/default/grub.d/NAME.cfg";
    Finding::new(rule!("persist-grub-replaces-line"), line.trimmed()).fix(fix)
}

fn around(line: &Line<'_>, above: &[Line<'_>]) -> String {
    let mut text: String =
        above.iter().rev().take(6).map(|line| line.text).collect::<Vec<_>>().join("\n");
    text.push_str(line.text);
    text.push_str(line.next);
    text
}

fn edits_in_place(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let tool = |name: &str, option: &dyn Fn(&str) -> bool| {
        words
            .iter()
            .position(|word| word.trim_start_matches(['"', '\'', '$', '(']) == name)
            .is_some_and(|at| words.iter().skip(at + 1).any(|word| option(word)))
    };
    tool("sed", &|word| {
        word == "--in-place"
            || word.starts_with("--in-place=")
            || word.strip_prefix('-').is_some_and(|flags| {
                !flags.starts_with('-')
                    && flags.chars().take_while(char::is_ascii_alphabetic).any(|c| c == 'i')
            })
    }) || tool("perl", &|word| word.starts_with("-pi") || word.starts_with("-i") || word == "-p -i")
}

fn not_idempotent(line: &Line<'_>, above: &[Line<'_>], findings: &mut Vec<Finding>) {
    // A replacement or removal of a parameter matches only once.
    let parameter = |span: std::ops::Range<usize>| {
        line.text.get(span).is_some_and(|it| !crate::parameters::find(it, 0).is_empty())
    };
    let mut sought = super::sought::sought(line.text).into_iter();
    if guarded(line, above) || sought.any(parameter) {
        return;
    }
    let fix = "write a separate drop-in, with > and not >>: /etc/default/grub.d/NAME.cfg (Debian, \
               Ubuntu), or use grubby --update-kernel=ALL --args=... (Fedora, RHEL, Amazon)";
    findings.push(Finding::new(rule!("persist-grub-not-idempotent"), line.trimmed()).fix(fix));
}

/// Reports bare words, in a script that appends them. The quoted text can be corrected in place.
pub(super) fn bare(line: &Line<'_>, found: &[Parameter], findings: &mut Vec<Finding>) {
    // The advice does not switch the watchdog off either.
    let all = found.iter().map(|parameter| parameter.text.as_str());
    let said: Vec<&str> = all.filter(|word| *word != "tsc=reliable").collect();
    let said = said.join(" ");
    let mut finding = Finding::new(rule!("persist-grub-bare-words"), line.trimmed())
        .fix(format!("GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX {said}\""));
    let text = line.text;
    let quoted = words(text, line.base).into_iter().find(|word| {
        word.quoted
            && found.iter().all(|p| word.span.start <= p.span.start && p.span.end <= word.span.end)
    });
    if let Some(word) = quoted
        // A word without any effect today would switch the watchdog off at the next boot.
        && !found.iter().any(|parameter| parameter.text.starts_with("tsc="))
        && !word.text.contains(['\\', '$', '`', '\'', '"', '{', '\n'])
        && text.trim_start().trim_start_matches("sudo ").starts_with("echo ")
    {
        let with = format!("'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX {}\"'", word.text.trim());
        finding = finding.edit(word.span.start - 1..word.span.end + 1, with);
    }
    findings.push(finding);
}

/// Reports a line of bare words in the file itself.
pub(super) fn bare_line(line: &Line<'_>, findings: &mut Vec<Finding>) -> bool {
    let text = line.text.trim();
    let found = parameters::find(line.text, line.base);
    let all =
        !text.is_empty() && !found.is_empty() && text.split_whitespace().count() == found.len();
    if !all || text.contains(['"', '\'', '$', ';', '#']) {
        return false;
    }
    let fix = format!("GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX {text}\"");
    let harmless = !found.iter().any(|parameter| parameter.text.starts_with("tsc="));
    findings.push(
        Finding::new(rule!("persist-grub-bare-words"), line.trimmed())
            .fix(fix.clone())
            .edit_at(harmless.then(|| line.trimmed()), fix),
    );
    true
}
