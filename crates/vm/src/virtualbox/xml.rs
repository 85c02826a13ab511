//! `.vbox` files: XML, with the machine's settings and those of each snapshot.
//!
//! Source: `src/VBox/Main/xml/Settings.cpp` and `VirtualBox-settings.xsd`, settings versions 1.0 to 1.21.

use super::machine::{Extra, Machine, Setting};
use super::tsc::Era;
use crate::document::Document;
use crate::lint::LintError;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use std::ops::Range;

/// What the file has.
pub(super) struct File {
    /// The machine first, then its snapshots, as they stand.
    pub(super) machines: Vec<Machine>,
    /// Whether the root element is missing its machine, as in `VirtualBox.xml`.
    pub(super) partial: bool,
}

/// An attribute with the place of its value.
fn attribute(text: &str, element: &BytesStart<'_>, name: &str) -> Option<Setting> {
    for attribute in element.attributes().with_checks(false).flatten() {
        if attribute.key.as_ref() != name {
            continue;
        }
        let raw: &str = &attribute.value;
        // The reader lends slices of the text, so an address tells the place.
        let start = (raw.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
        let span = start..start.checked_add(raw.len())?;
        let raw = text.get(span.clone())?;
        let value = quick_xml::escape::unescape(raw)
            .map_or_else(|_| raw.to_owned(), std::borrow::Cow::into_owned);
        return Some(Setting { value, span });
    }
    None
}

/// The element with the line it stands on, if nothing else stands there.
fn with_its_line(text: &str, span: Range<usize>) -> Range<usize> {
    let before = text.get(..span.start).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let after = text.get(span.end..).unwrap_or_default();
    let end = after.find('\n').map_or(text.len(), |at| span.end + at + 1);
    let blank = |range: Range<usize>| text.get(range).is_some_and(|part| part.trim().is_empty());
    if start > 0 && blank(start..span.start) && blank(span.end..end) { start..end } else { span }
}

/// The blank text before `at` on its line.
fn indentation(text: &str, at: usize) -> &str {
    let line = text.get(..at).and_then(|before| before.rsplit('\n').next()).unwrap_or_default();
    line.get(..line.len() - line.trim_start().len()).unwrap_or_default()
}

fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

struct Walk<'a> {
    text: &'a str,
    stack: Vec<String>,
    machines: Vec<Machine>,
    /// Which machine an element belongs to: indexes, innermost last.
    within: Vec<usize>,
    extra: Vec<Extra>,
    insert: Option<(usize, String, String)>,
    /// Whether the machine has extra data.
    extra_data: bool,
    era: Option<Era>,
}

/// The version attribute of the root: a file of settings 1.15 or later was written by 5.0 or later;
/// an older one may have been, too, since versions only rise when they must.
fn era(version: &str) -> Option<Era> {
    let number = version.split('-').next().unwrap_or_default();
    let (major, minor) = number.split_once('.')?;
    let (major, minor): (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
    ((major, minor) >= (1, 15)).then_some(Era::Five)
}

impl Walk<'_> {
    fn open(&mut self, element: &BytesStart<'_>, span: Range<usize>, empty: bool) {
        let text = self.text;
        let name = element.name().as_ref().to_owned();
        let get = |attribute_name: &str| attribute(text, element, attribute_name);
        let parent = self.stack.last().cloned().unwrap_or_default();
        let parent = parent.as_str();
        match name.as_str() {
            "VirtualBox" if self.stack.is_empty() => {
                self.era = get("version").and_then(|version| era(&version.value));
            }
            "Machine" | "Snapshot" => {
                let snapshot =
                    (name == "Snapshot").then(|| get("name").map(|n| n.value).unwrap_or_default());
                self.within.push(self.machines.len());
                // A snapshot keeps the machine's operating system.
                let os = get("OSType").or_else(|| self.machines.first().and_then(|m| m.os.clone()));
                self.machines.push(Machine {
                    snapshot,
                    head: span.clone(),
                    os,
                    complete: true,
                    own_file: true,
                    ..Machine::default()
                });
            }
            "ExtraDataItem" => {
                if let (Some(key), Some(value)) = (get("name"), get("value"))
                    && key.value.starts_with("VBoxInternal")
                {
                    let remove = Some(with_its_line(text, span.clone()));
                    self.extra.push(Extra { name: key.value, value, whole: span.clone(), remove });
                }
            }
            "ExtraData" if parent == "Machine" => {
                let before = format!("{}{}  ", line_end(text), indentation(text, span.start));
                // An empty element has no inside.
                self.insert = Some((span.end, before, String::new())).filter(|_| !empty);
                self.extra_data = true;
            }
            _ => self.setting(&name, element, parent),
        }
        if empty {
            if matches!(name.as_str(), "Machine" | "Snapshot") {
                self.within.pop();
            }
        } else {
            if name == "Hardware" && parent == "Machine" && !self.extra_data {
                // No extra data yet: it stands before the hardware.
                let (end, indent) = (line_end(text), indentation(text, span.start));
                let before = format!("<ExtraData>{end}{indent}  ");
                let after = format!("{end}{indent}</ExtraData>{end}{indent}");
                self.insert = Some((span.start, before, after));
            }
            self.stack.push(name);
        }
    }

    /// A setting below `Hardware`. Elements of the same name elsewhere do not count.
    fn setting(&mut self, name: &str, element: &BytesStart<'_>, parent: &str) {
        let text = self.text;
        let get = |attribute_name: &str| attribute(text, element, attribute_name);
        let Some(machine) = self.within.last().and_then(|at| self.machines.get_mut(*at)) else {
            return;
        };
        if parent != "Hardware" && parent != "BIOS" && parent != "Platform" && parent != "x86" {
            return;
        }
        match name {
            "CPU" => {
                machine.cpus = get("count").or(machine.cpus.take());
                machine.engine = get("executionEngine").or(machine.engine.take());
            }
            "Paravirt" => machine.provider = get("provider").or(machine.provider.take()),
            "HPET" => machine.hpet = get("enabled").or(machine.hpet.take()),
            _ => {}
        }
    }

    fn close(&mut self) {
        if let Some(name) = self.stack.pop()
            && matches!(name.as_str(), "Machine" | "Snapshot")
        {
            self.within.pop();
        }
    }
}

pub(super) fn read(document: &Document) -> Result<File, LintError> {
    let text = document.text.as_str();
    let syntax = |at: usize, what: String| {
        let place = document.text.place(at);
        LintError::Syntax { line: place.line, column: place.column, what }
    };
    let mut reader = Reader::from_str(text);
    let mut walk = Walk {
        text,
        stack: Vec::new(),
        machines: Vec::new(),
        within: Vec::new(),
        extra: Vec::new(),
        insert: None,
        extra_data: false,
        era: None,
    };
    let mut rooted = false;
    loop {
        let start = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
        let event = reader.read_event().map_err(|error| {
            let at = usize::try_from(reader.error_position()).unwrap_or(usize::MAX);
            syntax(at, format!("not XML: {error}; VirtualBox refuses the file"))
        })?;
        let end = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
        match event {
            Event::Start(element) | Event::Empty(element)
                if !rooted && element.name().as_ref() != "VirtualBox" =>
            {
                let what = "the first element is not <VirtualBox>: this is no VirtualBox machine";
                return Err(syntax(start, what.to_owned()));
            }
            Event::Start(element) => {
                rooted = true;
                walk.open(&element, start..end, false);
            }
            Event::Empty(element) => {
                rooted = true;
                walk.open(&element, start..end, true);
                if walk.stack.is_empty() {
                    break;
                }
            }
            Event::End(_) => {
                walk.close();
                // Nothing counts behind the root.
                if walk.stack.is_empty() {
                    break;
                }
            }
            Event::Eof if !rooted => {
                return Err(syntax(end, "no element <VirtualBox>".to_owned()));
            }
            Event::Eof => {
                let what = match walk.stack.last() {
                    Some(open) => format!("the file ends inside <{open}>: it was cut off"),
                    None => "the file was cut off".to_owned(),
                };
                return Err(syntax(end, what));
            }
            _ => {}
        }
    }
    Ok(finish(walk))
}

fn finish(walk: Walk<'_>) -> File {
    let Walk { mut machines, extra, insert, era, .. } = walk;
    let partial = machines.is_empty();
    if partial {
        // Global extra data counts for every machine.
        machines.push(Machine::default());
    }
    for (index, machine) in machines.iter_mut().enumerate() {
        machine.era = era;
        // The keys belong to the machine and count for its snapshots, too, but are reported once.
        machine.extra.clone_from(&extra);
        if index == 0 {
            machine.insert.clone_from(&insert);
        }
    }
    File { machines, partial }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        assert_eq!(era("1.14-linux"), None);
        assert_eq!(era("1.15-windows"), Some(Era::Five));
        assert_eq!(era("1.19-macosx"), Some(Era::Five));
        assert_eq!(era("2.0"), Some(Era::Five));
        assert_eq!(era("x"), None);
    }
}
