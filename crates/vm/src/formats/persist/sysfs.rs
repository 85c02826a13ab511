//! Writes to `/sys/devices/system/clocksource/clocksource0/`.

use super::lines::Line;
use crate::finding::{Finding, Severity};
use crate::text::offset;
use clocksmith_kernel::mistakes::meant_clocksource;
use clocksmith_kernel::names;
use std::ops::Range;

const CURRENT: &str = "current_clocksource";
const UNBIND: &str = "unbind_clocksource";

/// The limit of spellings of variables that are recorded; two for each.
const MOST_NAMES: usize = 128;

/// The limit of lines above a path in which its tool is searched.
const FARTHEST: usize = 1000;

/// Variables of a script that contain the name of a file, in the spelling of their use.
#[derive(Debug, Default)]
pub(super) struct Aliases {
    current: Vec<String>,
    unbind: Vec<String>,
}

impl Aliases {
    /// Records `NAME=/sys/.../current_clocksource`.
    pub(super) fn learn(&mut self, line: &Line<'_>) {
        let text = line.text.trim().trim_end_matches(['"', '\'', ';']);
        let Some((name, value)) = text.split_once('=') else { return };
        let name = name.split_whitespace().next_back().unwrap_or_default();
        let known = value.starts_with(['/', '"', '\'', '$']) && !value.contains([' ', '(']);
        if !known
            || name.is_empty()
            || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        {
            return;
        }
        if self.current.len() + self.unbind.len() >= MOST_NAMES {
            return;
        }
        let both = [format!("${{{name}}}"), format!("${name}")];
        if value.ends_with(CURRENT) {
            self.current.extend(both);
        } else if value.ends_with(UNBIND) {
            self.unbind.extend(both);
        }
    }

    /// Judges a statement that writes through such a variable.
    pub(super) fn judge(&self, line: &Line<'_>, findings: &mut Vec<Finding>) {
        let writes = |names: &[String]| names.iter().find_map(|name| written(line.text, name));
        if writes(&self.unbind).is_some() {
            let fix = "write the wanted name to current_clocksource instead";
            findings.push(Finding::new(rule!("persist-unbind"), line.trimmed()).fix(fix));
        } else if let Some(value) = writes(&self.current) {
            name(line, value, line.trimmed(), findings);
        }
    }
}

/// Judges one statement. `above` are the lines before it, for formats whose structure is indentation.
pub(super) fn judge(line: &Line<'_>, above: &[Line<'_>], findings: &mut Vec<Finding>) {
    let text = line.text;
    if !text.contains(CURRENT) && !text.contains(UNBIND) {
        return;
    }
    let span = line.trimmed();
    if text.contains(UNBIND) && written(text, UNBIND).is_some() {
        let fix = "write the wanted name to current_clocksource instead";
        findings.push(Finding::new(rule!("persist-unbind"), span).fix(fix));
        return;
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let sed = words.iter().position(|word| *word == "sed" || word.ends_with("/sed"));
    if let Some(at) = sed
        && words.iter().skip(at).any(|word| word.starts_with("-i") || *word == "--in-place")
        && text.contains("/sys/")
    {
        let fix = "echo NAME > /sys/devices/system/clocksource/clocksource0/current_clocksource";
        findings.push(Finding::new(rule!("persist-sysfs-sed"), span).fix(fix));
        return;
    }
    if is_structured_path(text) {
        if let Some(tool) = renaming_tool(line, above) {
            let fix = match tool {
                "write_files" => {
                    "bootcmd: [ [ sh, -c, 'echo NAME > /sys/.../current_clocksource' ] ]"
                }
                "files" => {
                    "a systemd unit, or a line of tmpfiles.d: w /sys/.../current_clocksource - - - - NAME"
                }
                _ => "the module shell, with echo NAME > /sys/.../current_clocksource",
            };
            findings.push(
                Finding::new(rule!("persist-sysfs-atomic-write"), span)
                    .summary(format!("{tool} on a file of sysfs: it fails"))
                    .fix(fix),
            );
        }
        return;
    }
    if let Some(value) = written(text, CURRENT) {
        name(line, value, span, findings);
    }
}

fn name(
    line: &Line<'_>,
    value: Option<Range<usize>>,
    span: Range<usize>,
    findings: &mut Vec<Finding>,
) {
    let name = value.clone().and_then(|value| line.text.get(value)).unwrap_or_default();
    let open = name.is_empty()
        || !name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'));
    if open {
        // A variable, or a command's output.
        findings.push(Finding::new(rule!("persist-sysfs-ok"), span));
    } else if names::find(name).is_none() {
        let mut finding = Finding::new(rule!("persist-sysfs-unknown-name"), span)
            .summary(format!("no clocksource is called {name}: the write does nothing"));
        match meant_clocksource(name) {
            Some(meant) if names::is_slow_by_nature(meant) => {
                finding = finding.fix(format!("leave it out: {meant}, which is meant, is slow"));
            }
            Some(meant) => {
                finding = finding.fix(format!("write {meant}"));
                if let Some(value) = value {
                    let value = line.base + value.start..line.base + value.end;
                    finding = finding.edit(value, meant);
                }
            }
            // It may be that of a platform that is not in the list.
            None => {
                finding = finding.severity(Severity::Warn).fix("a name of available_clocksource")
            }
        }
        findings.push(finding);
    } else if names::is_slow_by_nature(name) {
        let said = format!("{name} is chosen, which is slow on every machine");
        let fix = "leave the choice to the kernel, or choose the best of available_clocksource";
        findings.push(Finding::new(rule!("persist-sysfs-slow"), span).summary(said).fix(fix));
    } else {
        let said = format!("{name} is written to current_clocksource at run time");
        findings.push(Finding::new(rule!("persist-sysfs-ok"), span).summary(said));
    }
}

/// `path: /sys/...`, `dest=/sys/...`, `"path": "/sys/..."`: a path as a value of a structure.
fn is_structured_path(text: &str) -> bool {
    let Some(at) = text.find("/sys/") else { return false };
    let before = text.get(..at).unwrap_or_default();
    let before = before.trim_end_matches(['"', '\'', ' ', ':', '=']);
    let key = before.rsplit([' ', '"', '\'', '{', ',']).next().unwrap_or_default();
    matches!(key, "path" | "dest" | "name" | "destfile") && !text.contains("> /sys")
}

/// Returns the tool, above a path, that writes by renaming.
fn renaming_tool(line: &Line<'_>, above: &[Line<'_>]) -> Option<&'static str> {
    const TOOLS: &str = "write_files copy template lineinfile blockinfile replace files";
    let find = |text: &str| {
        // The last part of `ansible.builtin.copy:`, of `"files": [`, of `- copy: src=x dest=y`.
        let key =
            text.trim_start().trim_start_matches("- ").split([':', '=']).next().unwrap_or_default();
        let key = key.trim().trim_matches('"').rsplit('.').next().unwrap_or_default();
        TOOLS.split(' ').find(|tool| *tool == key)
    };
    if let Some(tool) = find(line.text) {
        return Some(tool);
    }
    let indent = |text: &str| {
        let trimmed = text.trim_start();
        let item = trimmed.len() - trimmed.trim_start_matches("- ").len();
        text.len() - trimmed.len() + item
    };
    let mut least = indent(line.text);
    for line in above.iter().rev().take(FARTHEST).filter(|line| !line.text.trim().is_empty()) {
        let here = indent(line.text);
        if here < least {
            least = here;
            if let Some(tool) = find(line.text) {
                return Some(tool);
            }
            if ["stat:", "slurp:", "assert:", "wait_for:", "shell:", "command:"]
                .iter()
                .any(|module| line.text.contains(module))
            {
                return None;
            }
        }
    }
    None
}

/// Returns whether a statement writes to the file, and if so which bytes of it are the value, if that can be
/// determined.
fn written(text: &str, file: &str) -> Option<Option<Range<usize>>> {
    let at = text.find(file)?;
    let before = text.get(..at)?;
    let after = text.get(at + file.len()..).unwrap_or_default();
    // `ATTR{current_clocksource}="tsc"` of udev, `path = value` of tuned and sysfs.conf.
    let assigned = after.trim_start_matches(['}', ']', '"', '\'']).trim_start();
    if let Some(value) = assigned.strip_prefix('=')
        && !value.starts_with('=')
        && !before.contains("$(")
    {
        return path_assigned(text, before, value);
    }
    // `w /sys/... - - - - value` of tmpfiles.d.
    let mut fields = text.split_whitespace();
    if let Some(kind) = fields.next()
        && matches!(kind, "w" | "w!" | "w+" | "w-" | "w+!" | "f" | "f+" | "F")
        && fields.next().is_some_and(|path| path.ends_with(file))
    {
        let value = fields.nth(4);
        let at = |value: &str| offset(text, value)..offset(text, value) + value.len();
        return Some(value.map(at));
    }
    let tail = path_start(before);
    let head =
        before.get(..tail).unwrap_or_default().trim_end().trim_end_matches(['"', '\'']).trim_end();
    let redirected = head.ends_with('>') && !head.ends_with("2>") && !head.ends_with("=>");
    let tee = head.rsplit(['|', ';', '&']).next().is_some_and(|last| {
        last.split(|c: char| c.is_whitespace() || c == '\'' || c == '"')
            .any(|word| word == "tee" || word.ends_with("/tee"))
    });
    if !redirected && !tee {
        return None;
    }
    Some(echoed(text, head))
}

/// Returns where the word that ends in the file's name begins.
fn path_start(before: &str) -> usize {
    before
        .rfind(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '>' | '='))
        .map_or(0, |at| {
            at + before.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
        })
}

fn path_assigned(text: &str, before: &str, value: &str) -> Option<Option<Range<usize>>> {
    let start = path_start(before);
    let path = before.get(start..).unwrap_or_default();
    let udev = path.contains("ATTR{") || before.contains("ATTR{");
    // `current_clocksource=$(cat ...)` is a variable.
    if !udev && !path.contains('/') {
        return None;
    }
    let trimmed = value.trim_start().trim_start_matches(['"', '\'']);
    let from = text.len() - trimmed.len();
    let length = trimmed
        .find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '#' | ','))
        .unwrap_or(trimmed.len());
    Some((length > 0).then_some(from..from + length))
}

/// Returns the text that `echo` or `printf` prints before the write.
fn echoed(text: &str, head: &str) -> Option<Range<usize>> {
    let at =
        ["echo ", "printf "].iter().filter_map(|c| head.rfind(c).map(|at| at + c.len())).max()?;
    let mut from = at;
    loop {
        let rest = text.get(from..)?;
        let trimmed = rest.trim_start_matches([' ', '\t', '"', '\'', '\\']);
        from = text.len() - trimmed.len();
        // Options of echo, and the format of printf.
        let option = trimmed.split_whitespace().next()?;
        if matches!(
            option,
            "-n" | "-e" | "-ne" | "-en" | "%s" | "%s\\n" | "%s'" | "%s\"" | "%s\\n'" | "%s\\n\""
        ) {
            from += option.len();
        } else {
            break;
        }
    }
    let rest = text.get(from..)?;
    let length = rest
        .find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '|' | '>' | ';' | '\\'))
        .unwrap_or(rest.len());
    (length > 0).then_some(from..from + length)
}
