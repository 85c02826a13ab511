//! Streaming scan of a log of any size: finds the lines that have a keyword, removes their prefix,
//! joins lines that a mailer wrapped, parses, and keeps a bounded number of events of the last boot.
//!
//! Lines without a keyword are examined only as bytes (a vectorised search for all
//! keywords at once), which makes the scan fast; memory is one window plus the kept events.

mod boots;
mod forwarded;
mod headers;
mod input;
mod inside;
mod machine;
mod older;
mod reprinted;
mod sample;
mod shell;
mod typed;
mod unexamined;

use super::afterwards::Later;
use super::columns::Columns;
use super::continuation::{self, LOOKAHEAD, Place};
use super::event::Event;
use super::extent::Gather;
use super::keywords::Finder;
use super::lines::{
    LINE_LIMIT, count_lines, is_comment, is_source, line_around, newlines_within, next_line,
    previous_line,
};
use super::parse::{self, Groups};
use super::prefix::{Stripped, strip};
use super::repeated::Repeated;
use super::spans;
use super::store::{self, Store};
use super::{KernelLog, LogError, cut, further, journal, order, transcript, unstamped};
use boots::Boot;
use headers::Headers;
use input::Input;
use machine::Machine;
use shell::{is_configured, is_expected, is_of_command_above, is_refused, is_suggested};
use std::collections::VecDeque;
use std::io::Read;
use std::ops::Range;

/// Number of lines within which a line with a time stamp counts once: two consoles print it twice.
const DOUBLED_WITHIN: u64 = 64;
/// Number of lines with a time stamp from which on lines without one are not of the kernel.
const STAMPED: u32 = 2;
/// Number of events that are compared with a new one.
const DOUBLED_OF: usize = 32;

/// Scans a whole log.
pub(super) fn scan(reader: impl Read, name: &str) -> Result<KernelLog, LogError> {
    let mut input = Input::new(reader, name)?;
    let finder = Finder::new()?;
    let mut scanner = Scanner::new(name);
    let mut end_of_file = input.read_on(&mut scanner.log)?;
    scanner.put_in_order(&mut input, end_of_file);
    loop {
        let used = scanner.window(&finder, input.window(), end_of_file);
        if end_of_file {
            let mut log = scanner.finish()?;
            log.later.extend(input.take_doubts());
            if let Some(last) = input.all_examined() {
                unexamined::leave(&mut log, last);
            }
            return Ok(log);
        }
        scanner.further.used(input.window(), used);
        input.used(used);
        end_of_file = input.read_on(&mut scanner.log)?;
    }
}

/// Whether a line is of the kernel that kexec starts after a crash, which finds the memory of the crashed kernel by
/// this parameter (`setup_elfcorehdr()` in kernel/crash_dump.c) or, on arm64 and riscv, in the device tree.
fn captures(event: &Event) -> bool {
    matches!(event, Event::ElfCoreHeader)
        || matches!(event, Event::CommandLine(line) if line.contains("elfcorehdr="))
}

struct Scanner {
    log: KernelLog,
    store: Store,
    /// Number of the current line, from 1.
    line: u64,
    /// Bytes at the beginning of the window that are processed, and stay only because the next line
    /// may continue them.
    context: usize,
    /// Whether lines of this log have a kernel prefix, so that one without is a continuation.
    prefixed: bool,
    /// Whether headers in this log name the kernel.
    named: bool,
    /// The headers of system logs.
    headers: Headers,
    /// Whether the kernel's own lines are in this log, marked by a header.
    own: bool,
    last_at: Option<f64>,
    banner: Option<String>,
    /// The beginnings of the lines after the banner.
    behind_banner: Vec<String>,
    /// Whether the window begins inside an overlong line: skip to the next newline.
    skipping: bool,
    /// Whether a shell prompt that prints the log was seen.
    prompted: bool,
    /// The host whose prompt prints the log.
    host: Option<String>,
    /// The machine of this boot.
    machine: Machine<String>,
    /// Number of examined lines of this boot with a time stamp.
    stamped: u32,
    /// Number of messages of this boot without a prefix.
    bare: u32,
    /// Whether each line with a time stamp is quoted from another mail.
    quotes_alone: bool,
    /// The last events: line, time stamp and text.
    recent: VecDeque<(u64, Option<f64>, String)>,
    /// Number of lines that were examined for signs of a kernel log because no event was found.
    sampled: u32,
    /// The head and the tail of the text.
    gather: Gather,
    /// The previous boot, if only the time stamps show that another one began.
    former: Option<Boot>,
    /// The last earlier boot that does not save a crash dump.
    worked: Option<Boot>,
    /// Whether this boot saves the memory of a crashed kernel.
    captures: bool,
    /// The repeated lines.
    repeated: Repeated,
    /// Number of parts of the text with boots that cannot be skipped.
    mixed: u8,
    /// The width at which lines are wrapped or truncated.
    columns: Columns,
    /// The kind of event of the last parsed line.
    told: Option<std::mem::Discriminant<Event>>,
    /// The reason why the lines may not be in the order of time.
    doubt: Option<String>,
    /// Lines that do not belong to the log, and have the words of a change of the clocksource.
    unsure: Vec<Later>,
    /// The first date of the newest boot.
    newest: Option<f64>,
    /// The date of this boot, if it is before that one.
    went_back: Option<String>,
    /// The line of a switch before which the time stamps of this boot are higher.
    stamp_back: Option<u64>,
    /// The lines of other kernels.
    forwarded: forwarded::Forwarded,
    /// The further lines of records.
    further: further::Records,
    /// Whether the lines of this window under the kernel's name have time stamps, so that one without is a program's;
    /// `None` until such a line is read.
    stamps: Option<bool>,
}

impl Scanner {
    fn new(name: &str) -> Self {
        Self {
            log: KernelLog { name: name.to_owned(), boots: 1, ..KernelLog::default() },
            store: Store::default(),
            line: 1,
            context: 0,
            prefixed: false,
            named: false,
            headers: Headers::default(),
            own: false,
            last_at: None,
            banner: None,
            behind_banner: Vec::new(),
            skipping: false,
            prompted: false,
            host: None,
            machine: Machine::default(),
            stamped: 0,
            bare: 0,
            quotes_alone: false,
            recent: VecDeque::new(),
            sampled: 0,
            gather: Gather::default(),
            former: None,
            worked: None,
            captures: false,
            repeated: Repeated::default(),
            mixed: 0,
            columns: Columns::default(),
            told: None,
            doubt: None,
            unsure: Vec::new(),
            newest: None,
            went_back: None,
            stamp_back: None,
            forwarded: forwarded::Forwarded::default(),
            further: further::Records::default(),
            stamps: None,
        }
    }

    /// Processes one window and returns the number of processed bytes.
    fn window(&mut self, finder: &Finder, window: &[u8], end_of_file: bool) -> usize {
        let mut at = std::mem::take(&mut self.context);
        if self.skipping {
            match memchr::memchr(b'\n', window) {
                Some(newline) => {
                    at = newline + 1;
                    self.further.skip(at);
                    self.line += 1;
                    self.skipping = false;
                }
                None => {
                    self.further.skip(window.len());
                    self.line += u64::from(end_of_file);
                    return window.len();
                }
            }
        }
        let complete = if end_of_file {
            window.len()
        } else {
            match memchr::memrchr(b'\n', &window[at..]) {
                Some(newline) => at + newline + 1,
                None => {
                    self.skipping = true;
                    return window.len();
                }
            }
        };
        self.stamps = None;
        self.sample(&window[at..complete]);
        self.gather.lines(&window[at..complete]);
        at = self.pass_older(finder, window, at..complete);
        // `counted` is the start of line number `self.line`.
        let mut counted = at;
        let mut search = finder.search(window);
        while let Some(hit) = search.find(at..complete) {
            let Range { start, end } = line_around(window, at..complete, hit.start..hit.end);
            // Too close to the end of the window to see a continuation: the line is read again with more text.
            if !end_of_file && newlines_within(&window[end..complete], LOOKAHEAD + 1) <= LOOKAHEAD {
                let keep = previous_line(window, start);
                if keep > 0 {
                    self.line += count_lines(&window[counted..start]);
                    self.context = start - keep;
                    return keep;
                }
            }
            self.line += count_lines(&window[counted..start]);
            counted = start;
            if self.is_repetition(&window[start..end]) {
                at = end;
                continue;
            }
            let mut groups = Groups::default();
            groups.add(hit.group);
            let mut from = hit.end;
            while let Some(more) = search.find(from..end) {
                groups.add(more.group);
                from = more.end;
            }
            let boots = self.log.boots;
            self.told = None;
            let used_to = self.line_at(window, start, end, complete, groups);
            // A line that needs its neighbours, or begins a boot, cannot be judged by its shape.
            if used_to == end && self.log.boots == boots && !groups.separator && !self.told_boot() {
                self.repeated.looked_at(self.told);
            }
            at = used_to.max(end).min(complete);
        }
        self.line += count_lines(&window[counted..complete]);
        if end_of_file {
            // The last line need not end in a newline.
            self.line += u64::from(window.last().is_some_and(|byte| *byte != b'\n'));
            return complete;
        }
        let keep = previous_line(window, complete);
        if keep == 0 || complete - keep > LINE_LIMIT {
            return complete;
        }
        self.context = complete - keep;
        keep
    }

    /// Handles the line `start..end`, or the part `raw` of it; returns the offset up to which text was used.
    fn line_of(
        &mut self,
        window: &[u8],
        start: usize,
        end: usize,
        complete: usize,
        groups: Groups,
        raw: &str,
    ) -> usize {
        if groups.separator {
            if raw.starts_with("-- Boot ") || raw.starts_with("-- Reboot") {
                self.new_boot();
                return end;
            }
            // The same boot may be printed again after a prompt.
            self.prompted |= transcript::is_prompt(raw);
            self.of_host(raw);
        }
        let place = Place { window, start, end, complete, wrapped: self.columns.wrapped };
        if is_comment(raw) || is_source(raw) || shell::is_comment_of_source(place, raw) {
            return end;
        }
        let prompt = transcript::is_prompt(raw);
        let json = journal::message(raw);
        if self.further.has(window, start) {
            return end;
        }
        let mut line = match &json {
            Some(entry) if !entry.kernel => return end,
            Some(entry) if entry.sure => Stripped::of_the_kernel(&entry.message, entry.at),
            Some(entry) => strip(&entry.message),
            None => strip(raw),
        };
        // Beside lines with fewer words before the name of their writer, the further ones are a part of a program's name.
        if line.kernel == Some(true) && self.headers.has_fewer(&line) {
            return end;
        }
        self.headers.note(&line);
        // If headers name the kernel, a line with a date and without such a header is of a program.
        self.named |= line.named && line.kernel == Some(true);
        if line.kernel == Some(false) || line.dated && line.kernel.is_none() && self.named {
            return end;
        }
        if json.is_none()
            && line.is_under_its_name_alone()
            && *self.stamps.get_or_insert_with(|| unstamped::are_foreign_in(&window[..complete]))
        {
            return end;
        }
        // Beside the kernel's own lines, those that a program forwards are of another kernel, or invented.
        self.own |= line.named && !line.program && line.kernel == Some(true);
        if line.program && self.own {
            return end;
        }
        if json.is_none() && self.is_forwarded(place, raw, &line) {
            return end;
        }
        // A line of this boot that is quoted after the log does not begin another boot.
        if self.is_quoted(&line) {
            return end;
        }
        let more = match &json {
            Some(_) => Vec::new(),
            None => self.others(&mut line),
        };
        let begins = line.kernel.is_none() && self.line < 64 && cut::is_first(&window[..start]);
        if begins && let Some(rest) = cut::without_cut_prefix(line.message) {
            line = Stripped::of_the_kernel(rest, None);
        }
        self.prefixed |= line.kernel == Some(true) && json.is_none() && !begins;
        let sure = json.as_ref().is_some_and(|entry| entry.sure);
        let stamped = line.at.is_some() && line.kernel == Some(true);
        self.log.looks_like_kernel |= sure || !prompt && (stamped || line.is_message());
        // A CPU that comes up at a resume, or late at boot in a guest (`kvm_register_clock()`, up to 5.16), prints time stamps
        // of its own counter.
        let own = ["check_tsc_sync_source failed", ", secondary cpu clock"];
        let is_own = own.iter().any(|words| line.message.contains(words));
        if !(is_own && line.at.is_some_and(|at| at < 0.5)) {
            self.stamp_in_front(window, start, &line);
            self.stamp(line.at);
            self.switch_back(window, start, &line);
        }
        self.stamped += u32::from(line.at.is_some());
        self.quotes_alone |= self.stamped == 1 && raw.starts_with('>');
        self.quotes_alone &= line.at.is_none() || raw.starts_with('>');

        let mut used_to = end;
        let mut event = None;
        let mut whole = None;
        let comment = self.is_comment(place, raw, &line);
        if !prompt && !comment {
            event = parse::parse(line.message, groups)
                .filter(|event| !(end == complete && cut::may_be_cut(event)));
        }
        if !prompt && json.is_none() && !comment {
            let alone = event.as_ref();
            // Beside a log with prefixes, lines without one are joined as in a log without prefixes.
            let prefixed = self.prefixed && line.kernel == Some(true);
            // A message that is interrupted by another one does not continue in the next line.
            if more.is_empty()
                && let Some((joined, to, text)) =
                    continuation::with_next(place, prefixed, raw, line.message, alone)
            {
                event = Some(joined);
                used_to = to;
                // With the prefix of the message.
                whole = Some(match raw.rfind(line.message) {
                    Some(at) => format!("{}{text}", &raw[..at]),
                    None => text,
                });
            } else if event.is_none() && self.prefixed && line.kernel.is_none() {
                event = continuation::with_previous(place, line.message, groups);
            }
            if event.is_some() && continuation::of_a_record(place, raw, &line) {
                return end;
            }
            self.bare += u32::from(event.is_some() && line.is_message());
        } else if comment {
            event = continuation::with_previous(place, line.message, groups);
            if event.is_none() {
                self.note_doubt(&line, groups);
            }
        }
        // The output of a shell has no time stamp of the kernel.
        if event.is_none() && line.kernel.is_none() {
            if let Some((written, to)) = self.broken_write(place, raw) {
                self.keep(written.0, &written.1, None);
                return used_to.max(to);
            }
            let read = transcript::told(line.message).map(|event| (event, end));
            let read =
                read.or_else(|| transcript::reading(raw, || next_line(window, end, complete)));
            let read = read.filter(|(event, _)| !is_of_command_above(place, event));
            if let Some((read, to)) = read {
                used_to = used_to.max(to);
                if is_expected(place, &read) || is_configured(place, raw, &read) {
                    return used_to;
                }
                event = Some(read);
            }
        }
        if event
            .as_ref()
            .is_some_and(|event| is_suggested(place, &line, event) || is_refused(place, event))
        {
            return used_to;
        }
        if matches!(event, Some(Event::Banner(_))) {
            event = event.and_then(|banner| self.of_banner(place, &line, banner));
        }
        let is_kernels = line.kernel == Some(true) || line.is_message();
        if event.is_none()
            && is_kernels
            && !prompt
            && !comment
            && cut::ends_inside_change(line.message)
        {
            self.log.change_cut = Some(self.line);
        }
        if let Some(event) = event {
            let raw = if more.is_empty() { raw } else { inside::up_to(raw, line.message) };
            self.keep(event, whole.as_deref().unwrap_or(raw), line.at);
        } else if line.kernel.is_none() && !prompt && !comment {
            let (spans, to) = spans::of(raw, || next_line(window, end, complete));
            for (text, at, event) in spans {
                used_to = used_to.max(to);
                self.store.note(self.line, &event);
                self.keep(event, &text, at);
            }
        }
        if !prompt && !comment {
            self.keep_others(&more, line.at);
        }
        used_to
    }

    fn keep(&mut self, event: Event, raw: &str, at: Option<f64>) {
        self.follow_dates(&event, raw);
        let doubled_line = self.doubled(raw, at);
        if let Event::Banner(banner) = &event {
            // Consoles print the first lines twice: the same banner before any switch is the
            // same boot.
            let doubled = self.banner.as_deref() == Some(banner) && !self.store.has_switched();
            if doubled && doubled_line {
                return;
            }
            if self.banner.is_some() && doubled {
                self.store.clear();
                self.repeated.clear();
                self.recent.clear();
            } else if self.banner.is_some() || self.store.has_decided() {
                self.new_boot();
                self.last_at = at;
                self.log.first_at = at;
                self.log.last_at = at;
            }
            self.banner = Some(banner.clone());
            // This is a boot, so no earlier one can be the last one.
            self.leave_former();
            self.log.from_boot = true;
        }
        // It registers before the kernel has a choice (`register_refined_jiffies()` in `setup_arch()`, 3.9 and later):
        // after a switch, with a time stamp that increases, it is of another boot, whose banner is not in the text.
        let registers_first =
            matches!(&event, Event::Registered { name, .. } if name == "refined-jiffies");
        if registers_first && self.store.has_switched() && at.is_some_and(|at| at > 5.0) {
            self.new_boot();
            self.last_at = at;
            self.log.last_at = at;
        }
        self.captures |= captures(&event);
        self.log.had_tsc_fault |= event.is_tsc_fault();
        self.runs_elsewhere(&event);
        self.log.looks_like_kernel = true;
        self.told = Some(event.kind());
        if !doubled_line || self.store.is_empty() {
            self.store.add(self.line, at, raw, event);
        }
    }

    /// Whether the same line was kept shortly before.
    fn doubled(&mut self, raw: &str, at: Option<f64>) -> bool {
        let line = self.line;
        let within = if at.is_some() { DOUBLED_WITHIN } else { 1 };
        let raw = raw.trim();
        let seen = self.recent.iter().any(|(before, then, text)| {
            line.saturating_sub(*before) <= within && *then == at && text == raw
        });
        if self.recent.len() == DOUBLED_OF {
            self.recent.pop_front();
        }
        self.recent.push_back((line, at, store::evidence(raw)));
        seen
    }

    fn finish(mut self) -> Result<KernelLog, LogError> {
        self.log.lines = self.line.saturating_sub(1);
        self.log.extent = self.gather.finish();
        self.log.later = self.gather.later(self.log.lines);
        self.log.later.append(&mut self.unsure);
        std::mem::take(&mut self.repeated).finish(&mut self.store);
        self.leave_capture();
        self.take_back_former();
        (self.log.entries, self.log.omitted) = self.store.into_entries();
        cut::take_out_cut_names(&mut self.log, self.columns);
        cut::take_out_cut_rates(&mut self.log);
        cut::complete_cut_reasons(&mut self.log);
        order::part_boots(&mut self.log, self.prompted);
        if !self.log.is_diff {
            let turned = self.log.newest_first || !self.log.turned.is_empty();
            let back = self.stamp_back.filter(|_| !turned);
            let doubt = self.doubt.take().or(self.went_back.take());
            let doubt = doubt.or_else(|| order::switch_goes_back(&self.log, back?));
            let doubt = doubt.or_else(|| order::forms(&self.log).filter(|_| !turned));
            self.log.mixed = self.log.mixed.take().or(doubt);
        }
        if let Some((entry, ())) = self.log.last(|event| captures(event).then_some(())) {
            self.log.mixed = Some(format!(
                "these lines come from a kernel that saves a crash dump ({}: elfcorehdr), and not of \
                 the system itself: give the log of the kernel that crashed, or of the boot after \
                 it",
                self.log.source(entry)
            ));
        }
        if let Some(why) = self.forwarded.mostly(&self.log.name) {
            self.log.mixed.get_or_insert(why);
        }
        if self.log.first_at.is_some_and(|at| at < 0.01) {
            self.log.from_boot = true;
        }
        Ok(self.log)
    }
}
