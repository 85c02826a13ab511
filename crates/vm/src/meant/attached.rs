//! Comments that belong to one setting: on its lines, or on separate lines directly above it. Their content is not
//! judged, because a reason may be written in any words; only lines that cannot be a reason are skipped: headings, code
//! that is commented out, directives for other programs, licences. Comments above a whole statement are kept separate.

use crate::certain::is_shell;
use crate::comments;
use crate::document::Document;
use crate::sh;
use crate::shell::is_unit;
use crate::words::listed;
use std::ops::Range;

/// Words of headings: names of the parts of a machine, and words for its start. A comment with no other word gives no
/// reason. Words for quality, faults and tests must not be in this list.
pub(super) const HEADING: &str = "a an and the of for in on with to this that is it its my our all other main basic common general \
    global extra additional settings setting options option opts args arguments arg parameters parameter params flags \
    config configuration setup vars variables values environment machine machines vm vms virtual guest guests host qemu \
    kvm libvirt hypervisor cpu cpus processor processors core cores smp memory mem ram disk disks drive drives storage \
    image images iso cdrom boot boots booting kernel initrd firmware bios uefi ovmf network networking net nic display \
    graphics vga gpu video sound audio usb input keyboard mouse serial console monitor qmp clock clocks timer timers rtc \
    devices device hardware features start starts starting run runs running launch launches launching execute exec \
    create creates build builds define definition command commands line script section step first then finally now \
    here from template linux windows debian ubuntu fedora centos rocky alpine arch macos freebsd openbsd";

/// Words that may be in the title of a machine besides these, if the last word is one of [`MACHINE`]:
/// `Debian test machine`.
pub(super) const TITLE: &str = "test testing build development production ci demo old new small big server desktop database web mail";
pub(super) const MACHINE: &str = "machine vm server instance box launcher";

/// Beginnings of lines for other programs, or of a licence, in lower case.
const DIRECTIVES: [&str; 15] = [
    "!/",
    "shellcheck ",
    "vim:",
    "vi:",
    "ex:",
    "-*-",
    "spdx-",
    "copyright",
    "(c)",
    "yamllint ",
    "noqa",
    "pylint:",
    "yaml-language-server",
    "clocksmith:",
    "{{{",
];

/// The comments of a file, for places in it.
pub(super) struct Attached<'a> {
    document: &'a Document,
    comments: Vec<Range<usize>>,
    /// Commands of a shell, and whether each one runs something: an assignment alone does not.
    commands: Vec<(Range<usize>, bool)>,
    /// Lines of a unit are statements.
    unit: bool,
    xml: bool,
    lines: Vec<&'a str>,
    starts: Vec<usize>,
}

/// A comment that belongs to a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Belongs {
    /// To the setting only: the comment is on its line, or directly above it.
    ToIt(u32),
    /// To its statement, or to the block around it: then the words of the comment decide.
    Around(u32, String),
}

impl<'a> Attached<'a> {
    pub(super) fn of(document: &'a Document) -> Self {
        let script = is_shell(document).then(|| sh::read(document.text.as_str()));
        let commands = script.and_then(Result::ok).map(|script| script.commands);
        let (starts, lines) = document.text.lines().unzip();
        Self {
            document,
            comments: comments::of(document),
            commands: commands
                .into_iter()
                .flatten()
                .map(|command| (command.span, !command.words.is_empty()))
                .collect(),
            unit: is_unit(document.text.as_str()),
            xml: document
                .text
                .as_str()
                .trim_start_matches('\u{feff}')
                .trim_start()
                .starts_with('<'),
            lines,
            starts,
        }
    }

    /// Returns the comments that belong to the text at a place, except those that cannot give a reason.
    pub(super) fn to(&self, place: &Range<usize>) -> Vec<Belongs> {
        let mut all = Vec::new();
        let first = self.line(place.start);
        let last = self.line(place.end.max(place.start + 1) - 1);
        let beside = self.comments.iter().find(|comment| {
            (first..=last).contains(&self.line(comment.start)) && self.gives(comment)
        });
        all.extend(beside.map(|comment| Belongs::ToIt(number(self.line(comment.start)))));
        let statement = self.statement(place);
        let begins = statement.as_ref().map(|(it, _)| self.line(it.start));
        // The first line of a command does not belong to this option only; an assignment has hardly anything else.
        let whole = match statement {
            Some((_, runs)) => runs && begins == Some(first),
            None => self.unit,
        };
        let above = self.above(first).map(|(at, last)| match whole {
            true => self.around_it(at, last),
            false => Belongs::ToIt(number(at)),
        });
        all.extend(above);
        if let Some(begins) = begins.filter(|begins| *begins != first) {
            all.extend(self.above(begins).map(|(at, last)| self.around_it(at, last)));
        }
        let end = statement.map(|(it, _)| self.line(it.end.max(it.start + 1) - 1));
        let behind = self
            .comments
            .iter()
            .find(|comment| Some(self.line(comment.start)) == end && self.gives(comment));
        all.extend(behind.map(|comment| {
            let said = self.document.text.slice(comment.clone()).to_owned();
            Belongs::Around(number(self.line(comment.start)), said)
        }));
        self.around(first, &mut all);
        all
    }

    fn around_it(&self, first: usize, last: usize) -> Belongs {
        let lines = self.lines.get(first..=last).unwrap_or_default();
        Belongs::Around(number(first), lines.join("\n"))
    }

    /// Returns the smallest command that contains a place.
    fn statement(&self, place: &Range<usize>) -> Option<(Range<usize>, bool)> {
        let has = |(it, _): &&(Range<usize>, bool)| it.start <= place.start && place.end <= it.end;
        self.commands.iter().filter(has).min_by_key(|(it, _)| it.len()).cloned()
    }

    /// Adds the lines that open the blocks around a line: each one has less indentation than the one inside it.
    fn around(&self, line: usize, all: &mut Vec<Belongs>) {
        let indent = |at: usize| {
            let text = self.lines.get(at).copied().unwrap_or_default();
            let bare = text.trim_start();
            // A closing mark opens nothing.
            let opens =
                !bare.is_empty() && !bare.starts_with(['}', ']', ')']) && !self.is_comment(at);
            opens.then(|| (text.len() - bare.len(), text.trim_end()))
        };
        let Some((mut least, _)) = indent(line) else { return };
        // A list is one statement, whatever it contains. A key whose first setting this is has the setting's name.
        let (mut list, mut only, mut next) = (true, !self.xml, line);
        for at in (0..line).rev() {
            if least == 0 {
                return;
            }
            let Some((of_line, text)) = indent(at).filter(|(of_line, _)| *of_line < least) else {
                continue;
            };
            least = of_line;
            list &= text.ends_with(['[', '(']);
            only &= (at + 1..next).all(|it| self.is_comment(it) || self.text(it) == Some(""));
            next = at;
            if let Some((first, last)) = self.above(at) {
                if only && !list && of_line > 0 {
                    all.push(Belongs::ToIt(number(first)));
                } else if list || of_line > 0 {
                    all.push(self.around_it(first, last));
                }
            }
            only = false;
        }
    }

    /// Returns the separate comment directly above a line: the first of its lines that can give a reason, and its last
    /// line.
    fn above(&self, line: usize) -> Option<(usize, usize)> {
        let block = (0..line).rev().take_while(|at| self.is_comment(*at));
        let found = block.filter(|at| self.text(*at).is_some_and(may_give)).last()?;
        Some((found, line - 1))
    }

    fn line(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at).max(1) - 1
    }

    /// Returns the place of a line's text, without blanks around it.
    fn span(&self, line: usize) -> Option<Range<usize>> {
        let (text, start) = (self.lines.get(line)?, self.starts.get(line)?);
        let bare = text.trim_start();
        let from = start + text.len() - bare.len();
        Some(from..from + bare.trim_end().len())
    }

    /// Returns whether a line has only comments.
    fn is_comment(&self, line: usize) -> bool {
        let Some(span) = self.span(line).filter(|span| !span.is_empty()) else { return false };
        let of_line = |it: &&Range<usize>| it.start < span.end && span.start < it.end;
        let mut at = span.start;
        for comment in self.comments.iter().filter(of_line) {
            let between = self.document.text.slice(at..comment.start.max(at));
            if !between.trim().is_empty() {
                return false;
            }
            at = at.max(comment.end);
        }
        // The mark that ends a comment may not be a part of it, and a command may continue after one.
        let rest = || self.document.text.slice(at..span.end).trim();
        at > span.start && (at >= span.end || matches!(rest(), "*/" | "\\"))
    }

    fn text(&self, line: usize) -> Option<&'a str> {
        self.span(line).map(|span| self.document.text.slice(span))
    }

    fn gives(&self, comment: &Range<usize>) -> bool {
        self.document.text.slice(comment.clone()).lines().any(may_give)
    }
}

fn number(line: usize) -> u32 {
    u32::try_from(line + 1).unwrap_or(u32::MAX)
}

/// Whether a line of a comment may give a reason.
pub(super) fn may_give(line: &str) -> bool {
    let line = line.trim().trim_end_matches('\\').trim_end();
    // Words that a shell ignores.
    let idle = ["`", "$(:", "${IFS#", "${IFS%", ": ", "<?"];
    let opened = idle.iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line);
    // The delimiter of a text is not one of its words.
    if opened.starts_with("<<") {
        return false;
    }
    let line = if opened.len() < line.len() {
        opened.trim_end_matches(['`', ')', '}', '?', '>'])
    } else {
        line
    };
    let bare = line.trim_start_matches(|c: char| c.is_whitespace() || "#/;*!".contains(c));
    // `#!` is the first line of a script.
    let bare = if line.starts_with("#!") { line.get(1..).unwrap_or_default() } else { bare };
    let bare =
        bare.strip_prefix("<!--").or_else(|| line.strip_prefix("<!--")).unwrap_or(bare).trim();
    let bare = bare.trim_end_matches("-->").trim_end_matches("*/").trim_end_matches("#>");
    let bare = bare.strip_prefix("<#").unwrap_or(bare).trim();
    let bare = bare.strip_prefix("rem ").or_else(|| bare.strip_prefix("REM ")).unwrap_or(bare);
    let lower = bare.to_ascii_lowercase();
    if DIRECTIVES.iter().any(|it| lower.starts_with(it)) || is_code(bare) {
        return false;
    }
    let mut words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let last = lower.split(|c: char| !c.is_alphanumeric()).rfind(|word| !word.is_empty());
    let title = last.is_some_and(|word| listed(MACHINE, word));
    let heading = |word: &str| {
        title && (listed(TITLE, word) || listed(MACHINE, word))
            || listed(HEADING, word)
            || word.bytes().all(|b| b.is_ascii_digit())
    };
    // Lines with only numbers refer to a ticket.
    let numbers =
        |line: &str| !line.chars().any(char::is_alphabetic) && line.chars().any(char::is_numeric);
    !words.all(heading) || numbers(&lower)
}

/// Returns whether a line of a comment is a heading that has only a name and other words of headings.
pub(super) fn is_heading(line: &str, names: &[&str]) -> bool {
    let mut plain = line.to_ascii_lowercase().replace('_', "-");
    for name in names {
        plain = plain.replace(name, " ");
    }
    !plain.contains(['=', ':'])
        && !may_give(&format!("# {}", plain.trim_start_matches(['#', '/', ';', ' '])))
}

/// Returns whether a comment is code that is commented out.
fn is_code(text: &str) -> bool {
    let tag = |c: char| c.is_ascii_alphabetic() || c == '/';
    if text.strip_prefix('<').is_some_and(|rest| rest.starts_with(tag)) && text.ends_with('>') {
        return true;
    }
    let mut words = text.split_whitespace().peekable();
    while words.peek().is_some_and(|word| matches!(*word, "$" | "exec" | "sudo")) {
        words.next();
    }
    let program =
        words.next_if(|word| word.contains("qemu-system-") || word.starts_with('$')).is_some();
    // An option has at most one value: more words are a sentence.
    let is_option = |word: &str| {
        let name = word.trim_start_matches('-');
        name.len() < word.len() && name.starts_with(|c: char| c.is_ascii_alphabetic())
    };
    let (mut options, mut values) = (0, 1);
    let fits = words.all(|word| {
        let option = is_option(word);
        values = if option { 0 } else { values + 1 };
        options += usize::from(option);
        values < 2
    });
    if fits && (program || options > 0) {
        return true;
    }
    let name = |name: &str| {
        let name = name.trim_end().trim_end_matches('+');
        let plain = |c: char| c.is_ascii_alphanumeric() || "_.-\"'".contains(c);
        !name.is_empty() && name.chars().all(plain)
    };
    let quoted = |value: &str| value.starts_with(['"', '\'', '[', '(', '{']);
    let one = |value: &str| {
        !value.trim().is_empty()
            && (quoted(value.trim()) || !value.trim().contains(char::is_whitespace))
    };
    let assigned = text.split_once('=').is_some_and(|(key, value)| name(key) && one(value));
    const VALUES: &str = "true false yes no on off {} []";
    let key = text.split_once(':').is_some_and(|(key, value)| {
        let value = value.trim().trim_end_matches(',');
        name(key.trim()) && (quoted(value) || listed(VALUES, value) && !value.is_empty())
    });
    assigned || key
}

#[cfg(test)]
mod tests {
    use super::may_give;

    #[test]
    fn comment_gives_a_reason_unless_it_is_a_heading_or_code() {
        for line in [
            "# bug 4711: the guest's clock jumps after resume",
            "# see ticket 88",
            "# workaround",
            "# do not remove",
            "# Uhr springt sonst",
            "# 4711",
            "# https://example.org/4711",
            "<!-- the clock jumped after resume with it -->",
            "// the vendor's image checks for it",
            "# -cpu host,kvmclock=off is needed by the old kernel",
            "# qemu-system-x86_64 hangs without it",
            "# measured: 3 us per read, that is fine",
            "# bug: 4711",
            "rem hangs",
            "# test of the guest",
            "# never remove this from the test machine",
        ] {
            assert!(may_give(line), "{line}");
        }
        for line in [
            "#!/bin/bash",
            "# ---- CPU ----",
            "#",
            "#########",
            "## Boot options",
            "# Debian 12 test machine",
            "# starts the machine",
            "# qemu-system-x86_64 -cpu host,kvmclock=off -m 2G \\",
            "#  -cpu host,kvmclock=off",
            "# CPU=host,kvmclock=off",
            "# cpu = \"host\"",
            "# present: true",
            "<!-- <timer name='kvmclock' present='yes'/> -->",
            "# shellcheck disable=SC2086",
            "# SPDX-License-Identifier: MIT",
            "// CPU",
        ] {
            assert!(!may_give(line), "{line}");
        }
    }
}
