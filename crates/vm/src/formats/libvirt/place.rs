//! Inserts and removes elements, in the file's style.

use super::domain::Domain;
use crate::edit::Edit;
use crate::text::Text;
use crate::xml::Element;

/// One step of indentation.
fn step(text: &Text, parent: &Element, domain: &Domain<'_>) -> String {
    let outer = parent.parent.and_then(|index| domain.tree.get(index));
    let inner = text.indent(parent.open.start);
    match (inner, outer.and_then(|outer| text.indent(outer.open.start))) {
        (Some(inner), Some(outer)) => {
            inner.strip_prefix(outer).filter(|step| !step.is_empty()).unwrap_or("  ").to_owned()
        }
        _ => "  ".to_owned(),
    }
}

/// Writes an element with the quotes that the file uses.
pub(super) fn element(domain: &Domain<'_>, name: &str, attributes: &[(&str, &str)]) -> String {
    let quote = domain.tree.quote;
    let mut out = format!("<{name}");
    for (name, value) in attributes {
        out.push_str(&format!(" {name}={quote}{value}{quote}"));
    }
    out + "/>"
}

/// Returns the offset after the comments on the line of an element, which belong to that element.
fn behind_its_comment(text: &Text, end: usize) -> usize {
    let mut at = end;
    loop {
        let rest = text.as_str().get(at..).unwrap_or_default();
        let comment = rest.trim_start_matches([' ', '\t']);
        let Some(length) = comment.strip_prefix("<!--").and_then(|it| it.find("-->")) else {
            return at;
        };
        at += rest.len() - comment.len() + "<!--".len() + length + "-->".len();
    }
}

/// Inserts an element after the last child.
pub(super) fn insert(domain: &Domain<'_>, parent: &Element, xml: &str) -> Edit {
    let text = domain.text;
    let newline = text.line_end();
    if parent.empty {
        let tag = text.slice(parent.open.clone());
        let kept = tag.trim_end_matches("/>").trim_end().len();
        let from = parent.open.start + kept;
        let with = match text.indent(parent.open.start) {
            Some(outer) => {
                let step = step(text, parent, domain);
                format!(">{newline}{outer}{step}{xml}{newline}{outer}</{}>", parent.name)
            }
            None => format!(">{xml}</{}>", parent.name),
        };
        return Edit { span: from..parent.open.end, with };
    }
    let last = parent.children.last().and_then(|child| domain.tree.get(*child));
    if let Some(last) = last {
        let end = behind_its_comment(text, last.whole.end);
        let with = match text.indent(last.open.start) {
            Some(inner) => format!("{newline}{inner}{xml}"),
            None => xml.to_owned(),
        };
        return Edit { span: end..end, with };
    }
    let at = parent.open.end;
    let with = match text.indent(parent.open.start) {
        Some(outer) => {
            let step = step(text, parent, domain);
            let rest = text.slice(parent.open.end..parent.inner_end);
            let closing =
                if rest.contains('\n') { String::new() } else { format!("{newline}{outer}") };
            format!("{newline}{outer}{step}{xml}{closing}")
        }
        None => xml.to_owned(),
    };
    Edit { span: at..at, with }
}

/// Removes an element, with its line if the line has nothing else.
pub(super) fn remove(domain: &Domain<'_>, element: &Element) -> Edit {
    Edit { span: domain.text.with_its_line(element.whole.clone()), with: String::new() }
}

/// Sets an attribute.
pub(super) fn set(domain: &Domain<'_>, element: &Element, name: &str, value: &str) -> Edit {
    if let Some(attribute) = element.attribute(name) {
        return Edit { span: attribute.value_span.clone(), with: value.to_owned() };
    }
    let quote = domain.tree.quote;
    let tag = domain.text.slice(element.open.clone());
    let kept = tag.trim_end_matches('>').trim_end_matches('/').trim_end().len();
    let at = element.open.start + kept;
    Edit { span: at..at, with: format!(" {name}={quote}{value}{quote}") }
}

/// Sets a timer: its attribute if the timer exists, a new timer if a clock exists, otherwise a new clock.
pub(super) fn timer(domain: &Domain<'_>, name: &str, attribute: &str, value: &str) -> Option<Edit> {
    if let Some(timer) = domain.timer(name) {
        return Some(set(domain, timer, attribute, value));
    }
    let xml = element(domain, "timer", &[("name", name), (attribute, value)]);
    if let Some(clock) = domain.clock {
        return Some(insert(domain, clock, &xml));
    }
    clock(domain, &[xml])
}

/// Inserts a clock with these timers into a domain that has none.
pub(super) fn clock(domain: &Domain<'_>, timers: &[String]) -> Option<Edit> {
    let parent = domain.element.filter(|_| domain.whole)?;
    // After an element that every domain has; without a clock it is UTC.
    let behind = ["cpu", "features", "os"].into_iter().find_map(|name| domain.child(name))?;
    if behind.parent.and_then(|index| domain.tree.get(index)).map(|e| e.open.start)
        != Some(parent.open.start)
    {
        return None;
    }
    let quote = domain.tree.quote;
    let with = match domain.text.indent(behind.open.start) {
        Some(outer) => {
            let newline = domain.text.line_end();
            let inner = format!("{outer}{}", if outer.is_empty() { "  " } else { outer });
            let lines: String = timers.iter().map(|xml| format!("{newline}{inner}{xml}")).collect();
            format!(
                "{newline}{outer}<clock offset={quote}utc{quote}>{lines}{newline}{outer}</clock>"
            )
        }
        None => format!("<clock offset={quote}utc{quote}>{}</clock>", timers.concat()),
    };
    let at = behind_its_comment(domain.text, behind.whole.end);
    Some(Edit { span: at..at, with })
}

#[cfg(test)]
mod tests {
    use crate::testing;
    use crate::{Choices, Document, Kind, fix};

    fn fixed(text: &str) -> String {
        let document = Document::of_kind("a.xml", text.as_bytes(), Kind::Libvirt).unwrap();
        let choices = Choices { invtsc: true, tsc_frequency: Some(2_994_372_000) };
        fix(&document, &choices).unwrap().document.text.as_str().to_owned()
    }

    #[test]
    fn a_comment_stays_at_its_element() {
        let text = "<domain type='kvm'>\n  <name>a</name>\n  <os><type arch='x86_64' machine='q35'>hvm</type></os>\n  <cpu \
                    mode='host-passthrough'>\n    <feature policy='require' name='svm'/> <!-- AMD-V -->\n  </cpu>\n  <clock \
                    offset='utc'>\n    <timer name='hpet' present='no'/><!-- a --> <!-- b\n    c -->\n  </clock>\n</domain>\n";
        let invtsc = "<!-- AMD-V -->\n    <feature policy='require' name='invtsc'/>\n  </cpu>";
        let frequency =
            "<!-- b\n    c -->\n    <timer name='tsc' frequency='2994372000'/>\n  </clock>";
        let out = fixed(text);
        assert!(out.contains(invtsc) && out.contains(frequency), "{out}");
        // Also on one line.
        let line = text.replace("\n  </clock>", "</clock>").replace("\n    c", "");
        assert!(fixed(&line).contains("<!-- b --><timer") || fixed(&line).contains("<!-- b -->\n"));
    }

    #[test]
    fn a_clock_is_put_behind_the_comment_of_what_it_follows() {
        let text = "<domain type='kvm'>\n  <name>a</name>\n  <metadata><os id='http://microsoft.com/win/10'/></metadata>\n  <os><type \
                    arch='x86_64' machine='q35'>hvm</type></os> <!-- firmware: none -->\n</domain>\n";
        let out = testing::mended(Kind::Libvirt, "a.xml", text);
        assert!(out.contains("<!-- firmware: none -->\n  <clock"), "{out}");
    }
}
