//! A domain that another tool generates from its own options: the generated domain is checked, and each finding is
//! shown at the options. The options of those tools are not read here.

use super::lint;
use crate::document::Document;
use crate::formats::Kind;
use crate::guest::Guest;
use crate::guest::Known;
use crate::lint::{LintError, Report};
use crate::text::Text;
use std::ops::Range;

/// Names and values.
pub(crate) type Pairs = Vec<(String, String)>;

/// The generated domain, and the options that it comes from.
#[derive(Default)]
pub(crate) struct Made {
    /// The place of the words that describe the whole domain.
    pub(crate) whole: Range<usize>,
    /// `type=` of the domain: `kvm` by default.
    pub(crate) kind: Option<(String, Range<usize>)>,
    pub(crate) name: String,
    /// `arch=` and `machine=`.
    pub(crate) arch: Option<String>,
    pub(crate) machine: Option<String>,
    /// The guest, where the words declare it.
    pub(crate) declared: Option<Guest>,
    /// The words that name the system, such as an id of libosinfo.
    pub(crate) system: Option<String>,
    /// Words that may name the system, such as the default of a variable.
    pub(crate) hint: Option<String>,
    /// `mode=` and `migratable=` of the CPU.
    pub(crate) cpu: Vec<(&'static str, String, Range<usize>)>,
    /// Features of the CPU: name and policy.
    pub(crate) features: Vec<(String, String, Range<usize>)>,
    /// Timers: their attributes.
    pub(crate) timers: Vec<(Pairs, Range<usize>)>,
    /// Switches below `<hyperv>`, and `hidden` below `<kvm>`.
    pub(crate) hyperv: Vec<(String, String, Range<usize>)>,
    pub(crate) hidden: Option<(String, Range<usize>)>,
    /// Words of a QEMU command line, after libvirt's own.
    pub(crate) arguments: Vec<(String, Range<usize>)>,
    /// A device of the host.
    pub(crate) hostdev: Option<Range<usize>>,
    /// Whether omitted settings may be elsewhere.
    pub(crate) part: bool,
}

/// A text with places.
#[derive(Default)]
struct Writer {
    xml: String,
    places: Vec<(Range<usize>, Range<usize>)>,
}

impl Writer {
    fn add(&mut self, xml: &str, at: &Range<usize>) {
        let start = self.xml.len();
        self.xml.push_str(xml);
        self.places.push((start..self.xml.len(), at.clone()));
    }
}

fn attributes<'a>(all: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let escaped = |value: &str| quick_xml::escape::escape(value).into_owned();
    all.into_iter().map(|(name, value)| format!(" {name}='{}'", escaped(value))).collect()
}

impl Made {
    fn write(&self) -> Writer {
        let mut out = Writer::default();
        let whole = &self.whole;
        if !self.part {
            let (kind, at) = self.kind.clone().unwrap_or_else(|| ("kvm".to_owned(), whole.clone()));
            out.add(&format!("<domain{}>", attributes([("type", kind.as_str())])), &at);
            out.add(
                &format!("<name>{}</name>", quick_xml::escape::escape(self.name.as_str())),
                whole,
            );
            if let Some(hint) = &self.hint {
                let title = quick_xml::escape::escape(hint.as_str());
                out.add(&format!("<title>{title}</title>"), whole);
            }
            let arch = self.arch.as_deref().unwrap_or("x86_64");
            let machine = self.machine.as_deref().unwrap_or("q35");
            let named = attributes([("arch", arch), ("machine", machine)]);
            out.add(&format!("<os><type{named}>hvm</type></os>"), whole);
            if let Some(id) = &self.system {
                let named = attributes([("id", id.as_str())]);
                out.add(&format!("<metadata><os{named}/></metadata>"), whole);
            }
        }
        if !self.hyperv.is_empty() || self.hidden.is_some() {
            out.add("<features><hyperv>", whole);
            for (name, state, at) in &self.hyperv {
                out.add(&format!("<{name}{}/>", attributes([("state", state.as_str())])), at);
            }
            out.add("</hyperv>", whole);
            if let Some((state, at)) = &self.hidden {
                out.add(
                    &format!("<kvm><hidden{}/></kvm>", attributes([("state", state.as_str())])),
                    at,
                );
            }
            out.add("</features>", whole);
        }
        if !self.cpu.is_empty() || !self.features.is_empty() {
            let at = self.cpu.first().map_or(whole, |(_, _, at)| at);
            let all = self.cpu.iter().map(|(name, value, _)| (*name, value.as_str()));
            out.add(&format!("<cpu{}>", attributes(all)), at);
            for (name, policy, at) in &self.features {
                let named = attributes([("policy", policy.as_str()), ("name", name.as_str())]);
                out.add(&format!("<feature{named}/>"), at);
            }
            out.add("</cpu>", whole);
        }
        if !self.timers.is_empty() || !self.part {
            out.add("<clock offset='utc'>", whole);
            for (timer, at) in &self.timers {
                let all = timer.iter().map(|(name, value)| (name.as_str(), value.as_str()));
                out.add(&format!("<timer{}/>", attributes(all)), at);
            }
            out.add("</clock>", whole);
        }
        if let Some(at) = &self.hostdev {
            out.add("<devices><hostdev/></devices>", at);
        }
        if !self.arguments.is_empty() {
            let space = "http://libvirt.org/schemas/domain/qemu/1.0";
            out.add(&format!("<qemu:commandline xmlns:qemu='{space}'>"), whole);
            for (value, at) in &self.arguments {
                out.add(&format!("<qemu:arg{}/>", attributes([("value", value.as_str())])), at);
            }
            out.add("</qemu:commandline>", whole);
        }
        if !self.part {
            out.add("</domain>", whole);
        }
        out
    }

    /// Checks the generated domain. `words` returns the remedy in the tool's terms, by the id of a rule.
    pub(crate) fn judge(
        &self,
        document: &Document,
        words: fn(&str) -> Option<&'static str>,
    ) -> Result<Report, LintError> {
        let made = self.write();
        if made.xml.is_empty() {
            let guest = document.system(self.declared, None, []).guest;
            return Ok(Report::of(Known::declared(guest), true, Vec::new()));
        }
        let domain = Document {
            name: document.name.clone(),
            text: Text::new(made.xml),
            kind: Kind::Libvirt,
            guest: document.settled(self.declared),
            models: None,
        };
        let mut report = lint(&domain)?;
        report.partial |= self.part;
        for finding in &mut report.findings {
            let at = finding.span.start;
            let known = made.places.iter().find(|(made, _)| made.contains(&at));
            finding.span = known.map_or_else(|| self.whole.clone(), |(_, at)| at.clone());
            finding.edits.clear();
            if let Some(words) = words(finding.rule.id) {
                finding.fix = Some(words.to_owned());
            }
        }
        Ok(report)
    }
}
