//! The parts of a script or a unit that start no machine, although they look like a command that does: text that is
//! printed or written for readers, blocks that never run, commands that stop a machine, documentation of a program
//! inside it, names and descriptions. They are blanked out before the file is read for findings. The parts that may be edited are determined in
//! `certain`.

mod described;

use crate::certain::{is_python, is_shell};
use crate::document::Document;
use crate::formats::Kind;
use crate::sh;
use crate::shell::is_unit;
use crate::words::{base, here_document, listed};
use described::described;
use std::ops::Range;

/// Commands that print their input. `:` and `true` ignore it.
const SHOW: &str = "cat less more pager fold fmt : true";
/// File name extensions of files for readers.
const TEXTS: [&str; 6] = [".txt", ".md", ".rst", ".html", ".adoc", ".log"];
/// Keys of a unit whose commands run to stop the machine, or to check whether it runs.
const STOPS: [&str; 4] = ["ExecStop=", "ExecStopPost=", "ExecReload=", "ExecCondition="];

/// Returns the same file with blanks for the parts that are not read. Places do not change. `None` for a file without
/// such parts.
pub(crate) fn without(document: &Document) -> Option<Document> {
    if !matches!(document.kind, Kind::Qemu | Kind::Virtualbox | Kind::VirtInstall) {
        return None;
    }
    let text = document.text.as_str();
    let spans = if is_python(document) {
        let mut spans = docstrings(text);
        spans.extend(described(text));
        spans
    } else if is_unit(text) {
        stops(text)
    } else if is_shell(document) {
        let mut spans = shown(text);
        spans.extend(never(text));
        spans.extend(remarks(text));
        spans
    } else {
        described(text)
    };
    if spans.is_empty() {
        return None;
    }
    let mut bytes = text.as_bytes().to_vec();
    for span in spans {
        for byte in bytes.get_mut(span)? {
            if !matches!(*byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
    String::from_utf8(bytes).ok().map(|text| document.with_text(text))
}

/// Finds words that a shell ignores: `` `# ...` ``, `$(: ...)`.
fn remarks(text: &str) -> Vec<Range<usize>> {
    // Most scripts have none, and need not be read again.
    if !["`", "$(:", "${IFS", ": "].iter().any(|mark| text.contains(mark)) {
        return Vec::new();
    }
    let Ok(script) = sh::read(text) else { return Vec::new() };
    let begins = |it: &Range<usize>| {
        let before = text.get(..it.start).and_then(|before| before.chars().next_back());
        let behind = text.get(it.end..).and_then(|behind| behind.chars().next());
        before.is_none_or(|c| c.is_whitespace() || c == '(')
            && behind.is_none_or(|c| c.is_whitespace() || c == ')')
            && text.get(it.clone()).is_some_and(|it| it.starts_with(['`', '$', ':']))
            && !text.get(it.clone()).is_some_and(|it| it.contains('\n'))
    };
    script.comments.into_iter().filter(begins).collect()
}

/// Lines with their places, ends included.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_inclusive('\n').scan(0, |next, line| {
        let start = *next;
        *next += line.len();
        Some((start, line))
    })
}

/// Finds here-documents that are printed, written for readers, or not used.
fn shown(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut open: Option<(&str, bool, usize)> = None;
    for (at, line) in lines(text) {
        if let Some((name, wanted, start)) = open {
            if line.trim_start_matches('\t').trim_end() == name {
                found.extend(wanted.then_some(start..at));
                open = None;
            }
            continue;
        }
        if line.trim_start().starts_with('#') {
            continue;
        }
        let named = line.find("<<").and_then(|mark| {
            let (name, length) = here_document(line.get(mark..)?)?;
            Some((name, shows(line.get(..mark)?, line.get(mark + length..)?)))
        });
        open = named.map(|(name, wanted)| (name, wanted, at + line.len()));
    }
    found
}

/// Returns whether a command prints its here-document, or writes it for readers: `before` and `behind` are the parts of
/// its line.
fn shows(before: &str, behind: &str) -> bool {
    // A descriptor is not a second command.
    let before = before.replace(">&", "> \u{1}");
    let own = before.rsplit([';', '|', '&', '{', '(']).next().unwrap_or_default();
    let mut words = own.split_whitespace().filter(|word| !matches!(*word, "then" | "else" | "do"));
    if !words.next().is_some_and(|word| listed(SHOW, base(word))) {
        return false;
    }
    let rest = behind.split("#").next().unwrap_or_default();
    let pager = |part: &str| {
        let word = part.split_whitespace().next().unwrap_or_default();
        listed("less more pager cat sed fold fmt", base(word)) && !part.contains('>')
    };
    if let Some((_, part)) = rest.split_once('|')
        && !pager(part)
    {
        return false;
    }
    let rest = rest.replace(">&", "> \u{1}");
    let mut targets = [own, &rest].into_iter().filter_map(|part| part.split_once('>'));
    targets.all(|(_, target)| {
        let target = target.trim_start_matches(['>', '|']).trim();
        let target = target.split([' ', ';', '|', ')']).next().unwrap_or_default();
        let name = target.trim_matches(['"', '\'']).to_ascii_lowercase();
        matches!(target, "\u{1}2" | "\u{1}1" | "/dev/stderr" | "/dev/stdout" | "/dev/tty")
            || TEXTS.iter().any(|end| name.ends_with(end))
            || base(&name).starts_with("readme")
    })
}

/// Finds blocks `if false; then ... fi`, without the part after `else`.
fn never(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    // The start of the first one, and the number of open conditions in it.
    let mut open: Option<(usize, usize)> = None;
    for (at, line) in lines(text) {
        let bare = line.trim();
        let first = bare.split([' ', ';', '\t']).next().unwrap_or_default();
        if let Some((start, depth)) = open {
            let ends = first == "fi" || depth == 1 && matches!(first, "else" | "elif");
            open = match (first, ends) {
                ("fi", _) if depth > 1 => Some((start, depth - 1)),
                (_, true) => {
                    found.push(start..at);
                    None
                }
                ("if", _) if !bare.ends_with(" fi") && !bare.ends_with(";fi") => {
                    Some((start, depth + 1))
                }
                _ => open,
            };
        } else if first == "if" {
            let condition = bare.strip_prefix("if").unwrap_or_default().trim();
            let condition = condition.split(';').next().unwrap_or_default().trim();
            let one = bare.ends_with(" fi") || bare.ends_with(";fi");
            if matches!(condition, "false" | "/bin/false" | "[ 0 = 1 ]" | "[ 1 = 0 ]" | "(( 0 ))")
                && !one
            {
                open = Some((at + line.len(), 1));
            }
        }
    }
    found
}

/// Finds commands of a unit that start nothing, with their continuation lines.
fn stops(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut goes_on = false;
    for (at, line) in lines(text) {
        if goes_on || STOPS.iter().any(|key| line.trim_start().starts_with(key)) {
            found.push(at..at + line.len());
            goes_on = line.trim_end().ends_with('\\');
        }
    }
    found
}

/// Finds Python strings that are statements: documentation of a module, a class or a function.
fn docstrings(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut before = "";
    let mut done = 0;
    for (at, line) in lines(text) {
        let bare = line.trim();
        if at < done || bare.is_empty() || bare.starts_with('#') {
            continue;
        }
        // In brackets, or after a sign, it is a value.
        let begins = before.is_empty() || before.ends_with(':') && !before.ends_with("[:");
        before = bare;
        let start = at + line.len() - line.trim_start().len();
        let rest = text.get(start..).unwrap_or_default();
        let plain = rest.trim_start_matches(['r', 'u', 'R', 'U']);
        let Some(mark) = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|it| plain.starts_with(it))
        else {
            continue;
        };
        let from = start + rest.len() - plain.len() + mark.len();
        let inner = text.get(from..).unwrap_or_default();
        let end = inner
            .find(mark)
            .filter(|end| mark.len() == 3 || !inner.get(..*end).unwrap_or_default().contains('\n'));
        let Some(end) = end.filter(|_| begins) else { continue };
        // A text continues, or is the key of a dictionary.
        let behind = inner
            .get(end + mark.len()..)
            .and_then(|rest| rest.lines().next())
            .unwrap_or_default()
            .trim();
        if behind.is_empty() || behind.starts_with('#') {
            found.push(from..from + end);
            done = from + end;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use crate::formats::Kind;
    use crate::testing::bad;

    const OLD: &str =
        "qemu-system-x86_64 -accel kvm -no-hpet -cpu host,kvmclock=off -hda debian.img";
    const RUN: &str =
        "qemu-system-x86_64 -accel kvm -machine q35,hpet=off -cpu host -hda debian.img";

    #[track_caller]
    fn check(name: &str, silent: &[String], told: &[String]) {
        for text in silent {
            assert_eq!(bad(Kind::Qemu, name, text), [""; 0], "{text}");
        }
        for text in told {
            assert_ne!(bad(Kind::Qemu, name, text), [""; 0], "{text}");
        }
    }

    #[test]
    fn text_for_readers_starts_no_machine() {
        let with =
            |before: &str, behind: &str| format!("#!/bin/bash\n{before}\n{OLD}\n{behind}\n{RUN}\n");
        let silent = [
            with("usage() { cat <<EOF", "EOF\n}"),
            with("cat >&2 <<-'EOF'", "EOF"),
            with("cat <<EOF >&2", "EOF"),
            with("cat <<EOF | less", "EOF"),
            with("cat > README.txt <<EOF", "EOF"),
            with("less <<EOF", "EOF"),
            with(": <<'OLD'", "OLD"),
            with("if false; then", "fi"),
            with("if false\nthen\nif true; then echo a\nfi", "fi"),
        ];
        let told = [
            with("cat > run.sh <<EOF", "EOF"),
            with("cat <<EOF | sh", "EOF"),
            with("bash <<EOF", "EOF"),
            with("if true; then", "fi"),
            with("if false; then echo a\nelse", "fi"),
        ];
        check("run.sh", &silent, &told);
    }

    #[test]
    fn commands_that_look_for_a_machine_start_none() {
        let with = |line: &str| format!("#!/bin/bash\n{line}\n{RUN}\n");
        let silent = [
            "pkill -f \"{}\"",
            "sudo pkill -f '{}'",
            "if pgrep -f \"{}\"; then exit; fi",
            "die \"start {}\"",
            "sed -i 's/{}/x/' a",
        ]
        .map(|line| with(&line.replace("{}", OLD)));
        check("run.sh", &silent, &[with(&format!("sh -c \"{OLD}\""))]);
        let unit = |key: &str| {
            format!("[Service]\nExecStart=/usr/bin/{RUN}\n{key}=/usr/bin/pkill -f \"{OLD}\"\n")
        };
        check("a.service", &[unit("ExecStop"), unit("ExecStopPost")], &[]);
        let start = format!("[Service]\nExecStart=/usr/bin/{OLD}\n");
        check("a.service", &[], &[start]);
    }

    #[test]
    fn text_about_a_program_starts_no_machine() {
        let run = "import subprocess\nsubprocess.run([\"qemu-system-x86_64\", \"-accel\", \"kvm\", \"-machine\", \"hpet=off\", \
                   \"-cpu\", \"host\", \"-m\", \"1G\"])\n";
        let silent = [
            format!("#!/usr/bin/env python3\n\"\"\"Start with: {OLD}\"\"\"\n{run}"),
            format!("def a():\n    '''Runs\n    {OLD}\n    '''\n{run}"),
        ];
        check("a.py", &silent, &[format!("import os\nos.system(\"{OLD}\")\n")]);
    }
}
