//! UTM machines: `config.plist`.
//!
//! They are translated to a QEMU command line. Source: UTM, Configuration/UTMQemuConfigurationSystem.swift and
//! UTMQemuConfiguration+Arguments.swift, 4.x.

#[cfg(test)]
mod tests;

use crate::detect::{Clues, Sign};
use crate::document::Document;
use crate::formats::{Format, Kind};
use crate::guest::Guest;
use crate::inner::{Inner, each, nothing, said};
use crate::limits::Limits;
use crate::lint::{LintError, Report};
use crate::xml::{Element, Tree, well_formed};
use crate::yaml::{Key, Node};

/// The registry entry of this kind.
pub(super) const FORMAT: Format = Format {
    name: "utm",
    files: "UTM",
    sample: (
        "config.plist",
        "<plist><dict><key>Backend</key><string>QEMU</string><key>ConfigurationVersion</key><integer>4</integer></dict></plist>",
    ),
    rules: rules!("utm"),
    detect,
    lint,
    limits: Limits::PLAIN,
    qemu: None,
};

fn detect(clues: &Clues<'_>) -> Option<Sign> {
    let has = |name: &str| clues.text.contains(&format!("<key>{name}</key>"));
    (clues.element("<plist") && has("ConfigurationVersion") && (has("Backend") || has("System")))
        .then_some(Sign::Root)
}

/// A property list as a tree.
fn node(tree: &Tree, element: &Element) -> Node {
    let children = element.children.iter().filter_map(|child| tree.get(*child));
    match element.local() {
        "dict" => {
            let mut entries = Vec::new();
            let mut key: Option<Key> = None;
            for child in children {
                match key.take() {
                    None => {
                        key = Some(Key { name: child.text().to_owned(), span: child.whole.clone() })
                    }
                    Some(key) => entries.push((key, node(tree, child))),
                }
            }
            Node::Map { entries, start: element.open.start }
        }
        "array" => Node::List { items: children.map(|child| node(tree, child)).collect() },
        name @ ("true" | "false") => {
            Node::Scalar { value: name.to_owned(), span: element.whole.clone() }
        }
        _ => Node::Scalar {
            value: element.text().to_owned(),
            span: element.open.end..element.inner_end.max(element.open.end),
        },
    }
}

fn lint(document: &Document) -> Result<Report, LintError> {
    well_formed(&document.text)?;
    let tree = Tree::strict(&document.text)?;
    let root = tree.all("dict").next();
    let Some(root) = root.map(|root| node(&tree, root)) else {
        return Err(LintError::whole("it contains no dictionary of a property list"));
    };
    let of = |path: &[&str]| said(&root, path);
    if of(&["Backend"]).is_some_and(|(backend, _)| backend != "QEMU") {
        return Ok(nothing(Guest::Unknown));
    }
    let whole = tree.elements.first().map_or(0..0, |first| first.open.clone());
    let mut inner = Inner::new(Kind::Qemu, document, whole.clone());
    // Icons are named after systems.
    let names = [&["Information", "Icon"][..], &["Information", "Name"]];
    let system = names.iter().find_map(|path| of(path)).and_then(|(name, _)| Guest::of_words(name));
    let plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    let arch = of(&["System", "Architecture"]).map(|(arch, _)| arch).filter(|arch| plain(arch));
    inner.own(&format!("qemu-system-{}", arch.unwrap_or("x86_64")));
    inner.own(" -machine ");
    match of(&["System", "Target"]).filter(|(target, _)| plain(target)) {
        Some((target, at)) => inner.value(document, target, at),
        None => inner.own("\"${unknown}\""),
    }
    // UTM creates machines without an HPET: hpet=off for pc and q35.
    if arch.is_none_or(|arch| arch == "x86_64" || arch == "i386") {
        inner.own(",hpet=off");
    }
    let native = of(&["QEMU", "Hypervisor"]).is_some_and(|(value, _)| value == "true");
    inner.own(if native { " -accel hvf" } else { " -accel tcg" });
    if let Some((cpu, at)) =
        of(&["System", "CPU"]).filter(|(cpu, _)| plain(cpu) && *cpu != "default")
    {
        inner.own(" -cpu ");
        inner.value(document, cpu, at);
        for (sign, key) in [(",+", "CPUFlagsAdd"), (",-", "CPUFlagsRemove")] {
            for (flag, at) in each(&root, &["System", key])
                .into_iter()
                .filter_map(Node::scalar)
                .filter(|(flag, _)| plain(flag) && !flag.is_empty())
            {
                inner.own(sign);
                inner.value(document, flag, at);
            }
        }
    }
    for (argument, at) in
        each(&root, &["QEMU", "AdditionalArguments"]).into_iter().filter_map(Node::scalar)
    {
        inner.words(document, argument, at);
    }
    inner.own("\n");
    let mut report = inner.judge(document, |_| None)?;
    if report.guest == Guest::Unknown && document.guest.is_none() {
        report.guest = system.unwrap_or_default();
        report.guessed = system.is_some();
    }
    Ok(report)
}
