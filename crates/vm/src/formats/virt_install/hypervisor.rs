//! The hypervisor that runs the machine: `--connect`, and the options that QEMU does not have.
//!
//! Source: libvirt, docs/uri.rst and docs/drivers.rst; virtinst/cli.py, `add_connect_option()`; virt-install(1),
//! `--container`, `--paravirt`.

use crate::shell::Statement;

/// Returns the `type=` of a domain of a connection; `None` for QEMU's own, and for one that does not show it.
pub(super) fn of_uri(uri: &str) -> Option<&'static str> {
    let (scheme, _) = uri.split_once(':').filter(|(_, rest)| rest.starts_with('/'))?;
    // The transport: `xen+ssh://host/`.
    Some(match scheme.split('+').next().unwrap_or(scheme) {
        "lxc" => "lxc",
        "xen" => "xen",
        "bhyve" => "bhyve",
        "vbox" => "vbox",
        "test" => "test",
        "ch" => "ch",
        "vz" | "parallels" | "virtuozzo" => "vz",
        "openvz" => "openvz",
        "uml" => "uml",
        "hyperv" => "hyperv",
        "esx" | "gsx" | "vpx" | "vmwareplayer" | "vmwarews" | "vmwarefusion" => "vmware",
        _ => return None,
    })
}

/// Returns the type of an option without a value.
pub(super) fn of_switch(option: &str) -> Option<&'static str> {
    match option {
        "--container" => Some("lxc"),
        "--paravirt" | "-p" => Some("xen"),
        _ => None,
    }
}

/// Returns the type of the connection that a script sets for all commands (`LIBVIRT_DEFAULT_URI=lxc:///`), if it sets
/// one only.
pub(super) fn of_environment(all: &[Statement]) -> Option<&'static str> {
    const NAME: &str = "LIBVIRT_DEFAULT_URI=";
    let words = all.iter().flat_map(|statement| &statement.words);
    let first = |word: &crate::shell::Word| match word.pieces.first() {
        Some(crate::shell::Piece::Literal(text)) => text.as_str().starts_with(NAME),
        _ => false,
    };
    let mut kinds = words.filter(|word| first(word)).map(|word| {
        let uri = word.literal().and_then(|text| text.strip_prefix(NAME));
        uri.and_then(of_uri)
    });
    let one = kinds.next()??;
    kinds.all(|kind| kind == Some(one)).then_some(one)
}
