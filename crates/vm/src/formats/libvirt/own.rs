//! Which `<domain>` libvirt treats as a machine: other programs also have an element of this name, with a DNS name in
//! it (answers for an installation, an appliance's settings) or with the settings of an
//! application server.

use crate::template::in_plain_value;
use crate::xml::tags;

const DOMAIN: &str = "<domain";

/// Children by which a domain without `type=` is recognised: an example may leave the rest out.
const CHILDREN: [&str; 12] = [
    "<memory",
    "<currentMemory",
    "<vcpu",
    "<os",
    "<devices",
    "<clock",
    "<timer",
    "<cpu",
    "<features",
    "<qemu:commandline",
    "<on_poweroff",
    "<launchSecurity",
];

/// Returns whether a text has a `<domain>` of libvirt.
pub(crate) fn any(text: &str) -> bool {
    let mut all = tags(text, DOMAIN).peekable();
    while let Some(at) = all.next() {
        let end = all.peek().copied().unwrap_or(text.len());
        if text.get(at..end).is_some_and(is) {
            return true;
        }
    }
    false
}

/// Whether a text that begins with the tag, and ends before the next one, is of libvirt.
fn is(text: &str) -> bool {
    let (tag, rest) = text.split_once('>').unwrap_or((text, ""));
    let attribute = |name: &str| {
        tag.match_indices(name).any(|(at, _)| {
            let before = tag[..at].chars().next_back();
            let after = tag[at + name.len()..].trim_start();
            before.is_some_and(char::is_whitespace) && after.starts_with('=')
        })
    };
    // libvirt has no namespace by default.
    if attribute("xmlns") && !tag.contains("libvirt.org") {
        return false;
    }
    let inside = rest.split_once("</domain").map_or(rest, |(inside, _)| inside);
    // A placeholder may make the attributes; one in the value of another attribute does not make `type=`.
    let names = tag.get(DOMAIN.len()..).unwrap_or_default().split(['"', '\'']).step_by(2);
    attribute("type")
        || names.into_iter().any(in_plain_value)
        || CHILDREN.iter().any(|name| tags(inside, name).next().is_some())
}

#[cfg(test)]
mod tests {
    use super::any;
    use crate::{Document, Kind, lint};

    #[test]
    fn domain_of_another_program_is_none() {
        for text in [
            "<domain type='kvm'>",
            "<domain id='2'\n  type = \"qemu\">",
            "<domain>\n  <name>a</name>\n  ...\n  <clock offset='utc'/>\n</domain>",
            "<domain {{ attributes }}>",
            "<a><domain>example.org</domain><domain type='kvm'/></a>",
            "<domain xmlns='http://libvirt.org/schemas/domain/qemu/1.0' type='kvm'>",
        ] {
            assert!(any(text), "{text}");
        }
        for text in [
            "<host><name>a</name><domain>example.org</domain></host><cpu/>",
            "<domain xmlns=\"urn:jboss:domain:4.0\"><extensions/></domain>",
            "<domain log-root=\"${com.example.root}/logs\"><resources><a type='b'/></resources></domain>",
            "<domain",
            "<domains>",
            "",
        ] {
            assert!(!any(text), "{text}");
        }
    }

    /// Such a file is refused, with a message about what it is not.
    #[test]
    fn file_with_the_domain_of_another_program_is_refused() {
        for (text, words) in [
            ("<domain xmlns=\"urn:jboss:domain:4.0\">\n <extensions/>\n</domain>\n", "<domain>"),
            ("<domain log-root=\"/var/log\">\n <resources/>\n</domain>\n", "<domain>"),
            (
                "<profile>\n <networking>\n  <domain>example.org</domain>\n </networking>\n</profile>\n",
                "first element",
            ),
        ] {
            let document = Document::of_kind("a.xml", text.as_bytes(), Kind::Libvirt).unwrap();
            let error = lint(&document).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
            assert_eq!(Kind::detect("settings", text), None, "{text}");
        }
    }
}
