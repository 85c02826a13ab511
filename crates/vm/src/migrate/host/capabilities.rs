//! A host from libvirt: the output of `virsh capabilities`.

use super::{Host, HostError, exact, frequency};
use crate::migrate::scale::Hardware;
use crate::text::Text;
use crate::xml::{Element, Tree};

/// Reads the part `<host><cpu>`.
///
/// `<counter name='tsc' frequency='Hz' scaling='yes|no'/>` exists since libvirt 5.2, and only if the TSC is invariant
/// (`virCPUx86GetHost()`); `scaling` only if KVM could be queried (`virHostCPUGetTscInfo()`). All features that the
/// model does not have by itself are listed, and no model has `invtsc`.
///
/// # Errors
/// Returns an error if the text is not XML, or is of another kind.
pub fn parse(name: &str, text: &str) -> Result<Host, HostError> {
    let tree = Tree::strict(&Text::new(text.to_owned()))
        .map_err(|error| HostError::Broken(format!("this XML cannot be read: {error}")))?;
    let root = tree.roots.first().and_then(|root| tree.get(*root)).ok_or(HostError::Kind)?;
    match root.local() {
        "capabilities" => {}
        "domainCapabilities" => {
            return Err(HostError::Empty(
                "it is the output of `virsh domcapabilities`, which says nothing about the TSC; \
                 give that of `virsh capabilities`"
                    .to_owned(),
            ));
        }
        "domain" => {
            return Err(HostError::Empty(
                "it is a domain, which is a guest, not a host; give the output of `virsh \
                 capabilities`"
                    .to_owned(),
            ));
        }
        _ => return Err(HostError::Kind),
    }
    let cpu = tree
        .children(root, "host")
        .next()
        .and_then(|host| tree.children(host, "cpu").next())
        .ok_or_else(|| HostError::Empty("it has no <host><cpu>".to_owned()))?;
    let text_of = |tag: &'static str| tree.children(cpu, tag).next().map(Element::text);
    if let Some(arch) = text_of("arch")
        && !matches!(arch, "x86_64" | "i686")
    {
        let arch: String = arch.chars().filter(|c| c.is_ascii_graphic()).take(20).collect();
        return Err(HostError::Foreign(arch));
    }
    let named = |tag: &'static str, name: &str| {
        tree.children(cpu, tag).find(|element| element.value("name") == Some(name))
    };
    let mut host = Host::unknown(name);
    let counter = named("counter", "tsc");
    if let Some(hz) = counter.and_then(|counter| counter.value("frequency")) {
        host.tsc = exact(frequency(hz)?);
    }
    host.scaling = match counter.and_then(|counter| counter.value("scaling")) {
        Some("yes") => Some(true),
        Some("no") => Some(false),
        _ => None,
    };
    host.hardware = match text_of("vendor") {
        Some("Intel") => Some(Hardware::Vmx),
        Some("AMD" | "Hygon") => Some(Hardware::Svm),
        _ => None,
    };
    let feature = named("feature", "invtsc").is_some();
    host.invariant = match text_of("model") {
        // libvirt looks for a feature that a guest requires among the features (qemuProcessVerifyCPUFeatures()).
        Some(_) => Some(feature),
        // Without a model, features were not read either.
        None => (feature || counter.is_some()).then_some(true),
    };
    Ok(host.settle(
        "`virsh capabilities` of libvirt 5.2 or newer as root on a host with KVM, or a bundle of \
         `clocksmith collect`",
    ))
}
