//! A host from libvirt: the output of `virsh capabilities`.

use super::{Host, HostError, exact, frequency};
use crate::migrate::scale::Hardware;

/// Nodes of XML that are read; a host has a few thousand.
const NODES: u32 = 2_000_000;

/// Reads the part `<host><cpu>`.
///
/// `<counter name='tsc' frequency='Hz' scaling='yes|no'/>` is there since libvirt 5.2, and only if the
/// TSC is invariant (`virCPUx86GetHost()`); `scaling` only if KVM could be asked
/// (`virHostCPUGetTscInfo()`). All features that the model does not have by itself are listed, and no
/// model has `invtsc`.
///
/// # Errors
/// No XML, or of another kind.
pub fn parse(name: &str, text: &str) -> Result<Host, HostError> {
    let options = roxmltree::ParsingOptions { nodes_limit: NODES, ..Default::default() };
    let document = roxmltree::Document::parse_with_options(text, options)
        .map_err(|error| HostError::Broken(format!("this XML cannot be read: {error}")))?;
    let root = document.root_element();
    match root.tag_name().name() {
        "capabilities" => {}
        "domainCapabilities" => {
            return Err(HostError::Empty(
                "it is the output of `virsh domcapabilities`, which says nothing of the TSC; give \
                 that of `virsh capabilities`"
                    .to_owned(),
            ));
        }
        "domain" => {
            return Err(HostError::Empty(
                "it is a domain, which is a guest and no host; give the output of `virsh \
                 capabilities`"
                    .to_owned(),
            ));
        }
        _ => return Err(HostError::Kind),
    }
    let child = |node: roxmltree::Node<'_, '_>, tag: &str| {
        node.children().find(|child| child.has_tag_name(tag)).map(|child| child.id())
    };
    let cpu = child(root, "host")
        .and_then(|id| document.get_node(id))
        .and_then(|host| child(host, "cpu"))
        .and_then(|id| document.get_node(id))
        .ok_or_else(|| HostError::Empty("it has no <host><cpu>".to_owned()))?;
    let text_of =
        |tag: &str| cpu.children().find(|node| node.has_tag_name(tag)).and_then(|node| node.text());
    if let Some(arch) = text_of("arch").map(str::trim)
        && !matches!(arch, "x86_64" | "i686")
    {
        let arch: String = arch.chars().filter(|c| c.is_ascii_graphic()).take(20).collect();
        return Err(HostError::Empty(format!(
            "it is a host with {arch} processors, which have no TSC; this is about x86"
        )));
    }
    let named = |tag: &str, name: &str| {
        cpu.children().find(|node| node.has_tag_name(tag) && node.attribute("name") == Some(name))
    };
    let mut host = Host::unknown(name);
    let counter = named("counter", "tsc");
    if let Some(hz) = counter.and_then(|counter| counter.attribute("frequency")) {
        host.tsc = exact(frequency(hz)?);
    }
    host.scaling = match counter.and_then(|counter| counter.attribute("scaling")) {
        Some("yes") => Some(true),
        Some("no") => Some(false),
        _ => None,
    };
    host.hardware = match text_of("vendor").map(str::trim) {
        Some("Intel") => Some(Hardware::Vmx),
        Some("AMD" | "Hygon") => Some(Hardware::Svm),
        _ => None,
    };
    let invtsc = counter.is_some() || named("feature", "invtsc").is_some();
    // Without a model no features were read either.
    host.invariant = (invtsc || text_of("model").is_some()).then_some(invtsc);
    Ok(host.settle(
        "`virsh capabilities` of libvirt 5.2 or newer as root on a host with KVM, or a bundle of \
         `clocksmith collect`",
    ))
}
