//! OVF descriptors of VirtualBox and VMware, alone or as the first member of an OVA.
//!
//! They are converted to a `.vbox` or a `.vmx`, which is then checked. Nothing in them is changed: a
//! manifest (`.mf`) has their checksum. Source: DMTF DSP0243 (the OVF comes first in an OVA);
//! VirtualBox, ApplianceImplImport.cpp, importVBoxMachine() (the number of CPUs is the number of
//! items).

#[cfg(test)]
mod tests;

use crate::detect::{Clues, Sign};
use crate::document::Document;
use crate::formats::{Format, Kind};
use crate::guest::Guest;
use crate::inner::{Inner, MOST_MACHINES, nothing, together, written};
use crate::limits::Limits;
use crate::lint::{LintError, Report};
use crate::words::here_documents;
use crate::xml::{Element, Tree, tags, well_formed};

/// The registry entry of this kind.
pub(super) const FORMAT: Format = Format {
    name: "ovf",
    files: "OVF and OVA",
    sample: (
        "a.ovf",
        "<Envelope><VirtualSystem><VirtualHardwareSection><System><VirtualSystemType>vmx-19</VirtualSystemType></System>\
         </VirtualHardwareSection></VirtualSystem></Envelope>",
    ),
    rules: rules!("ovf"),
    detect,
    lint,
    limits: Limits::PLAIN,
    qemu: None,
};

/// Whether a text is an OVF.
fn is_envelope(text: &str) -> bool {
    let begins = |it: &str| it.starts_with('<') && text.contains("VirtualSystem");
    begins(text.trim_start())
        && ["<Envelope", "<ovf:Envelope"].iter().any(|name| tags(text, name).next().is_some())
}

fn detect(clues: &Clues<'_>) -> Option<Sign> {
    let text = clues.text;
    if !clues.begins_as_xml() && text.contains("Envelope") {
        let mut written = here_documents(text).into_iter();
        let any = written.any(|span| text.get(span).is_some_and(is_envelope));
        // Commands of the script take precedence over a file that it writes.
        let commands = ["modifyvm", "createvm", "setextradata"];
        let makes = commands.iter().any(|it| text.contains(it));
        let sign = if makes { Sign::Part } else { Sign::Root };
        return any.then_some(sign);
    }
    let envelope = clues.element("<Envelope") || clues.element("<ovf:Envelope");
    (envelope && clues.text.contains("VirtualSystem")).then_some(Sign::Root)
}

fn lint(document: &Document) -> Result<Report, LintError> {
    let begin = document.text.as_str().trim_start_matches('\u{feff}').trim_start();
    if !begin.starts_with('<') {
        return written(document, Kind::Ovf, is_envelope).ok_or_else(|| {
            LintError::whole("no here-document with an OVF that can be read is in the script")
        });
    }
    well_formed(&document.text)?;
    let tree = Tree::strict(&document.text)?;
    let mut reports = Vec::new();
    for system in tree.all("VirtualSystem").take(MOST_MACHINES) {
        let inside = tree.within(system);
        let text = |name: &str| {
            inside
                .iter()
                .find(|it| it.local() == name)
                .map(Element::text)
                .filter(|it| !it.is_empty())
        };
        let kinds = text("VirtualSystemType").unwrap_or_default();
        let own = inside.iter().find(|it| it.name == "vbox:Machine");
        let mut inner = if own.is_some() || kinds.contains("virtualbox") {
            virtualbox(document, &tree, system, own)
        } else if let Some(version) = kinds.split([' ', ',']).find_map(|it| it.strip_prefix("vmx-"))
        {
            vmware(document, &tree, system, version)
        } else {
            continue;
        };
        let id = system.attributes.iter().find(|it| it.name.ends_with("id"));
        inner.object = id.map(|id| format!("VirtualSystem {}", id.value));
        let mut report = inner.judge(document, |_| None)?;
        for finding in report
            .findings
            .iter_mut()
            .filter(|finding| finding.left.is_some() || !finding.edits.is_empty())
        {
            finding.edits.clear();
            finding.left = Some(
                "a manifest has the checksum of an OVF; change the machine after the import, with \
                 VBoxManage or in its .vmx"
                    .to_owned(),
            );
        }
        reports.push(report);
    }
    Ok(together(reports).unwrap_or_else(|| nothing(Guest::Unknown)))
}

/// The count of CPUs: the item of resource type 3.
fn cpus<'a>(tree: &'a Tree, system: &'a Element) -> Option<&'a Element> {
    let items = tree.within(system).iter().filter(|it| it.local() == "Item");
    items
        .filter(|item| tree.children(item, "ResourceType").any(|it| it.text() == "3"))
        .find_map(|item| tree.children(item, "VirtualQuantity").next())
}

/// A value for an attribute.
fn attribute(value: &str) -> String {
    quick_xml::escape::escape(value).into_owned()
}

fn virtualbox(document: &Document, tree: &Tree, system: &Element, own: Option<&Element>) -> Inner {
    let mut inner = Inner::new(Kind::Virtualbox, document, system.open.clone());
    inner.name = "machine.vbox".to_owned();
    let count = cpus(tree, system).filter(|it| it.text().bytes().all(|b| b.is_ascii_digit()));
    let Some(own) = own else {
        // Only the settings that every OVF has: the system and the number of CPUs.
        let os = tree.within(system).iter().find(|it| it.local() == "OSType");
        let os = os.map(|it| (it.text().to_owned(), it.open.clone()));
        let (os, at) = os.unwrap_or_else(|| (String::new(), system.open.clone()));
        inner.own("<VirtualBox version=\"1.12-linux\"><Machine name=\"machine\"");
        if !os.is_empty() {
            inner.add(&format!(" OSType=\"{}\"", attribute(&os)), &at);
        }
        inner.own("><Hardware>");
        if let Some(count) = count {
            inner.add(&format!("<CPU count=\"{}\"/>", count.text()), &count.open);
        }
        inner.own("</Hardware></Machine></VirtualBox>");
        return inner;
    };
    let version = own.value("version").unwrap_or_default();
    inner.own(&format!("<VirtualBox version=\"{}\"><Machine", attribute(version)));
    let from = own.open.start + "<vbox:Machine".len();
    let end = if own.empty { own.whole.end } else { own.inner_end };
    let cpu = tree.within(own).iter().find(|it| it.name == "CPU");
    let cpu =
        cpu.filter(|cpu| cpu.value("count").is_none()).map(|cpu| cpu.open.start + "<CPU".len());
    match (cpu, count) {
        (Some(at), Some(count)) => {
            inner.same(document, from..at);
            inner.add(&format!(" count=\"{}\"", count.text()), &count.open);
            inner.same(document, at..end);
        }
        _ => inner.same(document, from..end),
    }
    if !own.empty {
        inner.own("</Machine>");
    }
    inner.own("</VirtualBox>");
    inner
}

fn vmware(document: &Document, tree: &Tree, system: &Element, version: &str) -> Inner {
    let mut inner = Inner::new(Kind::Vmware, document, system.open.clone());
    inner.name = "machine.vmx".to_owned();
    let tame = |value: &str| value.replace(['"', '\n', '\r'], "");
    inner.own(&format!("virtualHW.version = \"{}\"\n", tame(version)));
    let os = tree.within(system).iter().find(|it| it.local() == "OperatingSystemSection");
    if let Some(attribute) = os.and_then(|os| os.attribute("vmw:osType")) {
        // `ubuntu64Guest` is `ubuntu-64` in a .vmx.
        let id = attribute.value.trim_end_matches("Guest");
        inner.add(&format!("guestOS = \"{}\"\n", tame(id)), &attribute.whole);
    }
    if let Some(count) = cpus(tree, system) {
        inner.add(&format!("numvcpus = \"{}\"\n", tame(count.text())), &count.open);
    }
    for config in
        tree.within(system).iter().filter(|it| matches!(it.local(), "Config" | "ExtraConfig"))
    {
        let (Some(key), Some(value)) = (config.value("vmw:key"), config.value("vmw:value")) else {
            continue;
        };
        let key = match (config.local(), key) {
            ("ExtraConfig", key) => key,
            ("Config", "tools.syncTimeWithHost") => "tools.syncTime",
            ("Config", "cpuHotAddEnabled") => "vcpu.hotadd",
            _ => continue,
        };
        if key.chars().all(|c| c.is_ascii_alphanumeric() || "._-:".contains(c)) {
            inner.add(&format!("{key} = \"{}\"\n", tame(value)), &config.open);
        }
    }
    inner.partial = os.is_none();
    inner
}
