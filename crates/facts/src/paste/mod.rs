//! Text that users paste around a kernel log, or instead of one: shell transcripts, the output of tools, whole posts.
//!
//! Contents: the page that readers examine, the registry of the readers of transcripts (`READERS`), the completion of
//! the facts by their results, and the separation of the machines in one text ([`sections`]). A reader takes the
//! lines that it knows; lines without a reader or a kernel message are counted. Not in this module: the kernel's
//! messages (`log`), the output of profilers and benchmarks (`symptom`), the meaning of any of them.

mod columns;
mod compared;
mod complete;
mod consoles;
mod contradicted;
mod cpuid;
mod discipline;
mod files;
mod foreign;
mod gutter;
mod headings;
mod host_rows;
mod hosts;
mod identity;
mod kept;
mod log_heading;
mod machines;
mod mixed;
mod ntp_tools;
mod others;
mod overtaken;
mod owner;
mod packets;
mod parts;
mod processor;
mod prompt;
mod reprinted;
mod rtc;
mod samples;
mod sections;
mod sentences;
mod service;
mod set_back;
mod sysfs;
mod systems;
mod table;
mod timedatectl;
mod uml;
mod virt;
mod wall;
mod writers;

use crate::cmdline::CommandLine;
use crate::cpu::Flags;
use crate::hypervisor::HypervisorKind;
use crate::log::{LogError, Of, is_marked, of_records, plain, strip_prefix};
use crate::ntp::NtpState;
use crate::symptom::{self, Seen, Symptom};
use crate::version::Kernel;
use crate::wall::{Apart, TimeSource, Tools};
use crate::word_list::WordList;
use crate::{Arch, Fact, Source};
pub(crate) use files::label;
pub(crate) use foreign::{Doubt, Foreign, is_kernel_log};
pub use headings::{headed, in_time};
pub use host_rows::table_rows;
pub(crate) use hosts::is_general as is_general_host;
pub use hosts::{HOSTS, hosts};
pub use machines::machines;
pub use mixed::mixed;
pub use sections::{Section, crowded, older, sections};
use serde::Serialize;
use std::ops::Range;
pub(crate) use sysfs::prints_first;
pub use systems::other_system;

/// Bytes of a text that are searched for anything but kernel messages.
pub const LIMIT: usize = 4 << 20;
/// Maximum number of its lines: each takes about 60 bytes besides its text.
pub const LINES: usize = 200_000;
/// Lines with a time stamp from which on a text is a log, or a mail with several: words above some of its lines are
/// then of its writer, and its order is that of the boots.
const WHOLE_LOG: usize = 150;
/// Lines after a reading of the clocksource for which it is valid: a text may continue with another machine, or with
/// the same one after a reboot.
const NEAR: usize = 60;
/// Maximum number of stored symptoms.
const SYMPTOMS: usize = 64;
/// Lines around one line that are searched for another field of the same output.
const FIELDS_WITHIN: usize = 12;
/// Lines at the beginning of a manual that contain its first headings.
const HEADINGS_WITHIN: usize = 80;
/// Lines above one line that are searched for the command that printed it.
const COMMAND_WITHIN: usize = 40;

/// Whether a text is a log, and no quotation from one.
#[must_use]
pub fn is_whole_log(lines: &[String]) -> bool {
    let stamped = lines.iter().filter(|line| line.trim_start().starts_with('['));
    stamped.take(WHOLE_LOG + 1).count() > WHOLE_LOG
}

/// Reads one kind of text.
pub(crate) struct Reader {
    /// The kind, as the report lists it.
    pub(crate) name: &'static str,
    /// Words; the first line of such a text has at least one of them.
    pub(crate) words: &'static [&'static str],
    /// Reads from a line on; returns the number of lines that it took, 0 if the text is not of this kind.
    pub(crate) read: fn(&mut Page<'_>, usize) -> usize,
}

/// The readers of transcripts: one line for each kind.
const READERS: [Reader; 32] = [
    sysfs::READER,
    sysfs::CHOICE,
    identity::UNAME,
    identity::CMDLINE,
    processor::CPUINFO,
    processor::LSCPU,
    cpuid::READER,
    cpuid::LEAVES,
    virt::DETECT,
    virt::DMIDECODE,
    virt::LSMOD,
    discipline::CHRONY,
    timedatectl::READER,
    discipline::ADJTIMEX,
    discipline::TRACED,
    discipline::SOURCES,
    discipline::PEERS,
    discipline::TIMESYNC,
    discipline::TIMESYNC_PROPERTIES,
    discipline::DAEMON_LOG,
    discipline::PROGRAMS,
    wall::VARIABLES,
    wall::ASSOCIATIONS,
    wall::TOOLS,
    wall::DATES,
    rtc::READER,
    service::STATUS,
    service::METRICS,
    ntp_tools::NTPTIME,
    ntp_tools::OPENNTPD,
    ntp_tools::ACTIVITY,
    packets::READER,
];

/// The lines of a text, and the facts that were read from them so far.
pub(crate) struct Page<'a> {
    name: &'a str,
    /// The lines of the text.
    lines: &'a [String],
    told: Told,
    symptoms: Vec<Symptom>,
    /// The clocksource that was read or chosen last, and its line.
    under: Option<(String, usize)>,
}

impl<'a> Page<'a> {
    pub(crate) fn lines(&self) -> &'a [String] {
        self.lines
    }

    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    /// A line; empty after the end.
    pub(crate) fn line(&self, number: usize) -> &'a str {
        self.lines.get(number).map_or("", String::as_str)
    }

    /// A line joined with the following lines, which a mailer may have wrapped.
    pub(crate) fn joined(&self, at: usize, lines: usize) -> String {
        let mut text = self.line(at).trim_end().to_owned();
        for number in at + 1..at + lines {
            let next = self.line(number).trim();
            if next.is_empty() || self.is_prompt(number) {
                break;
            }
            text.push(' ');
            text.push_str(next);
        }
        text
    }

    /// Whether a line is a prompt of a shell.
    pub(crate) fn is_prompt(&self, number: usize) -> bool {
        prompt::read(self.line(number)).is_some()
    }

    /// Whether a line is part of the output of a tool: another field of the output is near, or a prompt above runs the
    /// tool. A single line of the form `Model: x` may be anything: a message of the kernel, a form, a sentence.
    ///
    /// `field` returns the name of the field in a line, if the line is one of that output.
    fn is_output(&self, at: usize, tool: &str, field: fn(&str) -> Option<&str>) -> bool {
        let Some(own) = field(self.line(at)) else { return false };
        let near = at.saturating_sub(FIELDS_WITHIN)..self.len().min(at + FIELDS_WITHIN + 1);
        let others = near.filter(|number| *number != at);
        if others.filter_map(|number| field(self.line(number))).any(|other| other != own) {
            return true;
        }
        let above = (at.saturating_sub(COMMAND_WITHIN)..at).rev();
        above
            .filter_map(|number| prompt::read(self.line(number)))
            .find(|found| !found.command.is_empty())
            .is_some_and(|found| found.command.contains(tool))
    }

    pub(crate) fn source(&self, number: usize) -> Source {
        Source(format!("{}:{}", self.name, number + 1))
    }

    /// Stores a server's quotation of sysfs; values that were read from sysfs directly take precedence.
    pub(crate) fn quotes_sysfs(&mut self, at: usize, current: &str, available: &[String]) {
        if self.told.current.is_known() {
            return;
        }
        self.told.current = Fact::known(current.to_owned(), self.source(at));
        if !available.is_empty() && !self.told.available.is_known() {
            self.told.available = Fact::known(available.to_vec(), self.source(at));
        }
    }

    pub(crate) fn symptom(&mut self, at: usize, tool: &'static str, seen: Seen) {
        if self.symptoms.len() < SYMPTOMS {
            let source = self.source(at);
            let near = |place: &usize| at.saturating_sub(*place) <= NEAR;
            let under = match &mut self.under {
                Some((name, place)) if near(place) => {
                    // One measurement follows another.
                    *place = at;
                    Some(name.clone())
                }
                _ => None,
            };
            self.symptoms.push(Symptom { source, tool, under, seen });
        }
    }
}

/// The machine's properties in transcripts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    pub(crate) kernel: Fact<Kernel>,
    pub(crate) arch: Fact<Arch>,
    pub(crate) cmdline: Fact<CommandLine>,
    pub(crate) vendor: Option<String>,
    pub(crate) family: Option<u32>,
    pub(crate) model: Option<u32>,
    pub(crate) cpu: Fact<String>,
    pub(crate) flags: Fact<Flags>,
    /// Whether that list may be truncated after the words about the TSC.
    pub(crate) flags_cut: bool,
    pub(crate) cpus: Fact<u32>,
    pub(crate) hypervisor: Fact<Option<HypervisorKind>>,
    pub(crate) dmi: Fact<String>,
    pub(crate) current: Fact<String>,
    pub(crate) available: Fact<Vec<String>>,
    pub(crate) ntp: Fact<NtpState>,
    pub(crate) source: Fact<TimeSource>,
    /// The real-time clock in the output of `timedatectl`: seconds by which it is ahead of the universal time.
    pub(crate) rtc_ahead_s: Fact<i64>,
    /// Whether the output shows an NTP service as active.
    pub(crate) ntp_service: Fact<bool>,
    /// Whether the output states that the real-time clock keeps local time.
    pub(crate) rtc_local: Fact<bool>,
    pub(crate) tools: Fact<Tools>,
    pub(crate) apart: Fact<Apart>,
    /// Bit 8 of EDX of CPUID leaf 0x80000007.
    pub(crate) invariant_tsc: Fact<bool>,
}

/// The facts in a text other than the kernel's messages.
#[derive(Clone, Debug, Default)]
pub struct Pasted {
    /// Lines that the kernel printed.
    pub kernel_lines: u64,
    /// The kinds of text that were recognised, in the order of their first lines.
    pub kinds: Vec<&'static str>,
    /// Lines that are not blank and that were not recognised.
    pub unread: u64,
    /// Those among them that are sentences of a writer.
    prose: u64,
    /// Whether the text names a cloud or a hypervisor.
    names_guest: bool,
    /// Whether a prompt is that of the dom0 of Qubes OS.
    is_qubes_dom0: bool,
    /// For each line, whether it is part of source code or of a text of examples.
    quoted: Vec<bool>,
    /// The lines of outputs that, by the text, no machine printed.
    imagined: Vec<Range<usize>>,
    /// The kernel lines whose owner the text leaves open.
    ownerless: Vec<Range<usize>>,
    pub(crate) symptoms: Vec<Symptom>,
    pub(crate) told: Told,
}

/// The recognised parts of a text, for the report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Recognised {
    /// Lines that the kernel printed.
    pub kernel_lines: u64,
    /// The kinds of text.
    pub kinds: Vec<&'static str>,
    /// Lines that were not recognised.
    pub unread: u64,
    /// Those among them that are sentences of a writer, and no lines of a log.
    pub prose: u64,
    /// Whether the text names a cloud or a hypervisor in words.
    pub names_guest: bool,
    /// Whether the machine is the dom0 of Qubes OS, which has no network.
    pub is_qubes_dom0: bool,
}

impl Pasted {
    /// Reads the lines of a text. `name` is the name in citations.
    #[must_use]
    pub fn read(lines: &[String], name: &str) -> Self {
        let mut page =
            Page { name, lines, told: Told::default(), symptoms: Vec::new(), under: None };
        let mut out = Self::default();
        let mut at = 0;
        // Any user may have written what a record quotes: no reader treats it as an output.
        let further = of_records(lines);
        // A manual shows outputs that no real machine printed, and a changelog quotes messages.
        let examples = is_manual(lines) || owner::is_changelog(lines) || owner::is_guide(lines);
        let records = owner::records(lines);
        out.imagined = owner::imagined(lines, &records);
        out.ownerless = owner::open(lines);
        out.quoted = match examples {
            true => vec![true; lines.len()],
            false => owner::of_no_machine(lines, &records),
        };
        while at < lines.len() {
            let line = &lines[at];
            if line.trim().is_empty() {
                at += 1;
                continue;
            }
            if let Some(of) = further[at] {
                match of {
                    Of::Kernel => out.kernel_lines += 1,
                    Of::Program => out.unread += 1,
                }
                at += 1;
                continue;
            }
            let stamped = line.trim_start().starts_with('[') && plain::is_of_the_kernel(line);
            if stamped || is_marked(line) {
                out.kernel_lines += 1;
                discipline::stamped(&mut page, at);
                at += 1;
                continue;
            }
            let may = |reader: &&Reader| !out.quoted[at] && writers::may_say(line, reader);
            let taken = readers_of(line).filter(may).find_map(|reader| {
                match (reader.read)(&mut page, at) {
                    0 => None,
                    taken => Some((reader.name, taken)),
                }
            });
            match taken {
                Some((kind, taken)) => {
                    if !out.kinds.contains(&kind) {
                        out.kinds.push(kind);
                    }
                    at += taken;
                }
                None => {
                    if writers::is_of_linuxptp(line) {
                        let kind = discipline::DAEMON_LOG.name;
                        if !out.kinds.contains(&kind) {
                            out.kinds.push(kind);
                        }
                    } else if plain::is_of_the_kernel(line) {
                        out.kernel_lines += 1;
                    } else if !page.is_prompt(at) {
                        out.unread += 1;
                        out.prose += u64::from(sentences::is_one(line));
                    }
                    at += 1;
                }
            }
        }
        if out.kernel_lines > 0 && !examples {
            set_back::look(&mut page);
        }
        overtaken::look(&mut page);
        // Words of a program that writes to a whole log, such as a boot loader, are no writer's.
        if is_whole_log(lines) {
            out.prose = 0;
        }
        out.names_guest = sentences::name_a_guest(lines);
        out.is_qubes_dom0 = sentences::is_qubes_dom0(lines);
        out.symptoms = page.symptoms;
        out.told = page.told;
        out
    }

    /// Whether nothing was recognised.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty() && self.kernel_lines == 0
    }

    /// The recognised parts, for the report.
    #[must_use]
    pub fn recognised(&self) -> Recognised {
        Recognised {
            kernel_lines: self.kernel_lines,
            kinds: self.kinds.clone(),
            unread: self.unread,
            prose: self.prose,
            names_guest: self.names_guest,
            is_qubes_dom0: self.is_qubes_dom0,
        }
    }
}

/// Truncates a text to the part that is examined, and returns whether there was more.
pub fn cut(text: &mut Vec<u8>) -> bool {
    let end = memchr::memchr_iter(b'\n', text).nth(LINES).unwrap_or(LIMIT).min(LIMIT);
    let more = text.len() > end;
    text.truncate(end);
    more
}

/// The lines of a text of bounded size, without the additions of mailers, web pages, terminals and quotations.
///
/// # Errors
/// Returns an error if the input is not text.
pub fn lines(bytes: &[u8], name: &str) -> Result<Vec<String>, LogError> {
    quoted_lines(bytes, name).map(|(lines, _)| lines)
}

/// The same lines, and the quotation depth of each.
///
/// # Errors
/// Returns an error if the input is not text.
pub fn quoted_lines(bytes: &[u8], name: &str) -> Result<(Vec<String>, Vec<usize>), LogError> {
    let mut lines = plain::lines(bytes, name)?;
    let mut depths = Vec::with_capacity(lines.len());
    let mut before = String::new();
    for line in &mut lines {
        // The character of a redirection, in a wrapped command.
        if crate::log::broken_write(&[&before, line]).is_some() && !before.starts_with('>') {
            depths.push(0);
            before.clear();
            continue;
        }
        let (depth, bare) = unquoted(line);
        depths.push(depth);
        let bare = if depth > 0 { bare.to_owned() } else { std::mem::take(line) };
        *line = bare;
        before.clone_from(line);
    }
    // The signs of a patch show that its lines are of a document.
    let documents = owner::of_documents(&lines);
    let patches: Vec<String> =
        documents.iter().flat_map(|block| lines[block.clone()].to_vec()).collect();
    gutter::take_off(&mut lines);
    for (at, line) in documents.into_iter().flatten().zip(patches) {
        lines[at] = line;
    }
    foreign::cover(&mut lines);
    Ok((lines, depths))
}

/// A line without the quotation characters of mail and forums (`> > `), and their number.
fn unquoted(line: &str) -> (usize, &str) {
    let (mut depth, mut rest) = (0, line);
    while let Some(inner) = rest.trim_start().strip_prefix('>') {
        rest = inner.strip_prefix(' ').unwrap_or(inner);
        depth += 1;
    }
    // Code marks of Markdown around a whole line.
    (depth, rest)
}

/// Marks of the sources of manuals: DocBook's elements, requests of roff.
const MARKS_OF_SOURCES: [&str; 8] =
    ["<para>", "</para>", "<screen>", "</screen>", "<refsect", "<programlisting>", ".SH ", ".TH "];
/// Such lines from which a text is the source of a manual.
const SOURCE_LINES: usize = 3;
/// Sentences that manuals write about an output that they show: chronyc's and that of `pg_test_timing`.
const ABOUT_OUTPUTS: [&str; 6] = [
    "The fields are as follows",
    "The columns are as follows",
    "Interpreting Results",
    "Interpreting results",
    "* The column 'Overhead' indicates",
    "Fields explained",
];

/// Whether a text is a page of a manual, as `man` shows it or in its source: it has the headings of every page, and no
/// line with a time stamp of the kernel.
fn is_manual(lines: &[String]) -> bool {
    const HEADINGS: [&str; 2] = ["NAME", "SYNOPSIS"];
    let heading = |wanted: &str| {
        lines.iter().take(HEADINGS_WITHIN).any(|line| {
            let line = line.trim_end();
            line == wanted
                || line.strip_prefix(".SH ").is_some_and(|name| name.trim_matches('"') == wanted)
        })
    };
    let marked = |line: &&String| {
        let line = line.trim_start();
        MARKS_OF_SOURCES.iter().any(|mark| line.starts_with(mark))
    };
    let explains = |line: &String| {
        let line = line.trim_start();
        ABOUT_OUTPUTS.iter().any(|words| line.starts_with(words))
    };
    let is_one = HEADINGS.into_iter().all(heading)
        || lines.iter().filter(marked).count() >= SOURCE_LINES
        || lines.iter().any(explains);
    is_one && !lines.iter().any(|line| strip_prefix(line).1)
}

/// The output of a command, if the text shows it as a comment below or after the command: `# Output: x`, `# x`, `#=>
/// x`, `// x`, `-> x`.
fn shown(line: &str) -> &str {
    let line = line.trim();
    let signs = ["#=>", "# =>", "#->", "# ->", "//=>", "// =>", "//", "#", "=>", "->", "\u{2192}"];
    let rest = signs.into_iter().find_map(|sign| line.strip_prefix(sign)).unwrap_or(line).trim();
    let labels =
        ["Output:", "output:", "Prints:", "prints:", "Returns:", "returns:", "Result:", "result:"];
    labels.into_iter().find_map(|label| rest.strip_prefix(label)).unwrap_or(rest).trim()
}

/// All readers, in the order in which they are asked.
fn all_readers() -> impl Iterator<Item = &'static Reader> {
    static OF_TRANSCRIPTS: &[Reader] = &READERS;
    static OF_SYMPTOMS: &[Reader] = &symptom::READERS;
    OF_SYMPTOMS.iter().chain(OF_TRANSCRIPTS)
}

/// Those of whose words a line has one, in the same order.
fn readers_of(line: &str) -> impl Iterator<Item = &'static Reader> {
    static WORDS: WordList<usize> = WordList::new(|| {
        let words =
            |(at, reader): (usize, &'static Reader)| reader.words.iter().map(move |it| (*it, at));
        all_readers().enumerate().flat_map(words).collect()
    });
    let mut found = Vec::new();
    WORDS.each_in(line, |at| found.push(at));
    let of = move |(at, reader)| found.contains(&at).then_some(reader);
    all_readers().enumerate().filter_map(of)
}

/// Whether a line has a word. (A search that prepares itself takes longer than a line.)
fn has(line: &str, word: &str) -> bool {
    let (mut rest, word) = (line.as_bytes(), word.as_bytes());
    let Some(first) = word.first() else { return true };
    while let Some(at) = memchr::memchr(*first, rest) {
        if rest[at..].starts_with(word) {
            return true;
        }
        rest = &rest[at + 1..];
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Pasted {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        Pasted::read(&lines, "text")
    }

    /// Any user has the kernel print such text, with line breaks in it.
    #[test]
    fn what_a_record_of_the_kernel_quotes_is_no_output() {
        let file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        for prefix in
            ["[ 4000.000001] ", "Nov 22 10:00:00 db1 kernel: ", "kern  :info  : [ 4000.000001] "]
        {
            let width = " ".repeat(prefix.len());
            for quoted in [
                format!("usb 1-1: Product: {file}:hpet"),
                format!("tmpfs: Unknown parameter 'x\n{width}{file}:hpet"),
                format!("tmpfs: Unknown parameter 'x\n{width}  {file}:hpet"),
                format!("tmpfs: Unknown parameter 'x\n\n{width}current_clocksource: hpet"),
                "usb 1-1: Product: System clock wrong by 3600.123456 seconds".to_owned(),
                "usb 1-1: Product: chronyd[1]: System clock wrong by 3600.123456 seconds"
                    .to_owned(),
                format!(
                    "tmpfs: Unknown parameter 'x\n{width}System time     : 3600.1 seconds slow of NTP \
                     time\n{width}Leap status     : Not synchronised"
                ),
            ] {
                let text = format!("{prefix}Linux version 6.1.0\n{prefix}{quoted}\n");
                let told = read(&text).told;
                assert!(!told.current.is_known() && !told.available.is_known(), "{text}");
                assert!(!told.ntp.is_known() && !told.source.is_known(), "{text}");
            }
        }
        // A reading in the text itself is one.
        let text = format!("[    0.000000] Linux version 6.1.0\n$ cat {file}\nhpet\n");
        assert_eq!(read(&text).told.current.value().map(String::as_str), Some("hpet"));
        // A daemon's own line on the console.
        let text = "[   12.000000] chronyd[71]: System clock wrong by 3600.123456 seconds\n";
        assert!(read(text).told.source.is_known());
    }
}
